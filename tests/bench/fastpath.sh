#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The costs of the fast path, in a VM:
#
#	scripts/vm run --kver 6.1 --mem 3072 --limit 1800 --virtual-clock \
#		tests/bench/fastpath.sh [REPEATS]
#
# The virtual clock counts instructions, whatever else the machine does, so a tenth of a second is
# enough (--env RUNTIME=100ms). Without it the machine must be idle. But the virtual clock has one
# CPU; waiting of CPUs for each other shows only without it.
#
# WHAT="..." is some of
#
#  iops        IOPS of 4 KiB random reads and writes through fusion and through dm-linear, on
#              the same null_blk, taken in turn; and of reads that hit the cache of dm-cache.
#              With more CPUs than one, by one job, and by as many as there are CPUs. Where
#              one CPU does all the work, as on the virtual clock, the reciprocal is the CPU
#              per I/O
#  slow        the same reads and writes of data on the slow member, which a set without a landing
#              log serves with a look at a few words more
#  sequential  reads and writes through fusion and of the device that holds the data, for
#              either member, taken in turn
#  memory      of a small set, whole, and per extent at 1 Mi and 4 Mi extents, or EXTENTS="1 4
#              16"; and how long it takes to open them
#
# Prints tables, and at the end one line of JSON. A ratio is the median of the ratios of
# neighbouring runs, every other pair with fusion first. The spread is from the least to the
# greatest of these.

set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export DM_DISABLE_UDEV=1 LC_ALL=C

REPEATS=${1:-7}
RUNTIME=${RUNTIME:-4s}
EXTENTS=${EXTENTS:-1 4}	# Mi
WHAT=${WHAT:-iops slow sequential memory}
CPUS=$(nproc)
TMP=$(mktemp -d)
JSON=()
# shellcheck source=devices.sh
. "$(dirname "$0")/devices.sh"

die() {
	echo "fastpath: $*" >&2
	exit 1
}

modprobe dm-fusion || die "no module dm-fusion: build it first"
modprobe null_blk nr_devices=0
modprobe -a dm-cache dm-cache-smq
[[ -d /sys/kernel/config/nullb ]] || mount -t configfs configfs /sys/kernel/config

# null NAME MIB [KEY=VALUE]...
null() {
	local dir=/sys/kernel/config/nullb/$1 i
	mkdir "$dir"
	for i in "size=$2" memory_backed=1 "${@:3}"; do
		echo "${i#*=}" >"$dir/${i%%=*}"
	done
	echo 1 >"$dir/power"
	until [[ -b /dev/$1 ]]; do
		sleep 0.1
	done
}

unnull() {
	local i
	for i; do
		rmdir "/sys/kernel/config/nullb/$i"
	done
}

# table FAST SLOW [OPTION VALUE]...
table() {
	echo "0 $(($(superblock 412 4 "$1") * $(superblock 408 4 "$1"))) fusion $1 $2 ${3:+$(($# - 2)) ${*:3}}"
}

# iops NAME OFFSET SIZE [read|write] [JOBS] [DEPTH]: random, 4 KiB
iops() {
	fio --name=r --filename="$1" --rw="rand${4:-read}" --bs=4k --direct=1 --ioengine=io_uring \
		--iodepth="${6:-32}" --numjobs="${5:-$CPUS}" --group_reporting --offset="$2" --size="$3" \
		--norandommap --randrepeat=0 --ramp_time=20ms --time_based --runtime="$RUNTIME" \
		--output-format=json --output="$TMP/fio"
	jq ".jobs[0].${4:-read}.iops | floor" "$TMP/fio"
}

# sequential NAME read|write OFFSET SIZE: MiB/s
sequential() {
	fio --name=s --filename="$1" --rw="$2" --bs=1m --direct=1 --ioengine=io_uring --iodepth=4 \
		--offset="$3" --size="$4" --time_based --runtime="$RUNTIME" --output-format=json \
		--output="$TMP/fio"
	jq ".jobs[0].$2.bw / 1024 | floor" "$TMP/fio"
}

