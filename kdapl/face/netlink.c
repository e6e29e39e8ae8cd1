// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The generic netlink family "kdapl": it shows adapters, open files and live objects to
 * kdaplctl and other monitoring programs (A13).  The ABI is
 * include/uapi/rdma/kdapl_netlink.h, and is described in Documentation/netlink.rst.
 *
 * All commands are dumps.  Each call of a dumpit function fills one packet, and no lock is held
 * between the calls: files are found again by their number, objects by their slot
 * (core/look.c).  Who sees what is decided when a dump begins, for the process that has begun it
 * and for the one that has opened the socket; Documentation/netlink.rst, Who sees what, says why.
 *
 * Called by main.c (init, exit) and by processes.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <rdma/kdapl_netlink.h>
#include "dev_ring.h"
#include "../compat.h"
#include "../core/ep_attr.h"
#include "../core/lmr.h"
#include "../core/look.h"
#include "../core/user.h"
#include "../glue/address.h"

/*
 * The types and states of the kernel are passed on as numbers of the ABI, which must not change.
 * If those of the kernel change, these checks fail, and a translation is needed.
 */
#define SAME(_abi, _own) static_assert((int)KDAPL_NL_##_abi == (int)KDAPL_##_own)
#define SAME_TYPE(_type) SAME(TYPE_##_type, _type)
#define SAME_STATE(_state) SAME(EP_##_state, EP_##_state)
SAME_TYPE(IA);
SAME_TYPE(PZ);
SAME_TYPE(LMR);
SAME_TYPE(RMR);
SAME_TYPE(EVD);
SAME_TYPE(EP);
SAME_TYPE(PSP);
SAME_TYPE(RSP);
SAME_TYPE(CR);
SAME_TYPE(SRQ);
SAME(TYPE_MAX + 1, NR_TYPES);
SAME_STATE(UNCONNECTED);
SAME_STATE(RESERVED);
SAME_STATE(PASSIVE_PENDING);
SAME_STATE(TENTATIVE);
SAME_STATE(RESOLVING);
SAME_STATE(REQUESTED);
SAME_STATE(COMPLETION_PENDING);
SAME_STATE(CONNECTED);
SAME_STATE(DRAINING);
SAME_STATE(FLUSHING);
SAME_STATE(DISC_FLUSHING);
SAME_STATE(DISC_IDLE);
SAME_STATE(GONE);
SAME(EP_GONE + 1, EP_NR_STATES);

static const u8 count_attrs[KDAPL_NR_COUNTS] = {
	[KDAPL_COUNT_ESTABLISHED]	= KDAPL_NL_COUNT_ESTABLISHED,
	[KDAPL_COUNT_DISCONNECTED]	= KDAPL_NL_COUNT_DISCONNECTED,
	[KDAPL_COUNT_BROKEN]		= KDAPL_NL_COUNT_BROKEN,
	[KDAPL_COUNT_REJECTED]		= KDAPL_NL_COUNT_REJECTED,
	[KDAPL_COUNT_UNREACHABLE]	= KDAPL_NL_COUNT_UNREACHABLE,
	[KDAPL_COUNT_TIMED_OUT]		= KDAPL_NL_COUNT_TIMED_OUT,
	[KDAPL_COUNT_ACCEPT_FAILED]	= KDAPL_NL_COUNT_ACCEPT_FAILED,
	[KDAPL_COUNT_REQUESTS]		= KDAPL_NL_COUNT_REQUESTS,
	[KDAPL_COUNT_TURNED_AWAY]	= KDAPL_NL_COUNT_TURNED_AWAY,
	[KDAPL_COUNT_DRAINS]		= KDAPL_NL_COUNT_DRAINS,
	[KDAPL_COUNT_FLUSHES]		= KDAPL_NL_COUNT_FLUSHES,
	[KDAPL_COUNT_POSTS_REFUSED]	= KDAPL_NL_COUNT_POSTS_REFUSED,
};

static struct genl_family family;

