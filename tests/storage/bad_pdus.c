// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An iSER initiator that does what no good one does: malformed and unexpected PDUs, keys
 * that are not valid, silence, disconnecting at any moment.  Each case has a connection of
 * its own.  The target has to end the connection, or has to tolerate the PDU, as the case
 * says.  The test that starts this program looks afterwards whether the target still
 * serves, and can be unloaded.
 *
 * usage: bad_pdus SOURCE TARGET IQN [CASE]
 */
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PATIENCE	120000	/* ms, for what should happen */
#define RECVS		16
#define ROOM		8400
#define HEADERS		76

struct pdu {
	uint8_t flags, reserved[3];
	uint32_t write_stag;
	uint64_t write_va;
	uint32_t read_stag;
	uint64_t read_va;
	uint8_t bhs[48];
	uint8_t data[ROOM - HEADERS];
} __attribute__((packed));

static const char *source, *target, *iqn;
static struct rdma_cm_id *id;
static struct ibv_mr *mr;
static struct pdu *out, *in;		/* one to send, RECVS to receive into */
static uint32_t cmdsn, itt;
static uint32_t qualifier = 1;		/* part of the ISID: tells sessions apart */
static int last;			/* the receive of the last message, not posted again */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static void put32(uint8_t *to, uint32_t value)
{
	value = htonl(value);
	memcpy(to, &value, 4);
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, 4);
	return ntohl(value);
}

static void put24(uint8_t *to, uint32_t value)
{
	to[0] = value >> 16;
	to[1] = value >> 8;
	to[2] = value;
}

/* ---- connection ----------------------------------------------------------------- */

static int post_recv(int i)
{
	return rdma_post_recv(id, (void *)(uintptr_t)i, &in[i], ROOM, mr);
}

static int open_connection(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res, *from;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 64, .max_recv_wr = RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	/*
	 * No zero-based addresses, and no remote invalidation of keys: there is only one
	 * key.
	 */
	uint8_t header[4] = { 0x80 | 0x40 };
	struct rdma_conn_param param = {
		.private_data = header, .private_data_len = sizeof(header),
		.responder_resources = 4, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 6,
	};
	int i;

	hints.ai_flags = RAI_PASSIVE;
	if (rdma_getaddrinfo(source, NULL, &hints, &from))
		return -1;
	hints.ai_flags = 0;
	hints.ai_src_len = from->ai_src_len;
	hints.ai_src_addr = from->ai_src_addr;
	if (rdma_getaddrinfo(target, "3260", &hints, &res) ||
	    rdma_create_ep(&id, res, NULL, &attr))
		return -1;
	out = aligned_alloc(4096, (RECVS + 1) * sizeof(*out) + 4096);
	in = out + 1;
	/* The target may write there: some of the reads are good. */
	mr = rdma_reg_write(id, out, (RECVS + 1) * sizeof(*out));
	if (!mr)
		return -1;
	for (i = 0; i < RECVS; i++)
		if (post_recv(i))
			return -1;
	if (rdma_connect(id, &param))
		return -1;
	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	cmdsn = 1;
	itt = 1;
	last = -1;
	return 0;
}

static void close_connection(void)
{
	rdma_disconnect(id);
	rdma_destroy_ep(id);
}

static void clear(uint8_t opcode)
{
	memset(out, 0, sizeof(*out));
	out->flags = 0x10;
	out->bhs[0] = opcode;
	put32(out->bhs + 16, itt);
}

/*
 * Sends the first @length bytes of out, and waits until the target's device has them.  The
 * target may end the connection for them before its device has acknowledged them.  Nobody
 * does so any more then, and Soft-RoCE, for which a retry count of 7 has no end, sends them
 * again and again: so this does not wait longer than the connection lasts.  Whether it has
 * ended is for has_ended() to say.
 */
