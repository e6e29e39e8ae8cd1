// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What applications do with files, one case after the other, in the manner of the
 * Connectathon suites: basic operations, special habits of programs, locks.  The files are
 * in a folder that is mounted from an NFS server; some cases also look at the server's own
 * folder ("behind").
 *
 * usage: fs_ops FOLDER BEHIND VERSION
 *	FOLDER	an empty folder in the mounted file system
 *	BEHIND	the same folder, as the server has it
 *	VERSION	of the protocol: 3, 4.0, 4.1 or 4.2
 *
 * Prints a line for each case; the last line is "N passed, N failed".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MIB		(1024 * 1024)

static jmp_buf case_end;
static pid_t suite;		/* the process that runs the cases */
static char behind[2048];
static const char *version;

/* Ends the case; a process that the case has made ends itself. */
static void __attribute__((noreturn)) end_case(void)
{
	if (getpid() != suite)
		_exit(255);
	longjmp(case_end, 1);
}

#define FAIL(...)							\
	do {								\
		printf("    %s:%d: ", __FILE__, __LINE__);		\
		printf(__VA_ARGS__);					\
		putchar('\n');						\
		end_case();						\
	} while (0)

#define CHECK(cond)							\
	do {								\
		errno = 0;						\
		if (!(cond))						\
			FAIL("not so: %s (%s)", #cond, strerror(errno));\
	} while (0)

/* The call has to fail with this errno. */
#define REFUSED(call, error)	(errno = 0, refused(call, error, #call, __LINE__))

static void refused(long ret, int error, const char *call, int line)
{
	if (ret == -1 && errno == error)
		return;
	printf("    %s:%d: %s: %s, not ", __FILE__, line, call, strerror(errno));
	printf("%s\n", strerror(error));
	end_case();
}

/* --- data -------------------------------------------------------------- */

static unsigned char data[4 * MIB], seen[4 * MIB];

/* Bytes that depend on their place and on @seed. */
static void fill(unsigned int seed, size_t length)
{
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < length; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = x >> 24;
	}
}

static int make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);

	if (fd < 0)
		FAIL("cannot make %s: %s", name, strerror(errno));
	return fd;
}

static void make_empty(const char *name)
{
	CHECK(!close(make(name)));
}

static void put(int fd, off_t at, size_t length)
{
	size_t done = 0;
	ssize_t n;

	while (done < length) {
		n = pwrite(fd, data + done, length - done, at + done);
		if (n <= 0)
			FAIL("write at %lld: %s", (long long)(at + done), strerror(errno));
		done += n;
	}
}

static void same(int fd, off_t at, size_t length)
{
	size_t done = 0;
	ssize_t n;

	memset(seen, 0x55, length);
	while (done < length) {
		n = pread(fd, seen + done, length - done, at + done);
		if (n <= 0)
			FAIL("read at %lld of %zu: %zd %s", (long long)(at + done), length, n,
			     strerror(errno));
		done += n;
	}
	for (done = 0; done < length; done++)
		if (seen[done] != data[done])
			FAIL("byte %zu of %zu at %lld is %02x, not %02x", done, length,
			     (long long)at, seen[done], data[done]);
}

