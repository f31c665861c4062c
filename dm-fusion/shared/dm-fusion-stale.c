// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: packing, unpacking and reading of the stale list. See dm-fusion-stale.h for the
 * contract.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-stale.h"

static_assert(sizeof(struct fusion_stale_head_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_stale_entry_block) == 8);
static_assert(sizeof(struct fusion_stale_block) == FUSION_BLOCK_SIZE);

/* -- the head ------------------------------------------------------------------------------ */

void fusion_stale_head_pack(const struct fusion_sb *sb, const struct fusion_stale_head *head,
			    void *block)
{
	struct fusion_stale_head_block *d = block;

	memset(block, 0, FUSION_BLOCK_SIZE);
	d->run = cpu_to_le64(head->run);
	d->seq = cpu_to_le64(head->seq);
	d->time = cpu_to_le64(head->time);
	d->epoch = cpu_to_le32(head->epoch);
	d->nr_lists = cpu_to_le32(head->nr_lists);
	d->sum = cpu_to_le32(head->sum);
	d->nr_blocks = cpu_to_le64(head->nr_blocks);
	fusion_block_seal(sb, FUSION_MAGIC_STALE_HEAD,
			  fusion_stale_head_blocknr(sb, head->run % FUSION_STALE_COPIES), block);
}

static const char *fusion_stale_check_head(const struct fusion_sb *sb, u32 copy,
					   const struct fusion_stale_head *head)
{
	const u64 most = (u64)head->nr_lists * (sb->extent_sectors / FUSION_BLOCK_SECTORS);

	if (!head->run || head->run > FUSION_MAX_COUNTER ||
	    head->run % FUSION_STALE_COPIES != copy || head->seq > FUSION_MAX_COUNTER)
		return "a number in the head of the stale list is out of bounds";
	if (head->nr_lists > sb->stale_places || head->nr_blocks > most ||
	    head->nr_blocks < head->nr_lists)
		return "the head of the stale list has an impossible number of entries";
	return NULL;
}

int fusion_stale_head_unpack(const struct fusion_sb *sb, u32 copy, const void *block,
			     struct fusion_stale_head *head, const char **why)
{
	const struct fusion_stale_head_block *d = block;

	*why = fusion_block_check(sb, FUSION_MAGIC_STALE_HEAD, fusion_stale_head_blocknr(sb, copy),
				  block);
	if (*why)
		return -ENODATA;
	head->run = le64_to_cpu(d->run);
	head->seq = le64_to_cpu(d->seq);
	head->time = le64_to_cpu(d->time);
	head->epoch = le32_to_cpu(d->epoch);
	head->nr_lists = le32_to_cpu(d->nr_lists);
	head->sum = le32_to_cpu(d->sum);
	head->nr_blocks = le64_to_cpu(d->nr_blocks);
	*why = d->flags ? "the head of the stale list has flags of a newer version" :
	       fusion_stale_check_head(sb, copy, head);
	return *why ? -ENODATA : 0;
}

/* -- lists --------------------------------------------------------------------------------- */

u32 fusion_stale_pack(const struct fusion_sb *sb, u32 copy, u32 place, u32 index,
		      const struct fusion_stale_list *list,
		      const struct fusion_stale_entry *entry, void *block)
{
	const u32 count = fusion_stale_count(list->total, index);
	struct fusion_stale_block *d = block;
	u32 i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	d->run = cpu_to_le64(list->run);
	d->seq = cpu_to_le64(list->seq);
	d->time = cpu_to_le64(list->time);
	d->segno = cpu_to_le64(list->segno);
	d->key = cpu_to_le64(list->key);
	d->slot = cpu_to_le32(list->slot);
	d->epoch = cpu_to_le32(list->epoch);
	d->place = cpu_to_le32(place);
	d->index = cpu_to_le16(index);
	d->count = cpu_to_le16(count);
	d->total = cpu_to_le16(list->total);
	for (i = 0; i < count; i++) {
		d->entry[i].lext = cpu_to_le32(entry[i].lext);
		d->entry[i].block = cpu_to_le16(entry[i].block);
		d->entry[i].pos = cpu_to_le16(entry[i].pos);
	}
	return fusion_block_seal(sb, FUSION_MAGIC_STALE,
				 fusion_stale_blocknr(sb, copy, place, index), block);
}

