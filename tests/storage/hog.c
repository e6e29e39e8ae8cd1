// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the machine short of memory.  Of the available memory, which is what is free and
 * what the kernel could free, it takes all but MIB.  It takes more when more becomes
 * available, and gives some back when too little is left, so that the kernel has to free
 * memory all the time, but finds some.  It runs until it is killed; the kernel kills it
 * first if it has to.
 *
 * usage: hog MIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB	(1024 * 1024)
#define PIECE	4

static long available_mib(void)
{
	long kib = -1;
	char line[128];
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib / 1024;
}

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) : 0;
	static char *pieces[16384];
	int n = 0, told = 0;
	FILE *f;

	if (left < 1) {
		fprintf(stderr, "usage: hog MIB\n");
		return 2;
	}
	f = fopen("/proc/self/oom_score_adj", "w");
	if (f) {
		fputs("1000", f);
		fclose(f);
	}
	for (;;) {
		while (available_mib() > left + PIECE && n < 16384) {
			pieces[n] = mmap(NULL, PIECE * MIB, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (pieces[n] == MAP_FAILED)
				break;
			memset(pieces[n++], 1, PIECE * MIB);
		}
		if (!told) {
			printf("%d MiB taken\n", n * PIECE);
			fflush(stdout);
			told = 1;
		}
		if (n && available_mib() < left / 2)
			munmap(pieces[--n], PIECE * MIB);
		usleep(20000);
	}
}
