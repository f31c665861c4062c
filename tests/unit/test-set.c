// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings: what is read as a value, what is said of one that is none, and that the manuals say of
 * each setting what dm-fusion-settings.h does. test-set-verb.c has the verb.
 */
#include "set.h"

#include "open-set.h"
#include "profile.h"

#define MANUAL	"../../userspace/man/"
#define DOCS	"../../Documentation/"

/* -- values ------------------------------------------------------------------ */

static const struct scale scale = { .nr_fast_slots = 100000, .extent_sectors = 2048 };

static void test_values(void)
{
	static const struct {
		const char *word;
		u32 value;
	} good[] = {
		{ "migration=on", 1 }, { "migration=OFF", 0 }, { "migration=yes", 1 },
		{ "migration=no", 0 }, { "migration=True", 1 }, { "migration=0", 0 },
		{ "discard_passdown=default", 1 },
		{ "reserve=4G", 4096 }, { "reserve=20GiB", 20480 }, { "reserve=1.5G", 1536 },
		{ "reserve=1025K", 2 }, { "reserve=5%", 5000 }, { "reserve=2.5%", 2500 },
		{ "reserve=50%", 50000 }, { "reserve=7", 7 }, { "reserve=0", 0 },
		{ "reserve=automatic", 0 }, { "reserve=auto", 0 },
		{ "half_life=4h", 14400 }, { "half_life=1.5h", 5400 }, { "half_life=7d", 604800 },
		{ "half_life=1w", 604800 }, { "half_life=90", 90 }, { "half_life=30min", 1800 },
		{ "half_life=2000ms", 2 }, { "half_life=Automatic", 0 }, { "half_life=0.1h", 360 },
		{ "duty=25%", 25 }, { "duty=100", 100 }, { "duty=default", 25 },
		{ "idle=2s", 2000 }, { "idle=0.5s", 500 }, { "idle=200ms", 200 },
		{ "idle=1m", 60000 }, { "idle=250", 250 },
		{ "commit_interval=10ms", 10 }, { "commit_interval=1m", 60000 },
		{ "replica_interval=1d", 86400 }, { "replica_interval=1s", 1 },
		{ "standby=never", 0 }, { "standby=off", 0 }, { "standby=10m", 600 },
		{ "write_budget=20G", 20 }, { "write_budget=20GB", 20 }, { "write_budget=20", 20 },
		{ "write_budget=1.5T", 1500 }, { "write_budget=20G/day", 20 },
		{ "write_budget=5GB/d", 5 }, { "write_budget=unlimited", 0 },
		{ "write_budget=off", 0 }, { "write_budget=100T", 100000 },
		{ "shadow=off", 0 }, { "shadow_age=1", 1 }, { "shadow_age=3min", 180 },
		{ "shadow_age=1d", 86400 }, { "shadow_age=default", 0 }, { "shadow_age=never", 0 },
	};
	struct setting to;

	fus_on_error(hear);
	for (unsigned int i = 0; i < ARRAY_SIZE(good); i++) {
		*said = 0;
		REQUIRE(!fus_parse_setting(good[i].word, &scale, &to), "%s", said);
		REQUIRE(to.value == good[i].value, "%s: %u", good[i].word, to.value);
		REQUIRE(to.is_default == !!strstr(good[i].word, "default"));
	}
}

