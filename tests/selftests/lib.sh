# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the selftests. A test is a file with one subject:
#
#	. "$(dirname "$0")/lib.sh"
#
#	test_reads_zeros() {		# what it shows
#		members 64 256
#		format --extent-size 64K
#		fusion set
#		...
#	}
#
#	run_tests	# the last command
#
# Every function test_SOMETHING of the script runs, in their order, and after them every function
# long_SOMETHING, which QUICK=1 leaves out; or those named in ONLY="test_...".
#
# Every function runs in a subshell under `set -e` and fails at the first command that fails.
# Members, devices, mounts and processes are taken down when it ends, however it ends. If that
# fails, the test fails.
#
# Functions that make a device leave its path in REPLY.
#
# Here is what runs the tests. What they call is in lib/: expect.sh compares and waits, devices.sh
# makes block devices, members.sh those of a set, udev.sh starts udev; set.sh makes, opens and
# damages a set, status.sh asks an open one, and moves.sh moves its extents.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=names.sh
. "$here/names.sh"
PATH=$here:$here/../../userspace:/usr/local/sbin:/usr/sbin:/sbin:$PATH
export LC_ALL=C
# without udev nothing would wake libdevmapper, or make the nodes
[[ -S /run/udev/control ]] || export DM_DISABLE_UDEV=1

QUICK=${QUICK:-}
SKIP=4
# Time limits are for kernels as users have them. Debug kernels, recognised by their configuration
# (lockdep comes with KASAN here), get so many times as long.
SLOWNESS=1
[[ ! -e /proc/lockdep_stats && ! -e /sys/kernel/debug/kcsan ]] || SLOWNESS=5
FAST='' SLOW=''		# members of the set, for format and fusion
LEN=''			# sectors of the set
TMP=''			# a directory of this test, in RAM

# -- KTAP ----------------------------------------------------------------------

say() {
	echo "# $*"
}

# where: the line of the running test
where() {
	local frame=1
	while [[ ${BASH_SOURCE[frame]} == @(*/lib.sh|*/selftests/lib/*) ]]; do
		frame=$((frame + 1))
	done
	echo "${BASH_SOURCE[frame]##*/}:${BASH_LINENO[frame - 1]}"
}

fail() {
	say "$(where): $*"
	exit 1
}

skip() {
	say "SKIP $*"
	exit "$SKIP"
}

run_tests() {
	local t name todo n=0 failed=0 skipped=0 rc taint

	[[ $EUID -eq 0 ]] || { echo "1..0 # SKIP needs root"; return "$SKIP"; }
	read -ra todo -d '' <<<"${ONLY:-$(tests_of "$0")}" || :
	echo "TAP version 13"
	echo "1..${#todo[@]}"
	for t in "${todo[@]}"; do
		n=$((n + 1))
		name=${t#*_}
		if [[ $QUICK && $t == long_* ]]; then
			echo "ok $n $name # SKIP takes long"
			skipped=$((skipped + 1))
			continue
		fi
		taint=$(</proc/sys/kernel/tainted)
		(isolated "$t") 2>&1
		rc=$?
		# 7: died, 9: warned, 14: soft lockup
		if [[ $(((~taint & $(</proc/sys/kernel/tainted)) & (1 << 7 | 1 << 9 | 1 << 14))) -ne 0 ]]; then
			say "the kernel warned, see dmesg"
			rc=1
		fi
		case $rc in
		0)	echo "ok $n $name" ;;
		"$SKIP") echo "ok $n $name # SKIP"
			skipped=$((skipped + 1)) ;;
		*)	echo "not ok $n $name"
			failed=$((failed + 1)) ;;
		esac
	done
	echo "# Totals: pass:$((n - failed - skipped)) fail:$failed skip:$skipped"
	[[ $failed -eq 0 ]] || return 1
	[[ $skipped -lt $n ]] || return "$SKIP"
}

# isolated FUNCTION: in a subshell
isolated() {
	set -eEuo pipefail
	trap 'failed_command "$?" "$BASH_COMMAND"' ERR
	trap 'clean_up $?' EXIT
	trap 'exit 143' TERM INT HUP
	TMP=$(mktemp -d /dev/shm/fusion-test.XXXXXX)
	"$1"
}

failed_command() {
	say "$(where): status $1: $2"
}

# -- taking down -----------------------------------------------------------------

UNDO=()
JOBS=()

# defer COMMAND...: run it when the test ends, the last one first
defer() {
	UNDO+=("${*@Q}")
}

clean_up() {
	local rc=$1 i
	trap - ERR
	set +e
	for i in "${JOBS[@]}"; do
		kill "$i" 2>/dev/null
	done
	for i in "${JOBS[@]}"; do
		wait "$i" 2>/dev/null
	done
	for ((i = ${#UNDO[@]} - 1; i >= 0; i--)); do
		eval "${UNDO[i]}" && continue
		say "cannot undo: ${UNDO[i]}"
		[[ $rc -ne 0 ]] || rc=1
	done
	rm -rf "$TMP"
	exit "$rc"
}

# background COMMAND...: start it, killed when the test ends; its pid is in REPLY
background() {
	"$@" &
	REPLY=$!
	JOBS+=("$REPLY")
}

# finish PID: end a background job and expect success
finish() {
	kill -TERM "$1" 2>/dev/null || :
	wait "$1" || fail "background job: status $?"
}

# -- what tests call ---------------------------------------------------------------

# shellcheck source=lib/expect.sh
. "$here/lib/expect.sh"
# shellcheck source=lib/devices.sh
. "$here/lib/devices.sh"
# shellcheck source=lib/members.sh
. "$here/lib/members.sh"
# shellcheck source=lib/udev.sh
. "$here/lib/udev.sh"
# shellcheck source=lib/set.sh
. "$here/lib/set.sh"
# shellcheck source=lib/status.sh
. "$here/lib/status.sh"
# shellcheck source=lib/moves.sh
. "$here/lib/moves.sh"
