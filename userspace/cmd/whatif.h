/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl whatif: the hit ratio of an open set by the size of its fast member.
 *
 * whatif.c		verb whatif: numbers, JSON, and the drawing in a terminal
 * whatif-curve.c	the curve: pure, needs nothing else of fusionctl
 * whatif-svg.c		the drawing to a file
 */
#ifndef WHATIF_H
#define WHATIF_H

#include <stdint.h>
#include <stdio.h>

/* The module has 112: room for finer ones. */
#define CURVE_MAX_BUCKETS	1024

/* Extents of similar heat: by member, their number and the sum of their heat. */
struct curve_bucket {
	uint64_t least;
	uint64_t nr[2];
	uint64_t sum[2];
};

/**
 * struct curve - what the heat of a set says
 * @nr: buckets
 * @bucket: hottest first
 * @extents: mapped ones, by member
 * @heat: sum, by member
 */
struct curve {
	unsigned int nr;
	struct curve_bucket bucket[CURVE_MAX_BUCKETS];
	uint64_t extents[2];
	uint64_t heat[2];
};

/*
 * Read the kernel's histogram of a set with this number of extents; changes @text. Return: NULL, or
 * the fault in it.
 */
const char *curve_parse(char *text, uint64_t extents, struct curve *c);

/* The number of mapped extents, and of those with heat. */
uint64_t curve_mapped(const struct curve *c);
uint64_t curve_warm(const struct curve *c);

/* Share of the accesses that goes to the fast member as the extents lie; 0 without heat. */
double curve_now(const struct curve *c);

/* The same if only the @n hottest extents were there. */
double curve_share(const struct curve *c, uint64_t n);

/* The least number of extents that would serve that share; all with heat if none does. */
uint64_t curve_needed(const struct curve *c, double share);

/* Sizes of the fast member to compare, in quarters of the present one. */
#define NR_SIZES	4
extern const struct whatif_size {
	unsigned int quarters;
	const char *text;	/* for people */
	const char *key;	/* for programs */
} whatif_sizes[NR_SIZES];

/**
 * struct whatif - a set and its curve
 * @name: of the set
 * @extent_bytes: size of an extent
 * @slots: of the fast member
 * @usable: those that may be filled: all but the reserve and the landing log, but not fewer than
 *	are in use
 * @end: extents where a drawing ends: nothing is to be gained there any more
 * @curve: the curve
 */
struct whatif {
	const char *name;
	uint64_t extent_bytes;
	uint64_t slots;
	uint64_t usable;
	uint64_t end;
	struct curve curve;
};

/* Share of the accesses that the best placement serves with a fast member of that size. */
double whatif_share(const struct whatif *w, const struct whatif_size *size);

/* Draw to a file. Exit code. */
void whatif_svg(const struct whatif *w, FILE *f);

#endif
