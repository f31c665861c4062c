// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: pins: extents that belong on a certain member, as a message says.
 *
 * A pin is advice to the policy (dm-fusion-pinned.c), and to first writes. What has to move moves
 * all the same: out of the fence, off the old member, home, or on request. Pins are in memory only.
 * They last until the device is closed, also while it is suspended or gets another table.
 *
 * Each message makes a copy of all pins, changes that, and puts it in the place of the original. So
 * a message that is refused has changed nothing, and the policy never sees half of one. It reads
 * without a lock, so the original is freed after a grace period. As long as nothing is pinned there
 * is no memory for it.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "dm-fusion.h"

#define MAX_RANGES	512U

/* -- sets of pins ---------------------------------------------------------------------------- */

/*
 * A copy of @from, which has room for @nr extents; an empty set without it. Return: NULL if memory
 * is short.
 */
static struct fusion_pins *fusion_pins_copy(const struct fusion *fs,
					    const struct fusion_pins *from, u32 nr)
{
	const u32 nr_lexts = fs->sb.nr_lexts;
	size_t longs = BITS_TO_LONGS(nr_lexts), size = longs * sizeof(long);
	/* the fused device may be suspended, and have what would be written to free memory */
	unsigned int flags = memalloc_noio_save(), dev;
	struct fusion_pins *pins = kvzalloc(sizeof(*pins) + FUSION_NR_DEVS * size, GFP_KERNEL);

	memalloc_noio_restore(flags);
	if (!pins)
		return NULL;
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		unsigned long *on = (unsigned long *)(pins + 1) + dev * longs;

		pins->on[dev] = on;
		if (!from)
			continue;
		memcpy(on, from->on[dev], min_t(size_t, size, BITS_TO_LONGS(nr) * sizeof(long)));
		/* behind the end there are none, also if it grows */
		bitmap_clear(on, nr_lexts, longs * BITS_PER_LONG - nr_lexts);
	}
	return pins;
}

static void fusion_pins_count(const struct fusion *fs, struct fusion_pins *pins)
{
	unsigned int dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		pins->nr[dev] = bitmap_weight(pins->on[dev], fs->sb.nr_lexts);
}

/* Put @pins into force. The previous ones are freed. Mutex held. */
static void fusion_pins_use(struct fusion *fs, struct fusion_pins *pins)
{
	struct fusion_pins *old = fs->mover.pins.now;

	if (pins && !pins->nr[FUSION_FAST] && !pins->nr[FUSION_SLOW]) {
		kvfree(pins);
		pins = NULL;
	}
	fs->mover.pins.now = pins;
	fusion_policy_pin(fs->policy, pins);
	if (old) {
		/* Readers of the policy, which are inside RCU sections, may have found it. */
		synchronize_rcu();
		kvfree(old);
	}
}

/* The most extents that can be pinned to the fast member. */
static u32 fusion_pins_limit(struct fusion *fs)
{
	const struct fusion_fence *fence = &fs->slots.fence;
	u32 nr = fs->sb.nr_fast_slots;
	u32 taken = fs->sb.spare_fast + fs->sb.landing_slots + fusion_reserve(fs);

	/* without the lock, as it takes long: one that is lost at this moment may be missing */
	if (READ_ONCE(fs->mover.nr_retired))
		taken += bitmap_weight(fs->slots.retired[FUSION_FAST], nr);
	spin_lock_irq(&fs->lock);
	/* retired slots inside are counted above */
	if (fence->dev == FUSION_FAST && fusion_fence_size(fence))
		taken += fusion_fence_size(fence) - fence->nr_retired;
	spin_unlock_irq(&fs->lock);
	return nr - min(nr, taken);
}

/* May there be so many on the fast member, where there were @before? */
static int fusion_pins_fit(struct fusion *fs, u32 nr, u32 before)
{
	u32 limit = fusion_pins_limit(fs);

	if (nr <= limit || nr <= before)
		return 0;
	DMERR("message: pin: the fast member can hold %u pinned extents, not %u: %u are left",
	      limit, nr, limit - min(limit, before));
	return -ENOSPC;
}

/* -- messages -------------------------------------------------------------------------------- */

