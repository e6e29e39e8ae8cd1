// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What scenarios are built from: sides, events, registered memory, endpoints,
 * connections.
 */
#include "rules.h"

struct side side_a = { .name = "rxe0-1", .nic = "ve0" };
struct side side_b = { .name = "rxe1-1", .nic = "ve1" };

/*
 * The divisor that rules.sh sets for a kernel with debugging.  It sets a larger one
 * only for a brief run.
 */
#define SHARE_DEBUG	4

/* The divisor that rules.sh has set for numbers of rounds; 1 if it has set none. */
static unsigned int divisor(void)
{
	int n = run_command("read n < /run/kdapl-rules-share && exit $n");

	return n > 1 ? n : 1;
}

unsigned int rounds(unsigned int n)
{
	unsigned int d = divisor();

	return (n + d - 1) / d;
}

unsigned int rounds_in_full(unsigned int n)
{
	return divisor() > SHARE_DEBUG ? (n + 7) / 8 : n;
}

/* ---- sides -------------------------------------------------------------- */

static bool side_query(struct side *side)
{
	size_t size = sizeof(struct sockaddr_in);

	if (!OK(dat_ia_query(side->ia, NULL, DAT_IA_ALL, &side->attr,
			     DAT_PROVIDER_FIELD_ALL, &side->provider)))
		return false;
	if (side->attr.ia_address_ptr->sa_family == AF_INET6)
		size = sizeof(struct sockaddr_in6);
	memcpy(&side->addr, side->attr.ia_address_ptr, size);
	side->max_private_data = side->provider.max_private_data_size;
	if (node_attr.max_rdma_read_iov > side->attr.max_iov_segments_per_rdma_read)
		node_attr.max_rdma_read_iov =
			side->attr.max_iov_segments_per_rdma_read;
	return true;
}

bool side_is_iwarp(const struct side *side)
{
	return side->provider.rdma_write_for_rdma_read_req;
}

bool side_has_rnic(const struct side *side)
{
	char command[100];

	/* The IA siw0-1 is port 1 of the device siw0. */
	snprintf(command, sizeof(command),
		 "grep -q RNIC /sys/class/infiniband/%.*s/node_type",
		 (int)(strrchr(side->name, '-') - side->name), side->name);
	return !run_command(command);
}

bool side_is_passthrough(const struct side *side)
{
	const DAT_NAMED_ATTR *attr = side->provider.provider_specific_attr;
	int i;

	for (i = 0; i < side->provider.num_provider_specific_attr; i++)
		if (!strcmp(attr[i].name, "mode"))
			return !strcmp(attr[i].value, "passthrough");
	return false;
}

bool side_open(struct side *side)
{
	side->async = DAT_HANDLE_NULL;
	platform_before_open(side);
	if (!OK(dat_ia_open(side->name, 64, &side->async,
			    &side->ia))) {
		side->ia = DAT_HANDLE_NULL;
		return false;
	}
	return side_query(side) && OK(dat_pz_create(side->ia, &side->pz));
}

void side_close(struct side *side, DAT_CLOSE_FLAGS flags)
{
	if (!side->ia)
		return;
	if (OK(dat_ia_close(side->ia, flags)))
		side->ia = DAT_HANDLE_NULL;
}

/* Sets what happens to packets that leave @side, in the queue that rules.sh has put there. */
static bool side_link(struct side *side, const char *fate)
{
	char command[100];
	int status;

	snprintf(command, sizeof(command),
		 "tc qdisc change dev %s root netem limit 10000 %s", side->nic, fate);
	status = run_command(command);
	return !status || FAIL("%s: exit status %d", command, status);
}

bool link_down(struct side *side)
{
	side->disturbed = side_link(side, "loss 100%");
	return side->disturbed;
}

bool link_slow(struct side *side)
{
	side->disturbed = side_link(side, "delay 300ms");
	return side->disturbed;
}

/*
 * Sets the neighbour entry of @side for the other side: permanent, or one that never
 * resolves.  If @side looked for the address in vain, rdma_cm would tell every
 * connection to that host that the host is gone.
 */
