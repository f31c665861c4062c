# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Measuring: run fio on the system under test, and print a record of its results and of the counters
# of the system and both disks on stdout, a line of JSON after "@ ".

TMP=$(mktemp -d)
MIB=$((1 << 20))

say() {
	echo "# $*"
}

# await COMMAND...: wait at most a minute until it succeeds
await() {
	local i
	for ((i = 0; i < 600; i++)); do
		! "$@" 2>/dev/null || return 0
		sleep 0.1
	done
	say "$SYSTEM: waited in vain for: $*"
	return 1
}

# The system's name as part of a function's.
function_of() {
	echo "$1_${2//[^a-z0-9]/_}"
}

# now: set NOW to the time, sectors read and written by the top device so far, and counters
now() {
	local s REPLY
	"$COUNTERS"
	read -ra s <"$STAT"
	NOW="$EPOCHREALTIME ${s[2]} ${s[6]} $REPLY"
}

# snapshot: set SNAPSHOT to all counters, as words
snapshot() {
	local line w disk
	"$COUNTERS"
	SNAPSHOT="t=$EPOCHREALTIME $REPLY"
	while read -r line; do
		case $line in
		bench-ssd:*) disk=ssd ;;
		bench-hdd:*) disk=hdd ;;
		*)	continue ;;
		esac
		for w in $line; do
			[[ $w != *=* ]] || SNAPSHOT+=" ${disk}_$w"
		done
	done < <(dmsetup status --target spindle)
}

# sample SECONDS: print a line at this interval, until killed
sample() {
	local fifo=$TMP/never
	[[ -p $fifo ]] || mkfifo "$fifo"
	exec 8<>"$fifo"
	while :; do
		now
		echo "$NOW"
		read -rt "$1" -u 8 || :
	done
}

# Samples as [seconds, bytes read, bytes written, hits, all, promotions, MiB that migration has
# written to the SSD, copies for shadows], from the first sample on.
series() {
	awk '{
		delete v
		for (i = 4; i <= NF; i++) {
			split($i, w, "=")
			v[w[1]] = w[2]
		}
		x[1] = $1; x[2] = $2 * 512; x[3] = $3 * 512
		x[4] = v["hits"]; x[5] = v["all"]; x[6] = v["promotions"]; x[7] = v["migrated_fast"]
		x[8] = v["shadow_copies"]
		printf("%s[", NR > 1 ? "," : "[")
		for (i = 1; i <= 8; i++) {
			if (NR == 1)
				first[i] = x[i]
			printf(i > 1 ? ",%.0f" : "%.2f", x[i] - first[i])
		}
		printf "]"
	} END { print NR ? "]" : "[]" }' "$TMP/samples"
}

# longest_gap LOG: the longest time in which no I/O ends, in seconds, of a log of fio's that has a
# line for each: time in ms, ...
longest_gap() {
	awk -F ', *' '
		$1 - last > longest { longest = $1 - last }
		{ last = $1 }
		END { printf("%.3f", longest / 1000) }' "$1"
}

# record PART BEFORE AFTER SERIES FIO.json [LONGEST-GAP]
record() {
	printf '@ '
	# fio may print messages before its JSON
	sed -n '/^{/,$p' "$5" |
	jq -cM --arg part "$1" --arg before "$2" --arg after "$3" --argjson series "$4" \
		--arg test "$TEST" --arg system "$SYSTEM" --argjson repetition "$REPETITION" \
		--argjson gap "${6:-null}" '
		def words: split(" ") | map(select(contains("=")) | split("=") | { (.[0]): (.[1] | tonumber) }) | add;
		def ms($p): .clat_ns.percentile[$p] // 0 | . / 1e6;
		def way: {
			mbs: (.bw_bytes / 1e6), iops: .iops, ios: .total_ios,
			mean: (.clat_ns.mean / 1e6), p50: ms("50.000000"), p99: ms("99.000000"),
			p999: ms("99.900000"), max: (.clat_ns.max / 1e6)
		};
		{
			test: $test, system: $system, repetition: $repetition, part: $part,
			before: ($before | words), after: ($after | words),
			jobs: (.jobs | map({ (.jobname): {
				seconds: (.job_runtime / 1e3),
				load: .["job options"].random_distribution,
				size: .["job options"].size,
				read: (.read | way), write: (.write | way),
				sync: (.sync | if .total_ios > 0 then {
					ios: .total_ios, mean: (.lat_ns.mean / 1e6),
					p50: (.lat_ns.percentile["50.000000"] / 1e6),
					p99: (.lat_ns.percentile["99.000000"] / 1e6)
				} else null end)
			} }) | add),
			series: $series
		} + if $gap then { longest_gap: $gap } else {} end'
}

