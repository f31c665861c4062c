// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read a saved dump. The file is trusted no more than a disk: its numbers pass the checks of a
 * superblock and of a map.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "restore.h"
#include "dump.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "role.h"
#include "size.h"
#include "dm-fusion-settings.h"

/* -- fields ------------------------------------------------------------------------ */

static int bad(const struct dump *d, const char *key, const char *why)
{
	return fus_fail(FC_FAILED, d->path, "%s: %s; use a file that fusionctl dump wrote", key,
			why);
}

static int get_u64(const struct dump *d, struct json_object *o, const char *key, u64 max, u64 *v)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    !json_object_is_type(field, json_type_int) || json_object_get_int64(field) < 0)
		return bad(d, key, "is not a number");
	*v = json_object_get_uint64(field);
	return *v > max ? bad(d, key, "is out of bounds") : 0;
}

static int get_u32(const struct dump *d, struct json_object *o, const char *key, u32 max, u32 *v)
{
	u64 n = 0;
	int rc = get_u64(d, o, key, max, &n);

	*v = n;
	return rc;
}

static const char *get_text(struct json_object *o, const char *key)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    !json_object_is_type(field, json_type_string))
		return NULL;
	return json_object_get_string(field);
}

static int get_uuid(const struct dump *d, struct json_object *o, const char *key, u8 uuid[16])
{
	const char *text = get_text(o, key);

	return text && !uuid_parse(text, uuid) ? 0 : bad(d, key, "is not a uuid");
}

static u8 hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Read up to @size bytes in hex. */
static int get_hex(const struct dump *d, struct json_object *o, const char *key, void *p,
		   size_t size)
{
	const char *text = get_text(o, key);
	u8 *b = p;

	if (!text || strlen(text) > 2 * size || strlen(text) % 2 ||
	    text[strspn(text, "0123456789abcdef")])
		return bad(d, key, "is not a string of hexadecimal digits, or too long");
	for (size_t i = 0; i < strlen(text) / 2; i++)
		b[i] = hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]);
	return 0;
}

static int get_child(const struct dump *d, struct json_object *o, const char *key,
		     enum json_type type, struct json_object **child)
{
	if (json_object_object_get_ex(o, key, child) && json_object_is_type(*child, type))
		return 0;
	return bad(d, key, "is missing, or of another kind");
}

/* -- identity and geometry ------------------------------------------------------------ */

static int read_member(const struct dump *d, struct json_object *members, int dev, u8 uuid[16],
		       struct fusion_disk_ident *ident, u64 *sectors)
{
	struct json_object *o;
	int rc;

	rc = get_child(d, members, fus_role_name[dev], json_type_object, &o);
	if (!rc)
		rc = get_uuid(d, o, "device_uuid", uuid);
	if (!rc)
		rc = get_u64(d, o, "sectors", INT64_MAX, sectors);
	if (!rc)
		rc = get_hex(d, o, "model_bytes", ident->model, sizeof(ident->model));
	return rc ? rc : get_hex(d, o, "serial_bytes", ident->serial, sizeof(ident->serial));
}

static int read_identity(struct dump *d)
{
	struct json_object *members, *features;
	struct fusion_sb *sb = &d->sb;
	int rc;

	rc = get_uuid(d, d->o, "set_uuid", sb->set_uuid);
	if (!rc)
		rc = get_hex(d, d->o, "label_bytes", sb->label, FUSION_LABEL_SIZE);
	if (!rc)
		rc = get_u64(d, d->o, "create_time", INT64_MAX, &sb->create_time);
	if (!rc)
		rc = get_u32(d, d->o, "epoch", U32_MAX - 2, &sb->epoch);
	if (!rc)
		rc = get_child(d, d->o, "members", json_type_object, &members);
	if (!rc)
		rc = read_member(d, members, FAST, sb->dev_uuid, &sb->self, &sb->self_sectors);
	if (!rc)
		rc = read_member(d, members, SLOW, sb->peer_uuid, &sb->peer, &sb->peer_sectors);
	if (!rc)
		rc = get_child(d, d->o, "features", json_type_object, &features);
	if (!rc)
		rc = get_u64(d, features, "incompat", UINT64_MAX, &sb->incompat);
	if (!rc)
		rc = get_u64(d, features, "ro_compat", UINT64_MAX, &sb->ro_compat);
	return rc ? rc : get_u64(d, features, "compat", UINT64_MAX, &sb->compat);
}

