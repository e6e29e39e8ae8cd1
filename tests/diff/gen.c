// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes programs: mostly such that a connection comes about, carries something and ends, often
 * with EVDs that change between two lives and events that nobody takes; now and then any
 * operation on anything.
 */
#include "diff.h"

struct dice {
	u64 state;
	struct program *program;
	u32 peers[SIDES][SLOTS];	/* which slot it is connected to, as far as one knows */
	bool open[SIDES][SLOTS];
	bool spent[SIDES][SLOTS];	/* Disconnected, as far as one knows */
};

static u32 below(struct dice *dice, u32 limit)
{
	dice->state = dice->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(dice->state >> 33) % limit;
}

static bool percent(struct dice *dice, u32 chance)
{
	return below(dice, 100) < chance;
}

static void put(struct dice *dice, u32 kind, u32 side, u32 slot, u32 a, u32 b, u32 c)
{
	if (dice->program->n < MAX_OPS)
		dice->program->ops[dice->program->n++] = (struct op){ kind, side, slot, a, b, c };
}

/* Three EVDs: mostly one for all, and rarely none for something or one that cannot be */
static u32 evds(struct dice *dice)
{
	u32 one = below(dice, EVDS - 1), base = EVDS + 1;

	if (percent(dice, 70))
		return one + base * (one + base * one);
	if (percent(dice, 80))
		return below(dice, EVDS) + base * (below(dice, EVDS) +
						   base * below(dice, EVDS - 1));
	return below(dice, base * base * base);
}

static u32 length(struct dice *dice)
{
	return percent(dice, 70) ? 1 + below(dice, RDMA) : below(dice, MSG + 1);
}

/* Of receives: most take any message. */
static u32 room(struct dice *dice)
{
	return percent(dice, 85) ? MSG : below(dice, MSG);
}

static u32 flags(struct dice *dice)
{
	return percent(dice, 70) ? 0 : below(dice, 16);
}

/* What is wrong with a post (play.c): mostly nothing */
static u32 wrong(struct dice *dice)
{
	return percent(dice, 94) ? 0 : 1 + below(dice, 6);
}

static void connects(struct dice *dice, u32 side, u32 slot)
{
	u32 far = below(dice, SLOTS), way = percent(dice, 75) ? 0 : below(dice, 6);
	u32 tries;

	for (tries = 0; tries < 4 && (dice->open[!side][far] || dice->spent[!side][far]); tries++)
		far = below(dice, SLOTS);
	if (dice->spent[side][slot] && percent(dice, 90))
		put(dice, OP_reset, side, slot, 0, 0, 0);
	if (dice->spent[!side][far] && percent(dice, 90))
		put(dice, OP_reset, !side, far, 0, 0, 0);
	if (percent(dice, 25))
		put(dice, OP_modify, side, slot, evds(dice), 1 + below(dice, 7), 0);
	if (percent(dice, 40) && slot != SLOTS - 1)
		put(dice, OP_recv, side, slot, room(dice), 1 + below(dice, BURST), 0);
	put(dice, OP_connect, side, slot, far, way, 0);
	dice->spent[side][slot] = way;
	dice->spent[!side][far] = way > 2;
	dice->open[side][slot] = !way;
	dice->open[!side][far] = !way;
	dice->peers[side][slot] = far;
	dice->peers[!side][far] = slot;
}

static void over(struct dice *dice, u32 side, u32 slot)
{
	u32 far = dice->peers[side][slot];

	if (!dice->open[side][slot])
		return;
	dice->open[side][slot] = false;
	dice->open[!side][far] = false;
	dice->spent[side][slot] = true;
	dice->spent[!side][far] = true;
}

/* A receive for what the other side sends next */
static void receive(struct dice *dice, u32 side, u32 slot)
{
	if (percent(dice, 75) && slot == SLOTS - 1)
		put(dice, OP_srq_recv, side, slot, room(dice), 1, 0);
	else if (percent(dice, 75))
		put(dice, OP_recv, side, slot, room(dice), 1 + below(dice, 2), 0);
}

