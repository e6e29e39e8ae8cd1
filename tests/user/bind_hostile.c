// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A hostile process that lends its queue pairs to kdapl: an IA turned to passthrough with
 * every wrong descriptor, the board, binds with every wrong descriptor and queue pair.
 * Speaks the ABI itself, with libibverbs beside it.  Threads and other processes are in
 * bind_races.c, connections in bind_states.c and bind_ends.c.
 *
 *	bind_hostile [DEVICE [OTHER-DEVICE]]
 *
 * Whatever was refused has left nothing held: each of these queue pairs can be destroyed
 * at once.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include "raw_end.h"

static const char *device = "rxe0", *other_device = "rxe1";

/* ---- an IA in passthrough --------------------------------------------------------- */

/* Descriptors that are no uverbs file of the device, each with a name. */
struct wrong_fd {
	const char *name;
	int fd;
	int bind_errno;		/* of a bind with it */
};

#define WRONG_FDS	13

static int uverbs_open(const struct ibv_context *context, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", context->device->dev_name);
	return open(path, flags | O_CLOEXEC);
}

static void wrong_fds(struct wrong_fd *wrong, const struct end *end,
		      const struct ibv_context *elsewhere)
{
	int sockets[2], pipes[2], closed = 1000;

	need(dup2(0, closed) == closed && !close(closed), "a descriptor to close");
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) && !pipe(pipes), "sockets");
	close(sockets[1]);
	close(pipes[1]);
	memcpy(wrong, ((struct wrong_fd[WRONG_FDS]) {
		{ "-1", -1, EBADF },
		{ "the largest number", 0x7fffffff, EBADF },
		{ "the smallest number", 0x80000000, EBADF },
		{ "a closed descriptor", closed, EBADF },
		{ "a descriptor of the path", uverbs_open(end->context, O_PATH), EBADF },
		{ "/dev/null", open("/dev/null", O_RDWR), EINVAL },
		{ "a socket", sockets[0], EINVAL },
		{ "a pipe", pipes[0], EINVAL },
		{ "the file of kdapl itself", end->fd, EINVAL },
		{ "another file of kdapl", dev_open(), EINVAL },
		{ "the completion channel", end->channel->fd, EINVAL },
		{ "the file of asynchronous events", end->context->async_fd, EINVAL },
		{ "the uverbs file of another device", elsewhere->cmd_fd, EINVAL },
	}), WRONG_FDS * sizeof(*wrong));
}

static void close_wrong_fds(const struct wrong_fd *wrong)
{
	close(wrong[4].fd);
	close(wrong[5].fd);
	close(wrong[6].fd);
	close(wrong[7].fd);
	close(wrong[9].fd);
}

