// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bytes of an extent are newer in the landing log: the answer to the message logged for the
 * extent that was asked for last, as what lies side by side is asked for one after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "error.h"
#include "fusionctl.h"
#include "landing-size.h"
#include "tell.h"

static int bad_answer(const struct placement *p)
{
	return fus_fail(FC_FAILED, p->set, "cannot read the blocks in the landing log that the "
			"kernel returns; use matching versions of fusionctl and dm-fusion");
}

/* "EXTENT BLOCK BLOCKS" */
static bool take_run(struct placement *p, const char *line, uint64_t extent)
{
	const uint64_t all = p->extent_bytes / FUS_LANDING_BLOCK;
	uint64_t number, first, nr;
	char end;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 "%c", &number, &first, &nr,
		   &end) != 3 || number != extent || first >= all || nr > all - first)
		return false;
	memset(p->log.block + first, 1, nr);
	return true;
}

static int ask(struct placement *p, uint64_t extent)
{
	const uint64_t all = p->extent_bytes / FUS_LANDING_BLOCK;
	char msg[48], *answer = NULL, *rest, *line;
	int rc;

	if (p->log.block && p->log.extent == extent)
		return 0;
	if (!p->log.block)
		p->log.block = malloc(all);
	if (!p->log.block)
		return -ENOMEM;
	memset(p->log.block, 0, all);
	p->log.extent = extent;
	snprintf(msg, sizeof(msg), "logged %" PRIu64 " 1", extent);
	rc = fus_tell_set(p->set, msg, &answer);
	for (rest = answer; !rc && (line = strsep(&rest, "\n"));)
		if (*line && !take_run(p, line, extent))
			rc = bad_answer(p);
	free(answer);
	return rc;
}

int fus_placement_logged(struct placement *p, uint64_t at, uint64_t bytes, uint64_t *logged)
{
	const uint64_t extent = at / p->extent_bytes;
	const struct placement_extent *e;
	uint64_t in = at % p->extent_bytes, n;
	int rc;

	*logged = 0;
	rc = fus_placement_find(p, extent, &e);
	if (!rc && e->logged)
		rc = ask(p, extent);
	if (rc || !e->logged)
		return rc;
	for (; bytes; in += n, bytes -= n) {
		n = FUS_LANDING_BLOCK - in % FUS_LANDING_BLOCK;
		n = n < bytes ? n : bytes;
		*logged += p->log.block[in / FUS_LANDING_BLOCK] ? n : 0;
	}
	return 0;
}
