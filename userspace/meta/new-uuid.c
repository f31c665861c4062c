// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another uuid for a closed set: which set it is, how far that has got, and what is to be written.
 * new-uuid-write.c has the steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "new-uuid.h"
#include "error.h"
#include "fusionctl.h"
#include "super.h"

/* -- which set is it, and how far has that got? ---------------------------------------------- */

static const char *path_of(const struct new_uuid *n, int dev)
{
	return n->meta->m[dev].o.path;
}

/* The newest copy on the slow member that says so; false if none does. */
static bool read_transit(const struct meta *meta, struct fusion_sb *sb)
{
	const struct offline *o = &meta->m[SLOW].o;
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	bool found = false;
	struct fusion_sb one;
	const char *why;

	for (int i = 0; i < 2 && buf; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		if (fus_offline_read(o, blocknr * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, buf) ||
		    fusion_sb_unpack_transit(buf, blocknr, o->sectors, &one, &why) ||
		    !fusion_sb_in_transit(&one) || one.transit.kind != FUSION_TRANSIT_UUID ||
		    (found && one.generation < sb->generation))
			continue;
		*sb = one;
		found = true;
	}
	free(buf);
	return found;
}

/* Of a copy that is whole, whatever its version. */
static u64 next_generation(const struct meta_member *m)
{
	u64 next = 1;

	for (int i = 0; i < 2; i++)
		if (!m->copy[i].err || m->copy[i].err == -EPROTONOSUPPORT)
			next = max(next, m->copy[i].sb.generation + 1);
	return next;
}

static int not_closed(const struct new_uuid *n)
{
	return fus_fail(FC_REFUSED, path_of(n, FAST), "its set %s was not closed cleanly; run "
			"fusionctl open %s %s %s and close it first", n->meta->geo[FAST].label,
			n->meta->geo[FAST].label, path_of(n, FAST), path_of(n, SLOW));
}

static int see_check(const struct new_uuid *n, int code, const char *path, const char *what)
{
	return fus_fail(code, path, "%s; run fusionctl check %s %s", what, path_of(n, FAST),
			path_of(n, SLOW));
}

/* One that this tool cannot write in whole, or that has to be repaired first. */
static int check_super(const struct new_uuid *n, const struct fusion_sb *sb)
{
	const char *path = path_of(n, sb->role);
	char text[FUSION_UNKNOWN_TEXT];

	if (*fusion_sb_unknown_landing(sb, text))
		return fus_fail(FC_REFUSED, path, "%s; use a newer fusionctl and dm-fusion", text);
	if (sb->compat)
		return fus_fail(FC_REFUSED, path, "has features of a newer version; use a newer "
				"fusionctl and dm-fusion");
	if (!fusion_sb_lasts(sb))
		return see_check(n, FC_REFUSED, path, "can only be opened read-only");
	if (sb->flags & FUSION_SB_NEEDS_CHECK)
		return see_check(n, FC_DAMAGED, path, "had an error that may have left its "
				 "metadata wrong");
	return sb->flags & FUSION_SB_CLEAN ? 0 : not_closed(n);
}

static int load_map(struct new_uuid *n)
{
	const struct fusion_sb *fast = fus_meta_sb(n->meta, FAST);
	struct report r = { 0 };
	char text[320];
	int rc;

	rc = fus_state_init(&n->st, fast->nr_lexts);
	if (rc)
		return rc;
	if (!fus_state_load(n->meta, fast, &n->st, &r) || !fus_state_check(&n->st, fast, &r)) {
		fus_finding_text(fus_report_worst(&r), text, sizeof(text));
		rc = see_check(n, FC_DAMAGED, path_of(n, FAST), text);
	}
	fus_report_free(&r);
	/* it is empty: fus_meta_refuse_logged(); its blocks have the old uuid */
	fus_log_free(&n->st.log);
	return rc;
}

/* All that check finds to be an obstacle; one superblock copy of a member may be damaged. */
static int check_all(const struct new_uuid *n)
{
	char text[320];

	return fus_meta_has_errors(n->meta, text, sizeof(text)) ?
	       see_check(n, FC_DAMAGED, path_of(n, FAST), text) : 0;
}

static bool has_room(const struct new_uuid *n, int dev)
{
	return fus_meta_has_room(n->meta, &n->sb[dev], &n->st);
}

/* -- the plan -------------------------------------------------------------------------------- */

static void set_uuids(struct fusion_sb sb[2], const u8 set[16], const u8 fast[16],
		      const u8 slow[16])
{
	for (int dev = 0; dev < 2; dev++) {
		memcpy(sb[dev].set_uuid, set, 16);
		memcpy(sb[dev].dev_uuid, dev == FAST ? fast : slow, 16);
		memcpy(sb[dev].peer_uuid, dev == FAST ? slow : fast, 16);
	}
}

