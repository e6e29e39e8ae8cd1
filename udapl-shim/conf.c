// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The file dat.conf: where it is, and its grammar (G15..G23, dat.conf(5)). Called by
 * registry.c, normally once in a process.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"

#define DAT_CONF	"/etc/dat.conf"
#define MAX_LINE	4096
#define FIELDS		8

enum {
	IA_NAME,
	API_VERSION,
	THREAD_SAFETY,
	DEFAULT,
	LIB_PATH,
	PROVIDER_VERSION,
	IA_PARAMS,
	PLATFORM_PARAMS,
};

/* The fields of a line; @field points into @text, where each of them ends with a NUL. */
struct fields {
	const char *field[FIELDS];
	unsigned int number;
	char text[MAX_LINE + FIELDS];
};

static bool bad(char why[SHIM_WHY], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool bad(char why[SHIM_WHY], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SHIM_WHY, format, args);
	va_end(args);
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Copies the field at *@at to *@to, and moves both pointers behind it.
 *
 * A double quote inside a field that does not begin with one is an error (G20).
 */
static bool take_field(const char **at, const char *end, char **to, char why[SHIM_WHY])
{
	const char *c = *at;
	bool quoted = *c == '"';

	for (c += quoted; c < end && (quoted ? *c != '"' : !is_blank(*c)); c++) {
		if (!quoted && *c == '"')
			return bad(why, "a double quote inside a field without quotes");
		if (quoted && *c == '\\' && (++c == end || (*c != '"' && *c != '\\')))
			return bad(why, "a backslash in quotes, before neither \\ nor \"");
		*(*to)++ = *c;
	}
	if (quoted && c == end)
		return bad(why, "a quote is not closed");
	*at = c + quoted;
	*(*to)++ = '\0';
	return true;
}

static bool split(const char *at, const char *end, struct fields *f, char why[SHIM_WHY])
{
	char *to = f->text;

	f->number = 0;
	for (;;) {
		while (at < end && is_blank(*at))
			at++;
		if (at == end || *at == '#')
			break;
		if (f->number == FIELDS)
			return bad(why, "more than eight fields");
		f->field[f->number++] = to;
		if (!take_field(&at, end, &to, why))
			return false;
	}
	if (f->number && f->number < FIELDS)
		return bad(why, "%u fields, not eight", f->number);
	return true;
}

/* Reads a decimal number of 32 bits. Return: what follows it; NULL if there is no such number. */
static const char *take_number(const char *at, uint32_t *number)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*at))
		return NULL;
	for (; isdigit((unsigned char)*at); at++) {
		n = n * 10 + (*at - '0');
		if (n > UINT32_MAX)
			return NULL;
	}
	*number = n;
	return at;
}

/* Reads a version, as "1.2", which has to be all of the text. */
static bool take_version(const char *at, uint32_t *major, uint32_t *minor)
{
	at = take_number(at, major);
	if (!at || *at != '.')
		return false;
	at = take_number(at + 1, minor);
	return at && !*at;
}

/*
 * Is the text a provider's id, a dot and a version, as kdapl.1.0? The id may have dots: the
 * version is the last two numbers (G26).
 */
static bool is_provider_version(const char *text)
{
	const char *dot = strrchr(text, '.');
	uint32_t major, minor;

	while (dot && dot > text && dot[-1] != '.')
		dot--;
	return dot && dot > text + 1 && take_version(dot, &major, &minor);
}

static bool one_of(const char *word, const char *yes, const char *no, bool *is)
{
	*is = !strcmp(word, yes);
	return *is || !strcmp(word, no);
}

/*
 * Does a record stand for an adapter of kdapl? It does if its library is this one, as libdat.so or
 * libdat.so.* for DAT 1.2, or if the provider's id is kdapl. Then no library is loaded.
 */
static bool is_own(const char *library, const char *version)
{
	static const char name[] = FACE_LIBRARY, id[] = "kdapl.";
	const char *slash = strrchr(library, '/');
	const char *base = slash ? slash + 1 : library;
	size_t length = sizeof(name) - 1;

	return !strncmp(version, id, sizeof(id) - 1) ||
	       (!strncmp(base, name, length) && (!base[length] || base[length] == '.'));
}

