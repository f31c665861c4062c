#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set with blocks in its landing log grows, shrinks, and has a member replaced, while small writes
# go on: all of them are there afterwards, and the next ones get into the log again. It is released,
# open or closed, and all of them are on the disk.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/resize.sh
. "$here/lib/resize.sh"
# shellcheck source=lib/replace.sh
. "$here/lib/replace.sh"

# logging: an open set, data, with a log of 4M. Its first 16 MiB lie on the slow
# member, nothing moves, and nothing is drained before it is asked for.
logging() {
	LANDING=4M opened data data --extent-size 64K
	good fusionctl set data duty=100 commit_interval=100 migration=off idle=1m
	head -c 16M /dev/urandom >"$TMP/content"
	dd if="$TMP/content" of=/dev/mapper/data bs=1M oflag=direct conv=fsync status=none
	good fusionctl demote data 0-255
}

# scatter SEED: 200 blocks of random content, far from each other: the log takes what looks like no stream
scatter() {
	local i at
	head -c 800K /dev/urandom >"$TMP/blocks"
	for ((i = 0; i < 200; i++)); do
		at=$(((i * 37 + $1) % 200 * 20))
		dd if="$TMP/blocks" of=/dev/mapper/data bs=4K skip=$i seek=$at count=1 \
			oflag=direct conv=notrunc status=none
		dd if="$TMP/blocks" of="$TMP/content" bs=4K skip=$i seek=$at count=1 \
			conv=notrunc status=none
	done
}

# logged KEY: of the log, in what status --json says
logged() {
	fusionctl status data --json | jq -r ".sets[0].landing_log.$1"
}

# lands: the log works, and takes small writes
lands() {
	good fusionctl drain data
	scatter "$1"
	same "state of the log" "$(logged state)" ok
	at_least "blocks in the log" "$(logged blocks)" 50
	as_filled
}

# reopened: it was closed cleanly, check finds nothing, and the content is there
reopened() {
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	as_filled
}

# The log keeps what it has.
test_grow() {
	local was blocks
	members 64 256
	resizable 24 60
	logging
	scatter 1
	was=$(extents)
	blocks=$(logged blocks)
	at_least "blocks in the log" "$blocks" 50
	swap slow "0 $((100 * 2048)) linear /dev/slow 0"
	swap fast "0 $((40 * 2048)) linear /dev/fast 0"
	good fusionctl grow data
	at_least "extents" "$(extents)" $((was + 700))
	same "blocks in the log" "$(logged blocks)" "$blocks"
	as_filled
	scatter 2
	reopened
	# what is new can be written, and be in the log
	dd if="$TMP/content" of=/dev/mapper/data bs=1M seek=$((was / 16)) oflag=direct \
		conv=fsync status=none
	cmp -n $((16 << 20)) -i 0:$((was / 16 << 20)) "$TMP/content" /dev/mapper/data >&2 ||
		fail "what is new has other content"
	lands 3
	reopened
}

# shrinks MEMBER SIZE: that member gives up its end
shrinks() {
	local was
	members 64 256
	resizable 40 100
	logging
	was=$(extents)
	scatter 1
	at_least "blocks in the log" "$(logged blocks)" 50
	good fusionctl shrink data --member "$1" --member-size "$2" --yes
	[[ $(extents) -lt $was ]] || fail "it has not shrunk"
	as_filled
	lands 2
	reopened
	lands 3
	good fusionctl grow data
	same "extents" "$(extents)" "$was"
	as_filled
	reopened
}

test_shrink_slow() {
	shrinks slow 70M
}

test_shrink_fast() {
	shrinks fast 20M
}

# So small that the log would not fit.
test_shrink_too_far() {
	members 64 256
	resizable 40 100
	LANDING=12M opened data data --extent-size 64K
	expect 3 "12M: is less than $FAST may be as the fast member; the least is 26M" \
		fusionctl shrink data --member fast --member-size 12M --yes
	good fusionctl shrink data --member fast --member-size 28M --yes
	good fusionctl close data
	good fusionctl check data
}

