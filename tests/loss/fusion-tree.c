// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-tree: which files are as they were, after a part of their file system was lost?
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static void print_usage(FILE *f)
{
	fputs("usage: fusion-tree fill|run|check|spoil JOURNAL DIR [OPTION]...\n"
	      "       fusion-tree loss JOURNAL\n"
	      "\n"
	      "  fill   make directories and files, until the file system is full enough\n"
	      "  run    create, append, rewrite, rename, replace, delete, read and sync\n"
	      "  loss   from now on nothing counts as durable\n"
	      "  check  compare all files with the journal\n"
	      "  spoil  damage some files in known ways, and say what a check has to find\n"
	      "\n"
	      "  --seed N         (1) of the content, and of the choices\n"
	      "  --full PERCENT   (50) of the file system\n"
	      "  --seconds N      end after so long\n"
	      "  --ops N          end after so many operations; fill: files\n"
	      "  --rate N         operations in a second\n"
	      "  --sync SECONDS   (10) from sync to sync; 0: none\n"
	      "  --until-error    an I/O error is where the run is meant to end\n"
	      "  --hits FILE      check: paths that fusionctl salvage --files names\n"
	      "  --list FILE      check: a line for each file that is not as it was\n"
	      "\n"
	      "Exit status: 0 right, 1 what was synced is not all there, 2 usage, 3 error.\n", f);
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n > 1000000000) {
		fprintf(stderr, "fusion-tree: %s: not a number\n", text);
		exit(TREE_USAGE);
	}
	return n;
}

static enum tree_result act(const char *verb, const char *journal, const struct tree_load *l,
			    const char *hits, const char *list)
{
	const bool fill = !strcmp(verb, "fill");
	struct tree t;

	tree_open(&t, journal, fill ? &l->seed : NULL);
	if (fill)
		return tree_fill(&t, l);
	if (!strcmp(verb, "run"))
		return tree_run(&t, l);
	if (!strcmp(verb, "spoil"))
		return tree_spoil(&t, l->root);
	if (!strcmp(verb, "check"))
		return tree_check(&t, l->root, hits, list);
	tree_note(&t, (struct tree_record){ .kind = KIND_LOSS });
	return TREE_OK;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", 1, NULL, 's' },
		{ "full", 1, NULL, 'f' },
		{ "seconds", 1, NULL, 't' },
		{ "ops", 1, NULL, 'n' },
		{ "rate", 1, NULL, 'r' },
		{ "sync", 1, NULL, 'y' },
		{ "until-error", 0, NULL, 'e' },
		{ "hits", 1, NULL, 'H' },
		{ "list", 1, NULL, 'l' },
		{ "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tree_load l = { .seed = 1, .full = 50, .sync = 10 };
	const char *hits = NULL, *list = NULL;
	bool loss;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 's':
			l.seed = number(optarg);
			break;
		case 'f':
			l.full = number(optarg);
			break;
		case 't':
			l.seconds = number(optarg);
			break;
		case 'n':
			l.ops = number(optarg);
			break;
		case 'r':
			l.rate = number(optarg);
			break;
		case 'y':
			l.sync = number(optarg);
			break;
		case 'e':
			l.until_error = true;
			break;
		case 'H':
			hits = optarg;
			break;
		case 'l':
			list = optarg;
			break;
		case 'h':
			print_usage(stdout);
			return TREE_OK;
		default:
			print_usage(stderr);
			return TREE_USAGE;
		}
	}
	argv += optind;
	argc -= optind;
	loss = argc && !strcmp(argv[0], "loss");
	if (argc != (loss ? 2 : 3) ||
	    !(loss || !strcmp(argv[0], "fill") || !strcmp(argv[0], "run") ||
	      !strcmp(argv[0], "spoil") || !strcmp(argv[0], "check"))) {
		print_usage(stderr);
		return TREE_USAGE;
	}
	l.root = loss ? "" : argv[2];
	return act(argv[0], argv[1], &l, hits, list);
}
