// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library's table of handles (udapl-shim/handle.c), from the inside: needs
 * neither the module nor a device. Linked with the library's objects.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim.h"
#include "check.h"
#include "locked.h"

#define DEAD_KEPT	32768

static uint64_t next_token = 1000;

static struct shim_object *make(uint32_t type, struct shim_object *ia)
{
	struct shim_object *obj;

	obj = shim_object_get(++next_token, type, ia, NULL);
	CHECK(obj);
	return obj;
}

/* Keeps the compiler from finding out that it is no object. */
static bool found(uintptr_t bits, uint32_t type)
{
	volatile uintptr_t handle = bits;

	return shim_find((DAT_HANDLE)handle, type);
}

static int make_adapter(void)
{
	return !shim_object_get(++next_token, SHIM_IA, NULL, NULL);
}

/* Has to come before the table is there. */
static void locked_in_future(void)
{
	in_locked_child(make_adapter);
}

/*
 * The first open reserves the table and writes two words. A thread that checks a made-up handle
 * meanwhile may see one of them before the other. Has to come before the table is there, too.
 */
static void while_reserved(void)
{
	const struct shim_table before = shim_table;
	uintptr_t good = (uintptr_t)make(SHIM_IA, NULL), bits;
	const struct shim_table after = shim_table;
	const struct shim_table mixed[] = {
		before, { before.base, after.mask }, { after.base, before.mask },
	};
	unsigned int i;

	CHECK(before.base != after.base && before.mask != after.mask);
	for (i = 0; i < ARRAY_SIZE(mixed); i++) {
		shim_table = mixed[i];
		for (bits = 0; bits < 1024; bits++)
			CHECK(!shim_points_to_object((DAT_HANDLE)bits));
		CHECK(!shim_points_to_object((DAT_HANDLE)good));
		CHECK(!shim_points_to_object((DAT_HANDLE)~0ul));
	}
	shim_table = after;
	CHECK(found(good, SHIM_IA));
	shim_object_kill((struct shim_object *)good);
}

/* A1, E5: what is no handle of ours is none, whatever the bits. */
static void forged_handles(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL);
	uintptr_t good = (uintptr_t)ia;
	int on_stack;

	CHECK(shim_find(ia, SHIM_IA) == ia);
	CHECK(!found(good, SHIM_EP));
	CHECK(!found(0, SHIM_IA));
	CHECK(!found(1, SHIM_EVD));
	CHECK(!found(2, SHIM_EVD));
	CHECK(!found(-1, SHIM_IA));
	CHECK(!found((uintptr_t)&on_stack, SHIM_IA));
	CHECK(!found(good + 8, SHIM_IA));
	CHECK(!found(good + 1, SHIM_IA));
	CHECK(!found(good - sizeof(*ia), SHIM_IA));
	CHECK(!found(good + sizeof(*ia), SHIM_IA));
	CHECK(!found(good + 400000 * sizeof(*ia), SHIM_IA));
	CHECK(!found(good + 4000000 * sizeof(*ia), SHIM_IA));
	CHECK(!found((uintptr_t)0xdeadbeefdeadbe80ull, SHIM_IA));
	CHECK(DAT_HANDLE_TO_PROVIDER(ia) == &shim_provider);
	shim_object_kill(ia);
	CHECK(!found(good, SHIM_IA));
}

/* The dead keep their token's place, and are not used again soon. */
static void freed_handles(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL);
	struct shim_object *ep = make(SHIM_EP, ia), *other;
	uint64_t token = next_token;
	unsigned int i;

	shim_object_kill(ep);
	shim_object_kill(ep);	/* two frees at once: the second does nothing */
	CHECK(!shim_find(ep, SHIM_EP));
	for (i = 0; i < DEAD_KEPT - 100; i++) {
		other = make(SHIM_EP, ia);
		CHECK(other != ep);
		CHECK(!shim_find(ep, SHIM_EP));
		CHECK(shim_handle(token) == ep);
		shim_object_kill(other);
	}
	for (i = 0; i < 3 * DEAD_KEPT; i++)
		shim_object_kill(make(SHIM_EP, ia));
	CHECK(!shim_handle(token));
	CHECK(!shim_handle(0));
	shim_object_kill(ia);
}

/* One whose end takes long is not used again before the end is over. */
static void hidden_handle(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL);
	struct shim_object *evd = make(SHIM_EVD, ia), *other;
	bool again = false;
	unsigned int i;

	CHECK(shim_object_hide(evd));
	CHECK(!shim_object_hide(evd));
	CHECK(!shim_find(evd, SHIM_EVD));
	for (i = 0; i < 3 * DEAD_KEPT; i++) {
		other = make(SHIM_EP, ia);
		CHECK(other != evd);
		shim_object_kill(other);
	}
	shim_object_bury(evd);
	for (i = 0; i < 3 * DEAD_KEPT && !again; i++) {
		other = make(SHIM_EP, ia);
		again = other == evd;
		shim_object_kill(other);
	}
	CHECK(again);
	shim_object_kill(ia);
}

