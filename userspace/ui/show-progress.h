/* SPDX-License-Identifier: GPL-2.0-only */
/* How far something is, at which rate, and how long it will take: show-progress.c. */
#ifndef SHOW_PROGRESS_H
#define SHOW_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "progress.h"

/* From here on standard error shows all work that takes long. */
void progress_show(void);
/* And no longer. */
void progress_stop(void);
/* Make room for another line. */
void progress_hide(void);

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
