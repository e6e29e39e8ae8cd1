// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dat.conf and kdapl's own adapters: other names for them, their parameters, and another
 * provider beside them; what DAT_DEBUG says of them. Run as root with the module loaded and the
 * adapters rxe0-1 and rxe1-1 (tests/guest/rules.sh).
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <rdma/kdapl.h>
#include "providers.h"

#define OWN	" u1.2 nonthreadsafe default libdat.so.1 kdapl.1.0 "

/* Where the library has no verbs, no adapter can be opened in passthrough. */
#ifdef NO_VERBS
#define HAS_VERBS	0
#define WHY_NOT		"the library is built without libibverbs"
#else
#define HAS_VERBS	1
#define WHY_NOT		"the process cannot open the device"
#endif

int loopback_inits, loopback_finis;

/* The kernel lists them as they came, and one that goes and comes again is the last. */
static void said_adapters(const char *before)
{
	static const char *const orders[] = { "rxe0-1, rxe1-1", "rxe1-1, rxe0-1" };
	char text[400];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		snprintf(text, sizeof(text), "%s; the adapters of this host are %s\n", before,
			 orders[i]);
		if (strstr(said, text))
			return;
	}
	FAIL("\"%s\", and both adapters, are not in what was said: %s", before, said);
}

/* ---- other names -------------------------------------------------------------- */

static void attr_is(DAT_IA_HANDLE ia, const char *name, const char *mode)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	if (strcmp(attr.adapter_name, name))
		FAIL("%s is %s", name, attr.adapter_name);
	CHECK(!strcmp(provider.provider_name, "kdapl"));
	CHECK_EQ(provider.num_provider_specific_attr, 1);
	if (strcmp(provider.provider_specific_attr->value, mode))
		FAIL("%s is %s, not %s", name, provider.provider_specific_attr->value, mode);
}

static void is_open_as(const char *name, const char *mode)
{
	DAT_IA_HANDLE ia;

	OK(ia_open(name, &ia));
	attr_is(ia, name, mode);
	OK(ia_close(ia));
}

