// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The books: what was posted against what completed, what was asked for against
 * the events that came.  Events are entered under the lock of their EVD, so the
 * books see them in the order in which they were queued; calls are entered by
 * the worker that made them, at any time relative to their events.
 */
#include "stress.h"

/* struct post.state: bits, and above them the turn */
#define BUSY		0x1	/* a worker is about to post it */
#define ACCEPTED	0x2
#define DONE		0x4
#define TURN_SHIFT	3
#define SILENT		0x8000000000000000ULL

struct board *board;

const char *const rule_names[RULES] = {
	[RULE_ONCE] = "D40 mt:T36 every accepted post completes exactly once",
	[RULE_ORDER] = "D43 mt:T40 mt:T47 completions come in the order of the posts",
	[RULE_FAILED] = "D21 D23 mt:T41 no success after a failure or outside a connection",
	[RULE_ENDS] = "D6 D32 D52 the connection events of an EP follow each other",
	[RULE_ATTEMPTS] = "C11 P53 every connect and accept is answered exactly once",
	[RULE_FREED] = "F8 F9 F14 nothing of a freed EP is queued after dat_ep_free",
	[RULE_DEAD] = "F5 L1 P71 a freed handle is dead at once",
	[RULE_LMR] = "L5 no byte changes after dat_lmr_free",
	[RULE_MESSAGE] = "mt:T42 mt:T48 messages arrive whole and in order",
	[RULE_PAIR] = "D20 mt:T56 what one end has sent the other has received",
	[RULE_PRIVATE] = "C5 P42 P55 private data arrives",
	[RULE_CODE] = "E114 no call returns a code that it does not have",
	[RULE_CLOSE] = "F10 F11 I12 everything can be freed and closed at the end",
};

/*
 * broken - a rule did not hold
 *
 * Tells the first few times of each rule.
 */
void broken(enum rule rule, const char *format, ...)
{
	va_list args;

	if (add(&board->broken[rule], 1) > 5)
		return;
	say("FAIL %s:", rule_names[rule]);
	va_start(args, format);
	vsay(format, args);
	va_end(args);
}

/* checked - something was looked at that would not be so if a rule did not hold */
void checked(enum rule rule)
{
	add(&board->checked[rule], 1);
}

/*
 * enough - each rule was looked at, but for the one of the end
 *
 * A slow machine has few connections in the time it was given; the test goes on
 * until it has seen what it judges.
 */
bool enough(void)
{
	u32 i;

	for (i = 0; i < RULES; i++) {
		if (i != RULE_CLOSE && !load(&board->checked[i]))
			return false;
	}
	return load(&board->counts[COUNT_CONNECTED]) && load(&board->counts[COUNT_BINDS]);
}

/*
 * tell_rules - a line for each rule; one that nothing was seen of has not held
 *
 * Return: how many did not hold.
 */
u32 tell_rules(void)
{
	u32 i, failed = 0;
	bool held;

	for (i = 0; i < RULES; i++) {
		held = board->checked[i] && !board->broken[i];
		say("%s %s (looked at %llu times)", held ? "ok" : "FAIL",
		    rule_names[i], (unsigned long long)board->checked[i]);
		failed += !held;
	}
	return failed;
}

void count(enum count what, u64 by)
{
	add(&board->counts[what], by);
}

bool book_init(struct world *w)
{
	u32 i;

	lock_init(&w->lock);
	for (i = 1; i < POSTS; i++)
		w->posts[i].next_free = i + 1 < POSTS ? i + 1 : 0;
	w->free_post = 1;	/* 0 ends the list */
	w->mem = mem_new(POSTS * MSG + AREA);
	return w->mem;
}

struct ep *ep_new(struct world *w, DAT_EP_HANDLE handle, struct evd *recv,
		  struct evd *request, struct evd *connect, bool kept)
{
	struct ep *ep = mem_new(sizeof(*ep));

	if (!ep)
		return NULL;
	ep->handle = handle;
	ep->evds[0] = recv;
	ep->evds[1] = request;
	ep->evds[2] = connect;
	ep->merged = recv == request && request == connect;
	ep->kept = kept;
	lock_init(&ep->attempt);
	lock(&w->lock);
	ep->next = w->all;
	w->all = ep;
	unlock(&w->lock);
	return ep;
}

