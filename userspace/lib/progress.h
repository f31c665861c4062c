/* SPDX-License-Identifier: GPL-2.0-only */
/* The progress of long work, for a listener that shows it: progress.c. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* The unit of the rate: "MiB" is 1048576. */
struct progress_unit {
	const char *name;
	double size;
};

extern const struct progress_unit fus_progress_mib, fus_progress_inodes;

struct work {
	const char *what;	/* while it begins */
	const struct progress_unit *unit;
	uint64_t done, total;	/* 0 if the end is unknown */
	const char *also;	/* more to tell, or NULL */
	bool running;
};

/* Begin one piece of work; there is one at a time. @total: the amount of work, or 0 if unknown. */
void fus_progress_begin(const char *what, const struct progress_unit *unit, uint64_t total);
/* Report the amount done; @also is additional text, or NULL. No effect if no work has begun. */
void fus_progress_at(uint64_t done, const char *also);
void fus_progress_add(uint64_t more);
/* So much less is to be done than was thought. */
void fus_progress_skip(uint64_t less);
void fus_progress_end(void);

enum work_stage { WORK_BEGINS, WORK_GOES_ON, WORK_ENDS };

/* Set the listener that gets each of these. Without one they are dropped. */
void fus_on_progress(void (*listener)(enum work_stage stage, const struct work *work));

#endif
