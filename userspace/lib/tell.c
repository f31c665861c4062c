// SPDX-License-Identifier: GPL-2.0-only
/* Messages to the kernel's target. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tell.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "kmsg.h"
#include "log-stats.h"

int fus_send_message(const char *name, const char *msg, char **answer, char *reason, size_t size)
{
	int err, kmsg = fus_kmsg_open();

	err = fus_dm_message(name, msg, answer);
	fus_kmsg_reason(kmsg, reason, size);
	if (!err)
		return 0;
	if (!*reason)
		snprintf(reason, size, "%s", strerror(-err));
	return err == -EBUSY ? FC_BUSY : FC_FAILED;
}

int fus_tell_set(const char *name, const char *msg, char **answer)
{
	char reason[256];
	int rc = fus_send_message(name, msg, answer, reason, sizeof(reason));

	return rc ? fus_fail(rc, name, "the kernel refuses \"%s\": %s; see dmesg", msg, reason) : 0;
}

int fus_tell_stat(const char *name, const char *key, uint64_t *value)
{
	char *stats = NULL;
	int rc;

	*value = 0;
	rc = fus_tell_set(name, "stats", &stats);
	if (!rc && stats)
		*value = fus_stat_of(stats, key);
	free(stats);
	return rc;
}
