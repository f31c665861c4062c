// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set with a landing log made by hand, as a module would leave it: some commits, and batches
 * since the last one, of which the newest may be torn.
 */
#include <stdio.h>

#include "dm-fusion-landing.h"
#include "dm-fusion-stale.h"
#include "landed.h"

#define MAX_SEGMENTS	16U
#define BLOCKS		(EXTENT_SECTORS / FUSION_BLOCK_SECTORS)
#define MAX_LEXTS	1024U

static bool had[MAX_LEXTS], logs;

bool landed_log(void)
{
	return logs;
}

bool landed_any(u32 lext)
{
	return lext < MAX_LEXTS && had[lext];
}

void landed_note(const void *header)
{
	const struct fusion_landing_block *d = header;
	struct fusion_entry e;
	u32 i;

	if (le32_to_cpu(d->h.magic) != FUSION_MAGIC_BATCH)
		return;
	for (i = 0; i < le16_to_cpu(d->count); i++) {
		fusion_landing_entry(header, i, &e);
		had[e.lext] = true;
	}
}

/* The slow disk becomes larger by the stale list. */
static void keep_stale(struct fusion_sb *sb)
{
	const u32 slots = DIV_ROUND_UP(fusion_stale_size(sb, sb->landing_slots),
				       EXTENT_SECTORS / FUSION_BLOCK_SECTORS);

	sb->stale_places = sb->landing_slots;
	sb->stale_start = (u64)sb->slow_first_slot * EXTENT_SECTORS / FUSION_BLOCK_SECTORS;
	sb->slow_first_slot += slots;
	sb->peer_sectors += slots * EXTENT_SECTORS;
}

void landed_setup(struct setup *s, u64 seed, const struct story *story)
{
	u64 rng = seed ^ 0x1a4d;
	struct fusion_sb *sb = &s->sb;
	u32 capacity, more;

	s->grows = false;
	s->shrinks = false;
	s->homes = false;
	s->lost = 0;
	/* it excludes copies for points */
	snprintf(strstr(s->options, "shadow_age"), sizeof("shadow_age 10"), "shadow_age 0");
	more = (story->roomy ? 12 : 2) + rnd_below(&rng, 7);
	sb->nr_fast_slots += more;
	sb->self_sectors += more * EXTENT_SECTORS;
	sb->incompat |= FUSION_INCOMPAT_LANDING;
	sb->landing_slots = 1 + rnd_below(&rng, min(min(fusion_landing_limit(sb), 6U),
						    MAX_SEGMENTS));
	if (story->roomy)
		sb->landing_slots = min(sb->landing_slots + 4, fusion_landing_limit(sb));
	keep_stale(sb);
	capacity = sb->nr_fast_slots - sb->spare_fast + sb->nr_slow_slots - sb->spare_slow;
	sb->nr_lexts = min(sb->nr_lexts + 8, capacity - sb->landing_slots);
	s->most = *sb;
	s->shrinks = story->shrinks;
	if (story->shrinks)
		setup_room(s, &rng);
}

/* What is being written. */
struct making {
	const struct fusion_sb *sb;
	struct model *model;
	u64 *rng;
	u32 words[FUSION_MAP_PER_BLOCK];
	struct fusion_segment seg[MAX_SEGMENTS];
	u8 live[MAX_SEGMENTS][8];
	u32 nr;				/* segments */
	u32 at;				/* where the log goes on */
	u32 pos;
	struct fusion_batch batch;	/* the last one */
	struct fusion_entry entries[MAX_SEGMENTS][BLOCKS];
	u64 first_seq[MAX_SEGMENTS];
	u32 end[MAX_SEGMENTS];		/* of those that are full */
	struct fusion_landed landed;
};

/* -- extents ----------------------------------------------------------------------------- */

/* A change that is durable. Return: its number. */
static u32 change(struct making *mk, u32 sector, u32 nr)
{
	u32 number = model_issue(mk->model, CHANGE_WRITE, sector, nr);

	model_complete(mk->model, number, true, true);
	return number;
}

