// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection zones and memory regions in passthrough. The kernel has an object for each zone,
 * because EPs and SRQs name it, but knows nothing of LMRs. The checks are a copy of those of
 * kdapl/core/lmr.c, in its order, since a program must not see the difference.
 *
 * LMRs lie in a table that posts index by the lmr_context. The table is so long that every
 * context leads into it, and it is never given back. So a post can look at an entry that is being
 * freed: it finds another context there than its own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "passthrough.h"

struct pass_lmr *pass_lmrs;

/*
 * An entry is used again when so many others have become free after it, or when the table is full.
 * After 4096 uses of an entry its generation begins anew. So a context names another LMR only when
 * some 16 million others have been freed since its own (RULING 54).
 */
#define LMRS_KEPT	4096u
#define LMRS_PIECE	1024u	/* made writable at a time; a part of PASS_LMRS */

/* The list of free entries begins with the one that has been free longest; 0 ends it. */
static struct {
	pthread_mutex_t lock;
	uint32_t used;		/* entries that are or were in use; 0 is never */
	uint32_t ready;		/* entries whose memory is writable */
	uint32_t first_free;
	uint32_t last_free;
	uint32_t nr_free;
} lmr_table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Makes more entries writable; the lock is held. */
static bool lmrs_grow(void)
{
	if (lmr_table.ready == PASS_LMRS ||
	    mprotect(&pass_lmrs[lmr_table.ready], LMRS_PIECE * sizeof(*pass_lmrs),
		     PROT_READ | PROT_WRITE))
		return false;
	lmr_table.ready += LMRS_PIECE;
	return true;
}

/* pass_lmrs_init - reserve the table; false if there is no room for it */
bool pass_lmrs_init(void)
{
	bool made;

	pthread_mutex_lock(&lmr_table.lock);
	if (!pass_lmrs)
		pass_lmrs = shim_reserve(PASS_LMRS * sizeof(*pass_lmrs));
	made = pass_lmrs && (lmr_table.ready || lmrs_grow());
	/*
	 * Entry 0 is never used, so no context must be found there. This value leads to another
	 * entry, so it is equal to no context that leads to entry 0.
	 */
	if (made)
		atomic_store(&pass_lmrs[0].context, PASS_LMR_PLACE);
	pthread_mutex_unlock(&lmr_table.lock);
	return made;
}

/* pass_lmrs_child - in a child of fork(): another thread of the parent may have had the lock */
void pass_lmrs_child(void)
{
	pthread_mutex_init(&lmr_table.lock, NULL);
}

/* Takes the entry that has been free longest; 0 if there is none. The lock is held. */
static uint32_t reuse_free(void)
{
	uint32_t nr = lmr_table.first_free;

	if (nr) {
		lmr_table.first_free = pass_lmrs[nr].next_free;
		lmr_table.nr_free--;
	}
	return nr;
}

/* An entry of the table that is not in use, with a new generation; or NULL. */
static struct pass_lmr *lmr_alloc(void)
{
	struct pass_lmr *lmr = NULL;
	uint32_t nr;

	pthread_mutex_lock(&lmr_table.lock);
	if (lmr_table.nr_free <= LMRS_KEPT &&
	    (lmr_table.used + 1 < lmr_table.ready || lmrs_grow()))
		nr = ++lmr_table.used;
	else
		nr = reuse_free();
	if (nr) {
		lmr = &pass_lmrs[nr];
		lmr->generation++;
	}
	pthread_mutex_unlock(&lmr_table.lock);
	return lmr;
}

static void lmr_give_back(struct pass_lmr *lmr)
{
	uint32_t nr = lmr - pass_lmrs;

	pthread_mutex_lock(&lmr_table.lock);
	lmr->next_free = 0;
	if (lmr_table.first_free)
		pass_lmrs[lmr_table.last_free].next_free = nr;
	else
		lmr_table.first_free = nr;
	lmr_table.last_free = nr;
	lmr_table.nr_free++;
	pthread_mutex_unlock(&lmr_table.lock);
}

/* ---- zones ------------------------------------------------------------- */

/*
 * Where an iWARP device wants a segment although no bytes are transferred (pass_no_bytes()), the
 * segment has to have a valid key, so this byte is registered for it. It is registered for remote
 * write as well, but nobody reads it.
 */
static char nothing;

