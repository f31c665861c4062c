#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: report.pl DIRECTORY ORACLE
#
# Make a report for people (report.md and pictures) and one for programs (results.json) from the
# files of scripts/bench in DIRECTORY. ORACLE is the program of oracle.c.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Data;
use Plot;
use Targets;
use Tests;

@ARGV == 2 or die "usage: report.pl DIRECTORY ORACLE\n";
my ($dir, $oracle) = @ARGV;
my @records = load_results($dir, $oracle);
my $about = read_json("$dir/about.json") or die "$dir/about.json: nothing in it\n";
my $parameters = read_json("$dir/parameters.json");
my $fastpath = read_json("$dir/fastpath.json");
my $fastpath_real = read_json("$dir/fastpath-real.json");
my $simulated = read_json("$dir/simulate.json");
my (%seen, %results, $out);
my @places = grep { !$seen{$_}++ } map { "$_->{rig}/$_->{profile}" } @records;
push @places, 'virtual/hdd' unless @places;

open $out, '>', "$dir/report.md" or die "$dir/report.md: $!\n";

sub say_to {
	print $out @_, "\n";
}

# table HEADINGS ROW...
sub table {
	my ($headings, @rows) = @_;
	say_to('| ', join(' | ', @$headings), ' |');
	say_to('|', join('|', ' --- ', (' ---: ') x (@$headings - 1)), '|');
	say_to('| ', join(' | ', @$_), ' |') for @rows;
	say_to('');
}

sub place_text {
	my ($rig, $profile) = split m{/}, $_[0];
	return ($rig eq 'virtual' ? 'virtual clock' : 'real time, two processors') . ", HDD profile $profile";
}

# -- what it was measured on -------------------------------------------------------------

