// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Kernel consumers that are told which adapters there are (struct kdat_client).
 *
 * A client's add is called when an adapter has got an address, because it cannot be opened before;
 * its remove is called before the RDMA device goes.  @told_lock is held during each of these
 * calls, so they come one at a time, and what a client was told stays true until the next call.
 * But a client that unregisters has its remove called for all its adapters at once: each of these
 * calls may wait for peers that do not answer.  A client never knows two adapters by the same name
 * at a time, although devices may be renamed.  A device that is being removed is first taken off
 * the registry; only then are the clients that know it told, so that no client is told of it as
 * new afterwards.
 *
 * Callers: device.c and listen.c, which see devices and addresses come and go;
 * face/kdat_linux.c.
 */
#include <linux/slab.h>
#include "address.h"
#include "clients.h"

/*
 * struct told - an adapter that a client was told of
 * @entry: in kdat_client.told
 * @dev: the device, with a reference
 * @client: who was told
 * @removal: calls kdat_client.remove, when the client unregisters
 * @renames: value of kdapl_device.renames when the client was told
 * @name: the name that the client was told; the device may have another one by now
 */
struct told {
	struct list_head entry;
	struct kdapl_device *dev;
	struct kdat_client *client;
	struct work_struct removal;
	u32 renames;
	char name[DAT_NAME_MAX_LENGTH];
};

static DEFINE_MUTEX(told_lock);
static LIST_HEAD(clients);

static void tell_all(struct work_struct *work);
static DECLARE_WORK(look_work, tell_all);

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
 * Adds a device that the client does not know to its list, and returns 1 then.  Called with the
 * registry's lock held.
 *
 * A client tells adapters apart by their names only, and keeps using the name that it was told
 * when the device is renamed.  So another device that has got this name meanwhile is not told:
 * it has to wait until it gets a name of its own, or until the first device is gone.
 */
static int note_untold(struct kdapl_device *dev, void *arg)
{
	struct kdat_client *client = arg;
	struct told *told;

	if (find_told(client, dev) || has_heard(client, dev->name))
		return 0;
	/* Without memory the client is told later, at the next change of an address. */
	told = kzalloc(sizeof(*told), GFP_KERNEL);
	if (!told)
		return 0;
	refcount_inc(&dev->ref);
	dev->told++;
	told->dev = dev;
	told->client = client;
	told->renames = dev->renames;
	strscpy(told->name, dev->name, sizeof(told->name));
	list_add_tail(&told->entry, &client->told);
	return 1;
}

static void forget(struct told *told)
{
	lockdep_assert_held(&told_lock);
	list_del(&told->entry);
	kdapl_device_put(told->dev);
	kfree(told);
}

static void tell_gone(struct told *told)
{
	lockdep_assert_held(&told_lock);
	told->client->remove(told->client, told->name);
	forget(told);
}

static void removal_work(struct work_struct *work)
{
	struct told *told = container_of(work, struct told, removal);

	told->client->remove(told->client, told->name);
}

/*
 * Tells a client of all adapters that it does not know.  The client opens an adapter by its name.
 * If the device was renamed during the call of add, the client may have found no device of that
 * name, or another one.  So it is told that the adapter is gone, and then told of it once more.
 */
static void tell_new(struct kdat_client *client)
{
	struct told *told;

	lockdep_assert_held(&told_lock);
	while (kdapl_device_for_each(&init_net, note_untold, client)) {
		told = list_last_entry(&client->told, struct told, entry);
		client->add(client, told->name);
		if (READ_ONCE(told->dev->renames) != told->renames)
			tell_gone(told);
	}
}

static void tell_all(struct work_struct *work)
{
	struct kdat_client *client;

	mutex_lock(&told_lock);
	list_for_each_entry(client, &clients, entry)
		tell_new(client);
	mutex_unlock(&told_lock);
}

/**
 * kdapl_clients_look - look whether there is an adapter that clients have to be told of
 *
 * To be called when an adapter may have got its first address, or a name of its own.  Any
 * context.
 */
void kdapl_clients_look(void)
{
	/* A client that registers just now looks by itself, when it is on the list. */
	if (!list_empty_careful(&clients))
		queue_work(system_long_wq, &look_work);
}

/**
 * kdapl_clients_gone - tell clients that an adapter goes
 * @dev: off the registry already, but its RDMA device is still usable
 *
 * On return no client has anything open on it.  The name by which clients knew it can be used
 * again: if another device has it by now, they are told of that device later.  May sleep.
 */
void kdapl_clients_gone(struct kdapl_device *dev)
{
	struct kdat_client *client;
	struct told *told;

	/* Written under the registry's lock and only while @dev is on it: it is final now. */
	if (!dev->told)
		return;
	mutex_lock(&told_lock);
	list_for_each_entry(client, &clients, entry) {
		told = find_told(client, dev);
		if (told)
			tell_gone(told);
	}
	mutex_unlock(&told_lock);
	kdapl_clients_look();
}

/**
 * kdapl_clients_exit - stop looking for adapters
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
 * kdapl_client_unregister - tell a client that all its adapters go, and forget it
 * @client: as registered
 *
 * May sleep.
 */
void kdapl_client_unregister(struct kdat_client *client)
{
	struct told *told, *next;

	mutex_lock(&told_lock);
	list_for_each_entry(told, &client->told, entry) {
		INIT_WORK(&told->removal, removal_work);
		queue_work(system_unbound_wq, &told->removal);
	}
	list_for_each_entry_safe(told, next, &client->told, entry) {
		flush_work(&told->removal);
		forget(told);
	}
	list_del(&client->entry);
	mutex_unlock(&told_lock);
}
