# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the selftests. A test is a file with one subject:
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
#	run_tests	# the last command
#
# Every function test_SOMETHING of the script runs, in their order, and after them every function
# long_SOMETHING, which QUICK=1 leaves out; or those named in ONLY="test_...".
#
# Every function runs in a subshell under `set -e` and fails at the first command that fails.
# Members, devices, mounts and processes are taken down when it ends, however it ends. If that
# fails, the test fails.
#
# Functions that make a device leave its path in REPLY.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=names.sh
. "$here/names.sh"
PATH=$here:$here/../../userspace:/usr/local/sbin:/usr/sbin:/sbin:$PATH
export LC_ALL=C
# without udev nothing would wake libdevmapper, or make the nodes
[[ -S /run/udev/control ]] || export DM_DISABLE_UDEV=1

QUICK=${QUICK:-}
SKIP=4
# Time limits are for kernels as users have them. Debug kernels, recognised by their configuration
# (lockdep comes with KASAN here), get so many times as long.
SLOWNESS=1
[[ ! -e /proc/lockdep_stats && ! -e /sys/kernel/debug/kcsan ]] || SLOWNESS=5
FAST='' SLOW=''		# members of the set, for format and fusion
LEN=''			# sectors of the set
TMP=''			# a directory of this test, in RAM

# -- KTAP ----------------------------------------------------------------------

say() {
	echo "# $*"
}

