// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, numbers and names as people write them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"
#include "error.h"
#include "fusionctl.h"

#define MAX_NAME	64	/* the room for a label */

static const char units[] = "BKMGTPE";

/* Tenths of a unit of 1024^unit bytes, rounded. */
static uint64_t tenths(uint64_t bytes, unsigned int unit)
{
	uint64_t whole = bytes >> 10 * unit, rest = bytes - (whole << 10 * unit);

	/* the remainder is below 2^60: a thousandth of a unit is fine enough */
	return whole * 10 + (unit ? ((rest >> (10 * unit - 10)) * 10 + 512) / 1024 : 0);
}

char *fus_size_text(char buf[SIZE_TEXT], uint64_t bytes)
{
	unsigned int unit = 0;
	uint64_t n;

	/* a value that rounds to 1024 of a unit is 1 of the next */
	while (bytes >> 10 * unit >= 1024 || tenths(bytes, unit) >= 10240)
		unit++;
	n = tenths(bytes, unit);
	if (n % 10 && n < 10000)
		snprintf(buf, SIZE_TEXT, "%llu.%llu%c", (unsigned long long)n / 10,
			 (unsigned long long)n % 10, units[unit]);
	else
		snprintf(buf, SIZE_TEXT, "%llu%c", (unsigned long long)n / 10, units[unit]);
	return buf;
}

char *fus_extents_text(char buf[EXTENTS_TEXT], uint32_t nr, uint32_t sectors)
{
	char size[SIZE_TEXT];

	snprintf(buf, EXTENTS_TEXT, "%u extent%s (%s)", nr, fus_plural(nr),
		 fus_size_text(size, (uint64_t)nr * sectors << 9));
	return buf;
}

bool fus_parse_number(const char *s, uint64_t max, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*v = strtoull(s, &end, 10);
	return !errno && !*end && *v <= max;
}

bool fus_parse_size(const char *s, uint64_t *bytes)
{
	unsigned int shift = 0;
	const char *unit;
	char *end;
	double v;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtod(s, &end);
	if (errno || strcspn(s, "eEpPxX") < (size_t)(end - s))
		return false;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit)
			return false;
		shift = 10 * (unit - units);
		end++;
		/* 64K, 64KiB, 64kB: all mean powers of 1024, as in lsblk */
		if (shift && *end == 'i')
			end++;
		if (shift && *end == 'B')
			end++;
		if (*end)
			return false;
	}
	v *= (double)(1ULL << shift);
	if (v >= 9223372036854775808.0 || v != (double)(uint64_t)v)
		return false;
	*bytes = v;
	return true;
}

bool fus_parse_range_to(const char *s, uint64_t max, uint64_t *first, uint64_t *last)
{
	const char *dash = strchr(s, '-');
	char buf[24];

	if (!dash) {
		if (!fus_parse_number(s, max, first))
			return false;
		*last = *first;
		return true;
	}
	if ((size_t)(dash - s) >= sizeof(buf))
		return false;
	memcpy(buf, s, dash - s);
	buf[dash - s] = 0;
	return fus_parse_number(buf, max, first) && fus_parse_number(dash + 1, max, last) &&
	       *first <= *last;
}

bool fus_parse_range(const char *s, uint64_t *first, uint64_t *last)
{
	return fus_parse_range_to(s, 0xfffffff, first, last);
}

/* A name that libdevmapper takes as it is, without characters special to a shell or a path. */
bool fus_valid_name(const char *name)
{
	size_t n = 0;

	while (name[n] > 0 && (isalnum(name[n]) || strchr("#+-.:=@_", name[n])))
		n++;
	return n && n <= MAX_NAME && !name[n] && isalnum(*name) && strcmp(name, "control");
}

int fus_check_name(const char *name)
{
	if (fus_valid_name(name))
		return 0;
	return fus_fail(FC_USAGE, name, "not a name for a set; use up to 64 letters, digits and "
			"#+-.:=@_, the first a letter or digit");
}
