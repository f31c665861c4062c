/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spindle: the dm target.
 *
 * dm-spindle-target.c	the table line, status and messages described; bios, and their timer
 * dm-spindle-options.c	the optional arguments of a table line
 * dm-spindle-report.c	messages, counters, and the table line as it is shown
 */
#ifndef DM_SPINDLE_TARGET_H
#define DM_SPINDLE_TARGET_H

#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>

#include "dm-spindle.h"

/* More, with the slowest parameters, and the times of the layout overflow. */
#define MAX_SECTORS	BIT_ULL(40)

/**
 * struct spindle - a target
 * @dev: where the data is
 * @set: bit per key (and one for the profile) given on the table line
 * @lock: covers all below; taken in any context
 * @timer: runs at spindle_next()
 * @clean: the drive is idle, see spindle_postsuspend()
 * @errors: bios that @dev failed
 * @drive: the model
 */
struct spindle {
	struct dm_dev *dev;
	unsigned long set;

	spinlock_t lock;	/* of all below */
	struct hrtimer timer;
	struct completion clean;
	u64 errors;
	struct spindle_drive drive;
};

#define SET_PROFILE	BIT(SPINDLE_KEYS)

/* Set @s->set and @s->drive.p by what is left of the table line. Return: 0 or a negative errno. */
int spindle_options(struct spindle *s, struct dm_arg_set *as, char **error);

/* Methods of the target. */
int spindle_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		    unsigned int maxlen);
void spindle_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		    char *result, unsigned int maxlen);

#endif
