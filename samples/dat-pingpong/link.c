// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A connection: its memory, its endpoint, posting, and the one place where
 * events are taken. All events of a connection go to one EVD, so that whoever
 * waits for a transfer learns of the end of the connection as well.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

/* Cookies of requests. The cookie of a receive is the number of its slot. */
#define COOKIE_SEND	0x100
#define COOKIE_WRITE	0x101
#define COOKIE_READ	0x102

volatile bool interrupted;

/* ret_name - a return code in words, written to @buf */
const char *ret_name(DAT_RETURN ret, char *buf, size_t size)
{
	const char *major, *minor;

	if (dat_strerror(ret, &major, &minor))
		snprintf(buf, size, "0x%x", ret);
	else if (*minor)
		snprintf(buf, size, "%s/%s", major, minor);
	else
		snprintf(buf, size, "%s", major);
	return buf;
}

/*
 * fail - note what went wrong; always false
 *
 * Only the first failure is kept: later ones are its consequences.
 */
bool fail(struct link *link, const char *format, ...)
{
	va_list args;

	if (!*link->error) {
		va_start(args, format);
		vsnprintf(link->error, sizeof(link->error), format, args);
		va_end(args);
	}
	return false;
}

/* fail_call - note that a DAT call failed; always false */
bool fail_call(struct link *link, const char *call, DAT_RETURN ret)
{
	char name[128];

	return fail(link, "%s: %s%s", call, ret_name(ret, name, sizeof(name)),
		    DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
		    !strcmp(call, "dat_lmr_create") ?
		    " (is `ulimit -l` large enough?)" : "");
}

static bool buffer_open(struct link *link, struct buffer *buffer, size_t size,
			DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN ret;

	buffer->size = size;
	buffer->data = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
	if (!buffer->data)
		return fail(link, "no memory for %zu bytes", size);
	memset(buffer->data, 0, size);
	region.for_va = buffer->data;
	ret = dat_lmr_create(link->ia, DAT_MEM_TYPE_VIRTUAL, region, size,
			     link->pz, privileges, &buffer->lmr,
			     &buffer->context, &buffer->rmr_context, NULL,
			     NULL);
	return !ret || fail_call(link, "dat_lmr_create", ret);
}

static void buffer_close(struct buffer *buffer)
{
	if (buffer->lmr)
		dat_lmr_free(buffer->lmr);
	free(buffer->data);
}

static bool endpoint_open(struct link *link)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = PP_MAX_SIZE,
		.max_rdma_size = PP_MAX_SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = NR_SLOTS + 1,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_RETURN ret;

	ret = dat_evd_create(link->ia, 32, DAT_HANDLE_NULL,
			     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			     &link->evd);
	if (ret)
		return fail_call(link, "dat_evd_create", ret);
	ret = dat_ep_create(link->ia, link->pz, link->evd, link->evd, link->evd,
			    &attr, &link->ep);
	return !ret || fail_call(link, "dat_ep_create", ret);
}

/* link_open - make all that a connection needs */
bool link_open(struct link *link, const struct options *opt, DAT_IA_HANDLE ia,
	       const struct test *test)
{
	DAT_MEM_PRIV_FLAGS local = DAT_MEM_PRIV_LOCAL_READ_FLAG |
				   DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_PROVIDER_ATTR provider;
	DAT_RETURN ret;

	memset(link, 0, sizeof(*link));
	link->opt = opt;
	link->ia = ia;
	link->test = *test;
	link->slot_size = test->size < sizeof(struct pp_info) ?
			  sizeof(struct pp_info) : test->size;
	ret = dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret)
		return fail_call(link, "dat_ia_query", ret);
	/* On iWARP it is the peer who writes what a read brings. */
	if (provider.rdma_write_for_rdma_read_req)
		local |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ret = dat_pz_create(ia, &link->pz);
	if (ret)
		return fail_call(link, "dat_pz_create", ret);
	return buffer_open(link, &link->work,
			   (2 + NR_SLOTS) * link->slot_size +
			   sizeof(struct pp_info), local) &&
	       buffer_open(link, &link->open, test->size ? test->size : 1,
			   DAT_MEM_PRIV_ALL_FLAG) &&
	       endpoint_open(link);
}

