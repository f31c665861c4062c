#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Damaged metadata of a closed set: check finds it, the kernel refuses it with the right words or
# copes, repair mends it, and the data is unchanged. dump and restore: dump-restore.sh.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/closed.sh
. "$(dirname "$0")/lib/closed.sh"

test_clean() {
	local before
	a_set
	before=$(sum)
	gives 0 fusionctl check pair
	says "is clean: 0 errors, 0 warnings"
	gives 0 fusionctl check "$FAST" "$SLOW"
	gives 0 fusionctl check "$SLOW" "$FAST" -v
	gives 0 fusionctl check "$SLOW"
	gives 0 fusionctl check pair --json
	same result "$(jq -r .result <<<"$OUT")" clean
	same members "$(jq -r '.members[].device' <<<"$OUT")" "$FAST"$'\n'"$SLOW"
	gives 0 fusionctl repair pair --yes
	says "nothing to repair"
	same "what is on the members" "$(sum)" "$before"
	# an image of a member works as well
	save
	gives 0 fusionctl check "$TMP/fast" "$TMP/slow"
	verify
	# the remains of a power cut are no error
	fusionctl open pair "$FAST" "$SLOW"
	stamp 100
	msg pair demote 200-220 >/dev/null
	dmsetup suspend --noflush --nolockfs pair
	save
	dmsetup resume pair
	gives 5 fusionctl check "$FAST" "$SLOW"
	says "is a member of the open set pair; close that first with fusionctl close"
	gives 5 fusionctl repair pair --yes
	gives 5 fusionctl dump pair
	fusionctl close pair
}

test_refusals() {
	local i
	a_set
	gives 8 fusionctl check /dev/nosuch "$SLOW"
	says "No such file or directory; name a block device, or an image of one"
	gives 8 fusionctl check /dev/null "$SLOW"
	says "neither a block device nor a file"
	gives 8 fusionctl check "$FAST" "$FAST"
	says "is the same as $FAST; name two members"
	null other 8
	gives 8 fusionctl check /dev/other
	says "not a member of a fusion set; fusionctl list shows the members"
	gives 4 fusionctl check "$FAST" /dev/other
	says "slow member, block 0: superblock: no superblock"
	for i in check repair; do
		gives 8 fusionctl $i nosuch
		says "no member of that set is found"
	done
	gives 2 fusionctl check
	linear holder "$SLOW" 0 2048
	gives 5 fusionctl check "$FAST" "$SLOW"
	says "is held by /dev/mapper/holder; remove that first"
	dm_remove holder
	save
	modprobe -q loop || :
	REPLY=$(losetup -f --show "$TMP/slow")
	status_of fusionctl check "$TMP/fast" "$TMP/slow"
	losetup -d "$REPLY"
	same "exit code" "$RC" 5
	says "$TMP/slow: is held by $REPLY; remove that first"
	zap "$FAST" 0
	gives 3 fusionctl repair pair
	says "the metadata on $FAST and $SLOW would be written, and there is no terminal to ask \
on; add --yes"
	gives 2 fusionctl repair pair --json
	says "allows no question; add --yes or --dry-run"
	blockdev --setro "$FAST"
	gives 8 fusionctl repair pair --yes
	says "$FAST: is read-only; make it writable"
	blockdev --setrw "$FAST"
}

# broken WORDS BLOCK WHAT...: check and open report WORDS; after repair all data is there
broken() {
	local level=$1 words=$2 before
	gives $((level == 1 ? 1 : 4)) fusionctl check "$FAST" "$SLOW"
	says "$words"
	before=$(sum)
	gives $((level == 1 ? 1 : 4)) fusionctl repair "$FAST" "$SLOW" --dry-run
	same "what is on the members after a dry run" "$(sum)" "$before"
	if [[ $level -eq 1 ]]; then
		fusionctl open pair "$FAST" "$SLOW" 2>/dev/null
		fusionctl close pair
		restore_damage
	else
		status_of fusionctl open pair "$FAST" "$SLOW"
		differ "exit code of open" "$RC" 0
		says "fusionctl repair"
	fi
	gives 1 fusionctl repair "$FAST" "$SLOW" --yes
	says "repaired"
	says "nothing is lost"
	gives 0 fusionctl check "$FAST" "$SLOW"
	verify
}

