// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The grammar of dat.conf (udapl-shim/conf.c), from the inside, line by line; and the end of
 * the registry in a process.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "registry.h"

#define REST	" u1.2 threadsafe default libx.so x.1.0 \"\" \"\""

static char why[SHIM_WHY];

/* The record of a line; NULL: there is none, and nothing is wrong. */
static struct shim_record *record(const char *line)
{
	struct shim_record *rec;

	if (!shim_conf_line(line, strlen(line), &rec, why))
		FAIL("%s: %s", line, why);
	return rec;
}

static void is_bad(const char *line, const char *because)
{
	struct shim_record *rec;

	if (shim_conf_line(line, strlen(line), &rec, why))
		FAIL("good: %s", line);
	CHECK(!rec);
	if (!strstr(why, because))
		FAIL("%s: \"%s\" has no \"%s\"", line, why, because);
}

static void name_is(const char *line, const char *name)
{
	struct shim_record *rec = record(line);

	CHECK(rec);
	if (strcmp(rec->info.ia_name, name))
		FAIL("%s: the name is %s", line, rec->info.ia_name);
}

static void case_fields(void)
{
	struct shim_record *rec;

	rec = record("a u1.2 threadsafe default /lib/x.so x.1.0 \"p q\" \"r\"");
	CHECK(rec && !rec->own);
	CHECK(!strcmp(rec->info.ia_name, "a"));
	CHECK_EQ(rec->info.dapl_version_major, 1);
	CHECK_EQ(rec->info.dapl_version_minor, 2);
	CHECK_EQ(rec->info.is_thread_safe, DAT_TRUE);
	CHECK(!strcmp(rec->library, "/lib/x.so"));
	CHECK(!strcmp(rec->parameters, "p q"));
	rec = record("\t a\tu1.2  nonthreadsafe default l x.1.0 p r \t");
	CHECK(rec);
	CHECK_EQ(rec->info.is_thread_safe, DAT_FALSE);
	CHECK(!strcmp(rec->parameters, "p"));
	CHECK(record("a" REST "\r"));
	CHECK(!record(""));
	CHECK(!record(" \t\r"));
	is_bad("a", "1 fields");
	is_bad("a u1.2 threadsafe default l x.1.0 \"\"", "7 fields");
	is_bad("a" REST " more", "more than eight");
}

/* The CR is no byte of the line: of the longest one neither, nor of one that is too long. */
static void case_longest(void)
{
	char line[5000];
	struct shim_record *rec;

	memset(line, ' ', sizeof(line));
	memcpy(line, "a" REST, strlen("a" REST));
	line[4096] = '\r';
	CHECK(shim_conf_line(line, 4097, &rec, why) && rec);
	line[4096] = ' ';
	line[4097] = '\r';
	CHECK(!shim_conf_line(line, 4098, &rec, why) && !rec);
}

static void case_comments(void)
{
	CHECK(!record("# a" REST));
	CHECK(!record("  #"));
	CHECK(record("a" REST " # more"));
	CHECK(record("a" REST "# more"));
	name_is("a#b" REST, "a#b");
	name_is("\"#a\"" REST, "#a");
	is_bad("a u1.2 threadsafe # default libx.so x.1.0 \"\" \"\"", "3 fields");
}

static void case_quotes(void)
{
	name_is("\"a b\"" REST, "a b");
	name_is("\"a\\\"b\\\\c\"" REST, "a\"b\\c");
	name_is("a\\b" REST, "a\\b");
	/* Nothing need be between a quoted field and the next one. */
	name_is("\"a\"u1.2 threadsafe default \"l\"x.1.0 \"\"\"\"", "a");
	is_bad("\"a\\tb\"" REST, "backslash");
	is_bad("\"a\\", "backslash");
	is_bad("a\"b\"" REST, "inside a field");
	is_bad("a u1.2 threadsafe default libx.so x.1.0 \"\" \"p", "not closed");
	is_bad("\"\"" REST, "field 1");
}

static void case_malformed(void)
{
	char line[5000], name[300];
	struct shim_record *rec;

	is_bad("a x1.2 threadsafe default l x.1.0 p r", "field 2");
	is_bad("a u1 threadsafe default l x.1.0 p r", "field 2");
	is_bad("a u1.2.3 threadsafe default l x.1.0 p r", "field 2");
	is_bad("a u.2 threadsafe default l x.1.0 p r", "field 2");
	is_bad("a u1.4294967296 threadsafe default l x.1.0 p r", "field 2");
	is_bad("a u1.2 threadsafely default l x.1.0 p r", "field 3");
	is_bad("a u1.2 THREADSAFE default l x.1.0 p r", "field 3");
	is_bad("a u1.2 threadsafe defaults l x.1.0 p r", "field 4");
	is_bad("a u1.2 threadsafe default \"\" x.1.0 p r", "field 5");
	memset(name, 'n', sizeof(name));
	snprintf(line, sizeof(line), "%.255s" REST, name);
	CHECK(record(line));
	snprintf(line, sizeof(line), "%.256s" REST, name);
	is_bad(line, "field 1");
	/* The longest line, and one byte more */
	memset(line, ' ', sizeof(line));
	memcpy(line, "a" REST, strlen("a" REST));
	CHECK(shim_conf_line(line, 4096, &rec, why) && rec);
	CHECK(!shim_conf_line(line, 4097, &rec, why) && !rec);
	CHECK(!shim_conf_line("a\0b" REST, 3 + strlen(REST), &rec, why) && !rec);
}

