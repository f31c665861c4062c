/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs and options: verb-table.h and verbs.c have the tables, main.c finds the verb. */
#ifndef VERB_H
#define VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_id {
	OPT_FAST,
	OPT_SLOW,
	OPT_FAST_SIZE,
	OPT_SLOW_SIZE,
	OPT_EXTENT_SIZE,
	OPT_LANDING,
	OPT_YES,
	OPT_FORCE,
	OPT_DRY_RUN,
	OPT_JSON,
	OPT_WATCH,
	OPT_SVG,
	OPT_WIDTH,
	OPT_COLOR,
	OPT_VERBOSE,
	OPT_OUTPUT,
	OPT_STALE,
	OPT_ZERO,
	OPT_FILES,
	OPT_LOAD,
	OPT_TRACE,
	OPT_QD,
	OPT_DURATION,
	OPT_FILL,
	OPT_SEED,
	OPT_SET,
	OPT_DISK,
	OPT_PROFILE,
	OPT_NOW,
	OPT_UDEV,
	OPT_INCREMENTAL,
	OPT_SCAN,
	OPT_WAITING,
	OPT_ROOT,
	OPT_CHECK,
	OPT_FOLLOW,
	OPT_PROMETHEUS,
	OPT_USED_WITHIN,
	OPT_GPT_TYPE,
	OPT_MKFS,
	OPT_TAKE_OVER,
	OPT_BYTES,
	OPT_RESUME,
	OPT_ABORT,
	OPT_SIZE,
	OPT_LEAVE_UNMAPPED,
	OPT_GEOMETRY,
	OPT_DISCARD,
	OPT_SET_SIZE,
	OPT_MEMBER,
	OPT_MEMBER_SIZE,
	OPT_LABEL,
	OPT_NO_DUMP,
	OPT_AT_BOOT,
	OPT_PLANNED,
	OPT_WAIT,
	OPT_NO_WAIT,
	OPT_LOST,
	OPT_SECTOR,
	OPT_TREE,
	OPT_SORT,
	OPT_EXTENTS,
	OPT_SECTORS,
	OPT_ONCE,
	OPT_BY_FILE,
	OPT_QUICK,
	OPT_MAX_SIZE,
	OPT_WRITE,
	OPT_COMPARE,
	OPT_HTML,
	OPT_OVER,
	OPT_ANONYMOUS,
	OPT_PIN_FAST,
	OPT_PIN_SLOW,
	OPT_PIN_EXTENTS,
	OPT_LIST,
	OPT_REFRESH,
	OPT_HELP,
	OPT_NR
};

#define MAX_MANY	32

/* The arguments of a verb: NULL for an option that was not given, "" for a flag that was. */
struct args {
	const char *opt[OPT_NR];
	/* options that may be given more than once, in order; their opt[] has the last */
	struct {
		enum option_id id;
		const char *value;
	} many[MAX_MANY];
	unsigned int nr_many;
	int n;
	char **word;
};

struct option_info {
	const char *name;
	const char *arg;	/* NULL if it takes none, "[X]" if it may take one */
	const char *help;
};

extern const struct option_info options[OPT_NR];

/* The kind of set a verb works on. An open set is its first word, if any, by any name or device. */
enum set_kind {
	NO_SET, OPEN_SET, CLOSED_SET, ANY_SET,
	EITHER_SET,		/* the verb finds out itself whether it is open */
};

enum setting_kind { NO_SETTINGS, ALL_SETTINGS, SIMULATED_SETTINGS };

struct verb {
	const char *name;
	const char *words;	/* synopsis */
	const char *summary;
	const char *example;
	int (*run)(const struct args *a);
	bool opts[OPT_NR];
	int min, max;		/* words */
	bool root;
	bool fsck;		/* has the exit codes of fsck */
	bool salvaged;		/* its set may be one that salvage made */
	enum set_kind set;
	enum setting_kind settings;	/* to tell of in its help */
};

extern const struct verb verbs[];
extern const size_t nr_verbs;
/* --help is one that every verb takes. */
bool takes_option(const struct verb *v, int option);

typedef int verb_fn(const struct args *a);

/* cmd_create() and the others. */
#define VERB(verb, ...)	cmd_##verb
extern verb_fn
#include "verb-table.h"
cmd_nothing;

/* The argument of --extent-size in sectors, or 0 if that is NULL: new_set_extent(). Exit code. */
int parse_extent_size(const char *text, uint32_t *sectors);
/* Return: whether this is the key of a setting that affects a simulation. */
bool simulates_setting(const char *key);

#endif
