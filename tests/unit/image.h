/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set in two image files, with a life behind it, and what it has to hold. Written with the
 * codec alone, by the rules of Documentation/reference/on-disk-format.rst; what reads it afterwards
 * shares nothing else with it.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define IMAGE_TXNS	4096U

/* One member's journal and map copies. */
struct image_side {
	struct fusion_sb sb;		/* as on the disk */
	u64 next_seq, next_txn;
	u32 csum;
	u64 last_txn_seq;		/* where the last transaction begins */
};

struct image {
	u64 seed;
	u8 *mem[2];
	size_t bytes[2];
	char path[2][64];
	u8 *old[2];			/* of each block the content before the last write */
	u8 *written[2];			/* times */
	struct image_side side[2];

	/* what the set holds */
	u32 *word;
	u8 (*bitmap)[512];
	u32 *before;			/* the same without the last transaction */
	u64 *changed;			/* transaction of the fast member that changed it last */
	u32 *shadow;			/* that the replica names of an extent, or 0 */
	bool shadows;			/* it names some */
	u64 point;			/* when it was brought up to date */
	bool *slow_used, *fast_used;
	u32 *content[2];		/* of each slot: the extent that had it last, or U32_MAX */
	u32 nr_open;
};

static inline void image_write(struct image *im, int dev, u64 block, const void *data)
{
	u8 *to = im->mem[dev] + block * FUSION_BLOCK_SIZE;

	REQUIRE((block + 1) * FUSION_BLOCK_SIZE <= im->bytes[dev]);
	memcpy(im->old[dev] + block * FUSION_BLOCK_SIZE, to, FUSION_BLOCK_SIZE);
	im->written[dev][block]++;
	memcpy(to, data, FUSION_BLOCK_SIZE);
}

/* What a member says of an extent. */
static inline u32 image_word(const struct image *im, int dev, u32 lext)
{
	return dev == FUSION_SLOW && im->shadow[lext] ? im->shadow[lext] : im->word[lext];
}

static inline void image_super(struct image *im, int dev)
{
	struct fusion_sb *sb = &im->side[dev].sb;
	u64 block = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	u8 buf[FUSION_BLOCK_SIZE];

	fusion_sb_pack(sb, block, buf);
	image_write(im, dev, block, buf);
}

static inline void image_map(struct image *im, int dev, unsigned int set, u64 generation)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	u32 words[FUSION_MAP_PER_BLOCK];
	u8 buf[FUSION_BLOCK_SIZE];

	for (u32 i = 0; i < sb->map_blocks; i++) {
		for (u32 k = 0; k < fusion_map_entries(sb, i); k++) {
			words[k] = image_word(im, dev, i * FUSION_MAP_PER_BLOCK + k);
			if (dev == FUSION_SLOW && fusion_word_mapped(words[k]) &&
			    fusion_word_state(words[k]) == FUSION_OPEN)
				words[k] = FUSION_WORD_UNMAPPED;
		}
		fusion_map_pack(sb, set, i, generation, words, buf);
		image_write(im, dev, sb->map_start[dev][set] + i, buf);
	}
}

static inline void image_records(struct image *im, int dev, const struct fusion_record *recs,
				 u32 nr)
{
	struct image_side *s = &im->side[dev];
	static u8 buf[64][FUSION_BLOCK_SIZE];
	u32 n = 0;

	for (u32 i = 0; i < nr; i++) {
		if (!n || !fusion_journal_add(&s->sb, buf[n - 1], &recs[i])) {
			REQUIRE(n < 64);
			fusion_journal_init(buf[n++]);
			REQUIRE(fusion_journal_add(&s->sb, buf[n - 1], &recs[i]));
		}
	}
	if (!n)
		return;
	s->last_txn_seq = s->next_seq;
	for (u32 i = 0; i < n; i++) {
		s->csum = fusion_journal_seal(&s->sb, buf[i], s->next_seq, s->next_txn, i, n,
					      s->csum);
		image_write(im, dev, fusion_journal_blocknr(&s->sb, s->next_seq++), buf[i]);
	}
	s->next_txn++;
}

