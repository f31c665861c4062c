// SPDX-License-Identifier: GPL-2.0-only
/* The findings on the members, for people and for programs. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "role.h"
#include "text.h"

const char *const fus_level_name[NR_LEVELS] = { "note", "warning", "error" };

/* A set can have a million faults; a longer report helps no reader. */
#define MAX_FINDINGS	10000U

/* One more in the list; NULL if it has enough of them. */
static struct finding *next_finding(struct report *r, enum severity level)
{
	struct finding *f;
	unsigned int room;

	if (r->nr >= MAX_FINDINGS)
		return level > r->worst ? &r->f[MAX_FINDINGS - 1] : NULL;
	if (r->nr == r->room) {
		room = r->room ? 2 * r->room : 16;
		f = realloc(r->f, room * sizeof(*f));
		if (!f)
			return NULL;
		r->f = f;
		r->room = room;
	}
	return &r->f[r->nr++];
}

void fus_report_add(struct report *r, enum severity level, int dev, u64 block, const char *what,
		    const char *fmt, ...)
{
	char text[sizeof(r->f->text)];
	struct finding *f;
	va_list ap;

	if (!r)
		return;
	r->count[level]++;
	r->unrepaired += level >= LEVEL_WARNING && strcmp(what, FUS_STALE_LIST);
	f = next_finding(r, level);
	if (!f)
		return;
	r->worst = max(r->worst, level);
	f->level = level;
	f->dev = dev;
	f->block = block;
	f->what = what;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fus_safe_text(f->text, sizeof(f->text), text, sizeof(text), fus_utf8_output());
}

void fus_report_free(struct report *r)
{
	free(r->f);
	memset(r, 0, sizeof(*r));
}

bool fus_report_has(const struct report *r, const char *what)
{
	for (unsigned int i = 0; i < r->nr; i++)
		if (!strcmp(r->f[i].what, what))
			return true;
	return false;
}

void fus_finding_text(const struct finding *f, char *buf, size_t size)
{
	char where[64] = "";

	if (!f) {
		snprintf(buf, size, "out of memory");
		return;
	}
	if (f->dev != BOTH && f->block != NO_BLOCK)
		snprintf(where, sizeof(where), "%s member, block %llu: ", fus_role_name[f->dev],
			 (unsigned long long)f->block);
	else if (f->dev != BOTH)
		snprintf(where, sizeof(where), "%s member: ", fus_role_name[f->dev]);
	snprintf(buf, size, "%s%s: %s", where, f->what, f->text);
}

const struct finding *fus_report_worst(const struct report *r)
{
	const struct finding *worst = NULL;

	for (unsigned int i = 0; i < r->nr; i++)
		if (!worst || r->f[i].level > worst->level)
			worst = &r->f[i];
	return worst;
}
