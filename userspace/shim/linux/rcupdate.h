/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing is freed while a thread reads it: there is one thread. */
#ifndef SHIM_LINUX_RCUPDATE_H
#define SHIM_LINUX_RCUPDATE_H

#include <linux/compiler.h>

#define __rcu
#define rcu_read_lock()			((void)0)
#define rcu_read_unlock()		((void)0)
#define rcu_dereference(p)		READ_ONCE(p)
#define rcu_assign_pointer(p, v)	WRITE_ONCE(p, v)

#endif
