#!/bin/bash
. "$(dirname "$0")/lib.sh"
test_example() {
	loop $((512 << 20)); FAST=$REPLY
	loop $((4096 << 20)); SLOW=$REPLY
	format --extent-size 1M
	fusion fused
	close fused
	for c in 0 8; do dd if=$FAST bs=4k skip=$c count=1 iflag=direct status=none | hexdump -C; done
	for i in log_start log_blocks map_blocks nr_fast_slots nr_slow_slots slow_first_slot spare_fast spare_slow nr_lexts active_set; do say $i $(sb $i); done
	fusion-replica $FAST; fusion-replica $SLOW
}
run_tests test_example
