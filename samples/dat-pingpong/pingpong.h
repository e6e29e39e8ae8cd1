/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts of dat-pingpong:
 *
 *	dat-pingpong.c	the options, and one test after the other
 *	link.c		one connection: its memory, its endpoint, its events
 *	exchange.c	the round trips of one test on a connection
 *	report.c	times, progress, and the results
 */
#ifndef DAT_PINGPONG_H
#define DAT_PINGPONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dat/udat.h>
#include "../pingpong-protocol.h"

#define NR_SLOTS	2	/* receive buffers that are posted in turn */
#define MAX_SIZES	32

struct options {
	bool server;
	bool list;
	bool verify;
	bool json;
	bool quiet;
	bool poll;
	const char *ia_name;
	const char *address;
	unsigned int port;
	unsigned int modes;		/* a bit for each enum pp_mode */
	uint32_t sizes[MAX_SIZES];
	unsigned int nr_sizes;
	unsigned int iterations;	/* 0: as many as suit the size */
	unsigned int timeout;		/* seconds without progress */
	unsigned int connections;	/* after which a server ends; 0: never */
};

/* What is tested; the client tells the server in its struct pp_hello. */
struct test {
	enum pp_mode mode;
	uint32_t size;
	uint32_t iterations;
	bool verify;
};

/* Memory and its registration */
struct buffer {
	uint8_t *data;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

/*
 * One connection. The peer may read and write @open. Everything else is in
 * @work, in this order: the message to send (link_out()), a struct pp_info or
 * struct pp_notice to send (link_note()), and the receive buffers
 * (link_slot()).
 */
struct link {
	const struct options *opt;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;		/* takes all events of the connection */
	DAT_EP_HANDLE ep;
	struct buffer work;
	struct buffer open;
	struct test test;
	struct pp_info peer;		/* the peer's @open, in host byte order */
	size_t slot_size;

	/* what the events taken so far have told */
	bool established;
	bool ended;
	unsigned int sends;		/* posted, and not complete */
	bool rdma_read;			/* posted, and not complete */
	unsigned int received;		/* messages for link_receive() */
	unsigned int next_slot;		/* where the oldest of them is */
	uint32_t lengths[NR_SLOTS + 1];	/* of the message in each slot */
	DAT_EVENT_NUMBER end;		/* the event with which it ended */
	struct pp_info answer;		/* the private data of ESTABLISHED */
	char error[256];		/* the first thing that went wrong */
};

/* link.c */
extern volatile bool interrupted;

const char *ret_name(DAT_RETURN ret, char *buf, size_t size);
bool fail(struct link *link, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool fail_call(struct link *link, const char *call, DAT_RETURN ret);
bool link_open(struct link *link, const struct options *opt, DAT_IA_HANDLE ia,
	       const struct test *test);
bool link_connect(struct link *link, const struct sockaddr *address);
bool link_accept(struct link *link, DAT_CR_HANDLE cr);
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags);
void link_close(struct link *link);
bool link_pump(struct link *link);
bool link_post_recv(struct link *link, unsigned int slot);
bool link_send(struct link *link, const void *data, size_t size);
bool link_write(struct link *link, const void *data, size_t size);
bool link_read(struct link *link, void *data, size_t size);
bool link_receive(struct link *link, const void **data, uint32_t *length);
bool link_wait_sent(struct link *link);

static inline uint8_t *link_out(const struct link *link)
{
	return link->work.data;
}

static inline uint8_t *link_note(const struct link *link)
{
	return link->work.data + link->slot_size;
}

static inline uint8_t *link_slot(const struct link *link, unsigned int slot)
{
	return link->work.data + link->slot_size +
	       sizeof(struct pp_info) + slot * link->slot_size;
}

/* exchange.c */
struct result {
	struct test test;
	bool pass;
	char error[256];
	uint32_t done;			/* round trips */
	double seconds;
	double min, median, p90, p99, p999, max;	/* microseconds */
	double mib_per_s;
};

bool exchange_client(struct link *link, struct result *result);
bool exchange_server(struct link *link, uint32_t *done);

/* report.c */
extern const char *const mode_names[PP_MODES];

void result_times(struct result *result, uint64_t *ns, uint32_t number,
		  uint64_t total_ns);
void progress(const struct options *opt, const struct test *test,
	      uint32_t done, uint64_t now_ns);
void report_begin(const struct options *opt);
void report_result(const struct options *opt, const struct result *result);
bool report_end(const struct options *opt);
uint64_t now_ns(void);

#endif /* DAT_PINGPONG_H */
