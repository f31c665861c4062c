/* SPDX-License-Identifier: GPL-2.0-only */
/* --files: files in lost areas of a set: hit-files.c. */
#ifndef HIT_FILES_H
#define HIT_FILES_H

struct json_object;
struct salvage;

/*
 * List the files that the parts PART_LOST and PART_UNKNOWN of @s hit. @path is a device or an image
 * with ext4, or a mount point. They are printed, or added to @o unless that is NULL.
 */
int list_hit_files(const char *path, const struct salvage *s, struct json_object *o);

#endif