static void other_names(void)
{
	DAT_IA_HANDLE ia;

	unsetenv("KDAPL_MODE");
	is_open_as("OpenIB-cma", "forwarded");
	if (HAS_VERBS)
		is_open_as("ib0", "passthrough");
	is_open_as("rxe1-1", "forwarded");
	/* Chained: the first one is not there. */
	is_open_as("either", "forwarded");
	CHECK_RET(ia_open("gone", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	/* KDAPL_MODE goes first. */
	if (HAS_VERBS) {
		setenv("KDAPL_MODE", "passthrough", 1);
		is_open_as("OpenIB-cma", "passthrough");
	}
}

static void case_other_names(void)
{
	write_conf("OpenIB-cma" OWN "\"rxe0-1 mode=forwarded\" \"\"\n"
		   "ib0" OWN "\"rxe1 1 mode=passthrough\" \"\"\n"
		   "rxe1-1" OWN "\"mode=forwarded\" \"\"\n"
		   "either" OWN "\"mlx9-1\" \"\"\n"
		   "either" OWN "\"rxe0-1 mode=forwarded\" \"\"\n"
		   "gone" OWN "\"mlx9-1\" \"\"\n");
	setenv("DAT_DEBUG", "1", 1);
	in_child(other_names);
	told("libdat: dat_ia_open(\"gone\"): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: ");
	said_adapters(":6 says that it is mlx9-1");
	said_lines(1);
}

static int place(DAT_COUNT number, DAT_PROVIDER_INFO *infos, const char *name)
{
	int i, at = -1;

	for (i = 0; i < number; i++) {
		if (strcmp(infos[i].ia_name, name))
			continue;
		if (at >= 0)
			FAIL("%s is listed twice", name);
		at = i;
	}
	return at;
}

/* Records in the order of the file, then the adapters that have none. */
static void listed(void)
{
	DAT_PROVIDER_INFO infos[16], *list[16];
	DAT_COUNT number, i;

	for (i = 0; i < 16; i++)
		list[i] = &infos[i];
	OK(dat_registry_list_providers(16, &number, list));
	CHECK_EQ(number, 3);
	CHECK_EQ(place(number, infos, "zoo"), 0);
	CHECK_EQ(place(number, infos, "rxe1-1"), 1);
	CHECK_EQ(place(number, infos, "rxe0-1"), 2);
	OK(dat_registry_list_providers(3, &number, list));
	CHECK_RET(dat_registry_list_providers(2, &number, list), ARG(1));
	CHECK_EQ(number, 3);
}

static void case_listed(void)
{
	write_conf("zoo" OWN "rxe0-1 \"\"\nrxe1-1" OWN "mode=auto \"\"\n");
	in_child(listed);
	said_lines(0);
}

/* No file at all: what the kernel has is there, for programs with threads, too. */
static void unconfigured(void)
{
	DAT_PROVIDER_INFO infos[2], *list[2] = { &infos[0], &infos[1] };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_COUNT number;
	DAT_IA_HANDLE ia;

	unsetenv("DAT_OVERRIDE");
	OK(dat_registry_list_providers(2, &number, list));
	CHECK_EQ(number, 2);
	CHECK(infos[0].is_thread_safe && infos[1].is_thread_safe);
	OK(dat_ia_openv((DAT_NAME_PTR)"rxe0-1", 8, &async, &ia, 1, 2, DAT_TRUE));
	OK(ia_close(ia));
	OK(ia_open("rxe0-1", &ia));
	OK(ia_close(ia));
	CHECK_RET(ia_open("zoo", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
}

static void case_unconfigured(void)
{
	if (!access("/etc/dat.conf", F_OK))
		FAIL("the machine has an /etc/dat.conf");
	in_child(unconfigured);
	said_lines(0);
}

/* The default file. */
static void default_file(void)
{
	DAT_IA_HANDLE ia;

	setenv("DAT_OVERRIDE", "", 1);		/* as if it were not set */
	OK(ia_open("zoo", &ia));
	OK(ia_close(ia));
}

static void case_default_file(void)
{
	FILE *file = fopen("/etc/dat.conf", "wx");

	CHECK(file);
	fputs("zoo" OWN "rxe0-1 \"\"\n", file);
	fclose(file);
	if (!setjmp(check_end))
		in_child(default_file);
	unlink("/etc/dat.conf");
}

/* ---- two providers ------------------------------------------------------------- */

static void beside(void)
{
	DAT_IA_HANDLE theirs, ours, seen;
	DAT_PZ_HANDLE pz, our_pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	OK(ia_open("rxe0-1", &ours));
	OK(ia_open("loop0", &theirs));
	OK(dat_pz_create(ours, &our_pz));
	OK(dat_pz_create(theirs, &pz));
	/* A handle of one is none to the other. */
	CHECK_RET(dat_ep_create(ours, pz, NULL, NULL, NULL, NULL, &ep), HANDLE(PZ));
	OK(dat_evd_create(ours, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	OK(dat_evd_free(evd));
	/* What a provider calls an IA, as OpenFabrics' library tells it. */
	OK(dats_get_ia_handle(ours, &seen));
	CHECK(seen == ours);
	OK(dats_get_ia_handle(theirs, &seen));
	CHECK(seen == theirs);
	CHECK_RET(dats_get_ia_handle(pz, &seen), HANDLE(IA));
	CHECK_RET(dats_get_ia_handle(our_pz, &seen), HANDLE(IA));
	CHECK_RET(dats_get_ia_handle(NULL, &seen), HANDLE(IA));
	CHECK_RET(dats_get_ia_handle(ours, NULL), ARG(2));
	OK(dat_pz_free(pz));
	OK(dat_pz_free(our_pz));
	CHECK_RET(dat_pz_free(our_pz), HANDLE(PZ));
	OK(ia_close(theirs));
	CHECK_EQ(loopback_finis, 1);
	CHECK_RET(dats_get_ia_handle(theirs, &seen), HANDLE(IA));
	OK(dat_ia_close(ours, DAT_CLOSE_GRACEFUL_FLAG));
	CHECK_RET(dats_get_ia_handle(ours, &seen), HANDLE(IA));
}

static void case_beside(void)
{
	write_conf("loop0 u1.2 threadsafe default %s loopback.1.0 \"\" \"\"\n",
		   provider("loopback.so"));
	in_child(beside);
	said_lines(0);
}

/* ---- the kernel ---------------------------------------------------------------- */

static void case_not_the_kernel(void)
{
	struct kdapl_uapi_query_abi abi = { .version = KDAPL_ABI_VERSION };
	struct kdapl_uapi_ia_open arg = {
		.name = "zoo",
		.async_qlen = 8,
		.version_major = 1,
		.version_minor = 2,
	};
	int fd = open(KDAPL_DEVICE, O_RDWR);

	write_conf("zoo" OWN "rxe0-1 \"\"\n");
	setenv("DAT_OVERRIDE", conf, 1);
	CHECK(fd >= 0);
	CHECK(!ioctl(fd, KDAPL_IOC_QUERY_ABI, &abi));
	CHECK(!ioctl(fd, KDAPL_IOC_IA_OPEN, &arg));
	unsetenv("DAT_OVERRIDE");
	close(fd);
	CHECK_EQ(arg.ret, NOT_FOUND(NAME_NOT_REGISTERED));
}

/* ---- what is said about failures ------------------------------------------------ */

static void many_failures(void)
{
	static char memory[1 << 20];
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	struct rlimit none = { 65536, 65536 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_TRIPLET remote = { 0 };
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET iov = { .segment_length = 8 };
	DAT_LMR_HANDLE lmr;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK_RET(ia_open("rxe7-1", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	OK(ia_open("rxe0-1", &ia));
	OK(dat_pz_create(ia, &pz));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			  &evd));
	/* Answers, no failures. */
	CHECK_RET(dat_evd_dequeue(evd, &event), ERR2(QUEUE_EMPTY, 0));
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &more), ERR2(TIMEOUT_EXPIRED, 0));
	CHECK_RET(dat_evd_dequeue(evd, NULL), ARG(2));
	OK(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));
	CHECK_RET(dat_ep_post_send(ep, 0, NULL, cookie, 0), STATE(EP_UNCONNECTED));
	CHECK_RET(dat_ep_post_rdma_write(ep, 1, &iov, cookie, NULL, 0), ARG(5));
	CHECK_RET(dat_ep_post_rdma_read(ep, 0, NULL, cookie, &remote, 0), STATE(EP_UNCONNECTED));
	CHECK_EQ(DAT_GET_TYPE(dat_ep_post_recv(ep, 1, &iov, cookie, 0)),
		 DAT_PROTECTION_VIOLATION);
	CHECK_RET(dat_ep_disconnect(ep, 7), ARG(2));
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &none));
	/* Root may pin what it likes. */
	CHECK(!setgid(65534) && !setuid(65534));
	CHECK_EQ(DAT_GET_TYPE(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
					     DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &context, NULL,
					     NULL, NULL)), DAT_INSUFFICIENT_RESOURCES);
	OK(ia_close(ia));
}

static void case_debug(void)
{
	setenv("DAT_DEBUG", "1", 1);
	in_child(many_failures);
	said_adapters("dat_ia_open(\"rxe7-1\"): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: "
		      "no adapter has that name, neither here nor in /etc/dat.conf");
	told("dat_evd_dequeue: DAT_INVALID_PARAMETER DAT_INVALID_ARG2: argument 2, event, cannot");
	told("dat_ep_post_send: DAT_INVALID_STATE DAT_INVALID_STATE_EP_UNCONNECTED: its state does "
	     "not allow it: ep unconnected\n");
	told("dat_ep_post_rdma_write: DAT_INVALID_PARAMETER DAT_INVALID_ARG5: argument 5, "
	     "remote_iov, cannot");
	told("dat_ep_post_rdma_read: DAT_INVALID_STATE ");
	told("dat_ep_post_recv: DAT_PROTECTION_VIOLATION ");
	told("dat_ep_disconnect: DAT_INVALID_PARAMETER DAT_INVALID_ARG2: argument 2, ");
	told("dat_lmr_create: DAT_INSUFFICIENT_RESOURCES ");
	told("RLIMIT_MEMLOCK (ulimit -l) is 64 KiB");
	said_lines(8);
}

/*
 * Says, in a line of its own, how the line before it has to end. That line is the library's, since
 * a call has just failed.
 */
__attribute__((format(printf, 1, 2)))
static void expect(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("expected: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* Does each line end as the line after it says? There are @number such pairs, and no more. */
static void said_as_expected(int number)
{
	char *line, *next, *rest = said;
	size_t want, length;

	said_lines(2 * number);
	while (*rest) {
		line = rest;
		next = strchr(line, '\n') + 1;
		rest = strchr(next, '\n') + 1;
		next += strlen("expected: ");
		want = rest - next;
		length = next - strlen("expected: ") - line;
		if (length < want || memcmp(line + length - want, next, want))
			FAIL("not as expected: %.*s", (int)(rest - line), line);
	}
}

static DAT_EP_ATTR ep_attr_least(void)
{
	return (DAT_EP_ATTR){ .service_type = DAT_SERVICE_TYPE_RC, .max_recv_dtos = 4,
			      .max_request_dtos = 4, .max_recv_iov = 2, .max_request_iov = 2,
			      .srq_soft_hw = DAT_HW_DEFAULT };
}

/* The fields that have a limit, and what it is */
#define COUNT(field, limit)	{ #field, offsetof(DAT_EP_ATTR, field), \
				  offsetof(DAT_IA_ATTR, limit), sizeof(DAT_COUNT) }
#define LENGTH(field, limit)	{ #field, offsetof(DAT_EP_ATTR, field), \
				  offsetof(DAT_IA_ATTR, limit), sizeof(DAT_VLEN) }

static const struct {
	const char *name;
	size_t field;
	size_t limit;
	size_t size;
} limited[] = {
	LENGTH(max_message_size, max_message_size),
	LENGTH(max_rdma_size, max_rdma_size),
	COUNT(max_recv_dtos, max_dto_per_ep),
	COUNT(max_request_dtos, max_dto_per_ep),
	COUNT(max_recv_iov, max_iov_segments_per_dto),
	COUNT(max_request_iov, max_iov_segments_per_dto),
	COUNT(max_rdma_read_in, max_rdma_read_per_ep_in),
	COUNT(max_rdma_read_out, max_rdma_read_per_ep_out),
	COUNT(max_rdma_read_iov, max_iov_segments_per_rdma_read),
	COUNT(max_rdma_write_iov, max_iov_segments_per_rdma_write),
};

/* One more than there is of each field, and -1, where that is another number */
static void refused_fields(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd,
			   const DAT_IA_ATTR *has)
{
	uint64_t limit, more;
	DAT_COUNT minus = -1;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limited); i++) {
		limit = 0;
		memcpy(&limit, (const char *)has + limited[i].limit, limited[i].size);
		more = limit + 1;
		attr = ep_attr_least();
		memcpy((char *)&attr + limited[i].field, &more, limited[i].size);
		CHECK_RET(dat_ep_create(ia, pz, evd, evd, evd, &attr, &ep), ARG(6));
		expect("argument 6, ep_attributes, cannot be used: %s %llu: this adapter has %llu",
		       limited[i].name, (unsigned long long)more, (unsigned long long)limit);
		if (limited[i].size == sizeof(DAT_VLEN))
			continue;
		attr = ep_attr_least();
		memcpy((char *)&attr + limited[i].field, &minus, sizeof(minus));
		CHECK_RET(dat_ep_create(ia, pz, evd, evd, evd, &attr, &ep), ARG(6));
		expect("ep_attributes, cannot be used: %s -1: this adapter has %llu",
		       limited[i].name, (unsigned long long)limit);
	}
	/* Nothing that is a limit: then what there is to see is shown. */
	attr = ep_attr_least();
	attr.recv_completion_flags = 0x40;
	CHECK_RET(dat_ep_create(ia, pz, evd, evd, evd, &attr, &ep), ARG(6));
	expect("cannot be used: service_type 0, max_message_size 0, max_rdma_size 0, qos 0, "
	       "recv_completion_flags 64, request_completion_flags 0, max_recv_dtos 4, "
	       "max_request_dtos 4, max_recv_iov 2, max_request_iov 2, max_rdma_read_in 0, "
	       "max_rdma_read_out 0, max_rdma_read_iov 0, max_rdma_write_iov 0");
}

