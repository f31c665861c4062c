#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl members shows the drives of sets, and monitor reports those that begin to fail.
#
# The disks, and what lies between them and a set, are real ones of the kernel. But no virtual disk
# wears out, fails or sleeps. So where a test is about SMART, smartctl is a script that answers with
# a sample of smart/. The tests of the real one, at the end, run in a VM: scripts/setup has smartctl
# for these, and QEMU an NVMe drive.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/smart.sh
. "$here/lib/smart.sh"

MAIL=/usr/sbin/sendmail
CONF=/etc/fusion/monitor.conf
STATE=/run/fusion/monitor.json

# begin [OPTION]...: an open set
begin() {
	need jq
	rm -f $STATE
	members 64 128
	echo 1 >/sys/block/slow/queue/rotational
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 1M
	defer dm_remove data
}

# fast_is, slow_is FILTER WANT: in what members --json said of the first drive of that member
fast_is() {
	json ".members[] | select(.role == \"fast\") | .drives[0]$1" "$2"
}

slow_is() {
	json ".members[] | select(.role == \"slow\") | .drives[0]$1" "$2"
}

MISSING="smartctl: not installed, so health, age and wear are unknown; install the package smartmontools"

# scsi_set: a set called data, with a slow member that the kernel knows by model and serial number
scsi_set() {
	need jq
	scsi_disk opts=0
	SLOW=$REPLY
	null fast 64
	FAST=$REPLY
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	defer dm_remove data
}

# What the kernel knows is shown without it.
test_without_smartctl() {
	no_smartctl
	scsi_set
	expect 0 "$MISSING" fusionctl members data
	shows "data, fast member $FAST"
	shows "data, slow member $SLOW"
	shows "drive    $SLOW, 64M, "
	shows "model    scsi_debug"
	expect 0 "$MISSING" fusionctl members data --json
	json .smartctl false
	slow_is .model scsi_debug
	slow_is .bytes 67108864
	slow_is .smart unknown
	slow_is .passed null
	differ serial "$(jq -r '.members[1].drives[0].serial' "$TMP/out")" null
	same "serial" "$(jq -r '.members[1].drives[0].serial' "$TMP/out")" \
		"$(fusionctl probe --json "$FAST" | jq -r .peer.serial)"
	good fusionctl monitor
	same "what monitor says" "$(<"$TMP/out")" "ok       data: is open"
}

test_samples() {
	begin
	answers "$FAST=nvme" "$SLOW=sata-hdd"
	good fusionctl members
	shows "model    Samsung SSD 980 PRO 1TB, firmware 5B2QGXA7"
	shows "serial   S5GXNF0R123456A"
	shows "SMART    passed, 41 degrees, limit 82, powered on for 1.2 years"
	shows "wear     3% used, 41.2T written, 100% of its spare blocks left"
	shows "lasts    38.8 years as used so far, 96.3G written a day"
	shows "budget   5 years with write_budget="
	shows "model    ST4000VN008-2DR166, firmware SC60"
	shows "drive    /dev/slow, 128M, rotational, SATA 6.0 Gb/s"
	shows "life     33.4T written"
	shows "sectors  0 pending, 0 reallocated, 0 media errors"
	good fusionctl members --json
	json .smartctl true
	json '.members | length' 2
	fast_is .smart ok
	fast_is .percentage_used 3
	fast_is .power_on_hours 10512
	fast_is .endurance.write_budget 0
	fast_is .endurance.bytes_per_day null
	slow_is .pending_sectors 0
	slow_is .endurance null
	slow_is .temperature_limit 70
	# no drive is woken, and each is asked once
	same "asked" "$(wc -l <"$TMP/asked")" 4
	same "asked without -n standby" "$(grep -vc -e '-n standby' "$TMP/asked" || :)" 0
}

