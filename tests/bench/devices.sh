# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Device-mapper devices, and fields of a member's superblock.

# create NAME TABLE
create() {
	dmsetup create "$1" --table "$2"
	dmsetup mknodes "$1" >/dev/null
}

# superblock OFFSET SIZE DEVICE: a number from the newer of both copies
superblock() {
	local copy=0 i generation best=0
	for i in 0 8; do
		generation=$(dd if="$3" bs=4096 skip=$i count=1 iflag=direct status=none |
			od -An -j 80 -N 8 -t u8)
		if [[ $generation -gt $best ]]; then
			best=$generation copy=$i
		fi
	done
	dd if="$3" bs=4096 skip=$copy count=1 iflag=direct status=none |
		od -An -j "$1" -N "$2" -t "u$2" | tr -d ' '
}
