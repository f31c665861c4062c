// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data that one member alone still has: every sector of a set with known content, compared with
 * the real writes.
 */
#include <json-c/json.h>
#include <time.h>

#include "contents.h"
#include "image.h"
#include "printed.h"
#include "meta-shadow.h"
#include "role.h"
#include "salvage.h"

#define FAST_SECTORS	(16ULL << 11)
#define SLOW_SECTORS	(96ULL << 11)

static void plan_of(struct image *im, int dev, struct meta *meta, struct rebuild *rb,
		    struct salvage *s)
{
	memset(meta, 0, sizeof(*meta));
	meta->m[1].o.fd = -1;
	REQUIRE(!fus_offline_open(im->path[dev], OFFLINE_READ, &meta->m[0].o));
	REQUIRE(!fus_meta_read(meta));
	REQUIRE(fus_meta_sb(meta, dev) && !fus_meta_sb(meta, !dev));
	REQUIRE(!fus_rebuild_state(meta, dev, rb));
	REQUIRE(!fus_salvage_plan(meta, rb, s));
}

static bool outdated(u32 word)
{
	return fusion_names_shadow(word) && fusion_word_state(word) == (u32)FUSION_OUTDATED;
}

/* The expected state of a block of 4 KiB of the set, seen from the member. */
static enum part_kind truth(const struct image *im, int dev, bool current, u64 block, u64 *where)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	const u32 per_extent = sb->extent_sectors / FUSION_BLOCK_SECTORS;
	const u32 lext = block / per_extent, i = block % per_extent;
	const u32 word = image_word(im, dev, lext);
	const enum part_kind hole = current ? PART_EMPTY : PART_UNKNOWN;

	if (!fusion_word_mapped(word))
		return hole;
	if ((int)fusion_word_dev(word) != dev || outdated(word))
		return PART_LOST;
	*where = fusion_slot_sector(sb, dev, fusion_word_slot(word)) +
		 (u64)i * FUSION_BLOCK_SECTORS;
	if (fusion_names_shadow(word))
		return PART_SHADOW;
	if (fusion_word_state(word) == FUSION_OPEN && !(im->bitmap[lext][i / 8] >> i % 8 & 1))
		return hole;
	return PART_INTACT;
}

static void check_plan(const struct image *im, int dev, const struct salvage *s)
{
	const u64 end = (u64)im->side[dev].sb.nr_lexts * im->side[dev].sb.extent_sectors;
	u64 next = 0, sum[NR_PARTS] = { 0 };

	for (size_t i = 0; i < s->nr; i++) {
		const struct part *p = &s->part[i];

		REQUIRE_EQ(p->start, next);
		for (u64 at = p->start; at < p->start + p->nr; at += FUSION_BLOCK_SECTORS) {
			u64 where = 0;
			enum part_kind want = truth(im, dev, s->current, at / FUSION_BLOCK_SECTORS,
						    &where);

			REQUIRE(p->kind == want, "sector %llu is %s, not %s",
				(unsigned long long)at, fus_part_name[p->kind],
				fus_part_name[want]);
			if (want == PART_INTACT || want == PART_SHADOW)
				REQUIRE_EQ(p->where + at - p->start, where);
			REQUIRE_EQ(fus_salvage_hit(s, at << 9, 4096), want >= PART_LOST);
		}
		sum[p->kind] += p->nr;
		next += p->nr;
	}
	REQUIRE_EQ(next, end);
	for (int i = 0; i < NR_PARTS; i++)
		REQUIRE_EQ(sum[i], s->sectors[i]);
	REQUIRE(!fus_salvage_hit(s, end << 9, 1 << 20));
	REQUIRE(!fus_salvage_hit(s, 0, 0));
}

/*
 * An older version is offered only of lost extents, from a slot that no other extent has had since.
 */
