# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Logical volumes and partitions as members, found by assemble --scan and by udev. Part of stack-guest.sh.

declare -A LOOP FILE

# unplug ROLE: remove its disk; wait for processes such as udev that hold it
unplug() {
	events_done
	losetup -d "${LOOP[$1]}"
	within 10 "detaching" test ! -e "/sys/block/${LOOP[$1]#/dev/}/loop"
	events_done
}

# lv ROLE MIB: a logical volume, not at the start of its disk
lv() {
	loop $((($2 + 32) << 20))
	LOOP[$1]=$REPLY FILE[$1]=$(losetup -nO BACK-FILE "$REPLY")
	quiet lvm pvcreate "$REPLY"
	quiet lvm vgcreate "vg$1" "$REPLY"
	defer dm_remove "vg$1-member"
	quiet lvm lvcreate -n other -L 8M "vg$1"
	quiet lvm lvcreate -n member -L "$2M" "vg$1"
	defer dm_remove "vg$1-other"
	REPLY=/dev/mapper/vg$1-member
}

lv_goes() {
	quiet lvm vgchange -an "vg$1"
	unplug "$1"
}

lv_comes() {
	losetup "${LOOP[$1]}" "${FILE[$1]}"
	events_done
	quiet lvm vgchange -ay "vg$1"
}

# partition ROLE MIB: the second partition of its disk
partition() {
	loop $((($2 + 16) << 20))
	LOOP[$1]=$REPLY FILE[$1]=$(losetup -nO BACK-FILE "$REPLY")
	printf 'label: gpt\nsize=8MiB\nsize=%dMiB\n' "$2" | sfdisk -q "${FILE[$1]}"
	unplug "$1"
	partition_comes "$1"
	REPLY=${LOOP[$1]}p2
}

partition_goes() {
	unplug "$1"
}

partition_comes() {
	losetup -P "${LOOP[$1]}" "${FILE[$1]}"
	within 10 "partition" test -b "${LOOP[$1]}p2"
	events_done
}

# one_set: it is open on the two members, not on the devices below them, and has the files
one_set() {
	events_done
	still_there "$(printf '%s\n' "${FAST##*/}" "${SLOW##*/}" | sort | xargs)"
}

# members_are KIND KIND: the fast one, the slow one
members_are() {
	need lvm
	# shellcheck disable=SC2119 # its options are its own
	udev
	"$1" fast 96
	FAST=$REPLY
	"$2" slow 288
	SLOW=$REPLY
	events_done
	defer dm_remove stack
	good fusionctl create stack --yes --fast "$FAST" --slow "$SLOW" --extent-size "$EXTENT"
	eager
	used
	events_done
	same "open sets" "$(sets)" ""
	good fusionctl assemble --scan
	one_set
	good fusionctl assemble --scan
	one_set
	good fusionctl close stack
	# and by udev, whichever is first
	"$1_goes" fast
	"$2_goes" slow
	"$2_comes" slow
	events_done
	same "open sets" "$(sets)" ""
	"$1_comes" fast
	one_set
	good fusionctl close stack
	"$2_goes" slow
	"$2_comes" slow
	one_set
	good fusionctl close stack
}

# A logical volume as the fast member and a partition as the slow one: assemble --scan and udev open
# one device.
test_lv_and_partition() {
	members_are lv partition
}

# The other way round.
test_partition_and_lv() {
	members_are partition lv
}
