/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the unit tests: KTAP output, a random generator that gives the same numbers every time,
 * and blocks.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/crc32c.h>
#include <linux/kernel.h>

#include "dm-fusion-codec.h"
#include "../../userspace/lib/random.h"
#include "../reseal.h"

/* -- running tests -------------------------------------------------------- */

struct unit_test {
	const char *name;
	void (*run)(void);
};

/* All sources of a program share it. */
__attribute__((weak)) jmp_buf unit_failed;

/* End the test as failed unless @cond; the rest says why, as for printf(). */
#define REQUIRE(cond, ...) do {						\
	if (!(cond)) {							\
		printf("# %s:%d: not so: %s: ", __FILE__, __LINE__, #cond); \
		printf(" " __VA_ARGS__);				\
		printf("\n");						\
		longjmp(unit_failed, 1);				\
	}								\
} while (0)

#define REQUIRE_EQ(a, b) do {						\
	const long long req_a = (a), req_b = (b);			\
									\
	REQUIRE(req_a == req_b, "%s is %lld, %s is %lld", #a, req_a, #b, req_b); \
} while (0)

/* The content of a file of the tree. The caller frees it. */
static inline char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 18);

	REQUIRE(f && text, "%s", path);
	REQUIRE(fread(text, 1, (1 << 18) - 1, f) > 0);
	fclose(f);
	return text;
}

static inline int unit_main(const struct unit_test *tests, unsigned int nr)
{
	volatile unsigned int i, failed = 0;

	printf("KTAP version 1\n1..%u\n", nr);
	for (i = 0; i < nr; i++) {
		if (!setjmp(unit_failed)) {
			tests[i].run();
			printf("ok %u - %s\n", i + 1, tests[i].name);
		} else {
			failed++;
			printf("not ok %u - %s\n", i + 1, tests[i].name);
		}
		fflush(stdout);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A program runs the tests of all its sources, see unit.c. */
void unit_add(const struct unit_test *tests, unsigned int nr);

/* Run all but this one once more, as a part of it. */
void unit_run_others(void (*caller)(void));

#define UNIT_TESTS(tests)					\
static void __attribute__((constructor)) unit_add_tests(void)	\
{								\
	unit_add(tests, ARRAY_SIZE(tests));			\
}

/* -- random numbers ------------------------------------------------------- */

static inline u64 rnd(u64 *state)
{
	return random64(*state += RANDOM_STEP);
}

/* 0..n - 1 */
static inline u64 rnd_below(u64 *state, u64 n)
{
	return rnd(state) % n;
}

static inline void rnd_fill(u64 *state, void *p, size_t bytes)
{
	u8 *b = p;

	while (bytes--)
		*b++ = rnd(state);
}

/* Any magnitude is as likely as any other. */
static inline u64 rnd_log(u64 *state, u64 lo, u64 hi)
{
	unsigned int bits_lo = ilog2(lo), bits_hi = ilog2(hi);
	u64 v;

	do {
		v = rnd(state) >> (63 - bits_lo - rnd_below(state, bits_hi - bits_lo + 1));
	} while (v < lo || v > hi);
	return v;
}

/* -- blocks ----------------------------------------------------------------- */

static inline void flip_bit(void *block, unsigned int bit)
{
	((u8 *)block)[bit / 8] ^= 1U << bit % 8;
}

#define BLOCK_BITS	(FUSION_BLOCK_SIZE * 8U)

/* A little-endian number of 2, 4 or 8 bytes. */
static inline u64 get_le(const void *p, unsigned int size)
{
	const u8 *b = p;
	u64 v = 0;

	while (size--)
		v = v << 8 | b[size];
	return v;
}

static inline void put_le(void *p, unsigned int size, u64 v)
{
	u8 *b = p;

	for (; size--; v >>= 8)
		*b++ = v;
}

/* A fast member's superblock with something in every field. */
static inline void example_sb(struct fusion_sb *sb, u64 fast_sectors, u64 slow_sectors,
			      u32 extent_sectors)
{
	struct fusion_misfit misfit = { 0 };
	u64 seed = 1;
	int err;

	memset(sb, 0, sizeof(*sb));
	err = fusion_sb_plan(sb, fast_sectors, slow_sectors, extent_sectors, &misfit);
	REQUIRE(!err, "%s", misfit.what);
	rnd_fill(&seed, sb->set_uuid, sizeof(sb->set_uuid));
	rnd_fill(&seed, sb->dev_uuid, sizeof(sb->dev_uuid));
	rnd_fill(&seed, sb->peer_uuid, sizeof(sb->peer_uuid));
	strcpy(sb->label, "home");
	strcpy(sb->self.model, "fast model");
	strcpy(sb->self.serial, "fast serial");
	strcpy(sb->peer.model, "slow model");
	strcpy(sb->peer.serial, "slow serial");
	sb->compat = 0xc0;
	sb->ro_compat = 0xa0;
	sb->generation = 1001;
	sb->epoch = 77;
	sb->create_time = 1700000000;
	sb->active_set = 1;
	sb->set_generation = 501;
	sb->replay_seq = 30001;
	sb->replay_txn = 2001;
	sb->replay_csum = 0x12345678;
}

/* As check and dump unpack a superblock: it may be that of a set with a landing log. */
static inline int unpack_landing(const void *block, u64 blocknr, u64 dev_sectors,
				 struct fusion_sb *sb, const char **why)
{
	return fusion_sb_unpack_known(block, blocknr, dev_sectors,
				      FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_LANDING, sb, why);
}

#endif
