// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release, of an open set: the kernel moves each extent to its place, while the set is in use.
 * Writes and discards may undo some of it, as long as they go on; so it ends with none left, or
 * when it gets no further and few are left.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "release-online.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "progress.h"
#include "tell.h"

/* How often to look, and how often in vain before a few are left for later. */
#define LOOK_MS		250
#define VAIN_LOOKS	20
#define FEW_EXTENTS	64U
#define FEW_BYTES	(64ULL << 20)

static uint64_t extent_bytes(const struct online *o)
{
	return (uint64_t)o->set.sb.extent_sectors << 9;
}

bool online_few(const struct online *o, uint64_t extents)
{
	return extents <= FEW_EXTENTS && extents * extent_bytes(o) <= FEW_BYTES;
}

static int begin(const struct online *o)
{
	char reason[256], *answer;
	int rc;

	rc = fus_send_message(o->set.name, o->zero ? "homing on zero" : "homing on", &answer,
			      reason, sizeof(reason));
	free(answer);
	return rc ? fus_fail(rc, o->set.name, "cannot be released while it is open: %s; close it, "
			     "and release it then", reason) : 0;
}

void online_leave(const struct online *o)
{
	char reason[256], *answer;

	fus_send_message(o->set.name, "homing off", &answer, reason, sizeof(reason));
	free(answer);
}

static int look(const struct online *o, struct fusion_status *st)
{
	const char *name = o->set.name;
	struct set set;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	fus_set_put(&set);
	*st = set.st;
	if (strcmp(st->mode, "rw"))
		return fus_fail(FC_FAILED, name, "has had an error, and is in mode %s; see dmesg",
				st->mode);
	if (!st->homing)
		return fus_fail(FC_BUSY, name, "its extents stopped moving to their place, since "
				"someone else has ended that; run fusionctl release again");
	return 0;
}

static void show(const struct online *o, const struct fusion_status *st, uint64_t most)
{
	const uint64_t left = st->homing_away + st->homing_blank;
	char also[64] = "";

	if (st->homing_blank)
		snprintf(also, sizeof(also), "%" PRIu64 " to be zeroed", st->homing_blank);
	fus_progress_at((most - left) * extent_bytes(o), *also ? also : NULL);
}

static int wait(const struct online *o)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	uint64_t left, most = 0, least = UINT64_MAX;
	struct fusion_status st;
	unsigned int vain = 0;
	int rc;

	for (;;) {
		rc = look(o, &st);
		if (rc)
			return rc;
		left = st.homing_away + st.homing_blank;
		if (!left)
			return 0;
		most = left > most ? left : most;
		show(o, &st, most);
		vain = left < least ? 0 : vain + 1;
		least = left < least ? left : least;
		if (vain >= VAIN_LOOKS && online_few(o, left))
			return 0;
		if (ending_signal_came())
			return fus_fail(FC_FAILED, o->set.name, "was stopped; to go on, run "
					"fusionctl release again");
		nanosleep(&pause, NULL);
	}
}

int online_bring_home(struct online *o, bool again)
{
	const struct homing *h = &o->r.h;
	const uint64_t left = h->strays + (o->zero ? h->blank : 0);
	char what[160];
	int rc;

	if (!again && online_few(o, left))
		return 0;
	rc = begin(o);
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "%s: moving extents to their place", o->set.name);
	fus_progress_begin(what, &fus_progress_mib, left * extent_bytes(o));
	rc = wait(o);
	fus_progress_end();
	return rc;
}
