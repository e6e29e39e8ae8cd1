// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Consumer Notification Objects: triggers, waiters, agents, and how CNOs end.
 * Rules E23, E76..E91.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include "user.h"

#define NO_AGENT	DAT_OS_WAIT_PROXY_AGENT_NULL

static void post(DAT_EVD_HANDLE evd)
{
	OK(post_se(evd, 1));
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(evd, &event))
		;
}

static DAT_CNO_HANDLE new_cno(void)
{
	DAT_CNO_HANDLE cno;

	OK(dat_cno_create(side_a.ia, NO_AGENT, &cno));
	return cno;
}

static DAT_EVD_HANDLE evd_of(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(side_a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	return evd;
}

static void untriggered(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = &evd;

	IS(dat_cno_wait(cno, 0, &evd), DAT_QUEUE_EMPTY, 0);
	CHECK(!evd);
}

static void triggered_by(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE expected)
{
	DAT_EVD_HANDLE evd;

	OK(dat_cno_wait(cno, WAIT_US, &evd));
	CHECK(evd == expected);
}

static void agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd);

static void arguments(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { &none, NULL };
	DAT_CNO_PARAM param;
	DAT_EVD_PARAM evd_param;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	u64 start;

	BAD_ARG(dat_cno_create(side_a.ia, NO_AGENT, NULL), 3);
	OK(dat_cno_create(side_a.ia, none, &cno));	/* E91 */
	has_type(cno, DAT_HANDLE_TYPE_CNO);
	BAD_ARG(dat_cno_query(cno, 8, &param), 2);
	BAD_ARG(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), 3);
	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	CHECK(param.ia_handle == side_a.ia);
	CHECK(!cno_agent(&param)->proxy_agent_func);
	BAD_ARG(dat_cno_wait(cno, 0, NULL), 3);
	start = now_us();
	IS(dat_cno_wait(cno, 50000, &evd), DAT_QUEUE_EMPTY, 0);
	CHECK(now_us() - start >= 50000);

	evd = evd_of(cno);
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &evd_param));
	CHECK(evd_param.cno_handle == cno);
	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	BAD_HANDLE(dat_evd_modify_cno(side_b.async, cno), CNO);
	OK(dat_evd_modify_cno(evd, NULL));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &evd_param));
	CHECK(!evd_param.cno_handle);
	OK(dat_cno_free(cno));
	BAD_HANDLE(dat_cno_free(cno), CNO);
}

static void triggers(void)
{
	DAT_CNO_HANDLE cno, other;
	DAT_EVD_HANDLE first, second;

	cno = new_cno();
	other = new_cno();
	first = evd_of(cno);
	second = evd_of(cno);
	untriggered(cno);
	post(first);
	triggered_by(cno, first);
	untriggered(cno);	/* not again without a new event */
	drain(first);

	/* E76: the first is remembered; E83: others may have events, too */
	post(second);
	triggered_by(cno, second);
	drain(second);

	/* E23 E87: disabled it is silent, enabling tells of what is there */
	OK(dat_evd_disable(first));
	post(first);
	untriggered(cno);
	OK(dat_evd_enable(first));
	triggered_by(cno, first);

	/* E86 E87: another CNO */
	OK(dat_evd_modify_cno(first, other));
	triggered_by(other, first);
	post(first);
	triggered_by(other, first);
	untriggered(cno);
	drain(first);

	OK(dat_evd_free(second));
	OK(dat_evd_free(first));
}

/* Triggers are kept while nobody waits, one at most (E77). */
static void sticky(void)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE first, second;

	cno = new_cno();
	first = evd_of(cno);
	second = evd_of(cno);
	post(first);
	post(second);
	post(first);
	triggered_by(cno, first);
	drain(first);
	drain(second);
	untriggered(cno);
}

struct cno_waiter {
	atomic_int done;
	atomic_int tid;
	pthread_t thread;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
};

static void *cno_thread(void *arg)
{
	struct cno_waiter *w = arg;

	w->tid = gettid();
	w->ret = dat_cno_wait(w->cno, WAIT_US, &w->evd);
	w->done = 1;
	return NULL;
}

/* After the first wait it is done, and waits once more. */
static void *cno_thread_again(void *arg)
{
	struct cno_waiter *w = arg;

	cno_thread(arg);
	w->ret = dat_cno_wait(w->cno, WAIT_US, &w->evd);
	return NULL;
}

