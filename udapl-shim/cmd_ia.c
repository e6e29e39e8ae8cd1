// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interface Adapters of kdapl, each of which is an RDMA port that the kernel lists; and the
 * calls about handle types and consumer contexts, which the library answers without the kernel.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "registry.h"

/*
 * shim_addr_in - copy an address of the consumer's for the kernel
 *
 * DAT gives a pointer without a length, so the family says how much to read.
 *
 * Return: false for a family whose length is not known.
 */
bool shim_addr_in(struct kdapl_uapi_addr *to, const struct sockaddr *from)
{
	switch (from->sa_family) {
	case AF_INET:
		to->len = sizeof(struct sockaddr_in);
		break;
	case AF_INET6:
		to->len = sizeof(struct sockaddr_in6);
		break;
	default:
		return false;
	}
	memcpy(to->sa, from, to->len);
	return true;
}

/* shim_addr_out - copy an address from the kernel; zero @to if there is none */
void shim_addr_out(struct sockaddr_storage *to,
		   const struct kdapl_uapi_addr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->len <= sizeof(from->sa))
		memcpy(to, from->sa, from->len);
}

/*
 * What to return if shim_dev_open() has failed with @err: DAT_INSUFFICIENT_RESOURCES if memory
 * or descriptors are short, else @ret.
 */
static DAT_RETURN no_device(int err, DAT_RETURN ret)
{
	return shim_no_room(-err) ? RET_NO_RESOURCE(MEMORY) : ret;
}

/*
 * shim_adapters - get the list of adapters from the kernel
 * @infos: out: the list, which the caller frees
 * @number: out: how many there are
 *
 * Return: DAT_SUCCESS; DAT_INTERNAL_ERROR if the kernel cannot be asked, because the module
 * is not loaded or the process may not open its device; DAT_INSUFFICIENT_RESOURCES/MEMORY, also
 * if no descriptor can be had.
 */
DAT_RETURN shim_adapters(DAT_PROVIDER_INFO **infos, uint32_t *number)
{
	struct kdapl_uapi_provider_info *from = NULL;
	struct kdapl_uapi_ia_list arg = { 0 };
	DAT_RETURN ret;
	uint32_t i;
	int err;

	err = shim_dev_open();
	if (err)
		return no_device(err, RET(INTERNAL_ERROR));
	/* The first round only tells the number; another is needed if adapters come meanwhile. */
	do {
		arg.max = arg.number;
		free(from);
		from = calloc(arg.max + 1, sizeof(*from));
		if (!from)
			return RET_NO_RESOURCE(MEMORY);
		arg.list = (uintptr_t)from;
		ret = shim_ioctl(KDAPL_IOC_IA_LIST, &arg, RET_NO_FAULT);
	} while (ret == RET_BAD_ARG(1) && arg.number > arg.max);
	*infos = ret ? NULL : calloc(arg.number + 1, sizeof(**infos));
	if (!ret && !*infos)
		ret = RET_NO_RESOURCE(MEMORY);
	for (i = 0; !ret && i < arg.number; i++) {
		memcpy((*infos)[i].ia_name, from[i].ia_name, sizeof((*infos)[i].ia_name));
		(*infos)[i].dapl_version_major = from[i].dapl_version_major;
		(*infos)[i].dapl_version_minor = from[i].dapl_version_minor;
		(*infos)[i].is_thread_safe = from[i].is_thread_safe;
		face_version_out(&(*infos)[i].dapl_version_major,
				 &(*infos)[i].dapl_version_minor);
	}
	*number = arg.number;
	free(from);
	return ret;
}

static DAT_RETURN ia_query(const struct shim_object *ia,
			   struct kdapl_uapi_ia_query *arg)
{
	arg->ia = shim_token(ia);
	return shim_ioctl(KDAPL_IOC_IA_QUERY, arg, RET_NO_FAULT);
}

/*
 * Makes the objects of an IA that the kernel has just opened, and of its
 * asynchronous EVD.
 */
