/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, waiting and work on cooperative tasks: see task.h. A forbidden act (to sleep with a lock
 * held, in an interrupt, or in an RCU section; to take a lock twice) fails the run.
 */
#ifndef SIM_SHIM_SYNC_H
#define SIM_SHIM_SYNC_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

/* -- spinlocks, RCU -------------------------------------------------------------- */

typedef struct {
	bool held;
} spinlock_t;

void sim_lock(spinlock_t *lock, bool may_nest, unsigned long *flags);
void sim_unlock(spinlock_t *lock, const unsigned long *flags);

#define __SPIN_LOCK_UNLOCKED(name)	{ false }
#define spin_lock_init(l)		((l)->held = false)
#define spin_lock_irq(l)		sim_lock(l, false, NULL)
#define spin_unlock_irq(l)		sim_unlock(l, NULL)
#define spin_lock_irqsave(l, flags)	sim_lock(l, true, &(flags))
#define spin_unlock_irqrestore(l, flags) sim_unlock(l, &(flags))

void rcu_read_lock(void);
void rcu_read_unlock(void);
void synchronize_rcu(void);
#define rcu_read_lock_sched()		rcu_read_lock()
#define rcu_read_unlock_sched()		rcu_read_unlock()

/* Others run meanwhile, as on other CPUs, but the task must not sleep. */
#define CONFIG_PREEMPT_RT		0
#define IS_ENABLED(option)		(option)
#define preempt_disable()		rcu_read_lock()
#define preempt_enable()		rcu_read_unlock()
/* now and then */
bool need_resched(void);
bool sim_plugged(void);

#define rcu_dereference(p)		READ_ONCE(p)
#define rcu_assign_pointer(p, v)	WRITE_ONCE(p, v)

/* -- waiting --------------------------------------------------------------------- */

void sim_might_sleep(void);
void sim_prepare(const void *chan);
void sim_block(void);
void sim_finish(void);
void sim_wake(const void *chan);

typedef struct {
	int unused;
} wait_queue_head_t;

#define init_waitqueue_head(wq)	((void)(wq))
#define wake_up(wq)		sim_wake(wq)
#define wake_up_all(wq)		sim_wake(wq)
#define sim_wait(chan, cond) do {					\
	sim_might_sleep();						\
	for (;;) {							\
		sim_prepare(chan);					\
		if (cond)						\
			break;						\
		sim_block();						\
	}								\
	sim_finish();							\
} while (0)
#define wait_event(wq, cond)	sim_wait(&(wq), cond)
#define wait_event_timeout(wq, cond, timeout)	({ sim_wait(&(wq), cond); 1L; })

struct completion {
	unsigned int done;
};

#define init_completion(c)	((c)->done = 0)
#define reinit_completion(c)	init_completion(c)
void complete(struct completion *c);
void wait_for_completion(struct completion *c);
#define wait_for_completion_io(c) wait_for_completion(c)
#define wait_for_completion_interruptible(c) (wait_for_completion(c), 0)

struct mutex {
	bool held;
};

#define mutex_init(m)		((m)->held = false)
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);

#define cond_resched()		sim_point()
void schedule_timeout_uninterruptible(long timeout);
void msleep(unsigned int ms);
/* there are no signals */
#define msleep_interruptible(ms) (msleep(ms), 0UL)

/* -- work ------------------------------------------------------------------------ */

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
	struct list_head entry;		/* in its queue if @pending */
	struct workqueue_struct *wq;
	bool pending;			/* queued, or its timer is armed */
	bool running;
	bool cancelling;
	u64 queued;			/* counts */
	u64 finished;
};

struct sim_timer {
	struct list_head list;		/* if @armed */
	bool armed;
	u64 expires;			/* ns */
	void (*fn)(struct sim_timer *timer);
};

struct delayed_work {
	struct work_struct work;
	struct sim_timer timer;
};

#define WQ_MEM_RECLAIM		0
#define WQ_UNBOUND		0
#define WQ_HIGHPRI		0
#define INIT_WORK(w, f)		sim_init_work(w, f)
#define INIT_DELAYED_WORK(d, f)	sim_init_delayed_work(d, f)
void sim_init_work(struct work_struct *work, work_func_t func);
void sim_init_delayed_work(struct delayed_work *dw, work_func_t func);

struct workqueue_struct *alloc_ordered_workqueue(const char *name, unsigned int flags);
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw,
			unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw,
		      unsigned long delay);
bool flush_work(struct work_struct *work);
bool flush_delayed_work(struct delayed_work *dw);
bool cancel_work_sync(struct work_struct *work);
bool cancel_delayed_work_sync(struct delayed_work *dw);

#endif
