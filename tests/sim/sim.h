/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The crash simulator's inside.
 *
 * A world is a machine: tasks, a clock, memory, two disks, a device-mapper device. Where
 * power is cut, a new world is made with disks as they may be found then, and the set is
 * opened in there, while the old one stands still; then it goes on as if nothing had
 * happened. Worlds are strictly nested: a disk may share blocks with the one it came from.
 *
 * Everything that is left to chance comes from the world's random numbers.
 */
#ifndef SIM_H
#define SIM_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/workqueue.h>
#include <setjmp.h>

#include "dm-fusion-codec.h"
#include "../../userspace/lib/random.h"

#define SIM_NR_DISKS	2		/* members: the fast and the slow one */
#define SIM_THIRD	2		/* the disk that replaces one of them, or is replaced */
#define SIM_MAX_DISKS	3
#define EXTENT_SECTORS	FUSION_MIN_EXTENT_SECTORS

/* No operation takes longer, though the clock runs fast: a heartbeat goes on by itself. */
#define SIM_PATIENCE_NS	(48 * 3600 * 1000000000ULL)

/* -- random numbers -------------------------------------------------------------- */

static inline u64 rnd(u64 *state)
{
	return random64(*state += RANDOM_STEP);
}

/* 0..n - 1 */
static inline u32 rnd_below(u64 *state, u32 n)
{
	return (rnd(state) >> 32) * n >> 32;
}

/* -- worlds, world.c ------------------------------------------------------------- */

struct sim_task;
struct sim_world;

/* Called where a disk's content or the promises made have changed. */
typedef void (*sim_cut_fn)(struct sim_world *w, void *ctx);

struct sim_world {
	struct sim_world *parent;
	struct fusion_claims *outside;	/* the module's, of the parent */
	u64 rng;
	u64 now_ns;
	u64 limit_ns;			/* a task that waits until then waits forever */
	struct list_head memory;
	unsigned int allocations;
	u32 fail_allocation;		/* the module's n-th from now on fails; 0: none */
	u32 scarce;			/* one in so many with __GFP_NORETRY fails; 0: none */
	u32 fail_read;			/* the disks' n-th from now on fails; 0: none */
	u32 fail_write;			/* as fail_read */
	u32 fail_more;			/* and so many behind that one */
	bool failed_late;		/* when it did, which may be late, something was written */
	struct list_head tasks;
	struct list_head timers;
	struct sim_task **run;		/* runnable ones */
	unsigned int nr_run;
	unsigned int max_run;
	struct sim_task *current;	/* NULL: interrupts and the outside */
	u64 next_section;
	u64 steps;
	u64 copied;			/* sectors, from slots to slots or the landing log */
	struct bio **flight;		/* bios the disks are at */
	unsigned int nr_flight;
	unsigned int max_flight;
	unsigned int preempt;		/* mean number of atomic accesses between switches */
	unsigned int io_share;		/* of 256: how eager the disks are */
	u32 delay_mask;			/* how rarely a task is passed over: 2^n - 1 */
	bool heart_failed;		/* a set has gone read-only because of that */
	u32 late_ms;			/* the block of the heartbeat may take so long */
	u32 stall_ms;			/* the next read of data from the fast disk takes so long */
	u32 stall_slow_data_ms;		/* the next one of data from the slow one */
	u32 lag_ms;			/* some accesses to data take up to so long */
	u32 stall_slow_ms;		/* of metadata from the slow one: the stale list */
	int preempt_left;		/* while a nested world runs */

	struct sim_disk *disk[SIM_MAX_DISKS];	/* the third one may be NULL */
	bool stop;			/* sim_run() returns at once */
	bool quiet;			/* the set is suspended or closed: no writes are allowed */
	bool shared;			/* by several devices: more may be open than one */
	bool cut_due;			/* a disk has changed */
	void *points;			/* that its set has made: points.c */
	void *since;			/* extents with newer metadata */
	struct notifier_block *reboot;	/* called before the machine shuts down */
	bool promised;			/* a flush, or FUA, has been acknowledged */
	sim_cut_fn cut;
	void *cut_ctx;
};

/* The innermost world. */
extern struct sim_world *world;

struct sim_world *sim_world_new(u64 seed);
void sim_world_free(struct sim_world *w);
void sim_points_free(struct sim_world *w);

/* Another table is created: what was written before is no concern of it. */
void sim_points_forget(struct sim_world *w);

/* The world takes the place of the one it is nested in. */
void sim_world_drop_parent(void);

/* -- tasks, task.h --------------------------------------------------------------- */

void sim_spawn(const char *name, void (*fn)(void *), void *arg);

/* Run the tasks until @fn, which is one of them, has returned, or the world is to stop. */
void sim_run(void (*fn)(void *), void *arg);

/* How often a task or bio is to be passed over. */
unsigned int sim_delay(void);

/* Let the others run. */
void sim_yield(void);

/* Run @fn outside of any world. Return: NULL, or why sim_fail() was called. */
const char *sim_catch(void (*fn)(void *arg), void *arg);

/* -- memory and the log, support.c ----------------------------------------------- */

/* Live allocations of the world, to find what leaked; and the end of them all. */
unsigned int sim_allocations(void);
void sim_free_all(void);

/* Print events as they happen. */
extern bool sim_tracing;

/* -- disks, disk.h --------------------------------------------------------------- */

enum sim_fault {
	SIM_FAULT_READ	= 1,
	SIM_FAULT_WRITE	= 2,
	SIM_FAULT_FLUSH	= 4,
	SIM_FAULT_BARE	= 8,	/* a flush that no write follows; any flush takes long */
	SIM_FAULT_DATA	= 16,	/* a write to a slot */
};

