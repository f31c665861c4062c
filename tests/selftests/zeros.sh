#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Blocks that were never written read as zeros, whatever happens to their neighbours and whatever
# the slots held before.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/zeros
EXTENT=65536

begin() {
	members 16 32 "$@"
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion zeros migration off
	truncate -s $((64 * EXTENT)) "$TMP/want"
}

# write OFFSET BYTES: to the set and to its expected content
write() {
	put_direct "$SET" 127 "$1" "$2"
	put "$TMP/want" 127 "$1" "$2"
	check "after a write of $2 bytes at $1"
}

# the first 64 extents; `all_else` checks the rest
check() {
	local where
	blockdev --flushbufs "$SET"
	where=$(cmp -n $((64 * EXTENT)) "$SET" "$TMP/want" 2>&1) || fail "$1: $where"
}

all_else() {
	read_zero "$SET" $((64 * EXTENT)) $(($(blockdev --getsize64 "$SET") - 64 * EXTENT))
}

# Every kind of event, with a check after each.
events() {
	local lb=$1 extent
	all_else
	check "when new"
	# in the middle, before, after; at the edges; 1 sector, odd sectors; neighbours
	for extent in 3 4 8; do
		write $((extent * EXTENT + 32768)) 4096
		write $((extent * EXTENT + 8192)) "$lb"
		write $((extent * EXTENT + 16384 - lb)) $((2 * lb))
		write $((extent * EXTENT + 61440)) 4096
		write $((extent * EXTENT + 4096)) $((lb * 3))
	done
	write $((5 * EXTENT - lb)) $((2 * lb))
	write $((9 * EXTENT - 8192)) $((EXTENT + 16384))
	msg zeros checkpoint
	check "after a checkpoint"
	msg zeros demote 0-63
	check "after demotion"
	same "extents 3-11 on slow" "$(on zeros slow 3 2) $(on zeros slow 8 3)" "2 3"
	write $((4 * EXTENT + 20480)) "$lb"
	msg zeros promote 0-63
	check "after promotion"
	same "extents 3-11 on fast" "$(on zeros fast 3 2) $(on zeros fast 8 3)" "2 3"
	write $((12 * EXTENT + 20480)) "$lb"
	dmsetup suspend zeros
	dmsetup resume zeros
	check "after suspend and resume"
	close zeros
	fusion zeros migration off
	check "after close and open"
	write $((12 * EXTENT + 40960 - lb)) "$lb"

	blkdiscard -o $((8 * EXTENT)) -l $((2 * EXTENT)) "$SET"
	put "$TMP/want" 0 $((8 * EXTENT)) $((2 * EXTENT))
	check "after a discard of two extents"
	write $((8 * EXTENT + 12288)) "$lb"
	blkdiscard -z -o $((3 * EXTENT + 4096)) -l 8192 "$SET"
	put "$TMP/want" 0 $((3 * EXTENT + 4096)) 8192
	check "after zeroes were written"
	blkdiscard -z -o $((20 * EXTENT + 4096)) -l 8192 "$SET"
	check "after zeroes were written where nothing was"
	close zeros
	fusion zeros migration off
	check "after close and open again"
	all_else
}

test_events_512() {
	begin
	events 512
}

test_events_4096() {
	begin blocksize=4096
	events 4096
}

# all slots, which held foreign data, get a new owner
test_slots_used_before() {
	local extents
	begin discard=0
	extents=$(status zeros extents)
	stale "$SET"
	blkdiscard "$SET"
	within 20 "everything freed" settled zeros
	same "mapped after discard" "$(status zeros mapped)" 0
	fusion-stamp run "$SET" --state "$TMP/state" --mix 0:1:5:0:0:0 --max-io 4k \
		--ops "$extents" --threads 2
	fusion-stamp verify "$SET" --state "$TMP/state"
	msg zeros demote 0-$((extents - 1))
	fusion-stamp verify "$SET" --state "$TMP/state"
	msg zeros promote 0-$((extents - 1))
	fusion-stamp verify "$SET" --state "$TMP/state"
	close zeros
	fusion zeros migration off
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# more partial extents than can be tracked: the oldest are completed
long_many_open() {
	local extents
	begin
	extents=$(status zeros extents)
	fusion-stamp run "$SET" --state "$TMP/state" --mix 0:0:1:0:0:0 --ops $((extents * 3)) \
		--threads 4
	say "$(status zeros open) open of $(status zeros mapped) mapped of $extents"
	fusion-stamp verify "$SET" --state "$TMP/state"
	close zeros
	fusion zeros migration off
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# the comparison must notice a leak of one byte
test_check_sees_a_leak() {
	local slot
	begin
	write $((3 * EXTENT)) $EXTENT
	read -r _ _ _ slot _ < <(msg zeros map 3 1)
	close zeros
	put "$FAST" 245 $((($(sb fast_data_start) * 512) + slot * EXTENT + 5000)) 1
	fusion zeros migration off
	if (check "leak") >"$TMP/said"; then
		fail "a byte was changed and nothing saw it"
	fi
	has "what is said" "$(<"$TMP/said")" " $((3 * EXTENT + 5001)), line 1"
}

run_tests
