// SPDX-License-Identifier: GPL-2.0-only
/* The heartbeat: round trip, damage that must be noticed, and which machine may take a set how. */
#include <errno.h>
#include <linux/stddef.h>

#include "unit.h"

/* Offset of every field: the format, spelled out once more. */
#define AT(field, offset)	static_assert(offsetof(struct fusion_beat_block, field) == (offset))
AT(h, 0);
AT(activation, 32);
AT(counter, 40);
AT(open_time, 48);
AT(beat_time, 56);
AT(epoch, 64);
AT(state, 68);
AT(interval_ms, 72);
AT(pad, 76);
AT(host_id, 80);
AT(host_name, 96);
AT(rest, 160);
/* between the two copies of the superblock, which are at blocks 0 and 8 */
static_assert(FUSION_BEAT_BLOCKNR == 4);

static struct fusion_sb set_sb(void)
{
	struct fusion_sb sb;

	example_sb(&sb, 512ULL << 11, 4096ULL << 11, 2048);
	return sb;
}

static struct fusion_beat example(void)
{
	struct fusion_beat beat = {
		.activation = 0x1234567890abcdef,
		.counter = 1ULL << 62,
		.open_time = 1763000000,
		.beat_time = 1764000000,
		.epoch = 77,
		.state = FUSION_BEAT_FORCED,
		.interval_ms = FUSION_MAX_BEAT_MS,
	};

	memset(beat.host_id, 0x42, sizeof(beat.host_id));
	memset(beat.host_name, 'x', FUSION_HOST_SIZE);
	return beat;
}

static void test_round_trip(void)
{
	const struct fusion_sb sb = set_sb();
	struct fusion_beat beat = example(), back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;

	memset(block, 0x55, sizeof(block));
	fusion_beat_pack(&sb, &beat, block);
	REQUIRE(!fusion_beat_unpack(&sb, block, &back, &why), "%s", why);
	REQUIRE(!memcmp(&beat, &back, sizeof(beat)));
	REQUIRE_EQ(block[FUSION_BLOCK_SIZE - 1], 0);

	/* the least there may be */
	memset(&beat, 0, sizeof(beat));
	beat.interval_ms = FUSION_MIN_BEAT_MS;
	fusion_beat_pack(&sb, &beat, block);
	REQUIRE(!fusion_beat_unpack(&sb, block, &back, &why), "%s", why);
	REQUIRE(!memcmp(&beat, &back, sizeof(beat)));
}

/* An invalid heartbeat tells nothing, whatever it contains. */
static int refused(const struct fusion_sb *sb, const u8 *block)
{
	static const struct fusion_beat none;
	struct fusion_beat beat;
	const char *why = NULL;
	int err;

	memset(&beat, 0x55, sizeof(beat));
	err = fusion_beat_unpack(sb, block, &beat, &why);
	REQUIRE(!err || (why && !memcmp(&beat, &none, sizeof(beat))));
	return err;
}

static void test_damage(void)
{
	const struct fusion_sb sb = set_sb();
	struct fusion_sb other = sb;
	const struct fusion_beat beat = example();
	struct fusion_beat_block *d;
	u8 block[FUSION_BLOCK_SIZE] = { };
	unsigned int bit;
	u64 seed = 4;

	d = (void *)block;
	REQUIRE_EQ(refused(&sb, block), -ENODATA);
	rnd_fill(&seed, block, sizeof(block));
	REQUIRE_EQ(refused(&sb, block), -ENODATA);

	fusion_beat_pack(&sb, &beat, block);
	for (bit = 0; bit < BLOCK_BITS; bit++) {
		flip_bit(block, bit);
		REQUIRE(refused(&sb, block) == (bit / 32 == 1 ? -ENODATA : -EILSEQ), "bit %u",
			bit);
		flip_bit(block, bit);
	}
	REQUIRE_EQ(refused(&sb, block), 0);

	other.set_uuid[15] ^= 1;
	REQUIRE_EQ(refused(&other, block), -EILSEQ);

#define ODD(statement) do {			\
		fusion_beat_pack(&sb, &beat, block);	\
		statement;			\
		reseal(block);			\
		REQUIRE(refused(&sb, block) == -EILSEQ, #statement); \
	} while (0)
	ODD(d->state = cpu_to_le32(FUSION_BEAT_FORCED + 1));
	ODD(d->state = cpu_to_le32(U32_MAX));
	ODD(d->interval_ms = cpu_to_le32(FUSION_MIN_BEAT_MS - 1));
	ODD(d->interval_ms = cpu_to_le32(FUSION_MAX_BEAT_MS + 1));
	ODD(d->counter = cpu_to_le64(beat.counter + 1));
	ODD(d->host_name[10] = 0);
	ODD(d->h.blocknr = cpu_to_le64(FUSION_BEAT_BLOCKNR + 1));
}