static void case_for_others(void)
{
	CHECK(!record("a k1.2 threadsafe default l x.1.0 p r"));
	CHECK(!record("a u1.2 threadsafe nondefault l x.1.0 p r"));
	/* Even they are well formed. */
	is_bad("a k1.2 threadsafe default l x.1 p r", "field 6");
	is_bad("a u1.2 threads nondefault l x.1.0 p r", "field 3");
}

static void case_provider_version(void)
{
	CHECK(record("a u1.2 threadsafe default l SUNW.1.0 p r"));
	CHECK(record("a u1.2 threadsafe default l a.b.7.1.0 p r"));
	is_bad("a u1.2 threadsafe default l SUNW1.0 p r", "field 6");
	is_bad("a u1.2 threadsafe default l .1.0 p r", "field 6");
	is_bad("a u1.2 threadsafe default l x.1.b p r", "field 6");
	is_bad("a u1.2 threadsafe default l x p r", "field 6");
}

static void own_is(const char *parameters, const char *adapter)
{
	struct shim_record *rec;
	char line[300];

	snprintf(line, sizeof(line), "a u1.2 threadsafe default libdat.so.1 kdapl.1.0 \"%s\" \"\"",
		 parameters);
	rec = record(line);
	CHECK(rec && rec->own);
	if (strcmp(rec->adapter, adapter))
		FAIL("\"%s\" is %s", parameters, rec->adapter);
}

static void own_is_bad(const char *parameters)
{
	char line[300];

	snprintf(line, sizeof(line), "a u1.2 threadsafe default libdat.so.1 kdapl.1.0 \"%s\" \"\"",
		 parameters);
	is_bad(line, "");
}

static void case_own(void)
{
	struct shim_record *rec;

	CHECK(record("a u1.2 threadsafe default libdat.so x.1.0 p r")->own);
	CHECK(record("a u1.2 threadsafe default /usr/lib/libdat.so.1.0.0 x.1.0 p r")->own);
	CHECK(record("a u1.2 threadsafe default anything kdapl.1.0 p r")->own);
	CHECK(!record("a u1.2 threadsafe default libdat2.so.2 x.1.0 p r")->own);
	CHECK(!record("a u1.2 threadsafe default libdat.soap x.1.0 p r")->own);
	own_is("", "a");
	own_is("mode=auto", "a");
	own_is("rxe0-1", "rxe0-1");
	own_is("rxe0 1", "rxe0-1");
	own_is(" mode=forwarded; rxe0,1 ", "rxe0-1");
	rec = record("a u1.2 threadsafe default l kdapl.1.0 \"rxe0-1 mode=passthrough\" r");
	CHECK(rec->has_mode);
	CHECK_EQ(rec->mode, SHIM_MODE_PASSTHROUGH);
	CHECK(!record("a u1.2 threadsafe default l kdapl.1.0 rxe0-1 r")->has_mode);
	rec = record("a u1.2 threadsafe default l kdapl.1.0 \"rxe0-1 last=tell mode=auto\" r");
	CHECK(rec->tells_last && !strcmp(rec->adapter, "rxe0-1"));
	CHECK(!record("a u1.2 threadsafe default l kdapl.1.0 \"rxe0-1\" r")->tells_last);
	own_is_bad("last=");
	own_is_bad("last=tells");
	own_is_bad("mode=fast");
	own_is_bad("mode=");
	own_is_bad("queue=7");
	own_is_bad("rxe0 one");
	own_is_bad("rxe0 1 2");
}

/* Runs after the end of the registry, in the child of the case that is the last one. */
static bool at_the_end;

static __attribute__((destructor(101))) void after_the_end(void)
{
	static DAT_PROVIDER table;
	DAT_PROVIDER_INFO info = { .ia_name = "late", .dapl_version_major = 1 };

	if (!at_the_end)
		return;
	if (dat_registry_add_provider(&table, &info) != ERR2(INVALID_STATE, 0))
		_exit(1);
	if (dat_registry_remove_provider(&table, &info) != ERR2(INVALID_STATE, 0))
		_exit(2);
	_exit(42);
}

static void case_end(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		at_the_end = true;
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 42);
}

static const struct check_case cases[] = {
	{ "G16 G17 fields, blanks, the end of a line", case_fields },
	{ "G17 G21 the end of the longest line", case_longest },
	{ "G18 comments", case_comments },
	{ "G19 G20 quotes and backslashes", case_quotes },
	{ "G21 malformed records", case_malformed },
	{ "G22 G23 records for others", case_for_others },
	{ "G26 the version of a provider", case_provider_version },
	{ "G16 parameters of kdapl's own adapters", case_own },
	{ "G11 the registry has ended", case_end },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
}
