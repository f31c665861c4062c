/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of text, by libsmartcols: table.c. */
#ifndef TABLE_H
#define TABLE_H

/* A table of libsmartcols that goes to stdout: "NAME" flush left, ">SIZE" flush right. */
struct libscols_table;
struct libscols_table *table_new(const char *const headings[]);
void table_row(struct libscols_table *tb, const char *const cells[]);
void table_print(struct libscols_table *tb);	/* and free it */

#endif
