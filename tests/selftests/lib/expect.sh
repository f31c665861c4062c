# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Assertions, and waiting for conditions. Part of lib.sh.

# same WHAT GOT WANT
same() {
	[[ $2 == "$3" ]] || fail "$1: expected '$3', got '$2'"
}

differ() {
	[[ $2 != "$3" ]] || fail "$1: did not expect '$3'"
}

at_least() {
	[[ $2 -ge $3 ]] || fail "$1: expected at least $3, got $2"
}

at_most() {
	[[ $2 -le $3 ]] || fail "$1: expected at most $3, got $2"
}

# has WHAT TEXT PART
has() {
	[[ $2 == *"$3"* ]] || fail "$1: expected '$3' in: $2"
}

# limited SECONDS COMMAND...: it must end within that time
limited() {
	timeout $(($1 * SLOWNESS)) "${@:2}"
}

# within SECONDS WHAT COMMAND...: it must succeed within that time. Asked ever more rarely, up to twice
# a second: a process that begins takes much of an emulated processor.
within() {
	local limit=$(($1 * SLOWNESS)) what=$2 start=$SECONDS tenths=1
	shift 2
	until "$@" >/dev/null 2>&1; do
		[[ $((SECONDS - start)) -lt $limit ]] || fail "$what: not after $limit s"
		sleep "0.$tenths"
		[[ $tenths -eq 5 ]] || tenths=$((tenths + 1))
	done
}

# no_process PID: a condition for within
no_process() {
	! kill -0 "$1"
}

# refused TEXT COMMAND...: it must fail; TEXT is in its output or the kernel's log
refused() {
	local want=$1 mark out
	shift
	mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	if out=$("$@" 2>&1); then
		fail "$*: expected a refusal ($want), but it worked"
	fi
	out+=$'\n'$(dmesg | sed "1,/$mark/d" | grep -v 'selftest mark' || :)
	[[ $out == *"$want"* ]] || fail "$*: expected '$want', got: $out"
}

# -- fusionctl ---------------------------------------------------------------------

# expect CODE TEXT COMMAND...: it exits with CODE, and TEXT is all of stderr
expect() {
	local want=$1 text=$2 rc=0 err
	shift 2
	err=$("$@" 2>&1 >"$TMP/out" </dev/null) || rc=$?
	same "exit code of '$*' ($err)" "$rc" "$want"
	same "'$*'" "$err" "${text:+fusionctl: }$text"
}

# good COMMAND...: exit code 0, nothing on stderr, stdout in $TMP/out
good() {
	expect 0 '' "$@"
}

# shows TEXT: the output of the previous command has it
shows() {
	has output "$(<"$TMP/out")" "$1"
}

# json FILTER WANT: in the output of the previous command
json() {
	same "$1" "$(jq -r "$1" "$TMP/out")" "$2"
}

# status_of COMMAND...: run it; exit code in RC, all output in OUT
status_of() {
	RC=0
	OUT=$("$@" 2>&1 </dev/null) || RC=$?
}

# gives CODE COMMAND...: it exits with CODE
gives() {
	local want=$1
	shift
	status_of "$@"
	same "exit code of '$*' ($OUT)" "$RC" "$want"
}

# says TEXT: the previous command printed it
says() {
	has output "$OUT" "$1"
}

# repeated COUNT PATTERN COMMAND...: let it repeat until so many lines match, then end it; its
# output is in $TMP/out
repeated() {
	local left=$1 fd line pid
	exec {fd}< <(exec "${@:3}")
	pid=$!
	: >"$TMP/out"
	while [[ $left -gt 0 ]]; do
		IFS= read -r -t $((60 * SLOWNESS)) -u "$fd" line ||
			fail "'${*:3}': ended or stopped with $left of $1 rounds to come"
		printf '%s\n' "$line" >>"$TMP/out"
		# shellcheck disable=SC2053 # a pattern it is
		[[ $line != $2 ]] || left=$((left - 1))
	done
	kill "$pid"
	exec {fd}<&-
}