/* There are no other types of queue pairs, and the state of one is the CM's affair. */
static bool is_iwarp(const struct end *end)
{
	return end->context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* The DAT_RETURN, or ~0. */
static __u32 pass_with(int fd, __u64 ia, int uverbs_fd, __u32 hints)
{
	struct kdapl_uapi_ia_passthrough arg = {
		.ia = ia, .uverbs_fd = uverbs_fd, .hints = hints };

	return call(fd, KDAPL_IOC_IA_PASSTHROUGH, &arg) ? ~0U : arg.ret;
}

static __u32 pass_on(int fd, __u64 ia, int uverbs_fd)
{
	return pass_with(fd, ia, uverbs_fd, KDAPL_VERBS_ASKED);
}

static bool is_invalid_state(__u32 ret)
{
	return DAT_GET_TYPE(ret) == DAT_INVALID_STATE;
}

static void test_passthrough(struct end *end)
{
	struct ibv_context *elsewhere = context_open(other_device);
	struct kdapl_uapi_ia_passthrough arg = {};
	struct wrong_fd wrong[WRONG_FDS];
	int fd = dev_open(), uverbs_fd = end->context->cmd_fd, i;
	__u64 ia = end_ia_open(end, fd), pz;
	__u32 ret;
	void *page;

	wrong_fds(wrong, end, elsewhere);
	for (i = 0; i < WRONG_FDS; i++) {
		ret = pass_on(fd, ia, wrong[i].fd);
		check(ret == ARG(2), "A8", text_of("passthrough", wrong[i].name), ret);
	}
	close_wrong_fds(wrong);
	pz = pz_create(fd, ia);
	ret = pass_on(fd, ia, uverbs_fd);
	check(is_invalid_state(ret), "A8", "passthrough: of an IA that has a PZ", ret);
	handle_call(fd, KDAPL_IOC_PZ_FREE, pz);
	ia_close(fd, ia, DAT_CLOSE_ABRUPT_FLAG);

	ia = end_ia_open(end, fd);
	ret = evd_create(fd, ia, 8, DAT_EVD_SOFTWARE_FLAG).ret;
	ret = pass_on(fd, ia, uverbs_fd);
	check(is_invalid_state(ret), "A8", "passthrough: of an IA that has an EVD", ret);
	ia_close(fd, ia, DAT_CLOSE_ABRUPT_FLAG);

	ia = end_ia_open(end, fd);
	/* siw, which damages what processes send. */
	if (is_iwarp(end)) {
		ret = pass_with(fd, ia, uverbs_fd, KDAPL_VERBS_OWN_SRQS);
		check(DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED, "A9",
		      "passthrough: not asked for, on iWARP", ret);
	}
	ret = pass_on(fd, ia, uverbs_fd);
	check(!ret, "A8", "passthrough: of an IA just opened", ret);
	ret = pass_on(fd, ia, uverbs_fd);
	check(is_invalid_state(ret), "A8", "passthrough: again", ret);
	ret = ia_close(fd, ia, DAT_CLOSE_GRACEFUL_FLAG);
	check(!ret, "I12", "a graceful close of an IA in passthrough", ret);

	/* The answer cannot be given. */
	page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(page != MAP_FAILED, "mmap");
	arg.ia = end_ia_open(end, fd);
	arg.uverbs_fd = uverbs_fd;
	memcpy(page, &arg, sizeof(arg));
	mprotect(page, page_size(), PROT_READ);
	expect_errno(fd, KDAPL_IOC_IA_PASSTHROUGH, page, EFAULT, "A8",
		     "passthrough: result undeliverable");
	munmap(page, page_size());
	ret = ia_close(fd, arg.ia, DAT_CLOSE_GRACEFUL_FLAG);
	check(!ret, "I12", "the IA closes all the same", ret);
	close(fd);
	ibv_close_device(elsewhere);
}

/* What has no sense without queues of the kernel's. */
static void test_absent(struct end *end)
{
	struct kdapl_uapi_lmr_create lmr = {
		.ia = end->ia, .pz = end->pz, .region = (uintptr_t)end->memory,
		.length = sizeof(end->memory), .privileges = DAT_MEM_PRIV_ALL_FLAG };
	struct kdapl_uapi_dto dto = { .op = KDAPL_OP_RECV };
	struct kdapl_uapi_post post = { .ep = end->ep, .dtos = (uintptr_t)&dto, .count = 1 };
	struct kdapl_uapi_rmr_create rmr = { .pz = end->pz };

	check(!call(end->fd, KDAPL_IOC_LMR_CREATE, &lmr) && is_invalid_state(lmr.ret),
	      "A8", "no LMR of the kernel's in passthrough", lmr.ret);
	check(!call(end->fd, KDAPL_IOC_RMR_CREATE, &rmr) && is_invalid_state(rmr.ret),
	      "A8", "no RMR of the kernel's in passthrough", rmr.ret);
	check(!call(end->fd, KDAPL_IOC_POST, &post) && is_invalid_state(post.ret) &&
	      !post.done, "A8", "no post through the kernel in passthrough", post.ret);
}

/* The other way round. */
static void test_forwarded(struct end *end)
{
	int fd = dev_open();
	__u64 ia = end_ia_open(end, fd), pz = pz_create(fd, ia);
	__u64 evd = evd_create(fd, ia, 8, DAT_EVD_DEFAULT_FLAG).evd;
	struct kdapl_uapi_ep_board slot = { .ep = ep_create(fd, ia, pz, evd, evd) };
	int got;

	check(!call(fd, KDAPL_IOC_EP_BOARD, &slot) && is_invalid_state(slot.ret), "A8",
	      "a forwarded EP has no slot", slot.ret);
	end_qp(end);
	got = bind_as(fd, slot.ep, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(got == REFUSED && is_invalid_state(refusal), "A8",
	      "a forwarded EP takes no queue pair", got);
	check(!ibv_destroy_qp(end->qp), "A8", "which nobody holds", 0);
	got = tell_as(fd, slot.ep, KDAPL_TELL_BROKEN, 0);
	check(got == REFUSED && is_invalid_state(refusal), "A8",
	      "a forwarded EP is told nothing", got);
	end->qp = NULL;
	close(fd);
}

/* ---- the board ----------------------------------------------------------------------- */

static bool is_fresh(const volatile struct kdapl_uapi_board_ep *slot)
{
	return !slot->life && slot->state == DAT_EP_STATE_UNCONNECTED &&
	       !slot->refuse_recv && slot->refuse_request == UNCONNECTED && !slot->flags;
}

static void test_board(struct end *end)
{
	const struct kdapl_uapi_ia_passthrough *p = &end->pass;
	void *map = (void *)end->board, *part;
	int status;
	pid_t pid;

	check(p->board_size && !(p->board_size % page_size()) &&
	      !(p->board_offset % page_size()), "A8",
	      "the board is pages", p->board_size);
	check(is_fresh(end->slot), "A8", "a new EP: Unconnected, receives are taken",
	      end->slot->refuse_request);
	expect_no_map(end->fd, p->board_offset, p->board_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED, EPERM, "board writable");
	expect_no_map(end->fd, p->board_offset, p->board_size, PROT_READ | PROT_EXEC,
		      MAP_SHARED, EPERM, "board executable");
	expect_no_map(end->fd, p->board_offset, p->board_size, PROT_READ, MAP_PRIVATE,
		      EINVAL, "board private");
	expect_no_map(end->fd, p->board_offset, p->board_size + page_size(), PROT_READ,
		      MAP_SHARED, EINVAL, "more than the board");
	part = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, end->fd, p->board_offset);
	check(part != MAP_FAILED, "A8", "the beginning of the board", errno);
	munmap(part, page_size());
	check(mprotect(map, p->board_size, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
	      "A8", "board made writable later", errno);
	check(mprotect(map, p->board_size, PROT_READ | PROT_EXEC) < 0 && errno == EACCES,
	      "A8", "board made executable later", errno);
	check(mremap(map, p->board_size, p->board_size + page_size(), MREMAP_MAYMOVE) ==
	      MAP_FAILED, "A8", "board stretched", errno);
	madvise(map, p->board_size, MADV_DONTNEED);
	check(is_fresh(end->slot), "A8", "the board comes back when dropped", 0);
	/* It would keep the file open, and its parent's connections with it. */
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		status = end->slot->state;
		_exit(status ? 1 : 2);
	}
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "A8",
	      "a forked child has no board", status);
}

