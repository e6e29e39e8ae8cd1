// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters of IAs, EPs and EVDs, as the extensions of DAT 2.0 have them.  An IA counts if it was
 * opened by somebody who asked for it (face_count()): then it and its objects have a table of
 * functions that count and go on to those of the mode (struct shim_ops).  The others pay nothing.
 *
 * What is counted is what the library does and sees: calls that succeeded, and events when they
 * are taken.  Counters of what only a device or the connection manager knows are always 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

/* Behind the counters of an EP: it has asked for its connection, and was not asked. */
#define EP_ACTIVE	DCNT_EP_ALL_COUNTERS

_Static_assert((int)EP_ACTIVE < (int)DCNT_IA_ALL_COUNTERS &&
	       (int)DCNT_EVD_ALL_COUNTERS < (int)DCNT_IA_ALL_COUNTERS,
	       "the counters of an IA are most, and all kinds of objects have room for as many");

/* The counters of an object, which stay with its place in the table of objects; NULL: no memory. */
static atomic_uint_least64_t *counters(struct shim_object *obj)
{
	atomic_uint_least64_t *made, *first = atomic_load(&obj->counters);

	if (first)
		return first;
	made = calloc(DCNT_IA_ALL_COUNTERS, sizeof(*made));
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(&obj->counters, &first, made))
		return made;
	free(made);
	return first;
}

static void count_by(struct shim_object *obj, unsigned int which, uint64_t by)
{
	atomic_uint_least64_t *of = counters(obj);

	if (of)
		atomic_fetch_add_explicit(&of[which], by, memory_order_relaxed);
}

static void count(struct shim_object *obj, unsigned int which)
{
	count_by(obj, which, 1);
}

/* The place in the table may have been another object's. */
static void begin(struct shim_object *obj)
{
	atomic_uint_least64_t *of = counters(obj);
	unsigned int i;

	for (i = 0; of && i < DCNT_IA_ALL_COUNTERS; i++)
		atomic_store(&of[i], 0);
}

/* ---- objects ------------------------------------------------------------------ */

static const struct shim_ops *plain(const struct shim_object *obj)
{
	return obj->ops->plain;
}

/* @ret is that of the call that was to do it. */
static uint32_t counted(uint32_t ret, struct shim_object *obj, unsigned int which)
{
	if (!ret)
		count(obj->ia, which);
	return ret;
}

static uint32_t pz_made(struct shim_object *pz)
{
	return counted(plain(pz)->pz_made(pz), pz, DCNT_IA_PZ_CREATE);
}

static uint32_t pz_free(struct shim_object *pz)
{
	return counted(plain(pz)->pz_free(pz), pz, DCNT_IA_PZ_FREE);
}

static uint32_t lmr_create(struct kdapl_uapi_lmr_create *arg, struct shim_object *pz,
			   struct shim_lmr *body, struct shim_object **lmr)
{
	return counted(plain(pz)->lmr_create(arg, pz, body, lmr), pz, DCNT_IA_LMR_CREATE);
}

static uint32_t lmr_free(struct shim_object *lmr)
{
	return counted(plain(lmr)->lmr_free(lmr), lmr, DCNT_IA_LMR_FREE);
}

static uint32_t rmr_create(struct shim_object *pz, struct shim_object **rmr)
{
	return counted(plain(pz)->rmr_create(pz, rmr), pz, DCNT_IA_RMR_CREATE);
}

static uint32_t rmr_free(struct shim_object *rmr)
{
	return counted(plain(rmr)->rmr_free(rmr), rmr, DCNT_IA_RMR_FREE);
}

static uint32_t srq_made(struct shim_object *srq, const struct kdapl_uapi_srq_create *arg)
{
	return counted(plain(srq)->srq_made(srq, arg), srq, DCNT_IA_SRQ_CREATE);
}

static uint32_t srq_free(struct shim_object *srq)
{
	return counted(plain(srq)->srq_free(srq), srq, DCNT_IA_SRQ_FREE);
}

