// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry of a process, dat.conf and other providers, without an adapter of kdapl's: the
 * provider is tests/user/provider/loopback.c. What DAT_DEBUG says.
 */
#include <dlfcn.h>
#include <sys/resource.h>
#include "providers.h"

#define LOOPBACK	" threadsafe default %s loopback.1.0 "

/* What the provider counts; this program exports them to it. */
int loopback_inits, loopback_finis;
/* By which a call is kept inside it. */
_Atomic int loopback_waiters, loopback_let_go;

static bool is_loaded(const char *name)
{
	void *handle = dlopen(provider(name), RTLD_NOW | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

/* ---- a provider of dat.conf ------------------------------------------------ */

static void completion_is(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_UINT64 cookie)
{
	DAT_EVENT event;

	OK(dat_evd_dequeue(evd, &event));
	CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.ep_handle == ep);
	CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
}

static void transfer(DAT_IA_HANDLE ia)
{
	char from[] = "around", to[sizeof(from)] = "";
	DAT_LMR_TRIPLET in = { .virtual_address = (uintptr_t)to, .segment_length = sizeof(to) };
	DAT_LMR_TRIPLET out = { .virtual_address = (uintptr_t)from,
				.segment_length = sizeof(from) };
	DAT_DTO_COOKIE one = { .as_64 = 1 }, two = { .as_64 = 2 };
	DAT_EVD_HANDLE recv, request;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	OK(dat_pz_create(ia, &pz));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &recv));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &request));
	OK(dat_ep_create(ia, pz, recv, request, DAT_HANDLE_NULL, NULL, &ep));
	CHECK_RET(dat_ep_post_send(ep, 1, &out, two, 0), ERR2(LENGTH_ERROR, 0));
	OK(dat_ep_post_recv(ep, 1, &in, one, 0));
	OK(dat_ep_post_send(ep, 1, &out, two, 0));
	completion_is(recv, ep, 1);
	completion_is(request, ep, 2);
	CHECK(!strcmp(from, to));
	CHECK_RET(dat_evd_dequeue(recv, &event), ERR2(QUEUE_EMPTY, 0));
	OK(dat_ep_free(ep));
	OK(dat_evd_free(request));
	OK(dat_evd_free(recv));
	OK(dat_pz_free(pz));
}

/* What the provider's table does not have, and what it refuses itself. */
static void missing_calls(DAT_IA_HANDLE ia)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_TRIPLET remote = { 0 };
	DAT_LMR_TRIPLET iov = { 0 };
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	OK(dat_pz_create(ia, &pz));
	CHECK_RET(dat_rmr_create(pz, &rmr), ERR2(MODEL_NOT_SUPPORTED, 0));
	CHECK_RET(dat_pz_query(pz, 0, NULL), ERR2(NOT_IMPLEMENTED, 0));
	OK(dat_ep_create(ia, pz, NULL, NULL, NULL, NULL, &ep));
	CHECK_RET(dat_ep_reset(ep), ERR2(NOT_IMPLEMENTED, 0));
	CHECK_RET(dat_ep_post_rdma_write(ep, 1, &iov, cookie, &remote, 0),
		  ERR2(NOT_IMPLEMENTED, 0));
	OK(dat_ep_free(ep));
	OK(dat_pz_free(pz));
}

/* No handle of anybody's, of which the first word can be read. */
static void no_handles(void)
{
	static DAT_PROVIDER table;
	void *wrong[2] = { &table, NULL };
	DAT_HANDLE_TYPE type;

	CHECK_RET(dat_pz_free(wrong), HANDLE(PZ));
	CHECK_RET(dat_pz_free(&wrong[1]), HANDLE(PZ));
	CHECK_RET(dat_pz_free(NULL), HANDLE(PZ));
	CHECK_RET(dat_pz_free((DAT_PZ_HANDLE)1), HANDLE(PZ));
	CHECK_RET(dat_pz_free((char *)wrong + 1), HANDLE(PZ));
	CHECK_RET(dat_get_handle_type(wrong, &type), ERR(INVALID_HANDLE, HANDLE1));
	CHECK_RET(dat_ia_close(wrong, DAT_CLOSE_ABRUPT_FLAG), HANDLE(IA));
}

