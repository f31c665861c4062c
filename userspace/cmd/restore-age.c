// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dump records where the data was at that time. Written to members that were used since, or that
 * are older, it shows data in the wrong places, and the map with the right ones is lost.
 */
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta-shadow.h"
#include "restore.h"
#include "role.h"
#include "size.h"

/* Return: whether a member says the same of an extent as the map in the dump. */
static bool same_place(const struct meta_state *is, const struct meta_state *map, u32 lext)
{
	const struct meta_open *x = fus_state_open_find(is, lext);
	const struct meta_open *y = fus_state_open_find(map, lext);

	if (!fus_replica_agrees(map->word[lext], is->word[lext]))
		return false;
	return x && y ? !memcmp(x->bitmap, y->bitmap, sizeof(x->bitmap)) : !x && !y;
}

struct present {
	bool whole;		/* it can be loaded */
	u32 moved;		/* extents in another place than the dump has; all if not whole */
	bool relogged;		/* its landing log is not that of the dump */
	u64 next_seq, next_txn;	/* where the journal continues */
	u32 next_csum;
};

/* The map that a member has, if it has one. */
static struct present load(const struct dump *d, const struct meta *meta, int dev)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);
	struct present p = { .moved = d->sb.nr_lexts };
	struct meta_state st;

	if (!sb || sb->nr_lexts != d->sb.nr_lexts || fus_state_init(&st, sb->nr_lexts))
		return p;
	p.whole = fus_state_load(meta, sb, &st, NULL);
	if (p.whole) {
		p.moved = 0;
		for (u32 i = 0; i < d->sb.nr_lexts; i++)
			p.moved += !same_place(&st, &d->st, i);
		/* the replica does not tell */
		p.relogged = dev == FAST && !fus_log_same(&st.log, &d->st.log);
		p.next_seq = st.next_seq;
		p.next_txn = st.next_txn;
		p.next_csum = st.next_csum;
	}
	fus_state_free(&st);
	return p;
}

static bool same_data(const struct present *p)
{
	return !p->moved && !p->relogged;
}

/* Return: whether one superblock copy is damaged, or not the predecessor of the other. */
static bool single(const struct meta_member *m)
{
	const struct meta_copy *other = &m->copy[!m->best];

	return other->err || other->sb.generation + 1 != m->copy[m->best].sb.generation;
}

/*
 * Return: whether the member was used after the dump was made. The slow member may be an epoch
 * ahead after an interrupted opening, but only if the fast member is in its state of that time.
 */
static bool is_newer(const struct dump *d, const struct meta *meta, const struct present *p,
		     int dev)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev), *fast = fus_meta_sb(meta, FAST);
	const u32 epoch = meta->geo[FAST].epoch;

	if (!sb || sb->epoch < epoch)
		return false;
	/*
	 * Members that restore wrote, and that were not opened since, may be written again, whether
	 * their epoch has come to be that of the dump or a later one.
	 */
	if (!sb->peer_at.generation && !sb->peer_at.seq && same_data(p))
		return false;
	if (sb->epoch == epoch)
		return d->generation[dev] && (sb->generation > d->generation[dev] ||
		       meta->m[dev].ring.kernel_seq > d->last_seq[dev]);
	return dev == FAST || sb->epoch > epoch + 1 || sb->flags & FUSION_SB_CLEAN || !fast ||
	       fast->epoch != epoch;
}

/*
 * Return: whether the member is from before the dump. One superblock copy, or one block of the
 * ring, may be lost.
 */
static bool is_older(const struct dump *d, const struct meta *meta, int dev)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);

	if (!sb || sb->epoch > d->sb.epoch)
		return false;
	if (sb->generation + single(&meta->m[dev]) < d->generation[dev])
		return true;
	if (sb->epoch < d->sb.epoch && !single(&meta->m[dev]))
		return true;
	return meta->m[dev].ring.max_seq + 1 < d->last_seq[dev];
}

/* Would the kernel open the present members? */
static bool is_whole(const struct meta *meta, const struct present *fast)
{
	const struct fusion_sb *sb[2] = { fus_meta_sb(meta, FAST), fus_meta_sb(meta, SLOW) };
	struct meta_past past;
	const char *why;

	return fast->whole && sb[SLOW] && !fusion_sb_match(sb[FAST], sb[SLOW], &why) &&
	       !fus_meta_past(meta, &past);
}

/* Both maps lead to the same places, so they also find data that was written in place since. */
static int refuse_unmoved(const struct dump *d, const char *path, bool force)
{
	if (!force)
		return fus_fail(FC_REFUSED, path, "was used after %s was made, although no extent "
				"has moved since: its own map leads to the same data; open the "
				"set, or repair it if it does not open; to write the dump anyway, "
				"add --force", d->path);
	fus_warn(path, "was used after %s was made, although no extent has moved since", d->path);
	return 0;
}

