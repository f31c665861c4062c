// SPDX-License-Identifier: GPL-2.0-only
/* Finds the verb and its options, by the tables of verbs.c. */
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "error.h"
#include "fsck.h"
#include "fusionctl.h"
#include "message.h"
#include "named.h"
#include "nearest.h"
#include "output.h"
#include "show-progress.h"
#include "show-settings.h"
#include "verb.h"

/* Exit status of status --check, as Nagios expects it. */
#define PLUGIN_UNKNOWN	3

static bool plugin;

static bool may_repeat(enum option_id option)
{
	return option == OPT_LOAD || option == OPT_SET || option == OPT_DISK;
}

static void overview(void)
{
	puts("usage: fusionctl VERB [ARGUMENT]...\n\nFuse a fast and a slow disk into one device "
	     "of their combined size.\n");
	for (size_t i = 0; i < nr_verbs; i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].summary);
	puts("\nfusionctl help VERB shows more; fusionctl(8) lists the exit codes.");
}

static void verb_help(const struct verb *v)
{
	char left[32];

	printf("usage: fusionctl %s %s%s[OPTION]...\n\n%s\n\n", v->name, v->words,
	       *v->words ? " " : "", v->summary);
	for (int i = 0; i < OPT_NR; i++) {
		if (!takes_option(v, i))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].arg ? " " : "",
			 options[i].arg ? options[i].arg : "");
		printf("  %-20s %s\n", left, options[i].help);
	}
	if (v->settings)
		print_settings(v->settings == SIMULATED_SETTINGS ? simulates_setting : NULL);
	printf("\nexample: %s\n", v->example);
}

static const char *nth_verb(unsigned int i)
{
	return i < nr_verbs ? verbs[i].name : i == nr_verbs ? "help" : NULL;
}