static void refused_changes(DAT_EP_HANDLE ep, const DAT_IA_ATTR *has)
{
	DAT_EP_PARAM param = { .ep_attr = { .max_recv_dtos = has->max_dto_per_ep + 1,
					    .max_request_dtos = has->max_dto_per_ep + 2 } };

	/* Only the field that is to be changed counts. */
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param), ARG(3));
	expect("argument 3, ep_param, cannot be used: max_request_dtos %d: this adapter has %d",
	       has->max_dto_per_ep + 2, has->max_dto_per_ep);
	CHECK_RET(dat_ep_modify(ep, 0x800, &param), ARG(2));
	expect("argument 2, ep_param_mask, cannot be used: 0x800: 0x800 means nothing");
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &param), ARG(2));
	expect("argument 2, ep_param_mask, cannot be used: 0x2");
}

static void refused_numbers(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd,
			    DAT_EP_HANDLE ep, const DAT_IA_ATTR *has)
{
	DAT_LMR_TRIPLET iov[64] = { 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_REGION_DESCRIPTION region = { .for_va = iov };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_EVD_HANDLE other;
	DAT_IA_ATTR attr;
	DAT_PZ_PARAM zone;

	CHECK_RET(dat_evd_create(ia, -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &other), ARG(2));
	expect("argument 2, evd_min_qlen, cannot be used: -1: this adapter has %d",
	       has->max_evd_qlen);
	CHECK_EQ(DAT_GET_TYPE(dat_evd_create(ia, has->max_evd_qlen + 1, DAT_HANDLE_NULL,
					     DAT_EVD_DTO_FLAG, &other)),
		 DAT_INSUFFICIENT_RESOURCES);
	expect("evd_min_qlen %d: this adapter has %d", has->max_evd_qlen + 1, has->max_evd_qlen);
	CHECK_RET(dat_evd_create(ia, 8, DAT_HANDLE_NULL, 0x8000, &other), ARG(4));
	expect("argument 4, evd_flags, cannot be used: 0x8000");
	CHECK_RET(dat_evd_resize(evd, -2), ARG(2));
	expect("argument 2, evd_min_qlen, cannot be used: -2: this adapter has %d",
	       has->max_evd_qlen);
	CHECK_RET(dat_ia_query(ia, NULL, 1ull << 35, &attr, 0, NULL), ARG(3));
	expect("argument 3, ia_attr_mask, cannot be used: 0x800000000: 0x800000000 means nothing");
	CHECK_RET(dat_pz_query(pz, 0x10 | DAT_PZ_FIELD_ALL, &zone), ARG(2));
	expect("argument 2, pz_param_mask, cannot be used: 0x%x: 0x10 means nothing",
	       0x10 | DAT_PZ_FIELD_ALL);
	CHECK_RET(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(iov), pz, 0x40, &lmr,
				 &context, NULL, NULL, NULL), ARG(6));
	expect("argument 6, privileges, cannot be used: 0x40: 0x40 means nothing");
	CHECK_RET(dat_ep_post_recv(ep, 64, iov, cookie, 0), ARG(2));
	expect("argument 2, num_segments, cannot be used: 64: this endpoint has 2");
}

