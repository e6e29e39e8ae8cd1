/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The removal of an RDMA device while processes use it, for the tests of that.
 */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

/*
 * Run by a shell, with the name of a Soft-RoCE device as its argument: says "r" when the
 * device is gone, and "e" when it is there again with the addresses that it had.
 */
static const char device_removal[] =
	"set -e; p=/sys/class/infiniband/$1/ports/1\n"
	"n=$(cat $p/gid_attrs/ndevs/0) g=$(sort -u $p/gids/*)\n"
	"rdma link delete $1; printf r\n"
	"rdma link add $1 type rxe netdev $n\n"
	"until [ \"$(sort -u $p/gids/*)\" = \"$g\" ]; do sleep 0.1; done\n"
	"until grep -q ACTIVE $p/state; do sleep 0.1; done\n"
	"printf e";

#endif /* TEST_DEVICE_H */
