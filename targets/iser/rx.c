// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * PDUs of the full feature phase: from their receives to LIO.
 *
 * The upcall of the connection's EVD comes here with each message, one at a time and in order,
 * in process context.  First the whole message is checked.  LIO copies what it needs, so the
 * receive is posted again as soon as LIO has taken the PDU, before the command is executed; but
 * not if LIO uses immediate data where they are (Documentation/kernel-consumers.rst, One write).
 *
 * If LIO has no free command for a PDU, this PDU and all behind it wait in conn->deferred
 * until a completion has freed one (Bad peers, in the same document).
 *
 * Callers: the upcall; login.c, when the phase begins; cmd.c and tx.c, which return
 * receives.
 */
#include <linux/slab.h>
#include <scsi/scsi_common.h>
#include <target/target_core_backend.h>
#include "kdat_iser.h"

/*
 * A receive buffer: the headers, and room for the data.  The data begins at a multiple of
 * 512 bytes, so that the drivers of most disks can use it in place.
 */
#define RX_OFFSET	(512 - sizeof(struct kiser_pdu))
#define RX_SLOT		(512 + KISER_MAX_DATA)

/* What a handler returns; or a negative errno, which ends the connection */
#define RX_FREE		0	/* the receive can be posted again */
#define RX_KEPT		1	/* a command uses the receive */

static u32 ahs_length(const struct kiser_pdu *pdu)
{
	return pdu->iscsi.hlength * 4;
}

static u32 data_length(const struct kiser_pdu *pdu)
{
	return ntoh24(pdu->iscsi.dlength);
}

static void *data_of(struct kiser_pdu *pdu)
{
	return pdu->data + ahs_length(pdu);
}

/* ---- is it well formed? ------------------------------------------------------------- */

/**
 * kiser_rx_length_fits - has all of a PDU arrived?
 * @pdu: the message
 * @length: its bytes
 *
 * Return: whether the headers are complete, and all the data is there that they announce.
 */
bool kiser_rx_length_fits(const struct kiser_pdu *pdu, u64 length)
{
	return length >= sizeof(*pdu) &&
	       length - sizeof(*pdu) >= ahs_length(pdu) + data_length(pdu);
}

/*
 * LIO reads as many bytes of a CDB as its opcode says, from the PDU and from the header
 * that extends it.  All of them have to be in the message.
 */
static bool cdb_fits(const struct kiser_pdu *pdu)
{
	const struct iscsi_scsi_req *hdr = (const void *)&pdu->iscsi;
	const struct iscsi_ecdb_ahdr *ahs = (const void *)pdu->data;
	u32 length = sizeof(hdr->cdb), more;

	if (ahs_length(pdu)) {
		more = be16_to_cpu(ahs->ahslength);
		if (!more || offsetof(struct iscsi_ecdb_ahdr, reserved) + more > ahs_length(pdu))
			return false;
		length += more - 1;
	}
	return scsi_command_size(hdr->cdb) <= length;
}

/*
 * Only writes may come with data.  LIO does not check this: it would execute a read with
 * data once when it has got pages, and again when the command's turn comes.
 */
static bool data_fits(const struct kiser_pdu *pdu)
{
	return !data_length(pdu) || pdu->iscsi.flags & ISCSI_FLAG_CMD_WRITE;
}

/* Is this the one question that LIO answers, SendTargets, with a value that it knows? */
static bool asks_for_targets(const char *text, u32 length)
{
	static const char all[] = "SendTargets=All", one[] = "SendTargets=";
	const char *value = text + strlen(one);

	if (strnlen(text, length) == strlen(all))
		return !memcmp(text, all, strlen(all));
	return length >= strlen(one) + 4 && !memcmp(text, one, strlen(one)) &&
	       (!memcmp(value, "iqn.", 4) || !memcmp(value, "eui.", 4));
}

/*
 * Is this a PDU that LIO would reject by a command that is only in its queue of answers?
 * Such a command leaks if the connection ends before LIO's thread takes it from there, so
 * these PDUs end the connection instead.  A rejected read, write or task management
 * function is also in the connection's list, and does not leak.
 */
