// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event dispatchers: upcall policies, their contexts and ends; software events;
 * lengths; queries.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "kdat_rules.h"

#define LMR_IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define EP_CONNECTED	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED)
#define BAD_EP		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)
#define BAD_RMR		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)

#define NUMBER(event) \
	((unsigned long)(event)->event_data.software_event_data.pointer)

static DAT_RETURN post_se(DAT_EVD_HANDLE evd, unsigned long number)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.evd_handle = (DAT_EVD_HANDLE)0x1234,	/* E50: ignored */
		.event_data.software_event_data.pointer = (void *)number,
	};

	return dat_evd_post_se(evd, &event);
}

static bool want_se(struct collector *collector, unsigned long number)
{
	DAT_EVENT event;

	return want_event(collector, DAT_SOFTWARE_EVENT, &event) &&
	       (NUMBER(&event) == number ||
		fail("software event %lu, not %lu", NUMBER(&event), number));
}

static void software_events(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	int i, n;

	if (!OK(dat_evd_kcreate(side_a.ia, 8, DAT_UPCALL_DISABLE, NULL,
				DAT_EVD_SOFTWARE_FLAG, &evd)))
		return;
	if (!OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)))
		goto out;
	n = param.evd_qlen;
	CHECK(n >= 8);
	CHECK(param.ia_handle == side_a.ia);
	CHECK(param.upcall_policy == DAT_UPCALL_DISABLE);
	CHECK(!param.upcall.upcall_func);
	CHECK(param.evd_flags == DAT_EVD_SOFTWARE_FLAG);
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	for (i = 0; i < n; i++)
		OK(post_se(evd, i));
	/* E51: full, and nothing is lost by it. */
	IS(post_se(evd, 99), DAT_QUEUE_FULL, 0);
	/* E54 */
	BAD_STATE(dat_evd_resize(evd, n - 1), EVD_IN_USE);
	OK(dat_evd_resize(evd, n));
	OK(dat_evd_resize(evd, 2 * n));
	if (OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)))
		CHECK(param.evd_qlen >= 2 * n);
	for (; i < param.evd_qlen; i++)
		OK(post_se(evd, i));
	IS(post_se(evd, 99), DAT_QUEUE_FULL, 0);
	/* E43, E49, E50 */
	for (i = 0; i < param.evd_qlen; i++) {
		OK(dat_evd_dequeue(evd, &event));
		CHECK((int)NUMBER(&event) == i);
		CHECK(event.evd_handle == evd);
	}
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	OK(post_se(evd, 1));
out:
	OK(dat_evd_free(evd));			/* E60: with an event */
	BAD_HANDLE(dat_evd_free(evd), EVD_REQUEST);
}

static void policies(void)
{
	struct collector *c = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	if (!c)
		return;
	OK(post_se(c->evd, 1));
	want_se(c, 1);
	/* E104: none runs any more; events stay and can be taken. */
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	OK(post_se(c->evd, 2));
	OK(post_se(c->evd, 3));
	if (OK(dat_evd_query(c->evd, DAT_EVD_FIELD_ALL, &param))) {
		CHECK(param.upcall_policy == DAT_UPCALL_DISABLE);
		CHECK(param.upcall.upcall_func == collect);
		CHECK(param.upcall.instance_data == c);
	}
	CHECK(OK(dat_evd_dequeue(c->evd, &event)) && NUMBER(&event) == 2);
	/* E105: what is queued starts upcalls. */
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_MANY, DAT_UPCALL_SAME));
	want_se(c, 3);
	/* E103 */
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME));
	OK(post_se(c->evd, 4));
	CHECK(OK(dat_evd_dequeue(c->evd, &event)) && NUMBER(&event) == 4);
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_SINGLE_INSTANCE,
				 DAT_UPCALL_SAME));
	OK(post_se(c->evd, 5));
	want_se(c, 5);
	collector_free(c);
}

/* ---- what an upcall sees ------------------------------------------------ */