/* A superblock that the codec accepts is consistent. */
static int check_super(struct dump *d)
{
	const char *why;
	void *block = fus_offline_buffer(FUSION_BLOCK_SIZE);
	char text[FUSION_UNKNOWN_TEXT];
	struct fusion_sb sb;
	int err, rc = 0;

	if (!block)
		return FC_FAILED;
	d->sb.version = FUSION_VERSION;
	d->sb.role = FUSION_FAST;
	d->sb.generation = 2;
	d->sb.set_generation = 1;
	d->sb.replay_seq = 1;
	d->sb.replay_txn = 1;
	fusion_sb_pack(&d->sb, FUSION_SUPER_BLOCKNR(0), block);
	err = fusion_sb_unpack(block, FUSION_SUPER_BLOCKNR(0), d->sb.self_sectors, &sb, &why);
	if (*fusion_sb_unknown(&d->sb, text))
		rc = fus_fail(FC_REFUSED, d->path, "is of a set that %s; use the fusionctl that "
			      "wrote it", text);
	else if (err)
		rc = bad(d, "geometry", why);
	else
		d->sb = sb;	/* with the places that follow from other fields */
	free(block);
	return rc;
}

static int read_geometry(struct dump *d)
{
	struct json_object *o;
	u64 v = 0;
	u32 small;
	int rc;

	rc = get_child(d, d->o, "geometry", json_type_object, &o);
	for (const struct geometry_field *f = geometry_fields; f->name && !rc; f++) {
		rc = get_u64(d, o, f->name, f->size == 8 ? INT64_MAX : U32_MAX, &v);
		small = v;
		memcpy((char *)&d->sb + f->offset, f->size == 8 ? (void *)&v : &small, f->size);
	}
	return rc ? rc : check_super(d);
}

static int read_setting(const struct dump *d, const char *key, int *s)
{
	uint64_t number;

	*s = fusion_setting_find(key);
	if (*s < 0 && fus_parse_number(key, FUSION_NR_SETTINGS - 1, &number) &&
	    number >= FUSION_SETTINGS)
		*s = number;
	return *s < 0 ? bad(d, key, "is not a setting") : 0;
}

/* All of them are optional. */
static int read_settings(struct dump *d)
{
	struct json_object *o;
	u32 value;
	int rc, s;

	if (!json_object_object_get_ex(d->o, "settings", &o))
		return 0;
	rc = get_child(d, d->o, "settings", json_type_object, &o);
	if (rc)
		return rc;
	json_object_object_foreach(o, key, field) {
		(void)field;
		rc = read_setting(d, key, &s);
		if (!rc)
			rc = get_u32(d, o, key, U32_MAX, &value);
		if (!rc && s < FUSION_SETTINGS &&
		    !fusion_setting_valid(s, value, d->sb.nr_fast_slots))
			rc = bad(d, key, "is out of bounds");
		if (rc)
			return rc;
		d->sb.settings_mask |= BIT(s);
		d->sb.setting[s] = value;
	}
	return 0;
}

/* -- the map ------------------------------------------------------------------------------ */

static int read_range(const struct dump *d, struct json_object *o, u32 *first, u32 *nr)
{
	int rc = get_u32(d, o, "first", d->sb.nr_lexts - 1, first);

	if (!rc)
		rc = get_u32(d, o, "extents", d->sb.nr_lexts - *first, nr);
	return rc;
}