# What keeps the set from shrinking leaves the log on: a fence that is there already.
test_shrink_refused() {
	members 64 256
	resizable 40 100
	logging
	scatter 1
	good dmsetup message data 0 fence slow "$(sb slow_first_slot)" "$(sb slow_first_slot)"
	status_of fusionctl shrink data --member slow --member-size 70M --yes
	[[ $RC -ne 0 ]] || fail "it shrinks in spite of a fence"
	good dmsetup message data 0 fence off
	lands 2
	reopened
}

# replaces fast|slow
replaces() {
	local old
	linked 24 48
	third 48
	logging
	old=$(member "$1")
	scatter 1
	good fusionctl replace data "$old" "$NEW" --yes
	blank "$old"
	as_filled
	lands 2
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	as_filled
	lands 3
}

test_replace_fast() {
	replaces fast
}

test_replace_slow() {
	replaces slow
}

# While a member leaves, small writes go past the log; that is so when it is taken back, as well.
test_replace_back() {
	linked 24 48
	third 64
	logging
	scatter 1
	slowed 50
	good fusionctl replace data "$SLOW" "$NEW" --yes --no-wait
	same "state of the log" "$(logged state)" off
	scatter 2
	same "blocks in the log" "$(logged blocks)" 0
	as_filled
	good fusionctl status data
	shows "off while a member is being replaced"
	good fusionctl replace data --abort --yes
	as_filled
	lands 3
	good fusionctl close data
	good fusionctl check data
}

# on_disk: the slow member is a plain disk with the content, and the fast one is none any more
on_disk() {
	cmp -n "$(stat -c %s "$TMP/content")" "$TMP/content" "$SLOW" >&2 ||
		fail "the disk has other content"
	gives 4 fusionctl probe "$SLOW"
	gives 4 fusionctl probe "$FAST"
}

# What is on it is no file system, so no program knows where it ends.
test_release_closed() {
	linked 24 48
	logging
	scatter 1
	good fusionctl close data
	good fusionctl release data --dry-run
	shows "in its landing log would be written to $SLOW first"
	good fusionctl release data --dry-run --json
	at_least "blocks in the log" "$(jq '.logged_bytes / 4096' "$TMP/out")" 50
	good fusionctl release data --yes
	shows "in its landing log are written to $SLOW first"
	on_disk
}

test_release_open() {
	linked 24 48
	logging
	scatter 1
	good fusionctl release data --dry-run
	shows "in its landing log would be written to $SLOW first"
	same "state of the log" "$(logged state)" ok
	good fusionctl release data --yes
	as_filled
	good fusionctl close data
	on_disk
}

# One that is stopped while the log is emptied goes on when it is run again; meanwhile the log is on.
test_release_stopped() {
	local pid
	linked 24 48
	logging
	scatter 1
	need_module dm-delay
	swap slow "0 $(sectors_of /dev/slow) delay /dev/slow 0 0 /dev/slow 0 100"
	# no zeros, which would take long
	fusionctl release data --leave-unmapped --yes >"$TMP/out" 2>"$TMP/err" </dev/null &
	pid=$!
	within 60 "the log is off" log_is off
	kill -TERM "$pid"
	! wait "$pid" || fail "it was not stopped"
	has "what it says" "$(<"$TMP/err")" "is still a set, with all its content"
	as_filled
	same "state of the log" "$(logged state)" ok
	swap slow "0 $(sectors_of /dev/slow) linear /dev/slow 0"
	scatter 2
	good fusionctl release data --leave-unmapped --yes
	as_filled
	good fusionctl close data
	on_disk
}

# log_is STATE: a condition for within
log_is() {
	[[ $(logged state) == "$1" ]]
}

# Messages of their own: off frees all, and on takes writes again.
test_messages() {
	linked 24 48
	logging
	scatter 1
	good dmsetup message data 0 landing off
	same "blocks, segments" "$(logged blocks),$(logged segments)" 0,0
	scatter 2
	same "blocks, state" "$(logged blocks),$(logged state)" 0,off
	as_filled
	good fusionctl status data
	shows "; off"
	good dmsetup message data 0 landing on
	lands 3
	good dmsetup message data 0 landing off
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	as_filled
	lands 4
	status_of dmsetup message data 0 landing up
	[[ $RC -ne 0 ]] || fail "landing up is no message"
}

run_tests
