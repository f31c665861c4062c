// SPDX-License-Identifier: GPL-2.0-only
/* The characters of a screenful, each one column wide. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

#define MOST_ROWS	500
#define MOST_COLS	1000

bool top_screen_init(struct top_screen *s, unsigned int rows, unsigned int cols, bool utf8)
{
	*s = (struct top_screen) {
		.rows = rows < MOST_ROWS ? rows : MOST_ROWS,
		.cols = cols < MOST_COLS ? cols : MOST_COLS,
		.utf8 = utf8,
	};
	s->cell = calloc((size_t)s->rows * s->cols + 1, sizeof(*s->cell));
	for (size_t i = 0; s->cell && i < (size_t)s->rows * s->cols; i++)
		s->cell[i].c = ' ';
	return s->cell;
}

void top_screen_free(struct top_screen *s)
{
	free(s->cell);
	s->cell = NULL;
}

static void put(struct top_screen *s, unsigned int row, unsigned int col, enum top_style style,
		wchar_t c)
{
	if (row < s->rows && col < s->cols)
		s->cell[(size_t)row * s->cols + col] = (struct top_cell) { c, style };
}

unsigned int top_put(struct top_screen *s, unsigned int row, unsigned int col,
		     enum top_style style, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (const char *c = text; *c; c++)
		put(s, row, col++, style, *c >= ' ' && *c <= '~' ? *c : '?');
	return col;
}

void top_put_right(struct top_screen *s, unsigned int row, unsigned int end, enum top_style style,
		   const char *text)
{
	size_t n = strlen(text);

	top_put(s, row, n < end ? end - n : 0, style, "%s", text);
}

void top_put_block(struct top_screen *s, unsigned int row, unsigned int col, enum top_style style,
		   unsigned int eighths)
{
	if (!eighths)
		put(s, row, col, style, ' ');
	else if (s->utf8)	/* U+2581 is one eighth, U+2588 is full */
		put(s, row, col, style, 0x2580 + eighths);
	else
		put(s, row, col, style, '0' + eighths);
}

void top_put_bar(struct top_screen *s, unsigned int row, unsigned int col, enum top_style style,
		 unsigned int width, double part)
{
	unsigned int eighths = part < 1 ? part * width * 8 : width * 8, fill;

	for (unsigned int i = 0; i < width; i++, eighths -= fill) {
		fill = eighths < 8 ? eighths : 8;
		if (!s->utf8)
			put(s, row, col + i, style, fill >= 4 ? '#' : '-');
		else	/* U+2588 is full, U+258F one eighth, from the left */
			put(s, row, col + i, style, fill ? 0x2590 - fill : 0x2591);
	}
}

char *top_row(const struct top_screen *s, unsigned int row, char *buf, size_t size)
{
	const struct top_cell *cell = &s->cell[(size_t)row * s->cols];
	unsigned int end = s->cols;
	size_t n = 0;

	while (end && cell[end - 1].c == ' ')
		end--;
	for (unsigned int i = 0; i < end && n + 4 < size; i++) {
		unsigned int c = cell[i].c;

		if (c < 0x80) {
			buf[n++] = c;
		} else {
			buf[n++] = 0xe0 | c >> 12;
			buf[n++] = 0x80 | (c >> 6 & 0x3f);
			buf[n++] = 0x80 | (c & 0x3f);
		}
	}
	buf[n] = 0;
	return buf;
}
