// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server: the main thread waits for requests, and gives each client a thread of its own. A
 * client's thread that is done posts a software event to the EVD of requests, so that only the
 * main thread keeps count. If the EVD has no room for that event, the thread sets
 * client.unheard, which the main thread checks at least twice a second. Called by
 * dat-pingpong.c.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

#define STACK		(256u << 10)

/* A client; its thread writes @made, @pass and perhaps @unheard, and ends. */
struct client {
	const struct adapter *adapter;
	DAT_EVD_HANDLE evd;		/* where requests arrive */
	DAT_CR_HANDLE cr;
	struct test test;
	char address[INET6_ADDRSTRLEN];
	pthread_t thread;
	bool made;			/* there was a connection */
	bool pass;
	atomic_bool unheard;		/* it is done, but its event could not be posted */
	struct client *next;
};

struct server {
	const struct adapter *adapter;
	DAT_EVD_HANDLE evd;
	struct client *clients;
	unsigned int nr_clients;	/* at the moment */
	unsigned int nr_made;		/* connections that have begun and ended */
	unsigned int nr_failed;		/* connections that failed, or were not established */
	unsigned int nr_refused;	/* requests that were refused */
};

/* Reads the request of a client. False: it cannot be served. */
static bool hello_in(const DAT_CR_PARAM *cr, struct test *test)
{
	struct pp_hello hello;

	if (cr->private_data_size < (int)sizeof(hello))
		return false;
	memcpy(&hello, cr->private_data, sizeof(hello));
	test->mode = be32toh(hello.mode);
	test->size = be32toh(hello.size);
	test->iterations = be32toh(hello.iterations);
	test->verify = be32toh(hello.flags) & PP_F_VERIFY;
	test->rmr = be32toh(hello.flags) & PP_F_RMR;
	return be32toh(hello.magic) == PP_MAGIC &&
	       be32toh(hello.version) == PP_VERSION &&
	       be32toh(hello.mode) < PP_MODES && test->size <= PP_MAX_SIZE;
}

/*
 * The thread of a client. If all goes well, the client ends the connection. Until then the
 * endpoint has to stay, or the last message might not arrive.
 */
static void *serve(void *arg)
{
	struct client *client = arg;
	const struct test *test = &client->test;
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = client,
	};
	struct link link;
	uint32_t done = 0;

	if (link_open(&link, client->adapter, test)) {
		client->pass = link_accept(&link, client->cr) &&
			       exchange_server(&link, &done) && link_wait_end(&link);
	} else {
		dat_cr_reject(client->cr);
	}
	if (link.established && !link.ended)
		link_disconnect(&link, DAT_CLOSE_ABRUPT_FLAG);
	client->made = link.established;
	if (!client->pass || !client->adapter->opt->quiet)
		printf("%s: %s, %u bytes, %u of %u: %s%s\n", client->address,
		       mode_names[test->mode], test->size, done, test->iterations,
		       client->pass ? "pass" : "FAIL: ",
		       client->pass ? "" : link.failure.text);
	link_close(&link);
	if (dat_evd_post_se(client->evd, &event))
		atomic_store(&client->unheard, true);
	return NULL;
}

/* Starts the thread of a client, with signals blocked: they go to the main thread. */
static bool start(struct client *client)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&client->thread, &attr, serve, client);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

/* Begins to serve a request. Return: NULL, or why it is refused. */
static const char *take_request(struct server *server, struct client *client)
{
	unsigned int most = server->adapter->opt->connections;
	DAT_CR_PARAM param;

	client->adapter = server->adapter;
	client->evd = server->evd;
	strcpy(client->address, "?");
	if (dat_cr_query(client->cr, DAT_CR_FIELD_ALL, &param))
		return "gone";
	address_text(param.remote_ia_address_ptr, client->address, sizeof(client->address));
	if (!hello_in(&param, &client->test))
		return "not a ping-pong client of this version";
	if (server->nr_clients == MAX_ENDPOINTS)
		return "too many connections at a time";
	if (most && server->nr_made + server->nr_clients >= most)
		return "one more than --connections";
	return start(client) ? NULL : "no thread";
}

