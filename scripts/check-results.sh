# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# One step of scripts/check: run it, count its results, and print a line for it.
# shellcheck disable=SC2153,SC2154 # the variables of scripts/check

# tally NAME: count the KTAP results on stdin; "N ok[, N not ok][, N skipped]".
# Cases that a short run leaves out on purpose do not count as skipped.
tally() {
	local line ok=0 not=0 skipped=0
	while read -r line; do
		case $line in
		*'# SKIP takes long') ;;
		'ok '*'# SKIP'*)
			skipped=$((skipped + 1))
			echo "skip $1: ${line#ok * }" ;;
		'ok '*)	ok=$((ok + 1))
			echo "pass $1: ${line#ok * }" ;;
		'not ok '*)
			not=$((not + 1))
			echo "fail $1: ${line#not ok * }" ;;
		esac
	done >>"$results"
	[[ $((ok + not + skipped)) -eq 0 ]] || {
		echo -n ": $ok ok"
		[[ $not -eq 0 ]] || echo -n ", $not not ok"
		[[ $skipped -eq 0 ]] || echo -n ", $skipped skipped"
	}
}

# verdict NAME RC SECONDS <OUTPUT: print the result of a step. KTAP results in it count one by one.
# Without any, or if it failed although they did not, the step itself counts
verdict() {
	local inside word
	inside=$(tally "$1")
	case $2 in
	0)	word=pass ;;
	"$SKIP") word=skip ;;
	*)	word=fail ;;
	esac
	if [[ ! $inside || $word == fail && $inside != *"not ok"* ]]; then
		echo "$word $1" >>"$results"
	fi
	echo "took $3 $1" >>"$results"
	printf '%4d s  %-4s  %s%s (%d s)\n' "$SECONDS" "$word" "$1" "$inside" "$3"
}

# shown N LINE...: the last N lines, indented
shown() {
	local n=$1
	shift
	printf '    %s\n' "$@" | tail -n "$n"
}

# failure LOG: the part of the log that a person needs
failure() {
	tail -n 60 "$1" | sed 's/^/    /'
	echo "    -- from ${1#"$TREE"/}"
}

# because NAME <OUTPUT: a few lines to be shown again at the end
because() {
	local lines
	lines=$(cut -c -200 | tail -n 16 | sed 's/^/    /')
	printf '%s:\n%s\n' "$1" "$lines" >>"$causes"
}

# whole COMMAND...: print its output in one piece, since the other lanes print too
whole() {
	local out
	out=$("$@")
	printf '%s\n' "$out"
}

# This function and the next such use the variables of their callers.
step_ended() {
	verdict "$name" "$rc" $((SECONDS - start)) <"$log"
	[[ $rc -ne 0 ]] || return 0
	failure "$log"
	because "$name" <"$log"
}

# again NAME: the VM is to blame
again() {
	printf '%4d s  again %s: the VM itself did not work\n' "$SECONDS" "$1"
}

# step NAME COMMAND...: passes if it succeeds
step() {
	local name=$1 log=$logs/${1//[^a-zA-Z0-9._-]/-}.log start=$SECONDS rc try
	shift
	for ((try = 1; ; try++)); do
		rc=0
		"$@" >"$log" 2>&1 </dev/null || rc=$?
		[[ $rc -eq $EMULATOR && $try -lt $TRIES ]] || break
		again "$name"
	done
	whole step_ended
	return "$rc"
}
