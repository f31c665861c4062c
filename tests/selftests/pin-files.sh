#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl pin and unpin: pinned files lie on their member, wherever they are written and whatever
# they are called; what is not pinned any more; and what is refused. pin.sh has the kernel's side,
# pin-file-systems.sh other file systems than ext4.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/where.sh
. "$(dirname "$0")/lib/where.sh"
# shellcheck source=lib/pin.sh
. "$(dirname "$0")/lib/pin.sh"

test_file() {
	pinning
	good fusionctl pin "$MNT/file-1" --fast
	shows "where: $(extents_of "$MNT/file-1" | wc -l) of at most "
	same "pinned to" "$(pinned_to "$MNT/file-1")" fast
	same "not pinned" "$(extents_of "$MNT/file-2" | tail -n 1 |
		while read -r i; do msg where extents "$i" 1; done | awk '{ print $NF }')" -
	same "mode of the file" "$(stat -c %a "$PINS_FILE" $PINS | xargs)" "600 700"
	in_file '.pins[0].path' "$MNT/file-1"
	in_file '.pins[0].inode' "$(stat -c %i "$MNT/file-1")"
	listed .state "not yet"
	listed .bytes $((1000 * 4096))
	all_on slow "$MNT/file-1" || fail "it has moved while migration is off"
	fusionctl explain where "$MNT/file-1" --json >"$TMP/out"
	json '[.extents[] | .verdict, (.waits_for | join(",")), .pin] | unique | join(" ")' \
		"fast migration waits"
	go
	within 60 "the file is on the fast member" all_on fast "$MNT/file-1"
	listed .state completely
	good fusionctl pin --list
	shows "$MNT/file-1"
	shows completely
	fusionctl explain where "$MNT/file-1" >"$TMP/out"
	shows pinned
	asked "$MNT/file-1"
	same "where" "$(jq '.files[0] | .pinned_fast_bytes == .bytes' "$TMP/json")" true
	good fusionctl where "$MNT/file-1" "$MNT/dir"
	shows " PIN"
	# the other way
	good fusionctl pin "$MNT/file-1" --slow
	same "pinned to" "$(pinned_to "$MNT/file-1")" slow
	within 60 "the file is on the slow member" all_on slow "$MNT/file-1"
	good fusionctl unpin "$MNT/file-1"
	same "pinned to" "$(pinned_to "$MNT/file-1")" -
	same "pins" "$(ls $PINS)" ""
	refused "is not pinned; see fusionctl pin --list where" fusionctl unpin "$MNT/file-1"
}

# Written again elsewhere, renamed, replaced by another one, and deleted.
test_changes() {
	local was
	pinning
	good fusionctl pin "$MNT/file-1" --fast
	was=$(extents_of "$MNT/file-1" | xargs)
	mv "$MNT/file-1" "$MNT/dir/renamed"
	good fusionctl pin --refresh
	listed .path "$MNT/dir/renamed"
	in_file '.pins[0].path' "$MNT/dir/renamed"
	# only new blocks are left of it
	stamped "$MNT/dir/renamed" 1 1000 1000
	sync
	fallocate -p -o 0 -l 4096000 "$MNT/dir/renamed"
	sync
	differ "extents of the file" "$(extents_of "$MNT/dir/renamed" | xargs)" "$was"
	good fusionctl pin --refresh where
	same "pinned to" "$(pinned_to "$MNT/dir/renamed")" fast
	same "pinned extents" "$(msg where pins | awk '{ print $4 }')" \
		"$(extents_of "$MNT/dir/renamed" | wc -l)"
	# as editors do
	cp "$MNT/dir/renamed" "$MNT/dir/new"
	mv "$MNT/dir/new" "$MNT/dir/renamed"
	sync
	good fusionctl pin --refresh
	same "pinned to" "$(pinned_to "$MNT/dir/renamed")" fast
	in_file '.pins[0].inode' "$(stat -c %i "$MNT/dir/renamed")"
	rm "$MNT/dir/renamed"
	# a link may lead anywhere
	ln -s "$MNT/file-2" "$MNT/dir/renamed"
	good fusionctl pin --refresh
	listed .state missing
	same "pinned extents" "$(msg where pins | awk '{ print $4 }')" 0
	at_least "missing since" "$(jq '.pins[0].missed' "$PINS_FILE")" 1
	# a week later
	jq -c '.pins[0].missed -= 605000' "$PINS_FILE" >"$TMP/later"
	cp "$TMP/later" "$PINS_FILE"
	refused "has been missing for a week" eval 'fusionctl pin --refresh && false'
	same "pins" "$(ls $PINS)" ""
}

test_gone_name() {
	pinning
	good fusionctl pin "$MNT/file-1" "$MNT/file-2" --slow
	rm "$MNT/file-1"
	(cd "$MNT" && good fusionctl unpin file-1)
	in_file '.pins | length' 1
	refused "cannot look at it" fusionctl unpin "$MNT/file-1"
}

