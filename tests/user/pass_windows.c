// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RMRs by memory windows of verbs (udapl-shim/pass_rmr.c), from the inside, with the device
 * of pass_rig.h. Soft-RoCE, whose windows are too wide, does not get to use them.
 */
#include "pass_rig.h"

/* ---- windows of the device ---------------------------------------------------------- */

/* The window that was made last, how many there are, and the last bind. */
static struct ibv_mw window;
static int nr_windows;
static bool no_windows;
static int bind_error;	/* as libibverbs: positive */
static struct ibv_mw_bind bound;

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	if (no_windows)
		return NULL;
	window = (struct ibv_mw) {
		.context = pd->context,
		.pd = pd,
		.rkey = window.rkey + 0x100,
		.type = type,
	};
	nr_windows++;
	return &window;
}

/* What the device answers that is to let go of something; as libibverbs: positive */
static int keeps;

static int dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	nr_windows -= !keeps;
	return keeps;
}

static int bind_mw(struct ibv_qp *to, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int err = bind_error;

	(void)to;
	if (err)
		return err;
	bound = *bind;
	mw->rkey = ibv_inc_rkey(mw->rkey);
	on_queue[PASS_REQ][nr_queue[PASS_REQ]++] = bind->wr_id;
	return 0;
}

/* In the place of libibverbs' */
static struct ibv_mr registered;
static int nr_registered;
static void (*while_registering)(void);

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	(void)iova;
	(void)access;
	if (while_registering)
		while_registering();
	registered = (struct ibv_mr) {
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.rkey = registered.rkey + 1,
	};
	nr_registered++;
	return &registered;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	nr_registered -= !keeps;
	return keeps;
}

/* ---- a window on an LMR -------------------------------------------------------------- */

#define LMR_CONTEXT	((uint32_t)sizeof(struct pass_lmr) + 3)	/* of the first entry */

static uint8_t memory[1000];
static struct ibv_pd pd = { .context = &device };
static struct ibv_mr region = { .context = &device, .pd = &pd, .lkey = 5, .rkey = 5 };
static struct pass_pz zone = { .pd = &pd };
static DAT_RMR_HANDLE rmr;

/* Connected, and with an RMR. */
static void window_setup(void)
{
	struct shim_object *pz;

	setup();
	connected();
	expect_connection(DAT_CONNECTION_EVENT_ESTABLISHED);
	pz = shim_object_get(++token, SHIM_PZ, ia, NULL);
	zone.obj = pz;
	pz->pass = &zone;
	pass_lmrs[1] = (struct pass_lmr) {
		.context = LMR_CONTEXT,
		.start = (uintptr_t)memory,
		.length = sizeof(memory),
		.lkey = 5,
		.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		.pz = &zone,
		.ia = ia,
		.mr = &region,
	};
	pia->windows = true;
	ep->binds = true;
	ep->dir[PASS_REQ].pz = &zone;
	nr_windows = 0;
	nr_registered = 0;
	keeps = 0;
	no_windows = false;
	bind_error = 0;
	device.ops.alloc_mw = alloc_mw;
	device.ops.dealloc_mw = dealloc_mw;
	device.ops.bind_mw = bind_mw;
	OK(dat_rmr_create(pz, &rmr));
	CHECK_EQ(nr_windows, 1);
	CHECK_EQ(window.type, IBV_MW_TYPE_1);
}

/* @length: 0: an unbind. Return: as dat_rmr_bind(). */
static DAT_RETURN bind_post(uint64_t cookie, uint64_t length, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = LMR_CONTEXT,
		.virtual_address = (uintptr_t)memory + 5,
		.segment_length = length,
	};

	return dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep_obj,
			    (DAT_RMR_COOKIE) { .as_64 = cookie },
			    DAT_COMPLETION_DEFAULT_FLAG, context);
}

