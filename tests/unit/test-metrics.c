// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl monitor: what drives tell by smartctl, as recorded in tests/selftests/smart, becomes
 * metrics, and no drive is asked more often for that. The drives beneath a set, and their answers,
 * are those of this test.
 */
#include <errno.h>
#include <json-c/json.h>

#include "unit.h"

#include "captured.h"
#include "drive.h"
#include "fusionctl.h"
#include "monitor.h"
#include "open-set.h"
#include "role.h"

#define UUID	"DM-FUSION-0f0e0d0c-1111-4222-8333-444455556666"
#define ON_FAST	11	/* device numbers, also of the drives */
#define ON_SLOW	22
#define ON_OLD	33

static const char *answer[ON_OLD + 1];	/* a sample, or NULL if the drive is suspended */
static dev_t beneath[ON_OLD + 1];	/* the drive beneath a member */
static unsigned int asked;
static bool has_smartctl;

bool __wrap_fus_smart_exists(void)
{
	return has_smartctl;
}

bool __wrap_fus_device_gone(dev_t devno)
{
	(void)devno;
	return false;
}

void __wrap_fus_device_node(dev_t devno, char *node, size_t size)
{
	snprintf(node, size, "/dev/d%u", (unsigned int)devno);
}

unsigned int __wrap_fus_drives_under(dev_t devno, dev_t disks[MAX_DRIVES])
{
	disks[0] = beneath[devno];
	return 1;
}

void __wrap_fus_drive_get(dev_t disk, struct drive *d)
{
	memset(d, 0, sizeof(*d));
	d->devno = disk;
	__wrap_fus_device_node(disk, d->node, sizeof(d->node));
	strcpy(d->model, "A \"good\" disk");
	strcpy(d->serial, "S123");
	fus_smart_clear(&d->smart);
}

void __wrap_fus_drive_ask(struct drive *d)
{
	char path[128], *text;

	asked++;
	d->smart.asleep = !answer[d->devno];
	if (d->smart.asleep)
		return;
	snprintf(path, sizeof(path), "../selftests/smart/%s.json", answer[d->devno]);
	text = slurp(path);
	fus_smart_parse(text, &d->smart);
	if (*d->smart.model)
		strcpy(d->model, d->smart.model);
	free(text);
}

/* The message stats. */
static const char *stats;
static unsigned int told;

int __wrap_fus_dm_message(const char *name, const char *msg, char **text)
{
	REQUIRE(!strcmp(name, "data") && !strcmp(msg, "stats"));
	told++;
	*text = stats ? strdup(stats) : NULL;
	return stats ? 0 : -EINVAL;
}

/* -- a set, and looks at it ------------------------------------------------------------ */

static struct set set;
static struct json_object *state;

static void begin(const char *fast, const char *slow)
{
	json_object_put(state);
	state = NULL;
	memset(&set, 0, sizeof(set));
	strcpy(set.m.name, "data");
	strcpy(set.m.uuid, UUID);
	strcpy(set.st.mode, "rw");
	strcpy(set.st.replica, "ok");
	set.member[FAST] = ON_FAST;
	set.member[SLOW] = ON_SLOW;
	set.old_role = -1;
	for (dev_t i = 0; i <= ON_OLD; i++)
		beneath[i] = i;
	answer[ON_FAST] = fast;
	answer[ON_SLOW] = slow;
	asked = 0;
	has_smartctl = true;
}

/* What monitor reports then, and its metrics. */
static const char *look(int64_t now)
{
	struct look look = { .set = &set, .nr = 1 };

	print_to(tmpfile());
	state = tell_changes(state, &look, now);
	REQUIRE_EQ(write_metrics("-", &look, state, now), 0);
	return printed_text();
}

#define FAST_LABELS	"{set=\"data\",member=\"fast\",device=\"/dev/d11\"," \
			"model=\"A \\\"good\\\" disk\""
#define SLOW_LABELS	"{set=\"data\",member=\"slow\",device=\"/dev/d22\"," \
			"model=\"A \\\"good\\\" disk\""

#define HAS(text, line)	REQUIRE(strstr(text, "\n" line "\n"), "%s", text)
#define HAS_NO(text, part)	REQUIRE(!strstr(text, part), "%s", text)

/* -- tests ----------------------------------------------------------------------------- */

