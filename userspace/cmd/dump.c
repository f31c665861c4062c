// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb dump: the metadata of a closed set as JSON. restore reads the identity, the geometry, the
 * map and the bitmaps. From superblocks and journals it takes only how far they had got.
 * Documentation/reference/json.rst describes the fields.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "error.h"
#include "fusionctl.h"
#include "geometry-json.h"
#include "host.h"
#include "json.h"
#include "meta.h"
#include "meta-shadow.h"
#include "new-output.h"
#include "output.h"
#include "role.h"
#include "verb.h"

/* As JSON some 8 MB; building it takes 150 MB of memory, and half a second of a processor. */
#define MAX_BRIEF_RUNS	0x20000U

static struct json_object *add_object(struct json_object *o, const char *key)
{
	struct json_object *sub = json_object_new_object();

	json_object_object_add(o, key, sub);
	return sub;
}

static struct json_object *add_array(struct json_object *o, const char *key)
{
	struct json_object *sub = json_object_new_array();

	json_object_object_add(o, key, sub);
	return sub;
}

/* -- identity, geometry ---------------------------------------------------- */

static void add_identity(struct json_object *o, const struct fusion_sb *sb)
{
	fus_geometry_json(o, sb);
	fus_json_add_u64(o, "epoch", sb->epoch);
	fus_host_json(o, sb);
}

/* -- the map --------------------------------------------------------------------------- */

static void add_word(struct json_object *o, u32 word)
{
	fus_json_add_str(o, "member", fus_role_name[fusion_word_dev(word)]);
	fus_json_add_u64(o, "slot", fusion_word_slot(word));
	if (fusion_names_shadow(word))
		fus_json_add_str(o, "shadow", fusion_word_state(word) == (u32)FUSION_SHADOW ?
				 "current" : "outdated");
	else if (fusion_word_state(word) == FUSION_OPEN)
		fus_json_add_bool(o, "open", true);
}

/*
 * Runs of extents on consecutive slots; extents in no run are unmapped, or lost. @shadows: those
 * that the replica names instead.
 */
static void add_runs(struct json_object *map, const struct meta_state *st, bool shadows)
{
	struct json_object *run;
	u32 lext, nr;

	for (lext = 0; lext < st->nr_lexts; lext += nr) {
		const u32 word = st->word[lext];

		nr = 1;
		if (shadows ? !fusion_names_shadow(word) : !fus_word_is_place(word))
			continue;
		while (lext + nr < st->nr_lexts && st->word[lext + nr] == word + nr &&
		       fusion_word_mapped(word + nr))
			nr++;
		run = json_object_new_object();
		fus_json_add_u64(run, "first", lext);
		fus_json_add_u64(run, "extents", nr);
		add_word(run, word);
		json_object_array_add(map, run);
	}
}

/* Runs of extents that are lost as a whole. */
static void add_lost(struct json_object *o, const struct meta_state *st)
{
	struct json_object *list = add_array(o, "lost"), *run;
	u32 lext, nr;

	for (lext = 0; lext < st->nr_lexts; lext += nr) {
		nr = 1;
		if (!fusion_word_lost(st->word[lext]))
			continue;
		while (lext + nr < st->nr_lexts && fusion_word_lost(st->word[lext + nr]))
			nr++;
		run = json_object_new_object();
		fus_json_add_u64(run, "first", lext);
		fus_json_add_u64(run, "extents", nr);
		json_object_array_add(list, run);
	}
}

/* What the replica says beside the map, to be looked at: restore makes another replica. */
static int add_shadows(struct json_object *o, const struct meta *meta, bool brief)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);
	struct json_object *runs = add_array(o, "shadows");
	struct meta_state st = { 0 };
	int rc = 0;

	if (slow && slow->incompat & FUSION_INCOMPAT_SHADOW && !brief) {
		rc = fus_state_init(&st, meta->geo[SLOW].nr_lexts);
		if (!rc && fus_state_load(meta, slow, &st, NULL))
			add_runs(runs, &st, true);
	}
	if (json_object_array_length(runs) && st.point)
		fus_json_add_u64(o, "shadow_time", st.point);
	else
		json_object_object_add(o, "shadow_time", NULL);
	fus_state_free(&st);
	return rc;
}

static int add_landing(struct json_object *o, const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_log *log, bool brief)
{
	struct json_object *landing;
	int rc = dump_landing(meta, sb, log, brief, &landing);

	json_object_object_add(o, "landing", landing);
	return rc;
}

