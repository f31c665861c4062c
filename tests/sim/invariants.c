// SPDX-License-Identifier: GPL-2.0-only
/* A look into the target: do its tables agree with each other? */
#include "dm-fusion.h"
#include "dm-fusion-settings.h"

#include "invariants.h"
#include "model.h"

static void check_word(const struct fusion *fs, u32 lext, u32 word)
{
	if (word == FUSION_WORD_UNMAPPED)
		return;
	if (fusion_word_lost(word) && fs->sb.incompat & FUSION_INCOMPAT_DAMAGED)
		return;
	if (!fusion_word_mapped(word) || !fusion_word_valid(&fs->sb, fusion_word_on_disk(word)))
		sim_fail("INV5: extent %u has the impossible word %x", lext, word);
	if (fusion_word_disk(fs, word) == FUSION_OLD) {
		if (!test_bit(fusion_old_index(fs, word), fs->old.used))
			sim_fail("extent %u lies on the old member, and is not counted", lext);
		return;
	}
	if (!test_bit(fusion_word_slot(word), fs->slots.used[fusion_word_dev(word)].bits))
		sim_fail("INV2: extent %u lies on a slot that is free", lext);
}

/* Has another extent the slot? */
static void check_shared(const struct fusion *fs, u32 lext, u32 word, unsigned long **taken)
{
	if (__test_and_set_bit(fusion_word_slot(word), taken[fusion_word_dev(word)]))
		sim_fail("INV3: extent %u shares its slot", lext);
}

/* Does a level of the free slots agree with the @nr words of the one below? */
static void check_level(const unsigned long *level, const unsigned long *below, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (test_bit(i, level) != (below[i] == ~0UL))
			sim_fail("word %zu of a level is %lx, its bit above is %u", i, below[i],
				 test_bit(i, level));
	}
}

void check_used(const void *private)
{
	const struct fusion_used *used = private;
	size_t words = BITS_TO_LONGS(used->nr);

	check_level(used->full, used->bits, words);
	check_level(used->fuller, used->full, BITS_TO_LONGS(words));
}

/* Are the slots inside and outside the fence counted right? */
static void check_counts(const struct fusion *fs)
{
	const struct fusion_fence *fence = &fs->slots.fence;
	u32 free[FUSION_NR_DEVS] = {}, empty = 0, retired = 0, held = 0, dev, slot;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		check_used(&fs->slots.used[dev]);
		for (slot = 0; slot < fusion_slot_end(fs, dev); slot++) {
			bool inside = dev == fence->dev && slot >= fence->first &&
				      slot < fence->end;
			bool is_free = !test_bit(slot, fs->slots.used[dev].bits);

			free[dev] += is_free && !inside;
			empty += is_free && inside;
			retired += inside && test_bit(slot, fs->slots.retired[dev]);
			held += inside && dev == FUSION_SLOW &&
				(test_bit(slot, fs->replica.held[0]) ||
				 test_bit(slot, fs->replica.held[1]));
		}
		if (free[dev] != fs->slots.nr_free[dev])
			sim_fail("%u slots of member %u free, %u counted", free[dev], dev,
				 fs->slots.nr_free[dev]);
	}
	if (empty != fence->nr_empty || retired != fence->nr_retired || held != fence->nr_held)
		sim_fail("fence: %u slots empty, %u retired, %u held; %u, %u, %u counted", empty,
			 retired, held, fence->nr_empty, fence->nr_retired, fence->nr_held);
}

void check_fence(const void *private, struct fence_seen *seen)
{
	const struct fusion *fs = private;
	const struct fusion_fence *fence = &fs->slots.fence;
	u32 nr = fusion_fence_size(fence), i;

	if (fence->rising)
		nr = 0;
	if (nr != seen->nr || fence->dev != seen->dev || fence->first != seen->first)
		*seen = (struct fence_seen){ .dev = fence->dev, .first = fence->first, .nr = nr };
	for (i = 0; i < nr; i++) {
		if (!test_bit(fence->first + i, fs->slots.used[fence->dev].bits))
			__set_bit(i, seen->empty);
		else if (test_bit(i, seen->empty))
			sim_fail("INV9: slot %u of member %u is taken, inside the fence",
				 fence->first + i, fence->dev);
	}
}

u32 set_fence_size(const void *private)
{
	const struct fusion *fs = private;

	return fusion_fence_size(&fs->slots.fence);
}

u32 set_fence_used(const void *private)
{
	const struct fusion *fs = private;

	return fusion_fence_used(&fs->slots.fence);
}

