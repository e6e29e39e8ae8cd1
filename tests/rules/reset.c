// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_ep_reset: from Disconnected to Unconnected, and the same EP connects again.
 */
#include "stage.h"

#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED

/* Both sides see the end, whoever asked for it. */
static bool both_disconnected(struct pair *p)
{
	return want_conn(p->a.conn, p->a.ep, DISCONNECTED) &&
	       want_conn(p->b.conn, p->b.ep, DISCONNECTED);
}

static bool reset_one(struct node *node)
{
	return OK(dat_ep_reset(node->ep)) &&
	       state_is(node->ep, DAT_EP_STATE_UNCONNECTED) &&
	       idle(node->ep);
}

static bool reset_both(struct pair *p)
{
	return reset_one(&p->a) && reset_one(&p->b);
}

/* ---- Unconnected -------------------------------------------------------- */

static bool recvs_kept(struct node *from, struct node *to)
{
	int i;

	for (i = 0; i < NODE_RECVS; i++) {
		mem_fill(&from->mem, i * 64, 64, i);
		if (!OK(node_send(from, i * 64, 64, i, 0)))
			return false;
	}
	for (i = 0; i < NODE_RECVS; i++)
		if (!want_done(from->request, from->ep, i, DAT_DTO_SUCCESS) ||
		    !want_done(to->recv, to->ep, 100 + i, DAT_DTO_SUCCESS) ||
		    !mem_check(&to->mem, i * 64, 64, i))
			return false;
	return nothing_more(to->recv);
}

static void unconnected(void)
{
	struct node *nodes[2];
	struct pair p = {};
	int i, j;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL))
		return;
	nodes[0] = &p.a;
	nodes[1] = &p.b;
	for (i = 0; i < 2; i++) {
		OK(dat_ep_reset(nodes[i]->ep));
		for (j = 0; j < NODE_RECVS; j++)
			OK(node_recv(nodes[i], j * 64, 64, 100 + j));
		for (j = 0; j < 3; j++)
			OK(dat_ep_reset(nodes[i]->ep));
		state_is(nodes[i]->ep, DAT_EP_STATE_UNCONNECTED);
		silent(nodes[i]->recv);
		nothing_more(nodes[i]->conn);
	}
	if (pair_connect(&p.a, &p.b, &p.listener)) {
		recvs_kept(&p.a, &p.b);
		recvs_kept(&p.b, &p.a);
	}
}

/* ---- lives -------------------------------------------------------------- */

#define LIVES		1000

/*
 * The completions of one direction through all lives: the cookies are numbered
 * throughout, so one of an earlier life would show.
 */
struct stream {
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	u64 posted;
	u64 taken;
};

struct lives {
	struct pair p;
	struct stream send, recv_a, recv_b;
};

/* All of one life: successes, then failures. */
static bool take(struct stream *s, u64 n)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data;
	bool over = false;
	DAT_EVENT event;

	data = &event.event_data.dto_completion_event_data;
	for (; n; n--, s->taken++) {
		if (!want_event(s->evd, DAT_DTO_COMPLETION_EVENT, &event) ||
		    !CHECK(data->ep_handle == s->ep) ||
		    !CHECK_EQ(data->user_cookie.as_64, s->taken))
			return false;
		if (over && !CHECK(data->status != DAT_DTO_SUCCESS))
			return false;
		over = data->status != DAT_DTO_SUCCESS;
	}
	return true;
}

static bool take_all(struct lives *l, u64 n)
{
	return take(&l->send, n) && take(&l->recv_a, n) && take(&l->recv_b, n);
}

/*
 * In most lives the completions of the one before are still on their EVDs; in
 * each eighth all queues are empty and used to their full depth.  Otherwise a few
 * posts do: it is the number of lives that counts, in a slow kernel too.
 */
#define FEW_POSTS	3

static bool is_full(unsigned int life)
{
	return life % 8 == 0;
}

