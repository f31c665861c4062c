// SPDX-License-Identifier: GPL-2.0-only
/* Drawings go to a file, or to stdout. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fusionctl.h"

FILE *output_open(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;

	if (!f)
		fail(FC_FAILED, path, "%s; choose another file", strerror(errno));
	return f;
}

int output_close(FILE *f, const char *path)
{
	bool bad = fflush(f) || ferror(f);

	if (f != stdout)
		bad |= !!fclose(f);
	if (bad)
		return fail(FC_FAILED, path, "can't write it: %s; is the disk full?",
			    strerror(errno));
	return 0;
}
