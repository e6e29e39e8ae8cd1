// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On iWARP an accepted connection ends while the peer's first message is on its way.  The peer is
 * a TCP socket that speaks as much of MPA and RDMAP as it takes: it asks for the peer-to-peer
 * mode, in which the driver waits for its first message before it says that the connection is
 * established.  The kernel's CM has a BUG() for an end that comes before that, so kdapl may touch
 * neither queue pair nor id until then (P51, D35, A7).
 *
 *	iwarp_early IA ADDRESS PEER-ADDRESS
 *
 * Speaks the ABI itself, as any user.  If it fails the host falls over.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "abi.h"

#define NOBODY	65534

/* In us.  An end that does not wait for the peer has made the host fall over long before. */
#define TOO_EARLY	500000

static const char *ia_name, *here, *there;

/* The side that accepts */
struct end {
	int fd;
	__u64 ia, evd, ep, psp;
	__u64 qual;
};

static void end_open(struct end *end)
{
	struct kdapl_uapi_psp_create psp = {};
	__u64 pz;

	end->fd = dev_open();
	end->ia = ia_open_named(end->fd, ia_name).ia;
	end->evd = evd_create(end->fd, end->ia, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			      DAT_EVD_CR_FLAG).evd;
	pz = pz_create(end->fd, end->ia);
	end->ep = ep_create(end->fd, end->ia, pz, end->evd, end->evd);
	psp.ia = end->ia;
	psp.evd = end->evd;
	need(!call(end->fd, KDAPL_IOC_PSP_CREATE_ANY, &psp) && !psp.ret, "a service point");
	end->qual = psp.conn_qual;
}

/* The next event, or an event of number 0 if none comes within @us. */
static struct kdapl_uapi_event end_event(const struct end *end, __u32 us)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = end->evd };

	if (evd_wait(end->fd, end->evd, 1, us, NULL) ||
	    call(end->fd, KDAPL_IOC_EVD_DEQUEUE, &arg) || arg.ret)
		arg.event.event_number = 0;
	return arg.event;
}

/* A peer that asks for a connection, in the peer-to-peer mode of MPA. */
static int peer_asks(const struct end *end)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(end->qual) };
	/* Revision 2 with 4 bytes of data: IRD 1 and peer-to-peer, ORD 1 and a write at first. */
	static const unsigned char request[24] =
		"MPA ID Req Frame\x10\x02\x00\x04\xc0\x01\x80\x01";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, there, &from.sin_addr);
	inet_pton(AF_INET, here, &to.sin_addr);
	need(!bind(fd, (void *)&from, sizeof(from)) && !connect(fd, (void *)&to, sizeof(to)) &&
	     write(fd, request, sizeof(request)) == sizeof(request), "a peer");
	return fd;
}

/* The peer's first message: an RDMA write of no bytes, without a checksum. */
static void peer_talks(int fd)
{
	static const unsigned char message[20] = "\x00\x0e\xc1\x40";
	unsigned char reply[20];

	need(recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) &&
	     !memcmp(reply, "MPA ID Rep Frame", 16), "an acceptance");
	need(write(fd, message, sizeof(message)) == sizeof(message), "the first message");
}

/* Until the peer has seen the end. */
static bool peer_ends(int fd)
{
	struct timeval limit = { .tv_sec = LONG / 1000000 };
	char rest[256];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while ((n = read(fd, rest, sizeof(rest))) > 0)
		;
	return !n || errno == ECONNRESET;
}

static void end_accepts(const struct end *end)
{
	struct kdapl_uapi_event request = end_event(end, LONG);
	struct kdapl_uapi_cr_accept arg = { .ep = end->ep };

	need(request.event_number == DAT_CONNECTION_REQUEST_EVENT, "a request");
	arg.cr = request.cr.cr;
	need(!call(end->fd, KDAPL_IOC_CR_ACCEPT, &arg) && !arg.ret, "an acceptance");
}

/* ---- ends that return at once ---------------------------------------------------- */

