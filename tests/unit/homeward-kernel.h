/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel that has one set, whose extents go home. */
#ifndef HOMEWARD_KERNEL_H
#define HOMEWARD_KERNEL_H

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "unit.h"
#include "open-set.h"
#include "tell.h"

static struct {
	struct fusion_status st;
	uint64_t retired;
	unsigned int slept_ms;
	char told[64], to[32];	/* the last message, and to which set */
	void (*pass)(void);	/* what happens in the time between two looks */
} kernel;

int __wrap_fus_set_get(const char *name, struct set *set);
void __wrap_fus_set_put(struct set *set);
int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size);
int __wrap_fus_tell_stat(const char *name, const char *key, uint64_t *value);
int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);

int __wrap_fus_set_get(const char *name, struct set *set)
{
	REQUIRE(!strcmp(name, "data"));
	memset(set, 0, sizeof(*set));
	set->st = kernel.st;
	return 0;
}

void __wrap_fus_set_put(struct set *set)
{
	(void)set;
}

int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size)
{
	(void)reason;
	(void)size;
	REQUIRE(!strcmp(name, strcmp(msg, "homing off") ? "data" : "other"));
	snprintf(kernel.to, sizeof(kernel.to), "%s", name);
	snprintf(kernel.told, sizeof(kernel.told), "%s", msg);
	kernel.st.homing = strcmp(msg, "homing off");
	*answer = NULL;
	return 0;
}

int __wrap_fus_tell_stat(const char *name, const char *key, uint64_t *value)
{
	REQUIRE(!strcmp(name, "data") && !strcmp(key, "retired_slots"));
	*value = kernel.retired;
	return 0;
}

/* It was renamed. */
int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m)
{
	REQUIRE(!name && !strncmp(uuid, DM_PREFIX, strlen(DM_PREFIX)) && what == MAPPING_INFO);
	memset(m, 0, sizeof(*m));
	m->exists = true;
	strcpy(m->name, "other");
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)rest;
	kernel.slept_ms += t->tv_sec * 1000 + t->tv_nsec / 1000000;
	REQUIRE(kernel.slept_ms < 24 * 3600 * 1000U, "it waits for ever");
	kernel.pass();
	return 0;
}

#endif