static uint32_t evd_made(struct shim_object *evd)
{
	begin(evd);
	return counted(plain(evd)->evd_made(evd), evd, DCNT_IA_EVD_CREATE);
}

static void evd_gone(struct shim_object *evd, struct shim_evd *body)
{
	count(evd->ia, DCNT_IA_EVD_FREE);
	plain(evd)->evd_gone(evd, body);
}

static uint32_t ep_made(struct shim_object *ep)
{
	begin(ep);
	return counted(plain(ep)->ep_made(ep), ep, DCNT_IA_EP_CREATE);
}

static uint32_t ep_free(struct shim_object *ep)
{
	return counted(plain(ep)->ep_free(ep), ep, DCNT_IA_EP_FREE);
}

/* ---- connections -------------------------------------------------------------- */

static uint32_t connecting(uint32_t ret, struct shim_object *ep)
{
	atomic_uint_least64_t *of = counters(ep);

	if (ret)
		return ret;
	if (of)
		atomic_store(&of[EP_ACTIVE], true);
	count(ep, DCNT_EP_CONNECT);
	count(ep->ia, DCNT_IA_CM_REQ_TX);
	return DAT_SUCCESS;
}

static uint32_t ep_connect(struct shim_object *ep, struct kdapl_uapi_ep_connect *arg)
{
	return connecting(plain(ep)->ep_connect(ep, arg), ep);
}

static uint32_t ep_dup_connect(struct shim_object *ep, struct kdapl_uapi_ep_dup_connect *arg)
{
	return connecting(plain(ep)->ep_dup_connect(ep, arg), ep);
}

/* What comes next may be an acceptance. */
static uint32_t ep_reset(struct shim_object *ep)
{
	atomic_uint_least64_t *of = counters(ep);
	uint32_t ret = plain(ep)->ep_reset(ep);

	if (of && !ret)
		atomic_store(&of[EP_ACTIVE], false);
	return ret;
}

static uint32_t ep_disconnect(struct shim_object *ep, uint32_t flags)
{
	uint32_t ret = plain(ep)->ep_disconnect(ep, flags);

	if (!ret)
		count(ep, DCNT_EP_DISCONNECT);
	return ret;
}

static void sp_called(struct shim_object *ia, enum shim_sp_call call)
{
	static const int which[] = {
		[SHIM_PSP_CREATE] = DCNT_IA_PSP_CREATE,
		[SHIM_PSP_CREATE_ANY] = DCNT_IA_PSP_CREATE_ANY,
		[SHIM_PSP_FREE] = DCNT_IA_PSP_FREE,
		[SHIM_RSP_CREATE] = DCNT_IA_RSP_CREATE,
		[SHIM_RSP_FREE] = DCNT_IA_RSP_FREE,
		[SHIM_CR_REJECT] = DCNT_IA_SP_CR_REJECTED,
	};

	count(ia, which[call]);
	if (call == SHIM_CR_REJECT)
		count(ia, DCNT_IA_CM_USER_REJ_TX);
}

/* ---- events ------------------------------------------------------------------- */

static void completed(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct shim_object *ep = shim_find(dto->ep_handle, SHIM_EP);

	if (!ep || dto->status != DAT_DTO_SUCCESS)
		return;
	switch ((int)dto->operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
		count(ep, DCNT_EP_RECV);
		count_by(ep, DCNT_EP_RECV_DATA, dto->transfered_length);
		break;
	case DAT_IB_DTO_RECV_IMMED:
		count(ep, DCNT_EP_RECV_RDMA_IMM);
		count_by(ep, DCNT_EP_RECV_RDMA_IMM_DATA, dto->transfered_length);
	}
}

static void established(const DAT_EVENT *event, struct shim_object *ia)
{
	struct shim_object *ep = shim_find(event->event_data.connect_event_data.ep_handle, SHIM_EP);
	atomic_uint_least64_t *of = ep ? counters(ep) : NULL;

	if (!of)
		return;
	if (of[EP_ACTIVE]) {
		count(ia, DCNT_IA_CM_ACTIVE_EST);
	} else {
		count(ia, DCNT_IA_SP_CR_ACCEPTED);
		count(ia, DCNT_IA_CM_PASSIVE_EST);
	}
}