void fusion_stale_entry(const void *block, u32 i, struct fusion_stale_entry *entry)
{
	const struct fusion_stale_block *b = block;
	const struct fusion_stale_entry_block *d = &b->entry[i];

	entry->lext = le32_to_cpu(d->lext);
	entry->block = le16_to_cpu(d->block);
	entry->pos = le16_to_cpu(d->pos);
}

static const char *fusion_stale_check_entries(const struct fusion_sb *sb, const void *block,
					      u32 count)
{
	const u32 blocks = sb->extent_sectors / FUSION_BLOCK_SECTORS;
	struct fusion_stale_entry entry;
	s32 last = -1;
	u32 i;

	for (i = 0; i < count; i++) {
		fusion_stale_entry(block, i, &entry);
		if (entry.lext >= sb->nr_lexts || entry.block >= blocks || entry.pos >= blocks)
			return "an entry of the stale list is out of bounds";
		if (entry.pos <= last)
			return "entries of the stale list are out of order";
		last = entry.pos;
	}
	return NULL;
}

int fusion_stale_unpack(const struct fusion_sb *sb, u32 copy, u32 place, u32 index,
			const void *block, struct fusion_stale_list *list, const char **why)
{
	const struct fusion_stale_block *d = block;
	u32 count;

	*why = fusion_block_check(sb, FUSION_MAGIC_STALE,
				  fusion_stale_blocknr(sb, copy, place, index), block);
	if (*why)
		return -ENODATA;
	list->run = le64_to_cpu(d->run);
	list->seq = le64_to_cpu(d->seq);
	list->time = le64_to_cpu(d->time);
	list->segno = le64_to_cpu(d->segno);
	list->key = le64_to_cpu(d->key);
	list->slot = le32_to_cpu(d->slot);
	list->epoch = le32_to_cpu(d->epoch);
	list->total = le16_to_cpu(d->total);
	list->sum = le32_to_cpu(d->h.csum);
	count = le16_to_cpu(d->count);
	if (!list->run || list->run > FUSION_MAX_COUNTER || list->seq > FUSION_MAX_COUNTER ||
	    le32_to_cpu(d->place) != place || le16_to_cpu(d->index) != index)
		*why = "a number in the stale list is out of bounds";
	else if (list->total > sb->extent_sectors / FUSION_BLOCK_SECTORS ||
		 !list->segno != !list->total || index >= fusion_stale_used(list->total) ||
		 count != fusion_stale_count(list->total, index))
		*why = "a list of the stale list has an impossible length";
	else
		*why = fusion_stale_check_entries(sb, block, count);
	return *why ? -ENODATA : 0;
}

/* -- reading it ---------------------------------------------------------------------------- */

static void fusion_stale_find_head(struct fusion_stale_scan *scan)
{
	struct fusion_stale_head head;
	const void *block;
	u32 copy;

	scan->found = false;
	scan->bad_heads = 0;
	scan->head = (struct fusion_stale_head){ };
	scan->why = "cannot be read";
	for (copy = 0; copy < FUSION_STALE_COPIES; copy++) {
		block = scan->read(scan->ctx, fusion_stale_head_blocknr(scan->sb, copy));
		if (!block)
			scan->bad_heads |= 1U << copy;
		if (!block ||
		    fusion_stale_head_unpack(scan->sb, copy, block, &head, &scan->why) ||
		    head.run < scan->head.run)
			continue;
		scan->found = true;
		scan->head = head;
	}
	scan->last_run = scan->head.run;
}

static struct fusion_stale_seen *
fusion_stale_seen(const struct fusion_stale_scan *scan, u32 copy, u32 place)
{
	return &scan->seen[(size_t)copy * scan->sb->stale_places + place];
}

/* The entries of a block that was checked. */
static int fusion_stale_tell_block(const struct fusion_stale_scan *scan, u32 place,
				   const void *block, u32 count)
{
	struct fusion_stale_entry entry;
	int r = 0;
	u32 i;

	for (i = 0; !r && i < count; i++) {
		fusion_stale_entry(block, i, &entry);
		r = scan->entry(scan->ctx, place, &entry);
	}
	return r;
}

