/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb monitor: report changes in the open sets.
 *
 * monitor.c		when to look, and where to report
 * monitor-changes.c	the changes since the last look
 * monitor-drives.c	what the drives say about themselves
 * monitor-notify.c	a program, and mail
 * monitor-metrics.c	numbers for Prometheus
 * monitor-landing-metrics.c	those of landing logs
 * monitor-drive-metrics.c	those of the drives
 */
#ifndef MONITOR_H
#define MONITOR_H

#include <stdint.h>
#include <stdio.h>

#include "health.h"

struct json_object;

/* The sets that are open at a look. */
struct look {
	struct set *set;
	unsigned int nr;
};

/* -- monitor.c ---------------------------------------------------------------------- */

struct event {
	const char *kind;	/* "opened", "closed", "begun", "over" */
	enum health health;
	const char *name, *uuid;
	const char *condition;	/* of the set now, or NULL */
	const char *lead;	/* for people, before the text; may be NULL, as the next one */
	const char *remedy;
};

/* Say that something has changed with a set, for the journal, a person or a program. */
void monitor_say(const struct event *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* -- monitor-notify.c --------------------------------------------------------------- */

/* Run the program, and send the mail, that monitor.conf names. */
void monitor_notify(const struct event *e, const char *text);

/* -- monitor-drives.c --------------------------------------------------------------- */

/* Ask the drives if it is time, report changes since @old, or NULL, and keep the state in @new. */
void compare_drives(const struct set *set, struct json_object *old, struct json_object *new,
		    int64_t now);

/* -- monitor-changes.c -------------------------------------------------------------- */

/* An event of an open set. */
struct event monitor_event(const struct set *set, const char *kind, enum health health);

/*
 * Report the changes since @state, the state of the last look or NULL, and drop it. @now is in
 * seconds of a clock that does not jump. Return: the state of this look.
 */
struct json_object *tell_changes(struct json_object *state, const struct look *look, int64_t now);

/* -- monitor-metrics.c -------------------------------------------------------------- */

/*
 * Write all metrics to @path, in its place at once. @state is that of this look at @now, as
 * tell_changes() has returned it. Exit code.
 */
int write_metrics(const char *path, const struct look *look, struct json_object *state,
		  int64_t now);

/* What the numbers of one name have in common. */
void metric_head(FILE *f, const char *name, const char *type, const char *help);
/* The name, and the label of the set; the brace is left open. */
void metric_set(FILE *f, const char *name, const struct set *set);
/* The value of a label, in quotes. */
void metric_label(FILE *f, const char *text);

/* -- monitor-landing-metrics.c ------------------------------------------------------ */

void put_landing_metrics(FILE *f, const struct look *look);

/* -- monitor-drive-metrics.c -------------------------------------------------------- */

/* Those of the drives beneath the members, as of when they were last asked. */
void put_drive_metrics(FILE *f, const struct look *look, struct json_object *state, int64_t now);

#endif
