// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: the RDMA transfers of commands, and their answers.
 *
 * A command is submitted with a stage that says what comes next (enum kiser_stage).  It gets a
 * struct kiser_tx, the DTOs of the stage are posted, and their completion moves the command on.
 * What finds no room waits in conn->waiting.  Nothing here sleeps or allocates memory.  Everything
 * is posted under conn->tx_lock; why with interrupts off, what the lock does for the order of
 * answers, and which answer is built without it is told in Documentation/kernel-consumers.rst, When
 * there is no room.
 *
 * Callers: cmd.c and data.c with what LIO asks for, in any context; the upcall with
 * completions; room.c when it has made more room; conn.c when a connection is closed.
 */
#include "compat.h"
#include "kdat_iser.h"

/* The data that fits into the slot of an answer */
#define TX_INLINE	(KISER_TX_SLOT - sizeof(struct kiser_pdu))

static struct kiser_cmd *to_kcmd(struct iscsit_cmd *cmd)
{
	return iscsit_priv_cmd(cmd);
}

/**
 * kiser_post_error - turn the result of a post into an errno
 * @ret: what the post returned
 *
 * Return: 0: it was posted; -EAGAIN: there was no room; -EIO: the connection has ended, or
 * is about to.
 */
int kiser_post_error(DAT_RETURN ret)
{
	if (!ret)
		return 0;
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ? -EAGAIN : -EIO;
}

/* ---- memory of a command ------------------------------------------------------------ */

/**
 * kiser_tx_map - register memory, so that posts can name it
 * @tx: has no memory so far
 * @memory: the memory
 * @privileges: LOCAL_READ or LOCAL_WRITE
 * @iov: out: a segment with all of the memory
 *
 * Return: 0, -EAGAIN or -EIO, as kiser_post_error().
 */
int kiser_tx_map(struct kiser_tx *tx, const struct kdat_memory *memory,
		 DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_TRIPLET *iov)
{
	DAT_REGION_DESCRIPTION region = { .for_platform = (void *)memory };
	DAT_LMR_COOKIE cookie = {};
	DAT_LMR_CONTEXT context;
	DAT_RETURN ret;

	ret = dat_lmr_fmr(tx->lmr, DAT_MEM_TYPE_PLATFORM, region, 0, privileges,
			  DAT_VA_TYPE_ZB, DAT_HANDLE_NULL, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &context, NULL);
	if (ret)
		return kiser_post_error(ret);
	tx->mapped = true;
	*iov = (DAT_LMR_TRIPLET) {
		.lmr_context = context,
		.segment_length = memory->length,
	};
	return 0;
}

