// SPDX-License-Identifier: GPL-2.0-only
/*
 * What drives tell by smartctl, as recorded in tests/selftests/smart, what is wrong with them, and
 * how long they last.
 */
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drive.h"
#include "endurance.h"
#include "fusionctl.h"
#include "limited.h"
#include "smart.h"
#include "unit.h"

static void ask(const char *name, struct drive *d)
{
	char path[128], *text;

	snprintf(path, sizeof(path), "../selftests/smart/%s.json", name);
	text = slurp(path);
	memset(d, 0, sizeof(*d));
	strcpy(d->node, "/dev/sdx");
	fus_smart_parse(text, &d->smart);
	free(text);
}

/* -- what they tell ---------------------------------------------------------------- */

static void test_nvme(void)
{
	struct drive d;

	ask("nvme", &d);
	REQUIRE(d.smart.known && !d.smart.asleep && !*d.smart.trouble);
	REQUIRE_EQ(d.smart.passed, 1);
	REQUIRE_EQ(d.smart.temperature, 41);
	REQUIRE_EQ(d.smart.limit, 82);
	REQUIRE_EQ(d.smart.hours, 10512);
	REQUIRE_EQ(d.smart.wear, 3);
	REQUIRE_EQ(d.smart.spare, 100);
	REQUIRE_EQ(d.smart.written, 88412345LL * 512000);
	REQUIRE_EQ(d.smart.media_errors, 0);
	REQUIRE_EQ(d.smart.pending, SMART_UNKNOWN);
	REQUIRE_EQ(d.smart.reallocated, SMART_UNKNOWN);
	REQUIRE(!strcmp(d.smart.model, "Samsung SSD 980 PRO 1TB"), "%s", d.smart.model);
	REQUIRE(!strcmp(d.smart.serial, "S5GXNF0R123456A"));
	REQUIRE(!strcmp(d.smart.firmware, "5B2QGXA7"));
}

static void test_sata(void)
{
	struct drive d;

	ask("sata-ssd", &d);
	REQUIRE(d.smart.known);
	REQUIRE_EQ(d.smart.wear, 12);
	REQUIRE_EQ(d.smart.written, 64424509440LL * 512);
	REQUIRE_EQ(d.smart.hours, 17532);
	REQUIRE_EQ(d.smart.reallocated, 0);
	REQUIRE_EQ(d.smart.pending, SMART_UNKNOWN);
	REQUIRE_EQ(d.smart.limit, SMART_UNKNOWN);
	REQUIRE(!strcmp(d.smart.link, "6.0 Gb/s"));
	ask("sata-hdd", &d);
	REQUIRE_EQ(d.smart.wear, SMART_UNKNOWN);
	REQUIRE_EQ(d.smart.pending, 0);
	REQUIRE_EQ(d.smart.hours, 32581);
	REQUIRE_EQ(d.smart.limit, 70);
	REQUIRE_EQ(d.smart.temperature, 36);
}

static void test_silent(void)
{
	struct drive d;

	ask("usb", &d);
	REQUIRE(!d.smart.known && !d.smart.asleep);
	REQUIRE(!strcmp(d.smart.trouble, "Unknown USB bridge [0x0bc2:0x2322 (0x100)]"));
	ask("virtio", &d);
	REQUIRE(!strcmp(d.smart.trouble, "Unable to detect device type"));
	ask("denied", &d);
	REQUIRE(!d.smart.known && !d.smart.asleep);
	REQUIRE(strstr(d.smart.trouble, "Permission denied"));
	ask("asleep", &d);
	REQUIRE(!d.smart.known && d.smart.asleep && !*d.smart.trouble);
	REQUIRE_EQ(d.smart.temperature, SMART_UNKNOWN);
}

