// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs and options. The two tables here are all there is to know of them: the
 * parser, the help and the completion are made from them.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fusionctl.h"
#include "dm-fusion-codec.h"

static const struct {
	const char *name;
	const char *arg;	/* NULL if it takes none, "[X]" if it may take one */
	const char *help;
} options[OPT_NR] = {
	[OPT_FAST]	  = { "fast", "DEV", "the fast member (SSD)" },
	[OPT_SLOW]	  = { "slow", "DEV", "the slow member (HDD)" },
	[OPT_FAST_SIZE]	  = { "fast", "SIZE", "size of the fast member" },
	[OPT_SLOW_SIZE]	  = { "slow", "SIZE", "size of the slow member" },
	[OPT_EXTENT_SIZE] = { "extent-size", "SIZE", "unit of tiering, 64K to 16M (1M)" },
	[OPT_YES]	  = { "yes", NULL, "don't ask" },
	[OPT_FORCE]	  = { "force", NULL, "overwrite what is recognised on the devices" },
	[OPT_DRY_RUN]	  = { "dry-run", NULL, "check and show, change nothing" },
	[OPT_JSON]	  = { "json", NULL, "for programs" },
	[OPT_WATCH]	  = { "watch", "[SECONDS]", "repeat (2), with rates" },
	[OPT_SVG]	  = { "svg", "FILE", "draw to a file, - for stdout" },
	[OPT_WIDTH]	  = { "width", "N", "cells in a row" },
	[OPT_COLOR]	  = { "color", "WHEN", "auto, always or never" },
	[OPT_VERBOSE]	  = { "verbose", NULL, "say everything; -v" },
	[OPT_OUTPUT]	  = { "output", "FILE", "write to a new file; -o" },
	[OPT_STALE]	  = { "stale", NULL, "also what older versions of lost extents there are" },
	[OPT_ZERO]	  = { "zero", NULL, "what is unknown reads as zeros, not as an error" },
	[OPT_FILES]	  = { "files", "PATH", "list the files hit: of ext4, or of a mount" },
	[OPT_LOAD]	  = { "load", "LOAD", "zipf:1.0, zoned:80/4, uniform, loop:1.2 or scan; "
			      "again for more at once" },
	[OPT_TRACE]	  = { "trace", "FILE", "a load that fio or blktrace recorded" },
	[OPT_QD]	  = { "qd", "N", "so many I/Os of the trace at a time, not at its times" },
	[OPT_DURATION]	  = { "duration", "TIME", "how long to simulate (6h)" },
	[OPT_FILL]	  = { "fill", "PERCENT", "of the set in use (90)" },
	[OPT_SEED]	  = { "seed", "N", "other random numbers (1)" },
	[OPT_SET]	  = { "set", "KEY=VALUE", "tune the policy, as fusionctl set does" },
	[OPT_DISK]	  = { "disk", "KEY=VALUE", "tune the models of the members" },
	[OPT_PROFILE]	  = { "profile", "NAME", "desktop, database or archive" },
	[OPT_UDEV]	  = { "udev", NULL, "KEY=VALUE lines for a udev rule" },
	[OPT_INCREMENTAL] = { "incremental", NULL, "this member has come: open its set if the "
			      "other one is here" },
	[OPT_SCAN]	  = { "scan", NULL, "open every set of which both members are here" },
	[OPT_WAITING]	  = { "waiting", NULL, "only tell which sets lack a member" },
	[OPT_HELP]	  = { "help", NULL, "show this" },
};

#define O(x)	(1ull << OPT_##x)

/* Those that may be given more than once. */
#define MANY	(O(LOAD) | O(SET) | O(DISK))

