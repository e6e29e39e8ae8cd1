// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A queue pair that several threads and processes want to bind, let go, move and destroy at
 * once: one of them has it, it is let go exactly once, and nobody holds it in the end.
 * Speaks the ABI itself, with libibverbs beside it (raw_end.h).
 *
 *	bind_races [DEVICE]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "raw_end.h"

static const char *device = "rxe0";

/* ---- threads and processes --------------------------------------------------------------- */

static void *make_qp(void *arg)
{
	end_qp(arg);
	return NULL;
}

static void *bind_qp(void *arg)
{
	return (void *)(intptr_t)end_bind(arg);
}

static void test_threads(struct end *end)
{
	pthread_t thread;
	void *got;

	pthread_create(&thread, NULL, make_qp, end);
	pthread_join(thread, NULL);
	check(!end_bind(end), "A8", "bind: a queue pair of a thread that has ended", 0);
	check(end_renew(end), "A8", "and let go", 0);
	end_qp(end);
	pthread_create(&thread, NULL, bind_qp, end);
	pthread_join(thread, &got);
	check(!got, "A8", "bind: by another thread", (intptr_t)got);
	check(ibv_destroy_qp(end->qp) == EBUSY, "A8", "it stays bound when that has ended", 0);
	check(end_renew(end), "A8", "and let go", 0);
}

/* What a child says is 0 or an errno; the parent waits for it. */
static int said(int from)
{
	int number = -2;

	return read(from, &number, sizeof(number)) == sizeof(number) ? number : -2;
}

static void say(int to, int number)
{
	if (write(to, &number, sizeof(number)) != sizeof(number))
		_exit(9);
}

/*
 * A child with a file of its own: by a context of its own the queue pair of its parent is
 * not there; by the descriptor it was born with, or is given, it is as good as its own.
 */
static void child(int parent, int inherited, __u32 qp_num)
{
	struct end mine;
	int given;

	end_open(&mine, device);
	say(parent, bind_as(mine.fd, mine.ep, mine.context->cmd_fd, qp_num, NULL));
	say(parent, bind_as(mine.fd, mine.ep, inherited, qp_num, &mine.life));
	say(parent, end_tell(&mine, KDAPL_TELL_UNBIND));
	given = receive_fd(parent);
	qp_num = said(parent);
	say(parent, bind_as(mine.fd, mine.ep, given, qp_num, &mine.life));
	said(parent);
	_exit(0);
}

static void test_processes(struct end *end)
{
	int sockets[2], got;
	pid_t pid;

	end_qp(end);
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "sockets");
	pid = fork();
	if (!pid)
		child(sockets[1], end->context->cmd_fd, end->qp->qp_num);
	close(sockets[1]);
	got = said(sockets[0]);
	check(got == ENOENT, "A8", "bind: a child, by a context of its own", got);
	got = said(sockets[0]);
	check(!got, "A8", "bind: a child, by the descriptor it was born with", got);
	got = said(sockets[0]);
	check(!got, "A8", "unbind: a child", got);
	check(!ibv_destroy_qp(end->qp), "A8", "destroyed by its parent", 0);
	end_qp(end);
	send_fd(sockets[0], end->context->cmd_fd);
	say(sockets[0], end->qp->qp_num);
	got = said(sockets[0]);
	check(!got, "A8", "bind: a child, by a descriptor that is passed to it", got);
	got = end_bind(end);
	check(got == EBUSY, "A8", "bind: its parent meanwhile", got);
	got = ibv_destroy_qp(end->qp);
	check(got == EBUSY, "A8", "destroyed by its parent meanwhile", got);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	got = ibv_destroy_qp(end->qp);
	check(!got, "I19", "destroyed by its parent when it is dead", got);
	end->qp = NULL;
	close(sockets[0]);
}

/*
 * A child has all descriptors of its parent and does nothing: the connection, here the
 * bind, is theirs together, and lasts until both are gone.
 */