static void request(struct server *server, DAT_CR_HANDLE cr)
{
	struct client *client = calloc(1, sizeof(*client));
	const char *why = "no memory";

	if (client) {
		client->cr = cr;
		why = take_request(server, client);
	}
	if (!why) {
		client->next = server->clients;
		server->clients = client;
		server->nr_clients++;
		return;
	}
	printf("%s: refused: %s\n", client ? client->address : "?", why);
	dat_cr_reject(cr);
	server->nr_refused++;
	free(client);
}

static void client_done(struct server *server, struct client *client)
{
	struct client **entry = &server->clients;

	pthread_join(client->thread, NULL);
	while (*entry != client)
		entry = &(*entry)->next;
	*entry = client->next;
	server->nr_clients--;
	server->nr_made += client->made;
	server->nr_failed += !client->pass;
	free(client);
}

/* Does client_done() for the clients whose event found no room. */
static void unheard_done(struct server *server)
{
	struct client *client, *next;

	for (client = server->clients; client; client = next) {
		next = client->next;
		if (atomic_load(&client->unheard))
			client_done(server, client);
	}
}

/* Returns the exit status of what ends the server before its time. */
static int serve_clients(struct server *server)
{
	const struct options *opt = server->adapter->opt;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	while (!interrupted && !(opt->connections && server->nr_made >= opt->connections)) {
		/*
		 * A signal that comes just before the call does not interrupt it, and no event
		 * arrives at this EVD when the adapter is removed; so the call waits for half a
		 * second at most.
		 */
		ret = dat_evd_wait(server->evd, 500000, 1, &event, &more);
		if (adapter_gone(server->adapter)) {
			fprintf(stderr, "dat-pingpong: %s is gone: its device failed or was "
				"removed; dat-pingpong --list shows what is left\n",
				opt->ia_name);
			return 1;
		}
		unheard_done(server);
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL ||
		    DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
			continue;
		if (ret)
			return fatal("dat_evd_wait", ret, NULL);
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			request(server, event.event_data.cr_arrival_event_data.cr_handle);
		else if (event.event_number == DAT_SOFTWARE_EVENT)
			client_done(server, event.event_data.software_event_data.pointer);
	}
	return 0;
}

static int listen_and_serve(struct server *server)
{
	const struct options *opt = server->adapter->opt;
	char taken[80];
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	int status;

	ret = dat_psp_create(server->adapter->ia, opt->port, server->evd,
			     DAT_PSP_CONSUMER_FLAG, &psp);
	if (ret) {
		snprintf(taken, sizeof(taken), "port %u is taken; choose another with -p",
			 opt->port);
		return fatal("dat_psp_create", ret,
			     DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ? taken : NULL);
	}
	printf("listening on %s port %u\n", opt->ia_name, opt->port);
	status = serve_clients(server);
	dat_psp_free(psp);
	while (server->clients)
		client_done(server, server->clients);
	printf("%u connections, %u failed, %u refused\n", server->nr_made, server->nr_failed,
	       server->nr_refused);
	return status || server->nr_failed;
}

/*
 * run_server - serve clients until interrupted, or --connections have begun and ended
 *
 * Returns the exit status, which is 1 also if a connection has failed.
 */
int run_server(const struct adapter *adapter)
{
	struct server server = { .adapter = adapter };
	DAT_RETURN ret;
	int status;

	ret = dat_evd_create(adapter->ia, 2 * MAX_ENDPOINTS, DAT_HANDLE_NULL,
			     DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG, &server.evd);
	if (ret)
		return fatal("dat_evd_create", ret, NULL);
	status = listen_and_serve(&server);
	dat_evd_free(server.evd);
	return status;
}
