// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What one post and one completion taken cost, in ticks of the time stamp
 * counter, with interrupts off.  In a machine that counts instructions (scripts/vm
 * --icount) a tick is an instruction and the figures repeat exactly.
 *
 * Sends and receives of 64 bytes; nobody else polls, so a completion is taken
 * straight from the device's queue.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <asm/msr.h>
#include "bench.h"

#define COST_BYTES	64
#define COST_SAMPLES	1000

static u64 ticks(void)
{
	return rdtsc_ordered();
}

/* Of reading the counter twice. */
static u64 overhead;

static void measure_overhead(void)
{
	unsigned long flags;
	u64 start, took, best = ~0ULL;
	int i;

	for (i = 0; i < 100; i++) {
		local_irq_save(flags);
		start = ticks();
		took = ticks() - start;
		local_irq_restore(flags);
		best = min(best, took);
	}
	overhead = best;
}

#define TIMED(result, what, call)			\
	do {						\
		unsigned long flags_;			\
		u64 start_;				\
							\
		local_irq_save(flags_);			\
		start_ = ticks();			\
		result = (call);			\
		what = ticks() - start_ - overhead;	\
		local_irq_restore(flags_);		\
	} while (0)

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* A sample that was never taken is 0. */
static void say(const char *name, u64 *took, unsigned int n)
{
	sort(took, n, sizeof(*took), compare, NULL);
	while (n && !*took) {
		took++;
		n--;
	}
	if (!n)
		return;
	bench_say("%s median=%llu min=%llu max=%llu n=%u\n", name, took[n / 2],
		  took[0], took[n - 1], n);
}

/* Samples of one side of the comparison. */
struct samples {
	u64 post[COST_SAMPLES];
	u64 recv[COST_SAMPLES];
	u64 take[COST_SAMPLES];
	u64 empty[COST_SAMPLES];
};

static void say_all(const char *who, struct samples *samples, unsigned int n)
{
	char name[32];

	snprintf(name, sizeof(name), "%s post_send", who);
	say(name, samples->post, n);
	snprintf(name, sizeof(name), "%s post_recv", who);
	say(name, samples->recv, n);
	snprintf(name, sizeof(name), "%s dequeue", who);
	say(name, samples->take, n);
	snprintf(name, sizeof(name), "%s dequeue_empty", who);
	say(name, samples->empty, n);
}

/* ---- raw ---------------------------------------------------------------- */

struct raw_mem {
	void *va;
	u64 dma;
};

static int raw_take(struct ib_cq *cq, u64 *took, u64 *empty)
{
	unsigned long until = jiffies + BENCH_WAIT;
	struct ib_wc wc;
	u64 this;
	int n;

	for (;;) {
		TIMED(n, this, ib_poll_cq(cq, 1, &wc));
		if (n == 1) {
			*took = this;
			return wc.status ? -EIO : 0;
		}
		*empty = this;
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		schedule();
	}
}

static int raw_sample(struct raw_net *net, struct raw_end *end,
		      struct raw_mem *mem, struct samples *s, unsigned int i)
{
	struct ib_sge sge = {
		.addr = mem[1].dma,
		.length = COST_BYTES,
		.lkey = net->pd[1]->local_dma_lkey,
	};
	struct ib_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_qp *to = net->newest->id->qp, *from = end->id->qp;
	u64 unused;
	int ret;

	TIMED(ret, s->recv[i], ib_post_recv(to, &recv, NULL));
	if (ret)
		return ret;
	sge.addr = mem[0].dma;
	sge.lkey = net->pd[0]->local_dma_lkey;
	TIMED(ret, s->post[i], ib_post_send(from, &send, NULL));
	ret = ret ?: raw_take(net->cq[0], &s->take[i], &s->empty[i]);
	return ret ?: raw_take(net->cq[1], &unused, &unused);
}

static int raw_samples(struct raw_net *net, struct samples *s, unsigned int n)
{
	struct ib_device *dev[2] = { net->holder->device,
				     net->listener->device };
	struct raw_end *end = raw_connect(net);
	struct raw_mem mem[2] = {};
	unsigned int i;
	int ret = 0;

	if (!end)
		return -EIO;
	for (i = 0; i < 2; i++) {
		mem[i].va = kzalloc(COST_BYTES, GFP_KERNEL);
		if (!mem[i].va)
			ret = -ENOMEM;
		else
			mem[i].dma = ib_dma_map_single(dev[i], mem[i].va,
						       COST_BYTES,
						       DMA_BIDIRECTIONAL);
	}
	for (i = 0; !ret && i < n; i++)
		ret = raw_sample(net, end, mem, s, i);
	for (i = 0; i < 2; i++) {
		if (mem[i].va)
			ib_dma_unmap_single(dev[i], mem[i].dma, COST_BYTES,
					    DMA_BIDIRECTIONAL);
		kfree(mem[i].va);
	}
	raw_disconnect(end);
	return ret;
}