static int read_run(struct dump *d, struct json_object *o)
{
	struct json_object *open;
	const char *member = get_text(o, "member");
	u32 first, nr, slot, word;
	int rc;

	rc = read_range(d, o, &first, &nr);
	if (!rc)
		rc = get_u32(d, o, "slot", FUSION_WORD_SLOT_MASK - 1, &slot);
	if (rc)
		return rc;
	if (!member || (strcmp(member, "fast") && strcmp(member, "slow")))
		return bad(d, "member", "is neither fast nor slow");
	word = fusion_word(json_object_object_get_ex(o, "open", &open) &&
			   json_object_get_boolean(open) ? FUSION_OPEN : FUSION_STABLE,
			   *member == 's' ? FUSION_SLOW : FUSION_FAST, slot);
	for (u32 i = 0; i < nr; i++) {
		if (slot + i >= FUSION_WORD_UNMAPPED || !fusion_word_valid(&d->sb, word + i))
			return bad(d, "map", "a slot is out of bounds");
		if (fusion_word_mapped(d->st.word[first + i]))
			return bad(d, "map", "an extent occurs twice");
		d->st.word[first + i] = word + i;
	}
	return 0;
}

static int read_open(struct dump *d, struct json_object *o)
{
	const u32 used = d->sb.extent_sectors / FUSION_BLOCK_SECTORS / 8;
	struct meta_open *open;
	u32 lext;
	int rc;

	rc = get_u32(d, o, "extent", d->sb.nr_lexts - 1, &lext);
	if (rc)
		return rc;
	open = fus_state_open_get(&d->st, lext);
	if (!open)
		return fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	open->word = d->st.word[lext];
	rc = get_hex(d, o, "valid", open->bitmap, fusion_bitmap_bytes(d->sb.extent_sectors));
	if (!rc && memchr_inv(open->bitmap + used, 0, sizeof(open->bitmap) - used))
		rc = bad(d, "valid", "has blocks beyond the extent");
	return rc;
}

static int read_heat(struct dump *d, struct json_object *o)
{
	u32 first, nr, heat;
	int rc;

	rc = read_range(d, o, &first, &nr);
	if (!rc)
		rc = get_u32(d, o, "heat", U16_MAX, &heat);
	for (u32 i = 0; i < nr && !rc; i++)
		d->heat[first + i] = heat;
	return rc;
}

static int read_list(struct dump *d, const char *key,
		     int (*fn)(struct dump *, struct json_object *))
{
	struct json_object *list, *o;
	int rc;

	rc = get_child(d, d->o, key, json_type_array, &list);
	for (size_t i = 0; !rc && i < json_object_array_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		rc = json_object_is_type(o, json_type_object) ? fn(d, o) :
		     bad(d, key, "is not a list of objects");
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
		rc = read_list(d, "map", read_run);
	if (!rc)
		rc = read_list(d, "open", read_open);
	if (!rc && json_object_object_get_ex(d->o, "heat", NULL))
		rc = read_list(d, "heat", read_heat);
	if (!rc && d->st.nr_open > fusion_open_limit(&d->sb))
		rc = bad(d, "open", "has more extents than possible");
	if (!rc && !fus_state_check(&d->st, &d->sb, &r))
		rc = bad(d, "map", r.nr ? fus_report_worst(&r)->text : "is inconsistent");
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
	d->o = o;
	content = json_object_is_type(o, json_type_object) ? get_text(o, "content") : NULL;
	if (!content || strcmp(content, DUMP_CONTENT))
		return bad(d, "content", "is not a dump");
	rc = get_u64(d, o, "version", INT64_MAX, &version);
	if (!rc && version != JSON_VERSION)
		rc = fus_fail(FC_FAILED, path, "is of version %llu; use the fusionctl that wrote "
			      "it", (unsigned long long)version);
	if (!rc)
		rc = read_identity(d);
	if (!rc)
		rc = read_geometry(d);
	if (!rc)
		rc = read_settings(d);
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
