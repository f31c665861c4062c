// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of what was read in simulated time. A segment is lent to copies while the log does not use
 * it, but for the next ones that it gets to. The write of a copy takes the SSD time, and nobody
 * waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "sim-engine.h"

#define FILL_BLOCKS	4U
/* Segments that the log finds free when it gets to them. */
#define AHEAD		2U
#define MOST_ROUNDS	3U
/* Free positions below which a block must have been read before: a part of all. */
#define FEW		16U

bool sim_copies_init(struct sim_engine *e)
{
	struct sim_land *land = &e->land;
	struct sim_copies *c = &e->copies;
	const u32 positions = land->max * land->blocks;

	if (!land->max)
		return true;
	c->block = malloc(positions * sizeof(*c->block));
	c->next = malloc(positions * sizeof(*c->next));
	c->rounds = calloc(positions, 1);
	c->bucket = malloc(positions * sizeof(*c->bucket));
	c->ghost = calloc(positions, sizeof(*c->ghost));
	c->lent = calloc(land->max, 1);
	if (!c->block || !c->next || !c->rounds || !c->bucket || !c->ghost || !c->lent)
		return false;
	memset(c->block, 0xff, positions * sizeof(*c->block));
	memset(c->bucket, 0xff, positions * sizeof(*c->bucket));
	return true;
}

void sim_copies_exit(struct sim_engine *e)
{
	free(e->copies.lent);
	free(e->copies.ghost);
	free(e->copies.bucket);
	free(e->copies.rounds);
	free(e->copies.next);
	free(e->copies.block);
}

/* -- the index ---------------------------------------------------------------------------- */

static u32 *bucket_of(const struct sim_engine *e, u64 block)
{
	return &e->copies.bucket[random64(block) % e->land.nr_buckets];
}

static u32 find(const struct sim_engine *e, u64 block)
{
	u32 pos = *bucket_of(e, block);

	while (pos != SIM_NO_POS && e->copies.block[pos] != block)
		pos = e->copies.next[pos];
	return pos;
}

static void enter(struct sim_engine *e, u32 pos, u64 block)
{
	struct sim_copies *c = &e->copies;
	u32 *head = bucket_of(e, block);

	c->block[pos] = block;
	c->rounds[pos] = 0;
	c->next[pos] = *head;
	*head = pos;
	c->nr++;
}

static void take_out(struct sim_engine *e, u32 pos)
{
	struct sim_copies *c = &e->copies;
	u32 *link = bucket_of(e, c->block[pos]);

	while (*link != pos)
		link = &c->next[*link];
	*link = c->next[pos];
	c->block[pos] = SIM_NO_BLOCK;
	c->nr--;
}

void sim_copies_kill(struct sim_engine *e, u64 first, u64 end)
{
	if (!e->copies.nr)
		return;
	for (u64 block = first; block < end; block++) {
		const u32 pos = find(e, block);

		if (pos != SIM_NO_POS)
			take_out(e, pos);
	}
}

void sim_copies_forget(struct sim_engine *e, u32 lext)
{
	sim_copies_kill(e, (u64)lext * e->land.blocks, ((u64)lext + 1) * e->land.blocks);
}

/* -- segments ------------------------------------------------------------------------------- */

void sim_copies_leave(struct sim_engine *e, u32 segment)
{
	struct sim_copies *c = &e->copies;

	if (!c->lent[segment])
		return;
	for (u32 pos = segment * e->land.blocks; pos < (segment + 1) * e->land.blocks; pos++)
		if (c->block[pos] != SIM_NO_BLOCK)
			take_out(e, pos);
	c->lent[segment] = 0;
	c->nr_lent--;
}

static void lend(struct sim_engine *e)
{
	struct sim_copies *c = &e->copies;
	u32 i = e->land.max;

	if (e->land.nr_free < c->nr_lent + AHEAD + 1)
		return;
	while (i--) {
		if (e->land.segment[i].segno || c->lent[i])
			continue;
		c->lent[i] = 1;
		c->nr_lent++;
		c->hand = i * e->land.blocks;
		return;
	}
}

/* -- which blocks get one -------------------------------------------------------------------- */

static bool seen(struct sim_engine *e, u64 block)
{
	u16 *ghost = &e->copies.ghost[random64(block) % e->land.nr_buckets];
	const u16 trace = random64(block) >> 48 | 1;
	const bool was = *ghost == trace;

	*ghost = trace;
	return was;
}

