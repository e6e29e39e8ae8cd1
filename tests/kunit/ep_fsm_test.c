// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_ep_fsm: every cell of the endpoint table against the rules.
 *
 * The expectations below are those of the rules (M1, M2, M3, M4, M6, T1..T37), in
 * their terms and numbers: DAT's nine states, the code of the call, the state at
 * return, what the consumer sees in the end.
 * They say nothing of the table's inner states, but where a rule needs to tell
 * two of them apart (.only).  Each cell is applied to a small model of an
 * endpoint, and the model is then driven to the end of what the cell began.
 */
#include <kunit/test.h>
#include <dat/kdat.h>
#include "dat_private.h"
#include "core/ep_fsm.h"

/* The rows of the expectations, and DAT's numbers of states and subtypes. */
enum row { UNC, RSV, PCP, ACP, TENT, CMP, CON, DSP, DIS, DEAD, NR_ROWS };

static const struct {
	int state;
	int subtype;
} sheet_rows[NR_ROWS] = {
	[UNC]	= { 0, 46 },
	[RSV]	= { 2, 52 },
	[PCP]	= { 4, 48 },
	[ACP]	= { 6, 47 },
	[TENT]	= { 7, 49 },
	[CMP]	= { 12, 53 },
	[CON]	= { 9, 50 },
	[DSP]	= { 10, 54 },
	[DIS]	= { 11, 51 },
};

/* Which of the table's states are which row. */
static const enum row row_of[KDAPL_EP_NR_STATES] = {
	[KDAPL_EP_UNCONNECTED]		= UNC,
	[KDAPL_EP_RESERVED]		= RSV,
	[KDAPL_EP_PASSIVE_PENDING]	= PCP,
	[KDAPL_EP_TENTATIVE]		= TENT,
	[KDAPL_EP_RESOLVING]		= ACP,
	[KDAPL_EP_REQUESTED]		= ACP,
	[KDAPL_EP_COMPLETION_PENDING]	= CMP,
	[KDAPL_EP_CONNECTED]		= CON,
	[KDAPL_EP_DRAINING]		= DSP,
	[KDAPL_EP_FLUSHING]		= DSP,
	[KDAPL_EP_DISC_FLUSHING]	= DIS,
	[KDAPL_EP_DISC_IDLE]		= DIS,
	[KDAPL_EP_GONE]			= DEAD,
};

/* What a call returns: OK; IS with its row's subtype; IH/EP. */
enum code { OK, IS, IH };

/* The events of the expectations, with DAT's numbers. */
enum {
	E_EST	= 0x04001,
	E_PREJ	= 0x04002,
	E_NPREJ	= 0x04003,
	E_ACE	= 0x04004,
	E_DISC	= 0x04005,
	E_BRK	= 0x04006,
	E_TMO	= 0x04007,
	E_UNR	= 0x04008,
};

/*
 * @row, @input: the cell
 * @rule: where it stands
 * @ret: of the call; OK for what is no call
 * @after: state at return
 * @now: event raised at once
 * @end: event that is raised when everything is flushed
 * @flush, @drain: of posted work: errored, or waited for
 * @tell: the peer is disconnected, or answered
 * @abort: the attempt is given up
 * @wait: the call waits for the flush, then comes again
 * @requested: the request is out, which tells UNR from TMO
 * @only: the cell differs between the inner states of its row; 0 for any
 */
struct expectation {
	enum row row;
	enum kdapl_ep_input input;
	const char *rule;
	enum code ret;
	enum row after;
	u32 now;
	u32 end;
	bool flush, drain, tell, abort, wait, requested;
	enum kdapl_ep_state only;
};

