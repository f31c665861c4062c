#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The script in the VM that vm-kill kills. /share/0/synced lists the synced files, which this script
# printed as "synced <fs> <path> <md5> .".

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
set -euo pipefail

SET=/dev/mapper/killed
EXT4_MIB=100 XFS_MIB=310	# the rest is stamped
FILE_KIB=(4 20 100 300)

read -ra DISKS <<<"$VM_DISKS"
FAST=${DISKS[0]}
SLOW=${DISKS[1]}

oops() {
	echo "FAIL: $*"
	exit 1
}

# part NAME MIB_FROM MIB: a part of the set
part() {
	dmsetup create "$1" --table "0 $(($3 * 2048)) linear $SET $(($2 * 2048))"
	dmsetup mknodes "$1" >/dev/null
}

open_set() {
	local size
	modprobe dm-fusion
	[[ ! ${FIRST:-} ]] || fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" \
		--extent-size 256K ${LANDING:+--landing "$LANDING"} >/dev/null
	fusionctl open killed "$FAST" "$SLOW" >/dev/null || oops "the set does not open"
	LOGGED=${LANDING:+$(counter killed log_blocks)}
	# the log is not drained whenever the load pauses
	fusionctl set killed half_life=10 "idle=$([[ ${LANDING:-} ]] && echo 60000 || echo 100)" >/dev/null
	size=$(($(sectors_of "$SET") / 2048))
	part part-ext4 0 $EXT4_MIB
	part part-xfs $EXT4_MIB $XFS_MIB
	part part-raw $((EXT4_MIB + XFS_MIB)) $((size - EXT4_MIB - XFS_MIB))
	RAW_MIB=$((size - EXT4_MIB - XFS_MIB))
	[[ $RAW_MIB -le 120 ]] || RAW_MIB=120 # the state has 4 MiB
	mkdir -p /run/ext4 /run/xfs
}

make_all() {
	mkfs.ext4 -q /dev/mapper/part-ext4
	mkfs.xfs -q /dev/mapper/part-xfs
}

mount_all() {
	mount /dev/mapper/part-ext4 /run/ext4 || oops "ext4 cannot be mounted"
	mount /dev/mapper/part-xfs /run/xfs || oops "XFS cannot be mounted"
}

# Small writes land in the log only if their extents are on the slow member.
make_slow() {
	fusion-stamp fill /dev/mapper/part-raw --state "$STATE" --size $((RAW_MIB << 20)) >/dev/null
	sync "$SET"
	dmsetup message killed 0 demote "0-$(($(status killed extents) - 1))" >/dev/null
}

# With the journals, then a forced check; then the files.
check_all() {
	local fs path md5 n=0
	mount_all
	umount /run/ext4
	umount /run/xfs
	e2fsck -fn /dev/mapper/part-ext4 >/run/fsck 2>&1 || oops "ext4: $(tail -n 20 /run/fsck)"
	xfs_repair -n /dev/mapper/part-xfs >/run/fsck 2>&1 || oops "XFS: $(tail -n 20 /run/fsck)"
	mount_all
	while read -r fs path md5; do
		# files of earlier rounds were removed
		[[ ${path%%/*} -eq $((ROUND - 1)) ]] || continue
		[[ $(md5sum <"/run/$fs/$path") == "$md5  -" ]] || oops "$fs: $path was synced"
		n=$((n + 1))
	done </share/0/synced
	fusion-stamp verify /dev/mapper/part-raw --power-cut --state "$STATE" >/run/stamp 2>&1 ||
		oops "$(tail -n 20 /run/stamp)"
	echo "verified: $n files, $RAW_MIB MiB of stamps${LOGGED:+, $LOGGED blocks in the landing log}"
}

# write_files FS: until killed
write_files() {
	local n md5 file size dir=/run/$1/$ROUND
	mkdir -p "$dir"
	sync "/run/$1" "$dir"
	for ((n = 0;; n++)); do
		file=$dir/$n
		size=${FILE_KIB[n % ${#FILE_KIB[@]}]}
		md5=$(head -c "${size}K" /dev/urandom | tee "$file" | md5sum)
		sync "$file" "$dir"
		echo "synced $1 $ROUND/$n ${md5%% *} ."
	done
}

for dev in /sys/bus/pci/devices/*; do
	[[ $(<"$dev/vendor")$(<"$dev/device") != 0x1af40x1110 ]] || STATE=$dev/resource2
done
open_set
if [[ ${FIRST:-} ]]; then
	make_all
	[[ ! ${LANDING:-} ]] || make_slow
	mount_all
else
	check_all
fi
[[ ! ${LAST:-} ]] || exit 0
rm -rf /run/{ext4,xfs}/$((ROUND - 2))

storm killed &
write_files ext4 &
write_files xfs &
fusion-stamp run /dev/mapper/part-raw --state "$STATE" --extent 256k --size $((RAW_MIB << 20)) \
	--threads 2 --until-error &
echo "loading"
wait -n || :
oops "the load ended"
