// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which mode an IA gets: queues that the kernel has (forwarded), or queues of the process's
 * own (passthrough). The environment variable KDAPL_MODE says so for the process, or the
 * instance parameter mode= in the line of the IA in dat.conf; the variable goes first. If
 * neither does, or they say "auto", an IA gets passthrough where it can have it
 * (shim_pass_open()).
 *
 * dat.conf is the registry of other uDAPLs: $DAT_OVERRIDE or /etc/dat.conf. The adapters are
 * listed by the kernel, so nothing else is taken from there:
 *
 *	NAME VERSION THREADS DEFAULT LIBRARY PROVIDER "PARAMETERS" "PLATFORM"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define DAT_CONF	"/etc/dat.conf"

/* The position of the instance's parameters in a line, from 0 on */
#define PARAMETERS	6

/* shim_mode_parse - a mode by its name; false: it is none */
bool shim_mode_parse(const char *word, size_t length, enum shim_mode *mode)
{
	static const struct {
		const char *name;
		enum shim_mode mode;
	} modes[] = {
		{ "forwarded", SHIM_MODE_FORWARDED },
		{ "passthrough", SHIM_MODE_PASSTHROUGH },
		{ "auto", SHIM_MODE_AUTO },
	};
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strlen(modes[i].name) == length &&
		    !strncmp(word, modes[i].name, length)) {
			*mode = modes[i].mode;
			return true;
		}
	return false;
}

/* The next field of a line, without its quotes. Return: what follows; NULL at the end. */
static const char *next_field(const char *line, const char **field, size_t *length)
{
	char end;

	line += strspn(line, " \t\r\n");
	if (!*line || *line == '#')
		return NULL;
	end = *line == '"' ? '"' : ' ';
	line += end == '"';
	*field = line;
	*length = end == '"' ? strcspn(line, "\"\n") : strcspn(line, " \t\r\n");
	line += *length;
	return *line == '"' ? line + 1 : line;
}

/* "mode=" among parameters that blanks, commas or semicolons separate */
static bool mode_of_parameters(const char *at, size_t length, enum shim_mode *mode)
{
	const char *end = at + length;
	size_t word;

	while (at < end) {
		word = strcspn(at, " ,;\t");
		if (word > (size_t)(end - at))
			word = end - at;
		if (word > 5 && !strncmp(at, "mode=", 5))
			return shim_mode_parse(at + 5, word - 5, mode);
		at += word + 1;
	}
	return false;
}

/* shim_mode_of_line - the mode that a line of dat.conf has for an IA; false: none */
bool shim_mode_of_line(const char *line, const char *ia_name, enum shim_mode *mode)
{
	const char *field;
	size_t length;
	int i;

	for (i = 0; i <= PARAMETERS; i++) {
		line = next_field(line, &field, &length);
		if (!line)
			return false;
		if (!i && (strlen(ia_name) != length || strncmp(field, ia_name, length)))
			return false;
	}
	return mode_of_parameters(field, length, mode);
}

static bool mode_of_file(const char *ia_name, enum shim_mode *mode)
{
	const char *path = secure_getenv("DAT_OVERRIDE");
	char line[1024];
	bool found = false;
	FILE *file;

	file = fopen(path ? path : DAT_CONF, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = shim_mode_of_line(line, ia_name, mode);
	fclose(file);
	return found;
}

/*
 * shim_mode_asked - the mode that an IA is to have
 * @asked_by: out: what says so
 */
enum shim_mode shim_mode_asked(const char *ia_name, const char **asked_by)
{
	const char *word = getenv("KDAPL_MODE");
	enum shim_mode mode = SHIM_MODE_AUTO;

	*asked_by = "KDAPL_MODE";
	if (word && *word) {
		if (!shim_mode_parse(word, strlen(word), &mode))
			fprintf(stderr, "libdat: KDAPL_MODE=%s: not a mode\n", word);
	} else if (mode_of_file(ia_name, &mode)) {
		*asked_by = "dat.conf";
	}
	return mode;
}
