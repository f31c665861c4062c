// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: a member is replaced by another disk while the set is loaded.
 *
 * Three disks have a part in it. NEW takes the place of OLD, in the same role; PEER is the member
 * in the other role, which stays. The two members are those that name each other, and the old
 * member is the one that both name. So one superblock of PEER, which names NEW in place of OLD,
 * decides: it is the commit of the join, for either role. NEW is complete before that is written.
 *
 * Join. The set is loaded from OLD and PEER. Then, with what is durable after each step, if power
 * fails there, and which disks make the set then:
 *
 *	1. flush all three disks					OLD + PEER
 *	2. complete all OPEN extents, and flush			OLD + PEER: holes are zeros now,
 *		which are no part of the map, or were
 *		promised to nobody
 *	3. write PEER's superblock as it is, to its other copy	OLD + PEER, and from here on it is
 *		certain: what was found may have been in a
 *		cache only, and PEER may durably name NEW
 *	4. zero the places of NEW's journal or log, heat and	OLD + PEER; NEW is PREPARED, or
 *		heartbeat, or stale list			the old member
 *	5. write NEW's map or replica, renumbered, and its	OLD + PEER, which do not name NEW,
 *		superblock, which says JOINING			whatever it says
 *	6. PEER: the other map copy, renumbered, and the	before: OLD + PEER
 *		superblock that names NEW: the commit		after: NEW + PEER, and OLD
 *	7. if OLD was the fast member, the heartbeat moves	NEW + PEER, and OLD
 *		from OLD to NEW
 *	8. both members' other superblock copies		NEW + PEER, and OLD
 *
 * OLD's own superblocks stay as they are. It is recognised by its uuid and layout, and does not
 * match PEER any more, as that names NEW. Until step 8 the older copy of PEER's superblock is one
 * of OLD + PEER: it counts if the newer one is damaged, and then nothing was written by a user yet.
 *
 * Taking back is the same join with the roles exchanged: the old member becomes NEW, and what was
 * NEW becomes OLD. Only the places of its metadata are written in steps 4 and 5, which it does not
 * need as the old member; of its superblock, one copy at a time. So if power fails, it is still
 * the old member.
 *
 * Step 7 follows the commit, and nothing is written in between: another machine that opens the set
 * after the commit finds the superblock of this activation and no heartbeat beside it, watches the
 * place, and takes the set. The first beat there finds that, before step 8 writes to the same
 * copies.
 *
 * End. When no word lies on the old member, whether that is there or not, an activation writes the
 * plain format, like a new geometry (dm-fusion-load.c): the fast member's superblock is the commit,
 * and the slow one follows with its next map copy. Then both superblock copies of both members are
 * written, and only after that OLD is told that it has left: it might be needed again otherwise.
 *
 * What else makes this right:
 *  - claims of INV8 go on: NEW's generation and sequence numbers continue those of OLD. But nothing
 *    that PEER writes before the commit claims that NEW has got somewhere: OLD has not;
 *  - NEW's superblock goes to the older copy, as with any other;
 *  - words change in memory only, and both members have them from the commit on. Up to then nothing
 *    is recorded in a journal; no OPEN extent has a bitmap in one after.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

static const char *fusion_old_name(const struct fusion *fs)
{
	return fs->old.dev == FUSION_FAST ? "fast" : "slow";
}

/* -- which disks make the set ---------------------------------------------------------------- */

/* The table line names a disk that is no part of the set. Was it, or would it have been? */
static bool fusion_was_part(const struct fusion_sb *member, const struct fusion_sb *disk)
{
	return !memcmp(disk->set_uuid, member->set_uuid, sizeof(disk->set_uuid)) &&
	       disk->role == member->role &&
	       memcmp(disk->dev_uuid, member->dev_uuid, sizeof(disk->dev_uuid)) &&
	       !(disk->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
		 disk->old.state == FUSION_OLD_PREPARED);
}

/* Can the disk that joins be written to for as long as any, and by all that the set is used for? */
static const char *fusion_join_misfit(const struct fusion *fs, const struct fusion_sb *disk)
{
	const unsigned int bytes = bdev_logical_block_size(fs->dev[fs->old.dev]->bdev);

	if (!fusion_sb_lasts(disk))
		return "has a superblock of which a counter is almost exhausted: use another one";
	if (bytes > bdev_logical_block_size(fs->dev[FUSION_OLD]->bdev) &&
	    bytes > bdev_logical_block_size(fs->dev[!fs->old.dev]->bdev))
		return "has larger logical blocks than the set: use another one";
	return NULL;
}

