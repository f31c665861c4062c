// SPDX-License-Identifier: GPL-2.0-only
/*
 * Versions of blocks, in the landing log and on the slow member, in power cut after power cut: a
 * writer that overwrites blocks in the log and beside it, drains them, and unmaps extents. It packs
 * commits in the order that INV18, INV20 and INV21 ask for. Whenever the log is opened, each block
 * has a version no older than the last one that was flushed.
 */
#include "landing-versions.h"

/* -- writes -------------------------------------------------------------------------------- */

/* What is older than @version of a block is not to be seen any more. */
static void kill_older(u32 b, u64 version)
{
	u32 slot, pos;

	for (slot = 0; slot < SLOTS; slot++) {
		for (pos = 0; pos < BLOCKS; pos++) {
			struct place *p = &place[slot][pos];

			if (p->b != b || p->version > version)
				continue;
			if (p->state == FLIGHT)
				p->killed = true;
			else if (p->state == LIVE || p->state == DRAINED)
				p->state = KILLED;
		}
	}
	if (newest[b] && newest[b]->version < version)
		newest[b] = NULL;
}

static void complete(u32 b, u64 version)
{
	done[b] = max(done[b], version);
}

static u64 issue(u32 b)
{
	issued[b] = ++last_version;
	return last_version;
}

/* The first batch on its way ends. */
static void end_batch(void)
{
	const struct batch *b = &batch[nr_batches - nr_flight];
	const struct part *part = part_of(b->segno);
	u32 i;

	for (i = 1; i <= b->count; i++) {
		struct place *p = &place[part->seg.slot][b->pos + i];

		p->state = LIVE;
		complete(p->b, p->version);
		if (p->killed) {
			p->state = KILLED;
			p->killed = false;
			continue;
		}
		if (newest[p->b])
			newest[p->b]->state = SUPERSEDED;
		newest[p->b] = p;
	}
	ended = b->next;
	nr_flight--;
}

/* Where a batch that follows begins. */
static void advance(struct fusion_landed *l)
{
	if (l->pos + 2 > fusion_segment_room(&sb)) {
		l->segno++;
		l->pos = 0;
	}
}

static void add_entry(const struct part *part, u32 first, u32 i, u32 b)
{
	struct place *p = &place[part->seg.slot][first + 1 + i];
	u8 *data = block_of(&part->seg, first + 1 + i);
	struct fusion_entry e = { .lext = b / EACH, .block = b % EACH };

	*p = (struct place){ .state = FLIGHT, .b = b, .version = issue(b) };
	rnd_fill(&seed, data, FUSION_BLOCK_SIZE);
	memcpy(data, &p->version, sizeof(p->version));
	e.crc = fusion_landing_crc(data);
	REQUIRE(fusion_batch_add(block_of(&part->seg, first), &e));
}

/* Send some blocks to the log. Return: false if there is no room. */
static bool write_batch(void)
{
	const u32 first = rnd_below(&seed, NR), most = 1 + rnd_below(&seed, 5);
	struct fusion_batch h = { .flushed_seq = flushed_seq, .prev_csum = at.csum };
	const struct part *part = part_of(at.segno);
	u32 count = 0, i;

	if (!part)
		return false;
	if (nr_flight == MAX_FLIGHT)
		end_batch();
	fusion_batch_init(block_of(&part->seg, at.pos));
	for (i = 0; i < NR && count < min(most, fusion_segment_room(&sb) - at.pos - 1); i++) {
		const u32 b = (first + i) % NR;

		if (ext[b / EACH].state == STABLE && chance(2))
			add_entry(part, at.pos, count++, b);
	}
	if (!count)
		return true;
	h.seq = ++at.seq;
	at.csum = fusion_batch_seal(&sb, &part->seg, at.pos, &h, block_of(&part->seg, at.pos));
	REQUIRE(nr_batches < MAX_BATCHES);
	batch[nr_batches] = (struct batch){ at.segno, at.seq, at.pos, count, at };
	at.pos += 1 + count;
	advance(&at);
	batch[nr_batches++].next = at;
	nr_flight++;
	return true;
}

