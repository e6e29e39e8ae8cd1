// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opening and closing an IA in passthrough. What it shares with other IAs is in pass_ctx.c. Called
 * by cmd_ia.c. The table of operations is at the end of this file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass_srq.h"

/*
 * The memory of a struct pass_ia is used for other IAs, but never given back: a late thread may
 * look for the endpoints of an IA that is closed, and has to find an empty list.
 */
static struct {
	pthread_mutex_t lock;
	struct pass_ia *free;
} ia_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct pass_ia *pool_take(void)
{
	struct pass_ia *pia;

	pthread_mutex_lock(&ia_pool.lock);
	pia = ia_pool.free;
	if (pia)
		ia_pool.free = pia->next_free;
	pthread_mutex_unlock(&ia_pool.lock);
	if (pia)
		return pia;
	pia = calloc(1, sizeof(*pia));
	if (pia)
		pthread_mutex_init(&pia->lock, NULL);
	return pia;
}

static void pool_give(struct pass_ia *pia)
{
	pthread_mutex_lock(&ia_pool.lock);
	pia->next_free = ia_pool.free;
	ia_pool.free = pia;
	pthread_mutex_unlock(&ia_pool.lock);
}

/* shim_pass_child - in a child of fork(): forget all objects of the parent */
void shim_pass_child(void)
{
	pthread_mutex_init(&ia_pool.lock, NULL);
	ia_pool.free = NULL;
	pass_keeper_child();
	pass_shared_child();
	pass_lmrs_child();
	pass_eps_child();
	pass_srqs_child();
}

/* Opens the device of an IA: "rxe0-1" is port 1 of the device rxe0. */
static bool open_context(struct pass_ia *pia, const char *ia_name)
{
	const char *dash = strrchr(ia_name, '-');

	if (!dash)
		return false;
	pia->port = atoi(dash + 1);
	pia->context = pass_context_get(ia_name, dash - ia_name);
	if (!pia->context)
		return false;
	pia->ctx = pass_context_verbs(pia->context);
	return true;
}

static void close_context(struct pass_ia *pia)
{
	pia->ctx = NULL;
	pass_context_put(pia->context);
}

static const char *pass_open_device(struct pass_ia *pia, const char *ia_name)
{
	struct ibv_device_attr attr;

	if (!open_context(pia, ia_name))
		return "the process cannot open the device with libibverbs";
	if (ibv_query_device(pia->ctx, &attr)) {
		close_context(pia);
		return "the device does not tell its attributes";
	}
	pia->iwarp = pia->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	pia->max_cqe = attr.max_cqe;
	pia->windows = attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW && attr.max_mw;
	return NULL;
}

/*
 * Finds the IA's own entry of the board. A module that does not have these never says that a device
 * has gone.
 */
static DAT_RETURN find_entry(struct pass_ia *pia, uint64_t token)
{
	static const struct kdapl_uapi_board_ep no_entry;
	struct kdapl_uapi_ep_board arg = { .ep = token };
	DAT_RETURN ret;

	pia->entry = &no_entry;
	if (!(shim_dev_features() & KDAPL_FEATURE_IA_BOARD))
		return DAT_SUCCESS;
	ret = shim_ioctl(KDAPL_IOC_EP_BOARD, &arg, RET_NO_FAULT);
	if (!ret && arg.slot >= pia->board_size / sizeof(*pia->board))
		ret = RET_NO_RESOURCE(MEMORY);
	if (!ret)
		pia->entry = &pia->board[arg.slot];
	return ret;
}

/*
 * Has the kernel put the IA into passthrough, which cannot be undone (*@begun), and maps the board.
 * @asked: the user has asked for passthrough; so the kernel allows it even on a driver that damages
 * what processes send.
 *
 * Return: NULL, or why it failed; *@ret: the return code for that
 */
static const char *pass_begin(struct pass_ia *pia, struct shim_object *ia, bool asked,
			      bool *begun, DAT_RETURN *ret)
{
	struct kdapl_uapi_ia_passthrough arg = {
		.uverbs_fd = pia->ctx->cmd_fd,
		.ia = shim_token(ia),
		.hints = KDAPL_VERBS_OWN_SRQS | (asked ? KDAPL_VERBS_ASKED : 0),
	};
	size_t board_size;

	*ret = shim_ioctl(KDAPL_IOC_IA_PASSTHROUGH, &arg, RET_NO_FAULT);
	if (DAT_GET_TYPE(*ret) == DAT_MODEL_NOT_SUPPORTED)
		return "the device's driver is not known to work with it";
	if (*ret)
		return "the kernel refuses it";
	*begun = true;
	board_size = arg.board_size;
	pia->board = pass_board_get(arg.board_offset, &board_size);
	*ret = RET_NO_RESOURCE(MEMORY);
	if (!pia->board)
		return "the kernel's page about endpoints cannot be mapped";
	pia->board_size = board_size;
	pia->hints = arg.hints;
	if (pia->hints & KDAPL_VERBS_WIDE_WINDOWS)
		pia->windows = false;
	*ret = find_entry(pia, arg.ia);
	if (!*ret)
		return NULL;
	pass_board_put();
	return "the kernel does not show whether the device is there";
}

