// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_handle: tokens and the life of objects (A1, E5, E114; the rules at
 * the top of core/object.h).  The objects here are bare heads without anything
 * behind them, in spaces of the test's own.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "core/core.h"
#include "core/ia.h"
#include "fake_device.h"

#define MAX_OBJECTS	600
#define ALIVE		0x616c697665ULL

/* An object of any type but an IA. */
struct thing {
	struct kdapl_object obj;
	u64 magic;
	atomic_t *released;
};

/* A space with an open adapter. */
struct world {
	struct kdapl_space space;
	struct kdapl_ia *ia;
};

struct fixture {
	struct world here;
	struct world there;
	atomic_t released;
};

static void ia_release(struct kdapl_object *obj)
{
	kfree(container_of(obj, struct kdapl_ia, obj));
}

static const struct kdapl_object_ops ia_ops = { .release = ia_release };

static int world_init(struct world *w)
{
	int ret, i;

	ret = kdapl_space_init(&w->space, &init_net, NULL, MAX_OBJECTS);
	if (ret)
		return ret;
	w->ia = kzalloc(sizeof(*w->ia), GFP_KERNEL);
	if (!w->ia)
		goto err_space;
	mutex_init(&w->ia->lock);
	for (i = 0; i < KDAPL_NR_TYPES; i++)
		INIT_LIST_HEAD(&w->ia->objects[i]);
	if (kdapl_object_init(&w->ia->obj, KDAPL_IA, &w->space, NULL, &ia_ops))
		goto err_ia;
	kdapl_object_publish(&w->ia->obj);
	return 0;

err_ia:
	kfree(w->ia);
err_space:
	kdapl_space_destroy(&w->space);
	return -ENOMEM;
}

/* Everything in it has been retired but the adapter. */
static void world_exit(struct world *w)
{
	kdapl_object_retire(&w->ia->obj);
	kdapl_space_destroy(&w->space);
}

static int handle_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	if (world_init(&f->here))
		return -ENOMEM;
	if (world_init(&f->there)) {
		world_exit(&f->here);
		return -ENOMEM;
	}
	test->priv = f;
	return 0;
}

static void handle_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (!f)
		return;
	world_exit(&f->there);
	world_exit(&f->here);
}

static void thing_release(struct kdapl_object *obj)
{
	struct thing *t = container_of(obj, struct thing, obj);

	t->magic = 0;
	atomic_inc(t->released);
	kfree(t);
}

static const struct kdapl_object_ops thing_ops = { .release = thing_release };

/* Not published yet; NULL when the space has no room. */
static struct thing *thing_init(struct fixture *f, struct world *w,
				enum kdapl_type type)
{
	struct thing *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->magic = ALIVE;
	t->released = &f->released;
	if (kdapl_object_init(&t->obj, type, &w->space, w->ia, &thing_ops)) {
		kfree(t);
		return NULL;
	}
	return t;
}

static struct thing *thing_new(struct fixture *f, struct world *w,
			       enum kdapl_type type)
{
	struct thing *t = thing_init(f, w, type);

	if (t)
		kdapl_object_publish(&t->obj);
	return t;
}

/* Is @handle anything in @w?  Takes no reference. */
static bool names(struct world *w, u64 handle, enum kdapl_type type)
{
	struct kdapl_object *obj;

	obj = kdapl_object_find(&w->space, (DAT_HANDLE)(uintptr_t)handle, type);
	if (obj)
		kdapl_object_put(obj);
	return obj;
}

