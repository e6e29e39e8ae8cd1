// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs as they are: with a great many adapters, with children, and of several
 * processes that share memory or hand requests to each other.
 *
 * A child begins without any DAT objects.  It opens the sides for itself, and can then
 * use all of rules.h; a failure in it is printed there, and fails the scenario.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include "user.h"

/* ---- children ----------------------------------------------------------- */

/*
 * struct child - a process beside this one
 * @fd: its end of a pair of sockets, or ours
 */
struct child {
	pid_t pid;
	int fd;
};

/* One says that it is so far, or hands over a number; the other one waits for it. */
static bool tell(int fd, u64 number)
{
	return CHECK(write(fd, &number, sizeof(number)) == sizeof(number));
}

static u64 hear(int fd)
{
	u64 number = 0;

	CHECK(read(fd, &number, sizeof(number)) == sizeof(number));
	return number;
}

static bool child_start(struct child *child, void (*fn)(int fd))
{
	int fds[2];

	if (!CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)))
		return false;
	child->pid = fork();
	if (!child->pid) {
		close(fds[0]);
		side_a.ia = DAT_HANDLE_NULL;
		side_b.ia = DAT_HANDLE_NULL;
		fn(fds[1]);
		/* What is done at the exit of a program is done here, too. */
		exit(failed());
	}
	close(fds[1]);
	child->fd = fds[0];
	return CHECK(child->pid > 0);
}

static void child_end(struct child *child)
{
	int status = 0;

	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	CHECK_EQ(status, 0);
	close(child->fd);
}

/* It is gone, with all that it had, when this returns. */
static void child_kill(struct child *child)
{
	int status = 0;

	CHECK(!kill(child->pid, SIGKILL));
	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(child->fd);
}

/* ---- a thousand adapters ------------------------------------------------- */

#define ADAPTERS	1000
/* Of the module, and of the device in passthrough: two, and one for what is passing. */
#define FEW		4

static DAT_IA_HANDLE adapters[ADAPTERS];
static unsigned int nr_adapters;

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* All of them, in a brief run as well; only a brief run in a debug kernel has fewer. */
static unsigned int adapters_here(void)
{
	if (!run_command("test -e /sys/kernel/debug/kmemleak"))
		return rounds_in_full(ADAPTERS);
	return ADAPTERS;
}

static void open_adapters(void)
{
	const struct side *side;
	DAT_EVD_HANDLE evd;
	unsigned int i;

	for (i = 0; i < nr_adapters && !failed(); i++) {
		evd = DAT_HANDLE_NULL;
		side = i % 2 ? &side_a : &side_b;
		platform_before_open(side);
		OK(dat_ia_open(side->name, 8, &evd, &adapters[i]));
	}
}

