// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs and options. The two tables here are all there is to know of them: the parser, the help
 * and the completion are made from them.
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

#define O(x)	(1ull << OPT_##x)

#define MAKE_OPTIONS	(O(FAST) | O(SLOW) | O(EXTENT_SIZE) | O(GPT_TYPE) | O(YES) | O(FORCE) | \
			 O(DRY_RUN) | O(JSON))

const struct verb verbs[] = {
	{ "create", "NAME DEV DEV | NAME --fast DEV --slow DEV",
	  "make a set of two devices and open it",
	  "fusionctl create data --fast /dev/nvme0n1p3 --slow /dev/sda --mkfs ext4", cmd_create,
	  MAKE_OPTIONS | O(MKFS), 1, 3, true, NO_SET },
	{ "format", "NAME DEV DEV | [NAME] --fast DEV --slow DEV",
	  "make a set without opening it",
	  "fusionctl format data /dev/nvme0n1p3 /dev/sda --extent-size 512K", cmd_format,
	  MAKE_OPTIONS, 0, 3, true, NO_SET },
	{ "open", "NAME [DEV [DEV]]", "open a set by name or uuid, or by its members",
	  "fusionctl open data", cmd_open, O(TAKE_OVER) | O(JSON), 1, 3, true, CLOSED_SET },
	{ "close", "NAME", "close a set", "fusionctl close data", cmd_close, O(JSON), 1, 1,
	  true, OPEN_SET },
	{ "assemble", "--incremental DEV | --scan | --waiting", "open sets whose members are here",
	  "fusionctl assemble --scan", cmd_assemble,
	  O(INCREMENTAL) | O(SCAN) | O(WAITING) | O(VERBOSE) | O(JSON), 0, 1, true, NO_SET },
	{ "probe", "DEV", "which member of which set a device is", "fusionctl probe /dev/sda",
	  cmd_probe, O(UDEV) | O(JSON), 1, 1, false, NO_SET },
	{ "list", "", "open sets, and members found",
	  "fusionctl list", cmd_list, O(JSON), 0, 0, false, NO_SET },
	{ "status", "[NAME]", "how full, how busy, how well it works",
	  "fusionctl status data --watch 5", cmd_status,
	  O(JSON) | O(WATCH) | O(CHECK), 0, 1, false, OPEN_SET },
	{ "set", "NAME [KEY=VALUE]...", "show or change the settings of a set",
	  "fusionctl set data reserve=4G half_life=4h", cmd_set,
	  O(PROFILE) | O(NOW) | O(DRY_RUN) | O(JSON), 1, 64, true, ANY_SET },
	{ "promote", "NAME FIRST[-LAST] | NAME --bytes FIRST-LAST",
	  "move extents to the fast member", "fusionctl promote data --bytes 10G-12G", cmd_promote,
	  O(BYTES) | O(DRY_RUN) | O(JSON), 1, 2, true, OPEN_SET },
	{ "demote", "NAME FIRST[-LAST] | NAME --bytes FIRST-LAST",
	  "move extents to the slow member", "fusionctl demote data 0-1023", cmd_demote,
	  O(BYTES) | O(DRY_RUN) | O(JSON), 1, 2, true, OPEN_SET },
	{ "checkpoint", "[NAME]", "have the members know all of the map; of all sets by default",
	  "fusionctl checkpoint data", cmd_checkpoint,
	  O(USED_WITHIN) | O(DRY_RUN) | O(JSON), 0, 1, true, OPEN_SET },
	{ "map", "NAME", "draw what is where and how hot",
	  "fusionctl map data --svg data.svg", cmd_map,
	  O(JSON) | O(SVG) | O(WIDTH) | O(COLOR), 1, 1, true, OPEN_SET },
	{ "whatif", "NAME", "what a fast member of another size would be good for",
	  "fusionctl whatif data --svg data.svg", cmd_whatif,
	  O(JSON) | O(SVG) | O(COLOR), 1, 1, true, OPEN_SET },
	{ "check", "NAME | DEV [DEV]", "test the metadata of a closed set, read-only",
	  "fusionctl check data -v", cmd_check, O(JSON) | O(VERBOSE), 1, 2, false, CLOSED_SET },
	{ "dump", "NAME | FAST [SLOW]", "save the metadata of a closed set as JSON",
	  "fusionctl dump data -o data.json", cmd_dump, O(OUTPUT), 1, 2, false, CLOSED_SET },
	{ "restore", "FILE NAME | FILE FAST SLOW", "write saved metadata back to the members",
	  "fusionctl restore data.json /dev/nvme0n1p3 /dev/sda", cmd_restore,
	  O(YES) | O(FORCE) | O(DRY_RUN) | O(JSON), 2, 3, false, CLOSED_SET },
	{ "repair", "NAME | DEV [DEV]", "put right what is wrong with a closed set",
	  "fusionctl repair data --dry-run", cmd_repair,
	  O(YES) | O(FORCE) | O(DRY_RUN) | O(JSON), 1, 2, false, CLOSED_SET },
	{ "salvage", "NAME [NEW] | MEMBER [NEW]",
	  "list, or open read-only, what one member alone still has",
	  "fusionctl salvage /dev/sda rescued --files /dev/mapper/rescued", cmd_salvage,
	  O(JSON) | O(VERBOSE) | O(STALE) | O(ZERO) | O(FILES), 1, 2, false, CLOSED_SET },
	{ "wipe", "NAME | DEV [DEV]", "make members of a closed set plain devices again",
	  "fusionctl wipe data --dry-run", cmd_wipe, O(YES) | O(DRY_RUN) | O(JSON),
	  1, 2, true, CLOSED_SET },
	{ "simulate", "NAME | --fast SIZE --slow SIZE --load LOAD | --trace FILE [KEY=VALUE]...",
	  "what the policy would make of a load, without any device",
	  "fusionctl simulate --fast 1T --slow 16T --load zipf:1.0,read=70,qd=16 --svg zipf.svg",
	  cmd_simulate,
	  O(FAST_SIZE) | O(SLOW_SIZE) | O(EXTENT_SIZE) | O(LOAD) | O(TRACE) | O(QD) |
	  O(DURATION) | O(FILL) | O(SEED) | O(SET) | O(DISK) | O(JSON) | O(SVG), 0, 32, false,
	  NO_SET },
	{ "monitor", "", "say what has changed with the open sets",
	  "fusionctl monitor --follow", cmd_monitor,
	  O(FOLLOW) | O(PROMETHEUS) | O(JSON), 0, 0, true, NO_SET },
	{ "doctor", "", "is this system ready to open its sets, at boot too?",
	  "fusionctl doctor --root /mnt", cmd_doctor, O(ROOT) | O(JSON), 0, 0, true, NO_SET },
	{ "complete", "-- [WORD]...", "what the last word may become, for shells",
	  "fusionctl complete -- sta", cmd_complete, 0, 0, 64, false, NO_SET },
	{ "version", "", "versions of tool, format and module", "fusionctl version", cmd_version,
	  O(JSON), 0, 0, false, NO_SET },
};

const size_t nr_verbs = sizeof(verbs) / sizeof(verbs[0]);

bool takes_option(const struct verb *v, int option)
{
	return (v->opts | O(HELP)) >> option & 1;
}
