/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that dump writes and restore reads: dump.c. */
#ifndef DUMP_H
#define DUMP_H

struct json_object;
struct meta;

/* Build the whole dump; the map must be intact. Put *out in any case. */
int dump_json(const struct meta *meta, struct json_object **out);

#endif
