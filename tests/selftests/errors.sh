#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every error that a table line, a message or a member can provoke, with its text.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin() {
	members 16 32
	format --extent-size 64K
}

# rejected TEXT TABLE: with this text, and nothing is left behind
rejected() {
	refused "$1" dmsetup create errors --table "$2"
	if dmsetup info errors >/dev/null 2>&1; then
		dmsetup remove errors
		fail "after '$1' the device is still there"
	fi
}

# opens: the set works, or works again
opens() {
	dmsetup create errors --table "0 $LEN fusion $FAST $SLOW"
	same mode "$(status errors mode needs_check)" "rw -"
	dmsetup remove errors
}

test_table_line() {
	begin
	rejected "Invalid argument count: fast and slow device are needed" "0 $LEN fusion"
	rejected "Invalid argument count: fast and slow device are needed" "0 $LEN fusion $FAST"
	rejected "Error opening the fast device" "0 $LEN fusion /dev/none $SLOW"
	rejected "Error opening the slow device" "0 $LEN fusion $FAST /dev/none"
	rejected "Fast and slow device are the same" "0 $LEN fusion $FAST $FAST"
	rejected "The target must start at sector 0" "0 128 linear $FAST 0
128 $LEN fusion $FAST $SLOW"
	for i in 1 128 $((LEN - 1)) $((LEN + 1)) $((LEN + 128)) $((LEN * 1000)); do
		rejected "device length must be $LEN sectors, not $i" "0 $i fusion $FAST $SLOW"
	done
	rejected "Device length does not match the set; see the kernel log" \
		"0 128 fusion $FAST $SLOW"
	opens
}

long_options() {
	local i
	begin
	rejected "Invalid number of optional arguments" "0 $LEN fusion $FAST $SLOW x"
	rejected "Invalid number of optional arguments" "0 $LEN fusion $FAST $SLOW -1"
	rejected "Invalid number of optional arguments" "0 $LEN fusion $FAST $SLOW 2 duty"
	rejected "Invalid number of optional arguments" "0 $LEN fusion $FAST $SLOW 66"
	rejected "Optional arguments must be pairs of key and value" \
		"0 $LEN fusion $FAST $SLOW 1 duty"
	rejected "Too many arguments" "0 $LEN fusion $FAST $SLOW 2 duty 10 idle"
	rejected "Too many arguments" "0 $LEN fusion $FAST $SLOW 0 x"
	rejected "Unknown optional argument: no_such 1" "0 $LEN fusion $FAST $SLOW 2 no_such 1"
	for i in "migration 1" "migration ON" "discard_passdown yes" "shadow 1" "reserve -1" \
		"reserve $(($(sb nr_fast_slots) / 2 + 1))" "half_life -1" "half_life 604801" \
		"duty 0" "duty 101" "duty 10%" "idle 60001" "idle -1" "commit_interval 9" \
		"commit_interval 60001" "commit_interval 99999999999" "replica_interval 0" \
		"replica_interval 86401" "standby 86401" "standby -1" \
		"write_budget 100001" "write_budget -1" "shadow_age -1" "shadow_age 86401"; do
		rejected "Invalid value of an optional argument: $i" \
			"0 $LEN fusion $FAST $SLOW 2 $i"
	done
	for i in "migration off" "discard_passdown off" "shadow off" "reserve 0" \
		"reserve $(($(sb nr_fast_slots) / 2))" "half_life 0" "half_life 1" "half_life 604800" \
		"duty 1" "duty 100" "idle 0" "idle 60000" "commit_interval 10" \
		"commit_interval 60000" "replica_interval 1" "replica_interval 86400" \
		"standby 0" "standby 1" "standby 86400" "write_budget 0" "write_budget 1" \
		"write_budget 100000" "shadow_age 0" "shadow_age 86400"; do
		dmsetup create errors --table "0 $LEN fusion $FAST $SLOW 2 $i"
		has "status" "$(dmsetup status errors)" " $i "
		dmsetup remove errors
	done
}

