#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl: every error that a user can provoke, with its text and exit code; what it refuses to
# overwrite; which device it takes for the slow member; and its messages about damaged or incomplete
# sets.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# -- what the tests share ------------------------------------------------------

# rotational DEV 0|1
rotational() {
	echo "$2" >"/sys/block/${1#/dev/}/queue/rotational"
}

# two FAST_MIB SLOW_MIB: members as on a real machine, the slow one rotational
two() {
	members "$1" "$2"
	rotational "$SLOW" 1
}

# sum DEV...: checksum of the places where members and other formats have signatures
sum() {
	local dev
	for dev; do
		head -c 1M "$dev"
		tail -c 1M "$dev"
	done | md5sum
}

# wipe DEV [tail]: the places of a superblock; with tail also the end, where other formats have
# signatures
wipe() {
	put_direct "$1" 0 0 1048576
	[[ ! ${2:-} ]] || put_direct "$1" 0 $(($(blockdev --getsize64 "$1") - 1048576)) 1048576
}

# open_sets NAME...: take them down when the test ends
open_sets() {
	local i
	for i; do
		defer dm_remove "$i"
	done
}

# -- usage ---------------------------------------------------------------------------

long_usage() {
	local verb
	expect 2 "usage: fusionctl VERB [ARGUMENT]...; see fusionctl help" fusionctl
	expect 2 "xyzzy: no such verb; see fusionctl help" fusionctl xyzzy
	expect 2 "xyzzy: no such verb; see fusionctl help" fusionctl help xyzzy
	expect 2 "statsu: no such verb; did you mean status?" fusionctl statsu
	expect 2 "chekc: no such verb; did you mean check?" fusionctl help chekc
	expect 2 "hlep: no such verb; did you mean help?" fusionctl hlep
	expect 2 "--frob: no such option of list; see fusionctl help list" fusionctl list --frob
	expect 2 "--jsno: no such option of list; did you mean --json?" fusionctl list --jsno
	expect 2 "--takeover=1: no such option of open; did you mean --take-over?" \
		fusionctl open x --takeover=1
	expect 2 "--set: no such option of list; see fusionctl help list" fusionctl list --set
	expect 2 "-f: no such option of list; see fusionctl help list" fusionctl list -f
	expect 2 "--yes: no such option of open; see fusionctl help open" fusionctl open x --yes
	expect 2 "--json=1: takes no value; see fusionctl help list" fusionctl list --json=1
	expect 2 "--fast: needs a value; see fusionctl help create" fusionctl create x --fast
	expect 2 "x: is one argument too many for list; see fusionctl help list" fusionctl list x
	for verb in open close set map whatif create; do
		expect 2 "$verb: needs more arguments; see fusionctl help $verb" fusionctl $verb
	done
	for verb in promote demote; do
		expect 2 "$verb: needs either FIRST[-LAST] or --bytes FIRST-LAST; see fusionctl help $verb" \
			fusionctl $verb x
	done
	expect 2 "create: needs a name and two devices; see fusionctl help create" \
		fusionctl create x /dev/null
	expect 2 "format: only one of --fast and --slow is given; give both, or name two devices" \
		fusionctl format x --fast /dev/null
	expect 2 "/dev/null: more than --fast and --slow; a set has two members" \
		fusionctl format x --fast /dev/null --slow /dev/null /dev/null
	for verb in 0 0.05 86401 1.2.3 .; do
		expect 2 "$verb: not an interval; give 0.1 to 86400 seconds" \
			fusionctl status "--watch=$verb"
	done
	expect 2 "0: not an interval; give 0.1 to 86400 seconds" fusionctl status --watch 0
	expect 2 "0: not a width; give 1 to 1024 cells" fusionctl map x --width 0
	expect 2 "blue: not a choice for --color; give auto, always or never" \
		fusionctl map x --color blue
	expect 2 "simulate: --fast is missing; give the size of that member, as in --fast 1T, or name a set" \
		fusionctl simulate
	expect 2 "foo: not a load; choose zipf:1.0, zoned:80/4, uniform, loop:1.2 or scan, see fusionctl(8)" \
		fusionctl simulate --fast 1G --slow 8G --load foo
	expect 2 "rpm=3: no such key; see fusionctl(8) for the keys of --disk" \
		fusionctl simulate --fast 1G --slow 8G --load uniform --disk rpm=3
	for verb in 7-3 -1 x 1-2-3 99999999999 1- ''; do
		expect 2 "$verb: not a range of extents; write e.g. 0-1023" \
			fusionctl promote x -- "$verb"
	done
}

# help_keys: keys in the help that was shown
help_keys() {
	sed -n '/^settings; /,$ s/^  \([a-z_]*\) .*/\1/p' "$TMP/out" | xargs
}

long_help() {
	local verb verbs
	good fusionctl help
	mapfile -t verbs < <(sed -n 's/^  \([a-z]*\) .*/\1/p' "$TMP/out")
	for verb in "${verbs[@]}"; do
		good fusionctl help "$verb"
		shows "usage: fusionctl $verb "
		shows "example: fusionctl $verb"
		cp "$TMP/out" "$TMP/help"
		good fusionctl "$verb" --help
		cmp "$TMP/out" "$TMP/help"
	done
	same "last verb" "$verb" version
	good fusionctl help set
	same "keys of set" "$(help_keys)" "migration reserve half_life duty idle commit_interval \
replica_interval discard_passdown standby write_budget"
	shows "  duty                 slow member's time for moves under load"
	shows "1 to 100 percent (default: 25%)"
	good fusionctl help simulate
	same "keys of simulate" "$(help_keys)" "migration reserve half_life duty idle"
	good fusionctl version
	shows "on-disk format 2"
	good fusionctl version --json
	json .version 1
	json .format 2
}

