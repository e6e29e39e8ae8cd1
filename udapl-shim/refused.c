// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * With DAT_DEBUG: the value of an argument that a call refuses, and of a structure the field, with
 * what there is: "max_request_dtos 600000: this adapter has 524288". Called by debug.c, which
 * composes the line.
 *
 * Nothing is decided here. Who refuses a call, most often the kernel, does so by rules of its own.
 * What there is, is asked afterwards, as a program would ask it (dat_ia_query()), and only to
 * find words. If nothing exceeds it, all fields are shown.
 *
 * The arguments come as a va_list. Their types are read from the declaration of the call, which
 * calls.c has as a string.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "debug.h"

/* An argument, or a field of one; @number means nothing unless @is_number */
struct value {
	bool is_number;
	bool is_signed;
	bool is_flags;
	uint64_t number;
	const void *pointer;
};

/* A word of a declaration, which is no string of its own */
struct word {
	const char *start;
	int length;
};

struct param {
	struct word type;
	struct word name;
	bool is_pointer;
};

static bool is(const struct word *word, const char *text)
{
	return (size_t)word->length == strlen(text) && !memcmp(word->start, text, word->length);
}

static bool ends(const struct word *word, const char *text)
{
	int length = strlen(text);

	return word->length >= length &&
	       !memcmp(word->start + word->length - length, text, length);
}

static struct word next_word(const char **at)
{
	struct word word;

	*at += strspn(*at, " (");
	word.start = *at;
	while (isalnum((unsigned char)**at) || **at == '_')
		++*at;
	word.length = *at - word.start;
	return word;
}

/* Reads "const TYPE *name," and moves @at behind it. */
static struct param next_param(const char **at)
{
	struct param param = { .type = next_word(at) };

	if (is(&param.type, "const"))
		param.type = next_word(at);
	*at += strspn(*at, " ");
	param.is_pointer = **at == '*';
	*at += strspn(*at, "*");
	param.name = next_word(at);
	*at += strspn(*at, ",)");
	return param;
}

/* Takes the next argument. DAT has no more types than these that are passed by value. */
static struct value next_value(const struct param *param, struct shim_args *args)
{
	struct value value = { 0 };
	const struct word *type = &param->type;

	if (param->is_pointer || ends(type, "_HANDLE") || ends(type, "_PTR") ||
	    is(type, "DAT_PVOID")) {
		value.pointer = va_arg(args->list, void *);
	} else if (is(type, "DAT_REGION_DESCRIPTION")) {
		va_arg(args->list, DAT_REGION_DESCRIPTION);
	} else if (is(type, "DAT_OS_WAIT_PROXY_AGENT")) {
		va_arg(args->list, DAT_OS_WAIT_PROXY_AGENT);
	} else if (ends(type, "_COOKIE") || is(type, "DAT_CONTEXT")) {
		va_arg(args->list, DAT_CONTEXT);
	} else {
		value.is_number = true;
		value.is_signed = is(type, "DAT_COUNT");
		value.is_flags = ends(type, "_FLAGS") || ends(type, "_MASK");
		if (is(type, "DAT_UINT64") || is(type, "DAT_VLEN") || is(type, "DAT_CONN_QUAL") ||
		    is(type, "DAT_EP_PARAM_MASK") || is(type, "DAT_IA_ATTR_MASK") ||
		    is(type, "DAT_PROVIDER_ATTR_MASK"))
			value.number = va_arg(args->list, uint64_t);
		else
			value.number = va_arg(args->list, unsigned int);
	}
	return value;
}

static void put_value(struct shim_text *text, const struct value *value)
{
	if (value->is_flags)
		shim_put(text, "0x%llx", (unsigned long long)value->number);
	else if (value->is_signed)
		shim_put(text, "%d", (int)value->number);
	else
		shim_put(text, "%llu", (unsigned long long)value->number);
}

/* ---- what there is ------------------------------------------------------- */

/* What the adapter has, and the endpoint that the call is for */
struct limits {
	DAT_IA_ATTR ia;
	DAT_PROVIDER_ATTR provider;
	DAT_EP_ATTR ep;
	bool has_ep;
};