/*
 * struct nl_dump - how far a dump has come, and for whom it is (dump_for())
 * @pids: PID namespace of the process that began the dump, with a reference
 * @next: number of the next adapter or file; file 0 stands for the kernel consumers
 * @slot: the next slot in that file
 * @type: dump only objects of this type; 0: of all types
 * @one_file: dump only the file @next
 * @sees_all: the objects of everybody in its network namespace may be shown
 * @uid: otherwise those of this user, or nobody's
 */
struct nl_dump {
	struct pid_namespace *pids;
	u64 next;
	u32 slot;
	u8 type;
	bool one_file;
	bool sees_all;
	kuid_t uid;
};

static struct nl_dump *dump_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct nl_dump) > sizeof(cb->ctx));
	return (struct nl_dump *)cb->ctx;
}

static int put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, KDAPL_NL_A_PAD);
}

/* Puts a handle into a message; 0 is no handle, and left out. */
static int put_handle(struct sk_buff *skb, int attr, u64 token)
{
	return token ? put_u64(skb, attr, token) : 0;
}

/* Puts an address into a message, without its port, which has an attribute of its own. */
static int put_address(struct sk_buff *skb, int attr, const struct sockaddr *sa)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	switch (sa->sa_family) {
	case AF_INET:
		in = *(const struct sockaddr_in *)sa;
		in.sin_port = 0;
		return nla_put(skb, attr, sizeof(in), &in);
	case AF_INET6:
		in6 = *(const struct sockaddr_in6 *)sa;
		in6.sin6_port = 0;
		return nla_put(skb, attr, sizeof(in6), &in6);
	default:
		return 0;
	}
}

static void *message_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
			   NLM_F_MULTI, cmd);
}

/* Ends a message.  -EMSGSIZE: it did not fit, and has to come first in the next packet. */
static int message_end(struct sk_buff *skb, void *message, int err)
{
	if (err)
		genlmsg_cancel(skb, message);
	else
		genlmsg_end(skb, message);
	return err ? -EMSGSIZE : 0;
}

/* ---- adapters -------------------------------------------------------------- */

static u32 as_count(int n)
{
	return max(n, 0);
}

