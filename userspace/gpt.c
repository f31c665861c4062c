// SPDX-License-Identifier: GPL-2.0-only
/*
 * The type of a partition in its GPT. Nothing of ours depends on it, but what shows partitions
 * then says whose it is. sfdisk writes it: that takes care of both copies and their checksums.
 */
#include <blkid/blkid.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"

/* Of members of fusion sets. */
#define MEMBER_TYPE	"AE6187F2-428C-4BFF-AB94-6F478486E0AE"

static void disk_path(const struct device *dev, char *buf, size_t size)
{
	device_node(dev->disk, buf, size);
}

bool gpt_partition(const struct device *dev)
{
	char path[160], number[16];
	blkid_probe pr;
	const char *type;
	bool gpt;

	if (!sysfs_read(dev->devno, "partition", number, sizeof(number)))
		return false;
	disk_path(dev, path, sizeof(path));
	pr = blkid_new_probe_from_filename(path);
	gpt = pr && !blkid_probe_enable_superblocks(pr, 0) &&
	      !blkid_probe_enable_partitions(pr, 1) && !blkid_do_safeprobe(pr) &&
	      !blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL) && !strcmp(type, "gpt");
	blkid_free_probe(pr);
	return gpt;
}

int gpt_mark_member(const struct device *dev)
{
	char path[160], number[16], said[256];
	const char *const command[] = {
		/* the partition is in use, but stays where it is */
		"sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", "--part-type", path, number,
		MEMBER_TYPE, NULL
	};

	sysfs_read(dev->devno, "partition", number, sizeof(number));
	disk_path(dev, path, sizeof(path));
	if (program_say(command, said, sizeof(said)))
		return fail(FC_FAILED, dev->path, "its type in the partition table could not be "
			    "set (%s); sfdisk --part-type %s %s " MEMBER_TYPE " does it",
			    said, path, number);
	return 0;
}
