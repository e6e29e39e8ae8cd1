/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdat-pingpong: a kernel consumer of kDAPL, client and server in one module.
 * ../pingpong-protocol.h says what goes over the wire.
 *
 *	main.c		parameters, opening the adapters, debugfs
 *	client.c	one test: connect, wait for the end, make a line of it
 *	server.c	listen, accept, keep going until the module is removed
 *	conn.c		what a connection needs: memory, EVDs, an EP; its upcall
 *	turns.c		the game itself: what to do when a transfer completed
 */
#ifndef KDAT_PINGPONG_H
#define KDAT_PINGPONG_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <dat/kdat.h>
#include "pingpong-protocol.h"

/**
 * struct pp_ia - an adapter, opened once and used by all connections
 * @max_block: bytes that one LMR may have
 */
struct pp_ia {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_VLEN max_block;
};

/* Registered memory. */
struct pp_buf {
	void *va;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

/* What the client asked for, from its struct pp_hello. */
struct pp_game {
	enum pp_mode mode;
	u32 size;
	u32 iterations;
	u32 depth;
	bool verify;
	bool abrupt;
};

/* Small messages; on the card as they are. */
struct pp_control {
	struct pp_info info;
	struct pp_info peer_info;
	struct pp_notice notice;
};

/**
 * struct pp_conn - one connection
 * @game: what is played
 * @server: which end this is
 * @ended: called once, from the connection's upcall, when the connection ended;
 *	   process context; may not free @conn itself
 * @dto_evd, @conn_evd: two EVDs, or twice the same (see conn.c)
 * @open: what the peer reads and writes
 * @work: source of sends and RDMA writes, sink of RDMA reads
 * @slots: @game.depth receive buffers
 * @control: a struct pp_control
 * @peer: the peer's @open
 * @turn: iteration that is on
 * @pending: requests posted and not complete
 * @arrived: messages that came in and are not dealt with yet
 * @reading: the RDMA read of this turn is done, or under way
 * @error: why the game failed; NULL: it did not
 * @times: round trips in nanoseconds, for the client; else NULL
 */
struct pp_conn {
	struct pp_ia *ia;
	struct pp_game game;
	bool server;
	void (*ended)(struct pp_conn *conn);

	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
	struct pp_buf open;
	struct pp_buf work;
	struct pp_buf slots;
	struct pp_buf control;

	struct pp_info peer;
	u32 turn;
	u32 pending;
	u32 arrived;
	bool reading;
	const char *error;
	u64 *times;
	u64 started;

	struct completion over;		/* client */
	struct list_head entry;		/* server */
	struct work_struct end_work;	/* server */
};

/* What a completion's cookie says. */
enum pp_cookie {
	PP_SENT,
	PP_WRITTEN,
	PP_WAS_READ,
	PP_GOT_INFO,
	PP_GOT_MESSAGE,
};

/* conn.c */
int pp_conn_create(struct pp_conn *conn);
void pp_conn_destroy(struct pp_conn *conn);
int pp_conn_post_recvs(struct pp_conn *conn);
void pp_conn_own_info(struct pp_conn *conn, struct pp_info *info);
void pp_fail(struct pp_conn *conn, const char *why);
DAT_RETURN pp_post_slot(struct pp_conn *conn, u32 slot);
DAT_RETURN pp_post_send(struct pp_conn *conn, struct pp_buf *buf, size_t offset,
			size_t length);
DAT_RETURN pp_post_rdma(struct pp_conn *conn, enum pp_cookie what);

/* turns.c */
void pp_turn_start(struct pp_conn *conn);
void pp_turn_event(struct pp_conn *conn,
		   const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* client.c */
int pp_client_run(struct pp_ia *ia, const struct pp_game *game,
		  struct sockaddr *peer, u16 port, unsigned int limit_ms,
		  char *line, size_t size);

/* server.c */
int pp_server_start(struct pp_ia *ia, u16 port);
void pp_server_stop(void);
void pp_server_status(unsigned int *active, unsigned int *served,
		      unsigned int *failed);

const char *pp_mode_name(enum pp_mode mode);

#endif /* KDAT_PINGPONG_H */
