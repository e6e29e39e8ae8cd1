/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every tracepoint of kdapl, in sections by what they show (A13).  All lines of one object have
 * its handle, but kdapl_error, which is of a device or of rdma_cm.  Enable with
 *	echo 1 > /sys/kernel/tracing/events/kdapl/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdapl

#if !defined(KDAPL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KDAPL_TRACE_H

#include <linux/tracepoint.h>
#include "dto/kind.h"

/* Only trace.c needs to know what is in these. */
struct kdapl_conn;
struct kdapl_cookie;
struct kdapl_ep;
struct kdapl_object;

/* ---- objects: birth and death ---- */

TRACE_DEFINE_ENUM(KDAPL_IA);
TRACE_DEFINE_ENUM(KDAPL_PZ);
TRACE_DEFINE_ENUM(KDAPL_LMR);
TRACE_DEFINE_ENUM(KDAPL_RMR);
TRACE_DEFINE_ENUM(KDAPL_EVD);
TRACE_DEFINE_ENUM(KDAPL_EP);
TRACE_DEFINE_ENUM(KDAPL_PSP);
TRACE_DEFINE_ENUM(KDAPL_RSP);
TRACE_DEFINE_ENUM(KDAPL_CR);
TRACE_DEFINE_ENUM(KDAPL_SRQ);

DECLARE_EVENT_CLASS(kdapl_object_class,
	TP_PROTO(const struct kdapl_object *obj),
	TP_ARGS(obj),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u64, ia)
		__field(u8, type)
		__field(bool, user)
	),
	TP_fast_assign(
		__entry->token = obj->token;
		__entry->ia = obj->ia->obj.token;
		__entry->type = obj->type;
		__entry->user = obj->space->user;
	),
	TP_printk("%s handle=%#llx ia=%#llx %s",
		  __print_symbolic(__entry->type,
				   { KDAPL_IA, "ia" }, { KDAPL_PZ, "pz" },
				   { KDAPL_LMR, "lmr" }, { KDAPL_RMR, "rmr" },
				   { KDAPL_EVD, "evd" }, { KDAPL_EP, "ep" },
				   { KDAPL_PSP, "psp" }, { KDAPL_RSP, "rsp" },
				   { KDAPL_CR, "cr" }, { KDAPL_SRQ, "srq" }),
		  __entry->token, __entry->ia,
		  __entry->user ? "user" : "kernel")
);

DEFINE_EVENT(kdapl_object_class, kdapl_object_new,
	TP_PROTO(const struct kdapl_object *obj), TP_ARGS(obj));
DEFINE_EVENT(kdapl_object_class, kdapl_object_free,
	TP_PROTO(const struct kdapl_object *obj), TP_ARGS(obj));

/* ---- endpoints ---- */

TRACE_EVENT(kdapl_ep_state,
	TP_PROTO(const struct kdapl_ep *ep, u8 from, u8 input, u8 to),
	TP_ARGS(ep, from, input, to),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u8, from)
		__field(u8, input)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->token = ep->obj.token;
		__entry->from = from;
		__entry->input = input;
		__entry->to = to;
	),
	TP_printk("ep=%#llx %s -> %s (%s)", __entry->token,
		  kdapl_ep_state_name(__entry->from),
		  kdapl_ep_state_name(__entry->to),
		  kdapl_ep_input_name(__entry->input))
);

/* ---- connections: each step of one, with its outcome ---- */

#define KDAPL_CONN_FIELDS \
	__field(u64, token) \
	__field(u32, qp) \
	__field(bool, active)

/* A request that nobody has answered has no endpoint. */
#define KDAPL_CONN_ASSIGN(conn) \
	do { \
		__entry->token = (conn)->ep ? (conn)->ep->obj.token : 0; \
		__entry->qp = (conn)->qp.num; \
		__entry->active = (conn)->active; \
	} while (0)

#define KDAPL_CONN_FORMAT	"ep=%#llx qp=%u %s "
#define KDAPL_CONN_ARGS \
	__entry->token, __entry->qp, __entry->active ? "active" : "passive"

DECLARE_EVENT_CLASS(kdapl_conn_class,
	TP_PROTO(const struct kdapl_conn *conn, int err),
	TP_ARGS(conn, err),
	TP_STRUCT__entry(
		KDAPL_CONN_FIELDS
		__field(int, err)
	),
	TP_fast_assign(
		KDAPL_CONN_ASSIGN(conn);
		__entry->err = err;
	),
	TP_printk(KDAPL_CONN_FORMAT "err=%d", KDAPL_CONN_ARGS, __entry->err)
);

/* Address and route are known, or a try has failed. */
DEFINE_EVENT(kdapl_conn_class, kdapl_resolve,
	TP_PROTO(const struct kdapl_conn *conn, int err), TP_ARGS(conn, err));
/* Our request goes out. */
DEFINE_EVENT(kdapl_conn_class, kdapl_connect,
	TP_PROTO(const struct kdapl_conn *conn, int err), TP_ARGS(conn, err));
/* Our acceptance goes out. */
DEFINE_EVENT(kdapl_conn_class, kdapl_accept,
	TP_PROTO(const struct kdapl_conn *conn, int err), TP_ARGS(conn, err));
