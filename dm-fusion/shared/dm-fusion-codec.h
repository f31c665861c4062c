/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: packing, unpacking and checking of metadata blocks, and the
 * replay of the journal.
 *
 * Pure code: no I/O, no allocation, no locks, no global state. The same source
 * serves the kernel module, fusionctl, the unit tests and the fuzzers. Every
 * number that comes from a block is bounded here, once; what these functions
 * hand out can be used as an index without another look.
 *
 * Functions that judge a block return 0 or a negative errno and set *why to a
 * constant string that says what is wrong with it.
 *
 * One file because struct fusion_sb bounds the numbers of every kind of block,
 * and most sources that read one kind read several.
 */
#ifndef DM_FUSION_CODEC_H
#define DM_FUSION_CODEC_H

#include <linux/minmax.h>

#include "dm-fusion-record.h"

/* Numbers that only count up: no device lives long enough to get here. */
#define FUSION_MAX_COUNTER	0x4000000000000000ULL	/* 2^62 */

/* Most blocks of a transaction of a set that is open: one bio, or two at the wrap. */
#define FUSION_TXN_BLOCKS	64U

#define FUSION_NR_SETS		2	/* map sets: one active, one for the next checkpoint */

/* Most OPEN extents of a device, whatever its rings have room for. */
#define FUSION_MAX_OPEN		4096U

/**
 * struct fusion_progress - how far a member has got
 * @generation: of its newest superblock
 * @seq: number of the next block of its journal or log
 *
 * Both only rise as long as a member lives.
 */
struct fusion_progress {
	u64 generation;
	u64 seq;
};

/*
 * A set in transit, in host order; fields as in struct fusion_super_transit or, if @kind is
 * FUSION_TRANSIT_UUID, as in struct fusion_super_renewal: then those between are zeros.
 */
struct fusion_transit {
	u32 kind;
	u32 state;
	u32 dev;
	u32 nr_magics;
	u64 magic[FUSION_MAX_MAGICS];
	u64 disk_sectors;
	u32 content_id;
	u32 copy_csum;
	u16 place[FUSION_MAX_MAGICS];
	u8 was_set[16];
	u8 was_dev[FUSION_NR_DEVS][16];
};

/* A member that is being replaced, in host order; fields as in struct fusion_super_old. */
struct fusion_old {
	u8 uuid[16];
	u32 state;
	u32 dev;
	u32 first_slot;
	u32 nr_slots;
	u64 data_start;
	u64 sectors;
	struct fusion_disk_ident ident;
};

/**
 * struct fusion_sb - a superblock in host order
 *
 * Fields as in struct fusion_super. After fusion_sb_unpack() the geometry is
 * consistent in itself and within self_sectors and peer_sectors.
 *
 * A superblock stands for its member: what is said below of a map set, of the journal
 * and of replay is that of the member whose @role it has. So the slow member's superblock
 * gives the replica: its log is a journal, its map sets are map sets.
 */
struct fusion_sb {
	u8 set_uuid[16];
	u8 dev_uuid[16];
	u8 peer_uuid[16];
	char label[FUSION_LABEL_SIZE + 1];
	struct fusion_disk_ident self;
	struct fusion_disk_ident peer;
	u32 version;	/* as found; what is packed has FUSION_VERSION */
	u32 role;
	u64 incompat;
	u64 ro_compat;
	u64 compat;
	u64 generation;
	u32 flags;
	u32 epoch;
	u64 self_sectors;
	u64 peer_sectors;
	u64 create_time;

	u32 extent_sectors;
	u32 nr_lexts;
	u64 journal_start[FUSION_NR_DEVS];	/* on the slow member: the replica's log */
	u32 journal_blocks[FUSION_NR_DEVS];
	u64 map_start[FUSION_NR_DEVS][FUSION_NR_SETS];
	u32 map_blocks;
	u32 heat_blocks;
	u64 heat_start;
	u64 fast_data_start;
	u32 nr_fast_slots;
	u32 slow_first_slot;
	u32 nr_slow_slots;
	u32 spare_fast;
	u32 spare_slow;

	u32 active_set;
	u32 replay_csum;
	u64 set_generation;
	u64 replay_seq;
	u64 replay_txn;

	u32 layout_seq;
	u64 activation;
	u64 prev_activation;
	struct fusion_progress peer_at;	/* what the other member durably had got to */
	u64 write_time;
	u64 open_time;
	u8 host_id[16];
	char host_name[FUSION_HOST_SIZE + 1];
	u32 settings_mask;
	u32 setting[FUSION_NR_SETTINGS];
	struct fusion_old old;		/* zeros without FUSION_INCOMPAT_OLD_MEMBER */
	struct fusion_transit transit;	/* zeros without FUSION_INCOMPAT_IN_TRANSIT */
	u64 shadows_at;			/* see fusion_sb_shadows_exact(); else 0 as found */
	u64 point;			/* zero without FUSION_INCOMPAT_SHADOW */
	u32 landing_slots;		/* zero unless fusion_sb_keeps_landing() */
	u32 stale_places;		/* also without a landing log; zero: no stale list */
	u64 stale_start;		/* the same; block on the slow member */
};