/* link_close - free what link_open() made, as far as it came */
void link_close(struct link *link)
{
	if (link->ep)
		dat_ep_free(link->ep);
	if (link->evd)
		dat_evd_free(link->evd);
	buffer_close(&link->open);
	buffer_close(&link->work);
	if (link->pz)
		dat_pz_free(link->pz);
}

static void info_out(const struct link *link, struct pp_info *info)
{
	*info = (struct pp_info) {
		.magic = htobe32(PP_MAGIC),
		.version = htobe32(PP_VERSION),
		.address = htobe64((uintptr_t)link->open.data),
		.length = htobe64(link->open.size),
		.rmr_context = htobe32(link->open.rmr_context),
	};
}

static bool info_in(struct link *link, const struct pp_info *info)
{
	link->peer = (struct pp_info) {
		.magic = be32toh(info->magic),
		.version = be32toh(info->version),
		.address = be64toh(info->address),
		.length = be64toh(info->length),
		.rmr_context = be32toh(info->rmr_context),
	};
	if (link->peer.magic != PP_MAGIC || link->peer.version != PP_VERSION)
		return fail(link, "the peer does not speak this protocol");
	if (link->peer.length < (link->test.size ? link->test.size : 1))
		return fail(link, "the peer's buffer is too small");
	return true;
}

static const char *end_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "the server refused (another version, or too large a size?)";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens there (start dat-pingpong -s, check -p)";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "address unreachable (is it that of an RDMA port? see --list there)";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "no answer in time";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the client went away while connecting";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "the peer disconnected";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "the connection broke";
	default:
		return "unexpected event";
	}
}

static bool connection_event(struct link *link, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		link->established = true;
		if (data->private_data_size >= (int)sizeof(link->answer))
			memcpy(&link->answer, data->private_data,
			       sizeof(link->answer));
		return true;
	}
	link->ended = true;
	link->end = event->event_number;
	return true;
}

static bool transfer_event(struct link *link, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&event->event_data.dto_completion_event_data;
	static const char *const status[] = {
		"success", "flushed", "local length", "local endpoint",
		"local protection", "bad response", "remote access",
		"remote responder", "transport", "receiver not ready",
		"partial packet", "bind failed",
	};

	if (data->status == DAT_DTO_ERR_FLUSHED)
		return true;	/* the event of the connection will say why */
	if (data->status != DAT_DTO_SUCCESS)
		return fail(link, "a transfer failed: %s",
			    data->status < sizeof(status) / sizeof(*status) ?
			    status[data->status] : "unknown");
	switch (data->user_cookie.as_64) {
	case COOKIE_SEND:
		link->sends--;
		break;
	case COOKIE_READ:
		link->rdma_read = false;
		break;
	case COOKIE_WRITE:
		break;
	default:
		link->lengths[data->user_cookie.as_64] =
			data->transfered_length;
		link->received++;
	}
	return true;
}

static DAT_RETURN next_event(const struct link *link, DAT_EVENT *event)
{
	uint64_t end = now_ns() + link->opt->timeout * 1000000000ull;
	DAT_COUNT more;
	DAT_RETURN ret;

	if (!link->opt->poll)
		return dat_evd_wait(link->evd, link->opt->timeout * 1000000u, 1,
				    event, &more);
	do {
		ret = dat_evd_dequeue(link->evd, event);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY && !interrupted &&
		 now_ns() < end);
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
		return fail(link, "interrupted");
	ret = next_event(link, &event);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		break;
	case DAT_INTERRUPTED_CALL:
		return true;
	case DAT_TIMEOUT_EXPIRED:
	case DAT_QUEUE_EMPTY:
		return fail(link, "nothing happened for %u s",
			    link->opt->timeout);
	default:
		return fail_call(link, "dat_evd_wait", ret);
	}
	if (event.event_number == DAT_DTO_COMPLETION_EVENT)
		return transfer_event(link, &event);
	return connection_event(link, &event);
}

/* As link_pump(), but false also when the connection has ended. */
static bool pump_connected(struct link *link)
{
	if (link->ended)
		return fail(link, "%s", end_name(link->end));
	return link_pump(link);
}

static DAT_LMR_TRIPLET segment(const struct buffer *buffer, const void *data,
			       size_t size)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = buffer->context,
		.virtual_address = (uintptr_t)data,
		.segment_length = size,
	};
}

