#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The message fence: a range of slots becomes empty while there is I/O, and stays so; no data is
# lost, and the range is refused if there is no room elsewhere.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/fence

# begin EXTENT FAST_MIB SLOW_MIB: a set with stamped data at its beginning and its end, so that both
# ends of either member are in use, and with nothing in the quarter between
begin() {
	local all
	members "$2" "$3"
	format --extent-size "$1"
	fusion fence idle 100 commit_interval 100 replica_interval 2
	all=$(status fence extents)
	EXTENT=$(($(sb extent_sectors) * 512))
	FIRST=$((all * 3 / 8)) LAST=$((all * 5 / 8)) ALL=$all
	fusion-stamp fill $SET --state "$TMP/first" --size $((FIRST * EXTENT))
	fusion-stamp fill $SET --state "$TMP/last" --offset $((LAST * EXTENT)) \
		--size $(((ALL - LAST) * EXTENT))
}

verify() {
	fusion-stamp verify $SET --state "$TMP/first" --size $((FIRST * EXTENT))
	fusion-stamp verify $SET --state "$TMP/last" --offset $((LAST * EXTENT)) \
		--size $(((ALL - LAST) * EXTENT))
	same mode "$(status fence mode needs_check)" "rw -"
}

# load: reads and writes of what is there, but no first writes, and moves on request
load() {
	background fusion-stamp run $SET --state "$TMP/first" --size $((FIRST * EXTENT)) \
		--seconds 600 --mix 40:35:10:0:0:5
	LOAD=$REPLY
	background storm fence
	STORM=$REPLY
}

# inside MEMBER FIRST LAST: how many extents lie in these slots
inside() {
	places fence | awk -v member="$1" -v first="$2" -v last="$3" \
		'$2 == member && $3 >= first && $3 <= last { n++ } END { print n + 0 }'
}

# ends: both ends of either member, an eighth of it each
ends() {
	local fast slow first
	fast=$(sb nr_fast_slots) slow=$(sb nr_slow_slots) first=$(sb slow_first_slot)
	echo "fast 0 $((fast / 8 - 1))"
	echo "fast $((fast - fast / 8)) $((fast - 1))"
	echo "slow $first $((first + slow / 8 - 1))"
	echo "slow $((first + slow - slow / 8)) $((first + slow - 1))"
}

empty() {
	[[ $(status fence fence_used) == 0 ]]
}

# something_in MEMBER FIRST LAST: sets WAS to the number of extents there
something_in() {
	WAS=$(inside "$@")
	[[ $WAS -gt 0 ]]
}

# evacuates MEMBER FIRST LAST: these slots become empty, an event says so, and they stay empty
evacuates() {
	local before event
	# The moves on request may have emptied it just now; others go there next.
	within 60 "an extent lies in $*" something_in "$@"
	before=$(counter fence evacuated)
	event=$(dmsetup info -c --noheadings -o events fence)
	msg fence fence "$@"
	same "slots of the fence" "$(status fence fence_slots)" $(($3 - $2 + 1))
	limited 120 dmsetup wait fence "$event" >/dev/null || fail "$*: no event"
	empty || fail "$*: an event, and $(status fence fence_used) slots are in use"
	say "$*: $WAS extents inside, $(($(counter fence evacuated) - before)) were moved"
	sleep 2
	same "extents in $*" "$(inside "$@")" 0
	same "slots in use in $*" "$(status fence fence_used)" 0
	refused "send fence off first" msg fence fence fast 0 0
	msg fence fence off
	same "slots of the fence" "$(status fence fence_slots)" 0
}

# all_ends EXTENT FAST_MIB SLOW_MIB
all_ends() {
	local range moves
	begin "$@"
	load
	while read -ra range; do
		evacuates "${range[@]}"
	done < <(ends)
	finish "$LOAD"
	finish "$STORM"
	read -ra moves < <(status fence promotions demotions)
	at_least promotions "${moves[0]}" 1
	at_least demotions "${moves[1]}" 1
	verify
	close fence
	fusion fence
	verify
}

test_small_extents() {
	all_ends 64K 24 72
}

test_large_extents() {
	all_ends 1M 72 144
}

