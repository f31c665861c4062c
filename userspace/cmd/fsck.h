/* SPDX-License-Identifier: GPL-2.0-only */
/* Findings and exit codes of check, repair and their like: check.c. */
#ifndef FSCK_H
#define FSCK_H

#include "meta.h"

/* Exit codes of check and repair, as fsck has them, next to FC_USAGE and those after it. */
enum {
	FSCK_MINOR	= 1,	/* warnings; repair: all is well now */
	FSCK_ERRORS	= 4,	/* errors are left */
	FSCK_FAILED	= 8,	/* it could not be done; instead of FC_FAILED and FC_MEMBER */
};

int fsck_code(int rc);
int fsck_result(const struct report *r);
/* Findings of that level and worse, a line each, on the standard output. */
void report_print(const struct report *r, enum severity least);
struct json_object;
struct json_object *finding_json(const struct finding *f);

#endif
