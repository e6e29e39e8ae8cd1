// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The scenario suite as a module.  Files under /sys/kernel/debug/kdapl_rules:
 *
 *	run	write a text: the scenarios with that text in their name, or with one of
 *		several that "|" divides; "all" is all of them; "removal" is the one
 *		that waits for the removal of side b's device (removal.c)
 *	result	what they said
 *
 * The same lines go to the kernel log.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kmod.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>
#include "kernel.h"

#define TEXT_SIZE	(512 * 1024)
#define OBJECTS		"/sys/kernel/debug/kdapl/objects"

module_param_named(ia_a, side_a.name, charp, 0444);
MODULE_PARM_DESC(ia_a, "adapter that connects");
module_param_named(ia_b, side_b.name, charp, 0444);
MODULE_PARM_DESC(ia_b, "adapter that listens");

static struct dentry *debug_dir;
static DEFINE_MUTEX(run_lock);
static DEFINE_MUTEX(lock);
static char *text;
static size_t text_len;

void say(const char *line)
{
	size_t n = scnprintf(text + text_len, TEXT_SIZE - text_len, "%s\n", line);

	/* Pairs with result_show(), which shows whole lines while others are added. */
	smp_store_release(&text_len, text_len + n);
	pr_info("kdapl_rules: %s\n", line);
}

void *platform_alloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

/* vfree() frees the pages, and the array of them as well (VM_MAP_PUT_PAGES). */
void *platform_alloc_scattered(size_t size)
{
	unsigned int i, n = DIV_ROUND_UP(size, PAGE_SIZE);
	struct page **pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	void *memory;

	if (!pages)
		return NULL;
	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i])
			goto free;
	}
	/* Swaps every other page with one from the far end. */
	for (i = 0; i < n / 2; i += 2)
		swap(pages[i], pages[n - 1 - i]);
	memory = vmap(pages, n, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (memory)
		return memory;
free:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

void platform_free(void *memory, size_t size)
{
	kvfree(memory);
}

void platform_lock(void)
{
	mutex_lock(&lock);
}

void platform_unlock(void)
{
	mutex_unlock(&lock);
}

static int thread_fn(void *arg)
{
	struct thread *thread = arg;

	thread->ret = thread->fn(thread->arg);
	complete(&thread->done);
	return 0;
}

bool platform_thread_start(struct thread *thread)
{
	init_completion(&thread->done);
	thread->task = kthread_create(thread_fn, thread, "kdapl_rules");
	if (IS_ERR(thread->task))
		return false;
	get_task_struct(thread->task);
	wake_up_process(thread->task);
	return true;
}

/*
 * Waits for the end first: kthread_stop() keeps a thread that has not begun yet from
 * ever running.
 */
void platform_thread_join(struct thread *thread)
{
	wait_for_completion(&thread->done);
	kthread_stop(thread->task);
	put_task_struct(thread->task);
}

void yield_cpu(void)
{
	schedule();
}

void sleep_us(unsigned int us)
{
	usleep_range(us, us + us / 4 + 1);
}

u64 now_us(void)
{
	return ktime_to_us(ktime_get());
}

u32 random_u32(void)
{
	return get_random_u32();
}

int run_command(const char *command)
{
	char *envp[] = { "PATH=/usr/sbin:/sbin:/usr/bin:/bin", NULL };
	char *argv[] = { "/bin/sh", "-c", (char *)command, NULL };
	int status = call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);

	return status < 0 || status & 0x7f ? -1 : status >> 8;
}

/*
 * The first line of the file has the number.  A file of debugfs cannot be read from
 * inside the kernel, so a shell does it.
 */
int live_objects(void)
{
	int n = run_command("read -r _ _ _ n < " OBJECTS
			    " && exit $((n < 250 ? n : 250)); exit 255");

	return n == 255 ? -1 : n;
}

u64 pinned_kb(void)
{
	return 0;
}

u64 locked_kb(void)
{
	return 0;
}

u64 pins(void)
{
	return 0;
}

u64 sysfs_number(const char *path)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	char digits[24] = "";
	loff_t at = 0;
	u64 number;

	if (IS_ERR(file))
		return 0;
	if (kernel_read(file, digits, sizeof(digits) - 1, &at) <= 0 ||
	    kstrtou64(digits, 10, &number))
		number = 0;
	filp_close(file, NULL);
	return number;
}

void platform_before_open(const struct side *side)
{
}

