/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What differs between kernels, in sunrpc's server above all.  The only file of this module that
 * tests the kernel's version.
 */
#ifndef _SVCKDAT_COMPAT_H
#define _SVCKDAT_COMPAT_H

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/shrinker.h>	/* in 6.1 needs the header before it */
#include <linux/version.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>

/*
 * The ports of our clients say nothing about who they are, so each one counts as
 * privileged.  Since 6.3 the transport marks the request itself; before, a method did so.
 */
static inline void svckdat_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define SVCKDAT_COMPAT_OPS	.xpo_secure_port = svckdat_secure_port,
#else
#define SVCKDAT_COMPAT_OPS
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
/*
 * A thread has one array of pages.  The pages of the call come first.  The pages of the
 * reply start at rq_respages, and are released up to rq_next_page.
 */
static inline unsigned int svckdat_call_pages(const struct svc_rqst *rqstp)
{
	/* at least two are left for the reply */
	return rqstp->rq_page_end - rqstp->rq_pages - 2;
}

static inline void svckdat_no_reply_pages(struct svc_rqst *rqstp)
{
	rqstp->rq_respages = rqstp->rq_pages;
	rqstp->rq_next_page = rqstp->rq_respages;
}

static inline void svckdat_reply_follows(struct svc_rqst *rqstp, unsigned int pages)
{
	rqstp->rq_respages = &rqstp->rq_pages[pages];
	rqstp->rq_next_page = rqstp->rq_respages;
}

static inline void svckdat_pages_taken(struct svc_rqst *rqstp, unsigned int pages)
{
}

/* The first page of the reply was copied, so the thread may keep it instead of releasing it. */
static inline void svckdat_keep_first_page(struct svc_rqst *rqstp)
{
	rqstp->rq_respages++;
}
#else
/* Call and reply have an array of pages each. */
static inline unsigned int svckdat_call_pages(const struct svc_rqst *rqstp)
{
	return rqstp->rq_maxpages;
}

static inline void svckdat_no_reply_pages(struct svc_rqst *rqstp)
{
}

static inline void svckdat_reply_follows(struct svc_rqst *rqstp, unsigned int pages)
{
}

static inline void svckdat_pages_taken(struct svc_rqst *rqstp, unsigned int pages)
{
	rqstp->rq_pages_nfree = pages;
}

static inline void svckdat_keep_first_page(struct svc_rqst *rqstp)
{
}
#endif

/* Since 6.7 the kernel allocates shrinkers; until then their owners did. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline struct shrinker *svckdat_shrinker_alloc(const char *name)
{
	return kzalloc(sizeof(struct shrinker), GFP_KERNEL);
}

/* Return: 0 or an errno; then the shrinker is freed. */
static inline int svckdat_shrinker_register(struct shrinker *shrinker, const char *name)
{
	int err = register_shrinker(shrinker, "%s", name);

	if (err)
		kfree(shrinker);
	return err;
}

static inline void svckdat_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#else
static inline struct shrinker *svckdat_shrinker_alloc(const char *name)
{
	return shrinker_alloc(0, "%s", name);
}

static inline int svckdat_shrinker_register(struct shrinker *shrinker, const char *name)
{
	shrinker_register(shrinker);
	return 0;
}

static inline void svckdat_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#endif

#endif /* _SVCKDAT_COMPAT_H */
