/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb release: release.c begins, release-resume.c goes on, release-content.c knows whether the
 * content fits. release-online.c does it with a set that is open, release-plan.c at the next boot.
 */
#ifndef RELEASE_H
#define RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "content-size.h"
#include "homing.h"
#include "probe.h"
#include "super.h"
#include "transit.h"

struct args;

struct releasing {
	struct meta meta;
	struct homing h;
	struct transit t;
	struct fus_content content;
	enum content_size size;
	uint64_t content_bytes;		/* with SIZE_KNOWN */
	uint64_t logged;		/* bytes in its landing log, which is emptied first */
	/* of a set that is open: release-online.h */
	const char *open_as;		/* otherwise NULL */
	uint64_t expected_ms;		/* how long I/O may wait */
	unsigned int paused_ms;
	uint64_t late;			/* bytes that were moved or zeroed in that time */
};

/* Look at the content of the set, whose state is loaded. */
int release_look(struct releasing *r);
/* Refuse content that does not fit the disk; @keep: bytes that are in use, as is said, or 0. */
int release_check_content(const struct releasing *r, uint64_t keep);
/* The content in words: "ext4 (label home)", or that there is none. */
const char *release_content_text(const struct fus_content *c);

/*
 * Whether the set, which is closed or suspended, can be released, and what has to be done: r->h and
 * r->t. Its metadata, r->meta, is read. @keep: as above.
 */
int release_prepare(struct releasing *r, uint64_t keep);
/* Refuse one whose fast member has no room for what has to lie on it. */
int release_no_room(const struct releasing *r);
/* Say what will be done; ask whether it may be. */
void release_show(const struct releasing *r, const struct args *a);
int release_ask(const struct releasing *r);

/* -- release-online.c: a set that is open under @name. */
int release_online(const struct args *a, const char *name, uint64_t keep);

/* -- release-plan.c: --at-boot */

int release_plan(const struct args *a);
/* Return: whether its release is to begin at the next boot; @set is its uuid. */
bool release_is_planned(const char *word, char set[UUID_TEXT]);
/* It is not to be. */
int release_cancel(const struct args *a, const char *set);
/* Release, in the initramfs, those that are to be. Once per boot. */
int release_planned(void);

/* --resume or --abort. */
int release_go_on(const struct args *a);
/* With --json. @r: NULL unless it begins; @content: or NULL. */
void release_print(const struct args *a, const struct transit *t, const struct releasing *r);
/* "/dev/sda is a plain disk ..." */
void release_tell(const char *disk, const char *fast);

#endif
