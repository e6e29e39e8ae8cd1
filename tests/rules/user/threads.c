// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many threads of a process on one EP and one EVD post, poll and wait at once.  No
 * completion is lost or doubled, and every waiter is woken: each wait that ends without
 * an event is counted.
 */
#include "user.h"

#define POSTERS		3		/* of each direction */
#define POLLERS		2		/* of each EVD */
#define TOTAL		2000u		/* messages */
#define SHORT_US	100000		/* of waits that may end without an event */
#define PAUSE_US	2000		/* at most, between waits */
#define LOST_US		(WAIT_MS * 1000ULL / 3)
#define FULL		DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

/* ---- a storm ------------------------------------------------------------ */

/* One direction: posts of an EP by all posters, and its EVD. */
struct stream {
	struct node *node;
	DAT_EVD_HANDLE evd;
	bool sends;
	u64 total;
	u64 posted;
	u64 taken;
	u64 waited;		/* of these by waiters */
	u8 *seen;		/* of each cookie */
	struct thread threads[POSTERS + POLLERS + 1];
};

/* The EP may be full; so it is when a completion is not taken yet. */
static int stream_poster(void *arg)
{
	struct stream *s = arg;
	DAT_RETURN ret;
	u64 n;

	while ((n = add_u64(&s->posted, 1) - 1) < s->total) {
		do {
			ret = s->sends ? node_send(s->node, 0, 8, n, 0) :
					 node_recv(s->node, 0, 8, n);
			if (ret == FULL)
				yield_cpu();
		} while (ret == FULL && !failed() && !scenario_over());
		if (!OK(ret))
			break;
	}
	return 0;
}

static void stream_take(struct stream *s, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	u64 n = dto->user_cookie.as_64;

	if (!CHECK_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT) ||
	    !CHECK_EQ(dto->status, DAT_DTO_SUCCESS) || !CHECK(n < s->total))
		return;
	CHECK_EQ(__atomic_add_fetch(&s->seen[n], 1, __ATOMIC_RELAXED), 1);
	add_u64(&s->taken, 1);
}

static bool stream_goes_on(struct stream *s)
{
	return read_u64(&s->taken) < s->total && !failed() && !scenario_over();
}

/* E36: while somebody waits the EVD is his. */
static int stream_poller(void *arg)
{
	struct stream *s = arg;
	DAT_EVENT event;
	DAT_RETURN ret;

	while (stream_goes_on(s)) {
		ret = dat_evd_dequeue(s->evd, &event);
		if (!ret)
			stream_take(s, &event);
		else if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			BAD_STATE(ret, EVD_WAITER);
		if (ret)
			yield_cpu();
	}
	return 0;
}

static int stream_waiter(void *arg)
{
	struct stream *s = arg;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	while (stream_goes_on(s)) {
		ret = dat_evd_wait(s->evd, SHORT_US, 1, &event, &more);
		if (!ret) {
			add_u64(&s->waited, 1);
			stream_take(s, &event);
		} else if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED) {
			OK(ret);
		}
		/* Now the others have a chance. */
		sleep_us(random_u32() % PAUSE_US);
	}
	return 0;
}

static bool stream_start(struct stream *s)
{
	unsigned int i, n = 0;
	bool good;

	s->seen = scenario_alloc(s->total);
	good = s->seen;
	for (i = 0; i < POSTERS && good; i++)
		good = thread_start(&s->threads[n++], stream_poster, s);
	for (i = 0; i < POLLERS && good; i++)
		good = thread_start(&s->threads[n++], stream_poller, s);
	return good && thread_start(&s->threads[n], stream_waiter, s);
}

static void stream_end(struct stream *s)
{
	u64 end = deadline(), taken = 0, before = 0;
	unsigned int i;

	/* As long as it goes on, however slowly. */
	while (taken < s->total && now_us() < end) {
		sleep_us(1000);
		taken = read_u64(&s->taken);
		if (taken != before)
			end = deadline();
		before = taken;
	}
	CHECK_EQ(read_u64(&s->taken), s->total);
	for (i = 0; i < ARRAY_SIZE(s->threads); i++)
		thread_join(&s->threads[i]);
	for (i = 0; i < s->total && !failed(); i++)
		CHECK_EQ(s->seen[i], 1);
}