static void expect_bound(uint64_t cookie, uint32_t status)
{
	DAT_EVENT event;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event.event_data.rmr_completion_event_data;

	OK(dat_evd_dequeue(evd_obj, &event));
	CHECK_EQ(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK_EQ(bind->user_cookie.as_64, cookie);
	CHECK_EQ(bind->status, status);
}

/* @context: 0: it is unbound. @users: what keeps the LMR from being freed */
static void shows(DAT_RMR_CONTEXT rmr_context, int users)
{
	DAT_RMR_PARAM param;

	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(param.rmr_context, rmr_context);
	CHECK_EQ(!param.lmr_triplet.lmr_context, !rmr_context);
	CHECK_EQ(pass_lmrs[1].users, users);
}

/* ---- cases --------------------------------------------------------------------------- */

static void case_window(void)
{
	DAT_RMR_CONTEXT first, second, none = 7;

	window_setup();
	OK(bind_post(1, 100, &first));
	CHECK_EQ(nr_queue[PASS_REQ], 1);
	CHECK_EQ(bound.send_flags, IBV_SEND_SIGNALED);
	CHECK(bound.bind_info.mr == &region);
	CHECK_EQ(bound.bind_info.addr, (uintptr_t)memory + 5);
	CHECK_EQ(bound.bind_info.length, 100);
	CHECK_EQ(bound.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(first, window.rkey);
	shows(0, 1);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	shows(first, 1);
	expect_bound(1, DAT_DTO_SUCCESS);

	/* The device takes the former key back, so the window stays. */
	OK(bind_post(2, 200, &second));
	CHECK(second != first);
	shows(first, 2);
	CHECK_RET(bind_post(3, 200, &none),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	shows(second, 1);
	CHECK_EQ(nr_windows, 1);
	expect_bound(2, DAT_DTO_SUCCESS);

	OK(bind_post(4, 0, &none));
	CHECK_EQ(none, 0);
	CHECK_EQ(bound.bind_info.length, 0);
	CHECK_EQ(bound.bind_info.mw_access_flags, 0);
	shows(second, 1);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	shows(0, 0);
	expect_bound(4, DAT_DTO_SUCCESS);
	/* Of what is not bound, there is nothing to take back. */
	OK(bind_post(5, 0, &none));
	CHECK_EQ(bound.wr_id == on_queue[PASS_REQ][0], false);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(5, DAT_DTO_SUCCESS);
	OK(bind_post(6, 100, &none));
	CHECK(none != first && none != second);
	CHECK_EQ(nr_windows, 1);
}

/* Nobody knows what the device has done. */
static void window_lost(enum ibv_wc_status status, uint32_t dto)
{
	DAT_RMR_CONTEXT context;

	window_setup();
	OK(bind_post(1, 100, &context));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	OK(bind_post(2, 100, &context));
	complete(PASS_REQ, status, 0);
	expect_bound(2, dto);
	shows(0, 0);
	CHECK_EQ(nr_windows, 0);
}

static void case_window_lost(void)
{
	window_lost(IBV_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED);
	window_lost(IBV_WC_MW_BIND_ERR, DAT_RMR_OPERATION_FAILED);
}

static void case_window_refused(void)
{
	DAT_RMR_CONTEXT context, none;

	window_setup();
	OK(bind_post(1, 100, &context));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	bind_error = EINVAL;
	CHECK_RET(bind_post(2, 100, &none), ERR2(INTERNAL_ERROR, DAT_NO_SUBTYPE));
	bind_error = ENOMEM;
	CHECK_RET(bind_post(2, 100, &none),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	shows(context, 1);
	CHECK_EQ(nr_windows, 1);
	expect_nothing();
}

/* The device knows of the end before the board shows it. */
static void case_window_late(void)
{
	DAT_RMR_CONTEXT none;

	window_setup();
	bind_error = EINVAL;
	board.state = DAT_EP_STATE_DISCONNECT_PENDING;
	OK(bind_post(1, 100, &none));
	CHECK_EQ(none, 0);
	shows(0, 0);
	expect_nothing();
	disconnected();
	ep->dir[PASS_REQ].qp = NULL;
	ep->dir[PASS_RECV].qp = NULL;
	expect_connection(DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_bound(1, DAT_DTO_ERR_FLUSHED);
}

/* One bind or unbind, from post to event */
static DAT_RMR_CONTEXT bind_now(uint64_t length)
{
	DAT_RMR_CONTEXT context;

	OK(bind_post(1, length, &context));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	return context;
}

/* Unbinds use keys, too. */
static void case_keys(void)
{
	DAT_RMR_CONTEXT seen[600];
	uint32_t first;
	int i, j;

	window_setup();
	first = window.rkey;
	for (i = 0; i < 600; i++) {
		seen[i] = bind_now(100);
		for (j = i < 255 ? 0 : i - 255; j < i; j++)
			CHECK(seen[i] != seen[j]);
		CHECK_EQ(nr_windows + nr_registered, 1);
		if (i % 7 == 6)
			bind_now(0);
	}
	CHECK(window.rkey - first > 0x100);
	OK(dat_rmr_free(rmr));
	CHECK_EQ(nr_windows + nr_registered, 0);
	CHECK_EQ(pass_lmrs[1].users, 0);
}

/* The device has no window, or none for this LMR. */
static void case_no_window(void)
{
	window_setup();
	CHECK_EQ(bind_now(100), window.rkey);
	pass_lmrs[1].privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	CHECK_EQ(bind_now(50), registered.rkey);
	CHECK(registered.addr == memory + 5);
	CHECK_EQ(registered.length, 50);
	CHECK_EQ(nr_windows, 0);
	no_windows = true;
	pass_lmrs[1].privileges |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	CHECK_EQ(bind_now(60), registered.rkey);
	CHECK_EQ(nr_registered, 1);
	no_windows = false;
	CHECK_EQ(bind_now(70), window.rkey);
	CHECK_EQ(nr_registered, 0);
	shows(window.rkey, 1);
}

/* Another IA's LMR may go with its zone at any time: nobody looks there. */
static void case_zone_gone(void)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = LMR_CONTEXT,
		.virtual_address = (uintptr_t)memory,
		.segment_length = 1,
	};
	struct pass_pz *const nowhere = (struct pass_pz *)64;
	DAT_RMR_CONTEXT context;

	window_setup();
	OK(dat_lmr_sync_rdma_read(ia, &segment, 1));
	pass_lmrs[1].ia = NULL;
	pass_lmrs[1].pz = nowhere;
	CHECK_RET(dat_lmr_sync_rdma_read(ia, &segment, 1), ARG(2));
	CHECK_RET(bind_post(1, 1, &context), ARG(2));
}

static DAT_LMR_HANDLE source;

static void free_source(void)
{
	while_registering = NULL;
	OK(dat_lmr_free(source));
}

/* Only where its memory is was asked of it. */
static void case_source_freed(void)
{
	const DAT_MEM_PRIV_FLAGS rights = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	DAT_REGION_DESCRIPTION region_of_source = { .for_va = memory }, over;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;

	window_setup();
	pia->max_region = sizeof(memory);
	OK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region_of_source, 100, zone.obj, rights,
			  &source, &context, &rmr_context, &size, &address));
	over.for_lmr_handle = source;
	while_registering = free_source;
	OK(dat_lmr_create(ia, DAT_MEM_TYPE_LMR, over, 1, zone.obj, rights, &lmr, &context,
			  &rmr_context, &size, &address));
	CHECK(!while_registering);
	CHECK_EQ(address, (uintptr_t)memory);
	CHECK_EQ(size, 100);
	OK(dat_lmr_free(lmr));
	CHECK_EQ(nr_registered, 0);
}

static void case_window_freed(void)
{
	DAT_RMR_CONTEXT context;

	window_setup();
	OK(bind_post(1, 100, &context));
	OK(dat_rmr_free(rmr));
	CHECK_EQ(nr_windows, 1);
	CHECK_EQ(pass_lmrs[1].users, 1);
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	CHECK_EQ(nr_windows, 0);
	CHECK_EQ(pass_lmrs[1].users, 0);
	/* Without one it is at once. */
	window_setup();
	bind_now(100);
	OK(dat_rmr_free(rmr));
	CHECK_EQ(nr_windows, 0);
	CHECK_EQ(pass_lmrs[1].users, 0);
}

/* Makes an LMR over @memory, and returns its context. */
static DAT_LMR_CONTEXT lmr_new(DAT_LMR_HANDLE *lmr)
{
	const DAT_REGION_DESCRIPTION region_of = { .for_va = memory };
	DAT_LMR_CONTEXT context;

	OK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region_of, 100, zone.obj,
			  DAT_MEM_PRIV_LOCAL_READ_FLAG, lmr, &context, NULL, NULL, NULL));
	return context;
}

