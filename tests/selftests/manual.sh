#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every example of the manual pages runs and succeeds, on scratch members in place of the disks that
# it names.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

man=$here/../../userspace/man

# examples PAGE: the commands in its code blocks
examples() {
	awk '/^\t*```$/ { code = !code; next } code' "$man/$1" | sed 's/^\t*[#$] //' |
		grep -E '^(fusionctl|dmsetup) [a-z]'
}

# ours COMMAND: the command with scratch devices, and without a question
ours() {
	sed -E "s|/dev/(nvme0n1p3\|sdb1?)( \|$)|$FAST\2|; s|/dev/(sda\|sdc)( \|$)|$SLOW\2|g
		s@/dev/(nvme0n1p4|nvme1n1)( |$)@$THIRD\2 --force@
		s|/var/lib/prometheus/node-exporter|$TMP|
		s|/srv/photos ||; s|/srv/mail.db|$TMP/mnt/file|; s|/srv |$TMP/mnt |
		s|fast\.img|$FAST|; s|slow\.img|$SLOW|
		s/^(fusionctl (create|restore|wipe|repair|format|uuid|replace) .*)/\1 --yes/
		s/^(fusionctl restore .*)/\1 --force/
		s/^(fusionctl simulate .*)/\1 --duration 1m/
		s/^(fusionctl bench (honest|mix|sustained) [^ ]*mnt) .*/\1 --quick --max-size 16M/
		s/^fusionctl bench .* --max-size 16M$/& --dry-run/
		s/^(fusionctl bench fullness [^ ]*mnt) .*/\1 --quick --dry-run/
		s/ 0 [0-9]* fusion / 0 $SECTORS fusion /; s/\"0 [0-9]* fusion/\"0 $SECTORS fusion/" <<<"$1"
}

# a set that is closed
begin() {
	two_members
	defer remove_sets
	# what the examples pin
	defer rm -rf /etc/fusion/pins.d
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes
	SECTORS=$(blockdev --getsz /dev/mapper/data)
	good fusionctl close data
	cd "$TMP"
	printf 'fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 4096 4096\n' >trace.log
	printf '/dev/x write 8192 4096\n/dev/x close\n' >>trace.log
}

two_members() {
	# as large as the examples require; unwritten areas take no memory
	members 9000 40000
	echo 1 >"/sys/block/${SLOW#/dev/}/queue/rotational"
	# that replaces one of them
	null third 9000
	THIRD=$REPLY
}

# filled: the set is open, with a file system and a file on it
filled() {
	fusionctl open data
	[[ $(blkid -p -o value -s TYPE /dev/mapper/data || :) != ext4 ]] || return 0
	mkfs.ext4 -q /dev/mapper/data
	mkdir -p mnt
	mount /dev/mapper/data mnt
	defer umount_quietly "$TMP/mnt"
	head -c 16M /dev/urandom >mnt/file
	umount mnt
}

