// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of a world: its adapter with what belongs to it, its threads, and its
 * end.  user.c and kernel.c call world_run().
 */
#include "stress.h"

#define QLEN		512
#define END_MS		30000	/* for everything that is owed at the end */

/* A call that may fail only for an injected fault, and not for ever. */
#define PERSIST(call) ({						\
	u64 end_ = now_ms() + END_MS;					\
	DAT_RETURN ret_;						\
									\
	while ((ret_ = (call)) && DAT_GET_TYPE(ret_) ==			\
	       DAT_INSUFFICIENT_RESOURCES && now_ms() < end_)		\
		nap_us(5000);						\
	if (ret_)							\
		broken(RULE_CODE, "%s: 0x%x", #call, ret_);		\
	!ret_; })

static bool query(struct world *w, struct place *place)
{
	DAT_PROVIDER_ATTR *provider = mem_new(sizeof(*provider));
	DAT_IA_ATTR *attr = mem_new(sizeof(*attr));
	bool ok = provider && attr;

	ok = ok && PERSIST(dat_ia_query(w->ia, NULL, DAT_IA_FIELD_ALL, attr,
					DAT_PROVIDER_FIELD_ALL, provider));
	if (ok)
		memcpy(&place->address, attr->ia_address_ptr,
		       sizeof(place->address));
	mem_free(provider);
	mem_free(attr);
	return ok;
}

static bool open_evds(struct world *w)
{
	DAT_EVD_FLAGS flags;
	u32 i;

	for (i = 0; i < EVDS; i++) {
		flags = DAT_EVD_SOFTWARE_FLAG;
		if (i != EVDS - 1)
			flags |= DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;
		if (i < MERGED || i == EVDS - 1)
			flags |= DAT_EVD_CONNECTION_FLAG;
		lock_init(&w->evds[i].lock);
		if (!PERSIST(port_evd_create(w->ia, QLEN, flags,
					     &w->evds[i].handle)))
			return false;
	}
	lock_init(&w->cr.lock);
	lock_init(&w->errors.lock);
	w->errors.handle = w->async;
	return PERSIST(port_evd_create(w->ia, QLEN, DAT_EVD_CR_FLAG,
				       &w->cr.handle));
}

static bool open_memory(struct world *w, struct place *place)
{
	u32 i;

	for (i = 0; i < LMRS; i++) {
		w->lmrs[i].mem = mem_new(AREA);
		if (!w->lmrs[i].mem)
			return false;
		place->areas[1 + i] = (uintptr_t)w->lmrs[i].mem;
	}
	place->areas[0] = (uintptr_t)w->mem + POSTS * MSG;
	return PERSIST(port_lmr_create(w->ia, w->mem, POSTS * MSG + AREA, w->pz,
				       DAT_MEM_PRIV_ALL_FLAG, &w->lmr, &w->context,
				       &place->rmr_contexts[0]));
}

static bool open_eps(struct world *w)
{
	u64 end = now_ms() + END_MS;
	u32 i;

	for (i = 0; i < KEPT + FREED; i++) {
		while (!ep_open(w, i)) {
			if (now_ms() > end)
				return false;
			nap_us(1000);
		}
	}
	return true;
}

static bool world_open(struct world *w)
{
	struct place *place = &board->places[w->number];

	return book_init(w) &&
	       PERSIST(dat_ia_open((DAT_NAME_PTR)w->ia_name, 16, &w->async,
				   &w->ia)) &&
	       query(w, place) && PERSIST(dat_pz_create(w->ia, &w->pz)) &&
	       open_evds(w) && open_memory(w, place) && open_eps(w);
}

/* ---- threads --------------------------------------------------------------- */

static void work(void *arg)
{
	struct worker *me = arg;

	while (!load(&me->w->stop)) {
		operate(me);
		if (!below(me, 16) || load(&me->w->closing) || load(&board->patient))
			nap_us(1000);
	}
}

static bool take_all(struct world *w)
{
	bool any = false;
	u32 i;

	for (i = 0; i < EVDS; i++)
		any |= take(w, &w->evds[i]);
	any |= take(w, &w->errors);
	return any | take(w, &w->cr);
}

static void collect(void *arg)
{
	struct world *w = arg;

	while (!load(&w->taken)) {
		add(&board->beats[w->number][WORKERS], 1);
		if (!take_all(w))
			nap_us(2000);
	}
}

/* ---- the end --------------------------------------------------------------- */

static void free_points(struct world *w)
{
	u32 i;

	for (i = 0; i < PSPS; i++) {
		if (w->psps[i] && !PERSIST(dat_psp_free(w->psps[i])))
			broken(RULE_CLOSE, "a PSP cannot be freed");
	}
	for (i = 0; i < RSPS; i++) {
		if (w->rsps[i] && !PERSIST(dat_rsp_free(w->rsps[i])))
			broken(RULE_CLOSE, "a RSP cannot be freed");
	}
}

/* Brings an endpoint closer to its end; true: it is there. */
static bool wind_down(struct world *w, struct ep *ep)
{
	struct place *mine = &board->places[w->number];
	DAT_EP_STATE state;

	if (dat_ep_get_status(ep->handle, &state, NULL, NULL))
		return true;
	switch (state) {
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return false;	/* a request that nobody took yet */
	case DAT_EP_STATE_UNCONNECTED:
		if (drained(ep))
			return true;
		/* Its receives wait for a connection: one that is cut short. */
		if (!attempt_begin(ep))
			return false;
		attempt_end(ep, 0,
			    !dat_ep_connect(ep->handle,
					    (DAT_IA_ADDRESS_PTR)&mine->address,
					    BASE_QUAL + NOBODY,
					    DAT_TIMEOUT_INFINITE, 0, NULL,
					    DAT_QOS_BEST_EFFORT,
					    DAT_CONNECT_DEFAULT_FLAG));
		break;
	case DAT_EP_STATE_DISCONNECTED:
		return drained(ep);
	default:
		break;
	}
	dat_ep_disconnect(ep->handle, DAT_CLOSE_ABRUPT_FLAG);
	return false;
}

