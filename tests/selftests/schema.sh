#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl prints as JSON is what the schemas in userspace/schema say, in whatever state a
# set is; and there is a schema for every verb that has --json.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

schemas=$here/../../userspace/schema

need_validator() {
	need python3
	python3 -c 'import jsonschema' 2>/dev/null || skip "no jsonschema for Python here"
}

# valid CODE SCHEMA COMMAND...: its exit code, and the schema allows what it prints
valid() {
	local want=$1 schema=$2 rc=0 why
	shift 2
	"$@" >"$TMP/json" 2>"$TMP/err" || rc=$?
	same "exit code of '$*' ($(<"$TMP/err"))" $rc "$want"
	why=$(python3 "$here/validate.py" "$schemas/$schema.json" "$TMP/json") || fail "$*: $why"
}

# a set that is open, with data on both members and an extent written in part
begin() {
	need_validator
	linked 64 128
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	dd if=/dev/urandom of=/dev/mapper/data bs=1M count=90 oflag=direct conv=fsync status=none
	dd if=/dev/urandom of=/dev/mapper/data bs=4k seek=30000 count=1 oflag=direct conv=fsync \
		status=none
	heat data 0 8 2	# for whatif
}

test_open_set() {
	begin
	valid 0 version fusionctl version --json
	valid 0 list fusionctl list --json
	valid 0 status fusionctl status --json
	valid 0 status fusionctl status data --json
	valid 0 probe fusionctl probe "$FAST" --json
	valid 0 tune fusionctl tune data --profile desktop --dry-run --json
	valid 0 tune fusionctl tune data --profile archive --json
	valid 0 set fusionctl set data idle=3s migration=off reserve=5% --json --dry-run
	valid 0 set fusionctl set data idle=3s migration=off --json
	valid 0 demote fusionctl demote data 0-19 --json --dry-run
	valid 0 demote fusionctl demote data 0-19 --json
	valid 0 promote fusionctl promote data 0-9 --json
	valid 0 map fusionctl map data --json
	valid 0 whatif fusionctl whatif data --json
	valid 1 doctor fusionctl doctor --json --root "$TMP"
	valid 0 assemble fusionctl assemble --waiting --json
	dmsetup suspend data
	valid 0 status fusionctl status --json
	dmsetup resume data
	gone fast
	dd if=/dev/zero of=/dev/mapper/data bs=64k count=1 oflag=direct conv=fsync status=none || :
	valid 0 status fusionctl status --json
}

test_closed_set() {
	begin
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
	valid 1 repair fusionctl repair "$FAST" "$SLOW" --json --yes
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
	valid 0 salvage fusionctl salvage "$SLOW" saved --json --stale --zero --files /dev/mapper/saved
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

# They do not let everything pass.
test_what_is_wrong_is_found() {
	local i
	need_validator
	good fusionctl version --json
	for i in 'del(.format)' '.version = 2' '.format = "1"' '.format = -1' '.more = 1'; do
		jq "$i" "$TMP/out" >"$TMP/json"
		! python3 "$here/validate.py" "$schemas/version.json" "$TMP/json" >/dev/null ||
			fail "allowed: $i"
	done
}

run_tests test_open_set test_closed_set test_one_member test_simulations \
	test_every_verb_has_one test_what_is_wrong_is_found
