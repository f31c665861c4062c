/* SPDX-License-Identifier: GPL-2.0-only */
/* Write a new set: write.c. */
#ifndef WRITE_H
#define WRITE_H

#include "device.h"

struct fusion_sb;

/*
 * Make a set from two devices that are opened at @fd, exclusively and for writing. Neither is a
 * member before the last block is written. At that point @lock, of assembly, is held. Reads
 * everything back.
 */
int fus_write_set(const struct device dev[2], const int fd[2], const struct fusion_sb *fast,
		  int *lock);
/*
 * Erase all signatures of a device that is opened at @fd, as above, and what lies in its first and
 * last MiB; tell an SSD that it is empty.
 */
int fus_erase(const struct device *dev, int fd);
/* Wipe a device that is opened at @fd, as above, so that it is no longer a member. */
int fus_wipe_member(const struct device *dev, int fd);
/* Check that the device can discard. */
int fus_check_discard(const struct device *dev);
/* Discard bytes, piece by piece, with progress if work has begun. Return: 0 or an errno. */
int fus_discard(int fd, uint64_t from, uint64_t end);
/* After fus_wipe_member(): discard all of it except the head and the tail, which are zeros. */
int fus_discard_member(const struct device *dev, int fd);

#endif