/* Whatever is printed, numbers are bounded, and there is a reason if nothing is known. */
static void test_not_believed(void)
{
	static const char *const texts[] = {
		"", "x", "{", "[]", "7", "null", "{}", "{\"smartctl\":7}",
		"{\"smartctl\":{\"exit_status\":-1}}", "{\"smartctl\":{\"exit_status\":\"0\"}}",
		"{\"smartctl\":{\"exit_status\":0}}",
		"{\"smartctl\":{\"exit_status\":0,\"messages\":[7,null,{\"string\":7}]}}",
		"{\"smartctl\":{\"exit_status\":0},\"smart_status\":[],\"temperature\":7,"
		"\"ata_smart_attributes\":{\"table\":[7,{\"id\":5},{\"name\":\"x\"}]},"
		"\"ata_device_statistics\":{\"pages\":{}}}",
		"{\"smartctl\":{\"exit_status\":0},\"temperature\":{\"current\":999999}}",
		"{\"smartctl\":{\"exit_status\":0},\"power_on_time\":{\"hours\":-5}}",
		"{\"smartctl\":{\"exit_status\":0},\"power_on_time\":{\"hours\":99999999999999999999}}",
	};
	struct smart s;

	for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
		fus_smart_parse(texts[i], &s);
		REQUIRE(!s.known, "%s", texts[i]);
		REQUIRE(*s.trouble, "%s", texts[i]);
	}
	fus_smart_parse("{\"smartctl\":{\"exit_status\":0},\"power_on_time\":{\"hours\":1},"
			"\"model_name\":\"a\\nb\",\"nvme_smart_health_information_log\":"
			"{\"data_units_written\":9223372036854775807,"
			"\"percentage_used\":256}}", &s);
	REQUIRE(s.known);
	REQUIRE_EQ(s.written, SMART_UNKNOWN);
	REQUIRE_EQ(s.wear, SMART_UNKNOWN);
	REQUIRE(!strchr(s.model, '\n'));
}

/* Any sample, cut anywhere or with any byte changed. */
static void test_damaged(void)
{
	static const char *const names[] = { "nvme", "sata-ssd", "failing", "asleep", "usb" };
	struct smart s;
	u64 seed = 7;

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		char path[128], *text;
		size_t len;

		snprintf(path, sizeof(path), "../selftests/smart/%s.json", names[i]);
		text = slurp(path);
		len = strlen(text);
		for (int n = 0; n < 300; n++) {
			size_t at = rnd_below(&seed, len);
			char was = text[at];

			text[at] = n % 2 ? rnd_below(&seed, 256) : 0;
			fus_smart_parse(text, &s);
			REQUIRE(s.wear == SMART_UNKNOWN || (s.wear >= 0 && s.wear <= 255));
			REQUIRE(s.known || s.asleep || *s.trouble, "%s", text);
			text[at] = was;
		}
		free(text);
	}
}

/* -- what is wrong ----------------------------------------------------------------- */