static void test_numbers(void)
{
	const char *text;

	begin("nvme", "sata-hdd");
	text = look(1000);
	HAS(text, "# TYPE fusion_drive_temperature_celsius gauge");
	HAS(text, "fusion_drive_temperature_celsius" FAST_LABELS "} 41");
	HAS(text, "fusion_drive_temperature_celsius" SLOW_LABELS "} 36");
	HAS(text, "fusion_drive_temperature_limit_celsius" FAST_LABELS "} 82");
	HAS(text, "fusion_drive_wear_used_ratio" FAST_LABELS "} 0.03");
	HAS(text, "fusion_drive_spare_ratio" FAST_LABELS "} 1.00");
	HAS(text, "fusion_drive_power_on_seconds_total" FAST_LABELS "} 37843200");
	HAS(text, "# TYPE fusion_drive_written_bytes_total counter");
	HAS(text, "fusion_drive_written_bytes_total" FAST_LABELS "} 45267120640000");
	HAS(text, "fusion_drive_media_errors_total" FAST_LABELS "} 0");
	HAS(text, "fusion_drive_smart_passed" FAST_LABELS "} 1");
	HAS(text, "fusion_drive_pending_sectors" SLOW_LABELS "} 0");
	HAS(text, "fusion_drive_reallocated_sectors" SLOW_LABELS "} 0");
	HAS(text, "fusion_drive_state" SLOW_LABELS ",state=\"ok\"} 1");
	HAS(text, "fusion_drive_state" SLOW_LABELS ",state=\"asleep\"} 0");
	HAS(text, "fusion_drive_state" SLOW_LABELS ",state=\"unknown\"} 0");
	/* what this kind of drive does not tell */
	HAS_NO(text, "fusion_drive_pending_sectors" FAST_LABELS);
	HAS_NO(text, "fusion_drive_wear_used_ratio" SLOW_LABELS);
	HAS_NO(text, "fusion_drive_spare_ratio" SLOW_LABELS);
	HAS_NO(text, "S123");
}

static void test_faults(void)
{
	const char *text;

	begin("worn", "failing");
	text = look(1000);
	HAS(text, "fusion_drive_wear_used_ratio" FAST_LABELS "} 0.93");
	HAS(text, "fusion_drive_smart_passed" SLOW_LABELS "} 0");
	HAS(text, "fusion_drive_pending_sectors" SLOW_LABELS "} 16");
}

/* Nothing is known, and a drive that sleeps keeps its name. */
static void test_silent(void)
{
	const char *text;

	begin("usb", NULL);
	text = look(1000);
	HAS(text, "fusion_drive_state" FAST_LABELS ",state=\"unknown\"} 1");
	HAS(text, "fusion_drive_state" SLOW_LABELS ",state=\"asleep\"} 1");
	HAS_NO(text, "celsius{");
	HAS_NO(text, "fusion_drive_smart_passed{");
	HAS_NO(text, "_total" FAST_LABELS);
	/* it wakes up, and the other one falls asleep by the command */
	answer[ON_FAST] = "asleep";
	answer[ON_SLOW] = "sata-hdd";
	text = look(2800);
	HAS(text, "fusion_drive_state" FAST_LABELS ",state=\"asleep\"} 1");
	HAS(text, "fusion_drive_temperature_celsius" SLOW_LABELS "} 36");
}

/* Each look prints them, but the drives are asked every half hour. */
static void test_asked(void)
{
	const char *text;

	begin("nvme", "sata-hdd");
	text = look(1000);
	HAS(text, "fusion_drives_age_seconds{set=\"data\"} 0");
	REQUIRE_EQ(asked, 2);
	answer[ON_FAST] = "worn";
	text = look(2799);
	REQUIRE_EQ(asked, 2);
	HAS(text, "fusion_drives_age_seconds{set=\"data\"} 1799");
	HAS(text, "fusion_drive_wear_used_ratio" FAST_LABELS "} 0.03");
	text = look(2800);
	REQUIRE_EQ(asked, 4);
	HAS(text, "fusion_drives_age_seconds{set=\"data\"} 0");
	HAS(text, "fusion_drive_wear_used_ratio" FAST_LABELS "} 0.93");
	/* a program that has gone: the numbers would never change again */
	has_smartctl = false;
	text = look(2900);
	HAS_NO(text, "fusion_drive_state{");
	HAS_NO(text, "fusion_drives_age_seconds{");
	has_smartctl = true;
	look(3000);
	REQUIRE_EQ(asked, 6);
}

/* A drive beneath both members has both; beneath a member and its successor, once. */
static void test_shared(void)
{
	static const char line[] = "fusion_drive_smart_passed{set=\"data\",member=\"fast\","
				   "device=\"/dev/d11\"";
	const char *text;

	begin("nvme", "sata-hdd");
	beneath[ON_SLOW] = ON_FAST;
	set.old = ON_OLD;
	set.old_role = FAST;
	beneath[ON_OLD] = ON_FAST;
	text = strstr(look(1000), line);
	REQUIRE(text);
	HAS_NO(text + 1, line);
	REQUIRE(strstr(text, "fusion_drive_smart_passed{set=\"data\",member=\"slow\","
		       "device=\"/dev/d11\""));
}

/* Readings of the same look, as a state file has them that was damaged or written by hand. */
static const char *look_at(const char *readings)
{
	begin("nvme", "sata-hdd");
	look(1000);
	json_object_object_add(json_object_object_get(state, fus_dm_set_uuid(&set.m)), "readings",
			       json_tokener_parse(readings));
	return look(1001);
}

