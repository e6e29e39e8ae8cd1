// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every allocation of every call fails once: the first, the second, ... until the
 * call makes no more.  Then it says INSUFFICIENT_RESOURCES and nothing has changed,
 * or it does without; a call that may not run out of resources always succeeds.
 *
 *	alloc_fail [-a IA] [-b IA] [PART OF A NAME]...
 *
 * Needs root, and a kernel with fault injection (CONFIG_FAILSLAB and so on).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "check.h"

#define OBJECTS	"/sys/kernel/debug/kdapl/objects"
#define MEM	(64u << 10)
#define LONG	180000000u
#define MOST	4000u		/* tries of one call */

static const char *ia_a = "rxe0-1", *ia_b = "rxe1-1";

/* ---- what fails ------------------------------------------------------------ */

#define SLAB	"failslab"
#define PAGE	"fail_page_alloc"
#define STEP	64u		/* bytes, see arm_bytes() */

static int nth_fd, make_it_fail_fd;

static bool knob(const char *injector, const char *name, const char *format, ...)
{
	char path[128], value[32];
	va_list args;
	ssize_t n;
	int fd;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", injector, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	n = write(fd, value, strlen(value));
	close(fd);
	return n > 0;
}

static bool module_range(const char *name, unsigned long *start,
			 unsigned long *end)
{
	unsigned long length = 0;
	char line[512], module[64];
	bool found = false;
	FILE *f;

	f = fopen("/proc/modules", "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%63s %lu %*s %*s %*s 0x%lx", module,
			       &length, start) == 3 && !strcmp(module, name);
	if (f)
		fclose(f);
	*end = *start + length;
	return found;
}

static bool injector_init(const char *injector)
{
	unsigned long start, end, rxe_start, rxe_end;

	return module_range("kdapl", &start, &end) &&
	       module_range("rdma_rxe", &rxe_start, &rxe_end) &&
	       knob(injector, "probability", "0") &&
	       knob(injector, "task-filter", "Y") &&
	       knob(injector, "times", "0") &&
	       knob(injector, "verbose", "0") &&
	       knob(injector, "ignore-gfp-wait", "N") &&
	       knob(injector, "stacktrace-depth", "32") &&
	       knob(injector, "require-start", "0x%lx", start) &&
	       knob(injector, "require-end", "0x%lx", end) &&
	       knob(injector, "reject-start", "0x%lx", rxe_start) &&
	       knob(injector, "reject-end", "0x%lx", rxe_end);
}

static bool faults_init(void)
{
	if (!injector_init(SLAB) || !injector_init(PAGE) ||
	    !knob(PAGE, "min-order", "0"))
		return false;
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	make_it_fail_fd = open("/proc/thread-self/make-it-fail", O_WRONLY);
	return nth_fd >= 0 && make_it_fail_fd >= 0;
}

static void put_number(int fd, unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	CHECK(pwrite(fd, text, length, 0) == length);
}

/* The n-th allocation of this thread fails, whoever makes it. */
static void arm_nth(unsigned int n)
{
	put_number(nth_fd, n);
}

/* Return: whether it was reached. */
static bool disarm_nth(void)
{
	char text[16] = "";

	CHECK(pread(nth_fd, text, sizeof(text) - 1, 0) > 0);
	put_number(nth_fd, 0);
	return !atoi(text);
}

/*
 * For calls that make a queue pair or resize a shared receive queue, in which Soft-RoCE
 * may not run out of memory: it would destroy what it has not set up, or the queue that
 * was to grow.  Only this way of injecting looks at the stack.  So many bytes (pages) are
 * free, then an allocation fails; small steps reach them all.
 */
static void arm_bytes(const char *injector, unsigned int free)
{
	CHECK(knob(injector, "space", "%u", free));
	CHECK(knob(injector, "times", "1"));
	CHECK(knob(injector, "probability", "100"));
	put_number(make_it_fail_fd, 1);
}

static bool disarm_bytes(const char *injector)
{
	char path[128];
	int left = 0;
	FILE *f;

	put_number(make_it_fail_fd, 0);
	CHECK(knob(injector, "probability", "0"));
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", injector);
	f = fopen(path, "r");
	CHECK(f && fscanf(f, "%d", &left) == 1);
	fclose(f);
	return !left;
}

/* ---- two sides --------------------------------------------------------------- */

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd, cr;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EP_HANDLE ep;
	struct sockaddr_in address;
	uint8_t mem[MEM];
};

