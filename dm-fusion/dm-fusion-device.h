/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the interface to device-mapper: creation, loading, status, messages and settings.
 */
#ifndef DM_FUSION_DEVICE_H
#define DM_FUSION_DEVICE_H

#include <linux/device-mapper.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "dm-fusion-codec.h"

struct fusion;

/* The claim of a table on its members; under fusion_claims.lock. */
struct fusion_claim {
	struct list_head node;		/* on fusion_claims.loaded, from the first claim on */
	bool held;			/* by this table; only that writes it */
	bool overtaken;			/* another table has held a claim since */
};

/* -- dm-fusion-options.c ----------------------------------------------------------------- */

/* Parse the optional arguments of the table line; the superblock gives the rest. */
int fusion_parse_options(struct fusion *fs, struct dm_arg_set *as, char **error);

/**
 * fusion_load_settings() - use what fs->sb keeps, except the settings in the table line
 * @fs: device
 * @tell: log values that are out of range; they are ignored
 *
 * Context: fs->sb is not being written. Takes fs->lock.
 */
void fusion_load_settings(struct fusion *fs, bool tell);

/* Put fs->kept into a superblock that is about to be written. Takes fs->lock. */
void fusion_take_kept(struct fusion *fs, struct fusion_sb *sb);

/**
 * fusion_change_settings() - change settings, all or none
 * @fs: device
 * @argc: number of words, even
 * @argv: for each setting its key, then its value or "default"
 * @keep: keep them in the set as well: return once the fast member's superblock has them
 *
 * Context: process; with @keep sleeps until the committer has run.
 *
 * Return: 0; -ENOENT: the first key is unknown (not if @keep); -EINVAL, after a message; -EAGAIN:
 * the set is closed; -EIO: mode RW has ended, so the settings in the superblock are unknown.
 */
int fusion_change_settings(struct fusion *fs, unsigned int argc, char **argv, bool keep);

/**
 * fusion_change_label() - change the name of the set
 * @fs: device
 * @label: its new name
 *
 * Context: process; sleeps until the fast member's superblock has it. That of the slow member has
 * it after the next update of the replica.
 *
 * Return: 0; -EINVAL, after a message; -EAGAIN: the set is closed; -EIO: mode RW has ended, so the
 * name in the superblock is unknown.
 */
int fusion_change_label(struct fusion *fs, const char *label);

/*
 * Print all settings, or those that a new table would not get by itself. Takes fs->lock.
 * Return: characters written.
 */
unsigned int fusion_emit_options(struct fusion *fs, bool all, char *result, unsigned int maxlen);
int fusion_message_settings(struct fusion *fs, char *result, unsigned int maxlen);

/* -- dm-fusion-load-room.c ---------------------------------------------------------------- */

/* The part of a ring that the buffers of its chain hold; only the first two are set. */
struct fusion_load_ring {
	struct fusion *fs;
	struct fusion_chain *chain;
	u32 pos;
	u32 nr;
};

/* As @read of struct fusion_replay and struct fusion_ring; @ctx begins with a fusion_load_ring. */
const void *fusion_load_read_ring(void *ctx, u32 pos);

/*
 * Before the commits of an opening: see the head of dm-fusion-load-room.c. Return: 0 or a negative
 * errno, logged.
 */
int fusion_load_make_room(struct fusion *fs);

/* -- dm-fusion-load.c -------------------------------------------------------------------- */

/* Load map, journal and heat; then, unless read-only, checkpoint under a new epoch. */
int fusion_load(struct fusion *fs, bool read_only);

/* -- dm-fusion-claim.c ------------------------------------------------------------------- */

/* All tables that were ever loaded. */
extern struct fusion_claims {
	spinlock_t lock;		/* protects all claims */
	struct list_head loaded;
} fusion_claims;

/**
 * fusion_claim() - claim the members of a set
 * @fs: device, not necessarily loaded; fs->read_only says how it will be opened
 *
 * Context: process, before anything of the set is loaded or written.
 *
 * Return: 0; -EBUSY: another device works on one of the members; -ESTALE: @fs was loaded before,
 * and another device has worked on a member since.
 */
int fusion_claim(struct fusion *fs);

