/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: may this device write? The mode, the gate and the heartbeat.
 */
#ifndef DM_FUSION_BEAT_H
#define DM_FUSION_BEAT_H

#include <linux/bio.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"

struct fusion;

enum fusion_mode {
	FUSION_RW,		/* as it should be */
	FUSION_RO,		/* opened read-only, or metadata could not be written */
	FUSION_FAIL,		/* not loaded */
};

/**
 * struct fusion_heart - the heartbeat: see dm-fusion-beat.c
 * @host_id: this machine
 * @host_given: as the table line says
 * @insist: take the set from a machine that has it open
 * @page: for all I/O of it; belongs to @work, or to who opens or closes the set
 * @sb: scratch, of the same
 * @own: the block as it was last written, or was found
 * @prev: the one before
 * @unsure: @own could not be written, or perhaps it could
 * @seen: the block as another machine has written it
 * @unread: when the set was looked at it could not be read
 * @overdue: it was taken after a beat or claim that came late
 * @taking: what there was to do to take the set
 * @before_gen: generations of the superblocks when the set was loaded
 * @open_time: when this activation began, seconds since 1970
 * @fresh: the lease is that of a first beat
 * @fresh_ms: when that was written
 * @why: the reason of the mode
 * @beats: blocks written
 *
 * Protected by fs->lock:
 * @pass: writes may pass, until @lease_ms
 * @lease_ms: boottime of the end of the lease
 * @frozen: the system goes to sleep: each write looks at the clock
 * @beating: the set is taken, and not closed
 * @begun: the superblock says so
 * @resting: no beats
 * @wanted: somebody waits for the next one
 * @lost: another machine has the set now
 * @failed: the block could not be read or written
 * @wrote: the module has written something since the last look; set without the lock
 * @writes: bios that wrote, at the last look
 * @used_ms: when something was written for the last time
 * @late: leases that ended before the next one
 */
struct fusion_heart {
	u8 host_id[16];
	bool host_given;
	bool insist;
	struct page *page;
	struct fusion_sb sb;
	struct fusion_beat own;
	struct fusion_beat prev;
	bool unsure;
	struct fusion_beat seen;
	bool unread;
	bool overdue;
	enum fusion_taking taking;
	u64 before_gen[FUSION_NR_DEVS];
	u64 open_time;
	bool fresh;
	u64 fresh_ms;
	char why[160];
	u64 beats;

	bool pass;
	u64 lease_ms;
	bool frozen;
	bool beating;
	bool begun;
	bool resting;
	bool wanted;
	bool lost;
	bool failed;
	bool wrote;
	u64 writes;
	u64 used_ms;
	u64 late;

	wait_queue_head_t wait;
	struct delayed_work work;
	struct delayed_work gate_work;
	struct workqueue_struct *wq;
	struct workqueue_struct *gate_wq;
};

/* -- dm-fusion-gate.c -------------------------------------------------------------------- */

const char *fusion_mode_name(enum fusion_mode mode);

/**
 * fusion_set_mode() - degrade the device
 * @fs: device
 * @mode: new mode; a better one than the present is ignored
 * @why: for the log
 *
 * Parked bios get another look, and fail. Context: process, sleeps; raises a dm event.
 */
void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why);

/* Set the gate by what there is. fs->lock held. */
void fusion_gate_update(struct fusion *fs);

/* May something be written now? fs->lock held. */
bool fusion_gate_may_write(const struct fusion *fs);

/* Writes have to wait; they may go on until @until. The first with fs->lock held. */
void fusion_gate_shut(struct fusion *fs);
void fusion_gate_open(struct fusion *fs, u64 until);

void fusion_do_gate(struct work_struct *work);

/*
 * Park a write if it has to wait for the heartbeat. Return: was it parked? Any context that may
 * take fs->lock with interrupts enabled: the worker.
 */
bool fusion_gate_park(struct fusion *fs, struct bio *bio);

/* Must the exclusive operations of OPEN extents wait for the heartbeat? The worker. */
bool fusion_gate_blocks(struct fusion *fs);

/* See fusion_gate_ready(). */
int fusion_gate_wait(struct fusion *fs);

/* -- dm-fusion-beat-block.c; the owner of heart.page ------------------------------------- */

/* Results of a cycle that are no errors of a disk. */
#define FUSION_FOREIGN		1	/* somebody else has written the block */
#define FUSION_OVERDUE		2	/* it took so long that nobody knows */

