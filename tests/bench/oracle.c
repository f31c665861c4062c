// SPDX-License-Identifier: GPL-2.0-only
/*
 * The best hit ratio that a fixed placement can reach for a load of fio's.
 *
 *   oracle LOAD SPAN BLOCK SLOTS
 *
 * LOAD is a value of fio's random_distribution: random, zoned:12/60:80/4:8/36, or zipf:1.2:0.5,
 * with the start of the hash. It covers SPAN bytes, in I/Os of 4 KiB; SLOTS pieces of BLOCK bytes
 * can be on the SSD. Prints the share of the I/Os that go to the SLOTS most used pieces.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT	4096
#define GOLDEN	0x61c8864680b583ebULL	/* fio's hash multiplies by it */

static int misused(const char *what)
{
	fprintf(stderr, "oracle: %s\nusage: oracle LOAD SPAN BLOCK SLOTS\n", what);
	return 2;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * fio draws u from [0, 1) and takes rank 0 if u * zetan is below 1, rank 1 if it is below
 * 1 + 0.5^theta, and else n * (eta * u - eta + 1)^(1 / (1 - theta)). So the u at which a rank
 * begins is known.
 */
static int add_zipf(const char *spec, uint64_t n, uint64_t per_block, double *share)
{
	double theta, center, zetan = 0, eta, begin, end;
	char *rest;

	theta = strtod(spec, &rest);
	if (*rest++ != ':' || theta <= 0 || theta == 1)
		return 1;
	center = strtod(rest, &rest);
	if (*rest || center < 0 || center >= 1)
		return 1;
	for (uint64_t i = 1; i <= n; i++)
		zetan += pow(1.0 / i, theta);
	eta = (1 - pow(2.0 / n, 1 - theta)) / (1 - (1 + pow(0.5, theta)) / zetan);
	begin = 0;
	for (uint64_t rank = 0; rank < n; rank++) {
		uint64_t place = (rank * GOLDEN + (uint64_t)(n * center)) % n;

		if (!rank)
			end = 1 / zetan;
		else if (rank == 1)
			end = (1 + pow(0.5, theta)) / zetan;
		else if (rank + 1 == n)
			end = 1;
		else
			end = 1 + (pow((rank + 1.0) / n, 1 - theta) - 1) / eta;
		if (end > begin) {
			share[place / per_block] += end - begin;
			begin = end;
		}
	}
	return 0;
}

static int add_zones(const char *spec, uint64_t n, uint64_t per_block, double *share)
{
	unsigned long accesses, size, before = 0;
	char *rest;

	for (; *spec; spec = *rest ? rest + 1 : rest) {
		accesses = strtoul(spec, &rest, 10);
		if (*rest != '/')
			return 1;
		size = strtoul(rest + 1, &rest, 10);
		if (!size || before + size > 100 || (*rest && *rest != ':'))
			return 1;
		for (uint64_t i = n * before / 100, end = n * (before + size) / 100; i < end; i++)
			share[i / per_block] += accesses / 100.0 / (end - n * before / 100);
		before += size;
	}
	return before != 100;
}

static int add(const char *load, uint64_t n, uint64_t per_block, double *share)
{
	if (!strncmp(load, "zipf:", 5))
		return add_zipf(load + 5, n, per_block, share);
	if (!strncmp(load, "zoned:", 6))
		return add_zones(load + 6, n, per_block, share);
	if (strcmp(load, "random"))
		return 1;
	for (uint64_t i = 0; i < n; i++)
		share[i / per_block] += 1.0 / n;
	return 0;
}

static int get_number(const char *s, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(s, &end, 10);
	return errno || *end || *s < '0' || *s > '9';
}

int main(int argc, char **argv)
{
	uint64_t span, block, slots, blocks;
	double *share, sum = 0;

	if (argc != 5)
		return misused("four words are needed");
	if (get_number(argv[2], &span) || get_number(argv[3], &block) ||
	    get_number(argv[4], &slots))
		return misused("not a number");
	if (span < UNIT || span > 1ULL << 40 || block < UNIT || block % UNIT || block > span)
		return misused("a span or a block of that size makes no sense");
	blocks = (span + block - 1) / block;
	share = calloc(blocks, sizeof(*share));
	if (!share) {
		fputs("oracle: no memory\n", stderr);
		return 1;
	}
	if (add(argv[1], span / UNIT, block / UNIT, share)) {
		free(share);
		return misused("not a load");
	}
	qsort(share, blocks, sizeof(*share), by_size);
	for (uint64_t i = 0; i < blocks && i < slots; i++)
		sum += share[i];
	printf("%.6f\n", sum);
	free(share);
	return 0;
}
