// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Transfers (mt: T; ep: D18, D52, L; ev: E35, E45, E46). */
#include "rig.h"

#define NO_WRITE	ERR2(PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE)
#define NOT_MINE_READ	ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ)
#define NOT_MINE_WRITE	ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_WRITE)
#define FULL		ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

static void send_receive(void)
{
	static const size_t sizes[] = { 0, 1, 2, 4095, 4097, 65536, MEM / 2 };
	DAT_EP_HANDLE ep_a, ep_b;
	size_t i;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(a.mem, sizes[i], i);
		memset(b.mem, 0xee, MEM / 2 + 1);
		OK(post_recv(&b, ep_b, 0, MEM / 2 + 1, i));
		OK(post_send(&a, ep_a, 0, sizes[i], 100 + i, 0));
		CHECK_EQ(completes_length(b.recv, ep_b, i), sizes[i]);
		CHECK_EQ(completes_length(a.req, ep_a, 100 + i), sizes[i]);
		verify(b.mem, sizes[i], i);
		CHECK_EQ(b.mem[sizes[i]], 0xee);
	}
	/* and the other way, without segments */
	OK(dat_ep_post_recv(ep_a, 0, NULL, cookie(1), 0));
	OK(dat_ep_post_send(ep_b, 0, NULL, cookie(2), 0));
	CHECK_EQ(completes_length(a.recv, ep_a, 1), 0);
	CHECK_EQ(completes_length(b.req, ep_b, 2), 0);
}

/* mt:T3 mt:T4: gathered and scattered in order, empty segments skipped */
static void scatter_gather(void)
{
	DAT_LMR_TRIPLET out[4], in[4];
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	uint8_t all[1000];

	rig_both();
	connected(&ep_a, &ep_b);
	fill(all, sizeof(all), 5);
	out[0] = seg(&a, 10000, 1);
	out[1] = (DAT_LMR_TRIPLET) { .lmr_context = ~0u };
	out[2] = seg(&a, 3, 700);
	out[3] = seg(&a, 50001, 299);
	memcpy(a.mem + 10000, all, 1);
	memcpy(a.mem + 3, all + 1, 700);
	memcpy(a.mem + 50001, all + 701, 299);
	in[0] = seg(&b, 7, 500);
	in[1] = seg(&b, 30000, 400);
	in[2] = seg(&b, 20001, 200);
	in[3] = seg(&b, 1, 1);
	b.mem[1] = 0xaa;
	OK(dat_ep_post_recv(ep_b, 4, in, cookie(1), 0));
	OK(dat_ep_post_send(ep_a, 4, out, cookie(2), 0));
	CHECK_EQ(completes_length(b.recv, ep_b, 1), 1000);
	CHECK_EQ(completes_length(a.req, ep_a, 2), 1000);
	CHECK(!memcmp(b.mem + 7, all, 500));
	CHECK(!memcmp(b.mem + 30000, all + 500, 400));
	CHECK(!memcmp(b.mem + 20001, all + 900, 100));
	CHECK_EQ(b.mem[1], 0xaa);

	r = remote(&b, 100000, 2000);
	OK(dat_ep_post_rdma_write(ep_a, 4, out, cookie(3), &r, 0));
	CHECK_EQ(completes_length(a.req, ep_a, 3), 1000);
	CHECK(!memcmp(b.mem + 100000, all, 1000));
	r = remote(&b, 100000, 1000);
	memset(a.mem, 0, MEM);
	OK(dat_ep_post_rdma_read(ep_a, 4, out, cookie(4), &r, 0));
	CHECK_EQ(completes_length(a.req, ep_a, 4), 1000);
	CHECK(!memcmp(a.mem + 10000, all, 1));
	CHECK(!memcmp(a.mem + 3, all + 1, 700));
	CHECK(!memcmp(a.mem + 50001, all + 701, 299));
}

