// SPDX-License-Identifier: GPL-2.0-only
/* What the dump of a set says of its landing log: restore-landing.c reads it. */
#include <json-c/json.h>
#include <asm/byteorder.h>

#include "dump.h"
#include "geometry-json.h"
#include "json.h"
#include "meta-landing.h"

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

struct json_object *dump_landing(const struct fusion_sb *sb, const struct meta_log *log)
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
	return o;
}
