/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that dump writes and restore reads: dump.c. */
#ifndef DUMP_H
#define DUMP_H

#include <stddef.h>

struct json_object;
struct meta;

#define DUMP_CONTENT	"dm-fusion metadata"

/* Numbers of the geometry by name; the last one has none. */
struct geometry_field {
	const char *name;
	size_t offset, size;	/* in struct fusion_sb */
};

extern const struct geometry_field geometry_fields[];

/* Build the whole dump; the map must be intact. Put *out in any case. */
int dump_json(const struct meta *meta, struct json_object **out);

#endif
