// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_args: bad input to every operation of core.h.  Each gets the
 * exact code (class, type, subtype) that its rule names, and changes nothing:
 * no object, nothing at the device, no event, no state (E2).
 *
 * Where several things are wrong, the order of checks decides (E3, RULING 35).
 */
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "core/lmr.h"
#include "fake_device.h"

#define CODE(type)	DAT_ERROR(type, DAT_NO_SUBTYPE)
#define FOREVER		DAT_TIMEOUT_INFINITE
#define QOS		DAT_QOS_BEST_EFFORT

/* The objects of one adapter. */
struct set {
	struct kdapl_space *space;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
};

/*
 * @here: the bench's adapter; @ep is unconnected, @cr a pending request of @psp
 * @other: another adapter of the same space
 * @foreign: of another space
 * @dead: an object of each type, freed
 * @there: the other space
 * @out, @made, @provider, @buf: room for whatever a call returns
 */
struct args {
	struct bench *b;
	struct set here;
	struct set other;
	struct set foreign;
	DAT_HANDLE dead[KDAPL_NR_TYPES];
	struct kdapl_space there;
	union {
		DAT_HANDLE handle;
		DAT_IA_ATTR ia;
		DAT_PZ_PARAM pz;
		DAT_LMR_PARAM lmr;
		DAT_EVD_PARAM evd;
		DAT_EP_PARAM ep;
		DAT_PSP_PARAM psp;
		DAT_RSP_PARAM rsp;
		DAT_CR_PARAM cr;
		DAT_EVENT event;
		DAT_CONN_QUAL qual;
		DAT_CONTEXT context;
		DAT_HANDLE_TYPE type;
		DAT_EP_STATE state;
		DAT_VLEN length;
		u32 count;
	} out;
	DAT_HANDLE made;
	DAT_PROVIDER_ATTR provider;
	u8 buf[KDAPL_REP_PRIVATE_DATA];
};

static DAT_HANDLE live(const struct set *set, enum kdapl_type type)
{
	switch (type) {
	case KDAPL_IA:
		return set->ia;
	case KDAPL_PZ:
		return set->pz;
	case KDAPL_LMR:
		return set->lmr;
	case KDAPL_EVD:
		return set->evd;
	case KDAPL_EP:
		return set->ep;
	case KDAPL_PSP:
		return set->psp;
	case KDAPL_RSP:
		return set->rsp;
	case KDAPL_CR:
		return set->cr;
	default:
		return DAT_HANDLE_NULL;
	}
}

/* ---- fixture ------------------------------------------------------------------ */

static DAT_EVENT request_at(struct args *a, struct set *set, u16 port)
{
	DAT_EVENT event = {};

	KUNIT_EXPECT_EQ(a->b->test, 0,
			fake_request(a->b->fake, port, "data", 4, NULL));
	KUNIT_EXPECT_EQ(a->b->test, DONE,
			kdapl_evd_dequeue(set->space, set->evd, &event));
	return event;
}

/* Everything but adapter, zone, EVD and LMR, which the caller made. */
static bool fill_set(struct args *a, struct set *set, u16 port)
{
	struct kdapl_space *s = set->space;
	DAT_EVENT event;

	if (kdapl_ep_create(s, set->ia, set->pz, set->evd, set->evd, set->evd,
			    NULL, &set->ep) ||
	    kdapl_psp_create(s, set->ia, port, set->evd, DAT_PSP_CONSUMER_FLAG,
			     &set->psp) ||
	    kdapl_rsp_create(s, set->ia, port + 1, DAT_HANDLE_NULL, set->evd,
			     &set->rsp))
		return false;
	event = request_at(a, set, port);
	set->cr = event.event_data.cr_arrival_event_data.cr_handle;
	return true;
}

static bool make_set(struct args *a, struct set *set, struct kdapl_space *s,
		     u16 port)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a->b->memory };

	set->space = s;
	return !kdapl_ia_open(s, "fake-1", 4, &set->async, 1, 2, DAT_TRUE,
			      &set->ia) &&
	       !kdapl_pz_create(s, set->ia, &set->pz) &&
	       !kdapl_evd_create(s, set->ia, 16, BENCH_EVD_FLAGS |
				 DAT_EVD_SOFTWARE_FLAG, &set->evd) &&
	       !kdapl_lmr_create(s, set->ia, DAT_MEM_TYPE_VIRTUAL, region,
				 PAGE_SIZE, set->pz, DAT_MEM_PRIV_ALL_FLAG,
				 DAT_MEM_OPTIMIZE_DONT_CARE, &set->lmr, NULL,
				 NULL, NULL, NULL) &&
	       fill_set(a, set, port);
}

/* One of each type, freed again; the newest handles of their slots. */
static bool bury(struct args *a, u16 port)
{
	struct set dead = { .async = DAT_HANDLE_NULL };
	struct kdapl_space *s = &a->b->space;
	bool ok = make_set(a, &dead, s, port);
	int type;

	for (type = KDAPL_IA; type < KDAPL_NR_TYPES; type++)
		a->dead[type] = live(&dead, type);
	ok = ok && !kdapl_cr_reject(s, dead.cr) &&
	     !kdapl_psp_free(s, dead.psp) && !kdapl_rsp_free(s, dead.rsp) &&
	     !kdapl_ep_free(s, dead.ep) && !kdapl_lmr_free(s, dead.lmr) &&
	     !kdapl_evd_free(s, dead.evd) && !kdapl_pz_free(s, dead.pz) &&
	     !kdapl_ia_close(s, dead.ia, DAT_CLOSE_GRACEFUL_FLAG);
	return ok;
}

/* So that no handle of the other space is one of this space by chance. */
static bool shift_slots(struct args *a)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;
	int i;

	if (kdapl_ia_open(&a->there, "fake-1", 1, &async, 1, 2, DAT_TRUE, &ia))
		return false;
	for (i = 0; i < 100; i++)
		if (kdapl_pz_create(&a->there, ia, &pz))
			return false;
	return true;
}

static int args_init(struct kunit *test)
{
	struct args *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	int ret = bench_init(test);

	if (!a || ret)
		return ret ?: -ENOMEM;
	a->b = test->priv;
	a->b->more = a;
	a->here.space = &a->b->space;
	a->here.ia = a->b->ia;
	a->here.async = a->b->async;
	a->here.pz = a->b->pz;
	a->here.evd = a->b->evd;
	a->here.lmr = a->b->lmr;
	kdapl_space_init(&a->there, &init_net, NULL, 1000);
	if (fill_set(a, &a->here, 6000) &&
	    make_set(a, &a->other, &a->b->space, 6010) &&
	    shift_slots(a) && make_set(a, &a->foreign, &a->there, 6020) &&
	    bury(a, 6030))
		return 0;
	return -EIO;
}

static void args_exit(struct kunit *test)
{
	struct bench *b = test->priv;
	struct args *a = b ? b->more : NULL;

	if (a) {
		kdapl_ia_close_all(&a->there);
		kdapl_space_destroy(&a->there);
	}
	bench_exit(test);
}

static struct args *args_of(struct kunit *test)
{
	struct bench *b = test->priv;

	return b->more;
}

/* What a refused call must leave as it was. */
struct snapshot {
	u32 objects, cqs, zones, regions, qps, ids;
	u32 posted, held, fifo;
	int pz_users, evd_users;
	u8 state;
};

static u32 length_of(struct list_head *list)
{
	struct list_head *p;
	u32 n = 0;

	list_for_each(p, list)
		n++;
	return n;
}

static struct snapshot look(struct args *a)
{
	struct fake_device *fake = a->b->fake;
	struct kdapl_ep *ep = kdapl_ep_find(&a->b->space, a->here.ep);
	struct kdapl_evd *evd = kdapl_evd_find(&a->b->space, a->here.evd);
	struct kdapl_pz *pz = kdapl_pz_find(&a->b->space, a->here.pz);
	struct snapshot s = {
		.objects = a->b->space.nr_objects,
		.cqs = fake->nr_cqs,
		.zones = fake->nr_zones,
		.regions = fake->nr_regions,
		.qps = length_of(&fake->qps),
		.ids = length_of(&fake->ids),
	};

	if (ep) {
		s.state = ep->state;
		s.posted = ep->req.posted + ep->recv.posted;
		s.held = ep->recv.held;
		kdapl_object_put(&ep->obj);
	}
	if (evd) {
		s.fifo = evd->nr_fifo;
		s.evd_users = atomic_read(&evd->obj.users);
		kdapl_evd_put(evd);
	}
	if (pz) {
		s.pz_users = atomic_read(&pz->obj.users);
		kdapl_object_put(&pz->obj);
	}
	return s;
}

static void expect_unchanged(struct args *a, const struct snapshot *before,
			     const char *what)
{
	struct snapshot after = look(a);
	struct kunit *test = a->b->test;

	KUNIT_EXPECT_EQ_MSG(test, before->objects, after.objects, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->cqs, after.cqs, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->zones, after.zones, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->regions, after.regions, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->qps, after.qps, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->ids, after.ids, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->posted, after.posted, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->held, after.held, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->fifo, after.fifo, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->pz_users, after.pz_users, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, before->evd_users, after.evd_users, "%s",
			    what);
	KUNIT_EXPECT_EQ_MSG(test, before->state, after.state, "%s", what);
}

