// SPDX-License-Identifier: GPL-2.0-only
/* Verb where: on which member files lie, and how hot they are. */
#include "where.h"
#include "error.h"
#include "fusionctl.h"
#include "named.h"
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

/* Count the files that lie on a range of a set. */
static int count_back(struct where *w, const struct args *a)
{
	const bool sectors = a->opt[OPT_SECTORS];
	const char *text = a->opt[sectors ? OPT_SECTORS : OPT_EXTENTS];
	uint64_t first, last;
	char name[128];
	bool found;
	int rc;

	if (sectors ? !fus_parse_range_to(text, INT64_MAX >> 9, &first, &last) :
		      !fus_parse_range(text, &first, &last))
		return fus_fail(FC_USAGE, text, "not a range of %s; give FIRST or FIRST-LAST",
				sectors ? "sectors" : "extents");
	rc = fus_open_name(a->word[0], false, name, sizeof(name), &found);
	return rc ? rc : where_files_on(w, found ? name : a->word[0], sectors, first, last);
}

static int check_options(const struct args *a)
{
	const char *back = a->opt[OPT_EXTENTS] ? "--extents" : "--sectors";

	if (!a->opt[OPT_EXTENTS] && !a->opt[OPT_SECTORS])
		return 0;
	if (a->opt[OPT_EXTENTS] && a->opt[OPT_SECTORS])
		return fus_fail(FC_USAGE, "--sectors", "does not go with --extents; give one of "
				"them");
	if (a->opt[OPT_TREE])
		return fus_fail(FC_USAGE, "--tree", "does not go with %s, which lists files; give "
				"one of them", back);
	if (a->n > 1)
		return fus_fail(FC_USAGE, a->word[1], "unexpected argument with %s; give the "
				"name of one set", back);
	return 0;
}

int cmd_where(const struct args *a)
{
	struct where w = { 0 };
	int rc = check_options(a), failed;

	/* before the long work */
	if (!rc && a->opt[OPT_SORT])
		rc = where_sort(&w, a->opt[OPT_SORT]);
	if (rc)
		return rc;
	fus_progress_begin("reading the files", &fus_progress_inodes, 0);
	failed = a->opt[OPT_EXTENTS] || a->opt[OPT_SECTORS] ? count_back(&w, a) : count_all(&w, a);
	fus_progress_end();
	if (a->opt[OPT_SORT])
		where_sort(&w, a->opt[OPT_SORT]);
	if (a->opt[OPT_JSON] && (w.nr || !failed))
		where_json(&w);
	else if (w.nr)
		where_table(&w);
	rc = failed ? failed : w.unread ? FC_FAILED : 0;
	where_free(&w);
	return rc;
}