static const struct expectation sheet[] = {
	/* unconnected */
	{ UNC, KDAPL_EP_OP_CONNECT, "T13", OK, ACP },
	{ UNC, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, UNC },
	{ UNC, KDAPL_EP_OP_DISC_ABRUPT, "D3", IS, UNC },
	{ UNC, KDAPL_EP_OP_DISC_GRACEFUL, "D3", IS, UNC },
	{ UNC, KDAPL_EP_OP_RESET, "R2", OK, UNC },
	{ UNC, KDAPL_EP_OP_FREE, "T36, F1", OK, DEAD },
	{ UNC, KDAPL_EP_OP_POST_RECV, "M2, R2", OK, UNC },
	{ UNC, KDAPL_EP_OP_POST_REQUEST, "M2", IS, UNC },
	{ UNC, KDAPL_EP_OP_RESERVE, "T3, P20", OK, RSV },
	{ UNC, KDAPL_EP_OP_UNRESERVE, "M3", OK, UNC },
	{ UNC, KDAPL_EP_OP_ACCEPT, "T10, P53", OK, CMP },
	{ UNC, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, UNC },
	{ UNC, KDAPL_EP_OP_REJECT, "M3", IS, UNC },
	{ UNC, KDAPL_EP_OP_MODIFY_PZ, "M4", OK, UNC },
	{ UNC, KDAPL_EP_OP_MODIFY_COMMON, "M4", OK, UNC },
	{ UNC, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4, RULING 51", OK, UNC },
	{ UNC, KDAPL_EP_IN_RESOLVED, "A.3", OK, UNC },
	{ UNC, KDAPL_EP_IN_REQUEST, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_ESTABLISHED, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_PEER_DISCONNECT, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_PEER_REJECT, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_NON_PEER_REJECT, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_TIMER, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_UNREACHABLE, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_BROKEN, "M6", OK, UNC },
	{ UNC, KDAPL_EP_IN_DRAINED, "A.3", OK, UNC },
	{ UNC, KDAPL_EP_IN_FLUSHED, "A.4", OK, UNC },
	{ UNC, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD },

	/* reserved */
	{ RSV, KDAPL_EP_OP_CONNECT, "M1", IS, RSV },
	{ RSV, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, RSV },
	{ RSV, KDAPL_EP_OP_DISC_ABRUPT, "D3", IS, RSV },
	{ RSV, KDAPL_EP_OP_DISC_GRACEFUL, "D3", IS, RSV },
	{ RSV, KDAPL_EP_OP_RESET, "R3", IS, RSV },
	{ RSV, KDAPL_EP_OP_FREE, "F2", IS, RSV },
	{ RSV, KDAPL_EP_OP_POST_RECV, "M2", OK, RSV },
	{ RSV, KDAPL_EP_OP_POST_REQUEST, "M2", IS, RSV },
	{ RSV, KDAPL_EP_OP_RESERVE, "P20", IS, RSV },
	{ RSV, KDAPL_EP_OP_UNRESERVE, "T4, P26", OK, UNC },
	{ RSV, KDAPL_EP_OP_ACCEPT, "P50", IS, RSV },
	{ RSV, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, RSV },
	{ RSV, KDAPL_EP_OP_REJECT, "M3", IS, RSV },
	{ RSV, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, RSV },
	{ RSV, KDAPL_EP_OP_MODIFY_COMMON, "M4, P30", OK, RSV },
	{ RSV, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, RSV },
	{ RSV, KDAPL_EP_IN_RESOLVED, "A.3", OK, RSV },
	{ RSV, KDAPL_EP_IN_REQUEST, "T5, P23", OK, PCP },
	{ RSV, KDAPL_EP_IN_ESTABLISHED, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_PEER_DISCONNECT, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_PEER_REJECT, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_NON_PEER_REJECT, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_TIMER, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_UNREACHABLE, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_BROKEN, "M6", OK, RSV },
	{ RSV, KDAPL_EP_IN_DRAINED, "A.3", OK, RSV },
	{ RSV, KDAPL_EP_IN_FLUSHED, "A.4", OK, RSV },
	{ RSV, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD },

	/* passive connection pending */
	{ PCP, KDAPL_EP_OP_CONNECT, "M1", IS, PCP },
	{ PCP, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, PCP },
	{ PCP, KDAPL_EP_OP_DISC_ABRUPT, "D3", IS, PCP },
	{ PCP, KDAPL_EP_OP_DISC_GRACEFUL, "D3", IS, PCP },
	{ PCP, KDAPL_EP_OP_RESET, "R3", IS, PCP },
	{ PCP, KDAPL_EP_OP_FREE, "F3", IS, PCP },
	{ PCP, KDAPL_EP_OP_POST_RECV, "M2", OK, PCP },
	{ PCP, KDAPL_EP_OP_POST_REQUEST, "M2", IS, PCP },
	{ PCP, KDAPL_EP_OP_RESERVE, "P20", IS, PCP },
	{ PCP, KDAPL_EP_OP_UNRESERVE, "P27", OK, PCP },
	{ PCP, KDAPL_EP_OP_ACCEPT, "P50", IS, PCP },
	{ PCP, KDAPL_EP_OP_ACCEPT_OWN, "T11, P24", OK, CMP },
	{ PCP, KDAPL_EP_OP_REJECT, "T6, T7, P71", OK, UNC },
	{ PCP, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, PCP },
	{ PCP, KDAPL_EP_OP_MODIFY_COMMON, "M4, RULING 20", OK, PCP },
	{ PCP, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, PCP },
	{ PCP, KDAPL_EP_IN_RESOLVED, "A.3", OK, PCP },
	{ PCP, KDAPL_EP_IN_REQUEST, "M6", OK, PCP },
	{ PCP, KDAPL_EP_IN_ESTABLISHED, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_PEER_DISCONNECT, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_PEER_REJECT, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_NON_PEER_REJECT, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_TIMER, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_UNREACHABLE, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_BROKEN, "P44", OK, PCP },
	{ PCP, KDAPL_EP_IN_DRAINED, "A.3", OK, PCP },
	{ PCP, KDAPL_EP_IN_FLUSHED, "A.4", OK, PCP },
	{ PCP, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD },

	/* active connection pending */
	{ ACP, KDAPL_EP_OP_CONNECT, "M1", IS, ACP },
	{ ACP, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, ACP },
	{ ACP, KDAPL_EP_OP_DISC_ABRUPT, "T20, D30", OK, DIS,
	  .end = E_DISC, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_OP_DISC_GRACEFUL, "T20, D30", OK, DIS,
	  .end = E_DISC, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_OP_RESET, "R3", IS, ACP },
	{ ACP, KDAPL_EP_OP_FREE, "T21, F6", OK, DEAD, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_OP_POST_RECV, "M2", OK, ACP },
	{ ACP, KDAPL_EP_OP_POST_REQUEST, "M2", IS, ACP },
	{ ACP, KDAPL_EP_OP_RESERVE, "P20", IS, ACP },
	{ ACP, KDAPL_EP_OP_UNRESERVE, "M3", OK, ACP },
	{ ACP, KDAPL_EP_OP_ACCEPT, "P50", IS, ACP },
	{ ACP, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, ACP },
	{ ACP, KDAPL_EP_OP_REJECT, "M3", IS, ACP },
	{ ACP, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, ACP },
	{ ACP, KDAPL_EP_OP_MODIFY_COMMON, "M4", IS, ACP },
	{ ACP, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, ACP },
	{ ACP, KDAPL_EP_IN_RESOLVED, "RULING 3", OK, ACP,
	  .requested = 1, .only = KDAPL_EP_RESOLVING },
	{ ACP, KDAPL_EP_IN_RESOLVED, "RULING 3", OK, ACP, .only = KDAPL_EP_REQUESTED },
	{ ACP, KDAPL_EP_IN_REQUEST, "M6", OK, ACP },
	{ ACP, KDAPL_EP_IN_ESTABLISHED, "RULING 3", OK, ACP, .only = KDAPL_EP_RESOLVING },
	{ ACP, KDAPL_EP_IN_ESTABLISHED, "T15, C6", OK, CON,
	  .now = E_EST, .only = KDAPL_EP_REQUESTED },
	{ ACP, KDAPL_EP_IN_PEER_DISCONNECT, "T17, RULING 32", OK, DIS,
	  .end = E_NPREJ, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_IN_PEER_REJECT, "T16, C7", OK, DIS,
	  .end = E_PREJ, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_IN_NON_PEER_REJECT, "T17, C8", OK, DIS,
	  .end = E_NPREJ, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_IN_TIMER, "T19, RULING 3", OK, DIS,
	  .end = E_UNR, .flush = 1, .abort = 1, .only = KDAPL_EP_RESOLVING },
	{ ACP, KDAPL_EP_IN_TIMER, "T19, C10", OK, DIS,
	  .end = E_TMO, .flush = 1, .abort = 1, .only = KDAPL_EP_REQUESTED },
	{ ACP, KDAPL_EP_IN_UNREACHABLE, "T18, C9", OK, DIS,
	  .end = E_UNR, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_IN_BROKEN, "T17, RULING 32", OK, DIS,
	  .end = E_NPREJ, .flush = 1, .abort = 1 },
	{ ACP, KDAPL_EP_IN_DRAINED, "A.3", OK, ACP },
	{ ACP, KDAPL_EP_IN_FLUSHED, "A.4", OK, ACP },
	{ ACP, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD, .flush = 1, .abort = 1 },

	/* tentative connection pending */
	{ TENT, KDAPL_EP_OP_CONNECT, "M1", IS, TENT },
	{ TENT, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, TENT },
	{ TENT, KDAPL_EP_OP_DISC_ABRUPT, "D3", IS, TENT },
	{ TENT, KDAPL_EP_OP_DISC_GRACEFUL, "D3", IS, TENT },
	{ TENT, KDAPL_EP_OP_RESET, "R3", IS, TENT },
	{ TENT, KDAPL_EP_OP_FREE, "F4", IS, TENT },
	{ TENT, KDAPL_EP_OP_POST_RECV, "M2", OK, TENT },
	{ TENT, KDAPL_EP_OP_POST_REQUEST, "M2", IS, TENT },
	{ TENT, KDAPL_EP_OP_RESERVE, "P20", IS, TENT },
	{ TENT, KDAPL_EP_OP_UNRESERVE, "M3", OK, TENT },
	{ TENT, KDAPL_EP_OP_ACCEPT, "P50", IS, TENT },
	{ TENT, KDAPL_EP_OP_ACCEPT_OWN, "T12, P59", OK, CMP },
	{ TENT, KDAPL_EP_OP_REJECT, "T8, T9, P71", OK, DEAD },
	{ TENT, KDAPL_EP_OP_MODIFY_PZ, "M4", OK, TENT },
	{ TENT, KDAPL_EP_OP_MODIFY_COMMON, "M4", OK, TENT },
	{ TENT, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, TENT },
	{ TENT, KDAPL_EP_IN_RESOLVED, "A.3", OK, TENT },
	{ TENT, KDAPL_EP_IN_REQUEST, "M6", OK, TENT },
	{ TENT, KDAPL_EP_IN_ESTABLISHED, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_PEER_DISCONNECT, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_PEER_REJECT, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_NON_PEER_REJECT, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_TIMER, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_UNREACHABLE, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_BROKEN, "P44", OK, TENT },
	{ TENT, KDAPL_EP_IN_DRAINED, "A.3", OK, TENT },
	{ TENT, KDAPL_EP_IN_FLUSHED, "A.4", OK, TENT },
	{ TENT, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD },

	/* completion pending */
	{ CMP, KDAPL_EP_OP_CONNECT, "M1", IS, CMP },
	{ CMP, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, CMP },
	{ CMP, KDAPL_EP_OP_DISC_ABRUPT, "T24, D30", OK, DIS,
	  .end = E_DISC, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_OP_DISC_GRACEFUL, "T24, D30", OK, DIS,
	  .end = E_DISC, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_OP_RESET, "R3", IS, CMP },
	{ CMP, KDAPL_EP_OP_FREE, "T25, F6", OK, DEAD, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_OP_POST_RECV, "M2", OK, CMP },
	{ CMP, KDAPL_EP_OP_POST_REQUEST, "M2", IS, CMP },
	{ CMP, KDAPL_EP_OP_RESERVE, "P20", IS, CMP },
	{ CMP, KDAPL_EP_OP_UNRESERVE, "M3", OK, CMP },
	{ CMP, KDAPL_EP_OP_ACCEPT, "P61", IS, CMP },
	{ CMP, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, CMP },
	{ CMP, KDAPL_EP_OP_REJECT, "M3", IS, CMP },
	{ CMP, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, CMP },
	{ CMP, KDAPL_EP_OP_MODIFY_COMMON, "M4", IS, CMP },
	{ CMP, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, CMP },
	{ CMP, KDAPL_EP_IN_RESOLVED, "A.3", OK, CMP },
	{ CMP, KDAPL_EP_IN_REQUEST, "M6", OK, CMP },
	{ CMP, KDAPL_EP_IN_ESTABLISHED, "T22, RULING 46", OK, CON, .now = E_EST },
	{ CMP, KDAPL_EP_IN_PEER_DISCONNECT, "T23, RULING 32", OK, DIS,
	  .end = E_ACE, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_IN_PEER_REJECT, "T23, P57", OK, DIS,
	  .end = E_ACE, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_IN_NON_PEER_REJECT, "T23, P57", OK, DIS,
	  .end = E_ACE, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_IN_TIMER, "M6", OK, CMP },
	{ CMP, KDAPL_EP_IN_UNREACHABLE, "T23, P57", OK, DIS,
	  .end = E_ACE, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_IN_BROKEN, "T23, P57", OK, DIS, .end = E_ACE, .flush = 1, .abort = 1 },
	{ CMP, KDAPL_EP_IN_DRAINED, "A.3", OK, CMP },
	{ CMP, KDAPL_EP_IN_FLUSHED, "A.4", OK, CMP },
	{ CMP, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD, .flush = 1, .abort = 1 },

	/* connected */
	{ CON, KDAPL_EP_OP_CONNECT, "M1", IS, CON },
	{ CON, KDAPL_EP_OP_DUP_SOURCE, "C2", OK, CON },
	{ CON, KDAPL_EP_OP_DISC_ABRUPT, "T27, D20", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_OP_DISC_GRACEFUL, "T26, D10", OK, DSP, .end = E_DISC, .drain = 1 },
	{ CON, KDAPL_EP_OP_RESET, "R3", IS, CON },
	{ CON, KDAPL_EP_OP_FREE, "T34, F7", OK, DEAD, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_OP_POST_RECV, "M2", OK, CON },
	{ CON, KDAPL_EP_OP_POST_REQUEST, "M2", OK, CON },
	{ CON, KDAPL_EP_OP_RESERVE, "P20", IS, CON },
	{ CON, KDAPL_EP_OP_UNRESERVE, "M3", OK, CON },
	{ CON, KDAPL_EP_OP_ACCEPT, "P50", IS, CON },
	{ CON, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, CON },
	{ CON, KDAPL_EP_OP_REJECT, "M3", IS, CON },
	{ CON, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, CON },
	{ CON, KDAPL_EP_OP_MODIFY_COMMON, "M4", IS, CON },
	{ CON, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, CON },
	{ CON, KDAPL_EP_IN_RESOLVED, "A.3", OK, CON },
	{ CON, KDAPL_EP_IN_REQUEST, "M6", OK, CON },
	{ CON, KDAPL_EP_IN_ESTABLISHED, "M6", OK, CON },
	{ CON, KDAPL_EP_IN_PEER_DISCONNECT, "T32, D50", OK, DIS,
	  .end = E_DISC, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_IN_PEER_REJECT, "M6 amended", OK, DIS,
	  .end = E_DISC, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_IN_NON_PEER_REJECT, "M6 amended", OK, DIS,
	  .end = E_DISC, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_IN_TIMER, "M6", OK, CON },
	{ CON, KDAPL_EP_IN_UNREACHABLE, "T33", OK, DIS, .end = E_BRK, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_IN_BROKEN, "T33, D52", OK, DIS, .end = E_BRK, .flush = 1, .tell = 1 },
	{ CON, KDAPL_EP_IN_DRAINED, "A.3", OK, CON },
	{ CON, KDAPL_EP_IN_FLUSHED, "A.4", OK, CON },
	{ CON, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD, .flush = 1, .tell = 1 },

	/* disconnect pending */
	{ DSP, KDAPL_EP_OP_CONNECT, "M1", IS, DSP },
	{ DSP, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, DSP },
	{ DSP, KDAPL_EP_OP_DISC_ABRUPT, "T29, D22", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_OP_DISC_ABRUPT, "D6", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_OP_DISC_GRACEFUL, "D16, RULING 6", OK, DSP },
	{ DSP, KDAPL_EP_OP_RESET, "R3", IS, DSP },
	{ DSP, KDAPL_EP_OP_FREE, "T34, F16", OK, DEAD,
	  .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_OP_FREE, "T34", OK, DEAD, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_OP_POST_RECV, "D15", OK, DSP },
	{ DSP, KDAPL_EP_OP_POST_REQUEST, "D14", IS, DSP },
	{ DSP, KDAPL_EP_OP_RESERVE, "P20", IS, DSP },
	{ DSP, KDAPL_EP_OP_UNRESERVE, "M3", OK, DSP },
	{ DSP, KDAPL_EP_OP_ACCEPT, "P50", IS, DSP },
	{ DSP, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, DSP },
	{ DSP, KDAPL_EP_OP_REJECT, "M3", IS, DSP },
	{ DSP, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, DSP },
	{ DSP, KDAPL_EP_OP_MODIFY_COMMON, "M4", IS, DSP },
	{ DSP, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, DSP },
	{ DSP, KDAPL_EP_IN_RESOLVED, "A.3", OK, DSP },
	{ DSP, KDAPL_EP_IN_REQUEST, "M6", OK, DSP },
	{ DSP, KDAPL_EP_IN_ESTABLISHED, "M6", OK, DSP },
	{ DSP, KDAPL_EP_IN_PEER_DISCONNECT, "T30, D51", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_PEER_DISCONNECT, "D6", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_PEER_REJECT, "M6 amended", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_PEER_REJECT, "M6", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_NON_PEER_REJECT, "M6 amended", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_NON_PEER_REJECT, "M6", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_TIMER, "M6", OK, DSP },
	{ DSP, KDAPL_EP_IN_UNREACHABLE, "T30, RULING 9", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_UNREACHABLE, "RULING 9", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_BROKEN, "T30, D18", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_BROKEN, "RULING 9", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_DRAINED, "T28, D12", OK, DSP,
	  .end = E_DISC, .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_DRAINED, "A.3", OK, DSP, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_FLUSHED, "T28", OK, DSP, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_FLUSHED, "T31, D8", OK, DIS,
	  .now = E_DISC, .only = KDAPL_EP_FLUSHING },
	{ DSP, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD,
	  .flush = 1, .tell = 1, .only = KDAPL_EP_DRAINING },
	{ DSP, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD, .only = KDAPL_EP_FLUSHING },

	/* disconnected */
	{ DIS, KDAPL_EP_OP_CONNECT, "M1", IS, DIS },
	{ DIS, KDAPL_EP_OP_DUP_SOURCE, "C1", IS, DIS },
	{ DIS, KDAPL_EP_OP_DISC_ABRUPT, "D4", OK, DIS },
	{ DIS, KDAPL_EP_OP_DISC_GRACEFUL, "D4", OK, DIS },
	{ DIS, KDAPL_EP_OP_RESET, "R15", OK, DIS, .wait = 1, .only = KDAPL_EP_DISC_FLUSHING },
	{ DIS, KDAPL_EP_OP_RESET, "T35, R1", OK, UNC, .only = KDAPL_EP_DISC_IDLE },
	{ DIS, KDAPL_EP_OP_FREE, "T36, F1", OK, DEAD },
	{ DIS, KDAPL_EP_OP_POST_RECV, "D46", OK, DIS },
	{ DIS, KDAPL_EP_OP_POST_REQUEST, "D46, RULING 29", OK, DIS },
	{ DIS, KDAPL_EP_OP_RESERVE, "P20", IS, DIS },
	{ DIS, KDAPL_EP_OP_UNRESERVE, "M3", OK, DIS },
	{ DIS, KDAPL_EP_OP_ACCEPT, "P50", IS, DIS },
	{ DIS, KDAPL_EP_OP_ACCEPT_OWN, "M3", IS, DIS },
	{ DIS, KDAPL_EP_OP_REJECT, "M3", IS, DIS },
	{ DIS, KDAPL_EP_OP_MODIFY_PZ, "M4", IS, DIS },
	{ DIS, KDAPL_EP_OP_MODIFY_COMMON, "M4", IS, DIS },
	{ DIS, KDAPL_EP_OP_MODIFY_SPECIFIC, "M4", IS, DIS },
	{ DIS, KDAPL_EP_IN_RESOLVED, "A.3", OK, DIS },
	{ DIS, KDAPL_EP_IN_REQUEST, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_ESTABLISHED, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_PEER_DISCONNECT, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_PEER_REJECT, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_NON_PEER_REJECT, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_TIMER, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_UNREACHABLE, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_BROKEN, "M6", OK, DIS },
	{ DIS, KDAPL_EP_IN_DRAINED, "A.3", OK, DIS },
	{ DIS, KDAPL_EP_IN_FLUSHED, "A.4", OK, DIS,
	  .now = E_BRK, .only = KDAPL_EP_DISC_FLUSHING },
	{ DIS, KDAPL_EP_IN_FLUSHED, "A.4", OK, DIS, .only = KDAPL_EP_DISC_IDLE },
	{ DIS, KDAPL_EP_IN_TEARDOWN, "T37, F17", OK, DEAD },

	/* gone: RULING 14, F5, F14 */
	{ DEAD, KDAPL_EP_OP_CONNECT, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_DUP_SOURCE, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_DISC_ABRUPT, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_DISC_GRACEFUL, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_RESET, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_FREE, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_POST_RECV, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_POST_REQUEST, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_RESERVE, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_UNRESERVE, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_ACCEPT, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_ACCEPT_OWN, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_REJECT, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_MODIFY_PZ, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_MODIFY_COMMON, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_OP_MODIFY_SPECIFIC, "F5", IH, DEAD },
	{ DEAD, KDAPL_EP_IN_RESOLVED, "A.4", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_REQUEST, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_ESTABLISHED, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_PEER_DISCONNECT, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_PEER_REJECT, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_NON_PEER_REJECT, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_TIMER, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_UNREACHABLE, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_BROKEN, "F14", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_DRAINED, "A.4", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_FLUSHED, "A.4", OK, DEAD },
	{ DEAD, KDAPL_EP_IN_TEARDOWN, "T37", OK, DEAD },
};

/* An endpoint as far as the table is concerned. */
struct model {
	enum kdapl_ep_state state;
	u32 end;
	u32 raised[4];
	unsigned int nr_raised;
	u32 asked;
};

static void model_raise(struct model *m, u32 event)
{
	if (m->nr_raised < ARRAY_SIZE(m->raised))
		m->raised[m->nr_raised] = event;
	m->nr_raised++;
}

/* What core/ep.c does with a cell, without anything behind it. */
static const struct kdapl_ep_cell *model_input(struct model *m,
					       enum kdapl_ep_input input)
{
	const struct kdapl_ep_cell *cell = kdapl_ep_fsm(m->state, input);

	m->state = cell->next;
	m->asked = cell->actions;
	if (cell->actions & KDAPL_EP_ACT_EVENT)
		model_raise(m, cell->event);
	if (cell->actions & KDAPL_EP_ACT_SET_END && !m->end)
		m->end = cell->event;
	if (cell->actions & KDAPL_EP_ACT_END) {
		model_raise(m, m->end);
		m->end = KDAPL_EP_NO_EVENT;
	}
	return cell;
}

/* A state as it is found in life: what is ending knows its event. */
static struct model model_in(enum kdapl_ep_state state)
{
	struct model m = { .state = state };

	if (state == KDAPL_EP_DRAINING || state == KDAPL_EP_FLUSHING)
		m.end = E_DISC;
	if (state == KDAPL_EP_DISC_FLUSHING)
		m.end = E_BRK;
	return m;
}

static const struct expectation *expect_of(enum kdapl_ep_state state,
					   enum kdapl_ep_input input,
					   int *found)
{
	const struct expectation *e, *ret = NULL;

	*found = 0;
	for (e = sheet; e < sheet + ARRAY_SIZE(sheet); e++) {
		if (e->row != row_of[state] || e->input != input ||
		    (e->only && e->only != state))
			continue;
		ret = e;
		(*found)++;
	}
	return ret;
}

static DAT_RETURN code_of(const struct expectation *e)
{
	switch (e->ret) {
	case IS:
		return 0x80070000 | sheet_rows[e->row].subtype;
	case IH:
		return 0x80050000 | 12;
	default:
		return 0;
	}
}

/*
 * A.4 step 1, D33: what ends an attempt, or makes a connection of it, stops the
 * timer; while the address becomes known it goes on.
 */
static bool stops_timer(const struct expectation *e)
{
	return (e->row == ACP || e->row == CMP) && e->after != e->row;
}

static u32 actions_of(const struct expectation *e)
{
	return (stops_timer(e) ? KDAPL_EP_ACT_STOP_TIMER : 0) |
	       (e->now && e->after != DIS ? KDAPL_EP_ACT_EVENT : 0) |
	       (e->now && e->after == DIS ? KDAPL_EP_ACT_END : 0) |
	       (e->end && !(e->row == DSP && e->input == KDAPL_EP_IN_DRAINED) ?
		KDAPL_EP_ACT_SET_END : 0) |
	       (e->flush ? KDAPL_EP_ACT_FLUSH : 0) |
	       (e->drain ? KDAPL_EP_ACT_DRAIN : 0) |
	       (e->tell ? KDAPL_EP_ACT_DISC : 0) |
	       (e->abort ? KDAPL_EP_ACT_ABORT : 0) |
	       (e->wait ? KDAPL_EP_ACT_WAIT : 0);
}

static void expect_row(struct kunit *test, const struct model *m, enum row row)
{
	KUNIT_EXPECT_EQ(test, row_of[m->state], row);
	if (row != DEAD)
		KUNIT_EXPECT_EQ(test, (int)kdapl_ep_fsm_dat_state(m->state),
				sheet_rows[row].state);
}

/* Drives what the cell began to its end: A.4, D8, D12, D45. */
static void expect_ending(struct kunit *test, struct model *m,
			  const struct expectation *e)
{
	if (e->drain) {
		model_input(m, KDAPL_EP_IN_FLUSHED);
		expect_row(test, m, DSP);
		model_input(m, KDAPL_EP_IN_DRAINED);
		expect_row(test, m, DSP);
		KUNIT_EXPECT_EQ(test, m->asked, (u32)KDAPL_EP_ACT_DISC |
						KDAPL_EP_ACT_FLUSH);
	}
	KUNIT_EXPECT_EQ(test, m->nr_raised, 0U);
	model_input(m, KDAPL_EP_IN_FLUSHED);
	expect_row(test, m, DIS);
	KUNIT_EXPECT_EQ(test, m->nr_raised, 1U);
	KUNIT_EXPECT_EQ(test, m->raised[0], e->end);
	model_input(m, KDAPL_EP_IN_FLUSHED);
	KUNIT_EXPECT_EQ(test, m->nr_raised, 1U);
}

/* M1..M4, M6, T3..T6, T8, T10..T37, D33: code, state, actions and end of one cell. */
static void cell(struct kunit *test)
{
	uintptr_t number = (uintptr_t)test->param_value - 1;
	enum kdapl_ep_state state = number / KDAPL_EP_NR_INPUTS;
	enum kdapl_ep_input input = number % KDAPL_EP_NR_INPUTS;
	struct model m = model_in(state);
	const struct kdapl_ep_cell *got;
	const struct expectation *e;
	u32 end = m.end;
	int found;

	e = expect_of(state, input, &found);
	KUNIT_ASSERT_EQ(test, found, 1);

	got = model_input(&m, input);
	KUNIT_ASSERT_TRUE(test, got->defined);
	KUNIT_EXPECT_EQ(test, got->ret, code_of(e));
	expect_row(test, &m, e->after);
	KUNIT_EXPECT_EQ(test, m.asked, actions_of(e));
	KUNIT_EXPECT_EQ(test, m.nr_raised, e->now ? 1U : 0U);
	KUNIT_EXPECT_EQ(test, m.raised[0], e->now);

	if (e->after == e->row && !actions_of(e))
		KUNIT_EXPECT_EQ(test, m.state, e->requested ?
				KDAPL_EP_REQUESTED : state);
	if (e->end) {
		KUNIT_EXPECT_EQ(test, m.end, e->end);
		expect_ending(test, &m, e);
	} else if (!e->now) {
		KUNIT_EXPECT_EQ(test, m.end, end);
	}
}

static const void *next_cell(const void *prev, char *desc)
{
	uintptr_t number = (uintptr_t)prev;
	enum kdapl_ep_state state = number / KDAPL_EP_NR_INPUTS;
	enum kdapl_ep_input input = number % KDAPL_EP_NR_INPUTS;
	const struct expectation *e;
	int found;

	if (number == KDAPL_EP_NR_STATES * KDAPL_EP_NR_INPUTS)
		return NULL;
	e = expect_of(state, input, &found);
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s / %s (%s)",
		 kdapl_ep_state_name(state), kdapl_ep_input_name(input),
		 found == 1 ? e->rule : "no rule");
	return (void *)(number + 1);
}