static int cost_raw(struct samples *samples, unsigned int n)
{
	struct raw_net *net = kzalloc(sizeof(*net), GFP_KERNEL);
	int ret;

	if (!net)
		return -ENOMEM;
	net->keep = true;
	ret = raw_open(net, true, 4 * BENCH_DEPTH);
	ret = ret ?: raw_samples(net, samples, n);
	raw_close(net);
	kfree(net);
	if (!ret)
		say_all("raw", samples, n);
	return ret;
}

/* ---- kDAT --------------------------------------------------------------- */

static int kdat_take(DAT_EVD_HANDLE evd, u64 *took, u64 *empty)
{
	unsigned long until = jiffies + BENCH_WAIT;
	DAT_EVENT event;
	DAT_RETURN ret;
	u64 this;

	for (;;) {
		TIMED(ret, this, dat_evd_dequeue(evd, &event));
		if (!ret) {
			*took = this;
			return event.event_data.dto_completion_event_data
			       .status ? -EIO : 0;
		}
		*empty = this;
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		schedule();
	}
}

struct kdat_mem {
	void *va;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET iov;
};

static int kdat_mem_new(struct kdat_net *net, int side, struct kdat_mem *mem)
{
	DAT_REGION_DESCRIPTION region;

	mem->va = kzalloc(COST_BYTES, GFP_KERNEL);
	if (!mem->va)
		return -ENOMEM;
	region.for_va = mem->va;
	mem->iov.virtual_address = (uintptr_t)mem->va;
	mem->iov.segment_length = COST_BYTES;
	if (dat_lmr_kcreate(net->ia[side], DAT_MEM_TYPE_VIRTUAL, region,
			    COST_BYTES, net->pz[side],
			    DAT_MEM_PRIV_LOCAL_READ_FLAG |
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			    DAT_MEM_OPTIMIZE_DONT_CARE, &mem->lmr,
			    &mem->iov.lmr_context, NULL, NULL, NULL))
		return -EIO;
	return 0;
}

static int kdat_sample(struct kdat_net *net, struct kdat_end *end,
		       struct kdat_mem *mem, struct samples *s, unsigned int i)
{
	const DAT_DTO_COOKIE cookie = {};
	DAT_RETURN ret;
	u64 unused;
	int err;

	TIMED(ret, s->recv[i],
	      dat_ep_post_recv(net->newest->ep, 1, &mem[1].iov, cookie, 0));
	if (ret)
		return -EIO;
	TIMED(ret, s->post[i],
	      dat_ep_post_send(end->ep, 1, &mem[0].iov, cookie, 0));
	if (ret)
		return -EIO;
	err = kdat_take(net->dto_evd[0], &s->take[i], &s->empty[i]);
	return err ?: kdat_take(net->dto_evd[1], &unused, &unused);
}

static int kdat_samples(struct kdat_net *net, struct samples *s, unsigned int n)
{
	struct kdat_end *end = kdat_connect(net);
	struct kdat_mem mem[2] = {};
	unsigned int i;
	int ret;

	if (!end)
		return -EIO;
	ret = kdat_mem_new(net, 0, &mem[0]);
	ret = ret ?: kdat_mem_new(net, 1, &mem[1]);
	for (i = 0; !ret && i < n; i++)
		ret = kdat_sample(net, end, mem, s, i);
	kdat_disconnect(end);
	for (i = 0; i < 2; i++) {
		if (mem[i].lmr)
			dat_lmr_free(mem[i].lmr);
		kfree(mem[i].va);
	}
	return ret;
}

static int cost_kdat(struct samples *samples, unsigned int n)
{
	struct kdat_net *net = kzalloc(sizeof(*net), GFP_KERNEL);
	int ret;

	if (!net)
		return -ENOMEM;
	net->keep = true;
	ret = kdat_open(net);
	ret = ret ?: kdat_samples(net, samples, n);
	kdat_close(net);
	kfree(net);
	if (!ret)
		say_all("kdat", samples, n);
	return ret;
}

/**
 * cost - measure both ways
 * @n: samples of each, 1 .. 1000
 *
 * May sleep.  Return: 0 or an errno.
 */
int cost(unsigned int n)
{
	struct samples *samples;
	int ret;

	if (!n || n > COST_SAMPLES)
		return -EINVAL;
	samples = vzalloc(sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	measure_overhead();
	ret = cost_raw(samples, n);
	ret = ret ?: cost_kdat(samples, n);
	vfree(samples);
	return ret;
}
