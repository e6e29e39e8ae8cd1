// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_evd_wait: who waits owns the EVD, what wakes and what does not; and threads
 * that wait, for all scenarios of this face.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include "user.h"

#define QUIET		DAT_COMPLETION_UNSIGNALLED_FLAG

/* ---- threads that wait -------------------------------------------------- */

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;
	u64 start = now_us();

	w->tid = gettid();
	w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event,
			      &w->more);
	w->took_us = now_us() - start;
	return NULL;
}

bool sleeps(pid_t tid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(f);
	return state == 'S';
}

void wait_until(atomic_int *value, int n)
{
	u64 end = deadline();

	while (*value < n && now_us() < end)
		usleep(1000);
}

void empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
}

/*
 * The EVD is the waiter's own as soon as it is about to wait (E36); after that
 * it sleeps nowhere but in the wait.
 */
void start_waiter(struct waiter *w, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold)
{
	u64 end = deadline();
	DAT_EVENT event;
	DAT_RETURN ret;

	w->evd = evd;
	w->timeout = timeout;
	w->threshold = threshold;
	w->tid = 0;
	CHECK(!pthread_create(&w->thread, NULL, wait_thread, w));
	do {
		ret = dat_evd_dequeue(evd, &event);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY && now_us() < end &&
		 !usleep(100));
	BAD_STATE(ret, EVD_WAITER);
	while (!sleeps(w->tid) && now_us() < end)
		usleep(100);
}

void end_waiter(struct waiter *w, DAT_RETURN expected)
{
	CHECK(!pthread_join(w->thread, NULL));
	EXPECT(w->ret, expected);
}

static u64 waiter_cookie(const struct waiter *w)
{
	return w->event.event_data.dto_completion_event_data.user_cookie.as_64;
}

/* ---- software events ---------------------------------------------------- */

static DAT_EVD_HANDLE soft_evd(DAT_COUNT qlen)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	OK(platform_evd_create(side_a.ia, qlen, DAT_EVD_SOFTWARE_FLAG, &evd));
	return evd;
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

