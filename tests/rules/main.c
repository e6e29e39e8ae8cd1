// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The suite of rules: the list of tables, the verdicts, and the run.  Called by
 * kernel/platform.c (a write to a file) and user/platform.c (main).
 */
#include "rules.h"

static const struct scenario_table * const tables[] = {
	&handles_table,
	&args_table,
	&ia_table,
	&evd_table,
	&ep_table,
	&connect_table,
	&transfer_table,
	&disconnect_table,
	&order_table,
	&reset_table,
	&handoff_table,
	&free_table,
	&lmr_table,
	&rmr_table,
	&dup_table,
	&passive_table,
	&address_table,
	&limits_table,
	&iwarp_table,
	&srq_table,
	NULL
};

/* What a scenario has allocated, and its threads. */
struct block {
	struct block *next;
	size_t size;
	void *memory;
};

static struct block *blocks;
static struct thread *threads;
static u64 over;

/* Failures of the present scenario, of which the first ones are printed. */
#define SHOWN	8
static unsigned int nr_fails;
static unsigned int nr_passed, nr_failed;

/* ---- verdicts ----------------------------------------------------------- */

bool fail_at(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[400];
	va_list args;
	int n;

	n = snprintf(text, sizeof(text), "    %s:%d: ", base ? base + 1 : file,
		     line);
	va_start(args, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, args);
	va_end(args);
	platform_lock();
	if (nr_fails++ < SHOWN)
		say(text);
	platform_unlock();
	return false;
}

bool ret_at(const char *file, int line, const char *call, DAT_RETURN got,
	    DAT_RETURN expected)
{
	const char *major = "?", *minor = "?";
	const char *wanted_major = "?", *wanted_minor = "?";

	if (got == expected)
		return true;
	dat_strerror(got, &major, &minor);
	dat_strerror(expected, &wanted_major, &wanted_minor);
	return fail_at(file, line, "%.120s: gave %#x %s/%s, expected %s/%s",
		       call, got, major, minor, wanted_major, wanted_minor);
}

bool equal_at(const char *file, int line, const char *text, u64 got,
	      u64 expected)
{
	return got == expected ||
	       fail_at(file, line, "%.120s is %llu, expected %llu", text, got,
		       expected);
}

bool failed(void)
{
	return __atomic_load_n(&nr_fails, __ATOMIC_RELAXED);
}

u64 deadline(void)
{
	return now_us() + (failed() ? SILENCE_MS : WAIT_MS) * 1000ULL;
}

void note(const char *fmt, ...)
{
	char text[200] = "-- ";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + 3, sizeof(text) - 3, fmt, args);
	va_end(args);
	platform_lock();
	say(text);
	platform_unlock();
}

/* ---- what a scenario owns ----------------------------------------------- */

static void *block_new(size_t size, void *(*alloc)(size_t size))
{
	struct block *block = platform_alloc(sizeof(*block));

	if (block)
		block->memory = alloc(size);
	if (!block || !block->memory) {
		platform_free(block, sizeof(*block));
		FAIL("no memory");
		return NULL;
	}
	block->size = size;
	platform_lock();
	block->next = blocks;
	blocks = block;
	platform_unlock();
	return block->memory;
}

void *scenario_alloc(size_t size)
{
	return block_new(size, platform_alloc);
}

void *scenario_alloc_scattered(size_t size)
{
	return block_new(size, platform_alloc_scattered);
}

void scenario_free(void *memory)
{
	struct block *block, **at;

	if (!memory)
		return;
	platform_lock();
	for (at = &blocks; (*at)->memory != memory; at = &(*at)->next)
		;
	block = *at;
	*at = block->next;
	platform_unlock();
	platform_free(block->memory, block->size);
	platform_free(block, sizeof(*block));
}

bool thread_start(struct thread *thread, int (*fn)(void *arg), void *arg)
{
	thread->fn = fn;
	thread->arg = arg;
	thread->joined = false;
	if (!platform_thread_start(thread))
		return FAIL("no thread");
	thread->next = threads;
	threads = thread;
	return true;
}

int thread_join(struct thread *thread)
{
	struct thread **at;

	for (at = &threads; *at; at = &(*at)->next) {
		if (*at != thread)
			continue;
		*at = thread->next;
		platform_thread_join(thread);
		break;
	}
	return thread->ret;
}

bool scenario_over(void)
{
	return read_u64(&over);
}

#define SPIN_US		200

/*
 * Yields the CPU at first, to notice at once that all are there, but sleeps if it takes
 * long.
 */
