// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_trace: who reads only the tracepoints of trace.h can say of each post whether it
 * was completed, and by whom (A13).  Probes keep books of the posts of the bench's endpoints.
 */
#include "stage.h"
#include "../../kdapl/trace.h"

#define BOOK_POSTS	32

/**
 * struct book - what the tracepoints have told
 * @lock: all that follows; posts and completions may be in a softirq
 * @open: posts that were told of, and whose completions were not yet; NULL: a free line
 * @given: the queue pair has got it
 * @posts: that were accepted or refused
 * @moved: held receives that were given to a queue pair later
 * @by_device, @by_kdapl: completions
 * @refused, @kept, @dropped: as the tracepoints of these names
 * @wrong: a completion of a post that was not told of, a post that was told of twice, a post
 *	   for which there is no line
 */
struct book {
	spinlock_t lock;
	const struct kdapl_cookie *open[BOOK_POSTS];
	bool given[BOOK_POSTS];
	u32 posts;
	u32 moved;
	u32 by_device;
	u32 by_kdapl;
	u32 refused;
	u32 kept;
	u32 dropped;
	u32 wrong;
};

static struct book book;

/* The line of @cookie; with NULL, a free one.  BOOK_POSTS: there is none. */
static u32 line_of(const struct kdapl_cookie *cookie)
{
	u32 i;

	lockdep_assert_held(&book.lock);
	for (i = 0; i < BOOK_POSTS && book.open[i] != cookie; i++)
		;
	return i;
}

static void post_line(const struct kdapl_cookie *cookie, bool given)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&book.lock, flags);
	i = line_of(cookie);
	if (i == BOOK_POSTS) {
		book.posts++;
		i = line_of(NULL);
	} else if (book.given[i] || !given) {
		book.wrong++;
	} else {
		book.moved++;
	}
	if (i == BOOK_POSTS) {
		book.wrong++;
	} else {
		book.open[i] = cookie;
		book.given[i] = given;
	}
	spin_unlock_irqrestore(&book.lock, flags);
}

static void end_line(const struct kdapl_cookie *cookie, u32 *count)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&book.lock, flags);
	i = line_of(cookie);
	if (i == BOOK_POSTS)
		book.wrong++;
	else
		book.open[i] = NULL;
	++*count;
	spin_unlock_irqrestore(&book.lock, flags);
}

static void on_post(void *data, const struct kdapl_ep *ep, const struct kdapl_cookie *cookie,
		    u8 kind)
{
	post_line(cookie, cookie->owed);
}

static void on_completion(void *data, const struct kdapl_cookie *cookie, u32 qp, int wc_status)
{
	end_line(cookie, qp ? &book.by_device : &book.by_kdapl);
}

static void on_refused(void *data, const struct kdapl_cookie *cookie, int code)
{
	end_line(cookie, &book.refused);
}

static void on_kept(void *data, const struct kdapl_cookie *cookie, int code)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&book.lock, flags);
	book.kept++;
	i = line_of(cookie);
	if (i == BOOK_POSTS)
		book.wrong++;
	else
		book.given[i] = false;
	spin_unlock_irqrestore(&book.lock, flags);
}

static void on_dropped(void *data, const struct kdapl_cookie *cookie, int code)
{
	unsigned long flags;

	spin_lock_irqsave(&book.lock, flags);
	book.dropped++;
	spin_unlock_irqrestore(&book.lock, flags);
}

static int trace_init(struct kunit *test)
{
	int ret;

	memset(&book, 0, sizeof(book));
	spin_lock_init(&book.lock);
	ret = register_trace_kdapl_post(on_post, NULL) ?:
	      register_trace_kdapl_completion(on_completion, NULL) ?:
	      register_trace_kdapl_post_refused(on_refused, NULL) ?:
	      register_trace_kdapl_post_kept(on_kept, NULL) ?:
	      register_trace_kdapl_dropped(on_dropped, NULL);
	return ret ?: bench_init(test);
}

/* Also called after a test that an assertion has ended half-way. */
static void trace_exit(struct kunit *test)
{
	bench_exit(test);
	unregister_trace_kdapl_post(on_post, NULL);
	unregister_trace_kdapl_completion(on_completion, NULL);
	unregister_trace_kdapl_post_refused(on_refused, NULL);
	unregister_trace_kdapl_post_kept(on_kept, NULL);
	unregister_trace_kdapl_dropped(on_dropped, NULL);
	tracepoint_synchronize_unregister();
}

/* So many posts were completed by the device, by kdapl, or refused, and none is left. */
static void book_check(struct bench *b, u32 by_device, u32 by_kdapl, u32 refused)
{
	u32 i, left = 0;

	bench_settle(b);
	for (i = 0; i < BOOK_POSTS; i++)
		left += !!book.open[i];
	KUNIT_EXPECT_EQ(b->test, 0U, left);
	KUNIT_EXPECT_EQ(b->test, 0U, book.wrong);
	KUNIT_EXPECT_EQ(b->test, by_device, book.by_device);
	KUNIT_EXPECT_EQ(b->test, by_kdapl, book.by_kdapl);
	KUNIT_EXPECT_EQ(b->test, refused, book.refused);
	KUNIT_EXPECT_EQ(b->test, by_device + by_kdapl + refused, book.posts);
}

