# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# dm-integrity below both members: rot gives errors, and is not spread by moves. Part of stack-guest.sh.
# shellcheck disable=SC2034 # FAST and SLOW are for that

NR=192		# extents of 64 KiB, the first half on fast

# numbered: write extents that contain their number in each line
numbered() {
	perl -e 'print sprintf("%-31s\n", "extent $_,") x 2048 for 0 .. $ARGV[0] - 1' "$NR"
}

# reads_right FIRST COUNT: extents
reads_right() {
	dd if="$SET" bs=64K skip="$1" count="$2" iflag=direct status=none |
		cmp - <(dd if="$TMP/data" bs=64K skip="$1" count="$2" status=none) ||
		fail "extents from $1 are not what they were"
}

BAD=()		# extents that rot

# others_read_right: all extents without rot
others_read_right() {
	local i next=0
	while read -r i; do
		reads_right $next $((i - next))
		next=$((i + 1))
	done < <(printf '%s\n' "${BAD[@]}" $NR | sort -n)
}

# rot fast|slow EXTENT: change a byte in its last line, on the raw device
rot() {
	local at
	# dm-integrity reads data in its journal from there: wait until the data is in place
	dmsetup suspend "$1-sum"
	dmsetup resume "$1-sum"
	blockdev --flushbufs "/dev/$1"
	# the journal, which comes first, may have it as well
	at=$(tr '\0' '\n' <"/dev/$1" | grep -aobF "extent $2," | tail -n 1 | cut -d : -f 1)
	[[ $at ]] || fail "extent $2 is not on $1"
	printf E | dd of="/dev/$1" bs=1 seek="$at" conv=notrunc,fsync status=none
	blockdev --flushbufs "/dev/$1"
}

# bad_blocks EXTENT: number of its unreadable 4 KiB blocks; the readable ones are correct
bad_blocks() {
	local i bad=0
	for ((i = $1 * 16; i < $1 * 16 + 16; i++)); do
		if ! dd if="$SET" bs=4K skip=$i count=1 iflag=direct of="$TMP/block" 2>/dev/null; then
			bad=$((bad + 1))
			continue
		fi
		cmp "$TMP/block" <(dd if="$TMP/data" bs=4K skip=$i count=1 status=none) >&2 ||
			fail "wrong data was read"
	done
	echo $bad
}

# rots fast|slow EXTENT promote|demote: rot an extent there, and try to move it
rots() {
	same "place of extent $2" "$(on stack "$1" "$2" 1)" 1
	reads_right "$2" 1
	rot "$1" "$2"
	same "unreadable blocks" "$(bad_blocks "$2")" 1
	# it must not be copied as if it were correct
	same "move of it" "$(msg stack "$3" "$2")" "0 0 0 1"
	same "place of extent $2" "$(on stack "$1" "$2" 1)" 1
	same "unreadable blocks" "$(bad_blocks "$2")" 1
	same "mode" "$(status stack mode)" rw
	BAD+=("$2")
	others_read_right
	# other extents still move, and can be written
	same "move of another" "$(msg stack "$3" $(($2 + 1)))" "1 0 0 0"
	dd if="$TMP/data" of="$SET" bs=64K skip=$(($2 + 1)) seek=$(($2 + 1)) count=1 \
		oflag=direct conv=fsync,notrunc status=none
	reads_right $(($2 + 1)) 1
}

# heals fast|slow EXTENT promote|demote: a rewritten extent is correct again, and moves
heals() {
	same "unreadable blocks" "$(bad_blocks "$2")" 1
	dd if="$TMP/data" of="$SET" bs=64K skip="$2" seek="$2" count=1 oflag=direct \
		conv=fsync,notrunc status=none
	reads_right "$2" 1
	same "move of it" "$(msg stack "$3" "$2")" "1 0 0 0"
	reads_right "$2" 1
}

# dm-integrity below both members. A changed byte of the raw device gives an error and no wrong
# data; its extent is not moved, and everything else works. Written again, it reads correctly.
test_integrity_below() {
	local i
	need integritysetup
	need_module dm-integrity
	members 48 96
	for i in fast slow; do
		quiet integritysetup format -q /dev/$i
		defer dm_remove $i-sum
		quiet integritysetup open /dev/$i $i-sum
	done
	FAST=/dev/mapper/fast-sum SLOW=/dev/mapper/slow-sum
	opened stack --extent-size 64K
	msg stack migration off
	numbered >"$TMP/data"
	dd if="$TMP/data" of="$SET" bs=64K oflag=direct conv=fsync,notrunc status=none
	same "demoted" "$(msg stack demote $((NR / 2))-$((NR - 1)))" "$((NR / 2)) 0 0 0"
	same "on fast" "$(on stack fast 0 $((NR / 2)))" $((NR / 2))
	rots slow $((NR * 3 / 4)) promote
	rots fast $((NR / 4)) demote
	# it is remembered, and does not block others
	reopened
	msg stack migration off
	heals slow $((NR * 3 / 4)) promote
	heals fast $((NR / 4)) demote
	reads_right 0 $NR
	reopened
	reads_right 0 $NR
	good fusionctl close stack
	for i in fast slow; do
		quiet integritysetup close $i-sum
	done
}
