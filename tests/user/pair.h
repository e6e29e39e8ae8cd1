/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connection of which one process has both ends, through libdat, and messages on it that
 * have to arrive as they were sent: for programs beside which something else goes on
 * (tests/fuzz, tests/soak).  The including file says what becomes of a failure: pair_fail(),
 * which does not return.
 */
#ifndef PAIR_H
#define PAIR_H

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <dat/udat.h>

#define PAIR_MESSAGE	4096
/* us; what ends a deadlock */
#define PAIR_PATIENCE	180000000

/* @srq: the shared receive queue of its endpoint, made by the including file; or none */
struct pair_end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_TRIPLET memory;
	struct sockaddr_in address;
	uint64_t words[PAIR_MESSAGE / 8];
};

static void pair_fail(const char *what, unsigned int code) __attribute__((noreturn));

static inline void pair_must(DAT_RETURN ret, const char *call)
{
	if (ret)
		pair_fail(call, ret);
}

#define PAIR_MUST(call)	pair_must(call, #call)

/* Where memory may be scarce: that costs no more than the call. */
#define PAIR_TRY(call)								\
	do {									\
		DAT_RETURN ret_;						\
										\
		for (;;) {							\
			ret_ = (call);						\
			if (DAT_GET_TYPE(ret_) != DAT_INSUFFICIENT_RESOURCES)	\
				break;						\
			usleep(1000);						\
		}								\
		pair_must(ret_, #call);						\
	} while (0)

/* All but the endpoint */
static inline void pair_open(struct pair_end *end, const char *ia_name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = end->words };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr;
	DAT_IA_ATTR attr;

	PAIR_MUST(dat_ia_open((DAT_NAME_PTR)ia_name, 8, &async, &end->ia));
	PAIR_MUST(dat_ia_query(end->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&end->address, attr.ia_address_ptr, sizeof(end->address));
	PAIR_MUST(dat_pz_create(end->ia, &end->pz));
	PAIR_MUST(dat_evd_create(end->ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG |
				 DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG |
				 DAT_EVD_RMR_BIND_FLAG, &end->evd));
	PAIR_MUST(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, PAIR_MESSAGE, end->pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, &end->memory.lmr_context, NULL,
				 NULL, NULL));
	end->memory.virtual_address = (uintptr_t)end->words;
	end->memory.segment_length = PAIR_MESSAGE;
}

static inline DAT_EVENT pair_event(struct pair_end *end)
{
	DAT_EVENT event;
	DAT_COUNT more;

	PAIR_TRY(dat_evd_wait(end->evd, PAIR_PATIENCE, 1, &event, &more));
	return event;
}

static inline DAT_EVENT pair_expect(struct pair_end *end, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = pair_event(end);

	if (event.event_number != number)
		pair_fail("another event came", event.event_number);
	return event;
}

static inline void pair_new_ep(struct pair_end *end)
{
	/* An endpoint on a shared receive queue has no default attributes. */
	static const DAT_EP_ATTR on_srq = {
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_message_size = PAIR_MESSAGE, .max_rdma_size = PAIR_MESSAGE,
		.max_request_dtos = 4, .max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = 1, .max_rdma_read_out = 1, .max_rdma_read_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};

	if (end->srq)
		PAIR_MUST(dat_ep_create_with_srq(end->ia, end->pz, end->evd, end->evd, end->evd,
						 end->srq, &on_srq, &end->ep));
	else
		PAIR_MUST(dat_ep_create(end->ia, end->pz, end->evd, end->evd, end->evd, NULL,
					&end->ep));
}

/* New endpoints of both, connected by way of @qual */
static inline void pair_connect(struct pair_end *a, struct pair_end *b, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	pair_new_ep(a);
	pair_new_ep(b);
	PAIR_MUST(dat_psp_create(b->ia, qual, b->evd, DAT_PSP_CONSUMER_FLAG, &psp));
	PAIR_MUST(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)&b->address, qual, PAIR_PATIENCE, 0,
				 NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = pair_expect(b, DAT_CONNECTION_REQUEST_EVENT);
	PAIR_MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b->ep, 0,
				NULL));
	pair_expect(a, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_expect(b, DAT_CONNECTION_EVENT_ESTABLISHED);
	PAIR_MUST(dat_psp_free(psp));
}

static inline void pair_completed(struct pair_end *end, uint64_t cookie)
{
	DAT_EVENT event = pair_expect(end, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		pair_fail("a transfer failed", dto->status);
	if (dto->user_cookie.as_64 != cookie || dto->transfered_length != PAIR_MESSAGE)
		pair_fail("another completion", dto->user_cookie.as_64);
}

/* What is to come from one to the other, made of a number */
static inline void pair_fill(struct pair_end *from, struct pair_end *to, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < PAIR_MESSAGE / 8; i++)
		from->words[i] = (number * 1000003 + i) * 0x9e3779b97f4a7c15ULL;
	memset(to->words, 0, PAIR_MESSAGE);
}

static inline void pair_compare(struct pair_end *from, struct pair_end *to, uint64_t number)
{
	if (memcmp(from->words, to->words, PAIR_MESSAGE))
		pair_fail("a message was changed", number);
}

static inline void pair_post_recv(struct pair_end *end, DAT_DTO_COOKIE cookie)
{
	if (end->srq)
		PAIR_TRY(dat_srq_post_recv(end->srq, 1, &end->memory, cookie));
	else
		PAIR_TRY(dat_ep_post_recv(end->ep, 1, &end->memory, cookie,
					  DAT_COMPLETION_DEFAULT_FLAG));
}

/* One message, whose contents are made of its number */
static inline void pair_message(struct pair_end *from, struct pair_end *to, uint64_t number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	pair_fill(from, to, number);
	pair_post_recv(to, cookie);
	PAIR_TRY(dat_ep_post_send(from->ep, 1, &from->memory, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG));
	pair_completed(from, number);
	pair_completed(to, number);
	pair_compare(from, to, number);
}

/* The end of the connection, and of its endpoints */
static inline void pair_disconnect(struct pair_end *a, struct pair_end *b)
{
	PAIR_MUST(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_expect(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_expect(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	PAIR_MUST(dat_ep_free(a->ep));
	PAIR_MUST(dat_ep_free(b->ep));
}

#endif /* PAIR_H */
