#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members of many sizes, extents of every size, sectors of 512 and 4096 bytes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/geometry
GUARD=$((1 << 20))

# tail_sum DEV: a checksum of the part that may never hold data
tail_sum() {
	dd if="$1" iflag=skip_bytes bs=64K skip=$(($(blockdev --getsize64 "$1") - GUARD)) \
		status=none | md5sum
}

# try FAST_BYTES FAST_SECTOR SLOW_BYTES SLOW_SECTOR EXTENT [OPS]
try() {
	local fast slow want extent sector
	say "fast $1/$2, slow $3/$4, extents of $5"
	loop "$1" "$2"
	FAST=$REPLY
	loop "$3" "$4"
	SLOW=$REPLY
	if [[ -z ${6:-} ]]; then
		stale "$FAST"
		stale "$SLOW"
	fi
	format --extent-size "$5"
	extent=$(($(sb extent_sectors) * 512))
	fast=$(tail_sum "$FAST")
	slow=$(tail_sum "$SLOW")
	fusion geometry
	sector=$2
	[[ $4 -lt $2 ]] || sector=$4
	same "logical block size" "$(blockdev --getss "$SET")" "$sector"
	want=$(($(sb nr_fast_slots) + $(sb nr_slow_slots) - $(sb spare_fast) - $(sb spare_slow)))
	same "extents" "$(sb nr_lexts)" $want
	same "size" "$(blockdev --getsize64 "$SET")" $((want * extent))
	if [[ ${6:-} ]]; then
		fusion-stamp run "$SET" --state "$TMP/state" --max-io 64k --ops "$6" \
			--extent $extent >/dev/null
	else
		fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 >/dev/null
	fi
	msg geometry demote 0-$((want - 1)) >/dev/null
	msg geometry promote $((want / 2))-$((want - 1)) >/dev/null
	close geometry
	fusion geometry
	fusion-stamp verify "$SET" --state "$TMP/state" >/dev/null
	close geometry
	same "tail of the fast member" "$(tail_sum "$FAST")" "$fast"
	same "tail of the slow member" "$(tail_sum "$SLOW")" "$slow"
	rm "$TMP/state"
	unloop "$FAST" "$SLOW"
}

K=1024 M=$((1024 * 1024))

test_smallest() {
	try $((64 * 64 * K)) 512 $((64 * 64 * K)) 512 64K
	try $((64 * 64 * K)) 4096 $((64 * 64 * K)) 4096 64K
	[[ ! $QUICK ]] || return 0
	try $((64 * 64 * K)) 512 $((300 * 64 * K)) 512 64K
	try $((64 * 128 * K)) 512 $((64 * 128 * K)) 512 128K
	try $((64 * M)) 512 $((64 * M)) 512 1M
}

long_odd_sizes() {
	try $((17 * M + 512)) 512 $((31 * M + 3 * 512)) 512 64K
	try $((17 * M + 4096)) 4096 $((31 * M + 3 * 4096)) 4096 64K
	try $((33 * M + 511 * 512)) 512 $((34 * M + 2047 * 512)) 512 256K
	try $((65 * M - 512)) 512 $((95 * M - 512)) 512 512K
}

long_sector_sizes() {
	try $((32 * M)) 512 $((64 * M)) 4096 128K
	try $((32 * M)) 4096 $((64 * M)) 512 128K
	try $((32 * M)) 4096 $((64 * M)) 4096 128K
}

# the fast member may be the bigger one
test_fast_is_bigger() {
	try $((64 * M)) 512 $((8 * M)) 512 64K
}

long_big_extents() {
	try $((130 * M)) 512 $((200 * M)) 512 2M 500
	try $((260 * M)) 512 $((400 * M)) 4096 4M 500
	try $((520 * M)) 4096 $((800 * M)) 512 8M 500
	try $((1024 * M)) 512 $((1030 * M)) 512 16M 500
}

# a member that takes no whole number of blocks at a time: bios are cut between blocks, or each
# first write would have to complete two of them with zeros
test_cut_between_blocks() {
	local before written dm
	members 24 32 max_sectors=60
	format --extent-size 256K
	fusion cut migration off
	dm=/sys/dev/block/$(dmsetup info -c --noheadings --separator : -o major,minor cut)
	same "KiB in a bio" "$(<"$dm/queue/max_sectors_kb")" 28
	before=$(io_of "$FAST" | cut -d ' ' -f 2)
	dd if=/dev/urandom of=/dev/mapper/cut bs=256k count=1 oflag=direct status=none
	written=$(($(io_of "$FAST" | cut -d ' ' -f 2) - before))
	# and a commit, perhaps
	at_most "writes for 256 KiB" $written $((256 / 28 + 1 + 3))
}

# one extent fewer than 64 is refused
test_too_small() {
	loop $((64 * 64 * K - 4096))
	FAST=$REPLY
	loop $((64 * 64 * K))
	SLOW=$REPLY
	refused "fast" fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" \
		--extent-size 64K
	refused "slow" fusionctl format --yes --force --fast "$SLOW" --slow "$FAST" \
		--extent-size 64K
}

run_tests
