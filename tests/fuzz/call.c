// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes one call of the ABI, in good or in bad memory, and judges what comes of it by what
 * Documentation/abi.rst promises:
 *
 *  - errno is one that the call may give; none for the length or the padding if these are
 *    good, and EINVAL if the padding is not zero
 *  - `ret` is a DAT_RETURN that dat_strerror() knows, and no success if the object is none
 *  - what is not "out" stays as it was, as do the bytes around the structure and behind the
 *    arrays that it names
 *  - nothing that is written looks like an address of the kernel, or like freed memory
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "fuzz.h"

#define KERNEL_ADDRESS	0xffff888000000000ULL
/*
 * Of a wait, unless it ends by itself: of one for something, the CM takes its time in the
 * debug kernel; and of any other.
 */
#define WAIT_NS		300000000
#define IDLE_WAIT_NS	20000000

/* Where the structure is */
enum place { PLAIN, SCRIBBLED, READ_ONLY, EDGE, NOWHERE, SOMEWHERE };

/* ---- numbers ------------------------------------------------------------------------ */

bool take_number(struct worker *w, const char *name)
{
	struct life *life = w->life;
	uint64_t number = __atomic_fetch_add(&life->next, 1, __ATOMIC_RELAXED);

	if (number >= life->end || look(shared->stop)) {
		tell(life->over, true);
		return false;
	}
	if (number == life->kill_at)
		sem_post(&life->doom);
	w->number = number;
	w->rng = mix(mix(shared->seed, life->process), number);
	tell(shared->process[life->process].number, number);
	tell(shared->process[life->process].threads[w->index].number, number);
	tell(shared->process[life->process].threads[w->index].since, now_ms());
	tell(shared->process[life->process].threads[w->index].name, name);
	add(shared->counts[C_CALLS], 1);
	w->name = name;
	w->began_us = clock_us(CLOCK_MONOTONIC);
	w->began_cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
	return true;
}

void call_over(struct worker *w)
{
	account(w->name, clock_us(CLOCK_MONOTONIC) - w->began_us,
		clock_us(CLOCK_THREAD_CPUTIME_ID) - w->began_cpu_us);
	tell(shared->process[w->life->process].threads[w->index].name, (const char *)NULL);
}

/* ---- what may come of a call ------------------------------------------------------------ */

static bool errno_allowed(const struct call *c, int err, const struct drawn *drawn, bool plain)
{
	switch (err) {
	case 0:
	case ENOMEM:
		return true;
	case EFAULT:
		return !plain || drawn->hostile;
	case EINVAL:
		/* A queue pair that another thread has moved, or destroyed */
		return !plain || drawn->hostile || c->cmd == KDAPL_IOC_EP_BIND;
	case EINTR:
		return c->cmd == KDAPL_IOC_EVD_WAIT;
	case EPROTONOSUPPORT:
		return c->cmd == KDAPL_IOC_QUERY_ABI && (!plain || drawn->hostile);
	case EBADF:
		return c->cmd == KDAPL_IOC_EP_BIND ||
		       (c->cmd == KDAPL_IOC_BOARD_EVENT && (!plain || drawn->hostile));
	case ENOENT:
	case EBUSY:
		return c->cmd == KDAPL_IOC_EP_BIND;
	default:
		return false;
	}
}

static bool ret_known(uint32_t ret)
{
	const char *major, *minor;

	if (!ret)
		return true;
	return (ret & DAT_CLASS_ERROR) && !dat_strerror(ret, &major, &minor) &&
	       DAT_GET_TYPE(ret) != DAT_NOT_IMPLEMENTED &&
	       DAT_GET_TYPE(ret) != DAT_INTERNAL_ERROR;
}

/* Of an answer with errno 0: is it success where there can be none? */
static bool too_good(struct worker *w, const struct call *c, const struct drawn *drawn)
{
	const struct kdapl_uapi_post *post = (const void *)w->before.bytes;

	/* Nothing to post, nothing to look at */
	if (is_post(c->cmd) && !post->count)
		return false;
	return drawn->no_object && !w->ret;
}

static void judge_answer(struct worker *w, const struct call *c, const struct drawn *drawn,
			 bool plain)
{
	add(shared->counts[C_ANSWERS], 1);
	if (!errno_allowed(c, w->err, drawn, plain))
		violation(w, 0, "%s: errno %d (%s)", c->name, w->err, strerror(w->err));
	if (plain && drawn->bad_pad && w->err != EINVAL && w->err != ENOMEM)
		violation(w, 0, "%s: padding is not zero, and errno is %d", c->name, w->err);
	if (w->err || c->cmd == KDAPL_IOC_QUERY_ABI || !plain)
		return;
	if (!ret_known(w->ret))
		violation(w, 0, "%s: no DAT_RETURN: 0x%x", c->name, w->ret);
	if (too_good(w, c, drawn))
		violation(w, 0, "%s: succeeded with a handle of nothing", c->name);
}

