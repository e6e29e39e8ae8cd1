/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fuzzer of /dev/kdapl: processes of an unprivileged user that make every call of the ABI
 * with good, nearly good and hostile contents, and map, poll, fork and die meanwhile.
 *
 * table.c describes the calls, field by field; draw.c fills a call in; call.c makes it, judges
 * the answer, and remembers what it made (objects.c), so that later calls go deeper; steps.c
 * is what a process does next, verbs.c what it does with queue pairs of its own; life.c is a
 * process from its birth to its death; canary.c is a peaceful one beside them.  main.c starts
 * them, watches them, and sums up.
 *
 * The calls of a process are numbered.  Each draws from random numbers of its own, made of the
 * seed, the process and the number, and LIFE calls are a life: so any life can be had again
 * by itself.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <dat/udat.h>
#include <rdma/kdapl.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PROCS		4	/* at a time */
#define THREADS		3	/* of a life, at most */
#define LIFE		1000	/* calls */
#define FILES		2	/* of a life: side 0 uses the first device, side 1 the other */
#define OBJECTS		128	/* that a life remembers */
#define PAGE		4096
#define AREA		(16 * PAGE)	/* to register, of each side */
#define PAYLOAD		(16 * PAGE)	/* for what a structure points to, of each thread */
#define MAX_CALLS	72
#define MAX_COSTS	96	/* calls, and what else has a number */
#define MAX_STRUCT	2048
#define MAPS		16
#define POLL_FDS	16
#define QPS		8
#define QUEUE		16	/* of a queue pair, in each direction */
/* What is written where the kernel should not write. */
#define REDZONE		0xa5

enum type {
	T_CR, T_EP, T_EVD, T_IA, T_LMR, T_PSP, T_PZ, T_RMR, T_RSP, T_SRQ, TYPES
};

/* ---- the table ------------------------------------------------------------------- */

/* What a field is; @aux of struct field says more */
enum kind {
	RET,		/* the DAT_RETURN */
	PAD,		/* has to be zero */
	ANSWER,		/* written by the kernel */
	IGNORED,	/* neither */
	HANDLE,		/* of an object of the type @aux; GOOD_FOR() */
	HANDLE_OR_IA,	/* of the type @aux, or of an IA */
	ANY_HANDLE,
	MAYBE_HANDLE,	/* of the type @aux, or none */
	BITS,		/* flags: a subset of @aux */
	ONE_OF,		/* an enumeration: below @aux */
	EXACT,		/* @aux */
	NUMBER,		/* about @aux */
	MASK,		/* of a query: all bits up to @aux */
	COUNT,		/* of what a POINTER names; good up to @aux */
	POINTER,	/* to an array of shape @aux; @count is where its COUNT is */
	REGION,		/* address or LMR */
	LENGTH,		/* of that */
	LKEY, ADDRESS, EXTENT,		/* a local segment */
	RKEY, TARGET, TARGET_EXTENT,	/* a remote one */
	COOKIE, NAME, SOCKADDR, QUAL, NEW_QUAL, TIMEOUT, DEADLINE, VERBS_FD, EVENT_FD, QP_NUM,
	BOUND_LIFE, EVENT_LIFE, SOFTWARE
};

/* What a POINTER leads to */
enum shape { SEGMENTS, DTOS, BYTES_IN, BYTES_OUT, PROVIDERS_OUT, SHAPES };

/* @out: the kernel may write it, too. */
struct field {
	const char *name;
	uint16_t at, size;
	enum kind kind;
	bool out;
	uint64_t aux;
	uint16_t count;
};

struct call {
	const char *name;
	unsigned int cmd;
	const struct field *fields;
	unsigned int nr_fields;
	unsigned int weight;	/* how often it is chosen */
};

struct shape_of {
	unsigned int size;
	const struct field *fields;
	unsigned int nr_fields;
};

extern const struct call calls[];
extern const unsigned int nr_calls;
extern const struct shape_of shapes[];
const struct call *call_of(unsigned int cmd);

/* It has struct kdapl_uapi_post. */
static inline bool is_post(unsigned int cmd)
{
	return cmd == KDAPL_IOC_POST || cmd == KDAPL_IOC_SRQ_POST;
}

/* Says what is missing; true: every call of the header is there, and every byte of each. */
bool table_check(void);

/* ---- a life ---------------------------------------------------------------------- */

/* In the @aux of a handle: of the type, best of all with these flags of struct object */
#define GOOD_FOR(_type, _flags)	((_type) | (uint64_t)(_flags) << 8)
#define AUX_TYPE(aux)		((enum type)((aux) & 0xff))
#define AUX_FLAGS(aux)		((uint32_t)((aux) >> 8))

