// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl set: what is read as a value, what is said of one that is none, and that all of some
 * settings are set, or none. The kernel is one of this test's own. And that the manuals say of each
 * setting what dm-fusion-settings.h does.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#include "error.h"
#include "fusionctl.h"
#include "open-set.h"
#include "profile.h"
#include "setting.h"
#include "verb.h"

#define MANUAL	"../../userspace/man/"
#define DOCS	"../../Documentation/"

/* What the kernel has; kept -1: not kept. */
static struct {
	u32 value[FUSION_SETTINGS];
	s64 kept[FUSION_SETTINGS];
	bool table[FUSION_SETTINGS];
	unsigned int changes;		/* messages that changed something */
	bool refuses;
	unsigned int lines;		/* of its answer; 0: all */
} kernel;

static char said[1024];
static unsigned int sets;

int __wrap_fus_set_get_if_open(const char *name, struct set *set, bool *found)
{
	memset(set, 0, sizeof(*set));
	*found = !strcmp(name, "data");
	if (!*found)
		return 0;
	strcpy(set->m.name, name);
	strcpy(set->m.uuid, "FUSION-2b6e2c1e-6a8c-4a8e-9d53-3c8f1f0a7d11");
	set->st.extent_sectors = 2048;
	set->st.total[FAST] = 100000;
	sets++;
	return 0;
}

void __wrap_fus_set_put(struct set *set)
{
	(void)set;
	sets--;
}

static u32 parse(int i, const char *text)
{
	REQUIRE(i >= 0);
	if (!strcmp(text, "default"))
		return fusion_settings[i].def;
	return !strcmp(text, "on") ? 1 : atoi(text);
}

static int change(const char *message)
{
	char text[256], *save, *key, *value;
	bool keep = !strncmp(message, "keep ", 5);

	snprintf(text, sizeof(text), "%s", message + (keep ? 5 : 0));
	kernel.changes++;
	if (kernel.refuses)
		return -EINVAL;
	for (key = strtok_r(text, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		int i = fusion_setting_find(key);

		value = strtok_r(NULL, " ", &save);
		REQUIRE(value);
		kernel.value[i] = parse(i, value);
		kernel.table[i] = false;
		if (keep)
			kernel.kept[i] = !strcmp(value, "default") ? -1 : (s64)kernel.value[i];
	}
	return 0;
}

static char *word_of(int i, u32 value)
{
	static char buf[16];

	snprintf(buf, sizeof(buf), "%u", value);
	return fusion_settings[i].unit != FUSION_UNIT_SWITCH ? buf : value ? "on" : "off";
}

static char *answer_settings(void)
{
	char *all = calloc(1, 4096);

	for (int i = 0; i < FUSION_SETTINGS && (!kernel.lines || i < (int)kernel.lines); i++) {
		const u32 base = kernel.kept[i] >= 0 ? kernel.kept[i] : fusion_settings[i].def;

		sprintf(all + strlen(all), "%s %s", fusion_settings[i].key,
			word_of(i, kernel.value[i]));
		sprintf(all + strlen(all), " %s %s\n", kernel.table[i] ? "table" :
			kernel.value[i] != base ? "now" : kernel.kept[i] >= 0 ? "set" : "default",
			kernel.kept[i] < 0 ? "-" : word_of(i, kernel.kept[i]));
	}
	/* of a later module */
	strcat(all, "more 1 set 1\n");
	return all;
}

int __wrap_fus_dm_message(const char *name, const char *message, char **answer)
{
	REQUIRE(!strcmp(name, "data"));
	*answer = !strcmp(message, "settings") ? answer_settings() : NULL;
	return *answer ? 0 : change(message);
}

int __wrap_fus_kmsg_open(void)
{
	return -1;
}

void __wrap_fus_kmsg_reason(int fd, char *buf, size_t size)
{
	(void)fd;
	snprintf(buf, size, "value out of range");
}

static void hear(const struct fus_error *e)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s%s: %s; %s", n ? "\n" : "", e->subject, e->what,
		 e->remedy);
}

static void setup(void)
{
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < FUSION_SETTINGS; i++) {
		kernel.value[i] = fusion_settings[i].def;
		kernel.kept[i] = -1;
	}
}

/* -- the verb ------------------------------------------------------------------------- */

static char out[8192];

