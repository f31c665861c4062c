#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Layers above and below a set: encryption, LVM, partitions, file systems, swap, checksums. Each
# test copies files while extents move, at least a hundred each way, then closes everything;
# fusionctl check must find the set whole. Then it opens the set again, checks the file system, and
# compares the files with their checksums.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"

SET=/dev/mapper/stack
EXTENT=$((256 << 10))

# -- the set -------------------------------------------------------------------

# quiet COMMAND...: print its output only if it fails
quiet() {
	"$@" >"$TMP/quiet" 2>&1 || fail "$*: status $?: $(<"$TMP/quiet")"
}

# the_set: open it, on FAST and SLOW or on members in RAM; it moves extents eagerly
the_set() {
	[[ $FAST ]] || members 96 288
	opened stack stack --extent-size $EXTENT
	eager
}

eager() {
	msg stack half_life 10
	msg stack idle 100
}

# reopened: close it, check it, and open it again
reopened() {
	good fusionctl close stack
	good fusionctl check "$FAST" "$SLOW"
	good fusionctl open stack "$FAST" "$SLOW"
}

# sets: the names of the open sets
sets() {
	dmsetup info -c --noheadings -o name,uuid | sed -n 's/:FUSION-.*//p'
}

# below: the devices directly below the set
below() {
	dmsetup deps -o devname stack | grep -o '([^)]*)' | tr -d '()' | sort | xargs
}

# held BY: the set does not close, and the error names the device on top
held() {
	refused "stack: is held by /dev/mapper/$1" fusionctl close stack
	same "open sets" "$(sets)" stack
}

# -- files ---------------------------------------------------------------------

# mounted DEV
mounted() {
	mkdir -p "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mount "$1" "$TMP/mnt"
}

