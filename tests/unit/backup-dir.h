/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory for backups of the geometry, in place of that of this machine. */
#ifndef BACKUP_DIR_H
#define BACKUP_DIR_H

#include "unit.h"

#include "backup.h"
#include "error.h"

static char backup_top[64], backup_sub[80], said[8192];

static inline void hear(const struct fus_error *e)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s%s: %s; %s", n ? "\n" : "", e->subject, e->what,
		 e->remedy);
}

static inline void backups_begin(void)
{
	snprintf(backup_top, sizeof(backup_top), "/tmp/test-backup.XXXXXX");
	REQUIRE(mkdtemp(backup_top));
	snprintf(backup_sub, sizeof(backup_sub), "%s/fusion/backup", backup_top);
	fus_backup_dir = backup_sub;
	*said = 0;
	fus_on_error(hear);
}

static inline void backups_end(void)
{
	char command[96];

	fus_on_error(NULL);
	fus_backup_dir = "/nonexistent";
	snprintf(command, sizeof(command), "rm -r %s", backup_top);
	REQUIRE(!system(command));
}

#endif
