/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl top: a set at work.
 *
 * top.c		verb top: which set, and a single look at it
 * top-live.c		the terminal, by ncurses
 * top-json.c		a look as JSON
 * top-look.c		asks the kernel: only counters and memory, so that no disk is woken
 * top-draw.c		a look as a screenful
 * top-log.c		its row about the landing log
 * top-heat.c		its lower part: heat, and the hottest ranges
 * top-names.c		which file has most of a range
 * top-files.c		reads all files for that
 * top-screen.c		the characters of a screenful
 * top-rates.c		rates of two samples, and the share of hits over longer times
 *
 * What draws, the names and the rates are pure: they need nothing else of fusionctl but names of
 * members, sizes and the verdicts of explain.
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <wchar.h>

#include "explain.h"
#include "log-stats.h"
#include "map.h"
#include "open-set.h"

enum top_direction { TOP_READ, TOP_WRITE };

/* -- counters and rates ----------------------------------------------------------- */

/* The block layer's counters of a member, or of the partition that is one. */
struct top_disk {
	bool known;		/* false once the device is gone */
	uint64_t devno;		/* whose counters these are */
	uint64_t ios[2], sectors[2], ms[2];	/* by enum top_direction */
	uint64_t in_flight, busy_ms, queue_ms;
};

/* Counters of extents. */
enum top_move {
	TOP_PROMOTED,
	TOP_DEMOTED,
	TOP_DEMOTED_FREE,	/* of these, without a copy */
	TOP_CANCELLED,
	TOP_EVACUATED,
	TOP_SHADOWED,
	NR_TOP_MOVES
};

struct top_sample {
	double at;		/* seconds */
	struct top_disk disk[2];
	uint64_t hits[2][2];	/* I/Os of the set, by direction and member */
	uint64_t moves[NR_TOP_MOVES];
	struct log_stats log;	/* of the landing log, */
	uint64_t drained;	/* and blocks of it that were copied to the slow member */
};

struct top_rate {
	bool known;
	double ios[2], bytes[2];	/* in a second */
	double ms[2];		/* mean latency, or -1: there was no I/O */
	double busy;		/* share of the time, 0 to 1 */
	double queue;		/* mean I/Os in flight */
	uint64_t in_flight;	/* now */
};

struct top_rates {
	double seconds;
	struct top_rate disk[2];
	double moves[NR_TOP_MOVES];	/* extents in a second */
	double swaps;		/* at most: the kernel does not count them apart */
	double landed, drained;	/* of the landing log: blocks in a second, into it and out of it, */
	double waited;		/* and writes that begin to wait for room in it */
};

/* The content of a "stat" of sysfs. Return: whether it is one. */
bool top_parse_disk(const char *text, struct top_disk *d);
/* What the answer to the message "stats" has, but not the status line. */
void top_parse_stats(const char *answer, struct top_sample *s);
void top_get_rates(const struct top_sample *was, const struct top_sample *is, struct top_rates *r);

#define TOP_MARKS	1024	/* a second apart: more than 15 minutes */
#define TOP_PAST	160	/* looks */
#define TOP_NO_IO	255

struct top_history {
	struct {
		double at;
		uint64_t hits[2][2];
	} mark[TOP_MARKS];	/* a ring */
	unsigned int first, nr;
	unsigned char past[2][TOP_PAST];	/* percent of hits, or TOP_NO_IO; newest last */
	unsigned int nr_past;
};

/* I/Os in the last seconds. */
struct top_hits {
	double seconds;		/* as many as are known, if those are fewer than asked for */
	uint64_t fast, all;
};

/* It forgets all from before a counter that went back: the set was opened again. */
void top_remember(struct top_history *h, const struct top_sample *s);
void top_get_hits(const struct top_history *h, enum top_direction dir, double seconds,
		  struct top_hits *hits);

#define NR_TOP_WINDOWS	3
extern const double top_window[NR_TOP_WINDOWS];	/* in seconds */

/* -- a look at a set -------------------------------------------------------------- */

enum top_sort { TOP_BY_MEAN, TOP_BY_MAX, TOP_BY_PLACE, NR_TOP_SORTS };

#define TOP_MOST_RANGES	128

/* The files on the ranges of the map: the cells of a heat map. */
struct top_names {
	uint64_t extents;	/* of the set */
	unsigned int nr;
	struct top_named {
		uint64_t first;	/* extent */
		uint64_t files;	/* with anything in the range */
		char *path;	/* of the one with most of it, or NULL: there is none */
		/* while they are read: its number and bytes, and those of the last one */
		uint64_t best, most, file, bytes;
	} *range;
	uint64_t file;		/* the number of the one that is being read */
	const char *path;
	uint64_t unread;	/* files and directories that cannot be read */
};

struct top_look {
	const char *name;
	const char *health;	/* in a word */
	char device[2][160];
	struct fusion_status st;
	bool suspended, replacing;
	struct top_sample sample;
	struct top_rates rates;
	struct top_history history;
	bool has_policy;
	struct explain_policy policy;
	bool refused;		/* the kernel does not answer: it is not asked again */
	unsigned int heat_cells;	/* to ask for at most; 0: as many as there can be */
	struct heat_map heat;	/* no cells: not known */
	/* When it was asked for these, for which it goes through all extents, and for how long. */
	struct top_asked {
		double at, took;
	} asked_policy, asked_heat;
	bool naming;		/* show files, or why there are none, in place of sectors */
	char no_names[160];	/* why there are none or not all, or "" */
	struct top_names names;
};

