#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl as it is typed: usage, help, completion in bash, names of sets, and what a user other
# than root sees.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

long_usage() {
	local verb
	expect 2 "usage: fusionctl VERB [ARGUMENT]...; see fusionctl help" fusionctl
	expect 2 "xyzzy: no such verb; see fusionctl help" fusionctl xyzzy
	expect 2 "xyzzy: no such verb; see fusionctl help" fusionctl help xyzzy
	expect 2 "statsu: no such verb; did you mean status?" fusionctl statsu
	expect 2 "chekc: no such verb; did you mean check?" fusionctl help chekc
	expect 2 "hlep: no such verb; did you mean help?" fusionctl hlep
	expect 2 "--frob: no such option of list; see fusionctl help list" fusionctl list --frob
	expect 2 "--jsno: no such option of list; did you mean --json?" fusionctl list --jsno
	expect 2 "--takeover=1: no such option of open; did you mean --take-over?" \
		fusionctl open x --takeover=1
	expect 2 "--set: no such option of list; see fusionctl help list" fusionctl list --set
	expect 2 "-f: no such option of list; see fusionctl help list" fusionctl list -f
	expect 2 "--yes: no such option of open; see fusionctl help open" fusionctl open x --yes
	expect 2 "--json=1: takes no value; see fusionctl help list" fusionctl list --json=1
	expect 2 "--fast: needs a value; see fusionctl help create" fusionctl create x --fast
	expect 2 "x: is one argument too many for list; see fusionctl help list" fusionctl list x
	for verb in open close set map whatif explain create; do
		expect 2 "$verb: needs more arguments; see fusionctl help $verb" fusionctl $verb
	done
	for verb in promote demote; do
		expect 2 "$verb: needs either FIRST[-LAST] or --bytes FIRST-LAST; see fusionctl help $verb" \
			fusionctl $verb x
	done
	for verb in "pin --fast" unpin; do
		# shellcheck disable=SC2086 # these are words
		expect 2 "x: not a range of extents; write e.g. 0-1023" fusionctl $verb x --extents x
	done
	expect 2 "create: needs a name and two devices; see fusionctl help create" \
		fusionctl create x /dev/null
	expect 2 "format: only one of --fast and --slow is given; give both, or name two devices" \
		fusionctl format x --fast /dev/null
	expect 2 "/dev/null: is one device too many; a set has two members" \
		fusionctl format x --fast /dev/null --slow /dev/null /dev/null
	for verb in 0 0.05 86401 1.2.3 .; do
		expect 2 "$verb: not an interval; give 0.1 to 86400 seconds" \
			fusionctl status "--watch=$verb"
	done
	expect 2 "0: not an interval; give 0.1 to 86400 seconds" fusionctl status --watch 0
	expect 2 "0: not a width; give 1 to 1024 cells" fusionctl map x --width 0
	expect 2 "blue: not a choice for --color; give auto, always or never" \
		fusionctl map x --color blue
	expect 2 "simulate: --fast is missing; give the size of that member, as in --fast 1T, or name a set" \
		fusionctl simulate
	expect 2 "foo: not a load; choose zipf:1.0, zoned:80/4, uniform, loop:1.2 or scan, see fusionctl(8)" \
		fusionctl simulate --fast 1G --slow 8G --load foo
	expect 2 "rpm=3: no such key; see fusionctl(8) for the keys of --disk" \
		fusionctl simulate --fast 1G --slow 8G --load uniform --disk rpm=3
	for verb in 7-3 -1 x 1-2-3 99999999999 1- ''; do
		expect 2 "$verb: not a range of extents; write e.g. 0-1023" \
			fusionctl promote x -- "$verb"
	done
}

# help_keys: keys in the help that was shown
help_keys() {
	sed -n '/^settings; /,$ s/^  \([a-z_]*\) .*/\1/p' "$TMP/out" | xargs
}

long_help() {
	local verb verbs
	good fusionctl help
	mapfile -t verbs < <(sed -n 's/^  \([a-z]*\) .*/\1/p' "$TMP/out")
	for verb in "${verbs[@]}"; do
		good fusionctl help "$verb"
		shows "usage: fusionctl $verb "
		shows "example: fusionctl $verb"
		cp "$TMP/out" "$TMP/help"
		good fusionctl "$verb" --help
		cmp "$TMP/out" "$TMP/help"
	done
	same "last verb" "$verb" version
	good fusionctl help set
	same "keys of set" "$(help_keys)" "migration reserve half_life duty idle commit_interval \
replica_interval discard_passdown standby write_budget shadow shadow_age"
	shows "  duty                 share of the slow member's time for moves under load"
	shows "1 to 100 percent (default: 25%)"
	good fusionctl help simulate
	same "keys of simulate" "$(help_keys)" "migration reserve half_life duty idle shadow"
	good fusionctl version
	shows "on-disk format 2"
	good fusionctl version --json
	json .version 1
	json .format 2
}

# -- completion --------------------------------------------------------------------------------

