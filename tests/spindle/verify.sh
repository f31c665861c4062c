#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The disk model behaves as claimed. For a VM with the virtual clock:
#
#	scripts/vm run --virtual-clock tests/spindle/verify.sh [figures|behaviour]
#
# Without that clock the disks' figures still hold, but the SSD's depend on the machine. Prints KTAP
# with the measured figures, and a digest of them, to compare runs. Exit status: 0 all passed, 1
# some failed, 4 cannot run here.

set -u

SIZE_MIB=4096
SECTORS=$((SIZE_MIB * 2048))
NULLB=/sys/kernel/config/nullb
DEV=/dev/mapper/spin

count=0
failed=0
figures=()

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}

ok() {
	count=$((count + 1))
	echo "ok $count $*"
}

not_ok() {
	count=$((count + 1))
	failed=$((failed + 1))
	echo "not ok $count $*"
}

# check NAME COMMAND...: the command succeeds
check() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name: $*"; fi
}

# equal NAME GOT WANTED
equal() {
	if [[ $2 == "$3" ]]; then ok "$1: $2"; else not_ok "$1: $2, not $3"; fi
}

# figure NAME VALUE LEAST MOST UNIT
figure() {
	figures+=("$1=$2")
	if awk -v v="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(v >= a && v <= b) }'; then
		ok "$1: $2 $5 ($3 to $4)"
	else
		not_ok "$1: $2 $5, not $3 to $4"
	fi
}

# backing NAME BLOCKSIZE MIB MEMORY: a RAM disk, or one that forgets its data
backing() {
	mkdir "$NULLB/$1"
	echo "$2" >"$NULLB/$1/blocksize"
	echo "$3" >"$NULLB/$1/size"
	echo "$4" >"$NULLB/$1/memory_backed"
	echo 2 >"$NULLB/$1/queue_mode"
	echo 0 >"$NULLB/$1/irqmode"
	[[ $4 == 0 ]] || echo 1 >"$NULLB/$1/discard"
	echo 1 >"$NULLB/$1/power"
}

unbacking() {
	echo 0 >"$NULLB/$1/power"
	rmdir "$NULLB/$1"
}

# create SECTORS BACKING [KEY VALUE]...
create() {
	local len=$1 dev=$2
	shift 2
	dmsetup create spin --table "0 $len spindle $dev $# $*" || exit 1
	[[ -b $DEV ]] || dmsetup mknodes spin
}

remove() {
	dmsetup remove spin || exit 1
}

# status KEY
status() {
	dmsetup status spin | grep -oP "(?<= $1=)\d+"
}

# load FIELD OPTION...: a field of job 0 in fio's JSON, or nothing
load() {
	local field=$1
	shift
	fio --name=load --filename=$DEV --direct=1 --ioengine=libaio --time_based \
	    --norandommap --randrepeat=1 --output-format=json "$@" 2>/dev/null |
		jq -r ".jobs[0] | ($field) * 100 | round / 100"
}

rand() {
	load "$1" --rw="$2" --bs=4k --iodepth="$3" --runtime="$4" --ramp_time=3 "${@:5}"
}

seq() {
	load '[.read.bw_bytes, .write.bw_bytes] | max / 1e6' --rw="$1" --bs=1m \
	     --iodepth="$2" --runtime=10 --ramp_time=3
}

put() {
	dd if=/dev/zero of=$DEV oflag=direct bs=4k status=none "$@"
}

get() {
	dd if=$DEV of=/dev/null iflag=direct bs=4k status=none "$@"
}

queue() {
	echo "/sys/block/$(dmsetup info -C --noheadings -o blkdevname spin)/queue"
}

# -- figures -----------------------------------------------------------------

hdd_figures() {
	create $SECTORS /dev/spindle0 profile hdd
	equal "a disk is rotational" "$(cat "$(queue)/rotational")" 1

	figure "hdd: random read, QD 1" "$(rand .read.iops randread 1 30)" 76 80 IOPS
	figure "hdd: random read, QD 32" "$(rand .read.iops randread 32 30)" 173 191 IOPS
	figure "hdd: oldest random read, QD 32" \
	       "$(rand '.read.clat_ns.max / 1e6' randread 32 30)" 300 900 ms
	check "hdd: some were served for their age" test "$(status aged)" -gt 0

	figure "hdd: random write, QD 16, sustained" \
	       "$(rand '.write.bw_bytes / 1e6' randwrite 16 30)" 0.4 0.6 MB/s
	figure "hdd: random write and fsync" \
	       "$(rand .write.iops randwrite 1 20 --fsync=1)" 65 78 IOPS
	figure "hdd: sequential read, 1 MiB, QD 1" "$(seq read 1)" 137 142 MB/s
	figure "hdd: sequential read, 1 MiB, QD 4" "$(seq read 4)" 137 142 MB/s
	figure "hdd: sequential write, 1 MiB, QD 1" "$(seq write 1)" 137 142 MB/s
	figure "hdd: sequential write, 1 MiB, QD 4" "$(seq write 4)" 137 142 MB/s
	figure "hdd: the same 1 MiB again and again, 4 KiB, QD 1" \
	       "$(load .read.iops --rw=read --bs=4k --size=1m --runtime=1 --ramp_time=1)" \
	       9000 20000 IOPS
	remove

	create $SECTORS /dev/spindle0 cache_kib 0 readahead 0
	figure "hdd: sequential write without cache: a revolution for each" \
	       "$(seq write 1)" 50 72 MB/s
	figure "hdd: random write without cache, QD 1" \
	       "$(rand .write.iops randwrite 1 20)" 68 76 IOPS
	remove
}

