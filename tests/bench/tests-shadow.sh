# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2153
#
# Shadows: how fast a full SSD is protected, what that costs a reader, and what shadows bring to the
# reserve and to loads that move data.

# poll: set AT, the time; CURRENT, shadows that are; ON_FAST, extents on the SSD; PROTECTED of them;
# FREE and RESERVE, free slots of it; WRITTEN, sectors written to the HDD
poll() {
	local s hdd
	read -ra s < <(dmsetup status "$NAME")
	AT=$EPOCHREALTIME
	CURRENT=${s[30]%/*} PROTECTED=${s[32]%/*} ON_FAST=${s[32]#*/}
	FREE=${s[23]%/*} RESERVE=${s[23]#*/}
	read -ra hdd <"$HDD_STAT"
	WRITTEN=${hdd[6]}
}

all_current() { [[ $CURRENT -eq $ON_FAST ]]; }
all_protected() { [[ $PROTECTED -eq $ON_FAST ]]; }
reserve_full() { [[ $FREE -ge $RESERVE ]]; }
reserve_begun() { [[ $FREE -gt $LEAST ]]; }
an_extent_written() { [[ $((WRITTEN - BEFORE)) -ge $((BLOCK / 512)) ]]; }

# poll_until CONDITION: for two minutes at most. AT_BEFORE is the time of the last poll without it
poll_until() {
	local begun=$SECONDS
	until poll; "$1"; do
		AT_BEFORE=$AT
		if [[ $((SECONDS - begun)) -ge 120 ]]; then
			say "$TEST, $SYSTEM: waited in vain for $1"
			return 1
		fi
	done
}

# timed PART FROM TO KEY N: a record from one time to the other, of so many things
timed() {
	echo '{ "jobs": [] }' >"$TMP/none.json"
	record "$1" "t=$2 $4=0" "t=$3 $4=$5" '[]' "$TMP/none.json"
}

# protect PART: of all extents on the SSD none has a current shadow, and the set is idle
protect() {
	local from to
	poll
	BEFORE=$WRITTEN
	dmsetup message "$NAME" 0 shadow_age "$SHADOW_AGE"
	poll_until an_extent_written
	from=$AT_BEFORE
	poll_until all_current
	to=$AT
	poll_until all_protected
	timed "$1, point" "$from" "$AT" shadows "$CURRENT"
	timed "$1" "$from" "$to" shadows "$CURRENT"
}

# outdate: write to all that is on the SSD, and keep its shadows as they are
outdate() {
	dmsetup message "$NAME" 0 shadow_age 0
	fill 0 $((SSD_MIB * MIB))
	settle
}

# copy_beside: a round of copies, once there is a reader
copy_beside() {
	local s first
	read -ra s <"$STAT"
	first=${s[0]}
	until [[ $((s[0] - first)) -ge 100 ]]; do
		sleep 0.1
		read -ra s <"$STAT"
	done
	dmsetup message "$NAME" 0 shadow_age "$SHADOW_AGE"
}

# copies: for shadows, by the last snapshot
copies() {
	grep -o 'shadow_copies=[0-9]*' <<<"$SNAPSHOT" | cut -d = -f 2
}

# A reader of one request at a time, and a round of copies beside it. The round is longer than what
# is measured of the reader.
shadow_reader() {
	local later='' before
	outdate
	snapshot
	before=$(copies)
	# moves would come in between
	dmsetup message "$NAME" 0 migration off
	if [[ $SYSTEM == fusion-shadow ]]; then
		copy_beside &
		later=$!
	fi
	load reader --rw=randread --bs=4k --iodepth=1 --size="$1" --time_based --runtime=8 --ramp_time=3
	[[ ! $later ]] || wait $later
	poll
	if [[ $(($(copies) - before)) -ge $ON_FAST ]]; then
		say "$TEST, $SYSTEM: the copies ended before the reader"
		return 1
	fi
	dmsetup message "$NAME" 0 migration on
}

# New data has used up the reserve, which is a quarter of the SSD: how long until it is free again?
shadow_refill() {
	local n=$((SLOTS / 4)) from begun
	dmsetup message "$NAME" 0 reserve $n
	settle
	poll_until reserve_full
	[[ $SYSTEM != fusion-shadow ]] || poll_until all_current
	dd if=/dev/urandom of="$TMP/new" bs=1M count=$n status=none
	# what becomes free meanwhile would be used up as well
	dmsetup message "$NAME" 0 migration off
	dd if="$TMP/new" of="$DEV" bs=1M seek=$(($1 / MIB)) oflag=direct status=none
	dmsetup message "$NAME" 0 migration on
	poll
	from=$AT LEAST=$FREE
	rm "$TMP/new"
	poll_until reserve_begun
	begun=$AT
	poll_until reserve_full
	timed "refill begins" "$from" "$begun" slots $((FREE - LEAST))
	timed refill "$from" "$AT" slots $((FREE - LEAST))
}

# Half of the device is in use, so there is room for all shadows.
test_shadow() {
	local used=$((SPAN / 2 & -MIB))
	if [[ $SYSTEM == hdd ]]; then
		load write --rw=write --bs=1M --iodepth=4 --size=$((SSD_MIB * MIB)) --end_fsync=1
		return
	fi
	HDD_STAT=/sys/dev/block/$(lsblk -dnro MAJ:MIN "$HDD" | tr -d " ")/stat
	dmsetup message "$NAME" 0 shadow_age 0
	fill_first $used
	if [[ $SYSTEM == fusion-shadow ]]; then
		protect none
		outdate
		protect outdated
	fi
	shadow_reader "$used"
	shadow_refill "$used"
}

# Loads that move data, where there is room for shadows.
test_shadow_mix() {
	local bytes=$((SPAN * 70 / 100 & -MIB)) kind distribution
	for kind in zoned zipf; do
		if [[ $kind == zipf ]]; then
			drop
			fresh
		fi
		fill_first $bytes
		distribution=$ZONED
		[[ $kind == zoned ]] || distribution=zipf:1.2:0.5
		STEP=2 load $kind "${MIX[@]}" --size=$bytes --random_distribution="$distribution" \
			"${IN_WARM[@]}"
	done
}
