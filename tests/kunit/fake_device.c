// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The scripted device and the bench around it; fake_device.h says what they are
 * for.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "fake_device.h"

const struct sockaddr_in fake_address = {
	.sin_family = AF_INET,
	.sin_addr.s_addr = cpu_to_be32(0x0a000001),
};

const struct sockaddr_in fake_peer = {
	.sin_family = AF_INET,
	.sin_addr.s_addr = cpu_to_be32(0x0a000002),
};

/* ---- records ---------------------------------------------------------------- */

static struct fake_device *fake_of(struct kdapl_device *dev)
{
	return container_of(dev->ib, struct fake_device, ib);
}

/* Records a call of @op; its result, as far as the script says. */
static int fake_call(struct fake_device *fake, enum fake_op op)
{
	void (*hook)(void *arg) = NULL;
	unsigned long flags;
	void *arg;
	int ret = 0;

	spin_lock_irqsave(&fake->lock, flags);
	fake->calls[op]++;
	if (fake->fail[op] && !fake->fail_in[op]--)
		swap(ret, fake->fail[op]);
	if (fake->hook_op == op)
		swap(hook, fake->hook);
	arg = fake->hook_arg;
	spin_unlock_irqrestore(&fake->lock, flags);
	wake_up_all(&fake->wait);
	if (hook)
		hook(arg);
	return ret;
}

/*
 * A driver allocates for the commands that end a connection.  That must not start I/O,
 * which may wait for that very connection.
 */
static void note_io(struct fake_device *fake)
{
	if (!(current->flags & PF_MEMALLOC_NOIO))
		WRITE_ONCE(fake->io, true);
}

void fake_fail(struct fake_device *fake, enum fake_op op, u32 nth, int error)
{
	spin_lock_irq(&fake->lock);
	fake->fail[op] = error;
	fake->fail_in[op] = nth - 1;
	spin_unlock_irq(&fake->lock);
}

bool fake_fails(struct fake_device *fake, enum fake_op op)
{
	return READ_ONCE(fake->fail[op]);
}

void fake_hook(struct fake_device *fake, enum fake_op op, void (*hook)(void *arg),
	       void *arg)
{
	spin_lock_irq(&fake->lock);
	fake->hook = hook;
	fake->hook_arg = arg;
	fake->hook_op = op;
	spin_unlock_irq(&fake->lock);
}

bool fake_wait_calls(struct fake_device *fake, enum fake_op op, u32 calls)
{
	return wait_event_timeout(fake->wait,
				  READ_ONCE(fake->calls[op]) >= calls,
				  BENCH_PATIENCE) > 0;
}

bool fake_wait_failed(struct fake_device *fake, enum fake_op op)
{
	return wait_event_timeout(fake->wait, !fake_fails(fake, op),
				  BENCH_PATIENCE) > 0;
}

/* ---- completion queues -------------------------------------------------------- */

static struct fake_cq *cq_of(struct kdapl_cq *cq)
{
	return container_of(cq->ib, struct fake_cq, ib);
}

static int fake_cq_create(struct kdapl_cq *cq, u32 cqe)
{
	struct fake_device *fake = fake_of(cq->dev);
	int ret = fake_call(fake, FAKE_CQ_CREATE);
	struct fake_cq *fcq;

	if (ret)
		return ret;
	fcq = kzalloc(sizeof(*fcq), GFP_KERNEL);
	if (!fcq)
		return -ENOMEM;
	fcq->wc = kcalloc(FAKE_MAX_CQE, sizeof(*fcq->wc), GFP_KERNEL);
	if (!fcq->wc) {
		kfree(fcq);
		return -ENOMEM;
	}
	fcq->fake = fake;
	fcq->cq = cq;
	fcq->size = cqe - fake->cq_short;
	cq->size = fcq->size;
	fcq->ib.device = &fake->ib;
	cq->ib = &fcq->ib;
	spin_lock_irq(&fake->lock);
	fake->nr_cqs++;
	fake->nr_unpaid_cqs += cq->unpaid;
	spin_unlock_irq(&fake->lock);
	return 0;
}

static int fake_cq_resize(struct kdapl_cq *cq, u32 cqe)
{
	struct fake_device *fake = fake_of(cq->dev);
	int ret = fake_call(fake, FAKE_CQ_RESIZE);

	if (fake->no_resize)
		return fake->no_resize;
	if (ret)
		return ret;
	cq_of(cq)->size = cqe - fake->cq_short;
	cq->size = cq_of(cq)->size;
	return 0;
}

static int fake_ib_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	struct fake_cq *fcq = container_of(cq, struct fake_cq, ib);
	int i = fake_call(fcq->fake, FAKE_CQ_POLL);
	unsigned long flags;

	if (i)
		return i;
	spin_lock_irqsave(&fcq->fake->lock, flags);
	for (i = 0; i < n && fcq->nr && !fcq->fake->hold_wcs; i++) {
		wc[i] = fcq->wc[fcq->head];
		fcq->head = (fcq->head + 1) % FAKE_MAX_CQE;
		fcq->nr--;
	}
	spin_unlock_irqrestore(&fcq->fake->lock, flags);
	return i;
}

static int fake_cq_arm(struct kdapl_cq *cq, bool solicited)
{
	struct fake_cq *fcq = cq_of(cq);
	int ret = fake_call(fcq->fake, FAKE_CQ_ARM);
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&fcq->fake->lock, flags);
	fcq->armed = true;
	fcq->solicited_only = solicited;
	ret = fcq->nr > 0;
	spin_unlock_irqrestore(&fcq->fake->lock, flags);
	return ret;
}

static void fake_cq_destroy(struct kdapl_cq *cq)
{
	struct fake_cq *fcq = cq_of(cq);
	struct fake_device *fake = fcq->fake;

	spin_lock_irq(&fake->lock);
	fake->nr_cqs--;
	spin_unlock_irq(&fake->lock);
	/* cq_push_wc() calls handlers in an RCU read section. */
	synchronize_rcu();
	kfree(fcq->wc);
	kfree(fcq);
	cq->ib = NULL;
}

/* Adds a completion, and calls the handler if the core has asked for it. */
static void cq_push_wc(struct fake_cq *fcq, const struct ib_wc *wc, bool solicited)
{
	struct fake_device *fake = fcq->fake;
	unsigned long flags;
	bool tell;

	rcu_read_lock();
	spin_lock_irqsave(&fake->lock, flags);
	/* A3: it does not overflow. */
	if (!WARN_ON_ONCE(fcq->nr == fcq->size))
		fcq->wc[(fcq->head + fcq->nr++) % FAKE_MAX_CQE] = *wc;
	tell = fcq->armed && (solicited || !fcq->solicited_only ||
			      wc->status != IB_WC_SUCCESS);
	if (tell)
		fcq->armed = false;
	spin_unlock_irqrestore(&fake->lock, flags);
	if (tell)
		fcq->cq->handler(fcq->cq);
	rcu_read_unlock();
}

/* The same for what has no length and no opcode that matters. */
static void cq_push(struct fake_cq *fcq, u64 wr_id, enum ib_wc_status status)
{
	const struct ib_wc wc = { .wr_id = wr_id, .status = status };

	cq_push_wc(fcq, &wc, false);
}