restore_damage() {
	restore
	"${DAMAGE[@]}"
}

# damage one block of each kind, and see what the kernel and the tools report
each() {
	local level=$1 words=$2
	shift 2
	DAMAGE=("$@")
	restore_damage
	broken "$level" "$words"
}

zap_two() {
	zap "$1" 0 part
	zap "$1" 8 part
}

test_each_kind() {
	local active map log
	a_set
	save
	active=$(sb active_set)
	map=$(sb "map_start$active")
	log=$(sb "log_map_start$(sb active_set "$SLOW")")
	each 1 "fast member, block 0: superblock: no superblock" zap "$FAST" 0
	each 1 "fast member, block 8: superblock: checksum mismatch" zap "$FAST" 8 part
	each 4 "fast member, block 8: superblock: checksum mismatch" zap_two "$FAST"
	each 1 "slow member, block 0: superblock: checksum mismatch" zap "$SLOW" 0 part
	each 4 "slow member, block 8: superblock: checksum mismatch" zap_two "$SLOW"
	each 4 "fast member, block $map: map: checksum mismatch" zap "$FAST" "$map" part
	each 4 "fast member, block $map: map: block of another kind" zap "$FAST" "$map"
	each 1 "slow member, block $log: replica: block of another kind" zap "$SLOW" "$log"
	each 1 "fast member, block 5: guard: something wrote to its first MiB" zap "$FAST" 5 part
	each 1 "slow member, block 8191: guard: something wrote to its last MiB" zap "$SLOW" 8191 part
}

# the journal is read only after a crash: an open set at rest looks like one
crashed_set() {
	a_set
	fusionctl open pair "$FAST" "$SLOW"
	for i in 1 2 3 4 5; do
		stamp 40
		msg pair demote $((i * 20))-$((i * 20 + 9)) >/dev/null
	done
	save
	cp "$TMP/state" "$TMP/state.then"
	fusionctl close pair
	restore
}

