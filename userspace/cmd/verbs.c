// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs and options. verb-table.h and the table of options here are all there is to know of them:
 * the parser, the help and the completion are made from these.
 */
#include "fusionctl.h"
#include "verb.h"

const struct option_info options[OPT_NR] = {
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
	[OPT_SET]	  = { "set", "KEY=VALUE", "a setting, as fusionctl set takes it" },
	[OPT_DISK]	  = { "disk", "KEY=VALUE", "tune the models of the members" },
	[OPT_PROFILE]	  = { "profile", "NAME", "desktop, database or archive" },
	[OPT_NOW]	  = { "now", NULL, "change the open device only, until it is closed" },
	[OPT_UDEV]	  = { "udev", NULL, "KEY=VALUE lines for a udev rule" },
	[OPT_INCREMENTAL] = { "incremental", NULL, "this member has come: open its set if the "
			      "other one is here" },
	[OPT_SCAN]	  = { "scan", NULL, "open every set of which both members are here" },
	[OPT_WAITING]	  = { "waiting", NULL, "only tell which sets lack a member" },
	[OPT_ROOT]	  = { "root", "DIR", "look at the system that is mounted there" },
	[OPT_CHECK]	  = { "check", NULL, "a line and an exit status for Nagios and its like" },
	[OPT_FOLLOW]	  = { "follow", "[SECONDS]", "stay; look at each event, or then (60)" },
	[OPT_PROMETHEUS]  = { "prometheus", "FILE", "write metrics there, - for stdout" },
	[OPT_USED_WITHIN] = { "used-within", "SECONDS", "only if the slow member was used since" },
	[OPT_GPT_TYPE]	  = { "gpt-type", NULL, "give partitions of a GPT the type of members" },
	[OPT_MKFS]	  = { "mkfs", "TYPE", "and a file system on it, e.g. ext4" },
	[OPT_TAKE_OVER]	  = { "take-over", NULL, "open it even if another machine has it open: "
			      "that one loses what it has not flushed" },
	[OPT_BYTES]	  = { "bytes", "FIRST-LAST", "extents from one byte up to another, e.g. "
			      "10G-12G" },
	[OPT_HELP]	  = { "help", NULL, "show this" },
};

#define VERB(verb, ...)	{ .name = #verb, .run = cmd_##verb, __VA_ARGS__ }

const struct verb verbs[] = {
#include "verb-table.h"
};

const size_t nr_verbs = sizeof(verbs) / sizeof(verbs[0]);

bool takes_option(const struct verb *v, int option)
{
	return (v->opts | OPT_BIT(HELP)) >> option & 1;
}