/*
 * shim_conf_parameters - read the parameters of a record for an adapter of kdapl
 * @why: out: what is wrong with them
 *
 * They are words separated by blanks, commas or semicolons. A word with "=" is a parameter; the
 * others name the adapter, as "rxe0-1" or "rxe0 1". If there are no others, the adapter has the
 * name of the record.
 */
bool shim_conf_parameters(struct shim_record *record, char why[SHIM_WHY])
{
	const char *at = record->parameters;
	unsigned int names = 0;
	size_t word, used = 0;

	for (; at += strspn(at, " \t,;"), *at; at += word) {
		word = strcspn(at, " \t,;");
		if (!strncmp(at, "mode=", 5)) {
			record->has_mode = shim_mode_parse(at + 5, word - 5, &record->mode);
			if (!record->has_mode)
				return bad(why, "%.*s: not forwarded, passthrough or auto",
					   (int)word, at);
			continue;
		}
		if (word == 9 && !strncmp(at, "last=tell", word)) {
			record->tells_last = true;
			continue;
		}
		if (word == 11 && !strncmp(at, "counters=on", word)) {
			record->counts = true;
			continue;
		}
		if (memchr(at, '=', word))
			return bad(why, "%.*s: no parameter; mode=, last= and counters= are",
				   (int)word, at);
		if (++names > 2 || (names == 2 && strspn(at, "0123456789") < word))
			return bad(why, "\"%s\": not one adapter, as \"rxe0-1\" or \"rxe0 1\"",
				   record->parameters);
		if (used + word + 2 > sizeof(record->adapter))
			return bad(why, "the name of the adapter is too long");
		used += sprintf(record->adapter + used, "%s%.*s", names == 2 ? "-" : "",
				(int)word, at);
	}
	if (!names)
		memcpy(record->adapter, record->info.ia_name, sizeof(record->adapter));
	return true;
}

/*
 * Checks the fields and fills in @record. *@wanted is false for a valid record that is to be
 * skipped: one for kDAPL, or one marked nondefault (G22, G23).
 */
static bool take_record(const struct fields *f, struct shim_record *record, bool *wanted,
			char why[SHIM_WHY])
{
	const char *const *field = f->field;
	DAT_PROVIDER_INFO *info = &record->info;
	bool thread_safe, is_default;

	if (!*field[IA_NAME] || strlen(field[IA_NAME]) >= sizeof(info->ia_name))
		return bad(why, "field 1: a name has 1 to 255 bytes");
	if ((*field[API_VERSION] != 'u' && *field[API_VERSION] != 'k') ||
	    !take_version(field[API_VERSION] + 1, &info->dapl_version_major,
			  &info->dapl_version_minor))
		return bad(why, "field 2 is \"%s\": not a version, as u1.2",
			   field[API_VERSION]);
	if (!one_of(field[THREAD_SAFETY], "threadsafe", "nonthreadsafe", &thread_safe))
		return bad(why, "field 3 is \"%s\": neither threadsafe nor nonthreadsafe",
			   field[THREAD_SAFETY]);
	if (!one_of(field[DEFAULT], "default", "nondefault", &is_default))
		return bad(why, "field 4 is \"%s\": neither default nor nondefault",
			   field[DEFAULT]);
	if (!*field[LIB_PATH])
		return bad(why, "field 5: the library has no name");
	if (!is_provider_version(field[PROVIDER_VERSION]))
		return bad(why, "field 6 is \"%s\": not a provider's version, as kdapl.1.0",
			   field[PROVIDER_VERSION]);
	*wanted = *field[API_VERSION] == 'u' && is_default;
	info->is_thread_safe = thread_safe ? DAT_TRUE : DAT_FALSE;
	strcpy(info->ia_name, field[IA_NAME]);
	return true;
}

