# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Block devices of any kind, in RAM or on top of others, and what sysfs says about them. Each vanishes
# when the test ends. Part of lib.sh.

# need COMMAND...: skip the test without these programs
need() {
	local i
	for i; do
		command -v "$i" >/dev/null || skip "no $i here"
	done
}

need_module() {
	[[ -d /sys/module/${1//-/_} ]] || modprobe -q "$1" || skip "no module $1 here"
}

need_io_uring() {
	need fio
	fio --enghelp=io_uring >/dev/null 2>&1 || skip "this fio has no io_uring"
}

# -- in RAM --------------------------------------------------------------------------

# null NAME MIB [KEY=VALUE]...: a null_blk device that keeps its data
null() {
	local dir=/sys/kernel/config/nullb/$1 name=$1 i
	[[ -d /sys/module/null_blk ]] || modprobe -q null_blk nr_devices=0 ||
		skip "no module null_blk here"
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

# scsi_disk [PARAMETER=VALUE]...: a disk of scsi_debug
scsi_disk() {
	local disk='/sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/sd*'
	need_module sd_mod
	modprobe -q scsi_debug dev_size_mb=64 "$@" || skip "no module scsi_debug here"
	defer modprobe -r scsi_debug
	within 20 "the disk is there" compgen -G "$disk"
	# shellcheck disable=SC2086 # a pattern
	REPLY=/dev/$(basename $disk)
	within 20 "its node is there" test -b "$REPLY"
}

# null_power_cycle NAME: lose the unflushed data of its cache (cache_size=MIB)
null_power_cycle() {
	echo 0 >"/sys/kernel/config/nullb/$1/power"
	echo 1 >"/sys/kernel/config/nullb/$1/power"
	within 5 "/dev/$1" test -b "/dev/$1"
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

# -- device mapper -------------------------------------------------------------------

# dm NAME TABLE [DMSETUP OPTION]...: create a device
dm() {
	defer dm_remove "$1"
	dmsetup create "$1" --table "$2" "${@:3}"
	[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes "$1" >/dev/null
	REPLY=/dev/mapper/$1
}

dm_remove() {
	local state
	state=$(dmsetup info -c --noheadings -o suspended "$1" 2>/dev/null) || return 0
	[[ $state != Suspended ]] || dmsetup resume "$1" 2>/dev/null
	dmsetup remove --retry "$1"
}

# linear NAME DEV START SECTORS: a device of a part of DEV
linear() {
	dm "$1" "0 $4 linear $2 $3"
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

# -- any device ----------------------------------------------------------------------

sectors_of() {
	blockdev --getsz "$1"
}

# stale DEV: fill it with 0xa5, so that leaked data shows
stale() {
	local mib=$TMP/stale all=() left
	[[ -e $mib ]] || head -c 1M /dev/zero | tr '\0' '\245' >"$mib"
	for ((left = $(sectors_of "$1") / 2048; left > 0; left--)); do
		all+=("$mib")
	done
	cat "${all[@]}" | dd of="$1" bs=1M iflag=fullblock oflag=direct status=none
}

# replaced FROM TO: copy one device to another
replaced() {
	dd if="$1" of="$2" bs=1M conv=fsync status=none
}

# read_zero DEV OFFSET BYTES: that part of it must read as zeros
read_zero() {
	local where
	where=$(cmp -n "$3" -i "$2:0" "$1" /dev/zero 2>&1) || fail "$1 from byte $2: $where"
}

# bytes BYTE COUNT: that byte (octal) so many times; to be called in a pipe
bytes() {
	[[ $1 != 0 ]] || exec head -c "$2" /dev/zero
	exec tr '\0' "\\$1" < <(head -c "$2" /dev/zero)
}

# put DEV BYTE OFFSET BYTES: write that byte (octal)
put() {
	bytes "$2" "$4" |
		dd of="$1" bs=64K iflag=fullblock oflag=seek_bytes seek="$3" \
			conv=notrunc,fdatasync status=none
}

# put_direct DEV BYTE OFFSET BYTES: the same, past the page cache, of at most 1 MiB
put_direct() {
	bytes "$2" "$4" |
		dd of="$1" bs="$4" iflag=fullblock oflag=seek_bytes,direct seek="$3" \
			conv=notrunc status=none
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

umount_quietly() {
	! mountpoint -q "$1" || umount "$1"
}
