/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library as DAT 2.0 has it (see face1/face.h): what the consumer's numbers are to the kernel,
 * and the kernel's to the consumer. Each function is called where such a number passes. The names
 * of DAT in the rest of the library have the right values by themselves, since it is compiled with
 * the headers of 2.0.
 */
#ifndef SHIM_FACE_H
#define SHIM_FACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <rdma/kdapl.h>

#define FACE_DEVICE_NAME	"kdapl"
/*
 * Consumers know that a receive may be taken by a peer's write with immediate data, and that a
 * message may invalidate the key of an RMR.
 */
#define FACE_EXTENDED		true
/* So many provider attributes name extensions, and what else there is, at most. */
#define FACE_ATTRS		5
/* How a line of dat.conf names this library, apart from the id of the provider. */
#define FACE_LIBRARY		"libdat2.so"

/* A length as an attribute or an event shows it: all ones if it is more than 32 bits can tell. */
static inline DAT_SEG_LENGTH face_length(uint64_t length)
{
	return length < UINT32_MAX ? (DAT_SEG_LENGTH)length : UINT32_MAX;
}

/*
 * A DAT_RETURN of the kernel's. DAT 2.0 has a subtype more behind the handles, and one more behind
 * the states; its DAT_NOT_IMPLEMENTED is another number. Types are the same otherwise.
 */
#define FACE_KERNEL_LAST_HANDLE		25u	/* SRQ */
#define FACE_KERNEL_LAST_STATE		86u	/* SRQ_IN_USE */
#define FACE_KERNEL_NOT_IMPLEMENTED	0x0fff0000u

_Static_assert(DAT_INVALID_HANDLE_SRQ == FACE_KERNEL_LAST_HANDLE, "the same up to here");
_Static_assert(DAT_INVALID_STATE_SRQ_IN_USE == FACE_KERNEL_LAST_STATE + 1, "one more");

DAT_RETURN face_ret_slow(uint32_t ret);

static inline DAT_RETURN face_ret(uint32_t ret)
{
	return ret ? face_ret_slow(ret) : DAT_SUCCESS;
}

/*
 * Masks of queries. The kernel fills in all that it knows, whatever is asked for, and the library
 * adds the rest; so all but an empty mask asks for all of the kernel's bits.
 */
#define FACE_KERNEL_IA_ALL		0x7ffffffffull
#define FACE_KERNEL_PROVIDER_ALL	0x3ffffffull
#define FACE_KERNEL_LMR_ALL		0x3ffu
#define FACE_KERNEL_RMR_ALL		0x1fu
#define FACE_KERNEL_EP_ALL		0x7ffff7ffull

static inline uint64_t face_ia_mask(DAT_IA_ATTR_MASK mask)
{
	return mask ? FACE_KERNEL_IA_ALL : 0;
}

static inline uint64_t face_provider_mask(DAT_PROVIDER_ATTR_MASK mask)
{
	return mask ? FACE_KERNEL_PROVIDER_ALL : 0;
}

static inline uint32_t face_lmr_mask(DAT_LMR_PARAM_MASK mask)
{
	return mask ? FACE_KERNEL_LMR_ALL : 0;
}

static inline uint32_t face_rmr_mask(DAT_RMR_PARAM_MASK mask)
{
	return mask ? FACE_KERNEL_RMR_ALL : 0;
}

/*
 * The mask of an EP, which also says what is to be modified: COMM is not the kernel's, and what
 * stands between it and the attributes is one bit higher.
 */
#define FACE_EP_BEFORE_COMM	(DAT_EP_FIELD_COMM - 1)
#define FACE_EP_BEHIND_COMM	((DAT_EP_FIELD_SRQ_HANDLE << 1) - (DAT_EP_FIELD_COMM << 1))

static inline uint64_t face_ep_mask(DAT_EP_PARAM_MASK mask)
{
	return (mask & (FACE_EP_BEFORE_COMM | DAT_EP_FIELD_EP_ATTR_ALL)) |
	       (mask & FACE_EP_BEHIND_COMM) >> 1;
}