# originals: 28 MiB of files of several sizes, and their checksums
originals() {
	local i
	mkdir "$TMP/src"
	for ((i = 0; i < 24; i++)); do
		head -c $(((1 << 20) + RANDOM)) /dev/urandom >"$TMP/src/large-$i"
		head -c "$RANDOM" /dev/urandom >"$TMP/src/small-$i"
	done
	(cd "$TMP/src" && md5sum ./* >"$TMP/sums")
}

copy() {
	cp -r "$TMP/src" "$TMP/mnt/$1"
}

# compare NAME: a copy, read from the disk
compare() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	(cd "$TMP/mnt/$1" && md5sum -c --quiet "$TMP/sums") || fail "copy $1 differs"
}

# moving COMMAND...: run it while extents move, until enough of them have
moving() {
	local storm start=$SECONDS
	background storm stack
	storm=$REPLY
	"$@"
	until enough stack; do
		[[ $((SECONDS - start)) -lt $((180 * SLOWNESS)) ]] || fail "extents hardly move"
		"$@"
	done
	finish "$storm"
	say "$(status stack promotions) promotions, $(status stack demotions) demotions"
}

# copies: one is deleted again, two are left
copies() {
	rm -rf "$TMP/mnt/one" "$TMP/mnt/two"
	copy one
	copy two
	compare one
	rm -r "$TMP/mnt/one"
	compare two
}

# whole DEV FSCK...
whole() {
	"${@:2}" "$1" >"$TMP/fsck" 2>&1 || fail "$2: status $?: $(tail -n 5 "$TMP/fsck")"
}

# frees NAME: deleting that copy frees no extents, but a discard then frees nine of ten
frees() {
	local before after want
	sync
	before=$(status stack mapped)
	want=$(($(du -s -B $EXTENT "$TMP/mnt/$1" | cut -f 1) * 9 / 10))
	at_least "extents of $1" "$want" 80
	rm -r "${TMP:?}/mnt/$1"
	sync
	at_least "mapped extents" "$(status stack mapped)" "$before"
	before=$(status stack mapped)
	fstrim "$TMP/mnt"
	within 30 "settled" settled stack
	after=$(status stack mapped)
	say "$before extents mapped, $after after $1 was deleted"
	at_least "freed extents" $((before - after)) $want
	same "used slots" $(($(status stack used_fast) + $(status stack used_slow))) "$after"
}

# used: ext4 with files, written while extents moved; closed again
used() {
	originals
	mkfs.ext4 -q "$SET"
	mounted "$SET"
	moving copies
	umount "$TMP/mnt"
	good fusionctl close stack
}

# still_there DEVICES: the set is open on these, and the files are unchanged
still_there() {
	same "open sets" "$(sets)" stack
	same "below" "$(below)" "$1"
	whole "$SET" e2fsck -fn
	mounted "$SET"
	compare two
	umount "$TMP/mnt"
}

# -- file systems ------------------------------------------------------------------

# file_system MKFS FSCK [FUNCTION]: make it, use it, check it; FUNCTION examines it mounted
file_system() {
	the_set
	originals
	# shellcheck disable=SC2086 # words of a command
	quiet $1 "$SET"
	mounted "$SET"
	moving copies
	${3:-:}
	expect 5 "stack: is mounted on $TMP/mnt; unmount it first" fusionctl close stack
	umount "$TMP/mnt"
	# shellcheck disable=SC2086
	whole "$SET" $2
	reopened
	# shellcheck disable=SC2086
	whole "$SET" $2
	mounted "$SET"
	compare two
	${3:-:}
	umount "$TMP/mnt"
}

# The file system's own check finds nothing; for btrfs also its scrub.
test_ext4() {
	file_system "mkfs.ext4 -q" "e2fsck -fn"
}

test_xfs() {
	need_module xfs
	file_system "mkfs.xfs -q" "xfs_repair -n"
}

# scrubbed: btrfs has read all its data, and its checksums match
scrubbed() {
	btrfs scrub start -B -R "$TMP/mnt" >"$TMP/scrub"
	same "errors" "$(grep -E '_errors: *[0-9]' "$TMP/scrub" | grep -v ': *0$' || :)" ""
	at_least "bytes scrubbed" "$(sed -n 's/.*data_bytes_scrubbed: *//p' "$TMP/scrub")" \
		"$(du -sb "$TMP/src" | cut -f 1)"
}

test_btrfs() {
	need btrfs mkfs.btrfs
	need_module btrfs
	file_system "mkfs.btrfs -q" "btrfs check --readonly" scrubbed
}

# Nine of ten extents of deleted files become free, and the other files are intact.
test_fstrim() {
	local mapped
	the_set
	originals
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$SET"
	mounted "$SET"
	copy before
	copy one
	copy after
	sync
	# so that the data is on both members
	msg stack demote 0-$(($(status stack extents) / 3)) >"$TMP/out"
	frees one
	compare before
	compare after
	umount "$TMP/mnt"
	mapped=$(status stack mapped)
	reopened
	same "mapped after it was opened again" "$(status stack mapped)" "$mapped"
	whole "$SET" e2fsck -fn
	mounted "$SET"
	compare before
	compare after
	umount "$TMP/mnt"
}

# -- encryption --------------------------------------------------------------------

# luks DEV [OPTION]...: make it an encrypted device
luks() {
	[[ -e $TMP/key ]] || head -c 32 /dev/urandom >"$TMP/key"
	cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		--key-file "$TMP/key" "${@:2}" "$1"
}

# unlock DEV NAME [OPTION]...
unlock() {
	defer dm_remove "$2"
	cryptsetup open --key-file "$TMP/key" "${@:3}" "$1" "$2"
}

# occurrences TEXT DEV: number of lines with the text
occurrences() {
	blockdev --flushbufs "$2"
	tr '\0' '\n' <"$2" | grep -acF "$1" || :
}

# LUKS2 on a set: no text can be read on the members, and discards pass.
test_luks() {
	local text="nobody is to read this $RANDOM$RANDOM$RANDOM"
	need cryptsetup
	the_set
	originals
	luks "$SET"
	unlock "$SET" safe --allow-discards
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/safe
	mounted /dev/mapper/safe
	seq 1000 | sed "s/.*/$text/" >"$TMP/mnt/secret"
	moving copies
	held safe
	umount "$TMP/mnt"
	at_least "lines that can be read above" "$(occurrences "$text" /dev/mapper/safe)" 1000
	cryptsetup close safe
	reopened
	same "lines that can be read on the fast member" "$(occurrences "$text" "$FAST")" 0
	same "lines that can be read on the slow member" "$(occurrences "$text" "$SLOW")" 0
	unlock "$SET" safe --allow-discards
	whole /dev/mapper/safe e2fsck -fn
	mounted /dev/mapper/safe
	compare two
	copy one
	frees one
	compare two
	umount "$TMP/mnt"
	cryptsetup close safe
	good fusionctl close stack
}

# LUKS2 below both members, one of them with sectors of 4 KiB.
test_luks_below() {
	local i
	need cryptsetup
	members 128 320
	luks /dev/fast
	luks /dev/slow --sector-size 4096
	for i in fast slow; do
		unlock /dev/$i $i-safe
	done
	FAST=/dev/mapper/fast-safe SLOW=/dev/mapper/slow-safe
	the_set
	used
	for i in fast slow; do
		cryptsetup close $i-safe
	done
	# without the key, not even the set is visible
	rm -rf /run/fusion
	good fusionctl assemble --scan
	same "open sets" "$(sets)" ""
	unlock /dev/fast fast-safe
	refused "the slow one is missing" fusionctl assemble --scan
	unlock /dev/slow slow-safe
	good fusionctl assemble --scan
	still_there "fast-safe slow-safe"
	good fusionctl close stack
}

# -- LVM and partitions above ----------------------------------------------------------

# larger: more files than the volume had room for before it was extended
larger() {
	local i
	for i in 1 2 3 4; do
		rm -rf "$TMP/mnt/more-$i"
		copy "more-$i"
	done
	compare more-1
	compare more-4
}

# Volumes on a set; one is extended with its file system. lvremove with discards frees its extents.
test_lvm_above() {
	local all mapped i
	need lvm
	the_set
	originals
	quiet lvm pvcreate "$SET"
	quiet lvm vgcreate pool "$SET"
	defer dm_remove pool-one
	defer dm_remove pool-two
	quiet lvm lvcreate -n one -L 96M pool
	# between the parts of the first volume
	quiet lvm lvcreate -n two -L 32M pool
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/pool-one
	mounted /dev/mapper/pool-one
	moving copies
	all=$(df --output=size -B 1M "$TMP/mnt" | tail -n 1)
	quiet lvm lvextend -L +100M pool/one
	quiet resize2fs /dev/mapper/pool-one
	at_least "MiB of the file system" "$(df --output=size -B 1M "$TMP/mnt" | tail -n 1)" \
		$((all + 80))
	moving larger
	compare two
	held pool-
	umount "$TMP/mnt"
	held pool-
	quiet lvm vgchange -an pool
	reopened
	quiet lvm vgchange -ay pool
	whole /dev/mapper/pool-one e2fsck -fn
	mounted /dev/mapper/pool-one
	compare two
	for i in 1 2 3 4; do
		compare "more-$i"
	done
	umount "$TMP/mnt"
	mapped=$(status stack mapped)
	quiet lvm lvremove -y --config devices/issue_discards=1 pool/one
	within 30 "settled" settled stack
	say "$mapped extents mapped, $(status stack mapped) after lvremove"
	at_most "extents still mapped" "$(status stack mapped)" $(((2 << 20) / EXTENT))
	quiet lvm vgchange -an pool
	good fusionctl close stack
}

# partitions: map the partitions on the set
partitions() {
	quiet kpartx -a -s "$SET"
	dmsetup mknodes >/dev/null
}

# Partitions on a set, which does not close while there are any.
test_kpartx() {
	need kpartx
	the_set
	originals
	printf 'label: gpt\nsize=48MiB\nsize=256MiB\n' |
		quiet sfdisk --no-reread --no-tell-kernel "$SET"
	defer dm_remove stack1
	defer dm_remove stack2
	partitions
	same "size of the second in MiB" $(($(sectors_of /dev/mapper/stack2) / 2048)) 256
	# nothing of the first may reach the second
	put /dev/mapper/stack1 245 0 $((48 << 20))
	mkfs.ext4 -q /dev/mapper/stack2
	mounted /dev/mapper/stack2
	moving copies
	held stack
	umount "$TMP/mnt"
	held stack
	quiet kpartx -d "$SET"
	reopened
	partitions
	head -c 48M /dev/zero | tr '\0' '\245' | cmp - /dev/mapper/stack1
	whole /dev/mapper/stack2 e2fsck -fn
	mounted /dev/mapper/stack2
	compare two
	umount "$TMP/mnt"
	quiet kpartx -d "$SET"
	good fusionctl close stack
}

# -- LVM and partitions below ----------------------------------------------------------

declare -A LOOP FILE

# unplug ROLE: remove its disk; wait for processes such as udev that hold it
unplug() {
	events_done
	losetup -d "${LOOP[$1]}"
	within 10 "detaching" test ! -e "/sys/block/${LOOP[$1]#/dev/}/loop"
	events_done
}

# lv ROLE MIB: a logical volume, not at the start of its disk
lv() {
	loop $((($2 + 32) << 20))
	LOOP[$1]=$REPLY FILE[$1]=$(losetup -nO BACK-FILE "$REPLY")
	quiet lvm pvcreate "$REPLY"
	quiet lvm vgcreate "vg$1" "$REPLY"
	defer dm_remove "vg$1-member"
	quiet lvm lvcreate -n other -L 8M "vg$1"
	quiet lvm lvcreate -n member -L "$2M" "vg$1"
	defer dm_remove "vg$1-other"
	REPLY=/dev/mapper/vg$1-member
}

lv_goes() {
	quiet lvm vgchange -an "vg$1"
	unplug "$1"
}

lv_comes() {
	losetup "${LOOP[$1]}" "${FILE[$1]}"
	events_done
	quiet lvm vgchange -ay "vg$1"
}

# partition ROLE MIB: the second partition of its disk
partition() {
	loop $((($2 + 16) << 20))
	LOOP[$1]=$REPLY FILE[$1]=$(losetup -nO BACK-FILE "$REPLY")
	printf 'label: gpt\nsize=8MiB\nsize=%dMiB\n' "$2" | sfdisk -q "${FILE[$1]}"
	unplug "$1"
	partition_comes "$1"
	REPLY=${LOOP[$1]}p2
}

partition_goes() {
	unplug "$1"
}

partition_comes() {
	losetup -P "${LOOP[$1]}" "${FILE[$1]}"
	within 10 "partition" test -b "${LOOP[$1]}p2"
	events_done
}

# one_set: it is open on the two members, not on the devices below them, and has the files
one_set() {
	events_done
	still_there "$(printf '%s\n' "${FAST##*/}" "${SLOW##*/}" | sort | xargs)"
}

# members_are KIND KIND: the fast one, the slow one
members_are() {
	need lvm
	# shellcheck disable=SC2119 # its options are its own
	udev
	"$1" fast 96
	FAST=$REPLY
	"$2" slow 288
	SLOW=$REPLY
	events_done
	defer dm_remove stack
	good fusionctl create stack --yes --fast "$FAST" --slow "$SLOW" --extent-size $EXTENT
	eager
	used
	events_done
	same "open sets" "$(sets)" ""
	good fusionctl assemble --scan
	one_set
	good fusionctl assemble --scan
	one_set
	good fusionctl close stack
	# and by udev, whichever is first
	"$1_goes" fast
	"$2_goes" slow
	"$2_comes" slow
	events_done
	same "open sets" "$(sets)" ""
	"$1_comes" fast
	one_set
	good fusionctl close stack
	"$2_goes" slow
	"$2_comes" slow
	one_set
	good fusionctl close stack
}

# A logical volume as the fast member and a partition as the slow one: assemble --scan and udev open
# one device.
test_lv_and_partition() {
	members_are lv partition
}

# The other way round.
test_partition_and_lv() {
	members_are partition lv
}

# -- mirrors below -------------------------------------------------------------------

in_sync() {
	dmsetup status twins-fast | grep -q ' AA \([0-9]*\)/\1 '
}

# Each half of a RAID 1 of LVM looks like the member. Neither is taken for the member or for a
# clone, also after one half is lost.
test_mirror_below() {
	local i
	need lvm
	need_module dm-raid
	need_module raid1
	for i in a b; do
		loop $((112 << 20))
		quiet lvm pvcreate "$REPLY"
		LOOP[$i]=$REPLY
	done
	quiet lvm vgcreate twins "${LOOP[a]}" "${LOOP[b]}"
	for i in rmeta_0 rmeta_1 rimage_0 rimage_1; do
		defer dm_remove "twins-fast_$i"
	done
	defer dm_remove twins-fast
	quiet lvm lvcreate -y --type raid1 -m 1 -n fast -L 96M twins
	within 100 "the halves are the same" in_sync
	null slow 288
	FAST=/dev/mapper/twins-fast SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	still_there "slow twins-fast"
	good fusionctl close stack
	quiet lvm vgchange -an twins
	# one half is lost: the mirror is still the member
	head -c 1M /dev/zero | dd of="${LOOP[a]}" bs=1M conv=notrunc,fsync status=none
	quiet lvm vgchange -ay --activationmode degraded twins
	good fusionctl assemble --scan
	still_there "slow twins-fast"
	good fusionctl close stack
	quiet lvm vgchange -an twins
}

md_stop() {
	[[ ! -e /sys/block/md0/md ]] || mdadm -q --stop /dev/md0
}

# So does each half of an md RAID 1 with its superblock at the end. The halves are visible even
# while the mirror is not assembled, and a write to one of them would make them differ.
test_md_below() {
	local i
	need mdadm
	need_module raid1
	null half1 112
	null half2 112
	null slow 288
	defer md_stop
	quiet mdadm --create /dev/md0 --run --metadata=1.0 --level=1 --raid-devices=2 /dev/half1 \
		/dev/half2
	FAST=/dev/md0 SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	same "below" "$(below)" "md0 slow"
	good fusionctl close stack
	# the mirror becomes idle after some time
	mdadm -q --wait /dev/md0 || :
	quiet mdadm --stop /dev/md0
	rm -rf /run/fusion
	# two halves, and one
	refused "the fast one is missing" fusionctl assemble --scan
	null_remove half2
	refused "the fast one is missing" fusionctl assemble --scan
	refused "its fast member is missing" fusionctl open stack
	same "open sets" "$(sets)" ""
	quiet mdadm --assemble --run /dev/md0 /dev/half1
	good fusionctl assemble --scan
	still_there "md0 slow"
	good fusionctl close stack
	quiet mdadm --stop /dev/md0
}

# -- several paths below ---------------------------------------------------------------

# Each of two paths to a disk looks like the member. Neither is taken for it, or for a clone, and
# one may fail. Without their mapping the set stays closed.
test_multipath_below() {
	local paths i table
	need_module dm-multipath
	need_module dm-round-robin
	loop $((96 << 20))
	paths=("$REPLY" "$(losetup -f --show "$(losetup -nO BACK-FILE "$REPLY")")")
	defer losetup -d "${paths[1]}"
	null slow 288
	table="0 $((96 << 11)) multipath 0 0 1 1 round-robin 0 2 1"
	for i in "${paths[@]}"; do
		table+=" $(lsblk -ndo MAJ:MIN "$i" | tr -d ' ') 1"
	done
	defer dm_remove paths
	good dmsetup create paths --table "$table"
	FAST=/dev/mapper/paths SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	still_there "paths slow"
	# one of them fails while the set is open
	good dmsetup message paths 0 fail_path "$(lsblk -ndo MAJ:MIN "${paths[0]}" | tr -d ' ')"
	still_there "paths slow"
	good fusionctl close stack
	# the mapping has not been made yet
	good dmsetup remove paths
	rm -rf /run/fusion
	refused "both" fusionctl assemble --scan
	same "open sets" "$(sets)" ""
	good dmsetup create paths --table "$table"
	good fusionctl assemble --scan
	still_there "paths slow"
	good fusionctl close stack
}

# -- checksums below -------------------------------------------------------------------

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

# -- swap ------------------------------------------------------------------------------

# remember MIB FILE: fill so much memory, read all of it three times, create the file, and read once
# more when the file is gone
remember() {
	exec perl -e '
		my ($mib, $file) = @ARGV;
		my @memory;
		sub content { pack("N2", @_) x 8192 }
		sub look {
			my $pass = shift;
			for (0 .. $#memory) {
				$memory[$_] eq content($_, $pass) or die "pass $pass: piece $_ is wrong\n";
			}
		}
		for my $pass (1 .. 3) {
			$memory[$_] = content($_, $pass) for 0 .. $mib * 16 - 1;
			look($pass);
		}
		open(my $f, ">", $file) or die;
		select(undef, undef, undef, 0.1) while -e $file;
		look(3)' "$1" "$2"
}

# remember_in GROUP MIB FILE: the same in a control group
remember_in() {
	echo "$BASHPID" >"$1/cgroup.procs"
	remember "$2" "$3"
}

swap_off() {
	! grep -q "^$1 " /proc/swaps || swapoff "$1"
}

# swap_on MIB: a swap file of that size on the set
swap_on() {
	mkfs.ext4 -q "$SET"
	mounted "$SET"
	dd if=/dev/zero of="$TMP/mnt/swap" bs=1M count="$1" conv=fsync status=none
	chmod 600 "$TMP/mnt/swap"
	quiet mkswap "$TMP/mnt/swap"
	defer swap_off "$TMP/mnt/swap"
	swapon "$TMP/mnt/swap"
}

# paged KEY: pages written to swap, or read from there
paged() {
	sed -n "s/^$1 //p" /proc/vmstat
}

# swaps PAGES COMMAND...: the command swaps that many pages out, and as many in, while extents move;
# its memory is still correct after swapoff
swaps() {
	local out in pid storm rc=0
	out=$(paged pswpout) in=$(paged pswpin)
	background storm stack
	storm=$REPLY
	background "${@:2}" "$TMP/remembers"
	pid=$REPLY
	within 400 "memory written and read" remembers "$pid"
	[[ -e $TMP/remembers ]] || wait "$pid" || rc=$?
	same "status of what remembers" $rc 0
	out=$(($(paged pswpout) - out)) in=$(($(paged pswpin) - in))
	say "$out pages swapped out, $in in"
	at_least "pages swapped out" "$out" "$1"
	at_least "pages swapped in" "$in" "$1"
	within 100 "extents move" enough stack
	finish "$storm"
	say "$(status stack promotions) promotions, $(status stack demotions) demotions"
	at_least "KiB in swap" "$(awk 'NR == 2 { print $4 }' /proc/swaps)" $((8 << 10))
	expect 5 "stack: is mounted on $TMP/mnt; unmount it first" fusionctl close stack
	room
	limited 200 swapoff "$TMP/mnt/swap"
	rm "$TMP/remembers"
	wait "$pid" || fail "what was in swap is lost"
	umount "$TMP/mnt"
	whole "$SET" e2fsck -fn
	reopened
	whole "$SET" e2fsck -fn
	good fusionctl close stack
}

# remembers PID: or it has ended
remembers() {
	[[ -e $TMP/remembers ]] || ! kill -0 "$1"
}

no_group() {
	rmdir "$TMP/groups/small"
	umount "$TMP/groups"
}

# A swap file for a program that may use little memory, and swapoff of that file.
test_swap_file() {
	members 96 320
	the_set
	swap_on 192
	mkdir "$TMP/groups"
	mount -t cgroup2 none "$TMP/groups"
	echo +memory >"$TMP/groups/cgroup.subtree_control"
	mkdir "$TMP/groups/small"
	defer no_group
	echo 48M >"$TMP/groups/small/memory.max"
	room() {
		echo max >"$TMP/groups/small/memory.max"
	}
	# all that does not fit, in each of three passes
	swaps $((3 * (160 - 48) << 8)) remember_in "$TMP/groups/small" 160
}

# available: MiB of memory
available() {
	awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}

# leave MIB: fill a disk in RAM with the rest of the memory
leave() {
	local at=0 n
	quiet modprobe brd rd_nr=1 rd_size=$((2 << 20))
	defer give_back
	echo 3 >/proc/sys/vm/drop_caches
	while n=$(($(available) - $1)) && [[ $n -gt 0 ]]; do
		dd if=/dev/zero of=/dev/ram0 bs=1M seek=$at count=$n oflag=direct status=none
		at=$((at + n))
	done
	say "$(available) MiB of memory left"
}

give_back() {
	! lsmod | grep -q '^brd ' || rmmod brd
}

# No process has free memory: moving extents, and swapping to them, also takes some.
test_swap_in_need() {
	[[ ${VM_DISKS:-} ]] || skip "no disks that are not in memory"
	need_module dm-fusion
	read -r FAST SLOW <<<"$VM_DISKS"
	# the content would outlive the test, and others examine all disks
	defer put_direct "$FAST" 0 0 65536
	defer put_direct "$SLOW" 0 0 65536
	the_set
	swap_on 512
	leave 160
	room() {
		give_back
	}
	swaps $(((352 - 200) << 8)) remember 352
}

run_tests