static void rdma(void)
{
	static const size_t sizes[] = { 0, 1, 4096, 70001, MEM / 2 };
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	size_t i, n;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = sizes[i];
		r = remote(&b, 1, n);
		fill(a.mem, n, i);
		memset(b.mem, 0x11, MEM);
		OK(post_write(&a, ep_a, 0, &r, n, i, 0));
		CHECK_EQ(completes_length(a.req, ep_a, i), n);
		verify(b.mem + 1, n, i);
		CHECK(b.mem[0] == 0x11 && b.mem[n + 1] == 0x11);

		fill(b.mem + 1, n, 50 + i);
		memset(a.mem, 0x22, MEM);
		OK(post_read(&a, ep_a, 3, &r, n, 10 + i, 0));
		CHECK_EQ(completes_length(a.req, ep_a, 10 + i), n);
		verify(a.mem + 3, n, 50 + i);
		CHECK(a.mem[2] == 0x22 && a.mem[n + 3] == 0x22);
	}
	/* mt:T33: the shorter length counts */
	r = remote(&b, 0, 100);
	memset(a.mem, 0x22, 200);
	OK(post_read(&a, ep_a, 0, &r, 200, 1, 0));
	CHECK_EQ(completes_length(a.req, ep_a, 1), 100);
	CHECK_EQ(a.mem[100], 0x22);
	r = remote(&b, 0, 200);
	OK(post_write(&a, ep_a, 0, &r, 100, 2, 0));
	CHECK_EQ(completes_length(a.req, ep_a, 2), 100);
	r = remote(&b, 0, 100);
	CHECK_RET(post_read(&a, ep_a, 0, &r, 99, 3, 0), ERR2(LENGTH_ERROR, 0));
	CHECK_RET(post_write(&a, ep_a, 0, &r, 101, 3, 0),
		  ERR2(LENGTH_ERROR, 0));
	no_event(b.recv);
}

/* mt:T7 mt:T8: the arrays are ours again, and memory never is a trap. */
static void after_the_post(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;

	rig_both();
	connected(&ep_a, &ep_b);
	memset(b.mem, 0, MEM);
	fill(a.mem + 4096, 64, 1);
	fill(a.mem + 8192, 64, 2);
	/* Held up, since nobody receives it. */
	t = seg(&a, 0, 64);
	OK(dat_ep_post_send(ep_a, 1, &t, cookie(1), 0));
	t = seg(&a, 4096, 64);
	OK(dat_ep_post_send(ep_a, 1, &t, cookie(2), 0));
	t = seg(&a, 8192, 64);
	r = remote(&b, 65536, 64);
	OK(dat_ep_post_rdma_write(ep_a, 1, &t, cookie(3), &r, 0));
	memset(&t, 0xff, sizeof(t));
	memset(&r, 0xff, sizeof(r));
	fill(a.mem, 64, 77);
	t = seg(&b, 0, 64);
	OK(dat_ep_post_recv(ep_b, 1, &t, cookie(4), 0));
	t = seg(&b, 4096, 64);
	OK(dat_ep_post_recv(ep_b, 1, &t, cookie(5), 0));
	memset(&t, 0xff, sizeof(t));
	CHECK_EQ(completes_length(b.recv, ep_b, 4), 64);
	CHECK_EQ(completes_length(b.recv, ep_b, 5), 64);
	CHECK_EQ(completes_length(a.req, ep_a, 1), 64);
	CHECK_EQ(completes_length(a.req, ep_a, 2), 64);
	CHECK_EQ(completes_length(a.req, ep_a, 3), 64);
	verify(b.mem + 4096, 64, 1);
	verify(b.mem + 65536, 64, 2);
}

/* mt:T43: a write is there when a later send is received. */
static void write_then_send(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	r = remote(&b, 4096, 20000);
	for (i = 0; i < 50; i++) {
		fill(a.mem, 20000, i);
		OK(post_recv(&b, ep_b, 0, 8, i));
		OK(post_write(&a, ep_a, 0, &r, 20000, i,
			      DAT_COMPLETION_SUPPRESS_FLAG));
		OK(post_send(&a, ep_a, 30000, 8, i, 0));
		completes(b.recv, ep_b, i, DAT_DTO_SUCCESS);
		verify(b.mem + 4096, 20000, i);
		completes(a.req, ep_a, i, DAT_DTO_SUCCESS);
	}
}

