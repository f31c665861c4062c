// SPDX-License-Identifier: GPL-2.0-only
/* Programs of the system, run without a shell. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static const char *const directories[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

#define NR_DIRECTORIES	(sizeof(directories) / sizeof(directories[0]))

bool fus_program_path(const char *name, char *buf, size_t size)
{
	for (size_t i = 0; i < NR_DIRECTORIES; i++) {
		snprintf(buf, size, "%s/%s", directories[i], name);
		if (!access(buf, X_OK))
			return true;
	}
	return false;
}

bool fus_program_exists(const char *name)
{
	char path[128];

	return fus_program_path(name, path, sizeof(path));
}

/* In the child: use neither the path nor the options of the caller. */
static __attribute__((noreturn)) void become(const char *const argv[], int out)
{
	char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	char path[128];

	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
	}
	for (size_t i = 0; i < NR_DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]);
		execve(path, (char *const *)argv, environment);
	}
	if (out >= 0)
		dprintf(out, "there is no %s\n", argv[0]);
	_exit(127);
}

/* What is read: the output of a program, until a signal comes. */
struct source {
	int out;
	int signals;		/* -1: none is waited for */
};

/* For fopencookie(). A signal that came before it is seen as well. */
static ssize_t read_source(void *cookie, char *buf, size_t size)
{
	const struct source *s = cookie;
	struct pollfd p[] = {
		{ .fd = s->out, .events = POLLIN }, { .fd = s->signals, .events = POLLIN },
	};

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -1;
	return p[1].revents ? -1 : read(s->out, buf, size);
}

/* Return: false if a signal has come, or @each wants no more. */
static bool read_lines(struct source *s, bool (*each)(const char *line, void *ctx), void *ctx)
{
	FILE *f = fopencookie(s, "r", (cookie_io_functions_t) { .read = read_source });
	char *line = NULL;
	bool goes_on = f;
	size_t room = 0;

	while (goes_on && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		goes_on = each(line, ctx);
	}
	if (f && ferror(f))
		goes_on = false;
	free(line);
	if (f)
		fclose(f);
	return goes_on;
}

/* Hold those of the signals that end a program which this one catches; or -1. */
static int hold_caught(sigset_t *before)
{
	static const int ends[] = FUS_ENDING_SIGNALS;
	struct sigaction action;
	sigset_t caught;
	int fd;

	sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &action) && action.sa_handler != SIG_DFL &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&caught, ends[i]);
	fd = signalfd(-1, &caught, SFD_CLOEXEC);
	if (fd >= 0)
		sigprocmask(SIG_BLOCK, &caught, before);
	return fd;
}

static int wait_for(pid_t pid)
{
	int status = -1;
	pid_t got;

	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	return got == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fus_program_tied(const char *const argv[], bool (*each)(const char *line, void *ctx), void *ctx)
{
	int out[2], status = -1;
	struct source source;
	sigset_t before;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -1;
	source.out = out[0];
	source.signals = hold_caught(&before);
	pid = source.signals < 0 ? -1 : fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		become(argv, out[1]);
	}
	close(out[1]);
	if (pid > 0 && !read_lines(&source, each, ctx))
		kill(pid, SIGKILL);
	close(out[0]);
	if (pid > 0)
		status = wait_for(pid);
	if (source.signals >= 0) {
		close(source.signals);
		/* a handler may run now */
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return status;
}

struct listener {
	void (*each)(const char *line, void *ctx);
	void *ctx;
};

static bool pass_on(const char *line, void *ctx)
{
	const struct listener *l = ctx;

	l->each(line, l->ctx);
	return true;
}

int fus_program_run(const char *const argv[], void (*each)(const char *line, void *ctx), void *ctx)
{
	struct source source = { -1, -1 };
	struct listener l = { each, ctx };
	int out[2] = { -1, -1 };
	pid_t pid;

	if (each && pipe2(out, O_CLOEXEC))
		return -1;
	source.out = out[0];
	pid = fork();
	if (!pid)
		become(argv, out[1]);
	if (each) {
		close(out[1]);
		read_lines(&source, pass_on, &l);
		close(out[0]);
	}
	return pid > 0 ? wait_for(pid) : -1;
}

struct said {
	char *buf;
	size_t size;
};

static void keep_line(const char *line, void *ctx)
{
	struct said *said = ctx;

	if (*line)
		snprintf(said->buf, said->size, "%s", line);
}

int fus_program_say(const char *const argv[], char *buf, size_t size)
{
	struct said said = { buf, size };

	*buf = 0;
	return fus_program_run(argv, keep_line, &said);
}
