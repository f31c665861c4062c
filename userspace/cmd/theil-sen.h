/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A line through points of which some are far off, by Theil and Sen: theil-sen.c. The slope is the
 * median of the slopes of all pairs, so up to 29 percent of the points may have any value.
 */
#ifndef THEIL_SEN_H
#define THEIL_SEN_H

#include <stdbool.h>
#include <stddef.h>

struct theil_point {
	double x, y;
};

/* Each value with the bounds of its interval of 95 percent. */
struct theil_value {
	double is, low, high;
};

struct theil_line {
	struct theil_value slope;
	struct theil_value at_zero;	/* y where x is 0 */
	size_t outliers;
};

/*
 * Find the line, and for each point whether it is unusually far off. Return: false if the points
 * have less than two values of x, or if memory is short.
 */
bool theil_sen(const struct theil_point *point, size_t nr, struct theil_line *line, bool *outlier);
/* The median of @nr values, which are sorted by that; at least one. */
double theil_median(double *value, size_t nr);

#endif
