// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks that a verb does not know: of another version, in transit, or with a landing log. */
#include <errno.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "super.h"

/* A landing log is all that keeps a verb from this superblock. */
static bool has_landing_log(const struct fusion_sb *sb)
{
	char text[FUSION_UNKNOWN_TEXT];
	struct fusion_sb without = *sb;

	without.incompat &= ~FUSION_INCOMPAT_LANDING;
	return sb->incompat & FUSION_INCOMPAT_LANDING && !*fusion_sb_unknown(&without, text);
}

static const char *unknown_text(const struct fusion_sb *sb, char *text)
{
	if (!has_landing_log(sb))
		return fusion_sb_unknown(sb, text);
	return strcpy(text, "has a landing log, which may have flushed data");
}

const char *fus_meta_copy_why(const struct meta_copy *c, char *text)
{
	return c->err == -EPROTONOSUPPORT ? unknown_text(&c->sb, text) : c->why;
}

const struct meta_copy *fus_meta_unknown_copy(const struct meta_member *m)
{
	for (int i = 0; i < 2; i++)
		if (m->copy[i].err == -EPROTONOSUPPORT)
			return &m->copy[i];
	return NULL;
}

bool fus_meta_is_unknown(const struct meta_member *m, char *text)
{
	const struct meta_copy *c = fus_meta_unknown_copy(m);

	if (c)
		unknown_text(&c->sb, text);
	return c;
}

bool fus_meta_in_transit(const struct meta_member *m)
{
	const struct meta_copy *c = fus_meta_unknown_copy(m);

	return c && fusion_sb_in_transit(&c->sb);
}

int fus_meta_refuse_unknown(const struct meta *meta)
{
	char text[FUSION_UNKNOWN_TEXT];
	const struct fusion_sb *sb;

	for (int dev = 0; dev < 2; dev++) {
		if (!fus_meta_is_unknown(&meta->m[dev], text))
			continue;
		sb = &fus_meta_unknown_copy(&meta->m[dev])->sb;
		if (has_landing_log(sb))
			return fus_fail(FC_REFUSED, meta->m[dev].o.path, "has a landing log; "
					"unmount it, run fusionctl drain %s while it is open, "
					"close it, and run fusionctl landing %s 0 first",
					sb->label, sb->label);
		return fus_fail(FC_REFUSED, meta->m[dev].o.path, "%s; %s", text,
				fus_unknown_remedy(sb));
	}
	return 0;
}
