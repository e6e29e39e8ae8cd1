/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Brings an EP into each of the nine states, and proves afterwards that it still works:
 * for scenarios that try something in all states.
 */
#ifndef RULES_STAGE_H
#define RULES_STAGE_H

#include "rules.h"

#define NR_STAGES	9

struct stage {
	DAT_EP_STATE state;
	const char *name;
		/* What a call returns that the state forbids. */
	DAT_RETURN refusal;
};

/* In the order of the rows of the endpoint table. */
extern const struct stage stages[NR_STAGES];

/*
 * @node's EP is in the state @is.  It has one receive posted, unless it has no PZ
 * (TENTATIVE_CONNECTION_PENDING) or the receive was flushed (DISCONNECTED).  @node is
 * on side a if it connects itself, and in UNCONNECTED; otherwise on side b.  @cr is the
 * request that is there to be answered: by @node in PASSIVE_ and
 * TENTATIVE_CONNECTION_PENDING, by @peer in ACTIVE_CONNECTION_PENDING.  In
 * COMPLETION_PENDING side a's link is cut.
 */
struct staged {
	const struct stage *is;
	struct node node;
	struct node peer;
	struct listener listener;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
};

#define STAGE_RECV	77
#define STAGE_SEND	78

bool stage_new(struct staged *s, const struct stage *stage);
/* Proves that the EP can still do what it could when it was staged: it does it. */
bool stage_unharmed(struct staged *s);

/* Gives a provider's EP what it needs: the PZ and EVDs of its node. */
bool adopt(struct node *node);
/* Both sides get ESTABLISHED. */
bool established(struct node *active, struct node *passive);
/* Waits until the EP is in @state, which no event tells. */
bool state_comes(DAT_EP_HANDLE ep, DAT_EP_STATE state);
/*
 * A time in us, @us or more, within which a request arrives on this machine: a limit
 * for an attempt that is to be over after that.
 */
DAT_TIMEOUT limit_of_request(DAT_TIMEOUT us);
/* Sends one message to @to, whose oldest receive has cookie @number; the send's cookie is 0. */
bool message(struct node *from, struct node *to, u64 number);
/* The number of the next connection event; 0 if none came, and the scenario has failed. */
DAT_EVENT_NUMBER next_conn(struct node *node);
/*
 * The index of the first of @n nodes that has a connection event; -1 if none has one,
 * and the scenario has failed.
 */
int any_conn(struct node *nodes, int n, DAT_EVENT *event);

#endif /* RULES_STAGE_H */
