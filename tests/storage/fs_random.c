// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Operations on one file of NFS, chosen at random: writes and reads of any length at any place,
 * through the page cache, past it and mapped, truncation, holes, copies, and opening the file
 * anew. After each the file is what memory says, and at the end it is so at the server, too.
 *
 *   fs_random FILE FILE-AT-SERVER SEED OPERATIONS [buffered]
 *
 * "buffered": nothing past the cache, where O_DIRECT is not to be had, or to be trusted.
 * The last operations are printed when something differs. Called by suites.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST	(1 << 20)	/* longest file */
#define LENGTH	(192 << 10)	/* longest piece of it */
#define KEPT	16		/* operations that are printed */
#define NR_OPS	16

static char right[MOST], piece[LENGTH];
static size_t size;
static int fd, direct, past_cache = O_DIRECT;
static const char *name;
static char kept[KEPT][96];
static unsigned long nr;

static void fail(const char *what)
{
	int err = errno;

	for (unsigned long i = nr < KEPT ? 0 : nr - KEPT; i < nr; i++)
		fprintf(stderr, "%lu: %s\n", i, kept[i % KEPT]);
	fprintf(stderr, "operation %lu: %s: %s\n", nr - 1, what,
		err ? strerror(err) : "other bytes");
	exit(1);
}

static void tell(const char *what, size_t at, size_t len)
{
	snprintf(kept[nr++ % KEPT], sizeof(kept[0]), "%s at %zu, %zu bytes of %zu", what, at, len,
		 size);
}

/* Bytes that say where they were written, and by which operation */
static void fill(char *to, size_t at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (at + i) * 31 + (at + i) / 4096 + nr * 7;
}

static void compare(const char *what, const char *found, size_t at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (found[i] != right[at + i]) {
			fprintf(stderr, "at %zu is %02x and not %02x\n", at + i, found[i] & 255,
				right[at + i] & 255);
			errno = 0;
			fail(what);
		}
	}
}

static void grown(size_t end)
{
	if (end > size)
		size = end;
}

static void do_write(int to, const char *what, size_t at, size_t len)
{
	tell(what, at, len);
	fill(piece, at, len);
	for (size_t done = 0; done < len; ) {
		ssize_t now = pwrite(to, piece + done, len - done, at + done);

		if (now <= 0)
			fail(what);
		done += now;
	}
	memcpy(right + at, piece, len);
	grown(at + len);
}

static void do_read(int from, const char *what, size_t at, size_t len)
{
	size_t there = at >= size ? 0 : size - at < len ? size - at : len, done = 0;
	ssize_t now;

	tell(what, at, len);
	while (done < len) {
		now = pread(from, piece + done, len - done, at + done);
		if (now < 0)
			fail(what);
		if (!now)
			break;
		done += now;
	}
	if (done != there)
		fail("a read of another length");
	compare(what, piece, at, done);
}

static void op_write(size_t at, size_t len)
{
	do_write(fd, "write", at, len);
}

static void op_read(size_t at, size_t len)
{
	do_read(fd, "read", at, len);
}

/* What goes past the page cache must find nothing of the file there that is newer or older. */
static void clean(void)
{
	if (fsync(fd) || fsync(direct))
		fail("fsync");
}

static void op_direct_write(size_t at, size_t len)
{
	clean();
	do_write(direct, "direct write", at, len);
}

static void op_direct_read(size_t at, size_t len)
{
	clean();
	do_read(direct, "direct read", at, len);
}

static void do_map(int writes, size_t at, size_t len)
{
	size_t first = at & ~4095UL, end = at + len;
	char *map;

	if (end > size)
		end = size;
	if (end <= at)
		return;
	tell(writes ? "mapped write" : "mapped read", at, end - at);
	map = mmap(NULL, end - first, PROT_READ | PROT_WRITE, MAP_SHARED, fd, first);
	if (map == MAP_FAILED)
		fail("mmap");
	if (writes) {
		fill(map + (at - first), at, end - at);
		memcpy(right + at, map + (at - first), end - at);
		if (msync(map, end - first, MS_SYNC))
			fail("msync");
	} else {
		compare("mapped read", map + (at - first), at, end - at);
	}
	munmap(map, end - first);
}

