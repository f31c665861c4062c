// SPDX-License-Identifier: GPL-2.0-only
/* Settings and the name of a closed set: those of its superblocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings-closed.h"
#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "record.h"
#include "role.h"
#include "setting.h"
#include "super.h"

struct closed {
	struct meta meta;
	int lock;
};

static void fill_in(const struct fusion_sb *sb, struct settings *s)
{
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", sb->label);
	fus_uuid_text(s->uuid, sb->set_uuid);
	s->scale.nr_fast_slots = sb->nr_fast_slots;
	s->scale.extent_sectors = sb->extent_sectors;
	for (int i = 0; i < FUSION_SETTINGS; i++) {
		s->kept[i] = fusion_sb_setting(sb, i, &s->kept_value[i]);
		s->value[i] = s->kept[i] ? s->kept_value[i] : fusion_settings[i].def;
		s->source[i] = s->kept[i] ? SOURCE_SET : SOURCE_DEFAULT;
	}
}

/* Refuse a set that the kernel, or repair, has to fix first. */
static int check_clean(const struct meta *meta, const char *name)
{
	const struct fusion_sb *sb[2] = { fus_meta_sb(meta, FAST), fus_meta_sb(meta, SLOW) };
	char text[FUSION_UNKNOWN_TEXT];
	const char *why;
	int dev;

	for (dev = 0; dev < 2; dev++)
		if (!meta->m[dev].o.path)
			return fus_fail(FC_MEMBER, name, "its %s member is missing, and settings "
					"and name are kept on both; connect it, or see what the other one "
					"has: fusionctl salvage %s", fus_role_name[dev],
					meta->m[!dev].o.path);
	for (dev = 0; dev < 2; dev++)
		if (!sb[dev])
			return fus_fail(FC_MEMBER, name, "its %s member is damaged, and settings "
					"and name are kept on both; see fusionctl check %s",
					fus_role_name[dev], name);
	if (fusion_sb_match(sb[FAST], sb[SLOW], &why))
		return fus_fail(FC_MEMBER, name, "%s and %s do not belong together: %s; see "
				"fusionctl check %s", meta->m[FAST].o.path, meta->m[SLOW].o.path,
				why, name);
	if (!(sb[FAST]->flags & sb[SLOW]->flags & FUSION_SB_CLEAN))
		return fus_fail(FC_REFUSED, name, "was not closed cleanly; run fusionctl open %s "
				"first", name);
	/* its generations rise here: afterwards it would be taken for the current member */
	dev = fus_meta_past_by_supers(meta);
	if (dev >= 0)
		return fus_fail(FC_MEMBER, meta->m[dev].o.path, "is from the past, or lost writes; "
				"see fusionctl check %s", name);
	for (dev = 0; dev < 2; dev++) {
		if (*fusion_sb_unknown_landing(sb[dev], text))
			return fus_fail(FC_REFUSED, name, "%s, and can only be opened read-only; "
					"use a newer fusionctl and dm-fusion", text);
		if (!fusion_sb_lasts(sb[dev]))
			return fus_fail(FC_REFUSED, name, "can only be opened read-only; see "
					"fusionctl check %s", name);
	}
	return 0;
}

int fus_settings_closed(const char *name, bool writable, struct settings *s, struct closed **closed)
{
	struct closed *c = calloc(1, sizeof(*c));
	char *word[] = { (char *)name };
	int rc;

	if (!c)
		return fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	c->lock = -1;
	rc = fus_meta_open_supers(1, word, writable, &c->meta);
	if (rc) {
		free(c);
		return rc;
	}
	rc = fus_meta_refuse_unknown(&c->meta);
	if (!rc && writable)
		rc = check_clean(&c->meta, name);
	else if (!rc && !c->meta.known)
		rc = fus_fail(FC_DAMAGED, name, "no superblock of it is whole; see fusionctl check "
			      "%s", name);
	if (!rc && writable)
		rc = fus_meta_hold(&c->meta, &c->lock);
	if (rc) {
		fus_closed_end(c);
		return rc;
	}
	fill_in(&c->meta.geo[FAST], s);
	*closed = c;
	return 0;
}

static int put(struct closed *closed, const struct fusion_sb *sb)
{
	int rc = fus_meta_write_kept(&closed->meta, sb);

	if (rc)
		return rc;
	/* udev notices the writes when the members are closed */
	fus_meta_keep_closed(&closed->meta);
	fus_meta_backup(&closed->meta);
	return 0;
}

int fus_settings_write(struct closed *closed, struct settings *s, const struct setting *to,
		       unsigned int nr)
{
	struct fusion_sb *sb = &closed->meta.geo[FAST];
	int rc;

	for (unsigned int i = 0; i < nr; i++)
		if (to[i].which == FUSION_SET_SHADOW_AGE && to[i].value && fus_has_landing(sb))
			return fus_fail(FC_REFUSED, s->name, "has a landing log, and such a set "
					"has no shadow_age; run fusionctl landing %s 0 first",
					s->name);
	for (; nr--; to++)
		fusion_sb_keep(sb, to->which, !to->is_default, to->value);
	rc = put(closed, sb);
	if (!rc)
		fill_in(sb, s);
	return rc;
}

int fus_closed_rename(struct closed *closed, const char *name)
{
	struct fusion_sb *sb = &closed->meta.geo[FAST];

	memset(sb->label, 0, sizeof(sb->label));
	memcpy(sb->label, name, strnlen(name, FUSION_LABEL_SIZE));
	return put(closed, sb);
}

void fus_closed_end(struct closed *closed)
{
	fus_meta_free(&closed->meta);
	fus_run_unlock(&closed->lock);
	free(closed);
}
