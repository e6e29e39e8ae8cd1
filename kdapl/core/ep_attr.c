// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an endpoint is made of: its attributes, and the PZ and EVDs that it uses.
 * dat_ep_modify changes both, all or nothing.
 *
 * Callers: ep.c when it makes and ends an endpoint, the faces for dat_ep_modify; conn_qp.c for the
 * sizes of a queue pair, ia_query.c and srq.c for limits, srq.c also when an SRQ grows.
 */
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <dat/kdat_linux.h>
#include "ep_attr.h"
#include "ep_apply.h"
#include "evd_streams.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"
#include "srq.h"

/* ---- attributes ----------------------------------------------------- */

#define DEFAULT_DTOS	16U
#define DEFAULT_IOV	4U
#define DEFAULT_READS	4U

static bool count_within(DAT_COUNT value, u32 limit)
{
	return value >= 0 && value <= limit;
}

/*
 * Does the EVD take completions of binds (E18)?  The hidden EVD, which stands in where
 * the consumer gave none, does.
 */
static bool evd_takes_binds(const struct kdapl_evd *request_evd)
{
	return !request_evd || request_evd->flags & DAT_EVD_RMR_BIND_FLAG;
}

/* Work requests for all requests of an endpoint; a bind takes two (A6). */
static u32 request_wrs(const DAT_EP_ATTR *attr, const struct kdapl_evd *evd)
{
	return attr->max_request_dtos * (evd_takes_binds(evd) ? 2 : 1);
}

/**
 * kdapl_ep_limits - the most that an endpoint can have
 * @dev: device
 * @limits: out
 *
 * An IA reports these limits, and attributes are checked against them.  DTOs of a direction:
 * half of what a send queue holds, because every request may be a bind, which takes two work
 * requests.  That may be more than a CQ has room for (kdapl_dir.deep).  Any context.
 */
void kdapl_ep_limits(const struct kdapl_device *dev, struct kdapl_ep_limits *limits)
{
	const struct ib_device_attr *a = &dev->attrs;
	u32 send_sge = clamp(a->max_send_sge, 0, KDAPL_MAX_SGE);
	u32 recv_sge = clamp(a->max_recv_sge, 0, KDAPL_MAX_SGE);

	*limits = (struct kdapl_ep_limits) {
		.dtos = max(a->max_qp_wr, 0) / 2,
		.iov = min(send_sge, recv_sge),
		/* max_sge_rd limits only reads; max_send_sge limits all requests, reads as well. */
		.read_iov = a->max_sge_rd > 0 ? min_t(u32, a->max_sge_rd, send_sge) :
						send_sge,
		.write_iov = send_sge,
		/* The CM carries 8 bits. */
		.read_in = clamp(a->max_qp_rd_atom, 0, U8_MAX),
		.read_out = clamp(a->max_qp_init_rd_atom, 0, U8_MAX),
	};
}