/*
 * pass_pz_drop - free a zone and its objects of the device
 *
 * If the device keeps them, because it has not let go of something in the zone, nobody can use them
 * any more.
 */
void pass_pz_drop(struct pass_pz *pz)
{
	if (pz->nothing)
		ibv_dereg_mr(pz->nothing);
	if (pz->pd)
		ibv_dealloc_pd(pz->pd);
	free(pz);
}

static bool pz_open(struct pass_pz *pz, const struct pass_ia *pia)
{
	pz->pd = ibv_alloc_pd(pia->ctx);
	if (!pz->pd || !pia->iwarp)
		return pz->pd;
	pz->nothing = ibv_reg_mr(pz->pd, &nothing, sizeof(nothing),
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return pz->nothing;
}

static DAT_RETURN pz_make(struct shim_object *obj, struct pass_ia *pia)
{
	struct pass_pz *pz = calloc(1, sizeof(*pz));
	int err;

	if (!pz)
		return RET_NO_RESOURCE(MEMORY);
	pz->obj = obj;
	if (!pz_open(pz, pia)) {
		err = errno;
		pass_pz_drop(pz);
		return err == ENOMEM ? RET_NO_RESOURCE(MEMORY) :
				       RET_NO_RESOURCE(PROTECTION_DOMAIN);
	}
	pthread_mutex_lock(&pia->lock);
	pz->next = pia->zones;
	pia->zones = pz;
	pthread_mutex_unlock(&pia->lock);
	atomic_store(&obj->pass, pz);
	return DAT_SUCCESS;
}

DAT_RETURN pass_pz_made(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(IA);
	ret = pz_make(obj, pia);
	pass_ia_put(pia);
	return ret;
}

static void pz_destroy(struct pass_ia *pia, struct pass_pz *pz)
{
	struct pass_pz **link;

	pthread_mutex_lock(&pia->lock);
	for (link = &pia->zones; *link && *link != pz; link = &(*link)->next)
		;
	if (*link)
		*link = pz->next;
	pthread_mutex_unlock(&pia->lock);
	pass_pz_drop(pz);
}

/*
 * The kernel refuses to free a zone while an EP or SRQ of its own uses it. The library refuses
 * while an LMR or RMR does, or the library's half of an EP or SRQ (mt:M3). The lock keeps anybody
 * from using the zone between the two checks.
 */
DAT_RETURN pass_pz_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	struct pass_pz *pz;
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(PZ);
	shim_lock(&obj->lock);
	pz = shim_lives(obj, SHIM_PZ) ? obj->pass : NULL;
	if (!pz)
		ret = RET_BAD_HANDLE(PZ);
	else if (pz->users)
		ret = RET_BAD_STATE(PZ_IN_USE);
	else
		ret = shim_handle_call(KDAPL_IOC_PZ_FREE, obj);
	if (!ret)
		atomic_store(&obj->pass, NULL);
	shim_unlock(&obj->lock);
	if (!ret)
		pz_destroy(pia, pz);
	pass_ia_put(pia);
	return ret;
}

/* pass_pz_use - keep a zone for something that is made in it; NULL if it was freed */
struct pass_pz *pass_pz_use(struct shim_object *obj, uint64_t token)
{
	struct pass_pz *pz;

	shim_lock(&obj->lock);
	pz = shim_is(obj, SHIM_PZ, token) ? obj->pass : NULL;
	if (pz)
		pz->users++;
	shim_unlock(&obj->lock);
	return pz;
}

void pass_pz_unuse(struct pass_pz *pz)
{
	shim_lock(&pz->obj->lock);
	pz->users--;
	shim_unlock(&pz->obj->lock);
}

/* ---- registering ------------------------------------------------------- */

