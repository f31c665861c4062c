/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * restore.c		verb restore
 * restore-parse.c	what the file says
 * restore-age.c	are the members what they were when the dump was made?
 */
#ifndef RESTORE_H
#define RESTORE_H

#include <stdbool.h>

#include "meta.h"

struct json_object;

struct dump {
	const char *path;
	struct json_object *o;
	struct fusion_sb sb;	/* of the fast member */
	struct meta_state st;
	u16 *heat;
	/* how far each member was, or 0: its newest superblock, the last block of its ring */
	u64 generation[2], last_seq[2];
	/*
	 * Is it the map that is there? Then it is written as one that the journal leads to
	 * (fus_meta_write()), so that the set stays what it is until the end: with the numbers of
	 * where that goes on.
	 */
	bool goes_on;
};

/*
 * Read a saved dump, @o of the file @path, and accept only numbers that are possible. Call
 * dump_free() afterwards, whatever it returns; that puts @o, too.
 */
int dump_parse(const char *path, struct json_object *o, struct dump *d);
void dump_free(struct dump *d);

/*
 * Refuse, unless @force, members from before the dump, from after it, and a map that is whole. Sets
 * d->goes_on.
 */
int restore_check_age(struct dump *d, const struct meta *meta, bool force);

#endif
