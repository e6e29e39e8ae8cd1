// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DAT_DEBUG=1: a line on stderr for each dat_* call that fails, with its name, what it returns
 * and the reason, in words for a person. Called by calls.c, registry.c and post.c, when a call
 * has failed. During an open, shim_why() notes the reason as soon as it is known.
 *
 * The fast path, posts and dat_evd_dequeue(), does not check return codes. So with DAT_DEBUG an
 * IA gets wrappers of these operations that do (shim_loud()).
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "debug.h"
#include "registry.h"

/*
 * A call that has failed. @params: its parameters, as "(TYPE name, TYPE name)"; @args: the
 * arguments, or NULL: then the types are left out of @params.
 */
struct failure {
	const char *call;
	const char *params;
	DAT_RETURN ret;
	struct shim_args *args;
};

/* Why the open that this thread is in will fail, if that is known; else empty. */
static __thread char why_not[SHIM_LINE / 2];
/* Is that of another provider, which has nothing to do with the adapters of this host? */
static __thread bool not_ours;

/* shim_debugging - is DAT_DEBUG set? The environment is read only by the first call. */
bool shim_debugging(void)
{
	static atomic_int known;	/* 0: not read yet, 1: not set, 2: set */
	const char *value;

	if (SHIM_UNLIKELY(!atomic_load_explicit(&known, memory_order_relaxed))) {
		value = secure_getenv("DAT_DEBUG");
		atomic_store(&known, value && *value && strcmp(value, "0") ? 2 : 1);
	}
	return atomic_load_explicit(&known, memory_order_relaxed) == 2;
}

/* shim_why - note why an open will fail; with NULL, forget what was noted */
void shim_why(const char *format, ...)
{
	va_list args;

	why_not[0] = '\0';
	not_ours = false;
	if (!format || !shim_debugging())
		return;
	va_start(args, format);
	vsnprintf(why_not, sizeof(why_not), format, args);
	va_end(args);
}

/* shim_why_theirs - the same, of a library of another provider: kdapl's module is not the cause */
void shim_why_theirs(const char *format, ...)
{
	va_list args;

	shim_why(NULL);
	if (!shim_debugging())
		return;
	va_start(args, format);
	vsnprintf(why_not, sizeof(why_not), format, args);
	va_end(args);
	not_ours = true;
}

static void vput(struct shim_text *text, const char *format, va_list args)
{
	size_t room = sizeof(text->line) - text->length;
	int length = vsnprintf(text->line + text->length, room, format, args);

	if (length > 0)
		text->length += (size_t)length < room ? (size_t)length : room - 1;
}

void shim_put(struct shim_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vput(text, format, args);
	va_end(args);
}

/*
 * Writes one line. It may have the name of an adapter or of a file, which can be any bytes. So
 * control characters are replaced, and so is all that is not ASCII: bytes from 0x80 to 0x9f are
 * control characters to a terminal, too.
 */
static void write_line(struct shim_text *text)
{
	size_t i;

	for (i = 0; i < text->length; i++)
		if (text->line[i] < ' ' || text->line[i] > '~')
			text->line[i] = '?';
	text->line[text->length < SHIM_LINE - 1 ? text->length++ : SHIM_LINE - 2] = '\n';
	fwrite(text->line, text->length, 1, stderr);
}

/* shim_say - write a line to stderr that the user has to see even without DAT_DEBUG */
void shim_say(const char *format, ...)
{
	struct shim_text text = { 0 };
	va_list args;

	shim_put(&text, "libdat: ");
	va_start(args, format);
	vput(&text, format, args);
	va_end(args);
	write_line(&text);
}

/* Writes which adapters the kernel lists, or why it cannot be asked. */
static void put_adapters(struct shim_text *text)
{
	DAT_PROVIDER_INFO *infos;
	uint32_t number, i;
	int err = shim_dev_open();

	switch (err) {
	case 0:
		break;
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		shim_put(text, "there is no " KDAPL_DEVICE
			 ": is the kernel module loaded? (modprobe kdapl)");
		return;
	case -EACCES:
	case -EPERM:
		shim_put(text, "no permission to open " KDAPL_DEVICE
			 " (see its owner, group and mode)");
		return;
	case -EPROTONOSUPPORT:
		shim_put(text, "the kernel module and this library are of different versions");
		return;
	default:
		shim_put(text, KDAPL_DEVICE " cannot be opened: %s", strerror(-err));
		return;
	}
	if (shim_adapters(&infos, &number)) {
		shim_put(text, "the kernel does not list its adapters");
		return;
	}
	if (!number)
		shim_put(text, "there is no adapter: no RDMA port has an IP address (rdma link, "
			 "ip address)");
	for (i = 0; i < number; i++)
		shim_put(text, "%s%s", i ? ", " : "the adapters of this host are ",
			 infos[i].ia_name);
	free(infos);
}

