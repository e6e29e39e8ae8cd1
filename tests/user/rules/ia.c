// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Registry, opening, closing, attributes (ev: G, I), and what a child has. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

/* The IA's name is always the first argument. */
static DAT_RETURN ia_open(const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *ia)
{
	return dat_ia_open((DAT_NAME_PTR)name, qlen, evd, ia);
}

static void list_providers(void)
{
	DAT_PROVIDER_INFO infos[64], *list[64];
	bool found_a = false, found_b = false;
	DAT_COUNT number = 0, i;

	for (i = 0; i < 64; i++)
		list[i] = &infos[i];
	CHECK_RET(dat_registry_list_providers(0, &number, NULL), ARG(1));
	CHECK(number >= 2);
	CHECK_RET(dat_registry_list_providers(number - 1, &i, list), ARG(1));
	CHECK_EQ(i, number);
	CHECK_RET(dat_registry_list_providers(-1, &i, list), ARG(1));
	CHECK_RET(dat_registry_list_providers(64, NULL, list), ARG(2));
	CHECK_RET(dat_registry_list_providers(64, &i, NULL), ARG(3));
	list[number - 1] = NULL;
	CHECK_RET(dat_registry_list_providers(64, &i, list), ARG(3));
	list[number - 1] = &infos[number - 1];

	OK(dat_registry_list_providers(number, &i, list));
	CHECK_EQ(i, number);
	OK(dat_registry_list_providers(64, &i, list));
	for (i = 0; i < number; i++) {
		CHECK_EQ(infos[i].dapl_version_major, 1);
		CHECK_EQ(infos[i].dapl_version_minor, 2);
		CHECK_EQ(infos[i].is_thread_safe, DAT_TRUE);
		found_a |= !strcmp(infos[i].ia_name, a.name);
		found_b |= !strcmp(infos[i].ia_name, b.name);
	}
	CHECK(found_a && found_b);
}

