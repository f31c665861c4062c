// SPDX-License-Identifier: GPL-2.0-only
/* mutate: superblocks. */
#include "mutate-inside.h"
#include "../reseal.h"

#define TRANSIT(f) { "transit." #f, FUSION_TRANSIT_OFFSET + \
		     offsetof(struct fusion_super_transit, f), \
		     sizeof(((struct fusion_super_transit *)0)->f) }

static const struct field super_fields[] = {
	FIELD(fusion_super, h.magic), FIELD(fusion_super, h.blocknr),
	FIELD(fusion_super, version), FIELD(fusion_super, role), FIELD(fusion_super, incompat),
	FIELD(fusion_super, ro_compat), FIELD(fusion_super, compat),
	FIELD(fusion_super, generation), FIELD(fusion_super, flags), FIELD(fusion_super, epoch),
	FIELD(fusion_super, self_sectors), FIELD(fusion_super, peer_sectors),
	FIELD(fusion_super, extent_sectors), FIELD(fusion_super, nr_lexts),
	FIELD(fusion_super, journal_start), FIELD(fusion_super, journal_blocks),
	FIELD(fusion_super, map_blocks), FIELD(fusion_super, map_start[0]),
	FIELD(fusion_super, map_start[1]), FIELD(fusion_super, heat_start),
	FIELD(fusion_super, heat_blocks), FIELD(fusion_super, nr_fast_slots),
	FIELD(fusion_super, fast_data_start), FIELD(fusion_super, slow_first_slot),
	FIELD(fusion_super, nr_slow_slots), FIELD(fusion_super, log_start),
	FIELD(fusion_super, log_blocks), FIELD(fusion_super, spare_fast),
	FIELD(fusion_super, spare_slow), FIELD(fusion_super, active_set),
	FIELD(fusion_super, replay_csum), FIELD(fusion_super, set_generation),
	FIELD(fusion_super, replay_seq), FIELD(fusion_super, replay_txn),
	FIELD(fusion_super, layout_seq), FIELD(fusion_super, slow_map_start[0]),
	FIELD(fusion_super, slow_map_start[1]), FIELD(fusion_super, activation),
	FIELD(fusion_super, prev_activation), FIELD(fusion_super, peer_generation),
	FIELD(fusion_super, peer_seq), FIELD(fusion_super, settings_mask),
	FIELD(fusion_super, setting[0]),
	/* of a set in transit, which counts only with its bit of incompat */
	TRANSIT(kind), TRANSIT(state), TRANSIT(dev), TRANSIT(nr_magics), TRANSIT(magic[0]),
	TRANSIT(magic[1]), TRANSIT(disk_sectors), TRANSIT(content_id), TRANSIT(copy_csum),
	TRANSIT(place[0]),
	/* a string without an end */
	{ "label", offsetof(struct fusion_super, label) + FUSION_LABEL_SIZE - 8, 8 },
	{ "peer.serial", offsetof(struct fusion_super, peer.serial) + FUSION_IDENT_SIZE - 8, 8 },
	{ "dev_uuid", offsetof(struct fusion_super, dev_uuid), 8 },
	{ "set_uuid", offsetof(struct fusion_super, h.set_uuid), 8 },
};

static u8 *super_copy(struct image *im, int dev, int copy)
{
	return image_block(im, dev, FUSION_SUPER_BLOCKNR(copy));
}

/* The generation decides which copy it is; a field that is changed in both copies keeps that. */
void mutate_super(struct image *im, struct mutation *m)
{
	const int only_dev = mutate_one_in(m, 2) ? -1 : (int)mutate_below(&m->state, 2);
	const int only_copy = mutate_one_in(m, 4) ? (int)mutate_below(&m->state, 2) : -1;
	unsigned int fields = mutate_one_in(m, 3) ? 1 + mutate_below(&m->state, 3) : 1;

	mutate_note(m, " super %s copy %d", only_dev < 0 ? "both" : member_name(only_dev),
		    only_copy);
	while (fields--) {
		const struct field *f =
			&super_fields[mutate_below(&m->state, ARRAY_SIZE(super_fields))];
		const u64 parity = f->offset == offsetof(struct fusion_super, generation) &&
				   !mutate_one_in(m, 4);
		u64 value = 0;
		bool drawn = false;

		for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
			if (only_dev >= 0 && dev != only_dev)
				continue;
			for (int copy = 0; copy < 2; copy++) {
				u8 *b = super_copy(im, dev, copy);

				if (only_copy >= 0 && copy != only_copy)
					continue;
				if (!drawn)
					value = mutate_value(m, &im->sb[dev],
							     field_get(b + f->offset, f->size),
							     f->size);
				drawn = true;
				field_put(b + f->offset, f->size,
					  parity ? (value & ~1ULL) | copy : value);
				reseal(b);
			}
		}
		mutate_note(m, " %s=%llx", f->name, (unsigned long long)value);
	}
}

/* A whole geometry that is valid in itself, but not that of the set. */
void mutate_geometry(struct image *im, struct mutation *m)
{
	const struct fusion_sb *old = &im->sb[FUSION_FAST];
	const u32 extent = mutate_one_in(m, 2) ? old->extent_sectors :
			   FUSION_MIN_EXTENT_SECTORS << mutate_below(&m->state, 4);
	u64 fast = old->self_sectors - (u64)mutate_below(&m->state, 16) * 64;
	u64 slow = old->peer_sectors - (u64)mutate_below(&m->state, 16) * 64;
	struct fusion_sb sb[2] = { *old };
	struct fusion_misfit misfit;

	if (fusion_sb_plan(&sb[0], fast, slow, extent, &misfit)) {
		mutate_super(im, m);
		return;
	}
	mutate_note(m, " geometry extent=%x fast=%llx slow=%llx lexts=%x", extent,
		    (unsigned long long)fast, (unsigned long long)slow, sb[0].nr_lexts);
	fusion_sb_for_slow(&sb[0], &sb[1]);
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		for (int copy = 0; copy < 2; copy++) {
			sb[dev].generation = (im->sb[dev].generation | 1) - !copy;
			sb[dev].flags = im->sb[dev].flags;
			sb[dev].epoch = im->sb[dev].epoch;
			sb[dev].active_set = im->sb[dev].active_set;
			sb[dev].set_generation = im->sb[dev].set_generation;
			sb[dev].replay_seq = im->sb[dev].replay_seq;
			sb[dev].replay_txn = im->sb[dev].replay_txn;
			sb[dev].replay_csum = im->sb[dev].replay_csum;
			fusion_sb_pack(&sb[dev], FUSION_SUPER_BLOCKNR(copy),
				       super_copy(im, dev, copy));
		}
	}
}
