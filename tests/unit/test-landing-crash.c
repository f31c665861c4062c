// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log in power cut after power cut: of what was written since the last flush, the disk
 * has kept any sectors, and of a commit the first records. The log is opened each time, ends behind
 * all that was flushed, and has what was written up to there.
 */
#include "landing-disk.h"

#define MAX_BATCHES	4096U

struct batch {
	u64 seq;
	u64 segno;
	u32 pos;
	u32 count;
	u32 csum;
};

static struct batch batch[MAX_BATCHES];	/* those that count */
static u32 nr_batches;

/* -- the disk ------------------------------------------------------------------------------ */

static void flush(void)
{
	memcpy(disk, cache, sizeof(disk));
}

/* -- commits ------------------------------------------------------------------------------- */

/* Data first, then the records, perhaps the first ones only. */
static void commit(void)
{
	const u32 end = chance(6) ? rnd_below(&seed, nr_ops + 1) : nr_ops;
	u32 i;

	flush();
	flushed_seq = at.seq;
	for (i = 0; i < end; i++)
		apply_op(&ops[i]);
	if (end < nr_ops)
		power_cut();
	nr_ops = 0;
}

/* -- the writer ---------------------------------------------------------------------------- */

/* Where batches that count end in a segment. */
static u32 end_of(u64 segno)
{
	u32 i, end = 0;

	for (i = 0; i < nr_batches; i++)
		if (batch[i].segno == segno)
			end = batch[i].pos + 1 + batch[i].count;
	return end;
}

/* Record where the segments end that were left. Some blocks of them are dead. */
static void record_ends(void)
{
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		if (!mem[i].seg.key || mem[i].seg.segno >= at.segno)
			continue;
		if (mem[i].seg.end && !chance(4))
			continue;
		mem[i].seg.end = end_of(mem[i].seg.segno);
		mem[i].live[rnd_below(&seed, 2)] &= rnd(&seed);
		record_segment(&mem[i]);
	}
}

/* Give up the oldest ones if there are many. */
static void record_drained(void)
{
	u32 i, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += !!mem[i].seg.key;
	for (i = 0; i < SLOTS; i++)
		if (mem[i].seg.key && mem[i].seg.segno < at.segno && (n > 4 || chance(6))) {
			record_free(&mem[i]);
			n--;
		}
}

static void summarise(const struct part *part)
{
	struct fusion_summary s = { .end = end_of(part->seg.segno), .flushed_seq = flushed_seq };
	struct fusion_entry entries[BLOCKS] = {};
	u32 i, k;

	for (i = nr_batches; i--; ) {
		const struct batch *b = &batch[i];

		if (b->segno != part->seg.segno)
			continue;
		s.first_seq = b->seq;
		entries[b->pos] = (struct fusion_entry){ FUSION_LANDING_HEAD, b->count, b->csum };
		for (k = 0; k < b->count; k++)
			fusion_landing_entry(block_of(&part->seg, b->pos), k,
					     &entries[b->pos + 1 + k]);
	}
	if (s.end)
		fusion_summary_pack(&sb, &part->seg, 0, &s, entries, block_of(&part->seg, 15));
}

/* Write a batch where the log is; its entries are numbered. Return: false if there is no room. */
static bool write_batch(void)
{
	const u32 room = fusion_segment_room(&sb);
	struct fusion_batch b = { .flushed_seq = flushed_seq, .prev_csum = at.csum };
	struct fusion_entry e;
	struct part *part;
	u32 count, i;

	if (at.pos + 2 > room) {
		if (chance(2))
			summarise(part_of(at.segno));
		at.segno++;
		at.pos = 0;
	}
	part = part_of(at.segno);
	if (!part)
		return false;
	count = min(1 + (u32)rnd_below(&seed, 6), room - at.pos - 1);
	b.seq = at.seq + 1;
	fusion_batch_init(block_of(&part->seg, at.pos));
	for (i = 0; i < count; i++) {
		u8 *data = block_of(&part->seg, at.pos + 1 + i);

		rnd_fill(&seed, data, 512);
		memset(data + 512, (int)rnd(&seed), FUSION_BLOCK_SIZE - 512);
		e = (struct fusion_entry){ .lext = (u32)b.seq % sb.nr_lexts, .block = i,
					   .crc = fusion_landing_crc(data) };
		REQUIRE(fusion_batch_add(block_of(&part->seg, at.pos), &e));
	}
	at.csum = fusion_batch_seal(&sb, &part->seg, at.pos, &b, block_of(&part->seg, at.pos));
	at.seq++;
	REQUIRE(nr_batches < MAX_BATCHES);
	batch[nr_batches++] = (struct batch){ at.seq, at.segno, at.pos, count, at.csum };
	at.pos += 1 + count;
	return true;
}

