/* SPDX-License-Identifier: GPL-2.0-only */
/* How far the mappings on a device reach: reach.c. */
#ifndef REACH_H
#define REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct reach {
	bool held;		/* there is one */
	bool unknown;		/* of one that is not known, the last one that @name names */
	uint64_t sectors;	/* the last that any other uses, and one more */
	char name[160];		/* path of that one */
};

/* Look at each holder of a device. */
void fus_reach(dev_t devno, struct reach *r);

/*
 * The end of a table line's part of the device "8:1": a line of @length sectors, for a target that
 * has the offset behind the device, as linear and crypt. Return: false if it has another form.
 */
bool fus_reach_of_line(const char *target, const char *params, uint64_t length, const char *device,
		       uint64_t *end);

#endif
