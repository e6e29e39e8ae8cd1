// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Consumer Notification Objects: one wait over several EVDs. The calls
 * dat_cno_* and dat_evd_modify_cno(), and what cmd_evd.c, cmd_ia.c and forward.c
 * need of CNOs. All of this is done in the library; the kernel knows no CNO.
 *
 * A CNO is an edge-triggered epoll set of descriptors of its EVDs (shim_ops.evd_poll_fd). Each CNO
 * has a thread that reads the set, and with its first agent a second one, which calls the agents
 * (E82). What a trigger is (E76), and to whom it goes (E77, E78, E80), is told in
 * Documentation/life-of-a-dto.rst, CNOs.
 *
 * Locks, the outer one first: shim_cno.lock; the lock of one of its EVDs.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shim.h"

/**
 * struct cno_call - an agent, which is called once (E79)
 * @next: the agent to call after this one
 * @agent: function and its argument
 * @evd: the EVD of the trigger; NULL if there is none, or if it was freed
 */
struct cno_call {
	struct cno_call *next;
	DAT_OS_WAIT_PROXY_AGENT agent;
	struct shim_object *evd;
};

/**
 * struct shim_cno - the body of a CNO
 * @lock: protects all that follows
 * @refs: references: one of the object, one of each thread, one of each call
 *	that runs
 * @events: the epoll set
 * @wake: an eventfd that wakes the thread in collect_events(), to look at @dead
 * @triggered: a trigger waits for somebody to take it
 * @evd: the EVD of that trigger; NULL if it was freed meanwhile (E89)
 * @agent: called at the next trigger; NULL if there is none
 * @due: agents that @caller has to call now, in this order
 * @nr_evds: EVDs attached
 * @waiters: threads asleep in dat_cno_wait
 * @released: incremented when all waiters have to return without an EVD (E90)
 * @leaving: those of them that have not got up yet
 * @dead: freed or closed
 * @closed: by the close of its IA
 * @has_caller: @caller is valid
 * @calling: @caller is in an agent
 * @caller: the thread that calls agents
 * @work: signalled for @caller, when an agent is due or the CNO is dead
 * @quiet: signalled when no agent is due or running
 * @left: signalled when @leaving is 0, and when all have to return
 * @bell: an eventfd that waiters sleep on; it counts how many of them are to wake up
 * @shown: an eventfd for the consumer to sleep on, which counts 1 while @triggered; or none
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
	unsigned int leaving;
	bool dead;
	bool closed;
	bool has_caller;
	bool calling;
	pthread_t caller;
	pthread_cond_t work;
	pthread_cond_t quiet;
	pthread_cond_t left;
	struct shim_fd bell;
	struct shim_fd shown;
};

static void cno_free(struct shim_cno *cno)
{
	shim_fd_close(&cno->events);
	shim_fd_close(&cno->wake);
	shim_fd_close(&cno->bell);
	shim_fd_close(&cno->shown);
	free(cno->agent);
	free(cno);
}

/* Unlocks a CNO and drops the reference that cno_lock() took. */
static void cno_unlock(struct shim_cno *cno)
{
	bool last = !--cno->refs;

	pthread_mutex_unlock(&cno->lock);
	if (last)
		cno_free(cno);
}

/* Locks a CNO, dead or alive, and takes a reference. Return: its body, or NULL. */
static struct shim_cno *cno_lock_any(struct shim_object *obj)
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
	return cno;
}

/* Like cno_lock_any(), but returns NULL for a CNO that is dead. */
static struct shim_cno *cno_lock(struct shim_object *obj)
{
	struct shim_cno *cno = cno_lock_any(obj);

	if (cno && cno->dead) {
		cno_unlock(cno);
		return NULL;
	}
	return cno;
}

static void cno_wake_waiters(struct shim_cno *cno, eventfd_t number)
{
	eventfd_write(cno->bell.fd, number);
}

/* Wakes both threads of a CNO, so that they see that it is dead and end. */
static void cno_wake_threads(struct shim_cno *cno)
{
	pthread_cond_signal(&cno->work);
	/* Fails only if the eventfd could not be made; then no thread was started. */
	eventfd_write(cno->wake.fd, 1);
}

/*
 * Allocates *@call for an agent; NULL if the agent has no function (E91).
 * Return: false if there is no memory.
 */
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

