# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Waiting times.

# Small writes, each made durable, at the start of the fill: on the SSD, if any data is.
test_fsync() {
	load fsync --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --offset="$HOT" --size=64M \
		--time_based --runtime="$SHORT"
}

# A reader reads everything, one request at a time, while the hot data changes all the time: six
# times another tenth of the span is used enough to be worth moving. With migration off and on, the
# reader and the other loads do the same.
test_latency() {
	local i each=$((STEADY < 30 ? 15 : 30)) others=()
	for i in 1 2 3 4 5 6; do
		others+=(--name="hot$i" --rw=randread --bs=4k --iodepth=4
			--offset=$((SPAN * (i + 2) / 10 & -MIB)) --size=$((SPAN / 10 & -MIB))
			"${IN_EACH[@]}" "--startdelay=$(((i - 1) * each))")
	done
	load reader --rw=randread --bs=4k --iodepth=1 --time_based --runtime=$((6 * each)) \
		"${others[@]}"
}