static DAT_RETURN send_from(DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = context,
		.virtual_address = (uintptr_t)memory,
		.segment_length = 1,
	};

	return dat_ep_post_send(ep_obj, 1, &segment, (DAT_DTO_COOKIE) { .as_64 = 1 }, 0);
}

/* A free that the device refuses has changed nothing (E2). */
static void case_lmr_kept(void)
{
	DAT_LMR_CONTEXT context, after;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	window_setup();
	pia->max_region = sizeof(memory);
	context = lmr_new(&lmr);
	keeps = EBUSY;
	CHECK_RET(dat_lmr_free(lmr), STATE(LMR_IN_USE));
	keeps = EINVAL;
	CHECK_RET(dat_lmr_free(lmr), ERR2(INTERNAL_ERROR, 0));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.lmr_context, context);
	OK(send_from(context));
	keeps = 0;
	OK(dat_lmr_free(lmr));
	CHECK_EQ(nr_registered, 0);
	CHECK_RET(send_from(context), ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ));

	/* With its device everything has gone. */
	after = lmr_new(&lmr);
	CHECK(after != context);
	keeps = EIO;
	OK(dat_lmr_free(lmr));
	CHECK_RET(send_from(after), ERR2(PROTECTION_VIOLATION, DAT_PROTECTION_READ));
}

