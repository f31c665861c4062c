// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl set: all of some settings are set, or none, and the rest stays. The kernel is one of
 * this test's own.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "set.h"

#include "open-set.h"
#include "profile.h"
#include "verb.h"

/* What the kernel has; kept -1: not kept. */
static struct {
	u32 value[FUSION_SETTINGS];
	s64 kept[FUSION_SETTINGS];
	bool table[FUSION_SETTINGS];
	unsigned int changes;		/* messages that changed something */
	bool refuses;
	unsigned int lines;		/* of its answer; 0: all */
} kernel;

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

static void setup(void)
{
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < FUSION_SETTINGS; i++) {
		kernel.value[i] = fusion_settings[i].def;
		kernel.kept[i] = -1;
	}
}

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

static const struct unit_test tests[] = {
	{ "set: kept", test_kept },
	{ "set: --now", test_now },
	{ "set: shown", test_shown },
	{ "set: profiles", test_profiles },
	{ "set: all or none", test_nothing_changes },
};

UNIT_TESTS(tests)
