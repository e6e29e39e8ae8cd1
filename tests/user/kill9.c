// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two processes in traffic, one of them killed: the other gets its events, and
 * of the dead nothing remains (I19, F17, P47; A10).
 *
 *	kill9 [-a IA] [-b IA] [PART OF A NAME]...
 *
 * The parent opens nothing. A peer tells by a pipe how far it is, so nothing
 * here is a matter of time but the random kills, whose point that is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define OBJECTS	"/sys/kernel/debug/kdapl/objects"
#define LONG	30000000u
#define MSG	8192
#define DEPTH	8

static const char *ia_a = "rxe0-1", *ia_b = "rxe1-1";
static DAT_CONN_QUAL qual = 21000;

/* What a peer tells the parent, a byte each */
enum { LISTENING = 'l', PENDING = 'p', TRAFFIC = 't', ENDED = 'e', BAD = 'b' };

enum role { SERVER, CLIENT, SERVER_NO_ANSWER };

struct peer {
	pid_t pid;
	int told;		/* read end */
};

/* ---- in the child ------------------------------------------------------------ */

static int tell_fd;

static void tell(char what)
{
	if (write(tell_fd, &what, 1) != 1)
		_exit(9);
}

static void must(DAT_RETURN ret, const char *call, int line)
{
	char name[128];

	if (!ret)
		return;
	fprintf(stderr, "kill9.c:%d: %s: %s\n", line, call,
		check_name(ret, name, sizeof(name)));
	tell(BAD);
	_exit(1);
}

#define MUST(call)	must(call, #call, __LINE__)

static struct {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE evd, cr;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET seg[2 * DEPTH];
	uint8_t mem[2 * DEPTH][MSG];
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
} me;

static void open_all(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = me.mem };
	DAT_LMR_CONTEXT context;
	DAT_EP_ATTR attr = {
		.max_message_size = MSG, .max_rdma_size = MSG,
		.max_recv_dtos = DEPTH, .max_request_dtos = DEPTH,
		.max_recv_iov = 1, .max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	int i;

	MUST(dat_ia_open((DAT_NAME_PTR)name, 8, &async, &me.ia));
	MUST(dat_pz_create(me.ia, &me.pz));
	MUST(dat_evd_create(me.ia, 64, NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &me.evd));
	MUST(dat_evd_create(me.ia, 8, NULL, DAT_EVD_CR_FLAG, &me.cr));
	MUST(dat_lmr_create(me.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(me.mem),
			    me.pz, DAT_MEM_PRIV_ALL_FLAG, &me.lmr, &context,
			    NULL, NULL, NULL));
	MUST(dat_ep_create(me.ia, me.pz, me.evd, me.evd, me.evd, &attr,
			   &me.ep));
	for (i = 0; i < 2 * DEPTH; i++)
		me.seg[i] = (DAT_LMR_TRIPLET) {
			.lmr_context = context,
			.virtual_address = (uintptr_t)me.mem[i],
			.segment_length = MSG,
		};
}

static void close_all(void)
{
	MUST(dat_ep_free(me.ep));
	MUST(dat_evd_free(me.evd));
	MUST(dat_evd_free(me.cr));
	MUST(dat_lmr_free(me.lmr));
	MUST(dat_pz_free(me.pz));
	MUST(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN post(unsigned int slot)
{
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	if (slot < DEPTH)
		return dat_ep_post_recv(me.ep, 1, &me.seg[slot], cookie, 0);
	return dat_ep_post_send(me.ep, 1, &me.seg[slot], cookie, 0);
}

static DAT_EVENT next(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(me.evd, LONG, 1, &event, &more));
	return event;
}

/*
 * Keeps all slots busy in both directions until the connection ends. Every
 * post has to complete, exactly once, before that event.
 */
static void traffic(void)
{
	unsigned int slot, busy = 0, done = 0;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	bool is_busy[2 * DEPTH] = { false };
	DAT_EVENT event;

	for (slot = 0; slot < DEPTH; slot++)
		is_busy[slot] = true;	/* posted before the connection */
	busy = DEPTH;
	for (slot = DEPTH; slot < 2 * DEPTH; slot++) {
		MUST(post(slot));
		is_busy[slot] = true;
		busy++;
	}
	for (;;) {
		event = next();
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			break;
		dto = &event.event_data.dto_completion_event_data;
		slot = dto->user_cookie.as_64;
		if (slot >= 2 * DEPTH || !is_busy[slot])
			must(DAT_INTERNAL_ERROR, "a completion twice",
			     __LINE__);
		is_busy[slot] = false;
		busy--;
		if (dto->status != DAT_DTO_SUCCESS || post(slot))
			continue;
		is_busy[slot] = true;
		busy++;
		if (++done == 100)
			tell(TRAFFIC);
	}
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN) {
		fprintf(stderr, "event 0x%x\n", event.event_number);
		must(DAT_INTERNAL_ERROR, "an event of another kind", __LINE__);
	}
	/* Posts that raced with the end come after it. */
	while (busy) {
		event = next();
		slot = event.event_data.dto_completion_event_data.user_cookie
			       .as_64;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
		    slot >= 2 * DEPTH || !is_busy[slot])
			must(DAT_INTERNAL_ERROR, "what came after the end",
			     __LINE__);
		is_busy[slot] = false;
		busy--;
	}
}