test_messages() {
	local last i
	begin
	fusion errors
	last=$(($(status errors extents) - 1))
	refused "message: nonsense: unknown message, or wrong number of arguments" \
		msg errors nonsense
	refused "message: nonsense: unknown" msg errors nonsense 1
	refused "message: promote: unknown" msg errors promote
	refused "message: promote: unknown" msg errors promote 1 2 3
	refused "message: map: unknown" msg errors map 1
	refused "message: stats: unknown" msg errors stats 1
	refused "message: histogram: unknown" msg errors histogram 1
	refused "message: checkpoint: unknown" msg errors checkpoint now
	for i in promote demote; do
		refused "message: x: not a range <first>[-<last>] of extents" msg errors $i x
		refused "message: 1: not a range" msg errors $i 1-
		refused "message: : not a range" msg errors $i -1
		refused "message: 7: not a range" msg errors $i 7-6
		refused "message: 1: not a range" msg errors $i 1-2-3
		refused "message: 4294967296: not a range" msg errors $i 4294967296
		refused "message: extent $((last + 1)) is beyond the last one, $last" \
			msg errors $i 0-$((last + 1))
		same "$i of the last" "$(msg errors $i "$last")" "0 0 1 0"
	done
	refused "message: $((last + 1)): not an extent of this device" \
		msg errors map $((last + 1)) 1
	refused "message: -1: not an extent of this device" msg errors map -1 1
	refused "message: 0: not a number of extents" msg errors map 0 0
	same "map, cut at the end" "$(msg errors map "$last" 4000000000)" "$last 1 - - unmapped"
	refused "message: 0: not a number of buckets, 1 to 4096" msg errors heat 0
	refused "message: 4097: not a number of buckets, 1 to 4096" msg errors heat 4097
	same "heat of all" "$(msg errors heat 1)" "0 $((last + 1)) 0 0 0 0 0"
	same "heat, one bucket an extent at most" "$(msg errors heat 4096 | wc -l)" $((last + 1))
	same "histogram of nothing" "$(msg errors histogram)" ""
	has "stats" "$(msg errors stats)" "promotions 0"
	dmsetup suspend errors
	for i in "promote 0" "demote 0" checkpoint; do
		# shellcheck disable=SC2086 # a message and its argument
		refused "Resource temporarily unavailable" limited 20 dmsetup message errors 0 $i
	done
	dmsetup resume errors
	msg errors checkpoint
}

# settings: the values in effect
settings() {
	dmsetup table errors
	dmsetup status errors | grep -o ' 24 migration .*'
}

# said_of KEY VALUE TEXT: the value is refused with this one log line, and nothing changes
said_of() {
	local mark before
	before=$(settings)
	mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	refused "Invalid argument" msg errors "$1" "$2"
	same "log of '$1 $2'" "$(dmesg | sed "1,/$mark/d" | sed -n 's/.*device-mapper: //p')" \
		"fusion: message: $3"
	same "settings after '$1 $2'" "$(settings)" "$before"
}

# no value equals the default, so that a silent correction shows
test_bad_values() {
	local key values i
	begin
	fusion errors migration off reserve 3 half_life 7 duty 30 idle 500 commit_interval 20 \
		replica_interval 7 discard_passdown off standby 5 write_budget 9 shadow off \
		shadow_age 11
	while read -r key values; do
		for i in $values; do
			said_of "$key" "$i" "$key $i: value out of range"
		done
		# without a value
		said_of "$key" '' "$key: unknown message, or wrong number of arguments"
	done <<-EOF
		migration 0 1 ON yes maybe
		discard_passdown 0 1 OFF no
		shadow 0 1 OFF no
		reserve -1 $(($(sb nr_fast_slots) / 2 + 1)) x 1.5 1M 99999999999
		half_life -1 604801 x 1.5 1h 99999999999
		duty -1 0 101 x 1.5 10% 99999999999
		idle -1 60001 x 1.5 1s 99999999999
		commit_interval -1 9 60001 x 10.5 1s 99999999999
		replica_interval -1 0 86401 x 1.5 1m 99999999999
		standby -1 86401 x 1.5 1m 99999999999
		write_budget -1 100001 x 1.5 5G 99999999999
		shadow_age -1 86401 x 1.5 3m 99999999999
	EOF
}