/* dat_ep_modify() cannot change it, nor what cmd_ep.c lists. */
#define FACE_EP_NEVER		DAT_EP_FIELD_COMM

/*
 * What dat_evd_dequeue() and dat_cno_wait() return if there is no event. Programs of 2.0 that poll
 * compare the whole code with DAT_QUEUE_EMPTY, as OpenFabrics' library returns it (RULING 64).
 */
#define FACE_QUEUE_EMPTY	((DAT_RETURN)DAT_QUEUE_EMPTY)

/*
 * The flags of dat_ep_connect(). That multipath is required is a flag of 2.0; for the kernel it is
 * what was there before, and it refuses both (RULING 62).
 */
static inline uint32_t face_connect_flags(uint32_t flags)
{
	return flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG ?
	       (flags & ~DAT_CONNECT_MULTIPATH_REQUIRED_FLAG) | DAT_CONNECT_MULTIPATH_FLAG : flags;
}

/* ALL is 4 and PROXY is 3, so what a program may ask for is any bit below 8. */
#define FACE_CNO_FIELDS		7u

/* The kernel has OPERATIONAL 0, ERROR 1. */
static inline DAT_SRQ_STATE face_srq_state(uint32_t state)
{
	return state ? DAT_SRQ_STATE_ERROR : DAT_SRQ_STATE_OPERATIONAL;
}

/*
 * A version that an open asks for, as the kernel, which has 1.2, judges it: 2.0 is what it has, a
 * later minor one is not, and neither is another major one.
 */
static inline void face_version_in(uint32_t *major, uint32_t *minor)
{
	*minor = *minor > DAT_VERSION_MINOR ? 3 : 2;
	*major = *major == DAT_VERSION_MAJOR ? 1 : 0;
}

/* The version that an adapter of kdapl has. */
static inline void face_version_out(DAT_UINT32 *major, DAT_UINT32 *minor)
{
	*major = DAT_VERSION_MAJOR;
	*minor = DAT_VERSION_MINOR;
}

/* What attributes and parameters have since 2.0 */

static inline void face_provider_attr(DAT_PROVIDER_ATTR *attr)
{
	attr->rdma_read_lmr_rmr_context_exposure = 0;
	attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
	attr->is_signal_safe = DAT_FALSE;
	attr->ha_supported = DAT_FALSE;
	attr->ha_loadbalancing = DAT_HA_LB_NONE;
}

/* @family: of the local address */
static inline void face_ep_param(DAT_EP_PARAM *param, int family)
{
	param->comm = (DAT_COMM) { .domain = family, .type = SOCK_STREAM };
}

static inline void face_lmr_param(DAT_LMR_PARAM *param)
{
	param->va_type = DAT_VA_TYPE_VA;
}

static inline void face_rmr_param(DAT_RMR_PARAM *param)
{
	param->rmr_scope = DAT_RMR_SCOPE_PZ;
	param->va_type = DAT_VA_TYPE_VA;
}

/* @fd: of a CNO that has one; else it is negative */
static inline void face_cno_param(DAT_CNO_PARAM *param, const DAT_OS_WAIT_PROXY_AGENT *agent,
				  int fd)
{
	param->proxy_type = agent ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE;
	param->proxy.agent = agent ? *agent : DAT_OS_WAIT_PROXY_AGENT_NULL;
	if (fd < 0)
		return;
	param->proxy_type = DAT_PROXY_TYPE_FD;
	param->proxy.fd = fd;
}

/* The private data of a request are never cut off: they are as long as the peer's transport has. */
static inline void face_cr_arrival(DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	data->truncate_flag = DAT_FALSE;
}

/* Does a connection event have the private data of the peer's answer? */
static inline bool face_has_private_data(uint32_t number)
{
	return number == DAT_CONNECTION_EVENT_ESTABLISHED ||
	       number == DAT_CONNECTION_EVENT_PEER_REJECTED;
}

/*
 * What has completed; @operation: DAT_DTOS, DAT_IB_DTOS; @rmr_context: of a receive: the key that
 * its message took away, or 0
 */
static inline void face_dto(DAT_DTO_COMPLETION_EVENT_DATA *data, uint32_t operation,
			    uint32_t rmr_context)
{
	data->operation = operation;
	data->rmr_context = rmr_context;
}

