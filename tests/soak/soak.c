// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * udat_soak: what one round of tests/soak/soak.sh does to kdapl between two adapters.
 *
 *	udat_soak CONNECTIONS KILLS [IA IA]
 *	udat_soak hold|hold-shared [IA IA]
 *
 * Half of the CONNECTIONS by a process that is forwarded, half by one in passthrough, one after
 * the other; each has a message in either direction, which is compared.  Meanwhile KILLS
 * processes are killed in the middle of their traffic.  Half of the connections are "shared":
 * their receives are in shared receive queues, which are made and freed with them, and one side
 * reads the other's memory through an RMR.  Prints how many there were of each.
 *
 * "hold" is traffic until something goes wrong, which is no failure: for those who take a
 * device away.  It says when the traffic goes.  "hold-shared" has a shared connection for it.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "pair.h"

#define QUAL	34000
/* Receives that a shared receive queue has room for */
#define SHARED	16

static const char *ia_names[2] = { "rxe0-1", "rxe1-1" };
static bool holds;

/* Shared with the children */
static struct {
	uint64_t connections, shared, messages, traffic;
} *counts;

static void pair_fail(const char *what, unsigned int code)
{
	const char *major = "", *minor = "";

	if (holds)
		_exit(0);
	dat_strerror(code, &major, &minor);
	fprintf(stderr, "FAIL udat_soak: %s: 0x%x %s %s\n", what, code, major, minor);
	_exit(1);
}

static void add(uint64_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static void open_both(struct pair_end *a, struct pair_end *b)
{
	pair_open(a, ia_names[0]);
	pair_open(b, ia_names[1]);
}

static void close_end(struct pair_end *end)
{
	PAIR_MUST(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void exchange(struct pair_end *a, struct pair_end *b, uint64_t number)
{
	pair_message(a, b, number);
	pair_message(b, a, number);
	add(&counts->messages);
	add(&counts->messages);
}

static void new_srq(struct pair_end *end)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SHARED, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	PAIR_MUST(dat_srq_create(end->ia, end->pz, &attr, &end->srq));
}

static void free_srq(struct pair_end *end)
{
	PAIR_MUST(dat_srq_free(end->srq));
	end->srq = DAT_HANDLE_NULL;
}

/* @to reads what @from has, through an RMR that stays bound. */
static DAT_RMR_HANDLE read_through_rmr(struct pair_end *from, struct pair_end *to,
				       uint64_t number)
{
	DAT_RMR_TRIPLET remote = { .target_address = from->memory.virtual_address,
				   .segment_length = PAIR_MESSAGE };
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_RMR_COOKIE bind = { .as_64 = number };
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	PAIR_MUST(dat_rmr_create(from->pz, &rmr));
	PAIR_MUST(dat_rmr_bind(rmr, &from->memory, DAT_MEM_PRIV_REMOTE_READ_FLAG, from->ep, bind,
			       DAT_COMPLETION_DEFAULT_FLAG, &remote.rmr_context));
	event = pair_expect(from, DAT_RMR_BIND_COMPLETION_EVENT);
	if (event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
		pair_fail("a bind failed", event.event_data.rmr_completion_event_data.status);
	pair_fill(from, to, number);
	PAIR_MUST(dat_ep_post_rdma_read(to->ep, 1, &to->memory, cookie, &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	pair_completed(to, number);
	pair_compare(from, to, number);
	return rmr;
}

/* Return: the RMR of a shared one, which is bound while it lasts */
static DAT_RMR_HANDLE connect_both(struct pair_end *a, struct pair_end *b, unsigned int qual,
				   bool shared, uint64_t number)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	if (shared) {
		new_srq(a);
		new_srq(b);
	}
	pair_connect(a, b, qual);
	if (shared) {
		rmr = read_through_rmr(b, a, number);
		add(&counts->shared);
	}
	add(&counts->connections);
	return rmr;
}

static void disconnect_both(struct pair_end *a, struct pair_end *b, DAT_RMR_HANDLE rmr)
{
	pair_disconnect(a, b);
	if (!rmr)
		return;
	PAIR_MUST(dat_rmr_free(rmr));
	free_srq(a);
	free_srq(b);
}

/* @first: whether the first one is shared */
static void connections(unsigned int number, unsigned int qual, bool first)
{
	static struct pair_end a, b;
	DAT_RMR_HANDLE rmr;
	unsigned int i;

	open_both(&a, &b);
	for (i = 0; i < number; i++) {
		rmr = connect_both(&a, &b, qual, (i + first) % 2, i);
		exchange(&a, &b, i);
		disconnect_both(&a, &b, rmr);
	}
	close_end(&a);
	close_end(&b);
	_exit(0);
}

/* Until it is killed */
static void traffic(unsigned int qual, bool shared)
{
	static struct pair_end a, b;
	uint64_t i;

	open_both(&a, &b);
	connect_both(&a, &b, qual, shared, 0);
	for (i = 0;; i++) {
		exchange(&a, &b, i);
		if (i == 2)
			add(&counts->traffic);
		if (i == 2 && holds && write(STDOUT_FILENO, "traffic\n", 8) != 8)
			_exit(1);
	}
}

static pid_t child(unsigned int i)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("udat_soak: fork");
		exit(1);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("KDAPL_MODE", i % 2 ? "passthrough" : "forwarded", 1);
	}
	return pid;
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* One that has traffic, or has failed before */
static bool one_killed(unsigned int i)
{
	uint64_t before = __atomic_load_n(&counts->traffic, __ATOMIC_RELAXED);
	int status = 0;
	pid_t pid;

	pid = child(i);
	if (!pid)
		traffic(QUAL + 2 + i % 2, i / 2 % 2);
	while (__atomic_load_n(&counts->traffic, __ATOMIC_RELAXED) == before) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return false;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static int one_round(unsigned int number, unsigned int kills)
{
	unsigned int i, killed = 0;
	pid_t pids[2];
	bool good = true;

	for (i = 0; i < 2; i++) {
		pids[i] = child(i);
		if (!pids[i])
			connections(number / 2, QUAL + i, i);
	}
	for (i = 0; i < kills; i++)
		killed += one_killed(i);
	for (i = 0; i < 2; i++)
		good &= ended_well(pids[i]);
	printf("%llu %llu %llu %u\n", (unsigned long long)counts->connections,
	       (unsigned long long)counts->shared, (unsigned long long)counts->messages, killed);
	return !good || killed != kills;
}

int main(int argc, char **argv)
{
	unsigned int kills = 0;
	int i, first = 2;
	bool shared;

	if (argc < 2)
		return 2;
	shared = !strcmp(argv[1], "hold-shared");
	holds = shared || !strcmp(argv[1], "hold");
	if (!holds && argc > 2) {
		kills = atoi(argv[2]);
		first = 3;
	}
	for (i = 0; i < 2 && first < argc; i++)
		ia_names[i] = argv[first++];
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	if (holds)
		traffic(QUAL + 4, shared);
	return one_round(atoi(argv[1]), kills);
}