#define MANY	100	/* more than a page has slots for */

static void test_slots(struct end *end)
{
	const volatile struct kdapl_uapi_board_ep *slots[MANY], *used;
	struct end second = { .device = device, .context = end->context };
	__u64 eps[MANY];
	int i, j;

	for (i = 0; i < MANY; i++) {
		eps[i] = end_new_ep(end);
		slots[i] = slot_of(end, eps[i]);
		for (j = 0; j < i && slots[i] != slots[j]; j++)
			;
		if (j < i || slots[i] == end->slot || !is_fresh(slots[i]) ||
		    slot_of(end, eps[i]) != slots[i])
			break;
	}
	check(i == MANY, "A8", "each EP has a slot of its own, the same each time", i);
	for (j = 0; j < i; j++)
		handle_call(end->fd, KDAPL_IOC_EP_FREE, eps[j]);

	end_qp(end);
	check(!end_bind(end), "A8", "bind", refusal);
	check(end->life, "A8", "a bind has a life", end->life);
	used = end->slot;
	check(used->life == end->life, "A8", "which the board shows", used->life);
	/* Used again, sooner or later, as if new. */
	for (i = 0; i < 10 * MANY && end_renew(end) && end->slot != used; i++)
		;
	check(end->slot == used && is_fresh(used), "A8", "the slot of a freed EP is as new",
	      used->life);

	second.fd = end->fd;
	second.context = end->context;
	second.ia = end_ia_open(&second, end->fd);
	check(end_pass(&second) &&
	      second.pass.board_offset == end->pass.board_offset &&
	      second.pass.board_size == end->pass.board_size, "A8",
	      "two IAs of a file have one board", second.pass.ret);
	second.board = end->board;
	second.pz = pz_create(end->fd, second.ia);
	second.evd = evd_create(end->fd, second.ia, 8, DAT_EVD_DEFAULT_FLAG).evd;
	check(slot_of(&second, end_new_ep(&second)) != end->slot, "A8",
	      "and EPs of both have slots of their own", 0);
	ia_close(end->fd, second.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* What an eventfd was told since the last time */
static __u64 told(int eventfd)
{
	__u64 count = 0;

	return read(eventfd, &count, sizeof(count)) < 0 ? 0 : count;
}

static int board_event(int fd, int eventfd, __u32 *ret)
{
	struct kdapl_uapi_board_event arg = { .eventfd = eventfd };
	int err = ioctl(fd, KDAPL_IOC_BOARD_EVENT, &arg) ? errno : 0;

	*ret = arg.ret;
	return err;
}

static void test_board_event(struct end *end)
{
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), other = eventfd(0, EFD_NONBLOCK);
	struct wrong_fd wrong[WRONG_FDS];
	struct ibv_context *elsewhere = context_open(other_device);
	__u32 ret;
	int i, got;

	need(event >= 0 && other >= 0, "eventfds");
	wrong_fds(wrong, end, elsewhere);
	for (i = 0; i < WRONG_FDS; i++) {
		got = board_event(end->fd, wrong[i].fd, &ret);
		check(got == (wrong[i].bind_errno == EBADF ? EBADF : EINVAL), "A8",
		      text_of("board event", wrong[i].name), got);
	}
	close_wrong_fds(wrong);
	ibv_close_device(elsewhere);
	end_qp(end);
	check(!end_bind(end), "A8", "bind, and nobody asks to be told", refusal);
	end_tell(end, KDAPL_TELL_UNBIND);
	check(!board_event(end->fd, event, &ret) && !ret, "A8", "an eventfd", ret);
	check(!board_event(end->fd, other, &ret) && DAT_GET_TYPE(ret) == DAT_INVALID_STATE, "A8",
	      "a second eventfd of a file", ret);
	check(!board_event(end->fd, event, &ret) && DAT_GET_TYPE(ret) == DAT_INVALID_STATE, "A8",
	      "the same one again", ret);
	close(other);
	check(!told(event), "A8", "it is not told of what was before", 0);
	check(!ibv_destroy_qp(end->qp), "A8", "nobody holds the queue pair", 0);
	end->qp = NULL;
	end_qp(end);
	check(!end_bind(end) && told(event), "A8", "it is told of a bind", refusal);
	end_tell(end, KDAPL_TELL_UNBIND);
	check(told(event), "A8", "and of its end", 0);
	end_state(end);
	check(!told(event), "A8", "but not of a query", 0);
	/* The file has it for as long as it lives. */
	close(event);
	check(!ibv_destroy_qp(end->qp), "A8", "nobody holds the queue pair any more", 0);
	end->qp = NULL;
	end_qp(end);
	check(!end_bind(end), "A8", "bind, and the eventfd is closed", refusal);
	end_tell(end, KDAPL_TELL_UNBIND);
	check(!ibv_destroy_qp(end->qp), "A8", "and nobody holds that queue pair", 0);
	end->qp = NULL;
}

/* ---- what is no queue pair of the process's ------------------------------------------ */

/* @got is what a bind of the end's EP gave; nothing is held. */
static void refused(struct end *end, int got, int want, const char *what)
{
	check(got == want, "A8", text_of("bind", what), got);
	if (!got)
		end_tell(end, KDAPL_TELL_UNBIND);
}

static void test_bind_fds(struct end *end)
{
	struct ibv_context *elsewhere = context_open(other_device);
	struct ibv_context *again = context_open(device);
	struct wrong_fd wrong[WRONG_FDS];
	int bare = uverbs_open(end->context, O_RDWR), got, i;

	end_qp(end);
	wrong_fds(wrong, end, elsewhere);
	for (i = 0; i < WRONG_FDS; i++)
		refused(end, bind_as(end->fd, end->ep, wrong[i].fd, end->qp->qp_num,
				     &end->life), wrong[i].bind_errno, wrong[i].name);
	close_wrong_fds(wrong);
	refused(end, bind_as(end->fd, end->ep, again->cmd_fd, end->qp->qp_num,
			     &end->life), ENOENT, "through another context of the process");
	refused(end, bind_as(end->fd, end->ep, bare, end->qp->qp_num, &end->life), ENOENT,
		"through a uverbs file without a context");
	close(bare);
	got = bind_as(end->fd, end->pz, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(got == REFUSED && DAT_GET_TYPE(refusal) == DAT_INVALID_HANDLE, "E5",
	      "bind: to a PZ", got);
	check(!ibv_destroy_qp(end->qp), "A8", "nobody holds the queue pair", 0);
	end->qp = NULL;
	ibv_close_device(again);
	ibv_close_device(elsewhere);
}

/* On the wire its packets would go nowhere; nothing is sent. */
static int qp_to_rtr(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_256, .dest_qp_num = 1,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } },
	};

	if (ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid))
		return errno;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static int qp_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 1, .max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Takes @qp away; @state is its way there, for a message. */
