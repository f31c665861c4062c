// SPDX-License-Identifier: GPL-2.0-only
/* Verb check: check the metadata of a closed set. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "fsck.h"
#include "fusionctl.h"
#include "host.h"
#include "json.h"
#include "meta.h"
#include "meta-shadow.h"
#include "output.h"
#include "role.h"
#include "size.h"
#include "super.h"
#include "text.h"
#include "verb.h"

int fsck_code(int rc)
{
	if (rc == FC_DAMAGED)
		return FSCK_ERRORS;
	return rc == FC_FAILED || rc == FC_MEMBER ? FSCK_FAILED : rc;
}

int fsck_result(const struct report *r)
{
	return r->count[LEVEL_ERROR] ? FSCK_ERRORS : r->count[LEVEL_WARNING] ? FSCK_MINOR : 0;
}

/* -- for people ------------------------------------------------------------------ */

static void set_name(const struct meta *meta, char *buf, size_t size)
{
	const char *label = meta->geo[FAST].label;

	if (meta->known && *label)
		fus_safe_text(buf, size, label, FUSION_LABEL_SIZE, fus_utf8_output());
	else
		snprintf(buf, size, "the set");
}

void report_print(const struct report *r, enum severity least)
{
	char text[320];

	for (unsigned int i = 0; i < r->nr; i++) {
		if (r->f[i].level < least)
			continue;
		fus_finding_text(&r->f[i], text, sizeof(text));
		printf("%s: %s\n", fus_level_name[r->f[i].level], text);
	}
}

/* A set that was closed cleanly no longer belongs to a machine. */
static void print_host(const struct meta *meta, const char *name)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST) ? fus_meta_sb(meta, FAST) :
				     fus_meta_sb(meta, SLOW);
	char text[HOST_TEXT];

	if (sb && !(sb->flags & FUSION_SB_CLEAN) && fus_host_text(sb, text, sizeof(text)))
		printf("%s was not closed by the machine %s\n", name, text);
}

static void print_shadows(const struct shadows *s, const char *name)
{
	char when[WHEN_TEXT];

	if (s->current)
		printf("%s has %u shadow%s as of %s\n", name, s->current, fus_plural(s->current),
		       fus_when_text(when, s->point));
	if (s->outdated)
		printf("%s has %u outdated shadow%s\n", name, s->outdated,
		       fus_plural(s->outdated));
}

static void print_landing(const struct landing_sum *l, const char *name)
{
	if (l->found)
		printf("%s has a landing log: %llu block%s in %u segment%s are newer than those of "
		       "the slow member; it ends with batch %llu, in segment %llu, block %u\n",
		       name, (unsigned long long)l->blocks, fus_plural(l->blocks), l->segments,
		       fus_plural(l->segments), (unsigned long long)l->at.seq,
		       (unsigned long long)l->at.segno, l->at.pos);
	if (l->found && !l->listed)
		printf("%s has no list of these blocks on the slow member: if the fast one is "
		       "lost, nothing tells which ones are outdated\n", name);
}

/* The remedy; repair needs both members, the two that are used together. */
static void print_remedy(const struct meta *meta, const struct report *r)
{
	for (int dev = 0; meta->known && dev < 2; dev++) {
		if (meta->m[dev].o.path)
			continue;
		printf("; connect the %s member, or see what the other one has: fusionctl salvage "
		       "%s\n", fus_role_name[dev], meta->m[!dev].o.path);
		return;
	}
	if (fus_has_landing(fus_meta_sb(meta, FAST)) && !r->landing.found) {
		puts("; repair cannot rebuild what tells of its landing log");
		return;
	}
	puts(fus_report_has(r, "past") ?
	     "; connect the current one, or see fusionctl help repair" :
	     "; fusionctl repair fixes what it can");
}

static void for_people(const struct meta *meta, const struct report *r, bool verbose)
{
	static const char *const verdict[] = { "is clean", "has warnings", "has errors" };
	int worst = r->count[LEVEL_ERROR] ? 2 : !!r->count[LEVEL_WARNING];
	char name[FUSION_LABEL_SIZE * 4 + 1];

	set_name(meta, name, sizeof(name));
	report_print(r, verbose ? LEVEL_NOTE : LEVEL_WARNING);
	print_host(meta, name);
	if (verbose)
		print_shadows(&r->shadows, name);
	print_landing(&r->landing, name);
	printf("%s %s: %u error%s, %u warning%s, %u note%s", name, verdict[worst],
	       r->count[LEVEL_ERROR], fus_plural(r->count[LEVEL_ERROR]),
	       r->count[LEVEL_WARNING], fus_plural(r->count[LEVEL_WARNING]),
	       r->count[LEVEL_NOTE], fus_plural(r->count[LEVEL_NOTE]));
	if (worst)
		print_remedy(meta, r);
	else
		puts("");
}

