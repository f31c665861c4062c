#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A read-only device can be read, and writes nothing to the members.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/readonly

begin() {
	switched 16 32
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion readonly
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 1500
}

# read_only [VERIFY OPTION]: open it read-only and read it; nothing may change
read_only() {
	local fast slow
	fast=$(md5sum <"$FAST")
	slow=$(md5sum <"$SLOW")
	dm readonly "$(table)" --readonly
	same "read-only flag" "$(blockdev --getro "$SET")" 1
	same "mode" "$(status readonly mode)" ro
	fusion-stamp verify "$SET" --state "$TMP/state" "$@"
	fusion-stamp verify "$SET" --state "$TMP/state" --nowait
	if dd if=/dev/zero of="$SET" bs=4k count=1 oflag=direct status=none 2>/dev/null; then
		fail "a read-only device was written"
	fi
	if blkdiscard "$SET" 2>/dev/null; then
		fail "a read-only device was discarded"
	fi
	refused "Read-only file system" msg readonly demote 0-10
	refused "Read-only file system" msg readonly checkpoint
	sync "$SET"
	heat readonly 0 100 2
	close readonly
	blockdev --flushbufs "$FAST" "$SLOW"
	same "fast member" "$(md5sum <"$FAST")" "$fast"
	same "slow member" "$(md5sum <"$SLOW")" "$slow"
}

test_after_close() {
	begin
	close readonly
	read_only
	fusion readonly
	same "mode" "$(status readonly mode)" rw
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 500
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# the journal is replayed in memory only
test_after_power_cut() {
	begin
	sync "$SET"
	power_off
	close readonly
	power_on
	read_only --power-cut
	fusion readonly
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# members that cannot be written to
test_readonly_members() {
	begin
	close readonly
	blockdev --setro "$FAST" "$SLOW"
	read_only
}

# a live device that is reloaded read-only, and read-write again
test_reload() {
	begin
	dmsetup load readonly --readonly --table "$(table)"
	dmsetup suspend readonly
	dmsetup resume readonly
	same "mode" "$(status readonly mode)" ro
	fusion-stamp verify "$SET" --state "$TMP/state"
	dmsetup load readonly --table "$(table)"
	dmsetup suspend readonly
	dmsetup resume readonly
	same "mode" "$(status readonly mode)" rw
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 500
	fusion-stamp verify "$SET" --state "$TMP/state"
}

run_tests