static bool is_rejected(const struct iscsit_conn *lio, struct kiser_pdu *pdu)
{
	const struct iscsi_hdr *hdr = &pdu->iscsi;
	u32 length = data_length(pdu);

	switch (hdr->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_NOOP_OUT:
		return !(hdr->flags & ISCSI_FLAG_CMD_FINAL) ||
		       (hdr->itt == RESERVED_ITT && !(hdr->opcode & ISCSI_OP_IMMEDIATE)) ||
		       length > lio->conn_ops->MaxXmitDataSegmentLength;
	case ISCSI_OP_TEXT:
		if (!(hdr->flags & ISCSI_FLAG_CMD_FINAL) ||
		    hdr->flags & ISCSI_FLAG_TEXT_CONTINUE ||
		    length > lio->conn_ops->MaxXmitDataSegmentLength)
			return true;
		/* A request for the rest of an answer has no data (find_text()). */
		return ((const struct iscsi_text *)hdr)->ttt == cpu_to_be32(ISCSI_RESERVED_TAG) &&
		       !asks_for_targets(data_of(pdu), length);
	default:
		return false;
	}
}

static bool is_well_formed(const struct kiser_pdu *pdu, u64 length)
{
	if (!kiser_rx_length_fits(pdu, length))
		return false;
	/* A Hello is not expected: we have not asked the initiator for it. */
	if ((pdu->iser.flags & 0xf0) != ISCSI_CTRL)
		return false;
	if ((pdu->iscsi.opcode & ISCSI_OPCODE_MASK) == ISCSI_OP_SCSI_CMD)
		return cdb_fits(pdu) && data_fits(pdu);
	return !ahs_length(pdu);
}

/* ---- SCSI commands ------------------------------------------------------------------ */

static void take_keys(struct kiser_cmd *kcmd, const struct iser_ctrl *iser)
{
	if (iser->flags & ISER_RSV) {
		kcmd->readable = true;
		kcmd->read_stag = be32_to_cpu(iser->read_stag);
		kcmd->read_va = be64_to_cpu(iser->read_va);
	}
	if (iser->flags & ISER_WSV) {
		kcmd->writable = true;
		kcmd->write_stag = be32_to_cpu(iser->write_stag);
		kcmd->write_va = be64_to_cpu(iser->write_va);
	}
}

/*
 * Has all data of a write come with it, and does it begin where a block may begin?  Drivers
 * of disks with 4 KiB blocks take whole pages, or refuse a page that has no whole number of
 * blocks.  Back ends that pass commands through want an entry for each page
 * (pscsi_map_sg()), and here one entry crosses page boundaries.
 */
static bool fits_in_place(const struct iscsit_cmd *cmd, const struct kiser_rx *rx)
{
	const struct se_device *disk = cmd->se_cmd.se_dev;

	return cmd->immediate_data && !cmd->sense_reason && !ahs_length(rx->pdu) &&
	       cmd->first_burst_len == cmd->se_cmd.data_length &&
	       !(disk->transport_flags & TRANSPORT_FLAG_PASSTHROUGH) &&
	       IS_ALIGNED((uintptr_t)data_of(rx->pdu), disk->dev_attrib.block_size);
}

/* Has LIO use the data in the receive buffer. */
static void use_in_place(struct iscsit_cmd *cmd, struct kiser_rx *rx)
{
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);

	sg_init_one(&kcmd->immediate, data_of(rx->pdu), cmd->first_burst_len);
	cmd->se_cmd.se_cmd_flags |= SCF_PASSTHROUGH_SG_TO_MEM_NOALLOC;
	cmd->se_cmd.t_data_sg = &kcmd->immediate;
	cmd->se_cmd.t_data_nents = 1;
}

static void count_immediate(struct iscsit_cmd *cmd)
{
	cmd->write_data_done += min(cmd->first_burst_len, cmd->se_cmd.data_length);
	if (cmd->write_data_done < cmd->se_cmd.data_length)
		return;
	spin_lock_bh(&cmd->istate_lock);
	cmd->cmd_flags |= ICF_GOT_LAST_DATAOUT;
	cmd->i_state = ISTATE_RECEIVED_LAST_DATAOUT;
	spin_unlock_bh(&cmd->istate_lock);
}

/*
 * Delivers immediate data, and only then has LIO bring the command into its order.
 * @in_place: the data stays in the receive buffer; @refused: LIO has found the command bad,
 * and the data is dropped.
 */