static void end_direct(void)
{
	const struct extent *e = &ext[direct.b / EACH];

	base[direct.b / EACH][e->slot][direct.b % EACH] = direct.version;
	slow_dirty = true;
	kill_older(direct.b, direct.version);
	complete(direct.b, direct.version);
	direct.on = false;
}

/* A large write, beside the log; the first one to an extent maps it. */
static void begin_direct(void)
{
	const u32 b = rnd_below(&seed, NR);
	struct extent *e = &ext[b / EACH];
	u32 i;

	if (direct.on)
		end_direct();
	if (e->state == UNMAPPED) {
		e->state = OPEN;
		e->slot ^= 1;
		for (i = 0; i < EACH; i++)
			base[b / EACH][e->slot][i] = e->zeros;
	}
	direct.on = true;
	direct.b = b;
	direct.version = issue(b);
}

static void discard(void)
{
	const u32 lext = rnd_below(&seed, EXTENTS);
	struct extent *e = &ext[lext];
	u32 i;

	if (e->state == UNMAPPED || e->unmaps)
		return;
	if (direct.on && direct.b / EACH == lext)
		end_direct();
	e->state = UNMAPPED;
	e->unmaps = true;
	e->zeros = ++last_version;
	for (i = 0; i < EACH; i++) {
		issued[lext * EACH + i] = e->zeros;
		kill_older(lext * EACH + i, e->zeros);
		complete(lext * EACH + i, e->zeros);
	}
}

/* Bring some entries to the slow member, which has them durably in the end. */
static void drain(void)
{
	u32 slot, pos;

	if (direct.on)
		end_direct();
	for (slot = 0; slot < SLOTS; slot++) {
		for (pos = 0; pos < BLOCKS; pos++) {
			struct place *p = &place[slot][pos];

			if (p->state != LIVE || chance(3))
				continue;
			base[p->b / EACH][ext[p->b / EACH].slot][p->b % EACH] = p->version;
			p->state = DRAINED;
		}
	}
	if (order != NO_SLOW_FLUSH)
		flush_slow();
}

/* A read finds what was written last. */
static void check_reads(void)
{
	u32 b;

	for (b = 0; b < NR; b++) {
		const struct extent *e = &ext[b / EACH];
		const u64 is = e->state == UNMAPPED ? e->zeros :
			       newest[b] ? newest[b]->version : base[b / EACH][e->slot][b % EACH];

		check(is == done[b], "a read finds another version");
	}
}

/* -- opening ------------------------------------------------------------------------------- */

static u64 found[NR];

/* Entries of extents that are not mapped do not count, and are to die. */
static int apply_entry(void *ctx, const struct fusion_segment *seg, u32 pos,
		       const struct fusion_entry *e)
{
	const u32 b = e->lext * EACH + e->block;
	struct place *p = &place[seg->slot][pos];

	(void)ctx;
	*p = (struct place){ .state = LIVE, .b = b };
	memcpy(&p->version, block_of(seg, pos), sizeof(p->version));
	if (ext_disk[e->lext].state != STABLE) {
		p->state = order == UNMAPPED_STAY ? DEAD : KILLED;
		return 0;
	}
	if (newest[b])
		newest[b]->state = SUPERSEDED;
	newest[b] = p;
	return 0;
}

static void replay(struct fusion_landing *l)
{
	int r;

	memset(l, 0, sizeof(*l));
	l->sb = &sb;
	l->seg = list;
	l->nr = list_segments();
	l->from = from;
	l->read = read_block;
	l->apply = apply_entry;
	r = fusion_landing_replay(l);
	REQUIRE(!r, "%d: %s, segment %llu, block %u", r, l->why,
		l->bad ? (unsigned long long)l->bad->segno : 0, l->bad_pos);
}

