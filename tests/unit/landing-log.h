/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A landing log as a module would write it, in memory, with a record of what a replay has to find.
 */
#ifndef LANDING_LOG_H
#define LANDING_LOG_H

#include <errno.h>

#include "dm-fusion-landing.h"
#include "unit.h"

#define LOG_SEGMENTS	6U
#define LOG_BLOCKS	64U		/* of a segment, unless it is a large one */
#define MAX_BATCHES	256U
#define MAX_ENTRIES	4096U

/* A batch of the history, and where its entries end. */
struct kept_batch {
	u64 seq;
	u64 flushed_seq;
	u32 seg;
	u32 pos;
	u32 count;
	u32 nr_entries;			/* of this and all before */
	u32 csum;
};

struct kept_entry {
	u32 seg;
	u32 pos;
	struct fusion_entry entry;
};

struct landing_log {
	struct fusion_sb sb;
	u64 seed;
	struct fusion_segment seg[LOG_SEGMENTS];
	u32 nr;				/* that the journal lists, from seg[0] on */
	u8 live[LOG_SEGMENTS][FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / 8];
	u8 *mem[LOG_SEGMENTS];
	struct fusion_landed from;

	/* the writer's position */
	u32 cur;
	u32 pos;
	u64 flushed_seq;
	struct kept_batch batch[MAX_BATCHES];
	u32 nr_batches;
	struct kept_entry entry[MAX_ENTRIES];
	u32 nr_entries;
	const u32 *lexts;		/* the extents that entries are of, or NULL: any */
	u32 nr_lexts;
	/* called with the data of an entry, which it may change; or NULL */
	void (*put)(u32 lext, u32 block, u8 *data);

	/* what replay did */
	u32 next;			/* entry of the history */
	u32 nr_wrong;
	u32 ends[LOG_SEGMENTS];		/* of segments behind @from */
	u32 refuse;			/* entry to refuse, or U32_MAX */
	u32 unreadable[2][2];		/* segment and block; or U32_MAX */
};

static inline u8 *log_block(struct landing_log *g, u32 seg, u32 pos)
{
	return g->mem[seg] + (size_t)pos * FUSION_BLOCK_SIZE;
}

static inline u64 log_next_seq(const struct landing_log *g)
{
	return g->nr_batches ? g->batch[g->nr_batches - 1].seq + 1 : g->from.seq + 1;
}

static inline void log_exit(struct landing_log *g)
{
	u32 i;

	for (i = 0; i < LOG_SEGMENTS; i++) {
		free(g->mem[i]);
		g->mem[i] = NULL;
	}
}

/* An empty log, in slots that are full of what was there before. */
static inline void log_init(struct landing_log *g, u32 extent_sectors, u64 seed)
{
	const size_t size = extent_sectors * 512ULL;
	u32 i;

	log_exit(g);
	memset(g, 0, sizeof(*g));
	g->seed = seed;
	example_sb(&g->sb, 128ULL * extent_sectors, 512ULL * extent_sectors, extent_sectors);
	g->sb.flags = 0;
	g->nr = LOG_SEGMENTS;
	g->from = (struct fusion_landed){ .seq = 1000, .csum = 0x55, .segno = 77 };
	for (i = 0; i < LOG_SEGMENTS; i++) {
		g->seg[i] = (struct fusion_segment){
			.slot = (i * 5 + 3) % g->sb.nr_fast_slots,
			.segno = g->from.segno + i,
			.key = rnd(&g->seed) | 1,
			.live = g->live[i],
		};
		memset(g->live[i], 0xff, fusion_segment_blocks(&g->sb) / 8);
		g->mem[i] = malloc(size);
		REQUIRE(g->mem[i]);
		memset(g->mem[i], 0x5a + i, size);
	}
	g->flushed_seq = g->from.seq;
	g->refuse = U32_MAX;
	memset(g->unreadable, 0xff, sizeof(g->unreadable));
}

/* Go on in the next segment if this one is full. */
static inline void log_advance(struct landing_log *g)
{
	if (g->pos + 2 > fusion_segment_room(&g->sb)) {
		g->cur++;
		g->pos = 0;
	}
	REQUIRE(g->cur < LOG_SEGMENTS);
}

