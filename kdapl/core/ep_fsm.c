// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The endpoint table: for every state and input what a call returns, which
 * state follows, and what then has to be done.  Const data and look-ups,
 * nothing else.  core/ep_apply.c applies the cells, scripts/print-matrix prints
 * them.
 *
 * The table stands below as the rules have it, matrix by matrix: M1 calls on
 * the EP, M2 posts, M3 the passive side, M4 modify, M6 the transport.  A line
 * is a state, a column an input, in the order of the rules, so the two can be
 * compared side by side.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <dat/kdat.h>
#include "dat_private.h"
#include "ep_fsm.h"
#include "ret.h"

/* The subtype of the DAT_INVALID_STATE with which a state refuses a call */
enum {
	KDAPL_EP_UNCONNECTED_SUBTYPE		= DAT_INVALID_STATE_EP_UNCONNECTED,
	KDAPL_EP_RESERVED_SUBTYPE		= DAT_INVALID_STATE_EP_RESERVED,
	KDAPL_EP_PASSIVE_PENDING_SUBTYPE	= DAT_INVALID_STATE_EP_PASSCONNPENDING,
	KDAPL_EP_TENTATIVE_SUBTYPE		= DAT_INVALID_STATE_EP_TENTCONNPENDING,
	KDAPL_EP_RESOLVING_SUBTYPE		= DAT_INVALID_STATE_EP_ACTCONNPENDING,
	KDAPL_EP_REQUESTED_SUBTYPE		= DAT_INVALID_STATE_EP_ACTCONNPENDING,
	KDAPL_EP_COMPLETION_PENDING_SUBTYPE	= DAT_INVALID_STATE_EP_COMPLPENDING,
	KDAPL_EP_CONNECTED_SUBTYPE		= DAT_INVALID_STATE_EP_CONNECTED,
	KDAPL_EP_DRAINING_SUBTYPE		= DAT_INVALID_STATE_EP_DISCPENDING,
	KDAPL_EP_FLUSHING_SUBTYPE		= DAT_INVALID_STATE_EP_DISCPENDING,
	KDAPL_EP_DISC_FLUSHING_SUBTYPE		= DAT_INVALID_STATE_EP_DISCONNECTED,
	KDAPL_EP_DISC_IDLE_SUBTYPE		= DAT_INVALID_STATE_EP_DISCONNECTED,
};

#define REFUSAL(s)	DAT_ERROR(DAT_INVALID_STATE, s##_SUBTYPE)
#define DEAD		RET_BAD_HANDLE(EP)

