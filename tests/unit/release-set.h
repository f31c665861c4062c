/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets with content in random places, on two devices that lose what was not flushed. */
#ifndef RELEASE_SET_H
#define RELEASE_SET_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "contents.h"
#include "unflushed.h"

#include "error.h"
#include "fusionctl.h"
#include "homing.h"
#include "landing-log.h"
#include "probe.h"
#include "transit.h"

#define EXTENT_SECTORS	128U
#define EXTENT		((size_t)EXTENT_SECTORS << 9)

#define LUKS_FAR	(4ULL << 20)

/* With its second header in a data slot. */
static inline void make_luks_far(u8 *disk)
{
	make_luks_at(disk, 2, 0);
	make_luks_at(disk, 2, LUKS_FAR);
}

static inline void make_nothing(u8 *disk)
{
	(void)disk;
}

enum order {
	ORDER_RANDOM,
	ORDER_SHIFTED,		/* each extent lies where the one before belongs */
	ORDER_HOME,
};

/* What is on the set, and where. */
struct example {
	const char *type;	/* "" if nothing is recognised */
	void (*make)(u8 *set);
	unsigned int magics;
	u64 sectors[2];
	unsigned int block_bytes;
	unsigned int percent;	/* of the extents that the disk has room for are mapped */
	unsigned int partial;	/* percent of these */
	enum order order;
	u32 batch;
	bool log;		/* with a landing log, which has newer versions of some blocks */
};

#define LOG_SLOTS	12U	/* that are kept for it */
#define LOG_BATCHES	12U

static const struct example examples[] = {
	{ "ext4", make_ext4, 1, { 6 << 11, (8 << 11) + 37 }, 512, 100, 10, ORDER_RANDOM, 8, false },
	{ "ext4", make_ext4, 1, { 6 << 11, (8 << 11) + 37 }, 512, 60, 20, ORDER_RANDOM, 64, false },
	{ "xfs", make_xfs, 1, { 6 << 11, (8 << 11) + 8 }, 4096, 100, 0, ORDER_SHIFTED, 8, false },
	{ "crypto_LUKS", make_luks_far, 2, { 7 << 11, 8 << 11 }, 512, 80, 10,
	  ORDER_RANDOM, 4, false },
	{ "LVM2_member", make_lvm, 1, { 6 << 11, (8 << 11) + 1 }, 512, 30, 50,
	  ORDER_HOME, 16, false },
	/* smaller than its slow member */
	{ "ext4", make_ext4, 1, { 4 << 11, 8 << 11 }, 512, 100, 5, ORDER_RANDOM, 8, false },
	{ "", make_nothing, 0, { 6 << 11, 8 << 11 }, 512, 50, 10, ORDER_RANDOM, 16, false },
	{ "", make_nothing, 0, { 6 << 11, 8 << 11 }, 512, 0, 0, ORDER_HOME, 16, false },
	{ "ext4", make_ext4, 1, { 6 << 11, (8 << 11) + 37 }, 512, 100, 10, ORDER_RANDOM, 8, true },
	{ "crypto_LUKS", make_luks_far, 2, { 7 << 11, (8 << 11) + 8 }, 4096, 60, 20,
	  ORDER_RANDOM, 16, true },
};

/* The set as it was made. */
static struct {
	struct fusion_sb sb;
	u8 *content;		/* what it reads */
	u32 kept;		/* extents that the disk has room for */
	u8 *image[2];
	u8 *only;		/* what has to be recognised in it */
	u32 *word;
	struct landing_log g;
} made;

static inline struct offline device(const struct example *e, int dev)
{
	return (struct offline){ strdup(dev ? "slow" : "fast"), world.fd[dev], e->sectors[dev],
				 dev ? e->block_bytes : 512, true, 0, 0 };
}

/* The descriptors last longer. */
static inline void forget(struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++)
		meta->m[dev].o.fd = -1;
	fus_meta_free(meta);
}

static inline void put_state(const struct example *e, const struct meta_state *st)
{
	struct meta meta = { 0 };

	for (int dev = 0; dev < 2; dev++)
		meta.m[dev].o = device(e, dev);
	meta.landing = e->log;
	REQUIRE(!fus_meta_read_as(&meta, &made.sb), "%s", fus_last_error()->what);
	REQUIRE(!fus_meta_write(&meta, st, false, -1, meta.m[FAST].heat), "%s",
		fus_last_error()->what);
	forget(&meta);
}

static inline void fill(u8 *mem, size_t bytes)
{
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		const u64 v = rnd(&world.seed);

		memcpy(mem + i, &v, 8);
	}
}