test_arguments() {
	local i uuid
	begin
	answers "$FAST=nvme" "$SLOW=sata-hdd"
	uuid=$(uuid_of "$FAST")
	for i in data "$uuid" /dev/mapper/data; do
		good fusionctl members "$i" --json
		json '[.members[].role] | join(" ")' "fast slow"
	done
	good fusionctl members "$SLOW" --json
	json '[.members[].role] | join(" ")' slow
	same "disks asked" "$(tail -n 1 "$TMP/asked" | sed 's/.* //')" "$SLOW"
	good fusionctl members "$SLOW" "$FAST" --json
	json '[.members[].role] | join(" ")' "fast slow"
	for i in nowhere /dev/null "$TMP"; do
		expect 4 "$i: neither a set, nor a member, nor a drive beneath one; fusionctl members \
shows all" fusionctl members "$i"
	done
	# one of two that does not exist
	expect 4 "x: neither a set, nor a member, nor a drive beneath one; fusionctl members shows all" \
		fusionctl members data x
}

# A drive that sleeps or does not know SMART is shown all the same.
test_no_answer() {
	begin
	answers "$FAST=usb" "$SLOW=asleep"
	good fusionctl members
	shows "SMART    unknown: Unknown USB bridge [0x0bc2:0x2322 (0x100)]"
	shows "SMART    not asked: the drive sleeps"
	good fusionctl members --json
	fast_is .smart unknown
	slow_is .smart asleep
	slow_is .smart_reason null
	answers "$FAST=denied"
	good fusionctl members
	shows "SMART    unknown: Smartctl open device: /dev/sda failed: Permission denied"
	shows "SMART    unknown: Unable to detect device type"
	prints "$SLOW" "no JSON at all"
	good fusionctl members "$SLOW"
	shows "SMART    unknown: smartctl printed something other than JSON"
	prints "$SLOW" '{"smartctl":{"exit_status":0},"temperature":{"current":'
	good fusionctl members "$SLOW"
	shows "SMART    unknown: smartctl printed something other than JSON"
	hangs "$SLOW"
	limited 60 fusionctl members "$SLOW" >"$TMP/out" || fail "smartctl hangs: status $?"
	shows "SMART    unknown: smartctl has not answered for 30 s"
}

test_faults() {
	begin
	answers "$FAST=worn" "$SLOW=failing"
	good fusionctl members
	shows "SMART    FAILING, 44 degrees, limit 70"
	shows "error    SMART predicts that it will fail soon; fusionctl replace data $SLOW NEW"
	shows "warning  16 sectors cannot be read; fusionctl replace data $SLOW NEW"
	shows "warning  93% of its life is used; fusionctl replace data $FAST NEW"
	shows "warning  it has reached 83 degrees, its limit is 82; improve its cooling"
	good fusionctl members --json
	slow_is '.findings | length' 2
	slow_is .findings[0].level error
	fast_is .findings[1].remedy "improve its cooling"
}

# beneath fast|slow DRIVES: they are those of that member
beneath() {
	json "[.members[] | select(.role == \"$1\") | .drives[].device] | sort | join(\" \")" "$2"
}

# The whole disks are found below partitions, LVM (linear mappings), LUKS and arrays.
test_beneath() {
	local half
	need jq
	need_module dm-crypt
	null one 96
	null two 96
	null three 96
	# a volume of two disks, as LVM makes it, and LUKS on that
	half=$((64 * 2048))
	dm volume "0 $half linear /dev/one 2048
$half $half linear /dev/two 2048"
	dm locked "0 $((2 * half)) crypt aes-xts-plain64 $(printf '%064d' 7) 0 /dev/mapper/volume 0"
	SLOW=/dev/mapper/locked
	# a partition of a loop device, which lies on a mapping: that has no partitions itself
	linear lower /dev/three 0 "$(sectors_of /dev/three)"
	printf 'label: gpt\n2048,%s,\n' "$half" | sfdisk -q /dev/mapper/lower
	loop_on /dev/mapper/lower
	FAST=${REPLY}p1
	[[ -b $FAST ]] || skip "no partitions of loop devices here"
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	defer dm_remove data
	answers /dev/three=nvme /dev/one=sata-hdd /dev/two=asleep
	good fusionctl members --json
	beneath slow "/dev/one /dev/two"
	beneath fast /dev/three
	same "asked" "$(sed 's/.* //' "$TMP/asked" | sort | xargs)" "/dev/one /dev/three /dev/two"
	json '.members[1].drives | map(.smart) | sort | join(" ")' "asleep ok"
	# a drive is an argument too
	good fusionctl members /dev/two --json
	json '[.members[].role] | join(" ")' slow
	good fusionctl monitor
}