void fake_cq_event(struct fake_cq *fcq)
{
	struct fake_device *fake = fcq->fake;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fcq->armed = false;
	spin_unlock_irqrestore(&fake->lock, flags);
	fcq->cq->handler(fcq->cq);
}

void fake_stray(struct fake_cq *cq, u64 wr_id, enum ib_wc_status status)
{
	cq_push(cq, wr_id, status);
}

/* ---- queue pairs ----------------------------------------------------------------- */

static struct fake_qp *qp_of(struct kdapl_qp *qp)
{
	return container_of(qp->ib, struct fake_qp, ib);
}

static struct fake_qp *qp_memory(struct fake_device *fake)
{
	struct fake_qp *fqp;

	spin_lock_irq(&fake->lock);
	fqp = list_first_entry_or_null(&fake->next_qps, struct fake_qp, entry);
	if (fqp)
		list_del(&fqp->entry);
	spin_unlock_irq(&fake->lock);
	return fqp ?: kzalloc(sizeof(*fqp), GFP_KERNEL);
}

static int fake_qp_create(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	struct fake_device *fake = fake_of(qp->dev);
	int ret = fake_call(fake, FAKE_QP_CREATE);
	struct fake_qp *fqp;

	if (ret)
		return ret;
	fqp = qp_memory(fake);
	if (!fqp)
		return -ENOMEM;
	fqp->fake = fake;
	fqp->qp = qp;
	fqp->send_cq = cq_of(init->send_cq);
	fqp->recv_cq = cq_of(init->recv_cq);
	fqp->state = IB_QPS_INIT;
	fqp->ib.device = &fake->ib;
	qp->ib = &fqp->ib;
	spin_lock_irq(&fake->lock);
	qp->num = ++fake->next_num;
	list_add_tail(&fqp->entry, &fake->qps);
	spin_unlock_irq(&fake->lock);
	return 0;
}

static int fake_qp_move(struct kdapl_qp *qp, struct rdma_cm_id *id,
			enum ib_qp_state state, u8 rd_atomic_in,
			u8 rd_atomic_out)
{
	int ret = fake_call(fake_of(qp->dev),
			    state == IB_QPS_RTR ? FAKE_QP_RTR : FAKE_QP_RTS);

	if (!ret)
		qp_of(qp)->state = state;
	return ret;
}

/* Takes one request off @list; false if it is not there. */
static bool wr_list_take(struct fake_wr_list *list, u32 index, struct fake_wr *wr)
{
	if (index >= list->nr)
		return false;
	*wr = list->wr[index];
	list->nr--;
	memmove(&list->wr[index], &list->wr[index + 1],
		(list->nr - index) * sizeof(*wr));
	return true;
}

/* As wr_list_take(), with the lock of the device. */
static bool wr_list_pop(struct fake_device *fake, struct fake_wr_list *list,
			u32 index, struct fake_wr *wr)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&fake->lock, flags);
	found = wr_list_take(list, index, wr);
	spin_unlock_irqrestore(&fake->lock, flags);
	return found;
}

/* Takes all of @list; returns how many. */
static u32 wr_list_take_all(struct fake_wr_list *list, u64 *wr_ids)
{
	u32 i, nr = list->nr;

	for (i = 0; i < nr; i++)
		wr_ids[i] = list->wr[i].wr_id;
	list->nr = 0;
	return nr;
}

/* What a queue pair had, requests first; that may be gone before all of it is pushed. */
struct flushed {
	struct fake_cq *send_cq;
	struct fake_cq *recv_cq;
	u64 wr_ids[2 * FAKE_DEPTH];
	u32 sends;
	u32 nr;
};

static void flush_take(struct fake_qp *qp, struct flushed *f)
{
	lockdep_assert_held(&qp->fake->lock);
	f->send_cq = qp->send_cq;
	f->recv_cq = qp->recv_cq;
	f->sends = wr_list_take_all(&qp->send, f->wr_ids);
	f->nr = f->sends + wr_list_take_all(&qp->recv, f->wr_ids + f->sends);
}

/* When the core has seen the last of them it may destroy the queue pair. */
static void flush_push(const struct flushed *f)
{
	u32 i;

	for (i = 0; i < f->nr; i++)
		cq_push(i < f->sends ? f->send_cq : f->recv_cq, f->wr_ids[i],
			IB_WC_WR_FLUSH_ERR);
}

void fake_flush(struct fake_qp *qp)
{
	struct flushed *f = kzalloc(sizeof(*f), GFP_ATOMIC);
	struct fake_device *fake = qp->fake;
	unsigned long flags;

	if (!f)
		return;
	spin_lock_irqsave(&fake->lock, flags);
	flush_take(qp, f);
	spin_unlock_irqrestore(&fake->lock, flags);
	flush_push(f);
	kfree(f);
}

/* A request is posted.  In error it is flushed at once. */
static int qp_add_wr(struct fake_qp *qp, struct fake_wr_list *list,
		     const struct fake_wr *wr)
{
	struct fake_device *fake = qp->fake;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fake->lock, flags);
	if (list->nr < FAKE_DEPTH)
		list->wr[list->nr++] = *wr;
	else
		ret = -ENOMEM;
	spin_unlock_irqrestore(&fake->lock, flags);
	if (!ret && qp->state == IB_QPS_ERR && !fake->hold_flush)
		fake_flush(qp);
	return ret;
}

static void copy_send(struct fake_wr *wr, const struct ib_send_wr *send)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = send->wr_id;
	wr->opcode = send->opcode;
	wr->send_flags = send->send_flags;
	wr->nr_sge = send->num_sge;
	memcpy(wr->sge, send->sg_list, send->num_sge * sizeof(*wr->sge));
	switch (send->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wr->remote_addr = atomic_wr(send)->remote_addr;
		wr->rkey = atomic_wr(send)->rkey;
		wr->operands[0] = atomic_wr(send)->compare_add;
		wr->operands[1] = atomic_wr(send)->swap;
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wr->immediate = (__force u32)send->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
		wr->remote_addr = rdma_wr(send)->remote_addr;
		wr->rkey = rdma_wr(send)->rkey;
		break;
	case IB_WR_LOCAL_INV:
	case IB_WR_SEND_WITH_INV:
		wr->rkey = send->ex.invalidate_rkey;
		break;
	case IB_WR_REG_MR:
		wr->rkey = reg_wr(send)->key;
		wr->access = reg_wr(send)->access;
		break;
	default:
		break;
	}
}

/* A chain is posted up to the first request that fails. */
static int fake_ib_post_send(struct ib_qp *qp, const struct ib_send_wr *send,
			     const struct ib_send_wr **bad)
{
	struct fake_qp *fqp = container_of(qp, struct fake_qp, ib);
	enum fake_op op = FAKE_POST_SEND;
	struct fake_wr *wr;
	int ret;

	for (; send; send = send->next, op = FAKE_POST_NEXT) {
		*bad = send;
		ret = fake_call(fqp->fake, op);
		if (ret)
			return ret;
		wr = kmalloc(sizeof(*wr), GFP_ATOMIC);
		if (!wr)
			return -ENOMEM;
		copy_send(wr, send);
		ret = qp_add_wr(fqp, &fqp->send, wr);
		kfree(wr);
		if (ret)
			return ret;
	}
	return 0;
}