static void test_no_values(void)
{
	static const struct {
		const char *word, *what;
	} bad[] = {
		{ "migration", "not KEY=VALUE; see fusionctl help set" },
		{ "hlaf_life=1h", "no such setting; did you mean half_life?" },
		{ "dutty=1", "no such setting; did you mean duty?" },
		{ "writebudget=1", "no such setting; did you mean write_budget?" },
		{ "frob=1", "no such setting; choose migration, reserve, half_life, duty, idle, "
			    "commit_interval, replica_interval, discard_passdown, standby, "
			    "write_budget, shadow or shadow_age" },
		{ "migration=maybe", "neither on nor off; migration takes on or off" },
		{ "migration=", "neither on nor off; migration takes on or off" },
		{ "migration=2", "neither on nor off; migration takes on or off" },
		{ "reserve=60%", "out of range; reserve takes 0 to 50000 extents (48.8G), or "
				 "automatic" },
		{ "reserve=1T", "out of range; reserve takes 0 to 50000 extents (48.8G), or "
				"automatic" },
		{ "reserve=4294967297", "out of range; reserve takes 0 to 50000 extents (48.8G), "
					"or automatic" },
		{ "reserve=1s", "not a size, a share, or a number of extents; reserve takes 0 to "
				"50000 extents (48.8G), or automatic" },
		{ "half_life=8d", "out of range; half_life takes 0 to 604800 seconds (7d), or "
				  "automatic" },
		{ "half_life=500ms", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				     "automatic" },
		{ "half_life=4H", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				  "automatic" },
		{ "half_life=-1", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				  "automatic" },
		{ "half_life=1e3", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				   "automatic" },
		{ "half_life=1.2.3h", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				      "automatic" },
		{ "half_life=", "not a time; half_life takes 0 to 604800 seconds (7d), or "
				"automatic" },
		{ "half_life=99999999999999999999999999999999999999",
		  "not a time; half_life takes 0 to 604800 seconds (7d), or automatic" },
		{ "duty=0", "out of range; duty takes 1 to 100 percent" },
		{ "duty=101%", "out of range; duty takes 1 to 100 percent" },
		{ "duty=12.5%", "not a percentage; duty takes 1 to 100 percent" },
		{ "duty=off", "not a percentage; duty takes 1 to 100 percent" },
		{ "idle=61s", "out of range; idle takes 0 to 60000 milliseconds (1m)" },
		{ "idle=0.5", "not a time; idle takes 0 to 60000 milliseconds (1m)" },
		{ "commit_interval=9", "out of range; commit_interval takes 10 to 60000 "
				       "milliseconds (1m)" },
		{ "replica_interval=0", "out of range; replica_interval takes 1 to 86400 seconds "
					"(1d)" },
		{ "replica_interval=never", "not a time; replica_interval takes 1 to 86400 seconds "
					    "(1d)" },
		{ "standby=2d", "out of range; standby takes 0 to 86400 seconds (1d), or never" },
		{ "write_budget=100001", "out of range; write_budget takes 0 to 100000 GB a day, "
					 "or unlimited" },
		{ "write_budget=500M", "not a number of GB a day; write_budget takes 0 to 100000 "
				       "GB a day, or unlimited" },
		{ "write_budget=20G/h", "not a number of GB a day; write_budget takes 0 to 100000 "
					"GB a day, or unlimited" },
		{ "write_budget=10%", "not a number of GB a day; write_budget takes 0 to 100000 "
				      "GB a day, or unlimited" },
		{ "shadow_age=2d", "out of range; shadow_age takes 0 to 86400 seconds (1d), or "
				   "never" },
		{ "shadow_age=x", "not a time; shadow_age takes 0 to 86400 seconds (1d), or "
				  "never" },
	};
	char want[512];
	struct setting to;

	fus_on_error(hear);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		*said = 0;
		REQUIRE(fus_parse_setting(bad[i].word, &scale, &to) == FC_USAGE, "%s", bad[i].word);
		snprintf(want, sizeof(want), "%s: %s", bad[i].word, bad[i].what);
		REQUIRE(!strcmp(said, want), "%s", said);
	}
}

/* What is written is read as the same. */
static void test_texts(void)
{
	u64 seed = 4711;

	for (int s = 0; s < FUSION_SETTINGS; s++) {
		const u32 min = fusion_settings[s].min, max = fusion_setting_max(s, 100000);

		for (int i = 0; i < 2000; i++) {
			const u32 value = !i ? min : i == 1 ? max :
					  min + rnd_below(&seed, (u64)max - min + 1);
			char text[SETTING_TEXT], word[64];
			struct setting to;

			/* of a size that needs more digits there is less */
			if (fusion_settings[s].unit == FUSION_UNIT_EXTENTS && value > 1000)
				continue;
			snprintf(word, sizeof(word), "%s=%s", fusion_settings[s].key,
				 fus_setting_text(text, s, value, &scale));
			REQUIRE(!fus_parse_setting(word, &scale, &to), "%s", word);
			REQUIRE(to.value == value, "%s: %u, not %u", word, to.value, value);
		}
	}
}

/* -- manuals ----------------------------------------------------------------- */