static void put_not_found(struct shim_text *text, uint32_t subtype)
{
	switch (subtype) {
	case DAT_MAJOR_NOT_FOUND:
	case DAT_MINOR_NOT_FOUND:
		shim_put(text, "the name is there, but not for the version of DAT that the program "
			 "asks for; kdapl has %d.%d here", DAT_VERSION_MAJOR, DAT_VERSION_MINOR);
		break;
	case DAT_THREAD_SAFETY_NOT_FOUND:
		shim_put(text, "the name is there, but nonthreadsafe, and the program asks for a "
			 "thread-safe provider");
		break;
	default:
		shim_put(text, "no adapter has that name, neither here nor in %s; ",
			 shim_conf_path());
		put_adapters(text);
	}
}

/* The value of a line of /proc/self/status, in KiB; 0 if there is no such line. */
static unsigned long status_kib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	unsigned long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length))
			kib = strtoul(line + length, NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

/*
 * May a call open descriptors? The calls of endpoints may: in passthrough an EVD gets its
 * completion channel, which is a descriptor, when the first EP is made on it.
 */
static bool takes_descriptors(const char *call)
{
	return !strncmp(call, "dat_cno_", 8) || !strncmp(call, "dat_evd_", 8) ||
	       !strncmp(call, "dat_ep_", 7) || !strcmp(call, "dat_ia_open") ||
	       !strncmp(call, "dat_registry_", 13);
}

/* Does a call make nothing that counts against RLIMIT_MEMLOCK? */
static bool is_uncharged(const char *call)
{
	return !strncmp(call, "dat_cno_", 8) || !strncmp(call, "dat_registry_", 13) ||
	       !strcmp(call, "dat_evd_modify_cno");
}

static void put_resource(struct shim_text *text, const struct failure *failure)
{
	const char *call = failure->call;
	bool pins = !strncmp(call, "dat_lmr_", 8);
	struct rlimit limit;

	if (failure->args && shim_put_excess(text, call, failure->params, failure->args))
		return;

	if (strstr(call, "_post_") || !strcmp(call, "dat_rmr_bind")) {
		shim_put(text, "as much is outstanding as the object was made for, or the device "
			 "has no room");
		return;
	}
	if (takes_descriptors(call) && shim_few_descriptors(SHIM_CALL_DESCRIPTORS) &&
	    !getrlimit(RLIMIT_NOFILE, &limit)) {
		shim_put(text, "descriptors do not suffice: RLIMIT_NOFILE (ulimit -n) is %llu, and "
			 "fewer than %d are left", (unsigned long long)limit.rlim_cur,
			 SHIM_CALL_DESCRIPTORS);
		return;
	}
	if (!is_uncharged(call) && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY) {
		shim_put(text, "%s: RLIMIT_MEMLOCK (ulimit -l) is %llu KiB, of which %lu KiB are "
			 "in use, or ", pins ? "the memory cannot be pinned" :
			 "no room: queues are locked memory",
			 (unsigned long long)limit.rlim_cur / 1024,
			 status_kib("VmPin:") + status_kib("VmLck:"));
		if (pins) {
			shim_put(text, "the device has no room for it");
			return;
		}
	} else {
		shim_put(text, "no room: ");
	}
	shim_put(text, "a limit of the device (dat_ia_query), of kdapl (its parameters "
		 "max_objects and max_user_objects), or of a memory or rdma cgroup");
}

/* Writes the name of argument @nr, from 1 on, and what its value tells. */
static void put_argument(struct shim_text *text, const struct failure *failure, unsigned int nr)
{
	const char *params = failure->params, *end = params, *start;
	unsigned int number = nr;

	shim_put(text, "argument %u", number);
	for (; number && *end; number--)
		end += 1 + strcspn(end + 1, ",)");
	for (; end > params && end[-1] == ']'; end -= 2)
		;
	for (start = end; start > params && (isalnum((unsigned char)start[-1]) ||
					     start[-1] == '_');)
		start--;
	if (end > start)
		shim_put(text, ", %.*s, cannot be used", (int)(end - start), start);
	if (failure->args)
		shim_put_refused(text, failure->call, params, nr, failure->args);
}

/* Writes an enumerator's name without @prefix, as words: "EP_UNCONNECTED" as "ep unconnected". */
static void put_words(struct shim_text *text, const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	for (name += strncmp(name, prefix, length) ? 0 : length; *name; name++)
		shim_put(text, "%c", *name == '_' ? ' ' : tolower((unsigned char)*name));
}

static void put_state(struct shim_text *text, const char *name)
{
	if (!*name) {
		shim_put(text, "not in the state that the object or its device is in");
		return;
	}
	shim_put(text, "its state does not allow it: ");
	put_words(text, name, "DAT_INVALID_STATE_");
}

/* The reason for a return type that has only one. */
static const char *plain_reason(uint32_t type)
{
	static const struct {
		uint32_t type;
		const char *reason;
	} reasons[] = {
		{ DAT_ABORT, "the object was closed during the call" },
		{ DAT_CONN_QUAL_IN_USE, "somebody listens at that qualifier (port) already" },
		{ DAT_INTERNAL_ERROR, "the kernel or the device refuses what should work" },
		{ DAT_LENGTH_ERROR, "the segments, or the remote buffer, do not fit the length" },
		{ DAT_MODEL_NOT_SUPPORTED, "not offered, here or by this device" },
		{ DAT_PRIVILEGES_VIOLATION, "a privilege is missing: of the LMR or RMR, or of "
		  "the process (qualifiers below 1024)" },
		{ DAT_PROTECTION_VIOLATION, "a segment is in no LMR, or in one of another "
		  "protection zone" },
		{ DAT_QUEUE_EMPTY, "no event is there" },
		{ DAT_QUEUE_FULL, "the EVD has no room for the event" },
		{ DAT_TIMEOUT_EXPIRED, "the time is over" },
		{ DAT_PROVIDER_ALREADY_REGISTERED, "a provider of that name and version has "
		  "been added already" },
		{ DAT_PROVIDER_IN_USE, "an adapter of the provider is open" },
		{ DAT_INVALID_ADDRESS, "the address is of another kind, or nobody is reached "
		  "by it from this adapter" },
		{ DAT_INTERRUPTED_CALL, "a signal has ended the call" },
		{ DAT_CONN_QUAL_UNAVAILABLE, "that qualifier (port) cannot be had now" },
		{ DAT_NOT_IMPLEMENTED, "the provider does not have this call" },
	};
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].type == type)
			return reasons[i].reason;
	return "";
}

