#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl doctor and status --check report each problem of a system, its members and its sets,
# with its remedy, and nothing else. There is no initramfs to examine here.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# doctor CODE [OPTION]...: run it, and keep its findings for found
doctor() {
	expect "$1" '' fusionctl doctor --json "${@:2}"
}

# found SUBJECT LEVEL TEXT [REMEDY]: the last doctor reported this
found() {
	jq -e --arg subject "$1" --arg level "$2" --arg text "$3" --arg remedy "${4:-}" \
		'.findings[] | select(.subject == $subject and .level == $level and
			(.text | contains($text)) and (.remedy // "" | contains($remedy)))' \
		"$TMP/out" >/dev/null || fail "expected $*: $(jq -c '.findings[]' "$TMP/out")"
}

# count SUBJECT WANT: number of findings about SUBJECT that are not ok
count() {
	same "findings of $1" "$(jq --arg subject "$1" '[.findings[] |
		select(.subject == $subject and .level != "ok")] | length' "$TMP/out")" "$2"
}

# nothing_well SUBJECT: no finding about it is ok
nothing_well() {
	same "what is well of $1" "$(jq --arg subject "$1" '[.findings[] |
		select(.subject == $subject and .level == "ok")] | length' "$TMP/out")" 0
}

# tree: an empty system, in REPLY
tree() {
	REPLY=$TMP/root
	mkdir -p "$REPLY"/{boot,etc,usr/lib/modules,usr/lib/udev/rules.d}
	ln -sfn usr/lib "$REPLY/lib"
	touch "$REPLY/usr/lib/udev/rules.d/"{55-dm,69-fusion}.rules
}

# kernel RELEASE [with]: install it in the tree; with: including the module of the running kernel
kernel() {
	local dir=$TMP/root/usr/lib/modules/$1 here
	here=/lib/modules/$(uname -r)
	mkdir -p "$dir/kernel" "$dir/updates"
	touch "$dir/modules.builtin" "$dir/modules.order"
	[[ ! ${2:-} ]] || cp "$(modinfo -n dm-fusion)" "$dir/updates"
	depmod -b "$TMP/root" "$1"
}

# -- the system ------------------------------------------------------------------

test_module_of_each_kernel() {
	need depmod modinfo
	tree
	kernel "$(uname -r)" with
	kernel 6.99.1-without
	kernel 6.99.2-other with
	mkdir -p "$TMP/root/usr/lib/modules/6.99.3-removed/updates"
	doctor 1 --root "$TMP/root"
	found "kernel $(uname -r)" ok "has the module"
	found "kernel 6.99.1-without" warning "has no module dm-fusion" \
		"dkms autoinstall -k 6.99.1-without"
	found "kernel 6.99.2-other" warning "was built for another kernel" "dkms install --force"
	count "kernel 6.99.3-removed" 0
}

test_initramfs_is_missing() {
	need depmod modinfo
	tree
	kernel "$(uname -r)" with
	doctor 0 --root "$TMP/root"
	found "kernel $(uname -r)" note "has no initramfs in the usual places"
}

test_unsigned_module_and_secure_boot() {
	local dir=/sys/firmware/efi/efivars
	need depmod modinfo
	tree
	kernel "$(uname -r)" with
	mount -t tmpfs none /sys/firmware
	defer umount /sys/firmware
	mkdir -p $dir
	printf '\6\0\0\0\0' >$dir/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
	doctor 0 --root "$TMP/root"
	printf '\6\0\0\0\1' >$dir/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
	doctor 4 --root "$TMP/root"
	found "kernel $(uname -r)" error "the module is not signed" "dkms generate_mok"
}

test_hooks() {
	local root
	tree
	root=$REPLY
	doctor 1 --root "$root"	# no kernel
	found udev ok "has 69-fusion.rules"
	rm "$root/usr/lib/udev/rules.d/"*
	mkdir -p "$root/usr/sbin" "$root/usr/bin" "$root/usr/lib/systemd" "$root/etc"
	touch "$root/usr/sbin/update-initramfs" "$root/usr/bin/"{dracut,mkinitcpio} \
		"$root/usr/lib/systemd/systemd"
	echo 'HOOKS=(base udev block filesystems)' >"$root/etc/mkinitcpio.conf"
	doctor 1 --root "$root"
	found udev warning "sets do not open automatically" "reinstall fusion-utils"
	found udev warning "no links in /dev" "reinstall dmsetup"
	found initramfs-tools note "hooks/fusion"
	found dracut note "50fusion"
	found mkinitcpio note "does not seem to name fusion"
	found systemd warning "a missing member is not reported"
	found systemd warning "checkpoint at shutdown"
	echo 'HOOKS=(base udev block fusion filesystems)' >"$root/etc/mkinitcpio.conf"
	doctor 1 --root "$root"
	count mkinitcpio 1
}

