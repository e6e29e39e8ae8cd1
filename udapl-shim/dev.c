// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device file: one per process, so that IAs opened by it can share an
 * asynchronous EVD (I5, I6). It is open while any IA is, and closed on exec.
 *
 * After a fork the child has no objects: the kernel's rings are not mapped
 * there, the handle table is empty, and the parent's file is closed, so that
 * the parent's death is seen even if the child lives on. The child may open IAs
 * of its own.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shim.h"

static struct {
	atomic_int fd;
	pthread_mutex_t lock;
	unsigned int users;
	bool fork_handled;
} dev = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void before_fork(void)
{
	pthread_mutex_lock(&dev.lock);
	shim_table_lock();
}

static void after_fork_parent(void)
{
	shim_table_unlock();
	pthread_mutex_unlock(&dev.lock);
}

static void after_fork_child(void)
{
	int fd = atomic_exchange(&dev.fd, -1);

	if (fd >= 0)
		close(fd);
	dev.users = 0;
	pthread_mutex_init(&dev.lock, NULL);
	shim_table_child();
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
 * shim_dev_get - have the file open until shim_dev_put()
 *
 * Return: 0 or -errno.
 */
int shim_dev_get(void)
{
	int fd, err = 0;

	pthread_mutex_lock(&dev.lock);
	if (!dev.fork_handled) {
		err = -pthread_atfork(before_fork, after_fork_parent,
				      after_fork_child);
		dev.fork_handled = !err;
	}
	if (!err && !dev.users) {
		fd = dev_open();
		if (fd < 0)
			err = fd;
		else
			atomic_store(&dev.fd, fd);
	}
	if (!err)
		dev.users++;
	pthread_mutex_unlock(&dev.lock);
	return err;
}

void shim_dev_put(void)
{
	pthread_mutex_lock(&dev.lock);
	if (!--dev.users) {
		shim_table_forget();
		close(atomic_exchange(&dev.fd, -1));
	}
	pthread_mutex_unlock(&dev.lock);
}

int shim_fd(void)
{
	return atomic_load_explicit(&dev.fd, memory_order_relaxed);
}

/*
 * shim_ioctl - make a call whose structure begins with ret
 * @fault: what to answer when the kernel could not use a pointer or a count of
 *	   the consumer's
 */
DAT_RETURN shim_ioctl(unsigned long cmd, void *arg, DAT_RETURN fault)
{
	if (!ioctl(shim_fd(), cmd, arg))
		return *(const uint32_t *)arg;

	switch (errno) {
	case EINTR:
		return DAT_ERROR(DAT_INTERRUPTED_CALL, 0);
	case ENOMEM:
		return SHIM_NO_MEMORY;
	case EFAULT:
	case EINVAL:
		return fault;
	default:
		return DAT_ERROR(DAT_INTERNAL_ERROR, 0);
	}
}

/* The calls that take one handle and no more. */
DAT_RETURN shim_handle_call(unsigned long cmd, const struct shim_object *obj)
{
	struct kdapl_uapi_handle arg = { .handle = shim_token(obj) };

	return shim_ioctl(cmd, &arg, SHIM_NO_FAULT);
}

/* The same with DAT_CLOSE_FLAGS, argument 2 in every call. */
DAT_RETURN shim_flags_call(unsigned long cmd, const struct shim_object *obj,
			   uint32_t flags)
{
	struct kdapl_uapi_handle_flags arg = {
		.handle = shim_token(obj),
		.flags = flags,
	};

	return shim_ioctl(cmd, &arg, SHIM_ARG(2));
}
