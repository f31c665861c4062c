#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What zsh and fish complete, as somebody typing there would see it. That of bash, and what there is
# to complete, is in fusionctl.sh.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

completion=$here/../../userspace/system/completion

a_set() {
	members 64 128
	opened data
	: >"$TMP/a-file"
	cd "$TMP"
}

# fish_says LINE WORD...: these are what the line may go on with, in any order
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
	fish_says "fusionctl map data --svg a-f" a-file
	# what it means is beside it
	has "meaning" "$(fish --no-config -c "source '$completion/fish'; complete -C 'fusionctl sta'")" \
		"status	how full"
}

# typed TEXT: the line of zsh after it, and a tab
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
	# the value comes right behind it
	same "a key" "$(typed 'fusionctl set data half')" "fusionctl set data half_life="
	same "an option" "$(typed 'fusionctl map data --sv')" "fusionctl map data --svg "
	same "a file" "$(typed 'fusionctl map data --svg a-f')" "fusionctl map data --svg a-file "
	same "nothing" "$(typed 'fusionctl status nosu')" "fusionctl status nosu"
}

run_tests