static int transmit(uint32_t length)
{
	struct pollfd fd = { .fd = id->channel->fd, .events = POLLIN };
	uint64_t end = now() + PATIENCE;
	struct ibv_wc wc;

	if (rdma_post_send(id, NULL, out, length, mr, 0))
		return -1;
	do {
		if (ibv_poll_cq(id->send_cq, 1, &wc) == 1)
			return wc.status == IBV_WC_SUCCESS ? 0 : -1;
		if (poll(&fd, 1, 1) == 1)
			return 0;
	} while (now() < end);
	return -1;
}

/* The next message, or null.  The next call of receive() posts its buffer again. */
static struct pdu *receive(void)
{
	uint64_t end = now() + PATIENCE;
	struct ibv_wc wc;

	if (last >= 0)
		post_recv(last);
	last = -1;
	do {
		if (ibv_poll_cq(id->recv_cq, 1, &wc) == 1) {
			if (wc.status != IBV_WC_SUCCESS)
				return NULL;
			last = wc.wr_id;
			return &in[last];
		}
		usleep(1000);
	} while (now() < end);
	return NULL;
}

/* Has the target ended the connection, within @ms? */
static int has_ended(unsigned int ms)
{
	struct pollfd fd = { .fd = id->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int ended;

	if (poll(&fd, 1, ms) != 1 || rdma_get_cm_event(id->channel, &event))
		return 0;
	ended = event->event == RDMA_CM_EVENT_DISCONNECTED;
	rdma_ack_cm_event(event);
	return ended;
}

/* ---- login ---------------------------------------------------------------------- */

/*
 * With DISCOVERY the initiator declares no InitiatorRecvDataSegmentLength, so the target
 * has no room for the answer to a text request, and sends it in parts, of no bytes.
 */
enum login { NO_LOGIN, NORMAL, DISCOVERY };

static enum login kind;

static uint32_t login_text(char *to)
{
	static const char *const keys[] = {
		"InitiatorName=iqn.2003-01.org.example:bad", "SessionType=Normal",
		"HeaderDigest=None", "DataDigest=None",
		"InitialR2T=No", "ImmediateData=Yes", "FirstBurstLength=16384",
		"MaxBurstLength=262144", "RDMAExtensions=Yes",
		"InitiatorRecvDataSegmentLength=8192", "TargetRecvDataSegmentLength=8192",
		"ErrorRecoveryLevel=0", "MaxConnections=1", "DefaultTime2Wait=2",
		"DefaultTime2Retain=0", "MaxOutstandingR2T=1", "DataPDUInOrder=Yes",
		"DataSequenceInOrder=Yes", "IFMarker=No", "OFMarker=No",
	};
	static const char *const discovery[] = {
		"InitiatorName=iqn.2003-01.org.example:bad", "SessionType=Discovery",
		"HeaderDigest=None", "DataDigest=None", "RDMAExtensions=Yes",
	};
	uint32_t length, i;

	if (kind == DISCOVERY) {
		for (i = length = 0; i < sizeof(discovery) / sizeof(*discovery); i++)
			length += sprintf(to + length, "%s", discovery[i]) + 1;
		return length;
	}
	length = sprintf(to, "TargetName=%s", iqn) + 1;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		length += sprintf(to + length, "%s", keys[i]) + 1;
	return length;
}

static void login_request(uint32_t *length)
{
	clear(0x43);
	out->bhs[1] = 0x87;			/* transit, from operational to full feature */
	out->bhs[8] = 0x80;			/* ISID */
	put32(out->bhs + 10, getpid() * 256 + qualifier);
	put32(out->bhs + 16, itt);
	put32(out->bhs + 24, cmdsn);
	*length = login_text((char *)out->data);
	put24(out->bhs + 5, *length);
}

/* The target may want more rounds, with keys of its own. */
static int log_in(void)
{
	struct pdu *answer;
	uint32_t length;
	int round;

	login_request(&length);
	for (round = 0; round < 4; round++) {
		if (transmit(HEADERS + ((length + 3) & ~3U)))
			return -1;
		answer = receive();
		if (!answer || (answer->bhs[0] & 0x3f) != 0x23 || answer->bhs[36])
			return -1;
		if (answer->bhs[1] & 0x80)
			return 0;
		length = 0;
		put24(out->bhs + 5, 0);
	}
	return -1;
}

/* ---- commands ------------------------------------------------------------------- */

/* READ(10) or WRITE(10) of @blocks */
static void scsi(uint8_t flags, uint8_t cdb, uint32_t blocks)
{
	clear(0x01);
	out->bhs[1] = flags | 1;
	put32(out->bhs + 16, ++itt);
	put32(out->bhs + 20, blocks * 512);
	put32(out->bhs + 24, cmdsn++);
	out->bhs[32] = cdb;
	out->bhs[40] = blocks;
}

static int nop(uint32_t length)
{
	clear(0x40);
	out->bhs[1] = 0x80;
	put24(out->bhs + 5, length);
	put32(out->bhs + 16, ++itt);
	put32(out->bhs + 20, ~0U);
	put32(out->bhs + 24, cmdsn);
	memset(out->data, 0x5a, length);
	return transmit(HEADERS + ((length + 3) & ~3U));
}

static int answered(uint8_t opcode)
{
	struct pdu *answer = receive();

	return answer && (answer->bhs[0] & 0x3f) == opcode;
}

/* The target has tolerated it: the connection still answers. */
static int lives(void)
{
	return !nop(0) && answered(0x20);
}

/* ---- a crowd -------------------------------------------------------------------- */

#define CROWD		200

/* The next CM event of any of them, acknowledged; -1 if none comes. */
static int next_event(struct rdma_event_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int what;

	if (poll(&fd, 1, 60000) != 1 || rdma_get_cm_event(channel, &event))
		return -1;
	what = event->event;
	rdma_ack_cm_event(event);
	return what;
}

/* A connection with its queue pair and its route that has not sent its request yet */
static struct rdma_cm_id *newcomer(struct rdma_event_channel *channel)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(3260) };
	struct rdma_cm_id *one;

	inet_pton(AF_INET, source, &from.sin_addr);
	inet_pton(AF_INET, target, &to.sin_addr);
	if (rdma_create_id(channel, &one, NULL, RDMA_PS_TCP))
		return NULL;
	if (rdma_resolve_addr(one, (void *)&from, (void *)&to, 2000) ||
	    next_event(channel) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(one, 2000) ||
	    next_event(channel) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
	    rdma_create_qp(one, NULL, &attr)) {
		rdma_destroy_id(one);
		return NULL;
	}
	return one;
}

