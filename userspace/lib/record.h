/* SPDX-License-Identifier: GPL-2.0-only */
/* What assembly remembers in /run/fusion: record.c. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>

struct fusion_sb;
struct member;

#define RUN_DIR		"/run/fusion"

/* Who has it keeps everyone else from opening sets, and from making members of devices. */
#define ASSEMBLY_LOCK	RUN_DIR "/lock"

/* Lock a file there; waits a minute. From then on there is the directory. Exit code. */
int fus_run_lock(const char *path, int *lock);
void fus_run_unlock(int *lock);
/* Remember which device is this member. */
int fus_record_write(const struct member *m);
/*
 * The device remembered as a member of the set of @sb, or as any of that role if @dev_uuid is
 * NULL; *m is NULL if there is none that still is.
 */
void fus_record_find(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
		     struct member **m);
/* Remember that the set was opened of these two; was it, with nothing plugged in since? */
void fus_opened_write(const struct member *a, const struct member *b);
bool fus_opened_before(const struct member *a, const struct member *b);

#endif