# seek_us BLOCK BLOCK: time of the arm from one 4 KiB block to another
seek_us() {
	get count=1 skip="$1"
	dmsetup message spin 0 reset
	get count=1 skip="$2"
	status seek_us
}

# The square of the time is linear in the distance.
seek_figures() {
	local heads=4 track=2440 far last law
	local cylinder=$((heads * track / 8)) blocks=$((SECTORS / 8))

	create $SECTORS /dev/spindle0 readahead 0
	last=$(((blocks - 1) / cylinder))
	equal "hdd: no seek in a track, us" "$(seek_us 0 9)" 0
	equal "hdd: switching of heads, us" "$(seek_us 0 $((track / 8)))" 500
	equal "hdd: seek to the next cylinder, us" "$(seek_us 0 $cylinder)" 1000
	equal "hdd: full stroke, us" "$(seek_us $((blocks - 1)) 0)" 16000
	for far in 50 $((last / 4)) $((last / 2)); do
		law=$(awk -v d=$far -v l=$last 'BEGIN {
			printf "%d", sqrt(1 + 255 * (d - 1) / (l - 1)) * 1000 }')
		equal "hdd: seek over $far of $last cylinders, us" \
		      "$(seek_us $((7 * cylinder)) $(((7 + far) * cylinder)))" "$law"
	done
	remove
}

consumer_figures() {
	create $SECTORS /dev/spindle0 profile consumer
	figure "consumer: random read, QD 1" \
	       "$(rand '.read.clat_ns.mean / 1e6' randread 1 30)" 16.5 17.5 ms
	figure "consumer: random read, QD 32" "$(rand .read.iops randread 32 30)" 90 98 IOPS
	remove
}

ssd_figures() {
	create $SECTORS /dev/spindle0 profile ssd
	equal "an SSD is not rotational" "$(cat "$(queue)/rotational")" 0
	figure "ssd: random read, QD 1" "$(rand .read.iops randread 1 2 --ramp_time=0)" 8500 8900 IOPS
	figure "ssd: random read, QD 32" "$(rand .read.iops randread 32 1 --ramp_time=0)" 55000 59000 IOPS
	figure "ssd: sequential read, 1 MiB" "$(seq read 4)" 467 487 MB/s
	figure "ssd: sequential write, 1 MiB" "$(seq write 4)" 299 311 MB/s
	figure "ssd: flush" \
	       "$(rand '.sync.lat_ns.mean / 1e6' randwrite 1 3 --fsync=1)" 2.95 3.1 ms
	remove
}

# -- behaviour ---------------------------------------------------------------

counters() {
	create 65536 /dev/spindle1
	dmsetup message spin 0 reset
	put count=7 seek=100
	get bs=8k count=5
	equal "reads" "$(status reads) of $(status read_sectors)" "5 of 80"
	equal "writes" "$(status writes) of $(status write_sectors)" "7 of 56"
	equal "no flush without fsync" "$(status flushes)" 0
	put count=1 conv=fsync
	equal "a flush by fsync" "$(status flushes)" 1
	equal "no FUA so far" "$(status fuas)" 0
	put count=1 oflag=direct,dsync
	equal "O_DSYNC: an FUA write, then a flush" "$(status fuas), $(status flushes)" "1, 2"
	blkdiscard -o 1m -l 1m $DEV
	equal "a discard" "$(status discards) of $(status discard_sectors)" "1 of 2048"
	dmsetup message spin 0 reset
	equal "reset" "$(dmsetup status spin | grep -oP '\b(reads|writes|flushes|discards|seeks|busy_us|write_sectors)=[1-9]')" ""
	check "an unknown message is refused" refuse dmsetup message spin 0 tickle
	check "watch without sectors is refused" refuse dmsetup message spin 0 watch 8
	check "watch of no number is refused" refuse dmsetup message spin 0 watch 8 few
	remove
}

refuse() {
	! "$@" 2>/dev/null
}

