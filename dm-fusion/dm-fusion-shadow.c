// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: shadows. When an extent is promoted, the slow slot that it leaves has its content.
 * The slot is kept as long as nobody needs it, and as long as nothing was written to the extent
 * its shadow is current: then a demotion is a change of the map only.
 *
 * With the setting shadow_age, the replica names shadows in place of fast slots, for the day the
 * fast member is lost (fusion_shadow_record()). Then those that are current when the set is closed
 * are so when it is opened (dm-fusion-load-shadow.c). All others end with their table: in the next
 * one the slots are free, once the replica has been written anew.
 *
 * States. An extent of the fast member that is WATCHED between two batches has a shadow that is
 * current. One that is STABLE has none, or one that is out of date. LOCKED: none.
 *
 *	by		when					the extent	its shadow
 *	committer	the promotion is durable		LOCKED->WATCHED	none yet
 *	reclaim		that is drained: kept			WATCHED		none->current
 *	reclaim		not wanted any more: released		WATCHED->STABLE	none
 *	map(), worker	write, zeroes, discard of a part	WATCHED->STABLE	out of date
 *	worker		whole extent discarded			->U		dropped
 *	mover		chosen for a demotion, is current	WATCHED		taken by the batch
 *	mover		the batch records that			WATCHED->LOCKED	the new slot
 *	mover		moves otherwise				WATCHED->STABLE	dropped
 *	load		named by a set that was closed		STABLE->WATCHED	none->current
 *	anybody		needs a slot				WATCHED->STABLE	dropped
 *	mover		too few slots are free, or none is	WATCHED->STABLE	dropped
 *			wanted any more
 *
 * All under fs->lock except the write's cmpxchg(), so the others use cmpxchg() as well.
 *
 * Why a current shadow has the content of its extent (INV13): The promotion drained after it had
 * marked the extent, so from then on no write was in flight to the slow slot, and one that came
 * would have cancelled the copy. The committer changes LOCKED, which holds writes, into WATCHED:
 * so the first write that is sent to the fast slot has taken the mark away before.
 *
 * Why a demotion of such an extent copies nothing and drains nothing: cmpxchg() from WATCHED says
 * that no write was sent since, so none is in flight, and none is sent while it is LOCKED. The
 * record of the move points to the slow member. So its commit flushes the slow member before,
 * unless nothing was written there since a flush (INV1). Nothing is written for shadows, so they
 * cause no flush otherwise. Any number of such moves fit into one commit.
 *
 * Why a shadow can be given up when a first write needs the slot: It is kept only when the
 * release of the slot is durable, and drained (INV2), and the replica knew before that the extent
 * was leaving (INV6, INV7). So the slot would be free, and nobody has used it since. It takes
 * neither a commit nor the mover; and if the replica does not name it yet, no update of that. If
 * it does, the extent is marked as dirty and the slot is held, as any other that the replica may
 * name (INV6). Therefore shadows count as free slots, or as held ones, everywhere
 * (dm-fusion-places.h), and whoever gets a slow slot calls fusion_shadow_yield() before. This is
 * also why each has the number of its extent: the mark has to be found.
 *
 * Some slots stay free even so, that first writes get their homes, need not wait for the replica,
 * and that the right shadows go: those out of date, then the hottest of data, as the coldest are
 * the next to be demoted, and those of metadata last: without these the rest is of little use.
 * The mover sees to that, and a shadow that would take one of these slots is not kept in the
 * first place.
 *
 * What the replica says of one (INV15). A word that says SHADOW was recorded of a slot that had
 * the content of the extent at the last point, or was filled after it. So FUSION_SHADOW_SAME is
 * set when a shadow is made, and taken away by fusion_shadow_look() at a point if it is out of
 * date then; the shadows of metadata are made anew for the point (dm-fusion-point.c). Writes do
 * not tell the replica. They take the mark away and set @changed, which makes a point due. The
 * log is written with PREFLUSH, and so is a superblock that names a map copy: what the slot has
 * is durable by then.
 *
 * What a user is told (nr_protected) is what the durable replica would give back of what is on the
 * fast member. So it grows only when an update has succeeded. It falls at once when a shadow goes,
 * or is recorded as out of date: a failed update may or may not have told the disk.
 *
 * No shadow lies inside the fence or on the old member, and none is kept while homing is on: slots
 * there are wanted by others.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* Shadows looked at under one lock: each costs some cache misses. */
