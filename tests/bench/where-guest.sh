#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The script in the VM of tests/bench/where: the second disk has the files, and becomes a member.

set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export DM_DISABLE_UDEV=1 LC_ALL=C
read -r FAST SLOW <<<"$VM_DISKS"
MNT=/run/where

# step NAME COMMAND...: the host measures what is between two lines with a mark
step() {
	echo "MARK $1"
	"${@:2}" >/run/out
	echo "MARK -"
}

modprobe dm-fusion
fusionctl adopt data "$SLOW" "$FAST" --yes --force
[[ -b /dev/mapper/data ]] || fusionctl open data "$FAST" "$SLOW"
msg() {
	dmsetup message data 0 "$@"
}
msg migration off
msg promote 200-260
mkdir "$MNT"
mount -o ro /dev/mapper/data "$MNT"
step warm fusionctl where "$MNT/tree"
for i in 1 2 3; do
	step find find "$MNT/tree" -type f -printf '%s\n'
	echo "# $(wc -l </run/out) files"
	step where fusionctl where "$MNT/tree"
	step tree fusionctl where --tree "$MNT/tree"
	echo "# $(wc -l </run/out) lines"
	step extents fusionctl where "$MNT/many"
	step filefrag filefrag "$MNT/many"
	cat /run/out
	step back fusionctl where data --extents 100-101
done
fusionctl where "$MNT/tree" "$MNT/tree/10" "$MNT/many"
fusionctl where --tree --sort fast "$MNT/tree/00" | head -6
fusionctl explain data "$MNT/many"
fusionctl explain data "$MNT/tree/10/10/f05"
fusionctl status data
umount "$MNT"
fusionctl close data