static u64 all(const struct sim_engine *e)
{
	return (u64)e->copies.nr_lent * e->land.blocks;
}

static bool roomy(struct sim_engine *e)
{
	const struct sim_copies *c = &e->copies;

	if (c->nr + FILL_BLOCKS > all(e))
		lend(e);
	return !c->poor && (e->land.nr_free > c->nr_lent + AHEAD || c->nr + all(e) / FEW < all(e));
}

/* Move the hand on to a position to write to. Return: it, or SIM_NO_POS. */
static u32 turn(struct sim_engine *e)
{
	struct sim_copies *c = &e->copies;

	for (u64 steps = (MOST_ROUNDS + 1) * all(e); steps;) {
		const u32 pos = c->hand;

		c->hand = (pos + 1) % (e->land.max * e->land.blocks);
		if (!c->lent[pos / e->land.blocks])
			continue;
		steps--;
		if (c->block[pos] == SIM_NO_BLOCK)
			return pos;
		if (c->rounds[pos]) {
			c->rounds[pos]--;
			continue;
		}
		take_out(e, pos);
		return pos;
	}
	return SIM_NO_POS;
}

/* A copy was made. Every so often, look whether reads of copies were worth the last ones. */
static void reckon(struct sim_engine *e)
{
	struct sim_copies *c = &e->copies;
	const u64 made = ++e->result->land.copied - c->made_then;

	if (made < e->land.max * e->land.blocks / 4)
		return;
	c->poor = c->served - c->served_then < made / 2;
	c->made_then = e->result->land.copied;
	c->served_then = c->served;
}

void sim_copies_fill(struct sim_engine *e, const struct sim_io *io)
{
	const u64 end = sim_land_end(e, io);
	const u32 word = e->map[io->lext];

	/* as many as the module reads for copies at once */
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW ||
	    e->copies.nr_writes > SIM_MOST_COPIES - FILL_BLOCKS)
		return;
	for (u64 block = sim_land_first(e, io); block < end; block++) {
		u32 pos;

		if (find(e, block) != SIM_NO_POS || sim_land_find(&e->land, block) != SIM_NO_POS)
			continue;
		pos = turn(e);
		if (pos == SIM_NO_POS)
			return;
		enter(e, pos, block);
		reckon(e);
		sim_submit(e, FUSION_FAST, sim_land_byte(e, pos), SIM_BLOCK, true, SIM_ID_COPY);
		e->copies.nr_writes++;
	}
}

bool sim_copies_read(struct sim_engine *e, u32 id)
{
	struct sim_copies *c = &e->copies;
	struct sim_io *io = &e->io[id];
	const u64 first = sim_land_first(e, io), end = sim_land_end(e, io);
	u32 pos = find(e, first);
	u64 block = first;

	while (block < end && find(e, block) != SIM_NO_POS)
		block++;
	if (block == end) {
		for (block = first; block < end; block++) {
			u8 *rounds = &c->rounds[find(e, block)];

			*rounds += *rounds < MOST_ROUNDS;
		}
		if (e->policy && !io->stream)
			fusion_policy_untouch(e->policy, io->lext,
					      fusion_weight(io->bytes >> 9, FUSION_NORMAL));
		e->result->land.copy_reads++;
		c->served += end - first;
		sim_land_send(e, id, pos);
		return true;
	}
	io->fills = !io->stream && !((io->offset | io->bytes) % SIM_BLOCK) &&
		    io->bytes <= FILL_BLOCKS * SIM_BLOCK && (seen(e, first) || roomy(e));
	return false;
}

const char *sim_copies_check(const struct sim_engine *e)
{
	const struct sim_copies *c = &e->copies;
	u32 nr = 0;

	for (u32 pos = 0; pos < e->land.max * e->land.blocks; pos++) {
		u32 word;

		if (c->block[pos] == SIM_NO_BLOCK)
			continue;
		nr++;
		word = e->map[c->block[pos] / e->land.blocks];
		if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW)
			return "an extent of the fast member has copies";
		if (find(e, c->block[pos]) != pos)
			return "a block has two copies";
		if (!c->lent[pos / e->land.blocks] || e->land.segment[pos / e->land.blocks].segno)
			return "the log has a segment with copies";
		if (sim_land_find(&e->land, c->block[pos]) != SIM_NO_POS)
			return "a block has a copy and is in the log";
	}
	return nr != c->nr ? "there is another number of copies" : NULL;
}
