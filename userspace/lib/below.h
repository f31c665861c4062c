/* SPDX-License-Identifier: GPL-2.0-only */
/* The place of a device's blocks on the set beneath it: below.c; below-table.c for mappings. */
#ifndef BELOW_H
#define BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct below;

/* A part of a device that is in one piece beneath. */
struct below_part {
	uint64_t bytes;
	bool on_set;		/* otherwise on another disk, or nowhere */
	uint64_t at;		/* byte of the set */
};

/*
 * Find the set beneath a device, through partitions and mappings. If something is in between whose
 * blocks cannot be followed, the error names it. *@b is to be closed.
 */
int fus_below_open(dev_t devno, struct below **b);
void fus_below_close(struct below *b);
/* The name of the set, as the device mapper has it. */
const char *fus_below_set(const struct below *b);
/* The part that begins at byte @at of the device, at most @bytes of it; they are not 0. */
struct below_part fus_below_find(const struct below *b, uint64_t at, uint64_t bytes);

/* -- tables of mappings ----------------------------------------------------------------------- */

#define BELOW_LEGS	16	/* of a striped mapping */

/* A line of a table: blocks of a mapping, and what they lie on. In sectors. */
struct below_line {
	uint64_t start, length;
	unsigned int nr_legs;	/* 1: in a row; 0: they lie on nothing */
	uint64_t chunk;		/* that are on one leg in a row */
	struct {
		dev_t devno;
		uint64_t sector;
	} leg[BELOW_LEGS];
};

/* Return: false if blocks behind this line cannot be followed, or if it is malformed. */
bool fus_below_parse(const char *target, const char *params, struct below_line *line);
/* The leg of a line on which sector @at of it lies, its sector there; *@run: so many follow. */
unsigned int fus_below_leg(const struct below_line *line, uint64_t at, uint64_t *sector,
			   uint64_t *run);

#endif
