#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The udev rule opens a set when disks are plugged in, and stays out of the way of others.

# shellcheck source=assembly.sh
. "$(dirname "$0")/assembly.sh"

# unplug, plug NAME...: null devices
unplug() {
	local i
	for i; do
		echo 0 >"/sys/kernel/config/nullb/$i/power"
	done
	events_done
}

plug() {
	local i
	for i; do
		echo 1 >"/sys/kernel/config/nullb/$i/power"
	done
	events_done
}

# unplugged_pair: a set that assemble has not seen yet
unplugged_pair() {
	pair
	events_done
	unplug fast slow
	forget
}

# leads LINK DEV
leads() {
	[[ -L $1 ]] || fail "no $1"
	same "$1" "$(readlink -f "$1")" "$(readlink -f "$2")"
}

# property DEV KEY
property() {
	udevadm info --query=property "$1" | sed -n "s/^$2=//p"
}

test_udev_plugging() {
	local first second links
	udev
	unplugged_pair
	for first in fast slow; do
		second=fast
		[[ $first == slow ]] || second=slow
		plug $first
		closed
		leads "/dev/disk/by-fusion/$UUID-$first" /dev/$first
		same "type" "$(property /dev/$first ID_FS_TYPE)" fusion_member
		same "role" "$(property /dev/$first ID_FUSION_ROLE)" $first
		echo 1 >/sys/kernel/config/nullb/$second/power
		links=$(date +%s%N)
		within 30 "the set is open" is_open pair
		say "$((($(date +%s%N) - links) / 1000000)) ms from the second member to /dev/mapper/pair"
		events_done
		once pair
		leads "/dev/disk/by-fusion/$UUID-$second" /dev/$second
		leads "/dev/disk/by-id/dm-uuid-FUSION-$UUID" /dev/mapper/pair
		leads /dev/disk/by-id/dm-name-pair /dev/mapper/pair
		# the real system repeats the initramfs's work
		udevadm trigger --action=add --subsystem-match=block
		events_done
		once pair
		good fusionctl close pair
		unplug fast slow
		[[ ! -L /dev/disk/by-fusion/$UUID-fast ]]
	done
	# both at once, several times
	for first in 1 2 3; do
		plug fast slow
		once pair
		good fusionctl close pair
		unplug slow fast
	done
}

# A file system on the set has its links, and its members have no such links.
test_udev_file_system() {
	udev
	unplugged_pair
	plug slow fast
	mkfs.ext4 -q -L top -U 01234567-89ab-4def-8123-456789abcdef /dev/mapper/pair
	good fusionctl close pair
	unplug slow fast
	plug fast slow
	once pair
	leads /dev/disk/by-uuid/01234567-89ab-4def-8123-456789abcdef /dev/mapper/pair
	leads /dev/disk/by-label/top /dev/mapper/pair
	same "links by uuid of the set" "$(find /dev/disk/by-uuid -name "$UUID")" ""
	good fusionctl close pair
}

# A released set still holds the disk, whose content has the same UUID: that leads to the device.
test_udev_released() {
	local link=/dev/disk/by-uuid/01234567-89ab-4def-8123-456789abcdef
	udev
	unplugged_pair
	plug slow fast
	once pair
	mkfs.ext4 -q -U "${link##*/}" /dev/mapper/pair 200M
	events_done
	mkdir "$TMP/mnt" "$TMP/again"
	mount "$link" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	# it tells its progress
	gives 0 fusionctl release pair --yes
	events_done
	leads "$link" /dev/mapper/pair
	udevadm trigger --action=change --subsystem-match=block
	events_done
	leads "$link" /dev/mapper/pair
	same "priority of its links" "$(udevadm info /dev/mapper/pair | sed -n 's/^L: //p')" 10
	mount UUID="${link##*/}" "$TMP/again"
	umount "$TMP/again"
	umount "$TMP/mnt"
	good fusionctl close pair
	events_done
	# the rules of udev make none for a disk that is called /dev/slow
	[[ ! -L $link ]] || fail "$link still leads to $(readlink -f "$link")"
}

