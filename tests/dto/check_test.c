// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_dto_check: what a post is checked against before it is let to a device, and the
 * table of kinds (common/dto/).
 */
#include "port.h"
#ifdef __KERNEL__
#include <kunit/test.h>
#else
#include "host_kunit.h"
#endif
#include "../../common/dto/check.c"

#define START	0x10000
#define LENGTH	0x1000
#define MESSAGE	0x1800
#define KEY	77

#define ERR(type, subtype)	DAT_ERROR(DAT_##type, DAT_##subtype)
#define ARG(n)			ERR(INVALID_PARAMETER, INVALID_ARG##n)

static const int zone, other_zone;

static const DAT_EP_ATTR attr = {
	.max_message_size = MESSAGE,
	.max_rdma_size = 2 * MESSAGE,
	.max_recv_iov = 3,
	.max_request_iov = 4,
	.max_rdma_read_iov = 1,
	.max_rdma_write_iov = 2,
	.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
};

/*
 * struct table - a post, and what it is checked against
 * @lmrs: of context 1 everything is allowed; 2 is of another zone; into 3 the device may not
 *	  write; into 4 only messages
 */
static struct table {
	struct port_lmr lmrs[4];
	struct port_target to;
	struct kdapl_dto_limits limits[KDAPL_NR_DTO_KINDS];
	DAT_LMR_TRIPLET iov[8];
	DAT_RMR_TRIPLET remote;
	struct kdapl_dto dto;
	struct port_sge sge[8];
	struct kdapl_segments out;
	u32 looks;
} t;

static void set_segment(u32 i, u32 context, u64 address, u64 length)
{
	t.iov[i].lmr_context = context;
	t.iov[i].virtual_address = address;
	t.iov[i].segment_length = length;
}

/* A post of one segment that nothing is wrong with. */
static void setup(enum kdapl_dto_kind kind)
{
	u32 i;

	t = (struct table) {};
	for (i = 0; i < 4; i++)
		t.lmrs[i] = (struct port_lmr) {
			.context = i + 1,
			.start = START,
			.length = LENGTH,
			.pz = &zone,
			.sinks = KDAPL_SINK_READ | KDAPL_SINK_RECV,
			.lkey = KEY + i,
			.privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		};
	t.lmrs[1].pz = &other_zone;
	t.lmrs[2].sinks = 0;
	t.lmrs[2].privileges = 0;
	t.lmrs[3].sinks = KDAPL_SINK_RECV;
	t.to = (struct port_target) {
		.lmrs = t.lmrs,
		.nr = 4,
		.pz = &zone,
		.outside = ARG(3),
		.looks = &t.looks,
	};
	kdapl_dto_set_limits(t.limits, &attr);
	set_segment(0, 1, START, 64);
	t.remote.segment_length = 64;
	t.dto = (struct kdapl_dto) {
		.kind = kind,
		.segments = 1,
		.iov = t.iov,
		.remote = &t.remote,
	};
	t.out.sge = t.sge;
}

static DAT_RETURN check(void)
{
	t.looks = 0;
	return kdapl_check_dto(&t.to, &t.limits[t.dto.kind], &t.dto, t.dto.kind, &t.out);
}

static DAT_RETURN check_segment(enum kdapl_dto_kind kind, u32 context, u64 address, u64 length)
{
	setup(kind);
	set_segment(0, context, address, length);
	t.remote.segment_length = length;
	return check();
}