static void add_opens(struct json_object *o, const struct meta_state *st, u32 bitmap_bytes)
{
	struct json_object *list = add_array(o, "open"), *one;

	for (u32 i = 0; i < st->nr_open; i++) {
		one = json_object_new_object();
		fus_json_add_u64(one, "extent", st->open[i]->lext);
		fus_json_add_hex(one, "valid", st->open[i]->bitmap, bitmap_bytes);
		if (st->open[i]->lost)
			fus_json_add_bool(one, "lost", true);
		json_object_array_add(list, one);
	}
}

/* Runs of equal heat above 0, from any time at which it was saved, as the kernel loads it. */
static void add_heat(struct json_object *o, const struct meta *meta)
{
	struct json_object *list = add_array(o, "heat"), *run;
	const u32 lexts = meta->geo[FAST].nr_lexts;
	const u16 *heat = meta->m[FAST].heat;
	u32 lext, nr;

	for (lext = 0; lext < lexts; lext += nr) {
		nr = 1;
		while (lext + nr < lexts && heat[lext + nr] == heat[lext])
			nr++;
		if (!heat[lext])
			continue;
		run = json_object_new_object();
		fus_json_add_u64(run, "first", lext);
		fus_json_add_u64(run, "extents", nr);
		fus_json_add_u64(run, "heat", heat[lext]);
		json_object_array_add(list, run);
	}
}

/* -- to be looked at ------------------------------------------------------------------------ */

static void add_super(struct json_object *list, const struct meta_copy *c, int copy)
{
	struct json_object *o = json_object_new_object();
	const struct fusion_sb *sb = &c->sb;
	char text[FUSION_UNKNOWN_TEXT];

	fus_json_add_u64(o, "block", FUSION_SUPER_BLOCKNR(copy));
	fus_json_add_str(o, "error", c->err ? fus_meta_copy_why(c, text) : NULL);
	if (!c->err) {
		fus_json_add_u64(o, "generation", sb->generation);
		fus_json_add_bool(o, "clean", sb->flags & FUSION_SB_CLEAN);
		fus_json_add_bool(o, "needs_check", sb->flags & FUSION_SB_NEEDS_CHECK);
		fus_json_add_u64(o, "epoch", sb->epoch);
		fus_json_add_u64(o, "active_set", sb->active_set);
		fus_json_add_u64(o, "set_generation", sb->set_generation);
		fus_json_add_u64(o, "replay_seq", sb->replay_seq);
		fus_json_add_u64(o, "replay_txn", sb->replay_txn);
		fus_json_add_u64(o, "replay_csum", sb->replay_csum);
	}
	json_object_array_add(list, o);
}

static void add_place(struct json_object *o, const char *key, u32 word)
{
	if (fusion_word_mapped(word) && word != FUSION_WORD_AWAY)
		add_word(add_object(o, key), word);
	else
		json_object_object_add(o, key, NULL);
}

static int add_record(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	static const char *const op[FUSION_OP_LANDED + 1] = {
		"", "open", "stable", "move", "unmap", "away", "shadow", "point",
		"partly-lost", "segment", "segment-free", "landed",
	};
	/* some are about no extent */
	const bool place = rec->op != FUSION_OP_POINT && !fusion_op_is_landing(rec->op);
	struct json_object *o = json_object_new_object();

	(void)t;
	fus_json_add_str(o, "op", op[rec->op]);
	fus_json_add_u64(o, "extent", rec->lext);
	add_place(o, "old", place ? rec->old : FUSION_WORD_UNMAPPED);
	add_place(o, "new", place ? rec->new : FUSION_WORD_UNMAPPED);
	if (rec->op == FUSION_OP_POINT)
		fus_json_add_u64(o, "time", fus_record_point(rec));
	if (fusion_op_is_landing(rec->op))
		dump_landing_record(o, rec);
	json_object_array_add(ctx, o);
	return 0;
}

static int add_journal(struct json_object *list, const struct meta *meta, int dev, bool brief)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);
	struct meta_journal j;
	int rc;

	rc = fus_journal_list(meta, dev, &j);
	for (u32 i = brief && j.nr ? j.nr - 1 : 0; i < j.nr && !rc; i++) {
		const struct meta_txn *t = &j.t[i];
		struct json_object *o = json_object_new_object(), *records;

		fus_json_add_u64(o, "transaction", t->txn);
		fus_json_add_u64(o, "seq", t->seq);
		fus_json_add_u64(o, "blocks", t->count);
		fus_json_add_u64(o, "epoch", t->epoch);
		fus_json_add_bool(o, "replayed", sb && t->seq >= sb->replay_seq);
		records = add_array(o, "records");
		if (!brief)
			fus_journal_apply(meta, dev, t, add_record, records);
		json_object_array_add(list, o);
	}
	fus_journal_free(&j);
	return rc;
}

