#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: mutants.sh [--fit|--short] [NAME...]
#
# Break the module's source in one place at a time, each a precaution of the design, and see that
# the crash simulator notices. POINTS bounds the number of recoveries that may take.
# With --fit only see that each still finds what it changes. With --short only those are tried that
# are called quick: each was noticed within 3,000 recoveries, which take less than a second, and
# fails if it has become so rare that 20,000 are not enough.
#
# The mutants are in mutants/, a list for each area. A list also names what nothing could notice,
# with the reason.

set -euo pipefail
cd "$(dirname "$0")"

TREE=$(cd ../.. && pwd)
OUT=$TREE/build/sim-mutants
JOBS=${JOBS:-$(nproc)}
LIMIT=1800	# seconds

fit='' short='' points=1000000
case ${1:-} in
--fit)	fit=1
	shift ;;
--short) short=1 points=20000
	shift ;;
esac
POINTS=${POINTS:-$points}
wanted=("$@")
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
total=0

# mutant NAME FILE[,FILE] SED [OPTION...]: SED sees a file as one line; it must change each.
mutant() {
	[[ $short ]] || run "$@"
}

# quick NAME FILE SED [OPTION...]: the same, in the short form, too
quick() {
	run "$@"
}

# run NAME FILE SED [OPTION...]
run() {
	[[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $1 "* ]] || return 0
	total=$((total + 1))
	if [[ $fit ]]; then
		fits "$@"
		return
	fi
	while [[ $(jobs -rp | wc -l) -ge $JOBS ]]; do
		wait -n || :
	done
	try $total "$@" &
}

# source_of FILE: of the module, or of what it shares with fusionctl
source_of() {
	ls "$TREE"/dm-fusion/{,shared/}"$1" 2>/dev/null
}

# users_of HEADER: the sources that include it, by what the compiler found
users_of() {
	grep -lE "/$1( |\$)" "$TREE"/build/sim/module/*.d | sed 's|.*/||; s|\.d$|.c|'
}

# fits NAME FILE SED [OPTION...]
fits() {
	local file source
	for file in ${2//,/ }; do
		source=$(source_of "$file") || :
		if [[ ! $source ]] || sed -zE "$3" "$source" | cmp -s "$source"; then
			echo "# $1: there is nothing to change in $file"
			touch "$results/$1"
		fi
	done
}

# try NUMBER NAME FILE SED [OPTION...]
try() {
	local nr=$1 name=$2 file=$3 script=$4 dir=$OUT/$2 start=$SECONDS why
	shift 4
	if why=$(noticed "$@"); then
		echo "ok $nr - $name ($((SECONDS - start)) s: $why)"
	else
		echo "not ok $nr - $name: $why"
		touch "$results/$nr"
	fi
}

# Says why it failed, or why it does not count.
noticed() {
	local rc=0 user
	mkdir -p "$dir"
	rm -f "$dir"/*.[cho]
	# A source, or a header, finds its own folder's headers first.
	if [[ $file == *.h ]]; then
		cp "$TREE"/dm-fusion/{,shared/}*.h "$dir"
		for user in $(users_of "$file"); do
			cp "$(source_of "$user")" "$dir"
		done
	fi
	for file in ${file//,/ }; do
		cp "$(source_of "$file")" "$dir/original"
		sed -zE "$script" "$dir/original" >"$dir/$file"
		if cmp -s "$dir/original" "$dir/$file"; then
			echo "there is nothing to change in $file"
			return 1
		fi
	done
	if ! make -s MUTANT="$name" >"$dir/log" 2>&1; then
		echo "does not compile, see $dir/log"
		return 1
	fi
	timeout "$LIMIT" "$dir/crash" --no-shrink --points "$POINTS" "$@" >"$dir/log" 2>&1 || rc=$?
	if [[ $rc -eq 0 ]]; then
		echo "not noticed in $POINTS points"
		return 1
	fi
	if ! grep -q '^# FAILED: ' "$dir/log"; then
		echo "the simulator ended with $rc, see $dir/log"
		return 1
	fi
	sed -n 's/^# at //p' "$dir/log" | tr '\n' ' '
	sed -n 's/^# FAILED: //p' "$dir/log"
}

# the mutants are linked with all of this that they leave alone
[[ $fit ]] || make -s "$TREE/build/sim/crash"
echo "KTAP version 1"

# shellcheck source=/dev/null
for list in mutants/*.list; do
	. "$list"
done

wait
if [[ $fit ]]; then
	bad=$(find "$results" -type f | wc -l)
	echo "1..1"
	[[ $bad -eq 0 ]] || echo -n "not "
	echo "ok 1 - $((total - bad)) of $total mutants find what they change"
else
	echo "1..$total"
fi
[[ -z $(ls "$results") ]]
