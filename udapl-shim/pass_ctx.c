// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What all IAs of a process in passthrough share: one verbs context for each device, and the board
 * on which the kernel shows the state of EPs. So a thousand IAs on a device need no more
 * descriptors and no more address space than one. Called by pass_ia.c; the asynchronous events of
 * the context also by files that have to know them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pass_srq.h"

/*
 * struct pass_context - a device that the process has opened
 * @verbs: the context of libibverbs
 * @cmd_fd, @async_fd: the descriptors of @verbs, which a forked child must not keep
 * @events: held by the thread that takes asynchronous events
 * @srqs: number of SRQs, which asynchronous events may be about
 * @users: number of IAs
 */
struct pass_context {
	struct ibv_context *verbs;
	struct shim_fd cmd_fd;
	struct shim_fd async_fd;
	pthread_mutex_t events;
	atomic_uint srqs;
	uint32_t users;
	struct pass_context *next;
};

static struct {
	pthread_mutex_t lock;
	struct pass_context *contexts;
	void *board;
	size_t board_size;
	uint32_t board_users;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* pass_shared_child - a child of fork() has neither context nor board */
void pass_shared_child(void)
{
	pthread_mutex_init(&shared.lock, NULL);
	shared.contexts = NULL;
	shared.board_users = 0;
}

/* ---- contexts ---------------------------------------------------------- */

/*
 * Makes reads of asynchronous events return at once if there is none. A descriptor that was
 * readable may have none any more: another thread has read it, or its queue was destroyed.
 */
static void async_never_waits(const struct ibv_context *verbs)
{
	fcntl(verbs->async_fd, F_SETFL, fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
}

/*
 * Opens a device, and notes its descriptors for a forked child to close. Both locks are held, that
 * of this file and that of the descriptors.
 */
static struct pass_context *context_new(struct ibv_device *device)
{
	struct pass_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	pthread_mutex_init(&context->events, NULL);
	context->verbs = ibv_open_device(device);
	if (!context->verbs) {
		free(context);
		return NULL;
	}
	shim_fd_keep(&context->cmd_fd, context->verbs->cmd_fd);
	shim_fd_keep(&context->async_fd, context->verbs->async_fd);
	async_never_waits(context->verbs);
	return context;
}

/*
 * Devices are compared by address: libibverbs has one struct ibv_device for a device as long as
 * that exists, and another one for a later device of the same name.
 */
static struct pass_context *context_find(const struct ibv_device *device)
{
	struct pass_context *context = shared.contexts;

	while (context && context->verbs->device != device)
		context = context->next;
	return context;
}

static struct pass_context *context_of(struct ibv_device *device)
{
	struct pass_context *context = context_find(device);

	if (!context) {
		context = context_new(device);
		if (context) {
			context->next = shared.contexts;
			shared.contexts = context;
		}
	}
	if (context)
		context->users++;
	return context;
}

static struct pass_context *context_named(const char *name, size_t length)
{
	struct pass_context *context = NULL;
	struct ibv_device **list;
	const char *of_device;
	int number, i;

	list = ibv_get_device_list(&number);
	for (i = 0; list && i < number && !context; i++) {
		of_device = ibv_get_device_name(list[i]);
		if (strlen(of_device) == length && !strncmp(of_device, name, length))
			context = context_of(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	return context;
}

/*
 * Tries to map as much memory as a device's library may take, which libibverbs does not list if it
 * could not be loaded. If there is no room, errno says so.
 */
static void find_room(void)
{
	const size_t bytes = 2 << 20;
	void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			  0);

	if (room != MAP_FAILED)
		munmap(room, bytes);
}

/*
 * pass_context_get - the process's context of a device
 * @name: of the device
 * @length: of @name
 *
 * The caller has set errno to 0. If the process has no descriptors left, libibverbs says that there
 * are no devices, or lists none, and errno need not tell why.
 *
 * libibverbs holds a lock of its own while it lists devices, and does not initialize it again in a
 * forked child. If a fork() came in between, the child could never list devices; so fork() is kept
 * out by shim_fds_lock().
 *
 * Return: the context, for pass_context_put(); NULL if it cannot be opened. If that is for lack of
 * memory or descriptors errno is ENOMEM, EAGAIN, EMFILE or ENFILE.
 */
struct pass_context *pass_context_get(const char *name, size_t length)
{
	struct pass_context *context;

	pthread_mutex_lock(&shared.lock);
	shim_fds_lock();
	context = context_named(name, length);
	shim_fds_unlock();
	pthread_mutex_unlock(&shared.lock);
	if (!context && !shim_no_room(errno) && shim_few_descriptors(SHIM_CALL_DESCRIPTORS))
		errno = EMFILE;
	if (!context && !shim_no_room(errno))
		find_room();
	return context;
}

void pass_context_put(struct pass_context *context)
{
	struct pass_context **link = &shared.contexts;

	pthread_mutex_lock(&shared.lock);
	if (!--context->users) {
		while (*link != context)
			link = &(*link)->next;
		*link = context->next;
		shim_fds_lock();
		shim_fd_forget(&context->cmd_fd);
		shim_fd_forget(&context->async_fd);
		ibv_close_device(context->verbs);
		shim_fds_unlock();
		pthread_mutex_destroy(&context->events);
		free(context);
	}
	pthread_mutex_unlock(&shared.lock);
}

struct ibv_context *pass_context_verbs(const struct pass_context *context)
{
	return context->verbs;
}

/* ---- asynchronous events ------------------------------------------------ */

/*
 * Handles one event of the device. Its queue still exists: a thread that destroys a queue waits
 * until the events about it are acknowledged.
 */
static void take_event(const struct ibv_async_event *event)
{
	struct pass_ep *ep;

	switch (event->event_type) {
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ep = event->element.qp->qp_context;
		atomic_store(&ep->last_wqe, true);
		break;
	case IBV_EVENT_SRQ_ERR:
		pass_srq_lost(event->element.srq->srq_context);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		pass_srq_reached(event->element.srq->srq_context);
		break;
	default:
		break;
	}
}

/*
 * pass_context_events - take the asynchronous events of a device
 *
 * Called by threads that look at an asynchronous EVD or sleep on one (pass_event.c, pass_wait.c),
 * and where something of an SRQ has to be known: at the end of a connection on it, when its low
 * watermark is set, and by pass_srq_news(). Until then the events stay in the kernel. Events that
 * are not about SRQs are dropped, since completions and kdapl tell the same. No lock of an EVD is
 * held.
 */
void pass_context_events(struct pass_context *context)
{
	struct ibv_async_event event;
	int cancelable;

	/* A thread that was canceled in read(2) would leave the mutex locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	pthread_mutex_lock(&context->events);
	while (!ibv_get_async_event(context->verbs, &event)) {
		take_event(&event);
		ibv_ack_async_event(&event);
	}
	pthread_mutex_unlock(&context->events);
	pthread_setcancelstate(cancelable, NULL);
}

/* pass_context_fd - the descriptor that is readable while there are asynchronous events */
int pass_context_fd(const struct pass_context *context)
{
	return context->async_fd.fd;
}

/* pass_context_count_srqs - one more SRQ on the context, or one less */
void pass_context_count_srqs(struct pass_context *context, int by)
{
	atomic_fetch_add(&context->srqs, by);
}

bool pass_context_has_srqs(struct pass_context *context)
{
	return atomic_load_explicit(&context->srqs, memory_order_relaxed);
}

/* ---- the board --------------------------------------------------------- */

/*
 * Maps the board, or its beginning if the process locks all that it maps, and may not lock so much
 * (EAGAIN). Without the rest it can have fewer EPs.
 */
static void *board_map(uint64_t offset, size_t *size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *board;

	for (;;) {
		board = mmap(NULL, *size, PROT_READ, MAP_SHARED, shim_fd(), offset);
		if (board != MAP_FAILED || errno != EAGAIN || *size == page)
			return board;
		*size = (*size / 2 + page - 1) & ~(page - 1);
	}
}

/*
 * pass_board_get - map the board, unless it is mapped already
 * @offset: from the kernel; the same each time, as an open file has one board
 * @size: in: from the kernel, the same each time; out: bytes that are mapped
 *
 * Return: the board, for pass_board_put(); NULL if it cannot be mapped.
 */
const void *pass_board_get(uint64_t offset, size_t *size)
{
	void *board;

	pthread_mutex_lock(&shared.lock);
	if (!shared.board_users) {
		shared.board = board_map(offset, size);
		shared.board_size = *size;
	}
	board = shared.board == MAP_FAILED ? NULL : shared.board;
	if (board)
		shared.board_users++;
	*size = shared.board_size;
	pthread_mutex_unlock(&shared.lock);
	return board;
}

void pass_board_put(void)
{
	pthread_mutex_lock(&shared.lock);
	if (!--shared.board_users)
		munmap(shared.board, shared.board_size);
	pthread_mutex_unlock(&shared.lock);
}
