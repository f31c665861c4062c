/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices of sets that were released while they were in use: released.c. */
#ifndef RELEASED_H
#define RELEASED_H

#include <stdbool.h>
#include <sys/types.h>

/* Return: whether the mapping, which has the uuid of a set, is only the disk by another name. */
bool fus_is_released(dev_t devno);
/* Return: whether the mapping is a set. */
bool fus_sysfs_is_set(dev_t devno);

#endif
