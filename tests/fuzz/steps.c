// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a thread of a life does next: any call of the table, or something that takes several:
 * a connection, traffic on it, its end; a file that is closed under the other threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "fuzz.h"

/* Of each type on each side; then some are freed. */
#define ENOUGH		10
/* For what the other side has to do first, which takes its time in the debug kernel */
#define PATIENCE_US	250000
#define SHORT_US	5000

/* ---- single calls -------------------------------------------------------------------- */

static const struct {
	unsigned int made, freed;
	enum type type;
} makers[] = {
	{ KDAPL_IOC_IA_OPEN, KDAPL_IOC_IA_QUERY, T_IA },
	{ KDAPL_IOC_PZ_CREATE, KDAPL_IOC_PZ_FREE, T_PZ },
	{ KDAPL_IOC_LMR_CREATE, KDAPL_IOC_LMR_FREE, T_LMR },
	{ KDAPL_IOC_RMR_CREATE, KDAPL_IOC_RMR_FREE, T_RMR },
	{ KDAPL_IOC_EVD_CREATE, KDAPL_IOC_EVD_FREE, T_EVD },
	{ KDAPL_IOC_EP_CREATE, KDAPL_IOC_EP_FREE, T_EP },
	{ KDAPL_IOC_PSP_CREATE, KDAPL_IOC_PSP_FREE, T_PSP },
	{ KDAPL_IOC_PSP_CREATE_ANY, KDAPL_IOC_PSP_FREE, T_PSP },
	{ KDAPL_IOC_RSP_CREATE, KDAPL_IOC_RSP_FREE, T_RSP },
	{ KDAPL_IOC_SRQ_CREATE, KDAPL_IOC_SRQ_FREE, T_SRQ },
	{ KDAPL_IOC_EP_CREATE_WITH_SRQ, KDAPL_IOC_EP_FREE, T_EP },
};

/* By weight; one that would make too many frees one. */
static unsigned int choose(struct worker *w, unsigned int side)
{
	unsigned int i, n, all = 0;

	for (i = 0; i < nr_calls; i++)
		all += calls[i].weight;
	n = below(w, all);
	for (i = 0; n >= calls[i].weight; i++)
		n -= calls[i].weight;
	for (n = 0; n < ARRAY_SIZE(makers); n++)
		if (makers[n].made == calls[i].cmd &&
		    object_count(w->life, makers[n].type, side) >= ENOUGH)
			return makers[n].freed;
	return calls[i].cmd;
}

static void any_call(struct worker *w, unsigned int side)
{
	uint32_t n = below(w, 100);

	run(w, choose(w, side), side, n < 50 ? GOOD : n < 85 ? ONE_WRONG : MANY_WRONG, NULL, 0);
}

/* ---- a side -------------------------------------------------------------------------- */

