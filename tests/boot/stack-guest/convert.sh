# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Disks with content as users have it are adopted, used as a set, and released again. Part of
# stack-guest.sh.

# adopted: the disk $SLOW has become a set
adopted() {
	defer dm_remove stack
	good fusionctl adopt stack "$SLOW" --fast "$FAST" --yes --extent-size "$EXTENT"
	eager
}

# released [OPTION]...: and is a plain disk again
released() {
	good fusionctl close stack
	good fusionctl check "$FAST" "$SLOW"
	good fusionctl release stack --yes "$@"
	shows "$SLOW is a plain disk"
	same "open sets" "$(sets)" ""
}

# kept DEV: its file system has the files from before, and takes more while extents move
kept() {
	mounted "$1"
	compare kept
	moving copies
	compare kept
	umount "$TMP/mnt"
}

# both DEV FSCK: it is whole, and has the files of both times
both() {
	# shellcheck disable=SC2086 # words of a command
	whole "$1" $2
	mounted "$1"
	compare kept
	compare two
	umount "$TMP/mnt"
}

# plain_disk TYPE MKFS FSCK: a file system on the disk itself
plain_disk() {
	members 96 320
	originals
	quiet "$2" "$SLOW"
	mounted "$SLOW"
	copy kept
	umount "$TMP/mnt"
	adopted
	same "type" "$(blkid -p -s TYPE -o value "$SET")" "$1"
	kept "$SET"
	released
	same "type" "$(blkid -p -s TYPE -o value "$SLOW")" "$1"
	both "$SLOW" "$3"
}

test_convert_xfs() {
	need mkfs.xfs
	plain_disk xfs mkfs.xfs "xfs_repair -n"
}

test_convert_btrfs() {
	need mkfs.btrfs
	plain_disk btrfs mkfs.btrfs "btrfs check"
}

# Its log is replayed when it is mounted on the set.
test_convert_xfs_not_unmounted() {
	need mkfs.xfs
	members 96 320
	originals
	quiet mkfs.xfs "$SLOW"
	mounted "$SLOW"
	copy kept
	sync
	mkdir "$TMP/mnt/last"
	quiet xfs_io -x -c "shutdown -f" "$TMP/mnt"
	umount "$TMP/mnt"
	adopted
	mounted "$SET"
	[[ -d $TMP/mnt/last ]] || fail "what was in the log only is not there"
	umount "$TMP/mnt"
	kept "$SET"
	released
	both "$SLOW" "xfs_repair -n"
}

test_convert_luks() {
	need cryptsetup
	members 96 288
	originals
	luks "$SLOW"
	unlock "$SLOW" safe
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/safe
	mounted /dev/mapper/safe
	copy kept
	umount "$TMP/mnt"
	# not while it is in use
	gives 5 fusionctl adopt stack "$SLOW" --fast "$FAST" --yes
	cryptsetup close safe
	adopted
	unlock "$SET" safe
	kept /dev/mapper/safe
	held safe
	cryptsetup close safe
	# LUKS has no size of its own; the file system in it has
	refused "say with --size how much is in use" released
	good fusionctl open stack
	released --size 288M
	unlock "$SLOW" safe
	both /dev/mapper/safe "e2fsck -fn"
	cryptsetup close safe
}

# The volume group is found on the set, and on the disk again.
test_convert_lvm() {
	need lvm
	members 96 288
	# a kind of disk that LVM knows
	loop $((288 << 20))
	SLOW=$REPLY
	originals
	quiet lvm pvcreate "$SLOW"
	quiet lvm vgcreate pool "$SLOW"
	defer dm_remove pool-home
	quiet lvm lvcreate -n home -L 240M pool
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/pool-home
	mounted /dev/mapper/pool-home
	copy kept
	umount "$TMP/mnt"
	gives 5 fusionctl adopt stack "$SLOW" --fast "$FAST" --yes
	quiet lvm vgchange -an pool
	adopted
	quiet lvm vgchange -ay pool
	same "volume group on" "$(lvm pvs --noheadings -o pv_name | xargs)" "$SET"
	kept /dev/mapper/pool-home
	held pool-home
	quiet lvm vgchange -an pool
	released
	quiet lvm vgchange -ay pool
	same "volume group on" "$(lvm pvs --noheadings -o pv_name | xargs)" "$SLOW"
	both /dev/mapper/pool-home "e2fsck -fn"
	quiet lvm vgchange -an pool
}