static void many_adapters(void)
{
	int before = descriptors();
	DAT_PZ_HANDLE zone;
	DAT_IA_ATTR attr;
	u64 start = now_us(), opened;
	unsigned int i;

	nr_adapters = adapters_here();
	open_adapters();
	opened = now_us();
	CHECK(descriptors() <= before + FEW);
	/* Each is one of its own. */
	for (i = 0; i < nr_adapters; i += 100) {
		OK(dat_ia_query(adapters[i], NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
		CHECK(!strcmp(attr.adapter_name, i % 2 ? side_a.name : side_b.name));
		OK(dat_pz_create(adapters[i], &zone));
		BAD_STATE(dat_ia_close(adapters[i], DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
		OK(dat_pz_free(zone));
	}
	start += now_us() - opened;
	for (i = 0; i < nr_adapters; i++)
		OK(dat_ia_close(adapters[i], i % 3 ? DAT_CLOSE_GRACEFUL_FLAG :
						     DAT_CLOSE_ABRUPT_FLAG));
	note("%u adapters opened and closed in %llu ms", nr_adapters,
	     (now_us() - start) / 1000);
	CHECK(descriptors() <= before + FEW);
}

static void adapters_in_child(int fd)
{
	const struct rlimit limit = { 64, 64 };

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	open_adapters();
	tell(fd, !failed());
	hear(fd);
}

/* Objects of all processes, as debugfs counts them. */
static int everybodys_objects(void)
{
	FILE *f = fopen("/sys/kernel/debug/kdapl/objects", "r");
	char line[256];
	int pid, n, found = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "space pid %d: objects %d", &pid, &n) == 2)
			found += n;
	if (f)
		fclose(f);
	return found;
}

static void killed_with_many(void)
{
	int before = everybodys_objects();
	struct child child;
	u64 start;

	nr_adapters = adapters_here();
	if (!child_start(&child, adapters_in_child))
		return;
	CHECK_EQ(hear(child.fd), 1);
	CHECK_EQ(everybodys_objects(), before + 2 * (int)nr_adapters);
	start = now_us();
	child_kill(&child);
	note("killed with %u adapters: gone after %llu ms", nr_adapters,
	     (now_us() - start) / 1000);
	CHECK_EQ(everybodys_objects(), before);
}

/* ---- fork ---------------------------------------------------------------- */

static DAT_HANDLE parents[16];
static unsigned int nr_parents;

/* Every call refuses them, and the child's own adapters are not harmed. */
static void use_parents(int fd)
{
	unsigned int i;

	(void)fd;
	if (side_open(&side_a) && side_open(&side_b))
		for (i = 0; i < nr_parents && !failed(); i++)
			handle_refused(parents[i], "a parent's");
}

static void forked_handles(void)
{
	struct child child;
	struct node other = {};
	struct pair p = {};
	DAT_CNO_HANDLE cno;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	if (!pair_new(&p, THREE_EVDS, NULL, NULL) ||
	    !node_new(&other, &side_a, ONE_EVD, NULL) ||
	    !OK(dat_rmr_create(side_b.pz, &rmr)) ||
	    !OK(dat_cno_create(side_b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) ||
	    !start_connect(&other, p.listener.qual) || !next_request(&p.listener, &cr))
		return;
	nr_parents = 0;
	parents[nr_parents++] = side_a.ia;
	parents[nr_parents++] = side_b.ia;
	parents[nr_parents++] = side_b.async;
	parents[nr_parents++] = side_b.pz;
	parents[nr_parents++] = p.a.ep;
	parents[nr_parents++] = p.b.ep;
	parents[nr_parents++] = p.b.recv;
	parents[nr_parents++] = p.b.mem.lmr;
	parents[nr_parents++] = p.listener.psp;
	parents[nr_parents++] = rmr;
	parents[nr_parents++] = cno;
	parents[nr_parents++] = cr;
	if (!child_start(&child, use_parents))
		return;
	/* While it lives and when it has gone. */
	talks(&p.a, &p.b);
	child_end(&child);
	talks(&p.a, &p.b);
	talks(&p.b, &p.a);
	OK(dat_cr_reject(cr));
	/* On iWARP the driver has given the attempt up if all of this took ten seconds. */
	if (!side_is_iwarp(&side_a))
		want_conn(other.conn, other.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	else if (next_event(other.conn, &event) &&
		 event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE)
		CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	OK(dat_cno_free(cno));
}

static void wait_a_while(int fd)
{
	hear(fd);
}

struct chat {
	struct pair p;
	u64 stop;
	u64 turns;
};

static int chatter(void *arg)
{
	struct chat *chat = arg;

	while (!read_u64(&chat->stop) && !failed()) {
		talks(&chat->p.a, &chat->p.b);
		talks(&chat->p.b, &chat->p.a);
		add_u64(&chat->turns, 1);
	}
	return 0;
}

/*
 * A thread has messages under way, of memory that was registered before, while children
 * come and go: some end by themselves, some are killed, some live on meanwhile.
 */
static void forks_in_traffic(void)
{
	unsigned int n = rounds_in_full(40), i;
	static struct chat chat;
	struct child children[3];
	struct thread thread;
	u64 turns;

	memset(&chat, 0, sizeof(chat));
	if (!pair_new(&chat.p, THREE_EVDS, NULL, NULL) ||
	    !thread_start(&thread, chatter, &chat))
		return;
	for (i = 0; i < n + ARRAY_SIZE(children) && !failed(); i++) {
		struct child *child = &children[i % ARRAY_SIZE(children)];

		if (i >= ARRAY_SIZE(children) && i % 2) {
			tell(child->fd, 0);
			child_end(child);
		} else if (i >= ARRAY_SIZE(children)) {
			child_kill(child);
		}
		if (i < n)
			child_start(child, wait_a_while);
		turns = read_u64(&chat.turns);
		while (read_u64(&chat.turns) <= turns && !failed())
			yield_cpu();
	}
	set_u64(&chat.stop, 1);
	thread_join(&thread);
	CHECK(read_u64(&chat.turns) >= n);
	state_is(chat.p.a.ep, DAT_EP_STATE_CONNECTED);
}

struct opener {
	u64 stop;
	u64 opens;
};

static void open_and_close(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (OK(dat_ia_open(side_b.name, 8, &evd, &ia)))
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static int opener(void *arg)
{
	struct opener *opener = arg;

	while (!read_u64(&opener->stop) && !failed()) {
		open_and_close();
		add_u64(&opener->opens, 1);
	}
	return 0;
}

/* The alarm ends a child that waits for what a thread had which it does not have. */
static void open_in_time(int fd)
{
	(void)fd;
	alarm(20);
	open_and_close();
}

/* Wherever in an open another thread of the parent is, its child can open for itself. */
static void forks_in_opens(void)
{
	unsigned int n = rounds_in_full(200), i;
	static struct opener other;
	struct thread thread;
	struct child child;

	memset(&other, 0, sizeof(other));
	platform_before_open(&side_b);
	if (!thread_start(&thread, opener, &other))
		return;
	for (i = 0; i < n && !failed() && child_start(&child, open_in_time); i++)
		child_end(&child);
	set_u64(&other.stop, 1);
	thread_join(&thread);
	note("%u children beside %llu opens", i, read_u64(&other.opens));
	CHECK(read_u64(&other.opens) > 1);
}

/* ---- shared memory -------------------------------------------------------- */

#define SHARED_SIZE	(16 * PAGE)

static char shared_id[DAT_LMR_COOKIE_SIZE] = "the memory of two processes";
static u8 *shared;

/* The same memory in each process, as an LMR of its own. */
static bool share(struct mem *mem)
{
	DAT_REGION_DESCRIPTION region;

	region.for_shared_memory.virtual_address = shared;
	region.for_shared_memory.shared_memory_id = &shared_id;
	mem->va = shared;
	mem->size = SHARED_SIZE;
	return OK(platform_lmr_create(side_b.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region,
				      SHARED_SIZE, side_b.pz, DAT_MEM_PRIV_ALL_FLAG,
				      &mem->lmr, &mem->context, &mem->rmr_context));
}

/* What one process's peer has written, the other's reads; and that is its memory. */
static void second_sharer(int fd)
{
	struct mem mem = {};
	struct pair p = {};
	DAT_RMR_TRIPLET r;

	if (!side_open(&side_a) || !side_open(&side_b) ||
	    !pair_new(&p, THREE_EVDS, NULL, NULL) || !share(&mem))
		return;
	hear(fd);
	mem_check(&mem, 0, SHARED_SIZE, 1);
	r = remote_piece(&mem, SHARED_SIZE - PAGE, PAGE);
	OK(node_read(&p.a, 0, PAGE, &r, 1, 0));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK(!memcmp(p.a.mem.va, shared + SHARED_SIZE - PAGE, PAGE));
	mem_fill(&p.a.mem, 0, SHARED_SIZE, 2);
	r = remote_piece(&mem, 0, SHARED_SIZE);
	OK(node_write(&p.a, 0, SHARED_SIZE, &r, 2, 0));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	mem_arrives(&mem, 0, SHARED_SIZE, 2);
	OK(dat_lmr_free(mem.lmr));
	tell(fd, 0);
}

static void shared_by_two(void)
{
	struct child child;
	struct mem mem = {};
	struct pair p = {};
	DAT_RMR_TRIPLET r;

	shared = scenario_alloc_scattered(SHARED_SIZE);
	if (!shared || !child_start(&child, second_sharer) ||
	    !pair_new(&p, THREE_EVDS, NULL, NULL) || !share(&mem))
		return;
	mem_fill(&p.a.mem, 0, SHARED_SIZE, 1);
	r = remote_piece(&mem, 0, SHARED_SIZE);
	OK(node_write(&p.a, 0, SHARED_SIZE, &r, 1, 0));
	want_done(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	mem_arrives(&mem, 0, SHARED_SIZE, 1);
	tell(child.fd, 0);
	hear(child.fd);
	mem_check(&mem, 0, SHARED_SIZE, 2);
	/* The other LMR has gone, this one is as it was. */
	child_end(&child);
	OK(node_read(&p.a, 0, SHARED_SIZE, &r, 2, 0));
	want_done(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	mem_check(&p.a.mem, 0, SHARED_SIZE, 2);
	OK(dat_lmr_free(mem.lmr));
}

/* ---- a request for another process ----------------------------------------- */

#define HANDED_SEED	9

/* Says where it listens, and is the passive side of what is handed over. */
static void other_listener(int fd)
{
	struct listener listener = {};
	struct node b = {};
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	if (!side_open(&side_b) || !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG))
		return;
	OK(node_recv(&b, 0, 64, 1));
	tell(fd, listener.qual);
	if (!next_request(&listener, &cr))
		return;
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	same_address(param.remote_ia_address_ptr, &side_a);
	OK(dat_cr_accept(cr, b.ep, 0, NULL));
	want_conn(b.conn, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	want_dto(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 64);
	mem_check(&b.mem, 0, 64, HANDED_SEED);
	want_conn(b.conn, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void handed_to_another(void)
{
	struct listener listener = {};
	struct child child;
	struct node a = {};
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	if (!child_start(&child, other_listener) ||
	    !node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, listener.qual) || !next_request(&listener, &cr))
		return;
	OK(dat_cr_handoff(cr, hear(child.fd)));
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	want_event(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	mem_fill(&a.mem, 0, 64, HANDED_SEED);
	OK(node_send(&a, 0, 64, 1, 0));
	want_done(a.request, a.ep, 1, DAT_DTO_SUCCESS);
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	want_conn(a.conn, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	nothing_more(a.conn);
	silent(listener.requests);
	child_end(&child);
}

/* Nobody listens there any more: the request is still ours. */
static void handed_to_the_dead(void)
{
	struct listener listener = {};
	struct node a = {}, b = {};
	struct child child;
	DAT_CR_HANDLE cr;
	u64 qual;

	if (!child_start(&child, other_listener))
		return;
	qual = hear(child.fd);
	child_kill(&child);
	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !node_new(&b, &side_b, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_CONSUMER_FLAG) ||
	    !start_connect(&a, listener.qual) || !next_request(&listener, &cr))
		return;
	BAD_ARG(dat_cr_handoff(cr, qual), 2);
	OK(dat_cr_accept(cr, b.ep, 0, NULL));
	want_conn(b.conn, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * P50, P71: the endpoint that the provider has made for a request is not ready to be accepted, and
 * the consumer has never seen it.  The library keeps nothing of it when the request is rejected.
 */
static void unseen_endpoint(void)
{
	struct listener listener = {};
	struct node a = {};
	DAT_CR_HANDLE cr;
	int i, before = 0;

	if (!node_new(&a, &side_a, THREE_EVDS, NULL) ||
	    !listener_new(&listener, DAT_PSP_PROVIDER_FLAG))
		return;
	for (i = 0; i < 4 && !failed(); i++) {
		if (!start_connect(&a, listener.qual) || !next_request(&listener, &cr))
			return;
		BAD_STATE(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP_NOTREADY);
		OK(dat_cr_reject(cr));
		want_conn(a.conn, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
		OK(dat_ep_reset(a.ep));
		if (!i)
			before = descriptors();
		CHECK_EQ(descriptors(), before);
	}
}

static const struct scenario scenarios[] = {
	SCENARIO("I3 I11 A8 a thousand adapters of one process", many_adapters),
	SCENARIO("I19 a thousand adapters of a process that is killed", killed_with_many),
	SCENARIO("A8 E5 a parent's handles in every call of its child", forked_handles),
	SCENARIO("A8 mt:M20 children come and go under traffic", forks_in_traffic),
	SCENARIO("A8 children open while a thread does", forks_in_opens),
	SCENARIO_IB("mt:M9 memory that two processes share", shared_by_two),
	SCENARIO("P80 a request is handed to another process", handed_to_another),
	SCENARIO("P81 ... and to one that has died", handed_to_the_dead),
	SCENARIO("P50 P71 nothing is left of an endpoint that was not seen", unseen_endpoint),
};

SCENARIO_TABLE(process_table);
