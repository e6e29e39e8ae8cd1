// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Upcalls: policies, the contexts they run in, what they may call, how they end.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <dat/kdat_linux.h>
#include "kernel.h"

#define LMR_IN_USE	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE)
#define EP_CONNECTED	DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED)
#define BAD_EP		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)
#define BAD_RMR		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)

#define NUMBER(event) \
	((unsigned long)(event)->event_data.software_event_data.pointer)

static void policies(void)
{
	struct collector *c = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	if (!c)
		return;
	OK(post_se(c->evd, 1));
	want_se(c->evd, 1);
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
	want_se(c->evd, 3);
	/* E103 */
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME));
	OK(post_se(c->evd, 4));
	CHECK(OK(dat_evd_dequeue(c->evd, &event)) && NUMBER(&event) == 4);
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_SINGLE_INSTANCE,
				 DAT_UPCALL_SAME));
	OK(post_se(c->evd, 5));
	want_se(c->evd, 5);
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
	DAT_RETURN rets[48];
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
	       FAIL("no upcall came");
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

static void noted(DAT_RETURN ret)
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
			FAIL("call %u: %#x, not %#x", i, probe.rets[i], ret);
}

static void all_succeeded(unsigned int nr)
{
	all_returned(nr, DAT_SUCCESS);
}

