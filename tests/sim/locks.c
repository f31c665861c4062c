// SPDX-License-Identifier: GPL-2.0-only
/* Spinlocks, RCU, and all that a task waits with. */
#include <linux/rcupdate.h>

#include "task.h"

/* -- spinlocks, RCU -------------------------------------------------------------- */

void sim_lock(spinlock_t *lock, bool may_nest, unsigned long *flags)
{
	struct sim_task *t = world->current;

	sim_point();
	if (!may_nest && (!t || t->irqs_off))
		sim_fail("spin_lock_irq() with interrupts off");
	if (lock->held)
		sim_fail("spinlock taken twice");
	lock->held = true;
	if (flags)
		*flags = !t || t->irqs_off;
	if (t)
		t->irqs_off = true;
}

void sim_unlock(spinlock_t *lock, const unsigned long *flags)
{
	struct sim_task *t = world->current;

	if (!lock->held)
		sim_fail("spinlock released twice");
	lock->held = false;
	if (t && (!flags || !*flags))
		t->irqs_off = false;
	sim_point();
}

void rcu_read_lock(void)
{
	struct sim_task *t = world->current;

	if (t && !t->rcu_depth++)
		t->section = world->next_section++;
	sim_point();
}

bool need_resched(void)
{
	return !rnd_below(&world->rng, 8);
}

bool sim_plugged(void)
{
	return !rnd_below(&world->rng, 4);
}

void rcu_read_unlock(void)
{
	struct sim_task *t = world->current;

	if (t && !t->rcu_depth--)
		sim_fail("rcu_read_unlock() without a lock");
	sim_point();
}

/* -- waiting --------------------------------------------------------------------- */

void sim_might_sleep(void)
{
	struct sim_task *t = task_current("sleep");

	if (t->irqs_off)
		sim_fail("sleep with a spinlock held");
	if (t->rcu_depth)
		sim_fail("sleep in an RCU section");
}

/* As in the kernel: wait is set before the condition is looked at, so no wakeup is lost. */
void sim_prepare(const void *chan)
{
	world->current->wait = chan;
}

void sim_block(void)
{
	struct sim_task *t = world->current;

	if (!t->wait)
		return;
	t->blocked = true;
	task_leave(t);
}

void sim_finish(void)
{
	world->current->wait = NULL;
}

void sim_wake(const void *chan)
{
	struct sim_task *t;

	list_for_each_entry(t, &world->tasks, list) {
		if (t->wait != chan)
			continue;
		t->wait = NULL;
		if (t->blocked) {
			t->blocked = false;
			task_make_runnable(t);
		}
	}
}

void complete(struct completion *c)
{
	c->done++;
	sim_wake(c);
	sim_point();
}

void wait_for_completion(struct completion *c)
{
	sim_point();
	sim_wait(c, c->done);
	c->done--;
}

void mutex_lock(struct mutex *m)
{
	sim_point();
	sim_wait(m, !m->held);
	m->held = true;
}

void mutex_unlock(struct mutex *m)
{
	if (!m->held)
		sim_fail("mutex released twice");
	m->held = false;
	sim_wake(m);
	sim_point();
}