static bool side_neighbour(struct side *side, bool known)
{
	struct side *other = side == &side_a ? &side_b : &side_a;
	const u8 *ip = (u8 *)&((struct sockaddr_in *)&other->addr)->sin_addr;
	char command[160];
	int n, status;

	n = snprintf(command, sizeof(command),
		     "ip neigh replace %u.%u.%u.%u dev %s nud %s", ip[0], ip[1],
		     ip[2], ip[3], side->nic, known ? "permanent" : "incomplete");
	if (known)
		snprintf(command + n, sizeof(command) - n,
			 " lladdr $(cat /sys/class/net/%s/address)", other->nic);
	status = run_command(command);
	return !status || FAIL("%s: exit status %d", command, status);
}

bool host_off(struct side *side)
{
	if (!link_down(side))
		return false;
	side->lost = side_neighbour(side, false);
	return side->lost;
}

bool link_up(struct side *side)
{
	if (side->lost && side_neighbour(side, true))
		side->lost = false;
	if (side->disturbed && side_link(side, "loss 0%"))
		side->disturbed = false;
	return !side->disturbed && !side->lost;
}

u64 side_repeats(const struct side *side)
{
	char path[100];

	/* The IA rxe0-1 is port 1 of the device rxe0. */
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%.*s/ports/%s/hw_counters/completer_retry_err",
		 (int)(strrchr(side->name, '-') - side->name), side->name,
		 strrchr(side->name, '-') + 1);
	return sysfs_number(path);
}

/* ---- events ------------------------------------------------------------- */

const char *event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO_COMPLETION";
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return "RMR_BIND_COMPLETION";
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
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		return "EVD_OVERFLOW";
	case DAT_SOFTWARE_EVENT:
		return "SOFTWARE";
	default:
		return "another event";
	}
}

bool evd_new(struct side *side, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
	     DAT_EVD_HANDLE *evd)
{
	return OK(platform_evd_create(side->ia, qlen,
				      flags | DAT_EVD_SOFTWARE_FLAG, evd));
}

bool event_within(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *event)
{
	DAT_RETURN ret = platform_evd_wait(evd, ms, event);

	if (ret == DAT_SUCCESS)
		return true;
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
	    DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		OK(ret);
	return false;
}

bool next_event_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_EVENT *event)
{
	u64 until = deadline();

	if (!event_within(evd, failed() ? 0 : WAIT_MS, event))
		return fail_at(file, line, "no event came");
	/*
	 * When its time is over, dat_evd_wait() looks for an event once more and
	 * returns what it finds.  Such an event has woken nobody.
	 */
	if (now_us() >= until && !failed())
		return fail_at(file, line, "%s was there and woke nobody",
			       event_name(event->event_number));
	return event->evd_handle == evd ||
	       fail_at(file, line, "%s names another EVD",
		       event_name(event->event_number));
}

/* Fails: says what came instead of what was wanted. */
static bool other_event(const char *file, int line, const DAT_EVENT *event,
			const char *wanted)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		return fail_at(file, line,
			       "DTO cookie %llu status %d came, not %s",
			       (u64)dto->user_cookie.as_64, dto->status,
			       wanted);
	return fail_at(file, line, "%s (%#x) came, not %s",
		       event_name(event->event_number), event->event_number,
		       wanted);
}

bool want_event_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	if (!next_event_at(file, line, evd, event))
		return fail_at(file, line, "waiting for %s", event_name(number));
	return event->event_number == number ||
	       other_event(file, line, event, event_name(number));
}

bool want_conn_at(const char *file, int line, DAT_EVD_HANDLE evd,
		  DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event_at(file, line, evd, number, &event))
		return false;
	data = &event.event_data.connect_event_data;
	return (data->ep_handle == ep ||
		fail_at(file, line, "%s names another EP",
			event_name(number))) &&
	       (!data->private_data_size ||
		fail_at(file, line, "%s has %d bytes of private data",
			event_name(number), data->private_data_size));
}

bool want_bound_at(const char *file, int line, DAT_EVD_HANDLE evd,
		   DAT_RMR_HANDLE rmr, u64 number,
		   DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event_at(file, line, evd, DAT_RMR_BIND_COMPLETION_EVENT,
			   &event))
		return fail_at(file, line, "waiting for cookie %llu", number);
	data = &event.event_data.rmr_completion_event_data;
	return (data->rmr_handle == rmr ||
		fail_at(file, line, "completion of another RMR")) &&
	       ((data->user_cookie.as_64 == number && data->status == status) ||
		fail_at(file, line,
			"cookie %llu status %d, not cookie %llu status %d",
			(u64)data->user_cookie.as_64, data->status, number,
			status));
}