static void record_free(struct shim_record *record)
{
	free(record->library);
	free(record->parameters);
	free(record);
}

static bool make_record(const struct fields *f, struct shim_record **out, char why[SHIM_WHY])
{
	struct shim_record *record = calloc(1, sizeof(*record));
	bool wanted = false, good;

	if (!record)
		return bad(why, "no memory");
	good = take_record(f, record, &wanted, why);
	if (good && wanted) {
		record->library = strdup(f->field[LIB_PATH]);
		record->parameters = strdup(f->field[IA_PARAMS]);
		record->own = is_own(f->field[LIB_PATH], f->field[PROVIDER_VERSION]);
		if (!record->library || !record->parameters)
			good = bad(why, "no memory");
		else if (record->own)
			good = shim_conf_parameters(record, why);
	}
	if (good && wanted) {
		*out = record;
		return true;
	}
	record_free(record);
	return good;
}

/*
 * shim_conf_line - read one line of dat.conf
 * @line: the line, without the newline
 * @length: its length
 * @record: out: the record; NULL if the line has none, or one that is to be skipped
 * @why: out: what is wrong with the line
 *
 * Return: false if it is malformed.
 */
bool shim_conf_line(const char *line, size_t length, struct shim_record **record,
		    char why[SHIM_WHY])
{
	struct fields f;

	*record = NULL;
	if (length && line[length - 1] == '\r')
		length--;
	if (length > MAX_LINE)
		return bad(why, "longer than %d bytes", MAX_LINE);
	if (memchr(line, '\0', length))
		return bad(why, "a byte of zero");
	if (!split(line, line + length, &f, why))
		return false;
	return !f.number || make_record(&f, record, why);
}

/*
 * Reads the next line, without the newline. Of a line that is longer than MAX_LINE it keeps a
 * part that is still too long, so that shim_conf_line() refuses it.
 */
static bool next_line(FILE *file, char line[MAX_LINE + 2], size_t *length)
{
	int c = getc_unlocked(file);

	*length = 0;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(file))
		if (*length < MAX_LINE + 2)
			line[(*length)++] = c;
	return true;
}

static void read_lines(FILE *file, const char *path, struct shim_record **end)
{
	char line[MAX_LINE + 2], why[SHIM_WHY];
	struct shim_record *record;
	unsigned int number;
	size_t length;

	for (number = 1; next_line(file, line, &length); number++) {
		if (!shim_conf_line(line, length, &record, why)) {
			shim_say("%s:%u: %s; the line is skipped", path, number, why);
		} else if (record) {
			record->line = number;
			*end = record;
			end = &record->next;
		}
	}
}

/*
 * The file that DAT_OVERRIDE names, or NULL. secure_getenv() ignores the variable in a set-user-ID
 * program: the user who starts that must not choose which libraries it loads.
 */
static const char *override(void)
{
	const char *path = secure_getenv("DAT_OVERRIDE");

	return path && *path ? path : NULL;
}

/* shim_conf_path - the name of the file that is read */
const char *shim_conf_path(void)
{
	const char *path = override();

	return path ? path : DAT_CONF;
}

/*
 * shim_conf_read - read dat.conf
 * @first: out: the first of its records
 * @readable: out: the file exists and could be read
 *
 * Malformed lines are reported on stderr. So is a file that cannot be read, except that
 * /etc/dat.conf need not exist.
 *
 * Return: false if the file could not be opened because memory or descriptors are short. Then
 * the caller may try again later.
 */
bool shim_conf_read(struct shim_record **first, bool *readable)
{
	const char *path = shim_conf_path();
	FILE *file = fopen(path, "re");

	*first = NULL;
	*readable = false;
	if (!file && shim_no_room(errno)) {
		shim_why("%s: %m", path);
		return false;
	}
	if (!file) {
		if (override() || errno != ENOENT)
			shim_say("%s: %m", path);
		return true;
	}
	read_lines(file, path, first);
	*readable = !ferror(file);
	if (!*readable)
		shim_say("%s: %m", path);
	fclose(file);
	return true;
}
