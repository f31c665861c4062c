// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the shadows of a set that is being loaded. If it was closed cleanly, those that were
 * current are taken over from the replica, and need not be made again.
 *
 * Why they are current (INV13). A close comes to the last update of the replica when no bio and no
 * copy is in flight and nothing moves any more. If there are shadows to name, all that it calls
 * current are so (@changed), and no write has failed (@unsure), the update writes a map copy, so
 * each word of it was read behind the last write to the set. The superblock that names the map copy
 * follows a flush of the slow member, which makes durable what is in the shadows, and those of the
 * fast member do so there. So both slots of each extent have the same content durably. Two CLEAN
 * superblocks come last on the slow member, with the generation of the first in both
 * (fusion_sb_shadows_exact()), and then one on the fast member, which has seen the second
 * (peer_at). If an opening finds these three, and they are the newest, nothing was written to the
 * set since: each activation and each resume writes to the slow member a superblock without CLEAN,
 * durably, before it changes anything else.
 *
 * What if a disk has lost writes that it had acknowledged?
 *
 * - Of the superblocks of that activation or resume: then the fast member has seen one of the slow
 *   member, or has one of its own, that does not go with the rest. Both superblock copies of both
 *   members have to be valid, so that none of them can hide what has followed.
 * - A part of the map copy: its blocks have other generations than the superblock says.
 * - The end of the log: it does not matter, since nothing of it is read.
 * - On both members, all superblocks since the close, while data that was written since is there:
 *   nothing in this format shows that.
 *
 * What if a disk has failed a write? It may return content that only its cache has, and a flush
 * covers no write that has failed. A copy of that is durable on the other member. After a power cut
 * the two slots would differ, and a demotion without a copy would change what had been read since.
 * So a set in which a write, zeroes or a discard has failed since its table was loaded hands none
 * over (@unsure). If a disk keeps such sectors in its cache until another table was loaded, and the
 * set closed again, nothing in this format shows that.
 *
 * fusionctl, and versions that do not know this, write superblocks with other generations and
 * without this one, or with 0 in its place, before they change where anything lies.
 *
 * Such a replica names no slot that an extent has, none twice, and no extent but those that lie on
 * the fast member. If it does, it is not what was written, and nothing is taken over.
 *
 * The slots are never free in between, as all that the replica names are held until it is written
 * anew (fusion_held_begin()), and those taken over are in use: they count as NAMED, so to give one
 * up makes its extent dirty and holds the slot (INV6). What is out of date is not taken over. A set
 * that grows, shrinks or has an old member starts without shadows. No fence is up yet.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/sched.h>

/* first, so that a mutant of it counts here */
#include "dm-fusion-codec.h"
#include "dm-fusion.h"

/* fusion_sb_match() has compared the epochs. */
static bool fusion_load_shadows_exact(const struct fusion *fs, const bool single[FUSION_NR_DEVS])
{
	return fusion_shadows_exact(&fs->sb_next, &fs->replica.sb) &&
	       !single[FUSION_FAST] && !single[FUSION_SLOW];
}

static bool fusion_load_shadows_wanted(const struct fusion *fs)
{
	const struct fusion_sb *slow = &fs->replica.sb;

	return fs->opt.shadow && fs->opt.shadow_age && !fs->grows && !fs->shrinks &&
	       !fs->old.joins && !fs->old.over && !fusion_sb_has_old(&fs->sb) &&
	       slow->layout_seq == fs->sb.layout_seq;
}

/* Return: 0, or -EILSEQ: the word cannot be right. */
static int fusion_load_shadow(struct fusion *fs, u32 lext, u32 word)
{
	const u32 here = fs->map[lext], slot = fusion_word_slot(word);
	struct fusion_shadows *s = &fs->shadows;

	if (!fusion_names_shadow(word) ||
	    (enum fusion_shadow_state)fusion_word_state(word) != FUSION_SHADOW)
		return 0;
	if (!fusion_word_mapped(here) || fusion_word_dev(here) != FUSION_FAST ||
	    fusion_word_state(here) != FUSION_STABLE ||
	    fusion_slot_claim(fs, fusion_word(FUSION_STABLE, FUSION_SLOW, slot)))
		return -EILSEQ;
	s->of[fusion_word_slot(here)] = (struct fusion_shadow){ .lext = lext, .slot = slot };
	fusion_used_clear(&s->none, fusion_word_slot(here));
	s->nr++;
	return 0;
}

static int fusion_load_shadows_of_block(struct fusion *fs, u32 index, const u32 *words)
{
	u32 i;
	int r = 0;

	for (i = 0; i < fusion_map_entries(&fs->replica.sb, index) && !r; i++)
		r = fusion_load_shadow(fs, index * FUSION_MAP_PER_BLOCK + i, words[i]);
	return r;
}

/* Pass over the map copy. The last page of the buffer is scratch. */
static int fusion_load_shadows_read(struct fusion *fs, const char **why)
{
	struct fusion_chain *log = &fs->replica.log;
	const struct fusion_sb *sb = &fs->replica.sb;
	u32 *words = page_address(log->buf[FUSION_BUF_BLOCKS - 1]), index, i, nr;
	int r;

	for (index = 0; index < sb->map_blocks; index += nr) {
		nr = min(sb->map_blocks - index, FUSION_BUF_BLOCKS - 1);
		*why = "cannot be read";
		r = fusion_rw_blocks(fs, log, REQ_OP_READ | REQ_META,
				     sb->map_start[FUSION_SLOW][sb->active_set] + index, 0, nr);
		for (i = 0; i < nr && !r; i++) {
			r = fusion_map_unpack(sb, sb->active_set, index + i, sb->set_generation,
					      page_address(log->buf[i]), words, why);
			if (r)
				break;
			*why = "contradicts the map";
			r = fusion_load_shadows_of_block(fs, index + i, words);
		}
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

/* All of them are right. */
static void fusion_load_shadows_take(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;
	u32 fast;

	for_each_clear_bit(fast, s->none.bits, fs->sb.nr_fast_slots) {
		s->of[fast].slot |= FUSION_SHADOW_FLAGS;
		atomic_inc(&s->nr_current);
		fusion_map_load(fs, s->of[fast].lext,
				fusion_word(FUSION_WATCHED, FUSION_FAST, fast));
	}
	s->nr_named = s->nr;
	s->nr_same = s->nr;
	/* So the next replica names the same ones, of the same instant. */
	fs->replica.names = true;
	fs->replica.point_s = fs->replica.sb.point;
}

static void fusion_load_shadows_leave(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;
	u32 fast;

	for_each_clear_bit(fast, s->none.bits, fs->sb.nr_fast_slots) {
		fusion_slot_put(fs, fusion_word(FUSION_STABLE, FUSION_SLOW, s->of[fast].slot));
		s->of[fast].slot = 0;
		fusion_used_set(&s->none, fast);
	}
	s->nr = 0;
}

void fusion_load_shadows(struct fusion *fs, const bool single[FUSION_NR_DEVS])
{
	const char *why;

	if (!fusion_load_shadows_wanted(fs) || !fusion_load_shadows_exact(fs, single))
		return;
	if (!fusion_load_shadows_read(fs, &why)) {
		fusion_load_shadows_take(fs);
		return;
	}
	fusion_load_shadows_leave(fs);
	DMWARN("%s: %s: the replica of the map %s: no shadows are taken over",
	       dm_table_device_name(fs->ti->table), fs->dev[FUSION_SLOW]->name, why);
}