static void storm(void)
{
	static struct stream sends, recvs;
	struct pair p = {};
	u64 total = rounds_in_full(TOTAL);

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	recvs = (struct stream) { .node = &p.b, .evd = p.b.recv, .total = total };
	sends = (struct stream) {
		.node = &p.a, .evd = p.a.request, .total = total, .sends = true,
	};
	if (stream_start(&recvs) && stream_start(&sends)) {
		stream_end(&sends);
		stream_end(&recvs);
	}
	note("%llu messages; waiters took %llu sends and %llu receives", total,
	     sends.waited, recvs.waited);
	idle(p.a.ep);
	idle(p.b.ep);
	nothing_more(p.a.request);
	nothing_more(p.b.recv);
}

/* Both directions of both EPs. */
static void storm_both_ways(void)
{
	static struct stream sends, recvs, there, back;
	struct pair p = {};
	u64 total = rounds_in_full(TOTAL);

	if (!pair_new(&p, THREE_EVDS, NULL, NULL))
		return;
	recvs = (struct stream) { .node = &p.a, .evd = p.a.recv, .total = total };
	sends = (struct stream) {
		.node = &p.a, .evd = p.a.request, .total = total, .sends = true,
	};
	there = (struct stream) { .node = &p.b, .evd = p.b.recv, .total = total };
	back = (struct stream) {
		.node = &p.b, .evd = p.b.request, .total = total, .sends = true,
	};
	if (stream_start(&recvs) && stream_start(&there) && stream_start(&sends) &&
	    stream_start(&back)) {
		stream_end(&sends);
		stream_end(&back);
		stream_end(&recvs);
		stream_end(&there);
	}
	idle(p.a.ep);
	idle(p.b.ep);
}

/* ---- no wake-up is lost --------------------------------------------------- */

/*
 * One message at a time: the next one is not sent until somebody has taken it.  When a
 * thread waits, nobody else can take it, and only a wake-up goes on.
 */
struct relay {
	struct pair pair;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	u64 taken;
	u64 waits;		/* that ended with an event */
	u64 lost;		/* that ended with an event that had been there for long */
};

static int relay_waiter(void *arg)
{
	struct relay *relay = arg;
	DAT_EVENT event;
	DAT_COUNT more;
	u64 start;

	while (!failed() && !scenario_over()) {
		start = now_us();
		if (dat_evd_wait(relay->evd, LOST_US, 1, &event, &more))
			continue;
		add_u64(&relay->waits, 1);
		if (now_us() - start >= LOST_US)
			add_u64(&relay->lost, 1);
		add_u64(&relay->taken, 1);
		sleep_us(random_u32() % PAUSE_US);
	}
	return 0;
}

static int relay_poller(void *arg)
{
	struct relay *relay = arg;
	DAT_EVENT event;

	while (!failed() && !scenario_over()) {
		if (!dat_evd_dequeue(relay->evd, &event))
			add_u64(&relay->taken, 1);
		else
			sleep_us(50);
	}
	return 0;
}

static int relay_cno_waiter(void *arg)
{
	struct relay *relay = arg;
	DAT_EVD_HANDLE by;
	DAT_EVENT event;
	u64 start;

	while (!failed() && !scenario_over()) {
		start = now_us();
		if (dat_cno_wait(relay->cno, LOST_US, &by) &&
		    now_us() - start < LOST_US)
			continue;
		while (!dat_evd_dequeue(relay->evd, &event)) {
			add_u64(&relay->waits, 1);
			if (now_us() - start >= LOST_US)
				add_u64(&relay->lost, 1);
			add_u64(&relay->taken, 1);
		}
	}
	return 0;
}