static void write_stamps(enum fusion_dev dev, u64 where, u32 number, u32 sector, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		sim_disk_set_stamp(world->disk[dev], where + i, model_stamp(number, sector + i));
}

/* Each slot gets an extent, or none, or on the fast disk a segment. */
static void place_extents(struct making *mk)
{
	const struct fusion_sb *sb = mk->sb;
	u32 fast = sb->nr_fast_slots - sb->landing_slots - sb->spare_fast;
	u32 slow = sb->nr_slow_slots - sb->spare_slow, lext, number;

	memset32(mk->words, FUSION_WORD_UNMAPPED, FUSION_MAP_PER_BLOCK);
	for (lext = 0; lext < sb->nr_lexts; lext++) {
		u32 die = rnd_below(mk->rng, 8);
		enum fusion_dev dev = die < 2 ? FUSION_FAST : FUSION_SLOW;
		u32 slot;

		if (die == 7 || !(dev == FUSION_FAST ? fast : slow))
			continue;
		slot = dev == FUSION_FAST ? --fast : sb->slow_first_slot + --slow;
		mk->words[lext] = fusion_word(FUSION_STABLE, dev, slot);
		number = change(mk, lext * EXTENT_SECTORS, EXTENT_SECTORS);
		write_stamps(dev, fusion_slot_sector(sb, dev, slot), number,
			     lext * EXTENT_SECTORS, EXTENT_SECTORS);
	}
}

static void write_map(struct making *mk, enum fusion_dev dev)
{
	struct fusion_sb slow;
	const struct fusion_sb *sb = mk->sb;
	u8 block[FUSION_BLOCK_SIZE];

	if (dev == FUSION_SLOW) {
		fusion_sb_for_slow(sb, &slow);
		sb = &slow;
	}
	fusion_map_pack(sb, sb->active_set, 0, sb->set_generation, mk->words, block);
	sim_disk_set_block(world->disk[dev], sb->map_start[dev][sb->active_set], block);
}

/* -- the log ----------------------------------------------------------------------------- */

static bool lies_slow(const struct making *mk, u32 lext)
{
	return fusion_word_mapped(mk->words[lext]) &&
	       fusion_word_dev(mk->words[lext]) == FUSION_SLOW;
}

static void write_block(struct making *mk, u32 seg, u32 pos, const u64 *stamps)
{
	u64 where = fusion_slot_sector(mk->sb, FUSION_FAST, mk->seg[seg].slot) +
		    pos * FUSION_BLOCK_SECTORS;
	u32 i;

	for (i = 0; i < FUSION_BLOCK_SECTORS; i++)
		sim_disk_set_stamp(world->disk[FUSION_FAST], where + i, stamps[i]);
}

static void write_raw(struct making *mk, u32 seg, u32 pos, const void *block)
{
	u64 stamps[FUSION_BLOCK_SECTORS];

	landed_raw_add(block, stamps);
	write_block(mk, seg, pos, stamps);
}

/* A block of data. @torn: it is one of a batch that has not got to the disk, or @bad itself. */
static void write_entry(struct making *mk, u32 pos, struct fusion_entry *e, bool torn, bool bad)
{
	u32 sector = e->lext * EXTENT_SECTORS + e->block * FUSION_BLOCK_SECTORS, i, number;
	u64 stamps[FUSION_BLOCK_SECTORS];
	u8 data[FUSION_BLOCK_SIZE];
	/* that of an extent that lies elsewhere was dead before it moved there */
	bool counts = !torn && lies_slow(mk, e->lext);

	number = counts ? change(mk, sector, FUSION_BLOCK_SECTORS) : 0;
	for (i = 0; i < FUSION_BLOCK_SECTORS; i++) {
		stamps[i] = number ? model_stamp(number, sector + i) : rnd(mk->rng) | 1ULL << 63;
		landed_raw_bytes(stamps[i], data + i * 512);
	}
	e->crc = fusion_landing_crc(data) ^ bad;
	write_block(mk, mk->at, pos, stamps);
	if (counts)
		had[e->lext] = true;
}

