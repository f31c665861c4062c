# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A set that gets another size, on members that can get one.

# resizable FAST_MIB SLOW_MIB: the first part of each disk of `members`
resizable() {
	linear fast-link /dev/fast 0 $(($1 * 2048))
	linear slow-link /dev/slow 0 $(($2 * 2048))
	FAST=/dev/mapper/fast-link
	SLOW=/dev/mapper/slow-link
}

extents() {
	status data extents
}

# fill FILE MIB: random content, and its sum
fill() {
	head -c "$2M" /dev/urandom >"$1"
	md5sum "$1" >>"$TMP/sums"
}

unchanged() {
	md5sum --quiet -c "$TMP/sums" >&2 || fail "files have changed"
}

# sound EXTENTS: the set is closed, and nothing is wrong with it
sound() {
	good fusionctl check "$FAST" "$SLOW"
	same "backup" "$(jq .geometry.extents "/etc/fusion/backup/$(uuid_of "$FAST").json")" "$1"
}
