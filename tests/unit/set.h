/* SPDX-License-Identifier: GPL-2.0-only */
/* What fusionctl says of settings, and how their values are written in the kernel. */
#ifndef SET_H
#define SET_H

#include "unit.h"

#include "error.h"
#include "fusionctl.h"
#include "setting.h"

static char said[1024];

/* Errors add themselves to it. */
static inline void hear(const struct fus_error *e)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s%s: %s; %s", n ? "\n" : "", e->subject, e->what,
		 e->remedy);
}

static inline char *word_of(int i, u32 value)
{
	static char buf[16];

	snprintf(buf, sizeof(buf), "%u", value);
	return fusion_settings[i].unit != FUSION_UNIT_SWITCH ? buf : value ? "on" : "off";
}

#endif
