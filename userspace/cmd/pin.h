/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl pin and unpin: keep files where they are wanted.
 *
 * pin.c		the verbs
 * pin-change.c		what is added to the pins of a set, and removed
 * pin-commit.c		a change comes into force, in the file and in the kernel
 * pin-find.c		the files that are pinned, wherever they are now
 * pin-plan.c		the extents that they lie on
 * pin-kernel.c		the kernel's messages pin and pins
 * pin-show.c		text and JSON
 */
#ifndef PIN_H
#define PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mounted.h"
#include "open-set.h"
#include "pins.h"
#include "placement.h"
#include "where.h"

/* -- extents ---------------------------------------------------------------------------------- */

/* The kernel takes so many ranges with a message. */
#define PIN_RANGES	512

/* Where each extent of a set is to stay. */
struct pin_plan {
	uint8_t *want;		/* FAST + 1, SLOW + 1, or 0 */
	uint64_t extents;
	uint64_t limit;		/* so many may be pinned to the fast member */
	uint64_t nr[2];
};

enum pin_grant {
	PIN_GRANTED,
	PIN_OVERRULED,		/* to the slow member: the extent stays on the fast one */
	PIN_REFUSED,		/* to the fast member: there is no room */
};

/* Pin an extent. Those of the fast member have to come first. */
enum pin_grant pin_extent(struct pin_plan *p, int member, uint64_t extent);
/*
 * Call @send for each message that pins the extents of this member, until it fails. Return: its
 * result, or -ENOMEM.
 */
int pin_messages(const struct pin_plan *p, int member, int (*send)(void *ctx, const char *msg),
		 void *ctx);

/* -- the kernel ------------------------------------------------------------------------------- */

/* The answer to the message pins. */
struct pins_in_force {
	uint64_t limit, nr[2];
};

/* Return: false if it is malformed. */
bool pin_parse_answer(const char *answer, struct pins_in_force *f);
int pin_ask(const char *name, struct pins_in_force *f);
/* Begin a new set of pins in the kernel; it comes into force with pin_end(). */
int pin_begin(const char *name, const struct pin_plan *p);
int pin_end(const char *name);

/* -- files ------------------------------------------------------------------------------------ */

enum pin_state {
	PIN_COMPLETELY,		/* all of it is where it is wanted, */
	PIN_PARTLY,
	PIN_NOT_YET,
	PIN_NO_ROOM,		/* some of it is not pinned */
	PIN_MISSING,
	PIN_NOT_MOUNTED,	/* its file system */
	PIN_UNREADABLE,
	NR_PIN_STATES
};

/* A pin of a set, when it was looked at. In bytes. */
struct pin_found {
	enum pin_state state;
	uint64_t files, bytes;	/* their sizes */
	uint64_t on_set;
	uint64_t on[2];		/* of these, on each member: only if places were asked for */
	uint64_t refused, overruled;
	uint64_t room;		/* extents of the fast member left when its turn came */
};

/* The pins of an open set. */
struct pinning {
	const char *name;
	struct set set;
	uint64_t extent_bytes;
	struct pins pins;
	bool changed;			/* not as they are in the file */
	struct pins_in_force now;
	struct pin_plan plan;
	struct pin_found *found;	/* of each pin */
	struct placement placement;
	bool places;			/* ask where each extent lies */
	struct where where;
	struct mounted *mounted;
	char (*file_system)[FILE_SYSTEM_UUID];	/* of each mount */
	size_t nr_mounted;
};

/* Open the set @name, and read the list of its pins. It is to be freed, also if this fails. */
int pin_open(struct pinning *p, const char *name);
/* Ask the kernel what is in force, and where extents lie. */
int pin_ask_set(struct pinning *p);
/* Both. */
int pin_get(struct pinning *p, const char *name);
void pin_put(struct pinning *p);
/* Look for all files that are pinned, and fill in plan and found. Paths of moved ones change. */
int pin_find(struct pinning *p);
/* What follows from the numbers. */
enum pin_state pin_state_of(const struct pin_found *f, int member);

/* -- changes ---------------------------------------------------------------------------------- */

/* What is called after the change of a set's pins. */
typedef void pin_done_fn(void *ctx, const struct pinning *p);

struct pin_change {
	int member;
	bool places;		/* also find out where each extent lies */
	pin_done_fn *done;	/* or NULL */
	void *ctx;
};

/* Add paths, or these extents of a set, to the pins of the sets that they are on. */
int pin_add_paths(const struct pin_change *c, char *const *path, int n);
int pin_add_extents(const struct pin_change *c, const char *name, const char *range);
/* Remove them. */
int pin_remove_paths(const struct pin_change *c, char *const *path, int n);
int pin_remove_extents(const struct pin_change *c, const char *name, const char *range);
/*
 * Look again for what is pinned, and tell the kernel. Does nothing if that was done since the set
 * was opened, and the slow member has been idle for longer than @used_within seconds. A set that
 * can have no pins now is left out, unless it is @named.
 */
int pin_refresh(const struct pin_change *c, const char *name, bool named, uint64_t used_within);

/* After pin_find(): record the pins, and put them into force. New ones have to have room. */
int pin_commit(struct pinning *p);
/* Fail unless pins of the set may be changed. */
int pin_may_change(const struct pinning *p);

/* -- what is printed -------------------------------------------------------------------------- */

extern const char *const pin_state_name[NR_PIN_STATES];
/* Each is a pin_done_fn. */
void pin_print(void *ctx, const struct pinning *p);
void pin_print_sum(void *ctx, const struct pinning *p);
/* Add the set to an array of JSON. */
void pin_add_json(void *sets, const struct pinning *p);

#endif