/* Where a loop over all cells is; zeroed before the first. */
struct at {
	int number;
	enum kdapl_ep_state state;
	enum kdapl_ep_input input;
	const struct kdapl_ep_cell *cell;
};

static bool each_cell(struct at *at)
{
	if (at->number == KDAPL_EP_NR_STATES * KDAPL_EP_NR_INPUTS)
		return false;
	at->state = at->number / KDAPL_EP_NR_INPUTS;
	at->input = at->number % KDAPL_EP_NR_INPUTS;
	at->cell = kdapl_ep_fsm(at->state, at->input);
	at->number++;
	return true;
}

static bool is_op(enum kdapl_ep_input input)
{
	return input < KDAPL_EP_IN_RESOLVED;
}

/* ACP and CMP: an attempt is under way. */
static bool is_attempt(enum kdapl_ep_state state)
{
	return row_of[state] == ACP || row_of[state] == CMP;
}

/* DSP, or DIS with its event not out yet. */
static bool is_ending(enum kdapl_ep_state state)
{
	return row_of[state] == DSP || state == KDAPL_EP_DISC_FLUSHING;
}

/* Any call that does not return OK changes nothing and raises nothing (0.2). */
static void refusal_changes_nothing(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		if (at.cell->ret == DAT_SUCCESS)
			continue;
		KUNIT_EXPECT_TRUE(test, is_op(at.input));
		KUNIT_EXPECT_EQ(test, (int)at.cell->next, at.state);
		KUNIT_EXPECT_EQ(test, (int)at.cell->actions, 0);
		KUNIT_EXPECT_EQ(test, at.cell->event, (u32)KDAPL_EP_NO_EVENT);
	}
}