/* -- for programs ------------------------------------------------------------------- */

struct json_object *finding_json(const struct finding *f)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "level", fus_level_name[f->level]);
	fus_json_add_str(o, "member", f->dev == BOTH ? NULL : fus_role_name[f->dev]);
	if (f->block == NO_BLOCK)
		json_object_object_add(o, "block", NULL);
	else
		fus_json_add_u64(o, "block", f->block);
	fus_json_add_str(o, "what", f->what);
	fus_json_add_str(o, "text", f->text);
	return o;
}

static struct json_object *copy_json(const struct meta_copy *c, int copy, bool used)
{
	struct json_object *o = json_object_new_object();
	char text[FUSION_UNKNOWN_TEXT];

	fus_json_add_u64(o, "block", FUSION_SUPER_BLOCKNR(copy));
	fus_json_add_bool(o, "valid", !c->err);
	fus_json_add_bool(o, "used", used);
	fus_json_add_str(o, "reason", c->err ? fus_meta_copy_why(c, text) : NULL);
	if (!c->err)
		fus_json_add_u64(o, "generation", c->sb.generation);
	return o;
}

static struct json_object *member_json(const struct meta_member *m, int dev)
{
	struct json_object *o = json_object_new_object(), *copies = json_object_new_array();

	fus_json_add_str(o, "role", fus_role_name[dev]);
	fus_json_add_str(o, "device", m->o.path);
	for (int i = 0; i < 2 && m->o.path; i++)
		json_object_array_add(copies, copy_json(&m->copy[i], i, m->best == i));
	json_object_object_add(o, "superblocks", copies);
	return o;
}

static struct json_object *shadows_json(const struct shadows *s)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "current", s->current);
	fus_json_add_u64(o, "outdated", s->outdated);
	if (s->current && s->point)
		fus_json_add_u64(o, "time", s->point);
	else
		json_object_object_add(o, "time", NULL);
	return o;
}

static struct json_object *landing_json(const struct landing_sum *l)
{
	struct json_object *o;

	if (!l->found)
		return NULL;
	o = json_object_new_object();
	fus_json_add_u64(o, "segments", l->segments);
	fus_json_add_u64(o, "entries", l->entries);
	fus_json_add_u64(o, "blocks", l->blocks);
	fus_json_add_u64(o, "void_entries", l->void_entries);
	fus_json_add_u64(o, "batch", l->at.seq);
	fus_json_add_u64(o, "segment", l->at.segno);
	fus_json_add_u64(o, "block", l->at.pos);
	fus_json_add_bool(o, "stale_list", l->listed);
	return o;
}

static void for_programs(const struct meta *meta, const struct report *r)
{
	static const char *const verdict[] = { "clean", "warnings", "errors" };
	struct json_object *o = fus_json_base(), *members = json_object_new_array();
	struct json_object *found = json_object_new_array();
	char uuid[UUID_TEXT];

	fus_json_add_str(o, "result", verdict[r->count[LEVEL_ERROR] ? 2 :
					      !!r->count[LEVEL_WARNING]]);
	fus_json_add_str(o, "set", meta->known ? meta->geo[FAST].label : NULL);
	fus_json_add_str(o, "set_uuid", meta->known ?
			 fus_uuid_text(uuid, meta->geo[FAST].set_uuid) : NULL);
	fus_host_json(o, meta->known ? &meta->geo[FAST] : NULL);
	fus_json_add_u64(o, "errors", r->count[LEVEL_ERROR]);
	fus_json_add_u64(o, "warnings", r->count[LEVEL_WARNING]);
	fus_json_add_u64(o, "notes", r->count[LEVEL_NOTE]);
	for (int dev = 0; dev < 2; dev++)
		json_object_array_add(members, member_json(&meta->m[dev], dev));
	json_object_object_add(o, "members", members);
	json_object_object_add(o, "shadows", shadows_json(&r->shadows));
	json_object_object_add(o, "landing", landing_json(&r->landing));
	for (unsigned int i = 0; i < r->nr; i++)
		json_object_array_add(found, finding_json(&r->f[i]));
	json_object_object_add(o, "findings", found);
	print_json(o, false);
}

int cmd_check(const struct args *a)
{
	struct report r = { 0 };
	struct meta meta;
	int rc;

	rc = fus_meta_open_to_look(a->n, a->word, &meta);
	if (rc)
		return fsck_code(rc);
	fus_meta_check(&meta, &r);
	if (a->opt[OPT_JSON])
		for_programs(&meta, &r);
	else
		for_people(&meta, &r, a->opt[OPT_VERBOSE]);
	rc = fsck_result(&r);
	fus_report_free(&r);
	fus_meta_free(&meta);
	return rc;
}