static int begin(struct new_uuid *n)
{
	const struct fusion_sb *fast = fus_meta_sb(n->meta, FAST);
	const struct fusion_sb *slow = fus_meta_sb(n->meta, SLOW);
	const char *why;
	uuid_t uuid[3];
	int rc;

	for (int dev = 0; dev < 2; dev++)
		if (!fus_meta_sb(n->meta, dev))
			return see_check(n, FC_MEMBER, path_of(n, dev), "has no valid superblock");
	if (fusion_sb_match(fast, slow, &why))
		return see_check(n, FC_MEMBER, path_of(n, FAST), why);
	rc = check_super(n, fast);
	if (!rc)
		rc = check_super(n, slow);
	if (!rc)
		rc = check_all(n);
	/* its batches have the old uuid */
	if (!rc)
		rc = fus_meta_refuse_logged(n->meta, "given another uuid");
	if (!rc)
		rc = load_map(n);
	if (rc)
		return rc;
	fus_meta_next(n->meta, &n->st, false, -1, n->sb);
	for (int dev = 0; dev < 2; dev++)
		if (!has_room(n, dev))
			return fus_fail(FC_FAILED, path_of(n, dev), "its journal has no room for "
					"the partial extents a second time; open the set, close it, "
					"and try again");
	n->transit = (struct fusion_transit){
		.kind = FUSION_TRANSIT_UUID, .state = 1, .dev = FUSION_SLOW,
	};
	/* a copy that cannot be read now may be the newer one, and be read later */
	n->generation = fast->generation + !!n->meta->m[FAST].copy[!n->meta->m[FAST].best].err;
	memcpy(n->transit.was_set, fast->set_uuid, 16);
	memcpy(n->transit.was_dev[FAST], fast->dev_uuid, 16);
	memcpy(n->transit.was_dev[SLOW], slow->dev_uuid, 16);
	for (int i = 0; i < 3; i++)
		uuid_generate_random(uuid[i]);
	set_uuids(n->sb, uuid[0], uuid[1], uuid[2]);
	return 0;
}

/* The slow member as it was before, as far as it tells about the fast one. */
static struct fusion_sb before(const struct fusion_sb *transit)
{
	struct fusion_sb sb = *transit;

	memcpy(sb.set_uuid, transit->transit.was_set, 16);
	memcpy(sb.dev_uuid, transit->transit.was_dev[SLOW], 16);
	memcpy(sb.peer_uuid, transit->transit.was_dev[FAST], 16);
	sb.epoch--;
	sb.activation = transit->prev_activation;
	return sb;
}

static int another_fast(const struct new_uuid *n, const char *why)
{
	return fus_fail(FC_MEMBER, path_of(n, FAST), "is not the fast member with which the change "
			"of uuid on %s was begun: %s; name that one", path_of(n, SLOW), why);
}

static int resume(struct new_uuid *n, const struct fusion_sb *slow)
{
	const struct fusion_sb *fast = fus_meta_sb(n->meta, FAST), was = before(slow);
	const u64 generation = slow->peer_at.generation;
	const char *why;
	int rc;

	n->resumed = true;
	n->transit = slow->transit;
	n->generation = generation;
	if (!fast)
		return see_check(n, FC_MEMBER, path_of(n, FAST), "has no valid superblock");
	n->fast_done = !memcmp(fast->set_uuid, slow->set_uuid, 16);
	if (fusion_sb_match(fast, n->fast_done ? slow : &was, &why))
		return another_fast(n, why);
	if (!n->fast_done && (fast->generation > generation || fast->generation + 1 < generation))
		return another_fast(n, "its superblock was written since, or is an older one");
	rc = check_super(n, fast);
	if (!rc)
		rc = load_map(n);
	if (rc)
		return rc;
	if (n->fast_done) {
		n->sb[FAST] = *fast;
		n->sb[FAST].generation++;
	} else {
		fus_meta_next(n->meta, &n->st, false, -1, n->sb);
		n->sb[FAST].epoch = slow->epoch;
		n->sb[FAST].activation = slow->activation;
		n->sb[FAST].prev_activation = slow->prev_activation;
	}
	n->sb[FAST].self = slow->peer;
	n->sb[FAST].peer = slow->self;
	n->sb[SLOW] = *slow;
	n->sb[SLOW].incompat = 0;
	fusion_sb_take_landing(&n->sb[SLOW], &n->sb[FAST]);
	n->sb[SLOW].generation = next_generation(&n->meta->m[SLOW]);
	n->sb[SLOW].peer_at = (struct fusion_progress){ 0 };
	set_uuids(n->sb, slow->set_uuid, slow->peer_uuid, slow->dev_uuid);
	fus_new_uuid_label(n, slow->label);
	return has_room(n, FAST) || n->fast_done ? 0 :
	       see_check(n, FC_DAMAGED, path_of(n, FAST), "its journal has no room");
}

int fus_new_uuid_plan(struct new_uuid *n, struct meta *meta)
{
	struct fusion_sb slow;

	memset(n, 0, sizeof(*n));
	n->meta = meta;
	for (int dev = 0; dev < 2; dev++)
		if (!meta->m[dev].o.path)
			return fus_fail(FC_USAGE, meta->m[!dev].o.path, "is one member; name both");
	if (read_transit(meta, &slow))
		return resume(n, &slow);
	if (fus_meta_refuse_unknown(meta) || fus_meta_refuse_old(meta, "given another uuid") ||
	    fus_meta_refuse_lost(meta, "given another uuid"))
		return FC_REFUSED;
	return begin(n);
}

void fus_new_uuid_end(struct new_uuid *n)
{
	fus_state_free(&n->st);
}

void fus_new_uuid_label(struct new_uuid *n, const char *label)
{
	for (int dev = 0; dev < 2; dev++) {
		memset(n->sb[dev].label, 0, sizeof(n->sb[dev].label));
		memcpy(n->sb[dev].label, label, strnlen(label, FUSION_LABEL_SIZE));
	}
}

int fus_new_uuid_disk(struct new_uuid *n, int dev, const struct fusion_disk_ident *ident)
{
	struct fusion_disk_ident *has = &n->sb[dev].self;

	if (n->resumed && *has->serial && *ident->serial &&
	    memcmp(has->serial, ident->serial, sizeof(has->serial)))
		return fus_fail(FC_MEMBER, path_of(n, dev), "is another disk than the one with "
				"which the change of uuid was begun, which has the serial number "
				"%.*s; name that one", FUSION_IDENT_SIZE, has->serial);
	*has = *ident;
	n->sb[!dev].peer = *ident;
	return 0;
}
