// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: access statistics.
 *
 * There is one word per extent: its heat, and the time at which the word was last brought up to
 * date, as an epoch (for decay) and a tick (for counting).
 *
 * An epoch is an eighth of the half-life. Words are not touched when the epoch changes. Instead,
 * each reader of a word multiplies its heat by 2^(-age / 8), with age in epochs.
 *
 * The epoch in a word has 8 bits. INVARIANT: no word with heat in it is older than 255 epochs. So
 * age modulo 256 is the age, and an extent left alone for long never looks hot again. The sweep
 * updates each word older than SETTLE_AGE that it meets, so no word is more than SETTLE_AGE older
 * than the beginning of the last whole pass. The epoch clock stops rather than run more than
 * MAX_LAG ahead of that beginning. When it stops, because the sweep gets too little time or the
 * clock has jumped, some decay is lost. But MAX_LAG epochs are more than NO_AGE, after which any
 * heat is 0.
 *
 * A tick is a quarter of a second. Accesses within one tick count as one: they have one cause, and
 * the page cache or the disk's own cache would serve all but the first. A tick is long enough that
 * a sequential reader at 8 MB/s or more leaves an extent of 1 MiB within two ticks. It is short
 * enough that a region with a few accesses per extent and second is known within seconds. At a
 * half-life of an hour, an extent touched in every tick just reaches the greatest heat, so there is
 * no finer scale to be had. The tick number has 8 bits as well: an access exactly 255 ticks after
 * the last one of the same extent, in the same epoch, is lost, which is harmless.
 *
 * Loads and stores are plain: a word is replaced as a whole. If two CPUs do so at once, one count
 * is lost.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "dm-fusion-heat.h"

#define EPOCHS_PER_HALF_LIFE	8U
#define NO_AGE			(17U * EPOCHS_PER_HALF_LIFE)
#define SETTLE_AGE		64U
#define MAX_LAG			(255U - SETTLE_AGE)

#define TICK_MS			250U
#define TICKS_PER_HALF_LIFE	16U	/* at least, so that a short one can be learned in */

#define EPOCH_SHIFT		8
#define STAMP_MASK		0xffffU
#define TICK_MASK		0xffU

/* Heat after some epochs, rounded to nearest. */
static u32 fusion_decay(u32 heat, u32 age)
{
	static const u16 part[EPOCHS_PER_HALF_LIFE] = {		/* 2^(15 - i / 8) */
		32768, 30048, 27554, 25268, 23170, 21247, 19484, 17867
	};
	u32 shift = 15 + age / EPOCHS_PER_HALF_LIFE;

	if (age >= NO_AGE)
		return 0;
	return (heat * part[age % EPOCHS_PER_HALF_LIFE] + (1U << (shift - 1))) >> shift;
}

static u32 fusion_word_age(u32 word, u32 now)
{
	return (u8)((now >> EPOCH_SHIFT) - (word >> EPOCH_SHIFT));
}

static u32 fusion_word_heat(u32 word, u32 now)
{
	return fusion_decay(word >> FUSION_HEAT_SHIFT, fusion_word_age(word, now));
}

/* The first access to an extent in a tick. Apart, as it needs the registers of its caller. */
static noinline void fusion_heat_add(struct fusion_policy *p, u32 lext, unsigned int weight,
				     u32 now, u32 word)
{
	u32 bar = READ_ONCE(p->bar);
	u32 before, heat;

	before = fusion_word_heat(word, now);
	heat = min(before + weight, FUSION_HEAT_MAX);
	WRITE_ONCE(p->heat[lext], heat << FUSION_HEAT_SHIFT | now);

	if (before < bar && heat >= bar) {
		u32 where = READ_ONCE(p->map[lext]);

		if (fusion_word_mapped(where) && fusion_word_dev(where) == FUSION_SLOW)
			fusion_candidate(p, lext);
	}
}

void fusion_policy_touch(struct fusion_policy *p, u32 lext, unsigned int weight)
{
	u32 now = READ_ONCE(p->now);
	u32 word = READ_ONCE(p->heat[lext]);

	if ((word ^ now) & STAMP_MASK)
		fusion_heat_add(p, lext, weight, now, word);
}

void fusion_policy_untouch(struct fusion_policy *p, u32 lext, unsigned int weight)
{
	u32 now = READ_ONCE(p->now);
	u32 word = READ_ONCE(p->heat[lext]);

	if ((word ^ now) & STAMP_MASK || word >> FUSION_HEAT_SHIFT < weight)
		return;
	/* tick 0 never comes: the next access counts */
	WRITE_ONCE(p->heat[lext], (word - (weight << FUSION_HEAT_SHIFT)) & ~TICK_MASK);
}

u32 fusion_word_heat_now(const struct fusion_policy *p, u32 word)
{
	return fusion_word_heat(word, p->now);
}

u32 fusion_policy_heat(const struct fusion_policy *p, u32 lext)
{
	u32 word = READ_ONCE(p->heat[lext]);

	/* as of most extents of a large set */
	return word ? fusion_word_heat(word, READ_ONCE(p->now)) : 0;
}

u64 fusion_policy_age(const struct fusion_policy *p, u32 lext)
{
	u32 age = fusion_word_age(READ_ONCE(p->heat[lext]), READ_ONCE(p->now));
	u64 start = READ_ONCE(p->epoch_start_ms), now = READ_ONCE(p->now_ms);

	return age ? (u64)(age - 1) * READ_ONCE(p->epoch_ms) + now - min(now, start) : 0;
}

u32 fusion_heat_settle(struct fusion_policy *p, u32 lext)
{
	u32 word = READ_ONCE(p->heat[lext]);
	u32 heat = fusion_word_heat(word, p->now);

	if (word && fusion_word_age(word, p->now) >= SETTLE_AGE)
		WRITE_ONCE(p->heat[lext], !heat ? 0 : heat << FUSION_HEAT_SHIFT | p->now);
	return heat;
}

void fusion_policy_set_heat(struct fusion_policy *p, u32 lext, u32 heat)
{
	/* tick 0 never comes: the next access counts */
	WRITE_ONCE(p->heat[lext], min(heat, FUSION_HEAT_MAX) << FUSION_HEAT_SHIFT |
				  (p->epoch << EPOCH_SHIFT & STAMP_MASK));
}

void fusion_policy_forget(struct fusion_policy *p, u32 lext)
{
	WRITE_ONCE(p->heat[lext], 0);
}

void fusion_heat_set_half_life(struct fusion_policy *p, u32 seconds)
{
	p->epoch_ms = seconds * 1000 / EPOCHS_PER_HALF_LIFE;
	p->tick_ms = min(TICK_MS, seconds * 1000 / TICKS_PER_HALF_LIFE);
	p->epoch_start_ms = p->now_ms;
	p->half_life_ms = seconds * 1000ULL;
}

void fusion_heat_set_time(struct fusion_policy *p, u64 now_ms)
{
	u64 epochs;
	u32 tick;

	p->now_ms = now_ms;

	epochs = div_u64(now_ms - p->epoch_start_ms, p->epoch_ms);
	p->epoch_start_ms += epochs * p->epoch_ms;
	p->epoch += min_t(u64, epochs, MAX_LAG - (p->epoch - p->oldest));

	/* 1..255, so that a word of 0 was touched in no tick */
	tick = 1 + (u32)div_u64(now_ms, p->tick_ms) % 255;
	WRITE_ONCE(p->now, (p->epoch << EPOCH_SHIFT & STAMP_MASK) | tick);
}
