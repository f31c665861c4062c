/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log; and mlockall(), which a user may not call, and which the sanitizers ignore. */
#ifndef LOCKED_MEMORY_H
#define LOCKED_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "unit.h"

static struct {
	int fails;
	bool locked;
	bool told;		/* lines go to the kernel log, which is not that of this machine */
} memory;

int __wrap_mlockall(int flags);
int __wrap_munlockall(void);
void __wrap_messages_to_kernel(bool on);

int __wrap_mlockall(int flags)
{
	REQUIRE_EQ(flags, MCL_CURRENT | MCL_FUTURE);
	if (memory.fails) {
		errno = memory.fails;
		return -1;
	}
	memory.locked = true;
	return 0;
}

int __wrap_munlockall(void)
{
	memory.locked = false;
	return 0;
}

void __wrap_messages_to_kernel(bool on)
{
	memory.told = on;
}

#endif
