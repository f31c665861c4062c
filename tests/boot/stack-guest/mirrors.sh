# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# RAID 1 of LVM and of md below a member. Part of stack-guest.sh.
# shellcheck disable=SC2034 # FAST and SLOW are for that

in_sync() {
	dmsetup status twins-fast | grep -q ' AA \([0-9]*\)/\1 '
}

# Each half of a RAID 1 of LVM looks like the member. Neither is taken for the member or for a
# clone, also after one half is lost.
test_mirror_below() {
	local i
	local -A half=()
	need lvm
	need_module dm-raid
	need_module raid1
	for i in a b; do
		loop $((112 << 20))
		quiet lvm pvcreate "$REPLY"
		half[$i]=$REPLY
	done
	quiet lvm vgcreate twins "${half[a]}" "${half[b]}"
	for i in rmeta_0 rmeta_1 rimage_0 rimage_1; do
		defer dm_remove "twins-fast_$i"
	done
	defer dm_remove twins-fast
	quiet lvm lvcreate -y --type raid1 -m 1 -n fast -L 96M twins
	within 100 "the halves are the same" in_sync
	null slow 288
	FAST=/dev/mapper/twins-fast SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	still_there "slow twins-fast"
	good fusionctl close stack
	quiet lvm vgchange -an twins
	# one half is lost: the mirror is still the member
	head -c 1M /dev/zero | dd of="${half[a]}" bs=1M conv=notrunc,fsync status=none
	quiet lvm vgchange -ay --activationmode degraded twins
	good fusionctl assemble --scan
	still_there "slow twins-fast"
	good fusionctl close stack
	quiet lvm vgchange -an twins
}

md_stop() {
	[[ ! -e /sys/block/md0/md ]] || mdadm -q --stop /dev/md0
}

# So does each half of an md RAID 1 with its superblock at the end. The halves are visible even
# while the mirror is not assembled, and a write to one of them would make them differ.
test_md_below() {
	local i
	need mdadm
	need_module raid1
	null half1 112
	null half2 112
	null slow 288
	defer md_stop
	quiet mdadm --create /dev/md0 --run --metadata=1.0 --level=1 --raid-devices=2 /dev/half1 \
		/dev/half2
	FAST=/dev/md0 SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	same "below" "$(below)" "md0 slow"
	good fusionctl close stack
	# the mirror becomes idle after some time
	mdadm -q --wait /dev/md0 || :
	quiet mdadm --stop /dev/md0
	rm -rf /run/fusion
	# two halves, and one
	refused "the fast one is missing" fusionctl assemble --scan
	null_remove half2
	refused "the fast one is missing" fusionctl assemble --scan
	refused "its fast member is missing" fusionctl open stack
	same "open sets" "$(sets)" ""
	quiet mdadm --assemble --run /dev/md0 /dev/half1
	good fusionctl assemble --scan
	still_there "md0 slow"
	good fusionctl close stack
	quiet mdadm --stop /dev/md0
}
