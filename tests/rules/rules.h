/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The suite of rules: what DAT promises its consumers, played between two hosts.  It is
 * written once and built twice: kdapl_rules.ko calls kDAT, and the program udat_rules
 * calls the library.  One process (or module) plays both ends: side a connects, side b
 * listens.
 *
 *	args.c ...	the scenarios of both faces, a table in each file
 *	kernel/, user/	those of one face, and platform.c: what differs
 *	rig.c		what scenarios are built from
 *	main.c		list of tables, verdicts, running
 *
 * What a scenario finds, may leave behind, and need not check is told in
 * Documentation/testing.rst, Adding a test.
 */
#ifndef RULES_H
#define RULES_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/types.h>
#include <dat/kdat.h>
#else
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <dat/udat.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef unsigned long long u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define __printf(f, a)	__attribute__((format(printf, f, a)))
#endif
#include "dat_private.h"

/*
 * WAIT_MS: by then what should happen has happened.  SILENCE_MS: if nothing has come by
 * then, nothing comes.
 */
#define WAIT_MS		180000
#define SILENCE_MS	100
#define CONNECT_US	(WAIT_MS * 1000)

/*
 * Two calls have other prototypes in each face.  These are the places of some arguments
 * of dat_evd_create and dat_lmr_create, and the completion flags that the provider
 * attributes have to name.
 */
#ifdef __KERNEL__
#define EVD_FLAGS_ARG	DAT_INVALID_ARG5
#define EVD_OUT_ARG	DAT_INVALID_ARG6
#define LMR_OUT_ARG	DAT_INVALID_ARG8
#define FACE_COMPLETION_FLAGS	0x0f
#else
#define EVD_FLAGS_ARG	DAT_INVALID_ARG4
#define EVD_OUT_ARG	DAT_INVALID_ARG5
#define LMR_OUT_ARG	DAT_INVALID_ARG7
#define FACE_COMPLETION_FLAGS	0x1f
#endif

/* ---- tables ------------------------------------------------------------- */

/* Which sides' endpoints take their receives from a shared receive queue. */
enum srq_sides { SRQ_NONE, SRQ_B, SRQ_BOTH };

struct scenario {
	const char *name;	/* begins with the rules that it proves */
	void (*run)(void);
	bool ib;
	bool iwarp;
	enum srq_sides srq;
};

struct scenario_table {
	const struct scenario *scenarios;
	unsigned int count;
};

/*
 * With a third argument, ".srq = SRQ_B" or ".srq = SRQ_BOTH", a scenario is run a
 * second time, as "SRQ: " and its name: then each endpoint that node_new() makes on
 * side b, or on both sides, has an SRQ of its own, and node_recv() posts to that.
 */
#define SCENARIO(text, fn, ...)	{ .name = text, .run = fn, ##__VA_ARGS__ }
/*
 * A scenario that does not hold on iWARP, for one of the reasons in
 * Documentation/drivers.rst: it is skipped if the adapter says that it speaks iWARP.
 */
