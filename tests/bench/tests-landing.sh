# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Small writes to cold data: as a burst, without an end, and each made durable.

# A burst is as long as its bytes, not as a time: 0.4 of a landing log that is an eighth of the SSD.
# Then the same twice as long, which is 0.4 of one that is a quarter.
test_burst() {
	load burst --rw=randwrite --bs=4k --iodepth=16 --io_size="${BURST_KIB}k"
	settle
	load double --rw=randwrite --bs=4k --iodepth=16 --io_size=$((BURST_KIB * 2))k
}

# How fast is it when all that takes writes first is full, and how long does nothing end?
test_sustained() {
	GAPS=1 load sustained --rw=randwrite --bs=4k --iodepth=16 --time_based --runtime="$ENDLESS"
}

# As test_fsync, where the fill is on the HDD.
test_fsync_cold() {
	load fsync --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --offset="$COLD" --size=64M \
		--time_based --runtime="$SHORT"
}