static DAT_RETURN ia_objects(const struct kdapl_uapi_ia_open *open,
			     DAT_EVD_HANDLE *async_evd, struct shim_object **iap)
{
	struct kdapl_uapi_ia_query query = {
		.ia_mask = DAT_IA_FIELD_IA_ADDRESS_PTR,
		.provider_mask = face_provider_mask(DAT_PROVIDER_FIELD_PROVIDER_NAME),
	};
	struct shim_object *evd = NULL, *ia;
	struct shim_ia *body;
	DAT_RETURN ret;

	body = calloc(1, sizeof(*body));
	ia = shim_object_get(open->ia, SHIM_IA, NULL, NULL);
	if (!body || !ia) {
		ret = RET_NO_RESOURCE(MEMORY);
		goto free;
	}
	ret = ia_query(ia, &query);
	if (ret)
		goto free;
	shim_addr_out(&body->address, &query.ia_attr.address);
	body->extensions = query.provider_attr.extensions;

	body->async_evd = *async_evd;
	if (open->ring.nr_entries) {
		ret = shim_evd_object(open->async_evd, ia, DAT_EVD_ASYNC_FLAG, &open->ring,
				      &evd);
		if (ret)
			goto free;
		body->async_evd = evd;
	} else if (open->async_evd == (uintptr_t)DAT_EVD_OUT_OF_SCOPE) {
		body->async_evd = DAT_EVD_OUT_OF_SCOPE;
	}
	ia->body = body;
	*async_evd = body->async_evd;
	*iap = ia;
	return DAT_SUCCESS;
free:
	if (ia)
		shim_object_kill(ia);
	free(body);
	return ret;
}

/* The asynchronous EVD that was made with an IA, or NULL if it was given another one. */
static struct shim_object *own_async_evd(const struct shim_object *ia)
{
	const struct shim_ia *body = ia->body;
	struct shim_object *evd = shim_find(body->async_evd, SHIM_EVD);

	return evd && atomic_load(&evd->ia) == ia ? evd : NULL;
}

/*
 * The asynchronous EVD that was made with an IA was made before the mode of the IA was known.
 * Now it gets the operations of that mode: in passthrough a thread that waits for it also has
 * to be woken by what the device tells of the queues of the process itself.
 */
static DAT_RETURN adopt_evd(struct shim_object *ia)
{
	struct shim_object *evd = own_async_evd(ia);

	if (!evd || evd->ops == ia->ops)
		return DAT_SUCCESS;
	evd->ops = ia->ops;
	return evd->ops->evd_made(evd);
}

/* Gives an object the operations of counters, and of DAT_DEBUG, where these are asked for. */
static void do_more(struct shim_object *obj, const struct shim_record *record)
{
	if (shim_counts_asked(record))
		face_count(obj);
	obj->ops = shim_loud(obj->ops);
}

/*
 * The provider attribute "mode" says whose queues an IA has; others, what it has besides. Each set
 * of them stays for good, as a program may look at it after it has closed the IA. DAT does not
 * declare them const, but a consumer does not write to them.
 */
enum {
	EXTENSIONS = KDAPL_EXT_IMMED | KDAPL_EXT_ATOMIC,
	OWN = EXTENSIONS + 1,		/* passthrough */
	COUNTS = OWN * 2,
	REVOCABLE = COUNTS * 2,		/* messages of peers may invalidate keys of RMRs */
	SETS = REVOCABLE * 2,
};

static struct attrs {
	DAT_NAMED_ATTR attr[1 + FACE_ATTRS];
	uint32_t number;
} attrs[SETS];

static void make_attrs(void)
{
	struct attrs *set;
	uint32_t what;

	for (what = 0; what < SETS; what++) {
		set = &attrs[what];
		set->attr[0] = (DAT_NAMED_ATTR) {
			(char *)"mode", (char *)(what & OWN ? "passthrough" : "forwarded")
		};
		set->number = 1 + face_attrs(&set->attr[1], what & EXTENSIONS, what & COUNTS,
					     what & REVOCABLE);
	}
}

/* @max_rmrs: as many RMRs may the IA have */
static const struct attrs *attrs_of(const struct shim_object *ia, uint32_t extensions,
				    uint32_t max_rmrs)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t what = extensions & EXTENSIONS;

	pthread_once(&once, make_attrs);
	if (ia->ops->passthrough)
		what |= OWN;
	else if (max_rmrs && shim_dev_features() & KDAPL_FEATURE_INVALIDATE)
		what |= REVOCABLE;
	if (ia->ops->counts)
		what |= COUNTS;
	return &attrs[what];
}

