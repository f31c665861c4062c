/* SPDX-License-Identifier: GPL-2.0-only */
/* What is found on the members of a closed set: report.c. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "meta-landing.h"

enum severity {
	LEVEL_NOTE,		/* worth knowing; nothing is wrong */
	LEVEL_WARNING,		/* wrong, but no obstacle; repair fixes it */
	LEVEL_ERROR,		/* the kernel refuses the set, or it would serve wrong data */
	NR_LEVELS,
};

/* Findings about this are no task of repair: the next opening writes it again. */
#define FUS_STALE_LIST	"stale list"

#define NO_BLOCK	UINT64_MAX
#define BOTH		2	/* instead of FAST or SLOW: the set as a whole */

struct finding {
	enum severity level;
	int dev;		/* FAST, SLOW, BOTH */
	u64 block;		/* of that member, or NO_BLOCK */
	const char *what;	/* "superblock", "map", "journal", ... : for programs, stable */
	char text[256];		/* already safe to print */
};

/* So many does the replica name. */
struct shadows {
	u32 current, outdated;
	u64 point;		/* for the current ones: struct meta_state */
};

struct report {
	struct finding *f;
	unsigned int nr, room;
	enum severity worst;		/* of those in the list */
	unsigned int count[NR_LEVELS];	/* of all, also those that are not in the list */
	unsigned int unrepaired;	/* warnings and errors that repair can do something about */
	struct shadows shadows;
	struct landing_sum landing;
};

extern const char *const fus_level_name[NR_LEVELS];

/*
 * Beyond some thousands, a finding is counted, and in the list only if it is worse than all of
 * these.
 */
void fus_report_add(struct report *r, enum severity level, int dev, u64 block, const char *what,
		    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void fus_report_free(struct report *r);
/* Return: whether there is a finding about this. */
bool fus_report_has(const struct report *r, const char *what);
/* "fast member, block 80: map: checksum mismatch"; NULL: memory was too short for a finding. */
void fus_finding_text(const struct finding *f, char *buf, size_t size);
/* The first of the worst level, or NULL. */
const struct finding *fus_report_worst(const struct report *r);

#endif
