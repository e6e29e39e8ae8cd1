// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Providers beside kdapl in the registry of kernel consumers: this module, with a table
 * of hardly any calls, and kdapl_loopback.ko (loopback.c), which a scenario loads and
 * unloads.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <dat/kdat_linux.h>
#include "kernel.h"

static char *loopback;
module_param(loopback, charp, 0444);
MODULE_PARM_DESC(loopback, "path of kdapl_loopback.ko");

/*
 * The only kind of objects here: what a handle points to.  Which table it begins with is for
 * the scenario to say.
 */
struct stub {
	const DAT_PROVIDER *provider;
};

static const DAT_PROVIDER other_table;
static struct stub stub_ia;
/* Whoever is in one of the two calls of the table, if the scenario wants it to wait there. */
static struct {
	bool wanted;
	struct completion entered;
	struct completion leave;
} hold;

static void hold_here(void)
{
	if (!hold.wanted)
		return;
	complete(&hold.entered);
	wait_for_completion(&hold.leave);
}

static DAT_RETURN stub_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			    DAT_IA_HANDLE *ia)
{
	hold_here();
	*ia = &stub_ia;
	return DAT_SUCCESS;
}

static DAT_RETURN stub_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	hold_here();
	return flags == DAT_CLOSE_ABRUPT_FLAG ? DAT_SUCCESS :
	       DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
}

static const DAT_PROVIDER table = {
	.device_name = "stub",
	.ia_open_func = stub_open,
	.ia_close_func = stub_close,
};

static DAT_PROVIDER_INFO info_of(const char *name, DAT_UINT32 minor)
{
	DAT_PROVIDER_INFO info = {
		.dapl_version_major = DAT_VERSION_MAJOR,
		.dapl_version_minor = minor,
		.is_thread_safe = DAT_TRUE,
	};

	strscpy(info.ia_name, name, sizeof(info.ia_name));
	return info;
}

/* A provider of that name; its IA's handle begins with @begins. */
static bool add(DAT_PROVIDER_INFO *info, const char *name, DAT_UINT32 minor,
		const DAT_PROVIDER *begins)
{
	*info = info_of(name, minor);
	stub_ia.provider = begins;
	hold.wanted = false;
	return OK(dat_registry_add_provider(&table, info));
}

static DAT_RETURN openv(const char *name, DAT_UINT32 major, DAT_UINT32 minor, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	*ia = DAT_HANDLE_NULL;
	return dat_ia_openv((DAT_NAME_PTR)name, 8, &async, ia, major, minor, DAT_TRUE);
}

static DAT_RETURN open(const char *name, DAT_IA_HANDLE *ia)
{
	return openv(name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, ia);
}

/* ---- adding, listing, removing --------------------------------------------- */

static void refused(void)
{
	DAT_PROVIDER_INFO info = info_of("stub", DAT_VERSION_MINOR);
	DAT_PROVIDER_INFO endless = info, nameless = info;

	memset(endless.ia_name, 'x', sizeof(endless.ia_name));
	nameless.ia_name[0] = 0;
	BAD_ARG(dat_registry_add_provider(NULL, &info), 1);
	BAD_ARG(dat_registry_add_provider(&table, NULL), 2);
	BAD_ARG(dat_registry_add_provider(&table, &endless), 2);
	BAD_ARG(dat_registry_add_provider(&table, &nameless), 2);
	BAD_ARG(dat_registry_remove_provider(NULL, &info), 1);
	BAD_ARG(dat_registry_remove_provider(&table, NULL), 2);
	BAD_ARG(dat_registry_remove_provider(&table, &endless), 2);
	BAD_ARG(dat_registry_remove_provider(&table, &info), 2);
	/* G8: what kdapl has entered is not for others to enter, or to remove. */
	info = info_of(side_a.name, DAT_VERSION_MINOR);
	IS(dat_registry_add_provider(&table, &info), DAT_PROVIDER_ALREADY_REGISTERED, 0);
	BAD_ARG(dat_registry_remove_provider(&table, &info), 2);
}

