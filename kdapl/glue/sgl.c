// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Scatterlists of kernel consumers that are mapped for one transfer: the operations map,
 * unmap and zone_key of kdapl_ib_mr_ops, called by core/fmr.c and lmr.c.  For local use
 * nothing is registered: work requests name the DMA addresses with the local DMA key of the
 * protection domain.  To show the list to a peer there are windows (window.c).
 */
#include "mr.h"

/* kdapl_mr_ops.map */
int kdapl_sgl_map(struct kdapl_device *dev, struct kdapl_list *list)
{
	int n = ib_dma_map_sg(dev->ib, list->sg, list->entries, list->direction);

	return n ? 0 : -ENOMEM;
}

/* kdapl_mr_ops.unmap */
void kdapl_sgl_unmap(struct kdapl_device *dev, const struct kdapl_list *list)
{
	ib_dma_unmap_sg(dev->ib, list->sg, list->entries, list->direction);
}

/* kdapl_mr_ops.zone_key */
u32 kdapl_zone_key(struct kdapl_zone *zone)
{
	return zone->pd->local_dma_lkey;
}
