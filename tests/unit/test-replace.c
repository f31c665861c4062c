// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tool writes on the disks of a member that is replaced, with the power cut at any write;
 * and how it finds the three disks of such a set.
 */
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cut.h"

#include "assemble.h"
#include "fusionctl.h"
#include "old-member.h"
#include "scan.h"
#include "trio.h"

#define FAST_SECTORS	(512ULL << 11)
#define SLOW_SECTORS	((4096ULL << 11) + 5)

/* Large enough for head and tail, and not a whole number of blocks. */
#define DISK_SECTORS	(3 * FUSION_GUARD_SECTORS + 5)
#define DISK_BYTES	(DISK_SECTORS * 512ULL)

static struct disk {
	struct offline o;
	u8 *mem;
} disk;

static void new_disk(u8 content)
{
	if (!disk.mem) {
		disk.o.path = "disk";
		disk.o.fd = memfd_create("disk", 0);
		disk.o.sectors = DISK_SECTORS;
		REQUIRE(disk.o.fd >= 0 && !ftruncate(disk.o.fd, DISK_BYTES));
		disk.mem = mmap(NULL, DISK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, disk.o.fd, 0);
		REQUIRE(disk.mem != MAP_FAILED);
	}
	memset(disk.mem, content, DISK_BYTES);
}

static void write_super(struct fusion_sb sb, u64 generation)
{
	const u64 block = FUSION_SUPER_BLOCKNR(generation & 1);

	sb.generation = generation;
	fusion_sb_pack(&sb, block, disk.mem + block * FUSION_BLOCK_SIZE);
}

static bool read_super(int copy, struct fusion_sb *sb)
{
	const u64 block = FUSION_SUPER_BLOCKNR(copy);
	const char *why;

	return !fusion_sb_unpack(disk.mem + block * FUSION_BLOCK_SIZE, block, UINT64_MAX, sb, &why);
}

static bool is_zero(u64 from, u64 to)
{
	return !memchr_inv(disk.mem + from, 0, to - from);
}

/* A superblock of a member of this role that another disk replaces. */
static struct fusion_sb old_sb(int role)
{
	struct fusion_sb fast, slow;

	example_sb(&fast, FAST_SECTORS, SLOW_SECTORS, 2048);
	fusion_sb_for_slow(&fast, &slow);
	return role == FAST ? fast : slow;
}

static struct fusion_sb prepared(int role)
{
	const struct fusion_disk_ident ident = { "new model", "new serial" };
	const struct fusion_sb old = old_sb(role);
	struct fusion_sb new;

	fus_prepared_sb(&old, old.self_sectors + 77, &ident, &new);
	return new;
}

static struct fusion_sb left(int role)
{
	struct fusion_sb sb = old_sb(role);

	fusion_sb_leave(&sb);
	return sb;
}

/* -- the disk that comes ---------------------------------------------------------------------- */

static void test_prepared(void)
{
	for (int role = 0; role < 2; role++) {
		const struct fusion_sb old = old_sb(role);
		struct fusion_sb new = prepared(role), found;

		new_disk(0);
		REQUIRE(!fus_prepare(&disk.o, &new));
		for (int copy = 0; copy < 2; copy++) {
			REQUIRE(read_super(copy, &found), "copy %d", copy);
			REQUIRE_EQ(found.generation, 2 - copy);
			REQUIRE(!memcmp(found.set_uuid, old.set_uuid, 16));
			REQUIRE(!memcmp(found.peer_uuid, old.peer_uuid, 16));
			REQUIRE(memcmp(found.dev_uuid, old.dev_uuid, 16), "uuid of its own");
			REQUIRE_EQ(found.role, role);
			REQUIRE_EQ(found.self_sectors, old.self_sectors + 77);
			REQUIRE(!strcmp(found.self.serial, "new serial"));
			REQUIRE(fusion_sb_same_places(&found, &old));
			REQUIRE_EQ(found.old.state, FUSION_OLD_PREPARED);
			REQUIRE_EQ(found.old.dev, role);
			REQUIRE(!memcmp(found.old.uuid, old.dev_uuid, 16));
			REQUIRE_EQ(found.old.first_slot, role == FAST ? old.nr_fast_slots :
				   old.slow_first_slot + old.nr_slow_slots);
			REQUIRE_EQ(found.old.nr_slots, role == FAST ? old.nr_fast_slots :
				   old.nr_slow_slots);
			REQUIRE_EQ(found.old.sectors, old.self_sectors);
		}
	}
}

