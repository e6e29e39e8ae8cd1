/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tables for people, and JSON for programs (print.c). */
#ifndef KDAPLCTL_PRINT_H
#define KDAPLCTL_PRINT_H

#include "family.h"

#define TEXT	160	/* bytes of the longest word in a table, with its NUL */

/*
 * struct field - how an attribute is shown, or two attributes that belong together
 * @title: title of its column in a table; NULL: only in JSON
 * @key: its key in JSON
 * @attr: KDAPL_NL_A_* of the attribute
 * @of: KDAPL_NL_A_* of its maximum, 0: none; a table has "@attr/@of", JSON has max_@key as well
 * @kind: how it is written
 * @names: for NAME and NEST, what each number is called; ends with NULL
 * @types: a bit for each type of object that has the attribute; 0: all have it
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