# loop_on DEV: a loop device on it, with its partitions
loop_on() {
	modprobe -q loop || :
	REPLY=$(losetup -f --show -P "$1")
	defer losetup -d "$REPLY"
	within 10 "${REPLY}p1" test -b "${REPLY}p1"
}

test_mirror() {
	need jq
	modprobe -qa dm-raid raid1 || skip "no RAID 1 here"
	null one 72
	null two 72
	null fast 64
	FAST=$REPLY
	dm array "0 $((72 * 2048)) raid raid1 3 0 region_size 1024 2 - /dev/one - /dev/two" ||
		skip "this kernel makes no array"
	SLOW=/dev/mapper/array
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	defer dm_remove data
	answers /dev/one=sata-hdd /dev/two=failing
	good fusionctl members --json
	beneath slow "/dev/one /dev/two"
	good fusionctl monitor
	has "what monitor says" "$(<"$TMP/out")" "error    data: slow member /dev/mapper/array, \
ST4000VN008-2DR166, serial ZGY4XYZ1: SMART predicts that it will fail soon"
}

# Two sets on one drive, and closed ones.
test_closed() {
	local i
	begin
	answers "$FAST=nvme" "$SLOW=sata-hdd"
	good fusionctl close data
	good fusionctl members
	shows "data, fast member $FAST, closed"
	shows "SMART    passed, 41 degrees, limit 82, powered on for 1.2 years"
	good fusionctl members --json
	json '[.members[].open_as] | unique | join(" ")' ""
	json '.members | length' 2
	fast_is .endurance.write_budget null
	for i in data "$(uuid_of "$FAST")" "$FAST"; do
		good fusionctl members "$i" --json
		json '.members[0].role' fast
	done
	good fusionctl wipe data --yes
	good fusionctl members
	same "what it says" "$(<"$TMP/out")" "no members of fusion sets found"
	good fusionctl members --json
	json '.members | length' 0
}

# A member that has gone: the other one knows which drive that was.
test_missing() {
	scsi_set
	answers "$FAST=nvme"
	echo 1 >"$(sysfs_of "$SLOW")/device/delete"
	within 10 "it is gone" test ! -b "$SLOW"
	status_of fusionctl members data
	same "status ($OUT)" "$RC" 0
	says "data, slow member MISSING"
	says "model    scsi_debug, 64M"
	good fusionctl members data --json
	json '.members[1] | "\(.missing) \(.device) \(.missing_model)"' "true null scsi_debug"
}

# How long the SSD lasts, by its life, at the present rate, and with a write budget.
test_lasts() {
	begin
	answers "$FAST=nvme" "$SLOW=sata-hdd"
	good fusionctl set data write_budget=50
	dd if=/dev/urandom of=/dev/mapper/data bs=1M count=32 oflag=direct conv=fsync status=none
	echo "86400.00 86400.00" >"$TMP/uptime"
	mount --bind "$TMP/uptime" /proc/uptime
	defer umount /proc/uptime
	good fusionctl members data --json
	fast_is .endurance.write_budget 50
	# 32 MiB of data and the metadata
	at_least "bytes a day" "$(jq '.members[0].drives[0].endurance.bytes_per_day' "$TMP/out")" \
		$((32 << 20))
	at_most "bytes a day" "$(jq '.members[0].drives[0].endurance.bytes_per_day' "$TMP/out")" \
		$((128 << 20))
	fast_is .endurance.capacity_bytes $((88412345 * 512000 * 100 / 3))
	# 3 % in 438 days; 1463 TB are left, for 50 GB a day
	fast_is .endurance.life_days 14162
	at_least days "$(jq '.members[0].drives[0].endurance.budget_days' "$TMP/out")" 29000
	at_most days "$(jq '.members[0].drives[0].endurance.budget_days' "$TMP/out")" 29300
	at_least budget "$(jq '.members[0].drives[0].endurance.five_years_budget' "$TMP/out")" 790
	at_most budget "$(jq '.members[0].drives[0].endurance.five_years_budget' "$TMP/out")" 802
	good fusionctl members data
	shows "if moves use write_budget=50 every day"
	shows "years as used since boot, "
}

