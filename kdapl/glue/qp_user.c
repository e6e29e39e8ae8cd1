// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs that a process has made through uverbs, and posts to by itself:
 * kdapl_user_qp_ops, another implementation of kdapl_qp_ops.  The kernel moves such a
 * queue pair as it moves its own (qp.c), but never posts to it or polls its CQs.  The drivers
 * with which it can do that are listed in driver.c.
 *
 * uverbs.c checks to whom a queue pair belongs, by the uverbs file that the process names, and
 * keeps it from being destroyed while it is bound; this file, that no two endpoints have it.
 *
 * Called by core/conn_qp.c and core/passthrough.c through the table, and by device.c.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "driver.h"
#include "qp.h"
#include "refused.h"
#include "uverbs.h"

/* ---- taking hold ---------------------------------------------------- */

/*
 * All queue pairs that are held.  uverbs does not keep two endpoints from holding the same one,
 * since it can be held many times.  All processes of the host take held_lock, a spinlock, for one
 * of which must not have to wait for its turn to run meanwhile.
 */
static DEFINE_HASHTABLE(held, 8);
static DEFINE_SPINLOCK(held_lock);

static int hold_add(struct kdapl_user_hold *hold)
{
	struct kdapl_user_hold *other;
	int ret = 0;

	spin_lock(&held_lock);
	hash_for_each_possible(held, other, entry, (unsigned long)hold->qp)
		if (other->qp == hold->qp)
			ret = -EBUSY;
	if (!ret)
		hash_add(held, &hold->entry, (unsigned long)hold->qp);
	spin_unlock(&held_lock);
	return ret;
}

static void hold_del(struct kdapl_user_hold *hold)
{
	spin_lock(&held_lock);
	hash_del(&hold->entry);
	spin_unlock(&held_lock);
}

/*
 * Checks that a queue pair is as its endpoint needs it: RC, in INIT, and with a shared receive
 * queue just if the endpoint is on an SRQ.  The first and the last were fixed when the queue pair
 * was made.  It does not matter which of the process's shared receive queues it has: the kernel
 * posts nothing to it, and uverbs allows only one of the same context.
 */
static int user_check_init(const struct kdapl_qp *qp, bool on_srq)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret;

	if (qp->ib->qp_type != IB_QPT_RC || on_srq != !!qp->ib->srq)
		return -EINVAL;
	ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);
	if (kdapl_refused("user_qp_query", ret))
		return ret;
	/* siw of 6.1 does not report the state.  On iWARP the CM refuses one that is not idle. */
	return attr.qp_state == IB_QPS_INIT || qp->dev->iwarp ? 0 : -EINVAL;
}

static void user_destroy(struct kdapl_qp *qp)
{
	struct kdapl_user_hold *hold = qp->hold;

	hold_del(hold);
	qp->ib = NULL;
	qp->hold = NULL;
	kdapl_uverbs_let_go(hold);
}

static int user_create(struct kdapl_qp *qp, const struct kdapl_qp_init *init)
{
	struct kdapl_user_hold *hold = kdapl_uverbs_hold(qp->dev, init->uverbs, init->qp_num);
	int ret;

	if (IS_ERR(hold))
		return PTR_ERR(hold);
	ret = hold_add(hold);
	if (ret) {
		kdapl_uverbs_let_go(hold);
		return ret;
	}

	qp->ib = hold->qp;
	qp->num = hold->qp->qp_num;
	qp->hold = hold;
	ret = user_check_init(qp, init->srq);
	if (ret)
		user_destroy(qp);
	return ret;
}

/* ---- the tables ----------------------------------------------------- */

/* The state of a queue pair; RTS if it cannot be asked: nothing is known to be broken then. */
static enum ib_qp_state user_state(struct kdapl_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret = ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init);

	return kdapl_refused("user_qp_query", ret) ? IB_QPS_RTS : attr.qp_state;
}

/*
 * A process can move its queue pair by verbs to where it does not serve the connection any more:
 * not only to ERR, but to RESET, and on to INIT and RTR.  The peer would never hear of that.
 */
static bool user_in_error(struct kdapl_qp *qp)
{
	enum ib_qp_state state = user_state(qp);

	return state != IB_QPS_RTS && state != IB_QPS_SQD;
}

/* On iWARP only the CM moves it to RTS, and none leaves that but to end.  siw of 6.1 says RESET. */
static bool user_iw_in_error(struct kdapl_qp *qp)
{
	enum ib_qp_state state = user_state(qp);

	return state == IB_QPS_ERR || state == IB_QPS_SQE;
}

static const struct kdapl_qp_ops kdapl_user_qp_ops = {
	.create = user_create,
	.move = kdapl_qp_move,
	.error = kdapl_qp_error,
	.in_error = user_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = user_destroy,
	.check_file = kdapl_uverbs_check_file,
};

static const struct kdapl_qp_ops kdapl_user_iw_qp_ops = {
	.create = user_create,
	.move = kdapl_qp_iw_move,
	.error = kdapl_qp_error,
	.in_error = user_iw_in_error,
	.seek_answers = kdapl_qp_seek_answers,
	.destroy = user_destroy,
	.check_file = kdapl_uverbs_check_file,
};

/**
 * kdapl_user_qp_ops_of - the operations on queue pairs that processes have made
 * @ib: an RDMA device
 * @iwarp: of a port that speaks iWARP
 * @hints: out: KDAPL_HINT_*
 *
 * Any context.
 *
 * Return: the table; NULL if the driver is not among those that let the kernel move such
 * a queue pair.
 */
const struct kdapl_qp_ops *kdapl_user_qp_ops_of(const struct ib_device *ib, bool iwarp,
						u32 *hints)
{
	if (!kdapl_driver_user_qp(ib, hints))
		return NULL;
	return iwarp ? &kdapl_user_iw_qp_ops : &kdapl_user_qp_ops;
}
