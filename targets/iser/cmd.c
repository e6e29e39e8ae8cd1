// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What LIO asks to be sent, and the end of each command.
 *
 * Who releases a command when
 * ===========================
 *
 * A SCSI command and a task management function are made with two references.  One is
 * that of the target core, which drops it when it has handed the result over.  The other
 * one is the transport's.  iscsit_free_cmd() drops it, and releases commands of other
 * kinds.  A command is on LIO's list of the connection (conn_cmd_list) until then.  There
 * are these owners, one at a time:
 *
 * 1. LIO and the target core, while they sort the command in, and execute it.
 *
 * 2. We, for its data: from iscsit_get_dataout until the RDMA read is done.  Then the
 *    target core has it again (target_execute_cmd()).  If the read fails, nobody does
 *    anything with the command but kiser_cmd_settle().
 *
 * 3. We, for its answer: from iscsit_queue_data_in, _queue_status, _response_queue or
 *    _immediate_queue.  What is handed over so is released by us: when the send has
 *    completed, well or not, or when it cannot be posted because the connection has ended;
 *    if its data may be on its way then, when the EP is gone.
 *    Exceptions are the logout that ends the connection, which LIO releases with it; a
 *    text request of which the initiator has to ask for the rest; a NOP-In that waits for
 *    its NOP-Out.
 *
 * Reset of a logical unit.  The core aborts the commands that it has not completed, and
 * passes over those that it has, of which the answers may not have been handed over yet.  The
 * initiator forgets them all when it hears that the reset is done, and takes an answer that
 * comes afterwards for an error of protocol.  So that word waits in conn->held until those
 * that came before it have been answered.
 *
 * Abort.  The core only marks a command that it has not completed, and waits until it is
 * released.  What we own for its data goes on: the mark is found by target_execute_cmd()
 * after the RDMA read, so that the device does not write to pages that are free.  Then the
 * core calls iscsit_aborted_task and drops both references.  So at that call nothing of
 * the command is posted or waits.  A command whose answer we own is complete and cannot
 * be aborted any more; it is sent.
 *
 * End of the connection.  LIO calls iscsit_wait_conn when its two threads are stopped.
 * First the EP is disconnected.  When its last event is there, everything that was posted
 * has completed and no more PDUs come; all of (3) is released, all of (2) has failed.
 * What is left of SCSI commands (kiser_cmd_settle()):
 *
 *  - writes that have no data, of which the RDMA read has failed, or unsolicited data did
 *    not come: both references are dropped.  Nobody else knows them but perhaps an abort
 *    that waits for exactly that;
 *  - commands in the back end, or on their way into an abort: waited for.  If they answer
 *    now, (3) releases them at once;
 *  - answers in the queue of LIO's thread, commands of other kinds, and those that wait
 *    for a command before them: LIO releases them when iscsit_wait_conn has returned.
 *
 * iscsit_free_conn then waits until the last reference of aborted ones is gone.
 */
#include <linux/delay.h>
#include "kdat_iser.h"

struct workqueue_struct *kiser_logout_wq;

static struct kiser_conn *to_conn(struct iscsit_conn *lio)
{
	return lio->context;
}

/*
 * A task management function that LIO answers by itself never gets to the core.  If it is
 * an immediate one, LIO drops the core's reference; otherwise nobody has done so.
 */
static bool has_spare_reference(struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	return kcmd->answer == ISTATE_SEND_TASKMGTRSP && !cmd->immediate_cmd &&
	       !cmd->se_cmd.se_tmr_req->call_transport;
}

/* ---- the answer to a reset of a logical unit ---------------------------------------- */

/* Is there a command before @reset that the core has completed, and that is not answered? */
static bool is_behind(struct iscsit_conn *lio, struct iscsit_cmd *reset)
{
	struct iscsit_cmd *cmd;

	lockdep_assert_held(&lio->cmd_lock);
	list_for_each_entry(cmd, &lio->conn_cmd_list, i_conn_node) {
		if (cmd == reset)
			return false;
		if (cmd->iscsi_opcode == ISCSI_OP_SCSI_CMD &&
		    cmd->se_cmd.se_dev == reset->se_cmd.se_dev &&
		    READ_ONCE(cmd->se_cmd.transport_state) & CMD_T_COMPLETE)
			return true;
	}
	return false;
}

