// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posts the transfers of a connection, and is the only place where its events are taken. All
 * events of a connection go to one EVD, so that a function that waits for a transfer sees the
 * end of the connection as well. Called by link.c and exchange.c.
 */
#include <stdatomic.h>
#include <string.h>

#include "pingpong.h"

/* Cookies of requests. The cookie of a receive is the number of its slot. */
#define COOKIE_SEND	0x100
#define COOKIE_WRITE	0x101
#define COOKIE_READ	0x102
#define COOKIE_BIND	0x103

/* The longest single wait: a signal that comes just before a wait does not interrupt it. */
#define WAIT_US		500000u

static bool connection_event(struct link *link, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		link->established = true;
		if (data->private_data_size >= (int)sizeof(link->answer))
			memcpy(&link->answer, data->private_data, sizeof(link->answer));
		return true;
	}
	link->ended = true;
	link->end = event->event_number;
	return true;
}

static bool transfer_failed(struct link *link, const char *what,
			    DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
		"success", "flushed", "local length", "local endpoint",
		"local protection", "bad response", "remote access",
		"remote responder", "transport", "receiver not ready",
		"partial packet", "bind failed",
	};

	return fail(link, THIS_CONNECTION, "%s failed: %s", what,
		    status < sizeof(names) / sizeof(*names) ? names[status] : "unknown");
}

/* A receive has completed. Its message stays in the slot until link_received(). */
static void slot_event(struct link *link, unsigned int slot,
		       const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	unsigned int last = (link->oldest + link->received) % MAX_SLOTS;

	if (data->status == DAT_DTO_SUCCESS) {
		link->in[last].slot = slot;
		link->in[last].length = data->transfered_length;
		link->received++;
	} else if (pool_srq(link->pool)) {
		/* The slot has no message, and the other connections of the queue need it. */
		pool_post(link, slot);
	}
}

static bool transfer_event(struct link *link, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&event->event_data.dto_completion_event_data;
	uint64_t cookie = data->user_cookie.as_64;

	if (cookie < MAX_SLOTS)
		slot_event(link, cookie, data);
	if (data->status == DAT_DTO_ERR_FLUSHED)
		return true;	/* the event of the connection will say why */
	if (data->status != DAT_DTO_SUCCESS)
		return transfer_failed(link, "a transfer", data->status);
	if (cookie == COOKIE_SEND)
		link->sends--;
	else if (cookie == COOKIE_READ)
		link->reading = false;
	return true;
}

static bool bind_event(struct link *link, const DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_STATUS status = event->event_data.rmr_completion_event_data.status;

	if (status == DAT_DTO_ERR_FLUSHED)
		return true;
	if (status != DAT_DTO_SUCCESS)
		return transfer_failed(link, "binding the RMR", status);
	link->binding = false;
	return true;
}

static bool take_event(struct link *link, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		return transfer_event(link, event);
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return bind_event(link, event);
	default:
		return connection_event(link, event);
	}
}

/*
 * Waits for the next event. The timeout (-t) is counted from the last time that any connection
 * of the program began to wait: a connection on which nothing happens has not failed as long as
 * there is progress on others.
 */
static DAT_RETURN next_event(const struct link *link, DAT_EVENT *event)
{
	static _Atomic uint64_t last;	/* when a thread last began to wait */
	uint64_t timeout = link->opt->timeout * 1000000000ull;
	DAT_COUNT more;
	DAT_RETURN ret;

	atomic_store_explicit(&last, now_ns(), memory_order_relaxed);
	do {
		ret = link->opt->poll ? dat_evd_dequeue(link->evd, event) :
		      dat_evd_wait(link->evd, WAIT_US, 1, event, &more);
	} while ((DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ||
		  DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED) &&
		 !interrupted &&
		 now_ns() < atomic_load_explicit(&last, memory_order_relaxed) + timeout);
	return ret;
}

/*
 * link_pump - wait for one event and note what it tells
 *
 * False: something has failed, and no good event can follow.
 */
bool link_pump(struct link *link)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	if (interrupted)
		return fail(link, ALL_TESTS, "interrupted");
	ret = next_event(link, &event);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		return take_event(link, &event);
	case DAT_INTERRUPTED_CALL:
		return true;
	case DAT_TIMEOUT_EXPIRED:
	case DAT_QUEUE_EMPTY:
		return fail(link, THIS_CONNECTION, "nothing happened for %u s (-t)",
			    link->opt->timeout);
	default:
		return fail_call(link, "dat_evd_wait", ret);
	}
}

