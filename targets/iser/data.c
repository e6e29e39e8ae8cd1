// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The data of commands, moved by RDMA between the pages that LIO has allocated and the
 * initiator's buffer.
 *
 * A write whose data has not all come with it: an RDMA read, and when that has completed
 * LIO executes the command.  A read: an RDMA write, and right behind it on the same queue
 * the response, which therefore cannot arrive before the data.  Long transfers go in steps,
 * each of which is one post.  Every step has a completion event of its own, except the last
 * write of a read.
 *
 * Callers: LIO, from any context, kiser_get_dataout() and kiser_queue_data_in(); tx.c,
 * under its lock, kiser_fetch_post() and kiser_push_begin().
 */
#include "kdat_iser.h"

/* Advances by @bytes in the scatterlist. */
static void skip(struct kiser_cmd *kcmd, u32 bytes)
{
	kcmd->sg_offset += bytes;
	while (kcmd->sg && kcmd->sg_offset >= kcmd->sg->length) {
		kcmd->sg_offset -= kcmd->sg->length;
		kcmd->sg = sg_next(kcmd->sg);
	}
}

/* Describes the memory of the next step: as much of the scatterlist as one LMR takes. */
static void next_step(const struct kiser_adapter *adapter, struct kiser_cmd *kcmd,
		      struct kdat_memory *memory)
{
	u32 room = min_t(u32, kcmd->length - kcmd->moved, adapter->step_pages * PAGE_SIZE);
	u32 offset = kcmd->sg_offset, pages = 0, bytes;
	struct scatterlist *sg;

	*memory = (struct kdat_memory) { .list = kcmd->sg, .offset = offset };
	for (sg = kcmd->sg; sg && room; sg = sg_next(sg)) {
		bytes = min(room, sg->length - offset);
		pages += PFN_UP(offset_in_page(sg->offset + offset) + bytes);
		if (pages > adapter->step_pages + 1)
			break;
		memory->entries++;
		memory->length += bytes;
		room -= bytes;
		offset = 0;
	}
	kcmd->step = memory->length;
}

static bool is_last_step(const struct kiser_cmd *kcmd)
{
	return kcmd->moved + kcmd->step == kcmd->length;
}

static void step_done(struct kiser_cmd *kcmd)
{
	kcmd->moved += kcmd->step;
	skip(kcmd, kcmd->step);
	kiser_tx_unmap(kcmd->tx);
}

/* ---- completions -------------------------------------------------------------------- */

/* All data of a write has arrived. */
static void execute(struct iscsit_cmd *cmd)
{
	iscsit_stop_dataout_timer(cmd);
	spin_lock_bh(&cmd->istate_lock);
	cmd->write_data_done = cmd->se_cmd.data_length;
	cmd->cmd_flags |= ICF_GOT_LAST_DATAOUT;
	cmd->i_state = ISTATE_RECEIVED_LAST_DATAOUT;
	spin_unlock_bh(&cmd->istate_lock);
	target_execute_cmd(&cmd->se_cmd);
}

static void fetch_done(struct kiser_conn *conn, struct kiser_done *done,
		       DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	struct kiser_tx *tx = container_of(done, struct kiser_tx, done);
	struct iscsit_cmd *cmd = tx->cmd;
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	if (status != DAT_DTO_SUCCESS) {
		kiser_tx_done(conn, tx, true);
		kiser_cmd_unsent(conn, cmd);
		return;
	}
	step_done(kcmd);
	if (kcmd->moved < kcmd->length) {
		kiser_tx_done(conn, tx, false);
		kiser_submit(conn, cmd);
		return;
	}
	kcmd->stage = KISER_IDLE;
	kiser_tx_done(conn, tx, true);
	execute(cmd);
}

/* A step of a read has completed that is not the last one. */
static void push_done(struct kiser_conn *conn, struct kiser_done *done,
		      DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	struct kiser_tx *tx = container_of(done, struct kiser_tx, done);
	struct iscsit_cmd *cmd = tx->cmd;

	if (status != DAT_DTO_SUCCESS) {
		kiser_tx_done(conn, tx, true);
		kiser_cmd_unsent(conn, cmd);
		return;
	}
	step_done(iscsit_priv_cmd(cmd));
	kiser_tx_done(conn, tx, false);
	kiser_submit(conn, cmd);
}

/*
 * The last step of a read, which has a completion event only if it fails.  That failure
 * breaks the connection, and the completion of the response behind it, which is flushed,
 * releases the command.
 */
static void last_push_done(struct kiser_conn *conn, struct kiser_done *done,
			   DAT_DTO_COMPLETION_STATUS status, u64 length)
{
}

/* ---- posting ------------------------------------------------------------------------ */

