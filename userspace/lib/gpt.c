// SPDX-License-Identifier: GPL-2.0-only
/*
 * The type of a partition in its GPT. Nothing depends on it, but partition tools then show the
 * owner. sfdisk writes it, and updates both copies and their checksums.
 */
#include <blkid/blkid.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpt.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "program.h"
#include "sysfs.h"

/* The type of members of fusion sets. */
#define MEMBER_TYPE	"AE6187F2-428C-4BFF-AB94-6F478486E0AE"
/* The type of a Linux file system. */
#define LINUX_TYPE	"0FC63DAF-8483-4772-8E79-3D69D8477DE4"

static void disk_path(const struct device *dev, char *buf, size_t size)
{
	fus_device_node(dev->disk, buf, size);
}

/* The partition table of its disk, if that is a GPT; NULL otherwise. */
static blkid_probe open_gpt(const struct device *dev, char number[16])
{
	char path[160];
	blkid_probe pr;
	const char *type;

	if (!fus_sysfs_read(dev->devno, "partition", number, 16))
		return NULL;
	disk_path(dev, path, sizeof(path));
	pr = blkid_new_probe_from_filename(path);
	if (pr && !blkid_probe_enable_superblocks(pr, 0) &&
	    !blkid_probe_enable_partitions(pr, 1) && !blkid_do_safeprobe(pr) &&
	    !blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL) && !strcmp(type, "gpt"))
		return pr;
	blkid_free_probe(pr);
	return NULL;
}

bool fus_gpt_partition(const struct device *dev)
{
	char number[16];
	blkid_probe pr = open_gpt(dev, number);

	blkid_free_probe(pr);
	return pr;
}

void fus_gpt_tell_mark(const struct device *dev)
{
	char path[160], number[16];
	blkid_probe pr = open_gpt(dev, number);
	blkid_partlist list = pr ? blkid_probe_get_partitions(pr) : NULL;
	blkid_partition part = list ? blkid_partlist_get_partition_by_partno(list, atoi(number)) :
			       NULL;
	const char *type = part ? blkid_partition_get_type_string(part) : NULL;

	disk_path(dev, path, sizeof(path));
	if (type && !strcasecmp(type, MEMBER_TYPE))
		fus_warn(dev->path, "still has the type of members in its partition table, which "
			 "means nothing now; sfdisk --part-type %s %s " LINUX_TYPE " gives it that "
			 "of a file system", path, number);
	blkid_free_probe(pr);
}

int fus_gpt_mark_member(const struct device *dev)
{
	char path[160], number[16], said[256];
	const char *const command[] = {
		/* the partition is in use, but stays where it is */
		"sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", "--part-type", path, number,
		MEMBER_TYPE, NULL
	};

	fus_sysfs_read(dev->devno, "partition", number, sizeof(number));
	disk_path(dev, path, sizeof(path));
	if (fus_program_say(command, said, sizeof(said)))
		return fus_fail(FC_FAILED, dev->path, "its type in the partition table could not "
				"be set (%s); sfdisk --part-type %s %s " MEMBER_TYPE " does it",
				said, path, number);
	return 0;
}