# The share of the arm's work in some sectors: two of seven writes begin there.
watch() {
	local i all parts

	create 65536 /dev/spindle1 cache_kib 0 readahead 0
	equal "nothing is watched" "$(status watched), $(status watched_us)" "0, 0"
	dmsetup message spin 0 watch 800 16
	for i in 3 99 100 4000 101 102 8000; do
		put count=1 seek="$i"
	done
	equal "work in the sectors watched" "$(status watched)" 2
	all=$(status work_us)
	check "takes time, less than all" test "$(status watched_us)" -gt 0 -a \
	      "$(status watched_us)" -lt "$all"
	check "all of it is not more than the time that passed" test "$all" -le "$(status busy_us)"
	parts=$(($(status seek_us) + $(status rotate_us) + $(status transfer_us)))
	# each is rounded down
	check "the arm's work is seek, rotation and transfer" test "$parts" -le "$all" -a \
	      "$parts" -ge $((all - 2))
	dmsetup message spin 0 watch 0 65536
	equal "watching counts from zero" "$(status work_us)" 0
	get bs=8k count=5
	equal "all is watched" "$(status watched_us)" "$(status work_us)"
	remove
}

write_cache() {
	create 65536 /dev/spindle1 seek_track_us 500000 seek_full_us 500000
	put count=1 seek=4000
	put count=1 seek=1
	check "writes are acknowledged from the cache" test "$(status dirty_kib)" -ge 4
	put count=1 seek=8000
	put count=1 seek=2000 conv=fsync
	equal "a flush leaves the cache clean" "$(status dirty_kib)" 0
	put count=1 seek=4000
	put count=1 seek=1
	dmsetup suspend spin
	equal "so does suspending" "$(status dirty_kib), $(status inflight)" "0, 0"
	dmsetup resume spin
	remove
}

# integrity SECTORSIZE PROFILE: every block reads as last written, although tables are reloaded
integrity() {
	local i pid table
	create 65536 /dev/spindle1 profile "$2"
	equal "logical blocks" "$(cat "$(queue)/logical_block_size")" "$1"
	fio --name=verify --filename=$DEV --direct=1 --ioengine=libaio --iodepth=16 \
	    --rw=randwrite --bsrange=4k-64k --bs_unaligned=0 --blockalign=4k --fsync=16 \
	    --verify=crc32c --verify_backlog=64 --verify_fatal=1 --randrepeat=1 \
	    --size=32m --eta=never --output=/dev/null 2>&1 &
	pid=$!
	table=$(dmsetup table spin)
	for ((i = 0; i < 20; i++)); do
		sleep 0.1
		dmsetup reload spin --table "$table" || break
		dmsetup resume spin || break
	done
	equal "$2, $1: tables reloaded under load" "$i" 20
	check "$2, $1: data verified" wait $pid
	equal "$2, $1: the table line comes back" "$(dmsetup table spin)" "$table"
	remove
}

errors() {
	dmsetup create bad --table "0 65536 error"
	dmsetup mknodes bad
	create 65536 /dev/mapper/bad
	dmsetup message spin 0 reset
	check "errors of the device below pass" refuse get count=1
	equal "and are counted" "$(status errors)" 1
	remove
	dmsetup remove bad
}

# bad ARGUMENT...: such a table is refused
bad() {
	check "refused: $*" refuse dmsetup create spin --table "0 65536 spindle $*"
	dmsetup remove spin 2>/dev/null
}

bad_tables() {
	bad
	bad /dev/nonexistent
	bad /dev/spindle1 1 rpm
	bad /dev/spindle1 2 rpm
	bad /dev/spindle1 2 rpm 5400 heads
	bad /dev/spindle1 2 rpm 0
	bad /dev/spindle1 2 rpm 99999999999
	bad /dev/spindle1 2 rpm fast
	bad /dev/spindle1 2 colour red
	bad /dev/spindle1 2 profile tape
	bad /dev/spindle1 4 profile ssd rpm 7200
	bad /dev/spindle1 2 read_us 100
	bad /dev/spindle1 2 cache_slots 257
	bad /dev/spindle1 2 seek_full_us 999
	bad /dev/spindle1 2 head_switch_us 1001
	check "refused: more than the device has" refuse \
	      dmsetup create spin --table "0 999999999 spindle /dev/spindle1"
	dmsetup remove spin 2>/dev/null
}

# -- run ---------------------------------------------------------------------

echo "KTAP version 1"
[[ $EUID == 0 ]] || skip "not root"
for i in dmsetup fio jq blkdiscard; do
	command -v $i >/dev/null || skip "no $i"
done
modprobe configfs 2>/dev/null
modprobe null_blk nr_devices=0 || skip "no null_blk"
[[ -d $NULLB ]] || mount -t configfs none /sys/kernel/config
modprobe dm-spindle || skip "no dm-spindle"

what=${1:-figures behaviour}
if [[ $what == *figures* ]]; then
	backing spindle0 512 $SIZE_MIB 0
	seek_figures
	hdd_figures
	consumer_figures
	ssd_figures
	unbacking spindle0
fi

if [[ $what == *behaviour* ]]; then
	for size in 512 4096; do
		backing spindle1 $size 32 1
		integrity $size hdd
		integrity $size ssd
		unbacking spindle1
	done
	backing spindle1 512 32 1
	counters
	watch
	write_cache
	errors
	bad_tables
	unbacking spindle1
fi
check "the module unloads" rmmod dm_spindle

echo "# digest $(printf '%s\n' "${figures[@]}" | sha256sum | cut -c 1-16)"
echo "1..$count"
[[ $failed == 0 ]]
