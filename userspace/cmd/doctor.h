/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb doctor: find what keeps this system from opening its sets.
 *
 * doctor.c		the findings, for people and for programs
 * doctor-kernel.c	the module of each kernel, and its initramfs
 * doctor-boot.c	what opens sets automatically; where the root file system lies
 * doctor-sets.c	members and sets
 * doctor-landing.c	their landing logs
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "health.h"
#include "terminal.h"

struct fusion_sb;
struct json_object;
struct set;

struct doctor {
	const char *dir;		/* stands for /, without a slash at its end; "" for / */
	bool root_on_set;		/* the root file system lies on a set */
	bool no_boot;			/* its /boot is not mounted */
	bool running;			/* examine this system, not a mounted one */
	enum color color;
	struct json_object *findings;	/* NULL: they are printed */
	unsigned int count[NR_HEALTHS];
};

#define PATH_TEXT	4096

/* Path of a file of the system looked at; returns @buf. */
char *doctor_path(const struct doctor *d, char buf[PATH_TEXT], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Return: whether the file exists. */
bool doctor_has(const struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Report a finding about @subject; @remedy is NULL if there is nothing to do. */
void doctor_say(struct doctor *d, enum health level, const char *subject, const char *remedy,
		const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* All about the system itself: the next three. */
void doctor_system(struct doctor *d);
void doctor_root(struct doctor *d);
void doctor_kernels(struct doctor *d);
void doctor_boot(struct doctor *d);
/* Exit code. */
int doctor_sets(struct doctor *d);
void doctor_open_set(struct doctor *d, const struct set *set);
/* Its landing log, if it has one; @each gets what the kernel tells of it. */
void doctor_landing(struct doctor *d, const struct set *set, const char *subject, health_fn each,
		    void *ctx);
void doctor_closed_landing(struct doctor *d, const struct fusion_sb *sb, const char *subject);
/* The document; it gets the findings. */
struct json_object *doctor_json(const struct doctor *d);

#endif
