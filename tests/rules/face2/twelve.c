// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of DAT 2.0 by the arguments that DAT 1.2 has (dat/udat.h beside this file). A bind names
 * its LMR by a handle here, so the handle of each LMR is kept until it is freed.
 */
#define TWELVE_ITSELF
#include <dat/udat.h>
#include <pthread.h>
#include <stdlib.h>

struct named {
	struct named *next;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

static struct named *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The place of argument @places[n - 1] of 2.0 is that of argument n of 1.2. */
static DAT_RETURN replaced(DAT_RETURN ret, const unsigned char *places, unsigned int number)
{
	unsigned int arg = DAT_GET_SUBTYPE(ret) - DAT_INVALID_ARG1 + 1, n;

	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		for (n = 1; n <= number; n++)
			if (places[n - 1] == arg)
				return ret - arg + n;
	return ret;
}

DAT_RETURN twelve_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			     DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			     DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			     DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			     DAT_VADDR *registered_address)
{
	static const unsigned char places[] = { 1, 2, 3, 4, 5, 6, 8, 9, 10 };
	struct named *named = calloc(1, sizeof(*named));
	DAT_LMR_CONTEXT context = 0;
	DAT_RETURN ret;

	ret = dat_lmr_create(ia, type, region, length, pz, privileges, DAT_VA_TYPE_VA, lmr,
			     &context, rmr_context, registered_length, registered_address);
	if (ret) {
		free(named);
		return replaced(ret, places, sizeof(places));
	}
	if (lmr_context)
		*lmr_context = context;
	pthread_mutex_lock(&lock);
	*named = (struct named) { all, *lmr, context };
	all = named;
	pthread_mutex_unlock(&lock);
	return ret;
}

DAT_RETURN twelve_lmr_free(DAT_LMR_HANDLE lmr)
{
	struct named **link, **found = NULL, *named = NULL;
	DAT_RETURN ret = dat_lmr_free(lmr);

	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	/* The oldest one of them: another thread may have got the handle again already. */
	for (link = &all; *link; link = &(*link)->next)
		if ((*link)->lmr == lmr)
			found = link;
	if (found) {
		named = *found;
		*found = named->next;
	}
	pthread_mutex_unlock(&lock);
	free(named);
	return ret;
}

static DAT_LMR_HANDLE named_by(DAT_LMR_CONTEXT context)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	struct named *named;

	pthread_mutex_lock(&lock);
	for (named = all; named; named = named->next)
		if (named->context == context) {
			lmr = named->lmr;
			break;
		}
	pthread_mutex_unlock(&lock);
	return lmr;
}

DAT_RETURN twelve_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	static const unsigned char places[] = { 1, 3, 4, 6, 7, 8, 9 };
	DAT_LMR_HANDLE lmr = triplet ? named_by(triplet->lmr_context) : DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = dat_rmr_bind(rmr, lmr, triplet, privileges, DAT_VA_TYPE_VA, ep, cookie, flags,
			   context);
	/* What names no LMR has no handle, either. */
	if (ret == (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_LMR))
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2;
	return replaced(ret, places, sizeof(places));
}

DAT_RETURN twelve_cr_reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

/* RULING 64: in 2.0 it is not of the class of errors. */
DAT_RETURN twelve_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = dat_evd_dequeue(evd, event);

	return ret == DAT_QUEUE_EMPTY ? DAT_CLASS_ERROR | ret : ret;
}

/* RULING 64 as well */
DAT_RETURN twelve_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret = dat_cno_wait(cno, timeout, evd);

	return ret == DAT_QUEUE_EMPTY ? DAT_CLASS_ERROR | ret : ret;
}
