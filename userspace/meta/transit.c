// SPDX-License-Identifier: GPL-2.0-only
/* A disk in transit: what goes where, and how far it has got. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "probe.h"
#include "super.h"
#include "transit.h"
#include "dm-fusion-codec.h"

/* -- what goes where ------------------------------------------------------------------------- */

/* The extent that lies in the first slot of the disk; the slots before it have metadata. */
static u64 first_home(const struct transit *t)
{
	return t->disk == FUSION_SLOW ? t->sb.slow_first_slot :
	       t->sb.fast_data_start / t->sb.extent_sectors;
}

static u32 nr_slots(const struct transit *t, int dev)
{
	return fusion_sb_nr_slots(&t->sb, dev);
}

static u32 nr_spares(const struct transit *t, int dev)
{
	return dev == FUSION_SLOW ? t->sb.spare_slow : t->sb.spare_fast;
}

/*
 * Fast slots that are kept for a landing log: of a set that is adopted, its stale list tells. One
 * that is released has none any more.
 */
static u32 nr_landing(const struct transit *t)
{
	return t->sb.transit.kind == FUSION_TRANSIT_ADOPT ? t->sb.stale_places : 0;
}

u32 fus_transit_room(const struct transit *t)
{
	const u32 room = nr_slots(t, t->other) - nr_spares(t, t->other);

	return room - (t->other == FUSION_FAST ? min(nr_landing(t), room) : 0);
}

static void add_range(struct transit *t, u32 lext, u32 nr)
{
	if (!nr)
		return;
	t->range[t->nr_ranges++] = (struct transit_range){ lext, nr, t->moved };
	t->moved += nr;
}

/* Return: whether the members have room. All numbers in the superblock are within its bounds. */
static bool lay_out(struct transit *t)
{
	const struct fusion_transit *tr = &t->sb.transit;
	const u64 first = first_home(t);
	u64 end = first + nr_slots(t, t->disk) - nr_spares(t, t->disk);
	u64 content = DIV_ROUND_UP(tr->disk_sectors, t->sb.extent_sectors);
	u32 next;

	t->nr_ranges = 0;
	t->moved = 0;
	/* a set can be smaller than its slow member */
	if (tr->kind == FUSION_TRANSIT_RELEASE) {
		content = min_t(u64, content, t->sb.nr_lexts);
		end = min(end, content);
	}
	if (content > FUSION_MAX_LEXTS || content < end)
		return false;
	t->content = content;
	next = first;
	add_range(t, 0, min(first, content));
	for (unsigned int i = 0; i < tr->nr_magics; i++) {
		const u32 lext = tr->magic[i] / t->sb.extent_sectors;

		/* once for several in one extent */
		if (lext < next || lext >= end)
			continue;
		add_range(t, lext, 1);
		next = lext + 1;
	}
	add_range(t, end, t->content - end);
	return t->moved <= fus_transit_room(t) && content <= t->sb.nr_lexts;
}

static bool plan(struct transit *t, enum fusion_transit_kind kind, const struct fusion_sb *fast,
		 int disk, const struct fus_content *content)
{
	struct fusion_transit *tr = &t->sb.transit;

	t->disk = disk;
	t->other = !disk;
	if (t->other == FUSION_FAST)
		t->sb = *fast;
	else
		fus_sb_of_peer(fast, &t->sb);
	t->sb.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	*tr = (struct fusion_transit){
		.kind = kind, .dev = disk, .nr_magics = content->nr,
		.state = kind == FUSION_TRANSIT_RELEASE ? FUSION_TRANSIT_PREPARED :
			 FUSION_TRANSIT_PREPARING,
		.disk_sectors = t->sb.peer_sectors, .content_id = content->id,
	};
	for (unsigned int i = 0; i < content->nr; i++) {
		tr->magic[i] = content->sector[i];
		tr->place[i] = content->offset[i] | content->bytes[i] << 9;
	}
	t->generation[FUSION_FAST] = 1;
	t->generation[FUSION_SLOW] = 1;
	return lay_out(t);
}

bool fus_transit_plan(struct transit *t, const struct fusion_sb *fast, int disk,
		      const struct fus_content *content)
{
	return plan(t, FUSION_TRANSIT_ADOPT, fast, disk, content);
}