static inline u32 word_of_slot(u32 slot)
{
	if (slot < made.sb.nr_fast_slots)
		return fusion_word(FUSION_STABLE, FAST, slot);
	return fusion_word(FUSION_STABLE, SLOW, slot - made.sb.nr_fast_slots +
			   made.sb.slow_first_slot);
}

/* All slots, in the order in which extents get them. */
static inline void order_slots(const struct example *e, u32 *slot, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		const u32 first = made.sb.slow_first_slot, fast = made.sb.nr_fast_slots;

		slot[i] = i;
		if (e->order == ORDER_HOME)
			slot[i] = i < first ? i : i < first + nr - fast ? i - first + fast :
				  i - nr + fast;
		else if (e->order == ORDER_SHIFTED)
			slot[i] = (i + fast + nr - first - 3) % nr;
	}
	for (u32 i = nr; i > 1 && e->order == ORDER_RANDOM; i--) {
		const u32 k = rnd_below(&world.seed, i), tmp = slot[i - 1];

		slot[i - 1] = slot[k];
		slot[k] = tmp;
	}
}

static inline void put_extent(struct meta_state *st, const struct example *e, u32 lext, u32 word,
			      bool whole)
{
	u8 *to = world.mem[fusion_word_dev(word)] +
		 (fusion_slot_sector(&made.sb, fusion_word_dev(word), fusion_word_slot(word)) << 9);
	u8 *content = made.content + lext * EXTENT;
	struct meta_open *open;

	st->word[lext] = word;
	if (!whole && rnd_below(&world.seed, 100) < e->partial) {
		st->word[lext] = word | (u32)FUSION_OPEN << FUSION_WORD_STATE_SHIFT;
		open = fus_state_open_get(st, lext);
		REQUIRE(open);
		open->word = st->word[lext];
		for (unsigned int i = 0; i < EXTENT / FUSION_BLOCK_SIZE; i++) {
			if (rnd_below(&world.seed, 2))
				open->bitmap[i / 8] |= 1 << i % 8;
			else
				memset(content + i * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
		}
		/* what was never written is not zeros on the device */
		for (unsigned int i = 0; i < EXTENT / FUSION_BLOCK_SIZE; i++)
			if (open->bitmap[i / 8] >> i % 8 & 1)
				memcpy(to + i * FUSION_BLOCK_SIZE, content + i * FUSION_BLOCK_SIZE,
				       FUSION_BLOCK_SIZE);
		return;
	}
	memcpy(to, content, EXTENT);
}

/* -- the log ----------------------------------------------------------------------------------- */

/* Slots of the fast member that no extent gets: they go behind the others. */
static inline void log_slots(u32 *slot, u32 nr)
{
	for (u32 i = 0, got = 0; got < LOG_SEGMENTS; i++) {
		const u32 tmp = slot[i];

		REQUIRE(i < nr);
		if (tmp >= made.sb.nr_fast_slots)
			continue;
		made.g.seg[got++].slot = tmp;
		slot[i--] = slot[--nr];
		slot[nr] = tmp;
	}
}

/* What is recognised is in the log alone; the rest is newer there. */
static inline void put_logged(u32 lext, u32 block, u8 *data)
{
	const size_t at = lext * EXTENT + block * FUSION_BLOCK_SIZE;
	u8 *slot = world.mem[SLOW] + ((u64)fusion_word_slot(made.word[lext]) * EXTENT) +
		   block * FUSION_BLOCK_SIZE;

	if (memchr_inv(made.only + lext * EXTENT, 0, EXTENT)) {
		memcpy(data, made.content + at, FUSION_BLOCK_SIZE);
		fill(slot, FUSION_BLOCK_SIZE);
	} else {
		memcpy(made.content + at, data, FUSION_BLOCK_SIZE);
	}
}

/* All of it is durable, and the journal lists its segments. */
static inline void make_log(struct meta_state *st)
{
	struct fusion_record rec = { .op = FUSION_OP_SEGMENT };
	u32 *lext = calloc(st->nr_lexts, sizeof(*lext)), nr = 0;
	struct landing_log *g = &made.g;

	for (u32 i = 0; i < st->nr_lexts; i++)
		if (fusion_word_mapped(st->word[i]) && fusion_word_dev(st->word[i]) == SLOW &&
		    fusion_word_state(st->word[i]) == FUSION_STABLE)
			lext[nr++] = i;
	REQUIRE(nr > 4);
	made.word = st->word;
	g->sb = made.sb;
	g->lexts = lext;
	/* some of them twice */
	g->nr_lexts = nr;
	g->put = put_logged;
	for (u32 i = 0; i < LOG_BATCHES; i++)
		log_batch(g, 1 + rnd_below(&world.seed, 5));
	log_land(g);
	for (u32 i = 0; i < LOG_SEGMENTS; i++) {
		memcpy(world.mem[FAST] + FUSION_BLOCK_SIZE *
		       fusion_segment_blocknr(&made.sb, g->seg[i].slot, 0), g->mem[i], EXTENT);
		rec.segment = g->seg[i];
		REQUIRE(!fus_log_apply(&st->log, &made.sb, &rec));
	}
	rec = (struct fusion_record){ .op = FUSION_OP_LANDED, .landed = g->from };
	REQUIRE(!fus_log_apply(&st->log, &made.sb, &rec));
	free(lext);
}

/* ---------------------------------------------------------------------------------------------- */

static inline void make_set(const struct example *e)
{
	const struct fusion_sb *sb = &made.sb;
	const u32 nr = sb->nr_fast_slots + sb->nr_slow_slots;
	const size_t bytes = sb->nr_lexts * EXTENT;
	u32 *slot = calloc(nr, sizeof(*slot)), next = 0;
	u8 *only = calloc(1, bytes);
	struct meta_state st;

	made.content = calloc(1, bytes);
	REQUIRE(slot && only && made.content && !fus_state_init(&st, sb->nr_lexts));
	order_slots(e, slot, nr);
	if (e->log)
		log_slots(slot, nr);
	e->make(only);
	fill(made.content, bytes);
	e->make(made.content);
	made.kept = min_t(u64, sb->nr_lexts, DIV_ROUND_UP(e->sectors[SLOW], EXTENT_SECTORS));
	/* in an order in which the mapped ones have the slots of neighbours */
	for (u32 lext = 0; lext < sb->nr_lexts; lext++) {
		const bool needed = memchr_inv(only + lext * EXTENT, 0, EXTENT);

		st.word[lext] = FUSION_WORD_UNMAPPED;
		if (lext >= made.kept ||
		    (!needed && rnd_below(&world.seed, 100) >= e->percent)) {
			memset(made.content + lext * EXTENT, 0, EXTENT);
			next += e->order != ORDER_RANDOM;
			continue;
		}
		put_extent(&st, e, lext, word_of_slot(slot[next++]), needed);
	}
	made.only = only;
	if (e->log)
		make_log(&st);
	REQUIRE(fus_state_check(&st, sb, NULL));
	put_state(e, &st);
	fus_state_free(&st);
	free(slot);
	free(only);
}

/* What reset() goes back to. */
static inline void keep(void)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(made.image[dev], world.mem[dev], world.bytes[dev]);
}

