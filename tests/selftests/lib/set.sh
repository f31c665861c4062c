# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A set: make, open and close it, read its superblocks, damage it. Part of lib.sh.

# format [OPTION]...: make FAST and SLOW a set; its size is in LEN. With LANDING=SIZE it has a
# landing log: tests whose sets are made here can be tried with one.
format() {
	need_module dm-fusion
	fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" \
		${LANDING:+--landing "$LANDING"} "$@" >/dev/null
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
}

# number DEV BLOCK OFFSET SIZE: a little-endian number on a member
number() {
	fusion-peek "$@"
}

# uuid_of DEV [FIELD]: uuid of a member's set, or device_uuid of the member
uuid_of() {
	fusionctl probe --json "$1" | jq -r ".${2:-set_uuid}"
}

# sb FIELD [DEV]: a number from the newer copy of a member's superblock
sb() {
	local dev=${2:-$FAST} offset size
	case $1 in
	flags)			offset=88 size=4 ;;
	epoch)			offset=92 size=4 ;;
	extent_sectors)		offset=408 size=4 ;;
	nr_lexts)		offset=412 size=4 ;;
	journal_start)		offset=416 size=8 ;;
	journal_blocks)		offset=424 size=4 ;;
	map_blocks)		offset=428 size=4 ;;
	map_start0)		offset=432 size=8 ;;
	map_start1)		offset=440 size=8 ;;
	heat_start)		offset=448 size=8 ;;
	heat_blocks)		offset=456 size=4 ;;
	nr_fast_slots)		offset=460 size=4 ;;
	fast_data_start)	offset=464 size=8 ;;
	slow_first_slot)	offset=472 size=4 ;;
	nr_slow_slots)		offset=476 size=4 ;;
	log_start)		offset=480 size=8 ;;
	log_blocks)		offset=488 size=4 ;;
	spare_fast)		offset=492 size=4 ;;
	spare_slow)		offset=496 size=4 ;;
	active_set)		offset=504 size=4 ;;
	replay_seq)		offset=520 size=8 ;;
	log_map_start0)		offset=536 size=8 ;;
	log_map_start1)		offset=544 size=8 ;;
	activation)		offset=552 size=8 ;;
	peer_generation)	offset=568 size=8 ;;
	peer_seq)		offset=576 size=8 ;;
	*) fail "no field $1" ;;
	esac
	fusion-peek "$dev" super $offset $size
}

# table [OPTION VALUE]...: the table line of the set
table() {
	echo "0 $LEN fusion $FAST $SLOW" ${1:+$# "$*"}
}

# fusion NAME [OPTION VALUE]...: open the set
fusion() {
	dm "$1" "$(table "${@:2}")"
}

close() {
	dmsetup remove --retry "$1"
}

# opened NAME [FORMAT-OPTION]...: make a new set of the members and open it with fusionctl, as SET
opened() {
	format "${@:2}"
	defer dm_remove "$1"
	good fusionctl open "$1" "$FAST" "$SLOW"
	# shellcheck disable=SC2034 # for the tests
	SET=/dev/mapper/$1
}

# fast_fails NAME: its fast member fails from now on; wait for mode ro
fast_fails() {
	gone fast
	dd if=/dev/zero of="/dev/mapper/$1" bs=64k count=1 oflag=direct conv=fsync status=none || :
	within 10 "mode ro" is_ro "$1"
}

# close_fails NAME: it closes, and reports that it was not closed cleanly
close_fails() {
	local rc=0
	fusionctl close "$1" 2>"$TMP/err" || rc=$?
	same "exit code of close" $rc 1
	has "close" "$(<"$TMP/err")" "$1: is closed, but not cleanly: "
}

BREAK=377	# a byte that is not there by itself

# damage DEV COPY: damage this copy of the superblock
damage() {
	put_direct "$1" $BREAK $((($2 ? 8 : 0) * 4096 + 512)) 512
}

# poke DEV FIELD: change both copies of the superblock
poke() {
	fusion-poke "$1" 0 "$2"
	fusion-poke "$1" 8 "$2"
}
