#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl bench: its rate and latency against the model of a disk, and what it finds out: caches,
# other load, space that was never written, and which member of a set served what. What it does to
# files and devices is in bench-safety.sh.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# disk NAME MIB [KEY VALUE]...: the model of a disk, on one that forgets what is written
disk() {
	null "$1-below" "$2" memory_backed=0 discard=0
	spindle "$1" "$REPLY" "${@:3}"
	REPLY=/dev/mapper/$1
}

# measured TARGET [OPTION]...: the JSON is in $TMP/out
measured() {
	local rc=0
	fusionctl bench honest "$@" --json >"$TMP/out" 2>"$TMP/err" || rc=$?
	[[ $rc == 0 || $rc == 8 ]] || fail "bench honest $*: status $rc: $(<"$TMP/err")"
	same "reliable, by the exit status" "$(jq .reliable "$TMP/out")" \
		"$([[ $rc == 0 ]] && echo true || echo false)"
}

# a_pair: a set called pair, whose slow member is a model
a_pair() {
	null fast 64
	FAST=$REPLY
	null slow-below 256
	spindle slow "$REPLY"
	SLOW=/dev/mapper/slow
	opened pair --extent-size 256K
}

# line DIRECTION MEMBER FIELD: of the line
line() {
	jq -r --arg d "$1" --arg m "$2" \
		".lines[] | select(.direction == \$d and (.member // \"all\") == \$m) | .$3" "$TMP/out"
}

# within_percent WHAT IS WANTED PERCENT
within_percent() {
	echo "# $1: $2, expected $3"
	awk -v is="$2" -v want="$3" -v p="$4" \
		'BEGIN { d = (is - want) / want * 100; exit !(d <= p && d >= -p) }'
}

doubts() {
	jq -r '[.doubts[].kind] | sort | join(" ")' "$TMP/out"
}

# doubted KIND
doubted() {
	[[ " $(doubts) " == *" $1 "* ]] || fail "no doubt about $1, only: $(doubts)"
}

# fio_of DEV FIELD OPTION...: a field of a job that reads
fio_of() {
	fio --name=truth --filename="$1" --direct=1 --ioengine=psync --output-format=json "${@:3}" |
		jq ".jobs[0].read.$2"
}

# A tenth of the disk is ten times as slow. What the rest does is known. The turns of the disk alone
# are worth 4 percent of the latency of so many transfers: one run of some fifty may be farther off.
test_model() {
	local rate latency try
	need fio
	disk good 4500
	rate=$(fio_of /dev/mapper/good bw_bytes --rw=read --bs=8m --size=512m)
	latency=$(fio_of /dev/mapper/good lat_ns.mean --rw=randread --bs=4k --number_ios=300 \
		--norandommap | awk '{ print $1 / 1e6 }')
	disk bad 500 rate 15 rpm 720 seek_track_us 10000 seek_full_us 160000
	dm both "0 $(sectors_of /dev/mapper/good) linear /dev/mapper/good 0
$(sectors_of /dev/mapper/good) $(sectors_of /dev/mapper/bad) linear /dev/mapper/bad 0"
	for try in 1 2; do
		measured /dev/mapper/both --max-size 64M --seed $try
		within_percent "rate" "$(line read all bytes_per_second)" "$rate" 2 ||
			fail "another rate"
		at_least "outliers" "$(line read all outliers)" 4
		same "transfers" "$(jq '.transfers | length' "$TMP/out")" 160
		# nothing was ever written there
		same "doubts" "$(doubts)" zeros
		! within_percent "latency, ms" "$(line read all latency_ms)" "$latency" 10 || return 0
	done
	fail "another latency"
}

# run LOAD FIELD: of sweep or mix
run() {
	jq -r --arg l "$1" ".runs[] | select(.load == \$l) | .$2" "$TMP/out"
}

