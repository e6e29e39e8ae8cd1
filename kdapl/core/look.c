// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is told of live objects to those who watch: a walk through the objects of a space,
 * and what each of them says of itself (A13).
 *
 * The walk goes by the slots of handles, which an object keeps for life.  So it needs no
 * lock, can be interrupted and continued at any slot, and meets an object that is there all
 * the time exactly once.  A reference keeps the memory of an object meanwhile, but nothing
 * else of it: the object may be freed, and its adapter closed, while somebody looks.
 *
 * What is read under one lock belongs to one moment; other numbers may belong to moments a
 * little apart.
 *
 * Callers: face/netlink.c, face/debugfs.c.
 */
#include <linux/sched.h>
#include "look.h"
#include "rmr.h"
#include "sp.h"
#include "srq.h"

/* The next object in the same chunk of slots; by chunks, so that RCU read sections are short. */
static struct kdapl_object *next_in_chunk(struct kdapl_space *space, u32 *index,
					  bool *over)
{
	struct kdapl_object *obj = NULL;

	rcu_read_lock();
	*over = *index / KDAPL_CHUNK_SLOTS >= rcu_dereference(space->slots)->nr_chunks;
	while (!*over && !obj) {
		obj = kdapl_slot_object(space, *index);
		if (obj && !refcount_inc_not_zero(&obj->ref))
			obj = NULL;
		++*index;
		if (*index % KDAPL_CHUNK_SLOTS == 0)
			break;
	}
	rcu_read_unlock();
	return obj;
}

/**
 * kdapl_look_next - the next live object of a space
 * @space: stays as long as the call takes
 * @index: where to look for it, at first 0; then where to go on.  Objects that were there
 *	   during a whole walk, and have a handle, come up once
 *
 * May sleep.
 *
 * Return: the object, with a reference; NULL: there is none any more.
 */
struct kdapl_object *kdapl_look_next(struct kdapl_space *space, u32 *index)
{
	struct kdapl_object *obj;
	bool over;

	do {
		cond_resched();
		obj = next_in_chunk(space, index, &over);
	} while (!obj && !over);
	return obj;
}

static u64 token_or_null(const struct kdapl_object *obj)
{
	return obj ? obj->token : 0;
}

#define TOKEN(ptr)						\
({								\
	typeof(ptr) __of = (ptr);				\
								\
	token_or_null(__of ? &__of->obj : NULL);		\
})

static void look_at_peer(struct kdapl_look *look, const struct sockaddr_storage *address,
			 u64 remote_qual)
{
	look->remote = *address;
	look->remote_qual = remote_qual;
}

static void look_at_ep(struct kdapl_look *look, struct kdapl_ep *ep)
{
	struct kdapl_look_ep *at = &look->ep;

	spin_lock_irq(&ep->lock);
	at->state = ep->state;
	at->life = ep->bind_life;
	at->requests = READ_ONCE(ep->req.posted) - READ_ONCE(ep->req.completed);
	/* In passthrough the process has the rings. */
	at->max_requests = ep->req.size ?: ep->attr.max_request_dtos;
	at->recvs = READ_ONCE(ep->recv.posted) - READ_ONCE(ep->recv.completed);
	at->max_recvs = ep->recv.size ?: ep->attr.max_recv_dtos;
	/* The objects that a freed endpoint has used may have been freed, too. */
	if (ep->state != KDAPL_EP_GONE) {
		at->pz = TOKEN(ep->use.pz);
		at->recv_evd = TOKEN(ep->use.recv_evd);
		at->request_evd = TOKEN(ep->use.request_evd);
		at->connect_evd = TOKEN(ep->use.connect_evd);
		at->srq = TOKEN(ep->use.srq);
	}
	if (ep->conn) {
		at->qp = READ_ONCE(ep->conn->qp.num);
		look->pages = READ_ONCE(ep->conn->qp.charge.pages);
		look_at_peer(look, &ep->remote, ep->remote_qual);
		look->local_qual = ep->local_qual;
	}
	spin_unlock_irq(&ep->lock);
}

static void look_at_evd(struct kdapl_look *look, struct kdapl_evd *evd)
{
	struct kdapl_look_evd *at = &look->event;
	const struct kdapl_evd_cq *c;

	spin_lock_irq(&evd->lock);
	at->queued = evd->nr_fifo;
	at->qlen = evd->qlen;
	at->cqes = evd->cq_size;
	at->overflowed = evd->overflowed;
	at->dropped = evd->dropped;
	list_for_each_entry(c, &evd->cqs, on_evd)
		look->pages += READ_ONCE(c->cq.charge.pages);
	spin_unlock_irq(&evd->lock);
}

/* 0 once the device is gone, since memory has no pages any more then. */
static u64 lmr_pages(const struct kdapl_lmr *lmr, u64 start, u64 length)
{
	if (!length || (!lmr->max_pages && !READ_ONCE(lmr->region)))
		return 0;
	return ((start + length - 1) >> PAGE_SHIFT) - (start >> PAGE_SHIFT) + 1;
}