static void refused(void)
{
	DAT_EP_ATTR least = ep_attr_least();
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_SRQ_ATTR queue = { 1, 1, DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR has;

	CHECK_RET(dat_ia_open((DAT_NAME_PTR)"rxe0-1", -1, &async, &ia), ARG(2));
	expect("dat_ia_open: DAT_INVALID_PARAMETER DAT_INVALID_ARG2: argument 2, "
	       "async_evd_min_qlen, cannot be used: -1");
	OK(ia_open("rxe0-1", &ia));
	OK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &has, DAT_PROVIDER_FIELD_ALL, &provider));
	OK(dat_pz_create(ia, &pz));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			  &evd));
	OK(dat_ep_create(ia, pz, evd, evd, evd, &least, &ep));
	refused_fields(ia, pz, evd, &has);
	refused_changes(ep, &has);
	refused_numbers(ia, pz, evd, ep, &has);
	CHECK(provider.srq_supported);
	queue.max_recv_dtos = has.max_recv_per_srq + 1;
	CHECK_RET(dat_srq_create(ia, pz, &queue, &srq), ARG(3));
	expect("argument 3, srq_attr, cannot be used: max_recv_dtos %d: this adapter has %d",
	       queue.max_recv_dtos, has.max_recv_per_srq);
	OK(ia_close(ia));
}