/* Queues the agent of the CNO for one call, behind the agents that are due already. */
static void agent_make_due(struct shim_cno *cno, struct shim_object *evd)
{
	struct cno_call **end = &cno->due;

	while (*end)
		end = &(*end)->next;
	*end = cno->agent;
	cno->agent->evd = evd;
	cno->agent = NULL;
	pthread_cond_signal(&cno->work);
}

/* A trigger waits for somebody to take it, or does not any more. */
static void cno_set_triggered(struct shim_cno *cno, bool triggered)
{
	eventfd_t count;

	if (cno->shown.fd >= 0 && triggered)
		eventfd_write(cno->shown.fd, !cno->triggered);
	else if (cno->shown.fd >= 0)
		eventfd_read(cno->shown.fd, &count);
	cno->triggered = triggered;
}

static void cno_trigger(struct shim_cno *cno, struct shim_object *evd)
{
	if (cno->triggered)
		return;
	cno_set_triggered(cno, true);
	cno->evd = evd;
	if (cno->waiters)
		cno_wake_waiters(cno, 1);
	if (cno->agent) {
		/* The agent consumes the trigger; waiters, if any, still get it as well. */
		cno->triggered = cno->waiters;
		agent_make_due(cno, evd);
	}
}

/*
 * Does a thread wait in dat_evd_wait()? Then the event is for that thread, and
 * the CNO is not triggered (E37). Should the thread return without an event, it
 * will see by @withheld that the CNO has to be triggered after all.
 */
static bool evd_has_waiter(struct shim_object *evd)
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

/* The descriptor of an EVD was readable. Is that a trigger? */
static bool triggers(struct shim_object *evd)
{
	return !evd_has_waiter(evd) && evd->ops->evd_notifies(evd);
}

/*
 * Takes all reports from the epoll set. The first one triggers the CNO; while
 * that trigger is kept, further ones add nothing (E83). An EVD whose descriptor
 * reports a hang-up is being freed and triggers nothing.
 */
static void cno_collect(struct shim_cno *cno)
{
	/*
	 * Enough rounds to report each EVD once. Without a bound, EVDs at which
	 * events arrive all the time could keep this loop going for ever.
	 */
	unsigned int left = cno->nr_evds / 16 + 1;
	struct epoll_event events[16];
	int n, i;

	do {
		n = epoll_wait(cno->events.fd, events, 16, 0);
		for (i = 0; i < n; i++)
			if (!(events[i].events & EPOLLHUP) &&
			    triggers(events[i].data.ptr))
				cno_trigger(cno, events[i].data.ptr);
	} while (n == 16 && --left);
}

/*
 * Has all waiters return and all agents called; none of them gets an EVD (E90). Neither does who
 * sleeps on the descriptor, for whom a trigger without an EVD is kept.
 */
