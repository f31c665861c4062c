// SPDX-License-Identifier: GPL-2.0-only
/*
 * Worlds and their tasks: coroutines, of which one runs at a time until it waits, or is
 * preempted at an atomic access. What goes on next (a task, a bio in flight, the end of
 * an RCU grace period) is drawn at random. The clock moves on when nothing else can be
 * done, and now and then before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <linux/rcupdate.h>

#include "dm-fusion.h"

#include "sim.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE	(512U << 10)
#else
#define STACK_SIZE	(64U << 10)
#endif

/* Steps in one operation, or in an opening: somebody spins. */
#define MAX_STEPS	20000000ULL

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

/* The end of a grace period is when no section older than it is left. */
struct grace {
	struct list_head list;
	struct percpu_ref *ref;
	u64 section;
};

struct sim_world *world;
int sim_preempt_left;

/* Of the scheduler of the innermost world, which all run on the program's own stack. */
static jmp_buf host;
static bool failing;
static jmp_buf *fail_target;
static char fail_text[256];

/* -- stacks ---------------------------------------------------------------------- */

static void *spare_stacks;

static void *get_stack(void)
{
	void *stack = spare_stacks;

	if (stack)
		spare_stacks = *(void **)stack;
	else
		stack = malloc(STACK_SIZE);
	return stack;
}

static void put_stack(void *stack)
{
	*(void **)stack = spare_stacks;
	spare_stacks = stack;
}

/* -- switching ------------------------------------------------------------------- */

static void enter_stack(void **fake, const void *stack, size_t size)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(fake, stack, size);
#else
	(void)fake;
	(void)stack;
	(void)size;
#endif
}

static void entered_stack(void *fake, const void **stack, size_t *size)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fake, stack, size);
#else
	(void)fake;
	(void)stack;
	(void)size;
#endif
}

static const void *host_stack;
static size_t host_size;

static void to_host(struct sim_task *t)
{
	enter_stack(t->done ? NULL : &t->fake_stack, host_stack, host_size);
	if (!_setjmp(t->here))
		_longjmp(host, 1);
	entered_stack(t->fake_stack, &host_stack, &host_size);
}

static void task_main(void)
{
	struct sim_task *t = world->current;

	entered_stack(NULL, &host_stack, &host_size);
	t->fn(t->arg);
	t->done = true;
	to_host(t);
}

static void free_task(struct sim_task *t)
{
	list_del(&t->list);
	put_stack(t->stack);
	free(t);
}

static void run_task(struct sim_task *t)
{
	void *volatile fake = NULL;

	world->current = t;
	enter_stack((void **)&fake, t->stack, STACK_SIZE);
	if (!_setjmp(host)) {
		if (t->started)
			_longjmp(t->here, 1);
		t->started = true;
		setcontext(&t->ctx);
	}
	entered_stack(fake, NULL, NULL);
	world->current = NULL;
	if (failing)
		longjmp(*fail_target, 1);
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fail_text, sizeof(fail_text), fmt, ap);
	va_end(ap);
	sim_log("FAIL %s", fail_text);
	failing = true;
	if (world && world->current)
		to_host(world->current);
	longjmp(*fail_target, 1);
}

const char *sim_catch(void (*fn)(void *arg), void *arg)
{
	jmp_buf here, *outer = fail_target;
	const char *result = NULL;

	fail_target = &here;
	failing = false;
	if (!setjmp(here))
		fn(arg);
	else
		result = fail_text;
	fail_target = outer;
	failing = false;
	return result;
}

static void make_runnable(struct sim_task *t)
{
	if (world->nr_run == world->max_run) {
		world->max_run = max(2 * world->max_run, 16U);
		world->run = realloc(world->run, world->max_run * sizeof(*world->run));
	}
	world->run[world->nr_run++] = t;
}

void sim_spawn(const char *name, void (*fn)(void *), void *arg)
{
	struct sim_task *t = calloc(1, sizeof(*t));

	t->name = name;
	t->fn = fn;
	t->arg = arg;
	t->stack = get_stack();
	getcontext(&t->ctx);
	t->ctx.uc_stack.ss_sp = t->stack;
	t->ctx.uc_stack.ss_size = STACK_SIZE;
	makecontext(&t->ctx, task_main, 0);
	list_add_tail(&t->list, &world->tasks);
	make_runnable(t);
}

static struct sim_task *current_task(const char *what)
{
	struct sim_task *t = world->current;

	if (!t)
		sim_fail("%s in an interrupt", what);
	return t;
}

void sim_yield(void)
{
	struct sim_task *t = world->current;

	if (t && !t->irqs_off) {
		make_runnable(t);
		to_host(t);
	}
}

/* How often somebody is passed over: mostly never, now and then for long. */
unsigned int sim_delay(void)
{
	u32 die = rnd(&world->rng);

	return die & world->delay_mask ? 0 : (die >> 8) % (1U << (die >> 20) % 12);
}

void sim_preempt(void)
{
	sim_preempt_left = 1 + rnd_below(&world->rng, 2 * world->preempt);
	if (world->current)
		world->current->delay = sim_delay();
	sim_yield();
}

/* -- the loop -------------------------------------------------------------------- */

static bool section_before(u64 section)
{
	struct sim_task *t;

	list_for_each_entry(t, &world->tasks, list)
		if (t->rcu_depth && t->section < section)
			return true;
	return false;
}

