// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An Interface Adapter as its objects see it: the section that operations run in,
 * the list of its objects, and the addresses of its port that consumers look at.
 * It is opened and closed in ia_open.c, queried in ia_query.c; its asynchronous
 * events are in ia_async.c.
 *
 * Callers: every operation of the core.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include "ia.h"

/* ---- the section ---------------------------------------------------- */

/**
 * kdapl_ia_enter_shell - enter the section of an IA, device gone or not
 * @ia: the caller has a reference of it or of an object on it
 * @idx: for kdapl_ia_leave()
 *
 * For frees and queries.  Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS and the section was entered; DAT_INVALID_HANDLE without
 * subtype when the IA is closing (I15).
 */
DAT_RETURN kdapl_ia_enter_shell(struct kdapl_ia *ia, int *idx)
{
	*idx = srcu_read_lock(&ia->section->srcu);
	/* sparse cannot follow a section entered on a condition. */
	__release(&ia->section->srcu);
	if (!READ_ONCE(ia->closing))
		return DAT_SUCCESS;
	kdapl_ia_leave(ia, *idx);
	return RET(INVALID_HANDLE);
}

/**
 * kdapl_ia_enter - enter the section of an IA whose device is there
 * @ia: the caller has a reference of it or of an object on it
 * @idx: for kdapl_ia_leave()
 *
 * Until kdapl_ia_leave() the device stays.  Any context; may sleep inside.
 *
 * Return: DAT_SUCCESS and the section was entered; DAT_INVALID_HANDLE without
 * subtype when the IA is closing (I15); DAT_INVALID_STATE without subtype when
 * the device is gone (E71).
 */
DAT_RETURN kdapl_ia_enter(struct kdapl_ia *ia, int *idx)
{
	DAT_RETURN ret = kdapl_ia_enter_shell(ia, idx);

	if (ret != DAT_SUCCESS || !READ_ONCE(ia->removed))
		return ret;
	kdapl_ia_leave(ia, *idx);
	return RET(INVALID_STATE);
}

static struct kdapl_section *section_alloc(const struct kdapl_space *space,
					   struct kdapl_device *dev)
{
	struct kdapl_section *section = kzalloc(sizeof(*section), kdapl_gfp(space));

	if (!section)
		return NULL;
	if (init_srcu_struct(&section->srcu)) {
		kfree(section);
		return NULL;
	}
	section->dev = dev;
	section->nr_ias = 1;
	return section;
}

static void section_free(struct kdapl_section *section)
{
	cleanup_srcu_struct(&section->srcu);
	kfree(section);
}

/* The section of @space for @dev, counted for one adapter more; NULL: there is none. */
static struct kdapl_section *section_find(struct kdapl_space *space,
					  const struct kdapl_device *dev)
{
	struct kdapl_section *section;

	lockdep_assert_held(&space->ia_lock);
	list_for_each_entry(section, &space->sections, entry) {
		if (section->dev == dev) {
			section->nr_ias++;
			return section;
		}
	}
	return NULL;
}

/**
 * kdapl_section_get - the section of a new adapter
 * @space: that it is opened in
 * @dev: its device
 *
 * A kernel consumer's adapter has a section of its own: its close must not wait for the
 * operations of other consumers.  May sleep.
 *
 * Return: for kdapl_section_put(); NULL: no memory.
 */
struct kdapl_section *kdapl_section_get(struct kdapl_space *space,
					struct kdapl_device *dev)
{
	struct kdapl_section *section, *fresh;

	if (!space->user)
		return section_alloc(space, dev);
	mutex_lock(&space->ia_lock);
	section = section_find(space, dev);
	mutex_unlock(&space->ia_lock);
	if (section)
		return section;
	fresh = section_alloc(space, dev);
	if (!fresh)
		return NULL;
	mutex_lock(&space->ia_lock);
	/* Another thread may have been faster. */
	section = section_find(space, dev);
	if (!section)
		list_add(&fresh->entry, &space->sections);
	mutex_unlock(&space->ia_lock);
	if (!section)
		return fresh;
	section_free(fresh);
	return section;
}

/**
 * kdapl_section_put - an adapter is no more
 * @space: the one that kdapl_section_get() was called with
 * @section: of kdapl_section_get(); the adapter still has a reference of the device, and no
 *	     operation is in the section on its behalf
 *
 * May sleep.
 */
