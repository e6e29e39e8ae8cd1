// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two processes in traffic, one of them killed: the other gets its events, and
 * of the dead nothing remains (I19, F17, P47; A10), no pinned page either.  And a
 * process that is its own pager and does not answer: it holds up nobody else.
 *
 *	kill9 [-q] [-a IA] [-b IA] [PART OF A NAME]...
 *
 * With -q the receives are those of shared receive queues; of use for the names "killed in
 * traffic".
 *
 * The parent opens nothing. A peer tells by a pipe how far it is, so nothing
 * here is a matter of time but the random kills, whose point that is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "device.h"
#include "proc.h"

#define OBJECTS	"/sys/kernel/debug/kdapl/objects"
/* What ends a deadlock. */
#define PATIENCE	180
#define LONG	(PATIENCE * 1000000u)
#define MSG	8192
#define DEPTH	8
#define PAGE	4096
#define LARGE	700	/* pages, more than one fast registration has */

static const char *ia_a = "rxe0-1", *ia_b = "rxe1-1";
static DAT_CONN_QUAL qual = 21000;
static bool use_srq;

/* What a peer tells the parent, a byte each */
enum {
	LISTENING = 'l', PENDING = 'p', TRAFFIC = 't', REMOVED = 'r',
	ENDED = 'e', BAD = 'b'
};

enum role {
	SERVER, CLIENT, SERVER_NO_ANSWER, WITHHOLDS, DRAINS, HELD_UP,
	HOLDS_DRIVER, CLOSED_UNDER, REMOVER
};

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

static void need(bool so, const char *what)
{
	if (so)
		return;
	fprintf(stderr, "kill9.c: %s: %s\n", what, strerror(errno));
	tell(BAD);
	_exit(1);
}

static struct {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE evd, cr;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_TRIPLET seg[2 * DEPTH];
	uint8_t mem[2 * DEPTH][MSG];
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr, large;
	DAT_RMR_HANDLE rmr;
} me;

static uint8_t large[LARGE * PAGE];

