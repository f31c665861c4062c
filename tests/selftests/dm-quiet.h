/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DM_QUIET_H
#define DM_QUIET_H

/*
 * For dm_log_with_errno_init(), in tests whose requests fail on purpose: libdevmapper stays silent.
 */
static inline void dm_quiet(int level, const char *file, int line, int dm_errno,
			    const char *f, ...)
{
	(void)level;
	(void)file;
	(void)line;
	(void)dm_errno;
	(void)f;
}

#endif
