// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that are released: power fails in any write, and of what was not flushed by then, any
 * sectors are lost. After each failure there is the set with its content, one in transit that can
 * be finished and undone, or the plain disk. That is judged by the bytes, and by what libblkid
 * recognises.
 */
#include "release-set.h"

/* -- judges ---------------------------------------------------------------------------------- */

static void look(int dev, struct fus_content *c)
{
	REQUIRE(!fus_probe_magics("image", world.fd[dev], c), "%s", fus_last_error()->what);
}

/*
 * A second header of LUKS in a data slot may lie where it is looked for, as in any set. @wiped: or
 * it may not.
 */
static void require_nothing(int dev, bool wiped)
{
	struct fus_content c;

	look(dev, &c);
	if (!wiped && c.nr == 1 && c.sector[0] >= FUSION_GUARD_SECTORS)
		return;
	REQUIRE(!*c.type && !c.nr, "%s is recognised on %s, %u signatures, sector %llu", c.type,
		dev ? "slow" : "fast", c.nr, (unsigned long long)c.sector[0]);
}

/* The slow member is a disk with the content, to the last byte. */
static void require_plain(const struct example *e)
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

static void open_meta(const struct example *e, struct meta *meta)
{
	memset(meta, 0, sizeof(*meta));
	for (int dev = 0; dev < 2; dev++)
		meta->m[dev].o = device(e, dev);
	REQUIRE(!fus_meta_read(meta), "%s", fus_last_error()->what);
}

/* A set that the kernel opens, with the content. @closed: and there is nothing to repair. */
static void require_set(const struct example *e, bool closed)
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

/* -- what release does ------------------------------------------------------------------------ */

static void look_at_set(const struct example *e, struct homing *h, struct fus_content *c)
{
	int fd = fus_window_open(h->meta, &h->st);

	REQUIRE(fd >= 0 && !fus_probe_magics("window", fd, c));
	close(fd);
	REQUIRE(!strcmp(c->type, e->type) && c->nr == e->magics, "%s: %s, %u", e->type, c->text,
		c->nr);
}

static int do_transit(const struct homing *h, struct transit *t)
{
	const struct fusion_sb *sb[2] = { fus_meta_sb(h->meta, FAST), fus_meta_sb(h->meta, SLOW) };
	int rc;

	for (int dev = 0; dev < 2; dev++)
		t->o[dev] = h->meta->m[dev].o;
	rc = fus_release_begin(t, sb);
	return rc ? rc : fus_release_finish(t);
}

/* @then: and not only homing */
static int release(const struct example *e, bool then)
{
	struct homing h = { .batch = e->batch };
	struct transit t = { 0 };
	struct fus_content c;
	struct meta meta;
	int rc;

	open_meta(e, &meta);
	h.meta = &meta;
	h.t = &t;
	REQUIRE(!fus_homing_load(&h), "%s", fus_last_error()->what);
	look_at_set(e, &h, &c);
	REQUIRE(fus_release_plan(&t, fus_meta_sb(&meta, FAST), &c));
	REQUIRE(!fus_homing_plan(&h) && !h.beyond);
	rc = fus_homing_run(&h, true);
	REQUIRE(rc || world.dead || !h.left);
	if (!rc && then)
		rc = do_transit(&h, &t);
	fus_homing_free(&h);
	forget(&meta);
	return rc;
}

/* -- after a failure --------------------------------------------------------------------------- */

enum found { FOUND_SET, FOUND_TRANSIT, FOUND_NOTHING };

static enum found find(const struct example *e)
{
	enum found found = FOUND_NOTHING;
	struct fusion_sb sb;
	const char *why;

	for (int i = 0; i < 2; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		if (fusion_sb_unpack_transit(world.mem[FAST] + blocknr * FUSION_BLOCK_SIZE, blocknr,
					     e->sectors[FAST], &sb, &why))
			continue;
		if (fusion_sb_in_transit(&sb))
			return FOUND_TRANSIT;
		found = FOUND_SET;
	}
	return found;
}

static void reread(const struct example *e, struct transit *t, enum transit_at *at)
{
	memset(t, 0, sizeof(*t));
	t->o[0] = device(e, SLOW);
	t->o[1] = device(e, FAST);
	REQUIRE(!fus_transit_read(t, FUSION_TRANSIT_RELEASE), "%s", fus_last_error()->what);
	REQUIRE(!fus_transit_judge(t, at), "%s %s", fus_last_error()->subject,
		fus_last_error()->what);
}

