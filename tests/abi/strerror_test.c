// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat_strerror against the tables: TYPES and SUBTYPES list name and value of
 * every code, from dat-1.2.tsv or dat-2.0.tsv. Prints what fails.
 */
#include <stdio.h>
#include <string.h>
#include <dat/udat.h>
#include "../../common/dat_private.h"
#include "codes.h"

struct code {
	const char *name;
	DAT_UINT32 value;
};

#define CODE(name, value)	{ #name, value },
static const struct code types[] = { TYPES(CODE) };
static const struct code subtypes[] = { SUBTYPES(CODE) };

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static int failures;

static void expect(int holds, const char *what, DAT_RETURN code)
{
	if (holds)
		return;
	printf("dat_strerror(0x%08x): %s\n", code, what);
	failures++;
}

static const char *name_of(const struct code *codes, size_t count, DAT_UINT32 value)
{
	while (count--)
		if (codes[count].value == value)
			return value ? codes[count].name : "";
	return NULL;
}

/* Every pair that the tables know has both names, with any class. */
static void names_every_code(void)
{
	static const DAT_RETURN classes[] = {
		DAT_CLASS_SUCCESS, DAT_CLASS_WARNING, DAT_CLASS_ERROR,
		DAT_CLASS_ERROR | DAT_CLASS_WARNING
	};
	const char *major, *minor;
	size_t i, j, k;

	for (i = 0; i < COUNT(types); i++)
		for (j = 0; j < COUNT(subtypes); j++)
			for (k = 0; k < COUNT(classes); k++) {
				DAT_RETURN code = classes[k] | types[i].value | subtypes[j].value;

				major = NULL;
				minor = NULL;
				expect(dat_strerror(code, &major, &minor) == DAT_SUCCESS,
				       "refused", code);
				expect(major && !strcmp(major, types[i].name),
				       "wrong type name", code);
				expect(minor && !strcmp(minor, subtypes[j].value ?
							       subtypes[j].name : ""),
				       "wrong subtype name", code);
			}
}

/* Every other type and subtype is refused, and nothing is stored. */
static void refuses_every_other_code(void)
{
	DAT_RETURN refused = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	static const char untouched[] = "";
	const char *major = untouched, *minor = untouched;
	DAT_UINT32 n;

	for (n = 0; n <= DAT_TYPE_MASK >> 16; n++)
		if (!name_of(types, COUNT(types), n << 16))
			expect(dat_strerror(DAT_CLASS_ERROR | n << 16, &major, &minor) == refused,
			       "unknown type accepted", n << 16);
	for (n = 0; n <= DAT_SUBTYPE_MASK; n++)
		if (!name_of(subtypes, COUNT(subtypes), n))
			expect(dat_strerror(DAT_ABORT | n, &major, &minor) == refused,
			       "unknown subtype accepted", DAT_ABORT | n);
	expect(major == untouched && minor == untouched, "stored on failure", refused);
}

/* The same strings each time. */
static void strings_are_constant(void)
{
	const char *major, *minor, *again, *minor_again;
	size_t i;

	for (i = 0; i < COUNT(types); i++)
		expect(!dat_strerror(types[i].value, &major, &minor) &&
		       !dat_strerror(types[i].value, &again, &minor_again) &&
		       major == again && minor == minor_again,
		       "another string", types[i].value);
}

static void checks_pointers(void)
{
	const char *major = NULL, *minor = NULL;

	expect(dat_strerror(DAT_SUCCESS, NULL, &minor) ==
	       DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
	       "no place for the type name accepted", DAT_SUCCESS);
	expect(!minor, "stored on failure", DAT_SUCCESS);
	expect(dat_strerror(DAT_QUEUE_EMPTY, &major, NULL) == DAT_SUCCESS &&
	       !strcmp(major, "DAT_QUEUE_EMPTY"),
	       "no place for the subtype name refused", DAT_QUEUE_EMPTY);
}

int main(void)
{
	names_every_code();
	refuses_every_other_code();
	strings_are_constant();
	checks_pointers();
	return failures != 0;
}
