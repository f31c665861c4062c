# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# The systems: how each is created on the two model disks and removed, and its counters. For a
# system NAME there are
#
#   make_NAME      sets DEV, the device to use; BLOCK, the bytes it decides about; and SLOTS,
#                  how many of these the SSD has for it (0: it has none)
#   remove_NAME
#   counters_NAME  sets REPLY to words that only grow: hits and all (I/Os), and what else it
#                  counts. It is called all the time, so forks as little as it can
#
# Everything has the defaults of each system's own tools and documentation.

SSD=/dev/mapper/bench-ssd
HDD=/dev/mapper/bench-hdd
NAME=bench

# -- the disks -------------------------------------------------------------------------

# Remove the signatures by which a system recognises its disks; other data stays, since it does not
# affect the model.
wipe() {
	local i
	for i in /dev/ram0:$SSD_MIB /dev/ram1:$HDD_MIB; do
		dd if=/dev/zero of="${i%:*}" bs=1M count=16 oflag=direct status=none
		dd if=/dev/zero of="${i%:*}" bs=1M count=2 seek=$((${i#*:} - 2)) oflag=direct \
			status=none
	done
}

make_disks() {
	wipe
	create bench-ssd "0 $((SSD_MIB * 2048)) spindle /dev/ram0 2 profile ssd"
	create bench-hdd "0 $((HDD_MIB * 2048)) spindle /dev/ram1 2 profile $PROFILE"
}

# A device that was just closed may be in use for another moment.
remove_dm() {
	local i
	for i; do
		! dmsetup info "$i" >/dev/null 2>&1 || dmsetup remove --retry "$i"
	done
}

remove_disks() {
	remove_dm bench-ssd bench-hdd
}

# -- alone -----------------------------------------------------------------------------

make_hdd() {
	DEV=$HDD BLOCK=4096 SLOTS=0
}

make_ssd() {
	DEV=$SSD BLOCK=4096 SLOTS=0
}

make_linear() {
	create $NAME "0 $((SSD_MIB * 2048)) linear $SSD 0"
	DEV=/dev/mapper/$NAME BLOCK=4096 SLOTS=0
}

remove_hdd() { :; }
remove_ssd() { :; }
remove_linear() { remove_dm $NAME; }
counters_hdd() { REPLY=''; }
counters_ssd() { REPLY=''; }
counters_linear() { REPLY=''; }

# -- dm-cache with smq -----------------------------------------------------------------

CACHE_META_MIB=4	# as lvm makes it, at least
CACHE_BLOCK=128		# sectors, lvm's default

make_cache() {
	create bench-meta "0 $((CACHE_META_MIB * 2048)) linear $SSD 0"
	create bench-cache "0 $(((SSD_MIB - CACHE_META_MIB) * 2048)) linear $SSD $((CACHE_META_MIB * 2048))"
	create $NAME "0 $((HDD_MIB * 2048)) cache /dev/mapper/bench-meta /dev/mapper/bench-cache $HDD $CACHE_BLOCK 1 writeback smq 0"
	DEV=/dev/mapper/$NAME BLOCK=$((CACHE_BLOCK * 512))
	SLOTS=$(((SSD_MIB - CACHE_META_MIB) * 2048 / CACHE_BLOCK))
}

remove_cache() {
	remove_dm $NAME bench-cache bench-meta
}

counters_cache() {
	local s
	read -ra s < <(dmsetup status $NAME)
	REPLY="hits=$((s[7] + s[9])) all=$((s[7] + s[8] + s[9] + s[10])) promotions=${s[12]} demotions=${s[11]}"
}

# -- dm-writecache ---------------------------------------------------------------------

make_writecache() {
	create $NAME "0 $((HDD_MIB * 2048)) writecache s $HDD $SSD 4096 0"
	DEV=/dev/mapper/$NAME BLOCK=4096
	SLOTS=$(dmsetup status $NAME | awk '{ print $5 }')
}

remove_writecache() {
	remove_dm $NAME
}

counters_writecache() {
	local s
	read -ra s < <(dmsetup status $NAME)
	REPLY="hits=$((s[8] + s[9] - s[12])) all=$((s[7] + s[9]))"
}

# -- bcache ----------------------------------------------------------------------------

BCACHE=/sys/block/bcache0/bcache
BCACHE_BUCKET=128k	# it wants more than 512 of them

bcache_attached() {
	[[ $(<$BCACHE/state) != "no cache" ]]
}

make_bcache() {
	local i
	make-bcache --writeback --wipe-bcache --bucket $BCACHE_BUCKET --cache $SSD --bdev $HDD >/dev/null
	for i in $SSD $HDD; do
		echo "$i" >/sys/fs/bcache/register
	done
	await test -e $BCACHE/running
	await bcache_attached
	await test -b /dev/bcache0
	DEV=/dev/bcache0 BLOCK=4096
	SLOTS=$((SSD_MIB * 256))
}

remove_bcache() {
	local i
	[[ ! -e $BCACHE/stop ]] || echo 1 >$BCACHE/stop
	await test ! -e $BCACHE
	for i in /sys/fs/bcache/*-*-*; do
		[[ ! -e $i/stop ]] || echo 1 >"$i/stop"
		await test ! -e "$i"
	done
}

counters_bcache() {
	local hits misses
	read -r hits <$BCACHE/stats_total/cache_hits
	read -r misses <$BCACHE/stats_total/cache_misses
	REPLY="hits=$hits all=$((hits + misses))"
}

# -- fusion ----------------------------------------------------------------------------

# make_fusion [EXTENT-SIZE [LANDING-LOG]]
make_fusion() {
	local s extent
	fusionctl create $NAME --fast $SSD --slow $HDD --extent-size "${1:-1M}" \
		${2:+--landing "$2"} --yes >/dev/null
	DEV=/dev/mapper/$NAME
	read -ra s < <(dmsetup status $NAME)
	# the default share for an SSD of 128 GB; for one as small as this it would be a tenth
	dmsetup message $NAME 0 reserve $((${s[6]#*/} * 3 / 100 + 1))
	read -ra s < <(dmsetup status $NAME)
	extent=${s[5]} BLOCK=$((s[5] * 512))
	# without spares and reserve
	SLOTS=$((${s[6]#*/} - $(superblock 492 4 /dev/ram0) - ${s[23]#*/}))
	# the superblocks and the replica: everything before the first data slot
	dmsetup message bench-hdd 0 watch 0 $(($(superblock 472 4 /dev/ram1) * extent))
}

remove_fusion() {
	! dmsetup info $NAME >/dev/null 2>&1 || fusionctl close $NAME >/dev/null
}

counters_fusion() {
	local key n hits=0 all=0
	REPLY=''
	while read -r key n; do
		case $key in
		reads_fast|writes_fast)	hits=$((hits + n)) all=$((all + n)) ;;
		reads_slow|writes_slow)	all=$((all + n)) ;;
		promotions|demotions|cancelled|migrated_fast|commits|replica_writes|replica_sets|\
		shadow_copies)
			REPLY+=" $key=$n" ;;
		esac
	done < <(dmsetup message $NAME 0 stats)
	REPLY="hits=$hits all=$all$REPLY"
}

