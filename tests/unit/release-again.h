/* SPDX-License-Identifier: GPL-2.0-only */
/* The release of a closed set, also after one that was cut short by a power failure. */
#ifndef RELEASE_AGAIN_H
#define RELEASE_AGAIN_H

#include "release-judge.h"

/* -- what release does ------------------------------------------------------------------------ */

static inline int leave_set(const struct homing *h, struct transit *t)
{
	const struct fusion_sb *sb[2] = { fus_meta_sb(h->meta, FAST), fus_meta_sb(h->meta, SLOW) };
	int rc;

	for (int dev = 0; dev < 2; dev++)
		t->o[dev] = h->meta->m[dev].o;
	/* as with a set that is open: a cut before it is in transit leaves a set */
	rc = fus_release_clear(t);
	if (!rc)
		rc = fus_release_begin(t, sb);
	return rc ? rc : fus_release_finish(t);
}

/* @then: and not only homing */
static inline int release(const struct example *e, bool then)
{
	struct homing h = { .batch = e->batch };
	struct transit t = { 0 };
	struct fus_content c;
	struct meta meta;
	int rc;

	open_meta(e, &meta);
	h.meta = &meta;
	h.t = &t;
	REQUIRE(!fus_homing_load(&h), "%s", fus_last_error()->what);
	look_at_set(e, &h, &c);
	REQUIRE(fus_release_plan(&t, fus_meta_sb(&meta, FAST), &c));
	REQUIRE(!fus_homing_plan(&h) && !h.beyond);
	rc = fus_homing_run(&h, true);
	REQUIRE(rc || world.dead || !h.left);
	if (!rc && then)
		rc = leave_set(&h, &t);
	fus_homing_free(&h);
	forget(&meta);
	return rc;
}

/* -- after a failure --------------------------------------------------------------------------- */

/* Return: whether it has ended, as a plain disk, or with @back as a set. */
static inline bool go_on(const struct example *e, bool back, unsigned int writes)
{
	enum found found;
	enum transit_at at;
	struct transit t;
	int rc;

	power_on(~0U);
	found = find(e);
	if (found == FOUND_SET)
		require_set(e, false);
	if (found == FOUND_NOTHING)
		require_plain(e);
	if (found == FOUND_NOTHING || (found == FOUND_SET && back))
		return true;
	if (found == FOUND_SET) {
		power_on(writes);
		rc = release(e, true);
	} else {
		reread(e, &t, &at);
		if (at == TRANSIT_THERE)
			require_plain(e);
		else
			require_nothing(SLOW, false);
		power_on(writes);
		rc = at == TRANSIT_THERE ? fus_release_wipe(&t) :
		     back ? fus_release_undo(&t) : fus_release_finish(&t);
		put_transit(&t);
		back = back && at != TRANSIT_THERE;
	}
	if (world.dead)
		return false;
	REQUIRE(!rc, "%s %s", fus_last_error()->subject, fus_last_error()->what);
	if (back) {
		require_set(e, true);
	} else {
		require_plain(e);
		require_nothing(FAST, true);
		REQUIRE_EQ(find(e), FOUND_NOTHING);
	}
	return true;
}

#endif
