# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# LUKS on a set, and below both members. Part of stack-guest.sh.

# luks DEV [OPTION]...: make it an encrypted device
luks() {
	[[ -e $TMP/key ]] || head -c 32 /dev/urandom >"$TMP/key"
	cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		--key-file "$TMP/key" "${@:2}" "$1"
}

# unlock DEV NAME [OPTION]...
unlock() {
	defer dm_remove "$2"
	cryptsetup open --key-file "$TMP/key" "${@:3}" "$1" "$2"
}

# occurrences TEXT DEV: number of lines with the text
occurrences() {
	blockdev --flushbufs "$2"
	tr '\0' '\n' <"$2" | grep -acF "$1" || :
}

# LUKS2 on a set: no text can be read on the members, and discards pass.
test_luks() {
	local text="nobody is to read this $RANDOM$RANDOM$RANDOM"
	need cryptsetup
	the_set
	originals
	luks "$SET"
	unlock "$SET" safe --allow-discards
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/safe
	mounted /dev/mapper/safe
	seq 1000 | sed "s/.*/$text/" >"$TMP/mnt/secret"
	moving copies
	held safe
	umount "$TMP/mnt"
	at_least "lines that can be read above" "$(occurrences "$text" /dev/mapper/safe)" 1000
	cryptsetup close safe
	reopened
	same "lines that can be read on the fast member" "$(occurrences "$text" "$FAST")" 0
	same "lines that can be read on the slow member" "$(occurrences "$text" "$SLOW")" 0
	unlock "$SET" safe --allow-discards
	whole /dev/mapper/safe e2fsck -fn
	mounted /dev/mapper/safe
	compare two
	copy one
	frees one
	compare two
	umount "$TMP/mnt"
	cryptsetup close safe
	good fusionctl close stack
}

# LUKS2 below both members, one of them with sectors of 4 KiB.
test_luks_below() {
	local i
	need cryptsetup
	members 128 320
	luks /dev/fast
	luks /dev/slow --sector-size 4096
	for i in fast slow; do
		unlock /dev/$i $i-safe
	done
	FAST=/dev/mapper/fast-safe SLOW=/dev/mapper/slow-safe
	the_set
	used
	for i in fast slow; do
		cryptsetup close $i-safe
	done
	# without the key, not even the set is visible
	rm -rf /run/fusion
	good fusionctl assemble --scan
	same "open sets" "$(sets)" ""
	unlock /dev/fast fast-safe
	refused "the slow one is missing" fusionctl assemble --scan
	unlock /dev/slow slow-safe
	good fusionctl assemble --scan
	still_there "fast-safe slow-safe"
	good fusionctl close stack
}
