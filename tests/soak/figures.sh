# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Counts and measurements of the soak, and the table at its end.

declare -A N=()			# how often what was done
declare -A SLOWEST=()		# ms, by what it was
declare -A COUNTED=()		# moves of activations that are over, by device
SAMPLES=()			# "minute available kernel", KiB, each with all sets closed

# count WHAT [N]
count() {
	N[$1]=$((${N[$1]:-0} + ${2:-1}))
}

# slow WHAT MS
slow() {
	[[ $2 -le ${SLOWEST[$1]:-0} ]] || SLOWEST[$1]=$2
}

# timed WHAT COMMAND...: run a program and return its status; it must end within the bound
timed() {
	local what=$1 begin=${EPOCHREALTIME/./} rc=0
	shift
	timeout -k 5 "$BOUND" "$@" || rc=$?
	slow "$what" $(((${EPOCHREALTIME/./} - begin) / 1000))
	[[ $rc -ne 124 && $rc -ne 137 ]] || fail "$*: not done after $BOUND s"
	return "$rc"
}

# count_load FILE: add the counts that fusion-stamp printed
count_load() {
	local n what
	while read -r n what; do
		what=${what%%,*}
		case $what in
		reads|writes|'sub-block writes'|discards|zeroouts|flushes)
			count "$what" "$n"
			count operations "$n" ;;
		ms)	slow load "$n" ;;
		esac
	done <"$1"
}

# moves NAME: promotions and demotions of this activation
moves() {
	local up down
	read -r up down < <(status "$1" promotions demotions)
	REPLY=$((up + down))
}

# count_moves NAME: before the device is removed, and its counters with it
count_moves() {
	moves "$1"
	COUNTED[$1]=$((${COUNTED[$1]:-0} + REPLY))
}

# all_moves: of all sets, so far
all_moves() {
	local i sum=0
	for i in "${SETS[@]}"; do
		sum=$((sum + ${COUNTED[$i]:-0}))
		dmsetup info "$i" >/dev/null 2>&1 || continue
		moves "$i"
		sum=$((sum + REPLY))
	done
	REPLY=$sum
}

# memory: available, and the kernel's own, in KiB, after freeing all that can be freed
memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	REPLY=$(awk '/^MemAvailable:/ { available = $2 }
		/^(SUnreclaim|VmallocUsed|Percpu|KernelStack|PageTables):/ { kernel += $2 }
		END { print available, kernel }' /proc/meminfo)
}

# whole_members: have a page for each block of the members, which null_blk allocates as they are
# written, and frees as they are discarded: otherwise their memory would grow as that of a leak does
whole_members() {
	local i
	for i in {fs,}{fast,slow}; do
		dd if="/dev/$i" of="/dev/$i" bs=1M iflag=direct oflag=direct \
			conv=notrunc,fsync status=none
	done
}

# steadily FIELD SIGN: whether each sample of the second half is worse than the one before. REPLY is
# the sum in KiB
steadily() {
	local i n=${#SAMPLES[@]} was now first='' line
	for ((i = n / 2; i < n; i++)); do
		read -ra line <<<"${SAMPLES[i]}"
		now=$((${line[$1]} * $2))
		[[ ! $first || $now -gt $was ]] || return 1
		was=$now
		: "${first:=$now}"
	done
	REPLY=$((was - first))
}

# memory_is_kept: sanitisers hold memory back in the first minutes, until their limit is reached
memory_is_kept() {
	local allowed total
	[[ ${#SAMPLES[@]} -ge 4 ]] || return 0
	total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
	allowed=$((total / 128))
	if steadily 1 -1 && [[ $REPLY -gt $allowed ]]; then
		fail "memory gets less all the time, by $REPLY KiB in the second half"
	fi
	if steadily 2 1 && [[ $REPLY -gt $allowed ]]; then
		fail "the kernel takes more memory all the time, $REPLY KiB in the second half"
	fi
}

progress() {
	local now=$((SECONDS / 60))
	[[ $now -gt $MINUTE ]] || return 0
	MINUTE=$now
	all_moves
	say "minute $now: ${N[operations]:-0} operations, $REPLY moves," \
		"${N[faults]:-0} faults, ${N[openings]:-0} openings," \
		"$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo) MiB available"
}

row() {
	local line
	printf -v line '%-34s %10s %10s %10s' "$@"
	say "${line%"${line##*[! ]}"}"
}

# messages FILE...: the counts of the storms, a row for each request
messages() {
	local name well refused ms
	while read -r name well refused ms; do
		row "message: $name" "$well" "$refused" "$ms ms"
	done < <(awk '{ d[$1] += $2; r[$1] += $3; if ($4 > m[$1]) m[$1] = $4; if (!n[$1]++) o[++k] = $1 }
		END { for (i = 1; i <= k; i++) print o[i], d[o[i]], r[o[i]], m[o[i]] + 0 }' "$@")
}

table_of_all() {
	local i first last
	read -ra first <<<"${SAMPLES[0]}"
	read -ra last <<<"${SAMPLES[-1]}"
	row "" times
	row minutes "$((SECONDS / 60))"
	for i in reads writes 'sub-block writes' discards zeroouts flushes; do
		row "stamped: $i" "${N[$i]:-0}"
	done
	row "stamped: whole device verified" "${N[verified]:-0}"
	row "file system: runs of fio and cp" "${N[batches]:-0}"
	row "file system: checked, compared" "${N[fsck]:-0}"
	all_moves
	row "extents moved" "$REPLY"
	row "suspended and resumed" "${N[suspended]:-0}"
	row "tables reloaded, thrown away" "${N[reloaded]:-0}" "${N[cleared]:-0}"
	row "closed and opened, in order" "${N[reopened]:-0}"
	row "closed and opened, after a fault" "${N[recovered]:-0}"
	row "metadata checked, repaired" "${N[checked]:-0}" "${N[repaired]:-0}"
	row "" times "went on" read-only
	for i in "${KINDS[@]}"; do
		row "fault: $i" "${N[fault $i]:--}" "${N[rw $i]:--}" "${N[ro $i]:--}"
	done
	row "opened while a member failed" "${N[opened broken]:-0}"
	row "refused to, while a member failed" "${N[not opened broken]:-0}"
	row "" "done" refused slowest
	messages "$TMP"/storm-*.counts
	row "" slowest
	for i in load suspend resume close open sync; do
		row "$i" "${SLOWEST[$i]:-0} ms"
	done
	row "" begin end
	row "memory available, KiB" "${first[1]}" "${last[1]}"
	row "memory of the kernel, KiB" "${first[2]}" "${last[2]}"
	for i in "${SAMPLES[@]}"; do
		read -ra first <<<"$i"
		row "memory after minute ${first[0]}" "${first[1]}" "${first[2]}"
	done
	row "" found
	row "kmemleak: of dm_fusion, others" "${N[leaks]:--}" "${N[other leaks]:--}"
	row splats "$(wc -l <"$TMP/splats")"
}
