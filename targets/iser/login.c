// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The login, and the step into the full feature phase.
 *
 * Login requests and answers take turns, so there is one receive, which is posted right
 * before the answer that asks for the next request.  LIO handles the first request in the portal's
 * thread, and the others in a work item of its own, lio->login_work, which is queued here.  It does
 * not notice when a connection ends during the login, or when the initiator sends nothing more, so
 * these are seen to here (login_timer).
 *
 * Documentation/kernel-consumers.rst, Login and full feature phase, says when the work item may be
 * queued (np_done), whose time login_timer counts, and when the last answer is sent.
 *
 * Callers: LIO, in process context; np.c and conn.c; the upcall.
 */
#include "kdat_iser.h"

#define LOGIN_SLOT	(sizeof(struct kiser_pdu) + KISER_MAX_DATA)
#define ANSWER_SLOTS	2
/* How long a discovery session may last.  One takes a few messages. */
#define DISCOVERY_TIME	(60 * HZ)

/* ---- whose turn it is --------------------------------------------------------------- */

/**
 * kiser_login_kick - have LIO look at a connection in login, if a request or the end has
 * come
 * @conn: the connection, with kiser_np_lock
 */
void kiser_login_kick(struct kiser_conn *conn)
{
	lockdep_assert_held(&kiser_np_lock);
	if (conn->login != KISER_LOGIN_REQUEST || !conn->np_done)
		return;
	if (!conn->login_request && !conn->down)
		return;
	conn->login = KISER_LOGIN_LIO;
	conn->login_work = true;
	schedule_delayed_work(&conn->lio->login_work, 0);
}

/**
 * kiser_login_let_go - the portal's thread does not use the login any more that it handled
 * @knp: the portal, with kiser_np_lock
 */
void kiser_login_let_go(struct kiser_np *knp)
{
	struct kiser_conn *conn = knp->busy;

	lockdep_assert_held(&kiser_np_lock);
	if (!conn)
		return;
	knp->busy = NULL;
	conn->np = NULL;
	conn->np_done = true;
	kiser_login_kick(conn);
}

/**
 * kiser_login_close - the connection is being closed, and with it its login
 * @conn: the connection
 *
 * Process context.  The caller may be LIO's login work item itself, so this does not wait
 * for it.
 */
void kiser_login_close(struct kiser_conn *conn)
{
	spin_lock(&kiser_np_lock);
	conn->login = KISER_LOGIN_NONE;
	if (conn->np && conn->np->busy == conn)
		conn->np->busy = NULL;
	conn->np = NULL;
	spin_unlock(&kiser_np_lock);
	if (conn->login_work)
		cancel_delayed_work(&conn->lio->login_work);
	cancel_delayed_work_sync(&conn->login_timer);
}

static void login_timeout(struct work_struct *work)
{
	struct kiser_conn *conn = container_of(to_delayed_work(work), struct kiser_conn,
					       login_timer);
	DAT_EP_STATE state;

	/*
	 * Before np.c has accepted the request, there is no connection that could be ended:
	 * look again in a second.
	 */
	if (!dat_ep_get_status(conn->ep, &state, NULL, NULL) &&
	    state == DAT_EP_STATE_UNCONNECTED)
		mod_delayed_work(kiser_wq, &conn->login_timer, HZ);
	else
		kiser_conn_fail(conn, conn->discovery ? "a discovery that does not end" :
							"no login in time");
}

/* The initiator's turn begins ... */
static void start_timer(struct kiser_conn *conn)
{
	conn->login_since = jiffies;
	mod_delayed_work(kiser_wq, &conn->login_timer, conn->login_left);
}

/* ... and ends. */
static void stop_timer(struct kiser_conn *conn)
{
	cancel_delayed_work(&conn->login_timer);
	conn->login_left -= min(conn->login_left, jiffies - conn->login_since);
}

/* ---- requests ----------------------------------------------------------------------- */

