// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What dat_ia_query promises (I24): a consumer that asks for exactly the maximum of
 * something gets it and can use it, and one more is refused with the code of that call.
 *
 * The tables ia_attrs[] and provider_attrs[] list every attribute of the IA and of its
 * provider, and name for each the scenario that shows it, or why nobody can ask for it.
 */
#include "memory.h"

struct attr {
	const char *name;
	u32 offset, size, align;
	const char *shown;
};

#define FIELD(type, field, where)					\
	{ #field, offsetof(type, field), sizeof(((type *)NULL)->field),	\
	  offsetof(struct { char c; typeof(((type *)NULL)->field) f; }, f), where }
#define SHOWN(field, where)	FIELD(DAT_IA_ATTR, field, where)
#define OF_PROVIDER(field, where)	FIELD(DAT_PROVIDER_ATTR, field, where)

#define NAME	"is a name, asked for by dat_ia_open (ia.c)"
#define VERSION	"is a property of the device"
#define OBJECTS	"tests/user/charge.c makes as many, with a small max_objects; " \
		"the suite kdapl_handle in the kernel's own space"
#define SRQ	"srq.c"
#define TOTAL	"is shared by all endpoints; the CM refuses nothing"
#define NONE	"there are none"

/* In the order of the structure. */
static const struct attr ia_attrs[] = {
	SHOWN(adapter_name, NAME),
	SHOWN(vendor_name, VERSION),
	SHOWN(hardware_version_major, VERSION),
	SHOWN(hardware_version_minor, VERSION),
	SHOWN(firmware_version_major, VERSION),
	SHOWN(firmware_version_minor, VERSION),
	SHOWN(ia_address_ptr, "connected to by every scenario"),
	SHOWN(max_eps, OBJECTS),
	SHOWN(max_dto_per_ep, "limits()"),
	SHOWN(max_rdma_read_per_ep_in, "limits()"),
	SHOWN(max_rdma_read_per_ep_out, "limits()"),
	SHOWN(max_evds, OBJECTS),
	SHOWN(max_evd_qlen, "limits()"),
	SHOWN(max_iov_segments_per_dto, "limits(), segments()"),
	SHOWN(max_lmrs, OBJECTS),
	SHOWN(max_lmr_block_size, "one more: args.c; the most may be more than the memory "
				  "that there is: the suites kdapl_args and kdapl_driver"),
	SHOWN(max_lmr_virtual_address, "is the last address, so there is none more"),
	SHOWN(max_pzs, OBJECTS),
	SHOWN(max_message_size, "limits(), longest()"),
	SHOWN(max_rdma_size, "limits(), longest()"),
	SHOWN(max_rmrs, OBJECTS),
	SHOWN(max_rmr_target_address, "is the last address, so there is none more"),
	SHOWN(max_srqs, OBJECTS),
	SHOWN(max_ep_per_srq, OBJECTS),
	SHOWN(max_recv_per_srq, "srqs_at_limit(); one more: srq.c"),
	SHOWN(max_iov_segments_per_rdma_read, "limits(), segments()"),
	SHOWN(max_iov_segments_per_rdma_write, "limits(), segments()"),
	SHOWN(max_rdma_read_in, TOTAL),
	SHOWN(max_rdma_read_out, TOTAL),
	SHOWN(max_rdma_read_per_ep_in_guaranteed, "follows from the figures (ia.c)"),
	SHOWN(max_rdma_read_per_ep_out_guaranteed, "follows from the figures (ia.c)"),
	SHOWN(num_transport_attr, NONE),
	SHOWN(transport_attr, NONE),
	SHOWN(num_vendor_attr, NONE),
	SHOWN(vendor_attr, NONE),
};

#define FACT	"says what the provider is like (ia.c)"