static void test_findings(void)
{
	static const char *const well[] = { "nvme", "sata-ssd", "sata-hdd", "usb", "asleep" };
	struct drive_finding f[NR_DRIVE_FAULTS];
	struct drive_place at = { 0 };
	char remedy[256];
	struct drive d;

	for (u32 i = 0; i < ARRAY_SIZE(well); i++) {
		ask(well[i], &d);
		REQUIRE_EQ(fus_drive_findings(&d, f), 0);
	}
	ask("failing", &d);
	REQUIRE_EQ(fus_drive_findings(&d, f), 2);
	REQUIRE_EQ(f[0].fault, DRIVE_FAILING);
	REQUIRE_EQ(f[0].level, HEALTH_ERROR);
	REQUIRE(f[0].replace && f[1].replace);
	REQUIRE_EQ(f[1].fault, DRIVE_PENDING);
	REQUIRE_EQ(f[1].value, 16);
	REQUIRE(!strcmp(f[1].text, "16 sectors cannot be read"), "%s", f[1].text);
	ask("worn", &d);
	REQUIRE_EQ(fus_drive_findings(&d, f), 2);
	REQUIRE_EQ(f[0].fault, DRIVE_WORN);
	REQUIRE_EQ(f[1].fault, DRIVE_HOT);
	REQUIRE(!f[1].replace && f[1].remedy);
	snprintf(d.node, sizeof(d.node), "/dev/sdx");
	at.open_as = "data";
	at.drives = 1;
	fus_drive_remedy(&f[1], &d, &at, remedy, sizeof(remedy));
	REQUIRE(!strcmp(remedy, "improve its cooling"), "%s", remedy);
	fus_drive_remedy(&f[0], &d, &at, remedy, sizeof(remedy));
	REQUIRE(!strncmp(remedy, "fusionctl replace data /", 24) && strstr(remedy, " NEW"), "%s",
		remedy);
	at.old = true;
	fus_drive_remedy(&f[0], &d, &at, remedy, sizeof(remedy));
	REQUIRE(!strcmp(remedy, "fusionctl replace data --wait"), "%s", remedy);
	/* one of a mirror: the other one is well; a closed set: replace would refuse */
	at.drives = 2;
	fus_drive_remedy(&f[0], &d, &at, remedy, sizeof(remedy));
	REQUIRE(!strncmp(remedy, "replace /dev/sdx in the array beneath ", 38), "%s", remedy);
	at.drives = 1;
	at.open_as = "";
	fus_drive_remedy(&f[0], &d, &at, remedy, sizeof(remedy));
	REQUIRE(!strcmp(remedy, "open the set, and replace this member"), "%s", remedy);
	/* at the limits */
	ask("nvme", &d);
	d.smart.wear = 89;
	d.smart.temperature = 81;
	REQUIRE_EQ(fus_drive_findings(&d, f), 0);
	d.smart.wear = 90;
	d.smart.temperature = 82;
	REQUIRE_EQ(fus_drive_findings(&d, f), 2);
	/* a drive that names no limit */
	d.smart.wear = 0;
	d.smart.limit = SMART_UNKNOWN;
	d.smart.temperature = 69;
	REQUIRE_EQ(fus_drive_findings(&d, f), 0);
	d.rotational = 1;
	REQUIRE_EQ(fus_drive_findings(&d, f), 1);
}

/* -- how long they last ------------------------------------------------------------ */

#define GB	1000000000ULL
#define DAY	86400ULL

static void test_endurance(void)
{
	/* 10 % in 1000 days, with 100 TB: 1000 TB in all, 900 are left */
	struct endurance_in in = {
		.wear = 10, .life_written = 100000 * GB, .life_hours = 24000,
		.written = 500 * GB, .seconds = DAY, .moved = 200 * GB, .moved_seconds = DAY,
		.budget = 700,
	};
	struct endurance e;

	fus_endurance(&in, &e);
	REQUIRE_EQ(e.life_rate, 100 * GB);
	REQUIRE_EQ(e.capacity, 1000000 * GB);
	REQUIRE_EQ(e.life_days, 9000);
	REQUIRE_EQ(e.rate, 500 * GB);
	REQUIRE_EQ(e.move_rate, 200 * GB);
	REQUIRE_EQ(e.days, 1800);
	REQUIRE_EQ(e.budget_days, 900);	/* 300 of others, 700 of moves */
	REQUIRE_EQ(e.advice, 193);	/* 900 TB in 1825 days are 493 GB a day */
	/* others write too much for that */
	in.written = 900 * GB;
	fus_endurance(&in, &e);
	REQUIRE_EQ(e.advice, 0);
	/* new: it has used less than one percent */
	in.wear = 0;
	fus_endurance(&in, &e);
	REQUIRE_EQ(e.capacity, 0);
	REQUIRE_EQ(e.life_days, -1);
	REQUIRE_EQ(e.days, -1);
	REQUIRE_EQ(e.advice, -1);
	REQUIRE_EQ(e.rate, 900 * GB);
	/* worn out, and beyond */
	for (in.wear = 100; in.wear < 256; in.wear += 155) {
		fus_endurance(&in, &e);
		REQUIRE_EQ(e.life_days, 0);
		REQUIRE_EQ(e.days, 0);
		REQUIRE_EQ(e.advice, 0);
	}
	/* not long enough for a rate; it does not say how much it has written */
	in.wear = 10;
	in.seconds = 3599;
	in.life_written = SMART_UNKNOWN;
	fus_endurance(&in, &e);
	REQUIRE_EQ(e.rate, 0);
	REQUIRE_EQ(e.life_days, 9000);
	REQUIRE_EQ(e.days, -1);
}

