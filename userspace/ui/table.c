// SPDX-License-Identifier: GPL-2.0-only
/* Tables of text. */
#include <stdbool.h>
#include <libsmartcols/libsmartcols.h>

#include "table.h"

struct libscols_table *table_new(const char *const headings[])
{
	struct libscols_table *tb = scols_new_table();

	for (; tb && *headings; headings++) {
		bool right = **headings == '>';

		scols_table_new_column(tb, *headings + right, 0, right ? SCOLS_FL_RIGHT : 0);
	}
	return tb;
}

void table_row(struct libscols_table *tb, const char *const cells[])
{
	struct libscols_line *line = tb ? scols_table_new_line(tb, NULL) : NULL;

	for (size_t i = 0; line && i < scols_table_get_ncols(tb); i++)
		scols_line_set_data(line, i, cells[i]);
}

void table_print(struct libscols_table *tb)
{
	if (tb)
		scols_print_table(tb);
	scols_unref_table(tb);
}