/* One transaction of these extents' present state, or of all that are open. */
static inline void image_commit(struct image *im, int dev, const u32 *lexts, const u32 *olds,
				const u32 *ops, u32 nr)
{
	static struct fusion_record recs[4096];

	REQUIRE(nr <= ARRAY_SIZE(recs));
	for (u32 i = 0; i < nr; i++) {
		const u32 word = image_word(im, dev, lexts[i]);

		recs[i] = (struct fusion_record){
			.lext = lexts[i], .new = word,
			.op = fusion_names_shadow(word) ? FUSION_OP_SHADOW : ops[i],
			/* the replica has it of promotions only */
			.old = dev == FUSION_FAST || (ops[i] == FUSION_OP_MOVE &&
				fusion_word_dev(olds[i]) == FUSION_SLOW) ? olds[i] :
				FUSION_WORD_UNMAPPED,
			.bitmap = ops[i] == FUSION_OP_OPEN ? im->bitmap[lexts[i]] : NULL,
		};
	}
	image_records(im, dev, recs, nr);
}

static inline void image_opens(struct image *im, int dev)
{
	static u32 lexts[4096], ops[4096], olds[4096];
	u32 nr = 0;

	for (u32 i = 0; i < im->side[dev].sb.nr_lexts; i++) {
		if (!fusion_word_mapped(im->word[i]) ||
		    fusion_word_state(im->word[i]) != FUSION_OPEN)
			continue;
		lexts[nr] = i;
		olds[nr] = im->word[i];
		ops[nr++] = FUSION_OP_OPEN;
	}
	image_commit(im, dev, lexts, olds, ops, nr);
}

static inline void image_checkpoint(struct image *im, int dev, u32 epoch, bool clean)
{
	struct image_side *s = &im->side[dev];
	struct fusion_sb next = s->sb;

	next.active_set = !next.active_set;
	next.generation++;
	next.set_generation = next.generation;
	next.epoch = epoch;
	next.flags = clean ? FUSION_SB_CLEAN : 0;
	next.replay_seq = s->next_seq;
	next.replay_txn = s->next_txn;
	next.replay_csum = s->csum;
	if (im->shadows && dev == FUSION_SLOW) {
		next.point = im->point + 60;
		im->point = next.point;
	}
	image_map(im, dev, next.active_set, next.set_generation);
	image_opens(im, dev);
	if (clean && dev == FUSION_FAST) {
		static u16 heat[FUSION_HEAT_PER_BLOCK];
		u8 buf[FUSION_BLOCK_SIZE];

		for (u32 i = 0; i < next.heat_blocks; i++) {
			for (u32 k = 0; k < FUSION_HEAT_PER_BLOCK; k++)
				heat[k] = rnd(&im->seed);
			fusion_heat_pack(&next, i, next.set_generation, heat, buf);
			image_write(im, dev, next.heat_start + i, buf);
		}
	}
	s->sb = next;
	image_super(im, dev);
	if (clean) {
		s->sb.generation++;
		image_super(im, dev);
	}
}

/* -- what happens to it ----------------------------------------------------------- */

static inline u32 image_free_slot(struct image *im, int dev, u32 lext)
{
	const struct fusion_sb *sb = &im->side[0].sb;
	const u32 first = dev ? sb->slow_first_slot : 0;
	const u32 nr = dev ? sb->nr_slow_slots : sb->nr_fast_slots;
	bool *used = dev ? im->slow_used : im->fast_used;
	u32 i = rnd_below(&im->seed, nr), n;

	for (n = 0; n < nr; n++, i = (i + 1) % nr) {
		if (used[i])
			continue;
		used[i] = true;
		im->content[dev][i] = lext;
		return first + i;
	}
	return U32_MAX;
}