/* See the head of dm-fusion-beat.c. */
#define FUSION_CLAIM_MS		2000U
#define FUSION_ENTER_MS		(FUSION_CLAIM_MS / 2)
#define FUSION_BEAT_TRIES	10U

/* What is in the block; zeros if it is not valid. Return: 0 or the error of the disk. */
int fusion_beat_read(struct fusion *fs, struct fusion_beat *beat);

/* Overwrite it. Return: 0 or the error of the disk. */
int fusion_beat_write(struct fusion *fs, enum fusion_beat_state state);

bool fusion_beat_same(const struct fusion_beat *a, const struct fusion_beat *b);

/* Is the block as it was left? */
bool fusion_beat_is_own(const struct fusion_heart *h, const struct fusion_beat *seen);

/*
 * Is it this activation's set, by the fast member's superblock? While it is being opened: has
 * nobody else written either superblock since it was loaded? Return: 0, FUSION_FOREIGN, or an
 * error.
 */
int fusion_beat_check_super(struct fusion *fs);

/*
 * One cycle: the block is as this activation, or with heart.own of before, somebody else has left
 * it; overwrite it. @look: at the superblock, too. Return: 0, FUSION_FOREIGN, FUSION_OVERDUE, or
 * an error of the disk.
 */
int fusion_beat_cycle(struct fusion *fs, enum fusion_beat_state state, bool look);

/*
 * Write a claim over whatever was there when it was read, at @start, and wait for objections.
 * Return: 0, FUSION_OVERDUE, or an error.
 */
int fusion_beat_claim(struct fusion *fs, enum fusion_beat_state state, u64 start, u32 ms);

/* -- dm-fusion-beat.c -------------------------------------------------------------------- */

void fusion_beat_module_init(void);
int fusion_beat_init(struct fusion *fs);

/* Unless the table line says which machine this is. */
void fusion_beat_default_host(struct fusion *fs);
void fusion_beat_exit(struct fusion *fs);

/* What a block from a disk calls a machine, as text for the log. */
void fusion_beat_name_host(const char *name, const u8 id[16], char *buf, size_t size);

/* Tell the log that another machine has the set open. Return: -EUSERS. */
int fusion_beat_in_use_by(struct fusion *fs, const struct fusion_beat *beat);

/*
 * Somebody has written the block, or this beat came so late that somebody may have: @r. Return: 0,
 * FUSION_FOREIGN, or a negative errno.
 */
int fusion_beat_contest(struct fusion *fs, int r);

/* From here on the work is the one to beat; until here. The second sleeps. */
void fusion_beat_begin(struct fusion *fs);
void fusion_beat_stop(struct fusion *fs);

/* The system is about to sleep, or has woken up. */
void fusion_beat_freeze(struct fusion *fs, bool frozen);

/* -- dm-fusion-beat-take.c --------------------------------------------------------------- */

/* Before anything else of the set is read to load it: see how the heartbeat is. Sleeps. */
void fusion_beat_peek(struct fusion *fs);

/*
 * Loading has failed, or been refused. Return: @r, or -EUSERS if another machine has written the
 * heartbeat since fusion_beat_peek(): then it may have written anything else as well. Sleeps.
 */
int fusion_beat_blame(struct fusion *fs, int r);

/**
 * fusion_beat_look() - before a set is loaded: may another machine have it open?
 * @fs: device
 * @sb: the fast member's superblock
 *
 * Watches the heartbeat for seconds if that may be; takes the set away from it if that was asked
 * for. Context: process, sleeps interruptibly. Return: 0; -EUSERS: it has; -EINTR; or an error of
 * the fast member.
 */
int fusion_beat_look(struct fusion *fs, const struct fusion_sb *sb);

/**
 * fusion_beat_take() - begin to beat for a set that is loaded
 * @fs: device
 *
 * Before anything is written. Context and return: as fusion_beat_look(); -ETIMEDOUT: the fast
 * member is too slow.
 */
int fusion_beat_take(struct fusion *fs);

/*
 * The fast member's superblock tells of this activation. Return: 0, or -EIO: it has lost the set.
 */
int fusion_beat_begun(struct fusion *fs);

/* The set is closed, or could not be loaded after all: nothing is written any more. Sleeps. */
void fusion_beat_close(struct fusion *fs);

/* Beat for a set that was closed. Sleeps. Return: 0; -ESTALE: it has been used since; -EIO. */
int fusion_beat_reopen(struct fusion *fs);

#endif
