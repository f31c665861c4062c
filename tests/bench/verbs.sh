#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage, in a VM with an exact clock: verbs.sh
#
# How fast adopt, replace and release are on disks of tests/spindle that nothing else uses, and how
# long I/O waits when a set with four million extents grows and a member of it is replaced. Each line
# has MB/s, seconds or milliseconds, and of moves the share of the slower disk's sequential speed.

set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export DM_DISABLE_UDEV=1 LC_ALL=C
here=$(dirname "$0")
# shellcheck source=devices.sh
. "$here/devices.sh"

MIB=$((1 << 20))
GIB=$((1 << 30))
DISKS=/disks		# sparse files

# disk NAME BYTES PROFILE: a model of a disk of that size
disk() {
	local loop
	truncate -s "$2" "$DISKS/$1"
	loop=$(losetup -f --show --direct-io=off "$DISKS/$1")
	create "$1" "0 $(($2 / 512)) spindle $loop 2 profile $3"
}

no_disk() {
	local loop
	for i; do
		loop=$(losetup -j "$DISKS/$i" -n -O NAME)
		dmsetup remove --retry "$i"
		losetup -d "$loop"
		rm "$DISKS/$i"
	done
}

# took COMMAND...: set MS to the milliseconds that it takes
took() {
	local begun=$EPOCHREALTIME out=/tmp/out
	"$@" >$out 2>&1 </dev/null || {
		cat $out
		return 1
	}
	MS=$(((${EPOCHREALTIME/./} - ${begun/./}) / 1000))
}

# speed NAME BYTES [OF]: after took()
speed() {
	local kbs=$(($2 / MS))
	[[ ! ${3:-} ]] || awk -v n="$1" -v k=$kbs -v of="$3" -v ms="$MS" \
		'BEGIN { printf "%-36s %6.0f MB/s %8.2f s  %5.2f\n", n, k / 1e3, ms / 1e3, k / of }'
	[[ ${3:-} ]] || awk -v n="$1" -v k=$kbs 'BEGIN { printf "%-36s %6.0f MB/s\n", n, k / 1e3 }'
	KBS=$kbs
}

paused() {
	printf '%-36s %6d ms\n' "$1" "$(jq .paused_ms <<<"$2")"
}

# on_fast: extents on the fast member
on_fast() {
	fusionctl status data --json 2>/dev/null | jq '.sets[0].fast.used_bytes / 1048576'
}

least() {
	echo $(($1 < $2 ? $1 : $2))
}

# -- how fast the disks are -------------------------------------------------------------------------

disk_speeds() {
	took dd if=/dev/mapper/hdd of=/dev/null bs=1M count=256 skip=256 iflag=direct
	speed "HDD, sequential reads" $((256 * MIB))
	HDD_KBS=$KBS
	took dd if=/dev/zero of=/dev/mapper/hdd2 bs=1M count=256 seek=256 oflag=direct conv=fsync
	speed "HDD, sequential writes" $((256 * MIB))
	HDD_KBS=$(least $HDD_KBS $KBS)
	took dd if=/dev/mapper/ssd of=/dev/null bs=1M count=256 iflag=direct
	speed "SSD, sequential reads" $((256 * MIB))
	SSD_KBS=$KBS
	took dd if=/dev/zero of=/dev/mapper/ssd2 bs=1M count=256 oflag=direct conv=fsync
	speed "SSD, sequential writes" $((256 * MIB))
	SSD_KBS=$(least $SSD_KBS $KBS)
}

# -- a disk with a file system is adopted, and so on, and released ----------------------------------

# some_data: adopt the HDD, and let half of what is on it be hot
some_data() {
	took fusionctl adopt data /dev/mapper/hdd /dev/mapper/ssd --yes
	dmsetup mknodes data
	dmsetup message data 0 migration off
	dmsetup message data 0 promote 600-1399 >/dev/null
	fusionctl checkpoint data
	sleep 5
}

# left: extents on the old member; nothing if there is none
left() {
	fusionctl status data --json 2>/dev/null | jq '.sets[0].old.left // empty'
}

