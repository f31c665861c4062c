/* SPDX-License-Identifier: GPL-2.0-only */
/* Device mapper: single requests, for dm.c and dm-table.c: dm-task.c. */
#ifndef DM_TASK_H
#define DM_TASK_H

#include <stdint.h>

struct dm_task;

/* A request about this device, or about none with NULL; NULL if memory is short. */
struct dm_task *fus_dm_task(int type, const char *name);
/* Carry it out. Return: 0 or -errno */
int fus_dm_run(struct dm_task *t);
/* The same of one that udev takes part in, until it has made the links of the device. */
int fus_dm_run_with_udev(struct dm_task *t, const char *name);
/* The end of that, for a cookie of the caller. */
void fus_dm_wait_for_udev(const char *name, uint32_t cookie);

#endif
