# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Files on a set called where, and what the members have of them. For where.sh and where-layers.sh.
#
# Each block of 4 KiB of a file has a stamp with the number of the file, and of the block in it. The
# file systems have no smaller blocks, so that none lies on two extents. The slots that the kernel's
# map names are read from the members, and the stamps there are counted.

EXTENT=262144

# begin SLOW_MIB: an open set without migration, and a directory to mount at
begin() {
	members 96 "$1"
	stale "$FAST"
	stale "$SLOW"
	opened where --extent-size 256K
	msg where migration off
	mkdir "$TMP/mnt"
	MNT=$TMP/mnt
}

# mounted DEV: at $MNT until the test ends
mounted() {
	mount "$1" "$MNT"
	defer umount_quietly "$MNT"
}

# stamped FILE NR BLOCKS [FIRST]: blocks with stamps, from block FIRST of the file on
stamped() {
	awk -v nr="$2" -v n="$3" -v first="${4:-0}" 'BEGIN {
		for (i = first; i < first + n; i++)
			printf "%-4095s\n", "@stamp-" nr "-" i "@" }' |
		dd of="$1" bs=4k seek="${4:-0}" conv=notrunc status=none iflag=fullblock
}

# some_up [RUN]: RUN (3) of three times as many extents lie on the fast member, the others on the
# slow one; each run takes a message
some_up() {
	local i n run=${1:-3}
	n=$(status where extents)
	sync
	msg where demote 0-$((n - 1)) >/dev/null
	for ((i = 0; i <= n - run; i += 3 * run)); do
		msg where promote "$i-$((i + run - 1))" >/dev/null
	done
	at_least "extents on the fast member" "$(on where fast 0 "$n")" 20
}

# slots COMMAND...: run it with the data of each run of slots that the map names as its input, and
# the name of the member behind its arguments
slots() {
	local count member slot dev at start=$(($(sb fast_data_start) * 512))
	sync
	echo 3 >/proc/sys/vm/drop_caches
	msg where map "${FIRST:-0}" "${COUNT:-$(status where extents)}" >"$TMP/map"
	while read -r _ count member slot _; do
		case $member in
		fast)	dev=$FAST at=$((start + slot * EXTENT)) ;;
		slow)	dev=$SLOW at=$((slot * EXTENT)) ;;
		*)	continue ;;
		esac
		dd if="$dev" iflag=skip_bytes,count_bytes bs=1M skip="$at" count=$((count * EXTENT)) \
			status=none | "$@" "$member"
	done <"$TMP/map"
}

# stamps MEMBER: "NR MEMBER" for each different stamp in the input
stamps() {
	{ grep -aoE '@stamp-[0-9]+-[0-9]+@' || :; } | sort -u |
		awk -F - -v on="$1" '{ print $2, on }'
}

# truth: "NR fast|slow BYTES" for each stamped file, from the members themselves
truth() {
	slots stamps | sort | uniq -c | awk '{ print $2, $3, $1 * 4096 }' | sort
}

# found MEMBER: "MEMBER" for each of the strings in $TMP/strings in the input
found() {
	{ grep -aoFf "$TMP/strings" || :; } | sort -u | sed "c $1"
}

# asked FILE...: what fusionctl says is in $TMP/json
asked() {
	fusionctl where --json "$@" >"$TMP/json" || fail "where $*: status $?"
}

# member_bytes N: "FAST SLOW" of row N
member_bytes() {
	jq -r ".files[$1] | \"\(.fast_bytes) \(.slow_bytes)\"" "$TMP/json"
}

# as_truth: the rows of $TMP/json like truth; the file NR is named file-NR
as_truth() {
	jq -r '.files[] | (.path | sub(".*file-"; "")) as $nr |
		(select(.fast_bytes > 0) | "\($nr) fast \(.fast_bytes)"),
		(select(.slow_bytes > 0) | "\($nr) slow \(.slow_bytes)")' "$TMP/json" | sort
}

# agrees_backwards: for some extents, and some sectors, the files that are named are those that the
# member has stamps of
agrees_backwards() {
	local i extent first
	for ((i = 0; i < 12; i++)); do
		extent=$((RANDOM % $(status where extents)))
		FIRST=$extent COUNT=1 slots stamps | awk '{ print $1 }' | sort -u >"$TMP/truth"
		fusionctl where where --extents $extent --json >"$TMP/json" ||
			fail "--extents: status $?"
		jq -r '.files[].path' "$TMP/json" | sed -n 's/.*file-//p' | sort >"$TMP/told"
		diff "$TMP/truth" "$TMP/told" || fail "other files lie on extent $extent"
		# its second block alone
		first=$((extent * EXTENT / 512 + 8))
		dd if="$SET" bs=512 skip=$first count=8 status=none |
			stamps x | awk '{ print $1 }' >"$TMP/truth"
		fusionctl where where --sectors $first-$((first + 7)) --json >"$TMP/json" ||
			fail "--sectors: status $?"
		jq -r '.files[] | select(.fast_bytes + .slow_bytes == 4096) | .path' "$TMP/json" |
			sed -n 's/.*file-//p' >"$TMP/told"
		diff "$TMP/truth" "$TMP/told" || fail "another file lies on sector $first"
	done
}

