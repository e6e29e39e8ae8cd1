// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The order of completions: within a direction, between data and messages, with
 * the end of the connection, on one EVD and on three, with several threads.
 */
#include "rules.h"

#define GRACEFUL	DAT_CLOSE_GRACEFUL_FLAG
#define ABRUPT		DAT_CLOSE_ABRUPT_FLAG
#define DISCONNECTED	DAT_CONNECTION_EVENT_DISCONNECTED

#define LENGTH		1024

/* ---- traffic ------------------------------------------------------------ */

/* One end of a connection that keeps its queues full. */
struct stream {
	struct node *node;
	struct account account;
	u64 requests, recvs;	/* accepted */
	u64 taken;
};

static bool fill_recvs(struct stream *s)
{
	DAT_RETURN ret;

	while (!(ret = node_recv(s->node, 0, LENGTH, RECV | s->recvs)))
		s->recvs++;
	return IS(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* Those that account.request.suppressed names are. */
static bool fill_requests(struct stream *s)
{
	DAT_COMPLETION_FLAGS flags;
	DAT_RETURN ret;

	for (;;) {
		flags = s->account.request.suppressed & 1U << s->requests % 32 ?
			DAT_COMPLETION_SUPPRESS_FLAG : 0;
		ret = node_send(s->node, LENGTH, LENGTH, s->requests, flags);
		if (ret)
			break;
		s->requests++;
	}
	return IS(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* Takes the events that are queued, @n at most. */
static bool take_some(struct stream *s, DAT_EVD_HANDLE evd, int n)
{
	DAT_EVENT event;

	while (n-- && event_within(evd, 0, &event)) {
		if (!account_event(&s->account, s->node, &event))
			return false;
		s->taken++;
	}
	return true;
}

static bool turn(struct stream *s)
{
	return fill_recvs(s) && fill_requests(s) &&
	       take_some(s, s->node->recv, 8) &&
	       take_some(s, s->node->request, 8);
}

/* Both ends at work, until @n completions of each were taken. */
static bool traffic(struct stream *a, struct stream *b, u64 n)
{
	u64 end = deadline();

	while (a->taken < n || b->taken < n) {
		if (!turn(a) || !turn(b))
			return false;
		if (now_us() > end)
			return FAIL("%llu and %llu completions, not %llu",
				    a->taken, b->taken, n);
		yield_cpu();
	}
	/* The queues are full again when the end comes. */
	return turn(a) && turn(b) && fill_recvs(a) && fill_recvs(b) &&
	       fill_requests(a) && fill_requests(b);
}

/* What @s has posted finds a receive at @peer: a drain comes to its end. */
static bool receive_all(struct stream *s, struct stream *peer)
{
	u64 end = deadline();

	while (peer->recvs < s->requests) {
		if (!take_some(peer, peer->node->recv, 8) || !fill_recvs(peer) ||
		    !CHECK(now_us() < end))
			return false;
		yield_cpu();
	}
	return true;
}

/* ---- the end, under load -------------------------------------------------- */

#define LOAD_ROUNDS	16

static void end_under_load(enum evds evds)
{
	unsigned int i, n = rounds_in_full(LOAD_ROUNDS);
	u64 good = 0, all = 0;

	for (i = 0; i < n && !failed(); i++) {
		struct pair p = {};
		struct stream a = { .node = &p.a }, b = { .node = &p.b };
		struct stream *actor = i & 1 ? &b : &a;
		struct stream *peer = i & 1 ? &a : &b;

		a.account.request.suppressed = 0x88888888;
		if (!pair_new(&p, evds, NULL, NULL) ||
		    !traffic(&a, &b, 40 + random_u32() % 100))
			return;
		if (i & 2 && !receive_all(actor, peer))
			return;
		OK(dat_ep_disconnect(actor->node->ep, i & 2 ? GRACEFUL : ABRUPT));
		if (!account_until(&a.account, &p.a, DISCONNECTED) ||
		    !account_until(&b.account, &p.b, DISCONNECTED))
			return;
		account_closed(&a.account, a.requests, a.recvs);
		account_closed(&b.account, b.requests, b.recvs);
		/* What a graceful side sent has arrived (D11, D12). */
		if (i & 2)
			CHECK(actor->account.request.good == actor->requests &&
			      peer->account.recv.good == actor->requests);
		good += a.account.request.good + b.account.request.good;
		all += a.requests + b.requests;
		pair_free(&p);
	}
	note("%llu of %llu requests succeeded", good, all);
}

static void one_evd(void)
{
	end_under_load(ONE_EVD);
}

static void three_evds(void)
{
	end_under_load(THREE_EVDS);
}

/* ---- markers ------------------------------------------------------------ */

/* All of the past, then the marker, and nothing behind it. */
static bool until_marker(struct stream *s, DAT_EVD_HANDLE evd, u64 marker)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	for (;;) {
		if (!want_event(evd, DAT_DTO_COMPLETION_EVENT, &event))
			return false;
		dto = &event.event_data.dto_completion_event_data;
		if (dto->user_cookie.as_64 == marker)
			break;
		if (!account_event(&s->account, s->node, &event))
			return false;
	}
	return CHECK_EQ(dto->status, DAT_DTO_ERR_FLUSHED) && nothing_more(evd);
}

#define MARKER	0xfffffff0

/*
 * How many events have to be taken from a full queue until it has room: one. But forwarded, events
 * free their slots as soon as they are in the ring of the process, and older ones may have filled
 * the ring.
 */
static u64 until_room(const struct node *node)
{
#ifndef __KERNEL__
	if (!side_is_passthrough(node->side))
		return NODE_EVENTS + 1;
#endif
	return 1;
}

/* Posts a marker on a queue that is full. */
static bool post_marker(struct stream *s, DAT_EVD_HANDLE evd, bool recv)
{
	u64 taken, most = s->taken + until_room(s->node);
	DAT_RETURN ret;

	do {
		taken = s->taken;
		if (!take_some(s, evd, 1))
			return false;
		ret = recv ? node_recv(s->node, 0, 8, RECV | MARKER) :
			     node_send(s->node, 0, 8, MARKER, DAT_COMPLETION_SUPPRESS_FLAG);
	} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && s->taken != taken &&
		 s->taken < most);
	return OK(ret);
}

/*
 * The way that the page of dat_ep_reset shows: nothing is dequeued but the end
 * of the connection, then the last posts of all say when the queues are empty.
 */
static bool markers(struct stream *s)
{
	struct node *node = s->node;

	if (!want_conn(node->conn, node->ep, DISCONNECTED))
		return false;
	return post_marker(s, node->recv, true) && post_marker(s, node->request, false) &&
	       until_marker(s, node->request, MARKER) &&
	       until_marker(s, node->recv, RECV | MARKER) &&
	       account_closed(&s->account, s->requests, s->recvs) &&
	       idle(node->ep) && OK(dat_ep_reset(node->ep)) &&
	       nothing_more(node->recv) && nothing_more(node->request) &&
	       nothing_more(node->conn);
}

static void markers_last(void)
{
	int i;

	for (i = 0; i < 8 && !failed(); i++) {
		struct pair p = {};
		struct stream a = { .node = &p.a }, b = { .node = &p.b };

		if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
		    !traffic(&a, &b, 20 + random_u32() % 60) ||
		    !receive_all(&a, &b) || !receive_all(&b, &a))
			return;
		OK(dat_ep_disconnect(i & 1 ? p.b.ep : p.a.ep,
				     i & 2 ? GRACEFUL : ABRUPT));
		if (!markers(&a) || !markers(&b))
			return;
		/* The same EPs, another life: nothing of the old one is in it. */
		if (i & 4 && pair_connect(&p.a, &p.b, &p.listener)) {
			a = (struct stream) { .node = &p.a };
			b = (struct stream) { .node = &p.b };
			traffic(&a, &b, 40);
		}
		pair_free(&p);
	}
}

/* ---- within a connection ------------------------------------------------- */

#define MESSAGES	300
#define SLOT		256

static size_t slot(int i)
{
	return (size_t)(i % NODE_RECVS) * SLOT;
}

/*
 * Each message follows an RDMA write, which is there when the message is; and
 * the n-th send fills the n-th receive.  A slot is written again only after the
 * receiver has looked at it.
 */
static void data_before_message(void)
{
	struct account sent = {}, received = {};
	struct pair p = {};
	DAT_EVENT event;
	int i, n;

	if (!pair_new(&p, ONE_EVD, NULL, NULL))
		return;
	for (i = 0; i < NODE_RECVS; i++)
		OK(node_recv(&p.b, 32768 + slot(i), SLOT, RECV | i));
	for (i = 0; i < MESSAGES && !failed(); i += n) {
		/* Two requests each. */
		for (n = 0; n < NODE_REQUESTS / 2 && i + n < MESSAGES; n++) {
			size_t at = slot(i + n);
			DAT_RMR_TRIPLET to = remote_piece(&p.b.mem, at, SLOT);

			mem_fill(&p.a.mem, at, SLOT, i + n);
			OK(node_write(&p.a, at, SLOT, &to, 2 * (i + n),
				      DAT_COMPLETION_SUPPRESS_FLAG));
			OK(node_send(&p.a, at, SLOT, 2 * (i + n) + 1, 0));
		}
		sent.request.suppressed = 0x55555555;
		for (n = 0; n < NODE_REQUESTS / 2 && i + n < MESSAGES; n++) {
			if (!next_event(p.b.recv, &event) ||
			    !account_event(&received, &p.b, &event))
				return;
			mem_check(&p.b.mem, slot(i + n), SLOT, i + n);
			mem_check(&p.b.mem, 32768 + slot(i + n), SLOT, i + n);
			OK(node_recv(&p.b, 32768 + slot(i + n), SLOT,
				     RECV | (i + n + NODE_RECVS)));
			if (!next_event(p.a.request, &event) ||
			    !account_event(&sent, &p.a, &event))
				return;
		}
	}
	CHECK_EQ(sent.request.good, 2 * MESSAGES);
	CHECK_EQ(received.recv.good, MESSAGES);
}

#define BINDS	100

/*
 * Each bind is followed by a message with its context, and the peer uses that as
 * soon as it has it: nobody has waited for the bind's completion.
 */
static void bind_before_message(void)
{
	struct account mine = {}, theirs = {};
	DAT_RMR_TRIPLET to = { .segment_length = SLOT };
	DAT_LMR_TRIPLET iov;
	DAT_RMR_HANDLE rmr;
	struct pair p = {};
	DAT_EVENT event;
	int i, j;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) ||
	    !OK(dat_rmr_create(side_a.pz, &rmr)))
		return;
	for (i = 0; i < BINDS && !failed(); i++) {
		size_t at = random_u32() % 30000;

		mem_fill(&p.b.mem, 0, SLOT, i);
		OK(node_recv(&p.b, 32768, sizeof(to), RECV | i));
		iov = piece(&p.a.mem, at, SLOT);
		OK(dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				p.a.ep, cookie(2 * i), 0, &to.rmr_context));
		to.target_address = iov.virtual_address;
		memcpy(p.a.mem.va + 32768, &to, sizeof(to));
		OK(node_send(&p.a, 32768, sizeof(to), 2 * i + 1, 0));
		if (!next_event(p.b.recv, &event) ||
		    !account_event(&theirs, &p.b, &event))
			return;
		memcpy(&to, p.b.mem.va + 32768, sizeof(to));
		OK(node_write(&p.b, 0, SLOT, &to, i, 0));
		if (!next_event(p.b.request, &event) ||
		    !account_event(&theirs, &p.b, &event))
			return;
		mem_arrives(&p.a.mem, at, SLOT, i);
		for (j = 0; j < 2; j++)
			if (!next_event(p.a.request, &event) ||
			    !account_event(&mine, &p.a, &event))
				return;
	}
	CHECK_EQ(mine.request.good, 2 * BINDS);
	CHECK_EQ(theirs.request.good, BINDS);
}

