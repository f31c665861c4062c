#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The verbs that make or change a set keep a backup of its geometry, and never fail for it. With
# that, a set comes back of which no superblock is left. wipe --discard discards.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/closed.sh
. "$(dirname "$0")/lib/closed.sh"

backups=/etc/fusion/backup

# backups_in_ram: an empty directory, in place of the one with the sets of other tests
backups_in_ram() {
	mkdir -p "$backups"
	mount -t tmpfs -o mode=700 tmpfs "$backups"
	defer umount_quietly "$backups"
}

# headless: without superblocks and heartbeat
headless() {
	local i
	for i in "$FAST" "$SLOW"; do
		put_direct "$i" 0 0 65536
	done
	gives 4 fusionctl repair "$FAST" "$SLOW" --yes
	says "fusionctl restore puts back what fusionctl dump saved, or restore --geometry the superblocks"
}

# number_of FILE: which changes if it is written again
number_of() {
	stat -c %i "$1"
}

test_verbs_keep_one() {
	local file inode why
	backups_in_ram
	members 8 32
	defer dm_remove pair
	good fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	file=$backups/$(uuid_of "$FAST").json
	same "mode" "$(stat -c %a "$file")" 600
	at_most "bytes" "$(stat -c %s "$file")" 4096
	same "set" "$(jq -r '.label, .content' "$file")" $'pair\ndm-fusion geometry'
	if python3 -c 'import jsonschema' 2>/dev/null; then
		why=$(python3 "$here/validate.py" "$here/../../userspace/schema/backup.json" "$file") ||
			fail "$why"
	fi
	# the settings are in it, whether the set is open or closed
	good fusionctl set pair duty=40
	same "settings" "$(jq -c .settings "$file")" '{"duty":40}'
	good fusionctl set pair duty=30 --now
	good fusionctl close pair
	good fusionctl set pair idle=4s
	same "settings" "$(jq -c .settings "$file")" '{"duty":40,"idle":4000}'
	[[ ! -e $backups/archive ]] || fail "other settings fill the archive"
	inode=$(number_of "$file")
	good fusionctl open pair
	good fusionctl close pair
	good fusionctl dump pair -o "$TMP/dump"
	good fusionctl restore "$TMP/dump" pair --yes
	damage "$FAST" 0
	gives 1 fusionctl repair pair --yes
	same "inode" "$(number_of "$file")" "$inode"
	same "files" "$(find "$backups" -type f | wc -l)" 1

	# a set from before there were backups
	rm "$file"
	good fusionctl open pair
	good fusionctl close pair
	same "label" "$(jq -r .label "$file")" pair
	rm "$file"
	good fusionctl assemble --scan
	good fusionctl close pair
	same "label" "$(jq -r .label "$file")" pair

	# another name
	jq '.label_bytes = "6f74686572"' "$TMP/dump" >"$TMP/renamed"
	gives 0 fusionctl restore "$TMP/renamed" "$FAST" "$SLOW" --yes --force
	same "label" "$(jq -r .label "$file")" other
	same "older one" "$(jq -r .label "$backups/archive/$(basename "$file" .json).1.json")" pair

	# an image of a member may be of any time
	dd if="$FAST" of="$TMP/fast" bs=1M status=none
	dd if="$SLOW" of="$TMP/slow" bs=1M status=none
	inode=$(number_of "$file")
	gives 0 fusionctl restore "$TMP/dump" "$TMP/fast" "$TMP/slow" --yes --force
	same "inode" "$(number_of "$file")" "$inode"
}

