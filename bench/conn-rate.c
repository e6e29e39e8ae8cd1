// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: how many a second, one after the other, from the first call to
 * the end of the disconnect; and many at once, kept for a look at the memory
 * they take.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "bench.h"

/* Where the time of a run goes, ns: the devices', and the connections'. */
struct phases {
	u64 open;
	u64 connect;
	u64 disconnect;
	u64 close;
};

/* Since the last call with @since. */
static u64 lap(u64 *since)
{
	u64 now = ktime_get_ns(), took = now - *since;

	*since = now;
	return took;
}

static int rate_raw(unsigned int n, struct phases *took)
{
	struct raw_net *net = kzalloc(sizeof(*net), GFP_KERNEL);
	u64 since = ktime_get_ns();
	struct raw_end *end;
	int ret;

	if (!net)
		return -ENOMEM;
	ret = raw_open(net, false, 4 * BENCH_DEPTH);
	took->open = lap(&since);
	while (!ret && n--) {
		end = raw_connect(net);
		took->connect += lap(&since);
		if (end)
			raw_disconnect(end);
		else
			ret = -EIO;
		took->disconnect += lap(&since);
	}
	raw_close(net);
	took->close = lap(&since);
	kfree(net);
	return ret;
}

static int rate_kdat(unsigned int n, struct phases *took)
{
	struct kdat_net *net = kzalloc(sizeof(*net), GFP_KERNEL);
	u64 since = ktime_get_ns();
	struct kdat_end *end;
	int ret;

	if (!net)
		return -ENOMEM;
	ret = kdat_open(net);
	took->open = lap(&since);
	while (!ret && n--) {
		end = kdat_connect(net);
		took->connect += lap(&since);
		if (end)
			kdat_disconnect(end);
		else
			ret = -EIO;
		took->disconnect += lap(&since);
	}
	kdat_close(net);
	took->close = lap(&since);
	kfree(net);
	return ret;
}

/**
 * conn_rate - make and end connections, and say how many a second, and where time goes
 * @kdat: through kDAT
 * @connections: how many
 *
 * May sleep.  Return: 0 or an errno.
 */
int conn_rate(bool kdat, unsigned int connections)
{
	struct phases took = {};
	u64 both;
	int ret;

	ret = kdat ? rate_kdat(connections, &took) : rate_raw(connections, &took);
	if (ret)
		return ret;
	/*
	 * An adapter is opened and closed once, not for each connection; and closing
	 * waits for grace periods, which take the longer the less else there is to do.
	 */
	both = took.connect + took.disconnect;
	bench_say("pass connections=%u per_second_x10=%llu", connections,
		  div64_u64(10ULL * NSEC_PER_SEC * connections, both));
	bench_say(" open_us=%llu connect_us=%llu disconnect_us=%llu close_us=%llu\n",
		  took.open / NSEC_PER_USEC,
		  took.connect / NSEC_PER_USEC / connections,
		  took.disconnect / NSEC_PER_USEC / connections,
		  took.close / NSEC_PER_USEC);
	return 0;
}

/* ---- kept --------------------------------------------------------------- */

static struct raw_net *held_raw;
static struct kdat_net *held_kdat;
static void **held;
static unsigned int nr_held;

static int hold_raw(unsigned int n)
{
	int ret;

	held_raw = kzalloc(sizeof(*held_raw), GFP_KERNEL);
	if (!held_raw)
		return -ENOMEM;
	held_raw->keep = true;
	ret = raw_open(held_raw, false, n * 2 * BENCH_DEPTH);
	if (ret)
		return ret;
	for (; nr_held < n; nr_held++) {
		held[nr_held] = raw_connect(held_raw);
		if (!held[nr_held])
			return -EIO;
	}
	return 0;
}

static int hold_kdat(unsigned int n, bool connected)
{
	int ret;

	held_kdat = kzalloc(sizeof(*held_kdat), GFP_KERNEL);
	if (!held_kdat)
		return -ENOMEM;
	held_kdat->keep = true;
	ret = kdat_open(held_kdat);
	if (ret)
		return ret;
	for (; nr_held < n; nr_held++) {
		held[nr_held] = connected ? kdat_connect(held_kdat) :
					    kdat_end_new(held_kdat, false);
		if (!held[nr_held])
			return -EIO;
	}
	return 0;
}

static int hold_begin(unsigned int n)
{
	hold_release();
	held = kvcalloc(n, sizeof(*held), GFP_KERNEL);
	return held ? 0 : -ENOMEM;
}

/**
 * hold - make connections and keep them
 * @kdat: through kDAT
 * @connections: how many
 *
 * May sleep.  Return: 0 or an errno; hold_release() lets them go.
 */
int hold(bool kdat, unsigned int connections)
{
	int ret = hold_begin(connections);

	if (ret)
		return ret;
	return kdat ? hold_kdat(connections, true) : hold_raw(connections);
}

/**
 * hold_idle - make unconnected endpoints and keep them
 * @endpoints: how many
 *
 * May sleep.  Return: 0 or an errno; hold_release() lets them go.
 */
int hold_idle(unsigned int endpoints)
{
	return hold_begin(endpoints) ?: hold_kdat(endpoints, false);
}

/**
 * hold_release - let go of what is kept
 *
 * May sleep.
 */
void hold_release(void)
{
	unsigned int i;

	for (i = 0; i < nr_held; i++) {
		if (held_raw)
			raw_disconnect(held[i]);
		else
			kdat_end_free(held[i]);
	}
	nr_held = 0;
	kvfree(held);
	held = NULL;
	if (held_raw)
		raw_close(held_raw);
	if (held_kdat)
		kdat_close(held_kdat);
	kfree(held_raw);
	kfree(held_kdat);
	held_raw = NULL;
	held_kdat = NULL;
}