static int open_file(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };
	int fd;

	/* Its allocations may fail, too. */
	do
		fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);
	while (fd < 0 && errno == ENOMEM && !look(shared->stop));
	if (fd >= 0 && ioctl(fd, KDAPL_IOC_QUERY_ABI, &abi)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A new file, also in the place of one that other threads are using. */
void side_open(struct life *life, unsigned int side)
{
	struct side *s = &life->sides[side];
	int fd = open_file();

	if (fd < 0)
		return;
	if (s->fd < 0) {
		s->fd = fd;
		return;
	}
	add(s->file, 1);
	object_all_dead(life, side);
	dup2(fd, s->fd);
	close(fd);
}

void side_begin(struct worker *w, unsigned int side)
{
	unsigned int i;

	if (!RUN(w, KDAPL_IOC_IA_OPEN, side, SET(ia_open, async_evd, 0)) || !went(w))
		return;
	if (w->life->passthrough)
		RUN(w, KDAPL_IOC_IA_PASSTHROUGH, side, SET(ia_passthrough, ret, 0));
	run(w, KDAPL_IOC_PZ_CREATE, side, GOOD, NULL, 0);
	for (i = 0; i < 2; i++) {
		RUN(w, KDAPL_IOC_EVD_CREATE, side,
		    SET(evd_create, flags, DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG));
		run(w, KDAPL_IOC_LMR_CREATE, side, GOOD, NULL, 0);
	}
	run(w, KDAPL_IOC_EP_CREATE, side, GOOD, NULL, 0);
	run(w, KDAPL_IOC_SRQ_CREATE, side, GOOD, NULL, 0);
	run(w, KDAPL_IOC_PSP_CREATE_ANY, side, GOOD, NULL, 0);
}

/* ---- connections --------------------------------------------------------------------- */

/*
 * What is in an EVD, up to a few events, or comes within @us; what they tell is learnt.  The
 * last request, or 0
 */
static uint64_t take(struct worker *w, unsigned int side, uint64_t evd, unsigned int us)
{
	const struct kdapl_uapi_evd_dequeue *got = (const void *)w->after.bytes;
	uint64_t cr = 0;
	unsigned int i;

	if (us)
		RUN(w, KDAPL_IOC_EVD_WAIT, side, SET(evd_wait, evd, evd),
		    SET(evd_wait, threshold, 1), SET(evd_wait, timeout, us));
	for (i = 0; i < 6; i++) {
		if (!RUN(w, KDAPL_IOC_EVD_DEQUEUE, side, SET(evd_dequeue, evd, evd)) || !went(w))
			break;
		if (got->event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			cr = got->event.cr.cr;
	}
	return cr;
}

/* Makes an EP with all events on @evd, some on an SRQ that has receives, and may be gone. */
static bool make_ep(struct worker *w, unsigned int side, uint64_t evd, uint64_t *handle)
{
	const struct kdapl_uapi_ep_create_with_srq *with = (const void *)w->after.bytes;
	const struct kdapl_uapi_ep_create *plain = (const void *)w->after.bytes;
	struct object srq;

	if (percent(w, 30) && object_pick(w, T_SRQ, side, true, &srq)) {
		RUN(w, KDAPL_IOC_SRQ_POST, side, SET(post, ep, srq.handle));
		if (!RUN(w, KDAPL_IOC_EP_CREATE_WITH_SRQ, side,
			 SET(ep_create_with_srq, recv_evd, evd),
			 SET(ep_create_with_srq, request_evd, evd),
			 SET(ep_create_with_srq, connect_evd, evd),
			 SET(ep_create_with_srq, srq, srq.handle)) || !went(w))
			return false;
		*handle = with->ep;
		return true;
	}
	if (!RUN(w, KDAPL_IOC_EP_CREATE, side, SET(ep_create, recv_evd, evd),
		 SET(ep_create, request_evd, evd), SET(ep_create, connect_evd, evd)) ||
	    !went(w))
		return false;
	*handle = plain->ep;
	return true;
}

/* An EP that was just made, with the queue pair that it needs in passthrough; or 0 */
static uint64_t new_ep(struct worker *w, unsigned int side, struct object *ep)
{
	uint64_t handle;

	if (object_count(w->life, T_EP, side) >= ENOUGH)
		run(w, KDAPL_IOC_EP_FREE, side, GOOD, NULL, 0);
	if (!object_pick(w, T_EVD, side, true, ep) ||
	    !make_ep(w, side, ep->handle, &handle))
		return 0;
	ep->evd = ep->handle;
	ep->handle = handle;
	if (w->life->passthrough)
		verbs_bind(w, side, ep->handle);
	return ep->handle;
}

static void answer(struct worker *w, unsigned int side, uint64_t cr)
{
	struct object ep;

	if (percent(w, 40))
		RUN(w, KDAPL_IOC_CR_QUERY, side, SET(cr_query, cr, cr));
	switch (below(w, 9)) {
	case 0:
		RUN(w, KDAPL_IOC_CR_REJECT, side, SET(handle, handle, cr));
		break;
	case 8:
		RUN(w, KDAPL_IOC_CR_REJECT_DATA, side, SET(cr_reject, cr, cr));
		break;
	case 1:
		run(w, KDAPL_IOC_CR_ACCEPT, side, ONE_WRONG, NULL, 0);
		break;
	case 2:
		RUN(w, KDAPL_IOC_CR_HANDOFF, side, SET(cr_handoff, cr, cr));
		break;
	default:
		if (!new_ep(w, side, &ep))
			return;
		if (percent(w, 60))
			RUN(w, KDAPL_IOC_POST, side, SET(post, ep, ep.handle));
		RUN(w, KDAPL_IOC_CR_ACCEPT, side, SET(cr_accept, cr, cr),
		    SET(cr_accept, ep, ep.handle));
	}
}

/* Where the other side listens; or 0 */
static uint64_t listener(struct worker *w, unsigned int side, struct object *sp)
{
	if (percent(w, 80) && object_pick(w, T_PSP, side, true, sp))
		return sp->qual;
	if (object_count(w->life, T_PSP, side) >= ENOUGH)
		run(w, KDAPL_IOC_PSP_FREE, side, GOOD, NULL, 0);
	if (!RUN(w, KDAPL_IOC_PSP_CREATE_ANY, side, SET(psp_create, flags, 0)) || !went(w))
		return 0;
	sp->evd = ((const struct kdapl_uapi_psp_create *)w->after.bytes)->evd;
	return ((const struct kdapl_uapi_psp_create *)w->after.bytes)->conn_qual;
}

static void connect_step(struct worker *w, unsigned int side)
{
	unsigned int to = percent(w, 85) ? !side : side;
	struct object sp, ep;
	uint64_t qual, cr;

	qual = listener(w, to, &sp);
	if (!qual || !new_ep(w, side, &ep))
		return;
	/* The address is that of one of the sides, by chance: of 10.9.0.1 and 10.9.0.2. */
	if (!RUN(w, KDAPL_IOC_EP_CONNECT, side, SET(ep_connect, ep, ep.handle),
		 SET(ep_connect, conn_qual, qual),
		 SET(ep_connect, address.sa, 2 | (uint64_t)(to ? 0x0200090a : 0x0100090a) << 32),
		 SET(ep_connect, timeout, 2000000)) || !went(w))
		return;
	/* Else the other side finds it some time later, or does not. */
	if (percent(w, 70))
		return;
	cr = take(w, to, sp.evd, PATIENCE_US);
	if (cr)
		answer(w, to, cr);
	take(w, side, ep.evd, PATIENCE_US);
}

/* What has come of earlier steps, without a wait */
static void collect_step(struct worker *w, unsigned int side)
{
	struct object o;
	uint64_t cr;

	if (object_pick(w, percent(w, 60) ? T_PSP : T_EP, side, true, &o) && o.evd) {
		cr = take(w, side, o.evd, 0);
		if (cr)
			answer(w, side, cr);
	}
}

static void traffic_step(struct worker *w, unsigned int side)
{
	const struct liking connected = { .flags = CONNECTED };
	struct object ep;

	if (!object_pick_liked(w, T_EP, side, &connected, &ep))
		return;
	RUN(w, KDAPL_IOC_POST, side, SET(post, ep, ep.handle));
	if (percent(w, 50))
		RUN(w, KDAPL_IOC_RMR_BIND, side, SET(rmr_bind, ep, ep.handle));
	if (ep.evd)
		take(w, side, ep.evd, SHORT_US);
}

static void end_step(struct worker *w, unsigned int side)
{
	struct object ep;

	if (!object_pick(w, T_EP, side, true, &ep))
		return;
	RUN(w, KDAPL_IOC_EP_DISCONNECT, side, SET(handle_flags, handle, ep.handle));
	if (w->life->passthrough)
		RUN(w, KDAPL_IOC_EP_TELL, side, SET(ep_tell, ep, ep.handle),
		    SET(ep_tell, what, KDAPL_TELL_DRAINED),
		    SET(ep_tell, life, ep.bound_life));
	if (ep.evd)
		take(w, side, ep.evd, SHORT_US);
	if (percent(w, 60))
		RUN(w, KDAPL_IOC_EP_RESET, side, SET(handle, handle, ep.handle));
	if (percent(w, 50))
		RUN(w, KDAPL_IOC_EP_FREE, side, SET(handle, handle, ep.handle));
}

static void reopen_step(struct worker *w, unsigned int side)
{
	if (!take_number(w, "close"))
		return;
	side_open(w->life, side);
	call_over(w);
	side_begin(w, side);
}

/* ---- all of it ------------------------------------------------------------------------- */

void step(struct worker *w)
{
	unsigned int side, n;

	/* A number of its own would leave none to the calls: the last one's go on. */
	side = below(w, FILES);
	n = below(w, 1000);
	if (!w->life->bare && !object_count(w->life, T_IA, side) && percent(w, 70))
		side_begin(w, side);
	else if (n < 30)
		connect_step(w, side);
	else if (n < 70)
		collect_step(w, side);
	else if (n < 120)
		traffic_step(w, side);
	else if (n < 135)
		end_step(w, side);
	else if (n < 195)
		map_step(w, side);
	else if (n < 210)
		poll_step(w);
	else if (n < 211)
		fork_step(w, side);
	else if (n < 213)
		reopen_step(w, side);
	else if (n < 223)
		run_no_call(w, side);
	else if (n < 226)
		run_early(w);
	else if (n < 270 && w->life->passthrough)
		verbs_step(w, side);
	else
		any_call(w, side);
}
