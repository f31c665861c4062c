#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Layers above and below a set: encryption, LVM, partitions, file systems, swap, checksums. Each
# test copies files while extents move, at least a hundred each way, then closes everything;
# fusionctl check must find the set whole. Then it opens the set again, checks the file system, and
# compares the files with their checksums. The layers are in stack-guest/, a file for each kind.

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

# -- the layers ----------------------------------------------------------------

# shellcheck source=/dev/null
for part in "$(dirname "$0")"/stack-guest/*.sh; do
	. "$part"
done

run_tests
