// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dump of a set that was just closed. If both members keep their data and lose their map, it is
 * the way back, as long as the set was not opened since: restore refuses it then.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "close-dump.h"
#include "device.h"
#include "dump.h"
#include "error.h"
#include "fusionctl.h"
#include "message.h"
#include "meta.h"
#include "numbered.h"
#include "super.h"

#define MAX_DUMPS	3

const char *dump_dir = DUMP_DIR;

static int write_text(const char *at, const char *uuid, const char *text, char path[PATH_MAX])
{
	char name[NUMBERED_NAME];
	int dir = fus_private_dir_below(at), err;

	if (dir < 0)
		return dir;
	err = fus_lock_dir(dir);
	if (!err)
		err = fus_numbered_add(dir, uuid, text, strlen(text), MAX_DUMPS, name);
	close(dir);
	if (!err)
		snprintf(path, PATH_MAX, "%s/%s", at, name);
	return err;
}

int close_dump_to(const char *dir, const struct meta *meta, char path[PATH_MAX])
{
	struct json_object *o = NULL;
	char uuid[UUID_TEXT];
	int rc;

	*path = 0;
	rc = dump_json(meta, true, &o);
	if (!rc)
		rc = write_text(dir, fus_uuid_text(uuid, meta->geo[FAST].set_uuid),
				json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), path);
	json_object_put(o);
	return rc;
}

static int dump_members(const dev_t member[2], char path[PATH_MAX])
{
	char node[2][160], *word[2] = { node[FAST], node[SLOW] };
	struct meta meta;
	int rc;

	for (int dev = 0; dev < 2; dev++)
		fus_device_node(member[dev], node[dev], sizeof(node[dev]));
	rc = fus_meta_open_to_look(2, word, &meta);
	if (rc)
		return rc;
	rc = close_dump_to(dump_dir, &meta, path);
	fus_meta_free(&meta);
	return rc;
}

void close_dump(const char *name, const dev_t member[2], char path[PATH_MAX])
{
	char why[FUS_ERROR_TEXT];
	int rc;

	*path = 0;
	if (geteuid())
		return;
	/* the set is closed, whatever becomes of this: an error is no more than a warning */
	fus_on_error(NULL);
	rc = dump_members(member, path);
	snprintf(why, sizeof(why), "%s", rc < 0 ? strerror(-rc) : fus_last_error()->what);
	messages_begin();
	/* it was opened again at once, or this is an initramfs */
	if (!rc || rc == FC_BUSY || rc == -ENOENT)
		return;
	fus_warn(name, "is closed; no dump of it could be written to %s: %s; to have one, run "
		 "fusionctl dump %s", dump_dir, why, name);
}
