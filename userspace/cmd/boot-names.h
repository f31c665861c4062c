/* SPDX-License-Identifier: GPL-2.0-only */
/* How the system finds a disk at boot: boot-names.c. */
#ifndef BOOT_NAMES_H
#define BOOT_NAMES_H

#include <sys/types.h>

/* The script of the initramfs that runs fusionctl assemble --planned. */
#define AT_BOOT_SCRIPT	"/usr/share/initramfs-tools/scripts/init-premount/fusion"

/* Refuse --at-boot on a system without that; @instead: what to do there. */
int check_boot_script(const char *instead);
/*
 * Refuse if fstab, crypttab or the kernel's command line names the device by its path or partition:
 * its content is to move to another device, where only its UUID or label finds it.
 */
int check_boot_names(dev_t devno);
/* Only warn, as it leads there until the next boot; but refuse if that boot needs it. */
int check_later_boot_names(dev_t devno);
/*
 * Refuse if this system stands on the device, and its initramfs would not finish the release of the
 * set @name: without that, it does not boot after a power failure in the last step.
 */
int check_boot_finishes(const char *name, dev_t devno);

/*
 * Call @is for the words of the kernel's command line that begin with @prefix, until it returns
 * something else than 0. Return: that, or 0.
 */
int each_boot_word(const char *prefix, int (*is)(const char *word, dev_t devno), dev_t devno);

/*
 * Refuse while a hibernated system may be there, which has the disks in use as they are. A file of
 * swap with its image cannot be seen.
 */
int check_not_hibernated(void);

#endif
