// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which mode an IA gets: queues that the kernel has (forwarded), or queues of the process's
 * own (passthrough). The environment variable KDAPL_MODE says so for the process, or the
 * parameter mode= of the record of the IA in dat.conf (conf.c); the variable goes first. If
 * neither does, or they say "auto", an IA gets passthrough where it can have it
 * (shim_pass_open()).
 */
#include <stdlib.h>
#include <string.h>

#include "registry.h"

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

/*
 * shim_mode_asked - the mode that an IA is to have
 * @record: of dat.conf by which it is opened, or NULL
 * @asked_by: out: what says so
 */
enum shim_mode shim_mode_asked(const struct shim_record *record, const char **asked_by)
{
	const char *word = secure_getenv("KDAPL_MODE");
	enum shim_mode mode = SHIM_MODE_AUTO;

	*asked_by = "KDAPL_MODE";
	if (word && *word) {
		if (!shim_mode_parse(word, strlen(word), &mode))
			shim_say("KDAPL_MODE=%s: not a mode", word);
	} else if (record && record->has_mode) {
		mode = record->mode;
		*asked_by = "dat.conf";
	}
	return mode;
}

/* shim_mode_refused - tell why passthrough, which was asked for, cannot be had */
void shim_mode_refused(const char *ia_name, const char *asked_by, const char *why)
{
	/* With DAT_DEBUG the open tells it. */
	if (shim_debugging())
		shim_why("%s asks for passthrough: %s", asked_by, why);
	else
		shim_say("%s: %s asks for passthrough: %s", ia_name, asked_by, why);
}