static void expect_unknown(struct kunit *test, u64 handle)
{
	struct fixture *f = test->priv;
	DAT_HANDLE_TYPE kind = 77;
	int type;

	for (type = 0; type < KDAPL_NR_TYPES; type++)
		KUNIT_EXPECT_FALSE_MSG(test, names(&f->here, handle, type),
				       "%llx as type %d", handle, type);
	KUNIT_EXPECT_EQ(test,
			kdapl_get_handle_type(&f->here.space,
					      (DAT_HANDLE)(uintptr_t)handle,
					      &kind),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	KUNIT_EXPECT_EQ(test, (int)kind, 77);
}

static void live_handle(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_init(f, &f->here, KDAPL_PZ);
	u64 token;

	KUNIT_ASSERT_NOT_NULL(test, t);
	token = t->obj.token;
	expect_unknown(test, token);		/* not published yet */
	kdapl_object_publish(&t->obj);
	KUNIT_EXPECT_TRUE(test, names(&f->here, token, KDAPL_PZ));
	KUNIT_EXPECT_TRUE(test, names(&f->here, token, 0));
	KUNIT_EXPECT_TRUE(test, kdapl_object_retire(&t->obj));
}

/* E5: null and the two special EVD values are never a token. */
static void null_and_reserved(struct kunit *test)
{
	expect_unknown(test, 0);
	expect_unknown(test, 1);
	expect_unknown(test, 2);
}

/* Each bit of a live handle counts. */
static void forged_by_one_bit(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_EP);
	int bit;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (bit = 0; bit < 64; bit++)
		expect_unknown(test, t->obj.token ^ BIT_ULL(bit));
	kdapl_object_retire(&t->obj);
}

static void forged_at_random(struct kunit *test)
{
	static const u64 corners[] = {
		~0ULL, S64_MAX, 1ULL << 63, U32_MAX, 1ULL << 32,
		0xff00000000000000, (u64)KDAPL_EP << 56 | U32_MAX,
		(u64)KDAPL_EP << 56 | 0xffffff00000000,
	};
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_EP);
	struct rnd_state rnd;
	u64 handle;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < ARRAY_SIZE(corners); i++)
		expect_unknown(test, corners[i]);
	expect_unknown(test, (uintptr_t)t);	/* a pointer is no handle */
	expect_unknown(test, (uintptr_t)&t->obj);

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 2000; i++) {
		handle = (u64)prandom_u32_state(&rnd) << 32 |
			 prandom_u32_state(&rnd);
		/* half of them with an index that exists */
		if (i & 1)
			handle = (handle & ~(u64)U32_MAX) | (u32)t->obj.token;
		if (handle == t->obj.token || handle == f->here.ia->obj.token)
			continue;
		KUNIT_EXPECT_FALSE(test, names(&f->here, handle, 0));
	}
	kdapl_object_retire(&t->obj);
}

static void wrong_type(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t;
	int type, asked;

	for (type = KDAPL_PZ; type < KDAPL_NR_TYPES; type++) {
		t = thing_new(f, &f->here, type);
		KUNIT_ASSERT_NOT_NULL(test, t);
		for (asked = KDAPL_IA; asked < KDAPL_NR_TYPES; asked++)
			KUNIT_EXPECT_EQ(test, asked == type,
					names(&f->here, t->obj.token, asked));
		kdapl_object_retire(&t->obj);
	}
}

/* A handle of another space names nothing, or what is this space's own. */
static void foreign_space(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *theirs = thing_new(f, &f->there, KDAPL_LMR);
	struct kdapl_object *found;
	struct thing *ours;

	KUNIT_ASSERT_NOT_NULL(test, theirs);
	expect_unknown(test, theirs->obj.token);

	ours = thing_new(f, &f->here, KDAPL_LMR);
	KUNIT_ASSERT_NOT_NULL(test, ours);
	found = kdapl_object_find(&f->here.space, kdapl_handle(&theirs->obj),
				  KDAPL_LMR);
	KUNIT_EXPECT_PTR_NE(test, found, &theirs->obj);
	if (found)
		kdapl_object_put(found);

	kdapl_object_retire(&ours->obj);
	kdapl_object_retire(&theirs->obj);
}

/* The thing that gets the slot of @old, when its turn has come again. */
static struct thing *thing_in_slot_of(struct fixture *f, u64 old)
{
	struct thing *t;
	int i;

	for (i = 0; i < KDAPL_CHUNK_SLOTS; i++) {
		t = thing_new(f, &f->here, KDAPL_EVD);
		if (!t || (u32)t->obj.token == (u32)old)
			return t;
		kdapl_object_retire(&t->obj);
	}
	return NULL;
}

