// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The file /dev/kdapl, which all ioctls go through: opening it, fork(), and what
 * an errno means. Called by nearly all files of the library.
 *
 * A process has one file, so that its IAs can share an asynchronous EVD (I5,
 * I6). The file is opened by the first call that needs it and stays open. If it
 * were closed and opened again, new objects would get the tokens of the old
 * ones, and a thread that was late with a call could hit an object that it has
 * never seen. exec closes the file.
 *
 * A child of fork() has no objects: the rings are not mapped there, the handle
 * table is empty, and the file and all descriptors in kept_fds are closed, so
 * that the kernel sees the end of the parent even while the child lives. The
 * child may open IAs of its own.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim.h"

atomic_int shim_dev_fd = -1;

static struct {
	pthread_mutex_t lock;	/* opening the file; held during fork() */
	bool fork_handled;
	uint64_t features;	/* of the module's ABI */
} device_file = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	struct shim_fd *first;
} kept_fds = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
	shim_registry_lock();
	pthread_mutex_lock(&device_file.lock);
	shim_table_lock();
	shim_fds_lock();
}

static void after_fork_parent(void)
{
	shim_fds_unlock();
	shim_table_unlock();
	pthread_mutex_unlock(&device_file.lock);
	shim_registry_unlock();
}

static void after_fork_child(void)
{
	int fd = atomic_exchange(&shim_dev_fd, -1);

	if (fd >= 0)
		close(fd);
	for (; kept_fds.first; kept_fds.first = kept_fds.first->next)
		close(kept_fds.first->fd);
	pthread_mutex_init(&kept_fds.lock, NULL);
	pthread_mutex_init(&device_file.lock, NULL);
	shim_table_child();
	shim_pass_child();
	shim_registry_child();
}

/*
 * shim_fds_lock - keep fork() out while a descriptor is made
 *
 * The lock is held from before the call that makes the descriptor until
 * shim_fd_keep() has put it into the list. A child that was forked in between
 * would not close the descriptor.
 */
void shim_fds_lock(void)
{
	pthread_mutex_lock(&kept_fds.lock);
}

void shim_fds_unlock(void)
{
	pthread_mutex_unlock(&kept_fds.lock);
}

/*
 * shim_fd_keep - put a new descriptor into the list; the lock is held
 *
 * Return: false if @number is negative, because making the descriptor has
 * failed.
 */
bool shim_fd_keep(struct shim_fd *fd, int number)
{
	fd->fd = number;
	if (number < 0)
		return false;
	fd->next = kept_fds.first;
	fd->link = &kept_fds.first;
	if (fd->next)
		fd->next->link = &fd->next;
	kept_fds.first = fd;
	return true;
}

static void fd_unlink(struct shim_fd *fd)
{
	*fd->link = fd->next;
	if (fd->next)
		fd->next->link = fd->link;
}

/* shim_fd_close - close a descriptor, if there is one */
void shim_fd_close(struct shim_fd *fd)
{
	if (fd->fd < 0)
		return;
	shim_fds_lock();
	fd_unlink(fd);
	close(fd->fd);
	shim_fds_unlock();
	fd->fd = -1;
}

/*
 * shim_fd_forget - take a descriptor out of the list, which libibverbs is about to close
 *
 * The caller holds the lock until the descriptor is closed, for the same reason as when it is
 * made.
 */
void shim_fd_forget(struct shim_fd *fd)
{
	if (fd->fd < 0)
		return;
	fd_unlink(fd);
	fd->fd = -1;
}

/* Opens the file, and agrees with the kernel on a version of the ABI. */
static int dev_open(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };
	int fd, err;

	fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!ioctl(fd, KDAPL_IOC_QUERY_ABI, &abi)) {
		device_file.features = abi.features;
		return fd;
	}
	err = -errno;
	close(fd);
	return err;
}

/* Registers the handlers of fork(), once. The lock of the file is held. Return: 0 or -errno. */
static int handle_fork(void)
{
	int err = 0;

	if (!device_file.fork_handled) {
		err = -pthread_atfork(before_fork, after_fork_parent,
				      after_fork_child);
		device_file.fork_handled = !err;
	}
	return err;
}

/*
 * Registers the handlers when the library is loaded. If the first call did that, a fork() that
 * had begun before would not run them, and so would not wait for the threads that are in the
 * library. If there is no memory for the handlers now, shim_dev_open() tries again.
 */
static __attribute__((constructor)) void heed_forks(void)
{
	pthread_mutex_lock(&device_file.lock);
	handle_fork();
	pthread_mutex_unlock(&device_file.lock);
}

/*
 * shim_dev_open - open the file unless it is open
 *
 * Return: 0 or -errno.
 */
int shim_dev_open(void)
{
	int fd, err;

	pthread_mutex_lock(&device_file.lock);
	err = handle_fork();
	if (!err && shim_fd() < 0) {
		fd = dev_open();
		if (fd < 0)
			err = fd;
		else
			atomic_store(&shim_dev_fd, fd);
	}
	pthread_mutex_unlock(&device_file.lock);
	return err;
}

/* shim_dev_features - KDAPL_FEATURE_* of the module; the file is open */
uint64_t shim_dev_features(void)
{
	uint64_t features;

	pthread_mutex_lock(&device_file.lock);
	features = device_file.features;
	pthread_mutex_unlock(&device_file.lock);
	return features;
}

/*
 * shim_no_room - does an errno say that memory or descriptors are short, which may pass?
 *
 * EAGAIN: more memory than the process may lock, in which all it maps is locked (mmap(2)).
 */
bool shim_no_room(int err)
{
	return err == ENOMEM || err == EAGAIN || err == EMFILE || err == ENFILE;
}

/*
 * shim_few_descriptors - does the process have fewer than @number descriptors left?
 *
 * A caller asks this after a function has failed that gives no reason and has already closed
 * the descriptors that it had opened. The search begins at the highest number, since the kernel
 * gives the lowest free one first.
 */
bool shim_few_descriptors(int number)
{
	struct rlimit limit;
	int left = 0, fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT_MAX)
		return false;
	for (fd = (int)limit.rlim_cur - 1; fd >= 0 && left < number; fd--)
		left += fcntl(fd, F_GETFD) < 0;
	return left < number;
}

/*
 * shim_ioctl_failed - the DAT_RETURN for the errno of an ioctl
 * @fault: what to return for EFAULT and EINVAL, see shim_ioctl()
 */
DAT_RETURN shim_ioctl_failed(DAT_RETURN fault)
{
	switch (errno) {
	case EINTR:
		return RET(INTERRUPTED_CALL);
	case ENOMEM:
		return RET_NO_RESOURCE(MEMORY);
	case EFAULT:
	case EINVAL:
		return fault;
	default:
		return RET(INTERNAL_ERROR);
	}
}

/* shim_handle_call - make an ioctl whose only argument is the handle of @obj */
DAT_RETURN shim_handle_call(unsigned long cmd, const struct shim_object *obj)
{
	struct kdapl_uapi_handle arg = { .handle = shim_token(obj) };

	return shim_ioctl(cmd, &arg, RET_NO_FAULT);
}

/*
 * shim_flags_call - make an ioctl that takes the handle of @obj and
 *	DAT_CLOSE_FLAGS, which are argument 2 of the dat_* call
 */
DAT_RETURN shim_flags_call(unsigned long cmd, const struct shim_object *obj,
			   uint32_t flags)
{
	struct kdapl_uapi_handle_flags arg = {
		.handle = shim_token(obj),
		.flags = flags,
	};

	return shim_ioctl(cmd, &arg, RET_BAD_ARG(2));
}