/* Before kdapl's adapters, of which there are @adapters. */
static void listed(DAT_COUNT adapters)
{
	DAT_PROVIDER_INFO *infos = scenario_alloc((adapters + 1) * sizeof(*infos));
	DAT_PROVIDER_INFO **list = scenario_alloc((adapters + 1) * sizeof(*list));
	DAT_COUNT number, i;

	if (!infos || !list)
		return;
	for (i = 0; i <= adapters; i++)
		list[i] = &infos[i];
	BAD_ARG(dat_registry_list_providers(0, &number, NULL), 1);
	CHECK_EQ(number, adapters + 1);
	BAD_ARG(dat_registry_list_providers(adapters, &number, list), 1);
	CHECK_EQ(number, adapters + 1);
	BAD_ARG(dat_registry_list_providers(adapters + 1, NULL, list), 2);
	number = -1;
	BAD_ARG(dat_registry_list_providers(adapters + 1, &number, NULL), 3);
	for (i = 0; i <= adapters; i++) {
		list[i] = NULL;
		BAD_ARG(dat_registry_list_providers(adapters + 1, &number, list), 3);
		list[i] = &infos[i];
	}
	CHECK_EQ(number, -1);
	for (i = 0; i <= adapters; i++)
		CHECK(!infos[i].ia_name[0]);
	if (!OK(dat_registry_list_providers(adapters + 1, &number, list)))
		return;
	CHECK_EQ(number, adapters + 1);
	CHECK(!strcmp(infos[0].ia_name, "stub"));
	CHECK_EQ(infos[0].dapl_version_minor, DAT_VERSION_MINOR);
	for (i = 1; i <= adapters; i++)
		CHECK(strcmp(infos[i].ia_name, "stub") && infos[i].ia_name[0]);
}