bool fus_release_plan(struct transit *t, const struct fusion_sb *fast,
		      const struct fus_content *content)
{
	return plan(t, FUSION_TRANSIT_RELEASE, fast, FUSION_SLOW, content);
}

/* The range that has this extent, or NULL. */
static const struct transit_range *range_of(const struct transit *t, u32 lext)
{
	for (unsigned int i = 0; i < t->nr_ranges; i++)
		if (lext >= t->range[i].lext && lext - t->range[i].lext < t->range[i].nr)
			return &t->range[i];
	return NULL;
}

bool fus_transit_goes(const struct transit *t, u32 lext)
{
	return range_of(t, lext);
}

static u32 copy_slot(const struct transit *t, u32 nr)
{
	return t->other == FUSION_SLOW ? t->sb.slow_first_slot + nr : nr;
}

u32 fus_transit_word(const struct transit *t, u32 lext)
{
	const struct transit_range *r = range_of(t, lext);

	if (r)
		return fusion_word(FUSION_STABLE, t->other,
				   copy_slot(t, r->at + lext - r->lext));
	if (lext >= t->content)
		return FUSION_WORD_UNMAPPED;
	return fusion_word(FUSION_STABLE, t->disk,
			   t->disk == FUSION_SLOW ? lext : lext - first_home(t));
}

/* From @lext on, as far as places are in a row; @end at most. */
static u32 run_end(const struct transit *t, u32 lext, u32 end)
{
	for (unsigned int i = 0; i < t->nr_ranges; i++) {
		const u32 from = t->range[i].lext, behind = from + t->range[i].nr;

		if (lext < from)
			end = min(end, from);
		else if (lext < behind)
			end = min(end, behind);
	}
	return lext < t->content ? min(end, t->content) : end;
}

void fus_transit_words(const struct transit *t, u32 lext, u32 nr, u32 *words)
{
	const u32 behind = lext + nr;

	while (lext < behind) {
		const u32 word = fus_transit_word(t, lext), n = run_end(t, lext, behind) - lext;
		const u32 step = fusion_word_mapped(word);

		for (u32 i = 0; i < n; i++)
			*words++ = word + i * step;
		lext += n;
	}
}

u32 fus_transit_lext(const struct transit *t, u32 nr)
{
	unsigned int i = t->nr_ranges - 1;

	while (nr < t->range[i].at)
		i--;
	return t->range[i].lext + nr - t->range[i].at;
}

u64 fus_transit_copy_sector(const struct transit *t, u32 nr)
{
	return fusion_slot_sector(&t->sb, t->other, copy_slot(t, nr));
}

void fus_transit_sb(const struct transit *t, int dev, struct fusion_sb *sb)
{
	if (dev == t->other) {
		*sb = t->sb;
		return;
	}
	fus_sb_of_peer(&t->sb, sb);
	/* its log begins, while the journal of a set that is released goes on */
	sb->replay_csum = 0;
}

void fus_transit_sb_after(const struct transit *t, int dev, struct fusion_sb *sb)
{
	const u32 landing = nr_landing(t);

	fus_transit_sb(t, dev, sb);
	sb->incompat = landing ? FUSION_INCOMPAT_LANDING : 0;
	sb->landing_slots = dev == FUSION_FAST ? landing : 0;
}

/* -- sectors with a signature ---------------------------------------------------------------- */

int fus_transit_failed(const struct transit *t, int dev, const char *what, int err)
{
	return fus_fail(FC_FAILED, t->o[dev].path, "%s failed: %s; check the device and the "
			"kernel's log", what, strerror(-err));
}

/* Read the logical block around a sector; with @put, write it back with that in its place. */
static int magic_io(const struct transit *t, u64 sector, u8 get[512], const u8 *put)
{
	const struct offline *o = &t->o[t->disk];
	const u64 bytes = o->block_bytes, at = sector << 9, start = at / bytes * bytes;
	u8 *buf = fus_offline_buffer(bytes);
	int err;

	if (!buf)
		return FC_FAILED;
	err = fus_offline_read(o, start, bytes, buf);
	if (err) {
		free(buf);
		return fus_transit_failed(t, t->disk, "read", err);
	}
	if (put) {
		memcpy(buf + (at - start), put, 512);
		err = fus_offline_write(o, start, bytes, buf);
		if (!err)
			err = fus_offline_sync(o);
	} else if (get) {
		memcpy(get, buf + (at - start), 512);
	}
	free(buf);
	return err ? fus_transit_failed(t, t->disk, "write", err) : 0;
}