static int rx_immediate(struct iscsit_conn *lio, struct iscsit_cmd *cmd, struct kiser_rx *rx,
			bool in_place, bool refused)
{
	struct iscsi_scsi_req *hdr = (struct iscsi_scsi_req *)&rx->pdu->iscsi;
	struct kiser_cmd *kcmd = iscsit_priv_cmd(cmd);
	bool more = cmd->unsolicited_data;
	int ret;

	if (refused) {
		in_place = false;
	} else {
		if (!in_place)
			sg_copy_from_buffer(cmd->se_cmd.t_data_sg, cmd->se_cmd.t_data_nents,
					    data_of(rx->pdu), cmd->first_burst_len);
		count_immediate(cmd);
	}
	/* From here on the command may be answered at any moment. */
	if (in_place)
		kcmd->rx = rx;
	ret = iscsit_sequence_cmd(lio, cmd, (unsigned char *)hdr, hdr->cmdsn);
	if (ret == CMDSN_ERROR_CANNOT_RECOVER)
		return -EPROTO;
	if (refused || ret == CMDSN_LOWER_THAN_EXP)
		target_put_sess_cmd(&cmd->se_cmd);
	else if (more)
		iscsit_set_unsolicited_dataout(cmd);
	return in_place ? RX_KEPT : RX_FREE;
}

static int rx_scsi(struct kiser_conn *conn, struct kiser_rx *rx, struct iscsit_cmd *cmd)
{
	struct iscsi_scsi_req *hdr = (struct iscsi_scsi_req *)&rx->pdu->iscsi;
	struct iscsit_conn *lio = conn->lio;
	bool immediate, in_place;
	int ret;

	take_keys(iscsit_priv_cmd(cmd), &rx->pdu->iser);
	if (iscsit_setup_scsi_cmd(lio, cmd, (unsigned char *)hdr) < 0)
		return RX_FREE;		/* a Reject is on its way */
	immediate = cmd->immediate_data;
	in_place = fits_in_place(cmd, rx);
	if (in_place)
		use_in_place(cmd, rx);
	ret = iscsit_process_scsi_cmd(lio, cmd, hdr);
	if (ret < 0)
		return -EPROTO;
	if (!immediate)
		return RX_FREE;
	return rx_immediate(lio, cmd, rx, in_place, ret > 0);
}

/* ---- unsolicited data --------------------------------------------------------------- */

/*
 * Is this Data-Out what the command expects next?  LIO checks this as well, but its answer
 * to some of the errors drops a reference of the command.
 */
static bool dataout_fits(struct iscsit_conn *lio, const struct iscsit_cmd *cmd,
			 const struct iscsi_data *hdr, u32 length)
{
	const struct iscsi_sess_ops *ops = lio->sess->sess_ops;
	u32 offset = be32_to_cpu(hdr->offset);
	u32 burst = cmd->first_burst_len + length;

	if (ops->InitialR2T || burst > ops->FirstBurstLength)
		return false;
	if (offset > cmd->se_cmd.data_length || length > cmd->se_cmd.data_length - offset)
		return false;
	if (hdr->flags & ISCSI_FLAG_CMD_FINAL)
		return burst == cmd->se_cmd.data_length || burst == ops->FirstBurstLength;
	return true;
}

/*
 * Data-Out.  In iSER it is always unsolicited; other data is fetched by RDMA read.  Data of
 * a command that LIO has answered already, or never had, is dropped.
 */
static int rx_dataout(struct kiser_conn *conn, struct kiser_rx *rx)
{
	struct iscsi_data *hdr = (struct iscsi_data *)&rx->pdu->iscsi;
	struct iscsit_conn *lio = conn->lio;
	u32 length = data_length(rx->pdu);
	struct iscsit_cmd *cmd;
	bool success = false;

	if (!length || hdr->ttt != cpu_to_be32(ISCSI_RESERVED_TAG))
		return -EPROTO;
	cmd = iscsit_find_cmd_from_itt_or_dump(lio, hdr->itt, length);
	if (!cmd || cmd->iscsi_opcode != ISCSI_OP_SCSI_CMD || cmd->sense_reason)
		return RX_FREE;
	/*
	 * A command has no pages before its turn.  It must have had its turn: messages on a
	 * connection come in order.
	 */
	if (cmd->cmd_flags & ICF_OOO_CMDSN)
		return -EPROTO;
	if (cmd->se_cmd.t_state != TRANSPORT_WRITE_PENDING || !cmd->se_cmd.t_data_sg)
		return RX_FREE;
	if (cmd->cmd_flags & ICF_GOT_LAST_DATAOUT || !cmd->unsolicited_data ||
	    !dataout_fits(lio, cmd, hdr, length))
		return -EPROTO;
	if (__iscsit_check_dataout_hdr(lio, hdr, cmd, length, &success) < 0)
		return -EPROTO;
	if (!success)
		return RX_FREE;
	if (sg_pcopy_from_buffer(cmd->se_cmd.t_data_sg, cmd->se_cmd.t_data_nents,
				 data_of(rx->pdu), length, be32_to_cpu(hdr->offset)) != length)
		return -EPROTO;
	return iscsit_check_dataout_payload(cmd, hdr, false) < 0 ? -EPROTO : RX_FREE;
}

