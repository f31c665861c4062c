/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk with a volatile write cache: its inside. sim.h has what others may do with it.
 *
 * What is durable is kept apart from the writes since, which are kept one by one: after a
 * cut each sector holds what was durable, or what any of these wrote to it. A write may
 * reach the medium as soon as it was submitted, at the latest with a flush that was
 * submitted after the write had completed; with FUA, when it completes.
 *
 * Metadata is kept in blocks, which a disk after a cut shares with the one before until
 * they are written to. Data sectors are a stamp each.
 *
 * disk.c	a disk, and its content
 * disk-bio.c	bios that it is at
 * disk-late.c	those that it takes long for
 * disk-cut.c	a disk as it is found after a cut or a reset
 */
#ifndef DISK_H
#define DISK_H

#include "sim.h"

#define NEVER	U32_MAX

/* A write, or a discard, that may not have reached the medium yet. */
struct sim_entry {
	struct list_head list;
	u32 seq;		/* order of completion; NEVER: in flight */
	u32 sector;		/* in the disk's own numbering: see disk_locate() */
	u32 nr;
	bool meta;
	bool lost;		/* failed, or its flush did: nothing is promised any more */
	u8 *raw;		/* metadata */
	u64 *stamps;		/* data; NULL: zeros */
};

struct sim_disk {
	struct block_device bdev;
	enum fusion_dev role;
	u64 sectors;
	u32 nr_blocks;		/* of metadata, from the start of the disk */
	u64 data_start;		/* sector */
	u32 nr_data;		/* sectors */
	bool discards;
	bool fua;		/* else the block layer flushes */
	bool through;		/* no cache: what has been written is there */
	bool tears;		/* what is being written at a cut may be unreadable then */
	bool readonly;
	unsigned int block_bytes;	/* of a logical block */
	unsigned int fault_kinds;
	u32 fault_one_in;
	u32 bad;		/* unreadable block of metadata; NEVER: none */
	u32 worn;		/* neither readable nor writable; 0: none */

	u8 **block;		/* durable content */
	bool *own;		/* whether the block is ours to write to */
	u64 *stamp;
	u32 *seq;		/* of each sector: the write found on the medium */
	u32 completed;		/* writes so far */
	struct list_head cache;	/* those that completed in order, then those in flight */
};

/* -- disk.c ----------------------------------------------------------------------- */

/* A disk of the same kind, with nothing on it. */
struct sim_disk *disk_alloc(const struct sim_disk *like);

/* A range of sectors lies either in the metadata or in the slots. Return: is it metadata? */
bool disk_locate(const struct sim_disk *d, u64 sector, u32 nr, u32 *where);

/* A block of metadata to write to, which is shared with no other disk then. */
u8 *disk_own_block(struct sim_disk *d, u32 nr);

/* Sector @i of the write reaches the medium; all of those that no later write has overtaken. */
void entry_persist_sector(struct sim_disk *d, const struct sim_entry *e, u32 i);
void entry_persist(struct sim_disk *d, const struct sim_entry *e);

/* The write that is found on the medium in its sector @i. */
u32 *entry_seq(struct sim_disk *d, const struct sim_entry *e, u32 i);

/* Does a write have all of the bad block? */
bool entry_covers_bad(const struct sim_disk *d, const struct sim_entry *e);

void entry_free(struct sim_entry *e);

/* -- disk-late.c ------------------------------------------------------------------ */

/* Until when, in ns, the disk does not get to a bio; 0: it may at once. */
u64 disk_held_until(const struct sim_disk *d, const struct bio *bio);

#endif