/* ---- what the kernel has written ---------------------------------------------------------- */

static bool all_are(const uint8_t *at, unsigned int size, uint8_t value)
{
	return !size || (*at == value && !memcmp(at, at + 1, size - 1));
}

static bool secret(uint64_t word)
{
	return (word >= 0xffff800000000000ULL && word < 0xffffffffff000000ULL) ||
	       word == 0x6b6b6b6b6b6b6b6bULL || word == 0x5a5a5a5a5a5a5a5aULL;
}

static void judge_field(struct worker *w, const struct call *c, const struct field *f)
{
	unsigned int i;

	if (!f->out && memcmp(w->before.bytes + f->at, w->after.bytes + f->at, f->size)) {
		violation(w, 1, "%s: %s was changed", c->name, f->name);
		return;
	}
	/* What is in and out may be what this program has put there. */
	if (f->kind != ANSWER)
		return;
	for (i = (f->at + 7) / 8; 8 * i + 8 <= f->at + f->size; i++)
		if (secret(w->after.words[i]))
			violation(w, 1, "%s: %s has 0x%llx", c->name, f->name,
				  (unsigned long long)w->after.words[i]);
}

static void judge_memory(struct worker *w, const struct call *c, const uint8_t *at)
{
	unsigned int size = _IOC_SIZE(c->cmd), i;

	add(shared->counts[C_UNTOUCHED], 1);
	for (i = 0; i < c->nr_fields; i++)
		judge_field(w, c, &c->fields[i]);
	if (!all_are(w->page, at - w->page, REDZONE) ||
	    !all_are(at + size, w->page + PAGE - (at + size), REDZONE))
		violation(w, 1, "%s: something is written beside its structure", c->name);
	for (i = 0; i < w->nr_zones; i++)
		if (!all_are(w->zones[i].from, w->zones[i].size, REDZONE))
			violation(w, 1, "%s: something is written behind an array", c->name);
}

/* ---- the call ------------------------------------------------------------------------------ */

/* A wait ends soon, by a signal; one may come before the call, so they go on. */
static void alarm_set(struct worker *w, long ns)
{
	struct itimerspec its = {
		.it_value.tv_nsec = ns, .it_interval.tv_nsec = ns,
	};

	timer_settime(w->timer, 0, &its, NULL);
}

static enum place draw_place(struct worker *w, enum level level)
{
	uint32_t n = below(w, 100);

	if (level == GOOD)
		return PLAIN;
	return n < 82 ? PLAIN : n < 88 ? SCRIBBLED : n < 93 ? READ_ONLY : n < 96 ? EDGE :
	       n < 98 ? NOWHERE : SOMEWHERE;
}

/* Puts the structure there. */
static uint8_t *place_at(struct worker *w, enum place place, unsigned int size)
{
	unsigned int slack = below(w, 32) * 8;

	switch (place) {
	case SCRIBBLED:
		memcpy(w->life->scribbled, w->before.bytes, size);
		tell(w->life->racing, w);
		sem_post(&w->life->race);
		return w->life->scribbled;
	case EDGE:
		/* The page behind is not there. */
		return w->page + PAGE - (1 + below(w, size - 1));
	case NOWHERE:
		return percent(w, 50) ? NULL : w->life->hole;
	case SOMEWHERE:
		return (uint8_t *)(uintptr_t)(percent(w, 50) ? KERNEL_ADDRESS : draw64(w));
	default:
		memset(w->page, REDZONE, PAGE);
		memcpy(w->page + 64 + slack, w->before.bytes, size);
		if (place == READ_ONLY)
			mprotect(w->page, PAGE, PROT_READ);
		return w->page + 64 + slack;
	}
}

/* From here on what @w points to is changed by nobody else: the next call needs it. */
static void end_race(struct worker *w)
{
	struct life *life = w->life;

	__atomic_store_n(&life->racing, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&life->scribbling, __ATOMIC_SEQ_CST) == w)
		sched_yield();
}

