# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A set of which a member is replaced. Sourced after lib.sh.
# shellcheck disable=SC2034 # for the tests

# third MIB [KEY=VALUE]...: the disk NEW, which can be swapped as the members of `linked`
third() {
	null new "$1" "${@:2}"
	linear new-link /dev/new 0 "$(sectors_of /dev/new)"
	NEW=/dev/mapper/new-link
}

# begin FAST_MIB SLOW_MIB NEW_MIB [KEY=VALUE]...: an open set, data, which moves at once, and NEW
begin() {
	linked "$1" "$2" "${@:4}"
	third "$3" "${@:4}"
	opened data data --extent-size 64K
	quick
}

# quick: moves wait for little
quick() {
	good fusionctl set data --now idle=100 duty=100 commit_interval=100 migration=off
}

# refuses TEXT COMMAND...: it fails, and says this itself
refuses() {
	status_of "${@:2}"
	[[ $RC -ne 0 ]] || fail "${*:2}: expected a refusal ($1), but it worked"
	says "$1"
}

# member fast|slow: its device
member() {
	[[ $1 == fast ]] && echo "$FAST" || echo "$SLOW"
}

# old_left: extents on the old member, or nothing
old_left() {
	fusionctl status data --json | jq -r '.sets[0].old.left // empty'
}

# nothing_left: a condition for within
nothing_left() {
	[[ $(old_left) == 0 ]]
}

# slowed MS: each write to NEW takes so long
slowed() {
	need_module dm-delay
	swap new "0 $(sectors_of /dev/new) delay /dev/new 0 0 /dev/new 0 $1"
}

# unplugged fast|slow|new: that disk is not there
unplugged() {
	dmsetup remove --retry "$1-link"
	echo 0 >"/sys/kernel/config/nullb/$1/power"
}

# plugged fast|slow|new: it is there again
plugged() {
	echo 1 >"/sys/kernel/config/nullb/$1/power"
	within 5 "/dev/$1" test -b "/dev/$1"
	linear "$1-link" "/dev/$1" 0 "$(sectors_of "/dev/$1")"
}

# members_are FAST SLOW: of the open set, which has no other one
members_are() {
	good fusionctl status data --json
	json '.sets[0] | .fast.device, .slow.device, .old' "$1"$'\n'"$2"$'\nnull'
}

# blank DEV: its head and its tail are empty
blank() {
	local end
	end=$(sectors_of "$1")
	cmp -n $((1 << 20)) "$1" /dev/zero >&2 || fail "$1: its first MiB is not empty"
	cmp -n $((1 << 20)) -i $(((end - 2048) * 512)):0 "$1" /dev/zero >&2 ||
		fail "$1: its last MiB is not empty"
	expect 4 "$1: not a member of a fusion set; fusionctl list shows the members" \
		fusionctl probe "$1"
}

# content BYTES: a file of that length, to compare with
content() {
	[[ -e $TMP/content ]] || head -c "$1" /dev/urandom >"$TMP/content"
}

# filled MIB: the first MIB of the set have this content, half of it on each member
filled() {
	content $(($1 << 20))
	dd if="$TMP/content" of=/dev/mapper/data bs=1M oflag=direct conv=fsync status=none
	good fusionctl demote data 0-$(($1 * 8 - 1))
	good fusionctl promote data 0-$(($1 * 4 - 1))
}

as_filled() {
	cmp -n "$(stat -c %s "$TMP/content")" "$TMP/content" /dev/mapper/data >&2 ||
		fail "the content of the set has changed"
}
