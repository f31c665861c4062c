// SPDX-License-Identifier: GPL-2.0-only
/* A set of numbers: pages of bits, which are found by a hash. */
#include <errno.h>
#include <stdlib.h>

#include "seen.h"

#define BITS	32768U		/* of a page */

struct seen_page {
	uint64_t key;
	uint64_t word[BITS / 64];
};

static size_t slot_of(const struct seen *s, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15ull >> 32 & (s->size - 1);

	while (s->page[i] && s->page[i]->key != key)
		i = (i + 1) & (s->size - 1);
	return i;
}

static int grow(struct seen *s)
{
	struct seen more = { .size = s->size ? 2 * s->size : 64, .nr = s->nr };

	more.page = calloc(more.size, sizeof(*more.page));
	if (!more.page)
		return -ENOMEM;
	for (size_t i = 0; i < s->size; i++)
		if (s->page[i])
			more.page[slot_of(&more, s->page[i]->key)] = s->page[i];
	free(s->page);
	*s = more;
	return 0;
}

static struct seen_page *page_of(struct seen *s, uint64_t key)
{
	size_t i;

	if (2 * s->nr >= s->size && grow(s))
		return NULL;
	i = slot_of(s, key);
	if (!s->page[i]) {
		s->page[i] = calloc(1, sizeof(*s->page[i]));
		if (!s->page[i])
			return NULL;
		s->page[i]->key = key;
		s->nr++;
	}
	return s->page[i];
}

/* Within a word. Return: how many of @n bits from @bit on are as the first one. */
static unsigned int alike(uint64_t word, unsigned int bit, unsigned int n)
{
	uint64_t other = (word >> bit & 1 ? ~word : word) >> bit;

	unsigned int same = other ? __builtin_ctzll(other) : 64;

	return same < n ? same : n;
}

int fus_seen_add(struct seen *s, uint64_t first, uint64_t count, uint64_t *nr)
{
	struct seen_page *p = NULL;
	int is_new = -1;

	for (*nr = 0; *nr < count;) {
		const uint64_t next = first + *nr;
		const unsigned int bit = next % 64;
		unsigned int n = 64 - bit, same;
		uint64_t *word;

		if (!p || p->key != next / BITS)
			p = page_of(s, next / BITS);
		if (!p)
			return -ENOMEM;
		word = &p->word[next % BITS / 64];
		if (is_new < 0)
			is_new = !(*word >> bit & 1);
		else if (is_new == (int)(*word >> bit & 1))
			break;
		if (n > count - *nr)
			n = count - *nr;
		same = alike(*word, bit, n);
		*word |= (same == 64 ? UINT64_MAX : (1ull << same) - 1) << bit;
		*nr += same;
		if (same < n)
			break;
	}
	return is_new;
}

void fus_seen_free(struct seen *s)
{
	for (size_t i = 0; i < s->size; i++)
		free(s->page[i]);
	free(s->page);
	*s = (struct seen){ 0 };
}