static void test_disconnect(__u32 flags, const char *name)
{
	struct kdapl_uapi_handle_flags arg = { .flags = flags };
	struct kdapl_uapi_event event;
	struct end end;
	int peer;

	end_open(&end);
	peer = peer_asks(&end);
	end_accepts(&end);
	arg.handle = end.ep;
	check(!call(end.fd, KDAPL_IOC_EP_DISCONNECT, &arg) && !arg.ret, "D3", name, arg.ret);
	event = end_event(&end, TOO_EARLY);
	check(!event.event_number, "D35", text_of("it waits for the peer", name),
	      event.event_number);
	peer_talks(peer);
	event = end_event(&end, LONG);
	check(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "D35",
	      text_of("and ends then", name), event.event_number);
	check(peer_ends(peer), "D35", text_of("for the peer, too", name), 0);
	close(peer);
	close(end.fd);
}

/* ---- ends that wait --------------------------------------------------------------- */

struct waiting {
	const struct end *end;
	const char *name;
	bool (*ends)(const struct end *end);
	bool good, done;
};

static bool by_free(const struct end *end)
{
	return !handle_call(end->fd, KDAPL_IOC_EP_FREE, end->ep);
}

static bool by_close(const struct end *end)
{
	return !ia_close(end->fd, end->ia, DAT_CLOSE_ABRUPT_FLAG);
}

static bool by_last_close(const struct end *end)
{
	return !close(end->fd);
}

static void *run(void *arg)
{
	struct waiting *w = arg;

	w->good = w->ends(w->end);
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void test_waits(bool (*ends)(const struct end *end), const char *name)
{
	struct waiting w = { .name = name, .ends = ends };
	pthread_t thread;
	struct end end;
	int peer;

	end_open(&end);
	w.end = &end;
	peer = peer_asks(&end);
	end_accepts(&end);
	need(!pthread_create(&thread, NULL, run, &w), "a thread");
	usleep(TOO_EARLY);
	check(!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE), "D35",
	      text_of("it waits for the peer", name), 0);
	peer_talks(peer);
	check(!pthread_join(thread, NULL) && w.good, "D35", text_of("and ends then", name), 0);
	check(peer_ends(peer), "D35", text_of("for the peer, too", name), 0);
	close(peer);
	if (ends != by_last_close)
		close(end.fd);
}

/* A process that has accepted is killed; the peer is another one. */
static void test_kill(void)
{
	int ready[2], status, peer;
	struct end end;
	char byte;
	pid_t pid;

	need(!pipe(ready), "a pipe");
	pid = fork();
	if (!pid) {
		end_open(&end);
		need(write(ready[1], &end.qual, sizeof(end.qual)) == sizeof(end.qual), "a word");
		end_accepts(&end);
		need(write(ready[1], "", 1) == 1, "a word");
		pause();
	}
	need(read(ready[0], &end.qual, sizeof(end.qual)) == sizeof(end.qual), "a listener");
	peer = peer_asks(&end);
	need(read(ready[0], &byte, 1) == 1, "an acceptance");
	kill(pid, SIGKILL);
	usleep(TOO_EARLY);
	check(!waitpid(pid, &status, WNOHANG), "D35", "killed: it waits for the peer", 0);
	peer_talks(peer);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "D35",
	      "killed: and ends then", 0);
	check(peer_ends(peer), "D35", "killed: for the peer, too", 0);
	close(peer);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	ia_name = argv[1];
	here = argv[2];
	there = argv[3];
	need(!setgid(NOBODY) && !setuid(NOBODY), "nobody's rights");
	test_disconnect(DAT_CLOSE_ABRUPT_FLAG, "an abrupt disconnect");
	test_disconnect(DAT_CLOSE_GRACEFUL_FLAG, "a graceful disconnect");
	test_waits(by_free, "a free");
	test_waits(by_close, "a close of the IA");
	test_waits(by_last_close, "the last close");
	test_kill();
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