static void added(void)
{
	DAT_PROVIDER_INFO info;
	DAT_COUNT adapters = 0;
	DAT_IA_HANDLE ia;

	IS(open("stub", &ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	dat_registry_list_providers(0, &adapters, NULL);
	if (!CHECK(adapters >= 2) || !add(&info, "stub", DAT_VERSION_MINOR, &table))
		return;
	IS(dat_registry_add_provider(&table, &info), DAT_PROVIDER_ALREADY_REGISTERED, 0);
	IS(dat_registry_add_provider(&other_table, &info), DAT_PROVIDER_ALREADY_REGISTERED, 0);
	BAD_ARG(dat_registry_remove_provider(&other_table, &info), 1);
	listed(adapters);
	if (OK(open("stub", &ia))) {
		CHECK(ia == &stub_ia);
		IS(dat_registry_remove_provider(&table, &info), DAT_PROVIDER_IN_USE, 0);
		/* A close that is refused changes nothing. */
		BAD_STATE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
		IS(dat_registry_remove_provider(&table, &info), DAT_PROVIDER_IN_USE, 0);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), IA);
	}
	OK(dat_registry_remove_provider(&table, &info));
	BAD_ARG(dat_registry_remove_provider(&table, &info), 2);
	IS(open("stub", &ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	BAD_ARG(dat_registry_list_providers(0, &adapters, NULL), 1);
	CHECK(add(&info, "stub", DAT_VERSION_MINOR, &table) &&
	      OK(dat_registry_remove_provider(&table, &info)));
}

/* Whose adapter it is can be seen at the handle. */
static void opens(const char *name, DAT_UINT32 minor, bool stub)
{
	DAT_IA_HANDLE ia;

	if (!OK(openv(name, DAT_VERSION_MAJOR, minor, &ia)))
		return;
	CHECK_EQ(ia == &stub_ia, stub);
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void matched(void)
{
	DAT_PROVIDER_INFO stub, older, newer;
	DAT_IA_HANDLE ia;

	if (add(&stub, "stub", 3, &table)) {
		opens("stub", 2, true);
		opens("stub", 3, true);
		IS(openv("stub", 1, 4, &ia), DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
		IS(openv("stub", 2, 0, &ia), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
		OK(dat_registry_remove_provider(&table, &stub));
	}
	/* Of a name of kdapl's, which is 1.2. */
	if (add(&older, side_a.name, 1, &table)) {
		opens(side_a.name, 0, true);
		opens(side_a.name, 1, true);
		opens(side_a.name, 2, false);
		if (add(&newer, side_a.name, 3, &table)) {
			opens(side_a.name, 1, true);
			opens(side_a.name, 2, false);
			opens(side_a.name, 3, true);
			OK(dat_registry_remove_provider(&table, &newer));
		}
		IS(openv(side_a.name, 1, 3, &ia), DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
		OK(dat_registry_remove_provider(&table, &older));
	}
}

/* ---- calls ------------------------------------------------------------------- */

/* A call that reaches the table, which does not have it. */
#define MISSING(call)						\
	do {							\
		IS(call, DAT_NOT_IMPLEMENTED, 0);		\
		number++;					\
	} while (0)

static unsigned int objects_missing(DAT_HANDLE h)
{
	DAT_REGION_DESCRIPTION region = {};
	unsigned int number = 0;

	MISSING(dat_ia_query(h, NULL, 0, NULL, 0, NULL));
	MISSING(dat_ia_memtype_hint(h, 0, 0, 0, NULL, NULL));
	MISSING(dat_set_consumer_context(h, cookie(1)));
	MISSING(dat_get_consumer_context(h, NULL));
	MISSING(dat_get_handle_type(h, NULL));
	MISSING(dat_evd_kcreate(h, 0, 0, NULL, 0, NULL));
	MISSING(dat_evd_query(h, 0, NULL));
	MISSING(dat_evd_modify_upcall(h, 0, NULL));
	MISSING(dat_evd_resize(h, 0));
	MISSING(dat_evd_post_se(h, NULL));
	MISSING(dat_evd_dequeue(h, NULL));
	MISSING(dat_evd_free(h));
	MISSING(dat_lmr_kcreate(h, 0, region, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL));
	MISSING(dat_lmr_query(h, 0, NULL));
	MISSING(dat_lmr_free(h));
	MISSING(dat_lmr_sync_rdma_read(h, NULL, 0));
	MISSING(dat_lmr_sync_rdma_write(h, NULL, 0));
	MISSING(dat_rmr_create(h, NULL));
	MISSING(dat_rmr_query(h, 0, NULL));
	MISSING(dat_rmr_bind(h, NULL, 0, NULL, cookie(1), 0, NULL));
	MISSING(dat_rmr_free(h));
	MISSING(dat_pz_create(h, NULL));
	MISSING(dat_pz_query(h, 0, NULL));
	MISSING(dat_pz_free(h));
	MISSING(dat_srq_create(h, NULL, NULL, NULL));
	MISSING(dat_srq_free(h));
	MISSING(dat_srq_post_recv(h, 0, NULL, cookie(1)));
	MISSING(dat_srq_query(h, 0, NULL));
	MISSING(dat_srq_resize(h, 0));
	MISSING(dat_srq_set_lw(h, 0));
	return number;
}

static unsigned int connections_missing(DAT_HANDLE h)
{
	unsigned int number = 0;

	MISSING(dat_ep_create(h, NULL, NULL, NULL, NULL, NULL, NULL));
	MISSING(dat_ep_create_with_srq(h, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	MISSING(dat_ep_query(h, 0, NULL));
	MISSING(dat_ep_modify(h, 0, NULL));
	MISSING(dat_ep_connect(h, NULL, 0, 0, 0, NULL, 0, 0));
	MISSING(dat_ep_dup_connect(h, NULL, 0, 0, NULL, 0));
	MISSING(dat_ep_disconnect(h, 0));
	MISSING(dat_ep_post_send(h, 0, NULL, cookie(1), 0));
	MISSING(dat_ep_post_recv(h, 0, NULL, cookie(1), 0));
	MISSING(dat_ep_post_rdma_read(h, 0, NULL, cookie(1), NULL, 0));
	MISSING(dat_ep_post_rdma_write(h, 0, NULL, cookie(1), NULL, 0));
	MISSING(dat_ep_get_status(h, NULL, NULL, NULL));
	MISSING(dat_ep_reset(h));
	MISSING(dat_ep_free(h));
	MISSING(dat_ep_recv_query(h, NULL, NULL));
	MISSING(dat_ep_set_watermark(h, 0, 0));
	MISSING(dat_psp_create(h, 0, NULL, 0, NULL));
	MISSING(dat_psp_create_any(h, NULL, NULL, 0, NULL));
	MISSING(dat_psp_query(h, 0, NULL));
	MISSING(dat_psp_free(h));
	MISSING(dat_rsp_create(h, 0, NULL, NULL, NULL));
	MISSING(dat_rsp_query(h, 0, NULL));
	MISSING(dat_rsp_free(h));
	MISSING(dat_cr_query(h, 0, NULL));
	MISSING(dat_cr_accept(h, NULL, 0, NULL));
	MISSING(dat_cr_reject(h));
	MISSING(dat_cr_handoff(h, 0));
	return number;
}

static void every_call(void)
{
	const unsigned int calls = (sizeof(table) - offsetof(DAT_PROVIDER, ia_open_func)) /
				   sizeof(table.ia_open_func);
	DAT_PROVIDER_INFO info;
	DAT_IA_HANDLE ia;

	if (!add(&info, "stub", DAT_VERSION_MINOR, &table))
		return;
	if (OK(open("stub", &ia))) {
		/* All but those two that it has. */
		CHECK_EQ(objects_missing(ia) + connections_missing(ia), calls - 2);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	OK(dat_registry_remove_provider(&table, &info));
}

/* What is nobody's handle, with memory behind it and without, and a call of kdapl's alone. */
static void forged(void)
{
	struct stub stray = { &other_table };
	DAT_LMR_HANDLE lmr;
	DAT_PROVIDER_INFO info;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;

	if (!add(&info, "stub", DAT_VERSION_MINOR, &table))
		return;
	if (OK(open("stub", &ia))) {
		handle_refused(&stray, "the address of another table's object");
		handle_refused((DAT_HANDLE)-8L, "an address of nothing");
		handle_refused((DAT_HANDLE)(LONG_MIN + 8), "a number that is no address");
		handle_refused(DAT_HANDLE_NULL, "null");
		/* It is nothing to kdapl's objects, and nothing of kdapl's alone is for it. */
		BAD_HANDLE(dat_ep_create(side_a.ia, ia, NULL, NULL, NULL, NULL, &ep), PZ);
		BAD_HANDLE(dat_lmr_allocate(ia, ia, 1, DAT_LMR_SCOPE_PZ, &lmr), IA);
		BAD_HANDLE(dat_ep_post_send_with_invalidate(ia, 0, NULL, cookie(1), 0, DAT_TRUE,
							    1), EP);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	OK(dat_registry_remove_provider(&table, &info));
}

/* An IA that begins with another table than its provider's could never be closed. */
static void astray(void)
{
	DAT_PROVIDER_INFO info;
	DAT_IA_HANDLE ia;

	if (!add(&info, "stub", DAT_VERSION_MINOR, &other_table))
		return;
	IS(open("stub", &ia), DAT_INTERNAL_ERROR, 0);
	CHECK(!ia);
	OK(dat_registry_remove_provider(&table, &info));
}

/* ---- at the same time ---------------------------------------------------------- */

static int open_thread(void *arg)
{
	return open("stub", arg);
}

static int close_thread(void *arg)
{
	return dat_ia_close(arg, DAT_CLOSE_ABRUPT_FLAG);
}

/* @fn gets as far as the provider; the provider is not removed meanwhile. */
static void held(int (*fn)(void *arg), void *arg, const DAT_PROVIDER_INFO *info, bool closes)
{
	struct thread thread;

	hold.wanted = true;
	init_completion(&hold.entered);
	init_completion(&hold.leave);
	if (!thread_start(&thread, fn, arg))
		return;
	CHECK(wait_for_completion_timeout(&hold.entered, msecs_to_jiffies(WAIT_MS)));
	hold.wanted = false;
	IS(dat_registry_remove_provider(&table, info), DAT_PROVIDER_IN_USE, 0);
	if (closes)
		BAD_HANDLE(dat_ia_close(arg, DAT_CLOSE_ABRUPT_FLAG), IA);
	complete(&hold.leave);
	OK(thread_join(&thread));
}

static void at_once(void)
{
	DAT_PROVIDER_INFO info;
	DAT_IA_HANDLE ia;

	if (!add(&info, "stub", DAT_VERSION_MINOR, &table))
		return;
	held(open_thread, &ia, &info, false);
	IS(dat_registry_remove_provider(&table, &info), DAT_PROVIDER_IN_USE, 0);
	held(close_thread, ia, &info, true);
	OK(dat_registry_remove_provider(&table, &info));
}

/* ---- a module ------------------------------------------------------------------ */

static bool command(const char *name, const char *argument, bool succeeds)
{
	char *line = scenario_alloc(512);

	if (!line)
		return false;
	snprintf(line, 512, "%s %s 2> /dev/null", name, argument);
	return CHECK_EQ(!run_command(line), succeeds);
}

/* A message of it, while kdapl's own go by. */
static void transfer(DAT_IA_HANDLE ia)
{
	struct pair *pair = scenario_alloc(sizeof(*pair));
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	if (!pair || !OK(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd)))
		return;
	IS(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, 0);
	if (OK(dat_ep_create(ia, NULL, evd, evd, evd, NULL, &ep))) {
		OK(dat_get_handle_type(ep, &type));
		CHECK_EQ(type, DAT_HANDLE_TYPE_EP);
		OK(dat_set_consumer_context(ep, cookie(5)));
		OK(dat_ep_post_recv(ep, 0, NULL, cookie(6), 0));
		OK(dat_ep_post_send(ep, 0, NULL, cookie(7), 0));
		quiet_transfers(pair);
		OK(dat_get_consumer_context(ep, &context));
		CHECK_EQ(context.as_64, 5);
		if (OK(dat_evd_dequeue(evd, &event))) {
			CHECK(event.evd_handle == evd);
			CHECK(event.event_data.dto_completion_event_data.ep_handle == ep);
			CHECK_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64, 6);
		}
		OK(dat_ep_free(ep));
	}
	OK(dat_evd_free(evd));
}

static void module_of_its_own(void)
{
	DAT_IA_HANDLE ia, second;

	if (!CHECK(loopback) || !command("insmod", loopback, true))
		return;
	if (OK(open("loopback", &ia))) {
		transfer(ia);
		OK(open("loopback", &second));
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		command("rmmod", "kdapl_loopback", false);
		BAD_STATE(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
		command("rmmod", "kdapl_loopback", false);
		OK(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	}
	command("rmmod", "kdapl_loopback", true);
	IS(open("loopback", &ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

static const struct scenario scenarios[] = {
	SCENARIO("G5 G6 G8 providers: bad arguments, and kdapl's own", refused),
	SCENARIO("G2 G5 G6 G7 G12 G13 providers: added, listed, in use, removed", added),
	SCENARIO("G8 G9 providers: versions, also of a name of kdapl's", matched),
	SCENARIO("G2 providers: every call reaches the table", every_call),
	SCENARIO("E5 providers: bad handles while one is open", forged),
	SCENARIO("I10 providers: a handle with another table", astray),
	SCENARIO("G7 E114 providers: removal against open, close against close", at_once),
	SCENARIO("G2 I9 providers: a module is called, and stays while it is open",
		 module_of_its_own),
};

SCENARIO_TABLE(provider_table);
