# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Pinned files on a set called where. For pin-files.sh and pin-file-systems.sh, which source where.sh
# before.

PINS=/etc/fusion/pins.d

# pinning [COMMAND]...: a file system on a set whose extents all lie on the slow member; nothing
# moves until `go`
pinning() {
	[[ $# -gt 0 ]] || set -- mkfs.ext4 -b 4096
	begin 384
	msg where shadow off half_life 86400 duty 100 reserve 16
	"$@" -q "$SET" >/dev/null 2>&1
	mounted "$SET"
	rm -rf $PINS
	defer rm -rf $PINS
	PINS_FILE=$PINS/$(uuid_of "$FAST").json
	mkdir "$MNT/dir"
	stamped "$MNT/file-1" 1 1000
	stamped "$MNT/file-2" 2 700
	stamped "$MNT/dir/file-3" 3 500
	all_down
}

all_down() {
	sync
	msg where demote 0-$(($(status where extents) - 1)) >/dev/null
}

go() {
	msg where idle 100 migration on
}

# extents_of FILE: their numbers
extents_of() {
	fusionctl explain where --json "$1" | jq -r '.extents[].extent'
}

# all_on MEMBER FILE: all extents of the file lie there, by the kernel's map
all_on() {
	places where >"$TMP/places"
	extents_of "$2" >"$TMP/of"
	[[ -s $TMP/of ]] || return 1
	awk -v on="$1" 'NR == FNR { at[$1] = $2; next } at[$1] != on { bad = 1 } END { exit bad }' \
		"$TMP/places" "$TMP/of"
}

# pinned_to FILE: the members that its extents are pinned to, by the kernel
pinned_to() {
	local i
	for i in $(extents_of "$1"); do
		msg where extents "$i" 1 | awk '{ print $NF }'
	done | sort -u | xargs
}

# listed FILTER WANT: of the first pin that is listed
listed() {
	good fusionctl pin --list where --json
	json ".sets[0].pins[0]$1" "$2"
}

# in_file FILTER WANT: in the file where pins are kept
in_file() {
	same "$1" "$(jq -r "$1" "$PINS_FILE")" "$2"
}
