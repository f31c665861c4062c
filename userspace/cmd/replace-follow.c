// SPDX-License-Identifier: GPL-2.0-only
/* Verb replace: how much is left on the old member, and what cannot be read there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replace.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "progress.h"
#include "salvage.h"
#include "size.h"
#include "tell.h"

/* How often to look; and how many times in a row only the unreadable must be left. */
#define LOOK_MS		250
#define SURE_LOOKS	8

static int stopped(const struct replacing *r)
{
	return fus_fail(FC_FAILED, r->name, "goes on moving without this command; to follow that, "
			"and to end it, run fusionctl replace %s --wait", r->name);
}

static int look(struct replacing *r)
{
	int rc = replace_look(r);

	if (rc)
		return rc;
	if (!r->set.old)
		return fus_fail(FC_BUSY, r->name, "its old member was taken away by another "
				"program; see fusionctl status %s", r->name);
	if (strcmp(r->set.st.mode, "rw"))
		return fus_fail(FC_FAILED, r->name, "has had an error, and is in mode %s; see "
				"dmesg", r->set.st.mode);
	return 0;
}

static int wait_empty(struct replacing *r, uint64_t total)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	const uint32_t sectors = r->sb.extent_sectors;
	char left[EXTENTS_TEXT], also[EXTENTS_TEXT + 16];
	unsigned int only_lost = 0;
	uint64_t now;
	int rc;

	for (;;) {
		rc = look(r);
		if (rc)
			return rc;
		now = r->set.st.old.left;
		if (!now)
			return 0;
		snprintf(also, sizeof(also), "%s to move", fus_extents_text(left, now, sectors));
		fus_progress_at((now < total ? total - now : 0) * ((uint64_t)sectors << 9), also);
		/* a read may be under way that adds one more */
		only_lost = now <= r->set.st.old.unreadable ? only_lost + 1 : 0;
		if (only_lost >= SURE_LOOKS)
			return 0;
		if (ending_signal_came())
			return stopped(r);
		nanosleep(&pause, NULL);
	}
}

int replace_follow(struct replacing *r)
{
	const uint64_t bytes = (uint64_t)r->sb.extent_sectors << 9;
	char what[512];
	uint64_t total;
	int rc;

	rc = look(r);
	if (rc)
		return rc;
	total = r->set.st.old.left;
	snprintf(what, sizeof(what), "%s: moving what is on %s", r->name, replace_going(r)->path);
	fus_progress_begin(what, &fus_progress_mib, total * bytes);
	rc = wait_empty(r, total);
	fus_progress_end();
	return rc;
}

int replace_retry(struct replacing *r)
{
	char *answer = NULL;
	int rc;

	if (!r->set.st.old.unreadable)
		return 0;
	rc = fus_tell_set(r->name, "unreadable retry", &answer);
	free(answer);
	return rc ? rc : replace_look(r);
}

/* "17-17 40-41 ..." Return: false if it is not that. */
static bool parse(struct replacing *r, char *text)
{
	uint64_t first, last;
	struct part *p;

	for (char *word = strtok(text, "\n "); word; word = strtok(NULL, "\n ")) {
		/* there was no room for the rest */
		if (!strcmp(word, "..."))
			return true;
		if (!fus_parse_range(word, &first, &last) || last < first)
			return false;
		p = realloc(r->lost, (r->nr_lost + 1) * sizeof(*p));
		if (!p)
			return false;
		r->lost = p;
		p[r->nr_lost++] = (struct part){
			.start = first * r->sb.extent_sectors,
			.nr = (last - first + 1) * r->sb.extent_sectors,
			.kind = PART_LOST,
		};
	}
	return true;
}

int replace_find_lost(struct replacing *r)
{
	char *answer = NULL;
	int rc = 0;

	free(r->lost);
	r->lost = NULL;
	r->nr_lost = 0;
	if (!r->set.st.old.unreadable)
		return 0;
	rc = fus_tell_set(r->name, "unreadable", &answer);
	if (!rc && answer && !parse(r, answer))
		rc = fus_fail(FC_FAILED, r->name, "cannot read the kernel's list of unreadable "
			      "extents; use matching versions of fusionctl and dm-fusion");
	free(answer);
	return rc;
}
