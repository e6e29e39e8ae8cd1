/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An EP in each of the nine states, and the proof that it is still whole: for
 * scenarios that try something in all of them.
 */
#ifndef RULES_STAGE_H
#define RULES_STAGE_H

#include "rules.h"

#define NR_STAGES	9

struct stage {
	DAT_EP_STATE state;
	const char *name;
	/* Of calls that the state forbids. */
	DAT_RETURN refusal;
};

/* In the order of the rows of the matrix. */
extern const struct stage stages[NR_STAGES];

/*
 * @node's EP is in the state, with one receive unless it has no PZ (TENT) or was
 * flushed (DIS).  @node is on side a where it connects and in UNC, on side b
 * otherwise.  @cr is what there is to answer in PCP, TENT and, at @peer, in ACP.
 * In COMPLETION_PENDING side a's link is cut.
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
/* The EP can do what it could when it was staged: it does it. */
bool stage_unharmed(struct staged *s);

/* Gives a provider's EP what it needs: the PZ and EVDs of its node. */
bool adopt(struct node *node);
/* Both sides see ESTABLISHED. */
bool established(struct node *active, struct node *passive);
/* The EP gets into @state, which no event has told the scenario. */
bool state_comes(DAT_EP_HANDLE ep, DAT_EP_STATE state);
/*
 * A time in us, @us or more, in which a request comes in on this machine: a limit for
 * an attempt that is to be over after that.
 */
DAT_TIMEOUT limit_of_request(DAT_TIMEOUT us);
/* One message to @to, whose oldest receive is @number; 0 is the send's. */
bool message(struct node *from, struct node *to, u64 number);
/* The next connection event, or 0 and the scenario has failed. */
DAT_EVENT_NUMBER next_conn(struct node *node);
/* The first of @n nodes that has a connection event, or -1 and it has failed. */
int any_conn(struct node *nodes, int n, DAT_EVENT *event);

#endif /* RULES_STAGE_H */
