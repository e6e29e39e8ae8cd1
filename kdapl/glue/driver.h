/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is known of particular drivers: one function for each fact, which tells by the driver of
 * the device.  For the other files of the glue.
 */
#ifndef KDAPL_DRIVER_H
#define KDAPL_DRIVER_H

#include <linux/types.h>

struct ib_device;

/* Memory */
bool kdapl_driver_takes_iova(const struct ib_device *ib);
u64 kdapl_driver_page_sizes(const struct ib_device *ib);
u32 kdapl_driver_frmr_pages(const struct ib_device *ib);
bool kdapl_driver_overreads(const struct ib_device *ib);
bool kdapl_driver_pins(const struct ib_device *ib);
bool kdapl_driver_only(const struct ib_device *ib);
bool kdapl_driver_binds(const struct ib_device *ib);
bool kdapl_driver_registers_twice(const struct ib_device *ib);

/* Completion queues and queue pairs */
bool kdapl_driver_never_solicited(const struct ib_device *ib);
bool kdapl_driver_leaves_tasklet(const struct ib_device *ib);
bool kdapl_driver_mute_faults(const struct ib_device *ib);
bool kdapl_driver_puts_aside(const struct ib_device *ib);
bool kdapl_driver_immed(const struct ib_device *ib, bool iwarp);
bool kdapl_driver_posts_atomics(const struct ib_device *ib);
bool kdapl_driver_user_qp(const struct ib_device *ib, u32 *hints);

/* Shared receive queues */
bool kdapl_driver_srq_safe(const struct ib_device *ib);
bool kdapl_driver_srq_tells_last(const struct ib_device *ib);
bool kdapl_driver_srq_keeps(const struct ib_device *ib);
bool kdapl_driver_srq_zone_of_qp(const struct ib_device *ib);

#endif /* KDAPL_DRIVER_H */
