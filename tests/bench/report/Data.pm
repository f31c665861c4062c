# SPDX-License-Identifier: GPL-2.0-only
#
# The measurements, and figures derived from them: medians over the repetitions, with their spread.
package Data;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(load_results read_json systems_of value values_of statistic ratio has rate
		 hits delta shadowed whole_of part_of series_end second_half oracle converged moved_up about cost_of
		 number cell);

my (%record, %about, %cost, %oracle, $oracle_program);

sub read_json {
	my ($path) = @_;
	open my $f, '<', $path or return undef;
	local $/;
	my $text = <$f>;
	return undef unless $text =~ /\S/;
	return decode_json($text);
}

# load_results DIRECTORY ORACLE: all of raw/RIG-PROFILE-*.jsonl
sub load_results {
	my ($dir, $program) = @_;
	my @all;

	$oracle_program = $program;
	for my $path (sort glob "$dir/raw/*.jsonl") {
		my ($rig, $profile) = $path =~ m{/(\w+)-(\w+)-[^/]*$} or next;
		open my $f, '<', $path or die "$path: $!\n";
		while (<$f>) {
			# a killed VM may have left half a line
			my $r = eval { decode_json($_) } or next;
			$r->{rig} = $rig;
			$r->{profile} = $profile;
			my $key = join '/', $rig, $profile, $r->{test}, $r->{system};
			if ($r->{part} eq 'done') {
				push @{$cost{$key}}, $r->{cpu_seconds} if defined $r->{cpu_seconds};
				next;
			}
			push @all, $r;
			if ($r->{part} eq 'about') {
				$about{$key} = $r;
			} else {
				$record{$key}{$r->{part}}{$r->{repetition}} = $r;
			}
		}
	}
	return @all;
}

# A place is RIG/PROFILE/TEST: systems are compared within a place.
sub systems_of {
	my ($place) = @_;
	my @order = qw(hdd ssd linear cache writecache bcache fusion fusion-64k fusion-off
		       fusion-no-shadow fusion-shadow fusion-log-8th fusion-log-4th fusion-oracle);
	return grep { $record{"$place/$_"} } @order;
}

sub about {
	my ($place, $system) = @_;
	return $about{"$place/$system"};
}

