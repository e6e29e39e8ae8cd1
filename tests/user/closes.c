// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Open files whose last close is not that of the process which has opened them, as when a child
 * has them, or somebody to whom they were sent: that ends all at once but what waits for peers.
 * Speaks the ABI itself.
 *
 *	closes
 *
 * On rxe0-1 and rxe1-1 whose network devices are ve0 and ve1, the latter with a netem queue; root.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "abi.h"
#include "proc.h"

#define OBJECTS	"/sys/kernel/debug/kdapl/objects"
/* More than are closed at a time */
#define FILES	16
#define LENGTH	(256 << 10)

/* ---- what the kernel has ------------------------------------------------------------ */

/* How many lines about files of @pid begin with @word; "space": how many files there are. */
static int count_of(pid_t pid, const char *word)
{
	FILE *f = fopen(OBJECTS, "r");
	char line[512], space[32];
	bool his = false;
	int n = 0;

	need(f, OBJECTS);
	snprintf(space, sizeof(space), "space pid %d:", pid);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "space", 5))
			his = !strncmp(line, space, strlen(space));
		if (his && !strncmp(line + strspn(line, " "), word, strlen(word)))
			n++;
	}
	fclose(f);
	return n;
}

/* The pause between two looks for something that has to come before @end. */
static void look_again(long end, const char *what)
{
	need(now_ms() < end, what);
	usleep(10000);
}

/* Waits until there are none of them, or none of the file they are in is left. */
static void wait_for_none(pid_t pid, const char *word)
{
	long end = now_ms() + LONG / 1000;

	while (count_of(pid, word))
		look_again(end, word);
}

/* An LMR is out of the kernel's lists a moment before its pages are let go. */
static void wait_for_pins(unsigned long long pins)
{
	long end = now_ms() + LONG / 1000;

	while (proc_pins() != pins)
		look_again(end, "pages to be let go");
}

static void link_passes(bool passes)
{
	need(!system(passes ? "tc qdisc change dev ve1 root netem limit 10000 loss 0%" :
			      "tc qdisc change dev ve1 root netem limit 10000 loss 100%"), "tc");
}

/* ---- both ends ------------------------------------------------------------------------ */

/* struct end - an adapter that is open */
struct end {
	int fd;
	__u64 ia, pz, evd;
};

static struct end end_open(const char *name)
{
	struct end e = { .fd = dev_open() };

	e.ia = ia_open_named(e.fd, name).ia;
	e.pz = pz_create(e.fd, e.ia);
	e.evd = evd_create(e.fd, e.ia, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			   DAT_EVD_CR_FLAG).evd;
	return e;
}

static struct kdapl_uapi_event event_of(const struct end *e, __u32 number)
{
	struct kdapl_uapi_evd_dequeue dequeue = { .evd = e->evd };

	need(!evd_wait(e->fd, e->evd, 1, LONG, NULL), "an event");
	need(!call(e->fd, KDAPL_IOC_EVD_DEQUEUE, &dequeue) && !dequeue.ret &&
	     dequeue.event.event_number == number, "the event");
	return dequeue.event;
}

static void register_memory(const struct end *e)
{
	struct kdapl_uapi_lmr_create lmr = {
		.ia = e->ia, .pz = e->pz, .length = LENGTH, .privileges = DAT_MEM_PRIV_ALL_FLAG };
	void *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	need(memory != MAP_FAILED, "memory");
	lmr.region = (uintptr_t)memory;
	need(!call(e->fd, KDAPL_IOC_LMR_CREATE, &lmr) && !lmr.ret, "an LMR");
}

/* ---- the processes -------------------------------------------------------------------- */

/* Where the server's service point is */
struct target {
	struct kdapl_uapi_addr address;
	__u64 port;
};

