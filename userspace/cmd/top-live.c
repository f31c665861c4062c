// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terminal of verb top. Its signals arrive through a descriptor: so they end or resize it
 * between two looks, and the terminal is as it was before anything else happens.
 */
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "top.h"
#include "error.h"
#include "fusionctl.h"
#include "message.h"
#include "terminal.h"
#include "text.h"

struct live {
	struct top_look look;
	struct top_reader reader;
	struct top_view view;
	char name[128], uuid[UUID_TEXT];
	unsigned int interval;		/* an index of intervals */
	double next;			/* when to look */
	FILE *out;
	SCREEN *screen;
	int signals;			/* a descriptor */
	sigset_t before;
	int signal;			/* the one that ended it, or 0 */
	bool quit, styles[NR_TOP_STYLES];
};

static const double intervals[] = { 0.2, 0.5, 1, 2, 5, 10, 30, 60 };
#define NR_INTERVALS	(sizeof(intervals) / sizeof(intervals[0]))
#define ONE_SECOND	2

/* -- the terminal ----------------------------------------------------------------- */

static int begin_signals(struct live *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, &l->before);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? fus_fail(FC_FAILED, "top", "cannot wait for signals: %s; try again",
					 strerror(errno)) : 0;
}

static void begin_colors(struct live *l)
{
	static const short color[NR_TOP_STYLES] = {
		[TOP_BAD] = COLOR_RED, [TOP_FAST] = COLOR_YELLOW, [TOP_SLOW] = COLOR_BLUE,
		[TOP_BOTH] = COLOR_MAGENTA,
	};
	enum color mode;

	if (color_mode(NULL, &mode) || mode == COLOR_NONE || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (int i = 0; i < NR_TOP_STYLES; i++)
		l->styles[i] = color[i] && init_pair(i, color[i], -1) != ERR;
}

static int begin_terminal(struct live *l)
{
	/* stdout is a stream of our own, which ncurses could not use */
	int fd = dup(STDOUT_FILENO);

	l->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (l->out)
		l->screen = newterm(NULL, l->out, stdin);
	if (!l->screen)
		return fus_fail(FC_FAILED, "TERM", "not a terminal that top can draw on; write "
				"fusionctl top --once");
	set_term(l->screen);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	begin_colors(l);
	return 0;
}

static void end_terminal(struct live *l)
{
	if (l->screen) {
		endwin();
		delscreen(l->screen);
	}
	if (l->out)
		fclose(l->out);
	if (l->signals >= 0)
		close(l->signals);
}

static void resize(void)
{
	struct winsize ws;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_row && ws.ws_col)
		resizeterm(ws.ws_row, ws.ws_col);
	clear();
}

/* -- drawing ---------------------------------------------------------------------- */

static attr_t attributes(enum top_style style)
{
	return style == TOP_HEAD || style == TOP_BAD ? A_BOLD : style == TOP_DIM ? A_DIM : 0;
}

static void show(const struct live *l, const struct top_screen *s)
{
	for (unsigned int row = 0; row < s->rows; row++) {
		const struct top_cell *cell = &s->cell[(size_t)row * s->cols];

		for (unsigned int col = 0; col < s->cols; col++) {
			wchar_t c[2] = { cell[col].c, 0 };
			cchar_t out;

			setcchar(&out, c, attributes(cell[col].style),
				 l->styles[cell[col].style] ? cell[col].style : 0, NULL);
			mvadd_wch(row, col, &out);
		}
	}
	refresh();
}

static int draw(struct live *l)
{
	struct top_screen s;
	char clock[16];
	time_t t = time(NULL);
	struct tm tm;

	if (!top_screen_init(&s, LINES, COLS, fus_utf8_output()))
		return fus_fail(FC_FAILED, "top", "not enough memory; close programs and try "
				"again");
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&t, &tm));
	l->view.clock = clock;
	top_draw(&s, &l->look, &l->view);
	show(l, &s);
	top_screen_free(&s);
	return 0;
}

/* -- the loop --------------------------------------------------------------------- */

static int look(struct live *l)
{
	int rc;

	rc = top_look(&l->look, l->name, l->uuid);
	l->next = top_now() + l->view.interval;
	return rc;
}

/* Show files in place of sectors: those that are there now; or sectors again. */
static void name_ranges(struct live *l)
{
	l->look.naming = !l->look.naming;
	top_names_free(&l->look.names);
	top_reader_end(&l->reader);
	if (!l->look.naming)
		return;
	snprintf(l->look.no_names, sizeof(l->look.no_names), "they are read, which may take "
		 "minutes");
	if (top_reader_begin(&l->reader, l->name, &l->look.heat))
		snprintf(l->look.no_names, sizeof(l->look.no_names), "%s; %s",
			 fus_last_error()->what, fus_last_error()->remedy);
}