static DAT_RETURN ask_limits(struct pass_ia *pia, struct shim_object *ia)
{
	struct kdapl_uapi_ia_query query = {
		.ia = shim_token(ia),
		.ia_mask = DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE,
	};
	DAT_RETURN ret = shim_ioctl(KDAPL_IOC_IA_QUERY, &query, RET_NO_FAULT);

	if (!ret)
		pia->max_region = query.ia_attr.max_lmr_block_size;
	pia->max_message = query.ia_attr.max_message_size;
	return ret;
}

/*
 * Gives an IA all that it needs for passthrough. Return: NULL, or why that is not possible; *@ret
 * is DAT_INSUFFICIENT_RESOURCES if it is for lack of resources.
 */
static const char *pass_start(struct pass_ia *pia, struct shim_object *ia,
			      const char *ia_name, bool asked, bool *begun, DAT_RETURN *ret)
{
	const char *why;

	if (!(shim_dev_features() & KDAPL_FEATURE_PASSTHROUGH))
		return "the kernel module does not have it";
	if (~shim_dev_features() & (KDAPL_FEATURE_EVENT_LIFE | KDAPL_FEATURE_BOARD_EVENT))
		return "the kernel module is too old for it";
	*ret = RET_NO_RESOURCE(MEMORY);
	if (!pass_lmrs_init())
		return "no memory";
	errno = 0;
	why = pass_open_device(pia, ia_name);
	if (why) {
		*ret = shim_no_room(errno) ? RET_NO_RESOURCE(MEMORY) : RET(MODEL_NOT_SUPPORTED);
		return why;
	}
	*ret = ask_limits(pia, ia);
	why = *ret ? "the kernel does not tell its limits" :
		     pass_begin(pia, ia, asked, begun, ret);
	if (why)
		close_context(pia);
	return why;
}

/* What the device can by queues of the process, which may be more than the kernel can. */
static uint32_t own_extensions(uint32_t extensions)
{
	if (extensions & KDAPL_EXT_OWN_ATOMIC)
		extensions |= KDAPL_CAN_ATOMIC;
	return extensions & (KDAPL_CAN_IMMED | KDAPL_CAN_ATOMIC);
}

/*
 * shim_pass_open - put an IA that was opened just now into passthrough, if it is to have it
 * @mode: the mode that was asked for
 * @asked_by: who asked for it (a variable, a file), for the message
 *
 * If passthrough was asked for and cannot be had, a line on stderr says why; with DAT_DEBUG the
 * line about the failed open does.
 *
 * Return: DAT_SUCCESS: the IA is in passthrough, or stays forwarded if @mode allows that;
 * DAT_MODEL_NOT_SUPPORTED; DAT_INSUFFICIENT_RESOURCES/MEMORY. After an error the caller has to
 * close the IA.
 */
DAT_RETURN shim_pass_open(struct shim_object *ia, const char *ia_name,
			  enum shim_mode mode, const char *asked_by)
{
	struct shim_ia *body = ia->body;
	struct pass_ia *pia;
	bool begun = false;
	DAT_RETURN ret = RET(MODEL_NOT_SUPPORTED);
	const char *why;

	if (mode == SHIM_MODE_FORWARDED)
		return DAT_SUCCESS;
	pia = pool_take();
	if (!pia)
		return RET_NO_RESOURCE(MEMORY);
	pia->token = shim_token(ia);
	pia->extensions = own_extensions(body->extensions);
	pia->eps = NULL;
	pia->zones = NULL;
	pia->srqs = NULL;
	atomic_store(&pia->closing, false);
	why = pass_start(pia, ia, ia_name, mode == SHIM_MODE_PASSTHROUGH, &begun, &ret);
	if (!why) {
		atomic_store(&pia->refs, 1);
		atomic_store(&ia->pass, pia);
		ia->ops = &shim_passthrough;
		body->extensions = pia->extensions;
		return DAT_SUCCESS;
	}
	pool_give(pia);
	if (mode == SHIM_MODE_AUTO)
		return begun ? RET_NO_RESOURCE(MEMORY) : DAT_SUCCESS;
	shim_mode_refused(ia_name, asked_by, why);
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ? ret :
								 RET(MODEL_NOT_SUPPORTED);
}

/* ---- closing ----------------------------------------------------------- */

