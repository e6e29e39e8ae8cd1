/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers that the kernel counts, for the tests that look at memory and threads: what is
 * charged to a process, what is pinned at all, how often threads have gone to sleep.
 */
#ifndef PROC_H
#define PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Threads of this process. */
static inline int proc_threads(void)
{
	return proc_number("/proc/self/status", "Threads:");
}

/* Whether a thread sleeps, by its file "status". */
static inline bool proc_sleeps(const char *file)
{
	FILE *f = fopen(file, "r");
	char line[256], state = 'S';

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (f)
		fclose(f);
	return state == 'S';
}

/*
 * How often the threads of this process but its first one have gone to sleep so far.
 * @all_sleep: whether each of them sleeps just now; or NULL
 */
static inline long proc_other_sleeps_and(bool *all_sleep)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300];
	long sleeps = 0;

	if (all_sleep)
		*all_sleep = true;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != getpid()) {
			snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
			sleeps += proc_number(path, "voluntary_ctxt_switches:");
			if (all_sleep)
				*all_sleep &= proc_sleeps(path);
		}
	if (dir)
		closedir(dir);
	return sleeps;
}

static inline long proc_other_sleeps(void)
{
	return proc_other_sleeps_and(NULL);
}

/*
 * Waits until all threads of this process but its first one have slept through a whole interval,
 * which they have if they sleep at its end and have not gone to sleep in it. A thread that computes
 * all the time, or gets no processor, does not go to sleep either.
 * @us: the interval; @tries: so many of them at most. Return: whether they have.
 */
static inline bool proc_others_asleep(unsigned int us, int tries)
{
	long before, sleeps = proc_other_sleeps();
	bool asleep;

	for (; tries; tries--) {
		before = sleeps;
		usleep(us);
		sleeps = proc_other_sleeps_and(&asleep);
		if (sleeps == before && asleep)
			return true;
	}
	return false;
}

#endif /* PROC_H */
