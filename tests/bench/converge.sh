#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How fast a hot zone gets to the fast member, and what the replica costs meanwhile, in a VM:
#
#	scripts/vm run --kver 6.1 --mem 4096 --limit 1800 --virtual-clock \
#		--file tests/spindle tests/bench/converge.sh [PASSES] [SECONDS]
#
# A set of model disks (tests/spindle: 128 MiB SSD, 1 GiB HDD), filled with incompressible
# data; then 70:30 reads and writes of 4 KiB, 16 at a time, four in five of them in 4 % of the
# span that the fill has left on the slow member, in passes. Of each pass: reads and writes a second, and what was moved and written to
# the replica in it. SET="KEY VALUE..." are options of the set.

set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export DM_DISABLE_UDEV=1 LC_ALL=C

PASSES=${1:-4}
SECONDS_EACH=${2:-15}
SSD_MIB=128
HDD_MIB=1024

modprobe brd rd_nr=2 rd_size=$((HDD_MIB * 1024))
modprobe dm-spindle
modprobe dm-fusion

# disk NAME MIB RAM_DISK PROFILE
disk() {
	dmsetup create "$1" --table "0 $(($2 * 2048)) spindle $3 2 profile $4"
	dmsetup mknodes "$1" >/dev/null
}

# counters: those that are reported
counters() {
	dmsetup message bench 0 stats | awk '
		{ v[$1] = $2 }
		END { print v["promotions"], v["demotions"], v["cancelled"], v["replica_writes"] }'
}

disk bench-ssd $SSD_MIB /dev/ram0 ssd
disk bench-hdd $HDD_MIB /dev/ram1 hdd
# shellcheck disable=SC2086 # options are words
fusionctl create bench --fast /dev/mapper/bench-ssd --slow /dev/mapper/bench-hdd --yes >/dev/null
# shellcheck disable=SC2086
set -- ${SET:-}
while [[ $# -ge 2 ]]; do
	dmsetup message bench 0 "$1 $2"
	shift 2
done

fio --name=fill --filename=/dev/mapper/bench --rw=write --bs=1M --direct=1 --iodepth=4 \
	--ioengine=libaio --refill_buffers --eta=never --output=/dev/null

printf '%-5s %9s %9s %11s %10s %10s %15s\n' pass reads/s writes/s promotions demotions \
	cancelled replica_writes
for ((pass = 1; pass <= PASSES; pass++)); do
	read -ra before <<<"$(counters)"
	fio --name=mix --filename=/dev/mapper/bench --rw=randrw --rwmixread=70 --bs=4k \
		--direct=1 --iodepth=16 --ioengine=libaio --refill_buffers --randrepeat=0 \
		--random_distribution=zoned:12/60:80/4:8/36 --time_based --eta=never \
		--runtime="$SECONDS_EACH" --output-format=json --output=/tmp/mix.json
	read -ra after <<<"$(counters)"
	read -r reads writes <<<"$(awk -F '[:,]' '
		/"read" *:/ { kind = "read" } /"write" *:/ { kind = "write" } /"trim" *:/ { kind = "" }
		/"iops" *:/ && kind { v[kind] = $2; kind = "" }
		END { print v["read"], v["write"] }' /tmp/mix.json)"
	printf '%-5s %9.0f %9.0f %11s %10s %10s %15s\n' "$pass" "$reads" "$writes" \
		$((after[0] - before[0])) $((after[1] - before[1])) \
		$((after[2] - before[2])) $((after[3] - before[3]))
done
fusionctl close bench