static inline void image_release(struct image *im, u32 word)
{
	const struct fusion_sb *sb = &im->side[0].sb;

	if (!fusion_word_mapped(word))
		return;
	if (fusion_word_dev(word) == FUSION_SLOW)
		im->slow_used[fusion_word_slot(word) - sb->slow_first_slot] = false;
	else
		im->fast_used[fusion_word_slot(word)] = false;
}

static inline void image_drop_shadow(struct image *im, u32 lext)
{
	image_release(im, im->shadow[lext] ? im->shadow[lext] : FUSION_WORD_UNMAPPED);
	im->shadow[lext] = 0;
}

/*
 * In the replica alone: some of what the fast member has was written to, and some shadows are given
 * up. The rest is as at this point.
 */
static inline void image_new_point(struct image *im)
{
	static struct fusion_record recs[64];
	const u32 total = im->side[0].sb.nr_lexts;
	u32 n = 0;

	for (u32 i = 0; i < total && n + 1 < ARRAY_SIZE(recs); i++) {
		if (!im->shadow[i] || rnd_below(&im->seed, 3))
			continue;
		recs[n] = (struct fusion_record){
			.lext = i, .new = im->word[i], .old = im->shadow[i], .op = FUSION_OP_MOVE,
		};
		if (rnd_below(&im->seed, 2)) {
			image_drop_shadow(im, i);
		} else {
			im->shadow[i] = fusion_shadow_word(FUSION_OUTDATED,
							   fusion_word_slot(im->shadow[i]));
			recs[n].op = FUSION_OP_SHADOW;
			recs[n].new = im->shadow[i];
			recs[n].old = im->word[i];
		}
		n++;
	}
	im->point += (1ULL << 32) + 7;	/* both halves of the number count */
	recs[n++] = (struct fusion_record){
		.op = FUSION_OP_POINT, .new = (u32)im->point, .old = im->point >> 32,
	};
	image_records(im, FUSION_SLOW, recs, n);
}

/* Change one extent, as one of the four operations does. Returns the operation or 0. */
static inline u32 image_change(struct image *im, u32 lext)
{
	const u32 bytes = im->side[0].sb.extent_sectors / 64;
	u32 word = im->word[lext], slot, op;
	int dev = rnd_below(&im->seed, 4) ? FUSION_FAST : FUSION_SLOW;

	if (!fusion_word_mapped(word)) {
		slot = image_free_slot(im, dev, lext);
		if (slot == U32_MAX)
			return 0;
		op = im->nr_open < 40 && rnd_below(&im->seed, 2) ? FUSION_OP_OPEN :
		     FUSION_OP_STABLE;
		im->word[lext] = fusion_word(op == FUSION_OP_OPEN ? FUSION_OPEN : FUSION_STABLE,
					     dev, slot);
		im->nr_open += op == FUSION_OP_OPEN;
		rnd_fill(&im->seed, im->bitmap[lext], bytes);
		return op;
	}
	if (fusion_word_state(word) == FUSION_OPEN) {
		if (rnd_below(&im->seed, 2)) {
			im->bitmap[lext][0] ^= 1 + rnd_below(&im->seed, 255);
			return FUSION_OP_OPEN;
		}
		im->word[lext] = fusion_word_set_state(word, FUSION_STABLE);
		im->nr_open--;
		return FUSION_OP_STABLE;
	}
	if (!rnd_below(&im->seed, 4)) {
		image_release(im, word);
		image_drop_shadow(im, lext);
		im->word[lext] = FUSION_WORD_UNMAPPED;
		return FUSION_OP_UNMAP;
	}
	/* a demotion without a copy */
	if (im->shadow[lext] && fusion_word_state(im->shadow[lext]) == (u32)FUSION_SHADOW &&
	    rnd_below(&im->seed, 2)) {
		image_release(im, word);
		im->word[lext] = fusion_word_set_state(im->shadow[lext], FUSION_STABLE);
		im->shadow[lext] = 0;
		return FUSION_OP_MOVE;
	}
	slot = image_free_slot(im, !fusion_word_dev(word), lext);
	if (slot == U32_MAX)
		return 0;
	if (im->shadows && fusion_word_dev(word) == FUSION_SLOW && rnd_below(&im->seed, 4)) {
		im->shadow[lext] = fusion_shadow_word(FUSION_SHADOW, fusion_word_slot(word));
	} else {
		image_release(im, word);
		image_drop_shadow(im, lext);
	}
	im->word[lext] = fusion_word(FUSION_STABLE, !fusion_word_dev(word), slot);
	return FUSION_OP_MOVE;
}

