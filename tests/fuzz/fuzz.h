/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the fuzz targets. Each reads its input as data from outside, with the production code,
 * and checks the result: not only that nothing crashes, but that accepted input keeps every promise
 * of the header that declares it.
 *
 * Blocks carry a checksum, which no mutation matches by chance. So the targets for blocks mutate
 * the content and seal the block again, most of the time.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>

#include "../unit/unit.h"

/* A function of libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Not assert(): it must stay, with NDEBUG as well. */
#define PROMISED(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond); \
		abort();						\
	}								\
} while (0)

/* Of the set whose pins a file has. */
#define FUZZ_PINS_UUID	"4f0c8f1e-6a0c-4f3e-9d6c-1b8b8e0b7a52"

/*
 * Of either member, of a slow one whose replica may name shadows, and of a fast one that may have a
 * landing log.
 */
#define FUZZ_SHADOWS	FUSION_NR_DEVS
#define FUZZ_LANDING	(FUSION_NR_DEVS + 1)
#define FUZZ_NR_SBS	(FUSION_NR_DEVS + 2)

/* The smallest set: 64 KiB extents, one map block. */
static inline const struct fusion_sb *fuzz_sb(unsigned int which)
{
	static struct fusion_sb sb[FUZZ_NR_SBS];

	if (!sb[FUSION_FAST].extent_sectors) {
		example_sb(&sb[FUSION_FAST], 128 * 128, 512 * 128, 128);
		fusion_sb_for_slow(&sb[FUSION_FAST], &sb[FUSION_SLOW]);
		sb[FUZZ_SHADOWS] = sb[FUSION_SLOW];
		sb[FUZZ_SHADOWS].incompat |= FUSION_INCOMPAT_SHADOW | FUSION_INCOMPAT_DAMAGED;
		sb[FUZZ_LANDING] = sb[FUSION_FAST];
		sb[FUZZ_LANDING].incompat |= FUSION_INCOMPAT_LANDING;
		sb[FUZZ_LANDING].landing_slots = 4;
		sb[FUZZ_LANDING].nr_lexts -= 4;
	}
	return &sb[which];
}

/* Mutate a whole block in place, keeping its size. */
static inline void fuzz_block(uint8_t *block, unsigned int skip)
{
	uint8_t copy[FUSION_BLOCK_SIZE];
	size_t n;

	memcpy(copy, block + skip, FUSION_BLOCK_SIZE - skip);
	n = LLVMFuzzerMutate(copy, FUSION_BLOCK_SIZE - skip, FUSION_BLOCK_SIZE - skip);
	memcpy(block + skip, copy, n);
}

#endif
