/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of partitions: gpt.c. */
#ifndef GPT_H
#define GPT_H

#include <stdbool.h>

struct device;

/* Is it a partition of a GPT? */
bool fus_gpt_partition(const struct device *dev);
/* Give such a one the type of members. */
int fus_gpt_mark_member(const struct device *dev);
/* Say so if what is a member no more still has that type; what it had before nobody knows. */
void fus_gpt_tell_mark(const struct device *dev);

#endif
