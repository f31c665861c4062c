// SPDX-License-Identifier: GPL-2.0-only
/* Memory, log and text for the module and the simulator. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/kstrtox.h>

#include "sim.h"

/* There is a loop of allocations. */
#define MAX_ALLOCATIONS	1000000U

bool sim_tracing;

/* -- memory ---------------------------------------------------------------------- */

struct chunk {
	struct list_head list;
	size_t size;
	size_t pad;
};

void *sim_alloc(size_t size, bool zero)
{
	struct chunk *c = malloc(sizeof(*c) + size);

	if (++world->allocations > MAX_ALLOCATIONS)
		sim_fail("no end of allocations");
	if (!c)
		abort();
	c->size = size;
	list_add_tail(&c->list, &world->memory);
	memset(c + 1, zero ? 0 : 0xa5, size);
	return c + 1;
}

bool sim_out_of_memory(void)
{
	return world->fail_allocation && !--world->fail_allocation;
}

bool sim_memory_is_scarce(void)
{
	return world->scarce && !rnd_below(&world->rng, world->scarce);
}

unsigned int sim_cpu(void)
{
	return world->steps % SIM_CPUS;
}

void sim_free(const void *p)
{
	struct chunk *c;

	if (!p)
		return;
	c = (struct chunk *)p - 1;
	world->allocations--;
	list_del(&c->list);
	free(c);
}

unsigned int sim_allocations(void)
{
	return world->allocations;
}

void sim_free_all(void)
{
	struct chunk *c, *next;

	list_for_each_entry_safe(c, next, &world->memory, list)
		free(c);
	INIT_LIST_HEAD(&world->memory);
}

/* -- text ------------------------------------------------------------------------ */

static void vlog(const char *fmt, va_list ap)
{
	struct sim_world *w;

	if (!sim_tracing)
		return;
	printf("# %10.3f ", world ? world->now_ns / 1e6 : 0);
	for (w = world; w && w->parent; w = w->parent)
		printf("| ");
	vprintf(fmt, ap);
	putchar('\n');
}

void sim_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
}

void sim_err(const char *fmt, ...)
{
	va_list ap;

	/* as fusion_set_mode() says it: the name of the device, and why */
	if (world && strstr(fmt, "%s: %s: switched to mode")) {
		va_start(ap, fmt);
		va_arg(ap, const char *);
		if (!strcmp(va_arg(ap, const char *), "the heartbeat failed"))
			world->heart_failed = true;
		va_end(ap);
	}
	va_start(ap, fmt);
	vlog(fmt, ap);
	va_end(ap);
}

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return size && n >= (int)size ? (int)size - 1 : n;
}

int hex2bin(u8 *to, const char *from, size_t bytes)
{
	unsigned int byte;

	for (; bytes; bytes--, from += 2) {
		if (!isxdigit((unsigned char)from[0]) || !isxdigit((unsigned char)from[1]) ||
		    sscanf(from, "%2x", &byte) != 1)
			return -EINVAL;
		*to++ = byte;
	}
	return 0;
}

int kstrtou64(const char *s, unsigned int base, u64 *result)
{
	unsigned long long n;
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(s, &end, base);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*result = n;
	return 0;
}

int kstrtou32(const char *s, unsigned int base, u32 *result)
{
	u64 n;
	int r = kstrtou64(s, base, &n);

	if (r)
		return r;
	if (n > U32_MAX)
		return -ERANGE;
	*result = n;
	return 0;
}
