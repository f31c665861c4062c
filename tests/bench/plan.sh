# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What is measured with what: read by scripts/bench on the host, which wants to know how
# long it will take, and by run.sh in the VM.
# shellcheck disable=SC2034 # used by those who source this

SSD_MIB=${SSD_MIB:-128}
HDD_MIB=${HDD_MIB:-1024}

SYSTEMS=(hdd ssd linear cache writecache bcache fusion)

# A line for each test:
#
#   name        as in T=, and test_NAME of tests-*.sh (with _ for what is no letter)
#   full quick  how often it is repeated; 0: not in the quick run
#   prepare     filled: the device was written in sequence from end to end, then left alone;
#               own: the test does that itself
#   full        systems: all, or some of them; -name: but that
#   quick       the same, of these
PLAN='
sequential   3 1  own     all                                    -linear,-writecache
randwrite    3 1  filled  all                                    -linear
region       3 1  filled  all                                    -linear
mix          3 1  filled  all                                    -linear,-writecache
randread     3 3  filled  all                                    hdd,cache,fusion
coldread     3 1  filled  all                                    hdd,cache,fusion
zipf1.0-read 3 0  filled  -linear                                all
zipf1.0-mix  3 0  filled  -linear                                all
zipf1.2-read 3 0  filled  -linear                                all
zipf1.2-mix  3 1  filled  -linear                                cache,fusion
zoned-read   3 0  filled  -linear                                all
zoned-mix    3 1  filled  -linear,+fusion-oracle                 fusion,fusion-oracle
shift        3 1  filled  hdd,cache,writecache,bcache,fusion     fusion
scan         3 1  filled  hdd,cache,writecache,bcache,fusion     fusion
uniform      3 1  filled  -linear,+fusion-off                    fusion,fusion-off
loop         3 1  filled  hdd,cache,writecache,bcache,fusion     fusion
seqmix       3 1  filled  -linear                                hdd,fusion
fsync        3 3  filled  all                                    ssd,fusion
latency      3 1  filled  hdd,fusion-off,fusion                  hdd,fusion-off,fusion
fullness     3 1  own     hdd,cache,writecache,bcache,fusion     fusion
'

# How long things are, in seconds of the clock of the VM, and how many I/Os a pass may have
# that is as fast as the SSD: these cost the machine most.
if [[ ${QUICK:-} ]]; then
	PASS=15 PAUSE=10 SHORT=10 LONG=60 WARM=40 STEADY=15 PASS_IOS=20000 STREAM=1
	FULL=(80)
else
	PASS=15 PAUSE=10 SHORT=10 LONG=600 WARM=300 STEADY=60 PASS_IOS=200000 STREAM=3
	FULL=(50 80 95)
fi

# Seconds after the fill, for what is done in the background: longer than fusion's
# replica_interval. They cost nothing where idle time is skipped.
SETTLE=75
[[ ! ${REALTIME:-} ]] || SETTLE=5

# in_time NAME SECONDS IOS: the array IN_NAME, options of fio that end a load after so many
# seconds, or I/Os of 4 KiB if it is that fast
in_time() {
	declare -ga "IN_$1=(--runtime=$2 --io_size=$(($3 * 4))k)"
}

in_time SHORT $SHORT $PASS_IOS
in_time PASS $PASS $PASS_IOS
in_time WARM $WARM $PASS_IOS
in_time STEADY $STEADY $PASS_IOS
in_time LONG $LONG $((PASS_IOS * 10))
in_time EACH $((STEADY < 30 ? 15 : 30)) $PASS_IOS

tests_planned() {
	awk 'NF { print $1 }' <<<"$PLAN"
}

# plan TEST FIELD: repetitions prepare systems, of the run that is asked for
plan() {
	awk -v t="$1" -v what="$2" -v quick="${QUICK:+1}" -v chosen="${CHOSEN:+1}" -v systems="${SYSTEMS[*]}" '
		# the names that WORDS means, of those before
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
			# what is asked for by name is done in a quick run, too
			v["repetitions"] = !quick ? $2 : !$3 && chosen ? 1 : $3
			v["prepare"] = $4
			v["systems"] = choose($5, systems)
			if (quick)
				v["systems"] = choose($6, v["systems"])
			print v[what]
		}' <<<"$PLAN"
}