/* A13, D46: receives that are held first, plain posts, a flush, late posts, and one after it. */
static void whole_life(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);

	bench_recv(b, ep, 1);
	bench_recv(b, ep, 2);
	KUNIT_EXPECT_EQ(test, 2U, book.posts);
	KUNIT_EXPECT_EQ(test, 0U, book.moved);
	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, 2U, book.moved);
	bench_send(b, ep, 3, 0);
	bench_send(b, ep, 4, DAT_COMPLETION_SUPPRESS_FLAG);
	bench_send(b, ep, 5, 0);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	fake_complete_send(bench_qp(b, ep), 0, IB_WC_SUCCESS);
	fake_complete_recv(bench_qp(b, ep), 0, IB_WC_SUCCESS, 1, false);
	expect_dto(b, b->evd, 3, DTO_OK);
	expect_dto(b, b->evd, 1, DTO_OK);

	b->fake->hold_flush = true;
	fake_peer_disconnected(bench_id(b, ep));
	KUNIT_ASSERT_TRUE(test, fake_wait_calls(b->fake, FAKE_QP_ERROR, 1));
	bench_recv(b, ep, 6);
	bench_send(b, ep, 7, 0);
	b->fake->hold_flush = false;
	fake_flush(bench_qp(b, ep));
	expect_dto(b, b->evd, 5, FLUSHED);
	expect_dto(b, b->evd, 2, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(b, b->evd, 7, FLUSHED);
	expect_dto(b, b->evd, 6, FLUSHED);
	bench_send(b, ep, 8, 0);
	expect_dto(b, b->evd, 8, FLUSHED);
	book_check(b, 5, 3, 0);
}

/*
 * A13, D40, D42: what the device does not flush is completed by kdapl; what it says later is
 * dropped.
 */
static void device_forgets(struct kunit *test)
{
	struct bench *b = test->priv;
	struct fake_cq *cq;
	struct stage s;
	u64 wr;

	bench_stage(b, KDAPL_EP_UNCONNECTED, &s);
	bench_connect(b, s.ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	bench_send(b, s.ep, 1, 0);
	wr = bench_qp(b, s.ep)->send.wr[0].wr_id;
	cq = bench_qp(b, s.ep)->send_cq;
	b->fake->hold_flush = true;
	KUNIT_EXPECT_EQ(test, DONE, bench_abrupt(b, s.ep));
	bench_no_flush(b, s.ep);
	expect_dto(b, b->evd, 1, FLUSHED);
	expect_dto(b, b->evd, 100, FLUSHED);
	expect_dto(b, b->evd, 101, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	b->fake->hold_flush = false;
	KUNIT_EXPECT_EQ(test, 0U, book.dropped);
	fake_stray(cq, wr, IB_WC_SUCCESS);
	expect_empty(b, b->evd);
	KUNIT_EXPECT_EQ(test, 1U, book.dropped);
	book_check(b, 0, 3, 0);
}

/* A13, D43: the device refuses a post, and a receive that was held. */
static void device_refuses(struct kunit *test)
{
	struct bench *b = test->priv;
	DAT_EP_HANDLE ep = bench_ep(b, b->evd);
	DAT_EP_HANDLE other = bench_ep(b, b->evd);

	bench_connect(b, ep);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	fake_fail(b->fake, FAKE_POST_SEND, 1, -EIO);
	KUNIT_EXPECT_EQ(test, INTERNAL, bench_send(b, ep, 1, 0));
	KUNIT_EXPECT_EQ(test, 1U, book.refused);
	KUNIT_EXPECT_EQ(test, 0U, book.kept);

	bench_recv(b, other, 2);
	bench_recv(b, other, 3);
	fake_fail(b->fake, FAKE_POST_RECV, 2, -EIO);
	KUNIT_EXPECT_NULL(test, bench_attempt(b, other));
	expect_dto(b, b->evd, 2, FLUSHED);
	expect_dto(b, b->evd, 3, FLUSHED);
	expect_event(b, b->evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	KUNIT_EXPECT_EQ(test, 1U, book.kept);
	book_check(b, 1, 1, 1);
}

static struct kunit_case kdapl_trace_cases[] = {
	KUNIT_CASE(whole_life),
	KUNIT_CASE(device_forgets),
	KUNIT_CASE(device_refuses),
	{}
};

static struct kunit_suite kdapl_trace_suite = {
	.name = "kdapl_trace",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = trace_init,
	.exit = trace_exit,
	.test_cases = kdapl_trace_cases,
};

kunit_test_suite(kdapl_trace_suite);
