/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A shared receive queue of side b with memory for what is posted to it, for the scenarios of
 * srq.c, which has these functions, and of user/srq.c.
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

/* Otherwise the first scenario of srq.c proves that the IA says so. */
bool srqs_here(void);
/* And it has low watermarks. */
bool marks_here(void);
bool pool_new(struct pool *pool);
DAT_RETURN pool_post(struct pool *pool, u64 number);
/* @n receives more. */
void pool_fill(struct pool *pool, int n);
/* An EP of side b on the SRQ, connected to one of side a. */
bool pool_pair(struct pair *pair, struct pool *pool, enum evds evds);
/* @n messages, of which the sender alone hears: nobody looks at the receives. */
bool pool_send(struct pair *pair, int n);
/* The completions of @n receives. */
void pool_taken(struct pair *pair, int n);
/* @event says that few receives are left in the SRQ. */
bool is_low(const struct pool *pool, const DAT_EVENT *event);
/* It is the next asynchronous event. */
bool want_low(const struct pool *pool);

#endif /* RULES_POOL_H */
