#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One member fails at one step of the landing log: its flush, that of the drain, a part of a block,
# a promotion, the stale list, copies of reads, the opening. Nothing flushed is lost, users hear of
# what fails, and the set goes on, at the latest when it is opened again. landing-faults.sh has the
# drain and the log as a whole, and members that vanish.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"
# shellcheck source=lib/areas.sh
. "$here/lib/areas.sh"
SET=/dev/mapper/landing

# stale_list: first sector of the list, and how many
stale_list() {
	local places
	places=$(fusion-peek "$FAST" super 1092 4)
	echo "$(($(fusion-peek "$FAST" super 1096 8) * 8)) $(((2 + 2 * places) * 8))"
}

# slow_slots: as fast_slots, behind the stale list
slow_slots() {
	local first nr
	read -r first nr < <(stale_list)
	first=$(((first + nr + 127) / 128 * 128))
	echo "$first $(($(sectors_of /dev/slow) - first - 2048))"
}

# bad_log, bad_slots, bad_list: all I/O there fails
bad_log() {
	# shellcheck disable=SC2046 # words
	bad_sectors fast $(fast_slots)
}

bad_slots() {
	# shellcheck disable=SC2046 # words
	bad_sectors slow $(slow_slots)
}

bad_list() {
	# shellcheck disable=SC2046 # words
	bad_sectors slow $(stale_list)
}

# no_writes MEMBER FIRST COUNT: writes there fail, and flushes of the whole member if it has a cache
no_writes() {
	patched "$1" "$2" "$3" flakey "/dev/$1" "$2" 0 86400 1 error_writes
}

# no_flushes MEMBER: flushes fail, all else goes well
no_flushes() {
	no_writes "$1" $(($(sectors_of "/dev/$1") - 16)) 8
}

# cached LOG_SIZE [OPTION VALUE]...: a set whose members have volatile caches
cached() {
	switched 16 48
	LANDING=$1 format --extent-size 64K
	fusion landing "${@:2}"
}

# landed: there are blocks in the log, and they are flushed
landed() {
	small --ops 100 --mix 0:10:0:0:0:1 --max-io 4k >/dev/null
	sync "$SET"
	at_least "blocks in the log" "$(log_has blocks)" 10
}

# well [OPTION]...: it is rw, reads as it must, is drained, and takes blocks again. A flush that has
# failed is remembered: CHECK=needs_check.
well() {
	local before
	same "mode" "$(status landing mode needs_check)" "rw ${CHECK:--}"
	verified "$@"
	drained
	same "blocks in the log" "$(log_has blocks)" 0
	verified
	before=$(log_has landed)
	msg landing demote 0-$(($(status landing extents) - 1)) >/dev/null
	sync "$SET"
	small --ops 300 --mix 0:10:0:0:0:1 --max-io 4k >/dev/null
	at_least "blocks that landed" $(($(log_has landed) - before)) 10
	verified
}

# logged_block: extent and block of one that is in the log
logged_block() {
	msg landing logged 0 1000 | awk 'NR == 1 { print $1, $2 }'
}

# sector N: checksum of a sector of the set; write_sector N ID: another one
sector() {
	dd if="$SET" bs=512 skip="$1" count=1 iflag=direct status=none | md5sum
}

write_sector() {
	put_direct "$SET" "$2" $(($1 * 512)) 512
}

# -- flushes -------------------------------------------------------------------------

# What the drain has written is not durable, so nothing that was drained may leave the log.
test_drain_cannot_flush() {
	local blocks
	cached 6M "${QUIET[@]}"
	all_slow
	landed
	blocks=$(log_has blocks)
	no_flushes slow
	mark
	if limited 60 dmsetup message landing 0 drain 2>"$TMP/said"; then
		fail "a drain went well that cannot flush"
	fi
	logged "a flush failed"
	same "mode" "$(status landing mode)" ro
	same "blocks in the log" "$(log_has blocks)" "$blocks"
	verified
	close landing
	power_on
	fusion landing "${QUIET[@]}"
	CHECK=needs_check well --power-cut
}

# A flush that does not reach the log must not succeed.
test_log_cannot_be_flushed() {
	cached 6M "${QUIET[@]}"
	all_slow
	landed
	no_flushes fast
	small --ops 100 --mix 0:10:0:0:0:0 --max-io 4k --until-error >/dev/null 2>&1
	if sync "$SET" 2>"$TMP/said"; then
		fail "a flush went well that does not reach the log"
	fi
	same "mode" "$(status landing mode)" ro
	close landing
	power_on
	fusion landing "${QUIET[@]}"
	CHECK=needs_check well --power-cut
}

# -- parts of blocks, promotions -------------------------------------------------------

# one_logged: a block in the log, with its own content; sets at, its first sector
one_logged() {
	local lext
	lext=$(places landing | awk '$2 == "slow" && !n++ { print $1 }')
	at=$((lext * 128 + 64))
	# the rest of the set has stamps
	put_direct "$SET" 101 $((at * 512)) 4096
	sync "$SET"
	same "blocks in the log" "$(log_has blocks)" 1
}

test_part_of_block_cannot_be_read() {
	local at before other
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	one_logged
	before=$(sector $((at + 1)))
	other=$(sector $((at + 2)))
	bad_log
	if write_sector $((at + 1)) 102 2>"$TMP/said"; then
		fail "a part of a block was written whose rest cannot be read"
	fi
	same "mode" "$(status landing mode needs_check)" "rw -"
	heal
	same "the part" "$(sector $((at + 1)))" "$before"
	write_sector $((at + 1)) 102
	differ "the part" "$(sector $((at + 1)))" "$before"
	same "the rest" "$(sector $((at + 2)))" "$other"
	before=$(sector $((at + 1)))
	drained
	same "the part" "$(sector $((at + 1)))" "$before"
	same "the rest" "$(sector $((at + 2)))" "$other"
}