/* ---- others ------------------------------------------------------------------------- */

/* A copy of a PDU's data, with a NUL behind it, and zeros up to a multiple of 4. */
static void *copy_data(struct kiser_pdu *pdu)
{
	u32 length = data_length(pdu);
	void *copy = kzalloc(ALIGN(length + 1, 4), GFP_KERNEL);

	if (copy)
		memcpy(copy, data_of(pdu), length);
	return copy;
}

/* @cmd: null if this is the answer to a NOP-In of ours. */
static int rx_nop_out(struct kiser_conn *conn, struct kiser_rx *rx, struct iscsit_cmd *cmd)
{
	struct iscsi_nopout *hdr = (struct iscsi_nopout *)&rx->pdu->iscsi;
	struct iscsit_conn *lio = conn->lio;
	u32 length = data_length(rx->pdu);

	/* To reject such a PDU, LIO would wait for a free command: a wait in the upcall. */
	if (!cmd && (hdr->itt != RESERVED_ITT || !(hdr->opcode & ISCSI_OP_IMMEDIATE) ||
		     !(hdr->flags & ISCSI_FLAG_CMD_FINAL) || length))
		return -EPROTO;
	if (iscsit_setup_nop_out(lio, cmd, hdr) < 0)
		return RX_FREE;		/* a Reject is on its way */
	/* The data is sent back in the answer. */
	if (cmd && length) {
		cmd->buf_ptr = copy_data(rx->pdu);
		if (!cmd->buf_ptr) {
			iscsit_free_cmd(cmd, false);
			return -ENOMEM;
		}
		cmd->buf_ptr_size = length;
	}
	return iscsit_process_nop_out(lio, cmd, hdr) < 0 ? -EPROTO : RX_FREE;
}

static int rx_text(struct kiser_conn *conn, struct kiser_rx *rx, struct iscsit_cmd *cmd)
{
	struct iscsi_text *hdr = (struct iscsi_text *)&rx->pdu->iscsi;
	struct iscsit_conn *lio = conn->lio;

	/*
	 * If the initiator asks for the rest of an answer, @cmd still has the part that was
	 * sent.
	 */
	kfree(cmd->buf_ptr);
	cmd->buf_ptr = NULL;
	if (iscsit_setup_text_cmd(lio, cmd, hdr) < 0)
		return RX_FREE;		/* a Reject is on its way */
	if (data_length(rx->pdu)) {
		cmd->text_in_ptr = copy_data(rx->pdu);
		if (!cmd->text_in_ptr) {
			iscsit_free_cmd(cmd, false);
			return -ENOMEM;
		}
	}
	iscsit_process_text_cmd(lio, cmd, hdr);
	return RX_FREE;
}

/*
 * Only one logout may end the connection.  LIO takes a reference (usage count) of the
 * connection for each logout that it is given, but drops only one when the connection ends.
 */
static int rx_logout(struct kiser_conn *conn, struct kiser_rx *rx, struct iscsit_cmd *cmd)
{
	struct iscsi_logout *hdr = (struct iscsi_logout *)&rx->pdu->iscsi;
	u8 reason = hdr->flags & ~ISCSI_FLAG_CMD_FINAL;
	bool ends = kiser_logout_ends(conn->lio, reason, be16_to_cpu(hdr->cid));

	if (ends && conn->logout) {
		iscsit_free_cmd(cmd, false);
		return -EPROTO;
	}
	conn->logout |= ends;
	return iscsit_handle_logout_cmd(conn->lio, cmd, (unsigned char *)hdr) < 0 ?
		-EPROTO : RX_FREE;
}

