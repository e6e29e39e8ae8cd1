// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common Service Points: a service point at a port of sockets. A connection qualifier is such a
 * port (RULING 47), so for the kernel a CSP is a PSP whose consumer brings the endpoints. The
 * object has another type, and keeps what dat_csp_query() shows (RULING 63).
 */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define SHIM_CSP	LIVE(DAT_HANDLE_TYPE_CSP)

/* The body of a CSP */
struct csp {
	DAT_COMM comm;
	struct sockaddr_storage address;
};

static bool is_supported(const DAT_COMM *comm, const struct sockaddr *address)
{
	return (comm->domain == AF_INET || comm->domain == AF_INET6) &&
	       comm->domain == address->sa_family && comm->type == SOCK_STREAM &&
	       (comm->protocol == 0 || comm->protocol == IPPROTO_TCP);
}

/* The port of an IPv4 or IPv6 address, in network byte order. */
static in_port_t *port_of(struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port :
					       &((struct sockaddr_in6 *)address)->sin6_port;
}

/* Makes the PSP; port 0 asks for one that is free, which is noted in @body. */
static DAT_RETURN listen_at(DAT_IA_HANDLE ia, DAT_EVD_HANDLE evd, struct csp *body,
			    DAT_PSP_HANDLE *psp)
{
	DAT_CONN_QUAL qual = ntohs(*port_of(&body->address));
	DAT_RETURN ret;

	if (qual)
		ret = own_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, psp);
	else
		ret = own_psp_create_any(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, psp);
	*port_of(&body->address) = htons(qual);
	return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ? RET(PORT_IN_USE) : ret;
}

/*
 * Makes a CSP of the PSP, unless that has died meanwhile, because another thread has closed its IA:
 * then it must not come to life again.
 */
static bool turn_into_csp(struct shim_object *obj, struct csp *body)
{
	uint_least32_t type = SHIM_PSP;
	bool live;

	shim_lock(&obj->lock);
	live = atomic_compare_exchange_strong(&obj->type, &type, SHIM_CSP);
	if (live)
		obj->body = body;
	shim_unlock(&obj->lock);
	return live;
}

/*
 * dat_csp_create - listen at a port
 * @ia_handle: an IA
 * @comm: AF_INET or AF_INET6, SOCK_STREAM, and IPPROTO_TCP or 0
 * @address: of that family; its port, or 0 for one that is free
 * @evd_handle: for DAT_CONNECTION_REQUEST_EVENT
 * @csp_handle: out
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE/IA, /EVD_CR; DAT_INVALID_PARAMETER/ARG2, /ARG3, /ARG5
 * for null pointers; DAT_COMM_NOT_SUPPORTED; DAT_PORT_IN_USE; DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN own_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			  DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_handle)
{
	struct kdapl_uapi_addr given = { 0 };
	DAT_PSP_HANDLE psp;
	struct csp *body;
	DAT_RETURN ret;

	if (!shim_find(ia_handle, SHIM_IA))
		return RET_BAD_HANDLE(IA);
	if (!shim_find(evd_handle, SHIM_EVD))
		return RET_BAD_HANDLE(EVD_CR);
	if (!comm)
		return RET_BAD_ARG(2);
	if (!address)
		return RET_BAD_ARG(3);
	if (!csp_handle)
		return RET_BAD_ARG(5);
	if (!is_supported(comm, address) || !shim_addr_in(&given, address))
		return RET(COMM_NOT_SUPPORTED);
	body = calloc(1, sizeof(*body));
	if (!body)
		return RET_NO_RESOURCE(MEMORY);
	body->comm = *comm;
	shim_addr_out(&body->address, &given);
	ret = listen_at(ia_handle, evd_handle, body, &psp);
	if (ret) {
		free(body);
		return ret;
	}
	if (!turn_into_csp(psp, body)) {
		free(body);
		return RET_BAD_HANDLE(IA);
	}
	*csp_handle = psp;
	return DAT_SUCCESS;
}

/* dat_csp_query - what @comm and @address point to stays until the CSP is freed */
DAT_RETURN own_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param)
{
	struct shim_object *csp = shim_find(csp_handle, SHIM_CSP);
	struct kdapl_uapi_psp_query arg = { .mask = DAT_PSP_FIELD_ALL };
	struct csp *body;
	DAT_RETURN ret;

	if (!csp)
		return RET_BAD_HANDLE(CSP);
	if (csp_param_mask & ~DAT_CSP_FIELD_ALL)
		return RET_BAD_ARG(2);
	if (!csp_param)
		return RET_BAD_ARG(3);
	arg.psp = shim_token(csp);
	ret = shim_ioctl(KDAPL_IOC_PSP_QUERY, &arg, RET_BAD_ARG(2));
	if (ret)
		return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE ? RET_BAD_HANDLE(CSP) : ret;
	shim_lock(&csp->lock);
	body = csp->body;
	if (body) {
		csp_param->ia_handle = shim_ia_shown(arg.ia);
		csp_param->evd_handle = shim_handle(arg.evd);
		csp_param->comm = &body->comm;
		csp_param->address_ptr = (DAT_IA_ADDRESS_PTR)&body->address;
	}
	shim_unlock(&csp->lock);
	return body ? DAT_SUCCESS : RET_BAD_HANDLE(CSP);
}

/* dat_csp_free - stop listening; requests that have arrived stay */
DAT_RETURN own_csp_free(DAT_CSP_HANDLE csp_handle)
{
	struct shim_object *csp = shim_find(csp_handle, SHIM_CSP);
	DAT_RETURN ret;

	if (!csp)
		return RET_BAD_HANDLE(CSP);
	ret = shim_handle_call(KDAPL_IOC_PSP_FREE, csp);
	if (ret)
		return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE ? RET_BAD_HANDLE(CSP) : ret;
	free(shim_object_end(csp));
	return DAT_SUCCESS;
}
