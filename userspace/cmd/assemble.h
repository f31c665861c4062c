/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb assemble. */
#ifndef ASSEMBLE_H
#define ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "super.h"

struct member;

/* Is "nofusion" on the kernel's command line? */
bool assembly_turned_off(void);
#define STAYS_TEXT	(SUPER_TEXT + 32)
/* Is it a member whose set is opened only if somebody asks for that? @why and *remedy say more. */
bool stays_closed(const struct member *m, char why[STAYS_TEXT], const char **remedy);
/* What to say of a member that names @used and is not named by it. */
void foreign_text(const struct member *m, const struct member *used, char *buf, size_t size);

#endif
