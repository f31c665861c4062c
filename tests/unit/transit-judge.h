/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk with content and the other device, in RAM, and what has to hold once a set has them. */
#ifndef TRANSIT_JUDGE_H
#define TRANSIT_JUDGE_H

#include <sys/mman.h>
#include <unistd.h>

#include "contents.h"
#include "unflushed.h"

#include "fusionctl.h"
#include "error.h"
#include "probe.h"
#include "transit.h"

/* -- disks with content ---------------------------------------------------------------------- */

/* Where a large disk has something: the rest is zeros, and nobody touches it. */
static bool is_used(u64 byte, size_t bytes)
{
	return byte < 4 << 20 || byte + (4 << 20) >= bytes || byte >> 20 == 30;
}

static void begin(const struct kind *k, u64 seed)
{
	world_begin(seed, k->sectors);
	world.disk = calloc(1, world.bytes[k->disk]);
	for (u64 at = 0; at < world.bytes[k->disk]; at += 8) {
		const u64 v = rnd(&world.seed);

		if (is_used(at, world.bytes[k->disk]))
			memcpy(world.disk + at, &v, 8);
	}
	k->make(world.disk);
}

static void reset(const struct kind *k)
{
	for (int dev = 0; dev < 2; dev++) {
		if (dev == k->disk)
			memcpy(world.mem[dev], world.disk, world.bytes[dev]);
		else
			memset(world.mem[dev], 0, world.bytes[dev]);
		memcpy(world.durable[dev], world.mem[dev], world.bytes[dev]);
	}
	power_on(~0U);
}

static void end(void)
{
	for (int dev = 0; dev < 2; dev++) {
		munmap(world.mem[dev], world.bytes[dev]);
		close(world.fd[dev]);
		free(world.durable[dev]);
	}
	free(world.disk);
}

static struct offline device(const struct kind *k, int dev)
{
	return (struct offline){ dev ? "slow" : "fast", world.fd[dev], k->sectors[dev],
				 dev == k->disk ? k->block_bytes : 512, true, 0, 0 };
}

/* -- judges ---------------------------------------------------------------------------------- */

static void look(int dev, struct fus_content *c)
{
	REQUIRE(!fus_probe_magics("image", world.fd[dev], c), "%s", fus_last_error()->what);
}

static bool disk_is_as_it_was(const struct kind *k)
{
	return !memcmp(world.mem[k->disk], world.disk, world.bytes[k->disk]);
}

static void require_recognised(const struct kind *k)
{
	struct fus_content c;

	look(k->disk, &c);
	REQUIRE(!strcmp(c.type, k->type), "%s", c.type);
	REQUIRE_EQ(c.nr, k->magics);
}

static void require_nothing(int dev)
{
	struct fus_content c;

	look(dev, &c);
	REQUIRE(!*c.type && !c.nr, "%s is recognised on %s", c.type, dev ? "slow" : "fast");
}

/*
 * Both are members, and the set has the content. @torn: so may be the last superblock that was to
 * be written.
 */
static void require_set(const struct kind *k, bool torn)
{
	char path[2][64], *word[2] = { path[0], path[1] };
	const size_t es = (size_t)k->extent_sectors << 9;
	struct meta_state st = { 0 };
	struct report r = { 0 };
	struct meta meta;
	u64 at = 0;

	for (int dev = 0; dev < 2; dev++)
		snprintf(path[dev], sizeof(path[dev]), "/proc/self/fd/%d", world.fd[dev]);
	REQUIRE(!fus_meta_open_landing(2, word, false, &meta), "%s", fus_last_error()->what);
	REQUIRE_EQ(meta.geo[FAST].landing_slots, k->landing);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && r.count[LEVEL_WARNING] <= torn, "%s",
		fus_report_worst(&r)->text);
	REQUIRE(!r.count[LEVEL_WARNING] || (!strcmp(fus_report_worst(&r)->what, "superblock") &&
					    fus_report_worst(&r)->dev != k->disk), "%s",
		fus_report_worst(&r)->text);
	REQUIRE(meta.known && fus_meta_sb(&meta, FAST)->flags & FUSION_SB_CLEAN);
	REQUIRE(!fus_state_init(&st, meta.geo[FAST].nr_lexts));
	REQUIRE(fus_state_load(&meta, fus_meta_sb(&meta, FAST), &st, &r));
	for (u32 lext = 0; lext < st.nr_lexts; lext++, at += es) {
		const u32 word = st.word[lext];
		const u8 *is = world.mem[fusion_word_dev(word)];
		size_t n = min_t(u64, es, world.bytes[k->disk] - at);

		if (at >= world.bytes[k->disk]) {
			REQUIRE(!fusion_word_mapped(word), "extent %u", lext);
			continue;
		}
		is += fusion_slot_sector(&meta.geo[FAST], fusion_word_dev(word),
					 fusion_word_slot(word)) << 9;
		REQUIRE(fusion_word_mapped(word) && !memcmp(is, world.disk + at, n), "extent %u",
			lext);
		for (; n < es; n++)
			REQUIRE(!is[n], "behind the end of the disk");
	}
	REQUIRE(at > world.bytes[k->disk], "the set is larger");
	fus_state_free(&st);
	fus_report_free(&r);
	fus_meta_free(&meta);
	require_nothing(FAST);
	require_nothing(SLOW);
}

/* A superblock of the set in its plain form is on this device. */
static bool is_member(const struct kind *k, int dev, struct fusion_sb *sb)
{
	const char *why;

	for (int i = 0; i < 2; i++)
		if (!fusion_sb_unpack_landing(world.mem[dev] +
					      FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE,
					      FUSION_SUPER_BLOCKNR(i), k->sectors[dev], sb, &why))
			return true;
	return false;
}

static bool is_zero(const u8 *mem, u64 from, u64 to)
{
	return from >= to || !memchr_inv(mem + from, 0, to - from);
}

/*
 * Of what was on the disk where it is no slot, nothing is left in the regions of the set, and where
 * other programs look for signatures.
 */
static void require_cleared(const struct kind *k)
{
	const u64 bs = FUSION_BLOCK_SIZE, guard = FUSION_GUARD_SECTORS << 9;
	const u8 *mem = world.mem[k->disk];
	const int dev = k->disk;
	struct fusion_sb sb;
	u64 from, to, map;

	REQUIRE(is_member(k, dev, &sb));
	map = sb.map_blocks * bs;
	REQUIRE(is_zero(mem, bs, FUSION_SUPER_BLOCKNR(1) * bs));
	REQUIRE(is_zero(mem, (FUSION_SUPER_BLOCKNR(1) + 1) * bs, sb.map_start[dev][0] * bs));
	from = sb.map_start[dev][!sb.active_set] * bs;
	REQUIRE(is_zero(mem, from, from + map));
	for (int set = 0; set < FUSION_NR_SETS; set++) {
		from = sb.map_start[dev][set] * bs + map;
		to = set ? sb.heat_start * bs : sb.map_start[dev][1] * bs;
		if (!set || dev == FAST)
			REQUIRE(is_zero(mem, from, min(to, guard)));
	}
	from = sb.heat_start * bs;
	if (dev == FAST)
		REQUIRE(is_zero(mem, from, from + sb.heat_blocks * bs));
	from = fusion_slot_sector(&sb, dev, dev == FAST ? sb.nr_fast_slots :
				  sb.slow_first_slot + sb.nr_slow_slots) << 9;
	REQUIRE(is_zero(mem, from, world.bytes[dev]));
}

#endif