# where: the line of the running test
where() {
	local frame=1
	while [[ ${BASH_SOURCE[frame]##*/} == lib.sh ]]; do
		frame=$((frame + 1))
	done
	echo "${BASH_SOURCE[frame]##*/}:${BASH_LINENO[frame - 1]}"
}

fail() {
	say "$(where): $*"
	exit 1
}

skip() {
	say "SKIP $*"
	exit "$SKIP"
}

run_tests() {
	local t name todo n=0 failed=0 skipped=0 rc taint

	[[ $EUID -eq 0 ]] || { echo "1..0 # SKIP needs root"; return "$SKIP"; }
	read -ra todo -d '' <<<"${ONLY:-$(tests_of "$0")}" || :
	echo "TAP version 13"
	echo "1..${#todo[@]}"
	for t in "${todo[@]}"; do
		n=$((n + 1))
		name=${t#*_}
		if [[ $QUICK && $t == long_* ]]; then
			echo "ok $n $name # SKIP takes long"
			skipped=$((skipped + 1))
			continue
		fi
		taint=$(</proc/sys/kernel/tainted)
		(isolated "$t") 2>&1
		rc=$?
		# 7: died, 9: warned, 14: soft lockup
		if [[ $(((~taint & $(</proc/sys/kernel/tainted)) & (1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]]; then
			say "the kernel warned, see dmesg"
			rc=1
		fi
		case $rc in
		0)	echo "ok $n $name" ;;
		"$SKIP") echo "ok $n $name # SKIP"
			skipped=$((skipped + 1)) ;;
		*)	echo "not ok $n $name"
			failed=$((failed + 1)) ;;
		esac
	done
	echo "# Totals: pass:$((n - failed - skipped)) fail:$failed skip:$skipped"
	[[ $failed -eq 0 ]] || return 1
	[[ $skipped -lt $n ]] || return "$SKIP"
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
	say "$(where): status $1: $2"
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

# no_process PID: a condition for within
no_process() {
	! kill -0 "$1"
}

# finish PID: end a background job and expect success
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

# limited SECONDS COMMAND...: it must end within that time
limited() {
	timeout $(($1 * SLOWNESS)) "${@:2}"
}

# within SECONDS WHAT COMMAND...: it must succeed within that time
within() {
	local limit=$(($1 * SLOWNESS)) what=$2 start=$SECONDS
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

# -- fusionctl ---------------------------------------------------------------------

# expect CODE TEXT COMMAND...: it exits with CODE, and TEXT is all of stderr
expect() {
	local want=$1 text=$2 rc=0 err
	shift 2
	err=$("$@" 2>&1 >"$TMP/out" </dev/null) || rc=$?
	same "exit code of '$*' ($err)" "$rc" "$want"
	same "'$*'" "$err" "${text:+fusionctl: }$text"
}

# good COMMAND...: exit code 0, nothing on stderr, stdout in $TMP/out
good() {
	expect 0 '' "$@"
}

# shows TEXT: the output of the previous command has it
shows() {
	has output "$(<"$TMP/out")" "$1"
}

# json FILTER WANT: in the output of the previous command
json() {
	same "$1" "$(jq -r "$1" "$TMP/out")" "$2"
}

# status_of COMMAND...: run it; exit code in RC, all output in OUT
status_of() {
	RC=0
	OUT=$("$@" 2>&1 </dev/null) || RC=$?
}

# gives CODE COMMAND...: it exits with CODE
gives() {
	local want=$1
	shift
	status_of "$@"
	same "exit code of '$*' ($OUT)" "$RC" "$want"
}

# says TEXT: the previous command printed it
says() {
	has output "$OUT" "$1"
}

# repeated COUNT PATTERN COMMAND...: let it repeat until so many lines match, then end it; its
# output is in $TMP/out
repeated() {
	local left=$1 fd line pid
	exec {fd}< <(exec "${@:3}")
	pid=$!
	: >"$TMP/out"
	while [[ $left -gt 0 ]]; do
		IFS= read -r -t $((60 * SLOWNESS)) -u "$fd" line ||
			fail "'${*:3}': ended or stopped with $left of $1 rounds to come"
		printf '%s\n' "$line" >>"$TMP/out"
		# shellcheck disable=SC2053 # a pattern it is
		[[ $line != $2 ]] || left=$((left - 1))
	done
	kill "$pid"
	exec {fd}<&-
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

# null NAME MIB [KEY=VALUE]...: a null_blk device that keeps its data
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

# null_power_cycle NAME: lose the unflushed data of its cache (cache_size=MIB)
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

# linked FAST_MIB SLOW_MIB [KEY=VALUE]...: members that can be swapped for others
linked() {
	local i
	need_module dm-flakey
	members "$@"
	for i in fast slow; do
		linear "$i-link" "/dev/$i" 0 "$(sectors_of "/dev/$i")"
	done
	FAST=/dev/mapper/fast-link
	SLOW=/dev/mapper/slow-link
}

# swap fast|slow [TABLE]: give the member this table, or its first one
swap() {
	dmsetup load "$1-link" --table "${2:-0 $(sectors_of "/dev/$1") linear /dev/$1 0}"
	dmsetup suspend --noflush --nolockfs "$1-link"
	dmsetup resume "$1-link"
}

# dead fast|slow: table of a member that no I/O reaches any more. All of it fails, flushes too: the
# device mapper sends the error target no flushes, so they would succeed, and their promise would be
# lost.
dead() {
	echo "0 $(sectors_of "/dev/$1") flakey /dev/$1 0 0 86400"
}

# gone fast|slow: dead from now on
gone() {
	swap "$1" "$(dead "$1")"
}

# patched fast|slow FIRST COUNT TARGET [ARGUMENT]...: this target there, the member around it
patched() {
	local end=$(($2 + $3))
	swap "$1" "$([[ $2 -eq 0 ]] || echo "0 $2 linear /dev/$1 0")
$2 $3 ${*:4}
$end $(($(sectors_of "/dev/$1") - end)) linear /dev/$1 $end"
}

# bad_sectors fast|slow FIRST COUNT: I/O there fails. Not by dm-flakey, which fails flushes of the
# whole member along with writes to a part.
bad_sectors() {
	patched "$1" "$2" "$3" error
}

# switched FAST_MIB SLOW_MIB: members with volatile caches behind a power switch
switched() {
	linked "$1" "$2" cache_size=4096
}

# power_off: from now on no I/O reaches the members, and unflushed data is lost
power_off() {
	local i
	for i in fast slow; do
		dmsetup load "$i-link" --table "$(dead "$i")"
	done
	for i in fast slow; do
		dmsetup suspend --noflush --nolockfs "$i-link"
		dmsetup resume "$i-link"
	done
}

# power_on: only while the members are closed
power_on() {
	local i
	for i in fast slow; do
		dmsetup remove --retry "$i-link"
		null_power_cycle "$i"
		linear "$i-link" "/dev/$i" 0 "$(sectors_of "/dev/$i")"
	done
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

# partitioned BYTES [SECTORS]: a loop device with a GPT and one partition, of that size or of the
# rest
partitioned() {
	local file
	loop "$1"
	file=$(losetup -nO BACK-FILE "$REPLY")
	printf 'label: gpt\n2048,%s,\n' "${2:-}" | sfdisk -q "$file"
	losetup -d "$REPLY"
	losetup -P "$REPLY" "$file"
	within 10 "${REPLY}p1" test -b "${REPLY}p1"
}

# unloop DEV...: remove loop devices before the test ends, and free their memory
unloop() {
	local dev file i
	for dev; do
		file=$(losetup -nO BACK-FILE "$dev")
		losetup -d "$dev"
		rm "$file"
		for i in "${!UNDO[@]}"; do
			[[ ${UNDO[i]} != "'losetup' '-d' '$dev'" ]] || unset "UNDO[i]"
		done
		UNDO=("${UNDO[@]}")
	done
}

# linear NAME DEV START SECTORS: a device of a part of DEV
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

# stale DEV: fill it with 0xa5, so that leaked data shows
stale() {
	local mib=$TMP/stale
	[[ -e $mib ]] || head -c 1M /dev/zero | tr '\0' '\245' >"$mib"
	seq $(($(sectors_of "$1") / 2048)) | sed "c $mib" | xargs cat |
		dd of="$1" bs=1M iflag=fullblock oflag=direct status=none
}

# sysfs_of DEV: its directory in sysfs
sysfs_of() {
	echo "/sys/dev/block/$(stat -L -c %Hr:%Lr "$1")"
}

# io_of DEV: reads, writes, discards and flushes it has completed
io_of() {
	awk '{ print $1, $5, $12, $16 }' "$(sysfs_of "$1")/stat"
}

# discarded DEV: bytes of the discards that it has received
discarded() {
	awk '{ print $14 * 512 }' "$(sysfs_of "$1")/stat"
}

# written DEV...: writes, discards and flushes that each has completed
written() {
	local i
	for i; do
		io_of "$i"
	done | cut -d ' ' -f 2-
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

umount_quietly() {
	! mountpoint -q "$1" || umount "$1"
}

# -- udev ----------------------------------------------------------------------------

# udev [OPTION]...: start its daemon with the rules of this system and the one of this tree. Call it
# first in a test, so that it ends last.
udev() {
	local rules=/run/udev/rules.d
	need udevadm
	# /lib is /usr/lib, except in a VM that has its modules there
	[[ -e /usr/lib/udev/rules.d/55-dm.rules || -e /lib/udev/rules.d/55-dm.rules ]] ||
		skip "no rules of the device mapper here"
	mkdir -p $rules
	sed "s|\"FUSIONCTL |\"$(command -v fusionctl) |" "$here/../../userspace/system/udev/69-fusion.rules" \
		>$rules/69-fusion.rules
	unset DM_DISABLE_UDEV
	(exec -a systemd-udevd udevadm "$@") >"$TMP/udevd" 2>&1 &
	UDEVD=$!
	defer stop_udev
	within 20 "udev" test -S /run/udev/control
	udevadm trigger --action=add --subsystem-match=block
	events_done
}

stop_udev() {
	kill "$UDEVD"
	wait "$UDEVD" 2>/dev/null
	rm -rf /run/udev
	export DM_DISABLE_UDEV=1
}

events_done() {
	limited 60 udevadm settle --timeout=300
}

# -- sets ------------------------------------------------------------------------------

# format [OPTION]...: make FAST and SLOW a set; its size is in LEN
format() {
	need_module dm-fusion
	fusionctl format --yes --force --fast "$FAST" --slow "$SLOW" "$@" >/dev/null
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
}

# number DEV BLOCK OFFSET SIZE: a little-endian number on a member
number() {
	dd if="$1" of="$TMP/block" iflag=direct bs=4096 skip="$2" count=1 status=none
	echo $(($(od -An -j "$3" -N "$4" -t "u$4" "$TMP/block")))
}

# uuid_of DEV [FIELD]: uuid of a member's set, or device_uuid of the member
uuid_of() {
	fusionctl probe --json "$1" | jq -r ".${2:-set_uuid}"
}

# sb FIELD [DEV]: a number from the newer copy of a member's superblock
sb() {
	local dev=${2:-$FAST} copy=0 offset size
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
	[[ $(number "$dev" 0 80 8) -ge $(number "$dev" 8 80 8) ]] || copy=8
	number "$dev" $copy $offset $size
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
	# shellcheck disable=SC2034 # for who sources this
	SET=/dev/mapper/$1
}

# enough NAME: wait until enough extents have moved each way
enough() {
	[[ $(status "$1" promotions) -ge 100 && $(status "$1" demotions) -ge 100 ]]
}

# is_ro NAME: a condition for within
is_ro() {
	[[ $(status "$1" mode) == ro ]]
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

# replaced FROM TO: copy one device to another
replaced() {
	dd if="$1" of="$2" bs=1M conv=fsync status=none
}

msg() {
	dmsetup message "$1" 0 "${*:2}"
}

# counter NAME KEY: a value from the message stats
counter() {
	msg "$1" stats | sed -n "s/^$2 //p"
}

FIELDS=(version mode extent used_fast/total_fast used_slow/total_slow mapped/extents
	journal_used/journal_size reads_fast reads_slow writes_fast writes_slow promotions
	demotions cancelled in_flight open quarantined commits checkpoints slow_flushes
	reserve_free/reserve replica replica_dirty replica_age errors_fast errors_slow)

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

# settled NAME: nothing is being moved, and nothing waits to be freed
settled() {
	[[ $(status "$1" in_flight quarantined) == "0 0" ]]
}

# told NAME: the members have their discards for all free slots
told() {
	[[ $(counter "$1" undiscarded_fast) == 0 && $(counter "$1" undiscarded_slow) == 0 ]]
}

# storm NAME: promote and demote extents, 64 in a row at a time, until killed. A suspended device
# refuses, and is asked again.
storm() {
	local extents way first last
	trap 'exit 0' TERM
	extents=$(status "$1" extents)
	while :; do
		for way in promote demote; do
			first=$(((RANDOM << 15 | RANDOM) % extents))
			last=$((first + 63 < extents ? first + 63 : extents - 1))
			msg "$1" $way $first-$last || sleep 0.1
		done
	done >/dev/null 2>&1
}

# on NAME MEMBER FIRST COUNT: how many of these extents lie on fast, slow, or - (none)
on() {
	msg "$1" map "$3" "$4" | awk -v on="$2" '$3 == on { n += $2 } END { print n + 0 }'
}

# places NAME: one line for each extent: member and slot
places() {
	msg "$1" map 0 "$(status "$1" extents)" | awk '{
		for (i = 0; i < $2; i++)
			print $1 + i, $3, $4 == "-" ? "-" : $4 + i
	}'
}

# heat NAME FIRST COUNT SECONDS: read these extents at random, 4 KiB at a time
heat() {
	local size
	size=$(($(sb extent_sectors) * 512))
	fio --name=heat --filename="/dev/mapper/$1" --readonly --rw=randread --bs=4k --direct=1 \
		--ioengine=psync --offset=$(($2 * size)) --size=$(($3 * size)) --norandommap \
		--time_based --runtime="$4" --output="$TMP/fio"
}

# gets_up NAME FIRST COUNT SECONDS: the policy promotes most of these extents if they are read for
# so long
gets_up() {
	local name=$1 first=$2 hot=$3
	SECONDS=0
	until [[ $(on "$name" fast "$first" "$hot") -ge $((hot * 3 / 4)) ]]; do
		[[ $SECONDS -lt $(($4 * SLOWNESS)) ]] || fail "after $SECONDS s of reads only" \
			"$(on "$name" fast "$first" "$hot") of $hot hot extents are on fast"
		heat "$name" "$first" "$hot" 4
	done
	say "$(on "$name" fast "$first" "$hot") of $hot hot extents on fast after $SECONDS s"
}

# tracing_on: until the test ends, events of the module are in /sys/kernel/tracing/trace
tracing_on() {
	defer tracing_off
	echo >/sys/kernel/tracing/trace
	echo 1 >/sys/kernel/tracing/events/fusion/enable
}

tracing_off() {
	[[ ! -d /sys/kernel/tracing/events/fusion ]] ||
		echo 0 >/sys/kernel/tracing/events/fusion/enable
}

# read_zero DEV OFFSET BYTES: that part of it must read as zeros
read_zero() {
	local where
	where=$(cmp -n "$3" -i "$2:0" "$1" /dev/zero 2>&1) || fail "$1 from byte $2: $where"
}

# put DEV BYTE OFFSET BYTES: write that byte (octal)
put() {
	head -c "$4" /dev/zero | tr '\0' "\\$2" |
		dd of="$1" bs=64K iflag=fullblock oflag=seek_bytes seek="$3" \
			conv=notrunc,fdatasync status=none
}

# put_direct DEV BYTE OFFSET BYTES: the same, past the page cache, of at most 1 MiB
put_direct() {
	head -c "$4" /dev/zero | tr '\0' "\\$2" |
		dd of="$1" bs="$4" iflag=fullblock oflag=seek_bytes,direct seek="$3" \
			conv=notrunc status=none
}
