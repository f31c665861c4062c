/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: what is on the two member devices.
 *
 * Everything is little endian and comes in blocks of 4 KiB. Every block starts
 * with a struct fusion_block_header, so no block is believed that was torn, that
 * lies where another one belongs, or that is left from an earlier set on the
 * same disk.
 *
 * Fast member ("SSD")
 *
 *	block 0, 8	superblock; generation g goes to copy g & 1, so the older
 *			one is intact while the newer is written
 *	block 4		heartbeat of the machine that has the set open
 *	journal		ring of transactions, addressed by sequence number
 *	map set 0, 1	one u32 per logical extent; one set is active, the other
 *			one receives the next checkpoint
 *	heat		access counts of the last checkpoint that was asked for, best effort
 *	data		from fast_data_start on, aligned to the extent size
 *	tail		at least 1 MiB that never holds data
 *
 * Slow member ("HDD")
 *
 *	block 0, 8	superblock, the same way
 *	log		ring of transactions, as the journal
 *	map set 0, 1	as on the fast member
 *	data		slot s lies at byte s * extent size, so an extent in its
 *			home slot has the same offset as its logical address; the
 *			slots below slow_first_slot are the items above
 *	tail		at least 1 MiB that never holds data
 *
 * The slow member's log and map sets are a replica of the map: what is left of the
 * set when the fast member is lost. They are built of the same blocks and replayed
 * by the same rules; the state in the superblock of a member is that of its own
 * journal and map sets. While the fast member is there, the replica is read only for its claims
 * about the fast member.
 *
 * A member of the past: an image of one member may be put back, or a disk may lose what it
 * had promised to keep. So each member carries, in its superblock and in each block of its
 * journal or log, how far the other member was known to have got when that was written:
 * peer_generation and peer_seq. Such a claim speaks of what was durable there, so a member
 * that has not got that far is a copy from before. And each activation draws a random
 * number, which both members carry: two members that were used apart for the same number
 * of activations differ in it.
 *
 * Two machines that reach the same disks: while a set is in use, the machine that opened it
 * writes the heartbeat every few seconds. A machine that finds the set not closed, and opened by
 * another one, watches that block before it takes the set: see dm-fusion-beat.c.
 *
 * Feature words: software that does not know a bit of incompat does not open the set; one
 * that does not know a bit of ro_compat opens it read-only; compat may be ignored, so such
 * a feature keeps nothing in a superblock, which is packed without it. One copy of a superblock
 * with a bit of incompat is enough, even if the other one has none. Planned bits have
 * names, for the message that refuses them. Whatever else is added comes under a bit.
 *
 * Map sets and heat have gaps behind them, as large as a set of four times the size needs:
 * it can grow without anything being in its way.
 *
 * A set in transit: a disk with content becomes a member without being copied. Until that has
 * ended, the superblocks of the other member have FUSION_INCOMPAT_IN_TRANSIT and what follows in
 * struct fusion_super_transit: where the disk's own signatures are, or were. The one that vanishes
 * last decides whether the content is still on the disk or already in the set. The way back is the
 * same in reverse: of a set that is released, the slow member becomes a disk with the content, and
 * the signature that comes last decides. Only fusionctl writes and reads such superblocks; the
 * module refuses them. While a set gets another uuid, the slow member's superblocks have the bit as
 * well, and struct fusion_super_renewal: what the set and its members were called before, by which
 * the fast member is recognised until it has the new ones.
 *
 * A set with an old member: while a member is replaced, the disk that it was still holds extents,
 * and FUSION_INCOMPAT_OLD_MEMBER says that struct fusion_super_old follows. The new disk has the
 * regions of the old one in the same places, and as many slots. Map words of extents on the old
 * disk have slot numbers that begin where those of the member end: first_slot + slot. The set is
 * those two members that name each other, and the old one that both name. So the superblock of the
 * other member that names the new disk, in place of the old one, is what makes it a member. When
 * nothing is left on the old disk, both members get superblocks without the bit, and then the old
 * disk one that says LEFT.
 *
 * Head and tail are kept clear for two reasons: the file system on the fused
 * device must not be recognised on a raw member, and a signature left at the
 * end of a disk must not survive the format.
 *
 * Shared with userspace: fixed-width types only.
 */
