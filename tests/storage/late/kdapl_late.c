// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdapl_late: delays some commands that LIO has completed before they are handed to their
 * transport, as happens on a busy machine.  Used only by tests/storage/iser.sh, which
 * resets a logical unit meanwhile.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static unsigned int often = 8;
module_param(often, uint, 0444);
MODULE_PARM_DESC(often, "one command of so many is late");

static unsigned int late_ms = 30;
module_param(late_ms, uint, 0444);
MODULE_PARM_DESC(late_ms, "and by so much");

static atomic_t nr;

/*
 * Called at the first instruction of the work item that hands a command over; process
 * context.
 */
static int delay(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_inc_return(&nr) % often == 0)
		mdelay(late_ms);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "target_complete_ok_work",
	.pre_handler = delay,
};

static int __init late_init(void)
{
	if (!often)
		return -EINVAL;
	return register_kprobe(&probe);
}
module_init(late_init);

static void __exit late_exit(void)
{
	unregister_kprobe(&probe);
}
module_exit(late_exit);

MODULE_DESCRIPTION("Commands of LIO that are handed over late, for tests");
MODULE_LICENSE("Dual BSD/GPL");