# On the model, as fio says alone; and on a set, of which the file's hot part moves up.
test_loads() {
	local depth truth rc=0
	need fio mkfs.ext4
	disk good 4500
	fusionctl bench sweep /dev/mapper/good --max-size 4G --quick --json >"$TMP/out" || rc=$?
	same "status" $rc 8
	same "doubts" "$(doubts)" zeros
	for depth in 1 16; do
		truth=$(fio_of /dev/mapper/good iops --rw=randread --bs=4k --size=4g --iodepth=$depth \
			--ioengine=libaio --time_based --runtime=5 --norandommap)
		within_percent "I/Os a second" "$(run "read 4K, $depth in flight" ios_per_second)" \
			"$truth" 10 || fail "another rate with $depth in flight"
	done
	a_pair
	mkfs.ext4 -q "$SET"
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	refused "not a size for a file; give 16M to 128G" \
		fusionctl bench mix "$TMP/mnt" --quick --max-size 15M
	rc=0
	fusionctl bench mix "$TMP/mnt" --quick --max-size 128M --json >"$TMP/out" || rc=$?
	[[ $rc == 0 || $rc == 8 ]] || fail "mix: status $rc"
	same "loads" "$(jq '.runs | length' "$TMP/out")" 5
	# files of 4 to 64 KiB, each size as often
	within_percent "read by a launch" "$(jq '.runs[] | select(.load == "launch") |
		.bytes_per_second / .ios_per_second' "$TMP/out")" 25400 10 || fail "of other sizes"
	json '[.runs[].fast_share | . >= 0 and . <= 1] | all' true
	json .profile mix
	same "files left" "$(ls -A "$TMP/mnt")" "lost+found"
}

test_load() {
	local pid
	need fio
	disk busy 600
	fio --name=load --filename=/dev/mapper/busy --direct=1 --ioengine=psync --rw=randread \
		--bs=4k --rate_iops=40 --time_based --runtime=600 --output=/dev/null &
	pid=$!
	defer kill $pid
	measured /dev/mapper/busy --quick --max-size 4M
	doubted load
	# nothing was ever written there
	doubted zeros
	same "written" "$(jq .watched.written_bytes "$TMP/out")" 0
}

# A loop device without direct I/O has the page cache above its disk.
test_cache() {
	need fio mkfs.ext4
	null below 512
	mkfs.ext4 -q "$REPLY"
	mkdir "$TMP/mnt"
	mount "$REPLY" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	head -c 160M /dev/urandom >"$TMP/mnt/image"
	modprobe -q loop || :
	LOOP=$(losetup -f --show --direct-io=off "$TMP/mnt/image")
	defer losetup -d "$LOOP"
	measured "$LOOP" --quick --max-size 4M
	doubted cache
	# a file system in memory, which either takes no direct I/O or has no disk
	mkdir "$TMP/tmpfs"
	mount -t tmpfs none "$TMP/tmpfs"
	defer umount_quietly "$TMP/tmpfs"
	if fusionctl bench honest "$TMP/tmpfs" --quick --max-size 4M --json >"$TMP/out" \
		2>"$TMP/err"; then
		fail "the page cache is reliable"
	elif [[ -s $TMP/out ]]; then
		doubted no_disk
	else
		grep -q "takes no direct I/O" "$TMP/err" || fail "$(<"$TMP/err")"
	fi
	same "files left" "$(ls -A "$TMP/tmpfs")" ""
}

test_set() {
	need fio mkfs.ext4
	a_pair
	good fusionctl set pair migration=off
	# more than the fast member has room for
	measured "$SET" --quick --max-size 6M --write --yes --force
	json .name pair
	doubted small
	at_least "transfers to the fast member" "$(line write fast transfers)" 8
	at_least "transfers to the slow member" "$(line write slow transfers)" 8
	at_least "rate of the fast member" "$(line write fast 'bytes_per_second | floor')" \
		$(($(line write slow 'bytes_per_second | floor') * 2))
	at_least "rate of the fast member" "$(line read fast 'bytes_per_second | floor')" \
		$(($(line read slow 'bytes_per_second | floor') * 2))
	# for people, a line for each
	fusionctl bench honest "$SET" --quick --max-size 6M --svg "$TMP/svg" >"$TMP/text" || :
	has "a line for each" "$(<"$TMP/text")" "read, fast "
	has "a line for each" "$(<"$TMP/text")" "read, slow "
	has "why it is doubtful" "$(<"$TMP/text")" "not reliable: "
	has "drawn" "$(<"$TMP/svg")" "read, slow: "
	mkfs.ext4 -q "$SET"
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	refused "has " fusionctl bench honest "$TMP/mnt"
	measured "$TMP/mnt" --quick --max-size 4M
	json .name pair
	json .file_system ext4
	same "files left" "$(ls -A "$TMP/mnt")" "lost+found"
	cp "$TMP/out" "$TMP/a.json"
	expect 8 "" fusionctl bench --compare "$TMP/a.json" "$TMP/a.json"
	grep -q "no difference shown" "$TMP/out" || fail "it differs from itself"
}

# phase NAME FIELD: of sustained
phase() {
	jq -r --arg p "$1" ".phases[] | select(.phase == \$p) | .$2" "$TMP/out"
}

