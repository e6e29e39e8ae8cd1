/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Allocations that the kernel refuses to kdapl, for the programs that want that
 * (tests/stress, tests/fuzz).  Needs fault injection (the debug kernel), and root.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAULT_INJECTORS	2
#define FAULT_TIMES	1000000000

static const char *const fault_injectors[FAULT_INJECTORS] = { "failslab", "fail_page_alloc" };

static inline bool fault_knob(unsigned int i, const char *name, const char *format, ...)
{
	char path[128], value[32];
	va_list args;
	ssize_t n;
	int fd;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", fault_injectors[i],
		 name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	n = write(fd, value, strlen(value));
	close(fd);
	return n > 0;
}

/* Where the code of a module is. */
static inline bool fault_module_range(const char *name, unsigned long *start,
				      unsigned long *end)
{
	FILE *f = fopen("/proc/modules", "r");
	char line[512], found_name[64];
	unsigned long size = 0;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%63s %lu %*s %*s %*s 0x%lx", found_name,
			       &size, start) == 3 && !strcmp(found_name, name);
	if (f)
		fclose(f);
	*end = *start + size;
	return found;
}

/*
 * Allocations fail that kdapl makes, or somebody else for it, in any context; but
 * not those of Soft-RoCE, whose own unwinding is not up to it: a queue pair that
 * it could not make is destroyed with timers that were never set up.
 */
static inline bool faults_init(void)
{
	unsigned long start, end, rxe_start, rxe_end;
	unsigned int i;

	if (!fault_module_range("kdapl", &start, &end) ||
	    !fault_module_range("rdma_rxe", &rxe_start, &rxe_end))
		return false;
	for (i = 0; i < FAULT_INJECTORS; i++) {
		if (!fault_knob(i, "probability", "0") ||
		    !fault_knob(i, "require-start", "0x%lx", start) ||
		    !fault_knob(i, "require-end", "0x%lx", end) ||
		    !fault_knob(i, "reject-start", "0x%lx", rxe_start) ||
		    !fault_knob(i, "reject-end", "0x%lx", rxe_end) ||
		    !fault_knob(i, "stacktrace-depth", "32") ||
		    !fault_knob(i, "task-filter", "N") || !fault_knob(i, "verbose", "0") ||
		    !fault_knob(i, "ignore-gfp-wait", "N") ||
		    !fault_knob(i, "times", "%d", FAULT_TIMES))
			return false;
	}
	fault_knob(1, "min-order", "0");
	return true;
}

static inline void faults_set(unsigned int probability)
{
	unsigned int i;

	for (i = 0; i < FAULT_INJECTORS; i++)
		fault_knob(i, "probability", "%u", probability);
}

static inline unsigned int faults_count(void)
{
	unsigned int i, sum = 0;
	char path[128];
	int left;
	FILE *f;

	for (i = 0; i < FAULT_INJECTORS; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times",
			 fault_injectors[i]);
		f = fopen(path, "r");
		if (f && fscanf(f, "%d", &left) == 1)
			sum += FAULT_TIMES - left;
		if (f)
			fclose(f);
	}
	return sum;
}

#endif /* FAULTS_H */
