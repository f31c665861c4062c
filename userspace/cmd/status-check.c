// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb status --check: a line and an exit status as Nagios, Icinga and similar programs expect from
 * a plugin, with performance data behind a bar.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "named.h"
#include "open-set.h"
#include "role.h"
#include "status-parse.h"
#include "status.h"

/* Their exit statuses. */
enum plugin_code { PLUGIN_OK, PLUGIN_WARNING, PLUGIN_CRITICAL, PLUGIN_UNKNOWN };

struct line {
	char text[2048];
	char data[8192];
	enum condition worst;
	unsigned int sets;
	bool unknown;		/* some of them could not be examined */
	const char *name;	/* of the set being examined */
};

/* Whole or not at all: half a number would be another one. */
static __attribute__((format(printf, 3, 4)))
void append(char *buf, size_t size, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(buf + n, size - n, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= size - n)
		buf[n] = 0;
}

/* A name as a label may be: they end at a '='. */
static const char *label(const char *name)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "%s", name);
	for (char *s = buf; *s; s++)
		if (*s == '=' || *s == '\'')
			*s = '_';
	return buf;
}

static void add_sentence(struct line *l, const char *name, const char *text, const char *remedy)
{
	append(l->text, sizeof(l->text), "%s%s: %s%s%s", *l->text ? ". " : "", name, text,
	       remedy ? "; " : "", remedy ? remedy : "");
}

static void add_text(void *ctx, enum health health, const char *text, const char *remedy)
{
	struct line *l = ctx;

	/* a note, which needs no action, is no reason for an alarm */
	if (health < HEALTH_WARNING)
		return;
	add_sentence(l, l->name, text, remedy);
}

/* 'label'=value[unit];warn;crit;min;max */
static void add_data(struct line *l, const struct fusion_status *st)
{
	const char *name = label(l->name);
	const uint64_t extent = st->extent_sectors << 9;
	const struct {
		const char *label;
		uint64_t value;
	} counter[] = {
		{ "reads_fast", st->reads[FAST] },
		{ "reads_slow", st->reads[SLOW] },
		{ "writes_fast", st->writes[FAST] },
		{ "writes_slow", st->writes[SLOW] },
		{ "errors_fast", st->errors[FAST] },
		{ "errors_slow", st->errors[SLOW] },
		{ "promotions", st->promotions },
		{ "demotions", st->demotions },
	};

	for (int i = 0; i < 2; i++)
		append(l->data, sizeof(l->data), " '%s_%s_used'=%" PRIu64 "B;;;0;%" PRIu64,
		       name, fus_role_name[i], st->used[i] * extent, st->total[i] * extent);
	append(l->data, sizeof(l->data), " '%s_reserve_free'=%" PRIu64 "B;;;0;%" PRIu64, name,
	       st->reserve_free * extent, st->reserve * extent);
	for (size_t i = 0; i < sizeof(counter) / sizeof(counter[0]); i++)
		append(l->data, sizeof(l->data), " '%s_%s'=%" PRIu64 "c", name,
		       counter[i].label, counter[i].value);
}

static void add_set(struct line *l, const char *name)
{
	enum condition word;
	struct fus_error closed;
	struct set set;

	l->sets++;
	if (fus_set_get(name, &set)) {
		l->unknown = true;
		if (fus_closed_error(name, &closed))
			add_sentence(l, name, closed.what, closed.remedy);
		else
			add_sentence(l, name, "could not be examined", "see standard error");
		return;
	}
	l->name = set.m.name;
	word = fus_set_condition(&set);
	fus_set_health(&set, add_text, l);
	l->worst = word > l->worst ? word : l->worst;
	add_data(l, &set.st);
	fus_set_put(&set);
}

static enum plugin_code print_line(const struct line *l)
{
	static const char *const word[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	/* a known failure comes before a possible one */
	enum plugin_code code = l->worst >= CONDITION_FAILED ? PLUGIN_CRITICAL :
				l->unknown ? PLUGIN_UNKNOWN :
				l->worst == CONDITION_DEGRADED ? PLUGIN_WARNING : PLUGIN_OK;

	if (*l->text)
		printf("FUSION %s - %s |%s\n", word[code], l->text, l->data);
	else
		printf("FUSION %s - %u %s open and healthy |%s\n", word[code], l->sets,
		       l->sets == 1 ? "set" : "sets", l->data);
	return code;
}

static int status_unknown(const char *why)
{
	printf("FUSION UNKNOWN - %s\n", why);
	return PLUGIN_UNKNOWN;
}

int status_check(const char *name)
{
	struct line l = { .worst = CONDITION_OK };
	struct mapping *list = NULL;
	int rc = 0;

	if (geteuid())
		return status_unknown("needs root, use sudo");
	if (name) {
		add_set(&l, name);
	} else {
		rc = fus_dm_list(MAPPING_INFO, &list);
		/* one without a table is being made, or closed */
		for (struct mapping *m = list; m; m = m->next)
			if (m->live)
				add_set(&l, m->name);
		fus_dm_free_list(list);
	}
	if (rc)
		return status_unknown("the sets could not be examined, see standard error");
	if (!l.sets)
		return status_unknown("no set is open");
	return print_line(&l);
}
