/* SPDX-License-Identifier: GPL-2.0-only */
/* What is to be done before anything is mounted: at-boot.c. */
#ifndef AT_BOOT_H
#define AT_BOOT_H

/*
 * Carry out what adopt and release --at-boot have planned, and finish adoptions and releases that
 * an interruption has left without a disk that could be mounted. Exit code of the first that fails.
 */
int at_boot(void);

#endif