/* What an event of a connection, or of an error, adds to the counters of the IA; -1: nothing */
static int of_ia(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return DCNT_IA_CM_USER_REJ_RX;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return DCNT_IA_CM_ERR_REFUSED;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return DCNT_IA_CM_ERR_TIMEOUT;
	case DAT_ASYNC_ERROR_EP_BROKEN:
		return DCNT_IA_ASYNC_QP_ERROR;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		return DCNT_IA_ASYNC_CQ_ERROR;
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		return DCNT_IA_ASYNC_ERROR;
	default:
		return -1;
	}
}

static void taken(struct shim_object *evd, const DAT_EVENT *event)
{
	int which = of_ia(event->event_number);

	if (which >= 0)
		count(evd->ia, which);
	switch ((int)event->event_number) {
	case DAT_IB_DTO_EVENT:
	case DAT_DTO_COMPLETION_EVENT:
		completed(&event->event_data.dto_completion_event_data);
		count(evd, DCNT_EVD_DTO_CALLBACK);
		return;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		count(evd, DCNT_EVD_DTO_CALLBACK);
		return;
	case DAT_CONNECTION_REQUEST_EVENT:
		count(evd->ia, DCNT_IA_SP_CR);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		established(event, evd->ia);
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		break;
	default:
		return;
	}
	count(evd, DCNT_EVD_CONN_CALLBACK);
}

static uint32_t evd_dequeue(struct shim_object *evd, DAT_EVENT *event)
{
	uint32_t ret = plain(evd)->evd_dequeue(evd, event);

	count(evd, DCNT_EVD_DEQUEUE);
	count(evd, ret ? DCNT_EVD_DEQUEUE_NOT_FOUND : DCNT_EVD_DEQUEUE_FOUND);
	if (!ret)
		taken(evd, event);
	return ret;
}

static uint32_t evd_wait(struct shim_object *evd, struct kdapl_uapi_evd_wait *arg,
			 DAT_EVENT *event, DAT_COUNT *more)
{
	uint32_t ret = plain(evd)->evd_wait(evd, arg, event, more);

	count(evd, DCNT_EVD_WAIT);
	if (!ret)
		taken(evd, event);
	return ret;
}

/* ---- posts -------------------------------------------------------------------- */

/* @which counts posts, and the next counter their bytes. */
static uint32_t posted(uint32_t ret, struct shim_object *ep, DAT_COUNT segments,
		       const DAT_LMR_TRIPLET *iov, unsigned int which)
{
	uint64_t bytes = 0;
	DAT_COUNT i;

	if (ret)
		return ret;
	for (i = 0; i < segments; i++)
		bytes += iov[i].segment_length;
	count(ep, which);
	count_by(ep, which + 1, bytes);
	return DAT_SUCCESS;
}

static uint32_t post_send(struct shim_object *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			  uint64_t cookie, uint32_t flags)
{
	return posted(plain(ep)->post_send(ep, segments, iov, cookie, flags), ep, segments, iov,
		      DCNT_EP_POST_SEND);
}

static uint32_t post_recv(struct shim_object *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			  uint64_t cookie, uint32_t flags)
{
	return posted(plain(ep)->post_recv(ep, segments, iov, cookie, flags), ep, segments, iov,
		      DCNT_EP_POST_RECV);
}

static uint32_t post_read(struct shim_object *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			  uint64_t cookie, const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return posted(plain(ep)->post_read(ep, segments, iov, cookie, remote, flags), ep, segments,
		      iov, DCNT_EP_POST_READ);
}

static uint32_t post_write(struct shim_object *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			   uint64_t cookie, const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	return posted(plain(ep)->post_write(ep, segments, iov, cookie, remote, flags), ep, segments,
		      iov, DCNT_EP_POST_WRITE);
}

