// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_driver: what kdapl does on each driver, as Documentation/drivers.rst
 * has it: windows, and who registers the memory of a process; and an adapter without
 * windows (mt:M28).
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "glue/driver.h"
#include "glue/mr.h"
#include "stage.h"

struct driver_case {
	const char *name;
	enum rdma_driver_id id;
	u32 list_len;
	u32 frmr_pages;
	u32 window_pages;
	bool pins, only;
	bool iova;
	u64 sizes;
};

/*
 * Of those that register memory by work requests; @list_len as the driver, or its
 * firmware, says.  All know pages of 4 KiB to 128 MiB, and of half of the kernel's, which are
 * among these where the kernel's are large.
 */
#define ALL_SIZES	(0xffff000 | PAGE_SIZE / 2)
#define WHOLE_PAGES	(ALL_SIZES & ~(u64)(PAGE_SIZE - 1))
static const struct driver_case driver_cases[] = {
	{ "bnxt_re", RDMA_DRIVER_BNXT_RE, 512, 512, 512, true, false,
	  true, ALL_SIZES },
	{ "hfi1", RDMA_DRIVER_HFI1, UINT_MAX, 134086656, 512, true, true,
	  true, ALL_SIZES },
	{ "hns", RDMA_DRIVER_HNS, 512, 512, 0, false, false,
	  true, ALL_SIZES },
	{ "irdma", RDMA_DRIVER_IRDMA, 262144, 262144, 512, false, false,
	  true, ALL_SIZES },
	{ "mlx4", RDMA_DRIVER_MLX4, 511, 511, 511, true, false,
	  true, ALL_SIZES },
	{ "mlx5", RDMA_DRIVER_MLX5, 65536, 65536, 512, true, false,
	  true, ALL_SIZES },
	{ "ocrdma", RDMA_DRIVER_OCRDMA, 64, 64, 64, true, false,
	  false, ALL_SIZES },
	{ "qedr", RDMA_DRIVER_QEDR, 8192, 8192, 512, true, false,
	  true, ALL_SIZES },
	{ "vmw_pvrdma", RDMA_DRIVER_VMW_PVRDMA, 128, 128, 128, true, false,
	  true, PAGE_SIZE },
	{ "rxe", RDMA_DRIVER_RXE, 512, 512, 512, true, false,
	  true, WHOLE_PAGES },
	{ "siw", RDMA_DRIVER_SIW, 256, 256, 256, true, true,
	  true, ALL_SIZES },
};