# A full disk, or one that is read-only, gives a line, and the verb succeeds.
test_cannot_write() {
	local uuid
	backups_in_ram
	members 8 32
	defer dm_remove pair
	mount -o remount,ro "$backups"
	status_of fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	same "status" "$RC" 0
	same "lines" "$(grep -c '^fusionctl: ' <<<"$OUT")" 1
	uuid=$(uuid_of "$FAST")
	says "$backups/$uuid.json: cannot write the backup of the geometry: Read-only file system; "
	good fusionctl close pair
	expect 0 "$backups/$uuid.json: cannot write the backup of the geometry: Read-only file system; \
the set is not affected, keep a dump of it elsewhere" fusionctl open pair
	good fusionctl close pair
	# in the background nobody reads it, and the next opening tries again
	good fusionctl assemble --scan
	good fusionctl close pair
	mount -o remount,rw,size=4k "$backups"
	dd if=/dev/zero of="$backups/full" bs=4k count=1 status=none
	expect 0 "$backups/$uuid.json: cannot write the backup of the geometry: No space left on device; \
the set is not affected, keep a dump of it elsewhere" fusionctl open pair
	good fusionctl close pair
	same "files" "$(find "$backups" -type f -printf '%f ')" "full "
}

test_geometry() {
	local uuid i
	backups_in_ram
	a_set
	uuid=$(uuid_of "$FAST")
	gives 0 fusionctl dump pair -o "$TMP/dump"
	gives 3 fusionctl restore --geometry "$FAST" "$SLOW" --yes --force
	says "has a valid superblock, and needs no backup of it; run fusionctl repair $FAST $SLOW"
	headless
	gives 3 fusionctl restore --geometry "$FAST" "$SLOW"
	says "would be replaced, and there is no terminal to ask on; add --yes"
	gives 0 fusionctl restore --geometry "$FAST" "$SLOW" --dry-run
	says "the superblocks on $SLOW would become those of the slow member of the set pair in \
$backups/$uuid.json"
	gives 4 fusionctl restore --geometry "$SLOW" "$FAST" --dry-run
	gives 4 fusionctl restore --geometry "$backups/$uuid.json" "$SLOW" "$FAST" --yes --force
	says "is smaller than the slow member of $backups/$uuid.json"
	gives 1 fusionctl restore --geometry "$TMP/none" "$FAST" "$SLOW" --yes
	says "$TMP/none: No such file or directory; name a backup from $backups, or a file that "
	for i in '.geometry.map_start_0 = 0' '.content = "x"' 'del(.members)' '.set_uuid = 7' \
		'.geometry.extents = 4000000000' '.version = 2'; do
		jq "$i" "$backups/$uuid.json" >"$TMP/bad"
		gives 1 fusionctl restore --geometry "$TMP/bad" "$FAST" "$SLOW" --yes --force
	done
	null other 32
	mkfs.ext4 -q -L home /dev/other
	gives 3 fusionctl restore --geometry "$FAST" /dev/other --yes
	says "/dev/other: contains ext4 (label home"
	gives 0 fusionctl restore --geometry "$FAST" "$SLOW" --yes
	says "next: fusionctl repair $FAST $SLOW"
	gives 1 fusionctl repair "$FAST" "$SLOW" --yes
	says "nothing is lost"
	gives 0 fusionctl check pair
	verify

	# a dump is as good as a backup, however old it is
	headless
	rm "$backups/$uuid.json"
	gives 4 fusionctl restore --geometry "$FAST" "$SLOW" --yes
	says "no backup in $backups is of a set that has metadata on this device"
	gives 0 fusionctl restore --geometry "$TMP/dump" "$FAST" "$SLOW" --yes --json
	same "mapped" "$(jq .mapped <<<"$OUT")" null
	gives 1 fusionctl repair "$FAST" "$SLOW" --yes
	same "label" "$(jq -r .label "$backups/$uuid.json")" pair
	verify
}

dumps=/var/lib/fusion/dump

# dumps_in_ram: an empty directory for them
dumps_in_ram() {
	mkdir -p "$dumps"
	mount -t tmpfs -o mode=700 tmpfs "$dumps"
	defer umount_quietly "$dumps"
}