/* Freed, and its slot used again: the old handle stays dead (F5). */
static void generation_of_a_slot(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t;
	u64 first, old;
	int round;

	t = thing_new(f, &f->here, KDAPL_EVD);
	KUNIT_ASSERT_NOT_NULL(test, t);
	first = t->obj.token;
	for (round = 0; round < 100; round++) {
		old = t->obj.token;
		KUNIT_EXPECT_TRUE(test, kdapl_object_retire(&t->obj));
		expect_unknown(test, old);
		t = thing_in_slot_of(f, old);
		KUNIT_ASSERT_NOT_NULL(test, t);
		KUNIT_EXPECT_NE(test, t->obj.token, old);
		KUNIT_EXPECT_FALSE(test, names(&f->here, old, 0));
		KUNIT_EXPECT_FALSE(test, names(&f->here, first, 0));
	}
	kdapl_object_retire(&t->obj);
}

/* A1: a slot whose generation would wrap is never used again. */
static void wrap_retires_the_slot(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_CR);
	struct kdapl_slot *chunk;
	u32 index;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	index = (u32)t->obj.token;
	kdapl_object_retire(&t->obj);

	rcu_read_lock();
	chunk = rcu_dereference(f->here.space.slots)->chunk[index / KDAPL_CHUNK_SLOTS];
	rcu_read_unlock();
	chunk[index % KDAPL_CHUNK_SLOTS].generation = KDAPL_GENERATION_MAX;
	t = thing_in_slot_of(f, index);
	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_EQ(test, (u32)(t->obj.token >> 32) & KDAPL_GENERATION_MAX,
			KDAPL_GENERATION_MAX);
	KUNIT_EXPECT_TRUE(test, names(&f->here, t->obj.token, KDAPL_EVD));
	kdapl_object_retire(&t->obj);

	for (i = 0; i < KDAPL_CHUNK_SLOTS; i++) {
		t = thing_new(f, &f->here, KDAPL_CR);
		KUNIT_ASSERT_NOT_NULL(test, t);
		KUNIT_EXPECT_NE(test, (u32)t->obj.token, index);
		kdapl_object_retire(&t->obj);
	}
}

/*
 * RULING 54: although no slot but that of a freed object is free, the next object gets another
 * one.  Otherwise the lmr_context would come back after 4096 objects.
 */
static void slot_rests(struct kunit *test)
{
	struct thing **things, *t;
	struct fixture *f = test->priv;
	const int nr = KDAPL_CHUNK_SLOTS - 3;
	u32 index;
	int i;

	things = kunit_kcalloc(test, nr, sizeof(*things), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, things);
	/* The first chunk has no slot 0, and the adapter is in it. */
	for (i = 0; i < nr; i++) {
		things[i] = thing_new(f, &f->here, KDAPL_PZ);
		KUNIT_ASSERT_NOT_NULL(test, things[i]);
	}
	t = thing_new(f, &f->here, KDAPL_LMR);
	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < KDAPL_CHUNK_SLOTS / 2; i++) {
		index = (u32)t->obj.token;
		kdapl_object_retire(&t->obj);
		t = thing_new(f, &f->here, KDAPL_LMR);
		KUNIT_ASSERT_NOT_NULL(test, t);
		KUNIT_EXPECT_NE(test, (u32)t->obj.token, index);
	}
	kdapl_object_retire(&t->obj);
	for (i = 0; i < nr; i++)
		kdapl_object_retire(&things[i]->obj);
}

static void second_free(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_PZ);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kdapl_object_get(&t->obj);
	KUNIT_EXPECT_TRUE(test, kdapl_object_retire(&t->obj));
	KUNIT_EXPECT_FALSE(test, kdapl_object_retire(&t->obj));
	expect_unknown(test, t->obj.token);
	kdapl_object_put(&t->obj);
}

/* A reference keeps the memory, not the handle. */
static void reference_outlives_the_handle(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_EP);
	struct kdapl_object *obj;
	u64 token;

	KUNIT_ASSERT_NOT_NULL(test, t);
	token = t->obj.token;
	obj = kdapl_object_find(&f->here.space, kdapl_handle(&t->obj),
				KDAPL_EP);
	KUNIT_ASSERT_PTR_EQ(test, obj, &t->obj);
	kdapl_object_retire(&t->obj);
	rcu_barrier();
	flush_workqueue(kdapl_slow_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->released), 0);
	KUNIT_EXPECT_EQ(test, t->magic, ALIVE);
	expect_unknown(test, token);
	kdapl_object_put(obj);
	rcu_barrier();
	flush_workqueue(kdapl_slow_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->released), 1);
}