bool barrier_wait(struct barrier *barrier)
{
	u64 end = now_us() + SPIN_US;
	u64 me = add_u64(&barrier->came, 1);
	u64 all = (me + barrier->n - 1) / barrier->n * barrier->n;

	while (read_u64(&barrier->came) < all) {
		if (failed() || scenario_over())
			return false;
		if (now_us() < end)
			yield_cpu();
		else
			sleep_us(20);
	}
	return true;
}

/* ---- running ------------------------------------------------------------ */

/*
 * Objects are freed in the background, so this waits.  What a scenario has left behind
 * counts as its own failure, and not as that of later ones.
 */
static void nothing_left(void)
{
	static int left_before;
	u64 end = deadline();
	int n;

	while ((n = live_objects()) > left_before && now_us() < end)
		sleep_us(2000);
	if (n < 0)
		FAIL("the number of objects is not known");
	else if (n > left_before)
		FAIL("%d objects are left", n - left_before);
	left_before = n;
}

static void clean_up(void)
{
	set_u64(&over, 1);
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	side_close(&side_b, DAT_CLOSE_ABRUPT_FLAG);
	while (threads)
		thread_join(threads);
	while (blocks)
		scenario_free(blocks->memory);
	link_up(&side_a);
	link_up(&side_b);
	side_a.on_srq = false;
	side_b.on_srq = false;
	nothing_left();
	set_u64(&over, 0);
}

static bool holds_here(const struct scenario *scenario)
{
	return !(side_is_iwarp(&side_a) ? scenario->ib : scenario->iwarp);
}

/* Has every side that is to use SRQs an adapter that offers them? */
static bool srqs_offered(enum srq_sides srq)
{
	return (srq == SRQ_NONE || side_b.provider.srq_supported) &&
	       (srq != SRQ_BOTH || side_a.provider.srq_supported);
}

static void run_scenario(const struct scenario *scenario, const char *name,
			 enum srq_sides srq)
{
	char text[300];
	u64 start = now_us();
	bool skipped = false;

	nr_fails = 0;
	if (side_open(&side_a) && side_open(&side_b)) {
		skipped = !holds_here(scenario) || !srqs_offered(srq);
		side_a.on_srq = srq == SRQ_BOTH;
		side_b.on_srq = srq != SRQ_NONE;
		if (!skipped)
			scenario->run();
	}
	clean_up();
	if (skipped && !nr_fails) {
		snprintf(text, sizeof(text), "skip %s", name);
		say(text);
		return;
	}
	if (nr_fails)
		nr_failed++;
	else
		nr_passed++;
	snprintf(text, sizeof(text), "%s %s (%llu ms)", nr_fails ? "FAIL" : "ok",
		 name, (now_us() - start) / 1000);
	say(text);
}

/* Is one of the texts, which are separated by "|", in the name? */
static bool is_named(const char *name, const char *texts)
{
	char text[100];
	size_t n;

	for (;; texts += n + 1) {
		n = strcspn(texts, "|");
		snprintf(text, sizeof(text), "%.*s", (int)n, texts);
		if (strstr(name, text))
			return true;
		if (!texts[n])
			return false;
	}
}

/* Runs a scenario as it is, and in its variant with shared receive queues if it has one. */
static void run_both_ways(const struct scenario *scenario, const char *only)
{
	char name[256];

	if (is_named(scenario->name, only))
		run_scenario(scenario, scenario->name, SRQ_NONE);
	if (scenario->srq == SRQ_NONE)
		return;
	snprintf(name, sizeof(name), "SRQ: %s", scenario->name);
	if (is_named(name, only))
		run_scenario(scenario, name, scenario->srq);
}

static void run_tables(const struct scenario_table * const *table,
		       const char *only)
{
	unsigned int i;

	for (; *table; table++)
		for (i = 0; i < (*table)->count; i++)
			run_both_ways(&(*table)->scenarios[i], only);
}

static unsigned int sum_up(void)
{
	char text[64];

	snprintf(text, sizeof(text), "%u passed, %u failed", nr_passed,
		 nr_failed);
	say(text);
	return nr_failed;
}

unsigned int run_scenarios(const char *only)
{
	static const struct scenario_table * const removal[] = {
		&removal_table,
		NULL
	};
	bool own = !strcmp(only, "own");

	nr_passed = 0;
	nr_failed = 0;
	if (!strcmp(only, "removal")) {
		run_tables(removal, "");
		return sum_up();
	}
	if (!own)
		run_tables(tables, only);
	say("-- those of this face alone");
	run_tables(platform_tables, own ? "" : only);
	return sum_up();
}
