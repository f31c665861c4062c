# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How long one has to wait.

# Small writes, each made durable, where the fill began: on the SSD, if any of it is.
test_fsync() {
	load fsync --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --offset="$HOT" --size=64M \
		--time_based --runtime="$SHORT"
}

# A reader of everything, one at a time, while what is hot changes all the time: six times
# another tenth of the span gets so much use that it is worth moving. With migration off and
# with it the reader and the others do the same.
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