static void open_all(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = me.mem };
	DAT_LMR_CONTEXT context;
	DAT_EP_ATTR attr = {
		.max_message_size = MSG, .max_rdma_size = MSG,
		.max_recv_dtos = DEPTH, .max_request_dtos = DEPTH + 1,
		.max_recv_iov = 1, .max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_SRQ_ATTR srq = { .max_recv_dtos = DEPTH, .max_recv_iov = 1 };
	int i;

	MUST(dat_ia_open((DAT_NAME_PTR)name, 8, &async, &me.ia));
	MUST(dat_pz_create(me.ia, &me.pz));
	MUST(dat_evd_create(me.ia, 64, NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			    DAT_EVD_RMR_BIND_FLAG, &me.evd));
	MUST(dat_evd_create(me.ia, 8, NULL, DAT_EVD_CR_FLAG, &me.cr));
	MUST(dat_lmr_create(me.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(me.mem),
			    me.pz, DAT_MEM_PRIV_ALL_FLAG, &me.lmr, &context,
			    NULL, NULL, NULL));
	if (use_srq) {
		MUST(dat_srq_create(me.ia, me.pz, &srq, &me.srq));
		MUST(dat_ep_create_with_srq(me.ia, me.pz, me.evd, me.evd, me.evd, me.srq,
					    &attr, &me.ep));
	} else {
		MUST(dat_ep_create(me.ia, me.pz, me.evd, me.evd, me.evd, &attr,
				   &me.ep));
	}
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
	if (use_srq)
		MUST(dat_srq_free(me.srq));
	MUST(dat_evd_free(me.evd));
	MUST(dat_evd_free(me.cr));
	if (me.rmr) {
		MUST(dat_rmr_free(me.rmr));
		MUST(dat_lmr_free(me.large));
	}
	MUST(dat_lmr_free(me.lmr));
	MUST(dat_pz_free(me.pz));
	MUST(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static DAT_RETURN post(unsigned int slot)
{
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	if (slot < DEPTH && use_srq)
		return dat_srq_post_recv(me.srq, 1, &me.seg[slot], cookie);
	if (slot < DEPTH)
		return dat_ep_post_recv(me.ep, 1, &me.seg[slot], cookie, 0);
	return dat_ep_post_send(me.ep, 1, &me.seg[slot], cookie, 0);
}

/* A large LMR, and a window upon it; what is posted behind it waits for that. */
static void show_large(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = large };
	DAT_LMR_TRIPLET part = {
		.virtual_address = (uintptr_t)large + PAGE,
		.segment_length = 500 * PAGE,
	};
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_CONTEXT context;

	MUST(dat_lmr_create(me.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(large),
			    me.pz, DAT_MEM_PRIV_ALL_FLAG, &me.large,
			    &part.lmr_context, NULL, NULL, NULL));
	MUST(dat_rmr_create(me.pz, &me.rmr));
	MUST(dat_rmr_bind(me.rmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, me.ep,
			  cookie, DAT_COMPLETION_SUPPRESS_FLAG, &context));
}

static DAT_EVENT next(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	/* The bind is not counted: it is heard of only if it was flushed. */
	do
		MUST(dat_evd_wait(me.evd, LONG, 1, &event, &more));
	while (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT);
	return event;
}

/* Receives that are in the SRQ when its one connection has ended: they stay there. */
static unsigned int kept(void)
{
	DAT_SRQ_PARAM param = { 0 };

	if (!use_srq)
		return 0;
	MUST(dat_srq_query(me.srq, DAT_SRQ_FIELD_ALL, &param));
	return param.outstanding_dto_count;
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
	while (busy > kept()) {
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
static bool server(enum role role)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_COUNT more;

	open_all(ia_b);
	if (role != WITHHOLDS)
		post_receives();
	MUST(dat_psp_create(me.ia, qual, me.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	tell(LISTENING);
	MUST(dat_evd_wait(me.cr, LONG, 1, &event, &more));
	tell(PENDING);
	if (role == SERVER_NO_ANSWER)
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

static void want_end(void)
{
	DAT_EVENT event = next();

	need(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
	     "DISCONNECTED");
}

/*
 * A graceful disconnect with sends that nobody receives: before its end comes each
 * post completes, none of them with success.
 */
static void drain(void)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	unsigned int slot, left = (1u << 2 * DEPTH) - 1;
	DAT_EP_STATE state;
	DAT_EVENT event;

	for (slot = DEPTH; slot < 2 * DEPTH; slot++)
		MUST(post(slot));
	MUST(dat_ep_disconnect(me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	MUST(dat_ep_get_status(me.ep, &state, NULL, NULL));
	need(state == DAT_EP_STATE_DISCONNECT_PENDING, "DISCONNECT_PENDING");
	tell(PENDING);
	while (left) {
		event = next();
		dto = &event.event_data.dto_completion_event_data;
		slot = dto->user_cookie.as_64;
		need(event.event_number == DAT_DTO_COMPLETION_EVENT &&
		     slot < 2 * DEPTH && left & 1u << slot &&
		     dto->status != DAT_DTO_SUCCESS, "what was left");
		left &= ~(1u << slot);
	}
	want_end();
}

static void connection(enum role role)
{
	bool is_client = role == CLIENT || role == DRAINS;

	if (!(is_client ? client() : server(role))) {
		flushed();
	} else if (role == DRAINS) {
		drain();
	} else if (role == WITHHOLDS) {
		tell(TRAFFIC);
		want_end();
	} else {
		show_large();
		traffic();
	}
	close_all();
}

/* What is registered in vain; set before the process is started. */
static size_t held_pages;

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	uint8_t *memory;
} held;

static void *registers(void *unused)
{
	DAT_REGION_DESCRIPTION region = { .for_va = held.memory };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	dat_lmr_create(held.ia, DAT_MEM_TYPE_VIRTUAL, region, held_pages * PAGE,
		       held.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL,
		       NULL, NULL);
	/* Nobody answers: it ends with the process alone. */
	tell(BAD);
	return unused;
}

/* Registers again and again, until that does not return. */
static void *registers_again(void *unused)
{
	DAT_REGION_DESCRIPTION region = { .for_va = held.memory };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	for (;;)
		if (!dat_lmr_create(held.ia, DAT_MEM_TYPE_VIRTUAL, region,
				    held_pages * PAGE, held.pz,
				    DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL,
				    NULL, NULL))
			dat_lmr_free(lmr);
	return unused;
}

/*
 * The last page comes while kdapl pins the memory, goes again, and does not come while
 * the driver does.  Which of the two it is tells the number of pages that are pinned.
 */
static void answer_but_the_driver(int fd, uint8_t *page)
{
	static uint8_t zero[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy copy = {
		.dst = (uintptr_t)page, .src = (uintptr_t)zero, .len = PAGE,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	unsigned long long pins = proc_pins();
	double end = check_now() + 3;
	struct uffd_msg msg;
	pthread_t thread;

	need(!pthread_create(&thread, NULL, registers_again, NULL), "a thread");
	while (check_now() < end) {
		if (!poll(&pfd, 1, 0)) {
			madvise(page, PAGE, MADV_DONTNEED);
			continue;
		}
		if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		if (proc_pins() - pins > held_pages)
			return;
		copy.copy = 0;
		need(!ioctl(fd, UFFDIO_COPY, &copy) || errno == EEXIST, "a page");
	}
	/* Before 6.3 a driver does not wait: its registrations fail, again and again. */
}

/* One thread in a registration whose last page does not come. */
static void hold_up(bool driver)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range.len = PAGE,
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffd_msg msg;
	pthread_t thread;
	int fd;

	held.ia = me.ia;
	held.pz = me.pz;
	held.memory = mmap(NULL, held_pages * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(held.memory != MAP_FAILED, "mmap");
	range.range.start = (uintptr_t)held.memory + (held_pages - 1) * PAGE;
	fd = syscall(SYS_userfaultfd, O_CLOEXEC | (driver ? O_NONBLOCK : 0));
	need(fd >= 0 && !ioctl(fd, UFFDIO_API, &api) &&
	     !ioctl(fd, UFFDIO_REGISTER, &range), "userfaultfd");
	if (driver) {
		answer_but_the_driver(fd, held.memory + (held_pages - 1) * PAGE);
		return;
	}
	need(!pthread_create(&thread, NULL, registers, NULL), "a thread");
	need(read(fd, &msg, sizeof(msg)) == sizeof(msg) &&
	     msg.event == UFFD_EVENT_PAGEFAULT, "a fault");
}

/* Its other thread uses another IA, or closes that one. */
static void pager(enum role role)
{
	open_all(ia_b);
	hold_up(role == HOLDS_DRIVER);
	if (role == CLOSED_UNDER)
		close_all();
	if (role != HOLDS_DRIVER) {
		open_all(ia_b);
		close_all();
	}
	tell(PENDING);
	pause();
}

/* Takes the device of ia_b away, and brings it back as it was. */
static void remover(void)
{
	char device[64];

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(ia_b, "-"), ia_b);
	dup2(tell_fd, STDOUT_FILENO);
	execlp("sh", "sh", "-c", device_removal, "sh", device, NULL);
	need(false, "sh");
}

static void child(enum role role)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (role == REMOVER)
		remover();
	else if (role == HELD_UP || role == HOLDS_DRIVER || role == CLOSED_UNDER)
		pager(role);
	else
		connection(role);
	tell(ENDED);
	_exit(0);
}

/* ---- in the parent ------------------------------------------------------------- */

static struct peer peers[3];
/* Before there was a process. */
static unsigned long long pins;

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
	double end = check_now() + PATIENCE;
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
	double end = check_now() + PATIENCE;
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

/* A process has pinned that much, and is charged for it. */
static void pins_pages(const struct peer *peer, unsigned int pages)
{
	char status[32];

	snprintf(status, sizeof(status), "/proc/%d/status", peer->pid);
	CHECK(proc_number(status, "VmPin:") >= 4ull * pages);
	CHECK(proc_pins() - pins >= pages);
}

/* Nobody is left, and no page is pinned. */
static void after(void)
{
	double end = check_now() + PATIENCE;
	unsigned int i;

	/* One may be held up by another. */
	for (i = 0; i < ARRAY_SIZE(peers); i++)
		if (peers[i].pid > 0)
			kill(peers[i].pid, SIGKILL);
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		if (peers[i].pid <= 0)
			continue;
		waitpid(peers[i].pid, NULL, 0);
		close(peers[i].told);
		peers[i].pid = 0;
	}
	qual++;
	while (proc_pins() != pins && check_now() < end)
		usleep(10000);
	CHECK_EQ(proc_pins(), pins);
}

static void in_traffic(unsigned int victim)
{
	start(&peers[0], SERVER);
	CHECK(gets_to(&peers[0], LISTENING));
	start(&peers[1], CLIENT);
	CHECK(gets_to(&peers[0], TRAFFIC));
	CHECK(gets_to(&peers[1], TRAFFIC));
	pins_pages(&peers[victim], LARGE);
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

static void in_drain(unsigned int victim)
{
	start(&peers[0], WITHHOLDS);
	CHECK(gets_to(&peers[0], LISTENING));
	start(&peers[1], DRAINS);
	/* Both are connected: who is told of a failed accept instead waits for no end. */
	CHECK(gets_to(&peers[0], TRAFFIC));
	CHECK(gets_to(&peers[1], PENDING));
	dies(&peers[victim]);
	survives(&peers[!victim]);
	was_killed(&peers[victim]);
}

static void drain_loses_its_peer(void)
{
	in_drain(0);
}

static void drain_is_killed(void)
{
	in_drain(1);
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
		struct pollfd reader = { .fd = fds[1] };

		close(fds[0]);
		tell_fd = fds[1];
		MUST(dat_ia_open((DAT_NAME_PTR)ia_a, 8, &async, &ia));
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, 0);
			tell(LISTENING);
			/* It lives for as long as somebody could read of it. */
			poll(&reader, 1, -1);
			_exit(0);
		}
		pause();
	}
	close(fds[1]);
	peers[0].told = dup(fds[0]);
	CHECK(read(fds[0], &c, 1) == 1 && c == LISTENING);
	CHECK(has_objects(peers[0].pid));
	dies(&peers[0]);
	was_killed(&peers[0]);
	close(fds[0]);
}

/* peers[2]; the others are there for traffic. */
static void start_held_up(size_t pages, enum role role)
{
	held_pages = pages;
	start(&peers[2], role);
	CHECK(gets_to(&peers[2], PENDING));
}

static void held_up_dies(void)
{
	dies(&peers[2]);
	was_killed(&peers[2]);
}

static void others_go_on(void)
{
	start_held_up(1, HELD_UP);
	in_traffic(1);
	held_up_dies();
	after();
	start_held_up(LARGE, HELD_UP);
	in_traffic(0);
	held_up_dies();
}

static void closed_under(void)
{
	start_held_up(1, CLOSED_UNDER);
	held_up_dies();
	start_held_up(LARGE, CLOSED_UNDER);
	held_up_dies();
}

/* Where a driver cannot take contexts back, the removal waits for a process that has one. */
static bool in_passthrough(void)
{
	const char *mode = getenv("KDAPL_MODE");

	return mode && !strcmp(mode, "passthrough");
}

static void removed_under(void)
{
	start_held_up(1, HELD_UP);
	start(&peers[0], REMOVER);
	if (!in_passthrough()) {
		CHECK(gets_to(&peers[0], REMOVED));
		CHECK(has_objects(peers[2].pid));
	}
	held_up_dies();
	if (in_passthrough())
		CHECK(gets_to(&peers[0], REMOVED));
	CHECK(gets_to(&peers[0], ENDED));
	after();
	/* It works again. */
	in_traffic(1);
}

/* The driver waits, or fails for ever; the process may be killed for it. */
static void removed_under_the_driver(void)
{
	start_held_up(LARGE, HOLDS_DRIVER);
	start(&peers[0], REMOVER);
	if (!in_passthrough())
		CHECK(gets_to(&peers[0], REMOVED));
	dies(&peers[2]);
	was_killed(&peers[2]);
	if (in_passthrough())
		CHECK(gets_to(&peers[0], REMOVED));
	CHECK(gets_to(&peers[0], ENDED));
	after();
	in_traffic(0);
}

static const struct check_case cases[] = {
	{ "F17 I19 D50 L3 mt:M25 the client is killed in traffic", client_in_traffic },
	{ "F17 I19 D50 L3 mt:M25 the server is killed in traffic", server_in_traffic },
	{ "F17 I19 both are killed in traffic", both_in_traffic },
	{ "D17 D43 F17 a graceful disconnect waits, its peer is killed",
	  drain_loses_its_peer },
	{ "D50 F17 I19 a graceful disconnect waits, and is killed", drain_is_killed },
	{ "P47 the server is killed with a request", server_with_request },
	{ "P4 I19 the server is killed listening", server_listening },
	{ "F17 the client is killed at any moment", any_moment },
	{ "A8 a child outlives its parent", with_a_child },
	{ "I19 A10 a pager holds a registration up: others go on", others_go_on },
	{ "I15 I19 A10 a pager holds a registration up: its IA is closed",
	  closed_under },
	{ "E71 I19 A10 a pager holds a registration up: its device goes",
	  removed_under },
	{ "E71 I19 A10 mt:M25 a pager holds the driver up: its device goes",
	  removed_under_the_driver },
};

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "qa:b:")) != -1) {
		if (c == '?')
			return 2;
		if (c == 'q') {
			use_srq = true;
			continue;
		}
		*(c == 'a' ? &ia_a : &ia_b) = optarg;
	}
	if (access(OBJECTS, R_OK)) {
		fprintf(stderr, "kill9: %s: %s (root, and debugfs mounted?)\n",
			OBJECTS, strerror(errno));
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	pins = proc_pins();
	argv[optind - 1] = argv[0];
	return check_run(cases, ARRAY_SIZE(cases), after, argc - optind + 1,
			 argv + optind - 1);
}
