#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Promotions by policy keep to the write budget of the fast member; nothing else is limited.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/budget
HOT=240		# extents of 256 KiB, 60 MiB; the least budget saves up 39.7 MiB
HOUR=39
MOST=42		# with what comes in during the test, 0.7 MiB a minute

# begin: the hot extents are on the slow member, and the fast member has room for all of them
begin() {
	need fio
	members 96 96
	format --extent-size 256K
	fusion budget migration off idle 100 duty 100
	dd if=/dev/urandom of="$SET" bs=256k count=$HOT oflag=direct conv=fsync status=none
	same "demoted" "$(msg budget demote 0-$((HOT - 1)))" "$HOT 0 0 0"
	within 30 "slots are free" settled budget
	same "written to fast by moves" "$(counter budget migrated_fast)" 0
	same "budget, of none" "$(counter budget budget_left)" 0
	msg budget write_budget 1
	within 10 "the budget of an hour" left $HOUR
}

# left MIB: MiB left of the budget
left() {
	[[ $(counter budget budget_left) -eq $1 ]]
}

# used_up: hot extents are promoted until nothing is left of the budget
used_up() {
	heat budget 0 $HOT 4
	left 0
}

all_up() {
	heat budget 0 $HOT 4
	[[ $(on budget fast 0 $HOT) -ge $((HOT * 9 / 10)) ]]
}

long_waits() {
	local before
	begin
	msg budget migration on
	within 90 "the budget is used up" used_up
	within 30 "nothing moves" settled budget
	before=$(counter budget migrated_fast)
	say "$before MiB were written, $(on budget fast 0 $HOT) of $HOT hot extents are on fast"
	at_least "MiB written to fast" "$before" $((HOUR - 1))
	at_most "MiB written to fast" "$before" $MOST
	at_least "hot extents left" "$(on budget slow 0 $HOT)" $((HOT - MOST * 4))
	heat budget 0 $HOT 5
	at_most "MiB written to fast" "$(counter budget migrated_fast)" $((before + 1))
	# only the budget keeps them from being promoted
	msg budget write_budget 0
	within 90 "hot extents are on fast" all_up
	at_least "MiB written to fast" "$(counter budget migrated_fast)" $((HOT * 9 / 10 / 4))
}

# moves on request do not wait, but count
test_on_request() {
	local before
	begin
	same "promoted" "$(msg budget promote 0-$((HOT - 1)))" "$HOT 0 0 0"
	at_least "MiB written to fast" "$(counter budget migrated_fast)" $((HOT / 4))
	within 5 "the budget is used up" left 0
	same "demoted" "$(msg budget demote 0-$((HOT - 1)))" "$HOT 0 0 0"
	before=$(counter budget migrated_fast)
	msg budget migration on
	# 20 MiB of debt take half an hour: not one extent
	heat budget 0 $HOT 6
	same "MiB written to fast" "$(counter budget migrated_fast)" "$before"
	same "hot extents on fast" "$(on budget fast 0 $HOT)" 0
}

# restoring the reserve does not wait either
test_reserve() {
	local reserve before
	begin
	same "promoted" "$(msg budget promote 0-$((HOT - 1)))" "$HOT 0 0 0"
	within 5 "the budget is used up" left 0
	before=$(counter budget migrated_fast)
	reserve=$(($(status budget reserve_free) + 20))
	msg budget reserve $reserve
	msg budget migration on
	within 30 "the reserve is restored" restored $reserve
	same "MiB written to fast" "$(counter budget migrated_fast)" "$before"
}

# restored EXTENTS: so many slots are free on the fast member
restored() {
	[[ $(status budget reserve_free) -ge $1 ]]
}

test_values() {
	members 16 32
	format --extent-size 64K
	fusion budget write_budget 70
	msg budget write_budget 0
	sleep 1
	msg budget write_budget 100000
	# a 24th of it, in MiB, and no more
	within 10 "the budget of an hour" left 3973642
	has table "$(dmsetup table budget)" " 2 write_budget 100000"
}

run_tests