/**
 * fusion_sb_shadows_exact() - does the slow member tell exactly which shadows were current?
 * @sb: superblock of the slow member
 *
 * When a set is closed, the last thing written to the slow member are two superblocks. If the map
 * copy that they name was written behind the last change of the set, both have the generation of
 * the first one in @shadows_at. So any superblock that is written later makes that void, whoever
 * writes it.
 */
static inline bool fusion_sb_shadows_exact(const struct fusion_sb *sb)
{
	return sb->role == FUSION_SLOW && sb->incompat & FUSION_INCOMPAT_SHADOW &&
	       sb->flags & FUSION_SB_CLEAN && sb->shadows_at &&
	       sb->generation - sb->shadows_at <= 1;
}

/**
 * fusion_shadows_exact() - was the set closed cleanly, and not touched since?
 * @fast: superblock of the fast member
 * @slow: superblock of the slow member, as it was unpacked: @shadows_at is 0 unless it counts
 *
 * They have to be the newest ones: a copy that cannot be read could be of a later opening. So the
 * caller looks whether both copies of both are valid and follow each other, and whether the members
 * match. The head of dm-fusion-load-shadow.c says why the shadows are current then.
 */
static inline bool fusion_shadows_exact(const struct fusion_sb *fast, const struct fusion_sb *slow)
{
	return slow->shadows_at && fast->peer_at.generation == slow->generation &&
	       fast->flags & FUSION_SB_CLEAN && !(fast->flags & FUSION_SB_NEEDS_CHECK);
}

/* Feature bits this code knows. */
#define FUSION_INCOMPAT_KNOWN	(FUSION_INCOMPAT_OLD_MEMBER | FUSION_INCOMPAT_DAMAGED | \
				 FUSION_INCOMPAT_SHADOW)
#define FUSION_RO_COMPAT_KNOWN	0ULL
#define FUSION_SB_FLAGS_KNOWN	(FUSION_SB_CLEAN | FUSION_SB_NEEDS_CHECK)

/* -- map words ----------------------------------------------------------- */

static inline enum fusion_dev fusion_other_dev(enum fusion_dev dev)
{
	return dev == FUSION_FAST ? FUSION_SLOW : FUSION_FAST;
}

static inline u32 fusion_word(enum fusion_state state, enum fusion_dev dev, u32 slot)
{
	return (u32)state << FUSION_WORD_STATE_SHIFT |
	       (u32)dev << FUSION_WORD_DEV_SHIFT | slot;
}

/* Has the extent a slot? */
static inline bool fusion_word_mapped(u32 word)
{
	return (word & FUSION_WORD_SLOT_MASK) != FUSION_WORD_UNMAPPED;
}

/* If not: is its content lost? Otherwise it reads as zeros. */
static inline bool fusion_word_lost(u32 word)
{
	return word == FUSION_WORD_LOST;
}

static inline enum fusion_state fusion_word_state(u32 word)
{
	return word >> FUSION_WORD_STATE_SHIFT;
}

static inline enum fusion_dev fusion_word_dev(u32 word)
{
	return word >> FUSION_WORD_DEV_SHIFT & 1;
}

static inline u32 fusion_word_slot(u32 word)
{
	return word & FUSION_WORD_SLOT_MASK;
}

/* The same place in another state. */
static inline u32 fusion_word_set_state(u32 word, enum fusion_state state)
{
	return (word & ~(3U << FUSION_WORD_STATE_SHIFT)) |
	       (u32)state << FUSION_WORD_STATE_SHIFT;
}

/* What a checkpoint writes for a word in memory: a copy under way has not happened yet. */
static inline u32 fusion_word_on_disk(u32 word)
{
	enum fusion_state s = fusion_word_state(word);

	if (!fusion_word_mapped(word))
		return fusion_word_lost(word) ? FUSION_WORD_LOST : FUSION_WORD_UNMAPPED;
	return s == FUSION_WATCHED || s == FUSION_LOCKED ?
	       fusion_word_set_state(word, FUSION_STABLE) : word;
}

/* Bytes of an OPEN record's bitmap, a multiple of 4. */
static inline unsigned int fusion_bitmap_bytes(u32 extent_sectors)
{
	unsigned int bytes = extent_sectors / FUSION_BLOCK_SECTORS / 8;

	return (bytes + 3) & ~3U;
}

/* Size of the set, in sectors. */
static inline u64 fusion_sb_sectors(const struct fusion_sb *sb)
{
	return (u64)sb->nr_lexts * sb->extent_sectors;
}

/* Size of a member, by the superblock of either. */
static inline u64 fusion_sb_dev_sectors(const struct fusion_sb *sb, enum fusion_dev dev)
{
	return sb->role == dev ? sb->self_sectors : sb->peer_sectors;
}

/* Is this the superblock of a member of a set that has an old member as well? */
static inline bool fusion_sb_has_old(const struct fusion_sb *sb)
{
	return sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
	       (sb->old.state == FUSION_OLD_JOINING || sb->old.state == FUSION_OLD_MEMBER);
}

/* Does a word of @dev with this slot, valid or not, lie on the old member? */
static inline bool fusion_slot_is_old(const struct fusion_sb *sb, enum fusion_dev dev, u32 slot)
{
	return fusion_sb_has_old(sb) && sb->old.dev == dev && slot >= sb->old.first_slot;
}

