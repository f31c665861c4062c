/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spindle: a model of a disk's timing.
 *
 * The model is a discrete-event simulation that runs on a clock given by its
 * caller, in nanoseconds, and knows nothing of bios or timers:
 *
 *   spindle_submit(d, io, now)   a command reaches the drive
 *   spindle_advance(d, now)      everything that is over by @now happens
 *   spindle_next(d)              when to call spindle_advance() again
 *
 * Commands whose time has come appear on @d->done. Each event happens at its
 * own model time, however late spindle_advance() is called: the head goes from
 * one command to the next without losing a revolution to the caller's latency.
 *
 * The caller serialises all calls and never lets @now go backwards. No function
 * allocates, sleeps or loops over more than the queue and the cache, both of
 * which have fixed bounds. Times are u64 ns, positions u64 sectors of 512 bytes.
 *
 * dm-spindle-target.c puts this under a dm target, figures.c under a simulated
 * host in userspace.
 */
#ifndef DM_SPINDLE_H
#define DM_SPINDLE_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>
#else
#include "figures-shim.h"
#endif

#define SPINDLE_MAX_SLOTS	256
#define SPINDLE_MAX_CHANNELS	64

enum spindle_profile {
	SPINDLE_HDD,
	SPINDLE_CONSUMER,
	SPINDLE_SSD,
	SPINDLE_PROFILES,
};

/* The keys of the table line; dm-spindle-params.c has units and ranges. */
struct spindle_params {
	u32 profile;
	u32 depth;
	u32 overhead_us;
	/* disks */
	u32 rpm;
	u32 heads;
	u32 seek_track_us;
	u32 seek_full_us;
	u32 head_switch_us;
	u32 write_settle_us;
	u32 rate;
	u32 interface;
	u32 age_ms;
	u32 cache_kib;
	u32 cache_slots;
	u32 readahead;
	/* SSDs */
	u32 read_us;
	u32 write_us;
	u32 flush_us;
	u32 channels;
	u32 stripe_kib;
	u32 read_rate;
	u32 write_rate;
};

/**
 * struct spindle_key - one key of the table line
 * @name: as written there
 * @offset: of its u32 in struct spindle_params
 * @min: smallest value allowed
 * @max: largest value allowed
 * @defaults: by profile; a key does not exist in a profile whose default is
 *	SPINDLE_NO_KEY
 */
struct spindle_key {
	const char *name;
	size_t offset;
	u32 min;
	u32 max;
	u32 defaults[SPINDLE_PROFILES];
};

#define SPINDLE_NO_KEY		U32_MAX
#define SPINDLE_KEYS		21

extern const struct spindle_key spindle_keys[SPINDLE_KEYS];
extern const char *const spindle_profile_names[SPINDLE_PROFILES];

u32 *spindle_param(struct spindle_params *p, unsigned int key);
void spindle_defaults(struct spindle_params *p, enum spindle_profile profile);
const char *spindle_check(const struct spindle_params *p);

enum spindle_op {
	SPINDLE_READ,
	SPINDLE_WRITE,
	SPINDLE_FLUSH,
	SPINDLE_DISCARD,
};

/**
 * struct spindle_io - a command
 * @list: the model's, from spindle_submit() until the command is on @done
 * @since: when it was admitted to the drive's queue
 * @done_at: when it completes, once that is known
 * @start: first sector; set by the caller, like the rest
 * @end: sector after the last one
 * @op: kind of command
 * @fua: the write may not be acknowledged from the volatile cache
 */
struct spindle_io {
	struct list_head list;
	u64 since;
	u64 done_at;
	u64 start;
	u64 end;
	enum spindle_op op;
	bool fua;
};

/* Counted when a command reaches the drive or, from @aged on, when it is served. */
struct spindle_stats {
	u64 reads;
	u64 writes;
	u64 fuas;
	u64 flushes;
	u64 discards;
	u64 read_sectors;
	u64 write_sectors;
	u64 discard_sectors;
	u64 queue_max;
	u64 aged;
	u64 read_hits;
	u64 cached;
	u64 destages;
	u64 seeks;
	u64 seek_ns;
	u64 rotate_ns;
	u64 transfer_ns;
	u64 busy_ns;
	u64 work_ns;
	u64 watched;
	u64 watched_ns;
};

/**
 * struct spindle_slot - a dirty extent in a disk's write cache
 * @start: first sector
 * @end: sector after the last one; equal to @start if the slot is free
 * @since: when the oldest of it came
 */
struct spindle_slot {
	u64 start;
	u64 end;
	u64 since;
};

