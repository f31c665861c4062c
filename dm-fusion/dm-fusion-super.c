// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: superblocks.
 *
 * Each member has two copies, which are written in turn. The superblock of the fast member names
 * the map copy and the position in the journal to replay from; that of the slow member does so for
 * the replica.
 */
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>

#include "dm-fusion.h"
#include "dm-fusion-settings.h"

int fusion_super_read(struct fusion *fs, unsigned int disk, enum fusion_dev role,
		      struct fusion_sb *sb, bool *single, const char **why)
{
	struct block_device *bdev = fs->dev[disk]->bdev;
	/* NOIO: the device may be suspended, so reclaim must not write to it. */
	struct page *page = alloc_page(GFP_NOIO);
	struct fusion_sb *one;
	const char *reason = NULL;
	u64 generation[2] = { };
	unsigned int copy;
	int best = 1;
	int r;

	one = kmalloc(sizeof(*one), GFP_NOIO);
	if (!page || !one) {
		*why = "out of memory";
		best = -ENOMEM;
		goto out;
	}

	for (copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		r = fusion_rw_page(fs, disk, REQ_OP_READ | REQ_META, blocknr, page);
		if (r)
			reason = "superblock cannot be read";
		else
			r = fusion_sb_unpack_landing(page_address(page), blocknr,
						     bdev_nr_sectors(bdev), one, &reason);
		/* The other copy may be from before that was begun. */
		if (r == -EPROTONOSUPPORT) {
			*why = fusion_sb_unknown_landing(one, fs->unknown);
			best = r;
			break;
		}
		if (!r && one->role != role) {
			reason = one->role == FUSION_FAST ?
				 "is the fast member of its set" : "is the slow member of its set";
			r = -EXDEV;
		}
		if (!r)
			generation[copy] = one->generation;
		if (!r && (best || one->generation > sb->generation)) {
			*sb = *one;
			best = 0;
		} else if (r && (best == 1 || best == -ENODATA)) {
			/* "Not a superblock" is the weakest reason. */
			best = r;
			*why = reason;
		}
	}
	/* The copies are written in turn, so one succeeds the other. */
	if (single)
		*single = max(generation[0], generation[1]) !=
			  min(generation[0], generation[1]) + 1;
out:
	kfree(one);
	if (page)
		__free_page(page);
	return best;
}

/* Read a copy, and the block that it is into the first page of the journal. */
static bool fusion_super_read_copy(struct fusion *fs, enum fusion_dev role, unsigned int copy,
				   struct fusion_sb *sb)
{
	const unsigned int disk = fs->meta[role];
	const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);
	struct page *page = fs->journal.buf[0];
	const char *why;

	return !fusion_rw_page(fs, disk, REQ_OP_READ | REQ_META, blocknr, page) &&
	       !fusion_sb_unpack_landing(page_address(page), blocknr,
					 bdev_nr_sectors(fs->dev[disk]->bdev), sb, &why);
}

bool fusion_super_other(struct fusion *fs, const struct fusion_sb *sb, struct fusion_sb *other)
{
	return fusion_super_read_copy(fs, sb->role, !(sb->generation & 1), other) &&
	       other->generation < sb->generation;
}

/* Write a superblock again, as it is on the member, if it can still be read. */
static int fusion_super_rewrite(struct fusion *fs, enum fusion_dev role, u64 generation,
				struct fusion_sb *scratch)
{
	const unsigned int disk = fs->meta[role], copy = generation & 1;
	const blk_opf_t fua = fusion_meta_fua(fs, role);
	int r;

	if (!fusion_super_read_copy(fs, role, copy, scratch) || scratch->generation != generation)
		return 0;
	r = fusion_gate_ready(fs);
	if (!r)
		r = fusion_rw_page(fs, disk, REQ_OP_WRITE | REQ_SYNC | REQ_META | fua,
				   FUSION_SUPER_BLOCKNR(copy), fs->journal.buf[0]);
	if (!r && !fua)
		r = blkdev_issue_flush(fs->dev[disk]->bdev);
	if (r)
		DMERR("%s: %s: writing the superblock again failed: %d",
		      dm_table_device_name(fs->ti->table), fs->dev[disk]->name, r);
	return r;
}

int fusion_super_settle(struct fusion *fs)
{
	const struct fusion_sb *fast = &fs->sb, *slow = &fs->replica.sb;
	struct fusion_sb *other = &fs->replica.next;	/* not in use yet */
	const u64 seen = fast->peer_at.generation;
	int r = 0;

	if (!(fast->flags & FUSION_SB_CLEAN))
		return 0;
	/* Nobody has seen whether the last write of a close succeeded; the one before says it. */
	if (fusion_super_other(fs, fast, other) && other->flags & FUSION_SB_CLEAN &&
	    other->generation == fast->generation - 1)
		r = fusion_super_rewrite(fs, FUSION_FAST, fast->generation, other);
	if (!r && slow->generation > seen && fusion_super_other(fs, slow, other) &&
	    other->generation == seen)
		r = fusion_super_rewrite(fs, FUSION_SLOW, slow->generation, other);
	return r;
}