# Paths that lead nowhere, or elsewhere, still name pins.
test_lost_names() {
	pinning
	good fusionctl pin "$MNT" "$MNT/file-1" "$MNT/file-2" "$MNT/dir" "$MNT/dir/file-3" --slow
	rm -r "$MNT/dir" "$MNT/file-1"
	ln -s "$MNT" "$MNT/dir"
	ln -s file-1 "$MNT/file-1"
	good fusionctl unpin "$MNT/dir"
	good fusionctl unpin "$MNT/file-1"
	rm "$MNT/dir"
	touch "$MNT/dir"
	(cd "$MNT" && refused ": cannot look at it" fusionctl unpin "")
	(cd "$MNT" && refused "cannot look at it" fusionctl unpin ./none/..//dir/file-3)
	(cd "$MNT" && good fusionctl unpin ../mnt/.//dir/file-3)
	in_file '[.pins[].path] | join(" ")' "$MNT $MNT/file-2"
	umount "$MNT"
	good fusionctl unpin "$MNT"
	good fusionctl unpin "$MNT/.//file-2"
	same "pins" "$(ls $PINS)" ""
	refused "fusionctl: $MNT" fusionctl unpin "$MNT"
}

# A directory whose owner puts a link in its place does not pin what that leads to.
test_directory_link() {
	pinning
	good fusionctl pin "$MNT/dir" --fast
	rm -r "$MNT/dir"
	ln -s "$MNT" "$MNT/dir"
	good fusionctl pin --refresh
	listed .state missing
	same "pinned extents" "$(msg where pins | awk '{ print $4 }')" 0
	rm "$MNT/dir"
	mkdir "$MNT/dir"
	stamped "$MNT/dir/file-5" 5 100
	all_down
	good fusionctl pin --refresh
	listed .state "not yet"
}

# New files in it, hard links, and holes.
test_directory() {
	pinning
	good fusionctl pin "$MNT/dir" --fast
	same "pinned to" "$(pinned_to "$MNT/dir/file-3")" fast
	mkdir "$MNT/dir/deep"
	stamped "$MNT/dir/deep/file-5" 5 300
	# holes take no pins
	truncate -s 40M "$MNT/dir/sparse"
	stamped "$MNT/dir/sparse" 6 10 4000
	sync
	good fusionctl pin --refresh
	same "pinned to" "$(pinned_to "$MNT/dir/deep/file-5")" fast
	same "pinned to" "$(pinned_to "$MNT/dir/sparse")" fast
	at_most "extents of a sparse file" "$(extents_of "$MNT/dir/sparse" | wc -l)" 3
	listed .files 3
	listed .recursive true
	go
	within 60 "a new file is on the fast member" all_on fast "$MNT/dir/deep/file-5"
	refused "is pinned with its directory; use fusionctl unpin $MNT/dir" \
		fusionctl unpin "$MNT/dir/file-3"
	good fusionctl unpin "$MNT/dir"
	# one inode, two names
	ln "$MNT/file-1" "$MNT/dir/link"
	good fusionctl pin "$MNT/file-1" --slow
	good fusionctl pin "$MNT/dir/link" --fast
	in_file '.pins | length' 1
	rm "$MNT/file-1"
	good fusionctl pin --refresh
	listed .state completely
	good fusionctl unpin "$MNT/dir/link"
}

# Fast wins where two disagree.
test_conflict() {
	pinning
	good fusionctl pin "$MNT/dir/file-3" --slow
	good fusionctl pin "$MNT/dir" --fast
	same "pinned to" "$(pinned_to "$MNT/dir/file-3")" fast
	listed .member slow
	listed '| .overruled_bytes == .set_bytes' true
	good fusionctl pin --list where
	shows "are pinned to the fast member as well, which wins"
}

test_extents() {
	pinning
	good fusionctl pin where --extents 10-19 --fast
	good fusionctl pin where --extents 15-24 --slow
	same "pinned" "$(msg where extents 9 17 | awk '{ print $NF }' | uniq -c | xargs)" \
		"1 - 5 fast 10 slow 1 -"
	good fusionctl unpin where --extents 12-16
	same "pinned" "$(msg where extents 9 17 | awk '{ print $NF }' | uniq -c | xargs)" \
		"1 - 2 fast 5 - 8 slow 1 -"
	good fusionctl pin --list where
	shows "extents 10-11"
	refused "no such extents are pinned" fusionctl unpin where --extents 0-3
}

test_room() {
	local limit before
	pinning
	limit=$(msg where pins | awk '{ print $2 }')
	stamped "$MNT/large" 7 $(((limit + 20) * EXTENT / 4096))
	all_down
	good fusionctl pin "$MNT/file-2" --fast
	before=$(<"$PINS_FILE")
	refused "no room to pin all of it to the fast member" fusionctl pin "$MNT/large" --fast
	has "what is left" "$(fusionctl pin "$MNT/large" --fast 2>&1)" \
		"as $((limit - $(extents_of "$MNT/file-2" | wc -l))) extents"
	same "pins" "$(<"$PINS_FILE")" "$before"
	same "pinned" "$(msg where pins | awk '{ print $4 }')" "$(extents_of "$MNT/file-2" | wc -l)"
	# there is less room later
	good fusionctl pin where --extents 1100-$((1100 + limit - 40)) --fast
	msg where reserve 116
	good fusionctl pin --list where --json
	json '[.sets[0].pins[].state] | join(", ")' "not yet, no room"
	json .sets[0].limit_extents $((limit - 100))
	fusionctl pin --refresh >"$TMP/out" 2>&1 || fail "refresh: status $?"
	shows "where: no room on the fast member for"
	same "pinned" "$(msg where pins | awk '{ print $4 }')" $((limit - 100))
}

# The kernel has forgotten them, and learns them again.
test_reopened() {
	pinning
	good fusionctl pin "$MNT/file-1" --fast
	umount "$MNT"
	good fusionctl close where
	good fusionctl open where "$FAST" "$SLOW"
	msg where migration off
	same "pinned" "$(msg where pins | awk '{ print $4 }')" 0
	listed .state "not mounted"
	good fusionctl pin --refresh
	same "pinned" "$(msg where pins | awk '{ print $4 }')" 0
	mount "$SET" "$MNT"
	good fusionctl pin --list where
	shows "the kernel does not know all of it yet; run fusionctl pin --refresh where"
	good fusionctl pin --refresh --used-within 0
	same "pinned to" "$(pinned_to "$MNT/file-1")" fast
	# renamed, and not in any cache
	mv "$MNT/file-1" "$MNT/dir/other"
	umount "$MNT"
	mount "$SET" "$MNT"
	good fusionctl pin --refresh where
	same "pinned to" "$(pinned_to "$MNT/dir/other")" fast
	# the slow member rests, sooner or later
	within 60 "the set is left alone" left_alone
	same "pinned to" "$(pinned_to "$MNT/dir/other")" fast
	# not mounted for a while, in which nothing is pinned
	umount "$MNT"
	good fusionctl pin --refresh where
	same "pinned" "$(msg where pins | awk '{ print $4 }')" 0
	mount "$SET" "$MNT"
	sleep 3
	good fusionctl pin --refresh --used-within 0
	same "pinned to" "$(pinned_to "$MNT/dir/other")" fast
}

# Nothing is looked for every 15 minutes that is known to be missing, nor on a set without pins.
test_nothing_in_force() {
	pinning
	good fusionctl pin "$MNT/file-1" --fast
	rm "$MNT/file-1"
	good fusionctl pin --refresh
	listed .state missing
	same "pinned" "$(msg where pins | awk '{ print $4 }')" 0
	within 60 "the set is left alone" left_alone
	good fusionctl unpin "$MNT/file-1"
	good fusionctl pin --refresh --used-within 300
	good fusionctl pin --refresh where
}

left_alone() {
	sleep 2
	fusionctl pin --refresh --used-within 0 --json | jq -e '.sets | length == 0'
}

test_refusals() {
	pinning
	refused "needs either --fast or --slow" fusionctl pin "$MNT/file-1"
	refused "needs either --fast or --slow" fusionctl pin "$MNT/file-1" --fast --slow
	refused "leave out --fast" fusionctl pin --list --fast
	refused "does not go with --refresh" fusionctl pin --list --refresh
	refused "needs a PATH" fusionctl pin --fast
	refused "is for --refresh" fusionctl pin "$MNT/file-1" --fast --used-within 3
	refused "unexpected argument with --extents" fusionctl pin where x --extents 1 --fast
	refused "beyond the end" fusionctl pin where --extents 999999 --fast
	refused "not a range of extents" fusionctl pin where --extents x --fast
	refused "cannot look at it" fusionctl pin "$MNT/nosuch" --fast
	mkfifo "$MNT/fifo"
	refused "neither a file nor a directory" fusionctl pin "$MNT/fifo" --fast
	# one that is on no set, and then none of them is pinned
	refused "fusionctl: $TMP" fusionctl pin "$MNT/file-1" "$TMP/places" --fast
	touch "$TMP/places"
	refused "fusionctl: $TMP" fusionctl pin "$MNT/file-1" "$TMP/places" --fast
	same "pins" "$(ls $PINS 2>/dev/null || :)" ""
	mkdir -p $PINS
	echo '{' >"$PINS_FILE"
	refused "$PINS_FILE: is not JSON; remove the file, and pin again" \
		fusionctl pin "$MNT/file-1" --fast
	refused "$PINS_FILE: is not JSON" fusionctl pin --list where
	same "the file" "$(<"$PINS_FILE")" '{'
}

run_tests