static void test_shared(void)
{
	int pipes[2], got;
	struct end end;
	pid_t pid;

	end_open(&end, device);
	end_qp(&end);
	need(!end_bind(&end) && !pipe(pipes), "bind");
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		got = read(pipes[0], &got, 1);
		_exit(0);
	}
	close(pipes[0]);
	end_close_file(&end);
	got = ibv_destroy_qp(end.qp);
	check(got == EBUSY, "A8", "a child keeps the file, and what is bound", got);
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	got = end_destroy_qp(end.qp);
	check(!got, "I19", "until it ends as well", got);
}

/* ---- races ---------------------------------------------------------------------------------- */

#define ROUNDS	150

static pthread_barrier_t line;

struct racer {
	struct end *end;
	int got;
};

static void *race_destroy(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(&line);
	racer->got = ibv_destroy_qp(racer->end->qp);
	return NULL;
}

static void *race_bind(void *arg)
{
	struct racer *racer = arg;
	struct end *end = racer->end;

	pthread_barrier_wait(&line);
	racer->got = bind_as(end->fd, end->ep, end->context->cmd_fd, end->qp->qp_num,
			     &end->life);
	return NULL;
}

static void *race_error(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(&line);
	racer->got = qp_move(racer->end->qp, IBV_QPS_ERR);
	return NULL;
}

static void *race_unbind(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(&line);
	racer->got = end_tell(racer->end, KDAPL_TELL_UNBIND);
	return NULL;
}

static void *race_free(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(&line);
	racer->got = handle_call(racer->end->fd, KDAPL_IOC_EP_FREE, racer->end->ep);
	return NULL;
}

static void race(void *(*first)(void *), struct racer *a, void *(*second)(void *),
		 struct racer *b)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, first, a);
	pthread_create(&threads[1], NULL, second, b);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void test_bind_and_destroy(struct end *end)
{
	struct racer binds = { .end = end }, destroys = { .end = end };
	int i, bound = 0, gone = 0, neither = 0, odd = 0;

	for (i = 0; i < ROUNDS && !odd; i++) {
		end_qp(end);
		race(race_bind, &binds, race_destroy, &destroys);
		bound += !binds.got;
		gone += !destroys.got;
		neither += binds.got && destroys.got;
		/* One of them has it, and says so to the other. */
		if (!binds.got == !destroys.got && !(binds.got && destroys.got == EBUSY))
			odd = 1;
		if (binds.got && binds.got != ENOENT && binds.got != EBUSY)
			odd = 2;
		if (destroys.got && destroys.got != EBUSY)
			odd = 3;
		if (!binds.got && end_tell(end, KDAPL_TELL_UNBIND))
			odd = 4;
		if (destroys.got && ibv_destroy_qp(end->qp))
			odd = 5;
	}
	end->qp = NULL;
	printf("# %d rounds: bound %d, destroyed %d, neither %d\n", i, bound, gone, neither);
	check(!odd, "A8", "bind against destroy", odd);
}

static void test_bind_and_bind(struct end *end)
{
	struct racer a = { .end = end }, b;
	int i, odd = 0, first = 0, got;
	struct end other;

	end_open(&other, device);
	b.end = &other;
	for (i = 0; i < ROUNDS && !odd; i++) {
		struct ibv_context *context = other.context;

		end_qp(end);
		/* The other file has the same descriptor and number. */
		other.context = end->context;
		other.qp = end->qp;
		race(race_bind, &a, race_bind, &b);
		other.context = context;
		other.qp = NULL;
		first += !a.got;
		if (!a.got == !b.got || (a.got ? a.got : b.got) != EBUSY)
			odd = 1;
		got = a.got ? tell_as(other.fd, other.ep, KDAPL_TELL_UNBIND, other.life) :
			      end_tell(end, KDAPL_TELL_UNBIND);
		if (got || ibv_destroy_qp(end->qp))
			odd = 2;
	}
	end->qp = NULL;
	printf("# %d rounds: the first file had %d of them\n", i, first);
	check(!odd, "A8", "bind against bind: one has it", odd);
	end_close(&other);
}

