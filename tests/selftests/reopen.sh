#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Close and open, table reload, suspend and resume: 100 times in all, 200 with two
# kernels.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/reopen

rounds() {
	[[ $QUICK ]] && echo 6 || echo "$1"
}

begin() {
	members 16 32 irqmode=2 completion_nsec=100000
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion reopen "$@"
}

# A load for the whole test; `finish` ends it and checks its status.
load() {
	background storm reopen
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 4
}

test_close_open() {
	local i n epoch
	begin migration off
	n=$(rounds 34)
	epoch=$(sb epoch)
	for ((i = 0; i < n; i++)); do
		fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100 >/dev/null
		msg reopen promote $((RANDOM % 300))-$((300 + RANDOM % 300)) >/dev/null
		places reopen >"$TMP/before"
		close reopen
		same "clean flag" "$(($(sb flags) & 1))" 1
		fusion reopen migration off
		places reopen >"$TMP/after"
		diff "$TMP/before" "$TMP/after" >"$TMP/said" ||
			fail "map after open $i differs: $(head -n 5 "$TMP/said")"
	done
	differ "epoch" "$(sb epoch)" "$epoch"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_reload() {
	local i n stamp
	begin
	n=$(rounds 33)
	load
	stamp=$REPLY
	for ((i = 0; i < n; i++)); do
		dmsetup load reopen --table "$(table reserve $((1 + i % 9)))"
		dmsetup suspend reopen
		dmsetup resume reopen
		same "options after reload $i" "$(dmsetup table reopen | cut -d ' ' -f 6-)" \
			"2 reserve $((1 + i % 9))"
		sleep 0.2
	done
	finish "$stamp"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_suspend_resume() {
	local i n stamp options=('' --noflush --nolockfs)
	begin
	n=$(rounds 33)
	load
	stamp=$REPLY
	for ((i = 0; i < n; i++)); do
		# shellcheck disable=SC2086 # none or one
		dmsetup suspend ${options[i % 3]} reopen
		sleep 0.05
		dmsetup resume reopen
		sleep 0.2
	done
	finish "$stamp"
	fusion-stamp verify "$SET" --state "$TMP/state"
	close reopen
	fusion reopen
	fusion-stamp verify "$SET" --state "$TMP/state"
}

reads_in_flight() {
	local reads dev
	dev=$(dmsetup info -c --noheadings --separator : -o major,minor "$1")
	read -r reads _ <"/sys/dev/block/$dev/inflight"
	[[ $reads -gt 0 ]]
}

# an interrupted suspend leaves everything working, moves included
test_suspend_interrupted() {
	local reader one
	begin
	close reopen
	linear link "$SLOW" 0 "$(sectors_of "$SLOW")"
	SLOW=/dev/mapper/link
	fusion reopen migration off
	fusion-stamp fill "$SET" --state "$TMP/state" \
		--size $(($(status reopen extents) * 64 - 1024))k
	sync "$SET"
	# a read that does not end holds up the suspend until that is interrupted
	one=$(places reopen | awk '$2 == "slow" && !n++ { print $1 }')
	dmsetup suspend --nolockfs link
	defer dmsetup resume link
	background dd if="$SET" of=/dev/null bs=64k iflag=direct status=none skip="$one" count=1
	reader=$REPLY
	within 20 "the read is under way" reads_in_flight reopen
	if timeout -s INT 3 dmsetup suspend reopen; then
		fail "suspended with a read in flight"
	fi
	dmsetup resume link
	wait "$reader"
	same "suspended" "$(dmsetup info -c --noheadings -o suspended reopen)" Active
	# which extent that is depends on the order of the fill's threads
	one=$(places reopen | awk '$2 == "fast" && !n++ { print $1 }')
	same "demotion of $one" "$(msg reopen demote "$one")" "1 0 0 0"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# a loaded table that is cleared again leaves the live one as it was
test_reload_cleared() {
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	dmsetup load reopen --table "$(table reserve 3)"
	dmsetup clear reopen
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	same "options" "$(dmsetup table reopen | cut -d ' ' -f 6-)" ""
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# an activation without records still writes to the end of the chain: a block that could not be read
# there, and was taken for the torn tail, must not be found the next time
test_end_of_chain() {
	local i line last=''
	begin migration off
	for i in 1 2 3; do
		line=$(fusion-replica "$FAST" | sed -n 1p)
		has "journal after activation $i" "$line" "+1 records 0"
		differ "its beginning" "$line" "$last"
		last=$line
		close reopen
		fusion reopen migration off
	done
}

# the line of dmsetup table makes the same device, including options set by message
test_table_line() {
	local line
	begin
	close reopen
	fusion reopen reserve 5 migration off
	same "options" "$(dmsetup table reopen | cut -d ' ' -f 6-)" "4 migration off reserve 5"
	msg reopen half_life 60
	msg reopen duty 100
	msg reopen idle 0
	msg reopen commit_interval 20
	msg reopen discard_passdown off
	msg reopen reserve 0
	line=$(dmsetup table reopen)
	has "options" "$line" "migration off half_life 60 duty 100 idle 0 commit_interval 20"
	has "options" "$line" "discard_passdown off"
	[[ $line != *reserve* ]] || fail "reserve is at its default and still printed: $line"
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 500
	sync "$SET"
	places reopen >"$TMP/before"
	close reopen
	dm reopen "$line"
	same "table line" "$(dmsetup table reopen)" "$line"
	places reopen >"$TMP/after"
	diff "$TMP/before" "$TMP/after" >"$TMP/said" || fail "map differs: $(head -n 5 "$TMP/said")"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# A second device of the same set would write a map of its own.
test_second_device() {
	begin migration off
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	refused "device $(dmsetup info -c --noheadings -o major,minor reopen) uses the set" \
		dmsetup create second --table "$(table)"
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	close reopen
	fusion second migration off
	SET=/dev/mapper/second
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# A device that was suspended while another one used the set has an old map.
test_used_elsewhere() {
	begin migration off
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	dmsetup suspend reopen
	fusion second migration off
	SET=/dev/mapper/second
	refused "another device has used the set since" dmsetup resume reopen
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	close second
	refused "another device has used the set since" dmsetup resume reopen
	# remedy
	dmsetup load reopen --table "$(table migration off)"
	dmsetup resume reopen
	SET=/dev/mapper/reopen
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# Read-only devices may share members in any number.
test_readers() {
	local name
	begin migration off
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	close reopen
	for name in one two; do
		defer dm_remove $name
		dmsetup create -r $name --table "$(table)"
		fusion-stamp verify /dev/mapper/$name --state "$TMP/state"
	done
	refused "uses the set" dmsetup create third --table "$(table)"
	dmsetup suspend one
	dmsetup resume one
	fusion-stamp verify /dev/mapper/one --state "$TMP/state"
}

# The set is loaded, and then another target of the table fails to resume. Nothing suspends the set
# then, but it is closed when the table goes.
test_not_resumed() {
	local origin cow both
	need_module dm-snapshot
	begin migration off
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	close reopen
	null origin 4
	origin=$REPLY
	null exceptions 4
	cow=$REPLY
	# a second snapshot with the same exceptions takes over, but not from one that is active
	dm snap "0 64 snapshot $origin $cow P 8"
	printf -v both '%s\n%s' "$(table migration off)" "$LEN 64 snapshot $origin $cow P 8"
	defer dm_remove both
	dmsetup create both --notable
	dmsetup load both <<<"$both"
	refused "until source is suspended" dmsetup resume both
	refused "uses the set" dmsetup create second --table "$(table)"
	# another attempt, with the same table and with one without the other target
	refused "until source is suspended" dmsetup resume both
	dmsetup load both --table "$(table migration off)"
	dmsetup resume both
	fusion-stamp verify /dev/mapper/both --state "$TMP/state"
	dmsetup suspend both
	dmsetup load both <<<"$both"
	refused "until source is suspended" dmsetup resume both
	dmsetup remove both
	same "clean flag" "$(($(sb flags) & 1))" 1
	fusion second migration off
	fusion-stamp verify /dev/mapper/second --state "$TMP/state"
}

# hottest: the heat of the hottest extent
hottest() {
	msg reopen heat 1 | awk '{ print $6 }'
}

# A root is never closed: heat that a checkpoint saved survives a power cut.
test_heat_without_closing() {
	local was
	switched 64 128
	format --extent-size 64K
	fusion reopen migration off
	dd if=/dev/urandom of="$SET" bs=1M count=4 oflag=direct conv=fsync status=none
	heat reopen 0 1 3
	msg reopen checkpoint
	was=$(hottest)
	at_least "heat" "$was" 16
	power_off
	close reopen
	power_on
	fusion reopen migration off
	at_least "heat after a power cut (before: $was)" "$(hottest)" $((was * 3 / 4))
}

run_tests