/* Active: we confirm the peer's acceptance; passive: the peer has confirmed ours. */
DEFINE_EVENT(kdapl_conn_class, kdapl_established,
	TP_PROTO(const struct kdapl_conn *conn, int err), TP_ARGS(conn, err));
/* The CM is to disconnect, or to answer the peer's disconnect. */
DEFINE_EVENT(kdapl_conn_class, kdapl_disconnect,
	TP_PROTO(const struct kdapl_conn *conn, int err), TP_ARGS(conn, err));

TRACE_EVENT(kdapl_move,
	TP_PROTO(const struct kdapl_conn *conn, u8 state, int err),
	TP_ARGS(conn, state, err),
	TP_STRUCT__entry(
		KDAPL_CONN_FIELDS
		__field(u8, state)
		__field(int, err)
	),
	TP_fast_assign(
		KDAPL_CONN_ASSIGN(conn);
		__entry->state = state;
		__entry->err = err;
	),
	TP_printk(KDAPL_CONN_FORMAT "to %s err=%d", KDAPL_CONN_ARGS,
		  __entry->state == IB_QPS_RTR ? "RTR" : "RTS", __entry->err)
);

/* What the CM or a completion says; @status is the CM event's. */
TRACE_EVENT(kdapl_cm,
	TP_PROTO(const struct kdapl_conn *conn, u8 input, int status),
	TP_ARGS(conn, input, status),
	TP_STRUCT__entry(
		KDAPL_CONN_FIELDS
		__field(u8, input)
		__field(int, status)
	),
	TP_fast_assign(
		KDAPL_CONN_ASSIGN(conn);
		__entry->input = input;
		__entry->status = status;
	),
	TP_printk(KDAPL_CONN_FORMAT "%s status=%d", KDAPL_CONN_ARGS,
		  kdapl_ep_input_name(__entry->input), __entry->status)
);

DECLARE_EVENT_CLASS(kdapl_flush_class,
	TP_PROTO(const struct kdapl_conn *conn, u32 requests, u32 recvs, int err),
	TP_ARGS(conn, requests, recvs, err),
	TP_STRUCT__entry(
		KDAPL_CONN_FIELDS
		__field(u32, requests)
		__field(u32, recvs)
		__field(int, err)
	),
	TP_fast_assign(
		KDAPL_CONN_ASSIGN(conn);
		__entry->requests = requests;
		__entry->recvs = recvs;
		__entry->err = err;
	),
	TP_printk(KDAPL_CONN_FORMAT "requests=%u recvs=%u err=%d",
		  KDAPL_CONN_ARGS, __entry->requests, __entry->recvs,
		  __entry->err)
);

/* A flush begins; @requests and @recvs: how many completions the device owes. */
DEFINE_EVENT(kdapl_flush_class, kdapl_flush,
	TP_PROTO(const struct kdapl_conn *conn, u32 requests, u32 recvs, int err),
	TP_ARGS(conn, requests, recvs, err));
/* The flush has ended; how many completions the device never made (-ETIMEDOUT). */
DEFINE_EVENT(kdapl_flush_class, kdapl_flushed,
	TP_PROTO(const struct kdapl_conn *conn, u32 requests, u32 recvs, int err),
	TP_ARGS(conn, requests, recvs, err));

TRACE_EVENT(kdapl_request,
	TP_PROTO(const struct kdapl_object *sp, const struct kdapl_object *cr),
	TP_ARGS(sp, cr),
	TP_STRUCT__entry(
		__field(u64, sp)
		__field(u64, cr)
	),
	TP_fast_assign(
		__entry->sp = sp->token;
		__entry->cr = cr->token;
	),
	TP_printk("sp=%#llx cr=%#llx", __entry->sp, __entry->cr)
);

/*
 * ---- DTOs: a post and its completion have the same slot, of the EP's requests or receives,
 * or of the SRQ, beside its handle ----
 *
 * Every post that is accepted is in kdapl_post or kdapl_srq_post, and then in
 * kdapl_completion, once.  A receive of an SRQ is not if no endpoint has taken it when the SRQ
 * is freed, or if its completion was dropped (kdapl_dropped).  @qp is 0 in a kdapl_post that
 * no queue pair was given (yet): a held post is in kdapl_post again when it is given to
 * one.  It is 0 in a kdapl_completion that kdapl has made itself, as flushed.
 */

#undef KIND
#define KIND(kind, name)	TRACE_DEFINE_ENUM(KDAPL_DTO_##kind);
KDAPL_DTO_KINDS(KIND, KIND)

/* As the arguments of __print_symbolic(), which are separated by commas. */
#undef KIND
#undef LAST_KIND
#define KIND(kind, name)	{ KDAPL_DTO_##kind, name },
#define LAST_KIND(kind, name)	{ KDAPL_DTO_##kind, name }

