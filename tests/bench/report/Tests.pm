# SPDX-License-Identifier: GPL-2.0-only
#
# The report's part for each test: a sentence, and columns of its table.
package Tests;

use strict;
use warnings;
use Exporter 'import';
use Data;

our @EXPORT = qw(@TESTS columns_of);

my $read = sub { [ $_[0], $_[1], rate('read') ] };
my $write = sub { [ $_[0], $_[1], rate('write') ] };
my $both = sub { [ $_[0], $_[1], rate('both') ] };

# latency HEADING PART WAY WHICH [JOB]
sub latency {
	my ($heading, $part, $way, $which, $job) = @_;
	return [ $heading, $part, sub { $_[0]{jobs}{$job // $part}{$way}{$which} } ];
}

sub iops {
	my ($heading, $part, $way, $job) = @_;
	return [ $heading, $part, sub { $_[0]{jobs}{$job // $part}{$way}{iops} }, '%.0f' ];
}

sub hit_ratio {
	my ($heading, $part) = @_;
	return [ $heading, $part, \&hits, '%.4f' ];
}

sub oracle_of {
	my ($part) = @_;
	return [ 'oracle', $part, \&oracle, '%.4f' ];
}

sub counted {
	my ($heading, $part, $key) = @_;
	return [ $heading, $part, sub { delta($_[0], $key) }, '%.0f' ];
}

# copied HEADING PART: MB/s of copies for shadows
sub copied {
	my ($heading, $part) = @_;
	return [ $heading, $part, \&shadowed ];
}

sub took {
	my ($heading, $part) = @_;
	return [ $heading, $part, sub { delta($_[0], 't') }, '%.3f' ];
}

# launch NR: seconds that it takes
sub launch {
	my ($nr) = @_;
	my $part = "launch $nr";
	return [ $nr, $part, sub { $_[0]{jobs}{$part}{seconds} }, '%.2f' ];
}

sub long {
	my ($kind) = @_;
	return (
		$both->('MB/s', $kind),
		[ 'MB/s, last tenth', $kind, sub { series_end($_[0])->{mbs} } ],
		hit_ratio('hits', $kind),
		[ 'hits, last tenth', $kind, sub { series_end($_[0])->{hits} }, '%.4f' ],
		oracle_of($kind),
		[ 'of it', $kind, sub {
			my ($h, $o) = (series_end($_[0])->{hits}, oracle($_[0]));
			defined $h && $o ? $h / $o : undef
		}, '%.3f' ],
		[ '90 % of it after s', $kind, sub { (converged($_[0]) // {})->{seconds} }, '%.0f' ],
		[ 'SSD written MiB', $kind, sub { delta($_[0], 'ssd_write_sectors') / 2048 }, '%.0f' ],
	);
}

my $zoned = '80 % of the I/Os to 4 % of the span, which begin at 60 % of it';

our @TESTS = (
	[ 'sequential', 'The whole device is written in sequence, 1 MiB, 4 at a time; then 48 MiB ' .
	  'from the beginning on, and 256 MiB from half the HDD on, are read and written again the ' .
	  'same way for some seconds. In the fused device the former are on the SSD, the latter on ' .
	  'the HDD. MB/s.', sub {
		return ($write->('fill', 'fill'),
			[ 'fill, second half', 'fill', \&second_half ],
			$read->('read, begin', 'read-hot'),
			$read->('read, half', 'read-cold'), $write->('write, begin', 'write-hot'),
			$write->('write, half', 'write-cold'));
	} ],
	[ 'randwrite', 'Writes of 4 KiB over the whole span, 16 at a time.', sub {
		return ($write->('MB/s', 'randwrite'), iops('IOPS', 'randwrite', 'write'),
			latency('p99 ms', 'randwrite', 'write', 'p99'));
	} ],
	[ 'sustained', 'The same for a minute: far more than what a log, or a cache, has room for.', sub {
		return ($write->('MB/s', 'sustained'), iops('IOPS', 'sustained', 'write'),
			latency('p99 ms', 'sustained', 'write', 'p99'),
			latency('longest ms', 'sustained', 'write', 'max'));
	} ],
	[ 'region', 'Writes of 4 KiB to 64 MiB that the fill left on the HDD, 16 at a time, in three ' .
	  'passes with a pause between. MB/s.', sub {
		return map { $write->("pass $_", "pass $_") } 1 .. 3;
	} ],
	[ 'mix', "70 % reads, 30 % writes of 4 KiB, 16 at a time, $zoned; in three passes with a pause " .
	  'between. MB/s of the reads.', sub {
		return ((map { $read->("pass $_", "pass $_") } 1 .. 3), hit_ratio('hits, pass 3', 'pass 3'),
			oracle_of('pass 3'));
	} ],
	[ 'randread', 'Reads of 4 KiB over the whole span, 16 at a time.', sub {
		return ($read->('MB/s', 'randread'), iops('IOPS', 'randread', 'read'),
			latency('p50 ms', 'randread', 'read', 'p50'),
			latency('p99 ms', 'randread', 'read', 'p99'), hit_ratio('hits', 'randread'));
	} ],
	[ 'coldread', 'What the fill left on the HDD, or the same LBAs, read in sequence once, 1 MiB, 4 ' .
	  'at a time.', sub {
		return ($read->('MB/s', 'coldread'));
	} ],
	[ 'zipf1.0-read', 'Reads of 4 KiB by Zipf\'s law, exponent 1.0, 16 at a time. fio strews the ' .
	  'blocks over the span by a hash, so that hot and cold share extents.',
	  sub { long('read') } ],
	[ 'zipf1.0-mix', 'As zipf1.0-read, but 30 % are writes. fusion-64k: extents of 64 KiB, ' .
	  'which share less.', sub { long('mix') } ],
	[ 'zipf1.2-read', 'Reads of 4 KiB by Zipf\'s law, exponent 1.2, 16 at a time.',
	  sub { long('read') } ],
	[ 'zipf1.2-mix', 'As zipf1.2-read, but 30 % are writes.', sub { long('mix') } ],
	[ 'zoned-read', "Reads of 4 KiB, 16 at a time, $zoned.", sub { long('read') } ],
	[ 'zoned-mix', "70 % reads, 30 % writes of 4 KiB, 16 at a time, $zoned. " .
	  'fusion-oracle: nothing moves, and the hot 4 % were ' .
	  'put on the SSD before.', sub { long('mix') } ],
	[ 'shift', "As zoned-mix; then half of the hot zone changes its place. How long does it take " .
	  'to hit 90 % of what an oracle would, first and after the change?', sub {
		return (hit_ratio('hits', 'before'),
			[ '90 % after s', 'before', sub { (converged($_[0]) // {})->{seconds} }, '%.0f' ],
			hit_ratio('hits, changed', 'after'),
			[ '90 % after s, changed', 'after', sub { (converged($_[0]) // {})->{seconds} }, '%.0f' ],
			oracle_of('before'));
	} ],
	[ 'scan', "Reads of 4 KiB, 4 at a time, $zoned; meanwhile everything is read in sequence " .
	  'once, 1 MiB, 2 at a time.', sub {
		return (hit_ratio('hits before', 'before'), hit_ratio('hits after', 'after'),
			$read->('MB/s before', 'before'), $read->('MB/s during', 'during'),
			$read->('MB/s after', 'after'),
			[ 'during, of before', 'during', sub {
				my $before = part_of($_[0], 'before') or return undef;
				my $iops = $before->{jobs}{before}{read}{iops};
				$iops ? $_[0]{jobs}{during}{read}{iops} / $iops : undef
			}, '%.3f' ],
			[ 'scan MB/s', 'during', rate('read', 'scan') ],
			counted('promotions during', 'during', 'promotions'));
	} ],
	[ 'uniform', '70 % reads, 30 % writes of 4 KiB over the whole span, 16 at a time, after some ' .
	  'time of the same.', sub {
		return ($both->('MB/s', 'uniform'), hit_ratio('hits', 'uniform'),
			counted('promotions', 'uniform', 'promotions'));
	} ],
	[ 'loop', 'Reads of 4 KiB, one of each 64 KiB, of 1.2 times the size of the SSD, again and ' .
	  'again.', sub {
		return (hit_ratio('hits, at first', 'loop'), hit_ratio('hits', 'again'),
			$read->('MB/s', 'again'));
	} ],
	[ 'seqmix', "Reads of 4 KiB, 4 at a time, $zoned: alone, and beside a stream of 1 MiB, 2 at a " .
	  'time, that reads, and that writes, what is cold.', sub {
		return (iops('IOPS alone', 'alone', 'read'),
			[ 'stream read MB/s', 'read', rate('read') ],
			iops('IOPS beside', 'read', 'read', 'random'),
			[ 'stream written MB/s', 'write', rate('write') ],
			iops('IOPS beside it', 'write', 'read', 'random'));
	} ],
	[ 'fsync', 'Writes of 4 KiB, one at a time, each followed by fsync, in the first 64 MiB.', sub {
		return (iops('IOPS', 'fsync', 'write'),
			[ 'fsync mean ms', 'fsync', sub { $_[0]{jobs}{fsync}{sync}{mean} } ],
			[ 'p50 ms', 'fsync', sub { $_[0]{jobs}{fsync}{sync}{p50} } ],
			[ 'p99 ms', 'fsync', sub { $_[0]{jobs}{fsync}{sync}{p99} } ],
			counted('writes to the HDD', 'fsync', 'hdd_writes'),
			counted('flushes of the HDD', 'fsync', 'hdd_flushes'));
	} ],
	[ 'latency', 'A reader of 4 KiB over the whole span, one at a time, beside reads, 4 at a time, ' .
	  'of a tenth of the span that is another one all the time. fusion-off: nothing moves.', sub {
		return (latency('p50 ms', 'reader', 'read', 'p50'), latency('p99 ms', 'reader', 'read', 'p99'),
			latency('p99.9 ms', 'reader', 'read', 'p999'),
			latency('max ms', 'reader', 'read', 'max'),
			counted('promotions', 'reader', 'promotions'));
	} ],
	[ 'launch', 'An application starts six times, a minute apart: it reads files of 4 to 64 KiB, ' .
	  'one at a time, always the same ones in the same order. The fill left 12 MiB of them on ' .
	  'the SSD and 12 MiB on the HDD. Seconds of each start.', sub {
		return ((map { launch($_) } 1 .. 4, 6), hit_ratio('hits, 1st', 'launch 1'),
			hit_ratio('hits, 6th', 'launch 6'));
	} ],
	[ 'fullness', 'As mix, on the first 50, 80 and 95 % of the device, of which nothing else has ' .
	  'been written; after some time of the same.', sub {
		return map { ($both->("MB/s, $_ %", "$_ %"), hit_ratio("hits, $_ %", "$_ %"),
			      oracle_of("$_ %")) } 50, 80, 95;
	} ],
	[ 'shadow', 'The first half of the device is written, and the SSD is full of it. In idle time ' .
	  'all that is there is copied to the HDD: first there are no shadows, then all are out of ' .
	  'date. MB/s from the first write to the HDD to the last flush; the HDD alone is written in ' .
	  'sequence, 1 MiB, 4 at a time. Then a reader of 4 KiB over all of that half, one at a time, ' .
	  'while it is copied again. Then new data uses up a reserve of a quarter of the SSD, and no ' .
	  'I/O follows: seconds until it is free again. fusion-shadow: with `shadow_age 60`; ' .
	  'fusion-no-shadow: with `shadow off`.', sub {
		return ($write->('HDD MB/s', 'write'), copied('none, MB/s', 'none'),
			copied('outdated, MB/s', 'outdated'),
			took('in the replica after s', 'outdated, point'),
			latency('reader p50 ms', 'reader', 'read', 'p50'),
			latency('p99 ms', 'reader', 'read', 'p99'),
			latency('p99.9 ms', 'reader', 'read', 'p999'),
			latency('max ms', 'reader', 'read', 'max'),
			counted('copies beside it', 'reader', 'shadow_copies'),
			counted('reserve, slots', 'refill', 'slots'),
			took('begins after s', 'refill begins'), took('full after s', 'refill'));
	} ],
	[ 'shadow-mix', "70 % reads, 30 % writes of 4 KiB, 16 at a time, of the first 70 % of the " .
	  "device, of which nothing else has been written; $zoned; then, in a new set, by Zipf's law, " .
	  'exponent 1.2. fusion: shadows of what was promoted, as is the default; fusion-shadow: with ' .
	  '`shadow_age 60`; fusion-no-shadow: with `shadow off`.', sub {
		return map { ($both->("$_, MB/s", $_),
			      [ "$_, MB/s, last tenth", $_, sub { series_end($_[0])->{mbs} } ],
			      hit_ratio("$_, hits", $_)) } 'zoned', 'zipf';
	} ],
);

# columns_of PLACE COLUMNS: those with any content
sub columns_of {
	my ($place, @columns) = @_;
	return grep {
		my $c = $_;
		grep { value($place, $_, $c->[1], $c->[2]) } systems_of($place);
	} @columns;
}

1;
