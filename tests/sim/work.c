// SPDX-License-Identifier: GPL-2.0-only
/* Timers, and the workqueues whose workers are tasks. */
#include "task.h"

/* -- timers ---------------------------------------------------------------------- */

static void arm(struct sim_timer *t, u64 ms, void (*fn)(struct sim_timer *t))
{
	t->armed = true;
	t->expires = world->now_ns + ms * 1000000;
	t->fn = fn;
	list_add_tail(&t->list, &world->timers);
}

static bool disarm(struct sim_timer *t)
{
	if (!t->armed)
		return false;
	t->armed = false;
	list_del(&t->list);
	return true;
}

bool timer_fire(void)
{
	struct sim_timer *t, *first = NULL;

	list_for_each_entry(t, &world->timers, list)
		if (!first || t->expires < first->expires)
			first = t;
	if (!first)
		return false;
	world->now_ns = max(world->now_ns, first->expires);
	list_del(&first->list);
	first->armed = false;
	first->fn(first);
	return true;
}

static void wake_sleeper(struct sim_timer *t)
{
	sim_wake(t);
}

void schedule_timeout_uninterruptible(long timeout)
{
	struct sim_timer t;

	arm(&t, timeout, wake_sleeper);
	sim_wait(&t, !t.armed);
}

void msleep(unsigned int ms)
{
	schedule_timeout_uninterruptible(ms);
}

/* -- work ------------------------------------------------------------------------ */

struct workqueue_struct {
	const char *name;
	struct list_head works;
	bool started;
	bool running;
	bool stop;
};

static void worker(void *arg)
{
	struct workqueue_struct *wq = arg;

	for (;;) {
		struct work_struct *work;
		u64 nr;

		sim_wait(wq, wq->stop || !list_empty(&wq->works));
		if (list_empty(&wq->works))
			break;
		work = list_first_entry(&wq->works, struct work_struct, entry);
		list_del(&work->entry);
		work->pending = false;
		work->running = true;
		nr = work->queued;
		work->func(work);
		if (world->current->irqs_off || world->current->rcu_depth)
			sim_fail("work of %s ended with a lock held", wq->name);
		work->running = false;
		work->finished = nr;
		sim_wake(work);
	}
	wq->started = false;
	sim_wake(&wq->started);
}

static void enqueue(struct workqueue_struct *wq, struct work_struct *work)
{
	if (wq->stop)
		sim_fail("work queued on %s, which is being destroyed", wq->name);
	work->wq = wq;
	work->pending = true;
	work->queued++;
	list_add_tail(&work->entry, &wq->works);
	if (!wq->started) {
		wq->started = true;
		sim_spawn(wq->name, worker, wq);
	}
	sim_wake(wq);
}

static void timer_enqueue(struct sim_timer *t)
{
	struct delayed_work *dw = container_of(t, struct delayed_work, timer);

	enqueue(dw->work.wq, &dw->work);
}

void sim_init_work(struct work_struct *work, work_func_t func)
{
	memset(work, 0, sizeof(*work));
	work->func = func;
}

void sim_init_delayed_work(struct delayed_work *dw, work_func_t func)
{
	sim_init_work(&dw->work, func);
	dw->timer.armed = false;
}

struct workqueue_struct *alloc_ordered_workqueue(const char *name, unsigned int flags)
{
	struct workqueue_struct *wq = sim_try_alloc(sizeof(*wq), true);

	if (!wq)
		return NULL;
	wq->name = name;
	INIT_LIST_HEAD(&wq->works);
	return wq;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	wq->stop = true;
	sim_wake(wq);
	sim_wait(&wq->started, !wq->started);
	sim_free(wq);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	bool queued = !work->pending && !work->cancelling;

	if (queued)
		enqueue(wq, work);
	sim_point();
	return queued;
}

static void start_delay(struct workqueue_struct *wq, struct delayed_work *dw,
			unsigned long delay)
{
	if (!delay) {
		enqueue(wq, &dw->work);
		return;
	}
	dw->work.pending = true;
	dw->work.wq = wq;
	arm(&dw->timer, delay, timer_enqueue);
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw,
			unsigned long delay)
{
	bool queued = !dw->work.pending && !dw->work.cancelling;

	if (queued)
		start_delay(wq, dw, delay);
	sim_point();
	return queued;
}

static bool steal(struct work_struct *work, struct sim_timer *timer)
{
	if (!work->pending)
		return false;
	work->pending = false;
	if (!timer || !disarm(timer)) {
		list_del(&work->entry);
		/* who flushes this instance need not wait any more */
		if (!work->running)
			work->finished = work->queued;
		sim_wake(work);
	}
	return true;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *dw,
		      unsigned long delay)
{
	bool was = false;

	if (!dw->work.cancelling) {
		was = steal(&dw->work, &dw->timer);
		start_delay(wq, dw, delay);
	}
	sim_point();
	return was;
}

bool flush_work(struct work_struct *work)
{
	u64 nr = work->queued;

	sim_point();
	if (!work->pending && !work->running)
		return false;
	sim_wait(work, work->finished >= nr || (!work->pending && !work->running));
	return true;
}

bool flush_delayed_work(struct delayed_work *dw)
{
	if (disarm(&dw->timer))
		enqueue(dw->work.wq, &dw->work);
	return flush_work(&dw->work);
}

static bool cancel(struct work_struct *work, struct sim_timer *timer)
{
	bool was = steal(work, timer);

	work->cancelling = true;
	sim_point();
	sim_wait(work, !work->running);
	work->cancelling = false;
	return was;
}

bool cancel_work_sync(struct work_struct *work)
{
	return cancel(work, NULL);
}

bool cancel_delayed_work_sync(struct delayed_work *dw)
{
	return cancel(&dw->work, &dw->timer);
}
