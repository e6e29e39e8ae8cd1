// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The housekeeper: the one thread of a process in passthrough that carries out what takes longer
 * than a call can go on with by itself, from the first connection on. It looks after an EP as long
 * as something there is to be carried out, or a call waits for something that this thread hears of
 * (pass_keeper_await()). Whoever begins such a thing says so (pass_keeper_add()), but for ends
 * that only the kernel knows of (pass_keeper_watch()); whoever changes something that an EP may
 * wait for has the thread look again (pass_keeper_look()). It destroys the queue pairs of
 * connections that have ended, too, one after the other, when there is nothing else to be done.
 *
 * Documentation/rules-by-mode.rst, Housekeeper, says what is carried out, on what the thread
 * sleeps, and when it wakes by itself.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "passthrough.h"

/* The pause between two looks at an EVD that tells of nothing, or if there is no sleep; ns */
#define DEAF_NS		10000000ull

/*
 * Of the thread: a process that locks all its memory may have no room for a larger one. But the C
 * library takes the thread's copy of all thread-local variables from the stack, and refuses one
 * that is too small for these; then the thread gets as large a stack as the program's own threads.
 */
#define STACK		(256u << 10)

/* The pause between two looks that nothing but completions has caused; ns */
#define REST_NS		1000000u

/* The pause between two looks at the EPs that are watched: there may be thousands of them; ns */
#define WATCH_NS	10000000u

/*
 * @lock: making the thread, and @fresh
 * @watch_lock: @watched; only the thread holds it for long, and @lock inside it
 * @runs: there is the thread, and its descriptors
 * @rung: the bell was rung, and the thread has not begun to look since
 * @changed: the same, and not only to have it listen again
 * @fresh: EPs that the thread has not seen yet
 * @deaf: EVDs of whose completions nothing tells, and on which somebody waits
 * @watched: EPs that it looks after from when the board shows their end (pass_keeper_watch())
 * @eps: those that it looks after; these and what follows are its own
 * @watch_at: not before then it looks at @watched again; ns
 * @round: counts its looks, for each of which it listens to an EVD once
 * @on_board: the news of the board is in @epoll
 */
static struct {
	pthread_mutex_t lock;
	pthread_mutex_t watch_lock;
	atomic_bool runs;
	atomic_bool rung;
	atomic_bool changed;
	struct shim_fd epoll;
	struct shim_fd bell;
	struct shim_fd board;
	struct pass_ep *fresh;
	struct pass_evd *deaf;
	struct pass_ep *watched;
	struct pass_ep *eps;
	uint64_t watch_at;
	uint32_t round;
	bool on_board;
} keeper = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.watch_lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll.fd = -1,
	.bell.fd = -1,
	.board.fd = -1,
};

/* pass_keeper_child - in a child of fork(): there is no thread, and nothing for it to do */
void pass_keeper_child(void)
{
	pthread_mutex_init(&keeper.lock, NULL);
	pthread_mutex_init(&keeper.watch_lock, NULL);
	atomic_store(&keeper.runs, false);
	atomic_store(&keeper.rung, false);
	atomic_store(&keeper.changed, false);
	keeper.epoll.fd = -1;
	keeper.bell.fd = -1;
	keeper.board.fd = -1;
	keeper.fresh = NULL;
	keeper.deaf = NULL;
	keeper.watched = NULL;
	keeper.eps = NULL;
	keeper.on_board = false;
}

/* ---- descriptors ------------------------------------------------------- */

