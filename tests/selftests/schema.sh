#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The JSON output of fusionctl matches the schemas in userspace/schema, in any state of a set. There
# is a schema for every verb that has --json.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

schemas=$here/../../userspace/schema

need_validator() {
	need python3
	python3 -c 'import jsonschema' 2>/dev/null || skip "no jsonschema for Python here"
}

# matches SCHEMA FILE...: or $REPLY is what is wrong. One process of the test validates all: Python
# takes a second to start in user-mode Linux.
matches() {
	[[ ${VALIDATOR_PID:-} ]] || coproc VALIDATOR { exec python3 "$here/validate.py"; }
	echo "$schemas/$1.json" "${@:2}" >&"${VALIDATOR[1]}"
	read -r REPLY <&"${VALIDATOR[0]}" || REPLY="the validator ended"
	[[ $REPLY == valid ]]
}

# valid CODE SCHEMA COMMAND...: it exits with CODE, and its output matches the schema
valid() {
	local want=$1 schema=$2 rc=0
	shift 2
	"$@" >"$TMP/json" 2>"$TMP/err" || rc=$?
	same "exit code of '$*' ($(<"$TMP/err"))" $rc "$want"
	matches "$schema" "$TMP/json" || fail "$*: $REPLY"
}

# valid_lines LEAST SCHEMA FILE: at least so many lines, each of which matches the schema
valid_lines() {
	at_least "lines for $2" "$(wc -l <"$3")" "$1"
	[[ -s $3 ]] || return 0
	rm -f "$TMP"/line.*
	split -l 1 "$3" "$TMP/line."
	matches "$2" "$TMP"/line.* || fail "$2: $REPLY"
}

# an open set, with data on both members and a partial extent
begin() {
	need_validator
	linked 64 128
	# it becomes larger later
	swap slow "0 $((112 * 2048)) linear /dev/slow 0"
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	dd if=/dev/urandom of=/dev/mapper/data bs=1M count=90 oflag=direct conv=fsync status=none
	dd if=/dev/urandom of=/dev/mapper/data bs=4k seek=30000 count=1 oflag=direct conv=fsync \
		status=none
	heat data 0 8 2	# for whatif
}