u32 set_in_the_way(const void *private, const struct fusion_sb *sb)
{
	const struct fusion *fs = private;
	u32 lext, nr = 0;

	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 word = fs->map[lext];

		nr += lext >= sb->nr_lexts ? word != FUSION_WORD_UNMAPPED :
		      fusion_word_mapped(word) &&
		      !fusion_slot_valid(sb, fusion_word_dev(word), fusion_word_slot(word));
	}
	return nr;
}

u32 set_fence_room(const void *private)
{
	const struct fusion *fs = private;

	return fusion_beside_spares(fs, FUSION_FAST, fs->slots.nr_free[FUSION_FAST]) +
	       fusion_beside_spares(fs, FUSION_SLOW, fs->slots.nr_free[FUSION_SLOW]);
}

static void check_free(const struct fusion *fs, u32 mapped)
{
	u32 discarding = fs->slots.discards[FUSION_FAST].in_flight +
			 fs->slots.discards[FUSION_SLOW].in_flight;
	u32 taken = 0, total, slots;

	slots = fs->sb.slow_first_slot + fs->sb.nr_slow_slots;
	taken += bitmap_weight(fs->slots.used[FUSION_FAST].bits, fs->sb.nr_fast_slots);
	taken += bitmap_weight(fs->slots.used[FUSION_SLOW].bits, slots) - fs->sb.slow_first_slot;
	total = fs->sb.nr_fast_slots + fs->sb.nr_slow_slots;
	check_counts(fs);
	if (taken + fs->slots.nr_free[FUSION_FAST] + fs->slots.nr_free[FUSION_SLOW] +
	    fs->slots.fence.nr_empty != total)
		sim_fail("%u slots taken and %u free of %u", taken,
			 fs->slots.nr_free[FUSION_FAST] + fs->slots.nr_free[FUSION_SLOW], total);
	if (mapped != fs->nr_mapped)
		sim_fail("%u extents mapped, %u counted", mapped, fs->nr_mapped);
	/* those on the old member have been moved, or are mapped or quarantined as well */
	if (taken + fs->old.nr != mapped + fs->slots.nr_quarantined + fs->mover.nr_retired +
	    fs->mover.in_flight + fs->replica.nr_held + discarding + fs->shadows.nr + fs->land.nr +
	    fs->land.nr_lent)
		sim_fail("%u taken: %u mapped, %u quarantined, %u retired, %u moving, %u held, "
			 "%u being discarded, %u shadows, %u of a log", taken, mapped,
			 fs->slots.nr_quarantined, fs->mover.nr_retired, fs->mover.in_flight,
			 fs->replica.nr_held, discarding, fs->shadows.nr, fs->land.nr);
}

/* -- where extents belong ------------------------------------------------------------ */

bool set_homing(const void *private)
{
	const struct fusion *fs = private;

	return fs->mover.homing.on;
}

u64 set_homing_moves(const void *private)
{
	const struct fusion *fs = private;

	return fs->mover.homing.moves;
}

/* By the map, not as it is counted. */
static void count_away(const struct fusion *fs, u32 *away, u32 *blank)
{
	const u32 first = fs->sb.slow_first_slot, end = first + fs->sb.nr_slow_slots;
	u32 lext;

	*away = 0;
	*blank = 0;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		bool home = lext >= first && lext < end;
		u32 word = fs->map[lext];

		if (word == FUSION_WORD_UNMAPPED)
			*blank += home && fs->mover.homing.zero;
		else if (fusion_word_lost(word))
			continue;
		else if (fusion_word_state(word) == FUSION_OPEN ||
			 fusion_word_dev(word) != (home ? FUSION_SLOW : FUSION_FAST))
			++*away;
		else
			*away += home && fusion_word_slot(word) != lext;
	}
}

u32 set_away(const void *private)
{
	u32 away, blank;

	count_away(private, &away, &blank);
	return away + blank;
}

static void check_homing(const struct fusion *fs)
{
	const struct fusion_homing *h = &fs->mover.homing;
	u32 away, blank;

	if (!h->on)
		return;
	count_away(fs, &away, &blank);
	if (away != h->away || blank != h->blank)
		sim_fail("homing: %u away and %u blank, %u and %u counted", away, blank, h->away,
			 h->blank);
}

