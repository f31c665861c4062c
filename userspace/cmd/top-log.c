// SPDX-License-Identifier: GPL-2.0-only
/* A row of the screenful: how full the landing log is, what gets into it, and what leaves it. */
#include <inttypes.h>

#include "top.h"
#include "landing-size.h"
#include "size.h"

#define BAR	8

unsigned int top_draw_log(struct top_screen *s, const struct top_look *look, unsigned int row)
{
	const struct log_stats *log = &look->sample.log;
	const struct fusion_status *st = &look->st;
	const double part = st->log_most ? (double)st->log_segments / st->log_most : 0;
	char most[SIZE_TEXT], logged[SIZE_TEXT], in[SIZE_TEXT], out[SIZE_TEXT];
	unsigned int col;

	if (!st->logs)
		return row;
	top_put(s, row, 0, TOP_HEAD, "LOG");
	top_put_bar(s, row, TOP_LABEL, TOP_BOTH, BAR, part);
	col = top_put(s, row, TOP_LABEL + BAR, TOP_PLAIN, " %.0f%% of %s, %s in it", part * 100,
		      fus_size_text(most, st->log_most * st->extent_sectors << 9),
		      fus_size_text(logged, st->log_blocks * FUS_LANDING_BLOCK));
	if (log->known)
		col = top_put(s, row, col, TOP_PLAIN, "; in %s/s",
			      fus_size_text(in, look->rates.landed * FUS_LANDING_BLOCK));
	col = top_put(s, row, col, TOP_PLAIN, "; out %s/s",
		      fus_size_text(out, look->rates.drained * FUS_LANDING_BLOCK));
	if (st->log_stopped)
		top_put(s, row, col, TOP_BAD, "; STOPPED");
	else if (st->log_off)
		top_put(s, row, col, TOP_PLAIN, "; off");
	else if (log->waiting)
		top_put(s, row, col, TOP_BAD, "; %" PRIu64 " wait%s", log->waiting,
			log->waiting == 1 ? "s" : "");
	return row + 1;
}
