# SPDX-License-Identifier: GPL-2.0-only
#
# Pictures: throughput over time, a line for each system; and bars of ratios. Both are logarithmic,
# since an SSD is some hundred times as fast as an HDD.
package Plot;

use strict;
use warnings;
use Exporter 'import';
use POSIX qw(floor ceil);

our @EXPORT = qw(plot_lines plot_bars);

use constant { WIDTH => 880, LEFT => 70, PLOT => 780, TOP => 50, HEIGHT => 300 };

my %COLOUR = (
	hdd => '#5a9cf0', ssd => '#66cc66', linear => '#888888', cache => '#d070d0',
	writecache => '#50c8c8', bcache => '#e06060', fusion => '#ff9820',
	'fusion-64k' => '#c06000', 'fusion-off' => '#b08850', 'fusion-oracle' => '#f0e060',
	'fusion-no-shadow' => '#a0a050', 'fusion-shadow' => '#ffc880',
	'fusion-log-8th' => '#f06090', 'fusion-log-4th' => '#a03060',
);

sub escape {
	my ($s) = @_;
	$s =~ s/&/&amp;/g;
	$s =~ s/</&lt;/g;
	return $s;
}

sub begin {
	my ($f, $title, $height) = @_;
	printf $f "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" " .
		"viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n<title>%s</title>\n" .
		"<style>text{font:11px sans-serif;fill:#ddd}path{fill:none;stroke-width:1.6}" .
		".g{stroke:#333;stroke-width:1}</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#161616\"/>\n" .
		"<text x=\"%d\" y=\"30\" style=\"font-size:14px\">%s</text>\n",
		WIDTH, $height, WIDTH, $height, escape($title), WIDTH, $height, LEFT, escape($title);
}

# decades LEAST MOST: the powers of ten around them
sub decades {
	my ($least, $most) = @_;
	my $low = floor(log($least) / log(10));
	my $high = ceil(log($most) / log(10));
	return ($low, $high > $low ? $high : $low + 1);
}

sub time_text {
	my ($s, $end) = @_;
	return $end >= 600 ? sprintf('%.1f min', $s / 60) : sprintf('%.0f s', $s);
}

# plot_lines FILE TITLE { SYSTEM => [[SECONDS, MB/S or undef], ...] }: undef interrupts a line
sub plot_lines {
	my ($path, $title, $lines, @order) = @_;
	my @all = map { @$_ } values %$lines;
	my @y = sort { $a <=> $b } grep { defined && $_ > 0 } map { $_->[1] } @all;
	my ($end) = sort { $b <=> $a } map { $_->[0] } @all;
	return 0 unless @y > 1 && $end;

	my ($low, $high) = decades($y[0] < 0.01 ? 0.01 : $y[0], $y[-1]);
	my $y_of = sub { TOP + HEIGHT * (1 - (log($_[0]) / log(10) - $low) / ($high - $low)) };
	my $x_of = sub { LEFT + PLOT * $_[0] / $end };
	open my $f, '>', $path or die "$path: $!\n";
	begin($f, "$title, MB/s", TOP + HEIGHT + 70);
	for my $d ($low .. $high) {
		printf $f "<path class=\"g\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, $y_of->(10 ** $d), PLOT, LEFT - 6, $y_of->(10 ** $d) + 4, 10 ** $d;
	}
	printf $f "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", $x_of->($end * $_ / 6),
		TOP + HEIGHT + 18, time_text($end * $_ / 6, $end) for 0 .. 6;
	my $x = LEFT;
	for my $system (grep { $lines->{$_} } @order) {
		my ($d, $begun) = ('', 0);
		for my $p (@{$lines->{$system}}) {
			if (!defined $p->[1]) {
				$begun = 0;
				next;
			}
			my $v = $p->[1] < 10 ** $low ? 10 ** $low : $p->[1];
			$d .= sprintf '%s%.1f %.1f', $begun++ ? 'L' : 'M', $x_of->($p->[0]), $y_of->($v);
		}
		print $f "<path stroke=\"$COLOUR{$system}\" d=\"$d\"/>\n";
		printf $f "<path stroke=\"%s\" d=\"M%d %dh20\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
			$COLOUR{$system}, $x, TOP + HEIGHT + 44, $x + 25, TOP + HEIGHT + 48, $system;
		$x += 36 + 8 * length $system;
	}
	print $f "</svg>\n";
	close $f or die "$path: $!\n";
	return 1;
}

# plot_bars FILE TITLE UNIT [[GROUP, [[SYSTEM, VALUE, LEAST, MOST], ...]], ...]
sub plot_bars {
	my ($path, $title, $unit, $groups) = @_;
	my @v = sort { $a <=> $b } grep { $_ > 0 } map { map { $_->[1] } @{$_->[1]} } @$groups;
	return 0 unless @v > 1;

	my ($row, $left, $plot) = (15, 240, 540);
	my ($low, $high) = decades($v[0] < 0.01 ? 0.01 : $v[0], $v[-1]);
	my $x_of = sub {
		my $v = $_[0] > 10 ** $low ? $_[0] : 10 ** $low;
		$left + $plot * (log($v) / log(10) - $low) / ($high - $low)
	};
	my $rows = 0;
	$rows += @{$_->[1]} + 1 for @$groups;
	open my $f, '>', $path or die "$path: $!\n";
	begin($f, $title, TOP + $rows * $row + 40);
	for my $d ($low .. $high) {
		printf $f "<path class=\"g\" d=\"M%.1f %dv%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g%s</text>\n",
			$x_of->(10 ** $d), TOP, $rows * $row, $x_of->(10 ** $d), TOP + $rows * $row + 16, 10 ** $d, $unit;
	}
	my $y = TOP;
	for my $group (@$groups) {
		my ($name, $bars) = @$group;
		for my $bar (@$bars) {
			my ($system, $value, $least, $most) = @$bar;
			printf $f "<text x=\"10\" y=\"%d\">%s</text>\n", $y + 11, escape($name) if $bar == $bars->[0];
			printf $f "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>" .
				"<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>" .
				"<path stroke=\"#fff\" d=\"M%.1f %dH%.1f\"/>" .
				"<text x=\"%.1f\" y=\"%d\">%.3g%s</text>\n",
				$left - 6, $y + 11, $system, $left, $y + 2, $x_of->($value) - $left, $row - 4,
				$COLOUR{$system}, $x_of->($least), $y + $row / 2, $x_of->($most),
				$x_of->($most) + 6, $y + 11, $value, $unit;
			$y += $row;
		}
		$y += $row;
	}
	print $f "</svg>\n";
	close $f or die "$path: $!\n";
	return 1;
}

1;
