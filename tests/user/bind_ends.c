// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections in passthrough whose process or device ends, in every state: killed, exit,
 * another program, files closed in the wrong order, shared with a child, or passed on.  The
 * other end, of this process (raw_end.h), gets its event, and no object and no queue pair is
 * left.
 *
 *	bind_ends [DEVICE [OTHER-DEVICE]] [removal]
 *
 * With "removal" the first device is removed, again and again, and made anew.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "device.h"
#include "raw_end.h"

#define OBJECTS		"/sys/kernel/debug/kdapl/objects"

static const char *device = "rxe0", *other_device = "rxe1";
/* The other end. */
static struct end b;

/* ---- processes that end in every state -------------------------------------------- */

enum stage {
	BOUND, NO_ANSWER, PENDING, CONNECTED, TRAFFIC, DRAINS, ENDED, LISTENS, SERVES,
	UVERBS_FIRST, FILE_FIRST,
};

enum way { KILLED, EXITS, EXECS };

struct report {
	char what;
	__u64 qual;
	struct kdapl_uapi_addr address;
};

static int report_fd;

static void report(char what, const struct end *end)
{
	struct report message = { .what = what, .qual = end->qual, .address = end->address };

	if (write(report_fd, &message, sizeof(message)) != sizeof(message))
		_exit(9);
}

/* Of the network of @address, and nobody's. */
static struct kdapl_uapi_addr nobody(const struct kdapl_uapi_addr *address)
{
	struct kdapl_uapi_addr there = *address;
	struct sockaddr_in *sin = (struct sockaddr_in *)there.sa;

	sin->sin_addr.s_addr ^= htonl(0x70);
	return there;
}

/* By it the parent says that it has seen its child's connection. */
static sigset_t parents_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set;
}

/*
 * Of a child that is about to end its connection by itself: until its parent has seen that the
 * connection is established, of which the end may otherwise overtake the news.
 */
static void wait_for_parent(void)
{
	sigset_t set = parents_signal();
	int signal;

	need(!sigwait(&set, &signal), "the parent's signal");
}

/* Has got to @stage with its own queue pair when it says so, and stays there. */
static void child_gets_to(enum stage stage)
{
	static struct end me;
	struct kdapl_uapi_addr nowhere;
	int i;

	end_open(&me, device);
	end_qp(&me);
	nowhere = nobody(&me.address);
	if (stage == LISTENS || stage == SERVES) {
		end_listen(&me);
		report('l', &me);
		need(!end_bind(&me), "bind");
		if (stage == SERVES) {
			need(!cr_accept(&me, end_request(&me)) &&
			     end_event(&me, NULL) == ESTABLISHED, "serve");
		} else {
			end_request(&me);
		}
		report('s', &me);
		return;
	}
	need(!end_bind(&me), "bind");
	if (stage != BOUND)
		need(!end_connect(&me, stage == NO_ANSWER ? &nowhere : &b.address, b.qual),
		     "connect");
	if (stage > PENDING)
		need(end_event(&me, NULL) == ESTABLISHED, "established");
	if (stage == TRAFFIC || stage == DRAINS) {
		for (i = 0; i < 4; i++)
			need(!post_recv(&me, i) && !post_send(&me, 4 + i), "post");
		/* One is received, the others wait for a receive. */
		need(completion_within(&me, PATIENCE) == IBV_WC_SUCCESS, "a send");
	}
	if (stage == DRAINS)
		need(!end_disconnect(&me, DAT_CLOSE_GRACEFUL_FLAG) &&
		     end_state(&me) == DAT_EP_STATE_DISCONNECT_PENDING, "a drain");
	if (stage == ENDED) {
		report('c', &me);
		need(end_event(&me, NULL) == DISCONNECTED, "the end");
	}
	if (stage == UVERBS_FIRST) {
		close(me.context->cmd_fd);
		need(end_state(&me) == DAT_EP_STATE_CONNECTED, "connected");
	}
	if (stage == FILE_FIRST) {
		wait_for_parent();
		end_close_file(&me);
		need(!ibv_destroy_qp(me.qp), "destroy the queue pair");
	}
	report('s', &me);
}

static void child(enum stage stage, enum way way)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_gets_to(stage);
	if (way != KILLED)
		wait_for_parent();
	if (way == EXITS)
		_exit(0);
	if (way == EXECS)
		execlp("sleep", "sleep", "600", NULL);
	pause();
}

static struct report reported(int from)
{
	struct pollfd pfd = { .fd = from, .events = POLLIN };
	struct report message = {};

