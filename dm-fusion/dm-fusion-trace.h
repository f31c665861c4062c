/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: tracepoints. The fast path of map() has none.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fusion

#if !defined(DM_FUSION_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DM_FUSION_TRACE_H

#include <linux/device-mapper.h>
#include <linux/tracepoint.h>

#include "dm-fusion.h"

#define fusion_trace_dev(fs)	disk_devt(dm_disk(dm_table_get_md((fs)->ti->table)))

#define show_fusion_dev(word)	__print_symbolic(fusion_word_dev(word),	\
						 { FUSION_FAST, "fast" },	\
						 { FUSION_SLOW, "slow" })

DECLARE_EVENT_CLASS(fusion_extent,
	TP_PROTO(struct fusion *fs, u32 lext, u32 word),
	TP_ARGS(fs, lext, word),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, lext)
		__field(u32, word)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->lext = lext;
		__entry->word = word;
	),
	TP_printk("%d:%d extent %u %s slot %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->lext, show_fusion_dev(__entry->word),
		  fusion_word_slot(__entry->word))
);

/* A slot was allocated for a first write. */
DEFINE_EVENT(fusion_extent, fusion_alloc,
	TP_PROTO(struct fusion *fs, u32 lext, u32 word), TP_ARGS(fs, lext, word));

/* All blocks of an OPEN extent are durably valid. */
DEFINE_EVENT(fusion_extent, fusion_stable,
	TP_PROTO(struct fusion *fs, u32 lext, u32 word), TP_ARGS(fs, lext, word));

/* An extent was discarded; @word is its former place. */
DEFINE_EVENT(fusion_extent, fusion_unmap,
	TP_PROTO(struct fusion *fs, u32 lext, u32 word), TP_ARGS(fs, lext, word));

TRACE_EVENT(fusion_move,
	TP_PROTO(struct fusion *fs, u32 lext, u32 old, u32 new, int outcome),
	TP_ARGS(fs, lext, old, new, outcome),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, lext)
		__field(u32, old)
		__field(u32, new)
		__field(int, outcome)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->lext = lext;
		__entry->old = old;
		__entry->new = new;
		__entry->outcome = outcome;
	),
	TP_printk("%d:%d extent %u %s slot %u to %s slot %u: %s",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->lext,
		  show_fusion_dev(__entry->old), fusion_word_slot(__entry->old),
		  show_fusion_dev(__entry->new), fusion_word_slot(__entry->new),
		  __print_symbolic(__entry->outcome,
				   { FUSION_MOVED, "moved" },
				   { FUSION_CANCELLED, "cancelled" },
				   { FUSION_FAILED, "failed" },
				   { FUSION_SKIPPED, "skipped" }))
);

TRACE_EVENT(fusion_commit,
	TP_PROTO(struct fusion *fs, u64 txn, unsigned int blocks, bool slow_flush, int error),
	TP_ARGS(fs, txn, blocks, slow_flush, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, txn)
		__field(unsigned int, blocks)
		__field(bool, slow_flush)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->txn = txn;
		__entry->blocks = blocks;
		__entry->slow_flush = slow_flush;
		__entry->error = error;
	),
	TP_printk("%d:%d txn %llu blocks %u slow_flush %d error %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->txn, __entry->blocks,
		  __entry->slow_flush, __entry->error)
);

TRACE_EVENT(fusion_checkpoint,
	TP_PROTO(struct fusion *fs, u64 generation, bool clean, int error),
	TP_ARGS(fs, generation, clean, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, generation)
		__field(bool, clean)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->generation = generation;
		__entry->clean = clean;
		__entry->error = error;
	),
	TP_printk("%d:%d generation %llu clean %d error %d", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->generation, __entry->clean, __entry->error)
);

TRACE_EVENT(fusion_replica,
	TP_PROTO(struct fusion *fs, u64 txn, u64 generation, int error),
	TP_ARGS(fs, txn, generation, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, txn)
		__field(u64, generation)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->txn = txn;
		__entry->generation = generation;
		__entry->error = error;
	),
	TP_printk("%d:%d next txn %llu set generation %llu error %d", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->txn, __entry->generation, __entry->error)
);

TRACE_EVENT(fusion_point,
	TP_PROTO(struct fusion *fs, u64 second),
	TP_ARGS(fs, second),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, second)
		__field(u32, copies)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->second = second;
		__entry->copies = fs->shadows.point.nr;
	),
	TP_printk("%d:%d second %llu copies %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->second, __entry->copies)
);

/* A copy in slow slot @slot becomes the shadow of @lext, in place of the one in @former, if any. */
TRACE_EVENT(fusion_shadow,
	TP_PROTO(struct fusion *fs, u32 lext, u32 former, u32 slot, bool point),
	TP_ARGS(fs, lext, former, slot, point),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, lext)
		__field(u32, former)
		__field(u32, slot)
		__field(bool, point)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->lext = lext;
		__entry->former = former;
		__entry->slot = slot;
		__entry->point = point;
	),
	TP_printk("%d:%d extent %u slow slot %u -> %u %s", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->lext, __entry->former, __entry->slot,
		  __entry->point ? "point" : "round")
);

TRACE_EVENT(fusion_reclaim,
	TP_PROTO(struct fusion *fs, u32 records),
	TP_ARGS(fs, records),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, records)
	),
	TP_fast_assign(
		__entry->dev = fusion_trace_dev(fs);
		__entry->records = records;
	),
	TP_printk("%d:%d records %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->records)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE dm-fusion-trace
#include <trace/define_trace.h>