static void bad_qp(struct end *end, struct ibv_qp *qp, bool made, int want,
		   const char *what)
{
	need(qp && made, what);
	refused(end, bind_as(end->fd, end->ep, end->context->cmd_fd, qp->qp_num,
			     &end->life), want, what);
	check(!ibv_destroy_qp(qp), "A8", text_of("and nobody holds it", what), 0);
}

static void test_bind_qps(struct end *end)
{
	static const __u32 numbers[] = { 0, 1, 2, 0xabcdef, 0xffffff, 1 << 24, 1 << 24 | 1,
					 2 << 24 | 1, 0x7fffffff, 0x80000000, ~0U };
	struct ibv_qp *qp;
	char text[64];
	unsigned int i;
	__u32 gone;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(text, sizeof(text), "number %#x", numbers[i]);
		refused(end, bind_as(end->fd, end->ep, end->context->cmd_fd, numbers[i],
				     &end->life), ENOENT, text);
	}
	if (is_iwarp(end))
		return;
	qp = qp_new(end, IBV_QPT_UD);
	bad_qp(end, qp, qp && !qp_init(qp), EINVAL, "an UD queue pair");
	qp = qp_new(end, IBV_QPT_UC);
	if (qp)
		bad_qp(end, qp, !qp_init(qp), EINVAL, "an UC queue pair");
	bad_qp(end, qp_new(end, IBV_QPT_RC), true, EINVAL, "in RESET");
	qp = qp_new(end, IBV_QPT_RC);
	bad_qp(end, qp, qp && !qp_init(qp) && !qp_to_rtr(qp), EINVAL, "in RTR");
	qp = qp_new(end, IBV_QPT_RC);
	bad_qp(end, qp, qp && !qp_init(qp) && !qp_to_rtr(qp) && !qp_to_rts(qp), EINVAL,
	       "in RTS");
	qp = qp_new(end, IBV_QPT_RC);
	bad_qp(end, qp, qp && !qp_init(qp) && !qp_move(qp, IBV_QPS_ERR), EINVAL, "in ERR");
	qp = qp_new(end, IBV_QPT_RC);
	need(qp && !qp_init(qp), "a queue pair");
	gone = qp->qp_num;
	need(!ibv_destroy_qp(qp), "destroy a queue pair");
	refused(end, bind_as(end->fd, end->ep, end->context->cmd_fd, gone, &end->life),
		ENOENT, "a destroyed queue pair");
}

