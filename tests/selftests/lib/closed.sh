# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A closed set of known content, copies of its members, and damage to a block of them. For check.sh
# and dump-restore.sh.

SET=/dev/mapper/pair

# sum [DEV]...: checksum of these devices, or of the members
sum() {
	local i
	(($#)) || set -- "$FAST" "$SLOW"
	for i; do
		dd if="$i" bs=1M iflag=direct status=none | md5sum
	done
}

# stamp OPS: on the open set
stamp() {
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops "$1" --seed 1 >/dev/null
}

# a_set: closed cleanly, with extents on both members, partial ones too; fusion-stamp knows its
# content
a_set() {
	members 8 32
	stale "$FAST"
	stale "$SLOW"
	format pair --extent-size 64K
	defer dm_remove pair
	fusionctl open pair "$FAST" "$SLOW"
	stamp 400
	msg pair demote 0-99 >/dev/null
	msg pair promote 50-60 >/dev/null
	stamp 200
	fusionctl close pair
}

verify() {
	fusionctl open pair "$FAST" "$SLOW"
	fusion-stamp verify "$SET" --state "$TMP/state" >/dev/null
	fusionctl close pair
}

# both members at the same moment: again if the open set has written to one meanwhile
save() {
	local before i
	for ((i = 0; i < 20; i++)); do
		before=$(written "$FAST" "$SLOW")
		dd if="$FAST" of="$TMP/fast" bs=1M iflag=direct status=none
		dd if="$SLOW" of="$TMP/slow" bs=1M iflag=direct status=none
		[[ $(written "$FAST" "$SLOW") != "$before" ]] || return 0
	done
	fail "the set is never at rest"
}

# The metadata, and the data: extents may move while the set is open for a second.
restore() {
	local i
	for i in fast slow; do
		dd if="$TMP/$i" of="/dev/$i" bs=1M oflag=direct conv=notrunc status=none
	done
}

# zap DEV BLOCK [part]: zero it, or overwrite a part of it
zap() {
	if [[ ${3:-} ]]; then
		put_direct "$1" 125 $(($2 * 4096 + 512)) 512
	else
		put_direct "$1" 0 $(($2 * 4096)) 4096
	fi
}
