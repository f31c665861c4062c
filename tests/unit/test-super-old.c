// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks of a set of which a member is being replaced. */
#include <errno.h>
#include <linux/stddef.h>

#include "super.h"

/* A set, and the disk that fusionctl has prepared to replace its member @dev. */
struct trio {
	struct fusion_sb member;
	struct fusion_sb peer;
	struct fusion_sb disk;
};

static struct trio new_trio(enum fusion_dev dev)
{
	struct trio t = { .member = fast_sb() };

	fusion_sb_for_slow(&t.member, &t.peer);
	t.member.flags = 0;
	t.peer.flags = 0;
	if (dev == FUSION_SLOW)
		swap(t.member, t.peer);
	t.disk = t.member;
	memset(t.disk.dev_uuid, 0x77, sizeof(t.disk.dev_uuid));
	strcpy(t.disk.self.model, "new");
	t.disk.self_sectors += 4096;
	t.disk.generation = 2;
	fusion_sb_leave(&t.disk);
	t.disk.generation = 2;
	t.disk.old.state = FUSION_OLD_PREPARED;
	t.disk.old.sectors = t.member.self_sectors;
	memcpy(t.disk.old.uuid, t.member.dev_uuid, sizeof(t.disk.old.uuid));
	return t;
}

static int unpack(const struct fusion_sb *sb, struct fusion_sb *back, const char **why)
{
	const u64 nr = FUSION_SUPER_BLOCKNR(sb->generation & 1);
	u8 block[FUSION_BLOCK_SIZE];

	fusion_sb_pack(sb, nr, block);
	return fusion_sb_unpack(block, nr, sb->self_sectors, back, why);
}

static void require_valid(const struct fusion_sb *sb)
{
	struct fusion_sb back;
	const char *why;

	REQUIRE(!unpack(sb, &back, &why), "%s", why);
	REQUIRE(!memcmp(&back.old, &sb->old, sizeof(back.old)));
	REQUIRE(fusion_same_old(&back, sb));
}

/* Both superblocks after the join. */
static void join(struct trio *t, struct fusion_sb *new, struct fusion_sb *peer)
{
	const char *why;

	REQUIRE(!fusion_sb_may_join(&t->member, &t->peer, &t->disk, &why), "%s", why);
	*new = t->member;
	*peer = t->peer;
	fusion_sb_join(new, &t->member, &t->disk);
	fusion_sb_join(peer, &t->member, &t->disk);
}

static int match(const struct fusion_sb *a, const struct fusion_sb *b, const char **why)
{
	return a->role == FUSION_FAST ? fusion_sb_match(a, b, why) : fusion_sb_match(b, a, why);
}

static void test_join(void)
{
	struct fusion_sb new, peer, other;
	const char *why;
	u32 dev;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		struct trio t = new_trio(dev);

		require_valid(&t.disk);
		REQUIRE(fusion_sb_apart(&t.disk));
		REQUIRE_EQ(match(&t.disk, &t.peer, &why), -EXDEV);
		join(&t, &new, &peer);
		require_valid(&new);
		require_valid(&peer);
		REQUIRE_EQ(new.layout_seq, t.member.layout_seq + 1);
		REQUIRE(!match(&new, &peer, &why), "%s", why);
		REQUIRE(!fusion_sb_match_old(&peer, &t.member, &why), "%s", why);
		REQUIRE_EQ(fusion_sb_dev_sectors(&peer, dev), t.disk.self_sectors);
		REQUIRE(!strcmp(new.self.model, "new") && !strcmp(peer.peer.model, "new"));
		/* a failed attempt: the disk says so, and the set does not */
		other = new;
		other.old.state = FUSION_OLD_JOINING;
		require_valid(&other);
		REQUIRE(!match(&other, &peer, &why), "%s", why);
		REQUIRE_EQ(match(&other, &t.peer, &why), -EXDEV);
		REQUIRE(!fusion_sb_may_join(&t.member, &t.peer, &other, &why), "%s", why);
		/* the set as it was is no set any more */
		REQUIRE(!match(&t.member, &t.peer, &why));
		REQUIRE_EQ(match(&t.member, &peer, &why), -EXDEV);
		/* another old one */
		other = t.member;
		other.dev_uuid[3] ^= 1;
		REQUIRE_EQ(fusion_sb_match_old(&peer, &other, &why), -EXDEV);
		other = t.member;
		other.nr_lexts--;
		REQUIRE_EQ(fusion_sb_match_old(&peer, &other, &why), -EXDEV);
		other = peer;
		other.old.sectors++;
		REQUIRE_EQ(match(&new, &other, &why), -EXDEV);
	}
}

static void test_may_join(void)
{
	struct trio t;
	const char *why;
	u32 dev;

#define REFUSED(change, error) do {							\
	t = new_trio(dev);								\
	change;										\
	REQUIRE_EQ(fusion_sb_may_join(&t.member, &t.peer, &t.disk, &why), error);	\
} while (0)
	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		REFUSED(t.disk.set_uuid[1] ^= 1, -EXDEV);
		REFUSED(t.disk.peer_uuid[1] ^= 1, -EXDEV);
		REFUSED(t.disk.old.uuid[1] ^= 1, -EXDEV);
		REFUSED(t.disk.role ^= 1, -EXDEV);
		REFUSED(t.disk.old.state = FUSION_OLD_LEFT, -EXDEV);
		REFUSED(t.disk.old.state = FUSION_OLD_MEMBER, -EXDEV);
		REFUSED(t.disk.incompat = 0, -EXDEV);
		REFUSED(t.disk.nr_fast_slots++, -EXDEV);
		REFUSED(t.disk.self_sectors = t.member.self_sectors - 1, -EXDEV);
		REFUSED(t.member.layout_seq++, -EAGAIN);
		REFUSED(t.member.layout_seq = t.peer.layout_seq = U32_MAX, -EINVAL);
		REFUSED(t.member.layout_seq = t.peer.layout_seq = U32_MAX - 1, -EINVAL);
		REFUSED(t.disk.self_sectors = t.member.self_sectors, 0);
	}
}

