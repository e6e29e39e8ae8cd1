// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library's end of the event ring (udapl-shim/ring.c, cmd_evd.c), from the
 * inside: needs neither the module nor a device. Linked with the library's
 * objects. The ring is memory of this process, and the kernel's part of the
 * protocol is played by the test.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim.h"
#include "check.h"

#define ENTRIES	256u	/* of the ring */

/* What the kernel has of a ring: the same memory, writable. */
struct kernel_ring {
	struct kdapl_uapi_ring_header *header;
	struct kdapl_uapi_event *events;
	struct kdapl_uapi_ring_index *index;
	uint32_t producer;
};

static uint64_t next_token = 1000;

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* An EVD with a ring, as dat_evd_create() leaves it. */
static struct shim_object *evd_new(struct shim_object *ia,
				   struct kernel_ring *kernel)
{
	struct shim_evd *body = calloc(1, sizeof(*body));
	struct shim_object *evd;
	size_t size = sizeof(*kernel->header) + ENTRIES * sizeof(*kernel->events);

	kernel->header = pages(size);
	kernel->events = (void *)(kernel->header + 1);
	kernel->index = pages(4096);
	kernel->producer = 0;
	kernel->header->nr_entries = ENTRIES;
	body->poll_fd.fd = -1;
	body->ring.header = kernel->header;
	body->ring.events = kernel->events;
	body->ring.index = kernel->index;
	body->ring.mask = ENTRIES - 1;
	body->ring.patience = SHIM_RING_PATIENCE;
	body->ring.where.data_size = size;
	body->ring.where.index_size = 4096;
	evd = shim_object_get(++next_token, SHIM_EVD, ia, NULL);
	CHECK(shim_object_dress(evd, SHIM_EVD, next_token, body));
	return evd;
}

/* What the library does when the kernel has destroyed the EVD. */
static void evd_end(struct shim_object *evd)
{
	shim_evd_body_free(evd);
	shim_object_kill(evd);
}

/* False if the ring is full. */
static bool kernel_put(struct kernel_ring *kernel, uint64_t ep, uint64_t cookie)
{
	uint32_t consumer = __atomic_load_n(&kernel->index->consumer,
					    __ATOMIC_ACQUIRE);

	if (kernel->producer - consumer == ENTRIES)
		return false;
	kernel->events[kernel->producer % ENTRIES] = (struct kdapl_uapi_event) {
		.event_number = DAT_DTO_COMPLETION_EVENT,
		.dto = { .ep = ep, .cookie = cookie, .length = 3 * cookie },
	};
	__atomic_store_n(&kernel->header->producer, ++kernel->producer,
			 __ATOMIC_RELEASE);
	return true;
}

static uint64_t cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

/* E41, E43: in order, each once, with the handles that the consumer knows. */
static void in_order(void)
{
	struct shim_object *ia = shim_object_get(++next_token, SHIM_IA, NULL, NULL);
	struct shim_object *ep = shim_object_get(++next_token, SHIM_EP, ia, NULL);
	struct kernel_ring kernel;
	struct shim_object *evd;
	DAT_EVENT event;
	uint64_t i, n;

	evd = evd_new(ia, &kernel);
	/* Many times around the ring, full at the beginning of each. */
	for (n = 0; n < 100 * ENTRIES; n += ENTRIES) {
		for (i = 0; i < ENTRIES; i++)
			CHECK(kernel_put(&kernel, shim_token(ep), n + i));
		CHECK(!kernel_put(&kernel, shim_token(ep), 0));
		for (i = 0; i < ENTRIES; i++) {
			OK(dat_evd_dequeue(evd, &event));
			CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
			CHECK(event.evd_handle == evd);
			CHECK(event.event_data.dto_completion_event_data.ep_handle == ep);
			CHECK_EQ(cookie_of(&event), n + i);
			CHECK_EQ(event.event_data.dto_completion_event_data
				 .transfered_length, 3 * (n + i));
		}
		CHECK_RET(dat_evd_dequeue(evd, &event), ERR2(QUEUE_EMPTY, 0));
	}
	CHECK_RET(dat_evd_dequeue(evd, NULL), ARG(2));
	evd_end(evd);
	CHECK_RET(dat_evd_dequeue(evd, &event), HANDLE(EVD_REQUEST));
}

#define TAKERS		4
#define EVENTS		2000000u

static struct shim_object *shared;
static atomic_uint taken;
static atomic_uchar seen[EVENTS];
static atomic_bool unordered;

/* Takes events until the EVD is gone. */
static void *taker(void *arg)
{
	uint64_t last = 0;
	DAT_EVENT event;
	DAT_RETURN ret;

	(void)arg;
	for (;;) {
		ret = dat_evd_dequeue(shared, &event);
		if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
			return (void *)(uintptr_t)ret;
		if (ret) {
			sched_yield();
			continue;
		}
		if (cookie_of(&event) <= last && last)
			unordered = true;
		last = cookie_of(&event);
		seen[last]++;
		taken++;
	}
}

/*
 * E42, E43, E114: of threads that take from one EVD each event gets to one, and
 * none of them sees a later one before an earlier one. Then the EVD is freed
 * under their hands.
 */
static void many_takers(void)
{
	struct shim_object *ia = shim_object_get(++next_token, SHIM_IA, NULL, NULL);
	struct kernel_ring kernel;
	pthread_t threads[TAKERS];
	uint32_t n;
	void *ret;

	shared = evd_new(ia, &kernel);
	for (n = 0; n < TAKERS; n++)
		CHECK(!pthread_create(&threads[n], NULL, taker, NULL));
	for (n = 0; n < EVENTS; )
		if (kernel_put(&kernel, 0, n))
			n++;
		else
			sched_yield();
	while (taken < EVENTS)
		sched_yield();
	evd_end(shared);
	for (n = 0; n < TAKERS; n++) {
		pthread_join(threads[n], &ret);
		CHECK_RET((DAT_RETURN)(uintptr_t)ret, HANDLE(EVD_REQUEST));
	}
	for (n = 0; n < EVENTS; n++)
		CHECK_EQ(seen[n], 1);
	CHECK(!unordered);
}

static const struct check_case cases[] = {
	{ "E41 E43 in order, once around and again", in_order },
	{ "E42 E43 E114 many take from one EVD", many_takers },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
