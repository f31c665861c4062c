// SPDX-License-Identifier: GPL-2.0-only
/* A superblock: an accepted one has a possible geometry, and packs to the same block. */
#include "fuzz.h"
#include "../unit/geometry.h"

/* Sectors of its device; larger than any real one, to judge the numbers alone. */
#define SECTORS		(1024ULL * FUSION_MAX_LEXTS * FUSION_MAX_EXTENT_SECTORS)

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	u64 state = seed;

	if (max_size < FUSION_BLOCK_SIZE)
		return 0;
	if (size != FUSION_BLOCK_SIZE)
		fusion_sb_pack(fuzz_sb(rnd_below(&state, 3) ? FUZZ_LANDING :
				       rnd_below(&state, FUSION_NR_DEVS)), 0, data);
	/* one time in eight also the header */
	fuzz_block(data, rnd_below(&state, 8) ? sizeof(struct fusion_block_header) : 4);
	if (rnd_below(&state, 16))
		reseal(data);
	return FUSION_BLOCK_SIZE;
}

static void check_transit(const struct fusion_sb *sb)
{
	const struct fusion_transit *t = &sb->transit;

	/* and then it has no other bit */
	PROMISED(fusion_sb_in_transit(sb) == !!(sb->incompat & FUSION_INCOMPAT_IN_TRANSIT));
	PROMISED(t->nr_magics <= FUSION_MAX_MAGICS);
	PROMISED(t->nr_magics || !fusion_sb_in_transit(sb) || t->kind != FUSION_TRANSIT_ADOPT);
	PROMISED(!t->nr_magics || t->kind != FUSION_TRANSIT_UUID);
	PROMISED(t->kind != FUSION_TRANSIT_UUID || sb->role == FUSION_SLOW);
	PROMISED(t->kind != FUSION_TRANSIT_RELEASE || t->dev == FUSION_SLOW);
	for (u32 i = 0; i < t->nr_magics; i++)
		PROMISED(t->magic[i] < (t->dev == sb->role ? sb->self_sectors : sb->peer_sectors));
}

typedef int (*unpack_fn)(const void *block, u64 blocknr, u64 dev_sectors, struct fusion_sb *sb,
			 const char **why);

/* What one of the functions accepts. */
static void check_accepted(const uint8_t *data, u64 blocknr, unpack_fn unpack)
{
	u8 packed[FUSION_BLOCK_SIZE];
	struct fusion_sb sb, other;
	const char *why = NULL;
	int err = unpack(data, blocknr, SECTORS, &sb, &why);

	PROMISED(!err || (err < 0 && why));
	if (err)
		return;
	PROMISED(unpack == fusion_sb_unpack_transit || !(sb.incompat & FUSION_INCOMPAT_IN_TRANSIT));
	PROMISED(unpack == unpack_landing || !(sb.incompat & FUSION_INCOMPAT_LANDING));
	PROMISED(!sb.landing_slots ||
		 (sb.role == FUSION_FAST && sb.incompat & FUSION_INCOMPAT_LANDING));
	check_transit(&sb);
	PROMISED(!geometry_wrong(&sb));
	PROMISED(sb.role < FUSION_NR_DEVS && sb.active_set < FUSION_NR_SETS);
	PROMISED(sb.label[FUSION_LABEL_SIZE] == 0);
	PROMISED((sb.generation & 1) == (blocknr == 8));

	fusion_sb_pack(&sb, blocknr, packed);
	PROMISED(!unpack(packed, blocknr, SECTORS, &other, &why));
	PROMISED(!memcmp(&other.transit, &sb.transit, sizeof(sb.transit)));
	PROMISED(other.generation == sb.generation && other.nr_lexts == sb.nr_lexts &&
		 other.fast_data_start == sb.fast_data_start &&
		 other.replay_seq == sb.replay_seq && other.landing_slots == sb.landing_slots &&
		 other.stale_places == sb.stale_places && other.stale_start == sb.stale_start);

	why = NULL;
	err = fusion_sb_match(&sb, fuzz_sb(FUSION_SLOW), &why);
	PROMISED(!err || why);
	fusion_sb_for_slow(&sb, &other);
	err = fusion_sb_match(&sb, &other, &why);
	PROMISED(!err || why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 blocknr;

	if (size != FUSION_BLOCK_SIZE)
		return 0;
	for (blocknr = 0; blocknr <= 8; blocknr += 8) {
		check_accepted(data, blocknr, fusion_sb_unpack);
		check_accepted(data, blocknr, fusion_sb_unpack_transit);
		check_accepted(data, blocknr, unpack_landing);
	}
	return 0;
}
