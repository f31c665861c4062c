#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set keeps its settings: they hold after a close, a power cut right after the command, a repair,
# and a restore. Values by --now and the table line last until the set is closed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# begin: an open set
begin() {
	switched 16 32
	defer dm_remove kept
	good fusionctl create kept --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
}

reopen() {
	good fusionctl close kept
	good fusionctl open kept
}

# setting KEY: value, source, kept value
setting() {
	fusionctl set kept --json |
		jq -r --arg key "$1" '.settings[] | select(.key == $key) | "\(.value) \(.source) \(.kept)"'
}

# is KEY WHAT
is() {
	same "$1" "$(setting "$1")" "$2"
}

# opts: the options of the table line, without the machine, which is not a setting
opts() {
	dmsetup table kept | awk '{
		for (i = 7; i < NF; i += 2)
			if ($i != "host")
				line = line " " $i " " $(i + 1)
		n = split(line, words, " ")
		print n ? n line : ""
	}'
}

test_holds() {
	begin
	is duty "25 default null"
	good fusionctl set kept duty=40% half_life=4h migration=off
	shows "kept: changed"
	shows "automatic"
	is duty "40 set 40"
	is half_life "14400 set 14400"
	is migration "false set false"
	same "table line" "$(opts)" ""
	reopen
	is duty "40 set 40"
	is half_life "14400 set 14400"
	is migration "false set false"
	is idle "1000 default null"
	same "in effect" "$(fusionctl status kept --json | jq -c '.sets[0].options |
		[.duty, .half_life, .migration]')" "[40,14400,false]"
	same "half-life" "$(counter kept half_life)" 14400
	dmsetup suspend kept
	dmsetup resume kept
	is duty "40 set 40"

	good fusionctl set kept duty=default
	is duty "25 default null"
	good fusionctl set kept --profile desktop
	shows "1s (kept)"
	reopen
	is duty "10 set 10"
	is standby "600 set 600"
	is migration "false set false"
}

test_now() {
	begin
	good fusionctl set kept duty=40
	good fusionctl set kept duty=80 idle=5s --now
	shows "kept: changed until it is closed"
	is duty "80 now 40"
	is idle "5000 now null"
	same "table line" "$(opts)" "4 duty 80 idle 5000"
	good fusionctl set kept
	shows "now only; set: 40%"
	good fusionctl set kept duty=40 --now
	is duty "40 set 40"
	good fusionctl set kept duty=80 --now
	reopen
	is duty "40 set 40"
	is idle "1000 default null"
	expect 2 "--now: there is nothing to change; add KEY=VALUE or --profile" \
		fusionctl set kept --now
}

# power_cut: cut the power and restore it; this closes the set
power_cut() {
	power_off
	close kept
	power_on
	# before the links, which are new
	defer dm_remove kept
}

# Power fails as soon as the command returns.
test_power_cut() {
	local i last
	last=$([[ $QUICK ]] && echo 7 || echo 31)
	begin
	for ((i = 1; i <= last; i += 3)); do
		good fusionctl set kept duty=$i idle=${i}s
		power_cut
		good fusionctl open kept
		is duty "$i set $i"
		is idle "$((i * 1000)) set $((i * 1000))"
	done
	same "mode" "$(status kept mode needs_check)" "rw -"
}