/* A number in a structure: where, and of how many bytes; 0 bytes: there is none */
struct place {
	size_t offset;
	size_t size;
};

#define PLACE_IN(type, path)	{ offsetof(type, path), sizeof(((type *)0)->path) }
#define OF_IA(field)	PLACE_IN(struct limits, ia.field)
#define OF_EP(field)	PLACE_IN(struct limits, ep.field)
#define NO_LIMIT	{ 0, 0 }

static uint64_t number_in(const void *base, const struct place *place)
{
	const char *at = (const char *)base + place->offset;
	uint64_t number;
	uint32_t word;

	if (place->size == sizeof(number)) {
		memcpy(&number, at, sizeof(number));
		return number;
	}
	memcpy(&word, at, sizeof(word));
	return word;
}

/* Return: false if the handle is of no object of this library, or of one that has just ended. */
static bool ask(DAT_HANDLE handle, struct limits *limits)
{
	struct shim_object *obj = handle, *ia;
	DAT_EP_PARAM param;

	memset(limits, 0, sizeof(*limits));
	if (!handle || !shim_points_to_object(handle))
		return false;
	ia = shim_names(handle, SHIM_IA) ? obj : atomic_load(&obj->ia);
	if (!ia || own_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &limits->ia, DAT_PROVIDER_FIELD_ALL,
				&limits->provider))
		return false;
	limits->has_ep = shim_names(handle, SHIM_EP) &&
			 !own_ep_query(handle, DAT_EP_FIELD_ALL, &param);
	if (limits->has_ep)
		limits->ep = param.ep_attr;
	return true;
}

/* The most that a value can be. @limits: NULL: not known. */
static uint64_t most_of(const struct limits *limits, const struct place *place)
{
	bool of_ep = place->offset >= offsetof(struct limits, ep);

	return place->size && limits && (limits->has_ep || !of_ep) ? number_in(limits, place) :
								     UINT64_MAX;
}

static bool exceeds(const struct value *value, const struct limits *limits,
		    const struct place *most)
{
	return (value->is_signed && (int)value->number < 0) ||
	       value->number > most_of(limits, most);
}

static void put_most(struct shim_text *text, const struct limits *limits,
		     const struct place *most)
{
	if (most_of(limits, most) != UINT64_MAX)
		shim_put(text, ": this %s has %llu",
			 most->offset < offsetof(struct limits, ep) ? "adapter" : "endpoint",
			 (unsigned long long)most_of(limits, most));
}

/* ---- numbers ------------------------------------------------------------- */

/* Arguments that are numbers and have a limit. @call: NULL: in each call */
static const struct {
	const char *call;
	const char *name;
	struct place most;
} counts[] = {
	{ NULL, "evd_min_qlen", OF_IA(max_evd_qlen) },
	{ NULL, "length", OF_IA(max_lmr_block_size) },
	{ NULL, "srq_max_recv_dto", OF_IA(max_recv_per_srq) },
	{ NULL, "private_data_size", PLACE_IN(struct limits, provider.max_private_data_size) },
	{ "dat_ep_post_recv", "num_segments", OF_EP(max_recv_iov) },
	{ "dat_ep_post_send", "num_segments", OF_EP(max_request_iov) },
	{ "dat_ep_post_rdma_read", "num_segments", OF_EP(max_rdma_read_iov) },
	{ "dat_ep_post_rdma_write", "num_segments", OF_EP(max_rdma_write_iov) },
};

/* The bits that mean something */
static const struct {
	const char *type;
	uint64_t all;
} masks[] = {
	{ "DAT_IA_ATTR_MASK", DAT_IA_FIELD_ALL },
	{ "DAT_PROVIDER_ATTR_MASK", DAT_PROVIDER_FIELD_ALL },
	{ "DAT_PZ_PARAM_MASK", DAT_PZ_FIELD_ALL },
	{ "DAT_LMR_PARAM_MASK", DAT_LMR_FIELD_ALL },
	{ "DAT_RMR_PARAM_MASK", DAT_RMR_FIELD_ALL },
	{ "DAT_EVD_PARAM_MASK", DAT_EVD_FIELD_ALL },
	{ "DAT_CNO_PARAM_MASK", FACE_CNO_FIELDS },
	{ "DAT_EP_PARAM_MASK", DAT_EP_FIELD_ALL },
	{ "DAT_SRQ_PARAM_MASK", DAT_SRQ_FIELD_ALL },
	{ "DAT_PSP_PARAM_MASK", DAT_PSP_FIELD_ALL },
	{ "DAT_RSP_PARAM_MASK", DAT_RSP_FIELD_ALL },
	{ "DAT_CR_PARAM_MASK", DAT_CR_FIELD_ALL },
	{ "DAT_MEM_PRIV_FLAGS", FACE_PRIVILEGES },
};

