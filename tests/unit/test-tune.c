// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl tune and set: all of a profile, or of some words, is set, or none. The kernel is one
 * of this test's own, which refuses the message it is told to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "unit.h"

#include "fusionctl.h"

#define NEVER	1000

static struct fusion_status kernel;
static char said[1024];
static unsigned int messages, refused_first, refused_last, sets;

int __wrap_set_get(const char *name, struct set *set)
{
	memset(set, 0, sizeof(*set));
	strcpy(set->m.name, name);
	set->st = kernel;
	sets++;
	return 0;
}

void __wrap_set_put(struct set *set)
{
	(void)set;
	sets--;
}

/* Sets an option, as the module does. */
int __wrap_dm_message(const char *name, const char *message, char **answer)
{
	char key[24], value[24];

	*answer = NULL;
	messages++;
	if (strcmp(name, "data") || sscanf(message, "%23s %23s", key, value) != 2)
		return -EINVAL;
	if (messages >= refused_first && messages <= refused_last)
		return -EINVAL;
	for (unsigned int i = 0; i < kernel.nr_options; i++) {
		if (strcmp(kernel.option[i].key, key))
			continue;
		/* the rest, too: it is compared as a whole */
		memset(kernel.option[i].value, 0, sizeof(kernel.option[i].value));
		strcpy(kernel.option[i].value, value);
		return 0;
	}
	return -EINVAL;
}

int __wrap_kmsg_open(void)
{
	return -1;
}

void __wrap_kmsg_reason(int fd, char *buf, size_t size)
{
	(void)fd;
	snprintf(buf, size, "value out of range");
}

int __wrap_fail(int rc, const char *thing, const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list ap;

	n += snprintf(said + n, sizeof(said) - n, "%s%s: ", n ? "\n" : "", thing);
	va_start(ap, fmt);
	vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	va_end(ap);
	return rc;
}

static void set_options(struct fusion_status *st)
{
	static const char *const options[][2] = {
		{ "migration", "on" }, { "reserve", "0" }, { "half_life", "3600" },
		{ "duty", "25" }, { "idle", "1000" }, { "commit_interval", "1000" },
		{ "replica_interval", "60" }, { "discard_passdown", "on" }, { "standby", "0" },
		{ "write_budget", "0" },
	};

	memset(st, 0, sizeof(*st));
	st->extent_sectors = 2048;
	st->total[FAST] = 100000;
	st->total[SLOW] = 1000000;
	for (; st->nr_options < ARRAY_SIZE(options); st->nr_options++) {
		strcpy(st->option[st->nr_options].key, options[st->nr_options][0]);
		strcpy(st->option[st->nr_options].value, options[st->nr_options][1]);
	}
}

static const char *option(const char *key)
{
	for (unsigned int i = 0; i < kernel.nr_options; i++)
		if (!strcmp(kernel.option[i].key, key))
			return kernel.option[i].value;
	return "?";
}

/* What it prints for people goes nowhere: this is KTAP. */
static int run(int (*verb)(const struct args *), const struct args *a)
{
	int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY), rc;

	*said = 0;
	messages = 0;
	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	rc = verb(a);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(null);
	REQUIRE_EQ(sets, 0);
	REQUIRE(!strchr(said, '\n'), "%s", said);
	return rc;
}

static int tune(const char *profile, bool dry_run)
{
	char name[] = "data", *word[] = { name };
	struct args a = { .n = 1, .word = word };

	a.opt[OPT_PROFILE] = profile;
	a.opt[OPT_DRY_RUN] = dry_run ? "" : NULL;
	return run(cmd_tune, &a);
}

static const char *const profiles[] = { "desktop", "database", "archive" };

static void setup(void)
{
	set_options(&kernel);
	refused_first = NEVER;
	refused_last = NEVER;
}

static void test_all(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++) {
		setup();
		REQUIRE_EQ(tune(profiles[i], false), 0);
		REQUIRE(messages >= 5 && !*said, "%s: %u messages, %s", profiles[i], messages,
			said);
		/* what the manual says of all of them */
		REQUIRE(!atoi(option("standby")) ||
			atoi(option("standby")) > atoi(option("replica_interval")), "%s",
			profiles[i]);
		REQUIRE(!strcmp(option("migration"), "on"));
		REQUIRE(!strcmp(option("write_budget"), "0"));
		/* all is as it should be */
		REQUIRE_EQ(tune(profiles[i], false), 0);
		REQUIRE_EQ(messages, 0);
	}
	setup();
	REQUIRE_EQ(tune("desktop", false), 0);
	REQUIRE_EQ(atoi(option("half_life")), 86400);
	REQUIRE_EQ(atoi(option("duty")), 10);
	REQUIRE_EQ(atoi(option("idle")), 2000);
	REQUIRE_EQ(atoi(option("reserve")), 5000);
	REQUIRE_EQ(atoi(option("commit_interval")), 1000);
	REQUIRE_EQ(atoi(option("replica_interval")), 120);
	REQUIRE_EQ(atoi(option("standby")), 600);
	/* one that was right already is not set */
	REQUIRE_EQ(messages, 6);
}