# completes WORDS... WANT: bash completes the last word to WANT, on one line
completes() {
	local COMP_WORDS=(fusionctl "${@:1:$#-1}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	# shellcheck disable=SC2317 # the completion calls it
	compopt() { :; }
	_fusionctl
	same "completion of '${*:1:$#-1}'" "${COMPREPLY[*]}" "${!#}"
}

test_complete() {
	# shellcheck source=/dev/null
	. "$here/../../userspace/system/completion/bash"
	a_set
	completes sta status
	completes help whati whatif
	completes status "" pair
	completes explain "" pair
	completes explain pair --se --sector
	completes explain pair "" ""
	completes where --tree "" ""
	completes where --extents "" ""
	completes where --extents 0-9 "" pair
	completes where --sectors 8 --json pa pair
	completes where / --sort "" "name size fast slow heat"
	completes where --sort s "size slow"
	completes where pair --ex --extents
	completes pin "" ""
	completes pin --list "" pair
	completes pin --ref --refresh
	completes unpin --extents 3 "" pair
	completes top "" pair
	completes top --on --once
	completes bench hon honest
	completes bench sw sweep
	completes bench su sustained
	completes bench fu fullness
	completes bench sustained /tmp --du --duration
	completes bench honest /tmp --qu --quick
	completes close pa pair
	completes set pair h half_life=
	completes set pair duty=5% idle=1s repl replica_interval=
	completes set pair "" "migration= reserve= half_life= duty= idle= commit_interval= \
replica_interval= discard_passdown= standby= write_budget= shadow= shadow_age="
	# keys that do not affect a simulation are refused there
	completes simulate --set "" "migration= reserve= half_life= duty= idle= shadow="
	completes simulate --fast 1G --slow 8G --load uniform "" \
		"pair migration= reserve= half_life= duty= idle= shadow="
	completes set pair --profile "" "desktop database archive"
	completes map --color ne never
	completes map pair --sv --svg
	completes map --svg "" ""
	completes list --fast ""
	completes nosuch "" ""
	completes create data --slo --slow
	good fusionctl complete -- set pair "" x
	same output "$(<"$TMP/out")" ""
}

# Verbs for open sets are completed with open sets; those for closed sets with the ones in udev's
# database.
test_complete_sets() {
	local uuid verb closed
	# shellcheck disable=SC2119 # it takes options
	udev
	# shellcheck source=/dev/null
	. "$here/../../userspace/system/completion/bash"
	a_set
	uuid=$(uuid_of "$FAST")
	loop $((64 << 20))
	closed=$REPLY
	loop $((128 << 20))
	# udev does not notice what is written to a device while it handles an event of it
	events_done
	good fusionctl format shut --fast "$closed" --slow "$REPLY" --yes
	events_done
	completes set "" "pair shut"
	for verb in close status map promote; do
		completes $verb "" pair
		completes $verb "${uuid:0:5}" "$uuid"
	done
	completes status /dev/nul ""
	for verb in check repair dump wipe open salvage; do
		completes $verb "" shut
		completes $verb "${uuid:0:5}" ""
		uuid_of "$closed" >"$TMP/uuid"
		completes $verb "$(head -c 5 "$TMP/uuid")" "$(<"$TMP/uuid")"
		completes $verb /dev/loop "$closed $REPLY"
	done
	completes salvage "$closed" "" ""
	completes salvage shut "" ""
	completes restore dump.json "" shut
	completes restore dump.json /dev/loop "$closed $REPLY"
	completes restore dump.json "$closed" "" "$closed $REPLY"
	completes open shut "$closed" "$closed"
	completes check "/" ""
	completes create "" ""
	good fusionctl complete -- check "$closed"
	same "meaning" "$(<"$TMP/out")" "$closed"$'\t'"fast member of shut"
	# a set that was closed is offered as closed; udev does not watch null devices
	good fusionctl close pair
	udevadm trigger --action=change "$FAST" "$SLOW"
	events_done
	completes close "" ""
	completes check pa pair
}

# safe NAME: as it is printed
safe() {
	local name=${1//$'\n'/'\x0a'}
	echo "${name//é/'\xc3\xa9'}"
}

long_names() {
	local name long
	long=$(printf '%065d' 0)
	for name in a/b '' . .. -x 'a b' "$long" control $'a\nb' é; do
		expect 2 "$(safe "$name"): not a name for a set; use up to 64 letters, digits and \
#+-.:=@_, the first a letter or digit" fusionctl open -- "$name"
	done
	expect 1 "${long:1}: no such set is open; fusionctl list shows the open sets" \
		fusionctl close "${long:1}"
}

# -- other users, and other places -------------------------------------------------------------

test_not_root() {
	busybox unshare -U true || skip "no user namespaces here"
	expect 1 "close: needs root; use sudo" \
		busybox unshare -U fusionctl close x
}

# To libudev, a machine without sysfs has no disks.
test_no_sysfs() {
	mount -t tmpfs none /sys
	defer umount_quietly /sys
	expect 1 "/sys/class/block: No such file or directory; mount sysfs, or name both devices" \
		fusionctl list
}

run_tests
