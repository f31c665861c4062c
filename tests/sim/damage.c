// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set is to be opened, and a read fails, or a block of metadata is damaged. Then it opens with
 * all that was flushed, or is refused, not written to, and opens when the trouble is over.
 */
#include <stdio.h>

#include "../reseal.h"
#include "image.h"
#include "invariants.h"

enum damage {
	DAMAGE_BIT,		/* one has changed */
	DAMAGE_ZEROS,
	DAMAGE_OLDER,		/* writes since some time ago were lost */
	DAMAGE_ELSEWHERE,	/* what belongs next to it */
	DAMAGE_FOREIGN,		/* from another set, with a checksum that is right */
	DAMAGE_UNREADABLE,
	NR_DAMAGES,
};

static const char * const damage_name[] = {
	"bit", "zeros", "older", "elsewhere", "foreign", "unreadable",
};

struct trial {
	const struct life *life;
	const struct image *image;
	const u64 *other;	/* content that will do as well */
	char what[64];
	u32 fail_read;
	int error;
	bool failed;		/* that read */
};

/* -- one attempt, and one more --------------------------------------------------- */

static bool written(void)
{
	return sim_disk_written(world->disk[0]) || sim_disk_written(world->disk[1]);
}

/* If it opens, then so it does again once it has been closed. */
static void attempt(void *arg)
{
	struct trial *t = arg;
	const u64 *other = t->other;
	struct sim_dev *dev;
	unsigned int i;

	world->fail_read = t->fail_read;
	t->error = image_open(t->life->setup, &dev, false);
	t->failed = t->fail_read && !world->fail_read;
	world->fail_read = 0;
	if (t->error) {
		/* where writing has taken long, it has to see again whether it has the disks */
		if (written() && !world->failed_late)
			sim_fail("%s: refused, but written to", t->what);
		return;
	}
	for (i = 0; i < 2; i++) {
		check_invariants(sim_dev_private(dev));
		image_check(t->life, dev, t->image->content, other, t->what);
		sim_dev_remove(dev);
		if (!i && image_open(t->life->setup, &dev, false))
			sim_fail("%s: opened once, and not again", t->what);
	}
}

static void attempt_mended(struct trial *t)
{
	int error = t->error;

	t->other = NULL;
	t->fail_read = 0;
	sim_run(attempt, t);
	if (t->error)
		sim_fail("%s, and mended: refused (%d)", t->what, t->error);
	t->error = error;
}

/* -- reads ----------------------------------------------------------------------- */

static u32 reads_fail(const struct life *life, const struct image *image)
{
	struct trial t = { .life = life, .image = image };
	u32 refused = 0;

	do {
		t.fail_read++;
		snprintf(t.what, sizeof(t.what), "read %u fails", t.fail_read);
		image_enter(image);
		sim_run(attempt, &t);
		if (t.error) {
			u32 n = t.fail_read;

			refused++;
			attempt_mended(&t);
			t.fail_read = n;
			t.failed = true;
		}
		image_leave();
	} while (t.failed);
	if (!refused)
		sim_fail("reads fail, and it is opened all the same");
	return t.fail_read - 1;
}

/* -- blocks ---------------------------------------------------------------------- */

static const void *read_journal(void *ctx, u32 pos)
{
	const struct image *image = ctx;
	struct fusion_sb sb;

	image_super(image, FUSION_FAST, &sb);
	return sim_disk_block(image->disk[FUSION_FAST], sb.journal_start[FUSION_FAST] + pos);
}

/*
 * The block of the slow member's log that proves that the member is not from the past, or 0: a set
 * that was closed needs none. If it is damaged it cannot be told from one that was never written.
 */
static u64 proof_block(const struct image *image)
{
	struct fusion_sb fast, slow;
	struct fusion_ring scan = {
		.sb = &fast,
		.read = read_journal,
		.ctx = (void *)image,
	};

	image_super(image, FUSION_FAST, &fast);
	image_super(image, FUSION_SLOW, &slow);
	fusion_ring_scan(&scan);
	return slow.flags & FUSION_SB_CLEAN || scan.peer_at.seq <= slow.replay_seq ? 0 :
	       fusion_journal_blocknr(&slow, scan.peer_at.seq - 1);
}

/* Where the last transaction is: a damage there is what a power failure may leave. */
static u64 last_journal_block(const struct image *image)
{
	u64 newest = 0, found = 0;
	struct fusion_sb sb;
	u32 i;

	image_super(image, FUSION_FAST, &sb);
	for (i = 0; i < sb.journal_blocks[FUSION_FAST]; i++) {
		u64 nr = sb.journal_start[FUSION_FAST] + i;
		const struct fusion_journal_block *b = sim_disk_block(image->disk[0], nr);

		if (le32_to_cpu(b->h.magic) != FUSION_MAGIC_JOURNAL ||
		    le64_to_cpu(b->seq) <= newest)
			continue;
		newest = le64_to_cpu(b->seq);
		found = nr;
	}
	return found;
}

