/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb version. */
#ifndef VERSION_H
#define VERSION_H

struct json_object;

/* The versions of the tool, the format and the kernel's target. Exit code. */
int version_json(struct json_object **o);

#endif