/* Takes the memory from @tx again; no outstanding DTO may name it. */
void kiser_tx_unmap(struct kiser_tx *tx)
{
	DAT_LMR_COOKIE cookie = {};

	if (!tx->mapped)
		return;
	dat_lmr_invalidate(tx->lmr, DAT_HANDLE_NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	tx->mapped = false;
}

/* ---- answers ------------------------------------------------------------------------ */

/* Behind the header of a response comes the length of the sense data, and then these. */
static u32 build_sense(struct iscsit_cmd *cmd, struct kiser_pdu *pdu)
{
	struct se_cmd *se_cmd = &cmd->se_cmd;
	u32 length = se_cmd->scsi_sense_length;

	if (!se_cmd->sense_buffer ||
	    !(se_cmd->se_cmd_flags & (SCF_TRANSPORT_TASK_SENSE | SCF_EMULATED_TASK_SENSE)))
		return 0;
	put_unaligned_be16(length, pdu->data);
	memcpy(pdu->data + sizeof(__be16), se_cmd->sense_buffer, length);
	length += sizeof(__be16);
	hton24(pdu->iscsi.dlength, length);
	return length;
}

static u32 build_data(struct iscsit_cmd *cmd, struct kiser_pdu *pdu, u32 length)
{
	if (length > TX_INLINE)
		return 0;	/* build_far_data() */
	memcpy(pdu->data, cmd->buf_ptr, length);
	return length;
}

/*
 * Builds the header, and copies the data that fits into the slot.  Building the header
 * takes a StatSN, so it is done once, right before the answer is posted for the first time.
 */
static u32 build_answer(struct iscsit_conn *lio, struct iscsit_cmd *cmd, struct kiser_pdu *pdu)
{
	struct kiser_cmd *kcmd = to_kcmd(cmd);
	void *hdr = &pdu->iscsi;

	memset(pdu, 0, KISER_TX_SLOT);
	pdu->iser.flags = ISCSI_CTRL;
	switch (kcmd->answer) {
	case ISTATE_SEND_STATUS:
		iscsit_build_rsp_pdu(cmd, lio, true, hdr);
		return build_sense(cmd, pdu);
	case ISTATE_SEND_NOPIN:
		iscsit_build_nopin_rsp(cmd, lio, hdr, true);
		return build_data(cmd, pdu, kcmd->data_length);
	case ISTATE_SEND_NOPIN_WANT_RESPONSE:
		iscsit_build_nopin_rsp(cmd, lio, hdr, false);
		return 0;
	case ISTATE_SEND_TASKMGTRSP:
		iscsit_build_task_mgt_rsp(cmd, lio, hdr);
		return 0;
	case ISTATE_SEND_LOGOUTRSP:
		iscsit_build_logout_rsp(cmd, lio, hdr);
		return 0;
	case ISTATE_SEND_REJECT:
		iscsit_build_reject(cmd, lio, hdr);
		return build_data(cmd, pdu, kcmd->data_length);
	default:
		/* Text: LIO has to allocate memory for it, so cmd.c has built it. */
		memcpy(hdr, cmd->pdu, ISCSI_HDR_LEN);
		return build_data(cmd, pdu, kcmd->data_length);
	}
}

/* Data that does not fit into the slot is sent from where it is. */
static int map_far_data(struct kiser_tx *tx, struct iscsit_cmd *cmd, u32 length)
{
	struct kdat_memory memory = {
		.list = &tx->sg,
		.entries = 1,
		.length = length,
	};

	sg_init_one(&tx->sg, cmd->buf_ptr, length);
	return kiser_tx_map(tx, &memory, DAT_MEM_PRIV_LOCAL_READ_FLAG, &tx->iov[1]);
}

static void answer_done(struct kiser_conn *conn, struct kiser_done *done,
			DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	struct kiser_tx *tx = container_of(done, struct kiser_tx, done);
	struct iscsit_cmd *cmd = tx->cmd;

	kiser_tx_done(conn, tx, true);
	if (status == DAT_DTO_SUCCESS)
		kiser_cmd_sent(conn, cmd);
	else
		kiser_cmd_unsent(conn, cmd);
}

/*
 * The key that the initiator has given with this command, if the answer may invalidate it;
 * else 0.
 */
static DAT_RMR_CONTEXT key_to_invalidate(const struct kiser_conn *conn,
					 const struct iscsit_cmd *cmd,
					 const struct kiser_cmd *kcmd)
{
	if (!conn->invalidate || cmd->iscsi_opcode != ISCSI_OP_SCSI_CMD)
		return 0;
	return kcmd->readable ? kcmd->read_stag : kcmd->writable ? kcmd->write_stag : 0;
}

/* Builds the answer, and @request, which posts it. */
static int prepare_answer(struct kiser_conn *conn, struct iscsit_cmd *cmd,
			  struct kdat_request *request)
{
	struct kiser_cmd *kcmd = to_kcmd(cmd);
	struct kiser_tx *tx = kcmd->tx;
	DAT_RMR_CONTEXT key = key_to_invalidate(conn, cmd, kcmd);
	int err, segments = kcmd->data_length > TX_INLINE ? 2 : 1;

	if (!kcmd->answer_built) {
		tx->iov[0].segment_length = sizeof(*tx->pdu) +
			ALIGN(build_answer(conn->lio, cmd, tx->pdu), 4);
		kcmd->answer_built = true;
	}
	if (segments > 1 && !tx->mapped) {
		err = map_far_data(tx, cmd, kcmd->data_length);
		if (err)
			return err;
	}
	/*
	 * The receive goes first: the answer lets the initiator send another command.  If
	 * posting it fails, the connection has ended and posting the answer fails as well.
	 */
	if (kcmd->rx) {
		kiser_rx_post(conn, kcmd->rx);
		kcmd->rx = NULL;
	}
	tx->done.fn = answer_done;
	*request = (struct kdat_request) {
		.kind = key ? KDAT_SEND_INVALIDATE : KDAT_SEND,
		.num_segments = segments,
		.local_iov = tx->iov,
		.user_cookie.as_ptr = &tx->done,
		.rmr_context = key,
	};
	return 0;
}

static int post_answer(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kdat_request request;
	DAT_COUNT posted = 0;
	DAT_RETURN ret;
	int err;

	err = prepare_answer(conn, cmd, &request);
	if (err)
		return err;
	ret = kdat_ep_post_requests(conn->ep, 1, &request, &posted);
	conn->posted += posted;
	return kiser_post_error(ret);
}

/* Posts the next step of a read, and behind the last one the answer, in one call. */
static int post_push(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kdat_request requests[2];
	struct kiser_push push;
	DAT_COUNT posted = 0;
	DAT_RETURN ret;
	int err;

	err = kiser_push_begin(conn, cmd, &push);
	if (err)
		return err;
	requests[0] = push.request;
	err = push.last ? prepare_answer(conn, cmd, &requests[1]) : 0;
	ret = kdat_ep_post_requests(conn->ep, push.last && !err ? 2 : 1, requests, &posted);
	kiser_push_end(conn, cmd, &push, posted);
	conn->posted += posted == 2;
	return kiser_post_error(ret) ?: err;
}

/* ---- the queue ---------------------------------------------------------------------- */

/*
 * Posts what a command has to do, as far as possible without waiting for a completion.
 * -EAGAIN: the command has to wait for one.  Any other error: nothing can be posted any
 * more.
 */
static int advance(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = to_kcmd(cmd);
	int err = -EAGAIN;

	if (!kcmd->tx) {
		kcmd->tx = kiser_tx_take(conn);
		if (!kcmd->tx)
			return -EAGAIN;
		kcmd->tx->cmd = cmd;
	}
	switch (kcmd->stage) {
	case KISER_FETCH:
		err = kiser_fetch_post(conn, cmd);
		break;
	case KISER_PUSH:
		err = post_push(conn, cmd);
		break;
	default:
		err = post_answer(conn, cmd);
		break;
	}
	/* Only a completion makes room.  If none is outstanding, waiting would never end. */
	return err == -EAGAIN && !conn->posted ? -EIO : err;
}

static void put_tx(struct kiser_conn *conn, struct kiser_tx *tx)
{
	kiser_tx_unmap(tx);
	to_kcmd(tx->cmd)->tx = NULL;
	tx->cmd = NULL;
	kiser_tx_give(conn, tx);
}

/* The command was not posted and will not be: frees its kiser_tx. */
static void give_up(struct kiser_conn *conn, struct kiser_cmd *kcmd, struct list_head *unsent)
{
	if (kcmd->tx)
		put_tx(conn, kcmd->tx);
	list_add_tail(&kcmd->entry, unsent);
}

/*
 * give_up() while the EP still exists.  The RDMA write in front of an answer has no
 * completion of its own, so as long as memory is mapped the device may still read it.  Such
 * a command stays as it is, and kiser_tx_flush() releases it.
 */
static void give_up_early(struct kiser_conn *conn, struct kiser_cmd *kcmd,
			  struct list_head *unsent)
{
	if (!kcmd->tx || !kcmd->tx->mapped)
		give_up(conn, kcmd, unsent);
}

/* Called without tx_lock, since releasing a command takes LIO's locks. */
static void release_unsent(struct kiser_conn *conn, struct list_head *unsent)
{
	struct kiser_cmd *kcmd;

	while ((kcmd = list_first_entry_or_null(unsent, struct kiser_cmd, entry))) {
		list_del(&kcmd->entry);
		kiser_cmd_unsent(conn, kiser_lio_cmd(kcmd));
	}
}

/*
 * Tries the first waiting command again.  Only one is tried per call, because interrupts
 * are off meanwhile. -EAGAIN: no command waits, or the first one has to go on waiting.
 */
static int advance_first(struct kiser_conn *conn, struct list_head *unsent)
{
	struct kiser_cmd *kcmd;
	unsigned long flags;
	int err = -EAGAIN;

	spin_lock_irqsave(&conn->tx_lock, flags);
	kcmd = list_first_entry_or_null(&conn->waiting, struct kiser_cmd, entry);
	if (kcmd)
		err = conn->tx_closed ? -EIO : advance(conn, kiser_lio_cmd(kcmd));
	if (err != -EAGAIN)
		list_del(&kcmd->entry);
	if (err && err != -EAGAIN)
		give_up_early(conn, kcmd, unsent);
	spin_unlock_irqrestore(&conn->tx_lock, flags);
	return err;
}

static void advance_waiting(struct kiser_conn *conn)
{
	LIST_HEAD(unsent);
	int err;

	do {
		err = advance_first(conn, &unsent);
		if (err && err != -EAGAIN)
			dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	} while (err != -EAGAIN);
	release_unsent(conn, &unsent);
}

/**
 * kiser_submit - have a command's stage posted
 * @conn: its connection
 * @cmd: the command, with stage set; from here on it does not belong to the caller
 *
 * If the connection has ended, the command is released instead: at once, or when the EP is
 * gone (see cmd.c).  Any context.
 */
void kiser_submit(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = to_kcmd(cmd);
	unsigned long flags;
	LIST_HEAD(unsent);
	bool first;
	int err;

	spin_lock_irqsave(&conn->tx_lock, flags);
	if (conn->tx_over) {
		spin_unlock_irqrestore(&conn->tx_lock, flags);
		return;
	}
	/*
	 * A command that has a kiser_tx already goes to the front: those in front of it may
	 * be waiting for a kiser_tx, and this command frees its own only when it is done.
	 */
	first = kcmd->tx;
	if (conn->tx_closed)
		err = -EIO;
	else if (!first && !list_empty(&conn->waiting))
		err = -EAGAIN;
	else
		err = advance(conn, cmd);
	if (err == -EAGAIN && first)
		list_add(&kcmd->entry, &conn->waiting);
	else if (err == -EAGAIN)
		list_add_tail(&kcmd->entry, &conn->waiting);
	else if (err)
		give_up_early(conn, kcmd, &unsent);
	spin_unlock_irqrestore(&conn->tx_lock, flags);
	if (err && err != -EAGAIN)
		dat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
	release_unsent(conn, &unsent);
}

/**
 * kiser_tx_done - a completion has come that was counted in conn->posted
 * @conn: the connection
 * @tx: the kiser_tx whose DTO has completed
 * @put: the command does not need @tx any more
 *
 * Tries the waiting commands again.  Called in the upcall.
 */
void kiser_tx_done(struct kiser_conn *conn, struct kiser_tx *tx, bool put)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&conn->tx_lock, flags);
	conn->posted--;
	if (put)
		put_tx(conn, tx);
	more = !list_empty(&conn->waiting);
	spin_unlock_irqrestore(&conn->tx_lock, flags);
	if (more)
		advance_waiting(conn);
}

