// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fills the structure of a call in, field by field as table.c tells, and what it points to.
 * Each field is good, near (what a program with a bug would pass) or wild.
 */
#include <netinet/in.h>
#include <string.h>
#include "fuzz.h"

#define KERNEL_ADDRESS	0xffff888000000000ULL
/* Where nobody listens, and where service points are made */
#define FREE_QUAL	50000
#define BASE_QUAL	42000

enum care { GOOD_VALUE, NEAR, WILD };

/* struct pen - what is drawn once for a call, so that its fields fit together */
struct pen {
	struct worker *w;
	unsigned int side;
	uint64_t ia;
	struct object lmr, remote, ep;
	struct drawn *drawn;
};

uint64_t mix(uint64_t a, uint64_t b)
{
	a += b * 0x9e3779b97f4a7c15ULL + 0x9e3779b97f4a7c15ULL;
	a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9ULL;
	a = (a ^ a >> 27) * 0x94d049bb133111ebULL;
	return a ^ a >> 31;
}

uint64_t draw64(struct worker *w)
{
	w->rng += 0x9e3779b97f4a7c15ULL;
	return mix(w->rng, 0);
}

uint32_t below(struct worker *w, uint32_t limit)
{
	return (draw64(w) >> 32) * limit >> 32;
}

bool percent(struct worker *w, uint32_t n)
{
	return below(w, 100) < n;
}

/* Never what a kernel's address looks like, which an answer must not have. */
static uint64_t harmless(struct worker *w)
{
	return draw64(w) & 0x00007fffffffffffULL;
}

static uint64_t wild(struct worker *w)
{
	static const uint64_t edges[] = {
		0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL, ~0ULL - PAGE,
		KERNEL_ADDRESS,
	};

	return percent(w, 50) ? edges[below(w, ARRAY_SIZE(edges))] : draw64(w) >> below(w, 64);
}

static void put(uint8_t *to, const struct field *f, uint64_t value)
{
	memcpy(to + f->at, &value, f->size < 8 ? f->size : 8);
}

static uint64_t get(const uint8_t *from, const struct field *f)
{
	uint64_t value = 0;

	memcpy(&value, from + f->at, f->size < 8 ? f->size : 8);
	return value;
}

/* ---- handles --------------------------------------------------------------------- */

/*
 * A handle that is none, or not of the type.  Those of an object that was freed, and of another
 * type, never mean one of this type again (A1).
 */
static uint64_t wrong_handle(struct pen *pen, const struct field *f, enum type type, bool *surely)
{
	struct worker *w = pen->w;
	struct object o;

	*surely = true;
	switch (below(w, 6)) {
	case 0:
	case 1:
		if (object_pick(w, type, pen->side, false, &o))
			return o.handle;
		break;
	case 2:
	case 3:
		/* Another type may be the other one of two that the call takes. */
		*surely = f->kind != HANDLE_OR_IA;
		if (object_other(w, type, pen->side, &o))
			return o.handle;
		break;
	case 4:
		/* Of the other file, where the same number may be another object */
		*surely = false;
		if (object_pick(w, type, !pen->side, true, &o))
			return o.handle;
		return 0;
	default:
		*surely = false;
		if (object_pick(w, type, pen->side, true, &o))
			return o.handle ^ 1ULL << below(w, 64);
		return wild(w);
	}
	*surely = false;
	return 0;
}

static uint64_t draw_handle(struct pen *pen, const struct field *f, enum care care)
{
	enum type type = f->kind == ANY_HANDLE ? (enum type)below(pen->w, TYPES) :
						 AUX_TYPE(f->aux);
	struct liking liking = { .ia = pen->ia, .flags = AUX_FLAGS(f->aux) };
	struct object o;
	bool surely = false;
	uint64_t handle;

	if (f->kind == HANDLE_OR_IA && percent(pen->w, 30))
		type = T_IA;
	if (care == GOOD_VALUE) {
		if (f->kind == MAYBE_HANDLE && percent(pen->w, 15))
			return 0;
		if (type == T_LMR && pen->lmr.handle)
			return pen->lmr.handle;
		if (object_pick_liked(pen->w, type, pen->side, &liking, &o)) {
			if (type == T_EP && !pen->ep.handle)
				pen->ep = o;
			return o.handle;
		}
		/* None is there: it is no good call then. */
		pen->drawn->hostile = true;
		return 0;
	}
	handle = care == WILD ? wild(pen->w) : wrong_handle(pen, f, type, &surely);
	if ((f->kind == HANDLE || f->kind == HANDLE_OR_IA) && surely)
		pen->drawn->no_object = true;
	return handle;
}

