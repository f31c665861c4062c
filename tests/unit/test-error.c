// SPDX-License-Identifier: GPL-2.0-only
/* Errors as structures: what is wrong and what helps are apart, whatever the arguments contain. */
#include "unit.h"

#include "error.h"

static struct fus_error heard;
static unsigned int nr_heard;

static void hear(const struct fus_error *e)
{
	heard = *e;
	nr_heard++;
}

static void test_parts(void)
{
	const struct fus_error *e = fus_last_error();

	REQUIRE_EQ(fus_fail(FC_BUSY, "/dev/sda", "%s; %s", "is held by a; b", "remove c; then d"),
		   FC_BUSY);
	REQUIRE(!e->warning);
	REQUIRE_EQ(e->code, FC_BUSY);
	REQUIRE(!strcmp(e->subject, "/dev/sda"), "%s", e->subject);
	REQUIRE(!strcmp(e->what, "is held by a; b"), "%s", e->what);
	REQUIRE(!strcmp(e->remedy, "remove c; then d"), "%s", e->remedy);

	fus_fail(FC_REFUSED, "data", "is %d years old; open it; only if %s, add --force", 3,
		 "lost");
	REQUIRE(!strcmp(e->what, "is 3 years old"), "%s", e->what);
	REQUIRE(!strcmp(e->remedy, "open it; only if lost, add --force"), "%s", e->remedy);

	fus_fail(FC_FAILED, "data", "%s", "one; two");
	REQUIRE(!strcmp(e->what, "one; two"), "%s", e->what);
	REQUIRE(!*e->remedy, "%s", e->remedy);
}

/* Each of its texts ends where its room does. */
static void test_long(void)
{
	const struct fus_error *e = fus_last_error();
	char text[3 * FUS_ERROR_TEXT];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	fus_fail(FC_FAILED, text, "%s; see dmesg", text);
	REQUIRE_EQ(strlen(e->subject), FUS_ERROR_TEXT - 1);
	REQUIRE_EQ(strlen(e->what), FUS_ERROR_TEXT - 1);
	REQUIRE(!*e->remedy, "%s", e->remedy);
	text[FUS_ERROR_TEXT] = 0;
	fus_fail(FC_FAILED, "data", "%s; see %s", text, text);
	REQUIRE_EQ(strlen(e->what), FUS_ERROR_TEXT - 1);
	REQUIRE(!strncmp(e->remedy, "see xxx", 7), "%s", e->remedy);
}

/* A warning is heard, and is not the last error. */
static void test_listener(void)
{
	fus_fail(FC_MEMBER, "/dev/sdb", "shrank; restore its old size");
	fus_on_error(hear);
	fus_warn("data", "had an error; run fusionctl check");
	REQUIRE_EQ(nr_heard, 1);
	REQUIRE(heard.warning);
	REQUIRE(!strcmp(heard.subject, "data") && !strcmp(heard.remedy, "run fusionctl check"));
	REQUIRE(!strcmp(fus_last_error()->subject, "/dev/sdb"));
	fus_fail(FC_DAMAGED, "data", "is damaged; run fusionctl repair");
	REQUIRE_EQ(nr_heard, 2);
	REQUIRE(!heard.warning);
	REQUIRE_EQ(heard.code, FC_DAMAGED);
	fus_on_error(NULL);
	fus_warn("data", "is fine; do nothing");
	REQUIRE_EQ(nr_heard, 2);
}

static const struct unit_test tests[] = {
	{ "error: what is wrong, and the remedy", test_parts },
	{ "error: long texts", test_long },
	{ "error: who listens", test_listener },
};

UNIT_TESTS(tests)