/* There is more room: tries the waiting commands again.  Process context. */
void kiser_tx_retry(struct kiser_conn *conn)
{
	advance_waiting(conn);
}

/**
 * kiser_tx_close - let nothing be posted any more
 * @conn: a connection whose EP is Disconnected
 *
 * Commands that wait are released, as in kiser_submit().  Process context.
 */
void kiser_tx_close(struct kiser_conn *conn)
{
	spin_lock_irq(&conn->tx_lock);
	conn->tx_closed = true;
	spin_unlock_irq(&conn->tx_lock);
	advance_waiting(conn);
}

static void flush_batch(struct kiser_conn *conn, struct kiser_batch *batch,
			struct list_head *unsent)
{
	struct kiser_tx *tx;
	u32 i;

	for (i = 0; i < batch->nr_tx; i++) {
		tx = &batch->tx[i];
		spin_lock_irq(&conn->tx_lock);
		if (tx->cmd)
			give_up(conn, to_kcmd(tx->cmd), unsent);
		spin_unlock_irq(&conn->tx_lock);
	}
}

/**
 * kiser_tx_flush - release the commands whose completions did not come
 * @conn: a connection whose EP and EVD are gone, and whose room is closed
 *
 * There are two kinds.  A DTO that was posted while the connection ended is flushed after
 * the last event, and its completion may go away untaken with the EVD.  And an answer may
 * have been refused after the data in front of it had been posted (give_up_early()).
 * Process context.
 */
void kiser_tx_flush(struct kiser_conn *conn)
{
	struct kiser_batch *batch;
	LIST_HEAD(unsent);

	/* After kiser_room_close() the list does not change. */
	list_for_each_entry(batch, &conn->batches, entry)
		flush_batch(conn, batch, &unsent);
	release_unsent(conn, &unsent);
}
