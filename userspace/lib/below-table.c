// SPDX-License-Identifier: GPL-2.0-only
/* The lines of device mapper tables whose blocks can be followed: linear, crypt and striped. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "below.h"
#include "sysfs.h"

#define DEVNO	" %31s %" SCNu64 "%n"

/* "8:1 2048", at the beginning of *text, which moves on */
static bool parse_leg(const char **text, struct below_line *line)
{
	char devno[32];
	uint64_t sector;
	int n = 0;

	if (line->nr_legs == BELOW_LEGS || sscanf(*text, DEVNO, devno, &sector, &n) != 2 ||
	    !fus_parse_devno(devno, &line->leg[line->nr_legs].devno))
		return false;
	line->leg[line->nr_legs++].sector = sector;
	*text += n;
	return true;
}

/* "NR CHUNK DEVICE SECTOR DEVICE SECTOR ..." */
static bool parse_striped(const char *params, struct below_line *line)
{
	unsigned int nr;
	int n = 0;

	if (sscanf(params, "%u %" SCNu64 "%n", &nr, &line->chunk, &n) != 2 || !nr ||
	    nr > BELOW_LEGS || !line->chunk)
		return false;
	params += n;
	while (line->nr_legs < nr)
		if (!parse_leg(&params, line))
			return false;
	return true;
}

bool fus_below_parse(const char *target, const char *params, struct below_line *line)
{
	int n = 0;

	line->nr_legs = 0;
	line->chunk = line->length;
	if (!strcmp(target, "zero") || !strcmp(target, "error"))
		return true;
	if (!strcmp(target, "striped"))
		return parse_striped(params, line);
	if (!strcmp(target, "crypt")) {
		/* "CIPHER KEY IV-OFFSET DEVICE SECTOR ..." */
		if (sscanf(params, "%*s %*s %*u%n", &n) < 0 || !n)
			return false;
		params += n;
	} else if (strcmp(target, "linear")) {
		return false;
	}
	return parse_leg(&params, line);
}

unsigned int fus_below_leg(const struct below_line *line, uint64_t at, uint64_t *sector,
			   uint64_t *run)
{
	const uint64_t chunk = at / line->chunk, within = at % line->chunk;
	const unsigned int leg = chunk % line->nr_legs;

	*sector = line->leg[leg].sector + chunk / line->nr_legs * line->chunk + within;
	*run = line->chunk - within;
	if (*run > line->length - at)
		*run = line->length - at;
	return leg;
}