static struct probe {
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	struct completion entered;
	struct completion leave;
	struct completion done;
	unsigned int calls;
	unsigned int taken;
	unsigned int running;
	unsigned long next;
	unsigned long next_at_tasklet;
	struct task_struct *poster;
	bool nested;
	bool softirq;
	bool task;
	bool more;
	bool in_order;
	bool alone;
	DAT_RETURN teardown, free, close, modify;
	DAT_RETURN rets[40];
	unsigned int nr_rets;
	DAT_RMR_HANDLE rmr;
} probe;

static void probe_new(void)
{
	memset(&probe, 0, sizeof(probe));
	init_completion(&probe.entered);
	init_completion(&probe.leave);
	init_completion(&probe.done);
	probe.in_order = true;
	probe.alone = true;
}

static bool probe_wait(struct completion *completion)
{
	return wait_for_completion_timeout(completion,
					   msecs_to_jiffies(WAIT_MS)) ||
	       fail("no upcall came");
}

/* @data is what the upcall gets. */
static bool probe_evd(DAT_UPCALL_FUNC func, void *data, DAT_EVD_FLAGS flags)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = data, .upcall_func = func };

	probe_new();
	return OK(dat_evd_kcreate(side_a.ia, 2048, DAT_UPCALL_SINGLE_INSTANCE,
				  &upcall, flags | DAT_EVD_SOFTWARE_FLAG,
				  &probe.evd));
}

static void note_context(DAT_PVOID data, const DAT_EVENT *event,
			 DAT_BOOLEAN more)
{
	probe.softirq = in_serving_softirq();
	probe.task = in_task();
	probe.nested = probe.task && current == probe.poster;
	complete(&probe.entered);
}

static void contexts(void)
{
	if (probe_evd(note_context, NULL, DAT_EVD_DTO_FLAG)) {
		/* E101: with softirqs held off here, it cannot run before. */
		local_bh_disable();
		OK(post_se(probe.evd, 1));
		CHECK(!completion_done(&probe.entered));
		local_bh_enable();
		if (probe_wait(&probe.entered))
			CHECK(probe.softirq && !probe.task);
		OK(dat_evd_free(probe.evd));
	}
	if (probe_evd(note_context, NULL, DAT_EVD_CONNECTION_FLAG)) {
		probe.poster = current;
		OK(post_se(probe.evd, 1));
		if (probe_wait(&probe.entered))
			CHECK(probe.task && !probe.softirq && !probe.nested);
		OK(dat_evd_free(probe.evd));
	}
}

/* ---- what an upcall may call ---------------------------------------------- */

static void note(DAT_RETURN ret)
{
	if (probe.nr_rets < ARRAY_SIZE(probe.rets))
		probe.rets[probe.nr_rets++] = ret;
}

static void all_returned(unsigned int nr, DAT_RETURN ret)
{
	unsigned int i;

	CHECK(probe.nr_rets == nr);
	for (i = 0; i < probe.nr_rets; i++)
		if (probe.rets[i] != ret)
			fail("call %u: %#x, not %#x", i, probe.rets[i], ret);
}

static void all_succeeded(unsigned int nr)
{
	all_returned(nr, DAT_SUCCESS);
}

/* A link, with what the probe has besides. */
static void link_probe_free(struct link *link)
{
	if (probe.rmr)
		OK(dat_rmr_free(probe.rmr));
	link_free(link);
	if (probe.evd)
		OK(dat_evd_free(probe.evd));
}