/* A transaction of @nr changes, on both members. */
static inline void image_txn(struct image *im, u32 nr)
{
	static u32 lexts[1024], olds[1024], ops[1024];
	const u32 total = im->side[0].sb.nr_lexts;
	u32 n = 0, i;

	memcpy(im->before, im->word, total * sizeof(*im->word));
	while (nr--) {
		lexts[n] = rnd_below(&im->seed, total);
		for (i = 0; i < n && lexts[i] != lexts[n]; i++)
			;
		if (i < n)
			continue;
		olds[n] = im->word[lexts[n]];
		ops[n] = image_change(im, lexts[n]);
		if (!ops[n])
			continue;
		im->changed[lexts[n]] = im->side[0].next_txn;
		n++;
	}
	image_commit(im, FUSION_FAST, lexts, olds, ops, n);
	image_commit(im, FUSION_SLOW, lexts, olds, ops, n);
}

/* Transactions, with a checkpoint wherever the ring of a member gets short. */
static inline void image_work(struct image *im, u32 txns)
{
	while (txns--) {
		for (int dev = 0; dev < 2; dev++) {
			struct image_side *s = &im->side[dev];

			if (s->next_seq - s->sb.replay_seq > s->sb.journal_blocks[dev] / 2)
				image_checkpoint(im, dev, s->sb.epoch, false);
		}
		image_txn(im, 1 + rnd_below(&im->seed, 60));
		if (im->shadows && !rnd_below(&im->seed, 3))
			image_new_point(im);
	}
}

/* -- a set ---------------------------------------------------------------------------- */

/* The first step of an activation. */
static inline void image_activate_slow(struct image *im)
{
	const struct fusion_sb *fast = &im->side[FUSION_FAST].sb;
	struct fusion_sb *slow = &im->side[FUSION_SLOW].sb;

	slow->epoch = fast->epoch + 1;
	slow->prev_activation = fast->activation;
	slow->activation = rnd(&im->seed);
	slow->flags = 0;
	slow->generation++;
	image_super(im, FUSION_SLOW);
}

static inline void image_activate(struct image *im)
{
	const u32 epoch = im->side[FUSION_FAST].sb.epoch + 1;
	struct image_side *slow = &im->side[FUSION_SLOW];

	image_activate_slow(im);
	im->side[FUSION_FAST].sb.prev_activation = slow->sb.prev_activation;
	im->side[FUSION_FAST].sb.activation = slow->sb.activation;
	image_checkpoint(im, FUSION_FAST, epoch, false);
	/* the replica starts again */
	slow->next_seq += slow->sb.journal_blocks[FUSION_SLOW];
	slow->next_txn += slow->sb.journal_blocks[FUSION_SLOW];
	slow->csum = 0;
	image_checkpoint(im, FUSION_SLOW, epoch, false);
}

static inline void image_close(struct image *im)
{
	image_checkpoint(im, FUSION_FAST, im->side[FUSION_FAST].sb.epoch, true);
	image_checkpoint(im, FUSION_SLOW, im->side[FUSION_SLOW].sb.epoch, true);
}

