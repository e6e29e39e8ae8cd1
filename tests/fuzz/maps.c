// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mappings of /dev/kdapl as a process should not make them, and as it may: rings, whose index
 * it fills with garbage, and the board; moved, cut, made writable, looked at after a fork.
 * And the descriptors for poll(2).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz.h"

static struct mapping *free_map(struct life *life)
{
	unsigned int i;

	for (i = 0; i < MAPS; i++)
		if (life->maps[i].what == NO_MAP)
			return &life->maps[i];
	return NULL;
}

static struct mapping *some_map(struct worker *w)
{
	struct mapping *map = &w->life->maps[below(w, MAPS)];

	return map->what == NO_MAP ? NULL : map;
}

/* struct wish - a mapping that is asked for, and whether it must be refused */
struct wish {
	struct mapping map;
	uint64_t offset;
	int prot, flags;
	bool bad;
};

static void good_wish(struct worker *w, unsigned int side, struct wish *wish)
{
	struct object evd = {};

	if (w->life->sides[side].pass.board_size && percent(w, 30)) {
		wish->map.what = BOARD_MAP;
		wish->map.size = w->life->sides[side].pass.board_size;
		wish->offset = w->life->sides[side].pass.board_offset;
		return;
	}
	object_pick(w, T_EVD, side, true, &evd);
	wish->map.ring = evd.ring;
	if (percent(w, 60)) {
		wish->map.what = INDEX_MAP;
		wish->map.size = evd.ring.index_size;
		wish->offset = evd.ring.index_offset;
		wish->prot |= PROT_WRITE;
	} else {
		wish->map.what = DATA_MAP;
		wish->map.size = evd.ring.data_size;
		wish->offset = evd.ring.data_offset;
	}
}

static void spoil(struct worker *w, struct wish *wish)
{
	switch (below(w, 5)) {
	case 0:
		wish->prot |= PROT_EXEC;
		wish->bad = true;
		break;
	case 1:
		wish->prot |= PROT_WRITE;
		wish->bad |= wish->map.what != INDEX_MAP;
		break;
	case 2:
		wish->flags = MAP_PRIVATE;
		wish->bad = true;
		break;
	case 3:
		wish->map.size = PAGE * (1 + below(w, 64));
		/* It may be right by chance. */
		break;
	default:
		wish->offset = percent(w, 50) ? wish->offset + PAGE * (below(w, 5) - 2) :
			       draw64(w) & ~(uint64_t)(PAGE - 1);
		break;
	}
	wish->map.ring.nr_entries = 0;
}

static void map_new(struct worker *w, unsigned int side)
{
	struct wish wish = { .prot = PROT_READ, .flags = MAP_SHARED };
	struct mapping *place = free_map(w->life);
	bool spoilt = percent(w, 40);

	if (!place || !take_number(w, "mmap"))
		return;
	good_wish(w, side, &wish);
	if (spoilt)
		spoil(w, &wish);
	wish.map.at = mmap(NULL, wish.map.size, wish.prot, wish.flags, w->life->sides[side].fd,
			   wish.offset);
	call_over(w);
	add(shared->counts[C_MAPS], 1);
	if (wish.map.at == MAP_FAILED)
		return;
	if (wish.bad)
		violation(w, 0, "mmap: offset 0x%llx, %zu bytes, prot %d, flags %d was given",
			  (unsigned long long)wish.offset, wish.map.size, wish.prot, wish.flags);
	*place = wish.map;
	/* What it really is, is not known then. */
	if (spoilt)
		place->what = BOARD_MAP;
}

static void map_gone(struct mapping *map)
{
	munmap(map->at, map->size);
	map->what = NO_MAP;
}

/* Accesses that may fail: the map may be smaller than the program believes. */
static void touch(struct worker *w, struct mapping *map)
{
	volatile uint32_t *word = map->at;
	const volatile struct kdapl_uapi_ring_header *header = map->at;
	uint32_t value = draw64(w) >> below(w, 32);

	if (sigsetjmp(w->jump, 1)) {
		w->guarded = false;
		return;
	}
	w->guarded = true;
	if (map->what == INDEX_MAP)
		*word = percent(w, 70) ? value : *word + below(w, 3) - 1;
	else if (map->what == DATA_MAP && map->ring.nr_entries &&
		 header->nr_entries != map->ring.nr_entries)
		violation(w, 1, "the ring has %u entries, not %u", header->nr_entries,
			  map->ring.nr_entries);
	else
		value = word[below(w, map->size / sizeof(*word))];
	w->guarded = false;
}