/* At the first software event: everything that may be called in softirq. */
static void call_in_softirq(DAT_PVOID data, const DAT_EVENT *event,
			    DAT_BOOLEAN more)
{
	struct link *link = data;
	DAT_EP_HANDLE ep = link->a.ep;
	DAT_RMR_TRIPLET remote = remote_piece(&link->b.mem, 0, 64);
	DAT_LMR_TRIPLET window = piece(&link->a.mem, 0, 64);
	const char *major, *minor;
	DAT_CONTEXT context = {};
	DAT_RMR_CONTEXT key;
	DAT_HANDLE_TYPE type;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM param;
	DAT_EVENT next;

	if (event->event_number != DAT_SOFTWARE_EVENT || probe.calls++)
		return;
	probe.softirq = in_serving_softirq();
	note(node_recv(&link->a, 0, 64, 1));
	note(node_send(&link->a, 0, 64, 2, 0));
	note(node_write(&link->a, 0, 64, &remote, 3, 0));
	note(node_read(&link->a, 0, 64, &remote, 4, 0));
	note(dat_rmr_bind(probe.rmr, &window, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
			  (DAT_RMR_COOKIE) { .as_64 = 6 }, 0, &key));
	note(dat_rmr_query(probe.rmr, DAT_RMR_FIELD_ALL, &rmr));
	note(dat_ep_get_status(ep, NULL, NULL, NULL));
	note(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	note(dat_evd_query(probe.evd, DAT_EVD_FIELD_ALL, &evd));
	note(dat_lmr_query(link->a.mem.lmr, DAT_LMR_FIELD_ALL, &lmr));
	note(dat_set_consumer_context(ep, context));
	note(dat_get_consumer_context(ep, &context));
	note(dat_get_handle_type(ep, &type));
	note(dat_strerror(DAT_SUCCESS, &major, &minor));
	note(post_se(probe.evd, 2));
	note(dat_evd_dequeue(probe.evd, &next));
	note(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	complete(&probe.done);
}

static void calls_in_softirq(void)
{
	struct link link = {};

	if (!probe_evd(call_in_softirq, &link,
		       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) ||
	    !node_new(&link.a, &side_a, NULL) ||
	    !node_new(&link.b, &side_b, NULL) || !OK(dat_ep_free(link.a.ep)) ||
	    !OK(dat_rmr_create(side_a.pz, &probe.rmr)))
		goto out;
	link.a.ep = DAT_HANDLE_NULL;
	if (!OK(dat_ep_create(side_a.ia, side_a.pz, probe.evd, probe.evd,
			      link.a.events->evd, &node_attr, &link.a.ep)) ||
	    !listener_new(&link.listener, DAT_PSP_CONSUMER_FLAG) ||
	    !link_connect(&link.a, &link.b, &link.listener) ||
	    !OK(node_recv(&link.b, 0, 64, 5)))
		goto out;
	OK(post_se(probe.evd, 1));
	if (probe_wait(&probe.done)) {
		CHECK(probe.softirq);
		all_succeeded(17);
		want_conn(link.a.events, link.a.ep,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
		want_dto(link.b.events, link.b.ep, 5, DAT_DTO_SUCCESS, 64);
		want_conn(link.b.events, link.b.ep,
			  DAT_CONNECTION_EVENT_DISCONNECTED);
	}
out:
	link_probe_free(&link);
}

/* What may sleep, on objects with which it would succeed or be refused otherwise. */
static void try_objects(struct link *link)
{
	DAT_REGION_DESCRIPTION region = { .for_va = link->a.mem.va };
	DAT_EVD_HANDLE evd = link->a.events->evd;
	DAT_LMR_TRIPLET part = piece(&link->a.mem, 0, 64);
	DAT_EP_PARAM ep = { .ep_attr = node_attr };
	DAT_IA_HANDLE ia = side_a.ia;
	DAT_IA_ATTR attr;
	DAT_PZ_PARAM pz;
	DAT_HANDLE new;
	DAT_COUNT nr;

	note(dat_registry_list_providers(0, &nr, NULL));
	note(dat_ia_open((DAT_NAME_PTR)side_a.name, 8, &evd, &new));
	note(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	note(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	note(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 64, 0, NULL, NULL));
	note(dat_pz_create(ia, &new));
	note(dat_pz_query(side_a.pz, DAT_PZ_FIELD_ALL, &pz));
	note(dat_pz_free(side_a.pz));
	note(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, side_a.pz,
			     DAT_MEM_PRIV_ALL_FLAG, 0, &new, NULL, NULL, NULL,
			     NULL));
	note(dat_lmr_free(link->a.mem.lmr));
	note(dat_lmr_sync_rdma_read(ia, &part, 1));
	note(dat_lmr_sync_rdma_write(ia, &part, 1));
	note(dat_rmr_create(side_a.pz, &new));
	note(dat_rmr_free(probe.rmr));
	note(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
			     DAT_EVD_DEFAULT_FLAG, &new));
	note(dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	note(dat_evd_resize(evd, 4096));
	note(dat_evd_free(evd));
	note(dat_ep_create(ia, side_a.pz, evd, evd, evd, &node_attr, &new));
	note(dat_ep_modify(link->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &ep));
}

static void try_connections(struct link *link)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&side_b.addr;
	DAT_EVD_HANDLE evd = link->listener.requests->evd;
	DAT_PSP_HANDLE psp = link->listener.psp;
	DAT_CONN_QUAL qual = link->listener.qual;
	DAT_EP_HANDLE a = link->a.ep, b = link->b.ep;
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	DAT_RSP_PARAM rsp_param;
	DAT_PSP_PARAM psp_param;
	DAT_CR_PARAM cr_param;
	DAT_HANDLE new;

	note(dat_ep_connect(a, address, qual, CONNECT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	note(dat_ep_dup_connect(a, b, CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT));
	note(dat_ep_reset(a));
	note(dat_ep_free(a));
	note(dat_psp_create(side_b.ia, qual + 1, evd, DAT_PSP_CONSUMER_FLAG,
			    &new));
	note(dat_psp_create_any(side_b.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
				&new));
	note(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_param));
	note(dat_psp_free(psp));
	note(dat_rsp_create(side_b.ia, qual + 1, b, evd, &new));
	note(dat_rsp_query(psp, DAT_RSP_FIELD_ALL, &rsp_param));
	note(dat_rsp_free(psp));
	note(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	note(dat_cr_accept(cr, b, 0, NULL));
	note(dat_cr_reject(cr));
	note(dat_cr_handoff(cr, qual));
}

static void try_in_softirq(DAT_PVOID data, const DAT_EVENT *event,
			   DAT_BOOLEAN more)
{
	probe.softirq = in_serving_softirq();
	try_objects(data);
	try_connections(data);
	complete(&probe.done);
}

static void sleepers_in_softirq(void)
{
	struct link link = {};

	if (!probe_evd(try_in_softirq, &link, DAT_EVD_DTO_FLAG) ||
	    !link_new(&link, NULL, NULL) ||
	    !OK(dat_rmr_create(side_a.pz, &probe.rmr)))
		goto out;
	OK(post_se(probe.evd, 1));
	if (!probe_wait(&probe.done))
		goto out;
	CHECK(probe.softirq);
	all_returned(35, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	/* Nothing has happened to any of them. */
	OK(node_recv(&link.b, 0, 64, 1));
	OK(node_send(&link.a, 0, 64, 2, 0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(link.a.events, link.a.ep, 2, DAT_DTO_SUCCESS, 64);
	link_disconnect(&link, DAT_CLOSE_GRACEFUL_FLAG);
	OK(dat_ep_reset(link.a.ep));
	OK(dat_ep_reset(link.b.ep));
	link_connect(&link.a, &link.b, &link.listener);
out:
	link_probe_free(&link);
}

/* What sleeps: an object of each kind is made and freed. */
static void make_objects(DAT_PVOID data, const DAT_EVENT *event,
			 DAT_BOOLEAN more)
{
	DAT_REGION_DESCRIPTION region = { .for_va = data };
	DAT_HANDLE pz, lmr, evd, ep, psp;
	DAT_CONN_QUAL qual;

	note(dat_pz_create(side_a.ia, &pz));
	note(dat_lmr_kcreate(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
			     DAT_MEM_PRIV_ALL_FLAG, 0, &lmr, NULL, NULL, NULL,
			     NULL));
	note(dat_evd_kcreate(side_a.ia, 8, DAT_UPCALL_DISABLE, NULL,
			     DAT_EVD_DEFAULT_FLAG, &evd));
	note(dat_ep_create(side_a.ia, pz, evd, evd, evd, &node_attr, &ep));
	note(dat_psp_create_any(side_a.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
				&psp));
	note(dat_psp_free(psp));
	note(dat_ep_free(ep));
	note(dat_lmr_free(lmr));
	note(dat_pz_free(pz));
	note(dat_evd_resize(evd, 16));
	note(dat_evd_free(evd));
	complete(&probe.done);
}

static void calls_in_process(void)
{
	struct mem mem = {};

	if (!mem_new(&side_a, &mem, 64, DAT_MEM_PRIV_NONE_FLAG))
		return;
	if (probe_evd(make_objects, mem.va, DAT_EVD_CONNECTION_FLAG)) {
		OK(post_se(probe.evd, 1));
		if (probe_wait(&probe.done))
			all_succeeded(11);
		OK(dat_evd_free(probe.evd));
	}
	mem_free(&mem);
}

/*
 * An endpoint that is driven by its own upcall alone.  The calls have to answer:
 */
static const struct {
	const char *call;
	DAT_RETURN ret;
} live_calls[] = {
	{ "bind", DAT_SUCCESS },
	/* it has completed: */
	{ "dat_lmr_free of what is bound", LMR_IN_USE },
	{ "send", DAT_SUCCESS },
	{ "bind behind it", DAT_SUCCESS },
	{ "dat_rmr_free under the bind", DAT_SUCCESS },
	{ "dat_rmr_free again", BAD_RMR },
	{ "dat_lmr_free of both binds'", LMR_IN_USE },
	{ "dat_ep_reset, connected", EP_CONNECTED },
	{ "dat_ep_disconnect", DAT_SUCCESS },
	/* it was flushed: */
	{ "dat_lmr_free", DAT_SUCCESS },
	/* disconnected: */
	{ "dat_ep_reset", DAT_SUCCESS },
	{ "receive", DAT_SUCCESS },
	{ "dat_ep_connect", DAT_SUCCESS },
	/* connected once more: */
	{ "dat_ep_free, connected", DAT_SUCCESS },
	{ "dat_ep_free again", BAD_EP },
	{ "dat_lmr_free of the receive's", DAT_SUCCESS },
};

struct live {
	struct link link;
	struct mem mem;
	DAT_RMR_HANDLE rmr;
};

static DAT_RETURN live_bind(struct live *live, u64 cookie)
{
	DAT_LMR_TRIPLET window = piece(&live->mem, 0, 64);
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(live->rmr, &window, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			    live->link.a.ep,
			    (DAT_RMR_COOKIE) { .as_64 = cookie }, 0, &context);
}

static void live_bound(struct live *live)
{
	DAT_EP_HANDLE ep = live->link.a.ep;

	note(dat_lmr_free(live->mem.lmr));
	/* Nobody receives. */
	note(node_send(&live->link.a, 0, 64, 2, 0));
	note(live_bind(live, 3));
	note(dat_rmr_free(live->rmr));
	note(dat_rmr_free(live->rmr));
	note(dat_lmr_free(live->mem.lmr));
	note(dat_ep_reset(ep));
	note(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void live_again(struct live *live)
{
	struct node *a = &live->link.a;

	note(dat_ep_reset(a->ep));
	note(node_recv(a, 0, 64, 4));
	note(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			    live->link.listener.qual, CONNECT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void live_end(struct live *live)
{
	struct node *a = &live->link.a;

	note(dat_ep_free(a->ep));
	note(dat_ep_free(a->ep));
	note(dat_lmr_free(a->mem.lmr));
	complete(&probe.done);
}

static void live_upcall(DAT_PVOID data, const DAT_EVENT *event,
			DAT_BOOLEAN more)
{
	struct live *live = data;
	u64 cookie;

	switch (event->event_number) {
	case DAT_RMR_BIND_COMPLETION_EVENT:
		cookie = event->event_data.rmr_completion_event_data.user_cookie.as_64;
		if (cookie == 1)
			live_bound(live);
		else
			note(dat_lmr_free(live->mem.lmr));
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		live_again(live);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (probe.calls++)
			live_end(live);
		else
			note(live_bind(live, 1));
		break;
	default:
		return;
	}
	if (event->event_number != DAT_RMR_BIND_COMPLETION_EVENT)
		collect(live->link.a.events, event, more);
}

static bool live_new(struct live *live)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = live,
		.upcall_func = live_upcall,
	};
	struct link *link = &live->link;
	DAT_EVD_HANDLE evd;

	if (!node_new(&link->a, &side_a, NULL) ||
	    !node_new(&link->b, &side_b, NULL) ||
	    !listener_new(&link->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !mem_new(&side_a, &live->mem, 64, DAT_MEM_PRIV_ALL_FLAG) ||
	    !OK(dat_rmr_create(side_a.pz, &live->rmr)) ||
	    !OK(dat_ep_free(link->a.ep)))
		return false;
	link->a.ep = DAT_HANDLE_NULL;
	collector_free(link->a.events);
	link->a.events = collector_new(&side_a, 64,
				       COLLECT_ALL | DAT_EVD_RMR_BIND_FLAG);
	if (!link->a.events)
		return false;
	evd = link->a.events->evd;
	return OK(dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE,
					&upcall)) &&
	       OK(dat_ep_create(side_a.ia, side_a.pz, evd, evd, evd, &node_attr,
				&link->a.ep));
}

/* What the peer sees of both lives. */
static bool live_peer(struct link *link)
{
	struct collector *mine = link->a.events, *events = link->b.events;
	DAT_CR_HANDLE cr;

	return link_connect(&link->a, &link->b, &link->listener) &&
	       want_conn(mine, link->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       OK(dat_ep_reset(link->b.ep)) &&
	       next_request(&link->listener, &cr) &&
	       OK(dat_cr_accept(cr, link->b.ep, 0, NULL)) &&
	       want_conn(mine, link->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void calls_on_live_objects(void)
{
	struct live live = {};
	struct node *a = &live.link.a;
	unsigned int i;

	probe_new();
	if (!live_new(&live) || !live_peer(&live.link) ||
	    !probe_wait(&probe.done))
		goto out;
	CHECK(probe.nr_rets == ARRAY_SIZE(live_calls));
	for (i = 0; i < probe.nr_rets; i++)
		if (probe.rets[i] != live_calls[i].ret)
			fail("%s: %#x, not %#x", live_calls[i].call,
			     probe.rets[i], live_calls[i].ret);
	/* The upcall has freed them. */
	a->ep = DAT_HANDLE_NULL;
	a->mem.lmr = DAT_HANDLE_NULL;
	live.mem.lmr = DAT_HANDLE_NULL;
	live.rmr = DAT_HANDLE_NULL;
out:
	if (live.rmr)
		OK(dat_rmr_free(live.rmr));
	link_free(&live.link);
	mem_free(&live.mem);
}

/* ---- many events ---------------------------------------------------------- */

enum { FLOOD = 1500 };

static void count(unsigned long number)
{
	if (number != probe.next++)
		probe.in_order = false;
	if (probe.next == FLOOD)
		complete(&probe.done);
}

/* Takes some events itself, leaves others (E94, E95, E96). */
static void drain_some(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_EVENT next;
	int i;

	if (probe.running++)
		probe.alone = false;
	probe.calls++;
	if (more)
		probe.more = true;
	count(NUMBER(event));
	for (i = 0; i < 3 && !dat_evd_dequeue(probe.evd, &next); i++) {
		probe.taken++;
		count(NUMBER(&next));
	}
	probe.running--;
}

static void flood(DAT_EVD_FLAGS flags)
{
	int i;

	if (!probe_evd(drain_some, NULL, flags))
		return;
	/* Queued beforehand: each upcall but the last finds more. */
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN, NULL));
	for (i = 0; i < FLOOD / 2; i++)
		OK(post_se(probe.evd, i));
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_SINGLE_INSTANCE, NULL));
	for (; i < FLOOD; i++)
		OK(post_se(probe.evd, i));
	probe_wait(&probe.done);
	CHECK(probe.next == FLOOD);
	CHECK(probe.in_order && probe.alone && probe.more && probe.taken);
	OK(dat_evd_free(probe.evd));
}

static void floods(void)
{
	flood(DAT_EVD_DTO_FLAG);
	flood(DAT_EVD_CONNECTION_FLAG);
}

/* Runs as soon as the softirq of the upcalls has had its budget. */
static void note_next(struct tasklet_struct *tasklet)
{
	probe.next_at_tasklet = probe.next;
}

static DECLARE_TASKLET(others, note_next);

static void let_others(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	if (!probe.next)
		tasklet_hi_schedule(&others);
	count(NUMBER(event));
}

static void budget(void)
{
	int i;

	if (!probe_evd(let_others, NULL, DAT_EVD_DTO_FLAG))
		return;
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN, NULL));
	for (i = 0; i < FLOOD; i++)
		OK(post_se(probe.evd, i));
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_SINGLE_INSTANCE, NULL));
	probe_wait(&probe.done);
	tasklet_kill(&others);
	if (!probe.next_at_tasklet || probe.next_at_tasklet > 256)
		fail("the first %lu events in one go", probe.next_at_tasklet);
	OK(dat_evd_free(probe.evd));
}

/* ---- TEARDOWN ----------------------------------------------------------- */

static void stay(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	probe.calls++;
	complete(&probe.entered);
	wait_for_completion(&probe.leave);
}

static void teardown_work(struct work_struct *work)
{
	probe.teardown = dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN,
					       DAT_UPCALL_SAME);
	complete(&probe.done);
}

static void teardown_waits(void)
{
	struct work_struct work;
	DAT_EVENT event;

	if (!probe_evd(stay, NULL, DAT_EVD_CONNECTION_FLAG))
		return;
	INIT_WORK_ONSTACK(&work, teardown_work);
	OK(post_se(probe.evd, 1));
	OK(post_se(probe.evd, 2));
	if (probe_wait(&probe.entered)) {
		/* DISABLE does not wait (E103). */
		OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_DISABLE, NULL));
		OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_SINGLE_INSTANCE,
					 NULL));
		schedule_work(&work);
		CHECK(!completion_done(&probe.done));
		complete_all(&probe.leave);
		probe_wait(&probe.done);
		OK(probe.teardown);
		/* At most the second one started; none runs now. */
		CHECK(probe.calls >= 1);
		probe.calls = 0;
		OK(post_se(probe.evd, 3));
		while (!dat_evd_dequeue(probe.evd, &event))
			probe.taken++;
		CHECK(probe.taken >= 1 && !probe.calls);
	}
	complete_all(&probe.leave);
	flush_work(&work);
	destroy_work_on_stack(&work);
	OK(dat_evd_free(probe.evd));
}