/* ---- what is pointed to ------------------------------------------------------------ */

static void draw_fields(struct pen *pen, const struct field *fields, unsigned int nr,
			enum level level, uint8_t *to);

/* Room in the payload, with a red zone behind it if the kernel writes there. */
static uint8_t *payload(struct worker *w, unsigned int size, bool out)
{
	uint8_t *at = w->payload + w->used;

	size = (size + 7) & ~7U;
	if (w->used + size + 64 > PAYLOAD)
		return NULL;
	w->used += size;
	if (!out || w->nr_zones == ARRAY_SIZE(w->zones))
		return at;
	memset(w->payload + w->used, REDZONE, 64);
	w->zones[w->nr_zones++] = (struct zone) { w->payload + w->used, 64 };
	w->used += 64;
	return at;
}

/* An array of as many as @count says, as far as that is possible. */
static uint64_t draw_array(struct pen *pen, enum shape shape, uint64_t count, enum level level)
{
	const struct shape_of *s = &shapes[shape];
	bool out = shape == BYTES_OUT || shape == PROVIDERS_OUT;
	uint32_t i, n = count > 300 ? 300 : count;
	uint8_t *at = payload(pen->w, n * s->size, out);

	if (!at)
		return (uintptr_t)pen->w->life->hole;
	for (i = 0; i < n; i++) {
		if (s->fields)
			draw_fields(pen, s->fields, s->nr_fields, level, at + i * s->size);
		else if (!out)
			at[i] = draw64(pen->w);
	}
	return (uintptr_t)at;
}

static uint64_t draw_pointer(struct pen *pen, const struct field *f, enum care care,
			     enum level level, uint64_t count)
{
	struct worker *w = pen->w;

	if (care == GOOD_VALUE)
		return draw_array(pen, f->aux, count, level);
	switch (below(w, 6)) {
	case 0:
		return 0;
	case 1:
		return KERNEL_ADDRESS;
	case 2:
		return (uintptr_t)w->life->hole - 1 - below(w, 64);
	case 3:
		return (uintptr_t)w->life->hole;
	case 4:
		count = draw_array(pen, f->aux, count, MANY_WRONG) + 1 + below(w, 7);
		/* It ends in the red zone now. */
		w->nr_zones = 0;
		return count;
	default:
		return wild(w);
	}
}

/* ---- single values ------------------------------------------------------------------ */

static void draw_address(struct pen *pen, uint8_t *to, enum care care)
{
	struct kdapl_uapi_addr *addr = (void *)to;
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct worker *w = pen->w;
	unsigned int i;

	memset(addr, 0, sizeof(*addr));
	in.sin_addr.s_addr = htonl(0x0a090001 + below(w, 2));
	memcpy(addr->sa, &in, sizeof(in));
	addr->len = sizeof(in);
	if (care == GOOD_VALUE)
		return;
	switch (below(w, 5)) {
	case 0:
		addr->len = wild(w);
		break;
	case 1:
		addr->sa[0] = wild(w);
		break;
	case 2:
		addr->sa[0] = AF_INET6;
		addr->len = sizeof(struct sockaddr_in6);
		break;
	case 3:
		addr->sa[4] = 127;
		break;
	default:
		for (i = 0; i < sizeof(addr->sa); i++)
			addr->sa[i] = draw64(w);
		addr->len = below(w, 40);
	}
}

static void draw_name(struct pen *pen, uint8_t *to, unsigned int size, enum care care)
{
	static const char *const names[] = { "", "rxe0", "rxe0-2", "rxe9-1", "-1", "rxe1-", "lo" };
	struct worker *w = pen->w;
	unsigned int i;

	memset(to, 0, size);
	if (care == GOOD_VALUE)
		strcpy((char *)to, w->life->sides[pen->side].ia_name);
	else if (care == NEAR)
		strcpy((char *)to, names[below(w, ARRAY_SIZE(names))]);
	else
		for (i = 0; i < size; i++)
			to[i] = draw64(w) | 1;
}

