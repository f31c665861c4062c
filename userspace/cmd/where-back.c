// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files on a part of a set: all files of the mounted file systems on it are looked at. The
 * indexes that XFS and btrfs have for that are not used, as ext4 has none.
 */
#include "where.h"
#include "error.h"
#include "mounted.h"
#include "open-set.h"

struct search {
	struct where *w;
	const struct mounted *mounted;
	size_t nr;
	const struct volume *whole;	/* those that need no other mount */
};

static bool is_among(const struct volume *v, dev_t devno)
{
	while (v && v->fs.devno != devno)
		v = v->next;
	return v;
}

static int count_part(struct search *s, const struct mounted *m)
{
	const bool first = !is_among(s->w->volumes, m->devno);
	int rc = where_count(s->w, m->target, false);

	if (!rc && first)
		fus_warn(m->target, "not all of its file system is mounted, and only files that "
			 "are mounted are found; mount its top level to find all");
	return rc;
}

/* Mounts of whole file systems; or mounts of parts, if the whole is mounted nowhere. */
static int count_mounts(struct search *s, bool whole)
{
	int rc, worst = 0;

	for (size_t i = 0; i < s->nr; i++) {
		const struct mounted *m = &s->mounted[i];

		if (m->whole != whole || is_among(whole ? s->w->volumes : s->whole, m->devno))
			continue;
		rc = whole ? where_count(s->w, m->target, false) : count_part(s, m);
		/* the others are of use all the same */
		worst = worst ? worst : rc;
	}
	return worst;
}

static int search(struct where *w, const char *name, dev_t set)
{
	struct search s = { .w = w };
	struct mounted *list;
	int rc, worst;

	worst = fus_mounted_on(set, &list, &s.nr);
	s.mounted = list;
	if (!worst && !s.nr)
		worst = fus_fail(FC_FAILED, name, "no file system on it is mounted; mount it and "
				 "ask again");
	if (!worst) {
		worst = count_mounts(&s, true);
		s.whole = w->volumes;
		rc = count_mounts(&s, false);
		worst = worst ? worst : rc;
	}
	fus_mounted_free(list, s.nr);
	return worst;
}

int where_files_on(struct where *w, const char *name, bool sectors, uint64_t first, uint64_t last)
{
	struct set set;
	uint64_t bytes, end;
	dev_t devno;
	int rc = fus_set_get(name, &set);

	if (rc)
		return rc;
	bytes = sectors ? 512 : (uint64_t)set.st.extent_sectors << 9;
	end = sectors ? set.m.sectors : set.st.extents;
	devno = set.m.devno;
	fus_set_put(&set);
	if (last >= end)
		return fus_fail(FC_USAGE, name, "has no %s %llu; the last one is %llu",
				sectors ? "sector" : "extent", (unsigned long long)last,
				(unsigned long long)end - 1);
	w->backwards = true;
	w->first = first * bytes;
	w->last = (last + 1) * bytes - 1;
	return search(w, name, devno);
}
