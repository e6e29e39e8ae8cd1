// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Maps a CM event and its status to an input of the endpoint table: constant data and
 * four pure functions (A.7).  glue/cm.c uses them for the events of connections; KUnit
 * walks the table.
 *
 * The endpoint's state does not matter here.  For example, that the failure of a connection
 * which was accepted here is an ACCEPT_COMPLETION_ERROR is in the endpoint table
 * (core/ep_fsm.c).
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include "cm_event.h"

const u8 kdapl_cm_mark[KDAPL_CM_MARK] = { 'k', 'D', 'R', 'J' };

/*
 * The first row that matches an event decides.  any_status: the status does not
 * matter.  marked: the row matches only if the private data has the consumer's mark.
 */
struct cm_row {
	enum rdma_cm_event_type event;
	bool any_status;
	int status;
	bool marked;
	enum kdapl_ep_input input;
};

static const struct cm_row rows[] = {
	{ .event = RDMA_CM_EVENT_ADDR_ERROR, .any_status = true,
	  .input = KDAPL_EP_IN_UNREACHABLE },
	{ .event = RDMA_CM_EVENT_ROUTE_ERROR, .any_status = true,
	  .input = KDAPL_EP_IN_UNREACHABLE },
	{ .event = RDMA_CM_EVENT_UNREACHABLE, .any_status = true,
	  .input = KDAPL_EP_IN_UNREACHABLE },
	{ .event = RDMA_CM_EVENT_CONNECT_ERROR, .status = -ETIMEDOUT,
	  .input = KDAPL_EP_IN_UNREACHABLE },
	{ .event = RDMA_CM_EVENT_CONNECT_ERROR, .any_status = true,
	  .input = KDAPL_EP_IN_NON_PEER_REJECT },
	{ .event = RDMA_CM_EVENT_REJECTED,
	  .status = IB_CM_REJ_CONSUMER_DEFINED, .marked = true,
	  .input = KDAPL_EP_IN_PEER_REJECT },
	/* On iWARP the status of a rejection is one of two errors, as the driver chooses. */
	{ .event = RDMA_CM_EVENT_REJECTED, .status = -ECONNRESET, .marked = true,
	  .input = KDAPL_EP_IN_PEER_REJECT },
	{ .event = RDMA_CM_EVENT_REJECTED, .status = -ECONNREFUSED, .marked = true,
	  .input = KDAPL_EP_IN_PEER_REJECT },
	{ .event = RDMA_CM_EVENT_REJECTED, .any_status = true,
	  .input = KDAPL_EP_IN_NON_PEER_REJECT },
	{ .event = RDMA_CM_EVENT_ESTABLISHED, .any_status = true,
	  .input = KDAPL_EP_IN_ESTABLISHED },
	{ .event = RDMA_CM_EVENT_DISCONNECTED, .any_status = true,
	  .input = KDAPL_EP_IN_PEER_DISCONNECT },
	{ .event = RDMA_CM_EVENT_DEVICE_REMOVAL, .any_status = true,
	  .input = KDAPL_EP_IN_BROKEN },
	{ .event = RDMA_CM_EVENT_ADDR_CHANGE, .any_status = true,
	  .input = KDAPL_EP_IN_BROKEN },
};

/**
 * kdapl_cm_event_input - what a CM event means to an endpoint
 * @event: of a connection's id
 * @status: of the event: an errno, or the reason of a REJECTED
 * @mark: kdapl_cm_reject_mark() of the event's private data
 *
 * Any context.
 *
 * Return: the input; KDAPL_CM_NO_INPUT for the steps of the handshake, for
 * TIMEWAIT_EXIT, and for events that connections never get.
 */
enum kdapl_ep_input kdapl_cm_event_input(enum rdma_cm_event_type event,
					 int status, bool mark)
{
	const struct cm_row *row;

	for (row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		if (row->event == event &&
		    (row->any_status || row->status == status) &&
		    (!row->marked || mark))
			return row->input;
	}
	return KDAPL_CM_NO_INPUT;
}

/**
 * kdapl_cm_reject_mark - did a consumer reject?
 * @data: private data of a REJECTED event, may be NULL
 * @len: its length; InfiniBand pads it with zeros
 *
 * A request that is dropped without an answer of the consumer ends with the same reason
 * as one that the consumer rejects, but without private data (A.7).  Any byte that is not
 * zero counts as the mark, because the DAPL of OpenFabrics puts a header of its own there.
 *
 * Return: true if @data holds anything but zeros.
 */
bool kdapl_cm_reject_mark(const void *data, u8 len)
{
	return data && memchr_inv(data, 0, len);
}

/*
 * The header that the DAPL of OpenFabrics puts in front of a consumer's data: the version of DAT,
 * 1.x or 2.x, and that of its provider, a byte each.
 */
static bool has_of_header(const u8 *data)
{
	return (data[0] == 1 || data[0] == 2) && data[1] <= 2;
}

/**
 * kdapl_cm_reject_data - the consumer's private data in those of a rejection
 * @data: private data of a REJECTED event, may be NULL
 * @len: in: its length; out: that of the consumer's, 0 if there are none
 *
 * They are behind our mark or OpenFabrics' header.  A program that speaks no DAT has neither, and
 * all is its own.  InfiniBand pads with zeros, so data of nothing but zeros are none (RULING 65).
 *
 * Return: the first byte of them.
 */
const void *kdapl_cm_reject_data(const void *data, u8 *len)
{
	if (data && *len >= KDAPL_CM_MARK &&
	    (!memcmp(data, kdapl_cm_mark, KDAPL_CM_MARK) || has_of_header(data))) {
		data += KDAPL_CM_MARK;
		*len -= KDAPL_CM_MARK;
	}
	if (!kdapl_cm_reject_mark(data, *len))
		*len = 0;
	return data;
}

/**
 * kdapl_cm_connect_error - the meaning of an error of an iWARP driver's connect
 * @err: returned by rdma_connect()
 *
 * The peer's host resets a TCP connection for which nobody listens: -ECONNREFUSED.  If
 * the TCP connection was established already, and the listener went away before the
 * peer's driver took it, the error is another one but means the same (P13, P28).
 *
 * Any context.
 *
 * Return: -ECONNREFUSED: nobody listens there; else @err.
 */
int kdapl_cm_connect_error(int err)
{
	return err == -ECONNRESET || err == -EPIPE ? -ECONNREFUSED : err;
}
