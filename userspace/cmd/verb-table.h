/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of verbs, with everything about each. A file that includes it defines VERB() as what a
 * row becomes, so there is no guard. The prototypes of the verbs, the parser, the help, the
 * completion and the fuzzer use it.
 */

#define O(x)	\
	[OPT_##x] = true

	VERB(create, .words = "NAME DEV DEV | NAME --fast DEV --slow DEV",
	     .summary = "make a set from two devices and open it",
	     .example = "fusionctl create data --fast /dev/nvme0n1p3 --slow /dev/sda --mkfs ext4",
	     .opts = { O(FAST), O(SLOW), O(EXTENT_SIZE), O(LANDING), O(GPT_TYPE), O(YES),
		       O(FORCE), O(DRY_RUN), O(JSON), O(MKFS) },
	     .min = 1, .max = 3, .root = true),

	VERB(format, .words = "NAME DEV DEV | [NAME] --fast DEV --slow DEV",
	     .summary = "make a set without opening it",
	     .example = "fusionctl format data /dev/nvme0n1p3 /dev/sda --extent-size 512K",
	     .opts = { O(FAST), O(SLOW), O(EXTENT_SIZE), O(LANDING), O(GPT_TYPE), O(YES),
		       O(FORCE), O(DRY_RUN), O(JSON) },
	     .max = 3, .root = true),

	VERB(adopt, .words = "NAME DISK DEV | NAME DISK --fast DEV | NAME [DISK DEV] --resume",
	     .summary = "make a disk with content a member, without a copy",
	     .example = "fusionctl adopt data /dev/sda2 /dev/nvme0n1p4",
	     .opts = { O(FAST), O(SLOW), O(EXTENT_SIZE), O(LANDING), O(AT_BOOT), O(RESUME),
		       O(ABORT), O(YES), O(FORCE), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 3, .root = true),

	VERB(release, .words = "NAME | FAST SLOW",
	     .summary = "make the slow member a plain disk with the content",
	     .example = "fusionctl release data --dry-run",
	     .opts = { O(AT_BOOT), O(RESUME), O(ABORT), O(SIZE), O(LEAVE_UNMAPPED), O(YES),
		       O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = EITHER_SET),

	VERB(open, .words = "NAME [DEV [DEV]]",
	     .summary = "open a set by name or uuid, or by its members",
	     .example = "fusionctl open data",
	     .opts = { O(TAKE_OVER), O(JSON) },
	     .min = 1, .max = 3, .root = true, .set = CLOSED_SET),

	VERB(close, .words = "NAME",
	     .summary = "close a set",
	     .example = "fusionctl close data",
	     .opts = { O(NO_DUMP), O(JSON) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET, .salvaged = true),

	VERB(assemble, .words = "--incremental DEV | --scan | --waiting | --planned",
	     .summary = "open sets whose members are present",
	     .example = "fusionctl assemble --scan",
	     .opts = { O(INCREMENTAL), O(SCAN), O(WAITING), O(PLANNED), O(VERBOSE),
		       O(JSON) },
	     .max = 1, .root = true),

	VERB(probe, .words = "DEV",
	     .summary = "show which member of which set a device is",
	     .example = "fusionctl probe /dev/sda",
	     .opts = { O(UDEV), O(JSON) },
	     .min = 1, .max = 1),

	VERB(list, .words = "",
	     .summary = "list open sets and the members found",
	     .example = "fusionctl list",
	     .opts = { O(JSON) }),

	VERB(members, .words = "[NAME|DEVICE]...",
	     .summary = "show the drives of sets: model, serial, health, wear",
	     .example = "fusionctl members data",
	     .opts = { O(JSON) },
	     .max = 64, .root = true, .set = EITHER_SET),

	VERB(status, .words = "[NAME]",
	     .summary = "show use, load and health of open sets",
	     .example = "fusionctl status data --watch 5",
	     .opts = { O(JSON), O(WATCH), O(CHECK) },
	     .max = 1, .set = OPEN_SET, .salvaged = true),

	VERB(set, .words = "NAME [KEY=VALUE]...",
	     .summary = "show or change the settings of a set",
	     .example = "fusionctl set data reserve=4G half_life=4h",
	     .opts = { O(PROFILE), O(NOW), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 64, .root = true, .set = ANY_SET, .settings = ALL_SETTINGS),

	VERB(landing, .words = "NAME [SIZE]",
	     .summary = "show the landing log of a set, or turn it on or off",
	     .example = "fusionctl landing data 8G",
	     .opts = { O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = ANY_SET),

	VERB(rename, .words = "NAME NEW",
	     .summary = "give a set another name, open or closed",
	     .example = "fusionctl rename data media",
	     .opts = { O(DRY_RUN), O(JSON) },
	     .min = 2, .max = 2, .root = true, .set = ANY_SET),

	VERB(grow, .words = "NAME",
	     .summary = "use the room that members have gained, while the set is in use",
	     .example = "fusionctl grow data --dry-run",
	     .opts = { O(SET_SIZE), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(shrink, .words = "NAME",
	     .summary = "give up the end of a set and of a member, while in use",
	     .example = "fusionctl shrink data --dry-run",
	     .opts = { O(SET_SIZE), O(MEMBER), O(MEMBER_SIZE), O(LANDING), O(YES), O(DRY_RUN),
		       O(JSON) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(replace, .words = "NAME OLD NEW | NAME --wait | NAME --abort | --lost NAME NEW",
	     .summary = "replace a member by another disk, while the set is in use",
	     .example = "fusionctl replace data /dev/sdb1 /dev/nvme0n1p4",
	     .opts = { O(WAIT), O(NO_WAIT), O(ABORT), O(FILES), O(LOST), O(STALE), O(YES),
		       O(FORCE), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 3, .root = true, .set = ANY_SET),

	VERB(uuid, .words = "FAST SLOW",
	     .summary = "give a closed copy of a set a uuid of its own",
	     .example = "fusionctl uuid /dev/sdc /dev/sdd --label copy",
	     .opts = { O(LABEL), O(YES), O(JSON) },
	     .min = 2, .max = 2, .root = true),

	VERB(promote, .words = "NAME FIRST[-LAST] | NAME --bytes FIRST-LAST",
	     .summary = "move extents to the fast member",
	     .example = "fusionctl promote data --bytes 10G-12G",
	     .opts = { O(BYTES), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = OPEN_SET),

	VERB(demote, .words = "NAME FIRST[-LAST] | NAME --bytes FIRST-LAST",
	     .summary = "move extents to the slow member",
	     .example = "fusionctl demote data 0-1023",
	     .opts = { O(BYTES), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = OPEN_SET),

	VERB(pin, .words = "PATH... --fast|--slow | NAME --extents FIRST[-LAST] --fast|--slow | "
			"--list|--refresh [NAME]",
	     .summary = "keep files on the fast or on the slow member",
	     .example = "fusionctl pin /srv/games --fast",
	     .opts = { O(PIN_FAST), O(PIN_SLOW), O(PIN_EXTENTS), O(LIST), O(REFRESH),
		       O(USED_WITHIN), O(JSON) },
	     .max = 65536, .root = true),

	VERB(unpin, .words = "PATH... | NAME --extents FIRST[-LAST]",
	     .summary = "let pinned files move by use again",
	     .example = "fusionctl unpin /srv/games",
	     .opts = { O(PIN_EXTENTS) },
	     .min = 1, .max = 65536, .root = true),

	VERB(checkpoint, .words = "[NAME]",
	     .summary = "write the whole map of a set, or of all, to its members",
	     .example = "fusionctl checkpoint data",
	     .opts = { O(USED_WITHIN), O(DRY_RUN), O(JSON) },
	     .max = 1, .root = true, .set = OPEN_SET),

	VERB(drain, .words = "NAME",
	     .summary = "copy the landing log of a set to its slow member",
	     .example = "fusionctl drain data",
	     .opts = { O(JSON) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(map, .words = "NAME",
	     .summary = "draw where the data lies and how hot it is",
	     .example = "fusionctl map data --svg data.svg",
	     .opts = { O(JSON), O(SVG), O(WIDTH), O(COLOR) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(where, .words = "PATH... | NAME --extents|--sectors FIRST[-LAST]",
	     .summary = "show on which member files lie, and how hot they are",
	     .example = "fusionctl where /srv --tree --sort fast",
	     .opts = { O(TREE), O(SORT), O(EXTENTS), O(SECTORS), O(JSON) },
	     .min = 1, .max = 65536, .root = true),

	VERB(whatif, .words = "NAME",
	     .summary = "predict the effect of a larger or smaller fast member",
	     .example = "fusionctl whatif data --svg data.svg",
	     .opts = { O(JSON), O(SVG), O(COLOR) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(explain, .words = "NAME FIRST[-LAST] | NAME FILE | NAME --sector N",
	     .summary = "tell why extents lie where they do",
	     .example = "fusionctl explain data 18211",
	     .opts = { O(SECTOR), O(VERBOSE), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = OPEN_SET),

	VERB(top, .words = "[NAME]",
	     .summary = "watch the rates, hits and moves of a set, and its heat",
	     .example = "fusionctl top data --once 10",
	     .opts = { O(ONCE), O(BY_FILE), O(JSON) },
	     .max = 1, .root = true, .set = OPEN_SET),

	VERB(bench, .words = "honest|sweep|mix|sustained|fullness DIRECTORY|DEVICE | "
			     "--compare FILE FILE",
	     .summary = "measure rate and latency, and tell if that is reliable",
	     .example = "fusionctl bench honest /srv --quick",
	     .opts = { O(QUICK), O(MAX_SIZE), O(DURATION), O(SEED), O(WRITE), O(COMPARE), O(YES),
		       O(FORCE), O(DRY_RUN), O(JSON), O(SVG) },
	     .min = 2, .max = 2, .root = true),

	VERB(report, .words = "NAME",
	     .summary = "make one page about a set, to keep or to send",
	     .example = "fusionctl report data --html data.html",
	     .opts = { O(HTML), O(OVER), O(ANONYMOUS), O(JSON) },
	     .min = 1, .max = 1, .root = true, .set = OPEN_SET),

	VERB(check, .words = "NAME | DEV [DEV]",
	     .summary = "check the metadata of a closed set, read-only",
	     .example = "fusionctl check data -v",
	     .opts = { O(JSON), O(VERBOSE) },
	     .min = 1, .max = 2, .set = CLOSED_SET, .fsck = true),

	VERB(dump, .words = "NAME | FAST [SLOW]",
	     .summary = "save the metadata of a closed set as JSON",
	     .example = "fusionctl dump data -o data.json",
	     .opts = { O(OUTPUT) },
	     .min = 1, .max = 2, .set = CLOSED_SET),

	VERB(restore, .words = "FILE NAME | FILE FAST SLOW | --geometry [FILE] FAST SLOW",
	     .summary = "write saved metadata back to the members",
	     .example = "fusionctl restore data.json /dev/nvme0n1p3 /dev/sda",
	     .opts = { O(GEOMETRY), O(YES), O(FORCE), O(DRY_RUN), O(JSON) },
	     .min = 2, .max = 3, .set = CLOSED_SET),

	VERB(repair, .words = "NAME | DEV [DEV]",
	     .summary = "repair the metadata of a closed set",
	     .example = "fusionctl repair data --dry-run",
	     .opts = { O(YES), O(FORCE), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .set = CLOSED_SET, .fsck = true),

	VERB(salvage, .words = "NAME [NEW] | MEMBER [NEW]",
	     .summary = "list or open, read-only, the data on one member alone",
	     .example = "fusionctl salvage /dev/sda rescued --files /dev/mapper/rescued",
	     .opts = { O(JSON), O(VERBOSE), O(STALE), O(ZERO), O(FILES) },
	     .min = 1, .max = 2, .set = CLOSED_SET),

	VERB(wipe, .words = "NAME | DEV [DEV]",
	     .summary = "turn members of a closed set back into plain devices",
	     .example = "fusionctl wipe data --dry-run",
	     .opts = { O(DISCARD), O(YES), O(DRY_RUN), O(JSON) },
	     .min = 1, .max = 2, .root = true, .set = CLOSED_SET),

	VERB(simulate, .words = "NAME | --fast SIZE --slow SIZE --load LOAD | "
			"--trace FILE [KEY=VALUE]...",
	     .summary = "predict how the policy would treat a load",
	     .example = "fusionctl simulate --fast 1T --slow 16T --load zipf:1.0,read=70,qd=16 "
			"--svg zipf.svg",
	     .opts = { O(FAST_SIZE), O(SLOW_SIZE), O(EXTENT_SIZE), O(LANDING), O(LOAD), O(TRACE),
		       O(QD), O(DURATION), O(FILL), O(SEED), O(SET), O(DISK), O(JSON), O(SVG) },
	     .max = 32, .settings = SIMULATED_SETTINGS),

	VERB(monitor, .words = "",
	     .summary = "report changes in the state of the open sets",
	     .example = "fusionctl monitor --follow",
	     .opts = { O(FOLLOW), O(PROMETHEUS), O(JSON) },
	     .root = true),

	VERB(doctor, .words = "",
	     .summary = "check that sets can be opened, now and at boot",
	     .example = "fusionctl doctor --root /mnt",
	     .opts = { O(ROOT), O(JSON) },
	     .root = true, .fsck = true),

	VERB(complete, .words = "-- [WORD]...",
	     .summary = "print completions of the last word, for shells",
	     .example = "fusionctl complete -- sta",
	     .max = 64),

	VERB(version, .words = "",
	     .summary = "show the versions of tool, format and module",
	     .example = "fusionctl version",
	     .opts = { O(JSON) }),

#undef VERB
#undef O
