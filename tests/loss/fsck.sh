# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Make, check and mount each file system. Sourced behind lib.sh.
#
# Results of fs_check are in FSCK: "nothing" was wrong, all was "fixed" so that a second check finds
# nothing, or it "failed"; and in FSCK_STATUS the exit status of each program. That of fs_mount is in
# MOUNT: "yes", "rescue" for options that are for emergencies, "no".
# shellcheck disable=SC2034 # for loss.sh

# fs_make DEV
fs_make() {
	case $FS in
	ext4)	mkfs.ext4 -q "$1" ;;
	xfs)	mkfs.xfs -q "$1" ;;
	btrfs)	mkfs.btrfs -q "$1" 2>"$TMP/mkfs" ;;
	*)	fail "FS=$FS: ext4, xfs or btrfs" ;;
	esac
}

# fs_as_it_is: options that mount it without writing or replaying anything
fs_as_it_is() {
	case $FS in
	ext4)	echo ro,noload ;;
	xfs)	echo ro,norecovery ;;
	btrfs)	echo ro,rescue=nologreplay:usebackuproot ;;
	esac
}

# fs_forget: btrfs remembers each device that it has seen, and takes another one with the same
# content for the same
fs_forget() {
	[[ $FS != btrfs ]] || btrfs device scan --forget >/dev/null 2>&1 || :
}

# checked COMMAND...: run it, and remember its status
checked() {
	local rc=0
	timeout 600 "$@" >>"$TMP/fsck" 2>&1 </dev/null || rc=$?
	FSCK_STATUS+="${FSCK_STATUS:+ }${1##*/} $rc"
	return "$rc"
}

fs_check() {
	FSCK=failed FSCK_STATUS=
	: >"$TMP/fsck"
	"check_$FS" "$1"
}

# Without its superblock, e2fsck looks for the first copy only.
check_ext4() {
	local rc=0 group
	checked e2fsck -fy "$1" || rc=$?
	for group in 1 3 5 7 9; do
		[[ $rc -ge 8 ]] || break
		rc=0
		checked e2fsck -fy -b $((group * 32768)) -B 4096 "$1" || rc=$?
	done
	[[ $rc -lt 4 ]] || return 0
	checked e2fsck -fn "$1" || return 0
	# it says so also when it has only replayed the journal
	FSCK=fixed
	[[ $rc -ne 0 ]] || FSCK=nothing
}

# The log is replayed by a mount, or if there can be none, dropped.
check_xfs() {
	local replayed=
	if checked mount -t xfs "$1" "$MNT"; then
		checked umount "$MNT" || return 0
		replayed=1
	fi
	if [[ $replayed ]] && checked xfs_repair -n "$1"; then
		FSCK=nothing
		return
	fi
	checked xfs_repair "$1" || checked xfs_repair -L "$1" || return 0
	! checked xfs_repair -n "$1" || FSCK=fixed
}

check_btrfs() {
	if checked btrfs check --readonly "$1"; then
		FSCK=nothing
		return
	fi
	checked btrfs rescue super-recover -y "$1" || :
	checked btrfs check --repair --force "$1" || :
	! checked btrfs check --readonly --force "$1" || FSCK=fixed
}

# fs_mount DEV DIR
fs_mount() {
	fs_forget
	MOUNT=yes
	! mount -t "$FS" "$1" "$2" 2>/dev/null || return 0
	MOUNT=rescue
	! mount -t "$FS" -o "$(fs_as_it_is)" "$1" "$2" 2>/dev/null || return 0
	MOUNT=no
	return 1
}
