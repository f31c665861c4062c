// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb assemble, --planned: the initramfs runs it before anything is mounted. No user can be asked,
 * and a disk that can be mounted is left alone unless it is to be adopted now.
 */
#include <stdio.h>
#include <string.h>

#include "at-boot.h"
#include "adopt.h"
#include "boot-names.h"
#include "dm.h"
#include "fusionctl.h"
#include "record.h"
#include "release.h"
#include "scan.h"
#include "verb.h"

/* By their uuids, since what is done to one of them changes the list. */
#define MOST	16U

struct task {
	char set[UUID_TEXT];
	enum fusion_transit_kind kind;
};

/*
 * Copies that are incomplete are worth nothing, and the disk is as it was. A set that is released
 * needs nothing more to be mounted.
 */
static bool is_task(const struct member *m)
{
	const struct fusion_transit *tr = &m->sb->transit;

	if (m->state != MEMBER_TRANSIT || tr->dev == m->sb->role || fusion_sb_released(m->sb))
		return false;
	return adopt_planned(m) || ((tr->kind == FUSION_TRANSIT_ADOPT ||
				     tr->kind == FUSION_TRANSIT_RELEASE) &&
				    fusion_transit_copied(tr));
}

static int carry_out(struct task *task)
{
	char *word[] = { task->set, NULL };
	struct args a = { .n = 1, .word = word };

	a.opt[OPT_RESUME] = "";
	a.opt[OPT_YES] = "";
	return task->kind == FUSION_TRANSIT_RELEASE ? release_go_on(&a) : adopt_go_on(&a, true);
}

/* Before a plan is given up for its work, which needs the module. */
static int check_able(void)
{
	unsigned int version[3];
	bool found;
	int rc;

	rc = check_not_hibernated();
	return rc ? rc : fus_dm_target_version(true, version, &found);
}

int at_boot(void)
{
	struct task task[MOST];
	struct member *list;
	unsigned int nr = 0;
	bool able;
	int rc, one;

	rc = fus_scan_members(&list);
	for (struct member *m = rc ? NULL : list; m && nr < MOST; m = m->next) {
		/* it may be on a mapping above as well */
		if (!is_task(m) || fus_under_another(list, m))
			continue;
		fus_uuid_text(task[nr].set, m->sb->set_uuid);
		task[nr++].kind = m->sb->transit.kind;
	}
	fus_free_members(list);
	if (!rc && nr)
		rc = check_able();
	able = !rc;
	for (unsigned int i = 0; i < nr && able; i++) {
		one = carry_out(&task[i]);
		rc = rc ? rc : one;
	}
	one = release_planned();
	return rc ? rc : one;
}