static u64 posts_of(unsigned int life)
{
	return is_full(life) ? NODE_RECVS : FEW_POSTS;
}

static bool is_left(unsigned int life)
{
	return !is_full(life) && !is_full(life + 1);
}

static bool live(struct lives *l, unsigned int life)
{
	struct pair *p = &l->p;
	u64 i, n = posts_of(life);

	for (i = 0; i < n; i++)
		if (!OK(node_recv(&p->a, 0, 64, l->recv_a.posted++)) ||
		    !OK(node_recv(&p->b, 64 * i, 64, l->recv_b.posted++)))
			return false;
	/* R5, R6: what was there is there, and before the new. */
	if (life && is_left(life - 1) && !take_all(l, posts_of(life - 1)))
		return false;
	if (!pair_connect(&p->a, &p->b, &p->listener))
		return false;
	for (i = 0; i < n; i++)
		if (!OK(node_send(&p->a, 0, 64, l->send.posted++, 0)))
			return false;
	if (!OK(dat_ep_disconnect(life & 1 ? p->b.ep : p->a.ep,
				  life & 2 ? DAT_CLOSE_GRACEFUL_FLAG :
					     DAT_CLOSE_ABRUPT_FLAG)) ||
	    !both_disconnected(p) ||
	    (!is_left(life) && !take_all(l, n)) || !reset_both(p))
		return false;
	return nothing_more(p->a.conn) && nothing_more(p->b.conn);
}

static void stream_init(struct stream *s, struct node *node, DAT_EVD_HANDLE evd)
{
	s->evd = evd;
	s->ep = node->ep;
}

static void thousand_lives(void)
{
	struct lives l = {};
	/* Whole eighths: nothing is left at the end. */
	unsigned int life, lives = rounds_in_full(LIVES) / 8 * 8;
	u64 start;
	int before;

	if (!node_new(&l.p.a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&l.p.b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&l.p.listener, DAT_PSP_CONSUMER_FLAG))
		return;
	stream_init(&l.send, &l.p.a, l.p.a.request);
	stream_init(&l.recv_a, &l.p.a, l.p.a.recv);
	stream_init(&l.recv_b, &l.p.b, l.p.b.recv);
	before = live_objects();
	start = now_us();
	for (life = 0; life < lives && live(&l, life); life++)
		;
	note("%u lives of one EP in %llu ms", life, (now_us() - start) / 1000);
	if (!CHECK_EQ(life, lives) || !CHECK_EQ(l.send.taken, l.send.posted))
		return;
	/* An answered CR may take a moment to go. */
	for (start = now_us(); live_objects() != before; sleep_us(1000))
		if (now_us() - start > WAIT_MS * 1000ULL)
			break;
	CHECK_EQ(live_objects(), before);
}

/* One less: a completion that nobody has taken keeps its place (R14). */
#define LATE_RECVS	(NODE_RECVS - 1)

/* The old peer still sends while the EP is reset and meets a new one. */
static bool late_packets_once(struct pair *p, struct node *next, u64 life)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data;
	struct node old = p->b;
	u64 base = life * 1000;
	DAT_EVENT event;
	int i;

	data = &event.event_data.dto_completion_event_data;
	if (!pair_connect(&p->a, &old, &p->listener))
		return false;
	for (i = 0; i < LATE_RECVS; i++)
		if (!OK(node_recv(&p->a, 64, 2048, base + i)))
			return false;
	mem_fill(&old.mem, 0, 2048, 1);
	for (i = 0; i < NODE_REQUESTS; i++)
		if (!OK(node_send(&old, 0, 2048, i, 0)))
			return false;
	sleep_us(random_u32() % 2000 + 1);
	if (!OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
	    !want_conn(p->a.conn, p->a.ep, DISCONNECTED) || !reset_one(&p->a) ||
	    !OK(node_recv(&p->a, 0, 64, base + 100)) ||
	    !pair_connect(&p->a, next, &p->listener))
		return false;
	for (i = 0; i < LATE_RECVS; i++)
		if (!want_event(p->a.recv, DAT_DTO_COMPLETION_EVENT, &event) ||
		    !CHECK_EQ(data->user_cookie.as_64, base + i))
			return false;
	if (!message(next, &p->a, base + 100) ||
	    !want_conn(old.conn, old.ep, DISCONNECTED))
		return false;
	while (event_within(old.request, 0, &event))
		;
	return OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG)) &&
	       want_conn(p->a.conn, p->a.ep, DISCONNECTED) &&
	       want_conn(next->conn, next->ep, DISCONNECTED) &&
	       reset_one(&p->a) && reset_one(&old) && reset_one(next) &&
	       nothing_more(p->a.recv) && nothing_more(p->a.conn);
}

