#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: run.sh TEST...
#
# Run tests one after the other and print KTAP. The output of a test appears if it fails; with V=1
# always, and as it comes.

cd "$(dirname "$0")" || exit
[[ $EUID -eq 0 ]] || { echo "run.sh: tests need root" >&2; exit 1; }
[[ $# -gt 0 ]] || { echo "usage: run.sh TEST..." >&2; exit 2; }

# shellcheck source=/dev/null # its variables are no business of this script
SLOWNESS=$(. ./lib.sh && echo "$SLOWNESS")
SKIP=4

# limit NAME: seconds that it may take
limit() {
	{
		sed -n "s/^timeout_$1=//p" settings
		sed -n 's/^timeout=//p' settings
	} | head -n 1
}

out=$(mktemp)
trap 'rm -f "$out"' EXIT

# run SECONDS TEST: its status; 124 or 137 if it took longer. It gets a minute to take down its
# devices, since what it leaves behind breaks the tests that follow. Processes that it left behind
# are killed: `timeout` does that only while the test itself runs, and its output would not end.
run() {
	timeout -k $((60 * SLOWNESS)) "$1" "$2" </dev/null &
	local pid=$! rc=0
	wait "$pid" || rc=$?
	kill -KILL -- "-$pid" 2>/dev/null
	return "$rc"
}

echo "TAP version 13"
echo "1..$#"
n=0
failed=0
for t in "$@"; do
	n=$((n + 1))
	name=${t%.sh}
	[[ -x $t ]] || t=$name.sh
	seconds=$(($(limit "$name") * SLOWNESS))
	start=$SECONDS
	echo "# $name: begins"
	if [[ ! -x $t ]]; then
		echo "no such test" >"$out"
		rc=127
	elif [[ ${V:-} ]]; then
		run "$seconds" "./$t" 2>&1 | stdbuf -oL sed 's/^/# /'
		rc=${PIPESTATUS[0]}
	else
		run "$seconds" "./$t" >"$out" 2>&1
		rc=$?
	fi
	case $rc in
	0)	verdict="ok $n $name" ;;
	"$SKIP") verdict="ok $n $name # SKIP" ;;
	124|137) verdict="not ok $n $name # TIMEOUT $seconds seconds" ;;
	*)	verdict="not ok $n $name # exit=$rc" ;;
	esac
	if [[ $verdict == not* ]]; then
		failed=$((failed + 1))
		sed 's/^/# /' "$out"
	fi
	echo "$verdict"
	echo "# $name: took $((SECONDS - start)) s"
	: >"$out"
done
[[ $failed -eq 0 ]]