int fus_transit_get_magic(const struct transit *t, u64 sector, u8 data[512])
{
	return magic_io(t, sector, data, NULL);
}

int fus_transit_put_magic(const struct transit *t, u64 sector, const u8 data[512])
{
	return magic_io(t, sector, NULL, data);
}

u64 fus_transit_copy_place(const struct transit *t, u64 sector)
{
	const u32 lext = sector / t->sb.extent_sectors;
	const struct transit_range *r = range_of(t, lext);
	/* a sector with a signature is in one of them; gcc -fanalyzer cannot know */
	const u64 slot = fus_transit_copy_sector(t, r ? r->at + lext - r->lext : 0);

	return (slot + sector % t->sb.extent_sectors) << 9;
}

int fus_transit_copy_of(const struct transit *t, u64 sector, u8 data[512])
{
	const u64 at = fus_transit_copy_place(t, sector);
	const u64 start = at & ~(FUSION_BLOCK_SIZE - 1ULL);
	u8 *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int err;

	if (!buf)
		return FC_FAILED;
	err = fus_offline_read(&t->o[t->other], start, FUSION_BLOCK_SIZE, buf);
	if (!err)
		memcpy(data, buf + (at - start), 512);
	free(buf);
	return err ? fus_transit_failed(t, t->other, "read", err) : 0;
}

/*
 * Other bytes in the sector may differ: the disk was in use since, or a superblock of the set was
 * begun there. Before the copies are complete, no signature has been erased.
 */
static int count_gone(struct transit *t)
{
	const struct fusion_transit *tr = &t->sb.transit;
	u8 is[512], was[512];
	int rc = 0;

	t->gone = 0;
	for (unsigned int i = 0; i < tr->nr_magics && !rc && fusion_transit_copied(tr); i++) {
		const unsigned int from = FUSION_MAGIC_OFFSET(tr->place[i]);

		rc = fus_transit_get_magic(t, tr->magic[i], is);
		if (!rc)
			rc = fus_transit_copy_of(t, tr->magic[i], was);
		if (!rc && memcmp(is + from, was + from, FUSION_MAGIC_BYTES(tr->place[i])))
			t->gone++;
	}
	return rc;
}

/* -- how far it has got ---------------------------------------------------------------------- */

/* The set from before or after it may have a landing log. */
#define KNOWN	(FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_LANDING | FUSION_INCOMPAT_IN_TRANSIT)

struct copies {
	bool valid[2];
	struct fusion_sb sb[2];
};

/* A copy that cannot be read counts as none: the other one is enough. */
static int read_copies(const struct offline *o, struct copies *c)
{
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	const char *why;

	if (!buf)
		return FC_FAILED;
	for (int i = 0; i < 2; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		c->valid[i] = !fus_offline_read(o, blocknr * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE,
						buf) &&
			      !fusion_sb_unpack_known(buf, blocknr, o->sectors, KNOWN, &c->sb[i],
						      &why);
	}
	free(buf);
	return 0;
}

/* The copy of the other member that tells of the transit, or NULL. */
static const struct fusion_sb *in_transit(const struct copies *c)
{
	const struct fusion_sb *best = NULL;

	for (int i = 0; i < 2; i++)
		if (c->valid[i] && fusion_sb_in_transit(&c->sb[i]) &&
		    c->sb[i].transit.dev != c->sb[i].role &&
		    (!best || c->sb[i].generation > best->generation))
			best = &c->sb[i];
	return best;
}

/* Return: the number after those of the copies that belong to this member, or 1. */
static u64 next_generation(const struct copies *c, const u8 set[16], const u8 dev[16])
{
	u64 next = 1;

	for (int i = 0; i < 2; i++)
		if (c->valid[i] && !memcmp(c->sb[i].set_uuid, set, 16) &&
		    !memcmp(c->sb[i].dev_uuid, dev, 16))
			next = max(next, c->sb[i].generation + 1);
	return next;
}

static int wrong_kind(const struct transit *t, const struct fusion_sb *sb,
		      enum fusion_transit_kind kind)
{
	char text[FUSION_UNKNOWN_TEXT];