static int fake_ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *recv,
			     const struct ib_recv_wr **bad)
{
	struct fake_qp *fqp = container_of(qp, struct fake_qp, ib);
	int ret = fake_call(fqp->fake, FAKE_POST_RECV);
	struct fake_wr *wr;

	if (ret)
		return ret;
	wr = kzalloc(sizeof(*wr), GFP_ATOMIC);
	if (!wr)
		return -ENOMEM;
	wr->wr_id = recv->wr_id;
	wr->nr_sge = recv->num_sge;
	memcpy(wr->sge, recv->sg_list, recv->num_sge * sizeof(*wr->sge));
	ret = qp_add_wr(fqp, &fqp->recv, wr);
	kfree(wr);
	return ret;
}

static int fake_qp_error(struct kdapl_qp *qp)
{
	struct kdapl_conn *conn = container_of(qp, struct kdapl_conn, qp);
	struct fake_device *fake = fake_of(qp->dev);
	bool held;
	int ret;

	/*
	 * A flush that is held is held for as long as the test wants, and not for as long
	 * as the core waits for a device.  Before the call is counted: who waits for it
	 * may say that the time is over (bench_no_flush()).
	 */
	if (READ_ONCE(fake->hold_flush))
		WRITE_ONCE(conn->flush_until, jiffies + BENCH_AGES);
	ret = fake_call(fake, FAKE_QP_ERROR);
	note_io(fake);
	spin_lock_irq(&fake->lock);
	qp_of(qp)->state = IB_QPS_ERR;
	held = fake->hold_flush;
	spin_unlock_irq(&fake->lock);
	if (!held)
		fake_flush(qp_of(qp));
	return ret;
}

static bool fake_qp_in_error(struct kdapl_qp *qp)
{
	note_io(qp_of(qp)->fake);
	return qp_of(qp)->broken;
}

static bool fake_qp_seek_answers(struct kdapl_qp *qp)
{
	struct fake_qp *fqp = qp_of(qp);
	u32 n = fqp->fake->answers_aside;

	note_io(fqp->fake);
	while (n--)
		fake_complete_send(fqp, 0, IB_WC_SUCCESS);
	return fqp->fake->answers_aside;
}

static void fake_qp_destroy(struct kdapl_qp *qp)
{
	struct fake_qp *fqp = qp_of(qp);
	struct fake_device *fake = fqp->fake;

	fake_call(fake, FAKE_QP_DESTROY);
	/* One that no endpoint got is destroyed by the call that has failed. */
	if (container_of(fqp->qp, struct kdapl_conn, qp)->ep)
		note_io(fake);
	spin_lock_irq(&fake->lock);
	list_del(&fqp->entry);
	spin_unlock_irq(&fake->lock);
	qp->ib = NULL;
	kfree(fqp);
}

static struct fake_qp *find_qp(struct fake_device *fake, struct kdapl_ep *ep)
{
	struct fake_qp *qp, *found = NULL;

	lockdep_assert_held(&fake->lock);
	list_for_each_entry(qp, &fake->qps, entry)
		if (ep->conn && qp->qp == &ep->conn->qp)
			found = qp;
	return found;
}

struct fake_qp *fake_qp_of(struct fake_device *fake, struct kdapl_ep *ep)
{
	struct fake_qp *found;

	spin_lock_irq(&fake->lock);
	found = find_qp(fake, ep);
	spin_unlock_irq(&fake->lock);
	return found;
}

/* Does a request have a completion?  A success has one only if it is signalled. */
static bool wr_shows(const struct fake_wr *wr, enum ib_wc_status status)
{
	return status != IB_WC_SUCCESS || wr->send_flags & IB_SEND_SIGNALED;
}

void fake_complete_send(struct fake_qp *qp, u32 index, enum ib_wc_status status)
{
	struct fake_wr *wr = kmalloc(sizeof(*wr), GFP_KERNEL);

	if (wr && wr_list_pop(qp->fake, &qp->send, index, wr) &&
	    wr_shows(wr, status))
		cq_push(qp->send_cq, wr->wr_id, status);
	kfree(wr);
}

bool fake_complete_any(struct fake_device *fake, struct kdapl_ep *ep)
{
	struct fake_wr *wr = kmalloc(sizeof(*wr), GFP_KERNEL);
	struct fake_cq *cq = NULL;
	struct fake_qp *qp;
	bool found;

	if (!wr)
		return false;
	spin_lock_irq(&fake->lock);
	qp = find_qp(fake, ep);
	found = qp && wr_list_take(&qp->send, 0, wr);
	if (found)
		cq = qp->send_cq;
	spin_unlock_irq(&fake->lock);
	if (found && wr_shows(wr, IB_WC_SUCCESS))
		cq_push(cq, wr->wr_id, IB_WC_SUCCESS);
	kfree(wr);
	return found;
}

static void complete_recv(struct fake_qp *qp, u32 index, struct ib_wc wc,
			  bool solicited)
{
	struct fake_wr *wr = kmalloc(sizeof(*wr), GFP_KERNEL);

	if (wr && wr_list_pop(qp->fake, &qp->recv, index, wr)) {
		wc.wr_id = wr->wr_id;
		cq_push_wc(qp->recv_cq, &wc, solicited);
	}
	kfree(wr);
}

void fake_complete_recv(struct fake_qp *qp, u32 index, enum ib_wc_status status,
			u32 length, bool solicited)
{
	const struct ib_wc wc = {
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = length,
	};

	complete_recv(qp, index, wc, solicited);
}

void fake_complete_recv_as(struct fake_qp *qp, const struct ib_wc *wc)
{
	complete_recv(qp, 0, *wc, false);
}

void fake_queue_event(struct fake_qp *qp, enum ib_event_type event)
{
	qp->qp->event(qp->qp, event);
}

/* ---- shared receive queues ------------------------------------------------------------ */

static struct fake_srq *srq_of(struct kdapl_shared_rq *rq)
{
	return container_of(rq->ib, struct fake_srq, ib);
}

static int fake_srq_create(struct kdapl_shared_rq *rq, struct ib_pd *pd, u32 max_wr,
			   u32 max_sge)
{
	struct fake_device *fake = fake_of(rq->dev);
	struct fake_srq *srq;
	int ret = fake_call(fake, FAKE_SRQ_CREATE);

	if (ret)
		return ret;
	srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	if (!srq)
		return -ENOMEM;
	srq->ib.device = &fake->ib;
	srq->fake = fake;
	srq->rq = rq;
	rq->ib = &srq->ib;
	rq->size = max_wr;
	rq->max_sge = max_sge;
	spin_lock_irq(&fake->lock);
	fake->nr_srqs++;
	spin_unlock_irq(&fake->lock);
	return 0;
}

static int fake_srq_resize(struct kdapl_shared_rq *rq, u32 max_wr)
{
	int ret = fake_call(fake_of(rq->dev), FAKE_SRQ_RESIZE);

	if (!ret)
		rq->size = max_wr;
	return ret;
}

static int fake_srq_arm(struct kdapl_shared_rq *rq, u32 limit)
{
	int ret = fake_call(fake_of(rq->dev), FAKE_SRQ_ARM);

	if (!ret)
		srq_of(rq)->limit = limit;
	return ret;
}

static void fake_srq_destroy(struct kdapl_shared_rq *rq)
{
	struct fake_srq *srq = srq_of(rq);
	struct fake_device *fake = srq->fake;

	spin_lock_irq(&fake->lock);
	fake->nr_srqs--;
	spin_unlock_irq(&fake->lock);
	kfree(srq);
	rq->ib = NULL;
}