static void op_mapped_write(size_t at, size_t len)
{
	do_map(1, at, len);
}

static void op_mapped_read(size_t at, size_t len)
{
	do_map(0, at, len);
}

static void op_truncate(size_t to, size_t len)
{
	(void)len;
	struct stat st;

	tell("truncate", to, 0);
	if (ftruncate(fd, to))
		fail("truncate");
	if (to < size)
		memset(right + to, 0, size - to);
	size = to;
	if (fstat(fd, &st) || (size_t)st.st_size != size)
		fail("another size");
}

static void op_hole(size_t at, size_t len)
{
	tell("hole", at, len);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len)) {
		if (errno != EOPNOTSUPP)
			fail("hole");
		return;
	}
	if (at < size)
		memset(right + at, 0, at + len < size ? len : size - at);
}

static void op_allocate(size_t at, size_t len)
{
	tell("allocate", at, len);
	if (!fallocate(fd, 0, at, len))
		grown(at + len);
	else if (errno != EOPNOTSUPP)
		fail("allocate");
}

static void op_copy(size_t to, size_t len)
{
	size_t from = random() % MOST;
	off_t in = from, out = to;
	ssize_t now;

	if (from + len > size || (from < to + len && to < from + len))
		return;
	tell("copy", to, len);
	while (len) {
		now = copy_file_range(fd, &in, fd, &out, len, 0);
		if (now < 0 && (errno == EOPNOTSUPP || errno == EXDEV || errno == EINVAL))
			return;
		if (now <= 0)
			fail("copy");
		memcpy(right + out - now, right + in - now, now);
		grown(out);
		len -= now;
	}
}

static void do_open(int flags)
{
	fd = open(name, O_RDWR | O_CREAT | flags, 0600);
	direct = open(name, O_RDWR | past_cache);
	if (fd < 0 || direct < 0)
		fail("open");
}

static void do_close(void)
{
	tell("close and open", 0, 0);
	if (close(fd) || close(direct))
		fail("close");
}

static void op_open(size_t at, size_t len)
{
	(void)at;
	(void)len;
	do_close();
	do_open(0);
}

static void op_sync(size_t at, size_t len)
{
	(void)at;
	(void)len;
	tell("sync", 0, 0);
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fail("sync");
}

/* Those that are there several times come as much more often. */
static void (*const ops[NR_OPS])(size_t at, size_t len) = {
	op_write, op_write, op_write, op_read, op_read, op_direct_write, op_direct_read,
	op_mapped_write, op_mapped_read, op_truncate, op_hole, op_allocate, op_copy, op_copy,
	op_open, op_sync,
};

static void one(void)
{
	size_t at = random() % (random() % 4 ? size + 1 : MOST), len = 1 + random() % LENGTH;

	if (!(random() % 3))
		len = 1 + random() % 5000;
	if (at + len > MOST)
		at = MOST - len;
	ops[random() % NR_OPS](at, len);
}

static void whole(const char *file, const char *what)
{
	fd = open(file, O_RDONLY);
	if (fd < 0 || lseek(fd, 0, SEEK_END) != (off_t)size)
		fail(what);
	for (size_t at = 0; at < size; at += LENGTH)
		do_read(fd, what, at, LENGTH);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long count;

	if (argc < 5) {
		fprintf(stderr,
			"usage: fs_random FILE FILE-AT-SERVER SEED OPERATIONS [buffered]\n");
		return 2;
	}
	if (argc > 5)
		past_cache = 0;
	srandom(strtoul(argv[3], NULL, 0));
	count = strtoul(argv[4], NULL, 0);
	name = argv[1];
	do_open(O_TRUNC);
	while (nr < count)
		one();
	do_close();
	whole(name, "the whole file");
	whole(argv[2], "the whole file at the server");
	unlink(name);
	return 0;
}