static void cno_release(struct shim_cno *cno)
{
	struct cno_call *call;

	for (call = cno->due; call; call = call->next)
		call->evd = NULL;
	cno->released++;
	cno->leaving = cno->waiters;
	cno->evd = NULL;
	cno_set_triggered(cno, cno->shown.fd >= 0);
	if (cno->waiters) {
		cno_wake_waiters(cno, cno->waiters);
		pthread_cond_broadcast(&cno->left);
	}
	if (cno->agent)
		agent_make_due(cno, NULL);
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
 * Waits until no agent runs or is due: dat_cno_free() and dat_ia_close() promise
 * that (I17). If an agent itself calls one of them, this returns at once, since
 * the agent cannot wait for its own end.
 */
static void agents_wait(struct shim_cno *cno)
{
	if (cno->has_caller && pthread_equal(cno->caller, pthread_self()))
		return;
	while (cno->due || cno->calling)
		pthread_cond_wait(&cno->quiet, &cno->lock);
}

/* The thread that calls agents */
static void *call_agents(void *arg)
{
	struct shim_cno *cno = arg;

	shim_name_thread("kdapl-cno");
	pthread_mutex_lock(&cno->lock);
	while (!cno->dead || cno->due) {
		if (cno->due)
			run_agent(cno);
		else
			pthread_cond_wait(&cno->work, &cno->lock);
	}
	cno_unlock(cno);
	return NULL;
}

/* The thread that waits for reports of the epoll set, and for @wake */
static void *collect_events(void *arg)
{
	struct shim_cno *cno = arg;
	struct pollfd fds[2] = {
		{ .fd = cno->events.fd, .events = POLLIN },
		{ .fd = cno->wake.fd, .events = POLLIN },
	};

	shim_name_thread("kdapl-cno");
	pthread_mutex_lock(&cno->lock);
	while (!cno->dead) {
		pthread_mutex_unlock(&cno->lock);
		poll(fds, 2, -1);
		pthread_mutex_lock(&cno->lock);
		cno_collect(cno);
	}
	cno_unlock(cno);
	return NULL;
}

/* Starts a thread of a CNO, which is locked. Return: false if no thread could be made. */
static bool cno_start_thread(struct shim_cno *cno, void *(*func)(void *arg),
			     pthread_t *thread)
{
	bool started = shim_thread(func, cno, 0, thread);

	cno->refs += started;
	return started;
}

/*
 * Replaces the agent of a CNO, which is locked. Return: false if there is no
 * memory or no thread to be had; then the CNO keeps its agent.
 */
static bool agent_replace(struct shim_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct cno_call *call;

	if (!agent_new(agent, &call))
		return false;
	if (call && !cno->has_caller) {
		cno->has_caller = cno_start_thread(cno, call_agents, &cno->caller);
		if (!cno->has_caller) {
			free(call);
			return false;
		}
	}
	free(cno->agent);
	cno->agent = call;
	return true;
}

/*
 * Drops the object's reference of @cno, which is dead and locked, and wakes its
 * threads, which end then. Unlocks it.
 */
static void cno_drop(struct shim_cno *cno)
{
	cno_wake_threads(cno);
	cno_unlock(cno);
}

/* Ends a CNO that never got an object, because a part of its creation failed. */
static void cno_abort(struct shim_cno *cno)
{
	pthread_mutex_lock(&cno->lock);
	cno->dead = true;
	cno_drop(cno);
}

/* @shows: the CNO has a descriptor for its consumer */
static struct shim_cno *cno_alloc(DAT_OS_WAIT_PROXY_AGENT agent, bool shows)
{
	struct shim_cno *cno = calloc(1, sizeof(*cno));
	pthread_t collector;
	bool good;

	if (!cno)
		return NULL;
	pthread_mutex_init(&cno->lock, NULL);
	pthread_cond_init(&cno->work, NULL);
	pthread_cond_init(&cno->quiet, NULL);
	pthread_cond_init(&cno->left, NULL);
	cno->refs = 1;	/* of the object */
	shim_fds_lock();
	good = shim_fd_keep(&cno->events, epoll_create1(EPOLL_CLOEXEC));
	good &= shim_fd_keep(&cno->wake,
			     eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	good &= shim_fd_keep(&cno->bell,
			     eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
	good &= shim_fd_keep(&cno->shown,
			     shows ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) || !shows;
	shim_fds_unlock();
	pthread_mutex_lock(&cno->lock);
	good = good && cno_start_thread(cno, collect_events, &collector) &&
	       agent_replace(cno, agent);
	pthread_mutex_unlock(&cno->lock);
	if (good)
		return cno;
	cno_abort(cno);
	return NULL;
}

/* Makes the handle of a CNO invalid; the calling thread has marked the CNO dead. */
static void cno_kill(struct shim_object *obj, struct shim_cno *cno)
{
	shim_lock(&obj->lock);
	obj->body = NULL;
	shim_unlock(&obj->lock);
	shim_object_kill(obj);

	pthread_mutex_lock(&cno->lock);
	/* Not when the last thread has ended: the consumer knows its number. */
	shim_fd_close(&cno->shown);
	cno_drop(cno);
}

/*
 * Is the device of an IA there? Without it nothing is made on the IA (E71), although a CNO needs no
 * device. A call that does is asked to do nothing, since the kernel does not hear of a CNO.
 */
static DAT_RETURN check_device(struct shim_object *ia)
{
	struct kdapl_uapi_lmr_sync nothing = { .ia = shim_token(ia) };

	return ia->ops->lmr_sync(ia, &nothing);
}

/*
 * dat_cno_create - make a CNO
 * @ia_handle: an IA
 * @agent: called once at the next trigger; if its function is NULL there is none
 * @cno_handle: out
 *
 * Rules E71, E79..E82, E91.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG3 for a
 * null @cno_handle; DAT_INVALID_STATE without a device;
 * DAT_INSUFFICIENT_RESOURCES/MEMORY, also if no descriptor or no thread can be had.
 */
DAT_RETURN own_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	return shim_cno_create(ia_handle, agent, NULL, cno_handle);
}

/* shim_cno_create - dat_cno_create(); @fd: out, unless NULL: the descriptor of DAT 2.0 */
DAT_RETURN shim_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent, int *fd,
			   DAT_CNO_HANDLE *cno_handle)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA), *obj;
	struct shim_cno *cno;
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (!cno_handle)
		return RET_BAD_ARG(3);
	ret = check_device(ia);
	if (ret)
		return ret;
	cno = cno_alloc(agent, fd);
	if (!cno)
		return RET_NO_RESOURCE(MEMORY);
	obj = shim_object_new(SHIM_CNO, ia, cno);
	if (!obj) {
		cno_abort(cno);
		return RET_NO_RESOURCE(MEMORY);
	}
	if (fd)
		*fd = cno->shown.fd;
	*cno_handle = obj;
	return DAT_SUCCESS;
}