#ifndef DM_FUSION_FORMAT_H
#define DM_FUSION_FORMAT_H

#include <linux/types.h>

#define FUSION_BLOCK_SIZE	4096
#define FUSION_BLOCK_SECTORS	8

#define FUSION_MAGIC_SUPER	0x53466d64	/* "dmFS" */
#define FUSION_MAGIC_MAP	0x4d466d64	/* "dmFM" */
#define FUSION_MAGIC_JOURNAL	0x4a466d64	/* "dmFJ" */
#define FUSION_MAGIC_HEAT	0x48466d64	/* "dmFH" */
#define FUSION_MAGIC_BEAT	0x42466d64	/* "dmFB" */

/**
 * struct fusion_block_header - start of every metadata block
 * @csum: crc32c, seed ~0, of the bytes from @magic to the end of the block
 * @magic: FUSION_MAGIC_*
 * @blocknr: the block's own place, in blocks from the start of its device
 * @set_uuid: the set it belongs to
 */
struct fusion_block_header {
	__le32 csum;
	__le32 magic;
	__le64 blocknr;
	__u8 set_uuid[16];
} __attribute__((packed));

/*
 * Map words, in memory and in map blocks and journal records:
 *
 *	31..30 state    29 device    28..0 slot
 *
 * A word whose slot bits are all ones has no slot: it is unmapped, or LOST, which cannot be read.
 * On disk only these, STABLE and OPEN occur, and AWAY in records of the replica.
 *
 * With FUSION_INCOMPAT_SHADOW, the replica may give an extent of the fast member a slow slot, in
 * one of two states of its own. Then that slot is its shadow, and the fast slot is not recorded.
 */
#define FUSION_WORD_STATE_SHIFT	30
#define FUSION_WORD_DEV_SHIFT	29
#define FUSION_WORD_SLOT_MASK	0x1fffffffU
#define FUSION_WORD_UNMAPPED	FUSION_WORD_SLOT_MASK
#define FUSION_WORD_LOST	(FUSION_WORD_UNMAPPED | 1U << FUSION_WORD_DEV_SHIFT)
#define FUSION_WORD_AWAY	(FUSION_WORD_SLOT_MASK - 1)	/* on the fast member, perhaps */

enum fusion_state {
	FUSION_STABLE	= 0,	/* every byte of the slot is valid, mapping durable */
	FUSION_OPEN	= 1,	/* a bitmap says which 4 KiB blocks are valid */
	FUSION_WATCHED	= 2,	/* as STABLE; a copy runs, or is current: a write ends that */
	FUSION_LOCKED	= 3,	/* as STABLE; the copy commits, writes wait */
};

/* The same bits in the replica: the extent is on the fast member, and the slow slot has ... */
enum fusion_shadow_state {
	FUSION_SHADOW	= 2,	/* what the extent had at the last FUSION_OP_POINT */
	FUSION_OUTDATED	= 3,	/* what it had at some time before, whole */
};

enum fusion_dev {
	FUSION_FAST	= 0,
	FUSION_SLOW	= 1,
};

#define FUSION_NR_DEVS		2

/* Bounds of what may be formatted. */
#define FUSION_MIN_EXTENT_SECTORS	128U		/* 64 KiB */
#define FUSION_MAX_EXTENT_SECTORS	32768U		/* 16 MiB */
#define FUSION_DEFAULT_EXTENT_SECTORS	2048U		/* 1 MiB */
#define FUSION_MIN_DEV_EXTENTS		64U		/* of each member */
#define FUSION_MAX_LEXTS		0x10000000U
#define FUSION_GUARD_SECTORS		2048U		/* head and tail, 1 MiB */
#define FUSION_SUPER_BLOCKNR(copy)	((copy) ? 8ULL : 0ULL)
#define FUSION_BEAT_BLOCKNR		4ULL		/* between them, fast member only */
#define FUSION_FIRST_FREE_BLOCK		16U		/* after both superblocks */
#define FUSION_MIN_JOURNAL_BLOCKS	64U
#define FUSION_MAX_JOURNAL_BLOCKS	16384U		/* 64 MiB */