#define FACE_PRIVILEGES		(DAT_MEM_PRIV_ALL_FLAG | (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/* The privileges of an LMR: the kernel's are those of the extensions. */
static inline uint32_t face_privileges(uint32_t privileges)
{
	return privileges;
}

/* counters.c: an IA, and whatever is made of it, counts from now on; what was counted */
struct shim_object;
void face_count(struct shim_object *obj);
DAT_RETURN face_query_counters(DAT_HANDLE handle, int counter, DAT_UINT64 *out, bool reset);
DAT_RETURN face_print_counters(DAT_HANDLE handle, int counter, bool reset);

/* extension.c: makes a completion that of an extension. @immediate: of a receive */
void face_extended(DAT_EVENT *event, uint32_t operation, uint32_t immediate);

/*
 * The extensions of an IA (KDAPL_EXT_*, counters), in its attributes; @attrs has FACE_ATTRS;
 * @revocable: messages of peers may invalidate the keys of its RMRs
 */
void face_ia_attr(DAT_IA_ATTR *attr, bool any);
uint32_t face_attrs(DAT_NAMED_ATTR *attrs, uint32_t extensions, bool counts, bool revocable);

/*
 * face.c: a refused argument has another place in the call here. @places: where arguments 1 to 9 of
 * the other call are
 */
DAT_RETURN face_replaced(DAT_RETURN ret, const uint8_t places[9]);

static inline uint64_t face_remote_address(const DAT_RMR_TRIPLET *remote)
{
	return remote->virtual_address;
}

/*
 * The consumer's segments as the kernel reads them. @copies has room for FACE_COPIES; no module
 * allows a post of more segments, so it refuses their number without reading them.
 */
#define FACE_COPIES		32
#define FACE_SYNC_BATCH		FACE_COPIES

static inline uint64_t face_segments(const DAT_LMR_TRIPLET *iov, uint64_t number,
				     struct kdapl_uapi_segment *copies)
{
	uint64_t i;

	if (!iov || number > FACE_COPIES)
		return (uintptr_t)iov;
	for (i = 0; i < number; i++)
		copies[i] = (struct kdapl_uapi_segment) {
			.lmr_context = iov[i].lmr_context,
			.address = iov[i].virtual_address,
			.length = iov[i].segment_length,
		};
	return (uintptr_t)copies;
}

/* The new calls (face.c, csp.c, calls.c), and their places in the table of provider.c */
__typeof__(dat_csp_create) own_csp_create;
__typeof__(dat_csp_query) own_csp_query;
__typeof__(dat_csp_free) own_csp_free;
__typeof__(dat_ep_common_connect) own_ep_common_connect;
__typeof__(dat_rmr_create_for_ep) own_rmr_create_for_ep;
__typeof__(dat_ep_post_send_with_invalidate) own_ep_post_send_with_invalidate;
__typeof__(dat_ep_post_rdma_read_to_rmr) own_ep_post_rdma_read_to_rmr;
__typeof__(dat_cno_fd_create) own_cno_fd_create;
__typeof__(dat_cno_trigger) own_cno_trigger;
DAT_RETURN face_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR ia_name,
			      DAT_BOOLEAN *answer);
DAT_RETURN face_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP extended_op, va_list args);

#define FACE_TABLE							\
	.csp_create_func = dat_csp_create,				\
	.csp_query_func = dat_csp_query,				\
	.csp_free_func = dat_csp_free,					\
	.ep_common_connect_func = dat_ep_common_connect,		\
	.rmr_create_for_ep_func = dat_rmr_create_for_ep,		\
	.ep_post_send_with_invalidate_func = dat_ep_post_send_with_invalidate, \
	.ep_post_rdma_read_to_rmr_func = dat_ep_post_rdma_read_to_rmr,	\
	.cno_fd_create_func = dat_cno_fd_create,			\
	.cno_trigger_func = dat_cno_trigger,				\
	.ia_ha_related_func = face_ia_ha_related,			\
	.handle_extendedop_func = face_extendedop,

#endif /* SHIM_FACE_H */
