/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markup that is both HTML and XML: html.c. Whatever a text contains, it stays text.
 */
#ifndef HTML_H
#define HTML_H

#include <stdio.h>

/* As text, or within the quotes of an attribute. */
void html_text(FILE *f, const char *text);
/* The same for formatted text; all of it is escaped, the format as well. */
void html_put(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An element of only such text: <name>; @name may have attributes. */
void html_element(FILE *f, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
