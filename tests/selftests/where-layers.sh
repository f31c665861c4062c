#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl where through what may lie between a file system and the set: partitions, LVM, stripes,
# LUKS. What cannot be followed is refused by name.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/where.sh
. "$(dirname "$0")/lib/where.sh"

# mappings of each kind, in another order than their parts
test_mappings() {
	local half
	begin 288
	half=$((LEN / 2 / 2048 * 2048))
	linear low "$SET" 40 $((half - 40))
	linear high "$SET" $half $((half - 2048))
	dm volume "0 65536 linear /dev/mapper/high 4096
65536 131072 striped 2 128 /dev/mapper/low 2048 /dev/mapper/high 100000
196608 8192 zero"
	mkfs.ext4 -q -b 4096 -E nodiscard /dev/mapper/volume 96M
	mounted /dev/mapper/volume
	make_files
	agrees
}

# The kernel makes no partitions of mapped devices: kpartx makes mappings.
test_partition() {
	need kpartx sfdisk
	begin 288
	printf 'label: gpt\nfirst-lba: 34\n34,65536\n65600,\n' |
		sfdisk -q --force --no-reread --no-tell-kernel "$SET"
	defer kpartx -d "$SET"
	kpartx -a "$SET"
	[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes >/dev/null
	mkfs.ext4 -q -b 4096 /dev/mapper/where2
	mounted /dev/mapper/where2
	stamped "$MNT/file-1" 1 2000
	files_agree 1 12
}

# a table of type crypt without encryption, so that the stamps are on the members
test_crypt() {
	grep -q crypt <(dmsetup targets) || modprobe -q dm-crypt || skip "no dm-crypt here"
	grep -q cipher_null /proc/crypto || modprobe -q crypto_null || skip "no cipher_null here"
	begin 288
	linear low "$SET" 40 $((LEN - 40))
	dm plain "0 $((LEN - 8192)) crypt cipher_null-ecb - 0 /dev/mapper/low 4096"
	mkfs.ext4 -q -b 4096 /dev/mapper/plain
	mounted /dev/mapper/plain
	stamped "$MNT/file-1" 1 2000
	files_agree 1 12
}

# LUKS and LVM as they are made
test_luks_lvm() {
	need cryptsetup lvm
	grep -q crypt <(dmsetup targets) || modprobe -q dm-crypt || skip "no dm-crypt here"
	begin 288
	printf secret >"$TMP/key"
	cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		--key-file "$TMP/key" "$SET"
	cryptsetup open --key-file "$TMP/key" "$SET" luks
	defer dm_remove luks
	lvm pvcreate -q "/dev/mapper/luks"
	lvm vgcreate -q vg /dev/mapper/luks
	lvm lvcreate -q -y -l 3 -n first vg
	lvm lvcreate -q -y -l 3 -n second vg
	# in two parts
	lvm lvextend -q -l +3 vg/first
	defer lvm vgchange -q -an vg
	mkfs.ext4 -q /dev/vg/first
	mounted /dev/vg/first
	stamped "$MNT/file-1" 1 4000
	some_up 12
	agrees_by_reads "$MNT/file-1"
}

test_refusals() {
	local dev
	begin 288
	refused "/proc/self/status: files cannot be followed on a file system of type proc" \
		fusionctl where /proc/self/status
	refused "/nosuch: cannot look at it: No such file or directory; check the path" \
		fusionctl where /nosuch
	refused "/dev/null: neither a file nor a directory" fusionctl where /dev/null
	refused "weight: nothing to sort by; give name, size, fast, slow or heat" \
		fusionctl where / --sort weight
	refused "where: has no extent 100000; the last one is $(($(status where extents) - 1))" \
		fusionctl where where --extents 100000
	refused "where: has no sector $LEN; the last one is $((LEN - 1))" \
		fusionctl where where --sectors 0-$LEN
	refused "where: no file system on it is mounted" fusionctl where where --extents 1
	refused "x: not a range of extents" fusionctl where where --extents x
	refused "--tree: does not go with --sectors" fusionctl where where --sectors 8 --tree
	null other 64
	mkfs.ext4 -q /dev/other
	mounted /dev/other
	refused "/dev/other: does not lie on an open fusion set" fusionctl where "$MNT"
	umount "$MNT"
	need_module dm-snapshot
	mkfs.ext4 -q "$SET"
	null cow 32
	dm snap "0 $LEN snapshot $SET /dev/cow N 8"
	mounted /dev/mapper/snap
	refused "/dev/mapper/snap: blocks cannot be followed through a device of type snapshot" \
		fusionctl where "$MNT"
	umount "$MNT"
	dmsetup remove --retry snap
	modprobe -q loop || :
	dev=$(losetup -f --show "$SET")
	defer losetup -d "$dev"
	mounted "$dev"
	refused "$dev: blocks cannot be followed through a device of type loop" \
		fusionctl where "$MNT"
}

run_tests
