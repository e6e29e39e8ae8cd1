/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What glue/mr.c (regions) and glue/window.c (windows that show parts of them) have
 * in common: the zone, and how a fast-registration MR maps memory.
 */
#ifndef KDAPL_MR_H
#define KDAPL_MR_H

#include "glue.h"
#include "pin.h"
#include "registrar.h"

/**
 * struct kdapl_zone - a protection domain and its registrar
 * @dev: the device it is on
 * @pd: the protection domain
 * @user: it belongs to a process: a process that makes something in it is charged
 * @charge: for @pd
 * @stuck: the device has refused to give an MR back, so it may reach that memory
 *	   as long as the device exists.  From then on no page of the zone is given
 *	   back
 * @registrar: registers memory in @pd
 */
struct kdapl_zone {
	struct kdapl_device *dev;
	struct ib_pd *pd;
	bool user;
	struct kdapl_charge charge;
	bool stuck;
	struct kdapl_registrar registrar;
};

int kdapl_mr_shift(const struct kdapl_device *dev, struct scatterlist *sgl,
		   unsigned int nents, u64 start, u32 max);
int kdapl_mr_charge(struct kdapl_zone *zone, struct kdapl_charge *charge);
void kdapl_mr_uncharge(struct kdapl_zone *zone, struct kdapl_charge *charge);
struct ib_mr *kdapl_mr_alloc(struct kdapl_zone *zone, u32 entries);
void kdapl_mr_dereg(struct kdapl_zone *zone, struct ib_mr *mr);
int kdapl_mr_map(struct ib_mr *mr, struct scatterlist *sgl, unsigned int nents,
		 unsigned int shift, u64 start, u64 length, u8 key);
u32 kdapl_mr_next_key(void);
void kdapl_mr_keys_used(u32 key);
const struct kdapl_pages *kdapl_region_pages(const struct kdapl_region *region);

/* sgl.c and window.c, for the table in mr.c */
int kdapl_sgl_map(struct kdapl_device *dev, struct kdapl_list *list);
void kdapl_sgl_unmap(struct kdapl_device *dev, const struct kdapl_list *list);
u32 kdapl_zone_key(struct kdapl_zone *zone);
struct kdapl_window *kdapl_window_create(struct kdapl_zone *zone, u32 pages);
void kdapl_window_destroy(struct kdapl_window *window);
int kdapl_window_renew(struct kdapl_window *window);
void kdapl_window_empty(struct kdapl_window *window);
int kdapl_window_bind(struct kdapl_window *window, struct kdapl_region *region,
		      u64 start, u64 length, int access,
		      struct kdapl_bind_wr *wr);
int kdapl_window_bind_list(struct kdapl_window *window, const struct kdapl_list *list,
			   int access, struct kdapl_bind_wr *wr);
void kdapl_window_bound(struct kdapl_window *window);
void kdapl_window_taken(struct kdapl_window *window);
void kdapl_window_keys(const struct kdapl_window *window, u32 *keys);

#endif /* KDAPL_MR_H */