static int asks(struct rdma_cm_id *one)
{
	uint8_t header[4] = { 0x80 | 0x40 };
	struct rdma_conn_param param = {
		.private_data = header, .private_data_len = sizeof(header),
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
	};

	return rdma_connect(one, &param);
}

static void leaves(struct rdma_cm_id *one)
{
	if (one->qp)
		rdma_destroy_qp(one);
	rdma_destroy_id(one);
}

/*
 * All send their requests at once, and each is admitted or rejected.  @admitted: how many
 * are in; not those that the target has ended again meanwhile, since they have not logged
 * in.
 */
static int crowd_asks(struct rdma_event_channel *channel, struct rdma_cm_id **crowd, int count,
		      int *admitted, int *rejected)
{
	int i, ended = 0;

	*admitted = *rejected = 0;
	for (i = 0; i < count; i++)
		if (asks(crowd[i]))
			return -1;
	while (*admitted + *rejected < count) {
		switch (next_event(channel)) {
		case RDMA_CM_EVENT_ESTABLISHED:
			++*admitted;
			break;
		case RDMA_CM_EVENT_REJECTED:
			++*rejected;
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			ended++;
			break;
		default:
			return -1;
		}
	}
	*admitted -= ended;
	return 0;
}

static int crowd_comes(struct rdma_event_channel *channel, struct rdma_cm_id **crowd)
{
	int i;

	for (i = 0; i < CROWD; i++) {
		crowd[i] = newcomer(channel);
		if (!crowd[i])
			return -1;
	}
	return 0;
}

