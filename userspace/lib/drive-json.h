/* SPDX-License-Identifier: GPL-2.0-only */
/* A drive and what it tells, as JSON: drive-json.c. */
#ifndef DRIVE_JSON_H
#define DRIVE_JSON_H

#include "drive.h"

struct json_object;

enum drive_state {
	DRIVE_OK,
	DRIVE_ASLEEP,
	DRIVE_UNKNOWN,
	NR_DRIVE_STATES
};

extern const char *const fus_drive_state_name[NR_DRIVE_STATES];

/* Add all that is known of the drive; the rest is null. */
void fus_drive_json(struct json_object *o, const struct drive *d);

#endif
