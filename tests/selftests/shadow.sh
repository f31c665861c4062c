#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The slow slot of a promoted extent is kept until it is needed; what was written to the fast member is
# copied in idle time. As long as the extent is not written to, it is demoted without a copy; no write
# fails because of it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/shadow.sh
. "$here/lib/shadow.sh"

# amount DEV READ|WRITTEN: KiB that the device has read or written so far
amount() {
	local stat
	read -ra stat <"/sys/class/block/$(basename "$(readlink -f "$1")")/stat"
	[[ $2 == read ]] && echo $((stat[2] / 2)) || echo $((stat[6] / 2))
}

test_demoted_without_a_copy() {
	local read written used
	begin
	used=$(status shadow used_slow)
	up
	within 10 "shadows are kept" kept $NR $NR
	same "slow slots used" "$(status shadow used_slow)" $((used - NR))
	same "watched" "$(msg shadow map 0 $NR | awk '$5 == "watched" { n += $2 } END { print n }')" $NR
	read=$(amount "$FAST" read) written=$(amount "$SLOW" written)
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	say "read $(($(amount "$FAST" read) - read)) KiB, wrote" \
		"$(($(amount "$SLOW" written) - written)) KiB for $((NR * EXTENT / 1024)) KiB"
	at_most "KiB read from fast" $(($(amount "$FAST" read) - read)) 256
	at_most "KiB written to slow" $(($(amount "$SLOW" written) - written)) 256
	same "demotions without a copy" "$(status shadow demotions_free)" $NR
	same "shadows" "$(status shadow shadows_current shadows)" "0 0"
	same "slow slots used" "$(status shadow used_slow)" "$used"
	verify
	# and it is so for the next opening
	close shadow
	fusion shadow migration off
	verify
}

# those that were written to are copied
test_written_to() {
	begin
	up
	within 10 "shadows are kept" kept $NR $NR
	stamp fill few 0 16
	same "shadows" "$(status shadow shadows_current shadows)" "$((NR - 16)) $NR"
	# a part that is discarded, or zeroed, counts as written
	fallocate --zero-range --offset $((20 * EXTENT)) --length 4096 $SET
	same "shadows" "$(status shadow shadows_current shadows)" "$((NR - 17)) $NR"
	stamp fill many 16 $NR
	same "shadows" "$(status shadow shadows_current shadows)" "0 $NR"
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	same "demotions without a copy" "$(status shadow demotions_free)" 0
	verify
}

test_discarded() {
	begin
	up
	within 10 "shadows are kept" kept $NR $NR
	blkdiscard --offset 0 --length $((16 * EXTENT)) $SET
	within 10 "shadows went" kept $((NR - 16)) $((NR - 16))
	stamp fill few 0 16
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	same "demotions without a copy" "$(status shadow demotions_free)" $((NR - 16))
	verify
}

# the set can be filled as without, to the last extent; then there is no slot for shadows
test_filled() {
	begin
	up
	within 10 "shadows are kept" kept $NR $NR
	fusion-stamp fill $SET --state "$TMP/rest" --offset $((NR * EXTENT)) \
		--size $(((ALL - NR) * EXTENT))
	same "extents mapped" "$(status shadow mapped)" "$ALL"
	same "free slots" "$(($(status shadow total_fast) - $(status shadow used_fast) +
		$(status shadow total_slow) - $(status shadow used_slow)))" \
		$(($(sb spare_fast) + $(sb spare_slow)))
	at_least "shadows given up" "$(counter shadow shadows_dropped)" \
		$((NR - $(sb spare_fast) - $(sb spare_slow)))
	verify
	fusion-stamp verify $SET --state "$TMP/rest" --offset $((NR * EXTENT)) \
		--size $(((ALL - NR) * EXTENT))
}

# what is flushed on the fast member does not flush the slow one
test_flushes() {
	local before
	begin
	up
	sync $SET
	before=$(status shadow slow_flushes)
	dd if=/dev/urandom of=$SET bs=4k count=32 oflag=direct,sync conv=notrunc status=none
	sync $SET
	same "flushes of the slow member" "$(status shadow slow_flushes)" "$before"
}

test_off_and_forgotten() {
	begin
	up
	within 10 "shadows are kept" kept $NR $NR
	msg shadow shadow off
	within 10 "none is kept" kept 0 0
	msg shadow shadow on
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	same "demotions without a copy" "$(status shadow demotions_free)" 0
	verify
}

# over a suspend they stay current; after a close without shadow_age they are forgotten
test_suspended_and_closed() {
	begin
	up
	within 10 "shadows are kept" kept $NR $NR
	dmsetup suspend shadow
	dmsetup resume shadow
	same "shadows" "$(status shadow shadows_current shadows)" "$NR $NR"
	stamp fill few 0 16
	close shadow
	# shellcheck disable=SC2086 # words
	fusion shadow $BUSY
	same "shadows" "$(status shadow shadows_current shadows)" "0 0"
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	same "demotions without a copy" "$(status shadow demotions_free)" 0
	verify
	close shadow
	fusionctl check "$FAST" "$SLOW" >/dev/null || fail "check found errors"
}