/* ---- cases; each returns 1 if the target did what it should --------------------- */

static int login_short(void)
{
	uint32_t length;

	login_request(&length);
	return !transmit(20) && has_ended(PATIENCE);
}

static int login_claims(void)
{
	uint32_t length;

	login_request(&length);
	put24(out->bhs + 5, 8000);
	return !transmit(HEADERS + 64) && has_ended(PATIENCE);
}

static int login_never(void) { return has_ended(PATIENCE); }

static int login_half(void)
{
	uint32_t length;

	login_request(&length);
	out->bhs[1] = 0x04;		/* stays in the operational stage */
	return !transmit(HEADERS + ((length + 3) & ~3U)) && receive() && has_ended(PATIENCE);
}

static int login_leaves(void)
{
	uint32_t length;

	login_request(&length);
	out->bhs[1] = 0x04;
	return !transmit(HEADERS + ((length + 3) & ~3U));
}

/* One login request after the other, none of which asks to end the login */
static int login_kept_open(void)
{
	uint32_t length;
	int i;

	login_request(&length);
	out->bhs[1] = 0x04;
	for (i = 0; i < 6; i++) {
		if (transmit(HEADERS + ((length + 3) & ~3U)) || !receive())
			return 0;
		if (has_ended(4000))
			return 1;
		length = 0;
		put24(out->bhs + 5, 0);
	}
	return 0;
}

static int data_claims(void)
{
	nop(0);
	answered(0x20);
	clear(0x40);
	out->bhs[1] = 0x80;
	put24(out->bhs + 5, 4096);
	put32(out->bhs + 20, ~0U);
	return !transmit(HEADERS + 16) && has_ended(PATIENCE);
}

static int short_pdu(void) { clear(0x40); return !transmit(40) && has_ended(PATIENCE); }
static int empty_pdu(void) { clear(0x40); return !transmit(0) && has_ended(PATIENCE); }
static int opcode(void) { clear(0x1c); return !transmit(HEADERS) && has_ended(PATIENCE); }
static int snack(void) { clear(0x10); return !transmit(HEADERS) && has_ended(PATIENCE); }