# The block does not get back into the log: it goes to the slow member.
test_part_of_block_cannot_land() {
	local at before other
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	one_logged
	before=$(sector $((at + 1)))
	other=$(sector $((at + 2)))
	# shellcheck disable=SC2046 # words
	no_writes fast $(fast_slots)
	mark
	write_sector $((at + 1)) 102
	logged "landing log: a write failed"
	same "mode" "$(status landing mode needs_check)" "rw -"
	differ "the part" "$(sector $((at + 1)))" "$before"
	same "the rest" "$(sector $((at + 2)))" "$other"
	before=$(sector $((at + 1)))
	heal
	reopened "${QUIET[@]}"
	same "the part" "$(sector $((at + 1)))" "$before"
	same "the rest" "$(sector $((at + 2)))" "$other"
	drained
	same "the part" "$(sector $((at + 1)))" "$before"
	same "the rest" "$(sector $((at + 2)))" "$other"
}

# promotes: promoting an extent with blocks in the log fails while a member does, and goes well then
promotes() {
	local lext moved
	read -r lext _ < <(logged_block)
	moved=$(msg landing promote "$lext" 2>"$TMP/said" | cut -d ' ' -f 1) || moved=0
	same "extents promoted" "${moved:-0}" 0
	same "extents on slow" "$(on landing slow "$lext" 1)" 1
	same "mode" "$(status landing mode needs_check)" "rw -"
	heal
	verified
	same "extents promoted" "$(msg landing promote "$lext" | cut -d ' ' -f 1)" 1
	verified
	well
}

test_promotion_cannot_use_fast() {
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	bad_log
	promotes
}

test_promotion_cannot_read_slow() {
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	bad_slots
	promotes
}

# the blocks can be read, but not be laid over the copy
test_promotion_cannot_write() {
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	# shellcheck disable=SC2046 # words
	no_writes fast $(fast_slots)
	promotes
}

# -- copies ------------------------------------------------------------------------------

# read_blocks: 16 blocks far from each other, from the slow member if they have no copies
read_blocks() {
	local i
	for ((i = 0; i < 16; i++)); do
		dd if="$SET" bs=4k skip=$((i * 7 % 16 * 64 + 5)) count=1 iflag=direct status=none
	done | md5sum
}

copies() {
	counter landing "copies$1"
}

has_copies() {
	[[ $(copies '') -ge $1 ]]
}

# A copy that cannot be read is no loss: the slow member has the block.
test_copies_cannot_be_read() {
	local want
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	want=$(read_blocks)
	within 10 "blocks have copies" has_copies 16
	bad_log
	same "what is read" "$(read_blocks)" "$want"
	at_least "copies that failed" "$(copies _failed)" 1
	at_least "errors" "$(status landing errors_fast)" 1
	same "mode" "$(status landing mode needs_check)" "rw -"
	heal
	same "what is read" "$(read_blocks)" "$want"
	well
}

# One that cannot be written is none.
test_copies_cannot_be_written() {
	local want
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	# shellcheck disable=SC2046 # words
	no_writes fast $(fast_slots)
	want=$(read_blocks)
	sleep 1
	at_least "copies that failed" "$(copies _failed)" 1
	same "what is read" "$(read_blocks)" "$want"
	same "copies" "$(copies '')" 0
	same "mode" "$(status landing mode needs_check)" "rw -"
	heal
	verified
	well
}

# -- the stale list, and opening -----------------------------------------------------------

listed() {
	[[ $(log_has unlisted) -eq 0 ]]
}

unlisted() {
	[[ $(log_has unlisted) -ge 3 ]]
}

# told TEXT: the kernel's log has it since mark
told() {
	grep -qF "$1" <<<"$(log)"
}

# Without a list the log goes on, and tells since when there is none; then the list is written.
test_stale_list_cannot_be_written() {
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	within 60 "all is listed" listed
	bad_list
	mark
	landed
	within 60 "blocks are not listed" unlisted
	within 60 "the kernel says so" told "stale list on the slow member: cannot be written"
	same "mode" "$(status landing mode needs_check)" "rw -"
	small --ops 100 >/dev/null
	sync "$SET"
	verified
	drained
	landed
	heal
	within 120 "all is listed" listed
	close landing
	checked_closed
	fusion landing "${QUIET[@]}"
	well

	# and when the set is closed meanwhile
	landed
	bad_list
	close landing
	heal
	fusion landing "${QUIET[@]}"
	within 120 "all is listed" listed
	well
}

# What is in the log cannot be read: the set is not opened, and nothing is lost.
test_opening_cannot_read_log() {
	local blocks
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	blocks=$(log_has blocks)
	close landing
	bad_log
	if dmsetup create landing --table "$(table "${QUIET[@]}")" 2>"$TMP/said"; then
		close landing
		fail "the set was opened without its log"
	fi
	dm_remove landing
	heal
	fusion landing "${QUIET[@]}"
	same "blocks in the log" "$(log_has blocks)" "$blocks"
	well
	landed

	# the stale list is no reason to refuse it
	close landing
	bad_list
	fusion landing "${QUIET[@]}"
	verified
	same "mode" "$(status landing mode needs_check)" "rw -"
	heal
	within 120 "all is listed" listed
	well
}

run_tests