/* The defaults have RDMA reads: programs that give no attributes use them, too (E.1). */
void kdapl_ep_default_attr(const struct kdapl_device *dev, DAT_EP_ATTR *attr)
{
	struct kdapl_ep_limits limits;

	kdapl_ep_limits(dev, &limits);
	*attr = (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = dev->max_msg_sz,
		.max_rdma_size = dev->max_msg_sz,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = min(limits.dtos, DEFAULT_DTOS),
		.max_request_dtos = min(limits.dtos, DEFAULT_DTOS),
		.max_recv_iov = min(limits.iov, DEFAULT_IOV),
		.max_request_iov = min(limits.iov, DEFAULT_IOV),
		.max_rdma_read_in = min(limits.read_in, DEFAULT_READS),
		.max_rdma_read_out = min(limits.read_out, DEFAULT_READS),
		.max_rdma_read_iov = min(limits.read_iov, DEFAULT_IOV),
		.max_rdma_write_iov = min(limits.write_iov, DEFAULT_IOV),
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

/* Is @attr within the limits of the device?  Fills in what 0 stands for. */
bool kdapl_ep_attr_check(const struct kdapl_device *dev, DAT_EP_ATTR *attr)
{
	struct kdapl_ep_limits limits;

	kdapl_ep_limits(dev, &limits);
	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->max_message_size > dev->max_msg_sz ||
	    attr->max_rdma_size > dev->max_msg_sz ||
	    !count_within(attr->max_recv_dtos, limits.dtos) ||
	    !count_within(attr->max_request_dtos, limits.dtos) ||
	    !count_within(attr->max_recv_iov, limits.iov) ||
	    !count_within(attr->max_request_iov, limits.iov) ||
	    !count_within(attr->max_rdma_read_iov, limits.read_iov) ||
	    !count_within(attr->max_rdma_write_iov, limits.write_iov) ||
	    !count_within(attr->max_rdma_read_in, limits.read_in) ||
	    !count_within(attr->max_rdma_read_out, limits.read_out))
		return false;

	switch (attr->recv_completion_flags) {
	case DAT_COMPLETION_DEFAULT_FLAG:
		attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		break;
	case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
	case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
		break;
	default:
		return false;
	}
	switch (attr->request_completion_flags) {
	case DAT_COMPLETION_DEFAULT_FLAG:
		attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
		break;
	case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
	case DAT_COMPLETION_UNSIGNALLED_FLAG:
		break;
	default:
		return false;
	}
	/* At least what was asked is granted (E.1); 0 asks for nothing in particular. */
	attr->max_message_size = attr->max_message_size ?: dev->max_msg_sz;
	attr->max_rdma_size = attr->max_rdma_size ?: dev->max_msg_sz;
	attr->max_rdma_read_iov = attr->max_rdma_read_iov ?:
				  min_t(u32, attr->max_request_iov, limits.read_iov);
	attr->max_rdma_write_iov = attr->max_rdma_write_iov ?: attr->max_request_iov;
	/* Named attributes: the caller's pointers are not kept. */
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
	return true;
}

/* Does the send queue have room for @reserve besides two work requests for each DTO? */
static bool reserve_fits(const struct kdapl_device *dev, const DAT_EP_ATTR *attr,
			 u32 reserve)
{
	return reserve <= dev->attrs.max_qp_wr - 2 * attr->max_request_dtos;
}

/**
 * kdapl_ep_attr_reserve - what the named attributes say of the send queue's reserve
 * @dev: device
 * @attr: of a kernel consumer, checked except for the named attributes.  Must not come from a
 *	  process, whose pointers to them are not those of the kernel
 * @reserve: out: work requests, 0 unless named
 *
 * Names that kdapl does not know are ignored.  Any context.
 *
 * Return: false: the value is no number, or more than the device has.
 */
bool kdapl_ep_attr_reserve(const struct kdapl_device *dev, const DAT_EP_ATTR *attr,
			   u32 *reserve)
{
	const DAT_NAMED_ATTR *named = attr->ep_provider_specific;
	DAT_COUNT i;

	*reserve = 0;
	for (i = 0; named && i < attr->ep_provider_specific_count; i++) {
		if (!named[i].name || strcmp(named[i].name, KDAT_EP_REQUEST_RESERVE))
			continue;
		if (!named[i].value || kstrtou32(named[i].value, 10, reserve))
			return false;
	}
	return reserve_fits(dev, attr, *reserve);
}

/* ---- what an endpoint uses ------------------------------------------ */

/* Work requests for all requests that @use and @attr ask for, whatever one CQ holds. */
static u32 use_request_wrs(const struct kdapl_ep_use *use, const DAT_EP_ATTR *attr)
{
	return request_wrs(attr, use->request_evd) + use->reserve;
}

/* Has one CQ no room for all of them (kdapl_dir.deep)? */
static bool requests_are_deep(const struct kdapl_ep_use *use, const DAT_EP_ATTR *attr)
{
	return use_request_wrs(use, attr) > use->shares[KDAPL_CQ_SHARE_REQUEST].entries;
}

/* In kdapl_ep_use.attached */
#define USE_PZ		0x1
#define USE_RECV	0x2
#define USE_REQUEST	0x4
#define USE_CONNECT	0x8
#define USE_SRQ		0x10

static struct kdapl_evd *recv_target(const struct kdapl_ep_use *use)
{
	return use->recv_evd ?: use->hidden;
}

static struct kdapl_evd *request_target(const struct kdapl_ep_use *use)
{
	return use->request_evd ?: use->hidden;
}

void kdapl_ep_use_put(struct kdapl_ep_use *use)
{
	if (use->attached & USE_CONNECT)
		kdapl_evd_detach(use->connect_evd, KDAPL_STREAM_OTHER, 0);
	kdapl_evd_give_share(&use->shares[KDAPL_CQ_SHARE_REQUEST]);
	kdapl_evd_give_share(&use->shares[KDAPL_CQ_SHARE_RECV]);
	if (use->attached & USE_REQUEST)
		kdapl_evd_detach(request_target(use), KDAPL_STREAM_REQUEST,
				 use->request_flags);
	if (use->attached & USE_RECV)
		kdapl_evd_detach(recv_target(use), KDAPL_STREAM_RECV,
				 use->recv_flags);
	if (use->attached & USE_SRQ)
		kdapl_object_unuse(&use->srq->obj);
	if (use->attached & USE_PZ)
		kdapl_object_unuse(&use->pz->obj);
	if (!use->lent)
		kdapl_evd_free_hidden(use->hidden);
	if (use->connect_evd)
		kdapl_evd_put(use->connect_evd);
	if (use->request_evd)
		kdapl_evd_put(use->request_evd);
	if (use->recv_evd)
		kdapl_evd_put(use->recv_evd);
	if (use->srq)
		kdapl_object_put(&use->srq->obj);
	if (use->pz)
		kdapl_object_put(&use->pz->obj);
	memset(use, 0, sizeof(*use));
}

/* Can a queue pair of @use's zone take receives from its SRQ (mt:M50)? */
bool kdapl_ep_zone_fits(const struct kdapl_ep_use *use)
{
	if (!use->srq || !use->pz || !use->srq->obj.ia->dev->srq_zone_of_qp)
		return true;
	return use->pz == READ_ONCE(use->srq->pz);
}

static bool ep_evd_find(struct kdapl_ia *ia, DAT_EVD_HANDLE handle, u32 flag,
			struct kdapl_evd **evd)
{
	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	*evd = kdapl_evd_find(ia->obj.space, handle);
	return *evd && (*evd)->obj.ia == ia && (*evd)->flags & flag;
}

/*
 * Looks up the objects of an endpoint, in the order of the arguments (E.1, E17, E19).
 * To be followed by kdapl_ep_use_put(), whatever is returned.
 */
DAT_RETURN kdapl_ep_use_find(struct kdapl_ep_use *use, struct kdapl_ia *ia,
			     DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			     DAT_EVD_HANDLE request_evd,
			     DAT_EVD_HANDLE connect_evd)
{
	memset(use, 0, sizeof(*use));
	if (pz != DAT_HANDLE_NULL) {
		use->pz = kdapl_pz_find(ia->obj.space, pz);
		if (!use->pz || use->pz->obj.ia != ia)
			return RET_BAD_HANDLE(PZ);
	}
	if (!ep_evd_find(ia, recv_evd, DAT_EVD_DTO_FLAG, &use->recv_evd))
		return RET_BAD_HANDLE(EVD_RECV);
	if (!ep_evd_find(ia, request_evd, DAT_EVD_DTO_FLAG, &use->request_evd))
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (!ep_evd_find(ia, connect_evd, DAT_EVD_CONNECTION_FLAG, &use->connect_evd))
		return RET_BAD_HANDLE(EVD_CONN);
	return DAT_SUCCESS;
}

static DAT_RETURN attach_error(int err, enum dat_return_subtype handle,
			       enum dat_return_subtype attr)
{
	return err == -ESTALE ? DAT_ERROR(DAT_INVALID_HANDLE, handle) :
				DAT_ERROR(DAT_INVALID_PARAMETER, attr);
}

/* The streams by which @use feeds @evd. */
static struct kdapl_streams use_streams(const struct kdapl_ep_use *use,
					const struct kdapl_evd *evd)
{
	struct kdapl_streams s = {};

	if (use->attached & USE_RECV && recv_target(use) == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_RECV, use->recv_flags);
	if (use->attached & USE_REQUEST && request_target(use) == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_REQUEST, use->request_flags);
	if (use->attached & USE_CONNECT && use->connect_evd == evd)
		kdapl_streams_add(&s, KDAPL_STREAM_OTHER, 0);
	return s;
}

/* Attaches one stream of a use that is to replace @old. */
static int attach_stream(struct kdapl_evd *evd, enum kdapl_stream stream,
			 u32 flags, const struct kdapl_ep_use *old)
{
	struct kdapl_streams own = use_streams(old, evd);

	return kdapl_evd_attach(evd, stream, flags, &own);
}

/* Takes the shares of a use that is to replace @old. */
static int take_shares(struct kdapl_ep_use *use, const struct kdapl_ep_use *old)
{
	struct kdapl_evd *recv = recv_target(use), *request = request_target(use);
	struct kdapl_cq_share *shares = use->shares;
	u32 most = recv->obj.ia->dev->attrs.max_cqe;
	int ret;

	/* One CQ for both, unless the device has none that is so large. */
	if (recv == request &&
	    shares[KDAPL_CQ_SHARE_RECV].entries + shares[KDAPL_CQ_SHARE_REQUEST].entries <= most)
		return kdapl_evd_take_shares(recv, shares, KDAPL_CQ_SHARES, old->shares);
	ret = kdapl_evd_take_shares(recv, &shares[KDAPL_CQ_SHARE_RECV], 1, old->shares);
	if (ret)
		return ret;
	return kdapl_evd_take_shares(request, &shares[KDAPL_CQ_SHARE_REQUEST], 1,
				     old->shares);
}

/*
 * @old is what the endpoint uses now, empty for a new endpoint.  It stays attached, and the
 * endpoint keeps it if this fails.  But whether @use can be attached is judged as if @old were
 * gone already (E21).  @attr_arg: position of the attributes in the call.
 */
static DAT_RETURN use_attach(struct kdapl_ep_use *use, const struct kdapl_ep_use *old,
			     struct kdapl_ia *ia, const DAT_EP_ATTR *attr,
			     enum dat_return_subtype attr_arg)
{
	u32 most = max(ia->dev->attrs.max_cqe, 0);
	int err = 0;

	if (!use->recv_evd || !use->request_evd) {
		use->hidden = old->hidden ?: kdapl_evd_create_hidden(ia, use->unpaid);
		if (!use->hidden)
			return RET_NO_RESOURCE(MEMORY);
	}
	if (use->pz) {
		if (!kdapl_object_use(&use->pz->obj))
			return RET_BAD_HANDLE(PZ);
		use->attached |= USE_PZ;
	}
	if (use->srq) {
		if (!kdapl_object_use(&use->srq->obj))
			return RET_BAD_HANDLE(SRQ);
		use->attached |= USE_SRQ;
		use->shares[KDAPL_CQ_SHARE_RECV].pool = use->srq;
	}
	use->recv_flags = use->recv_evd ? attr->recv_completion_flags : 0;
	err = attach_stream(recv_target(use), KDAPL_STREAM_RECV, use->recv_flags, old);
	if (err)
		return attach_error(err, DAT_INVALID_HANDLE_EVD_RECV, attr_arg);
	use->attached |= USE_RECV;

	use->request_flags = use->request_evd ? attr->request_completion_flags : 0;
	err = attach_stream(request_target(use), KDAPL_STREAM_REQUEST,
			    use->request_flags, old);
	if (err)
		return attach_error(err, DAT_INVALID_HANDLE_EVD_REQUEST, attr_arg);
	use->attached |= USE_REQUEST;

	if (use->connect_evd) {
		err = attach_stream(use->connect_evd, KDAPL_STREAM_OTHER, 0, old);
		if (err)
			return attach_error(err, DAT_INVALID_HANDLE_EVD_CONN, attr_arg);
		use->attached |= USE_CONNECT;
	}
	use->shares[KDAPL_CQ_SHARE_RECV].entries = use->srq ?
						READ_ONCE(use->srq->cq_entries) :
						min_t(u32, attr->max_recv_dtos, most);
	use->shares[KDAPL_CQ_SHARE_REQUEST].entries = min(use_request_wrs(use, attr), most);
	/* A process that posts by itself has CQs of its own. */
	if (!kdapl_ia_is_passthrough(ia))
		err = take_shares(use, old);
	if (err)
		return err == -ENOSPC ? RET_NO_RESOURCE(TEVD) : RET_NO_RESOURCE(MEMORY);
	return DAT_SUCCESS;
}

/* @use, with @attr, becomes @ep's, and what @ep had before comes back in @use. */
static void use_install(struct kdapl_ep *ep, struct kdapl_ep_use *use,
			const DAT_EP_ATTR *attr)
{
	u32 recvs = use->srq ? 0 : attr->max_recv_dtos;

	swap(ep->use, *use);
	WRITE_ONCE(ep->pz, ep->use.pz);
	WRITE_ONCE(ep->connect_evd, ep->use.connect_evd);
	ep->recv.evd = recv_target(&ep->use);
	ep->req.evd = request_target(&ep->use);
	ep->req.binds = evd_takes_binds(ep->use.request_evd);
	ep->req.reserve = ep->use.reserve;
	ep->recv.room = ep->use.shares[KDAPL_CQ_SHARE_RECV].entries;
	ep->recv.deep = recvs > ep->recv.room;
	ep->req.room = ep->use.shares[KDAPL_CQ_SHARE_REQUEST].entries;
	ep->req.deep = requests_are_deep(&ep->use, attr);
}

/**
 * kdapl_ep_grow_share - make room in an endpoint's CQ for an SRQ that gets larger
 * @ep: any endpoint; one that is not on @srq is left alone
 * @srq: the SRQ
 * @entries: completions that all endpoints on @srq may have outstanding together
 *
 * May sleep; in the IA's section.
 *
 * Return: false: its CQ cannot be made larger.
 */
bool kdapl_ep_grow_share(struct kdapl_ep *ep, const struct kdapl_srq *srq, u32 entries)
{
	struct kdapl_cq_share *share = &ep->use.shares[KDAPL_CQ_SHARE_RECV];
	bool ret = true;

	mutex_lock(&ep->use_lock);
	/* An endpoint that is being freed has no share any more. */
	if (ep->use.srq == srq && share->cq)
		ret = !kdapl_evd_grow_share(share, entries);
	mutex_unlock(&ep->use_lock);
	return ret;
}

/* ---- rings ---------------------------------------------------------- */

/**
 * kdapl_ep_request_sge - segments of one request at most
 * @attr: of an endpoint
 */
u32 kdapl_ep_request_sge(const DAT_EP_ATTR *attr)
{
	return max3(attr->max_request_iov, attr->max_rdma_read_iov,
		    attr->max_rdma_write_iov);
}

/* Allocates the rings that @attr and @use ask for, where they differ from the present ones. */
static DAT_RETURN rings_for(struct kdapl_ep *ep, const struct kdapl_ep_use *use,
			    const DAT_EP_ATTR *attr, struct kdapl_cookie_ring **req,
			    struct kdapl_cookie_ring **recv)
{
	bool deep = requests_are_deep(use, attr);
	gfp_t gfp = kdapl_gfp(ep->obj.space);
	u32 req_sge = kdapl_ep_request_sge(attr);

	*req = NULL;
	*recv = NULL;
	/* In passthrough the process has cookies of its own. */
	if (kdapl_ia_is_passthrough(ep->obj.ia))
		return DAT_SUCCESS;
	if (!ep->req.rings || attr->max_request_dtos != ep->req.size ||
	    req_sge != ep->req.max_sge || (deep && !ep->req.rings->wrs)) {
		*req = kdapl_cookie_ring_alloc(&ep->req, attr->max_request_dtos, req_sge,
					       ep->obj.ia->dev->mute_faults, deep, gfp);
		if (!*req)
			return RET_NO_RESOURCE(MEMORY);
	}
	if (ep->srq)
		return DAT_SUCCESS;
	if (!ep->recv.rings || attr->max_recv_dtos != ep->recv.size ||
	    attr->max_recv_iov != ep->recv.max_sge) {
		*recv = kdapl_cookie_ring_alloc(&ep->recv, attr->max_recv_dtos,
						attr->max_recv_iov, false, false, gfp);
		if (!*recv) {
			kdapl_cookie_rings_free(*req);
			*req = NULL;
			return RET_NO_RESOURCE(MEMORY);
		}
	}
	return DAT_SUCCESS;
}

/* On return *@req and *@recv are rings that the caller has to free, or NULL. */
static void ep_install(struct kdapl_ep *ep, struct kdapl_ep_use *use,
		       const DAT_EP_ATTR *attr, struct kdapl_cookie_ring **req,
		       struct kdapl_cookie_ring **recv)
{
	use_install(ep, use, attr);
	if (*req)
		*req = kdapl_dir_install(&ep->req, *req, kdapl_ep_request_sge(attr));
	if (*recv)
		*recv = kdapl_dir_install(&ep->recv, *recv, attr->max_recv_iov);
	ep->attr = *attr;
	kdapl_dto_set_limits(ep->limits, &ep->attr);
}

/**
 * kdapl_ep_configure - give a new endpoint its objects and attributes
 * @ep: unpublished
 * @use: found, not attached yet; @ep's on success
 * @attr: checked
 *
 * May sleep; in the IA's section.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE for an object that is being freed;
 * DAT_INVALID_PARAMETER/ARG6, with an SRQ /ARG7, for completion flags that do not agree
 * with those of other endpoints on the EVD (E21); DAT_INSUFFICIENT_RESOURCES/MEMORY, /TEVD.
 */
DAT_RETURN kdapl_ep_configure(struct kdapl_ep *ep, struct kdapl_ep_use *use,
			      const DAT_EP_ATTR *attr)
{
	struct kdapl_cookie_ring *req, *recv;
	DAT_RETURN ret;

	ret = use_attach(use, &ep->use, ep->obj.ia, attr,
			 use->srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6);
	if (!ret)
		ret = rings_for(ep, use, attr, &req, &recv);
	if (!ret)
		ep_install(ep, use, attr, &req, &recv);
	return ret;
}

/* ---- dat_ep_modify -------------------------------------------------- */

#define MODIFY_NEVER	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | \
			 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | \
			 DAT_EP_FIELD_LOCAL_PORT_QUAL | \
			 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
			 DAT_EP_FIELD_REMOTE_PORT_QUAL | \
			 DAT_EP_FIELD_SRQ_HANDLE | \
			 DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
#define MODIFY_SPECIFIC	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

#define MODIFY_COMMON	(DAT_EP_FIELD_ALL & ~(MODIFY_NEVER | MODIFY_SPECIFIC | \
					      DAT_EP_FIELD_PZ_HANDLE))