# Some notes become errors if the root is on a set.
test_root_on_a_set() {
	local root=$TMP/mnt
	need mkfs.ext4
	members 96 128
	opened root --extent-size 64K
	mkfs.ext4 -q "$SET"
	mkdir "$root"
	mount "$SET" "$root"
	defer umount "$root"
	mkdir -p "$root"/{boot,etc} "$root/usr/lib/modules/6.99.1-without/kernel" "$root/usr/sbin"
	ln -s usr/lib "$root/lib"
	touch "$root/usr/sbin/update-initramfs"
	doctor 4 --root "$root"
	json .root_on_set true
	found root warning "has no kernel" "mount its partition there"
	touch "$root/boot/vmlinuz-6.99.1-without"
	doctor 4 --root "$root"
	found root error "no boot loader can read" "partition of its own"
	found "kernel 6.99.1-without" error "has no module dm-fusion"
	found initramfs-tools error "hooks/fusion"
}

test_bad_directory() {
	expect 8 "/nowhere: No such file or directory; give the directory where the system is mounted" \
		fusionctl doctor --root /nowhere
	expect 8 "/dev/null: not a directory; give the one where the system is mounted" \
		fusionctl doctor --root /dev/null
}

# -- members and sets ------------------------------------------------------------

test_sets() {
	local copy rc
	members 64 128
	opened data --extent-size 64K
	rc=0
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "set data" ok "is open and healthy"
	good fusionctl close data
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "set fusion" ok "is closed, both members are present"
	dmsetup create half --notable -u "FUSION-$(uuid_of "$FAST")"
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "set half" error "has no table" "dmsetup remove half"
	dmsetup remove half
	null copy 64
	copy=$REPLY
	cat "$FAST" >"$copy"
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "$FAST" error "claims to be the same member as $copy" "detach one"
	put_direct "$copy" 0 0 1048576
	damage "$FAST" 0
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "$FAST" warning "one copy of its superblock is damaged" "repair"
	damage "$FAST" 1
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "$FAST" error "its superblocks are damaged" "repair with both members"
	found "set fusion" error "its slow member, the other member is missing" "connect it"
}

# look: run doctor for members and sets only
look() {
	fusionctl doctor --json >"$TMP/out" || :
}

# refused_set TEXT [WORDS]: doctor reports the set once with TEXT, and assemble with TEXT or WORDS
refused_set() {
	look
	found "set fusion" error "$1"
	count "set fusion" 1
	nothing_well "set fusion"
	rm -rf /run/fusion
	refused "${2:-$1}" fusionctl assemble --scan
}

a_pair() {
	members 64 128
	opened pair --extent-size 64K
	good fusionctl close pair
}

# An SSD that was away, or was replaced by an old copy of itself.
test_stale_member() {
	a_pair
	replaced "$FAST" "$TMP/old"
	good fusionctl open pair "$FAST" "$SLOW"
	good fusionctl close pair
	replaced "$TMP/old" "$FAST"
	refused_set "the fast member is from before the last opening" "is from the past"
}

test_other_geometry() {
	a_pair
	# the slow member records a larger size of the fast one
	poke "$SLOW" 392:8=$((65 * 2048))
	refused_set "the two members disagree on the geometry of the set"
}

# A member of the same set, of either role, but not the one that the other member names.
test_foreign_member() {
	local role of
	a_pair
	null other-fast 64
	null other-slow 128
	for role in fast slow; do
		of=$FAST
		[[ $role == fast ]] || of=$SLOW
		replaced "$of" /dev/other-$role
		poke /dev/other-$role 96:8=4711
		look
		found /dev/other-$role error "is not the $role member that belongs to the set fusion" \
			"detach it"
		found "set fusion" ok "is closed, both members are present"
		put_direct /dev/other-$role 0 0 65536
	done
	# it takes the place of the member that belongs to the set
	poke "$SLOW" 96:8=4711
	look
	found "$SLOW" error "is not the slow member that belongs to the set fusion" "detach it"
	found "set fusion" error "its fast member, the other member is missing"
	count "set fusion" 1
}