static void late_packets(void)
{
	struct node next = {};
	struct pair p = {};
	u64 life;

	if (!node_new(&p.a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&p.b, &side_b, THREE_EVDS, NULL) ||
	    !node_new(&next, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&p.listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (life = 0; life < 50; life++)
		if (!late_packets_once(&p, &next, life))
			return;
}

/* ---- markers ------------------------------------------------------------ */

enum marker { MARK_SEND, MARK_READ, MARK_WRITE, MARK_BIND, NR_MARKERS };

/* Of the requests before a marker, this one is a bind. */
#define BIND	2

static DAT_RETURN post_marker(struct node *node, enum marker kind,
			      DAT_RMR_HANDLE rmr, u64 number)
{
	DAT_RMR_TRIPLET remote = { .segment_length = 8 };

	switch (kind) {
	case MARK_SEND:
		return node_send(node, 0, 8, number,
				 DAT_COMPLETION_SUPPRESS_FLAG);
	case MARK_READ:
		return node_read(node, 0, 8, &remote, number, 0);
	case MARK_WRITE:
		return node_write(node, 0, 8, &remote, number, 0);
	default:
		return node_bind(node, rmr, 0, 8, number,
				 DAT_COMPLETION_SUPPRESS_FLAG);
	}
}

static bool flushed(struct pair *p, DAT_RMR_HANDLE rmr, bool bind, u64 number)
{
	return bind ? want_bound(p->a.request, rmr, number, DAT_DTO_ERR_FLUSHED) :
		      want_done(p->a.request, p->a.ep, number,
				DAT_DTO_ERR_FLUSHED);
}

/* A consumer that waits for its markers finds all others before them. */
static bool markers_once(struct pair *p, enum marker kind, DAT_RMR_HANDLE rmr)
{
	int i;

	for (i = 0; i < NODE_RECVS - 1; i++) {
		OK(node_recv(&p->a, 0, 64, i));
		OK(i == BIND ? node_bind(&p->a, rmr, 0, 64, i, 0) :
			       node_send(&p->a, 0, 64, i, 0));
	}
	OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	if (!both_disconnected(p))
		return false;
	OK(node_recv(&p->a, 0, 64, 100));
	OK(post_marker(&p->a, kind, rmr, 101));
	for (i = 0; i < NODE_RECVS - 1; i++)
		if (!want_done(p->a.recv, p->a.ep, i, DAT_DTO_ERR_FLUSHED))
			return false;
	want_done(p->a.recv, p->a.ep, 100, DAT_DTO_ERR_FLUSHED);
	/* R9: that says nothing about the other EVD. */
	for (i = 0; i < NODE_RECVS - 1; i++)
		if (!flushed(p, rmr, i == BIND, i))
			return false;
	return flushed(p, rmr, kind == MARK_BIND, 101) && reset_both(p) &&
	       nothing_more(p->a.recv) && nothing_more(p->a.request) &&
	       nothing_more(p->a.conn);
}

static void markers(void)
{
	enum marker kind;
	DAT_RMR_HANDLE rmr;
	struct pair p = {};

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL) ||
	    !OK(dat_rmr_create(side_a.pz, &rmr)))
		return;
	for (kind = 0; kind < NR_MARKERS; kind++)
		if (!pair_connect(&p.a, &p.b, &p.listener) ||
		    !markers_once(&p, kind, rmr))
			return;
	/* F15: of so many binds that were flushed not one holds it. */
	OK(dat_lmr_free(p.a.mem.lmr));
}