# moves NAME COUNT KBS VERB...: the speed of the moves themselves, from a tenth of them to nine tenths.
# COUNT prints how many extents are left
moves() {
	local total now first='' last='' at since
	total=$("$2")
	fusionctl "${@:4}" --yes >/tmp/out 2>&1 </dev/null &
	# a replacement has none before it has begun
	while now=$("$2") && [[ -z $now || $now -gt $((${total:=$now} / 10)) ]]; do
		at=${EPOCHREALTIME/./}
		if [[ $now && ! $first && $now -lt $((total * 9 / 10)) ]]; then
			first=$now since=$at
		fi
		last=$now MS=$(((at - ${since:-at}) / 1000))
		sleep 0.1
	done
	wait $! || cat /tmp/out
	speed "$1" $(((first - last) * MIB)) "$3"
}

verbs() {
	disk ssd $((1 * GIB)) ssd
	disk ssd2 $((1200 * MIB)) ssd
	disk hdd $((2560 * MIB)) hdd
	disk hdd2 $((2700 * MIB)) hdd
	disk_speeds

	mkfs.ext4 -q -F /dev/mapper/hdd
	mount /dev/mapper/hdd /mnt
	dd if=/dev/urandom of=/mnt/file bs=1M count=1500 oflag=direct conv=fsync status=none
	umount /mnt
	some_data
	printf '%-36s %22.2f s\n' "adopt" "$(awk "BEGIN { print $MS / 1e3 }")"
	moves "release" on_fast "$HDD_KBS" release data
	dmsetup remove --retry data

	some_data
	moves "replace, the SSD" left "$SSD_KBS" replace data /dev/mapper/ssd /dev/mapper/ssd2
	moves "replace, the HDD" left "$HDD_KBS" replace data /dev/mapper/hdd /dev/mapper/hdd2
	fusionctl close data
	no_disk ssd ssd2 hdd hdd2
}

# large NAME HDD SSD [OPTION...]: adopt a disk with ext4, and an SSD, of that many GB
large() {
	disk ssd "$3"000000000 ssd
	truncate -s "$2"000000000 $DISKS/hdd
	mkfs.ext4 -q -F $DISKS/hdd
	disk hdd "$2"000000000 hdd
	took fusionctl adopt data /dev/mapper/hdd /dev/mapper/ssd --yes "${@:4}"
	printf '%-36s %22.2f s\n' "$1" "$(awk "BEGIN { print $MS / 1e3 }")"
	fusionctl close data 2>/dev/null
	no_disk ssd hdd
}

# -- four million extents ---------------------------------------------------------------------------

# larger NAME BYTES PROFILE: a disk has become larger
larger() {
	local loop
	truncate -s "$2" "$DISKS/$1"
	loop=$(losetup -j "$DISKS/$1" -n -O NAME)
	losetup -c "$loop"
	dmsetup suspend "$1"
	dmsetup load "$1" --table "0 $(($2 / 512)) spindle $loop 2 profile $3"
	dmsetup resume "$1"
}

waits() {
	local out
	disk ssd $((8 * GIB)) ssd
	disk ssd2 $((9 * GIB)) ssd
	disk hdd $((248 * GIB)) hdd
	disk hdd2 $((252 * GIB)) hdd
	fusionctl create data --fast /dev/mapper/ssd --slow /dev/mapper/hdd --extent-size 64K \
		--yes >/dev/null 2>&1
	dd if=/dev/urandom of=/dev/mapper/data bs=1M count=200 oflag=direct conv=fsync status=none
	# something that uses the set
	fio --name=load --filename=/dev/mapper/data --direct=1 --rw=randrw --bs=4k --size=200m \
		--time_based --runtime=3600 >/dev/null 2>&1 &
	sleep 5
	echo "$(fusionctl status data --json | jq '.sets[0].extents') extents:"
	larger hdd $((256 * GIB)) hdd
	paused "  grow" "$(fusionctl grow data --json)"
	kill $!
	wait || :
	out=$(fusionctl replace data /dev/mapper/ssd /dev/mapper/ssd2 --yes --json 2>/dev/null)
	paused "  replace, the SSD, two pauses" "$out"
	fusionctl close data
}

modprobe -a dm-spindle dm-fusion loop
mkdir -p $DISKS
mount -t tmpfs -o size=100% none $DISKS
verbs
large "adopt, 4 TB and 250 GB" 4000 250
large "adopt, 16 TB and 1 TB" 16000 1000
large "adopt, the same, extents of 1 MiB" 16000 1000 --extent-size 1M
waits