/* link_pump_connected - as link_pump(), but false also when the connection has ended */
bool link_pump_connected(struct link *link)
{
	if (link->ended)
		return fail(link, THIS_CONNECTION, "%s", end_name(link->end));
	return link_pump(link);
}

/*
 * link_drain - post the slots again that this connection has taken from a shared queue
 *
 * The connection has ended, so all its completions are queued.
 */
void link_drain(struct link *link)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(link->evd, &event))
		take_event(link, &event);
	while (link->received)
		link_received(link);
}

/* segment - a part of @buffer as a post takes it */
DAT_LMR_TRIPLET segment(const struct buffer *buffer, const void *data, size_t size)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = buffer->context,
		.virtual_address = (uintptr_t)data,
		.segment_length = size,
	};
}

/* link_send - post a send of @data, which lies in @work */
bool link_send(struct link *link, const void *data, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(&link->work, data, size);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SEND };
	DAT_RETURN ret;

	ret = dat_ep_post_send(link->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret)
		return fail_call(link, "dat_ep_post_send", ret);
	link->sends++;
	return true;
}

static DAT_RMR_TRIPLET remote_segment(const struct link *link, size_t size)
{
	return (DAT_RMR_TRIPLET) {
		.rmr_context = link->peer.rmr_context,
		.target_address = link->peer.address,
		.segment_length = size,
	};
}

/*
 * link_write - post an RDMA write into the peer's open buffer
 *
 * A send always follows it. Requests complete in order, so the completion of
 * that send tells that the write is complete, too, and the write needs none of
 * its own.
 */
bool link_write(struct link *link, const void *data, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(&link->work, data, size);
	DAT_RMR_TRIPLET remote = remote_segment(link, size);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_WRITE };
	DAT_RETURN ret;

	ret = dat_ep_post_rdma_write(link->ep, 1, &iov, cookie, &remote,
				     DAT_COMPLETION_SUPPRESS_FLAG);
	return !ret || fail_call(link, "dat_ep_post_rdma_write", ret);
}

/* link_read - RDMA-read from the peer's open buffer, and wait for the data */
bool link_read(struct link *link, void *data, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(&link->work, data, size);
	DAT_RMR_TRIPLET remote = remote_segment(link, size);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_READ };
	DAT_RETURN ret;

	ret = dat_ep_post_rdma_read(link->ep, 1, &iov, cookie, &remote,
				    DAT_COMPLETION_DEFAULT_FLAG);
	if (ret)
		return fail_call(link, "dat_ep_post_rdma_read", ret);
	link->reading = true;
	while (link->reading)
		if (!link_pump_connected(link))
			return false;
	return true;
}

/* link_bind - make the RMR show the open buffer, and wait until it does */
bool link_bind(struct link *link)
{
	DAT_LMR_TRIPLET part = segment(&link->open, link->open.data, link->open.size);
	DAT_RMR_COOKIE cookie = { .as_64 = COOKIE_BIND };
	DAT_RETURN ret;

	ret = dat_rmr_bind(link->rmr, &part,
			   DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			   link->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &link->key);
	if (ret)
		return fail_call(link, "dat_rmr_bind", ret);
	link->binding = true;
	while (link->binding)
		if (!link_pump_connected(link))
			return false;
	return true;
}

/*
 * link_receive - wait for the next message
 *
 * It stays where it is until link_received() is called for it.
 */
bool link_receive(struct link *link, const void **data, uint32_t *length)
{
	while (!link->received)
		if (!link_pump_connected(link))
			return false;
	*data = pool_slot(link->pool, link->in[link->oldest].slot);
	*length = link->in[link->oldest].length;
	return true;
}

/* link_received - the message of link_receive() is no longer needed; post its slot again */
bool link_received(struct link *link)
{
	unsigned int slot = link->in[link->oldest].slot;

	link->oldest = (link->oldest + 1) % MAX_SLOTS;
	link->received--;
	return pool_post(link, slot);
}

/* link_wait_sent - wait until the buffers of all sends may be written again */
bool link_wait_sent(struct link *link)
{
	while (link->sends)
		if (!link_pump_connected(link))
			return false;
	return true;
}
