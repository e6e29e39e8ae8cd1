/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a process is charged for the things that are made for it on a device (charge.c).  A
 * charge is kept in the object that it is for, and given back when that object is destroyed.
 */
#ifndef KDAPL_CHARGE_H
#define KDAPL_CHARGE_H

#include <linux/cgroup_rdma.h>
#include <linux/types.h>

struct ib_device;
struct mm_struct;

/**
 * struct kdapl_charge - what was charged and has to be given back; all zero: nothing
 * @cgroup: the rdma cgroup that was charged for an object, with a reference
 * @mm: the process that was charged for @pages, with a reference
 * @pages: pages of memory that cannot be swapped out
 */
struct kdapl_charge {
	struct rdma_cgroup *cgroup;
	struct mm_struct *mm;
	unsigned long pages;
};

int kdapl_charge_object(struct kdapl_charge *charge, struct ib_device *ib,
			enum rdmacg_resource_type type);
void kdapl_uncharge_object(struct kdapl_charge *charge, struct ib_device *ib,
			   enum rdmacg_resource_type type);
int kdapl_charge_pages(struct kdapl_charge *charge, unsigned long pages);
int kdapl_charge_bytes(struct kdapl_charge *charge, u64 bytes);
void kdapl_uncharge_pages(struct kdapl_charge *charge);
void kdapl_charge_replace(struct kdapl_charge *charge, struct kdapl_charge *pages);
int kdapl_charge_queue(struct kdapl_charge *charge, struct ib_device *ib,
		       u64 bytes);
void kdapl_uncharge_queue(struct kdapl_charge *charge, struct ib_device *ib);

#endif /* KDAPL_CHARGE_H */
