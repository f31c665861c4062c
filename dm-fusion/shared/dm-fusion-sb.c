// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: superblocks: packing and unpacking.
 *
 * See dm-fusion-codec.h for the contract and dm-fusion-format.h for the layout.
 * dm-fusion-layout.c plans and checks the places, dm-fusion-match.c compares members.
 */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-landing.h"
#include "dm-fusion-stale-format.h"

static void fusion_renewal_pack(const struct fusion_transit *t, struct fusion_super_renewal *d)
{
	d->kind = cpu_to_le32(t->kind);
	d->state = cpu_to_le32(t->state);
	d->dev = cpu_to_le32(t->dev);
	memcpy(d->was_set, t->was_set, sizeof(d->was_set));
	memcpy(d->was_dev, t->was_dev, sizeof(d->was_dev));
}

static void fusion_transit_pack(const struct fusion_transit *t, struct fusion_super_transit *d)
{
	unsigned int i;

	if (t->kind == FUSION_TRANSIT_UUID) {
		fusion_renewal_pack(t, (void *)d);
		return;
	}
	d->kind = cpu_to_le32(t->kind);
	d->state = cpu_to_le32(t->state);
	d->dev = cpu_to_le32(t->dev);
	d->nr_magics = cpu_to_le32(t->nr_magics);
	for (i = 0; i < FUSION_MAX_MAGICS; i++) {
		d->magic[i] = cpu_to_le64(t->magic[i]);
		d->place[i] = cpu_to_le16(t->place[i]);
	}
	d->disk_sectors = cpu_to_le64(t->disk_sectors);
	d->content_id = cpu_to_le32(t->content_id);
	d->copy_csum = cpu_to_le32(t->copy_csum);
}

static void fusion_transit_from_disk(const struct fusion_super_transit *d,
				     struct fusion_transit *t)
{
	const struct fusion_super_renewal *renewal = (const void *)d;
	unsigned int i;

	t->kind = le32_to_cpu(d->kind);
	t->state = le32_to_cpu(d->state);
	t->dev = le32_to_cpu(d->dev);
	if (t->kind == FUSION_TRANSIT_UUID) {
		memcpy(t->was_set, renewal->was_set, sizeof(t->was_set));
		memcpy(t->was_dev, renewal->was_dev, sizeof(t->was_dev));
		return;
	}
	t->nr_magics = le32_to_cpu(d->nr_magics);
	for (i = 0; i < FUSION_MAX_MAGICS; i++) {
		t->magic[i] = le64_to_cpu(d->magic[i]);
		t->place[i] = le16_to_cpu(d->place[i]);
	}
	t->disk_sectors = le64_to_cpu(d->disk_sectors);
	t->content_id = le32_to_cpu(d->content_id);
	t->copy_csum = le32_to_cpu(d->copy_csum);
}