#define CHUNK		64U
/* Most slots that are kept free of them; and which share of the slow member. */
#define CUSHION		1024U
#define CUSHION_SHARE	32U
/* Share of these that those of metadata leave. */
#define METADATA_SHARE	4U

int fusion_shadow_init(struct fusion *fs)
{
	u32 nr = fs->sb.nr_fast_slots;

	fs->shadows.of = kvcalloc(nr, sizeof(*fs->shadows.of), GFP_KERNEL);
	if (!fs->shadows.of || fusion_used_init(&fs->shadows.none, nr) ||
	    fusion_used_init(&fs->shadows.unnamed, nr))
		return -ENOMEM;
	fusion_used_fill(&fs->shadows.none);
	fusion_used_fill(&fs->shadows.unnamed);
	return fusion_point_init(fs);
}

void fusion_shadow_exit(struct fusion *fs)
{
	fusion_point_exit(fs);
	fusion_used_exit(&fs->shadows.unnamed);
	fusion_used_exit(&fs->shadows.none);
	kvfree(fs->shadows.of);
}

/* -- one of them ----------------------------------------------------------------------------- */

bool fusion_has_shadow(const struct fusion *fs, u32 word)
{
	return fusion_word_on_fast(fs, word) &&
	       !test_bit(fusion_word_slot(word), fs->shadows.none.bits);
}

bool fusion_shadow_is_current(const struct fusion *fs, u32 word)
{
	return fusion_has_shadow(fs, word) &&
	       READ_ONCE(fs->shadows.of[fusion_word_slot(word)].slot) & FUSION_SHADOW_CURRENT;
}

/*
 * One is not recorded as current any more. If that was not durable yet, it was not counted as
 * protected: then this takes another one away, so the number may be too small until the next
 * update has succeeded, but not too large.
 */
static void fusion_shadow_unsame(struct fusion_shadows *s)
{
	s->nr_same--;
	if (s->nr_protected)
		s->nr_protected--;
}

/*
 * Forget the shadow of the extent in a fast slot. If the replica may name it, it learns that it is
 * none any more. Return: word of its slow slot, for fusion_replica_release().
 */
static u32 fusion_shadow_forget(struct fusion *fs, u32 fast)
{
	struct fusion_shadows *s = &fs->shadows;
	u32 slot = xchg(&s->of[fast].slot, 0);

	fusion_used_set(&s->none, fast);
	fusion_used_set(&s->unnamed, fast);
	s->nr--;
	if (slot & FUSION_SHADOW_CURRENT)
		atomic_dec(&s->nr_current);
	if ((slot & (FUSION_SHADOW_SAME | FUSION_SHADOW_NAMED)) ==
	    (FUSION_SHADOW_SAME | FUSION_SHADOW_NAMED))
		fusion_shadow_unsame(s);
	if (slot & FUSION_SHADOW_NAMED) {
		s->nr_named--;
		fusion_replica_mark(fs, s->of[fast].lext);
	}
	return fusion_word(FUSION_STABLE, FUSION_SLOW, slot & ~FUSION_SHADOW_FLAGS);
}

/* Release its slot. The mark is for another one, or gone. */
static void fusion_shadow_release(struct fusion *fs, u32 fast)
{
	bool named = READ_ONCE(fs->shadows.of[fast].slot) & FUSION_SHADOW_NAMED;

	fusion_replica_release(fs, fusion_shadow_forget(fs, fast), !named);
}

void fusion_shadow_give_up(struct fusion *fs, u32 fast)
{
	struct fusion_shadows *s = &fs->shadows;

	fusion_map_unwatch(fs, s->of[fast].lext, fusion_word(FUSION_STABLE, FUSION_FAST, fast));
	fusion_shadow_release(fs, fast);
	s->dropped++;
}