static void case_refused(void)
{
	setenv("DAT_DEBUG", "1", 1);
	setenv("KDAPL_MODE", "forwarded", 1);
	in_child(refused);
	said_as_expected(32);
	if (HAS_VERBS) {
		setenv("KDAPL_MODE", "passthrough", 1);
		in_child(refused);
		said_as_expected(32);
	}
	unsetenv("KDAPL_MODE");
}

static void no_permission(void)
{
	DAT_IA_HANDLE ia;

	CHECK(!setgid(65534) && !setuid(65534));
	CHECK_RET(ia_open("rxe0-1", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
}

static void case_no_permission(void)
{
	struct stat before;

	CHECK(!stat(KDAPL_DEVICE, &before));
	CHECK(!chmod(KDAPL_DEVICE, 0600));
	setenv("DAT_DEBUG", "1", 1);
	if (!setjmp(check_end))
		in_child(no_permission);
	chmod(KDAPL_DEVICE, before.st_mode & 0777);
	told("no permission to open /dev/kdapl (see its owner, group and mode)\n");
	said_lines(1);
}

static void no_passthrough(void)
{
	DAT_IA_HANDLE ia;

	setenv("KDAPL_MODE", "passthrough", 1);
	/* The device's file of uverbs is root's. */
	CHECK(!setgid(65534) && !setuid(65534));
	CHECK_RET(ia_open("rxe0-1", &ia), ERR2(MODEL_NOT_SUPPORTED, 0));
}

/* It is told in either case, once. */
static void case_no_passthrough(void)
{
	CHECK(!system("chmod 0600 /dev/infiniband/uverbs*"));
	in_child(no_passthrough);
	told("libdat: rxe0-1: KDAPL_MODE asks for passthrough: " WHY_NOT);
	said_lines(1);
	setenv("DAT_DEBUG", "1", 1);
	in_child(no_passthrough);
	told("libdat: dat_ia_open(\"rxe0-1\"): DAT_MODEL_NOT_SUPPORTED: KDAPL_MODE asks for "
	     "passthrough: " WHY_NOT);
	said_lines(1);
}

/*
 * Opens an adapter with so many descriptors free. Return: what the open returned; whoever
 * asks for passthrough gets it or is told that there is no room.
 */
static DAT_RETURN open_with(int descriptors)
{
	struct rlimit before, few;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int next;

	/* The lowest that is free; those above it are. */
	next = dup(STDERR_FILENO);
	CHECK(next >= 0 && !close(next));
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	few.rlim_cur = next + descriptors;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	ret = ia_open("rxe0-1", &ia);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	if (!ret)
		OK(ia_close(ia));
	else
		CHECK_RET(ret, ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	return ret;
}

static void few_descriptors(void)
{
	int descriptors = 0;

	setenv("KDAPL_MODE", "passthrough", 1);
	while (open_with(descriptors)) {
		descriptors++;
		CHECK(descriptors < 64);
	}
	CHECK(descriptors > 1);
}

static void case_few_descriptors(void)
{
	in_child(few_descriptors);
}

static const struct check_case cases[] = {
	{ "G10 G16 G24 other names of kdapl's adapters", case_other_names },
	{ "G12 G25 the list, with records and without", case_listed },
	{ "G9 G14 G15 no file", case_unconfigured },
	{ "G15 the default file", case_default_file },
	{ "G3 another provider beside kdapl", case_beside },
	{ "G27 the kernel knows no dat.conf", case_not_the_kernel },
	{ "DAT_DEBUG: names, arguments, states, memory", case_debug },
	{ "DAT_DEBUG: what is refused, field and limit (E.1)", case_refused },
	{ "DAT_DEBUG: no permission", case_no_permission },
	{ "DAT_DEBUG: no passthrough", case_no_passthrough },
	{ "G9 G14 passthrough with few descriptors", case_few_descriptors },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), no_conf, argc, argv);
}
