// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is pinned on a set: /etc/fusion/pins.d/UUID.json. The kernel has it as extents, in memory.
 * Here it is by file, as a file moves on the set when it is written again, and what is left of it
 * belongs to others then.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pins.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "json-field.h"
#include "new-file.h"
#include "numbered.h"
#include "role.h"
#include "dm-fusion-codec.h"

#define MAX_BYTES	(32U << 20)
#define FILE_NAME	(UUID_TEXT + 8)
#define MAX_EXTENT	(FUSION_MAX_LEXTS - 1)

const char *fus_pins_dir = PINS_DIR;

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the list of pins; close programs and "
			"try again");
}

/* -- the list --------------------------------------------------------------------------------- */

static void free_pin(struct pin *pin)
{
	free(pin->path);
}

void fus_pins_free(struct pins *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free_pin(&p->pin[i]);
	free(p->pin);
	p->pin = NULL;
	p->nr = 0;
}

int fus_pins_add(struct pins *p, const struct pin *pin)
{
	struct pin *more;
	char *path = NULL;

	if (p->nr == MAX_PINS)
		return fus_fail(FC_FAILED, pin->path ? pin->path : p->uuid, "a set has at most %d "
				"pins; pin a directory instead of its files", MAX_PINS);
	more = realloc(p->pin, (p->nr + 1) * sizeof(*more));
	if (more)
		p->pin = more;
	if (pin->path)
		path = strdup(pin->path);
	if (!more || (pin->path && !path)) {
		free(path);
		return no_memory();
	}
	more[p->nr] = *pin;
	more[p->nr++].path = path;
	return 0;
}

void fus_pins_remove(struct pins *p, size_t i)
{
	free_pin(&p->pin[i]);
	memmove(&p->pin[i], &p->pin[i + 1], (--p->nr - i) * sizeof(*p->pin));
}

int fus_pins_cut(struct pins *p, uint64_t first, uint64_t last, bool *any)
{
	struct pin rest;
	int rc = 0;

	*any = false;
	/* what is added at the end is not in the range */
	for (size_t i = p->nr; i-- && !rc;) {
		struct pin *pin = &p->pin[i];

		if (pin->path || pin->last < first || pin->first > last)
			continue;
		*any = true;
		rest = *pin;
		if (pin->first >= first && pin->last <= last) {
			fus_pins_remove(p, i);
		} else if (pin->first < first) {
			pin->last = first - 1;
			rest.first = last + 1;
			if (rest.last > last)
				rc = fus_pins_add(p, &rest);
		} else {
			pin->first = last + 1;
		}
	}
	return rc;
}

struct pin *fus_pins_find(const struct pins *p, const char *file_system, const char *handle)
{
	for (size_t i = 0; i < p->nr; i++)
		if (p->pin[i].path && !strcmp(p->pin[i].handle, handle) &&
		    !strcmp(p->pin[i].file_system, file_system))
			return &p->pin[i];
	return NULL;
}

/* -- reading ---------------------------------------------------------------------------------- */

static int copy_text(const struct json_source *s, struct json_object *o, const char *key,
		     char *buf, size_t size)
{
	const char *text = fus_field_text(o, key);

	if (!text || !*text || strlen(text) >= size)
		return fus_field_bad(s, key, "is missing, or of another kind");
	strcpy(buf, text);
	return 0;
}

static int parse_file(const struct json_source *s, struct json_object *o, struct pin *pin)
{
	struct json_object *recursive, *renamed;
	u64 inode = 0, missed = 0;
	int rc;

	pin->path = (char *)fus_field_text(o, "path");
	if (!pin->path || *pin->path != '/' || strlen(pin->path) >= MAX_PIN_PATH)
		return fus_field_bad(s, "path", "is not the path of a file");
	rc = copy_text(s, o, "file_system", pin->file_system, sizeof(pin->file_system));
	if (!rc)
		rc = copy_text(s, o, "handle", pin->handle, sizeof(pin->handle));
	if (!rc)
		rc = fus_field_u64(s, o, "inode", U64_MAX, &inode);
	if (!rc)
		rc = fus_field_u64(s, o, "missed", INT64_MAX, &missed);
	if (!rc)
		rc = fus_field_child(s, o, "recursive", json_type_boolean, &recursive);
	if (!rc)
		rc = fus_field_child(s, o, "renamed", json_type_boolean, &renamed);
	if (rc)
		return rc;
	pin->inode = inode;
	pin->missed = missed;
	pin->recursive = json_object_get_boolean(recursive);
	pin->renamed = json_object_get_boolean(renamed);
	return 0;
}

static int parse_extents(const struct json_source *s, struct json_object *o, struct pin *pin)
{
	u64 first = 0, last = 0;
	int rc = fus_field_u64(s, o, "first", MAX_EXTENT, &first);

	if (!rc)
		rc = fus_field_u64(s, o, "last", MAX_EXTENT, &last);
	if (!rc && first > last)
		rc = fus_field_bad(s, "last", "comes before the first one");
	pin->first = first;
	pin->last = last;
	return rc;
}

