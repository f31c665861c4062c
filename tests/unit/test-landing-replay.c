// SPDX-License-Identifier: GPL-2.0-only
/* Replay of the landing log: what a power cut may leave is found, all else is refused. */
#include "landing-log.h"

static struct landing_log log, *g = &log;

/* Some batches of random lengths, now and then a flush, a commit, a summary. */
static void live(u32 nr, u32 longest)
{
	while (nr--) {
		const u32 seg = g->cur;

		log_batch(g, 1 + rnd_below(&g->seed, longest));
		log_advance(g);
		if (seg != g->cur && rnd_below(&g->seed, 2))
			log_summary(g, seg);
		if (!rnd_below(&g->seed, 4))
			log_flush(g);
		if (!rnd_below(&g->seed, 6))
			log_land(g);
	}
}

/* What was on the disk before the blocks from @pos on were written. */
static u8 *save(u32 seg)
{
	const size_t size = g->sb.extent_sectors * 512ULL;
	u8 *copy = malloc(size);

	REQUIRE(copy);
	memcpy(copy, g->mem[seg], size);
	return copy;
}

static void test_history(void)
{
	u32 round, i;

	for (round = 0; round < 60; round++) {
		log_init(g, 128U << round % 3, round);
		log_expect(g, 0);
		for (i = 0; i < 7 + round % 3 * 9; i++) {
			live(1, 1 + round % 12);
			/* the journal knows of a block that is dead, be it of a header */
			if (round % 4 == 3)
				g->live[g->cur][rnd_below(&g->seed, 2)] &= rnd(&g->seed);
			log_expect(g, g->nr_batches);
		}
	}
}

/* A segment of 4096 blocks has a summary of 13. */
static void test_large_segment(void)
{
	u32 end;

	log_init(g, 32768, 1);
	while (log_end(g, 0) + 2 <= fusion_segment_room(&g->sb) - 64)
		log_batch(g, 63);
	log_expect(g, g->nr_batches);
	end = log_end(g, 0);
	log_land(g);
	log_summary(g, 0);
	/* neither headers nor data are looked at */
	memset(g->mem[0], 0, (size_t)end * FUSION_BLOCK_SIZE);
	log_expect(g, g->nr_batches);
	/* half a summary is none */
	memset(log_block(g, 0, fusion_segment_room(&g->sb) + 12), 0, 8);
	log_expect_error(g, -EILSEQ, "that was durable is missing");
	log_exit(g);
}

/* The last batch torn: only its first sectors, all but one, or any. */
static void test_torn(void)
{
	u32 count, nr, i, mask, from;
	u8 *before, *after;

	for (count = 1; count < 6; count++) {
		log_init(g, 256, count);
		live(3, 4);
		log_advance(g);
		before = save(g->cur);
		REQUIRE_EQ(log_batch(g, count)->count, count);
		after = save(g->cur);
		from = g->batch[g->nr_batches - 1].pos * 8;
		nr = (1 + count) * 8;
		for (i = 0; i < 3 * nr; i++) {
			memcpy(g->mem[g->cur], after, g->sb.extent_sectors * 512ULL);
			for (mask = 0; mask < nr; mask++)
				if (i < nr ? mask >= i : i < 2 * nr ? mask == i - nr :
				    mask == i - 2 * nr || !rnd_below(&g->seed, 2))
					memcpy(g->mem[g->cur] + (from + mask) * 512ULL,
					       before + (from + mask) * 512ULL, 512);
			log_expect(g, g->nr_batches - 1);
		}
		memcpy(g->mem[g->cur], after, g->sb.extent_sectors * 512ULL);
		log_expect(g, g->nr_batches);
		free(before);
		free(after);
	}
}

/* Nothing was flushed: any of the batches may be missing, and those behind it are there. */
static void test_any_torn(void)
{
	u32 round, i, first;

	for (round = 0; round < 100; round++) {
		log_init(g, 128, round);
		live(3, 6);
		log_land(g);
		first = g->nr_batches;
		for (i = 0; i < 8; i++)
			log_batch(g, 1 + rnd_below(&g->seed, 6));
		log_summary(g, g->cur);
		for (i = first + rnd_below(&g->seed, 8); first < g->nr_batches; first++)
			if (first == i || (first > i && rnd_below(&g->seed, 2)))
				flip_bit(log_block(g, g->batch[first].seg, g->batch[first].pos +
						   rnd_below(&g->seed, 1 + g->batch[first].count)),
					 rnd_below(&g->seed, BLOCK_BITS));
		log_expect(g, i);
	}
}

