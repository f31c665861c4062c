/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of partitions: gpt.c. */
#ifndef GPT_H
#define GPT_H

#include <stdbool.h>

struct device;

/* Return: whether it is a partition of a GPT. */
bool fus_gpt_partition(const struct device *dev);
/* Give the partition the type of members. */
int fus_gpt_mark_member(const struct device *dev);
/* Report a former member that still has the type of members. Its earlier type is unknown. */
void fus_gpt_tell_mark(const struct device *dev);

#endif
