# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A swap file on a set, also while memory is short. Part of stack-guest.sh.

# remember MIB FILE: fill so much memory, read all of it three times, create the file, and read once
# more when the file is gone
remember() {
	exec perl -e '
		my ($mib, $file) = @ARGV;
		my @memory;
		sub content { pack("N2", @_) x 8192 }
		sub look {
			my $pass = shift;
			for (0 .. $#memory) {
				$memory[$_] eq content($_, $pass) or die "pass $pass: piece $_ is wrong\n";
			}
		}
		for my $pass (1 .. 3) {
			$memory[$_] = content($_, $pass) for 0 .. $mib * 16 - 1;
			look($pass);
		}
		open(my $f, ">", $file) or die;
		select(undef, undef, undef, 0.1) while -e $file;
		look(3)' "$1" "$2"
}

# remember_in GROUP MIB FILE: the same in a control group
remember_in() {
	echo "$BASHPID" >"$1/cgroup.procs"
	remember "$2" "$3"
}

swap_off() {
	! grep -q "^$1 " /proc/swaps || swapoff "$1"
}

# swap_on MIB: a swap file of that size on the set
swap_on() {
	mkfs.ext4 -q "$SET"
	mounted "$SET"
	dd if=/dev/zero of="$TMP/mnt/swap" bs=1M count="$1" conv=fsync status=none
	chmod 600 "$TMP/mnt/swap"
	quiet mkswap "$TMP/mnt/swap"
	defer swap_off "$TMP/mnt/swap"
	swapon "$TMP/mnt/swap"
}

# paged KEY: pages written to swap, or read from there
paged() {
	sed -n "s/^$1 //p" /proc/vmstat
}

# swaps PAGES COMMAND...: the command swaps that many pages out, and as many in, while extents move;
# its memory is still correct after swapoff
swaps() {
	local out in pid storm rc=0
	out=$(paged pswpout) in=$(paged pswpin)
	background storm stack
	storm=$REPLY
	background "${@:2}" "$TMP/remembers"
	pid=$REPLY
	within 400 "memory written and read" remembers "$pid"
	[[ -e $TMP/remembers ]] || wait "$pid" || rc=$?
	same "status of what remembers" $rc 0
	out=$(($(paged pswpout) - out)) in=$(($(paged pswpin) - in))
	say "$out pages swapped out, $in in"
	at_least "pages swapped out" "$out" "$1"
	at_least "pages swapped in" "$in" "$1"
	within 100 "extents move" enough stack
	finish "$storm"
	say "$(status stack promotions) promotions, $(status stack demotions) demotions"
	at_least "KiB in swap" "$(awk 'NR == 2 { print $4 }' /proc/swaps)" $((8 << 10))
	expect 5 "stack: is mounted on $TMP/mnt; unmount it first" fusionctl close stack
	room
	limited 200 swapoff "$TMP/mnt/swap"
	rm "$TMP/remembers"
	wait "$pid" || fail "what was in swap is lost"
	umount "$TMP/mnt"
	whole "$SET" e2fsck -fn
	reopened
	whole "$SET" e2fsck -fn
	good fusionctl close stack
}

# remembers PID: or it has ended
remembers() {
	[[ -e $TMP/remembers ]] || ! kill -0 "$1"
}

no_group() {
	rmdir "$TMP/groups/small"
	umount "$TMP/groups"
}

# A swap file for a program that may use little memory, and swapoff of that file.
test_swap_file() {
	members 96 320
	the_set
	swap_on 192
	mkdir "$TMP/groups"
	mount -t cgroup2 none "$TMP/groups"
	echo +memory >"$TMP/groups/cgroup.subtree_control"
	mkdir "$TMP/groups/small"
	defer no_group
	echo 48M >"$TMP/groups/small/memory.max"
	room() {
		echo max >"$TMP/groups/small/memory.max"
	}
	# all that does not fit, in each of three passes
	swaps $((3 * (160 - 48) << 8)) remember_in "$TMP/groups/small" 160
}

# available: MiB of memory
available() {
	awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}

# leave MIB: fill a disk in RAM with the rest of the memory
leave() {
	local at=0 n
	quiet modprobe brd rd_nr=1 rd_size=$((2 << 20))
	defer give_back
	echo 3 >/proc/sys/vm/drop_caches
	while n=$(($(available) - $1)) && [[ $n -gt 0 ]]; do
		dd if=/dev/zero of=/dev/ram0 bs=1M seek=$at count=$n oflag=direct status=none
		at=$((at + n))
	done
	say "$(available) MiB of memory left"
}

give_back() {
	! lsmod | grep -q '^brd ' || rmmod brd
}

# No process has free memory: moving extents, and swapping to them, also takes some.
test_swap_in_need() {
	[[ ${VM_DISKS:-} ]] || skip "no disks that are not in memory"
	need_module dm-fusion
	read -r FAST SLOW <<<"$VM_DISKS"
	# the content would outlive the test, and others examine all disks
	defer put_direct "$FAST" 0 0 65536
	defer put_direct "$SLOW" 0 0 65536
	the_set
	swap_on 512
	leave 160
	room() {
		give_back
	}
	swaps $(((352 - 200) << 8)) remember 352
}
