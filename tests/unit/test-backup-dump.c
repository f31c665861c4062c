// SPDX-License-Identifier: GPL-2.0-only
/* Dumps that close writes: the newest three, and restore takes them as it takes others. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <uuid/uuid.h>

#include "backup-set.h"
#include "close-dump.h"

static char dumps[128];

static int dump(struct image *im, char file[PATH_MAX])
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };
	struct meta meta;
	int rc;

	REQUIRE(!fus_meta_open(2, path, false, &meta));
	rc = close_dump_to(dumps, &meta, file);
	fus_meta_free(&meta);
	return rc;
}

static int restore(struct image *im, const char *file)
{
	char *word[3] = { (char *)file, im->path[FAST], im->path[SLOW] };
	struct args a = { .n = 3, .word = word };

	a.opt[OPT_YES] = "";
	*said = 0;
	return cmd_restore(&a);
}

static unsigned int nr_files(void)
{
	unsigned int n = 0;
	struct dirent *e;
	DIR *d = opendir(dumps);

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

static void begin(struct image *im, u64 seed)
{
	backups_begin();
	snprintf(dumps, sizeof(dumps), "%s/lib/dump", backup_top);
	make(im, seed, LIFE_CLOSED);
}

static void end(struct image *im)
{
	image_free(im);
	backups_end();
}

static void require_map(struct image *im)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };
	struct report r = { 0 };
	struct meta_state st;
	struct meta meta;

	REQUIRE(!fus_meta_open(2, path, false, &meta));
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING], "%s", fus_report_worst(&r)->text);
	REQUIRE(!fus_state_init(&st, meta.geo[FAST].nr_lexts));
	REQUIRE(fus_state_load(&meta, fus_meta_sb(&meta, FAST), &st, NULL));
	REQUIRE(!memcmp(st.word, im->word, st.nr_lexts * sizeof(*st.word)));
	REQUIRE_EQ(st.nr_open, im->nr_open);
	for (u32 i = 0; i < st.nr_open; i++)
		REQUIRE(!memcmp(st.open[i]->bitmap, im->bitmap[st.open[i]->lext],
				fusion_bitmap_bytes(FUSION_MIN_EXTENT_SECTORS)));
	fus_state_free(&st);
	fus_report_free(&r);
	fus_meta_free(&meta);
}

/* Without any metadata on the members. */
static void test_way_back(void)
{
	char file[PATH_MAX];
	struct image im;

	for (u64 seed = 60; seed < 66; seed++) {
		begin(&im, seed);
		REQUIRE(!dump(&im, file), "%s", said);
		for (int dev = 0; dev < 2; dev++)
			memset(im.mem[dev], 0, 1 << 20);
		REQUIRE(!restore(&im, file), "%s", said);
		require_map(&im);
		/* it was not opened since, so it may be written once more */
		REQUIRE(!restore(&im, file), "%s", said);
		require_map(&im);
		end(&im);
	}
}

static void test_newest_three(void)
{
	char file[PATH_MAX], want[PATH_MAX], uuid[UUID_STR_LEN];
	struct image im;

	begin(&im, 70);
	uuid_unparse_lower(im.side[FAST].sb.set_uuid, uuid);
	for (unsigned int i = 1; i <= 12; i++) {
		REQUIRE(!dump(&im, file), "%s", said);
		snprintf(want, sizeof(want), "%s/%s.%u.json", dumps, uuid, i);
		REQUIRE(!strcmp(file, want), "%s", file);
		REQUIRE_EQ(nr_files(), min(i, 3U));
	}
	REQUIRE(!access(file, R_OK));
	end(&im);
}

/* A dump from before the set was opened last shows data in wrong places. */
static void test_stale(void)
{
	char file[2][PATH_MAX];
	struct image im;
	u64 before;

	begin(&im, 80);
	REQUIRE(!dump(&im, file[0]));
	image_activate(&im);
	image_work(&im, 30);
	image_close(&im);
	REQUIRE(!dump(&im, file[1]));
	before = sum(&im);
	REQUIRE_EQ(restore(&im, file[0]), FC_REFUSED);
	REQUIRE(strstr(said, "was used after"), "%s", said);
	REQUIRE(sum(&im) == before);
	REQUIRE(!restore(&im, file[1]), "%s", said);
	require_map(&im);
	end(&im);
}

static void test_not_written(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY }, any = { RLIM_INFINITY, RLIM_INFINITY };
	char file[PATH_MAX], other[PATH_MAX];
	struct image im;

	begin(&im, 90);
	REQUIRE(!dump(&im, file));
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &none));
	REQUIRE_EQ(dump(&im, other), -EFBIG);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &any));
	REQUIRE(!*other && !access(file, R_OK));
	REQUIRE_EQ(nr_files(), 1);
	/* no directory, and one that cannot be made */
	snprintf(dumps, sizeof(dumps), "%s/none/lib/dump", backup_top);
	REQUIRE_EQ(dump(&im, other), -ENOENT);
	snprintf(dumps, sizeof(dumps), "%s/dump", file);
	REQUIRE_EQ(dump(&im, other), -ENOTDIR);
	end(&im);
}

static const struct unit_test tests[] = {
	{ "dumps: the way back", test_way_back },
	{ "dumps: the newest three", test_newest_three },
	{ "dumps: a stale one", test_stale },
	{ "dumps: one that cannot be written", test_not_written },
};

UNIT_TESTS(tests)
