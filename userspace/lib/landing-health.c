// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether the landing log of an open set gets on: writes that wait, and what keeps it from being
 * drained. A disk that rests is woken once the log is five eighths full, and from then on the drain
 * takes no notice of duty; so these two do not fill it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "landing-health.h"
#include "landing-size.h"
#include "protected.h"
#include "status-parse.h"

#define TEXT		224
/* A list that is behind for so many seconds is so because the slow member rests, or is stuck. */
#define LONG_UNLISTED	60

struct found {
	health_fn each;
	void *ctx;
	enum health worst;
};

static void found(struct found *f, enum health how, const char *text, const char *remedy)
{
	f->worst = f->worst > how ? f->worst : how;
	f->each(f->ctx, how, text, remedy);
}

/* Writes wait while the drain gets on, and go past the log if it does not. */
static void find_full(struct found *f, const char *name, const struct fusion_status *st,
		      const struct log_stats *log)
{
	const bool full = st->log_segments == st->log_most;
	char text[TEXT], remedy[TEXT];

	snprintf(remedy, sizeof(remedy), "for a larger log, run fusionctl drain %s, close it, and "
		 "run fusionctl landing %s SIZE", name, name);
	snprintf(text, sizeof(text), "%" PRIu64 " small write%s for room in its landing log%s, as "
		 "the slow member does not take them as fast", log->waiting,
		 log->waiting == 1 ? " waits" : "s wait", full ? ", which is full" : "");
	if (log->waiting)
		found(f, full ? HEALTH_WARNING : HEALTH_NOTE, text, remedy);
	else if (full && st->log_blocks)
		found(f, HEALTH_NOTE, "its landing log is full, so small writes may go past it to "
		      "the slow member", remedy);
}

/* Without the fast member, the list alone tells which blocks of the slow one are out of date. */
static void find_unlisted(struct found *f, const char *name, const struct log_stats *log)
{
	char text[TEXT], remedy[TEXT], age[AGE_TEXT];

	fus_age_text(age, log->unlisted_s);
	if (log->unwritten) {
		snprintf(text, sizeof(text), "for %s the slow member's list of blocks that are "
			 "newer in the landing log cannot be written: if the fast member is lost, "
			 "it is not known which of them are out of date", age);
		found(f, HEALTH_WARNING, text, "see dmesg, and smartctl --all of the slow disk; "
		      "have a backup");
	} else if (log->unlisted_s > LONG_UNLISTED) {
		snprintf(text, sizeof(text), "the slow member rests or is busy, so for %s its list "
			 "of blocks that are newer in the landing log has not been complete", age);
		snprintf(remedy, sizeof(remedy), "run fusionctl drain %s, which wakes it", name);
		found(f, HEALTH_NOTE, text, remedy);
	}
}

enum health fus_landing_health(const char *name, const struct fusion_status *st,
			       const struct log_stats *log, health_fn each, void *ctx)
{
	struct found f = { each, ctx, HEALTH_OK };
	char text[TEXT], age[AGE_TEXT];

	if (!st->logs || !log->known)
		return HEALTH_OK;
	find_full(&f, name, st, log);
	snprintf(text, sizeof(text), "blocks of its landing log cannot be copied to the slow "
		 "member; the next attempt is in %s", fus_age_text(age, log->retry_s));
	if (log->retry_s)
		found(&f, HEALTH_WARNING, text, "see dmesg, and smartctl --all of both disks; have "
		      "a backup");
	find_unlisted(&f, name, log);
	return f.worst;
}