/* As many as the attributes say, whether or not the peer is ready. */
static void room(void)
{
	struct pair p = {};
	struct stream a = { .node = &p.a }, b = { .node = &p.b };
	DAT_EVENT event;

	if (!pair_new(&p, ONE_EVD, NULL, NULL) || !fill_requests(&a))
		return;
	CHECK(a.requests >= NODE_REQUESTS);
	/* mt:T51: it stays outstanding. */
	silent(p.a.request);
	fill_recvs(&b);
	CHECK(b.recvs >= NODE_RECVS);
	if (!next_event(p.a.request, &event) ||
	    !account_event(&a.account, &p.a, &event))
		return;
	/* One was taken, one has room (or more: that is not promised). */
	OK(node_send(&p.a, LENGTH, LENGTH, a.requests++, 0));
	OK(dat_ep_disconnect(p.a.ep, ABRUPT));
	if (account_until(&a.account, &p.a, DISCONNECTED) &&
	    account_until(&b.account, &p.b, DISCONNECTED)) {
		account_closed(&a.account, a.requests, 0);
		account_closed(&b.account, 0, b.recvs);
	}
}

/* No completion is ever seen, and the queue does not fill up for ever. */
static void all_suppressed(void)
{
	struct pair p = {};
	struct stream a = { .node = &p.a }, b = { .node = &p.b };
	u64 end = deadline();

	a.account.request.suppressed = ~0U;
	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	while (a.requests < 20 * NODE_REQUESTS && !failed()) {
		fill_requests(&a);
		fill_recvs(&b);
		take_some(&b, p.b.recv, 16);
		CHECK(now_us() < end);
		yield_cpu();
	}
	nothing_more(p.a.request);
	OK(dat_ep_disconnect(p.a.ep, GRACEFUL));
	while (b.account.recv.good < a.requests && !failed()) {
		fill_recvs(&b);
		take_some(&b, p.b.recv, 16);
		CHECK(now_us() < end);
		yield_cpu();
	}
	if (account_until(&a.account, &p.a, DISCONNECTED))
		account_closed(&a.account, a.requests, 0);
	CHECK_EQ(b.account.recv.good, a.requests);
	nothing_more(p.a.request);
}