/* First sector of a slot on its device, which may be the old member. */
static inline u64 fusion_slot_sector(const struct fusion_sb *sb, enum fusion_dev dev, u32 slot)
{
	const bool old = fusion_slot_is_old(sb, dev, slot);
	u64 offset = (u64)(slot - (old ? sb->old.first_slot : 0)) * sb->extent_sectors;

	return dev == FUSION_FAST ? sb->fast_data_start + offset : offset;
}

/*
 * Free fast slots to keep for incoming writes if nobody says how many: the larger of 2 % and
 * 4 GiB, at most a tenth.
 */
static inline u32 fusion_default_reserve(const struct fusion_sb *sb)
{
	const u32 four_gib = (4U << (30 - 9)) / sb->extent_sectors;

	return min(max(sb->nr_fast_slots / 50, four_gib), sb->nr_fast_slots / 10);
}

/*
 * Half-life of heat, in seconds, if nobody says one: an hour, or as long as a disk of 150 random
 * I/Os a second takes to serve ten to each extent that the fast member can hold, at most a day.
 * To tell which those are takes that long; a shorter memory forgets them before.
 */
static inline u32 fusion_default_half_life(const struct fusion_sb *sb)
{
	return clamp(sb->nr_fast_slots / 15, 3600U, 86400U);
}

/* The data slots of a member. */
static inline u32 fusion_sb_nr_slots(const struct fusion_sb *sb, enum fusion_dev dev)
{
	return dev == FUSION_FAST ? sb->nr_fast_slots : sb->nr_slow_slots;
}

/* They have numbers below this; those of the old member come behind them. */
static inline u32 fusion_sb_slot_end(const struct fusion_sb *sb, enum fusion_dev dev)
{
	return dev == FUSION_FAST ? sb->nr_fast_slots : sb->slow_first_slot + sb->nr_slow_slots;
}

/* Is this a data slot of that member? Those of the old one are behind them, see the next. */
static inline bool fusion_slot_valid(const struct fusion_sb *sb, enum fusion_dev dev, u32 slot)
{
	if (dev == FUSION_FAST)
		return slot < sb->nr_fast_slots;
	return slot >= sb->slow_first_slot &&
	       slot - sb->slow_first_slot < sb->nr_slow_slots;
}

/* Is this a data slot of the old member? */
static inline bool fusion_old_slot_valid(const struct fusion_sb *sb, enum fusion_dev dev, u32 slot)
{
	return fusion_slot_is_old(sb, dev, slot) &&
	       fusion_slot_valid(sb, dev, slot - sb->old.first_slot);
}

/* The word of a shadow, as it is on disk. */
static inline u32 fusion_shadow_word(enum fusion_shadow_state state, u32 slot)
{
	return (u32)state << FUSION_WORD_STATE_SHIFT |
	       fusion_word(FUSION_STABLE, FUSION_SLOW, slot);
}

/* Does a word read from the replica name a shadow, current or not? */
static inline bool fusion_names_shadow(u32 word)
{
	return fusion_word_mapped(word) && fusion_word_state(word) > FUSION_OPEN;
}

/* May this word, which names a shadow, stand in a block of the member with this superblock? */
static inline bool fusion_shadow_word_valid(const struct fusion_sb *sb, u32 word)
{
	return sb->role == FUSION_SLOW && sb->incompat & FUSION_INCOMPAT_SHADOW &&
	       fusion_word_dev(word) == FUSION_SLOW &&
	       fusion_slot_valid(sb, FUSION_SLOW, fusion_word_slot(word));
}

/**
 * fusion_word_valid() - may this word stand in a map block or journal record?
 * @sb: geometry
 * @word: unmapped, or lost if extents may be; STABLE or OPEN on a data slot of its member; STABLE
 *	on one of the old member; or that of a shadow, if it is from the replica
 */
static inline bool fusion_word_valid(const struct fusion_sb *sb, u32 word)
{
	const enum fusion_dev dev = fusion_word_dev(word);
	const u32 slot = fusion_word_slot(word);

	if (!fusion_word_mapped(word))
		return word == FUSION_WORD_UNMAPPED ||
		       (fusion_word_lost(word) && sb->incompat & FUSION_INCOMPAT_DAMAGED);
	if (fusion_names_shadow(word))
		return fusion_shadow_word_valid(sb, word);
	if (fusion_old_slot_valid(sb, dev, slot))
		return fusion_word_state(word) == FUSION_STABLE;
	return fusion_slot_valid(sb, dev, slot);
}

/* -- the header of every block --------------------------------------------- */

/**
 * fusion_block_check() - does a block belong here?
 * @sb: for the set uuid
 * @magic: FUSION_MAGIC_* wanted
 * @blocknr: where it was read
 * @block: FUSION_BLOCK_SIZE bytes
 *
 * Return: NULL, or what is wrong with its header or checksum.
 */
const char *fusion_block_check(const struct fusion_sb *sb, u32 magic, u64 blocknr,
			       const void *block);