/*
 * The state must allow each group of fields that @mask names (M4).  An endpoint that
 * has been freed is refused even if @mask is empty.
 */
static DAT_RETURN modify_allowed(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask)
{
	DAT_RETURN ret = READ_ONCE(ep->state) == KDAPL_EP_GONE ? RET_BAD_HANDLE(EP) :
								 DAT_SUCCESS;

	if (!ret && mask & DAT_EP_FIELD_PZ_HANDLE)
		ret = kdapl_ep_peek(ep, KDAPL_EP_OP_MODIFY_PZ);
	if (!ret && mask & MODIFY_COMMON)
		ret = kdapl_ep_peek(ep, KDAPL_EP_OP_MODIFY_COMMON);
	if (!ret && mask & MODIFY_SPECIFIC)
		ret = kdapl_ep_peek(ep, KDAPL_EP_OP_MODIFY_SPECIFIC);
	return ret;
}

static void modify_attr(DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *from,
			DAT_EP_ATTR *to)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		to->service_type = from->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		to->max_message_size = from->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		to->max_rdma_size = from->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		to->qos = from->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		to->recv_completion_flags = from->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		to->request_completion_flags = from->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		to->max_recv_dtos = from->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		to->max_request_dtos = from->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		to->max_recv_iov = from->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		to->max_request_iov = from->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		to->max_rdma_read_in = from->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		to->max_rdma_read_out = from->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		to->max_rdma_read_iov = from->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		to->max_rdma_write_iov = from->max_rdma_write_iov;
}

