// SPDX-License-Identifier: GPL-2.0-only
/* What create, format and adopt have in common: the two devices, and the plan of the new set. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "new-set.h"
#include "activate.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "host.h"
#include "landing-size.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "verb.h"
#include "dm-fusion-codec.h"

/* A set of the default size of extents has no more of them: 8 TiB in extents of 1 MiB. */
#define MOST_EXTENTS	(8U << 20)

int parse_extent_size(const char *text, u32 *sectors)
{
	uint64_t bytes = 0;

	*sectors = 0;
	if (!text)
		return 0;
	if (!fus_parse_size(text, &bytes))
		return fus_fail(FC_USAGE, text, "not a size; write e.g. --extent-size 1M");
	*sectors = bytes >> 9;
	if (bytes & (bytes - 1) || bytes < FUSION_MIN_EXTENT_SECTORS * 512ULL ||
	    bytes > FUSION_MAX_EXTENT_SECTORS * 512ULL)
		return fus_fail(FC_USAGE, text, "not an extent size; choose a power of two from "
				"64K to 16M");
	return 0;
}

int new_set_check_devices(const struct device dev[2])
{
	if (fus_device_same(&dev[0], &dev[1]))
		return fus_fail(FC_MEMBER, dev[1].path, "is on the same device as %s; name two "
				"different ones", dev[0].path);
	for (int i = 0; i < 2; i++) {
		if (dev[i].read_only)
			return fus_fail(FC_MEMBER, dev[i].path, "is read-only; choose a writable "
					"device");
		if (!fusion_block_size_fits(dev[i].block_bytes))
			return fus_fail(FC_MEMBER, dev[i].path, "has logical blocks of %u bytes, a "
					"member may have at most 4096; choose another device, or "
					"reformat it with smaller blocks, as nvme format does",
					dev[i].block_bytes);
	}
	return 0;
}

static void get_facts(const struct device dev[2], struct role_fact fact[2])
{
	for (int i = 0; i < 2; i++)
		fact[i] = (struct role_fact){ dev[i].sectors, dev[i].rotational };
}

int new_set_roles(struct device dev[2], bool silent, const char *remedy)
{
	struct role_fact fact[2];
	char why[160], size[2][SIZE_TEXT];
	struct device tmp;
	int slow;

	get_facts(dev, fact);
	slow = fus_choose_slow(fact, why, sizeof(why));
	if (slow < 0)
		return fus_fail(FC_REFUSED, dev[0].path, "cannot tell whether this device (%s) or "
				"%s (%s) is the slow one: %s; %s",
				fus_size_text(size[0], dev[0].sectors << 9), dev[1].path,
				fus_size_text(size[1], dev[1].sectors << 9), why, remedy);
	if (slow != SLOW) {
		tmp = dev[0];
		dev[0] = dev[1];
		dev[1] = tmp;
	}
	if (!silent)
		printf("fast is %s, slow is %s: %s\n", dev[FAST].path, dev[SLOW].path, why);
	return 0;
}

static const char *const doubt_name[NR_ROLE_DOUBTS] = {
	[ROLE_FAST_ROTATES] = "fast_rotational",
	[ROLE_FAST_LARGER] = "fast_larger",
	[ROLE_ONE_DISK] = "one_disk",
};

unsigned int new_set_doubts(const struct device dev[2])
{
	struct role_fact fact[2];

	get_facts(dev, fact);
	return fus_role_doubts(fact, dev[FAST].base == dev[SLOW].base);
}

static bool doubted(unsigned int doubts, enum role_doubt which)
{
	return doubts >> which & 1;
}

