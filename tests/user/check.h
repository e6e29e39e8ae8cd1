/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A small harness for the tests of the user face. A program is a list of cases,
 * each with the rules it proves in its name; a check that fails ends its case.
 *
 *	static void case_pz(void)
 *	{
 *		CHECK_RET(dat_pz_free(NULL), ERR(INVALID_HANDLE, HANDLE_PZ));
 *	}
 *
 *	main(): return check_run(cases, ARRAY_SIZE(cases), NULL, argc, argv);
 *
 * Arguments are parts of case names: only those that match run. The last line
 * is "N passed, N failed".
 */
#ifndef CHECK_H
#define CHECK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <dat/udat.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct check_case {
	const char *name;
	void (*run)(void);
};

/* One of each in a program, however many files it has. */
__attribute__((weak)) jmp_buf check_end;
__attribute__((weak)) bool check_failed;
/* The case that runs */
__attribute__((weak)) const struct check_case *check_current;

/* DAT_INVALID_PARAMETER with DAT_INVALID_ARG2: ERR(INVALID_PARAMETER, ARG2) */
#define ERR(type, subtype)						\
	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_##type | DAT_INVALID_##subtype))
/* With a subtype of another family, or 0 */
#define ERR2(type, subtype)						\
	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_##type | (subtype)))
#define ARG(n)		ERR(INVALID_PARAMETER, ARG##n)
#define HANDLE(kind)	ERR(INVALID_HANDLE, HANDLE_##kind)
#define STATE(state)	ERR(INVALID_STATE, STATE_##state)

#define FAIL(...)							\
	do {								\
		printf("    %s:%d: ", __FILE__, __LINE__);		\
		printf(__VA_ARGS__);					\
		putchar('\n');						\
		check_failed = true;					\
		longjmp(check_end, 1);					\
	} while (0)

#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			FAIL("not so: %s", #cond);			\
	} while (0)

#define CHECK_EQ(value, expected)					\
	do {								\
		long long v_ = (long long)(value);			\
		long long e_ = (long long)(expected);			\
									\
		if (v_ != e_)						\
			FAIL("%s is %lld, expected %lld (%s)", #value,	\
			     v_, e_, #expected);			\
	} while (0)

#define CHECK_RET(call, expected)					\
	check_ret(call, expected, #call, __FILE__, __LINE__)
#define OK(call)	CHECK_RET(call, DAT_SUCCESS)

static inline const char *check_name(DAT_RETURN ret, char *buf, size_t size)
{
	const char *major, *minor;

	if (dat_strerror(ret, &major, &minor))
		snprintf(buf, size, "0x%x", ret);
	else
		snprintf(buf, size, "%s%s/%s",
			 ret && !(ret & DAT_CLASS_ERROR) ? "(no class) " : "",
			 major, minor);
	return buf;
}

static inline void check_ret(DAT_RETURN ret, DAT_RETURN expected,
			     const char *call, const char *file, int line)
{
	char a[128], b[128];

	if (ret == expected)
		return;
	printf("    %s:%d: %s\n      gave %s, expected %s\n", file, line, call,
	       check_name(ret, a, sizeof(a)),
	       check_name(expected, b, sizeof(b)));
	check_failed = true;
	longjmp(check_end, 1);
}

static inline double check_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static inline bool check_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

/*
 * Runs the cases; @after, if any, puts things back in order after each, also
 * after one that failed in the middle.
 */
static inline int check_run(const struct check_case *cases, size_t number,
			    void (*after)(void), int argc, char **argv)
{
	/* static: longjmp() comes back here */
	static unsigned int passed, failed;
	static double start;
	static size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < number; i++) {
		if (!check_wanted(cases[i].name, argc, argv))
			continue;
		check_failed = false;
		check_current = &cases[i];
		start = check_now();
		if (!setjmp(check_end))
			cases[i].run();
		if (after && !setjmp(check_end))
			after();
		printf("%s %s (%.2f s)\n", check_failed ? "FAIL" : "pass",
		       cases[i].name, check_now() - start);
		if (check_failed)
			failed++;
		else
			passed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}

#endif /* CHECK_H */