/*
 * Held receives must fit into the new attributes, and are copied to the new ring, if there is
 * one.  DAT_ABORT: a batch was copied, and there are more of them.
 */
static DAT_RETURN modify_held(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
			      const DAT_EP_ATTR *attr, struct kdapl_cookie_ring *recv)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS && ep->recv.held)
		return kdapl_ep_fsm_refusal(ep->state);
	if (!recv)
		return DAT_SUCCESS;
	switch (kdapl_dir_copy_held(&ep->recv, recv, attr->max_recv_iov)) {
	case 0:
		return DAT_SUCCESS;
	case -EAGAIN:
		return RET(ABORT);
	default:
		return RET_BAD_ARG(3);
	}
}

/*
 * Changes everything or nothing.  The state is judged again, under the locks.  They are
 * dropped after each batch of held receives that was copied, because interrupts are off under
 * them.  Meanwhile no held receive leaves the endpoint: in a state that allows a modify only
 * an operation that takes @ep->use_lock, or the end of the endpoint, takes them away.
 */
static DAT_RETURN modify_install(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
				 struct kdapl_ep_use *use, const DAT_EP_ATTR *attr,
				 struct kdapl_cookie_ring **req, struct kdapl_cookie_ring **recv)
{
	bool pinned = (*req && kdapl_dir_pinned(&ep->req)) ||
		      (*recv && kdapl_dir_pinned(&ep->recv));
	bool moves = *recv;
	DAT_RETURN ret;