/* Seal a block with its header. Return: its checksum. For the sources of this folder. */
u32 fusion_block_seal(const struct fusion_sb *sb, u32 magic, u64 blocknr, void *block);

/* Is @text, of @size bytes, all zeros behind its end? For the sources of this folder. */
bool fusion_text_padded(const char *text, size_t size);

/* -- superblocks ---------------------------------------------------------- */

/* Why there is no plan for a set. */
struct fusion_misfit {
	int dev;		/* the member that is too small, or -1: no single one */
	const char *what;
	const char *remedy;	/* or NULL */
};

/* Sizes and positions up to here can be added and turned into bytes without overflow. */
#define FUSION_MAX_DEV_SECTORS	0x10000000000000ULL

/* A member with fewer data slots than this is useless. */
#define FUSION_MIN_DATA_SLOTS	8U

/* Fill in @misfit. Return: -EINVAL; -ENOSPC if of a member. For the sources of this folder. */
int fusion_unfit(struct fusion_misfit *misfit, int dev, const char *what, const char *remedy);

/* Spares of a member with so many slots. For the sources of this folder. */
u32 fusion_plan_spares(u32 slots);

/**
 * fusion_sb_plan() - lay out a new set
 * @sb: geometry, self_sectors, peer_sectors and extent_sectors are filled in; role becomes
 *	FUSION_FAST and the state that of an empty set: generation 1, epoch 0, set 0 active
 *	with set_generation 1, replay_seq 1, replay_txn 1. Identity is left to the caller.
 * @fast_sectors: size of the fast member
 * @slow_sectors: size of the slow member
 * @extent_sectors: power of two, FUSION_MIN_EXTENT_SECTORS..FUSION_MAX_EXTENT_SECTORS
 * @misfit: filled in on error
 *
 * The slow member's superblock is the same with role, self and peer exchanged, since its
 * replica is that of an empty set:
 * fusion_sb_for_slow(). Return: 0, -EINVAL, or -ENOSPC if a member is too small.
 */
int fusion_sb_plan(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors,
		   u32 extent_sectors, struct fusion_misfit *misfit);

/**
 * fusion_sb_plan_landing() - keep slots of a new set for a landing log
 * @sb: as fusion_sb_plan() has left it; on error it stays as it is
 * @slots: how many; 0: there is no log
 * @misfit: filled in on error
 *
 * The set has as many extents less, and FUSION_INCOMPAT_LANDING. The stale list takes the first
 * slots of the slow member. Return: 0, or -ENOSPC: more than fusion_landing_limit(), or no room for
 * that.
 */
int fusion_sb_plan_landing(struct fusion_sb *sb, u32 slots, struct fusion_misfit *misfit);

/* Turn the fast member's superblock into its peer's: swaps role, uuids, idents and sizes. */
void fusion_sb_for_slow(const struct fusion_sb *fast, struct fusion_sb *slow);

/**
 * fusion_sb_grow() - lay out a set anew whose members have become larger
 * @sb: a valid superblock of either member, of the fast one if it has a landing log, for which
 *	as many slots are kept as before; on error it stays as it is
 * @fast_sectors: size of the fast member now
 * @slow_sectors: size of the slow member now
 * @nr_lexts: extents that the set is to have, or 0: as many as possible
 * @misfit: filled in on error
 *
 * No region begins anywhere else than before, so the set as it was and the set as it will be share
 * their journals and have each a map copy; the map may become as large as the gap behind it. Fast
 * and slow slots, spares, extents, blocks of map and heat, and the sizes grow; layout_seq rises by
 * one. Return: 0; -EINVAL: it cannot become that large, or larger at all.
 */
int fusion_sb_grow(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors, u32 nr_lexts,
		   struct fusion_misfit *misfit);

/**
 * fusion_sb_shrink() - lay out a set anew that gives up the end of a member
 * @sb: a valid superblock, as for fusion_sb_grow(); on error it stays as it is
 * @fast_sectors: size that the fast member is to have, at most its present one
 * @slow_sectors: size that the slow member is to have, likewise
 * @nr_lexts: extents that the set is to have, or 0: as many as it has and there is room for
 * @misfit: filled in on error
 *
 * The reverse of fusion_sb_grow(): nothing begins anywhere else than before, the last slots of a
 * member that gets smaller are gone, and so are the last extents of the set. The regions keep their
 * blocks, as a block behind a region would be taken for a foreign write. The spares become those of
 * a member with so few slots. layout_seq rises by one. Whether anything lies in what is
 * given up, only the map tells.
 *
 * Return: 0; -EINVAL or -ENOSPC: it cannot become that small, or is so already.
 */
int fusion_sb_shrink(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors, u32 nr_lexts,
		     struct fusion_misfit *misfit);

/* Do their regions and first slots have the same places, and the extents the same size? */
bool fusion_sb_same_places(const struct fusion_sb *a, const struct fusion_sb *b);

/*
 * Has the set of @sb, a superblock of either member, the places of that of @other, of either, and
 * nothing beyond them? Then each map word, record and block of @sb is in bounds for @other, too.
 */
bool fusion_sb_within(const struct fusion_sb *sb, const struct fusion_sb *other);