#define STATE(state, dat_state) \
	[KDAPL_EP_##state] = { #state, DAT_EP_STATE_##dat_state, \
			       REFUSAL(KDAPL_EP_##state) }

static const struct {
	const char *name;
	DAT_EP_STATE dat;
	DAT_RETURN refusal;
} kdapl_ep_states[] = {
	STATE(UNCONNECTED,	UNCONNECTED),
	STATE(RESERVED,		RESERVED),
	STATE(PASSIVE_PENDING,	PASSIVE_CONNECTION_PENDING),
	STATE(TENTATIVE,	TENTATIVE_CONNECTION_PENDING),
	STATE(RESOLVING,	ACTIVE_CONNECTION_PENDING),
	STATE(REQUESTED,	ACTIVE_CONNECTION_PENDING),
	STATE(COMPLETION_PENDING, COMPLETION_PENDING),
	STATE(CONNECTED,	CONNECTED),
	STATE(DRAINING,		DISCONNECT_PENDING),
	STATE(FLUSHING,		DISCONNECT_PENDING),
	STATE(DISC_FLUSHING,	DISCONNECTED),
	STATE(DISC_IDLE,	DISCONNECTED),
	/* No consumer gets here, since the handle of a freed EP is not found. */
	[KDAPL_EP_GONE] = { "GONE", DAT_EP_STATE_DISCONNECTED, DEAD },
};

static_assert(ARRAY_SIZE(kdapl_ep_states) == KDAPL_EP_NR_STATES);

static const char * const kdapl_ep_inputs[] = {
	[KDAPL_EP_OP_CONNECT]		= "connect",
	[KDAPL_EP_OP_DUP_SOURCE]	= "dup_connect source",
	[KDAPL_EP_OP_DISC_ABRUPT]	= "disconnect abrupt",
	[KDAPL_EP_OP_DISC_GRACEFUL]	= "disconnect graceful",
	[KDAPL_EP_OP_RESET]		= "reset",
	[KDAPL_EP_OP_FREE]		= "free",
	[KDAPL_EP_OP_POST_RECV]		= "post recv",
	[KDAPL_EP_OP_POST_REQUEST]	= "post request",
	[KDAPL_EP_OP_RESERVE]		= "rsp_create",
	[KDAPL_EP_OP_UNRESERVE]		= "rsp_free",
	[KDAPL_EP_OP_ACCEPT]		= "cr_accept, EP given",
	[KDAPL_EP_OP_ACCEPT_OWN]	= "cr_accept, CR owns EP",
	[KDAPL_EP_OP_REJECT]		= "cr_reject or cr_handoff",
	[KDAPL_EP_OP_MODIFY_PZ]		= "modify PZ",
	[KDAPL_EP_OP_MODIFY_COMMON]	= "modify common",
	[KDAPL_EP_OP_MODIFY_SPECIFIC]	= "modify specific",
	[KDAPL_EP_IN_RESOLVED]		= "resolved",
	[KDAPL_EP_IN_REQUEST]		= "request",
	[KDAPL_EP_IN_ESTABLISHED]	= "established",
	[KDAPL_EP_IN_PEER_DISCONNECT]	= "peer disconnect",
	[KDAPL_EP_IN_PEER_REJECT]	= "peer reject",
	[KDAPL_EP_IN_NON_PEER_REJECT]	= "non-peer reject",
	[KDAPL_EP_IN_TIMER]		= "timer",
	[KDAPL_EP_IN_UNREACHABLE]	= "unreachable",
	[KDAPL_EP_IN_BROKEN]		= "broken",
	[KDAPL_EP_IN_DRAINED]		= "drained",
	[KDAPL_EP_IN_FLUSHED]		= "flushed",
	[KDAPL_EP_IN_TEARDOWN]		= "teardown",
};

static_assert(ARRAY_SIZE(kdapl_ep_inputs) == KDAPL_EP_NR_INPUTS);

/* ---- the words ---- */

/*
 * A cell is written as one word: each is a macro over the state of its line, with the
 * transitions T1..T37 that it stands for.  Three of DAT's states have two lines each; the rules
 * call them
 *
 *	ACP	RESOLVING, REQUESTED (RULING 3 tells them apart)
 *	DSP	DRAINING, FLUSHING (T26..T31)
 *	DIS	DISC_FLUSHING until the connection's last event is out (A.4, R15),
 *		DISC_IDLE afterwards
 *
 * CON, CMP, PCP and TENT are CONNECTED, COMPLETION_PENDING, PASSIVE_PENDING and TENTATIVE.
 */

#define CELL(to, code, todo, ev) \
	{ .defined = true, .next = (to), .ret = (code), .actions = (todo), \
	  .event = (ev) }
#define STAY(s, code)		CELL(s, code, 0, KDAPL_EP_NO_EVENT)
#define GO(to, todo)		CELL(KDAPL_EP_##to, DAT_SUCCESS, todo, \
				     KDAPL_EP_NO_EVENT)
#define GO_EVENT(to, todo, ev)	CELL(KDAPL_EP_##to, DAT_SUCCESS, todo, \
				     DAT_CONNECTION_EVENT_##ev)
#define DO(action)		KDAPL_EP_ACT_##action

/* An attempt ends: its timer, its CM id, the flush of receives, its event. */
#define END_ATTEMPT \
	(DO(STOP_TIMER) | DO(SET_END) | DO(ABORT) | DO(FLUSH))
/* A connection ends: its peer is told or answered, all is flushed, its event. */
#define END_CONNECTION		(DO(SET_END) | DO(DISC) | DO(FLUSH))

/* The state stays as it is.  IS refuses with "invalid state", IH with "invalid handle". */
#define NIL(s)		STAY(s, DAT_SUCCESS)			/* "-" in M6 */
#define OK(s)		STAY(s, DAT_SUCCESS)
#define IS(s)		STAY(s, DAT_ERROR(DAT_INVALID_STATE, s##_SUBTYPE))
#define IH(s)		STAY(s, DEAD)
#define WAIT(s)		CELL(s, DAT_SUCCESS, DO(WAIT), KDAPL_EP_NO_EVENT)
								/* R15 */

/* An EP is given to a service point or a connection request, and comes back. */
#define RESERVE(s)	GO(RESERVED, 0)				/* T3 */
#define ARRIVE(s)	GO(PASSIVE_PENDING, 0)			/* T5 */
#define RETURN(s)	GO(UNCONNECTED, 0)		/* T4 T6 T7 T35 */

/* A connection attempt proceeds, succeeds or fails. */
#define RESOLVE(s)	GO(RESOLVING, 0)			/* T13 T14 */
#define ASK(s)		GO(REQUESTED, 0)
#define ACCEPT(s)	GO(COMPLETION_PENDING, 0)		/* T10..T12 */
#define EST(s)		GO_EVENT(CONNECTED, DO(STOP_TIMER) | DO(EVENT), \
				 ESTABLISHED)			/* T15 T22 */