/* E108: what would wait for itself is refused. */
static void try_on_itself(DAT_PVOID data, const DAT_EVENT *event,
			  DAT_BOOLEAN more)
{
	probe.teardown = dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN,
					       DAT_UPCALL_SAME);
	probe.free = dat_evd_free(probe.evd);
	probe.close = dat_ia_close(side_a.ia, DAT_CLOSE_ABRUPT_FLAG);
	/* This is allowed. */
	probe.modify = dat_evd_modify_upcall(probe.evd, DAT_UPCALL_DISABLE,
					     DAT_UPCALL_SAME);
	complete(&probe.done);
}

static void own_upcall(void)
{
	DAT_EVENT event;

	if (!probe_evd(try_on_itself, NULL, DAT_EVD_CONNECTION_FLAG))
		return;
	OK(post_se(probe.evd, 1));
	if (probe_wait(&probe.done)) {
		BAD_STATE(probe.teardown, EVD_IN_USE);
		BAD_STATE(probe.free, EVD_IN_USE);
		BAD_STATE(probe.close, IA_IN_USE);
		OK(probe.modify);
	}
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN, NULL));
	OK(post_se(probe.evd, 2));
	OK(dat_evd_dequeue(probe.evd, &event));
	OK(dat_evd_free(probe.evd));
}