/* A message or, each third time, a software event; after a pause of any length. */
static bool relay_send(struct relay *relay, u64 n)
{
	struct pair *p = &relay->pair;
	u64 until = now_us() + random_u32() % 300;

	while (now_us() < until)
		if (n & 1)
			yield_cpu();
	if (n % 3 == 2)
		return OK(post_se(relay->evd, n));
	return OK(node_recv(&p->b, 0, 8, n)) && OK(node_send(&p->a, 0, 8, n, 0)) &&
	       want_done(p->a.request, p->a.ep, n, DAT_DTO_SUCCESS);
}

static void relay_run(struct relay *relay, u64 number)
{
	u64 n, start, slowest = 0;

	for (n = 0; n < number && !failed(); n++) {
		start = now_us();
		relay_send(relay, n);
		while (read_u64(&relay->taken) <= n && now_us() < start + 2 * LOST_US)
			yield_cpu();
		CHECK_EQ(read_u64(&relay->taken), n + 1);
		if (now_us() - start > slowest)
			slowest = now_us() - start;
	}
	note("%llu events, %llu by waits, %llu wake-ups lost; the slowest took %llu ms",
	     n, read_u64(&relay->waits), read_u64(&relay->lost), slowest / 1000);
	CHECK_EQ(read_u64(&relay->lost), 0);
	CHECK(read_u64(&relay->waits));
}

static void no_wakeup_lost(void)
{
	static struct relay relay;
	static struct thread threads[2];

	memset(&relay, 0, sizeof(relay));
	if (!pair_new(&relay.pair, THREE_EVDS, NULL, NULL))
		return;
	relay.evd = relay.pair.b.recv;
	if (thread_start(&threads[0], relay_waiter, &relay))
		relay_run(&relay, rounds_in_full(1000));
	/* With one who polls between. */
	relay.taken = 0;
	relay.waits = 0;
	if (thread_start(&threads[1], relay_poller, &relay))
		relay_run(&relay, rounds_in_full(1000));
}

static void no_trigger_lost(void)
{
	static struct relay relay;
	static struct thread thread;

	memset(&relay, 0, sizeof(relay));
	OK(dat_cno_create(side_b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &relay.cno));
	OK(dat_evd_create(side_b.ia, NODE_EVENTS, relay.cno,
			  DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &relay.evd));
	relay.pair.b.recv = relay.evd;
	if (pair_new(&relay.pair, THREE_EVDS, NULL, NULL) &&
	    thread_start(&thread, relay_cno_waiter, &relay))
		relay_run(&relay, rounds_in_full(500));
}

/* ---- memory that goes while others name it ---------------------------------- */

#define NAMERS		3		/* more than there are processors, to be interrupted */

/* An LMR comes and goes, and again; the others call with the last one as long as they like. */
struct goer {
	u64 stop;
	u64 calls;
	u64 good;		/* of these */
	u64 came;
	DAT_LMR_HANDLE *lmrs;	/* @came of them */
	DAT_LMR_CONTEXT *contexts;
	u8 *memory;		/* two pages, which they have by turns */
	struct thread threads[NAMERS];
};

static u8 *goer_page(const struct goer *goer, u64 nr)
{
	return goer->memory + nr % 2 * PAGE;
}

static bool goer_start(struct goer *goer, u64 number, int (*namer)(void *arg))
{
	bool good;
	int i;

	memset(goer, 0, sizeof(*goer));
	goer->lmrs = scenario_alloc(number * sizeof(*goer->lmrs));
	goer->contexts = scenario_alloc(number * sizeof(*goer->contexts));
	goer->memory = scenario_alloc_scattered(2 * PAGE);
	good = goer->lmrs && goer->contexts && goer->memory;
	for (i = 0; i < NAMERS && good; i++)
		good = thread_start(&goer->threads[i], namer, goer);
	return good;
}

static void goer_end(struct goer *goer)
{
	int i;

	set_u64(&goer->stop, 1);
	for (i = 0; i < NAMERS; i++)
		thread_join(&goer->threads[i]);
	note("%llu LMRs; %llu calls, %llu of them with one that was there", goer->came,
	     goer->calls, goer->good);
	CHECK(goer->good >= goer->came);
}