/* @call is refused with @code, and nothing changed. */
#define REFUSED(code, call)						\
do {									\
	struct snapshot before = look(a);				\
									\
	KUNIT_EXPECT_EQ(test, (DAT_RETURN)(code), call);		\
	expect_unchanged(a, &before, #call);				\
} while (0)

/* ---- handles ------------------------------------------------------------------- */

static const struct sockaddr *peer_address(void)
{
	return (const struct sockaddr *)&fake_peer;
}

static const DAT_DTO_COOKIE no_cookie;
static const DAT_RMR_TRIPLET no_remote;

/* One argument of one call each. */
enum call {
	CALL_IA_CLOSE,
	CALL_IA_QUERY,
	CALL_PZ_CREATE,
	CALL_PZ_QUERY,
	CALL_PZ_FREE,
	CALL_LMR_CREATE_IA,
	CALL_LMR_CREATE_PZ,
	CALL_LMR_CREATE_LMR,
	CALL_LMR_QUERY,
	CALL_LMR_FREE,
	CALL_LMR_SYNC,
	CALL_MEMTYPE_HINT,
	CALL_EVD_CREATE,
	CALL_EVD_QUERY,
	CALL_EVD_RESIZE,
	CALL_EVD_FREE,
	CALL_EVD_DEQUEUE,
	CALL_EP_CREATE_IA,
	CALL_EP_CREATE_PZ,
	CALL_EP_CREATE_RECV,
	CALL_EP_CREATE_REQUEST,
	CALL_EP_CREATE_CONNECT,
	CALL_EP_QUERY,
	CALL_EP_MODIFY,
	CALL_EP_STATUS,
	CALL_EP_CONNECT,
	CALL_EP_DUP_CONNECT,
	CALL_EP_DUP_SOURCE,
	CALL_EP_DISCONNECT,
	CALL_EP_RESET,
	CALL_EP_FREE,
	CALL_EP_PRIVATE_DATA,
	CALL_POST_SEND,
	CALL_POST_RECV,
	CALL_POST_READ,
	CALL_POST_WRITE,
	CALL_MODIFY_PZ,
	CALL_MODIFY_RECV,
	CALL_MODIFY_REQUEST,
	CALL_MODIFY_CONNECT,
	CALL_PSP_CREATE_IA,
	CALL_PSP_CREATE_EVD,
	CALL_PSP_ANY_IA,
	CALL_PSP_ANY_EVD,
	CALL_PSP_QUERY,
	CALL_PSP_FREE,
	CALL_RSP_CREATE_IA,
	CALL_RSP_CREATE_EP,
	CALL_RSP_CREATE_EVD,
	CALL_RSP_QUERY,
	CALL_RSP_FREE,
	CALL_CR_QUERY,
	CALL_CR_ACCEPT,
	CALL_CR_ACCEPT_EP,
	CALL_CR_REJECT,
	CALL_EVD_POST_SE,
	CALL_IA_OPEN_ASYNC,
};

static DAT_RETURN lmr_create(struct args *a, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			     DAT_MEM_TYPE type, DAT_LMR_HANDLE source,
			     DAT_VLEN length, u32 privileges, u32 hint,
			     DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a->b->memory };

	if (type == DAT_MEM_TYPE_LMR)
		region.for_lmr_handle = source;
	return kdapl_lmr_create(&a->b->space, ia, type, region, length, pz,
				privileges, hint, lmr, NULL, NULL, NULL, NULL);
}

static DAT_RETURN evd_post_se(struct args *a, DAT_HANDLE x)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	return kdapl_evd_post_se(&a->b->space, x, &event);
}

static DAT_RETURN modify_one(struct args *a, DAT_EP_PARAM_MASK mask,
			     DAT_HANDLE x)
{
	DAT_EP_PARAM param = {
		.pz_handle = x,
		.recv_evd_handle = x,
		.request_evd_handle = x,
		.connect_evd_handle = x,
	};

	return kdapl_ep_modify(&a->b->space, a->here.ep, mask, &param);
}

static DAT_RETURN open_async(struct args *a, DAT_HANDLE x)
{
	DAT_EVD_HANDLE async = x;

	return kdapl_ia_open(&a->b->space, "fake-1", 4, &async, 1, 2, DAT_TRUE,
			     &a->out.handle);
}

/* Makes a call with @x for the handle in question; everything else is good. */
static DAT_RETURN call_with(struct args *a, enum call which, DAT_HANDLE x)
{
	struct kdapl_space *s = &a->b->space;
	struct set *h = &a->here;

	switch (which) {
	case CALL_IA_CLOSE:
		return kdapl_ia_close(s, x, DAT_CLOSE_ABRUPT_FLAG);
	case CALL_IA_QUERY:
		return kdapl_ia_query(s, x, &h->async, DAT_IA_FIELD_ALL,
				      &a->out.ia, DAT_PROVIDER_FIELD_ALL,
				      &a->provider);
	case CALL_PZ_CREATE:
		return kdapl_pz_create(s, x, &a->out.handle);
	case CALL_PZ_QUERY:
		return kdapl_pz_query(s, x, DAT_PZ_FIELD_ALL, &a->out.pz);
	case CALL_PZ_FREE:
		return kdapl_pz_free(s, x);
	case CALL_LMR_CREATE_IA:
		return lmr_create(a, x, h->pz, DAT_MEM_TYPE_VIRTUAL, NULL, 64,
				  0, 0, &a->out.handle);
	case CALL_LMR_CREATE_PZ:
		return lmr_create(a, h->ia, x, DAT_MEM_TYPE_VIRTUAL, NULL, 64,
				  0, 0, &a->out.handle);
	case CALL_LMR_CREATE_LMR:
		return lmr_create(a, h->ia, h->pz, DAT_MEM_TYPE_LMR, x, 64, 0,
				  0, &a->out.handle);
	case CALL_LMR_QUERY:
		return kdapl_lmr_query(s, x, DAT_LMR_FIELD_ALL, &a->out.lmr);
	case CALL_LMR_FREE:
		return kdapl_lmr_free(s, x);
	case CALL_LMR_SYNC:
		return kdapl_lmr_sync(s, x, NULL, 0, true);
	case CALL_MEMTYPE_HINT:
		return kdapl_memtype_hint(s, x, DAT_MEM_TYPE_VIRTUAL, 64, 0,
					  &a->out.length, NULL);
	case CALL_EVD_CREATE:
		return kdapl_evd_create(s, x, 4, DAT_EVD_DTO_FLAG,
					&a->out.handle);
	case CALL_EVD_QUERY:
		return kdapl_evd_query(s, x, DAT_EVD_FIELD_ALL, &a->out.evd);
	case CALL_EVD_RESIZE:
		return kdapl_evd_resize(s, x, 100);
	case CALL_EVD_FREE:
		return kdapl_evd_free(s, x);
	case CALL_EVD_DEQUEUE:
		return kdapl_evd_dequeue(s, x, &a->out.event);
	case CALL_EP_CREATE_IA:
		return kdapl_ep_create(s, x, h->pz, h->evd, h->evd, h->evd,
				       NULL, &a->out.handle);
	case CALL_EP_CREATE_PZ:
		return kdapl_ep_create(s, h->ia, x, h->evd, h->evd, h->evd,
				       NULL, &a->out.handle);
	case CALL_EP_CREATE_RECV:
		return kdapl_ep_create(s, h->ia, h->pz, x, h->evd, h->evd, NULL,
				       &a->out.handle);
	case CALL_EP_CREATE_REQUEST:
		return kdapl_ep_create(s, h->ia, h->pz, h->evd, x, h->evd, NULL,
				       &a->out.handle);
	case CALL_EP_CREATE_CONNECT:
		return kdapl_ep_create(s, h->ia, h->pz, h->evd, h->evd, x, NULL,
				       &a->out.handle);
	case CALL_EP_QUERY:
		return kdapl_ep_query(s, x, DAT_EP_FIELD_ALL, &a->out.ep);
	case CALL_EP_MODIFY:
		return kdapl_ep_modify(s, x, 0, &a->out.ep);
	case CALL_EP_STATUS:
		return kdapl_ep_get_status(s, x, &a->out.state, NULL, NULL);
	case CALL_EP_CONNECT:
		return kdapl_ep_connect(s, x, FAKE_PEER, 5000, FOREVER, 0, NULL,
					QOS, DAT_CONNECT_DEFAULT_FLAG);
	case CALL_EP_DUP_CONNECT:
		return kdapl_ep_dup_connect(s, x, h->ep, FOREVER, 0, NULL, QOS);
	case CALL_EP_DUP_SOURCE:
		return kdapl_ep_dup_connect(s, h->ep, x, FOREVER, 0, NULL, QOS);
	case CALL_EP_DISCONNECT:
		return kdapl_ep_disconnect(s, x, DAT_CLOSE_ABRUPT_FLAG);
	case CALL_EP_RESET:
		return kdapl_ep_reset(s, x);
	case CALL_EP_FREE:
		return kdapl_ep_free(s, x);
	case CALL_EP_PRIVATE_DATA:
		return kdapl_ep_private_data(s, x, 0, a->buf, sizeof(a->buf),
					     &a->out.count);
	case CALL_POST_SEND:
		return fake_post_send(s, x, 0, NULL, no_cookie, 0);
	case CALL_POST_RECV:
		return fake_post_recv(s, x, 0, NULL, no_cookie, 0);
	case CALL_POST_READ:
		return fake_post(s, x, KDAPL_DTO_RDMA_READ, 0, NULL,
				 no_cookie, &no_remote, 0);
	case CALL_POST_WRITE:
		return fake_post(s, x, KDAPL_DTO_RDMA_WRITE, 0, NULL,
				 no_cookie, &no_remote, 0);
	case CALL_MODIFY_PZ:
		return modify_one(a, DAT_EP_FIELD_PZ_HANDLE, x);
	case CALL_MODIFY_RECV:
		return modify_one(a, DAT_EP_FIELD_RECV_EVD_HANDLE, x);
	case CALL_MODIFY_REQUEST:
		return modify_one(a, DAT_EP_FIELD_REQUEST_EVD_HANDLE, x);
	case CALL_MODIFY_CONNECT:
		return modify_one(a, DAT_EP_FIELD_CONNECT_EVD_HANDLE, x);
	case CALL_PSP_CREATE_IA:
		return kdapl_psp_create(s, x, 6500, h->evd,
					DAT_PSP_CONSUMER_FLAG, &a->out.handle);
	case CALL_PSP_CREATE_EVD:
		return kdapl_psp_create(s, h->ia, 6500, x,
					DAT_PSP_CONSUMER_FLAG, &a->out.handle);
	case CALL_PSP_ANY_IA:
		return kdapl_psp_create_any(s, x, &a->out.qual, h->evd,
					    DAT_PSP_CONSUMER_FLAG, &a->made);
	case CALL_PSP_ANY_EVD:
		return kdapl_psp_create_any(s, h->ia, &a->out.qual, x,
					    DAT_PSP_CONSUMER_FLAG, &a->made);
	case CALL_PSP_QUERY:
		return kdapl_psp_query(s, x, DAT_PSP_FIELD_ALL, &a->out.psp);
	case CALL_PSP_FREE:
		return kdapl_psp_free(s, x);
	case CALL_RSP_CREATE_IA:
		return kdapl_rsp_create(s, x, 6501, h->ep, h->evd,
					&a->out.handle);
	case CALL_RSP_CREATE_EP:
		return kdapl_rsp_create(s, h->ia, 6501, x, h->evd,
					&a->out.handle);
	case CALL_RSP_CREATE_EVD:
		return kdapl_rsp_create(s, h->ia, 6501, h->ep, x,
					&a->out.handle);
	case CALL_RSP_QUERY:
		return kdapl_rsp_query(s, x, DAT_RSP_FIELD_ALL, &a->out.rsp);
	case CALL_RSP_FREE:
		return kdapl_rsp_free(s, x);
	case CALL_CR_QUERY:
		return kdapl_cr_query(s, x, DAT_CR_FIELD_ALL, &a->out.cr);
	case CALL_CR_ACCEPT:
		return kdapl_cr_accept(s, x, h->ep, 0, NULL);
	case CALL_CR_ACCEPT_EP:
		return kdapl_cr_accept(s, h->cr, x, 0, NULL);
	case CALL_CR_REJECT:
		return kdapl_cr_reject(s, x);
	case CALL_EVD_POST_SE:
		return evd_post_se(a, x);
	case CALL_IA_OPEN_ASYNC:
		return open_async(a, x);
	}
	return DONE;
}

