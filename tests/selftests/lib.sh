# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the selftests share. A test is a file with one subject:
#
#	. "$(dirname "$0")/lib.sh"
#
#	test_reads_zeros() {		# what it shows
#		members 64 256
#		format --extent-size 64K
#		fusion set
#		...
#	}
#
#	run_tests test_reads_zeros test_other:long
#
# (or those named in ONLY="test_...").
#
# Every function runs in a subshell under `set -e` and fails at the first command
# that does. Whatever it made (members, devices, mounts, processes) is taken down
# when it ends, however it ends; what cannot be taken down fails it. `:long` marks
# what is left out with QUICK=1.
#
# Functions that make a device leave its path in REPLY.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$here:$here/../../userspace:/usr/local/sbin:/usr/sbin:/sbin:$PATH
export LC_ALL=C
# without udev nobody would wake libdevmapper up, or make the nodes
[[ -S /run/udev/control ]] || export DM_DISABLE_UDEV=1

QUICK=${QUICK:-}
SKIP=4
FAST='' SLOW=''		# members of the set, for format and fusion
TMP=''			# a directory of this test, in RAM

# -- KTAP ----------------------------------------------------------------------

say() {
	echo "# $*"
}

fail() {
	say "$(caller 0 | { read -r line _ file; echo "${file##*/}:$line"; }): $*"
	exit 1
}

skip() {
	say "SKIP $*"
	exit "$SKIP"
}

run_tests() {
	local t name n=0 failed=0 skipped=0 rc taint

	[[ $EUID -eq 0 ]] || { echo "1..0 # SKIP needs root"; exit "$SKIP"; }
	[[ -z ${ONLY:-} ]] || eval "set -- $ONLY"
	echo "TAP version 13"
	echo "1..$#"
	for t; do
		n=$((n + 1))
		name=${t%:long}
		if [[ $QUICK && $t == *:long ]]; then
			echo "ok $n ${name#test_} # SKIP takes long"
			skipped=$((skipped + 1))
			continue
		fi
		taint=$(</proc/sys/kernel/tainted)
		(isolated "$name") 2>&1
		rc=$?
		# 7: died, 9: warned, 14: soft lockup
		if [[ $(((~taint & $(</proc/sys/kernel/tainted)) & (1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]]; then
			say "the kernel warned, see dmesg"
			rc=1
		fi
		case $rc in
		0)	echo "ok $n ${name#test_}" ;;
		"$SKIP") echo "ok $n ${name#test_} # SKIP"
			skipped=$((skipped + 1)) ;;
		*)	echo "not ok $n ${name#test_}"
			failed=$((failed + 1)) ;;
		esac
	done
	echo "# Totals: pass:$((n - failed - skipped)) fail:$failed skip:$skipped"
	[[ $failed -eq 0 ]] || exit 1
	[[ $skipped -lt $n ]] || exit "$SKIP"
	exit 0
}

# isolated FUNCTION: in a subshell
isolated() {
	set -eEuo pipefail
	trap 'failed_command "$?" "$BASH_COMMAND"' ERR
	trap 'clean_up $?' EXIT
	trap 'exit 143' TERM INT HUP
	TMP=$(mktemp -d /dev/shm/fusion-test.XXXXXX)
	"$1"
}

failed_command() {
	local frame=0
	while [[ ${BASH_SOURCE[frame + 1]##*/} == lib.sh ]]; do
		frame=$((frame + 1))
	done
	say "${BASH_SOURCE[frame + 1]##*/}:${BASH_LINENO[frame]}: status $1: $2"
}

# -- taking down -----------------------------------------------------------------

UNDO=()
JOBS=()

# defer COMMAND...: run it when the test ends, the last one first
defer() {
	UNDO+=("${*@Q}")
}

clean_up() {
	local rc=$1 i
	trap - ERR
	set +e
	for i in "${JOBS[@]}"; do
		kill "$i" 2>/dev/null
	done
	for i in "${JOBS[@]}"; do
		wait "$i" 2>/dev/null
	done
	for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
		eval "${UNDO[i]}" && continue
		say "cannot undo: ${UNDO[i]}"
		[[ $rc -ne 0 ]] || rc=1
	done
	rm -rf "$TMP"
	exit "$rc"
}

# background COMMAND...: start it, killed when the test ends; its pid is in REPLY
background() {
	"$@" &
	REPLY=$!
	JOBS+=("$REPLY")
}

# finish PID: end a background job and expect that it was well
finish() {
	kill -TERM "$1" 2>/dev/null || :
	wait "$1" || fail "background job: status $?"
}

# -- assertions ---------------------------------------------------------------------

# same WHAT GOT WANT
same() {
	[[ $2 == "$3" ]] || fail "$1: expected '$3', got '$2'"
}

differ() {
	[[ $2 != "$3" ]] || fail "$1: did not expect '$3'"
}

at_least() {
	[[ $2 -ge $3 ]] || fail "$1: expected at least $3, got $2"
}

at_most() {
	[[ $2 -le $3 ]] || fail "$1: expected at most $3, got $2"
}

# has WHAT TEXT PART
has() {
	[[ $2 == *"$3"* ]] || fail "$1: expected '$3' in: $2"
}

# within SECONDS WHAT COMMAND...: it must succeed by then
within() {
	local limit=$1 what=$2 start=$SECONDS
	shift 2
	until "$@" >/dev/null 2>&1; do
		[[ $((SECONDS - start)) -lt $limit ]] || fail "$what: not after $limit s"
		sleep 0.1
	done
}

# refused TEXT COMMAND...: it must fail; TEXT is in its output or the kernel's log
refused() {
	local want=$1 mark out
	shift
	mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	if out=$("$@" 2>&1); then
		fail "$*: expected a refusal ($want), but it worked"
	fi
	out+=$'\n'$(dmesg | sed "1,/$mark/d" | grep -v 'selftest mark' || :)
	[[ $out == *"$want"* ]] || fail "$*: expected '$want', got: $out"
}

# -- member devices -----------------------------------------------------------------

# need COMMAND...: skip the test without these programs
need() {
	local i
	for i; do
		command -v "$i" >/dev/null || skip "no $i here"
	done
}

need_module() {
	modprobe -q "$1" || skip "no module $1 here"
}

# null NAME MIB [KEY=VALUE]...: a null_blk device that keeps what is written to it
null() {
	local dir=/sys/kernel/config/nullb/$1 name=$1 i
	modprobe -q null_blk nr_devices=0 || skip "no module null_blk here"
	[[ -d /sys/kernel/config/nullb ]] || mount -t configfs configfs /sys/kernel/config
	mkdir "$dir"
	defer null_remove "$name"
	for i in "size=$2" memory_backed=1 discard=1 "${@:3}"; do
		echo "${i#*=}" >"$dir/${i%%=*}"
	done
	echo 1 >"$dir/power"
	within 5 "/dev/$name" test -b "/dev/$name"
	REPLY=/dev/$name
}

null_remove() {
	[[ ! -d /sys/kernel/config/nullb/$1 ]] || rmdir "/sys/kernel/config/nullb/$1"
}

# null_power_cycle NAME: what its cache (cache_size=MIB) holds unflushed is gone
null_power_cycle() {
	echo 0 >"/sys/kernel/config/nullb/$1/power"
	echo 1 >"/sys/kernel/config/nullb/$1/power"
	within 5 "/dev/$1" test -b "/dev/$1"
}

# members FAST_MIB SLOW_MIB [KEY=VALUE]...: both members, for format and fusion
members() {
	null fast "$1" "${@:3}"
	FAST=$REPLY
	null slow "$2" "${@:3}"
	SLOW=$REPLY
}

# loop BYTES [LOGICAL_BLOCK_SIZE]: a loop device on a sparse file in RAM
loop() {
	local file
	modprobe -q loop || :
	file=$(mktemp "$TMP/loop.XXXXXX")
	truncate -s "$1" "$file"
	REPLY=$(losetup -f --show -b "${2:-512}" "$file")
	defer losetup -d "$REPLY"
}

# linear NAME DEV START SECTORS: a part of a device
linear() {
	dm "$1" "0 $4 linear $2 $3"
}

sectors_of() {
	blockdev --getsz "$1"
}

# spindle NAME DEV [KEY VALUE]...: a device as slow as a disk (or profile ssd)
spindle() {
	need_module dm-spindle
	dm "$1" "0 $(sectors_of "$2") spindle $2 $(($# - 2)) ${*:3}"
}

# spindle_count NAME KEY: from its status
spindle_count() {
	dmsetup status "$1" | grep -o "\<$2=[0-9]*" | cut -d= -f2
}

# stale DEV: fill it with 0xa5, so that what leaks is seen
stale() {
	tr '\0' '\245' </dev/zero | dd of="$1" bs=1M iflag=fullblock oflag=direct \
		count=$(($(sectors_of "$1") / 2048)) status=none
}

# io_of DEV: reads, writes, discards and flushes it has completed
io_of() {
	local name
	name=$(basename "$(readlink -f "$1")")
	awk '{ print $1, $5, $12, $16 }' "/sys/block/$name/stat"
}

# -- device mapper -------------------------------------------------------------------

# dm NAME TABLE [DMSETUP OPTION]...: create a device
dm() {
	defer dm_remove "$1"
	dmsetup create "$1" --table "$2" "${@:3}"
	[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes "$1" >/dev/null
	REPLY=/dev/mapper/$1
}

dm_remove() {
	dmsetup info "$1" >/dev/null 2>&1 || return 0
	dmsetup resume "$1" 2>/dev/null
	dmsetup remove --retry "$1"
}

# -- sets ------------------------------------------------------------------------------

# format [OPTION]...: make FAST and SLOW a set
format() {
	need_module dm-fusion
	fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" "$@"
} >/dev/null

# sb FIELD [DEV]: a number from a member's superblock (copy 0)
sb() {
	local offset size
	case $1 in
	flags)			offset=88 size=4 ;;
	epoch)			offset=92 size=4 ;;
	extent_sectors)		offset=408 size=4 ;;
	nr_lexts)		offset=412 size=4 ;;
	journal_start)		offset=416 size=8 ;;
	journal_blocks)		offset=424 size=4 ;;
	map_blocks)		offset=428 size=4 ;;
	map_start0)		offset=432 size=8 ;;
	nr_fast_slots)		offset=460 size=4 ;;
	fast_data_start)	offset=464 size=8 ;;
	slow_first_slot)	offset=472 size=4 ;;
	nr_slow_slots)		offset=476 size=4 ;;
	spare_fast)		offset=492 size=4 ;;
	spare_slow)		offset=496 size=4 ;;
	active_set)		offset=504 size=4 ;;
	*) fail "no field $1" ;;
	esac
	dd if="${2:-$FAST}" iflag=direct bs=4096 count=1 status=none |
		od -An -j $offset -N $size -t u$size | tr -d ' '
}

