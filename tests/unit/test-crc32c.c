// SPDX-License-Identifier: GPL-2.0-only
/* The checksum of userspace is the kernel's. */
#include "unit.h"

/* One bit at a time, as the polynomial says. */
static u32 slow_crc32c(u32 crc, const u8 *p, unsigned int length)
{
	unsigned int bit;

	while (length--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

/* RFC 3720, B.4, and the usual check value. */
static void test_vectors(void)
{
	u8 buf[32];
	unsigned int i;

	REQUIRE_EQ(~crc32c(~0U, "123456789", 9), 0xe3069283);
	memset(buf, 0, sizeof(buf));
	REQUIRE_EQ(~crc32c(~0U, buf, sizeof(buf)), 0x8a9136aa);
	memset(buf, 0xff, sizeof(buf));
	REQUIRE_EQ(~crc32c(~0U, buf, sizeof(buf)), 0x62a8ab43);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i;
	REQUIRE_EQ(~crc32c(~0U, buf, sizeof(buf)), 0x46dd794e);
	REQUIRE_EQ(crc32c(0x1234, buf, 0), 0x1234);
	REQUIRE_EQ(fus_crc32c_portable(0x1234, buf, 0), 0x1234);
}

static void test_lengths(void)
{
	u8 buf[96];
	u64 seed = 2;
	unsigned int start, length;

	rnd_fill(&seed, buf, sizeof(buf));
	for (start = 0; start < 16; start++) {
		for (length = 0; length + start <= sizeof(buf); length++) {
			const u32 crc = rnd(&seed);
			const u32 want = slow_crc32c(crc, buf + start, length);

			REQUIRE_EQ(crc32c(crc, buf + start, length), want);
			REQUIRE_EQ(fus_crc32c_portable(crc, buf + start, length), want);
		}
	}
}

static const struct unit_test tests[] = {
	{ "crc32c: published vectors", test_vectors },
	{ "crc32c: any length and alignment, against a bitwise one", test_lengths },
};

UNIT_TESTS(tests)
