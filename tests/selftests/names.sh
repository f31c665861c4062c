# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The names of tests. lib.sh runs the tests that this finds, and tests/lint/run-lists looks at them.

# tests_of FILE...: the functions that are tests, in the order in which they run: those called
# test_SOMETHING, then those called long_SOMETHING, which QUICK=1 leaves out. A script NAME.sh may
# have parts, which it sources: NAME/*.sh
tests_of() {
	local files=() i
	for i; do
		files+=("$i")
		[[ ! -d ${i%.sh} ]] || files+=("${i%.sh}"/*.sh)
	done
	sed -nE 's/^(test_[A-Za-z0-9_]+)\(\).*/\1/p' "${files[@]}"
	sed -nE 's/^(long_[A-Za-z0-9_]+)\(\).*/\1/p' "${files[@]}"
}