static void replaced(void)
{
	struct collector *first = collector_new(&side_a, 16,
						DAT_EVD_SOFTWARE_FLAG);
	struct collector *second = collector_new(&side_a, 16,
						 DAT_EVD_SOFTWARE_FLAG);
	DAT_UPCALL_OBJECT upcall = { .upcall_func = collect };
	DAT_EVENT event;

	if (!first || !second)
		goto out;
	upcall.instance_data = second;
	OK(post_se(first->evd, 1));
	want_se(first, 1);
	OK(dat_evd_modify_upcall(first->evd, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall));
	OK(post_se(first->evd, 2));
	/* Into the other collector, from the first EVD. */
	CHECK(wait_event_timeout(second->wait,
				 READ_ONCE(second->put) != second->got,
				 msecs_to_jiffies(WAIT_MS)));
	event = second->ring[second->got++];
	CHECK(NUMBER(&event) == 2 && event.evd_handle == first->evd);
	CHECK(first->put == first->got);
out:
	collector_free(first);
	collector_free(second);
}

static void async_evd(void)
{
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (!OK(dat_ia_open((char *)side_a.name, 5, &evd, &ia)))
		return;
	if (OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param))) {
		CHECK(param.upcall_policy == DAT_UPCALL_DISABLE);
		CHECK(param.evd_flags == DAT_EVD_ASYNC_FLAG);
		CHECK(param.evd_qlen >= 5 && param.ia_handle == ia);
	}
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	OK(dat_evd_resize(evd, 10));
	/* I3: objects of one open are no objects of another. */
	BAD_HANDLE(dat_ep_create(side_a.ia, side_a.pz, NULL, NULL, evd, NULL,
				 &event.evd_handle), EVD_CONN);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	BAD_HANDLE(dat_evd_query(evd, 1, &param), EVD_REQUEST);
	BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), IA);
}