static int parse_pin(const struct json_source *s, struct json_object *o, struct pins *p)
{
	struct pin pin = { .member = -1 };
	const char *member;
	int rc;

	if (!json_object_is_type(o, json_type_object))
		return fus_field_bad(s, "pins", "one is not an object");
	member = fus_field_text(o, "member");
	for (int i = 0; i < 2; i++)
		if (member && !strcmp(member, fus_role_name[i]))
			pin.member = i;
	if (pin.member < 0)
		return fus_field_bad(s, "member", "is neither fast nor slow");
	rc = json_object_object_get_ex(o, "path", NULL) ? parse_file(s, o, &pin) :
							  parse_extents(s, o, &pin);
	return rc ? rc : fus_pins_add(p, &pin);
}

static int parse_all(const struct json_source *s, struct json_object *o, struct pins *p)
{
	const char *content = fus_field_text(o, "content"), *uuid = fus_field_text(o, "set_uuid");
	struct json_object *array;
	u64 version = 0;
	int rc;

	if (!content || strcmp(content, PINS_CONTENT))
		return fus_field_bad(s, "content", "is not that of a list of pins");
	rc = fus_field_u64(s, o, "version", INT64_MAX, &version);
	if (!rc && version != JSON_VERSION)
		return fus_fail(FC_FAILED, s->path, "is of version %llu; use the fusionctl that "
				"wrote it", (unsigned long long)version);
	if (!rc && (!uuid || strcmp(uuid, p->uuid)))
		rc = fus_field_bad(s, "set_uuid", "is that of another set");
	if (!rc)
		rc = fus_field_child(s, o, "pins", json_type_array, &array);
	for (size_t i = 0; !rc && i < json_object_array_length(array); i++)
		rc = parse_pin(s, json_object_array_get_idx(array, i), p);
	return rc;
}

static void file_path(const char *uuid, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s.json", fus_pins_dir, uuid);
}

int fus_pins_parse(const char *path, const char *text, struct pins *p)
{
	const struct json_source s = { .path = path, .remedy = "remove the file, and pin again" };
	struct json_object *o = json_tokener_parse(text);
	int rc = json_object_is_type(o, json_type_object) ? parse_all(&s, o, p) :
		 fus_fail(FC_FAILED, path, "is not JSON; %s", s.remedy);

	json_object_put(o);
	return rc;
}

int fus_pins_read(const char *uuid, struct pins *p)
{
	char path[PATH_MAX], *text;
	int rc;

	*p = (struct pins) { 0 };
	snprintf(p->uuid, sizeof(p->uuid), "%s", uuid);
	file_path(uuid, path);
	text = fus_file_text(AT_FDCWD, path, MAX_BYTES, NULL);
	if (!text && errno == ENOENT)
		return 0;
	if (!text)
		return fus_fail(FC_FAILED, path, "cannot read: %s; remove the file, and pin again",
				errno == EINVAL ? "it is not a file" : strerror(errno));
	rc = fus_pins_parse(path, text, p);
	free(text);
	return rc;
}

/* -- writing ---------------------------------------------------------------------------------- */

static struct json_object *pin_json(const struct pin *pin)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "member", fus_role_name[pin->member]);
	if (!pin->path) {
		fus_json_add_u64(o, "first", pin->first);
		fus_json_add_u64(o, "last", pin->last);
		return o;
	}
	/* byte for byte: it is read again */
	json_object_object_add(o, "path", json_object_new_string(pin->path));
	fus_json_add_str(o, "file_system", pin->file_system);
	fus_json_add_str(o, "handle", pin->handle);
	fus_json_add_u64(o, "inode", pin->inode);
	fus_json_add_u64(o, "missed", pin->missed);
	fus_json_add_bool(o, "recursive", pin->recursive);
	fus_json_add_bool(o, "renamed", pin->renamed);
	return o;
}

static int write_to(int dir, const char *name, const struct pins *p)
{
	struct json_object *o = fus_json_base(), *array = json_object_new_array();
	const char *text;
	size_t size;
	int err;

	fus_json_add_str(o, "content", PINS_CONTENT);
	fus_json_add_str(o, "set_uuid", p->uuid);
	for (size_t i = 0; i < p->nr; i++)
		json_object_array_add(array, pin_json(&p->pin[i]));
	json_object_object_add(o, "pins", array);
	text = json_object_to_json_string_length(o, JSON_C_TO_STRING_PRETTY, &size);
	/* it could not be read again */
	err = !text ? -ENOMEM : size > MAX_BYTES ? -E2BIG : fus_new_file(dir, name, text, size);
	json_object_put(o);
	return err;
}

int fus_pins_write(const struct pins *p)
{
	int dir = fus_private_dir_below(fus_pins_dir), err = dir;
	char name[FILE_NAME], path[PATH_MAX];

	snprintf(name, sizeof(name), "%s.json", p->uuid);
	file_path(p->uuid, path);
	if (dir >= 0 && p->nr)
		err = write_to(dir, name, p);
	else if (dir >= 0)
		err = unlinkat(dir, name, 0) && errno != ENOENT ? -errno : fsync(dir) ? -errno : 0;
	if (dir >= 0)
		close(dir);
	if (err == -E2BIG)
		return fus_fail(FC_FAILED, path, "would be larger than %u MiB; pin directories "
				"instead of their files", MAX_BYTES >> 20);
	return err ? fus_fail(FC_FAILED, path, "cannot write: %s; see df and the permissions of "
			      "its directory", strerror(-err)) : 0;
}
