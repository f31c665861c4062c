#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# RWF_NOWAIT returns EAGAIN where it would have to wait, and never wrong data.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/nowait

begin() {
	members 64 128 "$@"
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 256K
	fusion nowait migration off
}

# eagain COMMAND...: number of EAGAINs that the tester got
eagain() {
	"$@" | tee "$TMP/said" | sed -n 's/ EAGAIN$//p'
}

test_mapped_does_not_wait() {
	begin
	fusion-stamp fill "$SET" --state "$TMP/state"
	sync "$SET"
	msg nowait checkpoint
	same "EAGAIN of mapped extents" "$(eagain fusion-stamp run "$SET" --state "$TMP/state" \
		--nowait --ops 2000 --threads 1 --mix 1:1:1:0:0:0 --max-io 128k)" 0
}

# the first write of an extent allocates, and so has to wait
test_first_write_waits() {
	local extents n
	begin
	extents=$(status nowait extents)
	n=$(eagain fusion-stamp fill "$SET" --state "$TMP/state" --nowait --threads 1 \
		--max-io 256k)
	at_least "EAGAIN of first writes" "$n" "$extents"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_never_wrong() {
	local storm
	begin irqmode=2 completion_nsec=100000
	background storm nowait
	storm=$REPLY
	fusion-stamp run "$SET" --state "$TMP/state" --extent 256k --nowait --threads 8 \
		--seconds "$([[ $QUICK ]] && echo 3 || echo 15)"
	finish "$storm"
	fusion-stamp verify "$SET" --state "$TMP/state" --nowait
}

test_io_uring() {
	local storm
	need_io_uring
	begin
	dd if=/dev/zero of="$SET" bs=1M oflag=direct status=none count=100
	background storm nowait
	storm=$REPLY
	fio --name=uring --filename="$SET" --ioengine=io_uring --direct=1 --rw=randwrite --bs=4k \
		--iodepth=32 --size=96m --io_size=24m --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --output="$TMP/fio" || fail "fio: $(tail -n 20 "$TMP/fio")"
	finish "$storm"
}

run_tests
