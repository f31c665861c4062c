# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# LVM and partitions on a set. Part of stack-guest.sh.

# larger: more files than the volume had room for before it was extended
larger() {
	local i
	for i in 1 2 3 4; do
		rm -rf "$TMP/mnt/more-$i"
		copy "more-$i"
	done
	compare more-1
	compare more-4
}

# Volumes on a set; one is extended with its file system. lvremove with discards frees its extents.
test_lvm_above() {
	local all mapped i
	need lvm
	the_set
	originals
	quiet lvm pvcreate "$SET"
	quiet lvm vgcreate pool "$SET"
	defer dm_remove pool-one
	defer dm_remove pool-two
	quiet lvm lvcreate -n one -L 96M pool
	# between the parts of the first volume
	quiet lvm lvcreate -n two -L 32M pool
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/pool-one
	mounted /dev/mapper/pool-one
	moving copies
	all=$(df --output=size -B 1M "$TMP/mnt" | tail -n 1)
	quiet lvm lvextend -L +100M pool/one
	quiet resize2fs /dev/mapper/pool-one
	at_least "MiB of the file system" "$(df --output=size -B 1M "$TMP/mnt" | tail -n 1)" \
		$((all + 80))
	moving larger
	compare two
	held pool-
	umount "$TMP/mnt"
	held pool-
	quiet lvm vgchange -an pool
	reopened
	quiet lvm vgchange -ay pool
	whole /dev/mapper/pool-one e2fsck -fn
	mounted /dev/mapper/pool-one
	compare two
	for i in 1 2 3 4; do
		compare "more-$i"
	done
	umount "$TMP/mnt"
	mapped=$(status stack mapped)
	quiet lvm lvremove -y --config devices/issue_discards=1 pool/one
	within 30 "settled" settled stack
	say "$mapped extents mapped, $(status stack mapped) after lvremove"
	at_most "extents still mapped" "$(status stack mapped)" $(((2 << 20) / EXTENT))
	quiet lvm vgchange -an pool
	good fusionctl close stack
}

# partitions: map the partitions on the set
partitions() {
	quiet kpartx -a -s "$SET"
	dmsetup mknodes >/dev/null
}

# Partitions on a set, which does not close while there are any.
test_kpartx() {
	need kpartx
	the_set
	originals
	printf 'label: gpt\nsize=48MiB\nsize=256MiB\n' |
		quiet sfdisk --no-reread --no-tell-kernel "$SET"
	defer dm_remove stack1
	defer dm_remove stack2
	partitions
	same "size of the second in MiB" $(($(sectors_of /dev/mapper/stack2) / 2048)) 256
	# nothing of the first may reach the second
	put /dev/mapper/stack1 245 0 $((48 << 20))
	mkfs.ext4 -q /dev/mapper/stack2
	mounted /dev/mapper/stack2
	moving copies
	held stack
	umount "$TMP/mnt"
	held stack
	quiet kpartx -d "$SET"
	reopened
	partitions
	head -c 48M /dev/zero | tr '\0' '\245' | cmp - /dev/mapper/stack1
	whole /dev/mapper/stack2 e2fsck -fn
	mounted /dev/mapper/stack2
	compare two
	umount "$TMP/mnt"
	quiet kpartx -d "$SET"
	good fusionctl close stack
}