/* T37 */
static void only_gone_is_absorbing(struct kunit *test)
{
	int ways_out[KDAPL_EP_NR_STATES] = {};
	const struct kdapl_ep_cell *cell;
	struct at at = {};
	int state;

	while (each_cell(&at))
		ways_out[at.state] += at.cell->next != at.state;
	for (state = 0; state < KDAPL_EP_NR_STATES; state++) {
		if (state == KDAPL_EP_GONE)
			KUNIT_EXPECT_EQ(test, ways_out[state], 0);
		else
			KUNIT_EXPECT_NE(test, ways_out[state], 0);
		/* T37: from anywhere, at once */
		cell = kdapl_ep_fsm(state, KDAPL_EP_IN_TEARDOWN);
		KUNIT_EXPECT_EQ(test, (int)cell->next, KDAPL_EP_GONE);
	}
}

/* An endpoint starts in UNC (T1) or TENT (T2); no state is out of reach. */
static void every_state_is_reached(struct kunit *test)
{
	bool reached[KDAPL_EP_NR_STATES] = {
		[KDAPL_EP_UNCONNECTED] = true,
		[KDAPL_EP_TENTATIVE] = true,
	};
	struct at at;
	int state, round;

	for (round = 0; round < KDAPL_EP_NR_STATES; round++) {
		at.number = 0;
		while (each_cell(&at))
			reached[at.cell->next] |= reached[at.state];
	}
	for (state = 0; state < KDAPL_EP_NR_STATES; state++)
		KUNIT_EXPECT_TRUE_MSG(test, reached[state], "%s",
				      kdapl_ep_state_name(state));
}