static const struct attr provider_attrs[] = {
	OF_PROVIDER(provider_name, VERSION),
	OF_PROVIDER(provider_version_major, VERSION),
	OF_PROVIDER(provider_version_minor, VERSION),
	OF_PROVIDER(dapl_version_major, VERSION),
	OF_PROVIDER(dapl_version_minor, VERSION),
	OF_PROVIDER(lmr_mem_types_supported, "lmr.c, memory.c of either face"),
	OF_PROVIDER(iov_ownership_on_return, FACT),
	OF_PROVIDER(dat_qos_supported, "args.c: others are refused"),
	OF_PROVIDER(completion_flags_supported, "transfer.c, args.c"),
	OF_PROVIDER(is_thread_safe, "order.c, user/threads.c"),
	OF_PROVIDER(max_private_data_size, "connect.c: so many bytes, and one more"),
	OF_PROVIDER(supports_multipath, "args.c: it is refused"),
	OF_PROVIDER(ep_creator, "passive.c"),
#ifdef __KERNEL__
	OF_PROVIDER(upcall_policy, "kernel/upcall.c"),
#else
	OF_PROVIDER(pz_support, FACT),
#endif
	OF_PROVIDER(optimal_buffer_alignment, FACT),
	OF_PROVIDER(evd_stream_merging_supported, "evd.c"),
	OF_PROVIDER(srq_supported, "ia.c, srq.c: without it none is made"),
	OF_PROVIDER(srq_watermarks_supported, SRQ),
	OF_PROVIDER(srq_ep_pz_difference_supported, SRQ),
	OF_PROVIDER(srq_info_supported, SRQ),
	OF_PROVIDER(ep_recv_info_supported, SRQ),
	OF_PROVIDER(lmr_sync_req, FACT),
	OF_PROVIDER(dto_async_return_guaranteed, FACT),
	OF_PROVIDER(rdma_write_for_rdma_read_req, "iwarp.c"),
	OF_PROVIDER(num_provider_specific_attr, FACT),
	OF_PROVIDER(provider_specific_attr, FACT),
};

/* An attribute that is not in the table leaves a hole that is more than padding. */
static void whole(const struct attr *attrs, unsigned int n, size_t size)
{
	u32 end = 0, align = 1;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct attr *a = &attrs[i];

		if (!CHECK(a->shown) ||
		    !CHECK_EQ(a->offset, (end + a->align - 1) / a->align * a->align))
			FAIL("before %s", a->name);
		end = a->offset + a->size;
		if (align < a->align)
			align = a->align;
	}
	CHECK_EQ((end + align - 1) / align * align, size);
}

static void every_attribute(void)
{
	whole(ia_attrs, ARRAY_SIZE(ia_attrs), sizeof(DAT_IA_ATTR));
	whole(provider_attrs, ARRAY_SIZE(provider_attrs), sizeof(DAT_PROVIDER_ATTR));
}

/* ---- one number ----------------------------------------------------------- */

typedef DAT_RETURN ask_fn(u64 n);

/*
 * struct limit - a number of which there is a most
 * @name: of the attribute, or what it is asked for by
 * @most: as the IA says
 * @ask: asks for @n, uses it if it was given, and gives it back; NULL: ask_ep()
 * @refused: what one more gets
 * @offset, @size: of the attribute of an endpoint
 */
struct limit {
	const char *name;
	u64 most;
	ask_fn *ask;
	DAT_RETURN refused;
	u32 offset, size;
};

static DAT_RETURN ask_evd(u64 n)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	ret = platform_evd_create(side_b.ia, n, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
				  &evd);
	if (ret)
		return ret;
	nothing_more(evd);
	return dat_evd_free(evd);
}

static DAT_RETURN ask_resize(u64 n)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	if (!evd_new(&side_b, 8, DAT_EVD_DTO_FLAG, &evd))
		return DAT_INTERNAL_ERROR;
	ret = dat_evd_resize(evd, n);
	nothing_more(evd);
	OK(dat_evd_free(evd));
	return ret;
}

static DAT_RETURN ask_async(u64 n)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	ret = dat_ia_open(side_b.name, n, &async, &ia);
	return ret ? ret : dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static u64 get(const DAT_EP_ATTR *attr, const struct limit *limit)
{
	const char *field = (const char *)attr + limit->offset;

	return limit->size == sizeof(u64) ? *(const u64 *)field :
					    *(const u32 *)field;
}

