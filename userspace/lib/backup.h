/* SPDX-License-Identifier: GPL-2.0-only */
/* Backups of the geometry of sets, away from their members: backup.c. */
#ifndef BACKUP_H
#define BACKUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fusion_sb;

#define BACKUP_DIR	"/etc/fusion/backup"

/* That one, except in tests. */
extern const char *fus_backup_dir;

/*
 * After a change of geometry, settings, name or identity: write the backup of this set, of which
 * @sb is either superblock. A file that differs in more than the settings becomes the newest one of
 * the archive. It never fails: if the file cannot be written, a warning says so. Does nothing
 * unless for root.
 */
void fus_backup_write(const struct fusion_sb *sb);
/* The same of an open set with this fast member. */
void fus_backup_changed(dev_t fast);
/* The same if there is none yet. A @quiet one does not warn. */
void fus_backup_first(const struct fusion_sb *sb, bool quiet);
/* The same, quietly, of an open set with this uuid and this member. */
void fus_backup_open(const char *uuid, dev_t member);

/* Read the geometry in a backup or a dump: *sb is of the fast member. Exit code. */
int fus_backup_read(const char *path, struct fusion_sb *sb);
/*
 * Call @is for each backup, except those in the archive, until it returns true, with its path and
 * its geometry. Files that are not valid are left out, with a warning. Return: exit code.
 */
int fus_backup_find(bool (*is)(void *ctx, const char *path, const struct fusion_sb *sb),
		    void *ctx);

#endif
