// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The client: plays one game with a server and reports how it went.  Called by
 * main.c.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "pp.h"

#define PP_CONNECT_TIMEOUT_US	(10 * 1000 * 1000)

static void client_ended(struct pp_conn *conn)
{
	complete(&conn->over);
}

static int client_connect(struct pp_conn *conn, struct sockaddr *peer, u16 port)
{
	const struct pp_game *game = &conn->game;
	struct pp_hello hello = {
		.magic = cpu_to_be32(PP_MAGIC),
		.version = cpu_to_be32(PP_VERSION),
		.mode = cpu_to_be32(game->mode),
		.size = cpu_to_be32(game->size),
		.iterations = cpu_to_be32(game->iterations),
		.flags = cpu_to_be32(game->verify ? PP_F_VERIFY : 0),
		.depth = cpu_to_be32(game->depth),
	};

	if (pp_conn_post_recvs(conn))
		return -EIO;
	if (dat_ep_connect(conn->ep, peer, port, PP_CONNECT_TIMEOUT_US,
			   sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG))
		return -EIO;
	return 0;
}

/* Plays a game to its end.  After a failure @conn->error says why. */
static int client_play(struct pp_conn *conn, struct sockaddr *peer, u16 port,
		       unsigned int limit_ms)
{
	unsigned long limit = msecs_to_jiffies(limit_ms);
	long left;

	if (pp_conn_create(conn)) {
		conn->error = "no resources";
		return -EIO;
	}
	if (client_connect(conn, peer, port)) {
		conn->error = "connect refused";
		return -EIO;
	}
	left = wait_for_completion_killable_timeout(&conn->over, limit);
	if (left <= 0) {
		/* The caller frees the endpoint, which ends the game. */
		conn->error = left ? "interrupted" : "took too long";
		return left ?: -ETIMEDOUT;
	}
	return conn->error ? -EIO : 0;
}

/* ---- the result --------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int name_game(const struct pp_game *game, const char *verdict,
		     char *line, size_t size)
{
	return scnprintf(line, size,
			 "%s mode=%s size=%u iterations=%u verify=%d close=%s",
			 verdict, pp_mode_name(game->mode), game->size,
			 game->iterations, game->verify,
			 game->abrupt ? "abrupt" : "graceful");
}

/* Round trips, and bytes a second: a turn moves its bytes once each way. */
static void write_numbers(struct pp_conn *conn, char *line, size_t size)
{
	const struct pp_game *game = &conn->game;
	u64 total = 0;
	u32 i;

	for (i = 0; i < game->iterations; i++)
		total += conn->times[i];
	sort(conn->times, game->iterations, sizeof(*conn->times), compare_times,
	     NULL);
	scnprintf(line, size,
		  " median_ns=%llu p99_ns=%llu bytes_per_s=%llu\n",
		  conn->times[game->iterations / 2],
		  conn->times[(u64)game->iterations * 99 / 100],
		  mul_u64_u64_div_u64(2ULL * game->size * game->iterations,
				      NSEC_PER_SEC, total ?: 1));
}

/**
 * pp_client_run - play one game
 * @ia: adapter to use
 * @game: what to play
 * @peer: address of the server
 * @port: its connection qualifier
 * @limit_ms: milliseconds after which the game has failed
 * @line: out: the result as a line of text
 * @size: bytes that @line has
 *
 * May sleep; a fatal signal ends the game.
 *
 * Return: 0; -EIO: the game failed; -ETIMEDOUT: it took too long; -ERESTARTSYS:
 * a signal ended it; -ENOMEM: then there is no line.
 */
int pp_client_run(struct pp_ia *ia, const struct pp_game *game,
		  struct sockaddr *peer, u16 port, unsigned int limit_ms,
		  char *line, size_t size)
{
	struct pp_conn *conn;
	int ret = -ENOMEM, n;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return -ENOMEM;
	conn->times = kvcalloc(game->iterations, sizeof(*conn->times),
			       GFP_KERNEL);
	if (!conn->times)
		goto out;
	conn->ia = ia;
	conn->game = *game;
	conn->ended = client_ended;
	init_completion(&conn->over);

	ret = client_play(conn, peer, port, limit_ms);
	pp_conn_destroy(conn);

	n = name_game(game, ret ? "fail" : "pass", line, size);
	if (ret)
		scnprintf(line + n, size - n, " reason=\"%s\" turn=%u\n",
			  conn->error, conn->turn);
	else
		write_numbers(conn, line + n, size - n);
out:
	kvfree(conn->times);
	kfree(conn);
	return ret;
}
