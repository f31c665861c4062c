/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that dump writes and restore reads: dump.c. */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>

struct json_object;
struct fusion_record;
struct fusion_sb;
struct meta;
struct meta_log;

/*
 * Build the whole dump; the map must be intact. A @brief one has what restore needs for the data:
 * of the journals only the last transaction, without its records, and no heat. It fails if the map
 * is so scattered that it would be large. Put *out in any case.
 */
int dump_json(const struct meta *meta, bool brief, struct json_object **out);

/* dump-landing.c: what a record of the landing log has, */
void dump_landing_record(struct json_object *o, const struct fusion_record *rec);
/*
 * what all that are replayed make of it, and the stale list on the slow member; a @brief one has
 * only how many blocks are in that. Put *out in any case.
 */
int dump_landing(const struct meta *meta, const struct fusion_sb *sb, const struct meta_log *log,
		 bool brief, struct json_object **out);

#endif