/* ---- several threads ----------------------------------------------------- */

#define POSTERS		4
#define POSTER_SHIFT	20

/* Posts to one direction of an EP as fast as it may. */
struct poster {
	struct thread thread;
	struct crowd *crowd;
	u64 id;
	u64 posted;
	u64 taken;
};

struct crowd {
	struct node node;
	struct node peer;
	struct listener listener;
	struct barrier start;
	/* Two that send, two that post receives. */
	struct poster posters[POSTERS];
	u64 stop;
};

static DAT_RETURN poster_post(struct poster *poster)
{
	struct node *node = &poster->crowd->node;
	u64 number = poster->id << POSTER_SHIFT | poster->posted;

	if (poster->id & 1)
		return node_recv(node, 0, LENGTH, RECV | number);
	return node_send(node, LENGTH, LENGTH, number, 0);
}

static int poster_thread(void *arg)
{
	struct poster *poster = arg;
	struct crowd *crowd = poster->crowd;
	DAT_RETURN ret;

	if (!barrier_wait(&crowd->start))
		return 0;
	while (!read_u64(&crowd->stop) && !failed() && !scenario_over()) {
		ret = poster_post(poster);
		if (!ret) {
			poster->posted++;
			continue;
		}
		if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
			/* Who makes room needs the processor, or retries run out. */
			sleep_us(20);
			continue;
		}
		BAD_STATE(ret, EP_DISCPENDING);
		yield_cpu();
	}
	return 0;
}

