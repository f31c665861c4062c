// SPDX-License-Identifier: GPL-2.0-only
/* How the kernel's own code opens the disks in a state, on copies of them. */
#include <string.h>

#include "judge.h"
#include "../invariants.h"

static const enum sim_loss lose_nothing = SIM_LOSE_ALL;	/* nothing is in a cache */

void copy_world(void)
{
	struct sim_world *from = world, *w = sim_world_new(rnd(&world->rng));
	unsigned int i;

	for (i = 0; i < SIM_NR_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], lose_nothing, &w->rng, false);
}

void end_world(void)
{
	sim_world_free(world);
}

bool is_torn(const struct state *st)
{
	return st->torn[0] || st->torn[1];
}

/* The former content, or that without the last transaction, if that may count as torn. */
static bool is_right(const struct state *st, u32 lext, const u64 *found)
{
	const size_t size = EXTENT_SECTORS * sizeof(u64);
	const u64 *content = st->image->content + lext * EXTENT_SECTORS;
	const u64 *before = st->life->before + lext * EXTENT_SECTORS;

	return !memcmp(found, content, size) ||
	       (is_torn(st) && st->image == &st->life->cut && !memcmp(found, before, size));
}

static void read_all(void *arg)
{
	u64 content[EXTENT_SECTORS];
	struct found *f = arg;
	struct sim_dev *dev;
	u32 lext;

	f->error = image_open(f->st->life->setup, &dev, false);
	if (f->error)
		return;
	check_invariants(sim_dev_private(dev));
	for (lext = 0; lext < f->st->life->setup->sb.nr_lexts; lext++) {
		const bool read = !sim_dev_io(dev, REQ_OP_READ, lext * EXTENT_SECTORS,
					      EXTENT_SECTORS, content);

		f->right[lext] = read && is_right(f->st, lext, content);
		f->nr_wrong += !f->right[lext];
		if (read)
			memcpy(f->content + lext * EXTENT_SECTORS, content, sizeof(content));
	}
	sim_dev_remove(dev);
}

static size_t content_size(const struct state *st)
{
	return (size_t)st->life->setup->sb.nr_lexts * EXTENT_SECTORS * sizeof(u64);
}

struct found *found_new(const struct state *st, const char *after)
{
	struct found *f = sim_alloc(sizeof(*f), true);

	f->st = st;
	f->after = after;
	f->right = sim_alloc(st->life->setup->sb.nr_lexts, true);
	f->content = sim_alloc(content_size(st), true);
	return f;
}

void found_read(struct found *f)
{
	copy_world();
	sim_run(read_all, f);
	end_world();
}

struct found *kernel_reads(const struct state *st, const char *after)
{
	struct found *f = found_new(st, after);

	found_read(f);
	return f;
}

bool same_found(const struct state *st, const struct found *a, const struct found *b)
{
	return !a->error && !b->error &&
	       !memcmp(a->content, b->content, content_size(st));
}

struct placing {
	const struct life *life;
	u8 *place;
};

static void find_places(void *arg)
{
	struct placing *p = arg;
	struct sim_dev *dev;
	u32 lext, word;

	if (image_open(p->life->setup, &dev, false))
		sim_fail("a set that is well cannot be opened");
	for (lext = 0; lext < p->life->setup->sb.nr_lexts; lext++) {
		word = set_word(sim_dev_private(dev), lext);
		p->place[lext] = fusion_word_mapped(word) ? fusion_word_dev(word) :
				 FUSION_NR_DEVS;
	}
	sim_dev_remove(dev);
}

u8 *judge_places(const struct life *life, const struct image *image)
{
	struct placing p = {
		.life = life,
		.place = sim_alloc(life->setup->sb.nr_lexts, true),
	};

	image_enter(image);
	sim_run(find_places, &p);
	image_leave();
	return p.place;
}

/* The sequence number of a block of the fast journal, or 0. */
static u64 seq_at(const struct fusion_sb *sb, u64 nr)
{
	const struct fusion_journal_block *b =
		(const void *)sim_disk_block(world->disk[FUSION_FAST], nr);

	return fusion_block_check(sb, FUSION_MAGIC_JOURNAL, nr, b) ? 0 : le64_to_cpu(b->seq);
}

bool lost_last_two(const struct state *st)
{
	struct fusion_sb sb;
	u64 last = 0;
	bool lost;
	u32 i;

	if (!st->torn[0] || !st->torn[1] || st->image != &st->life->cut)
		return false;
	image_enter(st->image);
	sim_disk_super(world->disk[FUSION_FAST], &sb);
	for (i = 0; i < sb.journal_blocks[FUSION_FAST]; i++)
		last = max(last, seq_at(&sb, sb.journal_start[FUSION_FAST] + i));
	lost = seq_at(&sb, st->torn[0]) + seq_at(&sb, st->torn[1]) == last + last - 1;
	image_leave();
	return lost;
}