/*
 * dat_cno_free - free a CNO
 *
 * On return no agent of the CNO runs, except one that has itself called this
 * (I17).
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CNO; DAT_INVALID_STATE/CNO_IN_USE
 * while an EVD is attached or a thread waits (E88).
 */
DAT_RETURN own_cno_free(DAT_CNO_HANDLE cno_handle)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	bool in_use;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	in_use = cno->nr_evds || cno->waiters;
	cno->dead = !in_use;
	if (!in_use)
		agents_wait(cno);
	cno_unlock(cno);
	if (in_use)
		return RET_BAD_STATE(CNO_IN_USE);
	cno_kill(obj, cno);
	return DAT_SUCCESS;
}

/*
 * dat_cno_query - parameters of a CNO
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CNO; DAT_INVALID_PARAMETER/ARG2 for
 * unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN own_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (cno_param_mask & ~FACE_CNO_FIELDS) {
		ret = RET_BAD_ARG(2);
	} else if (!cno_param) {
		ret = RET_BAD_ARG(3);
	} else {
		cno_param->ia_handle = shim_ia_shown(shim_token(obj->ia));
		face_cno_param(cno_param, cno->agent ? &cno->agent->agent : NULL,
			       cno->shown.fd);
	}
	cno_unlock(cno);
	return ret;
}

/*
 * dat_cno_modify_agent - replace the agent
 *
 * On a CNO that is triggered the new agent is called at once (E81).
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CNO; DAT_INVALID_PARAMETER/ARG2 for an agent on a CNO
 * that has a descriptor; DAT_INSUFFICIENT_RESOURCES/MEMORY, also if no thread can be had.
 */
DAT_RETURN own_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO);
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (cno->shown.fd >= 0 && agent.proxy_agent_func) {
		ret = RET_BAD_ARG(2);
	} else if (!agent_replace(cno, agent)) {
		ret = RET_NO_RESOURCE(MEMORY);
	} else if (cno->agent && cno->triggered) {
		cno->triggered = cno->waiters;
		agent_make_due(cno, cno->evd);
	}
	cno_unlock(cno);
	return ret;
}

/*
 * Sleeps with @cno unlocked. Several waiters may be woken by one ring of the bell; the others find
 * no trigger, and sleep again. But a ring for those who have to leave must not be taken by who does
 * not, for they would sleep on: so nobody begins to sleep before they are up.
 * Return: 0, ETIMEDOUT, or the errno of ppoll(2).
 */
static int cno_sleep(struct shim_cno *cno, struct shim_sleep *sleep)
{
	struct pollfd bell = { .fd = cno->bell.fd, .events = POLLIN };
	unsigned int released = cno->released;
	eventfd_t one;
	int n = 1;

	cno->waiters++;
	while (cno->leaving && cno->released == released)
		pthread_cond_wait(&cno->left, &cno->lock);
	if (cno->released == released) {
		pthread_mutex_unlock(&cno->lock);
		n = shim_sleep(sleep, &bell, 1, UINT64_MAX);
		pthread_mutex_lock(&cno->lock);
	}
	cno->waiters--;
	if (cno->released != released && !--cno->leaving)
		pthread_cond_broadcast(&cno->left);
	if (n <= 0)
		return n ? -n : ETIMEDOUT;
	/* Fails if another waiter was faster. */
	eventfd_read(cno->bell.fd, &one);
	return 0;
}

static DAT_RETURN cno_wait(struct shim_cno *cno, DAT_TIMEOUT timeout,
			   struct shim_sleep *sleep, struct shim_object **evd)
{
	unsigned int released = cno->released;
	int err = timeout ? 0 : ETIMEDOUT;