# prepare VERB [ARGUMENT]...: the state that the example assumes
prepare() {
	local i
	remove_sets
	case $* in
	restore*--geometry*)
		# the superblocks and the heartbeat
		for i in "$FAST" "$SLOW"; do
			put_direct "$i" 0 0 65536
		done
		return ;;
	replace*--lost*)
		# the disk is not there any more
		put_direct "$FAST" 0 0 65536
		return ;;
	esac
	case $1 in
	create|format)
		fusionctl wipe data --yes >/dev/null ;;
	adopt)	fusionctl wipe data --yes >/dev/null
		# without a journal, whose zeros would take memory
		mkfs.ext4 -q -O ^has_journal "$SLOW" ;;
	grow)	# the member was smaller when the set was made
		fusionctl wipe data --yes >/dev/null
		linear part "$SLOW" 0 $((30000 * 2048))
		fusionctl format data --fast "$FAST" --slow "$REPLY" --yes --force >/dev/null
		dm_remove part
		fusionctl open data ;;
	landing) # it had one, so there is room
		fusionctl wipe data --yes >/dev/null
		fusionctl format data --fast "$FAST" --slow "$SLOW" --yes --landing 4G >/dev/null
		fusionctl landing data 0 >/dev/null ;;
	open|release|assemble|probe|check|repair|dump|wipe|simulate|list|version|complete|doctor|uuid)
		;;
	restore)
		rm -f data.json
		fusionctl dump data -o data.json ;;
	salvage)
		filled
		fusionctl demote data 0-$(($(status data extents) - 1))
		fusionctl close data ;;
	where|explain)
		filled
		mount /dev/mapper/data mnt ;;
	pin)	filled
		mount /dev/mapper/data mnt ;;
	unpin)	filled
		fusionctl pin data --extents 0-9 --slow >/dev/null ;;
	bench)	filled
		mount /dev/mapper/data mnt ;;
	whatif)	filled
		heat data "$(msg data map 0 "$(status data extents)" |
			awk '$5 == "stable" { print $1; exit }')" 8 2 ;;
	replace)
		fusionctl open data
		[[ $* != *--* ]] ||
			fusionctl replace data "$FAST" "$THIRD" --yes --force --no-wait >/dev/null ;;
	*)	fusionctl open data ;;
	esac
	rm -f ./*.svg
	[[ $1 == restore ]] || rm -f data.json
}

remove_sets() {
	local i
	umount_quietly "$TMP/mnt"
	for i in rescued rescued-stale data; do
		[[ ! -b /dev/mapper/$i ]] || dmsetup remove --retry "$i"
	done
}

# a verb may leave something other than a set
again() {
	local i
	! fusionctl probe "$THIRD" >/dev/null 2>&1 || fusionctl wipe "$THIRD" --yes >/dev/null
	for i in "$FAST" "$SLOW"; do
		fusionctl probe "$i" >/dev/null 2>&1 && continue
		fusionctl format data --fast "$FAST" --slow "$SLOW" --yes --force >/dev/null
		return
	done
}

test_fusionctl() {
	local lines line command words n=0
	begin
	mapfile -t lines < <(examples fusionctl.8.scd)
	at_least examples "${#lines[@]}" 40
	for line in "${lines[@]}"; do
		# takes memory that this machine does not have; bench.sh measures
		[[ $line != @(*"bench honest /dev/"*|*"bench --compare"*) ]] || continue
		read -ra words <<<"${line#fusionctl }"
		prepare "${words[@]}"
		command=$(ours "$line")
		case $command in
		*' doctor'*) command+=' || [[ $? -eq 1 ]]' ;; # warnings
		*--watch*|*--follow*) command="timeout -s INT 3 $command || [[ \$? -eq 124 ]]" ;;
		esac
		eval "$command" >"$TMP/out" 2>&1 || fail "$line: status $?: $(tail -n 2 "$TMP/out")"
		n=$((n + 1))
		prepare list
		again
	done
	say "$n examples"
}

test_dmsetup() {
	local lines line
	begin
	mapfile -t lines < <(examples dm-fusion.4.scd)
	at_least examples "${#lines[@]}" 4
	for line in "${lines[@]}"; do
		eval "$(ours "$line")" >"$TMP/out" 2>&1 ||
			fail "$line: status $?: $(tail -n 2 "$TMP/out")"
	done
	dm_remove data
}

# every verb has an example, and every option is in the manual
test_complete() {
	local verb option
	good fusionctl help
	while read -r verb; do
		examples fusionctl.8.scd | grep -q "^fusionctl $verb" || fail "no example of $verb"
		good fusionctl help "$verb"
		while read -r option; do
			grep -q -e "\*$option" "$man/fusionctl.8.scd" || fail "nothing about $option"
		done < <(sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$TMP/out")
		good fusionctl help
	done < <(fusionctl help | sed -n 's/^  \([a-z]*\) .*/\1/p')
}

run_tests