/* The pair matches. Is @disk the third one, as the table line says? */
static int fusion_third_fits(struct fusion *fs, const struct fusion_sb *member,
			     const struct fusion_sb *peer, const struct fusion_sb *disk,
			     const char **why)
{
	const struct fusion_sb *fast = fs->old.dev == FUSION_FAST ? member : peer;

	if (fs->old.joins) {
		*why = fusion_join_misfit(fs, disk);
		return *why ? -EINVAL : fusion_sb_may_join(member, peer, disk, why);
	}
	if (fusion_sb_has_old(fast))
		return fusion_sb_match_old(fast, disk, why);
	fs->old.over = true;
	if (fusion_was_part(member, disk))
		return 0;
	*why = "is not the old member of the set, which has none";
	return -EXDEV;
}

/* The peer's superblock tells which of the two disks is the member. */
static void fusion_trio_pick(struct fusion *fs, struct fusion_sb *member,
			     const struct fusion_sb *peer)
{
	struct fusion_sb *third = &fs->old.sb, *scratch = &fs->replica.next;

	fs->old.joins = !memcmp(peer->peer_uuid, third->dev_uuid, sizeof(peer->peer_uuid));
	if (!fs->old.joins)
		return;
	fs->meta[fs->old.dev] = FUSION_OLD;
	*scratch = *member;
	*member = *third;
	*third = *scratch;
}

int fusion_trio_read(struct fusion *fs, struct fusion_sb *fast, struct fusion_sb *slow,
		     bool single[FUSION_NR_DEVS], int *disk, bool *matched, const char **why)
{
	struct fusion_sb *sb[] = { fast, slow };
	const enum fusion_dev dev = fs->old.dev;
	bool one[FUSION_NR_DISKS];
	unsigned int i;
	int r;

	for (i = 0; i < FUSION_NR_DEVS; i++)
		fs->meta[i] = i;
	fs->old.over = false;
	fs->old.joins = false;
	*matched = false;
	for (i = 0; i < FUSION_NR_DISKS; i++) {
		if (!fs->dev[i])
			continue;
		*disk = i;
		r = fusion_super_read(fs, i, i == FUSION_OLD ? dev : i,
				      i == FUSION_OLD ? &fs->old.sb : sb[i], &one[i], why);
		if (r)
			return r;
	}
	if (fs->dev[FUSION_OLD])
		fusion_trio_pick(fs, sb[dev], sb[!dev]);
	for (i = 0; single && i < FUSION_NR_DEVS; i++)
		single[i] = one[fs->meta[i]];
	*disk = -1;
	*matched = true;
	r = fusion_sb_match(fast, slow, why);
	if (r || !fs->dev[FUSION_OLD])
		return r;
	*disk = fs->old.joins ? dev : FUSION_OLD;
	return fusion_third_fits(fs, sb[dev], sb[!dev], &fs->old.sb, why);
}

int fusion_trio_init(struct fusion *fs)
{
	const struct fusion_sb *sb = &fs->sb;
	const enum fusion_dev dev = sb->old.dev;
	const u32 first = sb->old.first_slot;

	if (!fusion_sb_has_old(sb))
		return 0;
	/* as many slots as have numbers before its own */
	fs->old.used = kvcalloc(BITS_TO_LONGS(first), sizeof(long), GFP_KERNEL);
	fs->old.unread = kvcalloc(BITS_TO_LONGS(first), sizeof(long), GFP_KERNEL);
	fs->old.tried = kvcalloc(BITS_TO_LONGS(first), sizeof(long), GFP_KERNEL);
	if (!fs->old.used || !fs->old.unread || !fs->old.tried)
		return -ENOMEM;
	fs->old.dev = dev;
	fs->old_slot[dev] = first;
	/* this may wrap, and wraps back where a slot is added */
	fs->base[FUSION_OLD] = sb->old.data_start - ((sector_t)first << fs->shift);
	/* its cache may hold earlier writes */
	fs->dirty[FUSION_OLD] = !!fs->dev[FUSION_OLD];
	return 0;
}

void fusion_trio_exit(struct fusion *fs)
{
	kvfree(fs->old.tried);
	kvfree(fs->old.unread);
	kvfree(fs->old.used);
}

/* -- loading --------------------------------------------------------------------------------- */

int fusion_trio_allowed(struct fusion *fs, bool read_only)
{
	if (!fs->old.joins || !read_only)
		return 0;
	DMERR("%s: a set that is opened read-only cannot be joined by %s",
	      dm_table_device_name(fs->ti->table), fs->dev[fs->old.dev]->name);
	return -EROFS;
}

