# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the tests here: machines that boot by themselves, run a script from a disk, and power off.
# Source scripts/common.sh first.

LIMIT=900		# seconds for a boot, a script and a shutdown
SPLAT='BUG:|WARNING:|Oops|Kernel panic|general protection fault|task .* blocked for more than'

here=$TREE/tests/boot
logs=$TREE/build/logs
mkdir -p "$logs"
dir=$(mktemp -d "$TREE/build/boot.XXXXXX")
pids=()
# shellcheck disable=SC2317 # the trap reaches it
cleanup() {
	local pid
	# timeout passes the signal on to QEMU
	for pid in "${pids[@]}"; do
		if kill -TERM "$pid" 2>/dev/null; then
			wait "$pid" || :
		fi
	done
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 143' INT TERM HUP

say() {
	echo "# $*"
}

fail() {
	say "$*"
	return 1
}

# install_root LOG DISK [SLOW]: put $dir/root.tar on these images, with guest-install.sh.
# ROOT_TYPE is the type of the root. A VM that is to blame itself (123 of scripts/vm) gets empty
# images and another try.
install_root() {
	local i size disks=() devices=(/dev/vda) tries=3 rc
	for i in "${@:2}"; do
		disks+=(--disk "$i")
	done
	[[ $# -lt 3 ]] || devices+=("$([[ $3 == scsi:* ]] && echo /dev/sda || echo /dev/vdb)")
	while :; do
		rc=0
		"$TREE/scripts/vm" run --kver 6.1 --cpus 1 --mem 1536 --limit 1500 --log "$1" "${disks[@]}" \
			--share "$dir" --prog sfdisk --prog mkfs.ext4 --env "ROOT_TYPE=${ROOT_TYPE:-ext4}" \
			"$here/guest-install.sh" /share/0/root.tar "${devices[@]}" >"$dir/out" 2>&1 || rc=$?
		[[ $rc -eq 123 && $((--tries)) -gt 0 ]] || break
		say "$(vm_says "$dir/out")"
		for i in "${@:2}"; do
			size=$(stat -c %s "${i#scsi:}")
			truncate -s 0 "${i#scsi:}"
			truncate -s "$size" "${i#scsi:}"
		done
	done
	[[ $rc -eq 0 ]] ||
		fail "the root was not installed: $(vm_says "$dir/out"; tail -n 3 "$dir/out")"
}

# vm_says OUT: what scripts/vm has against its VM
vm_says() {
	grep -a '^vm: ' "$1" | tail -n 1
}

# boot LOG SCRIPT [DISK]...: start a machine with these disks, which boots from the first one, runs
# the script, and powers off; its pid is the last of pids
boot() {
	local log=$1 script=$2
	shift 2
	cat "$here/guest/steps.sh" "$script" >"$dir/steps"
	truncate -s %4096 "$dir/steps"
	: >"$log"
	timeout "${limit:-$LIMIT}" "$here/machine" --log "$log" --steps "$dir/steps" "$@" </dev/null &
	pids+=($!)
}

# done_well LOG: the machine powered off by itself, the script succeeded, and the kernel did not
# complain
done_well() {
	local bad rc=0
	wait "${pids[-1]}" || rc=$?
	unset 'pids[-1]'
	[[ $rc -eq 0 ]] || fail "the machine had to be stopped: $(tail -n 2 "$1" | tr -d '\r')" ||
		return
	bad=$(grep -aE -m1 "\[ *[0-9]+\.[0-9]+\] .*($SPLAT)" "$1" || :)
	[[ ! $bad ]] || fail "the kernel says: $bad" || return
	grep -aq '^boot-test: exit 0' "$1" ||
		fail "the script did not succeed: $(grep -a -A3 '^# ' "$1" | tail -n 4)"
}

# says LOG SECONDS TEXT: the text must appear within that time
says() {
	local i
	for ((i = 0; i < $2 * 5; i++)); do
		! tr -d '\r' <"$1" | grep -aq -- "$3" || return 0
		kill -0 "${pids[-1]}" 2>/dev/null || break
		sleep 0.2
	done
	stop
	fail "not on the console: $3"
}

stop() {
	kill -TERM "${pids[-1]}"
	wait "${pids[-1]}" 2>/dev/null || :
	unset 'pids[-1]'
}
