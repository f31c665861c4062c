#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Reads return written data while every extent moves all the time.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# seconds FULL: a run of the tester
seconds() {
	[[ $QUICK ]] && echo 8 || echo "$1"
}

# torture NAME SECONDS [OPTION]...: the tester against a storm of moves, and another check after
# close and open. A slow machine gets up to four times as long for its moves; their required number
# is the same everywhere.
torture() {
	local name=$1 extent moves sectors round least=$(($2 * 2))
	[[ ! $QUICK ]] || least=1
	extent=$(($(sb extent_sectors) * 512))
	sectors=$(($(sb extent_sectors) * $(sb nr_lexts)))
	same "size of $name" "$(sectors_of "/dev/mapper/$name")" "$sectors"
	background storm "$name"
	local storm=$REPLY
	for round in 1 2 3 4; do
		fusion-stamp run "/dev/mapper/$name" --state "$TMP/state" --seconds "$2" \
			--extent "$extent" "${@:3}"
		read -ra moves < <(status "$name" promotions demotions cancelled)
		say "$((round * $2)) s, ${moves[0]} promotions, ${moves[1]} demotions," \
			"${moves[2]} cancelled"
		[[ ${moves[0]} -lt $least || ${moves[1]} -lt $least ]] || break
	done
	finish "$storm"
	at_least promotions "${moves[0]}" "$least"
	at_least demotions "${moves[1]}" "$least"
	same mode "$(status "$name" mode needs_check)" "rw -"
	fusion-stamp verify "/dev/mapper/$name" --state "$TMP/state"
	close "$name"
	fusion "$name"
	fusion-stamp verify "/dev/mapper/$name" --state "$TMP/state"
}

# 512-byte sectors; members that complete in the submitter's context
test_sectors_512() {
	members 24 72
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion integrity
	torture integrity "$(seconds 90)"
}

# 4096-byte sectors; members that complete from a timer, some time later
test_sectors_4096() {
	members 24 72 blocksize=4096 irqmode=2 completion_nsec=200000
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion integrity
	same "logical block size" "$(blockdev --getss /dev/mapper/integrity)" 4096
	torture integrity "$(seconds 90)" --threads 8
}

# extents of 1 MiB with commits as often as possible
long_big_extents() {
	members 72 100 irqmode=2 completion_nsec=50000
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 1M
	fusion integrity commit_interval 10
	torture integrity "$(seconds 60)" --threads 8 --max-io 4m
}

# one member 512, the other 4096, on loop devices; the policy also moves extents
long_mixed_sectors() {
	loop 24M 4096
	FAST=$REPLY
	loop 72M 512
	SLOW=$REPLY
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 128K
	fusion integrity half_life 1 duty 100 idle 0
	torture integrity "$(seconds 60)"
}

# the tester itself must notice one wrong byte in 200 MiB
test_tester_sees_a_flipped_byte() {
	local slot offset byte
	members 24 72
	format --extent-size 64K
	fusion integrity
	fusion-stamp fill /dev/mapper/integrity --state "$TMP/state" --threads 1
	read -r _ _ _ slot _ < <(msg integrity map 900 1)
	same "member of extent 900" "$(msg integrity map 900 1 | cut -d ' ' -f 3)" slow
	close integrity
	offset=$((slot * 65536 + 12345))
	byte=$(od -An -tu1 -j "$offset" -N 1 "$SLOW")
	put "$SLOW" "$(printf %03o $((byte ^ 255)))" "$offset" 1
	fusion integrity
	if fusion-stamp verify /dev/mapper/integrity --state "$TMP/state" 2>"$TMP/said"; then
		fail "a byte was changed and the tester did not see it"
	fi
	has "what the tester says" "$(<"$TMP/said")" \
		"sector $((900 * 128 + 12345 / 512)) (block"
}

run_tests
