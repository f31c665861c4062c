// SPDX-License-Identifier: GPL-2.0-only
/* Find the known word that was probably meant. */
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

#define MAX_WORD	32

/*
 * Number of letters to insert, drop, change, or swap with a neighbour, to turn one word into the
 * other.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[3][MAX_WORD + 1], *before = row[0], *last = row[1], *this = row[2], *spare;
	size_t len[2] = { strlen(a), strlen(b) };

	if (len[0] > MAX_WORD || len[1] > MAX_WORD)
		return MAX_WORD;
	for (size_t j = 0; j <= len[1]; j++)
		last[j] = j;
	memset(before, 0, sizeof(row[0]));
	for (size_t i = 1; i <= len[0]; i++) {
		this[0] = i;
		for (size_t j = 1; j <= len[1]; j++) {
			unsigned int best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = best < last[j] + 1 ? best : last[j] + 1;
			best = best < this[j - 1] + 1 ? best : this[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			this[j] = best;
		}
		spare = before;
		before = last;
		last = this;
		this = spare;
	}
	return last[len[1]];
}

const char *fus_nearest_word(const char *word, const char *(*nth)(unsigned int i))
{
	const char *one, *best = NULL;
	unsigned int least = strlen(word) / 3 + 1, n;

	for (unsigned int i = 0; (one = nth(i)); i++) {
		n = distance(word, one);
		if (n < least || (n == least && !best)) {
			least = n;
			best = one;
		}
	}
	return best;
}
