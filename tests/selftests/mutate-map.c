// SPDX-License-Identifier: GPL-2.0-only
/* mutate: blocks of maps, of journals with their records, and of heat. */
#include "mutate-inside.h"
#include "../reseal.h"

static const struct field map_fields[] = {
	FIELD(fusion_map_block, h.magic), FIELD(fusion_map_block, h.blocknr),
	FIELD(fusion_map_block, generation), FIELD(fusion_map_block, index),
	FIELD(fusion_map_block, count),
};

static const struct field journal_fields[] = {
	FIELD(fusion_journal_block, h.magic), FIELD(fusion_journal_block, h.blocknr),
	FIELD(fusion_journal_block, seq), FIELD(fusion_journal_block, txn),
	FIELD(fusion_journal_block, epoch), FIELD(fusion_journal_block, index),
	FIELD(fusion_journal_block, count), FIELD(fusion_journal_block, prev_csum),
	FIELD(fusion_journal_block, used), FIELD(fusion_journal_block, peer_generation),
	FIELD(fusion_journal_block, peer_seq),
};

static const struct field record_fields[] = {
	FIELD(fusion_journal_record, lext), FIELD(fusion_journal_record, new),
	FIELD(fusion_journal_record, old), FIELD(fusion_journal_record, op),
};

void mutate_map(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const unsigned int set = mutate_one_in(m, 8) ? !sb->active_set : sb->active_set;
	const u32 index = mutate_below(&m->state, sb->map_blocks);
	u8 *b = image_block(im, dev, sb->map_start[dev][set] + index);
	struct fusion_map_block *mb = (void *)b;
	const u32 entries = fusion_map_entries(sb, index);
	u32 n = 1 + (mutate_one_in(m, 2) ? 0 : mutate_below(&m->state, 4));

	mutate_note(m, " map %s set %u block %u", member_name(dev), set, index);
	if (mutate_one_in(m, 4) || !entries) {
		CHANGE_ONE(m, sb, b, map_fields);
		n = 0;
	}
	while (n--) {
		const u32 limit = mutate_one_in(m, 16) ? FUSION_MAP_PER_BLOCK : entries;
		const u32 i = mutate_below(&m->state, limit);
		const u32 other = mutate_below(&m->state, entries);
		const u32 now = mutate_word(m, sb, le32toh(mb->word[i]), le32toh(mb->word[other]));

		mb->word[i] = htole32(now);
		mutate_note(m, " [%u]=%x", i, now);
	}
	reseal(b);
}

static void mutate_record(struct image *im, struct mutation *m, int dev,
			  struct fusion_journal_block *b)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u32 bitmap = fusion_bitmap_bytes(sb->extent_sectors);
	const u32 used = min_t(u32, le32toh(b->used), FUSION_JOURNAL_PAYLOAD);
	struct fusion_journal_record *pick = NULL;
	u32 pos = 0, seen = 0;

	while (pos + sizeof(*pick) <= used) {
		struct fusion_journal_record *d = (void *)(b->payload + pos);

		if (mutate_one_in(m, ++seen))
			pick = d;
		pos += sizeof(*d) + (le32toh(d->op) == FUSION_OP_OPEN ? bitmap : 0);
	}
	if (!pick) {
		CHANGE_ONE(m, sb, (u8 *)b, journal_fields);
		return;
	}
	mutate_note(m, " record at %zu", (u8 *)pick - b->payload);
	if (mutate_one_in(m, 2)) {
		const u32 now = mutate_word(m, sb, le32toh(pick->new), le32toh(pick->old));

		pick->new = htole32(now);
		mutate_note(m, " new=%x", now);
	} else if (le32toh(pick->op) == FUSION_OP_OPEN && mutate_one_in(m, 3)) {
		const u32 bit = mutate_below(&m->state, bitmap * 8);

		((u8 *)(pick + 1))[bit / 8] ^= 1U << bit % 8;
		mutate_note(m, " bit %u", bit);
	} else {
		CHANGE_ONE(m, sb, (u8 *)pick, record_fields);
	}
}

static struct fusion_journal_block *journal_block(struct image *im, int dev, u64 seq)
{
	return (void *)image_block(im, dev, fusion_journal_blocknr(&im->sb[dev], seq));
}

void mutate_journal(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u64 live = im->next_seq[dev] - sb->replay_seq;
	const bool any = !live || mutate_one_in(m, 6);
	u64 seq = sb->replay_seq + mutate_below(&m->state, any ? sb->journal_blocks[dev] : live);
	struct fusion_journal_block *b = journal_block(im, dev, seq);

	mutate_note(m, " journal %s seq %llx%s", member_name(dev), (unsigned long long)seq,
		    seq < im->next_seq[dev] ? "" : " (dead)");
	if (mutate_one_in(m, 3))
		CHANGE_ONE(m, sb, (u8 *)b, journal_fields);
	else
		mutate_record(im, m, dev, b);
	if (mutate_one_in(m, 8))
		mutate_record(im, m, dev, b);
	reseal(b);
	if (any || mutate_one_in(m, 4))
		return;
	/* the blocks after it depend on its checksum */
	mutate_note(m, " rechained");
	while (++seq < im->next_seq[dev]) {
		struct fusion_journal_block *next = journal_block(im, dev, seq);

		next->prev_csum = b->h.csum;
		reseal(next);
		b = next;
	}
}

void mutate_heat(struct image *im, struct mutation *m)
{
	const struct fusion_sb *sb = &im->sb[FUSION_FAST];
	const u32 index = mutate_below(&m->state, sb->heat_blocks);
	u8 *b = image_block(im, FUSION_FAST, sb->heat_start + index);

	mutate_note(m, " heat");
	if (mutate_one_in(m, 2)) {
		CHANGE_ONE(m, sb, b, map_fields);
	} else {
		for (u32 i = 0; i < 32; i++) {
			u8 *heat = b + 48 + 2 * mutate_below(&m->state, FUSION_HEAT_PER_BLOCK);

			field_put(heat, 2, mutate_draw(m));
		}
	}
	reseal(b);
}
