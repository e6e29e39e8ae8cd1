// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A connection from its request to its end.
 *
 * A connection has an EP, and one EVD for all of its events, DTOs and connection events
 * alike.  The upcall of that EVD runs in process context, one at a time.  So the events
 * come in one order: ESTABLISHED first, the end last.
 *
 * A connection ends when its EP does, whoever wants that, and conn_ended() notes it.  Who frees it
 * then depends on who has it, LIO or nobody yet (np.c); either way close_dat() frees all kDAT
 * objects.  Documentation/kernel-consumers.rst, The end of a connection, tells the rest.
 *
 * Callers: np.c, LIO, the upcall.
 */
#include <linux/slab.h>
#include "compat.h"
#include "kdat_iser.h"

/* How long we wait for the initiator to receive the last answer and to disconnect by itself. */
#define FAREWELL_MS	1000

/**
 * kiser_conn_fail - end a connection, and say why
 * @conn: the connection
 * @why: the reason, for the kernel log
 *
 * The end itself comes as an event later.  Any context.
 */
void kiser_conn_fail(struct kiser_conn *conn, const char *why)
{
	pr_warn_ratelimited("kdat_iser: %pISpc: %s, disconnected\n", &conn->remote, why);
	dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
}

/* ---- the upcall --------------------------------------------------------------------- */

/* The EP is Disconnected, or its connection was never established. */
static void conn_ended(struct kiser_conn *conn)
{
	bool orphan;

	spin_lock(&kiser_np_lock);
	WRITE_ONCE(conn->down, true);
	orphan = !conn->lio;
	if (orphan) {
		list_del_init(&conn->np_entry);
		conn->np = NULL;
	} else {
		kiser_login_kick(conn);
	}
	spin_unlock(&kiser_np_lock);
	kiser_tx_close(conn);
	wake_up(&conn->wait);
	if (orphan)
		queue_work(kiser_wq, &conn->release);
}

static void conn_upcall(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const struct kdat_dto_completion_event_data *dto;
	struct kiser_conn *conn = instance_data;
	struct kiser_done *done;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		dto = kdat_dto_completion(event);
		done = dto->user_cookie.as_ptr;
		done->fn(conn, done, dto->status, dto->transfered_length);
		if (!list_empty(&conn->deferred))
			kiser_rx_again(conn);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	default:
		conn_ended(conn);
		break;
	}
}

/* ---- make --------------------------------------------------------------------------- */

static int create_evd(struct kiser_conn *conn)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = conn, .upcall_func = conn_upcall };

	/* Room for connection events only; room for completions comes with the EP. */
	return dat_evd_kcreate(conn->adapter->ia, KISER_CONN_EVENTS, DAT_UPCALL_SINGLE_INSTANCE,
			       &upcall, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &conn->evd) ?
		-ENOMEM : 0;
}

static int create_ep(struct kiser_conn *conn)
{
	const struct kiser_adapter *adapter = conn->adapter;
	char count[12];
	DAT_NAMED_ATTR reserve = { .name = KDAT_EP_REQUEST_RESERVE, .value = count };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = adapter->recvs,
		.max_request_dtos = adapter->requests,
		.max_recv_iov = 1,
		.max_request_iov = 2,
		.max_rdma_read_in = 0,
		.max_rdma_read_out = adapter->reads,
		.max_rdma_read_iov = adapter->read_iov,
		.max_rdma_write_iov = adapter->write_iov,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.ep_provider_specific_count = 1,
		.ep_provider_specific = &reserve,
	};

	snprintf(count, sizeof(count), "%u", KISER_RESERVE);
	return dat_ep_create(adapter->ia, adapter->pz, conn->evd, conn->evd, conn->evd, &attr,
			     &conn->ep) ? -ENOMEM : 0;
}

/* Frees all kDAT objects.  The EP is Disconnected or was never connected. */
static void close_dat(struct kiser_conn *conn)
{
	if (conn->ep)
		dat_ep_free(conn->ep);
	if (conn->evd)
		dat_evd_free(conn->evd);
	kiser_room_close(conn);
	kiser_tx_flush(conn);
	kiser_room_free(conn);
	kiser_pool_unregister(&conn->rx_pool);
	kiser_pool_unregister(&conn->login_pool);
	kiser_adapter_detach(conn);
}

