#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The purpose of an access decides its weight: nothing for idle-class I/O, and twice for the
# metadata of a file system.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/urgency
EXTENTS=64

begin() {
	need fio
	members 32 64
	format --extent-size 256K
	fusion urgency migration off
	dd if=/dev/urandom of="$SET" bs=256k count=$EXTENTS oflag=direct conv=fsync status=none
}

# cools_down: forget the heat so far
cools_down() {
	msg urgency half_life 1
	within 30 "all is cold" coldest
	msg urgency half_life 86400
}

coldest() {
	[[ $(warm) -eq 0 ]]
}

# warm [LEAST [BELOW]]: number of extents with so much heat
warm() {
	msg urgency histogram | awk -v least="${1:-1}" -v below="${2:-65536}" '
		$1 >= least && $1 < below { n += $2 + $3 }
		END { print n + 0 }'
}

# reads CLASS: random reads everywhere, with this class of I/O priority (2 best effort, 3 idle)
reads() {
	fio --name=reads --filename="$SET" --readonly --rw=randread --bs=4k --direct=1 \
		--ioengine=psync --prioclass="$1" --size=$((EXTENTS * 256))k --norandommap \
		--time_based --runtime=2 --output="$TMP/fio"
}

test_background() {
	begin
	cools_down
	reads 3
	same "extents that a reader of class idle made warm" "$(warm)" 0
	reads 2
	at_least "extents that another one made warm" "$(warm)" $((EXTENTS * 3 / 4))
}

# uneven COUNT: number of extents whose heat is no multiple of COUNT
uneven() {
	msg urgency histogram | awk -v count="$1" '
		$1 > 0 && ($4 + $5) % count { n += $2 + $3 }
		END { print n + 0 }'
}

# Each block is read once, and counts 4 if it is data, and 8 if it is metadata. The place of a
# directory's block depends on the number of the process. Two blocks of metadata may share an
# extent, and if the second one is read more than a quarter of a second later, both count.
test_metadata() {
	need mkfs.ext4
	begin
	mkfs.ext4 -q -b 4096 "$SET"
	mkdir "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	mkdir "$TMP/mnt/directory"
	head -c 4096 /dev/urandom >"$TMP/mnt/directory/file"
	umount "$TMP/mnt"
	mount -o ro,inode_readahead_blks=0 "$SET" "$TMP/mnt"
	echo 3 >/proc/sys/vm/drop_caches
	cools_down
	stat "$TMP/mnt/directory/file" >/dev/null
	at_least "extents with metadata" "$(warm 8)" 1
	same "extents of other heat" "$(uneven 8)" 0

	# beside it, data
	cools_down
	cat "$TMP/mnt/directory/file" >/dev/null
	same "extents with data" "$(warm 4 5)" 1
	same "extents of other heat" "$(warm 1 4) $(warm 5)" "0 0"
}

run_tests
