// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a life remembers: the objects that its calls made, told of or ended.  All threads of
 * the life share it; what a race between them has left in it may be out of date, but an object
 * that is marked dead is dead: the call that freed it has returned.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fuzz.h"

static bool fits(const struct object *o, enum type type, unsigned int side, bool alive)
{
	return o->handle && o->side == side && o->alive == alive &&
	       (type == TYPES || o->type == type);
}

static bool is_liked(const struct object *o, const struct liking *liking)
{
	return (!liking->ia || (o->type == T_IA ? o->handle : o->ia) == liking->ia) &&
	       (o->flags & liking->flags) == liking->flags;
}

/* One of those that are wanted, by chance; @but: any type but that */
static bool pick(struct worker *w, enum type type, bool but, unsigned int side, bool alive,
		 const struct liking *liking, struct object *found)
{
	struct life *life = w->life;
	unsigned int i, seen = 0, liked = 0;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++) {
		const struct object *o = &life->objects[i];

		if (!fits(o, but ? TYPES : type, side, alive) || (but && o->type == type))
			continue;
		seen++;
		if (is_liked(o, liking) ? !below(w, ++liked) : !liked && !below(w, seen))
			*found = *o;
	}
	pthread_mutex_unlock(&life->lock);
	return seen;
}

bool object_pick_liked(struct worker *w, enum type type, unsigned int side,
		       const struct liking *liking, struct object *found)
{
	return pick(w, type, false, side, true, liking, found);
}

bool object_pick(struct worker *w, enum type type, unsigned int side, bool alive,
		 struct object *found)
{
	return pick(w, type, false, side, alive, &(struct liking) {}, found);
}

bool object_other(struct worker *w, enum type type, unsigned int side, struct object *found)
{
	return pick(w, type, true, side, true, &(struct liking) {}, found);
}

bool object_find(struct life *life, unsigned int side, uint64_t handle, struct object *found)
{
	bool there = false;
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS && !there; i++) {
		there = fits(&life->objects[i], TYPES, side, true) &&
			life->objects[i].handle == handle;
		if (there)
			*found = life->objects[i];
	}
	pthread_mutex_unlock(&life->lock);
	return there;
}

unsigned int object_count(struct life *life, enum type type, unsigned int side)
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++)
		n += fits(&life->objects[i], type, side, true);
	pthread_mutex_unlock(&life->lock);
	return n;
}

/* In the place of one that is dead, or of any. */
void object_add(struct life *life, const struct object *object)
{
	unsigned int i, place;

	pthread_mutex_lock(&life->lock);
	place = life->nr_objects++ % OBJECTS;
	for (i = 0; i < OBJECTS && life->objects[place].alive; i++)
		place = (place + 1) % OBJECTS;
	life->objects[place] = *object;
	life->objects[place].alive = true;
	pthread_mutex_unlock(&life->lock);
}

/* With an IA goes all that is on it. */
void object_dead(struct life *life, unsigned int side, uint64_t handle)
{
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++) {
		struct object *o = &life->objects[i];

		if (o->side == side && (o->handle == handle || o->ia == handle))
			o->alive = false;
	}
	pthread_mutex_unlock(&life->lock);
}

/* The file is closed: its handles mean nothing, and another file may have the same. */
void object_all_dead(struct life *life, unsigned int side)
{
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++)
		if (life->objects[i].side == side)
			memset(&life->objects[i], 0, sizeof(life->objects[i]));
	pthread_mutex_unlock(&life->lock);
}

/* ---- what a call has told ------------------------------------------------------------- */

static void set_flags(struct life *life, unsigned int side, uint64_t handle, uint32_t flags)
{
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++)
		if (life->objects[i].side == side && life->objects[i].handle == handle)
			life->objects[i].flags = flags;
	pthread_mutex_unlock(&life->lock);
}

