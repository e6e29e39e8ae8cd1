// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Kernel consumers that are told which adapters there are (struct kdat_client).
 *
 * A client's add is called when an adapter has got an address, since it cannot be opened
 * before; its remove is called before the RDMA device goes.  @told_lock is held during each
 * of these calls, so they come one at a time, and what a client was told stays true until the
 * next call.  Two adapters that a client knows at a time never have the same name for
 * it, although devices may be renamed.  A device that is being removed leaves the registry
 * first, and then the clients that know it are looked for, so none is told of it afterwards.
 *
 * Callers: device.c and listen.c, which see devices and addresses come and go;
 * face/kdat_linux.c.
 */
#include <linux/slab.h>
#include "address.h"
#include "clients.h"

/*
 * struct told - a client was told of an adapter
 * @entry: in kdat_client.told
 * @dev: with a reference
 * @renames: of @dev, when the client was told
 * @name: that it was told; the device may have another one by now
 */
struct told {
	struct list_head entry;
	struct kdapl_device *dev;
	u32 renames;
	char name[DAT_NAME_MAX_LENGTH];
};

static DEFINE_MUTEX(told_lock);
static LIST_HEAD(clients);

static void look(struct work_struct *work);
static DECLARE_WORK(look_work, look);

static struct told *find_told(struct kdat_client *client, const struct kdapl_device *dev)
{
	struct told *told;

	list_for_each_entry(told, &client->told, entry)
		if (told->dev == dev)
			return told;
	return NULL;
}

static bool has_heard(struct kdat_client *client, const char *name)
{
	struct told *told;

	list_for_each_entry(told, &client->told, entry)
		if (!strcmp(told->name, name))
			return true;
	return false;
}

/*
 * A device of which the client does not know: noted, with the registry's lock held.  A name
 * is all by which a client tells adapters apart, and a device that was renamed goes on under
 * the one that the client was told.  Another device that has this name now waits until it
 * gets a name of its own, or the first one is gone.
 */
static int note_untold(struct kdapl_device *dev, void *arg)
{
	struct kdat_client *client = arg;
	struct told *told;

	if (find_told(client, dev) || has_heard(client, dev->name))
		return 0;
	/* Without memory: with the next address that comes. */
	told = kzalloc(sizeof(*told), GFP_KERNEL);
	if (!told)
		return 0;
	refcount_inc(&dev->ref);
	dev->told++;
	told->dev = dev;
	told->renames = dev->renames;
	strscpy(told->name, dev->name, sizeof(told->name));
	list_add_tail(&told->entry, &client->told);
	return 1;
}

static void tell_gone(struct kdat_client *client, struct told *told)
{
	lockdep_assert_held(&told_lock);
	client->remove(client, told->name);
	list_del(&told->entry);
	kdapl_device_put(told->dev);
	kfree(told);
}

/*
 * The client opens the adapter by its name.  If the device was renamed meanwhile, the client
 * may have found none of that name, or another device, so it is told once more.
 */
static void tell_new(struct kdat_client *client)
{
	struct told *told;

	lockdep_assert_held(&told_lock);
	while (kdapl_device_for_each(&init_net, note_untold, client)) {
		told = list_last_entry(&client->told, struct told, entry);
		client->add(client, told->name);
		if (READ_ONCE(told->dev->renames) != told->renames)
			tell_gone(client, told);
	}
}

static void look(struct work_struct *work)
{
	struct kdat_client *client;

	mutex_lock(&told_lock);
	list_for_each_entry(client, &clients, entry)
		tell_new(client);
	mutex_unlock(&told_lock);
}

/**
 * kdapl_clients_look - there may be an adapter that has an address now, or a name of its own
 *
 * Any context.
 */
void kdapl_clients_look(void)
{
	/* Who registers looks after that. */
	if (!list_empty_careful(&clients))
		queue_work(system_long_wq, &look_work);
}

/**
 * kdapl_clients_gone - an adapter goes
 * @dev: it is off the registry, and still there
 *
 * On return no client has anything open on it.  The name that clients knew it by is free,
 * and they are told later if another device has it by now.  May sleep.
 */
void kdapl_clients_gone(struct kdapl_device *dev)
{
	struct kdat_client *client;
	struct told *told;

	/* Written with the registry's lock held, before it was taken off. */
	if (!dev->told)
		return;
	mutex_lock(&told_lock);
	list_for_each_entry(client, &clients, entry) {
		told = find_told(client, dev);
		if (told)
			tell_gone(client, told);
	}
	mutex_unlock(&told_lock);
	kdapl_clients_look();
}

/**
 * kdapl_clients_exit - nobody looks any more
 *
 * There is no device any more, and no client.  May sleep.
 */
void kdapl_clients_exit(void)
{
	cancel_work_sync(&look_work);
}

/**
 * kdapl_client_register - tell a client which adapters there are
 * @client: of kdat_client_register()
 *
 * May sleep.
 */
void kdapl_client_register(struct kdat_client *client)
{
	INIT_LIST_HEAD(&client->told);
	mutex_lock(&told_lock);
	list_add_tail(&client->entry, &clients);
	tell_new(client);
	mutex_unlock(&told_lock);
}

/**
 * kdapl_client_unregister - the end of it
 * @client: as registered
 *
 * May sleep.
 */
void kdapl_client_unregister(struct kdat_client *client)
{
	struct told *told, *next;

	mutex_lock(&told_lock);
	list_for_each_entry_safe(told, next, &client->told, entry)
		tell_gone(client, told);
	list_del(&client->entry);
	mutex_unlock(&told_lock);
}
