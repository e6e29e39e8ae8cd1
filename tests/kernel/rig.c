// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the cases are built from: adapters, collecting EVDs, registered memory,
 * endpoints, listeners, connections.  A function that returns false has marked
 * the case as failed; the ..._free functions take what was made so far.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "kdat_rules.h"

struct side side_a, side_b;

/* ---- adapters ----------------------------------------------------------- */

static bool side_query(struct side *side)
{
	DAT_PROVIDER_ATTR *provider = kzalloc(sizeof(*provider), GFP_KERNEL);
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	bool ok = provider && attr;

	ok = ok && OK(dat_ia_query(side->ia, NULL, DAT_IA_ALL, attr,
				   DAT_PROVIDER_FIELD_ALL, provider));
	if (ok) {
		size_t size = attr->ia_address_ptr->sa_family == AF_INET6 ?
			sizeof(struct sockaddr_in6) :
			sizeof(struct sockaddr_in);

		memcpy(&side->addr, attr->ia_address_ptr, size);
		side->max_private_data = provider->max_private_data_size;
		side->max_block = attr->max_lmr_block_size;
	}
	kfree(provider);
	kfree(attr);
	return ok;
}

bool side_open(struct side *side)
{
	side->async_evd = DAT_HANDLE_NULL;
	if (!OK(dat_ia_open((DAT_NAME_PTR)side->name, 16, &side->async_evd,
			    &side->ia)))
		return false;
	return side_query(side) && OK(dat_pz_create(side->ia, &side->pz));
}

void side_close(struct side *side)
{
	if (!side->ia)
		return;
	if (side->pz)
		OK(dat_pz_free(side->pz));
	if (!OK(dat_ia_close(side->ia, DAT_CLOSE_GRACEFUL_FLAG)))
		dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG);
	side->ia = DAT_HANDLE_NULL;
	side->pz = DAT_HANDLE_NULL;
}

/* ---- events ------------------------------------------------------------- */

const char *event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO_COMPLETION";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "CONNECTION_REQUEST";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case DAT_SOFTWARE_EVENT:
		return "SOFTWARE";
	default:
		return "another event";
	}
}

void collect(DAT_PVOID instance_data, const DAT_EVENT *event,
	     DAT_BOOLEAN more_events)
{
	struct collector *collector = instance_data;
	unsigned long flags;

	spin_lock_irqsave(&collector->lock, flags);
	collector->ring[collector->put % RING] = *event;
	collector->put++;
	spin_unlock_irqrestore(&collector->lock, flags);
	wake_up_all(&collector->wait);
}

struct collector *collector_new(struct side *side, DAT_COUNT qlen,
				DAT_EVD_FLAGS flags)
{
	struct collector *collector = kvzalloc(sizeof(*collector), GFP_KERNEL);
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = collector,
		.upcall_func = collect,
	};

	if (!collector) {
		fail("no memory");
		return NULL;
	}
	init_waitqueue_head(&collector->wait);
	spin_lock_init(&collector->lock);
	if (OK(dat_evd_kcreate(side->ia, qlen, DAT_UPCALL_SINGLE_INSTANCE,
			       &upcall, flags, &collector->evd)))
		return collector;
	kvfree(collector);
	return NULL;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	if (OK(dat_evd_free(collector->evd)))
		kvfree(collector);
	/* else it may still be called: better to leak than to crash */
}

static bool take_event(struct collector *collector, DAT_EVENT *event)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&collector->lock, flags);
	there = collector->put != collector->got;
	if (there)
		*event = collector->ring[collector->got++ % RING];
	spin_unlock_irqrestore(&collector->lock, flags);
	return there;
}

bool next_event(struct collector *collector, DAT_EVENT *event)
{
	if (wait_event_timeout(collector->wait, take_event(collector, event),
			       msecs_to_jiffies(WAIT_MS)))
		return event->evd_handle == collector->evd ||
		       fail("%s names another EVD",
			    event_name(event->event_number));
	return fail("no event came");
}

bool want_event(struct collector *collector, DAT_EVENT_NUMBER number,
		DAT_EVENT *event)
{
	if (!next_event(collector, event))
		return fail("waiting for %s", event_name(number));
	if (event->event_number == number)
		return true;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		return fail("DTO cookie %llu status %d came, not %s",
			    event->event_data.dto_completion_event_data
			    .user_cookie.as_64,
			    event->event_data.dto_completion_event_data.status,
			    event_name(number));
	return fail("%s (%#x) came, not %s", event_name(event->event_number),
		    event->event_number, event_name(number));
}

