// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Local memory regions of each kind, each used for real transfers.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kdat_rules.h"

/* Registers @region and says what it got in @mem; va stays as it is. */
static bool register_it(struct side *side, struct mem *mem, DAT_MEM_TYPE type,
			DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			DAT_MEM_PRIV_FLAGS privileges, DAT_VADDR *address)
{
	DAT_VLEN size;

	if (!OK(dat_lmr_kcreate(side->ia, type, region, length, side->pz,
				privileges, DAT_MEM_OPTIMIZE_EXACT_EXPOSURE,
				&mem->lmr, &mem->context, &mem->rmr_context,
				&size, address)))
		return false;
	return type == DAT_MEM_TYPE_LMR || CHECK(size == length);
}

/* 3000 bytes from @address of @context arrive at the other side. */
static void travels(struct link *link, DAT_LMR_CONTEXT context,
		    DAT_VADDR address, u8 seed)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov = {
		.lmr_context = context,
		.virtual_address = address,
		.segment_length = 3000,
	};

	OK(node_recv(&link->b, 0, 3000, 2));
	OK(dat_ep_post_send(link->a.ep, 1, &iov, cookie, 0));
	want_dto(link->b.events, link->b.ep, 2, DAT_DTO_SUCCESS, 3000);
	want_dto(link->a.events, link->a.ep, 1, DAT_DTO_SUCCESS, 3000);
	mem_check(&link->b.mem, 0, 3000, seed);
}

static void virtual_kinds(void)
{
	u8 *linear = kmalloc(16384, GFP_KERNEL), *mapped = vmalloc(16384);
	DAT_REGION_DESCRIPTION region;
	struct mem mem = {};
	struct link link = {};
	DAT_LMR_PARAM param;
	DAT_VADDR address;

	if (!linear || !mapped || !link_new(&link, NULL, NULL))
		goto out;
	/* Not aligned at either end, across pages. */
	mem.va = linear + 4093;
	mem_fill(&mem, 0, 3000, 1);
	region.for_va = mem.va;
	if (!register_it(&side_a, &mem, DAT_MEM_TYPE_VIRTUAL, region, 3000,
			 DAT_MEM_PRIV_LOCAL_READ_FLAG, &address))
		goto out;
	CHECK(address == (uintptr_t)mem.va);
	CHECK(!mem.rmr_context);		/* mt:M15 */
	travels(&link, mem.context, address, 1);
	if (OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param))) {
		CHECK(param.ia_handle == side_a.ia);
		CHECK(param.mem_type == DAT_MEM_TYPE_VIRTUAL);
		CHECK(param.region_desc.for_va == mem.va);
		CHECK(param.length == 3000 && param.registered_size == 3000);
		CHECK(param.pz_handle == side_a.pz);
		CHECK(param.mem_priv == DAT_MEM_PRIV_LOCAL_READ_FLAG);
		CHECK(param.lmr_context == mem.context);
		CHECK(param.registered_address == address);
	}
	OK(dat_lmr_free(mem.lmr));

	mem.va = mapped + 1;
	mem_fill(&mem, 0, 9000, 2);
	region.for_va = mem.va;
	if (!register_it(&side_a, &mem, DAT_MEM_TYPE_VIRTUAL, region, 9000,
			 DAT_MEM_PRIV_ALL_FLAG, &address))
		goto out;
	CHECK(mem.rmr_context);
	travels(&link, mem.context, address, 2);
	OK(dat_lmr_free(mem.lmr));
out:
	link_free(&link);
	kfree(linear);
	vfree(mapped);
}

static void physical(void)
{
	u8 *linear = kmalloc(16384, GFP_KERNEL);
	DAT_REGION_DESCRIPTION region;
	struct mem mem = {};
	struct link link = {};
	DAT_VADDR address;
	DAT_RMR_TRIPLET remote;

	if (!linear || !link_new(&link, NULL, NULL))
		goto out;
	mem.va = linear + 100;
	mem_fill(&mem, 0, 10000, 3);
	region.for_pa = virt_to_phys(mem.va);
	if (!register_it(&side_a, &mem, DAT_MEM_TYPE_PHYSICAL, region, 10000,
			 DAT_MEM_PRIV_ALL_FLAG, &address))
		goto out;
	CHECK(address == region.for_pa);	/* mt:M74 */
	travels(&link, mem.context, address, 3);
	/* The peer uses the same numbers. */
	remote = (DAT_RMR_TRIPLET) {
		.rmr_context = mem.rmr_context,
		.target_address = address,
		.segment_length = 10000,
	};
	OK(node_read(&link.b, 20000, 10000, &remote, 9, 0));
	want_dto(link.b.events, link.b.ep, 9, DAT_DTO_SUCCESS, 10000);
	mem_check(&link.b.mem, 20000, 10000, 3);
	OK(dat_lmr_free(mem.lmr));
out:
	link_free(&link);
	kfree(linear);
}