/* What peers may still have access to must not be freed. */
static void case_binding_kept(void)
{
	DAT_RMR_CONTEXT context, none;

	window_setup();
	OK(bind_post(1, 100, &context));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	keeps = EBUSY;
	OK(dat_rmr_free(rmr));
	CHECK_EQ(nr_windows, 1);
	CHECK_EQ(pass_lmrs[1].users, 1);

	window_setup();
	no_windows = true;
	pia->windows = false;
	OK(bind_post(1, 100, &context));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(1, DAT_DTO_SUCCESS);
	CHECK_EQ(nr_registered, 1);
	keeps = EINVAL;
	OK(bind_post(2, 0, &none));
	complete(PASS_REQ, IBV_WC_SUCCESS, 0);
	expect_bound(2, DAT_DTO_SUCCESS);
	shows(0, 1);
}

/*
 * An application that makes and frees an LMR again and again. What it posts with the context of
 * the first one must not become a post with another.
 */
static void case_context_not_again(void)
{
	const DAT_REGION_DESCRIPTION region_of = { .for_va = memory };
	DAT_LMR_CONTEXT first = 0, context;
	DAT_LMR_HANDLE lmr;
	unsigned int i;

	window_setup();
	pia->max_region = sizeof(memory);
	for (i = 0; i < 100000; i++) {
		OK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region_of, 100, zone.obj,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &context, NULL, NULL,
				  NULL));
		CHECK(i == 0 || context != first);
		if (!i)
			first = context;
		OK(dat_lmr_free(lmr));
	}
}

static const struct check_case cases[] = {
	{ "mt:M35 mt:M37 mt:M40 mt:M41 mt:M45 mt:M47 a window of verbs", case_window },
	{ "mt:M40 a bind that fails or is flushed takes the window away", case_window_lost },
	{ "a bind that the device refuses changes nothing", case_window_refused },
	{ "D46 a bind that the device refuses because the end is near", case_window_late },
	{ "mt:M36 a window has 256 keys", case_keys },
	{ "a region where there is no window", case_no_window },
	{ "mt:M29 mt:M67 an LMR of another IA, whose zone may be gone", case_zone_gone },
	{ "L2 mt:M7 an LMR is freed while another one is made over it", case_source_freed },
	{ "mt:M44 an RMR is freed while its bind is outstanding", case_window_freed },
	{ "E2 a device that does not let go of an LMR", case_lmr_kept },
	{ "mt:M22 a device that does not let go of a binding", case_binding_kept },
	{ "mt:M27 RULING 54 the context of a freed LMR", case_context_not_again },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