median() {
	sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# compare WHAT JOBS UNIT "COMMAND of the base" "COMMAND of fusion": in turn, REPEATS times
compare() {
	local i base fusion bases=() fusions=() ratios=() sorted
	for ((i = 0; i < REPEATS; i++)); do
		if ((i % 2)); then
			fusion=$($5)
			base=$($4)
		else
			base=$($4)
			fusion=$($5)
		fi
		bases+=("$base")
		fusions+=("$fusion")
		ratios+=("$(awk -v a="$fusion" -v b="$base" 'BEGIN { printf "%.3f", a / b }')")
	done
	base=$(printf '%s\n' "${bases[@]}" | median)
	fusion=$(printf '%s\n' "${fusions[@]}" | median)
	mapfile -t sorted < <(printf '%s\n' "${ratios[@]}" | sort -g)
	i=$(printf '%s\n' "${ratios[@]}" | median)
	printf '%-37s %4s %10s %10s %-6s %6s  %s..%s\n' "$1" "$2" "$base" "$fusion" "$3" "$i" \
		"${sorted[0]}" "${sorted[-1]}"
	JSON+=("$(jq -cnM --arg what "$1" --argjson jobs "$2" --arg unit "$3" --argjson base "$base" \
		--argjson fusion "$fusion" --argjson ratio "$i" --argjson min "${sorted[0]}" \
		--argjson max "${sorted[-1]}" --argjson n "$REPEATS" '$ARGS.named')")
}

# -- IOPS, throughput ------------------------------------------------------------

# clean NAME: wait until a dm-cache has written its dirty blocks back, which it does when it is
# idle. It would do that beside the measurement.
clean() {
	local i s
	for ((i = 0; i < 600; i++)); do
		read -ra s < <(dmsetup status "$1")
		[[ ${s[13]} -gt 0 ]] || return 0
		sleep 1
	done
	die "dm-cache has ${s[13]} dirty blocks, and keeps them"
}

# dm_cache: c, a dm-cache with its first 200 MiB in the cache. A discarded block goes there when it
# is written.
dm_cache() {
	local s
	null meta 16
	null cache 256
	null origin 512 discard=1
	dd if=/dev/zero of=/dev/meta bs=4k count=1 oflag=direct status=none
	create c "0 $(blockdev --getsz /dev/origin) cache /dev/meta /dev/cache /dev/origin 128 1 writeback smq 0"
	blkdiscard /dev/mapper/c
	dd if=/dev/urandom of=/dev/mapper/c bs=1M count=200 oflag=direct conv=fsync status=none
	clean c
	iops /dev/mapper/c 0 200m >/dev/null
	read -ra s < <(dmsetup status c)
	[[ $((s[7] * 100)) -ge $(((s[7] + s[8]) * 98)) ]] ||
		die "of $((s[7] + s[8])) reads only ${s[7]} hit the cache of dm-cache"
}

un_dm_cache() {
	dmsetup remove c
	unnull meta cache origin
}

# A set with extents 0 to 199 on fast, from slot data on, and 300 to 499 on slow, from slow_slot on;
# and l and s, dm-linear on its fast and on its slow member.
set_up() {
	local i
	null fast 256
	null slow 512
	fusionctl format --yes --force --fast /dev/fast --slow /dev/slow --extent-size 1M >/dev/null
	create f "$(table /dev/fast /dev/slow migration off)"
	dd if=/dev/urandom of="$TMP/data" bs=1M count=1 status=none
	for ((i = 0; i < $(dmsetup table f | cut -d ' ' -f 2) / 2048; i++)); do
		cat "$TMP/data"
	done | dd of=/dev/mapper/f bs=1M iflag=fullblock oflag=direct conv=fsync status=none
	dmsetup message f 0 checkpoint
	# places of extents 0 to 199 on fast, and 300 to 499 on slow
	data=$(superblock 464 8 /dev/fast)
	[[ $(dmsetup message f 0 map 0 200) == "0 200 fast 0 stable" ]] || die "unexpected map"
	slow_slot=$(dmsetup message f 0 map 300 200 | awk 'NR == 1 && $2 == 200 { print $4 }')
	[[ $slow_slot ]] || die "unexpected map of the slow part"
	create l "0 $(blockdev --getsz /dev/fast) linear /dev/fast 0"
	create s "0 $(blockdev --getsz /dev/slow) linear /dev/slow 0"
}

tear_down() {
	dmsetup remove l
	dmsetup remove s
	dmsetup remove f
	unnull fast slow
}

# Numbers of jobs.
numbers=(1)
[[ $CPUS -eq 1 ]] || numbers+=("$CPUS")

random_slow() {
	local rw jobs
	for jobs in "${numbers[@]}"; do
		for rw in read write; do
			compare "random $rw, slow, against dm-linear" "$jobs" IOPS \
				"iops /dev/mapper/s ${slow_slot}m 200m $rw $jobs" \
				"iops /dev/mapper/f 300m 200m $rw $jobs"
		done
	done
}

random() {
	local at=$((data * 512)) jobs
	for jobs in "${numbers[@]}"; do
		compare "4 KiB random read against dm-linear" "$jobs" IOPS \
			"iops /dev/mapper/l $at 200m read $jobs" "iops /dev/mapper/f 0 200m read $jobs"
		compare "4 KiB random write against dm-linear" "$jobs" IOPS \
			"iops /dev/mapper/l $at 200m write $jobs" "iops /dev/mapper/f 0 200m write $jobs"
	done
	compare "dm-linear against itself" "$CPUS" IOPS \
		"iops /dev/mapper/l $at 200m" "iops /dev/mapper/l $at 200m"
	compare "read against dm-linear, one at a time" 1 IOPS \
		"iops /dev/mapper/l $at 200m read 1 1" "iops /dev/mapper/f 0 200m read 1 1"
	dm_cache
	for jobs in "${numbers[@]}"; do
		compare "4 KiB random read against dm-cache" "$jobs" IOPS \
			"iops /dev/mapper/c 0 200m read $jobs" "iops /dev/mapper/f 0 200m read $jobs"
	done
	compare "read against dm-cache, one at a time" 1 IOPS \
		"iops /dev/mapper/c 0 200m read 1 1" "iops /dev/mapper/f 0 200m read 1 1"
	un_dm_cache
}

in_sequence() {
	local rw
	for rw in read write; do
		compare "sequential $rw, fast member" 1 MiB/s \
			"sequential /dev/fast $rw $((data * 512)) 200m" \
			"sequential /dev/mapper/f $rw 0 200m"
		compare "sequential $rw, slow member" 1 MiB/s \
			"sequential /dev/slow $rw ${slow_slot}m 200m" \
			"sequential /dev/mapper/f $rw 300m 200m"
	done
}

# -- memory ------------------------------------------------------------------------

# KiB of the kernel's own memory
memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	awk '/^(Slab|VmallocUsed|Percpu|KernelStack|PageTables):/ { n += $2 } END { print n }' \
		/proc/meminfo
}

