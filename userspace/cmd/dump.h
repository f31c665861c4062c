/* SPDX-License-Identifier: GPL-2.0-only */
/* The file that dump writes and restore reads: dump.c. */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>

struct json_object;
struct meta;

/*
 * Build the whole dump; the map must be intact. A @brief one has what restore needs for the data:
 * of the journals only the last transaction, without its records, and no heat. It fails if the map
 * is so scattered that it would be large. Put *out in any case.
 */
int dump_json(const struct meta *meta, bool brief, struct json_object **out);

#endif
