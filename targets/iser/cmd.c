// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What LIO asks to be sent, and the end of each command.
 *
 * A command has one owner at a time: LIO and the target core while they execute it; we for its
 * data, from iscsit_get_dataout until the RDMA read has completed; we for its answer, from
 * iscsit_queue_data_in, _queue_status, _response_queue or _immediate_queue until the send has.
 * Then we release it, except for commands of a few kinds.
 *
 * Documentation/kernel-consumers.rst, Who releases a command when, tells all of it, for a reset,
 * an abort and the end of the connection, too.
 *
 * Callers: LIO, by the table in main.c; tx.c and data.c, when an answer was sent or cannot be;
 * conn.c at the end.
 */
#include <linux/delay.h>
#include "kdat_iser.h"

struct workqueue_struct *kiser_logout_wq;

static struct kiser_conn *to_conn(struct iscsit_conn *lio)
{
	return lio->context;
}

/*
 * A task management function that LIO answers by itself never reaches the core, so the core
 * does not drop its reference.  LIO drops it for an immediate one; for any other one we
 * have to.
 */
static bool has_spare_reference(struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	return kcmd->answer == ISTATE_SEND_TASKMGTRSP && !cmd->immediate_cmd &&
	       !cmd->se_cmd.se_tmr_req->call_transport;
}

/* ---- the answer to a reset of a logical unit ---------------------------------------- */

/*
 * Is there a command for the same device, before @reset in the list, that the core has
 * completed and that has not been answered?
 */
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

/* Puts the answer to a reset into conn->held if it has to wait; returns whether it does. */
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

/*
 * Takes the first held answer that need not wait any more, or with @any just the first one;
 * NULL if there is none.
 */
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

/*
 * Submits the held answers that need not wait any more, or with @any all of them.  Drops
 * the lock meanwhile.
 */
static void answer_held(struct iscsit_conn *lio, bool any)
	__must_hold(&lio->cmd_lock)
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

/* Takes @cmd off LIO's list, and submits answers to resets that have waited for it. */
static void leave_list(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	spin_lock_bh(&lio->cmd_lock);
	list_del_init(&cmd->i_conn_node);
	/*
	 * Only for SCSI commands: nothing waits for others.  This also ends the recursion:
	 * answer_held() may release the answer to a reset, which comes here again.
	 */
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

/* Posts the receive that holds the command's data again: the data is not needed any more. */
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
 * Ends the session or the connection, and waits until it has ended.  When
 * iscsit_logout_post_handler() returns, both the connection and the command that this work
 * item is a part of have been freed.
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
 * Called in the upcall.
 */
void kiser_cmd_sent(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct iscsi_text_rsp *text = (struct iscsi_text_rsp *)cmd->pdu;
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct iscsit_conn *lio = conn->lio;

	switch (kcmd->answer) {
	case ISTATE_SEND_LOGOUTRSP:
		/*
		 * A logout of another connection: a session has only one, so LIO has
		 * nothing to do.
		 */
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
 * kiser_cmd_unsent - a DTO of a command has failed, or could not be posted
 * @conn: the connection, which has ended or is about to
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

/*
 * Built here and not in tx.c, since LIO allocates memory for it, which is not possible
 * under tx_lock.
 */
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
 * kiser_immediate_queue - LIO's thread has taken an entry from its immediate queue, which
 * goes before the other one
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

/* The core has completed a command without data to send: send its status.  Any context. */
int kiser_queue_status(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	return answer(lio, cmd, ISTATE_SEND_STATUS, 0);
}

/* The core has aborted a command and is about to release it. */
void kiser_aborted_task(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	leave_list(lio, cmd);
	if (cmd->data_direction == DMA_TO_DEVICE)
		iscsit_stop_dataout_timer(cmd);
	put_data(to_conn(lio), cmd);
}

/* ---- the end of the connection ------------------------------------------------------ */

/*
 * How many times, 1 ms apart, to look whether the core has dropped its reference to a
 * command whose answer it has handed over.
 */
#define HANDOVER_ROUNDS	1000

/*
 * What becomes of a command that is left:
 *
 *	LEFT_TO_LIO	 LIO releases it
 *	LEFT_WITHOUT_DATA a write whose data has not come: we drop both references
 *	LEFT_OURS_ALONE	 a write that has only the transport's reference: we drop that
 *	LEFT_BUSY	 the core is at work on it: we wait
 *	LEFT_HANDED_OVER its answer is in LIO's queue, but the core has not dropped its
 *			 reference yet: we wait, HANDOVER_ROUNDS at most
 */
enum left { LEFT_TO_LIO, LEFT_WITHOUT_DATA, LEFT_OURS_ALONE, LEFT_BUSY, LEFT_HANDED_OVER };

/* LIO wanted to remove or reject the command, and has dropped the core's reference. */
static bool is_unwanted(const struct iscsit_cmd *cmd)
{
	return cmd->i_state == ISTATE_REMOVE || cmd->iscsi_opcode == ISCSI_OP_REJECT;
}

/*
 * Which kind a command is that is still on the list when nothing is received or sent any
 * more.
 */
static enum left what_is_left(struct iscsit_cmd *cmd)
{
	struct se_cmd *se_cmd = &cmd->se_cmd;
	bool pending = se_cmd->t_state == TRANSPORT_WRITE_PENDING;

	if (!se_cmd->se_tfo)
		return LEFT_TO_LIO;
	/*
	 * Tested first, because LIO may also have rejected a command that is out of order.
	 */
	if (kref_read(&se_cmd->cmd_kref) == 1)
		return pending ? LEFT_OURS_ALONE : LEFT_TO_LIO;
	if (cmd->cmd_flags & ICF_OOO_CMDSN)
		return LEFT_TO_LIO;
	if (READ_ONCE(se_cmd->transport_state) & CMD_T_ACTIVE)
		return LEFT_BUSY;
	/*
	 * A write that has its data is being executed, or about to be aborted.  If LIO
	 * wanted to remove or reject a command and it still has more than our reference,
	 * then an abort has taken one, and drops it when the commands before it are gone.
	 */
	if (pending)
		return cmd->cmd_flags & ICF_GOT_LAST_DATAOUT || is_unwanted(cmd) ?
		       LEFT_BUSY : LEFT_WITHOUT_DATA;
	return atomic_read(&cmd->response_queue_count) ? LEFT_HANDED_OVER : LEFT_TO_LIO;
}

/*
 * Takes a command off the list that we have to release.  @busy: whether there is a command
 * to wait for; @patient: also wait for those whose answer was handed over.
 */
static struct iscsit_cmd *take_left(struct iscsit_conn *lio, enum left *what, bool *busy,
				    bool patient)
{
	struct iscsit_cmd *cmd;

	spin_lock_bh(&lio->cmd_lock);
	/*
	 * A thread in answer_held() still works with a command that is not on this list any
	 * more.
	 */
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
 * kiser_cmd_settle - release what LIO cannot release by itself
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

	/*
	 * Nothing can be posted any more, so submitting the answers only releases the
	 * commands.
	 */
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
