# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Faults of members during a soak: how each is made, and what has to be true when it is over.
#
#	slow-, fast-writes	every write to the member fails, or every other second (dm-flakey)
#	slow-, fast-reads	reads fail in some places (dm-dust); without dm-dust, every other
#				second (dm-flakey, not on 6.1)
#	slow-, fast-gone	all I/O fails
#	slow-, fast-flaps	all I/O fails every other second
#	slow-, fast-power	all I/O fails, and unflushed data of the member is lost
#	both-power		the same for both members at once
#	journal, maps, replica	I/O to that part of the metadata fails

KINDS=(slow-writes fast-writes slow-reads fast-reads slow-gone fast-gone slow-flaps fast-flaps
	slow-power fast-power both-power journal maps replica)
POSSIBLE=()
MARKED=			# the set was used after a fault, and not repaired since

# which_kinds: faults that this kernel has the targets for; only a newer dm-flakey can fail reads
# alone
which_kinds() {
	local i
	DUST=
	! modprobe -q dm-dust || DUST=1
	for i in "${KINDS[@]}"; do
		if [[ $i == *-reads && ! $DUST ]]; then
			dmsetup create probe --table "0 8 flakey $FAST 0 1 1 1 error_reads" 2>/dev/null ||
				continue
			dmsetup remove --retry probe
		fi
		POSSIBLE+=("$i")
	done
}

# failing_reads MEMBER: reads fail in some places
failing_reads() {
	local all i
	all=$(sectors_of "/dev/$1")
	if [[ ! $DUST ]]; then
		swap "$1" "0 $all flakey /dev/$1 0 1 1 1 error_reads"
		return
	fi
	# blocks of 64 KiB
	swap "$1" "0 $all dust /dev/$1 0 65536"
	for ((i = 0; i < 24; i++)); do
		dmsetup message "$1-link" 0 addbadblock $((RANDOM % (all / 128))) >/dev/null 2>&1 || :
	done
	dmsetup message "$1-link" 0 enable
}

# geometry: where the metadata lies, in sectors; it never moves
geometry() {
	JOURNAL=($(($(sb journal_start) * 8)) $(($(sb journal_blocks) * 8)))
	MAPS=($(($(sb map_start0) * 8))
		$((($(sb map_start1) - $(sb map_start0) + $(sb map_blocks)) * 8)))
	REPLICA=($(($(sb log_start "$SLOW") * 8))
		$((($(sb log_map_start1) - $(sb log_start) + $(sb map_blocks)) * 8)))
}

begin_fault() {
	local member=${1%-*} down=600
	case $1 in
	*-writes)
		# all the time, or every other second
		[[ $((RANDOM % 2)) -eq 0 ]] || down=1
		swap "$member" "0 $(sectors_of "/dev/$member") flakey /dev/$member 0 \
			$((down == 1)) $down 1 error_writes" ;;
	*-reads) failing_reads "$member" ;;
	*-flaps) swap "$member" "0 $(sectors_of "/dev/$member") flakey /dev/$member 0 1 1" ;;
	*-gone)	gone "$member" ;;
	both-power) power_off ;;
	*-power) gone "$member" ;;
	journal) bad_sectors fast "${JOURNAL[@]}" ;;
	maps)	bad_sectors fast "${MAPS[@]}" ;;
	replica) bad_sectors slow "${REPLICA[@]}" ;;
	esac
}

# end_fault KIND: the members work again. Members without power have lost unflushed data, and must
# not be open
end_fault() {
	local member=${1%-*}
	case $1 in
	both-power) power_on ;;
	*-power)
		dmsetup remove --retry "$member-link"
		null_power_cycle "$member"
		dmsetup create "$member-link" \
			--table "0 $(sectors_of "/dev/$member") linear /dev/$member 0"
		[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes "$member-link" >/dev/null ;;
	journal|maps) swap fast ;;
	replica) swap slow ;;
	*)	swap "$member" ;;
	esac
}

# check_closed WHEN: fusionctl check may warn only after a fault. Then repair removes the warnings,
# or the kernel copes with them, as always with a landing log, for which there is no repair
check_closed() {
	local rc=0
	timed check fusionctl check "$FAST" "$SLOW" >"$TMP/check" 2>&1 || rc=$?
	count checked
	[[ $rc -le 1 ]] || { cat "$TMP/check"; fail "$1: fusionctl check: status $rc"; }
	[[ $rc -eq 0 || $MARKED ]] || { cat "$TMP/check"; fail "$1: not clean"; }
	if [[ $rc -eq 1 && $((RANDOM % 2)) -eq 0 && ! $LANDING ]]; then
		rc=0
		timed repair fusionctl repair "$FAST" "$SLOW" --yes >"$TMP/check" 2>&1 || rc=$?
		[[ $rc -le 1 ]] || { cat "$TMP/check"; fail "$1: fusionctl repair: status $rc"; }
		timed check fusionctl check "$FAST" "$SLOW" >"$TMP/check" 2>&1 ||
			{ cat "$TMP/check"; fail "$1: not clean after its repair"; }
		count repaired
		rc=0
	fi
	[[ $rc -eq 1 ]] || MARKED=
}

# open_broken: opening may fail, but it must not hang or do harm
open_broken() {
	if timed open dmsetup create soak --table "${BASE[soak]}" 2>/dev/null; then
		count "opened broken"
		pause 0.5
		close_set soak
	else
		count "not opened broken"
		dm_remove soak
	fi
}

# fault KIND: under load; afterwards no data may be lost that must be there
fault() {
	local kind=$1 closed='' i seconds mode needs_check
	load_end
	load_start --until-error --mix 30:40:10:5:3:12
	pause "$((1 + RANDOM % 2)).$((RANDOM % 10))"
	begin_fault "$kind"
	count faults
	count "fault $kind"
	seconds=$((2 + RANDOM % 4))
	for ((i = 0; i < seconds; i++)); do
		pause 1
		# go on, like an application that retries
		if ! running "$LOAD" && [[ $i -le 2 ]]; then
			load_end
			load_start --until-error --mix 30:40:10:5:3:12
		fi
	done
	mode=rw
	if [[ $kind == *-power || $((RANDOM % 3)) -eq 0 ]]; then
		closed=1
		load_end
		read -r mode needs_check < <(status soak mode needs_check)
		close_set soak
		[[ $kind == *-power || $((RANDOM % 2)) -eq 0 ]] || open_broken
		end_fault "$kind"
	else
		end_fault "$kind"
		load_end
		read -r mode needs_check < <(status soak mode needs_check)
		# all acknowledged data can be read, whatever the mode
		verify
	fi
	case $mode in
	rw|ro)	count "$mode $kind" ;;
	*)	fail "$kind: mode $mode" ;;
	esac
	case $kind in
	*-reads|replica)
		same "mode after $kind" "$mode" rw
		[[ $MARKED ]] || same "after $kind" "$needs_check" - ;;
	*)	MARKED=1 ;;
	esac
	# count also the writes that failed while the set was closed
	[[ ! $closed ]] || MARKED=1
	if [[ ! $closed ]]; then
		if [[ $mode == rw && $((RANDOM % 2)) -eq 0 ]]; then
			timed sync sync "$SET" || fail "$kind: a flush fails when it is over"
			load_start
			return
		fi
		close_set soak
	fi
	check_closed "$kind"
	open_set soak
	count recovered
	same "mode when opened after $kind" "$(status soak mode)" rw
	# closed cleanly on working members, it has all data, not only flushed data
	[[ $closed || $mode == ro ]] || verify
	verify --power-cut
	load_start
}
