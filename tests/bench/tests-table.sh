# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The loads of published reviews: a fill, random writes, a cold region and a hot zone to be learned,
# and cold reads.

# Four in five I/Os go to 4 % of the span, which begin at 60 % of it: on the HDD, after a fill.
ZONED=zoned:12/60:80/4:8/36
MIX=(--rw=randrw --rwmixread=70 --bs=4k --iodepth=16)

# hot_extents: first and last hot extent of fusion
hot_extents() {
	echo $((SPAN * 60 / 100 / BLOCK)) $((SPAN * 64 / 100 / BLOCK))
}

# The whole device is written in sequence. Then parts of it that lie on one disk are read and
# written, in a system that has each piece of data on one disk only.
test_sequential() {
	local zone=$((48 * MIB)) slow=$((256 * MIB))

	STEP=0.25 load fill --rw=write --bs=1M --iodepth=4
	settle
	[[ $SPAN -gt $slow ]] || slow=$zone
	set -- --bs=1M --iodepth=4 --time_based --runtime="$STREAM"
	load read-hot --rw=read --offset="$HOT" --size=$zone "$@"
	load read-cold --rw=read --offset="$COLD" --size="$slow" "$@"
	load write-hot --rw=write --offset="$HOT" --size=$zone "$@"
	load write-cold --rw=write --offset="$COLD" --size="$slow" "$@"
}

test_randwrite() {
	load randwrite --rw=randwrite --bs=4k --iodepth=16 "${IN_SHORT[@]}"
}

# The same for so long that no log, and no cache, takes all of it.
test_sustained() {
	STEP=0.25 load sustained --rw=randwrite --bs=4k --iodepth=16 --time_based \
		--runtime="$SUSTAINED"
}

test_randread() {
	load randread --rw=randread --bs=4k --iodepth=16 "${IN_SHORT[@]}"
}

# passes OPTION...: three passes, with a rest between
passes() {
	local i
	for i in 1 2 3; do
		[[ $i -eq 1 ]] || sleep "$PAUSE"
		STEP=0.5 load "pass $i" "$@" "${IN_PASS[@]}"
	done
}

test_region() {
	passes --rw=randwrite --bs=4k --iodepth=16 --offset="$COLD" --size=64M
}

test_mix() {
	passes "${MIX[@]}" --random_distribution="$ZONED"
}

test_coldread() {
	local size=$((256 * MIB))
	[[ $SPAN -ge $((COLD + size)) ]] || size=$((SPAN - COLD))
	load coldread --rw=read --bs=1M --iodepth=4 --offset="$COLD" --size="$size"
}
