/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: whether this fused device may write: the mode, the gate and the heartbeat.
 */
#ifndef DM_FUSION_BEAT_H
#define DM_FUSION_BEAT_H

#include <linux/bio.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-replace.h"

struct fusion;

enum fusion_mode {
	FUSION_RW,		/* normal */
	FUSION_RO,		/* opened read-only; or a metadata write, flush or beat failed */
	FUSION_FAIL,		/* not loaded, or taken by another machine */
};

/**
 * struct fusion_heart - the heartbeat: see dm-fusion-beat.c
 * @host_id: id of this machine
 * @host_given: the table line gives @host_id
 * @insist: take the set even from a machine that has it open
 * @disk: where the block lies: the fast member, or the old one, which was that, until a disk joins
 * @page: buffer for all heartbeat I/O; used by @work, or while the set is opened or closed
 * @sb: scratch, used as @page
 * @own: the block as it was last written, or was found
 * @prev: the block before @own
 * @unsure: writing @own failed, but it may be on the disk
 * @seen: the block as another machine has written it
 * @unread: the block could not be read when the set was first looked at
 * @skipped: the superblock of the fast member has been written once more while the set is opened
 * @claimed: a set that was not closed was taken by a claim: its owner may have woken meanwhile
 * @taking: how the set had to be taken
 * @before: a bit for each disk of which a superblock counts until the set is opened
 * @before_gen: generations of these when the set was loaded
 * @before_act: and their activations
 * @open_time: when this activation began, seconds since 1970
 * @fresh: the lease is that of a first beat
 * @fresh_ms: boottime when that first beat was written
 * @why: the reason for the mode
 * @beats: number of blocks written
 *
 * Protected by fs->lock:
 * @pass: writes may pass until @lease_ms
 * @lease_ms: boottime at which the lease ends
 * @frozen: the system is suspending: each write checks the clock
 * @beating: the set is taken and not closed
 * @begun: the superblock names this activation
 * @resting: the set rests, without beats
 * @wanted: a write waits for the next beat
 * @lost: another machine has taken the set
 * @failed: the block could not be read or written
 * @wrote: the module has written something since the last look; set without the lock
 * @writes: number of write bios at the last look
 * @used_ms: boottime of the last look that found the set in use
 * @late: number of leases that ended before the next one began
 *
 * @wait: woken when the gate opens, and when the heartbeat stops or fails
 * @work: the heartbeat itself
 * @gate_work: shuts the gate when the lease ends
 * @wq: ordered queue of @work
 * @gate_wq: ordered queue of @gate_work
 */
struct fusion_heart {
	u8 host_id[16];
	bool host_given;
	bool insist;
	u8 disk;
	struct page *page;
	struct fusion_sb sb;
	struct fusion_beat own;
	struct fusion_beat prev;
	bool unsure;
	struct fusion_beat seen;
	bool unread;
	bool skipped;
	bool claimed;
	enum fusion_taking taking;
	u8 before;
	u64 before_gen[FUSION_NR_DISKS];
	u64 before_act[FUSION_NR_DISKS];
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
 * @why: reason, for the kernel log
 *
 * Parked bios are looked at again, and fail. Context: process, sleeps; raises a dm event.
 */
void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why);

/* Set the gate to match the mode and the heartbeat. fs->lock held. */
void fusion_gate_update(struct fusion *fs);

/* May something be written now? fs->lock held. */
bool fusion_gate_may_write(const struct fusion *fs);

/* Make writes wait (fs->lock held); let them continue until @until. */
void fusion_gate_shut(struct fusion *fs);
void fusion_gate_open(struct fusion *fs, u64 until);

void fusion_do_gate(struct work_struct *work);

/*
 * Park a write if it has to wait for the heartbeat. Return: true if it was parked. Context: the
 * worker, as it may take fs->lock with interrupts enabled.
 */
bool fusion_gate_park(struct fusion *fs, struct bio *bio);

/* Must exclusive operations of OPEN extents wait for the heartbeat? Context: the worker. */
bool fusion_gate_blocks(struct fusion *fs);

/* See fusion_gate_ready(). */
int fusion_gate_wait(struct fusion *fs);

/* The same, but the clock counts: the timer that shuts the gate when a lease ends may be late. */
int fusion_gate_sure(struct fusion *fs);

/* -- dm-fusion-beat-block.c; the owner of heart.page ------------------------------------- */

/* Results of a cycle that are not disk errors. */
#define FUSION_FOREIGN		1	/* another machine has written the block */
#define FUSION_OVERDUE		2	/* it took so long that another machine may have */

