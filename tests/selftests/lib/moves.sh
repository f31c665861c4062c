# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Where extents lie, and what moves them: requests, and heat. Part of lib.sh.

# on NAME MEMBER FIRST COUNT: how many of these extents lie on fast, slow, or - (none)
on() {
	msg "$1" map "$3" "$4" | awk -v on="$2" '$3 == on { n += $2 } END { print n + 0 }'
}

# places NAME: one line for each extent: member and slot
places() {
	msg "$1" map 0 "$(status "$1" extents)" | awk '{
		for (i = 0; i < $2; i++)
			print $1 + i, $3, $4 == "-" ? "-" : $4 + i
	}'
}

# storm NAME: promote and demote extents, 64 in a row at a time, until killed. A suspended device
# refuses, and is asked again.
storm() {
	local extents way first last
	trap 'exit 0' TERM
	extents=$(status "$1" extents)
	while :; do
		for way in promote demote; do
			first=$(((RANDOM << 15 | RANDOM) % extents))
			last=$((first + 63 < extents ? first + 63 : extents - 1))
			msg "$1" $way $first-$last || sleep 0.1
		done
	done >/dev/null 2>&1
}

# enough NAME: wait until enough extents have moved each way
enough() {
	[[ $(status "$1" promotions) -ge 100 && $(status "$1" demotions) -ge 100 ]]
}

# heat NAME FIRST COUNT SECONDS: read these extents at random, 4 KiB at a time
heat() {
	local size
	size=$(($(sb extent_sectors) * 512))
	fio --name=heat --filename="/dev/mapper/$1" --readonly --rw=randread --bs=4k --direct=1 \
		--ioengine=psync --offset=$(($2 * size)) --size=$(($3 * size)) --norandommap \
		--time_based --runtime="$4" --output="$TMP/fio"
}

# gets_up NAME FIRST COUNT SECONDS: the policy promotes most of these extents if they are read for
# so long
gets_up() {
	local name=$1 first=$2 hot=$3
	SECONDS=0
	until [[ $(on "$name" fast "$first" "$hot") -ge $((hot * 3 / 4)) ]]; do
		[[ $SECONDS -lt $(($4 * SLOWNESS)) ]] || fail "after $SECONDS s of reads only" \
			"$(on "$name" fast "$first" "$hot") of $hot hot extents are on fast"
		heat "$name" "$first" "$hot" 4
	done
	say "$(on "$name" fast "$first" "$hot") of $hot hot extents on fast after $SECONDS s"
}