static struct side a, b;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual, other_qual;
/* When the case began */
static unsigned int descriptors_before;
/* What a call made, or is about */
static DAT_HANDLE made, other;
static DAT_CR_HANDLE cr;
static DAT_SRQ_HANDLE srq;

static DAT_EP_ATTR ep_attr(void)
{
	return (DAT_EP_ATTR) {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = MEM, .max_rdma_size = MEM,
		.max_recv_dtos = 4, .max_request_dtos = 4,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = 1, .max_rdma_read_out = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

static DAT_RETURN new_ep(struct side *side, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = ep_attr();

	return dat_ep_create(side->ia, side->pz, side->evd, side->evd,
			     side->evd, &attr, ep);
}

static DAT_RETURN new_lmr(struct side *side, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->mem };

	return dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, MEM,
			      side->pz, DAT_MEM_PRIV_ALL_FLAG, lmr,
			      &side->context, &side->rmr_context, NULL, NULL);
}

static void side_open(struct side *side, const char *name)
{
	DAT_IA_ATTR attr;

	side->async = DAT_HANDLE_NULL;
	OK(dat_ia_open((DAT_NAME_PTR)name, 8, &side->async, &side->ia));
	OK(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&side->address, attr.ia_address_ptr, sizeof(side->address));
	OK(dat_pz_create(side->ia, &side->pz));
	OK(dat_evd_create(side->ia, 64, NULL,
			  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			  DAT_EVD_SOFTWARE_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &side->evd));
	OK(dat_evd_create(side->ia, 8, NULL, DAT_EVD_CR_FLAG, &side->cr));
	OK(new_lmr(side, &side->lmr));
	OK(new_ep(side, &side->ep));
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd, LONG, 1, &event, &more));
	return event;
}

