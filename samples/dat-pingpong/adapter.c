// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interface adapters (IAs): which there are, choosing one and opening it, and what to tell a
 * person when that does not work. Called by dat-pingpong.c; server.c and client.c ask whether
 * the adapter is still there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pingpong.h"

static const char device[] = "/dev/kdapl";
static const char advice_on_names[] = "dat-pingpong --list shows the names";

/* fatal - say in one line what failed, and what to do if @advice is not NULL; always 1 */
int fatal(const char *what, DAT_RETURN ret, const char *advice)
{
	char name[128];

	fprintf(stderr, "dat-pingpong: %s: %s%s%s\n", what, ret_name(ret, name, sizeof(name)),
		advice ? ": " : "", advice ? advice : "");
	return 1;
}

/* Why is there no adapter, and what to do about it? */
static const char *advice_on_device(void)
{
	static char text[160];
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return "no RDMA port has an address; `rdma link` shows the devices, and "
		       "`rdma link add rxe0 type rxe netdev eth0` makes one in software";
	}
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		snprintf(text, sizeof(text), "%s is missing; load the module: modprobe kdapl",
			 device);
	else
		snprintf(text, sizeof(text), "%s: %s; its udev rule decides who may use it",
			 device, strerror(errno));
	return text;
}

/*
 * The registry's entries for DAT 1, which the caller frees. NULL if there are none, or if the
 * call fails; @ret says which. A dat.conf may also have entries for DAT 2, which this program
 * cannot open.
 */
static DAT_PROVIDER_INFO *registry(DAT_COUNT *number, DAT_RETURN *ret)
{
	DAT_PROVIDER_INFO *infos, **list;
	DAT_COUNT i, n = 0, found = 0;

	dat_registry_list_providers(0, &n, NULL);
	infos = calloc(n + 1, sizeof(*infos));
	list = calloc(n + 1, sizeof(*list));
	for (i = 0; infos && list && i < n; i++)
		list[i] = &infos[i];
	if (!infos || !list)
		*ret = DAT_INSUFFICIENT_RESOURCES;
	else
		*ret = n ? dat_registry_list_providers(n, &n, list) : DAT_SUCCESS;
	free(list);
	for (i = 0; !*ret && i < n; i++)
		if (infos[i].dapl_version_major == 1)
			infos[found++] = infos[i];
	*number = found;
	if (found)
		return infos;
	free(infos);
	return NULL;
}

/* As registry(), with a message if there are no entries. */
static DAT_PROVIDER_INFO *list_registry(DAT_COUNT *number)
{
	DAT_PROVIDER_INFO *infos;
	DAT_RETURN ret;

	infos = registry(number, &ret);
	if (ret)
		fatal("dat_registry_list_providers", ret, NULL);
	else if (!infos)
		fprintf(stderr, "dat-pingpong: no interface adapters: %s\n", advice_on_device());
	return infos;
}

static bool is_listed(const char *name)
{
	DAT_PROVIDER_INFO *infos;
	DAT_COUNT number, i;
	bool found = false;
	DAT_RETURN ret;

	infos = registry(&number, &ret);
	for (i = 0; i < number && !found; i++)
		found = !strcmp(infos[i].ia_name, name);
	free(infos);
	return found;
}

/* No adapter has the name, or only an entry of dat.conf has it that leads nowhere. */
static const char *advice_on_name(const char *name)
{
	bool usable = !access(device, R_OK | W_OK);
	static char text[320];

	if (!is_listed(name))
		return usable ? advice_on_names : advice_on_device();
	snprintf(text, sizeof(text), "dat.conf has that name, but its library or its adapter is "
		 "missing, DAT_DEBUG=1 says which%s%s", usable ? "" : "; if it is kdapl's: ",
		 usable ? "" : advice_on_device());
	return text;
}

/* Why could the adapter not be opened, and what to do about it? */
static const char *advice_on_open(const char *name, DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_INVALID_PARAMETER:
		return advice_on_names;
	case DAT_PROVIDER_NOT_FOUND:
		switch (DAT_GET_SUBTYPE(ret)) {
		case DAT_MAJOR_NOT_FOUND:
		case DAT_MINOR_NOT_FOUND:
			return "dat.conf has that name for another version of DAT; this program "
			       "needs an entry for u1.2";
		default:
			return advice_on_name(name);
		}
	default:
		return "DAT_DEBUG=1 in the environment says why";
	}
}

/* Writes an IP address as text; nothing if it is none. */
void address_text(const struct sockaddr *address, char *text, size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in = (const void *)address;

	*text = '\0';
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, size);
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &in6->sin6_addr, text, size);
}

/* The provider-specific attribute "mode": whose queues a connection has (dat(7)) */
static const char *mode_of(const DAT_PROVIDER_ATTR *provider)
{
	int i;

	for (i = 0; i < provider->num_provider_specific_attr; i++)
		if (!strcmp(provider->provider_specific_attr[i].name, "mode"))
			return provider->provider_specific_attr[i].value;
	return "-";
}

