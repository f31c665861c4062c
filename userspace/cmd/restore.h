/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * restore.c		verb restore
 * restore-geometry.c	restore --geometry
 * restore-read.c	reads the file
 * restore-parse.c	what it says
 * restore-landing.c	the landing log in it
 * restore-age.c	whether the members are as they were when the dump was made
 */
#ifndef RESTORE_H
#define RESTORE_H

#include <stdbool.h>

#include "json-field.h"
#include "meta.h"
#include "probe.h"

struct args;
struct json_object;

struct dump {
	const char *path;
	struct json_source source;
	struct json_object *o;
	struct fusion_sb sb;	/* of the fast member */
	struct meta_state st;
	u16 *heat;
	/* how far each member was, or 0: its newest superblock, the last block of its ring */
	u64 generation[2], last_seq[2];
	/*
	 * Is the dump's map the present one? Then it is written as the map that the journal leads
	 * to (fus_meta_write()), with the numbers where that journal continues. So the set stays as
	 * it is until the end.
	 */
	bool goes_on;
};

/* Read the file; json_object_put() *o if that succeeds. It has no runs of the stale list. */
int dump_read(const char *path, struct json_object **o);
/*
 * Read a saved dump, @o of the file @path, and accept only possible numbers. Call dump_free()
 * afterwards, whatever it returns; that also puts @o.
 */
int dump_parse(const char *path, struct json_object *o, struct dump *d);
void dump_free(struct dump *d);
/* Its part about a landing log; the map is not read yet. */
int dump_parse_landing(struct dump *d);

/*
 * Check that a device may become this member of the set in @file: its size, a member of another
 * set, other content. Return: 0 with the content or "" in @content, or an exit code.
 */
int restore_check_member(const char *file, const struct meta *meta, int dev,
			 const struct args *a, char content[CONTENT_TEXT]);
/* The verb with --geometry. */
int restore_geometry(const struct args *a);

/*
 * Refuse, unless @force, members from before the dump or from after it, and an intact map. Sets
 * d->goes_on.
 */
int restore_check_age(struct dump *d, const struct meta *meta, bool force);
/* Refuse a fast member without what the landing log had; with @force, go without. */
int restore_check_landing(struct dump *d, const struct meta *meta, bool force);

#endif