static bool there(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

/* --- basic ------------------------------------------------------------- */

static void tree(int level, bool add)
{
	char name[32];
	int i;

	for (i = 0; i < 5; i++) {
		sprintf(name, "file%d", i);
		if (add)
			make_empty(name);
		else
			CHECK(!unlink(name));
	}
	for (i = 0; i < 2 && level; i++) {
		sprintf(name, "folder%d", i);
		if (add)
			CHECK(!mkdir(name, 0755));
		CHECK(!chdir(name));
		tree(level - 1, add);
		CHECK(!chdir(".."));
		if (!add)
			CHECK(!rmdir(name));
	}
}

static void case_tree(void)
{
	tree(3, true);
	REFUSED(rmdir("folder0"), ENOTEMPTY);
	tree(3, false);
}

static void case_lookup(void)
{
	char path[4096], again[4096];
	int i;

	CHECK(!mkdir("a", 0755) && !mkdir("a/b", 0755));
	CHECK(getcwd(path, sizeof(path)));
	for (i = 0; i < 50; i++) {
		CHECK(!chdir("a/b") && !chdir("../.."));
		CHECK(getcwd(again, sizeof(again)) && !strcmp(path, again));
	}
	REFUSED(open("a/c/d", O_RDONLY), ENOENT);
	REFUSED(mkdir("a", 0755), EEXIST);
	CHECK(!rmdir("a/b") && !rmdir("a"));
}

static void case_attributes(void)
{
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1200000000 } };
	static const mode_t modes[] = { 0, 0400, 0640, 0755, 0777 };
	struct stat st;
	unsigned int i;
	int fd = make("f");

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		CHECK(!chmod("f", modes[i]) && !stat("f", &st));
		CHECK((st.st_mode & 07777) == modes[i]);
	}
	CHECK(!chown("f", 12, 34) && !stat("f", &st));
	CHECK(st.st_uid == 12 && st.st_gid == 34);
	fill(1, 5000);
	put(fd, 0, 5000);
	CHECK(!fsync(fd) && !stat("f", &st) && st.st_size == 5000);
	CHECK(!utimensat(AT_FDCWD, "f", times, 0) && !stat("f", &st));
	CHECK(st.st_atime == 1000000000 && st.st_mtime == 1200000000);
	CHECK(!close(fd) && !unlink("f"));
}

static void case_readdir(void)
{
	bool found[400] = { false };
	struct dirent *entry;
	char name[256];
	int i, n = 0;
	DIR *dir;

	CHECK(!mkdir("many", 0755));
	for (i = 0; i < 400; i++) {
		/* long names, so that a listing takes several replies */
		sprintf(name, "many/%03d%0*d", i, 20 + i % 200, 0);
		make_empty(name);
	}
	for (i = 1; i < 400; i += 2) {
		sprintf(name, "many/%03d%0*d", i, 20 + i % 200, 0);
		CHECK(!unlink(name));
	}
	dir = opendir("many");
	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		i = (entry->d_name[0] - '0') * 100 + (entry->d_name[1] - '0') * 10 +
		    entry->d_name[2] - '0';
		CHECK(i >= 0 && i < 400 && !(i % 2) && !found[i]);
		found[i] = true;
		n++;
	}
	closedir(dir);
	CHECK(n == 200);
	for (i = 0; i < 400; i += 2) {
		sprintf(name, "many/%03d%0*d", i, 20 + i % 200, 0);
		CHECK(!unlink(name));
	}
	CHECK(!rmdir("many"));
}

static void case_links(void)
{
	char longest[1001], got[1100];
	struct stat st;

	make_empty("one");
	CHECK(!link("one", "two") && !stat("one", &st) && st.st_nlink == 2);
	CHECK(!rename("two", "three") && !there("two") && there("three"));
	REFUSED(link("one", "three"), EEXIST);
	CHECK(!unlink("one") && !stat("three", &st) && st.st_nlink == 1);
	make_empty("four");
	CHECK(!rename("three", "four") && !there("three"));
	CHECK(!mkdir("d", 0755) && !mkdir("e", 0755) && !rename("four", "d/four"));
	CHECK(!rename("d", "e/d") && there("e/d/four"));
	CHECK(!unlink("e/d/four") && !rmdir("e/d") && !rmdir("e"));

	memset(longest, 'x', 1000);
	longest[1000] = 0;
	CHECK(!symlink(longest, "l"));
	CHECK(readlink("l", got, sizeof(got)) == 1000 && !memcmp(got, longest, 1000));
	CHECK(!lstat("l", &st) && S_ISLNK(st.st_mode) && st.st_size == 1000);
	CHECK(!unlink("l"));
}

static void case_statfs(void)
{
	struct statfs s;

	CHECK(!statfs(".", &s));
	CHECK(s.f_type == 0x6969 && s.f_blocks && s.f_bfree <= s.f_blocks);
}

