// SPDX-License-Identifier: GPL-2.0-only
/* See power.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm-fusion-codec.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "scan.h"
#include "super.h"
#include "../../userspace/lib/random.h"
#include "power.h"

struct rig rig = { .fast = "powercut-fast", .slow = "powercut-slow", .name = "powercut-set",
		   .fd = -1 };

static dev_t member[2];

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", rig.program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(POWER_BROKEN);
}

unsigned int below(uint64_t *state, unsigned int limit)
{
	return random64(*state += RANDOM_STEP) % limit;
}

/* -- the switch ------------------------------------------------------------------ */

void power(const char *format, ...)
{
	char text[64], *answer;
	va_list args;
	int err;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err = fus_dm_message(rig.fast, text, &answer);
	if (err)
		die("%s: message %s: %s", rig.fast, text, strerror(-err));
	free(answer);
}

static char *counter(char *line, const char *key)
{
	size_t len = strlen(key);

	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		if (!strncmp(word, key, len) && word[len] == '=')
			return word + len + 1;
	return NULL;
}

static char *counters(void)
{
	char *answer;
	int err = fus_dm_message(rig.fast, "counters", &answer);

	if (err || !answer)
		die("%s: no counters: %s", rig.fast, strerror(-err));
	return answer;
}

long long power_counter(const char *key)
{
	char *line = counters(), *value = counter(line, key);
	long long n = value ? atoll(value) : -1;

	free(line);
	return n;
}

bool power_is_on(void)
{
	char *line = counters(), *value = counter(line, "power");
	bool on = value && !strcmp(value, "on");

	free(line);
	return on;
}

/* -- the set --------------------------------------------------------------------- */

static struct member *find_one(const char *name)
{
	struct member *m;
	char path[80];

	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	return fus_load_member(path, &m) ? NULL : m;
}

static void tell(const struct fus_error *e)
{
	fprintf(stderr, "%s: %s; %s\n", e->subject, e->what, e->remedy);
}

bool set_find(void)
{
	struct member *fast, *slow;
	char text[UUID_TEXT];

	fus_on_error(tell);
	fus_dm_setup();
	fast = find_one(rig.fast);
	slow = find_one(rig.slow);
	if (!fast || !slow) {
		fus_free_members(fast);
		fus_free_members(slow);
		return false;
	}
	member[FAST] = fast->devno;
	member[SLOW] = slow->devno;
	rig.extent_sectors = fast->sb->extent_sectors;
	rig.nr_lexts = fast->sb->nr_lexts;
	rig.nr_fast_slots = fast->sb->nr_fast_slots;
	rig.log_slots = fast->sb->landing_slots;
	snprintf(rig.uuid, sizeof(rig.uuid), DM_PREFIX "%s",
		 fus_uuid_text(text, fast->sb->set_uuid));
	fus_free_members(fast);
	fus_free_members(slow);
	return true;
}

int set_open(const char *const *options)
{
	char params[512], path[80];
	const struct dm_line line = {
		.sectors = (uint64_t)rig.nr_lexts * rig.extent_sectors,
		.target = "fusion",
		.params = params,
	};
	unsigned int n = 0;
	size_t len;
	int err;

	while (options && options[n])
		n++;
	len = snprintf(params, sizeof(params), "%u:%u %u:%u %u", major(member[FAST]),
		       minor(member[FAST]), major(member[SLOW]), minor(member[SLOW]), n);
	for (unsigned int i = 0; i < n && len < sizeof(params); i++)
		len += snprintf(params + len, sizeof(params) - len, " %s", options[i]);
	err = fus_dm_create(rig.name, rig.uuid, &line, 1, false);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/dev/mapper/%s", rig.name);
	rig.fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (rig.fd < 0)
		die("%s: %s", path, strerror(errno));
	return 0;
}

void set_close(void)
{
	int err;

	close(rig.fd);
	rig.fd = -1;
	err = fus_dm_remove(rig.name);
	if (err)
		die("%s: cannot be removed: %s", rig.name, strerror(-err));
}

int set_message(char **answer, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return fus_dm_message(rig.name, text, answer);
}