static bool event_make(struct shim_fd *fd)
{
	return shim_fd_keep(fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static bool epoll_set(int how, int fd, uint32_t what)
{
	struct epoll_event event = { .events = what, .data.fd = fd };

	return !epoll_ctl(keeper.epoll.fd, how, fd, &event);
}

/* The kernel is told last, since it takes one eventfd and keeps it. */
static bool descriptors_make(void)
{
	struct kdapl_uapi_board_event arg;
	bool made;

	shim_fds_lock();
	made = shim_fd_keep(&keeper.epoll, epoll_create1(EPOLL_CLOEXEC)) &&
	       event_make(&keeper.bell) && event_make(&keeper.board) &&
	       epoll_set(EPOLL_CTL_ADD, keeper.bell.fd, EPOLLIN) &&
	       epoll_set(EPOLL_CTL_ADD, keeper.board.fd, 0);
	shim_fds_unlock();
	if (made) {
		arg = (struct kdapl_uapi_board_event) { .eventfd = keeper.board.fd };
		made = !shim_ioctl(KDAPL_IOC_BOARD_EVENT, &arg, RET_NO_FAULT);
	}
	if (made)
		return true;
	shim_fd_close(&keeper.epoll);
	shim_fd_close(&keeper.bell);
	shim_fd_close(&keeper.board);
	return false;
}

/* Has the news of the board wake the thread, or not. */
static void poll_board(bool watch)
{
	if (watch == keeper.on_board)
		return;
	keeper.on_board = watch;
	/* What has changed until now is looked at next. */
	if (watch)
		pass_event_clear(&keeper.board);
	epoll_set(EPOLL_CTL_MOD, keeper.board.fd, watch ? EPOLLIN : 0);
}

/*
 * Has completions of an EVD wake the thread, once, before it looks. @next: in and out: when the
 * thread looks again at the latest; ns
 */
static void listen_to(struct pass_evd *evd, uint64_t *next)
{
	int fd = evd->channel_fd.fd;
	bool heard = evd->kept_round == keeper.round;

	if (!heard) {
		evd->kept_round = keeper.round;
		evd->kept_silent = !pass_evd_listen(evd) ||
				   (!epoll_set(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT) &&
				    !epoll_set(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT));
	}
	if (evd->kept_silent && shim_now() + DEAF_NS < *next)
		*next = shim_now() + DEAF_NS;
}

/* ---- looking ----------------------------------------------------------- */

static bool is_kept_waiting(struct pass_ep *ep)
{
	return atomic_load(&ep->ending) || atomic_load(&ep->draining) || pass_ep_moves(ep) ||
	       pass_ep_waits(ep) || atomic_load(&ep->news.waiters) || pass_ended_unseen(ep);
}

/* @ep->use is held. Return: true if nothing keeps the EP waiting any more. */
static bool carry_on(struct pass_ep *ep)
{
	int i;

	pass_ep_refill(ep);
	for (i = 0; i < PASS_DIRS; i++)
		pass_dir_pull(&ep->dir[i]);
	pass_end_go(ep);
	return !ep->obj || !is_kept_waiting(ep);
}

/*
 * Listens before it looks, so that nothing is missed; but to an EP that is new in the list only if
 * a first look leaves something to be done.
 */
static bool look_after(struct pass_ep *ep, uint64_t *next)
{
	bool first = !ep->listened;
	uint64_t looked;
	int i;

	if (!ep->obj || !is_kept_waiting(ep) || (first && carry_on(ep)))
		return true;
	ep->listened = true;
	for (i = 0; i < PASS_DIRS; i++)
		listen_to(ep->dir[i].evd, next);
	looked = shim_now();
	if (carry_on(ep))
		return true;
	pass_end_next(ep, looked, next);
	return false;
}

/* Takes @ep->use, or has whoever has it make the thread look again (pass_ep_unlock()). */
static bool use_taken(struct pass_ep *ep)
{
	/*
	 * ORDER: pairs with pass_ep_unlock(): who has it sees this, or has unlocked it before. A
	 * mutex that is found taken orders nothing, so there is a fence.
	 */
	atomic_store_explicit(&ep->passed_over, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (pthread_mutex_trylock(&ep->use))
		return false;
	atomic_store(&ep->passed_over, false);
	return true;
}

/*
 * Has to look after an EP, of which a call may have @ep->use, and has lent it, or not. Whoever has
 * lent it gets it back when the end is over, or needs the queue pair to be destroyed. Return: true
 * if the thread need not look after the EP any more.
 */
static bool look_at(struct pass_ep *ep, uint64_t *next)
{
	bool taken = use_taken(ep), done;

	if (!taken && !atomic_load(&ep->lent))
		return false;
	done = look_after(ep, next) && !atomic_load(&ep->spent);
	if (taken)
		pthread_mutex_unlock(&ep->use);
	else if (!atomic_load(&ep->ending) || atomic_load(&ep->spent))
		atomic_store(&ep->lent, false);
	return done;
}

/*
 * pass_ep_unlock - release @ep->use, which the thread of this file may have found taken
 */
void pass_ep_unlock(struct pass_ep *ep)
{
	pthread_mutex_unlock(&ep->use);
	if (atomic_exchange(&ep->passed_over, false))
		pass_keeper_look();
}

static void let_go(struct pass_ep *ep)
{
	ep->listened = false;
	atomic_store(&ep->kept, false);
	/* ORDER: pairs with pass_keeper_add(): one of the two sees what the other has done. */
	atomic_thread_fence(memory_order_seq_cst);
	if (ep->obj && (is_kept_waiting(ep) || atomic_load(&ep->spent)))
		pass_keeper_add(ep);
	pass_ep_put(ep);
}

static void take_fresh(void)
{
	struct pass_ep *ep;

	pthread_mutex_lock(&keeper.lock);
	while (keeper.fresh) {
		ep = keeper.fresh;
		keeper.fresh = ep->next_kept;
		ep->next_kept = keeper.eps;
		keeper.eps = ep;
	}
	pthread_mutex_unlock(&keeper.lock);
}

/*
 * Has those looked after whose end the board shows. The end is begun with @ep->use held, without
 * which it may be over by then, and a new life have begun.
 */
static void take_ended(void)
{
	struct pass_ep *ep;

	pthread_mutex_lock(&keeper.watch_lock);
	for (ep = keeper.watched; ep; ep = ep->next_watched)
		if (pass_ended_unseen(ep))
			pass_keeper_add(ep);
	pthread_mutex_unlock(&keeper.watch_lock);
}

static bool any_watched(void)
{
	bool any;

	pthread_mutex_lock(&keeper.watch_lock);
	any = keeper.watched;
	pthread_mutex_unlock(&keeper.watch_lock);
	return any;
}

/*
 * Has the news of the board wake the thread, if EPs wait for it, and looks for ends among these.
 * @next: as for listen_to()
 */
static void read_board(uint64_t *next)
{
	uint64_t now = shim_now();
	bool watched = any_watched(), due = watched && now >= keeper.watch_at;

	poll_board(keeper.eps || due);
	if (due) {
		take_ended();
		keeper.watch_at = now + WATCH_NS;
	} else if (watched && keeper.watch_at < *next) {
		*next = keeper.watch_at;
	}
}

static void add_deaf(struct pass_evd *evd)
{
	pthread_mutex_lock(&keeper.lock);
	evd->next_deaf = keeper.deaf;
	keeper.deaf = evd;
	pthread_mutex_unlock(&keeper.lock);
}

/* Wakes who waits for the EVDs of whose completions nothing tells, and will do so again. */
static void nudge_deaf(uint64_t *next)
{
	struct pass_evd *evd, *behind;
	bool waits;

	pthread_mutex_lock(&keeper.lock);
	evd = keeper.deaf;
	keeper.deaf = NULL;
	pthread_mutex_unlock(&keeper.lock);
	for (; evd; evd = behind) {
		behind = evd->next_deaf;
		shim_lock(evd->lock);
		waits = evd->deaf && !evd->mute && !evd->dead &&
			(evd->cno || pass_evd_aside(evd, PASS_WAITER));
		evd->nudged = waits;
		if (waits) {
			pass_evd_wake(evd);
			add_deaf(evd);
			*next = shim_now() + DEAF_NS;
		}
		shim_unlock(evd->lock);
		if (!waits)
			pass_evd_unuse(evd);
	}
}

/*
 * Destroys a queue pair that is to be destroyed. @awaited: an end waits for that. Return: false if
 * there is none
 */
static bool destroy_one(bool awaited)
{
	struct pass_ep *ep;
	bool destroyed = false;

	for (ep = keeper.eps; ep && !destroyed; ep = ep->next_kept) {
		if (!atomic_load(&ep->spent) || (awaited && !atomic_load(&ep->ending)) ||
		    !use_taken(ep))
			continue;
		destroyed = atomic_load(&ep->spent);
		if (destroyed)
			pass_end_here(ep);
		pass_ep_unlock(ep);
	}
	return destroyed;
}

/*
 * pass_keeper_round - look at all EPs once, and then destroy one queue pair
 *
 * The kernel may sleep for tens of milliseconds in that. Meanwhile other EPs may have got something
 * to be done, and these come first then.
 *
 * Called by the thread and, where there is none, by tests. Return: when to look again at the
 * latest, though nobody has the thread look; ns, UINT64_MAX: never
 */
uint64_t pass_keeper_round(void)
{
	struct pass_ep **link, *ep;
	uint64_t next = UINT64_MAX;
	bool done;

	take_fresh();
	nudge_deaf(&next);
	read_board(&next);
	keeper.round++;
	link = &keeper.eps;
	while (*link) {
		ep = *link;
		done = look_at(ep, &next);
		/* Whoever has lent it has nothing to do before it is given back. */
		if (!atomic_load(&ep->lent))
			shim_wake(&ep->news);
		if (done) {
			*link = ep->next_kept;
			let_go(ep);
		} else {
			link = &ep->next_kept;
		}
	}
	return destroy_one(true) || destroy_one(false) ? 0 : next;
}

static int milliseconds_until(uint64_t time)
{
	uint64_t now = shim_now();

	if (time == UINT64_MAX)
		return -1;
	return time <= now ? 0 : (time - now) / 1000000u + 1;
}

/* Return: true if only completions have ended the sleep, or that others have taken some. */
static bool sleep_until(uint64_t next)
{
	struct epoll_event events[8];
	int n = epoll_wait(keeper.epoll.fd, events, 8, milliseconds_until(next)), i;

	/* For example, the program has closed a descriptor that is not its own. */
	if (n < 0 && errno != EINTR)
		usleep(DEAF_NS / 1000);
	for (i = 0; i < n; i++) {
		if (events[i].data.fd == keeper.bell.fd) {
			pass_event_clear(&keeper.bell);
		} else if (events[i].data.fd == keeper.board.fd) {
			pass_event_clear(&keeper.board);
			atomic_store(&keeper.changed, true);
		}
	}
	return n > 0 && !atomic_load(&keeper.changed);
}

/*
 * Completions may be those of other EPs on the same EVD, and as many as the device makes. So after
 * some there is a pause before the thread listens again.
 */
static void *keeper_thread(void *unused)
{
	uint64_t next, last = 0;

	(void)unused;
	shim_name_thread("kdapl-keeper");
	for (;;) {
		next = pass_keeper_round();
		if (sleep_until(next) && shim_now() - last < REST_NS)
			usleep(REST_NS / 1000);
		last = shim_now();
		atomic_store(&keeper.changed, false);
		atomic_store(&keeper.rung, false);
	}
	return NULL;
}

/* ---- what others call -------------------------------------------------- */

/*
 * pass_keeper_start - start the thread, unless it is there
 *
 * Return: false without memory or descriptors.
 */
bool pass_keeper_start(void)
{
	pthread_t thread;
	bool runs = atomic_load(&keeper.runs);

	if (runs)
		return true;
	pthread_mutex_lock(&keeper.lock);
	runs = atomic_load(&keeper.runs);
	if (!runs) {
		runs = (keeper.epoll.fd >= 0 || descriptors_make()) &&
		       (shim_thread(keeper_thread, NULL, STACK, &thread) ||
			shim_thread(keeper_thread, NULL, 0, &thread));
		atomic_store(&keeper.runs, runs);
	}
	pthread_mutex_unlock(&keeper.lock);
	return runs;
}

static void ring(void)
{
	if (atomic_load(&keeper.runs) && !atomic_exchange(&keeper.rung, true))
		eventfd_write(keeper.bell.fd, 1);
}

/* pass_keeper_look - have the thread look at its EPs again; any lock may be held */
void pass_keeper_look(void)
{
	atomic_store(&keeper.changed, true);
	ring();
}

/*
 * pass_keeper_listen - have the thread listen to its EVDs again; any lock may be held
 *
 * Somebody else has taken what the channel of one had to tell. That may happen as often as there
 * are completions, so the thread pauses as it does for these.
 */
void pass_keeper_listen(void)
{
	ring();
}

/*
 * pass_keeper_nudge - have the thread wake who waits for an EVD, again and again, as long as a
 * queue of the EVD is not armed: nothing else tells them of completions. The EVD is locked
 */
void pass_keeper_nudge(struct pass_evd *evd)
{
	if (evd->nudged || !evd->obj)
		return;
	evd->nudged = true;
	atomic_fetch_add(&evd->users, 1);
	add_deaf(evd);
	pass_keeper_start();
	pass_keeper_look();
}

/*
 * pass_keeper_add - have the thread look after an EP until nothing is left to be done for it
 *
 * The EP may be gone at this moment, and then nothing is. Any lock may be held but that of the
 * thread itself.
 */
void pass_keeper_add(struct pass_ep *ep)
{
	if (!pass_ep_try_get(ep))
		return;
	if (atomic_exchange(&ep->kept, true)) {
		pass_ep_put(ep);
	} else {
		pthread_mutex_lock(&keeper.lock);
		ep->next_kept = keeper.fresh;
		keeper.fresh = ep;
		pthread_mutex_unlock(&keeper.lock);
	}
	pass_keeper_start();
	pass_keeper_look();
}

/*
 * pass_keeper_watch - from here on begin the end of an EP as soon as the board shows it
 *
 * A receive may be posted when the queue pair was flushed already and the board does not show that
 * yet. Some devices keep it then until the queue pair is moved to the error state once more, which
 * is begun by whoever takes the event of the end. But the consumer may look for receives only, and
 * never at the EVD of that event. The EP has got a queue pair; @ep->use is held.
 */
void pass_keeper_watch(struct pass_ep *ep)
{
	struct pass_ep *next;

	pthread_mutex_lock(&keeper.watch_lock);
	next = keeper.watched;
	ep->watch_link = &keeper.watched;
	ep->next_watched = next;
	keeper.watched = ep;
	if (next)
		next->watch_link = &ep->next_watched;
	atomic_store(&ep->watched, true);
	pthread_mutex_unlock(&keeper.watch_lock);
	/* The thread does not listen to the board while it has no EP. */
	if (!next)
		pass_keeper_look();
}

/* pass_keeper_unwatch - the EP, if it is watched, is so no more; @ep->use is held */
void pass_keeper_unwatch(struct pass_ep *ep)
{
	struct pass_ep *next;

	pthread_mutex_lock(&keeper.watch_lock);
	if (atomic_exchange(&ep->watched, false)) {
		next = ep->next_watched;
		*ep->watch_link = next;
		if (next)
			next->watch_link = ep->watch_link;
	}
	pthread_mutex_unlock(&keeper.watch_lock);
}

/*
 * pass_keeper_await - sleep until something has happened of which the thread hears
 * @ep: what happens is a change of its entry of the board, or a completion of its work requests
 * @done, @until: as for shim_await()
 *
 * @ep->use is not held. Return: what @done has returned last.
 */
bool pass_keeper_await(struct pass_ep *ep, bool (*done)(void *arg), void *arg, uint64_t until)
{
	bool is_done = done(arg);

	if (is_done)
		return true;
	/* It counts from here on, so the thread does not let go of the EP before it sleeps. */
	atomic_fetch_add(&ep->news.waiters, 1);
	pass_keeper_add(ep);
	is_done = shim_await(&ep->news, done, arg, until);
	atomic_fetch_sub(&ep->news.waiters, 1);
	return is_done;
}