/* An IA with everything on it, closed abruptly. */
static void abrupt_close(void)
{
	struct side side = { .name = side_b.name }, saved = side_b;
	struct link link = {};
	DAT_EP_PARAM param;

	if (!side_open(&side))
		goto out;
	side_b = side;
	if (!link_new(&link, NULL, NULL))
		goto out;
	OK(node_recv(&link.b, 0, 64, 1));
	OK(node_send(&link.b, 0, 64, 1, 0));	/* held up: no receive */
	OK(dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG));
	BAD_HANDLE(dat_ep_query(link.b.ep, 1, &param), EP);
	BAD_HANDLE(dat_ep_free(link.b.ep), EP);
	BAD_HANDLE(dat_lmr_free(link.b.mem.lmr), LMR);
	BAD_HANDLE(dat_evd_free(link.b.events->evd), EVD_REQUEST);
	BAD_HANDLE(dat_psp_free(link.listener.psp), PSP);
	BAD_HANDLE(dat_pz_free(side.pz), PZ);
	want_conn(link.a.events, link.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* I17: memory of upcalls and LMRs is ours again. */
	kvfree(link.b.events);
	kvfree(link.listener.requests);
	kvfree(link.b.mem.va);
	memset(&link.b, 0, sizeof(link.b));
	memset(&link.listener, 0, sizeof(link.listener));
out:
	side_b = saved;
	link_free(&link);
}