/*
 * @name: the call and its argument
 * @type: of the handle it wants
 * @code: what it returns for any other
 * @call: with that argument
 * @optional: null is a good value
 * @same_ia: it must be of the adapter of the call's other objects (RULING 36)
 */
struct handle_argument {
	const char *name;
	enum kdapl_type type;
	DAT_RETURN code;
	enum call call;
	bool optional;
	bool same_ia;
};

static const struct handle_argument handle_arguments[] = {
	{ "ia_open: async_evd", KDAPL_EVD, IH(EVD_ASYNC), CALL_IA_OPEN_ASYNC, true },
	{ "ia_close: ia", KDAPL_IA, IH(IA), CALL_IA_CLOSE },
	{ "ia_query: ia", KDAPL_IA, IH(IA), CALL_IA_QUERY },
	{ "pz_create: ia", KDAPL_IA, IH(IA), CALL_PZ_CREATE },
	{ "pz_query: pz", KDAPL_PZ, IH(PZ), CALL_PZ_QUERY },
	{ "pz_free: pz", KDAPL_PZ, IH(PZ), CALL_PZ_FREE },
	{ "lmr_create: ia", KDAPL_IA, IH(IA), CALL_LMR_CREATE_IA },
	{ "lmr_create: pz", KDAPL_PZ, IH(PZ), CALL_LMR_CREATE_PZ, false, true },
	{ "lmr_create: lmr", KDAPL_LMR, IH(LMR), CALL_LMR_CREATE_LMR, false, true },
	{ "lmr_query: lmr", KDAPL_LMR, IH(LMR), CALL_LMR_QUERY },
	{ "lmr_free: lmr", KDAPL_LMR, IH(LMR), CALL_LMR_FREE },
	{ "lmr_sync: ia", KDAPL_IA, IH(IA), CALL_LMR_SYNC },
	{ "memtype_hint: ia", KDAPL_IA, IH(IA), CALL_MEMTYPE_HINT },
	{ "evd_create: ia", KDAPL_IA, IH(IA), CALL_EVD_CREATE },
	{ "evd_query: evd", KDAPL_EVD, IH(EVD_REQUEST), CALL_EVD_QUERY },
	{ "evd_resize: evd", KDAPL_EVD, IH(EVD_REQUEST), CALL_EVD_RESIZE },
	{ "evd_free: evd", KDAPL_EVD, IH(EVD_REQUEST), CALL_EVD_FREE },
	{ "evd_dequeue: evd", KDAPL_EVD, IH(EVD_REQUEST), CALL_EVD_DEQUEUE },
	{ "evd_post_se: evd", KDAPL_EVD, IH(EVD_REQUEST), CALL_EVD_POST_SE },
	{ "ep_create: ia", KDAPL_IA, IH(IA), CALL_EP_CREATE_IA },
	{ "ep_create: pz", KDAPL_PZ, IH(PZ), CALL_EP_CREATE_PZ, true, true },
	{ "ep_create: recv_evd", KDAPL_EVD, IH(EVD_RECV), CALL_EP_CREATE_RECV, true,
	  true },
	{ "ep_create: request_evd", KDAPL_EVD, IH(EVD_REQUEST),
	  CALL_EP_CREATE_REQUEST, true, true },
	{ "ep_create: connect_evd", KDAPL_EVD, IH(EVD_CONN), CALL_EP_CREATE_CONNECT,
	  true, true },
	{ "ep_query: ep", KDAPL_EP, IH(EP), CALL_EP_QUERY },
	{ "ep_modify: ep", KDAPL_EP, IH(EP), CALL_EP_MODIFY },
	{ "ep_modify: pz in param", KDAPL_PZ, IP(3), CALL_MODIFY_PZ, true, true },
	{ "ep_modify: recv_evd in param", KDAPL_EVD, IP(3), CALL_MODIFY_RECV, true,
	  true },
	{ "ep_modify: request_evd in param", KDAPL_EVD, IP(3), CALL_MODIFY_REQUEST,
	  true, true },
	{ "ep_modify: connect_evd in param", KDAPL_EVD, IP(3), CALL_MODIFY_CONNECT,
	  true, true },
	{ "ep_get_status: ep", KDAPL_EP, IH(EP), CALL_EP_STATUS },
	{ "ep_connect: ep", KDAPL_EP, IH(EP), CALL_EP_CONNECT },
	{ "ep_dup_connect: ep", KDAPL_EP, IH(EP), CALL_EP_DUP_CONNECT, false, true },
	{ "ep_dup_connect: dup_ep", KDAPL_EP, IH(EP), CALL_EP_DUP_SOURCE, false,
	  true },
	{ "ep_disconnect: ep", KDAPL_EP, IH(EP), CALL_EP_DISCONNECT },
	{ "ep_reset: ep", KDAPL_EP, IH(EP), CALL_EP_RESET },
	{ "ep_free: ep", KDAPL_EP, IH(EP), CALL_EP_FREE },
	{ "ep_private_data: ep", KDAPL_EP, IH(EP), CALL_EP_PRIVATE_DATA },
	{ "ep_post_send: ep", KDAPL_EP, IH(EP), CALL_POST_SEND },
	{ "ep_post_recv: ep", KDAPL_EP, IH(EP), CALL_POST_RECV },
	{ "ep_post_rdma_read: ep", KDAPL_EP, IH(EP), CALL_POST_READ },
	{ "ep_post_rdma_write: ep", KDAPL_EP, IH(EP), CALL_POST_WRITE },
	{ "psp_create: ia", KDAPL_IA, IH(IA), CALL_PSP_CREATE_IA },
	{ "psp_create: evd", KDAPL_EVD, IH(EVD_CR), CALL_PSP_CREATE_EVD, false,
	  true },
	{ "psp_create_any: ia", KDAPL_IA, IH(IA), CALL_PSP_ANY_IA },
	{ "psp_create_any: evd", KDAPL_EVD, IH(EVD_CR), CALL_PSP_ANY_EVD, false,
	  true },
	{ "psp_query: psp", KDAPL_PSP, IH(PSP), CALL_PSP_QUERY },
	{ "psp_free: psp", KDAPL_PSP, IH(PSP), CALL_PSP_FREE },
	{ "rsp_create: ia", KDAPL_IA, IH(IA), CALL_RSP_CREATE_IA },
	{ "rsp_create: ep", KDAPL_EP, IH(EP), CALL_RSP_CREATE_EP, true, true },
	{ "rsp_create: evd", KDAPL_EVD, IH(EVD_CR), CALL_RSP_CREATE_EVD, false,
	  true },
	{ "rsp_query: rsp", KDAPL_RSP, IH(RSP), CALL_RSP_QUERY },
	{ "rsp_free: rsp", KDAPL_RSP, IH(RSP), CALL_RSP_FREE },
	{ "cr_query: cr", KDAPL_CR, IH(CR), CALL_CR_QUERY },
	{ "cr_accept: cr", KDAPL_CR, IH(CR), CALL_CR_ACCEPT },
	{ "cr_accept: ep", KDAPL_EP, IH(EP), CALL_CR_ACCEPT_EP, false, true },
	{ "cr_reject: cr", KDAPL_CR, IH(CR), CALL_CR_REJECT },
};