static const struct verb {
	const char *name;
	const char *words;	/* synopsis */
	const char *summary;
	const char *example;
	int (*run)(const struct args *a);
	uint64_t opts;
	int min, max;
	bool root;
} verbs[] = {
	{ "create", "NAME DEV DEV | NAME --fast DEV --slow DEV",
	  "make a set of two devices and open it",
	  "fusionctl create data --fast /dev/nvme0n1p3 --slow /dev/sda", cmd_create,
	  O(FAST) | O(SLOW) | O(EXTENT_SIZE) | O(YES) | O(FORCE) | O(DRY_RUN), 1, 3, true },
	{ "format", "NAME DEV DEV | [NAME] --fast DEV --slow DEV",
	  "make a set without opening it",
	  "fusionctl format data /dev/nvme0n1p3 /dev/sda --extent-size 512K", cmd_format,
	  O(FAST) | O(SLOW) | O(EXTENT_SIZE) | O(YES) | O(FORCE) | O(DRY_RUN), 0, 3, true },
	{ "open", "NAME [DEV [DEV]]", "open a set by name or uuid, or by its members",
	  "fusionctl open data", cmd_open, 0, 1, 3, true },
	{ "close", "NAME", "close a set", "fusionctl close data", cmd_close, 0, 1, 1, true },
	{ "assemble", "--incremental DEV | --scan | --waiting", "open sets whose members are here",
	  "fusionctl assemble --scan", cmd_assemble,
	  O(INCREMENTAL) | O(SCAN) | O(WAITING) | O(JSON), 0, 1, true },
	{ "probe", "DEV", "which member of which set a device is", "fusionctl probe /dev/sda",
	  cmd_probe, O(UDEV) | O(JSON), 1, 1, false },
	{ "list", "", "open sets, and members found",
	  "fusionctl list", cmd_list, O(JSON), 0, 0, true },
	{ "status", "[NAME]", "how full, how busy, how well it works",
	  "fusionctl status data --watch 5", cmd_status, O(JSON) | O(WATCH), 0, 1, true },
	{ "set", "NAME KEY=VALUE...", "tune an open set",
	  "fusionctl set data reserve=4G half_life=30m", cmd_set, 0, 2, 64, true },
	{ "tune", "NAME --profile PROFILE", "tune an open set for a use",
	  "fusionctl tune data --profile desktop", cmd_tune, O(PROFILE) | O(DRY_RUN) | O(JSON),
	  1, 1, true },
	{ "promote", "NAME FIRST[-LAST]", "move extents to the fast member",
	  "fusionctl promote data 0-1023", cmd_promote, 0, 2, 2, true },
	{ "demote", "NAME FIRST[-LAST]", "move extents to the slow member",
	  "fusionctl demote data 0-1023", cmd_demote, 0, 2, 2, true },
	{ "map", "NAME", "draw what is where and how hot",
	  "fusionctl map data --svg data.svg", cmd_map,
	  O(JSON) | O(SVG) | O(WIDTH) | O(COLOR), 1, 1, true },
	{ "whatif", "NAME", "what a fast member of another size would be good for",
	  "fusionctl whatif data --svg data.svg", cmd_whatif,
	  O(JSON) | O(SVG) | O(COLOR), 1, 1, true },
	{ "check", "NAME | DEV [DEV]", "test the metadata of a closed set, read-only",
	  "fusionctl check data -v", cmd_check, O(JSON) | O(VERBOSE), 1, 2, false },
	{ "dump", "NAME | FAST [SLOW]", "save the metadata of a closed set as JSON",
	  "fusionctl dump data -o data.json", cmd_dump, O(OUTPUT), 1, 2, false },
	{ "restore", "FILE FAST SLOW", "write saved metadata back to the members",
	  "fusionctl restore data.json /dev/nvme0n1p3 /dev/sda", cmd_restore,
	  O(YES) | O(FORCE), 3, 3, false },
	{ "repair", "NAME | DEV [DEV]", "put right what is wrong with a closed set",
	  "fusionctl repair data --dry-run", cmd_repair,
	  O(YES) | O(FORCE) | O(DRY_RUN) | O(JSON), 1, 2, false },
	{ "salvage", "MEMBER [NAME]", "list, or open read-only, what one member alone still has",
	  "fusionctl salvage /dev/sda rescued --files /dev/mapper/rescued", cmd_salvage,
	  O(JSON) | O(VERBOSE) | O(STALE) | O(ZERO) | O(FILES), 1, 2, false },
	{ "simulate", "--fast SIZE --slow SIZE --load LOAD | --trace FILE [KEY=VALUE]...",
	  "what the policy would make of a load, without any device",
	  "fusionctl simulate --fast 1T --slow 16T --load zipf:1.0,read=70,qd=16 --svg zipf.svg",
	  cmd_simulate,
	  O(FAST_SIZE) | O(SLOW_SIZE) | O(EXTENT_SIZE) | O(LOAD) | O(TRACE) | O(QD) |
	  O(DURATION) | O(FILL) | O(SEED) | O(SET) | O(DISK) | O(JSON) | O(SVG), 0, 32, false },
	{ "version", "", "versions of tool, format and module", "fusionctl version", cmd_version,
	  O(JSON), 0, 0, false },
};

#define NR_VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static void overview(void)
{
	puts("usage: fusionctl VERB [ARGUMENT]...\n\n"
	     "Fuse a fast and a slow disk into one device of the summed size.\n");
	for (size_t i = 0; i < NR_VERBS; i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
	puts("\nfusionctl help VERB tells more; exit codes are in fusionctl(8).");
}

static void verb_help(const struct verb *v)
{
	char left[32];

	printf("usage: fusionctl %s %s%s[OPTION]...\n\n%s\n\n", v->name, v->words,
	       *v->words ? " " : "", v->summary);
	for (int i = 0; i < OPT_NR; i++) {
		if (!((v->opts | O(HELP)) >> i & 1))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].arg ? " " : "",
			 options[i].arg ? options[i].arg : "");
		printf("  %-20s %s\n", left, options[i].help);
	}
	printf("\nexample: %s\n", v->example);
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < NR_VERBS; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	fail(FC_USAGE, name, "no such verb; see fusionctl help");
	return NULL;
}