/* A structure that could not be written: what was made has to be gone again. */
static void judge_place(struct worker *w, const struct call *c, enum place place,
			const struct drawn *drawn)
{
	if (place == READ_ONLY && !w->err)
		violation(w, 0, "%s: written to memory that is read-only", c->name);
	if ((place == NOWHERE || place == EDGE) && w->err != EFAULT && w->err != ENOMEM)
		violation(w, 0, "%s: errno %d for memory that is not there", c->name, w->err);
	if (place == SCRIBBLED && !errno_allowed(c, w->err, drawn, false))
		violation(w, 0, "%s: errno %d (%s)", c->name, w->err, strerror(w->err));
}

static void count(struct worker *w, const struct call *c, bool plain)
{
	unsigned int which = w->err ? 2 : plain && w->ret && c->cmd != KDAPL_IOC_QUERY_ABI;

	add(shared->counts[C_DONE + which], 1);
	add(shared->per_call[c - calls][which], 1);
}

bool run(struct worker *w, unsigned int cmd, unsigned int side, enum level level,
	 const struct set *sets, unsigned int nr_sets)
{
	const struct call *c = call_of(cmd);
	unsigned int size = _IOC_SIZE(cmd);
	bool waits = cmd == KDAPL_IOC_EVD_WAIT, plain;
	struct side *s = &w->life->sides[side];
	unsigned int file = look(s->file);
	struct drawn drawn;
	enum place place;
	uint8_t *at;

	w->err = EAGAIN;
	if (!take_number(w, c->name))
		return false;
	draw(w, c, side, level, sets, nr_sets, w->before.bytes, &drawn);
	place = draw_place(w, level);
	plain = place == PLAIN;
	at = place_at(w, place, size);
	if (waits)
		alarm_set(w, nr_sets ? WAIT_NS : IDLE_WAIT_NS);
	w->err = ioctl(s->fd, cmd, at) < 0 ? errno : 0;
	if (waits)
		alarm_set(w, 0);
	if (place == SCRIBBLED)
		end_race(w);
	call_over(w);
	/* Another thread has put another file in its place: handles have another meaning. */
	if (look(s->file) != file)
		drawn.no_object = false;
	if (place == READ_ONLY)
		mprotect(w->page, PAGE, PROT_READ | PROT_WRITE);
	if (plain)
		memcpy(w->after.bytes, at, size);
	else if (place == SCRIBBLED)
		memset(w->after.bytes, 0, size);
	w->ret = *(uint32_t *)w->after.bytes;
	count(w, c, plain);
	if (plain) {
		judge_answer(w, c, &drawn, true);
		judge_memory(w, c, at);
		if (look(s->file) == file &&
		    (went(w) || (is_post(cmd) && !w->err)))
			learn(w, c, side);
	} else {
		judge_place(w, c, place, &drawn);
	}
	return true;
}

/* Another size, direction or magic, and numbers that nobody has */
void run_no_call(struct worker *w, unsigned int side)
{
	const struct call *c = &calls[below(w, nr_calls)];
	unsigned int cmd = c->cmd;
	int err;

	if (!take_number(w, "no call"))
		return;
	switch (below(w, 4)) {
	case 0:
		cmd += (8 * (1 + below(w, 4))) << _IOC_SIZESHIFT;
		break;
	case 1:
		cmd ^= 1U << (_IOC_DIRSHIFT + below(w, 2));
		break;
	case 2:
		cmd ^= 1U << (_IOC_TYPESHIFT + below(w, 8));
		break;
	default:
		cmd = (draw64(w) & ~(_IOC_TYPEMASK << _IOC_TYPESHIFT)) |
		      KDAPL_IOC_MAGIC << _IOC_TYPESHIFT;
	}
	err = ioctl(w->life->sides[side].fd, cmd, w->page) < 0 ? errno : 0;
	call_over(w);
	add(shared->counts[C_ERRNO], 1);
	if (!call_of(cmd) && err != ENOTTY)
		violation(w, 0, "ioctl 0x%x is no call, and errno is %d", cmd, err);
}

void run_early(struct worker *w)
{
	const struct call *c = &calls[below(w, nr_calls)];
	int fd, err;

	if (!take_number(w, "a call before the query"))
		return;
	fd = open(KDAPL_DEVICE, O_RDWR | O_CLOEXEC);
	err = fd >= 0 && ioctl(fd, c->cmd, w->page) < 0 ? errno : 0;
	call_over(w);
	add(shared->counts[C_ERRNO], 1);
	if (fd >= 0 && c->cmd != KDAPL_IOC_QUERY_ABI && err != EPROTO)
		violation(w, 0, "%s: errno %d before the version was agreed upon", c->name, err);
	close(fd);
}