static void post_arguments(void)
{
	DAT_LMR_TRIPLET iov[32], unknown;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	size_t i;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = seg(&a, i, 1);
	unknown = seg(&a, 0, 8);
	unknown.lmr_context = ~a.context;
	r = remote(&b, 0, 100);

	CHECK_RET(dat_ep_post_send(ep_a, -1, iov, cookie(1), 0), ARG(2));
	CHECK_RET(dat_ep_post_recv(ep_a, -1, iov, cookie(1), 0), ARG(2));
	CHECK_RET(dat_ep_post_send(ep_a, 5, iov, cookie(1), 0), ARG(2));
	CHECK_RET(dat_ep_post_recv(ep_a, 5, iov, cookie(1), 0), ARG(2));
	CHECK_RET(dat_ep_post_send(ep_a, 32, iov, cookie(1), 0), ARG(2));
	CHECK_RET(dat_ep_post_recv(ep_a, 0x7fffffff, iov, cookie(1), 0),
		  ARG(2));
	CHECK_RET(dat_ep_post_rdma_write(ep_a, 5, iov, cookie(1), &r, 0),
		  ARG(2));
	CHECK_RET(dat_ep_post_rdma_read(ep_a, 5, iov, cookie(1), &r, 0),
		  ARG(2));
	CHECK_RET(dat_ep_post_send(ep_a, 1, NULL, cookie(1), 0), ARG(3));
	CHECK_RET(dat_ep_post_recv(ep_a, 1, NULL, cookie(1), 0), ARG(3));
	CHECK_RET(dat_ep_post_send(ep_a, 1, (void *)0x1000, cookie(1), 0),
		  ARG(3));
	CHECK_RET(dat_ep_post_rdma_read(ep_a, 1, iov, cookie(1), NULL, 0),
		  ARG(5));
	CHECK_RET(dat_ep_post_rdma_write(ep_a, 0, NULL, cookie(1), NULL, 0),
		  ARG(5));
	/* mt:T5: range */
	CHECK_RET(post_send(&a, ep_a, MEM - 7, 8, 1, 0), ARG(3));
	CHECK_RET(post_send(&a, ep_a, -8, 8, 1, 0), ARG(3));
	CHECK_RET(post_send(&a, ep_a, 8, -8, 1, 0), ARG(3));
	CHECK_RET(post_recv(&a, ep_a, MEM, 1, 1), ARG(3));
	/* mt:T6: the sum */
	for (i = 0; i < 4; i++)
		iov[i] = seg(&a, 0, MEM);
	CHECK_RET(dat_ep_post_send(ep_a, 2, iov, cookie(1), 0), ARG(3));
	CHECK_RET(dat_ep_post_recv(ep_a, 2, iov, cookie(1), 0), ARG(3));
	/* mt:T34 */
	r.target_address = ~0ull - 8;
	CHECK_RET(post_write(&a, ep_a, 0, &r, 100, 1, 0), ARG(5));
	CHECK_RET(post_read(&a, ep_a, 0, &r, 100, 1, 0), ARG(5));
	r = remote(&b, 0, 8);
	/* mt:T5 mt:T29: no such LMR */
	CHECK_RET(dat_ep_post_send(ep_a, 1, &unknown, cookie(1), 0),
		  NOT_MINE_READ);
	CHECK_RET(dat_ep_post_recv(ep_a, 1, &unknown, cookie(1), 0),
		  NOT_MINE_WRITE);
	CHECK_RET(dat_ep_post_rdma_write(ep_a, 1, &unknown, cookie(1), &r, 0),
		  NOT_MINE_READ);
	CHECK_RET(dat_ep_post_rdma_read(ep_a, 1, &unknown, cookie(1), &r, 0),
		  NOT_MINE_WRITE);
	/* mt:T19: flags */
	for (i = 0x10; i; i = i << 1 & 0xffffffff) {
		CHECK_RET(post_send(&a, ep_a, 0, 8, 1, i), ARG(5));
		CHECK_RET(post_write(&a, ep_a, 0, &r, 8, 1, i), ARG(6));
		CHECK_RET(post_read(&a, ep_a, 0, &r, 8, 1, i), ARG(6));
	}
	CHECK_RET(post_write(&a, ep_a, 0, &r, 8, 1,
			     DAT_COMPLETION_SOLICITED_WAIT_FLAG), ARG(6));
	/* mt:T21 mt:T25: not what this EP is set up for */
	CHECK_RET(post_send(&a, ep_a, 0, 8, 1, DAT_COMPLETION_UNSIGNALLED_FLAG),
		  ARG(5));
	iov[0] = seg(&a, 0, 8);
	for (i = 1; i < 0x40; i <<= 1)
		CHECK_RET(dat_ep_post_recv(ep_a, 1, iov, cookie(1), i), ARG(5));
	no_event(a.req);
	no_event(a.recv);
	is_state(ep_a, DAT_EP_STATE_CONNECTED);
}