static int fake_ib_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *recv,
				 const struct ib_recv_wr **bad)
{
	struct fake_srq *srq = container_of(ib, struct fake_srq, ib);
	int ret = fake_call(srq->fake, FAKE_POST_SRQ_RECV);
	struct fake_wr *wr;
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&srq->fake->lock, flags);
	if (srq->recv.nr < FAKE_DEPTH) {
		wr = &srq->recv.wr[srq->recv.nr++];
		wr->wr_id = recv->wr_id;
		wr->nr_sge = recv->num_sge;
		memcpy(wr->sge, recv->sg_list, recv->num_sge * sizeof(*wr->sge));
	} else {
		ret = -ENOMEM;
	}
	spin_unlock_irqrestore(&srq->fake->lock, flags);
	return ret;
}

bool fake_srq_take(struct fake_srq *srq, struct fake_wr *wr)
{
	return wr_list_pop(srq->fake, &srq->recv, 0, wr);
}

void fake_complete_srq(struct fake_qp *qp, const struct fake_wr *wr,
		       enum ib_wc_status status, u32 length)
{
	const struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = length,
		.qp = &qp->ib,
	};

	cq_push_wc(qp->recv_cq, &wc, false);
}

static const struct kdapl_qp_ops fake_qp_ops = {
	.cq_create = fake_cq_create,
	.cq_resize = fake_cq_resize,
	.cq_arm = fake_cq_arm,
	.cq_destroy = fake_cq_destroy,
	.create = fake_qp_create,
	.move = fake_qp_move,
	.error = fake_qp_error,
	.in_error = fake_qp_in_error,
	.seek_answers = fake_qp_seek_answers,
	.destroy = fake_qp_destroy,
	.srq_create = fake_srq_create,
	.srq_resize = fake_srq_resize,
	.srq_arm = fake_srq_arm,
	.srq_destroy = fake_srq_destroy,
};

/* ---- connections ---------------------------------------------------------------------- */

static struct fake_id *id_of(struct rdma_cm_id *id)
{
	return container_of(id, struct fake_id, id);
}

static void resolve(struct work_struct *work)
{
}

static struct fake_id *id_alloc(struct fake_device *fake)
{
	struct fake_id *id = kzalloc(sizeof(*id), GFP_KERNEL);

	if (!id)
		return NULL;
	id->fake = fake;
	mutex_init(&id->handler);
	INIT_DELAYED_WORK(&id->resolution, resolve);
	refcount_set(&id->ref, 1);
	spin_lock_irq(&fake->lock);
	list_add_tail(&id->entry, &fake->ids);
	spin_unlock_irq(&fake->lock);
	return id;
}

static void id_put(struct fake_id *id)
{
	if (refcount_dec_and_test(&id->ref))
		kfree(id);
}

static void id_free(struct fake_id *id)
{
	spin_lock_irq(&id->fake->lock);
	list_del(&id->entry);
	spin_unlock_irq(&id->fake->lock);
	id_put(id);
}

void fake_handler_lock(struct fake_id *id)
{
	refcount_inc(&id->ref);
	mutex_lock(&id->handler);
	WRITE_ONCE(id->caller, current);
}

void fake_handler_unlock(struct fake_id *id)
{
	WRITE_ONCE(id->caller, NULL);
	mutex_unlock(&id->handler);
	id_put(id);
}

static void set_address(struct sockaddr_storage *to, const struct sockaddr_in *in,
			u16 port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)to;

	*sin = *in;
	sin->sin_port = htons(port);
}

static int fake_cm_open(struct kdapl_conn *conn, struct kdapl_device *dev,
			struct net *net, const struct sockaddr *to,
			struct rdma_cm_id **out)
{
	struct fake_device *fake = fake_of(dev);
	int ret = fake_call(fake, FAKE_CM_OPEN);
	struct fake_id *id;

	if (ret)
		return ret;
	id = id_alloc(fake);
	if (!id)
		return -ENOMEM;
	kdapl_conn_get(conn);
	id->conn = conn;
	set_address(&id->id.route.addr.src_addr, &fake_address,
		    40000 + fake->calls[FAKE_CM_OPEN]);
	*out = &id->id;
	return 0;
}

static int fake_cm_resolve(struct rdma_cm_id *id, const struct sockaddr *to,
			   u32 timeout_ms)
{
	WRITE_ONCE(id_of(id)->resolve_ms, timeout_ms);
	return fake_call(id_of(id)->fake, FAKE_CM_RESOLVE);
}

static void keep_data(struct fake_id *id, const struct kdapl_cm_params *p)
{
	id->data_len = p->private_data_len;
	memcpy(id->data, p->private_data, p->private_data_len);
}

static int fake_cm_connect(struct rdma_cm_id *id, const struct kdapl_cm_params *p)
{
	keep_data(id_of(id), p);
	return fake_call(id_of(id)->fake, FAKE_CM_CONNECT);
}

static int fake_cm_established(struct rdma_cm_id *id)
{
	return fake_call(id_of(id)->fake, FAKE_CM_ESTABLISHED);
}

static int fake_cm_accept(struct rdma_cm_id *id, const struct kdapl_cm_params *p)
{
	int ret = fake_call(id_of(id)->fake, FAKE_CM_ACCEPT);

	keep_data(id_of(id), p);
	id_of(id)->accepted = !ret;
	return ret;
}

static int fake_cm_reject(struct rdma_cm_id *id, const void *data, u8 len)
{
	id_of(id)->rejected = true;
	id_of(id)->data_len = len;
	memcpy(id_of(id)->data, data, len);
	return fake_call(id_of(id)->fake, FAKE_CM_REJECT);
}

static int fake_cm_disconnect(struct rdma_cm_id *id)
{
	id_of(id)->disconnected = true;
	return fake_call(id_of(id)->fake, FAKE_CM_DISCONNECT);
}

static void fake_cm_lock(struct rdma_cm_id *id)
{
	mutex_lock(&id_of(id)->handler);
}

static void fake_cm_unlock(struct rdma_cm_id *id)
{
	mutex_unlock(&id_of(id)->handler);
}

static void fake_cm_hand_over(struct rdma_cm_id *id, struct kdapl_conn *conn)
{
	struct kdapl_conn *from = id_of(id)->conn;

	kdapl_conn_get(conn);
	id_of(id)->conn = conn;
	kdapl_conn_put(from);
}

/*
 * rdma_destroy_id() waits for work of the CM and of address resolution, on workqueues
 * that are not for reclaim: the kernel warns if the caller's is.
 */
static void fake_cm_destroy(struct rdma_cm_id *id)
{
	struct kdapl_conn *conn;

	fake_call(id_of(id)->fake, FAKE_CM_DESTROY);
	queue_delayed_work(system_unbound_wq, &id_of(id)->resolution, HZ);
	flush_delayed_work(&id_of(id)->resolution);
	/* The callbacks run with the mutex held: none is running afterwards. */
	fake_cm_lock(id);
	conn = id_of(id)->conn;
	fake_cm_unlock(id);
	id_free(id_of(id));
	kdapl_conn_put(conn);
}

