/* SPDX-License-Identifier: GPL-2.0-only */
/* What is pinned on a set, as it is kept in a file: pins.c. */
#ifndef PINS_H
#define PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file-handle.h"
#include "mounted.h"
#include "super.h"

#define PINS_DIR	"/etc/fusion/pins.d"
#define PINS_CONTENT	"dm-fusion pins"
#define MAX_PINS	65536
/* A path is shorter. */
#define MAX_PIN_PATH	32768

/* That one, except in tests. */
extern const char *fus_pins_dir;

/* A file, a directory with all below it, or a range of extents. */
struct pin {
	int member;		/* FAST or SLOW: where it is to stay */
	char *path;		/* where it was last found; NULL: extents */
	char file_system[FILE_SYSTEM_UUID];
	char handle[FILE_HANDLE];
	uint64_t inode;
	bool recursive;		/* a directory */
	bool renamed;		/* it has another path now, which is not known */
	uint64_t missed;	/* when it was first not there; 0: it was */
	uint64_t first, last;	/* extents */
	bool is_new;		/* not in the file yet */
};

struct pins {
	char uuid[UUID_TEXT];	/* of the set */
	struct pin *pin;
	size_t nr;
};

/* Read those of a set; a file that does not exist has none. Free them also if this fails. */
int fus_pins_read(const char *uuid, struct pins *p);
/* Add those of a file's text, which has to be of the set p->uuid. @path is for messages. */
int fus_pins_parse(const char *path, const char *text, struct pins *p);
/* Replace the file, or remove it if there are none. A power cut leaves the old or the new one. */
int fus_pins_write(const struct pins *p);
void fus_pins_free(struct pins *p);

/* Add a copy at the end. */
int fus_pins_add(struct pins *p, const struct pin *pin);
void fus_pins_remove(struct pins *p, size_t i);
/* Take these extents out of the ranges. *any: there were some. */
int fus_pins_cut(struct pins *p, uint64_t first, uint64_t last, bool *any);
/* The one of this file or directory; or NULL. */
struct pin *fus_pins_find(const struct pins *p, const char *file_system, const char *handle);

#endif
