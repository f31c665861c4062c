#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: check.pl ORACLE
#
# The figures of the report must follow from the records. Output is TAP.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use File::Temp;
use JSON::PP;
use Test::More;
use Data;

@ARGV == 1 or die "usage: check.pl ORACLE\n";
my $dir = File::Temp->newdir;
mkdir "$dir/raw" or die "$dir/raw: $!\n";

# record NAME...: write them as those of the profile hdd in the virtual rig
sub record {
	my ($test, @records) = @_;
	open my $f, '>', "$dir/raw/virtual-hdd-$test.jsonl" or die "$dir: $!\n";
	print $f encode_json({ test => $test, system => 'fusion', repetition => 1, %$_ }), "\n"
		for @records;
	# as if the VM had been killed
	print $f '{"test": "', $test;
	close $f or die "$dir: $!\n";
}

# samples SECONDS...: of 1 MB and 1000 I/Os a second, of which 400 hit in the first 100 s, then 600
sub samples {
	return [map { [$_, $_ * 1e6, 0, $_ < 100 ? $_ * 400 : 40000 + ($_ - 100) * 600, $_ * 1000,
		       $_, $_] } @_];
}

# half of the span fits on the SSD, so half of uniform reads can hit
my %about = (part => 'about', block => 1 << 20, slots => 4, span => 8 << 20);
my %job = (read => { load => 'random', size => 8 << 20, read => { mbs => 1 }, write => { mbs => 2 } });
record('short', \%about, { part => 'read', jobs => \%job, series => samples(0, 5, 10) });
record('even', \%about, { part => 'read', jobs => \%job, series => samples(map { 5 * $_ } 0 .. 40) });
# the last sample, after the end, follows soon after the one before
record('ends', \%about,
       { part => 'read', jobs => \%job, series => [@{samples(map { 5 * $_ } 0 .. 15)},
						   [75.1, 75e6, 0, 30000, 75000, 75, 75]] });
record('write', \%about,
       { part => 'fill', jobs => {}, series => [map { [$_, 0, $_ < 5 ? $_ * 2e6 : 1e7 + ($_ - 5) * 1e6,
						      0, 0, 0, 0] } 0 .. 15] });
record('stalls', \%about,
       { part => 'write', jobs => {}, longest_gap => 2.5,
	 series => [map { [$_, 0, $_ < 5 ? $_ * 2e6 : 1e7 + ($_ - 5) * 1e6, 0, 0, 0, 0] } 0 .. 20] });
# the share of hits is that of the last 400 I/Os: it begins low
record('learns', \%about,
       { part => 'read', jobs => \%job,
	 series => [[0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 50, 500, 3, 4], [10, 0, 0, 250, 1000, 6, 8],
		    [15, 0, 0, 550, 1500, 9, 12]] });
record('shadow', \%about,
       { part => 'none', jobs => undef, series => [], before => { t => 7, shadows => 0 },
	 after => { t => 9, shadows => 100 } });
load_results($dir, $ARGV[0]);

# of FUNCTION TEST: the result for the record of this test
sub of {
	my ($function, $test, $part) = @_;
	return value("virtual/hdd/$test", 'fusion', $part // 'read', $function)->{median};
}

sub near {
	my ($is, $want, $what) = @_;
	ok(abs($is - $want) <= abs($want) / 1000, $what) or diag("$is, not $want");
}

is_deeply(statistic({ 1 => 3, 2 => 1, 3 => 8 }), { median => 3, least => 1, most => 8, n => 3 },
	  'median of three');
is_deeply(statistic({ 1 => 3, 2 => 1 }), { median => 2, least => 1, most => 3, n => 2 },
	  'median of two');
is(statistic({}), undef, 'median of none');
is_deeply(ratio({ 1 => 3, 2 => 1, 3 => 1, 4 => 1 }, { 1 => 1, 2 => 2, 3 => 0 }),
	  { median => 1.75, least => 0.5, most => 3, n => 2 }, 'ratio, repetition by repetition');
near(of(rate('both'), 'even'), 3, 'rate');
near(of(\&oracle, 'even'), 0.5, 'oracle');
near(of(sub { series_end(@_)->{mbs} }, 'even'), 1, 'last tenth');
near(of(sub { series_end(@_)->{hits} }, 'even'), 0.6, 'hits of the last tenth');
near(of(sub { series_end(@_)->{mbs} }, 'ends'), 10 / 10.1, 'last tenth, with a sample at its end');
near(of(sub { series_end(@_)->{hits} }, 'ends'), 0.4, 'hits of it');
near(of(sub { series_end(@_)->{hits} }, 'short'), 0.4, 'hits of the last tenth, few samples');
near(of(\&second_half, 'write', 'fill'), 1, 'second half of a fill');
near(of(\&later_half, 'stalls', 'write'), 1, 'second half of the time');
near(of(\&longest_gap, 'stalls', 'write'), 2.5, 'longest gap');
is(value('virtual/hdd/even', 'fusion', 'read', \&longest_gap), undef, 'no gap was measured');
near(of(sub { converged(@_)->{seconds} }, 'learns'), 15, 'converged after');
near(of(sub { converged(@_)->{written} }, 'learns'), 12 << 20, 'written until then');
near(of(\&shadowed, 'shadow', 'none'), 50 * (1 << 20) / 1e6, 'copies for shadows');
is(value('virtual/hdd/even', 'fusion', 'read', \&shadowed), undef, 'none of them');
is(value('virtual/hdd/short', 'fusion', 'read', \&converged), undef, 'never converged');
done_testing();