static int fake_cm_listen(struct kdapl_sp *sp, struct kdapl_device *dev,
			  struct net *net, u16 *port, int backlog,
			  struct kdapl_listener **out)
{
	struct fake_device *fake = fake_of(dev);
	struct fake_id *id = id_alloc(fake);
	int ret;

	if (!id)
		return -ENOMEM;
	if (!*port)
		*port = 50000 + fake->calls[FAKE_CM_LISTEN];
	id->sp = sp;
	set_address(&id->id.route.addr.src_addr, &fake_address, *port);
	/* One address is listened at; the next one may fail. */
	ret = fake_call(fake, FAKE_CM_LISTEN);
	if (ret) {
		id_free(id);
		return ret;
	}
	*out = (struct kdapl_listener *)id;
	return 0;
}

static void fake_cm_unlisten(struct kdapl_listener *listener)
{
	struct fake_id *id = (struct fake_id *)listener;

	fake_call(id->fake, FAKE_CM_UNLISTEN);
	id_free(id);
}

static const struct kdapl_cm_ops fake_cm_ops = {
	.open = fake_cm_open,
	.resolve = fake_cm_resolve,
	.connect = fake_cm_connect,
	.established = fake_cm_established,
	.accept = fake_cm_accept,
	.reject = fake_cm_reject,
	.hand_over = fake_cm_hand_over,
	.disconnect = fake_cm_disconnect,
	.lock = fake_cm_lock,
	.unlock = fake_cm_unlock,
	.destroy = fake_cm_destroy,
	.listen = fake_cm_listen,
	.unlisten = fake_cm_unlisten,
};

struct fake_id *fake_id_of(struct fake_device *fake, struct kdapl_ep *ep)
{
	struct fake_id *id, *found = NULL;

	spin_lock_irq(&fake->lock);
	list_for_each_entry(id, &fake->ids, entry)
		if (ep->conn && id->conn == ep->conn)
			found = id;
	spin_unlock_irq(&fake->lock);
	return found;
}

void fake_resolved(struct fake_id *id)
{
	fake_handler_lock(id);
	kdapl_conn_resolved(id->conn);
	fake_handler_unlock(id);
}

void fake_unresolved(struct fake_id *id)
{
	fake_handler_lock(id);
	kdapl_conn_unresolved(id->conn);
	fake_handler_unlock(id);
}

void fake_answered(struct fake_id *id, const void *data, u8 len)
{
	fake_handler_lock(id);
	kdapl_conn_answered(id->conn, data, len);
	fake_handler_unlock(id);
}

void fake_rejected(struct fake_id *id, const void *data, u8 len)
{
	fake_handler_lock(id);
	kdapl_conn_rejected(id->conn, data, len, 0);
	fake_handler_unlock(id);
}

void fake_confirmed(struct fake_id *id)
{
	fake_handler_lock(id);
	kdapl_conn_confirmed(id->conn);
	fake_handler_unlock(id);
}

void fake_input(struct fake_id *id, enum kdapl_ep_input input)
{
	fake_handler_lock(id);
	kdapl_conn_input(id->conn, input, 0);
	fake_handler_unlock(id);
}

void fake_peer_disconnected(struct fake_id *id)
{
	fake_handler_lock(id);
	kdapl_conn_peer_disconnected(id->conn);
	fake_handler_unlock(id);
}

int fake_request(struct fake_device *fake, u16 port, const void *data, u8 len,
		 struct fake_id **request)
{
	struct fake_id *id, *listener = NULL;
	struct sockaddr_in at = fake_address;
	struct kdapl_conn *conn;
	int ret;

	spin_lock_irq(&fake->lock);
	list_for_each_entry(id, &fake->ids, entry)
		if (id->sp &&
		    kdapl_port_of(&id->id.route.addr.src_addr) == port)
			listener = id;
	spin_unlock_irq(&fake->lock);
	if (!listener)
		return -ENOENT;
	id = id_alloc(fake);
	if (!id)
		return -ENOMEM;
	at.sin_addr.s_addr = htonl(ntohl(at.sin_addr.s_addr) + fake->second);
	set_address(&id->id.route.addr.src_addr, &at, port);
	set_address(&id->id.route.addr.dst_addr, &fake_peer, 1234);

	fake_handler_lock(id);
	ret = kdapl_sp_request(listener->sp, &id->id, data, len, 4, &conn);
	if (!ret) {
		kdapl_conn_get(conn);
		id->conn = conn;
	}
	fake_handler_unlock(id);
	if (ret)
		id_free(id);
	else if (request)
		*request = id;
	return ret;
}

/* ---- memory ------------------------------------------------------------------------------ */

struct kdapl_zone {
	struct fake_device *fake;
};

struct fake_region {
	struct kdapl_region region;
	struct fake_device *fake;
};

static struct kdapl_zone *fake_zone_create(struct kdapl_device *dev, bool user)
{
	struct fake_device *fake = fake_of(dev);
	int ret = fake_call(fake, FAKE_ZONE_CREATE);
	struct kdapl_zone *zone;

	if (ret)
		return ERR_PTR(ret);
	zone = kzalloc(sizeof(*zone), GFP_KERNEL);
	if (!zone)
		return ERR_PTR(-ENOMEM);
	zone->fake = fake;
	spin_lock_irq(&fake->lock);
	fake->nr_zones++;
	spin_unlock_irq(&fake->lock);
	return zone;
}

static void fake_zone_destroy(struct kdapl_zone *zone)
{
	spin_lock_irq(&zone->fake->lock);
	zone->fake->nr_zones--;
	spin_unlock_irq(&zone->fake->lock);
	kfree(zone);
}

static struct ib_pd *fake_zone_pd(struct kdapl_zone *zone)
{
	return (struct ib_pd *)zone;
}

static struct kdapl_region *fake_reg(struct kdapl_zone *zone,
				     struct kdapl_region_init *init)
{
	struct fake_device *fake = zone->fake;
	int ret = fake_call(fake, FAKE_REG);
	struct fake_region *r;

	if (ret)
		return ERR_PTR(ret);
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return ERR_PTR(-ENOMEM);
	r->fake = fake;
	r->region.start = init->source ? init->source->start : init->start;
	r->region.length = init->source ? init->source->length : init->length;
	r->region.share = KDAPL_SHARE_WRITE;
	spin_lock_irq(&fake->lock);
	fake->nr_regions++;
	r->region.lkey = ++fake->next_key << 8;
	r->region.rkey = r->region.lkey | 1;
	spin_unlock_irq(&fake->lock);
	return &r->region;
}

static void fake_dereg(struct kdapl_region *region)
{
	struct fake_region *r = container_of(region, struct fake_region, region);

	spin_lock_irq(&r->fake->lock);
	r->fake->nr_regions--;
	spin_unlock_irq(&r->fake->lock);
	kfree(r);
}

/* Two keys that take turns, whose lowest byte changes; of the one that is bound next */
struct kdapl_window {
	struct fake_device *fake;
	u32 keys[2];
	u32 rkey;
	u32 next;
	u8 spare;
	u8 binds;
	bool lost;
};

static void window_new_keys(struct kdapl_window *window)
{
	struct fake_device *fake = window->fake;
	int i;

	spin_lock_irq(&fake->lock);
	for (i = 0; i < ARRAY_SIZE(window->keys); i++)
		window->keys[i] = ++fake->next_key << 8;
	spin_unlock_irq(&fake->lock);
	window->rkey = 0;
}

