// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Consumer Notification Objects: one wait over several EVDs. The kernel knows
 * nothing of them. It gives a pollable descriptor per EVD; a CNO is an epoll
 * set of those, edge triggered, so that an arrival is seen once and not again
 * until the next.
 *
 * A trigger is taken off the set under the CNO's lock, either by a thread that
 * comes and looks (dat_cno_wait) or by the CNO's own thread, which sleeps until
 * there is something and also runs the agent (E82). It goes to one waiter, to
 * the agent, or to both (E78, E80); while there is neither it is kept (E77).
 *
 * Locks: the CNO's, inside it that of one of its EVDs.
 */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"


/**
 * struct cno_call - an agent, to be called once (E79)
 * @evd: for which; NULL: none, or freed meanwhile
 */
struct cno_call {
	struct cno_call *next;
	DAT_OS_WAIT_PROXY_AGENT agent;
	struct shim_object *evd;
};

/**
 * struct shim_cno - the body of a CNO
 * @refs: the object, its thread, each waiter
 * @events: the epoll set
 * @wake: makes the thread look at @due and @dead
 * @triggered: there is a trigger, of @evd (NULL: freed meanwhile, E89)
 * @agent: to be called at the next trigger, or NULL
 * @due: agents that the thread has to call now, in order
 * @nr_evds: EVDs attached
 * @waiters: threads in dat_cno_wait
 * @released: grows when all waiters have to return with a null EVD (E90)
 * @thread, @started: the CNO's own
 * @calling: it is in an agent
 * @quiet: no agent is due or running
 * @seq: what waiters sleep on
 */
struct shim_cno {
	pthread_mutex_t lock;
	unsigned int refs;
	struct shim_fd events;
	struct shim_fd wake;
	bool triggered;
	struct shim_object *evd;
	struct cno_call *agent;
	struct cno_call *due;
	unsigned int nr_evds;
	unsigned int waiters;
	unsigned int released;
	bool dead;
	bool started;
	bool calling;
	pthread_t thread;
	pthread_cond_t quiet;
	atomic_uint_least32_t seq;
};

static void cno_free(struct shim_cno *cno)
{
	shim_fd_close(&cno->events);
	shim_fd_close(&cno->wake);
	free(cno->agent);
	free(cno);
}

/* Drops the lock and the reference. */
static void cno_unlock(struct shim_cno *cno)
{
	bool last = !--cno->refs;

	pthread_mutex_unlock(&cno->lock);
	if (last)
		cno_free(cno);
}

/* The body of a live CNO, with a reference and locked; NULL: a bad handle. */
static struct shim_cno *cno_lock(struct shim_object *obj)
{
	struct shim_cno *cno = NULL;

	shim_lock(&obj->lock);
	if (atomic_load(&obj->type) == SHIM_CNO)
		cno = obj->body;
	if (cno) {
		pthread_mutex_lock(&cno->lock);
		cno->refs++;
	}
	shim_unlock(&obj->lock);
	if (cno && cno->dead) {
		cno_unlock(cno);
		return NULL;
	}
	return cno;
}

static void wake_waiters(struct shim_cno *cno, int number)
{
	atomic_fetch_add(&cno->seq, 1);
	syscall(SYS_futex, &cno->seq, FUTEX_WAKE_PRIVATE, number, NULL, NULL, 0);
}

static void wake_thread(struct shim_cno *cno)
{
	uint64_t one = 1;

	/* Fails only if the counter is full, and then it is awake. */
	if (write(cno->wake.fd, &one, sizeof(one)) < 0)
		return;
}

/* An agent without a function is none (E91). Return: false without memory. */
static bool agent_new(DAT_OS_WAIT_PROXY_AGENT agent, struct cno_call **call)
{
	*call = NULL;
	if (!agent.proxy_agent_func)
		return true;
	*call = calloc(1, sizeof(**call));
	if (*call)
		(*call)->agent = agent;
	return *call;
}

/* The agent is taken off and called by the thread, after those before it. */
static void agent_call(struct shim_cno *cno, struct shim_object *evd)
{
	struct cno_call **end = &cno->due;

	while (*end)
		end = &(*end)->next;
	*end = cno->agent;
	cno->agent->evd = evd;
	cno->agent = NULL;
	wake_thread(cno);
}

