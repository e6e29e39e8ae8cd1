/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers that the kernel counts, for the tests that look at memory: what is
 * charged to a process, what is pinned at all.
 */
#ifndef PROC_H
#define PROC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind @field at the beginning of a line; 0 if there is none. */
static inline unsigned long long proc_number(const char *file, const char *field)
{
	size_t length = strlen(field);
	unsigned long long number = 0;
	FILE *f = fopen(file, "r");
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, length))
			number = strtoull(line + length, NULL, 10);
	fclose(f);
	return number;
}

/* Pages that are pinned just now, for whomever. */
static inline unsigned long long proc_pins(void)
{
	/* Counts of single processors are added up now. */
	proc_number("/proc/sys/vm/stat_refresh", "");
	return proc_number("/proc/vmstat", "nr_foll_pin_acquired ") -
	       proc_number("/proc/vmstat", "nr_foll_pin_released ");
}

#endif /* PROC_H */