bool want_conn(struct collector *collector, DAT_EP_HANDLE ep,
	       DAT_EVENT_NUMBER number)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event(collector, number, &event))
		return false;
	data = &event.event_data.connect_event_data;
	return (data->ep_handle == ep ||
		fail("%s names another EP", event_name(number))) &&
	       (!data->private_data_size ||
		number == DAT_CONNECTION_EVENT_ESTABLISHED ||
		fail("%s has private data", event_name(number)));
}

bool want_dto(struct collector *collector, DAT_EP_HANDLE ep, u64 cookie,
	      DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event(collector, DAT_DTO_COMPLETION_EVENT, &event))
		return fail("waiting for cookie %llu", cookie);
	data = &event.event_data.dto_completion_event_data;
	return (data->ep_handle == ep || fail("completion of another EP")) &&
	       (data->user_cookie.as_64 == cookie ||
		fail("cookie %llu, not %llu", data->user_cookie.as_64,
		     cookie)) &&
	       (data->status == status ||
		fail("cookie %llu: status %d, not %d", cookie, data->status,
		     status)) &&
	       (data->transfered_length == length ||
		fail("cookie %llu: length %llu, not %llu", cookie,
		     data->transfered_length, length));
}

bool post_marker(struct collector *collector, unsigned long number)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = (void *)number,
	};

	return OK(dat_evd_post_se(collector->evd, &event));
}

bool nothing_more(struct collector *collector)
{
	DAT_EVENT event;

	if (!post_marker(collector, 0x6d61726b) ||
	    !want_event(collector, DAT_SOFTWARE_EVENT, &event))
		return false;
	return event.event_data.software_event_data.pointer ==
	       (void *)0x6d61726bUL || fail("another marker");
}

/* ---- memory ------------------------------------------------------------- */

bool mem_new(struct side *side, struct mem *mem, size_t size,
	     DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;

	mem->size = size;
	mem->va = kvzalloc(size, GFP_KERNEL);
	if (!mem->va)
		return fail("no memory");
	region.for_va = mem->va;
	if (OK(dat_lmr_kcreate(side->ia, DAT_MEM_TYPE_VIRTUAL, region, size,
			       side->pz, privileges,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &mem->lmr,
			       &mem->context, &mem->rmr_context, NULL, NULL)))
		return true;
	kvfree(mem->va);
	mem->va = NULL;
	return false;
}

void mem_free(struct mem *mem)
{
	if (!mem->va)
		return;
	if (mem->lmr && !OK(dat_lmr_free(mem->lmr)))
		return;
	kvfree(mem->va);
	mem->va = NULL;
}

static u8 byte_at(size_t i, u8 seed)
{
	return i * 13 + (i >> 8) + seed;
}

void mem_fill(struct mem *mem, size_t offset, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		mem->va[offset + i] = byte_at(i, seed);
}

bool mem_check(const struct mem *mem, size_t offset, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (mem->va[offset + i] != byte_at(i, seed))
			return fail("byte %zu is %#x, not %#x", i,
				    mem->va[offset + i], byte_at(i, seed));
	return true;
}

DAT_LMR_TRIPLET piece(const struct mem *mem, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = mem->context,
		.virtual_address = (uintptr_t)mem->va + offset,
		.segment_length = length,
	};
}

DAT_RMR_TRIPLET remote_piece(const struct mem *mem, size_t offset,
			     size_t length)
{
	return (DAT_RMR_TRIPLET) {
		.rmr_context = mem->rmr_context,
		.target_address = (uintptr_t)mem->va + offset,
		.segment_length = length,
	};
}

/* ---- endpoints ---------------------------------------------------------- */

const DAT_EP_ATTR node_attr = {
	.service_type = DAT_SERVICE_TYPE_RC,
	.max_message_size = 1 << 20,
	.max_rdma_size = 1 << 20,
	.qos = DAT_QOS_BEST_EFFORT,
	.max_recv_dtos = NODE_RECVS,
	.max_request_dtos = NODE_REQUESTS,
	.max_recv_iov = 4,
	.max_request_iov = 4,
	.max_rdma_read_in = 4,
	.max_rdma_read_out = 4,
	.max_rdma_read_iov = 4,
	.max_rdma_write_iov = 4,
};

