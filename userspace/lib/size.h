/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes, numbers and names as people write them: size.c. */
#ifndef SIZE_H
#define SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_TEXT	24
#define EXTENTS_TEXT	(SIZE_TEXT + 24)

/* "1.5G" for bytes; returns @buf. */
char *fus_size_text(char buf[SIZE_TEXT], uint64_t bytes);
/* "3 extents (768K)" for so many of @sectors; returns @buf. */
char *fus_extents_text(char buf[EXTENTS_TEXT], uint32_t nr, uint32_t sectors);
/* "64K", "1.5G", "4096": false if it is none or beyond 2^63. */
bool fus_parse_size(const char *s, uint64_t *bytes);
/* Decimal digits only, up to @max. */
bool fus_parse_number(const char *s, uint64_t max, uint64_t *v);
/* "7" or "7-9", extents below 2^28. */
bool fus_parse_range(const char *s, uint64_t *first, uint64_t *last);
/* The same for numbers up to @max. */
bool fus_parse_range_to(const char *s, uint64_t max, uint64_t *first, uint64_t *last);

/* What a word for @n of something ends with: "1 extent", "2 extents". */
static inline const char *fus_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Return: 0 if this may be the name of a set, otherwise exit code FC_USAGE. */
int fus_check_name(const char *name);
bool fus_valid_name(const char *name);

#endif