/* What it prints is in @out: the standard output is KTAP. */
static int run(const struct args *a)
{
	int saved = dup(STDOUT_FILENO), fd = memfd_create("out", 0), rc;
	ssize_t n;

	*said = 0;
	fus_on_error(hear);
	kernel.changes = 0;
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	rc = cmd_set(a);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	n = pread(fd, out, sizeof(out) - 1, 0);
	REQUIRE(n >= 0);
	out[n] = 0;
	close(saved);
	close(fd);
	REQUIRE_EQ(sets, 0);
	REQUIRE(!strchr(said, '\n'), "%s", said);
	return rc;
}

#define NOW	1
#define DRY	2

/* set data WORDS, which are separated by spaces */
static int set(const char *words, const char *profile, int how)
{
	char text[256], *word[32] = { "data" }, *save;
	struct args a = { .n = 1, .word = word };

	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		word[a.n++] = w;
	a.opt[OPT_PROFILE] = profile;
	a.opt[OPT_NOW] = how & NOW ? "" : NULL;
	a.opt[OPT_DRY_RUN] = how & DRY ? "" : NULL;
	return run(&a);
}

static void test_kept(void)
{
	setup();
	REQUIRE_EQ(set("duty=50% idle=2s migration=off", NULL, 0), 0);
	REQUIRE_EQ(kernel.changes, 1);
	REQUIRE_EQ(kernel.value[FUSION_SET_DUTY], 50);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], 50);
	REQUIRE_EQ(kernel.kept[FUSION_SET_IDLE], 2000);
	REQUIRE_EQ(kernel.kept[FUSION_SET_MIGRATION], 0);
	REQUIRE_EQ(kernel.kept[FUSION_SET_RESERVE], -1);
	/* it is so already */
	REQUIRE_EQ(set("duty=50", NULL, 0), 0);
	REQUIRE_EQ(kernel.changes, 0);
	REQUIRE(strstr(out, "data: nothing to change"), "%s", out);
	/* not what is in effect, but what is kept */
	REQUIRE_EQ(set("duty=25", NULL, 0), 0);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], 25);
	REQUIRE_EQ(set("duty=default", NULL, 0), 0);
	REQUIRE_EQ(kernel.changes, 1);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], -1);
	REQUIRE_EQ(set("duty=default", NULL, 0), 0);
	REQUIRE_EQ(kernel.changes, 0);
	/* of two on one key the last one counts */
	REQUIRE_EQ(set("idle=7s duty=9 idle=2s", NULL, 0), 0);
	REQUIRE_EQ(kernel.kept[FUSION_SET_IDLE], 2000);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], 9);
}

static void test_now(void)
{
	setup();
	REQUIRE_EQ(set("duty=50% half_life=4h", NULL, NOW), 0);
	REQUIRE_EQ(kernel.value[FUSION_SET_DUTY], 50);
	REQUIRE_EQ(kernel.value[FUSION_SET_HALF_LIFE], 14400);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], -1);
	REQUIRE(strstr(out, "until it is closed") && strstr(out, "automatic"), "%s", out);
	REQUIRE_EQ(set("duty=50%", NULL, NOW), 0);
	REQUIRE_EQ(kernel.changes, 0);
	/* so already, but not kept */
	REQUIRE_EQ(set("duty=50%", NULL, 0), 0);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], 50);
	REQUIRE_EQ(set("", NULL, NOW), FC_USAGE);
	REQUIRE(!strcmp(said, "--now: there is nothing to change; add KEY=VALUE or --profile"),
		"%s", said);
	REQUIRE_EQ(set("", NULL, DRY), FC_USAGE);
}

/* The line of @key has all of these. */
static void require_line(const char *key, const char *a, const char *b, const char *c)
{
	char *line = strstr(out, key), *end;

	REQUIRE(line, "%s: %s", key, out);
	end = strchr(line, '\n');
	REQUIRE(end);
	*end = 0;
	REQUIRE(strstr(line, a) && strstr(line, b) && strstr(line, c), "%s", line);
	*end = '\n';
}

static void test_shown(void)
{
	setup();
	REQUIRE_EQ(set("half_life=1d standby=10m", NULL, 0), 0);
	require_line("half_life", "automatic", "1d", "");
	REQUIRE_EQ(set("half_life=1h write_budget=20G", NULL, NOW), 0);
	kernel.table[FUSION_SET_DUTY] = true;
	kernel.value[FUSION_SET_DUTY] = 40;
	REQUIRE_EQ(set("", NULL, 0), 0);
	REQUIRE_EQ(kernel.changes, 0);
	require_line("migration", " on ", " default ", "on or off");
	require_line("reserve", "automatic (4G)", " default ", "0 to 50000 extents (48.8G)");
	require_line("half_life", " 1h ", "now only; set: 1d",
		     "0 to 604800 seconds (7d), or automatic");
	require_line("duty", " 40% ", "table line", "1 to 100 percent");
	require_line("standby", " 10m ", " set ", " never ");
	require_line("write_budget", "20G/day", "now only", "unlimited");
	require_line("idle", " 1s ", " default ", "0 to 60000 milliseconds (1m)");
}