/* Work of the old life that was posted after its end, and reset right behind. */
static void late_posts(void)
{
	struct pair p = {};
	DAT_EVENT event;
	int i, j;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < 30 && !failed(); i++) {
		if (!pair_connect(&p.a, &p.b, &p.listener) ||
		    !OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
		    !both_disconnected(&p))
			return;
		for (j = 0; j < NODE_RECVS; j++) {
			OK(node_recv(&p.a, 0, 64, j));
			OK(node_send(&p.a, 0, 64, j, 0));
		}
		if (!reset_both(&p))
			return;
		for (j = 0; j < NODE_RECVS; j++)
			if (!CHECK(event_within(p.a.recv, 0, &event)) ||
			    !CHECK(event_within(p.a.request, 0, &event)))
				return;
		nothing_more(p.a.recv);
		nothing_more(p.a.request);
	}
}

/* ---- reset while flushes are delivered ---------------------------------- */

/* The flush is under way, or the end is only near. */
static bool reset_asap(struct node *node)
{
	DAT_RETURN ret;

	for (;;) {
		ret = dat_ep_reset(node->ep);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
			return OK(ret);
		if (failed())
			return false;
		yield_cpu();
	}
}

/* All is there when reset is over, and nothing is added (R6). */
static bool ended_before_reset(struct node *node)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < NODE_RECVS; i++) {
		if (!event_within(node->recv, 0, &event))
			return FAIL("receive %d is missing", i);
		if (!CHECK_EQ(event.event_data.dto_completion_event_data
			      .user_cookie.as_64, i))
			return false;
	}
	return state_is(node->ep, DAT_EP_STATE_UNCONNECTED) &&
	       want_conn(node->conn, node->ep, DISCONNECTED) &&
	       nothing_more(node->conn) && nothing_more(node->recv);
}

static bool post_recvs(struct node *node)
{
	int i;

	for (i = 0; i < NODE_RECVS; i++)
		if (!OK(node_recv(node, 0, 64, i)))
			return false;
	return true;
}

/* The attempt is cancelled: Disconnected at once, the flush is behind. */
static bool reset_cancelled(struct node *a, struct listener *listener)
{
	DAT_CR_HANDLE cr;

	return post_recvs(a) && start_connect(a, listener->qual) &&
	       next_request(listener, &cr) &&
	       OK(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG)) &&
	       OK(dat_ep_reset(a->ep)) && ended_before_reset(a) &&
	       OK(dat_cr_reject(cr));
}

static bool reset_connected(struct pair *p, bool peer)
{
	struct node *node = peer ? &p->b : &p->a;

	return post_recvs(&p->a) && pair_connect(&p->a, &p->b, &p->listener) &&
	       OK(dat_ep_disconnect(node->ep, DAT_CLOSE_ABRUPT_FLAG)) &&
	       reset_asap(&p->a) && ended_before_reset(&p->a) &&
	       want_conn(p->b.conn, p->b.ep, DISCONNECTED) &&
	       reset_one(&p->b);
}

static void reset_in_flush(void)
{
	struct pair p = {};
	int i;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL))
		return;
	for (i = 0; i < 30; i++)
		/* On iWARP the driver keeps an attempt until its time is over. */
		if ((!side_is_iwarp(&side_a) &&
		     !reset_cancelled(&p.a, &p.listener)) ||
		    !reset_connected(&p, false) || !reset_connected(&p, true))
			return;
}

/* ---- used at once -------------------------------------------------------- */

#define RESERVED_QUAL	20300