static struct kdapl_window *fake_window_create(struct kdapl_zone *zone, u32 pages)
{
	struct fake_device *fake = zone->fake;
	int ret = fake_call(fake, FAKE_WINDOW_CREATE);
	struct kdapl_window *window;

	if (ret)
		return ERR_PTR(ret);
	if (!pages)
		return ERR_PTR(-EOPNOTSUPP);
	window = kzalloc(sizeof(*window), GFP_KERNEL);
	if (!window)
		return ERR_PTR(-ENOMEM);
	window->fake = fake;
	window_new_keys(window);
	spin_lock_irq(&fake->lock);
	fake->nr_windows++;
	spin_unlock_irq(&fake->lock);
	return window;
}

static void fake_window_destroy(struct kdapl_window *window)
{
	note_io(window->fake);
	spin_lock_irq(&window->fake->lock);
	window->fake->nr_windows--;
	spin_unlock_irq(&window->fake->lock);
	kfree(window);
}

static int fake_window_renew(struct kdapl_window *window)
{
	int ret = fake_call(window->fake, FAKE_WINDOW_RENEW);

	note_io(window->fake);
	window->lost = ret;
	window_new_keys(window);
	return ret;
}

/* A bind is a pair of requests, as on Soft-RoCE; an unbind is one. */
static int fake_window_bind(struct kdapl_window *window,
			    struct kdapl_region *region, u64 start, u64 length,
			    int access, struct kdapl_bind_wr *wr)
{
	int ret = fake_call(window->fake, FAKE_WINDOW_BIND);

	if (window->lost)
		ret = -ENOMEM;
	if (ret)
		return ret;
	memset(wr, 0, sizeof(*wr));
	wr->inv.opcode = IB_WR_LOCAL_INV;
	wr->inv.ex.invalidate_rkey = window->rkey;
	wr->first = &wr->inv;
	wr->last = &wr->inv;
	window->next = 0;
	if (length) {
		window->next = (window->keys[window->spare] & ~0xffU) | ++window->binds;
		wr->reg.wr.opcode = IB_WR_REG_MR;
		wr->reg.key = window->next;
		wr->reg.access = access;
		wr->inv.next = &wr->reg.wr;
		wr->last = &wr->reg.wr;
	}
	wr->rkey = window->next;
	return 0;
}

static int fake_window_bind_list(struct kdapl_window *window,
				 const struct kdapl_list *list, int access,
				 struct kdapl_bind_wr *wr)
{
	return fake_window_bind(window, NULL, list->start, list->length, access, wr);
}

static void fake_window_bound(struct kdapl_window *window)
{
	window->rkey = window->next;
	if (window->next)
		window->spare = !window->spare;
}

static void fake_window_taken(struct kdapl_window *window)
{
	window->rkey = 0;
}

static void fake_window_keys(const struct kdapl_window *window, u32 *keys)
{
	memcpy(keys, window->keys, sizeof(window->keys));
}

static void fake_sync(struct kdapl_region *region, u64 offset, u64 length,
		      bool for_cpu)
{
}

/* The device's addresses are those of the kernel. */
static int fake_map(struct kdapl_device *dev, struct kdapl_list *list)
{
	struct fake_device *fake = fake_of(dev);
	struct scatterlist *sg;
	int i;

	if (fake_call(fake, FAKE_MAP))
		return -ENOMEM;
	for_each_sg(list->sg, sg, list->entries, i) {
		sg_dma_address(sg) = (uintptr_t)sg_virt(sg);
		sg_dma_len(sg) = sg->length;
	}
	fake->nr_lists++;
	return 0;
}

static void fake_unmap(struct kdapl_device *dev, const struct kdapl_list *list)
{
	fake_of(dev)->nr_lists--;
}

static u32 fake_zone_key(struct kdapl_zone *zone)
{
	return FAKE_ZONE_KEY;
}

static const struct kdapl_mr_ops fake_mr_ops = {
	.zone_create = fake_zone_create,
	.zone_destroy = fake_zone_destroy,
	.zone_pd = fake_zone_pd,
	.reg = fake_reg,
	.dereg = fake_dereg,
	.sync = fake_sync,
	.map = fake_map,
	.unmap = fake_unmap,
	.zone_key = fake_zone_key,
	.window_create = fake_window_create,
	.window_destroy = fake_window_destroy,
	.window_renew = fake_window_renew,
	.window_bind = fake_window_bind,
	.window_bind_list = fake_window_bind_list,
	.window_bound = fake_window_bound,
	.window_taken = fake_window_taken,
	.window_keys = fake_window_keys,
};

/* ---- the device --------------------------------------------------------------------------- */

static void fake_addresses(struct kdapl_device *dev, struct net *net,
			   kdapl_address_fn fn, void *arg)
{
	const struct kdapl_address addr = { .in = fake_address };

	if (!fake_call(fake_of(dev), FAKE_ADDRESS) && net_eq(net, &init_net))
		fn(&addr, arg);
}

static void ia_raise_event(struct list_head *on_dev, void *event)
{
	kdapl_ia_async(on_dev, event);
}

void fake_device_event(struct fake_device *fake, enum ib_event_type event)
{
	struct ib_event e = { .event = event };

	kdapl_device_walk_ias(fake->dev, ia_raise_event, &e);
}

/* The adapters of processes are charged to their cgroups. */
static void cgroup_add(struct fake_device *fake)
{
#ifdef CONFIG_CGROUP_RDMA
	fake->ib.cg_device.name = fake->dev->name;
	rdmacg_register_device(&fake->ib.cg_device);
#endif
}

static void cgroup_remove(struct fake_device *fake)
{
#ifdef CONFIG_CGROUP_RDMA
	rdmacg_unregister_device(&fake->ib.cg_device);
#endif
}

struct fake_device *fake_create(u32 port)
{
	struct fake_device *fake = kzalloc(sizeof(*fake), GFP_KERNEL);
	struct kdapl_device *dev;

	if (!fake)
		return NULL;
	dev = kdapl_device_alloc();
	if (!dev) {
		kfree(fake);
		return NULL;
	}
	spin_lock_init(&fake->lock);
	INIT_LIST_HEAD(&fake->qps);
	INIT_LIST_HEAD(&fake->next_qps);
	INIT_LIST_HEAD(&fake->ids);
	init_waitqueue_head(&fake->wait);
	fake->dev = dev;
	fake->ib.ops.poll_cq = fake_ib_poll_cq;
	fake->ib.ops.post_send = fake_ib_post_send;
	fake->ib.ops.post_recv = fake_ib_post_recv;
	fake->ib.ops.post_srq_recv = fake_ib_post_srq_recv;
	dev->ib = &fake->ib;
	dev->port = port;
	snprintf(dev->name, sizeof(dev->name), "fake-%u", port);
	strscpy(dev->vendor, "fake", sizeof(dev->vendor));
	dev->attrs = (struct ib_device_attr) {
		.max_qp = 1024,
		.max_qp_wr = FAKE_DEPTH * 2,
		.max_send_sge = 8,
		.max_recv_sge = 8,
		.max_sge_rd = 4,
		.max_cq = 1024,
		.max_cqe = FAKE_MAX_CQE,
		.max_srq = 1024,
		.max_srq_wr = FAKE_DEPTH,
		.max_srq_sge = 8,
		.max_mr = 1024,
		.max_pd = 1024,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 1024,
		.max_mr_size = 1ULL << 30,
		.page_size_cap = PAGE_SIZE,
	};
	dev->max_msg_sz = FAKE_MAX_MSG;
	dev->max_frmr_pages = 256;
	dev->max_window_pages = 256;
	dev->srq_arms = true;
	dev->srq_keeps = true;
	dev->extensions = KDAPL_CAN_IMMED | KDAPL_CAN_ATOMIC;
	dev->qp = &fake_qp_ops;
	dev->cm = &fake_cm_ops;
	dev->mr = &fake_mr_ops;
	dev->addresses = fake_addresses;
	cgroup_add(fake);
	kdapl_device_add(dev);
	return fake;
}