#define PREJ(s)		GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 PEER_REJECTED)			/* T16 */
#define NPREJ(s)	GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 NON_PEER_REJECTED)		/* T17 */
#define UNR(s)		GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 UNREACHABLE)			/* T18 T19 */
#define TMO(s)		GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 TIMED_OUT)			/* T19 */
#define ACE(s)		GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 ACCEPT_COMPLETION_ERROR)	/* T23 */
#define CANCEL(s)	GO_EVENT(DISC_FLUSHING, END_ATTEMPT, \
				 DISCONNECTED)			/* T20 T24 */

/* A connection ends. */
#define DRAIN(s)	GO_EVENT(DRAINING, DO(SET_END) | DO(DRAIN), \
				 DISCONNECTED)			/* T26 */
#define DISC(s)		GO_EVENT(FLUSHING, END_CONNECTION, \
				 DISCONNECTED)		/* T27 T29 T30 */
#define DRAINED(s)	GO(FLUSHING, DO(DISC) | DO(FLUSH))	/* T28 */
#define PDISC(s)	GO_EVENT(DISC_FLUSHING, END_CONNECTION, \
				 DISCONNECTED)			/* T32 */
#define BRK(s)		GO_EVENT(DISC_FLUSHING, END_CONNECTION, \
				 BROKEN)			/* T33 */
#define END(s)		GO(DISC_IDLE, DO(END))			/* T31, A.4 */

/*
 * The EP is freed, and no event tells (RULING 15).  In a state where the
 * connection is ending already, everything has been asked for before, so DROP
 * asks for nothing.
 */
#define DROP(s)		GO(GONE, 0)			/* T8 T9 T36 T37 */
#define DROP_ATT(s)	GO(GONE, DO(STOP_TIMER) | DO(ABORT) | \
				 DO(FLUSH))			/* T21 T25 */
#define DROP_CON(s)	GO(GONE, DO(DISC) | DO(FLUSH))		/* T34 */

/* ---- the matrices ---- */

