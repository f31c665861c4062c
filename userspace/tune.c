// SPDX-License-Identifier: GPL-2.0-only
/* Verb set, and its keys: messages to the kernel's target. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"

enum unit { SWITCH, EXTENTS, PERCENT, SECONDS, MILLISECONDS, GB_A_DAY };

static const char *const unit_names[] = {
	[EXTENTS] = "extents",
	[PERCENT] = "percent",
	[SECONDS] = "seconds",
	[MILLISECONDS] = "milliseconds",
	[GB_A_DAY] = "GB a day",
};

/* As in the constructor of the target, and what a value by default means if it does not say so. */
static const struct key {
	const char *name;
	enum unit unit;
	uint64_t min, max;
	const char *def, *means;
} keys[] = {
	{ "migration", SWITCH, 0, 1, "on", NULL },
	{ "reserve", EXTENTS, 0, UINT32_MAX, "0", "the kernel chooses" },
	{ "half_life", SECONDS, 0, 604800, "0", "the kernel chooses" },
	{ "duty", PERCENT, 1, 100, "25", NULL },
	{ "idle", MILLISECONDS, 0, 60000, "1000", NULL },
	{ "commit_interval", MILLISECONDS, 10, 60000, "1000", NULL },
	{ "replica_interval", SECONDS, 1, 86400, "60", NULL },
	{ "discard_passdown", SWITCH, 0, 1, "on", NULL },
	{ "standby", SECONDS, 0, 86400, "0", "never" },
	{ "write_budget", GB_A_DAY, 0, 100000, "0", "any number" },
};

#define NR_KEYS	(sizeof(keys) / sizeof(keys[0]))

static const struct {
	const char *suffix;
	uint64_t ms;
} times[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
};

/* "30m" in the kernel's unit, of which a bare number is. */
static bool parse_time(const char *s, unsigned int unit_ms, uint64_t *v)
{
	size_t digits = strspn(s, "0123456789");
	char number[24];
	uint64_t ms;

	if (digits >= sizeof(number))
		return false;
	memcpy(number, s, digits);
	number[digits] = 0;
	if (!parse_number(number, UINT32_MAX, v))
		return false;
	if (!s[digits])
		return true;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (strcmp(times[i].suffix, s + digits))
			continue;
		ms = *v * times[i].ms;
		*v = ms / unit_ms;
		return !(ms % unit_ms);
	}
	return false;
}

static bool parse_percent(const char *s, uint64_t *v)
{
	size_t n = strlen(s);
	char number[8];

	if (n < 2 || n >= sizeof(number) || s[n - 1] != '%')
		return false;
	memcpy(number, s, n - 1);
	number[n - 1] = 0;
	return parse_number(number, 100, v);
}

/* "4G", "5%" of the fast member, or a bare number of extents. */
static bool parse_extents(const char *s, const struct fusion_status *st, uint64_t *v)
{
	uint64_t bytes, percent, extent = st->extent_sectors << 9;

	if (parse_percent(s, &percent)) {
		*v = st->total[FAST] * percent / 100;
		return true;
	}
	if (parse_number(s, UINT32_MAX, v))
		return true;
	if (!parse_size(s, &bytes))
		return false;
	*v = bytes / extent + !!(bytes % extent);
	return true;
}

