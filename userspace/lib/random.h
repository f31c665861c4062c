/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * splitmix64: numbers that are the same every time, from a state of 64 bits. By value, so
 * that each program can keep its own type of state: z = random64(state += RANDOM_STEP).
 */
#ifndef RANDOM_H
#define RANDOM_H

#define RANDOM_STEP	0x9e3779b97f4a7c15ULL

static inline unsigned long long random64(unsigned long long z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#endif
