/* SPDX-License-Identifier: GPL-2.0-only */
/* Text from disks, files and other programs: text.c. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copy untrusted text, at most @len bytes and up to a NUL, so that it can be printed: as valid
 * UTF-8 without controls. Other bytes become \xNN. Without @utf8 it is plain ASCII. It is cut at
 * the end of @buf. Returns @buf.
 */
char *fus_safe_text(char *buf, size_t size, const char *from, size_t len, bool utf8);
/* The same for a path, which ends with a slash if it is a @directory. */
void fus_path_text(char *buf, size_t size, const char *path, bool directory);
/* Return: whether the output may be UTF-8. */
bool fus_utf8_output(void);

#endif
