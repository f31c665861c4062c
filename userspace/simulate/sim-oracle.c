// SPDX-License-Identifier: GPL-2.0-only
/* The best that a fixed placement could do: the extents used most are on the fast member. */
#include <string.h>

#include "sim.h"

/* Floats that are not negative are ordered as their bits are. */
static u32 bits(float f)
{
	u32 b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

/* In two passes, by the upper and the lower half of the bits. */
double sim_greatest(const float *density, u32 nr, u32 k, float *least, double *part)
{
	static u32 count[1 << 16];
	u32 high, low, border, left = k < nr ? k : nr, equal;
	double sum = 0;
	float value;

	memset(count, 0, sizeof(count));
	for (u32 i = 0; i < nr; i++)
		count[bits(density[i]) >> 16]++;
	for (high = (1 << 16) - 1; high && count[high] < left; high--)
		left -= count[high];

	memset(count, 0, sizeof(count));
	for (u32 i = 0; i < nr; i++)
		if (bits(density[i]) >> 16 == high)
			count[bits(density[i]) & 0xffff]++;
	for (low = (1 << 16) - 1; low && count[low] < left; low--)
		left -= count[low];
	equal = count[low];

	border = high << 16 | low;
	memcpy(&value, &border, sizeof(value));
	for (u32 i = 0; i < nr; i++)
		if (bits(density[i]) > border)
			sum += density[i];
	if (least) {
		*least = value;
		*part = equal ? (double)left / equal : 0;
	}
	return sum + (double)left * value;
}
