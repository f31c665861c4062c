/* SPDX-License-Identifier: GPL-2.0-only */
/* The drives beneath a device, and what the kernel knows about each: drive.c, drive-link.c. */
#ifndef DRIVE_H
#define DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "health.h"
#include "smart.h"

#define MAX_DRIVES	16	/* beneath one member */

struct drive {
	dev_t devno;
	char node[160];
	char model[SMART_TEXT], serial[SMART_TEXT], firmware[SMART_TEXT];
	char wwn[SMART_TEXT];
	char link[SMART_TEXT];		/* "NVMe PCIe 4.0 x4", or "" */
	uint64_t bytes;
	int rotational;			/* 1, 0, or -1 */
	uint64_t written;		/* bytes since the kernel has found it */
	struct smart smart;
};

/*
 * The whole disks beneath a device, through partitions, mappings, arrays and loop devices. Return:
 * how many there are; only the first MAX_DRIVES are in the array.
 */
unsigned int fus_drives_under(dev_t devno, dev_t disks[MAX_DRIVES]);
/* What sysfs and udev know of a disk, which is not opened. @d->smart is cleared. */
void fus_drive_get(dev_t disk, struct drive *d);
/* Ask the drive as well, and let it correct what the kernel has cut. */
void fus_drive_ask(struct drive *d);
/* "SATA 6.0 Gb/s", or "" */
void fus_drive_link(dev_t disk, char *buf, size_t size);
/* "Samsung SSD 980, serial S64D", or its node. */
const char *fus_drive_name(const struct drive *d, char *buf, size_t size);

/* The faults of a drive that come in time to replace it. */
enum drive_fault {
	DRIVE_FAILING,		/* its own verdict */
	DRIVE_PENDING,		/* sectors that cannot be read */
	DRIVE_WORN,
	DRIVE_HOT,
	NR_DRIVE_FAULTS
};

extern const char *const fus_drive_fault_name[NR_DRIVE_FAULTS];

struct drive_finding {
	enum drive_fault fault;
	enum health level;
	int64_t value;		/* is reported again if it grows; 0: never */
	bool replace;		/* that is the remedy; otherwise @remedy */
	const char *remedy;
	char text[160];
};

/* What a drive is a part of. */
struct drive_place {
	const char *open_as;	/* "" if the set is closed */
	dev_t member;
	bool old;		/* the member is being replaced already */
	unsigned int drives;	/* beneath the member */
};

/* What to do about it. Returns @buf. */
const char *fus_drive_remedy(const struct drive_finding *f, const struct drive *d,
			     const struct drive_place *at, char *buf, size_t size);
/* Return: how many faults it has. */
unsigned int fus_drive_findings(const struct drive *d, struct drive_finding f[NR_DRIVE_FAULTS]);

#endif
