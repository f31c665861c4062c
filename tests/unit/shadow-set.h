/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets whose replica names shadows. */
#ifndef SHADOW_SET_H
#define SHADOW_SET_H

#include "image-blocks.h"
#include "fusionctl.h"
#include "meta-shadow.h"
#include "nobody.h"

static inline void open_image(struct image *im, struct meta *meta)
{
	char *path[2] = { im->path[FUSION_FAST], im->path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open(2, path, true, meta));
	REQUIRE(meta->known);
}

/* A set with shadows of either kind. */
static inline void make(struct image *im, u64 seed, bool closed)
{
	u32 nr[2] = { 0 };

	image_format(im, seed, 3 * FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(im);
	for (int i = 0; i < 2; i++) {
		image_activate(im);
		image_work(im, 30);
		if (!i || closed)
			image_close(im);
	}
	for (u32 i = 0; i < im->side[0].sb.nr_lexts; i++)
		if (im->shadow[i])
			nr[fusion_word_state(im->shadow[i]) == (u32)FUSION_SHADOW]++;
	REQUIRE(nr[0] > 3 && nr[1] > 3, "%u %u", nr[0], nr[1]);
}

static inline void forget(struct image *im, int dev)
{
	for (int i = 0; i < 2; i++)
		memset(im->mem[dev] + FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE, 0,
		       FUSION_BLOCK_SIZE);
}

/* The same set, closed again with another replica. */
static inline void close_again(struct image *im)
{
	image_checkpoint(im, FUSION_SLOW, im->side[FUSION_SLOW].sb.epoch, true);
}

/* The first extent from @lext on whose word, in the map, is like this. */
static inline u32 find(const struct image *im, u32 lext, enum fusion_state state,
		       enum fusion_dev dev, bool shadow)
{
	while (!fusion_word_mapped(im->word[lext]) ||
	       fusion_word_state(im->word[lext]) != (u32)state ||
	       fusion_word_dev(im->word[lext]) != (u32)dev || !im->shadow[lext] == shadow)
		REQUIRE(++lext < im->side[0].sb.nr_lexts);
	return lext;
}

#endif
