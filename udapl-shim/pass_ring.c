// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of a direction's cookies: one for each post that may be outstanding or have an event
 * that was not taken. pass_ep.c makes and replaces it, pass_post.c and others use it.
 */
#include <stdlib.h>
#include <string.h>

#include "passthrough.h"

/**
 * struct pass_rings - a ring of cookies, and room for their segments
 * @former: the ring that it replaced, as long as events that were not taken are in its cookies
 * @size: number of cookies
 * @max_sge: segments of each of them at most
 * @requests: pass_dir.requests, one for each cookie
 */
struct pass_rings {
	struct pass_rings *former;
	uint32_t size;
	uint32_t max_sge;
	struct pass_cookie *cookies;
	struct ibv_sge *sge;
	struct pass_request *requests;
};

/*
 * pass_dir.next of a direction without cookies. It is never free, so a post need not check whether
 * there is a cookie at all.
 */
static struct pass_cookie never_free = { .place = PASS_HERE, .after = &never_free };

void pass_rings_drop(struct pass_rings *rings)
{
	if (!rings)
		return;
	free(rings->cookies);
	free(rings->sge);
	free(rings->requests);
	free(rings);
}

/*
 * pass_rings_alloc - a ring for pass_rings_install(); NULL without memory
 * @requests: of requests that may have to wait for room
 */
struct pass_rings *pass_rings_alloc(struct pass_dir *dir, uint32_t size, uint32_t max_sge,
				    bool requests)
{
	struct pass_rings *rings = calloc(1, sizeof(*rings));
	uint32_t i;

	if (!rings)
		return NULL;
	rings->size = size;
	rings->max_sge = max_sge ? max_sge : 1;
	rings->cookies = calloc(size + 1, sizeof(*rings->cookies));
	rings->sge = calloc((size_t)size * rings->max_sge + 1, sizeof(*rings->sge));
	if (requests)
		rings->requests = calloc(size, sizeof(*rings->requests));
	if (!rings->cookies || !rings->sge || (requests && !rings->requests)) {
		pass_rings_drop(rings);
		return NULL;
	}
	for (i = 0; i < size; i++) {
		rings->cookies[i].dir = dir;
		rings->cookies[i].after = &rings->cookies[i + 1 == size ? 0 : i + 1];
		rings->cookies[i].sge = &rings->sge[(size_t)i * rings->max_sge];
	}
	return rings;
}

static bool rings_busy(const struct pass_rings *rings)
{
	uint32_t i;

	for (i = 0; i < rings->size; i++)
		if (atomic_load_explicit(&rings->cookies[i].place,
					 memory_order_acquire) != PASS_FREE)
			return true;
	return false;
}

/* Frees former rings whose cookies are all free: no event and no completion names them. */
static void forget_former(struct pass_rings *rings)
{
	struct pass_rings **link = &rings->former, *old;

	while (*link) {
		old = *link;
		if (rings_busy(old)) {
			link = &old->former;
		} else {
			*link = old->former;
			pass_rings_drop(old);
		}
	}
}

/* Moves held receives to the first cookies of @to; they fit (check_held() of pass_ep.c). */
static void move_held(struct pass_dir *dir, struct pass_rings *to)
{
	struct pass_cookie *from = dir->held_first, *cookie;
	uint32_t n;

	for (n = 0; n < dir->held; n++, from = from->after) {
		cookie = &to->cookies[n];
		cookie->user = from->user;
		cookie->length = from->length;
		cookie->flags = from->flags;
		cookie->nr_sge = from->nr_sge;
		pass_cookie_move(cookie, PASS_HERE);
		memcpy(cookie->sge, from->sge, from->nr_sge * sizeof(*from->sge));
		pass_cookie_move(from, PASS_FREE);
	}
}

/*
 * pass_rings_install - have a direction use another ring from here on
 *
 * The lock of the direction is held, and none of its posts is on a queue pair.
 */
void pass_rings_install(struct pass_dir *dir, struct pass_rings *rings)
{
	move_held(dir, rings);
	rings->former = dir->rings;
	if (!dir->parked)
		forget_former(rings);
	dir->rings = rings;
	dir->size = rings->size;
	dir->max_sge = rings->max_sge;
	dir->requests = rings->requests;
	dir->held_first = rings->cookies;
	dir->next = rings->size ? &rings->cookies[dir->held % rings->size] : &never_free;
}

/* pass_cookie_request - the rest of a held request; the lock of the direction is held */
struct pass_request *pass_cookie_request(const struct pass_cookie *cookie)
{
	const struct pass_rings *rings = cookie->dir->rings;

	return &rings->requests[cookie - rings->cookies];
}

/* pass_rings_free - free all rings: the EP is gone, and no event of it is left */
void pass_rings_free(struct pass_dir *dir)
{
	struct pass_rings *former;

	while (dir->rings) {
		former = dir->rings->former;
		pass_rings_drop(dir->rings);
		dir->rings = former;
	}
	dir->next = &never_free;
	dir->requests = NULL;
	dir->size = 0;
}
