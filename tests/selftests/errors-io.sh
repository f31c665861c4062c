#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members that fail: errors reach the right user, moves give up, nothing hangs, and the set works
# again as soon as the member does.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/broken
EXTENT=65536

begin() {
	linked 16 32
	format --extent-size 64K
	fusion broken migration off
	EXTENTS=$(status broken extents)
}

heal() {
	swap fast
	swap slow
}

# slot LEXT: first sector of the extent on its member
slot() {
	local member slot
	read -r _ _ member slot _ < <(msg broken map "$1" 1)
	[[ $member == slow ]] || slot=$((slot + $(sb fast_data_start) / 128))
	echo $((slot * 128))
}

# io_error COMMAND...
io_error() {
	local out
	if out=$("$@" 2>&1); then
		fail "$*: expected an I/O error"
	fi
	has "$1" "$out" "Input/output error"
}

read_block() {
	dd if="$SET" of=/dev/null bs=4k skip=$(($1 * 16 + $2)) count=1 iflag=direct status=none
}

write_block() {
	dd if=/dev/zero of="$SET" bs=4k seek=$(($1 * 16 + $2)) count=1 oflag=direct status=none
}

test_slow_reads_fail() {
	local lext first used i
	begin
	# 32 extents less than all: room for moves
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $((EXTENTS * 64 - 2048))k
	sync "$SET"
	lext=$((EXTENTS - 50))
	same "member" "$(on broken slow $lext 1)" 1
	first=$(slot $lext)
	bad_sectors slow $((first + 64)) 8
	same "errors" "$(status broken errors_fast errors_slow)" "0 0"
	read_block $lext 7
	io_error read_block $lext 8
	read_block $lext 9
	same "errors" "$(status broken errors_fast errors_slow)" "0 1"
	same "mode" "$(status broken mode needs_check)" "rw -"

	# it cannot be moved and stays where it is; others can be moved
	same "demotions" "$(msg broken demote 0-15)" "16 0 0 0"
	within 20 "nothing waits" settled broken
	used=$(status broken used_fast)
	for i in 1 2 3; do
		same "promotion $i of a broken extent" \
			"$(limited 30 dmsetup message broken 0 promote $lext)" "0 0 0 1"
	done
	same "fast slots used, none is lost to a source that cannot be read" \
		"$(status broken used_fast)" "$used"
	same "errors" "$(status broken errors_fast errors_slow)" "0 4"
	same "promotion of its neighbour" "$(limited 30 dmsetup message broken 0 promote \
		$((lext + 1)))" "1 0 0 0"
	same "in flight" "$(status broken in_flight)" 0
	same "member" "$(on broken slow $lext 1)" 1
	same "mode" "$(status broken mode needs_check)" "rw -"
	heal
	same "promotion when well" "$(limited 30 dmsetup message broken 0 promote $lext)" "1 0 0 0"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# a move that cannot write its new slot leaves the extent where it was, and takes another slot the
# next time
test_target_of_a_move_fails() {
	local first
	begin
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size 16m
	sync "$SET"
	first=$(($(sb slow_first_slot) * 128))
	bad_sectors slow $first $((64 * 128))
	limited 60 dmsetup message broken 0 demote 0-3 >"$TMP/said" || fail "demote: status $?"
	say "demote said $(<"$TMP/said")"
	same "errors, one for each copy" "$(status broken errors_fast errors_slow)" \
		"0 $(awk '{ print $4 }' "$TMP/said")"
	fusion-stamp verify "$SET" --state "$TMP/state"
	same "in flight" "$(status broken in_flight)" 0
	same "mode" "$(status broken mode needs_check)" "rw -"
	fusion-stamp run "$SET" --state "$TMP/state" --ops 300 --mix 1:1:1:0:0:0
	heal
	limited 60 dmsetup message broken 0 demote 0-200 >"$TMP/said"
	at_least "extents on slow" "$(on broken slow 0 201)" 190
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# errors of data writes go to the user
test_writes_fail() {
	local first
	begin
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	sync "$SET"
	first=$(slot 5)
	bad_sectors fast "$first" 128
	io_error write_block 5 3
	write_block 6 3
	same "mode" "$(status broken mode needs_check)" "rw -"
	heal
	write_block 5 3
	same "mode" "$(status broken mode needs_check)" "rw -"
}

# A member fails writes but no flushes: partial extents appear there and cannot be completed. When
# the limit is reached, the next first write fails instead of waiting forever.
test_nothing_can_be_completed() {
	local limit first i
	linked 16 160
	format --extent-size 64K
	fusion broken migration off
	EXTENTS=$(status broken extents)
	limit=$(msg broken stats | sed -n 's/^open_limit //p')
	at_least "extents" "$EXTENTS" $((limit + 400))
	# the fast member is full, so first writes go to the slow one
	first=$(($(status broken total_fast) + 16))
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $((first * 64))k
	sync "$SET"
	bad_sectors slow $(($(sb slow_first_slot) * 128)) \
		$(($(sectors_of /dev/slow) - $(sb slow_first_slot) * 128 - 2048))
	for ((i = first; i < first + limit; i++)); do
		if write_block "$i" 3 2>/dev/null; then
			fail "a write to extent $i was acknowledged"
		fi
	done
	same "extents open" "$(status broken open)" "$limit"
	background write_block $((first + limit)) 3
	within 60 "another first write ends" no_process "$REPLY"
	if wait "$REPLY"; then
		fail "it was acknowledged"
	fi
	limited 60 sync "$SET"
	same "mode" "$(status broken mode needs_check)" "rw -"
	heal
	write_block $((first + limit)) 3
	limited 60 dmsetup suspend broken
	dmsetup resume broken
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# Completions that fail in idle time are tried again more and more rarely: the disk takes time for
# each, and logs errors. The other member is not held up.
test_completion_fails() {
	local bad=10 first i before
	begin
	# the fast member is full, so a first write goes to the slow one
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 \
		--size $((($(status broken total_fast) + 16) * 64))k
	first=$((EXTENTS - bad))
	for ((i = first; i < EXTENTS; i++)); do
		write_block "$i" 3
	done
	msg broken demote 0-9
	write_block $((first - 1)) 3
	sync "$SET"
	same "extents open" "$(status broken open)" $((bad + 1))
	same "of them on slow" "$(on broken slow $first $bad)" "$bad"
	same "and on fast" "$(on broken fast $((first - 1)) 1)" 1
	bad_sectors slow "$(slot $first)" $((bad * 128))
	within 30 "errors" counted "$bad"
	before=$(status broken errors_slow)
	sleep 15
	# rounds after 1, 2, 4 and 8 s, and the one under way
	at_most "errors of 15 s" $(($(status broken errors_slow) - before)) $((5 * bad))
	same "extents open" "$(status broken open)" "$bad"
	heal
	within 60 "completion" none_open
	same "mode" "$(status broken mode needs_check)" "rw -"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# counted N: the slow member has N errors
counted() {
	[[ $(status broken errors_slow) -ge $1 ]]
}

none_open() {
	[[ $(status broken open) == 0 ]]
}

# the map cannot be written: nothing more is acknowledged, and all data can still be read
test_journal_fails() {
	local start blocks
	begin
	# extent 0 is for data that never becomes durable
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 1500 --offset 64k
	write_block 0 0
	sync "$SET"
	start=$(sb journal_start)
	blocks=$(sb journal_blocks)
	bad_sectors fast $((start * 8)) $((blocks * 8))
	# a change of the map that a flush has to make durable
	blkdiscard -l $EXTENT "$SET" 2>/dev/null || :
	io_error sync "$SET"
	same "mode" "$(status broken mode)" ro
	same "needs_check" "$(status broken needs_check)" needs_check
	io_error write_block 9 1
	io_error dd if=/dev/zero of="$SET" bs=64k seek=$((EXTENTS - 1)) count=1 oflag=direct \
		status=none
	fusion-stamp verify "$SET" --state "$TMP/state"
	heal
	same "mode, which never gets better by itself" "$(status broken mode)" ro
	close broken
	fusion broken
	same "mode" "$(status broken mode)" rw
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# a commit fails while nothing waits for it: the next flush must not succeed
test_flush_after_failed_commit() {
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	sync "$SET"
	msg broken checkpoint
	bad_sectors fast $(($(sb journal_start) * 8)) $(($(sb journal_blocks) * 8))
	# a slow machine may have completed partial extents, and that commit failed
	dd if=/dev/urandom of="$SET" bs=4k seek=$((EXTENTS * 16 - 9)) count=1 oflag=direct \
		status=none || in_mode ro || fail "a write fails in mode $(status broken mode)"
	within 20 "the commit fails" in_mode ro
	io_error sync "$SET"
	io_error sync "$SET"
}

in_mode() {
	[[ $(status broken mode) == "$1" ]]
}

# the whole slow member is gone: data on the fast one can be read and written
test_slow_gone() {
	local i
	begin
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	sync "$SET"
	gone slow
	for ((i = 0; i < 100; i += 9)); do
		read_block $i 3
		write_block $i 3
	done
	io_error read_block $((EXTENTS - 40)) 1
	io_error write_block $((EXTENTS - 40)) 1
	sync "$SET" || say "flush fails without the slow member"
	limited 60 dmsetup message broken 0 promote $((EXTENTS - 10))-$((EXTENTS - 1)) >"$TMP/said" || :
	limited 60 dmsetup message broken 0 demote 0-9 >"$TMP/said" || :
	limited 60 dmsetup remove broken || fail "close: status $?"
	heal
	fusion broken
	for ((i = 0; i < 100; i += 9)); do
		read_block $i 4
	done
}

# some reads fail while everything moves; a block works again once it is written
long_read_errors_under_storm() {
	local storm i
	need_module dm-dust
	begin
	fusion-stamp fill "$SET" --state "$TMP/state"
	swap slow "0 $(sectors_of /dev/slow) dust /dev/slow 0 4096"
	background storm broken
	storm=$REPLY
	for ((i = 0; i < 60; i++)); do
		dmsetup message slow-link 0 addbadblock $((512 + i * 120)) >/dev/null
	done
	for ((i = 0; i < 4; i++)); do
		dmsetup message slow-link 0 enable
		fusion-stamp run "$SET" --state "$TMP/state" --seconds 3 --mix 4:1:0:0:0:0 \
			--until-error 2>"$TMP/said"
		dmsetup message slow-link 0 disable
		fusion-stamp verify "$SET" --state "$TMP/state"
	done
	finish "$storm"
	same "mode" "$(status broken mode needs_check)" "rw -"
}

run_tests