# copied WANT: shadow_copies since the set was opened
copied() {
	same "copies" "$(counter shadow shadow_copies)" "$1"
}

# with shadow_age, what was current at a close is so at the next opening, and is not copied again
test_taken_over() {
	local current
	begin idle 100 shadow_age 10
	stamp fill few 0 16
	up
	within 30 "all have shadows" all_shadowed
	# one is out of date when the set is closed, and is not taken over
	msg shadow idle 60000
	dd if=/dev/urandom of=$SET bs=$EXTENT seek=$((NR - 1)) count=1 oflag=direct conv=notrunc,fsync \
		status=none
	stamp fill many 16 $NR
	current=$(status shadow shadows_current)
	at_least "shadows at the close" "$current" 16
	msg shadow point
	close shadow
	fusionctl check "$FAST" "$SLOW" >/dev/null || fail "check found errors"
	fusion shadow migration off idle 60000 shadow_age 10
	at_least "shadows" "$(status shadow shadows_current)" "$current"
	at_most "copies" "$(counter shadow shadow_copies)" $((NR - current))
	same "demoted" "$(msg shadow demote 0-15)" "16 0 0 0"
	same "demotions without a copy" "$(status shadow demotions_free)" 16
	verify
	same "promoted" "$(msg shadow promote 0-15)" "16 0 0 0"
	within 10 "shadows are kept" kept_at_least 16
	current=$(status shadow shadows_current)
	close shadow

	# in idle time only the others are copied
	fusion shadow migration off idle 100 shadow_age 10
	at_least "shadows" "$(status shadow shadows_current)" "$current"
	within 30 "all have shadows" all_shadowed
	at_most "copies" "$(counter shadow shadow_copies)" $((NR - current))
	verify

	# nothing is taken over from a set that was not closed
	cp --sparse=always "$FAST" "$TMP/fast"
	cp --sparse=always "$SLOW" "$TMP/slow"
	close shadow
	dd if="$TMP/fast" of="$FAST" bs=1M oflag=direct status=none
	dd if="$TMP/slow" of="$SLOW" bs=1M oflag=direct status=none
	fusion shadow migration off idle 100 shadow_age 10
	within 30 "all have shadows" all_shadowed
	copied $NR
	verify
	# nor without the setting
	close shadow
	fusion shadow migration off idle 60000
	same "shadows" "$(status shadow shadows_current shadows)" "0 0"
	verify
}

# fusionctl makes a point before it closes a set, so what was written just before takes nothing away
test_closed_by_fusionctl() {
	begin idle 60000 shadow_age 3600
	dmsetup rename shadow --setuuid "FUSION-$(uuid_of "$FAST")"
	up
	within 10 "shadows are kept" kept $NR $NR
	msg shadow checkpoint
	stamp fill few 0 16
	same "shadows" "$(status shadow shadows_current)" $((NR - 16))
	good fusionctl close shadow
	fusion shadow migration off idle 100 shadow_age 3600
	within 30 "all have shadows" all_shadowed
	copied 16
	verify
	# without one, nothing is handed over
	msg shadow idle 60000
	stamp fill few 0 16
	close shadow
	fusion shadow migration off idle 100 shadow_age 3600
	within 30 "all have shadows" all_shadowed
	copied $NR
	verify
	# and there are errors where there can be none
	dmsetup message shadow 0 point 2>"$TMP/err" || fail "a point of a set that has no shadows"
	msg shadow shadow_age 0
	! dmsetup message shadow 0 point 2>"$TMP/err" || fail "a point without shadow_age"
	has "error" "$(<"$TMP/err")" "Invalid argument"
}

# what is written to the fast member is copied, again after it was written to again; nothing moves
test_copied_when_idle() {
	local copies free
	begin idle 100 shadow_age 10
	# of the moves before, as many as have been copied by then
	free=$(status shadow demotions_free)
	stamp fill few 0 16
	same "promoted" "$(msg shadow promote 0-$((NR - 1)))" "$NR 0 0 0"
	within 30 "all have shadows" all_shadowed
	copies=$(counter shadow shadow_copies)
	stamp fill few 0 16
	within 30 "all have shadows again" all_shadowed
	at_least "copies" $(($(counter shadow shadow_copies) - copies)) 16
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	same "demotions without a copy" $(($(status shadow demotions_free) - free)) $NR
	verify
}

# says LINE: status has a line that matches
says() {
	fusionctl status shadow >"$TMP/said"
	grep -qx "$1" "$TMP/said" || fail "no line \"$1\" in: $(<"$TMP/said")"
}