test_journal() {
	local block seq
	crashed_set
	gives 0 fusionctl check "$FAST" "$SLOW"
	# the block in the middle of the part to be replayed
	seq=$(fusionctl dump pair | jq '[.journals.fast[] | select(.replayed)] |
		if length > 2 then .[length / 2 | floor].seq else error("too few") end')
	block=$(($(sb journal_start) + seq % $(sb journal_blocks)))
	zap "$FAST" $block
	gives 4 fusionctl check "$FAST" "$SLOW"
	says "fast member, block $block: journal: "
	gives 7 fusionctl open pair
	says "transactions are missing in the middle of the journal (fast member, block $block: "
	gives 4 fusionctl repair pair --dry-run --json
	same "missing" "$(jq .transactions_missing <<<"$OUT")" 1
	gives 1 fusionctl repair pair --yes
	says "stale: 1 transactions are missing in the middle of the journal"
	gives 0 fusionctl check pair
	fusionctl open pair
	fusionctl close pair
}

# flags that the kernel sets when it meets an error
test_needs_check() {
	a_set
	fusion-poke "$FAST" 0 88:4=3
	fusion-poke "$FAST" 8 88:4=3
	gives 1 fusionctl check pair
	says "asks for a check"
	gives 0 fusionctl open pair
	says "pair: had an error that may have left its metadata wrong; close it and run \
fusionctl check"
	fusionctl close pair
	gives 1 fusionctl repair pair --yes
	gives 0 fusionctl check pair
	gives 0 fusionctl open pair
	same "what it says" "$OUT" ""
	fusionctl close pair
}

# repair leaves a device alone that was named by mistake.
test_wrong_device() {
	local before
	a_set
	null other 32
	null small 16
	mkfs.ext4 -q -L home /dev/other
	before=$(sum "$FAST" /dev/other /dev/small)
	gives 8 fusionctl repair "$FAST" /dev/other --yes
	says "/dev/other: has no block of the slow member of $FAST; connect that member"
	gives 8 fusionctl repair "$FAST" /dev/other --yes --dry-run
	gives 8 fusionctl repair "$FAST" /dev/small --yes --force
	same "what is on the devices" "$(sum "$FAST" /dev/other /dev/small)" "$before"
	# half of the data would be noise
	gives 8 fusionctl repair "$FAST" /dev/other --yes --force
	says "/dev/other: has no block of the slow member of $FAST; connect that member, or see \
what the other one has: fusionctl salvage $FAST"
	same "what is on the devices" "$(sum "$FAST" /dev/other /dev/small)" "$before"
	null noise 8
	dd if=/dev/urandom of=/dev/noise bs=1M count=8 oflag=direct status=none
	before=$(sum "$SLOW" /dev/noise)
	gives 8 fusionctl repair /dev/noise "$SLOW" --yes --force
	says "/dev/noise: has no block of the fast member of $SLOW"
	same "what is on the devices" "$(sum "$SLOW" /dev/noise)" "$before"
}

# A file of that name where the user happens to be does not hide the set.
test_file_of_that_name() {
	a_set
	cd "$TMP"
	echo "no member" >pair
	good fusionctl check pair
	good fusionctl dump pair
	gives 4 fusionctl check ./pair
	good fusionctl open pair
	good fusionctl close pair
	dd if="$SLOW" of="$TMP/image" bs=1M status=none
	gives 4 fusionctl check image
	says "fast member: member: is missing"
}

# Power fails between the first and the second superblock of an opening; then the set is repaired or
# restored. The result opens.
test_interrupted_opening() {
	local how
	a_set
	gives 0 fusionctl dump pair -o "$TMP/dump"
	# the kernel's first write: the slow member's superblock of the next epoch, of another
	# activation, whose previous number is the present one
	for i in 0 8; do
		fusion-poke "$FAST" $i 552:8=77
		fusion-poke "$SLOW" $i 88:4=0 92:4=$(($(sb epoch) + 1)) 552:8=78 560:8=77
	done
	gives 0 fusionctl check pair
	save
	for how in "repair pair" "repair pair --force" "restore $TMP/dump $FAST $SLOW"; do
		restore
		# a warning, so that there is something to repair
		put_direct "$FAST" 125 $((5 * 4096)) 512
		# shellcheck disable=SC2086 # words
		status_of fusionctl $how --yes
		[[ $RC -le 1 ]] || fail "$how: $RC: $OUT"
		gives 0 fusionctl check pair
		verify
	done
}

# After repair, a file system that was made on a member is no longer recognised.
test_made_over() {
	local i
	need mkfs.btrfs
	a_set
	gives 0 fusionctl dump pair -o "$TMP/dump"
	truncate -s 120M "$TMP/btrfs"
	mkfs.btrfs -q "$TMP/btrfs"
	for i in repair restore; do
		dd if="$TMP/btrfs" of="$SLOW" bs=64K count=2 conv=fsync,notrunc status=none
		has "what is there" "$(blkid -p -o export "$SLOW")" TYPE=btrfs
		case $i in
		repair)	gives 1 fusionctl repair "$FAST" "$SLOW" --yes --force ;;
		restore) gives 0 fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes --force ;;
		esac
		same "what is recognised" "$(blkid -p -o export "$SLOW" || :)" ""
		gives 0 fusionctl check "$FAST" "$SLOW"
	done
	verify
}

# both_copies DEV POKE
both_copies() {
	fusion-poke "$1" 0 "$2"
	fusion-poke "$1" 8 "$2"
}

