/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Atomic accesses. Each is a point where another task may run instead, so the order of
 * single loads and stores is explored, under sequential consistency.
 */
#ifndef SIM_SHIM_COMPILER_H
#define SIM_SHIM_COMPILER_H

extern int sim_preempt_left;
void sim_preempt(void);

static inline void sim_point(void)
{
	if (__builtin_expect(--sim_preempt_left <= 0, 0))
		sim_preempt();
}

#define READ_ONCE(x)		({ sim_point(); *(const volatile typeof(x) *)&(x); })
#define WRITE_ONCE(x, v)	do {					\
	typeof(x) sim_value = (v);					\
									\
	sim_point();							\
	*(volatile typeof(x) *)&(x) = sim_value;			\
} while (0)

#define smp_load_acquire(p)	READ_ONCE(*(p))
#define smp_store_release(p, v)	WRITE_ONCE(*(p), v)

#define xchg(p, v) ({							\
	typeof(*(p)) sim_new = (v), sim_old;				\
									\
	sim_point();							\
	sim_old = *(p);							\
	*(p) = sim_new;							\
	sim_old;							\
})

#define cmpxchg(p, old, new) ({						\
	typeof(*(p)) sim_old = (old), sim_new = (new), sim_seen;	\
									\
	sim_point();							\
	sim_seen = *(p);						\
	if (sim_seen == sim_old)					\
		*(p) = sim_new;						\
	sim_seen;							\
})

typedef struct {
	int counter;
} atomic_t;

#define atomic_inc(v)		do { sim_point(); (v)->counter++; } while (0)
#define atomic_dec(v)		do { sim_point(); (v)->counter--; } while (0)
#define atomic_set(v, i)	do { sim_point(); (v)->counter = (i); } while (0)
#define atomic_read(v)		READ_ONCE((v)->counter)

#define smp_mb()		sim_point()
#define smp_rmb()		sim_point()
#define cpu_relax()		sim_point()

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define fallthrough		__attribute__((__fallthrough__))
#define noinline		__attribute__((__noinline__))
#define noinline_for_stack	noinline
#define __percpu
#define __rcu
#define __releases(x)
#define __acquires(x)
#define __must_hold(x)
#define __init
#define __exit
#define __user

#endif
