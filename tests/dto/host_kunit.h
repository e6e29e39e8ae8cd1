/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * As much of KUnit as the suites of this folder use, for a program of the host.  A file with a
 * suite is a program: it prints a line for each case, and ends with "N passed, N failed".
 */
#ifndef HOST_KUNIT_H
#define HOST_KUNIT_H

#include <stdio.h>

struct kunit {
	unsigned int failed;
};

struct kunit_case {
	const char *name;
	void (*run)(struct kunit *test);
};

struct kunit_suite {
	const char *name;
	const struct kunit_case *test_cases;
};

#define KUNIT_CASE(function)	{ #function, function }

#define KUNIT_EXPECT_EQ(test, wanted, is) do { \
	long long _wanted = (long long)(wanted), _is = (long long)(is); \
	if (_wanted != _is) { \
		(test)->failed++; \
		printf("    %s:%d: %s is %#llx, not %#llx\n", __FILE__, __LINE__, #is, \
		       _is, _wanted); \
	} \
} while (0)

#define KUNIT_EXPECT_TRUE(test, is)	KUNIT_EXPECT_EQ(test, 1, !!(is))

static inline int host_kunit_run(const struct kunit_suite *suite)
{
	unsigned int passed = 0, failed = 0;
	const struct kunit_case *c;

	for (c = suite->test_cases; c->run; c++) {
		struct kunit test = { 0 };

		c->run(&test);
		printf("%s %s: %s\n", test.failed ? "FAIL" : "ok", suite->name, c->name);
		if (test.failed)
			failed++;
		else
			passed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}

#define kunit_test_suite(suite) \
	int main(void) \
	{ \
		return host_kunit_run(&(suite)); \
	}

#endif /* HOST_KUNIT_H */