/* P5: an event may show an object before the call that makes it returned. */
static void seen_first_by_event(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL), *psp;
	bool made;

	psp = shim_object_get(++next_token, SHIM_PSP, ia, &made);
	CHECK(psp && made);
	CHECK(shim_object_get(next_token, SHIM_PSP, ia, &made) == psp);
	CHECK(!made);
	CHECK(shim_by_token(next_token) == psp);
	CHECK(psp->ia == ia);
}

static void count(struct shim_object *obj, void *arg)
{
	(void)obj;
	++*(unsigned int *)arg;
}

/* Closing an IA finds what hangs from it and nothing else. */
static void objects_of_an_ia(void)
{
	struct shim_object *a = make(SHIM_IA, NULL), *b = make(SHIM_IA, NULL);
	unsigned int i, number = 0;

	for (i = 0; i < 3000; i++)
		make(SHIM_EVD, i % 3 ? a : b);
	shim_for_each(a, count, &number);
	CHECK_EQ(number, 2000);
	number = 0;
	shim_for_each(b, count, &number);
	CHECK_EQ(number, 1000);
}

/* A call that is slower than the close of its IA leaves nothing alive. */
static void too_late_for_an_ia(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL);
	struct shim_object *lmr = make(SHIM_LMR, ia);
	uint64_t token = next_token;
	int body;

	CHECK(shim_object_dress(lmr, SHIM_LMR, token, &body));
	CHECK(lmr->body == &body);
	lmr->body = NULL;
	shim_object_kill(ia);
	CHECK(!shim_object_get(++next_token, SHIM_PZ, ia, NULL));
	CHECK(!shim_by_token(next_token));
	CHECK(!shim_object_new(SHIM_CNO, ia, &body));
	shim_object_kill(lmr);
	CHECK(!shim_object_dress(lmr, SHIM_LMR, token, &body));
	CHECK(!lmr->body);
}

/* The handles of the parent are dead in the child, its own are others. */
static void child_has_nothing(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL), *own;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		shim_table_child();
		own = shim_object_get(next_token, SHIM_IA, NULL, NULL);
		/* OpenFabrics' library calls the provider's function without a look. */
		if (DAT_HANDLE_TO_PROVIDER(ia) != &shim_provider)
			_exit(2);
		_exit(!shim_find(ia, SHIM_IA) && own && own != ia &&
		      shim_find(own, SHIM_IA) ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK(shim_find(ia, SHIM_IA));
}

/* ---- bodies ---------------------------------------------------------------- */

