#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A member is put back from an image, of an earlier activation or of an earlier moment of the same
# one. The set stays closed, the line names the member and the remedy, and nothing is written.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/past

# image NAME: both members as they are at one moment, whether the set is open or not
image() {
	[[ ! -b $SET ]] || dmsetup suspend --noflush --nolockfs past
	dd if="$FAST" of="$TMP/fast-$1" bs=1M iflag=direct status=none
	dd if="$SLOW" of="$TMP/slow-$1" bs=1M iflag=direct status=none
	[[ ! -b $SET ]] || dmsetup resume past
}

# put_back FAST-NAME SLOW-NAME
put_back() {
	dd if="$TMP/fast-$1" of="$FAST" bs=1M oflag=direct conv=notrunc status=none
	dd if="$TMP/slow-$2" of="$SLOW" bs=1M oflag=direct conv=notrunc status=none
}

sum() {
	dd if="$FAST" bs=1M iflag=direct status=none | md5sum
	dd if="$SLOW" bs=1M iflag=direct status=none | md5sum
}

# stamp OPS
stamp() {
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops "$1" --seed 1 >/dev/null
	sync -d "$SET"
}

# work: change data and map, and let either member learn the state of the other
work() {
	stamp 100
	msg past demote 0-40 >/dev/null
	msg past promote 20-30 >/dev/null
	msg past checkpoint
	# commits that record the replica's last write
	stamp 40
	fusion-stamp verify "$SET" --state "$TMP/state" >/dev/null
}

# a_past: images before, earlier, now and after: closed; twice in an activation; and closed
a_past() {
	members 8 32
	format past --extent-size 64K
	defer dm_remove past
	fusionctl open past "$FAST" "$SLOW"
	work
	fusionctl close past
	image before
	fusionctl open past "$FAST" "$SLOW"
	work
	image earlier
	work
	image now
	fusionctl close past
	image after
}

# past_refused FAST-NAME SLOW-NAME ROLE
past_refused() {
	local before dev out rc
	put_back "$1" "$2"
	dev=$FAST
	[[ $3 == fast ]] || dev=$SLOW
	before=$(sum)
	for read_only in '' ro; do
		rc=0
		if [[ $read_only ]]; then
			out=$(dmsetup create past --readonly --table "0 $LEN fusion $FAST $SLOW" 2>&1) || rc=1
		else
			out=$(fusionctl open past "$FAST" "$SLOW" 2>&1) || rc=$?
		fi
		differ "exit code of open $1 $2 $read_only" "$rc" 0
		[[ $read_only ]] || has "what open says of $1 $2" "$out" \
			"fusionctl: past: the $3 member $dev is from the past, or lost writes: last written 20"
		dmsetup remove past 2>/dev/null || :
		same "what is on the members" "$(sum)" "$before"
	done
	has "what open says" "$(fusionctl open past "$FAST" "$SLOW" 2>&1)" \
		"behind what the $([[ $3 == fast ]] && echo slow || echo fast) member has seen; \
connect the current one"
	rc=0
	out=$(fusionctl check "$FAST" "$SLOW" 2>&1) || rc=$?
	same "exit code of check" "$rc" 4
	has "what check says" "$out" "error: $3 member: past: from the past, or lost writes"
	has "what to do" "$(tail -n 1 <<<"$out")" "; connect the current one, or see fusionctl \
help repair"
	rc=0
	out=$(fusionctl repair "$FAST" "$SLOW" --yes 2>&1) || rc=$?
	same "exit code of repair" "$rc" 3
	has "what repair says" "$out" "--force"
	same "what is on the members" "$(sum)" "$before"
}

test_fast_member() {
	a_past
	for i in before earlier; do
		past_refused $i now fast
	done
	for i in before earlier now; do
		past_refused $i after fast
	done
}

test_slow_member() {
	a_past
	for i in before earlier; do
		past_refused now $i slow
	done
	for i in before earlier now; do
		past_refused after $i slow
	done
}

# Members that belong together open: closed, and after a power cut.
test_of_one_instant() {
	local i
	a_past
	for i in before earlier now after; do
		put_back $i $i
		good fusionctl open past "$FAST" "$SLOW"
		good fusionctl close past
		good fusionctl check "$FAST" "$SLOW"
	done
}

# Two sets of one origin: each was used by itself, as often as the other.
test_forked() {
	a_past
	put_back before before
	fusionctl open past "$FAST" "$SLOW"
	fusionctl close past
	image other
	put_back other after
	refused "do not belong together: the members were opened apart from each other" \
		fusionctl open past "$FAST" "$SLOW"
}

# Settings are written to both members of a closed set, with new generations. A stale member would
# have caught up by that. This one is closed cleanly, and of the same activation.
test_settings() {
	local before i
	a_past
	fusionctl open past "$FAST" "$SLOW"
	work
	image rest
	work
	fusionctl close past
	image end
	for i in "rest end" "end rest"; do
		# shellcheck disable=SC2086
		put_back $i
		before=$(sum)
		refused "is from the past, or lost writes; see fusionctl check past" \
			fusionctl set past duty=40
		same "what is on the members" "$(sum)" "$before"
	done
	put_back end end
	good fusionctl set past duty=40
	good fusionctl open past "$FAST" "$SLOW"
	good fusionctl close past
}

# repair accepts it with --force, and does not claim then that nothing is lost; salvage works on
# either member.
test_forced() {
	local out
	a_past
	past_refused earlier now fast
	out=$(fusionctl repair "$FAST" "$SLOW" --yes --force 2>&1) || :
	has "what repair says" "$out" "may hold old or foreign data"
	has "what repair says" "$out" repaired
	[[ $out != *"nothing is lost"* ]] || fail "repair says: $out"
	good fusionctl check "$FAST" "$SLOW"
	good fusionctl open past "$FAST" "$SLOW"
	good fusionctl close past
	past_refused now earlier slow
	has "what repair says" "$(fusionctl repair "$FAST" "$SLOW" --yes --force 2>&1)" repaired
	good fusionctl open past "$FAST" "$SLOW"
	good fusionctl close past
	past_refused earlier now fast
	good fusionctl salvage "$SLOW"
	good fusionctl salvage "$FAST"
}

run_tests
