// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The low watermark of a shared receive queue, for a thread that posts receives when few are
 * left: it sleeps on the asynchronous EVD, by a CNO or in dat_evd_wait(), or looks there, while
 * the threads that take the receives do something else.
 */
#include "../pool.h"
#include "user.h"

#define ROUNDS		200
#define FULL		16
#define MARK		4
/* So many messages that fewer than the mark are left behind them. */
#define MESSAGES	(FULL - MARK + 1)

static bool low_pair(struct pair *pair, struct pool *pool)
{
	return marks_here() && pool_new(pool) && pool_pair(pair, pool, THREE_EVDS);
}

/* The mark is set before the thread sleeps, and after that. */
static void wakes_waiter(void)
{
	struct waiter w = {};
	struct pool pool = {};
	struct pair pair = {};
	int i;

	if (!low_pair(&pair, &pool))
		return;
	for (i = 0; i < 2 && !failed(); i++) {
		pool_fill(&pool, FULL);
		if (i)
			start_waiter(&w, side_b.async, WAIT_US, 1);
		OK(dat_srq_set_lw(pool.srq, MARK));
		if (!i)
			start_waiter(&w, side_b.async, WAIT_US, 1);
		pool_send(&pair, MESSAGES - 1);
		CHECK(sleeps(w.tid));
		pool_send(&pair, 1);
		end_waiter(&w, DAT_SUCCESS);
		is_low(&pool, &w.event);
		/* It looks once more when its time is over. */
		CHECK(w.took_us < WAIT_MS * 1000u);
		pool_send(&pair, MARK - 1);
		pool_taken(&pair, FULL);
		silent(side_b.async);
	}
}

static void triggers_cno(void)
{
	struct pool pool = {};
	struct pair pair = {};
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;

	if (!low_pair(&pair, &pool) ||
	    !OK(dat_cno_create(side_b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)))
		return;
	OK(dat_evd_modify_cno(side_b.async, cno));
	pool_fill(&pool, FULL);
	OK(dat_srq_set_lw(pool.srq, MARK));
	pool_send(&pair, MESSAGES - 1);
	IS(dat_cno_wait(cno, 0, &evd), DAT_QUEUE_EMPTY, 0);
	pool_send(&pair, 1);
	OK(dat_cno_wait(cno, WAIT_US, &evd));
	CHECK(evd == side_b.async);
	want_low(&pool);
	OK(dat_evd_modify_cno(side_b.async, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
}

/* Nobody sleeps on the EVD: dat_evd_dequeue(), and a wait that has no time. */
static void seen_by_look(void)
{
	struct pool pool = {};
	struct pair pair = {};
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT more;
	u64 end;
	int i;

	if (!low_pair(&pair, &pool))
		return;
	for (i = 0; i < 2 && !failed(); i++) {
		pool_fill(&pool, FULL);
		OK(dat_srq_set_lw(pool.srq, MARK));
		pool_send(&pair, FULL);
		end = deadline();
		do {
			ret = i ? dat_evd_wait(side_b.async, 0, 1, &event, &more) :
				  dat_evd_dequeue(side_b.async, &event);
		} while (ret && now_us() < end);
		if (OK(ret))
			is_low(&pool, &event);
		pool_taken(&pair, FULL);
	}
}

/* Takes receives without a pause, and counts them. */
struct taker {
	DAT_EVD_HANDLE evd;
	u64 taken;
};

static int take(void *arg)
{
	struct taker *taker = arg;
	DAT_EVENT event;

	while (!scenario_over() && read_u64(&taker->taken) < ROUNDS * FULL)
		if (!dat_evd_dequeue(taker->evd, &event))
			add_u64(&taker->taken, 1);
		else
			yield_cpu();
	return 0;
}

/*
 * One thread polls the receives and another one sleeps, and so they and the device find out at
 * the same time that the mark is reached.
 */
static void once_for_each(void)
{
	struct thread thread = {};
	struct taker taker = {};
	struct pool pool = {};
	struct pair pair = {};
	unsigned int i, n;

	if (!low_pair(&pair, &pool))
		return;
	taker.evd = pair.b.recv;
	if (!thread_start(&thread, take, &taker))
		return;
	for (i = 1; i <= ROUNDS && !failed(); i++) {
		pool_fill(&pool, FULL);
		OK(dat_srq_set_lw(pool.srq, MARK));
		empty(side_b.async);
		for (n = 0; n < FULL; n++)
			OK(node_send(&pair.a, 0, BUFFER, n, 0));
		want_low(&pool);
		for (n = 0; n < FULL; n++)
			want_done(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS);
		while (read_u64(&taker.taken) < i * FULL && !failed() && !scenario_over())
			yield_cpu();
		empty(side_b.async);
	}
	silent(side_b.async);
	thread_join(&thread);
}

static const struct scenario scenarios[] = {
	SCENARIO("E30 mt:M61 SRQ low watermark wakes who waits", wakes_waiter),
	SCENARIO("E76 mt:M61 SRQ low watermark triggers a CNO", triggers_cno),
	SCENARIO("mt:M61 SRQ low watermark seen by a look", seen_by_look),
	SCENARIO("mt:M61 mt:M63 SRQ low watermark, once for each call", once_for_each),
};

SCENARIO_TABLE(user_srq_table);