static DAT_RETURN ia_open(struct kdapl_uapi_ia_open *arg, const struct shim_record *record,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia_handle)
{
	struct kdapl_uapi_handle_flags close = {
		.flags = DAT_CLOSE_ABRUPT_FLAG,
	};
	DAT_EVD_HANDLE given = *async_evd;
	struct shim_object *ia, *evd;
	const char *asked_by;
	enum shim_mode mode;
	DAT_RETURN ret;
	int err;

	err = shim_dev_open();
	if (err)
		return no_device(err, RET_NO_PROVIDER(NAME_NOT_REGISTERED));
	ret = shim_ioctl(KDAPL_IOC_IA_OPEN, arg, RET_BAD_ARG(1));
	if (ret)
		return ret;
	ret = ia_objects(arg, async_evd, &ia);
	if (ret) {
		close.handle = arg->ia;
		shim_ioctl(KDAPL_IOC_IA_CLOSE, &close, RET_NO_FAULT);
		return ret;
	}
	if (record)
		((struct shim_ia *)ia->body)->name = record->info.ia_name;
	if (record && record->tells_last && shim_dev_features() & KDAPL_FEATURE_TELL_LAST)
		shim_handle_call(KDAPL_IOC_IA_TELL_LAST, ia);
	mode = shim_mode_asked(record, &asked_by);
	ret = shim_pass_open(ia, arg->name, mode, asked_by);
	if (!ret)
		ret = adopt_evd(ia);
	if (ret) {
		own_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		*async_evd = given;
		return ret;
	}
	do_more(ia, record);
	evd = own_async_evd(ia);
	if (evd)
		do_more(evd, record);
	*ia_handle = ia;
	return DAT_SUCCESS;
}

/*
 * The token of the asynchronous EVD that the consumer gave to an open: that of
 * one of its EVDs; 0 for a null handle, which asks for a new EVD; or the
 * constant DAT_EVD_ASYNC_EXISTS, if an earlier open has made it (I4..I6).
 */
static bool async_evd_in(DAT_EVD_HANDLE handle, uint64_t *token)
{
	if (handle == DAT_EVD_ASYNC_EXISTS) {
		*token = (uintptr_t)handle;
		return true;
	}
	return shim_optional(handle, SHIM_EVD, token);
}

/*
 * shim_ia_open - dat_ia_openv() for an adapter of kdapl
 * @record: the record of dat.conf that names the adapter; NULL: its name is @ia_name
 *
 * Return: as dat_ia_openv(). This function and the kernel check all of its arguments.
 */
DAT_RETURN shim_ia_open(const struct shim_record *record, const DAT_NAME_PTR ia_name,
			DAT_COUNT asynch_evd_min_qlen, DAT_EVD_HANDLE *asynch_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_version_major,
			DAT_UINT32 dat_version_minor, DAT_BOOLEAN thread_safety)
{
	struct kdapl_uapi_ia_open arg = {
		.async_qlen = asynch_evd_min_qlen,
		.version_major = dat_version_major,
		.version_minor = dat_version_minor,
		.thread_safe = thread_safety,
	};
	uint64_t async_evd = 0;
	size_t len;

	if (asynch_evd_handle && !async_evd_in(*asynch_evd_handle, &async_evd))
		return RET_BAD_HANDLE(EVD_ASYNC);
	len = ia_name ? strnlen(ia_name, sizeof(arg.name)) : 0;
	if (!len || len == sizeof(arg.name))
		return RET_BAD_ARG(1);
	if (asynch_evd_handle && !async_evd && asynch_evd_min_qlen <= 0)
		return RET_BAD_ARG(2);
	if (!asynch_evd_handle)
		return RET_BAD_ARG(3);
	if (!ia_handle)
		return RET_BAD_ARG(4);
	face_version_in(&arg.version_major, &arg.version_minor);
	memcpy(arg.name, record ? record->adapter : ia_name,
	       record ? strlen(record->adapter) : len);
	arg.async_evd = async_evd;
	return ia_open(&arg, record, asynch_evd_handle, ia_handle);
}

/* Takes the body of an IA, whose handle is bad from here on, and frees it. */
static void ia_body_free(struct shim_object *ia)
{
	struct shim_local *local;
	struct shim_ia *body;

	shim_lock(&ia->lock);
	body = ia->body;
	ia->body = NULL;
	shim_unlock(&ia->lock);
	if (!body)
		return;
	while ((local = body->locals)) {
		body->locals = local->next;
		free(local);
	}
	free(body);
}

/* Kills an object that the kernel has destroyed with its IA. */
static void object_gone(struct shim_object *obj, void *arg)
{
	bool lived;

	(void)arg;
	switch (atomic_load(&obj->type)) {
	case SHIM_CNO:
		shim_cno_close(obj);
		break;
	case SHIM_EVD:
		/* Its body may have to wait for endpoints that use it. */
		lived = shim_object_hide(obj);
		shim_evd_body_free(obj);
		if (lived)
			shim_object_bury(obj);
		break;
	case SHIM_EP:
		shim_ep_end(obj);
		break;
	default:
		free(shim_object_end(obj));
	}
}

static void cno_ends(struct shim_object *obj, void *arg)
{
	(void)arg;
	if (shim_lives(obj, SHIM_CNO))
		shim_cno_end(obj);
}