static void cno_trigger(struct shim_cno *cno, struct shim_object *evd)
{
	if (cno->triggered)
		return;
	cno->triggered = true;
	cno->evd = evd;
	if (cno->waiters)
		wake_waiters(cno, 1);
	if (cno->agent) {
		/* With nobody waiting this is the delivery. */
		cno->triggered = cno->waiters;
		agent_call(cno, evd);
	}
}

/*
 * A thread that waits for this EVD gets the event, the CNO is not told (E37), or
 * later if the thread goes without it.
 */
static bool has_waiter(struct shim_object *evd)
{
	struct shim_evd *body;
	bool waiter;

	shim_lock(&evd->lock);
	body = evd->body;
	waiter = body && body->waiter;
	if (waiter)
		body->withheld = true;
	shim_unlock(&evd->lock);
	return waiter;
}

/*
 * Takes what has arrived; the first counts, the others are told with it. An EVD
 * that hangs up is being freed and triggers nothing; see shim_cno_detach().
 */
static void cno_collect(struct shim_cno *cno)
{
	/* More would be EVDs that were told already, or come again. */
	unsigned int left = cno->nr_evds / 16 + 1;
	struct epoll_event events[16];
	int n, i;

	do {
		n = epoll_wait(cno->events.fd, events, 16, 0);
		for (i = 0; i < n; i++)
			if (!(events[i].events & EPOLLHUP) &&
			    !has_waiter(events[i].data.ptr))
				cno_trigger(cno, events[i].data.ptr);
	} while (n == 16 && --left);
}

/* All waiters return, the agents are called with no EVD (E90). */
static void cno_release(struct shim_cno *cno)
{
	struct cno_call *call;

	for (call = cno->due; call; call = call->next)
		call->evd = NULL;
	cno->released++;
	cno->triggered = false;
	wake_waiters(cno, INT_MAX);
	if (cno->agent)
		agent_call(cno, NULL);
}

static void run_agent(struct shim_cno *cno)
{
	struct cno_call *call = cno->due;
	DAT_OS_WAIT_PROXY_AGENT agent = call->agent;
	DAT_EVD_HANDLE evd = call->evd;

	cno->due = call->next;
	cno->calling = true;
	free(call);
	pthread_mutex_unlock(&cno->lock);
	agent.proxy_agent_func(agent.instance_data, evd);
	pthread_mutex_lock(&cno->lock);
	cno->calling = false;
	if (!cno->due)
		pthread_cond_broadcast(&cno->quiet);
}

/*
 * No agent comes any more when a free or close has returned (I17). One that frees
 * or closes what it is called for does not wait for itself.
 */
static void agents_end(struct shim_cno *cno)
{
	if (cno->started && pthread_equal(cno->thread, pthread_self()))
		return;
	while (cno->due || cno->calling)
		pthread_cond_wait(&cno->quiet, &cno->lock);
}

static void *cno_thread(void *arg)
{
	struct shim_cno *cno = arg;
	struct pollfd fds[2] = {
		{ .fd = cno->events.fd, .events = POLLIN },
		{ .fd = cno->wake.fd, .events = POLLIN },
	};
	uint64_t count;

	pthread_mutex_lock(&cno->lock);
	cno->thread = pthread_self();
	cno->started = true;
	while (!cno->dead || cno->due) {
		if (cno->due) {
			run_agent(cno);
			continue;
		}
		pthread_mutex_unlock(&cno->lock);
		poll(fds, 2, -1);
		if (fds[1].revents &&
		    read(cno->wake.fd, &count, sizeof(count)) < 0)
			count = 0;
		pthread_mutex_lock(&cno->lock);
		cno_collect(cno);
	}
	cno_unlock(cno);
	return NULL;
}

/* Signals are for the program's threads. */
static int start_thread(struct shim_cno *cno)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, cno_thread, cno);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