u32 fusion_shadow_take(struct fusion *fs, u32 word)
{
	return fusion_shadow_forget(fs, fusion_word_slot(word));
}

void fusion_shadow_drop(struct fusion *fs, u32 word)
{
	if (fusion_has_shadow(fs, word))
		fusion_shadow_give_up(fs, fusion_word_slot(word));
}

u32 fusion_shadows_current(const struct fusion *fs)
{
	return atomic_read(&fs->shadows.nr_current);
}

void fusion_shadow_changed(struct fusion *fs, u64 ms)
{
	unsigned long at = max_t(unsigned long, 1, ms), had, seen;

	for (had = READ_ONCE(fs->shadows.changed); !had || (long)(at - had) < 0; had = seen) {
		seen = cmpxchg(&fs->shadows.changed, had, at);
		if (seen == had)
			return;
	}
}

void fusion_shadow_writes(struct fusion *fs, u32 word)
{
	/* Whoever sees that the mark is gone sees this, by the cmpxchg() of fusion_map_cancel(). */
	if (!READ_ONCE(fs->shadows.changed) && fusion_word_on_fast(fs, word))
		fusion_shadow_changed(fs, fusion_now_ms());
}

void fusion_shadow_outdated(struct fusion *fs, u32 word)
{
	u32 *slot, had, seen;

	if (!fusion_word_on_fast(fs, word))
		return;
	slot = &fs->shadows.of[fusion_word_slot(word)].slot;
	/* Whoever forgets it meanwhile counts it. */
	for (had = READ_ONCE(*slot); had & FUSION_SHADOW_CURRENT; had = seen) {
		seen = cmpxchg(slot, had, had & ~FUSION_SHADOW_CURRENT);
		if (seen != had)
			continue;
		atomic_dec(&fs->shadows.nr_current);
		return;
	}
}

bool fusion_word_lacking(const struct fusion *fs, u32 word)
{
	return fusion_word_state(word) == FUSION_STABLE && fusion_word_on_fast(fs, word);
}

/* -- what the replica knows ------------------------------------------------------------------ */

/*
 * Is the shadow in @slot current? The mark in the word of its extent tells: a write takes that
 * away first, and FUSION_SHADOW_CURRENT later.
 */
static bool fusion_shadow_counts(u32 slot, u32 word)
{
	return slot & FUSION_SHADOW_CURRENT && fusion_word_state(word) == FUSION_WATCHED;
}

u32 fusion_shadow_record(struct fusion *fs, u32 word, bool names)
{
	u32 *slot, had, fast;

	if (!names || !fusion_has_shadow(fs, word))
		return fusion_word_on_disk(word);
	fast = fusion_word_slot(word);
	slot = &fs->shadows.of[fast].slot;
	do {
		had = READ_ONCE(*slot);
		/* Pairs with that of fusion_shadow_outdated(). */
	} while (cmpxchg(slot, had, had | FUSION_SHADOW_NAMED) != had);
	fs->shadows.nr_named += !(had & FUSION_SHADOW_NAMED);
	fusion_used_set(&fs->shadows.unnamed, fast);
	if (!(had & FUSION_SHADOW_NAMED) && had & FUSION_SHADOW_SAME)
		fs->shadows.nr_same++;
	return fusion_shadow_word(had & FUSION_SHADOW_SAME ? FUSION_SHADOW : FUSION_OUTDATED,
				  had & ~FUSION_SHADOW_FLAGS);
}