void kdapl_section_put(struct kdapl_space *space, struct kdapl_section *section)
{
	bool last;

	mutex_lock(&space->ia_lock);
	last = !--section->nr_ias;
	if (last && space->user)
		list_del(&section->entry);
	mutex_unlock(&space->ia_lock);
	if (last)
		section_free(section);
}

/* ---- its objects ---------------------------------------------------- */

/**
 * kdapl_ia_next_object - to walk the objects of an adapter
 * @ia: adapter
 * @type: of object
 * @prev: what it returned before, whose reference it drops; NULL to begin
 *
 * Each object is met once, in the order in which they were made, also if @prev was freed
 * meanwhile.  May sleep.
 *
 * Return: the object after @prev, with a reference; NULL: there is none.
 */
struct kdapl_object *kdapl_ia_next_object(struct kdapl_ia *ia,
					  enum kdapl_type type,
					  struct kdapl_object *prev)
{
	struct kdapl_object *obj, *found = NULL;
	struct list_head *head = &ia->objects[type];
	u64 after = prev ? prev->number : 0;

	mutex_lock(&ia->lock);
	obj = list_entry(prev && !list_empty(&prev->on_ia) ? &prev->on_ia : head,
			 struct kdapl_object, on_ia);
	list_for_each_entry_continue(obj, head, on_ia) {
		if (obj->number > after && refcount_inc_not_zero(&obj->ref)) {
			found = obj;
			break;
		}
	}
	mutex_unlock(&ia->lock);
	if (prev)
		kdapl_object_put(prev);
	return found;
}

/* ---- addresses of the port ------------------------------------------ */

/**
 * kdapl_ia_set_link - put the link into a link-local address, which rdma_cm may leave out
 * @to: an address that was copied from @addr
 * @addr: of a CM id that is bound to a device
 *
 * Any context.
 */
void kdapl_ia_set_link(struct sockaddr_storage *to, const struct rdma_addr *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

	if (in6->sin6_family == AF_INET6 &&
	    ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = addr->dev_addr.bound_dev_if;
}

static struct kdapl_local *find_address(struct kdapl_ia *ia, const struct sockaddr_storage *address)
{
	struct kdapl_local *local;

	list_for_each_entry(local, &ia->locals, link)
		if (!memcmp(&local->address, address, sizeof(*address)))
			return local;
	return NULL;
}

static void copy_address(struct sockaddr_storage *to, const struct rdma_addr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr->src_addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)in6;

	to->ss_family = in->sin_family;
	if (in->sin_family == AF_INET)
		((struct sockaddr_in *)to)->sin_addr = in->sin_addr;
	else
		((struct sockaddr_in6 *)to)->sin6_addr = in6->sin6_addr;
	kdapl_ia_set_link(to, addr);
}

/**
 * kdapl_ia_address - the address of the port that a connection uses
 * @ia: of the port
 * @addr: of a connection's CM id, or of a request's
 *
 * A consumer may look at it as long as the IA is open: an event that he has taken points there,
 * while another of his threads ends the request or the endpoint.  So each address that was ever
 * used is kept, once, until the IA is closed, charged to the opener.  A port gets few in the life
 * of an IA: only the administrator of its network namespace gives it addresses.  May sleep.
 * Rules P41, P86.
 *
 * Return: the address, with port 0; NULL: no memory.
 */
struct sockaddr_storage *kdapl_ia_address(struct kdapl_ia *ia, const struct rdma_addr *addr)
{
	struct kdapl_local *local, *new = NULL;
	struct sockaddr_storage address = {};

	copy_address(&address, addr);
	spin_lock(&ia->locals_lock);
	local = find_address(ia, &address);
	if (!local) {
		spin_unlock(&ia->locals_lock);
		new = kzalloc(sizeof(*new), kdapl_gfp(ia->obj.space));
		if (!new)
			return NULL;
		new->address = address;
		spin_lock(&ia->locals_lock);
		local = find_address(ia, &address);	/* by another connection, meanwhile */
		if (!local) {
			list_add(&new->link, &ia->locals);
			local = new;
			new = NULL;
		}
	}
	spin_unlock(&ia->locals_lock);
	kfree(new);
	return &local->address;
}
