/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The family of generic netlink that kdaplctl reads (family.c). */
#ifndef KDAPLCTL_FAMILY_H
#define KDAPLCTL_FAMILY_H

#include <linux/netlink.h>
#include <stdint.h>
#include <rdma/kdapl_netlink.h>

/*
 * struct message - one adapter, file or object
 * @next: the message that came after it
 * @at: its attributes by number, pointing into @data; NULL: it has no such attribute
 * @data: a copy of the netlink message
 */
struct message {
	struct message *next;
	const struct nlattr *at[KDAPL_NL_A_MAX + 1];
	uint32_t data[];
};

int kdapl_open(void);
struct message *kdapl_dump(int cmd, int type);
void kdapl_free(struct message *all);

/* To walk the attributes of a nest: for (a = first_of(n); a; a = next_of(n, a)) */
const struct nlattr *first_of(const struct nlattr *nest);
const struct nlattr *next_of(const struct nlattr *nest, const struct nlattr *a);

uint64_t number_of(const struct nlattr *a);

static inline int type_of(const struct nlattr *a)
{
	return a->nla_type & NLA_TYPE_MASK;
}

static inline const void *payload_of(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static inline int length_of(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

#endif /* KDAPLCTL_FAMILY_H */
