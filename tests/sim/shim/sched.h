/* SPDX-License-Identifier: GPL-2.0-only */
/* The task that runs. Only for the module: the rig has other things of that name. */
#ifndef SIM_SHIM_SCHED_H
#define SIM_SHIM_SCHED_H

#include "block.h"
#include "sync.h"

/* It has a plug now and then. Nothing is held back by it. */
struct task_struct {
	struct blk_plug *plug;
};

static inline struct task_struct *sim_current(void)
{
	static struct blk_plug plug;
	static struct task_struct task;

	task.plug = sim_plugged() ? &plug : NULL;
	return &task;
}

#define current				sim_current()

#endif