/*
 * Queue pairs of the kernel and of other contexts: of all numbers that the device gives out
 * only our own is good.
 */
static void test_every_number(struct end *end)
{
	struct kdapl_uapi_lmr_create lmr = {
		.region = (uintptr_t)end->memory, .length = sizeof(end->memory),
		.privileges = DAT_MEM_PRIV_ALL_FLAG };
	struct end other = { .device = device };
	int fd = dev_open(), good = 0, odd = 0, found = -1, got;
	__u32 number, top;

	/* Of another context, which might be another process's. */
	end_verbs(&other);
	end_qp(&other);
	/* The registrar of a PZ is a queue pair of the kernel's. */
	lmr.ia = end_ia_open(end, fd);
	lmr.pz = pz_create(fd, lmr.ia);
	need(!call(fd, KDAPL_IOC_LMR_CREATE, &lmr) && !lmr.ret, "a forwarded LMR");
	end_qp(end);
	top = end->qp->qp_num + 64;
	for (number = 0; number <= top; number++) {
		got = bind_as(end->fd, end->ep, end->context->cmd_fd, number, &end->life);
		if (!got) {
			good++;
			found = number;
			end_tell(end, KDAPL_TELL_UNBIND);
		} else if (got != ENOENT) {
			odd++;
		}
	}
	check(good == 1 && found == (int)end->qp->qp_num && !odd, "A8",
	      "bind: of all numbers our own is good, the others are not there", good + odd);
	check(!ibv_destroy_qp(end->qp), "A8", "and is free again", 0);
	check(!ibv_destroy_qp(other.qp), "A8", "as is the other context's", 0);
	end->qp = NULL;
	close(fd);
	ibv_dereg_mr(other.mr);
	ibv_destroy_cq(other.cq);
	ibv_destroy_comp_channel(other.channel);
	ibv_dealloc_pd(other.verbs_pd);
	ibv_close_device(other.context);
}

/* ---- bound ----------------------------------------------------------------------------- */