# -- monitor ------------------------------------------------------------------------

# tells TEXT...: monitor prints a line for each of these, and no other
tells() {
	good fusionctl monitor
	same "what it says" "$(<"$TMP/out")" "$(printf '%s\n' "$@" | sed '/^$/d')"
}

# later: half an hour has passed since the drives were asked
later() {
	jq -c 'map_values(.drives_time -= 1800)' $STATE >$STATE.old
	mv $STATE.old $STATE
}

test_monitor() {
	local ssd="data: fast member /dev/fast, Samsung SSD 980 PRO 1TB, serial S5GXNF0R123456A"
	local hdd="data: slow member /dev/slow, ST4000VN008-2DR166, serial ZGY4XYZ1" asked
	begin
	answers "$FAST=nvme" "$SLOW=sata-hdd"
	tells "ok       data: is open"
	asked=$(wc -l <"$TMP/asked")
	same "asked" "$asked" 2
	answers "$FAST=worn" "$SLOW=failing"
	# not so soon
	tells ""
	same "asked" "$(wc -l <"$TMP/asked")" 2
	later
	tells "warning  $ssd: 93% of its life is used; fusionctl replace data /dev/fast NEW" \
		"warning  $ssd: it has reached 83 degrees, its limit is 82; improve its cooling" \
		"error    $hdd: SMART predicts that it will fail soon; fusionctl replace data /dev/slow NEW" \
		"warning  $hdd: 16 sectors cannot be read; fusionctl replace data /dev/slow NEW"
	later
	tells ""
	# what is not known has not changed
	answers "$FAST=worn" "$SLOW=usb"
	prints "$SLOW" x
	later
	tells ""
	jq -c '.ata_smart_attributes.table |= map(if .id == 197 then .raw.value = 17 else . end)' \
		"$here/smart/failing.json" >"$TMP/answer.slow"
	later
	tells "warning  $hdd: 17 sectors cannot be read; fusionctl replace data /dev/slow NEW"
	answers "$FAST=worn" "$SLOW=sata-hdd"
	later
	tells "ok       ${hdd/data:/data: resolved:}: SMART predicts that it will fail soon" \
		"ok       ${hdd/data:/data: resolved:}: 17 sectors cannot be read"
}

test_state_is_not_believed() {
	local text
	begin
	answers "$FAST=worn" "$SLOW=sata-hdd"
	good fusionctl monitor
	for text in 7 '[]' '"x"' '{"x":7}' '{"fast /dev/fast worn":{"text":7}}'; do
		jq -c "map_values(.drives = $text | .drives_time = -1800)" $STATE >$STATE.new
		mv $STATE.new $STATE
		good fusionctl monitor
		shows "93% of its life is used"
	done
}

# The program of the administrator gets each event, and the address each warning.
test_notify() {
	local host
	begin
	host=$(hostname)
	mkdir -p /etc/fusion
	defer rm -f $CONF
	cat >"$TMP/hook" <<-EOF
		#!/bin/bash
		printf '%s|' "\$1" "\$2" "\$3" "\$FUSION_LEVEL" "\$FUSION_REMEDY" >>"$TMP/events"
		echo >>"$TMP/events"
	EOF
	chmod 755 "$TMP/hook"
	printf '# for tests\nPROGRAM %s\n\nMAILADDR root@example.org\n' "$TMP/hook" >$CONF
	stand_in $MAIL <<-EOF
		#!/bin/bash
		echo "arguments \$*" >>"$TMP/mail"
		cat >>"$TMP/mail"
	EOF
	tells "ok       data: is open"
	same events "$(<"$TMP/events")" "opened|data|is open|ok||"
	[[ ! -e $TMP/mail ]] || fail "a mail for nothing: $(<"$TMP/mail")"
	dmsetup suspend data
	tells "warning  data: degraded: is suspended, all I/O waits; dmsetup resume it"
	has events "$(<"$TMP/events")" "begun|data|is suspended, all I/O waits|warning|dmsetup resume it|"
	has mail "$(<"$TMP/mail")" "arguments -oi -t"
	has mail "$(<"$TMP/mail")" "To: root@example.org"
	has mail "$(<"$TMP/mail")" "Subject: warning of fusion set data on $host"
	has mail "$(<"$TMP/mail")" "data: is suspended, all I/O waits"
	has mail "$(<"$TMP/mail")" "What to do: dmsetup resume it"
	rm "$TMP/mail"
	dmsetup resume data
	good fusionctl monitor
	[[ ! -e $TMP/mail ]] || fail "a mail about what is over: $(<"$TMP/mail")"
	has events "$(<"$TMP/events")" "over|data|is suspended, all I/O waits|ok||"
}