/* Batches of an earlier segment in the same slot, of another key, moved, or of the next opening. */
static void test_stale(void)
{
	const struct fusion_segment seg = (log_init(g, 256, 1), g->seg[0]);
	struct fusion_batch b = { .seq = g->from.seq + 1, .prev_csum = g->from.csum };
	struct fusion_entry e = { .lext = 1 };
	u32 kind;

	e.crc = fusion_landing_crc(log_block(g, 0, 1));
	for (kind = 0; kind < 5; kind++) {
		struct fusion_sb sb = g->sb;
		struct fusion_segment of = seg;
		u8 *block = log_block(g, 0, 0);

		of.segno -= kind == 1;
		of.key ^= kind == 2;
		of.slot += kind == 3;
		sb.epoch += kind == 4;
		fusion_batch_init(block);
		REQUIRE(fusion_batch_add(block, &e));
		fusion_batch_seal(&sb, &of, 0, &b, block);
		if (kind == 4) {
			log_expect_error(g, -EILSEQ, "later opening");
		} else {
			struct fusion_landing l;

			g->nr_entries = 1;
			g->entry[0] = (struct kept_entry){ 0, 1, e };
			REQUIRE_EQ(log_replay(g, &l), 0);
			REQUIRE_EQ(l.nr_entries, !kind);
			REQUIRE_EQ(l.at.seq, g->from.seq + !kind);
			REQUIRE_EQ(l.at.pos, kind ? 0 : 2);
		}
	}
	/* of the next opening, beyond the end */
	g->sb.epoch++;
	fusion_batch_init(log_block(g, 1, 9));
	REQUIRE(fusion_batch_add(log_block(g, 1, 9), &e));
	fusion_batch_seal(&g->sb, &g->seg[1], 9, &b, log_block(g, 1, 9));
	g->sb.epoch--;
	log_expect_error(g, -EILSEQ, "later opening");
}

/* A user had written what looks like a batch, and the slot became a segment later. */
static void test_forged_data(void)
{
	struct landing_log *was = malloc(sizeof(*was));
	u32 i;

	REQUIRE(was);
	log_init(g, 128, 3);
	*was = *g;
	for (i = 0; i < 4; i++)
		log_batch(g, 3);
	/* all right but for the key */
	for (i = 0; i < LOG_SEGMENTS; i++)
		was->seg[i].key = rnd(&was->seed) | 1;
	*g = *was;
	for (i = 0; i < LOG_SEGMENTS; i++)
		g->seg[i].live = g->live[i];
	log_expect(g, 0);
	free(was);
}

/* A summary is on the disk before the data that it lists. */
static void test_summary_ahead(void)
{
	u32 lost, at;

	for (at = 0; at <= 7; at++) {
		for (lost = at; lost < 7; lost++) {
			u32 i;

			log_init(g, 256, at * 10 + lost);
			for (i = 0; i < 7; i++) {
				if (i == at)
					log_land(g);
				log_batch(g, 3);
			}
			log_summary(g, 0);
			/* what is durable is not looked at, the rest is */
			for (i = 0; i < at; i++)
				flip_bit(log_block(g, 0, g->batch[i].pos + 2), 77);
			flip_bit(log_block(g, 0, g->batch[lost].pos + lost % 4), 99);
			log_expect(g, lost);
		}
	}
	/* it lists fewer batches than are durable, or others */
	log_init(g, 256, 5);
	for (at = 0; at < 4; at++)
		log_batch(g, 3);
	log_summary(g, 0);
	log_batch(g, 3);
	log_land(g);
	log_expect_error(g, -EILSEQ, "of other batches");
	g->batch[0].count = 2;
	log_summary(g, 0);
	log_expect_error(g, -EILSEQ, "has other batches");
	g->batch[0].count = 3;
	g->batch[4].csum ^= 1;
	log_summary(g, 0);
	log_expect_error(g, -EILSEQ, "does not lead to where it goes on");
	/* without it, the headers say what is there */
	memset(log_block(g, 0, fusion_segment_room(&g->sb)), 0, 4);
	g->batch[4].csum ^= 1;
	log_expect(g, 5);
	flip_bit(log_block(g, 0, g->batch[2].pos), 2000);
	log_expect_error(g, -EILSEQ, "that was durable is missing");
}

