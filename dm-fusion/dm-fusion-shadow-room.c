// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: room for shadows, and which of them are given up when it is needed.
 *
 * Some slow slots stay free, that first writes get their homes and need not wait for the replica.
 * If fewer are free, shadows go: those out of date, then the hottest of data, as the coldest are
 * the next to be demoted, and those of metadata last. Those of data go as well when the next
 * point has too few slots for its copies of metadata.
 */
#include <linux/bitops.h>
#include <linux/sched.h>

#include "dm-fusion.h"

/* Fast slots looked at in one tick, and shadows under one lock: each costs some cache misses. */
#define SLICE		16384U
#define CHUNK		32U
/* Shadows among which the best one to give up is looked for. */
#define LOOK		64U
/* Slots beyond what is needed, when an update of the replica has to free them. */
#define AT_ONCE		16U

/* -- which are given up ---------------------------------------------------------------------- */

/* Is it out of date, and was so at the last point? */
static bool fusion_shadow_stale(const struct fusion *fs, u32 fast)
{
	return !(READ_ONCE(fs->shadows.of[fast].slot) &
		 (FUSION_SHADOW_CURRENT | FUSION_SHADOW_SAME));
}

/* Of how much use is it? What is out of date is of none, and metadata is of most. */
static unsigned int fusion_shadow_worth(const struct fusion *fs, u32 fast)
{
	return fusion_shadow_stale(fs, fast) ? 0 :
	       1 + fusion_shadow_kind(fs, fs->shadows.of[fast].lext);
}

/* The next one in turn, of all or of those that are not named; there is one. */
static u32 fusion_shadow_next(const struct fusion_used *without, u32 from)
{
	u32 fast = fusion_used_next_free(without, from);

	return fast < without->nr ? fast : fusion_used_next_free(without, 0);
}

/*
 * The one to give up next: that of the least use among some, or the first one of no more use than
 * the one before it, *@worth, unless that was of metadata. There is one.
 */
static u32 fusion_shadow_choose(struct fusion *fs, unsigned int *worth)
{
	struct fusion_shadows *s = &fs->shadows;
	u32 fast = fusion_shadow_next(&s->none, s->next), best = fast, i;
	unsigned int least = fusion_shadow_worth(fs, best), other;

	for (i = 1; i < min(LOOK, s->nr) && least > min(*worth, 1U); i++) {
		fast = fusion_shadow_next(&s->none, fast + 1);
		other = fusion_shadow_worth(fs, fast);
		if (other < least) {
			least = other;
			best = fast;
		}
	}
	*worth = least;
	s->next = best + 1;
	return best;
}

/* One that is not named by the replica; there is one. */
static u32 fusion_shadow_unnamed(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;
	u32 fast = fusion_shadow_next(&s->unnamed, s->next);

	s->next = fast + 1;
	return fast;
}

/* Is it no use to give up one that is named? An update frees enough, or none is possible. */
static bool fusion_shadow_named_stay(const struct fusion *fs, u32 keep)
{
	return fs->replica.failed || fs->slots.nr_free[FUSION_SLOW] +
				     fusion_slots_freed_soon(fs) > keep + AT_ONCE;
}

void fusion_shadow_yield(struct fusion *fs, u32 keep)
{
	struct fusion_shadows *s = &fs->shadows;
	unsigned int worth = 0;

	while (s->nr && fs->slots.nr_free[FUSION_SLOW] <= keep) {
		if (s->nr > s->nr_named && s->nr_named)
			fusion_shadow_give_up(fs, fusion_shadow_unnamed(fs));
		else if (!s->nr_named || !fusion_shadow_named_stay(fs, keep))
			fusion_shadow_give_up(fs, fusion_shadow_choose(fs, &worth));
		else
			break;
	}
}

/*
 * Give up those that have a slow slot from @first to @last, of some from fast slot @from on.
 * Return: where to go on.
 */
static u32 fusion_shadow_leave_some(struct fusion *fs, u32 from, u32 first, u32 last)
{
	const struct fusion_shadows *s = &fs->shadows;
	u32 fast, slot, left = CHUNK;
	u64 dropped = s->dropped;

	spin_lock_irq(&fs->lock);
	for (fast = fusion_shadow_from(s, from); fast < fs->sb.nr_fast_slots && left--;
	     fast = fusion_shadow_from(s, fast + 1)) {
		slot = READ_ONCE(s->of[fast].slot) & ~FUSION_SHADOW_FLAGS;
		if (slot >= first && slot <= last)
			fusion_shadow_give_up(fs, fast);
	}
	if (s->dropped != dropped)
		fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
	return fast;
}

void fusion_shadow_leave(struct fusion *fs, u32 first, u32 last)
{
	u32 from = 0;

	while (from < fs->sb.nr_fast_slots && READ_ONCE(fs->shadows.nr)) {
		from = fusion_shadow_leave_some(fs, from, first, last);
		cond_resched();
	}
}

void fusion_shadow_forget_all(struct fusion *fs)
{
	fusion_shadow_leave(fs, 0, U32_MAX);
}

