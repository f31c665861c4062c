// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb restore: write what dump saved. The file is believed no more than a disk: its
 * numbers pass the checks that those of a superblock and of a map pass.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "restore.h"
#include "ask.h"
#include "dump.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "overwrite.h"
#include "probe.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "size.h"
#include "text.h"
#include "verb.h"
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

/* Up to @size bytes in hex. */
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

/* What the codec accepts as a superblock is consistent. */
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
		d->sb = sb;	/* with the places that follow from others */
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

/* None of them is needed, nor need there be any. */
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
		return fus_fail(FC_FAILED, "memory", "out of it; free some");
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
		return fus_fail(FC_FAILED, "memory", "not enough for the map; free some");
	rc = fus_state_init(&d->st, d->sb.nr_lexts);
	if (!rc)
		rc = read_list(d, "map", read_run);
	if (!rc)
		rc = read_list(d, "open", read_open);
	if (!rc && json_object_object_get_ex(d->o, "heat", NULL))
		rc = read_list(d, "heat", read_heat);
	if (!rc && d->st.nr_open > fusion_open_limit(&d->sb))
		rc = bad(d, "open", "has more extents than there can be");
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

/* The greatest there is in the list of a member. */
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

/* A dump without it is as good. */
static void read_progress(struct dump *d)
{
	for (int dev = 0; dev < 2; dev++) {
		d->generation[dev] = greatest(d, "superblocks", dev, generation_of);
		d->last_seq[dev] = greatest(d, "journals", dev, end_of_txn);
	}
}

static int dump_parse(const char *path, struct json_object *o, struct dump *d)
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

static void dump_free(struct dump *d)
{
	fus_state_free(&d->st);
	free(d->heat);
	json_object_put(d->o);
}

/* -- may it be written there? ---------------------------------------------------------------- */

/* A member of another set. */
static int check_copies(const struct dump *d, const struct meta *meta, int dev,
			const struct args *a, char content[CONTENT_TEXT])
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct meta_member *m = &meta->m[dev];
	char text[FUSION_UNKNOWN_TEXT];

	if (fus_meta_is_unknown(m, text)) {
		snprintf(content, CONTENT_TEXT, "a member of a fusion set that %s", text);
		return a->opt[OPT_FORCE] || may_ask(a) ? 0 :
		       fus_fail(FC_REFUSED, m->o.path, "%s; use a newer fusionctl and dm-fusion, "
				"or if that can go, add --force", text);
	}
	for (int i = 0; i < 2; i++) {
		const struct fusion_sb *sb = &m->copy[i].sb;

		if (m->copy[i].err)
			continue;
		if (memcmp(sb->set_uuid, geo->set_uuid, 16) ||
		    memcmp(sb->dev_uuid, geo->dev_uuid, 16) || sb->role != geo->role) {
			snprintf(content, CONTENT_TEXT, "the %s member of the set %s",
				 fus_role_name[sb->role], sb->label);
			return a->opt[OPT_FORCE] || may_ask(a) ? 0 :
			       fus_fail(FC_REFUSED, m->o.path, "is %s, not of that in %s; if that "
					"can go, add --force", content, d->path);
		}
	}
	return 0;
}

static int check_member_fits(const struct dump *d, const struct meta *meta, int dev,
			     const struct args *a, char content[CONTENT_TEXT])
{
	int rc;

	*content = 0;
	rc = overwrite_check_size(meta, dev, d->path);
	if (!rc)
		rc = check_copies(d, meta, dev, a, content);
	return rc || *content ? rc : overwrite_check_content(meta, dev, a, content);
}

static u32 count_mapped(const struct dump *d)
{
	u32 mapped = 0;

	for (u32 i = 0; i < d->sb.nr_lexts; i++)
		mapped += fusion_word_mapped(d->st.word[i]);
	return mapped;
}

static void print_plan(const struct dump *d, const char *const path[2],
		       char content[2][CONTENT_TEXT], bool dry_run)
{
	char label[FUSION_LABEL_SIZE + 1];
	struct json_object *o = fus_json_base();

	snprintf(label, sizeof(label), "%.*s", FUSION_LABEL_SIZE, d->sb.label);
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_str(o, "file", d->path);
	fus_json_add_set(o, label, false, &d->sb, path);
	fus_json_add_contents(o, content);
	fus_json_add_u64(o, "mapped", count_mapped(d));
	print_json(o, false);
}