/* Each block has a version that it may have, and keeps it. */
static void check_found(void)
{
	u32 b;

	for (b = 0; b < NR; b++) {
		const struct extent *e = &ext[b / EACH];

		found[b] = e->state == UNMAPPED ? e->zeros :
			   newest[b] ? newest[b]->version : base[b / EACH][e->slot][b % EACH];
		check(found[b] >= flushed[b], "a version older than one that was flushed");
		check(found[b] <= issued[b], "a version that nobody wrote");
	}
	memcpy(done, found, sizeof(done));
	memcpy(flushed, found, sizeof(flushed));
}

/* Open the log after a power cut, and begin the next epoch; power may fail again. */
static void open_log(void)
{
	struct fusion_landing l;
	u32 i;

	cut = false;
	memset(place, 0, sizeof(place));
	memset(newest, 0, sizeof(newest));
	memcpy(ext, ext_disk, sizeof(ext));
	direct.on = false;
	slow_dirty = false;
	nr_flight = 0;
	replay(&l);
	check_found();
	REQUIRE(l.at.seq >= flushed_seq);
	while (nr_batches && batch[nr_batches - 1].seq > l.at.seq)
		nr_batches--;
	memcpy(mem, parts, sizeof(mem));
	at = l.at;
	for (i = 0; i < SLOTS; i++)
		if (mem[i].seg.key && mem[i].seg.segno >= at.segno && !end_of(mem[i].seg.segno))
			record_free(&mem[i]);
	last_segno = max(last_segno, at.segno);
	at.segno = last_segno + 1;
	at.pos = 0;
	ended = at;
	commit();
	sb.epoch += !cut;
}

static void live(void)
{
	u32 steps = 5 + rnd_below(&seed, 60);

	while (steps-- && !cut && !wrong) {
		switch (rnd_below(&seed, 12)) {
		case 0:
			flush();
			break;
		case 1:
			commit();
			break;
		case 2:
			discard();
			break;
		case 3:
			drain();
			break;
		case 4: case 5:
			begin_direct();
			break;
		case 6:
			if (direct.on)
				end_direct();
			break;
		case 7:
			if (nr_flight)
				end_batch();
			break;
		default:
			if (!write_batch()) {
				drain();
				commit();
			}
		}
		if (!cut)
			check_reads();
	}
	if (!cut)
		cut_power();
}

static void run(u64 first_seed)
{
	u32 i, lives;

	seed = first_seed;
	wrong = false;
	disk_init();
	memset(ext_disk, 0, sizeof(ext_disk));
	memset(base, 0, sizeof(base));
	memset(base_disk, 0, sizeof(base_disk));
	memset(issued, 0, sizeof(issued));
	memset(flushed, 0, sizeof(flushed));
	nr_batches = 0;
	last_version = 0;
	nr_ops = 0;
	for (i = 0; i < EXTENTS; i++)
		ext_disk[i].state = STABLE;
	for (lives = 0; lives < 25 && !wrong; lives++) {
		do {
			open_log();
		} while (cut && !wrong);
		live();
	}
}

static void test_versions(void)
{
	u32 i;

	order = RIGHT;
	for (i = 0; i < 100; i++)
		run(i);
}

/* The run sees it if a commit is packed in another order, or a step is left out. */
static void test_wrong_orders(void)
{
	u32 i, n;

	for (order = RIGHT + 1; order < NR_ORDERS; order++) {
		for (i = 0, n = 0; i < 100; i++) {
			run(i);
			n += wrong;
		}
		printf("# order %d: noticed in %u of 100 runs\n", order, n);
		REQUIRE(n, "order %d is not noticed", order);
	}
	order = RIGHT;
}

static const struct unit_test tests[] = {
	{ "landing: versions of blocks", test_versions },
	{ "landing: commits in a wrong order", test_wrong_orders },
};

UNIT_TESTS(tests)