/*
 * Is @sb, of either member, what fusion_sb_grow() may have made of @old, of either; or what
 * fusion_sb_shrink() may have; or either of them?
 */
bool fusion_sb_grown_from(const struct fusion_sb *sb, const struct fusion_sb *old);
bool fusion_sb_shrunk_from(const struct fusion_sb *sb, const struct fusion_sb *old);
bool fusion_sb_resized_from(const struct fusion_sb *sb, const struct fusion_sb *old);

/*
 * Give @sb the geometry, layout_seq, old member and sizes of @from, which may be that of the other
 * member.
 */
void fusion_sb_take_geometry(struct fusion_sb *sb, const struct fusion_sb *from);

/* Have the slow member's superblock tell of the landing log and stale list as the fast one does. */
void fusion_sb_take_landing(struct fusion_sb *slow, const struct fusion_sb *fast);

/* Pack @sb, with checksum, into the FUSION_BLOCK_SIZE bytes to be written at @blocknr. */
void fusion_sb_pack(const struct fusion_sb *sb, u64 blocknr, void *block);

/**
 * fusion_sb_unpack() - check a superblock and unpack it
 * @block: FUSION_BLOCK_SIZE bytes as read
 * @blocknr: where they were read
 * @dev_sectors: size of the device they were read from
 * @sb: result
 * @why: set on error
 *
 * Return: 0; -ENODATA: not a superblock of ours at all (no magic); -EILSEQ: ours but
 * corrupt (checksum, wrong place or copy, numbers out of bounds); -EPROTONOSUPPORT: another
 * version, or an incompat feature or a flag of a newer one, which fusion_sb_unknown() names, and
 * no other copy may be used instead; -ENOSPC: the device shrank since it was formatted.
 */
int fusion_sb_unpack(const void *block, u64 blocknr, u64 dev_sectors,
		     struct fusion_sb *sb, const char **why);

/* The same, but these bits of incompat are known, and no others. */
int fusion_sb_unpack_known(const void *block, u64 blocknr, u64 dev_sectors, u64 known,
			   struct fusion_sb *sb, const char **why);

/* As fusion_sb_unpack(), but FUSION_INCOMPAT_LANDING is known as well: the module uses it. */
int fusion_sb_unpack_landing(const void *block, u64 blocknr, u64 dev_sectors,
			     struct fusion_sb *sb, const char **why);

/* The same for FUSION_INCOMPAT_IN_TRANSIT: adopt, release and uuid of the tool use it. */
int fusion_sb_unpack_transit(const void *block, u64 blocknr, u64 dev_sectors,
			     struct fusion_sb *sb, const char **why);

/* Is everything copied that lies on the other member during an adoption or release? */
static inline bool fusion_transit_copied(const struct fusion_transit *t)
{
	return t->state == FUSION_TRANSIT_PREPARED || t->state == FUSION_TRANSIT_COMMITTED;
}

/* Does this superblock, of this version, lack nothing but the end of a transit? */
static inline bool fusion_sb_in_transit(const struct fusion_sb *sb)
{
	return sb->version == FUSION_VERSION &&
	       sb->incompat == FUSION_INCOMPAT_IN_TRANSIT &&
	       !(sb->flags & ~FUSION_SB_FLAGS_KNOWN);
}

/* Is its disk a plain one by now, so that nothing on this member matters any more? */
static inline bool fusion_sb_released(const struct fusion_sb *sb)
{
	return fusion_sb_in_transit(sb) && sb->transit.kind == FUSION_TRANSIT_RELEASE &&
	       sb->transit.state == FUSION_TRANSIT_COMMITTED && sb->role == FUSION_FAST;
}

#define FUSION_UNKNOWN_TEXT	160

/**
 * fusion_sb_unknown() - name what this version does not know of a superblock
 * @sb: as fusion_sb_unpack() left it, with 0 or -EPROTONOSUPPORT
 * @text: FUSION_UNKNOWN_TEXT bytes
 *
 * Return: @text: the version; or else the bits of the first of incompat, flags and ro_compat that
 * has unknown ones; "" if all is known that matters. Of a set in transit it tells how to end that.
 */
const char *fusion_sb_unknown(const struct fusion_sb *sb, char *text);

/* The same, where FUSION_INCOMPAT_LANDING is known. */
const char *fusion_sb_unknown_landing(const struct fusion_sb *sb, char *text);

/*
 * May there be writes to this member? Each checkpoint, transaction or opening counts one of its
 * numbers up, and one that comes to its bound makes the superblock invalid. No use ever gets as
 * far as half-way there, so what is beyond that was forged: it can be read.
 */
bool fusion_sb_lasts(const struct fusion_sb *sb);

/*
 * Can a device be a member whose logical blocks have @bytes? Metadata is written in blocks of
 * 4 KiB, and so are parts of partial extents. Since Linux 6.15 a device can have larger ones.
 */
static inline bool fusion_block_size_fits(u32 bytes)
{
	return bytes <= FUSION_BLOCK_SIZE;
}

/* Are they of the same member of the same set; and also of the same size, in the same places? */
bool fusion_sb_same_uuids(const struct fusion_sb *a, const struct fusion_sb *b);
bool fusion_sb_same_member(const struct fusion_sb *a, const struct fusion_sb *b);