#define FUSION_VERSION			2
#define FUSION_SIGNATURE		"DM-FUSION MEMBER"	/* 16 bytes, no NUL */

/* struct fusion_super flags; a set with any other is refused, as with a bit of incompat */
#define FUSION_SB_CLEAN		0x1	/* closed in order: nothing to recover */
#define FUSION_SB_NEEDS_CHECK	0x2	/* the kernel met something it does not trust */

/* incompat bits. IN_TRANSIT is for fusionctl alone, SHADOW is found on the slow member only. */
#define FUSION_INCOMPAT_OLD_MEMBER	0x1ULL	/* a third member is being replaced */
#define FUSION_INCOMPAT_IN_TRANSIT	0x2ULL	/* a disk is adopted or released */
#define FUSION_INCOMPAT_DAMAGED		0x4ULL	/* there may be extents that are lost */
#define FUSION_INCOMPAT_SHADOW		0x8ULL	/* the replica may name shadows */
#define FUSION_INCOMPAT_LANDING		0x10ULL	/* there may be a log for small writes */

#define FUSION_LABEL_SIZE	64
#define FUSION_HOST_SIZE	64
#define FUSION_NR_SETTINGS	32
#define FUSION_IDENT_SIZE	48

/* What a person needs to find a member: NUL padded, for messages only. */
struct fusion_disk_ident {
	char model[FUSION_IDENT_SIZE];
	char serial[FUSION_IDENT_SIZE];
} __attribute__((packed));

/**
 * struct fusion_super - the superblock, on both members
 *
 * Both carry the whole geometry. The state is each member's own: on the fast one that of
 * the map, on the slow one that of the replica. Settings count as the fast member has them.
 */
struct fusion_super {
	struct fusion_block_header h;
	char signature[16];
	__le32 version;			/* FUSION_VERSION; others are refused */
	__le32 role;			/* enum fusion_dev of this member */
	__le64 incompat;		/* unknown bit: refuse */
	__le64 ro_compat;		/* unknown bit: open read-only */
	__le64 compat;			/* unknown bit: ignore */
	__le64 generation;		/* +1 with every superblock written */
	__le32 flags;			/* FUSION_SB_* */
	__le32 epoch;			/* +1 with every activation that may write */
	__u8 dev_uuid[16];		/* this member */
	__u8 peer_uuid[16];		/* the other one */
	char label[FUSION_LABEL_SIZE];	/* name of the set, NUL padded */
	struct fusion_disk_ident self;
	struct fusion_disk_ident peer;
	__le64 self_sectors;		/* size of this member when formatted */
	__le64 peer_sectors;
	__le64 create_time;		/* seconds since 1970 */

	/* geometry */
	__le32 extent_sectors;		/* power of two */
	__le32 nr_lexts;		/* capacity in extents */
	__le64 journal_start;		/* block on the fast member */
	__le32 journal_blocks;
	__le32 map_blocks;		/* of one set, on either member */
	__le64 map_start[2];		/* blocks on the fast member */
	__le64 heat_start;		/* block on the fast member */
	__le32 heat_blocks;
	__le32 nr_fast_slots;
	__le64 fast_data_start;		/* sector of fast slot 0 */
	__le32 slow_first_slot;		/* slots below hold no data */
	__le32 nr_slow_slots;		/* data slots, from slow_first_slot on */
	__le64 log_start;		/* block on the slow member: log, then both map sets */
	__le32 log_blocks;
	__le32 spare_fast;		/* slots that only migration may use */
	__le32 spare_slow;
	__le32 layout_seq;		/* +1 with each change of the geometry */