	*evd = NULL;
	for (;;) {
		cno_collect(cno);
		if (cno->released != released)
			return DAT_SUCCESS;
		if (cno->triggered && err != EINTR) {
			cno_set_triggered(cno, false);
			*evd = cno->evd;
			return DAT_SUCCESS;
		}
		if (err)
			break;
		err = cno_sleep(cno, sleep);
	}
	/*
	 * This thread returns without taking the trigger, although it may be the
	 * one that was woken for it. So another waiter has to be woken.
	 */
	if (cno->triggered && cno->waiters)
		cno_wake_waiters(cno, 1);
	return err == EINTR ? RET(INTERRUPTED_CALL) : FACE_QUEUE_EMPTY;
}

/*
 * dat_cno_wait - wait until an EVD of the CNO has events
 * @cno_handle: a CNO
 * @timeout: microseconds, 0 to look once, or DAT_TIMEOUT_INFINITE
 * @evd_handle: out: the EVD of the trigger, null if it was freed (E89),
 *	if the CNO lost its last EVD, or if the IA was closed (E90)
 *
 * Rules E76..E78, E80, E83..E85, E89, E90.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/CNO; DAT_INVALID_PARAMETER/ARG3 for a
 * null @evd_handle; DAT_QUEUE_EMPTY when the time is over;
 * DAT_INTERRUPTED_CALL.
 */
