# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Loads that do not change: how well does a system serve them, and after how long?

# placed_by_oracle: the hot zone of $ZONED is on the fast member
placed_by_oracle() {
	local first last
	read -r first last < <(hot_extents)
	dmsetup message "$NAME" 0 map "$first" $((last - first + 1)) | awk '
		$3 != "fast" { n += $2 }
		END { if (n) print "# of the hot zone " n " extents are not on the SSD"; exit n > 0 }'
}

# long KIND DISTRIBUTION OPTION...: long enough to learn
long() {
	local kind part=$1 distribution=$2
	shift 2
	case $part in
	read)	kind=(--rw=randread --bs=4k --iodepth=16) ;;
	mix)	kind=("${MIX[@]}") ;;
	esac
	[[ $SYSTEM != fusion-oracle ]] || placed_by_oracle
	STEP=$((LONG > 60 ? 5 : 2)) load "$part" "${kind[@]}" \
		--random_distribution="$distribution" "$@"
}

# fio has no zipf of exactly 1. It scatters the blocks over the span with a hash, whose start is
# given, so that tests/bench/oracle.c knows the place of each block.
test_zipf1_0_read() { long read zipf:1.0001:0.5 "${IN_LONG[@]}"; }
test_zipf1_0_mix() { long mix zipf:1.0001:0.5 "${IN_LONG[@]}"; }
test_zipf1_2_read() { long read zipf:1.2:0.5 "${IN_HALF[@]}"; }
test_zipf1_2_mix() { long mix zipf:1.2:0.5 "${IN_LONG[@]}"; }
test_zoned_read() { long read "$ZONED" "${IN_HALF[@]}"; }
test_zoned_mix() { long mix "$ZONED" "${IN_LONG[@]}"; }

# Nothing is hotter than the rest, so every move is a loss.
test_uniform() {
	load warm "${MIX[@]}" "${IN_WARM[@]}"
	load uniform "${MIX[@]}" "${IN_STEADY[@]}"
}

# More data than the SSD holds, again and again: a block of each 64 KiB in turn, since a stream
# would be as fast from the HDD.
test_loop() {
	local round=(--rw=read:60k --bs=4k --iodepth=1 --offset="$COLD"
		--size=$((SSD_MIB * 12 / 10))M --time_based)
	load loop "${round[@]}" --runtime="$ROUNDS"
	load again "${round[@]}" --runtime="$STEADY"
}

# A stream of cold reads beside random hot reads, and a stream of writes beside them.
test_seqmix() {
	local random=(--name=random --rw=randread --bs=4k --iodepth=4
		--random_distribution="$ZONED" --offset=0 --size="$SPAN"
		"${IN_STEADY[@]}")
	local size=$((256 * MIB))

	[[ $SPAN -ge $((COLD + size)) ]] || size=$((SPAN - COLD))
	load alone --rw=randread --bs=4k --iodepth=4 --random_distribution="$ZONED" \
		"${IN_STEADY[@]}"
	load read --rw=read --bs=1M --iodepth=2 --offset="$COLD" --size=$size --time_based \
		--runtime="$STEADY" "${random[@]}"
	load write --rw=write --bs=1M --iodepth=2 --offset="$COLD" --size=$size --time_based \
		--runtime="$STEADY" "${random[@]}"
}