/*
 * Finds the text command whose answer the initiator wants the rest of.  Such a request has
 * no data: with data, LIO would put the command into its list once more.  A request for one
 * target has no rest, since LIO does not keep the target's name.
 */
static struct iscsit_cmd *find_text(struct iscsit_conn *lio, const struct iscsi_hdr *hdr)
{
	struct iscsit_cmd *cmd = iscsit_find_cmd_from_itt(lio, hdr->itt);

	if (!cmd || cmd->iscsi_opcode != ISCSI_OP_TEXT)
		return ERR_PTR(-EPROTO);
	/* The initiator has the answer already, but our completion of it has not come yet. */
	if (cmd->i_state == ISTATE_SEND_TEXTRSP)
		return ERR_PTR(-EAGAIN);
	if (cmd->i_state != ISTATE_SENT_STATUS || ntoh24(hdr->dlength) ||
	    cmd->cmd_flags & ICF_SENDTARGETS_SINGLE)
		return ERR_PTR(-EPROTO);
	return cmd;
}

/*
 * Does this NOP-Out answer a NOP-In of LIO's?  0: it does. -EAGAIN: the NOP-In was sent,
 * but its completion has not come yet. -EPROTO: there was no such NOP-In.  Without this
 * check LIO would take any command with that tag, for example a read, and release it.
 */
static int find_nop_in(struct iscsit_conn *lio, const struct iscsi_nopout *hdr)
{
	struct iscsit_cmd *cmd;
	int err = -EPROTO;

	spin_lock_bh(&lio->cmd_lock);
	list_for_each_entry(cmd, &lio->conn_cmd_list, i_conn_node) {
		if (cmd->targ_xfer_tag != be32_to_cpu(hdr->ttt))
			continue;
		if (cmd->i_state == ISTATE_SENT_NOPIN_WANT_RESPONSE)
			err = 0;
		else if (cmd->iscsi_opcode == ISCSI_OP_NOOP_IN)
			err = -EAGAIN;
		break;
	}
	spin_unlock_bh(&lio->cmd_lock);
	return err;
}

static bool is_allowed(const struct iscsit_conn *lio, u8 opcode)
{
	return !lio->sess->sess_ops->SessionType || opcode == ISCSI_OP_TEXT ||
	       opcode == ISCSI_OP_LOGOUT;
}

/*
 * The LIO command for a PDU; null if it needs none; or an error: -EAGAIN to wait for a
 * completion, -EPROTO to end the connection.
 */
static struct iscsit_cmd *command_for(struct iscsit_conn *lio, const struct iscsi_hdr *hdr)
{
	struct iscsit_cmd *cmd;

	switch (hdr->opcode & ISCSI_OPCODE_MASK) {
	case ISCSI_OP_SCSI_DATA_OUT:
		return NULL;
	case ISCSI_OP_NOOP_OUT:
		if (((const struct iscsi_nopout *)hdr)->ttt != cpu_to_be32(ISCSI_RESERVED_TAG))
			return ERR_PTR(find_nop_in(lio, (const void *)hdr));
		break;
	case ISCSI_OP_TEXT:
		if (((const struct iscsi_text *)hdr)->ttt != cpu_to_be32(ISCSI_RESERVED_TAG))
			return find_text(lio, hdr);
		break;
	case ISCSI_OP_SCSI_CMD:
	case ISCSI_OP_SCSI_TMFUNC:
	case ISCSI_OP_LOGOUT:
		break;
	default:
		return ERR_PTR(-EPROTO);
	}
	cmd = iscsit_allocate_cmd(lio, TASK_RUNNING);
	return cmd ?: ERR_PTR(-EAGAIN);
}

static int rx_pdu(struct kiser_conn *conn, struct kiser_rx *rx)
{
	struct iscsi_hdr *hdr = &rx->pdu->iscsi;
	struct iscsit_conn *lio = conn->lio;
	u8 opcode = hdr->opcode & ISCSI_OPCODE_MASK;
	struct iscsit_cmd *cmd;

	if (lio->conn_state == TARG_CONN_STATE_IN_LOGOUT)
		return RX_FREE;
	if (!is_allowed(lio, opcode) || is_rejected(lio, rx->pdu))
		return -EPROTO;
	cmd = command_for(lio, hdr);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	switch (opcode) {
	case ISCSI_OP_SCSI_CMD:
		return rx_scsi(conn, rx, cmd);
	case ISCSI_OP_SCSI_DATA_OUT:
		return rx_dataout(conn, rx);
	case ISCSI_OP_NOOP_OUT:
		return rx_nop_out(conn, rx, cmd);
	case ISCSI_OP_TEXT:
		return rx_text(conn, rx, cmd);
	case ISCSI_OP_SCSI_TMFUNC:
		return iscsit_handle_task_mgt_cmd(lio, cmd, (unsigned char *)hdr) < 0 ?
			-EPROTO : RX_FREE;
	default:
		return rx_logout(conn, rx, cmd);
	}
}

