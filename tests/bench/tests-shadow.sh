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

# timed PART FROM KEY N: a record that begins at that time and ends now, of so many things
timed() {
	echo '{ "jobs": [] }' >"$TMP/none.json"
	record "$1" "t=$2 $3=0" "t=$AT $3=$4" '[]' "$TMP/none.json"
}

# protect PART: of all extents on the SSD none has a current shadow, and the set is idle
protect() {
	local from
	poll
	BEFORE=$WRITTEN
	dmsetup message "$NAME" 0 shadow_age "$SHADOW_AGE"
	poll_until an_extent_written
	from=$AT_BEFORE
	poll_until all_current
	timed "$1" "$from" shadows "$CURRENT"
	poll_until all_protected
	timed "$1, point" "$from" shadows "$CURRENT"
}

# outdate: write to all that is on the SSD, and keep its shadows as they are
outdate() {
	dmsetup message "$NAME" 0 shadow_age 0
	fill 0 $((SSD_MIB * MIB))
	settle
}

# A reader of one request at a time, and from its third second on, a round of copies beside it.
shadow_reader() {
	local later=''
	outdate
	# moves would come in between
	dmsetup message "$NAME" 0 migration off
	if [[ $SYSTEM == fusion-shadow ]]; then
		{ sleep 2; dmsetup message "$NAME" 0 shadow_age "$SHADOW_AGE"; } &
		later=$!
	fi
	load reader --rw=randread --bs=4k --iodepth=1 --size="$1" --time_based --runtime="$STEADY"
	[[ ! $later ]] || wait $later
	dmsetup message "$NAME" 0 migration on
}

# New data has used up the reserve, which is a quarter of the SSD: how long until it is free again?
shadow_refill() {
	local n=$((SLOTS / 4)) from
	dmsetup message "$NAME" 0 reserve $n
	settle
	poll_until reserve_full
	[[ $SYSTEM != fusion-shadow ]] || poll_until all_current
	dd if=/dev/urandom of="$TMP/new" bs=1M count=$n status=none
	dd if="$TMP/new" of="$DEV" bs=1M seek=$(($1 / MIB)) oflag=direct status=none
	poll
	from=$AT LEAST=$FREE
	rm "$TMP/new"
	poll_until reserve_begun
	timed "refill begins" "$from" slots $((FREE - LEAST))
	poll_until reserve_full
	timed refill "$from" slots $((FREE - LEAST))
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
	local bytes=$((SPAN * 70 / 100 & -MIB)) kind
	for kind in zoned zipf; do
		if [[ $kind == zipf ]]; then
			drop
			fresh
		fi
		fill_first $bytes
		STEP=2 load $kind "${MIX[@]}" --size=$bytes "${IN_BOTH[@]}" --random_distribution="$(
			[[ $kind == zoned ]] && echo "$ZONED" || echo zipf:1.2:0.5)"
	done
}