/*
 * own_ia_close - dat_ia_close() for an adapter of kdapl
 *
 * A CNO prevents a graceful close as well, although the kernel does not know it
 * (I12). On return no agent of the IA's CNOs runs, except one that has itself
 * called this (I17).
 */
DAT_RETURN own_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	DAT_RETURN ret;
	bool lived;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (close_flags == DAT_CLOSE_GRACEFUL_FLAG && shim_cno_left(ia))
		return RET_BAD_STATE(IA_IN_USE);
	ret = shim_flags_call(KDAPL_IOC_IA_CLOSE, ia, close_flags);
	if (ret)
		return ret;

	/*
	 * The IA first: nothing new can be made on it once its handle is bad. Its objects use it
	 * until they are gone, for which agents may have to be waited for.
	 */
	lived = shim_object_hide(ia);
	ia_body_free(ia);
	ia->ops->ia_closing(ia);
	shim_for_each(ia, cno_ends, NULL);
	shim_for_each(ia, object_gone, NULL);
	ia->ops->ia_closed(ia);
	if (lived)
		shim_object_bury(ia);
	return DAT_SUCCESS;
}

static void ia_attr_out(DAT_IA_ATTR *to, const struct kdapl_uapi_ia_attr *from,
			struct shim_ia *body)
{
	memset(to, 0, sizeof(*to));
	memcpy(to->adapter_name, body->name ? body->name : (const char *)from->adapter_name,
	       sizeof(to->adapter_name));
	memcpy(to->vendor_name, from->vendor_name, sizeof(to->vendor_name));
	to->hardware_version_major = from->hardware_version_major;
	to->hardware_version_minor = from->hardware_version_minor;
	to->firmware_version_major = from->firmware_version_major;
	to->firmware_version_minor = from->firmware_version_minor;
	to->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&body->address;
	to->max_eps = from->max_eps;
	to->max_dto_per_ep = from->max_dto_per_ep;
	to->max_rdma_read_per_ep_in = from->max_rdma_read_per_ep_in;
	to->max_rdma_read_per_ep_out = from->max_rdma_read_per_ep_out;
	to->max_evds = from->max_evds;
	to->max_evd_qlen = from->max_evd_qlen;
	to->max_iov_segments_per_dto = from->max_iov_segments_per_dto;
	to->max_lmrs = from->max_lmrs;
	to->max_lmr_block_size = face_length(from->max_lmr_block_size);
	to->max_lmr_virtual_address = from->max_lmr_virtual_address;
	to->max_pzs = from->max_pzs;
	to->max_message_size = face_length(from->max_message_size);
	to->max_rdma_size = face_length(from->max_rdma_size);
	to->max_rmrs = from->max_rmrs;
	to->max_rmr_target_address = from->max_rmr_target_address;
	to->max_srqs = from->max_srqs;
	to->max_ep_per_srq = from->max_ep_per_srq;
	to->max_recv_per_srq = from->max_recv_per_srq;
	to->max_iov_segments_per_rdma_read =
		from->max_iov_segments_per_rdma_read;
	to->max_iov_segments_per_rdma_write =
		from->max_iov_segments_per_rdma_write;
	to->max_rdma_read_in = from->max_rdma_read_in;
	to->max_rdma_read_out = from->max_rdma_read_out;
	to->max_rdma_read_per_ep_in_guaranteed =
		from->max_rdma_read_per_ep_in_guaranteed;
	to->max_rdma_read_per_ep_out_guaranteed =
		from->max_rdma_read_per_ep_out_guaranteed;
}

static void provider_attr_out(DAT_PROVIDER_ATTR *to,
			      const struct kdapl_uapi_provider_attr *from)
{
	/*
	 * DAT's header has the member const; the consumer's structure is not.
	 */
	DAT_BOOLEAN *merging = (DAT_BOOLEAN *)to->evd_stream_merging_supported;
	int i;

	memcpy(to->provider_name, from->provider_name,
	       sizeof(to->provider_name));
	to->provider_version_major = from->provider_version_major;
	to->provider_version_minor = from->provider_version_minor;
	to->dapl_version_major = from->dapl_version_major;
	to->dapl_version_minor = from->dapl_version_minor;
	to->lmr_mem_types_supported = from->lmr_mem_types_supported;
	to->iov_ownership_on_return = from->iov_ownership_on_return;
	to->dat_qos_supported = from->dat_qos_supported;
	to->completion_flags_supported = from->completion_flags_supported;
	to->is_thread_safe = from->is_thread_safe;
	to->max_private_data_size = from->max_private_data_size;
	to->supports_multipath = from->supports_multipath;
	to->ep_creator = from->ep_creator;
	to->pz_support = from->pz_support;
	to->optimal_buffer_alignment = from->optimal_buffer_alignment;
	for (i = 0; i < 36; i++)
		merging[i] = from->evd_stream_merging_supported[i];
	to->srq_supported = from->srq_supported;
	to->srq_watermarks_supported = from->srq_watermarks_supported;
	to->srq_ep_pz_difference_supported =
		from->srq_ep_pz_difference_supported;
	to->srq_info_supported = from->srq_info_supported;
	to->ep_recv_info_supported = from->ep_recv_info_supported;
	to->lmr_sync_req = from->lmr_sync_req;
	to->dto_async_return_guaranteed = from->dto_async_return_guaranteed;
	to->rdma_write_for_rdma_read_req = from->rdma_write_for_rdma_read_req;
	face_version_out(&to->dapl_version_major, &to->dapl_version_minor);
	face_provider_attr(to);
}

