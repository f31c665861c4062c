// SPDX-License-Identifier: GPL-2.0-only
/* CRC-32C by the processor's own instruction, since half of a recovery is checksums. */
#include <linux/crc32c.h>
#undef crc32c
#define crc32c crc32c_portable
#include "../../userspace/shim/crc32c.c"
#undef crc32c
#define crc32c fus_crc32c

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
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, address, length);
	return crc32c_portable(crc, address, length);
}
#else
u32 crc32c(u32 crc, const void *address, unsigned int length)
{
	return crc32c_portable(crc, address, length);
}
#endif