#define M1(s, connect, dup_source, abrupt, graceful, reset, free, teardown) \
	[KDAPL_EP_##s][KDAPL_EP_OP_CONNECT] = connect(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_DUP_SOURCE] = dup_source(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_DISC_ABRUPT] = abrupt(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_DISC_GRACEFUL] = graceful(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_RESET] = reset(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_FREE] = free(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_TEARDOWN] = teardown(KDAPL_EP_##s)

#define M2(s, recv, request) \
	[KDAPL_EP_##s][KDAPL_EP_OP_POST_RECV] = recv(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_POST_REQUEST] = request(KDAPL_EP_##s)

#define M3(s, reserve, unreserve, accept, accept_own, reject) \
	[KDAPL_EP_##s][KDAPL_EP_OP_RESERVE] = reserve(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_UNRESERVE] = unreserve(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_ACCEPT] = accept(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_ACCEPT_OWN] = accept_own(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_REJECT] = reject(KDAPL_EP_##s)

#define M4(s, pz, common, specific) \
	[KDAPL_EP_##s][KDAPL_EP_OP_MODIFY_PZ] = pz(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_MODIFY_COMMON] = common(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_OP_MODIFY_SPECIFIC] = specific(KDAPL_EP_##s)

#define M6(s, request, established, disconnect, reject, non_peer, timer, \
	   unreachable, broken) \
	[KDAPL_EP_##s][KDAPL_EP_IN_REQUEST] = request(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_ESTABLISHED] = established(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_PEER_DISCONNECT] = disconnect(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_PEER_REJECT] = reject(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_NON_PEER_REJECT] = non_peer(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_TIMER] = timer(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_UNREACHABLE] = unreachable(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_BROKEN] = broken(KDAPL_EP_##s)

#define PROGRESS(s, resolved, drained, flushed) \
	[KDAPL_EP_##s][KDAPL_EP_IN_RESOLVED] = resolved(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_DRAINED] = drained(KDAPL_EP_##s), \
	[KDAPL_EP_##s][KDAPL_EP_IN_FLUSHED] = flushed(KDAPL_EP_##s)

static const struct kdapl_ep_cell
kdapl_ep_table[KDAPL_EP_NR_STATES][KDAPL_EP_NR_INPUTS] = {
	/*
	 * M1, D3, R1..R3, F1..F4, C1.  Disconnect changes nothing in DIS (D4,
	 * RULING 7); a graceful one changes nothing in DSP (D16, RULING 6), and
	 * in ACP and CMP it ends the attempt with DISCONNECTED (RULING 8).  A
	 * second disconnect finds the flush of the first under way and leaves
	 * it alone.  Tear-down is free without its refusals (F17, T37).
	 *
	 *			connect  dup src  abrupt  graceful  reset   free      tear-down
	 */
	M1(UNCONNECTED,		RESOLVE, IS,      IS,     IS,       OK,     DROP,     DROP),
	M1(RESERVED,		IS,      IS,      IS,     IS,       IS,     IS,       DROP),
	M1(PASSIVE_PENDING,	IS,      IS,      IS,     IS,       IS,     IS,       DROP),
	M1(RESOLVING,		IS,      IS,      CANCEL, CANCEL,   IS,     DROP_ATT, DROP_ATT),
	M1(REQUESTED,		IS,      IS,      CANCEL, CANCEL,   IS,     DROP_ATT, DROP_ATT),
	M1(TENTATIVE,		IS,      IS,      IS,     IS,       IS,     IS,       DROP),
	M1(COMPLETION_PENDING,	IS,      IS,      CANCEL, CANCEL,   IS,     DROP_ATT, DROP_ATT),
	M1(CONNECTED,		IS,      OK,      DISC,   DRAIN,    IS,     DROP_CON, DROP_CON),
	M1(DRAINING,		IS,      IS,      DISC,   OK,       IS,     DROP_CON, DROP_CON),
	M1(FLUSHING,		IS,      IS,      OK,     OK,       IS,     DROP,     DROP),
	M1(DISC_FLUSHING,	IS,      IS,      OK,     OK,       WAIT,   DROP,     DROP),
	M1(DISC_IDLE,		IS,      IS,      OK,     OK,       RETURN, DROP,     DROP),
	M1(GONE,		IH,      IH,      IH,     IH,       IH,     IH,       NIL),

	/*
	 * M2, D14, D15, RULING 29.  A post to a SRQ is judged elsewhere, before
	 * (RULING 31).
	 *
	 *			recv request
	 */
	M2(UNCONNECTED,		OK,  IS),
	M2(RESERVED,		OK,  IS),
	M2(PASSIVE_PENDING,	OK,  IS),
	M2(RESOLVING,		OK,  IS),
	M2(REQUESTED,		OK,  IS),
	M2(TENTATIVE,		OK,  IS),
	M2(COMPLETION_PENDING,	OK,  IS),
	M2(CONNECTED,		OK,  OK),
	M2(DRAINING,		OK,  IS),
	M2(FLUSHING,		OK,  IS),
	M2(DISC_FLUSHING,	OK,  OK),
	M2(DISC_IDLE,		OK,  OK),
	M2(GONE,		IH,  IH),

	/*
	 * M3, P20, P24..P27, P50, P71.  Inputs that cannot occur are IS.  A RSP that
	 * is freed after its request has come leaves the EP untouched (P27).
	 *
	 *			create   free    accept  acc.own reject
	 */
	M3(UNCONNECTED,		RESERVE, OK,     ACCEPT, IS,     IS),
	M3(RESERVED,		IS,      RETURN, IS,     IS,     IS),
	M3(PASSIVE_PENDING,	IS,      OK,     IS,     ACCEPT, RETURN),
	M3(RESOLVING,		IS,      OK,     IS,     IS,     IS),
	M3(REQUESTED,		IS,      OK,     IS,     IS,     IS),
	M3(TENTATIVE,		IS,      OK,     IS,     ACCEPT, DROP),
	M3(COMPLETION_PENDING,	IS,      OK,     IS,     IS,     IS),
	M3(CONNECTED,		IS,      OK,     IS,     IS,     IS),
	M3(DRAINING,		IS,      OK,     IS,     IS,     IS),
	M3(FLUSHING,		IS,      OK,     IS,     IS,     IS),
	M3(DISC_FLUSHING,	IS,      OK,     IS,     IS,     IS),
	M3(DISC_IDLE,		IS,      OK,     IS,     IS,     IS),
	M3(GONE,		IH,      IH,     IH,     IH,     IH),

	/*
	 * M4, P30, RULING 20, RULING 51.
	 *
	 *			PZ  common  specific
	 */
	M4(UNCONNECTED,		OK, OK,     OK),
	M4(RESERVED,		IS, OK,     IS),
	M4(PASSIVE_PENDING,	IS, OK,     IS),
	M4(RESOLVING,		IS, IS,     IS),
	M4(REQUESTED,		IS, IS,     IS),
	M4(TENTATIVE,		OK, OK,     IS),
	M4(COMPLETION_PENDING,	IS, IS,     IS),
	M4(CONNECTED,		IS, IS,     IS),
	M4(DRAINING,		IS, IS,     IS),
	M4(FLUSHING,		IS, IS,     IS),
	M4(DISC_FLUSHING,	IS, IS,     IS),
	M4(DISC_IDLE,		IS, IS,     IS),
	M4(GONE,		IH, IH,     IH),

	/*
	 * M6.  The timer means UNREACHABLE while address or route are unknown,
	 * and TIMED_OUT once the request is out (RULING 3); before that nothing
	 * can be established.  A link error or a disconnect is
	 * NON_PEER_REJECTED in ACP (RULING 32).  Every failure is
	 * ACCEPT_COMPLETION_ERROR in CMP (RULING 19).  In CON a rejection means
	 * that the peer has destroyed a CM id which it had not established yet;
	 * it counts as the peer's disconnect, whether it has the mark of a
	 * consumer or not (amendment of M6, A5).  A broken link in DSP ends
	 * with DISCONNECTED (RULING 9).  PCP and TENT wait for the consumer
	 * whatever the peer does (P44).
	 *
	 *			request estab disc   prej   non-prej  timer unreach  broken
	 */
	M6(UNCONNECTED,		NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(RESERVED,		ARRIVE, NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(PASSIVE_PENDING,	NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(RESOLVING,		NIL,    NIL,  NPREJ, PREJ,  NPREJ,    UNR,  UNR,     NPREJ),
	M6(REQUESTED,		NIL,    EST,  NPREJ, PREJ,  NPREJ,    TMO,  UNR,     NPREJ),
	M6(TENTATIVE,		NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(COMPLETION_PENDING,	NIL,    EST,  ACE,   ACE,   ACE,      NIL,  ACE,     ACE),
	M6(CONNECTED,		NIL,    NIL,  PDISC, PDISC, PDISC,    NIL,  BRK,     BRK),
	M6(DRAINING,		NIL,    NIL,  DISC,  DISC,  DISC,     NIL,  DISC,    DISC),
	M6(FLUSHING,		NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(DISC_FLUSHING,	NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(DISC_IDLE,		NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),
	M6(GONE,		NIL,    NIL,  NIL,   NIL,   NIL,      NIL,  NIL,     NIL),

	/*
	 * The core's own progress: T28, T31, A.4.
	 *
	 *				resolved  drained  flushed
	 */
	PROGRESS(UNCONNECTED,		NIL,      NIL,     NIL),
	PROGRESS(RESERVED,		NIL,      NIL,     NIL),
	PROGRESS(PASSIVE_PENDING,	NIL,      NIL,     NIL),
	PROGRESS(RESOLVING,		ASK,      NIL,     NIL),
	PROGRESS(REQUESTED,		NIL,      NIL,     NIL),
	PROGRESS(TENTATIVE,		NIL,      NIL,     NIL),
	PROGRESS(COMPLETION_PENDING,	NIL,      NIL,     NIL),
	PROGRESS(CONNECTED,		NIL,      NIL,     NIL),
	PROGRESS(DRAINING,		NIL,      DRAINED, NIL),
	PROGRESS(FLUSHING,		NIL,      NIL,     END),
	PROGRESS(DISC_FLUSHING,		NIL,      NIL,     END),
	PROGRESS(DISC_IDLE,		NIL,      NIL,     NIL),
	PROGRESS(GONE,			NIL,      NIL,     NIL),
};

/* The answer for a state or an input outside the enums */
static const struct kdapl_ep_cell kdapl_ep_no_cell = {
	.next = KDAPL_EP_GONE,
	.ret = RET(INTERNAL_ERROR),
};

/**
 * kdapl_ep_fsm - look a cell of the endpoint table up
 * @state: of the endpoint now
 * @input: what happens to it
 *
 * Any context.  The caller holds the EP's lock, or else the state may change
 * before the answer is used.
 *
 * Return: the cell, never NULL.  For a @state or @input outside the enums its
 * @defined is false, and it says DAT_INTERNAL_ERROR.
 */
const struct kdapl_ep_cell *kdapl_ep_fsm(enum kdapl_ep_state state,
					 enum kdapl_ep_input input)
{
	if ((unsigned int)state >= KDAPL_EP_NR_STATES ||
	    (unsigned int)input >= KDAPL_EP_NR_INPUTS)
		return &kdapl_ep_no_cell;
	return &kdapl_ep_table[state][input];
}

/**
 * kdapl_ep_fsm_dat_state - the state that a query of the EP shows
 * @state: of the endpoint
 *
 * Any context.
 *
 * Return: one of DAT's nine states (RULING 12, 13); DISCONNECTED for an
 * endpoint that is gone, which no consumer can ask about.
 */
DAT_EP_STATE kdapl_ep_fsm_dat_state(enum kdapl_ep_state state)
{
	if ((unsigned int)state >= KDAPL_EP_NR_STATES)
		return DAT_EP_STATE_DISCONNECTED;
	return kdapl_ep_states[state].dat;
}

/**
 * kdapl_ep_fsm_refusal - the code of a call that the state forbids
 * @state: of the endpoint
 *
 * For refusals that are not cells of the table.  Any context.
 *
 * Return: DAT_INVALID_STATE with the subtype of @state; for an endpoint that is
 * gone DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP.
 */
DAT_RETURN kdapl_ep_fsm_refusal(enum kdapl_ep_state state)
{
	if ((unsigned int)state >= KDAPL_EP_NR_STATES)
		return DEAD;
	return kdapl_ep_states[state].refusal;
}

/**
 * kdapl_ep_state_name - the name of a state, for traces and tests
 * @state: of an endpoint
 *
 * Any context.
 *
 * Return: the enum's name without its prefix, "?" for no state.
 */
const char *kdapl_ep_state_name(enum kdapl_ep_state state)
{
	if ((unsigned int)state >= KDAPL_EP_NR_STATES)
		return "?";
	return kdapl_ep_states[state].name;
}

/**
 * kdapl_ep_input_name - the name of an input, for traces and tests
 * @input: of the endpoint table
 *
 * Any context.
 *
 * Return: a few words, "?" for no input.
 */
const char *kdapl_ep_input_name(enum kdapl_ep_input input)
{
	if ((unsigned int)input >= KDAPL_EP_NR_INPUTS)
		return "?";
	return kdapl_ep_inputs[input];
}
