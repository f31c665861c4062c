#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# restore puts back the map that dump saved, and the data is there. It refuses a dump of a set that was
# used since, the wrong devices, and a damaged dump.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/closed.sh
. "$(dirname "$0")/lib/closed.sh"

# the part of a dump that must not change: all except the state of superblocks and journals
meaning() {
	jq -S 'del(.superblocks, .journals, .epoch, .host)' "$1"
}

test_dump_restore() {
	local i
	a_set
	gives 0 fusionctl dump pair -o "$TMP/dump"
	same version "$(jq -r '.version, .content' "$TMP/dump")" $'1\ndm-fusion metadata'
	at_least "open extents in the dump" "$(jq '.open | length' "$TMP/dump")" 1
	at_least "runs of the map" "$(jq '.map | length' "$TMP/dump")" 2
	gives 1 fusionctl dump pair -o "$TMP/dump"
	says "File exists; choose another file"
	# a dump that does not fit leaves nothing that blocks the next one
	mkdir "$TMP/full"
	mount -t tmpfs -o size=4k tmpfs "$TMP/full"
	defer umount_quietly "$TMP/full"
	for i in 1 2; do
		gives 1 fusionctl dump pair -o "$TMP/full/dump"
		says "$TMP/full/dump: cannot write: No space left on device; choose another file"
	done
	same "files there" "$(ls "$TMP/full")" ""
	gives 3 fusionctl restore "$TMP/dump" "$FAST" "$SLOW"
	says "would be replaced, and there is no terminal to ask on; add --yes"

	for i in "$FAST" "$SLOW"; do
		put_direct "$i" 0 0 1048576
	done
	gives 4 fusionctl check "$FAST" "$SLOW"
	gives 4 fusionctl repair "$FAST" "$SLOW" --yes
	says "fusionctl restore puts back what fusionctl dump saved"
	gives 0 fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --dry-run
	says "the metadata on $FAST and $SLOW would be replaced by that of $TMP/dump: the set"
	gives 4 fusionctl check "$FAST" "$SLOW"
	gives 2 fusionctl restore "$TMP/dump" "$FAST" --yes
	says "name both members, the fast one first, or the set"
	gives 4 fusionctl restore "$TMP/dump" pair --yes
	says "no member of that set is found"
	gives 0 fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes
	gives 0 fusionctl restore "$TMP/dump" pair --dry-run
	says "the metadata on $FAST and $SLOW would be replaced by that of $TMP/dump"
	gives 0 fusionctl restore "$TMP/dump" pair --yes
	says "restored"
	gives 0 fusionctl check pair
	gives 0 fusionctl dump pair -o "$TMP/again"
	meaning "$TMP/dump" >"$TMP/a"
	meaning "$TMP/again" >"$TMP/b"
	diff "$TMP/a" "$TMP/b"
	# no machine has opened the restored set
	same "machine that had it" "$(jq -r .host.name "$TMP/dump") $(jq .host "$TMP/again")" \
		"$(uname -n) null"
	null other 32
	mkfs.ext4 -q -L home /dev/other
	gives 3 fusionctl restore "$TMP/dump" "$FAST" /dev/other --yes
	says "/dev/other: contains ext4 (label home"
	verify

	# the set was used since
	gives 3 fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes
	says "was used after $TMP/dump was made"
	# nothing moves, and nothing is completed, in the meantime
	gives 0 fusionctl set pair migration=off idle=1m
	gives 0 fusionctl dump pair -o "$TMP/idle"
	gives 0 fusionctl open pair
	gives 0 fusionctl close pair
	gives 3 fusionctl restore "$TMP/idle" "$FAST" "$SLOW" --yes
	says "was used after $TMP/idle was made, although no extent has moved since: "
	says "open the set, or repair it if it does not open"
	gives 4 fusionctl restore "$TMP/dump" "$SLOW" "$FAST" --yes --force
	says "is smaller than the slow member"
	for i in '.map[0].slot = 99999999' '.map += [.map[0]]' 'del(.geometry)' '.version = 2' \
		'.geometry.map_start_0 = 0' '.content = "x"' '.map[0].extents = -1' \
		'.open += [{extent: 0, valid: "zz"}]' '.set_uuid = 7' '.members.fast = []'; do
		jq "$i" "$TMP/dump" >"$TMP/bad"
		gives 1 fusionctl restore "$TMP/bad" "$FAST" "$SLOW" --yes --force
	done
	head -c 1000 "$TMP/dump" >"$TMP/bad"
	gives 1 fusionctl restore "$TMP/bad" "$FAST" "$SLOW" --yes --force
	says "not JSON"
	gives 0 fusionctl check pair
	verify
}

# A dump of a set that was used since is older than the replica. If the SSD is lost, it is still all
# there is.
test_stale_dump() {
	local before
	a_set
	gives 0 fusionctl dump pair -o "$TMP/dump"
	fusionctl open pair "$FAST" "$SLOW"
	stamp 200
	msg pair demote 0-99 >/dev/null
	fusionctl close pair
	null new 8
	before=$(sum "$SLOW" /dev/new)
	gives 3 fusionctl restore "$TMP/dump" /dev/new "$SLOW" --yes
	says "$SLOW: was used after $TMP/dump was made: "
	says ") moved since, and would be lost or mixed up; repair or salvage what is there"
	[[ $OUT =~ :\ [1-9][0-9]*\ extents\ \([0-9.]+[KM]\) ]] || fail "no figures: $OUT"
	same "what is on the devices" "$(sum "$SLOW" /dev/new)" "$before"
	gives 0 fusionctl restore "$TMP/dump" /dev/new "$SLOW" --yes --force
	says "are lost or mixed up"
	gives 0 fusionctl check /dev/new "$SLOW"
}

run_tests
