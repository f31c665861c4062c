// SPDX-License-Identifier: GPL-2.0-only
/* Sets that are released: how large their content is, and in which order their extents move. */
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "contents.h"

#include "content-size.h"
#include "homing.h"
#include "probe.h"

#define BYTES	(68ULL << 20)

/* -- size of content ------------------------------------------------------------------------- */

static void make_ext4_32(u8 *disk)
{
	make_ext4(disk);
	put_le(disk + 1024 + 0x4, 4, 8192);
}

static void make_ext4_64(u8 *disk)
{
	make_ext4_32(disk);
	put_le(disk + 1024 + 0x18, 4, 2);
	put_le(disk + 1024 + 0x60, 4, 0x42 | 0x80);
	put_le(disk + 1024 + 0x150, 4, 3);
}

static void make_ext4_odd(u8 *disk)
{
	make_ext4_32(disk);
	put_le(disk + 1024 + 0x18, 4, 60);
}

static void make_btrfs_of(u8 *disk, unsigned int devices)
{
	u8 *sb = disk + (64 << 10);

	make_btrfs_at(sb);
	put_le(sb + 0x70, 8, 50 << 20);
	put_le(sb + 0x88, 8, devices);
	put_le(sb + 0xc9 + 8, 8, 50 << 20);
}

static void make_btrfs_one(u8 *disk)
{
	make_btrfs_of(disk, 1);
}

static void make_btrfs_two(u8 *disk)
{
	make_btrfs_of(disk, 2);
}

static void make_lvm_of(u8 *disk)
{
	make_lvm(disk);
	put_le(disk + 512 + 32 + 32, 8, 40 << 20);
}

static void make_swap(u8 *disk)
{
	memset(disk, 0, 4096);
	put_le(disk + 1024, 4, 1);
	put_le(disk + 1028, 4, 999);
	memcpy(disk + 4086, "SWAPSPACE2", 10);
}

static void make_luks_json(u8 *disk, const char *json)
{
	make_luks_at(disk, 2, 0);
	put_be(disk + 8, 8, 16384);
	memset(disk + 4096, 0, 16384 - 4096);
	strcpy((char *)disk + 4096, json);
}

static void make_luks_fixed(u8 *disk)
{
	make_luks_json(disk, "{\"segments\":{\"0\":{\"offset\":\"16777216\","
		       "\"size\":\"1048576\"}}}");
}

static void make_luks_dynamic(u8 *disk)
{
	make_luks_json(disk, "{\"segments\":{\"0\":{\"offset\":\"16777216\","
		       "\"size\":\"dynamic\"}}}");
}

static void make_luks_broken(u8 *disk)
{
	make_luks_json(disk, "{\"segments\":{\"0\":[7]");
}

static void make_luks_strange(u8 *disk)
{
	make_luks_json(disk, "{\"segments\":{\"0\":{\"offset\":null,\"size\":null}}}");
}

static void make_empty(u8 *disk)
{
	memset(disk, 0, 1 << 20);
}

static const struct {
	void (*make)(u8 *disk);
	const char *type;
	enum content_size size;
	u64 bytes;
} sizes[] = {
	{ make_empty, "", SIZE_NOTHING, 0 },
	{ make_ext4, "ext4", SIZE_UNKNOWN, 0 },
	{ make_ext4_32, "ext4", SIZE_KNOWN, 8192 * 1024 },
	{ make_ext4_64, "ext4", SIZE_KNOWN, (3ULL << 32 | 8192) * 4096 },
	{ make_ext4_odd, "ext4", SIZE_UNKNOWN, 0 },
	{ make_xfs, "xfs", SIZE_KNOWN, 4096 * 4096 },
	{ make_btrfs_one, "btrfs", SIZE_KNOWN, 50 << 20 },
	{ make_btrfs_two, "btrfs", SIZE_SEVERAL, 0 },
	{ make_lvm_of, "LVM2_member", SIZE_KNOWN, 40 << 20 },
	{ make_swap, "swap", SIZE_KNOWN, 1000 * 4096 },
	{ make_luks1, "crypto_LUKS", SIZE_WHOLE, 0 },
	{ make_luks_fixed, "crypto_LUKS", SIZE_KNOWN, 16777216 + 1048576 },
	{ make_luks_dynamic, "crypto_LUKS", SIZE_WHOLE, 0 },
	{ make_luks_broken, "crypto_LUKS", SIZE_WHOLE, 0 },
	{ make_luks_strange, "crypto_LUKS", SIZE_WHOLE, 0 },
};

