/* SPDX-License-Identifier: GPL-2.0-only */
/* The abilities of standard output: terminal.c. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>

/* Whether stdout understands escape sequences and UTF-8. */
enum color { COLOR_NONE, COLOR_256, COLOR_TRUE };
int color_mode(const char *when, enum color *mode);
unsigned int terminal_width(void);

#endif