void fusion_sb_pack(const struct fusion_sb *sb, u64 blocknr, void *block)
{
	struct fusion_super *d = block;
	unsigned int i;

	memset(block, 0, FUSION_BLOCK_SIZE);
	memcpy(d->signature, FUSION_SIGNATURE, sizeof(d->signature));
	d->version = cpu_to_le32(FUSION_VERSION);
	d->role = cpu_to_le32(sb->role);
	d->incompat = cpu_to_le64(sb->incompat);
	d->ro_compat = cpu_to_le64(sb->ro_compat);
	d->compat = cpu_to_le64(sb->compat);
	d->generation = cpu_to_le64(sb->generation);
	d->flags = cpu_to_le32(sb->flags);
	d->epoch = cpu_to_le32(sb->epoch);
	memcpy(d->dev_uuid, sb->dev_uuid, sizeof(d->dev_uuid));
	memcpy(d->peer_uuid, sb->peer_uuid, sizeof(d->peer_uuid));
	memcpy(d->label, sb->label, strnlen(sb->label, sizeof(d->label)));
	d->self = sb->self;
	d->peer = sb->peer;
	d->self_sectors = cpu_to_le64(sb->self_sectors);
	d->peer_sectors = cpu_to_le64(sb->peer_sectors);
	d->create_time = cpu_to_le64(sb->create_time);

	d->extent_sectors = cpu_to_le32(sb->extent_sectors);
	d->nr_lexts = cpu_to_le32(sb->nr_lexts);
	d->journal_start = cpu_to_le64(sb->journal_start[FUSION_FAST]);
	d->journal_blocks = cpu_to_le32(sb->journal_blocks[FUSION_FAST]);
	d->map_blocks = cpu_to_le32(sb->map_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		d->map_start[i] = cpu_to_le64(sb->map_start[FUSION_FAST][i]);
	d->heat_start = cpu_to_le64(sb->heat_start);
	d->heat_blocks = cpu_to_le32(sb->heat_blocks);
	d->nr_fast_slots = cpu_to_le32(sb->nr_fast_slots);
	d->fast_data_start = cpu_to_le64(sb->fast_data_start);
	d->slow_first_slot = cpu_to_le32(sb->slow_first_slot);
	d->nr_slow_slots = cpu_to_le32(sb->nr_slow_slots);
	d->log_start = cpu_to_le64(sb->journal_start[FUSION_SLOW]);
	d->log_blocks = cpu_to_le32(sb->journal_blocks[FUSION_SLOW]);
	d->spare_fast = cpu_to_le32(sb->spare_fast);
	d->spare_slow = cpu_to_le32(sb->spare_slow);
	d->layout_seq = cpu_to_le32(sb->layout_seq);

	d->active_set = cpu_to_le32(sb->active_set);
	d->replay_csum = cpu_to_le32(sb->replay_csum);
	d->set_generation = cpu_to_le64(sb->set_generation);
	d->replay_seq = cpu_to_le64(sb->replay_seq);
	d->replay_txn = cpu_to_le64(sb->replay_txn);
	for (i = 0; i < FUSION_NR_SETS; i++)
		d->slow_map_start[i] = cpu_to_le64(sb->map_start[FUSION_SLOW][i]);

	d->activation = cpu_to_le64(sb->activation);
	d->prev_activation = cpu_to_le64(sb->prev_activation);
	d->peer_generation = cpu_to_le64(sb->peer_at.generation);
	d->peer_seq = cpu_to_le64(sb->peer_at.seq);
	d->write_time = cpu_to_le64(sb->write_time);
	d->open_time = cpu_to_le64(sb->open_time);
	memcpy(d->host_id, sb->host_id, sizeof(d->host_id));
	memcpy(d->host_name, sb->host_name, strnlen(sb->host_name, sizeof(d->host_name)));
	d->settings_mask = cpu_to_le32(sb->settings_mask);
	for (i = 0; i < FUSION_NR_SETTINGS; i++)
		d->setting[i] = cpu_to_le32(sb->setting[i]);
	if (sb->incompat & FUSION_INCOMPAT_OLD_MEMBER)
		fusion_old_pack(&sb->old, block + FUSION_OLD_OFFSET);
	if (sb->incompat & FUSION_INCOMPAT_IN_TRANSIT)
		fusion_transit_pack(&sb->transit, block + FUSION_TRANSIT_OFFSET);
	if (sb->incompat & FUSION_INCOMPAT_SHADOW)
		*(__le64 *)(block + FUSION_POINT_OFFSET) = cpu_to_le64(sb->point);
	if (fusion_sb_keeps_landing(sb))
		*(__le32 *)(block + FUSION_LANDING_OFFSET) = cpu_to_le32(sb->landing_slots);
	*(__le32 *)(block + FUSION_STALE_PLACES_OFFSET) = cpu_to_le32(sb->stale_places);
	*(__le64 *)(block + FUSION_STALE_START_OFFSET) = cpu_to_le64(sb->stale_start);
	if (fusion_sb_shadows_exact(sb))
		*(__le64 *)(block + FUSION_SHADOWS_OFFSET) = cpu_to_le64(sb->shadows_at);
	fusion_block_seal(sb, FUSION_MAGIC_SUPER, blocknr, block);
}

static void fusion_sb_from_disk(const struct fusion_super *d, struct fusion_sb *sb)
{
	unsigned int i;

	memset(sb, 0, sizeof(*sb));
	memcpy(sb->set_uuid, d->h.set_uuid, sizeof(sb->set_uuid));
	memcpy(sb->dev_uuid, d->dev_uuid, sizeof(sb->dev_uuid));
	memcpy(sb->peer_uuid, d->peer_uuid, sizeof(sb->peer_uuid));
	memcpy(sb->label, d->label, sizeof(d->label));
	sb->self = d->self;
	sb->peer = d->peer;
	sb->version = le32_to_cpu(d->version);
	sb->role = le32_to_cpu(d->role);
	sb->incompat = le64_to_cpu(d->incompat);
	sb->ro_compat = le64_to_cpu(d->ro_compat);
	sb->compat = le64_to_cpu(d->compat);
	sb->generation = le64_to_cpu(d->generation);
	sb->flags = le32_to_cpu(d->flags);
	sb->epoch = le32_to_cpu(d->epoch);
	sb->self_sectors = le64_to_cpu(d->self_sectors);
	sb->peer_sectors = le64_to_cpu(d->peer_sectors);
	sb->create_time = le64_to_cpu(d->create_time);

	sb->extent_sectors = le32_to_cpu(d->extent_sectors);
	sb->nr_lexts = le32_to_cpu(d->nr_lexts);
	sb->journal_start[FUSION_FAST] = le64_to_cpu(d->journal_start);
	sb->journal_blocks[FUSION_FAST] = le32_to_cpu(d->journal_blocks);
	sb->map_blocks = le32_to_cpu(d->map_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		sb->map_start[FUSION_FAST][i] = le64_to_cpu(d->map_start[i]);
	sb->heat_start = le64_to_cpu(d->heat_start);
	sb->heat_blocks = le32_to_cpu(d->heat_blocks);
	sb->nr_fast_slots = le32_to_cpu(d->nr_fast_slots);
	sb->fast_data_start = le64_to_cpu(d->fast_data_start);
	sb->slow_first_slot = le32_to_cpu(d->slow_first_slot);
	sb->nr_slow_slots = le32_to_cpu(d->nr_slow_slots);
	sb->journal_start[FUSION_SLOW] = le64_to_cpu(d->log_start);
	sb->journal_blocks[FUSION_SLOW] = le32_to_cpu(d->log_blocks);
	for (i = 0; i < FUSION_NR_SETS; i++)
		sb->map_start[FUSION_SLOW][i] = le64_to_cpu(d->slow_map_start[i]);
	sb->spare_fast = le32_to_cpu(d->spare_fast);
	sb->spare_slow = le32_to_cpu(d->spare_slow);

	sb->active_set = le32_to_cpu(d->active_set);
	sb->replay_csum = le32_to_cpu(d->replay_csum);
	sb->set_generation = le64_to_cpu(d->set_generation);
	sb->replay_seq = le64_to_cpu(d->replay_seq);
	sb->replay_txn = le64_to_cpu(d->replay_txn);

	sb->layout_seq = le32_to_cpu(d->layout_seq);
	sb->activation = le64_to_cpu(d->activation);
	sb->prev_activation = le64_to_cpu(d->prev_activation);
	sb->peer_at.generation = le64_to_cpu(d->peer_generation);
	sb->peer_at.seq = le64_to_cpu(d->peer_seq);
	sb->write_time = le64_to_cpu(d->write_time);
	sb->open_time = le64_to_cpu(d->open_time);
	memcpy(sb->host_id, d->host_id, sizeof(sb->host_id));
	memcpy(sb->host_name, d->host_name, sizeof(d->host_name));
	sb->settings_mask = le32_to_cpu(d->settings_mask);
	for (i = 0; i < FUSION_NR_SETTINGS; i++)
		sb->setting[i] = le32_to_cpu(d->setting[i]);
	if (sb->incompat & FUSION_INCOMPAT_OLD_MEMBER)
		fusion_old_from_disk((const void *)d + FUSION_OLD_OFFSET, &sb->old);
	if (sb->incompat & FUSION_INCOMPAT_IN_TRANSIT)
		fusion_transit_from_disk((const void *)d + FUSION_TRANSIT_OFFSET, &sb->transit);
	if (sb->incompat & FUSION_INCOMPAT_SHADOW)
		sb->point = le64_to_cpu(*(const __le64 *)((const void *)d + FUSION_POINT_OFFSET));
	if (fusion_sb_keeps_landing(sb))
		sb->landing_slots = le32_to_cpu(*(const __le32 *)((const void *)d +
								  FUSION_LANDING_OFFSET));
	sb->stale_places = le32_to_cpu(*(const __le32 *)((const void *)d +
							 FUSION_STALE_PLACES_OFFSET));
	sb->stale_start = le64_to_cpu(*(const __le64 *)((const void *)d +
							FUSION_STALE_START_OFFSET));
	sb->shadows_at = le64_to_cpu(*(const __le64 *)((const void *)d + FUSION_SHADOWS_OFFSET));
	if (!fusion_sb_shadows_exact(sb))
		sb->shadows_at = 0;
}

static const char *fusion_check_state(const struct fusion_sb *sb)
{
	if (!fusion_text_padded(sb->label, FUSION_LABEL_SIZE))
		return "label is not padded with zeros";
	if (!fusion_text_padded(sb->host_name, FUSION_HOST_SIZE))
		return "name of the host is not padded with zeros";
	if (!sb->generation || sb->generation > FUSION_MAX_COUNTER || sb->epoch == U32_MAX)
		return "generation or epoch is out of bounds";
	if (sb->active_set >= FUSION_NR_SETS ||
	    !sb->set_generation || sb->set_generation > FUSION_MAX_COUNTER)
		return "active map copy is wrong";
	if (!sb->replay_seq || sb->replay_seq > FUSION_MAX_COUNTER ||
	    !sb->replay_txn || sb->replay_txn > FUSION_MAX_COUNTER)
		return "start of the replay is out of bounds";
	if (sb->peer_at.generation > FUSION_MAX_COUNTER || sb->peer_at.seq > FUSION_MAX_COUNTER)
		return "what it says of the other member is out of bounds";
	return NULL;
}

/* The geometry is checked when this runs. */
static const char *fusion_check_transit(const struct fusion_sb *sb)
{
	const struct fusion_transit *t = &sb->transit;
	const bool release = t->kind == FUSION_TRANSIT_RELEASE;
	unsigned int i;

	if (!(sb->incompat & FUSION_INCOMPAT_IN_TRANSIT))
		return NULL;
	if (t->kind == FUSION_TRANSIT_UUID)
		return t->state != 1 || t->dev != FUSION_SLOW || sb->role != FUSION_SLOW ||
		       !sb->epoch || !sb->peer_at.generation ||
		       !memcmp(t->was_set, sb->set_uuid, sizeof(t->was_set)) ?
		       "state of the change of uuid is wrong" : NULL;
	if ((!release && t->kind != FUSION_TRANSIT_ADOPT) || t->dev >= FUSION_NR_DEVS ||
	    t->state < FUSION_TRANSIT_PREPARING || t->state > FUSION_TRANSIT_PLANNED)
		return "state of the transit is wrong";
	if (release && (t->dev != FUSION_SLOW || !fusion_transit_copied(t)))
		return "state of the transit is wrong";
	if (t->disk_sectors != fusion_sb_dev_sectors(sb, t->dev))
		return "size of the disk in transit is wrong";
	/* a set can be empty, but there is no sense in adopting an empty disk */
	if (t->nr_magics > FUSION_MAX_MAGICS || (!t->nr_magics && !release))
		return "number of signatures of the disk in transit is wrong";
	for (i = 0; i < t->nr_magics; i++)
		if (t->magic[i] >= t->disk_sectors || (i && t->magic[i] <= t->magic[i - 1]) ||
		    !FUSION_MAGIC_BYTES(t->place[i]) ||
		    FUSION_MAGIC_OFFSET(t->place[i]) + FUSION_MAGIC_BYTES(t->place[i]) > 512)
			return "signatures of the disk in transit are in wrong places";
	return NULL;
}

/* "incompat 0x30 (landing log)": the bits, and the names of those that have names. */
static void fusion_features_text(const char *word, u64 bits, const char *const *name,
				 unsigned int names, char *text)
{
	size_t used = snprintf(text, FUSION_UNKNOWN_TEXT,
			       "has features of a newer version: %s 0x%llx", word,
			       (unsigned long long)bits);
	const char *before = " (";
	unsigned int i;

	for (i = 0; i < names; i++) {
		if (!(bits & BIT_ULL(i)))
			continue;
		used += snprintf(text + used, FUSION_UNKNOWN_TEXT - used, "%s%s", before, name[i]);
		before = ", ";
	}
	if (*before == ',')
		snprintf(text + used, FUSION_UNKNOWN_TEXT - used, ")");
}

static void fusion_transit_text(const struct fusion_sb *sb, char *text)
{
	if (sb->transit.kind == FUSION_TRANSIT_UUID)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "is getting another uuid: fusionctl uuid with both members finishes that");
	else if (sb->transit.state == FUSION_TRANSIT_PLANNED)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "is to be adopted at the next boot: fusionctl adopt --abort cancels that");
	else if (fusion_sb_released(sb))
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "was a member of a set that is released: fusionctl release --resume wipes it");
	else
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "is in transit: fusionctl %s, --abort undoes that",
			 sb->transit.kind == FUSION_TRANSIT_RELEASE ?
			 "release --resume makes the slow member a plain disk" :
			 "adopt --resume makes it a set");
}