/**
 * fusion_sb_match() - do two superblocks make one set?
 * @fast: superblock of the member given as fast
 * @slow: superblock of the member given as slow
 * @why: set on error
 *
 * Return: 0; -EXDEV: swapped, or not members of the same set; -ESTALE: one of them was
 * used without the other (slow epoch neither equal to fast's nor, if it was not closed in order
 * since, one ahead; or another activation has the same epoch; or the set was resized since). The
 * slow member may have the geometry from before the last resize, until its replica is written
 * again: what counts is that of the fast one. What the superblocks alone do not tell is for
 * fusion_sb_reached().
 */
int fusion_sb_match(const struct fusion_sb *fast, const struct fusion_sb *slow,
		    const char **why);

/**
 * fusion_sb_reached() - has a member got as far as the other one saw it get?
 * @sb: superblock of the member, the best there is
 * @single: the other copy of it is not valid, or not of the generation before
 * @next_seq: of the fast member, where its journal ends (fusion_replay()); of the slow one,
 *	where the blocks in its log end (fusion_ring_scan())
 * @claim: what the other member says: of its superblock and journal the greatest numbers
 *
 * A superblock copy that is damaged was the newer one, perhaps. The log of a slow member that
 * was closed in order need not be looked at, since what came after that is a superblock first.
 *
 * Return: false: the member is from an earlier time than the other one.
 */
bool fusion_sb_reached(const struct fusion_sb *sb, bool single, u64 next_seq,
		       const struct fusion_progress *claim);

/* The greater numbers of both, for a claim that is made of several. */
static inline void fusion_progress_raise(struct fusion_progress *p, u64 generation, u64 seq)
{
	p->generation = max(p->generation, generation);
	p->seq = max(p->seq, seq);
}

/* -- the heartbeat ------------------------------------------------------------ */

/* A heartbeat in host order; fields as in struct fusion_beat_block. */
struct fusion_beat {
	u64 activation;
	u64 counter;
	u64 open_time;
	u64 beat_time;
	u32 epoch;
	u32 state;
	u32 interval_ms;
	u8 host_id[16];
	char host_name[FUSION_HOST_SIZE + 1];
};

/* Pack a heartbeat. @sb: for the set uuid. @block: FUSION_BLOCK_SIZE bytes. */
void fusion_beat_pack(const struct fusion_sb *sb, const struct fusion_beat *beat, void *block);

/**
 * fusion_beat_unpack() - read a heartbeat
 * @sb: for the set uuid
 * @block: FUSION_BLOCK_SIZE bytes
 * @beat: result; zeros, as of a set that was closed, if it is not valid
 * @why: set on error
 *
 * Return: 0; -ENODATA: there is none; -EILSEQ: it is damaged.
 */
int fusion_beat_unpack(const struct fusion_sb *sb, const void *block, struct fusion_beat *beat,
		       const char **why);

/* What an activation has to do before it may write. */
enum fusion_taking {
	FUSION_TAKE_AT_ONCE,	/* this machine was the last to open the set */
	FUSION_TAKE_CLAIM,	/* another one was, and has closed it: claim it, then look again */
	FUSION_TAKE_WATCH,	/* it may have it open: watch the heartbeat before that */
};

/**
 * fusion_beat_taking() - how may this machine take a set?
 * @sb: the fast member's superblock
 * @beat: its heartbeat, or zeros
 * @host_id: this machine; zero: not known, then it is none of those that had the set
 */
enum fusion_taking fusion_beat_taking(const struct fusion_sb *sb, const struct fusion_beat *beat,
				      const u8 host_id[16]);

/*
 * How long a heartbeat must not change before its machine is taken to be gone, in ms: two
 * intervals, after which that machine writes nothing any more, and FUSION_BEAT_GRACE_MS for what
 * is still on its way.
 */
#define FUSION_BEAT_GRACE_MS	1000U
#define FUSION_BEAT_MS		2000U	/* interval that this version writes and relies on */

static inline u32 fusion_beat_lease_ms(u32 interval_ms)
{
	return 2 * interval_ms;
}

static inline u32 fusion_beat_watch_ms(const struct fusion_beat *beat)
{
	return fusion_beat_lease_ms(max(beat->interval_ms, FUSION_BEAT_MS)) + FUSION_BEAT_GRACE_MS;
}

/* -- map and heat blocks ---------------------------------------------------- */

/* Number of entries block @index of the map (heat) region holds. */
u32 fusion_map_entries(const struct fusion_sb *sb, u32 index);
u32 fusion_heat_entries(const struct fusion_sb *sb, u32 index);

/**
 * fusion_map_pack() - seal a map block
 * @sb: geometry, set uuid, member
 * @set: 0 or 1
 * @index: number of the block in the set
 * @generation: of the set
 * @words: fusion_map_entries() words in host order, each read once, since the caller's map
 *	is live. For the fast member, they are passed through fusion_word_on_disk(); for the slow
 *	one, they are such words
 * @block: FUSION_BLOCK_SIZE bytes to fill
 */
void fusion_map_pack(const struct fusion_sb *sb, unsigned int set, u32 index,
		     u64 generation, const u32 *words, void *block);

