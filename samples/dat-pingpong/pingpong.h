/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts of dat-pingpong:
 *
 *	dat-pingpong.c	the options
 *	adapter.c	which adapters there are; opening one
 *	client.c	one test after the other
 *	server.c	a thread for each client
 *	link.c		one connection: its memory, its endpoint, its beginning and end
 *	transfer.c	posting, and taking the events of a connection
 *	pool.c		buffers for receives, of one connection or shared by several
 *	exchange.c	the round trips of one test
 *	report.c	progress, and the results as a table or as JSON
 *	histogram.c	times in buckets, as text
 *	svg.c		the histograms as a picture
 */
#ifndef DAT_PINGPONG_H
#define DAT_PINGPONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dat/udat.h>
#include "../pingpong-protocol.h"

#define NR_SLOTS	3	/* receives that a connection has of its own */
#define MAX_SLOTS	64	/* receives of a shared receive queue */
#define MAX_SIZES	32
#define MAX_ENDPOINTS	1024	/* at a time; kdat-pingpong serves as many */

struct options {
	bool server;
	bool list;
	bool help;
	bool verify;
	bool json;
	bool quiet;
	bool poll;
	bool srq;
	bool rmr;
	bool histogram;
	const char *svg;		/* file for the picture */
	const char *ia_name;
	const char *address;
	unsigned int port;
	unsigned int modes;		/* a bit for each enum pp_mode */
	uint32_t sizes[MAX_SIZES];
	unsigned int nr_sizes;
	unsigned int iterations;	/* 0: as many as suit the test */
	unsigned int timeout;		/* seconds without progress */
	unsigned int connections;	/* to make, or to serve; 0: option not given */
	unsigned int endpoints;		/* connections of a client at the same time */
};

/* What all connections have in common */
struct adapter {
	const struct options *opt;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_MEM_PRIV_FLAGS local;	/* privileges of memory that no peer gets a key for */
};

/* What is tested; the client tells the server in its struct pp_hello. */
struct test {
	enum pp_mode mode;
	uint32_t size;
	uint32_t iterations;
	bool verify;
	bool rmr;
};

/*
 * How much a failure makes pointless: the rest of this test; this connection, whereas another
 * one may work when the peer or the network has recovered; or all other tests as well.
 */
enum extent {
	THIS_TEST,
	THIS_CONNECTION,
	ALL_TESTS,
};

struct failure {
	char text[256];		/* empty: there is none */
	enum extent extent;
};

/* Memory and its registration */
struct buffer {
	uint8_t *data;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

struct pool;

/*
 * One connection. The peer may read and write @open. What is sent is in @work: the
 * message (link_out()), and behind it a struct pp_info or struct pp_notice
 * (link_note()). Messages are received into slots of @pool.
 */
struct link {
	const struct options *opt;
	const struct adapter *adapter;
	DAT_EVD_HANDLE evd;		/* takes all events of the connection */
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;		/* the peer's way to @open, if the test asks for one */
	struct buffer work;
	struct buffer open;
	struct pool *pool;
	struct test test;
	DAT_RMR_CONTEXT key;		/* what the peer needs to use @open */
	struct pp_info peer;		/* the peer's @open, in host byte order */
	size_t slot_size;