/* -- in the background ----------------------------------------------------------------------- */

/* Buckets of those that are current: one for each kind of metadata, and those of data by heat. */
#define OF_METADATA	0U
#define OF_READ		1U
#define OF_DATA		2U
#define BUCKETS		(OF_DATA + FUSION_BUCKETS)

/* What one look at a slice finds, and is to give up. */
struct sweep {
	u32 hist[BUCKETS];
	u32 least;			/* bucket from which on they go */
	u32 nr;				/* at most so many */
};

static u32 fusion_shadow_bucket(const struct fusion *fs, u32 fast)
{
	u32 lext = fs->shadows.of[fast].lext, least;

	switch (fusion_shadow_kind(fs, lext)) {
	case FUSION_OF_METADATA:
		return OF_METADATA;
	case FUSION_OF_METADATA_READ:
		return OF_READ;
	default:
		return OF_DATA + fusion_policy_bucket(fusion_policy_heat(fs->policy, lext), &least);
	}
}

/*
 * Give up what is out of date, and count the rest; or give up what is hot. Return: where to go on.
 */
static u32 fusion_shadow_sweep_some(struct fusion *fs, struct sweep *sweep, u32 from, u32 end)
{
	const struct fusion_shadows *s = &fs->shadows;
	u32 fast, bucket, nr = sweep->nr, left = CHUNK;

	spin_lock_irq(&fs->lock);
	for (fast = fusion_shadow_from(s, from); fast < end && sweep->nr && left--;
	     fast = fusion_shadow_from(s, fast + 1)) {
		bucket = fusion_shadow_bucket(fs, fast);
		if (fusion_shadow_stale(fs, fast) || bucket >= sweep->least) {
			fusion_shadow_give_up(fs, fast);
			sweep->nr--;
		} else {
			sweep->hist[bucket]++;
		}
	}
	if (sweep->nr != nr)
		fusion_unpark(fs);
	spin_unlock_irq(&fs->lock);
	return fast;
}

static void fusion_shadow_sweep(struct fusion *fs, struct sweep *sweep, u32 from, u32 end)
{
	while (from < end && sweep->nr) {
		from = fusion_shadow_sweep_some(fs, sweep, from, end);
		cond_resched();
	}
}

/* How many slots are too few? */
static u32 fusion_shadow_too_many(struct fusion *fs, enum fusion_shadow_kind kind)
{
	u32 missing;

	spin_lock_irq(&fs->lock);
	missing = fusion_shadow_missing(fs, kind);
	spin_unlock_irq(&fs->lock);
	return missing;
}

/*
 * Some were given up, or none among @nr fast slots. If none was among all, those of the next kind
 * may go as well: so metadata stays as long as data has shadows anywhere.
 */
static void fusion_shadow_next_kind(struct fusion_shadows *s, u32 nr, u32 all, bool some)
{
	s->barren = some ? 0 : s->barren + nr;
	if (s->barren < all)
		return;
	s->barren = 0;
	if (s->may_go < FUSION_OF_METADATA)
		s->may_go++;
}

/* Give up as many in the next slice as slots are too few. */
static void fusion_shadow_make_room(struct fusion *fs)
{
	static const u32 least[FUSION_NR_KINDS] = { OF_DATA, OF_READ, OF_METADATA };
	struct fusion_shadows *s = &fs->shadows;
	struct sweep sweep = { .least = BUCKETS };
	u32 from = s->swept, end, found = 0;
	u64 dropped = READ_ONCE(s->dropped);
	enum fusion_shadow_kind kind;

	sweep.nr = fusion_shadow_too_many(fs, FUSION_OF_DATA);
	if (!sweep.nr) {
		s->may_go = FUSION_OF_DATA;
		s->barren = 0;
		return;
	}
	end = min(from + SLICE, fs->sb.nr_fast_slots);
	s->swept = end < fs->sb.nr_fast_slots ? end : 0;
	fusion_shadow_sweep(fs, &sweep, from, end);
	while (sweep.least > OF_DATA && found < sweep.nr)
		found += sweep.hist[--sweep.least];
	fusion_shadow_sweep(fs, &sweep, from, end);
	for (kind = FUSION_OF_METADATA_READ; kind <= s->may_go; kind++) {
		sweep.nr = fusion_shadow_too_many(fs, kind);
		sweep.least = least[kind];
		fusion_shadow_sweep(fs, &sweep, from, end);
	}
	/* with metadata alone, slots may be too few for good */
	if (READ_ONCE(s->dropped) != dropped)
		fusion_replica_soon(fs);
	fusion_shadow_next_kind(s, end - from, fs->sb.nr_fast_slots,
				READ_ONCE(s->dropped) != dropped);
}

void fusion_shadow_tend(struct fusion *fs)
{
	if (!READ_ONCE(fs->shadows.nr))
		return;
	if (!fusion_shadow_allowed(fs)) {
		/* they last over a suspend, which may have begun this moment */
		if (!READ_ONCE(fs->mover.stopping))
			fusion_shadow_forget_all(fs);
		return;
	}
	fusion_shadow_make_room(fs);
}