static void test_dry_run(void)
{
	struct fusion_status before;

	setup();
	before = kernel;
	REQUIRE_EQ(tune("archive", true), 0);
	REQUIRE_EQ(messages, 0);
	REQUIRE(!memcmp(&before, &kernel, sizeof(kernel)));
}

/* Whichever is refused, all is as before. */
static void test_refused(void)
{
	struct fusion_status before;
	unsigned int i, n, total;

	for (i = 0; i < ARRAY_SIZE(profiles); i++) {
		setup();
		before = kernel;
		REQUIRE_EQ(tune(profiles[i], false), 0);
		total = messages;
		for (n = 1; n <= total; n++) {
			setup();
			refused_first = n;
			refused_last = n;
			REQUIRE_EQ(tune(profiles[i], false), FC_FAILED);
			REQUIRE_EQ(messages, 2 * n - 1);
			REQUIRE(!memcmp(&before, &kernel, sizeof(kernel)), "%s, %u",
				profiles[i], n);
			REQUIRE(!strncmp(said, "data: the kernel refuses \"", 26) &&
				strstr(said, ": value out of range, "), "%s", said);
			REQUIRE(strstr(said, n == 1 ? "nothing was changed" :
				       "what was set before it is put back"), "%s", said);
		}
	}
}

/* From then on the kernel refuses everything: what is not as before is said. */
static void test_not_put_back(void)
{
	setup();
	refused_first = 3;
	refused_last = 5;
	REQUIRE_EQ(tune("desktop", false), FC_FAILED);
	REQUIRE_EQ(messages, 5);
	REQUIRE(strstr(said, "half_life could not be put back"), "%s", said);
	REQUIRE_EQ(atoi(option("half_life")), 86400);

	/* only one of them: the others are put back all the same */
	setup();
	refused_first = 3;
	refused_last = 4;
	REQUIRE_EQ(tune("desktop", false), FC_FAILED);
	REQUIRE(strstr(said, "duty could not be put back"), "%s", said);
	REQUIRE_EQ(atoi(option("half_life")), 3600);
	REQUIRE_EQ(atoi(option("duty")), 10);
}

static void test_usage(void)
{
	setup();
	REQUIRE_EQ(tune("laptop", false), FC_USAGE);
	REQUIRE(!strcmp(said, "laptop: no such profile; choose desktop, database or archive"), "%s",
		said);
	REQUIRE_EQ(tune("", false), FC_USAGE);
	REQUIRE_EQ(tune(NULL, false), FC_USAGE);
	REQUIRE(!strcmp(said, "tune: --profile is missing; give desktop, database or archive"),
		"%s", said);
	/* an older module */
	kernel.nr_options = 8;
	REQUIRE_EQ(tune("desktop", false), FC_FAILED);
	REQUIRE(strstr(said, "data: the kernel's module has no option standby; "), "%s", said);
	REQUIRE_EQ(messages, 0);
}

static int set(char *a1, char *a2, char *a3, bool dry_run)
{
	char name[] = "data", *word[] = { name, a1, a2, a3 };
	struct args a = { .n = 4, .word = word };

	a.opt[OPT_DRY_RUN] = dry_run ? "" : NULL;
	return run(cmd_set, &a);
}

static void test_set(void)
{
	char duty[] = "duty=50%", idle[] = "idle=2s", same[] = "idle=1s", bad[] = "duty=0";
	char migration[] = "migration=off";
	struct fusion_status before;

	setup();
	before = kernel;
	REQUIRE_EQ(set(duty, idle, migration, true), 0);
	REQUIRE_EQ(set(duty, idle, bad, false), FC_USAGE);
	REQUIRE_EQ(messages, 0);
	REQUIRE(!memcmp(&before, &kernel, sizeof(kernel)));
	REQUIRE_EQ(set(duty, idle, migration, false), 0);
	REQUIRE_EQ(messages, 3);
	REQUIRE_EQ(atoi(option("duty")), 50);
	REQUIRE_EQ(atoi(option("idle")), 2000);
	REQUIRE(!strcmp(option("migration"), "off"));

	/* of two on one key the last one counts, and may be what is so already */
	setup();
	REQUIRE_EQ(set(same, duty, idle, false), 0);
	REQUIRE_EQ(atoi(option("idle")), 2000);
	REQUIRE_EQ(messages, 2);
	setup();
	REQUIRE_EQ(set(idle, duty, same, false), 0);
	REQUIRE_EQ(atoi(option("idle")), 1000);
	REQUIRE_EQ(messages, 1);

	/* all or none */
	for (unsigned int n = 1; n <= 3; n++) {
		setup();
		refused_first = n;
		refused_last = n;
		REQUIRE_EQ(set(duty, idle, migration, false), FC_FAILED);
		REQUIRE(!memcmp(&before, &kernel, sizeof(kernel)), "%u", n);
	}
}

static const struct unit_test tests[] = {
	{ "tune: profiles", test_all },
	{ "tune: dry run", test_dry_run },
	{ "tune: one is refused", test_refused },
	{ "tune: one can't be put back", test_not_put_back },
	{ "tune: usage", test_usage },
	{ "set", test_set },
};

UNIT_TESTS(tests)
