#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the slow member has without the fast one: metadata as of one instant, and it comes first when
# there is not room for all.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/shadow.sh
. "$here/lib/shadow.sh"

# features: the bits of incompat in both superblock copies of the slow member
features() {
	local at
	for at in 56 $((32768 + 56)); do
		od -An -t u8 -j $at -N 8 "$SLOW"
	done | xargs
}

# salvaged: "left" is what the slow member has now, without the fast one
salvaged() {
	unsalvaged
	dd if="$SLOW" of="$TMP/slow" bs=1M iflag=direct status=none
	modprobe -q loop || :
	LOOP=$(losetup -f -r --show "$TMP/slow")
	defer unsalvaged
	fusionctl salvage "$LOOP" left --json >"$TMP/json"
}

unsalvaged() {
	[[ ! -e /dev/mapper/left ]] || fusionctl close left
	[[ ! ${LOOP:-} ]] || losetup -d "$LOOP"
	LOOP=
}

# what the replica names can be read without the fast member, also if the set was not closed
test_salvaged() {
	begin idle 100 shadow_age 10 replica_interval 1
	same "promoted" "$(msg shadow promote 0-$((NR - 1)))" "$NR 0 0 0"
	stamp fill few 0 16
	within 30 "all have shadows" all_shadowed
	cp --sparse=never $SET "$TMP/golden"
	msg shadow checkpoint
	# the next point is yet to come: one is as it was at the last one
	dd if=/dev/urandom of=$SET bs=$EXTENT count=1 oflag=direct conv=notrunc,fsync status=none
	salvaged
	at_least "sectors in shadows" "$(jq '[.shadow[].sectors] | add' "$TMP/json")" $((NR * EXTENT / 512))
	cmp -n $((NR * EXTENT)) /dev/mapper/left "$TMP/golden"
	# turned off, nothing is named any more, and older versions open the set
	msg shadow keep shadow off
	close shadow
	same "features" "$(features)" "0 0"
}

# numbers EXTENT...: they get the same number again and again, one after the other, until killed
numbers() {
	local i=1000000 to
	trap 'exit 0' TERM
	while :; do
		i=$((i + 1))
		for to in "$@"; do
			dd of=$SET bs=4096 seek=$((to * EXTENT / 4096)) conv=notrunc,sync \
				oflag=direct,dsync status=none <<<"$i"
		done
	done
}

# all_counted NR: so many points were made
all_counted() {
	[[ $(counter shadow shadow_points) -ge $1 ]]
}

# last_in EXTENT: the number that it got last, as far as the slow member knows
last_in() {
	dd if=/dev/mapper/left bs=4096 skip=$(($1 * EXTENT / 4096)) count=1 status=none |
		head -n 1 | tr -d '\0'
}

# what is written as metadata is of one instant after a loss, though it never rests
test_one_instant() {
	local counting i first second
	begin shadow_age 1 replica_interval 1 duty 100
	same "promoted" "$(msg shadow promote 0-$((NR - 1)))" "$NR 0 0 0"
	background numbers 20 40
	counting=$REPLY
	for i in 3 6 9; do
		within 60 "$i points" all_counted "$i"
		dmsetup suspend --noflush --nolockfs shadow
		salvaged
		dmsetup resume shadow
		first=$(last_in 20) second=$(last_in 40)
		say "after $i points: $first, $second"
		[[ $first -eq $second || $first -eq $((second + 1)) ]] ||
			fail "extent 20 has number $first, extent 40 $second: not of one instant"
		at_least "the number" "$first" 1000002
	done
	kill "$counting"
	wait "$counting" || :
}

# rescued STATE: what "left" has of the extents that are written with numbers is what the set has
rescued() {
	local extent
	salvaged
	for extent in $NUMBERED; do
		cmp <(dd if=/dev/mapper/left bs="$EXTENT" skip="$extent" count=1 status=none) \
			<(dd if=$SET bs="$EXTENT" skip="$extent" count=1 status=none) >"$TMP/cmp" 2>&1 ||
			fail "$1: extent $extent: $(<"$TMP/cmp")"
	done
}

# numbered_current: have those extents current shadows, and is nothing out of date?
numbered_current() {
	local extent
	[[ $(status shadow point_age) == 0 ]] || return 1
	for extent in $NUMBERED; do
		[[ $(msg shadow map "$extent" 1) == *" watched"* ]] || return 1
	done
}

# write_numbered: metadata is written to the extents, and no point made
write_numbered() {
	local extent
	for extent in $NUMBERED; do
		dd if=/dev/urandom of=$SET bs=4096 seek=$((extent * EXTENT / 4096)) count=1 \
			conv=notrunc oflag=direct,dsync status=none
	done
}

# numbered: write to them as to metadata, and wait until the slow member has that
numbered() {
	write_numbered
	within 60 "they have shadows" numbered_current
	msg shadow checkpoint
}

