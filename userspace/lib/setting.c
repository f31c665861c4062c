// SPDX-License-Identifier: GPL-2.0-only
/* Settings as people write and read them; dm-fusion-settings.h has the list. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"
#include "error.h"
#include "fusionctl.h"
#include "nearest.h"
#include "size.h"
#include "dm-fusion-codec.h"

/* The plural for a bare number, and the fault of a value. */
static const struct {
	const char *name, *no;
} units[] = {
	[FUSION_UNIT_SWITCH] = { "", "neither on nor off" },
	[FUSION_UNIT_EXTENTS] = { "extents", "not a size, a share, or a number of extents" },
	[FUSION_UNIT_PERCENT] = { "percent", "not a percentage" },
	[FUSION_UNIT_SECONDS] = { "seconds", "not a time" },
	[FUSION_UNIT_MILLISECONDS] = { "milliseconds", "not a time" },
	[FUSION_UNIT_GB_A_DAY] = { "GB a day", "not a number of GB a day" },
};

static const struct {
	const char *suffix;
	uint64_t ms;
} times[] = {
	{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "min", 60000 }, { "s", 1000 },
	{ "ms", 1 }, { "w", 7 * 86400000ULL },
};

/* Times are written with the units before "min", the largest first. */
#define NR_WRITTEN	3

const char *fus_setting_unit(int s)
{
	return units[fusion_settings[s].unit].name;
}

const char *fus_setting_key(unsigned int i)
{
	return i < FUSION_SETTINGS ? fusion_settings[i].key : NULL;
}

/* -- reading ------------------------------------------------------------------------- */

/* A number, possibly with a fraction; the rest of the text is its suffix. */
static bool parse_amount(const char *text, double *v, const char **suffix)
{
	size_t n = strspn(text, "0123456789.");
	char number[32], *end;

	if (*text < '0' || *text > '9' || n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = 0;
	*v = strtod(number, &end);
	*suffix = text + n;
	return !*end;
}

/* @v as a whole number; a product of a fraction may be a hair off. */
static bool whole(double v, uint64_t *n)
{
	double off;

	if (v > UINT32_MAX * 1000.0)
		return false;
	*n = v + 0.5;
	off = v - *n;
	return off < 0.000001 && off > -0.000001;
}

/* "30m", "1.5h", or a bare number in units of @unit_ms milliseconds. */
static bool parse_time(const char *text, unsigned int unit_ms, uint64_t *n)
{
	const char *suffix;
	double v;

	if (!parse_amount(text, &v, &suffix))
		return false;
	if (!*suffix)
		return whole(v, n);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!strcmp(times[i].suffix, suffix))
			return whole(v * times[i].ms / unit_ms, n);
	return false;
}

static bool parse_percent(const char *text, bool bare, uint64_t *n)
{
	const char *suffix;
	double v;

	return parse_amount(text, &v, &suffix) && (!strcmp(suffix, "%") || (bare && !*suffix)) &&
	       whole(v, n);
}

/* "20G", "1.5TB/day": powers of 1000, as makers of SSDs count. */
static bool parse_gb(const char *text, uint64_t *n)
{
	const char *suffix;
	double v;

	if (!parse_amount(text, &v, &suffix))
		return false;
	if (*suffix == 'T')
		v *= 1000;
	if (*suffix == 'T' || *suffix == 'G')
		suffix += suffix[1] == 'B' ? 2 : 1;
	return (!*suffix || !strcmp(suffix, "/d") || !strcmp(suffix, "/day")) && whole(v, n);
}

bool fus_parse_share(const char *text, uint64_t all, uint64_t *n)
{
	const char *suffix;
	double v;

	if (!parse_amount(text, &v, &suffix) || strcmp(suffix, "%") || v > 100)
		return false;
	*n = all * v / 100;
	return true;
}

/* "4G", "2.5%" of the fast member, or a bare number of extents. */
static bool parse_extents(const char *text, const struct scale *scale, uint64_t *n)
{
	uint64_t bytes, extent = (uint64_t)scale->extent_sectors << 9;

	if (fus_parse_share(text, scale->nr_fast_slots, n))
		return true;
	if (fus_parse_number(text, UINT64_MAX, n))
		return true;
	if (!fus_parse_size(text, &bytes))
		return false;
	*n = bytes / extent + !!(bytes % extent);
	return true;
}

