#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power fails while a disk with content is adopted, and while the set is released again, and while
# either is finished or undone. Whenever that is, the disk is plain, or the set opens, or the verb says
# that it can be finished; and the content is the same. CUTS is the number of cuts (20), SEED the
# start of the random numbers (by the clock). Runs in a VM.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
# shellcheck source=disks.sh
. "$here/../powercut/disks.sh"
# shellcheck source=../selftests/lib/contents.sh
. "$here/lib/contents.sh"

CUTS=${CUTS:-20}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
SET=/dev/mapper/data
MIB=12

# sum_of DEV: of as much as was on the disk
sum_of() {
	dd if="$1" bs=1M count=$MIB iflag=direct status=none | md5sum
}

# use: what a file system and the policy do with an open set
use() {
	local first=$((RANDOM % (MIB * 12)))
	dd if=/dev/urandom of=$SET bs=64K seek=$((MIB * 8 + RANDOM % (MIB * 7))) count=4 oflag=direct \
		conv=notrunc,fsync status=none
	limited 20 dmsetup message data 0 promote $first-$((first + 40)) >/dev/null
	SUM=$(sum_of $SET)
}

# look: sets STATE to plain, set or transit, and compares the content unless it is in transit
look() {
	status_of fusionctl open data
	if [[ $RC -eq 0 ]]; then
		STATE='set'
		same "content of the set" "$(sum_of $SET)" "$SUM"
		[[ $((RANDOM % 2)) -eq 0 ]] || use
		good fusionctl close data
	elif [[ $OUT == *"--resume, or --abort"* ]]; then
		STATE=transit
	else
		STATE=plain
		has "what is on the disk, as the set does not open ($OUT)" "$(probed "$SLOW")" "$UUID"
		same "content of the disk" "$(sum_of "$SLOW")" "$SUM"
	fi
}

# choose: the next command, in WORDS, and the state that it leads to, in AIM
choose() {
	case $STATE in
	plain)	VERB=adopt
		WORDS=(adopt data "$SLOW" --fast "$FAST" --yes --extent-size 64K)
		# the SSD may still say that the disk is released
		! fusionctl probe "$FAST" >/dev/null 2>&1 || WORDS+=(--force)
		AIM='set' ;;
	set)	VERB=release
		WORDS=(release data --yes)
		AIM=plain ;;
	transit)
		if [[ $((RANDOM % 2)) -eq 0 ]]; then
			WORDS=("$VERB" data --resume --yes)
			AIM='set'
			[[ $VERB == adopt ]] || AIM=plain
		else
			WORDS=("$VERB" data --abort --yes)
			AIM=plain
			[[ $VERB == adopt ]] || AIM='set'
		fi ;;
	esac
}

# begin: disks, and a file system on one of them
begin() {
	need mkfs.ext4
	need_module dm-fusion
	disks 6 $MIB
	defer dm_remove data
	say "SEED=$SEED"
	RANDOM=$SEED
	power seed "$SEED"
	head -c ${MIB}M /dev/urandom | dd of="$SLOW" bs=1M iflag=fullblock oflag=direct status=none
	mkfs.ext4 -q -L home -U $UUID "$SLOW"
	sync "$SLOW"
	SUM=$(sum_of "$SLOW") STATE=plain
}

# life N: N cuts
life() {
	local n rc ended=0 transit=0
	for ((n = 1; n <= $1; n++)); do
		choose
		power arm $((1 + RANDOM % (1 << RANDOM % 11)))
		status_of timeout $((60 * SLOWNESS)) fusionctl "${WORDS[@]}"
		if power_is_on; then
			same "cut $n: exit code of fusionctl ${WORDS[*]}, with power ($OUT)" "$RC" 0
			ended=$((ended + 1))
		else
			differ "cut $n: exit code of fusionctl ${WORDS[*]}" "$RC" 124
		fi
		rc=$RC
		fail_power
		look
		[[ $STATE != transit ]] || transit=$((transit + 1))
		[[ $rc -ne 0 ]] || same "cut $n: state after fusionctl ${WORDS[*]}" "$STATE" "$AIM"
	done
	say "$1 cuts, $ended behind the end of the verb, $transit left it in transit"
}

test_adopt_and_release() {
	begin
	life "$CUTS"
}

# The test notices a disk that acknowledges flushes without doing them.
long_lying_slow_is_found_out() {
	begin
	power lie slow
	! (life 100) >"$TMP/said" 2>&1 || fail "100 cuts, and nothing was lost"
	say "found: $(tail -n 1 "$TMP/said")"
}

run_tests
