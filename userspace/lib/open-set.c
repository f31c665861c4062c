// SPDX-License-Identifier: GPL-2.0-only
/* An open set as the verbs show it. */
#include <stdio.h>
#include <string.h>

#include "open-set.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "host.h"
#include "role.h"
#include "status-parse.h"
#include "sysfs.h"

static int read_members(const struct mapping *table, dev_t member[2])
{
	char dev[2][32];

	if (sscanf(table->params, "%31s %31s", dev[FAST], dev[SLOW]) == 2 &&
	    fus_parse_devno(dev[FAST], &member[FAST]) && fus_parse_devno(dev[SLOW], &member[SLOW]))
		return 0;
	return fus_fail(FC_FAILED, table->name, "cannot read its table \"%s\"; use matching "
			"versions of fusionctl and dm-fusion", table->params);
}

/* A member that is being replaced is an option of the table: "old_fast 8:17". */
static void read_old(const struct mapping *table, dev_t *old, int *role)
{
	char option[16], dev[32];
	const char *at;

	*old = 0;
	*role = -1;
	for (int i = 0; i < 2 && *role < 0; i++) {
		snprintf(option, sizeof(option), " old_%s ", fus_role_name[i]);
		at = strstr(table->params, option);
		if (at && sscanf(at + strlen(option), "%31s", dev) == 1 &&
		    fus_parse_devno(dev, old))
			*role = i;
	}
}

static void read_host(const struct mapping *table, char host[HOST_HEX])
{
	const char *option = strstr(table->params, " host ");

	*host = 0;
	if (option)
		sscanf(option, " host %32[0-9a-f]", host);
}

/* Without @found, a name that is no open set is an error. */
static int get_part(const char *name, enum mapping_info what, struct mapping *m, bool *found)
{
	return found ? fus_dm_get_if_open(name, what, m, found) : fus_dm_get_set(name, what, m);
}

int fus_set_get_if_open(const char *name, struct set *set, bool *found)
{
	struct mapping table;
	char host[HOST_HEX];
	const char *why;
	int rc;

	rc = get_part(name, MAPPING_TABLE, &table, found);
	if (rc || (found && !*found))
		return rc;
	rc = read_members(&table, set->member);
	read_old(&table, &set->old, &set->old_role);
	read_host(&table, host);
	fus_dm_put(&table);
	if (!rc)
		rc = get_part(name, MAPPING_STATUS, &set->m, found);
	if (rc || (found && !*found))
		return rc;
	snprintf(set->host, sizeof(set->host), "%s", host);
	why = fus_parse_status(set->m.params, &set->st);
	if (why) {
		rc = fus_fail(FC_FAILED, name, "cannot read its status line (%s): \"%s\"; use "
			      "matching versions of fusionctl and dm-fusion", why, set->m.params);
		fus_set_put(set);
	}
	return rc;
}

int fus_set_get(const char *name, struct set *set)
{
	return fus_set_get_if_open(name, set, NULL);
}

void fus_set_put(struct set *set)
{
	fus_dm_put(&set->m);
}
