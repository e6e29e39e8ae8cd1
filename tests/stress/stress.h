/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stress test: worlds that call everything at random on endpoints they
 * share, and the books that are kept about it.
 *
 * A world is one adapter with its objects, WORKERS threads that operate on them
 * all at once, and one that takes events.  Worlds connect to each other; what
 * they have to know of each other is on the board, which for processes is
 * shared memory.  world.c runs a world, ops.c is what its workers do, account.c
 * keeps the books.  user.c and port_user.c make a program of it (worlds are
 * processes, some of which get killed), kernel.c and port_kernel.c a module.
 *
 * Every endpoint has a struct ep.  KEPT ones live until the world ends, which
 * sees that each of their posts has completed; the others are freed under the
 * workers' hands.
 */
#ifndef STRESS_H
#define STRESS_H

#include "port.h"

#define WORLDS		4
#define WORKERS		3
#define KEPT		6	/* endpoints that are drained before they go */
#define FREED		4	/* ... that are freed at any time */
#define OFFERED		3	/* ... that the provider made for requests */
#define EPS		(KEPT + FREED + OFFERED)
#define MERGED		3	/* EVDs that take DTOs and connection events */
#define EVDS		(MERGED + 3)
#define POSTS		2048	/* outstanding in a world */
#define MSG		128
#define AREA		8192	/* memory for RDMA, and for each passing LMR */
#define LMRS		4	/* that come and go */
#define RMRS		3
#define AREAS		(1 + LMRS + RMRS)
#define PSPS		4
#define RSPS		4
#define CRS		32
#define DTOS		16	/* per direction of an endpoint */
#define PAIRS		4096
#ifdef __KERNEL__
#define BASE_QUAL	31000
#else
#define BASE_QUAL	30000
#endif
#define QUALS		100	/* of each world */
#define NOBODY		99	/* the one where nobody listens */

/* how much longer the test may take until it has seen something of each rule */
#define LATE_MS		600000

/* What is proven, if anything of it was seen; account.c has the names. */
enum rule {
	RULE_ONCE, RULE_ORDER, RULE_FAILED, RULE_ENDS, RULE_ATTEMPTS, RULE_FREED,
	RULE_DEAD, RULE_LMR, RULE_MESSAGE, RULE_PAIR, RULE_PRIVATE, RULE_CODE,
	RULE_CLOSE, RULES
};

enum count {
	COUNT_CALLS, COUNT_POSTS, COUNT_COMPLETED, COUNT_SUPPRESSED, COUNT_BINDS, COUNT_LOST,
	COUNT_CONNECTED, COUNT_UNCONNECTED, COUNT_FREED, COUNT_PAIRS,
	COUNT_REFUSED, COUNT_WORLDS, COUNTS
};

/*
 * struct pair - what the two ends of a connection have seen, [0] the active one
 * @serial: which connection this is, the accepting world's count
 * @over: bit of each end that has filled its part
 * @sent, @unsent: sends that completed with and without success
 * @got: receives that completed with success
 */
struct pair {
	u64 serial;
	u32 over;
	u32 sent[2], unsent[2], got[2];
};

/* struct place - what others know of a world; of its memory the lasting first */
struct place {
	u32 alive;
	u32 device;
	u32 rmr_contexts[AREAS];
	u64 areas[AREAS];
	struct sockaddr_in address;
};

/*
 * struct board - what all worlds share
 * @stop: worlds end gracefully
 * @faults: allocations may fail
 * @patient: the time is over, but not all was seen yet: workers let connections live
 * @broken: how often each rule was
 * @checked: how often each one was put to the test
 * @serials: of accepted connections, for struct pair
 * @beats: calls of each thread; @calls is what it is in, or NULL
 */
struct board {
	u32 stop;
	u32 faults;
	u32 patient;
	u64 seed;
	u32 broken[RULES];
	u64 checked[RULES];
	u64 counts[COUNTS];
	struct place places[WORLDS];
	u64 serials[WORLDS];
	u64 beats[WORLDS][WORKERS + 1];
	const char *calls[WORLDS][WORKERS + 1];
	struct pair pairs[WORLDS][PAIRS];
};

extern struct board *board;

struct evd {
	DAT_EVD_HANDLE handle;
	struct lock lock;	/* taking an event and entering it in the books */
};

/*
 * struct ep - an endpoint, also after it was freed
 * @handle: set before anybody else sees the structure
 * @next: all of a world
 * @evds: receive, request, connect
 * @merged: they are one
 * @kept: nobody frees it before it is drained
 * @moved: an EVD was changed, so the order between EVDs is undefined
 * @freeing: somebody is about to free it, which ends its connection events
 * @accepted, @completed, @silent: posts; silent ones show failures only
 * @attempts, @ended: calls that connect or accept, and what came of them
 * @freed: so its markers are there, or about to be
 * @markers: of those behind its free, how many were taken; all: it is @gone
 * @last: of each direction and thread, what completed last
 *
 * Under @attempt: calls of a KEPT and merged one that connect, and @ids, the
 * attempts that no event has answered yet.
 *
 * Under the EVD's lock, if merged: @connected, @failed (per direction, in this
 * connection), @now (its own part of the pair), @got (last message of each of
 * the peer's threads).
 */
