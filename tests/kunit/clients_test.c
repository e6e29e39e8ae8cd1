// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_clients: what kernel consumers that follow adapters are told while devices
 * come, go, and are renamed.
 */
#include <dat/kdat_linux.h>
#include "fake_device.h"
#include "glue/clients.h"

#define CALLS	32

/*
 * A client, and what it was told
 * @renamed: while it is told of @at, this gets the name "moved"
 * @together: it is told that so many adapters have gone before it has answered for one
 * @going: how many it is told of
 */
struct listener {
	struct kunit *test;
	struct kdat_client client;
	wait_queue_head_t wait;
	spinlock_t lock;		/* the calls */
	unsigned int nr;
	struct {
		bool added;
		char name[DAT_NAME_MAX_LENGTH];
	} calls[CALLS];
	const char *at;
	struct fake_device *renamed;
	int together;
	atomic_t going;
};

static void note(struct listener *l, const char *name, bool added)
{
	spin_lock(&l->lock);
	if (l->nr < CALLS) {
		l->calls[l->nr].added = added;
		strscpy(l->calls[l->nr].name, name, sizeof(l->calls[l->nr].name));
		l->nr++;
	}
	spin_unlock(&l->lock);
	wake_up_all(&l->wait);
}

/* How often it was told of @name, or that it has gone */
static unsigned int count(struct listener *l, const char *name, bool added)
{
	unsigned int i, n = 0;

	spin_lock(&l->lock);
	for (i = 0; i < l->nr; i++)
		n += l->calls[i].added == added && !strcmp(l->calls[i].name, name);
	spin_unlock(&l->lock);
	return n;
}

static void told_add(struct kdat_client *client, const char *name)
{
	struct listener *l = container_of(client, struct listener, client);

	/* No client can have two adapters of one name. */
	KUNIT_EXPECT_EQ_MSG(l->test, count(l, name, true), count(l, name, false), "%s", name);
	if (l->renamed && !strcmp(name, l->at)) {
		fake_rename(l->renamed, "moved");
		l->renamed = NULL;
	}
	note(l, name, true);
}

static void told_remove(struct kdat_client *client, const char *name)
{
	struct listener *l = container_of(client, struct listener, client);

	KUNIT_EXPECT_EQ_MSG(l->test, count(l, name, true), count(l, name, false) + 1, "%s",
			    name);
	atomic_inc(&l->going);
	wake_up_all(&l->wait);
	KUNIT_EXPECT_NE(l->test, 0L, wait_event_timeout(l->wait, atomic_read(&l->going) >=
							l->together, BENCH_PATIENCE));
	note(l, name, false);
}

static struct listener *listen(struct kunit *test)
{
	struct listener *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->test = test;
	l->client.add = told_add;
	l->client.remove = told_remove;
	spin_lock_init(&l->lock);
	init_waitqueue_head(&l->wait);
	return l;
}

/* It is told of @name for the @n-th time. */
static bool hears(struct listener *l, const char *name, unsigned int n)
{
	return wait_event_timeout(l->wait, count(l, name, true) >= n, BENCH_PATIENCE) &&
	       count(l, name, true) == n;
}

/*
 * G12, I1: a device keeps the name that a client was told, although it is renamed.  Another
 * one that has this name now is told once it has a name of its own, or the first is gone.
 */
static void name_of_another(struct kunit *test)
{
	struct fake_device *first, *second, *third, *marker, *last;
	struct listener *l = listen(test);

	first = fake_create(2);
	KUNIT_ASSERT_NOT_NULL(test, first);
	kdapl_client_register(&l->client);
	KUNIT_EXPECT_TRUE(test, hears(l, "fake-2", 1));
	fake_rename(first, "moved");

	/* Devices are told in their order, so the marker shows that the second is left out. */
	second = fake_create(2);
	marker = fake_create(3);
	KUNIT_EXPECT_TRUE(test, second && marker && hears(l, "fake-3", 1));
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-2", true));
	if (second)
		fake_rename(second, "other");
	KUNIT_EXPECT_TRUE(test, hears(l, "other-2", 1));

	third = fake_create(2);
	last = fake_create(4);
	KUNIT_EXPECT_TRUE(test, third && last && hears(l, "fake-4", 1));
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-2", true));
	KUNIT_EXPECT_EQ(test, 0U, count(l, "fake-2", false));
	fake_destroy(first);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-2", false));
	KUNIT_EXPECT_TRUE(test, hears(l, "fake-2", 2));
	KUNIT_EXPECT_EQ(test, 0U, count(l, "moved-2", true));

	if (third)
		fake_destroy(third);
	KUNIT_EXPECT_EQ(test, 2U, count(l, "fake-2", false));
	if (second)
		fake_destroy(second);
	if (marker)
		fake_destroy(marker);
	if (last)
		fake_destroy(last);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "other-2", false));
	kdapl_client_unregister(&l->client);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-1", false));
}

/* G12, I1: one that is renamed while a client is told of it is told by its new name. */
static void renamed_meanwhile(struct kunit *test)
{
	struct fake_device *fake;
	struct listener *l = listen(test);

	kdapl_client_register(&l->client);
	fake = fake_create(2);
	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_EXPECT_TRUE(test, hears(l, "fake-2", 1));
	kdapl_client_unregister(&l->client);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-2", false));

	l->at = "fake-2";
	l->renamed = fake;
	kdapl_client_register(&l->client);
	KUNIT_EXPECT_TRUE(test, hears(l, "moved-2", 1));
	KUNIT_EXPECT_EQ(test, 2U, count(l, "fake-2", false));
	fake_destroy(fake);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "moved-2", false));
	kdapl_client_unregister(&l->client);
}

/* G12: the adapters of a client that unregisters are not waited for one after the other. */
static void all_at_once(struct kunit *test)
{
	struct fake_device *more[2];
	struct listener *l = listen(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = fake_create(2 + i);
	KUNIT_EXPECT_TRUE(test, more[0] && more[1]);
	kdapl_client_register(&l->client);
	KUNIT_EXPECT_TRUE(test, hears(l, "fake-2", 1) && hears(l, "fake-3", 1));
	l->together = 3;
	kdapl_client_unregister(&l->client);
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-1", false));
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-2", false));
	KUNIT_EXPECT_EQ(test, 1U, count(l, "fake-3", false));
	for (i = 0; i < ARRAY_SIZE(more); i++)
		if (more[i])
			fake_destroy(more[i]);
}

static struct kunit_case kdapl_clients_cases[] = {
	KUNIT_CASE(name_of_another),
	KUNIT_CASE(renamed_meanwhile),
	KUNIT_CASE(all_at_once),
	{}
};

static struct kunit_suite kdapl_clients_suite = {
	.name = "kdapl_clients",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = kdapl_clients_cases,
};

kunit_test_suite(kdapl_clients_suite);
