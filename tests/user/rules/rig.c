// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * udat_rules: the rules of uDAPL at the library, against two IAs of this host.
 * Each case is named by the rules it proves.
 *
 *	udat_rules [-a IA] [-b IA] [PART OF A NAME]...
 */
#include <sys/mman.h>
#define RIG_C
#include "rig.h"

const char *rig_file;
int rig_line;

struct side a = { .name = "rxe0-1" };
struct side b = { .name = "rxe1-1" };

void rig_open(struct side *side)
{
	DAT_REGION_DESCRIPTION region;

	side->async = DAT_HANDLE_NULL;
	OK(dat_ia_open((DAT_NAME_PTR)side->name, 8, &side->async, &side->ia));
	side->is_open = true;
	OK(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &side->attr,
			DAT_PROVIDER_FIELD_ALL, &side->provider));
	CHECK(side->attr.ia_address_ptr);
	memcpy(&side->address, side->attr.ia_address_ptr,
	       sizeof(struct sockaddr_in));
	OK(dat_pz_create(side->ia, &side->pz));
	side->recv = new_evd(side, 64, DAT_EVD_DTO_FLAG);
	side->req = new_evd(side, 64, DAT_EVD_DTO_FLAG);
	side->conn = new_evd(side, 64, DAT_EVD_CONNECTION_FLAG);
	side->cr = new_evd(side, 16, DAT_EVD_CR_FLAG);
	side->mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(side->mem != MAP_FAILED);
	region.for_va = side->mem;
	OK(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, side->pz,
			  DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->context,
			  &side->rmr, NULL, NULL));
}

void rig_both(void)
{
	rig_open(&a);
	rig_open(&b);
}

static void side_close(struct side *side)
{
	if (!side->is_open)
		return;
	side->is_open = false;
	/* A case may have closed it itself. */
	dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG);
	if (side->mem)
		munmap(side->mem, MEM);
	side->mem = NULL;
}

void rig_after(void)
{
	if (check_failed && rig_file)
		printf("    (the last helper was called at %s:%d)\n", rig_file,
		       rig_line);
	rig_file = NULL;
	side_close(&a);
	side_close(&b);
}

DAT_EVD_HANDLE new_evd(struct side *side, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(side->ia, qlen, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

DAT_EP_ATTR small_attr(void)
{
	return (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = MEM,
		.max_rdma_size = MEM,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 4,
		.max_request_iov = 4,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = 4,
		.max_rdma_write_iov = 4,
	};
}

DAT_EP_HANDLE new_ep_flags(struct side *side, DAT_EVD_HANDLE recv,
			   DAT_EVD_HANDLE req, DAT_COMPLETION_FLAGS recv_flags,
			   DAT_COMPLETION_FLAGS request_flags)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep;

	attr.recv_completion_flags = recv_flags;
	attr.request_completion_flags = request_flags;
	OK(dat_ep_create(side->ia, side->pz, recv, req, side->conn, &attr,
			 &ep));
	return ep;
}

DAT_EP_HANDLE new_ep(struct side *side)
{
	return new_ep_flags(side, side->recv, side->req,
			    DAT_COMPLETION_DEFAULT_FLAG,
			    DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_PSP_HANDLE listen_any(DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual)
{
	DAT_PSP_HANDLE psp;

	OK(dat_psp_create_any(b.ia, qual, b.cr, flags, &psp));
	return psp;
}

void start_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&b.address, qual, LONG, 0,
			  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE next_request(void)
{
	DAT_EVENT event = next_event(b.cr, DAT_CONNECTION_REQUEST_EVENT);

	return event.event_data.cr_arrival_event_data.cr_handle;
}

void connect_eps(DAT_EP_HANDLE ep_a, DAT_EP_HANDLE ep_b)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	psp = listen_any(DAT_PSP_CONSUMER_FLAG, &qual);
	start_connect(ep_a, qual);
	OK(dat_cr_accept(next_request(), ep_b, 0, NULL));
	next_of(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_a);
	next_of(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, ep_b);
	OK(dat_psp_free(psp));
}

void connected(DAT_EP_HANDLE *ep_a, DAT_EP_HANDLE *ep_b)
{
	*ep_a = new_ep(&a);
	*ep_b = new_ep(&b);
	connect_eps(*ep_a, *ep_b);
}

DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd, LONG, 1, &event, &more));
	if (event.event_number != number)
		FAIL("event 0x%x, expected 0x%x", event.event_number, number);
	CHECK(event.evd_handle == evd);
	return event;
}

DAT_EVENT next_of(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep)
{
	DAT_EVENT event = next_event(evd, number);

	CHECK(event.event_data.connect_event_data.ep_handle == ep);
	return event;
}