static void free_memory(struct kiser_conn *conn)
{
	kiser_pool_free(&conn->rx_pool);
	kiser_pool_free(&conn->login_pool);
	kfree(conn->rx);
	kfree(conn);
}

/* Frees a connection that has ended and that LIO never had. */
static void orphan_release(struct work_struct *work)
{
	struct kiser_conn *conn = container_of(work, struct kiser_conn, release);

	kiser_conn_destroy(conn);
}

/**
 * kiser_conn_destroy - free a connection that LIO does not have
 * @conn: the connection; its EP is Disconnected, or its request was never accepted
 *
 * May sleep; not from the upcall.
 */
void kiser_conn_destroy(struct kiser_conn *conn)
{
	kiser_login_close(conn);
	close_dat(conn);
	free_memory(conn);
}

/**
 * kiser_conn_create - make a connection, ready to be accepted
 * @adapter: the adapter at which the request has come in
 * @invalidate: whether responses may invalidate the initiator's keys
 *
 * The receive for the first login request is posted.  May sleep.
 *
 * Return: the connection, or null.
 */
struct kiser_conn *kiser_conn_create(struct kiser_adapter *adapter, bool invalidate)
{
	struct kiser_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->invalidate = invalidate;
	INIT_LIST_HEAD(&conn->np_entry);
	INIT_LIST_HEAD(&conn->deferred);
	INIT_LIST_HEAD(&conn->waiting);
	INIT_LIST_HEAD(&conn->held);
	spin_lock_init(&conn->tx_lock);
	init_waitqueue_head(&conn->wait);
	INIT_WORK(&conn->release, orphan_release);
	kiser_room_init(conn);
	kiser_adapter_attach(adapter, conn);
	kiser_login_init(conn);
	if (create_evd(conn) || create_ep(conn) || kiser_login_create(conn)) {
		kiser_conn_destroy(conn);
		return NULL;
	}
	return conn;
}

/* ---- the end, for LIO --------------------------------------------------------------- */

/* Disconnects and waits for the last event, which comes whatever the initiator does. */
static void end(struct kiser_conn *conn)
{
	if (conn->login_refused)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (conn->login_refused || conn->logout_sent)
		wait_event_timeout(conn->wait, READ_ONCE(conn->down),
				   msecs_to_jiffies(FAREWELL_MS));
	dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	wait_event(conn->wait, READ_ONCE(conn->down));
}

/*
 * Stops the two timers of LIO's NOP-In.  LIO has stopped them before, but a NOP-Out that
 * came since may have started one again: LIO pings iSER initiators, too, once an
 * administrator has set nopin_timeout for an existing session.  The first timer starts the
 * second one, so it is stopped first.
 */
static void stop_nopin(struct iscsit_conn *lio)
{
	kiser_timer_delete_sync(&lio->nopin_timer);
	kiser_timer_delete_sync(&lio->nopin_response_timer);
}

/**
 * kiser_wait_conn - end a connection that LIO closes
 * @lio: the connection; its threads are stopped
 *
 * When this returns nothing is received or sent any more, and LIO can release all
 * commands that are left (cmd.c).  May sleep.
 */
void kiser_wait_conn(struct iscsit_conn *lio)
{
	struct kiser_conn *conn = lio->context;

	kiser_login_close(conn);
	end(conn);
	close_dat(conn);
	/* No upcall runs any more. */
	stop_nopin(lio);
	kiser_cmd_settle(lio);
	spin_lock_irq(&conn->tx_lock);
	conn->tx_over = true;
	spin_unlock_irq(&conn->tx_lock);
	/* Otherwise LIO would do once more what its logout handler has just done. */
	if (conn->logout_sent)
		wait_for_completion(&lio->conn_logout_comp);
}

/**
 * kiser_free_conn - free a connection whose commands LIO has released
 * @lio: the connection
 *
 * May sleep.
 */
void kiser_free_conn(struct iscsit_conn *lio)
{
	struct kiser_conn *conn = lio->context;

	/* Aborted commands are released by the core, not from LIO's list: wait for them. */
	target_stop_cmd_counter(lio->cmd_cnt);
	target_wait_for_cmds(lio->cmd_cnt);
	lio->context = NULL;
	free_memory(conn);
}
