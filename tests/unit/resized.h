/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tools make of a set that was resized, and whose slow member may have the old size. */
#ifndef RESIZED_H
#define RESIZED_H

#include "fusionctl.h"
#include "image-blocks.h"
#include "meta.h"

static inline void open_it(struct image *im, bool write, struct meta *meta)
{
	char *path[2] = { im->path[FUSION_FAST], im->path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open(2, path, write, meta));
	REQUIRE(fus_meta_sb(meta, FAST) && fus_meta_sb(meta, SLOW));
}

static inline void check_sound(struct image *im, bool lags)
{
	struct report r = { 0 };
	struct meta meta;
	const char *why;

	open_it(im, false, &meta);
	REQUIRE(!fusion_sb_match(fus_meta_sb(&meta, FAST), fus_meta_sb(&meta, SLOW), &why), "%s",
		why);
	REQUIRE_EQ(fus_meta_slow_lags(&meta), lags);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING], "%s", fus_report_worst(&r)->text);
	REQUIRE(!lags || r.count[LEVEL_NOTE]);
	fus_report_free(&r);
	fus_meta_free(&meta);
}

/* Rebuild the map, and write it to both members. */
static inline void repair_it(struct image *im, bool exact, u32 lost)
{
	struct rebuild rb;
	struct meta meta;
	u32 differ = 0;

	open_it(im, true, &meta);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE_EQ(rb.exact, exact);
	REQUIRE(exact || rb.have_replica);
	REQUIRE_EQ(rb.st.nr_lexts, im->side[FUSION_FAST].sb.nr_lexts);
	/* The replica has what the lost block of the map had, up to the last records. */
	for (u32 i = 0; i < rb.st.nr_lexts; i++) {
		if (rb.st.word[i] == im->word[i])
			continue;
		differ++;
		REQUIRE(!exact && i / FUSION_MAP_PER_BLOCK == lost, "extent %u", i);
	}
	REQUIRE(differ < 200, "%u extents", differ);
	REQUIRE(!fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat));
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
}

#endif
