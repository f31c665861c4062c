/* SPDX-License-Identifier: GPL-2.0-only */
/* What standard output understands: terminal.c. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>

/* Does stdout understand escape sequences and UTF-8? */
enum color { COLOR_NONE, COLOR_256, COLOR_TRUE };
int color_mode(const char *when, enum color *mode);
unsigned int terminal_width(void);

#endif