# completes WORDS... WANT: bash completes the last word to WANT, on one line
completes() {
	local COMP_WORDS=(fusionctl "${@:1:$#-1}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	# shellcheck disable=SC2317 # the completion calls it
	compopt() { :; }
	_fusionctl
	same "completion of '${*:1:$#-1}'" "${COMPREPLY[*]}" "${!#}"
}

test_complete() {
	# shellcheck source=/dev/null
	. "$here/../../userspace/system/completion/bash"
	a_set
	completes sta status
	completes help whati whatif
	completes status "" pair
	completes close pa pair
	completes set pair h half_life=
	completes set pair duty=5% idle=1s repl replica_interval=
	completes set pair "" "migration= reserve= half_life= duty= idle= commit_interval= \
replica_interval= discard_passdown= standby= write_budget="
	# keys that do not affect a simulation are refused there
	completes simulate --set "" "migration= reserve= half_life= duty= idle="
	completes simulate --fast 1G --slow 8G --load uniform "" \
		"pair migration= reserve= half_life= duty= idle="
	completes set pair --profile "" "desktop database archive"
	completes map --color ne never
	completes map pair --sv --svg
	completes map --svg "" ""
	completes list --fast ""
	completes nosuch "" ""
	completes create data --slo --slow
	good fusionctl complete -- set pair "" x
	same output "$(<"$TMP/out")" ""
}

# Verbs for open sets are completed with open sets; those for closed sets with the ones in udev's
# database.
test_complete_sets() {
	local uuid verb closed
	# shellcheck disable=SC2119 # it takes options
	udev
	# shellcheck source=/dev/null
	. "$here/../../userspace/system/completion/bash"
	a_set
	uuid=$(uuid_of "$FAST")
	loop $((64 << 20))
	closed=$REPLY
	loop $((128 << 20))
	# udev does not notice what is written to a device while it handles an event of it
	events_done
	good fusionctl format shut --fast "$closed" --slow "$REPLY" --yes
	events_done
	completes set "" "pair shut"
	for verb in close status map promote; do
		completes $verb "" pair
		completes $verb "${uuid:0:5}" "$uuid"
	done
	completes status /dev/nul ""
	for verb in check repair dump wipe open salvage; do
		completes $verb "" shut
		completes $verb "${uuid:0:5}" ""
		uuid_of "$closed" >"$TMP/uuid"
		completes $verb "$(head -c 5 "$TMP/uuid")" "$(<"$TMP/uuid")"
		completes $verb /dev/loop "$closed $REPLY"
	done
	completes salvage "$closed" "" ""
	completes salvage shut "" ""
	completes restore dump.json "" shut
	completes restore dump.json /dev/loop "$closed $REPLY"
	completes restore dump.json "$closed" "" "$closed $REPLY"
	completes open shut "$closed" "$closed"
	completes check "/" ""
	completes create "" ""
	good fusionctl complete -- check "$closed"
	same "meaning" "$(<"$TMP/out")" "$closed"$'\t'"fast member of shut"
	# a set that was closed is offered as closed; udev does not watch null devices
	good fusionctl close pair
	udevadm trigger --action=change "$FAST" "$SLOW"
	events_done
	completes close "" ""
	completes check pa pair
}

# safe NAME: as it is printed
safe() {
	local name=${1//$'\n'/'\x0a'}
	echo "${name//é/'\xc3\xa9'}"
}

long_names() {
	local name long
	long=$(printf '%065d' 0)
	for name in a/b '' . .. -x 'a b' "$long" control $'a\nb' é; do
		expect 2 "$(safe "$name"): not a name for a set; use up to 64 letters, digits and \
#+-.:=@_, the first a letter or digit" fusionctl open -- "$name"
	done
	expect 1 "${long:1}: no such set is open; fusionctl list shows those there are" \
		fusionctl close "${long:1}"
}

test_not_root() {
	busybox unshare -U true || skip "no user namespaces here"
	expect 1 "close: needs root; use sudo" \
		busybox unshare -U fusionctl close x
}

# To libudev, a machine without sysfs has no disks.
test_no_sysfs() {
	mount -t tmpfs none /sys
	defer umount_quietly /sys
	expect 1 "/sys/class/block: No such file or directory; mount sysfs, or name both devices" \
		fusionctl list
}

# -- what may be a member ---------------------------------------------------------------

long_bad_devices() {
	two 64 256
	local text file=$TMP/file part
	: >"$file"
	expect 4 "/dev/nosuch: No such file or directory; name a block device" \
		fusionctl format x "$FAST" /dev/nosuch
	expect 4 "/dev/null: not a block device; name a disk or a partition" \
		fusionctl format x /dev/null "$SLOW"
	expect 4 "$TMP: not a block device; name a disk or a partition" \
		fusionctl format x "$TMP" "$SLOW"
	expect 4 "$file: not a block device; name a disk or a partition, or a loop device over this \
file" fusionctl format x "$file" "$SLOW"

	text="is on the same device as"
	expect 4 "$FAST: $text $FAST; name two different ones" \
		fusionctl format x "$FAST" "$FAST" --yes --force
	ln -s "$FAST" "$TMP/link"
	expect 4 "$TMP/link: $text $FAST; name two different ones" \
		fusionctl format x --fast "$FAST" --slow "$TMP/link" --yes --force

	blockdev --setro "$FAST"
	expect 4 "$FAST: is read-only; choose a writable device" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	blockdev --setrw "$FAST"

	expect 4 "$FAST: fast member is smaller than 64 extents; choose a smaller extent size" \
		fusionctl format x "$FAST" "$SLOW" --extent-size 2M
	loop $((3 << 20))
	expect 4 "$REPLY: fast member is smaller than 64 extents; use a bigger device" \
		fusionctl format x --fast "$REPLY" --slow "$SLOW" --extent-size 64K
	expect 4 "$REPLY: slow member is smaller than 64 extents; use a bigger device" \
		fusionctl format x --fast "$FAST" --slow "$REPLY" --extent-size 64K

	for text in 32K 32M 3M 0 1; do
		expect 2 "$text: not an extent size; choose a power of two from 64K to 16M" \
			fusionctl format x "$FAST" "$SLOW" --extent-size "$text"
	done
	for text in '' M -1 1Q 1e6 0x100000 1MM 99999999E; do
		expect 2 "$text: not a size; write e.g. --extent-size 1M" \
			fusionctl format x "$FAST" "$SLOW" --extent-size="$text"
	done

	truncate -s 128M "$file"
	printf 'label: gpt\n2048,131072,\n' | sfdisk -q "$file"
	part=$(losetup -f -P --show "$file")
	defer losetup -d "$part"
	within 5 "${part}p1" test -b "${part}p1"
	expect 4 "${part}p1: is on the same device as $part; name two different ones" \
		fusionctl format x --fast "$part" --slow "${part}p1" --yes --force
}

test_in_use() {
	local i
	two 64 256
	mkfs.ext4 -q -L home "$FAST"
	mkdir "$TMP/a b"
	mount "$FAST" "$TMP/a b"
	defer umount_quietly "$TMP/a b"
	for i in "" --force; do
		expect 5 "$FAST: is mounted on $TMP/a b; unmount it first" \
			fusionctl format x "$FAST" "$SLOW" --yes $i
	done
	umount "$TMP/a b"

	linear holder "$SLOW" 0 2048
	expect 5 "$SLOW: is held by /dev/mapper/holder; remove that first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	dm_remove holder

	modprobe -q loop || :
	REPLY=$(losetup -f --show "$SLOW")
	defer losetup_quietly "$REPLY"
	expect 5 "$SLOW: is held by $REPLY; remove that first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	expect 5 "$SLOW: is held by $REPLY; remove that first" \
		fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	losetup -d "$REPLY"

	busybox mkswap "$FAST" >/dev/null
	busybox swapon "$FAST" || skip "no swap here"
	defer swapoff_quietly "$FAST"
	expect 5 "$FAST: is used as swap; swapoff it first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
}

losetup_quietly() {
	losetup -d "$1" 2>/dev/null || :
}

swapoff_quietly() {
	busybox swapoff "$1"
}

long_signatures() {
	local uuid=01234567-89ab-4def-8123-456789abcdef set what before
	two 64 256
	mkfs.ext4 -q -L home -U $uuid "$FAST"
	what="ext4 (label home, uuid $uuid) at byte 1080"
	before=$(sum "$FAST" "$SLOW")
	expect 3 "$FAST: carries $what; if that can go, add --force" \
		fusionctl format x "$FAST" "$SLOW" --yes
	expect 3 "x: all data on $FAST and $SLOW would be lost and there is nobody to ask; add --yes" \
		fusionctl format x "$FAST" "$SLOW" --force
	shows "$what"
	good fusionctl format x "$FAST" "$SLOW" --force --yes --dry-run
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl format x "$FAST" "$SLOW" --force --yes
	set=$(uuid_of "$FAST")

	printf 'label: gpt\nlabel-id: %s\n' $uuid | sfdisk -q --no-reread "$SLOW" 2>/dev/null
	expect 3 "$FAST: carries the fast member of the fusion set x (uuid $set); \
if that can go, add --force" fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$FAST"
	# half of a superblock, with other content over the other half
	expect 3 "$SLOW: carries the slow member of the fusion set x (uuid $set), gpt partition table \
(uuid $uuid) at byte 512; if that can go, add --force" fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$SLOW"
	expect 3 "$SLOW: carries gpt partition table (uuid $uuid) at byte $(((256 << 20) - 512)); \
if that can go, add --force" fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$SLOW" tail
	good fusionctl format x "$FAST" "$SLOW" --yes

	damage "$FAST" 0
	damage "$FAST" 1
	expect 3 "$FAST: carries a damaged member of a fusion set; if that can go, add \
--force" fusionctl format x "$FAST" "$SLOW" --yes
}

# A bad sector at the place of a superblock neither makes a disk a member nor hides one.
test_bad_sector() {
	local dev table
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	null other 64
	for dev in other slow; do
		table="0 8 error"$'\n'"8 $(($(sectors_of /dev/$dev) - 8)) linear /dev/$dev 8"
		dmsetup create bad-$dev <<<"$table"
		defer dm_remove bad-$dev
	done
	good fusionctl list --json
	json '.members[] | select(.device == "/dev/mapper/bad-other")' ""
	json '.members[] | select(.device == "/dev/mapper/bad-slow") | .state, .reason' \
		$'one copy damaged\nit can\'t be read'
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows those \
there are" fusionctl open nosuch
	expect 4 "/dev/mapper/bad-other: not a member of a fusion set; wipefs removes what others \
left" fusionctl wipe /dev/mapper/bad-other --yes
	good fusionctl probe --udev /dev/mapper/bad-slow
}

# The limit of a path is that of a link.
test_long_paths() {
	local name dir=$TMP/a-directory-of-which-the-name-is-so-long-that-64-bytes-do-not-hold-it
	name=slow-$(printf 'x%.0s' {1..100})
	two 64 256
	linear "$name" "$SLOW" 0 "$(sectors_of "$SLOW")"
	good fusionctl format data --fast "$FAST" --slow "/dev/mapper/$name" --yes
	good fusionctl check data
	mkdir "$dir"
	ln -s "$FAST" "$dir/fast"
	defer dm_remove data
	good fusionctl open data "$dir/fast" "/dev/mapper/$name" --json
	json '.fast.device, .slow.device' "$dir/fast"$'\n'"/dev/mapper/$name"
	good fusionctl close data
	damage "/dev/mapper/$name" 0
	good fusionctl probe "/dev/mapper/$name"
	shows "one copy damaged"
}

# Half of a superblock below other content is a remnant, not a member.
test_covered() {
	local uuid=01234567-89ab-4def-8123-456789abcdef what before
	need sfdisk
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	printf 'label: gpt\nlabel-id: %s\n' $uuid | sfdisk -q --no-reread "$SLOW" 2>/dev/null
	what="gpt partition table (uuid $uuid) at byte 512"
	before=$(sum "$FAST" "$SLOW")
	good fusionctl list --json
	json ".members[] | select(.device == \"$SLOW\").state" "written over"
	expect 4 "$SLOW: was the slow member of data and carries $what now; if that can go, run \
fusionctl repair $SLOW $FAST --force" fusionctl open data
	expect 4 "$SLOW: was the slow member of data and carries $what now; if that can go, run \
fusionctl repair with both members and --force" fusionctl open data "$FAST" "$SLOW"
	if fusionctl assemble --scan 2>/dev/null || [[ -b /dev/mapper/data ]]; then
		fail "it was opened"
	fi
	expect 8 "$FAST: the other member of its set is not there; name both, or see what \
this one has: fusionctl salvage $FAST" fusionctl repair data --yes
	expect 3 "$SLOW: carries $what; if that can go, add --force" \
		fusionctl repair "$FAST" "$SLOW" --yes
	expect 3 "$SLOW: carries $what, and beneath it half of the superblock of a member; that does \
no harm, and if the former can go, wipefs -a $SLOW first" fusionctl wipe "$SLOW" --yes
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	expect 0 "data: the slow member is not here, or damaged; wipe it by its device" \
		fusionctl wipe data --yes --dry-run
	expect 1 '' fusionctl repair "$FAST" "$SLOW" --yes --force
	good fusionctl check data
	[[ ! $(blkid -p -o value -s PTTYPE "$SLOW") ]] || fail "the partition table is still there"
}

# on_terminal ANSWER COMMAND...: with that answer typed; the output of the terminal goes to $TMP/out
on_terminal() {
	local answer=$1 rc=0
	shift
	script -qec "$*" -O /dev/null <<<"$answer" >"$TMP/out" 2>&1 || rc=$?
	REPLY=$rc
}

# On a terminal there is one question, which names the content found.
test_question() {
	local uuid=01234567-89ab-4def-8123-456789abcdef what before
	need script
	two 64 256
	mkfs.ext4 -q -L home -U $uuid "$FAST"
	what="ext4 (label home, uuid $uuid) at byte 1080"
	before=$(sum "$FAST" "$SLOW")
	on_terminal no fusionctl format x "$FAST" "$SLOW"
	same status "$REPLY" 3
	shows "All data on $FAST and $SLOW will be lost, with $what on $FAST; type yes: "
	shows "x: nothing was changed; answer yes to go on"
	on_terminal '' fusionctl format x "$FAST" "$SLOW" --yes
	same status "$REPLY" 3
	shows "$FAST: carries $what; if that can go, add --force"
	on_terminal '' fusionctl format x "$FAST" "$SLOW" --dry-run
	same status "$REPLY" 0
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	on_terminal yes fusionctl format x "$FAST" "$SLOW"
	same status "$REPLY" 0
	same "questions" "$(grep -c "type yes" "$TMP/out")" 1
	good fusionctl probe "$FAST"
}

# asks TEXT COMMAND...: it asks on a terminal, even if the output is redirected; the answer is no
asks() {
	local text=$1 before
	shift
	before=$(sum "$FAST" "$SLOW")
	on_terminal no "$* >$TMP/stdout"
	same "status of '$*' ($(<"$TMP/out"))" "$REPLY" 3
	shows "$text; type yes: "
	shows "nothing was changed; answer yes to go on"
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	same "questions in the output" "$(grep -c "type yes" "$TMP/stdout" || :)" 0
}

# The other verbs that write ask as well, and the question is not part of their output.
test_questions() {
	local what dump=$TMP/dump uuid=01234567-89ab-4def-8123-456789abcdef
	need script
	two 64 256
	asks "All data on $FAST and $SLOW will be lost" fusionctl format data "$FAST" "$SLOW"
	good fusionctl format data "$FAST" "$SLOW" --yes
	good fusionctl dump data -o "$dump"
	asks "All data on the set of $FAST and $SLOW will be lost" fusionctl wipe data
	asks "Replace the metadata on $FAST and $SLOW by that of $dump" \
		fusionctl restore "$dump" "$FAST" "$SLOW"
	damage "$FAST" 0
	asks "Write the metadata on $FAST and $SLOW" fusionctl repair data
	# the question names the content, also that of another set
	good fusionctl format else "$FAST" "$SLOW" --yes --force
	wipe "$SLOW"
	mkfs.ext4 -q -F -L home -U $uuid "$SLOW"
	what="the fast member of the set else on $FAST and ext4 (label home, uuid $uuid) at byte \
1080 on $SLOW"
	asks "Replace the metadata on $FAST and $SLOW by that of $dump, with $what" \
		fusionctl restore "$dump" "$FAST" "$SLOW"
	expect 3 "$FAST: is the fast member of the set else, not of that in $dump; if that can go, \
add --force" fusionctl restore "$dump" "$FAST" "$SLOW" --yes
	on_terminal '' fusionctl restore "$dump" "$FAST" "$SLOW" --dry-run
	same status "$REPLY" 0
	shows "the metadata on $FAST and $SLOW would be replaced by that of $dump, with $what: the set"
	good fusionctl restore "$dump" "$FAST" "$SLOW" --json --force --dry-run
	json .fast.content "the fast member of the set else"
	json .slow.content "ext4 (label home, uuid $uuid) at byte 1080"
	on_terminal yes fusionctl restore "$dump" "$FAST" "$SLOW"
	same status "$REPLY" 0
	good fusionctl check data
}

# type_of DEV: of its first partition
type_of() {
	sfdisk --part-type "$1" 1
}

test_gpt_type() {
	local ours=AE6187F2-428C-4BFF-AB94-6F478486E0AE file
	local linux=0FC63DAF-8483-4772-8E79-3D69D8477DE4
	need sfdisk
	two 96 256
	expect 2 "--gpt-type: neither $FAST nor $SLOW is a partition of a GPT; leave it out" \
		fusionctl format x "$FAST" "$SLOW" --gpt-type --yes
	partitioned $((96 << 20))
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --yes
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl wipe "${REPLY}p1" "$SLOW" --yes
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --dry-run
	shows "would give the type of members to the partition ${REPLY}p1"
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --yes
	same "type" "$(type_of "$REPLY")" $ours
	sfdisk --verify -q "$REPLY"
	good fusionctl probe "${REPLY}p1"
	# wipe leaves the type, and says how to change it
	expect 0 "${REPLY}p1: still has the type of members in its partition table, which means \
nothing now; sfdisk --part-type $REPLY 1 $linux gives it that of a file system" \
		fusionctl wipe x --yes
	sfdisk -q --no-reread --part-type "$REPLY" 1 $linux
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --yes
	good fusionctl wipe x --yes
	# a type that cannot be set does not prevent the file system
	need mkfs.ext4
	file=$(readlink -f "$(command -v sfdisk)")
	printf '#!/bin/sh\necho cannot; exit 1\n' >"$TMP/sfdisk"
	chmod +x "$TMP/sfdisk"
	mount --bind "$TMP/sfdisk" "$file"
	defer umount "$file"
	defer dm_remove x
	expect 1 "${REPLY}p1: its type in the partition table could not be \
set (cannot); sfdisk --part-type $REPLY 1 $ours does it" \
		fusionctl create x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --mkfs ext4 --yes
	differ "type" "$(type_of "$REPLY")" $ours
	same "file system" "$(blkid -p -o value -s TYPE /dev/mapper/x)" ext4
	good fusionctl close x
}

test_mkfs() {
	local before i
	need mkfs.ext4
	two 64 256
	before=$(sum "$FAST" "$SLOW")
	for i in nonesuch ../ext4 "$(printf 'x%.0s' {1..40})" ''; do
		expect 2 "--mkfs: there is no mkfs.$i on this system; install it, or leave the option out" \
			fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --mkfs "$i"
	done
	good fusionctl create x --fast "$FAST" --slow "$SLOW" --dry-run --mkfs ext4
	shows "would run mkfs.ext4 on /dev/mapper/x"
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	defer dm_remove x
	good fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --mkfs ext4
	shows "mkfs.ext4 has made a file system on it"
	same "type" "$(blkid -p -o value -s TYPE /dev/mapper/x)" ext4
	e2fsck -fn /dev/mapper/x >/dev/null 2>&1 || fail "e2fsck has complaints"
	good fusionctl close x
	# a terminal shows its output
	if command -v script >/dev/null; then
		on_terminal '' fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --force --mkfs ext4
		same status "$REPLY" 0
		shows "Writing superblocks and filesystem accounting information"
		shows "mkfs.ext4 has made a file system on it"
		good fusionctl close x
	fi
	# a program that fails leaves the set open
	printf '#!/bin/sh\necho too small >&2\nexit 1\n' >"$TMP/mkfs"
	chmod +x "$TMP/mkfs"
	mount --bind "$TMP/mkfs" "$(readlink -f "$(command -v mkfs.ext4)")"
	defer umount "$(readlink -f "$(command -v mkfs.ext4)")"
	expect 1 "/dev/mapper/x: is open, but mkfs.ext4 failed: too small; put a file system on it by \
hand" fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --force --mkfs ext4
	good fusionctl status x
}

# No old signature is left where other programs would look.
long_erases() {
	local dev size
	two 8 16
	stale "$FAST"
	stale "$SLOW"
	mkfs.ext4 -q "$SLOW"
	printf 'label: gpt\n' | sfdisk -q --no-reread "$FAST" 2>/dev/null
	good fusionctl format x --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 64K
	for dev in "$FAST" "$SLOW"; do
		size=$(blockdev --getsize64 "$dev")
		read_zero "$dev" $((size - 1048576)) 1048576
		same "signatures on $dev" "$(wipefs "$dev")" ""
	done
	read_zero "$SLOW" 36864 $(($(sb log_start) * 4096 - 36864))
	read_zero "$SLOW" $(($(sb log_start) * 4096)) $(($(sb log_blocks) * 4096))
	read_zero "$FAST" $(($(sb journal_start) * 4096)) $(($(sb journal_blocks) * 4096))
	good fusionctl list --json
	json '[.members[] | select(.state == "ok" and .reason == null)] | length' 2
}

# Otherwise the old content could be mounted, and written to.
test_partitions_are_gone() {
	local part
	need sfdisk
	two 96 256
	partitioned $((96 << 20))
	part=${REPLY}p1
	mkfs.ext4 -q "$part"
	expect 3 "$REPLY: carries gpt partition table (uuid $(blkid -p -o value -s PTUUID "$REPLY")) \
at byte 512; if that can go, add --force" fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes
	[[ -b $part ]] || fail "$part is gone, and nothing was done"
	good fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	[[ ! -e /sys/class/block/${part#/dev/} ]] || fail "$part is still there"
	# a set that another process has open is no obstacle
	wipe "$REPLY" tail
	printf 'label: gpt\n2048,,\n' | sfdisk -q "$REPLY"
	within 10 "$part" test -b "$part"
	exec 9<"$part"
	good fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	[[ -b $part ]] || fail "$part is gone, and somebody had it open"
	exec 9<&-
	good fusionctl probe "$REPLY"
}

test_wipe() {
	local before dev
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	before=$(sum "$FAST" "$SLOW")
	good fusionctl wipe data --dry-run
	shows "fast member of data"
	shows "slow member of data"
	expect 3 "$FAST: all data on the set of $FAST and $SLOW would be lost and there is nobody to \
ask; add --yes" fusionctl wipe data
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl open data
	open_sets data
	expect 5 "$FAST: is a member of the open set data; close that first with fusionctl close" \
		fusionctl wipe "$FAST" --yes
	good fusionctl close data
	before=$(sum "$FAST" "$SLOW")
	expect 4 "$SLOW: is the same device as $SLOW; name each member once" \
		fusionctl wipe "$SLOW" "$SLOW" --yes
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	before=$(sum "$SLOW")
	mkfs.ext4 -q -F "$FAST"
	expect 4 "$FAST: not a member of a fusion set; wipefs removes what others left" \
		fusionctl wipe "$SLOW" "$FAST" --yes
	same "what is on the slow device" "$(sum "$SLOW")" "$before"
	good fusionctl format data "$FAST" "$SLOW" --yes --force

	good fusionctl wipe data --yes
	for dev in "$FAST" "$SLOW"; do
		read_zero "$dev" 0 1048576
		read_zero "$dev" $(($(blockdev --getsize64 "$dev") - 1048576)) 1048576
		expect 4 "$dev: not a member of a fusion set; wipefs removes what others left" \
			fusionctl wipe "$dev" --yes
	done
	good fusionctl list --json
	json '.members | length' 0

	# one member without the other, and one of an unknown set
	good fusionctl format data "$FAST" "$SLOW" --yes
	damage "$FAST" 0
	damage "$FAST" 1
	good fusionctl wipe "$FAST" --yes
	shows "a member (damaged)"
	expect 0 "data: the fast member is not here, or damaged; wipe it by its device" \
		fusionctl wipe data --yes
	good fusionctl list --json
	json '.members | length' 0
}

# -- which one is the slow one ---------------------------------------------------------------

long_roles() {
	local grounds
	null one 64
	null two 66
	null big 256
	as_given() {
		good fusionctl format x "$1" "$2" --dry-run
		shows "fast is $3, slow is $4: $5"
	}
	torn() {
		expect 3 "$1: can't tell whether it ($2) or $3 ($4) is the slow one: $5; say it with \
--fast and --slow" fusionctl format x "$1" "$3" --dry-run
	}

	rotational /dev/two 1
	as_given /dev/one /dev/two /dev/one /dev/two "the slow one is rotational"
	as_given /dev/two /dev/one /dev/one /dev/two "the slow one is rotational"
	rotational /dev/two 0

	grounds="neither is rotational, the slow one is much bigger"
	as_given /dev/one /dev/big /dev/one /dev/big "$grounds"
	as_given /dev/big /dev/one /dev/one /dev/big "$grounds"
	torn /dev/one 64M /dev/two 66M "neither is rotational and their sizes are alike"

	rotational /dev/one 1
	torn /dev/one 64M /dev/big 256M "the rotational one is the smaller"
	torn /dev/big 256M /dev/one 64M "the rotational one is the smaller"
	rotational /dev/two 1
	torn /dev/one 64M /dev/two 66M "both are rotational and their sizes are alike"

	expect 0 "x: the fast member (256M) is larger than the slow one (64M); check which devices \
are meant" fusionctl format x --fast /dev/big --slow /dev/one --dry-run
	expect 0 "x: the fast member /dev/one is a rotational disk; check which devices are meant" \
		fusionctl format x --slow /dev/two --fast /dev/one --yes
	json_role /dev/one fast
	json_role /dev/two slow
}

json_role() {
	good fusionctl list --json
	json ".members[] | select(.device == \"$1\") | .role" "$2"
}

# -- open and close -----------------------------------------------------------------------------

test_life() {
	local uuid size
	need_module dm-fusion
	two 64 256
	open_sets pair other
	good fusionctl create pair "$FAST" "$SLOW" --yes --extent-size 64K
	shows "/dev/mapper/pair is ready"
	[[ -b /dev/mapper/pair ]]
	uuid=$(uuid_of "$FAST")
	same uuid "$(dmsetup info -c --noheadings -o uuid pair)" "FUSION-$uuid"
	size=$(($(sb nr_lexts) * 65536))
	same size "$(blockdev --getsize64 /dev/mapper/pair)" $size
	good fusionctl list
	shows pair
	good fusionctl list --json
	json '.open[0].name' pair
	json '[.members[].open_as] | unique[]' pair

	expect 5 "pair: is open already; fusionctl status pair shows it" fusionctl open pair
	expect 5 "$FAST: its set is open already as pair; fusionctl status pair shows it" \
		fusionctl open other "$FAST" "$SLOW"
	expect 5 "pair: is open already; fusionctl status pair shows it" \
		fusionctl create pair "$FAST" "$SLOW" --yes --force
	expect 5 "$FAST: is a member of the open set pair; close that first with fusionctl close" \
		fusionctl format x "$FAST" "$SLOW" --yes --force

	put /dev/mapper/pair 252 123456 5000
	good fusionctl close pair
	[[ ! -e /dev/mapper/pair ]]
	expect 1 "pair: is closed; fusionctl open pair opens it" fusionctl close pair

	again() {
		good fusionctl open "$@"
		same "the data" "$(dd if=/dev/mapper/"${set:-$1}" bs=1 skip=123456 count=5000 \
			status=none | tr -d '\252' | wc -c)" 0
		good fusionctl close "${set:-$1}"
	}
	again pair
	set=pair again "$uuid"
	set=pair again "${uuid^^}"
	again other "$FAST" "$SLOW"
	again other "$SLOW" "$FAST"
	again other "$FAST"
	again other "$SLOW"
}

test_close_busy() {
	need_module dm-fusion
	two 64 256
	open_sets pair
	good fusionctl create pair "$FAST" "$SLOW" --yes
	mkfs.ext4 -q /dev/mapper/pair
	mkdir "$TMP/mnt"
	mount /dev/mapper/pair "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	expect 5 "pair: is mounted on $TMP/mnt; unmount it first" fusionctl close pair
	umount "$TMP/mnt"

	linear over /dev/mapper/pair 0 2048
	expect 5 "pair: is held by /dev/mapper/over; remove that first" fusionctl close pair
	dm_remove over

	hold_open 100
	expect 5 "pair: is opened by sleep (process $REPLY); end that first" fusionctl close pair
	kill "$REPLY"
	within 5 "the end of sleep" not_open

	# a process that ends soon is waited for
	hold_open 1
	good fusionctl close pair
}

# hold_open SECONDS: a process, whose id is in REPLY, holds the device open
hold_open() {
	background bash -c "exec sleep $1 </dev/mapper/pair"
	within 5 "a process that has it open" is_open
}

is_open() {
	[[ $(dmsetup info -c --noheadings -o open pair) == 1 ]]
}

not_open() {
	[[ $(dmsetup info -c --noheadings -o open pair) == 0 ]]
}

# sysfs does not show an exclusive opener, and the kernel does not name it.
test_open_busy() {
	local wiping dev hold
	need_module dm-fusion
	need script
	two 64 256
	open_sets pair
	good fusionctl format pair "$FAST" "$SLOW" --yes
	mkfifo "$TMP/answer"
	for dev in "$FAST" "$SLOW"; do
		script -qec "fusionctl wipe $dev" -O /dev/null <"$TMP/answer" >"$TMP/pty" 2>&1 &
		wiping=$!
		JOBS+=("$wiping")
		exec {hold}>"$TMP/answer"
		within 10 "question" grep -q "type yes" "$TMP/pty"
		# nor another opener beside it
		background sleep 100 <"$([[ $dev != "$FAST" ]] && echo "$FAST" || echo "$SLOW")"
		expect 5 "$dev: is opened by fusionctl (process $(pidof fusionctl)); end that first" \
			fusionctl open pair
		kill "$REPLY"
		echo no >&"$hold"
		exec {hold}>&-
		wait "$wiping" || same "wipe" $? 3
	done
	refused "does not exist" dmsetup info pair
	good fusionctl open pair
}

test_other_mappings() {
	need_module dm-fusion
	two 64 256
	null plain 64
	open_sets pair
	good fusionctl format pair "$FAST" "$SLOW" --yes
	linear pair /dev/plain 0 2048
	expect 5 "pair: there is another mapped device of that name; choose another name" \
		fusionctl open pair
	expect 1 "pair: is a mapped device but not an open fusion set; fusionctl list shows those \
there are" fusionctl close pair
	expect 1 "pair: is a mapped device but not an open fusion set; fusionctl list shows those \
there are" fusionctl status pair
	dm_remove pair

	# the remains of a killed create are no obstacle, under this name or another
	dmsetup create pair --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl open pair
	good fusionctl close pair
	dmsetup create remnant --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl open pair
	good fusionctl close pair
	refused "does not exist" dmsetup info remnant
	# a verb that only asks leaves them alone
	dmsetup create pair --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl create pair "$FAST" "$SLOW" --dry-run --force
	same "the remnant" "$(dmsetup info -c --noheadings -o name pair 2>/dev/null)" pair
	good fusionctl create pair "$FAST" "$SLOW" --force --yes
	good fusionctl close pair

	linear over "$FAST" 0 "$(sectors_of "$FAST")"
	expect 5 "$FAST: is held by /dev/mapper/over; remove that first" \
		fusionctl open pair "$FAST" "$SLOW"
	good fusionctl open pair
	same "fast member" "$(dmsetup deps -o devname pair | grep -o over)" over
	good fusionctl close pair
}

# -- sets that are not whole -------------------------------------------------------------------------

long_half() {
	local gone left
	null fast 64
	null slow 256
	null spare 64
	FAST=/dev/fast SLOW=/dev/slow
	good fusionctl format pair --fast $FAST --slow $SLOW --yes
	for gone in slow fast; do
		dd if=/dev/$gone of="$TMP/head" bs=64K count=1 status=none iflag=direct
		wipe /dev/$gone
		left=/dev/$([[ $gone == slow ]] && echo fast || echo slow)
		text="pair: its $gone member is missing ($([[ $gone == slow ]] && echo 256M || echo 64M))"
		text+="; connect it and open again, or see what the other one has: fusionctl salvage $left"
		expect 4 "$text" fusionctl open pair
		expect 4 "$text" fusionctl open pair "$left"
		expect 4 "/dev/$gone: not a member of a fusion set; fusionctl list shows those there are" \
			fusionctl open pair $FAST $SLOW
		dd if="$TMP/head" of=/dev/$gone bs=64K status=none oflag=direct
	done
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows those \
there are" fusionctl open nosuch
	expect 4 "$FAST: is a fast member as $FAST is; name one fast and one slow member" \
		fusionctl open pair $FAST $FAST

	good fusionctl format else --fast /dev/spare --slow $SLOW --yes --force
	expect 4 "$SLOW: belongs to the set else, $FAST to the set pair; name two members of one set" \
		fusionctl open pair $FAST $SLOW
	expect 4 "/dev/spare: is a fast member as $FAST is; name one fast and one slow member" \
		fusionctl open pair $FAST /dev/spare
	expect 4 "pair: its slow member is missing (256M); connect it and open again, or see \
what the other one has: fusionctl salvage $FAST" \
		fusionctl open pair
}

long_copies() {
	local a b
	two 64 256
	null clone 64
	null third 64
	good fusionctl format pair "$FAST" "$SLOW" --yes
	dd if="$FAST" of=/dev/clone bs=1M count=1 status=none oflag=direct
	expect 4 "$FAST: is a copy of /dev/clone, both claim to be the same member; detach one, or \
name the devices to use" fusionctl open pair
	wipe /dev/clone
	null fourth 256
	good fusionctl format pair --fast /dev/third --slow /dev/fourth --yes
	a=$(uuid_of "$FAST")
	b=$(uuid_of /dev/fourth)
	expect 4 "pair: there are two sets of that name; give the uuid, $a or $b" \
		fusionctl open pair
}

long_shrunk() {
	null fast 64
	null slow 256
	linear small /dev/fast 0 $((64 * 2048))
	FAST=/dev/mapper/small SLOW=/dev/slow
	good fusionctl format pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	dm_remove small
	linear small /dev/fast 0 $((60 * 2048))
	# the whole device would match, but the mapping on top hides it
	for i in "" "$FAST $SLOW" "$FAST" "$SLOW"; do
		# shellcheck disable=SC2086 # none, one or two devices
		expect 4 "$FAST: shrank from 64M to 60M; give it its old size back" \
			fusionctl open pair $i
	done
	good fusionctl list
	shows shrank
}

long_damaged() {
	local why="checksum mismatch" missing repair="run fusionctl repair with both members"
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	damage "$FAST" 0
	good fusionctl list
	shows "one copy damaged"
	damage "$FAST" 1
	good fusionctl list --json
	json ".members[] | select(.device == \"$FAST\") | .state, .reason" $'damaged\n'"$why"
	expect 7 "$FAST: both copies of its superblock are damaged ($why); $repair" \
		fusionctl open pair "$FAST" "$SLOW"
	missing="both copies of its superblock are damaged ($why) and the fast member of pair is \
missing (64M); if this is it, run fusionctl repair $FAST $SLOW"
	expect 7 "$FAST: $missing" fusionctl open pair
	expect 7 "$FAST: $missing" fusionctl open pair "$SLOW"
	damage "$SLOW" 0
	damage "$SLOW" 1
	expect 7 "pair: no member of that set is found, but $FAST has a damaged superblock ($why); \
$repair" fusionctl open pair
}

test_damaged_copy_opens() {
	local copy
	need_module dm-fusion
	two 64 256
	open_sets pair
	for copy in 0 1; do
		good fusionctl format pair "$FAST" "$SLOW" --yes --force
		damage "$FAST" $copy
		damage "$SLOW" $copy
		expect 0 "$FAST: one of the two copies of its superblock is not valid (checksum \
mismatch); the other is used, nothing to do
fusionctl: $SLOW: one of the two copies of its superblock is not valid (checksum mismatch); the \
other is used, nothing to do" fusionctl open pair
		good fusionctl close pair
	done
}

# An error that only the kernel can find comes with its reason, and leaves nothing behind.
test_kernel_refuses() {
	local rc=0 text
	need_module dm-fusion
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	put_direct "$FAST" $BREAK $(($(sb map_start0) * 4096 + 512)) 512
	text=$(fusionctl open pair 2>&1) || rc=$?
	same "exit code ($text)" $rc 7
	same "the reason" "$text" "fusionctl: pair: the kernel refuses it: map, block $(sb map_start0) \
of the fast device: checksum mismatch (fast member, block $(sb map_start0): map: checksum mismatch \
(extents 0 to $(($(sb nr_lexts) - 1 < 1011 ? $(sb nr_lexts) - 1 : 1011)))); run fusionctl check \
$FAST $SLOW, and fusionctl repair"
	refused "does not exist" dmsetup info pair
}

# -- no module ----------------------------------------------------------------------------------------

test_no_module() {
	local before i
	need_module dm-fusion
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	rmmod dm_fusion
	mount -t tmpfs none /lib/modules
	defer umount_quietly /lib/modules
	expect 6 "dm-fusion: the kernel has no such module (modprobe: FATAL: Module dm-fusion not \
found in directory /lib/modules/$(uname -r)); build and install it with make install" \
		fusionctl open pair
	before=$(sum "$FAST" "$SLOW")
	expect 6 "dm-fusion: the kernel has no such module (modprobe: FATAL: Module dm-fusion not \
found in directory /lib/modules/$(uname -r)); build and install it with make install" \
		fusionctl create pair "$FAST" "$SLOW" --yes --force
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl version
	shows "kernel target not loaded"
	# targets that earlier tests have used
	for i in /sys/module/dm_mod/holders/*; do
		[[ ! -e $i ]] || rmmod "${i##*/}"
	done
	rmmod dm_mod || skip "something else uses the device mapper"
	expect 6 "device mapper: the kernel has none (modprobe: FATAL: Module dm-mod not found in \
directory /lib/modules/$(uname -r)); use a kernel with CONFIG_BLK_DEV_DM" fusionctl open pair
	# without sets there is nothing to show
	good fusionctl status
	good fusionctl list
	umount /lib/modules
	open_sets pair
	# loads the module itself
	good fusionctl open pair
	good fusionctl close pair
}

# -- open sets: status, set, moves, map -------------------------------------------------------------------

# a_set: 8 + 32 MiB in extents of 64K, of which the first 32 are written
a_set() {
	need_module dm-fusion
	two 8 32
	open_sets pair
	good fusionctl create pair "$FAST" "$SLOW" --yes --extent-size 64K
	put /dev/mapper/pair 252 0 $((2 << 20))
	good fusionctl set pair migration=off
}

test_status() {
	good fusionctl status
	shows "no set is open"
	good fusionctl status --json
	json '.version, (.sets | length)' $'1\n0'
	expect 1 "nosuch: no such set is open; fusionctl list shows those there are" \
		fusionctl status nosuch
	a_set
	good fusionctl status pair
	shows "pair: "
	shows "read-write, migration off"
	shows "mapped   2M of "
	good fusionctl status --json
	json '.sets[0] | .name, .mode, .mapped, .extent_bytes, .options.migration' \
		$'pair\nrw\n32\n65536\nfalse'
	json '.sets[0] | .fast.device, .slow.device' "$FAST"$'\n'"$SLOW"
	json '.sets[0] | [.fast.total_bytes, .slow.total_bytes, .fast.reads, .slow.writes, .commits]
		| map(type) | unique[]' number
	json '.sets[0].fast.total_bytes' $(($(sb nr_fast_slots) << 16))
	json '.sets[0].set_uuid' "$(uuid_of "$FAST")"

	repeated 3 'rates *' fusionctl status pair --watch 0.2
	same "rounds" "$(grep -c '^pair:' "$TMP/out")" 4
	repeated 3 '{*' fusionctl status --watch=0.2 --json
	same "a line for each round" "$(jq -r '.sets[0].name' "$TMP/out")" $'pair\npair\npair'
}

# No round comes early, however late the first one is read, since the clock starts before the tool
# does. No round comes late either, however slow the machine is: of two that run side by side, the
# one with the shorter interval shows more rounds. If it slept as long as the other, it would lead
# by at most one.
test_status_interval() {
	local start slow
	a_set
	start=${EPOCHREALTIME/./}
	repeated 3 'pair:*' fusionctl status pair --watch 1.5
	at_least "microseconds of two intervals" $((${EPOCHREALTIME/./} - start)) 3000000
	background fusionctl status pair --watch 0.1 >"$TMP/short"
	repeated 4 'pair:*' fusionctl status pair --watch 2
	slow=$(grep -c '^pair:' "$TMP/out")
	at_least "rounds with the short interval" "$(grep -c '^pair:' "$TMP/short")" $((slow + 2))
	kill "$REPLY"
}

# A set that is being made or closed hides none of the others.
test_status_of_others() {
	local one
	for one in another-half half; do
		defer dm_remove $one
		dmsetup create $one --notable -u "FUSION-$(</proc/sys/kernel/random/uuid)"
	done
	good fusionctl status
	shows "no set is open"
	a_set
	good fusionctl status
	shows "pair: "
	same "sets" "$(grep -c "migration" "$TMP/out")" 1
	good fusionctl status --json
	json '[.sets[].name] | join(" ")' pair
	repeated 2 'pair:*' fusionctl status --watch 0.2
	expect 1 "half: is a mapped device but not an open fusion set; fusionctl list shows those \
there are" fusionctl status half
}

comes_and_goes() {
	while [[ -e $TMP/go-on ]]; do
		dmsetup create half --notable -u "FUSION-$1"
		dmsetup load half --table "$(table)"
		dmsetup resume half
		dmsetup remove half
	done >/dev/null 2>&1
}

test_status_beside_a_close() {
	local i
	need_module dm-fusion
	two 8 32
	format --extent-size 64K
	defer dm_remove half
	: >"$TMP/go-on"
	background comes_and_goes "$(uuid_of "$FAST")"
	for ((i = 0; i < 60; i++)); do
		good fusionctl status
	done
	# not SIGKILL, which would leave the dmsetup behind that it had just started
	rm "$TMP/go-on"
	wait "$REPLY"
}

test_set() {
	local before half key takes word words n=0
	a_set
	good fusionctl set pair migration=default
	# this is the default, says the help
	good fusionctl help set
	while read -r word; do
		same "setting $n by default" "$(fusionctl set pair | awk -v n=$n \
			'NR == n + 2 { print $2, $3 == "default" || $4 == "default" }')" "$word 1"
		n=$((n + 1))
	done < <(sed -n 's/.*(default: \(.*\))$/\1/p' "$TMP/out")
	same "settings of the help" $n 10
	before=$(dmsetup table pair)
	expect 2 "migration: not KEY=VALUE; see fusionctl help set" fusionctl set pair migration
	expect 2 "frob=1: no such setting; choose migration, reserve, half_life, duty, idle, \
commit_interval, replica_interval, discard_passdown, standby or write_budget" fusionctl set pair frob=1
	expect 2 "hlaf_life=1: no such setting; did you mean half_life?" \
		fusionctl set pair hlaf_life=1
	for key in migration discard_passdown; do
		for word in maybe 2 ''; do
			expect 2 "$key=$word: neither on nor off; $key takes on or off" \
				fusionctl set pair "$key=$word"
		done
	done
	half=$(($(sb nr_fast_slots) / 2))
	while read -r key takes; do
		read -ra words <<<"${takes#*: }"
		for word in "${words[@]}"; do
			expect 2 "$key=$word: out of range; $key takes ${takes%%: *}" \
				fusionctl set pair "$key=$word"
		done
	done <<-EOF
		half_life 0 to 604800 seconds (7d), or automatic: 604801 8d 200h
		duty 1 to 100 percent: 0 101 200% 0%
		idle 0 to 60000 milliseconds (1m): 60001 61s
		commit_interval 10 to 60000 milliseconds (1m): 9 60001 2m 0.001s
		replica_interval 1 to 86400 seconds (1d): 0 86401 2d
		standby 0 to 86400 seconds (1d), or never: 86401 2d
		write_budget 0 to 100000 GB a day, or unlimited: 100001 101T
	EOF
	for word in $((half + 1)) 1G 60%; do
		expect 2 "reserve=$word: out of range; reserve takes 0 to $half extents \
($(numfmt --to=iec --format=%.1f $((half << 16)) | sed 's/\.0//')), or automatic" \
			fusionctl set pair reserve=$word
	done
	for word in -1 x 99999999999999999999999 ''; do
		expect 2 "idle=$word: not a time; idle takes 0 to 60000 milliseconds (1m)" \
			fusionctl set pair "idle=$word"
	done
	# one bad word, and nothing is changed
	expect 2 "duty=0: out of range; duty takes 1 to 100 percent" \
		fusionctl set pair idle=3s duty=0
	same "table after nothing but bad values" "$(dmsetup table pair)" "$before"
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows those \
there are" fusionctl set nosuch idle=1

	good fusionctl set pair idle=3s half_life=1h --dry-run
	shows "pair: would change"
	same idle "$(option idle)" 1000
	good fusionctl set pair idle=default --dry-run
	same output "$(<"$TMP/out")" "pair: nothing to change"
	good fusionctl set pair idle=3s half_life=30m duty=50% commit_interval=200 reserve=256K
	same "all of them" "$(for key in idle half_life duty commit_interval reserve; do
		option $key
	done | xargs)" "3000 1800 50 200 4"
	good fusionctl set pair reserve=257K
	same reserve "$(option reserve)" 5
	good fusionctl set pair reserve=10%
	same reserve "$(option reserve)" $(($(sb nr_fast_slots) / 10))
	good fusionctl set pair reserve=7 discard_passdown=off
	same reserve "$(option reserve)" 7
	same discard_passdown "$(option discard_passdown)" false
	good fusionctl set pair standby=10m write_budget=20G
	same standby "$(option standby)" 600
	same write_budget "$(option write_budget)" 20
	good fusionctl set pair
	shows "20G/day"
}

option() {
	fusionctl status pair --json | jq -r ".sets[0].options.$1"
}

test_profiles() {
	local before
	a_set
	expect 2 "laptop: no such profile; choose desktop, database or archive" \
		fusionctl set pair --profile laptop
	expect 2 "dekstop: no such profile; did you mean desktop?" \
		fusionctl set pair --profile dekstop
	before=$(dmsetup table pair)
	good fusionctl set pair --profile desktop --dry-run
	shows "pair: would change"
	shows "automatic"
	same "table" "$(dmsetup table pair)" "$before"
	good fusionctl set pair --profile desktop --dry-run --json
	json '.version, .name, .profile, .dry_run' $'1\npair\ndesktop\ntrue'
	json '.changes[] | select(.key == "half_life") | .from, .to, .unit' $'0\n86400\nseconds'
	same "table" "$(dmsetup table pair)" "$before"

	good fusionctl set pair --profile desktop
	shows "pair: changed"
	same "settings" "$(for key in half_life duty idle reserve commit_interval \
		replica_interval standby; do option $key; done | xargs)" \
		"86400 10 2000 $(($(sb nr_fast_slots) * 5 / 100)) 1000 120 600"
	same "migration is not its affair" "$(option migration)" false
	good fusionctl set pair --profile desktop
	shows "pair: nothing to change"
	good fusionctl set pair --profile database --json
	json '.dry_run' false
	json '.changes[] | select(.key == "standby") | .from, .to' $'600\n0'
	good fusionctl set pair --profile archive duty=30
	same standby "$(option standby)" 900
	same half_life "$(option half_life)" 604800
	same duty "$(option duty)" 30
}

test_moves() {
	local last
	a_set
	last=$(($(sb nr_lexts) - 1))
	good fusionctl demote pair 0-9
	shows "10 moved, 0 already there, 0 unmapped, 0 failed"
	same "on the slow member" "$(on pair slow 0 32)" 10
	good fusionctl promote pair 5
	shows "1 moved, 0 already there, 0 unmapped, 0 failed"
	good fusionctl promote pair 0-$last
	shows "9 moved, 23 already there, $((last - 31)) unmapped, 0 failed"
	same "on the slow member" "$(on pair slow 0 32)" 0
	expect 2 "0-$((last + 1)): beyond the end; the extents of pair are 0-$last" \
		fusionctl demote pair 0-$((last + 1))
	expect 1 "nosuch: no such set is open; fusionctl list shows those there are" \
		fusionctl demote nosuch 0

	# more than the fast member can hold
	put /dev/mapper/pair 252 0 $((100 << 16))
	expect 1 "pair: $(failed_to_move) extents could not be moved: the fast member is \
full of extents of the same range; give a smaller range" fusionctl promote pair 0-99
}

# write_journal EXTENT: make some commits
write_journal() {
	local i
	for ((i = $1; i < $1 + 5; i++)); do
		put /dev/mapper/pair 2 $((i << 16)) 65536
	done
	at_least "blocks of the journal in use" "$(status pair journal_used)" 3
}

test_checkpoint() {
	local was
	a_set
	write_journal 40
	good fusionctl checkpoint pair
	same output "$(<"$TMP/out")" ""
	at_most "blocks of the journal in use" "$(status pair journal_used)" 1
	write_journal 60
	good fusionctl checkpoint
	at_most "blocks of the journal in use" "$(status pair journal_used)" 1
	expect 1 "nosuch: no such set is open; fusionctl list shows those there are" \
		fusionctl checkpoint nosuch
	# a disk that rests is left alone
	was=$(status pair checkpoints)
	good fusionctl checkpoint pair --dry-run
	shows "pair: would be written: $(status pair journal_used) blocks of the journal are in use"
	sleep 2
	good fusionctl checkpoint --used-within 0 --dry-run
	shows "pair: would be left alone: nobody has used its slow member since"
	good fusionctl checkpoint --used-within 0
	same "checkpoints" "$(status pair checkpoints)" "$was"
	good fusionctl checkpoint pair --used-within 100
	differ "checkpoints" "$(status pair checkpoints)" "$was"
	expect 2 "1h: not a time; give a number of seconds" fusionctl checkpoint --used-within 1h
	dmsetup suspend pair
	expect 1 "pair: can't be written, it is suspended; see fusionctl status pair" \
		fusionctl checkpoint pair
	good fusionctl checkpoint
	dmsetup resume pair
}

# As many of the first 100 extents as are not on the fast member when it is full.
failed_to_move() {
	{ fusionctl promote pair 0-99 2>/dev/null || :; } | sed 's/.* \([0-9]*\) failed/\1/'
}

test_map() {
	local extents cells letters each i
	a_set
	extents=$(sb nr_lexts)
	good fusionctl demote pair 0-15

	good fusionctl map pair --json
	json '.version, .name, .extents, .extent_bytes' $'1\npair\n'"$extents"$'\n65536'
	json '[.cells[].count] | add' "$extents"
	json '[.cells[].fast] | add' 16
	json '[.cells[].slow] | add' 16
	json '.cells[0] | .first, .slow' $'0\n1'
	cells=$(jq '.cells | length' "$TMP/out")

	# letters without a terminal, one for each cell
	good fusionctl map pair --width 16
	letters=$(sed -n 's/^ *[0-9.]*[BKMG] \([FfmsS.]*\)$/\1/p' "$TMP/out" | tr -d '\n')
	each=$(((extents + 255) / 256))
	same "cells" ${#letters} $(((extents + each - 1) / each))
	shows "F fast  m both  S slow  . unused"
	good fusionctl map pair --width $(((extents + 15) / 16))
	letters=$(sed -n 's/^ *[0-9.]*[BKMG] \([FfmsS.]*\)$/\1/p' "$TMP/out" | tr -d '\n')
	same "cells" ${#letters} "$extents"
	same "tiers" "${letters:0:33}" SSSSSSSSSSSSSSSSFFFFFFFFFFFFFFFF.
	same "escapes" "$(grep -c $'\033' "$TMP/out" || :)" 0

	# colours on request; heat as digits or blocks
	heat pair 0 4 2
	for i in 256:48\;5 truecolor:48\;2; do
		COLORTERM=${i%:*} good fusionctl map pair --color always
		shows $'\033['
		shows ";${i#*:};"
	done
	NO_COLOR=1 good fusionctl map pair --color always
	shows $'\033['
	good fusionctl map pair --width $(((extents + 15) / 16))
	shows 9
	if [[ -d /usr/lib/locale/C.utf8 ]]; then
		LC_ALL=C.UTF-8 good fusionctl map pair
		shows █
		LC_ALL=C.UTF-8 good fusionctl status pair
		shows █
	else
		say "no locale with UTF-8 here: eighth blocks not tested"
	fi

	good fusionctl map pair --svg "$TMP/map.svg"
	same "output" "$(<"$TMP/out")" ""
	well_formed "$TMP/map.svg"
	same "cells in the drawing" "$(grep -c '^<g><title>' "$TMP/map.svg")" "$cells"
	same "fast in the drawing" "$(grep -c 'at [0-9.]*[BKM]: 1 extents fast' "$TMP/map.svg")" 16
	good fusionctl map pair --svg -
	cmp "$TMP/out" "$TMP/map.svg"
	expect 1 "/nosuch/x: No such file or directory; choose another file" \
		fusionctl map pair --svg /nosuch/x
	[[ -c /dev/full ]] || mknod /dev/full c 1 7
	expect 1 "/dev/full: cannot write: No space left on device; choose another file" \
		fusionctl map pair --svg /dev/full
	expect 1 "nosuch: no such set is open; fusionctl list shows those there are" \
		fusionctl map nosuch
}

# Verbs that accept the name of an open set accept its uuid as well, and print the name.
test_by_uuid() {
	local uuid none=01234567-89ab-4def-8123-456789abcdef
	a_set
	uuid=$(uuid_of "$FAST")
	good fusionctl status "$uuid"
	shows "pair: "
	good fusionctl status "${uuid^^}" --json
	json '.sets[0].name' pair
	good fusionctl status "$uuid" --check
	shows "FUSION OK"
	good fusionctl set "$uuid" idle=3s
	same idle "$(option idle)" 3000
	good fusionctl set "$uuid" --profile desktop --json
	json .name pair
	good fusionctl demote "$uuid" 0-9
	shows "10 moved"
	good fusionctl promote "$uuid" 5
	expect 2 "0-99999: beyond the end; the extents of pair are 0-$(($(sb nr_lexts) - 1))" \
		fusionctl promote "$uuid" 0-99999
	good fusionctl checkpoint "$uuid"
	good fusionctl map "$uuid" --json
	json .name pair
	heat pair 0 4 2
	good fusionctl whatif "$uuid" --json
	json .name pair
	expect 1 "$none: no such set is open; fusionctl list shows those there are" \
		fusionctl status $none
	good fusionctl close "$uuid"
	expect 1 "$uuid: is closed; fusionctl open $uuid opens it" fusionctl close "$uuid"
}

# They also accept the label and the devices of the set.
test_by_any_name() {
	local i
	a_set
	for i in "$FAST" "$SLOW" /dev/mapper/pair; do
		good fusionctl status "$i"
		shows "pair: "
		good fusionctl set "$i" --json
		json .name pair
	done
	good fusionctl close "$SLOW"
	expect 1 "$FAST: not a member of an open set; fusionctl list shows those there are" \
		fusionctl status "$FAST"
	expect 1 "/dev/nosuch: not a member of an open set; fusionctl list shows those there are" \
		fusionctl close /dev/nosuch
	good fusionctl set "$SLOW" duty=7%
	expect 2 "dutty=5: no such setting; did you mean duty?" fusionctl set pair dutty=5
	expect 4 "pari: no member of that set is found; did you mean pair?" fusionctl set pari
	for i in check:8 repair:8 dump:4 salvage:4 wipe:4 open:4; do
		expect "${i#*:}" "pari: no member of that set is found; did you mean pair?" \
			fusionctl "${i%:*}" pari
	done
	good fusionctl open "$SLOW"
	good fusionctl close pair
	# open under a name other than its label
	open_sets other
	good fusionctl open other "$FAST"
	for i in pair "$(uuid_of "$FAST")" other; do
		good fusionctl status "$i" --json
		json '.sets[0].name' other
	done
	good fusionctl demote pair 0-3
	good fusionctl map pair --json
	json .name other
	expect 1 "othre: no such set is open; did you mean other?" fusionctl status othre
	expect 5 "other: is an open set; close that first with fusionctl close other" \
		fusionctl wipe other --yes
	expect 5 "other: is open already; fusionctl status other shows it" fusionctl open other
	# two sets with one name
	null small 8
	null large 32
	good fusionctl format pair --fast /dev/small --slow /dev/large --yes --extent-size 64K
	open_sets twin
	good fusionctl open twin /dev/small
	expect 1 "pair: both other and twin are open sets of that name; give the one that is meant" \
		fusionctl status pair
	good fusionctl close twin
	good fusionctl close pair
}

# On a terminal there is colour, unless NO_COLOR is set to a non-empty value.
test_no_color() {
	local verb no
	need script
	a_set
	heat pair 0 4 2
	for verb in map whatif; do
		for no in "" NO_COLOR=; do
			on_terminal '' "env TERM=xterm $no fusionctl $verb pair"
			same status "$REPLY" 0
			shows $'\033['
		done
		for no in "NO_COLOR=1 TERM=xterm" TERM=dumb; do
			on_terminal '' "env $no fusionctl $verb pair"
			same status "$REPLY" 0
			same "escapes with $no" "$(grep -c $'\033' "$TMP/out" || :)" 0
		done
	done
	on_terminal '' env NO_COLOR=1 TERM=xterm fusionctl map pair --color always
	shows $'\033['
}

# sum_of COLUMN: sum of a column of the kernel's histogram
sum_of() {
	msg pair histogram | awk -v column="$1" '{ n += $column } END { print n + 0 }'
}

# cold: none of the 32 extents has any heat
cold() {
	[[ $(msg pair histogram) == "0 32 0 0 0" ]]
}

test_whatif() {
	local slots
	a_set
	# written extents are warm
	good fusionctl set pair half_life=1
	within 20 "the heat is gone" cold
	good fusionctl set pair half_life=1h
	slots=$(sb nr_fast_slots)
	expect 1 "pair: nothing is known of its use, or all of it is long ago; use it for some time \
and ask again" fusionctl whatif pair
	expect 1 "pair: nothing is known of its use, or all of it is long ago; use it for some time \
and ask again" fusionctl whatif pair --json
	same "output" "$(<"$TMP/out")" ""

	# the hot extents lie on the slow member
	good fusionctl demote pair 0-3
	heat pair 0 4 3
	same "extents in the histogram" "$(sum_of 2) $(sum_of 3)" "28 4"
	same "heat on the fast member" "$(sum_of 4)" 0
	at_least "heat on the slow member" "$(sum_of 5)" 16
	same "heat is that of the other message" \
		"$(msg pair heat "$(sb nr_lexts)" | awk '{ n += $5 } END { print n }')" "$(sum_of 5)"
	good fusionctl whatif pair --json
	json '.version, .name, .extent_bytes, .fast_slots, .mapped, .warm' \
		$'1\npair\n65536\n'"$slots"$'\n32\n4'
	json '.now.hit_ratio, .best.hit_ratio, .quadruple.hit_ratio' $'0\n1\n1'
	json '.now.fast_bytes / 65536, .half.fast_bytes / 65536, .double.fast_bytes / 65536' \
		"$slots"$'\n'$((slots / 2))$'\n'$((slots * 2))
	json '.curve | first | .extents, .hit_ratio' $'0\n0'
	json '.curve | last | .extents, .hit_ratio' $'32\n1'
	json '[.curve[] | select(.extents == 4)] | length' 1
	good fusionctl promote pair 0-3
	good fusionctl whatif pair --json
	json '.now.hit_ratio, .now.extents' $'1\n32'

	good fusionctl whatif pair
	shows "FAST MEMBER"
	shows "as it is"
	shows "4 times"
	shows "256K of 2M in use have had any"
	same "escapes" "$(grep -c $'\033' "$TMP/out" || :)" 0
	# four extents of 32 have all the hits: an eighth of the drawing is a slope
	at_least "columns of 100 %" "$(sed -n 's/^ 100% *//p' "$TMP/out" | tr -d '\n' | wc -c)" 60
	COLORTERM=256 good fusionctl whatif pair --color always
	shows $'\033[38;5;214m'
	if [[ -d /usr/lib/locale/C.utf8 ]]; then
		LC_ALL=C.UTF-8 good fusionctl whatif pair
		shows █
	fi
	good fusionctl whatif pair --svg "$TMP/whatif.svg"
	same "output" "$(<"$TMP/out")" ""
	well_formed "$TMP/whatif.svg"
	good fusionctl whatif pair --svg -
	cmp "$TMP/out" "$TMP/whatif.svg"
	expect 2 "--svg: can't go where --json does; give a file" \
		fusionctl whatif pair --json --svg -
	expect 1 "/nosuch/x: No such file or directory; choose another file" \
		fusionctl whatif pair --svg /nosuch/x
	expect 1 "nosuch: no such set is open; fusionctl list shows those there are" \
		fusionctl whatif nosuch
}

# simulate ARGUMENT...: ten minutes of a small set
simulate() {
	good fusionctl simulate --fast 128M --slow 1G --load zoned:80/4,rate=60 \
		--load scan,from=5m --duration 10m "$@"
}

# For a named set, its own sizes, extents and settings are simulated, unless options replace them.
test_simulate_a_set() {
	local how=(--load zipf:1.0 --duration 10s --json)
	members 128 1024
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --extent-size 256K --yes
	good fusionctl set data half_life=2h
	good fusionctl simulate data "${how[@]}"
	json '.fast_bytes, .slow_bytes, .extent_bytes, .resting_seconds' \
		"$((128 << 20))"$'\n'"$((1024 << 20))"$'\n262144\n7200'
	good fusionctl close data
	good fusionctl simulate data --fast 256M half_life=5m "${how[@]}"
	json '.fast_bytes, .slow_bytes, .resting_seconds' $'268435456\n1073741824\n300'
	good fusionctl simulate "$SLOW" "${how[@]}"
	json .extent_bytes 262144
	expect 2 "other: is one set too many; simulate data alone" \
		fusionctl simulate data other "${how[@]}"
	expect 4 "dta: no member of that set is found; did you mean data?" \
		fusionctl simulate dta "${how[@]}"
	expect 2 "simulate: --slow is missing; give the size of that member, as in --slow 1T, or name a set" \
		fusionctl simulate --fast 1G "${how[@]}"
}

test_simulate() {
	local word words phases
	simulate --json
	cp "$TMP/out" "$TMP/json"
	phases=$(jq '.phases | length' "$TMP/json")
	same "phases" "$phases" 3
	at_least "promotions" "$(jq .promotions "$TMP/json")" 10
	json '.migration_bytes_to_fast >= .promotions * .extent_bytes' true
	json '.models | .hdd_rpm, .ssd_channels, length' $'7200\n8\n15'
	json .resting_seconds 3600

	simulate
	shows "ORACLE"
	shows "$(jq .promotions "$TMP/json") promoted, $(jq .demotions "$TMP/json") demoted"
	shows "wasted   "
	shows "resting  "
	shows "again    "
	shows "wear     "
	shows "models   hdd_seek_track_us=1000 "
	# a phase that did not reach 90 % gives the time in which it did not
	good fusionctl simulate --fast 128M --slow 4G --load zoned:90/2 --duration 10s
	shows " not in 10s "
	# the printed values are accepted as input
	read -ra words < <(sed -n 's/^models  //p' "$TMP/out")
	simulate --disk "${words[0]}" --disk ssd_channels=4 half_life=5m --json
	json '.models.ssd_channels, .resting_seconds' $'4\n300'

	simulate --svg "$TMP/simulate.svg"
	shows "promoted"
	well_formed "$TMP/simulate.svg"
	same "title" "$(grep -c '^<title>fusionctl simulate</title>' "$TMP/simulate.svg")" 1
	# an oracle for each phase, and its key
	same "lines of the oracle" "$(grep -c '^<path class="o"' "$TMP/simulate.svg")" $((phases + 1))
	for word in u:2 h:3 s:2; do
		same "lines of class ${word%:*}" \
			"$(grep -c "^<path class=\"${word%:*}\" d=\"M[0-9]" "$TMP/simulate.svg")" \
			"${word#*:}"
	done
	for word in "hit ratio" "I/Os a second" "best fixed placement" "slow member alone"; do
		same "texts '$word'" "$(grep -c ">$word</text>" "$TMP/simulate.svg")" 1
	done
	# points of the hit ratio in the drawing
	at_least "points" "$(sed -n '/^<path class="h"/ { s/.* d="M\(.*\)".*/\1/p; q }' \
		"$TMP/simulate.svg" | tr L '\n' |
		awk '$1 >= 70 && $1 <= 850 && $2 >= 50 && $2 <= 250 { n++ }
			END { print n + 0 }')" 200
	simulate --svg -
	cmp "$TMP/out" "$TMP/simulate.svg"
	expect 2 "--svg: can't go where --json does; give a file" fusionctl simulate --fast 128M \
		--slow 1G --load uniform --json --svg -
	expect 1 "/nosuch/x: No such file or directory; choose another file" fusionctl simulate \
		--fast 128M --slow 1G --load uniform --duration 1m --svg /nosuch/x
	expect 2 "standby=1: changes nothing here; choose migration, reserve, half_life, duty or idle" \
		fusionctl simulate --fast 128M --slow 1G --load uniform --set standby=1
}

# well_formed FILE: every tag is closed, in order
well_formed() {
	awk -v RS='<' '
		NR == 1 { next }
		/^\?/ { next }
		!/>/ { print "no end: " $0; exit bad = 1 }
		{ tag = $1; sub(/[\/>].*/, "", tag); body = $0; sub(/>.*/, "", body) }
		/^\// { tag = substr($1, 2); sub(/>.*/, "", tag)
			if (stack[n--] != tag) { print "closes wrong: " $0; exit bad = 1 }
			next }
		gsub(/"/, "\"", body) % 2 { print "quotes: " $0; exit bad = 1 }
		/&/ { print "bare &: " $0; exit bad = 1 }
		body !~ /\/$/ { stack[++n] = tag }
		END { if (!bad && (n || NR < 3)) { print "open at the end: " stack[n]; bad = 1 }
			exit bad }' "$1"
}

# A process that cannot get the lock has lost nothing.
test_lock_comes_first() {
	local i before
	members 64 128
	for i in fast slow; do
		put "/dev/$i" 7 0 $((4 << 20))
	done
	before=$(sha256sum /dev/fast /dev/slow)
	rm -rf /run/fusion
	: >/run/fusion
	defer rm -f /run/fusion
	expect 1 "/run/fusion/lock: can't make it: Not a directory; mount a tmpfs on /run" \
		fusionctl create data --fast "$FAST" --slow "$SLOW" --yes
	same "what is on them" "$(sha256sum /dev/fast /dev/slow)" "$before"
}

# tests with little work in the kernel take long where programs start slowly
run_tests
