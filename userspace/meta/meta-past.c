// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find out whether one member is from an earlier time than the other: restored from an image, or a
 * disk that lost writes which it had acknowledged as flushed. The rules are those of the kernel
 * (fusion_sb_reached()); the text for people says how far back it is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fusionctl.h"
#include "meta.h"
#include "meta-shadow.h"
#include "role.h"
#include "size.h"

static const void *read_ring(void *ctx, u32 pos)
{
	const struct meta_ring *ring = ctx;

	return ring->unreadable[pos] ? NULL : ring->block + (size_t)pos * FUSION_BLOCK_SIZE;
}

static struct fusion_ring scan(const struct meta *meta, int dev, u64 wanted)
{
	struct fusion_ring r = {
		.sb = fus_meta_sb(meta, dev),
		.read = read_ring,
		.ctx = (void *)&meta->m[dev].ring,
		.wanted = wanted,
	};

	fusion_ring_scan(&r);
	return r;
}

/* Return: whether the other superblock copy is damaged, or not the predecessor. */
static bool single(const struct meta_member *m)
{
	const struct meta_copy *other = &m->copy[!m->best];

	return other->err || other->sb.generation + 1 != m->copy[m->best].sb.generation;
}

/* The end of the fast member's journal. Damage to it is reported elsewhere. */
static u64 journal_end(const struct meta *meta, u64 found)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST);
	struct meta_state st;
	u64 end = found;

	if (fus_state_init(&st, sb->nr_lexts))
		return end;
	if (fus_state_load(meta, sb, &st, NULL))
		end = st.next_seq;
	fus_state_free(&st);
	return end;
}

static bool judge(const struct meta *meta, int dev, u64 next_seq,
		  const struct fusion_progress *claim, struct meta_past *past)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);

	if (fusion_sb_reached(sb, single(&meta->m[dev]), next_seq, claim))
		return false;
	past->dev = dev;
	past->superblocks = claim->generation > sb->generation ?
			    claim->generation - sb->generation : 0;
	past->blocks = claim->seq > next_seq ? claim->seq - next_seq : 0;
	return true;
}

static u32 nr_unreadable(const struct meta *meta, int dev)
{
	u32 nr = 0;

	for (u32 pos = 0; pos < fus_meta_sb(meta, dev)->journal_blocks[dev]; pos++)
		nr += meta->m[dev].ring.unreadable[pos];
	return nr;
}

bool fus_meta_past(const struct meta *meta, struct meta_past *past)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	struct fusion_ring ring[2];
	const char *why;
	int err;

	memset(past, 0, sizeof(*past));
	if (!fast || !slow || !fus_meta_covers(meta, fast) || !fus_meta_covers(meta, slow))
		return false;
	err = fusion_sb_match(fast, slow, &why);
	if (err && err != -ESTALE)
		return false;
	ring[FAST] = scan(meta, FAST, 0);
	ring[SLOW] = scan(meta, SLOW, ring[FAST].peer_at.seq);
	if (!judge(meta, FAST, journal_end(meta, ring[FAST].next_seq), &ring[SLOW].peer_at, past) &&
	    !judge(meta, SLOW, ring[SLOW].next_seq, &ring[FAST].peer_at, past) && !err)
		return false;
	if (slow->epoch > fast->epoch)
		past->dev = FAST;
	else if (slow->epoch < fast->epoch)
		past->dev = SLOW;
	else if (err)
		past->dev = BOTH;
	past->activations = max(slow->epoch, fast->epoch) - min(slow->epoch, fast->epoch);
	if (past->dev != BOTH)
		past->unreadable = nr_unreadable(meta, past->dev);
	return true;
}

int fus_meta_past_by_supers(const struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++)
		if (!fusion_sb_reached(fus_meta_sb(meta, dev), single(&meta->m[dev]), U64_MAX,
				       &fus_meta_sb(meta, !dev)->peer_at))
			return dev;
	return -1;
}

u32 fus_meta_past_extents(const struct meta *meta)
{
	struct meta_state st[2] = { 0 };
	u32 differ = 0, nr = meta->geo[FAST].nr_lexts;

	for (int dev = 0; dev < 2; dev++) {
		if (!fus_meta_sb(meta, dev) || fus_state_init(&st[dev], nr))
			goto out;
		fus_state_load(meta, fus_meta_sb(meta, dev), &st[dev], NULL);
	}
	for (u32 lext = 0; lext < nr; lext++)
		differ += !fus_replica_agrees(st[FAST].word[lext], st[SLOW].word[lext]);
out:
	for (int dev = 0; dev < 2; dev++)
		fus_state_free(&st[dev]);
	return differ;
}

/* ", 3 activations" */
static void add_count(char *buf, size_t size, u64 n, const char *what)
{
	size_t len = strlen(buf);

	if (n)
		snprintf(buf + len, size - len, ", %llu %s%s", (unsigned long long)n, what,
			 fus_plural(n));
}

void fus_meta_past_text(const struct meta *meta, const struct meta_past *past, char *buf,
			size_t size)
{
	const char *ring = past->dev == FAST ? "journal block" : "log block";
	char when[32] = "at an unknown time";
	struct tm tm;
	time_t t;

	if (past->dev == BOTH) {
		snprintf(buf, size, "the members were opened apart from each other, each with a "
			 "copy of the other one");
		return;
	}
	t = fus_meta_sb(meta, past->dev)->write_time;
	if (t && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(buf, size, "from the past, or lost writes: last written %s", when);
	add_count(buf, size, past->activations, "activation");
	add_count(buf, size, past->superblocks, "superblock");
	add_count(buf, size, past->blocks, ring);
	snprintf(buf + strlen(buf), size - strlen(buf), " behind what the %s member has seen",
		 fus_role_name[!past->dev]);
	/* the missing transactions may be in these */
	add_count(buf, size, past->unreadable, ring);
	if (past->unreadable)
		snprintf(buf + strlen(buf), size - strlen(buf), " cannot be read");
}
