// SPDX-License-Identifier: GPL-2.0-only
/*
 * The superblocks that fusionctl writes when it makes a set anew: above everything that is on the
 * members or that one of them says of the other, whichever of that is left.
 */
#include <errno.h>

#include "image.h"
#include "fusionctl.h"
#include "meta.h"

#define SECTORS	(64U << 11)
#define TRIALS	4000U
#define MOST	40U	/* of a number that is chosen: small, so that any may be the greatest */

static void open_set(struct image *im, struct meta *meta)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };

	image_format(im, 1, SECTORS, 2 * SECTORS);
	image_activate(im);
	image_work(im, 20);
	image_close(im);
	REQUIRE(!fus_meta_open(2, path, false, meta));
}

static struct fusion_progress any_progress(u64 *r)
{
	return (struct fusion_progress){ .generation = rnd_below(r, MOST),
					 .seq = rnd_below(r, MOST) };
}

static void any_super(u64 *r, struct meta_copy *c, u64 generation)
{
	c->err = 0;
	c->sb.generation = generation;
	c->sb.epoch = 1 + rnd_below(r, MOST);
	c->sb.replay_seq = 1 + rnd_below(r, MOST);
	c->sb.replay_txn = 1 + rnd_below(r, MOST);
	c->sb.peer_at = any_progress(r);
	c->sb.flags = rnd_below(r, 2) ? FUSION_SB_CLEAN : 0;
	c->sb.activation = rnd_below(r, 3);
	c->sb.prev_activation = rnd_below(r, 3);
}

/* A member with both copies of its superblock, one, or none. */
static void any_member(u64 *r, struct meta *meta, int dev)
{
	struct meta_member *m = &meta->m[dev];
	const u64 generation = 1 + rnd_below(r, MOST);

	m->best = (int)rnd_below(r, 4) - 1;
	for (int copy = 0; copy < 2; copy++)
		m->copy[copy].err = -ENODATA;
	if (m->best >= 0) {
		m->best = generation & 1;
		any_super(r, &m->copy[m->best], generation);
		if (generation > 1 && rnd_below(r, 2))
			any_super(r, &m->copy[!m->best], generation - 1);
	}
	for (int set = 0; set < FUSION_NR_SETS; set++)
		for (u32 i = 0; i < meta->geo[dev].map_blocks; i++) {
			m->set[set].block[i].why = rnd_below(r, 2) ? "damaged" : NULL;
			m->set[set].block[i].generation = rnd_below(r, MOST);
		}
	m->ring.max_seq = rnd_below(r, MOST);
	m->ring.max_txn = rnd_below(r, MOST);
	m->ring.max_epoch = rnd_below(r, MOST);
	m->ring.peer_at = any_progress(r);
	meta->geo[dev].epoch = rnd_below(r, MOST);
}

static void check_member(const struct meta *meta, int dev, const struct fusion_sb *sb)
{
	const struct meta_member *m = &meta->m[dev], *peer = &meta->m[!dev];
	const struct fusion_sb *have = fus_meta_sb(meta, dev);
	const struct fusion_sb *peer_sb = fus_meta_sb(meta, !dev);

	for (int copy = 0; copy < 2; copy++)
		if (!m->copy[copy].err)
			REQUIRE(sb->generation > m->copy[copy].sb.generation);
	for (int set = 0; set < FUSION_NR_SETS; set++)
		for (u32 i = 0; i < sb->map_blocks; i++)
			if (!m->set[set].block[i].why)
				REQUIRE(sb->generation > m->set[set].block[i].generation);
	if (have) {
		REQUIRE((sb->generation ^ have->generation) & 1, "over the copy in force");
		REQUIRE(sb->active_set != have->active_set);
		REQUIRE(sb->replay_seq > have->replay_seq);
		REQUIRE(sb->replay_txn > have->replay_txn);
	}
	REQUIRE(sb->replay_seq > m->ring.max_seq);
	REQUIRE(sb->replay_txn > m->ring.max_txn);
	/* nothing that the other member says of it, before that one is written, is beyond it */
	REQUIRE(fusion_sb_reached(sb, false, sb->replay_seq, &peer->ring.peer_at));
	if (peer_sb)
		REQUIRE(fusion_sb_reached(sb, false, sb->replay_seq, &peer_sb->peer_at));
}

/*
 * The slow member is written first: with the fast one as it was, it makes a set if the two made one
 * before, and otherwise none.
 */
static void check_half(const struct meta *meta, const struct fusion_sb *slow, bool fit)
{
	struct fusion_sb first = *slow;
	const char *why;

	first.flags = 0;
	REQUIRE_EQ(!fusion_sb_match(fus_meta_sb(meta, FAST), &first, &why), fit);
}

static void check_epochs(const struct meta *meta, const struct fusion_sb *sb)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	struct meta_past past;
	const char *why;
	bool fit = false;

	REQUIRE(!fusion_sb_match(&sb[FAST], &sb[SLOW], &why), "%s", why);
	if (fast && slow) {
		fit = !fusion_sb_match(fast, slow, &why) && !fus_meta_past(meta, &past);
		check_half(meta, &sb[SLOW], fit);
	}
	/* what the journals of a set that fits have from later epochs is removed */
	for (int dev = 0; dev < 2; dev++) {
		REQUIRE(fit || sb[dev].epoch > meta->m[dev].ring.max_epoch);
		REQUIRE(fit || sb[dev].epoch > meta->geo[FAST].epoch);
	}
	REQUIRE(!fast || sb[FAST].epoch > fast->epoch);
	REQUIRE(fit || !slow || sb[SLOW].epoch > slow->epoch);
}

static void test_above(void)
{
	unsigned int fit = 0, none = 0;
	u64 r = 1;
	struct image im;
	struct meta meta;

	open_set(&im, &meta);
	for (unsigned int i = 0; i < TRIALS; i++) {
		const struct meta_state st = { .next_seq = 1, .next_txn = 1 };
		struct fusion_sb sb[2];
		const char *why;

		any_member(&r, &meta, FAST);
		any_member(&r, &meta, SLOW);
		fus_meta_next(&meta, &st, false, -1, sb);
		for (int dev = 0; dev < 2; dev++)
			check_member(&meta, dev, &sb[dev]);
		check_epochs(&meta, sb);
		if (!fus_meta_sb(&meta, FAST) || !fus_meta_sb(&meta, SLOW))
			none++;
		else
			fit += !fusion_sb_match(fus_meta_sb(&meta, FAST),
						fus_meta_sb(&meta, SLOW), &why);
	}
	REQUIRE(fit > 10 && none > TRIALS / 10, "%u fit, %u lack a superblock", fit, none);
	fus_meta_free(&meta);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "superblocks above all that is there", test_above },
};

UNIT_TESTS(tests)
