/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel helpers that the model uses, for its build in userspace. */
#ifndef FIGURES_SHIM_H
#define FIGURES_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

typedef __u32 u32;
typedef __u64 u64;

#define U32_MAX		(~0U)
#define U64_MAX		(~0ULL)
#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L

#define min_t(type, a, b)	min(a, b)

static inline u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 div_u64(u64 n, u32 by)
{
	return n / by;
}

static inline u64 div_u64_rem(u64 n, u32 by, u32 *rem)
{
	*rem = n % by;
	return n / by;
}

static inline u64 div64_u64(u64 n, u64 by)
{
	return n / by;
}

static inline u64 div64_u64_rem(u64 n, u64 by, u64 *rem)
{
	*rem = n % by;
	return n / by;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 by)
{
	return (unsigned long long)((__uint128_t)a * b / by);
}

static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return root;
}

struct list_head {
	struct list_head *next, *prev;
};

#define list_entry(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

#endif