static int put_limits(struct sk_buff *skb, const struct kdapl_device *dev)
{
	u64 limits[KDAPL_NL_LIMIT_MAX + 1] = {
		[KDAPL_NL_LIMIT_EPS] = as_count(dev->attrs.max_qp),
		[KDAPL_NL_LIMIT_EVDS] = as_count(dev->attrs.max_cq),
		[KDAPL_NL_LIMIT_EVD_QLEN] = kdapl_evd_max_qlen(dev),
		[KDAPL_NL_LIMIT_PZS] = as_count(dev->attrs.max_pd),
		[KDAPL_NL_LIMIT_LMRS] = as_count(dev->attrs.max_mr),
		[KDAPL_NL_LIMIT_LMR_LENGTH] = kdapl_lmr_max_length(dev),
		[KDAPL_NL_LIMIT_MESSAGE] = dev->max_msg_sz,
	};
	struct kdapl_ep_limits ep;
	struct nlattr *nest;
	int i;

	kdapl_ep_limits(dev, &ep);
	limits[KDAPL_NL_LIMIT_DTOS] = ep.dtos;
	limits[KDAPL_NL_LIMIT_SEGMENTS] = ep.iov;
	limits[KDAPL_NL_LIMIT_READS_IN] = ep.read_in;
	limits[KDAPL_NL_LIMIT_READS_OUT] = ep.read_out;
	nest = nla_nest_start(skb, KDAPL_NL_A_LIMITS);
	if (!nest)
		return -EMSGSIZE;
	for (i = KDAPL_NL_LIMIT_EPS; i < ARRAY_SIZE(limits); i++)
		if (nla_put_u64_64bit(skb, i, limits[i], KDAPL_NL_LIMIT_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counters(struct sk_buff *skb, struct kdapl_device *dev)
{
	struct nlattr *nest = nla_nest_start(skb, KDAPL_NL_A_COUNTERS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < KDAPL_NR_COUNTS; i++)
		if (nla_put_u64_64bit(skb, count_attrs[i],
				      atomic64_read(&dev->counts[i]),
				      KDAPL_NL_COUNT_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * struct address_put - for putting the addresses of an adapter into a message
 * @skb: the message
 * @last: the last address, which is left out if it comes again: where the port speaks both
 *	  versions of RoCE an address has two GIDs, which follow each other
 * @n: number of addresses so far; bounded, so that the message of an adapter fits into any packet
 * @err: -EMSGSIZE once there was no room
 */
struct address_put {
	struct sk_buff *skb;
	struct kdapl_address last;
	u32 n;
	int err;
};

static void put_one_address(const struct kdapl_address *addr, void *arg)
{
	struct address_put *put = arg;

	if (put->n == KDAPL_NL_MAX_ADDRESSES || kdapl_address_equal(addr, &put->last))
		return;
	put->n++;
	put->last = *addr;
	put->err = put->err ?: put_address(put->skb, KDAPL_NL_A_ADDRESS, &addr->sa);
}

static int put_addresses(struct sk_buff *skb, struct kdapl_device *dev, struct net *net)
{
	struct address_put put = { .skb = skb };
	struct nlattr *nest = nla_nest_start(skb, KDAPL_NL_A_ADDRESSES);

	if (!nest)
		return -EMSGSIZE;
	dev->addresses(dev, net, put_one_address, &put);
	nla_nest_end(skb, nest);
	return put.err;
}

static u32 protocol_of(const struct kdapl_device *dev)
{
	if (dev->iwarp)
		return KDAPL_NL_PROTOCOL_IWARP;
	if (rdma_protocol_roce(dev->ib, dev->port))
		return KDAPL_NL_PROTOCOL_ROCE;
	if (rdma_protocol_ib(dev->ib, dev->port))
		return KDAPL_NL_PROTOCOL_IB;
	return KDAPL_NL_PROTOCOL_UNKNOWN;
}

static u32 passthrough_of(const struct kdapl_device *dev)
{
	if (!IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		return KDAPL_NL_PASSTHROUGH_UVERBS;
	return dev->user_qp ? KDAPL_NL_PASSTHROUGH_YES : KDAPL_NL_PASSTHROUGH_DRIVER;
}

struct adapter_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct net *net;
};

/* Called with the registry's lock held, so the device stays, and its names do not change. */
static int dump_adapter(struct kdapl_device *dev, void *arg)
{
	struct adapter_dump *a = arg;
	struct nl_dump *d = dump_of(a->cb);
	struct sk_buff *skb = a->skb;
	void *message;
	int err;

	if (dev->number < d->next)
		return 0;
	message = message_begin(skb, a->cb, KDAPL_NL_CMD_ADAPTERS);
	if (!message)
		return -EMSGSIZE;
	err = nla_put_string(skb, KDAPL_NL_A_ADAPTER, dev->name) ?:
	      nla_put_string(skb, KDAPL_NL_A_DEVICE, dev->ib_name) ?:
	      nla_put_u32(skb, KDAPL_NL_A_PORT, dev->port) ?:
	      nla_put_u32(skb, KDAPL_NL_A_PROTOCOL, protocol_of(dev)) ?:
	      nla_put_u32(skb, KDAPL_NL_A_PASSTHROUGH, passthrough_of(dev)) ?:
	      put_addresses(skb, dev, a->net) ?:
	      put_limits(skb, dev) ?:
	      put_counters(skb, dev);
	err = message_end(skb, message, err);
	if (!err)
		d->next = dev->number + 1;
	return err;
}

/*
 * What a dumpit function returns.  If there are messages in the packet: their length, and netlink
 * sends them and calls again.  If there are none: 0, which ends the dump; or @err, if not even one
 * message fits into an empty packet.
 */
static int dump_result(const struct sk_buff *skb, int err)
{
	return skb->len ?: err;
}

static int dump_adapters(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct adapter_dump a = { skb, cb, sock_net(skb->sk) };

	return dump_result(skb, kdapl_device_for_each(a.net, dump_adapter, &a));
}

/* ---- open files ------------------------------------------------------------ */

/*
 * May a dump show a file?  @file NULL: the kernel consumers.  A file of a set-user-ID program is
 * not shown to the user who has started it.  The file may be almost closed: only the address of
 * its namespace is used.
 */
static bool may_see(const struct nl_dump *d, const struct kdapl_file *file,
		    const struct net *net)
{
	const struct kdapl_space *space = file ? &file->space : &kdapl_kernel_space;

	if (!net_eq(space->net, net))
		return false;
	return d->sees_all ||
	       (file && file->plain_user && uid_eq(file->uid, d->uid));
}

static void dump_go_to(struct nl_dump *d, u64 id)
{
	if (d->next == id)
		return;
	d->next = id;
	d->slot = 0;
}

typedef int dump_file_fn(struct sk_buff *skb, struct netlink_callback *cb,
			 struct kdapl_file *file, struct kdapl_space *space);

/* struct nl_viewer - a dump, and the network namespace in which it was asked for */
struct nl_viewer {
	const struct nl_dump *d;
	const struct net *net;
};

static bool wants(const struct kdapl_file *file, const void *arg)
{
	const struct nl_viewer *v = arg;

	return may_see(v->d, file, v->net);
}

/*
 * The first file, from where the dump has come to, that it may show; if only one file is dumped:
 * that file.  Undone by kdapl_dev_file_put().  NULL: there is none any more.
 */
static struct kdapl_file *file_next(const struct nl_dump *d, const struct net *net,
				    bool one_file)
{
	const struct nl_viewer v = { .d = d, .net = net };

	return kdapl_dev_file_next(d->next, one_file ? d->next : U64_MAX, wants, &v);
}

/*
 * Calls @fn for every file that is left, until there is no room in the packet.  A file may have
 * very many objects; other files can be opened and closed during @fn, and only the close of this
 * file waits for it.
 */
static int dump_files(struct sk_buff *skb, struct netlink_callback *cb, dump_file_fn *fn)
{
	struct net *net = sock_net(skb->sk);
	struct nl_dump *d = dump_of(cb);
	bool one_file = d->one_file;
	struct kdapl_file *file;
	int err = 0;

	if (!d->next) {
		if (may_see(d, NULL, net))
			err = fn(skb, cb, NULL, &kdapl_kernel_space);
		if (!err)
			dump_go_to(d, one_file ? U64_MAX : 1);
	}
	while (!err && d->next != U64_MAX) {
		file = file_next(d, net, one_file);
		if (file) {
			dump_go_to(d, file->id);
			err = fn(skb, cb, file, &file->space);
			kdapl_dev_file_put(file);
		}
		if (!err)
			dump_go_to(d, file && !one_file ? d->next + 1 : U64_MAX);
	}
	return dump_result(skb, err);
}

/* Puts number, process and user of a file into a message; for kernel consumers only number 0. */
static int put_owner(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct kdapl_file *file)
{
	struct user_namespace *users = sk_user_ns(NETLINK_CB(cb->skb).sk);
	pid_t pid;

	if (put_u64(skb, KDAPL_NL_A_FILE, file ? file->id : 0))
		return -EMSGSIZE;
	if (!file)
		return 0;
	pid = pid_nr_ns(file->pid, dump_of(cb)->pids);
	if (pid && nla_put_u32(skb, KDAPL_NL_A_PID, pid))
		return -EMSGSIZE;
	return nla_put_u32(skb, KDAPL_NL_A_UID, from_kuid_munged(users, file->uid));
}

static int put_comm(struct sk_buff *skb, const struct kdapl_file *file)
{
	char comm[TASK_COMM_LEN] = "";
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(file->pid, PIDTYPE_TGID);
	if (task)
		get_task_comm(comm, task);
	rcu_read_unlock();
	return task ? nla_put_string(skb, KDAPL_NL_A_COMM, comm) : 0;
}

static int put_sum(struct sk_buff *skb, struct kdapl_space *space)
{
	struct kdapl_look_sum sum;
	struct nlattr *nest;
	int type;

	kdapl_look_sum(&sum, space);
	if (nla_put_u32(skb, KDAPL_NL_A_FORWARDED, sum.ias[false]) ||
	    nla_put_u32(skb, KDAPL_NL_A_PASSTHROUGHS, sum.ias[true]) ||
	    (space->user && put_u64(skb, KDAPL_NL_A_PAGES, sum.pages)))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, KDAPL_NL_A_OBJECTS);
	if (!nest)
		return -EMSGSIZE;
	for (type = KDAPL_IA; type < KDAPL_NR_TYPES; type++)
		if (nla_put_u32(skb, type, sum.objects[type]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dump_file(struct sk_buff *skb, struct netlink_callback *cb,
		     struct kdapl_file *file, struct kdapl_space *space)
{
	void *message = message_begin(skb, cb, KDAPL_NL_CMD_FILES);

	if (!message)
		return -EMSGSIZE;
	return message_end(skb, message,
			   put_owner(skb, cb, file) ?:
			   (file ? put_comm(skb, file) : 0) ?:
			   put_sum(skb, space));
}

static int dump_all_files(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_files(skb, cb, dump_file);
}

/* ---- objects --------------------------------------------------------------- */

static int put_ia(struct sk_buff *skb, const struct kdapl_ia *ia)
{
	u32 mode = kdapl_ia_is_passthrough(ia) ? KDAPL_NL_MODE_PASSTHROUGH :
						 KDAPL_NL_MODE_FORWARDED;

	if (nla_put_u32(skb, KDAPL_NL_A_MODE, mode))
		return -EMSGSIZE;
	return READ_ONCE(ia->removed) ? nla_put_flag(skb, KDAPL_NL_A_REMOVED) : 0;
}

static int put_peer(struct sk_buff *skb, const struct kdapl_look *look)
{
	if (!look->remote.ss_family)
		return 0;
	return put_address(skb, KDAPL_NL_A_REMOTE, (const struct sockaddr *)&look->remote) ?:
	       put_u64(skb, KDAPL_NL_A_REMOTE_QUAL, look->remote_qual) ?:
	       put_u64(skb, KDAPL_NL_A_LOCAL_QUAL, look->local_qual);
}

/*
 * What is unknown is left out: in passthrough the kernel does not know what is outstanding, and
 * on no adapter does it know what an endpoint has taken from an SRQ.
 */
static int put_ep(struct sk_buff *skb, const struct kdapl_look *look)
{
	const struct kdapl_look_ep *ep = &look->ep;
	int err;

	if (kdapl_ia_is_passthrough(look->obj->ia))
		err = nla_put_u32(skb, KDAPL_NL_A_LIFE, ep->life);
	else
		err = nla_put_u32(skb, KDAPL_NL_A_REQUESTS, ep->requests) ?:
		      (ep->srq ? 0 : nla_put_u32(skb, KDAPL_NL_A_RECVS, ep->recvs));
	return err ?:
	       nla_put_u32(skb, KDAPL_NL_A_STATE, ep->state) ?:
	       (ep->qp ? nla_put_u32(skb, KDAPL_NL_A_QP, ep->qp) : 0) ?:
	       nla_put_u32(skb, KDAPL_NL_A_MAX_REQUESTS, ep->max_requests) ?:
	       nla_put_u32(skb, KDAPL_NL_A_MAX_RECVS, ep->max_recvs) ?:
	       put_handle(skb, KDAPL_NL_A_PZ, ep->pz) ?:
	       put_handle(skb, KDAPL_NL_A_RECV_EVD, ep->recv_evd) ?:
	       put_handle(skb, KDAPL_NL_A_REQUEST_EVD, ep->request_evd) ?:
	       put_handle(skb, KDAPL_NL_A_CONNECT_EVD, ep->connect_evd) ?:
	       put_handle(skb, KDAPL_NL_A_SRQ, ep->srq) ?:
	       put_peer(skb, look);
}

static int put_srq(struct sk_buff *skb, const struct kdapl_look *look)
{
	const struct kdapl_look_srq *srq = &look->srq;

	return nla_put_u32(skb, KDAPL_NL_A_SRQ_STATE, srq->broken ?
			   KDAPL_NL_SRQ_ERROR : KDAPL_NL_SRQ_OPERATIONAL) ?:
	       (kdapl_ia_is_passthrough(look->obj->ia) ? 0 :
		nla_put_u32(skb, KDAPL_NL_A_RECVS, srq->recvs)) ?:
	       nla_put_u32(skb, KDAPL_NL_A_MAX_RECVS, srq->max_recvs) ?:
	       nla_put_u32(skb, KDAPL_NL_A_LOW_WATERMARK, srq->low_watermark) ?:
	       put_handle(skb, KDAPL_NL_A_PZ, srq->pz) ?:
	       put_u64(skb, KDAPL_NL_A_PAGES, look->pages);
}

/* The number of events in the ring of an EVD that the process has not taken: these count, too. */
static u32 in_ring(struct kdapl_file *file, const struct kdapl_look *look)
{
	struct kdapl_ring *ring = file ? kdapl_ring_find(file, look->obj->token) : NULL;
	u32 n = 0;

	if (ring) {
		n = kdapl_ring_count(ring);
		kdapl_ring_put(ring);
	}
	return n;
}

static int put_evd(struct sk_buff *skb, struct kdapl_file *file,
		   const struct kdapl_look *look)
{
	const struct kdapl_look_evd *evd = &look->event;

	return nla_put_u32(skb, KDAPL_NL_A_QUEUED, evd->queued + in_ring(file, look)) ?:
	       nla_put_u32(skb, KDAPL_NL_A_QLEN, evd->qlen) ?:
	       nla_put_u32(skb, KDAPL_NL_A_CQES, evd->cqes) ?:
	       (evd->overflowed ? nla_put_flag(skb, KDAPL_NL_A_OVERFLOWED) : 0) ?:
	       put_u64(skb, KDAPL_NL_A_DROPPED, evd->dropped) ?:
	       put_u64(skb, KDAPL_NL_A_PAGES, look->pages);
}

/* The rmr_context of memory of kernel consumers is not shown. */
static int put_memory(struct sk_buff *skb, const struct kdapl_look *look)
{
	const struct kdapl_look_memory *at = &look->memory;
	bool is_lmr = look->obj->type == KDAPL_LMR;
	int err;

	err = put_handle(skb, KDAPL_NL_A_PZ, at->pz);
	if (err || (!is_lmr && !at->lmr))
		return err;
	if (is_lmr)
		err = nla_put_u32(skb, KDAPL_NL_A_LMR_CONTEXT, at->lmr_context) ?:
		      put_u64(skb, KDAPL_NL_A_PAGES, look->pages);
	if (!err && at->rmr_context && look->obj->space->user)
		err = nla_put_u32(skb, KDAPL_NL_A_RMR_CONTEXT, at->rmr_context);
	return err ?:
	       put_u64(skb, KDAPL_NL_A_LENGTH, at->length) ?:
	       nla_put_u32(skb, KDAPL_NL_A_PRIVILEGES, at->privileges) ?:
	       put_handle(skb, KDAPL_NL_A_LMR, at->lmr);
}

static int put_details(struct sk_buff *skb, struct kdapl_file *file,
		       const struct kdapl_look *look)
{
	switch (look->obj->type) {
	case KDAPL_IA:
		return put_ia(skb, look->obj->ia);
	case KDAPL_EP:
		return put_ep(skb, look);
	case KDAPL_EVD:
		return put_evd(skb, file, look);
	case KDAPL_LMR:
	case KDAPL_RMR:
		return put_memory(skb, look);
	case KDAPL_PSP:
	case KDAPL_RSP:
		return put_u64(skb, KDAPL_NL_A_LOCAL_QUAL, look->local_qual) ?:
		       put_handle(skb, KDAPL_NL_A_EVD, look->evd);
	case KDAPL_SRQ:
		return put_srq(skb, look);
	case KDAPL_CR:
		return put_peer(skb, look);
	default:
		return 0;
	}
}

static int dump_object(struct sk_buff *skb, struct netlink_callback *cb,
		       struct kdapl_file *file, struct kdapl_object *obj)
{
	void *message = message_begin(skb, cb, KDAPL_NL_CMD_OBJECTS);
	struct kdapl_look look;

	if (!message)
		return -EMSGSIZE;
	kdapl_look_at(&look, obj);
	return message_end(skb, message,
			   put_owner(skb, cb, file) ?:
			   nla_put_u32(skb, KDAPL_NL_A_TYPE, obj->type) ?:
			   put_u64(skb, KDAPL_NL_A_HANDLE, obj->token) ?:
			   put_u64(skb, KDAPL_NL_A_IA, obj->ia->obj.token) ?:
			   nla_put_string(skb, KDAPL_NL_A_ADAPTER, obj->ia->name) ?:
			   nla_put_u32(skb, KDAPL_NL_A_REFS, look.refs) ?:
			   nla_put_u32(skb, KDAPL_NL_A_USERS, look.users) ?:
			   put_details(skb, file, &look));
}

static int dump_objects_of(struct sk_buff *skb, struct netlink_callback *cb,
			   struct kdapl_file *file, struct kdapl_space *space)
{
	struct nl_dump *d = dump_of(cb);
	struct kdapl_object *obj;
	u32 slot = d->slot;
	int err = 0;

	while (!err && (obj = kdapl_look_next(space, &slot))) {
		if (!d->type || obj->type == d->type)
			err = dump_object(skb, cb, file, obj);
		kdapl_object_put(obj);
		if (!err)
			d->slot = slot;
	}
	return err;
}

static int dump_all_objects(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_files(skb, cb, dump_objects_of);
}

/* ---- the family ------------------------------------------------------------ */

/* Whose files may be shown both to who has written the request and to who has opened the socket? */
static void dump_for(struct nl_dump *d, const struct sk_buff *request)
{
	const struct file *socket = NETLINK_CB(request).sk->sk_socket->file;
	struct user_namespace *users = sock_net(request->sk)->user_ns;
	bool opener = file_ns_capable(socket, users, CAP_NET_ADMIN);
	bool writer = ns_capable(users, CAP_NET_ADMIN);

	d->sees_all = opener && writer;
	d->uid = opener ? current_uid() : socket->f_cred->uid;
	if (!opener && !writer && !uid_eq(d->uid, current_uid()))
		d->uid = INVALID_UID;
}

static int dump_start(struct netlink_callback *cb)
{
	struct nl_dump *d = dump_of(cb);

	d->pids = get_pid_ns(task_active_pid_ns(current));
	dump_for(d, cb->skb);
	return 0;
}

static int dump_objects_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = kdapl_dump_attrs(cb);
	struct nl_dump *d = dump_of(cb);

	if (attrs && attrs[KDAPL_NL_A_TYPE])
		d->type = nla_get_u32(attrs[KDAPL_NL_A_TYPE]);
	if (attrs && attrs[KDAPL_NL_A_FILE]) {
		d->next = nla_get_u64(attrs[KDAPL_NL_A_FILE]);
		d->one_file = true;
	}
	return dump_start(cb);
}

static int dump_done(struct netlink_callback *cb)
{
	put_pid_ns(dump_of(cb)->pids);
	return 0;
}

static const struct nla_policy objects_policy[KDAPL_NL_A_TYPE + 1] = {
	[KDAPL_NL_A_FILE] = { .type = NLA_U64 },
	[KDAPL_NL_A_TYPE] = NLA_POLICY_RANGE(NLA_U32, KDAPL_NL_TYPE_IA, KDAPL_NL_TYPE_MAX),
};

/* A command without a policy takes no attributes. */
static const struct genl_ops ops[] = {
	{
		.cmd = KDAPL_NL_CMD_ADAPTERS,
		.start = dump_start,
		.dumpit = dump_adapters,
		.done = dump_done,
	},
	{
		.cmd = KDAPL_NL_CMD_FILES,
		.start = dump_start,
		.dumpit = dump_all_files,
		.done = dump_done,
	},
	{
		.cmd = KDAPL_NL_CMD_OBJECTS,
		.policy = objects_policy,
		.maxattr = ARRAY_SIZE(objects_policy) - 1,
		.start = dump_objects_start,
		.dumpit = dump_all_objects,
		.done = dump_done,
	},
};

static struct genl_family family __ro_after_init = {
	.name = KDAPL_NL_FAMILY,
	.version = KDAPL_NL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
};

/**
 * kdapl_netlink_init - make the family appear
 *
 * Everything that the family shows has to be set up before.  May sleep.
 *
 * Return: 0 or an errno.
 */
int kdapl_netlink_init(void)
{
	return genl_register_family(&family);
}

/**
 * kdapl_netlink_exit - take the family away
 *
 * No dump is going on, since a dump holds the module.  May sleep.
 */
void kdapl_netlink_exit(void)
{
	genl_unregister_family(&family);
}
