# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How a VM of scripts/vm ended: whether the script, the kernel or the VM itself failed.
# shellcheck disable=SC2154 # the variables of scripts/vm

SPLAT='BUG:|WARNING:|Oops|KASAN|KCSAN:|UBSAN|kernel BUG at|general protection fault'
SPLAT+='|Kernel panic|possible (circular|recursive) locking|inconsistent lock state'
SPLAT+='|possible irq lock inversion|lock held when returning|held lock freed|lockdep is turned off'
SPLAT+='|suspicious RCU usage|rcu: .*stall|INFO: task .* blocked for more than'
SPLAT+='|INFO: rcu_.* detected|INFO: trying to register non-static key'
SPLAT+='|unreferenced object|Out of memory: Killed'

complain() {
	echo "vm: $*" | tee -a "$log" >&2
}

# Drop KCSAN's reports, each a block between lines of =, that concern no module of this tree. The
# kernel has races of its own.
our_races() {
	awk '/BUG: KCSAN: / { report = 1; ours = text = "" }
		!report { print; next }
		{ text = text $0 "\n" }
		/ \[dm_(fusion|spindle|powercut)\]/ { ours = 1 }
		/====================/ { if (ours) printf "%s", text; report = 0 }
		END { if (report) printf "%s", text }' "$1"
}

# A kernel patches its code through a breakpoint while another processor may run there. QEMU before
# 8.1 may miss that the breakpoint is gone and execute it, and the kernel dies of "int3: 0000". The
# sign is a breakpoint that is not in memory, or that is there again because the next change has
# begun. A jump to a place without code would find many breakpoints in a row. Kernels patch
# themselves mostly while they boot. On 6.12, without a module of this tree, a loop that writes to
# /proc/sys/kernel/sched_schedstats beside one that starts programs shows it within seconds.
emulator_failed() {
	awk -v splat="$SPLAT" '/int3: 0000 \[#1\]/ { int3 = 1 }
		!int3 && $0 ~ splat { exit }
		int3 && / Code: / { ours = / <[0-9a-f]+>/ && !/ cc cc </; exit }
		END { exit !ours }' "$1"
}

# judge STATUS: of the VM, in the variables of scripts/vm; exit as its head says
judge() {
	local rc=$1 splats mark
	if [[ $tcg ]] && emulator_failed "$dir/console"; then
		complain "QEMU executed a breakpoint that was not there any more, which QEMU 8.1 mends;" \
			"it is not the kernel's doing, see Documentation/internals/testing.rst"
		exit 123
	fi
	if [[ -e $dir/fast-clock ]]; then
		complain "the VM's clock runs fast, $(<"$dir/fast-clock"): it measured that while it had to" \
			"wait for a processor"
		exit 123
	fi
	# Neither a module of this tree nor the script ran, so neither is the cause.
	if [[ $verb == run ]] && ! begun && ! grep -q 'vm: exit' "$dir/console"; then
		complain "the VM did not boot (status $rc); the last lines of $log:"
		tail -n 15 "$dir/vmm" "$dir/console" 2>/dev/null | sed 's/^/  /' >&2
		exit 123
	fi
	if splats=$(our_races "$dir/console" | grep -E "$SPLAT"); then
		complain "kernel $flavour complains, see $log:"
		head -n 10 <<<"$splats" | sed 's/^/  /' >&2
		# The place.
		grep -E 'RIP: |\[dm_(fusion|spindle|powercut)\]' "$dir/console" | head -n 6 |
			sed 's/^/  /' >&2 || :
		exit 126
	fi
	if [[ $rc == 124 || $rc == 137 ]]; then
		complain "killed at its limit of $limit s; the last lines of $log:"
		tail -n 10 "$dir/console" | sed 's/^/  /' >&2
		exit 124
	fi
	if ! mark=$(grep -m 1 -oE 'vm: exit [0-9]+' "$dir/console"); then
		complain "ended without a verdict (status $rc); the last lines of $log:"
		tail -n 15 "$dir/vmm" "$dir/console" 2>/dev/null | sed 's/^/  /' >&2
		exit 125
	fi
	mark=${mark##* }
	if [[ $mark == 125 ]]; then
		complain "cannot set up what the script needs; the last lines of $log:"
		tail -n 5 "$dir/console" | sed 's/^/  /' >&2
	fi
	exit "$mark"
}
