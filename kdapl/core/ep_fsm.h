/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The endpoint's state machine: one const table, (state, input) to (state,
 * return code, actions).  It knows no verbs and no locks.  In the module only
 * ep_apply() in core/ep_apply.c does what a cell says, with the EP's lock held; others
 * look up what an input would return.  tests/kunit/ep_fsm_test.c walks every cell,
 * scripts/print-matrix prints it.
 */
#ifndef KDAPL_EP_FSM_H
#define KDAPL_EP_FSM_H

#include <linux/types.h>
#include <dat/kdat.h>

/*
 * The states of an endpoint, finer than DAT's nine.  kdapl_ep_fsm_dat_state()
 * maps them down: RESOLVING and REQUESTED are ACTIVE_CONNECTION_PENDING,
 * DRAINING and FLUSHING are DISCONNECT_PENDING.  DISC_FLUSHING (posted work is
 * still being flushed, and the one connection event has not been raised) and
 * DISC_IDLE are DISCONNECTED.
 */
enum kdapl_ep_state {
	KDAPL_EP_UNCONNECTED,
	KDAPL_EP_RESERVED,
	KDAPL_EP_PASSIVE_PENDING,
	KDAPL_EP_TENTATIVE,
	KDAPL_EP_RESOLVING,
	KDAPL_EP_REQUESTED,
	KDAPL_EP_COMPLETION_PENDING,
	KDAPL_EP_CONNECTED,
	KDAPL_EP_DRAINING,
	KDAPL_EP_FLUSHING,
	KDAPL_EP_DISC_FLUSHING,
	KDAPL_EP_DISC_IDLE,
	KDAPL_EP_GONE,
	KDAPL_EP_NR_STATES
};

enum kdapl_ep_input {
	/* operations of the consumer on this EP */
	KDAPL_EP_OP_CONNECT,		/* connect; dup_connect's first EP */
	KDAPL_EP_OP_DUP_SOURCE,		/* the EP that dup_connect duplicates */
	KDAPL_EP_OP_DISC_ABRUPT,
	KDAPL_EP_OP_DISC_GRACEFUL,
	KDAPL_EP_OP_RESET,
	KDAPL_EP_OP_FREE,
	KDAPL_EP_OP_POST_RECV,
	KDAPL_EP_OP_POST_REQUEST,	/* send, RDMA read, RDMA write, bind */
	KDAPL_EP_OP_RESERVE,		/* rsp_create */
	KDAPL_EP_OP_UNRESERVE,		/* rsp_free */
	KDAPL_EP_OP_ACCEPT,		/* cr_accept that names the EP */
	KDAPL_EP_OP_ACCEPT_OWN,		/* cr_accept, the CR owns the EP */
	KDAPL_EP_OP_REJECT,		/* cr_reject or cr_handoff, CR owns the EP */
	KDAPL_EP_OP_MODIFY_PZ,
	KDAPL_EP_OP_MODIFY_COMMON,	/* EVDs and common attributes */
	KDAPL_EP_OP_MODIFY_SPECIFIC,
	/* the transport */
	KDAPL_EP_IN_RESOLVED,		/* address and route known; the request may go out */
	KDAPL_EP_IN_REQUEST,		/* a request arrived at the EP's RSP */
	KDAPL_EP_IN_ESTABLISHED,
	KDAPL_EP_IN_PEER_DISCONNECT,
	KDAPL_EP_IN_PEER_REJECT,
	KDAPL_EP_IN_NON_PEER_REJECT,
	KDAPL_EP_IN_TIMER,
	KDAPL_EP_IN_UNREACHABLE,
	KDAPL_EP_IN_BROKEN,
	/* the core's own progress */
	KDAPL_EP_IN_DRAINED,		/* no request outstanding any more */
	KDAPL_EP_IN_FLUSHED,		/* all posted work is on its EVD */
	KDAPL_EP_IN_TEARDOWN,		/* IA close, process death; a removal is BROKEN */
	KDAPL_EP_NR_INPUTS
};

/*
 * What is to be done after a cell, in the order of these bits.  The first group
 * is done at once, with the EP's lock held (core/ep_apply.c).  The second group
 * may sleep, so the work item of the connection does it (core/conn_work.c,
 * core/drain.c).
 */
#define KDAPL_EP_ACT_STOP_TIMER	0x0001	/* of the connection attempt */
#define KDAPL_EP_ACT_EVENT	0x0002	/* raise cell->event now */
#define KDAPL_EP_ACT_SET_END	0x0004	/* keep cell->event for ACT_END, unless
					 * one is kept already
					 */
#define KDAPL_EP_ACT_END	0x0008	/* raise the event that was kept, then
					 * flush what was posted meanwhile
					 */
#define KDAPL_EP_ACT_WAIT	0x0010	/* the call waits until the EP has had
					 * FLUSHED, then tries again (R15)
					 */
#define KDAPL_EP_ACT_ABORT	0x0100	/* end the CM id of the attempt */
#define KDAPL_EP_ACT_DRAIN	0x0200	/* wait until no request is outstanding,
					 * then give the input DRAINED
					 */
#define KDAPL_EP_ACT_DISC	0x0400	/* send a disconnect, or answer one */
#define KDAPL_EP_ACT_FLUSH	0x0800	/* have the queue pair complete what is
					 * left; when it has, give the input
					 * FLUSHED
					 */

/* kdapl_ep_cell.event of a cell without event; no DAT event has the number 0. */
#define KDAPL_EP_NO_EVENT	0

/**
 * struct kdapl_ep_cell - one cell of the table
 * @defined: set in every cell, so that a test finds one that was left out
 * @next: the state afterwards; that of the line if nothing changes
 * @actions: KDAPL_EP_ACT_*
 * @ret: what a call returns; DAT_SUCCESS for inputs that are no calls
 * @event: the connection event for ACT_EVENT and ACT_SET_END
 */
struct kdapl_ep_cell {
	bool defined;
	u8 next;
	u16 actions;
	DAT_RETURN ret;
	u32 event;
};

const struct kdapl_ep_cell *kdapl_ep_fsm(enum kdapl_ep_state state,
					 enum kdapl_ep_input input);
DAT_EP_STATE kdapl_ep_fsm_dat_state(enum kdapl_ep_state state);
DAT_RETURN kdapl_ep_fsm_refusal(enum kdapl_ep_state state);
const char *kdapl_ep_state_name(enum kdapl_ep_state state);
const char *kdapl_ep_input_name(enum kdapl_ep_input input);

#endif /* KDAPL_EP_FSM_H */
