// SPDX-License-Identifier: GPL-2.0-only
/* Another table for a device: what device mapper is asked, and in which order. */
#include <errno.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <string.h>

#include "dm.h"
#include "dm-task.h"
#include "unit.h"

#define BEFORE_ERRORS	"6 rw 2048 1/2 1/2 2/4 0/64 0 0 0 0 0 0 0 0 0 0 0 0 0 1/1 ok 0 0"
#define BEHIND_ERRORS	"0/0 0/0 0 0/0 - 0/0 0 -"

static struct {
	char asked[256];		/* " load checkpoint suspend" */
	const char *status;
	int fails;			/* type of the request that does, or */
	bool message_fails;
} dm;

/* A request is only its type. */
static int type_of(const struct dm_task *t)
{
	return (long)t;
}

static void note(const char *what)
{
	strcat(dm.asked, " ");
	strcat(dm.asked, what);
}

typeof(fus_dm_task) __wrap_fus_dm_task;
typeof(fus_dm_run) __wrap_fus_dm_run;
typeof(fus_dm_wait_for_udev) __wrap_fus_dm_wait_for_udev;
typeof(fus_dm_get) __wrap_fus_dm_get;
typeof(fus_dm_message) __wrap_fus_dm_message;
typeof(dm_task_add_target) __wrap_dm_task_add_target;
typeof(dm_task_set_cookie) __wrap_dm_task_set_cookie;
typeof(dm_task_destroy) __wrap_dm_task_destroy;
typeof(dm_udev_complete) __wrap_dm_udev_complete;

struct dm_task *__wrap_fus_dm_task(int type, const char *name)
{
	REQUIRE(!strcmp(name, "data"));
	return (struct dm_task *)(long)type;
}

int __wrap_fus_dm_run(struct dm_task *t)
{
	switch (type_of(t)) {
	case DM_DEVICE_RELOAD:
		note("load");
		break;
	case DM_DEVICE_SUSPEND:
		note("suspend");
		break;
	case DM_DEVICE_RESUME:
		note("resume");
		break;
	case DM_DEVICE_CLEAR:
		note("clear");
		break;
	default:
		REQUIRE(false, "request %d", type_of(t));
	}
	return type_of(t) == dm.fails ? -EIO : 0;
}

void __wrap_fus_dm_wait_for_udev(const char *name, uint32_t cookie)
{
	(void)name;
	(void)cookie;
}

int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m)
{
	REQUIRE(!strcmp(name, "data") && !uuid && what == MAPPING_STATUS);
	memset(m, 0, sizeof(*m));
	if (!dm.status)
		return -EIO;
	m->exists = true;
	m->params = strdup(dm.status);
	return 0;
}

int __wrap_fus_dm_message(const char *name, const char *message, char **answer)
{
	REQUIRE(!strcmp(name, "data"));
	note(message);
	*answer = NULL;
	return dm.message_fails ? -EIO : 0;
}

int __wrap_dm_task_add_target(struct dm_task *t, uint64_t start, uint64_t size, const char *ttype,
			      const char *params)
{
	REQUIRE(type_of(t) == DM_DEVICE_RELOAD && !start && size == 100);
	REQUIRE(!strcmp(ttype, "fusion") && !strcmp(params, "next"));
	return 1;
}

int __wrap_dm_task_set_cookie(struct dm_task *t, uint32_t *cookie, uint16_t flags)
{
	(void)t;
	(void)flags;
	*cookie = 1;
	return 1;
}

void __wrap_dm_task_destroy(struct dm_task *t)
{
	(void)t;
}

int __wrap_dm_udev_complete(uint32_t cookie)
{
	(void)cookie;
	return 1;
}

static int exchange(const char *status, int fails)
{
	const struct dm_line next = { 100, "fusion", "next" };
	struct dm_exchange x = { .next = &next };

	*dm.asked = 0;
	dm.status = status;
	dm.fails = fails;
	return fus_dm_exchange("data", &x);
}

#define REQUIRE_ASKED(what)	REQUIRE(!strcmp(dm.asked, what), "%s", dm.asked)

/* As late as possible, so that little changes between the checkpoint and the close. */
static void test_checkpoint(void)
{
	static const char good[] = BEFORE_ERRORS " 0 0 " BEHIND_ERRORS;

	REQUIRE(!exchange(good, 0));
	REQUIRE_ASKED(" load checkpoint suspend resume");
	REQUIRE_EQ(exchange(good, DM_DEVICE_RELOAD), -EIO);
	REQUIRE_ASKED(" load clear");
	REQUIRE_EQ(exchange(good, DM_DEVICE_SUSPEND), -EIO);
	REQUIRE_ASKED(" load checkpoint suspend clear");
	/* the suspend does it then */
	dm.message_fails = true;
	REQUIRE(!exchange(good, 0));
	REQUIRE_ASKED(" load checkpoint suspend resume");
	dm.message_fails = false;
}

/* It would be refused writes as soon as the checkpoint fails, while its users write. */
static void test_errors(void)
{
	static const char *const status[] = {
		BEFORE_ERRORS " 1 0 " BEHIND_ERRORS, BEFORE_ERRORS " 0 1 " BEHIND_ERRORS,
		"6 of a newer version", "", NULL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(status); i++) {
		REQUIRE(!exchange(status[i], 0));
		REQUIRE_ASKED(" load suspend resume");
	}
}

static const struct unit_test tests[] = {
	{ "a checkpoint just before the suspend", test_checkpoint },
	{ "none of a set whose members have errors", test_errors },
};

UNIT_TESTS(tests)
