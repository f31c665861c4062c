/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb report: one page about a set.
 *
 * page.c		the verb; asks for all there is to tell, as the other verbs do
 * page-json.c	makes one document of it, with a verdict
 * page-private.c	leaves out of that what is private
 * page-html.c	the page of such a document: its head and its end
 * page-use.c		capacity, map, hits, moves, protection
 * page-drives.c	members and their drives
 * page-lists.c	advice and settings
 * page-svg.c		drawings
 * page-style.c	the style sheet
 *
 * The page needs the document only, which may be that of another machine.
 */
#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "health.h"

struct json_object;
struct top_history;

/* -- the document ----------------------------------------------------------------- */

/* A field by its path, such as "/status/fast"; NULL if it is null, or not there. */
struct json_object *page_at(struct json_object *o, const char *path);
/* 0 or NULL if there is none. */
uint64_t page_u64(struct json_object *o, const char *path);
double page_number(struct json_object *o, const char *path);
const char *page_text(struct json_object *o, const char *path);
bool page_is(struct json_object *o, const char *path);	/* true, and there */

/* What the parts of a document are made of; each may be NULL, and belongs to the document then. */
struct page_parts {
	const char *name;
	uint64_t time;		/* seconds since 1970 */
	struct json_object *version, *status, *top, *map, *members, *settings, *doctor;
	const struct top_history *history;
};

struct json_object *page_json(const struct page_parts *p);
/* Leave out serial numbers, uuids, and what identifies the machine. False: memory is short. */
bool page_anonymise(struct json_object *doc);
/* The worst of all findings. */
enum health page_level(struct json_object *doc);

/* -- the page --------------------------------------------------------------------- */

void page_html(struct json_object *doc, FILE *f);

void page_style(FILE *f);
void page_capacity(struct json_object *doc, FILE *f);
void page_map(struct json_object *doc, FILE *f);
void page_hits(struct json_object *doc, FILE *f);
void page_moves(struct json_object *doc, FILE *f);
void page_protection(struct json_object *doc, FILE *f);
void page_drives(struct json_object *doc, FILE *f);
void page_advice(struct json_object *doc, FILE *f);
void page_settings(struct json_object *doc, FILE *f);

/* "43.1", or "none" of nothing; "100.0" is all, and "0.0" nothing. Returns @buf. */
#define SHARE_TEXT	16
char *page_share(char buf[SHARE_TEXT], uint64_t part, uint64_t whole);
/* A row of a list of terms. */
void page_row(FILE *f, const char *term, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* -- drawings --------------------------------------------------------------------- */

/* Parts of a whole, from the left: style sheet classes, and amounts. */
struct page_part {
	const char *style;
	uint64_t amount;
};

/* @title is what it says to those who do not see it. */
void page_bar(FILE *f, const char *title, const struct page_part *part, unsigned int nr,
	      uint64_t whole);
/* Where the data lies along the set, and how hot it is. */
void page_strips(FILE *f, struct json_object *map);
/* Shares of hits, a column for each look; a look without any I/O has none. */
void page_columns(FILE *f, const char *title, struct json_object *history, const char *key);

#endif
