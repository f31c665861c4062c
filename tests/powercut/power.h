/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set on two members of one power switch (dm-powercut), for programs that open it, cut the power
 * and open it again, many times in a second. No process is started: libdevmapper and fusionctl's
 * functions do everything.
 *
 * A failure for another reason than a cut ends the program with a message.
 */
#ifndef POWER_H
#define POWER_H

#include <stdbool.h>
#include <stdint.h>

/* Exit status of the programs. */
enum {
	POWER_OK	= 0,
	POWER_LOSS	= 1,	/* a set that does not open, or reads as it must not */
	POWER_BROKEN	= 2,	/* no test took place */
};

/* Names and places: names are those of mappings. */
extern struct rig {
	const char *program;
	const char *fast;
	const char *slow;
	const char *name;		/* of the set, when it is open */
	char uuid[64];			/* of that mapping */
	uint32_t extent_sectors;
	uint32_t nr_lexts;
	uint32_t nr_fast_slots;
	uint32_t log_slots;		/* of its landing log; 0: it has none */
	int fd;				/* while it is open */
} rig;

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* splitmix64: a number below @limit, the next one of @state. */
unsigned int below(uint64_t *state, unsigned int limit);

/* Read the geometry from the superblocks. Return: false, with a message, if they are not valid. */
bool set_find(void);

/*
 * Open the set, with options as in a table line without their number; recovery is part of
 * it. Return: 0 or -errno. set_close() also takes down what has lost its power.
 */
int set_open(const char *const *options);
void set_close(void);

/* Send a message to the open rig. Return: 0 or -errno; the answer is to be freed. */
int set_message(char **answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Send one to the switch. */
void power(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number that the switch counts, or -1. */
long long power_counter(const char *key);
bool power_is_on(void);

#endif
