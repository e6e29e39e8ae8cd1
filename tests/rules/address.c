// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The addresses of a port: a second IPv4 address, that of a VLAN, an IPv6 address, and
 * a host that has link-local addresses only.  Each scenario gives such addresses to
 * both hosts, connects them there, and takes the addresses away again.  Routing has to
 * be set up for that, because both hosts are this machine: normally a packet to an
 * address of its own does not go out to the wire.
 */
#include "rules.h"

/* What addresses.sh ends with in a kernel without VLANs. */
#define NO_VLANS	77

/* ---- the network -------------------------------------------------------- */

/* The addresses of a kind come or go, for both hosts (tests/guest/addresses.sh). */
static bool network(const char *kind, const char *what)
{
	char command[60];
	int status;

	snprintf(command, sizeof(command), "/run/kdapl-addresses %s %s", kind, what);
	status = run_command(command);
	return !status || FAIL("%s: exit status %d", command, status);
}

static struct sockaddr_storage ipv4(u32 ip)
{
	struct sockaddr_storage addr = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(ip);
	return addr;
}

/* The bytes of the sockaddr that are the IP address. */
static const u8 *ip_of(const void *addr, size_t *size)
{
	const struct sockaddr_in6 *in6 = addr;
	const struct sockaddr_in *in = addr;

	if (in6->sin6_family == AF_INET6) {
		*size = sizeof(in6->sin6_addr);
		return (const u8 *)&in6->sin6_addr;
	}
	*size = sizeof(in->sin_addr);
	return (const u8 *)&in->sin_addr;
}

static bool ip_is_link_local(const void *addr)
{
	size_t size;
	const u8 *ip = ip_of(addr, &size);

	return size == 16 && ip[0] == 0xfe && ip[1] == 0x80;
}

static bool same_ip(const void *a, const void *b)
{
	size_t size_a, size_b;
	const u8 *ip_a = ip_of(a, &size_a), *ip_b = ip_of(b, &size_b);

	return size_a == size_b && !memcmp(ip_a, ip_b, size_a);
}

/* P41: @at is the address @want; if it is link-local, it says on which link. */
static bool check_address(const void *at, const struct sockaddr_storage *want)
{
	const struct sockaddr_in6 *in6 = at;

	return CHECK(same_ip(at, want)) &&
	       (!ip_is_link_local(at) || CHECK(in6->sin6_scope_id));
}

/* C22, P41: what each endpoint says of the connection. */
static void check_ends(struct node *active, struct node *passive,
		       const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
	DAT_EP_PARAM param;

	if (OK(dat_ep_query(active->ep, DAT_EP_FIELD_ALL, &param))) {
		check_address(param.local_ia_address_ptr, from);
		CHECK(same_ip(param.remote_ia_address_ptr, to));
	}
	if (OK(dat_ep_query(passive->ep, DAT_EP_FIELD_ALL, &param))) {
		check_address(param.local_ia_address_ptr, to);
		check_address(param.remote_ia_address_ptr, from);
	}
}

/* ---- two endpoints meet -------------------------------------------------- */

/* A listener of @side. */
static bool listen_on(struct side *side, struct listener *listener)
{
	return evd_new(side, 64, DAT_EVD_CR_FLAG, &listener->requests) &&
	       OK(dat_psp_create_any(side->ia, &listener->qual,
				     listener->requests, DAT_PSP_CONSUMER_FLAG,
				     &listener->psp));
}

static bool connect_to(struct node *a, const struct sockaddr_storage *to,
		       DAT_CONN_QUAL qual)
{
	return OK(dat_ep_connect(a->ep, (DAT_IA_ADDRESS_PTR)to, qual, CONNECT_US,
				 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
}

/*
 * Connects until the request comes: a listener gets to know a new address soon, not
 * at once, and until then there is nobody.
 */
static bool next_cr(struct node *a, const struct sockaddr_storage *to,
		    struct listener *listener, DAT_CR_HANDLE *cr)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	u64 until = deadline();
	DAT_EVENT event;

	while (connect_to(a, to, listener->qual)) {
		while (!event_within(listener->requests, 20, &event)) {
			if (event_within(a->conn, 0, &event))
				break;
			if (now_us() > until)
				return FAIL("no request came");
		}
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			arrival = &event.event_data.cr_arrival_event_data;
			*cr = arrival->cr_handle;
			return check_address(arrival->local_ia_address_ptr, to);
		}
		if (event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		    now_us() > until)
			return FAIL("%s (%#x) came", event_name(event.event_number),
				    event.event_number);
		if (!OK(dat_ep_reset(a->ep)))
			return false;
	}
	return false;
}

/*
 * A new endpoint of @side_from connects to @to; @from is the address that it should
 * come from.  A message goes over, and the connection ends.
 */