static void set(DAT_EP_ATTR *attr, const struct limit *limit, u64 n)
{
	char *field = (char *)attr + limit->offset;

	if (limit->size == sizeof(u64))
		*(u64 *)field = n;
	else
		*(u32 *)field = n;
}

/* It has what it was asked for, gets a queue pair, and works in both directions. */
static void use_ep(struct node *a, struct node *b, const struct limit *limit, u64 n)
{
	struct listener listener = {};
	DAT_EP_PARAM param;

	if (OK(dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &param)))
		CHECK(get(&param.ep_attr, limit) >= n);
	if (node_new(a, &side_a, THREE_EVDS, NULL) &&
	    listener_new(&listener, DAT_PSP_CONSUMER_FLAG) &&
	    pair_connect(a, b, &listener)) {
		talks(a, b);
		talks(b, a);
	}
	listener_free(&listener);
}

/* With EVDs that no bind completes on, where an endpoint needs least of a queue. */
static DAT_RETURN ask_ep(const struct limit *limit, u64 n)
{
	struct node a = {}, b = { .side = &side_b };
	DAT_EP_ATTR attr = node_attr;
	DAT_RETURN ret;

	if (!evd_new(&side_b, 16, DAT_EVD_DTO_FLAG, &b.recv) ||
	    !evd_new(&side_b, 16, DAT_EVD_DTO_FLAG, &b.request) ||
	    !evd_new(&side_b, 16, DAT_EVD_CONNECTION_FLAG, &b.conn) ||
	    !mem_new(&side_b, &b.mem, NODE_MEMORY, DAT_MEM_PRIV_ALL_FLAG))
		return DAT_INTERNAL_ERROR;
	set(&attr, limit, n);
	ret = dat_ep_create(side_b.ia, side_b.pz, b.recv, b.request, b.conn, &attr,
			    &b.ep);
	if (!ret)
		use_ep(&a, &b, limit, n);
	if (a.side)
		node_free(&a);
	node_free(&b);
	return ret;
}

#define REFUSED(type, subtype)	DAT_ERROR(DAT_##type, DAT_##subtype)
#define EP(field, most)							\
	{ #field, most, NULL, REFUSED(INVALID_PARAMETER, INVALID_ARG6),	\
	  offsetof(DAT_EP_ATTR, field), sizeof(((DAT_EP_ATTR *)NULL)->field) }
#define CALL(name, most, ask, type, subtype)				\
	{ name, most, ask, REFUSED(type, subtype), 0, 0 }

static DAT_RETURN ask(const struct limit *limit, u64 n)
{
	return limit->ask ? limit->ask(n) : ask_ep(limit, n);
}

static void limits(void)
{
	const DAT_IA_ATTR *ia = &side_b.attr;
	const struct limit rows[] = {
		CALL("max_evd_qlen", ia->max_evd_qlen, ask_evd,
		     INSUFFICIENT_RESOURCES, RESOURCE_TEVD),
		CALL("max_evd_qlen by a resize", ia->max_evd_qlen, ask_resize,
		     INVALID_PARAMETER, INVALID_ARG2),
		CALL("max_evd_qlen by an open", ia->max_evd_qlen, ask_async,
		     INSUFFICIENT_RESOURCES, RESOURCE_TEVD),
		EP(max_recv_dtos, ia->max_dto_per_ep),
		EP(max_request_dtos, ia->max_dto_per_ep),
		EP(max_rdma_read_in, ia->max_rdma_read_per_ep_in),
		EP(max_rdma_read_out, ia->max_rdma_read_per_ep_out),
		EP(max_recv_iov, ia->max_iov_segments_per_dto),
		EP(max_request_iov, ia->max_iov_segments_per_dto),
		EP(max_rdma_read_iov, ia->max_iov_segments_per_rdma_read),
		EP(max_rdma_write_iov, ia->max_iov_segments_per_rdma_write),
		EP(max_message_size, ia->max_message_size),
		EP(max_rdma_size, ia->max_rdma_size),
	};
	unsigned int i;

	/* So long programs make them, whatever one completion queue of the device holds. */
	CHECK(ia->max_evd_qlen >= 51200);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		OK(ask(&rows[i], rows[i].most));
		EXPECT(ask(&rows[i], rows[i].most + 1), rows[i].refused);
		if (failed()) {
			FAIL("%s: %llu", rows[i].name, rows[i].most);
			return;
		}
	}
}