/* The next completion has to be that of @number on @ep; how it ended in @status. */
static bool next_dto_at(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep,
			u64 number, DAT_VLEN length, DAT_DTO_COMPLETION_STATUS *status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!want_event_at(file, line, evd, DAT_DTO_COMPLETION_EVENT, &event))
		return fail_at(file, line, "waiting for cookie %llu", number);
	data = &event.event_data.dto_completion_event_data;
	*status = data->status;
	return (data->ep_handle == ep ||
		fail_at(file, line, "completion of another EP")) &&
	       (data->user_cookie.as_64 == number ||
		fail_at(file, line, "cookie %llu status %d, not cookie %llu",
			(u64)data->user_cookie.as_64, data->status, number)) &&
	       (length == ANY_LENGTH || data->transfered_length == length ||
		fail_at(file, line, "cookie %llu status %d: length %llu, not %llu", number,
			data->status, (u64)data->transfered_length, (u64)length));
}

bool want_dto_at(const char *file, int line, DAT_EVD_HANDLE evd,
		 DAT_EP_HANDLE ep, u64 number, DAT_DTO_COMPLETION_STATUS status,
		 DAT_VLEN length)
{
	DAT_DTO_COMPLETION_STATUS came;

	return next_dto_at(file, line, evd, ep, number, length, &came) &&
	       (came == status ||
		fail_at(file, line, "cookie %llu status %d, not %d", number, came, status));
}

bool want_refused_at(const char *file, int line, struct node *node, u64 number)
{
	DAT_DTO_COMPLETION_STATUS came;

	return next_dto_at(file, line, node->request, node->ep, number, 0, &came) &&
	       (came == DAT_DTO_ERR_REMOTE_ACCESS || came == DAT_DTO_ERR_FLUSHED ||
		fail_at(file, line, "cookie %llu status %d, not refused", number, came));
}

DAT_RETURN post_se(DAT_EVD_HANDLE evd, u64 number)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.evd_handle = (DAT_EVD_HANDLE)0x1234,	/* E50: ignored */
		.event_data.software_event_data.pointer =
			(void *)(uintptr_t)number,
	};

	return dat_evd_post_se(evd, &event);
}

bool want_se_at(const char *file, int line, DAT_EVD_HANDLE evd, u64 number)
{
	DAT_EVENT event;
	u64 is;

	if (!want_event_at(file, line, evd, DAT_SOFTWARE_EVENT, &event))
		return false;
	is = (uintptr_t)event.event_data.software_event_data.pointer;
	return is == number ||
	       fail_at(file, line, "software event %llu, not %llu", is, number);
}

/* A number that no scenario posts itself. */
#define MARKER		0x6d61726b

bool nothing_more_at(const char *file, int line, DAT_EVD_HANDLE evd)
{
	return ret_at(file, line, "dat_evd_post_se", post_se(evd, MARKER),
		      DAT_SUCCESS) &&
	       want_se_at(file, line, evd, MARKER);
}

bool silent_at(const char *file, int line, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return !event_within(evd, SILENCE_MS, &event) ||
	       other_event(file, line, &event, "silence");
}

bool state_is_at(const char *file, int line, DAT_EP_HANDLE ep,
		 DAT_EP_STATE state)
{
	DAT_EP_STATE is;

	return ret_at(file, line, "dat_ep_get_status",
		      dat_ep_get_status(ep, &is, NULL, NULL), DAT_SUCCESS) &&
	       (is == state ||
		fail_at(file, line, "EP state %d, not %d", is, state));
}

bool idle_at(const char *file, int line, DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return ret_at(file, line, "dat_ep_get_status",
		      dat_ep_get_status(ep, &state, &recv_idle, &request_idle),
		      DAT_SUCCESS) &&
	       ((recv_idle && request_idle) ||
		fail_at(file, line, "receive idle %d, request idle %d",
			recv_idle, request_idle));
}

/* ---- memory ------------------------------------------------------------- */

