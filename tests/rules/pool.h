/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A shared receive queue of side b, with memory for the receives that are posted to it.
 * The functions are in srq.c; the scenarios of user/srq.c use them, too.
 */
#ifndef RULES_POOL_H
#define RULES_POOL_H

#include "memory.h"

#define POOL_RECVS	32
#define BUFFER		64

/* Receive n goes to buffer n % POOL_RECVS. */
struct pool {
	DAT_SRQ_HANDLE srq;
	struct mem mem;
};

/*
 * Has side b shared receive queues?  If not, the first scenario of srq.c proves that
 * the IA says so.
 */
bool srqs_here(void);
/* Has it low watermarks for them as well? */
bool marks_here(void);
bool pool_new(struct pool *pool);
DAT_RETURN pool_post(struct pool *pool, u64 number);
/* Posts @n more receives. */
void pool_fill(struct pool *pool, int n);
/* Makes an EP of side b on the SRQ, connected to one of side a. */
bool pool_pair(struct pair *pair, struct pool *pool, enum evds evds);
/* Sends @n messages and waits for the completions of the sends only, not of the receives. */
bool pool_send(struct pair *pair, int n);
/* Takes the completions of @n receives. */
void pool_taken(struct pair *pair, int n);
/* Does @event say that few receives are left in the SRQ? */
bool is_low(const struct pool *pool, const DAT_EVENT *event);
/* The next asynchronous event says so. */
bool want_low(const struct pool *pool);

#endif /* RULES_POOL_H */
