// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A connection: its memory, its endpoint, how it begins and how it ends; and the first thing
 * that goes wrong on it. Called by client.c and server.c.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pingpong.h"

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
 * fail - note what went wrong, and what that makes pointless; always false
 *
 * Only the first failure is kept: later ones are its consequences.
 */
bool fail(struct link *link, enum extent extent, const char *format, ...)
{
	struct failure *failure = &link->failure;
	va_list args;

	if (!*failure->text) {
		va_start(args, format);
		vsnprintf(failure->text, sizeof(failure->text), format, args);
		va_end(args);
		failure->extent = extent;
	}
	return false;
}

/*
 * fail_call - note that a DAT call failed; always false
 *
 * If memory could not be registered, another test may need less. Any other failure would be met
 * again by the other tests. Queues are locked memory as buffers are, so RLIMIT_MEMLOCK may be
 * the reason whenever an object cannot be made for want of resources; but a post or a bind
 * allocates nothing.
 */
bool fail_call(struct link *link, const char *call, DAT_RETURN ret)
{
	bool room = DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && !strstr(call, "_post_") &&
		    strcmp(call, "dat_rmr_bind");
	bool memory = room && !strcmp(call, "dat_lmr_create");
	struct rlimit limit;
	char name[128];

	room = room && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY;
	return fail(link, memory ? THIS_TEST : ALL_TESTS, "%s: %s%s", call,
		    ret_name(ret, name, sizeof(name)),
		    room ? " (is `ulimit -l` large enough?)" : "");
}

/* end_name - how a connection ended, and what to do about it */
const char *end_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "the server refused (its output says why)";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens there (start dat-pingpong -s, check -p), or its CM refuses";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "address unreachable (is it that of an RDMA port? see --list there)";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "no answer in time (is the host up? see -t)";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the client went away while connecting";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "the peer disconnected (its output says why)";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "the connection broke (is the peer still up?)";
	default:
		return "unexpected event";
	}
}

/* buffer_open - allocate and register memory */
bool buffer_open(struct link *link, struct buffer *buffer, size_t size,
		 DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN ret;

	buffer->size = size;
	buffer->data = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
	if (!buffer->data)
		return fail(link, THIS_TEST, "no memory for %zu bytes", size);
	memset(buffer->data, 0, size);
	region.for_va = buffer->data;
	ret = dat_lmr_create(link->adapter->ia, DAT_MEM_TYPE_VIRTUAL, region, size,
			     link->adapter->pz, privileges, &buffer->lmr,
			     &buffer->context, &buffer->rmr_context, NULL,
			     NULL);
	return !ret || fail_call(link, "dat_lmr_create", ret);
}

void buffer_close(struct buffer *buffer)
{
	if (buffer->lmr)
		dat_lmr_free(buffer->lmr);
	free(buffer->data);
}

/*
 * Makes the buffer that is open to the peer. The peer reaches it by the rmr_context of the LMR,
 * or by that of an RMR; in the latter case the LMR itself gives peers no rights.
 */
static bool open_open(struct link *link)
{
	const struct test *test = &link->test;
	DAT_RETURN ret;

	if (!buffer_open(link, &link->open, test->size ? test->size : 1,
			 test->rmr ? DAT_MEM_PRIV_LOCAL_READ_FLAG |
				     DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
			 DAT_MEM_PRIV_ALL_FLAG))
		return false;
	link->key = link->open.rmr_context;
	if (!test->rmr)
		return true;
	link->key = 0;
	ret = dat_rmr_create(link->adapter->pz, &link->rmr);
	return !ret || fail_call(link, "dat_rmr_create", ret);
}

static bool endpoint_open(struct link *link)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = PP_MAX_SIZE,
		.max_rdma_size = PP_MAX_SIZE,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = NR_SLOTS,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	const struct adapter *adapter = link->adapter;
	DAT_SRQ_HANDLE srq = pool_srq(link->pool);
	DAT_RETURN ret;

	if (link->test.rmr)
		flags |= DAT_EVD_RMR_BIND_FLAG;
	ret = dat_evd_create(adapter->ia, srq ? 32 + MAX_SLOTS : 32, DAT_HANDLE_NULL, flags,
			     &link->evd);
	if (ret)
		return fail_call(link, "dat_evd_create", ret);
	if (srq) {
		ret = dat_ep_create_with_srq(adapter->ia, adapter->pz, link->evd, link->evd,
					     link->evd, srq, &attr, &link->ep);
		return !ret || fail_call(link, "dat_ep_create_with_srq", ret);
	}
	ret = dat_ep_create(adapter->ia, adapter->pz, link->evd, link->evd, link->evd, &attr,
			    &link->ep);
	if (ret)
		return fail_call(link, "dat_ep_create", ret);
	return pool_post_all(link);
}

