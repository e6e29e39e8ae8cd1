// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Event Dispatchers (ev: E12..E17, E23..E62). */
#include <limits.h>
#include <signal.h>
#include "rig.h"

static DAT_EVENT soft(uintptr_t number)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = (void *)number;
	return event;
}

static DAT_RETURN post(DAT_EVD_HANDLE evd, uintptr_t number)
{
	DAT_EVENT event = soft(number);

	return dat_evd_post_se(evd, &event);
}

static void is_soft(DAT_EVD_HANDLE evd, const DAT_EVENT *event,
		    uintptr_t number)
{
	CHECK_EQ(event->event_number, DAT_SOFTWARE_EVENT);
	CHECK(event->evd_handle == evd);
	CHECK_EQ((uintptr_t)event->event_data.software_event_data.pointer,
		 number);
}

static void takes(DAT_EVD_HANDLE evd, uintptr_t number)
{
	DAT_EVENT event;

	OK(dat_evd_dequeue(evd, &event));
	is_soft(evd, &event, number);
}

static DAT_EVD_HANDLE soft_evd(DAT_COUNT qlen)
{
	return new_evd(&a, qlen, DAT_EVD_SOFTWARE_FLAG);
}

static DAT_COUNT qlen_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return param.evd_qlen;
}

static void create_arguments(void)
{
	DAT_EVD_HANDLE evd;

	rig_open(&a);
	CHECK_RET(dat_evd_create(a.ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd), ARG(2));
	CHECK_RET(dat_evd_create(a.ia, -5, NULL, DAT_EVD_DTO_FLAG, &evd),
		  ARG(2));
	CHECK_RET(dat_evd_create(a.ia, 8, NULL, 0, &evd), ARG(4));
	CHECK_RET(dat_evd_create(a.ia, 8, NULL, 0x2, &evd), ARG(4));
	CHECK_RET(dat_evd_create(a.ia, 8, NULL, 0x3f1, &evd), ARG(4));
	CHECK_RET(dat_evd_create(a.ia, 8, NULL, DAT_EVD_DTO_FLAG, NULL), ARG(5));
	CHECK_RET(dat_evd_create(a.ia, a.attr.max_evd_qlen + 1, NULL,
				 DAT_EVD_DTO_FLAG, &evd),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	OK(dat_evd_create(a.ia, 8, NULL, 0x1f1, &evd));
	OK(dat_evd_free(evd));
	CHECK_RET(dat_evd_free(evd), HANDLE(EVD_REQUEST));
}

static void query(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	rig_open(&a);
	evd = soft_evd(5);
	CHECK_RET(dat_evd_query(evd, 0x20, &param), ARG(2));
	CHECK_RET(dat_evd_query(evd, 0, NULL), ARG(3));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia);
	CHECK(param.evd_qlen >= 5);
	CHECK_EQ(param.evd_flags, DAT_EVD_SOFTWARE_FLAG);
	CHECK(!param.cno_handle);
	CHECK_EQ(param.evd_state, DAT_EVD_STATE_ENABLED |
		 DAT_EVD_STATE_WAITABLE | DAT_EVD_STATE_CONFIG_THRESHOLD);
	OK(dat_evd_disable(evd));
	OK(dat_evd_disable(evd));
	OK(dat_evd_set_unwaitable(evd));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state, DAT_EVD_STATE_DISABLED |
		 DAT_EVD_STATE_UNWAITABLE | DAT_EVD_STATE_CONFIG_THRESHOLD);
	OK(dat_evd_enable(evd));
	OK(dat_evd_enable(evd));
	OK(dat_evd_clear_unwaitable(evd));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state, DAT_EVD_STATE_ENABLED |
		 DAT_EVD_STATE_WAITABLE | DAT_EVD_STATE_CONFIG_THRESHOLD);

	/* E22: what feeds it shows */
	new_ep_flags(&a, NULL, a.req, 0, DAT_COMPLETION_UNSIGNALLED_FLAG);
	OK(dat_evd_query(a.req, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state & 0x30, DAT_EVD_STATE_CONFIG_NOTIFY);
	new_ep_flags(&a, a.recv, NULL, DAT_COMPLETION_SOLICITED_WAIT_FLAG, 0);
	OK(dat_evd_query(a.recv, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state & 0x30, DAT_EVD_STATE_CONFIG_SOLICITED);
}

static void feeding(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;

	rig_open(&a);
	evd = soft_evd(4);
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.conn, NULL, NULL, NULL, &ep),
		  HANDLE(EVD_RECV));
	CHECK_RET(dat_ep_create(a.ia, a.pz, NULL, a.cr, NULL, NULL, &ep),
		  HANDLE(EVD_REQUEST));
	CHECK_RET(dat_ep_create(a.ia, a.pz, NULL, NULL, a.req, NULL, &ep),
		  HANDLE(EVD_CONN));
	CHECK_RET(dat_psp_create(a.ia, 20001, a.conn, 0, &psp), HANDLE(EVD_CR));
	CHECK_RET(post(a.req, 1), ARG(1));
	OK(post(evd, 1));
	/* E59: what is fed is not freed */
	OK(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, NULL, &ep));
	CHECK_RET(dat_evd_free(a.recv), STATE(EVD_IN_USE));
	CHECK_RET(dat_evd_free(a.req), STATE(EVD_IN_USE));
	CHECK_RET(dat_evd_free(a.conn), STATE(EVD_IN_USE));
	CHECK_RET(dat_evd_free(a.async), STATE(EVD_IN_USE));
	OK(dat_ep_free(ep));
	OK(dat_evd_free(a.recv));
	OK(dat_evd_free(a.req));
	OK(dat_evd_free(a.conn));
}