/* @p's b ends its life with the flush still ahead, and is reset. */
static bool cut_short(struct pair *p)
{
	return post_recvs(&p->b) &&
	       OK(dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG)) &&
	       reset_asap(&p->b);
}

/* It is asked already, and accepts as soon as it is reset. */
static bool accept_at_once(struct pair *p, struct node *asker)
{
	DAT_CR_HANDLE cr;

	return start_connect(asker, p->listener.qual) &&
	       next_request(&p->listener, &cr) && cut_short(p) &&
	       OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
}

static bool reserve_at_once(struct pair *p, struct node *asker)
{
	struct listener reserved = p->listener;
	DAT_CR_HANDLE cr;

	reserved.qual = RESERVED_QUAL;
	return cut_short(p) &&
	       OK(dat_rsp_create(side_b.ia, reserved.qual, p->b.ep,
				 reserved.requests, &reserved.psp)) &&
	       state_is(p->b.ep, DAT_EP_STATE_RESERVED) &&
	       start_connect(asker, reserved.qual) &&
	       next_request(&reserved, &cr) &&
	       OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL)) &&
	       OK(dat_rsp_free(reserved.psp));
}

/* Of the old life all is there; the new one is whole. */
static bool two_lives(struct pair *p, struct node *asker)
{
	int i;

	for (i = 0; i < NODE_RECVS; i++)
		if (!want_done(p->b.recv, p->b.ep, i, DAT_DTO_ERR_FLUSHED))
			return false;
	return want_conn(p->b.conn, p->b.ep, DISCONNECTED) &&
	       want_conn(p->a.conn, p->a.ep, DISCONNECTED) &&
	       reset_one(&p->a) && established(asker, &p->b) &&
	       OK(node_recv(&p->b, 0, 64, 100)) && message(asker, &p->b, 100) &&
	       nothing_more(p->b.recv) && nothing_more(p->b.conn);
}

static void used_at_once(void)
{
	struct node next = {};
	struct pair p = {};
	int i;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !node_new(&next, &side_a, THREE_EVDS, NULL))
		return;
	for (i = 0; i < 20; i++) {
		struct node old = p.a;

		if (!(i & 1 ? reserve_at_once(&p, &next) :
			      accept_at_once(&p, &next)) ||
		    !two_lives(&p, &next))
			return;
		p.a = next;
		next = old;
	}
}

/* ---- what is kept, what is ended ---------------------------------------- */

static bool same_attr(const DAT_EP_ATTR *was, const DAT_EP_ATTR *is)
{
	return CHECK_EQ(is->service_type, was->service_type) &&
	       CHECK_EQ(is->max_message_size, was->max_message_size) &&
	       CHECK_EQ(is->max_rdma_size, was->max_rdma_size) &&
	       CHECK_EQ(is->qos, was->qos) &&
	       CHECK_EQ(is->recv_completion_flags,
			was->recv_completion_flags) &&
	       CHECK_EQ(is->request_completion_flags,
			was->request_completion_flags) &&
	       CHECK_EQ(is->max_recv_dtos, was->max_recv_dtos) &&
	       CHECK_EQ(is->max_request_dtos, was->max_request_dtos) &&
	       CHECK_EQ(is->max_recv_iov, was->max_recv_iov) &&
	       CHECK_EQ(is->max_request_iov, was->max_request_iov) &&
	       CHECK_EQ(is->max_rdma_read_in, was->max_rdma_read_in) &&
	       CHECK_EQ(is->max_rdma_read_out, was->max_rdma_read_out) &&
	       CHECK_EQ(is->srq_soft_hw, was->srq_soft_hw) &&
	       CHECK_EQ(is->max_rdma_read_iov, was->max_rdma_read_iov) &&
	       CHECK_EQ(is->max_rdma_write_iov, was->max_rdma_write_iov);
}