/* Each poster's cookies come in its order (mt:T47), each once (D40). */
static bool crowd_event(struct crowd *crowd, const DAT_EVENT *event,
			bool *over)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	u64 number = dto->user_cookie.as_64 & ~RECV;
	bool recv = dto->user_cookie.as_64 & RECV;
	struct poster *poster;

	if (!CHECK(event->event_number == DAT_DTO_COMPLETION_EVENT) ||
	    !CHECK(number >> POSTER_SHIFT < POSTERS))
		return false;
	poster = &crowd->posters[number >> POSTER_SHIFT];
	if (dto->status)
		over[recv] = true;
	return CHECK_EQ(number & ((1 << POSTER_SHIFT) - 1), poster->taken++) &&
	       CHECK(dto->status || !over[recv]) &&
	       CHECK(recv == (poster->id & 1));
}

/* All that is there, of both directions. */
static bool crowd_take(struct crowd *crowd, bool *over, u64 *taken)
{
	DAT_EVENT event;

	while (event_within(crowd->node.recv, 0, &event) ||
	       event_within(crowd->node.request, 0, &event)) {
		if (!crowd_event(crowd, &event, over))
			return false;
		++*taken;
	}
	return true;
}

static u64 crowd_posted(const struct crowd *crowd)
{
	u64 n = 0;
	int i;

	for (i = 0; i < POSTERS; i++)
		n += crowd->posters[i].posted;
	return n;
}

