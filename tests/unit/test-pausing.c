// SPDX-License-Identifier: GPL-2.0-only
/* The program while a device is suspended: signals, memory, and lines that have to wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "locked-memory.h"
#include "error.h"
#include "fusionctl.h"
#include "message.h"
#include "pausing.h"

static int oom_adj(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "re");
	int adj = 0;

	REQUIRE(f && fscanf(f, "%d", &adj) == 1);
	fclose(f);
	return adj;
}

/* What was printed as errors until now. */
static int output;

static bool printed(const char *text)
{
	char buf[4096];
	ssize_t n = pread(output, buf, sizeof(buf) - 1, 0);

	REQUIRE(n >= 0);
	buf[n] = 0;
	return strstr(buf, text);
}

static int begin_output(void)
{
	int was = dup(STDERR_FILENO);

	output = memfd_create("stderr", MFD_CLOEXEC);
	REQUIRE(was >= 0 && output >= 0 && dup2(output, STDERR_FILENO) >= 0);
	messages_begin();
	return was;
}

static void end_output(int was)
{
	REQUIRE(dup2(was, STDERR_FILENO) >= 0);
	close(was);
	close(output);
	fus_on_error(NULL);
}

static void get_held(bool held[65])
{
	sigset_t set;

	REQUIRE(!sigprocmask(SIG_SETMASK, NULL, &set));
	for (int i = 1; i < 65; i++)
		held[i] = sigismember(&set, i) > 0;
}

static const int signals[] = {
	SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGALRM, SIGUSR1, SIGPIPE,
};

static void test_pause(void)
{
	const int adj = oom_adj(), was = begin_output();
	char reason[REASON_TEXT];
	bool before[65] = { false }, after[65] = { false };
	struct pausing p;

	memset(&memory, 0, sizeof(memory));
	get_held(before);
	REQUIRE(!pausing_begin(&p, 1 << 20));
	REQUIRE(memory.locked);
	REQUIRE(oom_adj() == -1000 || (oom_adj() == adj && !*p.oom_adj));
	/* it goes on */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		raise(signals[i]);
	fus_fail(FC_FAILED, "data", "has failed; try again");
	REQUIRE(!printed("has failed"));
	/* those that have come */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
	pausing_reason(&p, reason);
	pausing_end(&p, false);
	REQUIRE(printed("data: has failed; try again"));
	REQUIRE(!memory.locked && oom_adj() == adj);
	REQUIRE(prctl(PR_GET_IO_FLUSHER, 0, 0, 0, 0) <= 0);
	get_held(after);
	REQUIRE(!memcmp(before, after, sizeof(before)));
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	end_output(was);
}

/* Its terminal may need the device: nothing is printed before the end of the program. */
static void test_stays(void)
{
	const int was = begin_output();
	bool before[65] = { false }, after[65] = { false };
	char reason[REASON_TEXT], what[32];
	struct pausing p;

	memset(&memory, 0, sizeof(memory));
	get_held(before);
	REQUIRE(!pausing_begin(&p, 0));
	/* more than it keeps */
	for (int i = 0; i < 20; i++) {
		snprintf(what, sizeof(what), "error %d", i);
		fus_fail(FC_FAILED, "data", "%s; try again", what);
	}
	pausing_reason(&p, reason);
	fus_fail(FC_FAILED, "data", "stays suspended; restart the machine");
	pausing_end(&p, true);
	REQUIRE(memory.locked && !printed("data") && memory.told);
	get_held(after);
	REQUIRE(!memcmp(before, after, sizeof(before)));
	messages_hold(false);
	REQUIRE(printed("error 0;") && printed("data: stays suspended; restart"));
	/* for the other tests */
	if (*p.oom_adj) {
		FILE *f = fopen("/proc/self/oom_score_adj", "we");

		REQUIRE(f && fputs(p.oom_adj, f) >= 0);
		fclose(f);
	}
	prctl(PR_SET_IO_FLUSHER, 0, 0, 0, 0);
	end_output(was);
}

static void test_no_memory(void)
{
	const int adj = oom_adj(), was = begin_output();
	bool before[65] = { false }, after[65] = { false };
	struct pausing p;

	memset(&memory, 0, sizeof(memory));
	memory.fails = EPERM;
	get_held(before);
	REQUIRE_EQ(pausing_begin(&p, 0), FC_FAILED);
	REQUIRE(printed("memory: the program cannot be kept in it while I/O waits: "));
	REQUIRE_EQ(oom_adj(), adj);
	get_held(after);
	REQUIRE(!memcmp(before, after, sizeof(before)));
	end_output(was);
}

static const struct unit_test tests[] = {
	{ "pausing: nothing ends it, and lines wait", test_pause },
	{ "pausing: the device stays suspended", test_stays },
	{ "pausing: memory that cannot be locked", test_no_memory },
};

UNIT_TESTS(tests)