int parse_setting(const char *word, const struct fusion_status *st, char *msg, size_t size)
{
	const char *value = strchr(word, '=');
	const struct key *k;
	bool ok = false;
	uint64_t max, v = 0;

	if (!value)
		return fail(FC_USAGE, word, "not KEY=VALUE; see fusionctl help set");
	for (k = keys; k < keys + NR_KEYS; k++)
		if (strlen(k->name) == (size_t)(value - word) &&
		    !strncmp(k->name, word, value - word))
			break;
	if (k == keys + NR_KEYS)
		return fail(FC_USAGE, word, "no such key; choose migration, reserve, half_life, "
			    "duty, idle, commit_interval, replica_interval, "
			    "discard_passdown, standby or write_budget");
	value++;
	if (k->unit == SWITCH) {
		if (strcmp(value, "on") && strcmp(value, "off"))
			return fail(FC_USAGE, word, "neither on nor off; write %s=on or %s=off",
				    k->name, k->name);
		snprintf(msg, size, "%s %s", k->name, value);
		return 0;
	}
	max = k->unit == EXTENTS ? st->total[FAST] / 2 : k->max;
	switch (k->unit) {
	case EXTENTS:
		ok = parse_extents(value, st, &v);
		break;
	case PERCENT:
		ok = parse_percent(value, &v) || parse_number(value, max, &v);
		break;
	case SECONDS:
		ok = parse_time(value, 1000, &v);
		break;
	case GB_A_DAY:
		ok = parse_number(value, max, &v);
		break;
	default:
		ok = parse_time(value, 1, &v);
		break;
	}
	if (!ok || v < k->min || v > max)
		return fail(FC_USAGE, word, "out of range; %s takes %" PRIu64 " to %" PRIu64
			    " %s%s", k->name, k->min, max, unit_names[k->unit],
			    k->unit == EXTENTS ? ", or a size" : "");
	snprintf(msg, size, "%s %" PRIu64, k->name, v);
	return 0;
}

const char *setting_unit(const char *name)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		if (!strcmp(keys[i].name, name) && unit_names[keys[i].unit])
			return unit_names[keys[i].unit];
	return "";
}

const char *setting_key(unsigned int i)
{
	return i < NR_KEYS ? keys[i].name : NULL;
}

static void print_key(const struct key *k)
{
	printf("  %-20s ", k->name);
	if (k->unit == SWITCH)
		printf("on or off");
	else if (k->unit == EXTENTS)
		printf("extents, a size, or a share: up to half the fast member");
	else
		printf("%" PRIu64 " to %" PRIu64 " %s", k->min, k->max, unit_names[k->unit]);
	printf(" (%s%s%s)\n", k->def, k->means ? ": " : "", k->means ? k->means : "");
}

void print_settings(bool (*takes)(const char *key))
{
	puts("\nkeys, with what is so by default; times as 500ms, 10s, 30m, 2h or 7d, too:");
	for (size_t i = 0; i < NR_KEYS; i++)
		if (!takes || takes(keys[i].name))
			print_key(&keys[i]);
}

int send_message(const char *name, const char *msg, char **answer, char *reason, size_t size)
{
	int err, kmsg = kmsg_open();

	err = dm_message(name, msg, answer);
	kmsg_reason(kmsg, reason, size);
	if (!err)
		return 0;
	if (!*reason)
		snprintf(reason, size, "%s", strerror(-err));
	return err == -EBUSY ? FC_BUSY : FC_FAILED;
}

int tell_set(const char *name, const char *msg, char **answer)
{
	char reason[256];
	int rc = send_message(name, msg, answer, reason, sizeof(reason));

	return rc ? fail(rc, name, "the kernel refuses \"%s\": %s; see dmesg", msg, reason) : 0;
}

static void print_plan(const struct changes *list, const char *name)
{
	printf("%s: %s\n", name, list->nr ? "this would change" : "all is set so already");
	if (list->nr)
		changes_print(list);
}

int cmd_set(const struct args *a)
{
	bool dry_run = a->opt[OPT_DRY_RUN];
	const char *name = a->word[0];
	struct changes list = { 0 };
	struct set set;
	int rc;

	rc = set_get(name, &set);
	if (rc)
		return rc;
	for (int i = 1; i < a->n && !rc; i++)
		rc = changes_add(&list, a->word[i], &set);
	set_put(&set);
	if (!rc && !dry_run)
		rc = changes_apply(&list, name);
	if (rc)
		return rc;
	if (a->opt[OPT_JSON])
		print_json(changes_json(&list, &set, dry_run), false);
	else if (dry_run)
		print_plan(&list, name);
	return 0;
}
