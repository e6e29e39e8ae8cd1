// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdaplctl, the part that writes: tables whose columns are as wide as they have to be, and
 * JSON.  A process can give itself any name.  So a table shows no control characters, which a
 * terminal would obey, and JSON is valid whatever bytes a name has.
 *
 * Called by kdaplctl.c.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dat/udat.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "print.h"

#define COLUMNS	24

/* ---- tables ------------------------------------------------------------------ */

static struct {
	char *words;		/* rows of COLUMNS words of TEXT bytes */
	int rows;
	int column;
	int used;		/* columns */
	int width[COLUMNS];
	int right[COLUMNS];
} table;

void table_begin(void)
{
	free(table.words);
	memset(&table, 0, sizeof(table));
	table_row();
}

static char *word_at(int row, int column)
{
	return table.words + ((size_t)row * COLUMNS + column) * TEXT;
}

/* Adds a word to the current row. */
void table_word(const char *text, int right)
{
	int c = table.column, length;
	char *word, *p;

	if (c == COLUMNS)
		return;
	word = word_at(table.rows - 1, c);
	snprintf(word, TEXT, "%s", text);
	for (p = word; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	length = strlen(word);
	if (length > table.width[c])
		table.width[c] = length;
	table.right[c] = right;
	table.column++;
	if (table.column > table.used)
		table.used = table.column;
}

/* Begins a new row; the first row has the titles. */
void table_row(void)
{
	size_t size = (size_t)COLUMNS * TEXT;

	table.words = realloc(table.words, size * (table.rows + 1));
	if (!table.words) {
		fprintf(stderr, "kdaplctl: no memory\n");
		exit(1);
	}
	memset(word_at(table.rows, 0), 0, size);
	table.rows++;
	table.column = 0;
}

/* Writes the table.  A last column with text is not padded, so that no line ends with spaces. */
void table_end(void)
{
	int row, c, width;

	for (row = 0; row < table.rows; row++) {
		for (c = 0; c < table.used; c++) {
			width = table.width[c];
			if (c == table.used - 1 && !table.right[c])
				width = 0;
			printf("%s%*s", c ? "  " : "", table.right[c] ? width : -width,
			       word_at(row, c));
		}
		putchar('\n');
	}
	free(table.words);
	memset(&table, 0, sizeof(table));
}

/* ---- JSON -------------------------------------------------------------------- */

static int json_depth, json_more;

static void json_quoted(const char *text, size_t length)
{
	const unsigned char *p = (const void *)text;

	putchar('"');
	for (; length && *p; p++, length--) {
		if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			printf("\\u%04x", *p);
		else
			putchar(*p);
	}
	putchar('"');
}

/* Writes what goes before the next value: a comma, the indent, and the key if it has one. */
static void json_place(const char *key)
{
	if (json_more)
		putchar(',');
	if (json_depth)
		printf("\n%*s", 2 * json_depth, "");
	if (key) {
		json_quoted(key, strlen(key));
		printf(": ");
	}
	json_more = 1;
}

void json_begin(const char *key, char bracket)
{
	json_place(key);
	putchar(bracket);
	json_depth++;
	json_more = 0;
}

void json_end(char bracket)
{
	json_depth--;
	if (json_more)
		printf("\n%*s", 2 * json_depth, "");
	putchar(bracket);
	json_more = 1;
	if (!json_depth) {
		putchar('\n');
		json_more = 0;
	}
}

void json_string(const char *key, const char *value, size_t length)
{
	json_place(key);
	json_quoted(value, length);
}

void json_number(const char *key, uint64_t value)
{
	json_place(key);
	printf("%" PRIu64, value);
}

void json_bool(const char *key, int value)
{
	json_place(key);
	printf(value ? "true" : "false");
}

/* ---- fields ------------------------------------------------------------------ */

/* A number of bytes with a unit, in powers of 1024 */
void bytes_text(char *text, uint64_t bytes)
{
	static const char units[] = " KMGTPE";
	double n = bytes;
	int unit = 0;

	for (; n >= 1024 && units[unit + 1]; unit++)
		n /= 1024;
	if (unit)
		snprintf(text, TEXT, "%.1f %ciB", n, units[unit]);
	else
		snprintf(text, TEXT, "%.0f B", n);
}

static void address_text(char *text, const struct nlattr *a)
{
	char name[IF_NAMESIZE];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	snprintf(text, TEXT, "?");
	if (length_of(a) >= (int)sizeof(in6)) {
		memcpy(&in6, payload_of(a), sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, text, TEXT);
		if (in6.sin6_scope_id && if_indextoname(in6.sin6_scope_id, name))
			snprintf(text + strlen(text), TEXT - strlen(text), "%%%s", name);
	} else if (length_of(a) >= (int)sizeof(in)) {
		memcpy(&in, payload_of(a), sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, TEXT);
	}
}

/* As many addresses as fit; none of them is cut off. */
static void addresses_text(char *text, const struct nlattr *nest)
{
	const struct nlattr *a;
	size_t length = 0;
	char one[TEXT];

	*text = 0;
	for (a = first_of(nest); a; a = next_of(nest, a)) {
		address_text(one, a);
		if (length + strlen(one) + 2 > TEXT)
			return;
		length += sprintf(text + length, "%s%s", length ? " " : "", one);
	}
}

static void user_text(char *text, uint64_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(text, TEXT, "%s", user->pw_name);
	else
		snprintf(text, TEXT, "%" PRIu64, uid);
}

/* What the process itself may do with the memory (local), and what its peers may (remote) */
static void rights_text(char *text, uint64_t rights)
{
	snprintf(text, TEXT, "local %s%s%s, remote %s%s%s",
		 rights & DAT_MEM_PRIV_LOCAL_READ_FLAG ? "r" : "",
		 rights & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ? "w" : "",
		 rights & (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG) ?
		 "" : "-",
		 rights & DAT_MEM_PRIV_REMOTE_READ_FLAG ? "r" : "",
		 rights & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? "w" : "",
		 rights & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ?
		 "" : "-");
}

/* The name of a number, or the number itself: a newer kernel may have more than are named here. */
static void name_text(char *text, const struct field *f, uint64_t n)
{
	uint64_t i;

	for (i = 0; i <= n && f->names[i]; i++)
		;
	if (i > n)
		snprintf(text, TEXT, "%s", f->names[n]);
	else
		snprintf(text, TEXT, "%" PRIu64, n);
}

static void text_of(char *text, const struct field *f, const struct nlattr *a)
{
	switch (f->kind) {
	case HANDLE:
		snprintf(text, TEXT, "%016" PRIx64, number_of(a));
		break;
	case HEX:
		snprintf(text, TEXT, "0x%08" PRIx64, number_of(a));
		break;
	case STRING:
		snprintf(text, TEXT, "%.*s", length_of(a), (const char *)payload_of(a));
		break;
	case NAME:
		name_text(text, f, number_of(a));
		break;
	case ADDRESS:
		address_text(text, a);
		break;
	case ADDRESSES:
		addresses_text(text, a);
		break;
	case USER:
		user_text(text, number_of(a));
		break;
	case PAGES:
		bytes_text(text, number_of(a) * sysconf(_SC_PAGESIZE));
		break;
	case BYTES:
		bytes_text(text, number_of(a));
		break;
	case RIGHTS:
		rights_text(text, number_of(a));
		break;
	case FLAG:
		snprintf(text, TEXT, "yes");
		break;
	default:
		snprintf(text, TEXT, "%" PRIu64, number_of(a));
	}
}

static int is_right(const struct field *f)
{
	return f->kind == NUMBER || f->kind == PAGES || f->kind == BYTES;
}

/* Adds a field of @m to the table; the title of its column if @m is NULL. */
void print_field(const struct field *f, const struct message *m)
{
	char text[TEXT], both[2 * TEXT + 1];

	if (!m) {
		table_word(f->title, is_right(f));
		return;
	}
	snprintf(text, TEXT, f->kind == FLAG ? "no" : "-");
	if (m->at[f->attr])
		text_of(text, f, m->at[f->attr]);
	if (f->of && m->at[f->of])
		snprintf(both, sizeof(both), "%s/%" PRIu64, text, number_of(m->at[f->of]));
	else
		snprintf(both, sizeof(both), "%s", text);
	table_word(both, is_right(f));
}

static void json_nest(const struct field *f, const struct nlattr *nest)
{
	const struct nlattr *a;
	const char *name;
	int i;

	json_begin(f->key, '{');
	for (a = first_of(nest); a; a = next_of(nest, a)) {
		for (i = 0; i < type_of(a) && f->names[i]; i++)
			;
		name = i == type_of(a) ? f->names[i] : NULL;
		if (name && *name)
			json_number(name, number_of(a));
	}
	json_end('}');
}

static void json_addresses(const char *key, const struct nlattr *nest)
{
	const struct nlattr *a;
	char text[TEXT];

	json_begin(key, '[');
	for (a = first_of(nest); a; a = next_of(nest, a)) {
		address_text(text, a);
		json_string(NULL, text, TEXT);
	}
	json_end(']');
}

static void json_rights(const char *key, uint64_t rights)
{
	static const struct {
		unsigned int right;
		const char *name;
	} all[] = {
		{ DAT_MEM_PRIV_LOCAL_READ_FLAG, "local read" },
		{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, "local write" },
		{ DAT_MEM_PRIV_REMOTE_READ_FLAG, "remote read" },
		{ DAT_MEM_PRIV_REMOTE_WRITE_FLAG, "remote write" },
	};
	size_t i;

	json_begin(key, '[');
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (rights & all[i].right)
			json_string(NULL, all[i].name, TEXT);
	json_end(']');
}

/* Handles are written as strings: not every reader of JSON has numbers of 64 bits. */
static void json_attribute(const struct field *f, const struct nlattr *a)
{
	char text[TEXT];

	switch (f->kind) {
	case NEST:
		json_nest(f, a);
		break;
	case ADDRESSES:
		json_addresses(f->key, a);
		break;
	case RIGHTS:
		json_rights(f->key, number_of(a));
		break;
	case NUMBER:
	case PAGES:
	case BYTES:
	case USER:
		json_number(f->key, number_of(a));
		break;
	case STRING:
		json_string(f->key, payload_of(a), length_of(a));
		break;
	default:
		text_of(text, f, a);
		json_string(f->key, text, TEXT);
	}
}

/* Writes a field of @m.  An attribute that is not there is left out; a FLAG is false then. */
void json_field(const struct field *f, const struct message *m)
{
	const struct nlattr *a = m->at[f->attr];
	char max[64];

	if (f->kind == FLAG)
		json_bool(f->key, !!a);
	else if (a)
		json_attribute(f, a);
	if (f->of && m->at[f->of]) {
		snprintf(max, sizeof(max), "max_%s", f->key);
		json_number(max, number_of(m->at[f->of]));
	}
}
