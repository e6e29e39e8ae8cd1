// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of the process's own (passthrough): made through uverbs as libdat does, lent to
 * endpoints, and used while they are lent: posted to, moved, destroyed.
 *
 * Verbs themselves are used within their rules: what is fuzzed is what /dev/kdapl makes of
 * them.  One thread of a life at a time is here.
 */
#include <string.h>
#include "fuzz.h"

static struct ibv_device **devices;

/* Once, before there are lives: all drivers are loaded, which takes longer than most lives. */
void verbs_list(void)
{
	devices = ibv_get_device_list(NULL);
}

static struct ibv_context *context_of(const char *ia_name)
{
	size_t length = strcspn(ia_name, "-");
	const char *name;
	int i;

	for (i = 0; devices && devices[i]; i++) {
		name = ibv_get_device_name(devices[i]);
		if (strlen(name) == length && !strncmp(name, ia_name, length))
			return ibv_open_device(devices[i]);
	}
	return NULL;
}

static bool side_verbs(struct side *side)
{
	struct verbs *v = &side->verbs;

	v->context = context_of(side->ia_name);
	if (!v->context)
		return false;
	v->pd = ibv_alloc_pd(v->context);
	v->cq = ibv_create_cq(v->context, 4 * QUEUE, NULL, NULL, 0);
	if (v->pd)
		v->mr = ibv_reg_mr(v->pd, side->area, AREA, IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	return v->pd && v->cq && v->mr;
}

bool verbs_open(struct life *life)
{
	return side_verbs(&life->sides[0]) && side_verbs(&life->sides[1]);
}

/* In INIT */
static void make_qp(struct verbs *v, unsigned int place)
{
	struct ibv_qp_init_attr init = {
		.send_cq = v->cq, .recv_cq = v->cq, .qp_type = IBV_QPT_RC,
		.cap = { QUEUE, QUEUE, 2, 2, 0 }, .sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp(v->pd, &init);

	if (!qp)
		return;
	v->qps[place] = qp;
	v->fresh[place] = !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					 IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* The place of a queue pair that can be bound, for which an old one may have to go; or -1 */
static int fresh_place(struct worker *w, struct verbs *v)
{
	unsigned int i, first = below(w, QPS), place;

	for (i = 0; i < QPS; i++) {
		place = (first + i) % QPS;
		if (v->qps[place] && v->fresh[place])
			return place;
	}
	for (i = 0; i < QPS; i++) {
		place = (first + i) % QPS;
		/* One that is bound stays. */
		if (v->qps[place] && ibv_destroy_qp(v->qps[place]))
			continue;
		v->qps[place] = NULL;
		make_qp(v, place);
		return v->qps[place] ? (int)place : -1;
	}
	return -1;
}

uint32_t verbs_fresh(struct worker *w, unsigned int side)
{
	struct verbs *v = &w->life->sides[side].verbs;
	uint32_t number = 0;
	int place;

	if (!v->context)
		return 0;
	pthread_mutex_lock(&w->life->verbs_lock);
	place = fresh_place(w, v);
	if (place >= 0) {
		number = v->qps[place]->qp_num;
		v->fresh[place] = false;
	}
	pthread_mutex_unlock(&w->life->verbs_lock);
	return number;
}

bool verbs_bind(struct worker *w, unsigned int side, uint64_t ep)
{
	return RUN(w, KDAPL_IOC_EP_BIND, side, SET(ep_bind, ep, ep)) && went(w);
}

/* ---- what is done with one that may be bound ---------------------------------------------- */

static struct ibv_sge draw_sge(struct worker *w, const struct side *side)
{
	return (struct ibv_sge) {
		.addr = (uintptr_t)side->area + below(w, AREA / 2),
		.length = below(w, AREA / 4),
		.lkey = percent(w, 90) ? side->verbs.mr->lkey : (uint32_t)draw64(w),
	};
}

static void post_some(struct worker *w, const struct side *side, const struct side *peer,
		      struct ibv_qp *qp)
{
	struct ibv_sge sge = draw_sge(w, side);
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = percent(w, 60) ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.wr.rdma.remote_addr = (uintptr_t)peer->area,
		.wr.rdma.rkey = peer->verbs.mr->rkey,
	}, *bad_send;

	if (percent(w, 50))
		ibv_post_recv(qp, &recv, &bad_recv);
	else
		ibv_post_send(qp, &send, &bad_send);
}

static void move(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

void verbs_step(struct worker *w, unsigned int side)
{
	struct side *s = &w->life->sides[side], *peer = &w->life->sides[!side];
	unsigned int place = below(w, QPS);
	struct ibv_wc wc[8];
	struct ibv_qp *qp;

	if (!s->verbs.mr || !peer->verbs.mr || !take_number(w, "verbs"))
		return;
	pthread_mutex_lock(&w->life->verbs_lock);
	qp = s->verbs.qps[place];
	switch (qp ? below(w, 8) : 7) {
	case 0:
		move(qp, IBV_QPS_ERR);
		break;
	case 1:
		if (!ibv_destroy_qp(qp))
			s->verbs.qps[place] = NULL;
		break;
	case 2:
	case 3:
	case 4:
		post_some(w, s, peer, qp);
		break;
	default:
		ibv_poll_cq(s->verbs.cq, ARRAY_SIZE(wc), wc);
	}
	pthread_mutex_unlock(&w->life->verbs_lock);
	call_over(w);
}
