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

# launch_log FILE: what an application reads when it starts, in iolog format: 12 MiB of the part that
# the fill leaves on the SSD, and 12 MiB of the part that it does not, in files of 4 to 64 KiB, in
# random order, which is always the same
launch_log() {
	awk -v dev="$DEV" -v hot="$HOT" -v cold="$COLD" 'BEGIN {
		srand(1)
		for (part = 0; part < 2; part++)
			for (at = 0; at < 12 * 1048576; at += bytes[n++]) {
				bytes[n] = 4096 * 2 ^ int(5 * rand())
				offset[n] = (part ? cold : hot) + at
			}
		print "fio version 2 iolog"
		print dev, "add"
		print dev, "open"
		while (n) {
			i = int(n-- * rand())
			print dev, "read", offset[i], bytes[i]
			offset[i] = offset[n]
			bytes[i] = bytes[n]
		}
		print dev, "close"
	}' >"$1"
}

# An application starts, again and again, a minute apart.
test_launch() {
	local i
	launch_log "$TMP/launch"
	for i in 1 2 3 4 5 6; do
		load "launch $i" --read_iolog="$TMP/launch" --replay_no_stall=1 --iodepth=1
		sleep 60
	done
}
