/* SPDX-License-Identifier: GPL-2.0-only */
/* The content of block devices: probe.c. */
#ifndef PROBE_H
#define PROBE_H

#include <blkid/blkid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct device;

#define CONTENT_TEXT	512

#define PARTITION_TABLE	"a partition table"
#define MAX_MAGICS	8	/* as FUSION_MAX_MAGICS */

/* The content of a device: the signatures by which programs recognise it. */
struct fus_content {
	char type[32];		/* in the words of libblkid, PARTITION_TABLE, or "" */
	char other[32];		/* another type that is recognised, or "" */
	char text[256];		/* "ext4 (label home, uuid 1234-...)" */
	unsigned int nr;	/* of signatures, perhaps more than MAX_MAGICS */
	/* the sector of each, in ascending order, and its place there */
	uint64_t sector[MAX_MAGICS];
	uint16_t offset[MAX_MAGICS], bytes[MAX_MAGICS];
	uint32_t id;		/* of type and uuid */
};

/* A probe for all that libblkid knows, with the places of signatures; NULL if that fails. */
blkid_probe fus_new_probe(int fd);
/*
 * Find every signature on the device that is open at @fd: also those that are found only once the
 * first one is gone. Partition tables are content, too. @path is for messages.
 */
int fus_probe_magics(const char *path, int fd, struct fus_content *c);

/*
 * Describe the content of the device in @buf: "ext4 (label home, uuid ...) at byte 1080". *found is
 * false if nothing is recognised.
 */
int fus_probe_signature(const struct device *dev, bool *found, char *buf, size_t size);
/* The same for other content, in an image as well; closes @fd. */
int fus_probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size);
/* The same without a message: unreadable blocks count as no content. */
bool fus_probe_cover(const char *path, dev_t devno, char *buf, size_t size);
/*
 * The content in the words of libblkid; false if it recognises nothing. *fs: it is a file system.
 */
bool fus_probe_type(int fd, bool *fs, char *buf, size_t size);
/* Return: whether it has the signature of a RAID (md, DRBD, firmware). */
bool fus_probe_raid(const char *path, dev_t devno);
/* Erase every signature that libblkid knows. */
int fus_wipe_signatures(const struct device *dev, int fd);

#endif
