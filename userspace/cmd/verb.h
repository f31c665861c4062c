/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs and options: verbs.c has the tables, main.c finds the verb. */
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
	OPT_HELP,
	OPT_NR
};

#define OPT_BIT(x)	(1ull << OPT_##x)

#define MAX_MANY	32

/* What was given to a verb: NULL for an option that was not, "" for a flag that was. */
struct args {
	const char *opt[OPT_NR];
	/* those that may be given more than once, in their order; their opt[] has the last */
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

/* What a verb works on; an open one is its first word, by any name or device, if it has any. */
enum set_kind { NO_SET, OPEN_SET, CLOSED_SET, ANY_SET };

struct verb {
	const char *name;
	const char *words;	/* synopsis */
	const char *summary;
	const char *example;
	int (*run)(const struct args *a);
	uint64_t opts;		/* OPT_BIT() of each */
	int min, max;		/* words */
	bool root;
	enum set_kind set;
};

extern const struct verb verbs[];
extern const size_t nr_verbs;
/* --help is one that every verb takes. */
bool takes_option(const struct verb *v, int option);

int cmd_create(const struct args *a);
int cmd_format(const struct args *a);
/* The argument of --extent-size, or NULL for the default, in sectors. Exit code. */
int parse_extent_size(const char *text, uint32_t *sectors);
int cmd_probe(const struct args *a);
int cmd_assemble(const struct args *a);
int cmd_open(const struct args *a);
int cmd_close(const struct args *a);
int cmd_list(const struct args *a);
int cmd_status(const struct args *a);
int cmd_set(const struct args *a);
int cmd_promote(const struct args *a);
int cmd_demote(const struct args *a);
int cmd_checkpoint(const struct args *a);
int cmd_map(const struct args *a);
int cmd_whatif(const struct args *a);
int cmd_check(const struct args *a);
int cmd_dump(const struct args *a);
int cmd_restore(const struct args *a);
int cmd_repair(const struct args *a);
int cmd_salvage(const struct args *a);
int cmd_wipe(const struct args *a);
int cmd_simulate(const struct args *a);
int cmd_monitor(const struct args *a);
int cmd_doctor(const struct args *a);
int cmd_complete(const struct args *a);
int cmd_version(const struct args *a);

/* Is this a key of a setting that changes something in a simulation? */
bool simulates_setting(const char *key);

#endif
