// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: examine the open sets, once or at each event, and report changes. The state for the
 * next run is kept in a file, so a timer can start it.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <linux/dm-ioctl.h>

#include "monitor.h"
#include "backup.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "record.h"
#include "size.h"
#include "text.h"
#include "verb.h"

#define STATE		RUN_DIR "/monitor.json"
/* A lock of its own, so that it does not wait while a set is opened or created. */
#define MONITOR_LOCK	RUN_DIR "/monitor.lock"
#define MAX_FAILURES	5	/* of looks, in a row */

static bool metrics_to_stdout, json;

/*
 * Return: whether the systemd journal reads the stream: an environment variable names that stream.
 */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && !fstat(fd, &st) &&
	       st.st_dev == dev && st.st_ino == ino;
}

static void say_json(const struct event *e, const char *text)
{
	struct json_object *o = fus_json_base();

	fus_json_add_u64(o, "time", time(NULL));
	fus_json_add_str(o, "event", e->kind);
	fus_json_add_str(o, "level", fus_health_name[e->health]);
	fus_json_add_str(o, "health", e->condition);
	fus_json_add_str(o, "name", e->name);
	fus_json_add_str(o, "set_uuid", e->uuid);
	fus_json_add_str(o, "text", text);
	fus_json_add_str(o, "remedy", e->remedy);
	print_json(o, true);
}

static void say_line(const struct event *e, const char *text)
{
	/* for the journal, which takes it from the line */
	static const int level[NR_HEALTHS] = { 6, 5, 4, 3 };
	FILE *f = metrics_to_stdout ? stderr : stdout;
	char line[1024], safe[2 * sizeof(line)];

	snprintf(line, sizeof(line), "%s: %s%s%s%s", e->name, e->lead ? e->lead : "", text,
		 e->remedy ? "; " : "", e->remedy ? e->remedy : "");
	fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output());
	if (is_journal(metrics_to_stdout ? STDERR_FILENO : STDOUT_FILENO))
		fprintf(f, "<%d>%s\n", level[e->health], safe);
	else
		fprintf(f, "%-7s  %s\n", fus_health_name[e->health], safe);
	fflush(f);
}

void monitor_say(const struct event *e, const char *fmt, ...)
{
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (json)
		say_json(e, text);
	else
		say_line(e, text);
	monitor_notify(e, text);
}

/* -- looks ---------------------------------------------------------------------- */

static void drop_look(struct look *look)
{
	while (look->nr)
		fus_set_put(&look->set[--look->nr]);
	free(look->set);
	look->set = NULL;
}

/* Closing a set is one of the events that a look follows. */
static int take_look(struct look *look)
{
	struct mapping *list, *m;
	unsigned int nr = 0;
	bool found;
	int rc;

	memset(look, 0, sizeof(*look));
	rc = fus_dm_list(MAPPING_INFO, &list);
	if (rc)
		return rc;
	for (m = list; m; m = m->next)
		nr++;
	look->set = calloc(nr + 1, sizeof(*look->set));
	if (!look->set)
		rc = fus_fail(FC_FAILED, "monitor", "not enough memory; close programs and try "
			      "again");
	for (m = list; m && !rc; m = m->next) {
		rc = fus_set_get_if_open(m->name, &look->set[look->nr], &found);
		if (!rc && found)
			look->nr++;
	}
	fus_dm_free_list(list);
	if (rc)
		drop_look(look);
	return rc;
}

/* This clock goes on while the system sleeps, and cannot be set. */
static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec;
}

/* *looked: the findings were reported, whatever else failed. */
static int look_once(struct json_object **state, const char *metrics, bool *looked)
{
	const int64_t at = now();
	struct look look;
	int rc;

	rc = take_look(&look);
	*looked = !rc;
	if (rc)
		return rc;
	/* a set that was opened in the initramfs has none yet */
	for (unsigned int i = 0; i < look.nr; i++)
		fus_backup_open(fus_dm_set_uuid(&look.set[i].m), look.set[i].member[FAST]);
	*state = tell_changes(*state, &look, at);
	rc = metrics ? write_metrics(metrics, &look, *state, at) : 0;
	drop_look(&look);
	return rc;
}

/* -- between two runs ----------------------------------------------------------- */

static int save_state(struct json_object *state)
{
	/* whole or not at all */
	if (json_object_to_file_ext(STATE ".new", state, JSON_C_TO_STRING_PLAIN) ||
	    rename(STATE ".new", STATE))
		return fus_fail(FC_FAILED, STATE, "cannot write: %s; check that /run is not full",
				strerror(errno));
	return 0;
}

static int look_and_end(const char *metrics)
{
	struct json_object *state;
	int rc, saved, lock;
	bool looked;

	/* if two run at the same time, the second has nothing to report */
	rc = fus_run_lock(MONITOR_LOCK, &lock);
	if (rc)
		return rc;
	state = json_object_from_file(STATE);
	rc = look_once(&state, metrics, &looked);
	/* findings that could not be written are reported again */
	saved = looked && !ferror(stdout) ? save_state(state) : 0;
	rc = rc ? rc : saved;
	json_object_put(state);
	fus_run_unlock(&lock);
	return rc;
}

/* -- until it is ended ---------------------------------------------------------- */

/* From now on @fd is readable when something happens to any mapped device. */
static int arm(int fd)
{
	struct dm_ioctl arg = {
		.version = { DM_VERSION_MAJOR, 0, 0 },
		.data_size = sizeof(arg),
		.data_start = sizeof(arg),
	};

	if (ioctl(fd, DM_DEV_ARM_POLL, &arg))
		return fus_fail(FC_FAILED, "device mapper", "cannot wait for events: %s; use a "
				"kernel from 6.1 on", strerror(errno));
	return 0;
}

static int follow(const char *metrics, uint64_t seconds)
{
	struct pollfd events = { .events = POLLIN };
	struct json_object *state = NULL;
	int rc = 0, failures = 0;
	bool looked;

	events.fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (events.fd < 0)
		return fus_fail(FC_FAILED, "/dev/mapper/control", "%s; load the module dm-mod",
				strerror(errno));
	while (!rc) {
		/* first, so that no event during the look is missed */
		rc = arm(events.fd);
		if (!rc)
			rc = look_once(&state, metrics, &looked);
		if (!rc && ferror(stdout))
			break;
		/* a set may have been closed meanwhile */
		failures = rc ? failures + 1 : 0;
		if (rc && failures < MAX_FAILURES) {
			sleep(1);
			rc = 0;
			continue;
		}
		if (!rc && poll(&events, 1, seconds * 1000) < 0)
			rc = fus_fail(FC_FAILED, "monitor", "%s; start it again", strerror(errno));
	}
	json_object_put(state);
	close(events.fd);
	return rc;
}

int cmd_monitor(const struct args *a)
{
	const char *metrics = a->opt[OPT_PROMETHEUS];
	uint64_t seconds = 60;

	metrics_to_stdout = metrics && !strcmp(metrics, "-");
	json = a->opt[OPT_JSON];
	if (json && metrics_to_stdout)
		return fus_fail(FC_USAGE, "--prometheus", "cannot share standard output with "
				"--json; give a file");
	if (!a->opt[OPT_FOLLOW])
		return look_and_end(metrics);
	if (*a->opt[OPT_FOLLOW] && (!fus_parse_number(a->opt[OPT_FOLLOW], 86400, &seconds) ||
				    !seconds))
		return fus_fail(FC_USAGE, a->opt[OPT_FOLLOW], "not an interval; give 1 to 86400 "
				"seconds");
	return follow(metrics, seconds);
}