static const struct verb *find_verb(const char *name)
{
	const char *meant;

	for (size_t i = 0; i < nr_verbs; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	meant = fus_nearest_word(name, nth_verb);
	if (meant)
		fus_fail(FC_USAGE, name, "no such verb; did you mean %s?", meant);
	else
		fus_fail(FC_USAGE, name, "no such verb; see fusionctl help");
	return NULL;
}

/* "--watch 0.5" as well as "--watch=0.5": getopt knows only the latter. */
static const char *optional_value(int argc, char **argv)
{
	if (optarg)
		return optarg;
	if (optind < argc && *argv[optind] &&
	    !argv[optind][strspn(argv[optind], "0123456789.")])
		return argv[optind++];
	return "";
}

static const struct verb *options_of;

static const char *nth_option(unsigned int i)
{
	for (int option = 0; option < OPT_NR; option++)
		if (takes_option(options_of, option) && !i--)
			return options[option].name;
	return NULL;
}

static int unknown_option(const struct verb *v, const char *word)
{
	const char *meant = NULL;
	char name[64] = "";

	options_of = v;
	if (!strncmp(word, "--", 2))
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (*name)
		meant = fus_nearest_word(name, nth_option);
	if (meant)
		return fus_fail(FC_USAGE, word, "no such option of %s; did you mean --%s?", v->name,
				meant);
	return fus_fail(FC_USAGE, word, "no such option of %s; see fusionctl help %s", v->name,
			v->name);
}

/* What getopt returns for the first of our options: above all letters, of which ':' is an error. */
#define FIRST_LONG	256

static int bad_option(const struct verb *v, int c, const char *word)
{
	char letter[3] = { '-', optopt };

	if (c == ':')
		return fus_fail(FC_USAGE, word, "needs a value; see fusionctl help %s", v->name);
	if (optopt >= FIRST_LONG)
		return fus_fail(FC_USAGE, word, "takes no value; see fusionctl help %s", v->name);
	return unknown_option(v, optopt ? letter : word);
}

static int parse(const struct verb *v, int argc, char **argv, struct args *a)
{
	struct option known[OPT_NR + 1] = { 0 };
	const char *letters = v->opts[OPT_VERBOSE] ? ":v" :
			      v->opts[OPT_OUTPUT] ? ":o:" : ":";
	int c, nr = 0;

	for (int i = 0; i < OPT_NR; i++) {
		if (!takes_option(v, i))
			continue;
		known[nr].name = options[i].name;
		known[nr].has_arg = !options[i].arg ? no_argument : *options[i].arg == '[' ?
				    optional_argument : required_argument;
		known[nr++].val = FIRST_LONG + i;
	}
	opterr = 0;
	while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (c == ':' || c == '?')
			return bad_option(v, c, argv[optind - 1]);
		c = c == 'v' ? OPT_VERBOSE : c == 'o' ? OPT_OUTPUT : c - FIRST_LONG;
		a->opt[c] = !options[c].arg ? "" : *options[c].arg == '[' ?
			    optional_value(argc, argv) : optarg;
		if (!may_repeat(c))
			continue;
		if (a->nr_many == MAX_MANY)
			return fus_fail(FC_USAGE, optarg, "more than %d options; give fewer",
					MAX_MANY);
		a->many[a->nr_many].id = c;
		a->many[a->nr_many++].value = optarg;
	}
	a->n = argc - optind;
	a->word = argv + optind;
	if (a->opt[OPT_HELP])
		return 0;
	if (a->n < v->min)
		return fus_fail(FC_USAGE, v->name, "needs more arguments; see fusionctl help %s",
				v->name);
	if (a->n > v->max)
		return fus_fail(FC_USAGE, a->word[v->max], "is one argument too many for %s; see "
				"fusionctl help %s", v->name, v->name);
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

/* From here on an open set is called by the name that it is open as, however it was named. */
static int resolve_set(const struct verb *v, struct args *a)
{
	static char name[128];
	bool found;
	int rc;

	if ((v->set != OPEN_SET && v->set != ANY_SET) || !a->n || geteuid())
		return 0;
	rc = fus_open_name(a->word[0], v->salvaged, name, sizeof(name), &found);
	if (found)
		a->word[0] = name;
	else if (!rc && v->set == OPEN_SET && *a->word[0] == '/')
		rc = fus_fail(FC_FAILED, a->word[0], "not a member of an open set; fusionctl list "
			      "shows the open sets");
	return rc;
}

/* Its exit status where all it has to say is lost. */
static int lost_code(const struct verb *v)
{
	bool fsck = v && v->fsck;

	return plugin ? PLUGIN_UNKNOWN : fsck ? FSCK_FAILED : FC_FAILED;
}

static int run(int argc, char **argv, const struct verb **v)
{
	struct args a = { 0 };
	int rc;

	if (argc < 2)
		return fus_fail(FC_USAGE, "usage", "fusionctl VERB [ARGUMENT]...; see fusionctl "
				"help");
	argc--;
	argv++;
	if (!strcmp(*argv, "help") || !strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
		return help(argc, argv);
	*v = find_verb(!strcmp(*argv, "--version") ? "version" : *argv);
	if (!*v)
		return FC_USAGE;
	rc = parse(*v, argc, argv, &a);
	if (rc)
		return rc;
	if (a.opt[OPT_HELP]) {
		verb_help(*v);
		*v = NULL;
		return 0;
	}
	plugin = a.opt[OPT_CHECK];
	/* with --check it says so in its own way */
	if ((*v)->root && geteuid() && !plugin)
		return fus_fail(FC_FAILED, (*v)->name, "needs root; use sudo");
	fus_dm_setup();
	rc = resolve_set(*v, &a);
	/* a plugin prints a line of its own if a set cannot be examined */
	return rc && !plugin ? rc : (*v)->run(&a);
}

int main(int argc, char **argv)
{
	const struct verb *v = NULL;
	int rc;

	/* the caller may ignore it, and then no child can be waited for */
	signal(SIGCHLD, SIG_DFL);
	/* only the encoding of text: numbers are the same everywhere */
	setlocale(LC_CTYPE, "");
	output_begin();
	messages_begin();
	progress_show();
	rc = run(argc, argv, &v);
	/* of a device that stays suspended */
	messages_hold(false);
	/* an answer that did not arrive is none, whatever it was */
	if (output_end())
		rc = rc ? rc : lost_code(v);
	return rc;
}