# with a file system
test_where() {
	begin
	mkfs.ext4 -q /dev/mapper/data
	mkdir "$TMP/mnt"
	mount /dev/mapper/data "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	echo text >"$TMP/mnt/file"
	valid 0 where fusionctl where --json "$TMP/mnt" "$TMP/mnt/file"
	valid 0 where fusionctl where --json data --extents 0-9
	valid 1 where fusionctl where --json "$TMP/mnt" /nosuch
	valid 0 explain fusionctl explain data "$TMP/mnt/file" --json
	defer rm -rf /etc/fusion/pins.d
	valid 0 pin fusionctl pin "$TMP/mnt/file" --fast --json
	valid 0 pin fusionctl pin data --extents 3-9 --slow --json
	valid 0 where fusionctl where --json "$TMP/mnt/file"
	valid 0 explain fusionctl explain data "$TMP/mnt/file" --json
	rm "$TMP/mnt/file"
	valid 0 pin fusionctl pin --refresh --json
	valid 0 pin fusionctl pin --list --json
	matches pins /etc/fusion/pins.d/*.json || fail "pins.d: $REPLY"
}

test_open_set() {
	begin
	valid 0 version fusionctl version --json
	valid 0 list fusionctl list --json
	valid 0 members fusionctl members --json
	valid 0 status fusionctl status --json
	valid 0 status fusionctl status data --json
	repeated 2 '{*' fusionctl status --watch=0.2 --json
	valid_lines 2 status "$TMP/out"
	if command -v setpriv >/dev/null; then
		valid 0 list setpriv --reuid 65534 --clear-groups "$(command -v fusionctl)" \
			list --json
		valid 0 status setpriv --reuid 65534 --clear-groups "$(command -v fusionctl)" \
			status --json
	fi
	valid 0 probe fusionctl probe "$FAST" --json
	valid 0 checkpoint fusionctl checkpoint --json --dry-run
	valid 0 checkpoint fusionctl checkpoint data --json
	same "checkpoints" "$(jq -c '[.sets[] | .checkpoint, .reason]' "$TMP/json")" '[true,null]'
	valid 0 drain fusionctl drain data --json
	valid 0 landing fusionctl landing data --json
	sleep 2
	valid 0 checkpoint fusionctl checkpoint --used-within 0 --json
	same "checkpoints" "$(jq '.sets[0].checkpoint' "$TMP/json")" false
	valid 0 set fusionctl set data --json
	valid 0 set fusionctl set data --profile desktop --dry-run --json
	valid 0 set fusionctl set data --profile archive --json
	valid 0 set fusionctl set data idle=4s --now --json
	valid 0 set fusionctl set data idle=3s migration=off reserve=5% --json --dry-run
	valid 0 set fusionctl set data idle=3s migration=off --json
	valid 0 rename fusionctl rename data media --json --dry-run
	valid 0 rename fusionctl rename data data --json
	swap slow
	valid 0 grow fusionctl grow data --json --dry-run
	valid 0 grow fusionctl grow data --json
	valid 0 shrink fusionctl shrink data --size 160M --json --dry-run
	valid 0 shrink fusionctl shrink data --size 160M --json --yes
	valid 0 demote fusionctl demote data 0-19 --json --dry-run
	valid 0 demote fusionctl demote data 0-19 --json
	valid 0 promote fusionctl promote data 0-9 --json
	valid 0 map fusionctl map data --json
	valid 0 whatif fusionctl whatif data --json
	put_direct /dev/mapper/data 5 $((550 * 262144)) 4096
	valid 0 explain fusionctl explain data 0-599 --json
	same "all there is" "$(jq '[.extents[] | .state, .member] |
		contains(["open", "stable", "unmapped", "slow", "fast", null])' "$TMP/json")" true
	valid 0 explain fusionctl explain data --sector 7 --json
	valid 0 top fusionctl top data --once --json
	# most of it was never written
	valid 8 bench fusionctl bench honest /dev/mapper/data --quick --max-size 4M --json
	valid 8 bench fusionctl bench mix /dev/mapper/data --quick --max-size 16M --json
	valid 0 report fusionctl report data --over 2 --json
	valid 0 report fusionctl report data --over 1 --anonymous --json
	valid 1 doctor fusionctl doctor --json --root "$TMP"
	valid 0 assemble fusionctl assemble --waiting --json
	dmsetup suspend data
	valid 0 status fusionctl status --json
	valid 0 explain fusionctl explain data 3 --json
	valid 0 top fusionctl top data --once 0.2 --json
	valid 0 checkpoint fusionctl checkpoint --json
	dmsetup resume data
	gone fast
	dd if=/dev/zero of=/dev/mapper/data bs=64k count=1 oflag=direct conv=fsync status=none || :
	valid 0 status fusionctl status --json
	valid 0 explain fusionctl explain data 0-99 --json
	valid 0 top fusionctl top --once 0.2 --json
	valid 0 report fusionctl report data --over 1 --json
}

test_bench() {
	need fio mkfs.ext4
	null files 192
	mkfs.ext4 -q "$REPLY"
	mkdir "$TMP/mnt"
	mount "$REPLY" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	# a small file for a short time
	valid 8 bench fusionctl bench sustained "$TMP/mnt" --duration 20s --json
	valid 8 bench fusionctl bench fullness "$TMP/mnt" --quick --duration 3s --json
}

# events TEXT: what monitor reports
events() {
	fusionctl monitor --json >"$TMP/events" || fail "monitor: status $?"
	valid_lines 0 monitor "$TMP/events"
	same "events" "$(jq -r '.event + " " + .level + " " + .text' "$TMP/events")" "$1"
}

test_events() {
	begin
	rm -f /run/fusion/monitor.json
	events "opened ok is open"
	events ""
	dmsetup suspend data
	events "begun warning is suspended, all I/O waits"
	same "remedy" "$(jq -r .remedy "$TMP/events")" "dmsetup resume it"
	dmsetup resume data
	events "over ok is suspended, all I/O waits"
	good fusionctl close data
	events "closed ok is closed"
	expect 2 "--prometheus: cannot share standard output with --json; give a file" \
		fusionctl monitor --json --prometheus -
}

# uuid: of the set, as reported
uuid() {
	jq -r .set_uuid "$TMP/json"
}

test_made_and_opened() {
	local question="fusionctl: --json: allows no question; add --yes or --dry-run" uuid i
	need_validator
	need mkfs.ext4
	linked 64 128
	defer remove_data
	for i in create format; do
		expect 2 "${question#fusionctl: }" fusionctl $i data --fast "$FAST" --slow "$SLOW" --json
		valid 0 $i fusionctl $i data --fast "$FAST" --slow "$SLOW" --json --dry-run
		same "uuid" "$(uuid)" null
	done
	valid 0 create fusionctl create data --fast "$FAST" --slow "$SLOW" --json --yes --mkfs ext4
	uuid=$(uuid)
	same "device" "$(jq -r '.device, .file_system' "$TMP/json")" $'/dev/mapper/data\next4'
	same "uuid" "$uuid" "$(fusionctl status data --json | jq -r '.sets[0].set_uuid')"
	same "members" "$(jq -r '.fast.device, .slow.device' "$TMP/json")" "$FAST"$'\n'"$SLOW"
	valid 0 close fusionctl close data --json
	same "uuid" "$(uuid)" "$uuid"
	for i in "" "$SLOW" "$FAST $SLOW"; do
		# shellcheck disable=SC2086 # none, one, or two
		valid 0 open fusionctl open data $i --json
		same "uuid" "$(uuid)" "$uuid"
		good fusionctl close data
	done
	valid 0 assemble fusionctl assemble --scan --json
	same "opened" "$(jq -r '.opened[] | .name, .set_uuid, .device' "$TMP/json")" \
		"data"$'\n'"$uuid"$'\n'/dev/mapper/data
	valid 0 assemble fusionctl assemble --incremental "$FAST" --json
	same "opened" "$(jq '.opened | length' "$TMP/json")" 0
	good fusionctl close data

	good fusionctl dump data -o "$TMP/data.json"
	expect 2 "${question#fusionctl: }" fusionctl restore "$TMP/data.json" "$FAST" "$SLOW" --json
	valid 0 restore fusionctl restore "$TMP/data.json" "$FAST" "$SLOW" --json --dry-run
	valid 0 restore fusionctl restore "$TMP/data.json" "$FAST" "$SLOW" --json --yes
	same "what is restored" "$(uuid) $(jq -r '.dry_run, .mapped > 0' "$TMP/json" | xargs)" \
		"$uuid false true"
	valid 0 uuid fusionctl uuid "$FAST" "$SLOW" --json --yes
	same "uuids" "$(jq -c '.old_set_uuid, .set_uuid == .old_set_uuid' "$TMP/json" | xargs)" \
		"$uuid false"
	expect 2 "${question#fusionctl: }" fusionctl wipe data --json
	valid 0 wipe fusionctl wipe data --json --dry-run
	same "wiped" "$(jq -c '[.members[].wiped]' "$TMP/json")" '[false,false]'
	damage "$SLOW" 0
	damage "$SLOW" 1
	valid 0 wipe fusionctl wipe "$FAST" "$SLOW" --json --yes
	same "wiped" "$(jq -c '[.members[] | .role, .wiped]' "$TMP/json")" '["fast",true,null,true]'
	valid 0 format fusionctl format --fast "$FAST" --slow "$SLOW" --json --yes --force
	same "device" "$(jq -r '.name, .device' "$TMP/json")" $'fusion\nnull'
	# never open, so nothing in it is hot
	valid 0 dump fusionctl dump "$FAST" "$SLOW"
	same "heat" "$(jq -c .heat "$TMP/json")" '[]'
}

test_adopted() {
	local i
	need_validator
	need mkfs.ext4
	linked 64 128
	defer remove_data
	mkfs.ext4 -q "$SLOW"
	for i in --dry-run --yes; do
		valid 0 adopt fusionctl adopt data "$SLOW" --fast "$FAST" --json "$i"
	done
	same "members" "$(jq -r '.adopted, .device, .slow.content != null' "$TMP/json" | xargs)" \
		"slow /dev/mapper/data true"
	good fusionctl close data
	for i in --dry-run --yes; do
		valid 0 release fusionctl release data --json "$i"
	done
	same "content" "$(jq -r '.action, .dropped_bytes, .content != null' "$TMP/json" | xargs)" \
		"release 0 true"
}

remove_data() {
	[[ ! -b /dev/mapper/data ]] || dm_remove data
}

test_closed_set() {
	begin
	good fusionctl close data
	valid 0 set fusionctl set data --json
	valid 0 set fusionctl set data duty=40 --dry-run --json
	valid 0 set fusionctl set data duty=40 --json
	same "settings" "$(jq -c '.open, (.settings[] | select(.key == "duty") | .kept)' \
		"$TMP/json" | xargs)" "false 40"
	valid 0 dump fusionctl dump "$FAST" "$SLOW"
	good fusionctl open data
	dmsetup remove --force data # it is not closed by that, but left behind
	valid 0 list fusionctl list --json
	valid 0 check fusionctl check "$FAST" "$SLOW" --json
	valid 0 dump fusionctl dump "$FAST" "$SLOW"
	same "open extents" "$(jq '.open | length > 0' "$TMP/json")" true
	valid 0 repair fusionctl repair "$FAST" "$SLOW" --json --dry-run
	damage "$FAST" 0
	valid 0 list fusionctl list --json
	valid 0 probe fusionctl probe "$FAST" --json
	valid 1 check fusionctl check "$FAST" "$SLOW" --json
	valid 1 repair fusionctl repair "$FAST" "$SLOW" --json --dry-run
	valid 0 dump fusionctl dump "$FAST" "$SLOW"
	damage "$FAST" 1
	valid 0 list fusionctl list --json
	valid 4 check fusionctl check "$FAST" "$SLOW" --json
	swap slow "0 $(sectors_of /dev/slow) flakey /dev/slow 0 0 86400 1 error_writes"
	valid 8 repair fusionctl repair "$FAST" "$SLOW" --json --yes
	swap slow
	has "what failed" "$(jq -r '.result + ", " + .error' "$TMP/json")" "errors, $SLOW: "
	valid 1 repair fusionctl repair "$FAST" "$SLOW" --json --yes
	put_direct "$FAST" 0 0 65536
	put_direct "$SLOW" 0 0 65536
	valid 0 restore fusionctl restore --geometry "$FAST" "$SLOW" --json --dry-run
	valid 0 restore fusionctl restore --geometry "$FAST" "$SLOW" --json --yes
	same "extents" "$(jq -c .mapped "$TMP/json")" null
}

test_one_member() {
	local file=$TMP/file
	begin
	mkfs.ext4 -qF /dev/mapper/data
	mkdir "$TMP/mnt"
	mount /dev/mapper/data "$TMP/mnt"
	head -c 40M /dev/urandom >"$TMP/mnt/file"
	umount "$TMP/mnt"
	good fusionctl demote data 0-63
	good fusionctl close data
	swap fast "0 $(sectors_of /dev/fast) zero"
	put_direct /dev/fast 0 0 1048576
	valid 0 assemble fusionctl assemble --waiting --json
	same "sets that wait" "$(jq '.waiting | length' "$TMP/json")" 1
	valid 0 salvage fusionctl salvage "$SLOW" --json
	defer dm_remove saved
	defer dm_remove saved-stale
	valid 0 salvage fusionctl salvage "$SLOW" saved --json --stale --zero --files /dev/mapper/saved
}

# Each verb that looks has a part about the log.
test_landing() {
	need_validator
	linked 64 128
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K \
		--landing 12M
	good fusionctl set data migration=off idle=1m
	put /dev/mapper/data 1 0 $((8 << 20))
	good fusionctl demote data 0-31
	put_direct /dev/mapper/data 2 $((1 << 20)) 4096
	valid 0 status fusionctl status data --json
	valid 0 top fusionctl top data --once 0.2 --json
	same "log" "$(jq .landing_log.logged_bytes "$TMP/json")" 4096
	valid 0 map fusionctl map data --json
	valid 0 explain fusionctl explain data 4 --json
	valid 0 list fusionctl list --json
	valid 0 report fusionctl report data --json --over 1
	valid 0 simulate fusionctl simulate data --load uniform --duration 2s --json
	good fusionctl close data
	valid 0 dump fusionctl dump data
	same "blocks in the list" "$(jq -c '.landing.stale_list.runs' "$TMP/json")" \
		'[{"extent":4,"block":0,"blocks":1}]'
}

test_simulations() {
	need_validator
	valid 0 simulate fusionctl simulate --fast 1G --slow 8G --load zipf:1.0,rate=100,shift=50%@30s \
		--load scan,from=10s --duration 1m --json
	printf 'fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 4096 4096\n' >"$TMP/trace"
	printf '/dev/x write 8192 4096\n/dev/x close\n' >>"$TMP/trace"
	valid 0 simulate fusionctl simulate --fast 1G --slow 8G --trace "$TMP/trace" --json
}

test_every_verb_has_one() {
	local verb
	good fusionctl help
	while read -r verb; do
		! fusionctl help "$verb" | grep -q -e '^  --json' || [[ -e $schemas/$verb.json ]] ||
			fail "no schema of $verb"
	done < <(sed -n 's/^  \([a-z]*\) .*/\1/p' "$TMP/out")
}

