# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sets with a landing log: how they are made, what is in the log, and how it is filled and emptied.
# For landing-*.sh.

# shellcheck disable=SC2034 # for these
SET=/dev/mapper/landing
# shellcheck disable=SC2034
QUIET=(migration off idle 60000)	# a quarter of the log is never drained by itself

# heal: members that swap() has replaced are whole again
heal() {
	swap fast
	swap slow
}

# fast_slots: first sector of all fast slots, and so of the log, and how many
fast_slots() {
	local first
	first=$(sb fast_data_start)
	echo "$first $(($(sectors_of /dev/fast) - first - 2048))"
}

# with_log FAST_MIB SLOW_MIB LOG_SIZE [OPTION VALUE]...: members behind links, and a set with a log.
# Its segments are as large as the extents: EXTENT (64K).
with_log() {
	linked "$1" "$2" irqmode=2 completion_nsec=100000
	stale "$FAST"
	stale "$SLOW"
	LANDING=$3 format --extent-size "${EXTENT:-64K}"
	fusion landing "${@:4}"
}

# all_slow: write as much of the set as the slow member has room for, and have all of that there. Of
# this part, fusion-stamp knows the content.
all_slow() {
	local extents
	extents=$(($(status landing total_slow) - $(sb spare_slow) - 16))
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 \
		--size $((extents * $(sb extent_sectors) * 512)) >/dev/null
	sync "$SET"
	msg landing demote 0-$((extents - 1)) >/dev/null
	same "extents on slow" "$(on landing slow 0 $extents)" $extents
	drained
}

# log_has KEY: blocks, segments, or drained
log_has() {
	counter landing "log_$1"
}

# drained: have the log drained, and see that nothing is left
drained() {
	limited 60 dmsetup message landing 0 drain || fail "drain: status $?"
}

# small OPTION...: random small writes, read again, and flushes
small() {
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --max-io 16k \
		--mix 10:60:0:0:0:2 "$@"
}

verified() {
	fusion-stamp verify "$SET" --state "$TMP/state" "$@" >/dev/null
}

# log_is CONDITION...: for `within`: log_is blocks -gt 0
log_is() {
	test "$(log_has "$1")" "$2" "$3"
}

# reopened [OPTION VALUE]...: close the set, and open it again
reopened() {
	close landing
	fusion landing "$@"
	same mode "$(status landing mode needs_check)" "rw -"
}

# checked_closed: the set has been closed, and nothing is wrong with it
checked_closed() {
	local rc=0
	fusionctl check "$FAST" "$SLOW" >"$TMP/said" 2>&1 || rc=$?
	same "status of fusionctl check ($(xargs <"$TMP/said"))" $rc 0
}
