/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Identity, geometry and kept settings of a set as JSON: all that a superblock has and that does
 * not age.
 *
 * geometry-json.c	writes them
 * geometry-parse.c	reads them
 */
#ifndef GEOMETRY_JSON_H
#define GEOMETRY_JSON_H

#include <stddef.h>

struct fusion_sb;
struct json_object;
struct json_source;

/* Field "content" of a file that has nothing else, and of a dump. */
#define GEOMETRY_CONTENT	"dm-fusion geometry"
#define DUMP_CONTENT		"dm-fusion metadata"

/* Numbers of the geometry by name; the last one has none. */
struct geometry_field {
	const char *name;
	size_t offset, size;	/* in struct fusion_sb */
};

extern const struct geometry_field fus_geometry_fields[];

/* Bytes in hexadecimal, 512 at most. */
void fus_json_add_hex(struct json_object *o, const char *key, const void *p, size_t n);
/* Add those of the set of @sb, which is of either member. */
void fus_geometry_json(struct json_object *o, const struct fusion_sb *sb);
/*
 * Read them back, with all the checks of a superblock. *sb becomes that of the fast member of an
 * empty set.
 */
int fus_geometry_parse(const struct json_source *s, struct json_object *o, struct fusion_sb *sb);

#endif
