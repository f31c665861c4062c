// SPDX-License-Identifier: GPL-2.0-only
/*
 * Assembly: which of the members that are found make a pair, what is a copy or of another
 * generation, which is too old; and what probe says to udev of superblocks with anything in
 * them. The members are made up; there are no such devices.
 */
#include "unit.h"

#include <sys/sysmacros.h>

#include "../../userspace/cmd/assemble.c"
#include "../../userspace/cmd/identify.c"

#define FAST_SECTORS	0x100000ULL
#define SLOW_SECTORS	0x800000ULL
#define MAX_MEMBERS	6

static char said[sizeof(struct fus_error)];

/* The text of assemble.c. */
static void hear(const struct fus_error *e)
{
	snprintf(said, sizeof(said), "%s: %s; %s", e->subject, e->what, e->remedy);
}

/* -- made-up members ------------------------------------------------------------ */

static struct member member[MAX_MEMBERS];
static struct fusion_sb super[MAX_MEMBERS];
static unsigned int nr;

/* Add a member of the set @set; by uuids of one letter. */
static struct member *add(int role, char set, char uuid, char peer)
{
	struct member *m = &member[nr];
	struct fusion_sb *sb = &super[nr];

	REQUIRE(nr < MAX_MEMBERS, "too many");
	memset(m, 0, sizeof(*m));
	example_sb(sb, FAST_SECTORS, SLOW_SECTORS, 2048);
	sb->role = role;
	memset(sb->set_uuid, set, sizeof(sb->set_uuid));
	memset(sb->dev_uuid, uuid, sizeof(sb->dev_uuid));
	memset(sb->peer_uuid, peer, sizeof(sb->peer_uuid));
	m->sb = sb;
	m->state = MEMBER_OK;
	/* a major number that is not in use */
	m->devno = makedev(4000, nr);
	m->sectors = role ? SLOW_SECTORS : FAST_SECTORS;
	snprintf(m->path, sizeof(m->path), "/dev/made-up%u", nr);
	if (nr)
		member[nr - 1].next = m;
	nr++;
	*said = 0;
	fus_on_error(hear);
	return m;
}

static struct member *begin(int role, char set, char uuid, char peer)
{
	nr = 0;
	return add(role, set, uuid, peer);
}

/* -- pairs ---------------------------------------------------------------------- */

static void pair_in_any_order(void)
{
	struct pair p;

	for (int first = FAST; first <= SLOW; first++) {
		struct member *a = begin(first, 'S', 'a', 'b'), *b = add(!first, 'S', 'b', 'a');

		REQUIRE_EQ(find_pair(member, a, &p), 0);
		REQUIRE((p.m == a && p.peer == b) || (p.m == b && p.peer == a), "no pair");
		REQUIRE(!p.foreign, "%s", p.foreign->path);
		REQUIRE(begins_set(member, a) && !begins_set(member, b), "which is first");
	}
}

static void pairs_of_two_sets(void)
{
	struct member *a = begin(FAST, 'S', 'a', 'b'), *c = add(FAST, 'T', 'c', 'd');
	struct member *d = add(SLOW, 'T', 'd', 'c');
	struct pair p;

	REQUIRE(begins_set(member, c) && !begins_set(member, d), "which is first");
	REQUIRE_EQ(find_pair(member, a, &p), 0);
	REQUIRE(p.m == a && !p.peer && !p.foreign, "the first set lacks a member");
	REQUIRE_EQ(find_pair(member, c, &p), 0);
	REQUIRE(p.m && p.peer && p.m != a && p.peer != a, "the second one does not");
}

static void damaged_is_no_member(void)
{
	struct member *a = begin(FAST, 'S', 'a', 'b'), *b = add(SLOW, 'S', 'b', 'a');
	struct pair p;

	b->state = MEMBER_DAMAGED;
	REQUIRE_EQ(find_pair(member, a, &p), 0);
	REQUIRE(p.m == a && !p.peer, "what is not readable is not there");
}

static void copy_is_refused(void)
{
	for (int i = 0; i < 3; i++) {
		struct member *first = begin(FAST, 'S', 'a', 'b');
		struct pair p;

		/* wherever in the list, and if it is of the other member */
		if (i == 1)
			add(FAST, 'S', 'a', 'b');
		add(SLOW, 'S', 'b', 'a');
		if (i == 0)
			add(FAST, 'S', 'a', 'b');
		if (i == 2)
			add(SLOW, 'S', 'b', 'a');
		REQUIRE_EQ(find_pair(member, first, &p), FC_MEMBER);
		REQUIRE(strstr(said, "is a copy of"), "%s", said);
	}
}

/* Two fast members name the slow one, which names one of them. */
static void foreign_is_told_apart(void)
{
	struct pair p;

	for (int wrong = 0; wrong < 2; wrong++) {
		struct member *x = begin(FAST, 'S', wrong ? 'a' : 'x', 'b');
		struct member *y = add(FAST, 'S', wrong ? 'x' : 'a', 'b');
		struct member *b = add(SLOW, 'S', 'b', 'a');
		struct member *good = wrong ? x : y, *bad = wrong ? y : x;

		REQUIRE_EQ(find_pair(member, x, &p), 0);
		REQUIRE((p.m == good && p.peer == b) || (p.m == b && p.peer == good), "no pair");
		REQUIRE(p.foreign == bad, "which is foreign");
	}
}