/* Write the next batch, of @count blocks or as many as fit. */
static inline struct kept_batch *log_batch(struct landing_log *g, u32 count)
{
	struct kept_batch *k = &g->batch[g->nr_batches];
	struct fusion_batch b = { .seq = log_next_seq(g), .flushed_seq = g->flushed_seq };
	u8 header[FUSION_BLOCK_SIZE];
	u32 i;

	log_advance(g);
	count = min(count, fusion_segment_room(&g->sb) - g->pos - 1);
	b.prev_csum = g->nr_batches ? k[-1].csum : g->from.csum;
	fusion_batch_init(header);
	for (i = 0; i < count; i++) {
		struct kept_entry *e = &g->entry[g->nr_entries++];
		u8 *data = log_block(g, g->cur, g->pos + 1 + i);

		REQUIRE(g->nr_entries <= MAX_ENTRIES);
		rnd_fill(&g->seed, data, FUSION_BLOCK_SIZE);
		e->seg = g->cur;
		e->pos = g->pos + 1 + i;
		e->entry.lext = g->lexts ? g->lexts[rnd_below(&g->seed, g->nr_lexts)] :
				rnd_below(&g->seed, g->sb.nr_lexts);
		e->entry.block = rnd_below(&g->seed, fusion_segment_blocks(&g->sb));
		if (g->put)
			g->put(e->entry.lext, e->entry.block, data);
		e->entry.crc = fusion_landing_crc(data);
		REQUIRE(fusion_batch_add(header, &e->entry));
	}
	k->csum = fusion_batch_seal(&g->sb, &g->seg[g->cur], g->pos, &b, header);
	memcpy(log_block(g, g->cur, g->pos), header, sizeof(header));
	k->seq = b.seq;
	k->flushed_seq = b.flushed_seq;
	k->seg = g->cur;
	k->pos = g->pos;
	k->count = count;
	k->nr_entries = g->nr_entries;
	g->pos += 1 + count;
	REQUIRE(++g->nr_batches < MAX_BATCHES);
	return k;
}

/* Blocks that the batches of the history take in a segment. */
static inline u32 log_end(const struct landing_log *g, u32 seg)
{
	u32 i, end = 0;

	for (i = 0; i < g->nr_batches; i++)
		if (g->batch[i].seg == seg)
			end = g->batch[i].pos + 1 + g->batch[i].count;
	return end;
}

/* Write the summary of a segment. */
static inline void log_summary(struct landing_log *g, u32 seg)
{
	const u32 room = fusion_segment_room(&g->sb);
	struct fusion_summary s = { .end = log_end(g, seg), .flushed_seq = g->flushed_seq };
	struct fusion_entry *entries = calloc(room, sizeof(*entries));
	u32 i;

	REQUIRE(entries);
	for (i = g->nr_batches; i--; ) {
		if (g->batch[i].seg != seg)
			continue;
		s.first_seq = g->batch[i].seq;
		entries[g->batch[i].pos] = (struct fusion_entry){
			FUSION_LANDING_HEAD, g->batch[i].count, g->batch[i].csum };
	}
	for (i = 0; i < g->nr_entries; i++)
		if (g->entry[i].seg == seg)
			entries[g->entry[i].pos] = g->entry[i].entry;
	for (i = 0; i < fusion_summary_blocks(&g->sb); i++)
		fusion_summary_pack(&g->sb, &g->seg[seg], i, &s, entries,
				    log_block(g, seg, room + i));
	free(entries);
}

/* All that is there is durable: what the next batches and the replay are to know of it. */
static inline void log_flush(struct landing_log *g)
{
	g->flushed_seq = log_next_seq(g) - 1;
}

/* A commit: the log is durable up to here. */
static inline void log_land(struct landing_log *g)
{
	u32 i;

	log_flush(g);
	if (!g->nr_batches)
		return;
	log_advance(g);
	g->from.seq = g->flushed_seq;
	g->from.csum = g->batch[g->nr_batches - 1].csum;
	g->from.segno = g->seg[g->cur].segno;
	g->from.pos = g->pos;
	for (i = 0; i < g->cur; i++)
		g->seg[i].end = log_end(g, i);
}