test_members() {
	local fast slow
	begin
	fast=$FAST slow=$SLOW
	rejected "Fast device is the slow member; swap the devices" \
		"0 $LEN fusion $SLOW $FAST"
	null blank 32
	rejected "Fast device is not a fusion member; fusionctl format makes one" \
		"0 $LEN fusion /dev/blank $SLOW"
	rejected "Slow device is not a fusion member; fusionctl format makes one" \
		"0 $LEN fusion $FAST /dev/blank"
	stale /dev/blank
	rejected "Slow device is not a fusion member; fusionctl format makes one" \
		"0 $LEN fusion $FAST /dev/blank"

	# half of another set
	null fast2 16
	FAST=$REPLY
	null slow2 32
	SLOW=$REPLY
	format --extent-size 64K
	rejected "The devices are not members of the same set" "0 $LEN fusion $fast $SLOW"
	rejected "The devices are not members of the same set" "0 $LEN fusion $FAST $slow"
	rejected "Slow device is the fast member; swap the devices" "0 $LEN fusion $fast $FAST"
	opens
	FAST=$fast SLOW=$slow
	opens

	# shrunk by one sector and by half
	for i in 1 $((16 * 1024)); do
		linear shrunk "$FAST" 0 $((32 * 1024 - i))
		rejected "Fast device is smaller than when it was formatted" \
			"0 $LEN fusion /dev/mapper/shrunk $SLOW"
		dmsetup remove shrunk
		linear shrunk "$SLOW" 0 $((64 * 1024 - i))
		rejected "Slow device is smaller than when it was formatted" \
			"0 $LEN fusion $FAST /dev/mapper/shrunk"
		dmsetup remove shrunk
	done
	opens
}

test_busy() {
	begin
	fusion errors
	refused "" dmsetup create errors --table "0 $LEN fusion $FAST $SLOW"
	refused "is held by" fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" \
		--extent-size 64K
	same mode "$(status errors mode)" rw
}

save() {
	dd if="$FAST" of="$TMP/fast" bs=1M count=2 iflag=direct status=none
	dd if="$SLOW" of="$TMP/slow" bs=1M count=2 iflag=direct status=none
}

restore() {
	dd if="$TMP/fast" of="$FAST" bs=1M oflag=direct status=none
	dd if="$TMP/slow" of="$SLOW" bs=1M oflag=direct status=none
}

# both_copies POKE...: in the superblocks of both members
both_copies() {
	local dev copy
	for dev in "$FAST" "$SLOW"; do
		for copy in 0 8; do
			fusion-poke "$dev" $copy "$@"
		done
	done
}

test_superblocks() {
	local table i
	begin
	# both copies have it
	opens
	opens
	table="0 $LEN fusion $FAST $SLOW"
	save

	# one copy of either is enough: the older one's data is still there
	put "$FAST" 125 $((4096 * 8 + 200)) 1
	put "$SLOW" 125 200 1
	opens
	restore
	put "$FAST" 125 200 1
	put "$SLOW" 125 $((4096 * 8 + 200)) 1
	opens
	restore

	put "$FAST" 125 200 1
	put "$FAST" 125 $((4096 * 8 + 200)) 1
	rejected "Fast device has no valid superblock; see the kernel log" "$table"
	rejected "checksum" "$table"
	restore
	put "$SLOW" 125 200 1
	put "$SLOW" 125 $((4096 * 8 + 200)) 1
	rejected "Slow device has no valid superblock; see the kernel log" "$table"
	restore
	put "$FAST" 0 0 65536
	rejected "Fast device is not a fusion member; fusionctl format makes one" "$table"
	restore

	both_copies 48:4=3
	rejected "Fast device has the format of another version; see the kernel log" "$table"
	refused "has format version 3, the newest that is supported is 2" dmsetup create refused \
		--table "$table"
	restore
	for i in 0 1; do
		both_copies 48:4=$i
		refused "has format version $i, from before the first release" dmsetup create \
			refused --table "$table"
		restore
	done
	both_copies 56:8=0x4000000000000000
	rejected "Fast device has the format of another version; see the kernel log" "$table"
	refused "has features of a newer version: incompat 0x4000000000000000" dmsetup create \
		refused --table "$table"
	restore
	# not the bit of the landing log
	both_copies 56:8=0x4000000000000010
	refused "newer version: incompat 0x4000000000000000" dmsetup create refused \
		--table "$table"
	restore
	both_copies 88:4=5
	refused "has features of a newer version: flags 0x4" dmsetup create refused \
		--table "$table"
	restore
	# the other copy may be older than the feature
	for i in "$FAST 0" "$FAST 8" "$SLOW 0" "$SLOW 8"; do
		# shellcheck disable=SC2086 # two words
		fusion-poke $i 56:8=0x20
		refused "has features of a newer version: incompat 0x20" dmsetup create refused \
			--table "$table"
		restore
	done
	opens

	# a valid copy 0 in the place of copy 8 is not believed
	dd if="$FAST" of="$FAST" bs=4096 count=1 seek=8 iflag=direct oflag=direct conv=notrunc \
		status=none
	put "$FAST" 125 200 1
	rejected "Fast device has no valid superblock; see the kernel log" "$table"
	restore
	opens
}

