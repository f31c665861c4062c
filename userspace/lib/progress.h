/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that takes long, for whoever shows how far it is: progress.c. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* In what the rate is told: "MiB" of 1048576. */
struct progress_unit {
	const char *name;
	double size;
};

extern const struct progress_unit fus_progress_mib, fus_progress_inodes;

struct work {
	const char *what;	/* while it begins */
	const struct progress_unit *unit;
	uint64_t done, total;	/* 0 if nobody knows when it is done */
	const char *also;	/* more to tell, or NULL */
	bool running;
};

/* One thing at a time. @total: when it is done, or 0 if nobody knows. */
void fus_progress_begin(const char *what, const struct progress_unit *unit, uint64_t total);
/* So much is done; @also is more to tell, or NULL. Nothing if none has begun. */
void fus_progress_at(uint64_t done, const char *also);
void fus_progress_add(uint64_t more);
/* So much less is to be done than was thought. */
void fus_progress_skip(uint64_t less);
void fus_progress_end(void);

enum work_stage { WORK_BEGINS, WORK_GOES_ON, WORK_ENDS };

/* Have each of these. Without a listener nobody hears of them. */
void fus_on_progress(void (*listener)(enum work_stage stage, const struct work *work));

#endif