/* Whatever begins an ending says with which event, and what it waits for. */
static void every_end_sets_its_event(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		if (is_ending(at.state) || !is_ending(at.cell->next))
			continue;
		KUNIT_EXPECT_TRUE(test, at.cell->actions & KDAPL_EP_ACT_SET_END);
		KUNIT_EXPECT_NE(test, at.cell->event, (u32)KDAPL_EP_NO_EVENT);
		KUNIT_EXPECT_TRUE(test, at.cell->actions &
				  (KDAPL_EP_ACT_FLUSH | KDAPL_EP_ACT_DRAIN));
	}
}

/* DISC_IDLE is entered with the end's event and in no other way. */
static void idle_comes_with_the_event(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		bool enters = at.cell->next == KDAPL_EP_DISC_IDLE &&
			      at.state != KDAPL_EP_DISC_IDLE;

		KUNIT_EXPECT_EQ(test, enters,
				!!(at.cell->actions & KDAPL_EP_ACT_END));
		if (enters)
			KUNIT_EXPECT_TRUE(test, is_ending(at.state));
	}
}

/* A.4 step 1, D33: no timer outlives its attempt. */
static void timer_dies_with_the_attempt(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		if (row_of[at.state] != ACP || row_of[at.cell->next] == ACP)
			continue;
		KUNIT_EXPECT_TRUE(test,
				  at.cell->actions & KDAPL_EP_ACT_STOP_TIMER);
	}
}

