// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an Interface Adapter can do: the registry, which lists the adapters that
 * can be opened, and dat_ia_query.
 *
 * Callers: the faces.
 */
#include <dat/kdat_linux.h>
#include "ep_attr.h"
#include "ia.h"
#include "lmr.h"
#include "op.h"
#include "srq.h"

#define PROVIDER_NAME		"kdapl"
#define PROVIDER_VERSION_MAJOR	1
#define PROVIDER_VERSION_MINOR	0

/* ---- the registry --------------------------------------------------- */

struct registry_walk {
	int max;
	int n;
	struct dat_provider_info **list;
};

static int registry_count_one(struct kdapl_device *dev, void *arg)
{
	struct registry_walk *walk = arg;

	walk->n++;
	return 0;
}

static int registry_fill_one(struct kdapl_device *dev, void *arg)
{
	struct registry_walk *walk = arg;
	DAT_PROVIDER_INFO *info;

	if (walk->n >= walk->max)
		return 1;
	info = walk->list[walk->n++];
	memset(info, 0, sizeof(*info));
	strscpy(info->ia_name, dev->name, sizeof(info->ia_name));
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
	return 0;
}

/*
 * dat_registry_list_providers.  A device is an entry while it has an address in the
 * space's network namespace.  May sleep.
 */
DAT_RETURN kdapl_registry_list(struct kdapl_space *space, DAT_COUNT max,
			       DAT_COUNT *number, DAT_PROVIDER_INFO *list[])
{
	struct registry_walk walk = { .list = list };
	DAT_COUNT i;

	if (!number)
		return RET_BAD_ARG(2);
	kdapl_device_for_each(space->net, registry_count_one, &walk);
	if (max < walk.n) {
		*number = walk.n;
		return RET_BAD_ARG(1);
	}
	if (max > 0 && !list)
		return RET_BAD_ARG(3);
	for (i = 0; i < walk.n; i++) {
		if (!list[i])
			return RET_BAD_ARG(3);
	}

	/* Devices that have appeared since the count are left out. */
	walk.max = walk.n;
	walk.n = 0;
	kdapl_device_for_each(space->net, registry_fill_one, &walk);
	*number = walk.n;
	return DAT_SUCCESS;
}

/* ---- attributes ----------------------------------------------------- */

static DAT_COUNT as_count(int n)
{
	return max(n, 0);
}

/* Objects that are there with each IA: the IA, and its asynchronous EVD. */
#define OWN_OBJECTS	2

/* Of @n objects of a type, as many as the opener may have besides @others of other types. */
static DAT_COUNT most_objects(const struct kdapl_space *space, int n, u32 others)
{
	u32 most = space->max_objects;

	return min_t(u32, as_count(n), most - min(most, others));
}

static void fill_limits(DAT_IA_ATTR *attr, const struct kdapl_device *dev,
			const struct kdapl_space *space)
{
	const struct ib_device_attr *ib = &dev->attrs;
	struct kdapl_ep_limits ep;

	kdapl_ep_limits(dev, &ep);
	/* An EP needs a PZ and an EVD. */
	attr->max_eps = most_objects(space, ib->max_qp, OWN_OBJECTS + 2);
	attr->max_dto_per_ep = ep.dtos;
	attr->max_rdma_read_per_ep_in = ep.read_in;
	attr->max_rdma_read_per_ep_out = ep.read_out;
	attr->max_evds = most_objects(space, ib->max_cq, OWN_OBJECTS);
	attr->max_evd_qlen = as_count(kdapl_evd_max_qlen(dev));
	attr->max_iov_segments_per_dto = ep.iov;
	/* An LMR needs a PZ. */
	attr->max_lmrs = most_objects(space, ib->max_mr, OWN_OBJECTS + 1);
	attr->max_lmr_block_size = kdapl_lmr_max_length(dev);
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_pzs = most_objects(space, ib->max_pd, OWN_OBJECTS);
	attr->max_message_size = dev->max_msg_sz;
	attr->max_rdma_size = dev->max_msg_sz;
	/* Each RMR has two memory regions, which take turns (A6). */
	if (dev->max_window_pages)
		attr->max_rmrs = min(most_objects(space, ib->max_mr / 2, OWN_OBJECTS + 1),
				     space->max_rmrs);
	attr->max_rmr_target_address = U64_MAX;
	attr->max_iov_segments_per_rdma_read = ep.read_iov;
	attr->max_iov_segments_per_rdma_write = ep.write_iov;
	attr->max_rdma_read_in = as_count(ib->max_res_rd_atom);
	attr->max_rdma_read_out = as_count(ib->max_res_rd_atom);
	attr->max_rdma_read_per_ep_in_guaranteed =
		attr->max_rdma_read_in >=
		(u64)attr->max_eps * attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_per_ep_out_guaranteed =
		attr->max_rdma_read_out >=
		(u64)attr->max_eps * attr->max_rdma_read_per_ep_out;
}