static void open_arguments(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, bad = &evd;
	char name[DAT_NAME_MAX_LENGTH + 1];
	DAT_IA_HANDLE ia;

	memset(name, 'x', sizeof(name));
	CHECK_RET(ia_open(NULL, 8, &evd, &ia), ARG(1));
	CHECK_RET(ia_open("", 8, &evd, &ia), ARG(1));
	CHECK_RET(ia_open(name, 8, &evd, &ia), ARG(1));
	name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	CHECK_RET(ia_open(name, 8, &evd, &ia),
		  ERR2(PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	CHECK_RET(ia_open(a.name, 0, &evd, &ia), ARG(2));
	CHECK_RET(ia_open(a.name, -1, &evd, &ia), ARG(2));
	CHECK_RET(ia_open(a.name, 8, NULL, &ia), ARG(3));
	CHECK_RET(ia_open(a.name, 8, &evd, NULL), ARG(4));
	CHECK_RET(ia_open(a.name, 8, &bad, &ia), HANDLE(EVD_ASYNC));
	CHECK(bad == &evd);
	bad = DAT_EVD_OUT_OF_SCOPE;
	CHECK_RET(ia_open(a.name, 8, &bad, &ia), HANDLE(EVD_ASYNC));
	CHECK(!evd);
	CHECK_RET(dat_ia_openv((DAT_NAME_PTR)a.name, 8, &evd, &ia, 2, 0,
			       DAT_FALSE),
		  ERR2(PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND));
	CHECK_RET(dat_ia_openv((DAT_NAME_PTR)a.name, 8, &evd, &ia, 1, 3,
			       DAT_FALSE),
		  ERR2(PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND));
	OK(dat_ia_openv((DAT_NAME_PTR)a.name, 8, &evd, &ia, 1, 1, DAT_TRUE));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void query(void)
{
	DAT_PROVIDER_ATTR provider, again;
	DAT_EVD_HANDLE evd = NULL;
	DAT_IA_ATTR attr;
	int i;

	rig_open(&a);
	CHECK_RET(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
		  ARG(3));
	CHECK_RET(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		  ARG(4));
	CHECK_RET(dat_ia_query(a.ia, NULL, 0, NULL,
			       DAT_PROVIDER_FIELD_ALL + 1, &provider), ARG(5));
	CHECK_RET(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			       NULL), ARG(6));
	OK(dat_ia_query(a.ia, NULL, 0, NULL, 0, NULL));
	OK(dat_ia_query(a.ia, &evd, 0, NULL, 0, NULL));
	CHECK(evd == a.async);

	CHECK(!strcmp(a.attr.adapter_name, a.name));
	CHECK_EQ(a.attr.ia_address_ptr->sa_family, AF_INET);
	CHECK(a.attr.max_eps > 0 && a.attr.max_evds > 0);
	CHECK(a.attr.max_evd_qlen > 0 && a.attr.max_dto_per_ep > 0);
	CHECK(a.attr.max_lmr_block_size >= MEM);
	CHECK(a.attr.max_message_size >= MEM && a.attr.max_rdma_size >= MEM);
	CHECK_EQ(a.attr.num_transport_attr, 0);
	CHECK_EQ(a.attr.num_vendor_attr, 0);
	CHECK(!strcmp(a.provider.provider_name, "kdapl"));
	CHECK_EQ(a.provider.dapl_version_major, 1);
	CHECK_EQ(a.provider.dapl_version_minor, 2);
	CHECK_EQ(a.provider.lmr_mem_types_supported, 3);
	CHECK_EQ(a.provider.iov_ownership_on_return, DAT_IOV_CONSUMER);
	CHECK_EQ(a.provider.completion_flags_supported, 0x1f);
	CHECK_EQ(a.provider.is_thread_safe, DAT_TRUE);
	CHECK_EQ(a.provider.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	CHECK_EQ(a.provider.supports_multipath, DAT_FALSE);
	CHECK(a.provider.max_private_data_size >= 56);
	/* I22: promised to each only if there is enough for all */
	CHECK_EQ(a.attr.max_rdma_read_per_ep_in_guaranteed,
		 (uint64_t)a.attr.max_rdma_read_in >=
		 (uint64_t)a.attr.max_eps * a.attr.max_rdma_read_per_ep_in);
	CHECK_EQ(a.attr.max_rdma_read_per_ep_out_guaranteed,
		 (uint64_t)a.attr.max_rdma_read_out >=
		 (uint64_t)a.attr.max_eps * a.attr.max_rdma_read_per_ep_out);
	/* mt:T35: no iWARP among the adapters */
	CHECK_EQ(a.provider.rdma_write_for_rdma_read_req, DAT_FALSE);
	CHECK_EQ(a.provider.srq_supported, DAT_FALSE);
	CHECK_EQ(a.attr.max_srqs, 0);
	for (i = 0; i < 36; i++)
		CHECK_EQ(a.provider.evd_stream_merging_supported[i / 6][i % 6],
			 DAT_TRUE);

	/* I21 */
	memset(&provider, 0, sizeof(provider));
	memset(&again, 0, sizeof(again));
	OK(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &attr,
			DAT_PROVIDER_FIELD_ALL, &provider));
	new_ep(&a);
	OK(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &again));
	CHECK(!memcmp(&provider, &again, sizeof(again)));
	CHECK_EQ(attr.max_eps, a.attr.max_eps);
	CHECK_EQ(attr.max_evds, a.attr.max_evds);
	CHECK_EQ(attr.max_lmrs, a.attr.max_lmrs);
	CHECK(!strcmp(attr.adapter_name, a.name));
	CHECK(attr.ia_address_ptr == a.attr.ia_address_ptr);
}

static void close_graceful(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	OK(ia_open(a.name, 8, &evd, &ia));
	CHECK_RET(dat_ia_close(ia, 2), ARG(2));
	CHECK_RET(dat_ia_close(ia, 0x80000000u), ARG(2));
	OK(dat_pz_create(ia, &pz));
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), STATE(IA_IN_USE));
	OK(dat_pz_free(pz));
	OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), STATE(IA_IN_USE));
	OK(dat_cno_free(cno));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), HANDLE(IA));
}

