/* SPDX-License-Identifier: GPL-2.0-only */
/* Time, numbers in text, modules, and what else the kernel has everywhere. */
#ifndef SIM_SHIM_MISC_H
#define SIM_SHIM_MISC_H

#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>

/* It is not visible outside the kernel. */
#define ERESTARTSYS	512

/* The message goes to the trace, with it the run fails if it is a warning. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void sim_log(const char *fmt, ...);
/* The same, of an error that the module reports: it may say why a set has gone read-only. */
__attribute__((format(printf, 1, 2))) void sim_err(const char *fmt, ...);

#define WARN_ON_ONCE(cond) ({						\
	bool sim_warn = (cond);						\
									\
	if (sim_warn)							\
		sim_fail("WARNING at %s:%d: %s", __FILE__, __LINE__, #cond); \
	sim_warn;							\
})
#define WARN_ON(cond)		WARN_ON_ONCE(cond)

/* One jiffy is a millisecond. */
typedef s64 ktime_t;
u64 sim_now_ns(void);

#define ktime_get()		((ktime_t)sim_now_ns())
#define ktime_get_boottime()	ktime_get()
#define ktime_to_ms(t)		((t) / 1000000)
#define ktime_to_us(t)		((t) / 1000)
#define ktime_to_ns(t)		(t)
/* The time of day goes faster: what is written before one of its seconds, and what after, differs. */
#define ktime_get_real_seconds() ((time64_t)(sim_now_ns() / 100000))
#define jiffies			((unsigned long)(sim_now_ns() / 1000000))
#define MSEC_PER_SEC			1000L
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define HZ			1000
typedef s64 time64_t;

/* Not from the world's random numbers: their sequence must not depend on the caller. */
u64 sim_random64(void);
#define get_random_u64()	sim_random64()

struct new_utsname {
	char nodename[65];
};

static inline const struct new_utsname *init_utsname(void)
{
	static const struct new_utsname name = { "simulator" };

	return &name;
}

#define strscpy(to, from, size)	((void)snprintf(to, size, "%s", from))

/* The simulated machine never sleeps. Before it shuts down, it calls the last one. */
struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event, void *data);
	int priority;
};

#define NOTIFY_DONE		0
#define notifier_from_errno(err)	(err)
#define PM_HIBERNATION_PREPARE	1
#define PM_SUSPEND_PREPARE	3
#define PM_POST_SUSPEND		4
#define register_pm_notifier(nb)	((void)(nb))
#define unregister_pm_notifier(nb)	((void)(nb))
void register_reboot_notifier(struct notifier_block *nb);
void unregister_reboot_notifier(struct notifier_block *nb);

int hex2bin(u8 *to, const char *from, size_t bytes);
int kstrtou32(const char *s, unsigned int base, u32 *result);
int kstrtou64(const char *s, unsigned int base, u64 *result);
int scnprintf(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void sort(void *base, size_t n, size_t size,
			int (*compare)(const void *, const void *),
			void (*swap_func)(void *, void *, int))
{
	(void)swap_func;
	qsort(base, n, size, compare);
}

#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)
#define PTR_ERR(p)		((long)(p))
#define ERR_PTR(n)		((void *)(long)(n))

struct module;
#define THIS_MODULE		((struct module *)0)
#define MODULE_DESCRIPTION(s)
#define MODULE_AUTHOR(s)
#define MODULE_LICENSE(s)
#define MODULE_VERSION(s)
#define module_init(f)		int sim_module_init(void) __attribute__((alias(#f)))
#define module_exit(f)		void sim_module_exit(void) __attribute__((alias(#f)))

#endif
