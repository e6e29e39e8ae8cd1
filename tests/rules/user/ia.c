// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The adapter of a process: the asynchronous EVD that several opens share, what a child
 * has, and threads that make objects while the IA is closed.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include "user.h"

/* The IA's name is always the first argument. */
static DAT_RETURN ia_open(const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *ia)
{
	return dat_ia_open((DAT_NAME_PTR)name, qlen, evd, ia);
}

static void shared_async_evd(void)
{
	DAT_EVD_HANDLE evd, exists = DAT_EVD_ASYNC_EXISTS, wrong, seen;
	DAT_IA_HANDLE first, second, third;
	DAT_EVD_PARAM param;

	/* No open of the adapter is there yet. */
	side_close(&side_a, DAT_CLOSE_ABRUPT_FLAG);
	BAD_HANDLE(ia_open(side_a.name, 8, &exists, &first), EVD_ASYNC);
	evd = DAT_HANDLE_NULL;
	OK(ia_open(side_a.name, 8, &evd, &first));
	OK(dat_evd_create(first, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &wrong));
	BAD_HANDLE(ia_open(side_a.name, 8, &wrong, &second), EVD_ASYNC);
	OK(dat_evd_free(wrong));
	seen = evd;
	OK(ia_open(side_a.name, 0, &seen, &second));
	CHECK(seen == evd);
	OK(ia_open(side_a.name, 0, &exists, &third));
	CHECK(exists == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_query(third, &seen, 0, NULL, 0, NULL));
	CHECK(seen == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_close(third, DAT_CLOSE_GRACEFUL_FLAG));

	/* The EVD of the first open is in use by the second. */
	BAD_STATE(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	/* I16: only the binding has ended. */
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK(param.ia_handle == first);

	/* I13: an abrupt close takes it from the other. */
	seen = evd;
	OK(ia_open(side_a.name, 0, &seen, &second));
	OK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG));
	BAD_HANDLE(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), EVD_REQUEST);
	OK(dat_ia_query(second, &seen, 0, NULL, 0, NULL));
	CHECK(seen == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
}

#define BAD(which)	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##which)

static int child_main(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_HANDLE_TYPE type;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	if (dat_evd_dequeue(side_a.async, &event) != BAD(EVD_REQUEST))
		return 1;
	if (dat_pz_free(side_a.pz) != BAD(PZ))
		return 2;
	if (dat_ia_close(side_a.ia, DAT_CLOSE_ABRUPT_FLAG) != BAD(IA))
		return 3;
	if (dat_get_handle_type(side_a.ia, &type) !=
	    DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1))
		return 4;
	if (ia_open(side_a.name, 8, &evd, &ia) || ia == side_a.ia)
		return 5;
	if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG))
		return 6;
	return 0;
}

/* A child has no objects, and may make its own; the parent's stay. */
static void fork_child(void)
{
	DAT_HANDLE_TYPE type;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(child_main());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	OK(dat_get_handle_type(side_a.ia, &type));
	empty(side_a.async);
}

#define MAKES	4000

struct maker {
	pthread_t thread;
	DAT_IA_HANDLE ia;
	atomic_int made;
	DAT_RETURN ret;
	DAT_HANDLE handles[MAKES];
};

/* Makes a PZ, an EVD and a CNO in turn, until it may not. */
static void *make_many(void *arg)
{
	struct maker *m = arg;
	DAT_HANDLE *out;

	for (m->ret = DAT_SUCCESS; !m->ret && m->made < MAKES; ) {
		out = &m->handles[m->made];
		switch (m->made % 3) {
		case 0:
			m->ret = dat_pz_create(m->ia, out);
			break;
		case 1:
			m->ret = dat_evd_create(m->ia, 1, DAT_HANDLE_NULL,
						DAT_EVD_SOFTWARE_FLAG, out);
			break;
		default:
			m->ret = dat_cno_create(m->ia,
						DAT_OS_WAIT_PROXY_AGENT_NULL,
						out);
		}
		if (!m->ret)
			m->made++;
	}
	return NULL;
}

