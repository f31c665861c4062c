#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Copies of what is read from the slow member, in room that the landing log does not use.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

BLOCK=4096
SPOTS=20

# copies_set: 32 + 128 MiB in extents of 256K with a log of 12 MiB. The first 16 MiB have data that
# differ from block to block, and lie on the slow member. Nothing moves by itself.
copies_set() {
	need jq
	need_module dm-fusion
	two 32 128
	open_sets land
	good fusionctl create land --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K \
		--landing 12M
	good fusionctl set land migration=off idle=1m
	head -c 16M /dev/urandom >"$TMP/want"
	dd if="$TMP/want" of=/dev/mapper/land bs=1M oflag=direct conv=notrunc status=none
	good fusionctl demote land 0-63
}

# spot I: number of a block; they lie far from each other, and are no stream
spot() {
	echo $(($1 * 7 % SPOTS * 200))
}

# read_spots: each of them, past the page cache; it has what it should
read_spots() {
	local i
	for ((i = 0; i < SPOTS; i++)); do
		dd if=/dev/mapper/land bs=$BLOCK skip="$(spot "$i")" count=1 iflag=direct \
			status=none >"$TMP/is"
		dd if="$TMP/want" bs=$BLOCK skip="$(spot "$i")" count=1 status=none >"$TMP/should"
		cmp "$TMP/is" "$TMP/should" || fail "spot $i has other data"
	done
}

# write_spot I OFFSET BYTES: new data in a part of it, or in all of it
write_spot() {
	head -c "$3" /dev/urandom >"$TMP/new"
	dd if="$TMP/new" of=/dev/mapper/land bs="$3" oflag=direct,seek_bytes conv=notrunc \
		seek=$(($(spot "$1") * BLOCK + $2)) status=none
	dd if="$TMP/new" of="$TMP/want" bs="$3" oflag=seek_bytes conv=notrunc \
		seek=$(($(spot "$1") * BLOCK + $2)) status=none
}

# slow_reads: what the slow member has been asked for so far
slow_reads() {
	awk '{ print $1 }' "$(sysfs_of "$SLOW")/stat"
}

# copies FIELD: a number of the stats message
copies() {
	dmsetup message land 0 stats | awk -v field="$1" '$1 == field { print $2 }'
}

# warm: all spots have copies
warm() {
	local i
	read_spots
	for ((i = 0; i < 100; i++)); do
		[[ $(copies copies) -lt $SPOTS ]] || return 0
		sleep 0.1
	done
	fail "$(copies copies) of $SPOTS blocks have copies"
}

# listed: the list of stale blocks has been read and written, which lies on the slow member
listed() {
	local i
	for ((i = 0; i < 100; i++)); do
		[[ $(copies log_unlisted) -gt 0 ]] || return 0
		sleep 0.1
	done
	fail "the list of stale blocks is late"
}

# What was read once is read from the fast member, until the set is closed.
test_second_read() {
	local before
	copies_set
	warm
	listed
	before=$(slow_reads)
	read_spots
	same "reads of the slow member" "$(slow_reads)" "$before"
	same "reads of copies" "$(copies copies_read)" $SPOTS
	good fusionctl status land --json
	json '.sets[0].landing_log | .copies, .copies_read, .copies_made' $'20\n20\n20'
	good fusionctl close land
	good fusionctl check land
	good fusionctl open land
	same "copies" "$(copies copies)" 0
	read_spots
}

# Whatever changes a block ends its copy.
test_changes() {
	copies_set
	warm
	write_spot 0 0 $BLOCK
	write_spot 1 512 1024
	write_spot 2 0 512
	write_spot 3 0 $BLOCK
	read_spots
	good fusionctl drain land
	read_spots
	warm
	good fusionctl promote land 0-63
	read_spots
	write_spot 4 0 $BLOCK
	write_spot 5 0 512
	good fusionctl demote land 0-63
	read_spots
	warm
	blkdiscard -o 0 -l $((256 << 10)) /dev/mapper/land
	put "$TMP/want" 0 0 $((256 << 10))
	read_spots
}

# The log takes its room back.
test_taken_back() {
	local i at
	copies_set
	warm
	for ((i = 0; i < 220; i++)); do
		at=$((i * 101 % 251 << 16))
		put_direct /dev/mapper/land $((i + 1)) $at $((64 << 10))
		put "$TMP/want" $((i + 1)) $at $((64 << 10))
	done
	read_spots
	cmp "$TMP/want" -n $((16 << 20)) /dev/mapper/land || fail "the set has other data"
	good fusionctl drain land
	cmp "$TMP/want" -n $((16 << 20)) /dev/mapper/land || fail "the set has other data"
	read_spots
}

run_tests
