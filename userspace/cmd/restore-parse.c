// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a saved dump says. The file is trusted no more than a disk: its numbers pass the checks of a
 * superblock and of a map.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "restore.h"
#include "error.h"
#include "fusionctl.h"
#include "geometry-json.h"
#include "json-field.h"
#include "role.h"
#include "size.h"

/* -- the map ------------------------------------------------------------------------------ */

static int read_range(const struct dump *d, struct json_object *o, u32 *first, u32 *nr)
{
	int rc = fus_field_u32(&d->source, o, "first", d->sb.nr_lexts - 1, first);

	if (!rc)
		rc = fus_field_u32(&d->source, o, "extents", d->sb.nr_lexts - *first, nr);
	return rc;
}

static int read_run(struct dump *d, struct json_object *o)
{
	struct json_object *open, *shadow;
	const char *member = fus_field_text(o, "member");
	u32 first, nr, slot, word;
	int rc;

	rc = read_range(d, o, &first, &nr);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "slot", FUSION_WORD_SLOT_MASK - 1, &slot);
	if (rc)
		return rc;
	if (!member || (strcmp(member, "fast") && strcmp(member, "slow")))
		return fus_field_bad(&d->source, "member", "is neither fast nor slow");
	/* it is no place of the extent, and has an older content */
	if (json_object_object_get_ex(o, "shadow", &shadow))
		return fus_field_bad(&d->source, "map", "names a shadow");
	word = fusion_word(json_object_object_get_ex(o, "open", &open) &&
			   json_object_get_boolean(open) ? FUSION_OPEN : FUSION_STABLE,
			   *member == 's' ? FUSION_SLOW : FUSION_FAST, slot);
	for (u32 i = 0; i < nr; i++) {
		if (slot + i >= FUSION_WORD_UNMAPPED || !fusion_word_valid(&d->sb, word + i))
			return fus_field_bad(&d->source, "map", "a slot is out of bounds");
		if (fusion_word_mapped(d->st.word[first + i]))
			return fus_field_bad(&d->source, "map", "an extent occurs twice");
		d->st.word[first + i] = word + i;
	}
	return 0;
}

/* They have no place, and must not become zeros. */
static int read_lost(struct dump *d, struct json_object *o)
{
	u32 first, nr;
	int rc = read_range(d, o, &first, &nr);

	for (u32 i = 0; i < nr && !rc; i++) {
		if (fusion_word_mapped(d->st.word[first + i]))
			rc = fus_field_bad(&d->source, "lost", "an extent has a place in the map");
		else
			d->st.word[first + i] = FUSION_WORD_LOST;
	}
	return rc;
}

static int read_open(struct dump *d, struct json_object *o)
{
	const u32 used = d->sb.extent_sectors / FUSION_BLOCK_SECTORS / 8;
	struct json_object *lost;
	struct meta_open *open;
	u32 lext;
	int rc;

	rc = fus_field_u32(&d->source, o, "extent", d->sb.nr_lexts - 1, &lext);
	if (rc)
		return rc;
	open = fus_state_open_get(&d->st, lext);
	if (!open)
		return fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	open->word = d->st.word[lext];
	open->lost = json_object_object_get_ex(o, "lost", &lost) && json_object_get_boolean(lost);
	rc = fus_field_hex(&d->source, o, "valid", open->bitmap,
			   fusion_bitmap_bytes(d->sb.extent_sectors));
	if (!rc && memchr_inv(open->bitmap + used, 0, sizeof(open->bitmap) - used))
		rc = fus_field_bad(&d->source, "valid", "has blocks beyond the extent");
	return rc;
}

static int read_heat(struct dump *d, struct json_object *o)
{
	u32 first, nr, heat;
	int rc;

	rc = read_range(d, o, &first, &nr);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "heat", U16_MAX, &heat);
	for (u32 i = 0; i < nr && !rc; i++)
		d->heat[first + i] = heat;
	return rc;
}

static int read_list(struct dump *d, const char *key,
		     int (*fn)(struct dump *, struct json_object *))
{
	struct json_object *list, *o;
	int rc;

	rc = fus_field_child(&d->source, d->o, key, json_type_array, &list);
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		rc = json_object_is_type(o, json_type_object) ? fn(d, o) :
		     fus_field_bad(&d->source, key, "is not a list of objects");
	}
	return rc;
}

