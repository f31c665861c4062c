// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC-32C (Castagnoli), eight bytes at a time: table[k][b] is the remainder of
 * byte b followed by k zero bytes.
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

u32 crc32c(u32 crc, const void *address, unsigned int length)
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
