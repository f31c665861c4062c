# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sets of which one member is to be gone. For salvage.sh and salvage-files.sh.

# shellcheck disable=SC2034 # for these
SET=/dev/mapper/set
LEFT=/dev/mapper/left

# a_set FAST_MIB SLOW_MIB [OPTION VALUE]...: nothing moves by policy
a_set() {
	members "$1" "$2"
	stale "$FAST"
	stale "$SLOW"
	format set --extent-size 64K
	fusion set migration off "${@:3}"
	defer dm_remove left
	defer dm_remove left-stale
	# shellcheck disable=SC2034 # for these
	EXTENTS=$(($(sb nr_lexts)))
}

# salvage MEMBER [OPTION]...: run it with the member alone; the JSON is in $TMP/json
salvage() {
	fusionctl salvage "$1" left --json "${@:2}" >"$TMP/json"
}

# part KIND: sectors, first and number
part() {
	jq -r ".$1[] | \"\(.first_sector) \(.sectors)\"" "$TMP/json"
}

# extents_on WHERE: as `part`, by the kernel's map
extents_on() {
	awk -v on="$1" '$2 == on { if ($1 == next_ && n) n++; else { if (n) print first * 128, n * 128
		first = $1; n = 1 } next_ = $1 + 1 } END { if (n) print first * 128, n * 128 }' \
		"$TMP/places"
}
