/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kdat-pingpong: a kernel consumer of kDAPL, client and server in one module.
 * ../pingpong-protocol.h says what goes over the wire.  A game is what one
 * connection plays, a turn is one round trip of it.
 *
 *	main.c		parameters, opening the adapters, debugfs
 *	client.c	one game: connect, wait for the end, report how it went
 *	server.c	listen, accept, play until the module is removed
 *	conn.c		what a connection needs: memory, EVDs, an EP; its upcall
 *	turns.c		the game itself: what each side does after a completion
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
 * @ia: the adapter
 * @async_evd: where its asynchronous errors go
 * @pz: the zone of all LMRs and EPs
 * @max_block: bytes that one LMR may have
 */
struct pp_ia {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_VLEN max_block;
};

/* Memory and its registration */
struct pp_buf {
	void *va;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

/* What is played; the client tells the server in its struct pp_hello. */
struct pp_game {
	enum pp_mode mode;
	u32 size;
	u32 iterations;
	u32 depth;
	bool verify;
	bool abrupt;
};

/* The small messages, as they go over the wire */
struct pp_control {
	struct pp_info info;
	struct pp_info peer_info;
	struct pp_notice notice;
};

/**
 * struct pp_conn - one connection
 * @ia: the adapter it is on
 * @game: what is played
 * @server: which end this is
 * @ended: called once, from the connection's upcall, when the connection has
 *	   ended; process context; it must not free @conn, which the upcall
 *	   still uses
 * @dto_evd: gets the completions
 * @conn_evd: gets the connection events; may be the same as @dto_evd (conn.c)
 * @ep: the endpoint
 * @open: what the peer reads and writes
 * @work: source of sends and RDMA writes, sink of RDMA reads
 * @slots: @game.depth receive buffers
 * @control: a struct pp_control
 * @peer: the peer's @open
 * @turn: number of the turn that is being played
 * @pending: requests that are posted and not complete
 * @arrived: messages that came in and have not been dealt with
 * @reading: the RDMA read of this turn is posted or complete
 * @error: why the game failed; NULL: it did not
 * @times: of the client: the round trips in nanoseconds; else NULL
 * @started: of the client: when this turn began, in nanoseconds
 * @over: of the client: completed when the connection has ended
 * @entry: of the server: in the list of its connections
 * @end_work: of the server: frees the connection
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

	struct completion over;
	struct list_head entry;
	struct work_struct end_work;
};

/* The cookies of transfers */
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