/* Check such a block and store its words at @words. Return: 0 or -EILSEQ. */
int fusion_map_unpack(const struct fusion_sb *sb, unsigned int set, u32 index,
		      u64 generation, const void *block, u32 *words, const char **why);

/* The same for the heat region; any u16 is a valid heat, and that of any generation counts. */
void fusion_heat_pack(const struct fusion_sb *sb, u32 index, u64 generation,
		      const u16 *heat, void *block);
int fusion_heat_unpack(const struct fusion_sb *sb, u32 index, const void *block, u16 *heat,
		       const char **why);

/* -- journal ---------------------------------------------------------------- */

/* Bytes that a record with this operation takes. */
static inline u32 fusion_record_bytes(const struct fusion_sb *sb, u32 op)
{
	const u32 bitmap = fusion_bitmap_bytes(sb->extent_sectors);

	if (op == FUSION_OP_SEGMENT)
		return sizeof(struct fusion_segment_record) + bitmap;
	if (op == FUSION_OP_LANDED)
		return sizeof(struct fusion_landed_record);
	return sizeof(struct fusion_journal_record) + (fusion_op_has_bitmap(op) ? bitmap : 0);
}

/* Start an empty journal block. */
void fusion_journal_init(void *block);

/* Append a record. Return: false if the block has no room for it. */
bool fusion_journal_add(const struct fusion_sb *sb, void *block,
			const struct fusion_record *rec);

/**
 * fusion_journal_seal() - fill in the header and the checksum
 * @sb: geometry, uuid, epoch, member, claim about the other one
 * @block: the block
 * @seq: its sequence number
 * @txn: number of the transaction
 * @index: block in the transaction
 * @count: blocks in the transaction
 * @prev_csum: checksum of block seq - 1
 *
 * Return: the block's own checksum, which the next block carries.
 */
u32 fusion_journal_seal(const struct fusion_sb *sb, void *block, u64 seq, u64 txn,
			unsigned int index, unsigned int count, u32 prev_csum);

/* Where block @seq lies, in blocks from the start of the member. */
u64 fusion_journal_blocknr(const struct fusion_sb *sb, u64 seq);

/**
 * fusion_journal_restart() - start the journal over, beyond anything its ring may hold
 * @sb: superblock, to be written next; replay_seq, replay_txn and replay_csum change
 * @beyond: at least here, or 0: where fusion_ring_scan() has found an end
 *
 * Up to as many blocks as the ring has, and so at most as many transactions, can have been
 * written since replay_seq, or more if the newest superblock was lost. None of them can be taken
 * for a part of the new chain, or for the successor of a gap in it.
 */
void fusion_journal_restart(struct fusion_sb *sb, u64 beyond);

/**
 * struct fusion_replay - what fusion_replay() needs and finds
 * @sb: the superblock to replay from; blocks of its epoch and of the one before count
 * @read: returns a pointer to the FUSION_BLOCK_SIZE bytes of ring position @pos
 *	(0..sb->journal_blocks[sb->role] - 1), valid until the next call, or NULL if it can't be
 *	read
 * @apply: called for each record of each whole transaction, in order; all its numbers
 *	are bounded, and a bitmap points into the block. Those of the landing log only if @sb has
 *	FUSION_INCOMPAT_LANDING. Nonzero return ends the replay.
 * @ctx: argument of @read and @apply
 * @next_seq: out: first sequence number after the last whole transaction
 * @next_txn: out: number for the next transaction
 * @csum: out: checksum of block next_seq - 1
 * @nr_records: out: records applied
 * @peer_at: out: how far the other member had got, by these blocks and @sb
 * @epoch: private: epoch of the last block of the chain
 * @unreadable: private: the chain ends at a block that cannot be read
 * @why: out: reason for an error; valid as long as this struct
 * @text: private: buffer for @why
 */
struct fusion_replay {
	const struct fusion_sb *sb;
	const void *(*read)(void *ctx, u32 pos);
	int (*apply)(void *ctx, const struct fusion_record *rec);
	void *ctx;
	u64 next_seq;
	u64 next_txn;
	u32 csum;
	u64 nr_records;
	struct fusion_progress peer_at;
	u32 epoch;
	bool unreadable;
	const char *why;
	char text[64];
};

/**
 * fusion_replay() - walk the journal from sb->replay_seq
 * @r: see there
 *
 * A transaction counts if all its blocks are there and chained by checksum to what went
 * before. The first that does not is the torn tail, unless it is whole but wrong, or a valid
 * block of a later transaction or a later epoch is found anywhere in the ring: the committer
 * starts a transaction only when the one before is durable, and writes nothing of an epoch
 * before the superblock that starts it. Then the journal is damaged and nothing after the gap
 * may be ignored. Two passes: the first checks everything and applies nothing, so a damaged
 * journal changes nothing.
 *
 * Return: 0, -EILSEQ (damaged), -EIO (a block that can't be read is, or may be, inside the
 * chain), or what @apply returned.
 */
int fusion_replay(struct fusion_replay *r);