static void fill_srq_limits(DAT_IA_ATTR *attr, const struct kdapl_ia *ia)
{
	struct kdapl_srq_limits srq;

	kdapl_srq_limits(ia, &srq);
	if (!srq.srqs)
		return;
	/* An SRQ needs a PZ. */
	attr->max_srqs = most_objects(ia->obj.space, srq.srqs, OWN_OBJECTS + 1);
	/* An EP on an SRQ needs a PZ, an EVD, and the SRQ. */
	attr->max_ep_per_srq = most_objects(ia->obj.space, ia->dev->attrs.max_qp,
					    OWN_OBJECTS + 3);
	attr->max_recv_per_srq = srq.recvs;
}

static void fill_ia_attr(DAT_IA_ATTR *attr, struct kdapl_ia *ia)
{
	const struct kdapl_device *dev = ia->dev;

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->adapter_name, ia->name, sizeof(attr->adapter_name));
	strscpy(attr->vendor_name, dev->vendor, sizeof(attr->vendor_name));
	attr->hardware_version_major = dev->attrs.hw_ver;
	attr->firmware_version_major = upper_32_bits(dev->attrs.fw_ver);
	attr->firmware_version_minor = dev->attrs.fw_ver >> 16 & 0xffff;
	attr->ia_address_ptr = (struct sockaddr *)&ia->addr;
	fill_limits(attr, dev, ia->obj.space);
	fill_srq_limits(attr, ia);
}

/* Provider-specific attributes: those of the extensions, in the order of KDAPL_CAN_*. */
static DAT_NAMED_ATTR extension_attrs[] = {
	{ KDAT_ATTR_IMMED, "TRUE" },
	{ KDAT_ATTR_CMP_SWAP, "TRUE" },
	{ KDAT_ATTR_FETCH_ADD, "TRUE" },
};

static void fill_extensions(DAT_PROVIDER_ATTR *attr, u32 extensions)
{
	u32 immed = !!(extensions & KDAPL_CAN_IMMED);

	attr->num_provider_specific_attr = immed + (extensions & KDAPL_CAN_ATOMIC ? 2 : 0);
	if (attr->num_provider_specific_attr)
		attr->provider_specific_attr = extension_attrs + !immed;
}

/* What is the same for every IA; max_private_data_size: facts 3. */
static const DAT_PROVIDER_ATTR provider = {
	.provider_name = PROVIDER_NAME,
	.provider_version_major = PROVIDER_VERSION_MAJOR,
	.provider_version_minor = PROVIDER_VERSION_MINOR,
	.dapl_version_major = DAT_VERSION_MAJOR,
	.dapl_version_minor = DAT_VERSION_MINOR,
	.iov_ownership_on_return = DAT_IOV_CONSUMER,
	.dat_qos_supported = DAT_QOS_BEST_EFFORT,
	.is_thread_safe = DAT_TRUE,
	.max_private_data_size = KDAPL_REQ_PRIVATE_DATA,
	.supports_multipath = DAT_FALSE,
	.ep_creator = DAT_PSP_CREATES_EP_IFASKED,
	.upcall_policy = DAT_UPCALL_SINGLE_INSTANCE,
	.optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT,
	.evd_stream_merging_supported = {
		[0 ... 5] = { [0 ... 5] = DAT_TRUE },
	},
};