struct ep {
	DAT_EP_HANDLE handle;
	struct ep *next;
	struct evd *evds[3];
	bool merged;
	bool kept;
	u32 moved;
	u32 freeing;
	u64 accepted;
	u64 completed;
	u64 silent;
	u64 failed_silent;
	u64 attempts;
	u64 ended;
	u32 freed;
	u32 markers;
	u32 gone;
	u64 last[2][WORKERS + 1];
	struct lock attempt;
	u64 ids[64];
	u32 ids_put, ids_got;
	bool connected;
	bool failed[2];
	u32 side;
	u64 id;
	u32 sent, unsent, received;
	u64 got[WORKERS + 1];
};

/*
 * struct post - a posted DTO
 * @state: what is known of it, and its turn: how many posts the record has been used for.  Its
 *	   index and the turn are the cookie of the post
 */
struct post {
	u32 state;
	u32 next_free;
	u8 thread;
	u8 op;
	bool recv;
	struct ep *ep;
	u64 seq;
};

/* What a message begins with */
struct message {
	u64 magic;
	u64 seq;
	u32 world;
	u32 thread;
};

/* struct lmr - one that comes and goes, over memory of its own */
struct lmr {
	u32 state;		/* LMR_... */
	DAT_LMR_HANDLE handle;
	DAT_LMR_CONTEXT context;
	u8 *mem;
	bool filled;		/* with a pattern, since it was freed */
};

enum { LMR_NONE, LMR_CHANGES, LMR_LIVE };

/* struct request - a CR; never given back before the world ends */
struct request {
	DAT_CR_HANDLE cr;
	struct ep *ep;		/* if it owns one */
	bool offered;		/* the provider has made that for it */
	struct request *next;
};

struct world {
	u32 number;
	const char *ia_name;
	u64 seed;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	struct evd evds[EVDS];
	struct evd cr;
	struct evd errors;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	u8 *mem;		/* of the posts, then AREA */
	struct lmr lmrs[LMRS];
	DAT_RMR_HANDLE rmrs[RMRS];
	struct ep *eps[EPS];
	struct ep *all;
	DAT_PSP_HANDLE psps[PSPS];
	DAT_RSP_HANDLE rsps[RSPS];
	struct request *crs[CRS];
	struct request *requests;
	struct post posts[POSTS];
	u32 free_post;
	struct lock lock;	/* of @free_post, @all, and changes of @eps */
	u32 stop;		/* workers */
	u32 taken;		/* no more events are wanted */
	u32 closing;		/* the adapter goes: all handles die */
};

struct worker {
	struct world *w;
	u32 id;
	u64 rng;
	u64 seq;
};

/* How a world ends */
enum world_end { END_DRAINED, END_ABRUPT };

/* account.c */
extern const char *const rule_names[RULES];

bool book_init(struct world *w);
void broken(enum rule rule, const char *format, ...) __printf(2, 3);
void checked(enum rule rule);
bool enough(void);
u32 tell_rules(void);
void count(enum count what, u64 by);
struct ep *ep_new(struct world *w, DAT_EP_HANDLE handle, struct evd *recv,
		  struct evd *request, struct evd *connect, bool kept);
struct post *post_begin(struct worker *me, struct ep *ep, bool recv, u8 op,
			DAT_DTO_COOKIE *cookie);
void post_end(struct world *w, struct post *post, bool accepted);
u8 *post_mem(struct world *w, const struct post *post);
u64 silent_cookie(struct worker *me);
bool take(struct world *w, struct evd *evd);
void take_event(struct world *w, const DAT_EVENT *event);
void marker(struct world *w, struct ep *ep);
bool drained(const struct ep *ep);
void check_drained(struct ep *ep);
void put_private(struct world *w, u64 id, u8 *data);
bool get_private(const void *data, size_t size, u64 *id);
u64 new_id(struct world *w);

/* ops.c */
bool attempt_begin(struct ep *ep);
void attempt_end(struct ep *ep, u64 id, bool ok);
u32 below(struct worker *me, u32 limit);
void operate(struct worker *me);
struct ep *ep_open(struct world *w, u32 slot);
void cr_arrived(struct world *w, const DAT_CR_ARRIVAL_EVENT_DATA *event);
bool requests_reject(struct world *w);

/* world.c */
bool world_run(struct world *w, enum world_end (*wait)(struct world *w));

#define PRIVATE		32
#define MAGIC		0x6b6461706c737472ULL

#endif /* STRESS_H */