static void put_reason(struct shim_text *text, const struct failure *failure, const char *subname)
{
	uint32_t subtype = DAT_GET_SUBTYPE(failure->ret);

	switch (DAT_GET_TYPE(failure->ret)) {
	case DAT_INVALID_HANDLE:
		shim_put(text, "no such object: the handle (");
		put_words(text, subname, "DAT_INVALID_");
		shim_put(text, ") is null, or of a freed object, another type, or a closed "
			 "adapter");
		break;
	case DAT_INVALID_PARAMETER:
		put_argument(text, failure, subtype - DAT_INVALID_ARG1 + 1);
		break;
	case DAT_INVALID_STATE:
		put_state(text, subname);
		break;
	case DAT_INSUFFICIENT_RESOURCES:
		put_resource(text, failure);
		break;
	case DAT_PROVIDER_NOT_FOUND:
		put_not_found(text, subtype);
		break;
	case DAT_INTERNAL_ERROR:
		/* The device is not open: the list of adapters failed because it cannot be. */
		if (shim_fd() < 0)
			put_adapters(text);
		else
			shim_put(text, "%s", plain_reason(DAT_INTERNAL_ERROR));
		break;
	default:
		shim_put(text, "%s", plain_reason(DAT_GET_TYPE(failure->ret)));
	}
}

/*
 * Is a return code worth a message? That an EVD has no event, or that the time of a wait is over,
 * is a normal answer, which a program that polls may get millions of times.
 */
static bool is_failure(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY && DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED;
}

/* @name: of the adapter that the call was to open, or NULL */
static void print_failure(const struct failure *failure, const char *name)
{
	const char *type = "", *subtype = "";
	struct shim_text text = { 0 };
	DAT_RETURN ret = failure->ret;
	int err = errno;

	dat_strerror(ret, &type, &subtype);
	shim_put(&text, "libdat: %s", failure->call);
	if (name)
		shim_put(&text, "(\"%s\")", name);
	shim_put(&text, ": %s%s%s: ", type, *subtype ? " " : "", subtype);
	if (name && *why_not)
		shim_put(&text, "%s", why_not);
	if (name && *why_not && !not_ours && DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND) {
		shim_put(&text, "; ");
		put_adapters(&text);
	}
	if (!name || !*why_not)
		put_reason(&text, failure, subtype);
	write_line(&text);
	errno = err;
}

/*
 * shim_failed - a call returns an error to the program
 * @call: its name
 * @params: the names of its arguments, as in its declaration
 *
 * Return: @ret, for the caller to return.
 */
DAT_RETURN shim_failed(const char *call, const char *params, DAT_RETURN ret)
{
	const struct failure failure = { .call = call, .params = params, .ret = ret };

	if (SHIM_UNLIKELY(shim_debugging()) && is_failure(ret))
		print_failure(&failure, NULL);
	return ret;
}