static void test_sizes(void)
{
	int fd = memfd_create("content", 0);
	u8 *disk;

	REQUIRE(fd >= 0 && !ftruncate(fd, BYTES));
	disk = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(disk != MAP_FAILED);
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fus_content c;
		uint64_t bytes = 0;

		memset(disk, 0, 1 << 20);
		sizes[i].make(disk);
		REQUIRE(!fus_probe_magics("image", fd, &c));
		/* its checksum is not right, so libblkid may not know it */
		if (strcmp(c.type, sizes[i].type))
			printf("# %s is taken for %s\n", sizes[i].type, c.type);
		snprintf(c.type, sizeof(c.type), "%s", sizes[i].type);
		REQUIRE(fus_content_size(fd, &c, &bytes) == sizes[i].size, "%u: %s", i, c.type);
		REQUIRE(sizes[i].size != SIZE_KNOWN || bytes == sizes[i].bytes, "%u: %s, %llu", i,
			c.type, (unsigned long long)bytes);
	}
	munmap(disk, BYTES);
	close(fd);
}

/* -- order of moves -------------------------------------------------------------------------- */

/* Only the maps: no device is read. @full: percent of the extents. */
static void random_state(struct homing *h, u64 *seed, unsigned int full, bool shifted)
{
	const struct fusion_sb *sb = &h->t->sb;
	const u32 nr = sb->nr_fast_slots + sb->nr_slow_slots;
	u32 *slot = calloc(nr, sizeof(*slot)), next = 0;

	REQUIRE(slot && !fus_state_init(&h->st, sb->nr_lexts));
	for (u32 i = 0; i < nr; i++)
		slot[i] = shifted ? (i + sb->nr_fast_slots + 1) % nr : i;
	for (u32 i = nr; i > 1 && !shifted; i--) {
		const u32 k = rnd_below(seed, i), tmp = slot[i - 1];

		slot[i - 1] = slot[k];
		slot[k] = tmp;
	}
	for (u32 lext = 0; lext < sb->nr_lexts; lext++) {
		h->st.word[lext] = FUSION_WORD_UNMAPPED;
		if (lext >= h->t->content || rnd_below(seed, 100) >= full)
			continue;
		h->st.word[lext] = slot[next] < sb->nr_fast_slots ?
			fusion_word(FUSION_STABLE, FAST, slot[next]) :
			fusion_word(FUSION_STABLE, SLOW, slot[next] - sb->nr_fast_slots +
				    sb->slow_first_slot);
		next++;
	}
	free(slot);
}

/* Each move goes to a slot that no map names which may be in force. */
static u32 move_all(struct homing *h, u32 *copies)
{
	const u32 away = h->left;
	u32 rounds = 0;

	*copies = 0;
	while (h->left) {
		fus_homing_choose(h);
		REQUIRE(h->nr_moves && h->nr_moves <= h->batch);
		for (u32 i = 0; i < h->nr_moves; i++)
			REQUIRE(h->st.word[h->move[i].lext] == h->move[i].from);
		REQUIRE(fus_state_check(&h->st, &h->t->sb, NULL));
		/* old and new at once: as if none had left its slot */
		for (u32 i = 0; i < h->nr_moves; i++) {
			const u32 lext = h->move[i].lext, to = h->move[i].to;

			for (u32 k = 0; rounds % 16 == 0 && k < h->st.nr_lexts; k++)
				REQUIRE(h->st.word[k] != to, "%u goes to the slot of %u", lext, k);
		}
		for (u32 i = 0; i < h->nr_moves; i++)
			h->st.word[h->move[i].lext] = h->move[i].to;
		*copies += h->nr_moves;
		fus_homing_done(h);
		REQUIRE(fus_state_check(&h->st, &h->t->sb, NULL));
		REQUIRE(++rounds <= 2 * away + 2);
	}
	return rounds;
}