/**
 * struct spindle_hdd - the mechanics, the caches and what the arm is doing
 * @rotation: of the platter, ns
 * @track_sectors: sectors of a track
 * @sector_ns: time one passes under the head in
 * @track_ns: a track with the skew to the next one
 * @cylinder_ns: a cylinder with the skew to the next one
 * @cylinders: their number, at least 1
 * @capacity: sectors
 * @queue: reads, and writes that bypass the cache, waiting for the arm
 * @waiting: writes waiting for room in the cache
 * @slots: the write cache
 * @dirty: sectors in it
 * @link_free: when the interface is idle again
 * @track: where the arm is, or will be at @end
 * @busy: the arm is at work for @io or, if that is NULL, for @slot
 * @sent: when it was sent there
 * @aged: it was chosen for its age
 * @begin: when the head reaches the first sector, ...
 * @end: ... and has passed the last one
 * @buf_start: the track buffer holds [buf_start, buf_end), and more every
 * @buf_end: moment while @ahead
 * @ahead: the idle head reads on from @buf_end into the track buffer, ...
 * @ahead_from: ... from this moment ...
 * @ahead_limit: ... to this sector
 */
struct spindle_hdd {
	u64 rotation;
	u64 track_sectors;
	u64 sector_ns;
	u64 track_ns;
	u64 cylinder_ns;
	u64 cylinders;
	u64 capacity;

	struct list_head queue;
	struct list_head waiting;
	struct spindle_slot slots[SPINDLE_MAX_SLOTS];
	u64 dirty;
	u64 link_free;

	u64 track;
	bool busy;
	struct spindle_io *io;
	struct spindle_slot *slot;
	bool aged;
	u64 sent;
	u64 begin;
	u64 end;

	u64 buf_start;
	u64 buf_end;
	bool ahead;
	u64 ahead_from;
	u64 ahead_limit;
};

/**
 * struct spindle_ssd - what the parts of an SSD have been reserved for
 * @controller_free: when the controller (and the link) is idle again
 * @flush_free: when the flushing of FUA writes is over
 * @channel_free: the same for each flash channel
 * @dirty: something was written since the last flush
 */
struct spindle_ssd {
	u64 controller_free;
	u64 flush_free;
	u64 channel_free[SPINDLE_MAX_CHANNELS];
	bool dirty;
};

/**
 * struct spindle_drive - a drive
 * @p: its parameters
 * @stats: its counters
 * @host: commands beyond the queue depth or behind a flush, in order
 * @timed: admitted commands whose completion time is known, sorted by it
 * @done: completed commands, for the caller to take
 * @admitted: commands in the drive, at most @p.depth
 * @outstanding: commands between spindle_submit() and @done
 * @flush: the flush in progress. It has the drive for itself, as on SATA, where
 *	a flush is not a queued command
 * @busy_since: begin of the work, if it is not
 * @working: it is not idle
 * @watch_start: what is done from this sector ...
 * @watch_end: ... to the one before this is counted apart
 */
struct spindle_drive {
	struct spindle_params p;
	struct spindle_stats stats;
	struct list_head host;
	struct list_head timed;
	struct list_head done;
	u32 admitted;
	u32 outstanding;
	struct spindle_io *flush;
	u64 busy_since;
	bool working;
	u64 watch_start;
	u64 watch_end;
	union {
		struct spindle_hdd hdd;
		struct spindle_ssd ssd;
	};
};

static inline bool spindle_is_ssd(const struct spindle_drive *d)
{
	return d->p.profile == SPINDLE_SSD;
}

/* dm-spindle-drive.c: the interface, and what every kind of drive has */
void spindle_init(struct spindle_drive *d, const struct spindle_params *p,
		  u64 capacity);
void spindle_submit(struct spindle_drive *d, struct spindle_io *io, u64 now);
void spindle_advance(struct spindle_drive *d, u64 now);
u64 spindle_next(const struct spindle_drive *d);
bool spindle_idle(const struct spindle_drive *d);
u64 spindle_dirty(const struct spindle_drive *d);
void spindle_stats_read(const struct spindle_drive *d, struct spindle_stats *s,
			u64 now);
void spindle_stats_reset(struct spindle_drive *d, u64 now);
void spindle_watch(struct spindle_drive *d, u64 start, u64 end, u64 now);

/* for the two below */
void spindle_complete_at(struct spindle_drive *d, struct spindle_io *io, u64 when);
u64 spindle_transfer_ns(u64 sectors, u32 mb_per_s);
void spindle_worked(struct spindle_drive *d, u64 start, u64 ns);

/* dm-spindle-hdd.c, dm-spindle-ssd.c */
void spindle_hdd_init(struct spindle_drive *d, u64 capacity);
void spindle_hdd_start(struct spindle_drive *d, struct spindle_io *io, u64 t);
void spindle_hdd_kick(struct spindle_drive *d, u64 t);
void spindle_hdd_finish(struct spindle_drive *d);
void spindle_ssd_start(struct spindle_drive *d, struct spindle_io *io, u64 t);
u64 spindle_ssd_flush_ns(struct spindle_drive *d);

#endif