# protected N: so many of the extents on the fast member are, and nothing was written since
protected() {
	[[ $(status shadow protected on_fast point_age) == "$1 $NR 0" ]]
}

# what is protected, and since when not, is what the replica on the disk has
test_protected() {
	local all age
	begin idle 100 shadow_age 5 replica_interval 1
	# by that fusionctl knows it
	dmsetup rename shadow --setuuid "FUSION-$(uuid_of "$FAST")"
	all=$((NR * EXTENT))
	says "protected nothing is on the fast member"
	up
	within 30 "all is protected" protected $NR
	says "protected 100 % of what is on the fast member, as of now"
	same "JSON" "$(fusionctl status shadow --json | jq -c '.sets[0].protected')" \
		"{\"extents\":$NR,\"bytes\":$all,\"fast_extents\":$NR,\"fast_bytes\":$all,\"percent\":100,\"metadata\":0,\"metadata_fast\":0,\"as_of\":0}"
	same "map" "$(fusionctl map shadow --json | jq '[.cells[].protected] | add')" "$NR"
	fusionctl monitor --prometheus - >"$TMP/metrics"
	has "metrics" "$(<"$TMP/metrics")" "fusion_protected_bytes{set=\"shadow\"} $all"
	has "metrics" "$(<"$TMP/metrics")" "fusion_protected_age_seconds{set=\"shadow\"} 0"
	# while nothing changes it does not grow old
	sleep 3
	same "protected" "$(status shadow protected on_fast point_age)" "$NR $NR 0"

	# written to, and not copied: the slow member has it as it was
	msg shadow shadow_age 86400
	stamp fill few 0 16
	same "protected" "$(status shadow protected on_fast)" "$NR $NR"
	sleep 3
	same "protected" "$(status shadow protected on_fast)" "$NR $NR"
	age=$(status shadow point_age)
	at_least "its age" "$age" 3
	at_most "its age" "$age" 60
	says "protected 100 % of what is on the fast member, as of [0-9]* s ago"
	# without a point nothing changes that
	msg shadow checkpoint
	same "protected" "$(status shadow protected on_fast)" "$NR $NR"
	at_least "its age" "$(status shadow point_age)" "$age"

	# what comes to the fast member, and is not copied yet, counts there only
	fusion-stamp fill $SET --state "$TMP/more" --offset $((NR * EXTENT)) --size $((16 * EXTENT))
	same "protected" "$(status shadow protected on_fast)" "$NR $((NR + 16))"
	fusionctl map shadow --color never >"$TMP/map"
	has "map" "$(<"$TMP/map")" "^: something of it would be lost with the fast member"
	same "marks" "$(grep -c '^ *^\+ *$' "$TMP/map")" 1
	has "doctor" "$(fusionctl doctor || :)" \
		"$((NR * 100 / (NR + 16))) % of what is on the fast member is protected"
	blkdiscard --offset $((NR * EXTENT)) --length $((16 * EXTENT)) $SET
	# and what is given up does not
	blkdiscard --offset $((16 * EXTENT)) --length $((8 * EXTENT)) $SET
	same "protected" "$(status shadow protected on_fast)" "$((NR - 8)) $((NR - 8))"
	stamp fill many 16 $NR

	# copied again, over a suspend as well
	msg shadow shadow_age 5
	within 60 "all is protected again" protected $NR
	dmsetup suspend shadow
	dmsetup resume shadow
	same "protected" "$(status shadow protected on_fast)" "$NR $NR"
	verify

	# with the setting turned off the replica names none
	msg shadow shadow_age 0
	says "protected nothing, as shadow_age is never; .*: fusionctl set shadow shadow_age=3m"
	stamp fill few 0 1
	msg shadow checkpoint
	same "protected" "$(status shadow protected on_fast point_age)" "0 $NR -"
	same "point" "$(counter shadow point)" 0
	msg shadow shadow off
	says "protected nothing, as shadow is off; .*: fusionctl set shadow shadow=on shadow_age=3m"
}

# swing: all of them go up and down, until killed
swing() {
	trap 'exit 0' TERM
	while :; do
		msg shadow promote 0-$((NR - 1))
		msg shadow demote 0-$((NR - 1))
	done >/dev/null 2>&1
}

# while extents go up and down, most of them are written and discarded
test_under_load() {
	local storm
	begin idle 100 commit_interval 100 replica_interval 2
	background swing
	storm=$REPLY
	fusion-stamp run $SET --state "$TMP/many" --offset $((16 * EXTENT)) \
		--size $(((NR - 16) * EXTENT)) --seconds 10 --mix 60:15:10:5:5:5
	kill "$storm"
	wait "$storm" || :
	say "$(status shadow demotions_free) of $(status shadow demotions) demotions without a copy"
	at_least "demotions without a copy" "$(status shadow demotions_free)" 1
	verify
}

run_tests
