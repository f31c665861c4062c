// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the dump of a set says of its landing log, and of the list on the slow member of the blocks
 * that are newer there: restore-landing.c reads it, all but that list.
 */
#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <stdlib.h>
#include <asm/byteorder.h>

#include "dump.h"
#include "error.h"
#include "fusionctl.h"
#include "geometry-json.h"
#include "json.h"
#include "meta.h"
#include "meta-landing.h"
#include "meta-stale.h"

static void add_landed(struct json_object *o, const struct fusion_landed *landed)
{
	fus_json_add_u64(o, "batch", landed->seq);
	fus_json_add_u64(o, "segment", landed->segno);
	fus_json_add_u64(o, "block", landed->pos);
}

static void add_segment(struct json_object *o, const struct fusion_segment *seg)
{
	fus_json_add_u64(o, "segment", seg->segno);
	fus_json_add_u64(o, "slot", seg->slot);
	fus_json_add_u64(o, "end", seg->end);
}

void dump_landing_record(struct json_object *o, const struct fusion_record *rec)
{
	if (rec->op == FUSION_OP_LANDED)
		add_landed(o, &rec->landed);
	else
		add_segment(o, &rec->segment);
}

/* There may be millions of runs, so they are no objects, but become text when they are printed. */
struct stale_dump {
	struct stale_blocks list;
	u64 each;		/* blocks of an extent */
};

/* Runs of blocks that lie side by side in an extent. */
static int print_runs(struct json_object *o, struct printbuf *pb, int level, int flags)
{
	const struct stale_dump *d = json_object_get_userdata(o);
	const struct stale_blocks *list = &d->list;
	const bool pretty = flags & JSON_C_TO_STRING_PRETTY;
	const char *comma = "";
	u64 first, end;

	printbuf_strappend(pb, "[");
	for (size_t i = 0; i < list->nr;) {
		first = list->block[i];
		end = first;
		/* one may be there twice */
		while (i < list->nr && list->block[i] <= end &&
		       list->block[i] / d->each == first / d->each)
			end = list->block[i++] + 1;
		if (sprintbuf(pb, "%s%s%*s{ \"extent\": %llu, \"block\": %llu, \"blocks\": %llu }",
			      comma, pretty ? "\n" : " ", pretty ? 2 * (level + 1) : 0, "",
			      (unsigned long long)(first / d->each),
			      (unsigned long long)(first % d->each),
			      (unsigned long long)(end - first)) < 0)
			return -1;
		comma = ",";
	}
	if (*comma &&
	    sprintbuf(pb, "%s%*s", pretty ? "\n" : " ", pretty ? 2 * level : 0, "") < 0)
		return -1;
	return printbuf_strappend(pb, "]");
}

static void free_runs(struct json_object *o, void *userdata)
{
	struct stale_dump *d = userdata;

	(void)o;
	fus_stale_free(&d->list);
	free(d);
}

static int add_stale(struct json_object *o, const struct meta *meta, bool brief)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);
	struct json_object *list = NULL, *runs;
	struct stale_dump *d;
	int rc = 0;

	json_object_object_add(o, "stale_list", NULL);
	if (!slow || !slow->stale_places)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d || fus_stale_read(&meta->m[SLOW].o, slow, &d->list))
		rc = fus_fail(FC_FAILED, "memory", "not enough for the stale list; close programs "
			      "and try again");
	if (!d)
		return rc;
	d->each = slow->extent_sectors / FUSION_BLOCK_SECTORS;
	list = json_object_new_object();
	fus_json_add_u64(list, "slots", slow->stale_places);
	fus_json_add_bool(list, "found", d->list.scan.found);
	fus_json_add_bool(list, "whole", fusion_stale_whole(&d->list.scan));
	fus_json_add_bool(list, "complete", fusion_stale_closed(&d->list.scan, slow));
	fus_json_add_u64(list, "time", d->list.scan.head.time);
	fus_json_add_u64(list, "blocks", d->list.scan.nr_blocks);
	if (brief)
		d->list.nr = 0;
	runs = json_object_new_array();
	json_object_set_serializer(runs, print_runs, d, free_runs);
	json_object_object_add(list, "runs", runs);
	json_object_object_add(o, "stale_list", list);
	return rc;
}

int dump_landing(const struct meta *meta, const struct fusion_sb *sb, const struct meta_log *log,
		 bool brief, struct json_object **out)
{
	const u32 bytes = fusion_bitmap_bytes(sb->extent_sectors);
	struct json_object *o = json_object_new_object(), *list = json_object_new_array(), *one;
	__le64 key;

	fus_json_add_u64(o, "slots", sb->landing_slots);
	fus_json_add_u64(o, "stale_places", sb->stale_places);
	fus_json_add_u64(o, "stale_start", sb->stale_start);
	one = json_object_new_object();
	add_landed(one, &log->from);
	fus_json_add_u64(one, "checksum", log->from.csum);
	json_object_object_add(o, "landed", one);
	for (u32 i = 0; i < log->nr; i++) {
		one = json_object_new_object();
		add_segment(one, &log->seg[i]->seg);
		key = cpu_to_le64(log->seg[i]->seg.key);
		fus_json_add_hex(one, "key", &key, sizeof(key));
		fus_json_add_hex(one, "live", log->seg[i]->live, bytes);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "segments", list);
	*out = o;
	return add_stale(o, meta, brief);
}