static void describe(const struct handle_argument *arg, char *desc)
{
	strscpy(desc, arg->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(handle_arguments, handle_arguments, describe);

static void try_handle(struct args *a, const struct handle_argument *arg,
		       const char *kind, DAT_HANDLE x)
{
	struct snapshot before = look(a);

	KUNIT_EXPECT_EQ_MSG(a->b->test, arg->code, call_with(a, arg->call, x), "%s", kind);
	expect_unchanged(a, &before, kind);
}

/* E1, E2, E5: null, reserved, forged, freed, foreign, of another type or adapter. */
static void bad_handle(struct kunit *test)
{
	const struct handle_argument *arg = test->param_value;
	struct args *a = args_of(test);
	u64 good = (uintptr_t)live(&a->here, arg->type);
	struct kdapl_object *obj;
	int type;

	if (!arg->optional)
		try_handle(a, arg, "null", DAT_HANDLE_NULL);
	try_handle(a, arg, "reserved 1", (DAT_HANDLE)1UL);
	try_handle(a, arg, "reserved 2", (DAT_HANDLE)2UL);
	try_handle(a, arg, "all ones", (DAT_HANDLE)~0UL);
	try_handle(a, arg, "other generation",
		   (DAT_HANDLE)(uintptr_t)(good ^ BIT_ULL(32)));
	try_handle(a, arg, "other index",
		   (DAT_HANDLE)(uintptr_t)(good ^ BIT_ULL(20)));
	try_handle(a, arg, "freed", a->dead[arg->type]);
	try_handle(a, arg, "foreign", live(&a->foreign, arg->type));
	if (arg->same_ia)
		try_handle(a, arg, "of another adapter",
			   live(&a->other, arg->type));
	obj = kdapl_object_find(&a->b->space, (DAT_HANDLE)(uintptr_t)good, 0);
	if (obj) {
		try_handle(a, arg, "a kernel pointer", (DAT_HANDLE)obj);
		kdapl_object_put(obj);
	}
	for (type = KDAPL_IA; type < KDAPL_NR_TYPES; type++)
		if (type != arg->type && live(&a->here, type))
			try_handle(a, arg, "of another type",
				   live(&a->here, type));
}

/* E17: the EVD is good, but not made for the stream. */
static void evd_without_the_flag(struct kunit *test)
{
	struct args *a = args_of(test);
	struct bench *b = a->b;
	DAT_EVD_HANDLE dto = bench_evd(b, 4, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE conn = bench_evd(b, 4, DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr = bench_evd(b, 4, DAT_EVD_CR_FLAG);

	REFUSED(IH(EVD_RECV), call_with(a, CALL_EP_CREATE_RECV, conn));
	REFUSED(IH(EVD_REQUEST), call_with(a, CALL_EP_CREATE_REQUEST, cr));
	REFUSED(IH(EVD_CONN), call_with(a, CALL_EP_CREATE_CONNECT, dto));
	REFUSED(IP(3), call_with(a, CALL_MODIFY_RECV, conn));
	REFUSED(IP(3), call_with(a, CALL_MODIFY_REQUEST, conn));
	REFUSED(IP(3), call_with(a, CALL_MODIFY_CONNECT, dto));
	REFUSED(IH(EVD_CR), call_with(a, CALL_PSP_CREATE_EVD, dto));
	REFUSED(IH(EVD_CR), call_with(a, CALL_PSP_ANY_EVD, conn));
	REFUSED(IH(EVD_CR), call_with(a, CALL_RSP_CREATE_EVD, conn));
	REFUSED(IP(1), call_with(a, CALL_EVD_POST_SE, dto));
	REFUSED(IH(EVD_ASYNC), call_with(a, CALL_IA_OPEN_ASYNC, dto));
}

/* ---- registry, IA ----------------------------------------------------------------- */

#define S	(&a->b->space)
#define H	(&a->here)

static DAT_RETURN open_as(struct args *a, const char *name, DAT_COUNT qlen,
			  u32 major, u32 minor)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return kdapl_ia_open(S, name, qlen, &async, major, minor, DAT_TRUE,
			     &a->out.handle);
}

/* I2, I4, I8, I10, G9 */
static void ia_open_args(struct kunit *test)
{
	struct args *a = args_of(test);
	char *name = kunit_kzalloc(test, DAT_NAME_MAX_LENGTH + 1, GFP_KERNEL);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	KUNIT_ASSERT_NOT_NULL(test, name);
	memset(name, 'x', DAT_NAME_MAX_LENGTH);
	REFUSED(IP(1), open_as(a, NULL, 4, 1, 2));
	REFUSED(IP(1), open_as(a, "", 4, 1, 2));
	REFUSED(IP(1), open_as(a, name, 4, 1, 2));
	REFUSED(DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		open_as(a, "fake-2", 4, 1, 2));
	REFUSED(DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		open_as(a, "fake", 4, 1, 2));
	REFUSED(IP(2), open_as(a, "fake-1", 0, 1, 2));
	REFUSED(IP(2), open_as(a, "fake-1", -1, 1, 2));
	REFUSED(IR(TEVD), open_as(a, "fake-1", FAKE_MAX_QLEN + 1, 1, 2));
	REFUSED(IP(3), kdapl_ia_open(S, "fake-1", 4, NULL, 1, 2, DAT_TRUE,
				     &a->out.handle));
	REFUSED(IP(4), kdapl_ia_open(S, "fake-1", 4, &async, 1, 2, DAT_TRUE,
				     NULL));
	REFUSED(DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND),
		open_as(a, "fake-1", 4, 2, 0));
	REFUSED(DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND),
		open_as(a, "fake-1", 4, 1, 3));
}

/* I11, I12, I20 */
static void ia_close_and_query_args(struct kunit *test)
{
	struct args *a = args_of(test);

	REFUSED(IP(2), kdapl_ia_close(S, H->ia, 2));
	REFUSED(IP(2), kdapl_ia_close(S, H->ia, -1));
	REFUSED(IS(IA_IN_USE), kdapl_ia_close(S, H->ia,
					      DAT_CLOSE_GRACEFUL_FLAG));
	REFUSED(IP(3), kdapl_ia_query(S, H->ia, NULL, DAT_IA_FIELD_ALL + 1,
				      &a->out.ia, 0, NULL));
	REFUSED(IP(4), kdapl_ia_query(S, H->ia, NULL, 1, NULL, 0, NULL));
	REFUSED(IP(5), kdapl_ia_query(S, H->ia, NULL, 0, NULL,
				      DAT_PROVIDER_FIELD_ALL + 1, &a->provider));
	REFUSED(IP(6), kdapl_ia_query(S, H->ia, NULL, 0, NULL, 1, NULL));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ia_query(S, H->ia, NULL, 0, NULL, 0, NULL));
}

/* G12, G13 */
static void registry_args(struct kunit *test)
{
	static struct dat_provider_info *list[256];
	struct args *a = args_of(test);
	DAT_COUNT number = -7;

	REFUSED(IP(2), kdapl_registry_list(S, 256, NULL, list));
	REFUSED(IP(1), kdapl_registry_list(S, 0, &number, list));
	KUNIT_EXPECT_GE(test, number, 1);
	REFUSED(IP(1), kdapl_registry_list(S, -1, &number, list));
	REFUSED(IP(3), kdapl_registry_list(S, 256, &number, NULL));
	REFUSED(IP(3), kdapl_registry_list(S, 256, &number, list));
}

/* ---- PZ, LMR ------------------------------------------------------------------------ */

/* E2, mt:M3 */
static void pz_args(struct kunit *test)
{
	struct args *a = args_of(test);

	REFUSED(IP(2), kdapl_pz_create(S, H->ia, NULL));
	REFUSED(IP(2), kdapl_pz_query(S, H->pz, 2, &a->out.pz));
	REFUSED(IP(3), kdapl_pz_query(S, H->pz, DAT_PZ_FIELD_ALL, NULL));
	REFUSED(IS(PZ_IN_USE), kdapl_pz_free(S, H->pz));
	fake_fail(a->b->fake, FAKE_ZONE_CREATE, 1, -ENOMEM);
	REFUSED(IR(MEMORY), kdapl_pz_create(S, H->ia, &a->out.handle));
	fake_fail(a->b->fake, FAKE_ZONE_CREATE, 1, -EAGAIN);
	REFUSED(IR(PROTECTION_DOMAIN),
		kdapl_pz_create(S, H->ia, &a->out.handle));
}

#define REGISTER(type, length, privileges, hint, handle) \
	lmr_create(a, H->ia, H->pz, type, H->lmr, length, privileges, hint, \
		   handle)

/* E3, E4, mt:M10..M13, mt:M17, mt:M19, mt:M71, mt:M75, mt:M76 */
static void lmr_create_args(struct kunit *test)
{
	struct args *a = args_of(test);
	static const struct {
		int error;
		DAT_RETURN code;
	} errors[] = {
		{ -EFAULT, IP(3) },
		{ -EACCES, IP(6) },
		{ -E2BIG, IP(4) },
		{ -ENOMEM, IR(MEMORY) },
		{ -EPERM, IR(MEMORY) },
		{ -EAGAIN, IR(MEMORY_REGION) },
	};
	int i;

	/* in the kernel there is no shared memory between processes */
	REFUSED(IP(2), REGISTER(2, 64, 0, 0, &a->out.handle));
	REFUSED(IP(2), REGISTER(3, 64, 0, 0, &a->out.handle));
	REFUSED(IP(2), REGISTER(0x100, 64, 0, 0, &a->out.handle));
	REFUSED(MNS, REGISTER(DAT_MEM_TYPE_PLATFORM, 64, 0, 0, &a->out.handle));
	REFUSED(MNS, REGISTER(DAT_MEM_TYPE_IA, 64, 0, 0, &a->out.handle));
	REFUSED(MNS, REGISTER(DAT_MEM_TYPE_BYPASS, 64, 0, 0, &a->out.handle));
	REFUSED(IP(4), REGISTER(DAT_MEM_TYPE_VIRTUAL, 0, 0, 0, &a->out.handle));
	REFUSED(IP(4), REGISTER(DAT_MEM_TYPE_VIRTUAL, ~0ULL, 0, 0,
				&a->out.handle));
	REFUSED(IP(4), REGISTER(DAT_MEM_TYPE_VIRTUAL,
				256 * PAGE_SIZE + 1, 0, 0, &a->out.handle));
	/* I24: but the most can be had; the fake device does not look at the memory */
	KUNIT_EXPECT_EQ(test, DONE, REGISTER(DAT_MEM_TYPE_VIRTUAL, 256 * PAGE_SIZE, 0, 0,
					     &a->out.handle));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_free(S, a->out.handle));
	REFUSED(IP(6), REGISTER(DAT_MEM_TYPE_VIRTUAL, 64, 0x4, 0,
				&a->out.handle));
	REFUSED(IP(6), REGISTER(DAT_MEM_TYPE_VIRTUAL, 64, 0x80000000, 0,
				&a->out.handle));
	REFUSED(IP(7), REGISTER(DAT_MEM_TYPE_VIRTUAL, 64, 0, 0x777,
				&a->out.handle));
	REFUSED(IP(8), REGISTER(DAT_MEM_TYPE_VIRTUAL, 64, 0, 0, NULL));
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake_fail(a->b->fake, FAKE_REG, 1, errors[i].error);
		REFUSED(errors[i].code, REGISTER(DAT_MEM_TYPE_VIRTUAL, 64, 0, 0,
						 &a->out.handle));
	}
	/* the first wrong argument decides */
	REFUSED(IP(2), REGISTER(3, 0, 0x4, 0x777, NULL));
	REFUSED(IP(4), REGISTER(DAT_MEM_TYPE_VIRTUAL, 0, 0x4, 0x777, NULL));
}

/* mt:M69, mt:M80 */
static void lmr_query_and_sync_args(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_LMR_TRIPLET segment = {
		.lmr_context = a->b->lmr_context,
		.virtual_address = (uintptr_t)a->b->memory + 1,
		.segment_length = PAGE_SIZE,
	};

	REFUSED(IP(2), kdapl_lmr_query(S, H->lmr, DAT_LMR_FIELD_ALL + 1,
				       &a->out.lmr));
	REFUSED(IP(3), kdapl_lmr_query(S, H->lmr, 1, NULL));
	/* mt:M69 */
	REFUSED(IP(2), kdapl_lmr_sync(S, H->ia, NULL, 1, true));
	REFUSED(IP(2), kdapl_lmr_sync(S, H->ia, &segment, 1, true));
	segment.segment_length = 8;
	segment.lmr_context = ~a->b->lmr_context;
	REFUSED(IP(2), kdapl_lmr_sync(S, H->ia, &segment, 1, false));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_lmr_sync(S, H->ia, NULL, 0, false));
	/* mt:M80 */
	REFUSED(IP(2), kdapl_memtype_hint(S, H->ia, 3, 64, 0, NULL, NULL));
	REFUSED(IP(3), kdapl_memtype_hint(S, H->ia, 0, 0, 0, NULL, NULL));
	REFUSED(IP(3), kdapl_memtype_hint(S, H->ia, 0, ~0ULL, 0, NULL, NULL));
	REFUSED(IP(4), kdapl_memtype_hint(S, H->ia, 0, 64, 0x777, NULL, NULL));
}

/* ---- EVD ------------------------------------------------------------------------------ */

#define CREATE(qlen, flags, handle) \
	kdapl_evd_create(S, H->ia, qlen, flags, handle)