/* link_post_recv - post a receive slot (again) */
bool link_post_recv(struct link *link, unsigned int slot)
{
	DAT_LMR_TRIPLET iov = segment(&link->work, link_slot(link, slot),
				      link->slot_size);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };
	DAT_RETURN ret;

	ret = dat_ep_post_recv(link->ep, 1, &iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	return !ret || fail_call(link, "dat_ep_post_recv", ret);
}

/* link_send - post a send of @data, which lies in @work */
bool link_send(struct link *link, const void *data, size_t size)
{
	DAT_LMR_TRIPLET iov = segment(&link->work, data, size);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SEND };
	DAT_RETURN ret;

	ret = dat_ep_post_send(link->ep, 1, &iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
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
	link->rdma_read = true;
	while (link->rdma_read)
		if (!pump_connected(link))
			return false;
	return true;
}

/*
 * link_receive - wait for the next message
 *
 * It stays where it is until its slot is posted again. Slots are posted in
 * turn, and messages arrive in the order in which receives were posted.
 */
bool link_receive(struct link *link, const void **data, uint32_t *length)
{
	while (!link->received)
		if (!pump_connected(link))
			return false;
	link->received--;
	*data = link_slot(link, link->next_slot);
	*length = link->lengths[link->next_slot];
	return true;
}

/* link_wait_sent - wait until the buffers of all sends may be written again */
bool link_wait_sent(struct link *link)
{
	while (link->sends)
		if (!pump_connected(link))
			return false;
	return true;
}

static bool wait_established(struct link *link)
{
	while (!link->established)
		if (!pump_connected(link))
			return false;
	return true;
}

static bool post_slots(struct link *link)
{
	unsigned int slot;

	for (slot = 0; slot < NR_SLOTS; slot++)
		if (!link_post_recv(link, slot))
			return false;
	return true;
}

/*
 * link_connect - connect as the client, and exchange the descriptions of the
 * open buffers
 */
bool link_connect(struct link *link, const struct sockaddr *address)
{
	const struct test *test = &link->test;
	struct pp_hello hello = {
		.magic = htobe32(PP_MAGIC),
		.version = htobe32(PP_VERSION),
		.mode = htobe32(test->mode),
		.size = htobe32(test->size),
		.iterations = htobe32(test->iterations),
		.flags = htobe32(test->verify ? PP_F_VERIFY : 0),
		.depth = htobe32(NR_SLOTS),
	};
	struct pp_info info;
	DAT_RETURN ret;

	if (!post_slots(link))
		return false;
	ret = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)address,
			     link->opt->port, link->opt->timeout * 1000000u,
			     sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return fail_call(link, "dat_ep_connect", ret);
	if (!wait_established(link) || !info_in(link, &link->answer))
		return false;
	info_out(link, &info);
	memcpy(link_note(link), &info, sizeof(info));
	return link_send(link, link_note(link), sizeof(info)) &&
	       link_wait_sent(link);
}

/*
 * link_accept - accept a client, and exchange the descriptions of the open
 * buffers
 *
 * The CR is accepted or rejected on return.
 */
bool link_accept(struct link *link, DAT_CR_HANDLE cr)
{
	struct pp_info info;
	const void *data;
	uint32_t length;
	DAT_RETURN ret;

	/* The client's first message is its info; it goes into an extra slot. */
	link->next_slot = NR_SLOTS;
	if (!link_post_recv(link, NR_SLOTS) || !post_slots(link)) {
		dat_cr_reject(cr);
		return false;
	}
	info_out(link, &info);
	ret = dat_cr_accept(cr, link->ep, sizeof(info), &info);
	if (ret) {
		dat_cr_reject(cr);
		return fail_call(link, "dat_cr_accept", ret);
	}
	if (!wait_established(link) || !link_receive(link, &data, &length))
		return false;
	link->next_slot = 0;
	if (length < sizeof(info))
		return fail(link, "the client's first message is too short");
	memcpy(&info, data, sizeof(info));
	return info_in(link, &info);
}

/* link_disconnect - disconnect, and wait for the end of the connection */
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN ret = dat_ep_disconnect(link->ep, flags);

	if (ret)
		return fail_call(link, "dat_ep_disconnect", ret);
	while (!link->ended)
		if (!link_pump(link))
			return false;
	return link->end == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       fail(link, "%s", end_name(link->end));
}
