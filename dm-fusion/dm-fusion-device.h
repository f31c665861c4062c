/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: a device as the device mapper sees it: how it is made, opened, asked and set.
 */
#ifndef DM_FUSION_DEVICE_H
#define DM_FUSION_DEVICE_H

#include <linux/device-mapper.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "dm-fusion-codec.h"

struct fusion;

/* A set's place among those that share its members; under fusion_claims.lock. */
struct fusion_claim {
	struct list_head node;		/* on fusion_claims.loaded, from the first claim on */
	bool held;			/* written for whom it belongs to only */
	bool overtaken;			/* another one has held it since */
};

/* -- dm-fusion-options.c ----------------------------------------------------------------- */

/* Parse the optional arguments of the table line; the rest is as the superblock has it. */
int fusion_parse_options(struct fusion *fs, struct dm_arg_set *as, char **error);

/**
 * fusion_load_settings() - go by what fs->sb keeps, but for what the table line says
 * @fs: device
 * @tell: have the log name values that are out of range, which are ignored
 *
 * Context: fs->sb is not being written. Takes fs->lock.
 */
void fusion_load_settings(struct fusion *fs, bool tell);

/* Put what the set keeps into a superblock that is going to be written. Takes fs->lock. */
void fusion_take_settings(struct fusion *fs, struct fusion_sb *sb);

/**
 * fusion_change_settings() - change settings, all or none
 * @fs: device
 * @argc: words, an even number
 * @argv: key and value of each, or "default"
 * @keep: in the set as well: returns when the fast member's superblock has them
 *
 * Context: process; with @keep sleeps until the committer has run.
 *
 * Return: 0; -ENOENT: the first key is none (not if @keep); -EINVAL, after a message; -EAGAIN: the
 * set is closed; -EIO: mode RW has ended, so that it is not known what the superblock has.
 */
int fusion_change_settings(struct fusion *fs, unsigned int argc, char **argv, bool keep);

/*
 * Print all settings, or those that another device would not have by itself. Takes fs->lock.
 * Return: characters written.
 */
unsigned int fusion_emit_options(struct fusion *fs, bool all, char *result, unsigned int maxlen);
int fusion_message_settings(struct fusion *fs, char *result, unsigned int maxlen);

/* -- dm-fusion-load.c -------------------------------------------------------------------- */

/* Load map, journal and heat; then, unless read-only, checkpoint under a new epoch. */
int fusion_load(struct fusion *fs, bool read_only);

/* -- dm-fusion-claim.c ------------------------------------------------------------------- */

/* The sets that were ever loaded, of all devices. */
extern struct fusion_claims {
	spinlock_t lock;		/* protects all claims */
	struct list_head loaded;
} fusion_claims;

/**
 * fusion_claim() - be the one who works on the set's members
 * @fs: device, not necessarily loaded; fs->read_only says how it is going to be opened
 *
 * Context: process, before anything of the set is loaded or written.
 *
 * Return: 0; -EBUSY: another device works on one of them; -ESTALE: @fs was loaded before, and
 * another device has since worked on one.
 */
int fusion_claim(struct fusion *fs);

/**
 * fusion_claim_left() - find what an earlier table of the same device has left loaded
 * @fs: device that is about to be resumed
 *
 * It was not resumed, as another target of that table could not be, and so it is not suspended:
 * who makes its successor closes it. Context: preresume, which keeps it from being freed.
 *
 * Return: that one, or NULL.
 */
struct fusion *fusion_claim_left(struct fusion *fs);

/* It is closed: nothing is going to be written. Any number of times. */
void fusion_claim_release(struct fusion *fs);

/* The device is gone. Not while it holds the claim. */
void fusion_claim_forget(struct fusion *fs);

/* -- dm-fusion-reboot.c: from resume to presuspend; sleep --------------------------------- */

void fusion_reboot_watch(struct fusion *fs);
void fusion_reboot_unwatch(struct fusion *fs);

/* -- dm-fusion-status.c ------------------------------------------------------------------ */

void fusion_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		   char *result, unsigned int maxlen);
int fusion_message_stats(struct fusion *fs, char *result, unsigned int maxlen);

/* -- dm-fusion-message.c ----------------------------------------------------------------- */

int fusion_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		   unsigned int maxlen);

/* -- dm-fusion-create.c ------------------------------------------------------------------ */

/**
 * fusion_create() - make a device by its table line
 * @fs: device, zeroed but for @fs->ti
 * @argc: words
 * @argv: as the reference has them (Documentation/reference/target.rst)
 *
 * Reads the superblocks for the geometry, and writes nothing.
 * Context: process, sleeps. Return: 0, or a negative errno with ti->error set;
 * fusion_destroy() must follow either.
 */
int fusion_create(struct fusion *fs, unsigned int argc, char **argv);

/* Undoes whatever part of that was done, and frees @fs. */
void fusion_destroy(struct fusion *fs);

#endif
