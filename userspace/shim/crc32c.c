// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC-32C (Castagnoli): by the processor's own instruction, or eight bytes at a time. Then
 * table[k][b] is the remainder of byte b followed by k zero bytes.
 */
#include <linux/crc32c.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#define POLYNOMIAL	0x82f63b78U	/* reflected */

static u32 table[8][256];

static __attribute__((constructor)) void crc32c_init(void)
{
	unsigned int b, k, bit;
	u32 crc;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (k = 1; k < 8; k++)
		for (b = 0; b < 256; b++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

u32 fus_crc32c_portable(u32 crc, const void *address, unsigned int length)
{
	const u8 *p = address;
	unsigned int k;
	__le64 raw;
	u64 v;

	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&raw, p, sizeof(raw));
		v = le64_to_cpu(raw) ^ crc;
		for (crc = 0, k = 0; k < 8; k++, v >>= 8)
			crc ^= table[7 - k][v & 0xff];
	}
	for (; length; p++, length--)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return crc;
}

#ifdef __x86_64__
static __attribute__((target("sse4.2"))) u32 crc32c_sse42(u32 crc, const u8 *p,
							   unsigned int length)
{
	u64 v, c = crc;

	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&v, p, sizeof(v));
		c = __builtin_ia32_crc32di(c, v);
	}
	for (; length; p++, length--)
		c = __builtin_ia32_crc32qi(c, *p);
	return c;
}

u32 crc32c(u32 crc, const void *address, unsigned int length)
{
	return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, address, length) :
						  fus_crc32c_portable(crc, address, length);
}
#else
u32 crc32c(u32 crc, const void *address, unsigned int length)
{
	return fus_crc32c_portable(crc, address, length);
}
#endif