# Closing saves the metadata, which is the way back if all of it is lost.
test_dump_at_close() {
	local uuid file why i
	backups_in_ram
	dumps_in_ram
	a_set
	uuid=$(uuid_of "$FAST")
	file=$dumps/$uuid.1.json
	same "mode" "$(stat -c %a "$file")" 600
	if python3 -c 'import jsonschema' 2>/dev/null; then
		why=$(python3 "$here/validate.py" "$here/../../userspace/schema/dump.json" "$file") ||
			fail "$why"
	fi
	good fusionctl open pair
	good fusionctl close pair --no-dump
	good fusionctl open pair
	good fusionctl close pair --json
	json .dump "$dumps/$uuid.2.json"
	for i in 3 4 5; do
		good fusionctl open pair
		good fusionctl close pair
	done
	same "dumps" "$(cd "$dumps" && echo *)" "$uuid.3.json $uuid.4.json $uuid.5.json"
	gives 3 fusionctl restore "$dumps/$uuid.4.json" pair --yes
	says "was used after $dumps/$uuid.4.json was made"
	for i in "$FAST" "$SLOW"; do
		put_direct "$i" 0 0 $((1 << 20))
	done
	gives 0 fusionctl restore "$dumps/$uuid.5.json" "$FAST" "$SLOW" --yes
	verify

	# it never fails for that
	mount -o remount,ro "$dumps"
	good fusionctl open pair
	expect 0 "pair: is closed; no dump of it could be written to $dumps: Read-only file system; \
to have one, run fusionctl dump pair" fusionctl close pair
	mount -o remount,rw,size=1m "$dumps"
	dd if=/dev/zero of="$dumps/full" bs=4k status=none 2>/dev/null || :
	good fusionctl open pair
	gives 0 fusionctl close pair
	says "No space left on device"
	same "lines" "$(wc -l <<<"$OUT")" 1
}

# The same after a crash.
test_geometry_crash() {
	backups_in_ram
	a_set
	fusionctl open pair "$FAST" "$SLOW"
	stamp 300
	# discards are durable with the next flush
	sync "$SET"
	save
	fusionctl close pair
	restore
	headless
	gives 0 fusionctl restore --geometry "$FAST" "$SLOW" --yes
	gives 1 fusionctl repair "$FAST" "$SLOW" --yes
	gives 0 fusionctl check pair
	verify
}

# The set that was made last is meant, whatever an older one has left.
test_made_again() {
	local uuid
	backups_in_ram
	members 8 32
	format pair --extent-size 64K
	put_direct "$FAST" 0 0 65536
	sleep 1
	format again --extent-size 64K
	uuid=$(uuid_of "$FAST")
	headless
	gives 0 fusionctl restore --geometry "$FAST" "$SLOW" --yes
	says "the set again in $backups/$uuid.json"
	gives 1 fusionctl repair "$FAST" "$SLOW" --yes
	same "uuid" "$(uuid_of "$FAST")" "$uuid"
}

test_wipe_discard() {
	local i
	backups_in_ram
	a_set
	differ "data" "$(dd if="$SLOW" bs=1M skip=2 count=28 iflag=direct status=none | tr -d '\0' |
		head -c 1 | wc -c)" 0
	gives 0 fusionctl wipe pair --discard --dry-run
	says "would wipe and discard both"
	gives 0 fusionctl check pair
	gives 0 fusionctl wipe pair --discard --yes --json
	same "discarded" "$(jq -c '[.members[] | .wiped, .discarded]' <<<"$OUT")" \
		'[true,true,true,true]'
	for i in "$FAST" "$SLOW"; do
		same "bytes on $i" "$(dd if="$i" bs=1M iflag=direct status=none | tr -d '\0' |
			head -c 1 | wc -c)" 0
	done
}

test_wipe_without_discard() {
	backups_in_ram
	members 8 32 discard=0
	format pair --extent-size 64K
	expect 4 "$FAST: cannot discard; leave out --discard, or wipe each member by itself" \
		fusionctl wipe pair --discard --yes
	gives 0 fusionctl check pair
}

run_tests