static void start_threads(struct cno_waiter *w, unsigned int number, DAT_CNO_HANDLE cno,
			  void *(*thread)(void *arg))
{
	unsigned int i;

	for (i = 0; i < number; i++) {
		w[i].cno = cno;
		w[i].done = 0;
		w[i].tid = 0;
		CHECK(!pthread_create(&w[i].thread, NULL, thread, &w[i]));
	}
}

static void start_waiters(struct cno_waiter *w, unsigned int number,
			  DAT_CNO_HANDLE cno)
{
	start_threads(w, number, cno, cno_thread);
}

/* They are in dat_cno_wait(): they sleep nowhere else, but for a moment at its lock. */
static void all_wait(struct cno_waiter *w, unsigned int number)
{
	u64 end = deadline();
	unsigned int i;

	for (i = 0; i < number; i++)
		while (!(w[i].tid && sleeps(w[i].tid)) && now_us() < end)
			usleep(100);
}

static unsigned int number_done(const struct cno_waiter *w, unsigned int number)
{
	unsigned int i, done = 0;

	for (i = 0; i < number; i++)
		done += w[i].done;
	return done;
}

/* E78: a trigger, a waiter. */
static void one_waiter_each(void)
{
	struct cno_waiter w[3];
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	unsigned int i, n;
	u64 end;

	cno = new_cno();
	evd = evd_of(cno);
	start_waiters(w, 3, cno);
	for (i = 1; i <= 3; i++) {
		post(evd);
		end = deadline();
		while ((n = number_done(w, 3)) < i && now_us() < end)
			usleep(1000);
		CHECK_EQ(n, i);
		drain(evd);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(w[i].thread, NULL);
		OK(w[i].ret);
		CHECK(w[i].evd == evd);
	}
}

static atomic_int calls;
static DAT_EVD_HANDLE agent_evd;
static DAT_PVOID agent_data;
static pthread_t agent_thread;
static DAT_RETURN agent_ret;

static void agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	agent_data = instance_data;
	agent_evd = evd;
	agent_thread = pthread_self();
	agent_ret = evd ? dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param) :
			  DAT_SUCCESS;
	calls++;
}

static void called(int number)
{
	wait_until(&calls, number);
	CHECK_EQ(calls, number);
}

static void agents(void)
{
	DAT_OS_WAIT_PROXY_AGENT ours = { &calls, agent };
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	calls = 0;
	OK(dat_cno_create(side_a.ia, ours, &cno));
	evd = evd_of(cno);
	post(evd);
	called(1);
	CHECK(agent_evd == evd && agent_data == &calls);
	/* E82 */
	CHECK(!pthread_equal(agent_thread, pthread_self()));
	OK(agent_ret);
	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	CHECK(!cno_agent(&param)->proxy_agent_func);	/* E79 */
	drain(evd);
	untriggered(cno);

	/* E81: a kept trigger calls it at once */
	post(evd);
	OK(dat_cno_modify_agent(cno, ours));
	called(2);
	drain(evd);

	/* E90: the last EVD goes */
	OK(dat_cno_modify_agent(cno, ours));
	CHECK_EQ(calls, 2);
	OK(dat_evd_free(evd));
	called(3);
	CHECK(!agent_evd);
	OK(dat_cno_free(cno));
}

/* E80: a trigger serves both. */
static void agent_and_waiters(void)
{
	DAT_OS_WAIT_PROXY_AGENT ours = { &calls, agent };
	u64 end = deadline();
	struct cno_waiter w[2];
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int i;

	calls = 0;
	OK(dat_cno_create(side_a.ia, ours, &cno));
	evd = evd_of(cno);
	start_waiters(w, 2, cno);
	all_wait(w, 2);
	post(evd);
	called(1);
	while (!number_done(w, 2) && now_us() < end)
		usleep(1000);
	CHECK_EQ(number_done(w, 2), 1);
	drain(evd);
	/* The agent had its turn; the other waiter has the next. */
	post(evd);
	while (number_done(w, 2) < 2 && now_us() < end)
		usleep(1000);
	for (i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		OK(w[i].ret);
		CHECK(w[i].evd == evd);
	}
	CHECK_EQ(calls, 1);
}

