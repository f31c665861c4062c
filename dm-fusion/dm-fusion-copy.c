// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the copies of a batch, which is step 5 in dm-fusion-batch.c.
 *
 * Foreground I/O waits for one copy at most, or for the flush behind the batch: a disk that caches
 * writes may have all of the batch to write then. While there is no foreground I/O, what was asked
 * for goes two at a time, and so do copies for shadows: so one disk reads the next extent while the
 * other writes, and a disk that does both moves its arm half as often.
 */
#include "dm-fusion.h"

/* A copy under way. */
struct copy {
	struct fusion_job *job;		/* NULL: none */
	struct completion done;
	bool read_failed;
	bool write_failed;
};

static void fusion_copy_done(int read_err, unsigned long write_err, void *context)
{
	struct copy *copy = context;

	copy->read_failed = read_err;
	copy->write_failed = write_err;
	complete(&copy->done);
}

static void fusion_copy_begin(struct fusion *fs, struct fusion_job *job, struct copy *copy)
{
	struct dm_io_region from = {
		.bdev = fusion_word_bdev(fs, job->old),
		.sector = fusion_word_sector(fs, job->old),
		.count = 1UL << fs->shift,
	};
	struct dm_io_region to = {
		.bdev = fs->dev[job->move.to]->bdev,
		.sector = fusion_word_sector(fs, job->new),
		.count = 1UL << fs->shift,
	};

	copy->job = job;
	init_completion(&copy->done);
	dm_kcopyd_copy(fs->kcopyd, &from, 1, &to, 0, fusion_copy_done, copy);
}

/* Wait for a copy, if there is one. */
static void fusion_copy_end(struct fusion *fs, struct copy *copy)
{
	struct fusion_job *job = copy->job;

	if (!job)
		return;
	wait_for_completion(&copy->done);
	copy->job = NULL;
	/* a shadow, and all in a set with a log, is flushed before anybody relies on it */
	if (!job->shadows && !fs->land.max)
		fusion_mark_written(fs, job->move.to);
	if (copy->read_failed) {
		fusion_member_failed(fs, fusion_word_disk(fs, job->old));
		fusion_note_unread(fs, job->old);
	}
	if (copy->write_failed)
		fusion_member_failed(fs, job->move.to);
	job->copied = !copy->read_failed && !copy->write_failed;
	job->outcome = job->copied ? FUSION_CANCELLED : FUSION_FAILED;
	job->retire = copy->write_failed;
	if (job->move.to == FUSION_FAST)
		fusion_budget_spend(fs);
	fusion_mover_tick(fs);
}

/* Is the extent still as this job left it? False if a write cancelled it, or a discard. */
static bool fusion_still_ours(struct fusion *fs, const struct fusion_job *job)
{
	u32 word = READ_ONCE(fs->map[job->move.lext]);

	return word == fusion_word_set_state(job->old, FUSION_WATCHED) ||
	       word == fusion_word_set_state(job->old, FUSION_LOCKED);
}

void fusion_copy_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
		      const struct fusion_force *force, bool idle_only)
{
	struct copy copies[2] = {};
	unsigned int i, next = 0;
	bool idle;

	for (i = 0; i < nr; i++) {
		if (!jobs[i].started || jobs[i].flips || jobs[i].outcome == FUSION_FAILED)
			continue;
		/* the older one; then the other one as well, unless two may be under way */
		fusion_copy_end(fs, &copies[next]);
		idle = fusion_is_idle(fs);
		if ((!force && !jobs[i].shadows) || !idle)
			fusion_copy_end(fs, &copies[!next]);
		/* On foreground I/O, leave moves that need idle time for later. */
		if (READ_ONCE(fs->mover.stopping) || (idle_only && !idle))
			continue;
		if (fusion_gate_ready(fs))
			continue;
		if (fusion_still_ours(fs, &jobs[i])) {
			fusion_copy_begin(fs, &jobs[i], &copies[next]);
			next = !next;
		} else {
			jobs[i].outcome = FUSION_CANCELLED;
		}
	}
	fusion_copy_end(fs, &copies[next]);
	fusion_copy_end(fs, &copies[!next]);
}
