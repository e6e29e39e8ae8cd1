// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the workers of a world do: one operation at a time, mostly such that a
 * connection gets somewhere, often any operation on any endpoint.  No lock keeps
 * two of them apart except where account.c needs it.
 */
#include "stress.h"

enum { SEND, RDMA_WRITE, RDMA_READ, RECV, BIND };

/* ---- chance, and codes ----------------------------------------------------- */

/* below - 0 .. limit - 1 */
u32 below(struct worker *me, u32 limit)
{
	me->rng = me->rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(me->rng >> 33) % limit;
}

static bool percent(struct worker *me, u32 chance)
{
	return below(me, 100) < chance;
}

/* A set of return types; every set has success. */
#define T(type)		(1U << (DAT_##type >> 16))
#define HANDLE_DEAD	T(INVALID_HANDLE)
#define NO_ROOM		T(INSUFFICIENT_RESOURCES)
#define WRONG_STATE	T(INVALID_STATE)
#define BAD_MEMORY	(T(PROTECTION_VIOLATION) | T(PRIVILEGES_VIOLATION))

/*
 * The call is over; its code has to be one of @allowed.  Only a fault that was
 * injected explains a lack of resources where the set has none.
 */
static DAT_RETURN end(struct worker *me, DAT_RETURN ret, u32 allowed)
{
	u32 type = DAT_GET_TYPE(ret) >> 16;
	const char **call = &board->calls[me->w->number][me->id];
	const char *name = load(call);

	store(call, NULL);
	count(COUNT_CALLS, 1);
	if (!ret)
		return ret;
	count(COUNT_REFUSED, 1);
	if (load(&me->w->closing))
		return ret;
	checked(RULE_CODE);
	if (load(&board->faults))
		allowed |= NO_ROOM;
	if (type > 31 || !(allowed & 1U << type))
		broken(RULE_CODE, "%s gave 0x%x", name, ret);
	return ret;
}

static void start(struct worker *me, const char *name)
{
	store(&board->calls[me->w->number][me->id], name);
	add(&board->beats[me->w->number][me->id], 1);
}

