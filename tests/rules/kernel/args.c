// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bad values and handles in calls that only kernel consumers have, or that have
 * arguments of their own there.
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <dat/kdat_linux.h>
#include "kernel.h"

void platform_refuse(const struct bad *bad)
{
	DAT_HANDLE h = bad->handle;
	DAT_VLEN length;

	REFUSES(IA, IA, dat_ia_memtype_hint(h, DAT_MEM_TYPE_VIRTUAL, 1, 0,
					    &length, NULL));
	REFUSES(EVD, EVD_REQUEST,
		dat_evd_modify_upcall(h, DAT_UPCALL_DISABLE, NULL));
}

static void memtype_hint(void)
{
	DAT_VLEN length;

	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 3, 1, 0, &length, NULL), 2);
	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 0, 0, 0, &length, NULL), 3);
	BAD_ARG(dat_ia_memtype_hint(side_b.ia, 0, 1, 8, &length, NULL), 4);
	IS(dat_ia_memtype_hint(side_b.ia, DAT_MEM_TYPE_BYPASS, 1, 0, &length,
			       NULL), DAT_MODEL_NOT_SUPPORTED, 0);
	if (OK(dat_ia_memtype_hint(side_b.ia, 0, 1, 0, &length, NULL)))
		CHECK_EQ(length, PAGE_SIZE);
}

/* The first argument that is wrong is the one that is named. */
static void evd_kcreate(void)
{
	const DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_UPCALL_OBJECT good = { .upcall_func = collect };
	DAT_EVD_HANDLE out = DAT_HANDLE_NULL, evd;
	DAT_EVD_PARAM param;

	BAD_ARG(dat_evd_kcreate(side_b.ia, 0, 2, &good, 0, NULL), 2);
	BAD_ARG(dat_evd_kcreate(side_b.ia, -1, 0, NULL, 1, &out), 2);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 2, NULL, 0, NULL), 3);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_TEARDOWN, &good, 1,
				&out), 3);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_SINGLE_INSTANCE, NULL,
				0, NULL), 4);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, DAT_UPCALL_MANY, &none, 1, &out),
		4);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 0, NULL), 5);
	BAD_ARG(dat_evd_kcreate(side_b.ia, 1, 0, NULL, 1, NULL), 6);
	CHECK(!out);
	if (!evd_new(&side_b, 8, DAT_EVD_DTO_FLAG, &evd))
		return;
	if (OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param)))
		CHECK(param.upcall_policy == DAT_UPCALL_DISABLE &&
		      !param.upcall.upcall_func);
	BAD_ARG(dat_evd_modify_upcall(evd, 2, &good), 2);
	BAD_ARG(dat_evd_modify_upcall(evd, -2, &good), 2);
	BAD_ARG(dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &none), 3);
	BAD_ARG(dat_evd_modify_upcall(side_b.async, DAT_UPCALL_MANY,
				      DAT_UPCALL_SAME), 3);
}

static void reserved_lmr(void)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context = 0;

	IS(dat_ia_reserved_lmr(side_b.ia, &lmr, &context), DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_HANDLE(dat_ia_reserved_lmr(side_b.pz, &lmr, &context), IA);
	CHECK(!lmr && !context);
}

static void lmr_kcreate(void)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	struct mem mem;

	if (!mem_new(&side_b, &mem, PAGE_SIZE, 0))
		return;
#define CREATE(type, opt, out)						\
	dat_lmr_kcreate(side_b.ia, type, region, 1, side_b.pz, 0, opt, out,	\
			NULL, NULL, NULL, NULL)
	region.for_va = mem.va;
	BAD_ARG(CREATE(2, 0, &lmr), 2);		/* shared memory: mt:M75 */
	BAD_ARG(CREATE(0x55, 0, &lmr), 2);
	IS(CREATE(DAT_MEM_TYPE_PLATFORM, 0, &lmr), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(CREATE(DAT_MEM_TYPE_IA, 0, &lmr), DAT_MODEL_NOT_SUPPORTED, 0);
	IS(CREATE(DAT_MEM_TYPE_BYPASS, 0, &lmr), DAT_MODEL_NOT_SUPPORTED, 0);
	BAD_ARG(CREATE(0, 8, &lmr), 7);
	BAD_ARG(CREATE(0, 0, NULL), 8);
	region.for_va = (void *)0x1000;		/* a user's */
	BAD_ARG(CREATE(0, 0, &lmr), 3);
	region.for_pa = 1ULL << 51;		/* no RAM */
	BAD_ARG(CREATE(DAT_MEM_TYPE_PHYSICAL, 0, &lmr), 3);
#undef CREATE
	CHECK(!lmr);
}

/* Kernel consumers never share an asynchronous EVD. */
static void async_values(void)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)1;
	DAT_IA_HANDLE ia;

	BAD_HANDLE(dat_ia_open(side_b.name, 1, &evd, &ia), EVD_ASYNC);
	CHECK(evd == (DAT_EVD_HANDLE)1);
}

static void reject_with_data(void)
{
	char data[] = "no", zeros[8] = "";
	const DAT_CONNECTION_EVENT_DATA *end;
	struct pair p = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (!pair_apart(&p, ONE_EVD, NULL, NULL) || !start_connect(&p.a, p.listener.qual) ||
	    !next_request(&p.listener, &cr))
		return;
	BAD_HANDLE(kdat_cr_reject(p.a.ep, 0, NULL), CR);
	BAD_ARG(kdat_cr_reject(cr, -1, data), 2);
	BAD_ARG(kdat_cr_reject(cr, side_b.max_private_data + 1, data), 2);
	BAD_ARG(kdat_cr_reject(cr, 1, NULL), 3);
	OK(kdat_cr_reject(cr, sizeof(data), data));
	BAD_HANDLE(kdat_cr_reject(cr, 0, NULL), CR);
	if (!want_event(p.a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event))
		return;
	end = &event.event_data.connect_event_data;
	if (CHECK(end->private_data_size >= (DAT_COUNT)sizeof(data)))
		CHECK(!memcmp(end->private_data, data, sizeof(data)));
	OK(dat_ep_reset(p.a.ep));

	if (!start_connect(&p.a, p.listener.qual) || !next_request(&p.listener, &cr) ||
	    !OK(kdat_cr_reject(cr, sizeof(zeros), zeros)))
		return;
	want_conn(p.a.conn, p.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static const struct scenario scenarios[] = {
	SCENARIO("I5 I6 dat_ia_open: no EVD is shared", async_values),
	SCENARIO("RULING 65 P70 kdat_cr_reject: private data", reject_with_data),
	SCENARIO("mt:M80 dat_ia_memtype_hint", memtype_hint),
	SCENARIO("RULING 77 dat_ia_reserved_lmr: refused", reserved_lmr),
	SCENARIO("E12 E13 E110 dat_evd_kcreate, dat_evd_modify_upcall: values",
		 evd_kcreate),
	SCENARIO("mt:M71 mt:M73..M76 dat_lmr_kcreate: values", lmr_kcreate),
};

SCENARIO_TABLE(kernel_args_table);