static bool meet(struct side *side_from, struct side *side_to,
		 struct listener *listener, const struct sockaddr_storage *to,
		 const struct sockaddr_storage *from)
{
	struct node a = {}, b = {};
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	if (!node_new(&a, side_from, THREE_EVDS, NULL) ||
	    !node_new(&b, side_to, THREE_EVDS, NULL) ||
	    !next_cr(&a, to, listener, &cr))
		return false;
	if (OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param)))
		check_address(param.remote_ia_address_ptr, from);
	mem_fill(&a.mem, 0, 3000, 7);
	OK(node_recv(&b, 0, 4096, 1));
	OK(dat_cr_accept(cr, b.ep, 0, NULL));
	want_event(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	want_event(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	check_ends(&a, &b, from, to);
	OK(node_send(&a, 0, 3000, 2, DAT_COMPLETION_DEFAULT_FLAG));
	want_dto(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 3000);
	mem_check(&b.mem, 0, 3000, 7);
	want_done(a.request, a.ep, 2, DAT_DTO_SUCCESS);
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	want_event(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	node_free(&a);
	node_free(&b);
	return !failed();
}

/* ---- scenarios ----------------------------------------------------------- */

/*
 * One listener, made before the second addresses were there: it is reached by the
 * first ones, by the second ones while they are there, and by the first ones again.
 */
static void second_ipv4(void)
{
	struct sockaddr_storage to = ipv4(0x0a090102), from = ipv4(0x0a090101);
	struct listener listener = {};
	DAT_IA_ATTR *attr = scenario_alloc(sizeof(*attr));

	listen_on(&side_b, &listener);
	meet(&side_a, &side_b, &listener, &side_b.addr, &side_a.addr);
	network("ipv4", "add");
	meet(&side_a, &side_b, &listener, &to, &from);
	/* I21: its address is the first one, as it was. */
	if (attr && OK(dat_ia_query(side_b.ia, NULL, DAT_IA_ALL, attr, 0, NULL)))
		CHECK(same_ip(attr->ia_address_ptr, &side_b.addr));
	network("ipv4", "del");
	meet(&side_a, &side_b, &listener, &side_b.addr, &side_a.addr);
}

/* Of the subnet of a VLAN, which only the VLAN's device reaches. */
static void on_vlan(void)
{
	struct sockaddr_storage to = ipv4(0x0a090502), from = ipv4(0x0a090501);
	struct listener listener = {};

	if (run_command("/run/kdapl-addresses vlan add") == NO_VLANS) {
		note("this kernel has no VLANs");
		return;
	}
	listen_on(&side_b, &listener);
	meet(&side_a, &side_b, &listener, &to, &from);
	meet(&side_a, &side_b, &listener, &side_b.addr, &side_a.addr);
	network("vlan", "del");
}

static struct sockaddr_storage ipv6(u8 last)
{
	struct sockaddr_storage addr = {};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
	u8 *ip = (u8 *)&in6->sin6_addr;

	in6->sin6_family = AF_INET6;
	ip[0] = 0xfd;
	ip[3] = 9;
	ip[15] = last;
	return addr;
}

static void global_ipv6(void)
{
	struct sockaddr_storage to = ipv6(2), from = ipv6(1);
	struct listener listener = {};

	network("ipv6", "add");
	listen_on(&side_b, &listener);
	meet(&side_a, &side_b, &listener, &to, &from);
	/* The other family is listened on as well. */
	meet(&side_a, &side_b, &listener, &side_b.addr, &side_a.addr);
	network("ipv6", "del");
}

/* Nobody is at a link-local address of a link that the port is not on. */
static void wrong_link(struct node *a, struct sockaddr_storage to,
		       DAT_CONN_QUAL qual)
{
	((struct sockaddr_in6 *)&to)->sin6_scope_id = 1;
	if (connect_to(a, &to, qual))
		want_conn(a->conn, a->ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void link_local_hosts(struct side *a, struct side *b)
{
	const struct sockaddr_in6 *from = (struct sockaddr_in6 *)&a->addr;
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)&b->addr;
	struct listener listener = {};
	struct node node = {};

	CHECK_EQ(from->sin6_family, AF_INET6);
	CHECK(from->sin6_scope_id && to->sin6_scope_id);
	listen_on(b, &listener);
	/* The link of either host has a number of its own there. */
	to->sin6_scope_id = 0;
	meet(a, b, &listener, &b->addr, &a->addr);
	to->sin6_scope_id = from->sin6_scope_id;
	meet(a, b, &listener, &b->addr, &a->addr);
	if (node_new(&node, a, THREE_EVDS, NULL))
		wrong_link(&node, b->addr, listener.qual);
}

static void link_local_only(void)
{
	struct side *a = scenario_alloc(sizeof(*a));
	struct side *b = scenario_alloc(sizeof(*b));

	if (!a || !b)
		return;
	a->name = side_is_iwarp(&side_a) ? "siw2-1" : "rxe2-1";
	b->name = side_is_iwarp(&side_a) ? "siw3-1" : "rxe3-1";
	network("link-local", "add");
	if (side_open(a) && side_open(b))
		link_local_hosts(a, b);
	side_close(a, DAT_CLOSE_ABRUPT_FLAG);
	side_close(b, DAT_CLOSE_ABRUPT_FLAG);
	network("link-local", "del");
}

static const struct scenario scenarios[] = {
	SCENARIO("P86 C22 P41 I21 a second address comes and goes", second_ipv4),
	SCENARIO_IB("P86 C22 P41 an address of a VLAN", on_vlan),
	SCENARIO("P86 C22 P41 an IPv6 address", global_ipv6),
	SCENARIO("P86 C22 C9 P41 I23 hosts with link-local addresses alone",
		 link_local_only),
};

SCENARIO_TABLE(address_table);
