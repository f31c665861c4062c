/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

/* Both sides must have one type, as in the kernel: comparing the pointers warns if not. */
#define min(a, b) ({				\
	typeof(a) min_a = (a);			\
	typeof(b) min_b = (b);			\
						\
	(void)(&min_a == &min_b);		\
	min_a < min_b ? min_a : min_b;		\
})

#define max(a, b) ({				\
	typeof(a) max_a = (a);			\
	typeof(b) max_b = (b);			\
						\
	(void)(&max_a == &max_b);		\
	max_a > max_b ? max_a : max_b;		\
})

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, lo, hi)	min((typeof(v))max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)

#define swap(a, b) do {				\
	typeof(a) swap_tmp = (a);		\
						\
	(a) = (b);				\
	(b) = swap_tmp;				\
} while (0)

#endif