static void set_lives(struct life *life, unsigned int side, uint64_t ep, const uint32_t *bound,
		      const uint32_t *event)
{
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++) {
		struct object *o = &life->objects[i];

		if (o->side != side || o->handle != ep)
			continue;
		if (bound)
			o->bound_life = *bound;
		if (event)
			o->event_life = *event;
	}
	pthread_mutex_unlock(&life->lock);
}

static void learn_event(struct worker *w, unsigned int side, const struct kdapl_uapi_event *event)
{
	struct object cr = { .type = T_CR, .side = side, .handle = event->cr.cr }, sp;

	add(shared->counts[C_EVENTS], 1);
	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		if (object_find(w->life, side, event->cr.sp, &sp))
			cr.ia = sp.ia;
		object_add(w->life, &cr);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		add(shared->counts[C_CONNECTED], 1);
		set_lives(w->life, side, event->connect.ep, NULL, &event->connect.life);
		set_flags(w->life, side, event->connect.ep, CONNECTED);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		add(shared->counts[C_ENDED], 1);
		set_flags(w->life, side, event->connect.ep, 0);
		break;
	default:
		break;
	}
}

static void learn_poll_fd(struct life *life, unsigned int place, int fd)
{
	int old;

	pthread_mutex_lock(&life->lock);
	old = life->poll_fds[place];
	life->poll_fds[place] = fd;
	pthread_mutex_unlock(&life->lock);
	if (old >= 0)
		close(old);
}

static void learn_ring(struct life *life, unsigned int side, uint64_t evd,
		       const struct kdapl_uapi_ring *ring)
{
	unsigned int i;

	pthread_mutex_lock(&life->lock);
	for (i = 0; i < OBJECTS; i++)
		if (life->objects[i].side == side && life->objects[i].handle == evd)
			life->objects[i].ring = *ring;
	pthread_mutex_unlock(&life->lock);
}

/* PZs, RMRs: the IA is that of something else */
static uint64_t ia_of(struct worker *w, unsigned int side, uint64_t handle)
{
	struct object o = {};

	object_find(w->life, side, handle, &o);
	return o.ia;
}

#define RESULT(_struct)	((const struct kdapl_uapi_##_struct *)w->after.bytes)

static void learn_made(struct worker *w, unsigned int cmd, struct object *o)
{
	switch (cmd) {
	case KDAPL_IOC_PZ_CREATE:
		o->type = T_PZ;
		o->handle = RESULT(pz_create)->pz;
		o->ia = RESULT(pz_create)->ia;
		break;
	case KDAPL_IOC_LMR_CREATE:
		o->type = T_LMR;
		o->handle = RESULT(lmr_create)->lmr;
		o->ia = RESULT(lmr_create)->ia;
		o->lkey = RESULT(lmr_create)->lmr_context;
		o->rkey = RESULT(lmr_create)->rmr_context;
		o->address = RESULT(lmr_create)->mem_type == DAT_MEM_TYPE_VIRTUAL ?
			     RESULT(lmr_create)->region :
			     RESULT(lmr_create)->registered_address;
		o->length = RESULT(lmr_create)->length;
		break;
	case KDAPL_IOC_RMR_CREATE:
		o->type = T_RMR;
		o->handle = RESULT(rmr_create)->rmr;
		o->ia = ia_of(w, o->side, RESULT(rmr_create)->pz);
		break;
	case KDAPL_IOC_EVD_CREATE:
		o->type = T_EVD;
		o->handle = RESULT(evd_create)->evd;
		o->ia = RESULT(evd_create)->ia;
		o->ring = RESULT(evd_create)->ring;
		o->flags = RESULT(evd_create)->flags;
		break;
	case KDAPL_IOC_EP_CREATE:
		o->type = T_EP;
		o->handle = RESULT(ep_create)->ep;
		o->ia = RESULT(ep_create)->ia;
		o->evd = RESULT(ep_create)->connect_evd;
		break;
	case KDAPL_IOC_PSP_CREATE:
	case KDAPL_IOC_PSP_CREATE_ANY:
		o->type = T_PSP;
		o->handle = RESULT(psp_create)->psp;
		o->ia = RESULT(psp_create)->ia;
		o->evd = RESULT(psp_create)->evd;
		o->qual = RESULT(psp_create)->conn_qual;
		break;
	case KDAPL_IOC_RSP_CREATE:
		o->type = T_RSP;
		o->handle = RESULT(rsp_create)->rsp;
		o->ia = RESULT(rsp_create)->ia;
		o->evd = RESULT(rsp_create)->evd;
		break;
	case KDAPL_IOC_SRQ_CREATE:
		o->type = T_SRQ;
		o->handle = RESULT(srq_create)->srq;
		o->ia = RESULT(srq_create)->ia;
		break;
	case KDAPL_IOC_EP_CREATE_WITH_SRQ:
		o->type = T_EP;
		o->handle = RESULT(ep_create_with_srq)->ep;
		o->ia = RESULT(ep_create_with_srq)->ia;
		o->evd = RESULT(ep_create_with_srq)->connect_evd;
		break;
	default:
		return;
	}
	object_add(w->life, o);
}

