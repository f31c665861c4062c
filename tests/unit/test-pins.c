// SPDX-License-Identifier: GPL-2.0-only
/* The file with what is pinned on a set: written, read back, damaged, and cut off while written. */
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "error.h"
#include "fusionctl.h"
#include "pins.h"

static const char uuid[] = "4f0c8f1e-6a0c-4f3e-9d6c-1b8b8e0b7a52";

static char top[64], sub[80], path[160];

static void begin(void)
{
	snprintf(top, sizeof(top), "/tmp/test-pins.XXXXXX");
	REQUIRE(mkdtemp(top));
	snprintf(sub, sizeof(sub), "%s/fusion", top);
	snprintf(path, sizeof(path), "%s/%s.json", sub, uuid);
	fus_pins_dir = sub;
}

static void end(void)
{
	char command[96];

	fus_pins_dir = "/nonexistent";
	snprintf(command, sizeof(command), "rm -r %s", top);
	REQUIRE(!system(command));
}

static struct pin file(const char *name, int member)
{
	struct pin pin = {
		.member = member, .path = (char *)name, .inode = 12, .missed = 1700000000,
		.recursive = true,
	};

	strcpy(pin.file_system, "0c1d");
	snprintf(pin.handle, sizeof(pin.handle), "1:%02zx", strlen(name));
	return pin;
}

static struct pin extents(uint64_t first, uint64_t last, int member)
{
	return (struct pin) { .member = member, .first = first, .last = last };
}

static void add(struct pins *p, struct pin pin)
{
	REQUIRE(!fus_pins_add(p, &pin));
}

static void read_all(struct pins *p)
{
	REQUIRE(!fus_pins_read(uuid, p), "%s", fus_last_error()->what);
}

static void write_text(const char *text)
{
	FILE *f = fopen(path, "w");

	REQUIRE(f);
	fputs(text, f);
	fclose(f);
}

/* -- round trip ----------------------------------------------------------------------------- */

static void test_round_trip(void)
{
	/* bytes that are no UTF-8 as well */
	static const char odd[] = "/srv/\xff\xfe \"\\\n\x01 \xc3\xa4";
	struct pins p, q;
	struct stat st;

	begin();
	read_all(&p);
	REQUIRE(!p.nr && !strcmp(p.uuid, uuid));
	add(&p, file(odd, FAST));
	add(&p, extents(7, 7, SLOW));
	add(&p, file("/srv", SLOW));
	REQUIRE(!fus_pins_write(&p), "%s", fus_last_error()->what);
	REQUIRE(!stat(path, &st));
	REQUIRE_EQ(st.st_mode & 0777, 0600);
	read_all(&q);
	REQUIRE_EQ(q.nr, 3);
	REQUIRE(!strcmp(q.pin[0].path, odd) && q.pin[0].member == FAST && q.pin[0].recursive);
	REQUIRE(q.pin[0].inode == 12 && q.pin[0].missed == 1700000000);
	REQUIRE(!strcmp(q.pin[0].handle, p.pin[0].handle));
	REQUIRE(!q.pin[1].path && q.pin[1].first == 7 && q.pin[1].last == 7);
	REQUIRE_EQ(q.pin[1].member, SLOW);
	REQUIRE(fus_pins_find(&q, "0c1d", p.pin[2].handle) == &q.pin[2]);
	REQUIRE(!fus_pins_find(&q, "0c1e", p.pin[2].handle));
	/* none are no file */
	while (q.nr)
		fus_pins_remove(&q, 0);
	REQUIRE(!fus_pins_write(&q));
	REQUIRE(access(path, F_OK));
	REQUIRE(!fus_pins_write(&q));
	fus_pins_free(&p);
	fus_pins_free(&q);
	end();
}

/* -- damaged ---------------------------------------------------------------------------------- */

#define HEAD	"{\"version\":1,\"content\":\"dm-fusion pins\",\"set_uuid\":" \
		"\"4f0c8f1e-6a0c-4f3e-9d6c-1b8b8e0b7a52\",\"pins\":"
#define A_FILE	"\"path\":\"/a\",\"file_system\":\"x\",\"handle\":\"1:00\",\"inode\":1," \
		"\"missed\":0,\"recursive\":false,\"renamed\":false"