static int hello(void)
{
	clear(0x40);
	out->flags = 0x20;
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

static int ahs_claims(void)
{
	scsi(0xc0, 0x28, 8);
	out->bhs[4] = 200;
	return !transmit(HEADERS + 8) && has_ended(PATIENCE);
}

static int ahs_lies(void)
{
	scsi(0xc0, 0x28, 8);
	out->bhs[4] = 2;
	out->data[0] = 0xff;		/* 65535 bytes of CDB */
	out->data[1] = 0xff;
	out->data[2] = 1;
	return !transmit(HEADERS + 8) && has_ended(PATIENCE);
}

static int cdb_lies(void)
{
	scsi(0xc0, 0x7f, 0);
	out->bhs[32 + 7] = 250;
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

static int read_without_key(void)
{
	scsi(0xc0, 0x28, 8);
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

static int write_without_key(void)
{
	scsi(0xa0, 0x2a, 8);
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

/*
 * The device here fails its queue pair when the target uses the wrong key, which may happen before
 * it has heard that the command has arrived.  Then the command counts as flushed.
 */
static int breaks(void)
{
	transmit(HEADERS);
	return has_ended(PATIENCE);
}

static int read_bad_key(void)
{
	scsi(0xc0, 0x28, 200);
	out->flags |= 4;
	out->read_stag = htonl(0x12345678);
	return breaks();
}

static int write_bad_key(void)
{
	scsi(0xa0, 0x2a, 200);
	out->flags |= 8;
	out->write_stag = htonl(0x12345678);
	return breaks();
}

/* A read whose key and address are good, but that comes with data */
static int read_with_data(void)
{
	scsi(0xc0, 0x28, 1);
	put24(out->bhs + 5, 512);
	out->flags |= 4;
	out->read_stag = htonl(mr->rkey);
	out->read_va = htobe64((uintptr_t)out);
	return !transmit(HEADERS + 512) && has_ended(PATIENCE);
}

static void data_out(uint32_t ttt, uint32_t offset, uint32_t length)
{
	clear(0x05);
	out->bhs[1] = 0x80;
	put24(out->bhs + 5, length);
	put32(out->bhs + 16, itt);
	put32(out->bhs + 20, ttt);
	put32(out->bhs + 40, offset);
}

static int data_for_nobody(void)
{
	itt = 777;
	data_out(~0U, 0, 512);
	return !transmit(HEADERS + 512) && lives();
}

static int data_not_asked_for(void)
{
	data_out(5, 0, 512);
	return !transmit(HEADERS + 512) && has_ended(PATIENCE);
}

/* A write with unsolicited data, which goes beyond the end of the write */
static int data_beyond(void)
{
	scsi(0x20, 0x2a, 8);
	if (transmit(HEADERS))
		return 0;
	data_out(~0U, 4096 - 512, 1024);
	return !transmit(HEADERS + 1024) && has_ended(PATIENCE);
}

static int data_never(void)
{
	scsi(0x20, 0x2a, 8);
	return !transmit(HEADERS);
}

static int data_good(void)
{
	scsi(0x20, 0x2a, 8);
	if (transmit(HEADERS))
		return 0;
	data_out(~0U, 0, 4096);
	return !transmit(HEADERS + 4096) && answered(0x21);
}

static int gap(void)
{
	cmdsn += 3;
	scsi(0xa0, 0x2a, 1);
	put24(out->bhs + 5, 512);
	if (transmit(HEADERS + 512))
		return 0;
	scsi(0xa0, 0x2a, 8);
	out->flags |= 8;
	if (transmit(HEADERS))
		return 0;
	return lives();
}

static int function(void)
{
	clear(0x42);
	out->bhs[1] = 0x80 | 0x3f;
	put32(out->bhs + 20, ~0U);
	put32(out->bhs + 24, cmdsn);
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

/* Has the target ended the session?  A login to the same session waits for that. */
static int forgotten(void)
{
	close_connection();
	return !open_connection() && !log_in();
}

/* A reset of a LUN that is not there, not immediate but in its turn */
static int function_in_turn(void)
{
	clear(0x02);
	out->bhs[1] = 0x80 | 5;
	out->bhs[9] = 99;
	put32(out->bhs + 16, ++itt);
	put32(out->bhs + 20, ~0U);
	put32(out->bhs + 24, cmdsn++);
	return !transmit(HEADERS) && answered(0x22) && forgotten();
}

/* A text request, or with @ttt one for the rest of an answer. */
static int text(uint32_t ttt, const char *data, uint32_t length)
{
	clear(0x44);
	out->bhs[1] = 0x80;
	put24(out->bhs + 5, length);
	put32(out->bhs + 20, ttt);
	put32(out->bhs + 24, cmdsn);
	memcpy(out->data, data, length);
	return transmit(HEADERS + ((length + 3) & ~3U));
}

/* Receives a part of a text answer of which more is to come; @ttt names the rest. */
static int is_part(uint32_t *ttt)
{
	struct pdu *answer = receive();

	if (!answer || (answer->bhs[0] & 0x3f) != 0x24 || !(answer->bhs[1] & 0x40))
		return 0;
	*ttt = get32(answer->bhs + 20);
	return 1;
}

static const char all[] = "SendTargets=All";

/* The value counts without its NUL, too, but only as a whole: a longer one is refused. */
static int text_in_full(void)
{
	uint32_t ttt;

	return !text(~0U, all, sizeof(all) - 1) && is_part(&ttt) &&
	       !text(~0U, "SendTargets=Allies", 19) && has_ended(PATIENCE);
}

/* LIO answers only SendTargets. */
static int text_unknown(void)
{
	return !text(~0U, "Target=All", 11) && has_ended(PATIENCE);
}

static int text_empty(void)
{
	return !text(~0U, all, 0) && has_ended(PATIENCE);
}

static int text_to_continue(void)
{
	clear(0x44);
	out->bhs[1] = 0x40;
	put24(out->bhs + 5, sizeof(all));
	put32(out->bhs + 20, ~0U);
	put32(out->bhs + 24, cmdsn);
	memcpy(out->data, all, sizeof(all));
	return !transmit(HEADERS + sizeof(all)) && has_ended(PATIENCE);
}

static int nop_to_continue(void)
{
	clear(0x40);
	put32(out->bhs + 20, ~0U);
	put32(out->bhs + 24, cmdsn);
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

static int text_in_parts(void)
{
	uint32_t ttt;
	int i;

	if (text(~0U, all, sizeof(all)) || !is_part(&ttt))
		return 0;
	for (i = 0; i < 100; i++)
		if (text(ttt, all, 0) || !is_part(&ttt))
			return 0;
	return 1;
}

static int text_again(void)
{
	uint32_t ttt;

	return !text(~0U, all, sizeof(all)) && is_part(&ttt) &&
	       !text(ttt, all, sizeof(all)) && has_ended(PATIENCE);
}

static int text_of_one(void)
{
	char one[256];
	uint32_t length = snprintf(one, sizeof(one), "SendTargets=%s", iqn) + 1, ttt;

	return !text(~0U, one, length) && is_part(&ttt) && !text(ttt, all, 0) &&
	       has_ended(PATIENCE);
}

/*
 * An answer to a NOP-In with the target transfer tag 0, which belongs to a read that waits
 * for its turn
 */
static int nop_for_another(void)
{
	cmdsn += 3;
	scsi(0xc0, 0x28, 1);
	if (transmit(HEADERS))
		return 0;
	clear(0x40);
	out->bhs[1] = 0x80;
	put32(out->bhs + 16, ~0U);
	return !transmit(HEADERS) && has_ended(PATIENCE);
}

static int many_nops(void)
{
	int i, sent = 0, seen = 0;

	for (i = 0; i < 600; i++) {
		if (nop(0))
			return 0;
		for (sent++; sent - seen > 12; seen++)
			if (!answered(0x20))
				return 0;
	}
	for (; seen < sent; seen++)
		if (!answered(0x20))
			return 0;
	return 1;
}

/* More NOP-Outs than LIO has commands for, from an initiator that takes no answers */
static int deaf(void)
{
	int i, waiting = 0, idle = 0;
	struct ibv_wc wc;

	for (i = 0; i < 400 && idle < 1000; i++) {
		clear(0x40);
		out->bhs[1] = 0x80;
		put32(out->bhs + 16, ++itt);
		put32(out->bhs + 20, ~0U);
		put32(out->bhs + 24, cmdsn);
		if (rdma_post_send(id, NULL, out, HEADERS, mr, 0))
			return 0;
		waiting++;
		for (idle = 0; idle < 1000 && (waiting > 32 || !idle); idle++) {
			while (ibv_poll_cq(id->send_cq, 1, &wc) == 1)
				waiting--;
			usleep(1000);
		}
	}
	return i > 100;
}

static int ping(void)
{
	struct pdu *answer;
	int i;

	for (i = 0; i < 2; i++) {
		if (nop(i ? 5001 : 33))
			return 0;
		answer = receive();
		if (!answer || (answer->bhs[0] & 0x3f) != 0x20 ||
		    answer->data[0] != 0x5a || answer->data[i ? 5000 : 32] != 0x5a)
			return 0;
	}
	return 1;
}

/* @flags: the reason; @ahead: by how many commands it is before its turn */
static int logout(uint8_t opcode, uint8_t flags, uint16_t cid, uint32_t ahead)
{
	clear(opcode);
	out->bhs[1] = 0x80 | flags;
	put32(out->bhs + 16, ++itt);
	out->bhs[20] = cid >> 8;
	out->bhs[21] = cid;
	put32(out->bhs + 24, cmdsn + ahead);
	return transmit(HEADERS);
}

static int logout_of_another(void)
{
	return !logout(0x46, 1, 77, 0) && answered(0x26) && lives() &&
	       !logout(0x46, 2, 77, 0) && answered(0x26) && lives() &&
	       !logout(0x46, 0, 0, 0) && answered(0x26);
}

static int logout_twice(void)
{
	return !logout(0x06, 0, 0, 1) && !logout(0x06, 0, 0, 2) && has_ended(PATIENCE) &&
	       forgotten();
}

static int logout_leaves(void)
{
	clear(0x46);
	out->bhs[1] = 0x80;
	put32(out->bhs + 24, cmdsn);
	return !transmit(HEADERS);
}

static int reads_leaves(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		scsi(0xc0, 0x28, 8);
		out->flags |= 4;
		out->read_stag = htonl(mr->rkey);
		out->read_va = htobe64((uintptr_t)in);
		if (transmit(HEADERS))
			return 0;
	}
	return 1;
}

/*
 * More connections come at once than a target admits without a login; the others are
 * rejected.  When they have gone there is room again.
 */
static int strangers(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *crowd[CROWD];
	uint64_t end = now() + 60000;
	int i, admitted, rejected, ok;

	if (crowd_comes(channel, crowd))
		return 0;
	ok = !crowd_asks(channel, crowd, CROWD, &admitted, &rejected) && admitted >= 64 &&
	     rejected > 0;
	printf("-- %d were let in, %d rejected\n", admitted, rejected);
	for (i = 0; i < CROWD; i++)
		leaves(crowd[i]);
	do {
		crowd[0] = newcomer(channel);
		if (!crowd[0] || crowd_asks(channel, crowd, 1, &admitted, &rejected))
			return 0;
		leaves(crowd[0]);
	} while (!admitted && now() < end);
	rdma_destroy_event_channel(channel);
	return ok && admitted;
}

/* A discovery session that has logged in, and then sends nothing */
static struct rdma_cm_id *idle_discovery(void)
{
	kind = DISCOVERY;
	qualifier++;
	return open_connection() || log_in() ? NULL : id;
}

#define IDLERS		32
#define PLACES		128

/*
 * Discovery needs no password, so a discovery session counts like a connection without a
 * login.
 */
static int idlers(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *own = id, *idle[IDLERS], *crowd[CROWD];
	int i, admitted, rejected, count = 0, ok = 0;

	if (crowd_comes(channel, crowd))
		return 0;
	while (count < IDLERS && (idle[count] = idle_discovery()))
		count++;
	if (count == IDLERS && !crowd_asks(channel, crowd, CROWD, &admitted, &rejected)) {
		ok = admitted > 0 && admitted <= PLACES - IDLERS;
		printf("-- beside %d, %d were let in, %d rejected\n", count, admitted, rejected);
	}
	for (i = 0; i < CROWD; i++)
		leaves(crowd[i]);
	for (i = 0; i < count; i++) {
		id = idle[i];
		close_connection();
	}
	id = own;
	rdma_destroy_event_channel(channel);
	return ok;
}

/* A discovery session that is begun before all cases; the target has to end it after a time. */
static struct rdma_cm_id *early;
static uint64_t early_end;

static int discovery_never_ends(void)
{
	struct rdma_cm_id *own = id;
	int64_t left = early_end - now();
	int ended;

	if (!early)
		return 0;
	id = early;
	ended = has_ended(left > 0 ? left : 0);
	close_connection();
	id = own;
	return ended;
}

static const struct {
	const char *what;
	int (*run)(void);
	enum login login;
} cases[] = {
	{ "a login request that is too short", login_short, NO_LOGIN },
	{ "a login request that claims more data", login_claims, NO_LOGIN },
	{ "no login request at all", login_never, NO_LOGIN },
	{ "half a login", login_half, NO_LOGIN },
	{ "half a login, and gone", login_leaves, NO_LOGIN },
	{ "a login that never ends", login_kept_open, NO_LOGIN },
	{ "a PDU that claims more data", data_claims, NORMAL },
	{ "a PDU shorter than its headers", short_pdu, NORMAL },
	{ "a PDU of no bytes", empty_pdu, NORMAL },
	{ "an unknown opcode", opcode, NORMAL },
	{ "a SNACK", snack, NORMAL },
	{ "an iSER Hello", hello, NORMAL },
	{ "a CDB extension that is not there", ahs_claims, NORMAL },
	{ "a CDB extension longer than its header", ahs_lies, NORMAL },
	{ "a CDB longer than it is", cdb_lies, NORMAL },
	{ "a read without a key", read_without_key, NORMAL },
	{ "a write without a key", write_without_key, NORMAL },
	{ "a read with a wrong key", read_bad_key, NORMAL },
	{ "a write with a wrong key", write_bad_key, NORMAL },
	{ "a read with data", read_with_data, NORMAL },
	{ "data for a command that is not there", data_for_nobody, NORMAL },
	{ "data that was not asked for", data_not_asked_for, NORMAL },
	{ "data beyond the end", data_beyond, NORMAL },
	{ "data that never comes, and gone", data_never, NORMAL },
	{ "data that comes unasked, as agreed", data_good, NORMAL },
	{ "commands out of turn, and gone", gap, NORMAL },
	{ "an unknown task management function", function, NORMAL },
	{ "a function in its turn, for a LUN that is not there", function_in_turn, NORMAL },
	{ "a NOP-Out that is not final", nop_to_continue, NORMAL },
	{ "a text answer in parts", text_in_parts, DISCOVERY },
	{ "text without a NUL, and of another value", text_in_full, DISCOVERY },
	{ "text that LIO does not know", text_unknown, NORMAL },
	{ "text that asks for nothing", text_empty, DISCOVERY },
	{ "text that is not final", text_to_continue, DISCOVERY },
	{ "text that asks anew for the rest", text_again, DISCOVERY },
	{ "text that asks for the rest of one target", text_of_one, DISCOVERY },
	{ "an answer to a NOP-In that is none", nop_for_another, NORMAL },
	{ "600 NOP-Outs", many_nops, NORMAL },
	{ "NOP-Outs by one that does not listen, and gone", deaf, NORMAL },
	{ "pings with data", ping, NORMAL },
	{ "logouts of another connection", logout_of_another, NORMAL },
	{ "two logouts out of turn", logout_twice, NORMAL },
	{ "a logout, and gone", logout_leaves, NORMAL },
	{ "reads, and gone", reads_leaves, NORMAL },
	{ "a crowd that does not log in", strangers, NO_LOGIN },
	{ "discovery that stays, and a crowd", idlers, NO_LOGIN },
	{ "discovery that never ends", discovery_never_ends, NO_LOGIN },
};

int main(int argc, char **argv)
{
	unsigned int i, passed = 0, failed = 0;
	int ok;

	if (argc < 4) {
		fprintf(stderr, "usage: bad_pdus SOURCE TARGET IQN [CASE]\n");
		return 2;
	}
	source = argv[1];
	target = argv[2];
	iqn = argv[3];
	setvbuf(stdout, NULL, _IOLBF, 0);
	early = idle_discovery();
	early_end = now() + 90000;
	qualifier++;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc > 4 && !strstr(cases[i].what, argv[4]))
			continue;
		if (open_connection()) {
			perror("cannot connect");
			return 1;
		}
		ok = -1;
		kind = cases[i].login;
		if (kind == NO_LOGIN || !log_in())
			ok = cases[i].run();
		printf("%s %s\n", ok == 1 ? "ok" : "FAIL", cases[i].what);
		if (ok < 0)
			printf("   there was no login\n");
		passed += ok == 1;
		failed += ok != 1;
		close_connection();
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0;
}