DAT_RETURN platform_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen,
			       DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(ia, qlen, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

DAT_RETURN platform_lmr_register(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				 DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				 DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
				 DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
				 DAT_VADDR *address)
{
	return dat_lmr_kcreate(ia, type, region, length, pz, privileges,
			       DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context,
			       rmr_context, size, address);
}

/* ---- collectors --------------------------------------------------------- */

void collect(DAT_PVOID instance_data, const DAT_EVENT *event,
	     DAT_BOOLEAN more_events)
{
	struct collector *collector = instance_data;
	unsigned long flags;

	spin_lock_irqsave(&collector->lock, flags);
	collector->ring[collector->put % COLLECTED] = *event;
	collector->put++;
	spin_unlock_irqrestore(&collector->lock, flags);
	wake_up_all(&collector->wait);
}

struct collector *collector_new(struct side *side, DAT_COUNT qlen,
				DAT_EVD_FLAGS flags)
{
	struct collector *collector = scenario_alloc(sizeof(*collector));
	DAT_CONTEXT context = { .as_ptr = collector };
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = collector,
		.upcall_func = collect,
	};

	if (!collector)
		return NULL;
	init_waitqueue_head(&collector->wait);
	spin_lock_init(&collector->lock);
	if (!OK(dat_evd_kcreate(side->ia, qlen, DAT_UPCALL_SINGLE_INSTANCE,
				&upcall, flags, &collector->evd)) ||
	    !OK(dat_set_consumer_context(collector->evd, context)))
		return NULL;
	return collector;
}

static bool collector_take(struct collector *collector, DAT_EVENT *event)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&collector->lock, flags);
	there = collector->put != collector->got;
	if (there)
		*event = collector->ring[collector->got++ % COLLECTED];
	spin_unlock_irqrestore(&collector->lock, flags);
	return there;
}

bool collected_node(struct node *node, struct side *side,
		    struct collector **events)
{
	*events = collector_new(side, NODE_EVENTS, COLLECT_ALL);
	if (!*events)
		return false;
	node->recv = (*events)->evd;
	return node_new(node, side, ONE_EVD, NULL);
}

bool collected_pair(struct pair *pair)
{
	struct collector *a, *b;

	return collected_node(&pair->a, &side_a, &a) &&
	       collected_node(&pair->b, &side_b, &b) &&
	       listener_new(&pair->listener, DAT_PSP_CONSUMER_FLAG) &&
	       pair_connect(&pair->a, &pair->b, &pair->listener);
}

bool platform_node(struct node *node, struct side *side)
{
	struct collector *events;

	return collected_node(node, side, &events);
}

/* The upcall: @instance_data is the node. */
static void receive_again(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	struct node *node = instance_data;
	DAT_CONTEXT context;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
		node_recv(node, 0, 4096, 1);
	else if (dat_get_consumer_context(node->recv, &context) == DAT_SUCCESS)
		collect(context.as_ptr, event, more_events);
}

bool platform_receive_again(struct node *node)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = node,
		.upcall_func = receive_again,
	};

	return OK(dat_evd_modify_upcall(node->recv, DAT_UPCALL_SINGLE_INSTANCE,
					&upcall));
}

DAT_RETURN platform_evd_wait(DAT_EVD_HANDLE evd, unsigned int ms,
			     DAT_EVENT *event)
{
	u64 end = now_us() + ms * 1000ULL;
	struct collector *collector;
	DAT_CONTEXT context;
	DAT_RETURN ret;

	ret = dat_get_consumer_context(evd, &context);
	if (ret)
		return ret;
	collector = context.as_ptr;
	if (collector)
		return wait_event_timeout(collector->wait,
					  collector_take(collector, event),
					  msecs_to_jiffies(ms)) ?
		       DAT_SUCCESS : DAT_ERROR(DAT_QUEUE_EMPTY, 0);
	for (;;) {
		ret = dat_evd_dequeue(evd, event);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY || now_us() >= end)
			return ret;
		usleep_range(100, 300);
	}
}

const struct scenario_table * const platform_tables[] = {
	&kernel_args_table,
	&kernel_memory_table,
	&upcall_table,
	&fmr_table,
	&fmr_remote_table,
	&provider_table,
	&kernel_requests_table,
	&extension_table,
	NULL
};

/* ---- files -------------------------------------------------------------- */

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t count, loff_t *pos)
{
	unsigned int nr_failed;
	char *only;
	int ret;

	only = memdup_user_nul(data, min_t(size_t, count, PAGE_SIZE));
	if (IS_ERR(only))
		return PTR_ERR(only);
	ret = mutex_lock_interruptible(&run_lock);
	if (ret)
		goto free;
	text_len = 0;
	nr_failed = run_scenarios(sysfs_streq(only, "all") ? "" : strim(only));
	mutex_unlock(&run_lock);
	ret = nr_failed ? -EIO : 0;
free:
	kfree(only);
	return ret ?: count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *file, void *unused)
{
	/* Pairs with say(). */
	seq_write(file, text, smp_load_acquire(&text_len));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init scenario_init(void)
{
	text = vzalloc(TEXT_SIZE);
	if (!text)
		return -ENOMEM;
	debug_dir = debugfs_create_dir("kdapl_rules", NULL);
	debugfs_create_file("run", 0200, debug_dir, NULL, &run_fops);
	debugfs_create_file("result", 0444, debug_dir, NULL, &result_fops);
	return 0;
}

static void __exit scenario_exit(void)
{
	debugfs_remove_recursive(debug_dir);
	vfree(text);
}

module_init(scenario_init);
module_exit(scenario_exit);
MODULE_DESCRIPTION("DAT scenarios, through the kernel face");
MODULE_LICENSE("Dual BSD/GPL");