# Whatever drives tell: a script in place of smartctl says the same of each.
test_drives() {
	local i smartctl=/usr/sbin/smartctl
	begin
	[[ -e $smartctl ]] || { touch $smartctl && defer rm -f $smartctl; }
	printf '#!/bin/sh\ncat %s/sample\n' "$TMP" >"$TMP/smartctl"
	chmod 755 "$TMP/smartctl"
	mount --bind "$TMP/smartctl" $smartctl
	defer umount $smartctl
	for i in "$here"/smart/*.json; do
		cp "$i" "$TMP/sample"
		valid 0 members fusionctl members data --json
		rm -f /run/fusion/monitor.json
		fusionctl monitor --json >"$TMP/events" || fail "monitor: status $?"
		valid_lines 1 monitor "$TMP/events"
	done
	good fusionctl close data
	valid 0 members fusionctl members --json
}

# The schemas do not accept everything.
test_what_is_wrong_is_found() {
	local i
	need_validator
	good fusionctl version --json
	for i in 'del(.format)' '.version = 2' '.format = "1"' '.format = -1' '.more = 1'; do
		jq "$i" "$TMP/out" >"$TMP/json"
		! matches version "$TMP/json" || fail "allowed: $i"
		has "what is wrong" "$REPLY" "$TMP/json: /"
	done
}

# Each state of a set of which a member is replaced.
test_replaced() {
	begin
	null third 64
	valid 0 replace fusionctl replace data "$FAST" /dev/third --json --dry-run
	valid 0 replace fusionctl replace data "$FAST" /dev/third --json --yes --no-wait
	valid 0 members fusionctl members --json
	valid 0 status fusionctl status --json
	valid 0 list fusionctl list --json
	valid 0 probe fusionctl probe --json "$SLOW"
	good fusionctl close data
	valid 0 check fusionctl check data --json
	valid 0 dump fusionctl dump data
	valid 0 open fusionctl open data --json
	valid 0 replace fusionctl replace data --wait --json
	valid 0 status fusionctl status --json
}

run_tests