/* E13; the two faces count their arguments differently. */
static void evd_create_args(struct kunit *test)
{
	struct args *a = args_of(test);

	REFUSED(IP(2), CREATE(0, DAT_EVD_DTO_FLAG, &a->out.handle));
	REFUSED(IP(2), CREATE(-1, DAT_EVD_DTO_FLAG, &a->out.handle));
	REFUSED(IP(2), CREATE(INT_MIN, 0, NULL));
	REFUSED(IR(TEVD), CREATE(FAKE_MAX_QLEN + 1, DAT_EVD_DTO_FLAG,
				 &a->out.handle));
	REFUSED(IR(TEVD), CREATE(INT_MAX, DAT_EVD_DTO_FLAG, &a->out.handle));
	REFUSED(IP(5), CREATE(4, 0, &a->out.handle));
	REFUSED(IP(5), CREATE(4, 0x2, &a->out.handle));
	REFUSED(IP(5), CREATE(4, DAT_EVD_DEFAULT_FLAG | 0x200, NULL));
	REFUSED(IP(6), CREATE(4, DAT_EVD_DTO_FLAG, NULL));

	S->user = true;
	REFUSED(IP(4), CREATE(4, 0, &a->out.handle));
	REFUSED(IP(5), CREATE(4, DAT_EVD_DTO_FLAG, NULL));
	S->user = false;
}

/* E41, E50, E53, E58, E59 */
static void evd_args(struct kunit *test)
{
	DAT_EVENT wrong = { .event_number = DAT_DTO_COMPLETION_EVENT };
	struct args *a = args_of(test);

	REFUSED(IP(2), kdapl_evd_query(S, H->evd, 0x20, &a->out.evd));
	REFUSED(IP(3), kdapl_evd_query(S, H->evd, 0x1f, NULL));
	REFUSED(IP(3), kdapl_evd_query(S, H->evd, 0, NULL));
	REFUSED(IP(2), kdapl_evd_resize(S, H->evd, 0));
	REFUSED(IP(2), kdapl_evd_resize(S, H->evd, -4));
	REFUSED(IP(2), kdapl_evd_resize(S, H->evd, FAKE_MAX_QLEN + 1));
	REFUSED(IP(2), kdapl_evd_resize(S, H->evd, INT_MAX));
	REFUSED(IP(2), kdapl_evd_post_se(S, H->evd, NULL));
	REFUSED(IP(2), kdapl_evd_post_se(S, H->evd, &wrong));
	REFUSED(IP(2), kdapl_evd_dequeue(S, H->evd, NULL));
	REFUSED(EMPTY, kdapl_evd_dequeue(S, H->evd, &a->out.event));
	REFUSED(IS(EVD_IN_USE), kdapl_evd_free(S, H->evd));
	REFUSED(IS(EVD_IN_USE), kdapl_evd_free(S, H->async));
}

/* ---- EP ------------------------------------------------------------------------------- */

static DAT_RETURN create_with(struct args *a, const DAT_EP_ATTR *attr)
{
	return kdapl_ep_create(S, H->ia, H->pz, H->evd, H->evd, H->evd, attr,
			       &a->out.handle);
}

/* E.1, E.4: each attribute alone, one beyond what is allowed. */
static void ep_attributes(struct kunit *test)
{
	static const struct {
		const char *name;
		DAT_EP_PARAM_MASK bit;
		DAT_EP_ATTR attr;
	} bad[] = {
#define BAD(field, mask, value) \
		{ #field " " #value, DAT_EP_FIELD_EP_ATTR_##mask, \
		  { .field = value } }
		BAD(service_type, SERVICE_TYPE, 1),
		BAD(max_message_size, MAX_MESSAGE_SIZE, FAKE_MAX_MSG + 1),
		BAD(max_message_size, MAX_MESSAGE_SIZE, ~0ULL),
		BAD(max_rdma_size, MAX_RDMA_SIZE, FAKE_MAX_MSG + 1),
		BAD(recv_completion_flags, RECV_COMPLETION_FLAGS, 0x01),
		BAD(recv_completion_flags, RECV_COMPLETION_FLAGS, 0x08),
		BAD(recv_completion_flags, RECV_COMPLETION_FLAGS, 0x06),
		BAD(recv_completion_flags, RECV_COMPLETION_FLAGS, 0x20),
		BAD(request_completion_flags, REQUEST_COMPLETION_FLAGS, 0x01),
		BAD(request_completion_flags, REQUEST_COMPLETION_FLAGS, 0x02),
		BAD(request_completion_flags, REQUEST_COMPLETION_FLAGS, 0x14),
		BAD(max_recv_dtos, MAX_RECV_DTOS, -1),
		BAD(max_recv_dtos, MAX_RECV_DTOS, INT_MAX),
		BAD(max_request_dtos, MAX_REQUEST_DTOS, -1),
		BAD(max_request_dtos, MAX_REQUEST_DTOS, INT_MAX),
		BAD(max_recv_iov, MAX_RECV_IOV, -1),
		BAD(max_recv_iov, MAX_RECV_IOV, 9),
		BAD(max_request_iov, MAX_REQUEST_IOV, -1),
		BAD(max_request_iov, MAX_REQUEST_IOV, 9),
		BAD(max_rdma_read_in, MAX_RDMA_READ_IN, -1),
		BAD(max_rdma_read_in, MAX_RDMA_READ_IN, 17),
		BAD(max_rdma_read_out, MAX_RDMA_READ_OUT, -1),
		BAD(max_rdma_read_out, MAX_RDMA_READ_OUT, 17),
		BAD(max_rdma_read_iov, MAX_RDMA_READ_IOV, -1),
		BAD(max_rdma_read_iov, MAX_RDMA_READ_IOV, 5),
		BAD(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, -1),
		BAD(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, 9),
#undef BAD
	};
	struct args *a = args_of(test);
	struct snapshot before;
	DAT_EP_PARAM param;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		before = look(a);
		KUNIT_EXPECT_EQ_MSG(test, IP(6), create_with(a, &bad[i].attr),
				    "%s", bad[i].name);
		expect_unchanged(a, &before, bad[i].name);
		memset(&param, 0, sizeof(param));
		param.ep_attr = bad[i].attr;
		KUNIT_EXPECT_EQ_MSG(test, IP(3),
				    kdapl_ep_modify(S, H->ep, bad[i].bit,
						    &param),
				    "%s", bad[i].name);
		expect_unchanged(a, &before, bad[i].name);
	}
}

/* Can an endpoint have @n of the attribute at @offset? */
static DAT_RETURN ep_with(struct args *a, size_t offset, DAT_COUNT n)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC };
	DAT_RETURN ret;

	*(DAT_COUNT *)((char *)&attr + offset) = n;
	ret = create_with(a, &attr);
	if (!ret)
		KUNIT_EXPECT_EQ(a->b->test, DONE, kdapl_ep_free(S, a->out.handle));
	return ret;
}

/*
 * I24, E.1: what a query of the adapter promises can be had, not one more, and an endpoint
 * without attributes has no more either, whatever the device's figures are.
 */
static void ep_limits(struct kunit *test)
{
	static const struct {
		int send_sge, recv_sge, sge_rd, reads;
	} devices[] = {
		{ 8, 8, 4, 16 }, { 3, 2, 0, 16 }, { 2, 3, 5, 300 }, { 1, 1, 1, 1 },
		{ 64, 32, 64, 255 }, { 30, 32, 30, 256 },
	};
	static const struct {
		size_t promised, asked;
	} fields[] = {
#define PAIR(ia, ep) { offsetof(DAT_IA_ATTR, ia), offsetof(DAT_EP_ATTR, ep) }
		PAIR(max_iov_segments_per_dto, max_recv_iov),
		PAIR(max_iov_segments_per_dto, max_request_iov),
		PAIR(max_iov_segments_per_rdma_read, max_rdma_read_iov),
		PAIR(max_iov_segments_per_rdma_write, max_rdma_write_iov),
		PAIR(max_rdma_read_per_ep_in, max_rdma_read_in),
		PAIR(max_rdma_read_per_ep_out, max_rdma_read_out),
		PAIR(max_dto_per_ep, max_recv_dtos),
		PAIR(max_dto_per_ep, max_request_dtos),
#undef PAIR
	};
	DAT_IA_ATTR *ia = kunit_kzalloc(test, sizeof(*ia), GFP_KERNEL);
	struct args *a = args_of(test);
	struct ib_device_attr *attrs = &a->b->fake->dev->attrs;
	DAT_EP_PARAM param;
	DAT_COUNT most;
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, ia);
	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		attrs->max_send_sge = devices[i].send_sge;
		attrs->max_recv_sge = devices[i].recv_sge;
		attrs->max_sge_rd = devices[i].sge_rd;
		attrs->max_qp_rd_atom = devices[i].reads;
		attrs->max_qp_init_rd_atom = devices[i].reads;
		KUNIT_ASSERT_EQ(test, DONE, kdapl_ia_query(S, H->ia, NULL, DAT_IA_ALL, ia,
							   0, NULL));
		KUNIT_ASSERT_EQ(test, DONE, create_with(a, NULL));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_query(S, a->out.handle,
							   DAT_EP_FIELD_ALL, &param));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(S, a->out.handle));
		for (j = 0; j < ARRAY_SIZE(fields); j++) {
			most = *(DAT_COUNT *)((char *)ia + fields[j].promised);
			KUNIT_EXPECT_GT_MSG(test, (int)most, 0, "device %d, %d", i, j);
			KUNIT_EXPECT_EQ_MSG(test, DONE, ep_with(a, fields[j].asked, most),
					    "device %d, %d", i, j);
			KUNIT_EXPECT_EQ_MSG(test, IP(6),
					    ep_with(a, fields[j].asked, most + 1),
					    "device %d, %d", i, j);
			KUNIT_EXPECT_LE_MSG(test, *(DAT_COUNT *)((char *)&param.ep_attr +
					    fields[j].asked), most,
					    "device %d, %d", i, j);
		}
		/* What is not asked for follows the request, but within its own limit. */
		KUNIT_ASSERT_EQ(test, DONE, create_with(a, &(DAT_EP_ATTR){
				.max_request_iov = ia->max_iov_segments_per_dto }));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_query(S, a->out.handle,
							   DAT_EP_FIELD_ALL, &param));
		KUNIT_EXPECT_LE(test, param.ep_attr.max_rdma_read_iov,
				ia->max_iov_segments_per_rdma_read);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(S, a->out.handle));
	}
}

