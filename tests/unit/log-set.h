/* SPDX-License-Identifier: GPL-2.0-only */
/* A set with a landing log, in two image files. */
#ifndef LOG_SET_H
#define LOG_SET_H

#include "image-blocks.h"
#include "error.h"
#include "fusionctl.h"
#include "landing-log.h"
#include "meta.h"
#include "nobody.h"

#define LOG_SLOTS	12U		/* that are kept for the log; it has LOG_SEGMENTS */
#define LOG_LEXTS	64U

struct log_set {
	struct image im;
	struct landing_log g;
	u32 lext[LOG_LEXTS];		/* extents that lie on the slow member, and are stable */
	u32 nr;
};

/* Up to LOG_LEXTS extents that are like this. */
static inline u32 log_extents(const struct image *im, enum fusion_dev dev, enum fusion_state state,
			      u32 *lext)
{
	u32 n = 0;

	for (u32 i = 0; i < im->side[0].sb.nr_lexts && n < LOG_LEXTS; i++)
		if (fusion_word_mapped(im->word[i]) &&
		    fusion_word_dev(im->word[i]) == (u32)dev &&
		    fusion_word_state(im->word[i]) == (u32)state)
			lext[n++] = i;
	return n;
}

/* Open, with an empty log in slots that nothing else has. */
static inline void log_set_begin(struct log_set *l, u64 seed)
{
	struct image *im = &l->im;
	u32 slot[LOG_SEGMENTS];

	for (u32 i = 0; i < LOG_SEGMENTS; i++)
		slot[i] = image_free_slot(im, FUSION_FAST, U32_MAX);
	image_activate(im);
	image_work(im, 20);
	l->nr = log_extents(im, FUSION_SLOW, FUSION_STABLE, l->lext);
	REQUIRE(l->nr > 4);

	log_init(&l->g, im->side[0].sb.extent_sectors, seed);
	l->g.sb = im->side[FUSION_FAST].sb;
	for (u32 i = 0; i < LOG_SEGMENTS; i++)
		l->g.seg[i].slot = slot[i];
	l->g.lexts = l->lext;
	l->g.nr_lexts = l->nr;
}

/*
 * One without a stale list, and with room for it: so many slots more ahead of the slow member's
 * first one.
 */
static inline void log_set_make_roomy(struct log_set *l, u64 seed, u32 slots)
{
	struct image *im = &l->im;

	image_format(im, seed, FAST_SECTORS, SLOW_SECTORS);
	for (int dev = 0; dev < 2; dev++) {
		im->side[dev].sb.incompat = FUSION_INCOMPAT_LANDING;
		im->side[dev].sb.nr_lexts -= LOG_SLOTS + slots;
		im->side[dev].sb.slow_first_slot += slots;
		im->side[dev].sb.nr_slow_slots -= slots;
	}
	im->side[FUSION_FAST].sb.landing_slots = LOG_SLOTS;
	log_set_begin(l, seed);
}

/* A set that may have a log, which was turned on later, so that there is no stale list. */
static inline void log_set_make(struct log_set *l, u64 seed)
{
	log_set_make_roomy(l, seed, 0);
}

/* One with a stale list, as create makes it. */
static inline void log_set_make_listed(struct log_set *l, u64 seed)
{
	image_format_log(&l->im, seed, FAST_SECTORS, SLOW_SECTORS, LOG_SLOTS);
	log_set_begin(l, seed);
}

/* Write what the log has to the fast member. */
static inline void log_set_write(struct log_set *l)
{
	for (u32 i = 0; i < LOG_SEGMENTS; i++)
		memcpy(l->im.mem[FUSION_FAST] + FUSION_BLOCK_SIZE *
		       fusion_segment_blocknr(&l->g.sb, l->g.seg[i].slot, 0), l->g.mem[i],
		       l->g.sb.extent_sectors * 512);
}

/* Record it in the journal: all segments, and how far it is durable. */
static inline void log_set_record(struct log_set *l)
{
	struct fusion_record rec[LOG_SEGMENTS + 1];

	for (u32 i = 0; i < l->g.nr; i++)
		rec[i] = (struct fusion_record){ .op = FUSION_OP_SEGMENT,
						 .segment = l->g.seg[i] };
	rec[l->g.nr] = (struct fusion_record){ .op = FUSION_OP_LANDED, .landed = l->g.from };
	image_records(&l->im, FUSION_FAST, rec, l->g.nr + 1);
}

/* Some batches, the first of them durable. */
static inline void log_set_fill(struct log_set *l)
{
	for (u32 i = 0; i < 5; i++)
		log_batch(&l->g, 1 + rnd_below(&l->g.seed, 4));
	log_land(&l->g);
	for (u32 i = 0; i < 4; i++)
		log_batch(&l->g, 1 + rnd_below(&l->g.seed, 4));
}

/* It is all on the members; and the set is closed, or not. */
static inline void log_set_finish(struct log_set *l, bool close)
{
	log_set_write(l);
	if (close)
		image_close(&l->im);
	log_set_record(l);
}

static inline void log_set_look(const struct log_set *l, struct meta *meta)
{
	char *path[2] = { (char *)l->im.path[FUSION_FAST], (char *)l->im.path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open_to_look(2, path, meta));
	REQUIRE(meta->known);
}

/* The caller's program has error.c. */
static inline void log_set_open(const struct log_set *l, bool writable, struct meta *meta)
{
	char *path[2] = { (char *)l->im.path[FUSION_FAST], (char *)l->im.path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open_landing(2, path, writable, meta), "%s", fus_last_error()->what);
}

static inline void log_set_free(struct log_set *l)
{
	log_exit(&l->g);
	image_free(&l->im);
}

#endif
