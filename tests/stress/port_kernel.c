// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * port.h for a module: kernel threads, mutexes, kDAT.  Events are taken by
 * dat_evd_dequeue, in threads, as in a process.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "stress.h"

void lock(struct lock *lock)
{
	mutex_lock(&lock->mutex);
}

void unlock(struct lock *lock)
{
	mutex_unlock(&lock->mutex);
}

u64 now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

void nap_us(u32 us)
{
	usleep_range(us, 2 * us);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsay(format, args);
	va_end(args);
}

void *mem_new(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

void mem_free(void *mem)
{
	kvfree(mem);
}

struct thread {
	struct task_struct *task;
	void (*run)(void *arg);
	void *arg;
};

static int run(void *arg)
{
	struct thread *thread = arg;

	thread->run(thread->arg);
	return 0;
}

struct thread *thread_start(void (*func)(void *arg), void *arg)
{
	struct thread *thread = mem_new(sizeof(*thread));

	if (!thread)
		return NULL;
	thread->run = func;
	thread->arg = arg;
	thread->task = kthread_create(run, thread, "kdapl_stress");
	if (IS_ERR(thread->task)) {
		mem_free(thread);
		return NULL;
	}
	get_task_struct(thread->task);
	wake_up_process(thread->task);
	return thread;
}

void thread_join(struct thread *thread)
{
	kthread_stop(thread->task);
	put_task_struct(thread->task);
	mem_free(thread);
}

DAT_RETURN port_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			   DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(ia, qlen, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

/* Kernel consumers do not wait (they have upcalls). */
DAT_RETURN port_evd_wait(DAT_EVD_HANDLE evd, u32 timeout, DAT_EVENT *event)
{
	return dat_evd_dequeue(evd, event);
}

DAT_RETURN port_lmr_create(DAT_IA_HANDLE ia, void *mem, size_t size,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_LMR_HANDLE *lmr,
			   DAT_LMR_CONTEXT *context,
			   DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };

	return dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz,
			       rights, DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context,
			       rmr_context, NULL, NULL);
}