/* E89: what it would name is gone by then. */
static void freed_meanwhile(void)
{
	DAT_EVD_HANDLE first, second;
	DAT_CNO_HANDLE cno;

	cno = new_cno();
	first = evd_of(cno);
	second = evd_of(cno);
	post(first);
	OK(dat_evd_free(first));
	triggered_by(cno, DAT_HANDLE_NULL);
	untriggered(cno);
	post(second);
	triggered_by(cno, second);
}

static void releases(void)
{
	struct cno_waiter w[2];
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	unsigned int i;
	u64 end;

	cno = new_cno();
	evd = evd_of(cno);
	start_waiters(w, 2, cno);
	all_wait(w, 2);
	/* With no EVD attached it is the waiters that keep it from being freed. */
	OK(dat_evd_modify_cno(evd, NULL));
	end = deadline();
	BAD_STATE(dat_cno_free(cno), CNO_IN_USE);
	OK(dat_evd_modify_cno(evd, cno));
	CHECK_EQ(number_done(w, 2), 0);
	OK(dat_evd_free(evd));
	for (i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		OK(w[i].ret);
		CHECK(!w[i].evd);
	}
	CHECK(now_us() < end + 10);

	/* and with the IA */
	evd_of(cno);
	start_waiters(w, 2, cno);
	all_wait(w, 2);
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	for (i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		OK(w[i].ret);
		CHECK(!w[i].evd);
	}
	BAD_HANDLE(dat_cno_free(cno), CNO);
}

/* Whoever is up first waits again, and must not keep the others from getting up. */
static void released_again(void)
{
	struct cno_waiter w[4];
	unsigned int i, round;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	u64 end;

	cno = new_cno();
	for (round = 0; round < 20 && !failed(); round++) {
		evd = evd_of(cno);
		start_threads(w, 4, cno, cno_thread_again);
		all_wait(w, 4);
		OK(dat_evd_free(evd));
		end = deadline();
		while (number_done(w, 4) < 4 && now_us() < end)
			usleep(100);
		CHECK_EQ(number_done(w, 4), 4);
		evd = evd_of(cno);
		all_wait(w, 4);
		OK(dat_evd_free(evd));
		for (i = 0; i < 4; i++) {
			pthread_join(w[i].thread, NULL);
			OK(w[i].ret);
			CHECK(!w[i].evd);
		}
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	u64 end = deadline();
	struct cno_waiter w;
	DAT_CNO_HANDLE cno;

	cno = new_cno();
	action.sa_flags = SA_RESTART;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	start_waiters(&w, 1, cno);
	/* It may not wait yet: a signal before that ends nothing. */
	while (!w.done && now_us() < end) {
		pthread_kill(w.thread, SIGUSR1);
		usleep(10000);
	}
	pthread_join(w.thread, NULL);
	IS(w.ret, DAT_INTERRUPTED_CALL, 0);
}

/*
 * An event that came for a waiter does not trigger (E37). When the waiter goes
 * without it, it does, or nobody would ever look.
 */
static void told_after_a_wait(void)
{
	DAT_EVD_HANDLE evd, evd_again;
	DAT_CNO_HANDLE cno;
	struct waiter w;

	cno = new_cno();
	evd = evd_of(cno);
	start_waiter(&w, evd, WAIT_US, 2);
	post(evd);
	untriggered(cno);
	OK(dat_evd_set_unwaitable(evd));
	end_waiter(&w, UNWAITABLE);
	triggered_by(cno, evd);
	OK(dat_evd_clear_unwaitable(evd));
	drain(evd);
	/* E83: it may have been told of the same event twice. */
	while (!dat_cno_wait(cno, 0, &evd_again))
		;

	start_waiter(&w, evd, 1000000, 2);
	post(evd);
	untriggered(cno);
	end_waiter(&w, DAT_ERROR(DAT_TIMEOUT_EXPIRED, 0));
	CHECK_EQ(w.more, 1);
	triggered_by(cno, evd);
	untriggered(cno);
	drain(evd);
}

/*
 * One waiter goes without the event, and another one comes before the CNO is told, and goes
 * without it as well.
 */
static void told_after_two_waits(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	DAT_EVD_HANDLE evd, by;
	DAT_CNO_HANDLE cno;
	struct waiter w;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;
	int i;

	cno = new_cno();
	evd = evd_of(cno);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < 100 && !failed(); i++) {
		start_waiter(&w, evd, WAIT_US, 2);
		post(evd);
		untriggered(cno);
		CHECK(!pthread_kill(w.thread, SIGUSR1));
		do {
			ret = dat_evd_wait(evd, 0, 2, &event, &more);
		} while (DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
		EXPECT(ret, DAT_ERROR(DAT_TIMEOUT_EXPIRED, 0));
		end_waiter(&w, DAT_ERROR(DAT_INTERRUPTED_CALL, 0));
		OK(dat_cno_wait(cno, 0, &by));
		CHECK(by == evd);
		drain(evd);
		/* E83: it may have been told of the same event twice. */
		while (!dat_cno_wait(cno, 0, &by))
			;
	}
}

struct mover {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
};

static void *move_often(void *arg)
{
	struct mover *m = arg;
	int i;

	for (i = 0; i < 5000 && !m->ret; i++)
		m->ret = dat_evd_modify_cno(m->evd, m->cno);
	return NULL;
}

/* Two threads give one EVD to two CNOs: it has one of them at a time. */
static void moved_by_two(void)
{
	struct mover m[2] = { { 0 } };
	DAT_EVD_PARAM param;
	DAT_CNO_HANDLE other;
	DAT_EVD_HANDLE evd;
	int i;

	evd = evd_of(NULL);
	for (i = 0; i < 2; i++) {
		m[i].evd = evd;
		m[i].cno = new_cno();
	}
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&m[i].thread, NULL, move_often, &m[i]));
	for (i = 0; i < 2; i++) {
		pthread_join(m[i].thread, NULL);
		OK(m[i].ret);
	}
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK(param.cno_handle == m[0].cno || param.cno_handle == m[1].cno);
	other = param.cno_handle == m[0].cno ? m[1].cno : m[0].cno;
	post(evd);
	triggered_by(param.cno_handle, evd);
	untriggered(other);
	OK(dat_cno_free(other));
	OK(dat_evd_free(evd));
	OK(dat_cno_free(param.cno_handle));
}

