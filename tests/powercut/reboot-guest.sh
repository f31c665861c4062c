#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: reboot-guest.sh orderly|sudden|stuck|busy|again
#
# The script in the VM of vm-reboot: fill the journal of a set, flush, and leave the set open. Busy:
# all has shadows, and is written to when the machine goes down. Again: what that has left.

set -euo pipefail
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH

read -ra disks <<<"$VM_DISKS"
fast=${disks[0]}
modprobe dm-fusion
if [[ $1 == again ]]; then
	fusionctl open root "$fast" "${disks[1]}" >/dev/null
	fusionctl status root --json
	exit
fi
if [[ $1 == stuck ]]; then
	# I/O to a suspended device waits there
	dmsetup create fast --table "0 $(blockdev --getsz "$fast") linear $fast 0"
	dmsetup mknodes
	fast=/dev/mapper/fast
fi
fusionctl format --yes --force --fast "$fast" --slow "${disks[1]}" --extent-size 64K >/dev/null
fusionctl open root "$fast" "${disks[1]}" >/dev/null
for ((i = 0; i < EXTENTS; i++)); do
	dd if=/dev/urandom of=/dev/mapper/root bs=64k count=1 seek=$((i * 7 % EXTENTS)) \
		conv=notrunc,fsync oflag=direct status=none
done
echo "written $EXTENTS"
case $1 in
sudden)	sleep 300 ;;	# until it is killed
stuck)	dmsetup suspend --nolockfs --noflush fast ;;
busy)
	fusionctl set root shadow_age=1 replica_interval=1 >/dev/null
	for ((i = 0; i < 60; i++)); do
		[[ $(fusionctl status root) != *"protected 100 %"* ]] || break
		sleep 1
	done
	while :; do
		dd if=/dev/urandom of=/dev/mapper/root bs=64k count=1 seek=$((RANDOM % EXTENTS)) \
			conv=notrunc oflag=direct,dsync status=none || exit
	done &
	sleep 2
	;;
esac