/* Events may name an EP that is freed already; newer ones are found first. */
static struct ep *ep_of(struct world *w, DAT_EP_HANDLE handle)
{
	struct ep *ep;
	u32 i;

	for (i = 0; i < EPS; i++) {
		ep = load(&w->eps[i]);
		if (ep && ep->handle == handle)
			return ep;
	}
	lock(&w->lock);
	for (ep = w->all; ep && ep->handle != handle;)
		ep = ep->next;
	unlock(&w->lock);
	return ep;
}

/* ---- posts ----------------------------------------------------------------- */

static void post_release(struct world *w, struct post *post)
{
	u32 i = post - w->posts;

	lock(&w->lock);
	post->ep = NULL;
	store(&post->state, ((load(&post->state) >> TURN_SHIFT) + 1) << TURN_SHIFT);
	post->next_free = w->free_post;
	w->free_post = i;
	unlock(&w->lock);
}

/* post_begin - a record for a post; NULL: all are outstanding */
struct post *post_begin(struct worker *me, struct ep *ep, bool recv, u8 op,
			DAT_DTO_COOKIE *cookie)
{
	struct world *w = me->w;
	struct post *post;
	u32 i, turn;

	lock(&w->lock);
	i = w->free_post;
	post = &w->posts[i];
	if (i)
		w->free_post = post->next_free;
	unlock(&w->lock);
	if (!i)
		return NULL;
	post->ep = ep;
	post->recv = recv;
	post->op = op;
	post->thread = me->id;
	post->seq = ++me->seq;
	turn = set_bits(&post->state, BUSY) >> TURN_SHIFT;
	cookie->as_64 = (u64)turn << 32 | w->number << 16 | i;
	return post;
}

/* post_end - what became of it; it may have completed meanwhile */
void post_end(struct world *w, struct post *post, bool accepted)
{
	struct ep *ep = post->ep;
	u32 before;

	if (!accepted) {
		before = load(&post->state);
		if (before & DONE)
			broken(RULE_ONCE, "a refused post completed, EP %p", ep);
		post_release(w, post);
		return;
	}
	count(COUNT_POSTS, 1);
	add(&ep->accepted, 1);
	before = set_bits(&post->state, ACCEPTED);
	if (before & DONE) {
		post_release(w, post);
	} else if (load(&ep->gone)) {
		before |= ACCEPTED;
		if (change(&post->state, &before, before | DONE)) {
			count(COUNT_LOST, 1);
			post_release(w, post);
		}
	}
}

u8 *post_mem(struct world *w, const struct post *post)
{
	return w->mem + (post - w->posts) * MSG;
}

/*
 * For posts whose success is suppressed there is no record: nobody could tell
 * when to take it back.
 */
u64 silent_cookie(struct worker *me)
{
	return SILENT | (u64)me->id << 48 | ++me->seq;
}

/*
 * The posts of a freed EP that never completed; they need not (F9).  Meanwhile a record may
 * become that of another EP's post.  Then its turn is another one, and it is left alone.
 */
static void posts_lost(struct world *w, struct ep *ep)
{
	u32 i, state;

	for (i = 1; i < POSTS; i++) {
		struct post *post = &w->posts[i];

		state = load(&post->state);
		if ((state & (BUSY | ACCEPTED | DONE)) == (BUSY | ACCEPTED) &&
		    load(&post->ep) == ep &&
		    change(&post->state, &state, state | DONE)) {
			count(COUNT_LOST, 1);
			post_release(w, post);
		}
	}
}

static void in_order(struct ep *ep, bool recv, u32 thread, u64 seq)
{
	u64 *last = &ep->last[recv][thread];

	if (*last && !load(&ep->moved)) {
		checked(RULE_ORDER);
		if (seq <= *last)
			broken(RULE_ORDER, "%s %llu of thread %u came after %llu, EP %p",
			       recv ? "receive" : "request",
			       (unsigned long long)seq, thread,
			       (unsigned long long)*last, ep);
	}
	*last = seq;
}