static void fusion_super_settle_failed(struct fusion *fs, struct fusion_chain *chain)
{
	/* the replica's next one is kept, as the replica will try it again after a resume */
	struct fusion_sb *scratch = &fs->sb_next;

	/* without a heartbeat, another machine may have taken the set over */
	if (chain->super_unsure && !fusion_gate_ready(fs) &&
	    !fusion_super_rewrite(fs, chain->sb->role, chain->super_unsure, scratch))
		chain->super_unsure = 0;
}

void fusion_settle_failed(struct fusion *fs)
{
	fusion_chain_settle(fs);
	fusion_land_settle(fs);
	fusion_super_settle_failed(fs, &fs->journal);
	fusion_super_settle_failed(fs, &fs->replica.log);
}

int fusion_super_write(struct fusion *fs, struct fusion_chain *chain, struct fusion_sb *sb)
{
	u64 blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	blk_opf_t fua = fusion_meta_fua(fs, sb->role);
	blk_opf_t preflush;
	int r;

	fusion_note_peer(fs, chain, sb);
	/* a disk that joins is no member before the other one names it */
	if (fusion_sb_has_old(sb))
		sb->old.state = fs->old.joining && sb->role == sb->old.dev ? FUSION_OLD_JOINING :
									     FUSION_OLD_MEMBER;
	sb->write_time = ktime_get_real_seconds();
	fusion_sb_pack(sb, blocknr, page_address(chain->buf[0]));
	r = fusion_flush_before(fs, chain, &preflush);
	if (!r)
		r = fusion_rw_blocks(fs, chain,
				     REQ_OP_WRITE | REQ_SYNC | REQ_META | preflush | fua,
				     blocknr, 0, 1);
	if (!r)
		r = fusion_flush_after(fs, sb->role, fua);
	chain->super_unsure = r ? sb->generation : 0;
	if (r)
		DMERR("%s: writing the superblock of the %s member failed: %d",
		      dm_table_device_name(fs->ti->table),
		      sb->role == FUSION_FAST ? "fast" : "slow", r);
	else
		fusion_note_durable(chain, sb->generation, 0);
	return r;
}

void fusion_super_activate(struct fusion *fs, struct fusion_sb *sb)
{
	/* Only the fast member's counts: the slow one may have that of a failed attempt. */
	sb->prev_activation = fs->sb.activation;
	sb->activation = fs->activation;
	sb->open_time = ktime_get_real_seconds();
	memcpy(sb->host_id, fs->heart.host_id, sizeof(sb->host_id));
	memset(sb->host_name, 0, sizeof(sb->host_name));
	strscpy(sb->host_name, init_utsname()->nodename, sizeof(sb->host_name));
}

/*
 * At most one copy may be bad: that of a write that failed. The next write goes to the same copy,
 * since the generation has not advanced.
 */
int fusion_super_write_next(struct fusion *fs)
{
	struct fusion_sb *sb = &fs->sb_next;
	int r = fusion_super_write(fs, &fs->journal, sb);

	if (r)
		return r;
	fs->sb.active_set = sb->active_set;
	fs->sb.generation = sb->generation;
	fs->sb.epoch = sb->epoch;
	fs->sb.set_generation = sb->set_generation;
	fs->sb.flags = sb->flags;
	fusion_sb_copy_kept(sb, &fs->sb);
	WRITE_ONCE(fs->sb.replay_seq, sb->replay_seq);
	fs->sb.replay_txn = sb->replay_txn;
	fs->sb.replay_csum = sb->replay_csum;
	fs->sb.prev_activation = sb->prev_activation;
	fs->sb.activation = sb->activation;
	fs->sb.open_time = sb->open_time;
	memcpy(fs->sb.host_id, sb->host_id, sizeof(sb->host_id));
	memcpy(fs->sb.host_name, sb->host_name, sizeof(sb->host_name));
	fs->sb.peer_at = sb->peer_at;
	return 0;
}

int fusion_super_flags(struct fusion *fs, u32 set, u32 clear)
{
	struct fusion_sb *sb = &fs->sb_next;

	*sb = fs->sb;
	fusion_take_kept(fs, sb);
	sb->flags = (sb->flags & ~clear) | set;
	if (sb->flags == fs->sb.flags && fusion_sb_same_kept(sb, &fs->sb))
		return 0;
	sb->generation++;
	return fusion_super_write_next(fs);
}

int fusion_super_again(struct fusion *fs)
{
	fs->sb_next = fs->sb;
	fs->sb_next.generation++;
	return fusion_super_write_next(fs);
}

void fusion_super_repeat(struct fusion *fs)
{
	if (fusion_mode(fs) != FUSION_RW || !(fs->sb.flags & FUSION_SB_CLEAN))
		return;
	if (fusion_super_again(fs))
		fusion_set_mode(fs, FUSION_RO, "a superblock could not be written");
}
