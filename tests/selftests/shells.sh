#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Completion in zsh and fish, as a user sees it while typing. usage.sh has bash, and the
# completions themselves.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

completion=$here/../../userspace/system/completion

a_set() {
	members 64 128
	opened data
	: >"$TMP/a-file"
	cd "$TMP"
}

# fish_says LINE WORD...: the completions of the line, in any order
fish_says() {
	local got
	got=$(fish --no-config -c "source '$completion/fish'; complete -C '$1'" | cut -f 1 |
		sort | tr '\n' ' ')
	same "fish: $1" "$got" "$(printf '%s\n' "${@:2}" | sort | tr '\n' ' ')"
}

test_fish() {
	need fish
	export HOME=$TMP
	a_set
	fish_says "fusionctl sta" status
	fish_says "fusionctl close " data
	fish_says "fusionctl set data --profile " desktop database archive
	fish_says "fusionctl set data half" half_life=
	fish_says "fusionctl where / --sort s" size slow
	fish_says "fusionctl map data --svg a-f" a-file
	# the description is beside it
	has "meaning" "$(fish --no-config -c "source '$completion/fish'; complete -C 'fusionctl sta'")" \
		"status	show use"
}

# typed TEXT: zsh's line after TEXT and a tab
typed() {
	zsh -f "$here/typed.zsh" "$TMP/functions" "$1"
}

test_zsh() {
	need zsh
	export HOME=$TMP
	mkdir "$TMP/functions"
	cp "$completion/zsh" "$TMP/functions/_fusionctl"
	a_set
	same "a verb" "$(typed 'fusionctl stat')" "fusionctl status "
	same "a set" "$(typed 'fusionctl status da')" "fusionctl status data "
	same "a set, of nothing" "$(typed 'fusionctl close ')" "fusionctl close data "
	# the value follows without a space
	same "a key" "$(typed 'fusionctl set data half')" "fusionctl set data half_life="
	same "what to sort by" "$(typed 'fusionctl where / --sort he')" \
		"fusionctl where / --sort heat "
	same "an option" "$(typed 'fusionctl map data --sv')" "fusionctl map data --svg "
	same "a file" "$(typed 'fusionctl map data --svg a-f')" "fusionctl map data --svg a-file "
	same "nothing" "$(typed 'fusionctl status nosu')" "fusionctl status nosu"
}

run_tests
