// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registrar of a zone.  Called by glue/mr.c.
 *
 * dat_lmr_kcreate() is synchronous and belongs to no endpoint, but verbs
 * register memory by a work request, which needs a queue pair.  So every zone
 * has a queue pair of its own for that.  It is connected to itself, because drivers take
 * requests only in RTS, and it never sends a packet (A6).  On iWARP it is connected to
 * another queue pair that is not used for anything else (registrar_iw.c).
 *
 * The queue pair is made by the first registration, so a zone in which nothing is registered
 * costs a protection domain and no more.  It is used only as long as every request
 * succeeds.  After a failure it is not known what the device has executed, so the queue pair
 * is destroyed, and the next registration makes a new one.
 */
#include <linux/if_ether.h>
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>
#include "cq.h"
#include "refused.h"
#include "registrar.h"
#include "registrar_iw.h"

/* If the device has not executed a request in this time, the request has failed. */
#define REGISTRAR_TIMEOUT	(10 * HZ)
/* How often a wait checks whether the device is being removed. */
#define REGISTRAR_STEP		(HZ / 2)
/* How long each half of connecting a registrar on iWARP may take (kdapl_iw_link_connect()). */
#define REGISTRAR_CONNECT	(10 * HZ)
/* One request is posted at a time, but some devices need a queue for more. */
#define REGISTRAR_DEPTH		4

static void registrar_cq_handler(struct kdapl_cq *cq)
{
	complete(&container_of(cq, struct kdapl_registrar, cq)->completed);
}

/*
 * Fills in the path from the port to itself.  No packet takes it, but drivers resolve it
 * when the queue pair moves to RTR.  The path is not used later, so the GID that is used
 * here may disappear with its address.
 */
static int path_to_itself(struct kdapl_device *dev,
			  const struct ib_port_attr *port,
			  struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid = ERR_PTR(-ENOENT);
	u8 mac[ETH_ALEN];
	int index, ret = 0;

	ah->type = rdma_ah_find_type(dev->ib, dev->port);
	rdma_ah_set_port_num(ah, dev->port);
	rdma_ah_set_dlid(ah, port->lid);
	if (ah->type == RDMA_AH_ATTR_TYPE_IB && port->lid)
		return 0;

	for (index = 0; index < port->gid_tbl_len && IS_ERR(gid); index++)
		gid = rdma_get_gid_attr(dev->ib, dev->port, index);
	if (IS_ERR(gid))
		return kdapl_refused("registrar_gid", PTR_ERR(gid));
	rdma_ah_set_grh(ah, NULL, 0, gid->index, 1, 0);
	rdma_ah_set_dgid_raw(ah, (void *)gid->gid.raw);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		ret = rdma_read_gid_l2_fields(gid, NULL, mac);
		if (!ret)
			ether_addr_copy(ah->roce.dmac, mac);
	}
	rdma_put_gid_attr(gid);
	return kdapl_refused("registrar_mac", ret);
}

static int registrar_to_init(struct kdapl_registrar *registrar, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = registrar->dev->port,
	};
	int ret;

	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	return kdapl_refused("registrar_init", ret);
}

static int registrar_to_rtr(struct kdapl_registrar *registrar)
{
	struct kdapl_device *dev = registrar->dev;
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.dest_qp_num = registrar->qp->qp_num,
		.max_dest_rd_atomic = 1,
	};
	int ret;

	ret = ib_query_port(dev->ib, dev->port, &port);
	if (ret)
		return kdapl_refused("registrar_port", ret);
	attr.path_mtu = port.active_mtu;
	ret = path_to_itself(dev, &port, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(registrar->qp, &attr,
			   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	return kdapl_refused("registrar_rtr", ret);
}

static int registrar_to_rts(struct kdapl_registrar *registrar)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.max_rd_atomic = 1,
	};
	int ret;

	ret = ib_modify_qp(registrar->qp, &attr,
			   IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			   IB_QP_MAX_QP_RD_ATOMIC);
	return kdapl_refused("registrar_rts", ret);
}