	need(poll(&pfd, 1, PATIENCE) == 1 &&
	     read(from, &message, sizeof(message)) == sizeof(message), "a child's report");
	return message;
}

static bool has_objects(pid_t pid)
{
	char line[256], mark[32];
	FILE *f = fopen(OBJECTS, "r");
	bool found = false;

	need(f, OBJECTS);
	snprintf(mark, sizeof(mark), "space pid %d:", pid);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, mark, strlen(mark));
	fclose(f);
	return found;
}

/* Queue pairs that there are on the first device, of whomever. */
static int queue_pairs(void)
{
	char command[100];
	int number = -1;
	FILE *f;

	snprintf(command, sizeof(command), "rdma resource show qp link %s | wc -l", device);
	f = popen(command, "r");
	if (f && fscanf(f, "%d", &number) != 1)
		number = -1;
	if (f)
		pclose(f);
	return number;
}

/* A request that gets no further */
static __u64 pending;

/* b's part; the events that may end its connection with a child of that stage. */
static void parent_meets(enum stage stage, int from)
{
	struct report message;

	if (stage == BOUND || stage == NO_ANSWER)
		return;
	end_qp(&b);
	need(!end_bind(&b), "bind");
	if (stage == LISTENS || stage == SERVES) {
		message = reported(from);
		need(!end_connect(&b, &message.address, message.qual), "connect");
		if (stage == SERVES)
			need(end_event(&b, NULL) == ESTABLISHED, "established");
		return;
	}
	if (stage == PENDING) {
		/* A child that is killed before it has come out asks nobody. */
		pending = end_request(&b);
		return;
	}
	if (stage == TRAFFIC || stage == DRAINS)
		need(!post_recv(&b, 0), "post");
	need(!cr_accept(&b, end_request(&b)) && end_event(&b, NULL) == ESTABLISHED, "accept");
	if (stage == ENDED) {
		reported(from);
		need(!end_disconnect(&b, DAT_CLOSE_ABRUPT_FLAG), "disconnect");
	}
}

static void parent_sees_the_end(enum stage stage, const char *name)
{
	__u32 number;

	if (stage == BOUND || stage == NO_ANSWER)
		return;
	if (stage == PENDING) {
		/* It learns when it accepts, at the latest. */
		number = cr_accept(&b, pending) ? 1 : end_event(&b, NULL);
		check(number && number != ESTABLISHED, "P47",
		      text_of("the accept comes to nothing", name), number);
	} else if (stage == LISTENS) {
		number = end_event(&b, NULL);
		check(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "P47",
		      text_of("the peer is rejected", name), number);
	} else {
		number = end_of(&b);
		check(number == DISCONNECTED, "F17", text_of("the peer's event", name), number);
	}
	check(end_renew(&b), "F17", text_of("the peer lets go", name), 0);
}

static void ends_in(enum stage stage, enum way way, const char *name)
{
	int pipes[2], before = queue_pairs(), status, now = -1;
	long last = now_ms() + PATIENCE;
	sigset_t set = parents_signal();
	pid_t pid;

	need(!sigprocmask(SIG_BLOCK, &set, NULL), "block a signal");
	need(!pipe(pipes), "pipe");
	pid = fork();
	if (!pid) {
		report_fd = pipes[1];
		child(stage, way);
	}
	close(pipes[1]);
	parent_meets(stage, pipes[0]);
	kill(pid, SIGUSR1);
	need(reported(pipes[0]).what == 's', name);
	close(pipes[0]);
	if (way == EXECS || stage == FILE_FIRST) {
		/* It lives on, without its files. */
		while (has_objects(pid) && now_ms() < last)
			usleep(10000);
		check(!has_objects(pid) && !waitpid(pid, &status, WNOHANG), "I19",
		      text_of("nothing is left though it lives", name), 0);
		parent_sees_the_end(stage, name);
	}
	if (way != EXITS)
		kill(pid, SIGKILL);
	need(waitpid(pid, &status, 0) == pid, "wait");
	check(way == EXITS ? !status : WIFSIGNALED(status), "I19", name, status);
	if (way != EXECS && stage != FILE_FIRST)
		parent_sees_the_end(stage, name);
	while ((has_objects(pid) || (now = queue_pairs()) != before) && now_ms() < last)
		usleep(10000);
	check(!has_objects(pid) && now == before, "I19",
	      text_of("no object and no queue pair is left", name), now - before);
}

