#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# In no state does migration stop permanently, or never end. Whatever happened before, a hot region
# of the slow member is promoted, and then migration rests.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/watched
SIZE=256	# KiB, of an extent
HOT=12		# extents

# watched [OPTION VALUE]...: an empty set
watched() {
	members 40 120
	format --extent-size "${SIZE}K"
	fusion watched half_life 60 "$@"
	EXTENTS=$(status watched extents)
}

# write FIRST COUNT [DD_OPTION]...: extents, one after another
write() {
	dd if=/dev/urandom of="$SET" bs="${SIZE}K" seek="$1" count="$2" oflag=direct status=none \
		"${@:3}"
}

# cold: the first of HOT extents that lie on the slow member; in REPLY
cold() {
	REPLY=$(msg watched map 0 "$EXTENTS" | awk -v hot=$HOT '
		$3 != "slow" { n = 0; next }
		{ if (!n) first = $1; n += $2 }
		n >= hot && !found++ { print first }')
	[[ $REPLY ]] || fail "no $HOT extents in a row on the slow member"
}

# converges: a region that becomes hot is promoted. This may take a little longer, since each
# promoted extent stays for a minute
converges() {
	cold
	gets_up watched "$REPLY" $HOT 150
}

moves() {
	status watched promotions demotions cancelled in_flight
}

at_rest() {
	local before
	before=$(moves)
	sleep 3
	[[ $(moves) == "$before" && $(status watched in_flight) -eq 0 ]]
}

# spent: processor time of the whole machine, in hundredths of a second
spent() {
	awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat
}

# quiet: less than a third of a processor is used. A worker that searches for moves again and again,
# and finds none, uses all of one.
quiet() {
	local before
	before=$(spent)
	sleep 3
	[[ $(($(spent) - before)) -lt 100 ]]
}

# comes_to_rest: without I/O the mover does all there is to do, and stops
comes_to_rest() {
	within 60 "rest" at_rest
	within 60 "little use of the processor" quiet
}

judge() {
	comes_to_rest
	converges
	comes_to_rest
}

test_after_empty() {
	watched
	sleep 3
	same "moves of nothing" "$(moves)" "0 0 0 0"
	write 0 $((EXTENTS * 3 / 4))
	judge
}

test_after_giant_sequential() {
	local i
	watched
	for i in 1 2 3; do
		write 0 $((EXTENTS * 9 / 10))
		dd if="$SET" of=/dev/null bs=1M iflag=direct status=none
	done
	same "promotions by streams" "$(status watched promotions)" 0
	judge
}

test_both_full() {
	watched
	write 0 "$EXTENTS"
	judge
}

# filled while the mover moves, emptied, and filled again
test_full_and_empty_in_turns() {
	local i
	watched
	for i in 1 2 3; do
		write 0 "$EXTENTS"
		heat watched $((EXTENTS - 64)) 64 2
		blkdiscard "$SET"
	done
	write 0 $((EXTENTS * 3 / 4))
	judge
}

# two regions, larger together than the fast member, in turns, written so that copies are cancelled;
# and moves on request in between
test_after_thrashing() {
	local i half
	watched idle 100
	write 0 "$EXTENTS"
	half=$((EXTENTS / 2))
	storm watched &
	JOBS+=($!)
	for i in 1 2 3 4; do
		fio --name=thrash --filename="$SET" --rw=randwrite --bs=4k --direct=1 \
			--ioengine=libaio --iodepth=8 --norandommap --refill_buffers \
			--offset=$((i % 2 * half * SIZE))k --size=$((half * SIZE))k \
			--time_based --runtime=4 --output="$TMP/fio"
	done
	kill "${JOBS[-1]}"
	wait "${JOBS[-1]}" || :
	unset 'JOBS[-1]'
	judge
}

# off and on again, with data that became hot in between
test_off_and_on() {
	watched
	write 0 $((EXTENTS * 3 / 4))
	comes_to_rest
	msg watched migration off
	cold
	heat watched "$REPLY" $HOT 10
	same "promotions while it is off" "$(status watched promotions)" 0
	msg watched migration on
	within 60 "what got hot moves up" promoted
	judge
}

promoted() {
	[[ $(status watched promotions) -gt 0 ]]
}

run_tests
