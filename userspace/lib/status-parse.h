/* SPDX-License-Identifier: GPL-2.0-only */
/* The status line of the kernel's target: status-parse.c. */
#ifndef STATUS_PARSE_H
#define STATUS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_VERSION		6
#define STATUS_MAX_OPTIONS	32

struct fusion_status {
	char mode[8];		/* rw, ro, fail */
	uint64_t extent_sectors;
	uint64_t used[2], total[2];
	uint64_t mapped, extents;
	uint64_t journal_used, journal_size;
	uint64_t reads[2], writes[2];
	uint64_t promotions, demotions, cancelled, in_flight;
	uint64_t open, quarantined;
	uint64_t commits, checkpoints, slow_flushes;
	uint64_t reserve_free, reserve;
	char replica[8];	/* ok, failed, - */
	uint64_t replica_dirty, replica_age;
	uint64_t errors[2];
	uint64_t fence_used, fence_slots;	/* slots; none without a fence */
	uint64_t shadows_current, shadows;	/* copies of extents of the fast member */
	uint64_t demotions_free;		/* of the demotions, those that copied nothing */
	uint64_t protected, on_fast;		/* extents there, and which the slow member has */
	bool pointed;				/* it names shadows: the next one counts */
	uint64_t point_age;			/* seconds; 0: nothing was written since */
	uint64_t metadata, metadata_fast;	/* of both, extents with metadata */
	unsigned int nr_options;
	struct {
		char key[24];
		char value[24];
	} option[STATUS_MAX_OPTIONS];
	bool needs_check;
	bool homing;			/* on: extents go where a release wants them */
	uint64_t homing_away;		/* those that are not there yet, */
	uint64_t homing_blank;		/* and unmapped ones that are to get zeros there */
	uint64_t lost;			/* extents whose content is lost, */
	uint64_t partly_lost;		/* and of these: in part */
	bool logs;			/* it has a landing log: the next ones count */
	uint64_t log_blocks;		/* that have their newest content there */
	uint64_t log_segments, log_most;	/* fast slots that it takes, and may take */
	uint64_t log_drained;			/* blocks copied to the slow member */
	bool log_off;				/* for another table, or while one is replaced */
	bool log_stopped;			/* no write gets into it, after an error */
	uint64_t copies;		/* blocks of the slow member that have one beside the log */
	uint64_t copies_read, copies_made;
	struct {
		int role;		/* of the old member, or -1: the next ones are zero */
		uint64_t left, total;	/* extents that lie on it, and did in the beginning */
		uint64_t unreadable;	/* of those left: could not be read */
	} old;
};

/*
 * Parse the text after "fusion " in the status line, strictly: Documentation/reference/target.rst.
 * Return: NULL, or the fault in it. Needs nothing else of fusionctl.
 */
const char *fus_parse_status(const char *line, struct fusion_status *st);
/* How much of what is on the fast member is protected, in percent; 100 is all. */
unsigned int fus_status_protected(const struct fusion_status *st);
/* The same of the extents that have metadata. */
unsigned int fus_status_metadata(const struct fusion_status *st);
/* The value of one of its options; NULL if the kernel's module has no such option. */
const char *fus_status_option(const struct fusion_status *st, const char *key);

#endif