static void message(struct world *w, struct ep *ep, const struct post *post,
		    u64 length)
{
	const struct message *m = (void *)post_mem(w, post);

	if (!length)
		return;
	if (length < sizeof(*m) || m->magic != MAGIC || m->thread > WORKERS) {
		broken(RULE_MESSAGE, "%llu bytes of something else",
		       (unsigned long long)length);
		return;
	}
	if (!ep->merged || load(&ep->moved))
		return;
	if (ep->got[m->thread])
		checked(RULE_MESSAGE);
	if (m->seq <= ep->got[m->thread])
		broken(RULE_MESSAGE, "number %llu came after %llu",
		       (unsigned long long)m->seq,
		       (unsigned long long)ep->got[m->thread]);
	ep->got[m->thread] = m->seq;
}

/* One EVD has everything of this EP, so its connections are seen as well. */
static void in_connection(struct ep *ep, bool recv, bool send, bool success)
{
	if (success && !ep->connected && !load(&ep->freeing))
		broken(RULE_FAILED, "a %s succeeded, not connected, %s EP %p",
		       recv ? "receive" : "request", ep->kept ? "kept" : "freed",
		       ep);
	if (ep->failed[recv])
		checked(RULE_FAILED);
	if (success && ep->failed[recv])
		broken(RULE_FAILED, "a %s succeeded after one had failed, EP %p",
		       recv ? "receive" : "request", ep);
	if (!success)
		ep->failed[recv] = true;
	if (!ep->connected)
		return;
	if (recv)
		ep->received += success;
	else if (send)
		*(success ? &ep->sent : &ep->unsent) += 1;
}

static void silent_completion(struct world *w,
			      const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u64 cookie = dto->user_cookie.as_64;
	struct ep *ep = ep_of(w, dto->ep_handle);
	bool merged;

	if (dto->status == DAT_DTO_SUCCESS)
		broken(RULE_ONCE, "a suppressed success was shown");
	if (!ep)
		return;
	if (load(&ep->gone))
		broken(RULE_FREED, "a completion of an EP freed before");
	merged = ep->merged && !load(&ep->moved);
	in_order(ep, false, (cookie >> 48) & 0xff, cookie << 16 >> 16);
	if (merged)
		in_connection(ep, false, false, false);
	add(&ep->failed_silent, 1);
}

static void completion(struct world *w, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	u64 cookie = dto->user_cookie.as_64;
	u32 i = cookie & 0xffff, before;
	struct post *post = &w->posts[i < POSTS ? i : 0];
	u32 state = load(&post->state);
	bool success = dto->status == DAT_DTO_SUCCESS;
	struct ep *ep;

	count(COUNT_COMPLETED, 1);
	if (cookie & SILENT) {
		silent_completion(w, dto);
		return;
	}
	if (!i || i >= POSTS || ((cookie >> 16) & 0xffff) != w->number ||
	    cookie >> 32 != state >> TURN_SHIFT || !(state & BUSY)) {
		broken(RULE_ONCE, "cookie %#llx is not outstanding",
		       (unsigned long long)cookie);
		return;
	}
	ep = post->ep;
	if (dto->ep_handle != ep->handle && dto->ep_handle)
		broken(RULE_ONCE, "cookie %#llx names another EP",
		       (unsigned long long)cookie);
	in_order(ep, post->recv, post->thread, post->seq);
	if (ep->merged && !load(&ep->moved))
		in_connection(ep, post->recv, post->op == 0, success);
	if (post->recv && success)
		message(w, ep, post, dto->transfered_length);
	add(&ep->completed, 1);
	before = set_bits(&post->state, DONE);
	if (before & DONE)
		broken(RULE_ONCE, "cookie %#llx completed twice",
		       (unsigned long long)cookie);
	else if (before & ACCEPTED)
		post_release(w, post);
}

/* A bind is a request like others, but that its event does not name the EP. */
static void bound(struct world *w, const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto = {
		.user_cookie = bind->user_cookie,
		.status = (DAT_DTO_COMPLETION_STATUS)bind->status,
	};

	count(COUNT_BINDS, 1);
	completion(w, &dto);
}

/* ---- connections ----------------------------------------------------------- */

void put_private(struct world *w, u64 id, u8 *data)
{
	u64 words[PRIVATE / 8] = { MAGIC, id, w->number, MAGIC ^ id ^ w->number };

	memcpy(data, words, sizeof(words));
}

