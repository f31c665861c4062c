#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The health of a set in one word, and the reason: ok, degraded, failed or missing; of open and
# closed sets, whatever happened to their members.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# health WORD TEXT [CODE]: status reports this, and --check, --json and monitor agree
health() {
	local code=${3:-}
	case $1 in
	ok) code=${code:-0} ;;
	degraded) code=${code:-1} ;;
	*) code=${code:-2} ;;
	esac
	good fusionctl status data
	shows "health   $1${2:+: $2}"
	good fusionctl status data --json
	json '.sets[0].health' "$1"
	[[ ! $2 ]] || has "reasons" "$(jq -r '.sets[0].reasons[].text' "$TMP/out")" "$2"
	expect "$code" '' fusionctl status data --check
	good fusionctl monitor --prometheus "$TMP/prom"
	has "metrics" "$(<"$TMP/prom")" "fusion_health_state{set=\"data\",state=\"$1\"} 1"
}

# row ROLE: the line of the set data in list, without its uuid
row() {
	awk -v role="$1" '$2 == role { sub(/ +[^ ]+$/, ""); print }' "$TMP/out"
}

# of_set FILTER WANT: a value of the set in the JSON of list
of_set() {
	json ".sets[] | select(.set == \"fusion\") | $1" "$2"
}

test_well() {
	linked 16 32
	opened data --extent-size 64K
	health ok ""
	good fusionctl list
	has "list" "$(row slow)" " ok "
	good fusionctl list --json
	of_set '.health, .open_as, (.reasons | length)' $'ok\ndata\n0'
	json '.missing | length' 0
}

# The HDD dies while the set is open: each verb says so, not only with a count of errors.
test_dead_slow_member() {
	linked 16 32
	opened data --extent-size 64K
	good fusionctl set data migration=off
	dd if=/dev/zero of="$SET" bs=1M count=20 oflag=direct conv=fsync status=none
	msg data checkpoint
	gone slow
	if dd if="$SET" of=/dev/null bs=1M skip=19 count=1 iflag=direct status=none 2>/dev/null; then
		fail "the slow member is dead and can be read"
	fi
	health degraded "the slow member has failed I/O since the set was opened"
	good fusionctl status data
	shows "replica  up to date when it was last written; the slow member may not answer now"
	good fusionctl list
	has "row" "$(row slow)" "unreadable"
	has "row" "$(row slow)" "degraded"
	shows "data: degraded: the slow member has failed I/O since the set was opened; see dmesg"
	good fusionctl list --json
	of_set .health degraded
	json '.missing[] | .role, .device' $'slow\n/dev/mapper/slow-link'
}

test_failed() {
	linked 16 32
	opened data --extent-size 64K
	fast_fails data
	health failed "has switched to read-only after an error"
	good fusionctl list --json
	of_set .health failed
}

# A disk that is unplugged leaves sysfs, although the set has it open.
test_unplugged() {
	members 16 32
	opened data --extent-size 64K
	echo 0 >/sys/kernel/config/nullb/slow/power
	health missing "the slow member is gone from this system"
	good fusionctl list
	has "row" "$(row slow)" "MISSING"
	has "row" "$(row fast)" "missing"
	good fusionctl list --json
	of_set .health missing
	json '.missing[] | .role, .device, .bytes' $'slow\nnull\n33554432'
	json '.missing[].device_uuid' "$(fusionctl probe --json "$FAST" | jq -r .peer.device_uuid)"
}

