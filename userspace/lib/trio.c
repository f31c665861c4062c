// SPDX-License-Identifier: GPL-2.0-only
/* The three disks of a set of which a member is being replaced. */
#include <string.h>

#include "trio.h"
#include "error.h"
#include "fusionctl.h"
#include "scan.h"
#include "super.h"
#include "dm-fusion-codec.h"

bool fus_tells_of_old(const struct fusion_sb *peer)
{
	return peer->incompat & FUSION_INCOMPAT_OLD_MEMBER && peer->old.dev != peer->role &&
	       peer->old.state == FUSION_OLD_MEMBER;
}

/* Of stacked devices the topmost; of copies the first. */
static const struct member *with_uuid(const struct member *list, const unsigned char uuid[16])
{
	for (const struct member *m = list; m; m = m->next)
		if (fus_member_is(m, uuid) && !fus_under_another(list, m))
			return m;
	return NULL;
}

/* A peer from the past may tell of a disk that was replaced then. */
static const struct member *newest_peer(const struct member *list, const unsigned char uuid[16])
{
	const struct member *peer = NULL;

	for (const struct member *m = list; m; m = m->next)
		if (fus_has_identity(m) && !memcmp(m->sb->set_uuid, uuid, 16) &&
		    fus_tells_of_old(m->sb) && !fus_under_another(list, m) &&
		    (!peer || m->sb->epoch > peer->sb->epoch))
			peer = m;
	return peer;
}

/* A new member that has an old one, as its superblock says, but not that of the peer any more. */
static const struct member *last_to_tell(const struct member *list, const unsigned char uuid[16],
					 const struct member **peer)
{
	for (const struct member *m = list; m; m = m->next) {
		if (!fus_has_identity(m) || memcmp(m->sb->set_uuid, uuid, 16) ||
		    !fusion_sb_has_old(m->sb) || m->sb->old.dev != m->sb->role ||
		    fus_under_another(list, m))
			continue;
		*peer = with_uuid(list, m->sb->peer_uuid);
		if (*peer && fus_name_each_other(m, *peer))
			return m;
	}
	return NULL;
}

void fus_find_trio(const struct member *list, const unsigned char uuid[16], struct trio *t)
{
	const struct member *peer = newest_peer(list, uuid), *new, *by = peer;

	memset(t, 0, sizeof(*t));
	t->role = -1;
	if (peer) {
		new = with_uuid(list, peer->sb->peer_uuid);
		t->over = new && !fusion_sb_has_old(new->sb);
	} else {
		new = last_to_tell(list, uuid, &peer);
		if (!new)
			return;
		by = new;
		t->over = true;
	}
	t->by = by->sb;
	t->role = t->by->old.dev;
	t->peer = peer->sb;
	t->m[!t->role] = peer;
	t->m[t->role] = new;
	t->old = with_uuid(list, t->by->old.uuid);
}

static bool is_named(const struct member *list, const struct member *m)
{
	const struct member *peer = with_uuid(list, m->sb->peer_uuid);

	return !peer || !memcmp(peer->sb->peer_uuid, m->sb->dev_uuid, 16) ||
	       (fus_tells_of_old(peer->sb) && !memcmp(peer->sb->old.uuid, m->sb->dev_uuid, 16));
}

void fus_set_apart(struct member *list)
{
	for (struct member *m = list; m; m = m->next)
		if (fus_has_identity(m) && m->sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
		    m->sb->old.state == FUSION_OLD_JOINING && !is_named(list, m))
			m->state = MEMBER_PREPARED;
}

bool fus_was_replaced(const struct fusion_sb *sb, const struct fusion_sb *now)
{
	const bool same = sb->role == now->role;
	const unsigned char *in_its_role = same ? now->dev_uuid : now->peer_uuid;
	const unsigned char *stays = same ? now->peer_uuid : now->dev_uuid;

	if (memcmp(sb->set_uuid, now->set_uuid, 16) || memcmp(sb->peer_uuid, stays, 16) ||
	    !memcmp(sb->dev_uuid, in_its_role, 16))
		return false;
	/* something may lie there */
	if (fusion_sb_has_old(now) && !memcmp(now->old.uuid, sb->dev_uuid, 16))
		return false;
	/* the join raises it, and so does the end: fusion_sb_join(), fusion_sb_part() */
	return now->layout_seq >= (u64)sb->layout_seq + 2;
}

void fus_old_text(const struct fusion_sb *by, char *buf, size_t size)
{
	fus_ident_text(&by->old.ident, by->old.sectors, buf, size);
}

int fus_fail_replaced(const char *name, const char *verb)
{
	return fus_fail(FC_BUSY, name, "cannot %s while a member is being replaced; run fusionctl "
			"replace %s --wait, or --abort, first", verb, name);
}
