/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory belongs to a world and goes with it; what is left when a device is gone has leaked. */
#ifndef SIM_SHIM_MEMORY_H
#define SIM_SHIM_MEMORY_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/string.h>

#define GFP_KERNEL	0U
#define GFP_NOIO	0U
#define __GFP_ZERO	1U
#define __GFP_NORETRY	2U
#define __GFP_NOWARN	0U
#define PAGE_SIZE	4096UL

void *sim_alloc(size_t size, bool zero);
void sim_free(const void *p);

/* Is it the one that is to fail? The module's may; the simulator's own do not. */
bool sim_out_of_memory(void);

/* Is none to be had without an effort? */
bool sim_memory_is_scarce(void);

static inline void *sim_try_alloc(size_t size, bool zero)
{
	return sim_out_of_memory() ? NULL : sim_alloc(size, zero);
}

static inline void *sim_try_alloc_for(size_t size, bool zero, gfp_t gfp)
{
	return gfp & __GFP_NORETRY && sim_memory_is_scarce() ? NULL : sim_try_alloc(size, zero);
}

#define kmalloc(size, gfp)		sim_try_alloc_for(size, false, gfp)
#define kzalloc(size, gfp)		sim_try_alloc_for(size, true, gfp)
#define kcalloc(n, size, gfp)		kzalloc((size_t)(n) * (size), gfp)
#define kmalloc_array(n, size, gfp)	kmalloc((size_t)(n) * (size), gfp)
#define kvmalloc(size, gfp)		kmalloc(size, gfp)
#define kvzalloc(size, gfp)		kzalloc(size, gfp)
#define kvcalloc(n, size, gfp)		kcalloc(n, size, gfp)
#define kvmalloc_array(n, size, gfp)	kmalloc_array(n, size, gfp)
#define vmalloc(size)			sim_try_alloc(size, false)
#define vzalloc(size)			sim_try_alloc(size, true)
#define kfree(p)			sim_free(p)
#define kvfree(p)			sim_free(p)
#define vfree(p)			sim_free(p)

#define memalloc_noio_save()		0U
#define memalloc_noio_restore(flags)	((void)(flags))

/*
 * What there is for each CPU lies SIM_CPU_BYTES after that of the one before. A task is on another
 * CPU whenever another one has run, so bios leave an epoch elsewhere than they have entered it.
 */
#define SIM_CPUS	2
#define SIM_CPU_BYTES	PAGE_SIZE

unsigned int sim_cpu(void);

#define alloc_percpu(type) ({							\
	_Static_assert(sizeof(type) <= SIM_CPU_BYTES, "more for a CPU");	\
	(type *)sim_try_alloc(SIM_CPUS * SIM_CPU_BYTES, true);			\
})
#define free_percpu(p)			sim_free(p)
#define of_cpu(p, cpu)			((typeof(p))((char *)(p) + (cpu) * SIM_CPU_BYTES))
#define per_cpu_ptr(p, cpu)		of_cpu(p, cpu)
#define raw_cpu_ptr(p)			(p)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < SIM_CPUS; (cpu)++)
#define this_cpu_inc(x)			(sim_point(), (void)(*of_cpu(&(x), sim_cpu()))++)
#define this_cpu_dec(x)			(sim_point(), (void)(*of_cpu(&(x), sim_cpu()))--)
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp

struct page {
	u8 data[PAGE_SIZE];
};

static inline struct page *alloc_page(gfp_t gfp)
{
	return sim_try_alloc_for(sizeof(struct page), gfp & __GFP_ZERO, gfp);
}

static inline void *page_address(const struct page *page)
{
	return (void *)page->data;
}

#define __free_page(page)		sim_free(page)

static inline void memset32(u32 *p, u32 v, size_t n)
{
	while (n--)
		*p++ = v;
}

#endif
