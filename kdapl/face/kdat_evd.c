// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The API of kernel consumers: event dispatchers.  Kernel modules call these functions; what all
 * of them have in common is told in Documentation/kdat-api.rst, The contracts.  The arguments
 * about upcalls are checked here, and kdat_upcall.c runs the upcalls.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include "kdat_call.h"
#include "kdat_upcall.h"

/* Checks the arguments that have to be checked before kdapl_evd_create() checks the others. */
static DAT_RETURN kcreate_check(DAT_IA_HANDLE ia, DAT_COUNT qlen,
				DAT_UPCALL_POLICY policy,
				const DAT_UPCALL_OBJECT *upcall)
{
	if (!handle_is(ia, DAT_HANDLE_TYPE_IA))
		return RET_BAD_HANDLE(IA);
	if (qlen <= 0)
		return RET_BAD_ARG(2);
	if (policy != DAT_UPCALL_DISABLE && !kdat_upcall_active(policy))
		return RET_BAD_ARG(3);
	if (kdat_upcall_active(policy) && (!upcall || !upcall->upcall_func))
		return RET_BAD_ARG(4);
	return DAT_SUCCESS;
}

/**
 * dat_evd_kcreate - make an EVD with its upcall
 * @ia_handle: an IA
 * @evd_min_qlen: events that it holds besides completions, 1 .. max_evd_qlen
 * @upcall_policy: DISABLE: events wait for dat_evd_dequeue();
 *	SINGLE_INSTANCE: they are given to @upcall one after the other; MANY:
 *	the same (E97)
 * @upcall: the function and its first argument; copied; may be null with DISABLE
 * @evd_flags: DAT_EVD_*_FLAG: the streams that may feed the EVD, at least one; may also have
 *	KDAT_EVD_PROCESS_FLAG and KDAT_EVD_EXTENDED_FLAG
 * @evd_handle: out
 *
 * The upcall of an EVD that is only for DTO, RMR bind and software events runs in softirq
 * context, unless KDAT_EVD_PROCESS_FLAG is set; that of any other EVD runs in process context
 * (E98).  Process context.
 * Rules E12..E16, E92..E101, E110.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA; DAT_INVALID_PARAMETER/ARG2 for
 * the length, /ARG3 for an unknown policy or TEARDOWN, /ARG4 for an active
 * policy without a function, /ARG5 for the flags, /ARG6 for a null
 * @evd_handle; DAT_INSUFFICIENT_RESOURCES/TEVD for a length above max_evd_qlen,
 * /MEMORY.
 */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	const DAT_PROVIDER *other = kdat_other(ia_handle);
	DAT_EVD_HANDLE handle;
	struct kdapl_evd *evd;
	DAT_RETURN ret;
	int err;

	if (other)
		return KDAT_THEIRS(other, evd_kcreate, ia_handle, evd_min_qlen, upcall_policy,
				   upcall, evd_flags, evd_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	ret = kcreate_check(ia_handle, evd_min_qlen, upcall_policy, upcall);
	if (ret)
		return ret;
	ret = kdapl_evd_create(SPACE, ia_handle, evd_min_qlen, evd_flags,
			       evd_handle ? &handle : NULL);
	if (ret)
		return ret;

	/* The IA may have been closed meanwhile, and the EVD with it. */
	evd = kdapl_evd_find(SPACE, handle);
	if (!evd)
		return RET_BAD_HANDLE(IA);
	err = kdat_upcall_init(evd, upcall_policy, upcall);
	kdapl_evd_put(evd);
	if (err == -ESTALE)
		return RET_BAD_HANDLE(IA);
	if (err) {
		kdapl_evd_free(SPACE, handle);
		return RET_NO_RESOURCE(MEMORY);
	}
	*evd_handle = handle;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_evd_kcreate);

/* @notifies: the policy NOTIFY, which DAT 1.2 does not have, is one (E110). */
static DAT_RETURN evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY policy,
				    const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag,
				    bool notifies)
{
	struct kdapl_evd *evd;
	int err;

	if (!may_sleep())
		return FROM_SOFTIRQ;
	evd = kdapl_evd_find(SPACE, evd_handle);
	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	if (policy != DAT_UPCALL_DISABLE && policy != DAT_UPCALL_TEARDOWN &&
	    !kdat_upcall_active(policy) && !(notifies && policy == KDAT_UPCALL_NOTIFY)) {
		kdapl_evd_put(evd);
		return RET_BAD_ARG(2);
	}
	err = kdat_upcall_modify(evd, policy, upcall, flag);
	kdapl_evd_put(evd);
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EINVAL:
		return RET_BAD_ARG(3);
	case -EOPNOTSUPP:
		return RET_BAD_ARG(4);
	case -EDEADLK:
		return RET_BAD_STATE(EVD_IN_USE);
	case -ESTALE:
		return RET_BAD_HANDLE(EVD_REQUEST);
	default:
		return RET_NO_RESOURCE(MEMORY);
	}
}

