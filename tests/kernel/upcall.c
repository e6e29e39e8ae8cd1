// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event dispatchers: upcall policies, their contexts and ends; software events;
 * lengths; queries.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "kdat_rules.h"

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
	bool softirq;
	bool task;
	bool more;
	bool in_order;
	bool alone;
	DAT_RETURN teardown, free, close, modify;
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

static bool probe_evd(DAT_UPCALL_FUNC func, DAT_EVD_FLAGS flags)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = func };

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
	complete(&probe.entered);
}

static void contexts(void)
{
	if (probe_evd(note_context, DAT_EVD_DTO_FLAG)) {
		OK(post_se(probe.evd, 1));
		if (probe_wait(&probe.entered))
			CHECK(probe.softirq && !probe.task);
		OK(dat_evd_free(probe.evd));
	}
	if (probe_evd(note_context, DAT_EVD_CONNECTION_FLAG)) {
		OK(post_se(probe.evd, 1));
		if (probe_wait(&probe.entered))
			CHECK(probe.task && !probe.softirq);
		OK(dat_evd_free(probe.evd));
	}
}

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

	if (!probe_evd(drain_some, flags))
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

	if (!probe_evd(stay, DAT_EVD_CONNECTION_FLAG))
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

	if (!probe_evd(try_on_itself, DAT_EVD_CONNECTION_FLAG))
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
	{ "E42 E43 E94 E95 E96 E113", "a flood of events, partly dequeued",
	  floods },
	{ "E102 E103 E104", "TEARDOWN waits for the running upcall",
	  teardown_waits },
	{ "E100 E108 I18", "from its own upcall", own_upcall },
	{ "E109", "function and instance are replaced", replaced },
	{ "E58 E112 I3 I4 I12", "the async EVD, a second open", async_evd },
	{ "I14 I15 I17 F7", "abrupt close with everything on it",
	  abrupt_close },
	{}
};
