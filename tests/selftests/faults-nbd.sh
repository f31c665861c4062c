#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A member on a network block device loses its connection under load: the server dies, or stalls
# until the client gives up, or the client hangs up. Nothing hangs, errors reach the user, and the
# mode becomes as Documentation/reference/target.rst says. Connected and opened again, the set has
# all flushed data. The server keeps the data that it has acknowledged.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/remote
LIMIT=60	# seconds, for what ends when the driver gives a request up
TIMEOUT=5	# seconds, after which it does

declare -A MIB=([fast]=8 [slow]=24) PORT=([fast]=10810 [slow]=10811)
declare -A DEV=([fast]=/dev/nbd0 [slow]=/dev/nbd1)

# connect MEMBER: serve its image, and make it a block device; the server's pid is in SERVER. Kill
# the server to end it, since on request it would wait for its client.
connect() {
	nbdkit -f -i 127.0.0.1 -p "${PORT[$1]}" file "$TMP/$1.img" &
	SERVER=$!
	defer end_server $SERVER
	within 20 "connection of $1" nbd-client 127.0.0.1 "${PORT[$1]}" "${DEV[$1]}" \
		-timeout $((TIMEOUT * SLOWNESS)) -block-size 512
	within 20 "${DEV[$1]}" has_size "${DEV[$1]}" $((MIB[$1] * 2048))
}

has_size() {
	[[ $(sectors_of "$1") -eq $2 ]]
}

end_server() {
	kill -KILL "$1" 2>/dev/null || :
	wait "$1" 2>/dev/null || :
}

disconnect() {
	nbd-client -d "${DEV[$1]}" >/dev/null 2>&1 || :
}

# begin MEMBER: a set with that member remote
begin() {
	need nbd-client nbdkit ip
	modprobe -q nbd nbds_max=2 || skip "no module nbd here"
	ip link set lo up
	truncate -s "${MIB[$1]}M" "$TMP/$1.img"
	defer disconnect "$1"
	connect "$1"
	if [[ $1 == fast ]]; then
		null slow "${MIB[slow]}"
		FAST=${DEV[fast]} SLOW=$REPLY
	else
		null fast "${MIB[fast]}"
		FAST=$REPLY SLOW=${DEV[slow]}
	fi
	format --extent-size 64K
	fusion remote
}

# cut MEMBER dies|stalls|hung_up
cut() {
	case $2 in
	dies)	kill -KILL "$SERVER" ;;
	stalls)	kill -STOP "$SERVER" ;;
	hung_up) nbd-client -d "${DEV[$1]}" >/dev/null ;;
	esac
}

# is_ro: without anything to make durable, the set may not notice
is_ro() {
	limited "$LIMIT" sync "$SET"
	[[ $(status remote mode needs_check) == "ro needs_check" ]]
}

# extent_on MEMBER: the first whole extent there. An extent whose first write failed also counts,
# but has nothing to read.
extent_on() {
	msg remote map 0 "$(status remote extents)" |
		awk -v on="$1" '$3 == on && $5 == "stable" && !n++ { print $1 }'
}

# read_extent N
read_extent() {
	limited "$LIMIT" dd if="$SET" of=/dev/null bs=64k skip="$1" count=1 iflag=direct status=none
}

# cut_under_load MEMBER dies|stalls|hung_up
cut_under_load() {
	local storm stamp other=slow
	[[ $1 == fast ]] || other=fast
	begin "$1"
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100
	background storm remote
	storm=$REPLY
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 2 \
		--seconds 300 --until-error --mix 30:40:10:5:3:12
	stamp=$REPLY
	sleep 2
	cut "$1" "$2"
	within "$LIMIT" "the load ends" no_process "$stamp"
	wait "$stamp" || fail "the load: status $?"
	finish "$storm"
	[[ $1 != fast ]] || within "$LIMIT" "mode ro" is_ro
	# data there cannot be read, data on the other member can
	refused "Input/output error" read_extent "$(extent_on "$1")"
	read_extent "$(extent_on $other)"

	limited "$LIMIT" dmsetup remove --retry remote
	end_server "$SERVER"
	disconnect "$1"
	connect "$1"
	fusion remote
	same "mode" "$(status remote mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100
	fusion-stamp verify "$SET" --state "$TMP/state"
	limited "$LIMIT" dmsetup remove --retry remote
	same "clean flag" "$(($(sb flags) & 1))" 1
}

test_fast_server_dies() {
	cut_under_load fast dies
}

long_slow_server_dies() {
	cut_under_load slow dies
}

long_fast_server_stalls() {
	cut_under_load fast stalls
}

test_slow_server_stalls() {
	cut_under_load slow stalls
}

long_fast_hung_up() {
	cut_under_load fast hung_up
}

long_slow_hung_up() {
	cut_under_load slow hung_up
}

run_tests
