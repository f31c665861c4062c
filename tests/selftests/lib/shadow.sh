# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A set of which the slow member keeps shadows. Sourced after lib.sh.
# shellcheck disable=SC2034 # for the tests

SET=/dev/mapper/shadow
NR=64		# extents that go up and down

# Never idle, so nothing is copied for shadows.
BUSY="migration off idle 60000"

# begin [OPTION VALUE]...: a set with stamped data in its first extents, which lie on the slow member;
# of members that can be swapped, with MEMBERS=linked, and of other SIZES in MiB
begin() {
	# shellcheck disable=SC2086 # words
	"${MEMBERS:-members}" ${SIZES:-16 64}
	format --extent-size 64K
	# shellcheck disable=SC2086 # words
	fusion shadow $BUSY "$@"
	ALL=$(status shadow extents)
	EXTENT=$(($(sb extent_sectors) * 512))
	stamp fill few 0 16
	stamp fill many 16 $NR
	same "demoted" "$(msg shadow demote 0-$((NR - 1)))" "$NR 0 0 0"
	sync $SET
}

# stamp fill|verify STATE FIRST END: these extents
stamp() {
	fusion-stamp "$1" $SET --state "$TMP/$2" --offset $(($3 * EXTENT)) \
		--size $((($4 - $3) * EXTENT))
}

verify() {
	stamp verify few 0 16
	stamp verify many 16 $NR
	same mode "$(status shadow mode needs_check)" "rw -"
}

# up: promote them
up() {
	same "promoted" "$(msg shadow promote 0-$((NR - 1)))" "$NR 0 0 0"
}

# kept WANT: shadows that are current, and all
kept() {
	[[ $(status shadow shadows_current shadows) == "$*" ]]
}

kept_at_least() {
	[[ $(status shadow shadows_current) -ge $1 ]]
}

# all_shadowed: has all that is on the fast member a current shadow?
all_shadowed() {
	local current used
	read -r current used <<<"$(status shadow shadows_current used_fast)"
	((used && current == used))
}
