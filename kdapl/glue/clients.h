/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Kernel consumers that are told which adapters there are, see clients.c. */
#ifndef KDAPL_CLIENTS_H
#define KDAPL_CLIENTS_H

#include <dat/kdat_linux.h>
#include "glue.h"

void kdapl_clients_look(void);
void kdapl_clients_gone(struct kdapl_device *dev);
void kdapl_clients_exit(void);
void kdapl_client_register(struct kdat_client *client);
void kdapl_client_unregister(struct kdat_client *client);

#endif /* KDAPL_CLIENTS_H */