/* link_open - make all that a connection needs */
bool link_open(struct link *link, const struct adapter *adapter, const struct test *test)
{
	memset(link, 0, sizeof(*link));
	link->opt = adapter->opt;
	link->adapter = adapter;
	link->test = *test;
	link->slot_size = test->size < sizeof(struct pp_info) ?
			  sizeof(struct pp_info) : test->size;
	return buffer_open(link, &link->work, link->slot_size + sizeof(struct pp_info),
			   adapter->local) &&
	       open_open(link) && pool_open(link) && endpoint_open(link);
}

/* link_close - free what link_open() made, as far as it came */
void link_close(struct link *link)
{
	if (link->evd && link->pool && pool_srq(link->pool))
		link_drain(link);
	if (link->ep)
		dat_ep_free(link->ep);
	if (link->evd)
		dat_evd_free(link->evd);
	if (link->pool)
		pool_close(link->pool);
	if (link->rmr)
		dat_rmr_free(link->rmr);
	buffer_close(&link->open);
	buffer_close(&link->work);
}

static void info_out(const struct link *link, struct pp_info *info)
{
	*info = (struct pp_info) {
		.magic = htobe32(PP_MAGIC),
		.version = htobe32(PP_VERSION),
		.address = htobe64((uintptr_t)link->open.data),
		.length = htobe64(link->open.size),
		.rmr_context = htobe32(link->key),
		.flags = htobe32(link->test.rmr ? PP_F_RMR : 0),
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
		.flags = be32toh(info->flags),
	};
	if (link->peer.magic != PP_MAGIC || link->peer.version != PP_VERSION)
		return fail(link, ALL_TESTS, "the peer does not speak this protocol");
	if (link->peer.length < (link->test.size ? link->test.size : 1))
		return fail(link, THIS_TEST, "the peer's buffer is too small");
	return true;
}

static bool info_send(struct link *link)
{
	struct pp_info info;

	info_out(link, &info);
	memcpy(link_note(link), &info, sizeof(info));
	return link_send(link, link_note(link), sizeof(info)) && link_wait_sent(link);
}

static bool info_receive(struct link *link)
{
	struct pp_info info;
	const void *data;
	uint32_t length;

	if (!link_receive(link, &data, &length))
		return false;
	if (length < sizeof(info))
		return fail(link, ALL_TESTS, "the peer's first message is too short");
	memcpy(&info, data, sizeof(info));
	return link_received(link) && info_in(link, &info);
}

static bool wait_established(struct link *link)
{
	while (!link->established)
		if (!link_pump_connected(link))
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
		.flags = htobe32((test->verify ? PP_F_VERIFY : 0) |
				 (test->rmr ? PP_F_RMR : 0)),
		.depth = htobe32(NR_SLOTS),
	};
	DAT_RETURN ret;

	ret = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)address,
			     link->opt->port, link->opt->timeout * 1000000u,
			     sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return fail_call(link, "dat_ep_connect", ret);
	if (!wait_established(link) || !info_in(link, &link->answer))
		return false;
	if (!test->rmr)
		return info_send(link);
	if (!(link->peer.flags & PP_F_RMR))
		return fail(link, ALL_TESTS,
			    "the server has no RMRs (kdat-pingpong has none; leave --rmr out)");
	return link_bind(link) && info_send(link) && info_receive(link);
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
	DAT_RETURN ret;

	info_out(link, &info);
	ret = dat_cr_accept(cr, link->ep, sizeof(info), &info);
	if (ret) {
		dat_cr_reject(cr);
		return fail_call(link, "dat_cr_accept", ret);
	}
	if (!wait_established(link) || !info_receive(link))
		return false;
	return !link->test.rmr || (link_bind(link) && info_send(link));
}

/* link_wait_end - wait until the connection ends; false if it does not end in order */
bool link_wait_end(struct link *link)
{
	while (!link->ended)
		if (!link_pump(link))
			return false;
	return link->end == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       fail(link, THIS_CONNECTION, "%s", end_name(link->end));
}

/* link_disconnect - disconnect, and wait for the end of the connection */
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN ret = dat_ep_disconnect(link->ep, flags);

	if (ret)
		return fail_call(link, "dat_ep_disconnect", ret);
	return link_wait_end(link);
}