/* At the first software event: everything that may be called in softirq. */
static void call_in_softirq(DAT_PVOID data, const DAT_EVENT *event,
			    DAT_BOOLEAN more)
{
	struct pair *link = data;
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
	noted(node_recv(&link->a, 0, 64, 1));
	noted(node_send(&link->a, 0, 64, 2, 0));
	noted(node_write(&link->a, 0, 64, &remote, 3, 0));
	noted(node_read(&link->a, 0, 64, &remote, 4, 0));
	noted(dat_rmr_bind(probe.rmr, &window, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
			   (DAT_RMR_COOKIE) { .as_64 = 6 }, 0, &key));
	noted(dat_rmr_query(probe.rmr, DAT_RMR_FIELD_ALL, &rmr));
	noted(dat_ep_get_status(ep, NULL, NULL, NULL));
	noted(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	noted(dat_evd_query(probe.evd, DAT_EVD_FIELD_ALL, &evd));
	noted(dat_lmr_query(link->a.mem.lmr, DAT_LMR_FIELD_ALL, &lmr));
	noted(dat_set_consumer_context(ep, context));
	noted(dat_get_consumer_context(ep, &context));
	noted(dat_get_handle_type(ep, &type));
	noted(dat_strerror(DAT_SUCCESS, &major, &minor));
	noted(post_se(probe.evd, 2));
	noted(dat_evd_dequeue(probe.evd, &next));
	noted(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	complete(&probe.done);
}

static void calls_in_softirq(void)
{
	struct pair *link = scenario_alloc(sizeof(*link));
	struct collector *events;

	if (!link || !probe_evd(call_in_softirq, link,
				DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG))
		return;
	events = collector_new(&side_a, 16, COLLECT_ALL);
	if (!events)
		return;
	link->a.recv = probe.evd;
	link->a.request = probe.evd;
	link->a.conn = events->evd;
	if (!node_new(&link->a, &side_a, THREE_EVDS, NULL) ||
	    !collected_node(&link->b, &side_b, &events) ||
	    !OK(dat_rmr_create(side_a.pz, &probe.rmr)) ||
	    !listener_new(&link->listener, DAT_PSP_CONSUMER_FLAG) ||
	    !pair_connect(&link->a, &link->b, &link->listener) ||
	    !OK(node_recv(&link->b, 0, 64, 5)))
		return;
	OK(post_se(probe.evd, 1));
	if (!probe_wait(&probe.done))
		return;
	CHECK(probe.softirq);
	all_succeeded(17);
	want_conn(link->a.conn, link->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	want_dto(link->b.recv, link->b.ep, 5, DAT_DTO_SUCCESS, 64);
	want_conn(link->b.conn, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* What may sleep, on objects with which it would succeed or be refused otherwise. */
static void try_objects(struct pair *link)
{
	DAT_REGION_DESCRIPTION region = { .for_va = link->a.mem.va };
	DAT_EVD_HANDLE evd = link->a.recv;
	DAT_LMR_TRIPLET part = piece(&link->a.mem, 0, 64);
	DAT_EP_PARAM ep = { .ep_attr = node_attr };
	DAT_IA_HANDLE ia = side_a.ia;
	DAT_IA_ATTR attr;
	DAT_PZ_PARAM pz;
	DAT_HANDLE new;
	DAT_COUNT nr;

	noted(dat_registry_add_provider(NULL, NULL));
	noted(dat_registry_remove_provider(NULL, NULL));
	noted(dat_registry_list_providers(0, &nr, NULL));
	noted(dat_ia_open(side_a.name, 8, &evd, &new));
	noted(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	noted(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	noted(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 64, 0, NULL, NULL));
	noted(dat_pz_create(ia, &new));
	noted(dat_pz_query(side_a.pz, DAT_PZ_FIELD_ALL, &pz));
	noted(dat_pz_free(side_a.pz));
	noted(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, side_a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, 0, &new, NULL, NULL, NULL,
			      NULL));
	noted(dat_lmr_free(link->a.mem.lmr));
	noted(dat_lmr_sync_rdma_read(ia, &part, 1));
	noted(dat_lmr_sync_rdma_write(ia, &part, 1));
	noted(dat_rmr_create(side_a.pz, &new));
	noted(dat_rmr_free(probe.rmr));
	noted(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DEFAULT_FLAG, &new));
	noted(dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	noted(dat_evd_resize(evd, 4096));
	noted(dat_evd_free(evd));
	noted(dat_ep_create(ia, side_a.pz, evd, evd, evd, &node_attr, &new));
	noted(dat_ep_modify(link->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &ep));
}

/* Each call answers otherwise where it may sleep. */
static void try_srq(struct pair *link)
{
	DAT_EVD_HANDLE evd = link->a.recv;
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_SRQ_ATTR *none = NULL;

	noted(dat_srq_create(side_a.ia, side_a.pz, none, &srq));
	noted(dat_ep_create_with_srq(side_a.ia, side_a.pz, evd, evd, evd, srq,
				     &node_attr, &srq));
	noted(dat_srq_resize(srq, 1));
	noted(dat_srq_set_lw(srq, 1));
	noted(dat_srq_free(srq));
	noted(dat_ep_set_watermark(DAT_HANDLE_NULL, 1, 1));
}

static void try_connections(struct pair *link)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&side_b.addr;
	DAT_EVD_HANDLE evd = link->listener.requests;
	DAT_PSP_HANDLE psp = link->listener.psp;
	DAT_CONN_QUAL qual = link->listener.qual;
	DAT_EP_HANDLE a = link->a.ep, b = link->b.ep;
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	DAT_RSP_PARAM rsp_param;
	DAT_PSP_PARAM psp_param;
	DAT_CR_PARAM cr_param;
	DAT_HANDLE new;

	noted(dat_ep_connect(a, address, qual, CONNECT_US, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	noted(dat_ep_dup_connect(a, b, CONNECT_US, 0, NULL, DAT_QOS_BEST_EFFORT));
	noted(dat_ep_reset(a));
	noted(dat_ep_free(a));
	noted(dat_psp_create(side_b.ia, qual + 1, evd, DAT_PSP_CONSUMER_FLAG,
			     &new));
	noted(dat_psp_create_any(side_b.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
				 &new));
	noted(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &psp_param));
	noted(dat_psp_free(psp));
	noted(dat_rsp_create(side_b.ia, qual + 1, b, evd, &new));
	noted(dat_rsp_query(psp, DAT_RSP_FIELD_ALL, &rsp_param));
	noted(dat_rsp_free(psp));
	noted(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	noted(dat_cr_accept(cr, b, 0, NULL));
	noted(dat_cr_reject(cr));
	noted(dat_cr_handoff(cr, qual));
}

static void try_in_softirq(DAT_PVOID data, const DAT_EVENT *event,
			   DAT_BOOLEAN more)
{
	probe.softirq = in_serving_softirq();
	try_objects(data);
	try_connections(data);
	try_srq(data);
	complete(&probe.done);
}

static void sleepers_in_softirq(void)
{
	struct pair *link = scenario_alloc(sizeof(*link));

	if (!link || !probe_evd(try_in_softirq, link, DAT_EVD_DTO_FLAG) ||
	    !collected_pair(link) || !OK(dat_rmr_create(side_a.pz, &probe.rmr)))
		return;
	OK(post_se(probe.evd, 1));
	if (!probe_wait(&probe.done))
		return;
	CHECK(probe.softirq);
	all_returned(43, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	/* Nothing has happened to any of them. */
	OK(node_recv(&link->b, 0, 64, 1));
	OK(node_send(&link->a, 0, 64, 2, 0));
	want_dto(link->b.recv, link->b.ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(link->a.request, link->a.ep, 2, DAT_DTO_SUCCESS, 64);
	OK(dat_ep_disconnect(link->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(link->a.conn, link->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	want_conn(link->b.conn, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_reset(link->a.ep));
	OK(dat_ep_reset(link->b.ep));
	pair_connect(&link->a, &link->b, &link->listener);
}

/* What sleeps: an object of each kind is made and freed. */
static void make_objects(DAT_PVOID data, const DAT_EVENT *event,
			 DAT_BOOLEAN more)
{
	DAT_REGION_DESCRIPTION region = { .for_va = data };
	DAT_HANDLE pz, lmr, evd, ep, psp;
	DAT_CONN_QUAL qual;

	noted(dat_pz_create(side_a.ia, &pz));
	noted(dat_lmr_kcreate(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
			      DAT_MEM_PRIV_ALL_FLAG, 0, &lmr, NULL, NULL, NULL,
			      NULL));
	noted(dat_evd_kcreate(side_a.ia, 8, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DEFAULT_FLAG, &evd));
	noted(dat_ep_create(side_a.ia, pz, evd, evd, evd, &node_attr, &ep));
	noted(dat_psp_create_any(side_a.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG,
				 &psp));
	noted(dat_psp_free(psp));
	noted(dat_ep_free(ep));
	noted(dat_lmr_free(lmr));
	noted(dat_pz_free(pz));
	noted(dat_evd_resize(evd, 16));
	noted(dat_evd_free(evd));
	complete(&probe.done);
}

static void calls_in_process(void)
{
	struct mem mem = {};

	if (!mem_new(&side_a, &mem, 64, DAT_MEM_PRIV_NONE_FLAG) ||
	    !probe_evd(make_objects, mem.va, DAT_EVD_CONNECTION_FLAG))
		return;
	OK(post_se(probe.evd, 1));
	if (probe_wait(&probe.done))
		all_succeeded(11);
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
	struct pair link;
	struct collector *events;
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

	noted(dat_lmr_free(live->mem.lmr));
	/* Nobody receives. */
	noted(node_send(&live->link.a, 0, 64, 2, 0));
	noted(live_bind(live, 3));
	noted(dat_rmr_free(live->rmr));
	noted(dat_rmr_free(live->rmr));
	noted(dat_lmr_free(live->mem.lmr));
	noted(dat_ep_reset(ep));
	noted(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void live_again(struct live *live)
{
	struct node *a = &live->link.a;

	noted(dat_ep_reset(a->ep));
	noted(node_recv(a, 0, 64, 4));
	noted(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			     live->link.listener.qual, CONNECT_US, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void live_end(struct live *live)
{
	struct node *a = &live->link.a;

	noted(dat_ep_free(a->ep));
	noted(dat_ep_free(a->ep));
	noted(dat_lmr_free(a->mem.lmr));
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
			noted(dat_lmr_free(live->mem.lmr));
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		live_again(live);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_SOFTWARE_EVENT:
		if (probe.calls++)
			live_end(live);
		else
			noted(live_bind(live, 1));
		return;
	default:
		return;
	}
	if (event->event_number != DAT_RMR_BIND_COMPLETION_EVENT)
		collect(live->events, event, more);
}

static bool live_new(struct live *live)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = live,
		.upcall_func = live_upcall,
	};
	struct pair *link = &live->link;
	struct collector *events;

	live->events = collector_new(&side_a, 64,
				     COLLECT_ALL | DAT_EVD_RMR_BIND_FLAG);
	if (!live->events)
		return false;
	link->a.recv = live->events->evd;
	return OK(dat_evd_modify_upcall(link->a.recv, DAT_UPCALL_SINGLE_INSTANCE,
					&upcall)) &&
	       node_new(&link->a, &side_a, ONE_EVD, NULL) &&
	       collected_node(&link->b, &side_b, &events) &&
	       listener_new(&link->listener, DAT_PSP_CONSUMER_FLAG) &&
	       mem_new(&side_a, &live->mem, 64, DAT_MEM_PRIV_ALL_FLAG) &&
	       OK(dat_rmr_create(side_a.pz, &live->rmr));
}

/*
 * What the peer sees of both lives.  A software event begins what ends each of them, when
 * both ends have seen its begin: a disconnection that overtakes the last message of the
 * handshake on its way is ACCEPT_COMPLETION_ERROR at the peer, and packets may overtake
 * each other here.
 */
static bool live_peer(struct pair *link)
{
	DAT_EVD_HANDLE mine = link->a.conn, events = link->b.conn;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	return pair_connect(&link->a, &link->b, &link->listener) &&
	       OK(post_se(mine, 0)) &&
	       want_conn(mine, link->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED) &&
	       OK(dat_ep_reset(link->b.ep)) &&
	       next_request(&link->listener, &cr) &&
	       OK(dat_cr_accept(cr, link->b.ep, 0, NULL)) &&
	       want_event(mine, DAT_CONNECTION_EVENT_ESTABLISHED, &event) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       OK(post_se(mine, 0)) &&
	       want_conn(events, link->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void calls_on_live_objects(void)
{
	struct live *live = scenario_alloc(sizeof(*live));
	unsigned int i;

	probe_new();
	if (!live || !live_new(live) || !live_peer(&live->link) ||
	    !probe_wait(&probe.done))
		return;
	CHECK_EQ(probe.nr_rets, ARRAY_SIZE(live_calls));
	for (i = 0; i < probe.nr_rets; i++)
		if (probe.rets[i] != live_calls[i].ret)
			FAIL("%s: %#x, not %#x", live_calls[i].call,
			     probe.rets[i], live_calls[i].ret);
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
		FAIL("the first %lu events in one go", probe.next_at_tasklet);
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
		return;
	upcall.instance_data = second;
	OK(post_se(first->evd, 1));
	want_se(first->evd, 1);
	OK(dat_evd_modify_upcall(first->evd, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall));
	OK(post_se(first->evd, 2));
	/* Into the other collector, from the first EVD. */
	if (CHECK(event_within(second->evd, WAIT_MS, &event)))
		CHECK(NUMBER(&event) == 2 && event.evd_handle == first->evd);
	CHECK(first->put == first->got);
}

/* ---- the calls of DAT 2.0 ----------------------------------------------- */

/*
 * An upcall in softirq that was started has run when this returns: the runners of a processor
 * have their turn one after the other, and that of @other is started now.
 */
static void let_upcalls_run(struct collector *other)
{
	OK(post_se(other->evd, 0));
	want_se(other->evd, 0);
}

/* E107: what is queued stays, until something new starts an upcall for all of it. */
static void new_only(void)
{
	struct collector *c = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);
	struct collector *other = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;

	if (!c || !other)
		return;
	OK(kdat_evd_modify_upcall(c->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_NEW));
	OK(post_se(c->evd, 1));
	OK(post_se(c->evd, 2));
	OK(kdat_evd_modify_upcall(c->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_NEW));
	let_upcalls_run(other);
	CHECK(OK(dat_evd_dequeue(c->evd, &event)) && NUMBER(&event) == 1);
	OK(post_se(c->evd, 3));
	want_se(c->evd, 2);
	want_se(c->evd, 3);
	OK(post_se(c->evd, 4));
	want_se(c->evd, 4);
	/* E105: the other flag, and the call of DAT 1.2. */
	OK(dat_evd_modify_upcall(c->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	OK(post_se(c->evd, 5));
	OK(kdat_evd_modify_upcall(c->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_NEW));
	let_upcalls_run(other);
	OK(kdat_evd_modify_upcall(c->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_ANY));
	want_se(c->evd, 5);
}

static void told_only(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	probe.calls++;
	probe.more = !event && more;
	complete(&probe.entered);
}

static bool is_next(unsigned long number)
{
	DAT_EVENT event;

	return CHECK(OK(dat_evd_dequeue(probe.evd, &event)) && NUMBER(&event) == number);
}

/* E115: the upcall only tells, for each that comes, and in no vain run. */
static void notify_only(void)
{
	struct collector *other = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);
	DAT_UPCALL_OBJECT object = { .upcall_func = told_only };
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	if (!other || !probe_evd(told_only, NULL, DAT_EVD_DTO_FLAG))
		return;
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	BAD_ARG(dat_evd_modify_upcall(probe.evd, KDAT_UPCALL_NOTIFY, &object), 2);
	OK(post_se(probe.evd, 1));
	OK(kdat_evd_modify_upcall(probe.evd, KDAT_UPCALL_NOTIFY, &object, DAT_UPCALL_INVOC_ANY));
	if (probe_wait(&probe.entered))
		CHECK(probe.more && probe.calls == 1);
	if (OK(dat_evd_query(probe.evd, DAT_EVD_FIELD_ALL, &param)))
		CHECK(param.upcall_policy == KDAT_UPCALL_NOTIFY);
	/* A run that finds nothing new: its completion queue is there now, and is armed. */
	OK(dat_ep_create(side_a.ia, side_a.pz, probe.evd, probe.evd, DAT_HANDLE_NULL, NULL, &ep));
	let_upcalls_run(other);
	CHECK(probe.calls == 1);
	OK(post_se(probe.evd, 2));
	if (probe_wait(&probe.entered))
		CHECK(probe.calls == 2 && is_next(1) && is_next(2));
	OK(dat_evd_modify_upcall(probe.evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME));
	OK(post_se(probe.evd, 3));
	OK(kdat_evd_modify_upcall(probe.evd, KDAT_UPCALL_NOTIFY, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_NEW));
	let_upcalls_run(other);
	CHECK(probe.calls == 2);
	OK(post_se(probe.evd, 4));
	if (probe_wait(&probe.entered))
		CHECK(probe.calls == 3 && is_next(3) && is_next(4));
	IS(dat_evd_dequeue(probe.evd, &event), DAT_QUEUE_EMPTY, 0);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(probe.evd));
	/* E101, E102: nothing has come, and its end is no arrival. */
	if (!probe_evd(told_only, NULL, DAT_EVD_DTO_FLAG))
		return;
	OK(kdat_evd_modify_upcall(probe.evd, KDAT_UPCALL_NOTIFY, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_ANY));
	OK(dat_evd_free(probe.evd));
	CHECK(!probe.calls);
}

/* E3, E110: the checks of the flag, of the policy and of the function, in this order */
static void flag_values(void)
{
	static const DAT_UPCALL_OBJECT none;
	struct collector *c = collector_new(&side_a, 16, DAT_EVD_SOFTWARE_FLAG);

	if (!c)
		return;
	BAD_ARG(kdat_evd_modify_upcall(c->evd, 3, &none, 2), 2);
	BAD_ARG(kdat_evd_modify_upcall(c->evd, KDAT_UPCALL_NOTIFY, &none, 2), 3);
	BAD_ARG(kdat_evd_modify_upcall(c->evd, KDAT_UPCALL_NOTIFY, DAT_UPCALL_SAME, 2), 4);
	BAD_ARG(kdat_evd_modify_upcall(c->evd, DAT_UPCALL_TEARDOWN, &none, 2), 4);
	BAD_HANDLE(kdat_evd_modify_upcall(side_a.ia, 0, NULL, 0), EVD_REQUEST);
	/* Nothing has changed. */
	OK(post_se(c->evd, 1));
	want_se(c->evd, 1);
}

/* E106: the last of each kind notifies, and the upcall sees all, in order. */
static void notifications(void)
{
	struct collector *requests, *recvs;
	struct pair p = {};

	requests = collector_new(&side_a, 64, DAT_EVD_DTO_FLAG);
	recvs = collector_new(&side_b, 64, DAT_EVD_DTO_FLAG);
	if (!requests || !recvs)
		return;
	p.a.request = requests->evd;
	p.b.recv = recvs->evd;
	quiet_transfers(&p);
}

/* An IA that is closed with upcalls on it. */
static void closed_with_upcalls(void)
{
	struct pair p = {};

	if (!collected_pair(&p))
		return;
	OK(node_recv(&p.b, 0, 64, 1));
	/* Held up, since nobody receives it; on iWARP that would end the connection. */
	if (!side_is_iwarp(&side_b))
		OK(node_send(&p.b, 0, 64, 1, 0));
	side_close(&side_b, DAT_CLOSE_ABRUPT_FLAG);
	BAD_HANDLE(dat_evd_free(p.b.recv), EVD_REQUEST);
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* E112 */
static void async_is_disabled(void)
{
	DAT_EVD_PARAM param;

	if (OK(dat_evd_query(side_a.async, DAT_EVD_FIELD_ALL, &param)))
		CHECK(param.upcall_policy == DAT_UPCALL_DISABLE &&
		      !param.upcall.upcall_func);
}

static const struct scenario scenarios[] = {
	SCENARIO("E103 E104 E105 E97 policies", policies),
	SCENARIO("E98 E101 contexts of upcalls", contexts),
	SCENARIO("E99 mt:T17 calls from an upcall in softirq", calls_in_softirq),
	SCENARIO("E99 calls that may sleep, from an upcall in softirq",
		 sleepers_in_softirq),
	SCENARIO("E100 calls from an upcall in process context", calls_in_process),
	SCENARIO_IB("E100 F5 F7 F12 L2 R3 R10 mt:M22 mt:M44 "
		    "an endpoint driven, reset, freed by its own upcall",
		    calls_on_live_objects),
	SCENARIO("E42 E43 E93 E94 E95 E96 a flood of events, partly dequeued",
		 floods),
	SCENARIO("E113 a flood of events lets others run", budget),
	SCENARIO("E102 E103 E104 TEARDOWN waits for the running upcall",
		 teardown_waits),
	SCENARIO("E108 I18 from its own upcall", own_upcall),
	SCENARIO("E109 function and instance are replaced", replaced),
	SCENARIO("E105 E107 upcalls for what is new only", new_only),
	SCENARIO("E101 E102 E103 E115 upcalls that only notify", notify_only),
	SCENARIO("E3 E110 kdat_evd_modify_upcall: values", flag_values),
	SCENARIO("E106 mt:M60 mt:T21 mt:T22 mt:T28 unsignalled and solicited completions notify",
		 notifications, .srq = SRQ_B),
	SCENARIO("I14 I15 I17 F7 abrupt close with upcalls",
		 closed_with_upcalls),
	SCENARIO("E112 the async EVD has no upcall", async_is_disabled),
};

SCENARIO_TABLE(upcall_table);