/* Bits of srq_watermarks_supported and srq_info_supported */
#define SRQ_LOW_WATERMARK	0x001
#define SRQ_OUTSTANDING		0x10

/* uDAPL's memory types: LMR 1, SHARED_VIRTUAL 2; VIRTUAL is 0. */
#define USER_MEM_TYPES		3
#define KERNEL_MEM_TYPES	(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_PHYSICAL)

#define USER_COMPLETION_FLAGS	0x1f
#define KERNEL_COMPLETION_FLAGS	0x0f

static void fill_provider_attr(DAT_PROVIDER_ATTR *attr,
			       const struct kdapl_ia *ia)
{
	bool user = ia->obj.space->user;
	struct kdapl_srq_limits srq;

	memcpy(attr, &provider, sizeof(*attr));
	attr->lmr_mem_types_supported = user ? USER_MEM_TYPES :
					       KERNEL_MEM_TYPES;
	attr->completion_flags_supported = user ? USER_COMPLETION_FLAGS :
						  KERNEL_COMPLETION_FLAGS;
	if (!user)
		fill_extensions(attr, ia->dev->extensions);
	attr->lmr_sync_req = ia->dev->sync_needed;
	attr->rdma_write_for_rdma_read_req = ia->dev->iwarp;	/* mt:T35 */
	/* Both counts are known, to us or to a process that has its own queues for SRQs (E.11). */
	attr->ep_recv_info_supported =
		kdapl_ia_is_passthrough(ia) && !ia->own_srqs ? 0 : 0x11;
	kdapl_srq_limits(ia, &srq);
	if (!srq.srqs)
		return;
	attr->srq_supported = DAT_TRUE;
	attr->srq_watermarks_supported = ia->dev->srq_arms ? SRQ_LOW_WATERMARK : 0;
	attr->srq_ep_pz_difference_supported = !ia->dev->srq_zone_of_qp;
	attr->srq_info_supported = SRQ_OUTSTANDING;
}

static DAT_EVD_HANDLE async_handle(struct kdapl_ia *ia)
{
	DAT_EVD_HANDLE handle;

	spin_lock_irq(&ia->async_lock);
	handle = ia->async_evd ? kdapl_handle(&ia->async_evd->obj) :
				 KDAPL_EVD_OUT_OF_SCOPE;
	spin_unlock_irq(&ia->async_lock);
	return handle;
}

/*
 * dat_ia_query.  A mask that is not 0 fills its whole structure.  In a user space
 * upcall_policy, which is pz_support there, means nothing.  May sleep.
 */
DAT_RETURN kdapl_ia_query(struct kdapl_space *space, DAT_IA_HANDLE handle,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			  DAT_IA_ATTR *ia_attr,
			  DAT_PROVIDER_ATTR_MASK provider_mask,
			  DAT_PROVIDER_ATTR *provider_attr)
{
	struct kdapl_op op;
	DAT_RETURN ret;

	ret = kdapl_op_find(&op, space, handle, KDAPL_IA, DAT_INVALID_HANDLE_IA);
	if (!ret && ia_mask & ~DAT_IA_FIELD_ALL)
		ret = RET_BAD_ARG(3);
	if (!ret && ia_mask && !ia_attr)
		ret = RET_BAD_ARG(4);
	if (!ret && provider_mask & ~DAT_PROVIDER_FIELD_ALL)
		ret = RET_BAD_ARG(5);
	if (!ret && provider_mask && !provider_attr)
		ret = RET_BAD_ARG(6);
	if (!ret && async_evd)
		*async_evd = async_handle(op.obj->ia);
	if (!ret && ia_mask)
		fill_ia_attr(ia_attr, op.obj->ia);
	if (!ret && provider_mask)
		fill_provider_attr(provider_attr, op.obj->ia);
	return kdapl_op_end(&op, ret);
}