static void print_adapter(const char *name, const char *address, const char *mode,
			  const char *driver)
{
	printf("%-16s %-40s %-12s %s\n", name, address, mode, driver);
}

/* What there is to know of an adapter */
struct about {
	char address[INET6_ADDRSTRLEN];
	char driver[DAT_NAME_MAX_LENGTH];
	const char *mode;
};

/* Opens an adapter, fills in @about, and closes the adapter. Returns the exit status. */
static int look_at(const char *name, struct about *about)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	ret = dat_ia_open((DAT_NAME_PTR)name, 8, &async_evd, &ia);
	if (ret)
		return fatal(name, ret, advice_on_open(name, ret));
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr,
			   DAT_PROVIDER_FIELD_ALL, &provider);
	if (!ret) {
		address_text(attr.ia_address_ptr, about->address, sizeof(about->address));
		snprintf(about->driver, sizeof(about->driver), "%s", attr.vendor_name);
		about->mode = mode_of(&provider);
	}
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret ? fatal(name, ret, NULL) : 0;
}

/* list_adapters - print a line about each adapter; returns the exit status */
int list_adapters(void)
{
	DAT_PROVIDER_INFO *infos;
	DAT_COUNT number, i;
	struct about about;
	bool heading = false;
	int status = 0;

	infos = list_registry(&number);
	if (!infos)
		return 1;
	for (i = 0; i < number; i++) {
		if (look_at(infos[i].ia_name, &about)) {
			status = 1;
			continue;
		}
		if (!heading)
			print_adapter("IA", "address", "mode", "driver");
		heading = true;
		print_adapter(infos[i].ia_name, about.address, about.mode, about.driver);
	}
	free(infos);
	return status;
}

/* Are these two names of one adapter? */
static bool same_adapter(const struct about *a, const struct about *b)
{
	return !strcmp(a->address, b->address) && !strcmp(a->driver, b->driver);
}

/*
 * choose_adapter - the name of the only adapter that there is; if it has several, the first
 *
 * The name is never freed. NULL, after a message: there is no adapter, or more than one.
 */
const char *choose_adapter(void)
{
	DAT_COUNT number, i, names = 0;
	struct about first, about;
	DAT_PROVIDER_INFO *infos;
	bool one = true;

	infos = list_registry(&number);
	if (!infos)
		return NULL;
	for (i = 0; i < number; i++) {
		if (look_at(infos[i].ia_name, &about))
			continue;
		if (!names)
			first = about;
		else
			one &= same_adapter(&first, &about);
		infos[names++] = infos[i];
	}
	if (names && one)
		return infos[0].ia_name;
	if (names) {
		fprintf(stderr, "dat-pingpong: which adapter? Choose with -i:");
		for (i = 0; i < names; i++)
			fprintf(stderr, " %s", infos[i].ia_name);
		fputc('\n', stderr);
	}
	free(infos);
	return NULL;
}

/* Checks that the adapter has what the options ask for. Returns the exit status. */
static int query(struct adapter *adapter)
{
	const struct options *opt = adapter->opt;
	DAT_PROVIDER_ATTR provider;
	const char *advice = "";
	DAT_RETURN ret;

	ret = dat_ia_query(adapter->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret)
		return fatal("dat_ia_query", ret, NULL);
	adapter->local = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	/* On iWARP the peer writes the data of an RDMA read into our memory. */
	if (provider.rdma_write_for_rdma_read_req)
		adapter->local |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (!opt->srq || provider.srq_supported)
		return 0;
	if (!strcmp(mode_of(&provider), "passthrough"))
		advice = " in passthrough: set KDAPL_MODE=forwarded";
	fprintf(stderr, "dat-pingpong: %s has no shared receive queues%s\n", opt->ia_name,
		advice);
	return 1;
}

/* adapter_open - open the adapter of @opt; returns the exit status, 0: it is open */
int adapter_open(struct adapter *adapter, const struct options *opt)
{
	DAT_RETURN ret;
	int status;

	memset(adapter, 0, sizeof(*adapter));
	adapter->opt = opt;
	ret = dat_ia_open((DAT_NAME_PTR)opt->ia_name, 8, &adapter->async_evd, &adapter->ia);
	if (ret)
		return fatal(opt->ia_name, ret, advice_on_open(opt->ia_name, ret));
	status = query(adapter);
	if (!status) {
		ret = dat_pz_create(adapter->ia, &adapter->pz);
		if (ret)
			status = fatal("dat_pz_create", ret, NULL);
	}
	if (status)
		dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	return status;
}

/* adapter_close - close it; returns the exit status */
int adapter_close(struct adapter *adapter)
{
	DAT_RETURN ret;

	dat_pz_free(adapter->pz);
	ret = dat_ia_close(adapter->ia, DAT_CLOSE_GRACEFUL_FLAG);
	if (!ret)
		return 0;
	dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG);
	return fatal("dat_ia_close", ret, NULL);
}

/* adapter_gone - has the device failed, or been removed, since the last call? */
bool adapter_gone(const struct adapter *adapter)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(adapter->async_evd, &event))
		if (event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
			return true;
	return false;
}