uint64_t completes_length(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t number)
{
	DAT_EVENT event = next_event(evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&event.event_data.dto_completion_event_data;

	CHECK_EQ(data->status, DAT_DTO_SUCCESS);
	CHECK_EQ(data->user_cookie.as_64, number);
	CHECK(data->ep_handle == ep);
	return data->transfered_length;
}

void completes(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t number,
	       DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = next_event(evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&event.event_data.dto_completion_event_data;

	CHECK_EQ(data->user_cookie.as_64, number);
	CHECK_EQ(data->status, status);
	CHECK(data->ep_handle == ep);
}

void no_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	CHECK_RET(dat_evd_dequeue(evd, &event), ERR2(QUEUE_EMPTY, 0));
}

void stays_silent(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK_RET(dat_evd_wait(evd, SHORT, 1, &event, &more),
		  ERR2(TIMEOUT_EXPIRED, 0));
}

void is_state(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	DAT_EP_STATE now;

	OK(dat_ep_get_status(ep, &now, NULL, NULL));
	CHECK_EQ(now, state);
}

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;
	double start = check_now();

	w->tid = gettid();
	w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event,
			      &w->more);
	w->took = check_now() - start;
	return NULL;
}

bool sleeps(pid_t tid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(f);
	return state == 'S';
}

/*
 * The EVD is the waiter's own as soon as it is about to wait (E36); after that
 * it sleeps nowhere but in the wait.
 */
void start_waiter(struct waiter *w, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
		  DAT_COUNT threshold)
{
	double end = check_now() + 10;
	DAT_EVENT event;
	DAT_RETURN ret;

	w->evd = evd;
	w->timeout = timeout;
	w->threshold = threshold;
	w->tid = 0;
	CHECK(!pthread_create(&w->thread, NULL, wait_thread, w));
	do {
		ret = dat_evd_dequeue(evd, &event);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY && check_now() < end &&
		 !usleep(100));
	CHECK_RET(ret, STATE(EVD_WAITER));
	while (!sleeps(w->tid) && check_now() < end)
		usleep(100);
}

void end_waiter(struct waiter *w, DAT_RETURN expected)
{
	CHECK(!pthread_join(w->thread, NULL));
	CHECK_RET(w->ret, expected);
}

DAT_LMR_TRIPLET seg(const struct side *side, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = side->context,
		.virtual_address = (uintptr_t)side->mem + offset,
		.segment_length = length,
	};
}

DAT_RMR_TRIPLET remote(const struct side *side, size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET) {
		.rmr_context = side->rmr,
		.target_address = (uintptr_t)side->mem + offset,
		.segment_length = length,
	};
}

DAT_DTO_COOKIE cookie(uint64_t number)
{
	return (DAT_DTO_COOKIE) { .as_64 = number };
}

DAT_RETURN post_send(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     size_t length, uint64_t number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = seg(side, offset, length);

	return dat_ep_post_send(ep, 1, &iov, cookie(number), flags);
}

DAT_RETURN post_recv(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     size_t length, uint64_t number)
{
	DAT_LMR_TRIPLET iov = seg(side, offset, length);

	return dat_ep_post_recv(ep, 1, &iov, cookie(number),
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_write(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		      const DAT_RMR_TRIPLET *to, size_t length,
		      uint64_t number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = seg(side, offset, length);

	return dat_ep_post_rdma_write(ep, 1, &iov, cookie(number), to, flags);
}

DAT_RETURN post_read(struct side *side, DAT_EP_HANDLE ep, size_t offset,
		     const DAT_RMR_TRIPLET *from, size_t length,
		     uint64_t number, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = seg(side, offset, length);

	return dat_ep_post_rdma_read(ep, 1, &iov, cookie(number), from, flags);
}

void fill(uint8_t *data, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		data[i] = i * 7 + (i >> 8) * 13 + seed * 31;
}

void verify(const uint8_t *data, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (data[i] != (uint8_t)(i * 7 + (i >> 8) * 13 + seed * 31))
			FAIL("byte %zu of %zu is wrong (seed %u)", i, length,
			     seed);
}

int main(int argc, char **argv)
{
	const struct check_set *sets[] = {
		&ia_set, &handle_set, &memory_set, &rmr_set, &evd_set,
		&cno_set, &ep_set, &connect_set, &sp_set, &transfer_set,
	};
	struct check_case all[256];
	size_t number = 0, i;
	int c;

	while ((c = getopt(argc, argv, "a:b:")) != -1) {
		if (c == '?')
			return 2;
		*(c == 'a' ? &a.name : &b.name) = optarg;
	}
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		memcpy(all + number, sets[i]->cases,
		       sets[i]->number * sizeof(*all));
		number += sets[i]->number;
	}
	argv[optind - 1] = argv[0];
	return check_run(all, number, rig_after, argc - optind + 1,
			 argv + optind - 1);
}
