/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb probe: identify.c. */
#ifndef IDENTIFY_H
#define IDENTIFY_H

#include <stddef.h>

struct fusion_sb;
struct json_object;
struct member;

/*
 * The member on a device, in any state. NULL if there is none: @content is then other recognised
 * content, or "".
 */
int probe_member(const char *path, struct member **m, char *content, size_t size);
/* What a superblock records of the other member. */
struct json_object *peer_json(const struct fusion_sb *sb);
/* And of the one that is being replaced, or NULL. */
struct json_object *old_json(const struct fusion_sb *sb);

#endif