static DAT_RETURN post_fetch(struct kiser_conn *conn, struct kiser_cmd *kcmd,
			     DAT_LMR_TRIPLET *iov)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = &kcmd->tx->done };
	DAT_RMR_TRIPLET remote = {
		.rmr_context = kcmd->write_stag,
		.target_address = kcmd->write_va + kcmd->moved,
		.segment_length = kcmd->step,
	};

	kcmd->tx->done.fn = fetch_done;
	return dat_ep_post_rdma_read(conn->ep, 1, iov, cookie, &remote,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/**
 * kiser_fetch_post - post the next step of a write: an RDMA read of its data
 * @conn: the connection, with its tx_lock
 * @cmd: a command with a kiser_tx, in stage KISER_FETCH
 *
 * Its completion continues.
 *
 * Return: 0, -EAGAIN or -EIO, as kiser_post_error().
 */
int kiser_fetch_post(struct kiser_conn *conn, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct kdat_memory memory;
	DAT_LMR_TRIPLET iov;
	int err;

	next_step(conn->adapter, kcmd, &memory);
	err = kiser_tx_map(kcmd->tx, &memory, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &iov);
	if (err)
		return err;
	err = kiser_post_error(post_fetch(conn, kcmd, &iov));
	if (err)
		kiser_tx_unmap(kcmd->tx);
	else
		conn->posted++;
	return err;
}

/**
 * kiser_push_begin - the next step of a read, to be posted: an RDMA write of its data
 * @conn: the connection, with its tx_lock
 * @cmd: a command with a kiser_tx, in stage KISER_PUSH
 * @push: out: what to post, and what that points to
 *
 * The last step has no completion of its own: the answer is posted behind it.  The completion of
 * any other one continues.
 *
 * Return: 0, and kiser_push_end() has to follow; -EAGAIN or -EIO, as kiser_post_error().
 */
int kiser_push_begin(struct kiser_conn *conn, struct iscsit_cmd *cmd, struct kiser_push *push)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct kdat_memory memory;
	struct kiser_done *done;
	int err;

	next_step(conn->adapter, kcmd, &memory);
	err = kiser_tx_map(kcmd->tx, &memory, DAT_MEM_PRIV_LOCAL_READ_FLAG, &push->iov);
	if (err)
		return err;
	push->last = is_last_step(kcmd);
	done = push->last ? &kcmd->tx->write : &kcmd->tx->done;
	done->fn = push->last ? last_push_done : push_done;
	push->remote = (DAT_RMR_TRIPLET) {
		.rmr_context = kcmd->read_stag,
		.target_address = kcmd->read_va + kcmd->moved,
		.segment_length = kcmd->step,
	};
	push->request = (struct kdat_request) {
		.kind = KDAT_RDMA_WRITE,
		.num_segments = 1,
		.local_iov = &push->iov,
		.user_cookie.as_ptr = done,
		.remote_buffer = &push->remote,
		.completion_flags = push->last ? DAT_COMPLETION_SUPPRESS_FLAG :
						 DAT_COMPLETION_DEFAULT_FLAG,
	};
	return 0;
}

/**
 * kiser_push_end - what kiser_push_begin() has begun was posted, or not
 * @conn: the connection
 * @cmd: the command
 * @push: of kiser_push_begin()
 * @posted: it was
 */
void kiser_push_end(struct kiser_conn *conn, struct iscsit_cmd *cmd, const struct kiser_push *push,
		    bool posted)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	if (!posted)
		kiser_tx_unmap(kcmd->tx);
	else if (push->last)
		kcmd->stage = KISER_ANSWER;
	else
		conn->posted++;
}

/* ---- LIO's wishes ------------------------------------------------------------------- */

/**
 * kiser_get_dataout - fetch the data of a write that has not come with it
 * @lio: the connection
 * @cmd: the command, in state TRANSPORT_WRITE_PENDING
 * @recovery: ignored: recovery within a command needs an error recovery level that is
 *	not offered
 *
 * Return: 0.  If the data cannot be fetched the connection is ended, and with it the
 * command.
 */
int kiser_get_dataout(struct iscsit_conn *lio, struct iscsit_cmd *cmd, bool recovery)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct kiser_conn *conn = lio->context;

	if (!kcmd->writable || cmd->write_data_done >= cmd->se_cmd.data_length) {
		kiser_conn_fail(conn, "a write without a key to its data");
		return 0;
	}
	kcmd->stage = KISER_FETCH;
	kcmd->length = cmd->se_cmd.data_length - cmd->write_data_done;
	kcmd->moved = 0;
	kcmd->sg = cmd->se_cmd.t_data_sg;
	kcmd->sg_offset = 0;
	skip(kcmd, cmd->write_data_done);
	kiser_submit(conn, cmd);
	return 0;
}

/**
 * kiser_queue_data_in - send the data of a read, and the response
 * @lio: the connection
 * @cmd: the command, with its data
 *
 * Return: 0.
 */
int kiser_queue_data_in(struct iscsit_conn *lio, struct iscsit_cmd *cmd)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	struct kiser_conn *conn = lio->context;

	kcmd->answer = ISTATE_SEND_STATUS;
	kcmd->stage = KISER_ANSWER;
	if (cmd->se_cmd.data_length) {
		/*
		 * The command is submitted nevertheless, so that it is released with the
		 * connection.
		 */
		if (!kcmd->readable)
			kiser_conn_fail(conn, "a read without a key to its buffer");
		kcmd->stage = KISER_PUSH;
		kcmd->length = cmd->se_cmd.data_length;
		kcmd->moved = 0;
		kcmd->sg = cmd->se_cmd.t_data_sg;
		kcmd->sg_offset = 0;
	}
	kiser_submit(conn, cmd);
	return 0;
}
