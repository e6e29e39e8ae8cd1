/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library as DAT 1.2 has it. All in which the versions of DAT differ is in a folder for each,
 * face1 and face2, whose files have the same names; the rest of the library is compiled once with
 * either, and has no condition on the version.
 *
 * The numbers, masks and lengths of /dev/kdapl are those of DAT 1.2, so this one has nothing to
 * translate. What each function is for is told in face2/face.h.
 */
#ifndef SHIM_FACE_H
#define SHIM_FACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <rdma/kdapl.h>

#define FACE_DEVICE_NAME	"kdapl"
#define FACE_EXTENDED		false
#define FACE_ATTRS		0
#define FACE_LIBRARY		"libdat.so"
#define FACE_KERNEL_EP_ALL	DAT_EP_FIELD_ALL
#define FACE_EP_NEVER		0
#define FACE_CNO_FIELDS		DAT_CNO_FIELD_ALL
#define FACE_QUEUE_EMPTY	((DAT_RETURN)(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY))

static inline DAT_RETURN face_ret(uint32_t ret)
{
	return ret;
}

static inline uint64_t face_ia_mask(DAT_IA_ATTR_MASK mask)
{
	return mask;
}

static inline uint64_t face_provider_mask(DAT_PROVIDER_ATTR_MASK mask)
{
	return mask;
}

static inline uint32_t face_lmr_mask(DAT_LMR_PARAM_MASK mask)
{
	return mask;
}

static inline uint32_t face_rmr_mask(DAT_RMR_PARAM_MASK mask)
{
	return mask;
}

static inline uint64_t face_ep_mask(DAT_EP_PARAM_MASK mask)
{
	return mask;
}

static inline uint32_t face_connect_flags(uint32_t flags)
{
	return flags;
}

static inline DAT_VLEN face_length(uint64_t length)
{
	return length;
}

static inline DAT_SRQ_STATE face_srq_state(uint32_t state)
{
	return state;
}

static inline void face_version_in(uint32_t *major, uint32_t *minor)
{
	(void)major;
	(void)minor;
}

static inline void face_version_out(DAT_UINT32 *major, DAT_UINT32 *minor)
{
	(void)major;
	(void)minor;
}

static inline void face_provider_attr(DAT_PROVIDER_ATTR *attr)
{
	(void)attr;
}

static inline void face_ep_param(DAT_EP_PARAM *param, int family)
{
	(void)param;
	(void)family;
}

static inline void face_lmr_param(DAT_LMR_PARAM *param)
{
	(void)param;
}

static inline void face_rmr_param(DAT_RMR_PARAM *param)
{
	(void)param;
}

static inline void face_cno_param(DAT_CNO_PARAM *param, const DAT_OS_WAIT_PROXY_AGENT *agent,
				  int fd)
{
	(void)fd;
	param->agent = agent ? *agent : DAT_OS_WAIT_PROXY_AGENT_NULL;
}

static inline void face_cr_arrival(DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	(void)data;
}

/* Does a connection event have the private data of the peer's answer? */
static inline bool face_has_private_data(uint32_t number)
{
	return number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

#define FACE_PRIVILEGES		DAT_MEM_PRIV_ALL_FLAG

/*
 * The privileges of an LMR, as the kernel judges them. It has one for atomics, which programs of
 * 1.2 do not: theirs becomes one that nobody has, and is refused as any such is.
 */
static inline uint32_t face_privileges(uint32_t privileges)
{
	return privileges & KDAPL_PRIV_REMOTE_ATOMIC ? privileges | 0x80000000u : privileges;
}

/* DAT 1.2 has no counters that a program could ask for. */
struct shim_object;
static inline void face_count(struct shim_object *obj)
{
	(void)obj;
}

static inline void face_ia_attr(DAT_IA_ATTR *attr, bool any)
{
	(void)attr;
	(void)any;
}

static inline uint32_t face_attrs(DAT_NAMED_ATTR *attrs, uint32_t extensions, bool counts,
				  bool revocable)
{
	(void)revocable;
	(void)counts;
	(void)attrs;
	(void)extensions;
	return 0;
}

static inline void face_dto(DAT_DTO_COMPLETION_EVENT_DATA *data, uint32_t operation,
			    uint32_t rmr_context)
{
	(void)data;
	(void)operation;
	(void)rmr_context;
}

static inline void face_extended(DAT_EVENT *event, uint32_t operation, uint32_t immediate)
{
	(void)event;
	(void)operation;
	(void)immediate;
}

static inline uint64_t face_remote_address(const DAT_RMR_TRIPLET *remote)
{
	return remote->target_address;
}

#define FACE_COPIES		1
#define FACE_SYNC_BATCH		KDAPL_UAPI_MAX_SYNC

_Static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct kdapl_uapi_segment) &&
	       offsetof(DAT_LMR_TRIPLET, virtual_address) ==
	       offsetof(struct kdapl_uapi_segment, address) &&
	       offsetof(DAT_LMR_TRIPLET, segment_length) ==
	       offsetof(struct kdapl_uapi_segment, length),
	       "dat_lmr_sync_* and posts pass the consumer's array as it is");

static inline uint64_t face_segments(const DAT_LMR_TRIPLET *iov, uint64_t number,
				     struct kdapl_uapi_segment *copies)
{
	(void)number;
	(void)copies;
	return (uintptr_t)iov;
}

/* No call is new. */
#define FACE_TABLE

#endif /* SHIM_FACE_H */
