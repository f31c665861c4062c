# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts here have in common: where things are, and how to complain.
# shellcheck disable=SC2034 # used by those who source this

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# mkfs and the like, for who is not root
PATH=$PATH:/usr/sbin:/sbin

# Downloaded kernels and built ones live outside the tree, so that a second
# clone and a `git clean` do not cost them.
CACHE=${DM_FUSION_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/dm-fusion}

# Kernels of the distribution under test; the metapackage that names the
# current one of each series.
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

# /dev/kvm without these flags of a processor hangs
have_kvm() {
	[[ -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo
}

# Of udev's own rules, those that concern disks.
UDEV_RULES=(50-udev-default 60-block 60-persistent-storage)

# Those of scripts/debug-kernel.
DEBUG_KERNELS=(uml uml-san debug kcsan)

is_debug_kernel() {
	[[ " ${DEBUG_KERNELS[*]} " == *" $1 "* ]]
}

# A kernel is in the cache when its release file is: it is written last.
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