static const struct place *limit_of(const char *call, const struct word *name)
{
	static const struct place none;
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (is(name, counts[i].name) && (!counts[i].call || !strcmp(call, counts[i].call)))
			return &counts[i].most;
	return &none;
}

static void put_number(struct shim_text *text, const char *call, const struct param *param,
		       const struct value *value, const struct limits *limits)
{
	const struct place *most = limit_of(call, &param->name);
	size_t i;

	shim_put(text, ": ");
	put_value(text, value);
	if (exceeds(value, limits, most))
		put_most(text, limits, most);
	for (i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		if (is(&param->type, masks[i].type) && value->number & ~masks[i].all)
			shim_put(text, ": 0x%llx means nothing",
				 (unsigned long long)(value->number & ~masks[i].all));
}

/* ---- structures ---------------------------------------------------------- */

/* A field. @bit: that of the mask of dat_ep_modify() */
struct field {
	const char *name;
	struct place place;
	bool is_signed;
	uint64_t bit;
	struct place most;
};

#define EP_FIELD(field, is_signed, bit, most)	\
	{ #field, PLACE_IN(DAT_EP_ATTR, field), is_signed, DAT_EP_FIELD_EP_ATTR_##bit, most }

static const struct field ep_fields[] = {
	EP_FIELD(service_type, false, SERVICE_TYPE, NO_LIMIT),
	EP_FIELD(max_message_size, false, MAX_MESSAGE_SIZE, OF_IA(max_message_size)),
	EP_FIELD(max_rdma_size, false, MAX_RDMA_SIZE, OF_IA(max_rdma_size)),
	EP_FIELD(qos, false, QOS, NO_LIMIT),
	EP_FIELD(recv_completion_flags, false, RECV_COMPLETION_FLAGS, NO_LIMIT),
	EP_FIELD(request_completion_flags, false, REQUEST_COMPLETION_FLAGS, NO_LIMIT),
	EP_FIELD(max_recv_dtos, true, MAX_RECV_DTOS, OF_IA(max_dto_per_ep)),
	EP_FIELD(max_request_dtos, true, MAX_REQUEST_DTOS, OF_IA(max_dto_per_ep)),
	EP_FIELD(max_recv_iov, true, MAX_RECV_IOV, OF_IA(max_iov_segments_per_dto)),
	EP_FIELD(max_request_iov, true, MAX_REQUEST_IOV, OF_IA(max_iov_segments_per_dto)),
	EP_FIELD(max_rdma_read_in, true, MAX_RDMA_READ_IN, OF_IA(max_rdma_read_per_ep_in)),
	EP_FIELD(max_rdma_read_out, true, MAX_RDMA_READ_OUT, OF_IA(max_rdma_read_per_ep_out)),
	EP_FIELD(max_rdma_read_iov, true, MAX_RDMA_READ_IOV,
		 OF_IA(max_iov_segments_per_rdma_read)),
	EP_FIELD(max_rdma_write_iov, true, MAX_RDMA_WRITE_IOV,
		 OF_IA(max_iov_segments_per_rdma_write)),
};

static const struct field srq_fields[] = {
	{ "max_recv_dtos", PLACE_IN(DAT_SRQ_ATTR, max_recv_dtos), true, 0,
	  OF_IA(max_recv_per_srq) },
	{ "max_recv_iov", PLACE_IN(DAT_SRQ_ATTR, max_recv_iov), true, 0,
	  OF_IA(max_iov_segments_per_dto) },
	{ "low_watermark", PLACE_IN(DAT_SRQ_ATTR, low_watermark), true, 0, NO_LIMIT },
};

/* Structures that are arguments; @inside: where the fields are in one */
static const struct structure {
	const char *type;
	size_t inside;
	const struct field *fields;
	size_t nr;
} structures[] = {
	{ "DAT_EP_ATTR", 0, ep_fields, sizeof(ep_fields) / sizeof(*ep_fields) },
	{ "DAT_EP_PARAM", offsetof(DAT_EP_PARAM, ep_attr), ep_fields,
	  sizeof(ep_fields) / sizeof(*ep_fields) },
	{ "DAT_SRQ_ATTR", 0, srq_fields, sizeof(srq_fields) / sizeof(*srq_fields) },
};

static const struct structure *structure_of(const struct param *param)
{
	size_t i;

	for (i = 0; param->is_pointer && i < sizeof(structures) / sizeof(*structures); i++)
		if (is(&param->type, structures[i].type))
			return &structures[i];
	return NULL;
}

/*
 * Writes the fields whose bits are in @mask, or of these only those that exceed what there is.
 * Return: whether there were any.
 */
static bool put_fields(struct shim_text *text, const void *base, const struct structure *s,
		       uint64_t mask, const struct limits *limits, bool only_excess)
{
	const struct field *f;
	bool any = false;

	for (f = s->fields; f < s->fields + s->nr; f++) {
		struct value value = {
			.is_signed = f->is_signed,
			.number = number_in((const char *)base + s->inside, &f->place),
		};

		if ((f->bit && !(f->bit & mask)) ||
		    (only_excess && !exceeds(&value, limits, &f->most)))
			continue;
		shim_put(text, "%s%s ", any ? ", " : ": ", f->name);
		put_value(text, &value);
		if (only_excess)
			put_most(text, limits, &f->most);
		any = true;
	}
	return any;
}

/* ---- called by debug.c --------------------------------------------------- */

/*
 * shim_put_refused - write why argument @number, from 1 on, cannot be used, as far as its value
 *	shows that
 * @call: name of the call
 * @params: its declaration, "(TYPE name, TYPE *name)"
 * @args: its arguments
 */
void shim_put_refused(struct shim_text *text, const char *call, const char *params,
		      unsigned int number, struct shim_args *args)
{
	/* Those that a call with a shared queue does not look at (E.2) */
	uint64_t mask = strcmp(call, "dat_ep_create_with_srq") ? UINT64_MAX :
			~DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV;
	const struct structure *s;
	struct value value = { 0 };
	struct limits limits;
	struct param param = { 0 };
	bool known = false;
	unsigned int i;

	for (i = 1; i <= number; i++) {
		if (i > 1 && is(&param.type, "DAT_EP_PARAM_MASK"))
			mask = value.number;
		param = next_param(&params);
		value = next_value(&param, args);
		if (i == 1)
			known = ask((DAT_HANDLE)value.pointer, &limits);
	}
	s = structure_of(&param);
	if (value.is_number)
		put_number(text, call, &param, &value, known ? &limits : NULL);
	else if (s && value.pointer &&
		 !put_fields(text, value.pointer, s, mask, known ? &limits : NULL, true))
		put_fields(text, value.pointer, s, mask, NULL, false);
}

/*
 * shim_put_excess - write the first number among the arguments that exceeds what there is
 *
 * Return: false if none does.
 */
bool shim_put_excess(struct shim_text *text, const char *call, const char *params,
		     struct shim_args *args)
{
	struct limits limits;
	bool known = false;
	struct param param;
	struct value value;
	unsigned int i;

	for (i = 1; *params; i++) {
		param = next_param(&params);
		value = next_value(&param, args);
		if (i == 1)
			known = ask((DAT_HANDLE)value.pointer, &limits);
		if (!known)
			return false;
		if (!value.is_number || !exceeds(&value, &limits, limit_of(call, &param.name)))
			continue;
		shim_put(text, "%.*s ", param.name.length, param.name.start);
		put_value(text, &value);
		put_most(text, &limits, limit_of(call, &param.name));
		return true;
	}
	return false;
}