sub preface {
	my $quick = $about->{quick} ? ' This was a quick run: fewer tests, shorter, some of them once only.' : '';

	my $memory = $about->{memory_mib} ? sprintf(' with %.1f GiB of memory', $about->{memory_mib} / 1024) : '';
	my $resumed = $about->{resumed} ? ' Gone on with: ' . join('; ', @{$about->{resumed}}) . '.' : '';

	say_to("# dm-fusion, measured\n");
	say_to("$about->{date} UTC, commit $about->{commit}, kernel $about->{kernel}, QEMU $about->{qemu}, ",
	       "$about->{fio}, on $about->{cpus} x $about->{cpu}$memory.$resumed$quick\n");
	say_to("A RAM disk of $about->{ssd_mib} MiB behind a model of an SSD, one of $about->{hdd_mib} MiB ",
	       "behind a model of an HDD. The fused device is as large as both together; the caches are as ",
	       "large as the HDD; the span of a load is the whole device unless it says otherwise. ",
	       "Every system is made afresh for each test and repetition. Before all tests but ",
	       "`sequential`, `fullness`, `shadow` and `shadow-mix` the whole device is written in sequence and left alone for ",
	       "a minute (in real time for some seconds); what is called cold begins at half the HDD, at the same LBA for all. ",
	       "An SSD or HDD alone is not filled, as the model does not care. All data is incompressible. ",
	       "Figures are medians over the repetitions, in parentheses the least and the greatest; ",
	       "MB are 10^6 bytes.\n");
	say_to("Lengths in seconds: passes $about->{pass}, pauses $about->{pause}, short loads ",
	       "$about->{short}, long ones $about->{long} or (zipf1.2-read, zoned-read, shift) $about->{half}, ",
	       "learning $about->{warm}, then $about->{steady}, sustained $about->{endless}; a burst has ",
	       "$about->{burst_kib} KiB. A pass, or a short load, ends after ",
	       "$about->{pass_ios} I/Os if it is that fast, a long one after $about->{long_ios}; and all ",
	       "on a disk alone after $about->{alone_ios}.\n");
	say_to("## The models\n");
	table([ 'parameter', 'hdd', 'consumer', 'ssd' ],
	      map { my $p = $_; [ $p->{key}, map { $p->{$_} // '' } qw(hdd consumer ssd) ] } @$parameters)
		if $parameters;
}

# -- targets -------------------------------------------------------------------------------

sub show_targets {
	my ($place) = @_;
	my $targets = targets($place, \@records, $about, $fastpath, $fastpath_real, $simulated);
	my ($met, $missed) = (0, 0);

	$results{$place}{targets} = $targets;
	say_to('## Targets: ', place_text($place), "\n");
	table([ 'what', 'target', 'measured', 'n', '' ], map {
		$met++ if defined $_->{met} && $_->{met};
		$missed++ if defined $_->{met} && !$_->{met};
		[ $_->{what}, $_->{target}, cell($_->{value}, '%.4g'), $_->{value} ? $_->{value}{n} : '-',
		  !defined $_->{met} ? 'not measured' : $_->{met} ? 'met' : '**not met**' ]
	} @$targets);
	say_to("$met met, $missed not met, ", @$targets - $met - $missed, " not measured.\n");
}

# -- tests ---------------------------------------------------------------------------------

sub show_test {
	my ($place, $name, $text, $columns) = @_;
	my @systems = systems_of("$place/$name") or return;
	my @columns = columns_of("$place/$name", $columns->());
	my $about_test = about("$place/$name", $systems[0]);

	say_to("### $name\n\n$text\n");
	table([ 'system', map { $_->[0] } @columns ], map {
		my $system = $_;
		[ $system, map {
			my $v = value("$place/$name", $system, $_->[1], $_->[2]);
			$results{$place}{tests}{$name}{$system}{$_->[0]} = $v;
			has("$place/$name", $system, 'failed') && !$v ? 'failed' : cell($v, $_->[3])
		} @columns ]
	} @systems);
	my $plot = "$name-" . ($place =~ s{/}{-}r) . '.svg';
	say_to("![$name over time]($plot)\n")
		if plot_lines("$dir/$plot", "$name, " . place_text($place), lines("$place/$name"), @systems);
}

# The first repetition's throughput over time, all parts one after the other.
sub lines {
	my ($place) = @_;
	my %lines;

	for my $system (systems_of($place)) {
		my @parts = sort { $a->{before}{t} <=> $b->{before}{t} }
			grep { join('/', @$_{qw(rig profile test)}) eq $place && $_->{system} eq $system &&
			       $_->{repetition} == 1 && $_->{after} } @records;
		next unless @parts;
		my $begin = $parts[0]{before}{t};
		my @points;
		for my $r (@parts) {
			my $at = $r->{before}{t} - $begin;
			my @s = @{$r->{series}};
			# merge neighbours that are too short
			for (my $i = 1; $i < @s; $i++) {
				my $t = $s[$i][0] - $s[$i - 1][0];
				next if $t < 0.05;
				push @points, [ $at + ($s[$i][0] + $s[$i - 1][0]) / 2,
					($s[$i][1] - $s[$i - 1][1] + $s[$i][2] - $s[$i - 1][2]) / $t / 1e6 ];
			}
			push @points, [ $at + $s[-1][0], undef ] if @s;
		}
		$lines{$system} = \@points;
	}
	return \%lines;
}

# The figures that users notice: test, part, way, name.
my @NOTICED = (
	[ 'sequential', 'fill', 'write', 'sequential fill' ],
	[ 'randwrite', 'randwrite', 'write', 'random write' ],
	[ 'region', 'pass 3', 'write', 'cold region, pass 3' ],
	[ 'mix', 'pass 3', 'read', 'zoned mix, pass 3, reads' ],
	[ 'randread', 'randread', 'read', 'random read' ],
	[ 'coldread', 'coldread', 'read', 'sequential cold read' ],
	[ 'zoned-mix', 'mix', 'both', 'zoned mix, long' ],
	[ 'zipf1.2-mix', 'mix', 'both', 'zipf 1.2 mix, long' ],
);

# The same as a multiple of the HDD alone.
sub show_bars {
	my ($place) = @_;
	my @groups;

	for (@NOTICED) {
		my ($test, $part, $way, $name) = @$_;
		my @bars;
		for my $system (grep { !/^(hdd|linear)$/ } systems_of("$place/$test")) {
			my $r = ratio(values_of("$place/$test", $system, $part, rate($way)),
				      values_of("$place/$test", 'hdd', $part, rate($way))) or next;
			push @bars, [ $system, @$r{qw(median least most)} ];
		}
		push @groups, [ $name, \@bars ] if @bars;
	}
	my $plot = 'ratios-' . ($place =~ s{/}{-}r) . '.svg';
	say_to("![throughput as a multiple of the HDD alone]($plot)\n")
		if plot_bars("$dir/$plot", 'Throughput, as a multiple of the HDD alone, ' . place_text($place),
			     'x', \@groups);
}

# ranking PLACE TEST PART WAY: the systems, fastest first; those within 5 % count as equal
sub ranking {
	my ($place, $test, $part, $way) = @_;
	my %v;

	for my $system (grep { $_ ne 'linear' } systems_of("$place/$test")) {
		my $s = value("$place/$test", $system, $part, rate($way)) or next;
		$v{$system} = $s->{median};
	}
	my ($text, $last) = ('', undef);
	for my $system (sort { $v{$b} <=> $v{$a} || $a cmp $b } keys %v) {
		$text .= !defined $last ? '' : $v{$system} > 0.95 * $last ? ' = ' : ' > ';
		$text .= "$system " . number($v{$system});
		$last = $v{$system};
	}
	return $text;
}

# The ranking by the machine's clock.
sub show_ranking {
	my ($profile) = @_;
	my @rows;

	for (@NOTICED) {
		my ($test, $part, $way, $name) = @$_;
		my @both = map { ranking("$_/$profile", $test, $part, $way) } qw(virtual real);
		push @rows, [ $name, @both ] if $both[0] && $both[1];
	}
	return unless @rows;
	say_to("## Ranking, on the virtual clock and in real time, HDD profile $profile\n\nMB/s, the fastest ",
	       "first; = is for those within 5 % of the one before.\n");
	table([ 'test', 'virtual clock', 'real time' ], @rows);
}

# -- what fusion did meanwhile -----------------------------------------------------------------

sub show_moves {
	my ($place) = @_;
	my @rows;

	for my $test (map { $_->[0] } @TESTS) {
		my @r = grep { "$_->{rig}/$_->{profile}" eq $place && $_->{test} eq $test &&
			       $_->{system} eq 'fusion' && $_->{after} } @records or next;
		my $block = about("$place/$test", 'fusion')->{block};
		my (%n, $n);
		for my $whole (whole_of(@r)) {
			$n++;
			for my $key (qw(promotions demotions cancelled replica_writes replica_sets ssd_write_sectors
				t hdd_watched_us)) {
				$n{$key} += delta($whole, $key) // 0;
			}
			# in MiB, including cancelled copies
			$n{moved_up} += delta($whole, 'migrated_fast') //
				delta($whole, 'promotions') * $block / (1 << 20);
		}
		push @rows, [ $test, (map { number($n{$_} / $n) } qw(promotions demotions cancelled)),
			number($n{moved_up} / $n), number($n{ssd_write_sectors} / 2048 / $n),
			(map { number($n{$_} / $n) } qw(replica_writes replica_sets)),
			$n{t} > 0 ? sprintf('%.3f %%', $n{hdd_watched_us} / $n{t} / 1e4) : '-' ];
	}
	return unless @rows;
	say_to("### What fusion did meanwhile\n\nBy test, from the beginning of its first part to the end of ",
	       "its last one, the mean of the repetitions. The replica's share is that of the time in which ",
	       "the HDD's arm was on its way to, or over, the area of the superblocks and the replica.\n");
	table([ 'test', 'promoted', 'demoted', 'cancelled', 'MiB moved to the SSD', 'MiB written to the SSD',
		'replica writes', 'replica sets', 'replica\'s share' ], @rows);
}

# -- without disks ---------------------------------------------------------------------------

sub show_fastpath {
	my @r = @{($fastpath // {})->{results} // []};
	my @real = @{($fastpath_real // {})->{results} // []};
	my @speed = grep { $_->{what} } @r;
	my @size = grep { $_->{extents} } @r;

	return unless @r || @real;
	say_to("## The fast path\n\nOn null_blk. Base is what the line names; for sequential I/O the device ",
	       "that holds the data. Ratios are of neighbouring runs.\n");
	say_to("On the virtual clock, which has one processor: the reciprocal is processor time.\n") if @speed;
	table([ '', 'base', 'fusion', 'unit', 'ratio', 'CPU per I/O, us' ], map {
		[ @$_{qw(what base fusion unit)}, ratio_of($_),
		  $_->{unit} eq 'IOPS' ? sprintf('%.2f against %.2f', 1e6 / $_->{fusion}, 1e6 / $_->{base}) : '' ]
	} @speed) if @speed;
	show_scaling(@real) if @real;
	say_to("Memory of the kernel for an open set on sparse devices, and how long opening takes, the ",
	       "first time (the members' pages are allocated, too) and again.\n") if @size;
	table([ 'extents', 'KiB', 'bytes per extent', 'opened after ms', 'again after ms' ], map {
		[ @$_{qw(extents kib bytes_per_extent open_first_ms open_again_ms)} ]
	} @size) if @size;
}

sub ratio_of {
	my ($r) = @_;
	return cell({ median => $r->{ratio}, least => $r->{min}, most => $r->{max} }, '%.3f');
}

# show_scaling RESULT...: in real time
sub show_scaling {
	my $cpus = $fastpath_real->{cpus};
	my %by = map { ("$_->{what}/$_->{jobs}" => $_) } @_;
	my @rows;

	say_to("In real time, on $cpus processors, by as many jobs as the table says. The machine was ",
	       "to be idle; how far it was, dm-linear against itself shows.\n");
	table([ '', 'jobs', 'base', 'fusion', 'unit', 'ratio' ], map {
		[ @$_{qw(what jobs base fusion unit)}, ratio_of($_) ]
	} @_);
	for (['dm-linear', 'base', 'linear'], ['dm-cache', 'base', 'cache'],
	     ['fusion', 'fusion', 'linear']) {
		my ($name, $column, $against) = @$_;
		my ($one, $all) = map { $by{"4 KiB random read against dm-$against/$_"} } 1, $cpus;
		push @rows, [ $name, $one->{$column}, $all->{$column},
			      sprintf('%.2f', $all->{$column} / $one->{$column}) ] if $one && $all;
	}
	say_to("What more processors bring, IOPS of 4 KiB random reads, which hit the cache:\n");
	table([ '', 'one job', "$cpus jobs", 'ratio' ], @rows);
}

# The policy with a load of hours, on models of the members.
sub show_simulated {
	my $s = $simulated or return;
	my $size = sub { sprintf '%.4g GiB', $_[0] / (1 << 30) };
	my $share = sub { $s->{promotions} ? sprintf('%.4f', $_[0] / $s->{promotions}) : '-' };

	say_to("## Simulated\n\nBy `fusionctl simulate`: the policy of the module on models of the members, ",
	       $size->($s->{fast_bytes}), ' and ', $size->($s->{slow_bytes}), ' in extents of ',
	       $s->{extent_bytes} >> 10, ' KiB, for ', sprintf('%.3g', $s->{seconds} / 3600), " hours.\n");
	table([ 'load', 'I/Os', 'hits', 'hits, last tenth', 'oracle', 'of it', '90 % of it after s' ], map {
		my $p = $_;
		[ join(', ', map { $_->{load} } @{$p->{loads}}), $p->{ios},
		  (map { sprintf '%.4f', $p->{$_} } qw(hit_ratio end_hit_ratio oracle)),
		  $p->{oracle} ? sprintf('%.3f', $p->{end_hit_ratio} / $p->{oracle}) : '-',
		  defined $p->{converged_after} ? sprintf('%.0f', $p->{converged_after}) : 'never' ]
	} @{$s->{phases}});
	table([ 'system', 'IOPS', 'MB/s', 'latency ms' ], map {
		my $rate = $s->{rates}{$_};
		[ $_, number($rate->{iops}), number($rate->{bytes_per_second} / 1e6),
		  number($rate->{latency_seconds} * 1e3) ]
	} grep { $s->{rates}{$_} } qw(fused migration_off slow_alone fast_alone));
	table([ 'promoted', 'demoted', 'cancelled', 'wasted', 'resting', 'again within an hour',
		'GiB moved to the SSD', 'SSD in an hour, later' ],
	      [ @$s{qw(promotions demotions cancelled)}, $share->($s->{wasted}),
		defined $s->{resting} ? $share->($s->{resting}) : '-',
		$share->($s->{promoted_again_within_hour}), number($s->{migration_bytes_to_fast} / (1 << 30)),
		sprintf('%.4f', $s->{migration_share_of_fast_per_hour_later}) ]);
	return unless $s->{models};
	say_to("Its models, which are simpler than those of the rig:\n");
	table([ 'parameter', 'value' ], map { [ $_, $s->{models}{$_} ] } sort keys %{$s->{models}});
}

# The cost of each measurement, for changes of tests/bench/plan.sh.
sub show_cost {
	my ($place) = @_;
	my (@rows, $sum);

	for my $test (map { $_->[0] } @TESTS) {
		my @all = map { [ $_, cost_of("$place/$test", $_) ] } systems_of("$place/$test");
		my ($seconds, $n) = (0, 0);
		my @each;
		for (@all) {
			my ($system, @s) = @$_;
			next unless @s;
			my $of = 0;
			$of += $_ for @s;
			push @each, sprintf '%s %.0f', $system, $of / @s;
			$seconds += $of;
			$n += @s;
		}
		next unless $n;
		$sum += $seconds;
		push @rows, [ $test, $seconds, sprintf('%.0f', $seconds / $n), join(', ', @each) ];
	}
	return unless @rows;
	say_to("### What measuring took\n\nSeconds of processor time, ", sprintf('%.1f', $sum / 3600),
	       " hours in all: of all systems and repetitions, a mean of these, and of each system.\n");
	table([ 'test', 'all', 'mean', 'by system' ], @rows);
}

preface();
show_targets($_) for grep { m{^virtual/} } @places;
for my $place (@places) {
	next unless grep { "$_->{rig}/$_->{profile}" eq $place } @records;
	say_to('## ', place_text($place), "\n");
	show_bars($place);
	show_test($place, @$_) for @TESTS;
	show_moves($place);
	show_cost($place);
}
show_ranking($_) for qw(hdd consumer);
show_fastpath();
show_simulated();
close $out or die "$dir/report.md: $!\n";

open my $json, '>', "$dir/results.json" or die "$dir/results.json: $!\n";
print $json JSON::PP->new->canonical->pretty->allow_blessed->encode({
	about => $about, models => $parameters, fastpath => $fastpath,
	fastpath_real => $fastpath_real, simulated => $simulated,
	results => \%results, records => \@records,
});
close $json or die "$dir/results.json: $!\n";