/* See the head of dm-fusion-beat.c. */
#define FUSION_CLAIM_MS		2000U
#define FUSION_ENTER_MS		(FUSION_CLAIM_MS / 2)
#define FUSION_BEAT_TRIES	10U

/* Read the block; zeros if it is not valid. Return: 0 or the error of the disk. */
int fusion_beat_read(struct fusion *fs, struct fusion_beat *beat);

/* Overwrite the block. Return: 0 or the error of the disk. */
int fusion_beat_write(struct fusion *fs, enum fusion_beat_state state);

bool fusion_beat_same(const struct fusion_beat *a, const struct fusion_beat *b);

/* Is the block as this activation left it? */
bool fusion_beat_is_own(const struct fusion_heart *h, const struct fusion_beat *seen);

/*
 * Check that the fast member's superblock names this activation. While the set is being opened:
 * check that no other activation has written either superblock since the set was loaded. Return:
 * 0, FUSION_FOREIGN, or an error.
 */
int fusion_beat_check_super(struct fusion *fs);

/*
 * One cycle: check that the block is still heart.own, written by this activation or found when the
 * set was looked at, and overwrite it. @look: check the superblock as well. Return: 0,
 * FUSION_FOREIGN, FUSION_OVERDUE, or an error of the disk.
 */
int fusion_beat_cycle(struct fusion *fs, enum fusion_beat_state state, bool look);

/*
 * Write a claim over the block that was read at @start, and let it stand for @ms.
 * Return: 0, FUSION_OVERDUE, or an error.
 */
int fusion_beat_claim(struct fusion *fs, enum fusion_beat_state state, u64 start, u32 ms);

/* -- dm-fusion-beat.c -------------------------------------------------------------------- */

void fusion_beat_module_init(void);
int fusion_beat_init(struct fusion *fs);

/* Give this machine an id, unless the table line gives one. */
void fusion_beat_default_host(struct fusion *fs);
void fusion_beat_exit(struct fusion *fs);

/* The name and id of a machine, as a block on disk has them, as text for the kernel log. */
void fusion_beat_name_host(const char *name, const u8 id[16], char *buf, size_t size);

/* Log that another machine has the set open. Return: -EUSERS. */
int fusion_beat_in_use_by(struct fusion *fs, const struct fusion_beat *beat);

/*
 * Handle @r, the result of a cycle that failed: another machine has written the block, or this
 * beat came so late that one may have. Return: 0, FUSION_FOREIGN, or a negative errno.
 */
int fusion_beat_contest(struct fusion *fs, int r);

/* Start the work that beats; stop it, which sleeps. */
void fusion_beat_begin(struct fusion *fs);
void fusion_beat_stop(struct fusion *fs);

/* The system is about to suspend, or has resumed. */
void fusion_beat_freeze(struct fusion *fs, bool frozen);

/* -- dm-fusion-beat-take.c --------------------------------------------------------------- */

/* Read the heartbeat, before anything else of the set is read to load it. Sleeps. */
void fusion_beat_peek(struct fusion *fs);

/*
 * Loading has failed or was refused. Return: @r, or -EUSERS if another machine has written the
 * heartbeat since fusion_beat_peek(): then it may have written anything else as well. Sleeps.
 */
int fusion_beat_blame(struct fusion *fs, int r);

/**
 * fusion_beat_look() - check, before a set is loaded, that no other machine has it open
 * @fs: device
 * @sb: the fast member's superblock
 *
 * If another machine may have the set open, this watches the heartbeat for some seconds, or
 * forces the set open if that was asked for. Context: process, sleeps interruptibly. Return: 0;
 * -EUSERS: another machine has it open; -EINTR; or an error of the fast member.
 */
int fusion_beat_look(struct fusion *fs, const struct fusion_sb *sb);

/**
 * fusion_beat_take() - begin to beat for a set that is loaded
 * @fs: device
 *
 * Call this before anything is written. Context and return: as fusion_beat_look(); -ETIMEDOUT: the
 * fast member is too slow.
 */
int fusion_beat_take(struct fusion *fs);

/*
 * The fast member's superblock now names this activation. Return: 0, or -EIO: the set is lost.
 */
int fusion_beat_begun(struct fusion *fs);

/*
 * A disk has taken the place of the fast member: beat there from now on. Its block is zeros. As
 * fusion_beat_take(), before fusion_beat_begun().
 */
int fusion_beat_move(struct fusion *fs);

/* The set is closed, or could not be loaded: nothing more is written. Sleeps. */
void fusion_beat_close(struct fusion *fs);

/* Beat again for a closed set. Sleeps. Return: 0; -ESTALE: it was used since; -EIO. */
int fusion_beat_reopen(struct fusion *fs);

#endif
