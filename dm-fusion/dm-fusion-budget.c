// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the write budget, which limits the wear of an SSD by moves.
 *
 * The budget grows steadily by opt.write_budget GB a day. At most an hour's worth accumulates:
 * otherwise a quiet week could end in one day with the wear of a week. Each copy to the fast member
 * spends one extent. Promotions by policy wait while less than an extent is left. Moves on request
 * do not wait, and may leave a debt of at most a day. Copies of what is read (dm-fusion-copies.h)
 * spend what they write, and stop while no more is left than a quarter of an hour's worth.
 *
 * Only the mover changes the budget; other contexts may read it.
 */
#include <linux/math64.h>

#include "dm-fusion.h"

/* No budget: more bytes than the largest budget of a day. */
#define NO_BUDGET	1000000000000000000LL
#define DAY_MS		86400000U
#define GB		1000000000LL

static s64 fusion_budget_day(u32 gb)
{
	return gb * GB;
}

static s64 fusion_budget_hour(u32 gb)
{
	return div_u64(fusion_budget_day(gb), 24);
}

void fusion_budget_init(struct fusion *fs, u64 now_ms)
{
	fs->mover.budget = NO_BUDGET;
	fs->mover.budget_ms = now_ms;
}

void fusion_budget_refill(struct fusion *fs, u64 now_ms)
{
	u64 passed = min_t(u64, now_ms - fs->mover.budget_ms, DAY_MS);
	u32 gb = READ_ONCE(fs->opt.write_budget);
	const s64 spent = fusion_copies_pay(fs);
	s64 left = NO_BUDGET;

	fs->mover.budget_ms = now_ms;
	/* A GB a day is 625 bytes in 54 ms. */
	if (gb)
		left = clamp_t(s64, fs->mover.budget - spent +
			       (s64)div_u64(gb * 625ULL * passed, 54),
			       -fusion_budget_day(gb), fusion_budget_hour(gb));
	WRITE_ONCE(fs->mover.budget, left);
}

void fusion_budget_spend(struct fusion *fs)
{
	WRITE_ONCE(fs->mover.copied_fast, fs->mover.copied_fast + 1);
	WRITE_ONCE(fs->mover.budget, fs->mover.budget - (1LL << (fs->shift + SECTOR_SHIFT)));
}

bool fusion_budget_copies(const struct fusion *fs, u64 bytes)
{
	const u32 gb = READ_ONCE(fs->opt.write_budget);

	return !gb || READ_ONCE(fs->mover.budget) - (s64)bytes > fusion_budget_hour(gb) / 4;
}

s64 fusion_budget_extents(const struct fusion *fs)
{
	return READ_ONCE(fs->mover.budget) >> (fs->shift + SECTOR_SHIFT);
}

u64 fusion_budget_left(const struct fusion *fs)
{
	s64 most = fusion_budget_hour(READ_ONCE(fs->opt.write_budget));

	return max_t(s64, min_t(s64, READ_ONCE(fs->mover.budget), most), 0);
}

/* -- slots for a batch ----------------------------------------------------------------------- */

unsigned int fusion_requested_batch(const struct fusion *fs, bool idle)
{
	u32 max = FUSION_LONG_BATCH_BYTES >> (SECTOR_SHIFT + fs->shift);

	return idle ? clamp(max, FUSION_BATCH, FUSION_LONG_BATCH) : FUSION_BATCH;
}

unsigned int fusion_longest_batch(const struct fusion *fs, unsigned int max)
{
	u32 left = fusion_beside_spares(fs, FUSION_FAST, fusion_slots_free(fs, FUSION_FAST)) +
		   fusion_beside_spares(fs, FUSION_SLOW, fusion_slots_free(fs, FUSION_SLOW));

	if (left >= max || fs->nr_mapped == fs->sb.nr_lexts)
		return max;
	return left < FUSION_BATCH ? FUSION_SHORT_BATCH : FUSION_BATCH;
}
