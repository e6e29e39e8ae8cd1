/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdat_iser: an iSCSI target transport of LIO that speaks iSER, on kDAT.  This header has
 * what several files need: the structures, and, under the name of each file, the functions
 * that others call there.
 *
 * The files from the lowest layer up: pool.c < room.c < tx.c < data.c, cmd.c < rx.c <
 * login.c < conn.c < np.c < adapter.c < main.c.  Calls against that order only report
 * something: that there is more room (kiser_tx_retry()), that an answer was sent or not
 * (kiser_cmd_sent()), that a receive is free (kiser_rx_post()), that a connection has to end
 * (kiser_conn_fail()), what an adapter has to count (kiser_adapter_attach()).
 */
#ifndef KDAT_ISER_H
#define KDAT_ISER_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <dat/kdat_linux.h>
#include <scsi/iscsi_proto.h>
#include <scsi/iser.h>
#include <target/target_core_base.h>
#include <target/target_core_fabric.h>
#include <target/iscsi/iscsi_target_core.h>
#include <target/iscsi/iscsi_transport.h>

/* What every message begins with: the iSER header and the header of the iSCSI PDU. */
struct kiser_pdu {
	struct iser_ctrl iser;
	struct iscsi_hdr iscsi;
	u8 data[];
} __packed;

/*
 * The most data that an incoming PDU can have; LIO declares it to the initiator as
 * TargetRecvDataSegmentLength.
 */
#define KISER_MAX_DATA		8192

/*
 * Requests of a connection.  A command that has something to transfer or to send owns one
 * struct kiser_tx meanwhile, and needs up to two DTOs: an RDMA write and the response
 * behind it.  KISER_MAX_TX is the number of commands that ib_iser may have outstanding;
 * commands beyond it wait.  KISER_LOGIN_TX more DTOs are for the answers of the login.
 */
#define KISER_MAX_TX		128
#define KISER_LOGIN_TX		3
#define KISER_REQUESTS		(2 * KISER_MAX_TX + KISER_LOGIN_TX)

/* So many struct kiser_tx are made at a time: their slots are a page of 4 KiB. */
#define KISER_BATCH		16U
/*
 * The size of a slot for an answer.  Data that fits behind the headers is copied there:
 * sense data, a rejected header.
 */
#define KISER_TX_SLOT		256

/*
 * Receives.  The initiator may have as many commands outstanding as the window of the
 * session allows, and a few immediate ones besides: NOP-Out, text, logout, task management.
 * kiser_rx_start() posts as many receives as that, and at most KISER_MAX_RX.
 *
 * Unsolicited Data-Out PDUs are not counted.  If one finds no receive, the initiator's
 * device repeats it until there is one.  That happens: a receive is posted again before we
 * wait for anything that its command needs.
 */
#define KISER_MAX_RX		256
#define KISER_IMMEDIATE_RX	16

/* Room in the EVD for the connection events of one EP, and some to spare. */
#define KISER_CONN_EVENTS	8

/*
 * KISER_PIECES is how many pieces of memory one work request of an RDMA transfer names, if
 * the device allows that many.  A long transfer goes in steps of up to KISER_STEP_WRS work
 * requests; the next step is posted when the one before has completed.  KISER_RESERVE work
 * requests are reserved in the queue, enough for several such steps at a time
 * (KDAT_EP_REQUEST_RESERVE).
 */
#define KISER_PIECES		16
#define KISER_STEP_WRS		16
#define KISER_RESERVE		(8 * KISER_STEP_WRS)

struct kiser_conn;

/*
 * What the cookie of a DTO points to: the function that is called with the DTO's
 * completion.
 */
struct kiser_done {
	void (*fn)(struct kiser_conn *conn, struct kiser_done *done,
		   DAT_DTO_COMPLETION_STATUS status, u64 length);
};

/* ---- pool.c: memory for messages, registered as long as it is there ----------------- */

