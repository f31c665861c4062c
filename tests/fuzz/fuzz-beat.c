// SPDX-License-Identifier: GPL-2.0-only
/*
 * A heartbeat: an accepted one is in bounds and packs to the same block; a refused one has no
 * meaning.
 */
#include "fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct fusion_beat beat = { .interval_ms = 2000, .host_name = "desk" };
	u64 state = seed;

	if (max_size < FUSION_BLOCK_SIZE)
		return 0;
	if (size != FUSION_BLOCK_SIZE) {
		beat.state = rnd_below(&state, FUSION_BEAT_FORCED + 1);
		fusion_beat_pack(fuzz_sb(FUSION_FAST), &beat, data);
	}
	fuzz_block(data, rnd_below(&state, 8) ? sizeof(struct fusion_block_header) : 4);
	if (rnd_below(&state, 16))
		reseal(data);
	return FUSION_BLOCK_SIZE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fusion_beat none;
	const struct fusion_sb *sb = fuzz_sb(FUSION_FAST);
	u8 packed[FUSION_BLOCK_SIZE];
	struct fusion_beat beat, again;
	const char *why = NULL;
	int err;

	if (size != FUSION_BLOCK_SIZE)
		return 0;
	err = fusion_beat_unpack(sb, data, &beat, &why);
	PROMISED(!err || (why && !memcmp(&beat, &none, sizeof(beat))));
	PROMISED(fusion_beat_taking(sb, &beat, beat.host_id) <= FUSION_TAKE_WATCH);
	if (err)
		return 0;
	PROMISED(beat.state <= FUSION_BEAT_FORCED && !beat.host_name[FUSION_HOST_SIZE]);
	PROMISED(fusion_beat_watch_ms(&beat) > 2 * beat.interval_ms &&
		 fusion_beat_watch_ms(&beat) <= 2 * FUSION_MAX_BEAT_MS + FUSION_BEAT_GRACE_MS);
	fusion_beat_pack(sb, &beat, packed);
	PROMISED(!fusion_beat_unpack(sb, packed, &again, &why));
	PROMISED(!memcmp(&beat, &again, sizeof(beat)));
	return 0;
}