/* "--watch 5" as well as "--watch=5": getopt knows only the latter. */
static const char *optional_value(int argc, char **argv)
{
	uint64_t n;

	if (optarg)
		return optarg;
	if (optind < argc && parse_number(argv[optind], UINT64_MAX, &n))
		return argv[optind++];
	return "";
}

static int bad_option(const struct verb *v, int c, const char *word)
{
	char letter[3] = { '-', optopt };

	if (c == ':')
		return fail(FC_USAGE, word, "needs a value; see fusionctl help %s", v->name);
	if (optopt > 0 && optopt <= OPT_NR)
		return fail(FC_USAGE, word, "takes no value; see fusionctl help %s", v->name);
	return fail(FC_USAGE, optopt ? letter : word, "no such option of %s; see fusionctl help %s",
		    v->name, v->name);
}

static int parse(const struct verb *v, int argc, char **argv, struct args *a)
{
	struct option known[OPT_NR + 1] = { 0 };
	const char *letters = v->opts & O(VERBOSE) ? ":v" : v->opts & O(OUTPUT) ? ":o:" : ":";
	int c, nr = 0;

	for (int i = 0; i < OPT_NR; i++) {
		if (!((v->opts | O(HELP)) >> i & 1))
			continue;
		known[nr].name = options[i].name;
		known[nr].has_arg = !options[i].arg ? no_argument : *options[i].arg == '[' ?
				    optional_argument : required_argument;
		known[nr++].val = i + 1;	/* optopt is 0 for an unknown one */
	}
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (c == ':' || c == '?')
			return bad_option(v, c, argv[optind - 1]);
		c = c == 'v' ? OPT_VERBOSE : c == 'o' ? OPT_OUTPUT : c - 1;
		a->opt[c] = !options[c].arg ? "" : *options[c].arg == '[' ?
			    optional_value(argc, argv) : optarg;
		if (!(MANY >> c & 1))
			continue;
		if (a->nr_many == MAX_MANY)
			return fail(FC_USAGE, optarg, "more than %d options; give fewer", MAX_MANY);
		a->many[a->nr_many].id = c;
		a->many[a->nr_many++].value = optarg;
	}
	a->n = argc - optind;
	a->word = argv + optind;
	if (a->opt[OPT_HELP])
		return 0;
	if (a->n < v->min)
		return fail(FC_USAGE, v->name, "needs more arguments; see fusionctl help %s",
			    v->name);
	if (a->n > v->max)
		return fail(FC_USAGE, a->word[v->max], "is one argument too many for %s; see "
			    "fusionctl help %s", v->name, v->name);
	return 0;
}

int cmd_version(const struct args *a)
{
	unsigned int target[3];
	char text[64] = "";
	struct json_object *o;
	bool found;
	int rc;

	rc = dm_target_version(false, target, &found);
	if (rc)
		return rc;
	if (found)
		snprintf(text, sizeof(text), "%u.%u.%u", target[0], target[1], target[2]);
	if (a->opt[OPT_JSON]) {
		o = json_base();
		json_add_str(o, "fusionctl", FUSIONCTL_VERSION);
		json_add_u64(o, "format", FUSION_VERSION);
		json_add_str(o, "target", found ? text : NULL);
		print_json(o, false);
	} else {
		printf("fusionctl %s, on-disk format %d, kernel target %s\n", FUSIONCTL_VERSION,
		       FUSION_VERSION, found ? text : "not loaded");
	}
	return 0;
}

static int help(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 2) {
		overview();
		return 0;
	}
	v = find_verb(argv[1]);
	if (!v)
		return FC_USAGE;
	verb_help(v);
	return 0;
}

int main(int argc, char **argv)
{
	const struct verb *v;
	struct args a = { 0 };
	int rc;

	/* only what text looks like: numbers are read and written the same everywhere */
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		return fail(FC_USAGE, "usage", "fusionctl VERB [ARGUMENT]...; see fusionctl help");
	argc--;
	argv++;
	if (!strcmp(*argv, "help") || !strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
		return help(argc, argv);
	v = find_verb(!strcmp(*argv, "--version") ? "version" : *argv);
	if (!v)
		return FC_USAGE;
	rc = parse(v, argc, argv, &a);
	if (rc)
		return rc;
	if (a.opt[OPT_HELP]) {
		verb_help(v);
		return 0;
	}
	if (v->root && geteuid())
		return fail(FC_FAILED, v->name, "needs root; use sudo");
	dm_setup();
	rc = v->run(&a);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		return fail(FC_FAILED, "output", "can't write it; is the disk full?");
	return rc;
}