static bool same_but_peer(const DAT_EP_PARAM *was, const DAT_EP_PARAM *is)
{
	return CHECK(is->ia_handle == was->ia_handle) &&
	       CHECK(is->pz_handle == was->pz_handle) &&
	       CHECK(is->recv_evd_handle == was->recv_evd_handle) &&
	       CHECK(is->request_evd_handle == was->request_evd_handle) &&
	       CHECK(is->connect_evd_handle == was->connect_evd_handle) &&
	       CHECK(is->srq_handle == was->srq_handle) &&
	       same_attr(&was->ep_attr, &is->ep_attr);
}

static bool kept(struct node *node, const DAT_EP_PARAM *was)
{
	DAT_CONTEXT context = {};
	DAT_EP_PARAM is;

	return OK(dat_ep_query(node->ep, DAT_EP_FIELD_ALL, &is)) &&
	       same_but_peer(was, &is) &&
	       OK(dat_get_consumer_context(node->ep, &context)) &&
	       CHECK_EQ(context.as_64, 4711);
}

/* It may be modified again, and its next peer is another one. */
static void kept_and_ended(void)
{
	DAT_EP_PARAM was, is, change = {};
	struct listener other = {};
	DAT_CR_PARAM cr_param;
	struct pair p = {};
	DAT_CR_HANDLE cr;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !listener_new(&other, DAT_PSP_CONSUMER_FLAG) ||
	    !OK(dat_set_consumer_context(p.a.ep, cookie(4711))) ||
	    !OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &was)))
		return;
	CHECK_EQ(was.remote_port_qual, p.listener.qual);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	if (!both_disconnected(&p) || !reset_both(&p) || !kept(&p.a, &was))
		return;
	change.ep_attr.max_recv_dtos = NODE_RECVS / 2;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &change));
	was.ep_attr.max_recv_dtos = NODE_RECVS / 2;
	if (!start_connect(&p.a, other.qual) || !next_request(&other, &cr) ||
	    !OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param)) ||
	    !OK(dat_cr_accept(cr, p.b.ep, 0, NULL)) ||
	    !established(&p.a, &p.b) || !kept(&p.a, &was))
		return;
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &is));
	CHECK_EQ(is.remote_port_qual, other.qual);
	OK(node_recv(&p.a, 0, 64, 5));
	message(&p.b, &p.a, 5);
}

/* ---- events that nobody takes -------------------------------------------- */

#define UNTAKEN		3

/* One life, of which the scenario knows by the states alone. */
static bool untaken_life(struct pair *p)
{
	DAT_CR_HANDLE cr;

	return start_connect(&p->a, p->listener.qual) &&
	       next_request(&p->listener, &cr) &&
	       OK(dat_cr_accept(cr, p->b.ep, 0, NULL)) &&
	       state_comes(p->a.ep, DAT_EP_STATE_CONNECTED) &&
	       state_comes(p->b.ep, DAT_EP_STATE_CONNECTED) &&
	       OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG)) &&
	       state_comes(p->a.ep, DAT_EP_STATE_DISCONNECTED) &&
	       state_comes(p->b.ep, DAT_EP_STATE_DISCONNECTED) &&
	       reset_both(p);
}

static bool untaken_events(struct node *node)
{
	int life;

	for (life = 0; life < UNTAKEN; life++)
		if (!want_conn(node->conn, node->ep, DAT_CONNECTION_EVENT_ESTABLISHED) ||
		    !want_conn(node->conn, node->ep, DISCONNECTED))
			return false;
	return nothing_more(node->conn);
}

static void untaken(void)
{
	struct pair p = {};
	int life;

	if (!pair_apart(&p, THREE_EVDS, NULL, NULL))
		return;
	for (life = 0; life < UNTAKEN; life++)
		if (!untaken_life(&p))
			return;
	untaken_events(&p.a);
	untaken_events(&p.b);
}

/* ---- what a state forbids ----------------------------------------------- */

/* What the calls need besides the EP. */
struct helpers {
	struct node unconnected[2];	/* on side a, on side b */
	struct pair pair;
	DAT_EVD_HANDLE requests[2];
	struct node asker;
	DAT_CR_HANDLE cr;
};

