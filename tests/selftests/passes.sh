#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Three passes of random writes on a cold region of the disk, with pauses between:
# the third is at least half as fast as the SSD alone.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/passes
REGION=48	# MiB
PASS=15		# seconds
PAUSE=10

# pass DEV OFFSET_MIB: KiB/s of 4 KiB random writes, 16 at a time
pass() {
	fio --name=pass --filename="$1" --rw=randwrite --bs=4k --direct=1 --ioengine=libaio \
		--iodepth=16 --offset="$2m" --size=${REGION}m --norandommap --refill_buffers \
		--time_based --runtime=$PASS --output="$TMP/fio" --output-format=json
	jq '.jobs[0].write.bw' "$TMP/fio"
}

test_three_passes() {
	local ssd hdd i rate first=0 offset
	need fio jq
	need_module dm-spindle
	null ssd 128
	FAST=$REPLY
	null platter 768
	spindle hdd "$REPLY"
	SLOW=/dev/mapper/hdd
	ssd=$(pass "$FAST" 16)
	hdd=$(pass "$SLOW" 400)
	format --extent-size 1M
	fusion passes
	# the SSD is full when the region is written
	dd if=/dev/urandom of="$SET" bs=1M count=$((128 + 16)) oflag=direct status=none
	offset=400
	dd if=/dev/urandom of="$SET" bs=1M seek=$offset count=$REGION oflag=direct conv=fsync \
		status=none
	at_least "extents of the region on the disk" "$(on passes slow $offset $REGION)" \
		$((REGION * 3 / 4))
	for i in 1 2 3; do
		[[ $i -eq 1 ]] || sleep $PAUSE
		rate=$(pass "$SET" $offset)
		[[ $i -ne 1 ]] || first=$rate
		say "pass $i: $rate KiB/s, $(on passes fast $offset $REGION) of $REGION MiB on SSD"
	done
	say "SSD alone $ssd KiB/s, HDD alone $hdd KiB/s"
	at_least "KiB/s of the third pass (the first: $first)" "$rate" $((ssd / 2))
	at_least "SSD against HDD, or nothing is shown" "$ssd" $((hdd * 10))
}

run_tests test_three_passes:long