struct kiser_chunk {
	void *va;
	struct scatterlist sg;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

struct kiser_pool {
	struct kiser_chunk *chunks;
	u32 nr_chunks;
	u32 order;			/* of each chunk */
	u32 slot_size;
};

struct kiser_adapter;

int kiser_pool_create(struct kiser_pool *pool, const struct kiser_adapter *adapter,
		      u32 slots, u32 slot_size, DAT_MEM_PRIV_FLAGS privileges);
void *kiser_pool_slot(const struct kiser_pool *pool, u32 slot, u32 offset,
		      DAT_LMR_TRIPLET *iov);
void kiser_pool_unregister(struct kiser_pool *pool);
void kiser_pool_free(struct kiser_pool *pool);

/* ---- adapter.c: the adapters of kDAT, what is open there, and their ends ------------ */

struct kiser_adapter {
	struct list_head entry;		/* in kiser_adapters */
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE cr_evd;
	DAT_PZ_HANDLE pz;
	struct list_head ports;		/* struct kiser_port, np.c */
	bool going;			/* no new connections */

	/* What one connection can have, as far as the device has it */
	int recvs;
	int requests;
	int reads;
	int read_iov, write_iov;
	u32 step_pages;			/* pages of a transfer's step */

	spinlock_t lock;		/* protects what follows */
	struct list_head conns;		/* those that have kDAT objects here */
	u32 strangers;			/* requests, and connections without a normal session */
	wait_queue_head_t idle;
};

/* Protects adapters, their ports, and portals. Not taken on the data path. */
extern struct mutex kiser_mutex;
extern struct list_head kiser_adapters;

void kiser_adapters_init(void);
void kiser_adapters_exit(void);
void kiser_adapter_attach(struct kiser_adapter *adapter, struct kiser_conn *conn);
void kiser_adapter_detach(struct kiser_conn *conn);
bool kiser_stranger_comes(struct kiser_adapter *adapter);
void kiser_stranger_goes(struct kiser_adapter *adapter);
void kiser_stranger_known(struct kiser_conn *conn);

/* ---- np.c: portals, service points, connection requests ----------------------------- */

struct kiser_np {
	struct list_head entry;		/* in the portals; kiser_mutex */
	struct iscsi_np *np;
	wait_queue_head_t wait;
	/* Protected by kiser_np_lock */
	struct list_head fresh;		/* connections without a login request so far */
	struct list_head ready;		/* those with one, for the portal's thread */
	struct kiser_conn *busy;	/* whose first request the thread handles */
};

/*
 * Protects the lists of a portal's connections, and where each connection is in its login.
 */
extern spinlock_t kiser_np_lock;
/*
 * Runs the answers to connection requests, the release of connections that LIO never had,
 * and the timers of logins and discovery sessions.
 */
extern struct workqueue_struct *kiser_wq;

int kiser_ports_open(struct kiser_adapter *adapter);
void kiser_ports_close(struct kiser_adapter *adapter);
void kiser_ports_exit(void);
void kiser_request_upcall(DAT_PVOID adapter, const DAT_EVENT *event, DAT_BOOLEAN more);

int kiser_setup_np(struct iscsi_np *np, struct sockaddr_storage *address);
int kiser_accept_np(struct iscsi_np *np, struct iscsit_conn *lio);
void kiser_free_np(struct iscsi_np *np);

/* ---- conn.c: a connection from its request to its end ------------------------------- */

struct kiser_rx {
	struct kiser_done done;
	struct list_head entry;		/* in conn->deferred */
	struct kiser_pdu *pdu;
	DAT_LMR_TRIPLET iov;
};

struct kiser_tx {
	struct kiser_done done;		/* of a step, or of the answer */
	struct kiser_done write;	/* of the last RDMA write of a read */
	struct kiser_batch *batch;	/* it was made with */
	struct list_head entry;		/* in conn->tx_free */
	struct kiser_pdu *pdu;
	DAT_LMR_TRIPLET iov[2];		/* the PDU, and data that lies elsewhere */
	DAT_LMR_HANDLE lmr;
	bool mapped;			/* the LMR has memory (kiser_tx_map()) */
	struct scatterlist sg;		/* data that lies elsewhere */
	struct iscsit_cmd *cmd;		/* its owner; null: it is free */
};

struct kiser_batch {
	struct list_head entry;		/* in conn->batches, or in conn->surplus */
	struct kiser_pool pool;		/* their slots */
	u32 nr_tx;
	u32 busy;			/* those that a command has; by tx_lock */
	struct kiser_tx tx[KISER_BATCH];
};

/* Where the login of a connection stands; protected by kiser_np_lock */
enum kiser_login {
	KISER_LOGIN_REQUEST,	/* the initiator's turn: its request is awaited */
	KISER_LOGIN_LIO,	/* LIO handles a request */
	KISER_LOGIN_OVER,	/* done; kiser_get_rx_pdu() sends the last answer */
	KISER_LOGIN_NONE	/* full feature phase, or the connection is being closed */
};

struct kiser_conn {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	struct kiser_adapter *adapter;
	struct list_head adapter_entry;
	struct sockaddr_storage local, remote;
	bool invalidate;		/* responses may invalidate the initiator's key */