/* Keeps the answer to a reset back if it has to wait. */
static bool hold(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct se_tmr_req *tmr = cmd->se_cmd.se_tmr_req;
	bool held;

	if (tmr->function != TMR_LUN_RESET || !tmr->call_transport)
		return false;
	spin_lock_bh(&lio->cmd_lock);
	held = is_behind(lio, cmd);
	if (held)
		list_add_tail(&kcmd->entry, &to_conn(lio)->held);
	spin_unlock_bh(&lio->cmd_lock);
	return held;
}

/* The first answer that need not wait any more, or with @any not even for that; or NULL. */
static struct iscsit_cmd *take_held(struct iscsit_conn *lio, bool any)
{
	struct kiser_cmd *kcmd;

	lockdep_assert_held(&lio->cmd_lock);
	list_for_each_entry(kcmd, &to_conn(lio)->held, entry) {
		if (!any && is_behind(lio, kiser_lio_cmd(kcmd)))
			continue;
		list_del(&kcmd->entry);
		return kiser_lio_cmd(kcmd);
	}
	return NULL;
}

static int answer(struct iscsit_conn *lio, struct iscsit_cmd *cmd, int state, u32 data_length)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	kcmd->stage = KISER_ANSWER;
	kcmd->answer = state;
	kcmd->answer_built = false;
	kcmd->data_length = data_length;
	kiser_submit(to_conn(lio), cmd);
	return 0;
}

/* With @any all of them, otherwise those that need not wait any more. */
static void answer_held(struct iscsit_conn *lio, bool any)
{
	struct kiser_conn *conn = to_conn(lio);
	struct iscsit_cmd *reset;

	lockdep_assert_held(&lio->cmd_lock);
	while ((reset = take_held(lio, any))) {
		conn->answering++;
		spin_unlock_bh(&lio->cmd_lock);
		answer(lio, reset, ISTATE_SEND_TASKMGTRSP, 0);
		spin_lock_bh(&lio->cmd_lock);
		conn->answering--;
	}
}

/* @cmd leaves LIO's list, and resets need not wait for it any more. */
static void leave_list(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	spin_lock_bh(&lio->cmd_lock);
	list_del_init(&cmd->i_conn_node);
	/* The answer to a reset may be released in there, for which nobody waits in turn. */
	if (cmd->iscsi_opcode == ISCSI_OP_SCSI_CMD)
		answer_held(lio, false);
	spin_unlock_bh(&lio->cmd_lock);
}

static void release(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	leave_list(lio, cmd);
	if (has_spare_reference(cmd))
		target_put_sess_cmd(&cmd->se_cmd);
	iscsit_free_cmd(cmd, false);
}

/* The receive that has the command's data is free again. */
static void put_data(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	if (kcmd->rx)
		kiser_rx_post(conn, kcmd->rx);
	kcmd->rx = NULL;
}

/* ---- when an answer is out ---------------------------------------------------------- */

/* Does a logout end the connection that it came in on? */
bool kiser_logout_ends(const struct iscsit_conn *lio, u8 reason, u16 cid)
{
	return reason == ISCSI_LOGOUT_REASON_CLOSE_SESSION ||
	       (reason == ISCSI_LOGOUT_REASON_CLOSE_CONNECTION && cid == lio->cid);
}

/*
 * Ends the session or the connection and waits for that.  The command, which this work
 * item is a part of, and the connection are gone when LIO's function returns.
 */
static void logout(struct work_struct *work)
{
	struct kiser_cmd *kcmd = container_of(work, struct kiser_cmd, logout);
	struct iscsit_cmd *cmd = kiser_lio_cmd(kcmd);

	iscsit_logout_post_handler(cmd, cmd->conn);
}

/**
 * kiser_cmd_sent - an answer has been sent
 * @conn: the connection
 * @cmd: the command
 *
 * The upcall.
 */
