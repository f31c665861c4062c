// SPDX-License-Identifier: GPL-2.0-only
/* What is wrong with an open set, by its status. */
#include <string.h>

#include "fusionctl.h"

const char *const health_name[NR_HEALTHS] = { "ok", "note", "warning", "error" };

#define ERRORS_REMEDY "see dmesg and smartctl --all of the disk, and have a backup"

static bool opened_read_only(const struct set *set)
{
	char ro[4];

	return sysfs_read(set->m.devno, "ro", ro, sizeof(ro)) && *ro == '1';
}

enum health set_health(const struct set *set, health_fn each, void *ctx)
{
	const struct fusion_status *st = &set->st;
	enum health worst = HEALTH_OK;

#define FOUND(health, remedy, text) do {			\
	worst = worst > (health) ? worst : (health);		\
	if (each)						\
		each(ctx, health, text, remedy);		\
} while (0)

	if (!strcmp(st->mode, "fail"))
		FOUND(HEALTH_ERROR, "close it and run fusionctl check", "its metadata could not "
		      "be loaded, all I/O fails");
	else if (!strcmp(st->mode, "ro") && opened_read_only(set))
		FOUND(HEALTH_NOTE, NULL, "is open read-only");
	else if (!strcmp(st->mode, "ro"))
		FOUND(HEALTH_ERROR, "see dmesg for the member that failed; then close it and run "
		      "fusionctl check", "has switched to read-only after an error");
	/* the error that made it ro is said already */
	if (st->needs_check && (strcmp(st->mode, "ro") || opened_read_only(set)))
		FOUND(HEALTH_WARNING, "close it and run fusionctl check",
		      "had an error that may have left its metadata wrong");
	if (!strcmp(st->replica, "failed"))
		FOUND(HEALTH_WARNING, "see dmesg; while this lasts a lost SSD takes more with it",
		      "the slow member could not be told what lies on it");
	if (st->errors[FAST])
		FOUND(HEALTH_WARNING, ERRORS_REMEDY, "the fast member has failed I/O since the set "
		      "was opened");
	if (st->errors[SLOW])
		FOUND(HEALTH_WARNING, ERRORS_REMEDY, "the slow member has failed I/O since the set "
		      "was opened");
	if (set->m.suspended)
		FOUND(HEALTH_WARNING, "dmsetup resume it", "is suspended, all I/O waits");
	if (st->reserve && !st->reserve_free && st->used[SLOW] == st->total[SLOW])
		FOUND(HEALTH_WARNING, "run fstrim on its file system, or delete something",
		      "is full to the last extent, nothing can be moved");
#undef FOUND
	return worst;
}