/* kdapl gives no more of them on any device. */
#define MAX_SEGMENTS	16

/* Of so many receives of so many segments, which are posted; one more has no room. */
static DAT_RETURN full_srq(DAT_COUNT recvs, DAT_COUNT segments)
{
	DAT_SRQ_ATTR attr = { recvs, segments, DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET iov[MAX_SEGMENTS] = {};
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret;
	DAT_COUNT i;

	if (!CHECK(segments <= MAX_SEGMENTS))
		return DAT_INTERNAL_ERROR;
	ret = dat_srq_create(side_b.ia, side_b.pz, &attr, &srq);
	if (ret)
		return ret;
	for (i = 0; i < recvs && !failed(); i++)
		OK(dat_srq_post_recv(srq, segments, iov, cookie(i)));
	IS(dat_srq_post_recv(srq, segments, iov, cookie(i)), DAT_INSUFFICIENT_RESOURCES,
	   DAT_RESOURCE_MEMORY);
	OK(dat_srq_free(srq));
	return DAT_SUCCESS;
}

/*
 * The most receives and the most segments, where there are SRQs; srq.c has the other case.
 * So many receives may take more memory than there is, or than a process may lock: that is
 * the one reason for which they may be refused, and half as many are asked for.
 */
static void srqs_at_limit(void)
{
	DAT_COUNT n = side_b.attr.max_recv_per_srq;
	DAT_RETURN ret;

	if (!side_b.provider.srq_supported) {
		note("this IA has no shared receive queues");
		return;
	}
	while ((ret = full_srq(n, 1)) && n > 1) {
		if (!CHECK_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES))
			return;
		note("no memory for an SRQ of %d receives", n);
		n /= 2;
	}
	OK(ret);
	OK(full_srq(1, side_b.attr.max_iov_segments_per_dto));
}

/* ---- posts at the limit --------------------------------------------------- */

/*
 * A device may promise more than the emulated machine has memory for, 2 GiB.  And what goes
 * into its segments: each is an LMR of that size, and one is left for a byte more.
 */
#define LONGEST		(8 << 20)
#define LMR_SIZE	(1 << 20)

/* Of the endpoints of a large_pair() */
static u64 longest_message(void)
{
	u64 room = (u64)(side_a.attr.max_iov_segments_per_dto - 1) * LMR_SIZE;
	u64 most = side_a.attr.max_message_size;

	if (most > LONGEST)
		most = LONGEST;
	return most < room ? most : room;
}

/* A pair that has the most of what a single DTO can have. */
static bool large_pair(struct pair *p)
{
	const DAT_IA_ATTR *ia = &side_a.attr;
	DAT_EP_ATTR attr = node_attr;

	attr.max_message_size = longest_message();
	attr.max_rdma_size = ia->max_rdma_size;
	attr.max_recv_iov = ia->max_iov_segments_per_dto;
	attr.max_request_iov = ia->max_iov_segments_per_dto;
	attr.max_rdma_read_iov = ia->max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = ia->max_iov_segments_per_rdma_write;
	return CHECK(ia->max_iov_segments_per_dto <= MAX_SEGMENTS) &&
	       CHECK(ia->max_iov_segments_per_rdma_read <= MAX_SEGMENTS) &&
	       CHECK(ia->max_iov_segments_per_rdma_write <= MAX_SEGMENTS) &&
	       pair_new(p, THREE_EVDS, &attr, &attr);
}