static void learn_ia(struct worker *w, unsigned int side)
{
	struct object ia = { .type = T_IA, .side = side, .handle = RESULT(ia_open)->ia };
	struct object evd = {
		.type = T_EVD, .side = side, .handle = RESULT(ia_open)->async_evd,
		.ia = RESULT(ia_open)->ia, .ring = RESULT(ia_open)->ring,
		.flags = DAT_EVD_ASYNC_FLAG,
	};

	object_add(w->life, &ia);
	/* Else it was there before, and is of another IA. */
	if (!((const struct kdapl_uapi_ia_open *)w->before.bytes)->async_evd)
		object_add(w->life, &evd);
}

void learn(struct worker *w, const struct call *c, unsigned int side)
{
	struct object made = { .side = side };

	switch (c->cmd) {
	case KDAPL_IOC_IA_OPEN:
		learn_ia(w, side);
		break;
	case KDAPL_IOC_IA_PASSTHROUGH:
		w->life->sides[side].pass = *RESULT(ia_passthrough);
		break;
	case KDAPL_IOC_IA_CLOSE:
	case KDAPL_IOC_PZ_FREE:
	case KDAPL_IOC_LMR_FREE:
	case KDAPL_IOC_RMR_FREE:
	case KDAPL_IOC_EVD_FREE:
	case KDAPL_IOC_EP_FREE:
	case KDAPL_IOC_PSP_FREE:
	case KDAPL_IOC_RSP_FREE:
	case KDAPL_IOC_CR_REJECT:
	case KDAPL_IOC_SRQ_FREE:
		object_dead(w->life, side, RESULT(handle)->handle);
		break;
	case KDAPL_IOC_CR_ACCEPT:
	case KDAPL_IOC_CR_HANDOFF:
	case KDAPL_IOC_CR_REJECT_DATA:
		object_dead(w->life, side, RESULT(cr_accept)->cr);
		break;
	case KDAPL_IOC_EVD_DEQUEUE:
		learn_event(w, side, &RESULT(evd_dequeue)->event);
		break;
	case KDAPL_IOC_EVD_POLL_FD:
		learn_poll_fd(w->life, below(w, POLL_FDS), RESULT(evd_poll_fd)->fd);
		break;
	case KDAPL_IOC_EVD_RESIZE:
	case KDAPL_IOC_EVD_RING:
		learn_ring(w->life, side, RESULT(evd_resize)->evd, &RESULT(evd_resize)->ring);
		break;
	case KDAPL_IOC_EP_BIND:
		add(shared->counts[C_BINDS], 1);
		set_lives(w->life, side, RESULT(ep_bind)->ep, &RESULT(ep_bind)->life, NULL);
		break;
	case KDAPL_IOC_POST:
	case KDAPL_IOC_SRQ_POST:
		add(shared->counts[C_POSTS], RESULT(post)->done);
		break;
	default:
		learn_made(w, c->cmd, &made);
	}
}