/* E.1: without attributes there are RDMA reads, as many as 4 or the device has. */
static void ep_default_reads(struct kunit *test)
{
	static const struct {
		int device_in, device_out, in, out;
	} depths[] = { { 16, 16, 4, 4 }, { 4, 3, 4, 3 }, { 1, 128, 1, 4 }, { 0, 0, 0, 0 } };
	struct args *a = args_of(test);
	DAT_EP_PARAM param;
	int i;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		a->b->fake->dev->attrs.max_qp_rd_atom = depths[i].device_in;
		a->b->fake->dev->attrs.max_qp_init_rd_atom = depths[i].device_out;
		KUNIT_ASSERT_EQ(test, DONE, create_with(a, NULL));
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_query(S, a->out.handle,
							   DAT_EP_FIELD_ALL, &param));
		KUNIT_EXPECT_EQ(test, depths[i].in, param.ep_attr.max_rdma_read_in);
		KUNIT_EXPECT_EQ(test, depths[i].out, param.ep_attr.max_rdma_read_out);
		KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_free(S, a->out.handle));
	}
}

static void ep_create_args(struct kunit *test)
{
	DAT_EP_ATTR qos = { .qos = DAT_QOS_PREMIUM };
	struct args *a = args_of(test);

	REFUSED(IP(7), kdapl_ep_create(S, H->ia, H->pz, H->evd, H->evd, H->evd,
				       NULL, NULL));
	REFUSED(MNS, create_with(a, &qos));
	/* RULING 35: handle, then argument, then model */
	qos.max_recv_dtos = -1;
	REFUSED(IP(6), create_with(a, &qos));
	REFUSED(IH(EVD_CONN),
		kdapl_ep_create(S, H->ia, H->pz, H->evd, H->evd, H->pz, &qos,
				NULL));
	REFUSED(IH(PZ), kdapl_ep_create(S, H->ia, H->evd, H->pz, H->pz, H->pz,
					&qos, NULL));
	fake_fail(a->b->fake, FAKE_CQ_RESIZE, 1, -ENOMEM);
	REFUSED(IR(MEMORY), create_with(a, &(DAT_EP_ATTR){
					.max_recv_dtos = 60,
					.max_request_dtos = 60 }));
}

static void ep_query_args(struct kunit *test)
{
	struct args *a = args_of(test);

	REFUSED(IP(2), kdapl_ep_query(S, H->ep, 0x800, &a->out.ep));
	REFUSED(IP(2), kdapl_ep_query(S, H->ep, 0x80000000, &a->out.ep));
	REFUSED(IP(3), kdapl_ep_query(S, H->ep, 1, NULL));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ep_get_status(S, H->ep, NULL, NULL, NULL));
}

/* M4, RULING 21 */
static void ep_modify_args(struct kunit *test)
{
	static const u32 never[] = {
		0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x400, 0x01000000,
		0x800, 0x80000000,
	};
	struct args *a = args_of(test);
	DAT_EP_PARAM param = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(never); i++) {
		REFUSED(IP(2), kdapl_ep_modify(S, H->ep, never[i], &param));
		REFUSED(IP(2), kdapl_ep_modify(S, H->ep, never[i] |
					       DAT_EP_FIELD_PZ_HANDLE, NULL));
	}
	REFUSED(IP(3), kdapl_ep_modify(S, H->ep, DAT_EP_FIELD_PZ_HANDLE, NULL));
	REFUSED(IP(3), kdapl_ep_modify(S, H->ep, 0, NULL));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_ep_modify(S, H->ep, 0, &param));

	/* E.4: fewer than are posted; or the flags, with any posted */
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(a->b, H->ep, 1));
	KUNIT_EXPECT_EQ(test, DONE, bench_recv(a->b, H->ep, 2));
	param.ep_attr.max_recv_dtos = 1;
	REFUSED(IP(3), kdapl_ep_modify(S, H->ep,
				       DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				       &param));
	REFUSED(IS(EP_UNCONNECTED),
		kdapl_ep_modify(S, H->ep,
				DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
				&param));

	/* a never-bit wins over a wrong state, and so does a bad value */
	bench_connect(a->b, H->ep);
	REFUSED(IP(2), kdapl_ep_modify(S, H->ep, 0x2, &param));
	REFUSED(IS(EP_CONNECTED),
		kdapl_ep_modify(S, H->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	REFUSED(IS(EP_CONNECTED),
		kdapl_ep_modify(S, H->ep,
				DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	REFUSED(IS(EP_CONNECTED),
		kdapl_ep_modify(S, H->ep,
				DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR,
				&param));
}

#define CONNECT(address, qual, timeout, size, data, qos, flags) \
	kdapl_ep_connect(S, H->ep, (DAT_IA_ADDRESS_PTR)(address), qual, \
			 timeout, size, data, qos, flags)

/* E3, C12..C14, C18, E.6: in the order of RULING 35 */
static void ep_connect_args(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_EP_HANDLE unready;
	const void *to = peer_address();

	REFUSED(IP(2), CONNECT(NULL, 5000, FOREVER, 0, NULL, QOS, 0));
	REFUSED(IP(3), CONNECT(to, 0, FOREVER, 0, NULL, QOS, 0));
	REFUSED(IP(4), CONNECT(to, 5000, 0, 0, NULL, QOS, 0));
	REFUSED(IP(5), CONNECT(to, 5000, FOREVER, -1, a->buf, QOS, 0));
	REFUSED(IP(5), CONNECT(to, 5000, FOREVER, KDAPL_REQ_PRIVATE_DATA + 1,
			       a->buf, QOS, 0));
	REFUSED(IP(5), CONNECT(to, 5000, FOREVER, INT_MAX, a->buf, QOS, 0));
	REFUSED(IP(6), CONNECT(to, 5000, FOREVER, 1, NULL, QOS, 0));
	REFUSED(IP(8), CONNECT(to, 5000, FOREVER, 0, NULL, QOS, 2));
	REFUSED(IP(8), CONNECT(to, 5000, FOREVER, 0, NULL, QOS, 0x80000001));
	REFUSED(MNS, CONNECT(to, 5000, FOREVER, 0, NULL, DAT_QOS_LOW_LATENCY, 0));
	REFUSED(MNS, CONNECT(to, 5000, FOREVER, 0, NULL, QOS,
			     DAT_CONNECT_MULTIPATH_FLAG));
	REFUSED(IP(2), CONNECT(NULL, 0, 0, -1, NULL, 1, 2));
	REFUSED(IP(4), CONNECT(to, 1, 0, -1, NULL, 1, 2));

	/* A.5, RULING 17: ready comes before the model, after the arguments */
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create(S, H->ia, DAT_HANDLE_NULL, H->evd,
					H->evd, H->evd, NULL, &unready));
	REFUSED(IS(EP_NOTREADY),
		kdapl_ep_connect(S, unready, FAKE_PEER, 5000, FOREVER, 0, NULL,
				 DAT_QOS_PREMIUM, 0));
	REFUSED(IP(4),
		kdapl_ep_connect(S, unready, FAKE_PEER, 5000, 0, 0, NULL, QOS,
				 0));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create(S, H->ia, H->pz, H->evd, H->evd,
					DAT_HANDLE_NULL, NULL, &unready));
	REFUSED(IS(EP_NOTREADY),
		kdapl_ep_connect(S, unready, FAKE_PEER, 5000, FOREVER, 0, NULL,
				 QOS, 0));

	/* the state comes after the arguments, before the model */
	bench_connect(a->b, H->ep);
	REFUSED(IS(EP_CONNECTED), CONNECT(to, 5000, FOREVER, 0, NULL, QOS, 0));
	REFUSED(IS(EP_CONNECTED), CONNECT(to, 5000, FOREVER, 0, NULL, 1, 1));
	REFUSED(IP(4), CONNECT(to, 5000, 0, 0, NULL, QOS, 0));
}

/* RULING 37: what the bytes of the address show. */
static void ep_connect_addresses(struct kunit *test)
{
	static const struct {
		u32 ip;
		enum dat_return_subtype subtype;
	} bad[] = {
		{ 0x00000000, DAT_INVALID_ADDRESS_MALFORMED },
		{ 0xf0000001, DAT_INVALID_ADDRESS_MALFORMED },
		{ 0xe0000001, DAT_INVALID_ADDRESS_UNSUPPORTED },
		{ 0xefffffff, DAT_INVALID_ADDRESS_UNSUPPORTED },
		{ 0xffffffff, DAT_INVALID_ADDRESS_UNSUPPORTED },
	};
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct args *a = args_of(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		in.sin_addr.s_addr = htonl(bad[i].ip);
		REFUSED(DAT_ERROR(DAT_INVALID_ADDRESS, bad[i].subtype),
			CONNECT(&in, 5000, FOREVER, 0, NULL, QOS, 0));
	}
	in.sin_family = AF_UNIX;
	in.sin_addr.s_addr = htonl(0x0a000002);
	REFUSED(DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED),
		CONNECT(&in, 5000, FOREVER, 0, NULL, QOS, 0));
	REFUSED(DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED),
		CONNECT(&in6, 5000, FOREVER, 0, NULL, QOS, 0));
	in6.sin6_addr.s6_addr[0] = 0xff;
	in6.sin6_addr.s6_addr[15] = 1;
	REFUSED(DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED),
		CONNECT(&in6, 5000, FOREVER, 0, NULL, QOS, 0));
	/* the model is judged before the address */
	REFUSED(MNS, CONNECT(&in6, 5000, FOREVER, 0, NULL, 1, 0));
}

#define DUP(source, timeout, size, data, qos) \
	kdapl_ep_dup_connect(S, H->ep, source, timeout, size, data, qos)

/* C1, C12..C18, RULING 33 */
static void ep_dup_connect_args(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_EP_HANDLE active = bench_ep(a->b, bench_evd(a->b, 8,
							BENCH_EVD_FLAGS));
	DAT_EP_HANDLE passive = bench_ep(a->b, bench_evd(a->b, 8,
							 BENCH_EVD_FLAGS));
	DAT_EP_HANDLE unready;

	REFUSED(IS(EP_UNCONNECTED), DUP(active, FOREVER, 0, NULL, QOS));
	REFUSED(IS(EP_UNCONNECTED), DUP(H->ep, FOREVER, 0, NULL, QOS));
	bench_connect(a->b, active);
	REFUSED(IP(3), DUP(active, 0, 0, NULL, QOS));
	REFUSED(IP(4), DUP(active, FOREVER, -1, a->buf, QOS));
	REFUSED(IP(4), DUP(active, FOREVER, KDAPL_REQ_PRIVATE_DATA + 1, a->buf,
			   QOS));
	REFUSED(IP(5), DUP(active, FOREVER, 1, NULL, QOS));
	REFUSED(MNS, DUP(active, FOREVER, 0, NULL, DAT_QOS_PREMIUM));
	REFUSED(IP(3), DUP(H->ep, 0, 0, NULL, QOS));

	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create(S, H->ia, DAT_HANDLE_NULL, H->evd,
					H->evd, H->evd, NULL, &unready));
	REFUSED(IS(EP_NOTREADY),
		kdapl_ep_dup_connect(S, unready, active, FOREVER, 0, NULL, QOS));
	REFUSED(IS(EP_CONNECTED),
		kdapl_ep_dup_connect(S, active, active, FOREVER, 0, NULL, QOS));

	/* C1: both are wrong, each in its own way: the source is told */
	REFUSED(IS(EP_UNCONNECTED),
		kdapl_ep_dup_connect(S, active, H->ep, FOREVER, 0, NULL, QOS));

	KUNIT_ASSERT_EQ(test, DONE, kdapl_cr_accept(S, H->cr, passive, 0, NULL));
	REFUSED(IS(EP_COMPLPENDING), DUP(passive, FOREVER, 0, NULL, QOS));
	REFUSED(IS(EP_COMPLPENDING),
		kdapl_ep_dup_connect(S, active, passive, FOREVER, 0, NULL, QOS));
	fake_confirmed(bench_id(a->b, passive));
	REFUSED(IP(2), DUP(passive, FOREVER, 0, NULL, QOS));
	REFUSED(IS(EP_CONNECTED),
		kdapl_ep_dup_connect(S, active, passive, FOREVER, 0, NULL, QOS));
}