/* One batch is missing. Did any that was written later say that it was durable? */
static void test_gap(void)
{
	u32 round, lost, i;
	bool proof;

	for (round = 0; round < 300; round++) {
		struct kept_batch *k;

		log_init(g, 128 << round % 2, round);
		for (i = 0; i < 9; i++) {
			log_batch(g, 1 + rnd_below(&g->seed, 5));
			if (!rnd_below(&g->seed, 3))
				log_flush(g);
			if (i == 2 && round % 3 == 1)
				log_land(g);
		}
		if (round % 5 == 1)
			log_summary(g, g->cur);
		lost = rnd_below(&g->seed, 9);
		k = &g->batch[lost];
		flip_bit(log_block(g, k->seg, k->pos + rnd_below(&g->seed, 1 + k->count)), 8000);
		proof = round % 5 == 1 && g->flushed_seq >= k->seq;
		for (i = lost + 1; i < 9; i++)
			proof |= g->batch[i].flushed_seq >= k->seq;
		if (k->seq <= g->from.seq)
			continue;	/* test_durable_lost() */
		if (proof)
			log_expect_error(g, -EILSEQ, "that was durable is missing");
		else
			log_expect(g, lost);
	}
}

/* Batches that the journal calls durable, in segments with and without a summary. */
static void test_durable_lost(void)
{
	u32 i;

	for (i = 0; i < 12; i++) {
		log_init(g, 128, i);
		while (g->nr_batches < 12)
			log_batch(g, 4);
		log_land(g);
		log_expect(g, 12);
		memset(log_block(g, g->batch[i].seg, g->batch[i].pos), 0, 512);
		log_expect_error(g, -EILSEQ, "that was durable is missing");
		/* unless none of its segment is live any more */
		memset(g->live[g->batch[i].seg], 0, 2);
		log_expect(g, 12);
	}
	/* the record says that it was filled, and it was not */
	log_init(g, 128, 1);
	log_batch(g, 4);
	g->seg[0].end = 5;
	log_expect(g, 1);
	g->seg[0].end = 8;
	log_expect_error(g, -EILSEQ, "that was durable is missing");
	g->seg[0].end = 4;
	log_expect_error(g, -EILSEQ, "behind the end");
	g->seg[0].end = 0;
	g->seg[1].end = 5;
	log_expect_error(g, -EILSEQ, "that was durable is missing");
}

/* Well sealed, and yet not what a writer can have written. */
static void test_forged(void)
{
	struct fusion_landing_block *d;

	log_init(g, 256, 1);
	log_batch(g, 2);
	d = (void *)log_block(g, 0, log_batch(g, 2)->pos);
	d->prev_csum ^= cpu_to_le32(1);
	reseal(d);
	log_expect_error(g, -EILSEQ, "chain of batches is broken");
	d->prev_csum ^= cpu_to_le32(1);
	d->seq = cpu_to_le64(g->from.seq + 3);
	reseal(d);
	log_expect_error(g, -EILSEQ, "out of order");
	d->seq = cpu_to_le64(g->from.seq + 2);
	d->entry[1].lext = cpu_to_le32(g->sb.nr_lexts);
	reseal(d);
	log_expect_error(g, -EILSEQ, "out of bounds");

	log_init(g, 256, 1);
	log_batch(g, 2);
	log_land(g);
	g->from.csum ^= 1;
	log_expect_error(g, -EILSEQ, "does not lead to where it goes on");
	g->from.csum ^= 1;
	g->seg[1].segno = g->seg[0].segno;
	log_expect_error(g, -EILSEQ, "the same number");
	g->seg[1].segno++;
	g->seg[0].end = 2;
	log_expect_error(g, -EILSEQ, "ends before where the landing log goes on");
	g->seg[0].end = 0;
	g->from.segno++;
	log_expect_error(g, -EILSEQ, "was left, but not where it ends");
	g->from.pos = 1000;
	log_expect_error(g, -EILSEQ, "no room");
}

/* A block that cannot be read is a torn one, unless something proves more. */
static void test_unreadable(void)
{
	log_init(g, 128, 1);
	while (g->nr_batches < 8)
		log_batch(g, 3);
	g->unreadable[0][0] = g->batch[5].seg;
	g->unreadable[0][1] = g->batch[5].pos;
	log_expect(g, 5);
	g->unreadable[0][1]++;
	log_expect(g, 5);
	/* another one, far behind */
	g->unreadable[1][0] = LOG_SEGMENTS - 1;
	g->unreadable[1][1] = 15;
	log_expect(g, 5);
	log_init(g, 1024, 1);
	log_batch(g, 3);
	g->unreadable[0][0] = 0;
	g->unreadable[0][1] = 0;
	g->unreadable[1][0] = 0;
	g->unreadable[1][1] = FUSION_LANDING_TORN - 1;
	log_expect(g, 0);
	g->unreadable[1][0] = 1;
	g->unreadable[1][1] = 0;
	log_expect_error(g, -EIO, "may go on behind");
	g->sb.flags |= FUSION_SB_CLEAN;
	log_expect(g, 0);
	log_flush(g);
	log_batch(g, 3);
	log_expect_error(g, -EIO, "cannot be read");
	log_land(g);
	log_expect_error(g, -EIO, "cannot be read");
	log_summary(g, 0);
	log_expect(g, 2);
	/* and the summary instead */
	g->unreadable[0][1] = fusion_segment_room(&g->sb);
	log_expect(g, 2);
}