static void test_damaged(void)
{
	static const char *const bad[] = {
		"", "{", "[]", "7", "\"x\"", "{}", HEAD "[", HEAD "{}}", HEAD "[7]}", HEAD "[[]]}",
		HEAD "[{}]}", HEAD "[{\"member\":\"fast\"}]}",
		HEAD "[{\"member\":1,\"first\":1,\"last\":2}]}",
		HEAD "[{\"member\":\"none\",\"first\":1,\"last\":2}]}",
		HEAD "[{\"member\":\"fast\",\"first\":2,\"last\":1}]}",
		HEAD "[{\"member\":\"fast\",\"first\":-1,\"last\":1}]}",
		HEAD "[{\"member\":\"fast\",\"first\":1,\"last\":268435456}]}",
		HEAD "[{\"member\":\"fast\",\"first\":1,\"last\":\"2\"}]}",
		HEAD "[{\"member\":\"fast\",\"path\":7}]}",
		HEAD "[{\"member\":\"fast\",\"path\":\"a\"}]}",
		HEAD "[{\"member\":\"fast\",\"path\":\"/a\"}]}",
		HEAD "[{\"member\":\"fast\"," A_FILE ",\"recursive\":1}]}",
		HEAD "[{\"member\":\"fast\"," A_FILE ",\"renamed\":0}]}",
		HEAD "[{\"member\":\"fast\"," A_FILE ",\"inode\":\"1\"}]}",
		HEAD "[{\"member\":\"fast\"," A_FILE ",\"handle\":\"\"}]}",
		"{\"version\":2,\"content\":\"dm-fusion pins\",\"set_uuid\":"
		"\"4f0c8f1e-6a0c-4f3e-9d6c-1b8b8e0b7a52\",\"pins\":[]}",
		"{\"version\":1,\"content\":\"dm-fusion pins\",\"set_uuid\":"
		"\"00000000-6a0c-4f3e-9d6c-1b8b8e0b7a52\",\"pins\":[]}",
	};
	struct pins p;

	begin();
	REQUIRE(!mkdir(sub, 0700));
	write_text(HEAD "[{\"member\":\"fast\"," A_FILE "}]}");
	read_all(&p);
	REQUIRE_EQ(p.nr, 1);
	fus_pins_free(&p);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		write_text(bad[i]);
		REQUIRE_EQ(fus_pins_read(uuid, &p), FC_FAILED);
		REQUIRE(!strcmp(fus_last_error()->subject, path), "%s", bad[i]);
		REQUIRE(*fus_last_error()->what && *fus_last_error()->remedy, "%s", bad[i]);
		fus_pins_free(&p);
	}
	end();
}

static void test_odd_files(void)
{
	struct pins p;

	begin();
	REQUIRE(!mkdir(sub, 0700) && !mkdir(path, 0700));
	REQUIRE_EQ(fus_pins_read(uuid, &p), FC_FAILED);
	REQUIRE(!strcmp(fus_last_error()->subject, path));
	REQUIRE(!rmdir(path) && !mkfifo(path, 0600));
	REQUIRE_EQ(fus_pins_read(uuid, &p), FC_FAILED);
	REQUIRE(!unlink(path));
	/* too large, though it takes no room */
	write_text("{}");
	REQUIRE(!truncate(path, 33 << 20));
	REQUIRE_EQ(fus_pins_read(uuid, &p), FC_FAILED);
	REQUIRE(strstr(fus_last_error()->what, "File too large"), "%s", fus_last_error()->what);
	end();
}

/* -- whole or as before ----------------------------------------------------------------------- */

static void test_atomic(void)
{
	struct rlimit old, tiny;
	struct pins p, q;

	begin();
	read_all(&p);
	add(&p, file("/one", FAST));
	REQUIRE(!fus_pins_write(&p));
	add(&p, file("/two", FAST));
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
	tiny = old;
	tiny.rlim_cur = 40;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &tiny));
	REQUIRE_EQ(fus_pins_write(&p), FC_FAILED);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	REQUIRE(!strcmp(fus_last_error()->subject, path));
	read_all(&q);
	REQUIRE_EQ(q.nr, 1);
	fus_pins_free(&p);
	fus_pins_free(&q);
	end();
}

/* -- extents ---------------------------------------------------------------------------------- */

/* Cuts, compared with a bit for each extent. */
static void test_cut(void)
{
	bool is[64], any;
	u64 seed = 1;

	for (int round = 0; round < 2000; round++) {
		struct pins p = { .uuid = "x" };
		bool expect = false;

		memset(is, 0, sizeof(is));
		add(&p, file("/srv", FAST));
		for (int n = rnd_below(&seed, 4); n >= 0; n--) {
			u64 first = rnd_below(&seed, 64);
			u64 last = first + rnd_below(&seed, 64 - first);

			REQUIRE(!fus_pins_cut(&p, first, last, &any));
			add(&p, extents(first, last, n % 2));
			memset(is + first, 1, last - first + 1);
		}
		u64 first = rnd_below(&seed, 64), last = first + rnd_below(&seed, 64 - first);

		for (u64 i = first; i <= last; i++) {
			expect |= is[i];
			is[i] = false;
		}
		REQUIRE(!fus_pins_cut(&p, first, last, &any));
		REQUIRE_EQ(any, expect);
		for (size_t i = 0; i < p.nr; i++)
			for (u64 k = p.pin[i].first; !p.pin[i].path && k <= p.pin[i].last; k++) {
				/* no extent is in two of them */
				REQUIRE(is[k], "extent %llu", (unsigned long long)k);
				is[k] = false;
			}
		for (int i = 0; i < 64; i++)
			REQUIRE(!is[i], "extent %d", i);
		REQUIRE(fus_pins_find(&p, "0c1d", p.pin[0].handle) == &p.pin[0]);
		fus_pins_free(&p);
	}
}

static const struct unit_test tests[] = {
	{ "pins: what is written is read", test_round_trip },
	{ "pins: a damaged file is refused", test_damaged },
	{ "pins: what is no such file is refused", test_odd_files },
	{ "pins: a file that cannot be written stays as it was", test_atomic },
	{ "pins: ranges are cut", test_cut },
};

UNIT_TESTS(tests)