static void use_provider(void)
{
	DAT_CONTEXT context = { .as_64 = 77 }, seen;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_HANDLE ia, second;
	DAT_HANDLE_TYPE type;

	CHECK(!is_loaded("loopback.so"));
	OK(ia_open("loop0", &ia));
	OK(ia_open("loop0", &second));
	CHECK(ia != second);
	CHECK_EQ(loopback_inits, 1);
	OK(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_PROVIDER_NAME, &attr));
	CHECK(!strcmp(attr.provider_name, "loopback"));
	OK(dat_get_handle_type(ia, &type));
	CHECK_EQ(type, DAT_HANDLE_TYPE_IA);
	OK(dat_set_consumer_context(ia, context));
	OK(dat_get_consumer_context(ia, &seen));
	CHECK_EQ(seen.as_64, 77);
	transfer(ia);
	missing_calls(ia);
	no_handles();
	OK(ia_close(second));
	/* A close that is refused leaves everything. */
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), STATE(IA_IN_USE));
	CHECK_EQ(loopback_finis, 0);
	CHECK(is_loaded("loopback.so"));
	OK(ia_close(ia));
	CHECK_EQ(loopback_finis, 1);
	CHECK_RET(ia_close(ia), HANDLE(IA));
	/* And all of it again. */
	OK(ia_open("loop0", &ia));
	CHECK_EQ(loopback_inits, 2);
	OK(ia_close(ia));
	CHECK_EQ(loopback_finis, 2);
}

static void case_provider(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(use_provider);
	said_lines(0);
}

/* A call that the last close ends is in the library for as long as it likes. */
static void *wait_inside(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	return (void *)(uintptr_t)dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
}

static void close_around(void)
{
	DAT_EVD_HANDLE evd;
	pthread_t thread;
	DAT_IA_HANDLE ia;
	void *ret;

	alarm(60);
	OK(ia_open("loop0", &ia));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	CHECK(!pthread_create(&thread, NULL, wait_inside, evd));
	while (!loopback_waiters)
		sched_yield();
	OK(ia_close(ia));
	CHECK_EQ(loopback_finis, 1);
	loopback_let_go = 1;
	CHECK(!pthread_join(thread, &ret));
	CHECK_RET((DAT_RETURN)(uintptr_t)ret, HANDLE(EVD_REQUEST));
}

static void case_closed_around(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(close_around);
}

/* ---- bad lines -------------------------------------------------------------- */

static void list_two(void)
{
	DAT_PROVIDER_INFO infos[2], *list[2] = { &infos[0], &infos[1] };
	DAT_COUNT number = 0;

	CHECK_RET(dat_registry_list_providers(0, &number, NULL), ARG(1));
	CHECK_EQ(number, 2);
	CHECK_RET(dat_registry_list_providers(1, &number, list), ARG(1));
	CHECK_RET(dat_registry_list_providers(2, NULL, list), ARG(2));
	CHECK_RET(dat_registry_list_providers(2, &number, NULL), ARG(3));
	OK(dat_registry_list_providers(2, &number, list));
	CHECK_EQ(number, 2);
	CHECK(!strcmp(infos[0].ia_name, "zoo"));
	CHECK(!strcmp(infos[1].ia_name, "ape"));
	CHECK_EQ(infos[1].dapl_version_minor, 3);
	CHECK_EQ(infos[1].is_thread_safe, DAT_FALSE);
}

static void case_bad_lines(void)
{
	char text[200];

	if (!access("/dev/kdapl", F_OK))
		return;		/* more would be listed; registry_adapters.c does it */
	write_conf("# a file\n"
		   "one two three\n"
		   "zoo u1.2 threadsafe default x x.1.0 \"\" \"\"\n"
		   "ape u1.3 nonthreadsafe default x x.1.0 \"\" \"\"\n"
		   "a u1.2 unsafe default x x.1.0 \"\" \"\"\n"
		   "b k1.2 threadsafe default x x.1.0 \"\" \"\"\n"
		   "zoo u1.2 threadsafe default y x.1.0 \"\" \"\"\n"
		   "c u1.2 threadsafe default libdat.so.1 kdapl.1.0 mode=fast \"\"");
	in_child(list_two);
	snprintf(text, sizeof(text), "libdat: %s:2: 3 fields, not eight; the line is skipped\n",
		 conf);
	told(text);
	snprintf(text, sizeof(text), "libdat: %s:5: field 3 is \"unsafe\"", conf);
	told(text);
	snprintf(text, sizeof(text), "libdat: %s:8: mode=fast", conf);
	told(text);
	said_lines(3);
}

