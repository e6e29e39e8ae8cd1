/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between the kernels that kdat_iser builds for: 6.1, 6.12 and newer. */
#ifndef KDAT_ISER_COMPAT_H
#define KDAT_ISER_COMPAT_H

#include <linux/slab.h>
#include <linux/shrinker.h>	/* in 6.1 needs the header before it */
#include <linux/timer.h>
#include <linux/version.h>

/* The header moved in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/* Renamed in 6.2; the old name is gone since 6.16. */
static inline void kiser_timer_delete_sync(struct timer_list *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	del_timer_sync(timer);
#else
	timer_delete_sync(timer);
#endif
}

/* Since 6.7 the kernel allocates shrinkers; until then their owners did. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline struct shrinker *kiser_shrinker_alloc(const char *name)
{
	return kzalloc(sizeof(struct shrinker), GFP_KERNEL);
}

/* Return: 0 or an errno; then the shrinker is freed. */
static inline int kiser_shrinker_register(struct shrinker *shrinker, const char *name)
{
	int err = register_shrinker(shrinker, "%s", name);

	if (err)
		kfree(shrinker);
	return err;
}

static inline void kiser_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#else
static inline struct shrinker *kiser_shrinker_alloc(const char *name)
{
	return shrinker_alloc(0, "%s", name);
}

static inline int kiser_shrinker_register(struct shrinker *shrinker, const char *name)
{
	shrinker_register(shrinker);
	return 0;
}

static inline void kiser_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#endif

#endif /* KDAT_ISER_COMPAT_H */