/* @to: a member, or FUSION_UNPINNED. Mutex held. */
static int fusion_pin_ranges(struct fusion *fs, unsigned int to, unsigned int argc, char **argv)
{
	struct fusion_pinning *pinning = &fs->mover.pins;
	struct fusion_pins *before = pinning->begun ? pinning->next : pinning->now;
	struct fusion_pins *pins = fusion_pins_copy(fs, before, fs->sb.nr_lexts);
	u32 first, last;
	unsigned int i, dev;
	int r = 0;

	if (!pins)
		return -ENOMEM;
	for (i = 0; i < argc && !r; i++) {
		r = fusion_parse_range(fs, argv[i], &first, &last);
		for (dev = 0; dev < FUSION_NR_DEVS && !r; dev++) {
			if (dev == to)
				bitmap_set(pins->on[dev], first, last - first + 1);
			else
				bitmap_clear(pins->on[dev], first, last - first + 1);
		}
		cond_resched();
	}
	fusion_pins_count(fs, pins);
	if (!r && to == FUSION_FAST)
		r = fusion_pins_fit(fs, pins->nr[to], before ? before->nr[to] : 0);
	if (r) {
		kvfree(pins);
		return r;
	}
	if (pinning->begun) {
		kvfree(pinning->next);
		pinning->next = pins;
	} else {
		fusion_pins_use(fs, pins);
	}
	return 0;
}

static void fusion_pin_begin(struct fusion_pinning *pinning)
{
	kvfree(pinning->next);
	pinning->next = NULL;
	pinning->begun = true;
}

static int fusion_pin_end(struct fusion *fs)
{
	struct fusion_pinning *pinning = &fs->mover.pins;
	struct fusion_pins *pins = pinning->next;

	if (!pinning->begun)
		return fusion_bad_message("there was no pin begin", "pin end");
	pinning->next = NULL;
	pinning->begun = false;
	fusion_pins_use(fs, pins);
	return 0;
}

int fusion_message_pin(struct fusion *fs, unsigned int argc, char **argv)
{
	static const char * const names[] = {
		[FUSION_FAST] = "fast", [FUSION_SLOW] = "slow", [FUSION_UNPINNED] = "off",
	};
	const char *what = argc ? argv[0] : "pin";
	bool begin = argc == 1 && !strcmp(what, "begin"), end = argc == 1 && !strcmp(what, "end");
	unsigned int to = 0;
	int r = 0;

	while (argc && to < ARRAY_SIZE(names) && strcmp(what, names[to]))
		to++;
	if (!begin && !end && (argc < 2 || to == ARRAY_SIZE(names)))
		return fusion_bad_message("not begin, end, or fast|slow|off <range>...", what);
	if (argc > MAX_RANGES + 1)
		return fusion_bad_message("more than 512 ranges", what);
	mutex_lock(&fs->mover.pins.mutex);
	if (begin)
		fusion_pin_begin(&fs->mover.pins);
	else if (end)
		r = fusion_pin_end(fs);
	else
		r = fusion_pin_ranges(fs, to, argc - 1, argv + 1);
	mutex_unlock(&fs->mover.pins.mutex);
	return r;
}

int fusion_message_pins(struct fusion *fs, char *result, unsigned int maxlen)
{
	struct fusion_pinning *pinning = &fs->mover.pins;
	u32 limit = fusion_pins_limit(fs), nr[FUSION_NR_DEVS] = {};
	unsigned int sz = 0;
	bool begun;

	mutex_lock(&pinning->mutex);
	if (pinning->now)
		memcpy(nr, pinning->now->nr, sizeof(nr));
	begun = pinning->begun;
	mutex_unlock(&pinning->mutex);
	DMEMIT("limit %u fast %u slow %u begun %u", limit, nr[FUSION_FAST], nr[FUSION_SLOW], begun);
	return 1;
}

/* -- life ------------------------------------------------------------------------------------ */

void fusion_pins_inherit(struct fusion *fs, struct fusion *from)
{
	struct fusion_pins *pins = NULL;
	bool any;

	mutex_lock(&from->mover.pins.mutex);
	any = from->mover.pins.now;
	if (any)
		pins = fusion_pins_copy(fs, from->mover.pins.now, from->sb.nr_lexts);
	mutex_unlock(&from->mover.pins.mutex);
	if (any && !pins)
		DMWARN("%s: no memory for its pins: pin the extents again",
		       dm_table_device_name(fs->ti->table));
	if (!pins)
		return;
	fusion_pins_count(fs, pins);
	mutex_lock(&fs->mover.pins.mutex);
	fusion_pins_use(fs, pins);
	mutex_unlock(&fs->mover.pins.mutex);
}

void fusion_pins_exit(struct fusion *fs)
{
	kvfree(fs->mover.pins.next);
	kvfree(fs->mover.pins.now);
}
