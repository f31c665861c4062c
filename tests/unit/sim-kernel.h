/* SPDX-License-Identifier: GPL-2.0-only */
/* What pure code of the module needs of the simulator's kernel, for one test of it. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stdlib.h>

#include "unit.h"

/* Where the simulator's kernel would let other tasks run, and its locks. */
int sim_preempt_left = 1;
static void (*others)(void);

void sim_preempt(void)
{
	sim_preempt_left = 1;
	if (others)
		others();
}

void sim_lock(spinlock_t *lock, bool may_nest, unsigned long *flags)
{
	REQUIRE(!lock->held && may_nest && flags);
	lock->held = true;
}

void sim_unlock(spinlock_t *lock, const unsigned long *flags)
{
	REQUIRE(lock->held && flags);
	lock->held = false;
}

/* Allocations that succeed before one fails, and their bytes. */
static unsigned int memory = -1U;
static size_t bytes;

bool sim_out_of_memory(void)
{
	return !memory || !memory--;
}

bool sim_memory_is_scarce(void)
{
	return false;
}

void *sim_alloc(size_t size, bool zero)
{
	bytes += size;
	return zero ? calloc(1, size) : malloc(size);
}

void sim_free(const void *p)
{
	free((void *)p);
}

#endif