/**
 * fusion_claim_left() - find a target that an earlier table of the same device left loaded
 * @fs: device that is about to be resumed
 *
 * That target was loaded but not resumed, because another target of its table failed. So it is not
 * suspended either, and its successor must close it. Context: preresume, which keeps the target
 * from being freed.
 *
 * Return: that target, or NULL.
 */
struct fusion *fusion_claim_left(struct fusion *fs);

/*
 * The last earlier table of the same device that was loaded with the same set, or NULL. Context:
 * preresume, which keeps the target from being freed.
 */
struct fusion *fusion_claim_before(struct fusion *fs);

/* The set is closed and nothing more is written. May be called any number of times. */
void fusion_claim_release(struct fusion *fs);

/* The table is being destroyed. It must not hold the claim. */
void fusion_claim_forget(struct fusion *fs);

/* -- dm-fusion-close.c ----------------------------------------------------------------------- */

/**
 * fusion_close_set() - close the set cleanly
 * @fs: device; no I/O of a user is in flight, unless it is sealed
 *
 * The next table may load it from disk, so nothing is written after this. Context: sleeps, for as
 * long as the members take.
 */
void fusion_close_set(struct fusion *fs);

void fusion_seal_init(struct fusion *fs);

/**
 * fusion_seal() - close the set before a reboot, while I/O goes on
 * @fs: device, resumed, in mode RW
 * @point_seconds: time after which a point is not waited for
 * @close_seconds: and after that, time for the rest
 *
 * Writes are held then until fusion_unseal(). Context: sleeps.
 *
 * Return: was it closed in time? Otherwise it may be later, unless a member does not answer.
 */
bool fusion_seal(struct fusion *fs, unsigned int point_seconds, unsigned int close_seconds);

/* The set is reopened: writes go on. Takes fs->lock itself. */
void fusion_unseal(struct fusion *fs);

/* -- dm-fusion-reboot.c: from resume to presuspend; sleep --------------------------------- */

void fusion_reboot_watch(struct fusion *fs);
void fusion_reboot_unwatch(struct fusion *fs);

/* -- dm-fusion-status.c ------------------------------------------------------------------ */

void fusion_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		   char *result, unsigned int maxlen);
int fusion_message_stats(struct fusion *fs, char *result, unsigned int maxlen);

/* -- dm-fusion-explain.c ----------------------------------------------------------------- */

/* Refuse a message, with a line in the kernel log. Return: -EINVAL. */
int fusion_bad_message(const char *what, const char *arg);

/* "<first> <count>", extents; more than there are is all of them. Return: 0 or -EINVAL. */
int fusion_parse_extents(const struct fusion *fs, const char *first_arg, const char *count_arg,
			 u32 *first, u32 *count);

/* "<first>[-<last>]", within the device; @arg is changed. Return: 0, -EINVAL, or -ERANGE. */
int fusion_parse_range(const struct fusion *fs, char *arg, u32 *first, u32 *last);

/* The state in a map word, as a message has it. */
const char *fusion_state_name(u32 word);

/* Messages: extents one by one, and what the policy decides by. Context: process; any mode. */
int fusion_message_extents(struct fusion *fs, const char *first_arg, const char *count_arg,
			   char *result, unsigned int maxlen);
int fusion_message_policy(struct fusion *fs, char *result, unsigned int maxlen);

/* Message: which of their blocks are in the landing log. The same. */
int fusion_message_logged(struct fusion *fs, const char *first_arg, const char *count_arg,
			  char *result, unsigned int maxlen);

/* -- dm-fusion-message.c ----------------------------------------------------------------- */

int fusion_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		   unsigned int maxlen);

/* -- dm-fusion-create.c ------------------------------------------------------------------ */

/**
 * fusion_create() - create a device from its table line
 * @fs: device, all zeros except @fs->ti
 * @argc: number of words
 * @argv: the words: see Documentation/reference/target.rst
 *
 * Reads the superblocks for the geometry, and writes nothing.
 * Context: process, sleeps. Return: 0, or a negative errno with ti->error set;
 * fusion_destroy() must follow either.
 */
int fusion_create(struct fusion *fs, unsigned int argc, char **argv);

/* Undo whatever fusion_create() has done, and free @fs. */
void fusion_destroy(struct fusion *fs);

#endif