# Do heat and status say the same, while no shadow comes or goes between them?
heat_agrees() {
	local before heat
	before=$(status shadow protected)
	heat=$(msg shadow heat 7 | awk '{ n += $7 } END { print n }')
	[[ $heat == "$before" && $before == "$(status shadow protected)" ]]
}

# when there is not room for all, metadata has it
test_scarce() {
	local full i
	begin idle 100 shadow_age 2 replica_interval 1 commit_interval 100
	full=$((ALL - 64))
	fusion-stamp fill $SET --state "$TMP/rest" --offset $((NR * EXTENT)) \
		--size $(((full - NR) * EXTENT))
	stamp fill few 0 16
	up
	NUMBERED=$(msg shadow map 0 "$full" | awk '$3 == "fast" {
		for (i = 0; i < $2; i++) if (n++ % 12 == 0) print $1 + i }')
	at_least "extents with metadata" "$(wc -w <<<"$NUMBERED")" 8
	for i in 1 2 3; do
		numbered
		rescued "time $i"
	done
	at_least "points" "$(counter shadow shadow_points)" 2
	same "metadata" "$(status shadow metadata_protected metadata_fast)" \
		"$(wc -w <<<"$NUMBERED") $(wc -w <<<"$NUMBERED")"
	within 20 "heat and status agree on what is protected" heat_agrees
	at_most "shadows" "$(status shadow shadows)" $(($(status shadow used_fast) / 2))
	# what is written for the first time takes the room of others, and these still have shadows
	fusion-stamp fill $SET --state "$TMP/last" --offset $((full * EXTENT)) --size $((32 * EXTENT))
	rescued "with less room"
	NUMBERED=$(head -n 4 <<<"$NUMBERED")
	numbered
	rescued "again"
}

# copied NR: so many shadows were made
copied() {
	[[ $(counter shadow shadow_copies) -ge $1 ]]
}

# a point waits for metadata, even if that is much, but not for all data
test_long_round() {
	local data=600 metadata=80 first current used
	SIZES="64 256"
	begin duty 1 replica_interval 1
	first=$((NR + data))
	fusion-stamp fill $SET --state "$TMP/more" --offset $((NR * EXTENT)) \
		--size $(((data + metadata) * EXTENT))
	same "on the fast member" "$(status shadow used_fast)" $((data + metadata))
	# a batch of 16 now and then, for some seconds at least
	msg shadow shadow_age 1
	within 30 "the round has begun" copied 16
	# of these the first one has been copied: its change makes a point due
	NUMBERED="$NR $(seq -s ' ' $first $((first + metadata - 1)))"
	dd if=/dev/urandom of=$SET bs="$EXTENT" seek=$first count=$metadata conv=notrunc \
		oflag=direct,dsync status=none
	dd if=/dev/urandom of=$SET bs="$EXTENT" seek=$NR count=1 conv=notrunc \
		oflag=direct,dsync status=none
	within 60 "a point" all_counted 1
	read -r current used <<<"$(status shadow shadows_current used_fast)"
	say "$current of $used have current shadows"
	at_most "extents with a current shadow" "$current" $((used - 64))
	msg shadow checkpoint
	rescued "in the round"
}

# fast_sector EXTENT: of its slot on the fast member
fast_sector() {
	local member slot
	read -r _ _ member slot _ < <(msg shadow map "$1" 1)
	same "member" "$member" fast
	echo $(($(sb fast_data_start) + slot * EXTENT / 512))
}

# what cannot be read for a moment leaves the last point as it is, what cannot be for long is left out
test_unreadable() {
	local extent
	MEMBERS=linked
	begin idle 100 shadow_age 3600 replica_interval 3600
	up
	NUMBERED=$(seq 2 3 62)
	write_numbered
	msg shadow point
	rescued "at the point"
	for extent in $NUMBERED; do
		dd if=$SET bs="$EXTENT" skip="$extent" count=1 status=none >"$TMP/$extent"
	done

	write_numbered
	bad_sectors fast "$(sb fast_data_start)" $(($(sb nr_fast_slots) * EXTENT / 512))
	refused "" msg shadow point
	# so many are not left out later either
	sleep 6
	refused "" msg shadow point
	swap fast
	same "mode" "$(status shadow mode needs_check)" "rw -"
	msg shadow checkpoint
	salvaged
	for extent in $NUMBERED; do
		dd if=/dev/mapper/left bs="$EXTENT" skip="$extent" count=1 status=none |
			cmp - "$TMP/$extent" || fail "extent $extent is not as at the point"
	done
	msg shadow point
	rescued "read again"

	write_numbered
	bad_sectors fast "$(fast_sector 23)" $((EXTENT / 512))
	refused "" msg shadow point
	sleep 6
	msg shadow point
	NUMBERED=$(grep -vx 23 <<<"$NUMBERED")
	rescued "without one"
	swap fast
}

run_tests
