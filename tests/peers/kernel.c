// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer in the kernel, as a module: with an address a client, without a server for one client.
 * Loading does not wait for it. The parameter "result" is 0 until it is over, then 1 if all was well,
 * else 2.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "peer.h"

static char *ia;
module_param(ia, charp, 0444);
MODULE_PARM_DESC(ia, "The adapter");

static char *address;
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "Whom a client asks");

static int result;
module_param(result, int, 0444);

static struct task_struct *peer;

void say(const char *what, unsigned int number)
{
	pr_info("kdapl_peer: %s: %#x\n", what, number);
}

DAT_RETURN port_evd(DAT_IA_HANDLE ia_handle, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(ia_handle, 16, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

DAT_RETURN port_lmr(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, void *memory, DAT_LMR_HANDLE *lmr,
		    DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return dat_lmr_kcreate(ia_handle, DAT_MEM_TYPE_VIRTUAL, region, 2 * PEER_LONGEST, pz,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			       DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context, NULL, NULL, NULL);
}

DAT_RETURN port_reject(DAT_CR_HANDLE cr, DAT_COUNT size, void *data)
{
	return kdat_cr_reject(cr, size, data);
}

bool port_wait(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	const unsigned long end = jiffies + 60 * HZ;

	do {
		if (!dat_evd_dequeue(evd, event))
			return true;
		msleep(1);
	} while (time_before(jiffies, end) && !kthread_should_stop());
	return false;
}

bool port_address(const char *text, struct sockaddr_in *to)
{
	return in4_pton(text, -1, (u8 *)&to->sin_addr, -1, NULL);
}

bool port_is_kdapl(void)
{
	return true;
}

unsigned char *port_memory(void)
{
	return kcalloc(2, PEER_LONGEST, GFP_KERNEL);
}

void port_free(unsigned char *memory)
{
	kfree(memory);
}

static int run(void *unused)
{
	bool well = address ? peer_call(ia, address) : peer_serve(ia);

	WRITE_ONCE(result, well ? 1 : 2);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static int __init peer_init(void)
{
	if (!ia)
		return -EINVAL;
	peer = kthread_run(run, NULL, "kdapl_peer");
	return PTR_ERR_OR_ZERO(peer);
}
module_init(peer_init);

static void __exit peer_exit(void)
{
	kthread_stop(peer);
}
module_exit(peer_exit);

MODULE_DESCRIPTION("A peer of the tests that speaks kDAT");
MODULE_LICENSE("Dual BSD/GPL");
