// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Suite kdapl_address: which address of a port names its IA (I23), and by which one
 * a peer is reached (C22), where routing says what the test wants it to.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include "../../kdapl/glue/address.h"

/* Numbers of the net devices, which there need not be. */
#define BASE	11
#define VLAN	12
#define OTHER	13

static struct kdapl_address address(const char *text, int ifindex)
{
	struct kdapl_address addr = { .ifindex = ifindex };

	if (in4_pton(text, -1, (u8 *)&addr.in.sin_addr, -1, NULL)) {
		addr.in.sin_family = AF_INET;
	} else {
		in6_pton(text, -1, (u8 *)&addr.in6.sin6_addr, -1, NULL);
		addr.in6.sin6_family = AF_INET6;
		if (!strncmp(text, "fe80", 4))
			addr.in6.sin6_scope_id = ifindex;
	}
	return addr;
}

struct address_case {
	const char *better, *worse;
};

static const struct address_case better_cases[] = {
	{ "10.0.0.1", "fd00::1" },
	{ "10.0.0.1", "fe80::1" },
	{ "fd00::1", "fe80::1" },
};

static void ia_address(struct kunit *test)
{
	struct kdapl_address a, b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(better_cases); i++) {
		a = address(better_cases[i].better, BASE);
		b = address(better_cases[i].worse, BASE);
		KUNIT_EXPECT_TRUE(test, kdapl_address_better(&a, &b));
		KUNIT_EXPECT_FALSE(test, kdapl_address_better(&b, &a));
		KUNIT_EXPECT_FALSE(test, kdapl_address_better(&a, &a));
	}
}

static void same_address(struct kunit *test)
{
	struct kdapl_address a, b;

	a = address("fe80::1", BASE);
	b = address("fe80::1", VLAN);
	KUNIT_EXPECT_FALSE(test, kdapl_address_equal(&a, &b));
	KUNIT_EXPECT_TRUE(test, kdapl_address_equal(&a, &a));
	a = address("10.0.0.1", BASE);
	b = address("10.0.0.1", VLAN);
	KUNIT_EXPECT_TRUE(test, kdapl_address_equal(&a, &b));
	b = address("fd00::1", BASE);
	KUNIT_EXPECT_FALSE(test, kdapl_address_equal(&a, &b));
}

/* What routing says: bits and source address by net device; NULL: no route. */
static struct {
	const char *base, *vlan;
	int base_bits, vlan_bits;
	int asked;
} routes;

static int scripted_route(struct net *net, int ifindex, const struct sockaddr *to,
			  struct kdapl_address *from)
{
	const char *source = ifindex == BASE ? routes.base : routes.vlan;

	routes.asked++;
	if (!source)
		return -ENETUNREACH;
	*from = address(source, ifindex);
	return ifindex == BASE ? routes.base_bits : routes.vlan_bits;
}

/* The addresses of the port of these cases. */
static const struct {
	const char *text;
	int ifindex;
} port[] = {
	{ "fe80::1", BASE }, { "10.1.0.1", BASE }, { "10.1.0.2", BASE },
	{ "10.2.0.1", VLAN }, { "fe80::2", VLAN }, { "fd00::1", VLAN },
};

struct source_case {
	const char *name;
	const char *to;
	int scope;
	const char *base;
	int base_bits;
	const char *vlan;
	int vlan_bits;
	const char *from;
};

static const struct source_case source_cases[] = {
	{ "subnet of a VLAN", "10.2.0.9", 0, NULL, 0, "10.2.0.1", 24,
	  "10.2.0.1" },
	{ "more specific than a default route", "10.2.0.9", 0, "10.1.0.1", 0,
	  "10.2.0.1", 24, "10.2.0.1" },
	{ "default route alone", "192.0.2.9", 0, "10.1.0.1", 0, NULL, 0,
	  "10.1.0.1" },
	{ "secondary address", "10.1.0.9", 0, "10.1.0.2", 24, NULL, 0,
	  "10.1.0.2" },
	{ "the first of equal routes", "10.9.0.9", 0, "10.1.0.1", 24,
	  "10.2.0.1", 24, "10.1.0.1" },
	{ "source on no device of the port", "10.1.0.9", 0, "192.0.2.1", 24,
	  NULL, 0, "10.1.0.1" },
	{ "no route", "192.0.2.9", 0, NULL, 0, NULL, 0, "10.1.0.1" },
	{ "IPv6", "fd00::9", 0, NULL, 0, "fd00::1", 64, "fd00::1" },
	{ "no global IPv6 on the device", "fd01::9", 0, "fd02::1", 64,
	  "fd00::1", 0, "fd00::1" },
	{ "link-local on a link", "fe80::9", VLAN, NULL, 0, NULL, 0, "fe80::2" },
	{ "link-local without a link", "fe80::9", 0, NULL, 0, NULL, 0,
	  "fe80::1" },
	{ "link-local elsewhere", "fe80::9", OTHER, NULL, 0, NULL, 0,
	  "10.1.0.1" },
};

static void source_name(const struct source_case *c, char *name)
{
	strscpy(name, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(source, source_cases, source_name);

static void source_address(struct kunit *test)
{
	const struct source_case *c = test->param_value;
	struct kdapl_address at[ARRAY_SIZE(port)], to = address(c->to, c->scope);
	struct kdapl_addresses list = { .n = ARRAY_SIZE(port), .at = at };
	const struct kdapl_address *from;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(port); i++)
		at[i] = address(port[i].text, port[i].ifindex);
	routes.base = c->base;
	routes.base_bits = c->base_bits;
	routes.vlan = c->vlan;
	routes.vlan_bits = c->vlan_bits;
	routes.asked = 0;

	from = kdapl_address_source(&list, &init_net, &to.sa, scripted_route);
	for (i = 0; i < ARRAY_SIZE(port); i++)
		if (!strcmp(port[i].text, c->from))
			KUNIT_EXPECT_PTR_EQ(test, from,
					    (const struct kdapl_address *)&at[i]);
	/* Each net device once. */
	KUNIT_EXPECT_EQ(test, routes.asked, strncmp(c->to, "fe80", 4) ? 2 : 0);
}

static void link_local_scope(struct kunit *test)
{
	struct kdapl_address from = address("fe80::1", BASE), to;

	to = address("fe80::9", 0);
	KUNIT_EXPECT_EQ(test, 0, kdapl_address_scope(&to.in6, &from.sa));
	KUNIT_EXPECT_EQ(test, BASE, (int)to.in6.sin6_scope_id);
	KUNIT_EXPECT_EQ(test, 0, kdapl_address_scope(&to.in6, &from.sa));
	to = address("fe80::9", VLAN);
	KUNIT_EXPECT_EQ(test, -ENETUNREACH,
			kdapl_address_scope(&to.in6, &from.sa));
	from = address("10.1.0.1", BASE);
	KUNIT_EXPECT_EQ(test, -ENETUNREACH,
			kdapl_address_scope(&to.in6, &from.sa));
	to = address("fd00::9", 0);
	KUNIT_EXPECT_EQ(test, 0, kdapl_address_scope(&to.in6, &from.sa));
	KUNIT_EXPECT_EQ(test, 0, (int)to.in6.sin6_scope_id);
}

static struct kunit_case address_cases[] = {
	KUNIT_CASE(ia_address),
	KUNIT_CASE(same_address),
	KUNIT_CASE_PARAM(source_address, source_gen_params),
	KUNIT_CASE(link_local_scope),
	{}
};

static struct kunit_suite address_suite = {
	.name = "kdapl_address",
	.test_cases = address_cases,
};

kunit_test_suite(address_suite);