static int access_of(uint32_t privileges)
{
	int access = 0;

	if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IBV_ACCESS_REMOTE_READ;
	/* Verbs refuse remote write and atomics without local write. */
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	if (privileges & KDAPL_MEM_PRIV_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
	return access;
}

/*
 * Pages memory in that uverbs could not have, to find out what is wrong with it: uverbs returns the
 * same errno for memory that is not there and for memory that cannot be written. Before Linux 6.3
 * it also does so where it would have to wait for the process's own pager (userfaultfd); then
 * nothing is wrong, and the memory is there now. It has compared the length with the limit of
 * locked memory before, so not more is paged in than the process may lock.
 *
 * Return: DAT_SUCCESS if nothing is found. Kernels before 5.14 do not have this advice of
 * madvise(2); there only the answer of uverbs is left.
 */
static DAT_RETURN page_in(uint64_t start, uint64_t length, uint32_t privileges)
{
	bool write = access_of(privileges) & IBV_ACCESS_LOCAL_WRITE;
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t first = start & ~(page - 1);
	uint64_t bytes = ((start + length + page - 1) & ~(page - 1)) - first;
	void *memory = (void *)(uintptr_t)first;

	if (!madvise(memory, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return DAT_SUCCESS;
	switch (errno) {
	case EFAULT:
		return RET_BAD_ARG(3);
	case ENOMEM:
		return madvise(memory, bytes, MADV_NORMAL) ?
		       RET_BAD_ARG(3) : RET_NO_RESOURCE(MEMORY);
	case EINVAL:
		/* If it can be read, it is the right to write that is missing (mt:M8). */
		return write && !madvise(memory, bytes, MADV_POPULATE_READ) ?
		       RET_BAD_ARG(6) : DAT_SUCCESS;
	default:
		return DAT_SUCCESS;
	}
}

static DAT_RETURN reg_failed(int error)
{
	switch (error) {
	case EFAULT:
		return RET_BAD_ARG(3);
	case EACCES:
		return RET_BAD_ARG(6);
	case E2BIG:
		return RET_BAD_ARG(4);
	case ENOMEM:
	case EPERM:
		return RET_NO_RESOURCE(MEMORY);
	default:
		return RET_NO_RESOURCE(MEMORY_REGION);
	}
}

/*
 * pass_reg - register memory
 * @privileges: DAT_MEM_PRIV_*
 *
 * Return: as dat_lmr_create(), for the memory and the rights.
 */
DAT_RETURN pass_reg(struct pass_ia *pia, struct ibv_pd *pd, uint64_t start,
		    uint64_t length, uint32_t privileges, struct ibv_mr **mr)
{
	int access = access_of(privileges);

	if (pass_has_windows(pia, privileges))
		access |= IBV_ACCESS_MW_BIND;
	*mr = ibv_reg_mr(pd, (void *)(uintptr_t)start, length, access);
	return *mr ? DAT_SUCCESS : reg_failed(errno);
}

/* ---- LMRs -------------------------------------------------------------- */

/*
 * Could a process have this memory at all? The same as kdapl_user_range(): the upper half of the
 * addresses is the kernel's, except in a 32-bit process.
 */
static bool user_range(uint64_t start, uint64_t length)
{
	return start <= UINTPTR_MAX && length <= UINTPTR_MAX - start &&
	       (UINTPTR_MAX == UINT32_MAX || start + length <= (UINT64_MAX >> 1) + 1);
}

/* Checks the arguments in their order (E3). */
static DAT_RETURN check_args(const struct pass_ia *pia,
			     const struct kdapl_uapi_lmr_create *arg,
			     uint64_t start, uint64_t length)
{
	switch (arg->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		break;
	default:
		return RET_BAD_ARG(2);
	}
	if (!length || length - 1 > UINT64_MAX - start || length > pia->max_region)
		return RET_BAD_ARG(4);
	if (arg->privileges & ~KDAPL_LMR_PRIVILEGES)
		return RET_BAD_ARG(6);
	if (arg->privileges & KDAPL_MEM_PRIV_ATOMIC && !(pia->extensions & KDAPL_CAN_ATOMIC))
		return RET(MODEL_NOT_SUPPORTED);
	return user_range(start, length) ? DAT_SUCCESS : RET_BAD_ARG(3);
}

/*
 * What posts may have the device write into an LMR. mt:T35: on iWARP the data of an RDMA read
 * arrives like a write of the peer, which uses the key of the local memory; so that has to allow
 * remote write.
 */
static uint32_t sinks_of(const struct pass_ia *pia, uint32_t privileges)
{
	if (!(privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return 0;
	if (pia->iwarp && !(privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return KDAPL_SINK_RECV;
	return KDAPL_SINK_RECV | KDAPL_SINK_READ;
}

static uint32_t context_of(const struct pass_lmr *lmr)
{
	uint32_t place = (char *)lmr - (char *)pass_lmrs;
	uint32_t low = lmr->generation % sizeof(*lmr);

	return (lmr->generation - low) * PASS_LMRS | place | low;
}

/* Makes the object of an LMR, and sets its context, so that posts find it from here on. */
static DAT_RETURN lmr_publish(struct kdapl_uapi_lmr_create *arg, struct pass_lmr *lmr,
			      struct shim_object *pz, struct shim_lmr *body,
			      struct shim_object **lmrp)
{
	uint32_t context = context_of(lmr);
	struct shim_object *obj;

	obj = shim_object_new(SHIM_LMR, pz->ia, body);
	if (!obj)
		return RET_NO_RESOURCE(MEMORY);
	atomic_store(&obj->pass, lmr);
	atomic_store_explicit(&lmr->context, context, memory_order_release);
	arg->lmr_context = context;
	arg->rmr_context = arg->privileges & KDAPL_REMOTE_PRIVILEGES ? lmr->mr->rkey : 0;
	arg->registered_size = lmr->length;
	arg->registered_address = lmr->start;
	*lmrp = obj;
	return DAT_SUCCESS;
}

static DAT_RETURN lmr_make(struct kdapl_uapi_lmr_create *arg, struct pass_ia *pia,
			   struct shim_object *pz, struct pass_pz *zone,
			   struct shim_lmr *body, uint64_t start, uint64_t length,
			   struct shim_object **lmrp)
{
	struct pass_lmr *lmr = lmr_alloc();
	DAT_RETURN ret;

	if (!lmr)
		return RET_NO_RESOURCE(MEMORY);
	ret = pass_reg(pia, zone->pd, start, length, arg->privileges, &lmr->mr);
	if (!ret) {
		lmr->sinks = sinks_of(pia, arg->privileges);
		lmr->start = start;
		lmr->length = length;
		lmr->lkey = lmr->mr->lkey;
		lmr->privileges = arg->privileges;
		lmr->mem_type = arg->mem_type;
		lmr->pz = zone;
		atomic_store(&lmr->ia, pz->ia);
		atomic_store(&lmr->users, 0);
		ret = lmr_publish(arg, lmr, pz, body, lmrp);
		if (ret)
			ibv_dereg_mr(lmr->mr);
	}
	if (ret)
		lmr_give_back(lmr);
	/*
	 * A close of the IA at the same time has either seen the LMR, or is seen here. The close
	 * kills the object in both cases.
	 */
	if (!ret && atomic_load(&pia->closing))
		pass_lmr_close(*lmrp);
	return ret;
}

/* The zone is in use only here, not while page_in() waits for the memory. */
static DAT_RETURN lmr_make_in(struct kdapl_uapi_lmr_create *arg, struct pass_ia *pia,
			      struct shim_object *pz, struct shim_lmr *body,
			      uint64_t start, uint64_t length,
			      struct shim_object **lmrp)
{
	struct pass_pz *zone = pass_pz_use(pz, arg->pz);
	DAT_RETURN ret;

	if (!zone)
		return RET_BAD_HANDLE(PZ);
	ret = lmr_make(arg, pia, pz, zone, body, start, length, lmrp);
	if (ret)
		pass_pz_unuse(zone);
	return ret;
}

/*
 * Registers first, and pages in only what uverbs has found missing. Uverbs compares the length with
 * the limits before it touches the memory; so a process that asks for too much keeps what it has.
 */
static DAT_RETURN lmr_make_there(struct kdapl_uapi_lmr_create *arg, struct pass_ia *pia,
				 struct shim_object *pz, struct shim_lmr *body,
				 uint64_t start, uint64_t length,
				 struct shim_object **lmrp)
{
	DAT_RETURN ret = lmr_make_in(arg, pia, pz, body, start, length, lmrp);

	if (ret != reg_failed(EFAULT))
		return ret;
	ret = page_in(start, length, arg->privileges);
	return ret ? ret : lmr_make_in(arg, pia, pz, body, start, length, lmrp);
}

/*
 * Where the memory of another LMR is. Return: false if there is no such LMR on that IA. The lock
 * keeps the LMR from being freed, after which its entry of the table may belong to another one.
 */
static bool region_of(DAT_LMR_HANDLE handle, const struct shim_object *ia,
		      uint64_t *start, uint64_t *length)
{
	struct shim_object *obj = shim_find(handle, SHIM_LMR);
	const struct pass_lmr *lmr = NULL;

	if (!obj)
		return false;
	shim_lock(&obj->lock);
	if (shim_lives(obj, SHIM_LMR) && obj->ia == ia)
		lmr = obj->pass;
	if (lmr) {
		*start = lmr->start;
		*length = lmr->length;
	}
	shim_unlock(&obj->lock);
	return lmr;
}

/*
 * To page memory in may take for ever if the process is its own pager (userfaultfd). Meanwhile
 * other threads may free the zone or close the IA; the reference of @pia keeps the context until
 * this returns.
 */
DAT_RETURN pass_lmr_create(struct kdapl_uapi_lmr_create *arg, struct shim_object *pz,
			   struct shim_lmr *body, struct shim_object **lmrp)
{
	uint64_t start = arg->region, length = arg->length;
	struct shim_object *ia = shim_by_token(arg->ia);
	struct pass_ia *pia;
	DAT_RETURN ret;

	if (arg->mem_type == DAT_MEM_TYPE_LMR &&
	    !region_of(body->region.for_lmr_handle, ia, &start, &length))
		return RET_BAD_HANDLE(LMR);
	pia = ia && pz->ia == ia ? pass_ia_get(ia) : NULL;
	if (!pia)
		return RET_BAD_HANDLE(PZ);
	ret = check_args(pia, arg, start, length);
	if (!ret)
		ret = pass_ia_refusal(pia);
	if (!ret)
		ret = lmr_make_there(arg, pia, pz, body, start, length, lmrp);
	pass_ia_put(pia);
	return ret;
}

DAT_RETURN pass_lmr_query(struct shim_object *obj, struct kdapl_uapi_lmr_query *arg)
{
	DAT_RETURN ret = RET_BAD_HANDLE(LMR);
	const struct pass_lmr *lmr;

	shim_lock(&obj->lock);
	lmr = shim_lives(obj, SHIM_LMR) ? atomic_load(&obj->pass) : NULL;
	if (lmr) {
		arg->ia = shim_token(obj->ia);
		arg->pz = shim_token(lmr->pz->obj);
		arg->mem_type = lmr->mem_type;
		arg->length = lmr->length;
		arg->privileges = lmr->privileges;
		arg->lmr_context = context_of(lmr);
		arg->rmr_context = lmr->privileges & KDAPL_REMOTE_PRIVILEGES ?
				   lmr->mr->rkey : 0;
		arg->registered_size = lmr->length;
		arg->registered_address = lmr->start;
		ret = DAT_SUCCESS;
	}
	shim_unlock(&obj->lock);
	return ret;
}

/* pass_lmr_use - keep an LMR from being freed; false if it is being freed */
bool pass_lmr_use(struct pass_lmr *lmr)
{
	int users = atomic_load(&lmr->users);

	while (users >= 0)
		if (atomic_compare_exchange_weak(&lmr->users, &users, users + 1))
			return true;
	return false;
}

void pass_lmr_unuse(struct pass_lmr *lmr)
{
	atomic_fetch_sub(&lmr->users, 1);
}

/*
 * Takes the LMR off its object, so that only one caller gets it and frees it. @force: the IA is
 * being closed, so it does not matter whether the LMR is in use.
 */
static DAT_RETURN lmr_take(struct shim_object *obj, bool force, struct pass_lmr **lmrp)
{
	DAT_RETURN ret = RET_BAD_HANDLE(LMR);
	struct pass_lmr *lmr;
	int none = 0;

	shim_lock(&obj->lock);
	lmr = obj->pass;
	if (lmr && !force && !atomic_compare_exchange_strong(&lmr->users, &none, -1)) {
		ret = RET_BAD_STATE(LMR_IN_USE);
	} else if (lmr) {
		atomic_store(&obj->pass, NULL);
		ret = DAT_SUCCESS;
	}
	shim_unlock(&obj->lock);
	*lmrp = lmr;
	return ret;
}

/* After this no new post finds the LMR, and pass_lmr_invalidated() does not look at it. */
static void lmr_hide(struct pass_lmr *lmr)
{
	pthread_mutex_lock(&lmr_table.lock);
	atomic_store(&lmr->context, 0);
	pthread_mutex_unlock(&lmr_table.lock);
}

static DAT_RETURN dereg_failed(int error)
{
	switch (error) {
	case EBUSY:
		return RET_BAD_STATE(LMR_IN_USE);
	case ENOMEM:
		return RET_NO_RESOURCE(MEMORY);
	default:
		return RET(INTERNAL_ERROR);
	}
}

/*
 * Undoes lmr_take() and lmr_hide(), since the device has the memory as before. @context: what posts
 * found it by; 0 if a peer has taken its key away.
 */
static void lmr_keep(struct shim_object *obj, struct pass_ia *pia, struct pass_lmr *lmr,
		     uint32_t context)
{
	shim_lock(&obj->lock);
	atomic_store(&lmr->users, 0);
	atomic_store(&obj->pass, lmr);
	atomic_store_explicit(&lmr->context, context, memory_order_release);
	shim_unlock(&obj->lock);
	/* A close of the IA at the same time has either seen the LMR, or is seen here. */
	if (atomic_load(&pia->closing))
		pass_lmr_close(obj);
}

/*
 * When the context has been changed no new post finds the LMR. Posts that have found it before are
 * waited for, because they have its key (mt:T12).
 */
static DAT_RETURN lmr_free(struct shim_object *obj, struct pass_ia *pia)
{
	uint32_t lkey, context;
	struct pass_lmr *lmr;
	DAT_RETURN ret;
	int err;

	ret = lmr_take(obj, false, &lmr);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE) {
		pass_fence_binds(pia);
		ret = lmr_take(obj, false, &lmr);
	}
	if (ret)
		return ret;
	lkey = lmr->lkey;
	context = atomic_load(&lmr->context);
	lmr_hide(lmr);
	pass_fence_posts(pia);
	err = ibv_dereg_mr(lmr->mr);
	if (!pass_let_go(err)) {
		lmr_keep(obj, pia, lmr, context);
		return dereg_failed(err);
	}
	if (pia->hints & KDAPL_VERBS_MUTE_FAULTS)
		pass_fence_key(pia, lkey);
	pass_pz_unuse(lmr->pz);
	lmr_give_back(lmr);
	return DAT_SUCCESS;
}

DAT_RETURN pass_lmr_free(struct shim_object *obj)
{
	struct pass_ia *pia = pass_ia_get(obj);
	DAT_RETURN ret;

	if (!pia)
		return RET_BAD_HANDLE(LMR);
	ret = lmr_free(obj, pia);
	pass_ia_put(pia);
	return ret;
}

/* pass_lmr_close - its IA is closed, and nobody posts any more */
void pass_lmr_close(struct shim_object *obj)
{
	struct pass_lmr *lmr;

	if (lmr_take(obj, true, &lmr))
		return;
	lmr_hide(lmr);
	ibv_dereg_mr(lmr->mr);
	lmr_give_back(lmr);
}

/*
 * pass_lmr_invalidated - a peer's send has taken the key of an LMR away (mt:M81)
 *
 * The LMR is not found any more, so posts that name it are refused. If such a post got to a queue
 * pair it would break that connection, too. While the table is locked, no LMR that has its context
 * is deregistered (lmr_hide()).
 */
void pass_lmr_invalidated(struct pass_ia *pia, uint32_t key)
{
	uint32_t nr;

	pthread_mutex_lock(&lmr_table.lock);
	for (nr = 1; nr <= lmr_table.used; nr++) {
		struct pass_lmr *lmr = &pass_lmrs[nr];

		if (atomic_load(&lmr->context) && lmr->mr->context == pia->ctx &&
		    (lmr->mr->rkey == key || lmr->lkey == key))
			atomic_store(&lmr->context, 0);
	}
	pthread_mutex_unlock(&lmr_table.lock);
}

/*
 * Only checks the arguments. There is nothing to synchronize, since the kernel maps a region of
 * uverbs for the device, coherently wherever the library may use it at all.
 */
DAT_RETURN pass_lmr_sync(struct shim_object *ia, struct kdapl_uapi_lmr_sync *arg)
{
	const DAT_LMR_TRIPLET *segments = (const void *)(uintptr_t)arg->segments;
	const struct pass_lmr *lmr;
	struct pass_ia *pia;
	DAT_RETURN ret;
	uint64_t i;

	for (i = 0; i < arg->number; i++) {
		lmr = pass_lmr_find_on(ia, segments[i].lmr_context);
		if (!lmr || !pass_lmr_inside(lmr, segments[i].virtual_address,
					     segments[i].segment_length))
			return RET_BAD_ARG(2);
	}
	pia = pass_ia_get(ia);
	if (!pia)
		return RET_BAD_HANDLE(IA);
	ret = pass_ia_refusal(pia);
	pass_ia_put(pia);
	return ret;
}