/**
 * struct fusion_ring - what fusion_ring_scan() needs and finds
 * @sb: superblock of the member
 * @read: as in struct fusion_replay
 * @ctx: for it
 * @wanted: how far the other member says that the ring has got, or 0
 * @next_seq: out: behind the greatest number of any valid block, and at least sb->replay_seq. A
 *	number so great that nothing lasts behind it is a forged one, and does not count.
 *	If the block before @wanted can't be read, that counts as there: an image of the past
 *	can be read.
 * @peer_at: out: what @sb and the blocks from its replay_seq on say of the other member
 * @unreadable: out: blocks that @read did not return
 */
struct fusion_ring {
	const struct fusion_sb *sb;
	const void *(*read)(void *ctx, u32 pos);
	void *ctx;
	u64 wanted;
	u64 next_seq;
	struct fusion_progress peer_at;
	u32 unreadable;
};

/*
 * Look at every block of a ring by itself, whether or not it belongs to the chain. A claim in a
 * block was true when it was written, be it in a transaction that was torn; but what is from before
 * replay_seq may have been disowned, by repair.
 */
void fusion_ring_scan(struct fusion_ring *r);

/* -- a member that is replaced: dm-fusion-old.c ------------------------------------------ */

/* Pack what a superblock says of it; unpack that; what is wrong with it. For this folder. */
void fusion_old_pack(const struct fusion_old *old, struct fusion_super_old *d);
void fusion_old_from_disk(const struct fusion_super_old *d, struct fusion_old *old);
const char *fusion_check_old(const struct fusion_sb *sb);

/* Have both the same old member, or none? */
bool fusion_same_old(const struct fusion_sb *a, const struct fusion_sb *b);

/* Why this is the superblock of no member: the disk is PREPARED, or has LEFT. Or NULL. */
const char *fusion_sb_apart(const struct fusion_sb *sb);

/**
 * fusion_sb_match_old() - is a disk the old member of a set?
 * @sb: superblock of either member, which has an old one
 * @disk: superblock of the disk
 * @why: set on error
 *
 * Return: 0, or -EXDEV: another disk, or of another layout.
 */
int fusion_sb_match_old(const struct fusion_sb *sb, const struct fusion_sb *disk,
			const char **why);

/**
 * fusion_sb_may_join() - may a disk take the place of a member?
 * @member: superblock of the member, of a set that matches
 * @peer: superblock of the other member
 * @disk: superblock of the disk: it was prepared for this, or is the old member, and is taken back
 * @why: set on error
 *
 * Return: 0; -EXDEV: not this disk; -EAGAIN: the slow member does not know the set's layout yet;
 * -EINVAL: the layout has changed too often.
 */
int fusion_sb_may_join(const struct fusion_sb *member, const struct fusion_sb *peer,
		       const struct fusion_sb *disk, const char **why);

/**
 * fusion_sb_join() - give a superblock what it has when a disk has taken the place of a member
 * @sb: superblock of that member, or of the other one
 * @member: superblock of that member
 * @disk: superblock of the disk, for which fusion_sb_may_join() says 0
 *
 * The member becomes the old one. layout_seq rises by one. Map words change: fusion_word_joined().
 */
void fusion_sb_join(struct fusion_sb *sb, const struct fusion_sb *member,
		    const struct fusion_sb *disk);

/* Describe the disk with this superblock as an old member in that state. */
void fusion_old_describe(const struct fusion_sb *disk, enum fusion_old_state state,
			 struct fusion_old *old);

/* The set has no old member any more. layout_seq rises by one. */
void fusion_sb_part(struct fusion_sb *sb);

/* Has @sb, of either member, lost the old member that @old, of either, still has? */
bool fusion_sb_parted_from(const struct fusion_sb *sb, const struct fusion_sb *old);

/* Make @disk the next superblock of its disk, by which that has left the set. */
void fusion_sb_leave(struct fusion_sb *disk);

/*
 * The word of an extent after the disks have changed places: what is on the member that was
 * replaced is now on the old member, and if a disk is taken back, the reverse as well. @sb: of the
 * set with the disks in their new places.
 */
static inline u32 fusion_word_joined(const struct fusion_sb *sb, u32 word)
{
	const u32 slot = fusion_word_slot(word), first = sb->old.first_slot;

	if (!fusion_word_mapped(word) || fusion_word_dev(word) != sb->old.dev)
		return word;
	return (word & ~FUSION_WORD_SLOT_MASK) | (slot < first ? slot + first : slot - first);
}

/* What is wrong with the layout of a superblock, or NULL. For the sources of this folder. */
const char *fusion_check_geometry(const struct fusion_sb *sb);

/*
 * Are the layouts that two superblocks describe the same; and the sizes of the members, in
 * superblocks of both? For the sources of this folder.
 */
bool fusion_same_layout(const struct fusion_sb *a, const struct fusion_sb *b);
bool fusion_same_geometry(const struct fusion_sb *fast, const struct fusion_sb *slow);

/**
 * fusion_open_limit() - the most OPEN extents that a set can have
 * @sb: superblock of either member
 *
 * As many as the journal can record again after a checkpoint within a sixteenth of its size (see
 * the arithmetic in dm-fusion-journal.c), and the log of the replica within a quarter.
 */
u32 fusion_open_limit(const struct fusion_sb *sb);

#endif