static bool crowd_life(struct crowd *crowd, int round)
{
	struct stream peer = { .node = &crowd->peer };
	u64 end = deadline();
	u64 taken = 0, n = 300 + random_u32() % 300;
	bool over[2] = { false, false };
	struct poster *poster;
	DAT_EVENT event;
	int i;

	crowd->stop = 0;
	crowd->start = (struct barrier) { .n = POSTERS + 1 };
	for (i = 0; i < POSTERS; i++) {
		poster = &crowd->posters[i];
		*poster = (struct poster) { .crowd = crowd, .id = i };
		if (!thread_start(&poster->thread, poster_thread, poster))
			return false;
	}
	if (!barrier_wait(&crowd->start))
		return false;
	while (taken < n) {
		if (!turn(&peer) || !crowd_take(crowd, over, &taken) ||
		    !CHECK(now_us() < end))
			return false;
		yield_cpu();
	}
	OK(dat_ep_disconnect(crowd->node.ep, round & 1 ? GRACEFUL : ABRUPT));
	/* A drain may need receives of the peer. */
	while (!event_within(crowd->node.conn, 0, &event)) {
		DAT_EP_STATE state;

		if (!crowd_take(crowd, over, &taken) || !CHECK(now_us() < end))
			return false;
		OK(dat_ep_get_status(crowd->peer.ep, &state, NULL, NULL));
		if (state == DAT_EP_STATE_CONNECTED)
			node_recv(&crowd->peer, 0, LENGTH, RECV | MARKER);
		take_some(&peer, crowd->peer.request, 1);
		while (event_within(crowd->peer.recv, 0, &event))
			;
		yield_cpu();
	}
	CHECK_EQ(event.event_number, DISCONNECTED);
	set_u64(&crowd->stop, 1);
	for (i = 0; i < POSTERS; i++)
		thread_join(&crowd->posters[i].thread);
	/* What was posted after the end is flushed soon, not at once. */
	do {
		if (!crowd_take(crowd, over, &taken))
			return false;
	} while (taken < crowd_posted(crowd) && now_us() < end);
	for (i = 0; i < POSTERS; i++)
		CHECK_EQ(crowd->posters[i].taken, crowd->posters[i].posted);
	return idle(crowd->node.ep) && nothing_more(crowd->node.conn) &&
	       want_conn(crowd->peer.conn, crowd->peer.ep, DISCONNECTED);
}

static void many_posters(void)
{
	struct crowd *crowd = scenario_alloc(sizeof(*crowd));
	int i;

	if (!crowd || !listener_new(&crowd->listener, DAT_PSP_CONSUMER_FLAG))
		return;
	for (i = 0; i < 8 && !failed(); i++) {
		if (!node_new(&crowd->node, &side_a, THREE_EVDS, NULL) ||
		    !node_new(&crowd->peer, &side_b, THREE_EVDS, NULL) ||
		    !pair_connect(&crowd->node, &crowd->peer,
				  &crowd->listener) ||
		    !crowd_life(crowd, i))
			return;
		node_free(&crowd->node);
		node_free(&crowd->peer);
	}
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("D20 D21 D40 D43 D44 D45 D50 mt:T20 mt:T36 mt:T40 mt:T41 mt:T53 "
		    "one EVD, full load: every completion before DISCONNECTED",
		    one_evd),
	SCENARIO_IB("D20 D21 D40 D41 D43 D45 D50 mt:T20 mt:T36 mt:T40 mt:T41 mt:T53 "
		    "three EVDs, full load: all is there when DISCONNECTED is",
		    three_evds, .srq = SRQ_BOTH),
	SCENARIO_IB("D43 D45 D46 R6 R7 R8 R9 mt:T39 mt:T54 "
		    "three EVDs, full load: markers come back flushed, and last",
		    markers_last),
	SCENARIO("mt:T40 mt:T42 mt:T43 data before the message, message by message",
		 data_before_message, .srq = SRQ_B),
	SCENARIO("mt:T40 mt:T45 mt:M34 bind, and at once a message that tells of it",
		 bind_before_message, .srq = SRQ_BOTH),
	SCENARIO_IB("mt:T13 mt:T14 mt:T51 D40 full queues, and a peer that is not ready",
		    room),
	SCENARIO_IB("mt:T15 mt:T20 mt:T36 nothing but suppressed requests",
		    all_suppressed),
	SCENARIO_IB("D40 D43 mt:T12 mt:T36 mt:T47 mt:T53 "
		    "four threads post on one EP until it is Disconnected",
		    many_posters),
};

SCENARIO_TABLE(order_table);