	/* Protected by kiser_np_lock */
	struct kiser_np *np;		/* until the portal's thread is done with it */
	struct list_head np_entry;
	struct iscsit_conn *lio;	/* null: LIO has not taken it yet */
	enum kiser_login login;
	bool login_request;		/* a request has come and LIO has not read it */
	bool np_done;			/* the portal's thread does not use it any more */
	bool login_work;		/* LIO's work item was queued at least once */
	bool down;			/* the EP is Disconnected */

	wait_queue_head_t wait;		/* for down */
	struct delayed_work login_timer;
	unsigned long login_left;	/* of the initiator's time, jiffies */
	unsigned long login_since;	/* when its present turn has begun */
	bool discovery;			/* login_timer limits a discovery session */
	struct work_struct release;	/* frees it if LIO never had it */

	/* Login: one request at a time; answers use their slots in turn */
	struct kiser_pool login_pool;
	bool stranger;			/* counted in adapter->strangers; by its lock */
	struct kiser_rx login_rx;
	u32 login_length;
	struct kiser_done login_done;
	struct kiser_done login_last_done;
	u32 login_answers;
	u32 login_last;			/* bytes of the last answer */
	bool login_refused;		/* a refusal is on its way */

	/* Receiving; used only by the upcall, of which one runs at a time */
	struct kiser_pool rx_pool;
	struct kiser_rx *rx;
	struct list_head deferred;	/* received; LIO had no command for them yet */
	bool logout;			/* LIO has a logout that ends this connection */
	bool failed;			/* the initiator has broken the protocol */

	/* Sending; protected by tx_lock */
	spinlock_t tx_lock;
	struct list_head batches;	/* changed by room_work and the shrinker */
	struct list_head surplus;	/* batches that the shrinker has taken off */
	u32 nr_tx;			/* in @batches */
	u32 idle_batches;		/* of which no command has a kiser_tx */
	bool more_tx;			/* room_work is to make more */
	struct list_head tx_free;
	struct list_head waiting;	/* struct kiser_cmd, in the order of arrival */
	u32 posted;			/* DTOs whose completion event is still to come */
	bool tx_closed;			/* nothing may be posted any more */
	bool tx_over;			/* and what LIO submits is left to LIO to release */

	u32 max_tx;			/* how many kiser_tx there may be */
	struct work_struct room_work;	/* makes and frees batches */
	struct list_head room_entry;	/* in the shrinker's list (room.c) */

	/* Protected by LIO's cmd_lock */
	struct list_head held;		/* struct kiser_cmd: answers to resets that wait */
	u32 answering;			/* taken from @held, being submitted */

	bool logout_sent;		/* the answer to the logout that ends it */
};

struct kiser_conn *kiser_conn_create(struct kiser_adapter *adapter, bool invalidate);
void kiser_conn_destroy(struct kiser_conn *conn);
void kiser_conn_fail(struct kiser_conn *conn, const char *why);
void kiser_wait_conn(struct iscsit_conn *lio);
void kiser_free_conn(struct iscsit_conn *lio);

/* ---- login.c ------------------------------------------------------------------------ */

void kiser_login_init(struct kiser_conn *conn);
int kiser_login_create(struct kiser_conn *conn);
void kiser_login_let_go(struct kiser_np *knp);
void kiser_login_kick(struct kiser_conn *conn);
void kiser_login_close(struct kiser_conn *conn);
int kiser_get_login_rx(struct iscsit_conn *lio, struct iscsi_login *login);
int kiser_put_login_tx(struct iscsit_conn *lio, struct iscsi_login *login, u32 length);
void kiser_get_rx_pdu(struct iscsit_conn *lio);

/* ---- rx.c: PDUs of the full feature phase ------------------------------------------- */

int kiser_rx_start(struct kiser_conn *conn);
int kiser_rx_post(struct kiser_conn *conn, struct kiser_rx *rx);
void kiser_rx_again(struct kiser_conn *conn);
bool kiser_rx_length_fits(const struct kiser_pdu *pdu, u64 length);

/* ---- cmd.c: what LIO asks to be sent, and who releases a command when --------------- */

/* What a command has to do next, in this order */
enum kiser_stage {
	KISER_IDLE,
	KISER_FETCH,		/* RDMA read: the data of a write */
	KISER_PUSH,		/* RDMA write: the data of a read */
	KISER_ANSWER		/* a PDU */
};

/* Our private data, which lies behind each of LIO's commands; LIO zeroes it. */
struct kiser_cmd {
	struct list_head entry;		/* in conn->waiting, or in conn->held */
	enum kiser_stage stage;
	u8 answer;			/* which PDU to send: ISTATE_* */
	bool answer_built;
	u32 data_length;		/* of the data at cmd->buf_ptr that goes with it */
	struct kiser_tx *tx;
	struct kiser_rx *rx;		/* a receive whose data is still in use */
	struct scatterlist immediate;	/* that data */

