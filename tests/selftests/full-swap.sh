#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# With not one extent free on either member, hot and cold still change places.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/full
# an extent in KiB: what matters is how many there are
SIZE=1024
[[ ! $QUICK ]] || SIZE=256
SLOW_EXTENTS=192

# full [OPTION VALUE]...: a set that is written from end to end
full() {
	members $((72 * SIZE / 1024)) $((SLOW_EXTENTS * SIZE / 1024))
	format --extent-size "${SIZE}K"
	fusion full migration off "$@"
	EXTENTS=$(status full extents)
	# all but the last extent has stamps
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $(((EXTENTS - 1) * SIZE))k
	dd if=/dev/zero of="$SET" bs="${SIZE}K" seek=$((EXTENTS - 1)) count=1 oflag=direct status=none
	sync "$SET"
	is_full
}

is_full() {
	same "extents mapped" "$(status full mapped)" "$EXTENTS"
	same "free slots" "$(status full total_fast) $(status full total_slow)" \
		"$(($(status full used_fast) + $(sb spare_fast))) $(($(status full used_slow) +
			$(sb spare_slow)))"
}

# by policy: what is read moves up, and as much moves down
test_policy_swaps() {
	local hot=16 first
	full half_life 60 duty 100 idle 0
	first=$((EXTENTS - hot - 8))
	same "hot extents on fast before" "$(on full fast $first $hot)" 0
	msg full migration on
	gets_up full "$first" $hot 90
	within 30 "nothing moves" settled full
	msg full migration off
	within 30 "nothing moves" settled full
	is_full
	at_least demotions "$(status full demotions)" $((hot * 3 / 4))
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# there are more spares on the slow member than on the fast one: no more moves down than can be
# followed by the one up that belongs to each
test_pairs_within_the_spares() {
	local SIZE=256 SLOW_EXTENTS=640 hot=16 lone
	[[ -d /sys/kernel/tracing/events ]] || skip "no tracing in this kernel"
	full half_life 60 duty 100 idle 0
	same "spares" "$(sb spare_fast) $(($(sb spare_slow) >= 8))" "2 1"
	tracing_on
	msg full migration on
	gets_up full $((EXTENTS - hot - 8)) "$hot" 90
	msg full migration off
	within 30 "nothing moves" settled full
	# those of a batch come by their place on the slow member
	lone=$(awk '/fusion_move: .*: moved$/ { n += / to slow slot / ? 1 : -1; if (n > most) most = n }
		END { print most + 0 }' /sys/kernel/tracing/trace)
	at_most "moves down without one up" "$lone" "$(sb spare_fast)"
	is_full
}

# by hand, one against one, until everything has changed places: one free extent will do
test_forced_swaps() {
	local fast i up
	full
	fast=$(on full fast 0 "$EXTENTS")
	blkdiscard -o $(((EXTENTS - 1) * SIZE * 1024)) -l "${SIZE}K" "$SET"
	within 30 "its slot is free" settled full
	for ((i = 0; i < fast; i++)); do
		same "demotion of $i" "$(msg full demote $i)" "1 0 0 0"
		up=$((EXTENTS - 2 - i))
		within 30 "the slot it had is free" settled full
		same "promotion of $up" "$(msg full promote $up)" "1 0 0 0"
		within 30 "the slot it had is free" settled full
	done
	same "the last extents on fast" "$(on full fast $((EXTENTS - fast - 1)) "$fast")" "$fast"
	read_zero "$SET" $(((EXTENTS - 1) * SIZE * 1024)) $((SIZE * 1024))
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# more than there is room for fails, says so, and takes no spare for good
test_no_room() {
	local all moved already unmapped failed
	full
	all=$(on full slow 0 "$EXTENTS")
	read -r moved already unmapped failed < <(msg full promote 0-$((EXTENTS - 1)))
	same "extents answered for" $((moved + already + unmapped + failed)) "$EXTENTS"
	at_least "failed promotions" "$failed" $((all - $(sb spare_fast)))
	read -r moved already unmapped failed < <(msg full demote 0-$((EXTENTS - 1)))
	at_least "failed demotions" "$failed" $((EXTENTS - all - $(sb spare_slow) - $(sb spare_fast)))
	within 30 "nothing moves" settled full
	fusion-stamp run "$SET" --state "$TMP/state" --ops 500 --mix 1:1:1:0:1:0
	fusion-stamp verify "$SET" --state "$TMP/state"
}

run_tests test_policy_swaps:long test_pairs_within_the_spares:long test_forced_swaps test_no_room
