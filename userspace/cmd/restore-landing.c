// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb restore: the landing log in a saved dump. What is in the log lies in slots of the fast
 * member, and the dump says which blocks of these count. So it has to be there still.
 */
#include <json-c/json.h>
#include <string.h>
#include <asm/byteorder.h>

#include "restore.h"
#include "error.h"
#include "fusionctl.h"
#include "json-field.h"
#include "size.h"

/* A record as a journal may have it, with its bounds. */
static int add_record(struct dump *d, const char *key, const struct fusion_record *rec)
{
	char buf[FUSION_JOURNAL_PAYLOAD];
	struct fusion_record checked = { .op = rec->op };
	const char *why;

	fusion_landing_record_pack(&d->sb, rec, buf);
	if (fusion_landing_record_unpack(&d->sb, buf, sizeof(buf), &checked, &why))
		return fus_field_bad(&d->source, key, why);
	return !fus_log_apply(&d->st.log, &d->sb, &checked) ? 0 :
	       fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
}

static int read_landed(struct dump *d, struct json_object *landing)
{
	struct fusion_record rec = { .op = FUSION_OP_LANDED };
	struct json_object *o;
	int rc;

	rc = fus_field_child(&d->source, landing, "landed", json_type_object, &o);
	if (!rc)
		rc = fus_field_u64(&d->source, o, "batch", INT64_MAX, &rec.landed.seq);
	if (!rc)
		rc = fus_field_u64(&d->source, o, "segment", INT64_MAX, &rec.landed.segno);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "block", U32_MAX, &rec.landed.pos);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "checksum", U32_MAX, &rec.landed.csum);
	if (rc || fusion_landed_nowhere(&rec.landed))
		return rc;
	return add_record(d, "landed", &rec);
}

static int read_segment(struct dump *d, struct json_object *o)
{
	u8 live[FUSION_MAX_EXTENT_SECTORS / FUSION_BLOCK_SECTORS / 8] = { 0 };
	struct fusion_record rec = { .op = FUSION_OP_SEGMENT, .segment.live = live };
	struct fusion_segment *seg = &rec.segment;
	__le64 key = 0;
	int rc;

	rc = fus_field_u64(&d->source, o, "segment", INT64_MAX, &seg->segno);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "slot", U32_MAX, &seg->slot);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "end", U16_MAX, &seg->end);
	if (!rc)
		rc = fus_field_hex(&d->source, o, "key", &key, sizeof(key));
	if (!rc)
		rc = fus_field_hex(&d->source, o, "live", live,
				   fusion_bitmap_bytes(d->sb.extent_sectors));
	seg->key = le64_to_cpu(key);
	return rc ? rc : add_record(d, "segments", &rec);
}

int dump_parse_landing(struct dump *d)
{
	struct json_object *landing, *list, *o;
	int rc;

	if (!fus_has_landing(&d->sb))
		return 0;
	rc = fus_field_child(&d->source, d->o, "landing", json_type_object, &landing);
	if (!rc)
		rc = read_landed(d, landing);
	if (!rc)
		rc = fus_field_child(&d->source, landing, "segments", json_type_array, &list);
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		rc = json_object_is_type(o, json_type_object) ? read_segment(d, o) :
		     fus_field_bad(&d->source, "segments", "is not a list of objects");
	}
	return rc;
}

int restore_check_landing(struct dump *d, const struct meta *meta, bool force)
{
	const char *path = meta->m[FAST].o.path;
	struct report r = { 0 };
	char text[320] = "";
	bool found;

	if (!fus_has_landing(&d->sb))
		return 0;
	fus_landing_check(meta, &d->sb, &d->st, &r);
	found = r.landing.found;
	if (!found && r.nr)
		fus_finding_text(fus_report_worst(&r), text, sizeof(text));
	fus_report_free(&r);
	if (found)
		return 0;
	if (!force)
		return fus_fail(FC_REFUSED, path, "does not have the landing log of %s any more "
				"(%s): the newest versions of some blocks would be lost; to go "
				"without them, add --force", d->path, text);
	fus_warn(path, "does not have the landing log of %s any more: the newest versions of some "
		 "blocks are lost", d->path);
	fus_log_free(&d->st.log);
	return 0;
}
