// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device file: one per process, so that IAs opened by it can share an
 * asynchronous EVD (I5, I6). It is opened when first needed and stays: on a next
 * file the kernel would give the tokens of dead objects to others, while a
 * thread that was too slow may still hold one. It is closed on exec.
 *
 * After a fork the child has no objects: the kernel's rings are not mapped
 * there, the handle table is empty, and the parent's file and the descriptors of
 * its CNOs are closed, so that the parent's death is seen even if the child
 * lives on. The child may open IAs of its own.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

atomic_int shim_dev_fd = -1;

static struct {
	pthread_mutex_t lock;
	bool fork_handled;
} dev = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	struct shim_fd *first;
} fds = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
	pthread_mutex_lock(&dev.lock);
	shim_table_lock();
	shim_fds_lock();
}

static void after_fork_parent(void)
{
	shim_fds_unlock();
	shim_table_unlock();
	pthread_mutex_unlock(&dev.lock);
}

static void after_fork_child(void)
{
	int fd = atomic_exchange(&shim_dev_fd, -1);

	if (fd >= 0)
		close(fd);
	for (; fds.first; fds.first = fds.first->next)
		close(fds.first->fd);
	pthread_mutex_init(&fds.lock, NULL);
	pthread_mutex_init(&dev.lock, NULL);
	shim_table_child();
}

/*
 * Around what makes a descriptor and shim_fd_keep(): no child is born with one
 * that is not in the list.
 */
void shim_fds_lock(void)
{
	pthread_mutex_lock(&fds.lock);
}

void shim_fds_unlock(void)
{
	pthread_mutex_unlock(&fds.lock);
}

/* The lock is held. Return: whether @number is a descriptor. */
bool shim_fd_keep(struct shim_fd *fd, int number)
{
	fd->fd = number;
	if (number < 0)
		return false;
	fd->next = fds.first;
	fd->link = &fds.first;
	if (fd->next)
		fd->next->link = &fd->next;
	fds.first = fd;
	return true;
}

/* If there is one. */
void shim_fd_close(struct shim_fd *fd)
{
	if (fd->fd < 0)
		return;
	shim_fds_lock();
	*fd->link = fd->next;
	if (fd->next)
		fd->next->link = fd->link;
	close(fd->fd);
	shim_fds_unlock();
	fd->fd = -1;
}

/* Opens the file and agrees on a version. Return: descriptor or -errno. */
static int dev_open(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };
	int fd, err;

	fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!ioctl(fd, KDAPL_IOC_QUERY_ABI, &abi))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * shim_dev_open - have the file open
 *
 * Return: 0 or -errno.
 */
int shim_dev_open(void)
{
	int fd, err = 0;

	pthread_mutex_lock(&dev.lock);
	if (!dev.fork_handled) {
		err = -pthread_atfork(before_fork, after_fork_parent,
				      after_fork_child);
		dev.fork_handled = !err;
	}
	if (!err && shim_fd() < 0) {
		fd = dev_open();
		if (fd < 0)
			err = fd;
		else
			atomic_store(&shim_dev_fd, fd);
	}
	pthread_mutex_unlock(&dev.lock);
	return err;
}

/*
 * shim_ioctl_failed - what to answer when an ioctl was no valid call
 * @fault: if the kernel could not use a pointer or a count of the consumer's
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

/* The calls that take one handle and no more. */
DAT_RETURN shim_handle_call(unsigned long cmd, const struct shim_object *obj)
{
	struct kdapl_uapi_handle arg = { .handle = shim_token(obj) };

	return shim_ioctl(cmd, &arg, RET_NO_FAULT);
}

/* The same with DAT_CLOSE_FLAGS, argument 2 in every call. */
DAT_RETURN shim_flags_call(unsigned long cmd, const struct shim_object *obj,
			   uint32_t flags)
{
	struct kdapl_uapi_handle_flags arg = {
		.handle = shim_token(obj),
		.flags = flags,
	};

	return shim_ioctl(cmd, &arg, RET_BAD_ARG(2));
}
