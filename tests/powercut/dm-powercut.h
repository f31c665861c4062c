/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-powercut: shared by its parts.
 *
 * dm-powercut-target.c	the target's face to device-mapper
 * dm-powercut-switch.c	the switch that the members hang on: queue, worker, power
 * dm-powercut-disk.c	a member: its content, its volatile cache
 *
 * Locks: powercut->mutex covers the disks and the state of the power; the worker
 * and messages take it. powercut->lock covers the queue and is taken in any
 * context, inside of nothing.
 */
#ifndef DM_POWERCUT_H
#define DM_POWERCUT_H

#include <linux/bio.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define DM_MSG_PREFIX "powercut"

/* Saved states of the disks, to repeat trials from there. */
#define POWERCUT_SAVES	2

/* The fate of the writes in a volatile cache when the power goes. */
enum powercut_fate {
	POWERCUT_ANY,		/* one of the following, by chance */
	POWERCUT_DROP,		/* all are lost */
	POWERCUT_KEEP,		/* all are kept */
	POWERCUT_WHOLE,		/* some of them are kept */
	POWERCUT_TORN,		/* some sectors of them are kept */
	POWERCUT_FATES,
};

extern const char *const powercut_fate_names[POWERCUT_FATES];

/* -- dm-powercut-disk.c ------------------------------------------------------- */

/**
 * struct powercut_disk - a member
 * @sectors: its size
 * @now: content for reads
 * @durable: content that no power cut can remove
 * @cache: writes since, oldest first; @now and @durable differ only in their sectors
 * @cache_bytes: memory of these writes
 * @saved: earlier states of @durable, NULL if not saved
 * @touched: a bit per chunk that was written since @recent was saved or loaded
 * @recent: the one of @saved that differs in these chunks only, -1: none
 * @lies: flushes are acknowledged and not done
 * @reads: bios served, and so on
 */
struct powercut_disk {
	u64 sectors;
	u8 *now;
	u8 *durable;
	struct list_head cache;
	size_t cache_bytes;
	u8 *saved[POWERCUT_SAVES];
	unsigned long *touched;
	int recent;
	bool lies;
	u64 reads;
	u64 writes;
	u64 discards;		/* and write-zeroes */
	u64 flushes;
	u64 fuas;
	u64 kept;		/* sectors of unflushed writes, at power cuts */
	u64 dropped;
};

int powercut_disk_init(struct powercut_disk *disk, u64 sectors);
void powercut_disk_exit(struct powercut_disk *disk);

void powercut_disk_read(struct powercut_disk *disk, struct bio *bio, u64 sector);

/**
 * powercut_disk_write() - take a write into the cache
 * @disk: member
 * @bio: with data
 * @sector: on the disk
 * @fua: no power cut undoes it
 *
 * Return: 0 or -ENOMEM.
 */
int powercut_disk_write(struct powercut_disk *disk, struct bio *bio, u64 sector, bool fua);

/* The same for @nr sectors of zeros. */
int powercut_disk_zero(struct powercut_disk *disk, u64 sector, u64 nr, bool fua);

/* Make durable what is in the cache, unless the disk lies. */
void powercut_disk_flush(struct powercut_disk *disk);

/* The power goes: decide what is left of the cache. */
void powercut_disk_cut(struct powercut_disk *disk, enum powercut_fate fate,
		       struct rnd_state *random);

/* Keep, and bring back, the state of a disk without power. */
int powercut_disk_save(struct powercut_disk *disk, unsigned int nr);
int powercut_disk_load(struct powercut_disk *disk, unsigned int nr);

/* -- dm-powercut-switch.c ------------------------------------------------------- */

enum powercut_role {
	POWERCUT_FAST,
	POWERCUT_SLOW,
	POWERCUT_THIRD,
	POWERCUT_ROLES,
};

extern const char *const powercut_role_names[POWERCUT_ROLES];

/* Commands that may overtake each other. */
#define POWERCUT_DEPTH	8

/**
 * struct powercut - the switch
 * @list: in the list of all switches
 * @name: its name in the table line
 * @refs: members that hang on it
 * @work: serves what is queued
 * @wq: for @work alone
 * @lock: covers @queue, @ready, @nr_ready, @pick
 * @queue: bios to serve, oldest first
 * @ready: the oldest of them, to be served in any order
 * @nr_ready: number of @ready
 * @pick: for that order
 * @mutex: covers all below
 * @disk: the members
 * @present: which of them there are
 * @random: for what is decided when the power goes, and what discards do
 * @seed: that it began from
 * @fate: see there
 * @on: there is power
 * @commands: served so far, without reads
 * @cut_in: the power goes with that many more commands, 0: it does not
 * @cut_of: those of this member only are counted, POWERCUT_ROLES: those of all
 * @cuts: how often it went
 */
struct powercut {
	struct list_head list;
	char *name;
	unsigned int refs;

	struct work_struct work;
	struct workqueue_struct *wq;

	spinlock_t lock;	/* see above */
	struct bio_list queue;
	struct bio *ready[POWERCUT_DEPTH];
	unsigned int nr_ready;
	struct rnd_state pick;

	struct mutex mutex;	/* see above */
	struct powercut_disk disk[POWERCUT_ROLES];
	bool present[POWERCUT_ROLES];
	struct rnd_state random;
	u64 seed;
	enum powercut_fate fate;
	bool on;
	u64 commands;
	u64 cut_in;
	enum powercut_role cut_of;
	u64 cuts;
};

/* Per bio. */
struct powercut_bio {
	enum powercut_role role;
};

static inline struct powercut_bio *powercut_bio(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct powercut_bio));
}

/**
 * powercut_join() - hang a member on the switch of that name
 * @name: of the switch, which is made if there is none
 * @role: of the member
 * @sectors: its size
 * @error: set on error
 *
 * Return: the switch, or an error pointer.
 */
struct powercut *powercut_join(const char *name, enum powercut_role role, u64 sectors,
			       char **error);

/* Take it off; the last one takes the switch with it. */
void powercut_leave(struct powercut *pc, enum powercut_role role);

/* Serve a bio, whose sector is that of the disk, some time later. Any context. */
void powercut_queue(struct powercut *pc, struct bio *bio);

/* A message to the switch. Return: as the target's. */
int powercut_message(struct powercut *pc, unsigned int argc, char **argv, char *result,
		     unsigned int maxlen);

/* Print the counters of the switch and of one member. */
void powercut_counters(struct powercut *pc, enum powercut_role role, char *result,
		       unsigned int maxlen);

#endif