static DAT_LMR_HANDLE extra_lmr(struct side *side, DAT_PZ_HANDLE pz,
				DAT_MEM_PRIV_FLAGS privileges,
				DAT_LMR_TRIPLET *triplet, DAT_RMR_CONTEXT *rmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->mem };
	DAT_LMR_HANDLE lmr;

	*triplet = seg(side, 0, 64);
	OK(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
			  privileges, &lmr, &triplet->lmr_context, rmr, NULL,
			  NULL));
	return lmr;
}

static void rights_and_zones(void)
{
	DAT_LMR_TRIPLET t;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	DAT_PZ_HANDLE pz;

	rig_both();
	connected(&ep_a, &ep_b);
	r = remote(&b, 0, 64);
	OK(dat_pz_create(a.ia, &pz));
	extra_lmr(&a, pz, DAT_MEM_PRIV_ALL_FLAG, &t, NULL);
	CHECK_RET(dat_ep_post_send(ep_a, 1, &t, cookie(1), 0), NOT_MINE_READ);
	CHECK_RET(dat_ep_post_recv(ep_a, 1, &t, cookie(1), 0), NOT_MINE_WRITE);
	CHECK_RET(dat_ep_post_rdma_read(ep_a, 1, &t, cookie(1), &r, 0),
		  NOT_MINE_WRITE);
	extra_lmr(&a, a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &t, NULL);
	CHECK_RET(dat_ep_post_recv(ep_a, 1, &t, cookie(1), 0), NO_WRITE);
	CHECK_RET(dat_ep_post_rdma_read(ep_a, 1, &t, cookie(1), &r, 0),
		  NO_WRITE);
	OK(dat_ep_post_rdma_write(ep_a, 1, &t, cookie(2), &r, 0));
	completes(a.req, ep_a, 2, DAT_DTO_SUCCESS);
	/* mt:T30: what was asked for counts, not what the device needed */
	extra_lmr(&a, a.pz, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &t, NULL);
	CHECK_RET(dat_ep_post_recv(ep_a, 1, &t, cookie(1), 0), NO_WRITE);
	/* ... but every LMR can be a source */
	OK(post_recv(&b, ep_b, 0, 64, 4));
	OK(dat_ep_post_send(ep_a, 1, &t, cookie(5), 0));
	completes(b.recv, ep_b, 4, DAT_DTO_SUCCESS);
	completes(a.req, ep_a, 5, DAT_DTO_SUCCESS);
	OK(dat_ep_post_rdma_write(ep_a, 1, &t, cookie(6), &r, 0));
	completes(a.req, ep_a, 6, DAT_DTO_SUCCESS);
	/* mt:T35: a read needs no remote right on its sink */
	extra_lmr(&a, a.pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &t, NULL);
	OK(dat_ep_post_rdma_read(ep_a, 1, &t, cookie(3), &r, 0));
	completes(a.req, ep_a, 3, DAT_DTO_SUCCESS);
	is_state(ep_a, DAT_EP_STATE_CONNECTED);
}