static struct shim_cno *cno_alloc(DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct shim_cno *cno = calloc(1, sizeof(*cno));
	bool good;

	if (!cno)
		return NULL;
	pthread_mutex_init(&cno->lock, NULL);
	pthread_cond_init(&cno->quiet, NULL);
	cno->refs = 2;
	shim_fds_lock();
	good = shim_fd_keep(&cno->events, epoll_create1(EPOLL_CLOEXEC));
	good &= shim_fd_keep(&cno->wake,
			     eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	shim_fds_unlock();
	if (good && agent_new(agent, &cno->agent) && !start_thread(cno))
		return cno;
	cno_free(cno);
	return NULL;
}

/* Drops the object's reference of a CNO that is dead; @cno is locked. */
static void cno_drop(struct shim_cno *cno)
{
	wake_thread(cno);
	cno_unlock(cno);
}

/* The CNO is marked dead, by this thread: nobody finds it any more. */
static void cno_kill(struct shim_object *obj, struct shim_cno *cno)
{
	shim_lock(&obj->lock);
	obj->body = NULL;
	shim_unlock(&obj->lock);
	shim_object_kill(obj);

	pthread_mutex_lock(&cno->lock);
	cno_drop(cno);
}

/* Codes: INVALID_HANDLE/IA, INVALID_PARAMETER/ARG3, INSUFFICIENT_RESOURCES. */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA), *obj;
	struct shim_cno *cno;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!cno_handle)
		return RET_BAD_ARG(3);
	cno = cno_alloc(agent);
	if (!cno)
		return RET_NO_RESOURCE(MEMORY);
	obj = shim_object_new(SHIM_CNO, ia, cno);
	if (!obj) {
		pthread_mutex_lock(&cno->lock);
		cno->dead = true;
		cno_drop(cno);
		return RET_NO_RESOURCE(MEMORY);
	}
	*cno_handle = obj;
	return DAT_SUCCESS;
}

/* Codes: INVALID_HANDLE/CNO, INVALID_STATE/CNO_IN_USE (E88). */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	bool in_use;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	in_use = cno->nr_evds || cno->waiters;
	cno->dead = !in_use;
	if (!in_use)
		agents_end(cno);
	cno_unlock(cno);
	if (in_use)
		return RET_BAD_STATE(CNO_IN_USE);
	cno_kill(obj, cno);
	return DAT_SUCCESS;
}

/* Codes: INVALID_HANDLE/CNO, INVALID_PARAMETER/ARG2, /ARG3. */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (cno_param_mask & ~DAT_CNO_FIELD_ALL) {
		ret = RET_BAD_ARG(2);
	} else if (!cno_param) {
		ret = RET_BAD_ARG(3);
	} else {
		cno_param->ia_handle = obj->ia;
		cno_param->agent = cno->agent ? cno->agent->agent :
				   DAT_OS_WAIT_PROXY_AGENT_NULL;
	}
	cno_unlock(cno);
	return ret;
}

/*
 * dat_cno_modify_agent - another agent, or none
 *
 * A kept trigger calls the new agent (E81).
 *
 * Codes: INVALID_HANDLE/CNO; INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	struct cno_call *call;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (agent_new(agent, &call)) {
		free(cno->agent);
		cno->agent = call;
	} else {
		ret = RET_NO_RESOURCE(MEMORY);
	}
	if (!ret && call && cno->triggered) {
		cno->triggered = cno->waiters;
		agent_call(cno, cno->evd);
	}
	cno_unlock(cno);
	return ret;
}

static struct timespec deadline_of(DAT_TIMEOUT timeout)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	if (timeout == DAT_TIMEOUT_INFINITE) {
		t.tv_sec += INT_MAX;
		return t;
	}
	t.tv_sec += timeout / 1000000;
	t.tv_nsec += timeout % 1000000 * 1000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* Gives the lock up meanwhile. Return: 0 or the errno of the futex. */
static int cno_sleep(struct shim_cno *cno, const struct timespec *deadline)
{
	uint32_t seq = atomic_load(&cno->seq);
	long err;

	pthread_mutex_unlock(&cno->lock);
	/* With a deadline, always: one without would be restarted on signals. */
	err = syscall(SYS_futex, &cno->seq, FUTEX_WAIT_BITSET_PRIVATE, seq,
		      deadline, NULL, FUTEX_BITSET_MATCH_ANY);
	err = err ? errno : 0;
	pthread_mutex_lock(&cno->lock);
	return err == EAGAIN ? 0 : err;
}

static DAT_RETURN cno_wait(struct shim_cno *cno, DAT_TIMEOUT timeout,
			   struct shim_object **evd)
{
	struct timespec deadline = deadline_of(timeout);
	unsigned int released = cno->released;
	int err = timeout ? 0 : ETIMEDOUT;

