/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the suites about failures share: endpoints brought into any state of the
 * table, and a census of everything there is, so that a test can show that a
 * call that failed changed nothing and that an end left nothing behind.
 */
#ifndef KDAPL_STAGE_H
#define KDAPL_STAGE_H

#include "core/ia.h"
#include "fake_device.h"

#define DTO_OK		DAT_DTO_SUCCESS
#define FLUSHED		DAT_DTO_ERR_FLUSHED
#define GONE		DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)
#define INTERNAL	DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE)

/**
 * struct census - what there is in the space of a bench and on its device
 * @handles: slots of the table of handles that are taken
 * @live: objects whose memory is there
 * @users: uses of all objects together
 * @streams: of all EVDs together, each counted with its CQ entries
 * @room: events queued, and room reserved for events
 * @lingering: connections of which the CM id waits for the peer
 * @qps, @ids, @zones, @regions, @lists, @windows: of the device; CQs are their EVDs',
 *	 which grow them and keep them
 */
struct census {
	u32 handles;
	u32 live;
	u32 users;
	u32 streams;
	u32 room;
	u32 lingering;
	u32 qps;
	u32 ids;
	u32 zones;
	u32 regions;
	u32 lists;
	u32 windows;
};

/* Once everything that was released is gone. */
struct census bench_census(struct bench *b);
/* Nothing came and nothing went since @before. */
#define expect_same(b, before)	__expect_same(b, before, __LINE__)
void __expect_same(struct bench *b, const struct census *before, int line);

/**
 * struct stage - an endpoint in some state, and what it took to get there
 * @ep: two receives are posted, but in TENTATIVE, and in CONNECTED and the states
 *	after it two sends; all events before that are dequeued
 * @posts: how many are posted and have not completed
 * @cr: for PASSIVE_PENDING and TENTATIVE
 * @sp: service point, from RESERVED to COMPLETION_PENDING; NULL if there is none
 * @is_rsp: it is a RSP
 * @id: the CM id, or NULL
 */
struct stage {
	DAT_EP_HANDLE ep;
	u32 posts;
	DAT_CR_HANDLE cr;
	DAT_HANDLE sp;
	bool is_rsp;
	struct fake_id *id;
};

/*
 * All events go to b->evd, requests as well.  In FLUSHING and DISC_FLUSHING the
 * device holds the flush.
 */
void bench_stage(struct bench *b, enum kdapl_ep_state state, struct stage *s);
/* The rest of a stage goes as its consumer would do it. */
void bench_unstage(struct bench *b, struct stage *s);

/* The connection of an endpoint; good while it is connected and reset. */
struct kdapl_conn *bench_conn(struct bench *b, DAT_EP_HANDLE ep);
/* The device has had its time for the flush. */
void bench_no_flush(struct bench *b, DAT_EP_HANDLE ep);
/* Waits until the flush of an endpoint is asked for. */
void bench_flushing(struct bench *b, DAT_EP_HANDLE ep);
/*
 * An id that lingers, of an endpoint that was reset or freed, does so until its peer
 * answers, which is the test, however slow the machine is.
 */
void bench_linger_on(struct fake_id *id);
struct kdapl_ia *bench_ia(struct bench *b);
/* The first CQ of an EVD that has one */
struct fake_cq *bench_cq(struct kdapl_evd *evd);
/*
 * Waits until that CQ is armed, for solicited completions only or for all; false when
 * it is not.  A runner in softirq may have been put off.
 */
bool bench_armed(struct kdapl_evd *evd, bool solicited);
/* The same, and no run that was asked for before is still to come. */
bool bench_evd_rests(struct kdapl_evd *evd, bool solicited);
/* The watch of an EVD does not look before the test is over. */
void bench_no_watch(struct kdapl_evd *evd);

/* The next event, which is a connection request: its handle. */
DAT_CR_HANDLE bench_cr(struct bench *b, DAT_EVD_HANDLE evd);
/* A listening PSP of the consumer's kind on b->evd. */
DAT_PSP_HANDLE bench_psp(struct bench *b, DAT_CONN_QUAL qual);

DAT_RETURN bench_do_connect(struct bench *b, DAT_EP_HANDLE ep);
#define bench_abrupt(b, ep) \
	kdapl_ep_disconnect(&(b)->space, ep, DAT_CLOSE_ABRUPT_FLAG)
#define bench_graceful(b, ep) \
	kdapl_ep_disconnect(&(b)->space, ep, DAT_CLOSE_GRACEFUL_FLAG)

/**
 * struct elsewhere - a call that is made in another thread
 * @work: its thread
 * @call: what is called, with @arg
 * @arg: of the caller
 * @ret: what @call returned
 * @done: it has
 */
struct elsewhere {
	struct work_struct work;
	DAT_RETURN (*call)(void *arg);
	void *arg;
	DAT_RETURN ret;
	bool done;
};

/* @e is on the stack. */
void elsewhere_begin(struct elsewhere *e, DAT_RETURN (*call)(void *arg), void *arg);
/* Does it end within @us microseconds? */
bool elsewhere_ends(struct elsewhere *e, u64 us);
/* Waits for its end. */
DAT_RETURN elsewhere_end(struct elsewhere *e);

/* An asynchronous event comes. */
#define expect_async(b, number, about, reason) \
	__expect_async(b, number, about, reason, __LINE__)
void __expect_async(struct bench *b, u32 number, DAT_HANDLE about,
		    DAT_COUNT reason, int line);

/*
 * A sink as the kernel's face has one, which takes completions; their cookies count
 * from 0.
 */
struct taker {
	spinlock_t lock;	/* below */
	unsigned int nr;
	u64 cookies[8];
};

/* Good until the end of the test, even if it ends with the sink set. */
struct taker *taker_start(struct bench *b, struct kdapl_evd *evd);
/* Just as many are taken, once everything is done that was to be. */
void expect_taken_nr(struct bench *b, struct taker *t, unsigned int nr);
/* ... with the cookies 0, 1, ... */
void expect_taken(struct bench *b, struct taker *t, unsigned int nr);

#endif /* KDAPL_STAGE_H */