static const char *const profiles[] = { "desktop", "database", "archive" };

static void test_profiles(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(profiles); i++) {
		setup();
		REQUIRE_EQ(set("", profiles[i], 0), 0);
		REQUIRE_EQ(kernel.changes, 1);
		/* what the manual says of all of them */
		REQUIRE(!kernel.value[FUSION_SET_STANDBY] || kernel.value[FUSION_SET_STANDBY] >
			kernel.value[FUSION_SET_REPLICA_INTERVAL], "%s", profiles[i]);
		REQUIRE_EQ(kernel.kept[FUSION_SET_MIGRATION], -1);
		REQUIRE_EQ(kernel.kept[FUSION_SET_WRITE_BUDGET], -1);
		REQUIRE_EQ(set("", profiles[i], 0), 0);
		REQUIRE_EQ(kernel.changes, 0);
	}
	setup();
	REQUIRE_EQ(set("duty=11%", "desktop", 0), 0);
	REQUIRE_EQ(kernel.kept[FUSION_SET_HALF_LIFE], 86400);
	REQUIRE_EQ(kernel.kept[FUSION_SET_DUTY], 11);
	REQUIRE_EQ(kernel.kept[FUSION_SET_IDLE], 2000);
	REQUIRE_EQ(kernel.kept[FUSION_SET_RESERVE], 5000);
	REQUIRE_EQ(kernel.kept[FUSION_SET_COMMIT_INTERVAL], 1000);
	REQUIRE_EQ(kernel.kept[FUSION_SET_REPLICA_INTERVAL], 120);
	REQUIRE_EQ(kernel.kept[FUSION_SET_STANDBY], 600);

	REQUIRE_EQ(set("", "databse", 0), FC_USAGE);
	REQUIRE(!strcmp(said, "databse: no such profile; did you mean database?"), "%s", said);
	REQUIRE_EQ(set("", "laptop", 0), FC_USAGE);
	REQUIRE(!strcmp(said, "laptop: no such profile; choose desktop, database or archive"), "%s",
		said);
	REQUIRE_EQ(set("", "", 0), FC_USAGE);
}

static void test_nothing_changes(void)
{
	setup();
	REQUIRE_EQ(set("", "archive", DRY), 0);
	REQUIRE(strstr(out, "data: would change") && strstr(out, "half_life"), "%s", out);
	REQUIRE_EQ(kernel.changes, 0);
	REQUIRE_EQ(set("duty=50% idle=2s duty=0", NULL, 0), FC_USAGE);
	REQUIRE_EQ(kernel.changes, 0);
	/* one message, so the kernel takes all of it or nothing */
	kernel.refuses = true;
	REQUIRE_EQ(set("duty=50% idle=2s", NULL, 0), FC_FAILED);
	REQUIRE_EQ(kernel.changes, 1);
	REQUIRE(!strcmp(said, "data: the kernel refuses \"keep duty 50 idle 2000\": value out of "
			"range; see dmesg"), "%s", said);
	/* an older module */
	kernel.lines = 8;
	REQUIRE_EQ(set("duty=50%", NULL, 0), FC_FAILED);
	REQUIRE(strstr(said, "data: the kernel's module has no setting standby; "), "%s", said);
}

/* -- values ----------------------------------------------------------------------------- */

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
	};
	struct setting to;

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
			    "commit_interval, replica_interval, discard_passdown, standby or "
			    "write_budget" },
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
	};
	char want[512];
	struct setting to;

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

/* -- manuals ---------------------------------------------------------------------------- */

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
	{ "set: kept", test_kept },
	{ "set: --now", test_now },
	{ "set: shown", test_shown },
	{ "set: profiles", test_profiles },
	{ "set: all or none", test_nothing_changes },
	{ "settings: values", test_values },
	{ "settings: what is no value", test_no_values },
	{ "settings: written and read", test_texts },
	{ "settings: manuals", test_manuals },
	{ "settings: schema", test_schema },
};

UNIT_TESTS(tests)
