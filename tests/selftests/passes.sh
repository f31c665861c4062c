#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Three passes of random writes to a cold region of the disk, with pauses between: the third is at
# least half as fast as the SSD alone. Both are measured in turns, a slice each, since the load of
# the machine changes every few seconds. On a machine with other work, use the virtual clock, as
# `make check` does.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/passes
REGION=48	# MiB
OFFSET=400
PASS=15		# seconds
PAUSE=10
SLICE=1
SLICES=5

# pass DEV OFFSET_MIB SECONDS: KiB/s of 4 KiB random writes, 16 at a time
pass() {
	fio --name=pass --filename="$1" --rw=randwrite --bs=4k --direct=1 --ioengine=libaio \
		--iodepth=16 --offset="$2m" --size=${REGION}m --norandommap --refill_buffers \
		--time_based --runtime="$3" --output="$TMP/fio" --output-format=json
	jq '.jobs[0].write.bw' "$TMP/fio"
}

# median NUMBER...
median() {
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# region: place of the region
region() {
	say "pass $1: $2 KiB/s, $(on passes fast $OFFSET $REGION) of $REGION MiB on SSD"
}

long_three_passes() {
	local alone ssd=() hdd i rate=() first
	need fio jq
	need_module dm-spindle
	null alone $REGION
	alone=$REPLY
	null ssd 128
	FAST=$REPLY
	null platter 768
	spindle hdd "$REPLY"
	SLOW=/dev/mapper/hdd
	hdd=$(pass "$SLOW" 400 $PASS)
	format --extent-size 1M
	fusion passes
	# the SSD is full when the region is written
	dd if=/dev/urandom of="$SET" bs=1M count=$((128 + 16)) oflag=direct status=none
	dd if=/dev/urandom of="$SET" bs=1M seek=$OFFSET count=$REGION oflag=direct conv=fsync \
		status=none
	at_least "extents of the region on the disk" "$(on passes slow $OFFSET $REGION)" \
		$((REGION * 3 / 4))
	first=$(pass "$SET" $OFFSET $PASS)
	region 1 "$first"
	sleep $PAUSE
	region 2 "$(pass "$SET" $OFFSET $PASS)"
	sleep $PAUSE
	for ((i = 0; i < SLICES; i++)); do
		ssd+=("$(pass "$alone" 0 $SLICE)")
		rate+=("$(pass "$SET" $OFFSET $SLICE)")
	done
	region 3 "${rate[*]}"
	say "SSD alone ${ssd[*]} KiB/s, HDD alone $hdd KiB/s"
	at_least "KiB/s of the third pass (the first: $first)" "$(median "${rate[@]}")" \
		$(($(median "${ssd[@]}") / 2))
	at_least "SSD against HDD, or nothing is shown" "$(median "${ssd[@]}")" $((hdd * 10))
}

run_tests
