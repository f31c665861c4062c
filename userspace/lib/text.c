// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that comes from disks, files and other programs: labels, models, serial numbers, paths. It
 * is not trusted. So a character that could move the cursor, end the line or change how the rest
 * reads is written as \xNN.
 */
#include <langinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* Length of the UTF-8 sequence at @s and its code point, or 0 if it is none. */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	size_t i;

	if (!n || n > len)
		return 0;
	*code = n == 1 ? *s : *s & (0xff >> (n + 1));
	for (i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

/* Control characters, and characters that are invisible or change the writing direction. */
static bool harmful(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

char *fus_safe_text(char *buf, size_t size, const char *from, size_t len, bool utf8)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t used = 0, n, room, i;
	uint32_t code = 0;

	len = strnlen(from, len);
	while (len) {
		n = utf8_decode(s, len, &code);
		if (!n || harmful(code) || (!utf8 && n > 1)) {
			if (!n)
				n = 1;
			room = 4 * n;
		} else {
			room = n;
		}
		if (used + room >= size)
			break;
		if (room == n)
			memcpy(buf + used, s, n);
		else
			for (i = 0; i < n; i++)
				snprintf(buf + used + 4 * i, 5, "\\x%02x", s[i]);
		used += room;
		s += n;
		len -= n;
	}
	buf[used] = 0;
	return buf;
}

bool fus_utf8_output(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void fus_path_text(char *buf, size_t size, const char *path, bool directory)
{
	size_t n;

	/* with room for the slash */
	fus_safe_text(buf, size - 1, path, SIZE_MAX, fus_utf8_output());
	n = strlen(buf);
	if (directory && n && buf[n - 1] != '/')
		strcpy(buf + n, "/");
}
