/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb adopt: adopt.c begins, adopt-plan.c leaves that to the next boot, adopt-resume.c goes on,
 * adopt-content.c knows what can be adopted.
 */
#ifndef ADOPT_H
#define ADOPT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "probe.h"
#include "transit.h"

struct args;
struct member;

/* What is asked for. */
struct adoption {
	const char *name;
	const char *disk, *other;	/* paths */
	int other_is;			/* FAST, SLOW, or -1: the facts decide */
	uint32_t extent_sectors;
	const char *landing;		/* size of its landing log, or NULL: none */
	bool at_boot;			/* not now */
};

/* Both devices, held exclusively; in the order of their roles once those are known. */
struct adopt_devices {
	struct device dev[2];
	int fd[2];
	int disk;			/* index of the disk */
};

/* Begin from nothing. */
int adopt_begin(const struct args *a, const struct adoption *what);
/* --resume or --abort. @boot: nobody has asked, so a disk that has its content stays as it is. */
int adopt_go_on(const struct args *a, bool boot);

/* Get, check and claim: dev[0] is the disk, not claimed if @at_boot. adopt_put() in any case. */
int adopt_get(const char *disk, const char *other, bool at_boot, struct adopt_devices *d);
void adopt_put(struct adopt_devices *d);
/* Give the devices to @t, past the page cache; adopt_close() ends that. */
int adopt_open(const struct adopt_devices *d, struct transit *t);
int adopt_open_one(const struct device *dev, struct offline *o);
void adopt_close(struct transit *t);
/* The set is complete: open it, and tell what comes next. */
int adopt_ready(const char *name, const struct adopt_devices *d, const struct transit *t,
		const char *type, bool json);
/* With --json: @open, or it is not (yet) a set; @warnings: enum role_doubt. */
void adopt_print(const struct args *a, const char *name, const struct transit *t,
		 const char *content, const char *other_content, bool open, unsigned int warnings);

/* -- adopt-plan.c */

/* Refuse a disk without which the system would not boot. */
int adopt_check_boot(const struct device *disk);
/* Return: whether an adoption is to begin at the next boot; @m is the other device. */
bool adopt_planned(const struct member *m);
/* The path of that device, "" if there is none; @other: the only one to look at, or NULL. */
int adopt_find_planned(const char *name, const char *other, char path[PATH_MAX]);
/* It is not to begin. */
int adopt_cancel(const char *path, bool dry_run, bool silent);

/* -- adopt-content.c */

/* Examine the content of the disk, and refuse what cannot be adopted. */
int adopt_check_content(const struct device *dev, int fd, struct fus_content *c);
/* The command that makes content of this type use the larger device. */
void adopt_grow_text(const char *type, const char *name, char *buf, size_t size);

#endif