static void case_write_read(void)
{
	size_t i, step = 33333;
	int fd = make("f");

	fill(2, MIB);
	for (i = 0; i < MIB; i += step)
		CHECK(pwrite(fd, data + i, MIB - i < step ? MIB - i : step, i) > 0);
	CHECK(!close(fd));
	fd = open("f", O_RDONLY);
	CHECK(fd >= 0);
	same(fd, 0, MIB);
	CHECK(!close(fd) && !unlink("f"));
}

/* --- special ----------------------------------------------------------- */

/*
 * Each size is one uncached request (or several, if it is long): with data within the
 * message or in chunks, with padding or without.  The server's own file has to have the
 * same bytes.
 */
static void case_sizes(void)
{
	static const size_t sizes[] = {
		1, 2, 3, 4, 5, 511, 512, 513, 800, 900, 1000, 1023, 1024, 1025, 2000, 3000,
		3500, 3800, 3900, 3999, 4000, 4001, 4090, 4095, 4096, 4097, 8191, 8192, 8193,
		65535, 65536, 65537, 262143, 262144, 262145, MIB - 1, MIB, MIB + 1,
		3 * MIB + 17,
	};
	static const off_t offsets[] = { 0, 1, 4095, 4096, 70001 };
	unsigned int i, o;
	char path[4096];
	int fd, back;

	snprintf(path, sizeof(path), "%s/f", behind);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (o = 0; o < ARRAY_SIZE(offsets); o++) {
			fd = open("f", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644);
			CHECK(fd >= 0);
			fill(i * 8 + o, sizes[i]);
			put(fd, offsets[o], sizes[i]);
			same(fd, offsets[o], sizes[i]);
			back = open(path, O_RDONLY);
			CHECK(back >= 0);
			same(back, offsets[o], sizes[i]);
			CHECK(!close(back) && !close(fd));
		}
	CHECK(!unlink("f"));
}

/*
 * A change at the server is seen: with O_DIRECT at once, otherwise when the file is opened
 * again.
 */
static void case_from_behind(void)
{
	struct stat st;
	char path[4096];
	int fd, back;

	snprintf(path, sizeof(path), "%s/f", behind);
	back = make(path);
	fill(77, MIB);
	put(back, 0, MIB);
	fd = open("f", O_RDONLY | O_DIRECT);
	CHECK(fd >= 0);
	same(fd, 0, MIB);
	fill(78, MIB);
	put(back, 0, MIB);
	same(fd, 0, MIB);
	CHECK(!close(fd) && !close(back));
	CHECK(!stat("f", &st) && st.st_size == MIB && !unlink("f"));
	CHECK(!there(path));
}

/*
 * The client renames a file that is removed while it is open, and removes it under the new
 * name some time after close().
 */
static void case_removed_open(void)
{
	int fd = make("f");
	char path[4096];

	snprintf(path, sizeof(path), "%s/f", behind);
	fill(3, 10000);
	CHECK(!unlink("f") && !there("f") && !there(path));
	put(fd, 0, 10000);
	same(fd, 0, 10000);
	CHECK(!close(fd));
}

static void case_changed_open(void)
{
	int fd = make("f");

	fill(4, 10000);
	put(fd, 0, 5000);
	CHECK(!chmod("f", 0));
	put(fd, 0, 10000);
	CHECK(!fsync(fd) && !rename("f", "g"));
	put(fd, 0, 10000);
	same(fd, 0, 10000);
	CHECK(!close(fd) && !unlink("g"));
}

static void case_exclusive(void)
{
	make_empty("f");
	REFUSED(open("f", O_RDWR | O_CREAT | O_EXCL, 0644), EEXIST);
	CHECK(!unlink("f"));
}