	lockdep_assert_held(&ep->use_lock);
	do {
		spin_lock_irq(&ep->lock);
		kdapl_ep_lock_dirs(ep);
		ret = modify_allowed(ep, mask) ?: modify_held(ep, mask, attr, *recv);
		if (!ret && pinned)
			ret = RET_NO_RESOURCE(MEMORY);
		if (!ret)
			ep_install(ep, use, attr, req, recv);
		kdapl_ep_unlock_dirs(ep);
		spin_unlock_irq(&ep->lock);
	} while (ret == RET(ABORT));
	if (!ret && moves)
		kdapl_dir_leave_copied(&ep->recv);
	return ret;
}

/*
 * Works out what the endpoint would use, and its attributes, with the change; the caller puts
 * @use in any case.  A handle inside the structure is part of argument 3 (RULING 36).
 */
static DAT_RETURN modify_plan(const struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
			      const DAT_EP_PARAM *param, struct kdapl_ep_use *use,
			      DAT_EP_ATTR *attr)
{
	const struct kdapl_ep_use *old = &ep->use;
	struct kdapl_ia *ia = ep->obj.ia;
	DAT_RETURN ret;

	ret = kdapl_ep_use_find(use, ia,
				mask & DAT_EP_FIELD_PZ_HANDLE ?
				param->pz_handle : kdapl_handle_or_null(old->pz),
				mask & DAT_EP_FIELD_RECV_EVD_HANDLE ?
				param->recv_evd_handle :
				kdapl_handle_or_null(old->recv_evd),
				mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ?
				param->request_evd_handle :
				kdapl_handle_or_null(old->request_evd),
				mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ?
				param->connect_evd_handle :
				kdapl_handle_or_null(old->connect_evd));
	*attr = ep->attr;
	modify_attr(mask, &param->ep_attr, attr);
	use->reserve = old->reserve;
	if (old->srq) {
		use->srq = old->srq;
		kdapl_object_get(&use->srq->obj);
		attr->max_recv_iov = ep->attr.max_recv_iov;
	}
	if (!ret && kdapl_ep_zone_fits(use) && kdapl_ep_attr_check(ia->dev, attr) &&
	    reserve_fits(ia->dev, attr, use->reserve) && attr->qos == DAT_QOS_BEST_EFFORT)
		return DAT_SUCCESS;
	return RET_BAD_ARG(3);
}

