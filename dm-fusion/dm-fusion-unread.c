// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: extents that cannot leave the old member because it does not return their content.
 *
 * Such an extent stays where it is, and users' I/O to it goes there as before. After 1, 10 and 60
 * minutes, and then each hour, all of them are tried again, as a disk may read at the third time
 * what it did not at the first. Whether an extent was tried in vain since such a round began is
 * known apart from whether it could be read the last time, which is what people ask.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "dm-fusion.h"

/* Bits of a bitmap that are looked at in one go, with fs->lock held. */
#define CHUNK	65536U

static const u32 pauses[] = { 1, 10, 60 };	/* minutes */

static u64 fusion_unread_pause_ms(const struct fusion *fs)
{
	return 60000ULL * pauses[min_t(size_t, fs->old.round, ARRAY_SIZE(pauses) - 1)];
}

void fusion_note_unread(struct fusion *fs, u32 word)
{
	struct fusion_old_disk *old = &fs->old;
	u32 i;

	if (fusion_word_disk(fs, word) != FUSION_OLD)
		return;
	spin_lock_irq(&fs->lock);
	i = fusion_old_index(fs, word);
	/* A discard does not wait for a copy that it cancels; the slot may be released by now. */
	if (!test_bit(i, old->used)) {
		spin_unlock_irq(&fs->lock);
		return;
	}
	old->nr_unread += !__test_and_set_bit(i, old->unread);
	if (!old->nr_tried)
		old->retry_ms = fusion_now_ms() + fusion_unread_pause_ms(fs);
	old->nr_tried += !__test_and_set_bit(i, old->tried);
	spin_unlock_irq(&fs->lock);
}

/* Nothing was tried in this round yet, but for what is tried meanwhile. Sleeps. */
static void fusion_begin_round(struct fusion *fs)
{
	struct fusion_old_disk *old = &fs->old;
	const u32 end = fs->sb.old.first_slot;
	u32 first, nr;

	for (first = 0; first < end; first += nr) {
		nr = min(end - first, CHUNK);
		spin_lock_irq(&fs->lock);
		old->nr_tried -= bitmap_weight(old->tried + first / BITS_PER_LONG, nr);
		memset(old->tried + first / BITS_PER_LONG, 0, BITS_TO_LONGS(nr) * sizeof(long));
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
}

static void fusion_retry_unread(struct fusion *fs)
{
	struct fusion_old_disk *old = &fs->old;
	bool due;

	spin_lock_irq(&fs->lock);
	due = old->nr_tried && fusion_now_ms() >= old->retry_ms;
	old->round += due;
	spin_unlock_irq(&fs->lock);
	if (due)
		fusion_begin_round(fs);
}

void fusion_retry_unread_now(struct fusion *fs)
{
	spin_lock_irq(&fs->lock);
	fs->old.round = 0;
	spin_unlock_irq(&fs->lock);
	fusion_begin_round(fs);
}

bool fusion_was_tried(const struct fusion *fs, u32 word)
{
	return fusion_word_disk(fs, word) == FUSION_OLD &&
	       test_bit(fusion_old_index(fs, word), fs->old.tried);
}

bool fusion_is_unread(const struct fusion *fs, u32 word)
{
	return fusion_word_mapped(word) && fusion_word_disk(fs, word) == FUSION_OLD &&
	       test_bit(fusion_old_index(fs, word), fs->old.unread);
}

int fusion_message_unread(struct fusion *fs, char *result, unsigned int maxlen)
{
	/* the longest range, the mark that there are more, and the end */
	const unsigned int most = sizeof("4294967295-4294967295 ...");
	unsigned int sz = 0;
	u32 lext, first;

	if (maxlen)
		*result = '\0';
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		if (!(lext % 65536))
			cond_resched();
		if (!fusion_is_unread(fs, READ_ONCE(fs->map[lext])))
			continue;
		first = lext;
		while (lext + 1 < fs->sb.nr_lexts &&
		       fusion_is_unread(fs, READ_ONCE(fs->map[lext + 1])))
			lext++;
		if (sz + most > maxlen) {
			DMEMIT("%s...", sz ? " " : "");
			break;
		}
		DMEMIT("%s%u-%u", sz ? " " : "", first, lext);
	}
	return 1;
}

void fusion_look_at_old(struct fusion *fs)
{
	struct fusion_old_disk *old = &fs->old;
	bool empty, unread;

	if (!fusion_sb_has_old(&fs->sb))
		return;
	fusion_retry_unread(fs);
	spin_lock_irq(&fs->lock);
	empty = !old->nr;
	unread = old->nr_unread;
	spin_unlock_irq(&fs->lock);
	if ((empty && !old->told_empty) || (unread && !old->told_unread))
		dm_table_event(fs->ti->table);
	old->told_empty = empty;
	old->told_unread = unread;
}