static uint64_t draw_qual(struct pen *pen, enum care care)
{
	struct object psp;

	if (care == GOOD_VALUE && object_pick(pen->w, T_PSP, below(pen->w, 2), true, &psp))
		return psp.qual;
	return care == WILD ? wild(pen->w) : FREE_QUAL + below(pen->w, 100);
}

static uint64_t draw_wrong_fd(struct pen *pen)
{
	struct life *life = pen->w->life;
	const struct side *other = &life->sides[!pen->side];

	pen->drawn->hostile = true;
	switch (below(pen->w, 6)) {
	case 0:
		return -1;
	case 1:
		return life->sides[pen->side].fd;
	case 2:
		return other->fd;
	case 3:
		return other->verbs.context ? other->verbs.context->cmd_fd : 0;
	case 4:
		return life->poll_fds[below(pen->w, POLL_FDS)];
	default:
		return below(pen->w, 64);
	}
}

static uint64_t draw_verbs_fd(struct pen *pen, enum care care)
{
	struct ibv_context *context = pen->w->life->sides[pen->side].verbs.context;

	return care == GOOD_VALUE && context ? (uint64_t)context->cmd_fd : draw_wrong_fd(pen);
}

static uint64_t draw_flags(struct worker *w, uint64_t all, enum care care)
{
	if (care == GOOD_VALUE)
		return percent(w, 40) ? 0 : draw64(w) & all;
	return care == NEAR ? (draw64(w) & all) | 1ULL << below(w, 32) : wild(w);
}

static uint64_t draw_number(struct worker *w, uint64_t about, enum care care)
{
	if (care == GOOD_VALUE)
		return 1 + below(w, about);
	if (care == WILD)
		return wild(w);
	return percent(w, 50) ? about * (1 + below(w, 300)) : (uint64_t)below(w, 3) - 1;
}

static uint64_t draw_time(struct worker *w, enum care care)
{
	/* Most of them short: what happens meanwhile happens soon. */
	if (care == GOOD_VALUE)
		return 1000 + below(w, percent(w, 5) ? 200000 : 10000);
	return care == NEAR ? 0 : percent(w, 50) ? DAT_TIMEOUT_INFINITE : draw64(w);
}

/* Of local segments; those that are not good go beyond the memory's end */
static uint64_t draw_extent(struct worker *w, const struct object *o, enum care care)
{
	uint64_t half = o->length / 2;

	if (care == GOOD_VALUE)
		return half ? below(w, half) : 0;
	return care == NEAR ? o->length + below(w, PAGE) : wild(w);
}

static uint64_t draw_within(struct worker *w, const struct object *o, enum care care)
{
	uint64_t half = o->length / 2;

	if (care == GOOD_VALUE)
		return o->address + (half ? below(w, half) : 0);
	return care == NEAR ? o->address + o->length - below(w, 64) : wild(w);
}

static uint64_t draw_region(struct pen *pen, enum care care)
{
	struct worker *w = pen->w;

	if (care == GOOD_VALUE)
		return (uintptr_t)w->life->sides[pen->side].area + below(w, AREA / 2);
	/* The page behind the area is not there. */
	return care == NEAR ? (uintptr_t)w->life->sides[pen->side].area + AREA - PAGE : wild(w);
}

static uint64_t draw_length(struct worker *w, enum care care)
{
	if (care == GOOD_VALUE)
		return 1 + below(w, AREA / 2);
	return care == NEAR ? (percent(w, 50) ? 0 : AREA + below(w, PAGE)) : wild(w);
}

static uint64_t draw_key(struct worker *w, uint32_t key, enum care care)
{
	if (care == GOOD_VALUE)
		return key;
	return care == NEAR ? key + below(w, 512) - 256 : wild(w);
}