static void driver_name(const struct driver_case *c, char *name)
{
	strscpy(name, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(driver, driver_cases, driver_name);

static void by_driver(struct kunit *test)
{
	const struct driver_case *c = test->param_value;
	struct ib_device *ib = kunit_kzalloc(test, sizeof(*ib), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ib);
	ib->ops.driver_id = c->id;
	ib->attrs.max_fast_reg_page_list_len = c->list_len;
	ib->attrs.page_size_cap = ALL_SIZES;
	KUNIT_EXPECT_EQ(test, c->frmr_pages, kdapl_driver_frmr_pages(ib));
	KUNIT_EXPECT_EQ(test, c->window_pages, kdapl_window_pages(ib, PAGE_SHIFT));
	/* Where the kernel's pages are 16 of the device's */
	if (c->window_pages)
		KUNIT_EXPECT_EQ(test, min(c->list_len / 16, 512U),
				kdapl_window_pages(ib, PAGE_SHIFT - 4));
	KUNIT_EXPECT_EQ(test, c->pins, kdapl_driver_pins(ib));
	KUNIT_EXPECT_EQ(test, c->only, kdapl_driver_only(ib));
	KUNIT_EXPECT_EQ(test, c->iova, kdapl_driver_takes_iova(ib));
	KUNIT_EXPECT_EQ(test, c->sizes, kdapl_driver_page_sizes(ib));
}

/*
 * mt:M5: the pages of an MR are the kernel's, or the largest smaller ones that the device has: with
 * 64 KiB irdma, which has 4 KiB, 2 MiB and 1 GiB, would map next to no memory.
 */
static void first_size(struct kunit *test)
{
	const u64 irdma = SZ_4K | SZ_2M | SZ_1G;

	KUNIT_EXPECT_EQ(test, 12U, kdapl_mr_first_shift(irdma, 16));
	KUNIT_EXPECT_EQ(test, 12U, kdapl_mr_first_shift(irdma, 12));
	KUNIT_EXPECT_EQ(test, 21U, kdapl_mr_first_shift(irdma, 22));
	KUNIT_EXPECT_EQ(test, 16U, kdapl_mr_first_shift(ALL_SIZES, 16));
	KUNIT_EXPECT_EQ(test, 14U, kdapl_mr_first_shift(ALL_SIZES, 14));
	/* None: what is larger is tried from there on. */
	KUNIT_EXPECT_EQ(test, 16U, kdapl_mr_first_shift(SZ_2M, 16));
	KUNIT_EXPECT_EQ(test, 11U, kdapl_mr_first_shift(SZ_512 | SZ_4K, 11));
	KUNIT_EXPECT_EQ(test, 3U, kdapl_mr_first_shift(ALL_SIZES, 3));
}

/* mt:M5, mt:M11: memory in two pieces, and the page size that it is mapped with */
static void size_of_memory(struct kunit *test)
{
	struct kdapl_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct scatterlist sg[2];

	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->attrs.page_size_cap = SZ_512 | SZ_4K | SZ_2M;
	sg_init_table(sg, 2);
	sg_dma_address(&sg[0]) = SZ_4M;
	sg_dma_len(&sg[0]) = SZ_2M;
	sg_dma_address(&sg[1]) = SZ_16M;
	sg_dma_len(&sg[1]) = SZ_2M;
	KUNIT_EXPECT_EQ(test, 12, kdapl_mr_shift(dev, sg, 2, 0, 1024));
	KUNIT_EXPECT_EQ(test, 21, kdapl_mr_shift(dev, sg, 2, 0, 1023));
	KUNIT_EXPECT_EQ(test, -E2BIG, kdapl_mr_shift(dev, sg, 2, 0, 1));
	/* At an address that does not agree with the memory in pages of 2 MiB */
	KUNIT_EXPECT_EQ(test, -E2BIG, kdapl_mr_shift(dev, sg, 2, SZ_4K, 1023));
	KUNIT_EXPECT_EQ(test, -E2BIG, kdapl_mr_shift(dev, sg, 2, SZ_512, U32_MAX));
	/* With a gap inside of a page of the smallest size */
	sg_dma_len(&sg[0]) -= SZ_512;
	KUNIT_EXPECT_EQ(test, -E2BIG, kdapl_mr_shift(dev, sg, 2, 0, U32_MAX));
}

/* What a driver was asked to notify of */
static enum ib_cq_notify_flags asked;

static int note_notify(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	asked = flags;
	return 0;
}

/*
 * mt:T22: siw has no notification for solicited messages alone; it would never come.
 * Whose drivers have it are asked for it.
 */
static void solicited(struct kunit *test)
{
	struct ib_device *ib = kunit_kzalloc(test, sizeof(*ib), GFP_KERNEL);
	struct ib_cq cq = { .device = ib };
	struct kdapl_cq arm = { .ib = &cq };

	KUNIT_ASSERT_NOT_NULL(test, ib);
	ib->ops.req_notify_cq = note_notify;
	ib->ops.driver_id = RDMA_DRIVER_RXE;
	KUNIT_EXPECT_EQ(test, 0, kdapl_ib_qp_ops.cq_arm(&arm, true));
	KUNIT_EXPECT_EQ(test, (u32)IB_CQ_SOLICITED, (u32)asked & IB_CQ_SOLICITED_MASK);
	ib->ops.driver_id = RDMA_DRIVER_SIW;
	KUNIT_EXPECT_EQ(test, 0, kdapl_iw_qp_ops.cq_arm(&arm, true));
	KUNIT_EXPECT_EQ(test, (u32)IB_CQ_NEXT_COMP, (u32)asked & IB_CQ_SOLICITED_MASK);
	KUNIT_EXPECT_EQ(test, 0, kdapl_iw_qp_ops.cq_arm(&arm, false));
	KUNIT_EXPECT_EQ(test, (u32)IB_CQ_NEXT_COMP, (u32)asked & IB_CQ_SOLICITED_MASK);
}

/* A query says so, and creating one is refused before anything else happens. */
static void no_windows(struct kunit *test)
{
	DAT_IA_ATTR *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct bench *b = test->priv;
	struct census before = bench_census(b);
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_EQ(test, DONE, kdapl_pz_create(&b->space, b->ia, &pz));
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ia_query(&b->space, b->ia, NULL, DAT_IA_ALL, attr, 0, NULL));
	KUNIT_EXPECT_GT(test, (int)attr->max_rmrs, 0);

	b->fake->dev->max_window_pages = 0;
	KUNIT_EXPECT_EQ(test, DONE,
			kdapl_ia_query(&b->space, b->ia, NULL, DAT_IA_ALL, attr, 0, NULL));
	KUNIT_EXPECT_EQ(test, 0, (int)attr->max_rmrs);
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE),
			kdapl_rmr_create(&b->space, pz, &rmr));
	KUNIT_EXPECT_EQ(test, DONE, kdapl_pz_free(&b->space, pz));
	expect_same(b, &before);
}

static struct kunit_case driver_suite_cases[] = {
	KUNIT_CASE_PARAM(by_driver, driver_gen_params),
	KUNIT_CASE(first_size),
	KUNIT_CASE(size_of_memory),
	KUNIT_CASE(solicited),
	KUNIT_CASE(no_windows),
	{}
};

static struct kunit_suite driver_suite = {
	.name = "kdapl_driver",
	.suite_init = core_up,
	.suite_exit = core_down,
	.init = bench_init,
	.exit = bench_exit,
	.test_cases = driver_suite_cases,
};

kunit_test_suite(driver_suite);