static uint32_t post_extension(struct shim_object *ep, const struct shim_request *request)
{
	uint32_t ret = plain(ep)->post_extension(ep, request);

	if (request->op == KDAPL_OP_RDMA_WRITE_IMMED)
		return posted(ret, ep, request->segments, request->iov, DCNT_EP_POST_WRITE_IMM);
	if (!ret)
		count(ep, request->op == KDAPL_OP_CMP_SWAP ? DCNT_EP_POST_CMP_SWAP :
							     DCNT_EP_POST_FETCH_ADD);
	return ret;
}

/* ---- who counts ----------------------------------------------------------------- */

static void make_counting(struct shim_ops *ops, const struct shim_ops *plain)
{
	ops->counts = true;
	ops->plain = plain;
	ops->sp_called = sp_called;
	ops->pz_made = pz_made;
	ops->pz_free = pz_free;
	ops->lmr_create = lmr_create;
	ops->lmr_free = lmr_free;
	ops->rmr_create = rmr_create;
	ops->rmr_free = rmr_free;
	ops->srq_made = srq_made;
	ops->srq_free = srq_free;
	ops->evd_made = evd_made;
	ops->evd_gone = evd_gone;
	ops->evd_dequeue = evd_dequeue;
	ops->evd_wait = evd_wait;
	ops->ep_made = ep_made;
	ops->ep_free = ep_free;
	ops->ep_connect = ep_connect;
	ops->ep_dup_connect = ep_dup_connect;
	ops->ep_reset = ep_reset;
	ops->ep_disconnect = ep_disconnect;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_read = post_read;
	ops->post_write = post_write;
	ops->post_extension = post_extension;
}

/* face_count - an object counts from now on, from 0; those that are made of an IA do as it does */
void face_count(struct shim_object *obj)
{
	static struct shim_ops *_Atomic made[2];

	obj->ops = shim_ops_over(obj->ops, &made[obj->ops->passthrough], make_counting);
	begin(obj);
}

/* ---- who asks ------------------------------------------------------------------- */

#define NAME(counter) \
[(counter)] = #counter

static const char *const ia_names[DCNT_IA_ALL_COUNTERS] = {
	NAME(DCNT_IA_PZ_CREATE), NAME(DCNT_IA_PZ_FREE), NAME(DCNT_IA_LMR_CREATE),
	NAME(DCNT_IA_LMR_FREE), NAME(DCNT_IA_RMR_CREATE), NAME(DCNT_IA_RMR_FREE),
	NAME(DCNT_IA_PSP_CREATE), NAME(DCNT_IA_PSP_CREATE_ANY), NAME(DCNT_IA_PSP_FREE),
	NAME(DCNT_IA_RSP_CREATE), NAME(DCNT_IA_RSP_FREE),
	NAME(DCNT_IA_EVD_CREATE), NAME(DCNT_IA_EVD_FREE), NAME(DCNT_IA_EP_CREATE),
	NAME(DCNT_IA_EP_FREE), NAME(DCNT_IA_SRQ_CREATE), NAME(DCNT_IA_SRQ_FREE),
	NAME(DCNT_IA_SP_CR), NAME(DCNT_IA_SP_CR_ACCEPTED), NAME(DCNT_IA_SP_CR_REJECTED),
	NAME(DCNT_IA_ASYNC_ERROR),
	NAME(DCNT_IA_ASYNC_QP_ERROR), NAME(DCNT_IA_ASYNC_CQ_ERROR), NAME(DCNT_IA_CM_REQ_TX),
	NAME(DCNT_IA_CM_USER_REJ_TX), NAME(DCNT_IA_CM_USER_REJ_RX),
	NAME(DCNT_IA_CM_ACTIVE_EST), NAME(DCNT_IA_CM_PASSIVE_EST),
	NAME(DCNT_IA_CM_ERR_REFUSED), NAME(DCNT_IA_CM_ERR_TIMEOUT),
};

