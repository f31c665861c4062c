/* SPDX-License-Identifier: GPL-2.0-only */
/* Bitmaps in memory and, this being a little endian machine, on disk. */
#ifndef SIM_SHIM_BITS_H
#define SIM_SHIM_BITS_H

#include <linux/types.h>
#include <endian.h>

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "bitmaps are little endian on disk");

#define BIT(nr)			(1UL << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define BITS_PER_BYTE		8
#define BITS_PER_LONG		64
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)

static inline bool test_bit(unsigned long n, const unsigned long *map)
{
	return map[n / BITS_PER_LONG] >> n % BITS_PER_LONG & 1;
}

static inline void __set_bit(unsigned long n, unsigned long *map)
{
	map[n / BITS_PER_LONG] |= BIT(n % BITS_PER_LONG);
}

static inline void set_bit(unsigned long n, unsigned long *map)
{
	__set_bit(n, map);
}

static inline void __clear_bit(unsigned long n, unsigned long *map)
{
	map[n / BITS_PER_LONG] &= ~BIT(n % BITS_PER_LONG);
}

static inline void clear_bit(unsigned long n, unsigned long *map)
{
	__clear_bit(n, map);
}

static inline bool __test_and_set_bit(unsigned long n, unsigned long *map)
{
	bool was = test_bit(n, map);

	__set_bit(n, map);
	return was;
}

static inline bool __test_and_clear_bit(unsigned long n, unsigned long *map)
{
	bool was = test_bit(n, map);

	__clear_bit(n, map);
	return was;
}

static inline void bitmap_zero(unsigned long *map, unsigned int nr)
{
	__builtin_memset(map, 0, BITS_TO_LONGS(nr) * sizeof(*map));
}

static inline void bitmap_set(unsigned long *map, unsigned int first, unsigned int nr)
{
	while (nr--)
		__set_bit(first++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int first, unsigned int nr)
{
	while (nr--)
		__clear_bit(first++, map);
}

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int nr)
{
	unsigned int i, w = 0;

	for (i = 0; i < nr; i++)
		w += test_bit(i, map);
	return w;
}

static inline unsigned long sim_find_bit(const unsigned long *map, unsigned long size,
					 unsigned long from, bool want)
{
	while (from < size && test_bit(from, map) != want)
		from++;
	return from < size ? from : size;
}

#define find_next_bit(map, size, from)		sim_find_bit(map, size, from, true)
#define for_each_set_bit(bit, map, size)					\
	for ((bit) = find_next_bit(map, size, 0); (bit) < (size);		\
	     (bit) = find_next_bit(map, size, (bit) + 1))
#define find_next_zero_bit(map, size, from)	sim_find_bit(map, size, from, false)
#define find_first_zero_bit(map, size)		find_next_zero_bit(map, size, 0)
#define for_each_clear_bit(bit, map, size)					\
	for ((bit) = find_next_zero_bit(map, size, 0); (bit) < (size);		\
	     (bit) = find_next_zero_bit(map, size, (bit) + 1))

static inline int test_bit_le(int n, const void *map)
{
	return test_bit(n, map);
}

static inline int __test_and_set_bit_le(int n, void *map)
{
	return __test_and_set_bit(n, map);
}

static inline int __test_and_clear_bit_le(int n, void *map)
{
	return __test_and_clear_bit(n, map);
}

static inline unsigned long find_next_bit_le(const void *map, unsigned long size,
					     unsigned long from)
{
	return find_next_bit((const unsigned long *)map, size, from);
}

static inline unsigned long find_next_zero_bit_le(const void *map, unsigned long size,
						  unsigned long from)
{
	return find_next_zero_bit((const unsigned long *)map, size, from);
}

static inline void bitmap_andnot(unsigned long *to, const unsigned long *a,
				 const unsigned long *b, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nr); i++)
		to[i] = a[i] & ~b[i];
}

#define hweight_long(w)	((unsigned long)__builtin_popcountl(w))
#define hweight64(w)	((unsigned int)__builtin_popcountll(w))
#define __ffs(n)	((unsigned long)__builtin_ctzl(n))

static inline u32 hash_32(u32 v, unsigned int bits)
{
	return v * 0x61c88647U >> (32 - bits);
}

#endif