static bool helpers_new(struct helpers *h)
{
	return pair_new(&h->pair, THREE_EVDS, NULL, NULL) &&
	       node_new(&h->unconnected[0], &side_a, THREE_EVDS, NULL) &&
	       node_new(&h->unconnected[1], &side_b, THREE_EVDS, NULL) &&
	       node_new(&h->asker, &side_a, THREE_EVDS, NULL) &&
	       evd_new(&side_a, 8, DAT_EVD_CR_FLAG, &h->requests[0]) &&
	       evd_new(&side_b, 8, DAT_EVD_CR_FLAG, &h->requests[1]) &&
	       start_connect(&h->asker, h->pair.listener.qual) &&
	       next_request(&h->pair.listener, &h->cr);
}

/* To begin a connection, with the EP or as with the EP. */
static void forbidden_beginnings(struct staged *s, struct helpers *h)
{
	bool b = s->node.side == &side_b;
	struct node *connected = b ? &h->pair.b : &h->pair.a;
	DAT_EP_HANDLE ep = s->node.ep;
	DAT_RETURN no = s->is->refusal;
	DAT_RSP_HANDLE rsp;

	if (s->is->state != DAT_EP_STATE_CONNECTED)
		EXPECT(dat_ep_dup_connect(h->unconnected[b].ep, ep, CONNECT_US,
					  0, NULL, DAT_QOS_BEST_EFFORT), no);
	if (s->is->state == DAT_EP_STATE_UNCONNECTED)
		return;
	EXPECT(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&side_b.addr,
			      s->listener.qual, CONNECT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	       no);
	EXPECT(dat_ep_dup_connect(ep, connected->ep, CONNECT_US, 0, NULL,
				  DAT_QOS_BEST_EFFORT), no);
	EXPECT(dat_rsp_create(s->node.side->ia, 20100, ep, h->requests[b],
			      &rsp), no);
	if (b)
		EXPECT(dat_cr_accept(h->cr, ep, 0, NULL), no);
}

static void forbidden_ends(struct staged *s)
{
	DAT_EP_HANDLE ep = s->node.ep;
	DAT_RETURN no = s->is->refusal;

	if (s->is->state != DAT_EP_STATE_UNCONNECTED &&
	    s->is->state != DAT_EP_STATE_DISCONNECTED)
		EXPECT(dat_ep_reset(ep), no);
	switch (s->is->state) {
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		EXPECT(dat_ep_free(ep), no);
		EXPECT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), no);
		EXPECT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), no);
		break;
	case DAT_EP_STATE_UNCONNECTED:
		EXPECT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), no);
		EXPECT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), no);
		break;
	default:
		BAD_ARG(dat_ep_disconnect(ep, 2), 2);
	}
}

static void forbidden(void)
{
	struct helpers h = {};
	struct staged s;
	int i;

	if (!helpers_new(&h))
		return;
	for (i = 0; i < NR_STAGES && !failed(); i++) {
		if (!stage_new(&s, &stages[i]))
			return;
		forbidden_beginnings(&s, &h);
		forbidden_ends(&s);
		if (failed())
			FAIL("in state %s", stages[i].name);
		else
			stage_unharmed(&s);
	}
	/* Nor did it change the others. */
	if (!failed() && OK(dat_cr_accept(h.cr, h.unconnected[1].ep, 0, NULL)) &&
	    established(&h.asker, &h.unconnected[1])) {
		OK(node_recv(&h.pair.b, 0, 64, 1));
		message(&h.pair.a, &h.pair.b, 1);
		nothing_more(h.unconnected[0].conn);
	}
}

/* ---- other EVDs in the next life ------------------------------------------ */