static void no_registry(void)
{
	DAT_COUNT number = 7;
	DAT_IA_HANDLE ia;

	CHECK_RET(ia_open("loop0", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	if (access("/dev/kdapl", F_OK))
		CHECK_RET(dat_registry_list_providers(0, &number, NULL),
			  ERR2(INTERNAL_ERROR, 0));
}

/* Nothing is tried in the place of a file that was named, and the user is told. */
static void case_no_file(void)
{
	strcpy(conf, "/nowhere/dat.conf");
	in_child(no_registry);
	told("libdat: /nowhere/dat.conf: No such file or directory\n");
	said_lines(1);
	*conf = '\0';
}

static void empty_registry(void)
{
	DAT_PROVIDER_INFO *none[1] = { NULL };
	DAT_COUNT number = 7;

	if (access("/dev/kdapl", F_OK)) {
		OK(dat_registry_list_providers(0, &number, none));
		CHECK_EQ(number, 0);
	}
}

static void case_empty_file(void)
{
	write_conf("# nothing\n\n");
	in_child(empty_registry);
	said_lines(0);
}

/* ---- without descriptors ------------------------------------------------------- */

/* No descriptor can be had any more. */
static void take_descriptors(struct rlimit *before)
{
	struct rlimit none;

	CHECK(!getrlimit(RLIMIT_NOFILE, before));
	none = *before;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
}

/* What could not be read for want of a descriptor is read when there is one. */
static void conf_later(void)
{
	DAT_PROVIDER_INFO infos[64], *list[64];
	struct rlimit limit;
	DAT_COUNT number;
	DAT_IA_HANDLE ia;
	int i;

	for (i = 0; i < 64; i++)
		list[i] = &infos[i];
	take_descriptors(&limit);
	CHECK_RET(ia_open("loop0", &ia), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK_RET(dat_registry_list_providers(64, &number, list),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	OK(ia_open("loop0", &ia));
	OK(ia_close(ia));
	OK(dat_registry_list_providers(64, &number, list));
	CHECK(!strcmp(infos[0].ia_name, "loop0"));
}

/* The file was read, for an adapter of another provider, and the device cannot be opened. */
static void device_later(void)
{
	struct rlimit limit;
	DAT_COUNT number;
	DAT_IA_HANDLE ia;

	OK(ia_open("loop0", &ia));
	OK(ia_close(ia));
	take_descriptors(&limit);
	CHECK_RET(ia_open("mlx9-1", &ia), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK_RET(dat_registry_list_providers(0, &number, NULL),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK_RET(ia_open("mlx9-1", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
}

/* A library that cannot be opened now will do another time; the next record is not tried. */
static void library_later(void)
{
	struct rlimit limit;
	DAT_IA_HANDLE ia;

	CHECK_RET(ia_open("mlx9-1", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	take_descriptors(&limit);
	CHECK_RET(ia_open("loop0", &ia), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	OK(ia_open("loop0", &ia));
	CHECK_EQ(loopback_inits, 1);
	OK(ia_close(ia));
}

static void case_no_descriptors(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(conf_later);
	said_lines(0);
	in_child(device_later);
	said_lines(0);
	in_child(library_later);
	said_lines(0);
}

/* ---- which record ------------------------------------------------------------ */

static DAT_RETURN openv(const char *name, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN safe)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	ret = dat_ia_openv((DAT_NAME_PTR)name, 8, &async, &ia, major, minor, safe);
	if (!ret)
		OK(ia_close(ia));
	return ret;
}

static void versions(void)
{
	OK(openv("loop0", 1, 2, DAT_FALSE));
	/* A thread-safe one serves others, and a later minor version an earlier one. */
	OK(openv("loop0", 1, 2, DAT_TRUE));
	OK(openv("loop0", 1, 1, DAT_TRUE));
	CHECK_RET(openv("loop0", 1, 3, DAT_FALSE), NOT_FOUND(MINOR_NOT_FOUND));
	CHECK_RET(openv("loop0", 2, 0, DAT_FALSE), NOT_FOUND(MAJOR_NOT_FOUND));
	CHECK_RET(openv("loop1", 1, 2, DAT_TRUE), NOT_FOUND(THREAD_SAFETY_NOT_FOUND));
	OK(openv("loop1", 1, 2, DAT_FALSE));
	CHECK_RET(openv("loop2", 1, 2, DAT_FALSE), NOT_FOUND(MAJOR_NOT_FOUND));
	CHECK_RET(openv("loop3", 1, 2, DAT_FALSE), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(openv("loop4", 1, 2, DAT_FALSE), NOT_FOUND(NAME_NOT_REGISTERED));
}

static void case_versions(void)
{
	char path[300];

	snprintf(path, sizeof(path), "%s", provider("loopback.so"));
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n"
		   "loop1 u1.2 nonthreadsafe default %s loopback.1.0 \"\" \"\"\n"
		   "loop2 u2.0" LOOPBACK "\"\" \"\"\n"
		   "loop3 u1.2 threadsafe nondefault %s loopback.1.0 \"\" \"\"\n"
		   "loop4 k1.2 threadsafe default %s loopback.1.0 \"\" \"\"\n",
		   path, path, path, path, path);
	in_child(versions);
	said_lines(0);
}

static void chains(void)
{
	DAT_IA_HANDLE ia;

	/* The third record of the name is the first that can be had. */
	OK(ia_open("loop0", &ia));
	CHECK_EQ(loopback_inits, 1);
	OK(ia_close(ia));
	CHECK_RET(ia_open("bare", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(ia_open("silent", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_EQ(loopback_inits, 2);
	/* What it has registered under another version, it has not. */
	CHECK_RET(ia_open("other", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(openv("other", 1, 9, DAT_FALSE), NOT_FOUND(MINOR_NOT_FOUND));
	CHECK_RET(ia_open("astray", &ia), ERR2(INTERNAL_ERROR, 0));
}

static void case_chains(void)
{
	char path[300], bare[300];

	snprintf(path, sizeof(path), "%s", provider("loopback.so"));
	snprintf(bare, sizeof(bare), "%s", provider("bare.so"));
	write_conf("loop0 u1.2 threadsafe default /nowhere/lib.so x.1.0 \"\" \"\"\n"
		   "loop0 u1.2" LOOPBACK "\"\" \"\"\n"
		   "loop0 u1.2" LOOPBACK "\"\" \"\"\n"
		   "bare u1.2" LOOPBACK "\"\" \"\"\n"
		   "silent u1.2" LOOPBACK "silent \"\"\n"
		   "other u1.2" LOOPBACK "other \"\"\n"
		   "astray u1.2" LOOPBACK "astray \"\"\n",
		   bare, path, bare, path, path, path);
	setenv("DAT_DEBUG", "1", 1);
	in_child(chains);
	told("dat_ia_open(\"bare\"): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: ");
	told("bare.so has no dat_provider_init");
	told("loopback.so has registered no adapter of that name and version");
	told("dat_registry_add_provider: DAT_INVALID_PARAMETER DAT_INVALID_ARG2: "
	     "argument 2, provider_info, cannot be used\n");
	told("does not begin with the address of the table");
	/* Another provider's library has nothing to do with kdapl's module. */
	if (strstr(said, "/dev/kdapl") || strstr(said, "adapters of this host"))
		FAIL("the adapters are named: %s", said);
}

/* ---- by hand ----------------------------------------------------------------- */

/* Its opens are counted, and its handles good until they are closed. */
static const DAT_PROVIDER *hand_word;

static DAT_RETURN hand_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async;
	*ia = &hand_word;
	return DAT_SUCCESS;
}

static DAT_RETURN hand_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_SUCCESS;
}

static const DAT_PROVIDER hand = {
	.device_name = "hand",
	.ia_open_func = hand_open,
	.ia_close_func = hand_close,
}, other_hand;

static DAT_PROVIDER_INFO hand_info(const char *name)
{
	DAT_PROVIDER_INFO info = {
		.dapl_version_major = 1,
		.dapl_version_minor = 2,
		.is_thread_safe = DAT_TRUE,
	};

	strcpy(info.ia_name, name);
	return info;
}

static void add_and_remove(void)
{
	DAT_PROVIDER_INFO info = hand_info("hand0"), seen, *list[1] = { &seen };
	DAT_PROVIDER_INFO endless = info, nameless = hand_info("");
	DAT_COUNT number;
	DAT_IA_HANDLE ia;

	hand_word = &hand;
	memset(endless.ia_name, 'x', sizeof(endless.ia_name));
	CHECK_RET(dat_registry_add_provider(NULL, &info), ARG(1));
	CHECK_RET(dat_registry_add_provider(&hand, NULL), ARG(2));
	CHECK_RET(dat_registry_add_provider(&hand, &endless), ARG(2));
	CHECK_RET(dat_registry_add_provider(&hand, &nameless), ARG(2));
	CHECK_RET(ia_open("hand0", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(dat_registry_remove_provider(&hand, &info), ARG(2));

	OK(dat_registry_add_provider(&hand, &info));
	CHECK_RET(dat_registry_add_provider(&other_hand, &info),
		  ERR2(PROVIDER_ALREADY_REGISTERED, 0));
	if (access("/dev/kdapl", F_OK)) {
		OK(dat_registry_list_providers(1, &number, list));
		CHECK_EQ(number, 1);
		CHECK(!strcmp(seen.ia_name, "hand0"));
	}
	CHECK_RET(dat_registry_remove_provider(NULL, &info), ARG(1));
	CHECK_RET(dat_registry_remove_provider(&other_hand, &info), ARG(1));
	CHECK_RET(dat_registry_remove_provider(&hand, NULL), ARG(2));

	OK(ia_open("hand0", &ia));
	CHECK_RET(dat_registry_remove_provider(&hand, &info), ERR2(PROVIDER_IN_USE, 0));
	OK(ia_close(ia));
	OK(dat_registry_remove_provider(&hand, &info));
	CHECK_RET(ia_open("hand0", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(dat_registry_remove_provider(&hand, &info), ARG(2));
	OK(dat_registry_add_provider(&hand, &info));
	OK(dat_registry_remove_provider(&hand, &info));
}

static void case_by_hand(void)
{
	write_conf("# nothing\n");
	in_child(add_and_remove);
	said_lines(0);
}

/* What the program has added goes first, and the library stays where it is. */
static void hand_first(void)
{
	DAT_PROVIDER_INFO info = hand_info("loop0");
	DAT_IA_HANDLE ia;

	hand_word = &hand;
	OK(dat_registry_add_provider(&hand, &info));
	OK(ia_open("loop0", &ia));
	CHECK(ia == (DAT_IA_HANDLE)&hand_word);
	CHECK_EQ(loopback_inits, 0);
	OK(ia_close(ia));
	OK(dat_registry_remove_provider(&hand, &info));
	OK(ia_open("loop0", &ia));
	CHECK_EQ(loopback_inits, 1);
	OK(ia_close(ia));
}

static void case_hand_first(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(hand_first);
}

/* ---- threads and forks ------------------------------------------------------- */

#define THREADS	8
#define ROUNDS	200

static DAT_RETURN results[THREADS];

static void *open_and_close(void *arg)
{
	DAT_RETURN *result = arg;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	int i;

	for (i = 0; i < ROUNDS && !*result; i++) {
		*result = ia_open("loop0", &ia);
		if (*result)
			break;
		*result = dat_pz_create(ia, &pz);
		if (!*result)
			*result = dat_pz_free(pz);
		if (!*result)
			*result = ia_close(ia);
	}
	return NULL;
}

static void opening_at_once(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, open_and_close, &results[i]));
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		OK(results[i]);
	}
	CHECK(loopback_inits >= 1);
	CHECK_EQ(loopback_finis, loopback_inits);
}

static void case_threads(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(opening_at_once);
}

/* A child of a process whose threads load and unload does not wait for them for ever. */
static void forking(void)
{
	pthread_t threads[THREADS];
	DAT_IA_HANDLE ia;
	int i, status;
	pid_t pid;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, open_and_close, &results[i]));
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			alarm(60);
			_exit(ia_open("loop0", &ia) || ia_close(ia));
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(status, 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		OK(results[i]);
	}
}

static void case_forking(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	in_child(forking);
}

/* ---- what is said about failures ---------------------------------------------- */

static void fail_a_little(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov = { 0 };
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	errno = 77;
	CHECK_RET(ia_open("mlx9-1", &ia), NOT_FOUND(NAME_NOT_REGISTERED));
	CHECK_RET(dat_pz_create(NULL, &pz), HANDLE(IA));
	CHECK_RET(dat_ep_post_send(NULL, 1, &iov, cookie, 0), HANDLE(EP));
	CHECK_RET(dat_evd_dequeue(NULL, &event), HANDLE(EVD_REQUEST));
	CHECK_RET(ia_open(NULL, &ia), ARG(1));
}

static void case_debug(void)
{
	write_conf("# nothing\n");
	setenv("DAT_DEBUG", "1", 1);
	in_child(fail_a_little);
	said_lines(5);
	told("libdat: dat_ia_open(\"mlx9-1\"): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: ");
	if (access("/dev/kdapl", F_OK))
		told("there is no /dev/kdapl: is the kernel module loaded? (modprobe kdapl)\n");
	told("libdat: dat_pz_create: DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: no such object");
	told("libdat: dat_ep_post_send: DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP: ");
	told("libdat: dat_evd_dequeue: DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_REQUEST: ");
	told("libdat: dat_ia_open: DAT_INVALID_PARAMETER DAT_INVALID_ARG1: "
	     "argument 1, ia_name, cannot be used\n");
	setenv("DAT_DEBUG", "0", 1);
	in_child(fail_a_little);
	said_lines(0);
	unsetenv("DAT_DEBUG");
	in_child(fail_a_little);
	said_lines(0);
}

static void open_full(void)
{
	DAT_IA_HANDLE ia;

	CHECK_RET(ia_open("full", &ia), ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
}

/* Why the first record would not do is not why the open fails. */
static void case_reason(void)
{
	write_conf("full u1.2 threadsafe default /nowhere/lib.so x.1.0 \"\" \"\"\n"
		   "full u1.2" LOOPBACK "full \"\"\n", provider("loopback.so"));
	setenv("DAT_DEBUG", "1", 1);
	in_child(open_full);
	said_lines(1);
	told("libdat: dat_ia_open(\"full\"): DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: "
	     "no room");
	CHECK(!strstr(said, "/nowhere/lib.so"));
}

static void reach_limits(void)
{
	struct rlimit memory = { 64 << 10, 64 << 10 }, before;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &memory));
	OK(ia_open("loop0", &ia));
	CHECK_RET(dat_evd_create(ia, 9, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	take_descriptors(&before);
	CHECK_RET(dat_evd_create(ia, 9, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
		  ERR2(INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	OK(ia_close(ia));
}

static void case_limits(void)
{
	write_conf("loop0 u1.2" LOOPBACK "\"\" \"\"\n", provider("loopback.so"));
	setenv("DAT_DEBUG", "1", 1);
	in_child(reach_limits);
	said_lines(2);
	told("DAT_RESOURCE_TEVD: no room: queues are locked memory: RLIMIT_MEMLOCK (ulimit -l) is "
	     "64 KiB, of which 0 KiB are in use, or a limit of the device");
	told("DAT_RESOURCE_TEVD: descriptors do not suffice: RLIMIT_NOFILE (ulimit -n) is 0, ");
}

static void odd_name(void)
{
	DAT_IA_HANDLE ia;

	CHECK_RET(ia_open("a\nlibdat: all is well\033[2J\2332J", &ia),
		  NOT_FOUND(NAME_NOT_REGISTERED));
}

static void case_one_line(void)
{
	write_conf("loop0 \033[2J\2332J threadsafe default x.so x.1.0 \"\" \"\"\n");
	setenv("DAT_DEBUG", "1", 1);
	in_child(odd_name);
	said_lines(2);
	told(":1: field 2 is \"?[2J?2J\": not a version");
	told("dat_ia_open(\"a?libdat: all is well?[2J?2J\"): DAT_PROVIDER_NOT_FOUND");
}

static const struct check_case cases[] = {
	{ "G3 G15 a provider that dat.conf names", case_provider },
	{ "G3 the last close while a call is in the library", case_closed_around },
	{ "G12 G13 G21 G24 G25 bad lines, and the list", case_bad_lines },
	{ "G14 G15 a file that is not there", case_no_file },
	{ "G14 an empty file", case_empty_file },
	{ "G9 G14 no descriptor is left for dat.conf and the device", case_no_descriptors },
	{ "G1 G9 G22 G23 which record it is", case_versions },
	{ "G4 G10 G24 libraries that will not do", case_chains },
	{ "G2 G5 G6 G7 added and removed by hand", case_by_hand },
	{ "G2 by hand goes first", case_hand_first },
	{ "G3 threads that open and close at once", case_threads },
	{ "G3 fork while libraries come and go", case_forking },
	{ "DAT_DEBUG: a line for each call that fails", case_debug },
	{ "DAT_DEBUG: the reason is that of the last record", case_reason },
	{ "DAT_DEBUG: limits of the process", case_limits },
	{ "DAT_DEBUG: one line, whatever the name is", case_one_line },
};

int main(int argc, char **argv)
{
	return check_run(cases, ARRAY_SIZE(cases), no_conf, argc, argv);
}
