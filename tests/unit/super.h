/* SPDX-License-Identifier: GPL-2.0-only */
/* The superblock that the tests of superblocks change. */
#ifndef SUPER_H
#define SUPER_H

#include "unit.h"

#define FAST_SECTORS	(512ULL << 11)
#define SLOW_SECTORS	((4096ULL << 11) + 5)

static inline struct fusion_sb fast_sb(void)
{
	struct fusion_sb sb;

	example_sb(&sb, FAST_SECTORS, SLOW_SECTORS, 2048);
	sb.generation = 1002;
	sb.layout_seq = 3;
	sb.activation = 0x1234567890abcdef;
	sb.prev_activation = 0xfedcba9876543210;
	sb.peer_at = (struct fusion_progress){ 71, 72 };
	sb.write_time = 1764000000;
	sb.open_time = 1763000000;
	memset(sb.host_id, 0x42, sizeof(sb.host_id));
	strcpy(sb.host_name, "desk");
	sb.settings_mask = 5;
	sb.setting[2] = 4711;
	return sb;
}

#endif
