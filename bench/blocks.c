// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A plugin for QEMU that counts how often each block of instructions of the guest is
 * executed, between two executions of a marked one: bench/storage functions.
 *
 * Options: marker=ADDRESS (hexadecimal, where the marked block begins), out=FILE.  With the
 * second, fourth ... execution of the marker FILE.1, FILE.2 ... get a line "ADDRESS
 * INSTRUCTIONS TIMES" for each block that was executed since the one before.
 *
 * What is declared here is QEMU's interface for plugins, version 1, as far as it is used:
 * Debian 12 has no package with its header.  Its uint64_t is unsigned long.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;

enum { ADD_U64 };	/* the one operation that is done inline */
enum { NO_REGISTERS };	/* what a callback wants to see */

typedef void (*translated_fn)(unsigned long id, struct qemu_plugin_tb *tb);
typedef void (*executed_fn)(unsigned int cpu, void *arg);

void qemu_plugin_register_vcpu_tb_trans_cb(unsigned long id, translated_fn fn);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *at,
					      unsigned long value);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, executed_fn fn,
					  int registers, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
unsigned long qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

int qemu_plugin_version = 1;
int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv);

#define BUCKETS	(1 << 16)

struct block {
	struct block *next;
	unsigned long address, instructions, times;
};

static struct block *blocks[BUCKETS];
static unsigned long marker;
static const char *out;
static unsigned int marks;

static void write_down(FILE *to)
{
	const struct block *b;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			if (b->times)
				fprintf(to, "%lx %lu %lu\n", b->address, b->instructions,
					b->times);
}

/* The machine has one processor, which is here. */
static void marker_executed(unsigned int cpu, void *arg)
{
	struct block *b;
	char name[4096];
	unsigned int i;
	FILE *to;

	(void)cpu;
	(void)arg;
	if (++marks % 2 == 0) {
		snprintf(name, sizeof(name), "%s.%u", out, marks / 2);
		to = fopen(name, "w");
		if (to) {
			write_down(to);
			fclose(to);
		}
	}
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			b->times = 0;
}

/* A block that is translated again goes on with its count. */
static struct block *block_of(unsigned long address, unsigned long instructions)
{
	struct block **bucket = &blocks[(address ^ address >> 16 ^ instructions) % BUCKETS];
	struct block *b;

	for (b = *bucket; b; b = b->next)
		if (b->address == address && b->instructions == instructions)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->address = address;
	b->instructions = instructions;
	b->next = *bucket;
	*bucket = b;
	return b;
}

static void translated(unsigned long id, struct qemu_plugin_tb *tb)
{
	unsigned long address = qemu_plugin_tb_vaddr(tb);
	struct block *b = block_of(address, qemu_plugin_tb_n_insns(tb));

	(void)id;
	if (address == marker)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, marker_executed, NO_REGISTERS, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &b->times, 1);
}

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "marker=", 7))
			marker = strtoull(argv[i] + 7, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	}
	if (!marker || !out) {
		fprintf(stderr, "blocks: marker=ADDRESS,out=FILE\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
