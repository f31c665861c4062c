#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The fast member of a set is gone for good: another disk takes its place, with what the slow member
# has. The rest is lost: reads of it fail until it is written or discarded.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/replace.sh
. "$here/lib/replace.sh"

DATA=/dev/mapper/data
E=65536			# bytes of an extent

# lost_are WANT: extents that are lost, and those of them that are so in part
lost_are() {
	same "lost" "$(fusionctl status data --json | jq -r '.sets[0] | "\(.lost) \(.partly_lost)"')" "$1"
}

# fails FIRST COUNT: no block of 4 KiB among these can be read
fails() {
	local i
	for ((i = $1; i < $1 + $2; i++)); do
		if dd if=$DATA of=/dev/null bs=4096 skip="$i" count=1 iflag=direct status=none 2>/dev/null
		then
			fail "block $i can be read"
		fi
	done
}

# as_written FILE FIRST COUNT: these extents have what the file has there
as_written() {
	cmp -n $(($3 * E)) -i $(($2 * E)) "$1" $DATA >&2 || fail "extents $2 + $3 have changed"
}

# reopen: and the metadata is sound
reopen() {
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	quick
}

# half: eight extents on the slow member, then as many on the fast one, and two in part
half() {
	begin 24 48 32
	content $((16 * E))
	dd if="$TMP/content" of=$DATA bs=1M oflag=direct conv=fsync status=none
	good fusionctl demote data 0-7
	good fusionctl promote data 8-15
	put_direct $DATA 7 $((20 * E)) 4096
}

# what is on the slow member is there, what was on the fast one fails, and what was empty is zeros
test_closed() {
	half
	good fusionctl close data
	refuses "is the fast member, and not lost" fusionctl replace --lost data "$NEW" --yes
	unplugged fast
	linear small /dev/new 0 16384
	refuses "has only" fusionctl replace --lost data "$REPLY" --yes
	close small
	mkfs.ext4 -q "$NEW"
	refuses "$NEW: contains ext4" fusionctl replace --lost data "$NEW" --yes
	refuses "is the slow member" fusionctl replace --lost data "$SLOW" --yes
	refuses "--json" fusionctl replace --lost data "$NEW" --yes --json
	good fusionctl replace --lost data "$NEW" --dry-run
	shows "lost in 9 extents"
	[[ $(blkid -p -o value -s TYPE "$NEW") == ext4 ]] || fail "it has erased $NEW"
	refuses "$NEW would be erased, with ext4" fusionctl replace --lost "$SLOW" "$NEW" --force
	good fusionctl replace --lost "$SLOW" "$NEW" --yes --force
	shows "now: fusionctl open data"
	good fusionctl check "$NEW" "$SLOW" -v
	shows "9 extents are lost, 0 of them in part"
	refuses "is the fast member, and not lost" fusionctl replace --lost data "$NEW" --yes
	refuses "cannot be released while extents of it are lost" fusionctl release data --yes
	good fusionctl salvage "$SLOW"
	good fusionctl open data
	quick
	members_are "$NEW" "$SLOW"
	lost_are "9 0"
	as_written "$TMP/content" 0 8
	fails 128 128
	fails 320 16
	read_zero $DATA $((16 * E)) $((4 * E))
	same "map" "$(msg data map 8 8)" "8 8 - - lost"
	good fusionctl status data
	shows "lost     9 extents (576K), 0 of them in part"
	has "doctor" "$(fusionctl doctor || :)" "9 of its extents are lost, reads of them fail"
	fusionctl monitor --prometheus - >"$TMP/metrics"
	has "metrics" "$(<"$TMP/metrics")" "fusion_lost_bytes{set=\"data\"} $((9 * E))"
	reopen
	lost_are "9 0"

	# the whole of one is written; a part of the next one; a part of a block cannot be
	dd if="$TMP/content" of=$DATA bs=$E count=1 skip=8 seek=8 oflag=direct conv=notrunc,fsync status=none
	as_written "$TMP/content" 8 1
	put_direct $DATA 9 $((9 * E + 8192)) 8192
	if dd if=/dev/zero of=$DATA bs=512 seek=$(((10 * E) / 512 + 1)) count=1 oflag=direct \
		conv=notrunc status=none 2>/dev/null; then
		fail "a part of a lost block could be written"
	fi
	lost_are "8 1"
	fails $((9 * 16)) 2
	fails $((9 * 16 + 4)) 12
	reopen
	lost_are "8 1"
	fails $((9 * 16)) 2
	# it does not get zeros in idle time
	sleep 2
	fails $((9 * 16)) 2
	lost_are "8 1"
	refuses "are lost in part" fusionctl replace data "$NEW" "$FAST" --yes
	# the rest of it is zeroed
	blkdiscard -z -o $((9 * E)) -l 8192 $DATA
	blkdiscard -z -o $((9 * E + 16384)) -l $((E - 16384)) $DATA
	read_zero $DATA $((9 * E)) 8192
	# and the others are discarded: a part does nothing
	blkdiscard -o $((10 * E)) -l 8192 $DATA
	fails 160 2
	blkdiscard -o $((10 * E)) -l $((6 * E)) $DATA
	read_zero $DATA $((10 * E)) $((6 * E))
	blkdiscard -o $((20 * E)) -l $E $DATA
	lost_are "0 0"
	as_written "$TMP/content" 0 9
	good fusionctl close data
	good fusionctl open data
	good fusionctl close data
	same "incompat" "$(fusionctl dump data | jq .features.incompat)" 0
	good fusionctl check data
}