	/* state of the journal and the map sets of this member */
	__le32 active_set;		/* 0 or 1 */
	__le32 replay_csum;		/* csum of the journal block before replay_seq */
	__le64 set_generation;		/* carried by every block of the active set */
	__le64 replay_seq;		/* first journal block to replay */
	__le64 replay_txn;		/* transaction number found there, if any */

	__le64 slow_map_start[2];	/* blocks on the slow member */

	/* members of one instant: see above */
	__le64 activation;		/* random number of the one that @epoch counts */
	__le64 prev_activation;		/* and of the one before */
	__le64 peer_generation;		/* the other member durably had this superblock, */
	__le64 peer_seq;		/* and the journal block before this one */

	/* who has opened it: for people, and for machines that share a disk */
	__le64 write_time;		/* seconds since 1970, of this superblock */
	__le64 open_time;		/* the same, of the last activation that may write */
	__u8 host_id[16];		/* machine that opened it then; zero: not known */
	char host_name[FUSION_HOST_SIZE];	/* NUL padded */

	/* settings that are kept: bit i of the mask says that setting[i] counts */
	__le32 settings_mask;
	__le32 pad;
	__le32 setting[FUSION_NR_SETTINGS];

	/*
	 * The next 144 bytes, at 816, are a struct fusion_super_old. 112 more, at 960, are a struct
	 * fusion_super_transit or _renewal. Two __le64 are at 1072: see fusion_sb_shadows_exact(),
	 * and with FUSION_INCOMPAT_SHADOW the second since 1970 of the point of the map copy.
	 * With FUSION_INCOMPAT_LANDING, a __le32 at 1088, on the fast member: slots kept for the
	 * landing log, beyond capacity and spares; 12 bytes at 1092: see dm-fusion-stale-format.h.
	 */
} __attribute__((packed));

#define FUSION_OLD_OFFSET	816
#define FUSION_TRANSIT_OFFSET	960
#define FUSION_SHADOWS_OFFSET	1072
#define FUSION_POINT_OFFSET	1080
#define FUSION_LANDING_OFFSET	1088
#define FUSION_MAX_MAGICS	8

/* What happens to the set; of the second, struct fusion_super_renewal tells. */
enum fusion_transit_kind {
	FUSION_TRANSIT_ADOPT	= 1,	/* a disk becomes a member */
	FUSION_TRANSIT_UUID	= 2,	/* it gets another uuid */
	FUSION_TRANSIT_RELEASE	= 3,	/* the slow member becomes a disk with the set's content */
};

/* The superblock that has a struct fusion_super_old is that of ... */
enum fusion_old_state {
	FUSION_OLD_JOINING	= 1,	/* a new disk: a member only if the other member names it */
	FUSION_OLD_MEMBER	= 2,	/* a member of a set with an old member */
	FUSION_OLD_LEFT		= 3,	/* a disk that left: nothing of the set is on it */
	FUSION_OLD_PREPARED	= 4,	/* a new disk, by fusionctl: a member of nothing yet */
};

/**
 * struct fusion_super_old - a member that is being replaced
 * @uuid: dev_uuid of the old member
 * @state: enum fusion_old_state
 * @dev: the member it was, enum fusion_dev
 * @first_slot: number that its slot 0 has in a map word: where the numbers of the member end that
 *	replaces it
 * @nr_slots: its data slots, as many as those of that member
 * @data_start: sector of its slot 0, as fast_data_start; 0 if it was the slow member
 * @sectors: its size
 * @ident: what a person needs to find it
 */
struct fusion_super_old {
	__u8 uuid[16];
	__le32 state;
	__le32 dev;
	__le32 first_slot;
	__le32 nr_slots;
	__le64 data_start;
	__le64 sectors;
	struct fusion_disk_ident ident;
} __attribute__((packed));

enum fusion_transit_state {
	FUSION_TRANSIT_PREPARING = 1,	/* the copies may be incomplete, the disk is as it was */
	FUSION_TRANSIT_PREPARED	= 2,	/* they are complete: signatures may be gone, or be back */
	FUSION_TRANSIT_COMMITTED = 3,	/* all are, and the disk may be what it becomes */
	FUSION_TRANSIT_PLANNED	= 4,	/* nothing is copied: it is to begin at the next boot */
};