/* -- replay -------------------------------------------------------------------------------- */

static inline const void *log_read(void *ctx, const struct fusion_segment *seg, u32 pos)
{
	struct landing_log *g = ctx;
	const u32 i = seg - g->seg;

	REQUIRE(i < g->nr);
	REQUIRE(pos < fusion_segment_blocks(&g->sb));
	if ((i == g->unreadable[0][0] && pos == g->unreadable[0][1]) ||
	    (i == g->unreadable[1][0] && pos == g->unreadable[1][1]))
		return NULL;
	return log_block(g, i, pos);
}

/* Is it the live entry that comes next in the history? */
static inline int log_apply(void *ctx, const struct fusion_segment *seg, u32 pos,
			    const struct fusion_entry *e)
{
	struct landing_log *g = ctx;
	const struct kept_entry *k = &g->entry[g->next];

	REQUIRE(e->lext < g->sb.nr_lexts);
	REQUIRE(e->block < fusion_segment_blocks(&g->sb));
	while (g->next < g->nr_entries && !fusion_segment_live(&g->seg[k->seg], k->pos)) {
		g->next++;
		k++;
	}
	if (g->next == g->refuse)
		return -ENOMEM;
	g->next++;
	g->nr_wrong += g->next > g->nr_entries || seg != &g->seg[k->seg] || pos != k->pos ||
		       e->lext != k->entry.lext || e->block != k->entry.block ||
		       e->crc != k->entry.crc;
	return 0;
}

static inline void log_ends(void *ctx, const struct fusion_segment *seg, u32 end)
{
	struct landing_log *g = ctx;

	REQUIRE(!g->ends[seg - g->seg]);
	g->ends[seg - g->seg] = end;
}

static inline int log_replay(struct landing_log *g, struct fusion_landing *l)
{
	memset(l, 0, sizeof(*l));
	l->sb = &g->sb;
	l->seg = g->seg;
	l->nr = g->nr;
	l->from = g->from;
	l->read = log_read;
	l->apply = log_apply;
	l->ends = log_ends;
	l->ctx = g;
	memset(g->ends, 0, sizeof(g->ends));
	g->next = 0;
	g->nr_wrong = 0;
	return fusion_landing_replay(l);
}

/* Where segments behind @from end, if the first @nr batches are found. */
static inline void log_expect_ends(const struct landing_log *g, u32 nr)
{
	u32 want[LOG_SEGMENTS] = {}, i;

	for (i = 0; i < g->nr; i++)
		if (g->seg[i].segno == g->from.segno)
			want[i] = g->from.pos;
	for (i = 0; i < nr; i++)
		if (g->batch[i].seq > g->from.seq)
			want[g->batch[i].seg] = g->batch[i].pos + 1 + g->batch[i].count;
	for (i = 0; i < g->nr; i++)
		REQUIRE_EQ(g->ends[i], want[i]);
}

/* The replay must find the first @nr batches of the history. */
static inline void log_expect(struct landing_log *g, u32 nr)
{
	const u32 end = nr ? g->batch[nr - 1].nr_entries : 0;
	struct fusion_landing l;
	const int err = log_replay(g, &l);
	u32 i, live = 0;

	REQUIRE(!err, "%d: %s, block %u", err, l.why, l.bad_pos);
	for (i = 0; i < end; i++)
		live += fusion_segment_live(&g->seg[g->entry[i].seg], g->entry[i].pos);
	REQUIRE_EQ(l.nr_entries, live);
	REQUIRE_EQ(g->nr_wrong, 0);
	REQUIRE_EQ(l.at.seq, nr ? g->batch[nr - 1].seq : g->from.seq);
	REQUIRE_EQ(l.at.csum, nr ? g->batch[nr - 1].csum : g->from.csum);
	log_expect_ends(g, nr);
}

/* The replay must fail. */
static inline void log_expect_error(struct landing_log *g, int error, const char *text)
{
	struct fusion_landing l;
	const int err = log_replay(g, &l);

	REQUIRE(err == error, "%d instead of %d: %s", err, error, l.why);
	REQUIRE(l.why && strstr(l.why, text), "%s, not %s", l.why, text);
}

#endif