/* As many segments as a DTO can have, and one more. */
static void segments(void)
{
	const DAT_IA_ATTR *ia = &side_a.attr;
	DAT_COUNT n = ia->max_iov_segments_per_dto;
	DAT_LMR_TRIPLET there[MAX_SEGMENTS + 1], here[MAX_SEGMENTS + 1];
	DAT_RMR_TRIPLET remote;
	struct pair p = {};
	unsigned int i;

	if (!large_pair(&p))
		return;
	for (i = 0; i <= MAX_SEGMENTS; i++) {
		here[i] = piece(&p.a.mem, 2 * i, 1);
		there[i] = piece(&p.b.mem, 2 * i, 1);
	}
	mem_fill(&p.a.mem, 0, NODE_MEMORY, 7);
	BAD_ARG(dat_ep_post_recv(p.b.ep, n + 1, there, cookie(1), 0), 2);
	OK(dat_ep_post_recv(p.b.ep, n, there, cookie(1), 0));
	BAD_ARG(dat_ep_post_send(p.a.ep, n + 1, here, cookie(1), 0), 2);
	OK(dat_ep_post_send(p.a.ep, n, here, cookie(1), 0));
	want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, n);
	want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, n);
	for (i = 0; i < (u32)n; i++)
		CHECK_EQ(p.b.mem.va[2 * i], p.a.mem.va[2 * i]);

	n = ia->max_iov_segments_per_rdma_write;
	remote = remote_piece(&p.b.mem, 1000, n);
	BAD_ARG(dat_ep_post_rdma_write(p.a.ep, n + 1, here, cookie(2), &remote, 0), 2);
	OK(dat_ep_post_rdma_write(p.a.ep, n, here, cookie(2), &remote, 0));
	want_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS, n);

	n = ia->max_iov_segments_per_rdma_read;
	remote = remote_piece(&p.b.mem, 1000, n);
	BAD_ARG(dat_ep_post_rdma_read(p.a.ep, n + 1, here, cookie(3), &remote, 0), 2);
	OK(dat_ep_post_rdma_read(p.a.ep, n, here, cookie(3), &remote, 0));
	want_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS, n);
}

/* @length bytes of @mem, over and over; the number of segments, 0: it takes too many. */
static DAT_COUNT spread(DAT_LMR_TRIPLET *iov, DAT_COUNT max, const struct mem *mem,
			u64 length)
{
	DAT_COUNT n = 0;
	u64 part;

	for (; length && n < max; length -= part) {
		part = length < mem->size ? length : mem->size;
		iov[n++] = piece(mem, 0, part);
	}
	return length ? 0 : n;
}

/* The longest message, and one byte more. */
static void longest(void)
{
	const u64 most = longest_message();
	const DAT_COUNT max = side_a.attr.max_iov_segments_per_dto;
	DAT_LMR_TRIPLET iov[MAX_SEGMENTS + 1], to[MAX_SEGMENTS];
	DAT_COUNT n, m;
	struct mem from, into;
	struct pair p = {};

	if (!large_pair(&p) ||
	    !mem_new(&side_a, &from, LMR_SIZE, DAT_MEM_PRIV_ALL_FLAG) ||
	    !mem_new(&side_b, &into, LMR_SIZE, DAT_MEM_PRIV_ALL_FLAG))
		return;
	n = spread(iov, max - 1, &from, most);
	m = spread(to, max, &into, most);
	if (!CHECK(n && m))
		return;
	OK(dat_ep_post_recv(p.b.ep, m, to, cookie(1), 0));
	iov[n] = piece(&from, 0, 1);
	BAD_ARG(dat_ep_post_send(p.a.ep, n + 1, iov, cookie(1), 0), 3);
	OK(dat_ep_post_send(p.a.ep, n, iov, cookie(1), 0));
	want_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS, most);
	want_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS, most);
	talks(&p.a, &p.b);
}

/* ---- many ----------------------------------------------------------------- */

#define EACH	50000

/* Is it a kernel for debugging, where so many take minutes? */
static bool debugs(void)
{
	return !run_command("test -e /sys/kernel/debug/kmemleak");
}