static void extension(struct dice *dice, u32 side, u32 slot)
{
	u32 kind = FIRST_EXTENSION + below(dice, OPS - FIRST_EXTENSION);

	if (kind == OP_write_immed)
		receive(dice, !side, dice->peers[side][slot]);
	put(dice, kind, side, slot, below(dice, 256), flags(dice), wrong(dice));
}

/* Something on a connection, or the end of it */
static void transfers(struct dice *dice, u32 side, u32 slot)
{
	u32 what;

	if (dice->program->extended && percent(dice, 35)) {
		extension(dice, side, slot);
		return;
	}
	what = below(dice, 100);
	if (what < 30) {
		receive(dice, !side, dice->peers[side][slot]);
		put(dice, OP_send, side, slot, length(dice), flags(dice), wrong(dice));
	} else if (what < 40) {
		put(dice, OP_recv, side, slot, room(dice), 1 + below(dice, BURST), wrong(dice));
	} else if (what < 50) {
		put(dice, OP_write, side, slot, length(dice), flags(dice), wrong(dice));
	} else if (what < 58) {
		put(dice, OP_read, side, slot, length(dice), flags(dice), wrong(dice));
	} else if (what < 67) {
		put(dice, OP_bind, side, slot, below(dice, 16), flags(dice), wrong(dice));
	} else if (what < 72) {
		put(dice, OP_settle, side, slot, 0, 0, 0);
	} else if (what < 90) {
		put(dice, OP_disconnect, side, slot, percent(dice, 40), 0, 0);
		over(dice, side, slot);
	} else {
		put(dice, OP_free, side, slot, 0, 0, 0);
		over(dice, side, slot);
		put(dice, OP_create, side, slot, evds(dice), 0, 0);
		dice->spent[side][slot] = false;
	}
}

static void anything(struct dice *dice, u32 side, u32 slot)
{
	static const u32 sizes[] = { 0, 1, 4, 16, 64, 2000, 0xffffffff, 0x7fffffff };
	u32 kind = below(dice, dice->program->extended ? OPS : FIRST_EXTENSION);
	u32 a = below(dice, 256), b = below(dice, 6);

	switch (kind) {
	case OP_create:
	case OP_modify:
		a = evds(dice);
		b = below(dice, 8);
		break;
	case OP_connect:
		connects(dice, side, slot);
		return;
	case OP_disconnect:
		a = percent(dice, 90) ? below(dice, 2) : a;
		over(dice, side, slot);
		break;
	case OP_free:
		over(dice, side, slot);
		break;
	case OP_recv:
	case OP_srq_recv:
		a = room(dice);
		b = 1 + below(dice, BURST);
		break;
	case OP_resize:
	case OP_srq_resize:
		a = sizes[below(dice, ARRAY_SIZE(sizes))];
		break;
	default:
		break;
	}
	put(dice, kind, side, slot, a, b, wrong(dice));
}

/* generate - the program of a seed; the same one everywhere */
void generate(struct program *program, u64 seed, bool extended)
{
	struct dice dice = { .state = seed * 0x9e3779b97f4a7c15ULL, .program = program };
	u32 side, slot, wanted, what;

	below(&dice, 2);
	program->n = 0;
	program->limit = LIMIT_MS;
	program->extended = extended;
	for (side = 0; side < SIDES; side++) {
		for (slot = 0; slot < SLOTS; slot++)
			put(&dice, OP_create, side, slot, evds(&dice), 0, 0);
	}
	wanted = 16 + below(&dice, MAX_OPS - 20);
	while (program->n < wanted) {
		side = below(&dice, SIDES);
		slot = below(&dice, SLOTS);
		what = below(&dice, 100);
		if (what < 15)
			put(&dice, OP_take, side, below(&dice, EVDS), percent(&dice, 40), 0, 0);
		else if (what < 25)
			anything(&dice, side, slot);
		else if (dice.open[side][slot])
			transfers(&dice, side, slot);
		else if (dice.spent[side][slot] && what < 50)
			put(&dice, percent(&dice, 50) ? OP_send : OP_recv, side, slot,
			    length(&dice), 1, 0);
		else
			connects(&dice, side, slot);
	}
}