/* At no time it is a member. */
static void test_prepared_in_part(void)
{
	struct fusion_sb found, new;

	for (u64 seed = 0; seed < 200; seed++) {
		new_disk(0);
		new = prepared(seed & 1);
		cut.seed = seed;
		cut.writes_left = seed / 2 % 3;
		cut.armed = true;
		cut.dead = false;
		fus_prepare(&disk.o, &new);
		cut.armed = false;
		for (int copy = 0; copy < 2; copy++)
			REQUIRE(!read_super(copy, &found) ||
				found.old.state == FUSION_OLD_PREPARED, "seed %llu", seed);
	}
}

/* -- the disk that goes ------------------------------------------------------------------------ */

static enum fus_parting parting_of(const unsigned char uuid[16])
{
	enum fus_parting p;

	REQUIRE(!fus_parting(&disk.o, uuid, &p));
	return p;
}

static void test_who_may_be_wiped(void)
{
	const unsigned char other[16] = { 1 };
	const struct fusion_sb member = old_sb(FAST);

	new_disk(0);
	REQUIRE_EQ(parting_of(member.set_uuid), FUS_NOTHING_LEFT);
	write_super(member, 10);
	REQUIRE_EQ(parting_of(member.set_uuid), FUS_NOT_PARTED);
	write_super(left(FAST), 11);
	REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED);
	REQUIRE_EQ(parting_of(other), FUS_NOT_PARTED);
	/* it became a member again */
	write_super(member, 12);
	REQUIRE_EQ(parting_of(member.set_uuid), FUS_NOT_PARTED);
	write_super(prepared(SLOW), 13);
	REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED);
}

/* One copy is left, and the other one is overwritten: by content that no program recognises. */
static void test_overwritten(void)
{
	const struct fusion_sb member = old_sb(FAST);
	u8 *block[2];

	new_disk(0);
	for (int copy = 0; copy < 2; copy++)
		block[copy] = disk.mem + FUSION_SUPER_BLOCKNR(copy) * FUSION_BLOCK_SIZE;
	for (int copy = 0; copy < 2; copy++) {
		new_disk(0);
		write_super(member, 10 + copy);
		write_super(left(FAST), 11 + copy);
		REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED);
		/* a wipe that was cut short */
		memset(block[copy], 0, FUSION_BLOCK_SIZE);
		REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED);
		block[copy][FUSION_BLOCK_SIZE - 1] = 1;
		REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED_COVERED);
		memset(block[copy], 0x5a, FUSION_BLOCK_SIZE);
		REQUIRE_EQ(parting_of(member.set_uuid), FUS_PARTED_COVERED);
		memset(block[!copy], 0x5a, FUSION_BLOCK_SIZE);
		REQUIRE_EQ(parting_of(member.set_uuid), FUS_NOTHING_LEFT);
	}
}

static u64 tail_of(void)
{
	return (DISK_BYTES - FUSION_GUARD_SECTORS * 512) & ~(FUSION_BLOCK_SIZE - 1ULL);
}

static void require_wiped(u64 seed)
{
	REQUIRE(is_zero(0, FUSION_GUARD_SECTORS * 512), "head, seed %llu", seed);
	REQUIRE(is_zero(tail_of(), DISK_BYTES), "tail, seed %llu", seed);
	REQUIRE(disk.mem[FUSION_GUARD_SECTORS * 512] == 0xa5, "data, seed %llu", seed);
	REQUIRE(disk.mem[tail_of() - 1] == 0xa5, "data, seed %llu", seed);
}

static void test_wiped(void)
{
	new_disk(0xa5);
	write_super(old_sb(SLOW), 10);
	write_super(left(SLOW), 11);
	REQUIRE(!fus_part(&disk.o));
	require_wiped(0);
}

/*
 * Whatever is left, the disk says that it has left as long as anything else is on it; then the same
 * again wipes it.
 */