/* In a sector: where a signature begins, and how many bytes it has. */
#define FUSION_MAGIC_OFFSET(place)	((place) & 0x1ff)
#define FUSION_MAGIC_BYTES(place)	((place) >> 9)

/**
 * struct fusion_super_transit - a disk that becomes a member without being copied, or the reverse
 * @kind: enum fusion_transit_kind
 * @state: enum fusion_transit_state, PREPARED or COMMITTED if it is released
 * @dev: the member that the disk becomes or was, enum fusion_dev; FUSION_SLOW if it is released
 * @nr_magics: number of signatures, 1 to FUSION_MAX_MAGICS; also 0 if it is released
 * @magic: the sectors of the disk with the signatures of its content, in ascending order. All
 *	there: the disk holds its content. All gone: the set does.
 * @disk_sectors: size of the disk
 * @content_id: crc32c, seed ~0, of the type and the uuid of the content, to recognise it
 * @copy_csum: crc32c, seed ~0, of the extents of it that lie on the other member, in order; 0
 *	if PLANNED or PREPARING
 * @place: of each signature in its sector: bits 8:0 the first byte, 15:9 the number of bytes
 */
struct fusion_super_transit {
	__le32 kind;
	__le32 state;
	__le32 dev;
	__le32 nr_magics;
	__le64 magic[FUSION_MAX_MAGICS];
	__le64 disk_sectors;
	__le32 content_id;
	__le32 copy_csum;
	__le16 place[FUSION_MAX_MAGICS];
} __attribute__((packed));

/**
 * struct fusion_super_renewal - a set that gets another uuid, in place of that
 * @kind: FUSION_TRANSIT_UUID
 * @state: 1; there is no other one
 * @dev: FUSION_SLOW, the member that has this
 * @pad: zero
 * @was_set: uuid of the set before. The fast member has it, or already that of this superblock
 * @was_dev: the same of both members
 *
 * peer_generation is that of the fast member's superblock before.
 */
struct fusion_super_renewal {
	__le32 kind;
	__le32 state;
	__le32 dev;
	__le32 pad;
	__u8 was_set[16];
	__u8 was_dev[FUSION_NR_DEVS][16];
} __attribute__((packed));

/* Whoever wrote the heartbeat last ... */
enum fusion_beat_state {
	FUSION_BEAT_CLOSED	= 0,	/* has closed the set */
	FUSION_BEAT_RESTING	= 1,	/* has it open, and writes nothing before the next beat */
	FUSION_BEAT_BEATING	= 2,	/* may write to it, and beats every interval_ms */
	FUSION_BEAT_CLAIM	= 3,	/* is about to open it, unless another machine objects */
	FUSION_BEAT_FORCED	= 4,	/* the same, and an administrator insists */
};

/* Bounds of the interval between two beats. */
#define FUSION_MIN_BEAT_MS		100U
#define FUSION_MAX_BEAT_MS		10000U

/**
 * struct fusion_beat_block - the heartbeat: one block, overwritten in place
 * @h: header, with magic FUSION_MAGIC_BEAT
 * @activation: random number of the activation that wrote it, as in the superblock
 * @counter: +1 with every block written, so no two blocks of an activation are alike
 * @open_time: when that activation began, in seconds since 1970
 * @beat_time: when this block was written, in seconds since 1970
 * @epoch: epoch of the superblock at that time
 * @state: enum fusion_beat_state
 * @interval_ms: from one beat to the next, FUSION_MIN_BEAT_MS to FUSION_MAX_BEAT_MS
 * @pad: zero
 * @host_id: id of the machine; zero: not known
 * @host_name: name of the machine, NUL padded, for messages
 * @rest: zeros
 *
 * A block that is not valid means nothing: a set that was never opened may have none.
 */