#define CALL(me, allowed, function, ...)				\
	(start(me, #function), end(me, function(__VA_ARGS__), allowed))

/* After a free that was right, the handle is wrong in the next call. */
static void dead(struct world *w, DAT_RETURN ret, const char *what)
{
	if (load(&w->closing))
		return;
	checked(RULE_DEAD);
	if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
		broken(RULE_DEAD, "%s: 0x%x", what, ret);
}

/* ---- endpoints ------------------------------------------------------------- */

static void ep_attr(DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->max_message_size = AREA;
	attr->max_rdma_size = AREA;
	attr->max_recv_dtos = DTOS;
	attr->max_request_dtos = DTOS;
	attr->max_recv_iov = 2;
	attr->max_request_iov = 2;
	attr->max_rdma_read_in = 2;
	attr->max_rdma_read_out = 2;
	attr->max_rdma_read_iov = 2;
	attr->max_rdma_write_iov = 2;
	attr->srq_soft_hw = DAT_HW_DEFAULT;
}

/* The EVDs of an endpoint: two in three have one for everything. */
static void choose_evds(struct world *w, u32 choice, struct evd *evds[3])
{
	u32 i;

	for (i = 0; i < 3; i++)
		evds[i] = choice % 3 == 2 ? &w->evds[MERGED + i] :
			  &w->evds[(choice / 3 * 2 + choice % 3) % MERGED];
}

/* ep_open - the endpoint of a slot; NULL: not now */
struct ep *ep_open(struct world *w, u32 slot)
{
	struct ep *ep, *none = NULL;
	DAT_EP_HANDLE handle;
	struct evd *evds[3];
	DAT_EP_ATTR attr;

	ep_attr(&attr);
	choose_evds(w, slot, evds);
	if (dat_ep_create(w->ia, w->pz, evds[0]->handle, evds[1]->handle,
			  evds[2]->handle, &attr, &handle))
		return NULL;
	ep = ep_new(w, handle, evds[0], evds[1], evds[2], slot < KEPT);
	if (ep && change(&w->eps[slot], &none, ep))
		return ep;
	dat_ep_free(handle);
	return NULL;
}

static struct ep *any_ep(struct worker *me)
{
	return load(&me->w->eps[below(me, EPS)]);
}

static void ep_freed(struct worker *me, struct ep *ep)
{
	u32 i;

	dead(me->w, dat_ep_get_status(ep->handle, NULL, NULL, NULL), "the EP's status");
	dead(me->w, dat_ep_free(ep->handle), "a second dat_ep_free");
	marker(me->w, ep);
	for (i = 0; i < EPS; i++) {
		struct ep *old = ep;

		change(&me->w->eps[i], &old, NULL);
	}
}

static void op_ep_free(struct worker *me, struct ep *any)
{
	u32 slot = KEPT + below(me, FREED + OFFERED);
	struct ep *ep = load(&me->w->eps[slot]);

	(void)any;
	if (!ep) {
		if (slot < KEPT + FREED)
			ep_open(me->w, slot);
		return;
	}
	store(&ep->freeing, 1);
	if (!CALL(me, HANDLE_DEAD | WRONG_STATE, dat_ep_free, ep->handle))
		ep_freed(me, ep);
}

static void op_ep_query(struct worker *me, struct ep *ep)
{
	DAT_EP_PARAM param;

	CALL(me, HANDLE_DEAD, dat_ep_query, ep->handle, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN status(struct worker *me, struct ep *ep, DAT_EP_STATE *state)
{
	DAT_BOOLEAN idle;

	return CALL(me, HANDLE_DEAD, dat_ep_get_status, ep->handle, state, &idle,
		    &idle);
}

static void op_ep_status(struct worker *me, struct ep *ep)
{
	DAT_EP_STATE state;

	if (!status(me, ep, &state) &&
	    state > DAT_EP_STATE_COMPLETION_PENDING)
		broken(RULE_CODE, "state %d", state);
}

/* The numbers of DTOs in any endpoint, EVDs and PZ where nobody minds. */
static void op_ep_modify(struct worker *me, struct ep *ep)
{
	DAT_EP_PARAM_MASK mask = DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS;
	struct evd *evds[3];
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	ep_attr(&param.ep_attr);
	param.ep_attr.max_recv_dtos = DTOS / 2 + below(me, DTOS / 2 + 1);
	param.ep_attr.max_request_dtos = DTOS / 2 + below(me, DTOS / 2 + 1);
	choose_evds(me->w, below(me, 12), evds);
	param.pz_handle = me->w->pz;
	param.recv_evd_handle = evds[0]->handle;
	param.request_evd_handle = evds[1]->handle;
	param.connect_evd_handle = evds[2]->handle;
	if (!ep->kept && percent(me, 50)) {
		store(&ep->moved, 1);
		mask |= DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			DAT_EP_FIELD_CONNECT_EVD_HANDLE;
	}
	CALL(me, HANDLE_DEAD | WRONG_STATE | NO_ROOM | T(INVALID_PARAMETER),
	     dat_ep_modify, ep->handle, mask, &param);
}

/* ---- transfers ------------------------------------------------------------- */

/* One segment of the post's own memory, at times one that may go any moment. */
static u32 segments(struct worker *me, const struct post *post, u32 op,
		    DAT_LMR_TRIPLET *iov)
{
	struct world *w = me->w;
	struct lmr *lmr = &w->lmrs[below(me, LMRS)];
	u32 first = op == SEND ? sizeof(struct message) : 1;

	memset(iov, 0, 2 * sizeof(*iov));
	if (op == SEND && percent(me, 3))
		return 0;
	iov[0].lmr_context = w->context;
	iov[0].virtual_address = (uintptr_t)post_mem(w, post);
	iov[0].segment_length = op == RECV ? MSG : first + below(me, MSG / 2);
	if (op == SEND || !percent(me, 8))
		return 1;
	iov[1].lmr_context = load(&lmr->context);
	iov[1].virtual_address = (uintptr_t)lmr->mem + below(me, AREA - MSG);
	iov[1].segment_length = 1 + below(me, MSG / 2);
	return 2;
}

/* Memory of another world, lasting for as long as that one. */
static bool target(struct worker *me, DAT_RMR_TRIPLET *remote, u64 length)
{
	struct place *mine = &board->places[me->w->number], *place;
	u32 area = percent(me, 10) ? below(me, AREAS) : 0;

	place = &board->places[below(me, WORLDS)];
	if (!load(&place->alive) || place->device == mine->device)
		return false;
	memset(remote, 0, sizeof(*remote));
	remote->rmr_context = load(&place->rmr_contexts[area]);
	remote->target_address = place->areas[area] + below(me, AREA - 2 * MSG);
	remote->segment_length = length;
	return true;
}

static DAT_RETURN do_post(struct worker *me, struct ep *ep, u32 op, u32 nr,
			  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags)
{
	const u32 codes = HANDLE_DEAD | WRONG_STATE | NO_ROOM | BAD_MEMORY;
	DAT_RMR_TRIPLET remote;
	u64 length = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		length += iov[i].segment_length;
	switch (op) {
	case RECV:
		return CALL(me, codes, dat_ep_post_recv, ep->handle, nr, iov,
			    cookie, 0);
	case SEND:
		return CALL(me, codes, dat_ep_post_send, ep->handle, nr, iov,
			    cookie, flags);
	}
	if (!target(me, &remote, length))
		return DAT_INVALID_STATE;
	if (op == RDMA_READ)
		return CALL(me, codes, dat_ep_post_rdma_read, ep->handle, nr,
			    iov, cookie, &remote, flags);
	return CALL(me, codes, dat_ep_post_rdma_write, ep->handle, nr, iov,
		    cookie, &remote, flags);
}

static void post_silent(struct worker *me, struct ep *ep)
{
	DAT_DTO_COOKIE cookie = { .as_64 = silent_cookie(me) };
	DAT_LMR_TRIPLET iov;

	memset(&iov, 0, sizeof(iov));
	iov.lmr_context = me->w->context;
	iov.virtual_address = (uintptr_t)me->w->mem;
	iov.segment_length = 1 + below(me, MSG / 2);
	/* Before the call: its failure may be there first. */
	add(&ep->silent, 1);
	if (do_post(me, ep, RDMA_WRITE, 1, &iov, cookie,
		    DAT_COMPLETION_SUPPRESS_FLAG))
		add(&ep->silent, -1);
	else
		count(COUNT_SUPPRESSED, 1);
}

static void post_one(struct worker *me, struct ep *ep, u32 op)
{
	DAT_COMPLETION_FLAGS flags = op != RECV && percent(me, 10) ?
				     DAT_COMPLETION_BARRIER_FENCE_FLAG : 0;
	DAT_DTO_COOKIE cookie;
	DAT_LMR_TRIPLET iov[2];
	struct message *m;
	struct post *post;
	u32 nr;

	post = post_begin(me, ep, op == RECV, op, &cookie);
	if (!post)
		return;
	m = (void *)post_mem(me->w, post);
	memset(m, 0, MSG);
	m->magic = MAGIC;
	m->seq = post->seq;
	m->world = me->w->number;
	m->thread = me->id;
	if (op == RECV)
		m->magic = 0;
	nr = segments(me, post, op, iov);
	post_end(me->w, post, !do_post(me, ep, op, nr, iov, cookie, flags));
}

static void op_recv(struct worker *me, struct ep *ep)
{
	u32 n = 1 + below(me, 4);

	while (n--)
		post_one(me, ep, RECV);
}

static void op_send(struct worker *me, struct ep *ep)
{
	post_one(me, ep, SEND);
}

static void op_rdma(struct worker *me, struct ep *ep)
{
	if (percent(me, 10))
		post_silent(me, ep);
	else
		post_one(me, ep, percent(me, 50) ? RDMA_WRITE : RDMA_READ);
}

/* ---- connections ----------------------------------------------------------- */

/*
 * A call that makes @ep connect or accept, between begin and end.  For KEPT
 * endpoints one at a time, with the connection's id remembered until its event.
 */
bool attempt_begin(struct ep *ep)
{
	if (!ep->kept)
		return true;
	lock(&ep->attempt);
	if (ep->ids_put - ep->ids_got < ARRAY_SIZE(ep->ids))
		return true;
	unlock(&ep->attempt);
	return false;
}

void attempt_end(struct ep *ep, u64 id, bool ok)
{
	if (ok)
		add(&ep->attempts, 1);
	if (!ep->kept)
		return;
	if (ok)
		ep->ids[ep->ids_put++ % ARRAY_SIZE(ep->ids)] = id;
	unlock(&ep->attempt);
}

static DAT_TIMEOUT any_timeout(struct worker *me)
{
	static const DAT_TIMEOUT short_ones[] = { 1, 1000, 30000, 300000 };

	if (percent(me, 15))
		return short_ones[below(me, ARRAY_SIZE(short_ones))];
	return percent(me, 50) ? 10000000 : DAT_TIMEOUT_INFINITE;
}

static DAT_CONN_QUAL any_qual(struct worker *me, u32 world)
{
	u32 n = below(me, 100);

	if (n < 4)
		n = NOBODY;
	else if (n < 75)
		n = below(me, PSPS);
	else
		n = PSPS + below(me, RSPS);
	return BASE_QUAL + world * QUALS + n;
}

static void op_connect(struct worker *me, struct ep *ep)
{
	struct place *mine = &board->places[me->w->number], *place;
	u8 private_data[PRIVATE];
	u32 world = below(me, WORLDS);
	DAT_RETURN ret;

	place = &board->places[world];
	if (!load(&place->alive) || place->device == mine->device ||
	    !attempt_begin(ep))
		return;
	put_private(me->w, 0, private_data);
	ret = CALL(me, HANDLE_DEAD | WRONG_STATE, dat_ep_connect, ep->handle,
		   (DAT_IA_ADDRESS_PTR)&place->address, any_qual(me, world),
		   any_timeout(me), PRIVATE, private_data, DAT_QOS_BEST_EFFORT,
		   DAT_CONNECT_DEFAULT_FLAG);
	attempt_end(ep, 0, !ret);
}

static void op_dup_connect(struct worker *me, struct ep *ep)
{
	struct ep *dup = any_ep(me);
	u8 private_data[PRIVATE];
	DAT_RETURN ret;

	if (!dup || !attempt_begin(ep))
		return;
	put_private(me->w, 0, private_data);
	ret = CALL(me, HANDLE_DEAD | WRONG_STATE | T(INVALID_PARAMETER),
		   dat_ep_dup_connect, ep->handle, dup->handle, any_timeout(me),
		   PRIVATE, private_data, DAT_QOS_BEST_EFFORT);
	attempt_end(ep, 0, !ret);
}

static void op_disconnect(struct worker *me, struct ep *ep)
{
	CALL(me, HANDLE_DEAD | WRONG_STATE, dat_ep_disconnect, ep->handle,
	     percent(me, 50) ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
}

/*
 * ESTABLISHED may point to private data until here, so a reset waits for whoever
 * looks at it.
 */
static void op_reset(struct worker *me, struct ep *ep)
{
	bool wait = ep->kept && ep->merged;

	if (wait)
		lock(&ep->evds[2]->lock);
	CALL(me, HANDLE_DEAD | WRONG_STATE, dat_ep_reset, ep->handle);
	if (wait)
		unlock(&ep->evds[2]->lock);
}

/* ---- passive side ---------------------------------------------------------- */

/*
 * The endpoint of a request; NULL: the provider made it, and no place is free.  @offered: out: the
 * provider made it.
 */
static struct ep *ep_of_request(struct world *w, DAT_EP_HANDLE handle, bool *offered)
{
	struct ep *ep, *none;
	struct evd *evds[3];
	u32 i;

	*offered = false;
	for (i = 0; i < EPS; i++) {
		ep = load(&w->eps[i]);
		if (ep && ep->handle == handle)
			return ep;
	}
	*offered = true;
	choose_evds(w, 2, evds);
	ep = ep_new(w, handle, evds[0], evds[1], evds[2], false);
	if (!ep)
		return NULL;
	for (i = KEPT + FREED; i < EPS; i++) {
		none = NULL;
		if (change(&w->eps[i], &none, ep))
			return ep;
	}
	return NULL;
}

static bool keep_request(struct world *w, struct request *request)
{
	struct request *none;
	u32 i;

	for (i = 0; i < CRS; i++) {
		none = NULL;
		if (change(&w->crs[i], &none, request))
			return true;
	}
	return false;
}

/* An endpoint that came with its request goes with it (P71). */
static void rejected(struct world *w, struct request *request)
{
	struct ep *ep = request->ep, *old = ep;
	u32 i;

	if (!ep || !request->offered)
		return;
	dead(w, dat_ep_get_status(ep->handle, NULL, NULL, NULL),
	     "an EP that went with its request");
	for (i = KEPT + FREED; i < EPS; i++) {
		old = ep;
		change(&w->eps[i], &old, NULL);
	}
	marker(w, ep);
}

static void request_reject(struct world *w, struct request *request)
{
	if (!dat_cr_reject(request->cr))
		rejected(w, request);
}

/* cr_arrived - for the workers to answer; at once if that is too much */
void cr_arrived(struct world *w, const DAT_CR_ARRIVAL_EVENT_DATA *event)
{
	struct request *request = mem_new(sizeof(*request));
	DAT_CR_PARAM param;

	memset(&param, 0, sizeof(param));
	if (!request || dat_cr_query(event->cr_handle, DAT_CR_FIELD_ALL, &param)) {
		mem_free(request);
		dat_cr_reject(event->cr_handle);
		return;
	}
	if (!get_private(param.private_data, param.private_data_size, NULL))
		broken(RULE_PRIVATE, "a request has %d bytes of something else",
		       (int)param.private_data_size);
	request->cr = event->cr_handle;
	lock(&w->lock);
	request->next = w->requests;
	w->requests = request;
	unlock(&w->lock);
	if (param.local_ep_handle)
		request->ep = ep_of_request(w, param.local_ep_handle, &request->offered);
	if ((param.local_ep_handle && !request->ep) || !keep_request(w, request))
		request_reject(w, request);
}

/* requests_reject - at the end; false: there was none */
bool requests_reject(struct world *w)
{
	struct request *request;
	bool any = false;
	u32 i;

	for (i = 0; i < CRS; i++) {
		request = exchange(&w->crs[i], NULL);
		if (!request)
			continue;
		request_reject(w, request);
		any = true;
	}
	return any;
}

/* One that is idle, if there is one among a few. */
static struct ep *acceptor(struct worker *me)
{
	DAT_EP_STATE state;
	struct ep *ep;
	u32 i;

	for (i = 0; i < EPS; i++) {
		ep = any_ep(me);
		if (ep && !status(me, ep, &state) &&
		    state == DAT_EP_STATE_UNCONNECTED)
			break;
	}
	return ep;
}

static DAT_RETURN configure(struct worker *me, struct ep *ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.pz_handle = me->w->pz;
	param.recv_evd_handle = ep->evds[0]->handle;
	param.request_evd_handle = ep->evds[1]->handle;
	param.connect_evd_handle = ep->evds[2]->handle;
	return CALL(me, HANDLE_DEAD | WRONG_STATE, dat_ep_modify, ep->handle,
		    DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
		    DAT_EP_FIELD_REQUEST_EVD_HANDLE |
		    DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
}

static DAT_RETURN accept_request(struct worker *me, struct request *request)
{
	struct ep *ep = request->ep ?: acceptor(me);
	u8 private_data[PRIVATE];
	DAT_RETURN ret;
	u64 id = 0;

	if (!ep)
		return DAT_INVALID_STATE;
	if (request->offered && percent(me, 90))
		configure(me, ep);
	if (!attempt_begin(ep))
		return DAT_INVALID_STATE;
	if (ep->kept)
		id = new_id(me->w);
	put_private(me->w, id, private_data);
	ret = CALL(me, HANDLE_DEAD | WRONG_STATE, dat_cr_accept, request->cr,
		   request->ep ? DAT_HANDLE_NULL : ep->handle, PRIVATE,
		   private_data);
	attempt_end(ep, id, !ret);
	return ret;
}

static void op_cr(struct worker *me, struct ep *any)
{
	struct request **slot, *request = NULL;
	u32 first = below(me, CRS), i;
	DAT_RETURN ret;

	(void)any;
	for (i = 0; i < CRS && !request; i++) {
		slot = &me->w->crs[(first + i) % CRS];
		request = load(slot);
	}
	if (!request)
		return;
	if (percent(me, 85)) {
		ret = accept_request(me, request);
	} else {
		ret = CALL(me, HANDLE_DEAD, dat_cr_reject, request->cr);
		if (!ret)
			rejected(me->w, request);
	}
	if (!ret || (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE &&
		     DAT_GET_SUBTYPE(ret) == DAT_INVALID_HANDLE_CR))
		change(slot, &request, NULL);
}

static void op_psp(struct worker *me, struct ep *any)
{
	u32 i = below(me, PSPS);
	DAT_CONN_QUAL qual = BASE_QUAL + me->w->number * QUALS + i;
	DAT_PSP_HANDLE psp = load(&me->w->psps[i]);

	(void)any;
	if (!psp) {
		if (!CALL(me, T(CONN_QUAL_IN_USE), dat_psp_create, me->w->ia, qual,
			  me->w->cr.handle, i == 2 ? DAT_PSP_PROVIDER_FLAG :
			  DAT_PSP_CONSUMER_FLAG, &psp))
			store(&me->w->psps[i], psp);
	} else if (percent(me, 4) && !CALL(me, HANDLE_DEAD, dat_psp_free, psp)) {
		dead(me->w, dat_psp_free(psp), "a second dat_psp_free");
		change(&me->w->psps[i], &psp, NULL);
	}
}

static void op_rsp(struct worker *me, struct ep *ep)
{
	u32 i = below(me, RSPS);
	DAT_CONN_QUAL qual = BASE_QUAL + me->w->number * QUALS + PSPS + i;
	DAT_RSP_HANDLE rsp = load(&me->w->rsps[i]);

	if (!rsp) {
		if (!CALL(me, HANDLE_DEAD | WRONG_STATE | T(CONN_QUAL_IN_USE),
			  dat_rsp_create, me->w->ia, qual, percent(me, 20) ?
			  DAT_HANDLE_NULL : ep->handle, me->w->cr.handle, &rsp))
			store(&me->w->rsps[i], rsp);
	} else if (percent(me, 30) && !CALL(me, HANDLE_DEAD, dat_rsp_free, rsp)) {
		dead(me->w, dat_rsp_free(rsp), "a second dat_rsp_free");
		change(&me->w->rsps[i], &rsp, NULL);
	}
}

/* ---- memory ---------------------------------------------------------------- */

#define PATTERN	0xa5

static void lmr_create(struct worker *me, u32 i)
{
	struct lmr *lmr = &me->w->lmrs[i];
	struct place *mine = &board->places[me->w->number];
	u32 state = LMR_NONE, k;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_CONTEXT context;

	if (!change(&lmr->state, &state, LMR_CHANGES))
		return;
	if (lmr->filled)
		checked(RULE_LMR);
	for (k = 0; lmr->filled && k < AREA; k++) {
		if (lmr->mem[k] == PATTERN)
			continue;
		broken(RULE_LMR, "byte %u of a freed LMR is %#x", k, lmr->mem[k]);
		break;
	}
	if (!CALL(me, 0, port_lmr_create, me->w->ia, lmr->mem, AREA, me->w->pz,
		  DAT_MEM_PRIV_ALL_FLAG, &lmr->handle, &context, &rmr_context)) {
		store(&lmr->context, context);
		store(&mine->rmr_contexts[1 + i], rmr_context);
		state = LMR_LIVE;
	}
	store(&lmr->state, state);
}

static void op_lmr(struct worker *me, struct ep *any)
{
	u32 i = below(me, LMRS), state = LMR_LIVE;
	struct lmr *lmr = &me->w->lmrs[i];

	(void)any;
	if (load(&lmr->state) != LMR_LIVE) {
		lmr_create(me, i);
	} else if (percent(me, 25) &&
		   !CALL(me, HANDLE_DEAD | WRONG_STATE, dat_lmr_free,
			 lmr->handle) &&
		   change(&lmr->state, &state, LMR_CHANGES)) {
		memset(lmr->mem, PATTERN, AREA);
		lmr->filled = true;
		dead(me->w, dat_lmr_free(lmr->handle), "a second dat_lmr_free");
		store(&lmr->state, LMR_NONE);
	}
}

static void post_bind(struct worker *me, struct ep *ep, u32 i, DAT_RMR_HANDLE rmr)
{
	struct place *mine = &board->places[me->w->number];
	struct lmr *lmr = &me->w->lmrs[below(me, LMRS)];
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_TRIPLET part;
	DAT_DTO_COOKIE cookie;
	struct post *post;
	DAT_RETURN ret;

	post = post_begin(me, ep, false, BIND, &cookie);
	if (!post)
		return;
	memset(&part, 0, sizeof(part));
	if (percent(me, 30)) {
		part.lmr_context = load(&lmr->context);
		part.virtual_address = (uintptr_t)lmr->mem;
	} else {
		part.lmr_context = me->w->context;
		part.virtual_address = mine->areas[0];
	}
	part.segment_length = percent(me, 10) ? 0 : AREA;
	ret = CALL(me, HANDLE_DEAD | WRONG_STATE | NO_ROOM | BAD_MEMORY |
		   T(INVALID_PARAMETER), dat_rmr_bind, rmr, &part,
		   DAT_MEM_PRIV_ALL_FLAG, ep->handle, cookie, 0, &rmr_context);
	if (!ret && part.segment_length) {
		mine->areas[1 + LMRS + i] = part.virtual_address;
		store(&mine->rmr_contexts[1 + LMRS + i], rmr_context);
	}
	post_end(me->w, post, !ret);
}

static void op_rmr(struct worker *me, struct ep *ep)
{
	DAT_RMR_HANDLE rmr, none = NULL;
	u32 i = below(me, RMRS);
	DAT_RMR_PARAM param;

	rmr = load(&me->w->rmrs[i]);
	if (!rmr) {
		if (CALL(me, 0, dat_rmr_create, me->w->pz, &rmr))
			return;
		if (!change(&me->w->rmrs[i], &none, rmr))
			CALL(me, 0, dat_rmr_free, rmr);
	} else if (percent(me, 5)) {
		CALL(me, HANDLE_DEAD, dat_rmr_query, rmr, DAT_RMR_FIELD_ALL,
		     &param);
	} else if (!percent(me, 5)) {
		post_bind(me, ep, i, rmr);
	} else if (!CALL(me, HANDLE_DEAD, dat_rmr_free, rmr)) {
		dead(me->w, dat_rmr_free(rmr), "a second dat_rmr_free");
		change(&me->w->rmrs[i], &rmr, NULL);
	}
}

/* ---- event dispatchers, and what is in use --------------------------------- */

static void op_take(struct worker *me, struct ep *any)
{
	(void)any;
	take(me->w, &me->w->evds[below(me, EVDS)]);
}

static void op_nap(struct worker *me, struct ep *any)
{
	(void)any;
	nap_us(1000 + below(me, 2000));
}

static void op_wait(struct worker *me, struct ep *any)
{
	struct evd *evd = &me->w->evds[below(me, EVDS)];
	DAT_EVENT event;

	(void)any;
	lock(&evd->lock);
	if (!CALL(me, T(TIMEOUT_EXPIRED) | T(QUEUE_EMPTY), port_evd_wait,
		  evd->handle, below(me, 2000), &event))
		take_event(me->w, &event);
	unlock(&evd->lock);
}

static void op_resize(struct worker *me, struct ep *any)
{
	(void)any;
	CALL(me, WRONG_STATE | NO_ROOM, dat_evd_resize,
	     me->w->evds[below(me, EVDS)].handle, 256 + below(me, 512));
}

static void op_create_evd(struct worker *me, struct ep *any)
{
	DAT_EVD_HANDLE evd;

	(void)any;
	if (CALL(me, 0, port_evd_create, me->w->ia, 1 + below(me, 64),
		 DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evd))
		return;
	CALL(me, 0, dat_evd_free, evd);
	dead(me->w, dat_evd_free(evd), "a second dat_evd_free");
}

static void op_create_pz(struct worker *me, struct ep *any)
{
	DAT_PZ_HANDLE pz;

	(void)any;
	if (CALL(me, 0, dat_pz_create, me->w->ia, &pz))
		return;
	CALL(me, 0, dat_pz_free, pz);
	dead(me->w, dat_pz_free(pz), "a second dat_pz_free");
}

/* F10, F11, F18: refused, and no harm done */
static void op_in_use(struct worker *me, struct ep *any)
{
	struct world *w = me->w;
	DAT_RETURN ret;

	(void)any;
	switch (below(me, 3)) {
	case 0:
		ret = CALL(me, WRONG_STATE, dat_evd_free,
			   w->evds[below(me, EVDS)].handle);
		break;
	case 1:
		ret = CALL(me, WRONG_STATE, dat_pz_free, w->pz);
		break;
	default:
		ret = CALL(me, WRONG_STATE, dat_ia_close, w->ia,
			   DAT_CLOSE_GRACEFUL_FLAG);
	}
	if (!ret && !load(&w->closing))
		broken(RULE_CLOSE, "something was freed that is in use");
}

/* ---- which operation ------------------------------------------------------- */

struct op {
	u32 weight;
	void (*run)(struct worker *me, struct ep *ep);
};

static const struct op anything[] = {
	{ 10, op_recv },
	{ 10, op_send },
	{ 10, op_rdma },
	{ 10, op_ep_status },
	{ 5, op_ep_query },
	{ 5, op_ep_modify },
	{ 5, op_connect },
	{ 5, op_dup_connect },
	{ 3, op_disconnect },
	{ 5, op_reset },
	{ 3, op_ep_free },
	{ 40, op_cr },
	{ 10, op_psp },
	{ 6, op_rsp },
	{ 6, op_lmr },
	{ 6, op_rmr },
	{ 10, op_take },
	{ 3, op_wait },
	{ 2, op_resize },
	{ 2, op_create_evd },
	{ 2, op_create_pz },
	{ 2, op_in_use },
};

/* What lets a connection begin, live, end, and begin again. */
static const struct op unconnected[] = {
	{ 6, op_recv }, { 20, op_connect }, { 2, op_dup_connect }, { 20, op_cr },
};

static const struct op connecting[] = {
	{ 1, op_disconnect }, { 5, op_recv }, { 40, op_cr }, { 20, op_nap },
};

/* The same, by somebody who wants to see it connected. */
static const struct op connecting_patiently[] = {
	{ 5, op_recv }, { 40, op_cr }, { 20, op_nap },
};

static const struct op connected[] = {
	{ 40, op_recv }, { 60, op_send }, { 30, op_rdma }, { 6, op_rmr },
	{ 4, op_disconnect },
	{ 20, op_take }, { 2, op_nap },
};

static const struct op ending[] = {
	{ 2, op_disconnect }, { 5, op_recv }, { 20, op_nap },
};

static const struct op disconnected[] = {
	{ 40, op_reset }, { 10, op_send }, { 10, op_recv }, { 3, op_rdma },
	{ 2, op_rmr }, { 20, op_take },
};

static void choose(struct worker *me, const struct op *ops, u32 nr,
		   struct ep *ep)
{
	u32 sum = 0, i, n;

	for (i = 0; i < nr; i++)
		sum += ops[i].weight;
	n = below(me, sum);
	for (i = 0; n >= ops[i].weight; i++)
		n -= ops[i].weight;
	ops[i].run(me, ep);
}

#define CHOOSE(me, ops, ep)	choose(me, ops, ARRAY_SIZE(ops), ep)

/*
 * operate - one step of a worker
 *
 * On a slow machine a connection takes longer to come about than another worker takes to end it,
 * as long as each of them does everything as often.  So a patient one ends fewer.
 */
void operate(struct worker *me)
{
	bool patient = load(&board->patient);
	struct ep *ep = any_ep(me);
	DAT_EP_STATE state;

	if (!ep) {
		op_ep_free(me, NULL);
		return;
	}
	if (percent(me, patient ? 3 : 30) || status(me, ep, &state)) {
		CHOOSE(me, anything, ep);
		return;
	}
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		CHOOSE(me, unconnected, ep);
		break;
	case DAT_EP_STATE_CONNECTED:
		CHOOSE(me, connected, ep);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		CHOOSE(me, ending, ep);
		break;
	case DAT_EP_STATE_DISCONNECTED:
		CHOOSE(me, disconnected, ep);
		break;
	default:
		if (patient)
			CHOOSE(me, connecting_patiently, ep);
		else
			CHOOSE(me, connecting, ep);
	}
}