/* A zone and an LMR in it, which go when somebody has called with the latter. */
static void goer_turn(struct goer *goer)
{
	DAT_REGION_DESCRIPTION region = { .for_va = goer_page(goer, goer->came) };
	u64 good = read_u64(&goer->good), end = deadline();
	DAT_PZ_HANDLE zone;
	DAT_RETURN ret;

	if (!OK(dat_pz_create(side_b.ia, &zone)) ||
	    !OK(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE, zone,
				    DAT_MEM_PRIV_ALL_FLAG, &goer->lmrs[goer->came],
				    &goer->contexts[goer->came], NULL)))
		return;
	add_u64(&goer->came, 1);
	while (read_u64(&goer->good) == good && now_us() < end && !failed())
		yield_cpu();
	/* The kernel does not let it go while it makes another one over it (L2). */
	do {
		ret = dat_lmr_free(goer->lmrs[goer->came - 1]);
		yield_cpu();
	} while (DAT_GET_TYPE(ret) == DAT_INVALID_STATE && now_us() < end);
	OK(ret);
	OK(dat_pz_free(zone));
}

static void goer_run(struct goer *goer, u64 number, int (*namer)(void *arg))
{
	if (goer_start(goer, number, namer))
		while (goer->came < number && !failed())
			goer_turn(goer);
	goer_end(goer);
}

/* @nr: out: of the last LMR, once there is one; false: it is over */
static bool goer_last(struct goer *goer, u64 *nr)
{
	u64 came;

	do {
		if (read_u64(&goer->stop) || failed() || scenario_over())
			return false;
		came = read_u64(&goer->came);
	} while (!came);
	*nr = came - 1;
	return true;
}

static void goer_count(struct goer *goer, DAT_RETURN ret)
{
	add_u64(&goer->calls, 1);
	if (!ret)
		add_u64(&goer->good, 1);
}

static int syncer(void *arg)
{
	DAT_LMR_TRIPLET segment = { .segment_length = 8 };
	struct goer *goer = arg;
	DAT_RETURN ret;
	u64 nr;

	while (goer_last(goer, &nr)) {
		segment.virtual_address = (uintptr_t)goer_page(goer, nr);
		segment.lmr_context = goer->contexts[nr];
		ret = dat_lmr_sync_rdma_read(side_b.ia, &segment, 1);
		if (ret)
			BAD_ARG(ret, 2);
		goer_count(goer, ret);
	}
	return 0;
}

static void synced_while_it_goes(void)
{
	static struct goer goer;

	goer_run(&goer, rounds_in_full(2000), syncer);
}

static int coverer(void *arg)
{
	DAT_REGION_DESCRIPTION region;
	struct goer *goer = arg;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_RETURN ret;
	u64 nr;

	while (goer_last(goer, &nr)) {
		region.for_lmr_handle = goer->lmrs[nr];
		ret = platform_lmr_register(side_b.ia, DAT_MEM_TYPE_LMR, region, PAGE, side_b.pz,
					    DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, NULL, NULL, NULL,
					    &address);
		if (ret)
			BAD_HANDLE(ret, LMR);
		else if (CHECK_EQ(address, (uintptr_t)goer_page(goer, nr)))
			OK(dat_lmr_free(lmr));
		goer_count(goer, ret);
	}
	return 0;
}

static void covered_while_it_goes(void)
{
	static struct goer goer;

	goer_run(&goer, rounds_in_full(400), coverer);
}

static const struct scenario scenarios[] = {
	SCENARIO_IB("mt:T47 E36 many threads post, poll and wait on one EP and one EVD", storm),
	SCENARIO_IB("mt:T47 E36 the same in both directions", storm_both_ways),
	SCENARIO("E30 E35 E36 whoever waits is woken for each event", no_wakeup_lost),
	SCENARIO("E76 E83 a CNO is triggered for each event", no_trigger_lost),
	SCENARIO("mt:M67 E5 an LMR and its zone go while it is synced", synced_while_it_goes),
	SCENARIO("mt:M7 E5 an LMR goes while another one is made over it", covered_while_it_goes),
};

SCENARIO_TABLE(threads_table);