/* mt:T19, mt:T21: flags and segments of each kind follow from the attributes. */
static void limits(struct kunit *test)
{
	const u32 sends = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			  DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG;
	const u32 others = sends & ~DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	static const struct {
		enum kdapl_dto_kind kind;
		u32 iov;
		u64 length;
	} of[] = {
		{ KDAPL_DTO_SEND, 4, MESSAGE },
		{ KDAPL_DTO_RECV, 3, MESSAGE },
		{ KDAPL_DTO_RDMA_READ, 1, 2 * MESSAGE },
		{ KDAPL_DTO_RDMA_WRITE, 2, 2 * MESSAGE },
		{ KDAPL_DTO_RDMA_WRITE_IMMED, 2, 2 * MESSAGE },
		{ KDAPL_DTO_CMP_SWAP, 1, 2 * MESSAGE },
		{ KDAPL_DTO_FETCH_ADD, 1, 2 * MESSAGE },
		{ KDAPL_DTO_SEND_INVALIDATE, 4, MESSAGE },
		{ KDAPL_DTO_RDMA_READ_TO_RMR, 1, 2 * MESSAGE },
		{ KDAPL_DTO_BIND, 0, 0 },
	};
	u32 i;

	setup(KDAPL_DTO_SEND);
	KUNIT_EXPECT_EQ(test, sizeof(of) / sizeof(of[0]), KDAPL_NR_DTO_KINDS);
	for (i = 0; i < KDAPL_NR_DTO_KINDS; i++) {
		KUNIT_EXPECT_EQ(test, of[i].iov, t.limits[of[i].kind].max_iov);
		KUNIT_EXPECT_EQ(test, of[i].length, t.limits[of[i].kind].max_length);
	}
	KUNIT_EXPECT_EQ(test, sends, t.limits[KDAPL_DTO_SEND].flags);
	KUNIT_EXPECT_EQ(test, sends, t.limits[KDAPL_DTO_SEND_INVALIDATE].flags);
	KUNIT_EXPECT_EQ(test, others, t.limits[KDAPL_DTO_RDMA_READ].flags);
	KUNIT_EXPECT_EQ(test, others, t.limits[KDAPL_DTO_RDMA_WRITE].flags);
	KUNIT_EXPECT_EQ(test, sends, t.limits[KDAPL_DTO_RDMA_WRITE_IMMED].flags);
	KUNIT_EXPECT_EQ(test, others, t.limits[KDAPL_DTO_CMP_SWAP].flags);
	KUNIT_EXPECT_EQ(test, others, t.limits[KDAPL_DTO_FETCH_ADD].flags);
	KUNIT_EXPECT_EQ(test, others, t.limits[KDAPL_DTO_BIND].flags);
	KUNIT_EXPECT_EQ(test, 0, t.limits[KDAPL_DTO_RECV].flags);
}

/* mt:T1, mt:T4, mt:T19: each fault has its argument, and the first one counts. */
static void arguments(struct kunit *test)
{
	setup(KDAPL_DTO_RDMA_WRITE);
	t.dto.flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	t.remote.target_address = ~0ULL;
	t.remote.segment_length = 2;
	t.dto.iov = NULL;
	t.dto.segments = 3;
	KUNIT_EXPECT_EQ(test, ARG(2), check());
	t.dto.segments = -1;
	KUNIT_EXPECT_EQ(test, ARG(2), check());
	t.dto.segments = 1;
	KUNIT_EXPECT_EQ(test, ARG(3), check());
	t.dto.iov = t.iov;
	KUNIT_EXPECT_EQ(test, ARG(5), check());
	t.dto.remote = NULL;
	KUNIT_EXPECT_EQ(test, ARG(5), check());
	t.dto.remote = &t.remote;
	t.remote.target_address = ~0ULL - 99;
	t.remote.segment_length = 99;
	KUNIT_EXPECT_EQ(test, ARG(6), check());
	KUNIT_EXPECT_EQ(test, 0, t.looks);
	t.dto.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());

	setup(KDAPL_DTO_RECV);
	t.dto.remote = NULL;
	t.dto.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	KUNIT_EXPECT_EQ(test, ARG(5), check());
	t.dto.flags = 0;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
}

/* mt:T5, mt:T29: no LMR, outside, another zone, no right: in this order. */
static void segments(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ERR(PROTECTION_VIOLATION, PROTECTION_READ),
			check_segment(KDAPL_DTO_SEND, 9, START, 1));
	KUNIT_EXPECT_EQ(test, ERR(PROTECTION_VIOLATION, PROTECTION_WRITE),
			check_segment(KDAPL_DTO_RECV, 9, START, 1));
	KUNIT_EXPECT_EQ(test, ARG(3), check_segment(KDAPL_DTO_RECV, 2, START - 1, 1));
	KUNIT_EXPECT_EQ(test, ERR(PROTECTION_VIOLATION, PROTECTION_WRITE),
			check_segment(KDAPL_DTO_RECV, 2, START, 1));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_segment(KDAPL_DTO_SEND, 3, START, 1));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_segment(KDAPL_DTO_RDMA_WRITE, 3, START, 1));
	KUNIT_EXPECT_EQ(test, ERR(PRIVILEGES_VIOLATION, PRIVILEGES_WRITE),
			check_segment(KDAPL_DTO_RECV, 3, START, 1));
	KUNIT_EXPECT_EQ(test, ERR(PRIVILEGES_VIOLATION, PRIVILEGES_WRITE),
			check_segment(KDAPL_DTO_RDMA_READ, 3, START, 1));
	/* mt:T35 */
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_segment(KDAPL_DTO_RECV, 4, START, 1));
	KUNIT_EXPECT_EQ(test, ERR(PRIVILEGES_VIOLATION, PRIVILEGES_RDMA_WRITE),
			check_segment(KDAPL_DTO_RDMA_READ, 4, START, 1));
}

