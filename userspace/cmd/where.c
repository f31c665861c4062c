// SPDX-License-Identifier: GPL-2.0-only
/* Verb where: on which member files lie, and how hot they are. */
#include "where.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "size.h"
#include "verb.h"

static int count_all(struct where *w, const struct args *a)
{
	int rc = 0, worst = 0;

	/* one that cannot be followed is no reason not to show the others */
	for (int i = 0; i < a->n; i++) {
		rc = where_count(w, a->word[i], a->opt[OPT_TREE]);
		worst = worst ? worst : rc;
	}
	return worst;
}

static int parse_extents(struct where *w, const struct args *a)
{
	w->backwards = true;
	if (a->n > 1)
		return fus_fail(FC_USAGE, a->word[1], "is one argument too many with --extents; "
				"give the name of one set");
	if (a->opt[OPT_TREE])
		return fus_fail(FC_USAGE, "--tree", "lists directories, and --extents files; give "
				"one of them");
	if (fus_parse_range(a->opt[OPT_EXTENTS], &w->first, &w->last))
		return 0;
	return fus_fail(FC_USAGE, a->opt[OPT_EXTENTS], "not a range of extents; give FIRST or "
			"FIRST-LAST");
}

int cmd_where(const struct args *a)
{
	struct where w = { 0 };
	int rc = 0, failed;

	/* before the long work */
	if (a->opt[OPT_SORT])
		rc = where_sort(&w, a->opt[OPT_SORT]);
	if (!rc && a->opt[OPT_EXTENTS])
		rc = parse_extents(&w, a);
	if (rc)
		return rc;
	fus_progress_begin("reading the files", &fus_progress_inodes, 0);
	failed = w.backwards ? where_files_on(&w, a->word[0]) : count_all(&w, a);
	fus_progress_end();
	if (a->opt[OPT_SORT])
		where_sort(&w, a->opt[OPT_SORT]);
	if (a->opt[OPT_JSON])
		where_json(&w);
	else if (w.nr)
		where_table(&w);
	rc = failed ? failed : w.unread ? FC_FAILED : 0;
	where_free(&w);
	return rc;
}
