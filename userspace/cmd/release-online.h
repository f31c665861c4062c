/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb release, of a set that is open, and may be in use.
 *
 * release-open.c	what is on it, and whether it may be released
 * release-home.c	the kernel moves the extents to their place, while the set is in use
 * release-pause.c	how long it may be suspended
 * release-online.c	the rest, while it is suspended; then the disk takes its place
 */
#ifndef RELEASE_ONLINE_H
#define RELEASE_ONLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "release.h"
#include "resize.h"

struct online {
	struct resizing set;
	struct releasing r;	/* as the kernel tells it; of the members only their paths */
	uint64_t keep;		/* of --size, or 0 */
	bool log_off;		/* its landing log was turned off for this; */
	bool logs_on;		/* but it had blocks once the set was suspended */
	bool zero;		/* unmapped extents get zeros on the disk */
	uint64_t until_ms;	/* of online_now_ms(): the longest that I/O may wait */
};

/* Refuse what cannot be released, before anything is changed. online_put() in any case. */
int online_look(struct online *o);
void online_put(struct online *o);

/* Mappings on it must not reach beyond the disk; @paused: it is suspended. */
int online_check_reach(const struct online *o, bool paused);

/* The kernel warns of a task that waits for two minutes. */
#define ONLINE_LONGEST_MS	60000U

uint64_t online_now_ms(void);
/* How long the transit takes, at most, in ms; and how long I/O may wait in all. Known with r->t. */
uint64_t online_transit_ms(const struct releasing *r);
uint64_t online_pause_ms(const struct releasing *r, bool zero);
/* Extents of a batch of moves then: enough for all that may have to move, twice. */
uint32_t online_batch(const struct releasing *r);
/* Refuse if that is too long. */
int online_check_pause(const struct online *o, const struct releasing *r);

/*
 * Refuse a disk that fails: with more than @errors, and more than @retired slots that are out of
 * use since.
 */
int online_check_disk(const struct online *o, const struct fusion_status *st, uint64_t errors,
		      uint64_t retired);
/* Few enough to be moved while I/O waits? */
uint64_t online_few_bytes(const struct fusion_sb *sb);
bool online_few(const struct online *o, uint64_t extents);
/* The kernel brings extents to their place, until none or few are left. @again: those are new. */
int online_bring_home(struct online *o, bool again);
/* It goes back to what it does otherwise. */
void online_leave(const struct online *o);

#endif
