// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a process is charged for, what it is refused when it has as much as it may have,
 * and that all of it is given back (A8): objects of the device to its rdma cgroup,
 * queues to its locked memory, objects of DAT and open files to its user.
 *
 *	charge [-a IA] [PART OF A NAME]...
 *
 * Each case runs in a child, which joins a cgroup of the test's own.  Root, a cgroup2
 * file system with the rdma controller, max_objects of 40, max_user_objects of 64 and
 * max_user_files of 8 are needed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "proc.h"

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/kdapl-charge"
#define MODULE	"/sys/module/kdapl/parameters/"
#define NOBODY	65534
#define QUEUE	2000		/* DTOs: tens of pages */

static const char *ia_name = "rxe0-1";

/* Exact: class, type and subtype. */
#define NO(resource)	ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_##resource)

/* ---- the cgroup -------------------------------------------------------------- */

static void put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		FAIL("%s: %s: %s", file, text, strerror(errno));
}

static int device_length(void)
{
	return strcspn(ia_name, "-");
}

struct usage {
	int handles;
	int objects;
};

static struct usage usage(void)
{
	struct usage now = { -1, -1 };
	FILE *f = fopen(GROUP "/rdma.current", "r");
	char line[256];

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, ia_name, device_length()))
			sscanf(line + device_length(),
			       " hca_handle=%d hca_object=%d", &now.handles,
			       &now.objects);
	fclose(f);
	return now;
}

/* Not more than it has and @more objects; without a limit below 0. */
static void limit(const char *of, int most)
{
	char text[128], number[16] = "max";

	if (most >= 0)
		snprintf(number, sizeof(number), "%d", most);
	snprintf(text, sizeof(text), "%.*s %s=%s", device_length(), ia_name, of,
		 number);
	put(GROUP "/rdma.max", text);
}

static void counted_at(int line, int handles, int objects)
{
	struct usage now = usage();

	if (now.handles != handles || now.objects != objects)
		FAIL("line %d: %d handles and %d objects are charged, expected %d and %d",
		     line, now.handles, now.objects, handles, objects);
}

#define COUNTED(handles, objects)	counted_at(__LINE__, handles, objects)

/*
 * A call that takes @n objects is refused with @ret as long as there is room for fewer,
 * and charges nothing; then it succeeds.
 */
#define TAKES(n, ret, call)						\
	do {								\
		struct usage was_ = usage();				\
		int room_, n_ = (n);					\
									\
		for (room_ = 0; room_ <= n_; room_++) {			\
			limit("hca_object", was_.objects + room_);	\
			CHECK_RET(call, room_ < n_ ? (ret) : DAT_SUCCESS); \
			COUNTED(was_.handles,				\
				was_.objects + (room_ < n_ ? 0 : n_));	\
		}							\
		limit("hca_object", -1);				\
	} while (0)

/* ---- what a process has made ------------------------------------------------ */

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr[2];
	DAT_RMR_HANDLE rmr;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	uint8_t memory[8192];
} me;

static DAT_RETURN open_ia(DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)ia_name, 8, &async, ia);
}

static DAT_RETURN make_lmr(DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = me.memory };
	DAT_LMR_CONTEXT context;

	return dat_lmr_create(me.ia, DAT_MEM_TYPE_VIRTUAL, region,
			      sizeof(me.memory), me.pz, DAT_MEM_PRIV_ALL_FLAG,
			      lmr, &context, NULL, NULL, NULL);
}

static DAT_RETURN make_evd(void)
{
	return dat_evd_create(me.ia, 64, NULL,
			      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &me.evd);
}

static const DAT_EP_ATTR small_ep = {
	.max_message_size = 64, .max_rdma_size = 64,
	.max_recv_dtos = 1, .max_request_dtos = 1,
	.max_recv_iov = 1, .max_request_iov = 1,
	.srq_soft_hw = DAT_HW_DEFAULT,
};

static DAT_RETURN make_ep(int dtos)
{
	DAT_EP_ATTR attr = small_ep;

	attr.max_recv_dtos = dtos;
	return dat_ep_create(me.ia, me.pz, me.evd, me.evd, me.evd, &attr, &me.ep);
}

