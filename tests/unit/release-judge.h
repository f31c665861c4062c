/* SPDX-License-Identifier: GPL-2.0-only */
/* What a set has become that was to be released, judged by the bytes and by libblkid. */
#ifndef RELEASE_JUDGE_H
#define RELEASE_JUDGE_H

#include "release-set.h"

/* -- judges ---------------------------------------------------------------------------------- */

static inline void look(int dev, struct fus_content *c)
{
	REQUIRE(!fus_probe_magics("image", world.fd[dev], c), "%s", fus_last_error()->what);
}

/*
 * A second header of LUKS in a data slot may lie where it is looked for, as in any set. @wiped: or
 * it may not.
 */
static inline void require_nothing(int dev, bool wiped)
{
	struct fus_content c;

	look(dev, &c);
	if (!wiped && c.nr == 1 && c.sector[0] >= FUSION_GUARD_SECTORS)
		return;
	REQUIRE(!*c.type && !c.nr, "%s is recognised on %s, %u signatures, sector %llu", c.type,
		dev ? "slow" : "fast", c.nr, (unsigned long long)c.sector[0]);
}

/* The slow member is a disk with the content, to the last byte. */
static inline void require_plain(const struct example *e)
{
	const u64 bytes = world.bytes[SLOW], set = made.sb.nr_lexts * EXTENT;
	const u64 both = min(bytes, set);
	struct fus_content c;

	for (u64 at = 0; at < both; at += 512)
		REQUIRE(!memcmp(world.mem[SLOW] + at, made.content + at, 512), "sector %llu",
			(unsigned long long)at >> 9);
	REQUIRE(!memchr_inv(world.mem[SLOW] + both, 0, bytes - both));
	look(SLOW, &c);
	REQUIRE(!strcmp(c.type, e->type) && !*c.other, "%s", c.type);
	REQUIRE_EQ(c.nr, e->magics);
}

static inline void open_meta(const struct example *e, struct meta *meta)
{
	memset(meta, 0, sizeof(*meta));
	meta->landing = true;
	for (int dev = 0; dev < 2; dev++)
		meta->m[dev].o = device(e, dev);
	REQUIRE(!fus_meta_read(meta), "%s", fus_last_error()->what);
}

/* A set that the kernel opens, with the content. @closed: and there is nothing to repair. */
static inline void require_set(const struct example *e, bool closed)
{
	u8 buf[EXTENT] __attribute__((aligned(4096)));
	struct homing h = { 0 };
	struct report r = { 0 };
	struct meta meta;

	open_meta(e, &meta);
	h.meta = &meta;
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && !(closed && r.count[LEVEL_WARNING]), "%s",
		fus_report_worst(&r)->text);
	REQUIRE(!fus_homing_load(&h), "%s", fus_last_error()->what);
	REQUIRE(fus_meta_sb(&meta, FAST)->flags & FUSION_SB_CLEAN);
	for (u32 lext = 0; lext < h.st.nr_lexts; lext++) {
		REQUIRE(!fus_homing_get(&meta, &h.st, lext, buf));
		REQUIRE(!memcmp(buf, made.content + lext * EXTENT, EXTENT), "extent %u", lext);
	}
	require_nothing(FAST, false);
	require_nothing(SLOW, false);
	fus_report_free(&r);
	fus_homing_free(&h);
	forget(&meta);
}

/* -- what is there ----------------------------------------------------------------------------- */

enum found { FOUND_SET, FOUND_TRANSIT, FOUND_NOTHING };

static inline enum found find(const struct example *e)
{
	enum found found = FOUND_NOTHING;
	struct fusion_sb sb;
	const char *why;

	for (int i = 0; i < 2; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		if (fusion_sb_unpack_known(world.mem[FAST] + blocknr * FUSION_BLOCK_SIZE, blocknr,
					   e->sectors[FAST], FUSION_INCOMPAT_KNOWN |
					   FUSION_INCOMPAT_LANDING | FUSION_INCOMPAT_IN_TRANSIT,
					   &sb, &why))
			continue;
		if (fusion_sb_in_transit(&sb))
			return FOUND_TRANSIT;
		found = FOUND_SET;
	}
	return found;
}

static inline void reread(const struct example *e, struct transit *t, enum transit_at *at)
{
	memset(t, 0, sizeof(*t));
	t->o[0] = device(e, SLOW);
	t->o[1] = device(e, FAST);
	REQUIRE(!fus_transit_read(t, FUSION_TRANSIT_RELEASE), "%s", fus_last_error()->what);
	REQUIRE(!fus_transit_judge(t, at), "%s %s", fus_last_error()->subject,
		fus_last_error()->what);
}

static inline void put_transit(struct transit *t)
{
	for (int dev = 0; dev < 2; dev++)
		free((char *)t->o[dev].path);
}

static inline void look_at_set(const struct example *e, struct homing *h, struct fus_content *c)
{
	int fd = fus_window_open(h->meta, &h->st);

	REQUIRE(fd >= 0 && !fus_probe_magics("window", fd, c));
	close(fd);
	REQUIRE(!strcmp(c->type, e->type) && c->nr == e->magics, "%s: %s, %u", e->type, c->text,
		c->nr);
}

#endif
