// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: seeds DIR
 *
 * Write the initial inputs of the fuzzers to DIR/TARGET/: metadata of sets that were used, their
 * dumps by fusionctl, and lines as the kernel and people write them.
 */
#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "../unit/image.h"
#include "fusionctl.h"
#include "pins.h"
#include "verb.h"

#define FAST_SECTORS	(100 * 128)
#define SLOW_SECTORS	(200 * 128)
#define JOURNAL_BLOCKS	6

static const char *dir;

static void seed(const char *target, unsigned int n, const void *data, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	REQUIRE(!mkdir(path, 0777) || errno == EEXIST, "%s: %m", path);
	snprintf(path, sizeof(path), "%s/%s/seed-%u", dir, target, n);
	f = fopen(path, "w");
	REQUIRE(f && fwrite(data, size, 1, f) == 1 && !fclose(f), "%s: %m", path);
}

/* As if the other member were a disk that is being adopted, or the slow member released. */
static void of_transit(const struct fusion_sb *sb, u32 kind, unsigned int n)
{
	struct fusion_sb transit = *sb;
	u8 block[FUSION_BLOCK_SIZE];

	transit.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	transit.transit = (struct fusion_transit){
		.kind = kind, .state = FUSION_TRANSIT_PREPARED,
		.dev = kind == FUSION_TRANSIT_RELEASE ? FUSION_SLOW : !sb->role,
		.nr_magics = 2, .magic = { 0, 128 }, .place = { 6 << 9, 64 | 8 << 9 },
	};
	transit.transit.disk_sectors = fusion_sb_dev_sectors(sb, transit.transit.dev);
	fusion_sb_pack(&transit, FUSION_SUPER_BLOCKNR(sb->generation & 1), block);
	seed("super", n, block, sizeof(block));
	if (sb->role != FUSION_SLOW)
		return;
	transit.transit = (struct fusion_transit){
		.kind = FUSION_TRANSIT_UUID, .state = 1, .dev = FUSION_SLOW, .was_set = "before",
	};
	transit.peer_at.generation = 1;
	fusion_sb_pack(&transit, FUSION_SUPER_BLOCKNR(sb->generation & 1), block);
	seed("super", n + 100, block, sizeof(block));
}

static void of_member(const struct image *im, int dev, unsigned int n)
{
	const struct fusion_sb *sb = &im->side[dev].sb;
	const u8 *mem = im->mem[dev];
	u8 journal[JOURNAL_BLOCKS * FUSION_BLOCK_SIZE];
	u32 i;

	seed("super", n, mem, FUSION_BLOCK_SIZE);
	seed("super", n + 100, mem + 8 * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	of_transit(sb, FUSION_TRANSIT_ADOPT, n + 200);
	of_transit(sb, FUSION_TRANSIT_RELEASE, n + 300);
	seed("map", n, mem + sb->map_start[dev][sb->active_set] * FUSION_BLOCK_SIZE,
	     FUSION_BLOCK_SIZE);
	for (i = 0; i < JOURNAL_BLOCKS; i++)
		memcpy(journal + i * FUSION_BLOCK_SIZE,
		       mem + fusion_journal_blocknr(sb, sb->replay_seq + i) * FUSION_BLOCK_SIZE,
		       FUSION_BLOCK_SIZE);
	seed("journal", n, journal, sizeof(journal));
}

static void of_dump(struct image *im, unsigned int n)
{
	char path[4096];
	struct args a = { .opt[OPT_OUTPUT] = path, .n = 2,
			  .word = (char *[]){ im->path[FAST], im->path[SLOW] } };

	snprintf(path, sizeof(path), "%s/dump", dir);
	REQUIRE(!mkdir(path, 0777) || errno == EEXIST, "%s: %m", path);
	snprintf(path, sizeof(path), "%s/dump/seed-%u", dir, n);
	unlink(path);
	REQUIRE(!cmd_dump(&a));
}

static void of_sets(void)
{
	unsigned int n;

	for (n = 0; n < 4; n++) {
		struct image im;

		image_format(&im, n, FAST_SECTORS, SLOW_SECTORS);
		if (n > 1)
			image_name_shadows(&im);
		if (n) {
			image_activate(&im);
			image_work(&im, 20 * n);
		}
		if (n == 2)
			image_close(&im);
		of_member(&im, FAST, 2 * n);
		of_member(&im, SLOW, 2 * n + 1);
		of_dump(&im, n);
		image_free(&im);
	}
}

static void of_text(const char *target, const char *const lines[])
{
	unsigned int n;

	for (n = 0; lines[n]; n++)
		seed(target, n, lines[n], strlen(lines[n]));
}

static void of_lines(void)
{
	of_text("status", (const char *const[]){
		"6 rw 2048 12/502 0/4094 12/4526 1/2048 0 0 120 0 0 0 0 0 0 0 3 2 1 10/10 ok 0 0 "
		"0 0 0/0 0/0 0 0/12 - 0/0 0 -",
		"6 ro 128 502/502 4094/4094 4526/4526 2048/2048 18446744073709551615 1 2 3 4 5 "
		"6 7 8 9 10 11 12 0/10 failed 13 14 15 16 17/18 19/20 21 22/23 24 25/26 4 duty 50 idle 100 "
		"needs_check",
		NULL });
	of_text("args", (const char *const[]){
		"create\ndata\n--fast\n/dev/a\n--slow=/dev/b\n--extent-size\n512K\n--yes",
		"status\ndata\n--watch\n5\n--json",
		"set\ndata\nreserve=4G\nhalf_life=30m\nduty=50%",
		"promote\ndata\n0-1023", "map\ndata\n--svg\n-\n--width\n80\n--color=always",
		"check\n-v\ndata", "dump\n/dev/a\n-o\nfile", "help\nsalvage", "--version", NULL });
}

/* DIR/pins, which fus_pins_write() makes, has the file and nothing else of it. */
static void of_pins(void)
{
	static const struct pin pins[] = {
		{ .member = FAST, .path = "/srv/a", .file_system = "0c1d", .handle = "1:0a2b",
		  .inode = 12, .missed = 1700000000 },
		{ .member = SLOW, .path = "/srv", .file_system = "0c1d", .handle = "1:00",
		  .inode = 2, .recursive = true, .renamed = true },
		{ .member = SLOW, .first = 0, .last = 150 },
		{ .member = FAST, .first = 180, .last = FUSION_MAX_LEXTS - 1 },
	};
	struct pins p = { .uuid = FUZZ_PINS_UUID };
	char path[4096];

	snprintf(path, sizeof(path), "%s/pins", dir);
	fus_pins_dir = path;
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++)
		REQUIRE(!fus_pins_add(&p, &pins[i]));
	REQUIRE(!fus_pins_write(&p));
	fus_pins_free(&p);
	fus_pins_dir = PINS_DIR;
}

static void all_seeds(void)
{
	of_pins();
	of_sets();
	of_lines();
}

int main(int argc, char **argv)
{
	static const struct unit_test tests[] = { { "seeds", all_seeds } };

	if (argc != 2) {
		fputs("usage: seeds DIR\n", stderr);
		return 2;
	}
	dir = argv[1];
	REQUIRE(!mkdir(dir, 0777) || errno == EEXIST, "%s: %m", dir);
	return unit_main(tests, ARRAY_SIZE(tests));
}
