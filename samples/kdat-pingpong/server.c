// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The server: one public service point.  Every request that it can serve gets a
 * connection of its own, which lives until the peer disconnects.  Called by
 * main.c.
 *
 * A connection learns of its end in an upcall, and dat_evd_free() waits for
 * that upcall to return.  So a work item frees the connection.
 */
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "pp.h"

#define PP_BACKLOG	64
#define PP_MAX_DEPTH	256
#define PP_MAX_CONNS	1024

static struct pp_ia *server_ia;
static DAT_EVD_HANDLE request_evd;
static DAT_PSP_HANDLE psp;
static struct workqueue_struct *server_wq;

/* The connections, and how many there are and were; protected by conns_lock */
static DEFINE_MUTEX(conns_lock);
static LIST_HEAD(server_conns);
static DECLARE_WAIT_QUEUE_HEAD(server_empty);
static unsigned int nr_active, nr_served, nr_failed;

/* ---- the end of a connection -------------------------------------------- */

static void conn_forget(struct pp_conn *conn)
{
	mutex_lock(&conns_lock);
	list_del(&conn->entry);
	WRITE_ONCE(nr_active, nr_active - 1);
	nr_served++;
	if (conn->error)
		nr_failed++;
	mutex_unlock(&conns_lock);
	wake_up(&server_empty);
}

static void conn_end_work(struct work_struct *work)
{
	struct pp_conn *conn = container_of(work, struct pp_conn, end_work);

	pp_conn_destroy(conn);
	conn_forget(conn);
	kfree(conn);
}

static void server_ended(struct pp_conn *conn)
{
	queue_work(server_wq, &conn->end_work);
}

/* ---- the beginning ------------------------------------------------------ */

/* Anybody can connect, so nothing in the private data is taken on trust. */
static bool parse_hello(const DAT_CR_PARAM *cr, struct pp_game *game)
{
	struct pp_hello hello;

	if (cr->private_data_size < (int)sizeof(hello))
		return false;
	memcpy(&hello, cr->private_data, sizeof(hello));
	game->mode = be32_to_cpu(hello.mode);
	game->size = be32_to_cpu(hello.size);
	game->iterations = be32_to_cpu(hello.iterations);
	game->depth = be32_to_cpu(hello.depth);
	game->verify = be32_to_cpu(hello.flags) & PP_F_VERIFY;

	return be32_to_cpu(hello.magic) == PP_MAGIC &&
	       be32_to_cpu(hello.version) == PP_VERSION &&
	       game->mode < PP_MODES && game->size <= PP_MAX_SIZE &&
	       game->depth >= 1 && game->depth <= PP_MAX_DEPTH;
}

static int accept_request(DAT_CR_HANDLE cr, struct pp_conn *conn)
{
	struct pp_info info;
	int err;

	err = pp_conn_create(conn);
	if (!err)
		err = pp_conn_post_recvs(conn);
	if (err)
		return err;
	pp_conn_own_info(conn, &info);
	return dat_cr_accept(cr, conn->ep, sizeof(info), &info) ? -EIO : 0;
}

/*
 * Makes a connection and puts it on the list.  That has to be done before it is
 * accepted, since it can end from then on, and its end takes it off the list.
 * NULL: no memory, or too many connections.
 */
static struct pp_conn *new_conn(const struct pp_game *game)
{
	struct pp_conn *conn = NULL;

	mutex_lock(&conns_lock);
	if (nr_active < PP_MAX_CONNS)
		conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (conn) {
		conn->ia = server_ia;
		conn->server = true;
		conn->game = *game;
		conn->ended = server_ended;
		INIT_WORK(&conn->end_work, conn_end_work);
		list_add_tail(&conn->entry, &server_conns);
		WRITE_ONCE(nr_active, nr_active + 1);
	}
	mutex_unlock(&conns_lock);
	return conn;
}

static void serve_request(DAT_CR_HANDLE cr)
{
	struct pp_conn *conn = NULL;
	struct pp_game game = {};
	DAT_CR_PARAM param;

	if (!dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) &&
	    parse_hello(&param, &game))
		conn = new_conn(&game);
	if (!conn) {
		dat_cr_reject(cr);
		return;
	}
	if (accept_request(cr, conn)) {
		dat_cr_reject(cr);
		conn->error = "cannot accept";
		pp_conn_destroy(conn);
		conn_forget(conn);
		kfree(conn);
	}
}

static void request_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			   DAT_BOOLEAN more_events)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		serve_request(event->event_data.cr_arrival_event_data.cr_handle);
}

/* ---- start and stop ----------------------------------------------------- */

/**
 * pp_server_start - begin to serve clients
 * @ia: adapter to use
 * @port: connection qualifier to listen on
 *
 * May sleep.
 *
 * Return: 0, to be undone by pp_server_stop(); -ENOMEM; -EIO.
 */
int pp_server_start(struct pp_ia *ia, u16 port)
{
	const DAT_UPCALL_OBJECT upcall = { .upcall_func = request_upcall };

	server_ia = ia;
	server_wq = alloc_workqueue("kdat-pingpong", WQ_UNBOUND, 0);
	if (!server_wq)
		return -ENOMEM;
	if (dat_evd_kcreate(ia->ia, PP_BACKLOG, DAT_UPCALL_SINGLE_INSTANCE,
			    &upcall, DAT_EVD_CR_FLAG, &request_evd))
		goto no_evd;
	if (dat_psp_create(ia->ia, port, request_evd, DAT_PSP_CONSUMER_FLAG,
			   &psp))
		goto no_psp;
	return 0;

no_psp:
	dat_evd_free(request_evd);
no_evd:
	destroy_workqueue(server_wq);
	server_wq = NULL;
	return -EIO;
}

static void disconnect_all(void)
{
	struct pp_conn *conn;

	mutex_lock(&conns_lock);
	list_for_each_entry(conn, &server_conns, entry)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	mutex_unlock(&conns_lock);
}

/**
 * pp_server_stop - stop listening and end all connections
 *
 * First it makes sure that no connection can begin: it frees the service point,
 * and after DAT_UPCALL_TEARDOWN no upcall for a request is running.  Then it
 * disconnects every connection, and the event of that has the connection freed.
 * May sleep.  Does nothing if pp_server_start() was not called or failed.
 */
void pp_server_stop(void)
{
	if (!server_wq)
		return;
	dat_psp_free(psp);
	dat_evd_modify_upcall(request_evd, DAT_UPCALL_TEARDOWN,
			      DAT_UPCALL_SAME);
	disconnect_all();
	wait_event(server_empty, !READ_ONCE(nr_active));
	dat_evd_free(request_evd);
	destroy_workqueue(server_wq);
}

/**
 * pp_server_status - tell how many connections there are and were
 * @active: out: connections that have not ended
 * @served: out: connections that have ended
 * @failed: out: those of @served whose game failed
 *
 * May sleep.
 */
void pp_server_status(unsigned int *active, unsigned int *served,
		      unsigned int *failed)
{
	mutex_lock(&conns_lock);
	*active = nr_active;
	*served = nr_served;
	*failed = nr_failed;
	mutex_unlock(&conns_lock);
}