static u64 check_stale(const struct image *im, int dev, const struct salvage *s)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	u64 nr = 0, next = 0;
	u32 left = 0;

	for (u32 i = 0; i < sb->nr_lexts && dev == FUSION_SLOW; i++)
		left += outdated(im->shadow[i]);
	for (size_t i = 0; i < s->nr_stale; i++) {
		const struct part *p = &s->stale[i];

		REQUIRE(p->start >= next);
		next = p->start + p->nr;
		for (u64 k = 0; k < p->nr; k += sb->extent_sectors, nr++) {
			const u32 lext = (p->start + k) / sb->extent_sectors;
			const u64 at = p->where + k - (dev ? 0 : sb->fast_data_start);
			const u32 slot = at / sb->extent_sectors - (dev ? sb->slow_first_slot : 0);

			REQUIRE(fusion_word_mapped(im->word[lext]) &&
				(int)fusion_word_dev(im->word[lext]) != dev);
			REQUIRE_EQ(im->content[dev][slot], lext);
			if (dev != FUSION_SLOW || !im->shadow[lext])
				continue;
			REQUIRE(outdated(im->shadow[lext]));
			REQUIRE_EQ(fusion_word_slot(im->shadow[lext]), slot + sb->slow_first_slot);
			left--;
		}
	}
	/* every outdated shadow is among them */
	REQUIRE_EQ(left, 0);
	return nr;
}

static void salvage_all(struct image *im, bool current, const char *what)
{
	struct rebuild rb;
	struct salvage s;
	struct meta meta;

	for (int dev = 0; dev < 2; dev++) {
		u64 stale;

		plan_of(im, dev, &meta, &rb, &s);
		REQUIRE(rb.exact);
		REQUIRE_EQ(s.current, dev == FUSION_FAST || current);
		check_plan(im, dev, &s);
		stale = check_stale(im, dev, &s);
		REQUIRE(s.sectors[PART_INTACT] && s.sectors[PART_LOST]);
		if (im->shadows && dev == FUSION_SLOW) {
			REQUIRE(s.sectors[PART_SHADOW]);
			REQUIRE_EQ(s.point, im->point);
		} else {
			REQUIRE(!s.sectors[PART_SHADOW]);
		}
		printf("# %s, from the %s member: %llu MiB intact, %llu in shadows, %llu lost, "
		       "%llu unknown, %llu extents stale\n", what, fus_role_name[dev],
		       (unsigned long long)s.sectors[PART_INTACT] >> 11,
		       (unsigned long long)s.sectors[PART_SHADOW] >> 11,
		       (unsigned long long)s.sectors[PART_LOST] >> 11,
		       (unsigned long long)s.sectors[PART_UNKNOWN] >> 11,
		       (unsigned long long)stale);
		/* fast slots are soon reused */
		if (dev == FUSION_SLOW)
			REQUIRE(stale);
		fus_salvage_free(&s);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
	}
}

static void closed_set(void)
{
	static struct image im;

	for (int shadows = 0; shadows < 2; shadows++) {
		image_format(&im, 4, (1 + shadows) * FAST_SECTORS, SLOW_SECTORS);
		if (shadows)
			image_name_shadows(&im);
		image_activate(&im);
		image_work(&im, 40);
		image_close(&im);
		salvage_all(&im, true, shadows ? "closed, shadows" : "closed");
		image_free(&im);
	}
}

static void crashed_set(void)
{
	static struct image im;

	for (int seed = 100; seed < 118; seed++) {
		const bool shadows = seed & 1;

		image_format(&im, seed, (1 + shadows) * FAST_SECTORS, SLOW_SECTORS);
		if (shadows)
			image_name_shadows(&im);
		for (int i = 0; i < 3; i++) {
			image_activate(&im);
			image_work(&im, 35 + i);
		}
		salvage_all(&im, false, shadows ? "crashed, shadows" : "crashed");
		image_free(&im);
	}
}