struct fusion_beat_block {
	struct fusion_block_header h;
	__le64 activation;
	__le64 counter;
	__le64 open_time;
	__le64 beat_time;
	__le32 epoch;
	__le32 state;
	__le32 interval_ms;
	__le32 pad;
	__u8 host_id[16];
	char host_name[FUSION_HOST_SIZE];
	__u8 rest[FUSION_BLOCK_SIZE - 160];
} __attribute__((packed));

/**
 * struct fusion_map_block - part of a map copy, or of the heat region
 * @h: header, with magic FUSION_MAGIC_MAP or FUSION_MAGIC_HEAT
 * @generation: generation of the map copy; for heat, of the map copy written with it
 * @index: number of the block in its region
 * @count: entries used; every block except the last is full
 * @word: map words
 * @heat: heat, in the heat region
 *
 * Entry i of block b belongs to logical extent b * entries per block + i.
 */
struct fusion_map_block {
	struct fusion_block_header h;
	__le64 generation;
	__le32 index;
	__le32 count;
	union {
		__le32 word[(FUSION_BLOCK_SIZE - 48) / 4];
		__le16 heat[(FUSION_BLOCK_SIZE - 48) / 2];
	};
} __attribute__((packed));

#define FUSION_MAP_PER_BLOCK	((FUSION_BLOCK_SIZE - 48U) / 4U)
#define FUSION_HEAT_PER_BLOCK	((FUSION_BLOCK_SIZE - 48U) / 2U)

/**
 * struct fusion_journal_block - one block of the ring
 * @h: header, with magic FUSION_MAGIC_JOURNAL
 * @seq: number of the block since format; it lies at the ring's start + seq % blocks
 * @txn: number of the transaction since format
 * @epoch: epoch of the superblock in force when it was written
 * @index: number of the block in the transaction
 * @count: blocks in the transaction, which counts only if all are there
 * @prev_csum: h.csum of block seq - 1
 * @used: bytes of @payload in use
 * @peer_generation: as in the superblock, at the time this block was written
 * @peer_seq: as in the superblock, at the time this block was written
 * @payload: the records
 *
 * The payload is a sequence of struct fusion_journal_record; none crosses a
 * block. Records carry absolute state, so replaying one twice does no harm.
 */
struct fusion_journal_block {
	struct fusion_block_header h;
	__le64 seq;
	__le64 txn;
	__le32 epoch;
	__le16 index;
	__le16 count;
	__le32 prev_csum;
	__le32 used;
	__le64 peer_generation;
	__le64 peer_seq;
	__u8 payload[FUSION_BLOCK_SIZE - 80];
} __attribute__((packed));

#define FUSION_JOURNAL_PAYLOAD	(FUSION_BLOCK_SIZE - 80U)

enum fusion_op {
	FUSION_OP_OPEN		= 1,	/* new is an OPEN word; its bitmap follows */
	FUSION_OP_STABLE	= 2,	/* the open extent is now wholly valid */
	FUSION_OP_MOVE		= 3,	/* a migration: content went from old to new */
	FUSION_OP_UNMAP		= 4,	/* discarded */
	FUSION_OP_AWAY		= 5,	/* replica: what lies at old is not to be believed */
	FUSION_OP_SHADOW	= 6,	/* replica: new is a word of enum fusion_shadow_state */
	FUSION_OP_POINT		= 7,	/* replica: when it was last brought up to date */
	FUSION_OP_PARTLY_LOST	= 8,	/* as OPEN, but blocks that are not valid are lost */

	FUSION_OP_LAST		= FUSION_OP_PARTLY_LOST,
};

/*
 * @old serves people; replay needs only @lext, @new and the bitmap. In a POINT, @new and @old are
 * the low and the high half of a number of seconds since 1970, and @lext is 0. Without a POINT
 * behind the map set, the write_time of the superblock that names the set counts instead.
 * The bitmap of OPEN and PARTLY_LOST has one bit per 4 KiB of the extent, bit 0 of byte 0 first,
 * and is a multiple of 4 bytes long: 4 (64 KiB extents) to 512 bytes (16 MiB).
 */
struct fusion_journal_record {
	__le32 lext;
	__le32 new;
	__le32 old;
	__le32 op;
} __attribute__((packed));

#endif
