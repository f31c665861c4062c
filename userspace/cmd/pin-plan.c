// SPDX-License-Identifier: GPL-2.0-only
/* The extents that are pinned, and the messages that say so. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pin.h"
#include "fusionctl.h"
#include "role.h"

enum pin_grant pin_extent(struct pin_plan *p, int member, uint64_t extent)
{
	uint8_t *want = &p->want[extent];

	if (*want == member + 1)
		return PIN_GRANTED;
	if (member == SLOW && *want)
		return PIN_OVERRULED;
	if (member == FAST && p->nr[FAST] >= p->limit)
		return PIN_REFUSED;
	*want = member + 1;
	p->nr[member]++;
	return PIN_GRANTED;
}

/* "pin fast 7-9 12", with room for so many ranges. */
#define RANGE_TEXT	48
#define MESSAGE_BYTES	(16 + PIN_RANGES * RANGE_TEXT)

/* The next extents in a row. Return: false if there are no more. */
static bool next_range(const struct pin_plan *p, int member, uint64_t *first, uint64_t *last)
{
	uint64_t i = *first;

	while (i < p->extents && p->want[i] != member + 1)
		i++;
	if (i == p->extents)
		return false;
	*first = i;
	while (i + 1 < p->extents && p->want[i + 1] == member + 1)
		i++;
	*last = i;
	return true;
}

int pin_messages(const struct pin_plan *p, int member, int (*send)(void *ctx, const char *msg),
		 void *ctx)
{
	char *msg = malloc(MESSAGE_BYTES);
	uint64_t first = 0, last;
	unsigned int nr = 0;
	size_t n = 0;
	int rc = 0;

	if (!msg)
		return -ENOMEM;
	for (; !rc && next_range(p, member, &first, &last); first = last + 1) {
		if (!nr)
			n = sprintf(msg, "pin %s", fus_role_name[member]);
		n += first == last ? sprintf(msg + n, " %" PRIu64, first) :
		     sprintf(msg + n, " %" PRIu64 "-%" PRIu64, first, last);
		if (++nr < PIN_RANGES)
			continue;
		rc = send(ctx, msg);
		nr = 0;
	}
	if (!rc && nr)
		rc = send(ctx, msg);
	free(msg);
	return rc;
}

enum pin_state pin_state_of(const struct pin_found *f, int member)
{
	if (f->refused)
		return PIN_NO_ROOM;
	if (!f->on[!member])
		return PIN_COMPLETELY;
	return f->on[member] ? PIN_PARTLY : PIN_NOT_YET;
}
