// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The loop of samples/kdat-pingpong (mode send, without verification), written
 * straight on ib_core: each side in its softirq completion handler, every
 * request signalled, a turn over when the answer is here and the own send has
 * completed.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "bench.h"

struct player {
	struct raw_end *end;
	struct ib_cqe sent;
	struct ib_cqe received;
	void *out, *in;
	u64 out_dma, in_dma;
	unsigned int pending;
	unsigned int arrived;
	unsigned int turn;
	u64 started;
};

static struct {
	struct player player[2];
	unsigned int size;
	unsigned int turns;
	u64 *times;
	struct completion over;
	bool failed;
} game;

static int post_recv(struct player *player)
{
	struct ib_sge sge = {
		.addr = player->in_dma,
		.length = game.size,
		.lkey = player->end->id->qp->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &player->received,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(player->end->id->qp, &wr, NULL);
}

static int post_send(struct player *player)
{
	struct ib_sge sge = {
		.addr = player->out_dma,
		.length = game.size,
		.lkey = player->end->id->qp->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &player->sent,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	player->pending++;
	return ib_post_send(player->end->id->qp, &wr, NULL);
}

static void fail(void)
{
	game.failed = true;
	complete(&game.over);
}

static void client_move(struct player *player)
{
	player->started = ktime_get_ns();
	if (post_send(player))
		fail();
}

static void step(struct player *player)
{
	if (player->pending || !player->arrived)
		return;
	player->arrived--;
	if (post_recv(player)) {
		fail();
		return;
	}
	if (player->end->server) {
		if (post_send(player))
			fail();
		return;
	}
	game.times[player->turn] = ktime_get_ns() - player->started;
	if (++player->turn < game.turns)
		client_move(player);
	else
		complete(&game.over);
}

static void sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct player *player = container_of(wc->wr_cqe, struct player, sent);

	player->pending--;
	if (wc->status == IB_WC_SUCCESS)
		step(player);
}

static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct player *player = container_of(wc->wr_cqe, struct player,
					     received);

	if (wc->status != IB_WC_SUCCESS)
		return;
	player->arrived++;
	step(player);
}

/* ---- set up ------------------------------------------------------------- */

static void prepare(struct raw_end *end)
{
	struct player *player = &game.player[end->server];
	struct ib_device *dev = end->id->device;

	player->end = end;
	player->out_dma = ib_dma_map_single(dev, player->out, game.size,
					    DMA_TO_DEVICE);
	player->in_dma = ib_dma_map_single(dev, player->in, game.size,
					   DMA_FROM_DEVICE);
	if (post_recv(player))
		game.failed = true;
}

static void unmap(struct player *player, struct ib_device *dev)
{
	ib_dma_unmap_single(dev, player->out_dma, game.size, DMA_TO_DEVICE);
	ib_dma_unmap_single(dev, player->in_dma, game.size, DMA_FROM_DEVICE);
}

static int player_init(struct player *player)
{
	player->sent.done = sent;
	player->received.done = received;
	player->out = kzalloc(game.size, GFP_KERNEL);
	player->in = kzalloc(game.size, GFP_KERNEL);
	return player->out && player->in ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int play(struct raw_net *net)
{
	struct raw_end *end;
	int ret = 0;

	net->prepare = prepare;
	net->keep = true;
	ret = raw_open(net, false, 4 * BENCH_DEPTH);
	if (ret)
		return ret;
	end = raw_connect(net);
	if (!end)
		return -EIO;
	client_move(&game.player[0]);
	if (!wait_for_completion_timeout(&game.over, 2 * BENCH_WAIT) ||
	    game.failed)
		ret = -EIO;
	raw_disconnect(end);
	/* Its queue is in error now and uses no memory any more. */
	wait_for_completion_timeout(&net->newest->over, BENCH_WAIT);
	unmap(&game.player[0], net->holder->device);
	unmap(&game.player[1], net->listener->device);
	return ret;
}

/**
 * raw_pingpong - play a game and say how long its turns took
 * @size: bytes that a turn moves each way
 * @turns: how many
 *
 * May sleep.  Return: 0 or an errno.
 */
int raw_pingpong(unsigned int size, unsigned int turns)
{
	struct raw_net *net = kzalloc(sizeof(*net), GFP_KERNEL);
	int ret = -ENOMEM, i;

	if (!net || !size || !turns) {
		kfree(net);
		return -EINVAL;
	}
	memset(&game, 0, sizeof(game));
	game.size = size;
	game.turns = turns;
	init_completion(&game.over);
	game.times = kvcalloc(turns, sizeof(*game.times), GFP_KERNEL);
	if (game.times && !player_init(&game.player[0]) &&
	    !player_init(&game.player[1])) {
		ret = play(net);
		raw_close(net);
	}
	if (!ret) {
		sort(game.times, turns, sizeof(*game.times), compare, NULL);
		bench_say("pass size=%u iterations=%u median_ns=%llu p99_ns=%llu\n",
			  size, turns, game.times[turns / 2],
			  game.times[(u64)turns * 99 / 100]);
	}
	for (i = 0; i < 2; i++) {
		kfree(game.player[i].out);
		kfree(game.player[i].in);
	}
	kvfree(game.times);
	kfree(net);
	return ret;
}
