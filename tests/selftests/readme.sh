#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The commands in README's blocks of code, in their order, on scratch members instead of the disks
# that they name. tests/lint/readme names those that cannot run here.
#
# readme.sh --commands prints those that run here.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

README=$here/../../README.md

# commands: the lines of its blocks that are commands of a set, without their comments
commands() {
	sed -nE 's/^    ((fusionctl|mount|umount) .*)/\1/p' "$README" | sed 's/ *# .*//'
}

if [[ ${1:-} == --commands ]]; then
	commands
	exit
fi

# here_is COMMAND: the same with scratch members, and without a question
here_is() {
	sed -E "s|/dev/nvme0n1p3|$FAST|; s|/dev/sda\>|$SLOW|; s|/mnt\>|$TMP/mnt|
		s/^(fusionctl create .*)/\1 --yes/" <<<"$1"
}

# prepared COMMAND: the state in which the reader would type it
prepared() {
	local hot
	case $1 in
	'fusionctl map '*)
		head -c 16M /dev/urandom >"$TMP/mnt/file"
		sync "$TMP/mnt/file" ;;
	'fusionctl whatif '*)
		hot=$(msg data map 0 "$(status data extents)" | awk '$5 == "stable" { print $1; exit }')
		heat data "$hot" 8 2 ;;
	'fusionctl salvage data')
		put_direct "$FAST" 0 0 65536 ;; # the SSD has died
	esac
}

# result COMMAND: more than that it succeeds
result() {
	case $1 in
	'fusionctl create '*)
		same "file system" "$(blkid -p -o value -s TYPE /dev/mapper/data)" ext4 ;;
	'fusionctl simulate '*)
		# README says by how much the set is faster than the HDD
		same "times" "$(awk '/^fused/ { printf "%.1f", $NF }' "$TMP/out")" \
			"$(grep -oP 'predicts \K[0-9.]+(?= times)' "$README")" ;;
	'fusionctl close '*)
		[[ ! -e /dev/mapper/data ]] || fail "the set is open" ;;
	'fusionctl salvage data rescued')
		same "read-only" "$(blockdev --getro /dev/mapper/rescued)" 1 ;;
	esac
}

remove_all() {
	umount_quietly "$TMP/mnt"
	dm_remove rescued
	dm_remove data
}

test_commands() {
	local lines line command n=0
	members 256 1024
	echo 1 >"/sys/block/${SLOW#/dev/}/queue/rotational"
	mkdir "$TMP/mnt"
	defer remove_all
	mapfile -t lines < <(commands)
	at_least "commands" "${#lines[@]}" 11
	for line in "${lines[@]}"; do
		command=$(here_is "$line")
		prepared "$line"
		case $line in
		*' doctor'*) command+=' || [[ $? -eq 1 ]]' ;; # warnings
		*' --watch'*) command="repeated 2 'data:*' $command" ;;
		esac
		eval "$command" >"$TMP/said" 2>&1 || fail "$line: status $?: $(tail -n 2 "$TMP/said")"
		[[ $line == *' --watch'* ]] || mv "$TMP/said" "$TMP/out"
		result "$line"
		n=$((n + 1))
	done
	say "$n commands"
}

run_tests