bool node_new(struct node *node, struct side *side, const DAT_EP_ATTR *attr)
{
	node->side = side;
	node->events = collector_new(side, 64, COLLECT_ALL);
	return node->events &&
	       mem_new(side, &node->mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG) &&
	       OK(dat_ep_create(side->ia, side->pz, node->events->evd,
				node->events->evd, node->events->evd,
				attr ?: &node_attr, &node->ep));
}

void node_free(struct node *node)
{
	if (node->ep)
		OK(dat_ep_free(node->ep));
	node->ep = DAT_HANDLE_NULL;
	collector_free(node->events);
	node->events = NULL;
	mem_free(&node->mem);
}

bool state_is(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	DAT_EP_STATE is;

	return OK(dat_ep_get_status(ep, &is, NULL, NULL)) &&
	       (is == state || fail("EP state %d, not %d", is, state));
}

DAT_RETURN node_recv(struct node *node, size_t offset, size_t length,
		     u64 cookie)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_recv(node->ep, 1, &iov,
				(DAT_DTO_COOKIE) { .as_64 = cookie },
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN node_send(struct node *node, size_t offset, size_t length,
		     u64 cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_send(node->ep, 1, &iov,
				(DAT_DTO_COOKIE) { .as_64 = cookie }, flags);
}

DAT_RETURN node_write(struct node *node, size_t offset, size_t length,
		      const DAT_RMR_TRIPLET *to, u64 cookie,
		      DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_rdma_write(node->ep, 1, &iov,
				      (DAT_DTO_COOKIE) { .as_64 = cookie }, to,
				      flags);
}

DAT_RETURN node_read(struct node *node, size_t offset, size_t length,
		     const DAT_RMR_TRIPLET *from, u64 cookie,
		     DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_rdma_read(node->ep, 1, &iov,
				     (DAT_DTO_COOKIE) { .as_64 = cookie }, from,
				     flags);
}

/* ---- connections -------------------------------------------------------- */

bool listener_new(struct listener *listener, DAT_PSP_FLAGS flags)
{
	listener->requests = collector_new(&side_b, 256, DAT_EVD_CR_FLAG |
					   DAT_EVD_SOFTWARE_FLAG);
	return listener->requests &&
	       OK(dat_psp_create_any(side_b.ia, &listener->qual,
				     listener->requests->evd, flags,
				     &listener->psp));
}

void listener_free(struct listener *listener)
{
	if (listener->psp)
		OK(dat_psp_free(listener->psp));
	listener->psp = DAT_HANDLE_NULL;
	collector_free(listener->requests);
	listener->requests = NULL;
}

bool next_request(struct listener *listener, DAT_CR_HANDLE *cr)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event(listener->requests, DAT_CONNECTION_REQUEST_EVENT,
			&event))
		return false;
	data = &event.event_data.cr_arrival_event_data;
	*cr = data->cr_handle;
	return (data->sp_handle.psp_handle == listener->psp ||
		fail("request names another service point")) &&
	       (data->conn_qual == listener->qual ||
		fail("request names another qualifier"));
}

bool start_connect(struct node *node, DAT_CONN_QUAL qual)
{
	return OK(dat_ep_connect(node->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
				 qual, CONNECT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
}

bool link_connect(struct node *a, struct node *b, struct listener *listener)
{
	DAT_CR_HANDLE cr;

	return start_connect(a, listener->qual) &&
	       next_request(listener, &cr) &&
	       OK(dat_cr_accept(cr, b->ep, 0, NULL)) &&
	       want_conn(a->events, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       want_conn(b->events, b->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

bool link_new(struct link *link, const DAT_EP_ATTR *attr_a,
	      const DAT_EP_ATTR *attr_b)
{
	return node_new(&link->a, &side_a, attr_a) &&
	       node_new(&link->b, &side_b, attr_b) &&
	       listener_new(&link->listener, DAT_PSP_CONSUMER_FLAG) &&
	       link_connect(&link->a, &link->b, &link->listener);
}

/* Side a disconnects; nothing may be posted. */
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags)
{
	return OK(dat_ep_disconnect(link->a.ep, flags)) &&
	       want_conn(link->a.events, link->a.ep,
			 DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_conn(link->b.events, link->b.ep,
			 DAT_CONNECTION_EVENT_DISCONNECTED);
}

void link_free(struct link *link)
{
	node_free(&link->a);
	node_free(&link->b);
	listener_free(&link->listener);
}