/* Which machine may take a set how: the whole table of cases. */
static void test_taking(void)
{
	static const u8 none[16], me[16] = { 1 }, you[16] = { 2 };
	struct fusion_sb sb = set_sb();
	struct fusion_beat beat = { };
	u32 state;

#define TAKING(id, want)	REQUIRE_EQ(fusion_beat_taking(&sb, &beat, id), want)
	/* no heartbeat at all */
	for (sb.flags = 0; sb.flags <= FUSION_SB_CLEAN; sb.flags++) {
		const enum fusion_taking foreign = sb.flags ? FUSION_TAKE_CLAIM : FUSION_TAKE_WATCH;

		memcpy(sb.host_id, me, sizeof(me));
		TAKING(me, FUSION_TAKE_AT_ONCE);
		TAKING(you, foreign);
		TAKING(none, foreign);
		memcpy(sb.host_id, none, sizeof(none));
		TAKING(me, foreign);
		/* two that are not known are not the same */
		TAKING(none, foreign);
	}

	for (state = 0; state <= FUSION_BEAT_FORCED; state++) {
		const bool active = state >= FUSION_BEAT_BEATING;

		beat = (struct fusion_beat){ .state = state, .interval_ms = 1000 };
		memcpy(beat.host_id, me, sizeof(me));
		memcpy(sb.host_id, me, sizeof(me));
		sb.flags = 0;
		TAKING(me, FUSION_TAKE_AT_ONCE);
		TAKING(you, FUSION_TAKE_WATCH);
		TAKING(none, FUSION_TAKE_WATCH);
		sb.flags = FUSION_SB_CLEAN;
		TAKING(me, FUSION_TAKE_AT_ONCE);
		TAKING(you, active ? FUSION_TAKE_WATCH : FUSION_TAKE_CLAIM);
		/* another machine is about to take what was this one's */
		memcpy(beat.host_id, you, sizeof(you));
		TAKING(me, active ? FUSION_TAKE_WATCH : FUSION_TAKE_AT_ONCE);
		sb.flags = 0;
		TAKING(me, active ? FUSION_TAKE_WATCH : FUSION_TAKE_AT_ONCE);
		/* this one was about to take what was another one's */
		memcpy(beat.host_id, me, sizeof(me));
		memcpy(sb.host_id, you, sizeof(you));
		TAKING(me, FUSION_TAKE_WATCH);
		sb.flags = FUSION_SB_CLEAN;
		TAKING(me, FUSION_TAKE_CLAIM);
	}
}

/* The watch outlasts what the machine that wrote the block allows itself, and is bounded. */
static void test_watch(void)
{
	struct fusion_beat beat = { };

	REQUIRE_EQ(fusion_beat_watch_ms(&beat), 2 * FUSION_BEAT_MS + FUSION_BEAT_GRACE_MS);
	for (beat.interval_ms = 1; beat.interval_ms <= FUSION_MAX_BEAT_MS; beat.interval_ms++)
		REQUIRE(fusion_beat_watch_ms(&beat) >=
			fusion_beat_lease_ms(beat.interval_ms) + FUSION_BEAT_GRACE_MS);
	beat.interval_ms = FUSION_MAX_BEAT_MS;
	REQUIRE_EQ(fusion_beat_watch_ms(&beat), 21000);
}

static const struct unit_test tests[] = {
	{ "beat: round trip", test_round_trip },
	{ "beat: damage says nothing", test_damage },
	{ "beat: how a machine may take a set", test_taking },
	{ "beat: how long it is watched", test_watch },
};

UNIT_TESTS(tests)