test_udev_nofusion() {
	udev
	unplugged_pair
	command_line nofusion
	plug fast slow
	leads "/dev/disk/by-fusion/$UUID-fast" /dev/fast
	closed
	umount /proc/cmdline
	udevadm trigger --action=change --subsystem-match=block
	events_done
	once pair
	good fusionctl close pair
}

# A partition of a disk with a partition table, and a mapping.
test_udev_parts() {
	local part file
	udev
	need_module dm-fusion
	partitioned $((80 << 20)) 131072
	part=$REPLY
	file=$(losetup -nO BACK-FILE "$part")
	null base 256
	linear lv /dev/base 2048 $((250 * 2048))
	FAST=${part}p1 SLOW=/dev/mapper/lv
	events_done
	a_set
	dmsetup remove lv
	losetup -d "$part"
	events_done
	forget
	losetup -P "$part" "$file"
	within 10 "$FAST" test -b "$FAST"
	events_done
	leads "/dev/disk/by-fusion/$UUID-fast" "$FAST"
	closed
	dmsetup create lv --table "0 $((250 * 2048)) linear /dev/base 2048"
	events_done
	leads "/dev/disk/by-fusion/$UUID-slow" /dev/mapper/lv
	once pair
	good fusionctl close pair
}

# A suspended device, and one with another signature.
test_udev_keeps_off() {
	udev
	unplugged_pair
	plug fast slow
	once pair
	# a read now would wait until it is resumed
	dmsetup suspend pair
	udevadm trigger --action=change --subsystem-match=block
	events_done
	dmsetup resume pair
	events_done
	good fusionctl close pair
	unplug fast
	forget

	plug fast
	# exactly the first 64 KiB of a member: copies of its superblock under an ext4
	loop $((64 << 20))
	mkfs.ext4 -q -b 4096 "$REPLY"
	dd if=/dev/fast of="$REPLY" bs=4096 skip=8 seek=8 count=1 conv=notrunc,fsync status=none
	events_done
	udevadm trigger --action=change "$REPLY"
	events_done
	same "type" "$(property "$REPLY" ID_FS_TYPE)" ext4
	same "role" "$(property "$REPLY" ID_FUSION_ROLE)" ""
	unplug fast slow
}

# watched: two devices whose writers udev notices when they close them
watched() {
	udev
	need_module dm-fusion
	loop $((64 << 20))
	FAST=$REPLY
	loop $((256 << 20))
	SLOW=$REPLY
	events_done
}

# The tool makes sets, and udev's events do not interfere.
test_udev_create() {
	watched
	defer dm_remove pair
	good fusionctl format pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	udevadm trigger --action=change --subsystem-match=block
	events_done
	closed
	good fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 64K
	events_done
	UUID=$(uuid_of "$FAST")
	once pair
	within 10 "link" test -L "/dev/disk/by-fusion/$UUID-slow"
	leads "/dev/disk/by-fusion/$UUID-fast" "$FAST"
	good fusionctl close pair
	udevadm trigger --action=change --subsystem-match=block
	events_done
	closed
}

# The same for repair: udev opens nothing behind its back, or before the result is tested.
test_udev_mended() {
	local i
	watched
	a_set
	events_done
	good fusionctl assemble --scan
	good fusionctl close pair
	good fusionctl dump pair -o "$TMP/dump"
	for i in 1 2 3; do
		put_direct "$SLOW" 0 0 65536
		forget
		expect 1 '' fusionctl repair "$FAST" "$SLOW" --yes
		shows repaired
		events_done
		closed
		forget
		good fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes --force
		events_done
		closed
		good fusionctl check "$FAST" "$SLOW"
	done
	good fusionctl open pair
	once pair
	good fusionctl close pair
}

# With one worker the links of the set wait for assemble, and assemble waits for them, but not
# forever.
test_udev_one_worker() {
	local start
	udev --children-max=1
	unplugged_pair
	plug fast
	start=$SECONDS
	plug slow
	once pair
	say "$((SECONDS - start)) s"
	at_most "seconds" $((SECONDS - start)) $((20 * SLOWNESS))
	good fusionctl close pair
}

run_tests