# Changes that a newer release may have made to a set are named, and left alone.
test_newer_features() {
	local before named="has features of a newer version"
	a_set
	gives 0 fusionctl dump -o "$TMP/known" "$FAST" "$SLOW"

	# read only, since the superblocks may have fields that this release does not know
	both_copies "$FAST" 64:8=0x10000000001
	before=$(sum)
	gives 1 fusionctl check "$FAST" "$SLOW"
	says "$named: ro_compat 0x10000000001; it can be opened read-only"
	gives 3 fusionctl repair --yes "$FAST" "$SLOW"
	says "$FAST: $named: ro_compat 0x10000000001; repair it with that version"
	gives 3 fusionctl set pair duty=40
	says "pair: $named: ro_compat 0x10000000001, and can only be opened read-only"
	gives 0 fusionctl dump -o "$TMP/newer" "$FAST" "$SLOW"
	gives 3 fusionctl restore --yes "$TMP/newer" "$FAST" "$SLOW"
	says "is of a set that $named: ro_compat 0x10000000001; use the fusionctl that wrote it"
	refused "$named: ro_compat 0x10000000001" fusionctl open pair
	same "what is on the members" "$(sum)" "$before"
	# on the slow member only: a newer release was interrupted
	both_copies "$FAST" 64:8=0
	both_copies "$SLOW" 64:8=0x4
	before=$(sum)
	gives 3 fusionctl repair --yes "$FAST" "$SLOW"
	says "$SLOW: $named: ro_compat 0x4; repair it with that version"
	refused "$named: ro_compat 0x4" fusionctl open pair
	same "what is on the members" "$(sum)" "$before"
	both_copies "$SLOW" 64:8=0

	# left alone, whichever copy has the bit
	fusion-poke "$SLOW" 0 56:8=0x68
	before=$(sum)
	named="$named: incompat 0x60"
	gives 4 fusionctl check "$FAST" "$SLOW"
	says "$named"
	gives 3 fusionctl repair --yes --force "$FAST" "$SLOW"
	says "$SLOW: $named; use a newer fusionctl and dm-fusion"
	gives 3 fusionctl dump "$FAST" "$SLOW"
	says "$SLOW: $named; use a newer fusionctl and dm-fusion"
	gives 3 fusionctl salvage "$SLOW"
	says "$SLOW: $named; use a newer fusionctl and dm-fusion"
	gives 3 fusionctl restore --yes "$TMP/known" "$FAST" "$SLOW"
	says "$SLOW: $named; use a newer fusionctl and dm-fusion, or to overwrite that, add --force"
	gives 1 fusionctl open other "$FAST" "$SLOW"
	says "$SLOW: $named; use a newer fusionctl and dm-fusion"
	both_copies "$FAST" 56:8=0x60
	before=$(sum)
	gives 1 fusionctl open pair
	says "no member of that set is found, but $FAST $named"
	gives 3 fusionctl format other --extent-size 64K --yes "$FAST" "$SLOW"
	says "$FAST: contains a member of a fusion set that $named"
	same "what is on the members" "$(sum)" "$before"
	both_copies "$FAST" 56:8=0
	fusion-poke "$SLOW" 0 56:8=0x8

	# no effect
	both_copies "$FAST" 72:8=0x5
	both_copies "$FAST" 680:4=0x80000000
	gives 0 fusionctl check --verbose "$FAST" "$SLOW"
	says "has features of a newer version that do no harm: compat 0x5"
	says "keeps settings of a newer version, which have no effect: bits 0x80000000"
	both_copies "$FAST" 680:4=0
	verify
}

# a label may contain anything
test_hostile_label() {
	local dev copy
	a_set
	for dev in "$FAST" "$SLOW"; do
		for copy in 0 8; do
			# ESC [2J, a newline, C1 CSI, and half a character
			fusion-poke "$dev" $copy 128:4=0x4a325b1b 132:4=0xff9bc20a 136:8=0
		done
	done
	for i in "check $FAST $SLOW" "list" "repair $FAST $SLOW --dry-run" "salvage $SLOW"; do
		# shellcheck disable=SC2086 # words
		gives 0 fusionctl $i
		same "control characters that '$i' prints" "$(tr -d '\n\40-\176' <<<"$OUT" | wc -c)" 0
	done
	gives 0 fusionctl check "$FAST" "$SLOW" --json
	same label "$(jq -r .set <<<"$OUT")" '\x1b[2J\x0a\xc2\x9b\xff'
	gives 0 fusionctl dump "$FAST" "$SLOW"
	same label "$(jq -r .label_bytes <<<"$OUT")" 1b5b324a0ac29bff
}

run_tests