static const char *fusion_sb_unknown_beyond(const struct fusion_sb *sb, u64 known, char *text)
{
	static const char *const planned[] = {
		"member being replaced", "disk in transit", "lost blocks", "shadows",
		"landing log",
	};

	*text = 0;
	if (sb->version > FUSION_VERSION)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "has format version %u, the newest that is supported is %d", sb->version,
			 FUSION_VERSION);
	else if (sb->version < FUSION_VERSION)
		snprintf(text, FUSION_UNKNOWN_TEXT,
			 "has format version %u, from before the first release", sb->version);
	else if (fusion_sb_in_transit(sb))
		fusion_transit_text(sb, text);
	else if (sb->incompat & ~known)
		fusion_features_text("incompat", sb->incompat & ~known, planned,
				     ARRAY_SIZE(planned), text);
	else if (sb->flags & ~FUSION_SB_FLAGS_KNOWN)
		fusion_features_text("flags", sb->flags & ~FUSION_SB_FLAGS_KNOWN, NULL, 0, text);
	else if (sb->ro_compat & ~FUSION_RO_COMPAT_KNOWN)
		fusion_features_text("ro_compat", sb->ro_compat & ~FUSION_RO_COMPAT_KNOWN, NULL, 0,
				     text);
	return text;
}

const char *fusion_sb_unknown(const struct fusion_sb *sb, char *text)
{
	return fusion_sb_unknown_beyond(sb, FUSION_INCOMPAT_KNOWN, text);
}

