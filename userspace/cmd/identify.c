// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb probe: show which member of which set a device is, for people, programs and a udev rule. The
 * rule runs it on every new disk: it reads two blocks and writes nothing.
 */
#include <blkid/blkid.h>
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "identify.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "list.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "text.h"
#include "trio.h"
#include "verb.h"
#include "dm-fusion-codec.h"

/*
 * As udev does with what it finds by itself: a value to be read, of harmless characters only,
 * and one that tells everything and may be part of the name of a link.
 */
static void udev_text(const char *key, const char *value)
{
	char text[4 * FUSION_LABEL_SIZE + 1];

	if (!*value || blkid_encode_string(value, text, sizeof(text)))
		return;
	printf("%s_ENC=%s\n", key, text);
	snprintf(text, sizeof(text), "%s", value);
	for (char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("#+-.:=@_/,", *p))
			*p = '_';
	printf("%s=%s\n", key, text);
}

static int show_udev(const struct member *m)
{
	char uuid[UUID_TEXT];

	/* not a file system: no links by-uuid and by-label to a member, they are the set's */
	puts("ID_FS_TYPE=fusion_member\nID_FS_USAGE=raid");
	if (!fus_has_identity(m) && m->state != MEMBER_PREPARED)
		return 0;
	printf("ID_FS_VERSION=%d\n", FUSION_VERSION);
	udev_text("ID_FS_UUID", fus_uuid_text(uuid, m->sb->set_uuid));
	udev_text("ID_FS_UUID_SUB", fus_uuid_text(uuid, m->sb->dev_uuid));
	udev_text("ID_FS_LABEL", m->sb->label);
	printf("ID_FUSION_ROLE=%s\n", fus_role_name[m->sb->role]);
	return 0;
}

static struct json_object *disk_json(int role, const unsigned char dev_uuid[16],
				     const struct fusion_disk_ident *ident, uint64_t sectors)
{
	struct json_object *o = json_object_new_object();
	char uuid[UUID_TEXT], text[FUSION_IDENT_SIZE + 1] = "";

	fus_json_add_str(o, "role", fus_role_name[role]);
	fus_json_add_str(o, "device_uuid", fus_uuid_text(uuid, dev_uuid));
	memcpy(text, ident->model, FUSION_IDENT_SIZE);
	fus_json_add_str(o, "model", text);
	memcpy(text, ident->serial, FUSION_IDENT_SIZE);
	fus_json_add_str(o, "serial", text);
	fus_json_add_u64(o, "bytes", sectors << 9);
	return o;
}

struct json_object *peer_json(const struct fusion_sb *sb)
{
	return disk_json(!sb->role, sb->peer_uuid, &sb->peer, sb->peer_sectors);
}

struct json_object *old_json(const struct fusion_sb *sb)
{
	return sb->incompat & FUSION_INCOMPAT_OLD_MEMBER ?
	       disk_json(sb->old.dev, sb->old.uuid, &sb->old.ident, sb->old.sectors) : NULL;
}

static int show_json(const struct member *m)
{
	struct json_object *o = fus_json_base();
	char uuid[UUID_TEXT];
	const struct fusion_sb *sb = m->sb;

	fus_json_add_str(o, "device", m->path);
	fus_json_add_u64(o, "bytes", m->sectors << 9);
	fus_json_add_str(o, "state", member_state_text(m));
	fus_json_add_str(o, "reason", m->why);
	fus_json_add_str(o, "set", sb->label);
	fus_json_add_str(o, "role", fus_role_name[sb->role]);
	fus_json_add_str(o, "set_uuid", fus_uuid_text(uuid, sb->set_uuid));
	fus_json_add_str(o, "device_uuid", fus_uuid_text(uuid, sb->dev_uuid));
	fus_json_add_u64(o, "generation", sb->generation);
	fus_json_add_u64(o, "epoch", sb->epoch);
	fus_json_add_bool(o, "clean", sb->flags & FUSION_SB_CLEAN);
	fus_json_add_u64(o, "extent_bytes", (uint64_t)sb->extent_sectors << 9);
	json_object_object_add(o, "peer", peer_json(sb));
	json_object_object_add(o, "old", m->state == MEMBER_OK ? old_json(sb) : NULL);
	print_json(o, false);
	return 0;
}

static void line(const char *key, const char *value, const unsigned char uuid[16])
{
	char text[UUID_TEXT], safe[512];

	fus_safe_text(safe, sizeof(safe), value, SIZE_MAX, fus_utf8_output());
	printf("%-8s %s, uuid %s\n", key, safe, fus_uuid_text(text, uuid));
}

static int show(const struct member *m)
{
	char text[256], size[SIZE_TEXT];
	const struct fusion_sb *sb = m->sb;

	line("set", sb->label, sb->set_uuid);
	snprintf(text, sizeof(text), "%s, %s", fus_role_name[sb->role],
		 fus_size_text(size, m->sectors << 9));
	line("member", text, sb->dev_uuid);
	snprintf(text, sizeof(text), "%s, ", fus_role_name[!sb->role]);
	fus_missing_text(m, text + strlen(text), sizeof(text) - strlen(text));
	line("partner", text, sb->peer_uuid);
	if (m->state == MEMBER_OK && sb->incompat & FUSION_INCOMPAT_OLD_MEMBER) {
		snprintf(text, sizeof(text), "%s, ", fus_role_name[sb->old.dev]);
		fus_old_text(sb, text + strlen(text), sizeof(text) - strlen(text));
		line("replaces", text, sb->old.uuid);
	}
	printf("%-8s %s\n", "state", m->state == MEMBER_TRANSIT ? m->why : member_state_text(m));
	return 0;
}

int probe_member(const char *path, struct member **m, char *content, size_t size)
{
	struct device dev;
	int rc, err;

	*m = NULL;
	*content = 0;
	rc = fus_device_get(path, &dev);
	if (rc)
		return rc;
	err = fus_member_at(dev.devno, m);
	fus_device_put(&dev);
	if (err == -EAGAIN)
		return fus_fail(FC_BUSY, path, "is suspended; %s",
				fus_suspended_remedy("resume it with dmsetup resume"));
	if (err)
		return fus_fail(FC_FAILED, path, "cannot read: %s; check the device",
				strerror(-err));
	if (*m && (*m)->state == MEMBER_COVERED) {
		snprintf(content, size, "%s", (*m)->cover);
		fus_free_members(*m);
		*m = NULL;
	}
	return 0;
}

int cmd_probe(const struct args *a)
{
	bool udev = a->opt[OPT_UDEV], json = a->opt[OPT_JSON];
	const char *path = a->word[0];
	char content[512];
	struct member *m;
	int rc;

	if (udev && json)
		return fus_fail(FC_USAGE, "--udev", "cannot be combined with --json; choose one");
	rc = probe_member(path, &m, content, sizeof(content));
	if (rc)
		return rc;
	/* the rule asks about every disk, so a disk that is no member is not worth a message */
	if (!m && udev)
		return FC_MEMBER;
	if (!m)
		return fus_fail(FC_MEMBER, path, "not a member of a fusion set%s%s; fusionctl list "
				"shows the members", *content ? ", it contains " : "", content);
	if (udev)
		rc = m->state == MEMBER_DAMAGED ? FC_DAMAGED : show_udev(m);
	else if (!fus_has_super(m))
		rc = fus_check_member(m);
	else
		rc = json ? show_json(m) : show(m);
	fus_free_members(m);
	return rc;
}
