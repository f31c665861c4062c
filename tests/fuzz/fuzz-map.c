// SPDX-License-Identifier: GPL-2.0-only
/* A map block, and a heat block: accepted values can be used as an index directly. */
#include "fuzz.h"

#define GENERATION	7

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static u32 words[FUSION_MAP_PER_BLOCK];
	const struct fusion_sb *sb;
	u64 state = seed;
	bool shadows;
	u32 i;

	if (max_size < FUSION_BLOCK_SIZE)
		return 0;
	sb = fuzz_sb(rnd_below(&state, FUZZ_NR_SBS));
	shadows = sb->incompat & FUSION_INCOMPAT_SHADOW;
	if (size != FUSION_BLOCK_SIZE) {
		for (i = 0; i < FUSION_MAP_PER_BLOCK; i++)
			words[i] = i % 3 ? fusion_word(i % 2, FUSION_FAST, i % 64) :
				   FUSION_WORD_UNMAPPED;
		for (i = 0; i < 64 && shadows; i += 3)
			words[i] = fusion_shadow_word(i % 2 ? FUSION_SHADOW : FUSION_OUTDATED,
						      sb->slow_first_slot + i);
		for (i = 1; i < 64 && shadows; i += 3)
			words[i] = FUSION_WORD_LOST;
		fusion_map_pack(sb, 0, 0, GENERATION, words, data);
	}
	fuzz_block(data, rnd_below(&state, 8) ? sizeof(struct fusion_block_header) : 4);
	if (rnd_below(&state, 16))
		reseal(data);
	return FUSION_BLOCK_SIZE;
}

static void one_map(const struct fusion_sb *sb, unsigned int set, const uint8_t *data)
{
	u32 words[FUSION_MAP_PER_BLOCK], again[FUSION_MAP_PER_BLOCK];
	u8 packed[FUSION_BLOCK_SIZE];
	const char *why = NULL;
	u32 i, n = fusion_map_entries(sb, 0);
	int err = fusion_map_unpack(sb, set, 0, GENERATION, data, words, &why);

	PROMISED(!err || (err < 0 && why));
	if (err)
		return;
	for (i = 0; i < n; i++)
		PROMISED(fusion_word_valid(sb, words[i]) &&
			 (sb->incompat & FUSION_INCOMPAT_SHADOW ||
			  !fusion_names_shadow(words[i])));
	fusion_map_pack(sb, set, 0, GENERATION, words, packed);
	PROMISED(!fusion_map_unpack(sb, set, 0, GENERATION, packed, again, &why));
	PROMISED(!memcmp(words, again, n * sizeof(*words)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u16 heat[FUSION_HEAT_PER_BLOCK];
	const char *why = NULL;
	int which, set, err;

	if (size != FUSION_BLOCK_SIZE)
		return 0;
	for (which = 0; which < FUZZ_NR_SBS; which++)
		for (set = 0; set < FUSION_NR_SETS; set++)
			one_map(fuzz_sb(which), set, data);
	err = fusion_heat_unpack(fuzz_sb(FUSION_FAST), 0, data, heat, &why);
	PROMISED(!err || why);
	return 0;
}
