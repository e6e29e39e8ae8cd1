/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tables for people, and JSON for programs (print.c). */
#ifndef KDAPLCTL_PRINT_H
#define KDAPLCTL_PRINT_H

#include "family.h"

#define TEXT	160	/* bytes of the longest word in a table, and its end */

/*
 * struct field - an attribute, or two that belong together
 * @title: of its column; NULL: only in JSON
 * @key: in JSON
 * @attr, @of: KDAPL_NL_A_*; "@attr/@of" in a table, and max_@key in JSON; 0: none
 * @kind: how it is written
 * @names: of numbers, for NAME
 * @types: of the objects that have it, a bit each; 0: all
 */
struct field {
	const char *title;
	const char *key;
	int attr;
	int of;
	enum { NUMBER, HANDLE, HEX, STRING, NAME, ADDRESS, ADDRESSES, USER, PAGES, BYTES,
	       RIGHTS, FLAG, NEST } kind;
	const char *const *names;
	unsigned int types;
};

void table_begin(void);
void table_word(const char *text, int right);
void table_row(void);
void table_end(void);

void json_begin(const char *key, char bracket);
void json_end(char bracket);
void json_string(const char *key, const char *value, size_t length);
void json_number(const char *key, uint64_t value);
void json_bool(const char *key, int value);

void print_field(const struct field *f, const struct message *m);
void json_field(const struct field *f, const struct message *m);
void bytes_text(char *text, uint64_t bytes);

#endif /* KDAPLCTL_PRINT_H */