/* Makes a queue pair in INIT; or returns an error pointer. */
static struct ib_qp *registrar_make_qp(struct kdapl_registrar *registrar)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap.max_send_wr = REGISTRAR_DEPTH,
		.cap.max_send_sge = 1,
		/* erdma wants a receive queue, which stays empty. */
		.cap.max_recv_wr = registrar->dev->iwarp,
		.cap.max_recv_sge = registrar->dev->iwarp,
		.port_num = registrar->dev->port,
		.send_cq = registrar->cq.ib,
		.recv_cq = registrar->cq.ib,
	};
	struct ib_qp *qp = ib_create_qp(registrar->pd, &init);
	int ret;

	if (IS_ERR(qp)) {
		kdapl_refused("registrar_qp_create", PTR_ERR(qp));
		return qp;
	}
	ret = registrar_to_init(registrar, qp);
	if (ret) {
		kdapl_refused("registrar_qp_destroy", ib_destroy_qp(qp));
		return ERR_PTR(ret);
	}
	return qp;
}

static int registrar_connect_iw(struct kdapl_registrar *registrar)
{
	struct kdapl_iw_link *link;
	struct ib_qp *far;

	link = kdapl_iw_link_alloc(registrar->dev, registrar->qp);
	if (!link)
		return -ENOMEM;
	registrar->link = link;
	far = registrar_make_qp(registrar);
	if (IS_ERR(far))
		return PTR_ERR(far);
	link->far = far;
	return kdapl_iw_link_connect(link, REGISTRAR_CONNECT, REGISTRAR_STEP);
}

static int registrar_connect(struct kdapl_registrar *registrar)
{
	int ret;

	if (registrar->dev->iwarp)
		return registrar_connect_iw(registrar);
	ret = registrar_to_rtr(registrar);
	if (!ret)
		ret = registrar_to_rts(registrar);
	return ret;
}

static void registrar_uncharge(struct kdapl_registrar *registrar)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(registrar->charges); i++)
		kdapl_uncharge_object(&registrar->charges[i], registrar->dev->ib,
				      RDMACG_RESOURCE_HCA_OBJECT);
}

/*
 * Charges for the CQ and the queue pair, and on iWARP for a second queue pair, but not for their
 * few entries.
 */
static int registrar_charge(struct kdapl_registrar *registrar)
{
	int i, n = registrar->dev->iwarp ? 3 : 2, ret = 0;

	for (i = 0; registrar->user && i < n && !ret; i++)
		ret = kdapl_charge_object(&registrar->charges[i], registrar->dev->ib,
					  RDMACG_RESOURCE_HCA_OBJECT);
	if (ret)
		registrar_uncharge(registrar);
	return ret;
}

static void registrar_close(struct kdapl_registrar *registrar)
{
	if (!registrar->qp)
		return;
	kdapl_iw_link_close(registrar->link);
	registrar->link = NULL;
	kdapl_refused("registrar_qp_destroy", ib_destroy_qp(registrar->qp));
	registrar->qp = NULL;
	kdapl_cq_destroy(&registrar->cq);
	registrar_uncharge(registrar);
}

static int registrar_create(struct kdapl_registrar *registrar)
{
	struct ib_qp *qp;
	int ret;

	registrar->cq.dev = registrar->dev;
	registrar->cq.handler = registrar_cq_handler;
	ret = kdapl_cq_create(&registrar->cq, REGISTRAR_DEPTH);
	if (ret)
		return ret;
	qp = registrar_make_qp(registrar);
	if (IS_ERR(qp)) {
		kdapl_cq_destroy(&registrar->cq);
		return PTR_ERR(qp);
	}
	registrar->qp = qp;
	return 0;
}

static int registrar_open(struct kdapl_registrar *registrar)
{
	int ret;

	ret = registrar_charge(registrar);
	if (ret)
		return ret;
	ret = registrar_create(registrar);
	if (ret) {
		registrar_uncharge(registrar);
		return ret;
	}
	ret = registrar_connect(registrar);
	if (ret)
		registrar_close(registrar);
	return ret;
}