/* The superblocks and journals, member by member. */
static int add_raw(struct json_object *o, const struct meta *meta, bool brief)
{
	struct json_object *supers = add_object(o, "superblocks"), *list;
	struct json_object *journals = add_object(o, "journals");
	int rc = 0;

	for (int dev = 0; dev < 2 && !rc; dev++) {
		if (meta->m[dev].o.fd < 0)
			continue;
		list = add_array(supers, fus_role_name[dev]);
		for (int i = 0; i < 2; i++)
			add_super(list, &meta->m[dev].copy[i], i);
		rc = add_journal(add_array(journals, fus_role_name[dev]), meta, dev, brief);
	}
	return rc;
}

/* ------------------------------------------------------------------------------------------- */

static u32 count_runs(const struct meta_state *st)
{
	u32 runs = st->nr_open;

	for (u32 i = 0; i < st->nr_lexts; i++)
		runs += fusion_word_mapped(st->word[i]) &&
			(!i || st->word[i] != st->word[i - 1] + 1);
	return runs;
}

int dump_json(const struct meta *meta, bool brief, struct json_object **out)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST);
	const char *path = meta->m[FAST].o.path ? meta->m[FAST].o.path : meta->m[SLOW].o.path;
	struct json_object *o;
	struct report r = { 0 };
	struct meta_state st;
	char text[320];
	int rc;

	if (!sb && !meta->m[FAST].o.path)
		return fus_fail(FC_MEMBER, path, "the fast member, which has the map, is missing; "
				"connect it, or see what this one has: fusionctl salvage %s", path);
	if (!sb)
		return fus_fail(meta->m[FAST].o.path ? FC_DAMAGED : FC_MEMBER, path, "there is no "
				"valid superblock of the fast member, which has the map; name that "
				"member, or see fusionctl help repair");
	rc = fus_state_init(&st, sb->nr_lexts);
	if (rc)
		return rc;
	if (!fus_state_load(meta, sb, &st, &r)) {
		fus_finding_text(fus_report_worst(&r), text, sizeof(text));
		rc = fus_fail(FC_DAMAGED, path, "%s; run fusionctl repair first", text);
	}
	fus_report_free(&r);
	if (!rc && brief && count_runs(&st) > MAX_BRIEF_RUNS)
		rc = fus_fail(FC_FAILED, path, "its map has %u runs of extents; run fusionctl dump",
			      count_runs(&st));
	o = rc ? NULL : fus_json_base();
	if (o) {
		fus_json_add_str(o, "content", DUMP_CONTENT);
		add_identity(o, &meta->geo[FAST]);
		add_runs(add_array(o, "map"), &st, false);
		add_opens(o, &st, fusion_bitmap_bytes(sb->extent_sectors));
		add_lost(o, &st);
		if (brief)
			add_array(o, "heat");
		else
			add_heat(o, meta);
		if (fus_has_landing(sb))
			rc = add_landing(o, meta, sb, &st.log, brief);
		if (!rc)
			rc = add_shadows(o, meta, brief);
		if (!rc)
			rc = add_raw(o, meta, brief);
	}
	fus_state_free(&st);
	*out = o;
	return rc;
}

static int write_json(struct new_output *t, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_SPACED |
							  JSON_C_TO_STRING_NOSLASHESCAPE);

	return text ? new_output_write(t, text) :
	       fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
}

int cmd_dump(const struct args *a)
{
	struct new_output t = { .fd = -1 };
	struct json_object *o = NULL;
	struct meta meta;
	int rc;

	rc = a->opt[OPT_OUTPUT] ? new_output_open(a->opt[OPT_OUTPUT], 0600, &t) : 0;
	if (!rc)
		rc = fus_meta_open_to_look(a->n, a->word, &meta);
	if (!rc) {
		rc = fus_meta_refuse_unknown(&meta);
		if (rc)
			fus_meta_free(&meta);
	}
	if (rc) {
		new_output_drop(&t);
		return rc;
	}
	rc = dump_json(&meta, false, &o);
	if (!rc && a->opt[OPT_OUTPUT])
		rc = write_json(&t, o);
	else if (!rc)
		print_json(json_object_get(o), false);
	new_output_drop(&t);
	json_object_put(o);
	fus_meta_free(&meta);
	return rc;
}