static inline void image_map_files(struct image *im)
{
	for (int dev = 0; dev < 2; dev++) {
		int fd = memfd_create(dev ? "slow" : "fast", 0);

		REQUIRE(fd >= 0 && !ftruncate(fd, im->bytes[dev]));
		snprintf(im->path[dev], sizeof(im->path[dev]), "/proc/self/fd/%d", fd);
		im->mem[dev] = mmap(NULL, im->bytes[dev], PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				    0);
		REQUIRE(im->mem[dev] != MAP_FAILED);
		im->old[dev] = mmap(NULL, im->bytes[dev], PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE(im->old[dev] != MAP_FAILED);
		im->written[dev] = calloc(im->bytes[dev] / FUSION_BLOCK_SIZE, 1);
	}
}

/* A new set, with a landing log of so many slots, and a stale list. */
static inline void image_format_log(struct image *im, u64 seed, u64 fast, u64 slow, u32 slots)
{
	struct fusion_sb *sb = &im->side[FUSION_FAST].sb;
	struct fusion_misfit misfit;

	memset(im, 0, sizeof(*im));
	im->seed = seed;
	example_sb(sb, fast, slow, FUSION_MIN_EXTENT_SECTORS);
	sb->compat = 0;
	sb->ro_compat = 0;
	sb->generation = 1;
	sb->epoch = 0;
	sb->flags = FUSION_SB_CLEAN;
	sb->active_set = 0;
	sb->set_generation = 1;
	sb->replay_seq = 1;
	sb->replay_txn = 1;
	sb->replay_csum = 0;
	REQUIRE(!fusion_sb_plan_landing(sb, slots, &misfit));
	fusion_sb_for_slow(sb, &im->side[FUSION_SLOW].sb);
	im->bytes[FUSION_FAST] = fast << 9;
	im->bytes[FUSION_SLOW] = slow << 9;
	image_map_files(im);

	im->word = malloc(sb->nr_lexts * sizeof(*im->word));
	im->before = malloc(sb->nr_lexts * sizeof(*im->word));
	im->bitmap = calloc(sb->nr_lexts, sizeof(*im->bitmap));
	im->changed = calloc(sb->nr_lexts, sizeof(*im->changed));
	im->shadow = calloc(sb->nr_lexts, sizeof(*im->shadow));
	im->slow_used = calloc(sb->nr_slow_slots, sizeof(bool));
	im->fast_used = calloc(sb->nr_fast_slots, sizeof(bool));
	for (int dev = 0; dev < 2; dev++) {
		const size_t n = (dev ? sb->nr_slow_slots : sb->nr_fast_slots) * sizeof(u32);

		im->content[dev] = malloc(n);
		memset(im->content[dev], 0xff, n);
	}
	for (u32 i = 0; i < sb->nr_lexts; i++)
		im->word[i] = FUSION_WORD_UNMAPPED;
	for (int dev = 1; dev >= 0; dev--) {
		struct image_side *s = &im->side[dev];

		s->next_seq = 1;
		s->next_txn = 1;
		image_map(im, dev, 0, 1);
		image_super(im, dev);
		s->sb.generation = 2;
		image_super(im, dev);
	}
}

static inline void image_format(struct image *im, u64 seed, u64 fast_sectors, u64 slow_sectors)
{
	image_format_log(im, seed, fast_sectors, slow_sectors, 0);
}

/* From now on, the replica names shadows. */
static inline void image_name_shadows(struct image *im)
{
	im->shadows = true;
	im->side[FUSION_SLOW].sb.incompat |= FUSION_INCOMPAT_SHADOW;
	im->point = 1700000000;
}

static inline void image_free(struct image *im)
{
	for (int dev = 0; dev < 2; dev++) {
		munmap(im->mem[dev], im->bytes[dev]);
		munmap(im->old[dev], im->bytes[dev]);
		free(im->written[dev]);
		free(im->content[dev]);
		close(atoi(im->path[dev] + strlen("/proc/self/fd/")));
	}
	free(im->word);
	free(im->before);
	free(im->bitmap);
	free(im->changed);
	free(im->shadow);
	free(im->slow_used);
	free(im->fast_used);
}

#endif