static atomic_int entered, let_go;

static void slow_agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	(void)instance_data;
	(void)evd;
	entered = 1;
	while (!let_go)
		usleep(1000);
}

/* A CNO whose agent runs until @let_go, and an EVD of it, whose event has triggered it. */
static DAT_EVD_HANDLE agent_running(DAT_CNO_HANDLE *cno)
{
	DAT_OS_WAIT_PROXY_AGENT slow = { NULL, slow_agent };
	u64 end = deadline();
	DAT_EVD_HANDLE evd;

	entered = 0;
	let_go = 0;
	OK(dat_cno_create(side_a.ia, slow, cno));
	evd = evd_of(*cno);
	post(evd);
	while (!entered && now_us() < end)
		usleep(1000);
	CHECK(entered);
	return evd;
}

/* Agents that come due while another runs are called after it, each of them. */
static void agents_in_a_row(void)
{
	static int seen[2];
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int i;

	calls = 0;
	evd = agent_running(&cno);
	for (i = 0; i < 2; i++) {
		DAT_OS_WAIT_PROXY_AGENT ours = { &seen[i], agent };

		OK(dat_cno_modify_agent(cno, ours));
		drain(evd);
		post(evd);
		untriggered(cno);	/* by then it is due */
	}
	let_go = 1;
	called(2);
	CHECK(agent_data == &seen[1]);
	CHECK(agent_evd == evd);
}

/* An agent that runs for long does not keep the next event from a thread that waits. */
static void waiter_beside_agent(void)
{
	struct cno_waiter w;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd = agent_running(&cno);
	u64 end;

	drain(evd);
	start_waiters(&w, 1, cno);
	all_wait(&w, 1);
	post(evd);
	end = deadline();
	while (!w.done && now_us() < end)
		usleep(1000);
	CHECK(w.done);
	let_go = 1;
	pthread_join(w.thread, NULL);
	OK(w.ret);
	CHECK(w.evd == evd);
}