static int read_state(struct dump *d)
{
	struct report r = { 0 };
	int rc;

	d->heat = calloc((size_t)d->sb.heat_blocks * FUSION_HEAT_PER_BLOCK, sizeof(*d->heat));
	if (!d->heat)
		return fus_fail(FC_FAILED, "memory", "not enough for the map; close programs and "
				"try again");
	rc = fus_state_init(&d->st, d->sb.nr_lexts);
	if (!rc)
		rc = dump_parse_landing(d);
	if (!rc)
		rc = read_list(d, "map", read_run);
	if (!rc)
		rc = read_list(d, "open", read_open);
	if (!rc && json_object_object_get_ex(d->o, "lost", NULL))
		rc = read_list(d, "lost", read_lost);
	if (!rc && json_object_object_get_ex(d->o, "heat", NULL))
		rc = read_list(d, "heat", read_heat);
	if (!rc && d->st.nr_open > fusion_open_limit(&d->sb))
		rc = fus_field_bad(&d->source, "open", "has more extents than possible");
	if (!rc && !fus_state_check(&d->st, &d->sb, &r))
		rc = fus_field_bad(&d->source, "map", r.nr ? fus_report_worst(&r)->text :
				   "is inconsistent");
	fus_report_free(&r);
	return rc;
}

/* 0 if there is none. */
static u64 number_in(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) &&
	       json_object_is_type(v, json_type_int) && json_object_get_int64(v) > 0 ?
	       json_object_get_int64(v) : 0;
}

static u64 end_of_txn(struct json_object *o)
{
	const u64 blocks = number_in(o, "blocks");

	return blocks ? number_in(o, "seq") + blocks - 1 : 0;
}

static u64 generation_of(struct json_object *o)
{
	return number_in(o, "generation");
}

/* The greatest one in the list of a member. */
static u64 greatest(const struct dump *d, const char *key, int dev,
		    u64 (*fn)(struct json_object *o))
{
	struct json_object *o, *list;
	u64 max = 0;

	if (!json_object_object_get_ex(d->o, key, &o) ||
	    !json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, fus_role_name[dev], &list) ||
	    !json_object_is_type(list, json_type_array))
		return 0;
	for (size_t i = 0; i < json_object_array_length(list); i++)
		max = max(max, fn(json_object_array_get_idx(list, i)));
	return max;
}

/* A dump without it is just as good. */
static void read_progress(struct dump *d)
{
	for (int dev = 0; dev < 2; dev++) {
		d->generation[dev] = greatest(d, "superblocks", dev, generation_of);
		d->last_seq[dev] = greatest(d, "journals", dev, end_of_txn);
	}
}

/* -- all of it ------------------------------------------------------------------------------ */

int dump_parse(const char *path, struct json_object *o, struct dump *d)
{
	const char *content;
	u64 version;
	int rc;

	memset(d, 0, sizeof(*d));
	d->path = path;
	d->source = (struct json_source){ path, "use a file that fusionctl dump wrote" };
	d->o = o;
	content = json_object_is_type(o, json_type_object) ? fus_field_text(o, "content") : NULL;
	if (!content || strcmp(content, DUMP_CONTENT))
		return fus_field_bad(&d->source, "content", "is not a dump");
	rc = fus_field_u64(&d->source, o, "version", INT64_MAX, &version);
	if (!rc && version != JSON_VERSION)
		rc = fus_fail(FC_FAILED, path, "is of version %llu; use the fusionctl that wrote "
			      "it", (unsigned long long)version);
	if (!rc)
		rc = fus_geometry_parse(&d->source, o, &d->sb);
	if (!rc)
		rc = fus_field_u32(&d->source, o, "epoch", U32_MAX - 2, &d->sb.epoch);
	if (!rc)
		read_progress(d);
	return rc ? rc : read_state(d);
}

void dump_free(struct dump *d)
{
	fus_state_free(&d->st);
	free(d->heat);
	json_object_put(d->o);
}