static void of_another(void)
{
	DAT_REGION_DESCRIPTION region;
	struct mem first = {}, second = {};
	struct link link = {};
	DAT_LMR_TRIPLET iov;
	DAT_LMR_PARAM param;
	DAT_VADDR address;

	if (!link_new(&link, NULL, NULL) ||
	    !mem_new(&side_a, &first, 8192, DAT_MEM_PRIV_NONE_FLAG))
		goto out;
	/* mt:M12: nobody can write to it. */
	iov = piece(&first, 0, 8);
	IS(dat_ep_post_recv(link.a.ep, 1, &iov, (DAT_CONTEXT) {}, 0),
	   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	region.for_lmr_handle = first.lmr;
	mem_fill(&first, 0, 3000, 4);
	second.va = first.va;
	if (!register_it(&side_a, &second, DAT_MEM_TYPE_LMR, region, 0,
			 DAT_MEM_PRIV_ALL_FLAG, &address))
		goto out;
	CHECK(address == (uintptr_t)first.va);
	CHECK(second.context != first.context);
	if (OK(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param))) {
		CHECK(param.mem_type == DAT_MEM_TYPE_LMR);
		CHECK(param.region_desc.for_lmr_handle == first.lmr);
		CHECK(param.registered_size == 8192);
	}
	/* mt:M8 */
	OK(dat_lmr_free(first.lmr));
	first.lmr = DAT_HANDLE_NULL;
	travels(&link, second.context, address, 4);
	OK(dat_lmr_free(second.lmr));
out:
	link_free(&link);
	mem_free(&first);
}

static void freed(void)
{
	struct mem mem = {}, again = {};
	DAT_LMR_TRIPLET iov, live;
	DAT_RMR_TRIPLET remote;
	struct link link = {};
	DAT_EVENT event;
	DAT_LMR_HANDLE lmr;

	if (!link_new(&link, NULL, NULL) ||
	    !mem_new(&side_a, &mem, 4096, DAT_MEM_PRIV_ALL_FLAG))
		goto out;
	iov = piece(&mem, 0, 64);
	remote = remote_piece(&mem, 0, 64);
	lmr = mem.lmr;
	mem_fill(&mem, 0, 4096, 5);
	OK(dat_lmr_free(lmr));
	BAD_HANDLE(dat_lmr_free(lmr), LMR);
	mem.lmr = DAT_HANDLE_NULL;
	mem_check(&mem, 0, 4096, 5);		/* L3 */
	/* L13: over the same memory, and the old contexts are still dead. */
	if (!mem_new(&side_a, &again, 4096, DAT_MEM_PRIV_ALL_FLAG))
		goto out;
	CHECK(again.context != iov.lmr_context);
	CHECK(again.rmr_context != remote.rmr_context);
	live = piece(&again, 0, 64);
	IS(dat_ep_post_send(link.a.ep, 1, &iov, (DAT_CONTEXT) {}, 0),
	   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	/* L11: nothing has happened to the connection. */
	OK(node_recv(&link.b, 0, 64, 1));
	OK(dat_ep_post_send(link.a.ep, 1, &live, (DAT_CONTEXT) { .as_64 = 2 },
			    0));
	want_dto(link.b.events, link.b.ep, 1, DAT_DTO_SUCCESS, 64);
	want_dto(link.a.events, link.a.ep, 2, DAT_DTO_SUCCESS, 64);
	/* L7 */
	OK(node_write(&link.b, 0, 64, &remote, 3, 0));
	want_dto(link.b.events, link.b.ep, 3, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	want_conn(link.b.events, link.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	if (next_event(link.a.events, &event))
		CHECK(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	mem_check(&mem, 0, 4096, 5);
out:
	link_free(&link);
	mem_free(&again);
	mem_free(&mem);
}

/* L6: a receive that waits, over memory that goes. */
static void freed_under_receive(void)
{
	struct mem mem = {};
	struct link link = {};
	DAT_LMR_TRIPLET iov;
	DAT_EVENT event;

	if (!link_new(&link, NULL, NULL) ||
	    !mem_new(&side_b, &mem, 4096, DAT_MEM_PRIV_ALL_FLAG))
		goto out;
	iov = piece(&mem, 0, 64);
	OK(dat_ep_post_recv(link.b.ep, 1, &iov, (DAT_CONTEXT) { .as_64 = 1 },
			    0));
	OK(dat_lmr_free(mem.lmr));
	mem.lmr = DAT_HANDLE_NULL;
	state_is(link.b.ep, DAT_EP_STATE_CONNECTED);
	mem_fill(&link.a.mem, 0, 64, 9);
	OK(node_send(&link.a, 0, 64, 2, 0));
	if (want_event(link.b.events, DAT_DTO_COMPLETION_EVENT, &event))
		CHECK(event.event_data.dto_completion_event_data.status !=
		      DAT_DTO_SUCCESS);
	want_conn(link.b.events, link.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK(!mem.va[0] && !mem.va[63]);
out:
	link_free(&link);
	mem_free(&mem);
}

static void many_regions(void)
{
	static struct mem mems[64];
	unsigned int i, n;

	for (n = 0; n < ARRAY_SIZE(mems); n++)
		if (!mem_new(&side_b, &mems[n], 5000, DAT_MEM_PRIV_ALL_FLAG))
			break;
	for (i = 0; i + 1 < n; i++)
		CHECK(mems[i].context != mems[i + 1].context);
	for (i = 0; i < n; i++)
		mem_free(&mems[i]);
}

const struct test_case memory_cases[] = {
	{ "mt:M5 mt:M6 mt:M15 mt:M16 mt:M73 mt:M77",
	  "LMR, linear and vmalloc memory", virtual_kinds },
	{ "mt:M74", "LMR, physical memory", physical },
	{ "mt:M7 mt:M8 mt:M12 mt:M75", "LMR of another LMR", of_another },
	{ "L1 L4 L7 L11 L13 mt:M24 mt:M25 mt:M26 mt:M27",
	  "LMR freed: contexts are dead",
	  freed },
	{ "L6 mt:M23", "LMR freed under a receive", freed_under_receive },
	{ "mt:M5", "many LMRs", many_regions },
	{}
};
