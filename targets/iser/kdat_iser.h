/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdat_iser: an iSCSI target transport of LIO over kDAT, which speaks iSER.  What its
 * files have in common, and under the name of each file what others call there.
 *
 * Who uses what, from the bottom: pool.c < tx.c < data.c, cmd.c < rx.c < login.c <
 * conn.c < np.c < adapter.c < main.c.
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

/* The most data of a PDU that comes in: what LIO declares as TargetRecvDataSegmentLength. */
#define KISER_MAX_DATA		8192

/*
 * The requests of a connection.  Each command that has something to move or to say owns
 * one struct kiser_tx meanwhile, which needs up to two DTOs: an RDMA write and the
 * response behind it.  128 of them at a time are what ib_iser may have on its way; more
 * wait.  Three more are for the answers of the login.
 */
#define KISER_MAX_TX		128
#define KISER_LOGIN_TX		3
#define KISER_REQUESTS		(2 * KISER_MAX_TX + KISER_LOGIN_TX)

/*
 * Receives.  The initiator may send as many commands as the window of the session has
 * room for, and besides a few immediate ones: NOP-Out, text, logout, task management.
 * So that many are posted (kiser_rx_start()), and here is the most.  Unsolicited data is
 * not counted: it waits at the initiator until a receive is free, and since a receive is
 * posted again before anything that its command waits for, one becomes free.
 */
#define KISER_MAX_RX		256
#define KISER_IMMEDIATE_RX	16

/* Connection events of an EP, and room to spare. */
#define KISER_CONN_EVENTS	8

/*
 * A work request of an RDMA transfer takes so many pieces of memory, if the device does.
 * Of a long transfer as much is posted at a time as so many work requests take; the rest
 * follows when this has been moved.  The queue has work requests in reserve for several
 * such steps.
 */
#define KISER_PIECES		16
#define KISER_STEP_WRS		16
#define KISER_RESERVE		(8 * KISER_STEP_WRS)

struct kiser_conn;

/* What the cookie of a DTO points to: what is to be done when it has completed. */
struct kiser_done {
	void (*fn)(struct kiser_conn *conn, struct kiser_done *done,
		   DAT_DTO_COMPLETION_STATUS status, u64 length);
};

/* ---- pool.c: memory for messages, registered as long as a connection lives ---------- */

struct kiser_chunk {
	void *va;
	struct scatterlist sg;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

struct kiser_pool {
	struct kiser_chunk *chunks;
	u32 nr_chunks;
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

	/* What the device can do for a connection */
	int recvs;
	int requests;
	int reads;
	int read_iov, write_iov;
	u32 step_pages;			/* of a transfer, at a time */

	spinlock_t lock;		/* of what follows */
	struct list_head conns;		/* those that have something open here */
	u32 strangers;			/* requests, and connections without a normal session */
	wait_queue_head_t idle;
};

/* Adapters, their ports, and portals: only to set up and tear down. */
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
	/* The rest by kiser_np_lock */
	struct list_head fresh;		/* connections without a login request so far */
	struct list_head ready;		/* those with one, for LIO's thread to take */
	struct kiser_conn *busy;	/* the one whose first request the thread is at */
};

/* Portals' connections, and the login of those that LIO has. */
extern spinlock_t kiser_np_lock;
/* Accepts, ends connections that LIO never had, and logins and discovery in time. */
extern struct workqueue_struct *kiser_wq;

int kiser_ports_open(struct kiser_adapter *adapter);
void kiser_ports_close(struct kiser_adapter *adapter);
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
	struct kiser_done done;		/* of the DTO whose completion ends the use */
	struct kiser_done write;	/* of an RDMA write with a response behind it */
	struct list_head entry;		/* in conn->tx_free */
	struct kiser_pdu *pdu;
	DAT_LMR_TRIPLET iov[2];		/* the PDU, and data that lies elsewhere */
	DAT_LMR_HANDLE lmr;
	bool mapped;			/* the LMR has memory */
	struct scatterlist sg;		/* data that lies elsewhere */
	struct iscsit_cmd *cmd;		/* whose it is; null: nobody's */
};

