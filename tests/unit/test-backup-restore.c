// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore --geometry: the superblocks of both members are gone, and the set comes back from a
 * backup of its geometry, its map copies and its journals.
 */
#include "backup-set.h"
#include "cut.h"
#include "dm-fusion-settings.h"

/* No other machine has these sets; the real one would wait for seconds. */
int __wrap_fus_host_watch(const char *path, int fd, const struct fusion_sb *sb);

int __wrap_fus_host_watch(const char *path, int fd, const struct fusion_sb *sb)
{
	(void)path;
	(void)fd;
	(void)sb;
	return 0;
}

/* The map is that of the image, without a doubt. */
static void expect_map(struct image *im, bool exact)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };
	struct report r = { 0 };
	struct rebuild rb;
	struct meta meta;

	REQUIRE(!fus_meta_open(2, path, false, &meta));
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE_EQ(rb.exact, exact);
	REQUIRE(exact || (!rb.nr[DOUBT_LOST] && !rb.nr[DOUBT_OLD] && !rb.missing_txns),
		"%u lost, %u old, %llu missing", rb.nr[DOUBT_LOST], rb.nr[DOUBT_OLD],
		rb.missing_txns);
	for (u32 lext = 0; lext < rb.st.nr_lexts; lext++) {
		const struct meta_open *open = fus_state_open_find(&rb.st, lext);

		REQUIRE(rb.st.word[lext] == im->word[lext], "extent %u: %x, not %x", lext,
			rb.st.word[lext], im->word[lext]);
		REQUIRE(!open || !memcmp(open->bitmap, im->bitmap[lext],
					 fusion_bitmap_bytes(FUSION_MIN_EXTENT_SECTORS)));
	}
	if (exact) {
		fus_meta_check(&meta, &r);
		REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING], "%s",
			fus_report_worst(&r)->text);
	}
	fus_report_free(&r);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
}

/* Whatever the set had lived through, all of it comes back. */
static void test_comes_back(void)
{
	struct image im;

	for (u64 seed = 1; seed <= 30; seed++) {
		backups_begin();
		make(&im, seed, seed % NR_LIVES);
		fus_backup_write(&im.side[seed % 2].sb);
		forget_both(&im);
		REQUIRE_EQ(run(cmd_repair, &im, NULL, false), 4);
		REQUIRE(strstr(said, "restore --geometry"), "%s", said);
		REQUIRE(!run(cmd_restore, &im, NULL, false), "%s", said);
		expect_map(&im, false);
		REQUIRE_EQ(run(cmd_repair, &im, NULL, false), 1);
		expect_map(&im, true);
		image_free(&im);
		backups_end();
	}
}

/* So do the settings; a file with one that set would refuse is refused. */
static void test_settings_come_back(void)
{
	static const char *const bad[] = {
		"\"duty\": 101", "\"duty\": -1", "\"duty\": \"40\"", "\"none\": 1", "\"3\": 1",
	};
	char file[128], command[256];
	struct fusion_sb sb;
	struct meta meta;
	struct image im;
	char *path[2];
	u32 value;

	backups_begin();
	make(&im, 51, LIFE_CLOSED);
	sb = im.side[FAST].sb;
	fusion_sb_keep(&sb, FUSION_SET_DUTY, true, 40);
	fusion_sb_keep(&sb, FUSION_SET_MIGRATION, true, 0);
	fus_backup_write(&sb);
	forget_both(&im);
	snprintf(file, sizeof(file), "%s/bad", backup_top);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(command, sizeof(command), "sed 's/\"duty\": *40/%s/' %s/*.json >%s",
			 bad[i], backup_sub, file);
		REQUIRE(!system(command));
		refused(cmd_restore, &im, file, false, FC_FAILED, "bad: ");
	}
	REQUIRE(!run(cmd_restore, &im, NULL, false), "%s", said);
	REQUIRE_EQ(run(cmd_repair, &im, NULL, false), 1);
	path[FAST] = im.path[FAST];
	path[SLOW] = im.path[SLOW];
	REQUIRE(!fus_meta_open(2, path, false, &meta));
	for (int dev = 0; dev < 2; dev++) {
		REQUIRE(fusion_sb_setting(fus_meta_sb(&meta, dev), FUSION_SET_DUTY, &value));
		REQUIRE_EQ(value, 40);
		REQUIRE(fusion_sb_setting(fus_meta_sb(&meta, dev), FUSION_SET_MIGRATION, &value));
		REQUIRE_EQ(value, 0);
	}
	fus_meta_free(&meta);
	image_free(&im);
	backups_end();
}

/* Of a map copy that is damaged as well, the replica has what it has. */
static void test_helps_repair(void)
{
	struct image im;
	char *path[2];
	struct rebuild rb;
	struct meta meta;
	u32 lost;

	backups_begin();
	make(&im, 50, LIFE_CLOSED);
	fus_backup_write(&im.side[FAST].sb);
	forget_both(&im);
	for (int set = 0; set < FUSION_NR_SETS; set++)
		memset(im.mem[FAST] + im.side[FAST].sb.map_start[FAST][set] * FUSION_BLOCK_SIZE, 0,
		       FUSION_BLOCK_SIZE);
	REQUIRE(!run(cmd_restore, &im, NULL, false), "%s", said);
	path[FAST] = im.path[FAST];
	path[SLOW] = im.path[SLOW];
	REQUIRE(!fus_meta_open(2, path, false, &meta));
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	lost = rb.nr[DOUBT_LOST];
	for (u32 lext = 0; lext < rb.st.nr_lexts; lext++)
		REQUIRE(rb.st.word[lext] == im.word[lext] || rb.doubt[lext]);
	REQUIRE(lost < 100, "%u of %u lost", lost, rb.st.nr_lexts);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
	backups_end();
}

