/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks: coroutines, of which one runs at a time until it waits, or is preempted at an atomic
 * access. The sources of the simulated kernel share this header:
 *
 * task.c	a task, switching, and how a run fails
 * sched.c	what goes on next
 * world.c	worlds, which have the tasks
 * locks.c	spinlocks, RCU; waiting
 * work.c	timers and workqueues
 */
#ifndef TASK_H
#define TASK_H

#include <ucontext.h>

#include "sim.h"

struct sim_task {
	struct list_head list;
	ucontext_t ctx;		/* to begin with */
	jmp_buf here;		/* later: costs no system call */
	bool started;
	void *stack;
	void *fake_stack;
	const char *name;
	void (*fn)(void *arg);
	void *arg;
	const void *wait;	/* what it is about to wait for */
	bool blocked;
	bool irqs_off;
	bool done;
	unsigned int rcu_depth;
	unsigned int delay;	/* times it is passed over */
	u64 section;
};

/* The one that runs. Fails the run with @what in an interrupt. */
struct sim_task *task_current(const char *what);

/* It may be drawn to go on. */
void task_make_runnable(struct sim_task *t);

/* Let @t go on until it leaves; and leave, which only the task itself may do. */
void task_run(struct sim_task *t);
void task_leave(struct sim_task *t);

void task_free(struct sim_task *t);

/* The timer that ends first does so now. Return: is there one? */
bool timer_fire(void);

#endif