void kiser_cmd_sent(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct iscsi_text_rsp *text = (struct iscsi_text_rsp *)cmd->pdu;
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct iscsit_conn *lio = conn->lio;

	switch (kcmd->answer) {
	case ISTATE_SEND_LOGOUTRSP:
		/* Of another connection: the session has none, and LIO nothing to do. */
		if (!kiser_logout_ends(lio, cmd->logout_reason, cmd->logout_cid)) {
			release(lio, cmd);
			return;
		}
		conn->logout_sent = true;
		INIT_WORK(&kcmd->logout, logout);
		queue_work(kiser_logout_wq, &kcmd->logout);
		return;
	case ISTATE_SEND_NOPIN_WANT_RESPONSE:
		cmd->i_state = ISTATE_SENT_NOPIN_WANT_RESPONSE;
		return;
	case ISTATE_SEND_TEXTRSP:
		cmd->i_state = ISTATE_SENT_STATUS;
		if (!(text->flags & ISCSI_FLAG_TEXT_CONTINUE))
			release(lio, cmd);
		return;
	case ISTATE_SEND_TASKMGTRSP:
		iscsit_tmr_post_handler(cmd, lio);
		fallthrough;
	default:
		cmd->i_state = ISTATE_SENT_STATUS;
		release(lio, cmd);
		return;
	}
}

/**
 * kiser_cmd_unsent - something for a command was not sent, or has failed
 * @conn: the connection, which has ended or ends
 * @cmd: the command
 *
 * Any context.
 */
void kiser_cmd_unsent(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	if (kcmd->stage == KISER_FETCH || kcmd->answer == ISTATE_SEND_LOGOUTRSP)
		return;
	release(conn->lio, cmd);
}

/* ---- LIO's wishes ------------------------------------------------------------------- */

/* LIO allocates the text of the answer, so it is not built under our lock as others are. */
static int answer_text(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	int length;

	memset(cmd->pdu, 0, ISCSI_HDR_LEN);
	length = iscsit_build_text_rsp(cmd, lio, (struct iscsi_text_rsp *)cmd->pdu,
				       ISCSI_INFINIBAND);
	if (length < 0)
		return length;
	return answer(lio, cmd, ISTATE_SEND_TEXTRSP, length);
}

/**
 * kiser_response_queue - LIO's thread has taken an answer from its queue
 * @lio: the connection
 * @cmd: the command
 * @state: which answer
 *
 * Return: 0; an error ends the connection.
 */
int kiser_response_queue(struct iscsit_conn *lio, struct iscsit_cmd *cmd, int state)
{
	switch (state) {
	case ISTATE_SEND_TASKMGTRSP:
		return hold(lio, cmd) ? 0 : answer(lio, cmd, state, 0);
	case ISTATE_SEND_STATUS:
	case ISTATE_SEND_LOGOUTRSP:
		return answer(lio, cmd, state, 0);
	case ISTATE_SEND_NOPIN:
		return answer(lio, cmd, state, cmd->buf_ptr_size);
	case ISTATE_SEND_REJECT:
		return answer(lio, cmd, state, ISCSI_HDR_LEN);
	case ISTATE_SEND_TEXTRSP:
		return answer_text(lio, cmd);
	default:
		return -EINVAL;
	}
}

/**
 * kiser_immediate_queue - the same, for what goes first
 * @lio: the connection
 * @cmd: the command
 * @state: what to do
 *
 * Return: 0; an error ends the connection.
 */
int kiser_immediate_queue(struct iscsit_conn *lio, struct iscsit_cmd *cmd, int state)
{
	switch (state) {
	case ISTATE_REMOVE:
		put_data(to_conn(lio), cmd);
		release(lio, cmd);
		return 0;
	case ISTATE_SEND_NOPIN_WANT_RESPONSE:
		return answer(lio, cmd, state, 0);
	default:
		return -EINVAL;
	}
}

/* The command is done, and there is only its status to send. Any context. */
int kiser_queue_status(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	return answer(lio, cmd, ISTATE_SEND_STATUS, 0);
}

/* The core is about to release a command that was aborted. */
void kiser_aborted_task(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	leave_list(lio, cmd);
	if (cmd->data_direction == DMA_TO_DEVICE)
		iscsit_stop_dataout_timer(cmd);
	put_data(to_conn(lio), cmd);
}