static void test_ends(void)
{
	ends_in(BOUND, KILLED, "killed with a bound queue pair");
	ends_in(NO_ANSWER, KILLED, "killed while it asks nobody");
	ends_in(PENDING, KILLED, "killed with its request pending");
	ends_in(CONNECTED, KILLED, "killed while connected");
	ends_in(TRAFFIC, KILLED, "killed with transfers under way");
	ends_in(DRAINS, KILLED, "killed in a drain");
	ends_in(ENDED, KILLED, "killed after the end, with nothing polled");
	ends_in(LISTENS, KILLED, "killed with a request to answer");
	ends_in(SERVES, KILLED, "killed while connected, as a server");
	ends_in(CONNECTED, EXITS, "exit while connected");
	ends_in(DRAINS, EXITS, "exit in a drain");
	ends_in(CONNECTED, EXECS, "another program while connected");
	ends_in(UVERBS_FIRST, KILLED, "killed, its uverbs file closed before");
	ends_in(FILE_FIRST, KILLED, "its file closed first, its verbs after it");
}

/* With the uverbs file closed the connection lives, and the other end does not notice. */
static void test_uverbs_first(void)
{
	struct end mine;

	end_open(&mine, device);
	ends_connect(&mine, &b);
	close(mine.context->cmd_fd);
	check(!end_event_within(&b, 2500, NULL) &&
	      end_state(&mine) == DAT_EP_STATE_CONNECTED &&
	      end_state(&b) == DAT_EP_STATE_CONNECTED, "I19",
	      "the uverbs descriptor is closed: the connection is there", end_state(&mine));
	check(!end_disconnect(&mine, DAT_CLOSE_ABRUPT_FLAG) &&
	      end_event(&mine, NULL) == DISCONNECTED && end_event(&b, NULL) == DISCONNECTED,
	      "D5", "and ends as others do", 0);
	check(end_renew(&b), "A8", "the peer lets go", 0);
	end_close_file(&mine);
}

/* A child that has the descriptors keeps the connection of its parent. */
static void test_forked(void)
{
	int pipes[2], status;
	struct end mine;
	pid_t pid;
	char c;

	end_open(&mine, device);
	ends_connect(&mine, &b);
	need(!pipe(pipes), "pipe");
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		_exit(read(pipes[0], &c, 1));
	}
	close(pipes[0]);
	end_close_file(&mine);
	check(!end_event_within(&b, 1500, NULL), "A8",
	      "a child that has the descriptor keeps the connection", 0);
	close(pipes[1]);
	waitpid(pid, &status, 0);
	check(end_event(&b, NULL) == DISCONNECTED, "I19", "which ends with the child", 0);
	check(!end_destroy_qp(mine.qp), "I19", "and the queue pair is free", 0);
	check(end_renew(&b), "A8", "the peer lets go", 0);
}

/* ---- the device goes -------------------------------------------------------------- */

static bool is_told(int from, char what)
{
	struct pollfd pfd = { .fd = from, .events = POLLIN };
	char c = 0;

	return poll(&pfd, 1, PATIENCE) == 1 && read(from, &c, 1) == 1 && c == what;
}

/*
 * What it tells is told in device.h.  The shell has copies of all our descriptors until it
 * runs: the kernel lets us go on before it has closed them.  As long as it has them, what we
 * close is not closed, and the queue pair stays bound.  So it says when it runs.
 */
static pid_t remove_device(int *told)
{
	char *const argv[] = { "sh", "-c", "printf b; eval \"$2\"", "sh", (char *)device,
			       (char *)device_removal, NULL };
	posix_spawn_file_actions_t actions;
	int pipes[2];
	pid_t pid = -1;

	need(!pipe2(pipes, O_CLOEXEC) && !posix_spawn_file_actions_init(&actions) &&
	     !posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO) &&
	     !posix_spawnp(&pid, "sh", &actions, NULL, argv, environ), "sh");
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	*told = pipes[0];
	need(is_told(*told, 'b'), "a shell that runs");
	return pid;
}

static void device_is_back(int told, pid_t pid, const char *what)
{
	int status;

	check(is_told(told, 'r'), "I19", text_of("the removal returns", what), 0);
	check(is_told(told, 'e') && waitpid(pid, &status, 0) == pid && !status, "I19",
	      text_of("the device is there again", what), 0);
	close(told);
}