static void case_holes(void)
{
	const off_t far = 3LL << 30;
	struct stat st;
	int fd = make("f");

	fill(5, 8192);
	put(fd, 0, 8192);
	put(fd, far, 8192);
	CHECK(!fsync(fd) && !fstat(fd, &st) && st.st_size == far + 8192);
	same(fd, 0, 8192);
	same(fd, far, 8192);
	memset(data, 0, 70000);
	same(fd, 65536, 65536);
	same(fd, far - 65536, 65536);
	CHECK(!ftruncate(fd, 100) && !ftruncate(fd, 70000));
	same(fd, 100, 69900);
	CHECK(!fstat(fd, &st) && st.st_size == 70000);
	CHECK(!close(fd) && !unlink("f"));
}

static void case_append(void)
{
	int i, fd[2];

	make_empty("f");
	for (i = 0; i < 2; i++) {
		fd[i] = open("f", O_RDWR | O_APPEND);
		CHECK(fd[i] >= 0);
	}
	fill(6, 40000);
	for (i = 0; i < 40; i++)
		CHECK(write(fd[i % 2], data + i * 1000, 1000) == 1000 && !fsync(fd[i % 2]));
	same(fd[0], 0, 40000);
	CHECK(!close(fd[0]) && !close(fd[1]) && !unlink("f"));
}

static void case_offsets(void)
{
	int fd = make("f");

	REFUSED(lseek(fd, -1, SEEK_SET), EINVAL);
	REFUSED(pread(fd, seen, 1, -1), EINVAL);
	CHECK(pread(fd, seen, 10, 1000) == 0);
	CHECK(!close(fd) && !unlink("f"));
}

/* Shows calls that the server carries out twice, or answers twice. */
static void case_once(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		CHECK(!mkdir("d", 0755));
		make_empty("d/f");
		CHECK(!link("d/f", "d/g") && !rename("d/f", "d/h"));
		REFUSED(unlink("d/f"), ENOENT);
		CHECK(!unlink("d/h") && !unlink("d/g") && !rmdir("d"));
	}
}

static void case_mapped(void)
{
	unsigned char *map;
	char path[4096];
	int fd = make("f"), back;

	CHECK(!ftruncate(fd, MIB));
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	fill(7, MIB);
	memcpy(map, data, MIB);
	CHECK(!msync(map, MIB, MS_SYNC));
	snprintf(path, sizeof(path), "%s/f", behind);
	back = open(path, O_RDONLY);
	CHECK(back >= 0);
	same(back, 0, MIB);
	CHECK(!munmap(map, MIB) && !close(back) && !close(fd) && !unlink("f"));
}

/* Several processes write into one file at the same time, uncached, each its own part. */
static void case_together(void)
{
	int i, fd, status, failed = 0;

	make_empty("f");
	for (i = 0; i < 8; i++)
		if (!fork()) {
			fd = open("f", O_RDWR | O_DIRECT);
			fill(100 + i, 256 * 1024);
			put(fd, i * 256 * 1024, 256 * 1024);
			same(fd, i * 256 * 1024, 256 * 1024);
			_exit(0);
		}
	for (i = 0; i < 8; i++)
		failed += wait(&status) < 0 || status;
	CHECK(!failed);
	fd = open("f", O_RDONLY);
	for (i = 0; i < 8; i++) {
		fill(100 + i, 256 * 1024);
		same(fd, i * 256 * 1024, 256 * 1024);
	}
	CHECK(!close(fd) && !unlink("f"));
}

/*
 * What version 4.2 adds: space that is reserved and given back, holes that can be found,
 * copies that the server makes.
 */
static void case_4_2(void)
{
	loff_t from = 0, to = MIB;
	size_t left = MIB;
	ssize_t n;
	int fd = make("f");

	fill(8, MIB);
	put(fd, 0, MIB);
	CHECK(!fsync(fd));
	while (left) {
		n = copy_file_range(fd, &from, fd, &to, left, 0);
		CHECK(n > 0);
		left -= n;
	}
	same(fd, MIB, MIB);
	CHECK(!posix_fallocate(fd, 4 * MIB, MIB));
	CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB, MIB));
	CHECK(lseek(fd, 0, SEEK_HOLE) == MIB);
	memset(data, 0, MIB);
	same(fd, MIB, MIB);
	CHECK(!close(fd) && !unlink("f"));
}