	*evd = NULL;
	for (;;) {
		cno_collect(cno);
		if (cno->released != released)
			return DAT_SUCCESS;
		if (cno->triggered && err != EINTR) {
			cno->triggered = false;
			*evd = cno->evd;
			return DAT_SUCCESS;
		}
		if (err)
			break;
		cno->waiters++;
		err = cno_sleep(cno, &deadline);
		cno->waiters--;
	}
	/* Our wake-up may have been meant for a trigger: pass it on. */
	if (cno->triggered && cno->waiters)
		wake_waiters(cno, 1);
	return err == EINTR ? RET(INTERRUPTED_CALL) :
	       RET(QUEUE_EMPTY);
}

/*
 * dat_cno_wait - wait for one of the CNO's EVDs
 *
 * Codes: INVALID_HANDLE/CNO; INVALID_PARAMETER/ARG3; QUEUE_EMPTY (E84);
 * INTERRUPTED_CALL (E85).
 */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO), *evd;
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	DAT_RETURN ret;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (!evd_handle) {
		cno_unlock(cno);
		return RET_BAD_ARG(3);
	}
	ret = cno_wait(cno, timeout, &evd);
	cno_unlock(cno);
	if (!ret || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		*evd_handle = evd;
	return ret;
}

/* The EVD's descriptor, made when it first gets a CNO. */
static DAT_RETURN evd_poll_fd(struct shim_object *evd, struct shim_evd *body)
{
	struct kdapl_uapi_evd_poll_fd arg = { .evd = shim_token(evd) };
	DAT_RETURN ret;

	if (body->poll_fd.fd >= 0)
		return DAT_SUCCESS;
	shim_fds_lock();
	ret = shim_ioctl(KDAPL_IOC_EVD_POLL_FD, &arg, RET_NO_FAULT);
	if (!ret)
		shim_fd_keep(&body->poll_fd, arg.fd);
	shim_fds_unlock();
	return ret;
}

/*
 * A disabled EVD stays in the set without being watched; edge triggered all the same,
 * since a hang-up is told whatever was asked for.
 */
static int evd_watch(const struct shim_cno *cno, int op,
		     struct shim_object *evd, const struct shim_evd *body)
{
	struct epoll_event event = {
		.events = EPOLLET | (body->disabled ? 0 : EPOLLIN),
		.data.ptr = evd,
	};

	return epoll_ctl(cno->events.fd, op, body->poll_fd.fd, &event);
}

static DAT_RETURN evd_attach(struct shim_object *evd, struct shim_evd *body,
			     struct shim_object *obj, struct shim_cno *cno)
{
	DAT_RETURN ret = evd_poll_fd(evd, body);

	if (ret)
		return ret;
	if (evd_watch(cno, EPOLL_CTL_ADD, evd, body))
		return RET_NO_RESOURCE(MEMORY);
	body->cno = obj;
	cno->nr_evds++;
	return DAT_SUCCESS;
}

/*
 * shim_cno_attach - let an EVD without a CNO trigger this one
 *
 * An EVD that holds events triggers at once (E87). One that another thread has
 * given a CNO meanwhile keeps that: as if ours had been the first of the two.
 */
DAT_RETURN shim_cno_attach(struct shim_object *evd, struct shim_object *obj)
{
	struct shim_cno *cno = cno_lock(obj);
	struct shim_evd *body;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	shim_lock(&evd->lock);
	body = evd->body;
	if (!body)
		ret = RET_BAD_HANDLE(EVD_REQUEST);
	else if (!body->cno)
		ret = evd_attach(evd, body, obj, cno);
	shim_unlock(&evd->lock);
	cno_unlock(cno);
	return ret;
}

/* The CNO hears nothing more of the EVD, nor do those who wait for it. */
static void cno_forget(struct shim_cno *cno, struct shim_object *evd,
		       struct shim_evd *body)
{
	struct cno_call *call;

	epoll_ctl(cno->events.fd, EPOLL_CTL_DEL, body->poll_fd.fd, NULL);
	if (cno->evd == evd)
		cno->evd = NULL;
	for (call = cno->due; call; call = call->next)
		if (call->evd == evd)
			call->evd = NULL;
	cno->nr_evds--;
}

/*
 * shim_cno_detach - the end of an EVD's time with its CNO
 * @body: what was the EVD's body; nobody else has it
 */
void shim_cno_detach(struct shim_object *evd, struct shim_evd *body)
{
	struct shim_cno *cno = body->cno ? cno_lock(body->cno) : NULL;

	body->cno = NULL;
	if (!cno)
		return;
	cno_forget(cno, evd, body);
	if (!cno->nr_evds)
		cno_release(cno);
	cno_unlock(cno);
}