# cost_of PLACE SYSTEM: processor seconds of each finished repetition
sub cost_of {
	my ($place, $system) = @_;
	return @{$cost{"$place/$system"} // []};
}

sub has {
	my ($place, $system, $part) = @_;
	return !!$record{"$place/$system"}{$part};
}

# values_of PLACE SYSTEM PART SUB: by repetition, the result of SUB for each record
sub values_of {
	my ($place, $system, $part, $sub) = @_;
	my $by = ($record{"$place/$system"} // {})->{$part} or return {};
	my %v;

	for my $repetition (keys %$by) {
		my $v = $sub->($by->{$repetition});
		$v{$repetition} = $v if defined $v;
	}
	return \%v;
}

# statistic HASH: median, least and greatest of its values, and their number
sub statistic {
	my ($h) = @_;
	my @v = sort { $a <=> $b } values %$h;
	return undef unless @v;
	my $median = @v % 2 ? $v[@v / 2] : ($v[@v / 2 - 1] + $v[@v / 2]) / 2;
	return { median => $median, least => $v[0], most => $v[-1], n => scalar @v };
}

sub value {
	return statistic(values_of(@_));
}

# ratio A B: of two results of values_of(), repetition by repetition
sub ratio {
	my ($a, $b) = @_;
	return statistic({ map { $_ => $a->{$_} / $b->{$_} }
			   grep { exists $b->{$_} && $b->{$_} > 0 } keys %$a });
}

# part_of RECORD PART: another part of the same test, system and repetition
sub part_of {
	my ($r, $part) = @_;
	my $by = $record{join '/', @$r{qw(rig profile test system)}}{$part} // {};
	return $by->{$r->{repetition}};
}

# -- of a record -------------------------------------------------------------------

sub delta {
	my ($r, $key) = @_;
	return undef unless defined $r->{before}{$key} && defined $r->{after}{$key};
	return $r->{after}{$key} - $r->{before}{$key};
}

# shadowed RECORD: MB/s of copies for shadows, of a record that counts the shadows that it made
sub shadowed {
	my ($r) = @_;
	my $about = $about{join '/', @$r{qw(rig profile test system)}} or return undef;
	my ($n, $seconds) = (delta($r, 'shadows'), delta($r, 't'));
	return defined $n && $seconds ? $n * $about->{block} / 1e6 / $seconds : undef;
}

# whole_of RECORD...: a record for each repetition of one test and system, from the beginning of its
# first part to the end of its last one
sub whole_of {
	my %whole;

	for my $r (@_) {
		my $w = $whole{$r->{repetition}} //= { %$r };
		$w->{before} = $r->{before} if $r->{before}{t} < $w->{before}{t};
		$w->{after} = $r->{after} if $r->{after}{t} > $w->{after}{t};
	}
	return values %whole;
}

# rate WAY [JOB]: a SUB for values_of(): MB/s of read, write or both
sub rate {
	my ($way, $job) = @_;
	return sub {
		my ($r) = @_;
		my $j = $r->{jobs}{$job // $r->{part}} or return undef;
		return $j->{read}{mbs} + $j->{write}{mbs} if $way eq 'both';
		return $j->{$way}{mbs};
	};
}

# The share of I/Os that went to the SSD, of a record.
sub hits {
	my ($r) = @_;
	my $all = delta($r, 'all');
	return $all ? delta($r, 'hits') / $all : undef;
}

# The last tenth of a record's time: MB/s and hit ratio.
sub series_end {
	my ($r) = @_;
	my @s = @{$r->{series}};
	return {} if @s < 3;
	my $to = $s[-1];
	# intervals between samples vary: two at the end may be of the same moment
	my ($from) = grep { $_->[0] <= $to->[0] - ($to->[0] - $s[0][0]) / 10 } reverse @s;
	my $all = $to->[4] - $from->[4];
	my $seconds = $to->[0] - $from->[0];
	return {
		mbs => $seconds > 0 ? ($to->[1] - $from->[1] + $to->[2] - $from->[2]) / 1e6 / $seconds : undef,
		hits => $all > 0 ? ($to->[3] - $from->[3]) / $all : undef,
	};
}

# The second half of the written data: MB/s.
sub second_half {
	my ($r) = @_;
	my @s = @{$r->{series}};
	return undef if @s < 3;
	my ($from) = grep { $_->[2] >= $s[-1][2] / 2 } @s;
	my $seconds = $s[-1][0] - $from->[0];
	return $seconds > 0 ? ($s[-1][2] - $from->[2]) / 1e6 / $seconds : undef;
}

# oracle RECORD: the hit ratio of the best fixed placement, for the size of that system's SSD
sub oracle {
	my ($r) = @_;
	my $job = $r->{jobs}{$r->{part}} or return undef;
	my $about = $about{join '/', @$r{qw(rig profile test system)}} or return undef;
	my $span = $about->{span};

	return undef unless $job->{load} && $about->{slots};
	$span = $job->{size} if ($job->{size} // '') =~ /^\d+$/;
	my @words = ($job->{load}, $span, @$about{qw(block slots)});
	$oracle{"@words"} //= do {
		open my $f, '-|', $oracle_program, @words or die "$oracle_program: $!\n";
		my $line = <$f> // die "$oracle_program @words: no answer\n";
		chomp $line;
		$line;
	};
	return $oracle{"@words"};
}

# moved_up RECORD SAMPLE: bytes that moves had written to the SSD by then, including cancelled
# copies, if the sample has that figure
sub moved_up {
	my ($r, $sample) = @_;
	my $about = $about{join '/', @$r{qw(rig profile test system)}} or return undef;
	return defined $sample->[6] ? $sample->[6] * (1 << 20) : $sample->[5] * $about->{block};
}

# converged RECORD: seconds until the hit ratio reaches 90 % of the oracle's, and bytes that moves
# had written to the SSD by then; over at least 400 I/Os, which makes it certain to 2 %
sub converged {
	my ($r) = @_;
	my $wanted = oracle($r) // return undef;
	my @s = @{$r->{series}};
	my $from = 0;

	for my $to (1 .. $#s) {
		$from++ while $s[$to][4] - $s[$from + 1][4] >= 400;
		my $all = $s[$to][4] - $s[$from][4];
		next if $all < 400;
		next if ($s[$to][3] - $s[$from][3]) / $all < 0.9 * $wanted;
		return { seconds => $s[$to][0], written => moved_up($r, $s[$to]) };
	}
	return undef;
}

# -- for people ----------------------------------------------------------------------

sub number {
	my ($v) = @_;
	return '-' unless defined $v;
	my $size = abs $v;
	return sprintf $size >= 99.5 ? '%.0f' : $size >= 9.95 ? '%.1f' : $size >= 0.095 || !$size ? '%.2f' :
		'%.4f', $v;
}

# cell STATISTIC [FORMAT]: "1.23 (1.20..1.25)"
sub cell {
	my ($s, $format) = @_;
	return '-' unless $s;
	my $show = $format ? sub { sprintf $format, $_[0] } : \&number;
	my ($median, $least, $most) = map { $show->($s->{$_}) } qw(median least most);
	return $least eq $most ? $median : "$median ($least..$most)";
}

1;