bool mem_new(struct side *side, struct mem *mem, size_t size,
	     DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;

	mem->size = size;
	mem->va = scenario_alloc(size);
	region.for_va = mem->va;
	return mem->va &&
	       OK(platform_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      size, side->pz, privileges, &mem->lmr,
				      &mem->context, &mem->rmr_context));
}

void mem_free(struct mem *mem)
{
	if (mem->lmr && !OK(dat_lmr_free(mem->lmr)))
		return;
	mem->lmr = DAT_HANDLE_NULL;
	scenario_free(mem->va);
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

bool mem_has(const struct mem *mem, size_t offset, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (__atomic_load_n(&mem->va[offset + i], __ATOMIC_RELAXED) != byte_at(i, seed))
			return false;
	return true;
}

bool mem_check(const struct mem *mem, size_t offset, size_t length, u8 seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (mem->va[offset + i] != byte_at(i, seed))
			return FAIL("byte %zu of %zu is %#x, not %#x", i,
				    length, mem->va[offset + i],
				    byte_at(i, seed));
	return true;
}

bool mem_arrives(const struct mem *mem, size_t offset, size_t length, u8 seed)
{
	u64 end = deadline();

	while (side_is_iwarp(&side_a) && !mem_has(mem, offset, length, seed) &&
	       now_us() < end)
		sleep_us(1000);
	return mem_check(mem, offset, length, seed);
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

/* Reduced to what the adapter has: an iWARP one reads into one segment (side_query). */
DAT_EP_ATTR node_attr = {
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
	.srq_soft_hw = DAT_HW_DEFAULT,
	.max_rdma_read_iov = 4,
	.max_rdma_write_iov = 4,
};

#define REQUEST_FLAGS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

static bool node_evds(struct node *node, enum evds evds)
{
	bool ok = true;

	if (!node->recv && evds == ONE_EVD)
		ok = evd_new(node->side, NODE_EVENTS,
			     REQUEST_FLAGS | DAT_EVD_CONNECTION_FLAG,
			     &node->recv);
	else if (!node->recv)
		ok = evd_new(node->side, NODE_EVENTS, DAT_EVD_DTO_FLAG,
			     &node->recv);
	if (ok && evds == ONE_EVD) {
		node->request = node->recv;
		node->conn = node->recv;
	}
	if (ok && !node->request)
		ok = evd_new(node->side, NODE_EVENTS, REQUEST_FLAGS,
			     &node->request);
	if (ok && !node->conn)
		ok = evd_new(node->side, NODE_EVENTS, DAT_EVD_CONNECTION_FLAG,
			     &node->conn);
	return ok;
}

static bool node_srq(struct node *node, const DAT_EP_ATTR *ep)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = ep->max_recv_dtos,
		.max_recv_iov = ep->max_recv_iov,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return node->srq ||
	       OK(dat_srq_create(node->side->ia, node->side->pz, &attr, &node->srq));
}

bool node_ep(struct node *node, const DAT_EP_ATTR *attr)
{
	struct side *side = node->side;

	if (!attr)
		attr = &node_attr;
	if (!side->on_srq)
		return OK(dat_ep_create(side->ia, side->pz, node->recv, node->request,
					node->conn, attr, &node->ep));
	return node_srq(node, attr) &&
	       OK(dat_ep_create_with_srq(side->ia, side->pz, node->recv, node->request,
					 node->conn, node->srq, attr, &node->ep));
}

bool node_new(struct node *node, struct side *side, enum evds evds,
	      const DAT_EP_ATTR *attr)
{
	node->side = side;
	return node_evds(node, evds) &&
	       (node->mem.va || mem_new(side, &node->mem, NODE_MEMORY,
					DAT_MEM_PRIV_ALL_FLAG)) &&
	       node_ep(node, attr);
}

void node_free(struct node *node)
{
	if (node->ep)
		OK(dat_ep_free(node->ep));
	if (node->srq)
		OK(dat_srq_free(node->srq));
	if (node->recv)
		OK(dat_evd_free(node->recv));
	if (node->request && node->request != node->recv)
		OK(dat_evd_free(node->request));
	if (node->conn && node->conn != node->recv)
		OK(dat_evd_free(node->conn));
	mem_free(&node->mem);
	memset(node, 0, sizeof(*node));
}

DAT_RETURN node_recv(struct node *node, size_t offset, size_t length,
		     u64 number)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return node_recv_iov(node, 1, &iov, number);
}