static void aborted_before_published(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 before = f->here.space.nr_objects;
	struct thing *t = thing_init(f, &f->here, KDAPL_SRQ);
	u64 token;

	KUNIT_ASSERT_NOT_NULL(test, t);
	token = t->obj.token;
	kdapl_object_abort(&t->obj);
	expect_unknown(test, token);
	KUNIT_EXPECT_EQ(test, f->here.space.nr_objects, before);
	rcu_barrier();
	flush_workqueue(kdapl_slow_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->released), 1);
}

/* The limit of a space is exact, and room comes back with each free. */
static void limit_of_a_space(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing **things;
	int i, j;

	things = kunit_kcalloc(test, MAX_OBJECTS, sizeof(*things), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, things);
	for (i = 0; i < MAX_OBJECTS; i++) {
		things[i] = thing_new(f, &f->here, KDAPL_PZ);
		if (!things[i])
			break;
		for (j = 0; j < i; j++)
			if (things[j]->obj.token == things[i]->obj.token)
				break;
		KUNIT_EXPECT_EQ(test, j, i);
	}
	/* the adapter is one of them */
	KUNIT_EXPECT_EQ(test, i, MAX_OBJECTS - 1);
	KUNIT_EXPECT_EQ(test, f->here.space.nr_objects, (u32)MAX_OBJECTS);
	KUNIT_EXPECT_NULL(test, thing_new(f, &f->here, KDAPL_PZ));
	KUNIT_EXPECT_EQ(test, f->here.space.nr_objects, (u32)MAX_OBJECTS);
	/* the other space has its own */
	things[MAX_OBJECTS - 1] = thing_new(f, &f->there, KDAPL_PZ);
	KUNIT_EXPECT_NOT_NULL(test, things[MAX_OBJECTS - 1]);

	kdapl_object_retire(&things[0]->obj);
	things[0] = thing_new(f, &f->here, KDAPL_PZ);
	KUNIT_EXPECT_NOT_NULL(test, things[0]);
	KUNIT_EXPECT_NULL(test, thing_new(f, &f->here, KDAPL_PZ));
	for (i = 0; i < MAX_OBJECTS; i++)
		if (things[i])
			kdapl_object_retire(&things[i]->obj);
	KUNIT_EXPECT_EQ(test, f->here.space.nr_objects, 1U);
}

/* I15: when an adapter closes, no handle of it works any more. */
static void closing_adapter(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_PZ);

	KUNIT_ASSERT_NOT_NULL(test, t);
	WRITE_ONCE(f->here.ia->closing, true);
	expect_unknown(test, t->obj.token);
	expect_unknown(test, f->here.ia->obj.token);
	kdapl_object_retire(&t->obj);
}

/* G28, G29: the numbers are kdat.h's. */
static void type_of_a_handle(struct kunit *test)
{
	static const struct {
		enum kdapl_type type;
		DAT_HANDLE_TYPE kind;
	} kinds[] = {
		{ KDAPL_PZ, DAT_HANDLE_TYPE_PZ },
		{ KDAPL_LMR, DAT_HANDLE_TYPE_LMR },
		{ KDAPL_RMR, DAT_HANDLE_TYPE_RMR },
		{ KDAPL_EVD, DAT_HANDLE_TYPE_EVD },
		{ KDAPL_EP, DAT_HANDLE_TYPE_EP },
		{ KDAPL_PSP, DAT_HANDLE_TYPE_PSP },
		{ KDAPL_RSP, DAT_HANDLE_TYPE_RSP },
		{ KDAPL_CR, DAT_HANDLE_TYPE_CR },
		{ KDAPL_SRQ, DAT_HANDLE_TYPE_SRQ },
	};
	struct fixture *f = test->priv;
	DAT_HANDLE_TYPE kind;
	struct thing *t;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		t = thing_new(f, &f->here, kinds[i].type);
		KUNIT_ASSERT_NOT_NULL(test, t);
		KUNIT_EXPECT_EQ(test,
				kdapl_get_handle_type(&f->here.space,
						      kdapl_handle(&t->obj),
						      &kind),
				(DAT_RETURN)DAT_SUCCESS);
		KUNIT_EXPECT_EQ(test, kind, kinds[i].kind);
		KUNIT_EXPECT_EQ(test,
				kdapl_get_handle_type(&f->here.space,
						      kdapl_handle(&t->obj),
						      NULL),
				DAT_ERROR(DAT_INVALID_PARAMETER,
					  DAT_INVALID_ARG2));
		kdapl_object_retire(&t->obj);
	}
	KUNIT_EXPECT_EQ(test,
			kdapl_get_handle_type(&f->here.space,
					      kdapl_handle(&f->here.ia->obj),
					      &kind),
			(DAT_RETURN)DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kind, DAT_HANDLE_TYPE_IA);
}