static void completion_flags_agree(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EVD_HANDLE merged;
	DAT_EP_HANDLE ep;

	rig_open(&a);
	merged = new_evd(&a, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, merged, merged, &attr, &ep),
		  ARG(6));
	OK(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, &attr, &ep));
	attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, a.req, a.conn, &attr, &ep),
		  ARG(6));
	attr.request_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, NULL, a.conn, &attr, &ep),
		  ARG(6));
	attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr.recv_completion_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	CHECK_RET(dat_ep_create(a.ia, a.pz, a.recv, NULL, a.conn, &attr, &ep),
		  ARG(6));
}

static void software_events(void)
{
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;
	DAT_COUNT qlen;
	int i;

	rig_open(&a);
	evd = soft_evd(8);
	CHECK_RET(dat_evd_post_se(evd, NULL), ARG(2));
	event = soft(0);
	event.event_number = DAT_DTO_COMPLETION_EVENT;
	CHECK_RET(dat_evd_post_se(evd, &event), ARG(2));
	no_event(evd);

	/* E43 E51: in order, exactly as many as fit, and again */
	qlen = qlen_of(evd);
	CHECK(qlen >= 8);
	for (i = 0; i < qlen; i++)
		OK(post(evd, i));
	CHECK_RET(post(evd, 99999), ERR2(QUEUE_FULL, 0));
	for (i = 0; i < qlen / 2; i++)
		takes(evd, i);
	for (i = qlen; i < qlen + qlen / 2; i++)
		OK(post(evd, i));
	CHECK_RET(post(evd, 99999), ERR2(QUEUE_FULL, 0));
	for (i = qlen / 2; i < qlen + qlen / 2; i++)
		takes(evd, i);
	no_event(evd);
	/* no overflow event: the caller was told */
	no_event(a.async);
}

