// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs and options. verb-table.h and the table of options here are the only description of them:
 * the parser, the help and the completion use these.
 */
#include "fusionctl.h"
#include "verb.h"

const struct option_info options[OPT_NR] = {
	[OPT_FAST]	  = { "fast", "DEV", "the fast member (SSD)" },
	[OPT_SLOW]	  = { "slow", "DEV", "the slow member (HDD)" },
	[OPT_FAST_SIZE]	  = { "fast", "SIZE", "size of the fast member" },
	[OPT_SLOW_SIZE]	  = { "slow", "SIZE", "size of the slow member" },
	[OPT_EXTENT_SIZE] = { "extent-size", "SIZE", "unit of tiering, 64K to 16M (1M)" },
	[OPT_LANDING]	  = { "landing", "SIZE", "keep a landing log on the fast member, of 8G or "
			      "12% (0: none)" },
	[OPT_YES]	  = { "yes", NULL, "do not ask" },
	[OPT_FORCE]	  = { "force", NULL, "overwrite content recognised on the devices" },
	[OPT_DRY_RUN]	  = { "dry-run", NULL, "show what would be done, change nothing" },
	[OPT_JSON]	  = { "json", NULL, "print JSON" },
	[OPT_WATCH]	  = { "watch", "[SECONDS]", "repeat at this interval (2), with rates" },
	[OPT_SVG]	  = { "svg", "FILE", "draw to a file, or - for stdout" },
	[OPT_WIDTH]	  = { "width", "N", "cells in a row" },
	[OPT_COLOR]	  = { "color", "WHEN", "use colour: auto, always or never" },
	[OPT_VERBOSE]	  = { "verbose", NULL, "print more; -v" },
	[OPT_OUTPUT]	  = { "output", "FILE", "write to a new file; -o" },
	[OPT_STALE]	  = { "stale", NULL, "older versions of lost extents as well" },
	[OPT_ZERO]	  = { "zero", NULL, "unknown areas read as zeros, not as errors" },
	[OPT_FILES]	  = { "files", "PATH", "list the files hit: on ext4, or a mount point" },
	[OPT_LOAD]	  = { "load", "LOAD", "zipf:1.0, zoned:80/4, uniform, loop:1.2 or scan; "
			      "repeat it to run several at once" },
	[OPT_TRACE]	  = { "trace", "FILE", "replay a load that fio or blktrace recorded" },
	[OPT_QD]	  = { "qd", "N", "I/Os of the trace in flight, instead of its times" },
	[OPT_DURATION]	  = { "duration", "TIME", "how long to simulate (6h), or to write (30m; "
			      "fullness 60s)" },
	[OPT_FILL]	  = { "fill", "PERCENT", "percentage of the set in use (90)" },
	[OPT_SEED]	  = { "seed", "N", "seed of the random numbers (1)" },
	[OPT_SET]	  = { "set", "KEY=VALUE", "a setting, as fusionctl set takes it" },
	[OPT_DISK]	  = { "disk", "KEY=VALUE", "tune the models of the members" },
	[OPT_PROFILE]	  = { "profile", "NAME", "desktop, database or archive" },
	[OPT_NOW]	  = { "now", NULL, "change only the open device, until it is closed" },
	[OPT_UDEV]	  = { "udev", NULL, "print KEY=VALUE lines for a udev rule" },
	[OPT_INCREMENTAL] = { "incremental", NULL, "this member has appeared: open its set if the "
			      "other one is present" },
	[OPT_SCAN]	  = { "scan", NULL, "open every set whose members are both present" },
	[OPT_WAITING]	  = { "waiting", NULL, "only print which sets lack a member" },
	[OPT_ROOT]	  = { "root", "DIR", "examine the system mounted there" },
	[OPT_CHECK]	  = { "check", NULL, "print a line, and exit, as a Nagios plugin does" },
	[OPT_FOLLOW]	  = { "follow", "[SECONDS]", "keep running; longest interval (60)" },
	[OPT_PROMETHEUS]  = { "prometheus", "FILE", "write metrics to a file, or - for stdout" },
	[OPT_USED_WITHIN] = { "used-within", "SECONDS", "only if the slow member was used then" },
	[OPT_GPT_TYPE]	  = { "gpt-type", NULL, "give GPT partitions the type of members" },
	[OPT_MKFS]	  = { "mkfs", "TYPE", "make a file system on the set, e.g. ext4" },
	[OPT_TAKE_OVER]	  = { "take-over", NULL, "open even if another machine has it open: that "
			      "machine loses what it has not flushed" },
	[OPT_BYTES]	  = { "bytes", "FIRST-LAST", "the extents in a range of bytes, e.g. "
			      "10G-12G" },
	[OPT_RESUME]	  = { "resume", NULL, "finish what was interrupted" },
	[OPT_ABORT]	  = { "abort", NULL, "undo what was interrupted" },
	[OPT_SIZE]	  = { "size", "SIZE", "how much of the set is in use, from its beginning" },
	[OPT_LEAVE_UNMAPPED] = { "leave-unmapped", NULL, "do not zero unmapped extents on the "
			      "disk" },
	[OPT_GEOMETRY]	  = { "geometry", NULL, "only the superblocks, from a backup of the "
			      "geometry" },
	[OPT_DISCARD]	  = { "discard", NULL, "discard the devices as well" },
	[OPT_SET_SIZE]	  = { "size", "SIZE", "size of the set; left out, it is all that its "
			      "members have room for (grow), or what its content needs (shrink)" },
	[OPT_MEMBER]	  = { "member", "DEV", "the member that gives up its end (the slow one)" },
	[OPT_MEMBER_SIZE] = { "member-size", "SIZE", "size of that member, instead of --size" },
	[OPT_LABEL]	  = { "label", "NAME", "the name of the set from then on" },
	[OPT_NO_DUMP]	  = { "no-dump", NULL, "do not save the metadata in /var/lib/fusion/dump" },
	[OPT_AT_BOOT]	  = { "at-boot", NULL, "at the next boot, before it is mounted" },
	[OPT_PLANNED]	  = { "planned", NULL, "carry out what adopt and release --at-boot have "
			      "planned" },
	[OPT_WAIT]	  = { "wait", NULL, "go on with what was begun, until its end" },
	[OPT_NO_WAIT]	  = { "no-wait", NULL, "begin, and leave the rest to the kernel" },
	[OPT_LOST]	  = { "lost", NULL, "the fast member is gone: go on with what the slow one "
			      "has" },
	[OPT_SECTOR]	  = { "sector", "N", "the extent with this sector of the set" },
	[OPT_TREE]	  = { "tree", NULL, "show each directory below as well" },
	[OPT_SORT]	  = { "sort", "KEY", "sort by name, size, fast, slow or heat" },
	[OPT_EXTENTS]	  = { "extents", "FIRST[-LAST]", "list the files that lie on these "
			      "extents" },
	[OPT_SECTORS]	  = { "sectors", "FIRST[-LAST]", "list the files that lie on these "
			      "sectors" },
	[OPT_ONCE]	  = { "once", "[SECONDS]", "look for so long (1), print a screenful, and "
			      "end" },
	[OPT_BY_FILE]	  = { "by-file", NULL, "name the file that has most of each hot range" },
	[OPT_QUICK]	  = { "quick", NULL, "fewer, smaller or shorter ones: honest writes 2G "
			      "instead of 54G" },
	[OPT_MAX_SIZE]	  = { "max-size", "SIZE", "size of the largest transfer (2G; with --quick "
			      "256M), or of the file of others (4G in sweep and mix; 1G)" },
	[OPT_WRITE]	  = { "write", NULL, "overwrite the device, and measure that as well" },
	[OPT_COMPARE]	  = { "compare", NULL, "compare two files that --json wrote" },
	[OPT_HTML]	  = { "html", "FILE", "write the page to a new file, or - for stdout" },
	[OPT_OVER]	  = { "over", "SECONDS", "how long to watch hits and rates (default: 5)" },
	[OPT_ANONYMOUS]	  = { "anonymous", NULL, "leave out serial numbers, uuids and the host" },
	[OPT_PIN_FAST]	  = { "fast", NULL, "keep it on the fast member" },
	[OPT_PIN_SLOW]	  = { "slow", NULL, "keep it on the slow member" },
	[OPT_PIN_EXTENTS] = { "extents", "FIRST[-LAST]", "these extents of a set, instead of "
			      "files" },
	[OPT_LIST]	  = { "list", NULL, "show what is pinned, and how much of it is there" },
	[OPT_REFRESH]	  = { "refresh", NULL, "look for the files again, and tell the kernel" },
	[OPT_HELP]	  = { "help", NULL, "show this help" },
};

#define VERB(verb, ...)	{ .name = #verb, .run = cmd_##verb, __VA_ARGS__ }

const struct verb verbs[] = {
#include "verb-table.h"
};

const size_t nr_verbs = sizeof(verbs) / sizeof(verbs[0]);

bool takes_option(const struct verb *v, int option)
{
	return option == OPT_HELP || v->opts[option];
}