# The same in small extents, ...
make_fusion_64k() {
	make_fusion 64K
}

# ... with a landing log of an eighth of the SSD, or a quarter, ...
make_fusion_log_8th() {
	make_fusion 1M $((SSD_MIB / 8))M
}

make_fusion_log_4th() {
	make_fusion 1M $((SSD_MIB / 4))M
}

# ... without migration, ...
make_fusion_off() {
	make_fusion
	dmsetup message $NAME 0 migration off
}

# ... with the future hot data in its best place, see fill_first(), ...
make_fusion_oracle() {
	make_fusion_off
}

# ... without shadows, ...
make_fusion_no_shadow() {
	make_fusion
	dmsetup message $NAME 0 shadow off
}

# ... and with copies of what was written to the SSD, a minute apart.
SHADOW_AGE=60
make_fusion_shadow() {
	make_fusion
	dmsetup message $NAME 0 shadow_age $SHADOW_AGE
}

remove_fusion_64k() { remove_fusion; }
remove_fusion_log_8th() { remove_fusion; }
remove_fusion_log_4th() { remove_fusion; }
remove_fusion_off() { remove_fusion; }
remove_fusion_oracle() { remove_fusion; }
remove_fusion_no_shadow() { remove_fusion; }
remove_fusion_shadow() { remove_fusion; }
counters_fusion_64k() { counters_fusion; }
counters_fusion_log_8th() { counters_fusion; }
counters_fusion_log_4th() { counters_fusion; }
counters_fusion_off() { counters_fusion; }
counters_fusion_oracle() { counters_fusion; }
counters_fusion_no_shadow() { counters_fusion; }
counters_fusion_shadow() { counters_fusion; }
