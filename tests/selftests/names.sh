# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The names of tests. lib.sh runs the tests that this finds, and tests/lint/run-lists looks at them.

# tests_of FILE...: the functions that are tests, in the order in which they run: those called
# test_SOMETHING, then those called long_SOMETHING, which QUICK=1 leaves out
tests_of() {
	sed -nE 's/^(test_[A-Za-z0-9_]+)\(\).*/\1/p' "$@"
	sed -nE 's/^(long_[A-Za-z0-9_]+)\(\).*/\1/p' "$@"
}