# text_at OFFSET TEXT: arguments for poke, eight bytes at a time
text_at() {
	local offset=$1 text=$2 i part
	for ((i = 0; i < ${#text}; i += 8)); do
		part=$(printf %s "${text:i:8}" | od -An -v -tx1 | tr -d '\n' |
			awk '{ for (i = NF; i; i--) printf "%s", $i }')
		printf '%u:%u=0x%s\n' $((offset + i)) "$((${#text} - i < 8 ? ${#text} - i : 8))" "$part"
	done
}

# A closed set lacks a member: the member has a row, with the facts that the other one records.
test_missing_member() {
	local field fields
	members 16 32
	format --extent-size 64K
	mapfile -t fields < <(text_at 288 "FastDisk 9"; text_at 336 "S4EV77")
	for field in "${fields[@]}"; do
		poke "$SLOW" "$field"
	done
	expect 1 "fusion: is closed; fusionctl open fusion opens it" fusionctl status fusion
	null_remove fast
	for field in status map "promote --bytes 0-1M"; do
		# shellcheck disable=SC2086
		expect 1 "fusion: is closed, and cannot be opened: the fast member is missing \
(FastDisk 9, serial S4EV77, 16M); connect it, or see fusionctl help salvage" fusionctl $field fusion
	done
	good fusionctl list
	has "row" "$(row fast)" "(FastDisk 9, serial S4EV77)"
	has "row" "$(row fast)" "16M MISSING"
	has "row" "$(row slow)" "missing"
	shows "fusion: missing: the fast member is missing (FastDisk 9, serial S4EV77, 16M); connect it"
	good fusionctl list --json
	json '.missing[] | .role, .model, .serial, .bytes' $'fast\nFastDisk 9\nS4EV77\n16777216'
	of_set .health missing
	null fast 16
	good fusionctl list --json
	of_set .health missing
}

# Two devices that claim to be the same member.
test_clones() {
	linked 16 32
	format --extent-size 64K
	null copy 32
	replaced "$SLOW" /dev/copy
	good fusionctl list
	shows "clone of /dev/copy"
	shows "clone of /dev/mapper/slow-link"
	shows "claim to be the same slow member; detach one of them"
	good fusionctl list --json
	of_set .health failed
	json '.members[] | select(.device == "/dev/copy") | .clone_of' /dev/mapper/slow-link
	json '.members[] | select(.device == "/dev/slow") | .clone_of' /dev/copy
	json '.members[] | select(.device == "/dev/fast") | .clone_of' null
	# if the set is open, it is known which one is the member
	defer dm_remove data
	good fusionctl open data "$FAST" "$SLOW"
	good fusionctl list --json
	of_set .health ok
	good fusionctl list
	has "copy" "$(grep '/dev/copy ' "$TMP/out")" "clone of"
	has "the one in use" "$(grep '/dev/mapper/slow-link ' "$TMP/out")" " ok "
	has "the disk beneath it" "$(grep '/dev/slow ' "$TMP/out")" " ok "
}

# A set that is closed without writing its superblocks: the kernel logs that, and close says it.
test_close_that_could_not_write() {
	local text="is closed, but not cleanly"
	linked 16 32
	opened data --extent-size 64K
	good fusionctl close data --json
	json .clean true
	good fusionctl open data "$FAST" "$SLOW"
	dd if=/dev/zero of="$SET" bs=1M count=5 oflag=direct conv=fsync status=none
	gone slow
	expect 1 "data: $text: the superblock of the slow member $SLOW could not be written; see \
dmesg, and run fusionctl check data before it is opened again" fusionctl close data
	swap slow
	good fusionctl open data "$FAST" "$SLOW"
	gone fast
	gone slow
	expect 1 "data: $text: no superblock could be written to $FAST and $SLOW; see dmesg for the \
member that failed, and run fusionctl check data before it is opened again" \
		fusionctl close data --json
	json .clean false
	swap fast
	swap slow
	# a read-only set has nothing to write
	dm data "$(table)" --readonly -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl close data --json
	json .clean null
}

# user COMMAND...: as nobody; its output is in $TMP/out, the only line of errors in $TMP/err
user() {
	local rc=0
	setpriv --reuid 65534 --clear-groups "$(command -v fusionctl)" "$@" >"$TMP/out" \
		2>"$TMP/err" || rc=$?
	same "exit code of '$*' ($(<"$TMP/err"))" $rc 0
	same "lines of errors" "$(wc -l <"$TMP/err")" 1
	has "what root would add" "$(<"$TMP/err")" "without root it shows only what sysfs and udev know"
}

# Information that needs no root is shown without, and one line says what root would add.
test_not_root() {
	local uuid
	need setpriv
	# shellcheck disable=SC2119 # it takes options of its own
	udev
	members 16 32
	opened data --extent-size 64K
	udevadm trigger --action=change "$FAST" "$SLOW"
	events_done
	uuid=$(uuid_of "$FAST")
	user list
	has "row" "$(row fast)" "/dev/fast"
	has "row" "$(row slow)" "32M data"
	user list --json
	json '.complete, .open[].name, .sets[].health' $'false\ndata\nnull'
	json '.members[] | .role, .set, .set_uuid, .open_as' \
		$'fast\nfusion\n'"$uuid"$'\ndata\nslow\nfusion\n'"$uuid"$'\ndata'
	user status
	shows "health   not known without root"
	has "row" "$(sed -n '/^slow/p' "$TMP/out")" "/dev/slow"
	user status data --json
	json '.sets[] | .name, .suspended, (.members | length)' $'data\nfalse\n2'
	dmsetup suspend data
	user status "$uuid"
	shows "health   degraded: is suspended, all I/O waits"
	dmsetup resume data
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		setpriv --reuid 65534 --clear-groups "$(command -v fusionctl)" status nosuch
	echo 0 >/sys/kernel/config/nullb/slow/power
	user status
	shows "health   missing: a member is gone from this system"
}

run_tests