static DAT_RETURN ep_modify(struct kdapl_ep *ep, DAT_EP_PARAM_MASK mask,
			    const DAT_EP_PARAM *param)
{
	struct kdapl_cookie_ring *req, *recv;
	struct kdapl_ep_use use;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	ret = modify_plan(ep, mask, param, &use, &attr) ?: modify_allowed(ep, mask);
	if (ret)
		goto out;
	ret = use_attach(&use, &ep->use, ep->obj.ia, &attr, DAT_INVALID_ARG3);
	/* An object that is being freed just now counts as freed before the call. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		ret = RET_BAD_ARG(3);
	if (ret)
		goto out;
	ret = rings_for(ep, &use, &attr, &req, &recv);
	if (ret)
		goto out;
	ret = modify_install(ep, mask, &use, &attr, &req, &recv);
	kdapl_cookie_rings_free(req);
	kdapl_cookie_rings_free(recv);
out:
	/*
	 * The old and the new use may have one hidden EVD in common.  Then the use that is
	 * put here must leave it to the other one.
	 */
	use.lent = use.hidden == ep->use.hidden;
	kdapl_ep_use_put(&use);
	return ret;
}

/* dat_ep_modify.  All or nothing.  Rules M4, E.4. */
DAT_RETURN kdapl_ep_modify(struct kdapl_space *space, DAT_EP_HANDLE handle,
			   DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct kdapl_ep *ep;
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find_param(&op, space, handle, KDAPL_EP,
				  DAT_INVALID_HANDLE_EP,
				  mask & (~DAT_EP_FIELD_ALL | MODIFY_NEVER), param);
	if (!ret)
		ret = kdapl_op_enter(&op);
	if (!ret) {
		ep = kdapl_ep_of(op.obj);
		mutex_lock(&ep->use_lock);
		ret = ep_modify(ep, mask, param);
		mutex_unlock(&ep->use_lock);
	}
	return kdapl_op_end(&op, ret);
}
