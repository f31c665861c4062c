/* SPDX-License-Identifier: GPL-2.0-only */
/* The state that assembly keeps in /run/fusion: record.c. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>

struct fusion_sb;
struct member;

#define RUN_DIR		"/run/fusion"

/* Its holder keeps other processes from opening sets, and from making devices members. */
#define ASSEMBLY_LOCK	RUN_DIR "/lock"

/* Lock a file there; waits for up to 100 s. Creates the directory. Exit code. */
int fus_run_lock(const char *path, int *lock);
void fus_run_unlock(int *lock);
/*
 * What to do about a set that is suspended: @remedy; or wait, if another process holds
 * ASSEMBLY_LOCK, as that may be what suspends it.
 */
const char *fus_suspended_remedy(const char *remedy);
/* Fails as the set is suspended, which @what names: "cannot be renamed". */
int fus_fail_suspended(const char *name, const char *what);
/* Remember which device is this member. */
int fus_record_write(const struct member *m);
/*
 * The device remembered as a member of the set of @sb, or as any of that role if @dev_uuid is
 * NULL; *m is NULL if there is none that still is.
 */
void fus_record_find(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
		     struct member **m);
/* All devices remembered as members of the set, or prepared for it, that still are. */
void fus_record_list(const struct fusion_sb *sb, struct member **list);
/*
 * Remember that the set was opened from these two; return whether it was, with no disk plugged in
 * since.
 */
void fus_opened_write(const struct member *a, const struct member *b);
bool fus_opened_before(const struct member *a, const struct member *b);

#endif