#define CONNECTED	1	/* EP */

struct object {
	enum type type;
	uint8_t side;
	bool alive;
	uint32_t flags;			/* EVD: of its making */
	uint64_t handle, ia;
	uint64_t address, length;	/* LMR: of the memory */
	uint64_t evd;			/* PSP, EP: where connections are told */
	uint64_t qual;
	uint32_t lkey, rkey, bound_life, event_life;
	struct kdapl_uapi_ring ring;
};

struct mapping {
	void *at;
	size_t size;
	enum { NO_MAP, DATA_MAP, INDEX_MAP, BOARD_MAP } what;
	struct kdapl_uapi_ring ring;
};

/* What a side has through uverbs. */
struct verbs {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qps[QPS];
	bool fresh[QPS];	/* in INIT, and not bound */
};

struct side {
	const char *ia_name;
	int fd;
	unsigned int file;	/* which one it is, of those that it was */
	uint8_t *area;
	struct kdapl_uapi_ia_passthrough pass;
	struct verbs verbs;
};

enum end { END_EXIT, END_CLOSE, END_KILL };

struct worker {
	struct life *life;
	unsigned int index;
	pthread_t thread;
	uint64_t rng;
	uint64_t number;		/* of the call */
	const char *name;		/* of the call, and when it began */
	uint64_t began_us, began_cpu_us;
	uint8_t *page;			/* the structure: between redzones, or up to a hole */
	uint8_t *payload;
	unsigned int used;		/* of the payload */
	struct zone {
		const uint8_t *from;
		unsigned int size;
	} zones[4];
	unsigned int nr_zones;
	timer_t timer;
	/* What came of the last call: errno, DAT_RETURN, the structure */
	int err;
	uint32_t ret;
	union {
		uint8_t bytes[MAX_STRUCT];
		uint64_t words[MAX_STRUCT / 8];
	} before, after;
	volatile bool guarded;		/* an access may fail */
	sigjmp_buf jump;
};

struct life {
	unsigned int process;
	uint64_t next, end;		/* numbers of calls */
	unsigned int threads;
	enum end how;
	uint64_t kill_at;
	bool passthrough, bare;
	struct side sides[FILES];
	pthread_mutex_t lock;		/* objects, descriptors */
	struct object objects[OBJECTS];
	unsigned int nr_objects;
	int poll_fds[POLL_FDS];
	int event_fd;			/* an eventfd */
	pthread_mutex_t map_lock, verbs_lock;
	struct mapping maps[MAPS];
	uint8_t *scribbled;		/* a page that the scribbler writes to */
	struct worker *racing;		/* while a call of this one has its structure there */
	struct worker *scribbling;	/* the structure of this one may be changed just now */
	sem_t race;
	sem_t doom;			/* the call is reached after which it is killed */
	uint8_t *hole;			/* where nothing is mapped */
	bool over;
	struct worker workers[THREADS];
};

/* ---- shared by all processes ----------------------------------------------------- */

enum count {
	C_CALLS, C_DONE, C_REFUSED, C_ERRNO, C_MAPS, C_EVENTS, C_CONNECTED, C_ENDED, C_BINDS,
	C_POSTS, C_FORKS, C_ANSWERS, C_UNTOUCHED, COUNTS
};

/* How long all that has @name took, and for how much of that its thread had a processor */
struct cost {
	const char *name;
	uint64_t times, us, cpu_us, longest_us;
};

/* Two canaries: forwarded and passthrough */
#define CANARIES	2

struct shared {
	uint64_t seed;
	unsigned int stop;
	uint64_t counts[COUNTS];
	uint64_t per_call[MAX_CALLS][3];	/* done, refused, errno */
	struct cost costs[MAX_COSTS];
	unsigned int violations[2];		/* of answers; of what is untouched */
	uint64_t canary[CANARIES];		/* messages */
	struct {
		uint64_t number;
		struct {
			const char *name;	/* of the call that runs, or NULL */
			uint64_t number, since;
		} threads[THREADS];
	} process[PROCS];
};

extern struct shared *shared;

#define tell(where, value)	__atomic_store_n(&(where), value, __ATOMIC_RELAXED)
#define look(where)		__atomic_load_n(&(where), __ATOMIC_RELAXED)
#define add(where, n)		__atomic_fetch_add(&(where), n, __ATOMIC_RELAXED)