static void test_order(void)
{
	struct fus_content c = { .nr = 2, .sector = { 2, 1 << 16 } };
	struct fusion_misfit misfit;
	u64 seed = 4;

	for (unsigned int i = 0; i < 40; i++) {
		struct transit t = { .disk = 0 };
		struct homing h = { .t = &t, .batch = 1 + rnd_below(&seed, 128) };
		u32 rounds, copies, away;
		struct fusion_sb sb;

		memset(&sb, 0, sizeof(sb));
		if (fusion_sb_plan(&sb, 9000 + rnd_below(&seed, 200000),
				   9000 + rnd_below(&seed, 400000), 128, &misfit))
			continue;
		c.nr = rnd_below(&seed, sb.peer_sectors > 1 << 17 ? 3 : 2);
		if (!fus_release_plan(&t, &sb, &c))
			continue;
		random_state(&h, &seed, rnd_below(&seed, 2) ? 100 : rnd_below(&seed, 101),
			     i % 4 == 3);
		REQUIRE(!fus_homing_begin(&h));
		away = h.left;
		rounds = move_all(&h, &copies);
		REQUIRE(copies <= 2 * away);
		/* a long chain does not mean one extent at a time */
		REQUIRE(h.batch < 8 || rounds <= 16 + away / 2, "%u rounds for %u extents", rounds,
			away);
		for (u32 lext = 0; lext < t.content; lext++)
			REQUIRE(!fus_homing_away(&h, lext));
		fus_homing_free(&h);
	}
}

/* As the kernel leaves it: only what has to lie on the fast member is in other slots there. */
static void shifted_state(struct homing *h, u64 *seed, unsigned int way)
{
	u32 nr = h->t->moved, *slot = calloc(nr, sizeof(*slot)), n = 0;

	REQUIRE(slot && !fus_state_init(&h->st, h->t->sb.nr_lexts));
	for (u32 i = 0; i < nr; i++)
		slot[i] = way == 0 ? (i + 1) % nr : way == 1 ? (i + nr - 1) % nr : i;
	for (u32 i = nr; i > 1 && way == 2; i--) {
		const u32 k = rnd_below(seed, i), tmp = slot[i - 1];

		slot[i - 1] = slot[k];
		slot[k] = tmp;
	}
	for (u32 lext = 0; lext < h->st.nr_lexts; lext++) {
		if (lext >= h->t->content)
			h->st.word[lext] = FUSION_WORD_UNMAPPED;
		else if (fus_transit_goes(h->t, lext))
			h->st.word[lext] = fusion_word(FUSION_STABLE, FAST, slot[n++]);
		else
			h->st.word[lext] = fus_transit_word(h->t, lext);
	}
	REQUIRE_EQ(n, nr);
	free(slot);
}

/* However large the set is: each batch is a commit, for which the I/O of an open set waits. */
static void test_few(void)
{
	const struct fus_content none = { .nr = 0 };
	struct fusion_misfit misfit;
	struct fusion_sb sb;
	u64 seed = 7;

	memset(&sb, 0, sizeof(sb));
	REQUIRE(!fusion_sb_plan(&sb, 1 << 22, 1 << 25, 128, &misfit));
	for (unsigned int way = 0; way < 3; way++) {
		struct transit t = { .disk = 0 };
		struct homing h = { .t = &t };
		u32 rounds, copies, away;

		REQUIRE(fus_release_plan(&t, &sb, &none) && t.moved >= 16);
		h.batch = 2 * t.moved + 1;
		shifted_state(&h, &seed, way);
		REQUIRE(!fus_homing_begin(&h));
		away = h.left;
		REQUIRE(away > t.moved / 2);
		rounds = move_all(&h, &copies);
		REQUIRE(rounds <= 3 && copies <= 2 * away, "%u rounds, %u copies of %u extents",
			rounds, copies, away);
		fus_homing_free(&h);
	}
}

static const struct unit_test tests[] = {
	{ "release: size of content", test_sizes },
	{ "release: in which order extents move", test_order },
	{ "release: few batches for what the kernel leaves", test_few },
};

UNIT_TESTS(tests)