/**
 * dat_evd_modify_upcall - change policy and upcall of an EVD
 * @evd_handle: an EVD
 * @upcall_policy: DISABLE: no upcall starts any more; TEARDOWN: the same, and none is
 *	running when the call returns; SINGLE_INSTANCE, MANY: upcalls start at once for
 *	the events that are queued
 * @upcall: replaces function and instance data as a pair; DAT_UPCALL_SAME
 *	(null) keeps them
 *
 * Process context.  TEARDOWN must not be called from the EVD's own upcall, nor with a lock
 * held that the upcall takes.  Rules E92, E102..E105, E108..E110.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for an unknown policy, /ARG3 for an active policy
 * without a function; DAT_INVALID_STATE/EVD_IN_USE for TEARDOWN from the EVD's
 * own upcall; DAT_INSUFFICIENT_RESOURCES/MEMORY, but only at the first call for an
 * EVD that dat_ia_openv() has made.
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_modify_upcall, evd_handle, upcall_policy, upcall);
	return evd_modify_upcall(evd_handle, upcall_policy, upcall, DAT_UPCALL_INVOC_ANY, false);
}
EXPORT_SYMBOL(dat_evd_modify_upcall);

/**
 * kdat_evd_modify_upcall - dat_evd_modify_upcall() of DAT 2.0
 * @evd_handle: an EVD
 * @upcall_policy: as for dat_evd_modify_upcall(), or KDAT_UPCALL_NOTIFY: events stay queued, and
 *	the upcall, whose event is null then, tells that one has come
 * @upcall: as for dat_evd_modify_upcall()
 * @upcall_flag: with a policy that has upcalls: INVOC_ANY: they start at once for what is
 *	queued; INVOC_NEW: when something new comes that notifies, for everything that is queued
 *	then
 *
 * Only for EVDs of kdapl.  Process context.  Rules E103..E109, E115.
 *
 * Return: as dat_evd_modify_upcall(), and DAT_INVALID_PARAMETER/ARG4 for an unknown flag;
 * DAT_INVALID_HANDLE/EVD_REQUEST also for an EVD of another provider.
 */
DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				  DAT_UPCALL_POLICY upcall_policy,
				  const DAT_UPCALL_OBJECT *upcall,
				  DAT_UPCALL_FLAG upcall_flag)
{
	return evd_modify_upcall(evd_handle, upcall_policy, upcall, upcall_flag, true);
}
EXPORT_SYMBOL(kdat_evd_modify_upcall);

/**
 * dat_evd_query - parameters of an EVD
 * @evd_handle: an EVD
 * @evd_param_mask: DAT_EVD_FIELD_*
 * @evd_param: out
 *
 * After TEARDOWN the policy reads DISABLE.  Upcall context.  Rule E104.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for unknown mask bits, /ARG3 for a null structure.
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);
	struct kdapl_evd *evd;
	DAT_RETURN ret;

	if (other)
		return KDAT_THEIRS(other, evd_query, evd_handle, evd_param_mask, evd_param);
	evd = kdapl_evd_find(SPACE, evd_handle);
	if (!evd)
		return RET_BAD_HANDLE(EVD_REQUEST);
	ret = kdapl_evd_query(SPACE, evd_handle, evd_param_mask, evd_param);
	if (!ret)
		kdat_upcall_query(evd, evd_param);
	kdapl_evd_put(evd);
	return ret;
}
EXPORT_SYMBOL(dat_evd_query);

/**
 * dat_evd_resize - change the length of an EVD
 * @evd_handle: an EVD
 * @evd_min_qlen: entries, 1 .. max_evd_qlen; less than the present length
 *	succeeds, and the present length stays in force
 *
 * Process context.  Rules E49, E53..E57.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for a length outside this range; DAT_INVALID_STATE/EVD_IN_USE
 * if more events than that are queued; DAT_INSUFFICIENT_RESOURCES/MEMORY.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_resize, evd_handle, evd_min_qlen);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_evd_resize(SPACE, evd_handle, evd_min_qlen);
}
EXPORT_SYMBOL(dat_evd_resize);

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: a DAT_SOFTWARE_EVENT; copied
 *
 * Upcall context.  Rules E50..E52, E101.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG1 for an EVD without the flag, /ARG2 for a null
 * event or one with another number; DAT_QUEUE_FULL.
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_post_se, evd_handle, event);
	return kdapl_evd_post_se(SPACE, evd_handle, event);
}
EXPORT_SYMBOL(dat_evd_post_se);

/**
 * dat_evd_dequeue - take the oldest event
 * @evd_handle: an EVD
 * @event: out
 *
 * Allowed with any upcall policy, also from within the upcall.  Upcall context.
 * Rules E41..E48, E95.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_PARAMETER/ARG2 for a null @event; DAT_QUEUE_EMPTY.
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_dequeue, evd_handle, event);
	return kdapl_evd_dequeue(SPACE, evd_handle, event);
}
EXPORT_SYMBOL(dat_evd_dequeue);

/**
 * dat_evd_free - free an EVD
 * @evd_handle: an EVD that no EP, PSP or RSP feeds
 *
 * Events that are queued are lost; connection requests among them are rejected.  When this
 * has returned, no upcall of the EVD runs or will run.  Process context, but not from
 * the EVD's own upcall.  Rules E58..E60, E102, E108.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/EVD_REQUEST;
 * DAT_INVALID_STATE/EVD_IN_USE while something feeds it, for the async EVD of
 * an open IA, and from its own upcall.
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	const DAT_PROVIDER *other = kdat_other(evd_handle);

	if (other)
		return KDAT_THEIRS(other, evd_free, evd_handle);
	if (!may_sleep())
		return FROM_SOFTIRQ;
	return kdapl_evd_free(SPACE, evd_handle);
}
EXPORT_SYMBOL(dat_evd_free);
