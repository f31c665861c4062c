/* SPDX-License-Identifier: GPL-2.0-only */
/* A program of its own is preempted anyway. */
#ifndef SHIM_LINUX_SCHED_H
#define SHIM_LINUX_SCHED_H

#define cond_resched()		((void)0)

#endif