static void post_receives(void)
{
	unsigned int slot;

	for (slot = 0; slot < DEPTH; slot++)
		MUST(post(slot));
}

/* Return: whether the connection came about. */
static bool server(bool answer)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_COUNT more;

	open_all(ia_b);
	post_receives();
	MUST(dat_psp_create(me.ia, qual, me.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	tell(LISTENING);
	MUST(dat_evd_wait(me.cr, LONG, 1, &event, &more));
	tell(PENDING);
	if (!answer)
		pause();
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			   me.ep, 0, NULL));
	event = next();
	MUST(dat_psp_free(psp));
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static bool client(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE there;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	open_all(ia_a);
	post_receives();
	/* The server's address is its IA's. */
	MUST(dat_ia_open((DAT_NAME_PTR)ia_b, 8, &async, &there));
	MUST(dat_ia_query(there, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	MUST(dat_ep_connect(me.ep, attr.ia_address_ptr, qual, LONG, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	MUST(dat_ia_close(there, DAT_CLOSE_GRACEFUL_FLAG));
	event = next();
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void flushed(void)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(me.evd, &event))
		;
}

static void child(enum role role)
{
	bool established;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	established = role == CLIENT ? client() : server(role == SERVER);
	if (established)
		traffic();
	else
		flushed();
	close_all();
	tell(ENDED);
	_exit(0);
}

/* ---- in the parent ------------------------------------------------------------- */

static struct peer peers[2];

static void start(struct peer *peer, enum role role)
{
	int fds[2];

	CHECK(!pipe(fds));
	peer->told = fds[0];
	peer->pid = fork();
	CHECK(peer->pid >= 0);
	if (!peer->pid) {
		close(fds[0]);
		tell_fd = fds[1];
		child(role);
	}
	close(fds[1]);
}

/* Reads on until the peer is as far; false: it ended before. */
static bool gets_to(const struct peer *peer, char what)
{
	struct pollfd pfd = { .fd = peer->told, .events = POLLIN };
	double end = check_now() + 60;
	char c;

	while (check_now() < end) {
		if (poll(&pfd, 1, 1000) <= 0)
			continue;
		if (read(peer->told, &c, 1) != 1)
			return false;
		if (c == what)
			return true;
		if (c == BAD)
			return false;
	}
	return false;
}

static bool has_objects(pid_t pid)
{
	char line[256], mark[32];
	bool found = false;
	FILE *f;

	f = fopen(OBJECTS, "r");
	CHECK(f);
	snprintf(mark, sizeof(mark), "space pid %d:", pid);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, mark, strlen(mark));
	fclose(f);
	return found;
}

static void dies(struct peer *peer)
{
	CHECK(!kill(peer->pid, SIGKILL));
}

static void leaves_nothing(struct peer *peer, int *status)
{
	double end = check_now() + 60;
	pid_t pid = peer->pid;

	CHECK(waitpid(pid, status, 0) == pid);
	peer->pid = 0;
	close(peer->told);
	while (has_objects(pid) && check_now() < end)
		usleep(10000);
	CHECK(!has_objects(pid));
}

static void was_killed(struct peer *peer)
{
	int status;

	leaves_nothing(peer, &status);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* It got its events and closed gracefully. */
static void survives(struct peer *peer)
{
	int status;

	CHECK(gets_to(peer, ENDED));
	leaves_nothing(peer, &status);
	CHECK_EQ(status, 0);
}

static void after(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (peers[i].pid <= 0)
			continue;
		kill(peers[i].pid, SIGKILL);
		waitpid(peers[i].pid, NULL, 0);
		close(peers[i].told);
		peers[i].pid = 0;
	}
	qual++;
}

static void in_traffic(unsigned int victim)
{
	start(&peers[0], SERVER);
	CHECK(gets_to(&peers[0], LISTENING));
	start(&peers[1], CLIENT);
	CHECK(gets_to(&peers[0], TRAFFIC));
	CHECK(gets_to(&peers[1], TRAFFIC));
	dies(&peers[victim]);
	survives(&peers[!victim]);
	was_killed(&peers[victim]);
}

static void client_in_traffic(void)
{
	in_traffic(1);
}

static void server_in_traffic(void)
{
	in_traffic(0);
}

static void both_in_traffic(void)
{
	start(&peers[0], SERVER);
	CHECK(gets_to(&peers[0], LISTENING));
	start(&peers[1], CLIENT);
	CHECK(gets_to(&peers[1], TRAFFIC));
	dies(&peers[0]);
	dies(&peers[1]);
	was_killed(&peers[0]);
	was_killed(&peers[1]);
}

/* P47: the client of a server that dies with its request sees a reject. */
static void server_with_request(void)
{
	start(&peers[0], SERVER_NO_ANSWER);
	CHECK(gets_to(&peers[0], LISTENING));
	start(&peers[1], CLIENT);
	CHECK(gets_to(&peers[0], PENDING));
	dies(&peers[0]);
	survives(&peers[1]);
	was_killed(&peers[0]);
}

static void server_listening(void)
{
	start(&peers[0], SERVER);
	CHECK(gets_to(&peers[0], LISTENING));
	dies(&peers[0]);
	was_killed(&peers[0]);
	/* The qualifier is free again. */
	start(&peers[0], SERVER);
	CHECK(gets_to(&peers[0], LISTENING));
}

/* At any moment of a client's life; the server lives through what it gets. */
static void any_moment(void)
{
	unsigned int round, seed = 1;
	int status;

	for (round = 0; round < 15; round++) {
		start(&peers[0], SERVER);
		CHECK(gets_to(&peers[0], LISTENING));
		start(&peers[1], CLIENT);
		usleep(rand_r(&seed) % 60000);
		dies(&peers[1]);
		was_killed(&peers[1]);
		/* It may have come too early to be seen by the server. */
		usleep(20000);
		dies(&peers[0]);
		leaves_nothing(&peers[0], &status);
		CHECK(!status || WIFSIGNALED(status));
		after();
	}
}

/* A child that lives on does not keep the objects of its parent (A8). */
static void with_a_child(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	int fds[2];
	char c = 0;

	CHECK(!pipe(fds));
	peers[0].pid = fork();
	if (!peers[0].pid) {
		tell_fd = fds[1];
		MUST(dat_ia_open((DAT_NAME_PTR)ia_a, 8, &async, &ia));
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, 0);
			tell(LISTENING);
			sleep(20);
			_exit(0);
		}
		pause();
	}
	close(fds[1]);
	peers[0].told = fds[0];
	CHECK(read(fds[0], &c, 1) == 1 && c == LISTENING);
	CHECK(has_objects(peers[0].pid));
	dies(&peers[0]);
	was_killed(&peers[0]);
}

static const struct check_case cases[] = {
	{ "F17 I19 D50 the client is killed in traffic", client_in_traffic },
	{ "F17 I19 D50 the server is killed in traffic", server_in_traffic },
	{ "F17 I19 both are killed in traffic", both_in_traffic },
	{ "P47 the server is killed with a request", server_with_request },
	{ "P4 I19 the server is killed listening", server_listening },
	{ "F17 the client is killed at any moment", any_moment },
	{ "A8 a child outlives its parent", with_a_child },
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:b:")) != -1) {
		if (c == '?')
			return 2;
		*(c == 'a' ? &ia_a : &ia_b) = optarg;
	}
	if (access(OBJECTS, R_OK)) {
		fprintf(stderr, "kill9: %s: %s (root, and debugfs mounted?)\n",
			OBJECTS, strerror(errno));
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	argv[optind - 1] = argv[0];
	return check_run(cases, ARRAY_SIZE(cases), after, argc - optind + 1,
			 argv + optind - 1);
}