static bool is_super(u64 blocknr)
{
	return blocknr == FUSION_SUPER_BLOCKNR(0) || blocknr == FUSION_SUPER_BLOCKNR(1);
}

static bool in_journal(const struct fusion_sb *sb, u64 blocknr)
{
	return blocknr >= sb->journal_start[FUSION_FAST] &&
	       blocknr < sb->journal_start[FUSION_FAST] + sb->journal_blocks[FUSION_FAST];
}

static int apply_nothing(void *ctx, const struct fusion_record *rec)
{
	return 0;
}

/* Is it a block of the fast member's journal that is replayed? */
static bool in_chain(const struct image *image, u64 blocknr)
{
	struct fusion_sb sb;
	struct fusion_replay replay = {
		.sb = &sb,
		.read = read_journal,
		.apply = apply_nothing,
		.ctx = (void *)image,
	};
	u64 seq;

	image_super(image, FUSION_FAST, &sb);
	if (fusion_replay(&replay))
		sim_fail("the journal of a set that is well: %s", replay.why);
	for (seq = sb.replay_seq; seq < replay.next_seq; seq++)
		if (fusion_journal_blocknr(&sb, seq) == blocknr)
			return true;
	return false;
}

static bool in_map(const struct fusion_sb *sb, u64 blocknr)
{
	u64 start = sb->map_start[FUSION_FAST][sb->active_set];

	return blocknr >= start && blocknr < start + sb->map_blocks;
}

/* It has nothing to do with the set: it may have another copy, or be rewritten anyway. */
static bool must_open(const struct fusion_sb *sb, const struct image *image, enum fusion_dev dev,
		      u64 blocknr, enum damage damage)
{
	if (dev == FUSION_SLOW && damage != DAMAGE_UNREADABLE && blocknr == proof_block(image))
		return false;
	if (is_super(blocknr))
		return damage != DAMAGE_FOREIGN &&
		       (dev == FUSION_SLOW || sb->flags & FUSION_SB_CLEAN);
	/* what is in no transaction that counts can be of no use to anybody */
	if (dev == FUSION_FAST && damage == DAMAGE_UNREADABLE && in_journal(sb, blocknr))
		return !in_chain(image, blocknr);
	return dev == FUSION_SLOW || (!in_journal(sb, blocknr) && !in_map(sb, blocknr));
}

/* Return: false: there would be no difference. */
static bool do_damage(const struct life *life, const struct image *image, enum fusion_dev dev,
		      u64 blocknr, enum damage damage)
{
	const struct sim_disk *older = life->older.disk[dev];
	const void *now = sim_disk_block(image->disk[dev], blocknr);
	union {
		u8 raw[FUSION_BLOCK_SIZE];
		struct fusion_block_header h;
	} b;
	u64 next = is_super(blocknr) ? blocknr ^ 8 : blocknr + 1;

	memcpy(b.raw, now, sizeof(b));
	switch (damage) {
	case DAMAGE_BIT:
		b.raw[rnd_below(&world->rng, sizeof(b))] ^= 1 << rnd_below(&world->rng, 8);
		break;
	case DAMAGE_ZEROS:
		memset(b.raw, 0, sizeof(b));
		break;
	case DAMAGE_OLDER:
		memcpy(b.raw, sim_disk_block(older, blocknr), sizeof(b));
		break;
	case DAMAGE_ELSEWHERE:
		if (next < sim_disk_blocks(older))
			memcpy(b.raw, sim_disk_block(image->disk[dev], next), sizeof(b));
		break;
	case DAMAGE_FOREIGN:
		if (b.h.magic) {
			b.h.set_uuid[0]++;
			reseal(b.raw);
		}
		break;
	default:
		sim_disk_set_bad(world->disk[dev], blocknr);
		return true;
	}
	if (!memcmp(b.raw, now, sizeof(b)))
		return false;
	sim_disk_set_block(world->disk[dev], blocknr, b.raw);
	return true;
}

