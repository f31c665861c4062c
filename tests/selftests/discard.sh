#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Discards free slots, reach the members, and never discard too much.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/discard
EXTENT=262144

begin() {
	members 64 128 "$@"
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 256K
	fusion discard migration off
	EXTENTS=$(status discard extents)
}

test_whole_extents() {
	local fast slow fast2 slow2
	begin
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	sync "$SET"
	read -r fast slow < <(status discard used_fast used_slow)
	same "used when full" $((fast + slow)) "$EXTENTS"
	fast=$(discarded "$FAST") slow=$(discarded "$SLOW")
	# 10 extents of each member, and a part of an extent on either side, which frees nothing
	# more
	blkdiscard -o $((20 * EXTENT - 8192)) -l $((10 * EXTENT + 16384)) "$SET"
	blkdiscard -o $(((EXTENTS - 20) * EXTENT - 8192)) -l $((10 * EXTENT + 16384)) "$SET"
	same "unmapped" "$(on discard - 0 "$EXTENTS")" 20
	same "mapped" "$(status discard mapped)" $((EXTENTS - 20))
	read_zero "$SET" $((20 * EXTENT)) $((10 * EXTENT))
	read_zero "$SET" $(((EXTENTS - 20) * EXTENT)) $((10 * EXTENT))
	within 20 "slots are free" settled discard
	read -r fast2 slow2 < <(status discard used_fast used_slow)
	same "used after" $((fast2 + slow2)) $((EXTENTS - 20))
	# slow slots only when the replica does not name them any more
	msg discard checkpoint
	within 20 "the members are told" told discard
	# and the parts on either side, if these extents are stable by now
	fast=$(($(discarded "$FAST") - fast)) slow=$(($(discarded "$SLOW") - slow))
	same "slots discarded on fast" $((fast / EXTENT)) 10
	same "slots discarded on slow" $((slow / EXTENT)) 10
	at_most "discarded on fast beside them" $((fast % EXTENT)) 16384
	at_most "discarded on slow beside them" $((slow % EXTENT)) 16384
}

# Slow members leave few transactions for the many slots that are freed; the members still get every
# discard in the end.
test_none_dropped() {
	local fast slow used_fast used_slow part=50 i
	begin irqmode=2 completion_nsec=20000000
	dd if=/dev/zero of="$SET" bs=1M oflag=direct status=none || :
	sync "$SET"
	within 60 "nothing waits" settled discard
	within 60 "the members are told" told discard
	read -r used_fast used_slow < <(status discard used_fast used_slow)
	fast=$(discarded "$FAST") slow=$(discarded "$SLOW")
	# each part is a transaction
	for ((i = 0; i < EXTENTS; i += part)); do
		blkdiscard -o $((i * EXTENT)) -l $(((i + part < EXTENTS ? part : EXTENTS - i) * EXTENT)) "$SET"
		sync "$SET"
	done
	within 60 "slots are free" settled discard
	msg discard checkpoint
	within 60 "the members are told" told discard
	same "used" "$(status discard used_fast used_slow)" "0 0"
	same "discarded on fast" $(($(discarded "$FAST") - fast)) $((used_fast * EXTENT))
	same "discarded on slow" $(($(discarded "$SLOW") - slow)) $((used_slow * EXTENT))
}

# Slots that were not discarded, since the option was off or the set was closed, are discarded when
# file systems are trimmed again.
test_trimmed_again() {
	local fast slow
	begin
	dd if=/dev/zero of="$SET" bs=1M oflag=direct status=none || :
	msg discard discard_passdown off
	blkdiscard "$SET"
	within 20 "slots are free" settled discard
	close discard
	fusion discard
	fast=$(discarded "$FAST") slow=$(discarded "$SLOW")
	blkdiscard "$SET"
	within 20 "the members are told" told discard
	at_least "discarded on fast" $(($(discarded "$FAST") - fast)) $((($(sb nr_fast_slots) - 64) * EXTENT))
	at_least "discarded on slow" $(($(discarded "$SLOW") - slow)) $((($(sb nr_slow_slots) - 64) * EXTENT))
}

# a few discards that wait when the set is closed are still sent
test_told_at_close() {
	local fast used
	begin
	dd if=/dev/zero of="$SET" bs=1M count=16 oflag=direct status=none
	sync "$SET"
	within 20 "nothing waits" settled discard
	used=$(status discard used_fast)
	fast=$(discarded "$FAST")
	blkdiscard -l $((16 << 20)) "$SET"
	close discard
	same "discarded on fast" $(($(discarded "$FAST") - fast)) $((used * EXTENT))
}

test_passdown_off() {
	local fast slow
	begin
	dd if=/dev/zero of="$SET" bs=256k count=64 oflag=direct conv=fsync status=none
	msg discard discard_passdown off
	fast=$(discarded "$FAST") slow=$(discarded "$SLOW")
	blkdiscard -l $((64 * EXTENT)) "$SET"
	within 20 "slots are free" settled discard
	same "mapped" "$(status discard mapped)" 0
	same "discards that reached the members" "$(discarded "$FAST") $(discarded "$SLOW")" \
		"$fast $slow"
}