/* In one line, since it is about one choice; no reason to stop, as flags may lie. */
void new_set_tell_doubts(const char *name, const struct device dev[2], unsigned int doubts)
{
	char size[2][SIZE_TEXT], text[512] = "", disk[160];
	const char *and = "";
	size_t n = 0;

	if (doubted(doubts, ROLE_FAST_ROTATES)) {
		n += snprintf(text + n, sizeof(text) - n, "the fast member %s is a rotational disk",
			      dev[FAST].path);
		and = ", ";
	}
	if (doubted(doubts, ROLE_FAST_LARGER)) {
		n += snprintf(text + n, sizeof(text) - n, "%sthe fast member (%s) is larger than "
			      "the slow one (%s)", and,
			      fus_size_text(size[FAST], dev[FAST].sectors << 9),
			      fus_size_text(size[SLOW], dev[SLOW].sectors << 9));
		and = ", ";
	}
	if (doubted(doubts, ROLE_ONE_DISK)) {
		fus_device_node(dev[FAST].base, disk, sizeof(disk));
		snprintf(text + n, sizeof(text) - n, "%sboth members are on one disk, %s", and,
			 disk);
	}
	if (*text)
		fus_warn(name, "%s; check which devices are meant", text);
}

struct json_object *new_set_doubts_json(unsigned int doubts)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < NR_ROLE_DOUBTS; i++)
		if (doubted(doubts, i))
			json_object_array_add(list, json_object_new_string(doubt_name[i]));
	return list;
}

u32 new_set_extent(uint64_t sectors)
{
	u32 extent = FUSION_DEFAULT_EXTENT_SECTORS;

	while (sectors / extent > MOST_EXTENTS && extent < FUSION_MAX_EXTENT_SECTORS)
		extent *= 2;
	return extent;
}

int new_set_plan(const char *name, const struct device dev[2], u32 extent_sectors,
		 const char *landing, struct fusion_sb *sb)
{
	struct fusion_misfit misfit;
	u32 slots = 0;
	int err, rc;

	if (!extent_sectors)
		extent_sectors = new_set_extent(dev[FAST].sectors + dev[SLOW].sectors);
	err = fusion_sb_plan(sb, dev[FAST].sectors, dev[SLOW].sectors, extent_sectors,
			     &misfit);
	if (err == -ENOSPC)
		return fus_fail(FC_MEMBER, dev[misfit.dev].path, "%s; %s", misfit.what,
				extent_sectors == FUSION_MIN_EXTENT_SECTORS ? "use a larger "
				"device" : misfit.remedy);
	/* the size of an extent was looked at before */
	if (err)
		return fus_fail(FC_USAGE, name, "%s; %s", misfit.what, misfit.remedy);
	rc = landing ? fus_landing_slots(landing, sb, &slots) : 0;
	if (rc)
		return rc;
	/* the slow member has a list of what is in it */
	err = fusion_sb_plan_landing(sb, slots, &misfit);
	if (err)
		return fus_fail(FC_USAGE, landing, "%s; %s", misfit.what, misfit.remedy);
	uuid_generate_random(sb->set_uuid);
	uuid_generate_random(sb->dev_uuid);
	uuid_generate_random(sb->peer_uuid);
	memcpy(sb->label, name, strnlen(name, FUSION_LABEL_SIZE));
	fus_ident_set(&sb->self, &dev[FAST]);
	fus_ident_set(&sb->peer, &dev[SLOW]);
	sb->create_time = time(NULL);
	sb->write_time = sb->create_time;
	sb->activation = fus_super_new_activation();
	/* so that the machine that created it need not check whether another one has it open */
	fus_host_id(sb->host_id);
	gethostname(sb->host_name, FUSION_HOST_SIZE);
	sb->host_name[FUSION_HOST_SIZE] = 0;
	return 0;
}

void new_set_show_landing(const struct fusion_sb *sb, u32 slots)
{
	char size[SIZE_TEXT];

	printf("%s of the fast member are kept for a landing log; if that member is lost, small "
	       "writes that are not on the slow one yet are lost with it\n",
	       fus_slots_text(size, sb, slots));
}

int new_set_finish(const char *name, const struct device dev[2], bool and_open, bool json)
{
	struct member *fast, *slow = NULL;
	int rc;

	rc = fus_load_member(dev[FAST].path, &fast);
	if (!rc)
		rc = fus_load_member(dev[SLOW].path, &slow);
	if (!rc && !and_open)
		fus_opened_write(fast, slow);
	if (!rc && and_open)
		rc = open_set(name, fast, slow, false, NULL);
	if (!rc && and_open && !json)
		printf("/dev/mapper/%s is ready\n", name);
	fus_free_members(fast);
	fus_free_members(slow);
	return rc;
}