/* What is made while its IA is being closed is as dead as the rest. */
static void close_under_makers(void)
{
	static struct maker m;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE_TYPE type;
	int before = mappings(), round, i;

	for (round = 0; round < 60 && !failed(); round++) {
		evd = DAT_HANDLE_NULL;
		OK(ia_open(side_a.name, 8, &evd, &m.ia));
		m.made = 0;
		CHECK(!pthread_create(&m.thread, NULL, make_many, &m));
		while (m.made < 3 + round % 8)
			sched_yield();
		OK(dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG));
		pthread_join(m.thread, NULL);
		CHECK(m.ret);
		for (i = 0; i < m.made; i++)
			IS(dat_get_handle_type(m.handles[i], &type),
			   DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
		CHECK_EQ(mappings(), before);
	}
}

/* A reference of the module's own, for no other module uses it here. */
static void keeps_loaded(void)
{
	DAT_IA_ATTR attr;

	CHECK(syscall(SYS_delete_module, "kdapl", O_NONBLOCK) == -1);
	CHECK_EQ(errno, EWOULDBLOCK);
	OK(dat_ia_query(side_a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
}

static void cno_keeps_open(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_CNO_HANDLE cno;
	DAT_IA_HANDLE ia;

	OK(ia_open(side_a.name, 8, &evd, &ia));
	OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_cno_free(cno));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void memory_types(void)
{
	CHECK_EQ(side_a.provider.lmr_mem_types_supported, 3);
}

/* Many programs compare the type with the bare enumerator, and look at nothing else. */
static void type_is(DAT_RETURN ret, DAT_RETURN type)
{
	CHECK_EQ(DAT_GET_TYPE(ret), type);
	CHECK(ret & DAT_CLASS_ERROR);
	CHECK(ret != type);
}

static void types_alone(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov = { .segment_length = 8 };
	DAT_EVD_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	DAT_COUNT more;

	type_is(ia_open("nobody9-1", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND);
	type_is(dat_evd_query(DAT_HANDLE_NULL, DAT_EVD_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	type_is(dat_evd_create(side_a.ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
		DAT_INVALID_PARAMETER);
	type_is(dat_evd_create(side_a.ia, side_a.attr.max_evd_qlen + 1, DAT_HANDLE_NULL,
			       DAT_EVD_DTO_FLAG, &evd), DAT_INSUFFICIENT_RESOURCES);
	OK(dat_evd_create(side_a.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	type_is(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	type_is(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	OK(dat_ep_create(side_a.ia, side_a.pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep));
	type_is(dat_ep_post_send(ep, 0, NULL, cookie, 0), DAT_INVALID_STATE);
	type_is(dat_ep_post_recv(ep, 1, &iov, cookie, 0), DAT_PROTECTION_VIOLATION);
	type_is(dat_evd_free(evd), DAT_INVALID_STATE);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
}

/* What siw sends for queues of a process may be damaged (Documentation/drivers.rst). */
static void mode_by_itself(void)
{
	struct side other = { .name = side_b.name };
	char before[32];

	/* An empty one is as none. */
	snprintf(before, sizeof(before), "%s", getenv("KDAPL_MODE") ?: "");
	setenv("KDAPL_MODE", "auto", 1);
	if (OK(ia_open(other.name, 8, &other.async, &other.ia)) &&
	    OK(dat_ia_query(other.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &other.provider)))
		CHECK(!side_is_passthrough(&other));
	OK(dat_ia_close(other.ia, DAT_CLOSE_GRACEFUL_FLAG));
	setenv("KDAPL_MODE", before, 1);
}

static const struct scenario scenarios[] = {
	SCENARIO("I9 an open adapter keeps the module", keeps_loaded),
	SCENARIO("I12 a CNO keeps the IA open", cno_keeps_open),
	SCENARIO("I4 I5 I6 I13 I16 shared asynchronous EVD", shared_async_evd),
	SCENARIO("I20 the memory types of applications", memory_types),
	SCENARIO("E1 the type of a return code alone", types_alone),
	SCENARIO("I14 E114 closed while others make objects", close_under_makers),
	SCENARIO("A8 a child has nothing", fork_child),
	SCENARIO_IWARP("A9 iWARP: queues of a process's own on siw for those who ask",
		       mode_by_itself),
};

SCENARIO_TABLE(user_ia_table);
