// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event dispatchers: software events, lengths, resizing, and many threads that take
 * events.  How consumers are notified differs between the faces: kernel/upcall.c,
 * user/wait.c, user/cno.c.
 */
#include "rules.h"

#define SOFTWARE	DAT_EVD_SOFTWARE_FLAG

static DAT_COUNT qlen_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	return OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)) ?
	       param.evd_qlen : 0;
}

static bool takes(DAT_EVD_HANDLE evd, u64 number)
{
	DAT_EVENT event;

	return OK(dat_evd_dequeue(evd, &event)) &&
	       CHECK_EQ(event.event_number, DAT_SOFTWARE_EVENT) &&
	       CHECK(event.evd_handle == evd) &&
	       CHECK_EQ((uintptr_t)event.event_data.software_event_data.pointer,
			number);
}

static void empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
}

/* E43, E51: in order, exactly as many as fit, and again. */
static void software_events(void)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	int qlen, i;

	if (!OK(platform_evd_create(side_a.ia, 8, SOFTWARE, &evd)) ||
	    !OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)))
		return;
	CHECK(param.ia_handle == side_a.ia);
	CHECK_EQ(param.evd_flags, SOFTWARE);
	qlen = param.evd_qlen;
	CHECK(qlen >= 8);
	empty(evd);
	for (i = 0; i < qlen; i++)
		OK(post_se(evd, i));
	IS(post_se(evd, 99999), DAT_QUEUE_FULL, 0);
	for (i = 0; i < qlen / 2; i++)
		takes(evd, i);
	for (i = qlen; i < qlen + qlen / 2; i++)
		OK(post_se(evd, i));
	IS(post_se(evd, 99999), DAT_QUEUE_FULL, 0);
	for (i = qlen / 2; i < qlen + qlen / 2; i++)
		takes(evd, i);
	empty(evd);
	/* No overflow is reported: the caller was told. */
	empty(side_a.async);
	/* E60: with an event. */
	OK(post_se(evd, 1));
	OK(dat_evd_free(evd));
	BAD_HANDLE(dat_evd_free(evd), EVD_REQUEST);
}

static void resize(void)
{
	DAT_COUNT before, i, next;
	DAT_EVD_HANDLE evd;

	if (!OK(platform_evd_create(side_a.ia, 4, SOFTWARE, &evd)))
		return;
	before = qlen_of(evd);
	for (i = 0; i < before; i++)
		OK(post_se(evd, i));
	/* E54 */
	BAD_STATE(dat_evd_resize(evd, before - 1), EVD_IN_USE);
	OK(dat_evd_resize(evd, before));
	takes(evd, 0);
	takes(evd, 1);
	OK(dat_evd_resize(evd, 1000));
	CHECK(qlen_of(evd) >= 1000);
	for (i = before; i < 1000; i++)
		OK(post_se(evd, i));
	BAD_STATE(dat_evd_resize(evd, 100), EVD_IN_USE);
	for (next = 2; next < 600; next++)
		takes(evd, next);
	OK(dat_evd_resize(evd, 4000));
	for (; next < 1000; next++)
		takes(evd, next);
	empty(evd);
	OK(dat_evd_resize(evd, 4));
	before = qlen_of(evd);
	for (i = 0; i < before; i++)
		OK(post_se(evd, i));
	IS(post_se(evd, 99999), DAT_QUEUE_FULL, 0);
	for (i = 0; i < before; i++)
		takes(evd, i);
	/* E58: the IA's own may be resized, too. */
	OK(dat_evd_resize(side_a.async, 100));
	CHECK(qlen_of(side_a.async) >= 100);
}

/* ---- many takers, many posters ------------------------------------------ */

#define TAKERS		4
#define POSTERS		2
#define PER_POSTER	5000
#define POSTED		(POSTERS * PER_POSTER)

struct market {
	DAT_EVD_HANDLE evd;
	u64 posters;
	u64 total;
	u64 taken[POSTED];
};

/* E43: each taker sees each poster's events in order. */
static int take(void *arg)
{
	struct market *market = arg;
	u64 last[POSTERS] = {};
	DAT_EVENT event;
	u64 n;

	while (read_u64(&market->total) < POSTED && !failed() &&
	       !scenario_over()) {
		if (dat_evd_dequeue(market->evd, &event)) {
			sleep_us(50);
			continue;
		}
		n = (uintptr_t)event.event_data.software_event_data.pointer;
		if (!CHECK(n < POSTED) ||
		    !CHECK(n % PER_POSTER + 1 > last[n / PER_POSTER]))
			break;
		last[n / PER_POSTER] = n % PER_POSTER + 1;
		add_u64(&market->taken[n], 1);
		add_u64(&market->total, 1);
	}
	return 0;
}

static int post(void *arg)
{
	struct market *market = arg;
	u64 from = (add_u64(&market->posters, 1) - 1) * PER_POSTER, n;

	for (n = from; n < from + PER_POSTER; n++)
		while (post_se(market->evd, n)) {
			if (failed() || scenario_over())
				return 0;
			sleep_us(50);
		}
	return 0;
}

/* E42: each event to exactly one, whatever the queue goes through. */
static void many_takers(void)
{
	struct market *market = scenario_alloc(sizeof(*market));
	struct thread *threads = scenario_alloc((TAKERS + POSTERS) *
						sizeof(*threads));
	int i;

	if (!market || !threads ||
	    !OK(platform_evd_create(side_a.ia, 100, SOFTWARE, &market->evd)))
		return;
	for (i = 0; i < TAKERS + POSTERS; i++)
		if (!thread_start(&threads[i], i < TAKERS ? take : post, market))
			return;
	for (i = 0; i < TAKERS + POSTERS; i++)
		thread_join(&threads[i]);
	for (i = 0; i < POSTED; i++)
		if (!CHECK_EQ(market->taken[i], 1))
			break;
	empty(market->evd);
}

static const struct scenario scenarios[] = {
	SCENARIO("E12 E41 E43 E50 E51 E60 software events", software_events),
	SCENARIO("E12 E49 E53 E54 E56 E58 resize", resize),
	SCENARIO("E42 E43 E114 many takers, many posters", many_takers),
};

SCENARIO_TABLE(evd_table);