/* Take back the batches behind @nr: their writes have failed, or they came behind one. */
static void make_void(u32 nr, const struct fusion_landed *before)
{
	const u64 touched = at.segno;
	const u32 all = nr_batches;
	u32 i;

	nr_batches = nr;
	at = *before;
	at.segno = touched + 1;
	at.pos = 0;
	for (i = 0; i < SLOTS; i++)
		if (mem[i].seg.key && mem[i].seg.segno <= touched && !end_of(mem[i].seg.segno))
			record_free(&mem[i]);
	record_ends();
	add_op(FUSION_OP_LANDED)->landed = at;
	open_ahead();
	commit();
	/* they may count after all, as long as nothing says that they do not */
	if (cut && from.segno <= touched)
		nr_batches = all;
}

static void fail_some(void)
{
	const struct fusion_landed before = at;
	const u32 nr = nr_batches;

	/* on the disk or not, as the power cut will have it */
	if (!write_batch() || (chance(2) && !write_batch()))
		return;
	make_void(nr, &before);
}

static void ordinary_commit(void)
{
	if (at.pos + 2 > fusion_segment_room(&sb)) {
		at.segno++;
		at.pos = 0;
	}
	record_ends();
	add_op(FUSION_OP_LANDED)->landed = at;
	record_drained();
	open_ahead();
	commit();
}

/* -- opening ------------------------------------------------------------------------------- */

static u32 next_batch, next_entry;

/* Is it the live entry that comes next, of the segments that are listed? */
static int apply_entry(void *ctx, const struct fusion_segment *seg, u32 pos,
		       const struct fusion_entry *e)
{
	const struct batch *b;

	(void)ctx;
	for (;;) {
		REQUIRE(next_batch < nr_batches);
		b = &batch[next_batch];
		if (b->segno == seg->segno && b->pos + 1 + next_entry == pos)
			break;
		REQUIRE(b->segno <= seg->segno);
		if (++next_entry >= b->count) {
			next_batch++;
			next_entry = 0;
		}
	}
	REQUIRE_EQ(e->lext, b->seq % sb.nr_lexts);
	REQUIRE_EQ(e->block, next_entry);
	REQUIRE_EQ(e->crc, fusion_landing_crc(block_of(seg, pos)));
	return 0;
}

/* How many entries are live, of the first batches up to that one? */
static u64 live_entries(u32 nr, u64 seq)
{
	u64 n = 0;
	u32 i, k, j;

	for (i = 0; i < nr_batches && batch[i].seq <= seq; i++)
		for (k = 0; k < nr; k++)
			for (j = 0; j < batch[i].count; j++)
				n += list[k].segno == batch[i].segno &&
				     fusion_segment_live(&list[k], batch[i].pos + 1 + j);
	return n;
}

static void replay(struct fusion_landing *l)
{
	int r;

	memset(l, 0, sizeof(*l));
	l->sb = &sb;
	l->seg = list;
	l->nr = list_segments();
	l->from = from;
	l->read = read_block;
	l->apply = apply_entry;
	next_batch = 0;
	next_entry = 0;
	r = fusion_landing_replay(l);
	REQUIRE(!r, "%d: %s, segment %llu, block %u", r, l->why,
		l->bad ? (unsigned long long)l->bad->segno : 0, l->bad_pos);
	REQUIRE_EQ(l->nr_entries, live_entries(l->nr, l->at.seq));
}

/* Open the log after a power cut, and begin the next epoch; power may fail again. */
static void open_log(void)
{
	struct fusion_landing l;
	u32 i;

	cut = false;
	replay(&l);
	REQUIRE(l.at.seq >= flushed_seq);
	REQUIRE(!nr_batches || l.at.seq <= batch[nr_batches - 1].seq);
	while (nr_batches && batch[nr_batches - 1].seq > l.at.seq)
		nr_batches--;
	memcpy(mem, parts, sizeof(mem));
	at = l.at;
	for (i = 0; i < SLOTS; i++)
		if (mem[i].seg.key && mem[i].seg.segno >= at.segno && !end_of(mem[i].seg.segno))
			record_free(&mem[i]);
	last_segno = max(last_segno, at.segno);
	at.segno = last_segno + 1;
	at.pos = 0;
	record_ends();
	add_op(FUSION_OP_LANDED)->landed = at;
	open_ahead();
	commit();
	sb.epoch += !cut;
}

static void live(void)
{
	u32 steps = 5 + rnd_below(&seed, 40);

	while (steps-- && !cut) {
		switch (rnd_below(&seed, 8)) {
		case 0:
			flush();
			flushed_seq = at.seq;
			break;
		case 1:
			ordinary_commit();
			break;
		case 2:
			if (chance(3))
				fail_some();
			break;
		default:
			if (!write_batch())
				ordinary_commit();
		}
	}
	if (!cut)
		power_cut();
}

static void test_power_cuts(void)
{
	u32 round, lives;

	for (round = 0; round < 60; round++) {
		seed = round;
		disk_init();
		nr_batches = 0;
		nr_ops = 0;
		for (lives = 0; lives < 25; lives++) {
			do {
				open_log();
			} while (cut);
			live();
		}
	}
}

static const struct unit_test tests[] = {
	{ "landing: power cut after power cut", test_power_cuts },
};

UNIT_TESTS(tests)
