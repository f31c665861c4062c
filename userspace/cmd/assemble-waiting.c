// SPDX-License-Identifier: GPL-2.0-only
/* assemble --waiting: members that wait for the other one of their set. */
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include "assemble.h"
#include "dm.h"
#include "identify.h"
#include "json.h"
#include "output.h"
#include "role.h"
#include "scan.h"
#include "text.h"
#include "dm-fusion-codec.h"

static void add_json(struct json_object *array, const struct pair *p)
{
	const struct member *m = p->m;
	struct json_object *o = json_object_new_object();
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "set", m->sb->label);
	fus_json_add_str(o, "set_uuid", fus_uuid_text(uuid, m->sb->set_uuid));
	fus_json_add_str(o, "device", m->path);
	fus_json_add_str(o, "role", fus_role_name[m->sb->role]);
	json_object_object_add(o, "missing", p->peer ? old_json(m->sb) : peer_json(m->sb));
	json_object_array_add(array, o);
}

static void print_waiting(const struct pair *p)
{
	char text[512], line[640], safe[1280];

	waits_text(p, text, sizeof(text));
	snprintf(line, sizeof(line), "%s: %s", p->m->sb->label, text);
	puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
}

/*
 * For the user of an initramfs shell, which has no manual and a PATH of its own, and for the log of
 * a system in which only one member appeared.
 */
static void print_remedies(bool lacking, bool closed)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		n = snprintf(self, sizeof(self), "fusionctl");
	self[n] = 0;
	if (closed)
		printf("nofusion is on the kernel's command line, so sets stay closed; open them: "
		       "%s assemble --scan\n", self);
	if (lacking) {
		printf("connect the missing disk, then:  %s assemble --scan\n", self);
		printf("if it is lost, see what is left: %s salvage DEVICE\n", self);
	}
	if (closed || lacking)
		puts("then continue the boot with:  exit");
}

int list_waiting(bool json, bool remedies)
{
	struct json_object *array = json ? json_object_new_array() : NULL, *o;
	struct member *list;
	struct mapping map;
	struct pair p;
	bool lacking = false, closed = false;
	int rc, one;

	rc = fus_scan_members(&list);
	for (struct member *m = list; m; m = m->next) {
		if (!fus_has_identity(m) || m->state == MEMBER_TRANSIT || !begins_set(list, m))
			continue;
		one = get_mapping(m, &map);
		if (!one && map.exists)
			continue;
		if (!one)
			one = find_pair(list, m, &p);
		rc = rc ? rc : one;
		if (one || !p.m || (!p.peer && fus_renewed_of(list, p.m)))
			continue;
		if (is_complete(&p))
			closed = true;
		else
			lacking = true;
		if (json && !is_complete(&p))
			add_json(array, &p);
		else if (!is_complete(&p))
			print_waiting(&p);
	}
	if (json) {
		o = fus_json_base();
		json_object_object_add(o, "waiting", array);
		print_json(o, false);
	} else if (remedies) {
		print_remedies(lacking, closed && assembly_turned_off());
	}
	fus_free_members(list);
	return rc;
}