/* shim_refused - the same, where @params has types as well, and the arguments themselves follow */
DAT_RETURN shim_refused(const char *call, const char *params, DAT_RETURN ret, ...)
{
	struct shim_args args;
	const struct failure failure = { .call = call, .params = params, .ret = ret,
					 .args = &args };

	if (SHIM_UNLIKELY(shim_debugging()) && is_failure(ret)) {
		va_start(args.list, ret);
		print_failure(&failure, NULL);
		va_end(args.list);
	}
	return ret;
}

/* shim_open_failed - the same for dat_ia_open, of the adapter @name, and why it could not be had */
DAT_RETURN shim_open_failed(const char *name, DAT_RETURN ret)
{
	const struct failure failure = { .call = "dat_ia_open", .params = "", .ret = ret };

	if (SHIM_UNLIKELY(shim_debugging()))
		print_failure(&failure, name);
	return ret;
}

/* ---- calls of the data path ---------------------------------------------- */

static const struct shim_ops *quiet(const struct shim_object *obj)
{
	return obj->ops->quiet;
}

#define LOCAL_POST	"(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, "		\
			"DAT_LMR_TRIPLET *local_iov, DAT_UINT64 user_cookie, "		\
			"DAT_COMPLETION_FLAGS completion_flags)"
#define REMOTE_POST	"(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, "		\
			"DAT_LMR_TRIPLET *local_iov, DAT_UINT64 user_cookie, "		\
			"DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)"

/* shim_no_remote - in the two RDMA calls the remote segment may not be null (mt:T2) */
DAT_RETURN shim_no_remote(const char *call)
{
	return shim_failed(call, REMOTE_POST, RET_BAD_ARG(5));
}

static uint32_t loud_post_send(struct shim_object *ep, DAT_COUNT segments,
			       const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	uint32_t ret = quiet(ep)->post_send(ep, segments, iov, cookie, flags);

	return ret ? shim_refused("dat_ep_post_send", LOCAL_POST, ret, ep, segments, iov,
				  cookie, flags) : ret;
}

static uint32_t loud_post_recv(struct shim_object *ep, DAT_COUNT segments,
			       const DAT_LMR_TRIPLET *iov, uint64_t cookie, uint32_t flags)
{
	uint32_t ret = quiet(ep)->post_recv(ep, segments, iov, cookie, flags);

	return ret ? shim_refused("dat_ep_post_recv", LOCAL_POST, ret, ep, segments, iov,
				  cookie, flags) : ret;
}

static uint32_t loud_post_read(struct shim_object *ep, DAT_COUNT segments,
			       const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			       const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	uint32_t ret = quiet(ep)->post_read(ep, segments, iov, cookie, remote, flags);

	return ret ? shim_refused("dat_ep_post_rdma_read", REMOTE_POST, ret, ep, segments, iov,
				  cookie, remote, flags) : ret;
}

static uint32_t loud_post_write(struct shim_object *ep, DAT_COUNT segments,
				const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				const DAT_RMR_TRIPLET *remote, uint32_t flags)
{
	uint32_t ret = quiet(ep)->post_write(ep, segments, iov, cookie, remote, flags);

	return ret ? shim_refused("dat_ep_post_rdma_write", REMOTE_POST, ret, ep, segments, iov,
				  cookie, remote, flags) : ret;
}

/* The places in @ret are those of dat_ep_post_rdma_write(), and so are the arguments shown. */
static uint32_t loud_post_extension(struct shim_object *ep, const struct shim_request *request)
{
	uint32_t ret = quiet(ep)->post_extension(ep, request);

	return ret ? shim_refused("dat_extension_op", REMOTE_POST, ret, ep, request->segments,
				  request->iov, request->cookie, request->remote,
				  request->flags) : ret;
}

static uint32_t loud_evd_dequeue(struct shim_object *evd, DAT_EVENT *event)
{
	uint32_t ret = quiet(evd)->evd_dequeue(evd, event);

	return ret ? shim_failed("dat_evd_dequeue", "(evd_handle, event)", ret) : ret;
}

static void make_loud(struct shim_ops *loud, const struct shim_ops *ops)
{
	loud->quiet = ops;
	loud->post_send = loud_post_send;
	loud->post_recv = loud_post_recv;
	loud->post_read = loud_post_read;
	loud->post_write = loud_post_write;
	loud->post_extension = loud_post_extension;
	loud->evd_dequeue = loud_evd_dequeue;
}

/*
 * shim_loud - the operations for an IA and its objects: with DAT_DEBUG, @ops with the wrappers
 *	of this file; without it, @ops
 */
const struct shim_ops *shim_loud(const struct shim_ops *ops)
{
	static struct shim_ops *_Atomic made[2][2];

	return shim_debugging() ? shim_ops_over(ops, &made[ops->passthrough][ops->counts],
						make_loud) : ops;
}
