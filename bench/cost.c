// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What one post and one completion taken cost, in ticks of the time stamp
 * counter, with interrupts off (but see timed_begin()).  In a machine that counts instructions
 * (scripts/vm --icount) a tick is an instruction and the figures repeat exactly.
 *
 * Sends and receives of 64 bytes; nobody else polls, so a completion is taken
 * straight from the device's queue.  In a batch posts follow one another; only the
 * first send has to wake the device's task, so a batch has figures of its own.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#else
#include <linux/timex.h>
#endif
#include "bench.h"

#define COST_BYTES	64
#define COST_SAMPLES	1000
#define COST_BATCH	64
/* A batch takes many turns, and its figures hardly scatter. */
#define COST_BATCHES	20

static u64 ticks(void)
{
#ifdef CONFIG_X86
	/* Instructions of the call do not move across it. */
	return rdtsc_ordered();
#else
	return get_cycles();
#endif
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

/*
 * With PREEMPT_RT the calls take locks that sleep, so interrupts stay on, and a sample may have
 * some in it; but it begins and ends with the counter of one processor.
 */
static unsigned long timed_begin(void)
{
	unsigned long flags = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		migrate_disable();
	else
		local_irq_save(flags);
	return flags;
}

static void timed_end(unsigned long flags)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		migrate_enable();
	else
		local_irq_restore(flags);
}

#define TIMED(result, what, call)			\
	do {						\
		unsigned long flags_ = timed_begin();	\
		u64 start_ = ticks();			\
							\
		result = (call);			\
		what = ticks() - start_ - overhead;	\
		timed_end(flags_);			\
	} while (0)

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Of samples of @each calls, for one call.  One that was never taken is 0. */
static void say(const char *who, const char *what, u64 *took, unsigned int n,
		unsigned int each)
{
	sort(took, n, sizeof(*took), compare, NULL);
	while (n && !*took) {
		took++;
		n--;
	}
	if (!n)
		return;
	bench_say("%s %s median=%llu min=%llu max=%llu n=%u\n", who, what,
		  div_u64(took[n / 2], each), div_u64(took[0], each),
		  div_u64(took[n - 1], each), n);
}

/* Samples of one side of the comparison. */
struct samples {
	u64 post[COST_SAMPLES];
	u64 recv[COST_SAMPLES];
	u64 take[COST_SAMPLES];
	u64 empty[COST_SAMPLES];
	u64 batch_send[COST_BATCHES];
	u64 batch_recv[COST_BATCHES];
};

static void say_all(const char *who, struct samples *samples, unsigned int n)
{
	say(who, "post_send", samples->post, n, 1);
	say(who, "post_recv", samples->recv, n, 1);
	say(who, "dequeue", samples->take, n, 1);
	say(who, "dequeue_empty", samples->empty, n, 1);
	say(who, "batch_send", samples->batch_send, COST_BATCHES, COST_BATCH);
	say(who, "batch_recv", samples->batch_recv, COST_BATCHES, COST_BATCH);
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

static struct ib_sge raw_sge(struct raw_net *net, struct raw_mem *mem, int side)
{
	return (struct ib_sge) {
		.addr = mem[side].dma,
		.length = COST_BYTES,
		.lkey = net->pd[side]->local_dma_lkey,
	};
}

static int raw_post_sends(struct ib_qp *qp, struct ib_sge *sge, unsigned int n)
{
	struct ib_send_wr wr = {
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int ret = 0;

	while (!ret && n--)
		ret = ib_post_send(qp, &wr, NULL);
	return ret;
}

static int raw_post_recvs(struct ib_qp *qp, struct ib_sge *sge, unsigned int n)
{
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = 1 };
	int ret = 0;

	while (!ret && n--)
		ret = ib_post_recv(qp, &wr, NULL);
	return ret;
}

static int raw_sample(struct raw_net *net, struct raw_end *end,
		      struct raw_mem *mem, struct samples *s, unsigned int i)
{
	struct ib_sge sge = raw_sge(net, mem, 1);
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
	sge = raw_sge(net, mem, 0);
	TIMED(ret, s->post[i], ib_post_send(from, &send, NULL));
	ret = ret ?: raw_take(net->cq[0], &s->take[i], &s->empty[i]);
	return ret ?: raw_take(net->cq[1], &unused, &unused);
}

static int raw_batch(struct raw_net *net, struct raw_end *end,
		     struct raw_mem *mem, struct samples *s, unsigned int i)
{
	struct ib_sge from = raw_sge(net, mem, 0), to = raw_sge(net, mem, 1);
	u64 unused;
	int ret, n;

	TIMED(ret, s->batch_recv[i],
	      raw_post_recvs(net->newest->id->qp, &to, COST_BATCH));
	if (ret)
		return ret;
	TIMED(ret, s->batch_send[i],
	      raw_post_sends(end->id->qp, &from, COST_BATCH));
	for (n = 0; !ret && n < 2 * COST_BATCH; n++)
		ret = raw_take(net->cq[n % 2], &unused, &unused);
	return ret;
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
	for (i = 0; !ret && i < COST_BATCHES; i++)
		ret = raw_batch(net, end, mem, s, i);
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
	net->depth = COST_BATCH;
	ret = raw_open(net, true, 4 * COST_BATCH);
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

static DAT_RETURN kdat_post_sends(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov,
				  unsigned int n)
{
	const DAT_DTO_COOKIE cookie = {};
	DAT_RETURN ret = DAT_SUCCESS;

	while (!ret && n--)
		ret = dat_ep_post_send(ep, 1, iov, cookie, 0);
	return ret;
}

static DAT_RETURN kdat_post_recvs(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov,
				  unsigned int n)
{
	const DAT_DTO_COOKIE cookie = {};
	DAT_RETURN ret = DAT_SUCCESS;

	while (!ret && n--)
		ret = dat_ep_post_recv(ep, 1, iov, cookie, 0);
	return ret;
}

static int kdat_batch(struct kdat_net *net, struct kdat_end *end,
		      struct kdat_mem *mem, struct samples *s, unsigned int i)
{
	unsigned int n;
	DAT_RETURN ret;
	int err = 0;
	u64 unused;

	TIMED(ret, s->batch_recv[i],
	      kdat_post_recvs(net->newest->ep, &mem[1].iov, COST_BATCH));
	if (ret)
		return -EIO;
	TIMED(ret, s->batch_send[i],
	      kdat_post_sends(end->ep, &mem[0].iov, COST_BATCH));
	if (ret)
		return -EIO;
	for (n = 0; !err && n < 2 * COST_BATCH; n++)
		err = kdat_take(net->dto_evd[n % 2], &unused, &unused);
	return err;
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
	for (i = 0; !ret && i < COST_BATCHES; i++)
		ret = kdat_batch(net, end, mem, s, i);
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
	net->depth = COST_BATCH;
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