static void waiting(void)
{
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more = -1, qlen;
	double start;

	rig_open(&a);
	evd = soft_evd(8);
	qlen = qlen_of(evd);
	CHECK_RET(dat_evd_wait(evd, 0, 0, &event, &more), ARG(3));
	CHECK_RET(dat_evd_wait(evd, 0, -1, &event, &more), ARG(3));
	CHECK_RET(dat_evd_wait(evd, 0, qlen + 1, &event, &more), ARG(3));
	CHECK_RET(dat_evd_wait(evd, 0, 1, NULL, &more), ARG(4));
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, NULL), ARG(5));
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &more),
		  ERR2(TIMEOUT_EXPIRED, 0));
	CHECK_EQ(more, 0);
	start = check_now();
	CHECK_RET(dat_evd_wait(evd, 50000, 1, &event, &more),
		  ERR2(TIMEOUT_EXPIRED, 0));
	CHECK(check_now() - start >= 0.05);

	OK(post(evd, 1));
	OK(post(evd, 2));
	more = -1;
	CHECK_RET(dat_evd_wait(evd, 10000, 3, &event, &more),
		  ERR2(TIMEOUT_EXPIRED, 0));
	CHECK_EQ(more, 2);
	OK(dat_evd_wait(evd, 0, 2, &event, &more));
	is_soft(evd, &event, 1);
	CHECK_EQ(more, 1);
	OK(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	is_soft(evd, &event, 2);
	CHECK_EQ(more, 0);
}

static void waiter_owns(void)
{
	struct waiter w;
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;

	rig_open(&a);
	evd = soft_evd(8);
	start_waiter(&w, evd, LONG, 2);
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &more), STATE(EVD_WAITER));
	CHECK_RET(dat_evd_dequeue(evd, &event), STATE(EVD_WAITER));
	CHECK_RET(dat_evd_resize(evd, 16), STATE(EVD_WAITER));
	CHECK_RET(dat_evd_free(evd), STATE(EVD_WAITER));
	OK(post(evd, 1));
	CHECK_RET(dat_evd_dequeue(evd, &event), STATE(EVD_WAITER));
	OK(post(evd, 2));
	end_waiter(&w, DAT_SUCCESS);
	is_soft(evd, &w.event, 1);
	CHECK_EQ(w.more, 1);
	takes(evd, 2);
	OK(dat_evd_resize(evd, 16));
	OK(dat_evd_free(evd));
}

static void unwaitable(void)
{
	struct waiter w;
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;

	rig_open(&a);
	evd = soft_evd(8);
	start_waiter(&w, evd, LONG, 2);
	OK(post(evd, 7));
	OK(dat_evd_set_unwaitable(evd));
	OK(dat_evd_clear_unwaitable(evd));
	end_waiter(&w, STATE(EVD_UNWAITABLE));

	OK(dat_evd_set_unwaitable(evd));
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &more),
		  STATE(EVD_UNWAITABLE));
	CHECK_RET(dat_evd_wait(evd, LONG, 2, &event, &more),
		  STATE(EVD_UNWAITABLE));
	takes(evd, 7);	/* E28 */
	OK(dat_evd_clear_unwaitable(evd));
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &more),
		  ERR2(TIMEOUT_EXPIRED, 0));
}

static void on_signal(int sig)
{
	(void)sig;
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct waiter w;
	DAT_EVD_HANDLE evd;

	rig_open(&a);
	evd = soft_evd(8);
	action.sa_flags = SA_RESTART;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	start_waiter(&w, evd, LONG, 2);
	OK(post(evd, 5));
	CHECK(!pthread_kill(w.thread, SIGUSR1));
	end_waiter(&w, ERR2(INTERRUPTED_CALL, 0));
	CHECK_EQ(w.more, 1);
	takes(evd, 5);

	/* A signal that is ignored does not count. */
	action.sa_handler = SIG_IGN;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	start_waiter(&w, evd, LONG, 1);
	CHECK(!pthread_kill(w.thread, SIGUSR1));
	OK(post(evd, 6));
	end_waiter(&w, DAT_SUCCESS);
}

