/* SPDX-License-Identifier: GPL-2.0-only */
/* How far something is that takes long, at which rate, and how long it will take. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* In what the rate is told: "MiB" of 1048576. */
struct progress_unit {
	const char *name;
	double size;
};

extern const struct progress_unit progress_mib, progress_inodes;

/* -- for the verbs ------------------------------------------------------------------ */

/* One thing at a time. @total: when it is done, or 0 if nobody knows. */
void progress_begin(const char *what, const struct progress_unit *unit, uint64_t total);
/* So much is done; @also is more to tell, or NULL. Nothing if none has begun. */
void progress_at(uint64_t done, const char *also);
void progress_add(uint64_t more);
/* So much less is to be done than was thought. */
void progress_skip(uint64_t less);
/* Make room for a line of somebody else. */
void progress_hide(void);
void progress_end(void);

/* -- what it says, apart from clock and terminal so that it can be tested ----------- */

struct progress {
	char what[128];
	const struct progress_unit *unit;
	uint64_t done, total;
	struct {
		double at;	/* seconds */
		uint64_t done;
	} mark[2];		/* the rate is that since the first one */
};

void progress_init(struct progress *p, const char *what, const struct progress_unit *unit,
		   uint64_t total, double now);
void progress_reach(struct progress *p, uint64_t done, double now);
/* "data: 42 %, 118.3 MiB/s, 1:23 left" */
void progress_text(const struct progress *p, const char *also, double now, char *buf, size_t size);

#endif
