#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The module leaves nothing behind, neither after a set was closed nor when it is unloaded.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/module

begin() {
	members 16 32
	format --extent-size 64K
}

# kernel memory that a leak would show in, KiB
kernel_memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	awk '/^(SUnreclaim|VmallocUsed|Percpu|KernelStack|PageTables):/ { n += $2 }
	     END { print n }' /proc/meminfo
}

# every tenth set is written to
round() {
	dmsetup create module --table "$TABLE"
	[[ $((i % 10)) -ne 0 ]] ||
		dd if=/dev/zero of=/dev/mapper/module bs=4k count=4 seek=$((RANDOM % 1000)) \
			oflag=direct conv=notrunc status=none
	dmsetup remove module
}

# 1,000 with two kernels
test_rounds() {
	local i rounds=500 warm_up=50 limit=1400 before after
	# the noise of a sanitising kernel would hide a few rounds
	if [[ $QUICK ]]; then
		rounds=30 warm_up=10 limit=8192
	fi
	begin
	TABLE=$(table)
	defer dm_remove module
	for ((i = 0; i < warm_up; i++)); do
		round
	done
	before=$(kernel_memory)
	for ((; i < rounds; i++)); do
		round
	done
	after=$(kernel_memory)
	say "kernel memory after $warm_up rounds $before KiB, after $rounds $after KiB"
	# a page leaked in each round would be more
	at_most "KiB more" $((after - before)) $limit
}

# the loaded module is of the same release as the tool
test_version() {
	need_module dm-fusion
	good fusionctl version --json
	json .fusionctl "$(</sys/module/dm_fusion/version)"
}

test_unload() {
	local left
	begin
	fusion module
	dd if=/dev/urandom of="$SET" bs=1M count=20 oflag=direct status=none
	msg module demote 0-200 >/dev/null
	refused "in use" modprobe -r dm_fusion
	close module
	modprobe -r dm_fusion
	[[ ! -e /sys/module/dm_fusion ]] || fail "dm_fusion is still there"
	left=$(dmsetup targets | grep fusion || :)
	same "targets" "$left" ""
	left=$(cat /proc/[0-9]*/comm 2>/dev/null | grep '^fusion-' || :)
	same "threads" "$left" ""
	left=$(grep -i fusion /proc/slabinfo || :)
	same "slab caches" "$left" ""
	[[ ! -d /sys/kernel/tracing/events/fusion ]] || fail "tracepoints are still there"
	refused "" dmsetup create module --table "0 2048 fusion $FAST $SLOW"
	modprobe dm-fusion
	fusion module
	same "extents mapped" "$(status module mapped)" 320
}

test_reload_module() {
	local i before after rounds=40
	[[ ! $QUICK ]] || rounds=5
	begin
	for ((i = 0; i < rounds; i++)); do
		[[ $i -ne 5 ]] || before=$(kernel_memory)
		modprobe dm-fusion
		dmsetup create module --table "$(table)"
		dmsetup remove module
		modprobe -r dm_fusion
	done
	after=$(kernel_memory)
	modprobe dm-fusion
	at_most "KiB more" $((after - ${before:-$after})) 1024
}

shadowed() {
	[[ $(status "$1" shadows_current) -ge 1 ]]
}

pointed() {
	[[ $(counter "$1" shadow_points) -ge 1 ]]
}

test_tracepoints() {
	local events=/sys/kernel/tracing/events/fusion i
	[[ -d /sys/kernel/tracing/events ]] || skip "no tracing in this kernel"
	begin
	fusion module
	[[ -d $events ]] || fail "no $events"
	tracing_on
	dd if=/dev/zero of="$SET" bs=1M count=4 oflag=direct conv=fsync status=none
	msg module demote 0-20 >/dev/null
	blkdiscard -l 1M "$SET"
	msg module checkpoint
	within 20 "nothing waits" settled module
	# a point: a shadow that is out of date is copied
	msg module shadow_age 3600
	msg module promote 20 >/dev/null
	within 20 "a shadow is kept" shadowed module
	dd if=/dev/zero of="$SET" bs=64K seek=20 count=1 oflag=direct conv=notrunc,fsync status=none
	msg module point
	within 20 "a point is made" pointed module
	cat /sys/kernel/tracing/trace >"$TMP/trace"
	for i in "$events"/fusion_*; do
		grep -q " ${i##*/}: [0-9]*:[0-9]* " "$TMP/trace" || fail "${i##*/} did not fire"
	done
	has "trace" "$(grep fusion_move: "$TMP/trace")" "extent 9 fast slot"
}

# two open sets, and two that are opened one after the other, do not affect each other
test_two_sets() {
	local one two
	begin
	fusion module
	null fast2 16
	FAST=$REPLY
	null slow2 32
	SLOW=$REPLY
	format --extent-size 64K
	fusion module2
	fusion-stamp fill "$SET" --state "$TMP/one" --seed 1 &
	one=$!
	fusion-stamp fill /dev/mapper/module2 --state "$TMP/two" --seed 2 &
	two=$!
	wait $one
	wait $two
	fusion-stamp verify "$SET" --state "$TMP/one"
	fusion-stamp verify /dev/mapper/module2 --state "$TMP/two"
}

# asleep: try to hibernate, without a place for the image
asleep() {
	echo disk >/sys/power/state
}

# The image would hold an older map than the members. See dm-fusion-reboot.c.
test_hibernation() {
	grep -qw disk /sys/power/state 2>/dev/null || skip "no hibernation here"
	members 16 32
	format --extent-size 64K
	fusion module
	refused "would not survive hibernation" asleep
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 200
	close module
	dmesg -C
	! asleep || fail "it slept, and woke up again?"
	! dmesg | grep "would not survive hibernation" || fail "refused, with no set open"
}

run_tests