# Sets that do not open automatically although nothing is wrong with the pair.
test_pair_that_stays_closed() {
	a_pair
	blockdev --setro "$SLOW"
	look
	found "$SLOW" warning "is read-only, so the set fusion is not opened automatically" \
		"blockdev --setrw"
	blockdev --setrw "$SLOW"
	# a feature of a newer release
	poke "$SLOW" 64:8=$((1 << 40))
	poke "$FAST" 64:8=$((1 << 40))
	look
	found "$FAST" warning "has features of a newer version: ro_compat 0x10000000000, \
and may only be read, so the set fusion is not opened automatically" \
		"use a newer fusionctl"
}

# Neither of two copies is opened, so nothing is ok.
test_copied_member() {
	a_pair
	null copy 128
	replaced "$SLOW" /dev/copy
	look
	found "$SLOW" error "claims to be the same member as /dev/copy" "detach one"
	nothing_well "set fusion"
}

test_for_people() {
	local out
	members 64 128
	format --extent-size 64K
	out=$(fusionctl doctor || :)
	has "doctor" "$out" "ok       set fusion: is closed, both members are present"
	[[ $out =~ [0-9]+" error"s?", "[0-9]+" warning"s?$ ]] || fail "no sum: $out"
}

# -- status --check --------------------------------------------------------------

# checked CODE TEXT [NAME]: the line of status --check begins with TEXT
checked() {
	expect "$1" '' fusionctl status --check ${3:+"$3"}
	[[ $(<"$TMP/out") == "$2"* ]] || fail "expected $2: $(<"$TMP/out")"
	same "lines" "$(wc -l <"$TMP/out")" 1
}

test_status_check() {
	local rc
	checked 3 "FUSION UNKNOWN - no set is open"
	expect 3 '' setpriv --reuid 65534 "$(command -v fusionctl)" \
		status --check
	same "line" "$(<"$TMP/out")" "FUSION UNKNOWN - needs root, use sudo"
	linked 64 128
	opened data --extent-size 64K
	checked 0 "FUSION OK - 1 set open and healthy |"
	checked 0 "FUSION OK - 1 set open and healthy | 'data_fast_used'=" data
	expect 3 "nodata: no such set is open; did you mean data?" fusionctl status --check nodata
	fusionctl close data
	expect 3 "fusion: is closed; fusionctl open fusion opens it" fusionctl status --check fusion
	shows "FUSION UNKNOWN - fusion: is closed; fusionctl open fusion opens it |"
	fusionctl open data "$FAST" "$SLOW"
	expect 2 "--check: goes without --json and --watch; leave them out" \
		fusionctl status --check --json
	dmsetup suspend data
	checked 1 "FUSION WARNING - data: is suspended, all I/O waits; dmsetup resume it |"
	dmsetup resume data
	fast_fails data
	checked 2 "FUSION CRITICAL - data: has switched to read-only after an error; see dmesg"
	rc=0
	fusionctl doctor --json >"$TMP/out" || rc=$?
	found "set data" error "has switched to read-only"
	same "exit status" $rc 4
}

# One set that cannot be examined does not hide the state of the others.
test_status_check_of_several() {
	local not_there
	linked 64 128
	opened data --extent-size 64K
	null other 8
	null third 8
	# on one device alone, it would be what is left of a set that was released
	dm strange "0 2048 linear /dev/other 0
2048 2048 linear /dev/third 0" -u FUSION-strange
	not_there="strange: could not be examined; see standard error"
	several 3 "FUSION UNKNOWN - $not_there |"
	dmsetup suspend data
	several 3 "FUSION UNKNOWN - " "data: is suspended" "$not_there"
	dmsetup resume data
	fast_fails data
	several 2 "FUSION CRITICAL - " "data: has switched to read-only" "$not_there" \
		"'data_fast_used'="
	dm_remove strange
	checked 2 "FUSION CRITICAL - data: has switched to read-only after an error; see dmesg"
}

# several CODE BEGIN TEXT...: the line begins with BEGIN and contains each TEXT
several() {
	local rc=0 line i
	line=$(fusionctl status --check 2>/dev/null) || rc=$?
	same "exit status ($line)" $rc "$1"
	[[ $line == "$2"* ]] || fail "expected $2: $line"
	for i in "${@:3}"; do
		has "line" "$line" "$i"
	done
}

run_tests
