// SPDX-License-Identifier: GPL-2.0-only
/* Spinlocks, RCU, references, and all that a task waits with. */
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

void rcu_read_unlock(void)
{
	struct sim_task *t = world->current;

	if (t && !t->rcu_depth--)
		sim_fail("rcu_read_unlock() without a lock");
	sim_point();
}

int percpu_ref_init(struct percpu_ref *ref, void (*release)(struct percpu_ref *ref),
		    unsigned int flags, gfp_t gfp)
{
	if (sim_out_of_memory())
		return -ENOMEM;
	ref->count = 1;
	ref->dead = false;
	ref->release = release;
	return 0;
}

void percpu_ref_exit(struct percpu_ref *ref)
{
	if (ref->count != 1 || ref->dead)
		sim_fail("percpu_ref_exit() with %lu references", ref->count);
}

bool percpu_ref_tryget_live_rcu(struct percpu_ref *ref)
{
	struct sim_task *t = world->current;

	if (t && !t->rcu_depth)
		sim_fail("percpu_ref_tryget_live_rcu() outside of RCU");
	sim_point();
	if (ref->dead)
		return false;
	/* Between the look at the mode and the increment; only RCU protects this. */
	sim_point();
	ref->count++;
	return true;
}

void percpu_ref_put(struct percpu_ref *ref)
{
	sim_point();
	if (!ref->count)
		sim_fail("percpu_ref_put() without a reference");
	if (!--ref->count)
		ref->release(ref);
}

void percpu_ref_kill(struct percpu_ref *ref)
{
	struct grace *g;

	if (ref->dead)
		sim_fail("percpu_ref_kill() twice");
	ref->dead = true;
	g = sim_alloc(sizeof(*g), false);
	g->ref = ref;
	g->section = world->next_section;
	list_add_tail(&g->list, &world->graces);
	sim_point();
}

void percpu_ref_reinit(struct percpu_ref *ref)
{
	if (!ref->dead || ref->count)
		sim_fail("percpu_ref_reinit() of a live reference");
	ref->count = 1;
	ref->dead = false;
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
