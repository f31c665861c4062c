// SPDX-License-Identifier: GPL-2.0-only
/* Verb members, for people: a paragraph for each member, with its drives. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "members.h"
#include "device.h"
#include "fusionctl.h"
#include "role.h"
#include "size.h"
#include "text.h"

#define HOURS_A_YEAR	8766
#define FEW_HOURS	48
#define FEW_DAYS	100

static void line(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *key, const char *fmt, ...)
{
	char text[1024], safe[2 * sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %-8s %s\n", key,
	       fus_safe_text(safe, sizeof(safe), text, sizeof(text), fus_utf8_output()));
}

const char *members_time(char buf[TIME_TEXT], int64_t hours)
{
	if (hours < FEW_HOURS)
		snprintf(buf, TIME_TEXT, "%" PRId64 " hour%s", hours, fus_plural(hours));
	else if (hours < FEW_DAYS * 24)
		snprintf(buf, TIME_TEXT, "%" PRId64 " days", hours / 24);
	else
		snprintf(buf, TIME_TEXT, "%.1f years", (double)hours / HOURS_A_YEAR);
	return buf;
}

/* Add a part to a line, with a comma between. */
static void part(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void part(char *buf, size_t size, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	if (len)
		snprintf(buf + len, size - len, ", ");
	len = strlen(buf);
	va_start(ap, fmt);
	vsnprintf(buf + len, size - len, fmt, ap);
	va_end(ap);
}

/* -- a drive ----------------------------------------------------------------------- */

static void show_hardware(const struct drive *d)
{
	char text[512] = "", size[SIZE_TEXT];

	part(text, sizeof(text), "%s, %s", d->node, fus_size_text(size, d->bytes));
	if (d->rotational >= 0)
		part(text, sizeof(text), "%s", d->rotational ? "rotational" : "not rotational");
	if (*d->link)
		part(text, sizeof(text), "%s", d->link);
	line("drive", "%s", text);
	*text = 0;
	if (*d->model)
		part(text, sizeof(text), "%s", d->model);
	if (*d->firmware)
		part(text, sizeof(text), "firmware %s", d->firmware);
	if (*text)
		line("model", "%s", text);
	if (*d->serial)
		line("serial", "%s", d->serial);
}

static void show_verdict(const struct smart *s)
{
	char text[256] = "", age[TIME_TEXT];

	part(text, sizeof(text), "%s", s->passed < 0 ? "no verdict" : s->passed ? "passed" :
	     "FAILING");
	if (s->temperature != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 " degrees", s->temperature);
	if (s->temperature != SMART_UNKNOWN && s->limit > 0)
		part(text, sizeof(text), "limit %" PRId64, s->limit);
	if (s->hours != SMART_UNKNOWN)
		part(text, sizeof(text), "powered on for %s", members_time(age, s->hours));
	line("SMART", "%s", text);
}

static void show_wear(const struct smart *s)
{
	char text[256] = "", size[SIZE_TEXT];

	if (s->wear != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 "%% used", s->wear);
	if (s->written != SMART_UNKNOWN)
		part(text, sizeof(text), "%s written", fus_size_text(size, s->written));
	if (s->spare != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 "%% of its spare blocks left", s->spare);
	if (*text)
		line(s->wear != SMART_UNKNOWN ? "wear" : "life", "%s", text);
}

static void show_sectors(const struct smart *s)
{
	char text[256] = "";

	if (s->pending != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 " pending", s->pending);
	if (s->reallocated != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 " reallocated", s->reallocated);
	if (s->media_errors != SMART_UNKNOWN)
		part(text, sizeof(text), "%" PRId64 " media errors", s->media_errors);
	if (*text)
		line("sectors", "%s", text);
}

static void show_smart(const struct inventory *inv, const struct drive *d)
{
	const struct smart *s = &d->smart;

	if (s->asleep)
		line("SMART", "not asked: the drive sleeps");
	else if (!s->known && inv->smartctl)
		line("SMART", "unknown: %s", s->trouble);
	if (!s->known)
		return;
	show_verdict(s);
	show_wear(s);
	show_sectors(s);
}

/* -- how long it lasts ------------------------------------------------------------- */

static void show_lasts(const struct endurance *e)
{
	char text[512] = "", time[TIME_TEXT], size[SIZE_TEXT];

	if (e->life_days >= 0)
		part(text, sizeof(text), "%s as used so far",
		     members_time(time, e->life_days * 24));
	if (e->life_days >= 0 && e->life_rate)
		part(text, sizeof(text), "%s written a day", fus_size_text(size, e->life_rate));
	if (*text)
		line("lasts", "%s", text);
	*text = 0;
	if (e->days >= 0)
		part(text, sizeof(text), "%s as used since boot", members_time(time, e->days * 24));
	if (e->rate)
		part(text, sizeof(text), "%s written a day%s", fus_size_text(size, e->rate),
		     e->days >= 0 ? "" : " since boot");
	if (e->rate && e->moves_known)
		part(text, sizeof(text), "%s by moves", fus_size_text(size, e->move_rate));
	if (*text)
		line("lasts", "%s", text);
}

static void show_budget(const struct owned *m, const struct endurance *e)
{
	char text[512] = "", time[TIME_TEXT];

	if (e->advice < 0 || m->role != FAST)
		return;
	if (e->budget_days >= 0)
		part(text, sizeof(text), "%s if moves use write_budget=%" PRIu64 " every day",
		     members_time(time, e->budget_days * 24), m->budget);
	if (e->advice)
		part(text, sizeof(text), "%d years with write_budget=%" PRId64, ENDURANCE_YEARS,
		     e->advice);
	else
		part(text, sizeof(text), "no write_budget makes it last %d years",
		     ENDURANCE_YEARS);
	line("budget", "%s", text);
}

/* -- all --------------------------------------------------------------------------- */

static void show_findings(const struct owned *m, const struct drive *d)
{
	struct drive_finding f[NR_DRIVE_FAULTS];
	unsigned int nr = fus_drive_findings(d, f);
	char remedy[512];

	for (unsigned int i = 0; i < nr; i++)
		line(fus_health_name[f[i].level], "%s; %s", f[i].text,
		     members_remedy(m, d, &f[i], remedy, sizeof(remedy)));
}

static void show_drive(const struct inventory *inv, const struct owned *m, const struct drive *d)
{
	struct endurance e;

	show_hardware(d);
	show_smart(inv, d);
	if (members_endurance(m, d, &e)) {
		show_lasts(&e);
		show_budget(m, &e);
	}
	show_findings(m, d);
}

static void show_member(const struct inventory *inv, const struct owned *m)
{
	char text[512], safe[2 * sizeof(text)], node[160], size[SIZE_TEXT];

	fus_device_node(m->devno, node, sizeof(node));
	snprintf(text, sizeof(text), "%s, %s member %s%s%s", *m->open_as ? m->open_as : *m->label ?
		 m->label : "?", m->role < 0 ? "a" : fus_role_name[m->role],
		 m->missing ? "" : node, m->missing ? "MISSING" : "",
		 m->old ? ", being replaced" : *m->open_as ? "" : ", closed");
	puts(fus_safe_text(safe, sizeof(safe), text, sizeof(text), fus_utf8_output()));
	if (m->missing && *m->model)
		line("model", "%s, %s", m->model, fus_size_text(size, m->bytes));
	if (m->missing && *m->serial)
		line("serial", "%s", m->serial);
	for (unsigned int i = 0; i < m->nr; i++)
		show_drive(inv, m, &inv->drive[m->drive[i]]);
}

void members_show(const struct inventory *inv)
{
	bool any = false;

	for (unsigned int i = 0; i < inv->nr; i++) {
		if (!inv->m[i].chosen)
			continue;
		if (any)
			puts("");
		show_member(inv, &inv->m[i]);
		any = true;
	}
	if (!any)
		puts("no members of fusion sets found");
}