static struct target server_listen(const struct end *server)
{
	struct kdapl_uapi_ia_query query = {
		.ia_mask = DAT_IA_FIELD_IA_ADDRESS_PTR, .ia = server->ia };
	struct kdapl_uapi_psp_create psp = { .ia = server->ia, .evd = server->evd };

	need(!call(server->fd, KDAPL_IOC_IA_QUERY, &query) && !query.ret, "its address");
	need(!call(server->fd, KDAPL_IOC_PSP_CREATE_ANY, &psp) && !psp.ret, "a service point");
	return (struct target) { .address = query.ia_attr.address, .port = psp.conn_qual };
}

static void server_accept(const struct end *server)
{
	struct kdapl_uapi_event event = event_of(server, DAT_CONNECTION_REQUEST_EVENT);
	struct kdapl_uapi_cr_accept accept = {
		.cr = event.cr.cr,
		.ep = ep_create(server->fd, server->ia, server->pz, server->evd, server->evd) };

	need(!call(server->fd, KDAPL_IOC_CR_ACCEPT, &accept) && !accept.ret, "accept");
	event_of(server, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Has the files of its parent, until @go is closed at the other end. */
static void holder(int go)
{
	char c;

	need(!read(go, &c, 1), "the end of the parent");
	_exit(0);
}

/* Opens the files, and ends; a child has them then. */
static void opener(const struct target *target, int go)
{
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < FILES; i++) {
		struct end e = end_open("rxe0-1");
		struct kdapl_uapi_ep_connect connect = {
			.ep = ep_create(e.fd, e.ia, e.pz, e.evd, e.evd), .timeout = LONG,
			.address = target->address, .conn_qual = target->port };

		register_memory(&e);
		need(!call(e.fd, KDAPL_IOC_EP_CONNECT, &connect) && !connect.ret, "connect");
		event_of(&e, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	if (!fork())
		holder(go);
	_exit(0);
}

/* The process id of an opener that has ended; its files are in the hands of its child. */
static pid_t opener_of_files(const struct end *server, int *holder_goes)
{
	struct target target = server_listen(server);
	int go[2], status, i;
	pid_t pid;

	need(!pipe2(go, O_CLOEXEC), "a pipe");
	*holder_goes = go[1];
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		close(go[1]);
		close(server->fd);
		opener(&target, go[0]);
	}
	close(go[0]);
	for (i = 0; i < FILES; i++)
		server_accept(server);
	need(waitpid(pid, &status, 0) == pid && !status, "the opener");
	return pid;
}

/*
 * I19: nobody answers the disconnects.  The close of each file waits for that, as long as a close
 * does, but with nothing more than the ids; and they all wait at the same time.
 */
static void cut_off(void)
{
	unsigned long long pins = proc_pins();
	struct end server = end_open("rxe1-1");
	int holder_goes, n, status;
	pid_t pid = opener_of_files(&server, &holder_goes);

	n = count_of(pid, "ep ");
	check(n == FILES && count_of(pid, "space") == FILES && proc_pins() > pins,
	      "I19", "what an ended opener's files have stays while a child has them", n);
	link_passes(false);
	close(holder_goes);
	need(waitpid(-1, &status, 0) > 0 && !status, "the holder");
	n = count_of(pid, "space");
	check(n == FILES, "I19", "who closes files of others does not wait for their peers", n);
	wait_for_none(pid, "lmr ");
	wait_for_none(pid, "ep ");
	wait_for_none(pid, "pz ");
	wait_for_pins(pins);
	n = count_of(pid, "space");
	check(n == FILES, "I19", "nothing but the wait for peers is left of any of them", n);
	link_passes(true);
	wait_for_none(pid, "space");
	check(true, "I19", "all of them get closed", 0);
	close(server.fd);
}

int main(void)
{
	/* The holder is a grandchild, and is waited for here. */
	need(!prctl(PR_SET_CHILD_SUBREAPER, 1), "subreaper");
	cut_off();
	printf("%d passed, %d failed\n", passed, failed);
	return failed;
}
