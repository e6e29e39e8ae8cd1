// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdat_iser: LIO's iSCSI target over RDMA (iSER), on kDAT.  It takes the place of
 * ib_isert: a portal of targetcli with "enable_iser" is served by whichever of the two has
 * registered first.
 *
 * This file has the table of functions that LIO calls, and the module's init and exit.  The
 * module cannot be unloaded while a portal uses it.
 */
#include <linux/module.h>
#include "kdat_iser.h"

/* No protection information: the device would have to check it, and that is not supported. */
static enum target_prot_op kiser_get_sup_prot_ops(struct iscsit_conn *lio)
{
	return TARGET_PROT_NORMAL;
}

/*
 * Error recovery levels above 0 recover single PDUs, and let a connection of a session take
 * over the commands of another one.  RDMA loses no PDUs, and a session has only one
 * connection: if there were two that log each other out, each would wait for the other to
 * end.  Both keys belong to the session.  A second connection does not have them, so
 * iscsi_change_param_sprintf() fails and the connection is refused.
 */
static int kiser_validate_params(struct iscsit_conn *lio)
{
	if (lio->sess->sess_ops->SessionType)
		return 0;
	return iscsi_change_param_sprintf(lio, "ErrorRecoveryLevel=0") ?:
	       iscsi_change_param_sprintf(lio, "MaxConnections=1");
}

static struct iscsit_transport kiser_transport = {
	.name			= "kDAT/iSER",
	.transport_type		= ISCSI_INFINIBAND,
	.rdma_shutdown		= true,
	.priv_size		= sizeof(struct kiser_cmd),
	.owner			= THIS_MODULE,
	.iscsit_setup_np	= kiser_setup_np,
	.iscsit_accept_np	= kiser_accept_np,
	.iscsit_free_np		= kiser_free_np,
	.iscsit_wait_conn	= kiser_wait_conn,
	.iscsit_free_conn	= kiser_free_conn,
	.iscsit_get_login_rx	= kiser_get_login_rx,
	.iscsit_put_login_tx	= kiser_put_login_tx,
	.iscsit_get_rx_pdu	= kiser_get_rx_pdu,
	.iscsit_validate_params	= kiser_validate_params,
	.iscsit_get_sup_prot_ops = kiser_get_sup_prot_ops,
	.iscsit_immediate_queue	= kiser_immediate_queue,
	.iscsit_response_queue	= kiser_response_queue,
	.iscsit_get_dataout	= kiser_get_dataout,
	.iscsit_queue_data_in	= kiser_queue_data_in,
	.iscsit_queue_status	= kiser_queue_status,
	.iscsit_aborted_task	= kiser_aborted_task,
};

static int __init kiser_init(void)
{
	int err = -ENOMEM;

	/*
	 * Neither is used on the data path.  Logouts have a queue of their own, since each
	 * waits until its session has ended.
	 */
	kiser_wq = alloc_workqueue("kdat_iser", WQ_UNBOUND, 0);
	if (!kiser_wq)
		return err;
	kiser_logout_wq = alloc_workqueue("kdat_iser_logout", WQ_UNBOUND, 0);
	if (!kiser_logout_wq)
		goto no_logout_wq;
	err = kiser_rooms_init();
	if (err)
		goto no_rooms;
	kiser_adapters_init();
	iscsit_register_transport(&kiser_transport);
	return 0;

no_rooms:
	destroy_workqueue(kiser_logout_wq);
no_logout_wq:
	destroy_workqueue(kiser_wq);
	return err;
}
module_init(kiser_init);

static void __exit kiser_exit(void)
{
	iscsit_unregister_transport(&kiser_transport);
	kiser_adapters_exit();
	kiser_ports_exit();
	kiser_rooms_exit();
	destroy_workqueue(kiser_logout_wq);
	destroy_workqueue(kiser_wq);
}
module_exit(kiser_exit);

MODULE_DESCRIPTION("iSER target of LIO on kDAT");
MODULE_LICENSE("Dual BSD/GPL");