const char *fusion_sb_unknown_landing(const struct fusion_sb *sb, char *text)
{
	return fusion_sb_unknown_beyond(sb, FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_LANDING, text);
}

int fusion_sb_unpack_known(const void *block, u64 blocknr, u64 dev_sectors, u64 known,
			   struct fusion_sb *sb, const char **why)
{
	const struct fusion_super *d = block;

	if (le32_to_cpu(d->h.magic) != FUSION_MAGIC_SUPER) {
		*why = "no superblock";
		return -ENODATA;
	}
	fusion_sb_from_disk(d, sb);
	*why = fusion_block_check(sb, FUSION_MAGIC_SUPER, blocknr, block);
	if (*why)
		return -EILSEQ;

	/* Only the fields above are sure to mean the same in every version. */
	if (le32_to_cpu(d->version) != FUSION_VERSION) {
		*why = "has the format of another version";
		return -EPROTONOSUPPORT;
	}
	if (memcmp(d->signature, FUSION_SIGNATURE, sizeof(d->signature))) {
		*why = "signature is wrong";
		return -EILSEQ;
	}
	/* a set in transit has no other bit */
	if (sb->incompat & FUSION_INCOMPAT_IN_TRANSIT)
		known &= FUSION_INCOMPAT_IN_TRANSIT;
	if (sb->incompat & ~known || sb->flags & ~FUSION_SB_FLAGS_KNOWN) {
		*why = "has features of a newer version";
		return -EPROTONOSUPPORT;
	}
	if (sb->role >= FUSION_NR_DEVS) {
		*why = "role is neither fast nor slow";
		return -EILSEQ;
	}
	if (blocknr != FUSION_SUPER_BLOCKNR(sb->generation & 1)) {
		*why = "generation belongs to the other copy";
		return -EILSEQ;
	}
	*why = fusion_check_geometry(sb);
	if (!*why)
		*why = fusion_check_state(sb);
	if (!*why)
		*why = fusion_check_old(sb);
	if (!*why)
		*why = fusion_check_transit(sb);
	if (*why)
		return -EILSEQ;
	if (dev_sectors < sb->self_sectors) {
		*why = "device is smaller than when it was formatted";
		return -ENOSPC;
	}
	return 0;
}

int fusion_sb_unpack(const void *block, u64 blocknr, u64 dev_sectors,
		     struct fusion_sb *sb, const char **why)
{
	return fusion_sb_unpack_known(block, blocknr, dev_sectors, FUSION_INCOMPAT_KNOWN, sb, why);
}

int fusion_sb_unpack_landing(const void *block, u64 blocknr, u64 dev_sectors,
			     struct fusion_sb *sb, const char **why)
{
	return fusion_sb_unpack_known(block, blocknr, dev_sectors,
				      FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_LANDING, sb, why);
}

int fusion_sb_unpack_transit(const void *block, u64 blocknr, u64 dev_sectors,
			     struct fusion_sb *sb, const char **why)
{
	return fusion_sb_unpack_known(block, blocknr, dev_sectors,
				      FUSION_INCOMPAT_KNOWN | FUSION_INCOMPAT_IN_TRANSIT, sb, why);
}

bool fusion_sb_lasts(const struct fusion_sb *sb)
{
	const u64 half = FUSION_MAX_COUNTER / 2;

	return sb->generation < half && sb->set_generation < half &&
	       sb->replay_seq < half && sb->replay_txn < half && sb->epoch < U32_MAX / 2;
}