/* To an address of the same network that nobody has. */
static DAT_RETURN ask_nobody(void)
{
	struct sockaddr_in there;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(me.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	there = *(struct sockaddr_in *)attr.ia_address_ptr;
	there.sin_addr.s_addr ^= htonl(0x70);
	return dat_ep_connect(me.ep, (DAT_IA_ADDRESS_PTR)&there, 7, 60000000, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void make_all(void)
{
	OK(open_ia(&me.ia));
	OK(dat_pz_create(me.ia, &me.pz));
	OK(make_lmr(&me.lmr[0]));
	OK(dat_rmr_create(me.pz, &me.rmr));
	OK(make_evd());
	OK(make_ep(8));
	OK(ask_nobody());
}

/* ---- children --------------------------------------------------------------- */

static void join(void)
{
	put(GROUP "/cgroup.procs", "0");
}

/* Runs @run in a process of its own; false if a check failed there. */
static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	if (!setjmp(check_end))
		run();
	fflush(stdout);
	_exit(check_failed);
}

static void succeeds(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

/* ---- the rdma cgroup -------------------------------------------------------- */

static void refused_at_the_limit(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	join();
	COUNTED(0, 0);
	limit("hca_handle", 0);
	CHECK_RET(open_ia(&me.ia), NO(MEMORY));
	COUNTED(0, 0);
	limit("hca_handle", 1);
	OK(open_ia(&me.ia));
	COUNTED(1, 0);
	TAKES(1, NO(PROTECTION_DOMAIN), dat_pz_create(me.ia, &me.pz));
	/* A region, and the CQ and queue pair that register it, once for the zone. */
	TAKES(3, NO(MEMORY_REGION), make_lmr(&me.lmr[0]));
	TAKES(1, NO(MEMORY_REGION), make_lmr(&me.lmr[1]));
	TAKES(2, NO(MEMORY_REGION), dat_rmr_create(me.pz, &me.rmr));
	OK(make_evd());
	COUNTED(1, 7);
	/* The CQ of the EVD. */
	TAKES(1, NO(MEMORY), make_ep(8));
	TAKES(1, NO(TEP), ask_nobody());

	OK(dat_ep_disconnect(me.ep, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_evd_wait(me.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	OK(dat_ep_reset(me.ep));
	COUNTED(1, 8);
	OK(dat_ep_free(me.ep));
	OK(dat_evd_free(me.evd));
	COUNTED(1, 7);
	OK(dat_rmr_free(me.rmr));
	COUNTED(1, 5);
	OK(dat_lmr_free(me.lmr[1]));
	OK(dat_lmr_free(me.lmr[0]));
	COUNTED(1, 3);
	OK(dat_pz_free(me.pz));
	COUNTED(1, 0);
	OK(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
	COUNTED(0, 0);
}

static void cgroup_limits(void)
{
	succeeds(start(refused_at_the_limit));
}

static int told[2];

static void make_all_and_stay(void)
{
	join();
	make_all();
	COUNTED(1, 8);
	CHECK(write(told[1], "m", 1) == 1);
	pause();
}

static void cgroup_of_the_killed(void)
{
	double end = check_now() + 180;
	struct usage now;
	int status;
	pid_t pid;
	char c;

	CHECK(!pipe(told));
	pid = start(make_all_and_stay);
	close(told[1]);
	CHECK(read(told[0], &c, 1) == 1);
	close(told[0]);
	CHECK(!kill(pid, SIGKILL));
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	do
		now = usage();
	while ((now.handles || now.objects) && check_now() < end && !usleep(10000));
	COUNTED(0, 0);
}

/* ---- locked memory ---------------------------------------------------------- */

static unsigned long long pinned(void)
{
	return proc_number("/proc/self/status", "VmPin:");
}

static void queues_are_locked_memory(void)
{
	struct rlimit small = { 65536, RLIM_INFINITY };
	unsigned long long with_cq;
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &small));
	CHECK(!setuid(NOBODY));
	OK(open_ia(&me.ia));
	OK(dat_pz_create(me.ia, &me.pz));
	OK(make_evd());
	CHECK_EQ(pinned(), 0);
	CHECK_RET(make_ep(QUEUE), NO(MEMORY));
	CHECK_EQ(pinned(), 0);
	OK(make_ep(8));
	with_cq = pinned();
	CHECK(with_cq > 0 && with_cq <= 64);
	OK(ask_nobody());
	CHECK(pinned() > with_cq);
	OK(dat_ep_disconnect(me.ep, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_evd_wait(me.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	OK(dat_ep_reset(me.ep));
	CHECK_EQ(pinned(), with_cq);
	OK(dat_ep_free(me.ep));
	OK(dat_evd_free(me.evd));
	CHECK_EQ(pinned(), 0);
	OK(dat_pz_free(me.pz));
	OK(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void locked_memory(void)
{
	succeeds(start(queues_are_locked_memory));
}

/* ---- objects of a user ------------------------------------------------------ */

/* An IA with its EVD, and as many zones as there may be; their number is returned. */
static int make_many(void)
{
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;
	int n = 0;

	OK(open_ia(&me.ia));
	while (!(ret = dat_pz_create(me.ia, &pz)))
		n++;
	CHECK_RET(ret, NO(MEMORY));
	return n;
}

static int room;

static void makes_what_is_left(void)
{
	CHECK(!setuid(NOBODY));
	CHECK_EQ(make_many(), room - 2);
}

static void makes_and_stays(void)
{
	makes_what_is_left();
	CHECK(write(told[1], "m", 1) == 1);
	pause();
}

static void user_limit(void)
{
	int of_file = proc_number(MODULE "max_objects", "");
	int of_user = proc_number(MODULE "max_user_objects", "");
	pid_t first;
	char c;

	CHECK(of_file < of_user && of_user < 2 * of_file);
	CHECK(!pipe(told));
	room = of_file;
	first = start(makes_and_stays);
	close(told[1]);
	CHECK(read(told[0], &c, 1) == 1);
	close(told[0]);
	room = of_user - of_file;
	succeeds(start(makes_what_is_left));
	CHECK(!kill(first, SIGKILL));
	CHECK(waitpid(first, NULL, 0) == first);
	room = of_file;
	succeeds(start(makes_what_is_left));
	/* Another user has not noticed. */
	OK(open_ia(&me.ia));
	OK(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- addresses at which service points listen --------------------------------- */

/* Addresses for which a service point listens, with the few that the port has anyhow. */
#define ADDRESSES	230
#define FEW		10
#define LISTENED	8192

/*
 * Run by a shell, with the name of a Soft-RoCE device and "add" or "del" as its arguments.  Returns
 * when the port has the addresses, or has them no more.
 */
static const char change_addresses[] =
	"set -e; p=/sys/class/infiniband/$1/ports/1; n=$(cat $p/gid_attrs/ndevs/0)\n"
	"i=0; while [ $((i += 1)) -le 230 ]; do echo \"addr $2 10.9.200.$i/32 dev $n\"; done |\n"
	"	ip -batch -\n"
	"want=0; [ $2 = del ] || want=230\n"
	"until [ $(cat $p/gids/* | grep -c :0a09:c8) -eq $want ]; do sleep 0.1; done";

static void addresses(const char *what)
{
	char device[64], command[sizeof(change_addresses) + 128];

	snprintf(device, sizeof(device), "%.*s", device_length(), ia_name);
	snprintf(command, sizeof(command), "set -- %s %s; %s", device, what, change_addresses);
	CHECK(!system(command));
}

/* As many service points as there may be. */
static void listens(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	int n = 0;

	CHECK(!setuid(NOBODY));
	OK(open_ia(&me.ia));
	OK(dat_evd_create(me.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &me.evd));
	while (!(ret = dat_psp_create_any(me.ia, &qual, me.evd, DAT_PSP_CONSUMER_FLAG, &psp)))
		n++;
	CHECK_RET(ret, NO(TEP));
	CHECK(n * ADDRESSES <= LISTENED && (n + 1) * (ADDRESSES + FEW) > LISTENED);
	/* What was refused has taken nothing; what is freed can be had again. */
	OK(dat_psp_free(psp));
	OK(dat_psp_create_any(me.ia, &qual, me.evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void listens_and_stays(void)
{
	listens();
	CHECK(write(told[1], "m", 1) == 1);
	pause();
}

static void listen_limit(void)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	pid_t first;
	char c;

	addresses("add");
	CHECK(!pipe(told));
	first = start(listens_and_stays);
	close(told[1]);
	CHECK(read(told[0], &c, 1) == 1);
	close(told[0]);
	/* Another user has not noticed. */
	OK(open_ia(&me.ia));
	OK(dat_evd_create(me.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &me.evd));
	OK(dat_psp_create_any(me.ia, &qual, me.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_ia_close(me.ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(!kill(first, SIGKILL));
	CHECK(waitpid(first, NULL, 0) == first);
	succeeds(start(listens));
	/* Those of addresses that are gone do not count. */
	addresses("del");
}

/* ---- open files of a user --------------------------------------------------- */

static int open_file(void)
{
	return open("/dev/kdapl", O_RDWR | O_CLOEXEC);
}

static void opens_all_there_may_be(void)
{
	int most = proc_number(MODULE "max_user_files", ""), fds[64], n;

	CHECK(!setuid(NOBODY));
	CHECK(most > 0 && most < 64);
	for (n = 0; n < most; n++) {
		fds[n] = open_file();
		CHECK(fds[n] >= 0);
	}
	CHECK(open_file() < 0 && errno == EMFILE);
	CHECK_RET(open_ia(&me.ia), NO(MEMORY));
	close(fds[0]);
	OK(open_ia(&me.ia));
	CHECK(open_file() < 0 && errno == EMFILE);
	OK(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
	CHECK(write(told[1], "m", 1) == 1);
	pause();
}

static void file_limit(void)
{
	pid_t first;
	char c;
	int fd;

	CHECK(!pipe(told));
	first = start(opens_all_there_may_be);
	close(told[1]);
	CHECK(read(told[0], &c, 1) == 1);
	close(told[0]);
	/* Another user has not noticed. */
	fd = open_file();
	CHECK(fd >= 0 && !close(fd));
	CHECK(!kill(first, SIGKILL));
	CHECK(waitpid(first, NULL, 0) == first);
}

/* ---- as many as the IA says --------------------------------------------------- */

/* Makes @most with @make, and not one more. */
static void as_many(int most, DAT_RETURN (*make)(DAT_HANDLE *handle),
		    DAT_RETURN (*drop)(DAT_HANDLE handle))
{
	static DAT_HANDLE made[1000];
	DAT_HANDLE more;
	int i;

	CHECK(most > 0 && most <= (int)ARRAY_SIZE(made));
	for (i = 0; i < most; i++)
		OK(make(&made[i]));
	CHECK_RET(make(&more), NO(MEMORY));
	while (i--)
		OK(drop(made[i]));
}

static DAT_RETURN one_pz(DAT_HANDLE *pz)
{
	return dat_pz_create(me.ia, pz);
}

static DAT_RETURN one_evd(DAT_HANDLE *evd)
{
	return dat_evd_create(me.ia, 1, NULL, DAT_EVD_SOFTWARE_FLAG, evd);
}

static DAT_RETURN one_ep(DAT_HANDLE *ep)
{
	return dat_ep_create(me.ia, me.pz, me.evd, me.evd, me.evd, NULL, ep);
}

static DAT_RETURN one_lmr(DAT_HANDLE *lmr)
{
	return make_lmr(lmr);
}

static DAT_RETURN one_rmr(DAT_HANDLE *rmr)
{
	return dat_rmr_create(me.pz, rmr);
}

static DAT_RETURN one_srq(DAT_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { 1, 1, DAT_SRQ_LW_DEFAULT };

	return dat_srq_create(me.ia, me.pz, &attr, srq);
}

static DAT_RETURN one_ep_on_srq(DAT_HANDLE *ep)
{
	DAT_EP_ATTR attr = small_ep;

	return dat_ep_create_with_srq(me.ia, me.pz, me.evd, me.evd, me.evd, me.srq, &attr, ep);
}

static void all_of_each(void)
{
	DAT_IA_ATTR attr;

	OK(open_ia(&me.ia));
	OK(dat_ia_query(me.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	as_many(attr.max_pzs, one_pz, dat_pz_free);
	as_many(attr.max_evds, one_evd, dat_evd_free);
	OK(dat_pz_create(me.ia, &me.pz));
	OK(make_evd());
	as_many(attr.max_eps, one_ep, dat_ep_free);
	OK(one_srq(&me.srq));
	as_many(attr.max_ep_per_srq, one_ep_on_srq, dat_ep_free);
	OK(dat_srq_free(me.srq));
	OK(dat_evd_free(me.evd));
	as_many(attr.max_srqs, one_srq, dat_srq_free);
	as_many(attr.max_lmrs, one_lmr, dat_lmr_free);
	as_many(attr.max_rmrs, one_rmr, dat_rmr_free);
	OK(dat_pz_free(me.pz));
	OK(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static const struct check_case cases[] = {
	{ "A8 E114 I15 each object counts in the rdma cgroup", cgroup_limits },
	{ "A8 I19 a killed process gives back what its cgroup was charged",
	  cgroup_of_the_killed },
	{ "A8 queues count as locked memory", locked_memory },
	{ "A8 the objects of a user are limited", user_limit },
	{ "A8 the open files of a user are limited", file_limit },
	{ "A8 P2 the addresses at which a user listens are limited", listen_limit },
	{ "I20 as many objects as the IA says, and not one more", all_of_each },
};

/* Whoever failed left its child, and limits. */
static void after(void)
{
	limit("hca_handle", -1);
	limit("hca_object", -1);
}

int main(int argc, char **argv)
{
	int c, failed;

	while ((c = getopt(argc, argv, "a:")) != -1) {
		if (c != 'a')
			return 2;
		ia_name = optarg;
	}
	if (setjmp(check_end))
		return 2;
	put(ROOT "/cgroup.subtree_control", "+rdma");
	if (mkdir(GROUP, 0755) && errno != EEXIST) {
		perror(GROUP);
		return 2;
	}
	argv[optind - 1] = argv[0];
	failed = check_run(cases, ARRAY_SIZE(cases), after, argc - optind + 1,
			   argv + optind - 1);
	rmdir(GROUP);
	return failed;
}
