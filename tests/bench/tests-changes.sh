# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Loads that change, and sets that are full.

# Half of the hot data stays hot, the other half moves to 80 % of the span.
SHIFTED=zoned:12/62:40/2:3/16:40/2:5/18

test_shift() {
	STEP=2 load before "${MIX[@]}" --random_distribution="$ZONED" "${IN_HALF[@]}"
	STEP=2 load after "${MIX[@]}" --random_distribution="$SHIFTED" "${IN_HALF[@]}"
}

# A backup reads everything, once, while other data is hot.
test_scan() {
	local hot=(--rw=randread --bs=4k --iodepth=4 --random_distribution="$ZONED")

	load converge "${hot[@]}" "${IN_WARM[@]}"
	load before "${hot[@]}" "${IN_STEADY[@]}"
	load during "${hot[@]}" --time_based --runtime=3600 \
		--name=scan --rw=read --bs=1M --iodepth=2 --exitall
	load after "${hot[@]}" "${IN_STEADY[@]}"
}

# Speed when so many percent of the device are in use, all of it by the load.
test_fullness() {
	local used bytes
	for used in "${FULL[@]}"; do
		if [[ $used -ne ${FULL[0]} ]]; then
			drop
			fresh
		fi
		bytes=$((SPAN * used / 100 & -MIB))
		fill_first $bytes
		load "$used %, learning" "${MIX[@]}" --random_distribution="$ZONED" --size=$bytes \
			"${IN_WARM[@]}"
		load "$used %" "${MIX[@]}" --random_distribution="$ZONED" --size=$bytes \
			"${IN_STEADY[@]}"
	done
}