static bool parse_switch(const char *text, uint64_t *n)
{
	static const char *const words[][2] = {
		{ "off", "on" }, { "no", "yes" }, { "false", "true" }, { "0", "1" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (*n = 0; *n < 2; ++*n)
			if (!strcasecmp(words[i][*n], text))
				return true;
	return false;
}

static bool parse_value(int s, const char *text, const struct scale *scale, uint64_t *n)
{
	const struct fusion_setting_info *info = &fusion_settings[s];

	*n = 0;
	/* where 0 has a meaning of its own, "off" also means 0 */
	if (info->zero && (!strcasecmp(text, info->zero) || !strcasecmp(text, "off") ||
			   (!strcasecmp(text, "auto") && !strcmp(info->zero, "automatic"))))
		return true;
	switch (info->unit) {
	case FUSION_UNIT_SWITCH:
		return parse_switch(text, n);
	case FUSION_UNIT_EXTENTS:
		return parse_extents(text, scale, n);
	case FUSION_UNIT_PERCENT:
		return parse_percent(text, true, n);
	case FUSION_UNIT_SECONDS:
		return parse_time(text, 1000, n);
	case FUSION_UNIT_MILLISECONDS:
		return parse_time(text, 1, n);
	case FUSION_UNIT_GB_A_DAY:
		return parse_gb(text, n);
	}
	return false;
}

static int no_such_key(const char *word, const char *key)
{
	const char *meant = fus_nearest_word(key, fus_setting_key);
	char all[256] = "";
	size_t n = 0;

	if (meant)
		return fus_fail(FC_USAGE, word, "no such setting; did you mean %s?", meant);
	for (int s = 0; s < FUSION_SETTINGS; s++)
		n += snprintf(all + n, sizeof(all) - n, "%s%s", fusion_settings[s].key,
			      s < FUSION_SETTINGS - 2 ? ", " : s < FUSION_SETTINGS - 1 ?
			      " or " : "");
	return fus_fail(FC_USAGE, word, "no such setting; choose %s", all);
}

int fus_parse_setting(const char *word, const struct scale *scale, struct setting *to)
{
	const char *text = strchr(word, '=');
	const struct fusion_setting_info *info;
	char key[32], range[128];
	uint64_t n;
	bool ok;

	if (!text)
		return fus_fail(FC_USAGE, word, "not KEY=VALUE; see fusionctl help set");
	snprintf(key, sizeof(key), "%.*s", (int)(text - word), word);
	to->which = fusion_setting_find(key);
	if (to->which < 0 || strlen(key) != (size_t)(text - word))
		return no_such_key(word, key);
	info = &fusion_settings[to->which];
	text++;
	to->is_default = !strcasecmp(text, "default");
	to->value = info->def;
	if (to->is_default)
		return 0;
	ok = parse_value(to->which, text, scale, &n);
	if (ok && n <= UINT32_MAX && fusion_setting_valid(to->which, n, scale->nr_fast_slots)) {
		to->value = n;
		return 0;
	}
	fus_setting_range(range, sizeof(range), to->which, scale);
	return fus_fail(FC_USAGE, word, "%s; %s takes %s", ok ? "out of range" :
			units[info->unit].no, info->key, range);
}

/* -- writing ------------------------------------------------------------------------- */

static void time_text(char *buf, size_t size, uint64_t ms)
{
	for (size_t i = 0; i < NR_WRITTEN && ms; i++) {
		if (ms % times[i].ms)
			continue;
		snprintf(buf, size, "%" PRIu64 "%s", ms / times[i].ms, times[i].suffix);
		return;
	}
	snprintf(buf, size, "%" PRIu64 "%s", ms % 1000 ? ms : ms / 1000, ms % 1000 ? "ms" : "s");
}

static char *plain_text(char buf[SETTING_TEXT], int s, uint32_t value, const struct scale *scale)
{
	switch (fusion_settings[s].unit) {
	case FUSION_UNIT_SWITCH:
		snprintf(buf, SETTING_TEXT, "%s", value ? "on" : "off");
		break;
	case FUSION_UNIT_EXTENTS:
		fus_size_text(buf, (uint64_t)value * scale->extent_sectors << 9);
		break;
	case FUSION_UNIT_PERCENT:
		snprintf(buf, SETTING_TEXT, "%" PRIu32 "%%", value);
		break;
	case FUSION_UNIT_SECONDS:
		time_text(buf, SETTING_TEXT, value * 1000ULL);
		break;
	case FUSION_UNIT_MILLISECONDS:
		time_text(buf, SETTING_TEXT, value);
		break;
	case FUSION_UNIT_GB_A_DAY:
		snprintf(buf, SETTING_TEXT, "%" PRIu32 "G/day", value);
		break;
	}
	return buf;
}

char *fus_setting_text(char buf[SETTING_TEXT], int s, uint32_t value, const struct scale *scale)
{
	if (value || !fusion_settings[s].zero)
		return plain_text(buf, s, value, scale);
	snprintf(buf, SETTING_TEXT, "%s", fusion_settings[s].zero);
	return buf;
}

uint32_t fus_setting_effect(int s, uint32_t value, const struct scale *scale)
{
	const struct fusion_sb sb = {
		.nr_fast_slots = scale->nr_fast_slots, .extent_sectors = scale->extent_sectors,
	};

	if (value)
		return value;
	return s == FUSION_SET_RESERVE ? fusion_default_reserve(&sb) :
	       s == FUSION_SET_HALF_LIFE ? fusion_default_half_life(&sb) : value;
}

char *fus_setting_shown(char buf[SETTING_SHOWN], int s, uint32_t value, const struct scale *scale)
{
	uint32_t effect = fus_setting_effect(s, value, scale);
	char text[2][SETTING_TEXT];

	fus_setting_text(text[0], s, value, scale);
	if (effect == value)
		snprintf(buf, SETTING_SHOWN, "%s", text[0]);
	else
		snprintf(buf, SETTING_SHOWN, "%s (%s)", text[0],
			 fus_setting_text(text[1], s, effect, scale));
	return buf;
}

void fus_setting_range(char *buf, size_t size, int s, const struct scale *scale)
{
	const struct fusion_setting_info *info = &fusion_settings[s];
	uint32_t max = fusion_setting_max(s, scale->nr_fast_slots);
	char most[SETTING_TEXT + 4] = "", text[SETTING_TEXT];

	if (info->unit == FUSION_UNIT_SWITCH) {
		snprintf(buf, size, "on or off");
		return;
	}
	/* where a bare number tells little */
	if (info->unit == FUSION_UNIT_SECONDS || info->unit == FUSION_UNIT_MILLISECONDS ||
	    info->unit == FUSION_UNIT_EXTENTS)
		snprintf(most, sizeof(most), " (%s)", plain_text(text, s, max, scale));
	snprintf(buf, size, "%" PRIu32 " to %" PRIu32 " %s%s%s%s", info->min, max,
		 units[info->unit].name, most, info->zero ? ", or " : "",
		 info->zero ? info->zero : "");
}
