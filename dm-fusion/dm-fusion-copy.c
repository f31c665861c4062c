// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the copies of a batch, which is step 5 in dm-fusion-batch.c.
 *
 * Foreground I/O waits for one copy at most, or for the flush behind the batch: a disk that caches
 * writes may have all of the batch to write then. While there is no foreground I/O, what was asked
 * for goes two at a time, and so do copies for shadows: so one disk reads the next extent while the
 * other writes, and a disk that does both moves its arm half as often.
 *
 * A new slot is free, but only while the lease lasts: the machine that takes the set may give it to
 * an extent. So the gate is looked at before the copy is read, and before each piece is written
 * (dm-fusion-pieces.c).
 */
#include "dm-fusion.h"

/* A copy under way, and blocks of its pieces. */
struct copy {
	struct fusion_job *job;		/* NULL: none */
	u32 begun;
	u32 ended;
	bool unread;
	bool unwritten;
	bool shut;
};

static bool fusion_copy_failed(const struct copy *copy)
{
	return copy->unread || copy->unwritten || copy->shut;
}

/* Wait for the oldest piece; there is one. */
static void fusion_copy_wait(struct fusion *fs)
{
	const struct fusion_piece *piece = fusion_pieces_ended(fs->mover.pieces);
	struct copy *copy = piece->context;

	copy->ended += piece->nr;
	copy->unread |= piece->fate == FUSION_PIECE_UNREAD;
	copy->unwritten |= piece->fate == FUSION_PIECE_UNWRITTEN;
	copy->shut |= piece->fate == FUSION_PIECE_SHUT;
}

/* Begin as many pieces of it as there may be, and the others as these end. */
static void fusion_copy_begin(struct fusion *fs, struct fusion_job *job, struct copy *copy)
{
	const u64 from = fusion_word_sector(fs, job->old), to = fusion_word_sector(fs, job->new);
	struct fusion_pieces *pieces = fs->mover.pieces;
	struct fusion_piece *piece;
	struct blk_plug plug;

	*copy = (struct copy){ .job = job };
	blk_start_plug(&plug);
	while (copy->begun < fusion_open_blocks(fs) && !fusion_copy_failed(copy)) {
		piece = fusion_pieces_next(pieces);
		if (!piece) {
			fusion_copy_wait(fs);
			continue;
		}
		piece->context = copy;
		piece->dev = job->move.to;
		piece->to = to + (u64)copy->begun * FUSION_BLOCK_SECTORS;
		piece->nr = min(fusion_pieces_longest(pieces),
				fusion_open_blocks(fs) - copy->begun);
		fusion_pieces_begin(pieces, piece, fusion_word_disk(fs, job->old),
				    from + (u64)copy->begun * FUSION_BLOCK_SECTORS);
		copy->begun += piece->nr;
	}
	blk_finish_plug(&plug);
}

/* Wait for a copy, if there is one. */
static void fusion_copy_end(struct fusion *fs, struct copy *copy)
{
	struct fusion_job *job = copy->job;
	struct blk_plug plug;

	if (!job)
		return;
	blk_start_plug(&plug);
	while (copy->ended < copy->begun)
		fusion_copy_wait(fs);
	blk_finish_plug(&plug);
	copy->job = NULL;
	/* a shadow, and all in a set with a log, is flushed before anybody relies on it */
	if (!job->shadows && !fs->land.max)
		fusion_mark_written(fs, job->move.to);
	if (copy->unread) {
		fusion_member_failed(fs, fusion_word_disk(fs, job->old));
		fusion_note_unread(fs, job->old);
	}
	if (copy->unwritten)
		fusion_member_failed(fs, job->move.to);
	job->copied = !fusion_copy_failed(copy);
	/* a gate that is shut says nothing of the extent; a point does without what is cancelled */
	if (job->copied)
		job->outcome = FUSION_CANCELLED;
	else if (copy->unread || copy->unwritten)
		job->outcome = FUSION_FAILED;
	job->retire = copy->unwritten;
	if (job->move.to == FUSION_FAST && !copy->shut)
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

static bool fusion_copies(const struct fusion_job *job)
{
	return job->started && !job->flips && job->outcome != FUSION_FAILED;
}

/* Get ready for two copies, if there is one to make. */
static void fusion_copy_get(struct fusion *fs, const struct fusion_job *jobs, unsigned int nr)
{
	const u32 blocks = fusion_open_blocks(fs);
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (fusion_copies(&jobs[i]))
			break;
	/* without memory for pages, pieces are short */
	fusion_pieces_get(fs->mover.pieces, 2 * max(blocks / FUSION_PIECE_BLOCKS, 1U),
			  i < nr ? min(blocks, FUSION_PIECE_BLOCKS) : 1,
			  GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);
}

void fusion_copy_jobs(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
		      const struct fusion_force *force, bool idle_only)
{
	struct copy copies[2] = {};
	unsigned int i, next = 0;
	bool idle;

	fusion_copy_get(fs, jobs, nr);
	for (i = 0; i < nr; i++) {
		if (!fusion_copies(&jobs[i]))
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
	/* none is left, but the last one's bio may be about to say so */
	fusion_pieces_ended(fs->mover.pieces);
	fusion_pieces_put(fs->mover.pieces);
}