/* In each state; the process lets its context go when it is told. */
static void removed_in(enum stage stage, const char *name)
{
	struct kdapl_uapi_addr nowhere;
	struct end mine;
	__u32 number;
	pid_t pid;
	int told;

	end_open(&mine, device);
	end_qp(&mine);
	need(!end_bind(&mine), "bind");
	nowhere = nobody(&mine.address);
	if (stage >= PENDING) {
		end_qp(&b);
		need(!end_bind(&b), "bind");
	}
	if (stage != BOUND)
		need(!end_connect(&mine, stage == NO_ANSWER ? &nowhere : &b.address, b.qual),
		     "connect");
	if (stage == PENDING)
		pending = end_request(&b);
	if (stage >= CONNECTED)
		need(!cr_accept(&b, end_request(&b)) && end_event(&b, NULL) == ESTABLISHED &&
		     end_event(&mine, NULL) == ESTABLISHED, "connected");
	if (stage == DRAINS)
		need(!post_send(&mine, 0) && !end_disconnect(&mine, DAT_CLOSE_GRACEFUL_FLAG),
		     "a drain");
	if (stage == TRAFFIC)
		need(!post_send(&mine, 0) && !post_recv(&mine, 1), "post");
	if (stage == ENDED)
		need(!end_disconnect(&mine, DAT_CLOSE_ABRUPT_FLAG) && end_of(&mine) && end_of(&b),
		     "the end");
	pid = remove_device(&told);
	if (stage != BOUND && stage != ENDED) {
		number = end_event(&mine, NULL);
		check(number && number != ESTABLISHED, "E71", text_of("its event", name), number);
	}
	if (stage == TRAFFIC)
		check(completion_within(&mine, PATIENCE) > 0 &&
		      completion_within(&mine, PATIENCE) > 0, "E71",
		      text_of("all is flushed", name), 0);
	/* Where the driver cannot take contexts back the removal waits for this. */
	end_close(&mine);
	device_is_back(told, pid, name);
	if (stage == PENDING)
		check(cr_accept(&b, pending) || end_event(&b, NULL) != ESTABLISHED,
		      "E71", text_of("the peer's accept comes to nothing", name), 0);
	if (stage > PENDING && stage != ENDED)
		check(end_of(&b), "E71", text_of("the peer's event", name), 0);
	if (stage >= PENDING)
		check(end_renew(&b), "E71", text_of("the peer lets go", name), 0);
}

/*
 * The process is gone, and its file of kdapl with somebody else: that is the last holder of
 * the uverbs file, which the removal must not have to put itself.
 */
static void removed_under_the_last_holder(void)
{
	int sockets[2], status, told;
	pid_t pid;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "sockets");
	pid = fork();
	if (!pid) {
		static struct end me;

		report_fd = sockets[1];
		end_open(&me, device);
		end_qp(&me);
		need(!end_bind(&me) && !end_connect(&me, &b.address, b.qual) &&
		     end_event(&me, NULL) == ESTABLISHED && !post_recv(&me, 0), "connect");
		/* Only the file of kdapl lives on, in the queue of the socket. */
		send_fd(sockets[1], me.fd);
		_exit(0);
	}
	close(sockets[1]);
	end_qp(&b);
	need(!end_bind(&b) && !cr_accept(&b, end_request(&b)) &&
	     end_event(&b, NULL) == ESTABLISHED, "accept");
	waitpid(pid, &status, 0);
	check(!status && !end_event_within(&b, 1000, NULL), "A8",
	      "a file that is passed on keeps the connection", status);
	pid = remove_device(&told);
	device_is_back(told, pid, "kdapl holds the uverbs file alone");
	check(end_of(&b), "E71", "the peer's event", 0);
	check(end_renew(&b), "E71", "the peer lets go", 0);
	close(sockets[0]);
}

static void test_removal(void)
{
	removed_in(BOUND, "removed with a bound queue pair");
	removed_in(NO_ANSWER, "removed while it asks nobody");
	removed_in(PENDING, "removed with its request pending");
	removed_in(CONNECTED, "removed while connected");
	removed_in(TRAFFIC, "removed with transfers under way");
	removed_in(DRAINS, "removed in a drain");
	removed_in(ENDED, "removed after the end");
	removed_under_the_last_holder();
}

int main(int argc, char **argv)
{
	bool removal = argc > 1 && !strcmp(argv[argc - 1], "removal");

	setvbuf(stdout, NULL, _IOLBF, 0);
	argc -= removal;
	if (argc > 1)
		device = argv[1];
	if (argc > 2)
		other_device = argv[2];
	end_open(&b, other_device);
	end_listen(&b);
	if (removal) {
		test_removal();
	} else {
		test_ends();
		test_uverbs_first();
		test_forked();
	}
	end_close(&b);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