void fusion_trio_renumber(struct fusion *fs)
{
	struct fusion_open *open;
	u32 lext;

	if (!fs->old.joins)
		return;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		if (!(lext % 65536))
			cond_resched();
		fusion_map_load(fs, lext, fusion_word_joined(&fs->sb, fs->map[lext]));
	}
	list_for_each_entry(open, &fs->opens.lru, lru)
		open->word = fusion_word_joined(&fs->sb, open->word);
}

int fusion_trio_check(struct fusion *fs, bool read_only)
{
	const char *name = dm_table_device_name(fs->ti->table);

	fs->old.at_first = fs->old.nr;
	if (fs->old.joins && fs->opens.nr_lost) {
		DMERR("%s: %s cannot join: %u extents are partly lost: write or discard them whole",
		      name, fs->dev[fs->old.dev]->name, fs->opens.nr_lost);
		return -EBUSY;
	}
	if (fs->old.joins) {
		if (fs->opens.nr <= FUSION_JOIN_OPENS)
			return 0;
		DMERR("%s: %s cannot join: %u extents are partial, at most %u may be: send settle",
		      name, fs->dev[fs->old.dev]->name, fs->opens.nr, FUSION_JOIN_OPENS);
		return -EAGAIN;
	}
	if (!fusion_sb_has_old(&fs->sb))
		return 0;
	if (fs->old.nr && !fs->dev[FUSION_OLD]) {
		DMERR("%s: %u extents lie on the %s member being replaced: give it as old_%s",
		      name, fs->old.nr, fusion_old_name(fs), fusion_old_name(fs));
		return -ENODEV;
	}
	if (fs->old.nr || read_only)
		return 0;
	/* The set does without it from here on; nothing in its cache matters. */
	fusion_sb_part(&fs->sb);
	fs->old.over = true;
	fs->old_slot[fs->old.dev] = U32_MAX;
	fs->dirty[FUSION_OLD] = 0;
	return 0;
}

/* -- the join -------------------------------------------------------------------------------- */

/* Step 3: the superblock of the other member, as it was found, to its other copy. */
static int fusion_join_be_sure(struct fusion *fs)
{
	int r;

	/* The heartbeat expects it: see fusion_beat_is_before(). */
	if (fs->old.dev == FUSION_FAST)
		return fusion_replica_super_next(fs);
	fs->sb_next.generation++;
	r = fusion_super_write(fs, &fs->journal, &fs->sb_next);
	if (!r)
		fs->sb.generation = fs->sb_next.generation;
	return r;
}

static int fusion_join_zero(struct fusion *fs, u64 blocknr, u32 nr)
{
	int r = fusion_gate_ready(fs);

	if (!r)
		r = blkdev_issue_zeroout(fs->dev[fs->old.dev]->bdev,
					 blocknr * FUSION_BLOCK_SECTORS,
					 (sector_t)nr * FUSION_BLOCK_SECTORS, GFP_NOIO, 0);
	fusion_mark_written(fs, fs->old.dev);
	return r;
}

/*
 * Step 4: nothing of another life, or of an attempt that failed, may be taken for a part of this
 * one. What is written later on the disk flushes this first.
 */
static int fusion_join_clear(struct fusion *fs)
{
	const enum fusion_dev dev = fs->old.dev;
	int r;

	r = fusion_join_zero(fs, fs->sb.journal_start[dev], fs->sb.journal_blocks[dev]);
	if (!r && dev == FUSION_FAST)
		r = fusion_join_zero(fs, FUSION_BEAT_BLOCKNR, 1);
	if (!r && dev == FUSION_FAST)
		r = fusion_join_zero(fs, fs->sb.heat_start, fs->sb.heat_blocks);
	/* the landing log is empty, so what is listed there is not stale */
	if (!r && dev == FUSION_SLOW && fs->sb.stale_places)
		r = fusion_join_zero(fs, fs->sb.stale_start,
				     fusion_stale_size(&fs->sb, fs->sb.stale_places));
	if (r)
		DMERR("%s: %s cannot be cleared to join: %d", dm_table_device_name(fs->ti->table),
		      fs->dev[dev]->name, r);
	return r;
}

/* Claims about the member hold for the disk, too; its newer superblock copy is not overwritten. */
static u64 fusion_join_generation(const struct fusion_sb *member, const struct fusion_sb *disk)
{
	u64 next = max(member->generation, disk->generation) + 1;

	return next + ((next ^ disk->generation ^ 1) & 1);
}

