#!/bin/bash
# run inside the VM on the virtual clock
. "$(dirname "$0")/lib.sh"
test_cost() {
	local t0 t1 i
	null fast 288
	spindle vssd "$REPLY" profile ssd
	FAST=/dev/mapper/vssd
	null slow 1088
	spindle vhdd "$REPLY" profile hdd
	SLOW=/dev/mapper/vhdd
	format --extent-size 1M
	fusion cost migration off
	n=$(status cost extents)
	dd if=/dev/zero of=/dev/mapper/cost bs=1M count=1000 oflag=direct conv=fsync status=none
	msg cost checkpoint
	sleep 2
	fast=$(on cost fast 0 1000)
	say "fast $fast of 1000 written"
	t0=$(date +%s%N)
	r=$(msg cost demote 0-199)
	t1=$(date +%s%N)
	say "demote 200: $r $(((t1 - t0) / 1000000)) ms"
	sleep 2
	t0=$(date +%s%N)
	r=$(msg cost promote 700-899)
	t1=$(date +%s%N)
	say "promote 200: $r $(((t1 - t0) / 1000000)) ms"
	sleep 2
	for i in 1; do
		t0=$(date +%s%N)
		r=$(msg cost demote 700-899)
		t1=$(date +%s%N)
		say "demote 200 again: $r $(((t1 - t0) / 1000000)) ms"
		t0=$(date +%s%N)
		r=$(msg cost promote 700-899)
		t1=$(date +%s%N)
		say "promote 200 again: $r $(((t1 - t0) / 1000000)) ms"
	done
	# foreground: random I/O while the policy migrates
	msg cost migration on
	fio --name=f --filename=/dev/mapper/cost --rw=randrw --rwmixread=70 --bs=4k --direct=1 --ioengine=libaio --iodepth=4 \
		--offset=400m --size=500m --time_based --runtime=60 --norandommap --random_distribution=zoned:80/10:20/90 \
		--clocksource=clock_gettime --output="$TMP/fio"
	say "randrw on the whole: $(grep -o 'IOPS=[^,]*' "$TMP/fio" | xargs)"
	status cost promotions demotions cancelled | sed 's/^/# moves /'
	msg cost stats | grep "replica\|^slow_fl" | sed "s,^,# ,"
	true
}
run_tests test_cost