static void test_bind_and_error(struct end *end)
{
	struct racer binds = { .end = end }, moves = { .end = end };
	int i, odd = 0, bound = 0;

	for (i = 0; i < ROUNDS && !odd; i++) {
		end_qp(end);
		race(race_bind, &binds, race_error, &moves);
		bound += !binds.got;
		if ((binds.got && binds.got != EINVAL && binds.got != EBUSY) || moves.got)
			odd = 1;
		if (!binds.got && end_tell(end, KDAPL_TELL_UNBIND))
			odd = 2;
		if (ibv_destroy_qp(end->qp))
			odd = 3;
	}
	end->qp = NULL;
	printf("# %d rounds: bound %d\n", i, bound);
	check(!odd, "A8", "bind against the process's own ERR", odd);
}

static void test_unbind_and_free(struct end *end)
{
	struct racer tells = { .end = end }, frees = { .end = end };
	int i, odd = 0;

	for (i = 0; i < ROUNDS && !odd; i++) {
		end_qp(end);
		need(!end_bind(end), "bind");
		race(race_unbind, &tells, race_free, &frees);
		if (tells.got > 0 || frees.got || ibv_destroy_qp(end->qp))
			odd = 1;
		end->ep = end_new_ep(end);
		end->slot = slot_of(end, end->ep);
	}
	end->qp = NULL;
	check(!odd, "F14", "unbind against free: let go exactly once", odd);
}

static void test_unbind_and_unbind(struct end *end)
{
	struct racer a = { .end = end }, b = { .end = end };
	int i, odd = 0;

	for (i = 0; i < ROUNDS && !odd; i++) {
		end_qp(end);
		need(!end_bind(end), "bind");
		race(race_unbind, &a, race_unbind, &b);
		if (a.got > 0 || b.got > 0 || (a.got && b.got) || ibv_destroy_qp(end->qp))
			odd = 1;
	}
	end->qp = NULL;
	check(!odd, "A8", "unbind against unbind: let go exactly once", odd);
}

static volatile bool stop;
/* The number that was given out last. */
static volatile __u32 recent;

static void *make_and_destroy(void *arg)
{
	struct end *end = arg;
	struct ibv_qp *qp;
	long made = 0;

	while (!stop) {
		qp = qp_new(end, IBV_QPT_RC);
		if (!qp)
			return (void *)-1L;
		recent = qp->qp_num;
		if (!qp_init(qp))
			made++;
		usleep(made % 4 * 100);
		while (ibv_destroy_qp(qp))
			;
	}
	return (void *)made;
}

/* Binds what may be half made, or half gone, by its number alone. */
static void test_half_made(struct end *end)
{
	int got, odd = 0, bound = 0, i;
	long last = now_ms() + 10000;
	pthread_t thread;
	void *made;

	recent = 0;
	stop = false;
	pthread_create(&thread, NULL, make_and_destroy, end);
	/* Devices count up. */
	for (i = 0; !odd && bound < ROUNDS && now_ms() < last; i++) {
		got = bind_as(end->fd, end->ep, end->context->cmd_fd, recent + i % 2,
			      &end->life);
		if (!got) {
			bound++;
			odd = end_tell(end, KDAPL_TELL_UNBIND);
		} else if (got != ENOENT && got != EINVAL && got != EBUSY) {
			odd = got;
		}
	}
	stop = true;
	pthread_join(thread, &made);
	printf("# %d binds against %ld that were made and destroyed: %d came about\n", i,
	       (long)made, bound);
	check(!odd && (long)made > 0, "A8", "bind against create and destroy", odd);
}

int main(int argc, char **argv)
{
	struct end end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		device = argv[1];
	pthread_barrier_init(&line, NULL, 2);
	end_open(&end, device);
	test_threads(&end);
	test_processes(&end);
	test_shared();
	test_bind_and_destroy(&end);
	test_bind_and_bind(&end);
	test_bind_and_error(&end);
	test_unbind_and_free(&end);
	test_unbind_and_unbind(&end);
	test_half_made(&end);
	end_close(&end);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