static DAT_EVD_HANDLE async_evd_out(uint64_t token)
{
	if (token == (uintptr_t)DAT_EVD_OUT_OF_SCOPE)
		return DAT_EVD_OUT_OF_SCOPE;
	return shim_handle(token);
}

DAT_RETURN own_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	struct shim_object *ia = shim_find(ia_handle, SHIM_IA);
	const struct attrs *set;
	struct kdapl_uapi_ia_query arg = {
		/* A provider attribute depends on whether there are RMRs (attrs_of()). */
		.ia_mask = face_ia_mask(provider_attr_mask ?
					ia_attr_mask | DAT_IA_FIELD_IA_MAX_RMRS : ia_attr_mask),
		.provider_mask = face_provider_mask(provider_attr_mask),
	};
	struct shim_ia *body;
	DAT_RETURN ret;

	if (!ia)
		return RET_BAD_HANDLE(IA);
	if (ia_attr_mask & ~DAT_IA_FIELD_ALL)
		return RET_BAD_ARG(3);
	if (ia_attr_mask && !ia_attr)
		return RET_BAD_ARG(4);
	if (provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL)
		return RET_BAD_ARG(5);
	if (provider_attr_mask && !provider_attr)
		return RET_BAD_ARG(6);

	ret = ia_query(ia, &arg);
	if (ret)
		return ret;
	/* Another thread may be closing the IA, which frees the body. */
	shim_lock(&ia->lock);
	body = ia->body;
	if (body && ia_attr_mask) {
		ia_attr_out(ia_attr, &arg.ia_attr, body);
		face_ia_attr(ia_attr, body->extensions || ia->ops->counts);
	}
	if (body && provider_attr_mask) {
		provider_attr_out(provider_attr, &arg.provider_attr);
		set = attrs_of(ia, body->extensions, arg.ia_attr.max_rmrs);
		provider_attr->num_provider_specific_attr = set->number;
		provider_attr->provider_specific_attr = (DAT_NAMED_ATTR *)set->attr;
	}
	shim_unlock(&ia->lock);
	if (!body)
		return RET_BAD_HANDLE(IA);
	if (async_evd_handle)
		*async_evd_handle = async_evd_out(arg.async_evd);
	if (provider_attr_mask)
		provider_attr->is_thread_safe = shim_ia_safety(ia, provider_attr->is_thread_safe);
	return DAT_SUCCESS;
}

/* The object that a handle names, whatever its type, or NULL. */
static struct shim_object *any_object(DAT_HANDLE handle)
{
	struct shim_object *obj = shim_points_to_object(handle) ? handle : NULL;

	if (!obj || !atomic_load_explicit(&obj->type, memory_order_acquire))
		return NULL;
	return obj;
}

DAT_RETURN own_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type)
{
	struct shim_object *obj = any_object(dat_handle);
	uint32_t type = obj ? atomic_load(&obj->type) : 0;

	if (!type)
		return RET_BAD_HANDLE1;
	if (!handle_type)
		return RET_BAD_ARG(2);
	*handle_type = type - 1;
	return DAT_SUCCESS;
}

DAT_RETURN own_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	struct shim_object *obj = any_object(dat_handle);

	if (!obj)
		return RET_BAD_HANDLE1;
	atomic_store(&obj->context, context.as_64);
	return DAT_SUCCESS;
}

DAT_RETURN own_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	struct shim_object *obj = any_object(dat_handle);

	if (!obj)
		return RET_BAD_HANDLE1;
	if (!context)
		return RET_BAD_ARG(2);
	context->as_64 = atomic_load(&obj->context);
	return DAT_SUCCESS;
}
