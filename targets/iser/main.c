// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdat_iser: LIO's iSCSI target over RDMA (iSER), on kDAT.  It takes the place of
 * ib_isert: a portal of targetcli with "enable_iser" is served by whichever of the two has
 * registered first.
 *
 * Here are the table of what LIO calls, and the module's beginning and end.  The module
 * cannot be unloaded as long as a portal uses it.
 */
#include <linux/module.h>
#include "kdat_iser.h"

/* No protection information: a device would have to check it. */
static enum target_prot_op kiser_get_sup_prot_ops(struct iscsit_conn *lio)
{
	return TARGET_PROT_NORMAL;
}

/*
 * Error recovery levels above 0 are about single PDUs and connections of a session that
 * take over commands of others.  RDMA loses no PDUs.  And a session has one connection: two
 * that log each other out would each wait for the end of the other.  Both keys are the
 * session's; a second connection has none of them, and is refused here.
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
	/* Both are for set-up and tear-down. A logout waits for the end of its session. */
	kiser_wq = alloc_workqueue("kdat_iser", WQ_UNBOUND, 0);
	if (!kiser_wq)
		return -ENOMEM;
	kiser_logout_wq = alloc_workqueue("kdat_iser_logout", WQ_UNBOUND, 0);
	if (!kiser_logout_wq) {
		destroy_workqueue(kiser_wq);
		return -ENOMEM;
	}
	kiser_adapters_init();
	iscsit_register_transport(&kiser_transport);
	return 0;
}
module_init(kiser_init);

static void __exit kiser_exit(void)
{
	iscsit_unregister_transport(&kiser_transport);
	kiser_adapters_exit();
	destroy_workqueue(kiser_logout_wq);
	destroy_workqueue(kiser_wq);
}
module_exit(kiser_exit);

MODULE_DESCRIPTION("iSER target of LIO on kDAT");
MODULE_LICENSE("Dual BSD/GPL");
