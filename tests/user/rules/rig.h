/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the cases of udat_rules share: two sides, a that connects and b that
 * listens, each with an IA, EVDs, a PZ and registered memory. A case opens what
 * it needs; whatever it leaves is closed after it.
 */
#ifndef RIG_H
#define RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "../check.h"

#define MEM	(1u << 20)
#define SECOND	1000000u
#define LONG	(20 * SECOND)	/* what should happen does so by then */
#define SHORT	200000u		/* what should not has not by then */

struct side {
	const char *name;
	bool is_open;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, req, conn, cr;
	DAT_PZ_HANDLE pz;
	uint8_t *mem;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr;
	struct sockaddr_storage address;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
};

extern struct side a, b;

/* Brings a side up. */
void rig_open(struct side *side);
/* Both. */
void rig_both(void);
/* After every case. */
void rig_after(void);

/* An EP with the side's EVDs, and one with given completion flags. */
DAT_EP_HANDLE new_ep(struct side *side);
DAT_EP_HANDLE new_ep_flags(struct side *side, DAT_EVD_HANDLE recv,
			   DAT_EVD_HANDLE req, DAT_COMPLETION_FLAGS recv_flags,
			   DAT_COMPLETION_FLAGS request_flags);
DAT_EVD_HANDLE new_evd(struct side *side, DAT_COUNT qlen, DAT_EVD_FLAGS flags);
DAT_EP_ATTR small_attr(void);

/* A PSP of side b on a free qualifier. */
DAT_PSP_HANDLE listen_any(DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual);
/* Side a connects to side b. */
void start_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual);
/* The next request at side b. */
DAT_CR_HANDLE next_request(void);
/* All of it: two connected EPs. The PSP is gone again. */
void connect_eps(DAT_EP_HANDLE ep_a, DAT_EP_HANDLE ep_b);
void connected(DAT_EP_HANDLE *ep_a, DAT_EP_HANDLE *ep_b);

/* The next event, which has to be of this number (and EP). */
DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
DAT_EVENT next_of(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		  DAT_EP_HANDLE ep);
/* The next completion, which has to be this one. */
void completes(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
	       DAT_DTO_COMPLETION_STATUS status);
uint64_t completes_length(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep,
			  uint64_t cookie);
/* Nothing is there; nothing comes for a while. */
void no_event(DAT_EVD_HANDLE evd);
void stays_silent(DAT_EVD_HANDLE evd);
void is_state(DAT_EP_HANDLE ep, DAT_EP_STATE state);

/* A thread in dat_evd_wait, and what came of it */
struct waiter {
	pthread_t thread;
	atomic_int tid;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT more;
	double took;
};

/* Returns when it sleeps. */
void start_waiter(struct waiter *w, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold);
void end_waiter(struct waiter *w, DAT_RETURN expected);
/* This thread does. */
bool sleeps(pid_t tid);

/* Triplets over a side's memory */
DAT_LMR_TRIPLET seg(const struct side *side, size_t offset, size_t length);
DAT_RMR_TRIPLET remote(const struct side *side, size_t offset, size_t length);
DAT_DTO_COOKIE cookie(uint64_t number);

/* Posts with one segment of the side's memory */
DAT_RETURN post_send(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     size_t length, uint64_t number,
		     DAT_COMPLETION_FLAGS flags);
DAT_RETURN post_recv(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     size_t length, uint64_t number);
DAT_RETURN post_write(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		      const DAT_RMR_TRIPLET *to, size_t length,
		      uint64_t number, DAT_COMPLETION_FLAGS flags);
DAT_RETURN post_read(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     const DAT_RMR_TRIPLET *from, size_t length,
		     uint64_t number, DAT_COMPLETION_FLAGS flags);

/* Bytes that depend on their place and on a seed */
void fill(uint8_t *data, size_t length, unsigned int seed);
void verify(const uint8_t *data, size_t length, unsigned int seed);

/* A helper that fails says who called it. */
extern const char *rig_file;
extern int rig_line;

#define AT(call)	(rig_file = __FILE__, rig_line = __LINE__, call)
#ifndef RIG_C
#define next_event(...)		AT(next_event(__VA_ARGS__))
#define next_of(...)		AT(next_of(__VA_ARGS__))
#define completes(...)		AT(completes(__VA_ARGS__))
#define completes_length(...)	AT(completes_length(__VA_ARGS__))
#define no_event(...)		AT(no_event(__VA_ARGS__))
#define stays_silent(...)	AT(stays_silent(__VA_ARGS__))
#define is_state(...)		AT(is_state(__VA_ARGS__))
#define connect_eps(...)	AT(connect_eps(__VA_ARGS__))
#define connected(...)		AT(connected(__VA_ARGS__))
#define next_request()		AT(next_request())
#define verify(...)		AT(verify(__VA_ARGS__))
#endif

struct check_set {
	const struct check_case *cases;
	size_t number;
};

extern const struct check_set ia_set, memory_set, rmr_set, evd_set, cno_set,
	ep_set, connect_set, sp_set, transfer_set, handle_set;

/* The cases of a file, in its array cases[] */
#define SET(name) \
	const struct check_set name = { cases, ARRAY_SIZE(cases) }

#endif /* RIG_H */
