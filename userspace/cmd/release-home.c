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

/* How often to look; and after how many looks without progress a few are left for later. */
#define LOOK_MS		250
#define IDLE_LOOKS	20
#define FEW_EXTENTS	64U
#define FEW_BYTES	(64ULL << 20)
/*
 * Without progress for so long, it has failed. The kernel moves up to 16 extents in a batch, or 64
 * small ones, and those in the way before the others. duty is the part of the time for that.
 */
#define STUCK_S		120ULL
#define STUCK_EXTENTS	64ULL
#define LEAST_RATE	(50ULL << 20)

static uint64_t extent_bytes(const struct online *o)
{
	return (uint64_t)o->set.sb.extent_sectors << 9;
}

uint64_t online_few_bytes(const struct fusion_sb *sb)
{
	const uint64_t most = FEW_EXTENTS * (uint64_t)sb->extent_sectors << 9;

	return most < FEW_BYTES ? most : FEW_BYTES;
}

bool online_few(const struct online *o, uint64_t extents)
{
	return extents * extent_bytes(o) <= online_few_bytes(&o->set.sb);
}

/* Extents on their way. */
struct homeward {
	const struct online *o;
	struct fusion_status st;
	uint64_t most, least;		/* extents that were left */
	unsigned int idle;		/* looks since there were as few as that */
	bool begun;
	uint64_t errors, retired;	/* when it had begun */
};

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

/* It may have got another name meanwhile. */
void online_leave(const struct online *o)
{
	char reason[256], uuid[UUID_TEXT], dm_uuid[64], *answer;
	struct mapping m;
	bool found;

	snprintf(dm_uuid, sizeof(dm_uuid), DM_PREFIX "%s",
		 fus_uuid_text(uuid, o->set.sb.set_uuid));
	found = !fus_dm_get(NULL, dm_uuid, MAPPING_INFO, &m) && m.exists;
	fus_send_message(found ? m.name : o->set.name, "homing off", &answer, reason,
			 sizeof(reason));
	free(answer);
}

/* Slots of the disk that cannot be written: an extent with its home there never gets home. */
int online_check_disk(const struct online *o, const struct fusion_status *st, uint64_t errors,
		      uint64_t retired)
{
	const char *name = o->set.name, *disk = o->set.m[SLOW]->path;
	uint64_t now;
	int rc;

	if (!strcmp(st->replica, "failed"))
		return fus_fail(FC_REFUSED, name, "its slow member %s fails writes; see fusionctl "
				"status %s", disk, name);
	if (st->errors[SLOW] <= errors)
		return 0;
	rc = fus_tell_stat(name, "retired_slots", &now);
	if (rc || now <= retired)
		return rc;
	return fus_fail(FC_FAILED, name, "%" PRIu64 " slots of its slow member %s cannot be "
			"written; replace that disk", now - retired, disk);
}

static int look(struct homeward *w)
{
	const char *name = w->o->set.name;
	struct set set;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	fus_set_put(&set);
	w->st = set.st;
	if (strcmp(w->st.mode, "rw"))
		return fus_fail(FC_FAILED, name, "has had an error, and is in mode %s; see dmesg",
				w->st.mode);
	if (!w->st.homing)
		return fus_fail(FC_BUSY, name, "its extents stopped moving to their place, since "
				"another program has ended that; run fusionctl release again");
	if (!w->begun) {
		w->begun = true;
		w->errors = w->st.errors[SLOW];
		return fus_tell_stat(name, "retired_slots", &w->retired);
	}
	return online_check_disk(w->o, &w->st, w->errors, w->retired);
}

static uint64_t left(const struct homeward *w)
{
	return w->st.homing_away + w->st.homing_blank;
}

static void show(const struct homeward *w)
{
	char also[64] = "";

	if (w->st.homing_blank)
		snprintf(also, sizeof(also), "%" PRIu64 " to be zeroed", w->st.homing_blank);
	fus_progress_at((w->most - left(w)) * extent_bytes(w->o), *also ? also : NULL);
}

static uint64_t patience_s(const struct homeward *w)
{
	const char *duty = fus_status_option(&w->st, "duty");
	uint64_t percent = duty ? strtoull(duty, NULL, 10) : 0;

	if (!percent || percent > 100)
		percent = 100;
	return STUCK_S + STUCK_EXTENTS * extent_bytes(w->o) / LEAST_RATE * 100 / percent;
}

static int stuck(const struct homeward *w)
{
	return fus_fail(FC_FAILED, w->o->set.name, "%" PRIu64 " extents have not come to their "
			"place, and for %" PRIu64 " s none has; see dmesg, end what writes to it, "
			"and run fusionctl release again", left(w), patience_s(w));
}

/* Return: whether the wait has ended, with *rc, after a message if that is not 0. */
static bool judge(struct homeward *w, int *rc)
{
	*rc = look(w);
	if (*rc || !left(w))
		return true;
	w->idle = left(w) < w->least ? 0 : w->idle + 1;
	w->least = left(w) < w->least ? left(w) : w->least;
	w->most = left(w) > w->most ? left(w) : w->most;
	show(w);
	if (w->idle >= IDLE_LOOKS && online_few(w->o, left(w)))
		return true;
	if (ending_signal_came())
		*rc = fus_fail(FC_FAILED, w->o->set.name, "was stopped; to go on, run fusionctl "
			       "release again");
	else if (w->idle >= patience_s(w) * 1000 / LOOK_MS)
		*rc = stuck(w);
	return *rc;
}

static int wait(const struct online *o)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	struct homeward w = { .o = o, .least = UINT64_MAX };
	int rc;

	while (!judge(&w, &rc))
		nanosleep(&pause, NULL);
	return rc;
}

int online_bring_home(struct online *o, bool again)
{
	const struct homing *h = &o->r.h;
	const uint64_t away = h->strays + (o->zero ? h->blank : 0);
	char what[160];
	int rc;

	if (!again && online_few(o, away))
		return 0;
	rc = begin(o);
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "%s: moving extents to their place", o->set.name);
	fus_progress_begin(what, &fus_progress_mib, away * extent_bytes(o));
	rc = wait(o);
	fus_progress_end();
	return rc;
}