/* The state is a file that anything may have happened to. */
static void test_not_believed(void)
{
	static const char *const readings[] = {
		"7", "{}", "[7,null,[]]", "[{}]",
		"[{\"member\":7,\"device\":[],\"model\":\"a\\nb\",\"smart\":1,\"passed\":\"x\","
		"\"temperature\":9223372036854775807,\"percentage_used\":-5,"
		"\"power_on_hours\":9223372036854775807,\"written_bytes\":{}}]",
	};
	const char *text = "";

	for (u32 i = 0; i < ARRAY_SIZE(readings); i++) {
		text = look_at(readings[i]);
		HAS_NO(text, "a\nb");
	}
	HAS(text, "fusion_drive_temperature_celsius{set=\"data\",member=\"\",device=\"\","
	    "model=\"a\\nb\"} 9223372036854775807");
	HAS_NO(text, "fusion_drive_wear_used_ratio{");
	HAS_NO(text, "fusion_drive_power_on_seconds_total{");
}

#define NO_LABELS	"{set=\"data\",member=\"\",device=\"\",model=\"\"} "

/* A limit of 0 is none: each drive would have reached it, for ever. */
static void test_no_limit(void)
{
	const char *text;

	text = look_at("[{\"temperature\":41,\"temperature_limit\":0}]");
	HAS(text, "fusion_drive_temperature_celsius" NO_LABELS "41");
	HAS_NO(text, "fusion_drive_temperature_limit_celsius{");
	HAS_NO(look_at("[{\"temperature_limit\":-1}]"), "fusion_drive_temperature_limit_celsius{");
	HAS(look_at("[{\"temperature_limit\":1}]"),
	    "fusion_drive_temperature_limit_celsius" NO_LABELS "1");
}

/* Of all numbers, only a temperature may be below 0. */
static void test_negative(void)
{
	const char *text;

	text = look_at("[{\"passed\":-1,\"temperature\":-40,\"percentage_used\":-1,"
		       "\"spare_percentage\":-1,\"pending_sectors\":-1,\"reallocated_sectors\":-1,"
		       "\"media_errors\":-1,\"power_on_hours\":-1,\"written_bytes\":-1}]");
	HAS(text, "fusion_drive_temperature_celsius" NO_LABELS "-40");
	HAS_NO(text, "} -1\n");
	HAS_NO(text, "} -3600\n");
	HAS_NO(text, "_total" NO_LABELS);
	HAS_NO(text, "fusion_drive_smart_passed{");
	HAS_NO(look_at("[{\"temperature\":-101}]"), "fusion_drive_temperature_celsius{");
}

/* -- landing logs ---------------------------------------------------------------------- */

static void has_metric(const char *text, const char *name, const char *value)
{
	char line[128];

	snprintf(line, sizeof(line), "\nfusion_landing_log_%s{set=\"data\"} %s\n", name, value);
	REQUIRE(strstr(text, line), "no%s in\n%s", line, text);
}

static void test_landing(void)
{
	const char *text;

	begin(NULL, NULL);
	stats = "log_landed 50\nlog_waiting 2\nlog_waited 7\nlog_unlisted 3\n";
	told = 0;
	text = look(0);
	REQUIRE(!strstr(text, "fusion_landing_log_bytes{") && !told, "it has no log:\n%s", text);
	set.st.extent_sectors = 2048;
	set.st.logs = true;
	set.st.log_blocks = 3;
	set.st.log_segments = 2;
	set.st.log_most = 64;
	set.st.log_drained = 40;
	text = look(60);
	REQUIRE_EQ(told, 1);
	has_metric(text, "bytes", "67108864");
	has_metric(text, "used_bytes", "2097152");
	has_metric(text, "logged_bytes", "12288");
	has_metric(text, "stopped", "0");
	has_metric(text, "landed_bytes_total", "204800");
	has_metric(text, "drained_bytes_total", "163840");
	has_metric(text, "waiting_writes", "2");
	has_metric(text, "waited_writes_total", "7");
	has_metric(text, "unlisted_seconds", "3");
	/* what only the message has is left out if the kernel refuses that */
	stats = NULL;
	text = look(120);
	has_metric(text, "logged_bytes", "12288");
	REQUIRE(!strstr(text, "landed_bytes_total{"));
	strcpy(set.st.mode, "fail");
	told = 0;
	text = look(180);
	REQUIRE_EQ(told, 0);
	has_metric(text, "drained_bytes_total", "163840");
}

static const struct unit_test tests[] = {
	{ "numbers", test_numbers },
	{ "faults", test_faults },
	{ "silent", test_silent },
	{ "asked", test_asked },
	{ "shared", test_shared },
	{ "not_believed", test_not_believed },
	{ "no_limit", test_no_limit },
	{ "negative", test_negative },
	{ "metrics of a landing log", test_landing },
};

UNIT_TESTS(tests)
