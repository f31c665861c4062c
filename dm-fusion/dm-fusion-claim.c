// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: only one fused device at a time works on a set.
 *
 * The device-mapper core lets any number of tables open the same members. It has to: a table is
 * created while the one that it replaces is still at work. Two loaded tables would each write a
 * map of their own. So loading a set claims its members until a suspend closes the set. If another
 * table wrote to the members during that suspend, the suspended one has an outdated map and must
 * not resume.
 *
 * Sets that were opened read-only write nothing, so any number of them may share the members.
 */
#include "dm-fusion.h"

struct fusion_claims fusion_claims = {
	.lock = __SPIN_LOCK_UNLOCKED(fusion_claims.lock),
	.loaded = LIST_HEAD_INIT(fusion_claims.loaded),
};

/*
 * One disk may appear as several devices, as with multipath, so the uuid of the set counts as well.
 * The heartbeat keeps tables with different host ids apart, like two machines.
 */
static bool fusion_same_set(const struct fusion *a, const struct fusion *b)
{
	return !memcmp(a->sb.set_uuid, b->sb.set_uuid, sizeof(a->sb.set_uuid)) &&
	       !memcmp(a->heart.host_id, b->heart.host_id, sizeof(a->heart.host_id));
}

static bool fusion_share_member(const struct fusion *a, const struct fusion *b)
{
	unsigned int i, k;

	/* disks change places while a member is replaced */
	for (i = 0; i < FUSION_NR_DISKS; i++)
		for (k = 0; k < FUSION_NR_DISKS; k++)
			if (a->dev[i] && b->dev[k] && a->dev[i]->bdev == b->dev[k]->bdev)
				return true;
	return fusion_same_set(a, b);
}

/* Find a table that holds a conflicting claim. Lock held. */
static struct fusion *fusion_find_owner(const struct fusion *fs)
{
	struct fusion *other;

	list_for_each_entry(other, &fusion_claims.loaded, claim.node)
		if (other != fs && other->claim.held && fusion_share_member(other, fs) &&
		    !(other->read_only && fs->read_only))
			return other;
	return NULL;
}

int fusion_claim(struct fusion *fs)
{
	const char *name = dm_table_device_name(fs->ti->table);
	struct fusion *other;
	int r = 0;

	spin_lock_irq(&fusion_claims.lock);
	other = fusion_find_owner(fs);
	if (fs->claim.overtaken) {
		DMERR("%s: another device has used the set since: make the table again", name);
		r = -ESTALE;
	} else if (other) {
		DMERR("%s: device %s uses the set", name,
		      dm_table_device_name(other->ti->table));
		r = -EBUSY;
	} else {
		fs->claim.held = true;
		if (list_empty(&fs->claim.node))
			list_add(&fs->claim.node, &fusion_claims.loaded);
		list_for_each_entry(other, &fusion_claims.loaded, claim.node)
			if (other != fs && !fs->read_only && fusion_share_member(other, fs))
				other->claim.overtaken = true;
	}
	spin_unlock_irq(&fusion_claims.lock);
	return r;
}

struct fusion *fusion_claim_left(struct fusion *fs)
{
	struct fusion *other, *left = NULL;

	spin_lock_irq(&fusion_claims.lock);
	list_for_each_entry(other, &fusion_claims.loaded, claim.node)
		if (other != fs && other->claim.held && dm_table_get_md(other->ti->table) ==
							dm_table_get_md(fs->ti->table))
			left = other;
	spin_unlock_irq(&fusion_claims.lock);
	return left;
}

struct fusion *fusion_claim_before(struct fusion *fs)
{
	struct fusion *other, *before = NULL;

	spin_lock_irq(&fusion_claims.lock);
	/* the newest one comes first */
	list_for_each_entry(other, &fusion_claims.loaded, claim.node) {
		if (other != fs && dm_table_get_md(other->ti->table) ==
				   dm_table_get_md(fs->ti->table) &&
		    !memcmp(other->sb.set_uuid, fs->sb.set_uuid, sizeof(fs->sb.set_uuid))) {
			before = other;
			break;
		}
	}
	spin_unlock_irq(&fusion_claims.lock);
	return before;
}

void fusion_claim_release(struct fusion *fs)
{
	spin_lock_irq(&fusion_claims.lock);
	fs->claim.held = false;
	spin_unlock_irq(&fusion_claims.lock);
}

void fusion_claim_forget(struct fusion *fs)
{
	spin_lock_irq(&fusion_claims.lock);
	list_del_init(&fs->claim.node);
	spin_unlock_irq(&fusion_claims.lock);
}