/* mt:T5: the first and the last byte, and addresses that wrap. */
static void edges(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_segment(KDAPL_DTO_SEND, 1, START, LENGTH));
	KUNIT_EXPECT_EQ(test, 1, t.out.nr);
	KUNIT_EXPECT_EQ(test, LENGTH, t.out.length);
	KUNIT_EXPECT_EQ(test, START, t.sge[0].addr);
	KUNIT_EXPECT_EQ(test, LENGTH, t.sge[0].length);
	KUNIT_EXPECT_EQ(test, KEY, t.sge[0].lkey);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			check_segment(KDAPL_DTO_SEND, 1, START + LENGTH - 1, 1));
	KUNIT_EXPECT_EQ(test, ARG(3), check_segment(KDAPL_DTO_SEND, 1, START, LENGTH + 1));
	KUNIT_EXPECT_EQ(test, ARG(3), check_segment(KDAPL_DTO_SEND, 1, START + LENGTH, 1));
	KUNIT_EXPECT_EQ(test, ARG(3), check_segment(KDAPL_DTO_SEND, 1, START + 1, ~0ULL));
	KUNIT_EXPECT_EQ(test, ARG(3), check_segment(KDAPL_DTO_SEND, 1, ~0ULL, 2));
	/* The port knows memory of another form. */
	setup(KDAPL_DTO_SEND);
	set_segment(0, 1, START + LENGTH, 8);
	t.to.outside = DAT_SUCCESS;
	t.to.shift = 5;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, START + LENGTH + 5, t.sge[0].addr);
}

/* mt:T2, mt:T3, mt:T6: segments of nothing are not looked at; the sum has a limit. */
static void sums(struct kunit *test)
{
	setup(KDAPL_DTO_SEND);
	t.dto.segments = 4;
	set_segment(1, 9, 0, 0);
	set_segment(2, 1, START, LENGTH);
	set_segment(3, 1, START, MESSAGE - LENGTH - 64);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 3, t.looks);
	KUNIT_EXPECT_EQ(test, 3, t.out.nr);
	KUNIT_EXPECT_EQ(test, MESSAGE, t.out.length);
	t.iov[3].segment_length++;
	KUNIT_EXPECT_EQ(test, ARG(3), check());
	t.dto.segments = 0;
	t.dto.iov = NULL;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 0, t.out.nr);
	KUNIT_EXPECT_EQ(test, 0, t.out.length);
}

/* mt:T32, mt:T33: a write fits into the remote segment, a read fetches all of it. */
static void lengths(struct kunit *test)
{
	setup(KDAPL_DTO_RDMA_WRITE);
	t.remote.segment_length = 65;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 64, t.out.length);
	t.remote.segment_length = 63;
	KUNIT_EXPECT_EQ(test, ERR(LENGTH_ERROR, NO_SUBTYPE), check());

	setup(KDAPL_DTO_RDMA_READ);
	t.remote.segment_length = 65;
	KUNIT_EXPECT_EQ(test, ERR(LENGTH_ERROR, NO_SUBTYPE), check());
	t.remote.segment_length = 63;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 63, t.out.length);
	KUNIT_EXPECT_EQ(test, 63, t.sge[0].length);
}

/* mt:T33: the local segments are cut off where the remote one ends. */
static void trimmed(struct kunit *test)
{
	setup(KDAPL_DTO_RDMA_READ);
	t.limits[KDAPL_DTO_RDMA_READ].max_iov = 3;
	t.dto.segments = 3;
	set_segment(1, 1, START, 64);
	set_segment(2, 1, START, 64);
	t.remote.segment_length = 65;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 2, t.out.nr);
	KUNIT_EXPECT_EQ(test, 64, t.sge[0].length);
	KUNIT_EXPECT_EQ(test, 1, t.sge[1].length);
	t.remote.segment_length = 64;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 1, t.out.nr);
}

/* mt:T3: a read of nothing has no segment, or the one that the device wants. */
static void nothing(struct kunit *test)
{
	setup(KDAPL_DTO_RDMA_READ);
	t.remote.segment_length = 0;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 0, t.out.nr);
	KUNIT_EXPECT_EQ(test, 0, t.out.length);
	t.to.wants_one = true;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check());
	KUNIT_EXPECT_EQ(test, 1, t.out.nr);
	KUNIT_EXPECT_EQ(test, 0, t.sge[0].length);
}

static DAT_RETURN check_extension(enum kdapl_dto_kind kind, u32 extensions)
{
	t.looks = 0;
	t.dto.kind = kind;
	return kdapl_check_extension(&t.to, &t.limits[kind], &t.dto, extensions, &t.out);
}