/* The first of two fast members was replaced by the second one, and does not know. */
static void replaced_is_told_apart(void)
{
	struct member *x = begin(FAST, 'S', 'x', 'b'), *a = add(FAST, 'S', 'a', 'b');
	struct member *b = add(SLOW, 'S', 'b', 'a');
	struct pair p;

	/* the begin and the end of a replacement raise it */
	a->sb->layout_seq = x->sb->layout_seq + 2;
	b->sb->layout_seq = a->sb->layout_seq;
	REQUIRE_EQ(find_pair(member, x, &p), 0);
	REQUIRE(p.m && p.peer && !p.foreign, "no pair");
	REQUIRE(p.replaced == x, "which was replaced");
	REQUIRE(fus_was_replaced(x->sb, a->sb) && fus_was_replaced(x->sb, b->sb), "by whom");
	REQUIRE(!fus_was_replaced(a->sb, b->sb) && !fus_was_replaced(b->sb, a->sb) &&
		!fus_was_replaced(a->sb, x->sb), "the other way");
	/* what it has may be all that there is, until the other one is found */
	REQUIRE_EQ(fail_foreign(x, b, true), FC_MEMBER);
	REQUIRE(strstr(fus_last_error()->remedy, "run fusionctl wipe"));
	REQUIRE_EQ(fail_foreign(x, b, false), FC_MEMBER);
	REQUIRE(!strstr(fus_last_error()->remedy, "wipe"), "%s", fus_last_error()->remedy);
	/* it names another partner, or is of another set */
	memset(x->sb->peer_uuid, 'c', sizeof(x->sb->peer_uuid));
	REQUIRE(!fus_was_replaced(x->sb, a->sb) && !fus_was_replaced(x->sb, b->sb), "its partner");
	memset(x->sb->peer_uuid, 'b', sizeof(x->sb->peer_uuid));
	memset(x->sb->set_uuid, 'T', sizeof(x->sb->set_uuid));
	REQUIRE(!fus_was_replaced(x->sb, a->sb) && !fus_was_replaced(x->sb, b->sb), "its set");
	memset(x->sb->set_uuid, 'S', sizeof(x->sb->set_uuid));
	/* something lies there still */
	a->sb->incompat |= FUSION_INCOMPAT_OLD_MEMBER;
	fusion_old_describe(x->sb, FUSION_OLD_MEMBER, &a->sb->old);
	REQUIRE(!fus_was_replaced(x->sb, a->sb), "it is needed");
	a->sb->incompat &= ~FUSION_INCOMPAT_OLD_MEMBER;
	/* such a layout does not come from a replacement */
	x->sb->layout_seq++;
	REQUIRE(!fus_was_replaced(x->sb, a->sb) && !fus_was_replaced(x->sb, b->sb), "its layout");
	x->sb->layout_seq = U32_MAX;
	REQUIRE(!fus_was_replaced(x->sb, a->sb), "it wraps");
}

static void waits(void)
{
	struct member *m = begin(FAST, 'S', 'a', 'b');
	char text[512];

	waits_text(&(struct pair){ .m = m }, text, sizeof(text));
	REQUIRE(strstr(text, "the fast member /dev/made-up0 is here, the slow one is missing (slow "
		"model, serial slow serial, 4G, uuid 62626262-"), "%s", text);
	memset(m->sb->peer.model, '%', sizeof(m->sb->peer.model));
	memset(m->sb->peer.serial, 's', sizeof(m->sb->peer.serial));
	waits_text(&(struct pair){ .m = m }, text, sizeof(text));
	waits_text(&(struct pair){ .m = m }, text, 16);
	REQUIRE_EQ(strlen(text), 15);
}

/* -- for udev --------------------------------------------------------------------- */

/* The output of show_udev(). */
static char *shown(const struct member *m)
{
	static char text[4096];
	FILE *f = tmpfile(), *out = stdout;
	size_t n;

	REQUIRE(f, "no file");
	fflush(stdout);
	stdout = f;
	show_udev(m);
	fflush(f);
	stdout = out;
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

/* For any label, a line is a key, =, and characters without special meaning. */
static void labels(void)
{
	struct member *m = begin(FAST, 'S', 'a', 'b');
	u64 state = 1;
	char *text, *line, *save, *value;
	unsigned int round;

	for (round = 0; round < 20000; round++) {
		unsigned int len = rnd_below(&state, FUSION_LABEL_SIZE + 1);

		memset(m->sb->label, 0, sizeof(m->sb->label));
		rnd_fill(&state, m->sb->label, len);
		text = shown(m);
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			value = strchr(line, '=');
			REQUIRE(value && !strncmp(line, "ID_F", 4), "%s", line);
			REQUIRE(!strpbrk(value, "\"'$`; \t"), "%s", line);
			REQUIRE(!strstr(line, "_ENC=") || !strchr(value, '/'), "%s", line);
		}
	}
	memset(m->sb->label, 0, sizeof(m->sb->label));
	REQUIRE(!strstr(shown(m), "LABEL"), "%s", shown(m));
	strcpy(m->sb->label, "a b");
	REQUIRE(strstr(shown(m), "ID_FS_LABEL_ENC=a\\x20b\nID_FS_LABEL=a_b\n"), "%s", shown(m));
	m->state = MEMBER_UNKNOWN;
	REQUIRE(!strcmp(shown(m), "ID_FS_TYPE=fusion_member\nID_FS_USAGE=raid\n"), "%s", shown(m));
}

static const struct unit_test tests[] = {
	{ "two members in any order are a pair", pair_in_any_order },
	{ "members of two sets are not mixed", pairs_of_two_sets },
	{ "a damaged member is none", damaged_is_no_member },
	{ "a copy is refused", copy_is_refused },
	{ "a member of another generation is told apart", foreign_is_told_apart },
	{ "one that was replaced, and does not know, is told apart", replaced_is_told_apart },
	{ "what is said of a set that waits", waits },
	{ "any label is harmless to udev", labels },
};

UNIT_TESTS(tests);
