// SPDX-License-Identifier: GPL-2.0-only
/* --files: the files of a file system that lie in lost areas of a set. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hit-files.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "salvage.h"
#include "show-progress.h"

static void print_hit(void *ctx, const char *path, u64 inode)
{
	(void)ctx;
	progress_hide();
	printf("hit: inode %llu: %s\n", (unsigned long long)inode, path);
}

static void json_hit(void *ctx, const char *path, u64 inode)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "path", path);
	fus_json_add_u64(o, "inode", inode);
	json_object_array_add(ctx, o);
}

int list_hit_files(const char *path, const struct salvage *s, struct json_object *o)
{
	struct json_object *list = NULL, *sum;
	struct files_unknown unknown = { 0 };
	struct stat st;
	hit_fn fn = o ? json_hit : print_hit;
	int rc;

	if (stat(path, &st))
		return fus_fail(FC_FAILED, path, "%s; name a device, an image or a mount point",
				strerror(errno));
	if (o) {
		list = json_object_new_array();
		json_object_object_add(o, "files", list);
	}
	rc = S_ISDIR(st.st_mode) ? fus_salvage_mount(path, s, fn, list, &unknown) :
	     fus_salvage_ext(path, s, fn, list, &unknown);
	if (o) {
		sum = json_object_new_object();
		fus_json_add_u64(sum, "inodes", unknown.inodes);
		fus_json_add_u64(sum, "files", unknown.files);
		fus_json_add_u64(sum, "directories", unknown.directories);
		json_object_object_add(o, "files_unknown", sum);
	} else if (unknown.inodes || unknown.files || unknown.directories) {
		printf("metadata of the file system is hit as well: %llu inodes, the block lists "
		       "of %llu files and %llu directories cannot be read\n",
		       (unsigned long long)unknown.inodes, (unsigned long long)unknown.files,
		       (unsigned long long)unknown.directories);
	}
	if (unknown.journal && !rc)
		fus_warn(path, "its journal is not replayed, so files of the last seconds may be "
			 "missing from the list; run fsck on a copy, mount that, and give the "
			 "mount point");
	return rc;
}