/* The log goes on in the next segment if this one is full. Return: is there one? */
static bool advance(struct making *mk)
{
	if (mk->pos + 2 > fusion_segment_room(mk->sb)) {
		mk->end[mk->at] = mk->pos;
		mk->at++;
		mk->pos = 0;
	}
	return mk->at < mk->nr;
}

static void write_batch(struct making *mk, bool torn)
{
	u32 room = fusion_segment_room(mk->sb) - mk->pos - 1, i, lext;
	u32 count = 1 + rnd_below(mk->rng, min(room, 1U << rnd_below(mk->rng, 4)));
	u8 header[FUSION_BLOCK_SIZE];
	struct fusion_entry *e;

	fusion_batch_init(header);
	lext = rnd_below(mk->rng, mk->sb->nr_lexts);
	for (i = 0; i < count; i++) {
		e = &mk->entries[mk->at][mk->pos + 1 + i];
		/* often blocks side by side, and in few extents, some of them several times */
		if (!rnd_below(mk->rng, 4))
			lext = rnd_below(mk->rng, min(mk->sb->nr_lexts, 6U));
		e->lext = lext;
		e->block = i && e[-1].lext == lext && rnd_below(mk->rng, 4) ?
			   (e[-1].block + 1U) % BLOCKS : rnd_below(mk->rng, BLOCKS);
		write_entry(mk, mk->pos + 1 + i, e, torn, torn && i == count - 1);
		fusion_batch_add(header, e);
	}
	mk->batch.prev_csum = mk->batch.csum;
	mk->batch.seq++;
	mk->batch.flushed_seq = mk->landed.seq;
	mk->batch.csum = fusion_batch_seal(mk->sb, &mk->seg[mk->at], mk->pos, &mk->batch, header);
	write_raw(mk, mk->at, mk->pos, header);
	if (!mk->pos)
		mk->first_seq[mk->at] = mk->batch.seq;
	mk->entries[mk->at][mk->pos] = (struct fusion_entry){
		FUSION_LANDING_HEAD, count, mk->batch.csum };
	mk->pos += 1 + count;
}

/* Half of the segments that are full have a summary. */
static void write_summaries(struct making *mk)
{
	u8 block[FUSION_BLOCK_SIZE];
	u32 i;

	for (i = 0; i < mk->at; i++) {
		struct fusion_summary summary = {
			.first_seq = mk->first_seq[i],
			.flushed_seq = mk->landed.seq,
			.end = mk->end[i],
		};

		if (rnd_below(mk->rng, 2))
			continue;
		fusion_summary_pack(mk->sb, &mk->seg[i], 0, &summary, mk->entries[i], block);
		write_raw(mk, i, fusion_segment_room(mk->sb), block);
	}
}

/* Blocks that the batches of a segment take so far. */
static u32 filled(const struct making *mk, u32 seg)
{
	return seg < mk->at ? mk->end[seg] : mk->pos;
}

/* Is there a newer one of the block, among those so far? */
static bool superseded(const struct making *mk, u32 seg, u32 pos)
{
	const struct fusion_entry *e = &mk->entries[seg][pos], *other;

	for (pos++; seg < mk->nr && seg <= mk->at; seg++, pos = 0) {
		for (; pos < filled(mk, seg); pos++) {
			other = &mk->entries[seg][pos];
			if (other->lext == e->lext && other->block == e->block)
				return true;
		}
	}
	return false;
}

/* All batches so far are durable; bits of blocks that newer ones have superseded may be clear. */
static void commit(struct making *mk)
{
	u32 seg, pos;

	if (!mk->batch.seq)
		return;
	advance(mk);
	for (seg = 0; seg < mk->at; seg++)
		mk->seg[seg].end = mk->end[seg];
	for (seg = 0; seg <= min(mk->at, mk->nr - 1); seg++)
		for (pos = 0; pos < filled(mk, seg); pos++)
			if (mk->entries[seg][pos].lext != FUSION_LANDING_HEAD &&
			    superseded(mk, seg, pos) && rnd_below(mk->rng, 2))
				mk->live[seg][pos / 8] &= ~(1 << pos % 8);
	mk->landed = (struct fusion_landed){
		.seq = mk->batch.seq,
		.csum = mk->batch.csum,
		.segno = mk->seg[0].segno + mk->at,
		.pos = mk->pos,
	};
}