# again [OPTION VALUE]...: open it with dmsetup
again() {
	good fusionctl close kept
	dmsetup create kept --uuid "FUSION-$(uuid_of "$FAST")" --table "$(table "$@")"
	[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes kept >/dev/null
}

test_table_line() {
	begin
	good fusionctl set kept duty=40 idle=2s
	again duty 33 standby 7
	is duty "33 table 40"
	is standby "7 table null"
	is idle "2000 set 2000"
	same "table line" "$(opts)" "4 duty 33 standby 7"
	good fusionctl set kept
	shows "table line; set: 40%"
	# the set keeps nothing of it
	reopen
	is duty "40 set 40"
	is standby "0 default null"
	# equal to the default, and not to the kept value
	again duty 25
	is duty "25 table 40"
	same "table line" "$(opts)" "2 duty 25"
	# a later set replaces it, and is kept
	good fusionctl set kept duty=50
	is duty "50 set 50"
	same "table line" "$(opts)" ""
	reopen
	is duty "50 set 50"
	# a new table for an open set is made before the old one ends; the values kept by then count
	dmsetup load kept --table "$(table idle 9)"
	good fusionctl set kept duty=60
	dmsetup suspend kept
	dmsetup resume kept
	is duty "60 set 60"
	is idle "9 table 2000"
}

# both copies of both superblocks: the mask and duty
in_superblocks() {
	local dev copy
	for dev in "$FAST" "$SLOW"; do
		for copy in 0 8; do
			echo "$(number "$dev" $copy 680 4) $(number "$dev" $copy 700 4)"
		done
	done | sort -u
}

test_closed() {
	local before
	begin
	dd if=/dev/urandom of=/dev/mapper/kept bs=1M count=4 oflag=direct conv=fsync status=none
	good fusionctl close kept
	good fusionctl set kept duty=40 half_life=4h
	shows "kept: changed"
	is duty "40 set 40"
	same "superblocks" "$(in_superblocks)" "12 40"
	good fusionctl check kept
	before=$(sha256sum "$FAST" "$SLOW")
	good fusionctl set kept duty=40
	shows "kept: nothing to change"
	good fusionctl set kept duty=50 --dry-run
	shows "kept: would change"
	good fusionctl set kept
	shows "set"
	expect 2 "duty=0: out of range; duty takes 1 to 100 percent" fusionctl set kept duty=0
	expect 2 "--now: works only on an open set; open kept, or leave --now out" \
		fusionctl set kept duty=50 --now
	same "members" "$(sha256sum "$FAST" "$SLOW")" "$before"
	good fusionctl open kept
	is duty "40 set 40"
	is half_life "14400 set 14400"
	good fusionctl set kept duty=default
	good fusionctl close kept
	same "superblocks" "$(in_superblocks)" "4 0"
	good fusionctl set "$(uuid_of "$FAST")" half_life=default
	good fusionctl open kept
	is half_life "0 default null"

	# after a power cut the kernel has to open it first
	power_cut
	expect 3 "kept: was not closed cleanly; run fusionctl open kept first" \
		fusionctl set kept duty=50
	good fusionctl set kept
	good fusionctl open kept
	good fusionctl close kept
	dmsetup remove slow-link
	put_direct /dev/slow 0 0 1048576
	expect 4 "kept: its slow member is missing, and settings and name are kept on both; connect it, or see \
what the other one has: fusionctl salvage $FAST" fusionctl set kept duty=50
}

test_refused() {
	begin
	dmsetup suspend kept
	refused "Resource temporarily unavailable" dmsetup message kept 0 keep duty 40
	dmsetup resume kept
	for i in keep "keep duty" "keep duty 0" "keep duty 40 frob 1" "keep duty 40 idle" \
		"duty 40 frob 1" "duty 40 idle 60001" "settings 1" "keep migration 1"; do
		# shellcheck disable=SC2086 # words
		refused "Invalid argument" dmsetup message kept 0 $i
	done
	is duty "25 default null"
	msg kept duty 40 idle 7
	is idle "7 now null"
	msg kept duty default
	is duty "25 default null"
	# the superblock cannot be written: the command reports it
	gone fast
	refused "the kernel refuses \"keep duty 40\"" fusionctl set kept duty=40
	within 10 "mode ro" is_ro kept
	refused "Read-only file system" dmsetup message kept 0 keep duty 41
}

# A value that no version writes is ignored, named, and removed by repair.
test_out_of_range() {
	begin
	good fusionctl set kept duty=40 idle=5s
	good fusionctl close kept
	poke "$FAST" 700:4=777
	dmesg -C
	good fusionctl open kept
	has "kernel log" "$(dmesg)" "the set keeps duty 777, which is out of range: ignored"
	is duty "25 default null"
	is idle "5000 set 5000"
	good fusionctl close kept
	poke "$FAST" 700:4=777
	poke "$FAST" 680:4=24
	expect 1 "" fusionctl check kept
	shows "settings: keeps duty 777, which is out of range and ignored"
	expect 1 "" fusionctl repair kept --yes
	good fusionctl check kept
	good fusionctl open kept
	is duty "25 default null"
	is idle "5000 set 5000"
}

test_dumped() {
	begin
	good fusionctl set kept duty=40 idle=5s
	good fusionctl close kept
	good fusionctl dump kept -o "$TMP/kept.json"
	same "dump" "$(jq -c .settings "$TMP/kept.json")" '{"duty":40,"idle":5000}'
	good fusionctl set kept duty=50
	put_direct "$FAST" 0 0 65536
	put_direct "$SLOW" 0 0 65536
	good fusionctl restore "$TMP/kept.json" "$FAST" "$SLOW" --yes --force
	good fusionctl open kept
	is duty "40 set 40"
	is idle "5000 set 5000"
	good fusionctl close kept
	# the fast member's superblocks are gone: the slow one has a copy
	put_direct "$FAST" 0 0 65536
	expect 1 "" fusionctl repair "$FAST" "$SLOW" --yes --force
	good fusionctl open kept
	is duty "40 set 40"
	jq '.settings.duty = 101' "$TMP/kept.json" >"$TMP/bad.json"
	good fusionctl close kept
	expect 1 "$TMP/bad.json: duty: is out of bounds; use a file that fusionctl dump wrote" \
		fusionctl restore "$TMP/bad.json" "$FAST" "$SLOW" --yes --force
}

run_tests