/* Ends waits for an EVD that sleep in the ppoll(2) of the library (E39). */
static void close_evd(struct shim_object *obj, void *arg)
{
	struct pass_evd *evd;

	(void)arg;
	if (!shim_lives(obj, SHIM_EVD))
		return;
	shim_lock(&obj->lock);
	evd = pass_evd_of(obj);
	if (evd) {
		evd->dead = true;
		pass_evd_wake(evd);
	}
	shim_unlock(&obj->lock);
}

static const struct closer {
	uint32_t type;
	void (*close)(struct shim_object *obj);
} closers[] = {
	{ SHIM_SRQ, pass_srq_close }, { SHIM_RMR, pass_rmr_close }, { SHIM_LMR, pass_lmr_close },
};

static void close_object(struct shim_object *obj, void *arg)
{
	const struct closer *closer = arg;

	if (shim_lives(obj, closer->type))
		closer->close(obj);
}

/* Gives up the objects of the IA: queue pairs first, then what these could use. */
static void ia_closing(struct shim_object *ia)
{
	struct pass_ia *pia = ia->pass;
	struct shim_object *obj;
	struct pass_ep *ep;
	size_t i;

	atomic_store(&pia->closing, true);
	shim_for_each(ia, close_evd, NULL);
	for (;;) {
		pthread_mutex_lock(&pia->lock);
		ep = pia->eps;
		if (ep)
			atomic_fetch_add(&ep->refs, 1);
		pthread_mutex_unlock(&pia->lock);
		if (!ep)
			break;
		obj = ep->obj;
		if (obj)
			atomic_store(&obj->pass, NULL);
		pass_end_close(ep);
		pass_ep_put(ep);
	}
	for (i = 0; i < sizeof(closers) / sizeof(*closers); i++)
		shim_for_each(ia, close_object, (void *)&closers[i]);
}

/*
 * pass_ia_get - take a reference of the IA of an object, which keeps its context
 *
 * Return: NULL if the IA is closed. If it is closed at this moment, the result may be another IA
 * that has got the same memory. That does no harm: the object has died with its own IA, and has
 * nothing that belongs to the other one.
 */
struct pass_ia *pass_ia_get(const struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_of(obj);
	unsigned int refs = pia ? atomic_load(&pia->refs) : 0;

	while (refs)
		if (atomic_compare_exchange_weak(&pia->refs, &refs, refs + 1))
			return pia;
	return NULL;
}

void pass_ia_put(struct pass_ia *pia)
{
	struct pass_pz *pz;

	if (atomic_fetch_sub(&pia->refs, 1) != 1)
		return;
	while (pia->zones) {
		pz = pia->zones;
		pia->zones = pz->next;
		pass_pz_drop(pz);
	}
	pass_board_put();
	close_context(pia);
	pool_give(pia);
}

static void ia_closed(struct shim_object *ia)
{
	pass_ia_put(atomic_exchange(&ia->pass, NULL));
}

const struct shim_ops shim_passthrough = {
	.name = "passthrough",
	.passthrough = true,
	.pz_made = pass_pz_made,
	.pz_free = pass_pz_free,
	.lmr_create = pass_lmr_create,
	.lmr_query = pass_lmr_query,
	.lmr_free = pass_lmr_free,
	.lmr_sync = pass_lmr_sync,
	.rmr_create = pass_rmr_create,
	.rmr_query = pass_rmr_query,
	.rmr_bind = pass_rmr_bind,
	.rmr_free = pass_rmr_free,
	.evd_made = pass_evd_made,
	.evd_gone = pass_evd_gone,
	.evd_poll_fd = pass_evd_poll_fd,
	.evd_rearm = pass_evd_rearm,
	.evd_notifies = pass_evd_notifies,
	.evd_queued = pass_evd_queued,
	.evd_dequeue = pass_evd_dequeue,
	.evd_wait = pass_evd_wait,
	.evd_set_waitable = pass_evd_set_waitable,
	.ep_made = pass_ep_made,
	.ep_modify = pass_ep_modify,
	.ep_connect = pass_ep_connect,
	.ep_dup_connect = pass_ep_dup_connect,
	.cr_accept = pass_cr_accept,
	.ep_disconnect = pass_ep_disconnect,
	.ep_reset = pass_ep_reset,
	.ep_free = pass_ep_free,
	.ep_gone = pass_ep_gone,
	.ep_status = pass_ep_status,
	.ep_recv_query = pass_ep_recv_query,
	.srq_made = pass_srq_made,
	.srq_free = pass_srq_free,
	.srq_post_recv = pass_srq_post_recv,
	.srq_query = pass_srq_query,
	.srq_resize = pass_srq_resize,
	.srq_set_lw = pass_srq_set_lw,
	.ia_closing = ia_closing,
	.ia_closed = ia_closed,
	.post_send = pass_post_send,
	.post_recv = pass_post_recv,
	.post_read = pass_post_read,
	.post_write = pass_post_write,
	.post_extension = pass_post_extension,
};