# table [OPTION VALUE]...: the table line of the set
table() {
	echo "0 $(($(sb nr_lexts) * $(sb extent_sectors))) fusion $FAST $SLOW" \
		${1:+$# "$*"}
}

# fusion NAME [OPTION VALUE]...: open the set
fusion() {
	dm "$1" "$(table "${@:2}")"
}

close() {
	dmsetup remove --retry "$1"
}

msg() {
	dmsetup message "$1" 0 "${*:2}"
}

FIELDS=(version mode extent used_fast/total_fast used_slow/total_slow mapped/extents
	journal_used/journal_size reads_fast reads_slow writes_fast writes_slow promotions
	demotions cancelled in_flight open quarantined commits checkpoints slow_flushes
	reserve_free/reserve)

# status NAME FIELD...: numbers from the status line, which may be halves of a pair
status() {
	local line field i out=()
	read -ra line < <(dmsetup status "$1")
	[[ ${line[2]:-} == fusion ]] || fail "$1: not a fusion device: ${line[*]}"
	line=("${line[@]:3}")
	for field in "${@:2}"; do
		for i in "${!FIELDS[@]}"; do
			case ${FIELDS[i]} in
			"$field")	out+=("${line[i]}") ;;
			"$field"/*)	out+=("${line[i]%/*}") ;;
			*/"$field")	out+=("${line[i]#*/}") ;;
			esac
		done
		[[ $field != needs_check ]] || out+=("${line[-1]}")
	done
	[[ ${#out[@]} -eq $#-1 ]] || fail "no such field: ${*:2}"
	echo "${out[*]}"
}

# settled NAME: nothing is being moved, nothing waits to be freed
settled() {
	[[ $(status "$1" in_flight quarantined) == "0 0" ]]
}

# storm NAME: move everything up and down until killed; a suspended device ends moves
storm() {
	local extents first way
	trap 'exit 0' TERM
	extents=$(status "$1" extents)
	while :; do
		for way in promote demote; do
			first=$(((RANDOM << 15 | RANDOM) % extents))
			msg "$1" $way $first-$((extents - 1)) || sleep 0.1
			msg "$1" $way 0-$((extents - 1)) || sleep 0.1
		done
	done >/dev/null 2>&1
}

# read_zero DEV OFFSET BYTES: that part of it must read as zeros
read_zero() {
	cmp -n "$3" -i "$2:0" "$1" /dev/zero >/dev/null ||
		fail "$1: not zeros: $(cmp -n "$3" -i "$2:0" "$1" /dev/zero 2>&1 || :)"
}

# put DEV BYTE OFFSET BYTES: write that byte (octal)
put() {
	head -c "$4" /dev/zero | tr '\0' "\\$2" |
		dd of="$1" bs=64K iflag=fullblock oflag=seek_bytes seek="$3" \
			conv=notrunc,fdatasync status=none
}