# a slot gets no new owner before its release is durable
test_reuse_waits_for_commit() {
	local fast
	begin
	close discard
	fusion discard migration off commit_interval 60000
	fast=$(($(sb nr_fast_slots) - $(sb spare_fast)))
	dd if=/dev/zero of="$SET" bs=256k count="$fast" oflag=direct conv=fsync status=none
	within 20 "nothing waits" settled discard
	blkdiscard -l $((4 * EXTENT)) "$SET"
	same "mapped" "$(status discard mapped)" $((fast - 4))
	same "fast slots used, those in quarantine too" "$(status discard used_fast)" "$fast"
	# so the next write cannot get one of them
	put_direct "$SET" 101 0 4096
	same "member of extent 0" "$(msg discard map 0 1 | cut -d ' ' -f 3)" slow
	sync "$SET"
	msg discard checkpoint
	within 20 "slots are free" settled discard
	put_direct "$SET" 101 $EXTENT 4096
	same "member of extent 1" "$(msg discard map 1 1 | cut -d ' ' -f 3)" fast
}

test_partial() {
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 256k --mix 20:20:10:60:5:2 \
		--ops "$([[ $QUICK ]] && echo 3000 || echo 20000)"
	fusion-stamp verify "$SET" --state "$TMP/state"
	close discard
	fusion discard
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# discards against moves of the same extents
test_under_storm() {
	local storm
	begin irqmode=2 completion_nsec=100000
	background storm discard
	storm=$REPLY
	fusion-stamp run "$SET" --state "$TMP/state" --extent 256k --mix 20:30:5:40:3:2 \
		--seconds "$([[ $QUICK ]] && echo 3 || echo 15)"
	finish "$storm"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_whole_device() {
	begin
	fusion-stamp fill "$SET" --state "$TMP/state"
	blkdiscard "$SET"
	read_zero "$SET" 0 $((EXTENTS * EXTENT))
	within 20 "slots are free" settled discard
	same "used" "$(status discard used_fast used_slow mapped)" "0 0 0"
	close discard
	fusion discard
	same "used after close and open" "$(status discard used_fast used_slow mapped)" "0 0 0"
	read_zero "$SET" 0 $((EXTENTS * EXTENT))
}

# members that cannot discard: extents are freed anyway
test_members_without() {
	begin discard=0
	dd if=/dev/urandom of="$SET" bs=256k count=64 oflag=direct conv=fsync status=none
	blkdiscard -l $((64 * EXTENT)) "$SET"
	same "mapped" "$(status discard mapped)" 0
	read_zero "$SET" 0 $((64 * EXTENT))
}

long_fstrim() {
	local used mapped
	need mkfs.ext4 fstrim
	begin
	mkfs.ext4 -q "$SET"
	mkdir "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	dd if=/dev/urandom of="$TMP/mnt/file" bs=1M count=100 status=none
	sync
	mapped=$(status discard mapped)
	rm "$TMP/mnt/file"
	sync
	fstrim "$TMP/mnt"
	umount "$TMP/mnt"
	used=$(status discard mapped)
	say "mapped $mapped, after fstrim $used"
	at_most "extents mapped after fstrim" "$used" $((mapped - 350))
	e2fsck -fn "$SET" >"$TMP/fsck" 2>&1 || fail "e2fsck: $(<"$TMP/fsck")"
}

# discard_limit NAME: the limit in /sys/block, in bytes
discard_limit() {
	cat "/sys/block/$1/queue/discard_max_bytes"
}

# A disk claims to discard, but refuses the first discard, as many USB bridges do. The set still
# frees discarded extents, and no user sees an error.
test_member_refuses() {
	local provisioning
	scsi_disk lbpu=0 lbpws=0 lbpws10=0
	SLOW=$REPLY
	null fast 32
	FAST=$REPLY
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 256K
	provisioning=$(echo "$(sysfs_of "$SLOW")"/device/scsi_disk/*/provisioning_mode)
	echo writesame_16 >"$provisioning"
	differ "what the disk says it can discard" "$(discard_limit "${SLOW#/dev/}")" 0
	fusion discard migration off
	dd if=/dev/urandom of="$SET" bs=256k count=4 oflag=direct conv=fsync status=none
	msg discard demote 0-3 >/dev/null
	same "extents on slow" "$(on discard slow 0 4)" 4
	blkdiscard -o 8192 -l 16384 "$SET"
	same "what the disk says it can discard, now" "$(discard_limit "${SLOW#/dev/}")" 0
	differ "what the set can discard" \
		"$(discard_limit "$(dmsetup info -c --noheadings -o blkdevname discard)")" 0
	blkdiscard -o 8192 -l 16384 "$SET"
	blkdiscard -o $EXTENT -l $((2 * EXTENT)) "$SET"
	same "unmapped" "$(on discard - 0 4)" 2
	same "mode" "$(status discard mode)" rw
}

run_tests