static void take_names(struct live *l)
{
	top_reader_take(&l->reader, &l->look.names, l->look.no_names, sizeof(l->look.no_names));
}

static int next_set(struct live *l)
{
	char name[sizeof(l->name)];
	int rc;

	rc = top_next_set(l->name, name, sizeof(name));
	if (rc || !strcmp(name, l->name))
		return rc;
	snprintf(l->name, sizeof(l->name), "%s", name);
	top_reader_end(&l->reader);
	top_look_end(&l->look);
	*l->uuid = 0;
	l->view.paused = false;
	return look(l);
}

static void change_interval(struct live *l, int by)
{
	if (by < 0 ? !l->interval : l->interval == NR_INTERVALS - 1)
		return;
	l->interval += by;
	l->next += intervals[l->interval] - l->view.interval;
	l->view.interval = intervals[l->interval];
}

static int take_key(struct live *l, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		l->quit = true;
		return 0;
	case 'p':
	case ' ':
		l->view.paused = !l->view.paused;
		return 0;
	case 's':
		l->view.sort = (l->view.sort + 1) % NR_TOP_SORTS;
		return 0;
	case 'f':
		name_ranges(l);
		return 0;
	case '+':
	case '=':
		change_interval(l, 1);
		return 0;
	case '-':
		change_interval(l, -1);
		return 0;
	case 'n':
		return next_set(l);
	case '?':
	case 'h':
		l->view.help = !l->view.help;
		return 0;
	default:
		return 0;
	}
}

static void take_signals(struct live *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			resize();
		else
			l->signal = info.ssi_signo;
	}
}

/* Wait for a key, a signal, or the next look. */
static int wait_for_event(struct live *l)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN }, { .fd = l->signals, .events = POLLIN },
		{ .fd = l->reader.pid ? l->reader.fd : -1, .events = POLLIN },
	};
	double left = l->next - top_now();
	int key, rc = 0;

	if (poll(fds, 3, left > 0 ? left * 1000 + 1 : 0) < 0 && errno != EINTR)
		return fus_fail(FC_FAILED, "top", "cannot wait for keys: %s; try again",
				strerror(errno));
	if (fds[1].revents)
		take_signals(l);
	if (fds[2].revents)
		take_names(l);
	if (!fds[0].revents)
		return 0;
	key = getch();
	/* the terminal is gone */
	if (key == ERR && (fds[0].revents & (POLLHUP | POLLERR)))
		l->quit = true;
	for (; key != ERR && !rc && !l->quit; key = getch())
		rc = take_key(l, key);
	return rc;
}

static int run(struct live *l)
{
	bool was_paused;
	int rc;

	rc = look(l);
	if (!rc)
		rc = draw(l);
	while (!rc) {
		was_paused = l->view.paused;
		rc = wait_for_event(l);
		if (rc || l->quit || l->signal)
			break;
		if (top_now() < l->next) {
			rc = draw(l);
			continue;
		}
		/* whatever draws the screen again, it shows the same */
		if (l->view.paused)
			l->next = top_now() + l->view.interval;
		else
			rc = look(l);
		if (!rc && !(was_paused && l->view.paused))
			rc = draw(l);
	}
	return rc;
}

/*
 * End as if the signal had not been caught, by us or by ncurses. One that is ignored only ends top.
 */
static int end_by(int number)
{
	struct sigaction action;

	if (!sigaction(number, NULL, &action) && action.sa_handler != SIG_IGN)
		signal(number, SIG_DFL);
	raise(number);
	return 128 + number;
}

int top_live(const char *name)
{
	struct live *l = calloc(1, sizeof(*l));
	int rc, ended_by;

	if (!l)
		return fus_fail(FC_FAILED, "top", "not enough memory; close programs and try "
				"again");
	l->view = (struct top_view) { .live = true, .interval = intervals[ONE_SECOND] };
	l->interval = ONE_SECOND;
	l->signals = -1;
	snprintf(l->name, sizeof(l->name), "%s", name);
	rc = begin_signals(l);
	if (!rc)
		rc = begin_terminal(l);
	if (!rc) {
		/* not over the screen */
		messages_hold(true);
		rc = run(l);
	}
	end_terminal(l);
	messages_hold(false);
	ended_by = l->signal;
	top_reader_end(&l->reader);
	top_look_end(&l->look);
	sigprocmask(SIG_SETMASK, &l->before, NULL);
	free(l);
	return ended_by ? end_by(ended_by) : rc;
}
