#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The setting duty: moves take no more of the slow member's time than it allows.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/duty
HOT=64			# extents of 256 KiB
DUTY=10		# percent

# now: the time in hundredths of a second
now() {
	local s
	read -r s _ </proc/uptime
	echo "${s/./}"
}

# warm: read every hot extent eight times, each time in another quarter of a second
warm() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		fio --name=warm --filename="$SET" --readonly --rw=read:252k --bs=4k --direct=1 \
			--ioengine=psync --size=$((HOT * 256))k --io_size=$((HOT * 4))k \
			--output="$TMP/fio"
		sleep 0.3
	done
	at_least "heat of the coldest of them" "$(msg duty heat "$(status duty extents)" |
		awk -v hot=$HOT '$1 < hot { print $6 }' | sort -n | head -n 1)" 16
}

all_up() {
	[[ $(on duty fast 0 $HOT) -eq $HOT ]]
}

# move_up PERCENT: time until all hot extents are promoted; in REPLY
move_up() {
	local start
	msg duty migration off
	same "demoted" "$(msg duty demote 0-$((HOT - 1)))" "$HOT 0 0 0"
	within 30 "slots are free" settled duty
	# the sweep passes, and makes them all candidates
	sleep 4
	msg duty duty "$1"
	start=$(now)
	msg duty migration on
	within 120 "what is hot is on fast" all_up
	REPLY=$(($(now) - start))
	say "$HOT extents went up in $REPLY hundredths of a second at a duty of $1 %"
}

# The set is never idle here, since idle moves are not limited. A batch takes 320 ms or more, as
# each I/O takes 10 ms; there are four batches and three pauses.
test_share() {
	local whole
	need fio
	members 64 64 irqmode=2 completion_nsec=10000000
	format --extent-size 256K
	fusion duty migration off idle 60000
	dd if=/dev/urandom of="$SET" bs=256k count=$HOT oflag=direct conv=fsync status=none
	warm
	move_up 100
	whole=$REPLY
	move_up $DUTY
	# ten times as long, except for the last pause and the time before the first batch
	at_least "hundredths of a second at $DUTY %, four times those at 100 %" "$REPLY" $((whole * 4))
}

run_tests