/* Return: where to go on. */
static u32 fusion_shadow_look_at_some(struct fusion *fs, u32 from, bool points)
{
	const struct fusion_shadows *s = &fs->shadows;
	u32 fast, slot, word, left = CHUNK;

	spin_lock_irq(&fs->lock);
	for (fast = fusion_shadow_from(s, from); fast < fs->sb.nr_fast_slots && left--;
	     fast = fusion_shadow_from(s, fast + 1)) {
		slot = READ_ONCE(s->of[fast].slot);
		word = READ_ONCE(fs->map[s->of[fast].lext]);
		if (!(slot & FUSION_SHADOW_SAME) || fusion_shadow_counts(slot, word))
			continue;
		if (points && fusion_point_covers(fs, s->of[fast].lext)) {
			/* since the point */
			fusion_shadow_changed(fs, fs->replica.next_point_ms);
			continue;
		}
		/* Pairs with that of fusion_shadow_outdated(). */
		while (cmpxchg(&s->of[fast].slot, slot, slot & ~FUSION_SHADOW_SAME) != slot)
			slot = READ_ONCE(s->of[fast].slot);
		if (slot & FUSION_SHADOW_NAMED)
			fusion_shadow_unsame(&fs->shadows);
		fusion_replica_mark(fs, s->of[fast].lext);
	}
	spin_unlock_irq(&fs->lock);
	return fast;
}

void fusion_shadow_look(struct fusion *fs, bool points)
{
	u32 from = 0;

	while (from < fs->sb.nr_fast_slots) {
		from = fusion_shadow_look_at_some(fs, from, points);
		cond_resched();
	}
}

/*
 * What is counted as protected is what nobody takes back: a slot that was recorded as current
 * stays as it is, as a shadow, held, or as the extent's own, until a later update has succeeded
 * (INV6).
 */
void fusion_shadow_recorded(struct fusion *fs, bool names, u64 point_s)
{
	struct fusion_shadows *s = &fs->shadows;

	spin_lock_irq(&fs->lock);
	s->nr_protected = names ? s->nr_same : 0;
	if (point_s || !names)
		s->point_s = names ? point_s : 0;
	spin_unlock_irq(&fs->lock);
}

bool fusion_shadow_protects(const struct fusion *fs, u32 word)
{
	const u32 both = FUSION_SHADOW_SAME | FUSION_SHADOW_NAMED;

	return READ_ONCE(fs->shadows.point_s) && fusion_has_shadow(fs, word) &&
	       (READ_ONCE(fs->shadows.of[fusion_word_slot(word)].slot) & both) == both;
}

u32 fusion_metadata_protected(const struct fusion *fs, u32 *fast)
{
	u32 lext, word, protected = 0, looked = 0;

	*fast = 0;
	for_each_set_bit(lext, fs->shadows.point.known, fs->sb.nr_lexts) {
		word = READ_ONCE(fs->map[lext]);
		if (fusion_word_mapped(word) && fusion_word_disk(fs, word) == FUSION_FAST) {
			++*fast;
			protected += fusion_shadow_protects(fs, word);
		}
		if (!(++looked % CHUNK))
			cond_resched();
	}
	return protected;
}

u32 fusion_shadow_protected(const struct fusion *fs)
{
	return fs->shadows.point_s ? min(fs->shadows.nr_protected, fs->nr_fast) : 0;
}

/* -- room for them --------------------------------------------------------------------------- */

/*
 * Slow slots that shadows of a kind leave free: the spares, and some for first writes if these may
 * come. All but those of metadata leave as many for these as the next point may want.
 */
static u32 fusion_shadow_cushion(const struct fusion *fs, enum fusion_shadow_kind kind)
{
	u32 some = min(DIV_ROUND_UP(fs->sb.nr_slow_slots, CUSHION_SHARE), CUSHION);

	some = min(some, fs->sb.nr_lexts - READ_ONCE(fs->nr_mapped));
	if (kind != FUSION_OF_DATA)
		some = DIV_ROUND_UP(some, METADATA_SHARE);
	if (kind != FUSION_OF_METADATA && READ_ONCE(fs->opt.shadow_age))
		some += READ_ONCE(fs->shadows.point.want);
	return fs->sb.spare_slow + some;
}

u32 fusion_shadow_missing(const struct fusion *fs, enum fusion_shadow_kind kind)
{
	u32 free = fs->slots.nr_free[FUSION_SLOW] + fs->slots.discards[FUSION_SLOW].in_flight +
		   fusion_slots_freed_soon(fs);
	u32 cushion = fusion_shadow_cushion(fs, kind);

	return cushion - min(cushion, free);
}

bool fusion_shadow_room(const struct fusion *fs, enum fusion_shadow_kind kind)
{
	return READ_ONCE(fs->slots.nr_free[FUSION_SLOW]) > fusion_shadow_cushion(fs, kind);
}