static void put_transit(struct transit *t)
{
	for (int dev = 0; dev < 2; dev++)
		free((char *)t->o[dev].path);
}

/* Return: whether it has ended, as a plain disk, or with @back as a set. */
static bool go_on(const struct example *e, bool back, unsigned int writes)
{
	enum found found;
	enum transit_at at;
	struct transit t;
	int rc;

	power_on(~0U);
	found = find(e);
	if (found == FOUND_SET)
		require_set(e, false);
	if (found == FOUND_NOTHING)
		require_plain(e);
	if (found == FOUND_NOTHING || (found == FOUND_SET && back))
		return true;
	if (found == FOUND_SET) {
		power_on(writes);
		rc = release(e, true);
	} else {
		reread(e, &t, &at);
		if (at == TRANSIT_THERE)
			require_plain(e);
		else
			require_nothing(SLOW, false);
		power_on(writes);
		rc = at == TRANSIT_THERE ? fus_release_wipe(&t) :
		     back ? fus_release_undo(&t) : fus_release_finish(&t);
		put_transit(&t);
		back = back && at != TRANSIT_THERE;
	}
	if (world.dead)
		return false;
	REQUIRE(!rc, "%s %s", fus_last_error()->subject, fus_last_error()->what);
	if (back) {
		require_set(e, true);
	} else {
		require_plain(e);
		require_nothing(FAST, true);
		REQUIRE_EQ(find(e), FOUND_NOTHING);
	}
	return true;
}

/* -- tests ----------------------------------------------------------------------------------- */

static void test_whole(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];

		begin(e, i + 1);
		require_set(e, true);
		/* by itself, homing leaves a set */
		REQUIRE(!release(e, false), "%s", fus_last_error()->what);
		require_set(e, true);
		REQUIRE(!release(e, true), "%s", fus_last_error()->what);
		require_plain(e);
		require_nothing(FAST, true);
		REQUIRE_EQ(find(e), FOUND_NOTHING);
		end();
	}
}

/* In any write, and in what follows again. @from: of the writes, those from there on. */
static void cut(const struct example *e, unsigned int from, unsigned int step, unsigned int writes)
{
	for (unsigned int n = from; n < writes; n += step) {
		unsigned int more = 0;

		reset();
		power_on(n);
		REQUIRE(release(e, true) && world.dead);
		while (!go_on(e, rnd_below(&world.seed, 2), more < 3 ?
			      rnd_below(&world.seed, 60) : ~0U))
			more++;
		if (find(e) == FOUND_SET)
			REQUIRE(go_on(e, false, ~0U));
	}
}

/* Writes of homing, and of all of it. */
static void count(const struct example *e, unsigned int *homing, unsigned int *all)
{
	reset();
	REQUIRE(!release(e, false));
	*homing = world.writes;
	reset();
	REQUIRE(!release(e, true));
	*all = world.writes;
}

static void test_cut_homing(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		unsigned int homing, all, step;

		begin(e, i + 50);
		count(e, &homing, &all);
		step = max(homing / 4, 1U);
		cut(e, i % step, step, homing);
		end();
	}
}

/* Writes after the commit. */
static unsigned int wiping(const struct example *e)
{
	struct transit t = { 0 };
	unsigned int writes;
	struct fusion_sb sb;

	reset();
	sb = made.sb;
	for (int dev = 0; dev < 2; dev++)
		t.o[dev] = device(e, dev);
	REQUIRE(fus_release_plan(&t, &sb, &(struct fus_content){ .nr = 0 }));
	REQUIRE(!fus_release_wipe(&t));
	writes = world.writes + e->magics;
	put_transit(&t);
	return writes;
}

/* Those around the commit one by one. */
static void test_cut_transit(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		unsigned int homing, all, last, step;

		begin(e, i + 100);
		/* once for all of them */
		REQUIRE(!release(e, false));
		keep();
		count(e, &homing, &all);
		last = all - wiping(e) - 6;
		step = (last - homing) / 6;
		cut(e, homing + i % step, step, last);
		cut(e, last, 1, last + 8);
		cut(e, last + 8 + i, 9, all);
		end();
	}
}

static const struct unit_test tests[] = {
	{ "release: a set becomes a plain disk", test_whole },
	{ "release: power fails while extents go home, and again", test_cut_homing },
	{ "release: power fails in the last steps, and again", test_cut_transit },
};

UNIT_TESTS(tests)