/* The connection of @p ends, and nobody looks at side a before the end is on its EVD. */
static bool end_unseen(struct pair *p)
{
	u64 end = deadline();
	DAT_EP_PARAM param = {};

	if (!OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG)) ||
	    !want_conn(p->b.conn, p->b.ep, DISCONNECTED))
		return false;
	while (param.ep_state != DAT_EP_STATE_DISCONNECTED) {
		if (!CHECK(now_us() < end) ||
		    !OK(dat_ep_query(p->a.ep, DAT_EP_FIELD_EP_STATE, &param)))
			return false;
		yield_cpu();
	}
	/* When this has returned, what was raised before it is there, too. */
	return OK(post_se(p->a.conn, 0));
}

/* Receives that are flushed, and then the end, on the one EVD of side a. */
static bool flushed_before_end(struct pair *p)
{
	struct account account = {};
	bool marked = false;
	DAT_EVENT event;
	int i;

	for (i = 0; i < NODE_RECVS; i++)
		if (!OK(node_recv(&p->a, 0, 64, RECV | i)))
			return false;
	if (!pair_connect(&p->a, &p->b, &p->listener) || !end_unseen(p))
		return false;
	while (next_event(p->a.conn, &event) && event.event_number != DISCONNECTED) {
		if (event.event_number == DAT_SOFTWARE_EVENT)
			marked = true;
		else if (!account_event(&account, &p->a, &event))
			return false;
	}
	return account_closed(&account, 0, NODE_RECVS) &&
	       (marked || want_se(p->a.conn, 0)) && nothing_more(p->a.conn) && reset_both(p);
}

/* From one EVD to another and back, which have had different numbers of events before. */
static void other_evds(void)
{
	struct node other = {};
	struct pair p = {};
	DAT_EVD_HANDLE first;
	int i;

	if (!pair_apart(&p, ONE_EVD, NULL, NULL) ||
	    !node_new(&other, &side_a, ONE_EVD, NULL))
		return;
	first = p.a.conn;
	for (i = 0; i < NODE_EVENTS / 2; i++) {
		OK(post_se(first, i));
		want_se(first, i);
	}
	if (!pair_connect(&p.a, &p.b, &p.listener) ||
	    !OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG)) || !both_disconnected(&p) ||
	    !reset_both(&p))
		return;
	p.a.recv = other.recv;
	p.a.request = other.recv;
	p.a.conn = other.recv;
	if (!adopt(&p.a) || !flushed_before_end(&p))
		return;
	p.a.recv = first;
	p.a.request = first;
	p.a.conn = first;
	if (adopt(&p.a) && flushed_before_end(&p))
		nothing_more(other.recv);
}

static const struct scenario scenarios[] = {
	SCENARIO("R2 Unconnected: nothing happens, receives stay and are used in order",
		 unconnected),
	SCENARIO_IB("R3 F2..F4 D1 D3 C1 C2 P20 P50 P61 M1 M3 what a state forbids changes nothing",
		    forbidden),
	SCENARIO_IB("R1 R5 R6 R10 R11 R14 T35 "
		    "a thousand lives of one EP, nothing stale, nothing left",
		    thousand_lives),
	SCENARIO_IB("R6 R11 the old peer still sends while the EP meets a new one",
		    late_packets),
	SCENARIO_IB("R7 R8 R9 F15 after its markers reset loses nothing: send, RDMA, bind",
		    markers),
	SCENARIO("R5 R6 posted after the end, and reset right behind", late_posts),
	SCENARIO("R1 R5 R6 R10 R15 reset while the flush is under way",
		 reset_in_flush),
	SCENARIO("R6 R10 R15 P20 P50 accepts, or is given to a RSP, as soon as it is reset",
		 used_at_once),
	SCENARIO("R5 E44 E45 the events of three lives, which nobody took meanwhile",
		 untaken),
	SCENARIO("D44 D45 E46 M4 R11 other EVDs in the next life, and back", other_evds),
	SCENARIO("R12 R13 R16 what reset keeps, and another peer in the next life",
		 kept_and_ended, .srq = SRQ_BOTH),
};

SCENARIO_TABLE(reset_table);