# a member that missed some activations
test_stale_member() {
	begin
	opens
	save
	opens
	opens
	opens
	dd if="$TMP/slow" of="$SLOW" bs=1M oflag=direct status=none
	rejected "One of the devices was used without the other; see the kernel log" \
		"0 $LEN fusion $FAST $SLOW"
}

# no number in a superblock may do harm
long_superblock_numbers() {
	local offset value
	begin
	opens
	opens
	save
	for ((offset = 384; offset < 816; offset += 4)); do
		for value in 0 0xffffffff; do
			both_copies $offset:4=$value
			if dmsetup create errors --table "0 $LEN fusion $FAST $SLOW" 2>/dev/null; then
				dmsetup remove errors
			fi
			restore
		done
	done
	opens
}

# between load and resume the superblocks change, after memory was sized by the old ones
test_geometry_between() {
	local was block
	begin
	opens
	opens
	save
	was=$(sb nr_lexts)
	dmsetup create errors --notable
	defer dm_remove errors
	dmsetup load errors --table "$(table)"
	both_copies 412:4=$((was + 1)) 492:4=$(($(sb spare_fast) - 1))
	# the map fits
	block=$(($(sb map_start0) + $(sb active_set) * $(sb map_blocks)))
	fusion-poke "$FAST" $block 44:4=$((was + 1)) $((48 + 4 * was)):4=0x1fffffff
	refused "there is another set on the devices than when the table was made" \
		dmsetup resume errors
	dmsetup remove errors
	# it is a set like any other
	dmsetup create errors --table "0 $((LEN + $(sb extent_sectors))) fusion $FAST $SLOW"
	same mode "$(status errors mode needs_check)" "rw -"
	dmsetup remove errors
	restore
	opens
}

# the map and the journal: damage is found before anything is used
test_damaged_map() {
	local block
	begin
	opens
	fusion errors
	dd if=/dev/zero of=/dev/mapper/errors bs=1M count=8 oflag=direct conv=fsync status=none
	close errors
	save
	block=$(($(sb map_start0) + $(sb active_set) * $(sb map_blocks)))
	put "$FAST" 125 $((block * 4096 + 2000)) 1
	rejected "map, block $block of the fast member: checksum mismatch" \
		"0 $LEN fusion $FAST $SLOW"
	restore
	# two extents on one slot
	fusion-poke "$FAST" $block 48:4=0 52:4=0
	rejected "extent 1 lies on a slot of another one: fast slot 0" \
		"0 $LEN fusion $FAST $SLOW"
	restore
	# a slot that does not exist, a state that cannot be on disk
	fusion-poke "$FAST" $block 48:4="$(sb nr_fast_slots)"
	rejected "map, block $block of the fast member" "0 $LEN fusion $FAST $SLOW"
	restore
	fusion-poke "$FAST" $block 48:4=$((2 << 30))
	rejected "map, block $block of the fast member" "0 $LEN fusion $FAST $SLOW"
	restore
	# OPEN without a bitmap
	fusion-poke "$FAST" $block 48:4=$((1 << 30 | $(number "$FAST" "$block" 48 4)))
	rejected "extent 0 is open but has no bitmap" "0 $LEN fusion $FAST $SLOW"
	restore
	opens
}

run_tests
