/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings and the name of a closed set: those of its superblocks: settings-closed.c. */
#ifndef SETTINGS_CLOSED_H
#define SETTINGS_CLOSED_H

#include <stdbool.h>

#include "setting.h"

/*
 * Get the settings of a closed set; with @writable for the functions below. *closed holds the
 * members, and if they are to be written the assembly lock, until fus_closed_end(). Exit code;
 * after an error there is nothing to end.
 */
struct closed;
int fus_settings_closed(const char *name, bool writable, struct settings *s,
			struct closed **closed);
/*
 * Write these settings, in addition to those that the set keeps, to the superblocks of both
 * members. Exit code.
 */
int fus_settings_write(struct closed *closed, struct settings *s, const struct setting *to,
		       unsigned int nr);
/* Write this name, which is valid, to the superblocks of both members. Exit code. */
int fus_closed_rename(struct closed *closed, const char *name);
void fus_closed_end(struct closed *closed);

#endif