const struct test_case upcall_cases[] = {
	{ "E12 E41 E43 E49 E50 E51 E54 E56 E60", "software events, lengths",
	  software_events },
	{ "E103 E104 E105 E97", "policies", policies },
	{ "E98 E101", "contexts of upcalls", contexts },
	{ "E99 mt:T17", "calls from an upcall in softirq", calls_in_softirq },
	{ "E99", "calls that may sleep, from an upcall in softirq",
	  sleepers_in_softirq },
	{ "E100", "calls from an upcall in process context", calls_in_process },
	{ "E100 F5 F7 F12 L2 R3 R10 mt:M22 mt:M44",
	  "an endpoint driven, reset, freed by its own upcall",
	  calls_on_live_objects },
	{ "E42 E43 E93 E94 E95 E96", "a flood of events, partly dequeued",
	  floods },
	{ "E113", "a flood of events lets others run", budget },
	{ "E102 E103 E104", "TEARDOWN waits for the running upcall",
	  teardown_waits },
	{ "E108 I18", "from its own upcall", own_upcall },
	{ "E109", "function and instance are replaced", replaced },
	{ "E58 E112 I3 I4 I12", "the async EVD, a second open", async_evd },
	{ "I14 I15 I17 F7", "abrupt close with everything on it",
	  abrupt_close },
	{}
};