	/* what the events taken so far have told */
	bool established;
	bool ended;
	unsigned int sends;		/* posted, and not complete */
	bool reading;			/* an RDMA read is posted, and not complete */
	bool binding;			/* a bind is posted, and not complete */
	unsigned int received;		/* how many messages wait for link_receive() */
	unsigned int oldest;		/* index in @in of the first of them */
	struct {
		unsigned int slot;
		uint32_t length;
	} in[MAX_SLOTS];
	DAT_EVENT_NUMBER end;		/* the event with which it ended */
	struct pp_info answer;		/* the private data of ESTABLISHED */
	struct failure failure;		/* the first thing that went wrong */
};

/*
 * The outcome of a test. @ns and @sorted are complete if it passed; with --connections they have
 * the times of those that were made even if it failed.
 */
struct result {
	struct test test;
	bool pass;
	struct failure failure;
	size_t done;			/* round trips, or whole connections */
	size_t failed;			/* with --connections: connections that failed */
	double seconds;
	uint64_t *ns;			/* @done times, endpoint after endpoint */
	uint64_t *sorted;		/* the same times, sorted */
};

/* adapter.c */
int fatal(const char *what, DAT_RETURN ret, const char *advice);
int list_adapters(void);
const char *choose_adapter(void);
int adapter_open(struct adapter *adapter, const struct options *opt);
int adapter_close(struct adapter *adapter);
bool adapter_gone(const struct adapter *adapter);
void address_text(const struct sockaddr *address, char *text, size_t size);

/* client.c, server.c */
int run_client(const struct adapter *adapter);
int run_server(const struct adapter *adapter);

/* link.c */
extern volatile bool interrupted;

const char *ret_name(DAT_RETURN ret, char *buf, size_t size);
bool fail(struct link *link, enum extent extent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool fail_call(struct link *link, const char *call, DAT_RETURN ret);
const char *end_name(DAT_EVENT_NUMBER number);
bool buffer_open(struct link *link, struct buffer *buffer, size_t size,
		 DAT_MEM_PRIV_FLAGS privileges);
void buffer_close(struct buffer *buffer);
bool link_open(struct link *link, const struct adapter *adapter, const struct test *test);
bool link_connect(struct link *link, const struct sockaddr *address);
bool link_accept(struct link *link, DAT_CR_HANDLE cr);
bool link_wait_end(struct link *link);
bool link_disconnect(struct link *link, DAT_CLOSE_FLAGS flags);
void link_close(struct link *link);

static inline uint8_t *link_out(const struct link *link)
{
	return link->work.data;
}

static inline uint8_t *link_note(const struct link *link)
{
	return link->work.data + link->slot_size;
}

/* transfer.c */
DAT_LMR_TRIPLET segment(const struct buffer *buffer, const void *data, size_t size);
bool link_pump(struct link *link);
bool link_pump_connected(struct link *link);
bool link_send(struct link *link, const void *data, size_t size);
bool link_write(struct link *link, const void *data, size_t size);
bool link_read(struct link *link, void *data, size_t size);
bool link_bind(struct link *link);
bool link_receive(struct link *link, const void **data, uint32_t *length);
bool link_received(struct link *link);
bool link_wait_sent(struct link *link);
void link_drain(struct link *link);

/* pool.c */
bool pool_open(struct link *link);
DAT_SRQ_HANDLE pool_srq(const struct pool *pool);
bool pool_post_all(struct link *link);
bool pool_post(struct link *link, unsigned int slot);
uint8_t *pool_slot(const struct pool *pool, unsigned int slot);
void pool_close(struct pool *pool);

/* exchange.c */
bool exchange_client(struct link *links, unsigned int nr, uint64_t *ns, size_t *done);
bool exchange_server(struct link *link, uint32_t *done);

/* report.c */
extern const char *const mode_names[PP_MODES];

uint64_t now_ns(void);
void sort_times(uint64_t *ns, size_t number);
double percentile(const uint64_t *sorted, size_t number, unsigned int per_mille);
void progress(const struct options *opt, const struct test *test, size_t done, size_t all,
	      uint64_t now);
void report_begin(const struct options *opt);
void report_result(const struct options *opt, const struct result *result);
bool report_end(const struct options *opt, unsigned int not_tried);

/* histogram.c */
#define PER_DECADE	40	/* buckets, equally wide on a logarithmic scale */
#define NR_BUCKETS	(11 * PER_DECADE)	/* 1 ns to 100 s; longer times are in the last */

unsigned int bucket_of(uint64_t ns);
double bucket_ns(unsigned int bucket);
void count_times(const uint64_t *ns, size_t number, uint64_t counts[NR_BUCKETS]);
void print_histogram(const struct result *result, const char *what);
void print_histogram_json(const struct result *result);

/* svg.c */
int svg_open(const char *name);
void svg_add(const struct options *opt, const struct result *result);
bool svg_close(const struct options *opt);

#endif /* DAT_PINGPONG_H */