# sustained TARGET OPTION...: the JSON is in $TMP/out
sustained() {
	local rc=0
	fusionctl bench sustained "$@" --json >"$TMP/out" 2>"$TMP/err" || rc=$?
	[[ $rc == 0 || $rc == 8 ]] || fail "bench sustained $*: status $rc: $(<"$TMP/err")"
	say "$(jq -r '[.intervals[].bytes_per_second / 1e5 | round / 10] | join(" ")' \
		"$TMP/out") MB/s"
	say "$(jq -r '[.intervals[].fast_share // 0 | . * 100 | round] | join(" ")' "$TMP/out") %"
}

# The fast member takes what is written until it is full.
test_sustained() {
	local room
	need fio mkfs.ext4
	null fast-below 256
	spindle fast "$REPLY" rate 16
	FAST=/dev/mapper/fast
	null slow-below 400
	spindle slow "$REPLY" rate 4
	SLOW=/dev/mapper/slow
	opened pair --extent-size 256K
	good fusionctl set pair migration=off
	room=$((($(status pair total_fast) - $(status pair used_fast)) * 262144))
	sustained "$SET" --duration 50s --write --yes --force
	within_percent "bytes before the fall" "$(phase before bytes)" $room 15 || fail "elsewhere"
	within_percent "rate before it" "$(phase before bytes_per_second)" 16000000 15 ||
		fail "another rate"
	within_percent "rate after it" "$(phase after bytes_per_second)" 4000000 15 ||
		fail "another rate"
	at_least "share of the fast member, in %" "$(phase before 'fast_share * 100 | floor')" 95
	at_least "share of the slow member, in %" \
		"$(phase after 'fast_share | (1 - .) * 100 | ceil')" 90
	# a disk that is the same all the time, in a directory
	null alone-below 256
	spindle alone "$REPLY" profile ssd write_rate 6
	mkfs.ext4 -q /dev/mapper/alone
	mkdir "$TMP/mnt"
	mount /dev/mapper/alone "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	sustained "$TMP/mnt" --duration 20s --svg "$TMP/svg"
	same "phases" "$(jq -r '[.phases[].phase] | join(" ")' "$TMP/out")" all
	at_least "intervals" "$(jq '.intervals | length' "$TMP/out")" 18
	has "drawn" "$(<"$TMP/svg")" "without a fall for good"
	same "files left" "$(ls -A "$TMP/mnt")" "lost+found"
}

# fullness TARGET OPTION...: the JSON is in $TMP/out
fullness() {
	local rc=0
	fusionctl bench fullness "$@" --json >"$TMP/out" 2>"$TMP/err" || rc=$?
	[[ $rc == 0 || $rc == 8 ]] || fail "bench fullness $*: status $rc: $(<"$TMP/err")"
	say "$(jq -r '[.runs[].fullness * 100 | round] | join(" ")' "$TMP/out") % full"
	say "$(jq -r '[.runs[].bytes_per_second / 1e5 | round / 10] | join(" ")' "$TMP/out") MB/s"
	same "steps that are missed" "$(jq '[.runs[] | .fullness * 100 -
		(.load | split(" ")[0] | tonumber) | select(. < -3 or . > 1)] |
		length' "$TMP/out")" 0
}

test_fullness() {
	need fio mkfs.ext4
	a_pair
	good fusionctl set pair migration=off
	# what is mapped already is discarded
	put "$SET" 1 0 $((64 << 20))
	fullness "$SET" --duration 3s --write --yes --force
	same "steps" "$(jq '.runs | length' "$TMP/out")" 7
	at_least "share of the fast member, in %" \
		"$(jq '.runs[0].fast_share * 100 | floor' "$TMP/out")" 95
	at_least "share of the slow member, in %" \
		"$(jq '(1 - .runs[6].fast_share) * 100 | floor' "$TMP/out")" 60
	at_least "mapped, in %" $(($(status pair mapped) * 100 / $(status pair extents))) 93
	mkfs.ext4 -q "$SET"
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	fallocate -l 100M "$TMP/mnt/file"
	fullness "$TMP/mnt" --quick --duration 3s --svg "$TMP/svg"
	same "first step" "$(jq -r '.runs[0].load' "$TMP/out")" "50 % full"
	has "drawn" "$(<"$TMP/svg")" "by fullness"
	rm "$TMP/mnt/file"
	same "files left" "$(ls -A "$TMP/mnt")" "lost+found"
}

run_tests