/* Takes what is outstanding on a queue pair in error; false if there is nothing. */
static bool take_held(struct fake_device *fake, struct flushed *f)
{
	struct fake_qp *qp;

	f->nr = 0;
	spin_lock_irq(&fake->lock);
	list_for_each_entry(qp, &fake->qps, entry) {
		if (qp->state != IB_QPS_ERR || !(qp->send.nr + qp->recv.nr))
			continue;
		flush_take(qp, f);
		break;
	}
	spin_unlock_irq(&fake->lock);
	return f->nr;
}

/*
 * The test is over, perhaps in its midst: what it armed is disarmed, for it may be on the
 * stack of a thread that is gone, and what it held back comes.
 */
static void fake_let_go(struct fake_device *fake)
{
	struct flushed *f = kzalloc(sizeof(*f), GFP_KERNEL);

	spin_lock_irq(&fake->lock);
	fake->hook = NULL;
	memset(fake->fail, 0, sizeof(fake->fail));
	fake->hold_flush = false;
	fake->hold_wcs = false;
	spin_unlock_irq(&fake->lock);
	while (f && take_held(fake, f))
		flush_push(f);
	kfree(f);
}

/* Adapters that are still open lose the device. */
void fake_destroy(struct fake_device *fake)
{
	kdapl_device_remove(fake->dev);
	cgroup_remove(fake);
	kfree(fake);
}

void fake_rename(struct fake_device *fake, const char *name)
{
	fake->ib.dev.init_name = name;
	kdapl_device_renamed(&fake->ib);
}

/* ---- the core ------------------------------------------------------------------------------- */

static bool workqueues_are_ours;

int core_up(struct kunit_suite *suite)
{
	if (kdapl_kernel_wq)
		return 0;
	kdapl_kernel_wq = alloc_workqueue("kdapl_kunit", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	kdapl_slow_wq = alloc_workqueue("kdapl_kunit_slow", WQ_UNBOUND, 0);
	/* As many at once as in the module */
	kdapl_iwarp_wq = alloc_workqueue("kdapl_kunit_iwarp", WQ_UNBOUND, 32);
	kdapl_upcall_wq = alloc_workqueue("kdapl_kunit_upcall", WQ_UNBOUND, 0);
	kdapl_users_wq = alloc_workqueue("kdapl_kunit_users", WQ_UNBOUND, 0);
	kdapl_users_iwarp_wq = alloc_workqueue("kdapl_kunit_users_iwarp", WQ_UNBOUND, 32);
	workqueues_are_ours = true;
	if (kdapl_kernel_wq && kdapl_slow_wq && kdapl_iwarp_wq && kdapl_upcall_wq &&
	    kdapl_users_wq && kdapl_users_iwarp_wq)
		return 0;
	core_down(suite);
	return -ENOMEM;
}

void core_down(struct kunit_suite *suite)
{
	if (!workqueues_are_ours)
		return;
	/* Objects are released by work that RCU callbacks queue. */
	rcu_barrier();
	if (kdapl_users_iwarp_wq)
		destroy_workqueue(kdapl_users_iwarp_wq);
	if (kdapl_users_wq)
		destroy_workqueue(kdapl_users_wq);
	if (kdapl_upcall_wq)
		destroy_workqueue(kdapl_upcall_wq);
	if (kdapl_iwarp_wq)
		destroy_workqueue(kdapl_iwarp_wq);
	if (kdapl_slow_wq)
		destroy_workqueue(kdapl_slow_wq);
	if (kdapl_kernel_wq)
		destroy_workqueue(kdapl_kernel_wq);
	rcu_barrier();
	kdapl_users_iwarp_wq = NULL;
	kdapl_users_wq = NULL;
	kdapl_upcall_wq = NULL;
	kdapl_kernel_wq = NULL;
	kdapl_iwarp_wq = NULL;
	kdapl_slow_wq = NULL;
	workqueues_are_ours = false;
}

/* ---- the bench ------------------------------------------------------------------------------ */

static bool bench_objects(struct bench *b)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b->memory };

	return !kdapl_ia_open(&b->space, "fake-1", 16, &b->async,
			      DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_TRUE,
			      &b->ia) &&
	       !kdapl_pz_create(&b->space, b->ia, &b->pz) &&
	       !kdapl_evd_create(&b->space, b->ia, 64, BENCH_EVD_FLAGS |
				 DAT_EVD_SOFTWARE_FLAG, &b->evd) &&
	       !kdapl_lmr_create(&b->space, b->ia, DAT_MEM_TYPE_VIRTUAL, region,
				 PAGE_SIZE, b->pz, DAT_MEM_PRIV_ALL_FLAG,
				 DAT_MEM_OPTIMIZE_DONT_CARE, &b->lmr,
				 &b->lmr_context, NULL, NULL, NULL);
}

struct bench *bench_bare(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	b->test = test;
	init_completion(&b->stopped);
	init_completion(&b->go_on);
	b->fake = fake_create(1);
	if (!b->fake)
		return NULL;
	kdapl_space_init(&b->space, &init_net, NULL, 1000);
	test->priv = b;
	return b;
}

int bench_init(struct kunit *test)
{
	struct bench *b = bench_bare(test);

	if (!b)
		return -ENOMEM;
	b->memory = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	if (!b->memory)
		return -ENOMEM;
	return bench_objects(b) ? 0 : -EIO;
}

void bench_exit(struct kunit *test)
{
	struct bench *b = test->priv;
	struct fake_device *fake;

	if (!b)
		return;
	fake = b->fake;
	fake_let_go(fake);
	complete_all(&b->go_on);
	kdapl_ia_close_all(&b->space);
	kdapl_space_destroy(&b->space);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->qps));
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->ids));
	KUNIT_EXPECT_FALSE(test, fake->io);
	KUNIT_EXPECT_EQ(test, fake->nr_cqs, 0U);
	KUNIT_EXPECT_EQ(test, fake->nr_srqs, 0U);
	KUNIT_EXPECT_EQ(test, fake->nr_zones, 0U);
	KUNIT_EXPECT_EQ(test, fake->nr_windows, 0U);
	KUNIT_EXPECT_EQ(test, fake->nr_regions, 0U);
	KUNIT_EXPECT_EQ(test, fake->nr_lists, 0U);
	fake_destroy(fake);
}

DAT_EVD_HANDLE bench_evd(struct bench *b, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(b->test, DONE, kdapl_evd_create(&b->space, b->ia, qlen,
							flags, &evd));
	return evd;
}