static void show_plan(const struct dump *d, const char *const path[2],
		      char content[2][CONTENT_TEXT])
{
	const struct fusion_sb *sb = &d->sb;
	char text[1536] = "", line[4096], safe[4 * sizeof(line)];

	add_contents(text, sizeof(text), path, content);
	snprintf(line, sizeof(line), "the metadata on %s and %s would be replaced by that of %s%s: "
		 "the set %.*s, of which %u of %u extents have data", path[FAST], path[SLOW],
		 d->path, text, FUSION_LABEL_SIZE, sb->label, count_mapped(d), sb->nr_lexts);
	puts(fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output()));
}

static int ask(const struct dump *d, const char *const path[2], char content[2][CONTENT_TEXT])
{
	char by[1536];
	const struct question q = {
		d->path, "the metadata", "replaced", "Replace the metadata on", by,
	};

	snprintf(by, sizeof(by), " by that of %s", d->path);
	return confirm_devices(&q, path, content);
}

static int write_dump(struct dump *d, const char *const path[2], struct meta *meta,
		      char content[2][CONTENT_TEXT], bool json)
{
	struct report r = { 0 };
	int rc, lock = -1;

	rc = fus_meta_hold(meta, &lock);
	if (rc)
		return rc;
	fus_meta_check(meta, &r);
	rc = fus_guards_clear(meta, &r);
	fus_report_free(&r);
	if (!rc)
		rc = fus_meta_write(meta, &d->st, d->goes_on, -1, d->heat);
	if (!rc)
		fus_meta_keep_closed(meta);
	fus_run_unlock(&lock);
	if (!rc && json)
		print_plan(d, path, content, false);
	else if (!rc)
		printf("restored; fusionctl check %s %s tests it\n", path[FAST], path[SLOW]);
	return rc;
}

/* Both members of the set that is called so. */
static int find_both(const char *name, char found[2][PATH_MAX])
{
	struct member *list = NULL, *m = NULL, *peer = NULL;
	int rc;

	if (strchr(name, '/'))
		return fus_fail(FC_USAGE, name, "name both members, the fast one first, or the "
				"set");
	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_named(list, name, &m);
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (!rc && (!peer || peer->sb->role == m->sb->role))
		rc = fus_fail(FC_MEMBER, name, "its %s member is not here, or damaged; name both "
			      "members, the fast one first", fus_role_name[!m->sb->role]);
	if (!rc) {
		snprintf(found[m->sb->role], PATH_MAX, "%s", m->path);
		snprintf(found[peer->sb->role], PATH_MAX, "%s", peer->path);
	}
	fus_free_members(list);
	return rc;
}

static int restore(struct dump *d, const struct args *a)
{
	char found[2][PATH_MAX], content[2][CONTENT_TEXT];
	const char *path[2] = { a->word[1], a->word[2] };
	struct meta meta = { .m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	int rc = 0;

	if (a->n == 2) {
		rc = find_both(a->word[1], found);
		path[FAST] = found[FAST];
		path[SLOW] = found[SLOW];
	}
	if (!rc)
		rc = fus_open_members(path, !a->opt[OPT_DRY_RUN], &meta);
	if (!rc)
		rc = fus_meta_read_as(&meta, &d->sb);
	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = check_member_fits(d, &meta, dev, a, content[dev]);
	if (!rc)
		rc = restore_check_age(d, &meta, a->opt[OPT_FORCE]);
	if (!rc && a->opt[OPT_DRY_RUN] && a->opt[OPT_JSON]) {
		print_plan(d, path, content, true);
	} else if (!rc && a->opt[OPT_DRY_RUN]) {
		show_plan(d, path, content);
	} else if (!rc) {
		rc = a->opt[OPT_YES] ? 0 : ask(d, path, content);
		if (!rc)
			rc = write_dump(d, path, &meta, content, a->opt[OPT_JSON]);
	}
	fus_meta_free(&meta);
	return rc;
}

int cmd_restore(const struct args *a)
{
	struct json_object *o;
	struct dump d;
	int rc, fd;

	rc = check_no_question(a);
	if (rc)
		return rc;
	fd = open(a->word[0], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fus_fail(FC_FAILED, a->word[0], "%s; name a file that fusionctl dump wrote",
				strerror(errno));
	o = json_object_from_fd(fd);
	close(fd);
	if (!o)
		return fus_fail(FC_FAILED, a->word[0], "not JSON; name a file that fusionctl dump "
				"wrote");
	rc = dump_parse(a->word[0], o, &d);
	if (!rc)
		rc = restore(&d, a);
	dump_free(&d);
	return rc;
}
