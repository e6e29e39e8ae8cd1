/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A peer that speaks DAT (dat.c), and what it asks the program or the module for (user.c, kernel.c) */
#ifndef PEERS_PEER_H
#define PEERS_PEER_H

#ifdef __KERNEL__
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/string.h>
#include <dat/kdat_linux.h>
#else
#include <stdbool.h>
#include <string.h>
#include <arpa/inet.h>
#include <dat2/udat.h>
#endif
#include "words.h"

/* dat.c: by the adapter @name; false: something was not as it should be, and was said */
bool peer_serve(const char *name);
bool peer_call(const char *name, const char *address);

/* The port */
void say(const char *what, unsigned int number);
DAT_RETURN port_evd(DAT_IA_HANDLE ia, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN port_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *memory, DAT_LMR_HANDLE *lmr,
		    DAT_LMR_CONTEXT *context);
DAT_RETURN port_reject(DAT_CR_HANDLE cr, DAT_COUNT size, void *data);
/* Waits for an event; false: none has come for a long time. */
bool port_wait(DAT_EVD_HANDLE evd, DAT_EVENT *event);
bool port_address(const char *text, struct sockaddr_in *address);
/* Is the provider kdapl, or another's? */
bool port_is_kdapl(void);
/* 2 * PEER_LONGEST bytes, and gives them back */
unsigned char *port_memory(void);
void port_free(unsigned char *memory);

#endif /* PEERS_PEER_H */