/* A block of the replica is gone: what it said is lost, and nothing else is made up. */
static void damaged_replica(void)
{
	static struct image im;
	const struct fusion_sb *sb = &im.side[FUSION_SLOW].sb;
	struct rebuild rb;
	struct salvage s;
	struct meta meta;
	u64 block, intact = 0;

	image_format(&im, 6, FAST_SECTORS, SLOW_SECTORS);
	image_activate(&im);
	image_work(&im, 40);
	image_close(&im);
	block = sb->map_start[FUSION_SLOW][sb->active_set];
	memset(im.mem[FUSION_SLOW] + block * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	plan_of(&im, FUSION_SLOW, &meta, &rb, &s);
	REQUIRE(!rb.exact && !s.current);
	for (size_t i = 0; i < s.nr; i++) {
		const struct part *p = &s.part[i];

		for (u64 k = 0; p->kind == PART_INTACT && k < p->nr; k += FUSION_BLOCK_SECTORS) {
			const u64 b = (p->start + k) / FUSION_BLOCK_SECTORS;
			u64 where = 0;

			REQUIRE(truth(&im, FUSION_SLOW, false, b, &where) == PART_INTACT);
			REQUIRE_EQ(p->where + k, where);
			intact++;
		}
	}
	REQUIRE(intact);
	fus_salvage_free(&s);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

static void away(struct image *im, u32 lext, u32 slot)
{
	const struct fusion_record rec = {
		.lext = lext, .new = FUSION_WORD_AWAY, .op = FUSION_OP_AWAY,
		.old = fusion_word(FUSION_STABLE, FUSION_SLOW, slot),
	};

	image_records(im, FUSION_SLOW, &rec, 1);
}

/* The slot was a shadow of this extent, and is no longer. */
static void was_shadow(struct image *im, u32 lext, u32 slot)
{
	const struct fusion_record recs[2] = {
		{ .lext = lext, .new = fusion_shadow_word(FUSION_SHADOW, slot),
		  .old = FUSION_WORD_UNMAPPED, .op = FUSION_OP_SHADOW },
		{ .lext = lext, .new = im->word[lext], .old = FUSION_WORD_UNMAPPED,
		  .op = FUSION_OP_MOVE },
	};

	image_records(im, FUSION_SLOW, recs, 2);
}

/*
 * The log tells only that three extents left their slots. The map copy after it knows one of these
 * as the shadow of another extent, and of the next extent a shadow that is better; and the log has
 * the third one as a shadow meanwhile.
 */
static void by_map_copy(void)
{
	static struct image im;
	struct rebuild rb;
	struct salvage s;
	struct meta meta;
	u32 slot[5];

	image_format(&im, 12, 2 * FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(&im);
	image_activate(&im);
	for (u32 i = 0; i < ARRAY_SIZE(slot); i++) {
		slot[i] = image_free_slot(&im, FUSION_SLOW, i);
		im.word[i] = fusion_word(FUSION_STABLE, FUSION_FAST,
					 image_free_slot(&im, FUSION_FAST, i));
	}
	away(&im, 0, slot[0]);
	away(&im, 1, slot[1]);
	away(&im, 3, slot[3]);
	was_shadow(&im, 4, slot[3]);
	im.content[FUSION_SLOW][slot[0] - im.side[1].sb.slow_first_slot] = 2;
	im.shadow[1] = fusion_shadow_word(FUSION_SHADOW, slot[2]);
	im.shadow[2] = fusion_shadow_word(FUSION_SHADOW, slot[0]);
	image_close(&im);
	plan_of(&im, FUSION_SLOW, &meta, &rb, &s);
	check_plan(&im, FUSION_SLOW, &s);
	REQUIRE_EQ(s.nr_stale, 0);
	fus_salvage_free(&s);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

/*
 * A transaction in the middle of the log is gone, and perhaps with it that a shadow is outdated.
 */
static void damaged_log(void)
{
	static struct image im;
	const struct image_side *side = &im.side[FUSION_SLOW];
	struct rebuild rb;
	struct salvage s;
	struct meta meta;
	u64 seq, block;

	image_format(&im, 9, 2 * FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(&im);
	image_activate(&im);
	image_work(&im, 20);
	seq = side->next_seq;
	image_work(&im, 2);
	image_new_point(&im);
	REQUIRE(side->sb.replay_seq <= seq);
	block = fusion_journal_blocknr(&side->sb, seq);
	memset(im.mem[FUSION_SLOW] + block * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	plan_of(&im, FUSION_SLOW, &meta, &rb, &s);
	REQUIRE(!rb.exact || rb.st.next_seq == seq);
	REQUIRE(!rb.exact && rb.missing_txns);
	REQUIRE_EQ(s.sectors[PART_SHADOW], 0);
	for (u32 i = 0; i < rb.st.nr_lexts; i++)
		REQUIRE(!fusion_names_shadow(rb.st.word[i]) || outdated(rb.st.word[i]));
	REQUIRE(s.nr_stale);
	fus_salvage_free(&s);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

/* The first extent has the superblock of a file system, on the slow member in a shadow. */
static void make_first(struct image *im, enum fusion_shadow_state state)
{
	const struct fusion_sb *sb = &im->side[FUSION_SLOW].sb;
	u32 slot;

	image_format(im, 11, 2 * FAST_SECTORS, SLOW_SECTORS);
	image_name_shadows(im);
	image_activate(im);
	slot = image_free_slot(im, FUSION_SLOW, 0);
	im->word[0] = fusion_word(FUSION_STABLE, FUSION_FAST, image_free_slot(im, FUSION_FAST, 0));
	im->shadow[0] = fusion_shadow_word(state, slot);
	image_close(im);
	make_ext4(im->mem[FUSION_SLOW] + (fusion_slot_sector(sb, FUSION_SLOW, slot) << 9));
}

static void mountable(void)
{
	static struct image im;
	struct mountable m;
	struct rebuild rb;
	struct salvage s;
	struct meta meta;

	for (u32 state = FUSION_SHADOW; state <= FUSION_OUTDATED; state++) {
		make_first(&im, state);
		plan_of(&im, FUSION_SLOW, &meta, &rb, &s);
		REQUIRE(!fus_salvage_mountable(&s, &meta.m[FUSION_SLOW].o, false, "fast", &m));
		REQUIRE_EQ(!strcmp(m.type, "ext4"), state == FUSION_SHADOW);
		REQUIRE_EQ(!!strstr(m.why, "was on the fast member"), state == FUSION_OUTDATED);
		REQUIRE_EQ(fus_salvage_hit(&s, 0, 4096), state == FUSION_OUTDATED);
		fus_salvage_free(&s);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

static void verb(void)
{
	static struct image im;
	struct json_object *o, *part;
	const struct fusion_sb *sb = &im.side[FUSION_SLOW].sb;
	char *text, *word[1];

	REQUIRE(!setenv("TZ", "UTC", 1));
	for (u32 state = FUSION_SHADOW; state <= FUSION_OUTDATED; state++) {
		const bool is = state == FUSION_SHADOW;
		u64 sector;

		make_first(&im, state);
		word[0] = im.path[FUSION_SLOW];
		sector = fusion_slot_sector(sb, FUSION_SLOW, fusion_word_slot(im.shadow[0]));
		text = printed(cmd_salvage, word, 1, false);
		REQUIRE_EQ(!!strstr(text, ", 64K in shadows, "), is);
		REQUIRE_EQ(!!strstr(text, "shadow: sectors 0-127\n"), is);
		REQUIRE_EQ(!!strstr(text, "\nshadows are as of 2023-11-14 22:"), is);
		REQUIRE_EQ(!!strstr(text, " days ago: what was written there after that is "), is);
		REQUIRE_EQ(!!strstr(text, "\n64K of what is lost has an older version"), !is);
		free(text);
		text = printed(cmd_salvage, word, 1, true);
		o = json_tokener_parse(text);
		REQUIRE(o);
		free(text);
		REQUIRE_EQ(json_object_get_int64(field(o, "shadow_time")), is ? im.point : 0);
		REQUIRE_EQ(json_object_get_int64(field(field(o, "bytes"), "shadow")), is << 16);
		REQUIRE_EQ(json_object_get_int64(field(o, "stale_bytes")), !is << 16);
		part = field(o, "shadow");
		REQUIRE_EQ(json_object_array_length(part), is);
		if (is)
			REQUIRE_EQ(json_object_get_int64(field(json_object_array_get_idx(part, 0),
							       "member_sector")), sector);
		json_object_put(o);
		image_free(&im);
	}
}

static void when(void)
{
	const u64 now = time(NULL);
	static const struct { u64 ago; const char *text; } cases[] = {
		{ 5, ", 5 seconds ago" }, { 119, ", 119 seconds ago" }, { 120, ", 2 minutes ago" },
		{ 7199, ", 119 minutes ago" }, { 7201, ", 2 hours ago" },
		{ 47 * 3600, ", 47 hours ago" }, { 49 * 3600, ", 2 days ago" },
	};
	char buf[WHEN_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fus_when_text(buf, now - cases[i].ago);
		/* a second may have passed */
		REQUIRE(strstr(buf, cases[i].text) || cases[i].ago < 120 || i == 3, "%s", buf);
		REQUIRE(strchr(buf, ' ') == buf + 10, "%s", buf);
	}
	REQUIRE(!strcmp(fus_when_text(buf, 0), "an unknown time"));
	REQUIRE(!strcmp(fus_when_text(buf, U64_MAX), "an unknown time"));
	REQUIRE(!strcmp(fus_when_text(buf, INT64_MAX), "an unknown time"));
	REQUIRE(!strstr(fus_when_text(buf, now + 1000), "ago"));
}

static const struct unit_test tests[] = {
	{ "a set that was closed", closed_set },
	{ "a set whose power failed", crashed_set },
	{ "a replica that is damaged", damaged_replica },
	{ "a log that is damaged", damaged_log },
	{ "a map copy that knows more than the log", by_map_copy },
	{ "a file system in shadows", mountable },
	{ "what the verb says", verb },
	{ "times", when },
};

UNIT_TESTS(tests)
