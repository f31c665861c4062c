#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sets as each released format left them (tests/images): they open, read-only and for writing, hold
# the content in their manifest, are clean, and can be repaired and salvaged from either member.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

IMAGES=$here/../images
SET=/dev/mapper/image
LEFT=/dev/mapper/left

# each_set FUNCTION: call it with DIR, NAME of the set, CONTENT (a SHA-256), and members for it
each_set() {
	local n=0 format
	defer dm_remove image
	for DIR in "$IMAGES"/format-*; do
		format=${DIR##*-}
		members "$(manifest .fast_mib)" "$(manifest .slow_mib)"
		while read -r -u 3 NAME CONTENT; do
			say "format $format: $NAME"
			unpack
			"$1"
			n=$((n + 1))
		done 3< <(manifest '.sets[] | "\(.name) \(.sha256)"')
		null_remove fast
		null_remove slow
	done
	at_least "sets" $n 2
}

# manifest FILTER: of the present format
manifest() {
	jq -r "$1" "$DIR/manifest.json"
}

# of_set FIELD: of the present set
of_set() {
	jq -r --arg name "$NAME" ".sets[] | select(.name == \$name) | .$1" "$DIR/manifest.json"
}

# unpack: the present set, onto the members
unpack() {
	local dev
	for dev in fast slow; do
		xz -dc "$DIR/$NAME-$dev.img.xz" | dd of="/dev/$dev" bs=1M iflag=fullblock \
			oflag=direct conv=notrunc status=none
	done
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
}

members_sum() {
	dd if="$FAST" bs=1M iflag=direct status=none | md5sum
	dd if="$SLOW" bs=1M iflag=direct status=none | md5sum
}

# holds DEVICE: it has the content of the set
holds() {
	local sum
	sum=$(sha256sum "$1")
	same "content of $DIR, $NAME" "${sum%% *}" "$CONTENT"
}

opens() {
	local before key
	before=$(members_sum)
	good fusionctl check "$FAST" "$SLOW"
	dm image "$(table)" --readonly --uuid "FUSION-$(uuid_of "$FAST")"
	holds "$SET"
	good fusionctl map image --json
	json '[.cells[].fast] | add' "$(of_set fast)"
	json '[.cells[].slow] | add' "$(of_set slow)"
	dm_remove image
	same "what is on the members" "$(members_sum)" "$before"

	good fusionctl open image "$FAST" "$SLOW"
	holds "$SET"
	good fusionctl set image --json
	for key in $(manifest '.settings | keys[]'); do
		json ".settings[] | select(.key == \"$key\") | .value" "$(manifest ".settings.$key")"
	done
	good fusionctl close image
	good fusionctl check "$FAST" "$SLOW"
}

# of the data that repair needs, both copies of either member's superblock may be gone
repaired() {
	local member
	for member in "$FAST" "$SLOW"; do
		unpack
		put_direct "$member" 0 0 4096
		put_direct "$member" 0 32768 4096
		same "exit code of repair" \
			"$(fusionctl repair "$FAST" "$SLOW" --yes >/dev/null && echo 0 || echo $?)" 1
		good fusionctl open image "$FAST" "$SLOW"
		holds "$SET"
		good fusionctl close image
	done
}

# a member alone has intact exactly the extents that lie there
salvaged() {
	local dev first nr n
	good fusionctl open image "$FAST" "$SLOW"
	cp --sparse=never "$SET" "$TMP/golden"
	good fusionctl close image
	for dev in fast slow; do
		unpack
		good fusionctl salvage "/dev/$dev" left --json
		while read -r first nr; do
			cmp -n $((nr * 512)) -i $((first * 512)) "$LEFT" "$TMP/golden" ||
				fail "sectors $first + $nr differ"
			seq $((first / 128)) $(((first + nr - 1) / 128)) >&4
		done < <(jq -r '.intact[] | "\(.first_sector) \(.sectors)"' "$TMP/out") 4>"$TMP/extents"
		n=$(sort -u "$TMP/extents" | wc -l)
		# the replica of a set that was cut off may know fewer
		[[ $NAME != closed ]] || same "extents of $dev" "$n" "$(of_set "$dev")"
		at_least "extents of $dev" "$n" 1
		dm_remove left
		[[ ! -e $LEFT-stale ]] || dm_remove left-stale
	done
}

# the format that this tree writes is among them
test_present() {
	local format
	format=$(sed -n 's/^#define FUSION_VERSION[[:space:]]*//p' "$here/../../dm-fusion/shared/dm-fusion-format.h")
	[[ -e $IMAGES/format-$format/manifest.json ]] ||
		fail "no images of format $format: run tests/images/make once, before it is released"
}

test_opens() {
	each_set opens
}

test_repaired() {
	each_set repaired
}

test_salvaged() {
	each_set salvaged
}

run_tests
