# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the scripts here: paths, and error messages.
# shellcheck disable=SC2034 # used by those who source this

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# mkfs and the like, for users other than root
PATH=$PATH:/usr/sbin:/sbin

# Downloaded kernels and built ones live outside the tree, so that a second
# clone and a `git clean` do not cost them.
CACHE=${DM_FUSION_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/dm-fusion}

# Kernels of the distribution under test, with the metapackage that names the current one of each
# series.
KERNELS=(6.1 6.12)
declare -A KERNEL_META=([6.1]=linux-image-amd64 [6.12]=linux-image-6.12-amd64)

die() {
	local rc=1
	if [[ $1 == -[0-9]* ]]; then
		rc=${1#-}
		shift
	fi
	echo "${0##*/}: $*" >&2
	exit "$rc"
}

# copy_tree DIRECTORY: copy the tree there, without build products
copy_tree() {
	mkdir "$1"
	(cd "$TREE" && git ls-files -z --cached --others --exclude-standard |
		tar --null -T - -c --ignore-failed-read -f -) | tar -x -f - -C "$1"
}

# Without these processor flags, an open /dev/kvm hangs.
have_kvm() {
	[[ -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo
}

# What a processor of QEMU's translator must not have, or should not.
#
# cx16: before QEMU 8.0, cmpxchg16b may take the low half of a pointer for the processor's flags. The
# allocator of 6.12 uses the instruction, and the next interrupt returns with these flags. With the
# direction flag among them, the kernel zeroes the wrong memory. It takes some hundred hours to meet;
# flags that no processor has, such as 14dc0693, are the sign.
TCG_CPU=max,cx16=off
# A fifth level of page tables makes each miss of the TLB dearer, and smap ends a translated block at
# each access to user memory. Not for the virtual clock, which counts instructions.
# shellcheck disable=SC2034 # for those that source this
TCG_CPU_FASTER=$TCG_CPU,la57=off,smap=off

# qemu_disk NUMBER DISK CACHE [PROPERTY]: set QEMU_DISK to the options for a disk with that image.
# Its serial number is the name of the image; with scsi:IMAGE it also has a model, and with
# nvme:IMAGE SMART.
qemu_disk() {
	local file=${2#scsi:} serial device
	file=${file#nvme:}
	serial=${file##*/}
	serial=${serial%.*} serial=${serial//[^a-zA-Z0-9_-]/-}
	QEMU_DISK=(-drive "file=$file,format=raw,if=none,id=disk$1,cache=$3,discard=unmap")
	device=virtio-blk-pci
	if [[ $2 == scsi:* ]]; then
		QEMU_DISK+=(-device "virtio-scsi-pci,id=scsi$1")
		device="scsi-hd,bus=scsi$1.0,vendor=FUSION,product=SPINDLE 7200"
	elif [[ $2 == nvme:* ]]; then
		device=nvme
	fi
	QEMU_DISK+=(-device "$device,drive=disk$1,serial=${serial:0:20}${4:+,$4}")
}

# in_chroot ROOT COMMAND...: with a /proc and /dev of its own, which vanish at the end, as its
# children do. Nothing of this machine is mounted there
# shellcheck disable=SC2016 # the shell inside expands it
in_chroot() {
	unshare --mount --pid --fork --kill-child bash -c '
		set -e
		mount -t proc proc "$1/proc"
		mount -t tmpfs dev "$1/dev"
		mkdir "$1/dev/shm"
		for i in null:3 zero:5 full:7 random:8 urandom:9; do
			mknod -m 666 "$1/dev/${i%:*}" c 1 "${i#*:}"
		done
		ln -s /proc/self/fd "$1/dev/fd"
		for i in stdin:0 stdout:1 stderr:2; do
			ln -s "fd/${i#*:}" "$1/dev/${i%:*}"
		done
		exec chroot "$@"
	' bash "$@" </dev/null
}

# udev's own rules for disks.
UDEV_RULES=(50-udev-default 60-block 60-persistent-storage)

# Debian's newest kernel has the name "newest": scripts/newest.

# The kernels of scripts/debug-kernel.
DEBUG_KERNELS=(uml uml-san uml-fs debug kcsan)

is_debug_kernel() {
	[[ " ${DEBUG_KERNELS[*]} " == *" $1 "* ]]
}

# A kernel is in the cache if its release file is, since that is written last.
kernel_dir() {
	if is_debug_kernel "$1"; then
		"$TREE/scripts/debug-kernel" "$1"
	else
		echo "$CACHE/kernel/$1"
	fi
}

have_kernel() {
	[[ -s $(kernel_dir "$1")/release ]]
}

kernel_release() {
	local dir
	dir=$(kernel_dir "$1")
	[[ -s $dir/release ]] || die "kernel $1 is not in $CACHE: run scripts/setup vm"
	cat "$dir/release"
}

# kernel_files DEB DIRECTORY: unpack a package of a kernel there. Of 4,000 modules only those that
# a VM may load are unpacked.
kernel_files() {
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards \
		--exclude '*/modules/*/kernel/sound' \
		--exclude '*/modules/*/kernel/drivers/[!bmvscn]*' \
		--exclude '*/modules/*/kernel/drivers/net' \
		--exclude '*/modules/*/kernel/drivers/media' \
		--exclude '*/modules/*/kernel/drivers/staging'
}

# vmlinux BZIMAGE: the ELF image inside, found by the boot protocol's header
# (Documentation/arch/x86/boot.rst): it boots by PVH in half the time.
vmlinux() {
	local setup offset length
	setup=$(od -An -tu1 -j $((0x1f1)) -N 1 "$1")
	offset=$(od -An -tu4 -j $((0x248)) -N 4 "$1")
	length=$(od -An -tu4 -j $((0x24c)) -N 4 "$1")
	local start=$(((setup + 1) * 512 + offset))
	# the last 4 bytes are the size of what comes out, not compressed data
	payload() {
		dd if="$1" bs=1M iflag=skip_bytes,count_bytes skip=$start \
			count=$((length - 4)) status=none
	}
	case $(od -An -tx1 -j $start -N 4 "$1" | tr -d ' ') in
	28b52ffd) payload "$1" | zstd -qdc ;;
	fd377a58) payload "$1" | xz -dc --single-stream ;;
	1f8b*)	  payload "$1" | gzip -dc ;;
	*)	  die "$1: unknown compression" ;;
	esac
}
