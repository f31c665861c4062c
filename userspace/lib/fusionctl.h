/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl: create, open, inspect and tune dm-fusion sets.
 *
 *	cmd/		the verbs; verb.h lists them
 *	meta/		the metadata of closed sets: meta.h, salvage.h
 *	simulate/	sets in simulated time: sim.h
 *	ui/		what the verbs print: messages, tables, progress, drawings
 *	lib/		devices, open sets: a header for each source
 *
 * lib/ and meta/ are libfusion.a, which prints nothing and asks no questions. Nothing in lib/ calls
 * anything in the others, nothing in meta/ the user interface, and nothing but main() a verb.
 *
 * A function that returns an int and is not said to do otherwise returns 0 or an
 * exit code (enum exit_code) after it has noted the error with fus_fail().
 */
#ifndef FUSIONCTL_H
#define FUSIONCTL_H

#define FUSIONCTL_VERSION	"0.9"
#define JSON_VERSION		1

enum exit_code {
	FC_OK		= 0,
	FC_FAILED	= 1,
	FC_USAGE	= 2,
	FC_REFUSED	= 3,	/* for safety; an option or an answer may allow it */
	FC_MEMBER	= 4,	/* wrong or missing member */
	FC_BUSY		= 5,
	FC_NO_MODULE	= 6,
	FC_DAMAGED	= 7,
	FC_DOUBTFUL	= 8,	/* of bench: the figures are not reliable */
};

/* Index of the members, in the format and in the kernel's interfaces. */
#define FAST	0
#define SLOW	1

#endif
