/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdapl-bench: the same things done through kDAT and written straight on ib_core
 * and rdma_cm, between two ports of this machine.
 *
 *	main.c		commands
 *	raw.c		connections on ib_core and rdma_cm
 *	kdat.c		connections on kDAT
 *	raw-pingpong.c	what samples/kdat-pingpong does, on ib_core
 *	conn-rate.c	connections a second; connections held for counting memory
 *	cost.c		instructions of posts and of taking a completion
 */
#ifndef KDAPL_BENCH_H
#define KDAPL_BENCH_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <dat/kdat.h>

#define BENCH_WAIT	(30 * HZ)
/* Requests and receives of each queue pair, if nobody asks for another number. */
#define BENCH_DEPTH	16

/* main.c */
extern struct sockaddr_storage bench_addr_a, bench_addr_b;
extern char *bench_ia_a, *bench_ia_b;
extern ushort bench_port;
__printf(1, 2) void bench_say(const char *fmt, ...);

/* ---- raw.c -------------------------------------------------------------- */

struct raw_net;

/* One end of a connection. */
struct raw_end {
	struct raw_net *net;
	struct rdma_cm_id *id;
	bool server;
	int status;
	struct completion established;
	struct completion over;
	struct list_head entry;
	struct work_struct work;
};

/**
 * struct raw_net - both devices and a listener on the second
 * @prepare: called for each end when its queue pair is there; may be NULL
 * @keep: server ends stay when their peer has gone, until raw_close()
 * @depth: requests and receives of each queue pair, 0 for BENCH_DEPTH
 * @newest: the server end accepted last
 */
struct raw_net {
	void (*prepare)(struct raw_end *end);
	bool keep;
	unsigned int depth;
	struct rdma_cm_id *holder;
	struct rdma_cm_id *listener;
	struct ib_pd *pd[2];
	struct ib_cq *cq[2];
	bool direct;
	struct raw_end *newest;
	struct mutex lock;
	struct list_head ends;
	struct workqueue_struct *wq;
};

/* @direct: completions are polled by the caller, else in softirq context */
int raw_open(struct raw_net *net, bool direct, unsigned int cqe);
void raw_close(struct raw_net *net);
struct raw_end *raw_connect(struct raw_net *net);
/* Disconnects, waits for the end, frees. */
void raw_disconnect(struct raw_end *end);

/* ---- kdat.c ------------------------------------------------------------- */

struct kdat_net;

struct kdat_end {
	struct kdat_net *net;
	DAT_EP_HANDLE ep;
	bool server;
	int status;
	struct completion established;
	struct completion over;
	struct list_head entry;
	struct work_struct work;
};

/* @keep, @depth: as in struct raw_net */
struct kdat_net {
	bool keep;
	unsigned int depth;
	DAT_IA_HANDLE ia[2];
	DAT_EVD_HANDLE async_evd[2];
	DAT_PZ_HANDLE pz[2];
	DAT_EVD_HANDLE dto_evd[2];
	DAT_EVD_HANDLE conn_evd[2];
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct kdat_end *newest;
	struct mutex lock;
	struct list_head ends;
	struct workqueue_struct *wq;
};

int kdat_open(struct kdat_net *net);
void kdat_close(struct kdat_net *net);
struct kdat_end *kdat_end_new(struct kdat_net *net, bool server);
void kdat_end_free(struct kdat_end *end);
struct kdat_end *kdat_connect(struct kdat_net *net);
void kdat_disconnect(struct kdat_end *end);

/* ---- the commands; 0 or an errno ---------------------------------------- */

int raw_pingpong(unsigned int size, unsigned int turns);
int conn_rate(bool kdat, unsigned int connections);
int hold(bool kdat, unsigned int connections);
int hold_idle(unsigned int endpoints);
void hold_release(void);
int cost(unsigned int samples);

#endif /* KDAPL_BENCH_H */