/* What was written to the log since was flushed, and the dump does not know of it. */
static int refuse_relogged(const struct dump *d, const char *path, bool force)
{
	if (!force)
		return fus_fail(FC_REFUSED, path, "was used after %s was made: its landing log has "
				"changed since, and what was written to it would be lost; open the "
				"set, or repair or salvage what is there; only if all newer copies "
				"are lost, add --force", d->path);
	fus_warn(path, "was used after %s was made: what was written to its landing log since is "
		 "lost", d->path);
	return 0;
}

static int refuse_newer(const struct dump *d, const char *path, const struct present *p, bool force)
{
	char extents[EXTENTS_TEXT];

	if (same_data(p))
		return refuse_unmoved(d, path, force);
	if (!p->moved)
		return refuse_relogged(d, path, force);
	fus_extents_text(extents, p->moved, d->sb.extent_sectors);
	if (!force)
		return fus_fail(FC_REFUSED, path, "was used after %s was made: %s moved since, and "
				"would be lost or mixed up; repair or salvage what is there; only "
				"if all newer copies are lost, add --force", d->path, extents);
	fus_warn(path, "was used after %s was made: %s moved since, and are lost or mixed up",
		 d->path, extents);
	return 0;
}

static int refuse_older(const struct dump *d, const struct meta *meta, int dev, bool force)
{
	if (!force)
		return fus_fail(FC_REFUSED, meta->m[dev].o.path, "is from before %s was made; "
				"connect the current %s member, or salvage the other one; only if "
				"that is lost, add --force", d->path, fus_role_name[dev]);
	fus_warn(meta->m[dev].o.path, "is from before %s was made: it may hold old or foreign data",
		 d->path);
	return 0;
}

static int refuse_other_log(const struct dump *d, const char *path, bool force)
{
	if (!force)
		return fus_fail(FC_REFUSED, path, "has an intact map, and its landing log is not "
				"that of %s: the newest versions of some blocks would be lost; "
				"open the set, or repair it; only if that log is wrong, add "
				"--force",
				d->path);
	fus_warn(path, "had an intact map, and its landing log was not that of %s", d->path);
	return 0;
}

static int refuse_whole(const struct dump *d, const struct meta *meta, u32 moved, bool force)
{
	char extents[EXTENTS_TEXT];

	if (!moved)
		return refuse_other_log(d, meta->m[FAST].o.path, force);
	fus_extents_text(extents, moved, d->sb.extent_sectors);
	if (!force)
		return fus_fail(FC_REFUSED, meta->m[FAST].o.path, "has an intact map, and has %s "
				"in other places than %s, which would be lost or mixed up; open "
				"the set, or repair it; only if that map is wrong, add --force",
				extents, d->path);
	fus_warn(meta->m[FAST].o.path, "had an intact map, and had %s in other places than %s",
		 extents, d->path);
	return 0;
}

/* A member that is behind what the other one has seen. */
static int refuse_past(const struct dump *d, const struct meta *meta, bool force)
{
	struct meta_past past;
	const char *path;
	char text[256];

	if (!fus_meta_past(meta, &past))
		return 0;
	path = meta->m[past.dev == BOTH ? FAST : past.dev].o.path;
	fus_meta_past_text(meta, &past, text, sizeof(text));
	if (!force)
		return fus_fail(FC_REFUSED, path, "%s; connect the current one, or salvage either; "
				"with --force the member is used with the map of %s", text,
				d->path);
	fus_warn(path, "%s; it may hold old or foreign data", text);
	return 0;
}

int restore_check_age(struct dump *d, const struct meta *meta, bool force)
{
	const struct present p[2] = { load(d, meta, FAST), load(d, meta, SLOW) };
	const bool whole = is_whole(meta, &p[FAST]);
	int rc;

	d->goes_on = whole && same_data(&p[FAST]);
	if (d->goes_on) {
		d->st.next_seq = p[FAST].next_seq;
		d->st.next_txn = p[FAST].next_txn;
		d->st.next_csum = p[FAST].next_csum;
	}
	for (int dev = 0; dev < 2; dev++)
		if (is_newer(d, meta, &p[dev], dev))
			return refuse_newer(d, meta->m[dev].o.path, &p[dev], force);
	if (d->goes_on)
		return 0;
	for (int dev = 0; dev < 2; dev++)
		if (is_older(d, meta, dev))
			return refuse_older(d, meta, dev, force);
	rc = refuse_past(d, meta, force);
	return rc || !whole ? rc : refuse_whole(d, meta, p[FAST].moved, force);
}