static const char *const ep_names[DCNT_EP_ALL_COUNTERS] = {
	NAME(DCNT_EP_CONNECT), NAME(DCNT_EP_DISCONNECT), NAME(DCNT_EP_POST_SEND),
	NAME(DCNT_EP_POST_SEND_DATA), NAME(DCNT_EP_POST_RECV), NAME(DCNT_EP_POST_RECV_DATA),
	NAME(DCNT_EP_POST_WRITE), NAME(DCNT_EP_POST_WRITE_DATA), NAME(DCNT_EP_POST_WRITE_IMM),
	NAME(DCNT_EP_POST_WRITE_IMM_DATA), NAME(DCNT_EP_POST_READ), NAME(DCNT_EP_POST_READ_DATA),
	NAME(DCNT_EP_POST_CMP_SWAP), NAME(DCNT_EP_POST_FETCH_ADD), NAME(DCNT_EP_RECV),
	NAME(DCNT_EP_RECV_DATA), NAME(DCNT_EP_RECV_RDMA_IMM), NAME(DCNT_EP_RECV_RDMA_IMM_DATA),
};

static const char *const evd_names[DCNT_EVD_ALL_COUNTERS] = {
	NAME(DCNT_EVD_WAIT), NAME(DCNT_EVD_DEQUEUE), NAME(DCNT_EVD_DEQUEUE_FOUND),
	NAME(DCNT_EVD_DEQUEUE_NOT_FOUND), NAME(DCNT_EVD_CONN_CALLBACK),
	NAME(DCNT_EVD_DTO_CALLBACK),
};

/* struct kind - the counters that an object of a type has; the last number asks for all */
static const struct kind {
	uint32_t type;
	unsigned int number;
	const char *const *names;
} kinds[] = {
	{ SHIM_IA, DCNT_IA_ALL_COUNTERS, ia_names },
	{ SHIM_EP, DCNT_EP_ALL_COUNTERS, ep_names },
	{ SHIM_EVD, DCNT_EVD_ALL_COUNTERS, evd_names },
};

/* @kind: out: of the object; @first, @end: out: which counters are asked for */
static DAT_RETURN asked(DAT_HANDLE handle, int counter, const struct kind **kind,
			unsigned int *first, unsigned int *end)
{
	struct shim_object *obj = NULL;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && !obj; i++) {
		*kind = &kinds[i];
		obj = shim_find(handle, kinds[i].type);
	}
	if (!obj)
		return RET_BAD_HANDLE1;
	if (counter < 0 || (unsigned int)counter > (*kind)->number)
		return RET_BAD_ARG(3);
	*first = (unsigned int)counter < (*kind)->number ? counter : 0;
	*end = (unsigned int)counter < (*kind)->number ? *first + 1 : (*kind)->number;
	return obj->ops->counts ? DAT_SUCCESS : RET(NOT_IMPLEMENTED);
}

static uint64_t take(struct shim_object *obj, unsigned int which, bool reset)
{
	atomic_uint_least64_t *of = counters(obj);

	if (!of)
		return 0;
	return reset ? atomic_exchange(&of[which], 0) : atomic_load(&of[which]);
}

/* face_query_counters - DAT_IB_QUERY_COUNTERS_OP: one counter, or all of them in their order */
DAT_RETURN face_query_counters(DAT_HANDLE handle, int counter, DAT_UINT64 *out, bool reset)
{
	const struct kind *kind;
	unsigned int i, first, end;
	DAT_RETURN ret = asked(handle, counter, &kind, &first, &end);

	if (ret)
		return ret;
	if (!out)
		return RET_BAD_ARG(4);
	for (i = first; i < end; i++)
		*out++ = take(handle, i, reset);
	return DAT_SUCCESS;
}

/* face_print_counters - DAT_IB_PRINT_COUNTERS_OP: to standard output, but for those that are 0 */
DAT_RETURN face_print_counters(DAT_HANDLE handle, int counter, bool reset)
{
	const struct kind *kind;
	unsigned int i, first, end;
	DAT_RETURN ret = asked(handle, counter, &kind, &first, &end);
	uint64_t value;

	if (ret)
		return ret;
	for (i = first; i < end; i++) {
		value = take(handle, i, reset);
		if (value && kind->names[i])
			printf("%s %llu\n", kind->names[i], (unsigned long long)value);
	}
	return DAT_SUCCESS;
}