/* The next one that is no completion. */
static DAT_EVENT next_conn(struct side *side)
{
	DAT_EVENT event;

	do {
		event = next(side->evd);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	return event;
}

static void until(struct side *side, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = next_conn(side);

	if (event.event_number != number)
		FAIL("0x%x came at %c for %s, not 0x%x", event.event_number,
		     side == &a ? 'a' : 'b',
		     event.event_data.connect_event_data.ep_handle == side->ep ?
		     "its EP" : "another EP", number);
}

static DAT_RETURN connect_a(DAT_CONN_QUAL to)
{
	return dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&b.address, to, LONG, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void request(void)
{
	DAT_EVENT event;

	OK(connect_a(qual));
	event = next(b.cr);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
}

/*
 * A request at side b, or the event with which the attempt of side a has ended, as it may if
 * memory was missing on the way.  Return: whether it is a request.
 */
static bool request_or_end(DAT_EVENT *event)
{
	double end = check_now() + LONG / 1000000;
	DAT_COUNT more;

	while (dat_evd_wait(b.cr, 10000, 1, event, &more)) {
		if (!dat_evd_dequeue(a.evd, event))
			return false;
		CHECK(check_now() < end);
	}
	return true;
}

static void connected(void)
{
	until(&b, DAT_CONNECTION_EVENT_ESTABLISHED);
	until(&a, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connection(void)
{
	request();
	OK(dat_cr_accept(cr, b.ep, 0, NULL));
	connected();
}

static void ended(void)
{
	until(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	until(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_reset(a.ep));
	OK(dat_ep_reset(b.ep));
}

static void disconnect(void)
{
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ended();
}

static void sides(void)
{
	side_open(&a, ia_a);
	side_open(&b, ia_b);
	OK(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* ---- the calls ------------------------------------------------------------------ */

static DAT_RETURN call_ia_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)ia_a, 8, &async, &made);
}

static void undo_ia_open(void)
{
	OK(dat_ia_close(made, DAT_CLOSE_GRACEFUL_FLAG));
}

static void prepare_ia_close(void)
{
	DAT_PZ_HANDLE pz;

	OK(call_ia_open());
	OK(dat_pz_create(made, &pz));
}

static DAT_RETURN call_ia_close(void)
{
	return dat_ia_close(made, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_ia_query(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	return dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &attr,
			    DAT_PROVIDER_FIELD_ALL, &provider);
}

static DAT_RETURN call_list_providers(void)
{
	static DAT_PROVIDER_INFO infos[8];
	DAT_PROVIDER_INFO *list[ARRAY_SIZE(infos)];
	DAT_COUNT number = 0;
	DAT_RETURN ret;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(infos); i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(ARRAY_SIZE(infos), &number, list);
	/* It may not do without one of them. */
	return ret ?: number < 2 ? DAT_INTERNAL_ERROR : DAT_SUCCESS;
}

static DAT_RETURN call_pz_create(void)
{
	return dat_pz_create(a.ia, &made);
}

static void prepare_pz_free(void)
{
	OK(call_pz_create());
}

static DAT_RETURN call_pz_free(void)
{
	return dat_pz_free(made);
}

static void undo_pz_create(void)
{
	OK(call_pz_free());
}

static DAT_RETURN call_evd_create(void)
{
	return dat_evd_create(a.ia, 100, NULL, DAT_EVD_DEFAULT_FLAG, &made);
}

static void prepare_evd(void)
{
	OK(call_evd_create());
}

static DAT_RETURN call_evd_free(void)
{
	return dat_evd_free(made);
}

static void undo_evd(void)
{
	OK(call_evd_free());
}

static DAT_RETURN call_evd_resize(void)
{
	return dat_evd_resize(made, 3000);
}

/* One with a completion queue, which grows. */
static void prepare_evd_used(void)
{
	OK(dat_evd_create(a.ia, 100, NULL, DAT_EVD_DTO_FLAG, &made));
}

static DAT_RETURN call_ep_on_evd(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 500;
	return dat_ep_create(a.ia, a.pz, made, made, a.evd, &attr, &other);
}

static void undo_ep_on_evd(void)
{
	OK(dat_ep_free(other));
	OK(call_evd_free());
}

static DAT_RETURN call_evd_wait(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	ret = dat_evd_wait(a.evd, 1000, 1, &event, &more);
	return DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ? DAT_SUCCESS : ret;
}

static DAT_RETURN call_post_se(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	return dat_evd_post_se(a.evd, &event);
}

static void undo_post_se(void)
{
	CHECK_EQ(next(a.evd).event_number, DAT_SOFTWARE_EVENT);
}

static DAT_RETURN call_evd_switches(void)
{
	return dat_evd_disable(a.evd) ?: dat_evd_enable(a.evd) ?:
	       dat_evd_set_unwaitable(a.evd) ?: dat_evd_clear_unwaitable(a.evd);
}

/* The kernel knows no CNO; its thread gives its descriptors back, some time after its end. */
static void prepare_cno_create(void)
{
	double end = check_now() + LONG / 1000000;

	while (descriptors() != descriptors_before) {
		CHECK(check_now() < end);
		usleep(1000);
	}
}

static DAT_RETURN call_cno_create(void)
{
	return dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made);
}

static void prepare_cno_use(void)
{
	OK(call_cno_create());
}

static void undo_cno_create(void)
{
	OK(dat_cno_free(made));
}

static void prepare_cno(void)
{
	OK(dat_evd_create(a.ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &made));
	OK(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &other));
}

static DAT_RETURN call_cno_use(void)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_PARAM param;
	DAT_RETURN ret;

	ret = dat_cno_modify_agent(made, DAT_OS_WAIT_PROXY_AGENT_NULL) ?:
	      dat_cno_query(made, DAT_CNO_FIELD_ALL, &param) ?: dat_cno_wait(made, 1000, &evd);
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? DAT_SUCCESS : ret;
}

static DAT_RETURN call_modify_cno(void)
{
	return dat_evd_modify_cno(made, other);
}

static void undo_cno(void)
{
	OK(dat_evd_free(made));
	OK(dat_cno_free(other));
}

static DAT_RETURN call_lmr_create(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = a.mem };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, MEM, a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &made, NULL, NULL, NULL,
			      NULL);
}

static DAT_RETURN call_lmr_of_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = a.lmr };

	return dat_lmr_create(a.ia, DAT_MEM_TYPE_LMR, region, MEM, a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &made, NULL, NULL, NULL,
			      NULL);
}

static void prepare_lmr_free(void)
{
	OK(call_lmr_create());
}

static DAT_RETURN call_lmr_free(void)
{
	return dat_lmr_free(made);
}

static void undo_lmr(void)
{
	OK(call_lmr_free());
}

static DAT_RETURN call_rmr_create(void)
{
	return dat_rmr_create(a.pz, &made);
}

static void prepare_rmr(void)
{
	OK(call_rmr_create());
}

static DAT_RETURN call_rmr_free(void)
{
	return dat_rmr_free(made);
}

static void undo_rmr(void)
{
	OK(call_rmr_free());
}

static DAT_RETURN call_ep_create(void)
{
	return new_ep(&a, &made);
}