DAT_RETURN own_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle)
{
	struct shim_object *obj = shim_find(cno_handle, SHIM_CNO), *evd;
	struct shim_cno *cno = obj ? cno_lock(obj) : NULL;
	struct shim_sleep sleep = { .deadline = shim_deadline(timeout) };
	int cancelable;
	DAT_RETURN ret;

	if (!cno)
		return RET_BAD_HANDLE(CNO);
	if (!evd_handle) {
		cno_unlock(cno);
		return RET_BAD_ARG(3);
	}
	/* A thread that was cancelled in cno_wait() would leave the CNO locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	ret = cno_wait(cno, timeout, &sleep, &evd);
	cno_unlock(cno);
	shim_sleep_end(&sleep);
	pthread_setcancelstate(cancelable, NULL);
	if (!ret || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		*evd_handle = evd;
	return ret;
}

/*
 * Adds an EVD to the epoll set, or modifies its entry. After either, epoll
 * reports the EVD if events are queued in it. A disabled EVD stays in the set
 * with no events asked for. It has to be edge triggered nevertheless: epoll
 * reports a hang-up whatever was asked for, and would report it for ever.
 */
static int cno_poll_evd(const struct shim_cno *cno, int op,
			struct shim_object *evd, const struct shim_evd *body)
{
	struct epoll_event event = {
		.events = EPOLLET | (body->disabled ? 0 : EPOLLIN),
		.data.ptr = evd,
	};

	evd->ops->evd_rearm(evd);
	return epoll_ctl(cno->events.fd, op, body->poll_fd.fd, &event);
}

static DAT_RETURN evd_attach(struct shim_object *evd, struct shim_evd *body,
			     struct shim_object *obj, struct shim_cno *cno)
{
	DAT_RETURN ret;

	/* The descriptor is made when the EVD first gets a CNO. */
	ret = body->poll_fd.fd >= 0 ? DAT_SUCCESS :
	      evd->ops->evd_poll_fd(evd, body);
	if (ret)
		return ret;
	if (cno_poll_evd(cno, EPOLL_CTL_ADD, evd, body))
		return RET_NO_RESOURCE(MEMORY);
	body->cno = obj;
	cno->nr_evds++;
	return DAT_SUCCESS;
}

/*
 * shim_cno_attach - let an EVD that has no CNO trigger the CNO @obj
 *
 * An EVD that holds events triggers at once (E87). If another thread has just
 * given the EVD a CNO, the EVD keeps that one, as if the other thread had made
 * its call after this one.
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

/* Removes an EVD from a CNO. A trigger by it that is still kept loses its EVD. */
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
 * shim_cno_detach - remove an EVD that was freed from its CNO
 * @body: its former body, which no other thread can reach any more
 *
 * When this was its last EVD, the CNO cannot be triggered any more, so its
 * waiters return (E90).
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
 * Locks the CNO of an EVD and, inside it, the EVD. Only the locked EVD tells
 * which CNO it has, and it has to be unlocked again before that CNO can be
 * locked. So after both are locked this checks whether the EVD still has that
 * CNO, and tries again if not. Return: the body of the EVD; NULL, with nothing
 * locked, if the EVD was freed. *@cnop is NULL if the EVD has no CNO that is
 * alive.
 */
static struct shim_evd *evd_and_cno_lock(struct shim_object *evd,
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

static void evd_and_cno_unlock(struct shim_object *evd, struct shim_cno *cno)
{
	shim_unlock(&evd->lock);
	if (cno)
		cno_unlock(cno);
}

/*
 * shim_cno_collect - trigger the CNO for what has arrived at an EVD that is
 *	about to be freed
 *
 * Such a trigger counts, although the EVD is gone by the time that a thread
 * waits for it (E89).
 */
void shim_cno_collect(struct shim_object *evd)
{
	struct shim_cno *cno;

	if (!evd_and_cno_lock(evd, &cno))
		return;
	shim_unlock(&evd->lock);
	if (!cno)
		return;
	cno_collect(cno);
	cno_unlock(cno);
}

/* shim_cno_enable - set whether events of an EVD trigger its CNO (E23, E87) */
DAT_RETURN shim_cno_enable(struct shim_object *evd, bool enable)
{
	struct shim_cno *cno;
	struct shim_evd *body;

	body = evd_and_cno_lock(evd, &cno);
	if (!body)
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (body->disabled == enable) {
		body->disabled = !enable;
		if (cno)
			cno_poll_evd(cno, EPOLL_CTL_MOD, evd, body);
	}
	evd_and_cno_unlock(evd, cno);
	return DAT_SUCCESS;
}

/*
 * shim_cno_tell - trigger the CNO of an EVD for what arrived during a wait
 *
 * Called after a dat_evd_wait() that has taken no event (in passthrough only
 * after one that was refused; pass_wait.c does this itself for the others).
 * Events that arrived during the wait did not trigger the CNO, since they were
 * meant for that thread; so the CNO has to be triggered for them now (E37, E76).
 */
void shim_cno_tell(struct shim_object *evd)
{
	struct shim_cno *cno;
	struct shim_evd *body;

	body = evd_and_cno_lock(evd, &cno);
	if (!body)
		return;
	if (body->withheld && !body->waiter) {
		body->withheld = false;
		if (cno)
			cno_poll_evd(cno, EPOLL_CTL_MOD, evd, body);
	}
	evd_and_cno_unlock(evd, cno);
}

/*
 * dat_evd_modify_cno - give an EVD another CNO, or none
 * @evd_handle: an EVD
 * @cno_handle: a CNO of the same IA, or null
 *
 * Rules E86, E87.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST, /CNO;
 * DAT_INSUFFICIENT_RESOURCES, and the EVD keeps its CNO.
 */
DAT_RETURN own_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
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

	body = evd_and_cno_lock(evd, &old);
	if (!body)
		return RET_BAD_HANDLE(EVD_REQUEST);
	before = body->cno;
	if (before != obj && old)
		cno_forget(old, evd, body);
	if (before != obj)
		body->cno = NULL;
	evd_and_cno_unlock(evd, old);
	if (!obj || before == obj)
		return DAT_SUCCESS;
	ret = shim_cno_attach(evd, obj);
	/* A call that fails changes nothing (E2). */
	if (ret && before)
		shim_cno_attach(evd, before);
	return ret;
}

static void count_cno(struct shim_object *obj, void *arg)
{
	if (atomic_load(&obj->type) == SHIM_CNO)
		(*(unsigned int *)arg)++;
}

/* shim_cno_left - does an IA have a CNO, which prevents its graceful close (I12)? */
bool shim_cno_left(struct shim_object *ia)
{
	unsigned int number = 0;

	shim_for_each(ia, count_cno, &number);
	return number;
}

/*
 * shim_cno_end - end all waits for a CNO whose IA was closed
 *
 * All waiters return, and the agents are called (E90). The close of an IA does this to all its
 * CNOs before it calls shim_cno_close() for any of them. That call waits for the agents of its
 * CNO, and an agent may itself be waiting for another CNO.
 */
void shim_cno_end(struct shim_object *obj)
{
	struct shim_cno *cno = cno_lock(obj);

	if (!cno)
		return;
	cno_release(cno);
	cno->dead = true;
	cno->closed = true;
	cno_unlock(cno);
}

/* shim_cno_close - wait for the agents of a CNO and kill it, after shim_cno_end() */
void shim_cno_close(struct shim_object *obj)
{
	struct shim_cno *cno = cno_lock_any(obj);
	bool closed;

	if (!cno)
		return;
	/* Otherwise dat_cno_free() had marked it dead before, and finishes it. */
	closed = cno->closed;
	/* In both cases no agent may run any more when dat_ia_close() returns (I17). */
	agents_wait(cno);
	cno_unlock(cno);
	if (closed)
		cno_kill(obj, cno);
}
