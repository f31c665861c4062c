// SPDX-License-Identifier: GPL-2.0-only
/* The question before anything is overwritten. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ask.h"
#include "error.h"
#include "fusionctl.h"
#include "probe.h"
#include "text.h"
#include "verb.h"

bool may_ask(const struct args *a)
{
	return isatty(STDIN_FILENO) && !a->opt[OPT_YES] && !a->opt[OPT_JSON];
}

int check_may_go(const struct args *a, const char *path, const char *content)
{
	if (!*content || a->opt[OPT_FORCE] || may_ask(a))
		return 0;
	return fus_fail(FC_REFUSED, path, "contains %s; to overwrite that, add --force", content);
}

void add_contents(char *question, size_t size, const char *const path[2],
		  char content[2][CONTENT_TEXT])
{
	const char *sep = ", with ";

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(question);

		if (!*content[i])
			continue;
		snprintf(question + n, size - n, "%s%s on %s", sep, content[i], path[i]);
		sep = " and ";
	}
}

int confirm(const char *thing, const char *nobody, const char *question)
{
	char answer[16], safe[2048];

	if (!isatty(STDIN_FILENO))
		return fus_fail(FC_REFUSED, thing, "%s, and there is no terminal to ask on; add "
				"--yes", nobody);
	fflush(stdout);
	/* the output may go to a file */
	fprintf(stderr, "%s; type yes: ",
		fus_safe_text(safe, sizeof(safe), question, SIZE_MAX, fus_utf8_output()));
	if (!fgets(answer, sizeof(answer), stdin))
		*answer = 0;
	answer[strcspn(answer, "\n")] = 0;
	if (!strcasecmp(answer, "yes") || !strcasecmp(answer, "y"))
		return 0;
	return fus_fail(FC_REFUSED, thing, "nothing was changed; answer yes to continue");
}

int confirm_devices(const struct question *q, const char *const path[2],
		    char content[2][CONTENT_TEXT])
{
	char nobody[512], question[1536];

	snprintf(nobody, sizeof(nobody), "%s on %s and %s would be %s", q->what, path[FAST],
		 path[SLOW], q->becomes);
	snprintf(question, sizeof(question), "%s %s and %s%s", q->ask, path[FAST], path[SLOW],
		 q->end);
	add_contents(question, sizeof(question), path, content);
	return confirm(q->thing, nobody, question);
}

int check_no_question(const struct args *a)
{
	if (!a->opt[OPT_JSON] || a->opt[OPT_YES] || a->opt[OPT_DRY_RUN])
		return 0;
	return fus_fail(FC_USAGE, "--json", "allows no question; add --yes or --dry-run");
}
