// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The frame of an operation (op.h): one place for the look-up of its handle, for
 * its way into the section of the IA, and for the way back.
 *
 * Callers: every operation of the core but posts and dat_evd_dequeue, which look their handles up
 * by themselves, without a reference.
 */
#include "ia.h"
#include "op.h"

/**
 * kdapl_op_find - look up the object that an operation is about
 * @op: filled; kdapl_op_end() must follow, whatever is returned here
 * @space: in which the handle is valid
 * @handle: any value
 * @type: of object that the operation takes
 * @subtype: DAT_INVALID_HANDLE_*, how the operation names a bad @handle
 *
 * Any context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/@subtype.
 */
DAT_RETURN kdapl_op_find(struct kdapl_op *op, struct kdapl_space *space,
			 DAT_HANDLE handle, enum kdapl_type type, u32 subtype)
{
	op->obj = kdapl_object_find(space, handle, type);
	op->bad_handle = DAT_ERROR(DAT_INVALID_HANDLE, subtype);
	op->inside = false;
	return op->obj ? DAT_SUCCESS : op->bad_handle;
}

/**
 * kdapl_op_enter - enter the section of the IA; the device has to be there
 * @op: found
 *
 * Until kdapl_op_end() the device stays.  Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS; the operation's DAT_INVALID_HANDLE when the IA is closing
 * (I15); DAT_INVALID_STATE without subtype when the device is gone (E71).
 */
DAT_RETURN kdapl_op_enter(struct kdapl_op *op)
{
	DAT_RETURN ret = kdapl_ia_enter(op->obj->ia, &op->idx);

	op->inside = !ret;
	return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE ? op->bad_handle : ret;
}

/**
 * kdapl_op_enter_shell - enter the section of the IA, whether the device is there or not
 * @op: found
 *
 * Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS; the operation's DAT_INVALID_HANDLE when the IA is closing
 * (I15).
 */
DAT_RETURN kdapl_op_enter_shell(struct kdapl_op *op)
{
	DAT_RETURN ret = kdapl_ia_enter_shell(op->obj->ia, &op->idx);

	op->inside = !ret;
	return ret ? op->bad_handle : DAT_SUCCESS;
}

/**
 * kdapl_op_end - leave the section if it was entered, and drop the reference
 * @op: of kdapl_op_find()
 * @ret: what the operation returns
 *
 * Any context.
 *
 * Return: @ret.
 */
DAT_RETURN kdapl_op_end(struct kdapl_op *op, DAT_RETURN ret)
{
	if (op->inside)
		kdapl_ia_leave(op->obj->ia, op->idx);
	if (op->obj)
		kdapl_object_put(op->obj);
	return ret;
}

/**
 * kdapl_op_find_param - begin an operation that has a mask and a structure
 * @op: filled; kdapl_op_end() must follow
 * @space: in which the handle is valid
 * @handle: any value
 * @type: of object
 * @subtype: DAT_INVALID_HANDLE_* of a bad @handle
 * @wrong: bits of the mask that the operation does not take
 * @param: the structure
 *
 * The section is not entered: a query works without a device (E71).  Any
 * context.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/@subtype; DAT_INVALID_PARAMETER/ARG2
 * for bits in @wrong, /ARG3 for a null @param.
 */
DAT_RETURN kdapl_op_find_param(struct kdapl_op *op, struct kdapl_space *space,
			       DAT_HANDLE handle, enum kdapl_type type,
			       u32 subtype, u64 wrong, const void *param)
{
	DAT_RETURN ret = kdapl_op_find(op, space, handle, type, subtype);

	if (ret)
		return ret;
	if (wrong)
		return RET_BAD_ARG(2);
	return param ? DAT_SUCCESS : RET_BAD_ARG(3);
}

/**
 * kdapl_op_begin_shell - begin an operation that needs no device
 * @op: filled; kdapl_op_end() must follow
 * @space: in which the handle is valid
 * @handle: any value
 * @type: of object
 * @subtype: DAT_INVALID_HANDLE_* of a bad @handle
 *
 * What a removed device left behind can be freed (E71).  Any context; may sleep
 * inside.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/@subtype.
 */
DAT_RETURN kdapl_op_begin_shell(struct kdapl_op *op, struct kdapl_space *space,
				DAT_HANDLE handle, enum kdapl_type type,
				u32 subtype)
{
	return kdapl_op_find(op, space, handle, type, subtype) ?:
	       kdapl_op_enter_shell(op);
}

/**
 * kdapl_op_kill - let nobody begin to use what is being freed
 * @op: in the section
 * @in_use: what the operation returns while another object uses this one
 *
 * Any context.
 *
 * Return: DAT_SUCCESS, for only one of several callers (E114); @in_use; the operation's
 * DAT_INVALID_HANDLE for those that come later.
 */
DAT_RETURN kdapl_op_kill(struct kdapl_op *op, DAT_RETURN in_use)
{
	switch (kdapl_object_kill(op->obj)) {
	case 0:
		return DAT_SUCCESS;
	case -EBUSY:
		return in_use;
	default:
		return op->bad_handle;
	}
}