/*
 * Fifty thousand DTOs are outstanding in each direction of one endpoint, on one EVD: more than a
 * completion queue of Soft-RoCE holds.  Nobody receives: the end of the connection flushes all of
 * them, and none is lost, doubled or out of its order.
 */
static void fifty_thousand(void)
{
	const u64 each = debugs() ? EACH / 2 : EACH;
	struct account mine = {};
	DAT_EP_ATTR attr = node_attr;
	DAT_EVD_HANDLE evd;
	struct pair p = {};
	u64 i;

	if (side_a.attr.max_dto_per_ep < EACH) {
		note("the device has queues for %d DTOs", side_a.attr.max_dto_per_ep);
		return;
	}
	attr.max_recv_dtos = each;
	attr.max_request_dtos = each;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	if (!evd_new(&side_a, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd))
		return;
	p.a.recv = evd;
	p.a.request = evd;
	p.a.conn = evd;
	if (!pair_new(&p, THREE_EVDS, &attr, NULL))
		return;
	for (i = 0; i < each && !failed(); i++) {
		OK(node_recv(&p.a, 0, 64, RECV + i));
		OK(node_send(&p.a, 0, 64, i, 0));
	}
	IS(node_recv(&p.a, 0, 64, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	IS(node_send(&p.a, 0, 64, 0, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	account_until(&mine, &p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	account_closed(&mine, each, each);
	CHECK_EQ(mine.recv.good + mine.request.good, 0);
}

/* More than a completion queue of Soft-RoCE holds */
#define BEYOND	34000

/*
 * The peer has nothing posted at first; then all come, in order, and neither side loses one.  The
 * requests of one side are outstanding, or wait for room on the queue pair, while the events of the
 * other are taken, so they have to go out by themselves.  With a kernel for debugging it would take
 * minutes; there the suite kdapl_deep does the same on a smaller device.
 */
static void deep(void)
{
	struct account mine = {}, theirs = {};
	DAT_EP_ATTR attr = node_attr;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	struct pair p = {};
	DAT_EVENT event;
	u64 start, i;

	attr.max_recv_dtos = EACH;
	attr.max_request_dtos = EACH;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	if (debugs()) {
		note("not in a kernel for debugging");
		return;
	}
	if (side_a.attr.max_dto_per_ep < EACH || !pair_new(&p, THREE_EVDS, &attr, &attr))
		return;
	start = now_us();
	for (i = 0; i < BEYOND && !failed(); i++)
		OK(node_send(&p.a, 0, 8, i, 0));
	OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &request_idle));
	CHECK(recv_idle && !request_idle);
	for (i = 0; i < BEYOND && !failed(); i++)
		OK(node_recv(&p.b, 0, 8, RECV + i));
	for (i = 0; i < BEYOND && !failed(); i++)
		if (next_event(p.b.recv, &event))
			account_event(&theirs, &p.b, &event);
	CHECK_EQ(theirs.recv.good, BEYOND);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	account_until(&mine, &p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	account_closed(&mine, BEYOND, 0);
	CHECK_EQ(mine.request.good, BEYOND);
	note("%d messages beyond a completion queue, in %llu ms", BEYOND,
	     (now_us() - start) / 1000);
}

static const struct scenario scenarios[] = {
	SCENARIO("I24 every attribute of an adapter and its provider is shown somewhere",
		 every_attribute),
	SCENARIO("I24 E.1 the most of each attribute, and one more", limits),
	SCENARIO("I24 E57 mt:T13 fifty thousand DTOs on one EP", fifty_thousand),
	SCENARIO("mt:T13 mt:T40 D17 more messages than a completion queue holds", deep),
	SCENARIO("I24 mt:M48 mt:M58 the most receives of an SRQ, and the most segments",
		 srqs_at_limit),
	SCENARIO("I24 mt:T1 the most segments of a DTO, and one more", segments),
	SCENARIO("I24 mt:T5 mt:T6 the longest message, and a byte more", longest),
};

SCENARIO_TABLE(limits_table);