/* Nothing of the EVD's streams is unsignalled or solicited. */
static void evd_state_is(DAT_EVD_HANDLE evd, DAT_EVD_STATE enabled,
			 DAT_EVD_STATE waitable)
{
	DAT_EVD_PARAM param;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state,
		 enabled | waitable | DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static void query(void)
{
	DAT_EP_ATTR attr = node_attr;
	struct node node = {};
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	evd = soft_evd(5);
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK(param.ia_handle == side_a.ia);
	CHECK(param.evd_qlen >= 5);
	CHECK_EQ(param.evd_flags, DAT_EVD_SOFTWARE_FLAG);
	CHECK(!param.cno_handle);
	evd_state_is(evd, DAT_EVD_STATE_ENABLED, DAT_EVD_STATE_WAITABLE);
	OK(dat_evd_disable(evd));
	OK(dat_evd_disable(evd));
	OK(dat_evd_set_unwaitable(evd));
	evd_state_is(evd, DAT_EVD_STATE_DISABLED, DAT_EVD_STATE_UNWAITABLE);
	OK(dat_evd_enable(evd));
	OK(dat_evd_enable(evd));
	OK(dat_evd_clear_unwaitable(evd));
	evd_state_is(evd, DAT_EVD_STATE_ENABLED, DAT_EVD_STATE_WAITABLE);

	/* E22: what feeds it shows. */
	attr.request_completion_flags = QUIET;
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	node_new(&node, &side_a, THREE_EVDS, &attr);
	OK(dat_evd_query(node.request, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state & 0x30, DAT_EVD_STATE_CONFIG_NOTIFY);
	OK(dat_evd_query(node.recv, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ(param.evd_state & 0x30, DAT_EVD_STATE_CONFIG_SOLICITED);
}

static void waiting(void)
{
	DAT_EVENT event;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more = -1;
	DAT_EVD_PARAM param;
	u64 start;

	evd = soft_evd(8);
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	BAD_ARG(dat_evd_wait(evd, 0, 0, &event, &more), 3);
	BAD_ARG(dat_evd_wait(evd, 0, -1, &event, &more), 3);
	BAD_ARG(dat_evd_wait(evd, 0, param.evd_qlen + 1, &event, &more), 3);
	BAD_ARG(dat_evd_wait(evd, 0, 1, NULL, &more), 4);
	BAD_ARG(dat_evd_wait(evd, 0, 1, &event, NULL), 5);
	IS(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
	CHECK_EQ(more, 0);
	start = now_us();
	IS(dat_evd_wait(evd, 50000, 1, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
	CHECK(now_us() - start >= 50000);

	OK(post_se(evd, 1));
	OK(post_se(evd, 2));
	more = -1;
	IS(dat_evd_wait(evd, 10000, 3, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
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

	evd = soft_evd(8);
	start_waiter(&w, evd, WAIT_US, 2);
	BAD_STATE(dat_evd_wait(evd, 0, 1, &event, &more), EVD_WAITER);
	BAD_STATE(dat_evd_dequeue(evd, &event), EVD_WAITER);
	BAD_STATE(dat_evd_resize(evd, 16), EVD_WAITER);
	BAD_STATE(dat_evd_free(evd), EVD_WAITER);
	OK(post_se(evd, 1));
	BAD_STATE(dat_evd_dequeue(evd, &event), EVD_WAITER);
	OK(post_se(evd, 2));
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

	evd = soft_evd(8);
	start_waiter(&w, evd, WAIT_US, 2);
	OK(post_se(evd, 7));
	OK(dat_evd_set_unwaitable(evd));
	OK(dat_evd_clear_unwaitable(evd));
	end_waiter(&w, UNWAITABLE);

	OK(dat_evd_set_unwaitable(evd));
	BAD_STATE(dat_evd_wait(evd, 0, 1, &event, &more), EVD_UNWAITABLE);
	BAD_STATE(dat_evd_wait(evd, WAIT_US, 2, &event, &more), EVD_UNWAITABLE);
	takes(evd, 7);	/* E28 */
	OK(dat_evd_clear_unwaitable(evd));
	IS(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
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

	evd = soft_evd(8);
	action.sa_flags = SA_RESTART;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	start_waiter(&w, evd, WAIT_US, 2);
	OK(post_se(evd, 5));
	CHECK(!pthread_kill(w.thread, SIGUSR1));
	end_waiter(&w, DAT_ERROR(DAT_INTERRUPTED_CALL, 0));
	CHECK_EQ(w.more, 1);
	takes(evd, 5);

	/* A signal that is ignored does not count. */
	action.sa_handler = SIG_IGN;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	start_waiter(&w, evd, WAIT_US, 1);
	CHECK(!pthread_kill(w.thread, SIGUSR1));
	OK(post_se(evd, 6));
	end_waiter(&w, DAT_SUCCESS);
}

static void close_under_waiter(void)
{
	struct waiter w, async;

	start_waiter(&w, soft_evd(8), WAIT_US, 1);
	start_waiter(&async, side_a.async, WAIT_US, 1);
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	end_waiter(&w, DAT_ERROR(DAT_ABORT, 0));
	end_waiter(&async, DAT_ERROR(DAT_ABORT, 0));
}

/* ---- without resources --------------------------------------------------- */

int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int number = 0;

	while (f && fgets(line, sizeof(line), f))
		number += !!strstr(line, "/dev/kdapl");
	if (f)
		fclose(f);
	return number;
}

/* The ring of an EVD that was resized, which the library cannot map. */
static void ring_not_mapped(void)
{
	struct rlimit before, none;
	DAT_EVD_HANDLE evd, by;
	DAT_CNO_HANDLE cno;
	struct waiter w;
	DAT_EVENT event;
	DAT_COUNT more;
	int mapped;

	OK(dat_cno_create(side_a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_evd_create(side_a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	OK(post_se(evd, 1));
	mapped = mappings();
	CHECK(!getrlimit(RLIMIT_AS, &before));
	none = before;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_AS, &none));
	OK(dat_evd_resize(evd, 1000));
	CHECK(!setrlimit(RLIMIT_AS, &before));
	CHECK(mappings() < mapped);

	OK(dat_evd_wait(evd, 0, 1, &event, &more));
	is_soft(evd, &event, 1);
	CHECK_EQ(more, 0);
	IS(dat_evd_wait(evd, 50000, 1, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
	start_waiter(&w, evd, WAIT_US, 2);
	OK(post_se(evd, 2));
	OK(post_se(evd, 3));
	end_waiter(&w, DAT_SUCCESS);
	is_soft(evd, &w.event, 2);
	CHECK_EQ(w.more, 1);
	takes(evd, 3);
	while (!dat_cno_wait(cno, 0, &by))
		;
	OK(post_se(evd, 4));
	OK(dat_cno_wait(cno, WAIT_US, &by));
	takes(evd, 4);
	empty(evd);

	OK(post_se(evd, 5));
	OK(dat_evd_resize(evd, 4000));
	CHECK(mappings() >= mapped);
	takes(evd, 5);
	empty(evd);
}

/*
 * No descriptor can be had any more. The limit stays above those that are open, since poll(2)
 * takes no more descriptors than that.
 */
static void take_descriptors(struct rlimit *before)
{
	struct rlimit none;
	int lowest = open("/", O_RDONLY);

	CHECK(lowest >= 0 && !close(lowest));
	CHECK(!getrlimit(RLIMIT_NOFILE, before));
	none = *before;
	none.rlim_cur = lowest;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
}

/* What a thread does as soon as another one waits, and whether that one did. */
struct other {
	DAT_EVD_HANDLE evd;
	bool unwaitable;
	DAT_RETURN found;
};

static void *act_on_waiter(void *arg)
{
	struct other *o = arg;
	u64 end = deadline();
	DAT_EVENT event;

	do {
		o->found = dat_evd_dequeue(o->evd, &event);
	} while (DAT_GET_TYPE(o->found) == DAT_QUEUE_EMPTY && now_us() < end);
	if (o->unwaitable)
		dat_evd_set_unwaitable(o->evd);
	else
		post_se(o->evd, 1);
	return NULL;
}

/* It is the first wait on the EVD, and nothing is there yet. */
static void waits_for_other(bool unwaitable)
{
	struct other o = { .evd = soft_evd(8), .unwaitable = unwaitable };
	struct rlimit before;
	pthread_t thread;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;
	u64 start;

	take_descriptors(&before);
	start = now_us();
	IS(dat_evd_wait(o.evd, 50000, 1, &event, &more), DAT_TIMEOUT_EXPIRED, 0);
	CHECK(now_us() - start >= 50000);
	CHECK(!pthread_create(&thread, NULL, act_on_waiter, &o));
	ret = dat_evd_wait(o.evd, WAIT_US, 1, &event, &more);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	BAD_STATE(o.found, EVD_WAITER);
	EXPECT(ret, unwaitable ? UNWAITABLE : DAT_SUCCESS);
	if (!unwaitable)
		is_soft(o.evd, &event, 1);
}

static void without_descriptors(void)
{
	waits_for_other(false);
	waits_for_other(true);
}

/* ---- completions that wake nobody --------------------------------------- */

static void unsignalled(void)
{
	DAT_EP_ATTR attr = node_attr;
	struct pair p = {};
	struct waiter w;
	DAT_EVENT event;
	DAT_COUNT more;

	attr.request_completion_flags = QUIET;
	if (!evd_new(&side_a, 64, DAT_EVD_DTO_FLAG, &p.a.request) ||
	    !pair_new(&p, THREE_EVDS, &attr, NULL))
		return;
	/* E31: no threshold on such an EVD. */
	BAD_STATE(dat_evd_wait(p.a.request, 0, 2, &event, &more),
		  EVD_CONFIG_NOTIFY);
	/* It completes while somebody waits, and does not wake. */
	OK(node_send(&p.a, 0, 8, 1, QUIET));
	start_waiter(&w, p.a.request, 500000, 1);
	OK(node_recv(&p.b, 0, 8, 1));
	want_done(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	pthread_join(w.thread, NULL);
	CHECK(w.took_us >= 500000);
	/* It was there at the end (E33), or is there now. */
	if (w.ret)
		want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);

	/* One that wakes hands out the quiet one before it. */
	OK(node_send(&p.a, 0, 8, 2, QUIET));
	OK(node_send(&p.a, 0, 8, 3, 0));
	start_waiter(&w, p.a.request, WAIT_US, 1);
	OK(node_recv(&p.b, 0, 8, 2));
	OK(node_recv(&p.b, 0, 8, 3));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(waiter_cookie(&w), 2);
	want_done(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS);

	/* mt:T28: a failure wakes. */
	OK(node_send(&p.a, 0, 8, 4, QUIET));
	start_waiter(&w, p.a.request, WAIT_US, 1);
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK(w.event.event_data.dto_completion_event_data.status !=
	      DAT_DTO_SUCCESS);
}

#define MANY	36

/* More than the EVD's ring takes, none of which wakes anybody. */
static void fill_quietly(struct pair *p)
{
	DAT_BOOLEAN request_idle = DAT_FALSE;
	u64 end = deadline();
	int i;

	for (i = 0; i < MANY && !failed(); i++) {
		OK(node_recv(&p->b, 0, 8, i));
		OK(node_send(&p->a, 0, 8, i, QUIET));
		want_done(p->b.recv, p->b.ep, i, DAT_DTO_SUCCESS);
	}
	while (!request_idle && now_us() < end)
		OK(dat_ep_get_status(p->a.ep, NULL, NULL, &request_idle));
	CHECK(request_idle);
}

static void full_ring(void)
{
	DAT_EP_ATTR attr = node_attr;
	DAT_EVD_HANDLE evd, by;
	DAT_CNO_HANDLE cno;
	struct pair p = {};
	struct waiter w;
	int i;

	attr.request_completion_flags = QUIET;
	attr.max_request_dtos = MANY;	/* mt:T13: each has a slot until its event is taken */
	OK(dat_cno_create(side_a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_evd_create(side_a.ia, 8, cno,
			  DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd));
	p.a.request = evd;
	if (!pair_new(&p, THREE_EVDS, &attr, NULL))
		return;
	fill_quietly(&p);
	IS(dat_cno_wait(cno, 0, &by), DAT_QUEUE_EMPTY, 0);
	OK(post_se(evd, 1));
	OK(dat_cno_wait(cno, WAIT_US, &by));
	CHECK(by == evd);
	/* E54: what is in the ring, and what is behind it. */
	BAD_STATE(dat_evd_resize(evd, MANY), EVD_IN_USE);
	for (i = 0; i < MANY; i++)
		want_done(evd, p.a.ep, i, DAT_DTO_SUCCESS);
	want_se(evd, 1);

	start_waiter(&w, evd, WAIT_US, 1);
	fill_quietly(&p);
	OK(post_se(evd, 1));
	end_waiter(&w, DAT_SUCCESS);
	CHECK(w.took_us < WAIT_MS * 1000ULL);
}

static void solicited(void)
{
	DAT_EP_ATTR attr = node_attr;
	struct pair p = {};
	struct waiter w;
	DAT_EVENT event;
	DAT_COUNT more;
	bool in_time;
	u64 end;
	int i;

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (!evd_new(&side_b, 64, DAT_EVD_DTO_FLAG, &p.b.recv) ||
	    !pair_new(&p, THREE_EVDS, NULL, &attr))
		return;
	BAD_STATE(dat_evd_wait(p.b.recv, 0, 2, &event, &more),
		  EVD_CONFIG_SOLICITED);
	for (i = 0; i < 6; i++)
		OK(node_recv(&p.b, 0, 8, i));
	start_waiter(&w, p.b.recv, 500000, 1);
	OK(node_send(&p.a, 0, 8, 1, 0));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	/* E33, E34: it has come before the end, and counts then. */
	in_time = pthread_tryjoin_np(w.thread, NULL);
	if (in_time)
		pthread_join(w.thread, NULL);
	CHECK(w.took_us >= 500000);
	CHECK(!w.ret || !in_time);
	if (w.ret)
		want_done(p.b.recv, p.b.ep, 0, DAT_DTO_SUCCESS);
	OK(node_send(&p.a, 0, 8, 2, 0));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	/* E41: dequeue finds it all the same. */
	end = deadline();
	while (dat_evd_dequeue(p.b.recv, &event) && now_us() < end)
		usleep(1000);
	CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);

	start_waiter(&w, p.b.recv, WAIT_US, 1);
	OK(node_send(&p.a, 0, 8, 3, 0));
	OK(node_send(&p.a, 0, 8, 4, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(waiter_cookie(&w), 2);
	want_done(p.b.recv, p.b.ep, 3, DAT_DTO_SUCCESS);
	/* On an SRQ nothing is flushed (mt:M56). */
	if (p.b.srq) {
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		left_in_srq(&p.b, 2);
		return;
	}
	/* A flush wakes. */
	start_waiter(&w, p.b.recv, WAIT_US, 1);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	end_waiter(&w, DAT_SUCCESS);
	CHECK_EQ(w.event.event_data.dto_completion_event_data.status,
		 DAT_DTO_ERR_FLUSHED);
}

static const struct scenario scenarios[] = {
	SCENARIO("E12 E22 E23 E24 dat_evd_query", query),
	SCENARIO("E30..E34 E40 dat_evd_wait", waiting),
	SCENARIO("E30 E35 E36 E52 E55 E62 a waiter owns its EVD", waiter_owns),
	SCENARIO("E26 E27 E28 unwaitable", unwaitable),
	SCENARIO("E38 signals", signals),
	SCENARIO("E39 an IA closed under waiters", close_under_waiter),
	SCENARIO("E30 E33 E34 E41 E76 a ring that is not mapped", ring_not_mapped),
	SCENARIO("E26 E30 E33 a wait without descriptors", without_descriptors),
	SCENARIO_IB("E31 E35 mt:T21 mt:T26 mt:T27 mt:T28 unsignalled completions",
		    unsignalled),
	SCENARIO("E35 E52 E54 E76 unsignalled completions, more than the ring takes",
		 full_ring),
	/* On iWARP siw notifies of each receive. */
	SCENARIO_IB("E31 E35 mt:M60 mt:T22 solicited completions", solicited,
		    .srq = SRQ_B),
};

SCENARIO_TABLE(wait_table);
