# SPDX-License-Identifier: GPL-2.0-only
#
# The targets of dm-fusion, and whether they are met. A target without a measurement is in the
# table, too, and says so.
package Targets;

use strict;
use warnings;
use Exporter 'import';
use Data;

our @EXPORT = qw(targets);

my ($rig, @targets);

# target WHAT LIMIT STATISTIC: LIMIT is ">= 0.8" or "<= 1.1"
sub target {
	my ($what, $limit, $statistic) = @_;
	my ($sign, $bound) = split / /, $limit;
	my $met;

	if ($statistic) {
		$met = $sign eq '>=' ? $statistic->{median} >= $bound : $statistic->{median} <= $bound;
	}
	push @targets, { what => $what, target => $limit, value => $statistic,
			 met => defined $met ? ($met ? JSON::PP::true : JSON::PP::false) : undef };
}

# once VALUE: the statistic of a single measurement
sub once {
	return { median => $_[0], least => $_[0], most => $_[0], n => 1 };
}

# versus TEST PART SUB SYSTEM OTHER [PART OF IT]: the ratio of the two
sub versus {
	my ($test, $part, $sub, $system, $other, $other_part) = @_;
	return ratio(values_of("$rig/$test", $system, $part, $sub),
		     values_of("$rig/$test", $other, $other_part // $part, $sub));
}

# fast_path VIRTUAL REAL: waiting of CPUs for each other shows only with more than one, so hits of
# dm-cache are judged in real time, if that was measured.
sub fast_path {
	my ($virtual, $real) = @_;
	my $of = sub {
		my ($results, $what) = @_;
		my ($r) = grep { ($_->{what} // '') eq $what && $_->{jobs} == $results->{cpus} }
			@{($results // {})->{results} // []};
		return undef unless $r;
		return { median => $r->{ratio}, least => $r->{min}, most => $r->{max}, n => $r->{n} };
	};
	my ($linear, $cache) = map { "4 KiB random read against dm-$_" } qw(linear cache);

	target('fast path: 4 KiB random reads on null_blk, of dm-linear', '>= 0.95',
	       $of->($virtual, $linear));
	return target('the same, of hits of dm-cache', '>= 3', $of->($virtual, $cache)) unless $real;
	target("the same, of hits of dm-cache, by $real->{cpus} processors in real time", '>= 3',
	       $of->($real, $cache));
}

# Of the largest set, since the fixed part of a set's memory does not depend on its extents.
sub memory {
	my ($fastpath) = @_;
	my ($largest) = sort { $b->{extents} <=> $a->{extents} }
		grep { $_->{extents} } @{($fastpath // {})->{results} // []};
	my $bytes = ($largest // {})->{bytes_per_extent};

	target('memory of the kernel for each extent, bytes', '<= 10', defined $bytes ? once($bytes) : undef);
}

sub learning {
	my $end = sub { series_end($_[0])->{mbs} };

	target('writes to a cold region, pass 2, of the SSD alone', '>= 0.8',
	       versus('region', 'pass 2', rate('write'), 'fusion', 'ssd'));
	target('the same, pass 3', '>= 0.9',
	       versus('region', 'pass 3', rate('write'), 'fusion', 'ssd'));
	target('zoned mix, pass 3, reads, of dm-cache', '>= 10',
	       versus('mix', 'pass 3', rate('read'), 'fusion', 'cache'));
	target('zoned mix, at its end, of the oracle\'s placement', '>= 0.9',
	       versus('zoned-mix', 'mix', $end, 'fusion', 'fusion-oracle'));
}

sub of_oracle {
	my ($r) = @_;
	my ($h, $o) = (series_end($r)->{hits}, oracle($r));
	return defined $h && $o ? $h / $o : undef;
}

sub zipf {
	my ($simulated) = @_;
	my $moves = ($simulated // {})->{promotions};

	for my $kind ('read', 'mix') {
		target("zipf 1.0, $kind, hits at its end, of the oracle's", '>= 0.97',
		       value("$rig/zipf1.0-$kind", 'fusion', $kind, \&of_oracle));
	}
	if ($simulated) {
		my $phase = $simulated->{phases}[-1];
		target('zipf 1.0 simulated for hours, hits at its end, of the oracle\'s', '>= 0.97',
		       $phase->{oracle} ? once($phase->{end_hit_ratio} / $phase->{oracle}) : undef);
	}
	target('zipf 1.0 simulated, promotions that were wasted', '<= 0.05',
	       $moves ? once($simulated->{wasted} / $moves) : undef);
	target('zipf 1.0 simulated, promoted again within an hour', '<= 0.01',
	       $moves ? once($simulated->{promoted_again_within_hour} / $moves) : undef);
}

sub changes {
	my $after = sub { (converged($_[0]) // {})->{seconds} };
	my ($before, $again) = map { values_of("$rig/shift", 'fusion', $_, $after) } qw(before after);

	target('half the hot set replaced: time back to 90 %, of that at first', '<= 1.3',
	       ratio($again, $before));

	my ($first, $last) = map { values_of("$rig/scan", 'fusion', $_, \&hits) } qw(before after);
	target('scan: hit ratio that it costs what is hot', '<= 0.01', statistic({
		map { $_ => $first->{$_} - $last->{$_} } grep { exists $last->{$_} } keys %$first }));
	my $about = about("$rig/scan", 'fusion');
	target('scan: promotions meanwhile, of all extents', '<= 0.001',
	       value("$rig/scan", 'fusion', 'during', sub {
			delta($_[0], 'promotions') / ($about->{span} / $about->{block});
	       }));
}

sub limits {
	target('uniform random, of migration off', '>= 0.97',
	       versus('uniform', 'uniform', rate('both'), 'fusion', 'fusion-off'));
	target('a loop over 1.2 times the SSD, hits', '>= 0.75',
	       value("$rig/loop", 'fusion', 'again', \&hits));
	target('sequential fill, its second half, which goes to the HDD, of the HDD', '>= 0.97',
	       versus('sequential', 'fill', \&second_half, 'fusion', 'hdd'));
	for (['read-hot', 'read', 'ssd'], ['write-hot', 'write', 'ssd'], ['read-cold', 'read', 'hdd'],
	     ['write-cold', 'write', 'hdd']) {
		my ($part, $way, $other) = @$_;
		target("sequential $way, of the \U$other\E, which holds the data", '>= 0.97',
		       versus('sequential', $part, rate($way), 'fusion', $other));
	}
	target('sequential read of cold data, of the HDD', '>= 0.97',
	       versus('coldread', 'coldread', rate('read'), 'fusion', 'hdd'));
}

sub waiting {
	my $of = sub { my $what = shift; sub { $_[0]{jobs}{reader}{read}{$what} } };
	my $sync = sub { my $what = shift; sub { $_[0]{jobs}{fsync}{sync}{$what} } };
	my ($with, $hdd) = map { values_of("$rig/latency", $_, 'reader', $of->('max')) } qw(fusion hdd);

	target('p99 of a reader while extents move, of migration off', '<= 1.25',
	       versus('latency', 'reader', $of->('p99'), 'fusion', 'fusion-off'));
	target('its longest wait, beyond that of the HDD alone, ms', '<= 50', statistic({
		map { $_ => $with->{$_} - $hdd->{$_} } grep { exists $hdd->{$_} } keys %$with }));
	for ('mean', 'p99') {
		target("fsync of fast data, $_, of the SSD alone", '<= 1.1',
		       versus('fsync', 'fsync', $sync->($_), 'fusion', 'ssd'));
	}
	target('fsync of fast data, writes to the HDD', '<= 0',
	       value("$rig/fsync", 'fusion', 'fsync', sub { delta($_[0], 'hdd_writes') }));
}

sub launching {
	my $of = sub { my $part = shift; sub { $_[0]{jobs}{$part}{seconds} } };
	my $first = $of->('launch 1');
	my $last = $of->('launch 6');

	target('an application, half of it on each member, starts: time of the first, of the HDD alone',
	       '<= 0.6', versus('launch', 'launch 1', $first, 'fusion', 'hdd'));
	target('the same, the sixth time, of the SSD alone', '<= 1.1',
	       versus('launch', 'launch 6', $last, 'fusion', 'ssd'));
}

sub shadows {
	my $p99 = sub { $_[0]{jobs}{reader}{read}{p99} };
	# less than one read in a hundred meets a batch of copies
	my $mean = sub { $_[0]{jobs}{reader}{read}{mean} };
	my $seconds = sub { delta($_[0], 't') };
	my $hdd = values_of("$rig/shadow", 'hdd', 'write', rate('write'));

	for (['none', 'no shadows'], ['outdated', 'shadows out of date']) {
		my ($part, $of) = @$_;
		target("a full SSD with $of, idle: copies, of the HDD's sequential writes", '>= 0.8',
		       ratio(values_of("$rig/shadow", 'fusion-shadow', $part, \&shadowed), $hdd));
	}
	target('p99 of a reader beside these copies, of shadow off', '<= 1.1',
	       versus('shadow', 'reader', $p99, 'fusion-shadow', 'fusion-no-shadow'));
	target('mean latency of this reader, of shadow off', '<= 1.1',
	       versus('shadow', 'reader', $mean, 'fusion-shadow', 'fusion-no-shadow'));
	target('the reserve used up: time until it is free, with shadow off, of that with current ones',
	       '>= 5', versus('shadow', 'refill', $seconds, 'fusion-no-shadow', 'fusion-shadow'));
	for my $load ('zoned', 'zipf') {
		for (['fusion', 'shadow on'], ['fusion-shadow', 'a shadow_age']) {
			my ($system, $with) = @$_;
			target("$load mix, 70 % full, $with, of shadow off", '>= 1',
			       versus('shadow-mix', $load, rate('both'), $system, 'fusion-no-shadow'));
		}
	}
}

# The landing log of an eighth of the SSD, and of a quarter. Rates in MB/s are those of the disk that
# the profile hdd is.
sub landing {
	my $iops = sub { $_[0]{jobs}{fsync}{write}{iops} };
	my @logs = ([ 'fusion-landing8', 'a log of 1/8', 'burst', 2.5, 1.9, 8, 0.93, 2.0, 1.7, 6, 4.3 ],
		    [ 'fusion-landing4', 'a log of 1/4', 'double', 3.5, 2.9, 12, 0.97, 2.4, 1.9, 8, 5.3 ]);

	for (@logs) {
		my ($system, $with, $burst, $sustained, $random, $region, $mix, @zipf) = @$_;

		target("$with: a burst of 0.4 of it, of the SSD alone", '>= 0.8',
		       versus('burst', $burst, rate('write'), $system, 'ssd'));
		target("$with: random writes without an end, second half, of the HDD alone", ">= $sustained",
		       versus('sustained', 'sustained', \&later_half, $system, 'hdd'));
		target("$with: the longest time in which none of them ends, s", '<= 1',
		       value("$rig/sustained", $system, 'sustained', \&longest_gap));
		for my $full (50, 80, 95) {
			target("$with: zoned mix, $full % full, of bcache", ">= $mix",
			       versus('fullness', "$full %", rate('both'), $system, 'bcache'));
		}
		target("$with: fsync of cold data, of the SSD alone", '>= 0.9',
		       versus('fsync-cold', 'fsync', $iops, $system, 'ssd'));
		target("$with: uniform random reads, without a log", '>= 0.98',
		       versus('randread', 'randread', rate('read'), $system, 'fusion'));
		target("$with: uniform random mix, without a log", '>= 1.05',
		       versus('uniform', 'uniform', rate('both'), $system, 'fusion'));
		next unless $rig =~ m{/hdd$};
		target("$with: random writes, MB/s", ">= $random",
		       value("$rig/randwrite", $system, 'randwrite', rate('write')));
		target("$with: writes to a cold region, pass 1, MB/s", ">= $region",
		       value("$rig/region", $system, 'pass 1', rate('write')));
		for my $test ('zipf1.0-read', 'zipf1.0-mix', 'zipf1.2-read', 'zipf1.2-mix') {
			target("$with: $test, MB/s", '>= ' . shift @zipf,
			       value("$rig/$test", $system, $test =~ /-(.*)/, rate('both')));
		}
	}
}

# Of the longest steady load: the amount moved until it had converged, and afterwards.
sub wear {
	my ($profile) = @_;
	my $ssd = $profile->{ssd_mib} << 20;

	for my $test ('zoned-mix', 'zipf1.0-mix', 'zipf1.2-mix') {
		about("$rig/$test", 'fusion') or next;
		target("$test: SSD bytes written by migration to converge, of its size", '<= 1.2',
		       value("$rig/$test", 'fusion', 'mix', sub {
				my $c = converged($_[0]) or return undef;
				$c->{written} / $ssd
		       }));
		target("$test: the same in an hour, from then on", '<= 0.05',
		       value("$rig/$test", 'fusion', 'mix', sub {
				my ($r) = @_;
				my $c = converged($r) or return undef;
				my $last = $r->{series}[-1];
				my $hours = ($last->[0] - $c->{seconds}) / 3600;
				# less than some minutes an hour is too short to tell
				$hours > 0.05 ? (moved_up($r, $last) - $c->{written}) / $ssd / $hours : undef
		       }));
	}
}

# The share of the time that the arm of the HDD spends on the replica, by test.
sub replica {
	my ($records) = @_;
	my (%of, %share);

	for my $r (@$records) {
		push @{$of{$r->{test}}}, $r if "$r->{rig}/$r->{profile}" eq $rig &&
			$r->{system} eq 'fusion' && $r->{after};
	}
	for my $test (keys %of) {
		my ($there, $all) = (0, 0);
		for my $whole (whole_of(@{$of{$test}})) {
			$there += delta($whole, 'hdd_watched_us') / 1e6;
			$all += delta($whole, 't');
		}
		$share{$test} = $there / $all if $all;
	}
	my $s = statistic(\%share);
	$s->{median} = $s->{most} if $s;
	target('the replica: share of the HDD\'s time, in the test where it is greatest', '<= 0.01', $s);
}

# targets RIG/PROFILE RECORDS ABOUT FASTPATH FASTPATH-REAL SIMULATED
sub targets {
	my ($where, $records, $about, $fastpath, $fastpath_real, $simulated) = @_;

	$rig = $where;
	@targets = ();
	fast_path($fastpath, $fastpath_real);
	memory($fastpath);
	learning();
	zipf($simulated);
	changes();
	limits();
	waiting();
	launching();
	shadows();
	landing();
	wear($about);
	replica($records);
	return [ @targets ];
}

1;