/* Until the EPs that are kept have nothing outstanding; the collector runs. */
static void drain(struct world *w)
{
	u64 end = now_ms() + END_MS;
	bool all;
	u32 i;

	do {
		all = !requests_reject(w);
		for (i = 0; i < KEPT; i++)
			all &= wind_down(w, w->eps[i]);
		if (!all)
			nap_us(5000);
	} while (!all && now_ms() < end);
	for (i = 0; i < KEPT; i++)
		check_drained(w->eps[i]);
}

static void free_eps(struct world *w)
{
	struct ep *ep;
	u32 i;

	for (i = 0; i < EPS; i++) {
		ep = exchange(&w->eps[i], NULL);
		if (ep && PERSIST(dat_ep_free(ep->handle)))
			marker(w, ep);
	}
}

/* The next one from @ep on that was freed, but not all of its markers came. */
static struct ep *not_gone(struct ep *ep)
{
	while (ep && (!load(&ep->freed) || load(&ep->gone)))
		ep = ep->next;
	return ep;
}

static void free_rest(struct world *w)
{
	bool ok = true;
	u32 i;

	for (i = 0; i < RMRS; i++) {
		if (w->rmrs[i])
			ok &= PERSIST(dat_rmr_free(w->rmrs[i]));
	}
	for (i = 0; i < LMRS; i++) {
		if (w->lmrs[i].state == LMR_LIVE)
			ok &= PERSIST(dat_lmr_free(w->lmrs[i].handle));
	}
	ok &= PERSIST(dat_lmr_free(w->lmr));
	for (i = 0; i < EVDS; i++)
		ok &= PERSIST(dat_evd_free(w->evds[i].handle));
	ok &= PERSIST(dat_evd_free(w->cr.handle));
	ok &= PERSIST(dat_pz_free(w->pz));
	ok &= PERSIST(dat_ia_close(w->ia, DAT_CLOSE_GRACEFUL_FLAG));
	checked(RULE_CLOSE);
	if (!ok)
		broken(RULE_CLOSE, "world %u did not close", w->number);
}

/* Everything is accounted for, everything is freed, in good order. */
static void end_drained(struct world *w, struct thread *collector)
{
	struct ep *ep;
	u64 end;

	free_points(w);
	drain(w);
	free_eps(w);
	end = now_ms() + END_MS;
	while (not_gone(w->all) && now_ms() < end)
		nap_us(5000);
	for (ep = not_gone(w->all); ep; ep = not_gone(ep->next))
		broken(RULE_FREED, "EP %p: %u of %u markers came", ep,
		       ep->markers, EVDS);
	store(&w->taken, 1);
	thread_join(collector);
	while (take_all(w))
		;
	free_rest(w);
}

/* The adapter goes under the hands of all threads. */
static void end_abrupt(struct world *w, struct thread **threads)
{
	DAT_EP_STATE state;
	DAT_RETURN ret;
	u32 i;

	store(&w->closing, 1);
	/* Nobody looks at private data from here on. */
	for (i = 0; i < EVDS; i++) {
		lock(&w->evds[i].lock);
		unlock(&w->evds[i].lock);
	}
	ret = dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret)
		broken(RULE_CLOSE, "abrupt close: 0x%x", ret);
	for (i = 0; i < EPS; i++) {
		struct ep *ep = load(&w->eps[i]);

		if (ep && !dat_ep_get_status(ep->handle, &state, NULL, NULL))
			broken(RULE_DEAD, "an EP has outlived its adapter");
	}
	store(&w->stop, 1);
	store(&w->taken, 1);
	for (i = 0; i <= WORKERS; i++)
		thread_join(threads[i]);
}

static void world_free(struct world *w)
{
	struct request *request;
	struct ep *ep;
	u32 i;

	while ((ep = w->all)) {
		w->all = ep->next;
		mem_free(ep);
	}
	while ((request = w->requests)) {
		w->requests = request->next;
		mem_free(request);
	}
	for (i = 0; i < LMRS; i++)
		mem_free(w->lmrs[i].mem);
	mem_free(w->mem);
}

/*
 * world_run - live and end
 * @w: number, ia_name and seed are set, all else is zero
 * @wait: returns when it is time to end, and how
 *
 * Return: false if it never came about.
 */
bool world_run(struct world *w, enum world_end (*wait)(struct world *w))
{
	struct place *place = &board->places[w->number];
	struct worker workers[WORKERS] = { 0 };
	struct thread *threads[WORKERS + 1];
	enum world_end how;
	u32 i;

	if (!world_open(w)) {
		dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
		world_free(w);
		return false;
	}
	count(COUNT_WORLDS, 1);
	store(&place->alive, 1);
	while (!(threads[WORKERS] = thread_start(collect, w)))
		nap_us(1000);
	for (i = 0; i < WORKERS; i++) {
		workers[i].w = w;
		workers[i].id = i;
		workers[i].rng = w->seed + i * 7919;
		while (!(threads[i] = thread_start(work, &workers[i])))
			nap_us(1000);
	}
	how = wait(w);
	store(&place->alive, 0);
	if (how == END_ABRUPT) {
		end_abrupt(w, threads);
	} else {
		store(&w->stop, 1);
		for (i = 0; i < WORKERS; i++)
			thread_join(threads[i]);
		end_drained(w, threads[WORKERS]);
	}
	world_free(w);
	return true;
}