/*
 * Read a copy of a list: that in @seen, if there is one. @told: NULL, or entries are told, and this
 * is what came back. Return: 0, -EIO: it cannot be read, or -ENODATA: it is not there as a whole.
 */
static int fusion_stale_read(const struct fusion_stale_scan *scan, u32 copy, u32 place,
			     struct fusion_stale_seen *seen, int *told)
{
	struct fusion_stale_list list;
	const void *block;
	u32 index = 0;
	const char *why;

	seen->sum = 0;
	do {
		block = scan->read(scan->ctx, fusion_stale_blocknr(scan->sb, copy, place, index));
		if (!block)
			return -EIO;
		if (fusion_stale_unpack(scan->sb, copy, place, index, block, &list, &why))
			return -ENODATA;
		if (!seen->run) {
			seen->run = list.run;
			seen->segno = list.segno;
			seen->key = list.key;
			seen->total = list.total;
		}
		if (list.run != seen->run || list.segno != seen->segno ||
		    list.key != seen->key || list.total != seen->total)
			return -ENODATA;
		seen->sum += list.sum;
		if (told)
			*told = fusion_stale_tell_block(scan, place, block,
							fusion_stale_count(list.total, index));
	} while (++index < fusion_stale_used(seen->total) && !(told && *told));
	return 0;
}

static void fusion_stale_find(struct fusion_stale_scan *scan, u32 copy, u32 place)
{
	struct fusion_stale_seen seen = { };
	const int r = fusion_stale_read(scan, copy, place, &seen, NULL);

	if (r == -EIO && scan->unreadable)
		scan->unreadable(scan->ctx, copy, place);
	if (r)
		seen.run = 0;
	*fusion_stale_seen(scan, copy, place) = seen;
	scan->last_run = max(scan->last_run, seen.run);
}

/* Does a copy of a list count, or is it of a run that was cut short? */
static bool fusion_stale_told(const struct fusion_stale_scan *scan, u32 copy, u32 place,
			      bool *counts)
{
	const u64 run = fusion_stale_seen(scan, copy, place)->run;
	const u64 other = fusion_stale_seen(scan, !copy, place)->run;

	*counts = run && run <= scan->head.run &&
		  (other > scan->head.run || other < run || (other == run && !copy));
	return *counts || run > scan->head.run;
}

/* Its entries are read once more: it has to be what it was. */
static int fusion_stale_tell(struct fusion_stale_scan *scan, u32 copy, u32 place)
{
	const struct fusion_stale_seen *seen = fusion_stale_seen(scan, copy, place);
	struct fusion_stale_seen again = *seen;
	int r = 0, told = 0;
	bool counts;

	if (!fusion_stale_told(scan, copy, place, &counts))
		return 0;
	if (scan->entry && seen->total)
		r = fusion_stale_read(scan, copy, place, &again, &told);
	if (told)
		return told;
	if (r || again.sum != seen->sum) {
		if (scan->unreadable)
			scan->unreadable(scan->ctx, copy, place);
	} else if (counts) {
		scan->nr_lists += !!seen->total;
		scan->nr_blocks += seen->total;
		scan->sum += seen->sum;
	}
	return 0;
}

int fusion_stale_scan(struct fusion_stale_scan *scan)
{
	const u32 places = scan->sb->stale_places;
	u32 place, copy;
	bool counts;
	int r = 0;

	fusion_stale_find_head(scan);
	scan->nr_lists = 0;
	scan->nr_blocks = 0;
	scan->sum = 0;
	for (copy = 0; copy < FUSION_STALE_COPIES; copy++)
		for (place = 0; place < places; place++)
			fusion_stale_find(scan, copy, place);
	for (place = 0; scan->list && place < places; place++)
		for (copy = 0; !r && copy < FUSION_STALE_COPIES; copy++)
			if (fusion_stale_told(scan, copy, place, &counts))
				r = scan->list(scan->ctx, copy, place,
					       fusion_stale_seen(scan, copy, place), counts);
	for (copy = 0; copy < FUSION_STALE_COPIES; copy++)
		for (place = 0; !r && place < places; place++)
			r = fusion_stale_tell(scan, copy, place);
	return r;
}