static uint64_t draw_value(struct pen *pen, const struct field *f, enum care care)
{
	struct worker *w = pen->w;

	switch (f->kind) {
	case HANDLE:
	case HANDLE_OR_IA:
	case ANY_HANDLE:
	case MAYBE_HANDLE:
		return draw_handle(pen, f, care);
	case PAD:
		return care == GOOD_VALUE ? 0 : 1ULL << below(w, 8 * f->size);
	case BITS:
		return draw_flags(w, f->aux, care);
	case MASK:
		return care == GOOD_VALUE ? draw64(w) & f->aux : wild(w);
	case ONE_OF:
		return care == GOOD_VALUE ? below(w, f->aux) :
		       care == NEAR ? f->aux + below(w, 4) : wild(w);
	case EXACT:
		return care == GOOD_VALUE ? f->aux : care == NEAR ? f->aux + 1 : wild(w);
	case NUMBER:
		return draw_number(w, f->aux, care);
	case COUNT:
		return care == GOOD_VALUE ? below(w, f->aux + 1) :
		       care == NEAR ? f->aux + below(w, 300) : wild(w);
	case REGION:
		return draw_region(pen, care);
	case LENGTH:
		return draw_length(w, care);
	case LKEY:
		return draw_key(w, pen->lmr.lkey, care);
	case RKEY:
		return draw_key(w, pen->remote.rkey, care);
	case ADDRESS:
		return draw_within(w, &pen->lmr, care);
	case TARGET:
		return draw_within(w, &pen->remote, care);
	case EXTENT:
		return draw_extent(w, &pen->lmr, care);
	case TARGET_EXTENT:
		return draw_extent(w, &pen->remote, care);
	case QUAL:
		return draw_qual(pen, care);
	case NEW_QUAL:
		return care == WILD ? wild(w) : BASE_QUAL + below(w, 2000);
	case TIMEOUT:
		return draw_time(w, care);
	case DEADLINE:
		return care == GOOD_VALUE ? 0 : wild(w);
	case VERBS_FD:
		return draw_verbs_fd(pen, care);
	case EVENT_FD:
		return care == GOOD_VALUE ? (uint32_t)w->life->event_fd : draw_wrong_fd(pen);
	case QP_NUM:
		return care == GOOD_VALUE ? verbs_fresh(w, pen->side) : wild(w);
	case BOUND_LIFE:
		return pen->ep.bound_life + (care == GOOD_VALUE ? 0 : below(w, 4) - 2);
	case EVENT_LIFE:
		return pen->ep.event_life + (care == GOOD_VALUE ? 0 : below(w, 4) - 2);
	case SOFTWARE:
		return care == GOOD_VALUE ? DAT_SOFTWARE_EVENT : wild(w);
	default:
		return harmless(w);
	}
}

static enum care draw_care(struct worker *w, enum level level, bool chosen)
{
	if (level == ONE_WRONG && chosen)
		return percent(w, 60) ? NEAR : WILD;
	if (level == MANY_WRONG && percent(w, 40))
		return percent(w, 60) ? NEAR : WILD;
	return GOOD_VALUE;
}

static void draw_field(struct pen *pen, const struct field *f, enum care care,
		       enum level level, uint8_t *to, const struct field *counts)
{
	unsigned int i;

	switch (f->kind) {
	case NAME:
		draw_name(pen, to + f->at, f->size, care);
		break;
	case SOCKADDR:
		draw_address(pen, to + f->at, care);
		break;
	case POINTER:
		put(to, f, draw_pointer(pen, f, care, level, get(to, counts)));
		break;
	case RET:
	case ANSWER:
	case IGNORED:
		for (i = 0; i < f->size; i++)
			to[f->at + i] = draw64(pen->w) & 0x7f;
		return;
	default:
		put(to, f, draw_value(pen, f, care));
	}
	if (care == GOOD_VALUE)
		return;
	pen->drawn->hostile = true;
	if (f->kind == PAD)
		pen->drawn->bad_pad = true;
}

static const struct field *field_at(const struct field *fields, unsigned int nr, unsigned int at)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (fields[i].at == at)
			return &fields[i];
	return NULL;
}

/* Pointers last: how much they lead to is told by a count. */
static void draw_fields(struct pen *pen, const struct field *fields, unsigned int nr,
			enum level level, uint8_t *to)
{
	unsigned int i, chosen, pass, inputs = 0;