static void damage_block(const struct life *life, const struct image *image, enum fusion_dev dev,
			 u64 blocknr, enum damage damage, struct opening *o)
{
	struct trial t = { .life = life, .image = image };
	struct fusion_sb sb;

	image_super(image, FUSION_FAST, &sb);
	snprintf(t.what, sizeof(t.what), "%s block %llu, %s", dev == FUSION_FAST ? "fast" : "slow",
		 blocknr, damage_name[damage]);
	if (image == &life->cut && dev == FUSION_FAST && blocknr == last_journal_block(image))
		t.other = life->before;

	image_enter(image);
	if (do_damage(life, image, dev, blocknr, damage)) {
		sim_run(attempt, &t);
		o->blocks++;
		if (t.error && must_open(&sb, image, dev, blocknr, damage))
			sim_fail("%s: refused (%d) for no reason", t.what, t.error);
		if (!t.error && dev == FUSION_FAST && in_map(&sb, blocknr))
			sim_fail("%s: a map like that was taken", t.what);
		if (t.error) {
			o->refused++;
			sim_disk_set_bad(world->disk[dev], U32_MAX);
			sim_disk_set_block(world->disk[dev], blocknr,
					   sim_disk_block(image->disk[dev], blocknr));
			attempt_mended(&t);
		}
	}
	image_leave();
}

static void blocks_damaged(const struct life *life, const struct image *image, struct opening *o)
{
	struct fusion_sb sb;
	u32 dev, nr, damage;

	image_super(image, FUSION_FAST, &sb);
	for (dev = 0; dev < SIM_NR_DISKS; dev++)
		for (nr = 0; nr < sim_disk_blocks(image->disk[dev]); nr++)
			for (damage = 0; damage < NR_DAMAGES; damage++)
				/* one kind will do where nothing depends on it */
				if (is_super(nr) || damage == nr % NR_DAMAGES ||
				    (dev == FUSION_FAST &&
				     (in_journal(&sb, nr) || in_map(&sb, nr))))
					damage_block(life, image, dev, nr, damage, o);
}

/* -- what no checksum tells ------------------------------------------------------- */

/* A map whose words contradict each other, or the journal. */
static void wrong_map(const struct life *life, const char *what,
		      void (*change)(u32 *words))
{
	struct trial t = { .life = life, .image = &life->closed };
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb sb;
	const char *why;
	u32 words[FUSION_MAP_PER_BLOCK];
	u64 nr;

	snprintf(t.what, sizeof(t.what), "%s", what);
	image_super(t.image, FUSION_FAST, &sb);
	nr = sb.map_start[FUSION_FAST][sb.active_set];
	if (fusion_map_unpack(&sb, sb.active_set, 0, sb.set_generation,
			      sim_disk_block(t.image->disk[0], nr), words, &why))
		sim_fail("the map of a set that is well: %s", why);
	change(words);
	fusion_map_pack(&sb, sb.active_set, 0, sb.set_generation, words, block);

	image_enter(t.image);
	sim_disk_set_block(world->disk[0], nr, block);
	sim_run(attempt, &t);
	if (t.error != -EILSEQ)
		sim_fail("%s: %d", what, t.error);
	sim_disk_set_block(world->disk[0], nr, sim_disk_block(t.image->disk[0], nr));
	attempt_mended(&t);
	image_leave();
}

/* Extents 0 and 1 were written as a whole. */
static void share_slot(u32 *words)
{
	words[1] = words[0];
}

static void open_without_bitmap(u32 *words)
{
	words[0] = fusion_word_set_state(words[0], FUSION_OPEN);
}

/* One member as it was at an earlier time, even in the same activation. */
static void from_the_past(const struct life *life, const struct image *now,
			  const struct image *then, enum fusion_dev old)
{
	struct trial t = { .life = life, .image = now, .what = "from the past" };
	struct image mixed = *now;

	mixed.disk[old] = then->disk[old];
	image_enter(&mixed);
	sim_run(attempt, &t);
	if (t.error != -ESTALE)
		sim_fail("the %s member is from %s, and the error is %d",
			 old == FUSION_FAST ? "fast" : "slow",
			 then == &life->older ? "two activations ago" :
			 then == &life->closed ? "the activation before" : "an earlier time",
			 t.error);
	image_leave();
}

void damage_all(const struct life *life, struct opening *o)
{
	unsigned int dev;

	o->reads += reads_fail(life, &life->closed);
	o->reads += reads_fail(life, &life->cut);
	blocks_damaged(life, &life->closed, o);
	blocks_damaged(life, &life->cut, o);
	wrong_map(life, "two extents on a slot", share_slot);
	wrong_map(life, "open without a bitmap", open_without_bitmap);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		from_the_past(life, &life->cut, &life->older, dev);
		from_the_past(life, &life->cut, &life->closed, dev);
		from_the_past(life, &life->cut, &life->earlier, dev);
		from_the_past(life, &life->closed, &life->older, dev);
	}
}
