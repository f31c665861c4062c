#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sets as each released format left them (tests/images): they open, read-only and for writing, hold
# the content in their manifest, are clean, and can be repaired and salvaged from either member. Of
# those of which a member is being replaced, the replacement can be finished and taken back.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

IMAGES=$here/../images
SET=/dev/mapper/image
LEFT=/dev/mapper/left

# Of the present set: DIR, NAME, CONTENT (a SHA-256), LEN; DISKS, by name; and FAST and SLOW. If a
# member is being replaced, ROLE is its role, and OLD the old member; else both are empty.
DISKS=() ROLE='' OLD=''

# each_set format|replacing FUNCTION: call it for each set of that kind
each_set() {
	local n=0 dev
	defer dm_remove image
	DISKS=(fast slow)
	[[ $1 == format ]] || DISKS+=(third)
	for DIR in "$IMAGES/$1"-*; do
		for dev in "${DISKS[@]}"; do
			null "$dev" "$(manifest ".${dev}_mib")"
		done
		while read -r -u 3 NAME CONTENT; do
			say "${DIR##*/}: $NAME"
			unpack
			"$2"
			n=$((n + 1))
		done 3< <(manifest '.sets[] | "\(.name) \(.sha256)"')
		for dev in "${DISKS[@]}"; do
			null_remove "$dev"
		done
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

# unpack: the present set, onto its disks
unpack() {
	local dev
	for dev in "${DISKS[@]}"; do
		xz -dc "$DIR/$NAME-$dev.img.xz" | dd of="/dev/$dev" bs=1M iflag=fullblock \
			oflag=direct conv=notrunc status=none
	done
	FAST=/dev/fast SLOW=/dev/slow
	ROLE=$(of_set 'replaced // empty')
	OLD=${ROLE:+/dev/$ROLE}
	case $ROLE in
	fast)	FAST=/dev/third ;;
	slow)	SLOW=/dev/third ;;
	esac
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
}

disks_sum() {
	local dev
	for dev in "${DISKS[@]}"; do
		dd if="/dev/$dev" bs=1M iflag=direct status=none | md5sum
	done
}

# holds DEVICE: it has the content of the set
holds() {
	local sum
	sum=$(sha256sum "$1")
	same "content of $DIR, $NAME" "${sum%% *}" "$CONTENT"
}

# open_set: with all its disks, by a scan for its name if one is being replaced
open_set() {
	if [[ $ROLE ]]; then
		good fusionctl open image
	else
		good fusionctl open image "$FAST" "$SLOW"
	fi
}

# sound DEVICE...: the set on these is closed, and nothing is wrong with it
sound() {
	good fusionctl close image
	good fusionctl check "$@"
}

# each disk says which one it is, and the members which one is being replaced
identified() {
	local lost role dev
	lost=$(uuid_of "$OLD" device_uuid)
	for role in fast slow; do
		[[ $role == fast ]] && dev=$FAST || dev=$SLOW
		good fusionctl probe --json "$dev"
		json '"\(.state) \(.set) \(.role) \(.old.role) \(.old.device_uuid)"' \
			"ok image $role $ROLE $lost"
	done
	good fusionctl list --json
	json '.members[] | "\(.device) \(.state) \(.set) \(.role) \(.being_replaced)"' "$(
		for dev in fast slow third; do
			role=$dev
			[[ $dev != third ]] || role=$ROLE
			echo "/dev/$dev ok image $role $([[ $dev == "$ROLE" ]] && echo true || echo false)"
		done)"
}

opens() {
	local before key
	before=$(disks_sum)
	[[ ! $ROLE ]] || identified
	good fusionctl check "$FAST" "$SLOW"
	# shellcheck disable=SC2086 # words
	dm image "$(table ${ROLE:+old_$ROLE $OLD})" --readonly --uuid "FUSION-$(uuid_of "$FAST")"
	holds "$SET"
	good fusionctl map image --json
	json '[.cells[].fast] | add' "$(of_set fast)"
	json '[.cells[].slow] | add' "$(of_set slow)"
	good fusionctl status image --json
	json '.sets[0].old.left' "$(of_set left)"
	dm_remove image
	same "what is on the disks" "$(disks_sum)" "$before"

	open_set
	holds "$SET"
	good fusionctl set image --json
	for key in $(manifest '.settings | keys[]'); do
		json ".settings[] | select(.key == \"$key\") | .value" "$(manifest ".settings.$key")"
	done
	sound "$FAST" "$SLOW"
}

# goes FAST SLOW GONE: these two are the set now, and the third disk is free
goes() {
	holds "$SET"
	good fusionctl status image --json
	json '.sets[0] | .fast.device, .slow.device, .old' "$1"$'\n'"$2"$'\n'null
	sound "$1" "$2"
	expect 4 "$3: not a member of a fusion set; fusionctl list shows the members" \
		fusionctl probe "$3"
	good fusionctl open image
	holds "$SET"
	sound "$1" "$2"
}

finished() {
	open_set
	good fusionctl replace image --wait --json
	json '.state, .member, .left, .unreadable, .wiped' \
		"ended"$'\n'"$ROLE"$'\n'0$'\n'0$'\n'true
	goes "$FAST" "$SLOW" "$OLD"
}

taken_back() {
	open_set
	good fusionctl replace image --abort --yes
	goes /dev/fast /dev/slow /dev/third
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
	local role member first nr n want
	open_set
	cp --sparse=never "$SET" "$TMP/golden"
	good fusionctl close image
	for role in fast slow; do
		unpack
		[[ $role == fast ]] && member=$FAST || member=$SLOW
		good fusionctl salvage "$member" left --json
		while read -r first nr; do
			cmp -n $((nr * 512)) -i $((first * 512)) "$LEFT" "$TMP/golden" ||
				fail "sectors $first + $nr differ"
			seq $((first / 128)) $(((first + nr - 1) / 128)) >&4
		done < <(jq -r '.intact[] | "\(.first_sector) \(.sectors)"' "$TMP/out") 4>"$TMP/extents"
		n=$(sort -u "$TMP/extents" | wc -l)
		want=$(of_set "$role")
		[[ $role != "$ROLE" ]] || want=$((want - $(of_set left)))
		# the replica of a set that was cut off may know fewer
		[[ $NAME != closed ]] || same "extents of $role" "$n" "$want"
		at_least "extents of $role" "$n" 1
		dm_remove left
		[[ ! -e $LEFT-stale ]] || dm_remove left-stale
	done
}

# the format that this tree writes is among them
test_present() {
	local format
	format=$(sed -n 's/^#define FUSION_VERSION[[:space:]]*//p' "$here/../../dm-fusion/shared/dm-fusion-format.h")
	[[ -e $IMAGES/format-$format/manifest.json && -e $IMAGES/replacing-$format/manifest.json ]] ||
		fail "no images of format $format: run tests/images/make once, before it is released"
}

test_opens() {
	each_set format opens
}

test_repaired() {
	each_set format repaired
}

test_salvaged() {
	each_set format salvaged
}

test_replacing_opens() {
	each_set replacing opens
}

test_replacing_finished() {
	each_set replacing finished
}

test_replacing_taken_back() {
	each_set replacing taken_back
}

test_replacing_salvaged() {
	each_set replacing salvaged
}

run_tests