static bool end_grace(void)
{
	struct grace *g;

	list_for_each_entry(g, &world->graces, list) {
		if (section_before(g->section))
			continue;
		list_del(&g->list);
		percpu_ref_put(g->ref);
		sim_free(g);
		return true;
	}
	return false;
}

static bool fire_timer(void)
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

/* What is held does not take the others' time: they are done before it goes on. */
static bool all_held(void)
{
	unsigned int i;

	for (i = 0; i < world->nr_flight; i++)
		if (world->flight[i]->held_ns <= world->now_ns)
			return false;
	return !world->nr_run;
}

static void step_io(void)
{
	struct bio *bio = world->flight[rnd_below(&world->rng, world->nr_flight)];

	if (bio->delay && world->nr_flight + world->nr_run > 1) {
		bio->delay--;
		return;
	}
	if (bio->held_ns > world->now_ns) {
		if (all_held() && !fire_timer())
			world->now_ns = bio->held_ns;
		return;
	}
	world->now_ns += 1000 * (1 + rnd_below(&world->rng, 200));
	sim_disk_step(bio);
}

static void step_task(void)
{
	unsigned int i = rnd_below(&world->rng, world->nr_run);
	struct sim_task *t = world->run[i];

	if (t->delay && world->nr_flight + world->nr_run > 1) {
		t->delay--;
		return;
	}
	world->run[i] = world->run[--world->nr_run];
	run_task(t);
	if (t->done)
		free_task(t);
}

static void hung(void)
{
	struct sim_task *t;

	list_for_each_entry(t, &world->tasks, list)
		sim_log("  task %s waits", t->name);
	sim_fail("nothing can go on: a task waits for ever");
}

static void step(void)
{
	u32 die = rnd(&world->rng);

	if (++world->steps > MAX_STEPS)
		sim_fail("no end after %llu steps: somebody spins", MAX_STEPS);
	if (world->now_ns > world->limit_ns)
		hung();
	if (!list_empty(&world->graces) && !(die >> 8 & 7) && end_grace())
		return;
	if (!(die >> 11 & 255) && fire_timer())
		return;
	if (world->nr_flight && (!world->nr_run || (die & 255) < world->io_share))
		step_io();
	else if (world->nr_run)
		step_task();
	else if (!end_grace() && !fire_timer())
		hung();
}

struct main_task {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

static void run_main(void *arg)
{
	struct main_task *m = arg;

	m->fn(m->arg);
	m->done = true;
}

void sim_run(void (*fn)(void *), void *arg)
{
	struct main_task m = { fn, arg, false };
	struct sim_world *w = world;

	sim_spawn("main", run_main, &m);
	while (!m.done && !w->stop) {
		step();
		if (w->cut_due || w->promised) {
			if (w->cut)
				w->cut(w, w->cut_ctx);
			w->cut_due = false;
			w->promised = false;
		}
	}
}

/* -- worlds ---------------------------------------------------------------------- */

/* What the module remembers of all its devices: nothing of those in another world. */
static struct fusion_claims *leave_claims(void)
{
	struct fusion_claims *outside = malloc(sizeof(*outside));

	*outside = fusion_claims;
	spin_lock_init(&fusion_claims.lock);
	INIT_LIST_HEAD(&fusion_claims.loaded);
	return outside;
}

struct sim_world *sim_world_new(u64 seed)
{
	struct sim_world *w = calloc(1, sizeof(*w));

	w->rng = seed;
	w->parent = world;
	w->outside = leave_claims();
	INIT_LIST_HEAD(&w->memory);
	INIT_LIST_HEAD(&w->tasks);
	INIT_LIST_HEAD(&w->timers);
	INIT_LIST_HEAD(&w->graces);
	w->preempt = 4 << rnd_below(&w->rng, 7);
	w->io_share = 16U << rnd_below(&w->rng, 4);
	w->delay_mask = (2U << 2 * rnd_below(&w->rng, 4)) - 1;
	w->now_ns = 1000000000ULL;
	w->limit_ns = w->now_ns + SIM_PATIENCE_NS;
	if (world)
		world->preempt_left = sim_preempt_left;
	world = w;
	sim_preempt_left = w->preempt;
	return w;
}

void sim_world_free(struct sim_world *w)
{
	struct sim_task *t, *next;

	if (w != world)
		abort();
	list_for_each_entry_safe(t, next, &w->tasks, list)
		free_task(t);
	sim_free_all();
	free(w->run);
	free(w->flight);
	world = w->parent;
	fusion_claims = *w->outside;
	free(w->outside);
	free(w);
	if (world)
		sim_preempt_left = world->preempt_left;
}

u64 sim_random64(void)
{
	static u64 state;

	return rnd(&state);
}

u64 sim_now_ns(void)
{
	return world->now_ns;
}

/* -- locks, RCU ------------------------------------------------------------------ */

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
	struct sim_task *t = current_task("sleep");

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
	to_host(t);
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
			make_runnable(t);
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

void sim_world_drop_parent(void)
{
	struct sim_world *w = world;
	struct fusion_claims claims = fusion_claims;
	int left = sim_preempt_left;

	world = w->parent;
	swap(w->outside, world->outside);
	sim_world_free(world);
	fusion_claims = claims;
	w->parent = world;
	world = w;
	sim_preempt_left = left;
}
