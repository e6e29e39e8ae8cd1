// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Kinds of memory that only kernel consumers can register.  Each is used for a
 * transfer.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kernel.h"

/* @bytes of it arrive at the other side. */
static void travels(struct pair *p, DAT_LMR_CONTEXT context, DAT_VADDR address,
		    u32 bytes, u8 seed)
{
	DAT_LMR_TRIPLET iov = {
		.lmr_context = context,
		.virtual_address = address,
		.segment_length = bytes,
	};

	OK(node_recv(&p->b, 0, bytes, 2));
	OK(dat_ep_post_send(p->a.ep, 1, &iov, cookie(1), 0));
	want_dto(p->b.recv, p->b.ep, 2, DAT_DTO_SUCCESS, bytes);
	want_dto(p->a.request, p->a.ep, 1, DAT_DTO_SUCCESS, bytes);
	mem_check(&p->b.mem, 0, bytes, seed);
}

/* Not aligned at either end, across pages. */
static void virtual_kind(struct pair *p, u8 *va, u32 length,
			 DAT_MEM_PRIV_FLAGS privileges, u8 seed)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	struct mem mem = { .va = va };
	DAT_LMR_PARAM param;
	DAT_VADDR address;
	DAT_VLEN size;

	mem_fill(&mem, 0, length, seed);
	if (!OK(dat_lmr_kcreate(side_a.ia, DAT_MEM_TYPE_VIRTUAL, region, length,
				side_a.pz, privileges,
				DAT_MEM_OPTIMIZE_EXACT_EXPOSURE, &mem.lmr,
				&mem.context, &mem.rmr_context, &size,
				&address)))
		return;
	CHECK_EQ(size, length);
	CHECK_EQ(address, (uintptr_t)va);
	/* mt:M15 */
	CHECK_EQ(!!mem.rmr_context,
		 !!(privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG));
	travels(p, mem.context, address, length, seed);
	if (OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param))) {
		CHECK(param.region_desc.for_va == va);
		CHECK_EQ(param.length, length);
		CHECK_EQ(param.mem_priv, privileges);
	}
	OK(dat_lmr_free(mem.lmr));
}

static void virtual_kinds(void)
{
	u8 *linear = kmalloc(16384, GFP_KERNEL), *mapped = vmalloc(16384);
	struct pair p = {};

	if (CHECK(linear && mapped) && pair_new(&p, THREE_EVDS, NULL, NULL)) {
		virtual_kind(&p, linear + 4093, 3000,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG, 1);
		virtual_kind(&p, mapped + 1, 9000, DAT_MEM_PRIV_ALL_FLAG, 2);
	}
	kfree(linear);
	vfree(mapped);
}

static void physical(void)
{
	u8 *linear = kmalloc(16384, GFP_KERNEL);
	DAT_REGION_DESCRIPTION region;
	struct mem mem = {};
	struct pair p = {};
	DAT_RMR_TRIPLET remote;
	DAT_VADDR address;

	if (!CHECK(linear) || !pair_new(&p, THREE_EVDS, NULL, NULL))
		goto out;
	mem.va = linear + 100;
	mem_fill(&mem, 0, 10000, 3);
	region.for_pa = virt_to_phys(mem.va);
	if (!OK(platform_lmr_register(side_a.ia, DAT_MEM_TYPE_PHYSICAL, region,
				      10000, side_a.pz, DAT_MEM_PRIV_ALL_FLAG,
				      &mem.lmr, &mem.context, &mem.rmr_context,
				      NULL, &address)))
		goto out;
	CHECK(address == region.for_pa);	/* mt:M74 */
	travels(&p, mem.context, address, 10000, 3);
	/* The peer uses the same numbers. */
	remote = (DAT_RMR_TRIPLET) {
		.rmr_context = mem.rmr_context,
		.target_address = address,
		.segment_length = 10000,
	};
	OK(node_read(&p.b, 20000, 10000, &remote, 9, 0));
	want_dto(p.b.request, p.b.ep, 9, DAT_DTO_SUCCESS, 10000);
	mem_check(&p.b.mem, 20000, 10000, 3);
	OK(dat_lmr_free(mem.lmr));
out:
	kfree(linear);
}

static const struct scenario scenarios[] = {
	SCENARIO("mt:M5 mt:M6 mt:M15 mt:M16 mt:M73 mt:M77 LMR of linear and of vmalloc memory",
		 virtual_kinds),
	SCENARIO("mt:M74 LMR of physical memory", physical),
};

SCENARIO_TABLE(kernel_memory_table);