static void write_log(struct making *mk)
{
	u32 i, batches = rnd_below(mk->rng, 1U << rnd_below(mk->rng, 7));

	for (i = 0; i < batches && advance(mk); i++) {
		bool torn = i == batches - 1 && !rnd_below(mk->rng, 3);

		write_batch(mk, torn);
		if (!torn && !rnd_below(mk->rng, 4))
			commit(mk);
	}
	write_summaries(mk);
}

/* A transaction that says of the log what the last commit did. */
static void write_journal(struct making *mk)
{
	const struct fusion_sb *sb = mk->sb;
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_record rec;
	u32 i;

	fusion_journal_init(block);
	for (i = 0; i < mk->nr; i++) {
		rec = (struct fusion_record){ .op = FUSION_OP_SEGMENT };
		rec.segment = mk->seg[i];
		fusion_journal_add(sb, block, &rec);
	}
	if (mk->landed.seq || mk->landed.segno != 1 || rnd_below(mk->rng, 2)) {
		rec = (struct fusion_record){ .op = FUSION_OP_LANDED };
		rec.landed = mk->landed;
		fusion_journal_add(sb, block, &rec);
	}
	fusion_journal_seal(sb, block, sb->replay_seq, sb->replay_txn, 0, 1, sb->replay_csum);
	sim_disk_set_block(world->disk[FUSION_FAST], fusion_journal_blocknr(sb, sb->replay_seq),
			   block);
}

static void place_segments(struct making *mk)
{
	const u32 first = mk->sb->nr_fast_slots - mk->sb->landing_slots;
	const u64 segno = rnd_below(mk->rng, 2) ? 1 : 1 + rnd_below(mk->rng, 1000);
	u32 i, turn = rnd_below(mk->rng, mk->sb->landing_slots);

	mk->nr = 1 + rnd_below(mk->rng, min(mk->sb->landing_slots, 6U));
	for (i = 0; i < mk->nr; i++) {
		memset(mk->live[i], 0xff, BLOCKS / 8);
		mk->seg[i] = (struct fusion_segment){
			.slot = first + (i + turn) % mk->sb->landing_slots,
			.segno = segno + i,
			.key = rnd(mk->rng) | 1,
			.live = mk->live[i],
		};
	}
	mk->landed.segno = segno;
}

void landed_begin(const struct fusion_sb *sb)
{
	memset(had, 0, sizeof(had));
	landed_raw_forget();
	logs = sb->incompat & FUSION_INCOMPAT_LANDING;
}

void landed_make(const struct setup *s, struct model *m, u64 *rng)
{
	struct making *mk;

	landed_begin(&s->sb);
	if (!logs)
		return;
	mk = sim_alloc(sizeof(*mk), true);
	mk->sb = &s->sb;
	mk->model = m;
	mk->rng = rng;
	place_extents(mk);
	write_map(mk, FUSION_FAST);
	write_map(mk, FUSION_SLOW);
	place_segments(mk);
	write_log(mk);
	write_journal(mk);
	sim_free(mk);
}

void landed_empty(const struct setup *s, u32 nr)
{
	struct making *mk = sim_alloc(sizeof(*mk), true);
	const u32 first = s->sb.slow_first_slot;
	u32 i;

	landed_begin(&s->sb);
	mk->sb = &s->sb;
	memset32(mk->words, FUSION_WORD_UNMAPPED, FUSION_MAP_PER_BLOCK);
	for (i = 0; i < nr; i++)
		mk->words[i] = fusion_word(FUSION_STABLE, FUSION_SLOW, first + i);
	for (i = 0; i < nr * EXTENT_SECTORS; i++)
		sim_disk_set_stamp(world->disk[FUSION_SLOW], first * EXTENT_SECTORS + i, 0);
	write_map(mk, FUSION_FAST);
	write_map(mk, FUSION_SLOW);
	sim_free(mk);
}