/*
 * The write of batch 2 fails, while batch 3 is written, in the same segment or the next. Both are
 * written again in one that has none yet. The records of that come in any number.
 */
static void test_write_error(void)
{
	u32 split, records;

	for (split = 0; split < 2; split++) {
		for (records = 0; records < 4; records++) {
			struct fusion_segment third;
			u64 seq;

			log_init(g, 128, split);
			log_batch(g, 3);
			seq = log_batch(g, 3)->seq;
			log_batch(g, split ? 6 : 3);
			flip_bit(log_block(g, 0, g->batch[1].pos + 1), 1);
			if (split)
				log_batch(g, 3);
			third = g->seg[2];
			/* SEGFREE of the one with void batches alone, then SEGMENT, then LANDED */
			if (records > 0 && split) {
				g->nr--;
				memmove(&g->seg[1], &g->seg[2], (g->nr - 1) * sizeof(g->seg[0]));
				free(g->mem[1]);
				memmove(&g->mem[1], &g->mem[2], (g->nr - 1) * sizeof(g->mem[0]));
				g->mem[g->nr] = NULL;
			}
			if (records > 1)
				g->seg[0].end = 4;
			if (records > 2)
				g->from = (struct fusion_landed){
					seq - 1, g->batch[0].csum,
					split ? third.segno : g->seg[1].segno, 0 };
			log_expect(g, 1);
			if (records < 3)
				continue;
			g->nr_batches = 1;
			g->nr_entries = 3;
			g->cur = 1;
			g->pos = 0;
			log_flush(g);
			log_batch(g, 3);
			log_batch(g, 3);
			log_expect(g, 3);
		}
	}
}

/* Each opening begins with a segment of its own, and what was torn before stays void. */
static void test_openings(void)
{
	struct fusion_landing l;
	u32 round, tail;

	log_init(g, 128, 7);
	for (round = 0; round < 5; round++) {
		log_batch(g, 2);
		log_batch(g, 3);
		/* two that are torn; of the first the data, of the second nothing */
		log_batch(g, 2);
		log_batch(g, 2);
		flip_bit(log_block(g, g->cur, g->batch[g->nr_batches - 2].pos + 1), 5);
		g->nr_batches -= 2;
		g->nr_entries -= 4;
		log_expect(g, g->nr_batches);
		REQUIRE_EQ(log_replay(g, &l), 0);
		tail = l.at.pos;
		REQUIRE_EQ(tail, 7);
		REQUIRE_EQ(l.nr_walked, 2);
		g->seg[g->cur].end = tail;
		log_expect(g, g->nr_batches);
		g->from = l.at;
		g->from.segno++;
		g->from.pos = 0;
		log_expect(g, g->nr_batches);
		g->sb.epoch++;
		g->cur++;
		g->pos = 0;
		log_flush(g);
	}
}

/* The caller's refusal ends the replay at once, and is passed on. */
static void test_refusal(void)
{
	struct fusion_landing l;

	log_init(g, 128, 2);
	live(12, 5);
	log_land(g);
	for (g->refuse = 0; g->refuse < g->nr_entries; g->refuse++) {
		REQUIRE_EQ(log_replay(g, &l), -ENOMEM);
		REQUIRE_EQ(l.nr_entries, g->refuse);
		REQUIRE(l.why && l.bad);
	}
	g->nr = 0;
	g->refuse = U32_MAX;
	REQUIRE_EQ(log_replay(g, &l), -EILSEQ);
	g->from.pos = 0;
	log_expect(g, 0);
	log_exit(g);
}

static const struct unit_test tests[] = {
	{ "landing: any history", test_history },
	{ "landing: a summary of many blocks", test_large_segment },
	{ "landing: the last batch torn at each sector", test_torn },
	{ "landing: any batches torn", test_any_torn },
	{ "landing: what the slot had before", test_stale },
	{ "landing: batches with another key", test_forged_data },
	{ "landing: a summary ahead of its data", test_summary_ahead },
	{ "landing: a gap, and proof of a loss", test_gap },
	{ "landing: durable batches are missing", test_durable_lost },
	{ "landing: blocks that no writer writes", test_forged },
	{ "landing: blocks that cannot be read", test_unreadable },
	{ "landing: the write of a batch fails", test_write_error },
	{ "landing: opening after opening", test_openings },
	{ "landing: refusal by the caller", test_refusal },
};

UNIT_TESTS(tests)
