#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The message homing: every extent goes to the slot of the slow member that has its number, while
# there is I/O, also if the set is full, and with zeros for what was never written. The slow member
# alone has the content then. Nothing is lost, and what does not go with homing is refused.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/home
EXTENT=$((64 << 10))

# begin [OPTION VALUE]...: a set of small extents, and which of them have a home: FIRST to END
begin() {
	members 12 24
	format --extent-size 64K
	fusion home idle 100 commit_interval 100 replica_interval 2 "$@"
	ALL=$(status home extents)
	FIRST=$(sb slow_first_slot)
	END=$((FIRST + $(sb nr_slow_slots)))
	[[ $END -lt $ALL ]] || END=$ALL
	say "$ALL extents, $FIRST to $((END - 1)) have a home"
}

# fill FIRST COUNT: stamps in these extents; verify checks them
fill() {
	rm -f "$TMP/state"
	fusion-stamp fill $SET --state "$TMP/state" --offset $(($1 * EXTENT)) \
		--size $(($2 * EXTENT))
	STAMPED=(--offset $(($1 * EXTENT)) --size $(($2 * EXTENT)))
}

verify() {
	fusion-stamp verify $SET --state "$TMP/state" "${STAMPED[@]}"
	same mode "$(status home mode needs_check)" "rw -"
}

# left: what the status line says of homing
left() {
	dmsetup status home | sed -n 's/.* homing \([0-9]* [0-9]*\)$/\1/p'
}

homed() {
	[[ $(left) == "0 0" ]]
}

# astray: mapped extents that are not where they belong, by the map
astray() {
	places home | awk -v first="$FIRST" -v end="$END" '
		$2 == "-" { next }
		$1 >= first && $1 < end ? $2 != "slow" || $3 != $1 : $2 != "fast" { n++ }
		END { print n + 0 }'
}

# scramble SECONDS: extents come to lie anywhere
scramble() {
	background storm home
	sleep "$1"
	finish "$REPLY"
	within 30 "nothing moves" settled home
	at_least "extents that are not at home" "$(astray)" $((ALL / 8))
}

# comes_home [zero]: turn homing on, and wait for its events until nothing is left
comes_home() {
	local event was
	was=$(astray)
	event=$(dmsetup info -c --noheadings -o events home)
	msg home homing on "$@"
	differ "fields of homing" "$(left)" ""
	limited 60 dmsetup wait home "$event" >/dev/null || fail "no event, $(left) left"
	within 60 "everything is at home" homed
	same "extents that are not at home" "$(astray)" 0
	say "$was extents were not at home"
}

# raw: closed, the slow member has the content of the set at the same place
raw() {
	dd if=$SET of="$TMP/content" bs=1M iflag=direct status=none
	close home
	cmp -i $((FIRST * EXTENT)) -n $(((END - FIRST) * EXTENT)) "$TMP/content" "$SLOW" ||
		fail "the slow member has another content"
	rm "$TMP/content"
}

again() {
	fusion home
	same "fields of homing" "$(left)" ""
	verify
}

# while there are reads and writes, and after it they go on
test_under_load() {
	local load
	begin duty 100
	fill 0 "$ALL"
	scramble 2
	background fusion-stamp run $SET --state "$TMP/state" "${STAMPED[@]}" --seconds 600 \
		--mix 40:35:10:0:0:5
	load=$REPLY
	comes_home
	finish "$load"
	verify
	raw
	again
}

# no slot is free but the spares, and extents lie in each other's homes, in cycles
test_full_set() {
	begin migration off
	fill 0 "$ALL"
	same "extents mapped" "$(status home mapped)" "$ALL"
	scramble 3
	comes_home
	verify
	raw
	again
}

# With zeros, the slow member reads as the set does, whatever lay there before.
test_zero() {
	local nr
	begin
	fill 0 "$ALL"
	blkdiscard $SET
	msg home checkpoint
	fill 0 $((ALL / 2))
	# a partial extent
	put $SET 7 $(((ALL - 1) * EXTENT)) 4096
	nr=$(on home - "$FIRST" $((END - FIRST)))
	at_least "unmapped extents" "$nr" $((ALL / 8))
	comes_home zero
	same "unmapped extents" "$(on home - "$FIRST" $((END - FIRST)))" 0
	same "extents that are partial" "$(status home open)" 0
	verify
	raw
	again
	# and without
	msg home homing on
	blkdiscard -o $((FIRST * EXTENT)) -l $((10 * EXTENT)) $SET
	within 30 "everything is at home" homed
	same "unmapped extents" "$(on home - "$FIRST" 10)" 10
	msg home homing on zero
	within 30 "zeros are there" homed
	same "unmapped extents" "$(on home - "$FIRST" 10)" 0
}

# First writes go home, and those without a home to the fast member.
test_first_writes() {
	begin migration off
	msg home homing on
	same "fields of homing" "$(left)" "0 0"
	fill 0 "$ALL"
	within 30 "everything is at home" homed
	same "extents that are not at home" "$(astray)" 0
	same "extents on fast" "$(on home fast 0 "$ALL")" $((ALL - END + FIRST))
	same "moves" "$(status home promotions demotions)" "0 0"
	verify
	raw
	again
}

test_off_and_refusals() {
	begin migration off
	fill 0 $((ALL / 2))
	refused "homing: not on, on zero, or off" msg home homing
	refused "homing: not on, on zero, or off" msg home homing on one
	refused "homing: not on, on zero, or off" msg home homing maybe
	msg home homing off
	msg home fence fast 0 0
	refused "homing: there is a fence; send fence off first" msg home homing on
	msg home fence off
	msg home homing on
	refused "promote: homing is on; send homing off first" msg home promote 0-1
	refused "demote: homing is on; send homing off first" msg home demote 0-1
	refused "fence: homing is on; send homing off first" msg home fence fast 0 0
	within 60 "everything is at home" homed
	# it stays while the set is suspended, but not when it is closed
	dmsetup suspend home
	refused "Resource temporarily unavailable" msg home homing off
	dmsetup resume home
	same "fields of homing" "$(left)" "0 0"
	msg home homing off
	same "fields of homing" "$(left)" ""
	same "promoted" "$(msg home promote "$FIRST-$((FIRST + 3))")" "4 0 0 0"
	msg home homing on
	close home
	again
	close home
	# the tool passes over these fields
	good fusionctl open home "$FAST" "$SLOW"
	msg home homing on
	good fusionctl status home
	close home
	dm home "$(table)" --readonly
	refused "Read-only file system" msg home homing on
}

run_tests