/* No input overflows. */
static void test_endurance_bounds(void)
{
	u64 seed = 3;

	for (int i = 0; i < 100000; i++) {
		struct endurance_in in = {
			.wear = (int)rnd_below(&seed, 258) - 2,
			.life_written = rnd_log(&seed, 1, 1ULL << 60),
			.life_hours = rnd_log(&seed, 1, 1000000),
			.written = rnd_log(&seed, 1, 1ULL << 63),
			.seconds = rnd_log(&seed, 1, 1ULL << 34),
			.moved = rnd_log(&seed, 1, 1ULL << 63),
			.moved_seconds = rnd_log(&seed, 1, 1ULL << 34),
			.budget = rnd_below(&seed, 100001),
		};
		struct endurance e;

		fus_endurance(&in, &e);
		REQUIRE(e.move_rate <= e.rate);
		REQUIRE(e.days >= -1 && e.days <= 36500);
		REQUIRE(e.life_days >= -1 && e.life_days <= 36500);
		REQUIRE(e.advice >= -1 && e.advice <= 100000);
	}
}

/* -- programs that may hang -------------------------------------------------------- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int shell(const char *command, const char *input, char *out, size_t size)
{
	static const char *const env[] = { "COLOUR=blue", NULL };
	const char *const argv[] = { "sh", "-c", command, NULL };
	struct limited l = {
		.argv = argv, .env = env, .input = input, .seconds = 1, .out = out, .size = size,
	};

	return fus_program_limited(&l);
}

static void test_limited(void)
{
	char out[64], small[4];
	const char *const nothing[] = { "no-such-program", NULL };
	struct limited l = { .argv = nothing, .seconds = 1 };
	double begun;

	REQUIRE_EQ(shell("echo $COLOUR; exit 3", NULL, out, sizeof(out)), 3);
	REQUIRE(!strcmp(out, "blue\n"), "%s", out);
	REQUIRE_EQ(shell("cat", "some text", out, sizeof(out)), 0);
	REQUIRE(!strcmp(out, "some text"), "%s", out);
	REQUIRE_EQ(shell("cat", NULL, out, sizeof(out)), 0);
	REQUIRE(!*out);
	/* more than there is room for is read, and dropped */
	REQUIRE_EQ(shell("seq 100000", NULL, small, sizeof(small)), 0);
	REQUIRE(!strcmp(small, "1\n2"), "%s", small);
	REQUIRE_EQ(fus_program_limited(&l), 127);
	REQUIRE_EQ(shell("kill -9 $$", NULL, out, sizeof(out)), -1);
	begun = now();
	REQUIRE_EQ(shell("echo x; sleep 100", NULL, out, sizeof(out)), PROGRAM_HUNG);
	/* its output is closed, and it goes on */
	REQUIRE_EQ(shell("exec >&-; sleep 100", NULL, out, sizeof(out)), PROGRAM_HUNG);
	/* its child has the output */
	REQUIRE_EQ(shell("sleep 100 & wait", NULL, out, sizeof(out)), PROGRAM_HUNG);
	REQUIRE(now() - begun < 30, "%f", now() - begun);
}

static const struct unit_test tests[] = {
	{ "nvme", test_nvme },
	{ "sata", test_sata },
	{ "silent", test_silent },
	{ "not_believed", test_not_believed },
	{ "damaged", test_damaged },
	{ "findings", test_findings },
	{ "endurance", test_endurance },
	{ "endurance_bounds", test_endurance_bounds },
	{ "limited", test_limited },
};

UNIT_TESTS(tests)