/* What an attempt or a connection holds is given back when it ends. */
static void nothing_stays_behind(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		bool live = is_attempt(at.cell->next) ||
			    row_of[at.cell->next] == CON ||
			    at.cell->next == KDAPL_EP_DRAINING;

		if (live)
			continue;
		if (is_attempt(at.state))
			KUNIT_EXPECT_EQ(test, (int)at.cell->actions &
					(KDAPL_EP_ACT_ABORT |
					 KDAPL_EP_ACT_FLUSH |
					 KDAPL_EP_ACT_DISC),
					KDAPL_EP_ACT_ABORT |
					KDAPL_EP_ACT_FLUSH);
		if (row_of[at.state] == CON || at.state == KDAPL_EP_DRAINING)
			KUNIT_EXPECT_EQ(test, (int)at.cell->actions &
					(KDAPL_EP_ACT_ABORT |
					 KDAPL_EP_ACT_FLUSH |
					 KDAPL_EP_ACT_DISC),
					KDAPL_EP_ACT_DISC |
					KDAPL_EP_ACT_FLUSH);
	}
}

/* RULING 15, F8: an endpoint that goes raises nothing. */
static void going_is_silent(struct kunit *test)
{
	struct at at = {};

	while (each_cell(&at)) {
		if (at.cell->next != KDAPL_EP_GONE)
			continue;
		KUNIT_EXPECT_EQ(test, at.cell->event, (u32)KDAPL_EP_NO_EVENT);
		KUNIT_EXPECT_FALSE(test, at.cell->actions &
				   (KDAPL_EP_ACT_EVENT | KDAPL_EP_ACT_SET_END |
				    KDAPL_EP_ACT_END));
	}
}

