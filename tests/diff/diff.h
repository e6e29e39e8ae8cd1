/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The differential test: one program of calls, played in passthrough, forwarded and by a
 * kernel consumer, has to give the same transcript.
 *
 * A program is a list of operations on a small world: two adapters, "sides", each with
 * endpoints in SLOTS, EVDs, one shared receive queue, RMRs and memory.  gen.c makes it from a
 * seed, play.c plays it in either face and knows from model.c what has to come of it, user.c
 * runs it in every way, compares, and looks for the shortest program that still differs;
 * kernel.c is the same player as a module.
 *
 * What makes a transcript the same each time is that an operation ends only when its effects
 * have: the player waits for the states and, where it takes events, for all that are due, never
 * for a time.  Whatever no such wait can decide is written down as "any".
 */
#ifndef DIFF_H
#define DIFF_H

#include "../stress/port.h"

#define SIDES		2
#define SLOTS		3	/* endpoints of a side; the last one has the SRQ */
#define EVDS		4
#define RMRS		2
#define NO_EVD		EVDS
#define MAX_OPS		64
#define BURST		4	/* posts of one operation */
#define DTOS		8
#define MSG		256
#define RDMA		64	/* bytes that one request may write or read at the peer */
#define ITEMS		(MAX_OPS * (BURST + 4))
#define MAX_EPS		(MAX_OPS + SIDES * SLOTS)
#define QLEN		1024
#define LIMIT_MS	60000	/* ends a deadlock, measures nothing */

/* X(operation): what a program consists of; the fields of struct op are said in play.c */
#define DIFF_OPS(X)							\
	X(create) X(free) X(modify) X(connect) X(disconnect) X(reset)	\
	X(recv) X(send) X(write) X(read) X(bind) X(rmr_free)		\
	X(srq_recv) X(srq_query) X(srq_resize)				\
	X(take) X(wait) X(settle) X(status) X(query) X(recv_query)	\
	X(software) X(resize)						\
	X(write_immed) X(cmp_swap) X(fetch_add)

enum kind {
#define X(name)	OP_##name,
	DIFF_OPS(X)
#undef X
	OPS,
	FIRST_EXTENSION = OP_write_immed
};

/*
 * struct op - one operation, as a line "kind side slot a b c"
 * @a, @b, @c: what they mean depends on the kind
 */
struct op {
	u32 kind, side, slot, a, b, c;
};

/*
 * struct program
 * @limit: after so many ms what has not come is missing
 * @extended: it has extensions of DAT (extension.c)
 */
struct program {
	u32 limit;
	bool extended;
	u32 n;
	struct op ops[MAX_OPS];
};

/* What becomes of an item; ANY: a race that DAT leaves open (D20) decides. */
enum result { OK, FLUSH, FAIL, ANY };
enum stage { WAITS, DUE, SURE, TAKEN };
enum stream { RECV, REQUEST, CONNECTION, SOFTWARE };

/*
 * struct item - something that will be an event once: a post, an event of a connection, a
 * software event
 * @number: its place among the items, which is a post's cookie; or the number of the event
 * @stage: WAITS cannot complete yet; DUE will, or already has, in a race with whatever ends
 *	   the connection; SURE is decided; TAKEN was dequeued
 * @life: of @ep, which each reset ends
 * @silent: success shows nothing
 * @late: posted in Disconnected
 * @lost: its endpoint was freed, so that it may come or not (F9)
 * @bad: will fail at the peer
 * @end: an event that ends a connection or an attempt
 * @failed: it has completed, and not with success
 * @text: what came of it, for the transcript
 * @partner: of a send its receive, and the other way round
 */
struct item {
	enum stream stream;
	enum kind kind;
	struct ep *ep;
	u32 life, side, evd, length;
	enum stage stage;
	enum result result;
	bool silent, late, lost, bad, end, failed;
	u32 number;
	struct item *partner;
	struct rmr *rmr;
	char text[56];
};

struct ep {
	u32 side, slot, number;
	DAT_EP_HANDLE handle;
	DAT_EP_STATE state;
	bool freed, srq;
	u32 life;
	u32 evds[3];		/* of RECV, REQUEST, CONNECTION */
	struct ep *peer;
};

struct rmr {
	DAT_RMR_HANDLE handle;
	DAT_RMR_CONTEXT context;
	struct item *bind;	/* the last one */
	bool bound, unbinds;
};

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, cr, evds[EVDS];
	DAT_SRQ_HANDLE srq;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	u8 *mem;		/* ITEMS of MSG, then ITEMS of RDMA */
	struct rmr rmrs[RMRS];
	struct ep *slots[SLOTS];
};

struct world {
	struct side sides[SIDES];
	struct item items[ITEMS];
	struct ep eps[MAX_EPS];
	u32 n_items, n_eps;
	u32 op;			/* where the program is */
	u32 limit;
	u32 breaks;		/* connections that a failed request has ended */
	bool raced;		/* so memory is not compared */
	bool extended;
	bool stop;		/* what was due did not come */
	struct item *taken[ITEMS];
};

/* struct post - a request that DAT 1.2 does not have, as post_extension() takes it */
struct post {
	enum kind kind;
	DAT_COUNT segments;
	DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	DAT_RMR_TRIPLET remote;
	DAT_COMPLETION_FLAGS flags;
	u64 operand, compare;	/* the operand of a write is its word */
};

/* extension.c */
extern const bool has_extensions;
extern const DAT_EVD_FLAGS evd_extended;
extern const DAT_MEM_PRIV_FLAGS priv_atomic;
DAT_RETURN post_extension(DAT_EP_HANDLE ep, const struct post *post);
DAT_EVENT_NUMBER event_kind(const DAT_EVENT *event, u32 *word);

/* model.c */
bool takes_receive(const struct item *request);
struct item *item_new(struct world *w, enum stream stream, enum kind kind, struct ep *ep);
void item_ready(struct item *item, enum result result);
struct item *next_receive(struct world *w, struct ep *ep);
bool waiting(struct world *w, struct ep *ep, enum stream stream);
u32 occupied(struct world *w, struct ep *ep, enum stream stream, bool certainly);
struct item *find_event(struct world *w, struct ep *ep, u32 life, bool end);
void event_due(struct world *w, struct ep *ep, DAT_EVENT_NUMBER number);
void ended(struct world *w, struct ep *ep, DAT_EVENT_NUMBER number, bool freed);
void advance(struct world *w);
void end_connection(struct world *w, struct ep *by, bool drained, bool freed);
bool is_due(const struct item *item, u32 side, u32 evd);
void oracle(struct world *w, struct item *item, u32 evd, u32 status);
void oracle_empty(struct world *w, u32 side, u32 evd);

/* play.c */
extern const char *const op_names[OPS];
void play(const struct program *program, u32 qual);
int parse(struct program *program, char *text);

/* gen.c */
void generate(struct program *program, u64 seed, bool extended);

#endif /* DIFF_H */
