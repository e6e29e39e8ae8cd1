// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which mode an IA gets: queues that the kernel has (forwarded), or queues of the process's
 * own (passthrough). The environment variable KDAPL_MODE sets the mode for the whole process,
 * the parameter mode= of a record in dat.conf (conf.c) for the IA that is opened by it; the
 * variable takes precedence. If neither is set, or it says "auto", an IA gets passthrough where
 * that is possible (shim_pass_open()).
 *
 * In the same way KDAPL_COUNTERS=1, or counters=on in dat.conf, asks for counters. Who asks for
 * them, or for DAT_DEBUG, gets functions that do more than those of the mode, in tables made here.
 */
#include <stdlib.h>
#include <string.h>

#include "registry.h"

/* shim_mode_parse - find a mode by its name; false: there is no mode of that name */
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
 * shim_mode_asked - find out which mode is asked for an IA
 * @record: the record of dat.conf that the IA is opened by, or NULL
 * @asked_by: out: what asks for it, for messages
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

/* shim_mode_refused - report why an IA cannot get passthrough, which was asked for */
void shim_mode_refused(const char *ia_name, const char *asked_by, const char *why)
{
	/* With DAT_DEBUG the message about the failed open has the reason. */
	if (shim_debugging())
		shim_why("%s asks for passthrough: %s", asked_by, why);
	else
		shim_say("%s: %s asks for passthrough: %s", ia_name, asked_by, why);
}

/* shim_counts_asked - is an IA that is opened by @record, which may be NULL, to have counters? */
bool shim_counts_asked(const struct shim_record *record)
{
	const char *word = secure_getenv("KDAPL_COUNTERS");

	return word && *word ? strcmp(word, "0") : record && record->counts;
}

/*
 * shim_ops_over - the table that @change makes of a copy of @ops
 * @made: where it is kept, as it is made once
 *
 * Return: @ops if there is no memory.
 */
const struct shim_ops *shim_ops_over(const struct shim_ops *ops, struct shim_ops *_Atomic *made,
				     void (*change)(struct shim_ops *over,
						    const struct shim_ops *ops))
{
	struct shim_ops *over = atomic_load(made), *first = NULL;

	if (over)
		return over;
	/* Without a lock, which a fork() might leave locked in the child. */
	over = malloc(sizeof(*over));
	if (!over)
		return ops;
	*over = *ops;
	change(over, ops);
	if (atomic_compare_exchange_strong(made, &first, over))
		return over;
	free(over);
	return first;
}