static void protect(struct worker *w, struct mapping *map)
{
	static const int prots[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
	};
	int prot = prots[below(w, ARRAY_SIZE(prots))];

	if (mprotect(map->at, map->size, prot))
		return;
	if (prot & PROT_EXEC || (prot & PROT_WRITE && map->what == DATA_MAP))
		violation(w, 0, "mprotect gives %d to a ring", prot);
}

static void stretch(struct worker *w, struct mapping *map)
{
	size_t size = percent(w, 50) ? map->size + PAGE * (1 + below(w, 8)) :
		      map->size > PAGE ? map->size - PAGE : map->size;
	void *at = mremap(map->at, map->size, size, percent(w, 70) ? MREMAP_MAYMOVE : 0);

	if (at == MAP_FAILED)
		return;
	if (size > map->size)
		violation(w, 0, "mremap stretches a mapping from %zu to %zu", map->size, size);
	map->at = at;
	map->size = size;
}

void map_step(struct worker *w, unsigned int side)
{
	struct life *life = w->life;
	struct mapping *map;

	pthread_mutex_lock(&life->map_lock);
	map = some_map(w);
	if (!map || percent(w, 30)) {
		map_new(w, side);
		pthread_mutex_unlock(&life->map_lock);
		return;
	}
	if (take_number(w, "a mapping")) {
		add(shared->counts[C_MAPS], 1);
		switch (below(w, 8)) {
		case 0:
			protect(w, map);
			break;
		case 1:
			stretch(w, map);
			break;
		case 2:
			map_gone(map);
			break;
		default:
			touch(w, map);
		}
		call_over(w);
	}
	pthread_mutex_unlock(&life->map_lock);
}

/* ---- after a fork ---------------------------------------------------------------------- */

/* Nothing of the mappings is there; the file is, and its objects. */
static void forked(struct worker *w, unsigned int side, uint64_t ia)
{
	struct kdapl_uapi_handle_type arg = { .handle = ia };
	unsigned int i;
	int fds[2];

	if (pipe(fds))
		_exit(0);
	for (i = 0; i < MAPS; i++)
		if (w->life->maps[i].what != NO_MAP &&
		    write(fds[1], w->life->maps[i].at, 1) == 1)
			_exit(1);
	if (ioctl(w->life->sides[side].fd, KDAPL_IOC_HANDLE_TYPE, &arg) && errno != EBADF)
		_exit(2);
	if (ia & 1)
		raise(SIGKILL);
	_exit(0);
}

void fork_step(struct worker *w, unsigned int side)
{
	struct object ia = {};
	int status = 0;
	pid_t pid;

	object_pick(w, T_IA, side, true, &ia);
	pthread_mutex_lock(&w->life->map_lock);
	if (take_number(w, "fork")) {
		add(shared->counts[C_FORKS], 1);
		pid = fork();
		if (!pid)
			forked(w, side, ia.handle);
		if (pid > 0)
			waitpid(pid, &status, 0);
		call_over(w);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			violation(w, 0, "a mapping is there after fork");
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
			violation(w, 0, "the file is not there after fork");
	}
	pthread_mutex_unlock(&w->life->map_lock);
}

/* ---- poll(2) --------------------------------------------------------------------------- */

void poll_step(struct worker *w)
{
	struct pollfd pfds[POLL_FDS];
	struct life *life = w->life;
	unsigned int i, place;
	char byte;

	if (!take_number(w, "poll"))
		return;
	for (i = 0; i < POLL_FDS; i++)
		pfds[i] = (struct pollfd) { .fd = look(life->poll_fds[i]), .events = POLLIN };
	poll(pfds, POLL_FDS, below(w, 5));
	place = below(w, POLL_FDS);
	if (pfds[place].fd >= 0 && read(pfds[place].fd, &byte, 1) >= 0)
		violation(w, 0, "read from a descriptor for poll succeeds");
	if (percent(w, 20)) {
		pthread_mutex_lock(&life->lock);
		if (life->poll_fds[place] >= 0)
			close(life->poll_fds[place]);
		life->poll_fds[place] = -1;
		pthread_mutex_unlock(&life->lock);
	}
	call_over(w);
}