static void look_at_lmr(struct kdapl_look *look, struct kdapl_lmr *lmr)
{
	struct kdapl_look_memory *at = &look->memory;
	u64 start = lmr->start;

	at->length = lmr->length;
	if (lmr->max_pages) {
		spin_lock_irq(&lmr->list_lock);
		start = lmr->list.offset;
		at->length = lmr->list.sg ? lmr->list.length : 0;
		spin_unlock_irq(&lmr->list_lock);
	}
	at->pz = TOKEN(lmr->pz);
	at->lmr_context = READ_ONCE(lmr->context);
	at->rmr_context = READ_ONCE(lmr->rmr_context);
	at->privileges = lmr->privileges;
	look->pages = lmr_pages(lmr, start, at->length);
}

static void look_at_rmr(struct kdapl_look *look, struct kdapl_rmr *rmr)
{
	struct kdapl_look_memory *at = &look->memory;

	at->pz = TOKEN(rmr->pz);
	spin_lock_irq(&rmr->lock);
	at->lmr = TOKEN(rmr->now.lmr);
	if (at->lmr) {
		at->length = rmr->now.triplet.segment_length;
		at->privileges = rmr->now.privileges;
		at->rmr_context = rmr->now.context;
	}
	spin_unlock_irq(&rmr->lock);
}

static void look_at_srq(struct kdapl_look *look, struct kdapl_srq *srq)
{
	struct kdapl_look_srq *at = &look->srq;

	spin_lock_irq(&srq->lock);
	at->broken = srq->broken;
	at->recvs = srq->outstanding;
	at->max_recvs = srq->max;
	at->low_watermark = srq->lw;
	at->pz = TOKEN(srq->pz);
	look->pages = READ_ONCE(srq->rq.charge.pages);
	spin_unlock_irq(&srq->lock);
}

/* While a CR is being answered its lock is held for long: then no peer is shown. */
static void look_at_cr(struct kdapl_look *look, struct kdapl_cr *cr)
{
	if (!mutex_trylock(&cr->lock))
		return;
	if (cr->conn) {
		look_at_peer(look, &cr->conn->peer, cr->conn->peer_port);
		look->local_qual = cr->conn->qual;
	}
	mutex_unlock(&cr->lock);
}

/**
 * kdapl_look_at - look at an object
 * @look: out
 * @obj: with a reference, which has to stay as long as @look is used
 *
 * Takes the object's own lock, for as long as it takes to copy a few numbers.  Nothing in
 * @look is a kernel address, or a key of the device for local memory alone.  But with some
 * drivers the rmr_context of an LMR or RMR, which is for peers, opens local memory as well:
 * that of a kernel consumer must not be told.  Process context.
 */
void kdapl_look_at(struct kdapl_look *look, struct kdapl_object *obj)
{
	memset(look, 0, sizeof(*look));
	look->obj = obj;
	look->refs = refcount_read(&obj->ref) - 1;
	/* Of an object that is being freed it is far below zero. */
	look->users = max(atomic_read(&obj->users), 0);
	switch (obj->type) {
	case KDAPL_EP:
		look_at_ep(look, kdapl_ep_of(obj));
		break;
	case KDAPL_EVD:
		look_at_evd(look, kdapl_evd_of(obj));
		break;
	case KDAPL_LMR:
		look_at_lmr(look, kdapl_lmr_of(obj));
		break;
	case KDAPL_RMR:
		look_at_rmr(look, container_of(obj, struct kdapl_rmr, obj));
		break;
	case KDAPL_PSP:
	case KDAPL_RSP:
		look->local_qual = kdapl_sp_qual(container_of(obj, struct kdapl_sp, obj));
		look->evd = TOKEN(container_of(obj, struct kdapl_sp, obj)->evd);
		break;
	case KDAPL_SRQ:
		look_at_srq(look, kdapl_srq_of(obj));
		break;
	case KDAPL_CR:
		look_at_cr(look, kdapl_cr_of(obj));
		break;
	default:
		break;
	}
}

/* An LMR that was made over another one has its pages, which are counted there. */
static bool look_is_charged(const struct kdapl_look *look)
{
	return look->obj->type != KDAPL_LMR ||
	       kdapl_lmr_of(look->obj)->mem_type != DAT_MEM_TYPE_LMR;
}

/**
 * kdapl_look_sum - look at all objects of a space
 * @sum: out
 * @space: stays as long as the call takes
 *
 * May sleep.
 */
void kdapl_look_sum(struct kdapl_look_sum *sum, struct kdapl_space *space)
{
	struct kdapl_object *obj;
	struct kdapl_look look;
	u32 index = 0;

	memset(sum, 0, sizeof(*sum));
	while ((obj = kdapl_look_next(space, &index))) {
		kdapl_look_at(&look, obj);
		sum->objects[obj->type]++;
		if (obj->type == KDAPL_IA)
			sum->ias[kdapl_ia_is_passthrough(obj->ia)]++;
		if (space->user && look_is_charged(&look))
			sum->pages += look.pages;
		kdapl_object_put(obj);
	}
}