DAT_RETURN node_recv_iov(struct node *node, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			 u64 number)
{
	if (node->srq)
		return dat_srq_post_recv(node->srq, segments, iov, cookie(number));
	return dat_ep_post_recv(node->ep, segments, iov, cookie(number),
				DAT_COMPLETION_DEFAULT_FLAG);
}

/* How many receives are posted to @node's SRQ and have not completed; 0 without an SRQ. */
static DAT_COUNT srq_holds(const struct node *node)
{
	DAT_SRQ_PARAM param = {};

	if (node->srq)
		OK(dat_srq_query(node->srq, DAT_SRQ_FIELD_ALL, &param));
	return param.outstanding_dto_count;
}

bool left_in_srq(struct node *node, DAT_COUNT n)
{
	DAT_EVENT event;

	return CHECK(!event_within(node->recv, 0, &event)) && CHECK_EQ(srq_holds(node), n);
}

DAT_RETURN node_send(struct node *node, size_t offset, size_t length,
		     u64 number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_send(node->ep, 1, &iov, cookie(number), flags);
}

DAT_RETURN node_write(struct node *node, size_t offset, size_t length,
		      const DAT_RMR_TRIPLET *to, u64 number,
		      DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_rdma_write(node->ep, 1, &iov, cookie(number), to,
				      flags);
}

DAT_RETURN node_read(struct node *node, size_t offset, size_t length,
		     const DAT_RMR_TRIPLET *from, u64 number,
		     DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);

	return dat_ep_post_rdma_read(node->ep, 1, &iov, cookie(number), from,
				     flags);
}

DAT_RETURN node_bind(struct node *node, DAT_RMR_HANDLE rmr, size_t offset,
		     size_t length, u64 number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = piece(&node->mem, offset, length);
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_READ_FLAG |
			    DAT_MEM_PRIV_REMOTE_WRITE_FLAG, node->ep,
			    cookie(number), flags, &context);
}

/* ---- connections -------------------------------------------------------- */

bool same_address(DAT_IA_ADDRESS_PTR got, const struct side *side)
{
	const struct sockaddr_in *is = (struct sockaddr_in *)got;
	const struct sockaddr_in *of = (struct sockaddr_in *)&side->addr;

	return CHECK_EQ(is->sin_family, of->sin_family) &&
	       CHECK(is->sin_addr.s_addr == of->sin_addr.s_addr);
}

bool listener_new(struct listener *listener, DAT_PSP_FLAGS flags)
{
	return evd_new(&side_b, 64, DAT_EVD_CR_FLAG, &listener->requests) &&
	       OK(dat_psp_create_any(side_b.ia, &listener->qual,
				     listener->requests, flags,
				     &listener->psp));
}

void listener_free(struct listener *listener)
{
	if (listener->psp)
		OK(dat_psp_free(listener->psp));
	if (listener->requests)
		OK(dat_evd_free(listener->requests));
	memset(listener, 0, sizeof(*listener));
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
	return CHECK(data->sp_handle.psp_handle == listener->psp) &&
	       CHECK(data->conn_qual == listener->qual);
}