/* The unflushed writes that a disk has after a cut. */
enum sim_loss {
	SIM_LOSE_ALL,
	SIM_LOSE_NONE,
	SIM_LOSE_WRITES,	/* some writes */
	SIM_LOSE_BLOCKS,	/* some blocks of 4 KiB */
	SIM_LOSE_SECTORS,	/* some sectors */
	SIM_LOSE_LATEST,	/* the last few writes */
	SIM_NR_LOSSES,
};

/* @fua: otherwise a write with FUA is one without, and then a flush of all, which may fail */
struct sim_disk *sim_disk_new(enum fusion_dev role, const struct fusion_sb *geometry,
			      bool discards, bool fua);

/* A content that @disk may have if power fails now. @own: share nothing with it. */
struct sim_disk *sim_disk_after_cut(struct sim_disk *disk, enum sim_loss loss, u64 *rng,
				    bool own);

/*
 * The content of @disk if the machine stops now without a power cut: its cache survives. Some of
 * the writes that were in flight, or failed, are there, as good as the rest.
 */
struct sim_disk *sim_disk_after_reset(struct sim_disk *disk, u64 *rng);

/* Format both, as fusionctl does. */
void sim_disk_format(struct sim_disk *disk, const struct fusion_sb *sb, const u32 *words,
		     u64 *rng);

/* Durable content: a block of metadata, the stamp of a data sector. */
const void *sim_disk_block(const struct sim_disk *disk, u64 blocknr);
u64 sim_disk_stamp(const struct sim_disk *disk, u64 sector);

/* Another durable stamp for a data sector, of a disk that nobody uses yet. */
void sim_disk_set_stamp(struct sim_disk *disk, u64 sector, u64 stamp);

/* The stamps of an extent's data as a read finds them now. */
void sim_disk_see_extent(const struct sim_disk *disk, u64 sector, u64 *stamps);

/* The newest superblock. Return: how many of the two are valid. */
unsigned int sim_disk_super(struct sim_disk *disk, struct fusion_sb *sb);

/* The same, as who reads the disk finds it: with what is in its cache only. */
unsigned int sim_disk_super_seen(struct sim_disk *disk, struct fusion_sb *sb);

/* Blocks of metadata, and another durable content for one. */
u32 sim_disk_blocks(const struct sim_disk *disk);
void sim_disk_set_block(struct sim_disk *disk, u64 blocknr, const void *block);

/* Has it been written to, since the cut that made it? */
bool sim_disk_written(const struct sim_disk *disk);

/* Is a write of several blocks of metadata under way? */
bool sim_disk_tearable(const struct sim_disk *disk);

struct block_device *sim_disk_bdev(struct sim_disk *disk);
void sim_disk_submit(struct bio *bio);

/* One step of a bio in flight; it is taken out of flight when it completes. */
void sim_disk_step(struct bio *bio);

/* From now on one of @one_in operations of these kinds fails; 0: none. */
void sim_disk_set_faults(struct sim_disk *disk, unsigned int kinds, u32 one_in);
void sim_disk_set_readonly(struct sim_disk *disk, bool readonly);

/* It has become larger, or smaller; what it was made for is the most. */
void sim_disk_set_sectors(struct sim_disk *disk, u64 sectors);
void sim_disk_set_block_bytes(struct sim_disk *disk, unsigned int bytes);

/* Metadata that is being written when power fails may not be readable until it is written again. */
void sim_disk_set_tears(struct sim_disk *disk, bool tears);

/* It has no write cache. */
void sim_disk_set_through(struct sim_disk *disk, bool through);

/* Reads of this block of metadata fail until it is written. */
void sim_disk_set_bad(struct sim_disk *disk, u64 blocknr);
u32 sim_disk_bad(const struct sim_disk *disk);
/* No access to this block of metadata succeeds, for good. */
void sim_disk_set_worn(struct sim_disk *disk, u64 blocknr);

/* Other content in all sectors of data. */
void sim_disk_lose_data(struct sim_disk *disk, u64 *rng);

/* -- device, dm.c ---------------------------------------------------------------- */

struct sim_dev;

/* Call the function that the module gave to module_init(): once, before any device is created. */
int sim_module_init(void);

/* Table line @args, members the world's disks. Return: 0 or the constructor's error. */
int sim_dev_create(struct sim_dev **result, const struct fusion_sb *geometry, const char *args,
		   bool read_only);
/* Resume loads and starts the set; only the target acts in between. */
int sim_dev_resume(struct sim_dev *dev);
int sim_dev_load(struct sim_dev *dev);
void sim_dev_start(struct sim_dev *dev);
void sim_dev_suspend(struct sim_dev *dev);
void sim_dev_destroy(struct sim_dev *dev);

/* Both at once, with messages under way whose senders hold the device. */
void sim_dev_remove(struct sim_dev *dev);
void sim_dev_get(struct sim_dev *dev);
void sim_dev_put(struct sim_dev *dev);
void *sim_dev_private(struct sim_dev *dev);

/* The machine is about to shut down. */
void sim_reboot(void);
int sim_dev_message(struct sim_dev *dev, const char *text);

/* Ask for the status line and the table line. */
void sim_dev_status(struct sim_dev *dev);
void sim_dev_info(struct sim_dev *dev, char *text, size_t size);

/* Return: 0 or a negative errno. Context: a task, waits for it. */
int sim_dev_io(struct sim_dev *dev, blk_opf_t opf, u64 sector, u32 nr, u64 *stamps);

#endif
