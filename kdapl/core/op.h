/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The frame of an operation: the object that its handle names is found, the
 * section of the object's IA is entered, and both are given back at the end.
 *
 *	ret = kdapl_op_find(&op, space, handle, KDAPL_EP, DAT_INVALID_HANDLE_EP);
 *	if (!ret)
 *		ret = (checks of arguments, which come before the device's state);
 *	if (!ret)
 *		ret = kdapl_op_enter(&op);
 *	if (!ret)
 *		ret = (what the operation does);
 *	return kdapl_op_end(&op, ret);
 */
#ifndef KDAPL_OP_H
#define KDAPL_OP_H

#include "object.h"

/*
 * struct kdapl_op - one call of an operation
 * @obj: what the handle names, with a reference; NULL if it names nothing
 * @bad_handle: what the operation returns if there is no @obj, or its IA is closing
 * @inside: the section of @obj's IA was entered
 * @idx: of that section
 */
struct kdapl_op {
	struct kdapl_object *obj;
	DAT_RETURN bad_handle;
	bool inside;
	int idx;
};

DAT_RETURN kdapl_op_find(struct kdapl_op *op, struct kdapl_space *space,
			 DAT_HANDLE handle, enum kdapl_type type, u32 subtype);
DAT_RETURN kdapl_op_enter(struct kdapl_op *op);
DAT_RETURN kdapl_op_enter_shell(struct kdapl_op *op);
DAT_RETURN kdapl_op_end(struct kdapl_op *op, DAT_RETURN ret);

DAT_RETURN kdapl_op_find_param(struct kdapl_op *op, struct kdapl_space *space,
			       DAT_HANDLE handle, enum kdapl_type type,
			       u32 subtype, u64 wrong, const void *param);
DAT_RETURN kdapl_op_begin_shell(struct kdapl_op *op, struct kdapl_space *space,
				DAT_HANDLE handle, enum kdapl_type type,
				u32 subtype);
DAT_RETURN kdapl_op_kill(struct kdapl_op *op, DAT_RETURN in_use);

#endif /* KDAPL_OP_H */