# The new disk is lost as well: what was lost is so still, and nothing else.
test_twice() {
	half
	good fusionctl close data
	unplugged fast
	good fusionctl replace --lost data "$NEW" --yes
	good fusionctl open data
	quick
	put_direct $DATA 5 $((12 * E)) 4096
	good fusionctl checkpoint data
	good fusionctl close data
	dmsetup remove --retry new-link
	echo 0 >/sys/kernel/config/nullb/new/power
	null other 32
	good fusionctl replace --lost "$SLOW" /dev/other --yes
	good fusionctl open data
	as_written "$TMP/content" 0 8
	fails 128 128
	read_zero $DATA $((16 * E)) $((4 * E))
	lost_are "9 0"
}

# dump and restore know them
test_dump() {
	half
	good fusionctl close data
	unplugged fast
	good fusionctl replace --lost data "$NEW" --yes
	good fusionctl open data
	put_direct $DATA 5 $((12 * E)) 4096
	good fusionctl close data
	good fusionctl dump data -o "$TMP/dump"
	same "lost" "$(jq -c .lost "$TMP/dump")" \
		'[{"first":8,"extents":4},{"first":13,"extents":3},{"first":20,"extents":1}]'
	same "in part" "$(jq -c '[.open[] | select(.lost).extent]' "$TMP/dump")" '[12]'
	good fusionctl restore "$TMP/dump" "$NEW" "$SLOW" --yes --force
	good fusionctl open data
	lost_are "9 1"
	fails 128 64
	as_written "$TMP/content" 0 8
}

# Another machine had the set, and may still have it.
test_other_machine() {
	linked 24 48
	third 32
	format data --extent-size 64K
	dm there "$(table host 00112233445566778899aabbccddeeff)"
	put_direct /dev/mapper/there 1 0 $E
	gone fast
	close there
	unplugged fast
	refuses "was not closed by " fusionctl replace --lost "$SLOW" "$NEW" --yes
	good fusionctl replace --lost "$SLOW" "$NEW" --yes --force
	good fusionctl check "$NEW" "$SLOW"
}

# The superblock that names the newest map cannot be read: the one before names an older map.
test_older_map() {
	begin 24 48 32
	put_direct $DATA 1 0 $E
	msg data checkpoint
	dd if="$SLOW" of="$TMP/super" bs=4096 count=16 iflag=direct status=none
	put_direct $DATA 2 $E $E
	msg data checkpoint
	gone fast
	close data
	unplugged fast
	good fusionctl replace --lost "$SLOW" "$NEW" --dry-run
	dd if="$TMP/super" of="$SLOW" bs=4096 count=16 oflag=direct conv=notrunc status=none
	good fusionctl replace --lost "$SLOW" "$NEW" --dry-run
	damage "$SLOW" 0
	refuses "has a newer map, and not the superblock that names it" \
		fusionctl replace --lost "$SLOW" "$NEW" --yes
	good fusionctl replace --lost "$SLOW" "$NEW" --yes --force
	good fusionctl check "$NEW" "$SLOW"
}

# all_protected: a condition for within
all_protected() {
	[[ $(status data protected) == "$(status data on_fast)" && $(status data point_age) == 0 ]]
}

# same_files: the file system has them
same_files() {
	mount $DATA "$TMP/mnt"
	(cd "$TMP/mnt/files" && md5sum --quiet -c "$TMP/sums" >&2) || fail "files have changed"
	umount "$TMP/mnt"
}

# A file system of which the slow member has shadows is there again, as of the last point; and what
# came later is lost.
test_ext4() {
	local before
	need mkfs.ext4 e2fsck fstrim
	begin 24 64 32
	good fusionctl set data --now shadow=on shadow_age=2s replica_interval=1s
	mkfs.ext4 -q $DATA
	mkdir -p "$TMP/mnt"
	mount $DATA "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mkdir "$TMP/mnt/files"
	seq 20000 | split -l 100 - "$TMP/mnt/files/lines."
	head -c 12M /dev/urandom >"$TMP/mnt/files/random"
	(cd "$TMP/mnt/files" && md5sum -- *) >"$TMP/sums"
	umount "$TMP/mnt"
	within 60 "all is protected" all_protected
	good fusionctl set data --now shadow_age=1d
	mount $DATA "$TMP/mnt"
	head -c 4M /dev/urandom >"$TMP/mnt/late"
	sync -f "$TMP/mnt"
	gone fast
	umount "$TMP/mnt" || umount -l "$TMP/mnt"
	within 20 "it is closed" dmsetup remove data
	unplugged fast
	good fusionctl replace --lost "$SLOW" "$NEW" --yes
	cat "$TMP/out"
	good fusionctl open data
	before=$(fusionctl status data --json | jq '.sets[0].lost')
	say "$before extents lost"
	at_least "lost" "$before" 1
	e2fsck -fy $DATA >"$TMP/fsck" 2>&1 || [[ $? -le 1 ]] || fail "e2fsck: $(<"$TMP/fsck")"
	same_files
	mount -o discard $DATA "$TMP/mnt"
	rm -f "$TMP/mnt/late"
	fstrim "$TMP/mnt"
	umount "$TMP/mnt"
	say "$(fusionctl status data --json | jq '.sets[0].lost') extents lost after fstrim"
	[[ $(fusionctl status data --json | jq '.sets[0].lost') -lt $before ]] || fail "none is healed"
	same_files
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	same_files
}

run_tests