	bool readable, writable;	/* the initiator has sent a key for that */
	u32 read_stag, write_stag;
	u64 read_va, write_va;

	/*
	 * The transfer: bytes in all, bytes done, bytes of the present step, and where in
	 * the scatterlist that step begins
	 */
	u32 length, moved, step;
	struct scatterlist *sg;
	u32 sg_offset;

	struct work_struct logout;
};

static inline struct iscsit_cmd *kiser_lio_cmd(struct kiser_cmd *kcmd)
{
	return (struct iscsit_cmd *)kcmd - 1;
}

bool kiser_logout_ends(const struct iscsit_conn *lio, u8 reason, u16 cid);
void kiser_submit(struct kiser_conn *conn, struct iscsit_cmd *cmd);
void kiser_cmd_sent(struct kiser_conn *conn, struct iscsit_cmd *cmd);
void kiser_cmd_unsent(struct kiser_conn *conn, struct iscsit_cmd *cmd);
void kiser_cmd_settle(struct iscsit_conn *lio);

int kiser_immediate_queue(struct iscsit_conn *lio, struct iscsit_cmd *cmd, int state);
int kiser_response_queue(struct iscsit_conn *lio, struct iscsit_cmd *cmd, int state);
int kiser_queue_status(struct iscsit_conn *lio, struct iscsit_cmd *cmd);
void kiser_aborted_task(struct iscsit_conn *lio, struct iscsit_cmd *cmd);

extern struct workqueue_struct *kiser_logout_wq;

/* ---- data.c: RDMA ------------------------------------------------------------------- */

int kiser_get_dataout(struct iscsit_conn *lio, struct iscsit_cmd *cmd, bool recovery);
int kiser_queue_data_in(struct iscsit_conn *lio, struct iscsit_cmd *cmd);
/*
 * struct kiser_push - the RDMA write of a step of a read
 * @request: to be posted; points to @iov and @remote
 * @last: it is the last step
 */
struct kiser_push {
	struct kdat_request request;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET remote;
	bool last;
};

int kiser_fetch_post(struct kiser_conn *conn, struct iscsit_cmd *cmd);
int kiser_push_begin(struct kiser_conn *conn, struct iscsit_cmd *cmd, struct kiser_push *push);
void kiser_push_end(struct kiser_conn *conn, struct iscsit_cmd *cmd, const struct kiser_push *push,
		    bool posted);

/* ---- room.c: what commands need to post anything, made by use ----------------------- */

int kiser_rooms_init(void);
void kiser_rooms_exit(void);
void kiser_room_init(struct kiser_conn *conn);
int kiser_room_open(struct kiser_conn *conn, u32 max);
void kiser_room_close(struct kiser_conn *conn);
void kiser_room_free(struct kiser_conn *conn);
struct kiser_tx *kiser_tx_take(struct kiser_conn *conn);
void kiser_tx_give(struct kiser_conn *conn, struct kiser_tx *tx);

/* ---- tx.c: posting ------------------------------------------------------------------ */

int kiser_tx_map(struct kiser_tx *tx, const struct kdat_memory *memory,
		 DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_TRIPLET *iov);
void kiser_tx_unmap(struct kiser_tx *tx);
int kiser_post_error(DAT_RETURN ret);
void kiser_tx_done(struct kiser_conn *conn, struct kiser_tx *tx, bool put);
void kiser_tx_close(struct kiser_conn *conn);
void kiser_tx_flush(struct kiser_conn *conn);
void kiser_tx_retry(struct kiser_conn *conn);

#endif /* KDAT_ISER_H */
