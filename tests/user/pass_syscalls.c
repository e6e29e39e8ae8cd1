// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How many system calls the data path of an application makes: in passthrough none, but
 * the doorbell of Soft-RoCE's library, a write(2) for each request that is posted; forwarded
 * one for each post, which shows that they are counted.
 *
 *	pass_syscalls [-a IA] [-b IA] [PART OF A NAME]...
 *
 * A child does the transfers, between two IAs that it has both, and its parent traces it:
 * the child says by a system call of no use which section begins.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>
#include "check.h"
#include "proc.h"

#define TURNS	16		/* of each section */
#define LOOKS	1000
#define MSG	64
#define LONG	180000000u	/* us */
#define MARK	0x6b64aULL

static char *ia_names[2] = { "rxe0-1", "rxe1-1" };

enum section {
	NOTHING, POST_RECV, POST_SEND, POST_WRITE, POST_READ, TAKE, TAKE_RDMA, LOOK,
	LOOK_SOLICITED, WAIT, THREADS, SECTIONS
};

struct counts {
	unsigned int all;
	unsigned int writes;
	unsigned int polls;
};

/* ---- the child ------------------------------------------------------------------------ */

static struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd, dto;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;
	uint8_t memory[MSG];
} sides[2];

static void begin(enum section section)
{
	syscall(SYS_getppid, MARK, section);
}

static void must(DAT_RETURN ret, const char *call)
{
	char name[128];

	if (!ret)
		return;
	fprintf(stderr, "pass_syscalls: %s: %s\n", call, check_name(ret, name, sizeof(name)));
	_exit(1);
}

#define MUST(call)	must(call, #call)

static DAT_EP_ATTR ep_attr(void)
{
	return (DAT_EP_ATTR) {
		.max_message_size = MSG, .max_rdma_size = MSG,
		.max_recv_dtos = 2 * TURNS, .max_request_dtos = 2 * TURNS,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = 1, .max_rdma_read_out = 1,
		.max_rdma_read_iov = 1, .max_rdma_write_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

static void side_open(struct side *side, char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->memory };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr = ep_attr();

	MUST(dat_ia_open(name, 8, &async, &side->ia));
	MUST(dat_pz_create(side->ia, &side->pz));
	MUST(dat_evd_create(side->ia, 8, NULL,
			    DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &side->evd));
	MUST(dat_evd_create(side->ia, 8 * TURNS, NULL, DAT_EVD_DTO_FLAG, &side->dto));
	MUST(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, MSG, side->pz,
			    DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->segment.lmr_context,
			    &side->remote.rmr_context, NULL, NULL));
	side->segment.virtual_address = (uintptr_t)side->memory;
	side->segment.segment_length = MSG;
	side->remote.target_address = (uintptr_t)side->memory;
	side->remote.segment_length = MSG;
	MUST(dat_ep_create(side->ia, side->pz, side->dto, side->dto, side->evd, &attr,
			   &side->ep));
}

static DAT_EVENT event_of(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(evd, LONG, 1, &event, &more));
	if (event.event_number != wanted) {
		fprintf(stderr, "pass_syscalls: event %#x\n", event.event_number);
		_exit(1);
	}
	return event;
}