# make_files: whole, sparse, small and fragmented ones on $MNT, and in directories
make_files() {
	local i
	mkdir "$MNT/dir" "$MNT/dir/deep"
	for i in 1 2 3; do
		stamped "$MNT/file-$i" $i $((RANDOM % 1500 + 500))
	done
	for i in 4 5; do
		stamped "$MNT/dir/file-$i" $i $((RANDOM % 500 + 100))
	done
	stamped "$MNT/dir/deep/file-6" 6 700
	# holes, one of them at the end
	stamped "$MNT/file-7" 7 50
	stamped "$MNT/file-7" 7 60 400
	truncate -s 4M "$MNT/file-7"
	# two that grow by turns
	for ((i = 0; i < 60; i++)); do
		stamped "$MNT/file-8" 8 4 $((4 * i))
		stamped "$MNT/file-9" 9 4 $((4 * i))
		sync "$MNT/file-8" "$MNT/file-9"
	done
}

# files_agree N [RUN]: with the members, for each file; N of them at least are on both
files_agree() {
	local files
	some_up "${2:-3}"
	truth >"$TMP/truth"
	at_least "files that are on both" "$(awk '{ print $1 }' "$TMP/truth" | uniq -d | wc -l)" "$1"
	mapfile -t files < <(find "$MNT" -name 'file-*' | sort)
	asked "${files[@]}"
	as_truth >"$TMP/told"
	diff "$TMP/truth" "$TMP/told" || fail "where says other than the members have"
}

# agrees: with the members, for files, a directory and a tree
agrees() {
	files_agree 4
	cp "$TMP/truth" "$TMP/truth.files"
	same "holes of a sparse file" \
		"$(jq '.files[] | select(.path | endswith("file-7")) | .hole_bytes' "$TMP/json")" \
		$((4194304 - 110 * 4096))
	jq -cS '[.files[] | select(.path | contains("/dir/"))] |
		{ files: length, fast: map(.fast_bytes) | add, slow: map(.slow_bytes) | add }' \
		"$TMP/json" >"$TMP/each"
	asked "$MNT/dir"
	jq -cS '.files[0] | { files, fast: .fast_bytes, slow: .slow_bytes }' "$TMP/json" |
		diff "$TMP/each" - || fail "a directory is not the sum of its files"
	asked --tree --sort name "$MNT"
	same "directories" "$(jq -r '.files[].path' "$TMP/json" | grep -v lost+found | xargs)" \
		"$MNT $MNT/dir $MNT/dir/deep"
	agrees_backwards
	fusionctl where "$MNT/file-1" "$MNT/dir" >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "ON FAST"
	has "a directory" "$(<"$TMP/out")" "$MNT/dir/ "
}

# sectors_read DEV: since it was made
sectors_read() {
	awk '{ print $3 }' "/sys/class/block/$(basename "$(realpath "$1")")/stat"
}

# agrees_by_reads FILE: reading it without a cache reads as much from each member as is said. For
# content that cannot be recognised on them.
agrees_by_reads() {
	local up down i
	asked "$1"
	same "all of $1 is on the members" "$(jq '.files[0] | .fast_bytes + .slow_bytes' "$TMP/json")" \
		"$(stat -c %s "$1")"
	# the second time, only data is read; while something is still written, the module reads its
	# heartbeat as well
	dd if="$1" of=/dev/null bs=64k iflag=direct status=none
	for i in {1..20}; do
		sync -f "$1"
		sleep 1
		up=$(sectors_read "$FAST")
		down=$(sectors_read "$SLOW")
		dd if="$1" of=/dev/null bs=64k iflag=direct status=none
		up=$((($(sectors_read "$FAST") - up) * 512))
		down=$((($(sectors_read "$SLOW") - down) * 512))
		[[ $(member_bytes 0) != "$up $down" ]] || break
	done
	same "$1: read from each member, try $i" "$(member_bytes 0)" "$up $down"
	at_least "from the fast one" "$up" 4096
	at_least "from the slow one" "$down" 4096
}