# load PART OPTION...: run fio with these options and record it. STEP is the time between samples;
# with GAPS, the longest time in which nothing ends is recorded, too. Every load has its own seed,
# the same for all systems.
load() {
	local part=$1 before after sampler rc=0 logs=() gap=null
	shift
	[[ ! ${GAPS:-} ]] || logs=(--write_lat_log="$TMP/ended" --disable_slat=1 --disable_lat=1)
	LOADS=$((LOADS + 1))
	snapshot
	before=$SNAPSHOT
	sample "${STEP:-1}" >"$TMP/samples" &
	sampler=$!
	rm -f "$TMP/fio.json"
	fio --output-format=json --output="$TMP/fio.json" --eta=never \
		--percentile_list=50:99:99.9 \
		--filename="$DEV" --direct=1 --ioengine=libaio --refill_buffers --norandommap \
		--randrepeat=0 --allrandrepeat=0 --randseed=$((REPETITION * 1000 + LOADS)) \
		--name="$part" "$@" "${logs[@]}" >"$TMP/fio.log" 2>&1 || rc=$?
	kill "$sampler"
	wait "$sampler" 2>/dev/null || :
	now
	echo "$NOW" >>"$TMP/samples"
	snapshot
	after=$SNAPSHOT
	if [[ $rc -ne 0 ]]; then
		say "$TEST, $SYSTEM: fio ended with status $rc: $(head -n 3 "$TMP/fio.log" | tr '\n' ' ')"
		return 1
	fi
	if [[ ${GAPS:-} ]]; then
		gap=$(longest_gap "$TMP/ended_clat.1.log")
		rm "$TMP"/ended_*.log
	fi
	record "$part" "$before" "$after" "$(series)" "$TMP/fio.json" "$gap"
}

# -- the device under test ---------------------------------------------------------------

# fresh: create the system again
fresh() {
	make_disks
	COUNTERS=$(function_of counters "$SYSTEM")
	"$(function_of make "$SYSTEM")"
	SPAN=$(blockdev --getsize64 "$DEV")
	STAT=/sys/dev/block/$(lsblk -dnro MAJ:MIN "$DEV" | tr -d " ")/stat
	# a part that the fill leaves on the HDD, and a part that it does not, in every system that
	# has one
	COLD=$((HDD_MIB * MIB / 2)) HOT=0
	[[ $SPAN -gt $COLD ]] || COLD=$((SPAN / 2))
}

drop() {
	"$(function_of remove "$SYSTEM")" || return 1
	remove_disks
}

# The content of a single disk does not affect it.
is_alone() {
	[[ $SYSTEM == hdd || $SYSTEM == ssd || $SYSTEM == linear ]]
}

# settle: wait until all background work is done
settle() {
	sync "$DEV"
	sleep "$SETTLE"
}

# fill OFFSET BYTES: in sequence
fill() {
	fio --name=fill --filename="$DEV" --rw=write --bs=1M --direct=1 --iodepth=4 \
		--ioengine=libaio --offset="$1" --size="$2" --eta=never --output=/dev/null
}

# fill_first BYTES: from the beginning. Data that is written first is on the SSD; so the future hot
# data gets there for fusion-oracle. When both members are full, messages cannot move anything any
# more, since they leave the last slots to the policy.
fill_first() {
	local first last
	if [[ $SYSTEM == fusion-oracle ]]; then
		read -r first last < <(hot_extents)
		fill $((first * BLOCK)) $(((last - first + 1) * BLOCK))
	fi
	is_alone || fill 0 "$1"
	settle
}
