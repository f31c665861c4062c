/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MATH_H
#define SHIM_LINUX_MATH_H

/* round_up() and round_down(): @y is a power of two. */
#define round_up(x, y)		((((x) - 1) | ((typeof(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))(y) - 1))

#undef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#endif