/* ---- receives ----------------------------------------------------------------------- */

/* Handles a PDU.  Returns false if it has to wait for a completion. */
static bool handle(struct kiser_conn *conn, struct kiser_rx *rx)
{
	int ret = rx_pdu(conn, rx);

	if (ret == -EAGAIN)
		return false;
	if (ret < 0) {
		conn->failed = true;
		kiser_conn_fail(conn, "a PDU that does not belong here");
	} else if (ret == RX_FREE) {
		kiser_rx_post(conn, rx);
	}
	return true;
}

/**
 * kiser_rx_again - try the deferred PDUs again
 * @conn: a connection in full feature phase
 *
 * Called in the upcall, after each completion, if there are any.
 */
void kiser_rx_again(struct kiser_conn *conn)
{
	struct kiser_rx *rx;

	while (!conn->failed &&
	       (rx = list_first_entry_or_null(&conn->deferred, struct kiser_rx, entry))) {
		list_del(&rx->entry);
		if (!handle(conn, rx)) {
			list_add(&rx->entry, &conn->deferred);
			return;
		}
	}
}

static void rx_done(struct kiser_conn *conn, struct kiser_done *done,
		    DAT_DTO_COMPLETION_STATUS status, u64 length)
{
	struct kiser_rx *rx = container_of(done, struct kiser_rx, done);

	if (status != DAT_DTO_SUCCESS || conn->failed)
		return;
	if (!is_well_formed(rx->pdu, length)) {
		conn->failed = true;
		kiser_conn_fail(conn, "a malformed PDU");
		return;
	}
	if (!list_empty(&conn->deferred) || !handle(conn, rx))
		list_add_tail(&rx->entry, &conn->deferred);
}

/**
 * kiser_rx_post - post a receive
 * @conn: the connection
 * @rx: the receive, whose data is not used any more
 *
 * Any context.
 *
 * Return: 0; -EIO when the connection has ended.
 */
int kiser_rx_post(struct kiser_conn *conn, struct kiser_rx *rx)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = &rx->done };

	return dat_ep_post_recv(conn->ep, 1, &rx->iov, cookie, DAT_COMPLETION_DEFAULT_FLAG) ?
		-EIO : 0;
}

/* How many commands of the session the initiator may have outstanding. */
static u32 window_of(const struct iscsit_conn *lio)
{
	const struct se_node_acl *acl = lio->sess->se_sess->se_node_acl;

	return acl ? acl->queue_depth : 1;
}

/**
 * kiser_rx_start - make and post the receives of the full feature phase, and what commands
 * need
 * @conn: a connection that has logged in
 *
 * May sleep.  What was made is freed with the connection, also after a failure.
 *
 * Return: 0; -ENOMEM; -EIO when the connection has ended.
 */
int kiser_rx_start(struct kiser_conn *conn)
{
	u32 window = window_of(conn->lio) + KISER_IMMEDIATE_RX, count, i;
	int err;

	err = kiser_room_open(conn, min_t(u32, window, conn->adapter->requests / 2 - 2));
	if (err)
		return err;
	count = min_t(u32, window, conn->adapter->recvs);
	err = kiser_pool_create(&conn->rx_pool, conn->adapter, count, RX_SLOT,
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	if (err)
		return err;
	conn->rx = kcalloc(count, sizeof(*conn->rx), GFP_KERNEL);
	if (!conn->rx)
		return -ENOMEM;
	for (i = 0; i < count && !err; i++) {
		conn->rx[i].done.fn = rx_done;
		conn->rx[i].pdu = kiser_pool_slot(&conn->rx_pool, i, RX_OFFSET, &conn->rx[i].iov);
		err = kiser_rx_post(conn, &conn->rx[i]);
	}
	return err;
}