/* Descriptors of this process that are the library's. */
static int descriptors(void)
{
	char path[300], name[64];
	struct dirent *entry;
	int number = 0;
	ssize_t len;
	DIR *dir;

	dir = opendir("/proc/self/fd");
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, name, sizeof(name) - 1);
		name[len > 0 ? len : 0] = '\0';
		if (strstr(name, "kdapl") || strstr(name, "eventpoll") ||
		    strstr(name, "eventfd") || strstr(name, "timerfd"))
			number++;
	}
	if (dir)
		closedir(dir);
	return number;
}

static bool has_cno_thread(void)
{
	struct dirent *entry;
	bool found = false;
	char path[300];
	DIR *dir;

	dir = opendir("/proc/self/task");
	while (dir && !found && (entry = readdir(dir))) {
		char name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		found = file && fgets(name, sizeof(name), file) && !strcmp(name, "kdapl-cno\n");
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void child_without_descriptors(void)
{
	DAT_CNO_HANDLE cno;
	u64 end = deadline();
	int before, status;
	pid_t pid;

	/* The thread of a CNO that another scenario has freed may be about to let go. */
	while (has_cno_thread() && now_us() < end)
		usleep(1000);
	before = descriptors();
	CHECK(before);	/* the device file */
	cno = new_cno();
	evd_of(cno);
	/* Three of the CNO's; in passthrough an EVD has two to wake it, and one for all. */
	CHECK_EQ(descriptors(), before + (side_is_passthrough(&side_a) ? 6 : 4));
	pid = fork();
	if (!pid)
		_exit(descriptors());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	/* The CNO's thread is the last to let go. */
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	while (descriptors() > before && now_us() < end)
		usleep(1000);
	CHECK_EQ(descriptors(), before);
}

/* E76 with the streams that matter: completions of a connection. */
static void with_transfers(void)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct pair p = {};

	OK(dat_cno_create(side_b.ia, NO_AGENT, &cno));
	OK(dat_evd_create(side_b.ia, 8, cno, DAT_EVD_DTO_FLAG, &p.b.recv));
	OK(dat_evd_create(side_b.ia, 8, cno, DAT_EVD_CONNECTION_FLAG, &p.b.conn));
	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	/* E37: who waited for ESTABLISHED got it, the CNO was told or not. */
	while (!dat_cno_wait(cno, 0, &evd))
		;
	OK(node_recv(&p.b, 0, 64, 1));
	OK(node_send(&p.a, 0, 64, 2, 0));
	triggered_by(cno, p.b.recv);
	want_done(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	triggered_by(cno, p.b.conn);
	want_conn(p.b.conn, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* More than are looked at in one go. */
static void closed_disabled(void)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int i;

	cno = new_cno();
	for (i = 0; i < 40; i++) {
		evd = evd_of(cno);
		OK(dat_evd_disable(evd));
	}
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
}

/* What the agent of one CNO waits for, and how that ended */
struct elsewhere {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	DAT_EVD_HANDLE by;
};

static void waiting_agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	struct elsewhere *at = instance_data;
	DAT_EVENT event;
	DAT_COUNT more;

	(void)evd;
	entered = 1;
	at->ret = at->cno ? dat_cno_wait(at->cno, DAT_TIMEOUT_INFINITE, &at->by) :
			    dat_evd_wait(at->evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
}

/* An agent may call anything (E82), and the close of its IA waits for it (I17). */
static void agent_waits_elsewhere(void)
{
	struct elsewhere at = {};
	DAT_OS_WAIT_PROXY_AGENT agent = { &at, waiting_agent };
	DAT_CNO_HANDLE cno;
	int i;

	for (i = 0; i < 2; i++) {
		entered = 0;
		at.cno = NULL;
		OK(dat_cno_create(side_a.ia, agent, &cno));
		at.evd = evd_of(NULL);
		if (i)
			at.cno = new_cno();
		post(evd_of(cno));
		while (!entered)
			sched_yield();
		side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
		/* It may have been about to call, and then the handle was bad. */
		if (at.ret && DAT_GET_TYPE(at.ret) != DAT_ABORT &&
		    DAT_GET_TYPE(at.ret) != DAT_INVALID_HANDLE)
			FAIL("the wait gave %#x", at.ret);
		if (!i && !side_open(&side_a))
			return;
	}
}

/* A thread that frees a CNO, or closes the IA, and what it saw then. */
struct closer {
	pthread_t thread;
	atomic_int tid;
	atomic_bool done;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
	int agent_let_go;
};

static void *closes(void *arg)
{
	struct closer *c = arg;

	c->tid = gettid();
	c->ret = c->cno ? dat_cno_free(c->cno) :
		 dat_ia_close(side_a.ia, DAT_CLOSE_ABRUPT_FLAG);
	c->agent_let_go = let_go;
	c->done = true;
	return NULL;
}

/* The agent is running, or about to be called. */
static void close_waits(struct closer *c)
{
	u64 end = deadline();

	c->tid = 0;
	c->done = false;
	CHECK(!pthread_create(&c->thread, NULL, closes, c));
	while ((!entered || !sleeps(c->tid)) && !c->done && now_us() < end)
		sched_yield();
	let_go = 1;
	CHECK(!pthread_join(c->thread, NULL));
	OK(c->ret);
	CHECK(entered);
	CHECK(c->agent_let_go);
}

/* I17: the agent has returned when a free or close does. */
static void no_late_agent(void)
{
	DAT_OS_WAIT_PROXY_AGENT slow = { NULL, slow_agent };
	struct closer c;
	DAT_EVD_HANDLE evd;

	entered = 0;
	let_go = 0;
	OK(dat_cno_create(side_a.ia, slow, &c.cno));
	evd = evd_of(c.cno);
	post(evd);
	while (!entered)
		sched_yield();
	OK(dat_evd_free(evd));
	close_waits(&c);

	entered = 0;
	let_go = 0;
	OK(dat_cno_create(side_a.ia, slow, &c.cno));
	evd_of(c.cno);
	c.cno = NULL;
	close_waits(&c);
	side_a.ia = DAT_HANDLE_NULL;
}

/* I17: so has it if another thread is freeing the CNO, and waits for the agent. */
static void close_beside_free(void)
{
	struct closer frees = {}, close = {};
	u64 end = deadline();
	DAT_EVD_HANDLE evd;

	evd = agent_running(&frees.cno);
	OK(dat_evd_free(evd));
	if (!CHECK(!pthread_create(&frees.thread, NULL, closes, &frees)))
		return;
	while (!sleeps(frees.tid) && !frees.done && now_us() < end)
		sched_yield();
	close_waits(&close);
	CHECK(!pthread_join(frees.thread, NULL));
	OK(frees.ret);
	side_a.ia = DAT_HANDLE_NULL;
}

static const struct scenario scenarios[] = {
	SCENARIO("E84 E85 E86 E88 E91 G28..G30 CNO calls: arguments", arguments),
	SCENARIO("E23 E52 E76 E86 E87 triggers", triggers),
	SCENARIO("E77 E83 a trigger is kept", sticky),
	SCENARIO("E78 a trigger, a waiter", one_waiter_each),
	SCENARIO("E79 E81 E82 E90 agents", agents),
	SCENARIO("E78 E79 E80 an agent and waiters", agent_and_waiters),
	SCENARIO("E89 the EVD of a trigger is freed", freed_meanwhile),
	SCENARIO("E61 E88 E90 waiters are released", releases),
	SCENARIO("E90 E78 ... and wait again at once", released_again),
	SCENARIO("E23 I15 disabled EVDs are closed", closed_disabled),
	SCENARIO("E90 I17 no agent runs after a close", no_late_agent),
	SCENARIO("E90 I17 ... beside a free of its CNO", close_beside_free),
	SCENARIO("E39 E82 E90 I17 an agent waits elsewhere when its IA is closed",
		 agent_waits_elsewhere),
	SCENARIO("E85 a signal ends dat_cno_wait", signals),
	SCENARIO("E33 E37 E76 E83 told when a waiter goes without the event",
		 told_after_a_wait),
	SCENARIO("E33 E37 E38 E76 told when two waiters go without the event",
		 told_after_two_waits),
	SCENARIO("E86 E114 one EVD, two threads, two CNOs", moved_by_two),
	SCENARIO("E79 E81 agents in a row", agents_in_a_row),
	SCENARIO("E76 E78 E82 a waiter is woken while an agent runs", waiter_beside_agent),
	SCENARIO("A8 a child has no descriptor of a CNO", child_without_descriptors),
	SCENARIO("E76 a CNO over a connection", with_transfers),
};

SCENARIO_TABLE(cno_table);