/* D1..D3, R3, F2 */
static void ep_states(struct kunit *test)
{
	static const u32 flags[] = { 2, 3, 0x80000000 };
	struct args *a = args_of(test);
	DAT_RSP_HANDLE rsp;
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		REFUSED(IP(2), kdapl_ep_disconnect(S, H->ep, flags[i]));
	REFUSED(IS(EP_UNCONNECTED), kdapl_ep_disconnect(S, H->ep, 0));
	REFUSED(IS(EP_UNCONNECTED), kdapl_ep_disconnect(S, H->ep, 1));

	/* RSV */
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_rsp_create(S, H->ia, 6600, H->ep, H->evd, &rsp));
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		REFUSED(IP(2), kdapl_ep_disconnect(S, H->ep, flags[i]));
	REFUSED(IS(EP_RESERVED), kdapl_ep_disconnect(S, H->ep, 0));
	REFUSED(IS(EP_RESERVED), kdapl_ep_reset(S, H->ep));
	REFUSED(IS(EP_RESERVED), kdapl_ep_free(S, H->ep));
	REFUSED(IS(EP_RESERVED), call_with(a, CALL_EP_CONNECT, H->ep));
	REFUSED(IS(EP_RESERVED), call_with(a, CALL_CR_ACCEPT_EP, H->ep));
	REFUSED(IS(EP_RESERVED), call_with(a, CALL_RSP_CREATE_EP, H->ep));
	REFUSED(IS(EP_RESERVED), call_with(a, CALL_POST_SEND, H->ep));

	/* PCP */
	request_at(a, H, 6600);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		REFUSED(IP(2), kdapl_ep_disconnect(S, H->ep, flags[i]));
	REFUSED(IS(EP_PASSCONNPENDING), kdapl_ep_disconnect(S, H->ep, 1));
	REFUSED(IS(EP_PASSCONNPENDING), kdapl_ep_reset(S, H->ep));
	REFUSED(IS(EP_PASSCONNPENDING), kdapl_ep_free(S, H->ep));
	REFUSED(IS(EP_PASSCONNPENDING), call_with(a, CALL_EP_CONNECT, H->ep));
	REFUSED(IS(EP_PASSCONNPENDING), call_with(a, CALL_MODIFY_PZ, H->pz));
}

/* ---- posts ------------------------------------------------------------------------------ */

static DAT_RETURN send_to(struct args *a, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov, u32 flags)
{
	return fake_post_send(S, H->ep, n, iov, no_cookie, flags);
}

static DAT_RETURN recv_to(struct args *a, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov, u32 flags)
{
	return fake_post_recv(S, H->ep, n, iov, no_cookie, flags);
}

static DAT_RETURN read_to(struct args *a, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov,
			  const DAT_RMR_TRIPLET *remote, u32 flags)
{
	return fake_post(S, H->ep, KDAPL_DTO_RDMA_READ, n, iov, no_cookie,
			 remote, flags);
}

static DAT_RETURN write_to(struct args *a, DAT_COUNT n,
			   const DAT_LMR_TRIPLET *iov,
			   const DAT_RMR_TRIPLET *remote, u32 flags)
{
	return fake_post(S, H->ep, KDAPL_DTO_RDMA_WRITE, n, iov, no_cookie,
			 remote, flags);
}

static DAT_LMR_TRIPLET segment(struct args *a, u64 offset, u64 length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = a->b->lmr_context,
		.virtual_address = (uintptr_t)a->b->memory + offset,
		.segment_length = length,
	};
}

/* E3, mt:T1, mt:T2, mt:T19, mt:T21 */
static void post_shape(struct kunit *test)
{
	static const u32 no_send[] = { 0x04, 0x10, 0x20, 0x80000000 };
	static const u32 no_rdma[] = { 0x02, 0x04, 0x10, 0x20 };
	static const u32 no_recv[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20 };
	struct args *a = args_of(test);
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	DAT_LMR_TRIPLET iov[5];
	int i;

	bench_connect(a->b, H->ep);
	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = segment(a, i, 1);
	/* the default is four segments */
	REFUSED(IP(2), send_to(a, -1, iov, 0));
	REFUSED(IP(2), send_to(a, 5, iov, 0));
	REFUSED(IP(2), send_to(a, INT_MAX, iov, 0));
	REFUSED(IP(3), send_to(a, 1, NULL, 0));
	REFUSED(IP(2), recv_to(a, -1, iov, 0));
	REFUSED(IP(2), recv_to(a, 5, iov, 0));
	REFUSED(IP(3), recv_to(a, 1, NULL, 0));
	REFUSED(IP(2), write_to(a, 5, iov, &remote, 0));
	REFUSED(IP(3), write_to(a, 1, NULL, &remote, 0));
	REFUSED(IP(5), write_to(a, 1, iov, NULL, 0));
	REFUSED(IP(5), write_to(a, 0, NULL, NULL, 0));
	REFUSED(IP(2), read_to(a, 5, iov, &remote, 0));
	REFUSED(IP(3), read_to(a, 1, NULL, &remote, 0));
	REFUSED(IP(5), read_to(a, 1, iov, NULL, 0));
	for (i = 0; i < ARRAY_SIZE(no_send); i++)
		REFUSED(IP(5), send_to(a, 1, iov, no_send[i]));
	for (i = 0; i < ARRAY_SIZE(no_recv); i++)
		REFUSED(IP(5), recv_to(a, 1, iov, no_recv[i]));
	for (i = 0; i < ARRAY_SIZE(no_rdma); i++) {
		REFUSED(IP(6), write_to(a, 1, iov, &remote, no_rdma[i]));
		REFUSED(IP(6), read_to(a, 1, iov, &remote, no_rdma[i]));
	}
	/* the first wrong argument decides */
	REFUSED(IP(2), write_to(a, -1, NULL, NULL, 0x20));
	REFUSED(IP(3), write_to(a, 1, NULL, NULL, 0x20));
	REFUSED(IP(5), write_to(a, 1, iov, NULL, 0x20));
}

/* mt:T3, mt:T5, mt:T29, mt:T33, mt:T34, mt:T16 */
static void post_memory(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	DAT_LMR_TRIPLET s = segment(a, 0, 8);
	DAT_LMR_TRIPLET two[2] = { s, s };
	DAT_LMR_CONTEXT good = a->b->lmr_context;

	bench_connect(a->b, H->ep);
	/* no such LMR */
	s.lmr_context = good + 1000;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		send_to(a, 1, &s, 0));
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		recv_to(a, 1, &s, 0));
	s.lmr_context = 0;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		write_to(a, 1, &s, &remote, 0));
	s.lmr_context = ~0U;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		read_to(a, 1, &s, &remote, 0));
	/* outside it: before, behind, across the end, around the corner */
	s = segment(a, -1, 2);
	REFUSED(IP(3), send_to(a, 1, &s, 0));
	s = segment(a, PAGE_SIZE, 1);
	REFUSED(IP(3), send_to(a, 1, &s, 0));
	s = segment(a, PAGE_SIZE - 1, 2);
	REFUSED(IP(3), recv_to(a, 1, &s, 0));
	s = segment(a, 1, ~0ULL);
	REFUSED(IP(3), send_to(a, 1, &s, 0));
	s = segment(a, 0, 1ULL << 32);
	REFUSED(IP(3), send_to(a, 1, &s, 0));
	s = segment(a, 0, 8);
	s.virtual_address = 0;
	REFUSED(IP(3), send_to(a, 1, &s, 0));
	/* the first bad segment decides */
	two[1].lmr_context = good + 1000;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		send_to(a, 2, two, 0));
	two[0] = segment(a, PAGE_SIZE, 1);
	REFUSED(IP(3), send_to(a, 2, two, 0));
	/* a segment of length 0 is not looked at */
	two[0].segment_length = 0;
	two[1] = segment(a, 0, 1);
	KUNIT_EXPECT_EQ(test, DONE, send_to(a, 2, two, 0));

	/* mt:T33, mt:T34 */
	s = segment(a, 0, 8);
	remote.segment_length = 7;
	REFUSED(CODE(DAT_LENGTH_ERROR), write_to(a, 1, &s, &remote, 0));
	remote.segment_length = 9;
	REFUSED(CODE(DAT_LENGTH_ERROR), read_to(a, 1, &s, &remote, 0));
	remote.target_address = ~0ULL - 3;
	REFUSED(IP(5), write_to(a, 1, &s, &remote, 0));
	REFUSED(IP(5), read_to(a, 1, &s, &remote, 0));
}