static DAT_RETURN call_ep_create_default(void)
{
	return dat_ep_create(a.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			     DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &made);
}

static void prepare_ep(void)
{
	OK(call_ep_create());
}

static DAT_RETURN call_ep_free(void)
{
	return dat_ep_free(made);
}

static void undo_ep(void)
{
	OK(call_ep_free());
}

static DAT_RETURN call_ep_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(made, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN call_get_status(void)
{
	return dat_ep_get_status(made, NULL, NULL, NULL);
}

/* Larger rings, with a receive to move along. */
static void prepare_ep_modify(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };

	OK(call_ep_create());
	OK(dat_ep_post_recv(made, 0, NULL, cookie, 0));
}

static DAT_RETURN call_ep_modify(void)
{
	DAT_EP_PARAM param = {
		.ep_attr = { .max_recv_dtos = 9, .max_request_dtos = 9,
			     .max_recv_iov = 2 },
	};

	return dat_ep_modify(made, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param);
}

static DAT_RETURN call_ep_modify_evds(void)
{
	DAT_EP_PARAM param = { 0 };

	return dat_ep_modify(made, DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
}

static DAT_RETURN call_psp_create(void)
{
	return dat_psp_create(a.ia, 31234, a.cr, DAT_PSP_CONSUMER_FLAG, &made);
}

static DAT_RETURN call_psp_create_any(void)
{
	DAT_CONN_QUAL any;

	return dat_psp_create_any(a.ia, &any, a.cr, DAT_PSP_PROVIDER_FLAG,
				  &made);
}

static void prepare_psp(void)
{
	OK(call_psp_create());
}

static DAT_RETURN call_psp_free(void)
{
	return dat_psp_free(made);
}

static void undo_psp(void)
{
	OK(call_psp_free());
}

static DAT_RETURN call_rsp_create(void)
{
	return dat_rsp_create(a.ia, 31235, a.ep, a.cr, &made);
}

static void prepare_rsp(void)
{
	OK(call_rsp_create());
}

/* Those that never sleep, and have no row of their own */
static void prepare_queries(void)
{
	OK(call_rsp_create());
	OK(dat_rmr_create(a.pz, &other));
}

static DAT_RETURN call_queries(void)
{
	DAT_EVD_PARAM evd;
	DAT_LMR_PARAM lmr;
	DAT_PSP_PARAM sp;
	DAT_RMR_PARAM rmr;
	DAT_RSP_PARAM rsp;
	DAT_PZ_PARAM pz;

	return dat_evd_query(a.evd, DAT_EVD_FIELD_ALL, &evd) ?:
	       dat_lmr_query(a.lmr, DAT_LMR_FIELD_ALL, &lmr) ?:
	       dat_psp_query(psp, DAT_PSP_FIELD_ALL, &sp) ?:
	       dat_rmr_query(other, DAT_RMR_FIELD_ALL, &rmr) ?:
	       dat_rsp_query(made, DAT_RSP_FIELD_ALL, &rsp) ?:
	       dat_pz_query(a.pz, DAT_PZ_FIELD_ALL, &pz);
}

static void undo_queries(void)
{
	OK(dat_rmr_free(other));
	OK(dat_rsp_free(made));
}

static DAT_RETURN call_rsp_free(void)
{
	return dat_rsp_free(made);
}

static void undo_rsp(void)
{
	OK(call_rsp_free());
}

/* To where nobody listens, and given up at once */
static DAT_RETURN call_connect(void)
{
	return connect_a(31236);
}

/* It may have ended by itself, also for what failed later. */
static void undo_connect(void)
{
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	next_conn(&a);
	OK(dat_ep_reset(a.ep));
}

static void prepare_dup(void)
{
	connection();
	OK(call_ep_create());
}

static DAT_RETURN call_dup(void)
{
	return dat_ep_dup_connect(made, a.ep, LONG, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

/*
 * Here, too, the attempt may have ended by itself: no queue pair (T17), no address (T18).
 * Then no request comes.
 */
static void undo_dup(void)
{
	DAT_EVENT event;

	if (request_or_end(&event)) {
		OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
		until(&a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	} else {
		CHECK(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
		      event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	OK(dat_ep_free(made));
	disconnect();
}

static DAT_RETURN call_accept(void)
{
	return dat_cr_accept(cr, b.ep, 0, NULL);
}

/* A failure that comes late is no error of the call (P54, A7). */
static void undo_accept(void)
{
	DAT_EVENT event = next_conn(&b);

	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		until(&a, DAT_CONNECTION_EVENT_ESTABLISHED);
		disconnect();
		return;
	}
	CHECK_EQ(event.event_number,
		 DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	until(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	OK(dat_ep_reset(a.ep));
	OK(dat_ep_reset(b.ep));
}

static DAT_RETURN call_reject(void)
{
	return dat_cr_reject(cr);
}

/* If the message could not be sent, the peer asks again. */
static void undo_reject(void)
{
	double end = check_now() + LONG / 1000000;
	DAT_EVENT event;
	DAT_COUNT more;

	while (dat_evd_wait(a.evd, 100000, 1, &event, &more)) {
		CHECK(check_now() < end);
		if (!dat_evd_dequeue(b.cr, &event))
			OK(dat_cr_reject(event.event_data.cr_arrival_event_data
						 .cr_handle));
	}
	CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	OK(dat_ep_reset(a.ep));
}

/* To a service point that makes endpoints, which takes one more allocation. */
static void prepare_handoff(void)
{
	request();
	OK(dat_psp_create_any(b.ia, &other_qual, b.cr, DAT_PSP_PROVIDER_FLAG, &other));
}

static DAT_RETURN call_handoff(void)
{
	return dat_cr_handoff(cr, other_qual);
}

static void undo_handoff(void)
{
	DAT_EVENT event;

	if (request_or_end(&event)) {
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		OK(call_reject());
		undo_reject();
	} else {
		CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		OK(dat_ep_reset(a.ep));
	}
	OK(dat_psp_free(other));
}

static DAT_RETURN call_cr_query(void)
{
	DAT_CR_PARAM param;

	return dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
}

static void undo_cr_query(void)
{
	OK(call_reject());
	undo_reject();
}

static DAT_RETURN call_disconnect(void)
{
	return dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_disconnect_graceful(void)
{
	return dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static void prepare_reset(void)
{
	connection();
	OK(call_disconnect());
	until(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	until(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_reset(b.ep));
}

static DAT_RETURN call_reset(void)
{
	return dat_ep_reset(a.ep);
}

static DAT_RETURN call_free_connected(void)
{
	return dat_ep_free(a.ep);
}

static void undo_free_connected(void)
{
	until(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_reset(b.ep));
	OK(new_ep(&a, &a.ep));
}

static DAT_LMR_TRIPLET segment(const struct side *side)
{
	return (DAT_LMR_TRIPLET) {
		.lmr_context = side->context,
		.virtual_address = (uintptr_t)side->mem,
		.segment_length = 64,
	};
}

/* The posts do not allocate (mt:T17); the device may. */
static DAT_RETURN call_post_recv(void)
{
	DAT_LMR_TRIPLET iov = segment(&a);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_recv(a.ep, 1, &iov, cookie, 0);
}

static DAT_RETURN call_post_send(void)
{
	DAT_LMR_TRIPLET iov = segment(&a);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_send(a.ep, 1, &iov, cookie, 0);
}

static DAT_RETURN call_lmr_sync(void)
{
	DAT_LMR_TRIPLET part = segment(&a);

	return dat_lmr_sync_rdma_read(a.ia, &part, 1) ?:
	       dat_lmr_sync_rdma_write(a.ia, &part, 1);
}

static DAT_RETURN call_post_write(void)
{
	DAT_LMR_TRIPLET iov = segment(&a);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_TRIPLET remote = {
		.rmr_context = b.rmr_context,
		.target_address = (uintptr_t)b.mem,
		.segment_length = 64,
	};

	return dat_ep_post_rdma_write(a.ep, 1, &iov, cookie, &remote, 0);
}

static DAT_RETURN call_post_read(void)
{
	DAT_LMR_TRIPLET iov = segment(&a);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_TRIPLET remote = {
		.rmr_context = b.rmr_context,
		.target_address = (uintptr_t)b.mem,
		.segment_length = 64,
	};

	return dat_ep_post_rdma_read(a.ep, 1, &iov, cookie, &remote, 0);
}

static void prepare_bind(void)
{
	connection();
	OK(call_rmr_create());
}

static DAT_RETURN call_bind(void)
{
	DAT_LMR_TRIPLET part = segment(&a);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(made, &part, DAT_MEM_PRIV_ALL_FLAG, a.ep, cookie, 0,
			    &context);
}

static void undo_bind(void)
{
	CHECK_EQ(next(a.evd).event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	OK(call_rmr_free());
	disconnect();
}

static void undo_post(void)
{
	disconnect();
}

static DAT_RETURN call_srq_create(void)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = 4, .max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return dat_srq_create(a.ia, a.pz, &attr, &srq);
}

static void prepare_srq(void)
{
	OK(call_srq_create());
}

static DAT_RETURN call_srq_free(void)
{
	return dat_srq_free(srq);
}

static void undo_srq(void)
{
	OK(call_srq_free());
}

static DAT_RETURN call_srq_query(void)
{
	DAT_SRQ_PARAM param;

	return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param);
}

static DAT_RETURN call_srq_post_recv(void)
{
	DAT_LMR_TRIPLET iov = segment(&a);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_srq_post_recv(srq, 1, &iov, cookie);
}

/* So many are in it that the mark is armed, and not reached at once. */
static void prepare_srq_set_lw(void)
{
	OK(call_srq_create());
	OK(call_srq_post_recv());
	OK(call_srq_post_recv());
}

static DAT_RETURN call_srq_set_lw(void)
{
	return dat_srq_set_lw(srq, 1);
}

static DAT_RETURN new_ep_on_srq(DAT_EVD_HANDLE recv_evd, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = 0;
	return dat_ep_create_with_srq(a.ia, a.pz, recv_evd, a.evd, a.evd, srq, &attr, ep);
}

/*
 * An endpoint on it, whose completion queue grows as well.  It does not grow by so much that
 * the kernel would look for the memory elsewhere.
 */
static void prepare_srq_resize(void)
{
	prepare_evd_used();
	OK(call_srq_create());
	OK(new_ep_on_srq(made, &other));
}

static DAT_RETURN call_srq_resize(void)
{
	return dat_srq_resize(srq, 30);
}

static void undo_srq_resize(void)
{
	undo_ep_on_evd();
	undo_srq();
}

static DAT_RETURN call_ep_create_with_srq(void)
{
	return new_ep_on_srq(a.evd, &made);
}

static void undo_ep_on_srq(void)
{
	undo_ep();
	undo_srq();
}

/* Side a has an endpoint on a shared receive queue in the place of its own. */
static void prepare_connect_on_srq(void)
{
	OK(call_srq_create());
	other = a.ep;
	OK(new_ep_on_srq(a.evd, &a.ep));
}

static void undo_connect_on_srq(void)
{
	undo_connect();
	OK(dat_ep_free(a.ep));
	a.ep = other;
	undo_srq();
}

/* ---- all of them ------------------------------------------------------------------ */

/* MAKES_SAME_QUEUE: as another call, with which the small steps are made. */
enum kind { MAY_FAIL, ALWAYS, MAKES_QUEUE, MAKES_SAME_QUEUE };

/*
 * struct op - a call to try
 * @prepare, @undo: around every try that succeeds, may be NULL
 * @kind: ALWAYS: no lack of resources is among its codes, it has to do without
 */
struct op {
	const char *name;
	void (*prepare)(void);
	DAT_RETURN (*call)(void);
	void (*undo)(void);
	enum kind kind;
};

static const struct op ops[] = {
	{ "I10 dat_ia_open", NULL, call_ia_open, undo_ia_open, MAY_FAIL },
	{ "I14 dat_ia_close", prepare_ia_close, call_ia_close, NULL, ALWAYS },
	{ "dat_ia_query", NULL, call_ia_query, NULL, MAY_FAIL },
	{ "dat_registry_list_providers", NULL, call_list_providers, NULL, MAY_FAIL },
	{ "dat_pz_create", NULL, call_pz_create, undo_pz_create, MAKES_QUEUE },
	{ "dat_pz_free", prepare_pz_free, call_pz_free, NULL, ALWAYS },
	{ "E13 dat_evd_create", NULL, call_evd_create, undo_evd, MAY_FAIL },
	{ "dat_evd_free", prepare_evd, call_evd_free, NULL, ALWAYS },
	{ "dat_evd_resize", prepare_evd, call_evd_resize, undo_evd, MAY_FAIL },
	{ "dat_evd_wait", NULL, call_evd_wait, NULL, ALWAYS },
	{ "dat_evd_disable and _enable, _set_unwaitable and _clear_unwaitable", NULL,
	  call_evd_switches, NULL, ALWAYS },
	{ "dat_evd_post_se", NULL, call_post_se, undo_post_se, MAY_FAIL },
	{ "dat_cno_create", prepare_cno_create, call_cno_create, undo_cno_create, MAY_FAIL },
	{ "dat_cno_modify_agent, _query, _wait", prepare_cno_use, call_cno_use,
	  undo_cno_create, ALWAYS },
	{ "dat_evd_modify_cno", prepare_cno, call_modify_cno, undo_cno, MAY_FAIL },
	{ "dat_lmr_create", NULL, call_lmr_create, undo_lmr, MAY_FAIL },
	{ "dat_lmr_create of an LMR", NULL, call_lmr_of_lmr, undo_lmr, MAY_FAIL },
	{ "L1 dat_lmr_free", prepare_lmr_free, call_lmr_free, NULL, ALWAYS },
	{ "dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write", NULL, call_lmr_sync, NULL, MAY_FAIL },
	{ "mt:M28 dat_rmr_create", NULL, call_rmr_create, undo_rmr, MAY_FAIL },
	{ "mt:M43 dat_rmr_free", prepare_rmr, call_rmr_free, NULL, ALWAYS },
	{ "T1 dat_ep_create", NULL, call_ep_create, undo_ep, MAY_FAIL },
	{ "mt:M48 dat_srq_create", NULL, call_srq_create, undo_srq, MAY_FAIL },
	{ "dat_srq_free", prepare_srq, call_srq_free, NULL, ALWAYS },
	{ "dat_srq_query", prepare_srq, call_srq_query, undo_srq, ALWAYS },
	{ "dat_srq_set_lw", prepare_srq_set_lw, call_srq_set_lw, undo_srq, ALWAYS },
	{ "mt:T17 dat_srq_post_recv", prepare_srq, call_srq_post_recv, undo_srq, MAY_FAIL },
	{ "mt:M64 dat_srq_resize", prepare_srq_resize, call_srq_resize, undo_srq_resize,
	  MAKES_QUEUE },
	{ "T1 dat_ep_create_with_srq", prepare_srq, call_ep_create_with_srq, undo_ep_on_srq,
	  MAY_FAIL },
	{ "T1 dat_ep_create without anything", NULL, call_ep_create_default,
	  undo_ep, MAY_FAIL },
	{ "T1 dat_ep_create on a new EVD", prepare_evd_used, call_ep_on_evd,
	  undo_ep_on_evd, MAY_FAIL },
	{ "F1 dat_ep_free", prepare_ep, call_ep_free, NULL, ALWAYS },
	{ "dat_ep_query", prepare_ep, call_ep_query, undo_ep, MAY_FAIL },
	{ "dat_ep_get_status", prepare_ep, call_get_status, undo_ep, ALWAYS },
	{ "M4 dat_ep_modify, rings", prepare_ep_modify, call_ep_modify, undo_ep,
	  MAY_FAIL },
	{ "M4 dat_ep_modify, EVDs", prepare_ep, call_ep_modify_evds, undo_ep,
	  MAY_FAIL },
	{ "dat_psp_create", NULL, call_psp_create, undo_psp, MAY_FAIL },
	{ "dat_psp_create_any", NULL, call_psp_create_any, undo_psp, MAY_FAIL },
	{ "P11 dat_psp_free", prepare_psp, call_psp_free, NULL, ALWAYS },
	{ "T3 dat_rsp_create", NULL, call_rsp_create, undo_rsp, MAY_FAIL },
	{ "T4 dat_rsp_free", prepare_rsp, call_rsp_free, NULL, ALWAYS },
	{ "queries of EVD, LMR, PSP, RMR, RSP, PZ", prepare_queries, call_queries, undo_queries,
	  ALWAYS },
	{ "T13 dat_ep_connect", NULL, call_connect, undo_connect, MAKES_QUEUE },
	{ "T13 dat_ep_connect, shared receive queue", prepare_connect_on_srq, call_connect,
	  undo_connect_on_srq, MAKES_SAME_QUEUE },
	{ "T14 C2 dat_ep_dup_connect", prepare_dup, call_dup, undo_dup,
	  MAKES_SAME_QUEUE },
	{ "P54 dat_cr_accept", request, call_accept, undo_accept, MAKES_QUEUE },
	{ "P70 dat_cr_reject", request, call_reject, undo_reject, ALWAYS },
	{ "P10 P83 dat_cr_handoff", prepare_handoff, call_handoff, undo_handoff, ALWAYS },
	{ "P40 dat_cr_query", request, call_cr_query, undo_cr_query, MAY_FAIL },
	{ "mt:T17 dat_ep_post_recv", connection, call_post_recv, undo_post, MAY_FAIL },
	{ "mt:T17 dat_ep_post_send", connection, call_post_send, undo_post, MAY_FAIL },
	{ "mt:T17 dat_ep_post_rdma_write", connection, call_post_write, undo_post,
	  MAY_FAIL },
	{ "mt:T17 dat_ep_post_rdma_read", connection, call_post_read, undo_post,
	  MAY_FAIL },
	{ "mt:T17 dat_rmr_bind", prepare_bind, call_bind, undo_bind, ALWAYS },
	{ "D54 dat_ep_disconnect, abrupt", connection, call_disconnect, ended,
	  MAY_FAIL },
	{ "D54 dat_ep_disconnect, graceful", connection,
	  call_disconnect_graceful, ended, MAY_FAIL },
	{ "R1 dat_ep_reset", prepare_reset, call_reset, NULL, ALWAYS },
	{ "F1 F7 dat_ep_free of a connected EP", connection,
	  call_free_connected, undo_free_connected, ALWAYS },
};

/*
 * All objects of this process with their states, as debugfs shows them, but for
 * references, which others take and drop at any time.
 */
static void look(char *text, size_t size)
{
	char line[256], mark[32];
	bool mine = false;
	FILE *f;

	f = fopen(OBJECTS, "r");
	CHECK(f);
	snprintf(mark, sizeof(mark), "space pid %d:", getpid());
	*text = 0;
	while (fgets(line, sizeof(line), f)) {
		char *refs = strstr(line, " refs ");
		size_t skip;

		if (!strncmp(line, "space ", 6))
			mine = !strncmp(line, mark, strlen(mark));
		if (!mine)
			continue;
		if (refs) {
			skip = 6 + strspn(refs + 6, "0123456789");
			memmove(refs, refs + skip, strlen(refs + skip) + 1);
		}
		CHECK(strlen(text) + strlen(line) < size);
		strcat(text, line);
	}
	fclose(f);
}

static const struct op *op;
static unsigned int refused;

/* Bytes or pages that are free in try @n. */
static unsigned int room(const char *injector, unsigned int n)
{
	if (!strcmp(injector, PAGE))
		return n;
	return n * (op->kind == MAKES_SAME_QUEUE ? 8 * STEP : STEP);
}

/* One try.  Return: whether an allocation failed. */
static bool try_one(const char *injector, unsigned int n)
{
	static char was[1 << 14], is[1 << 14];
	DAT_RETURN ret;
	bool failed;

	CHECK(n < MOST);
	if (op->prepare)
		op->prepare();
	look(was, sizeof(was));
	if (injector)
		arm_bytes(injector, room(injector, n));
	else
		arm_nth(1 + n);
	ret = op->call();
	failed = injector ? disarm_bytes(injector) : disarm_nth();
	if (ret) {
		if (!failed || op->kind == ALWAYS ||
		    DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			FAIL("try %u: 0x%x", n, ret);
		look(is, sizeof(is));
		if (strcmp(was, is))
			FAIL("try %u: it was\n%sand is\n%s", n, was, is);
		refused++;
		OK(op->call());
	}
	if (op->undo)
		op->undo();
	return failed;
}

static unsigned int try_all(const char *injector)
{
	unsigned int n = 0;

	while (try_one(injector, n))
		n++;
	return n;
}

static struct check_case cases[ARRAY_SIZE(ops)];

static void try_op(void)
{
	unsigned int n;

	if (!a.ia)
		sides();
	op = &ops[check_current - cases];
	refused = 0;
	descriptors_before = descriptors();
	if (op->kind == MAKES_QUEUE || op->kind == MAKES_SAME_QUEUE)
		n = try_all(SLAB) + try_all(PAGE);
	else
		n = try_all(NULL);
	printf("    %u failures, %u times refused\n", n, refused);
}

/* A case that failed may have left anything. */
static void after(void)
{
	put_number(nth_fd, 0);
	if (!check_failed)
		return;
	dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG);
	dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG);
	a.ia = DAT_HANDLE_NULL;
}

int main(int argc, char **argv)
{
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "a:b:")) != -1) {
		if (c == '?')
			return 2;
		*(c == 'a' ? &ia_a : &ia_b) = optarg;
	}
	if (!faults_init()) {
		fprintf(stderr, "alloc_fail: %s (root? debugfs? kdapl loaded? fault injection?)\n",
			strerror(errno));
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		cases[i] = (struct check_case) { ops[i].name, try_op };
	argv[optind - 1] = argv[0];
	return check_run(cases, ARRAY_SIZE(cases), after, argc - optind + 1,
			 argv + optind - 1);
}