/* In the place of the C library's: the kernel does what it is asked for an EP or a CR. */
int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	uint32_t *ret;

	(void)fd;
	va_start(args, cmd);
	ret = va_arg(args, void *);
	va_end(args);
	switch (cmd) {
	case KDAPL_IOC_CR_QUERY:
	case KDAPL_IOC_CR_REJECT:
	case KDAPL_IOC_EP_QUERY:
	case KDAPL_IOC_EP_FREE:
		*ret = DAT_SUCCESS;
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

static void *body_watched;
static void (*body_goes)(void);
static struct shim_object *body_owner;
static DAT_RETURN queried;

void __libc_free(void *ptr);

/* In the place of the C library's: another thread asks for the object whose body goes. */
void free(void *ptr)
{
	if (ptr && ptr == body_watched) {
		body_watched = NULL;
		body_goes();
	}
	__libc_free(ptr);
}

static void query_ep(void)
{
	DAT_EP_PARAM param;

	queried = dat_ep_query(body_owner, DAT_EP_FIELD_ALL, &param);
}

static void query_cr(void)
{
	DAT_CR_PARAM param;

	queried = dat_cr_query(body_owner, DAT_CR_FIELD_ALL, &param);
}

/* @query gives the object a body, and is made again when that goes. */
static void watch_body(struct shim_object *obj, void (*query)(void))
{
	body_owner = obj;
	query();
	OK(queried);
	CHECK(obj->body);
	body_goes = query;
	body_watched = obj->body;
}

/* Who asks for an object that goes gives it no body that nobody frees. */
static void body_goes_with_object(void)
{
	struct shim_object *ia = make(SHIM_IA, NULL);
	struct shim_object *ep = make(SHIM_EP, ia), *cr = make(SHIM_CR, ia);

	watch_body(ep, query_ep);
	OK(dat_ep_free(ep));
	CHECK_RET(queried, HANDLE(EP));
	CHECK(!ep->body);
	watch_body(cr, query_cr);
	OK(dat_cr_reject(cr));
	CHECK_RET(queried, HANDLE(CR));
	CHECK(!cr->body);
}

static _Atomic bool stop;
static struct shim_object *shared_ia;
static _Atomic unsigned int wrong;

static void *churn(void *arg)
{
	uint64_t token = (uint64_t)(uintptr_t)arg << 32;
	struct shim_object *obj[16];
	unsigned int i;

	while (!atomic_load(&stop)) {
		for (i = 0; i < 16; i++)
			obj[i] = shim_object_get(++token, SHIM_CR, shared_ia,
						 NULL);
		for (i = 0; i < 16; i++)
			if (shim_handle(token - 15 + i) != obj[i] ||
			    !shim_find(obj[i], SHIM_CR))
				wrong++;
		for (i = 0; i < 16; i++)
			shim_object_kill(obj[i]);
	}
	return NULL;
}

/* Look-ups by token and handle while others come and go. */
static void many_threads(void)
{
	struct shim_object *fixed[500];
	uint64_t first = next_token + 1;
	pthread_t threads[4];
	unsigned int i, round;
	bool good = true;

	shared_ia = make(SHIM_IA, NULL);
	first = next_token + 1;
	for (i = 0; i < 500; i++)
		fixed[i] = make(SHIM_EP, shared_ia);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn,
			       (void *)(uintptr_t)(i + 1));
	for (round = 0; round < 400; round++)
		for (i = 0; i < 500; i++)
			good &= shim_handle(first + i) == fixed[i] &&
				shim_find(fixed[i], SHIM_EP);
	atomic_store(&stop, true);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(good);
	CHECK_EQ(wrong, 0);
}

#define LOCKERS	8
#define TURNS	50000

static struct shim_lock lock;
static unsigned int in_turn;

/* Now and then another thread is let run with the lock held. */
static void *take_turns(void *arg)
{
	unsigned int i, before;

	(void)arg;
	for (i = 0; i < TURNS; i++) {
		if (!(i % 64 && shim_trylock(&lock)))
			shim_lock(&lock);
		before = in_turn;
		if (!(i % 512))
			sched_yield();
		in_turn = before + 1;
		shim_unlock(&lock);
	}
	return NULL;
}

/* One at a time has the lock, and who sleeps for it is woken: all threads end. */
static void one_at_a_time(void)
{
	pthread_t threads[LOCKERS];
	unsigned int i;

	for (i = 0; i < LOCKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, take_turns, NULL));
	for (i = 0; i < LOCKERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(in_turn, LOCKERS * TURNS);
	CHECK_EQ(lock.state, 0);
	CHECK(shim_trylock(&lock));
	CHECK(!shim_trylock(&lock));
	shim_unlock(&lock);
}

/* No module: the calls say so and nothing breaks. */
static void no_device(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_COUNT number = 7;
	DAT_IA_HANDLE ia;

	if (!access(KDAPL_DEVICE, F_OK))
		return;
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"rxe0-1", 8, &evd, &ia),
		  ERR2(PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	CHECK_RET(dat_registry_list_providers(0, &number, NULL),
		  ERR2(INTERNAL_ERROR, 0));
	CHECK_EQ(number, 7);
	CHECK_RET(dat_ia_open(NULL, 8, &evd, &ia), ARG(1));
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"", 8, &evd, &ia), ARG(1));
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"x", 0, &evd, &ia), ARG(2));
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"x", 8, NULL, &ia), ARG(3));
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"x", 8, &evd, NULL), ARG(4));
	evd = &number;
	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"x", 8, &evd, &ia),
		  HANDLE(EVD_ASYNC));
}

static const struct check_case cases[] = {
	{ "A1 a table where all future memory is locked", locked_in_future },
	{ "E5 forged handles during the first open", while_reserved },
	{ "A1 E5 forged handles", forged_handles },
	{ "F5 E20 freed handles", freed_handles },
	{ "F5 I17 a handle whose end takes long", hidden_handle },
	{ "P5 an event is faster than its call", seen_first_by_event },
	{ "I15 the objects of an IA", objects_of_an_ia },
	{ "I15 E114 too late for an IA", too_late_for_an_ia },
	{ "A8 a child has nothing", child_has_nothing },
	{ "E114 P43 a body goes with its object", body_goes_with_object },
	{ "E114 many threads", many_threads },
	{ "E114 a lock is one thread's", one_at_a_time },
	{ "G9 G14 I2 I8 without the module", no_device },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