/* mt:T16: an endpoint without outgoing reads */
static void post_no_credits(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	DAT_LMR_TRIPLET s = segment(a, 0, 8);
	DAT_EP_PARAM param;

	KUNIT_ASSERT_EQ(test, DONE, kdapl_ep_query(S, H->ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_rdma_read_out = 0;
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_modify(S, H->ep,
					DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
					&param));
	bench_connect(a->b, H->ep);
	REFUSED(IR(CREDITS), read_to(a, 1, &s, &remote, 0));
	KUNIT_EXPECT_EQ(test, DONE, write_to(a, 1, &s, &remote, 0));
}

/* mt:T29, mt:T30: zone and rights; every LMR can be a source. */
static void post_rights(struct kunit *test)
{
	DAT_REGION_DESCRIPTION region = { };
	struct args *a = args_of(test);
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	DAT_LMR_CONTEXT none, read, write, zone;
	DAT_LMR_TRIPLET s;
	DAT_PZ_HANDLE pz;

	region.for_va = a->b->memory;
	bench_connect(a->b, H->ep);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(S, H->ia, &pz));
#define MAKE(zone, rights, context) \
	KUNIT_ASSERT_EQ(test, DONE, \
			kdapl_lmr_create(S, H->ia, DAT_MEM_TYPE_VIRTUAL, \
					 region, PAGE_SIZE, zone, rights, 0, \
					 &a->out.handle, context, NULL, NULL, \
					 NULL))
	MAKE(H->pz, DAT_MEM_PRIV_NONE_FLAG, &none);
	MAKE(H->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &read);
	MAKE(H->pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &write);
	MAKE(pz, DAT_MEM_PRIV_ALL_FLAG, &zone);
#undef MAKE
	s = segment(a, 0, 8);
	s.lmr_context = zone;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		send_to(a, 1, &s, 0));
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		recv_to(a, 1, &s, 0));
	s.lmr_context = none;
	KUNIT_EXPECT_EQ(test, DONE, send_to(a, 1, &s, 0));
	REFUSED(DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE),
		recv_to(a, 1, &s, 0));
	s.lmr_context = write;
	KUNIT_EXPECT_EQ(test, DONE, write_to(a, 1, &s, &remote, 0));
	KUNIT_EXPECT_EQ(test, DONE, recv_to(a, 1, &s, 0));
	s.lmr_context = read;
	REFUSED(DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE),
		read_to(a, 1, &s, &remote, 0));
	KUNIT_EXPECT_EQ(test, DONE, send_to(a, 1, &s, 0));
}

/* mt:T9, E.25: the state is judged after the arguments. */
static void post_states(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };
	DAT_LMR_TRIPLET s = segment(a, 0, 8);

	REFUSED(IS(EP_UNCONNECTED), send_to(a, 1, &s, 0));
	REFUSED(IS(EP_UNCONNECTED), write_to(a, 1, &s, &remote, 0));
	REFUSED(IP(5), send_to(a, 1, &s, 0x20));
	bench_request(a->b, H->ep);
	REFUSED(IS(EP_ACTCONNPENDING), send_to(a, 1, &s, 0));
	REFUSED(IS(EP_ACTCONNPENDING), write_to(a, 1, &s, &remote, 0));
	fake_answered(bench_id(a->b, H->ep), NULL, 0);
	fake_peer_disconnected(bench_id(a->b, H->ep));
	bench_settle(a->b);
	/* in DIS they are checked in full as well */
	s.lmr_context = 0;
	REFUSED(DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		send_to(a, 1, &s, 0));
}

/* ---- passive side ------------------------------------------------------------------------ */

#define PSP(qual, flags, psp) \
	kdapl_psp_create(S, H->ia, qual, H->evd, flags, psp)

/* P1, P4, P16, P17, RULING 47 */
static void psp_args(struct kunit *test)
{
	static const struct {
		int error;
		DAT_RETURN code;
	} errors[] = {
		{ -EADDRINUSE, CODE(DAT_CONN_QUAL_IN_USE) },
		{ -EACCES, CODE(DAT_PRIVILEGES_VIOLATION) },
		{ -ENOMEM, IR(TEP) },
	};
	struct args *a = args_of(test);
	DAT_CONN_QUAL qual;
	int i;

	REFUSED(IP(2), PSP(0, 0, &a->out.handle));
	REFUSED(IP(4), PSP(6700, 2, &a->out.handle));
	REFUSED(IP(4), PSP(6700, -1, &a->out.handle));
	REFUSED(IP(5), PSP(6700, 0, NULL));
	REFUSED(IP(2), PSP(0, 2, NULL));
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake_fail(a->b->fake, FAKE_CM_LISTEN, 1, errors[i].error);
		REFUSED(errors[i].code, PSP(6700, 0, &a->out.handle));
	}
	REFUSED(IP(2), kdapl_psp_create_any(S, H->ia, NULL, H->evd, 0,
					    &a->out.handle));
	REFUSED(IP(4), kdapl_psp_create_any(S, H->ia, &qual, H->evd, 2,
					    &a->out.handle));
	REFUSED(IP(5), kdapl_psp_create_any(S, H->ia, &qual, H->evd, 0, NULL));
	fake_fail(a->b->fake, FAKE_CM_LISTEN, 1, -EADDRNOTAVAIL);
	REFUSED(CODE(DAT_CONN_QUAL_UNAVAILABLE),
		kdapl_psp_create_any(S, H->ia, &qual, H->evd, 0,
				     &a->out.handle));
	REFUSED(IP(2), kdapl_psp_query(S, H->psp, 0x10, &a->out.psp));
	REFUSED(IP(3), kdapl_psp_query(S, H->psp, 0xf, NULL));
}

/* P4, P20, P32, E.17 */
static void rsp_args(struct kunit *test)
{
	struct args *a = args_of(test);

	REFUSED(IP(2), kdapl_rsp_create(S, H->ia, 0, H->ep, H->evd,
					&a->out.handle));
	REFUSED(IP(5), kdapl_rsp_create(S, H->ia, 6700, H->ep, H->evd, NULL));
	fake_fail(a->b->fake, FAKE_CM_LISTEN, 1, -EADDRINUSE);
	REFUSED(CODE(DAT_CONN_QUAL_IN_USE),
		kdapl_rsp_create(S, H->ia, 6700, H->ep, H->evd,
				 &a->out.handle));
	REFUSED(IP(2), kdapl_rsp_query(S, H->rsp, 0x10, &a->out.rsp));
	REFUSED(IP(3), kdapl_rsp_query(S, H->rsp, 0xf, NULL));
	bench_connect(a->b, H->ep);
	REFUSED(IS(EP_CONNECTED),
		kdapl_rsp_create(S, H->ia, 6700, H->ep, H->evd,
				 &a->out.handle));
	REFUSED(IP(2), kdapl_rsp_create(S, H->ia, 0, H->ep, H->evd,
					&a->out.handle));
}

/* P40, P45, P50..P52, P54, P61 */
static void cr_args(struct kunit *test)
{
	struct args *a = args_of(test);
	DAT_EP_HANDLE unready;
	DAT_EVENT event;
	DAT_CR_HANDLE owned;
	DAT_PSP_HANDLE psp;

	REFUSED(IP(2), kdapl_cr_query(S, H->cr, 0x20, &a->out.cr));
	REFUSED(IP(3), kdapl_cr_query(S, H->cr, 0x1f, NULL));
	REFUSED(IP(3), kdapl_cr_accept(S, H->cr, H->ep, -1, a->buf));
	REFUSED(IP(3), kdapl_cr_accept(S, H->cr, H->ep, INT_MAX, a->buf));
	REFUSED(IP(3), kdapl_cr_accept(S, H->cr, H->ep,
				       KDAPL_REP_PRIVATE_DATA + 1, a->buf));
	REFUSED(IP(4), kdapl_cr_accept(S, H->cr, H->ep, 1, NULL));
	KUNIT_ASSERT_EQ(test, DONE,
			kdapl_ep_create(S, H->ia, H->pz, H->evd, H->evd,
					DAT_HANDLE_NULL, NULL, &unready));
	REFUSED(IS(EP_NOTREADY), kdapl_cr_accept(S, H->cr, unready, 0, NULL));
	fake_fail(a->b->fake, FAKE_QP_CREATE, 1, -ENOMEM);
	REFUSED(IR(TEP), kdapl_cr_accept(S, H->cr, H->ep, 0, NULL));

	/* a CR with an EP of its own */
	KUNIT_ASSERT_EQ(test, DONE, PSP(6701, DAT_PSP_PROVIDER_FLAG, &psp));
	event = request_at(a, H, 6701);
	owned = event.event_data.cr_arrival_event_data.cr_handle;
	REFUSED(IH(EP), kdapl_cr_accept(S, owned, H->ep, 0, NULL));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_query(S, owned, 0x1f, &a->out.cr));
	REFUSED(IH(EP), kdapl_cr_accept(S, owned, a->out.cr.local_ep_handle, 0,
					NULL));
	REFUSED(IS(EP_NOTREADY),
		kdapl_cr_accept(S, owned, DAT_HANDLE_NULL, 0, NULL));
	REFUSED(IS(EP_TENTCONNPENDING),
		kdapl_ep_free(S, a->out.cr.local_ep_handle));
	REFUSED(IS(EP_TENTCONNPENDING),
		kdapl_cr_accept(S, H->cr, a->out.cr.local_ep_handle, 0, NULL));

	/* P61, then P54: it can still be accepted */
	bench_connect(a->b, H->ep);
	REFUSED(IS(EP_CONNECTED), kdapl_cr_accept(S, H->cr, H->ep, 0, NULL));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_cr_accept(S, H->cr, bench_ep(a->b, H->evd), 0,
					NULL));
	REFUSED(IH(CR), kdapl_cr_accept(S, H->cr, H->ep, 0, NULL));
	REFUSED(IH(CR), kdapl_cr_reject(S, H->cr));
}

static struct kunit_case kdapl_args_cases[] = {
	KUNIT_CASE_PARAM(bad_handle, handle_arguments_gen_params),
	KUNIT_CASE(evd_without_the_flag),
	KUNIT_CASE(ia_open_args),
	KUNIT_CASE(ia_close_and_query_args),
	KUNIT_CASE(registry_args),
	KUNIT_CASE(pz_args),
	KUNIT_CASE(lmr_create_args),
	KUNIT_CASE(lmr_query_and_sync_args),
	KUNIT_CASE(evd_create_args),
	KUNIT_CASE(evd_args),
	KUNIT_CASE(ep_attributes),
	KUNIT_CASE(ep_limits),
	KUNIT_CASE(ep_default_reads),
	KUNIT_CASE(ep_create_args),
	KUNIT_CASE(ep_query_args),
	KUNIT_CASE(ep_modify_args),
	KUNIT_CASE(ep_connect_args),
	KUNIT_CASE(ep_connect_addresses),
	KUNIT_CASE(ep_dup_connect_args),
	KUNIT_CASE(ep_states),
	KUNIT_CASE(post_shape),
	KUNIT_CASE(post_memory),
	KUNIT_CASE(post_no_credits),
	KUNIT_CASE(post_rights),
	KUNIT_CASE(post_states),
	KUNIT_CASE(psp_args),
	KUNIT_CASE(rsp_args),
	KUNIT_CASE(cr_args),
	{}
};

static struct kunit_suite kdapl_args_suite = {
	.name = "kdapl_args",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = args_init,
	.exit = args_exit,
	.test_cases = kdapl_args_cases,
};

kunit_test_suite(kdapl_args_suite);