#define SCENARIO_IB(text, fn, ...) \
	{ .name = text, .run = fn, .ib = true, ##__VA_ARGS__ }
/* A scenario that holds on iWARP only. */
#define SCENARIO_IWARP(text, fn)	{ .name = text, .run = fn, .iwarp = true }
/* At the end of a file, for its array scenarios[]. */
#define SCENARIO_TABLE(table) \
	const struct scenario_table table = { scenarios, ARRAY_SIZE(scenarios) }

extern const struct scenario_table handles_table, args_table, ia_table,
				   evd_table, ep_table, connect_table,
				   transfer_table;
extern const struct scenario_table disconnect_table, order_table, reset_table,
				   handoff_table, free_table, lmr_table,
				   rmr_table, dup_table, passive_table,
				   address_table, limits_table,
				   iwarp_table, srq_table, removal_table;
/* The tables of scenarios that only this face has; ended by NULL (platform.c). */
extern const struct scenario_table * const platform_tables[];

/* ---- verdicts (main.c) -------------------------------------------------- */

/* May sleep; from any thread. */
__printf(3, 4) bool fail_at(const char *file, int line, const char *fmt, ...);
bool ret_at(const char *file, int line, const char *call, DAT_RETURN got,
	    DAT_RETURN expected);
bool equal_at(const char *file, int line, const char *text, u64 got,
	      u64 expected);
static inline bool check_at(const char *file, int line, bool so,
			    const char *text)
{
	return so || fail_at(file, line, "not so: %s", text);
}

bool failed(void);
/*
 * The time, in us, until which to wait: WAIT_MS from now, or soon if the scenario has
 * failed.
 */
u64 deadline(void);
/* A line in the output that is no verdict: a count, a time. */
__printf(1, 2) void note(const char *fmt, ...);

#define FAIL(...)		fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond)		check_at(__FILE__, __LINE__, (cond), #cond)
#define CHECK_EQ(value, expected) \
	equal_at(__FILE__, __LINE__, #value, (value), (expected))
#define EXPECT(call, ret)	ret_at(__FILE__, __LINE__, #call, (call), (ret))
#define OK(call)		EXPECT(call, DAT_SUCCESS)
#define IS(call, type, subtype)	EXPECT(call, DAT_ERROR(type, subtype))
#define BAD_ARG(call, n) \
	IS(call, DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define BAD_HANDLE(call, which) \
	IS(call, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)
#define BAD_STATE(call, which) \
	IS(call, DAT_INVALID_STATE, DAT_INVALID_STATE_##which)

/* ---- what the scenario owns until it is over (main.c) --------------------- */

/* Zeroed, page aligned; NULL, and the scenario has failed, without memory. */
void *scenario_alloc(size_t size);
/* The same, of pages no two of which are physically adjacent. */
void *scenario_alloc_scattered(size_t size);
void scenario_free(void *memory);

struct thread {
	struct thread *next;
	int (*fn)(void *arg);
	void *arg;
	bool joined;
	int ret;
#ifdef __KERNEL__
	struct task_struct *task;
	struct completion done;
#else
	pthread_t pthread;
#endif
};

/* Starts a thread that runs @fn; @thread has to stay until it is joined. */
bool thread_start(struct thread *thread, int (*fn)(void *arg), void *arg);
/* Waits for the end of @fn, and returns what it returned. */
int thread_join(struct thread *thread);
/* True when the scenario is over: threads without an end of their own have to end then. */
bool scenario_over(void);

/* ---- platform ----------------------------------------------------------- */

void say(const char *line);
void *platform_alloc(size_t size);
void *platform_alloc_scattered(size_t size);
void platform_free(void *memory, size_t size);
bool platform_thread_start(struct thread *thread);
void platform_thread_join(struct thread *thread);
/* Protects main.c's list of memory, and the output. */
void platform_lock(void);
void platform_unlock(void);
/* Lets other threads run. */
void yield_cpu(void);
void sleep_us(unsigned int us);
u64 now_us(void);
u32 random_u32(void);
/* Runs @command with sh -c.  Returns its exit status, or -1. */
int run_command(const char *command);
/*
 * How many DAT objects of this face there are, from debugfs; 250 may stand for more;
 * -1: unknown.
 */
int live_objects(void);
/* What is pinned (VmPin) and locked (VmLck) for the process, in KiB; 0 in the
 * kernel, whose memory is not accounted.
 */
u64 pinned_kb(void);
u64 locked_kb(void);
/*
 * Pages that are pinned at this moment, for any process; 0 in the kernel, whose memory
 * is not pinned.
 */
u64 pins(void);
/* The number that a file of sysfs shows; 0 without such a file. */
u64 sysfs_number(const char *path);

struct side;
/* Called before the IA of @side is opened: sets the mode that an application has asked for. */
void platform_before_open(const struct side *side);
DAT_RETURN platform_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen,
			       DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
/* As dat_lmr_create; any of the last five may be NULL. */
DAT_RETURN platform_lmr_register(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				 DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				 DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
				 DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
				 DAT_VADDR *address);

static inline DAT_RETURN
platform_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
		    DAT_REGION_DESCRIPTION region, DAT_VLEN length,
		    DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
		    DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
		    DAT_RMR_CONTEXT *rmr_context)
{
	return platform_lmr_register(ia, type, region, length, pz, privileges,
				     lmr, context, rmr_context, NULL, NULL);
}

/* Like dat_evd_dequeue, but waits up to @ms for an event. */
DAT_RETURN platform_evd_wait(DAT_EVD_HANDLE evd, unsigned int ms,
			     DAT_EVENT *event);

/*
 * The scenario of removal.c makes this file when its traffic runs; then side b's device
 * may be removed.
 */
#define REMOVAL_READY	"/run/kdapl-removal"

struct node;
/* Makes a node with one EVD.  Where there are upcalls, an upcall takes the events. */
bool platform_node(struct node *node, struct side *side);
/*
 * From now on the upcall posts another receive for each one of @node that completes.
 * Without upcalls this is left to whoever takes the events.
 */
bool platform_receive_again(struct node *node);

/* ---- numbers ------------------------------------------------------------ */

static inline u64 add_u64(u64 *counter, u64 n)
{
	return __atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
}

static inline u64 read_u64(u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

static inline void set_u64(u64 *counter, u64 n)
{
	__atomic_store_n(counter, n, __ATOMIC_SEQ_CST);
}

/* A barrier for @n threads, which can be used again and again. */
struct barrier {
	u64 n;
	u64 came;
};

/* Returns false if the scenario has failed or is over, since the others may never come. */
bool barrier_wait(struct barrier *barrier);

/*
 * How often to do what should be done @n times: a quarter as often on a kernel with
 * debugging, where everything takes many times as long, and a sixteenth in a brief run
 * (tests/guest/rules.sh), rounded up.
 */
unsigned int rounds(unsigned int n);
/*
 * The same for what is to be done @n times on either kernel: an eighth in a brief run,
 * rounded up.
 */
unsigned int rounds_in_full(unsigned int n);

/* ---- sides (rig.c) ------------------------------------------------------ */

struct side {
	char *name;		/* of the IA */
	const char *nic;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	struct sockaddr_storage addr;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
	DAT_COUNT max_private_data;
	bool disturbed, lost;
	bool on_srq;		/* node_ep() makes EPs on SRQs */
};

extern struct side side_a, side_b;

/* Does the adapter of @side say that it speaks iWARP? */
bool side_is_iwarp(const struct side *side);
/* Does its device say so (node_type)? */
bool side_has_rnic(const struct side *side);
/* Is its IA one in passthrough, with queues and memory of the process's own? */
bool side_is_passthrough(const struct side *side);
/* The runner opens and closes both sides; a scenario may close and open one in between. */
bool side_open(struct side *side);
void side_close(struct side *side, DAT_CLOSE_FLAGS flags);
/*
 * link_down(): no packet leaves the side any more, and nothing tells the sides so.
 * link_slow(): each packet leaves the side 0.3 s late, in order.
 * link_up(): packets leave the side at once again.
 */
bool link_down(struct side *side);
bool link_slow(struct side *side);
bool link_up(struct side *side);
/* link_down(), and the side does not know the other's hardware address until link_up(). */
bool host_off(struct side *side);
/*
 * How often the side's device has begun to repeat what the peer had not answered in
 * time, or had asked for again.  0 where the device does not count that.
 */
u64 side_repeats(const struct side *side);

/* ---- events (rig.c) ----------------------------------------------------- */

const char *event_name(DAT_EVENT_NUMBER number);
/* Makes an EVD, which takes software events, too (nothing_more). */
bool evd_new(struct side *side, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
	     DAT_EVD_HANDLE *evd);
DAT_RETURN post_se(DAT_EVD_HANDLE evd, u64 number);
/* Takes an event that is there, or comes within @ms.  It is no failure if there is none. */
bool event_within(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *event);

bool next_event_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_EVENT *event);
bool want_event_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_EVENT_NUMBER number, DAT_EVENT *event);
bool want_conn_at(const char *file, int line, DAT_EVD_HANDLE evd,
		  DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
bool want_bound_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_RMR_HANDLE rmr, u64 cookie,
		   DAT_DTO_COMPLETION_STATUS status);
#define ANY_LENGTH	(~0ULL)
bool want_dto_at(const char *file, int line, DAT_EVD_HANDLE evd,
		 DAT_EP_HANDLE ep, u64 cookie, DAT_DTO_COMPLETION_STATUS status,
		 DAT_VLEN length);
bool want_refused_at(const char *file, int line, struct node *node, u64 cookie);
bool want_se_at(const char *file, int line, DAT_EVD_HANDLE evd, u64 number);
bool nothing_more_at(const char *file, int line, DAT_EVD_HANDLE evd);
bool silent_at(const char *file, int line, DAT_EVD_HANDLE evd);
bool state_is_at(const char *file, int line, DAT_EP_HANDLE ep,
		 DAT_EP_STATE state);
bool idle_at(const char *file, int line, DAT_EP_HANDLE ep);

/* Takes the next event, within WAIT_MS: (evd, &event) */
#define next_event(...)		next_event_at(__FILE__, __LINE__, __VA_ARGS__)
/* ... which has to have this number: (evd, number, &event) */
#define want_event(...)		want_event_at(__FILE__, __LINE__, __VA_ARGS__)
/* ... a connection event of this EP without private data: (evd, ep, number) */
#define want_conn(...)		want_conn_at(__FILE__, __LINE__, __VA_ARGS__)
/* ... this DTO's completion: (evd, ep, cookie, status) */
#define want_done(...)		want_dto(__VA_ARGS__, ANY_LENGTH)
/* ... this RMR's bind completion: (evd, rmr, cookie, status) */
#define want_bound(...)		want_bound_at(__FILE__, __LINE__, __VA_ARGS__)
/* ... and its length: (evd, ep, cookie, status, length) */
#define want_dto(...)		want_dto_at(__FILE__, __LINE__, __VA_ARGS__)
/*
 * ... the completion of this request, whose remote memory the peer refuses: (node, cookie).
 * The peer's EP breaks as well, and its disconnect may be here before this side's device has
 * said why.  Then the request is flushed, which shows the refusal too: nobody else ends the
 * connection.
 */
#define want_refused(...)	want_refused_at(__FILE__, __LINE__, __VA_ARGS__)
/* ... this software event: (evd, number) */
#define want_se(...)		want_se_at(__FILE__, __LINE__, __VA_ARGS__)
/* Nothing is queued: a software event that is posted now is the next event. (evd) */
#define nothing_more(...)	nothing_more_at(__FILE__, __LINE__, __VA_ARGS__)
/* Nothing is queued and nothing comes within SILENCE_MS. (evd) */
#define silent(...)		silent_at(__FILE__, __LINE__, __VA_ARGS__)
/* (ep, state) */
#define state_is(...)		state_is_at(__FILE__, __LINE__, __VA_ARGS__)
/* Nothing of the EP is outstanding. (ep) */
#define idle(...)		idle_at(__FILE__, __LINE__, __VA_ARGS__)

/* ---- memory (rig.c) ----------------------------------------------------- */

struct mem {
	u8 *va;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

bool mem_new(struct side *side, struct mem *mem, size_t size,
	     DAT_MEM_PRIV_FLAGS privileges);
/* Frees the LMR, then the memory. */
void mem_free(struct mem *mem);
void mem_fill(struct mem *mem, size_t offset, size_t length, u8 seed);
bool mem_has(const struct mem *mem, size_t offset, size_t length, u8 seed);
/* mem_has(), and the scenario fails if not. */
bool mem_check(const struct mem *mem, size_t offset, size_t length, u8 seed);
/*
 * mem_check() for what the other side has written, after its write has completed: on
 * iWARP the data may come a moment later.
 */
bool mem_arrives(const struct mem *mem, size_t offset, size_t length, u8 seed);
DAT_LMR_TRIPLET piece(const struct mem *mem, size_t offset, size_t length);
DAT_RMR_TRIPLET remote_piece(const struct mem *mem, size_t offset,
			     size_t length);

static inline DAT_CONTEXT cookie(u64 number)
{
	return (DAT_CONTEXT) { .as_64 = number };
}

/* ---- endpoints (rig.c) -------------------------------------------------- */

enum evds { ONE_EVD, THREE_EVDS };

#define NODE_RECVS	16
#define NODE_REQUESTS	16
#define NODE_EVENTS	128
#define NODE_MEMORY	65536

/*
 * An EP with its EVDs (with ONE_EVD all three are the same one) and its memory; and the
 * SRQ from which it takes its receives, or null.
 *
 * DAT does not say which receive of an SRQ a message takes (mt:M54).  The devices of
 * the tests take the oldest one, so scenarios check cookies and bytes as without an
 * SRQ.  The end of a connection differs: a receive that no message has taken is not
 * flushed (D48, mt:M56).
 */
struct node {
	struct side *side;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	DAT_EVD_HANDLE recv, request, conn;
	struct mem mem;
};

/*
 * The attributes of a node's EP: NODE_RECVS receives, NODE_REQUESTS requests, RDMA
 * reads and writes.
 */
extern DAT_EP_ATTR node_attr;

/*
 * Makes what @node does not have yet of EVDs, memory and SRQ, and its EP.  @attr may be
 * NULL for node_attr.
 */
bool node_new(struct node *node, struct side *side, enum evds evds,
	      const DAT_EP_ATTR *attr);
/* Makes only the EP: another one on the same EVDs and memory. */
bool node_ep(struct node *node, const DAT_EP_ATTR *attr);
/* Frees all of a node, for scenarios that make many. */
void node_free(struct node *node);

/* Post a DTO with [offset, offset + length) of the node's memory, and @number as its cookie. */
DAT_RETURN node_recv(struct node *node, size_t offset, size_t length,
		     u64 number);
/* The same with any segments. */
DAT_RETURN node_recv_iov(struct node *node, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			 u64 number);
/*
 * After the end of its connection, @n receives are left in @node's SRQ, and none has
 * completed.
 */
bool left_in_srq(struct node *node, DAT_COUNT n);
DAT_RETURN node_send(struct node *node, size_t offset, size_t length,
		     u64 number, DAT_COMPLETION_FLAGS flags);
DAT_RETURN node_write(struct node *node, size_t offset, size_t length,
		      const DAT_RMR_TRIPLET *to, u64 number,
		      DAT_COMPLETION_FLAGS flags);
DAT_RETURN node_read(struct node *node, size_t offset, size_t length,
		     const DAT_RMR_TRIPLET *from, u64 number,
		     DAT_COMPLETION_FLAGS flags);
/* Binds @rmr to that part, for reads and writes of peers. */
DAT_RETURN node_bind(struct node *node, DAT_RMR_HANDLE rmr, size_t offset,
		     size_t length, u64 number, DAT_COMPLETION_FLAGS flags);

/* ---- connections (rig.c) ------------------------------------------------ */

/* A listener on side b. */
struct listener {
	DAT_EVD_HANDLE requests;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

/* Is the address the one of @side?  The ports may differ. */
bool same_address(DAT_IA_ADDRESS_PTR got, const struct side *side);

bool listener_new(struct listener *listener, DAT_PSP_FLAGS flags);
void listener_free(struct listener *listener);
bool next_request(struct listener *listener, DAT_CR_HANDLE *cr);
/* Has @node, on side a, connect to @qual, with limit CONNECT_US and no private data. */
bool start_connect(struct node *node, DAT_CONN_QUAL qual);

/* Two nodes, and the listener through which they are connected. */
struct pair {
	struct node a;
	struct node b;
	struct listener listener;
};

bool pair_new(struct pair *pair, enum evds evds, const DAT_EP_ATTR *attr_a,
	      const DAT_EP_ATTR *attr_b);
/* Connects two nodes through a listener; all three are there already. */
bool pair_connect(struct node *a, struct node *b, struct listener *listener);
/* Makes all of a pair, but does not connect it. */
bool pair_apart(struct pair *pair, enum evds evds, const DAT_EP_ATTR *attr_a,
		const DAT_EP_ATTR *attr_b);
void pair_free(struct pair *pair);

/*
 * Makes a pair, whose nodes may have EVDs already, and does transfers of which only the
 * last one of each kind notifies.  All have to complete, in order.  Then the pair is
 * disconnected (transfer.c).
 */
void quiet_transfers(struct pair *pair);

/* ---- accounts (rig.c) --------------------------------------------------- */

/*
 * The completions of one direction of an EP, whose posts have cookies numbered from 0.
 * They have to come in that sequence, each once, and no success after a failure.
 */
struct tally {
	u64 next;
	u64 good;
	bool over;
	/* Bit n % 32: request n is suppressed, and silent if it succeeds. */
	u32 suppressed;
};

struct account {
	struct tally request;
	struct tally recv;
	/* Receives that were left in the node's SRQ at the end of the connection. */
	u64 left;
};

/* This bit is set in the cookie of every receive, above its number. */
#define RECV	(1ULL << 32)

/* Enters a completion of @node's EP, of a DTO or a bind, into the account. */
bool account_event(struct account *account, struct node *node,
		   const DAT_EVENT *event);
/*
 * Waits for the completions of all requests below @number.  Requests that are posted
 * after the end of a connection has begun are flushed after the event of that end
 * (D46).
 */
bool account_requests(struct account *account, struct node *node, u64 number);
/* Takes the completions up to the connection event, if both are on one EVD, and that event. */
bool account_first(struct account *account, struct node *node,
		   DAT_EVENT *event);
/*
 * Takes everything that comes on the node's EVDs up to the end of the connection.  The
 * event of the end has to be the only connection event and the last event; with three
 * EVDs all else has to be there by then (D44, D45).  After it the EP is Disconnected
 * and idle (D8).  @end: which event it was.
 *
 * On an SRQ a receive is flushed only if a message has taken it and not filled it,
 * which can be the case for one at most (mt:M56).  The others are left in the SRQ, and
 * counted.
 */
bool account_end(struct account *account, struct node *node, DAT_EVENT_NUMBER *end);
/* account_end(), and the event has to be BROKEN, or the disconnect of a peer that heard first. */
bool account_break(struct account *account, struct node *node, DAT_EVENT_NUMBER *end);
/* account_end(), and the event has to be @end. */
bool account_until(struct account *account, struct node *node,
		   DAT_EVENT_NUMBER end);
/*
 * As many DTOs have completed as were posted, counting the receives that are left in an
 * SRQ: none is lost.
 */
bool account_closed(struct account *account, u64 requests, u64 recvs);

/* ---- handles (handles.c) ------------------------------------------------- */

/*
 * A bad handle: one of no object, or of an object that has not the type that a call
 * asks for.
 */
struct bad {
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;	/* of the live object that it names; or NO_TYPE */
	const char *what;
};

#define NO_TYPE		((DAT_HANDLE_TYPE)-1)

/* The call has to refuse the handle, unless it is that of a live object of type @kind. */
#define REFUSES(kind, which, call)					\
	do {								\
		if (bad->type != DAT_HANDLE_TYPE_##kind &&		\
		    !BAD_HANDLE(call, which))				\
			FAIL("with %s", bad->what);			\
	} while (0)
/* The same for a call that also accepts a null handle. */
#define REFUSES_ANY(kind, which, call)					\
	do {								\
		if (bad->handle)					\
			REFUSES(kind, which, call);			\
	} while (0)

/*
 * Every call refuses @handle, for each handle argument.  Both sides are open, and are
 * not harmed.
 */
bool handle_refused(DAT_HANDLE handle, const char *what);
/* The calls that only this face has refuse the handle (args.c of the face). */
void platform_refuse(const struct bad *bad);
/* @handle has this type, no consumer context, and keeps one that it gets. */
void has_type(DAT_HANDLE handle, DAT_HANDLE_TYPE type);

/* ---- running (main.c) --------------------------------------------------- */

/*
 * Runs all scenarios with @only in their name, or with one of several texts that are
 * separated by "|"; first those of both faces. "own": only those that only this face
 * has.  Returns the number of failures.
 */
unsigned int run_scenarios(const char *only);

#endif /* RULES_H */