/* A login request has come. */
static void request_done(struct kiser_conn *conn, struct kiser_done *done,
			 DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	struct kiser_pdu *pdu = conn->login_rx.pdu;

	if (status != DAT_DTO_SUCCESS)
		return;
	stop_timer(conn);
	if (!kiser_rx_length_fits(pdu, length) || pdu->iscsi.hlength ||
	    (pdu->iser.flags & 0xf0) != ISCSI_CTRL) {
		kiser_conn_fail(conn, "a malformed login request");
		return;
	}
	spin_lock(&kiser_np_lock);
	conn->login_length = ntoh24(pdu->iscsi.dlength);
	conn->login_request = true;
	if (conn->lio) {
		kiser_login_kick(conn);
	} else if (conn->np) {
		list_move_tail(&conn->np_entry, &conn->np->ready);
		wake_up(&conn->np->wait);
	}
	spin_unlock(&kiser_np_lock);
}

/* Posts the receive for the next request. */
static int post_recv(struct kiser_conn *conn)
{
	start_timer(conn);
	return kiser_rx_post(conn, &conn->login_rx);
}

/* What LIO wants to know of the first request. */
static void note_first(struct iscsi_login *login)
{
	struct iscsi_login_req *req = (struct iscsi_login_req *)login->req;

	login->leading_connection = !req->tsih;
	login->current_stage = ISCSI_LOGIN_CURRENT_STAGE(req->flags);
	login->version_min = req->min_version;
	login->version_max = req->max_version;
	memcpy(login->isid, req->isid, sizeof(login->isid));
	login->cmd_sn = be32_to_cpu(req->cmdsn);
	login->init_task_tag = req->itt;
	login->initial_exp_statsn = be32_to_cpu(req->exp_statsn);
	login->cid = be16_to_cpu(req->cid);
	login->tsih = be16_to_cpu(req->tsih);
}

/**
 * kiser_get_login_rx - give LIO the login request that has come
 * @lio: the connection
 * @login: where it is copied to
 *
 * Return: 0; -ENOTCONN when the connection has ended; -1 when LIO has refused it.
 */
int kiser_get_login_rx(struct iscsit_conn *lio, struct iscsi_login *login)
{
	struct kiser_conn *conn = lio->context;
	struct kiser_pdu *pdu = conn->login_rx.pdu;
	bool there;

	spin_lock(&kiser_np_lock);
	there = conn->login_request && !conn->down;
	conn->login_request = false;
	spin_unlock(&kiser_np_lock);
	if (!there)
		return -ENOTCONN;
	memcpy(login->req, &pdu->iscsi, ISCSI_HDR_LEN);
	if (login->first_request)
		note_first(login);
	if (iscsi_target_check_login_request(lio, login) < 0)
		return -1;
	memset(login->req_buf, 0, MAX_KEY_VALUE_PAIRS);
	memcpy(login->req_buf, pdu->data, min_t(u32, conn->login_length, MAX_KEY_VALUE_PAIRS));
	return 0;
}

/* ---- answers ------------------------------------------------------------------------ */

/* Nothing to do: if an answer was not sent, the event of the connection's end follows. */
static void login_answer_done(struct kiser_conn *conn, struct kiser_done *done,
			      DAT_DTO_COMPLETION_STATUS status, u64 length)
{
}

static struct kiser_pdu *answer_slot(const struct kiser_conn *conn, DAT_LMR_TRIPLET *iov)
{
	return kiser_pool_slot(&conn->login_pool, 1 + conn->login_answers % ANSWER_SLOTS, 0, iov);
}

/*
 * The last answer is sent.  Those before it have completed, too, and each receive of the login has
 * got its request, so the memory of the login is not used any more.
 */
static void last_answer_done(struct kiser_conn *conn, struct kiser_done *done,
			     DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	if (status != DAT_DTO_SUCCESS)
		return;
	kiser_pool_unregister(&conn->login_pool);
	kiser_pool_free(&conn->login_pool);
}

static int send_answer(struct kiser_conn *conn, struct kiser_done *done, u32 length)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = done };
	DAT_LMR_TRIPLET iov;

	answer_slot(conn, &iov);
	iov.segment_length = sizeof(struct kiser_pdu) + length;
	conn->login_answers++;
	return dat_ep_post_send(conn->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG) ?
		-ENOTCONN : 0;
}

/*
 * Whose turn comes after this answer.  An initiator that does not wait for the answer may
 * have sent its next request already; nobody has looked at that during LIO's turn.
 */
