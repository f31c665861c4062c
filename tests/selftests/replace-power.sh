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

# power_fails: on all three disks at once, under a load that has written until then; then the
# set is opened again
power_fails() {
	local i
	for i in fast slow new; do
		dmsetup load "$i-link" --table "$(dead "$i")"
	done
	# no superblock on one of them can tell of an error of another one
	for i in fast slow new; do
		dmsetup suspend --noflush --nolockfs "$i-link"
	done
	for i in fast slow new; do
		dmsetup resume "$i-link"
	done
	wait "$REPLACE" || :
	# in the middle of an exchange: no table can be had any more, and I/O would wait. It fails, flushes
	# too: see `dead`.
	if [[ $(dmsetup info -c --noheadings -o suspended data) == Suspended ]]; then
		dmsetup load data --table "0 $LEN flakey /dev/gone 0 0 86400"
		dmsetup resume data
	fi
	wait "$LOAD" || :
	within 20 "closed" close data
	power_on fast slow new
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

following() {
	fusionctl replace data --wait >"$TMP/replace" 2>&1 &
	REPLACE=$!
	JOBS+=("$REPLACE")
}

joined() {
	[[ $(dmsetup table data) == *" old_"* ]]
}

# ended: the member is the new disk, and there is no old one
ended() {
	! joined && [[ $(fusionctl status data --json | jq -r ".sets[0].$1.device") == "$NEW" ]]
}

# through fast|slow: cut ever later, until that member has been replaced
through() {
	local old i left cuts=0
	begin 24 48 48 cache_size=4096
	null gone $((LEN / 2048 + 1))
	old=$(member "$1")
	fusion-stamp fill /dev/mapper/data --state "$TMP/state" --size $SIZE
	for i in 1 3 5 7 2 2 3 4; do
		quick
		slowed 150
		load
		if joined; then
			following
		else
			replacing "$old"
		fi
		sleep "$i"
		power_fails
		left=$(old_left)
		say "cut after $i s: ${left:-0} left"
		cuts=$((cuts + 1))
		! ended "$1" || break
	done
	at_least "cuts" "$cuts" 3
	quick
	if joined; then
		good fusionctl replace data --wait
	else
		good fusionctl replace data "$old" "$NEW" --yes
	fi
	ended "$1" || fail "it has not ended"
	fusion-stamp verify /dev/mapper/data --state "$TMP/state" --size $SIZE
	good fusionctl close data
	status_of fusionctl check data
	same "exit code of check ($OUT)" "$RC" 0
}

test_fast() {
	through fast
}

test_slow() {
	through slow
}

run_tests