/* Where a connection is, for the login; by kiser_np_lock. */
enum kiser_login {
	KISER_LOGIN_REQUEST,	/* waits for a request of the initiator */
	KISER_LOGIN_LIO,	/* LIO is at a request */
	KISER_LOGIN_OVER,	/* and its last answer is ready, kiser_get_rx_pdu() sends it */
	KISER_LOGIN_NONE	/* full feature phase, or the connection is being closed */
};

struct kiser_conn {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	struct kiser_adapter *adapter;
	struct list_head adapter_entry;
	struct sockaddr_storage local, remote;
	bool invalidate;		/* responses may take the initiator's key away */

	/* By kiser_np_lock */
	struct kiser_np *np;		/* as long as LIO does not have it */
	struct list_head np_entry;
	struct iscsit_conn *lio;	/* from then on */
	enum kiser_login login;
	bool login_request;		/* a request is there */
	bool np_done;			/* the portal's thread is not at it any more */
	bool login_work;		/* LIO's work item was queued at least once */
	bool down;			/* the EP is Disconnected */

	wait_queue_head_t wait;		/* for down */
	struct delayed_work login_timer;
	unsigned long login_left;	/* of the initiator's time, jiffies */
	unsigned long login_since;	/* when its turn has begun */
	bool discovery;			/* login_timer ends a discovery session */
	struct work_struct release;	/* if LIO never had it */

	/* Login: a request at a time, and answers in turn */
	struct kiser_pool login_pool;
	bool stranger;			/* counted as one; by adapter->lock */
	struct kiser_rx login_rx;
	u32 login_length;
	struct kiser_done login_done;
	u32 login_answers;
	u32 login_last;			/* bytes of the last answer */
	bool login_refused;		/* a refusal is on its way */

	/* Receiving; only the upcall uses it, which runs once at a time */
	struct kiser_pool rx_pool;
	struct kiser_rx *rx;
	struct list_head deferred;	/* received, and LIO has no command for it yet */
	bool logout;			/* LIO has one that ends this connection */
	bool failed;			/* the initiator has broken the protocol */

	/* Sending, by tx_lock */
	spinlock_t tx_lock;
	struct kiser_pool tx_pool;
	struct kiser_tx *tx;
	u32 nr_tx;
	struct list_head tx_free;
	struct list_head waiting;	/* struct kiser_cmd, in the order of arrival */
	u32 posted;			/* DTOs whose completion event is to come */
	bool tx_closed;			/* nothing is posted any more */
	bool tx_over;			/* and LIO releases what it still answers */

	/* By LIO's cmd_lock */
	struct list_head held;		/* struct kiser_cmd: answers to resets, that wait */
	u32 answering;			/* of those taken from there, how many are being sent */

	bool logout_sent;		/* the response that ends this connection */
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

/* Behind each of LIO's commands; LIO clears it. */
struct kiser_cmd {
	struct list_head entry;		/* in conn->waiting, or in conn->held */
	enum kiser_stage stage;
	u8 answer;			/* which PDU: ISTATE_* */
	bool answer_built;
	u32 data_length;		/* of data behind cmd->buf_ptr that goes with it */
	struct kiser_tx *tx;
	struct kiser_rx *rx;		/* its data is still in use */
	struct scatterlist immediate;	/* there */

	bool readable, writable;	/* the initiator has sent a key to ... */
	u32 read_stag, write_stag;
	u64 read_va, write_va;

	/* The transfer: bytes in all, done, and of the present step; and where that begins */
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
int kiser_data_post(struct kiser_conn *conn, struct iscsit_cmd *cmd);

/* ---- tx.c: posting ------------------------------------------------------------------ */

int kiser_tx_start(struct kiser_conn *conn, u32 count);
int kiser_tx_map(struct kiser_tx *tx, const struct kdat_memory *memory,
		 DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_TRIPLET *iov);
void kiser_tx_unmap(struct kiser_tx *tx);
int kiser_post_error(DAT_RETURN ret);
void kiser_tx_done(struct kiser_conn *conn, struct kiser_tx *tx, bool put);
void kiser_tx_close(struct kiser_conn *conn);
void kiser_tx_flush(struct kiser_conn *conn);
void kiser_tx_free(struct kiser_conn *conn);

#endif /* KDAT_ISER_H */