static const DAT_EP_ATTR plain_attr = {
	.max_recv_dtos = 8,
	.max_request_dtos = 8,
	.max_recv_iov = 4,
	.max_request_iov = 4,
	.max_rdma_read_in = 4,
	.max_rdma_read_out = 4,
};

DAT_EP_HANDLE bench_ep_attr(struct bench *b, DAT_EVD_HANDLE recv,
			    DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			    const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_ep_create(&b->space, b->ia, b->pz, recv, request,
					connect, attr ?: &plain_attr, &ep));
	return ep;
}

DAT_EP_HANDLE bench_ep(struct bench *b, DAT_EVD_HANDLE evd)
{
	return bench_ep_attr(b, evd, evd, evd, NULL);
}

struct kdapl_ep *bench_ep_of(struct bench *b, DAT_EP_HANDLE handle)
{
	struct kdapl_ep *ep = kdapl_ep_find(&b->space, handle);

	KUNIT_ASSERT_NOT_NULL(b->test, ep);
	kdapl_object_put(&ep->obj);
	return ep;
}

struct fake_qp *bench_qp(struct bench *b, DAT_EP_HANDLE ep)
{
	struct fake_qp *qp = fake_qp_of(b->fake, bench_ep_of(b, ep));

	KUNIT_ASSERT_NOT_NULL(b->test, qp);
	return qp;
}

struct fake_id *bench_id(struct bench *b, DAT_EP_HANDLE ep)
{
	struct fake_id *id = fake_id_of(b->fake, bench_ep_of(b, ep));

	KUNIT_ASSERT_NOT_NULL(b->test, id);
	return id;
}

struct fake_id *bench_attempt(struct bench *b, DAT_EP_HANDLE ep)
{
	u32 calls = b->fake->calls[FAKE_CM_RESOLVE];
	u32 requests = b->fake->calls[FAKE_CM_CONNECT];

	KUNIT_ASSERT_EQ(b->test, DONE,
			kdapl_ep_connect(&b->space, ep, FAKE_PEER, 5000,
					 DAT_TIMEOUT_INFINITE, 0, NULL,
					 DAT_QOS_BEST_EFFORT,
					 DAT_CONNECT_DEFAULT_FLAG));
	/* The device has refused a receive that waited: the attempt is over. */
	if (bench_state(b, ep) == DAT_EP_STATE_DISCONNECTED)
		return NULL;
	KUNIT_ASSERT_TRUE(b->test, fake_wait_calls(b->fake, FAKE_CM_RESOLVE,
						   calls + 1));
	fake_resolved(bench_id(b, ep));
	/* There a work item asks the peer. */
	if (b->fake->dev->iwarp)
		KUNIT_ASSERT_TRUE(b->test, fake_wait_calls(b->fake, FAKE_CM_CONNECT,
							   requests + 1));
	/* If the attempt has failed by now, there is no id any more. */
	return fake_id_of(b->fake, bench_ep_of(b, ep));
}

struct fake_id *bench_request(struct bench *b, DAT_EP_HANDLE ep)
{
	struct fake_id *id = bench_attempt(b, ep);

	KUNIT_ASSERT_NOT_NULL(b->test, id);
	return id;
}

void bench_connect(struct bench *b, DAT_EP_HANDLE ep)
{
	fake_answered(bench_request(b, ep), NULL, 0);
	KUNIT_ASSERT_EQ(b->test, DAT_EP_STATE_CONNECTED, bench_state(b, ep));
}

DAT_EP_STATE bench_state(struct bench *b, DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = 99;

	KUNIT_EXPECT_EQ(b->test, DONE,
			kdapl_ep_get_status(&b->space, ep, &state, NULL, NULL));
	return state;
}

static DAT_LMR_TRIPLET one_byte(struct bench *b)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = b->lmr_context,
		.virtual_address = (uintptr_t)b->memory,
		.segment_length = 1,
	};
}

DAT_RETURN bench_recv(struct bench *b, DAT_EP_HANDLE ep, u64 cookie)
{
	DAT_DTO_COOKIE user = { .as_64 = cookie };
	DAT_LMR_TRIPLET iov = one_byte(b);

	return fake_post_recv(&b->space, ep, 1, &iov, user, 0);
}

DAT_RETURN bench_send(struct bench *b, DAT_EP_HANDLE ep, u64 cookie, u32 flags)
{
	DAT_DTO_COOKIE user = { .as_64 = cookie };
	DAT_LMR_TRIPLET iov = one_byte(b);

	return fake_post_send(&b->space, ep, 1, &iov, user, flags);
}

u32 bench_event(struct bench *b, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	unsigned long until = jiffies + BENCH_PATIENCE;
	DAT_RETURN ret;

	do {
		memset(event, 0x5a, sizeof(*event));
		ret = kdapl_evd_dequeue(&b->space, evd, event);
		if (ret == DONE)
			return event->event_number;
		usleep_range(1000, 2000);
	} while (ret == EMPTY && time_before(jiffies, until));
	return 0;
}

void __expect_event(struct bench *b, DAT_EVD_HANDLE evd, u32 number, int line)
{
	DAT_EVENT event;

	KUNIT_EXPECT_EQ_MSG(b->test, number, bench_event(b, evd, &event),
			    "expected in line %d", line);
	KUNIT_EXPECT_PTR_EQ_MSG(b->test, evd, event.evd_handle,
				"expected in line %d", line);
}

void __expect_dto(struct bench *b, DAT_EVD_HANDLE evd, u64 cookie,
		  DAT_DTO_COMPLETION_STATUS status, int line)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ_MSG(b->test, (u32)DAT_DTO_COMPLETION_EVENT,
			    bench_event(b, evd, &event),
			    "expected in line %d", line);
	KUNIT_EXPECT_EQ_MSG(b->test, (u64)dto->user_cookie.as_64, cookie,
			    "expected in line %d", line);
	KUNIT_EXPECT_EQ_MSG(b->test, dto->status, status,
			    "expected in line %d", line);
}

void bench_settle(struct bench *b)
{
	int i;

	/*
	 * Work queues other work: an input its action, and that the flush.  So
	 * one round does not suffice.
	 */
	for (i = 0; i < 4; i++) {
		flush_workqueue(kdapl_kernel_wq);
		if (b->space.owner)
			flush_workqueue(kdapl_user_wq(b->space.owner));
		flush_workqueue(kdapl_slow_wq);
		flush_workqueue(kdapl_iwarp_wq);
		/* Runners of EVDs, which have references, bring completions in as well. */
		flush_workqueue(kdapl_upcall_wq);
	}
}

static void stop_here(void *arg)
{
	struct bench *b = arg;

	complete(&b->stopped);
	wait_for_completion(&b->go_on);
}

void bench_stop_at(struct bench *b, enum fake_op op)
{
	fake_hook(b->fake, op, stop_here, b);
}

void bench_stopped(struct bench *b)
{
	KUNIT_ASSERT_NE(b->test, 0UL,
			wait_for_completion_timeout(&b->stopped, BENCH_PATIENCE));
}

void bench_go_on(struct bench *b)
{
	complete(&b->go_on);
}

void __expect_empty(struct bench *b, DAT_EVD_HANDLE evd, int line)
{
	DAT_EVENT event;

	bench_settle(b);
	KUNIT_EXPECT_EQ_MSG(b->test, EMPTY,
			    kdapl_evd_dequeue(&b->space, evd, &event),
			    "expected in line %d", line);
}
