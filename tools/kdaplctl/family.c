// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kdaplctl, the part that speaks generic netlink: finds the family "kdapl" and asks it for the
 * adapters, files and objects.  If that fails, a message on standard error says why, and what to
 * do about it.
 *
 * Called by kdaplctl.c.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "family.h"

/* The kernel fills no more than 32 KiB at a time. */
#define ROOM	65536

static int sock = -1;
static uint16_t family;
static uint32_t sequence;

/* A request, with room for two attributes. */
struct request {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char attrs[64];
};

static void request_init(struct request *r, uint16_t type, uint16_t flags, uint8_t cmd,
			 uint8_t version)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | flags;
	r->head.nlmsg_seq = ++sequence;
	r->genl.cmd = cmd;
	r->genl.version = version;
}

static void request_add(struct request *r, uint16_t type, const void *value, size_t size)
{
	struct nlattr *a = (void *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + size;
	memcpy((char *)a + NLA_HDRLEN, value, size);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/* Return: 0, or an errno. */
static int request_send(const struct request *r)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(sock, r, r->head.nlmsg_len, 0, (void *)&kernel, sizeof(kernel)) < 0 ?
	       errno : 0;
}

const struct nlattr *first_of(const struct nlattr *nest)
{
	return length_of(nest) < NLA_HDRLEN ? NULL : payload_of(nest);
}

static const struct nlattr *next_before(const char *end, const struct nlattr *a)
{
	const char *next = (const char *)a + NLA_ALIGN(a->nla_len);

	return next + NLA_HDRLEN > end ? NULL : (const void *)next;
}

const struct nlattr *next_of(const struct nlattr *nest, const struct nlattr *a)
{
	return next_before((const char *)nest + nest->nla_len, a);
}

uint64_t number_of(const struct nlattr *a)
{
	uint64_t wide;
	uint32_t narrow;

	if (length_of(a) >= (int)sizeof(wide)) {
		memcpy(&wide, payload_of(a), sizeof(wide));
		return wide;
	}
	if (length_of(a) >= (int)sizeof(narrow)) {
		memcpy(&narrow, payload_of(a), sizeof(narrow));
		return narrow;
	}
	return length_of(a) >= 2 ? *(const uint16_t *)payload_of(a) : 0;
}

/* Finds the attributes of a message.  Numbers above @max come from a newer kernel: skipped. */
static void take_attributes(const struct nlattr **at, int max, const struct nlmsghdr *m)
{
	const char *end = (const char *)m + m->nlmsg_len;
	const struct nlattr *a = (const void *)((const char *)NLMSG_DATA(m) + GENL_HDRLEN);

	if ((const char *)a + NLA_HDRLEN > end)
		a = NULL;
	for (; a; a = next_before(end, a))
		if (type_of(a) <= max)
			at[type_of(a)] = a;
}

static struct message *keep(const struct nlmsghdr *m)
{
	struct message *new = calloc(1, sizeof(*new) + m->nlmsg_len);

	if (!new) {
		fprintf(stderr, "kdaplctl: no memory\n");
		exit(1);
	}
	memcpy(new->data, m, m->nlmsg_len);
	take_attributes(new->at, KDAPL_NL_A_MAX, (void *)new->data);
	return new;
}

/*
 * Receives the answer to the last request, and appends each of its messages at @last.
 * Return: 0, or an errno.
 */
static int receive(struct message **last)
{
	static char buf[ROOM] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *m;
	ssize_t n;

	for (;;) {
		n = recv(sock, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		for (m = (void *)buf; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
			if (m->nlmsg_seq != sequence)
				continue;
			/* The message that ends a dump has the error that it failed with, or 0. */
			if (m->nlmsg_type == NLMSG_DONE)
				return m->nlmsg_len < NLMSG_LENGTH(sizeof(int)) ?
				       0 : -*(const int *)NLMSG_DATA(m);
			if (m->nlmsg_type == NLMSG_ERROR)
				return -((const struct nlmsgerr *)NLMSG_DATA(m))->error;
			*last = keep(m);
			last = &(*last)->next;
			if (!(m->nlmsg_flags & NLM_F_MULTI))
				return 0;
		}
	}
}

/*
 * The id of the family, from an answer of the netlink controller, whose attributes have numbers
 * of their own, not KDAPL_NL_A_*.  0: the answer has none.
 */
static uint16_t family_of(struct message *m)
{
	const struct nlattr *at[CTRL_ATTR_FAMILY_ID + 1] = {};

	take_attributes(at, CTRL_ATTR_FAMILY_ID, (void *)m->data);
	return at[CTRL_ATTR_FAMILY_ID] ? number_of(at[CTRL_ATTR_FAMILY_ID]) : 0;
}

/* Opens a socket and finds the family.  Return: 0; -1 after a message on standard error. */
int kdapl_open(void)
{
	struct message *answer = NULL;
	struct request r;
	int err;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (sock < 0) {
		fprintf(stderr, "kdaplctl: no generic netlink: %s\n", strerror(errno));
		return -1;
	}
	request_init(&r, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, 1);
	request_add(&r, CTRL_ATTR_FAMILY_NAME, KDAPL_NL_FAMILY, sizeof(KDAPL_NL_FAMILY));
	err = request_send(&r) ?: receive(&answer);
	if (!err && answer)
		family = family_of(answer);
	kdapl_free(answer);
	if (family)
		return 0;
	if (err != ENOENT)
		fprintf(stderr, "kdaplctl: the kernel does not answer: %s\n", strerror(err));
	else if (access("/sys/module/kdapl", F_OK))
		fprintf(stderr, "kdaplctl: the kernel module kdapl is not loaded; as root: "
			"modprobe kdapl\n");
	else
		fprintf(stderr, "kdaplctl: the module kdapl that is loaded is older than this "
			"program: unload it, and load the one that came with it\n");
	return -1;
}

/*
 * Dumps all that @cmd lists, in the kernel's order; @type: only objects of this type, 0: all.
 * Ends the program if that fails.
 */
struct message *kdapl_dump(int cmd, int type)
{
	struct message *all = NULL;
	struct request r;
	uint32_t value = type;
	int err;

	request_init(&r, family, NLM_F_DUMP, cmd, KDAPL_NL_VERSION);
	if (type)
		request_add(&r, KDAPL_NL_A_TYPE, &value, sizeof(value));
	err = request_send(&r) ?: receive(&all);
	if (err) {
		fprintf(stderr, "kdaplctl: the kernel refuses to tell: %s\n", strerror(err));
		exit(1);
	}
	return all;
}

void kdapl_free(struct message *all)
{
	struct message *next;

	for (; all; all = next) {
		next = all->next;
		free(all);
	}
}
