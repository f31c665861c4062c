// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of a device its content uses, from its own superblock. libblkid does not tell that: its
 * FSSIZE leaves out what a file system keeps for itself, and older versions have none. The content
 * has been recognised before, so each number is where its type has it; none is used for anything
 * but this size.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "content-size.h"
#include "probe.h"

#define LUKS_MOST	(4U << 20)	/* of its first header, with the area of JSON */

static u64 get_le(const u8 *at, unsigned int size)
{
	u64 v = 0;

	while (size--)
		v = v << 8 | at[size];
	return v;
}

static u64 get_be(const u8 *at, unsigned int size)
{
	u64 v = 0;

	for (unsigned int i = 0; i < size; i++)
		v = v << 8 | at[i];
	return v;
}

static enum content_size known(u64 number, u64 unit, u64 *bytes)
{
	if (!number || number > UINT64_MAX / 2 / unit)
		return SIZE_UNKNOWN;
	*bytes = number * unit;
	return SIZE_KNOWN;
}

static enum content_size ext(int fd, u64 *bytes)
{
	u8 sb[1024];
	u64 blocks;
	u32 log;

	if (pread(fd, sb, sizeof(sb), 1024) != sizeof(sb))
		return SIZE_UNKNOWN;
	log = get_le(sb + 0x18, 4);
	blocks = get_le(sb + 0x4, 4);
	if (get_le(sb + 0x60, 4) & 0x80)
		blocks |= get_le(sb + 0x150, 4) << 32;
	return log > 6 ? SIZE_UNKNOWN : known(blocks, 1024ULL << log, bytes);
}

static enum content_size xfs(int fd, u64 *bytes)
{
	u8 sb[512];

	if (pread(fd, sb, sizeof(sb), 0) != sizeof(sb) || !get_be(sb + 4, 4))
		return SIZE_UNKNOWN;
	return known(get_be(sb + 8, 8), get_be(sb + 4, 4), bytes);
}

/* That of its one device; the sum of all is the same. */
static enum content_size btrfs(int fd, u64 *bytes)
{
	u8 sb[4096];
	u64 all, one;

	if (pread(fd, sb, sizeof(sb), 64 << 10) != sizeof(sb))
		return SIZE_UNKNOWN;
	all = get_le(sb + 0x70, 8);
	one = get_le(sb + 0xc9 + 8, 8);
	if (get_le(sb + 0x88, 8) != 1)
		return SIZE_SEVERAL;
	return known(max(all, one), 1, bytes);
}

static enum content_size swap_area(int fd, u64 *bytes, const struct fus_content *c)
{
	const u64 page = (c->sector[0] << 9) + c->offset[0] + 10;
	u8 header[1024];

	if (pread(fd, header, sizeof(header), 1024) != sizeof(header) || get_le(header, 4) != 1 ||
	    (page & (page - 1)) || page < 4096 || page > 65536)
		return SIZE_UNKNOWN;
	return known(get_le(header + 4, 4) + 1, page, bytes);
}

/* The header of a PV is behind its label, in one of the first sectors. */
static enum content_size lvm(int fd, u64 *bytes)
{
	u8 label[2048];
	u64 at;

	if (pread(fd, label, sizeof(label), 0) != sizeof(label))
		return SIZE_UNKNOWN;
	for (u32 i = 0; i < sizeof(label); i += 512) {
		if (memcmp(label + i, "LABELONE", 8))
			continue;
		at = get_le(label + i + 20, 4);
		if (at < 32 || at > 512 - 40)
			return SIZE_UNKNOWN;
		return known(get_le(label + i + at + 32, 8), 1, bytes);
	}
	return SIZE_UNKNOWN;
}

static bool get_number(struct json_object *o, const char *key, u64 *number)
{
	struct json_object *value;
	const char *text;

	if (!json_object_object_get_ex(o, key, &value))
		return false;
	text = json_object_get_string(value);
	if (!text || *text < '0' || *text > '9')
		return false;
	*number = strtoull(text, NULL, 10);
	return *number < UINT64_MAX / 2;
}

/* The end of each segment; one that is "dynamic" goes to the end of the device. */
static enum content_size luks_segments(const char *json, u64 *bytes)
{
	struct json_object *o = json_tokener_parse(json), *list;
	enum content_size result = SIZE_WHOLE;
	u64 size, offset;

	*bytes = 0;
	if (o && json_object_object_get_ex(o, "segments", &list) &&
	    json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, key, segment) {
			(void)key;
			result = SIZE_WHOLE;
			if (!json_object_is_type(segment, json_type_object) ||
			    !get_number(segment, "size", &size) ||
			    !get_number(segment, "offset", &offset))
				break;
			*bytes = max(*bytes, size + offset);
			result = *bytes ? SIZE_KNOWN : SIZE_WHOLE;
		}
	}
	json_object_put(o);
	return result;
}

static enum content_size luks(int fd, u64 *bytes)
{
	enum content_size result = SIZE_WHOLE;
	u8 head[4096];
	char *json;
	u64 size;

	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || get_be(head + 6, 2) < 2)
		return SIZE_WHOLE;
	size = get_be(head + 8, 8);
	if (size <= sizeof(head) || size > LUKS_MOST)
		return SIZE_WHOLE;
	size -= sizeof(head);
	json = calloc(1, size + 1);
	if (json && pread(fd, json, size, sizeof(head)) == (ssize_t)size)
		result = luks_segments(json, bytes);
	free(json);
	return result;
}

enum content_size fus_content_size(int fd, const struct fus_content *c, uint64_t *bytes)
{
	enum content_size result = SIZE_UNKNOWN;
	u64 size = 0;

	if (!*c->type)
		return SIZE_NOTHING;
	if (!strcmp(c->type, "ext2") || !strcmp(c->type, "ext3") || !strcmp(c->type, "ext4"))
		result = ext(fd, &size);
	else if (!strcmp(c->type, "xfs"))
		result = xfs(fd, &size);
	else if (!strcmp(c->type, "btrfs"))
		result = btrfs(fd, &size);
	else if (!strcmp(c->type, "swap"))
		result = swap_area(fd, &size, c);
	else if (!strcmp(c->type, "LVM2_member"))
		result = lvm(fd, &size);
	else if (!strcmp(c->type, "crypto_LUKS"))
		result = luks(fd, &size);
	*bytes = size;
	return result;
}

const char *fus_shrink_text(const char *type)
{
	static const struct {
		const char *type, *how;
	} list[] = {
		{ "ext2", "resize2fs" }, { "ext3", "resize2fs" }, { "ext4", "resize2fs" },
		{ "btrfs", "btrfs filesystem resize" },
		{ "LVM2_member", "pvresize --setphysicalvolumesize" },
		{ "crypto_LUKS", "cryptsetup resize, after what is in it" },
		{ "swap", "mkswap" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (!strcmp(list[i].type, type))
			return list[i].how;
	return "";
}
