// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer by DAT 2.0, on whatever libdat2.so.2 is found and whatever provider dat.conf names.
 * usage: peer [-k] IA             a server, for one client
 *        peer [-k] IA ADDRESS     a client
 *        peer -n IA               opens and closes it 400 times, with 50 descriptors to be had
 *   -k   the provider is kdapl
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>
#include "peer.h"

#define OPENS		400
#define DESCRIPTORS	50

static bool kdapl;

void say(const char *what, unsigned int number)
{
	fprintf(stderr, "peer: %s: %#x\n", what, number);
}

DAT_RETURN port_evd(DAT_IA_HANDLE ia, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(ia, 16, DAT_HANDLE_NULL, flags, evd);
}

DAT_RETURN port_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *memory, DAT_LMR_HANDLE *lmr,
		    DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN length;

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * PEER_LONGEST, pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			      DAT_VA_TYPE_VA, lmr, context, &rmr_context, &length, &address);
}

DAT_RETURN port_reject(DAT_CR_HANDLE cr, DAT_COUNT size, void *data)
{
	return dat_cr_reject(cr, size, data);
}

bool port_wait(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT more;

	return !dat_evd_wait(evd, 60000000, 1, event, &more);
}

bool port_address(const char *text, struct sockaddr_in *address)
{
	return inet_pton(AF_INET, text, &address->sin_addr) == 1;
}

bool port_is_kdapl(void)
{
	return kdapl;
}

unsigned char *port_memory(void)
{
	return calloc(2, PEER_LONGEST);
}

void port_free(unsigned char *memory)
{
	free(memory);
}

static int opens(const char *name)
{
	const struct rlimit few = { DESCRIPTORS, DESCRIPTORS };
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int i;

	setrlimit(RLIMIT_NOFILE, &few);
	for (i = 0; i < OPENS; i++) {
		async = DAT_HANDLE_NULL;
		ret = dat_ia_open((DAT_NAME_PTR)name, 8, &async, &ia);
		if (!ret)
			ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
		if (ret) {
			say("an open or a close", ret);
			say("so many were before", i);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool well;

	if (argc == 3 && !strcmp(argv[1], "-n"))
		return opens(argv[2]);
	kdapl = argc > 1 && !strcmp(argv[1], "-k");
	argc -= kdapl;
	argv += kdapl;
	if (argc < 2 || argc > 3)
		return 2;
	well = argc == 2 ? peer_serve(argv[1]) : peer_call(argv[1], argv[2]);
	if (!kdapl)
		_exit(!well);	/* as dat_ia_close() is not called, either */
	return !well;
}