/* G30: all 64 bits come back, and a dead handle keeps nothing. */
static void consumer_context(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_EP);
	DAT_CONTEXT in = { .as_64 = 0x123456789abcdef0 };
	DAT_CONTEXT out = { .as_64 = 1 };
	DAT_HANDLE handle;

	KUNIT_ASSERT_NOT_NULL(test, t);
	handle = kdapl_handle(&t->obj);
	KUNIT_EXPECT_EQ(test, kdapl_get_context(&f->here.space, handle, &out),
			(DAT_RETURN)DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, out.as_64, 0ULL);
	KUNIT_EXPECT_EQ(test, kdapl_set_context(&f->here.space, handle, in),
			(DAT_RETURN)DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdapl_get_context(&f->here.space, handle, &out),
			(DAT_RETURN)DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, out.as_64, in.as_64);
	KUNIT_EXPECT_EQ(test, kdapl_get_context(&f->here.space, handle, NULL),
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));

	kdapl_object_retire(&t->obj);
	out.as_64 = 5;
	KUNIT_EXPECT_EQ(test, kdapl_get_context(&f->here.space, handle, &out),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	KUNIT_EXPECT_EQ(test, out.as_64, 5ULL);
	KUNIT_EXPECT_EQ(test, kdapl_set_context(&f->here.space, handle, in),
			DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
}

/* F10, F11: what is used is not freed; what is being freed is not used. */
static void users_and_kill(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct thing *t = thing_new(f, &f->here, KDAPL_PZ);

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_TRUE(test, kdapl_object_use(&t->obj));
	KUNIT_EXPECT_TRUE(test, kdapl_object_use(&t->obj));
	KUNIT_EXPECT_EQ(test, kdapl_object_kill(&t->obj), -EBUSY);
	kdapl_object_unuse(&t->obj);
	KUNIT_EXPECT_EQ(test, kdapl_object_kill(&t->obj), -EBUSY);
	kdapl_object_unuse(&t->obj);
	KUNIT_EXPECT_EQ(test, kdapl_object_kill(&t->obj), 0);
	KUNIT_EXPECT_EQ(test, kdapl_object_kill(&t->obj), -ESTALE);
	KUNIT_EXPECT_FALSE(test, kdapl_object_use(&t->obj));
	KUNIT_EXPECT_EQ(test, kdapl_object_kill(&t->obj), -ESTALE);
	kdapl_object_retire(&t->obj);
}

/* ---- races ---- */

#define NR_RACERS	4
#define NR_SHARED	8
#define ROUNDS		200

struct race {
	struct fixture *f;
	struct thing *prey;
	atomic_t wins;
	u64 shared[NR_SHARED];
	bool stop;
	atomic_t found;
	atomic_t wrong;
	struct completion ready;
	struct completion start;
	struct task_struct *racers[NR_RACERS];
};

static void race_run(struct kunit *test, struct race *r,
		     int (*fn)(void *arg))
{
	struct task_struct *task;
	int i;

	init_completion(&r->ready);
	init_completion(&r->start);
	for (i = 0; i < NR_RACERS; i++) {
		task = kthread_create(fn, r, "kdapl_race/%d", i);
		r->racers[i] = IS_ERR(task) ? NULL : get_task_struct(task);
		KUNIT_EXPECT_NOT_NULL(test, r->racers[i]);
		if (!r->racers[i])
			continue;
		wake_up_process(task);
		wait_for_completion(&r->ready);
	}
	complete_all(&r->start);
}

/* Waits until the racers have left this module's code. */
static void race_end(struct race *r)
{
	int i;

	for (i = 0; i < NR_RACERS; i++) {
		if (!r->racers[i])
			continue;
		kthread_stop(r->racers[i]);
		put_task_struct(r->racers[i]);
	}
}

static int racer_free(void *arg)
{
	struct race *r = arg;

	complete(&r->ready);
	wait_for_completion(&r->start);
	if (kdapl_object_retire(&r->prey->obj))
		atomic_inc(&r->wins);
	return 0;
}

/* E114: of several frees at once exactly one succeeds. */
static void racing_frees(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	int round;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->f = test->priv;
	for (round = 0; round < ROUNDS / 4; round++) {
		r->prey = thing_new(r->f, &r->f->here, KDAPL_PZ);
		KUNIT_ASSERT_NOT_NULL(test, r->prey);
		kdapl_object_get(&r->prey->obj);
		atomic_set(&r->wins, 0);
		race_run(test, r, racer_free);
		race_end(r);
		KUNIT_EXPECT_EQ(test, atomic_read(&r->wins), 1);
		kdapl_object_put(&r->prey->obj);
	}
	KUNIT_EXPECT_EQ(test, r->f->here.space.nr_objects, 1U);
}

/* Looks the shared handles up as fast as it can. */
static int racer_find(void *arg)
{
	struct race *r = arg;
	struct kdapl_object *obj;
	u64 token;
	int i;

	complete(&r->ready);
	wait_for_completion(&r->start);
	for (i = 0; !READ_ONCE(r->stop); i = (i + 1) % NR_SHARED) {
		token = READ_ONCE(r->shared[i]);
		obj = kdapl_object_find(&r->f->here.space,
					(DAT_HANDLE)(uintptr_t)token, KDAPL_EP);
		if (obj) {
			atomic_inc(&r->found);
			if (obj->token != token ||
			    container_of(obj, struct thing, obj)->magic !=
			    ALIVE)
				atomic_inc(&r->wrong);
			kdapl_object_put(obj);
		}
		cond_resched();
	}
	return 0;
}

/* A look-up that races with the free finds the object whole, or not at all. */
static void find_against_free(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long until = jiffies + BENCH_PATIENCE;
	struct thing *things[NR_SHARED] = {};
	int round, i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->f = test->priv;
	race_run(test, r, racer_find);
	/* All rounds may be over before a racer gets a processor. */
	for (round = 0; round < ROUNDS || (!atomic_read(&r->found) &&
					   time_before(jiffies, until)); round++) {
		for (i = 0; i < NR_SHARED; i++) {
			things[i] = thing_new(r->f, &r->f->here, KDAPL_EP);
			if (things[i])
				WRITE_ONCE(r->shared[i], things[i]->obj.token);
		}
		cond_resched();
		for (i = 0; i < NR_SHARED; i++)
			if (things[i])
				kdapl_object_retire(&things[i]->obj);
	}
	WRITE_ONCE(r->stop, true);
	race_end(r);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->wrong), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&r->found), 0);
	for (i = 0; i < NR_SHARED; i++)
		expect_unknown(test, r->shared[i]);
}

static struct kunit_case kdapl_handle_cases[] = {
	KUNIT_CASE(live_handle),
	KUNIT_CASE(null_and_reserved),
	KUNIT_CASE(forged_by_one_bit),
	KUNIT_CASE(forged_at_random),
	KUNIT_CASE(wrong_type),
	KUNIT_CASE(foreign_space),
	KUNIT_CASE(generation_of_a_slot),
	KUNIT_CASE(wrap_retires_the_slot),
	KUNIT_CASE(slot_rests),
	KUNIT_CASE(second_free),
	KUNIT_CASE(reference_outlives_the_handle),
	KUNIT_CASE(aborted_before_published),
	KUNIT_CASE(limit_of_a_space),
	KUNIT_CASE(closing_adapter),
	KUNIT_CASE(type_of_a_handle),
	KUNIT_CASE(consumer_context),
	KUNIT_CASE(users_and_kill),
	KUNIT_CASE(racing_frees),
	KUNIT_CASE(find_against_free),
	{}
};

static struct kunit_suite kdapl_handle_suite = {
	.name = "kdapl_handle",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = handle_init,
	.exit = handle_exit,
	.test_cases = kdapl_handle_cases,
};

kunit_test_suite(kdapl_handle_suite);