/* X2: what the device cannot is refused before anything else is looked at. */
static void extensions(struct kunit *test)
{
	const DAT_RETURN none = ERR(MODEL_NOT_SUPPORTED, NO_SUBTYPE);

	setup(KDAPL_DTO_RDMA_WRITE_IMMED);
	t.dto.segments = -1;
	KUNIT_EXPECT_EQ(test, none, check_extension(KDAPL_DTO_RDMA_WRITE_IMMED, 0));
	KUNIT_EXPECT_EQ(test, none,
			check_extension(KDAPL_DTO_RDMA_WRITE_IMMED, KDAPL_CAN_ATOMIC));
	KUNIT_EXPECT_EQ(test, ARG(2),
			check_extension(KDAPL_DTO_RDMA_WRITE_IMMED, KDAPL_CAN_IMMED));
	t.dto.segments = 1;
	KUNIT_EXPECT_EQ(test, none, check_extension(KDAPL_DTO_FETCH_ADD, KDAPL_CAN_IMMED));
	KUNIT_EXPECT_EQ(test, none, check_extension(KDAPL_DTO_CMP_SWAP, 0));
	KUNIT_EXPECT_EQ(test, 0, t.looks);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			check_extension(KDAPL_DTO_RDMA_WRITE_IMMED, KDAPL_CAN_IMMED));
}

/* X5: eight bytes in one segment, into which the device may write, and an aligned address. */
static void atomics(struct kunit *test)
{
	static const enum kdapl_dto_kind kinds[] = { KDAPL_DTO_CMP_SWAP, KDAPL_DTO_FETCH_ADD };
	u32 i;

	for (i = 0; i < 2; i++) {
		setup(kinds[i]);
		set_segment(0, 1, START, 8);
		t.remote.segment_length = 8;
		t.remote.target_address = 4096;
		KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		KUNIT_EXPECT_EQ(test, 1, t.out.nr);
		KUNIT_EXPECT_EQ(test, 8, t.out.length);
		t.remote.target_address = 4100;
		KUNIT_EXPECT_EQ(test, ARG(5), check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		t.remote.target_address = 4104;
		t.remote.segment_length = 7;
		KUNIT_EXPECT_EQ(test, ERR(LENGTH_ERROR, NO_SUBTYPE),
				check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		t.remote.segment_length = 16;
		KUNIT_EXPECT_EQ(test, DAT_SUCCESS, check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		set_segment(0, 1, START, 16);
		KUNIT_EXPECT_EQ(test, ERR(LENGTH_ERROR, NO_SUBTYPE),
				check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		set_segment(0, 1, START, 0);
		KUNIT_EXPECT_EQ(test, ERR(LENGTH_ERROR, NO_SUBTYPE),
				check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		set_segment(0, 1, START, 8);
		t.dto.segments = 2;
		KUNIT_EXPECT_EQ(test, ARG(2), check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		t.dto.segments = 1;
		set_segment(0, 3, START, 8);
		KUNIT_EXPECT_EQ(test, ERR(PRIVILEGES_VIOLATION, PRIVILEGES_WRITE),
				check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		t.dto.flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
		KUNIT_EXPECT_EQ(test, ARG(6), check_extension(kinds[i], KDAPL_CAN_ATOMIC));
		t.dto.remote = NULL;
		KUNIT_EXPECT_EQ(test, ARG(5), check_extension(kinds[i], KDAPL_CAN_ATOMIC));
	}
}

/* Verbs' opcodes, what is written, and what names the peer's memory. */
static void rows(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PORT_WR_SEND, kdapl_dto_rows[KDAPL_DTO_SEND].opcode);
	KUNIT_EXPECT_EQ(test, PORT_WR_RDMA_READ, kdapl_dto_rows[KDAPL_DTO_RDMA_READ].opcode);
	KUNIT_EXPECT_EQ(test, PORT_WR_RDMA_WRITE, kdapl_dto_rows[KDAPL_DTO_RDMA_WRITE].opcode);
	KUNIT_EXPECT_EQ(test, PORT_WR_SEND_WITH_INV,
			kdapl_dto_rows[KDAPL_DTO_SEND_INVALIDATE].opcode);
	KUNIT_EXPECT_TRUE(test, kdapl_dto_rows[KDAPL_DTO_RDMA_READ].fetches);
	KUNIT_EXPECT_TRUE(test, !kdapl_dto_rows[KDAPL_DTO_RDMA_WRITE].fetches);
	KUNIT_EXPECT_TRUE(test, !kdapl_dto_rows[KDAPL_DTO_SEND].remote);
}

static struct kunit_case kdapl_dto_check_cases[] = {
	KUNIT_CASE(limits),
	KUNIT_CASE(arguments),
	KUNIT_CASE(segments),
	KUNIT_CASE(edges),
	KUNIT_CASE(sums),
	KUNIT_CASE(lengths),
	KUNIT_CASE(trimmed),
	KUNIT_CASE(nothing),
	KUNIT_CASE(extensions),
	KUNIT_CASE(atomics),
	KUNIT_CASE(rows),
	{}
};

static struct kunit_suite kdapl_dto_check_suite = {
	.name = "kdapl_dto_check",
	.test_cases = kdapl_dto_check_cases,
};

kunit_test_suite(kdapl_dto_check_suite);