static void close_abrupt(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_EVENT event;

	rig_both();
	connected(&ep_a, &ep_b);
	OK(post_recv(&a, ep_a, 0, 64, 1));
	OK(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK_RET(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG), HANDLE(IA));
	CHECK_RET(dat_ep_free(ep_a), HANDLE(EP));
	CHECK_RET(dat_evd_dequeue(a.conn, &event), HANDLE(EVD_REQUEST));
	CHECK_RET(dat_evd_dequeue(a.async, &event), HANDLE(EVD_REQUEST));
	CHECK_RET(dat_lmr_free(a.lmr), HANDLE(LMR));
	CHECK_RET(dat_pz_free(a.pz), HANDLE(PZ));
	next_of(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, ep_b);
}

/* Two opens of one name are strangers. */
static void two_opens(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;

	rig_open(&a);
	OK(ia_open(a.name, 8, &evd, &ia));
	CHECK(ia != a.ia && evd != a.async);
	OK(dat_pz_create(ia, &pz));
	CHECK_RET(dat_ep_create(a.ia, pz, a.recv, a.req, a.conn, NULL, &ep),
		  HANDLE(PZ));
	CHECK_RET(dat_ep_create(ia, pz, a.recv, NULL, NULL, NULL, &ep),
		  HANDLE(EVD_RECV));
	CHECK_RET(dat_ep_create(ia, pz, NULL, a.req, NULL, NULL, &ep),
		  HANDLE(EVD_REQUEST));
	CHECK_RET(dat_ep_create(ia, pz, NULL, NULL, a.conn, NULL, &ep),
		  HANDLE(EVD_CONN));
	region.for_va = a.mem;
	CHECK_RET(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL,
				 NULL), HANDLE(PZ));
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void shared_async_evd(void)
{
	DAT_EVD_HANDLE evd, exists = DAT_EVD_ASYNC_EXISTS, wrong, seen;
	DAT_IA_HANDLE first, second, third;
	DAT_EVD_PARAM param;

	CHECK_RET(ia_open(a.name, 8, &exists, &first), HANDLE(EVD_ASYNC));
	evd = DAT_HANDLE_NULL;
	OK(ia_open(a.name, 8, &evd, &first));
	OK(dat_evd_create(first, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &wrong));
	CHECK_RET(ia_open(a.name, 8, &wrong, &second), HANDLE(EVD_ASYNC));
	OK(dat_evd_free(wrong));
	seen = evd;
	OK(ia_open(a.name, 0, &seen, &second));
	CHECK(seen == evd);
	OK(ia_open(a.name, 0, &exists, &third));
	CHECK(exists == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_query(third, &seen, 0, NULL, 0, NULL));
	CHECK(seen == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_close(third, DAT_CLOSE_GRACEFUL_FLAG));

	/* The EVD of the first open is in use by the second. */
	CHECK_RET(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG),
		  STATE(IA_IN_USE));
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	/* I16: only the binding has ended. */
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK(param.ia_handle == first);

	/* I13: an abrupt close takes it from the other. */
	seen = evd;
	OK(ia_open(a.name, 0, &seen, &second));
	OK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG));
	CHECK_RET(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param),
		  HANDLE(EVD_REQUEST));
	OK(dat_ia_query(second, &seen, 0, NULL, 0, NULL));
	CHECK(seen == DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The registry is the kernel's: neither a file nor a program adds to it. */
static void no_dat_conf(void)
{
	static const char record[] = "kdapl9 u1.2 threadsafe default "
				     "libnothing.so.1 nothing.1.0 \"\" \"\"\n";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char path[] = "/tmp/dat.conf.XXXXXX";
	DAT_COUNT before, after;
	DAT_IA_HANDLE ia;
	int fd;

	CHECK_RET(dat_registry_list_providers(0, &before, NULL), ARG(1));
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK(write(fd, record, sizeof(record) - 1) == sizeof(record) - 1);
	CHECK(!close(fd));
	CHECK(!setenv("DAT_OVERRIDE", path, 1));
	CHECK_RET(dat_registry_list_providers(0, &after, NULL), ARG(1));
	CHECK_EQ(after, before);
	CHECK_RET(ia_open("kdapl9", 8, &evd, &ia),
		  ERR2(PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	unsetenv("DAT_OVERRIDE");
	unlink(path);
}

static void no_other_providers(void)
{
	CHECK(!dlsym(RTLD_DEFAULT, "dat_registry_add_provider"));
	CHECK(!dlsym(RTLD_DEFAULT, "dat_registry_remove_provider"));
	CHECK(!dlsym(RTLD_DEFAULT, "dat_provider_init"));
	CHECK(!dlsym(RTLD_DEFAULT, "dat_provider_fini"));
	CHECK(dlsym(RTLD_DEFAULT, "dat_registry_list_providers"));
}

static int child_main(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_HANDLE_TYPE type;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	if (dat_evd_dequeue(a.conn, &event) != HANDLE(EVD_REQUEST))
		return 1;
	if (dat_pz_free(a.pz) != HANDLE(PZ))
		return 2;
	if (dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG) != HANDLE(IA))
		return 3;
	if (dat_get_handle_type(a.ia, &type) !=
	    ERR(INVALID_HANDLE, HANDLE1))
		return 4;
	if (ia_open(a.name, 8, &evd, &ia) || ia == a.ia)
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

	rig_open(&a);
	pid = fork();
	if (!pid)
		_exit(child_main());
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	OK(dat_get_handle_type(a.ia, &type));
	no_event(a.conn);
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

/* Mappings of rings. */
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int number = 0;

	while (maps && fgets(line, sizeof(line), maps))
		number += !!strstr(line, "/dev/kdapl");
	if (maps)
		fclose(maps);
	return number;
}

/* What is made while its IA is being closed is as dead as the rest. */
static void close_under_makers(void)
{
	static struct maker m;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE_TYPE type;
	int round, i;

	for (round = 0; round < 60; round++) {
		evd = DAT_HANDLE_NULL;
		OK(ia_open(a.name, 8, &evd, &m.ia));
		m.made = 0;
		CHECK(!pthread_create(&m.thread, NULL, make_many, &m));
		while (m.made < 3 + round % 8)
			sched_yield();
		OK(dat_ia_close(m.ia, DAT_CLOSE_ABRUPT_FLAG));
		pthread_join(m.thread, NULL);
		CHECK(m.ret);
		for (i = 0; i < m.made; i++)
			CHECK_RET(dat_get_handle_type(m.handles[i], &type),
				  ERR(INVALID_HANDLE, HANDLE1));
		CHECK_EQ(mappings(), 0);
	}
}

/* A reference of the module's own, for no other module uses it here. */
static void keeps_loaded(void)
{
	DAT_IA_ATTR attr;

	rig_open(&a);
	CHECK(syscall(SYS_delete_module, "kdapl", O_NONBLOCK) == -1);
	CHECK_EQ(errno, EWOULDBLOCK);
	OK(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
}

static const struct check_case cases[] = {
	{ "G12 G13 the list of providers", list_providers },
	{ "G1 G9 I1 I2 I4 I5 I6 I8 dat_ia_open: arguments", open_arguments },
	{ "I20 I21 I22 E15 mt:T35 dat_ia_query", query },
	{ "I9 an open adapter keeps the module", keeps_loaded },
	{ "I11 I12 graceful close", close_graceful },
	{ "I14 I17 F7 abrupt close", close_abrupt },
	{ "I3 E19 mt:M1 RULING36 two opens of one IA", two_opens },
	{ "I5 I6 I13 I16 shared asynchronous EVD", shared_async_evd },
	{ "G3 G4 G10 G15..G27 no dat.conf", no_dat_conf },
	{ "G2 G5 G6 G7 G11 no other providers", no_other_providers },
	{ "I14 E114 closed while others make objects", close_under_makers },
	{ "A8 a child has nothing", fork_child },
};

SET(ia_set);