uint64_t now_ms(void);
uint64_t clock_us(clockid_t clock);
/* @name, a constant of the program, took so long. */
void account(const char *name, uint64_t us, uint64_t cpu_us);
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* A violation, by what the last call of @w was; @which of shared->violations */
__attribute__((format(printf, 3, 4)))
void violation(struct worker *w, unsigned int which, const char *format, ...);

/* ---- random numbers -------------------------------------------------------------- */

uint64_t mix(uint64_t a, uint64_t b);
uint64_t draw64(struct worker *w);
uint32_t below(struct worker *w, uint32_t limit);
/* True @n times of a hundred */
bool percent(struct worker *w, uint32_t n);

/* ---- objects.c ------------------------------------------------------------------- */

/* struct liking - what is preferred to others that would do: of this adapter, with the flags */
struct liking {
	uint64_t ia;
	uint32_t flags;
};

bool object_pick(struct worker *w, enum type type, unsigned int side, bool alive,
		 struct object *found);
bool object_pick_liked(struct worker *w, enum type type, unsigned int side,
		       const struct liking *liking, struct object *found);
/* Of any type but @type, or of any if that is TYPES */
bool object_other(struct worker *w, enum type type, unsigned int side, struct object *found);
bool object_find(struct life *life, unsigned int side, uint64_t handle, struct object *found);
void object_add(struct life *life, const struct object *object);
unsigned int object_count(struct life *life, enum type type, unsigned int side);
void object_dead(struct life *life, unsigned int side, uint64_t handle);
void object_all_dead(struct life *life, unsigned int side);
/* What call @c of @w, which succeeded, made, ended or told */
void learn(struct worker *w, const struct call *c, unsigned int side);

/* ---- draw.c ---------------------------------------------------------------------- */

/* How far from good the fields of a call are */
enum level { GOOD, ONE_WRONG, MANY_WRONG };

/* What was drawn for a call, as far as it says what has to come of it */
struct drawn {
	bool hostile;		/* something is not good */
	bool bad_pad;
	bool no_object;		/* the object of the call is surely none */
};

/* Fields that are given, by their offset. */
struct set {
	unsigned int at;
	uint64_t value;
};

#define SET(_struct, _field, _value) \
	{ offsetof(struct kdapl_uapi_##_struct, _field), _value }

void draw(struct worker *w, const struct call *c, unsigned int side, enum level level,
	  const struct set *sets, unsigned int nr_sets, uint8_t *to, struct drawn *drawn);

/* ---- call.c ---------------------------------------------------------------------- */

/* The next number, from which the random numbers follow; false: the life is over */
bool take_number(struct worker *w, const char *name);
void call_over(struct worker *w);
/*
 * Makes a call of a side; false if it was not made.  w->err, w->ret and w->after tell what came
 * of it.
 */
bool run(struct worker *w, unsigned int cmd, unsigned int side, enum level level,
	 const struct set *sets, unsigned int nr_sets);
#define RUN(w, cmd, side, ...)							\
	run(w, cmd, side, GOOD, (const struct set[]){ __VA_ARGS__ },		\
	    sizeof((const struct set[]){ __VA_ARGS__ }) / sizeof(struct set))
/* It succeeded. */
static inline bool went(const struct worker *w)
{
	return !w->err && !w->ret;
}

/* A number that is no call, and a call before the version is agreed upon */
void run_no_call(struct worker *w, unsigned int side);
void run_early(struct worker *w);

/* ---- steps.c, maps.c, verbs.c, life.c, canary.c ------------------------------------ */

void step(struct worker *w);
/* The first objects of a side */
void side_begin(struct worker *w, unsigned int side);
void side_open(struct life *life, unsigned int side);
void side_close(struct life *life, unsigned int side);
void map_step(struct worker *w, unsigned int side);
void fork_step(struct worker *w, unsigned int side);
void poll_step(struct worker *w);
void verbs_list(void);
bool verbs_open(struct life *life);
void verbs_step(struct worker *w, unsigned int side);
/* A queue pair in INIT for an EP: bound */
bool verbs_bind(struct worker *w, unsigned int side, uint64_t ep);
/* Of a side: a number that can be bound, or 0 */
uint32_t verbs_fresh(struct worker *w, unsigned int side);
void life_main(unsigned int process, uint64_t number, const char *const ia_names[FILES]);
/* How the life from @number on ends; the parent wants to know, too */
enum end life_end(unsigned int process, uint64_t number);
void canary_main(unsigned int number, const char *const ia_names[FILES]);

#endif /* FUZZ_H */