/* get_private - false: it is not what put_private() made; @id may be NULL */
bool get_private(const void *data, size_t size, u64 *id)
{
	u64 words[PRIVATE / 8];

	if (!data || size < sizeof(words))
		return false;
	memcpy(words, data, sizeof(words));
	if (id)
		*id = words[1];
	return words[0] == MAGIC && words[3] == (MAGIC ^ words[1] ^ words[2]);
}

/* new_id - of a connection that is about to be accepted */
u64 new_id(struct world *w)
{
	u64 serial = add(&board->serials[w->number], 1);
	struct pair *pair = &board->pairs[w->number][serial % PAIRS];

	store(&pair->serial, 0);
	memset(pair->sent, 0, sizeof(pair->sent));
	memset(pair->unsent, 0, sizeof(pair->unsent));
	memset(pair->got, 0, sizeof(pair->got));
	store(&pair->over, 0);
	store(&pair->serial, serial);
	return (u64)w->number << 48 | serial;
}

/* Both ends have seen the end of their connection. */
static void pair_check(const struct pair *pair)
{
	u32 s;

	count(COUNT_PAIRS, 1);
	if (pair->sent[0] || pair->sent[1])
		checked(RULE_PAIR);
	for (s = 0; s < 2; s++) {
		u32 got = pair->got[!s];

		if (got < pair->sent[s] || got > pair->sent[s] + pair->unsent[s])
			broken(RULE_PAIR,
			       "%s: %u sends succeeded and %u failed, the peer received %u",
			       s ? "passive" : "active", pair->sent[s],
			       pair->unsent[s], got);
	}
}

static void pair_fill(struct ep *ep)
{
	u64 serial = ep->id & 0xffffffffffffULL;
	u32 world = ep->id >> 48;
	struct pair *pair = &board->pairs[world % WORLDS][serial % PAIRS];

	if (!ep->id || load(&pair->serial) != serial)
		return;
	pair->sent[ep->side] = ep->sent;
	pair->unsent[ep->side] = ep->unsent;
	pair->got[ep->side] = ep->received;
	if (set_bits(&pair->over, 1U << ep->side) == (1U << !ep->side))
		pair_check(pair);
}

/*
 * The attempt that this event answers.  The lock waits for the call that made
 * it, which may not have returned yet.
 */
static u64 answered(struct ep *ep)
{
	u64 id = 0;

	add(&ep->ended, 1);
	if (!ep->kept)
		return 0;
	lock(&ep->attempt);
	if (ep->ids_got != ep->ids_put)
		id = ep->ids[ep->ids_got++ % ARRAY_SIZE(ep->ids)];
	else
		broken(RULE_ATTEMPTS, "an answer that nobody asked for, EP %p", ep);
	unlock(&ep->attempt);
	return id;
}

static void established(struct world *w, struct ep *ep,
			const DAT_CONNECTION_EVENT_DATA *conn)
{
	u64 id = answered(ep);

	if (ep->connected)
		broken(RULE_ENDS, "ESTABLISHED twice, EP %p", ep);
	ep->connected = true;
	ep->failed[0] = false;
	ep->failed[1] = false;
	ep->sent = 0;
	ep->unsent = 0;
	ep->received = 0;
	memset(ep->got, 0, sizeof(ep->got));
	ep->side = id ? 1 : 0;
	ep->id = 0;
	count(COUNT_CONNECTED, 1);
	/*
	 * Its pointer is good until a reset, or until the adapter is closed; both
	 * wait for the EVD's lock.
	 */
	if (!ep->kept || !ep->merged || load(&w->closing))
		return;
	ep->id = id;
	if (id) {
		if (conn->private_data_size)
			broken(RULE_PRIVATE, "the passive side got some");
	} else if (get_private(conn->private_data, conn->private_data_size,
			       &ep->id)) {
		checked(RULE_PRIVATE);
	} else if (conn->private_data_size) {
		broken(RULE_PRIVATE, "ESTABLISHED has %d bytes of something else",
		       (int)conn->private_data_size);
	}
}

