/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The registrar: a queue pair that executes registrations and nothing else.
 * Each zone has one; glue/mr.c is the only user.
 */
#ifndef KDAPL_REGISTRAR_H
#define KDAPL_REGISTRAR_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include "charge.h"
#include "glue.h"

struct kdapl_iw_link;

/**
 * struct kdapl_registrar - a queue pair that registers memory
 * @dev: the device it is on
 * @pd: the protection domain it registers in
 * @user: made for a process: the process whose registration makes the CQ and the queue
 *	  pairs is charged for them
 * @qp_lock: protects what follows; held during a registration, so there is one at a time
 * @qp: the queue pair; NULL before the first registration and after a failure; then
 *	there is no CQ either
 * @link: on iWARP: its connection to another queue pair; otherwise NULL
 * @cq: where its requests complete
 * @completed: the handler of @cq has run
 * @charges: what is charged for @cq, for @qp, and on iWARP for the queue pair at the other end
 */
struct kdapl_registrar {
	struct kdapl_device *dev;
	struct ib_pd *pd;
	bool user;
	struct mutex qp_lock;
	struct ib_qp *qp;
	struct kdapl_iw_link *link;
	struct kdapl_cq cq;
	struct completion completed;
	struct kdapl_charge charges[3];
};

void kdapl_registrar_init(struct kdapl_registrar *registrar,
			  struct kdapl_device *dev, struct ib_pd *pd, bool user);
void kdapl_registrar_destroy(struct kdapl_registrar *registrar);
int kdapl_registrar_run(struct kdapl_registrar *registrar,
			const struct ib_send_wr *wr);

#endif /* KDAPL_REGISTRAR_H */