/* The peer's rights: REMOTE_ACCESS here, both connections broken. */
static void refused_by_peer(DAT_MEM_PRIV_FLAGS privileges, bool read,
			    bool freed)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT rmr;

	connected(&ep_a, &ep_b);
	lmr = extra_lmr(&b, b.pz, privileges, &t, &rmr);
	r = remote(&b, 0, 64);
	r.rmr_context = rmr;
	if (freed)
		OK(dat_lmr_free(lmr));
	memset(b.mem, 0x33, 64);
	OK(post_recv(&a, ep_a, 0, 64, 5));
	OK(post_recv(&b, ep_b, 1000, 64, 6));
	if (read)
		OK(post_read(&a, ep_a, 0, &r, 64, 1, 0));
	else
		OK(post_write(&a, ep_a, 0, &r, 64, 1, 0));
	OK(post_send(&a, ep_a, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	completes(a.req, ep_a, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	completes(a.req, ep_a, 2, DAT_DTO_ERR_FLUSHED);
	completes(a.recv, ep_a, 5, DAT_DTO_ERR_FLUSHED);
	next_of(a.conn, DAT_CONNECTION_EVENT_BROKEN, ep_a);
	completes(b.recv, ep_b, 6, DAT_DTO_ERR_FLUSHED);
	next_of(b.conn, DAT_CONNECTION_EVENT_BROKEN, ep_b);
	is_state(ep_a, DAT_EP_STATE_DISCONNECTED);
	is_state(ep_b, DAT_EP_STATE_DISCONNECTED);
	CHECK_EQ(b.mem[0], 0x33);
	if (!freed)
		OK(dat_lmr_free(lmr));
	OK(dat_ep_free(ep_a));
	OK(dat_ep_free(ep_b));
}

static void remote_rights(void)
{
	rig_both();
	refused_by_peer(DAT_MEM_PRIV_REMOTE_READ_FLAG, false, false);
	refused_by_peer(DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
			DAT_MEM_PRIV_LOCAL_WRITE_FLAG, true, false);
	refused_by_peer(DAT_MEM_PRIV_ALL_FLAG, false, true);
	refused_by_peer(DAT_MEM_PRIV_ALL_FLAG, true, true);
	no_event(a.conn);
	no_event(b.conn);
}

static void freed_lmr(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data;
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_TRIPLET t;
	DAT_LMR_HANDLE lmr;
	DAT_EVENT event;

	rig_both();
	connected(&ep_a, &ep_b);
	lmr = extra_lmr(&a, a.pz, DAT_MEM_PRIV_ALL_FLAG, &t, NULL);
	OK(dat_lmr_free(lmr));
	CHECK_RET(dat_ep_post_send(ep_a, 1, &t, cookie(1), 0), NOT_MINE_READ);
	is_state(ep_a, DAT_EP_STATE_CONNECTED);

	/* L6: a receive over it fails when a message needs it */
	lmr = extra_lmr(&b, b.pz, DAT_MEM_PRIV_ALL_FLAG, &t, NULL);
	OK(dat_ep_post_recv(ep_b, 1, &t, cookie(2), 0));
	OK(dat_lmr_free(lmr));
	memset(b.mem, 0x44, 64);
	OK(post_send(&a, ep_a, 0, 64, 3, 0));
	event = next_event(b.recv, DAT_DTO_COMPLETION_EVENT);
	data = &event.event_data.dto_completion_event_data;
	CHECK_EQ(data->user_cookie.as_64, 2);
	CHECK(data->status != DAT_DTO_SUCCESS);
	CHECK_EQ(data->transfered_length, 0);
	next_of(b.conn, DAT_CONNECTION_EVENT_BROKEN, ep_b);
	CHECK_EQ(b.mem[0], 0x44);
}

static void too_long(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EVENT event;

	rig_both();
	connected(&ep_a, &ep_b);
	OK(post_recv(&b, ep_b, 0, 32, 1));
	OK(post_send(&a, ep_a, 0, 64, 2, 0));
	event = next_event(b.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_SUCCESS);
	CHECK(event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_ERR_FLUSHED);
	next_of(b.conn, DAT_CONNECTION_EVENT_BROKEN, ep_b);
	event = next_event(a.req, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_SUCCESS);
	next_of(a.conn, DAT_CONNECTION_EVENT_BROKEN, ep_a);
}

/* D18: the drain fails, and yet it is DISCONNECTED. */
static void drain_fails(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;

	rig_both();
	connected(&ep_a, &ep_b);
	r = remote(&b, 0, 64);
	r.rmr_context ^= 0x55;
	/* Held up by a send that nobody receives yet. */
	OK(post_send(&a, ep_a, 0, 8, 0, 0));
	OK(post_write(&a, ep_a, 0, &r, 64, 1, 0));
	OK(post_send(&a, ep_a, 0, 8, 2, 0));
	OK(post_send(&a, ep_a, 0, 8, 3, 0));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	is_state(ep_a, DAT_EP_STATE_DISCONNECT_PENDING);
	OK(post_recv(&b, ep_b, 0, 64, 9));
	completes(a.req, ep_a, 0, DAT_DTO_SUCCESS);
	completes(a.req, ep_a, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	completes(a.req, ep_a, 2, DAT_DTO_ERR_FLUSHED);
	completes(a.req, ep_a, 3, DAT_DTO_ERR_FLUSHED);
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	stays_silent(a.conn);
}

static void suppressed(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	double end;
	DAT_RETURN ret;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	r = remote(&b, 0, 64);
	for (i = 0; i < 3; i++)
		OK(post_write(&a, ep_a, 0, &r, 64, i,
			      DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post_write(&a, ep_a, 0, &r, 64, 3, 0));
	completes(a.req, ep_a, 3, DAT_DTO_SUCCESS);
	no_event(a.req);

	/* mt:T15: nothing but suppressed ones, far more than slots */
	end = check_now() + 20;
	for (i = 0; i < 500; i++) {
		do {
			ret = post_write(&a, ep_a, 0, &r, 64, i,
					 DAT_COMPLETION_SUPPRESS_FLAG);
		} while (ret == FULL && check_now() < end && !usleep(100));
		OK(ret);
	}
	/* mt:T20: a failure is reported */
	r.rmr_context ^= 0x55;
	do {
		ret = post_write(&a, ep_a, 0, &r, 64, 1000,
				 DAT_COMPLETION_SUPPRESS_FLAG);
	} while (ret == FULL && check_now() < end && !usleep(100));
	OK(ret);
	completes(a.req, ep_a, 1000, DAT_DTO_ERR_REMOTE_ACCESS);
}

static void unsignalled(void)
{
	const DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_EP_HANDLE ep_a, ep_b;
	struct waiter w;
	DAT_COUNT more;
	DAT_EVENT event;

	rig_both();
	ep_a = new_ep_flags(&a, a.recv, a.req, 0, quiet);
	ep_b = new_ep(&b);
	connect_eps(ep_a, ep_b);
	/* E31: no threshold on such an EVD */
	CHECK_RET(dat_evd_wait(a.req, 0, 2, &event, &more),
		  STATE(EVD_CONFIG_NOTIFY));

	/* It completes while somebody waits, and does not wake. */
	OK(post_send(&a, ep_a, 0, 8, 1, quiet));
	start_waiter(&w, a.req, 500000, 1);
	OK(post_recv(&b, ep_b, 0, 8, 1));
	completes(b.recv, ep_b, 1, DAT_DTO_SUCCESS);
	pthread_join(w.thread, NULL);
	CHECK(w.took >= 0.5);
	/* It was there at the end (E33), or is there now. */
	if (w.ret)
		completes(a.req, ep_a, 1, DAT_DTO_SUCCESS);

	/* One that wakes hands out the quiet one before it. */
	OK(post_send(&a, ep_a, 0, 8, 2, quiet));
	OK(post_send(&a, ep_a, 0, 8, 3, 0));
	start_waiter(&w, a.req, LONG, 1);
	OK(post_recv(&b, ep_b, 0, 8, 2));
	OK(post_recv(&b, ep_b, 0, 8, 3));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.user_cookie.as_64,
		 2);
	completes(a.req, ep_a, 3, DAT_DTO_SUCCESS);

	/* mt:T28: a failure wakes */
	OK(post_send(&a, ep_a, 0, 8, 4, quiet));
	start_waiter(&w, a.req, LONG, 1);
	OK(dat_ep_disconnect(ep_b, DAT_CLOSE_ABRUPT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK(w.event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_SUCCESS);
}

/* More than the EVD's ring takes, none of which wakes anybody. */
static void fill_quietly(DAT_EP_HANDLE ep_a, DAT_EP_HANDLE ep_b)
{
	double end = check_now() + 60;
	DAT_BOOLEAN idle = DAT_FALSE;
	DAT_RETURN ret;
	int i;

	for (i = 0; i < 36; i++) {
		OK(post_recv(&b, ep_b, 0, 8, i));
		do {
			ret = post_send(&a, ep_a, 0, 8, i,
					DAT_COMPLETION_UNSIGNALLED_FLAG);
		} while (ret == FULL && check_now() < end && !usleep(100));
		OK(ret);
		completes(b.recv, ep_b, i, DAT_DTO_SUCCESS);
	}
	while (!idle && check_now() < end)
		OK(dat_ep_get_status(ep_a, NULL, NULL, &idle));
	CHECK(idle);
}

static void full_ring(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EVD_HANDLE evd, by;
	DAT_CNO_HANDLE cno;
	struct waiter w;
	int i;

	rig_both();
	OK(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_evd_create(a.ia, 8, cno, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
			  &evd));
	ep_a = new_ep_flags(&a, a.recv, evd, 0, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ep_b = new_ep(&b);
	connect_eps(ep_a, ep_b);

	fill_quietly(ep_a, ep_b);
	CHECK_RET(dat_cno_wait(cno, 0, &by), ERR2(QUEUE_EMPTY, 0));
	OK(dat_evd_post_se(evd, &event));
	OK(dat_cno_wait(cno, LONG, &by));
	CHECK(by == evd);
	/* E54: what is in the ring, and what is behind it */
	CHECK_RET(dat_evd_resize(evd, 36), STATE(EVD_IN_USE));
	for (i = 0; i < 36; i++)
		completes(evd, ep_a, i, DAT_DTO_SUCCESS);
	next_event(evd, DAT_SOFTWARE_EVENT);

	start_waiter(&w, evd, 3 * LONG, 1);
	fill_quietly(ep_a, ep_b);
	OK(dat_evd_post_se(evd, &event));
	end_waiter(&w, DAT_SUCCESS);
	CHECK(w.took < 3.0 * LONG / SECOND);
}

static void solicited(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	struct waiter w;
	DAT_COUNT more;
	DAT_EVENT event;
	bool in_time;
	int i;

	rig_both();
	ep_a = new_ep(&a);
	ep_b = new_ep_flags(&b, b.recv, b.req,
			    DAT_COMPLETION_SOLICITED_WAIT_FLAG, 0);
	connect_eps(ep_a, ep_b);
	CHECK_RET(dat_evd_wait(b.recv, 0, 2, &event, &more),
		  STATE(EVD_CONFIG_SOLICITED));
	for (i = 0; i < 6; i++)
		OK(post_recv(&b, ep_b, 0, 8, i));
	start_waiter(&w, b.recv, 500000, 1);
	OK(post_send(&a, ep_a, 0, 8, 1, 0));
	completes(a.req, ep_a, 1, DAT_DTO_SUCCESS);
	/* E33, E34: it has come before the end, and counts then. */
	in_time = pthread_tryjoin_np(w.thread, NULL);
	if (in_time)
		pthread_join(w.thread, NULL);
	CHECK(w.took >= 0.5);
	CHECK(!w.ret || !in_time);
	if (w.ret)
		completes(b.recv, ep_b, 0, DAT_DTO_SUCCESS);

	OK(post_send(&a, ep_a, 0, 8, 2, 0));
	completes(a.req, ep_a, 2, DAT_DTO_SUCCESS);
	/* E41: dequeue finds it all the same */
	for (i = 0; dat_evd_dequeue(b.recv, &event) && i < 2000; i++)
		usleep(1000);
	CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64,
		 1);

	start_waiter(&w, b.recv, LONG, 1);
	OK(post_send(&a, ep_a, 0, 8, 3, 0));
	OK(post_send(&a, ep_a, 0, 8, 4, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.user_cookie.as_64,
		 2);
	completes(b.recv, ep_b, 3, DAT_DTO_SUCCESS);

	/* a flush wakes */
	start_waiter(&w, b.recv, LONG, 1);
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_ABRUPT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.status,
		 DAT_DTO_ERR_FLUSHED);
}

static void fenced(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r, w;
	int i;

	rig_both();
	connected(&ep_a, &ep_b);
	for (i = 0; i < 20; i++) {
		/* read the place, then overwrite it: the read sees the old */
		fill(b.mem, 65536, i);
		fill(a.mem + 65536, 65536, 100 + i);
		r = remote(&b, 0, 65536);
		w = r;
		OK(post_read(&a, ep_a, 0, &r, 65536, 1, 0));
		OK(post_write(&a, ep_a, 65536, &w, 65536, 2,
			      DAT_COMPLETION_BARRIER_FENCE_FLAG));
		completes(a.req, ep_a, 1, DAT_DTO_SUCCESS);
		completes(a.req, ep_a, 2, DAT_DTO_SUCCESS);
		verify(a.mem, 65536, i);
	}
}

static void request_room(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EP_PARAM param;
	DAT_RETURN ret;
	int n = 0, i;

	rig_both();
	connected(&ep_a, &ep_b);
	OK(dat_ep_query(ep_a, DAT_EP_FIELD_ALL, &param));
	/* nobody receives, so nothing completes */
	while (!(ret = post_send(&a, ep_a, 0, 8, n, 0)) && n < 100000)
		n++;
	CHECK_RET(ret, FULL);
	CHECK(n >= param.ep_attr.max_request_dtos);
	stays_silent(a.req);
	/* mt:T51: and now they go */
	OK(post_recv(&b, ep_b, 0, 8, 0));
	completes(b.recv, ep_b, 0, DAT_DTO_SUCCESS);
	completes(a.req, ep_a, 0, DAT_DTO_SUCCESS);
	OK(post_send(&a, ep_a, 0, 8, n++, 0));
	CHECK_RET(post_send(&a, ep_a, 0, 8, n, 0), FULL);
	for (i = 1; i < n; i++) {
		OK(post_recv(&b, ep_b, 0, 8, i));
		completes(b.recv, ep_b, i, DAT_DTO_SUCCESS);
		completes(a.req, ep_a, i, DAT_DTO_SUCCESS);
	}
}

static void no_credits(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;

	rig_both();
	attr.max_rdma_read_out = 0;
	OK(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, &attr, &ep_a));
	ep_b = new_ep(&b);
	connect_eps(ep_a, ep_b);
	r = remote(&b, 0, 64);
	CHECK_RET(post_read(&a, ep_a, 0, &r, 64, 1, 0),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS));
	OK(post_write(&a, ep_a, 0, &r, 64, 2, 0));
	completes(a.req, ep_a, 2, DAT_DTO_SUCCESS);
}

/* One EVD for everything: what comes before what (E45, E46, D44). */
static void one_evd(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	int round, i;

	rig_both();
	evd = new_evd(&b, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(b.ia, b.pz, evd, evd, evd, &attr, &ep_b));
	ep_a = new_ep(&a);
	psp = listen_any(0, &qual);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 4; i++)
			OK(post_recv(&b, ep_b, 0, 8, i));
		start_connect(ep_a, qual);
		OK(dat_cr_accept(next_request(), ep_b, 0, NULL));
		next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
		OK(post_send(&a, ep_a, 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(post_send(&a, ep_a, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
		next_of(evd, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
		completes(evd, ep_b, 0, DAT_DTO_SUCCESS);
		completes(evd, ep_b, 1, DAT_DTO_SUCCESS);
		completes(evd, ep_b, 2, DAT_DTO_ERR_FLUSHED);
		completes(evd, ep_b, 3, DAT_DTO_ERR_FLUSHED);
		next_of(evd, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
		next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
		OK(dat_ep_reset(ep_a));
		OK(dat_ep_reset(ep_b));
	}
	OK(dat_psp_free(psp));
}

/* D47 mt:T11: no EVD, no completions; the transfers are done all the same. */
static void no_evds(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_RMR_TRIPLET r;
	DAT_RETURN ret;
	double end;
	int i;

	rig_both();
	OK(dat_ep_create(a.ia, a.pz, NULL, NULL, a.conn, &attr, &ep_a));
	OK(dat_ep_create(b.ia, b.pz, NULL, NULL, b.conn, &attr, &ep_b));
	connect_eps(ep_a, ep_b);
	r = remote(&b, 0, 1000);
	end = check_now() + 20;
	for (i = 0; i < 100; i++) {
		do {
			fill(a.mem, 1000, i);
			ret = post_write(&a, ep_a, 0, &r, 1000, i, 0);
		} while (ret == FULL && check_now() < end && !usleep(100));
		OK(ret);
	}
	OK(post_recv(&b, ep_b, 0, 8, 1));
	OK(dat_ep_disconnect(ep_a, DAT_CLOSE_GRACEFUL_FLAG));
	next_of(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
	verify(b.mem, 1000, 99);
}

static const struct check_case cases[] = {
	{ "D41 mt:T2 mt:T42 mt:T48 send and receive", send_receive },
	{ "mt:T3 mt:T4 mt:T33 scatter and gather", scatter_gather },
	{ "mt:T2 mt:T33 mt:T49 RDMA write and read", rdma },
	{ "mt:T7 mt:T8 after the post", after_the_post },
	{ "mt:T43 a write before a send", write_then_send },
	{ "mt:T1 mt:T2 mt:T5 mt:T6 mt:T19 mt:T21 mt:T25 mt:T34 posts: arguments", post_arguments },
	{ "mt:M2 mt:T29 mt:T30 mt:T31 mt:T35 rights and zones", rights_and_zones },
	{ "T33 D52 L7 mt:M46 mt:T32 mt:T41 mt:T52 mt:T55 remote rights", remote_rights },
	{ "L4 L6 mt:T5 mt:T48 a freed LMR", freed_lmr },
	{ "mt:T50 a message too long", too_long },
	{ "D18 E48 a drain fails", drain_fails },
	{ "mt:T15 mt:T20 mt:T24 mt:T40 suppressed completions", suppressed },
	{ "E31 E35 mt:T21 mt:T26 mt:T27 mt:T28 unsignalled completions", unsignalled },
	{ "E35 E52 E54 E76 unsignalled completions, more than the ring takes",
	  full_ring },
	{ "E31 E35 mt:T22 solicited completions", solicited },
	{ "mt:T44 a read, and a fenced write behind it", fenced },
	{ "mt:T13 mt:T14 mt:T51 room for requests", request_room },
	{ "mt:T16 no outgoing reads", no_credits },
	{ "E45 E46 D44 order on one EVD", one_evd },
	{ "D47 mt:T11 no EVDs", no_evds },
};

SET(transfer_set);