static void range(char *buf, size_t size, int s)
{
	const struct fusion_setting_info *info = &fusion_settings[s];

	if (info->unit == FUSION_UNIT_SWITCH)
		snprintf(buf, size, "on, off");
	else if (info->unit == FUSION_UNIT_EXTENTS)
		snprintf(buf, size, "%u to half of the fast member, in extents", info->min);
	else
		snprintf(buf, size, "%u to %u %s", info->min, info->max, fus_setting_unit(s));
}

static void test_manuals(void)
{
	char *man4 = slurp(MANUAL "dm-fusion.4.scd"), *man8 = slurp(MANUAL "fusionctl.8.scd");
	char *docs = slurp(DOCS "reference/target.rst");
	char *disk = slurp(DOCS "reference/on-disk-format.rst");

	for (int s = 0; s < FUSION_SETTINGS; s++) {
		const struct fusion_setting_info *info = &fusion_settings[s];
		char want[256], values[128], def[16];

		range(values, sizeof(values), s);
		snprintf(def, sizeof(def), "%s", word_of(s, info->def));
		snprintf(want, sizeof(want), "\n*%s* (%s; %s)\n", info->key, def, values);
		REQUIRE(strstr(man4, want), "dm-fusion.4 lacks: %s", want);
		snprintf(want, sizeof(want), "\n*%s*=", info->key);
		REQUIRE(strstr(man8, want), "fusionctl.8 lacks: %s", want);
		if (info->unit == FUSION_UNIT_EXTENTS)
			snprintf(values, sizeof(values), "0..fast slots/2");
		else if (info->unit != FUSION_UNIT_SWITCH)
			snprintf(values, sizeof(values), "%u..%u", info->min, info->max);
		snprintf(want, sizeof(want), "\n%-18s %-8s %-15s ", info->key, def, values);
		REQUIRE(strstr(docs, want), "target.rst lacks: %s", want);
		snprintf(want, sizeof(want), "\n%-3d ``%s``", s, info->key);
		REQUIRE(strstr(disk, want), "on-disk-format.rst lacks: %s", want);
	}
	free(man4);
	free(man8);
	free(docs);
	free(disk);
}

/* The values of an enum in a schema, after @before, are those of @nth, up to one that is NULL. */
static void check_enum(const char *schema, const char *before, const char *(*nth)(unsigned int i))
{
	const char *at = strstr(schema, before), *end, *word;
	unsigned int nr = 0;

	REQUIRE(at, "no %s", before);
	at = strstr(at, "\"enum\": [");
	REQUIRE(at);
	end = strchr(at, ']');
	at = strchr(at, '[');
	while ((at = strchr(at, '"')) && at < end) {
		word = nth(nr++);
		at++;
		REQUIRE(word && !strncmp(at, word, strlen(word)) && at[strlen(word)] == '"',
			"%s: \"%.20s\", not \"%s\"", before, at, word ? word : "(nothing)");
		at += strlen(word) + 1;
	}
	REQUIRE(!nth(nr), "%s lacks %s", before, nth(nr));
}

static const char *nth_source(unsigned int i)
{
	return i < NR_SOURCES ? fus_source_name[i] : NULL;
}

/* Units in the order of their enum, however many settings have one. */
static const char *nth_unit(unsigned int i)
{
	bool any = false;

	for (int s = 0; s < FUSION_SETTINGS; s++) {
		if (fusion_settings[s].unit == i)
			return fus_setting_unit(s);
		any |= fusion_settings[s].unit > i;
	}
	REQUIRE(!any, "nothing has the unit %u", i);
	return NULL;
}

static void test_schema(void)
{
	char *schema = slurp("../../userspace/schema/set.json"), want[64];

	check_enum(schema, "\"profile\": {", profile_name);
	check_enum(schema, "\n    \"key\": {", fus_setting_key);
	check_enum(schema, "\n    \"unit\": {", nth_unit);
	check_enum(schema, "\n    \"source\": {", nth_source);
	snprintf(want, sizeof(want), "\"minItems\": %d,\n      \"maxItems\": %d,", FUSION_SETTINGS,
		 FUSION_SETTINGS);
	REQUIRE(strstr(schema, want), "set.json lacks: %s", want);
	free(schema);
}

static const struct unit_test tests[] = {
	{ "settings: values", test_values },
	{ "settings: what is no value", test_no_values },
	{ "settings: written and read", test_texts },
	{ "settings: manuals", test_manuals },
	{ "settings: schema", test_schema },
};

UNIT_TESTS(tests)