/* Steps 5 to 8 */
static int fusion_join_fast(struct fusion *fs, u32 epoch)
{
	struct fusion_sb *sb = &fs->sb;
	int r;

	fusion_sb_join(&fs->replica.sb, &fs->sb_next, &fs->old.sb);
	sb->generation = fusion_join_generation(&fs->sb_next, &fs->old.sb) - 1;
	sb->replay_seq = fs->journal.next_seq;
	sb->replay_txn = fs->journal.next_txn;
	sb->replay_csum = fs->journal.prev_csum;
	r = fusion_checkpoint(fs, epoch, false, 0);
	if (!r)
		r = fusion_replica_anew(fs);
	fs->old.joining = false;
	if (!r)
		r = fusion_beat_move(fs);
	if (!r)
		r = fusion_replica_super_next(fs);
	return r ?: fusion_super_again(fs);
}

static int fusion_join_slow(struct fusion *fs, u32 epoch)
{
	struct fusion_sb *sb = &fs->replica.sb;
	const u64 generation = fusion_join_generation(sb, &fs->old.sb) - 1;
	int r;

	fusion_sb_join(sb, sb, &fs->old.sb);
	sb->generation = generation;
	r = fusion_replica_anew(fs);
	if (!r)
		r = fusion_checkpoint(fs, epoch, false, FUSION_NO_HEAT);
	fs->old.joining = false;
	if (!r)
		r = fusion_super_again(fs);
	return r ?: fusion_replica_super_next(fs);
}

int fusion_trio_make(struct fusion *fs, u32 epoch)
{
	const enum fusion_dev dev = fs->old.dev;
	struct fusion_sb *slow = &fs->replica.sb;
	int r;

	r = fusion_join_be_sure(fs);
	if (!r)
		r = fusion_join_clear(fs);
	if (r)
		return r;
	fs->meta[dev] = dev;
	fs->old.joining = true;
	fusion_super_activate(fs, slow);
	slow->epoch = epoch;
	slow->flags &= ~FUSION_SB_CLEAN;
	r = dev == FUSION_FAST ? fusion_join_fast(fs, epoch) : fusion_join_slow(fs, epoch);
	if (r)
		DMERR("%s: %s could not join: %d", dm_table_device_name(fs->ti->table),
		      fs->dev[dev]->name, r);
	else
		DMINFO("%s: %s is the %s member now, %u extents lie on %s",
		       dm_table_device_name(fs->ti->table), fs->dev[dev]->name,
		       fusion_old_name(fs), fs->old.nr, fs->dev[FUSION_OLD]->name);
	return r;
}

/* -- the end --------------------------------------------------------------------------------- */

/* Do both copies of both superblocks say, durably, that there is no old member? */
static bool fusion_part_is_durable(struct fusion *fs)
{
	struct fusion_replica *rep = &fs->replica;
	bool durable;

	/* an update may be under way */
	mutex_lock(&rep->mutex);
	durable = !rep->stale && !rep->again && !rep->unsure && !fusion_sb_has_old(&rep->sb);
	mutex_unlock(&rep->mutex);
	return durable && !fusion_sb_has_old(&fs->sb) && fusion_mode(fs) == FUSION_RW;
}

void fusion_trio_leave(struct fusion *fs)
{
	struct fusion_sb *sb = &fs->old.sb;
	struct page *page;
	unsigned int copy;
	int r = 0;

	if (!fs->old.over || !fs->dev[FUSION_OLD] || fusion_sb_apart(sb) ||
	    !fusion_part_is_durable(fs))
		return;
	page = alloc_page(GFP_NOIO);
	if (!page)
		return;
	for (copy = 0; copy < 2 && !r; copy++) {
		u64 blocknr;

		fusion_sb_leave(sb);
		blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);
		fusion_sb_pack(sb, blocknr, page_address(page));
		r = fusion_gate_ready(fs);
		if (!r)
			r = fusion_rw_page(fs, FUSION_OLD, REQ_OP_WRITE | REQ_SYNC | REQ_META |
					   REQ_PREFLUSH | REQ_FUA, blocknr, page);
	}
	__free_page(page);
	if (r)
		DMWARN("%s: %s has left the set, and cannot be told so: %d",
		       dm_table_device_name(fs->ti->table), fs->dev[FUSION_OLD]->name, r);
	else
		DMINFO("%s: %s has left the set", dm_table_device_name(fs->ti->table),
		       fs->dev[FUSION_OLD]->name);
}