/* --- locks ------------------------------------------------------------- */

static int lock(int fd, int type, off_t start, off_t length, int command)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start,
			   .l_len = length };

	return fcntl(fd, command, &l);
}

/* Can another process get the lock?  Returns 0, or its errno. */
static int other_gets(const char *name, int type, off_t start, off_t length)
{
	int status, fd;

	fflush(stdout);
	if (!fork()) {
		fd = open(name, O_RDWR);
		if (fd < 0)
			_exit(255);
		_exit(lock(fd, type, start, length, F_SETLK) ? errno : 0);
	}
	CHECK(wait(&status) > 0 && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void case_locks(void)
{
	const off_t last = (1ULL << 63) - 2;
	struct flock l;
	int fd = make("f");

	CHECK(!lock(fd, F_WRLCK, 10, 10, F_SETLK));
	CHECK(other_gets("f", F_WRLCK, 15, 1) == EAGAIN);
	CHECK(other_gets("f", F_RDLCK, 0, 11) == EAGAIN);
	CHECK(other_gets("f", F_WRLCK, 0, 10) == 0);
	CHECK(other_gets("f", F_WRLCK, 20, 0) == 0);
	CHECK(!lock(fd, F_RDLCK, 10, 10, F_SETLK));
	CHECK(other_gets("f", F_RDLCK, 0, 0) == 0);
	CHECK(other_gets("f", F_WRLCK, 0, 0) == EAGAIN);
	/* a gap in the middle */
	CHECK(!lock(fd, F_UNLCK, 14, 2, F_SETLK));
	CHECK(other_gets("f", F_WRLCK, 14, 2) == 0);
	CHECK(other_gets("f", F_WRLCK, 13, 1) == EAGAIN);
	CHECK(!lock(fd, F_UNLCK, 0, 0, F_SETLK));
	CHECK(other_gets("f", F_WRLCK, 0, 0) == 0);
	/* as far as offsets go */
	CHECK(!lock(fd, F_WRLCK, last, 1, F_SETLK));
	CHECK(other_gets("f", F_WRLCK, 0, last) == 0);
	CHECK(other_gets("f", F_WRLCK, 0, 0) == EAGAIN);
	l = (struct flock){ .l_type = F_WRLCK };
	CHECK(!fcntl(fd, F_GETLK, &l) && l.l_type == F_UNLCK);
	CHECK(!close(fd));
	CHECK(other_gets("f", F_WRLCK, 0, 0) == 0);
	CHECK(!unlink("f"));
}

/* The server holds the locks, so a program that uses the file there sees them. */
static void case_lock_behind(void)
{
	char path[4096];
	int fd = make("f"), back;

	snprintf(path, sizeof(path), "%s/f", behind);
	CHECK(!lock(fd, F_WRLCK, 100, 50, F_SETLK));
	CHECK(other_gets(path, F_WRLCK, 120, 1) == EAGAIN);
	CHECK(other_gets(path, F_WRLCK, 0, 100) == 0);
	CHECK(!lock(fd, F_UNLCK, 0, 0, F_SETLK));
	back = open(path, O_RDWR);
	CHECK(back >= 0 && !lock(back, F_WRLCK, 0, 0, F_SETLK));
	CHECK(other_gets("f", F_WRLCK, 5, 1) == EAGAIN);
	CHECK(!close(back));
	CHECK(other_gets("f", F_WRLCK, 5, 1) == 0);
	CHECK(!close(fd) && !unlink("f"));
}

/* A process waits for a lock, and gets it when its holder is killed. */
static void case_lock_wait(void)
{
	int fd = make("f"), ready[2], status;
	time_t start;
	pid_t holder;
	char c;

	CHECK(!pipe(ready));
	fflush(stdout);
	holder = fork();
	if (!holder) {
		int mine = open("f", O_RDWR);

		if (mine >= 0 && !lock(mine, F_WRLCK, 0, 0, F_SETLK))
			CHECK(write(ready[1], "x", 1) == 1);
		sleep(1000);
		_exit(1);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	CHECK(lock(fd, F_WRLCK, 0, 0, F_SETLK) == -1);
	fflush(stdout);
	if (!fork()) {
		sleep(1);
		kill(holder, SIGKILL);
		_exit(0);
	}
	start = time(NULL);
	CHECK(!lock(fd, F_WRLCK, 0, 0, F_SETLKW));
	CHECK(time(NULL) - start < 60);
	while (wait(&status) > 0)
		;
	CHECK(!close(fd) && !close(ready[0]) && !close(ready[1]) && !unlink("f"));
}

static void case_flock(void)
{
	int fd = make("f"), status;

	CHECK(!flock(fd, LOCK_EX));
	fflush(stdout);
	if (!fork()) {
		int mine = open("f", O_RDWR);

		_exit(flock(mine, LOCK_EX | LOCK_NB) ? errno : 0);
	}
	CHECK(wait(&status) > 0 && WEXITSTATUS(status) == EAGAIN);
	CHECK(!flock(fd, LOCK_UN) && !close(fd) && !unlink("f"));
}

/* ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "basic: trees of files and folders", case_tree },
	{ "basic: lookup and getcwd", case_lookup },
	{ "basic: mode, owner, size, times", case_attributes },
	{ "basic: a long folder is read, each entry once", case_readdir },
	{ "basic: link, rename, symlink", case_links },
	{ "basic: statfs", case_statfs },
	{ "basic: 1 MiB in odd pieces", case_write_read },
	{ "special: 1 byte to 3 MiB uncached, aligned and not", case_sizes },
	{ "special: what changes at the server is seen", case_from_behind },
	{ "special: a file is removed while open", case_removed_open },
	{ "special: a file loses its rights and name while open", case_changed_open },
	{ "special: exclusive create", case_exclusive },
	{ "special: holes, truncation, 3 GiB", case_holes },
	{ "special: append by two", case_append },
	{ "special: impossible offsets", case_offsets },
	{ "special: each operation is done once", case_once },
	{ "special: a mapped file", case_mapped },
	{ "special: 8 processes write one file", case_together },
	{ "special: copy, fallocate, holes of 4.2", case_4_2 },
	{ "lock: ranges, two kinds", case_locks },
	{ "lock: the server holds it", case_lock_behind },
	{ "lock: wait for one who is killed", case_lock_wait },
	{ "lock: flock", case_flock },
};

/*
 * Removes the folder of a case, which the case leaves empty.  A file that was removed may
 * stay there for a moment, under a name of the client's own: close() waits for the file's
 * last pages, but not for the end of the request that has them.
 */
static bool removed(const char *own)
{
	int tries = 12000;

	while (rmdir(own)) {
		if (errno != ENOTEMPTY || !tries--)
			return false;
		usleep(10000);
	}
	return true;
}

static bool run_case(size_t i, const char *folder, const char *behind_all)
{
	static char own[16];

	sprintf(own, "case%zu", i);
	snprintf(behind, sizeof(behind), "%s/%s", behind_all, own);
	if (setjmp(case_end))
		return false;
	CHECK(!chdir(folder) && !mkdir(own, 0777) && !chdir(own));
	cases[i].run();
	CHECK(!chdir("..") && removed(own));
	return true;
}

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0;
	size_t i;

	if (argc != 4) {
		fprintf(stderr, "usage: fs_ops FOLDER BEHIND VERSION\n");
		return 2;
	}
	suite = getpid();
	version = argv[3];
	umask(0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].run == case_4_2 && strcmp(version, "4.2"))
			continue;
		if (run_case(i, argv[1], argv[2])) {
			printf("ok %s %s\n", version, cases[i].name);
			passed++;
		} else {
			printf("FAIL %s %s\n", version, cases[i].name);
			failed++;
		}
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