static void connect_sides(void)
{
	DAT_CONN_QUAL qual = 23000;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_IA_ATTR attr;

	MUST(dat_psp_create(sides[1].ia, qual, sides[1].evd, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST(dat_ia_query(sides[1].ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	MUST(dat_ep_connect(sides[0].ep, attr.ia_address_ptr, qual, LONG, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = event_of(sides[1].evd, DAT_CONNECTION_REQUEST_EVENT);
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, sides[1].ep, 0,
			   NULL));
	event_of(sides[0].evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	event_of(sides[1].evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_RETURN post(enum section what)
{
	DAT_DTO_COOKIE cookie = { .as_64 = what };
	struct side *a = &sides[0], *b = &sides[1];

	switch (what) {
	case POST_RECV:
		return dat_ep_post_recv(b->ep, 1, &b->segment, cookie, 0);
	case POST_SEND:
		return dat_ep_post_send(a->ep, 1, &a->segment, cookie, 0);
	case POST_WRITE:
		return dat_ep_post_rdma_write(a->ep, 1, &a->segment, cookie, &b->remote, 0);
	default:
		return dat_ep_post_rdma_read(a->ep, 1, &a->segment, cookie, &b->remote, 0);
	}
}

static void posts(enum section what)
{
	int i;

	begin(what);
	for (i = 0; i < TURNS; i++)
		MUST(post(what));
	begin(NOTHING);
}

/* Looks again and again until so many completions were there. */
static void takes(enum section section, struct side *side, int number)
{
	DAT_EVENT event;

	begin(section);
	while (number)
		if (!dat_evd_dequeue(side->dto, &event)) {
			if (event.event_data.dto_completion_event_data.status)
				_exit(2);
			number--;
		}
	begin(NOTHING);
}

static void looks(enum section section, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	int i;

	begin(section);
	for (i = 0; i < LOOKS; i++)
		if (!dat_evd_dequeue(evd, &event))
			_exit(3);
	begin(NOTHING);
}

/* An EVD of receives that are SOLICITED_WAIT, as long as there are any and after that. */
static void solicited_looks(void)
{
	struct side *side = &sides[1];
	DAT_EP_HANDLE eps[2];
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr;
	int i;

	attr = ep_attr();
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	MUST(dat_evd_create(side->ia, 8 * TURNS, NULL, DAT_EVD_DTO_FLAG, &evd));
	for (i = 0; i < 2; i++)
		MUST(dat_ep_create(side->ia, side->pz, evd, side->dto, side->evd, &attr,
				   &eps[i]));
	for (i = 0; i < 2; i++) {
		looks(LOOK_SOLICITED, evd);
		MUST(dat_ep_free(eps[i]));
	}
	looks(LOOK_SOLICITED, evd);
	MUST(dat_evd_free(evd));
}

static void *send_later(void *unused)
{
	usleep(300000);
	MUST(post(POST_SEND));
	return unused;
}

/* Sleeps for an event; what the other thread does is not counted. */
static void waits(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	pthread_t thread;
	int i;

	/* The first wait for events of an EVD opens its descriptors. */
	for (i = 0; i < 2; i++) {
		MUST(post(POST_RECV));
		pthread_create(&thread, NULL, send_later, NULL);
		begin(i ? WAIT : NOTHING);
		MUST(dat_evd_wait(sides[1].dto, LONG, 1, &event, &more));
		begin(NOTHING);
		pthread_join(thread, NULL);
		takes(NOTHING, &sides[0], 1);
	}
}

/* A call for each thread there is besides this one. */
static void other_threads(void)
{
	int number = proc_threads();

	begin(THREADS);
	while (number-- > 1)
		getuid();
	begin(NOTHING);
}

static void child(const char *mode)
{
	setenv("KDAPL_MODE", mode, 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	side_open(&sides[0], ia_names[0]);
	side_open(&sides[1], ia_names[1]);
	connect_sides();
	posts(POST_RECV);
	posts(POST_SEND);
	takes(TAKE, &sides[0], TURNS);
	takes(TAKE, &sides[1], TURNS);
	posts(POST_WRITE);
	takes(TAKE_RDMA, &sides[0], TURNS);
	posts(POST_READ);
	takes(TAKE_RDMA, &sides[0], TURNS);
	looks(LOOK, sides[1].dto);
	solicited_looks();
	other_threads();
	waits();
	_exit(0);
}

/* ---- the parent ----------------------------------------------------------------------- */

static struct counts counts[SECTIONS];

/* Newer processors have ppoll() only. */
static bool is_poll(unsigned long nr)
{
#ifdef SYS_poll
	if (nr == SYS_poll)
		return true;
#endif
	return nr == SYS_ppoll;
}

static void count(const struct ptrace_syscall_info *info)
{
	static enum section section;

	if (info->op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info->entry.nr == SYS_getppid && info->entry.args[0] == MARK) {
		section = info->entry.args[1];
		return;
	}
	if (section == NOTHING || section >= SECTIONS)
		return;
	counts[section].all++;
	counts[section].writes += info->entry.nr == SYS_write;
	counts[section].polls += is_poll(info->entry.nr);
}

/* To its end; a failure if that is not a good one. */
static void trace(const char *mode)
{
	struct ptrace_syscall_info info;
	int status, signal;
	pid_t pid;

	memset(counts, 0, sizeof(counts));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child(mode);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, NULL,
		      PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	for (signal = 0; ; ) {
		CHECK(!ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)signal));
		CHECK(waitpid(pid, &status, 0) == pid);
		if (!WIFSTOPPED(status))
			break;
		signal = 0;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			signal = WSTOPSIG(status);
		else if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) > 0)
			count(&info);
	}
	CHECK_EQ(status, 0);
	printf("-- %s: %d receives %u, sends %u, writes %u, reads %u; %d taken %u, %d of RDMA %u; "
	       "%d looks %u, %d of solicited receives %u; a wait %u, of them poll %u\n", mode,
	       TURNS, counts[POST_RECV].all,
	       counts[POST_SEND].all, counts[POST_WRITE].all, counts[POST_READ].all, 2 * TURNS,
	       counts[TAKE].all, 2 * TURNS, counts[TAKE_RDMA].all, LOOKS, counts[LOOK].all,
	       3 * LOOKS, counts[LOOK_SOLICITED].all, counts[WAIT].all, counts[WAIT].polls);
}

/* What Soft-RoCE's library has instead of a doorbell in memory. */
static unsigned int doorbells(void)
{
	return strncmp(ia_names[0], "rxe", 3) ? 0 : TURNS;
}

static void passthrough(void)
{
	trace("passthrough");
	CHECK_EQ(counts[POST_RECV].all, 0);
	CHECK_EQ(counts[POST_SEND].all, doorbells());
	CHECK_EQ(counts[POST_SEND].writes, doorbells());
	CHECK_EQ(counts[POST_WRITE].all, doorbells());
	CHECK_EQ(counts[POST_WRITE].writes, doorbells());
	CHECK_EQ(counts[POST_READ].all, doorbells());
	CHECK_EQ(counts[POST_READ].writes, doorbells());
	CHECK_EQ(counts[TAKE].all, 0);
	CHECK_EQ(counts[TAKE_RDMA].all, 0);
	CHECK_EQ(counts[LOOK].all, 0);
	CHECK_EQ(counts[LOOK_SOLICITED].all, 0);
	/* The housekeeper, which there is from the first connection on. */
	CHECK_EQ(counts[THREADS].all, 1);
	/*
	 * One sleep; a wake-up for an event that is not ready yet would be one more. For each
	 * the queue is armed, and the event of its channel read. Signals are blocked before the
	 * first sleep and let in again behind the last one (E38).
	 */
	CHECK(counts[WAIT].polls >= 1 && counts[WAIT].polls <= 2);
	CHECK(counts[WAIT].all <= 3 * counts[WAIT].polls + 2);
}

static void forwarded(void)
{
	trace("forwarded");
	CHECK_EQ(counts[POST_RECV].all, TURNS);
	CHECK_EQ(counts[POST_SEND].all, TURNS);
	CHECK_EQ(counts[POST_WRITE].all, TURNS);
	CHECK_EQ(counts[POST_READ].all, TURNS);
	CHECK_EQ(counts[THREADS].all, 0);
}

static const struct check_case cases[] = {
	{ "A4 passthrough: no system call but Soft-RoCE's doorbell", passthrough },
	{ "A4 forwarded: a system call for each post", forwarded },
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:b:")) != -1) {
		if (c == '?')
			return 2;
		ia_names[c == 'b'] = optarg;
	}
	argv[optind - 1] = argv[0];
	return check_run(cases, ARRAY_SIZE(cases), NULL, argc - optind + 1,
			 argv + optind - 1);
}
