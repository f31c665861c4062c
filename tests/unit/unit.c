// SPDX-License-Identifier: GPL-2.0-only
/* The program: test-x is made of test-x.c and each test-x-*.c, and runs the tests of them all. */
#include "unit.h"

static struct unit_test *all;
static unsigned int nr_all;

void unit_add(const struct unit_test *tests, unsigned int nr)
{
	all = realloc(all, (nr_all + nr) * sizeof(*all));
	if (!all)
		abort();
	memcpy(all + nr_all, tests, nr * sizeof(*all));
	nr_all += nr;
}

void unit_run_others(void (*caller)(void))
{
	unsigned int i;

	for (i = 0; i < nr_all; i++)
		if (all[i].run != caller)
			all[i].run();
}

int main(void)
{
	exit(unit_main(all, nr_all));
}