TRACE_EVENT(kdapl_post,
	TP_PROTO(const struct kdapl_ep *ep, const struct kdapl_cookie *cookie,
		 u8 kind),
	TP_ARGS(ep, cookie, kind),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u64, user)
		__field(u64, length)
		__field(u32, qp)
		__field(u32, slot)
		__field(u8, kind)
	),
	TP_fast_assign(
		__entry->token = ep->obj.token;
		__entry->user = cookie->user;
		__entry->length = cookie->length;
		__entry->qp = cookie->owed ? ep->conn->qp.num : 0;
		__entry->slot = cookie_slot(cookie);
		__entry->kind = kind;
	),
	TP_printk("ep=%#llx qp=%u slot=%u %s length=%llu cookie=%#llx",
		  __entry->token, __entry->qp, __entry->slot,
		  __print_symbolic(__entry->kind, KDAPL_DTO_KINDS(KIND, LAST_KIND)),
		  __entry->length, __entry->user)
);

TRACE_EVENT(kdapl_srq_post,
	TP_PROTO(const struct kdapl_cookie *cookie),
	TP_ARGS(cookie),
	TP_STRUCT__entry(
		__field(u64, srq)
		__field(u64, user)
		__field(u64, length)
		__field(u32, slot)
	),
	TP_fast_assign(
		__entry->srq = cookie_srq(cookie);
		__entry->user = cookie->user;
		__entry->length = cookie->length;
		__entry->slot = cookie_slot(cookie);
	),
	TP_printk("srq=%#llx slot=%u length=%llu cookie=%#llx", __entry->srq,
		  __entry->slot, __entry->length, __entry->user)
);

TRACE_EVENT(kdapl_completion,
	TP_PROTO(const struct kdapl_cookie *cookie, u32 qp, int wc_status),
	TP_ARGS(cookie, qp, wc_status),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u64, srq)
		__field(u64, user)
		__field(u64, length)
		__field(u32, qp)
		__field(u32, slot)
		__field(u32, status)
		__field(int, wc_status)
		__field(bool, is_recv)
	),
	TP_fast_assign(
		__entry->token = cookie->dir->ep->obj.token;
		__entry->user = cookie->user;
		__entry->length = cookie->length;
		__entry->srq = cookie_srq(cookie);
		__entry->qp = qp;
		__entry->slot = cookie_slot(cookie);
		__entry->status = cookie->status;
		__entry->wc_status = wc_status;
		__entry->is_recv = cookie->dir->is_recv;
	),
	TP_printk("ep=%#llx qp=%u srq=%#llx slot=%u %s length=%llu status=%u wc=%d cookie=%#llx",
		  __entry->token, __entry->qp, __entry->srq, __entry->slot,
		  __entry->is_recv ? "recv" : "request", __entry->length,
		  __entry->status, __entry->wc_status, __entry->user)
);

DECLARE_EVENT_CLASS(kdapl_dto_class,
	TP_PROTO(const struct kdapl_cookie *cookie, int code),
	TP_ARGS(cookie, code),
	TP_STRUCT__entry(
		__field(u64, token)
		__field(u64, srq)
		__field(u32, slot)
		__field(int, code)
		__field(bool, is_recv)
	),
	TP_fast_assign(
		/* Of a receive of an SRQ it may change; with an SRQ's own there is no EP. */
		const struct kdapl_dir *dir = READ_ONCE(cookie->dir);

		__entry->token = dir->ep ? dir->ep->obj.token : 0;
		__entry->srq = cookie_srq(cookie);
		__entry->slot = cookie_slot(cookie);
		__entry->code = code;
		__entry->is_recv = dir->is_recv;
	),
	TP_printk("ep=%#llx srq=%#llx slot=%u %s code=%d", __entry->token,
		  __entry->srq, __entry->slot,
		  __entry->is_recv ? "recv" : "request", __entry->code)
);

/*
 * The device does not take a post, and the call fails; @code is its errno, or -EFAULT if memory
 * of the post's list was taken away just now.
 */
DEFINE_EVENT(kdapl_dto_class, kdapl_post_refused,
	TP_PROTO(const struct kdapl_cookie *cookie, int code), TP_ARGS(cookie, code));
/*
 * The device does not take a post now, or not all of its work requests; @code as above.
 * The post is accepted, and its completion will come.
 */
DEFINE_EVENT(kdapl_dto_class, kdapl_post_kept,
	TP_PROTO(const struct kdapl_cookie *cookie, int code), TP_ARGS(cookie, code));
/*
 * A completion of the device's that completes no post: of a part of one, of one that kdapl has
 * flushed already, or of a receive of an SRQ that belongs to no endpoint.  @code is its
 * enum ib_wc_status.
 */
DEFINE_EVENT(kdapl_dto_class, kdapl_dropped,
	TP_PROTO(const struct kdapl_cookie *cookie, int code), TP_ARGS(cookie, code));

/* ---- errors of the layers below ---- */

TRACE_EVENT(kdapl_error,
	TP_PROTO(const char *what, int err),
	TP_ARGS(what, err),
	TP_STRUCT__entry(
		__string(what, what)
		__field(int, err)
	),
	TP_fast_assign(
		kdapl_assign_str(what, what);
		__entry->err = err;
	),
	TP_printk("%s err=%d", __get_str(what), __entry->err)
);

#endif /* KDAPL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
