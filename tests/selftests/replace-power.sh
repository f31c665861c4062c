#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power fails while a member is replaced, under load: when the new disk joins, while extents move,
# and at the end. What was flushed is there, and the set opens and goes on.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/replace.sh
. "$here/lib/replace.sh"

SIZE=$((12 << 20))

# cut: power fails, on all three disks at once, under a load that has written until then; then the
# set is opened again
cut() {
	local i
	for i in fast slow new; do
		dmsetup load "$i-link" --table "$(dead "$i")"
	done
	for i in fast slow new; do
		dmsetup suspend --noflush --nolockfs "$i-link"
		dmsetup resume "$i-link"
	done
	wait "$LOAD" || :
	wait "$REPLACE" || :
	within 20 "closed" close data
	for i in fast slow new; do
		dmsetup remove --retry "$i-link"
		null_power_cycle "$i"
		linear "$i-link" "/dev/$i" 0 "$(sectors_of "/dev/$i")"
	done
	good fusionctl open data
	fusion-stamp verify /dev/mapper/data --state "$TMP/state" --size $SIZE --power-cut
}

load() {
	fusion-stamp run /dev/mapper/data --state "$TMP/state" --size $SIZE --seconds 600 \
		--until-error >"$TMP/load" 2>&1 &
	LOAD=$!
	JOBS+=("$LOAD")
}

# replacing OLD: in the background
replacing() {
	fusionctl replace data "$1" "$NEW" --yes >"$TMP/replace" 2>&1 &
	REPLACE=$!
	JOBS+=("$REPLACE")
}

joined() {
	[[ $(dmsetup table data) == *" old_"* ]]
}

# through fast|slow: cut ever later, until that member has been replaced
through() {
	local old i
	old=$(member "$1")
	begin 24 48 48 cache_size=4096
	fusion-stamp fill /dev/mapper/data --state "$TMP/state" --size $SIZE
	for i in 0.2 0.6 1.2 2 4; do
		quick
		load
		if joined; then
			fusionctl replace data --wait >"$TMP/replace" 2>&1 &
			REPLACE=$!
			JOBS+=("$REPLACE")
		else
			good fusionctl status data --json
			json ".sets[0].$1.device" "$old"
			replacing "$old"
		fi
		sleep "$i"
		cut
		# its end came before
		[[ $(fusionctl status data --json | jq -r ".sets[0].$1.device") != "$NEW" ]] || joined ||
			break
	done
	quick
	if joined; then
		good fusionctl replace data --wait
	else
		good fusionctl replace data "$old" "$NEW" --yes
	fi
	same "member" "$(fusionctl status data --json | jq -r ".sets[0].$1.device")" "$NEW"
	fusion-stamp verify /dev/mapper/data --state "$TMP/state" --size $SIZE
	good fusionctl close data
	status_of fusionctl check data
	at_most "exit code of check ($OUT)" "$RC" 0
}

test_fast() {
	through fast
}

test_slow() {
	through slow
}

run_tests