	if (sb)
		return fus_fail(FC_MEMBER, t->o[1].path, "%s; %s", fusion_sb_unknown(sb, text),
				fus_unknown_remedy(sb));
	return fus_fail(FC_MEMBER, t->o[1].path, "is not the %s; fusionctl list shows the members",
			kind == FUSION_TRANSIT_RELEASE ?
			"fast member of a set that is being released" :
			"other member of a disk that is being adopted");
}

int fus_transit_read(struct transit *t, enum fusion_transit_kind kind)
{
	struct copies disk, other;
	const struct fusion_sb *sb;
	struct offline o;
	int rc;

	rc = read_copies(&t->o[0], &disk);
	if (!rc)
		rc = read_copies(&t->o[1], &other);
	if (rc)
		return rc;
	sb = in_transit(&other);
	if (!sb || sb->transit.kind != kind)
		return wrong_kind(t, sb, kind);
	t->sb = *sb;
	t->disk = sb->transit.dev;
	t->other = sb->role;
	if (t->disk == FUSION_SLOW) {
		o = t->o[0];
		t->o[0] = t->o[1];
		t->o[1] = o;
	}
	if (!fusion_sb_lasts(sb) || !lay_out(t))
		return fus_fail(FC_DAMAGED, t->o[t->other].path, "its superblock contradicts "
				"itself; have the disks examined");
	t->generation[t->other] = next_generation(&other, sb->set_uuid, sb->dev_uuid);
	if (fusion_sb_released(sb))
		return 0;
	/* a member may be larger than when it was formatted */
	if (kind == FUSION_TRANSIT_RELEASE ? t->o[t->disk].sectors < sb->transit.disk_sectors :
	    t->o[t->disk].sectors != sb->transit.disk_sectors)
		return fus_fail(FC_MEMBER, t->o[t->disk].path, "is not the disk that is being "
				"%s: it has another size; name that disk",
				kind == FUSION_TRANSIT_RELEASE ? "released" : "adopted");
	t->generation[t->disk] = next_generation(&disk, sb->set_uuid, sb->peer_uuid);
	t->marked = t->generation[t->disk] > 1;
	return count_gone(t);
}

bool fus_transit_again(const struct transit *t)
{
	return t->sb.transit.kind == FUSION_TRANSIT_ADOPT &&
	       t->sb.transit.state == FUSION_TRANSIT_COMMITTED && t->gone < t->sb.transit.nr_magics;
}

/*
 * The signatures come after all else, the superblocks on the disk included. A disk without either
 * was interrupted between them, or has become another one since.
 */
static int judge_release(const struct transit *t, enum transit_at *at)
{
	bool same = true;
	int rc;

	*at = fusion_sb_released(&t->sb) || (!t->marked && t->sb.transit.nr_magics && !t->gone) ?
	      TRANSIT_THERE : TRANSIT_GONE;
	if (*at == TRANSIT_THERE || t->marked)
		return 0;
	rc = fus_transit_compare(t, &same);
	if (!rc && !same)
		rc = fus_fail(FC_MEMBER, t->o[t->disk].path, "does not have the content of which a "
			      "part is on %s; name the disk of that set, or if it has other content "
			      "by now, run wipefs -a %s", t->o[t->other].path,
			      t->o[t->other].path);
	return rc;
}

int fus_transit_judge(const struct transit *t, enum transit_at *at)
{
	bool same = true;
	int rc;

	if (t->sb.transit.kind == FUSION_TRANSIT_RELEASE)
		return judge_release(t, at);
	*at = !t->gone ? TRANSIT_THERE : t->gone < t->sb.transit.nr_magics ? TRANSIT_SOME :
	      TRANSIT_GONE;
	if (t->sb.transit.state == FUSION_TRANSIT_COMMITTED)
		*at = TRANSIT_GONE;
	if (*at == TRANSIT_THERE || (*at == TRANSIT_GONE && (t->marked || fus_transit_again(t))))
		return 0;
	rc = fus_transit_compare(t, &same);
	if (!rc && !same)
		rc = fus_fail(FC_MEMBER, t->o[t->disk].path, "does not have the content of which a "
			      "part was copied to %s; name the disk that is being adopted",
			      t->o[t->other].path);
	return rc;
}