static void ended(struct ep *ep, DAT_EVENT_NUMBER number)
{
	bool end = number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		   number == DAT_CONNECTION_EVENT_BROKEN;

	if (ep->connected && end) {
		checked(RULE_ENDS);
		if (ep->kept && ep->merged)
			pair_fill(ep);
		ep->connected = false;
		return;
	}
	if (ep->connected || number == DAT_CONNECTION_EVENT_BROKEN)
		broken(RULE_ENDS, "event 0x%x %s connection, EP %p", number,
		       ep->connected ? "in a" : "without", ep);
	answered(ep);
	count(COUNT_UNCONNECTED, 1);
}

static void connection(struct world *w, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *conn =
		&event->event_data.connect_event_data;
	struct ep *ep = ep_of(w, conn->ep_handle);

	if (!ep) {
		broken(RULE_ENDS, "event 0x%x of an EP that never was",
		       event->event_number);
		return;
	}
	if (load(&ep->gone))
		broken(RULE_FREED, "event 0x%x of an EP freed before",
		       event->event_number);
	if (load(&ep->moved))
		return;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		established(w, ep, conn);
	else
		ended(ep, event->event_number);
}

/* ---- all events ------------------------------------------------------------ */

/*
 * marker - the EP was freed: what is queued from here on is not its own
 *
 * One in each EVD that it may have used; the last that is taken ends it.
 */
void marker(struct world *w, struct ep *ep)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = ep,
	};
	DAT_RETURN ret;
	u32 i;

	count(COUNT_FREED, 1);
	store(&ep->freed, 1);
	for (i = 0; i < EVDS; i++) {
		do {
			ret = dat_evd_post_se(w->evds[i].handle, &event);
			if (ret)
				nap_us(1000);
		} while (ret && !load(&w->closing));
	}
}

static void marked(struct world *w, struct ep *ep)
{
	if (add(&ep->markers, 1) != EVDS)
		return;
	checked(RULE_FREED);
	store(&ep->gone, 1);
	posts_lost(w, ep);
}

/* take_event - enter an event; the EVD's lock is held since it was dequeued */
void take_event(struct world *w, const DAT_EVENT *event)
{
	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		completion(w, &event->event_data.dto_completion_event_data);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		bound(w, &event->event_data.rmr_completion_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		marked(w, event->event_data.software_event_data.pointer);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		cr_arrived(w, &event->event_data.cr_arrival_event_data);
		break;
	case DAT_ASYNC_ERROR_EP_BROKEN:
		break;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_TIMED_OUT:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		broken(RULE_ENDS, "asynchronous error 0x%x", event->event_number);
		break;
	default:
		connection(w, event);
	}
}

/* take - all that is queued now; false: nothing was */
bool take(struct world *w, struct evd *evd)
{
	bool any = false;
	DAT_EVENT event;
	u32 i;

	lock(&evd->lock);
	for (i = 0; i < 64 && !dat_evd_dequeue(evd->handle, &event); i++) {
		take_event(w, &event);
		any = true;
	}
	unlock(&evd->lock);
	return any;
}

/* ---- at the end ------------------------------------------------------------ */

/* drained - every post of the EP has completed, except those that never do */
bool drained(const struct ep *ep)
{
	return load(&ep->accepted) == load(&ep->completed) &&
	       load(&ep->attempts) == load(&ep->ended) &&
	       !load(&ep->connected);
}

void check_drained(struct ep *ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	dat_ep_get_status(ep->handle, &state, NULL, NULL);
	if (load(&ep->accepted))
		checked(RULE_ONCE);
	if (load(&ep->attempts))
		checked(RULE_ATTEMPTS);
	if (load(&ep->accepted) != load(&ep->completed))
		broken(RULE_ONCE, "EP %p: %llu posts accepted, %llu completed, state %d",
		       ep, (unsigned long long)ep->accepted,
		       (unsigned long long)ep->completed, state);
	if (ep->failed_silent > ep->silent)
		broken(RULE_ONCE, "EP %p: %llu suppressed posts, %llu failed", ep,
		       (unsigned long long)ep->silent,
		       (unsigned long long)ep->failed_silent);
	if (load(&ep->attempts) != load(&ep->ended))
		broken(RULE_ATTEMPTS, "EP %p: %llu connects and accepts, %llu answers, state %d",
		       ep, (unsigned long long)ep->attempts,
		       (unsigned long long)ep->ended, state);
	if (ep->connected)
		broken(RULE_ENDS, "EP %p: no event for the end of its connection",
		       ep);
}
