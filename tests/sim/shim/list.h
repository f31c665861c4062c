/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SIM_SHIM_LIST_H
#define SIM_SHIM_LIST_H

#include <stddef.h>
#include <stdbool.h>

#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

#define list_empty_careful(l)	list_empty(l)

static inline void sim_list_join(struct list_head *a, struct list_head *b)
{
	a->next = b;
	b->prev = a;
}

static inline void list_add(struct list_head *l, struct list_head *head)
{
	sim_list_join(l, head->next);
	sim_list_join(head, l);
}

static inline void list_add_tail(struct list_head *l, struct list_head *head)
{
	list_add(l, head->prev);
}

/* What is taken off twice, or used after it, is found by the bad pointers. */
static inline void list_del(struct list_head *l)
{
	sim_list_join(l->prev, l->next);
	l->next = (void *)0x100;
	l->prev = (void *)0x122;
}

static inline void list_del_init(struct list_head *l)
{
	sim_list_join(l->prev, l->next);
	INIT_LIST_HEAD(l);
}

static inline void list_move(struct list_head *l, struct list_head *head)
{
	sim_list_join(l->prev, l->next);
	list_add(l, head);
}

static inline void list_move_tail(struct list_head *l, struct list_head *head)
{
	sim_list_join(l->prev, l->next);
	list_add_tail(l, head);
}

static inline void list_splice_init(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	sim_list_join(from->prev, to->next);
	sim_list_join(to, from->next);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *to)
{
	list_splice_init(from, to->prev);
}

#define list_entry(p, type, member)		container_of(p, type, member)
#define list_first_entry(l, type, member)	list_entry((l)->next, type, member)
#define list_first_entry_or_null(l, type, member) \
	(list_empty(l) ? NULL : list_first_entry(l, type, member))
#define list_next_entry(p, member)	list_entry((p)->member.next, typeof(*(p)), member)

#define list_for_each_entry(p, l, member)				\
	for (p = list_first_entry(l, typeof(*p), member); &p->member != (l); \
	     p = list_next_entry(p, member))

#define list_for_each_entry_safe(p, n, l, member)			\
	for (p = list_first_entry(l, typeof(*p), member), n = list_next_entry(p, member); \
	     &p->member != (l); p = n, n = list_next_entry(n, member))

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	if (n->next)
		n->next->pprev = &n->next;
	h->first = n;
	n->pprev = &h->first;
}

static inline void hlist_del(struct hlist_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	n->next = (void *)0x100;
	n->pprev = (void *)0x122;
}

#define hlist_entry_or_null(n, type, member) ({				\
	struct hlist_node *sim_node = (n);				\
									\
	sim_node ? container_of(sim_node, type, member) : NULL;		\
})

#define hlist_for_each_entry(p, h, member)				\
	for (p = hlist_entry_or_null((h)->first, typeof(*p), member); p; \
	     p = hlist_entry_or_null(p->member.next, typeof(*p), member))

#endif