/* ---- the end of the connection ------------------------------------------------------ */

/* How often to look whether the core has dropped its reference after an answer, 1 ms each. */
#define HANDOVER_ROUNDS	1000

enum left { LEFT_TO_LIO, LEFT_WITHOUT_DATA, LEFT_OURS_ALONE, LEFT_BUSY, LEFT_HANDED_OVER };

/* LIO wanted to remove or reject it, and has dropped the core's reference. */
static bool is_unwanted(const struct iscsit_cmd *cmd)
{
	return cmd->i_state == ISTATE_REMOVE || cmd->iscsi_opcode == ISCSI_OP_REJECT;
}

/* What a command is, that is still on the list when nothing more is received or sent. */
static enum left what_is_left(struct iscsit_cmd *cmd)
{
	struct se_cmd *se_cmd = &cmd->se_cmd;
	bool pending = se_cmd->t_state == TRANSPORT_WRITE_PENDING;

	if (!se_cmd->se_tfo)
		return LEFT_TO_LIO;
	/* Before anything else: LIO may have rejected a command out of order, too. */
	if (kref_read(&se_cmd->cmd_kref) == 1)
		return pending ? LEFT_OURS_ALONE : LEFT_TO_LIO;
	if (cmd->cmd_flags & ICF_OOO_CMDSN)
		return LEFT_TO_LIO;
	if (READ_ONCE(se_cmd->transport_state) & CMD_T_ACTIVE)
		return LEFT_BUSY;
	/*
	 * With its data a write is executed, or about to be aborted.  One that LIO wanted to
	 * remove or reject still has more than our reference only because an abort has taken
	 * one, and drops it when the commands before it are gone.
	 */
	if (pending)
		return cmd->cmd_flags & ICF_GOT_LAST_DATAOUT || is_unwanted(cmd) ?
		       LEFT_BUSY : LEFT_WITHOUT_DATA;
	return atomic_read(&cmd->response_queue_count) ? LEFT_HANDED_OVER : LEFT_TO_LIO;
}

/* Takes a command off the list that is to be released; @busy: is there one to wait for? */
static struct iscsit_cmd *take_left(struct iscsit_conn *lio, enum left *what, bool *busy,
				    bool patient)
{
	struct iscsit_cmd *cmd;

	spin_lock_bh(&lio->cmd_lock);
	/* Whoever answers a reset is about to release it, and has left the list himself. */
	*busy = to_conn(lio)->answering;
	list_for_each_entry(cmd, &lio->conn_cmd_list, i_conn_node) {
		*what = what_is_left(cmd);
		if (*what == LEFT_BUSY || (*what == LEFT_HANDED_OVER && patient))
			*busy = true;
		if (*what != LEFT_WITHOUT_DATA && *what != LEFT_OURS_ALONE)
			continue;
		list_del_init(&cmd->i_conn_node);
		spin_unlock_bh(&lio->cmd_lock);
		return cmd;
	}
	spin_unlock_bh(&lio->cmd_lock);
	return NULL;
}

/**
 * kiser_cmd_settle - leave only such commands as LIO can release
 * @lio: a connection that is being closed, and whose EP is gone
 *
 * Waits for the back end.  May sleep.
 */
void kiser_cmd_settle(struct iscsit_conn *lio)
{
	struct iscsit_cmd *cmd;
	unsigned int waited = 0;
	enum left what;
	bool busy;

	/* Nothing is sent any more, so to answer them is to release them. */
	spin_lock_bh(&lio->cmd_lock);
	answer_held(lio, true);
	spin_unlock_bh(&lio->cmd_lock);
	for (;;) {
		cmd = take_left(lio, &what, &busy, waited < HANDOVER_ROUNDS);
		if (cmd) {
			if (what == LEFT_WITHOUT_DATA)
				target_put_sess_cmd(&cmd->se_cmd);
			iscsit_free_cmd(cmd, what == LEFT_OURS_ALONE);
			continue;
		}
		if (!busy)
			return;
		usleep_range(1000, 2000);
		waited++;
	}
}
