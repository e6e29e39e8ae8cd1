// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection Zones and Local Memory Regions (mt:M1..M27, mt:M67..M69). */
#include <sys/mman.h>
#include "rig.h"

static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT context;
static DAT_RMR_CONTEXT rmr;
static DAT_VLEN size;
static DAT_VADDR address;

static DAT_RETURN create_va(void *va, DAT_VLEN length,
			    DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = va };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, length, a.pz,
			      privileges, &lmr, &context, &rmr, &size,
			      &address);
}

static DAT_RETURN create_type(DAT_MEM_TYPE type)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };

	return dat_lmr_create(a.ia, type, region, 64, a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr,
			      &size, &address);
}

static void pz(void)
{
	DAT_PZ_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE z;

	rig_open(&a);
	CHECK_RET(dat_pz_create(a.ia, NULL), ARG(2));
	OK(dat_pz_create(a.ia, &z));
	CHECK_RET(dat_pz_query(z, 2, &param), ARG(2));
	CHECK_RET(dat_pz_query(z, DAT_PZ_FIELD_ALL, NULL), ARG(3));
	OK(dat_pz_query(z, DAT_PZ_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia);
	OK(dat_ep_create(a.ia, z, NULL, NULL, NULL, NULL, &ep));
	CHECK_RET(dat_pz_free(z), STATE(PZ_IN_USE));
	OK(dat_ep_free(ep));
	OK(dat_pz_free(z));
	CHECK_RET(dat_pz_free(z), HANDLE(PZ));
	CHECK_RET(dat_pz_free(a.pz), STATE(PZ_IN_USE));
}

static void lmr_arguments(void)
{
	DAT_REGION_DESCRIPTION region;
	uint8_t *hole, *readonly;

	rig_open(&a);
	hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	CHECK(hole != MAP_FAILED && readonly != MAP_FAILED);
	CHECK(!munmap(hole + 4096, 4096));

	CHECK_RET(create_type(3), ARG(2));
	CHECK_RET(create_type(0x10), ARG(2));
	CHECK_RET(create_va(hole, 3 * 4096, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(hole + 4096, 64, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(NULL, 64, DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va((void *)0xffff800000000000, 64,
			    DAT_MEM_PRIV_ALL_FLAG), ARG(3));
	CHECK_RET(create_va(a.mem, 0, DAT_MEM_PRIV_ALL_FLAG), ARG(4));
	CHECK_RET(create_va(a.mem, -(uint64_t)a.mem, DAT_MEM_PRIV_ALL_FLAG),
		  ARG(4));
	CHECK_RET(create_va(a.mem, ~0ull, DAT_MEM_PRIV_ALL_FLAG), ARG(4));
	CHECK_RET(create_va(a.mem, 64, 0x40), ARG(6));
	CHECK_RET(create_va(a.mem, 64, 0x133), ARG(6));
	CHECK_RET(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
		  ARG(6));
	CHECK_RET(create_va(readonly, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
		  ARG(6));
	region.for_va = a.mem;
	CHECK_RET(dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, NULL, NULL,
				 NULL), ARG(7));
	region.for_shared_memory.virtual_address = a.mem;
	region.for_shared_memory.shared_memory_id =
		(DAT_LMR_COOKIE)(hole + 4096);
	CHECK_RET(dat_lmr_create(a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64,
				 a.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL,
				 NULL, NULL), ARG(3));
	OK(create_va(readonly, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	OK(dat_lmr_free(lmr));
	munmap(hole, 3 * 4096);
	munmap(readonly, 4096);
}

static void lmr_life(void)
{
	DAT_LMR_CONTEXT first;
	DAT_RMR_CONTEXT first_rmr;
	DAT_LMR_PARAM param;

	rig_open(&a);
	OK(create_va(a.mem + 5, 5001, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(size, 5001);
	CHECK_EQ(address, (uintptr_t)a.mem + 5);
	CHECK(rmr);
	CHECK_RET(dat_lmr_query(lmr, 0x400, &param), ARG(2));
	CHECK_RET(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, NULL), ARG(3));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK(param.ia_handle == a.ia && param.pz_handle == a.pz);
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	CHECK(param.region_desc.for_va == a.mem + 5);
	CHECK_EQ(param.length, 5001);
	CHECK_EQ(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ(param.lmr_context, context);
	CHECK_EQ(param.rmr_context, rmr);
	CHECK_EQ(param.registered_size, 5001);
	CHECK_EQ(param.registered_address, (uintptr_t)a.mem + 5);

	/* mt:M27: a context is not used again at once */
	first = context;
	first_rmr = rmr;
	OK(dat_lmr_free(lmr));
	CHECK_RET(dat_lmr_free(lmr), HANDLE(LMR));
	CHECK_RET(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), HANDLE(LMR));
	OK(create_va(a.mem + 5, 5001, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(context != first);
	CHECK(rmr != first_rmr);
	OK(dat_lmr_free(lmr));

	/* mt:M15: without remote rights there is no rmr_context */
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG));
	CHECK_EQ(rmr, 0);
	OK(dat_lmr_free(lmr));
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG));
	CHECK(rmr);
	OK(dat_lmr_free(lmr));
	OK(create_va(a.mem, 64, DAT_MEM_PRIV_NONE_FLAG));
	CHECK_EQ(rmr, 0);
	OK(dat_lmr_free(lmr));
}

static void lmr_of_lmr(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE original;
	DAT_LMR_PARAM param;

	rig_open(&a);
	OK(create_va(a.mem, 4096, DAT_MEM_PRIV_NONE_FLAG));
	original = lmr;
	region.for_lmr_handle = original;
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_LMR, region, 1, a.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr, &size,
			  &address));
	CHECK_EQ(size, 4096);
	CHECK_EQ(address, (uintptr_t)a.mem);
	OK(dat_lmr_free(original));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
	CHECK(param.region_desc.for_lmr_handle == original);
	OK(dat_lmr_free(lmr));
}

static void lmr_shared(void)
{
	static char id[DAT_LMR_COOKIE_SIZE] = "forty bytes that name shared memory";
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;

	rig_open(&a);
	region.for_shared_memory.virtual_address = a.mem;
	region.for_shared_memory.shared_memory_id = &id;
	OK(dat_lmr_create(a.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 100, a.pz,
			  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &rmr, &size,
			  &address));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	CHECK(param.region_desc.for_shared_memory.virtual_address == a.mem);
	CHECK(!memcmp(param.region_desc.for_shared_memory.shared_memory_id, id,
		      sizeof(id)));
	OK(dat_lmr_free(lmr));
}

static void lmr_sync(void)
{
	DAT_LMR_TRIPLET segments[3000];
	size_t i;

	rig_open(&a);
	for (i = 0; i < ARRAY_SIZE(segments); i++)
		segments[i] = seg(&a, i, 16);
	OK(dat_lmr_sync_rdma_read(a.ia, segments, 3000));
	OK(dat_lmr_sync_rdma_write(a.ia, segments, 3000));
	OK(dat_lmr_sync_rdma_read(a.ia, NULL, 0));
	CHECK_RET(dat_lmr_sync_rdma_read(a.ia, NULL, 1), ARG(2));
	segments[1].lmr_context = ~a.context;
	CHECK_RET(dat_lmr_sync_rdma_read(a.ia, segments, 2), ARG(2));
	segments[1] = seg(&a, MEM - 8, 9);
	CHECK_RET(dat_lmr_sync_rdma_write(a.ia, segments, 2), ARG(2));
}

static const struct check_case cases[] = {
	{ "mt:M1 mt:M3 protection zones", pz },
	{ "mt:M6 mt:M9..M13 mt:M17 dat_lmr_create: arguments", lmr_arguments },
	{ "L1 mt:M5 mt:M15 mt:M16 mt:M26 mt:M27 the life of an LMR", lmr_life },
	{ "mt:M7 mt:M8 an LMR of an LMR", lmr_of_lmr },
	{ "mt:M9 shared memory", lmr_shared },
	{ "mt:M67 mt:M69 dat_lmr_sync", lmr_sync },
};

SET(memory_set);