static void test_bound(struct end *end)
{
	struct kdapl_uapi_ep_bind *page;
	__u64 second = end_new_ep(end);
	struct ibv_qp *spare = qp_new(end, IBV_QPT_RC);
	struct end mine;
	int got;
	__u32 ret;

	need(spare && !qp_init(spare), "a spare queue pair");
	ret = end_connect(end, &end->address, 9);
	check(is_invalid_state(ret), "A8", "connect without a queue pair", ret);
	page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(page != MAP_FAILED, "mmap");
	*page = (struct kdapl_uapi_ep_bind) {
		.ep = end->ep, .uverbs_fd = end->context->cmd_fd, .qp_num = spare->qp_num };
	mprotect(page, page_size(), PROT_READ);
	expect_errno(end->fd, KDAPL_IOC_EP_BIND, page, EFAULT, "A8",
		     "bind: result undeliverable");
	munmap(page, page_size());
	got = ibv_destroy_qp(spare);
	check(!got, "A8", "which holds nothing", got);
	spare = qp_new(end, IBV_QPT_RC);
	need(spare && !qp_init(spare), "a spare queue pair");

	end_qp(end);
	got = end_bind(end);
	check(!got, "A8", "bind: a good one", got);
	got = ibv_destroy_qp(end->qp);
	check(got == EBUSY, "A8", "a bound queue pair is not destroyed", got);
	got = bind_as(end->fd, end->ep, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(got == REFUSED && is_invalid_state(refusal), "A8", "bind: the same again", got);
	got = bind_as(end->fd, end->ep, end->context->cmd_fd, spare->qp_num, NULL);
	check(got == REFUSED && is_invalid_state(refusal), "A8", "bind: a second one", got);
	got = ibv_destroy_qp(spare);
	check(!got, "A8", "which nobody holds", got);
	got = bind_as(end->fd, second, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(got == EBUSY, "A8", "bind: the same to another EP", got);
	end_open(&mine, device);
	got = bind_as(mine.fd, mine.ep, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(got == EBUSY, "A8", "bind: the same through another file", got);

	got = end_tell(end, KDAPL_TELL_UNBIND);
	check(!got, "A8", "unbind", got);
	/* It may have been used: it is let go in error, and for no other connection. */
	if (!is_iwarp(end)) {
		got = bind_as(mine.fd, mine.ep, end->context->cmd_fd, end->qp->qp_num,
			      NULL);
		check(got == EINVAL && qp_state(end->qp) == IBV_QPS_ERR, "A7",
		      "bind: one that was bound before", got);
	}
	got = ibv_destroy_qp(end->qp);
	check(!got, "A8", "which nobody holds", got);
	end_qp(end);
	got = bind_as(mine.fd, mine.ep, end->context->cmd_fd, end->qp->qp_num, NULL);
	check(!got, "A8", "bind: through a file that is not the owner's of the context", got);
	end_close(&mine);
	got = ibv_destroy_qp(end->qp);
	check(!got, "A8", "destroyed when that file is closed", got);

	end_qp(end);
	got = end_bind(end);
	check(!got, "A8", "bind: another one", got);
	got = handle_call(end->fd, KDAPL_IOC_EP_FREE, end->ep);
	check(!got, "F1", "free the EP it is bound to", got);
	got = ibv_destroy_qp(end->qp);
	check(!got, "A8", "destroyed when its EP is free", got);
	end->qp = NULL;
	end->ep = second;
	end->slot = slot_of(end, second);
}

/* ---- shared receive queues --------------------------------------------------------------- */

static struct ibv_qp *qp_on(const struct end *end, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq, .recv_cq = end->cq, .srq = srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DTOS, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(end->verbs_pd, &attr);

	return qp && !qp_init(qp) ? qp : NULL;
}

static struct ibv_srq *srq_new(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DTOS, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

/* The asynchronous event of the IA that comes next, or 0. */
static __s32 next_news(int fd, __u64 evd, unsigned int ms, __u64 srq)
{
	struct kdapl_uapi_evd_dequeue arg = { .evd = evd };

	if (evd_wait(fd, evd, 1, ms * 1000, NULL) ||
	    call(fd, KDAPL_IOC_EVD_DEQUEUE, &arg) || arg.ret ||
	    arg.event.async.handle != srq)
		return 0;
	return arg.event.async.reason;
}

static __u32 srq_tell(int fd, __u64 srq, __u32 what)
{
	struct kdapl_uapi_srq_tell arg = { .srq = srq, .what = what };

	return call(fd, KDAPL_IOC_SRQ_TELL, &arg) ? ~0U : arg.ret;
}

/* The kernel's half of an SRQ: what its process tells, true or not. */
static void test_srq_tells(int fd, __u64 srq, __u64 async)
{
	struct kdapl_uapi_srq_count mark = { .srq = srq, .count = 1 };
	struct kdapl_uapi_srq_query query = { .srq = srq };
	struct kdapl_uapi_dto dto = { .op = KDAPL_OP_RECV };
	struct kdapl_uapi_post post = { .ep = srq, .dtos = (uintptr_t)&dto, .count = 1 };
	__s32 got;

	check(!call(fd, KDAPL_IOC_SRQ_POST, &post) && is_invalid_state(post.ret) && !post.done,
	      "A8", "no post through the kernel to an SRQ in passthrough", post.ret);
	check(!srq_tell(fd, srq, KDAPL_SRQ_TELL_LOW), "mt:M61", "a mark that is not set", 0);
	check(!call(fd, KDAPL_IOC_SRQ_SET_LW, &mark) && !mark.ret, "mt:M61", "set it",
	      mark.ret);
	check(!srq_tell(fd, srq, KDAPL_SRQ_TELL_LOW) && !srq_tell(fd, srq, KDAPL_SRQ_TELL_LOW) &&
	      !srq_tell(fd, srq, KDAPL_SRQ_TELL_ERROR) &&
	      !srq_tell(fd, srq, KDAPL_SRQ_TELL_ERROR), "mt:M61", "told twice", 0);
	got = next_news(fd, async, PATIENCE, srq);
	check(got == DAT_SRQ_LOW_WATERMARK_EVENT, "mt:M61", "is reached once, when set", got);
	got = next_news(fd, async, PATIENCE, srq);
	check(got == DAT_SRQ_TRANSFER_TO_ERROR, "mt:M65", "and the queue lost once", got);
	got = next_news(fd, async, 100, srq);
	check(!got, "mt:M61", "and no more", got);
	check(!call(fd, KDAPL_IOC_SRQ_QUERY, &query) && query.state == DAT_SRQ_STATE_ERROR,
	      "mt:M65", "which a query shows", query.state);
}

/* What it tells of its completion queues; an IA whose queues are the kernel's hears nothing. */
static void test_cq_fault(int fd, const struct kdapl_uapi_ia_open *ia)
{
	struct kdapl_uapi_ia_open kernels;
	char name[32];
	__s32 got;

	snprintf(name, sizeof(name), "%s-1", device);
	kernels = ia_open_named(fd, name);
	got = handle_call(fd, KDAPL_IOC_IA_CQ_FAULT, kernels.ia);
	check(is_invalid_state(got), "A8", "no fault of a queue of the kernel's", got);
	got = next_news(fd, kernels.async_evd, 100, kernels.ia);
	check(!got, "E72", "nor is it told of", got);
	ia_close(fd, kernels.ia, DAT_CLOSE_ABRUPT_FLAG);
	got = handle_call(fd, KDAPL_IOC_IA_CQ_FAULT, ia->ia);
	check(!got, "E72", "a queue that cannot be polled", got);
	got = next_news(fd, ia->async_evd, PATIENCE, ia->ia);
	check(got == DAT_IA_OTHER_ERROR, "E72", "is told of", got);
}

/* Queue pairs and endpoints, with an SRQ and without. */
static void test_srqs(struct end *end)
{
	struct ibv_srq *verbs = srq_new(end->verbs_pd), *foreign;
	struct kdapl_uapi_srq_create srq = {
		.ia = end->ia, .pz = end->pz, .max_recv_dtos = DTOS, .max_recv_iov = 1 };
	struct kdapl_uapi_ia_passthrough pass = { .uverbs_fd = end->context->cmd_fd };
	struct kdapl_uapi_ep_create_with_srq ep = { .flags = KDAPL_EP_HAS_ATTR };
	struct ibv_context *again = context_open(device);
	struct kdapl_uapi_ia_open ia;
	struct end own = *end;
	char name[32];
	int fd, got;

	need(verbs, "an SRQ of verbs");
	check(!call(end->fd, KDAPL_IOC_SRQ_CREATE, &srq) &&
	      DAT_GET_TYPE(srq.ret) == DAT_MODEL_NOT_SUPPORTED, "mt:M48",
	      "no SRQ on an IA whose process has no queues for them", srq.ret);
	bad_qp(end, qp_on(end, verbs), true, EINVAL, "on an SRQ, to an EP that is on none");

	fd = dev_open();
	snprintf(name, sizeof(name), "%s-1", device);
	ia = ia_open_named(fd, name);
	pass.ia = ia.ia;
	pass.hints = KDAPL_VERBS_OWN_SRQS | KDAPL_VERBS_ASKED;
	need(!call(fd, KDAPL_IOC_IA_PASSTHROUGH, &pass) && !pass.ret, "passthrough");
	srq.ia = ia.ia;
	srq.pz = pz_create(fd, ia.ia);
	need(!call(fd, KDAPL_IOC_SRQ_CREATE, &srq) && !srq.ret, "an SRQ");
	ep.ia = ia.ia;
	ep.pz = srq.pz;
	ep.srq = srq.srq;
	ep.recv_evd = evd_create(fd, ia.ia, 64, DAT_EVD_DEFAULT_FLAG).evd;
	ep.request_evd = ep.recv_evd;
	ep.connect_evd = ep.recv_evd;
	ep.attr.max_recv_dtos = DTOS;
	ep.attr.max_request_dtos = DTOS;
	ep.attr.max_request_iov = 1;
	need(!call(fd, KDAPL_IOC_EP_CREATE_WITH_SRQ, &ep) && !ep.ret, "an EP on it");
	got = handle_call(fd, KDAPL_IOC_SRQ_FREE, srq.srq);
	check(got == (int)ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE), "mt:M52",
	      "an SRQ in passthrough that an EP is on", got);
	own.fd = fd;
	own.ep = ep.ep;
	own.qp = qp_new(end, IBV_QPT_RC);
	bad_qp(&own, own.qp, own.qp && !qp_init(own.qp), EINVAL,
	       "with receives of its own, to an EP on an SRQ");

	foreign = srq_new(ibv_alloc_pd(again));
	need(foreign, "an SRQ of another context");
	check(!qp_on(end, foreign), "A8", "uverbs has no queue pair on another context's SRQ",
	      0);
	own.qp = qp_on(end, verbs);
	need(own.qp, "a queue pair on an SRQ");
	got = bind_as(fd, ep.ep, again->cmd_fd, own.qp->qp_num, NULL);
	check(got == ENOENT, "A8", "bind: on an SRQ, through another context", got);
	got = end_bind(&own);
	check(!got, "A8", "bind: on an SRQ, to an EP on one", got);
	check(ibv_destroy_srq(verbs) == EBUSY, "A8", "the queue pair keeps that", errno);
	test_srq_tells(fd, srq.srq, ia.async_evd);
	test_cq_fault(fd, &ia);
	got = handle_call(fd, KDAPL_IOC_EP_FREE, ep.ep);
	check(!got, "F1", "free the EP", got);
	got = handle_call(fd, KDAPL_IOC_SRQ_FREE, srq.srq);
	check(!got, "mt:M52", "and the SRQ", got);
	check(!ibv_destroy_qp(own.qp) && !ibv_destroy_srq(verbs), "A8", "nobody holds them", 0);
	close(fd);
	ibv_close_device(again);
}

/* An IA closes over it, and a file. */
static void test_closed_over(void)
{
	struct end end;
	int got;

	end_open(&end, device);
	end_qp(&end);
	need(!end_bind(&end), "bind");
	ia_close(end.fd, end.ia, DAT_CLOSE_ABRUPT_FLAG);
	got = ibv_destroy_qp(end.qp);
	check(!got, "I14", "destroyed when the IA is closed", got);
	end.qp = NULL;
	end_close(&end);

	end_open(&end, device);
	end_qp(&end);
	need(!end_bind(&end), "bind");
	end_close_file(&end);
	got = ibv_destroy_qp(end.qp);
	check(!got, "I19", "destroyed when the file is closed", got);
	end.fd = dev_open();
	end.ia = end_ia_open(&end, end.fd);
	end_objects(&end);
	/* The uverbs file goes first: it is held for as long as the queue pair. */
	end_qp(&end);
	need(!end_bind(&end), "bind");
	close(end.context->cmd_fd);
	check(end_state(&end) == DAT_EP_STATE_UNCONNECTED, "I19",
	      "the uverbs descriptor is closed under a bound queue pair", end_state(&end));
	got = handle_call(end.fd, KDAPL_IOC_EP_FREE, end.ep);
	check(!got, "F1", "and its EP freed", got);
	close(end.fd);
}

int main(int argc, char **argv)
{
	struct end end;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		device = argv[1];
	if (argc > 2)
		other_device = argv[2];
	end_open(&end, device);
	test_passthrough(&end);
	test_absent(&end);
	test_forwarded(&end);
	test_board(&end);
	test_slots(&end);
	test_board_event(&end);
	test_bind_fds(&end);
	test_bind_qps(&end);
	test_every_number(&end);
	test_bound(&end);
	test_srqs(&end);
	test_closed_over();
	ret = ia_close(end.fd, end.ia, DAT_CLOSE_GRACEFUL_FLAG);
	check(DAT_GET_TYPE(ret) == DAT_INVALID_STATE, "I12",
	      "a graceful close while the EP is there", ret);
	ret = ia_close(end.fd, end.ia, DAT_CLOSE_ABRUPT_FLAG);
	check(!ret, "I14", "an abrupt one", ret);
	end_close(&end);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