# opening TABLE: time to open it, in milliseconds
opening() {
	local start
	start=$(date +%s%N)
	create f "$1"
	echo $((($(date +%s%N) - start) / 1000000))
}

# footprint MIB: memory of a set on sparse members of that size in all, in extents of 64 KiB. A
# little below a power of two, since the kernel rounds big arrays up to 2 MiB.
footprint() {
	local before after table first again extents bytes
	null fast $(($1 / 8))
	null slow $(($1 - $1 / 8))
	fusionctl format --yes --force --fast /dev/fast --slow /dev/slow --extent-size 64K >/dev/null
	extents=$(superblock 412 4 /dev/fast)
	table=$(table /dev/fast /dev/slow migration off)
	# the first opening also allocates the member's pages
	first=$(opening "$table")
	dmsetup remove f
	before=$(memory)
	again=$(opening "$table")
	after=$(memory)
	dmsetup remove f
	bytes=$(awk -v k=$((after - before)) -v n="$extents" 'BEGIN { printf "%.2f", k * 1024 / n }')
	printf '%10d %10d %10s %10d %10d\n' "$extents" $((after - before)) "$bytes" "$first" "$again"
	JSON+=("$(jq -cnM --argjson extents "$extents" --argjson kib $((after - before)) \
		--argjson bytes_per_extent "$bytes" --argjson open_first_ms "$first" \
		--argjson open_again_ms "$again" '$ARGS.named')")
	unnull fast slow
}

asked() {
	[[ " $WHAT " == *" $1 "* ]]
}

uname -sr
if asked iops || asked slow || asked sequential; then
	printf '%-37s %4s %10s %10s %-6s %6s  %s\n' "" jobs base fusion "" ratio spread
	set_up
	! asked iops || random
	! asked slow || random_slow
	! asked sequential || in_sequence
	tear_down
fi
if asked memory; then
	printf '\n%10s %10s %10s %10s %10s\n' extents KiB bytes/ext. opened/ms again/ms
	footprint 64
	for i in $EXTENTS; do
		footprint $((i * 65536))
	done
fi
jq -csM --arg kernel "$(uname -r)" --argjson cpus "$CPUS" \
	'{ kernel: $kernel, cpus: $cpus, results: . }' <<<"${JSON[*]}"