# Faults of the file and of the program are warnings, and the event is reported.
test_notify_faults() {
	begin
	mkdir -p /etc/fusion
	defer rm -f $CONF
	warns "PROGRAM /nowhere/x" "/nowhere/x: cannot be run; install it, or correct $CONF"
	warns "PROGRAM bin/x" "$CONF: PROGRAM bin/x: not an absolute path; correct that line"
	warns "MAILADDR -v" "$CONF: MAILADDR -v: not an address; correct that line"
	warns "MAILADDR a b" "$CONF: MAILADDR a b: not an address; correct that line"
	warns "MAIL x" "$CONF: unknown word MAIL; use PROGRAM and MAILADDR"
	warns "PROGRAM /bin/false" "/bin/false: has failed with status 1; run it by hand"
	echo "PROGRAM /bin/false" >$CONF
	chmod 666 $CONF
	rm -f $STATE
	expect 0 "$CONF: not a file that only root can write, and so not used; chown root and chmod \
644 it" fusionctl monitor
}

# warns LINE TEXT: with that line in the file
warns() {
	echo "$1" >$CONF
	rm -f $STATE
	expect 0 "$2" fusionctl monitor
	shows "ok       data: is open"
}

# -- the real one --------------------------------------------------------------------

test_real_smartctl() {
	[[ -x $SMARTCTL ]] || skip "no smartctl here"
	scsi_set
	good fusionctl members data
	sed 's/^/# /' "$TMP/out"
	good fusionctl members data --json
	json .smartctl true
	# a disk of null_blk has nothing like it
	fast_is .smart unknown
	differ reason "$(jq -r '.members[0].drives[0].smart_reason' "$TMP/out")" null
	# smartctl has the vendor as well
	slow_is .model "Linux scsi_debug"
	slow_is .passed true
	slow_is .smart ok
}

# The one of --disk nvme:FILE of scripts/vm; other drives may have data.
test_real_nvme() {
	local metrics
	[[ -x $SMARTCTL ]] || skip "no smartctl here"
	[[ " ${VM_DISKS:-} " == *" /dev/nvme0n1 "* ]] || skip "no NVMe drive of a VM here"
	need jq
	modprobe -q nvme || :
	within 10 "NVMe drive" test -b /dev/nvme0n1
	FAST=/dev/nvme0n1
	null slow 128
	SLOW=$REPLY
	rm -f $STATE
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 1M
	defer dm_remove data
	good fusionctl members data
	sed 's/^/# /' "$TMP/out"
	good fusionctl members data --json
	fast_is .smart ok
	fast_is .passed true
	fast_is .model "QEMU NVMe Ctrl"
	# 323 Kelvin
	fast_is .temperature 50
	fast_is .percentage_used 0
	differ written "$(jq -r '.members[0].drives[0].written_bytes' "$TMP/out")" null
	good fusionctl monitor --prometheus "$TMP/prom"
	metrics=$(grep '^fusion_drive.*member="fast"' "$TMP/prom")
	has metrics "$metrics" 'celsius{set="data",member="fast",device="/dev/nvme0n1",'\
'model="QEMU NVMe Ctrl"} 50'
	has metrics "$metrics" 'state="ok"} 1'
}

run_tests