static void test_wiped_in_part(void)
{
	const struct fusion_sb member = old_sb(FAST);
	unsigned int parted = 0, gone = 0;

	for (u64 seed = 0; seed < 600; seed++) {
		new_disk(0xa5);
		write_super(member, 10 + seed % 2);
		write_super(left(FAST), 11 + seed % 2);
		cut.seed = seed;
		cut.writes_left = seed / 2 % 6;
		cut.armed = true;
		cut.dead = false;
		fus_part(&disk.o);
		cut.armed = false;
		switch (parting_of(member.set_uuid)) {
		case FUS_PARTED_COVERED:
			/* torn zeros; fusionctl wipe does the rest */
		case FUS_PARTED:
			parted++;
			REQUIRE(!fus_part(&disk.o));
			break;
		case FUS_NOTHING_LEFT:
			gone++;
			/* a torn superblock may be there */
			memset(disk.mem, 0, FUSION_BLOCK_SIZE);
			memset(disk.mem + FUSION_SUPER_BLOCKNR(1) * FUSION_BLOCK_SIZE, 0,
			       FUSION_BLOCK_SIZE);
			break;
		default:
			REQUIRE(false, "taken for a member, seed %llu", seed);
		}
		require_wiped(seed);
	}
	REQUIRE(parted > 100 && gone > 50, "%u, %u", parted, gone);
}

/* -- three disks ------------------------------------------------------------------------------- */

#define MAX_DISKS	4

static struct fusion_sb super[MAX_DISKS];
static struct member member[MAX_DISKS];

enum { PEER, NEW, OLD, OTHER };

/* The set as it is while its member of this role is replaced; in the order of @order. */
static struct member *three(int role, u32 state, const int order[MAX_DISKS])
{
	const struct fusion_sb old = old_sb(role);

	super[PEER] = old_sb(!role);
	super[OLD] = old;
	super[NEW] = prepared(role);
	super[OTHER] = old;
	memset(super[OTHER].set_uuid, 0x55, 16);
	memset(super[OTHER].dev_uuid, 0x56, 16);
	REQUIRE(!fusion_sb_may_join(&old, &super[PEER], &super[NEW], &(const char *){ NULL }));
	fusion_sb_join(&super[PEER], &old, &super[NEW]);
	super[NEW].layout_seq++;
	super[NEW].old.state = state;
	for (int i = 0; i < MAX_DISKS; i++) {
		struct member *m = &member[order[i]];

		memset(m, 0, sizeof(*m));
		m->sb = &super[order[i]];
		m->state = MEMBER_OK;
		m->devno = makedev(4000, order[i]);
		snprintf(m->path, sizeof(m->path), "/dev/made-up%d", order[i]);
		m->next = i + 1 < MAX_DISKS ? &member[order[i + 1]] : NULL;
	}
	fus_set_apart(&member[order[0]]);
	return &member[order[0]];
}

static const int orders[][MAX_DISKS] = {
	{ PEER, NEW, OLD, OTHER }, { OLD, OTHER, PEER, NEW }, { NEW, OLD, OTHER, PEER },
	{ OTHER, OLD, NEW, PEER }, { NEW, PEER, OTHER, OLD }, { OLD, NEW, PEER, OTHER },
};

static struct trio find(struct member *list)
{
	struct trio t;

	fus_find_trio(list, super[PEER].set_uuid, &t);
	return t;
}

static void remove_disk(struct member **list, int which)
{
	while (*list && *list != &member[which])
		list = &(*list)->next;
	REQUIRE(*list);
	*list = (*list)->next;
}

static void test_three(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders) * 4; i++) {
		const u32 state = i & 1 ? FUSION_OLD_MEMBER : FUSION_OLD_JOINING;
		const int role = i >> 1 & 1;
		struct member *list = three(role, state, orders[i / 4]);
		struct trio t = find(list);
		struct pair p;

		REQUIRE_EQ(t.role, role);
		REQUIRE(t.m[role] == &member[NEW] && t.m[!role] == &member[PEER]);
		REQUIRE(t.old == &member[OLD]);
		REQUIRE(!t.over);
		REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
		REQUIRE(p.m == &member[PEER] && p.peer == &member[NEW] && p.old == &member[OLD]);
		/* any of them is missed */
		for (int which = PEER; which <= OLD; which++) {
			list = three(role, state, orders[i / 4]);
			remove_disk(&list, which);
			t = find(list);
			REQUIRE_EQ(t.role, which == PEER ? -1 : role);
			REQUIRE(!find_pair(list, which == OLD ? &member[PEER] : &member[OLD], &p));
			REQUIRE(!is_complete(&p), "without %d", which);
		}
	}
}