void check_invariants(const void *private)
{
	const struct fusion *fs = private;
	unsigned long fast[BITS_TO_LONGS(4096)] = {}, slow[BITS_TO_LONGS(4096)] = {};
	unsigned long *taken[] = { fast, slow };
	u32 lext, mapped = 0;
	int left = sim_preempt_left;

	/* nobody else runs meanwhile */
	sim_preempt_left = INT_MAX;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 word = fs->map[lext];

		check_word(fs, lext, word);
		if (!fusion_word_mapped(word))
			continue;
		mapped++;
		check_shared(fs, lext, word, taken);
	}
	check_shadows(fs, taken);
	check_landing(fs, taken);
	check_lost_extents(private);
	check_free(fs, mapped);
	check_homing(fs);
	sim_preempt_left = left;
}

void check_at_rest(const void *private)
{
	const struct fusion *fs = private;
	int left = sim_preempt_left;
	struct fusion_look now;
	unsigned int dev;

	sim_preempt_left = INT_MAX;
	fusion_look(fs, &now);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		if (now.ios[dev] != now.done[dev])
			sim_fail("at rest, of %llu accesses to member %u %llu have ended",
				 now.ios[dev], dev, now.done[dev]);
	if (fs->land.nr_batches)
		sim_fail("nothing is under way, and there are %u batches of the landing log",
			 fs->land.nr_batches);
	/* of this opening: it tells of the log if the fast member is lost */
	if (!fs->read_only && fs->replica.sb.epoch == fs->sb.epoch &&
	    (fs->replica.sb.incompat ^ fs->sb.incompat) & FUSION_INCOMPAT_LANDING)
		sim_fail("the slow superblock does not tell of the landing log");
	sim_preempt_left = left;
}

u32 set_old_left(const void *private)
{
	const struct fusion *fs = private;

	return fs->old.nr;
}

bool set_has_old(const void *private)
{
	const struct fusion *fs = private;

	return fusion_sb_has_old(&fs->sb);
}

bool set_same_disks(const void *private, const struct fusion_sb *slow)
{
	const struct fusion *fs = private;

	if (fusion_sb_has_old(&fs->sb))
		return fusion_same_old(&fs->sb, slow);
	/* a set that has just parted has no other words than before, unless it has turned back */
	return !memcmp(slow->dev_uuid, fs->sb.peer_uuid, sizeof(slow->dev_uuid)) &&
	       !memcmp(slow->peer_uuid, fs->sb.dev_uuid, sizeof(slow->peer_uuid));
}

u32 set_lexts(const void *private)
{
	return ((const struct fusion *)private)->sb.nr_lexts;
}

u32 set_epoch(const void *private)
{
	return ((const struct fusion *)private)->sb.epoch;
}

bool set_writable(const void *private)
{
	return fusion_mode(private) == FUSION_RW;
}

u32 set_word(const void *private, u32 lext)
{
	const struct fusion *fs = private;

	return fusion_word_on_disk(fs->map[lext]);
}

const void *set_bitmap(const void *private, u32 lext)
{
	const struct fusion *fs = private;
	struct fusion_open *open = fusion_open_find((struct fusion *)fs, lext);

	if (!open)
		sim_fail("extent %u is open but has no bitmap", lext);
	return open->bitmap;
}

u32 set_slot_end(const void *private, enum fusion_dev dev)
{
	return fusion_slot_end(private, dev);
}

bool set_slot_taken(const void *private, u32 slot)
{
	const struct fusion *fs = private;

	return test_bit(slot, fs->slots.used[FUSION_SLOW].bits);
}

bool set_replica_knows(const void *private, u32 lext)
{
	const struct fusion *fs = private;
	const struct fusion_replica *rep = &fs->replica;

	return !fs->read_only && !rep->stale && !rep->busy && !rep->failed &&
	       !test_bit(lext, rep->dirty);
}

u32 label_number(const char *label)
{
	u32 n;

	return sscanf(label, "set-%u", &n) == 1 ? n : 0;
}

struct kept set_kept(const void *private)
{
	const struct fusion *fs = private;
	struct kept kept = { .label = label_number(fs->kept.label) };

	if (fs->kept.mask & BIT(FUSION_SET_HALF_LIFE))
		kept.half_life = fs->kept.value[FUSION_SET_HALF_LIFE];
	if (fs->opt.half_life != kept.half_life)
		sim_fail("a half-life of %u is kept, %u is in effect", kept.half_life,
			 fs->opt.half_life);
	return kept;
}

void set_update_replica(void *private)
{
	struct fusion *fs = private;

	spin_lock_irq(&fs->lock);
	fusion_replica_kick(fs);
	spin_unlock_irq(&fs->lock);
}