/* D3: where disconnect is legal both flags are, and nowhere else. */
static void disconnect_is_legal_where_d3_says(struct kunit *test)
{
	int state;

	for (state = 0; state < KDAPL_EP_GONE; state++) {
		enum row row = row_of[state];
		bool legal = row == ACP || row == CMP || row == CON ||
			     row == DSP || row == DIS;

		KUNIT_EXPECT_EQ(test, legal,
				kdapl_ep_fsm(state, KDAPL_EP_OP_DISC_ABRUPT)
					->ret == DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, legal,
				kdapl_ep_fsm(state, KDAPL_EP_OP_DISC_GRACEFUL)
					->ret == DAT_SUCCESS);
	}
}

/*
 * Every walk there is: a node is a state, the event kept for its end, whether
 * a flush is under way and which events this life has raised.  FLUSHED comes
 * only while there is a flush.  On no edge a second ESTABLISHED or a second end
 * is raised, or an end before its ESTABLISHED; the end never lacks its event,
 * and a new life begins only after it (D6, C11, D32, P53).
 */
struct node {
	u8 state;
	u8 end;
	bool flushing, established, ended;
};

#define NR_NODES	(KDAPL_EP_NR_STATES * 9 * 8)

static unsigned int node_number(const struct node *n)
{
	return ((n->state * 9 + n->end) * 2 + n->flushing) * 4 +
	       n->established * 2 + n->ended;
}

static bool node_step(struct kunit *test, struct node *n, int input)
{
	const struct kdapl_ep_cell *cell = kdapl_ep_fsm(n->state, input);
	u8 before = n->state;

	if (input == KDAPL_EP_IN_FLUSHED) {
		if (!n->flushing)
			return false;
		n->flushing = false;
	}
	n->state = cell->next;
	n->flushing |= !!(cell->actions & KDAPL_EP_ACT_FLUSH);
	if (cell->actions & KDAPL_EP_ACT_EVENT) {
		KUNIT_EXPECT_EQ(test, cell->event, (u32)E_EST);
		KUNIT_EXPECT_FALSE(test, n->established || n->ended);
		n->established = true;
	}
	if (cell->actions & KDAPL_EP_ACT_SET_END && !n->end)
		n->end = cell->event & 0xf;
	if (cell->actions & KDAPL_EP_ACT_END) {
		KUNIT_EXPECT_NE(test, n->end, (u8)0);
		KUNIT_EXPECT_FALSE(test, n->ended);
		/* a connection ends in E.DISC or E.BRK, an attempt in neither
		 * E.EST nor E.BRK
		 */
		if (n->established)
			KUNIT_EXPECT_TRUE(test, n->end == (E_DISC & 0xf) ||
					  n->end == (E_BRK & 0xf));
		else
			KUNIT_EXPECT_TRUE(test, n->end != (E_EST & 0xf) &&
					  n->end != (E_BRK & 0xf));
		n->end = 0;
		n->ended = true;
	}
	if (n->state == KDAPL_EP_UNCONNECTED && before == KDAPL_EP_DISC_IDLE) {
		KUNIT_EXPECT_TRUE(test, n->ended);
		n->established = false;
		n->ended = false;
	}
	if (n->state == KDAPL_EP_UNCONNECTED)
		KUNIT_EXPECT_FALSE(test, n->end || n->flushing ||
				   n->established || n->ended);
	return true;
}