/*
 * Sleeps until the CQ has a completion, and takes it.  Never spins (facts 0).  If the device is
 * being removed, it waits one REGISTRAR_STEP at most, because the removal waits for us.
 */
static int registrar_wait(struct kdapl_registrar *registrar, struct ib_wc *wc)
{
	unsigned long until = jiffies + REGISTRAR_TIMEOUT;
	int ret;

	/*
	 * The handler may have run for the completion of an earlier request, so a
	 * wake-up alone says nothing: the CQ is polled after each.
	 */
	while (!(ret = ib_poll_cq(registrar->cq.ib, 1, wc)))
		if (!wait_for_completion_timeout(&registrar->completed,
						 REGISTRAR_STEP) &&
		    (READ_ONCE(registrar->dev->gone) ||
		     time_after(jiffies, until)))
			return kdapl_refused("registrar_timeout", -ETIMEDOUT);
	return ret < 0 ? kdapl_refused("registrar_poll", ret) : 0;
}

static int registrar_post(struct kdapl_registrar *registrar,
			  const struct ib_send_wr *wr)
{
	struct ib_wc wc;
	int ret;

	lockdep_assert_held(&registrar->qp_lock);
	reinit_completion(&registrar->completed);
	ret = kdapl_cq_arm(&registrar->cq, false);
	if (ret < 0)
		return kdapl_refused("registrar_arm", ret);
	ret = ib_post_send(registrar->qp, wr, NULL);
	if (ret)
		return kdapl_refused("registrar_post", ret);
	ret = registrar_wait(registrar, &wc);
	if (!ret && wc.status != IB_WC_SUCCESS)
		ret = kdapl_refused("registrar_completion", -EIO);
	return ret;
}

/**
 * kdapl_registrar_init - set up a registrar that holds no object of the device yet
 * @registrar: zeroed
 * @dev: device to register with
 * @pd: protection domain of that device, in which it registers
 * @user: it belongs to a process
 *
 * Undone by kdapl_registrar_destroy().
 */
void kdapl_registrar_init(struct kdapl_registrar *registrar,
			  struct kdapl_device *dev, struct ib_pd *pd, bool user)
{
	registrar->dev = dev;
	registrar->pd = pd;
	registrar->user = user;
	mutex_init(&registrar->qp_lock);
	init_completion(&registrar->completed);
}

/**
 * kdapl_registrar_destroy - give back what kdapl_registrar_run() has made
 * @registrar: nobody registers with it any more
 *
 * May sleep.
 */
void kdapl_registrar_destroy(struct kdapl_registrar *registrar)
{
	registrar_close(registrar);
	mutex_destroy(&registrar->qp_lock);
}

/**
 * kdapl_registrar_run - execute a registration
 * @registrar: made by kdapl_registrar_init()
 * @wr: one IB_WR_REG_MR
 *
 * Returns when the device has executed @wr.  After a failure the device may or may not
 * have executed it, so the caller must give the MR back.  The queue pair is destroyed then,
 * and the next call makes a new one, as the first call does.
 *
 * Caller is in the IA's section.  If the registrar belongs to a process, the caller is that
 * process, or another one that has its file open, and is charged for the queue pair and CQ that
 * this may make.  Takes @registrar->qp_lock; may sleep.
 *
 * Return: 0; -ETIMEDOUT: no answer from the device; -EIO: a completion in
 * error; -EAGAIN: the process may have no more objects; or the device's errno,
 * -ENOMEM among others.
 */
int kdapl_registrar_run(struct kdapl_registrar *registrar,
			const struct ib_send_wr *wr)
{
	int ret = 0;

	mutex_lock(&registrar->qp_lock);
	/* On iWARP the connection may be lost: its address has gone, or its interface was down. */
	if (registrar->link && kdapl_iw_link_lost(registrar->link))
		registrar_close(registrar);
	if (!registrar->qp)
		ret = registrar_open(registrar);
	if (!ret) {
		ret = registrar_post(registrar, wr);
		if (ret)
			registrar_close(registrar);
	}
	mutex_unlock(&registrar->qp_lock);
	return ret;
}