/*
 * Locks an EVD inside its CNO. Return: its body; NULL: the EVD is gone. *@cnop
 * is NULL if it has none.
 */
static struct shim_evd *lock_both(struct shim_object *evd,
				  struct shim_cno **cnop)
{
	struct shim_object *obj;
	struct shim_evd *body;

	for (;;) {
		shim_lock(&evd->lock);
		body = evd->body;
		obj = body ? body->cno : NULL;
		*cnop = NULL;
		if (!obj) {
			if (!body)
				shim_unlock(&evd->lock);
			return body;
		}
		shim_unlock(&evd->lock);

		*cnop = cno_lock(obj);
		shim_lock(&evd->lock);
		body = evd->body;
		if (body && body->cno == obj)
			return body;
		shim_unlock(&evd->lock);
		if (*cnop)
			cno_unlock(*cnop);
	}
}

static void unlock_both(struct shim_object *evd, struct shim_cno *cno)
{
	shim_unlock(&evd->lock);
	if (cno)
		cno_unlock(cno);
}

/* shim_cno_collect - what an EVD has triggered counts, although it is freed (E89) */
void shim_cno_collect(struct shim_object *evd)
{
	struct shim_cno *cno;

	if (!lock_both(evd, &cno))
		return;
	shim_unlock(&evd->lock);
	if (!cno)
		return;
	cno_collect(cno);
	cno_unlock(cno);
}

/* shim_cno_enable - whether events of the EVD trigger its CNO (E23, E87) */
DAT_RETURN shim_cno_enable(struct shim_object *evd, bool enable)
{
	struct shim_cno *cno;
	struct shim_evd *body;

	body = lock_both(evd, &cno);
	if (!body)
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (body->disabled == enable) {
		body->disabled = !enable;
		if (cno)
			evd_watch(cno, EPOLL_CTL_MOD, evd, body);
	}
	unlock_both(evd, cno);
	return DAT_SUCCESS;
}

/*
 * shim_cno_tell - the CNO of an EVD may hear of what came during a wait
 *
 * The wait has taken no event, so that nobody knows of them (E37, E76).
 */
void shim_cno_tell(struct shim_object *evd)
{
	struct shim_cno *cno;
	struct shim_evd *body;

	body = lock_both(evd, &cno);
	if (!body)
		return;
	if (body->withheld && !body->waiter) {
		body->withheld = false;
		if (cno)
			evd_watch(cno, EPOLL_CTL_MOD, evd, body);
	}
	unlock_both(evd, cno);
}

/* Codes: INVALID_HANDLE/EVD_REQUEST, /CNO. Null detaches (E86). */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
			      DAT_CNO_HANDLE cno_handle)
{
	struct shim_object *evd = shim_find(evd_handle, SHIM_EVD);
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_object *before;
	struct shim_evd *body;
	struct shim_cno *old;
	DAT_RETURN ret;

	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (cno_handle != DAT_HANDLE_NULL && (!obj || obj->ia != evd->ia))
		return RET_BAD_HANDLE(CNO);

	body = lock_both(evd, &old);
	if (!body)
		return RET_BAD_HANDLE(EVD_REQUEST);
	before = body->cno;
	if (before != obj && old)
		cno_forget(old, evd, body);
	if (before != obj)
		body->cno = NULL;
	unlock_both(evd, old);
	if (!obj || before == obj)
		return DAT_SUCCESS;
	ret = shim_cno_attach(evd, obj);
	/* Refused calls change nothing. */
	if (ret && before)
		shim_cno_attach(evd, before);
	return ret;
}

static void count_cno(struct shim_object *obj, void *arg)
{
	if (atomic_load(&obj->type) == SHIM_CNO)
		(*(unsigned int *)arg)++;
}

/* A CNO keeps its IA from a graceful close (I12). */
bool shim_cno_left(struct shim_object *ia)
{
	unsigned int number = 0;

	shim_for_each(ia, count_cno, &number);
	return number;
}

/* The IA is closed: waiters and the agent are told (E90). */
void shim_cno_close(struct shim_object *obj)
{
	struct shim_cno *cno = cno_lock(obj);

	if (!cno)
		return;
	cno_release(cno);
	cno->dead = true;
	agents_end(cno);
	cno_unlock(cno);
	cno_kill(obj, cno);
}
