// SPDX-License-Identifier: GPL-2.0-only
/* The progress of long work. */
#include <stddef.h>

#include "progress.h"

const struct progress_unit fus_progress_mib = { "MiB", 1048576 };
const struct progress_unit fus_progress_inodes = { "inodes", 1 };

static struct work work;
static void (*listen)(enum work_stage stage, const struct work *work);

static void tell(enum work_stage stage)
{
	if (listen)
		listen(stage, &work);
}

void fus_progress_begin(const char *what, const struct progress_unit *unit, uint64_t total)
{
	work = (struct work){ .what = what, .unit = unit, .total = total, .running = true };
	tell(WORK_BEGINS);
	work.what = NULL;
}

void fus_progress_at(uint64_t done, const char *also)
{
	if (!work.running)
		return;
	work.done = done;
	work.also = also;
	tell(WORK_GOES_ON);
	work.also = NULL;
}

void fus_progress_add(uint64_t more)
{
	fus_progress_at(work.done + more, NULL);
}

void fus_progress_skip(uint64_t less)
{
	work.total -= less < work.total ? less : work.total;
}

void fus_progress_end(void)
{
	work.running = false;
	tell(WORK_ENDS);
}

void fus_on_progress(void (*listener)(enum work_stage stage, const struct work *work))
{
	listen = listener;
}