/* A disk that is to become a member changes nothing until the peer names it. */
static void test_apart(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders) * 4; i++) {
		const u32 state = i & 1 ? FUSION_OLD_PREPARED : FUSION_OLD_JOINING;
		const int role = i >> 1 & 1;
		struct member *list = three(role, state, orders[i / 4]);
		struct pair p;

		super[PEER] = old_sb(!role);
		if (state == FUSION_OLD_PREPARED)
			member[NEW].state = MEMBER_PREPARED;
		fus_set_apart(list);
		REQUIRE_EQ(member[NEW].state, MEMBER_PREPARED);
		REQUIRE_EQ(member[OLD].state, MEMBER_OK);
		REQUIRE_EQ(find(list).role, -1);
		REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
		REQUIRE(!p.old && !p.foreign);
		REQUIRE((p.m == &member[OLD] && p.peer == &member[PEER]) ||
			(p.m == &member[PEER] && p.peer == &member[OLD]));
	}
}

/* The old one is to be taken back, and has the superblock for that; the peer does not name it. */
static void test_taken_back(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders) * 2; i++) {
		const int role = i & 1;
		struct member *list = three(role, FUSION_OLD_MEMBER, orders[i / 2]);
		const struct fusion_sb new = super[NEW], old = super[OLD];
		struct pair p;

		fusion_sb_join(&super[OLD], &new, &old);
		super[OLD].old.state = FUSION_OLD_JOINING;
		fus_set_apart(list);
		REQUIRE_EQ(member[OLD].state, MEMBER_OK);
		REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
		REQUIRE(p.m == &member[PEER] && p.peer == &member[NEW] && p.old == &member[OLD]);
		/* and now it does */
		fusion_sb_join(&super[PEER], &new, &old);
		REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
		REQUIRE(p.m == &member[PEER] && p.peer == &member[OLD] && p.old == &member[NEW]);
	}
}

/* Nothing is left on the old one; either member may be the first to say so. */
static void test_over(void)
{
	for (int role = 0; role < 2; role++) {
		for (int first = PEER; first <= NEW; first++) {
			struct member *list = three(role, FUSION_OLD_MEMBER, orders[first]);
			struct pair p;

			fusion_sb_part(&super[first]);
			REQUIRE_EQ(find(list).role, role);
			REQUIRE(find(list).over);
			REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
			REQUIRE(p.old == &member[OLD] && !p.foreign, "it has to be told");
			remove_disk(&list, OLD);
			REQUIRE(find(list).over);
			REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
			REQUIRE(!p.old && !p.foreign);
		}
	}
}

/* The disk that has left is of no set. */
static void test_left(void)
{
	for (int role = 0; role < 2; role++) {
		struct member *list = three(role, FUSION_OLD_MEMBER, orders[1]);
		struct pair p;

		fusion_sb_part(&super[PEER]);
		fusion_sb_part(&super[NEW]);
		super[OLD] = left(role);
		member[OLD].state = MEMBER_LEFT;
		REQUIRE_EQ(find(list).role, -1);
		REQUIRE(!find_pair(list, &member[PEER], &p) && is_complete(&p));
		REQUIRE(!p.old && !p.foreign);
	}
}

static const struct unit_test tests[] = {
	{ "prepared", test_prepared },
	{ "prepared_in_part", test_prepared_in_part },
	{ "who_may_be_wiped", test_who_may_be_wiped },
	{ "overwritten", test_overwritten },
	{ "wiped", test_wiped },
	{ "wiped_in_part", test_wiped_in_part },
	{ "three", test_three },
	{ "apart", test_apart },
	{ "taken_back", test_taken_back },
	{ "over", test_over },
	{ "left", test_left },
};

UNIT_TESTS(tests)