static int next_turn(struct kiser_conn *conn, enum kiser_login turn)
{
	int err = 0;

	spin_lock(&kiser_np_lock);
	if (conn->down) {
		err = -ENOTCONN;
	} else {
		conn->login = turn;
		kiser_login_kick(conn);
	}
	spin_unlock(&kiser_np_lock);
	return err;
}

/**
 * kiser_put_login_tx - send LIO's answer to a login request
 * @lio: the connection
 * @login: has the answer
 * @length: bytes of its data, padded
 *
 * The last answer of a login that has succeeded is kept for kiser_get_rx_pdu().
 *
 * Return: 0; an error when the connection has ended.
 */
int kiser_put_login_tx(struct iscsit_conn *lio, struct iscsi_login *login, u32 length)
{
	struct kiser_conn *conn = lio->context;
	struct kiser_pdu *pdu;
	DAT_LMR_TRIPLET iov;
	int err;

	if (length > KISER_MAX_DATA)
		return -EINVAL;
	pdu = answer_slot(conn, &iov);
	memset(&pdu->iser, 0, sizeof(pdu->iser));
	pdu->iser.flags = ISCSI_CTRL;
	memcpy(&pdu->iscsi, login->rsp, ISCSI_HDR_LEN);
	memcpy(pdu->data, login->rsp_buf, length);

	if (login->login_failed) {
		conn->login_refused = true;
		return send_answer(conn, &conn->login_done, length);
	}
	if (login->login_complete) {
		conn->login_last = length;
		return next_turn(conn, KISER_LOGIN_OVER);
	}
	err = post_recv(conn);
	if (!err)
		err = next_turn(conn, KISER_LOGIN_REQUEST);
	return err ?: send_answer(conn, &conn->login_done, length);
}

/* ---- full feature phase ------------------------------------------------------------- */

static bool login_is_over(struct kiser_conn *conn)
{
	bool over;

	spin_lock(&kiser_np_lock);
	over = conn->login == KISER_LOGIN_OVER;
	if (over)
		conn->login = KISER_LOGIN_NONE;
	spin_unlock(&kiser_np_lock);
	return over;
}

/*
 * A normal session is no stranger any more.  A discovery session remains one, and gets a
 * limit of time.
 */
static void let_in(struct kiser_conn *conn)
{
	cancel_delayed_work_sync(&conn->login_timer);
	conn->discovery = conn->lio->sess->sess_ops->SessionType;
	if (conn->discovery)
		queue_delayed_work(kiser_wq, &conn->login_timer, DISCOVERY_TIME);
	else
		kiser_stranger_known(conn);
}

/**
 * kiser_get_rx_pdu - LIO's receive thread begins the full feature phase
 * @lio: a connection that has logged in, or whose login has failed meanwhile
 *
 * The upcall takes the PDUs; this only waits.  When it returns, LIO closes the connection.
 * It returns after the end of the EP, or when LIO signals the thread.
 */
void kiser_get_rx_pdu(struct iscsit_conn *lio)
{
	struct kiser_conn *conn = lio->context;

	if (!login_is_over(conn))
		return;
	let_in(conn);
	if (kiser_rx_start(conn) || send_answer(conn, &conn->login_last_done, conn->login_last))
		return;
	wait_event_interruptible(conn->wait, READ_ONCE(conn->down));
}

/* Prepares the login of a new connection; called before anything can fail. */
void kiser_login_init(struct kiser_conn *conn)
{
	INIT_DELAYED_WORK(&conn->login_timer, login_timeout);
	conn->login_left = TA_LOGIN_TIMEOUT * HZ;
	conn->login = KISER_LOGIN_REQUEST;
	conn->login_done.fn = login_answer_done;
	conn->login_last_done.fn = last_answer_done;
	conn->login_rx.done.fn = request_done;
}

/**
 * kiser_login_create - memory for the login, and the first receive
 * @conn: a new connection with its EP
 *
 * May sleep.  kiser_conn_destroy() undoes it.
 *
 * Return: 0, -ENOMEM or -EIO.
 */
int kiser_login_create(struct kiser_conn *conn)
{
	int err;

	err = kiser_pool_create(&conn->login_pool, conn->adapter, 1 + ANSWER_SLOTS, LOGIN_SLOT,
				DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (err)
		return err;
	conn->login_rx.pdu = kiser_pool_slot(&conn->login_pool, 0, 0, &conn->login_rx.iov);
	return post_recv(conn);
}
