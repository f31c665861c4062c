// SPDX-License-Identifier: GPL-2.0-only
/* Dumps of sets whose replica names shadows: they show them, and restore makes none. */
#include "shadow-set.h"
#include "dump.h"
#include "error.h"
#include "printed.h"
#include "restore.h"

static struct json_object *dump(struct image *im, bool brief)
{
	struct json_object *o = NULL;
	struct meta meta;

	open_image(im, &meta);
	REQUIRE(!dump_json(&meta, brief, &o));
	fus_meta_free(&meta);
	return o;
}

static u64 number(struct json_object *o, const char *key)
{
	return json_object_get_int64(field(o, key));
}

static bool is(struct json_object *o, const char *key, const char *text)
{
	return !strcmp(json_object_get_string(field(o, key)), text);
}

/* The word of a shadow, as JSON has it. */
static u32 word_of(struct json_object *o)
{
	REQUIRE(is(o, "member", "slow"));
	REQUIRE(is(o, "shadow", "current") || is(o, "shadow", "outdated"));
	return fusion_shadow_word(is(o, "shadow", "current") ? FUSION_SHADOW : FUSION_OUTDATED,
				  number(o, "slot"));
}

static void runs(struct image *im, struct json_object *o)
{
	struct json_object *list = field(o, "shadows"), *map = field(o, "map"), *run;
	u32 n = 0, left = 0;

	for (u32 i = 0; i < im->side[0].sb.nr_lexts; i++)
		left += !!im->shadow[i];
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		run = json_object_array_get_idx(list, i);
		for (u32 k = 0; k < number(run, "extents"); k++, n++)
			REQUIRE_EQ(im->shadow[number(run, "first") + k], word_of(run) + k);
	}
	REQUIRE_EQ(n, left);
	REQUIRE_EQ(number(o, "shadow_time"), im->point);
	for (size_t i = 0; i < json_object_array_length(map); i++) {
		run = json_object_array_get_idx(map, i);
		REQUIRE(!json_object_object_get_ex(run, "shadow", NULL));
		for (u32 k = 0; k < number(run, "extents"); k++)
			REQUIRE_EQ(im->word[number(run, "first") + k] & FUSION_WORD_SLOT_MASK,
				   number(run, "slot") + k);
	}
}

/* The records of the replica log: each shadow, and the times. */
static void records(struct image *im, struct json_object *o)
{
	struct json_object *log = field(field(o, "journals"), "slow"), *list, *rec;
	u64 last = 0, shadows = 0;

	for (size_t t = 0; t < json_object_array_length(log); t++) {
		list = field(json_object_array_get_idx(log, t), "records");
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			rec = json_object_array_get_idx(list, i);
			if (is(rec, "op", "point")) {
				REQUIRE(number(rec, "time") > last);
				last = number(rec, "time");
				REQUIRE(!field(rec, "old") && !field(rec, "new"));
				REQUIRE_EQ(number(rec, "extent"), 0);
			}
			if (is(rec, "op", "shadow")) {
				word_of(field(rec, "new"));
				shadows++;
			}
		}
	}
	REQUIRE(last && last <= im->point);
	REQUIRE(shadows);
}

static void shown(void)
{
	static struct image im;
	struct json_object *o;

	for (int closed = 0; closed < 2; closed++) {
		make(&im, 130 + closed, closed);
		o = dump(&im, false);
		runs(&im, o);
		records(&im, o);
		json_object_put(o);
		o = dump(&im, true);
		REQUIRE_EQ(json_object_array_length(field(o, "shadows")), 0);
		json_object_put(o);
		image_free(&im);
	}
}

static int parse(struct json_object *o, struct dump *d)
{
	struct json_object *copy = json_tokener_parse(json_object_to_json_string(o));

	return dump_parse("dump", copy, d);
}

/* A run of a map that has become one of shadows is no place of extents. */
static void refused(void)
{
	static struct image im;
	struct json_object *o, *run;
	struct dump d;

	make(&im, 140, true);
	o = dump(&im, false);
	REQUIRE(!parse(o, &d));
	REQUIRE(!memcmp(d.st.word, im.word, d.st.nr_lexts * sizeof(*im.word)));
	REQUIRE(!d.sb.incompat);
	dump_free(&d);
	run = json_object_array_get_idx(field(o, "map"), 3);
	json_object_object_add(run, "shadow", json_object_new_string("current"));
	REQUIRE(parse(o, &d));
	REQUIRE(strstr(fus_last_error()->what, "names a shadow"), "%s", fus_last_error()->what);
	dump_free(&d);
	json_object_put(o);
	image_free(&im);
}

/* A shadow is no other place: no extent has moved since the dump. */
static void not_moved(void)
{
	static struct image im;
	struct json_object *o;
	struct meta meta;
	struct dump d;

	make(&im, 150, true);
	o = dump(&im, false);
	REQUIRE(!parse(o, &d));
	json_object_put(o);
	open_image(&im, &meta);
	REQUIRE(!restore_check_age(&d, &meta, false));
	fus_meta_free(&meta);
	close_again(&im);
	im.side[SLOW].sb.peer_at.generation = 1;
	close_again(&im);
	open_image(&im, &meta);
	REQUIRE(restore_check_age(&d, &meta, false));
	REQUIRE(strstr(fus_last_error()->what, "no extent has moved"), "%s",
		fus_last_error()->what);
	fus_meta_free(&meta);
	dump_free(&d);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "dumps show shadows", shown },
	{ "no place in a dump is a shadow", refused },
	{ "a shadow has not moved", not_moved },
};

UNIT_TESTS(tests)