/* All images are of one set; this one becomes another, of which the journal is broken. */
static void become_another(struct image *im)
{
	const size_t uuid = offsetof(struct fusion_block_header, set_uuid);

	for (int dev = 0; dev < 2; dev++) {
		for (size_t at = 0; at < im->bytes[dev]; at += FUSION_BLOCK_SIZE) {
			u8 *p = im->mem[dev] + at;

			if (memcmp(p + uuid, im->side[FAST].sb.set_uuid, 16))
				continue;
			p[uuid] ^= 1;
			reseal(p);
		}
	}
	im->side[FAST].sb.set_uuid[0] ^= 1;
	im->side[SLOW].sb.set_uuid[0] ^= 1;
}

static void test_refused(void)
{
	struct image im, other;
	char file[128], path[64];

	backups_begin();
	make(&im, 60, LIFE_OPEN);
	make(&other, 61, LIFE_OPEN);
	become_another(&other);
	snprintf(file, sizeof(file), "%s/other.json", fus_backup_dir);
	refused(cmd_restore, &im, NULL, false, FC_FAILED, "No such file or directory");
	fus_backup_write(&other.side[FAST].sb);
	refused(cmd_restore, &im, NULL, false, FC_MEMBER, "no backup in ");
	fus_backup_write(&im.side[FAST].sb);

	/* half of the set is enough for repair */
	refused(cmd_restore, &im, NULL, true, FC_REFUSED, "has a valid superblock");
	forget(&im, SLOW);
	refused(cmd_restore, &im, NULL, true, FC_REFUSED, "has a valid superblock");
	forget(&im, FAST);
	refused(cmd_restore, &im, file, false, FC_FAILED, "No such file or directory");

	/* in the other order, and with a member of another set */
	strcpy(path, im.path[FAST]);
	strcpy(im.path[FAST], im.path[SLOW]);
	strcpy(im.path[SLOW], path);
	refused(cmd_restore, &im, NULL, true, FC_MEMBER, "no backup in ");
	strcpy(im.path[SLOW], im.path[FAST]);
	strcpy(im.path[FAST], path);
	strcpy(path, im.path[SLOW]);
	strcpy(im.path[SLOW], other.path[SLOW]);
	refused(cmd_restore, &im, NULL, false, FC_REFUSED, "not of that in ");
	forget_both(&other);
	refused(cmd_restore, &im, NULL, false, FC_REFUSED, "has no block of the slow member");
	strcpy(im.path[SLOW], path);

	/* then the right one */
	snprintf(file, sizeof(file), "%s", fus_backup_dir);
	refused(cmd_restore, &im, file, true, FC_FAILED, "is not a file");
	REQUIRE(!run(cmd_restore, &im, NULL, false), "%s", said);
	refused(cmd_restore, &im, NULL, true, FC_REFUSED, "has a valid superblock");
	image_free(&im);
	image_free(&other);
	backups_end();
}

/* Nothing of the slow member is left in its places: only with --force, and then it is all there. */
static void test_empty_slow(void)
{
	struct image im;
	size_t bytes;

	backups_begin();
	make(&im, 70, LIFE_CLOSED);
	fus_backup_write(&im.side[FAST].sb);
	forget_both(&im);
	bytes = (im.side[SLOW].sb.map_start[SLOW][1] + im.side[SLOW].sb.map_blocks) *
		FUSION_BLOCK_SIZE;
	memset(im.mem[SLOW], 0, bytes);
	refused(cmd_restore, &im, NULL, false, FC_REFUSED, "has no block of the slow member");
	REQUIRE(!run(cmd_restore, &im, NULL, true), "%s", said);
	REQUIRE_EQ(run(cmd_repair, &im, NULL, true), 1);
	expect_map(&im, true);

	/* but without the map there is nothing to find */
	forget_both(&im);
	bytes = im.side[FAST].sb.fast_data_start << 9;
	memset(im.mem[FAST], 0, bytes);
	refused(cmd_restore, &im, NULL, true, FC_MEMBER, "has no block of the fast member");
	image_free(&im);
	backups_end();
}

/* Power fails at any write: the same again, or repair, does the rest. */
static void test_cut_short(void)
{
	unsigned int cuts = 0, again = 0;
	struct image im;

	for (u64 seed = 1; seed <= 60; seed++) {
		int rc;

		backups_begin();
		make(&im, 100 + seed, seed % NR_LIVES);
		fus_backup_write(&im.side[FAST].sb);
		forget_both(&im);
		cut.armed = true;
		cut.dead = false;
		cut.writes_left = seed % 3;
		cut.seed = seed;
		rc = run(cmd_restore, &im, NULL, false);
		cut.armed = false;
		while (cut.nr)
			free(cut.unsynced[--cut.nr].was);
		cuts += !!rc;
		if (rc && run(cmd_repair, &im, NULL, false) == 4) {
			again++;
			REQUIRE(!run(cmd_restore, &im, NULL, false), "%s", said);
		}
		run(cmd_repair, &im, NULL, false);
		expect_map(&im, true);
		image_free(&im);
		backups_end();
	}
	REQUIRE(cuts > 20 && again > 5 && again < cuts, "%u cuts, %u again", cuts, again);
}

static const struct unit_test tests[] = {
	{ "a set without superblocks comes back", test_comes_back },
	{ "the settings come back", test_settings_come_back },
	{ "its replica helps to repair the map", test_helps_repair },
	{ "refusals", test_refused },
	{ "nothing left of the slow member", test_empty_slow },
	{ "cut short", test_cut_short },
};

UNIT_TESTS(tests);