static inline void begin(const struct example *e, u64 seed)
{
	struct fusion_misfit misfit;

	world_begin(seed, e->sectors);
	memset(&made.sb, 0, sizeof(made.sb));
	REQUIRE(!fusion_sb_plan(&made.sb, e->sectors[FAST], e->sectors[SLOW], EXTENT_SECTORS,
				&misfit), "%s", misfit.what);
	memset(made.sb.set_uuid, 0x11, 16);
	memset(made.sb.dev_uuid, 0x22, 16);
	memset(made.sb.peer_uuid, 0x33, 16);
	strcpy(made.sb.label, "data");
	if (e->log) {
		made.sb.incompat = FUSION_INCOMPAT_LANDING;
		made.sb.landing_slots = LOG_SLOTS;
		made.sb.nr_lexts -= LOG_SLOTS;
		log_init(&made.g, EXTENT_SECTORS, seed);
	}
	for (int dev = 0; dev < 2; dev++) {
		made.image[dev] = malloc(world.bytes[dev]);
		REQUIRE(made.image[dev]);
		fill(world.mem[dev] + (1 << 20), world.bytes[dev] - (2 << 20));
	}
	power_on(~0U);
	make_set(e);
	keep();
}

static inline void reset(void)
{
	for (int dev = 0; dev < 2; dev++) {
		memcpy(world.mem[dev], made.image[dev], world.bytes[dev]);
		memcpy(world.durable[dev], made.image[dev], world.bytes[dev]);
	}
	power_on(~0U);
}

static inline void end(void)
{
	for (int dev = 0; dev < 2; dev++) {
		munmap(world.mem[dev], world.bytes[dev]);
		close(world.fd[dev]);
		free(world.durable[dev]);
		free(made.image[dev]);
	}
	free(made.content);
	log_exit(&made.g);
}

#endif