/* -- which are kept -------------------------------------------------------------------------- */

bool fusion_shadow_allowed(const struct fusion *fs)
{
	return READ_ONCE(fs->opt.shadow) && !READ_ONCE(fs->mover.stopping) &&
	       !READ_ONCE(fs->mover.homing.on);
}

bool fusion_shadow_wanted(const struct fusion *fs, u32 lext, u32 old, u32 new)
{
	return fusion_word_on_fast(fs, new) && fusion_word_disk(fs, old) == FUSION_SLOW &&
	       !fusion_word_fenced(&fs->slots.fence, old) && fusion_shadow_allowed(fs) &&
	       !fusion_shadow_missing(fs, fusion_shadow_kind(fs, lext));
}

/*
 * Let the slow slot of @old be the shadow. The extent was WATCHED a moment ago, so the slot has
 * all of one version. Return: is it current? False if a write was faster.
 */
static bool fusion_shadow_set(struct fusion *fs, u32 lext, u32 old, u32 new)
{
	u32 fast = fusion_word_slot(new);
	struct fusion_shadows *s = &fs->shadows;

	fusion_used_clear(&s->none, fast);
	fusion_used_clear(&s->unnamed, fast);
	s->nr++;
	s->of[fast].lext = lext;
	fusion_replica_mark(fs, lext);
	atomic_inc(&s->nr_current);
	WRITE_ONCE(s->of[fast].slot, fusion_word_slot(old) | FUSION_SHADOW_CURRENT |
				     FUSION_SHADOW_SAME);
	/*
	 * Pairs with the cmpxchg() of fusion_map_cancel(), after which a write looks for the
	 * shadow: either it finds that, or the mark is found to be gone here.
	 */
	smp_mb();
	if (READ_ONCE(fs->map[lext]) == fusion_word_set_state(new, FUSION_WATCHED))
		return true;
	fusion_shadow_outdated(fs, new);
	return false;
}

bool fusion_shadow_keep(struct fusion *fs, u32 lext, u32 old, u32 new)
{
	if (READ_ONCE(fs->map[lext]) != fusion_word_set_state(new, FUSION_WATCHED))
		return false;
	if (!fusion_shadow_wanted(fs, lext, old, new) ||
	    WARN_ON_ONCE(fusion_has_shadow(fs, new))) {
		fusion_map_unwatch(fs, lext, new);
		return false;
	}
	fusion_shadow_set(fs, lext, old, new);
	return true;
}

/*
 * A copy takes the place of the shadow that the extent of @fast has, if it has one. Return: is it
 * current?
 */
static bool fusion_shadow_succeed(struct fusion *fs, u32 lext, u32 slow, u32 fast, bool point)
{
	u32 slot = fusion_word_slot(fast);
	u32 former = READ_ONCE(fs->shadows.of[slot].slot) & ~FUSION_SHADOW_FLAGS;
	bool is_current;

	if (fusion_has_shadow(fs, fast))
		fusion_shadow_release(fs, slot);
	is_current = fusion_shadow_set(fs, lext, slow, fast);
	trace_fusion_shadow(fs, lext, former, fusion_word_slot(slow), point);
	return is_current;
}

bool fusion_shadow_refresh(struct fusion *fs, u32 lext, u32 slow, u32 fast)
{
	if (READ_ONCE(fs->map[lext]) != fusion_word_set_state(fast, FUSION_WATCHED) ||
	    !fusion_shadow_allowed(fs))
		return false;
	fusion_shadow_succeed(fs, lext, slow, fast, false);
	return true;
}

bool fusion_shadow_replace(struct fusion *fs, u32 lext, u32 slow, u32 fast)
{
	u32 word = READ_ONCE(fs->map[lext]);

	if (word != fast && word != fusion_word_set_state(fast, FUSION_WATCHED))
		return false;
	if (!fusion_shadow_succeed(fs, lext, slow, fast, true))
		fusion_shadow_changed(fs, fs->replica.next_point_ms);
	return true;
}
