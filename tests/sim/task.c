// SPDX-License-Identifier: GPL-2.0-only
/* A task: its stack, how it is entered and left, and how it ends the run as failed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "task.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE	(512U << 10)
#else
#define STACK_SIZE	(64U << 10)
#endif

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

void task_leave(struct sim_task *t)
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
	task_leave(t);
}

void task_free(struct sim_task *t)
{
	list_del(&t->list);
	put_stack(t->stack);
	free(t);
}

void task_run(struct sim_task *t)
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
		task_leave(world->current);
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

void task_make_runnable(struct sim_task *t)
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
	task_make_runnable(t);
}

struct sim_task *task_current(const char *what)
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
		task_make_runnable(t);
		task_leave(t);
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