/* What keeps the mover from moving now: bits of enum explain_wait. */
unsigned int top_waits(const struct top_look *look);
/* The cells of the map that come first; how many. */
unsigned int top_hottest(const struct heat_map *map, enum top_sort sort, unsigned int most,
			 const struct cell *found[TOP_MOST_RANGES]);

/* -- the files on the hottest ranges ---------------------------------------------- */

/* Prepare names for the cells of @map. Return: 0 or -ENOMEM. */
int top_names_begin(struct top_names *n, const struct heat_map *map);
/* What comes next is of this file; @path has to last as long. */
void top_names_file(struct top_names *n, const char *path);
/* So many bytes of it lie on this extent. Return: 0 or -ENOMEM. */
int top_names_extent(struct top_names *n, uint64_t extent, uint64_t bytes);
/* Return: the file on a cell, which may be of a later map, or NULL. */
const struct top_named *top_names_find(const struct top_names *n, const struct heat_map *map,
				       const struct cell *c);
/* Through a pipe. Return: 0 or -errno; then there are none. */
int top_names_write(const struct top_names *n, FILE *f);
int top_names_parse(const char *text, size_t size, struct top_names *n);
void top_names_free(struct top_names *n);

/* Read the files on a set, which may take minutes; @names is to be freed, also if this fails. */
int top_files_read(const char *set, const struct heat_map *map, struct top_names *names);

/* A child that does it. */
struct top_reader {
	pid_t pid;		/* or 0: there is none */
	pid_t dying;		/* one that was ended, and may hang in a disk */
	int fd;			/* readable if there is something to take */
	char *text;
	size_t used, room;
};

/* Begin, in place of one that has begun. */
int top_reader_begin(struct top_reader *r, const char *set, const struct heat_map *map);
/*
 * Take what it has sent. Return: whether it has ended; then @names are the new ones, and @why says
 * why there are none, or what is missing.
 */
bool top_reader_take(struct top_reader *r, struct top_names *names, char *why, size_t size);
void top_reader_end(struct top_reader *r);

/* -- a screenful ------------------------------------------------------------------ */

enum top_style {
	TOP_PLAIN, TOP_HEAD, TOP_DIM, TOP_BAD, TOP_FAST, TOP_SLOW, TOP_BOTH, NR_TOP_STYLES
};

#define TOP_LABEL	8	/* columns of what a row is about */

struct top_screen {
	unsigned int rows, cols;
	bool utf8;
	struct top_cell {
		wchar_t c;
		unsigned char style;
	} *cell;
};

/* All spaces. Return: false if memory is short. */
bool top_screen_init(struct top_screen *s, unsigned int rows, unsigned int cols, bool utf8);
void top_screen_free(struct top_screen *s);
/* Text as far as it fits; what is not ASCII becomes '?'. Return: the column behind it. */
unsigned int top_put(struct top_screen *s, unsigned int row, unsigned int col,
		     enum top_style style, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same, so that it ends before column @end. */
void top_put_right(struct top_screen *s, unsigned int row, unsigned int end, enum top_style style,
		   const char *text);
/* A block of 0 to 8 eighths, or a digit. */
void top_put_block(struct top_screen *s, unsigned int row, unsigned int col, enum top_style style,
		   unsigned int eighths);
/* A bar of so many columns, of which a part is full. */
void top_put_bar(struct top_screen *s, unsigned int row, unsigned int col, enum top_style style,
		 unsigned int width, double part);
/* A row without the spaces at its end, in @buf, as UTF-8. */
char *top_row(const struct top_screen *s, unsigned int row, char *buf, size_t size);

/* How a look is shown. */
struct top_view {
	bool live;		/* with keys */
	bool paused, help;
	enum top_sort sort;
	double interval;	/* seconds */
	const char *clock;	/* or NULL */
};

void top_draw(struct top_screen *s, const struct top_look *look, const struct top_view *view);
/* top-log.c: a row, if the set has a landing log. Return: the row behind it. */
unsigned int top_draw_log(struct top_screen *s, const struct top_look *look, unsigned int row);
/* top-heat.c: from this row on, up to that one. */
void top_draw_heat(struct top_screen *s, const struct top_look *look, const struct top_view *view,
		   unsigned int row, unsigned int end);

/* -- asking and showing ----------------------------------------------------------- */

/*
 * Look once more at the set. Fails if it is not open any more, or if another set has its name; the
 * first time sets @uuid, which has to be "".
 */
int top_look(struct top_look *look, const char *name, char uuid[UUID_TEXT]);
/* Seconds, on a clock that only goes forward. */
double top_now(void);
void top_look_end(struct top_look *look);
/* The open set that comes after this one, or the first if @name is NULL, in @next. */
int top_next_set(const char *name, char *next, size_t size);

/* Ends at a key, a signal or an error. */
int top_live(const char *name);
struct json_object *top_json(const struct top_look *look, const char *uuid);

#endif