/* The disks change their places, and again; or the old one leaves. */
static void test_ends(void)
{
	struct fusion_sb new, peer, back, backs_peer;
	const char *why;
	u32 dev, slot;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		struct trio t = new_trio(dev), b;
		const u32 first = dev == FUSION_FAST ? 0 : t.member.slow_first_slot;

		join(&t, &new, &peer);
		b = (struct trio){ new, peer, t.member };
		join(&b, &back, &backs_peer);
		require_valid(&back);
		require_valid(&backs_peer);
		REQUIRE(!match(&back, &backs_peer, &why), "%s", why);
		REQUIRE(!fusion_sb_match_old(&backs_peer, &new, &why), "%s", why);
		REQUIRE(!memcmp(back.dev_uuid, t.member.dev_uuid, sizeof(back.dev_uuid)));
		for (slot = first; slot < first + 3; slot++) {
			u32 word = fusion_word(FUSION_STABLE, dev, slot);
			u32 old = fusion_word_joined(&peer, word);

			REQUIRE(fusion_word_valid(&peer, word) && fusion_word_valid(&peer, old));
			REQUIRE(!fusion_word_valid(&t.peer, old));
			REQUIRE_EQ(fusion_word_joined(&backs_peer, old), word);
			REQUIRE_EQ(fusion_slot_sector(&peer, dev, fusion_word_slot(old)),
				   fusion_slot_sector(&peer, dev, slot));
			old = fusion_word_set_state(old, FUSION_OPEN);
			REQUIRE(!fusion_word_valid(&peer, old));
			word = fusion_word(FUSION_STABLE, !dev, slot);
			REQUIRE_EQ(fusion_word_joined(&peer, word), word);
		}
		REQUIRE_EQ(fusion_word_joined(&peer, FUSION_WORD_UNMAPPED), FUSION_WORD_UNMAPPED);

		/* the fast member is the first to be without it */
		b = (struct trio){ .member = new, .peer = peer };
		fusion_sb_part(dev == FUSION_FAST ? &new : &peer);
		require_valid(&new);
		require_valid(&peer);
		REQUIRE(!match(&new, &peer, &why), "%s", why);
		fusion_sb_part(dev == FUSION_FAST ? &peer : &new);
		REQUIRE(!match(&new, &peer, &why), "%s", why);
		new = b.member;
		peer = b.peer;
		fusion_sb_part(dev == FUSION_FAST ? &peer : &new);
		REQUIRE_EQ(match(&new, &peer, &why), -ESTALE);
		fusion_sb_leave(&t.member);
		require_valid(&t.member);
		REQUIRE(fusion_sb_apart(&t.member));
		REQUIRE_EQ(fusion_sb_match_old(&b.peer, &t.member, &why), -EXDEV);
	}
}

/* Each field of it is bounded. */
static void test_bounds(void)
{
	struct trio t = new_trio(FUSION_SLOW);
	struct fusion_sb new, peer, back, sb;
	const char *why;

	join(&t, &new, &peer);
#define WRONG(of, change) do {						\
	sb = of;							\
	change;								\
	REQUIRE_EQ(unpack(&sb, &back, &why), -EILSEQ);			\
	REQUIRE(strstr(why, "old member"), "%s", why);			\
} while (0)
	WRONG(peer, sb.old.state = 0);
	WRONG(peer, sb.old.state = 5);
	WRONG(peer, sb.old.state = FUSION_OLD_JOINING);
	WRONG(peer, sb.old.state = FUSION_OLD_PREPARED);
	WRONG(peer, sb.old.state = FUSION_OLD_LEFT);
	WRONG(new, sb.old.state = FUSION_OLD_LEFT);
	WRONG(new, sb.old.dev = 2);
	WRONG(new, sb.old.dev = FUSION_FAST);
	WRONG(new, sb.old.first_slot++);
	WRONG(new, sb.old.first_slot--);
	WRONG(new, sb.old.first_slot = U32_MAX);
	WRONG(new, sb.old.nr_slots++);
	WRONG(new, sb.old.nr_slots = U32_MAX);
	WRONG(new, sb.old.data_start = 8);
	WRONG(new, sb.old.sectors = 0);
	WRONG(new, sb.old.sectors = U64_MAX);
	WRONG(new, memcpy(sb.old.uuid, sb.dev_uuid, sizeof(sb.old.uuid)));
	WRONG(new, memcpy(sb.old.uuid, sb.peer_uuid, sizeof(sb.old.uuid)));
	/* without the bit nothing of it counts */
	sb = new;
	sb.incompat = 0;
	REQUIRE(!unpack(&sb, &back, &why), "%s", why);
	REQUIRE(!back.old.state && !back.old.first_slot);
}

static const struct unit_test tests[] = {
	{ "super: a disk takes the place of a member", test_join },
	{ "super: which disk may take the place of a member", test_may_join },
	{ "super: a disk is taken back, or leaves", test_ends },
	{ "super: what a superblock says of an old member is bounded", test_bounds },
};

UNIT_TESTS(tests)
