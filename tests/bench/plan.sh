# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The systems and lengths of each test. scripts/bench reads this file on the host, to estimate the
# time, and run.sh in the VM.
# shellcheck disable=SC2034 # used by those who source this

SSD_MIB=${SSD_MIB:-128}
HDD_MIB=${HDD_MIB:-1024}

SYSTEMS=(hdd ssd linear cache writecache bcache fusion)

# A line for each test:
#
#   name        as in T=, and test_NAME of tests-*.sh (with _ for other characters than letters)
#   full quick  number of repetitions; 0: not in the quick run
#   prepare     filled: the device is written in sequence from end to end, then left alone;
#               own: the test does that itself
#   full        systems: all, or some of them; -name: except that one; +name: with that one, too.
#               logs: those with a landing log
#   quick       the same, of these
#
# A system that can neither learn nor lose in a test is left out: dm-linear runs where the cost of a
# target could show, dm-writecache, which caches no reads, where there are writes, and the HDD where
# speed matters, not only hits.
PLAN='
sequential   3 1  own     -linear                                -writecache
randwrite    3 1  filled  +logs                                  -linear
region       3 1  filled  -linear,+logs                          all
mix          3 1  filled  -linear                                -writecache
randread     3 3  filled  -writecache,+logs                      hdd,cache,fusion
burst        3 1  filled  -linear,-cache,+logs                   ssd,fusion,logs
sustained    3 1  filled  -ssd,-linear,-cache,+logs              hdd,fusion,logs
coldread     3 1  filled  hdd,cache,writecache,bcache,fusion     hdd,cache,fusion
zipf1.0-read 3 0  filled  -linear,-writecache,+logs              all
zipf1.0-mix  3 0  filled  -linear,-writecache,+fusion-64k,+logs  all
zipf1.2-read 3 0  filled  -linear,-writecache,+logs              all
zipf1.2-mix  3 1  filled  -linear,-writecache,+fusion-64k,+logs  cache,fusion
zoned-read   3 0  filled  -linear,-writecache                    all
zoned-mix    3 1  filled  -linear,+fusion-oracle                 fusion,fusion-oracle
shift        3 1  filled  cache,bcache,fusion                    fusion
scan         3 1  filled  hdd,cache,bcache,fusion                fusion
uniform      3 1  filled  -linear,-writecache,+fusion-off,+logs  fusion,fusion-off
loop         3 1  filled  hdd,cache,bcache,fusion                fusion
seqmix       3 1  filled  -linear                                hdd,fusion
fsync        3 3  filled  all                                    ssd,fusion
fsync-cold   3 1  filled  -linear,+logs                          ssd,fusion,logs
latency      3 1  filled  hdd,fusion-off,fusion                  hdd,fusion-off,fusion
launch       3 1  filled  -linear,-writecache                    hdd,ssd,fusion
fullness     3 1  own     cache,bcache,fusion,logs               fusion
shadow       3 1  own     hdd,fusion-no-shadow,fusion-shadow     all
shadow-mix   3 1  own     fusion-no-shadow,fusion,fusion-shadow  fusion-no-shadow,fusion-shadow
'

# Lengths in seconds of the VM's clock, and limits of I/Os for loads that are as fast as the SSD.
# I/Os cost the machine time: two to three seconds for 10,000 of them. Idling costs next to nothing.
#
#   BURST_KIB random writes that begin when all is quiet: 0.4 of an eighth of the SSD
#   ENDLESS   random writes that do not end: longer than a landing log of a quarter of the SSD holds out
#   LONG      loads that show whether a system learns, and how fast it is then. In ten minutes the
#             HDD does 150,000 I/Os of a mix, fusion 390,000 (zipf 1.2) to 530,000 (zoned).
#             LONG_IOS ends the load for a system that is faster, and so has learnt everything
#   HALF      reads, if the same load as a mix has LONG; and loads that change half-way
#   WARM      the load before STEADY measures it; most systems have learnt it after a minute
#   PASS_IOS  a system that does so many in a pass is more than ten times as fast as the HDD. A
#             second at the speed of the SSD is as good as fifteen
#   ALONE_IOS a disk alone, or dm-linear on it, is as fast at the end as at the beginning
if [[ ${QUICK:-} ]]; then
	PASS=15 PAUSE=10 SHORT=10 LONG=60 HALF=60 WARM=40 STEADY=15 STREAM=1
	ENDLESS=90
	PASS_IOS=20000 LONG_IOS=200000 ALONE_IOS=20000
	FULL=(80)
else
	PASS=15 PAUSE=10 SHORT=10 LONG=600 HALF=300 WARM=120 STEADY=30 STREAM=2
	ENDLESS=240
	PASS_IOS=50000 LONG_IOS=600000 ALONE_IOS=20000
	FULL=(50 80 95)
fi
# The loop is longer than one round of it takes to learn.
ROUNDS=$((WARM + STEADY))
[[ ${QUICK:-} ]] || ROUNDS=360

BURST_KIB=$((SSD_MIB * 1024 / 20 & -4))

# Seconds after the fill, for background work: longer than fusion's replica_interval. They cost
# nothing where idle time is skipped.
SETTLE=75
[[ ! ${REALTIME:-} ]] || SETTLE=5

# in_time NAME SECONDS IOS: set the array IN_NAME to options of fio that end a load after so many
# seconds, or so many I/Os of 4 KiB if it is that fast
in_time() {
	declare -ga "IN_$1=(--runtime=$2 --io_size=$(($3 * 4))k)"
}

# limits PASS_IOS LONG_IOS
limits() {
	in_time SHORT $SHORT "$1"
	in_time PASS $PASS "$1"
	in_time WARM $WARM "$1"
	in_time STEADY $STEADY "$1"
	in_time LONG $LONG "$2"
	in_time HALF $HALF "$2"
	in_time EACH $((STEADY < 30 ? 15 : 30)) "$1"
}

limits $PASS_IOS $LONG_IOS

tests_planned() {
	awk 'NF { print $1 }' <<<"$PLAN"
}

# plan TEST FIELD: repetitions, prepare or systems, for the requested run
plan() {
	awk -v t="$1" -v what="$2" -v quick="${QUICK:+1}" -v chosen="${CHOSEN:+1}" -v systems="${SYSTEMS[*]}" '
		# the names that WORDS selects from the given ones
		function choose(words, before,   w, n, i, out, off, plus) {
			if (words == "all")
				return before
			n = split(words, w, ",")
			if (words !~ /^[-+]/) {
				for (i = 1; i <= n; i++)
					out = out w[i] " "
				return out
			}
			for (i = 1; i <= n; i++) {
				if (w[i] ~ /^-/)
					off = off " " substr(w[i], 2) " "
				else
					plus = plus substr(w[i], 2) " "
			}
			n = split(before, w, " ")
			for (i = 1; i <= n; i++)
				if (!index(off, " " w[i] " "))
					out = out w[i] " "
			return out plus
		}
		$1 == t {
			for (i = 5; i <= 6; i++) {
				gsub(/\+logs/, "+fusion-landing8,+fusion-landing4", $i)
				gsub(/,logs/, ",fusion-landing8,fusion-landing4", $i)
			}
			# a quick run also does tests that are named
			v["repetitions"] = !quick ? $2 : !$3 && chosen ? 1 : $3
			v["prepare"] = $4
			v["systems"] = choose($5, systems)
			if (quick)
				v["systems"] = choose($6, v["systems"])
			print v[what]
		}' <<<"$PLAN"
}
