#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# In case of doubt a set stays closed, with a line that also goes to the console: copies, stale and
# foreign members, damaged ones, and records that are out of date.

# shellcheck source=assembly.sh
. "$(dirname "$0")/assembly.sh"

# -- what is not opened ------------------------------------------------------------------------

test_copy() {
	local copy=/dev/clone text
	pair
	null clone 64
	replaced "$FAST" $copy
	text="both claim to be the same member of the set pair; detach one, or open the set by \
naming both of its devices"
	# the copy appears after the member
	came "$FAST"
	refuses 4 "$copy: is a copy of $FAST, $text" $copy
	# now neither is trusted
	refuses 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" "$SLOW"
	closed
	# the copy appears first, and udev has not reported the member yet
	forget
	came $copy
	refuses 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" "$SLOW"
	expect 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" fusionctl assemble --scan
	closed
	# the user names the right one
	good fusionctl open pair "$FAST" "$SLOW"
	refuses 4 "$copy: is a copy of $FAST, $text" $copy
	quietly fusionctl assemble --incremental "$FAST"
	once pair
}

# steps: the clock is set again and again, as in a boot without a battery-backed clock
steps() {
	while sleep 0.1; do
		date -s "+1 hour" >/dev/null
	done
}

# set_back TIME UPTIME: restore the clock
set_back() {
	local now
	read -r now _ </proc/uptime
	date -s "@$(($1 + ${now%.*} - $2))" >/dev/null
}

# A device that answers slowly, but not too slowly, is waited for.
test_copy_beside_a_clock_that_steps() {
	local up
	need_module dm-delay
	pair
	null clone 64
	replaced "$FAST" /dev/clone
	dm late "0 $(sectors_of /dev/clone) delay /dev/clone 0 20"
	came "$FAST"
	read -r up _ </proc/uptime
	defer set_back "$(date +%s)" "${up%.*}"
	background steps
	expect 4 "$FAST: is a copy of /dev/mapper/late, both claim to be the same member; detach one, \
or name the devices to use" fusionctl assemble --incremental "$SLOW"
	kill "$REPLY"
	closed
}

# the_past: the message about a stale SSD; the time in it is that of its superblock
the_past() {
	local out rc=0
	out=$(fusionctl open pair "$FAST" "$SLOW" 2>&1) || rc=$?
	[[ $rc -eq 4 ]] || fail "exit code of open: $rc" >&2
	[[ $out =~ ^'fusionctl: pair: the fast member '"$FAST"' is from the past, or lost writes: last written '[-0-9]{10}' '[0-9:]{8}(', '[1-9][0-9]*' '[a-z]+(' '[a-z]+)?)+' behind what the slow member has seen; connect the current one, or see fusionctl help repair'$ ]] ||
		fail "what open says: $out" >&2
	echo "${out#fusionctl: }"
}

# An SSD that was replaced by a copy of itself, or put back after it was away.
test_stale() {
	local text
	pair
	replaced "$FAST" "$TMP/old"
	good fusionctl open pair
	good fusionctl close pair
	# the members as they are now, both closed cleanly
	replaced "$FAST" "$TMP/since"
	put_old
	came "$FAST"
	text=$(the_past)
	refuses 4 "$text" "$SLOW"
	closed
	replaced "$TMP/since" "$FAST"
	good fusionctl open pair
	good fusionctl close pair
	put_old
	came "$FAST"
	text=$(the_past)
	has "how far back it is" "$text" ", 2 activations, "
	refuses 4 "$text" "$SLOW"
	expect 4 "$text" fusionctl assemble --scan
	closed
}

# put_old: put the old copy back, and forget it
put_old() {
	replaced "$TMP/old" "$FAST"
	forget
}

# A member of the same set, but not the one that the other member names.
test_foreign() {
	local text
	pair
	null other 64
	replaced "$FAST" /dev/other
	poke /dev/other 96:8=4711
	text="is not the fast member that belongs to the set pair but one of another generation of \
it, as"
	came /dev/other
	refuses 4 "/dev/other: $text $SLOW shows; detach it" "$SLOW"
	closed
	came "$FAST"
	once pair
	refuses 4 "/dev/other: $text $FAST shows; detach it" /dev/other
}

test_shrunk() {
	need_module dm-fusion
	null base 64
	null slow 256
	SLOW=/dev/slow
	linear small /dev/base 0 $((64 * 2048))
	FAST=/dev/mapper/small
	a_set
	dm_remove small
	linear small /dev/base 0 $((60 * 2048))
	refuses 4 "$FAST: shrank from 64M to 60M; restore its old size" "$FAST"
	came "$SLOW"
	closed
	# the whole device would match, but the mapping on top hides it
	expect 4 "$FAST: shrank from 64M to 60M; restore its old size" fusionctl assemble --scan
	closed
}

test_read_only() {
	local text
	pair
	came "$FAST"
	blockdev --setro "$SLOW"
	text="$SLOW: is read-only, so the set pair is not opened automatically; blockdev \
--setrw it and run fusionctl assemble --scan"
	refuses 3 "$text" "$SLOW"
	expect 3 "$text" fusionctl assemble --scan
	closed
	blockdev --setrw "$SLOW"
	good fusionctl assemble --scan
	once pair
}

test_damaged() {
	pair
	put_direct "$FAST" 377 512 512
	put_direct "$FAST" 377 $((8 * 4096 + 512)) 512
	expect 7 '' fusionctl probe --udev "$FAST"
	refuses 7 "$FAST: both copies of its superblock are damaged (checksum mismatch); run \
fusionctl repair with both members" "$FAST"
	closed
}

# -- what is remembered ------------------------------------------------------------------------

test_stale_records() {
	local record
	pair
	came "$FAST"
	record=$(echo /run/fusion/"$UUID"/fast-*)
	has "record" "$(<"$record")" "$(<"/sys/block/${FAST#/dev/}/dev") $FAST"

	# the device is gone, and came back with another number
	null spare 64
	replaced "$FAST" /dev/spare
	null_remove fast
	quietly fusionctl assemble --incremental "$SLOW"
	[[ ! -e $record ]]
	closed
	came /dev/spare
	once pair
	good fusionctl close pair

	# its number belongs to another device, or to none, or it is not a record at all
	for text in "$(<"/sys/block/slow/dev") $SLOW" "250:77 /dev/nosuch" "x" "" \
		"$(head -c 5000 /dev/zero | tr '\0' 9)"; do
		forget
		came /dev/spare
		echo "$text" >"$record"
		quietly fusionctl assemble --incremental "$SLOW"
		closed
		came /dev/spare
		once pair
		good fusionctl close pair
	done

	# overwritten since
	forget
	came /dev/spare
	put_direct /dev/spare 0 0 65536
	quietly fusionctl assemble --incremental "$SLOW"
	closed
}

run_tests