/* D6, D32, C11, P53 */
static void every_walk_ends_once(struct kunit *test)
{
	static const struct node starts[] = {
		{ .state = KDAPL_EP_UNCONNECTED },
		{ .state = KDAPL_EP_TENTATIVE },
	};
	struct node *queue, n;
	unsigned int head = 0, tail = 0;
	bool *seen;
	int input;

	queue = kunit_kcalloc(test, NR_NODES, sizeof(*queue), GFP_KERNEL);
	seen = kunit_kcalloc(test, NR_NODES, sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_ASSERT_NOT_NULL(test, seen);

	for (; tail < ARRAY_SIZE(starts); tail++) {
		queue[tail] = starts[tail];
		seen[node_number(&starts[tail])] = true;
	}
	while (head < tail) {
		for (input = 0; input < KDAPL_EP_NR_INPUTS; input++) {
			n = queue[head];
			if (!node_step(test, &n, input) ||
			    seen[node_number(&n)])
				continue;
			seen[node_number(&n)] = true;
			queue[tail++] = n;
		}
		head++;
	}
	/* It went somewhere: more nodes than states. */
	KUNIT_EXPECT_GT(test, tail, (unsigned int)KDAPL_EP_NR_STATES);
}

/* 0.3, RULING 12: the refusals by number, and no UNCONFIGURED state. */
static void refusals_by_number(struct kunit *test)
{
	int state;

	for (state = 0; state < KDAPL_EP_GONE; state++) {
		KUNIT_EXPECT_EQ(test, kdapl_ep_fsm_refusal(state),
				(DAT_RETURN)(0x80070000 |
				 sheet_rows[row_of[state]].subtype));
		KUNIT_EXPECT_EQ(test, (int)kdapl_ep_fsm_dat_state(state),
				sheet_rows[row_of[state]].state);
	}
	KUNIT_EXPECT_EQ(test, kdapl_ep_fsm_refusal(KDAPL_EP_GONE),
			(DAT_RETURN)0x8005000c);
}

static void names_are_distinct(struct kunit *test)
{
	int i, j;

	for (i = 0; i < KDAPL_EP_NR_STATES; i++) {
		KUNIT_ASSERT_NOT_NULL(test, kdapl_ep_state_name(i));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, kdapl_ep_state_name(i),
					    kdapl_ep_state_name(j));
	}
	for (i = 0; i < KDAPL_EP_NR_INPUTS; i++) {
		KUNIT_ASSERT_NOT_NULL(test, kdapl_ep_input_name(i));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, kdapl_ep_input_name(i),
					    kdapl_ep_input_name(j));
	}
}

/* One past the end, and far outside: never a wild read. */
static void outside_the_table(struct kunit *test)
{
	static const int wild[] = { -1, INT_MIN, INT_MAX };
	const struct kdapl_ep_cell *cell;
	int i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		cell = kdapl_ep_fsm(wild[i], KDAPL_EP_OP_CONNECT);
		KUNIT_EXPECT_FALSE(test, cell->defined);
		cell = kdapl_ep_fsm(KDAPL_EP_UNCONNECTED, wild[i]);
		KUNIT_EXPECT_FALSE(test, cell->defined);
		KUNIT_EXPECT_STREQ(test, kdapl_ep_state_name(wild[i]), "?");
		KUNIT_EXPECT_STREQ(test, kdapl_ep_input_name(wild[i]), "?");
	}
	cell = kdapl_ep_fsm(KDAPL_EP_NR_STATES, KDAPL_EP_OP_CONNECT);
	KUNIT_EXPECT_FALSE(test, cell->defined);
	cell = kdapl_ep_fsm(KDAPL_EP_UNCONNECTED, KDAPL_EP_NR_INPUTS);
	KUNIT_EXPECT_FALSE(test, cell->defined);
	KUNIT_EXPECT_NE(test, cell->ret, (DAT_RETURN)DAT_SUCCESS);
	KUNIT_EXPECT_STREQ(test, kdapl_ep_state_name(KDAPL_EP_NR_STATES), "?");
	KUNIT_EXPECT_STREQ(test, kdapl_ep_input_name(KDAPL_EP_NR_INPUTS), "?");
}

static struct kunit_case kdapl_ep_fsm_cases[] = {
	KUNIT_CASE_PARAM(cell, next_cell),
	KUNIT_CASE(refusal_changes_nothing),
	KUNIT_CASE(only_gone_is_absorbing),
	KUNIT_CASE(every_state_is_reached),
	KUNIT_CASE(every_end_sets_its_event),
	KUNIT_CASE(idle_comes_with_the_event),
	KUNIT_CASE(timer_dies_with_the_attempt),
	KUNIT_CASE(nothing_stays_behind),
	KUNIT_CASE(going_is_silent),
	KUNIT_CASE(disconnect_is_legal_where_d3_says),
	KUNIT_CASE(every_walk_ends_once),
	KUNIT_CASE(refusals_by_number),
	KUNIT_CASE(names_are_distinct),
	KUNIT_CASE(outside_the_table),
	{}
};

static struct kunit_suite kdapl_ep_fsm_suite = {
	.name = "kdapl_ep_fsm",
	.test_cases = kdapl_ep_fsm_cases,
};

kunit_test_suite(kdapl_ep_fsm_suite);
