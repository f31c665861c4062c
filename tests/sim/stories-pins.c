// SPDX-License-Identifier: GPL-2.0-only
/* Extents are pinned, and what a set does otherwise goes on around that. */
#include <stdio.h>

#include "invariants.h"
#include "run-state.h"

/* -- a message ------------------------------------------------------------------------ */

/* Kinds of OP_PIN. */
enum { PIN_FAST, PIN_SLOW, PIN_OFF, PIN_BEGIN, PIN_END, NR_PINS };

void pin_some(struct state *st, const struct op *op)
{
	static const char * const texts[NR_PINS] = {
		"pin fast", "pin slow", "pin off", "pin begin", "pin end",
	};
	char text[64];
	int r;

	if (op->flags < PIN_BEGIN)
		snprintf(text, sizeof(text), "%s %u-%u", texts[op->flags], op->sector,
			 op->sector + op->nr - 1);
	else
		snprintf(text, sizeof(text), "%s", texts[op->flags]);
	r = sim_dev_message(st->dev, text);
	/* more than there is room for, or an end that follows another one */
	if (r == -ERANGE || (r == -EINVAL && op->flags != PIN_END) ||
	    (r == -ENOSPC && op->flags != PIN_FAST))
		sim_fail("%s: %d", text, r);
}

/* Virtual seconds in which one more gets where it belongs, if the policy may do as it likes. */
#define PINNED_SECONDS	600U

/* Extents that should move; those pinned to the slow member if there is room. */
static u32 misplaced(const void *set)
{
	return set_misplaced(set, FUSION_FAST) +
	       (set_slow_room(set) ? set_misplaced(set, FUSION_SLOW) : 0);
}

void wait_pinned(struct state *st)
{
	const void *set = sim_dev_private(st->dev);
	u32 i, least = U32_MAX;

	wait_busy(st, 0);
	check_pins(set);
	/* an extent of which blocks are lost does not move */
	if (set_partly_lost(set) || !set_writable(set))
		return;
	sim_dev_message(st->dev, "migration on idle 0 duty 100 standby 0");
	for (i = 0; misplaced(set) && i < PINNED_SECONDS; i++) {
		if (st->run->setup.faults || !set_writable(set))
			return;
		msleep(1000);
		if (misplaced(set) < least) {
			least = misplaced(set);
			i = 0;
		}
	}
	if (misplaced(set))
		sim_fail("%u and %u pinned extents are not where they belong",
			 set_misplaced(set, FUSION_FAST), set_misplaced(set, FUSION_SLOW));
	sim_dev_status(st->dev);
}

/* -- a sequence ------------------------------------------------------------------------ */

static void draw_pin(struct op *op, const struct setup *s, u64 *rng)
{
	static const u8 kinds[] = {
		PIN_FAST, PIN_FAST, PIN_FAST, PIN_FAST, PIN_SLOW, PIN_SLOW, PIN_SLOW, PIN_OFF,
		PIN_OFF, PIN_BEGIN, PIN_END, PIN_END,
	};
	u32 all = s->sb.nr_lexts, lext = rnd_below(rng, all);

	*op = (struct op){
		.kind = OP_PIN,
		.flags = kinds[rnd_below(rng, ARRAY_SIZE(kinds))],
		.sector = lext,
		.nr = 1 + rnd_below(rng, min(all - lext, rnd_below(rng, 4) ? 3U : all)),
	};
}

static struct op *one(struct op *op, const struct setup *s, u64 *rng)
{
	const u32 all = s->sb.nr_lexts, lext = rnd_below(rng, all);
	const u32 few = 1 + rnd_below(rng, min(all - lext, 4U));

	switch (rnd_below(rng, 24)) {
	case 0 ... 8:
		draw_pin(op, s, rng);
		return op + 1;
	case 9 ... 11:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS +
			   8 * rnd_below(rng, EXTENT_SECTORS / 8), 8);
	case 12 ... 13:
		return add(op, OP_WRITE, lext * EXTENT_SECTORS, EXTENT_SECTORS);
	case 14 ... 15:
		op = add(op, OP_DISCARD, lext * EXTENT_SECTORS, few * EXTENT_SECTORS);
		/* first writes */
		return rnd_below(rng, 2) ? op : add(op, OP_SPRAY, 0, all);
	case 16 ... 17:
		return add(op, rnd_below(rng, 2) ? OP_PROMOTE : OP_DEMOTE, lext, few);
	case 18 ... 19:
		return add(op, OP_SLEEP, 0, 1 << rnd_below(rng, 13));
	case 20:
		return add(op, OP_WAIT, 0, 0);
	case 21:
		return add(op, rnd_below(rng, 2) ? OP_SUSPEND : OP_RELOAD, 0, 0);
	default:
		return add(op, rnd_below(rng, 2) ? OP_REPLICA : OP_FLUSH, 0, 0);
	}
}

u32 make_pin_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr)
{
	struct op *op = ops, *const end = ops + nr;
	const u32 all = s->sb.nr_lexts;

	while (end - op > 56) {
		u32 i, hole = rnd_below(rng, all), n = 1 + rnd_below(rng, all - hole);

		op = add(op, OP_WRITE, 0, all * EXTENT_SECTORS);
		op = add(op, OP_WAIT, 0, 0);
		if (rnd_below(rng, 4))
			op = add(op, OP_DISCARD, hole * EXTENT_SECTORS, n * EXTENT_SECTORS);
		for (i = 4 + rnd_below(rng, 16); i; i--)
			op = one(op, s, rng);
		op = fail_any(op, s, rng);
		if (rnd_below(rng, 4))
			op = add(op, OP_PINNED, 0, 0);
		if (!rnd_below(rng, 4))
			op = add(op, rnd_below(rng, 2) ? OP_CRASH : OP_REOPEN, 0, 0);
	}
	return op - ops;
}