bool start_connect(struct node *node, DAT_CONN_QUAL qual)
{
	return OK(dat_ep_connect(node->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
				 qual, CONNECT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
}

bool pair_connect(struct node *a, struct node *b, struct listener *listener)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	return start_connect(a, listener->qual) &&
	       next_request(listener, &cr) &&
	       OK(dat_cr_accept(cr, b->ep, 0, NULL)) &&
	       want_event(a->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event) &&
	       want_event(b->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

bool pair_apart(struct pair *pair, enum evds evds, const DAT_EP_ATTR *attr_a,
		const DAT_EP_ATTR *attr_b)
{
	return node_new(&pair->a, &side_a, evds, attr_a) &&
	       node_new(&pair->b, &side_b, evds, attr_b) &&
	       listener_new(&pair->listener, DAT_PSP_CONSUMER_FLAG);
}

bool pair_new(struct pair *pair, enum evds evds, const DAT_EP_ATTR *attr_a,
	      const DAT_EP_ATTR *attr_b)
{
	return pair_apart(pair, evds, attr_a, attr_b) &&
	       pair_connect(&pair->a, &pair->b, &pair->listener);
}

void pair_free(struct pair *pair)
{
	node_free(&pair->a);
	node_free(&pair->b);
	listener_free(&pair->listener);
}

/* ---- accounts ----------------------------------------------------------- */

/* Skips requests below @number that were suppressed, and so succeed without an event. */
static void tally_skip(struct tally *tally, u64 number)
{
	while (!tally->over && tally->next < number &&
	       tally->suppressed & 1U << tally->next % 32) {
		tally->next++;
		tally->good++;
	}
}

static bool tally_add(struct tally *tally, const char *what, u64 number,
		      DAT_DTO_COMPLETION_STATUS status)
{
	tally_skip(tally, number);
	if (number != tally->next)
		return FAIL("%s %llu came (status %d), not %llu", what, number,
			    status, tally->next);
	tally->next++;
	if (status) {
		tally->over = true;
		return true;
	}
	tally->good++;
	return !tally->over ||
	       FAIL("%s %llu succeeded after a failure", what, number);
}

bool account_event(struct account *account, struct node *node,
		   const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;

	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		return CHECK(event->evd_handle == node->request) &&
		       tally_add(&account->request, "bind",
				 bind->user_cookie.as_64, bind->status);
	if (!CHECK(event->event_number == DAT_DTO_COMPLETION_EVENT) ||
	    !CHECK(dto->ep_handle == node->ep))
		return false;
	if (dto->user_cookie.as_64 & RECV)
		return CHECK(event->evd_handle == node->recv) &&
		       tally_add(&account->recv, "receive",
				 dto->user_cookie.as_64 & ~RECV, dto->status);
	return CHECK(event->evd_handle == node->request) &&
	       tally_add(&account->request, "request", dto->user_cookie.as_64,
			 dto->status);
}

bool account_requests(struct account *account, struct node *node, u64 number)
{
	DAT_EVENT event;

	while (account->request.next < number)
		if (!next_event(node->request, &event) ||
		    !account_event(account, node, &event))
			return false;
	return true;
}

bool account_first(struct account *account, struct node *node,
		   DAT_EVENT *event)
{
	for (;;) {
		if (!next_event(node->conn, event))
			return false;
		if (event->event_number >= DAT_CONNECTION_EVENT_ESTABLISHED)
			return true;
		if (!account_event(account, node, event))
			return false;
	}
}

/* Takes the completions that are there on another EVD. */
static bool account_rest(struct account *account, struct node *node,
			 DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (evd == node->conn)
		return true;
	while (event_within(evd, 0, &event))
		if (!account_event(account, node, &event))
			return false;
	return true;
}

static bool account_left(struct account *account, const struct node *node)
{
	account->left = srq_holds(node);
	return !node->srq || CHECK(account->recv.next - account->recv.good <= 1);
}

bool account_end(struct account *account, struct node *node, DAT_EVENT_NUMBER *end)
{
	DAT_EVENT event;

	if (!account_first(account, node, &event))
		return false;
	*end = event.event_number;
	return CHECK(event.event_data.connect_event_data.ep_handle ==
		     node->ep) &&
	       CHECK(!event.event_data.connect_event_data.private_data_size) &&
	       state_is(node->ep, DAT_EP_STATE_DISCONNECTED) &&
	       idle(node->ep) && account_rest(account, node, node->recv) &&
	       account_rest(account, node, node->request) &&
	       nothing_more(node->conn) && account_left(account, node);
}

bool account_break(struct account *account, struct node *node, DAT_EVENT_NUMBER *end)
{
	return account_end(account, node, end) &&
	       (*end == DAT_CONNECTION_EVENT_BROKEN ||
		CHECK_EQ(*end, DAT_CONNECTION_EVENT_DISCONNECTED));
}

bool account_until(struct account *account, struct node *node,
		   DAT_EVENT_NUMBER end)
{
	DAT_EVENT_NUMBER came = 0;
	bool good = account_end(account, node, &came);

	if (!came)
		return FAIL("waiting for %s", event_name(end));
	if (came != end)
		return FAIL("%s (%#x) came, not %s", event_name(came), came, event_name(end));
	return good;
}

bool account_closed(struct account *account, u64 requests, u64 recvs)
{
	tally_skip(&account->request, requests);
	return CHECK_EQ(account->request.next, requests) &&
	       CHECK_EQ(account->recv.next + account->left, recvs);
}