	for (i = 0; i < nr; i++)
		inputs += fields[i].kind != RET && fields[i].kind != ANSWER;
	chosen = inputs ? below(pen->w, inputs) : 0;
	for (pass = 0; pass < 2; pass++) {
		for (inputs = i = 0; i < nr; i++) {
			const struct field *f = &fields[i];
			bool input = f->kind != RET && f->kind != ANSWER;
			bool pointer = f->kind == POINTER;
			enum care care;

			if (pointer != pass) {
				inputs += input;
				continue;
			}
			care = draw_care(pen->w, level, input && inputs == chosen);
			inputs += input;
			draw_field(pen, f, care, level, to, f->kind == POINTER ?
				   field_at(fields, nr, f->count) : NULL);
		}
	}
}

/* ---- whole calls -------------------------------------------------------------------- */

/* What an extension has besides, in front of its segments */
static void extend(struct pen *pen, struct kdapl_uapi_dto *dto)
{
	struct kdapl_uapi_dto_more *more;
	struct worker *w = pen->w;

	more = (void *)payload(w, sizeof(*more), false);
	if (!more)
		return;
	more->segments = dto->segments;
	more->operand = (uint32_t)draw64(w);
	if (dto->op == KDAPL_OP_RDMA_READ_TO_RMR)
		more->operand = 0;
	more->compare = dto->op == KDAPL_OP_CMP_SWAP ? below(w, 4) : 0;
	if (percent(w, 10)) {
		more->segments = wild(w);
		more->operand = wild(w);
		more->compare = wild(w);
		pen->drawn->hostile = true;
	}
	dto->segments = (uintptr_t)more;
}

/* What the fields of a good call have to have in common */
static void fit(struct pen *pen, const struct call *c, uint8_t *to)
{
	struct kdapl_uapi_post *post = (void *)to;
	struct kdapl_uapi_lmr_create *lmr = (void *)to;
	struct kdapl_uapi_dto *dto;
	uint32_t i;

	if (c->cmd == KDAPL_IOC_LMR_CREATE && lmr->mem_type == DAT_MEM_TYPE_LMR &&
	    pen->lmr.handle)
		lmr->region = pen->lmr.handle;
	if (!is_post(c->cmd) || pen->drawn->hostile)
		return;
	dto = (void *)(uintptr_t)post->dtos;
	for (i = 0; i < post->count; i++) {
		if (c->cmd != KDAPL_IOC_POST) {
			dto[i].op = KDAPL_OP_RECV;
			dto[i].flags = 0;
		}
		if (dto[i].op < KDAPL_OP_RDMA_READ || dto[i].op == KDAPL_OP_SEND_INVALIDATE) {
			dto[i].rmr_context = 0;
			dto[i].target_address = 0;
			dto[i].target_length = 0;
		}
		if (dto[i].op >= KDAPL_OP_RDMA_WRITE_IMMED)
			extend(pen, &dto[i]);
	}
}

/* What is given is of an adapter, and so is the rest. */
static void pen_begin(struct pen *pen, const struct set *sets, unsigned int nr_sets)
{
	struct object o;
	unsigned int i;

	if (object_pick(pen->w, T_IA, pen->side, true, &o))
		pen->ia = o.handle;
	for (i = 0; i < nr_sets; i++) {
		if (!object_find(pen->w->life, pen->side, sets[i].value, &o))
			continue;
		pen->ia = o.type == T_IA ? o.handle : o.ia;
		if (o.type == T_EP)
			pen->ep = o;
	}
	object_pick_liked(pen->w, T_LMR, pen->side, &(struct liking) { .ia = pen->ia },
			  &pen->lmr);
	object_pick(pen->w, T_LMR, !pen->side, true, &pen->remote);
}

void draw(struct worker *w, const struct call *c, unsigned int side, enum level level,
	  const struct set *sets, unsigned int nr_sets, uint8_t *to, struct drawn *drawn)
{
	struct pen pen = { .w = w, .side = side, .drawn = drawn };
	const struct field *f;
	unsigned int i;

	*drawn = (struct drawn) {};
	w->used = 0;
	w->nr_zones = 0;
	pen_begin(&pen, sets, nr_sets);
	draw_fields(&pen, c->fields, c->nr_fields, level, to);
	fit(&pen, c, to);
	for (i = 0; i < nr_sets; i++) {
		f = field_at(c->fields, c->nr_fields, sets[i].at);
		put(to, f, sets[i].value);
	}
}