static void close_under_waiter(void)
{
	struct waiter w, async;

	rig_open(&a);
	start_waiter(&w, soft_evd(8), LONG, 1);
	start_waiter(&async, a.async, LONG, 1);
	OK(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	end_waiter(&w, ERR2(ABORT, 0));
	end_waiter(&async, ERR2(ABORT, 0));
}

static void resize(void)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT before, i, next;

	rig_open(&a);
	evd = soft_evd(4);
	CHECK_RET(dat_evd_resize(evd, 0), ARG(2));
	CHECK_RET(dat_evd_resize(evd, -1), ARG(2));
	CHECK_RET(dat_evd_resize(evd, a.attr.max_evd_qlen + 1), ARG(2));
	CHECK_RET(dat_evd_resize(evd, INT_MAX), ARG(2));
	before = qlen_of(evd);
	for (i = 0; i < before; i++)
		OK(post(evd, i));
	takes(evd, 0);
	takes(evd, 1);
	OK(dat_evd_resize(evd, 1000));
	CHECK(qlen_of(evd) >= 1000);
	for (i = before; i < 1000; i++)
		OK(post(evd, i));
	CHECK_RET(dat_evd_resize(evd, 100), STATE(EVD_IN_USE));
	next = 2;
	for (; next < 600; next++)
		takes(evd, next);
	OK(dat_evd_resize(evd, 4000));
	for (; next < 1000; next++)
		takes(evd, next);
	no_event(evd);
	OK(dat_evd_resize(evd, 4));
	OK(post(evd, 1));
	takes(evd, 1);
	/* E58: the IA's own may be resized, too */
	OK(dat_evd_resize(a.async, 100));
}

#define TAKERS	4
#define PER_POSTER	5000

static _Atomic unsigned int taken[2 * PER_POSTER];
static _Atomic unsigned int total;
static _Atomic bool bad;

static void *take_thread(void *arg)
{
	DAT_EVD_HANDLE evd = arg;
	uintptr_t last[2] = { 0, 0 };
	DAT_EVENT event;
	uintptr_t n;

	while (total < 2 * PER_POSTER) {
		if (dat_evd_dequeue(evd, &event)) {
			usleep(50);
			continue;
		}
		n = (uintptr_t)event.event_data.software_event_data.pointer;
		/* E43: one poster's come in order, to each taker */
		if (n % PER_POSTER + 1 <= last[n / PER_POSTER])
			bad = true;
		last[n / PER_POSTER] = n % PER_POSTER + 1;
		taken[n]++;
		total++;
	}
	return NULL;
}

static DAT_EVD_HANDLE shared_evd;

static void *post_thread(void *arg)
{
	uintptr_t from = (uintptr_t)arg, n;

	for (n = from; n < from + PER_POSTER; n++)
		while (post(shared_evd, n))
			usleep(50);
	return NULL;
}

/* E42: each event to exactly one, whatever the ring goes through. */
static void many_takers(void)
{
	pthread_t takers[TAKERS], posters[2];
	unsigned int i;

	rig_open(&a);
	shared_evd = soft_evd(100);
	memset(taken, 0, sizeof(taken));
	total = 0;
	for (i = 0; i < TAKERS; i++)
		pthread_create(&takers[i], NULL, take_thread, shared_evd);
	for (i = 0; i < 2; i++)
		pthread_create(&posters[i], NULL, post_thread,
			       (void *)(uintptr_t)(i * PER_POSTER));
	for (i = 0; i < 2; i++)
		pthread_join(posters[i], NULL);
	for (i = 0; i < TAKERS; i++)
		pthread_join(takers[i], NULL);
	for (i = 0; i < 2 * PER_POSTER; i++)
		CHECK_EQ(taken[i], 1);
	CHECK(!bad);
	no_event(shared_evd);
}

static const struct check_case cases[] = {
	{ "E13 dat_evd_create: arguments", create_arguments },
	{ "E12 E22 E24 dat_evd_query", query },
	{ "E17 E58 E59 what may feed an EVD", feeding },
	{ "E21 completion flags on one EVD agree", completion_flags_agree },
	{ "E41 E43 E50 E51 software events", software_events },
	{ "E30..E34 E40 dat_evd_wait", waiting },
	{ "E30 E35 E36 E52 E55 E62 a waiter owns its EVD", waiter_owns },
	{ "E26 E27 E28 unwaitable", unwaitable },
	{ "E38 signals", signals },
	{ "E39 an IA closed under waiters", close_under_waiter },
	{ "E49 E53 E54 E56 E58 resize", resize },
	{ "E42 E43 E114 many takers, many posters", many_takers },
};

SET(evd_set);