# Partial extents are completed and moved, and extents stay on their member if it has room.
test_idle_and_partial() {
	local first last
	members 24 72
	format --extent-size 64K
	fusion fence migration off
	put $SET 7 0 $((20 << 16))
	put $SET 9 $((20 << 16)) 4096
	last=$(($(sb nr_fast_slots) / 2))
	same "extents inside" "$(inside fast 0 $last)" 21
	msg fence fence fast 0 $last
	within 30 "it is empty" empty
	same "extents inside" "$(inside fast 0 $last)" 0
	# to slots of the same member
	same "on the fast member" "$(on fence fast 0 21)" 21
	same "moves between members" "$(status fence promotions demotions)" "0 0"
	same "moved" "$(counter fence evacuated)" 21
	first=$(sb slow_first_slot)
	msg fence fence off
	msg fence demote 0-20
	within 30 "slots are free" settled fence
	msg fence fence slow "$first" $((first + 30))
	within 30 "it is empty" empty
	same "on the slow member" "$(on fence slow 0 21)" 21
	same "extents inside" "$(inside slow "$first" $((first + 30)))" 0
}

# The other member takes what has no room besides the spares.
test_other_member() {
	local fast extents
	members 24 72
	format --extent-size 64K
	fusion fence migration off
	fast=$(sb nr_fast_slots)
	put $SET 7 0 $((fast << 16))
	extents=$(on fence fast 0 "$fast")
	msg fence fence fast 0 $((fast - 1))
	within 60 "it is empty" empty
	same "on the slow member" "$(on fence slow 0 "$fast")" "$fast"
	same "demotions" "$(status fence demotions)" "$extents"
	# new data goes past it
	put $SET 8 $((fast << 16)) $((20 << 16))
	same "on the slow member" "$(on fence slow "$fast" 20)" 20
	msg fence fence off
	same "moved" "$(msg fence promote 0-9)" "10 0 0 0"
}

# A full set has no room. First writes may not use the room inside, but get it back with "off".
test_no_room() {
	local all fast first
	members 24 72
	format --extent-size 64K
	fusion fence
	all=$(status fence extents) fast=$(sb nr_fast_slots) first=$(sb slow_first_slot)
	put $SET 7 0 $((all << 16))
	refused "extents need room" msg fence fence slow "$first" $((first + 63))
	refused "extents need room" msg fence fence fast 0 $((fast - 1))
	same "slots of the fence" "$(status fence fence_slots)" 0
	refused "the fast member has slots 0 to $((fast - 1))" msg fence fence fast 0 "$fast"
	refused "the slow member has slots $first to" msg fence fence slow 0 "$first"
	refused "the last slot comes before the first one" msg fence fence fast 1 0
	refused "not a member, fast or slow" msg fence fence both 0 1
	refused "not a number of a slot" msg fence fence fast 0 x
	refused "not fast|slow <first slot> <last slot>, or off" msg fence fence on
	msg fence fence off

	blkdiscard -o 0 -l $((200 << 16)) $SET
	within 30 "slots are free" settled fence
	msg fence checkpoint
	msg fence fence slow "$first" $((first + 63))
	within 60 "it is empty" empty
	if put $SET 7 0 $((200 << 16)) 2>/dev/null; then
		fail "64 slots are fenced, and the set could be filled"
	fi
	msg fence fence off
	put $SET 7 0 $((200 << 16))
	same "mode" "$(status fence mode needs_check)" "rw -"
}

# It is in memory only, and fusionctl shows it.
test_until_close() {
	members 24 72
	opened fence --extent-size 64K
	msg fence fence fast 0 9
	dmsetup suspend fence
	refused "Resource temporarily unavailable" msg fence fence off
	dmsetup resume fence
	same "slots of the fence" "$(status fence fence_slots)" 10
	good fusionctl status fence --json
	json '.sets[0].fence_slots, .sets[0].fence_used' $'10\n0'
	good fusionctl status fence
	shows "fence    0 of 10 slots are not empty yet"
	close fence
	good fusionctl open fence "$FAST" "$SLOW"
	same "slots of the fence" "$(status fence fence_slots)" 0
}

run_tests
